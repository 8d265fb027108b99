/* Rows of mechanisms in a plane (planar_kernel.h). A row is a force (n; f) in the plane of its tree; at every
   dof on the way to the root

     y = n,   n <- n + t·f - g_n y,   f <- f - g_f y,

   and Λ = Σ y yᵀ / D. Y is kept row by row over all dofs, without the root of D: Y_rj = y. Rows that push out
   of the plane are zero. One code for all instruction sets: there is nothing to gain from wide vectors. */
#include <string.h>

#include "dynamics/kernel.h"

enum { MOST = 24 }; /* rows; more go the general way */

typedef struct force { /* on its way up */
  int link;
  double n, x, y;
} force;

/* Unit force of row t of a block on a link, times sign. */
static force unit_force(const kn_data* d, const kn_row_block* b, int t, int link, double sign) {
  force f = {.link = link};
  if (link < 0) return f;
  const kn_v4* e = d->layout->link[d->planar[link].root].R0;
  kn_v4 dir = v4_scale(v4_load3(b->dir[t]), sign), arm = v4_sub(v4_load3(b->point), d->kin.link[link].o);
  if (b->angular) {
    f.n = v4_dot(dir, e[2]);
    return f;
  }
  f.x = v4_dot(dir, e[0]), f.y = v4_dot(dir, e[1]);
  f.n = v4_dot(arm, e[0]) * f.y - v4_dot(arm, e[1]) * f.x;
  return f;
}

/* One dof up. */
static inline void climb(force* f, double* Y, const kn_data* d) {
  const kn_planar_link* p = &d->planar[f->link];
  double y = f->n;
  Y[f->link] = y;
  f->n = (f->n - (f->x * p->ry - f->y * p->rx)) - p->gn * y;
  f->x -= p->gfx * y, f->y -= p->gfy * y;
  f->link = d->layout->link[f->link].parent;
}

/* Both sides of a row; they meet at the first common link. */
static void climb_both(force a, force b, double* Y, const kn_data* d) {
  while (b.link >= 0 || a.link >= 0) {
    if (a.link == b.link) {
      a.n += b.n, a.x += b.x, a.y += b.y;
      b.link = -1;
    }
    if (a.link > b.link)
      climb(&a, Y, d);
    else
      climb(&b, Y, d);
  }
}

static bool all_in_room(const kn_rows* rows, const kn_data* d, const kn_row_block* block, int blocks,
                        int count) {
  const kn_rows_index* ix = rows->index;
  if (!d->planar_kin || d->planar_kin != d->kin.link || count > MOST) return false;
  if ((size_t)count * (size_t)d->model->nv > ix->y_cap) return false;
  for (int i = 0; i < blocks; i++)
    if (block[i].ndof > 1) return false;
  return true;
}

/* Row t of a block into Y; the largest link it acts on, -1: a row of zeros. */
static int put_row(double* Y, kn_data* d, const kn_row_block* b, int t) {
  force none = {.link = -1}, f = none, g = none;
  if (b->ndof > 0) { /* a dof's own coordinate: y there is the coefficient */
    f.link = b->dof[0], f.n = b->coef[0];
  } else if (b->link_a != b->link_b) {
    f = unit_force(d, b, t, b->link_a, 1.0), g = unit_force(d, b, t, b->link_b, -1.0);
  }
  bool zero = f.n == 0.0 && f.x == 0.0 && f.y == 0.0 && g.n == 0.0 && g.x == 0.0 && g.y == 0.0;
  int top = f.link > g.link ? f.link : g.link;
  if (zero || top < 0) return -1;
  memset(Y, 0, (size_t)(top + 1) * sizeof *Y);
  if (b->ndof > 0) { /* the coefficient is no moment: it stays here */
    const kn_planar_link* p = &d->planar[f.link];
    Y[f.link] = f.n;
    g = (force){d->layout->link[f.link].parent, -p->gn * f.n, -p->gfx * f.n, -p->gfy * f.n};
    f = none;
  }
  climb_both(f, g, Y, d);
  return top;
}

bool kn_rows_planar_push(kn_rows* rows, kn_data* d, const kn_row_block* block, int blocks, int count) {
  kn_rows_index* ix = rows->index;
  ix->planar = all_in_room(rows, d, block, blocks, count);
  if (!ix->planar) return false;
  size_t nv = (size_t)d->model->nv;
  for (int i = 0, r = 0; i < blocks; i++)
    for (int t = 0; t < (block[i].ndof > 0 ? 1 : block[i].rows); t++, r++)
      ix->top[r] = put_row(rows->Y + (size_t)r * nv, d, &block[i], t);
  return true;
}

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

static double dot(const double* x, const double* y, int n) {
  pair a = {0.0, 0.0}, b = {0.0, 0.0};
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    a += *(const pair*)(x + i) * *(const pair*)(y + i);
    b += *(const pair*)(x + i + 2) * *(const pair*)(y + i + 2);
  }
  a += b;
  double rest = 0.0;
  for (; i < n; i++) rest += x[i] * y[i];
  return (a[0] + a[1]) + rest;
}

void kn_rows_planar_lambda(double* Lambda, const kn_rows* rows, const kn_data* d) {
  kn_rows_index* ix = rows->index;
  size_t n = (size_t)rows->rows, nv = (size_t)d->model->nv;
  for (size_t r = 0; r < n; r++) {
    double *scaled = ix->scale, *y = rows->Y + r * nv;
    for (int k = 0; k <= ix->top[r]; k++) scaled[k] = y[k] * d->planar[k].dinv;
    for (size_t c = r; c < n; c++) {
      int top = ix->top[c] < ix->top[r] ? ix->top[c] : ix->top[r];
      Lambda[r * n + c] = Lambda[c * n + r] = top < 0 ? 0.0 : dot(scaled, rows->Y + c * nv, top + 1);
    }
  }
}

void kn_rows_planar_apply(double* dv, const kn_rows* rows, kn_data* d, const double* lambda) {
  kn_rows_index* ix = rows->index;
  size_t nv = (size_t)d->model->nv;
  double* restrict z = ix->scale;
  memset(z, 0, nv * sizeof *z);
  for (int r = 0; r < rows->rows; r++) {
    const double* restrict y = rows->Y + (size_t)r * nv, x = lambda[r];
    for (int k = 0; x != 0.0 && k <= ix->top[r]; k++) z[k] += x * y[k];
  }
  for (size_t k = 0; k < nv; k++) d->planar[k].z = z[k] * d->planar[k].dinv;
  kn_dyn_kernels()->planar_half(dv, d);
}
