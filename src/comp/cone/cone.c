/* Scaling a problem to the dense form, and back; choice of the kernels. */
#include "comp/cone/cone.h"

#include <math.h>

#include "base/extreme.h"

const kn_cone_ops* kn_cone_kernels(void) { return KN_BEST(&kn_cone_ops); }

void kn_cone_take(kn_cone* c, kn_arena* arena, int rows, int blocks, int dense_rows) {
  int dense_ld = (dense_rows + 7) & ~7, ld = 4 * blocks > rows ? 4 * blocks : rows;
  c->W = KN_TAKE(arena, double, (size_t)dense_ld*(size_t)dense_rows);
  c->A = KN_TAKE(arena, double, (size_t)(dense_ld + 8) * (size_t)(dense_rows + 1));
  double** vectors[] = {&c->q, &c->d, &c->r, &c->u, &c->best_r, &c->try_r, &c->try_u, &c->column, &c->spare};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) *vectors[i] = KN_TAKE(arena, double, ld + 16);
  c->block = KN_TAKE(arena, kn_cone_block, blocks);
  c->mode = KN_TAKE(arena, kn_cone_mode, blocks);
}

/* Friction beyond this is as good as sticking in double precision, and its square stays finite. */
static const double mu_most = 1e8;

static void scale_block(kn_cone_block* out, double* d, const kn_block* b, double wn, double wt, double floor,
                        double common) {
  double dn = wn > floor ? 1.0 / sqrt(wn) : common, dt = wt > floor ? 1.0 / sqrt(wt) : dn;
  *out = (kn_cone_block){
      .row = b->row, .origin = b->row, .rows = kn_set_rows(b->set), .lo = 0.0, .hi = INFINITY};
  out->kind = out->rows == 1   ? KN_CONE_LINE
              : out->rows == 2 ? KN_CONE_FLAT
              : out->rows == 3 ? KN_CONE_DISC
                               : KN_CONE_BALL;
  d[0] = dn;
  for (int i = 1; i < out->rows; i++) d[i] = dt;
  if (out->rows > 1) out->mu = b->mu == 0.0 ? 0.0 : fmin(b->mu * (dn / dt), mu_most);
  if (b->set == KN_SET_FREE) out->lo = -INFINITY;
  if (b->set == KN_SET_BOX) out->lo = b->lo / dn, out->hi = b->hi / dn;
}

void kn_cone_scale(kn_cone* c, const kn_problem* p, const double* diagonal) {
  double most = 0.0;
  for (int i = 0; i < p->rows; i++) most = kn_max(most, diagonal[i]);
  double floor = 1e-15 * most, common = most > 0.0 ? 1.0 / sqrt(most) : 1.0;
  c->blocks = p->blocks;
  c->n = c->sparse ? 4 * p->blocks : p->rows;
  c->ld = (c->n + 7) & ~7;
  c->shift = 0.0;
  double** vectors[] = {&c->q, &c->d, &c->r, &c->u, &c->column, &c->try_r, &c->try_u};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    for (int k = c->sparse ? 0 : c->n; k < c->ld; k++) (*vectors[i])[k] = 0.0;
  for (int b = 0; b < p->blocks; b++) {
    const kn_block* k = &p->block[b];
    const double* w = diagonal + k->row;
    double wt = k->set == KN_SET_CONE3 ? 0.5 * (w[1] + w[2]) : k->set == KN_SET_CONE2 ? w[1] : 0.0;
    for (int i = 1, rows = kn_set_rows(k->set); i < rows && rows > 3; i++) wt += w[i] / (rows - 1);
    int row = c->sparse ? 4 * b : k->row;
    scale_block(&c->block[b], c->d + row, k, w[0], wt, floor, common);
    c->block[b].row = row;
    for (int i = 0; i < c->block[b].rows; i++) c->q[row + i] = p->q[k->row + i] * c->d[row + i];
  }
}

void kn_cone_start(kn_cone* c, const double* r) {
  for (int i = 0; i < c->ld; i++) c->r[i] = 0.0;
  for (int b = 0; b < c->blocks; b++) {
    kn_cone_block* k = &c->block[b];
    double* x = c->r + k->row;
    for (int i = 0; r && i < k->rows; i++) x[i] = r[k->origin + i] / c->d[k->row + i];
    if (k->kind == KN_CONE_LINE) x[0] = fmin(fmax(x[0], k->lo), k->hi);
  }
}

void kn_cone_finish(double* r, const kn_cone* c) {
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    const double *x = c->r + k->row, *d = c->d + k->row;
    for (int i = 0; i < k->rows; i++) r[k->origin + i] = x[i] * d[i];
  }
}

bool kn_cone_wild(const kn_cone* c) {
  double r = 0.0, q = 0.0;
  for (int i = 0; i < c->n; i++) r = kn_max(r, fabs(c->r[i])), q = kn_max(q, fabs(c->q[i]));
  return r > 1e6 * q;
}
