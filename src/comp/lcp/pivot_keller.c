/* Principal pivoting one row at a time for symmetric positive semidefinite M (Dantzig and Cottle 1967; Keller
   1973; with bounds as in Baraff 1994).

   All rows seen so far are complementary: C with w_C = 0, N at a bound. Row d is driven: z_d moves by t
   sigma, z_C by t v_C with M_CC v_C = -sigma M_Cd, so that w_C stays 0 and  dw = M_•C v_C + sigma M_•d.  t
   grows until w_d = 0, or a z_C reaches a bound (leaves C), or a w_N reaches 0 (enters C), or z_d its own
   bound. dw_N ≠ 0 implies that the entering row is independent of C, so the Cholesky factor of M_CC never
   breaks. If t can grow without limit, v is a direction with v >= 0 on bounded rows, M v = 0, q^T v < 0: no
   solution (Farkas). */
#include <math.h>
#include <string.h>

#include "comp/lcp/lcp.h"
#include "math/dense.h"

typedef struct keller {
  kn_lcp_boxed p;
  kn_factor f;
  double *v, *dw, *rhs; /* direction of z (full), of w, scratch */
  double sigma;
  int d;
  int* dependent; /* rows found to depend on C; they do not block while C stays */
} keller;

static void direction(keller* k) {
  kn_lcp_boxed* p = &k->p;
  int ld = p->ld;
  const double* column = p->s->M + (size_t)k->d * (size_t)ld;
  for (int i = 0; i < k->f.count; i++) k->rhs[i] = -k->sigma * column[k->f.index[i]];
  kn_factor_solve(&k->f, p->out, k->rhs);
  memset(k->v, 0, (size_t)ld * sizeof *k->v);
  memset(k->dw, 0, (size_t)ld * sizeof *k->dw);
  kn_axpy(ld, k->dw, k->sigma, column);
  for (int i = 0; i < k->f.count; i++) {
    k->v[k->f.index[i]] = p->out[i];
    kn_axpy(ld, k->dw, p->out[i], p->s->M + (size_t)k->f.index[i] * (size_t)ld);
  }
  k->v[k->d] = k->sigma;
}

enum { BLOCK_NONE = -1 };

/* First event along the direction: the row, and t. Row d itself: w_d = 0 or its bound. */
static int first_block(const keller* k, double* t) {
  const kn_lcp_boxed* p = &k->p;
  int best = BLOCK_NONE, d = k->d;
  double least = INFINITY, own = INFINITY;
  for (int i = 0; i < p->n; i++) {
    double v = k->v[i], room = INFINITY;
    if (i == d) {
      if (k->sigma * k->dw[d] > 1e-13) room = -k->sigma * p->w[d] / (k->sigma * k->dw[d]);
      double bound = k->sigma > 0 ? p->hi[d] - p->z[d] : p->z[d] - p->lo[d];
      room = fmin(room, bound);
    } else if (k->f.position[i] >= 0) {
      if (v < -1e-13)
        room = (p->z[i] - p->lo[i]) / -v;
      else if (v > 1e-13)
        room = (p->hi[i] - p->z[i]) / v;
    } else if (i < d && p->lo[i] < p->hi[i] && !k->dependent[i]) {
      double w = p->w[i], dw = k->dw[i];
      if (p->z[i] <= p->lo[i] ? dw < -1e-10 : dw > 1e-10) room = -w / dw;
    }
    room = room > 0.0 ? room : room <= 0.0 ? 0.0 : INFINITY;
    if (i == d) own = room;
    if (room < least || (room == least && best >= 0 && i == d)) {
      least = room;
      best = i;
    }
  }
  /* a tie goes to row d: a dependent row that reaches zero at the same time would take its place in C */
  if (own <= least + 1e-10 * (1.0 + least)) best = d, least = own;
  *t = least;
  return best;
}

static void advance(keller* k, double t) {
  kn_lcp_boxed* p = &k->p;
  kn_axpy(p->ld, p->z, t, k->v);
  kn_axpy(p->ld, p->w, t, k->dw);
}

static void put_on_bound(kn_lcp_boxed* p, int i) {
  p->z[i] = fabs(p->z[i] - p->lo[i]) <= fabs(p->hi[i] - p->z[i]) ? p->lo[i] : p->hi[i];
}

/* After a row left C, rows between their bounds that depended on C may be independent of it. */
static void readmit(keller* k) {
  kn_lcp_boxed* p = &k->p;
  for (int i = 0; i < k->d; i++)
    if (k->f.position[i] < 0 && p->z[i] > p->lo[i] && p->z[i] < p->hi[i])
      kn_factor_add(&k->f, i, p->s->M + (size_t)i * (size_t)p->ld, 1e-13);
}

/* Makes row d complementary. Returns 0 done, 1 no limit (Farkas direction in v), 2 too many pivots. */
static int drive(keller* k, int* pivots, int limit) {
  kn_lcp_boxed* p = &k->p;
  int d = k->d;
  memset(k->dependent, 0, (size_t)p->n * sizeof *k->dependent);
  for (;;) {
    double w = p->w[d];
    bool down = w > 1e-14 && p->z[d] > p->lo[d], up = w < -1e-14 && p->z[d] < p->hi[d];
    if (!down && !up) break;
    if (++*pivots > limit) return 2;
    k->sigma = up ? 1.0 : -1.0;
    direction(k);
    if (fabs(k->dw[d]) <= 1e-10 && fabs(w) <= 1e-10)
      break; /* depends on C, and consistent: already complementary */
    double t;
    int i = first_block(k, &t);
    if (i == BLOCK_NONE) return 1;
    advance(k, t);
    if (i == d) break;
    if (k->f.position[i] >= 0) {
      kn_factor_remove(&k->f, i);
      put_on_bound(p, i);
      readmit(k);
    } else if (kn_factor_add(&k->f, i, p->s->M + (size_t)i * (size_t)p->ld, 1e-13)) {
      p->w[i] = 0.0;
    } else {
      k->dependent[i] = 1;
      continue;
    }
    memset(k->dependent, 0, (size_t)p->n * sizeof *k->dependent);
  }
  bool inside = p->z[d] > p->lo[d] && p->z[d] < p->hi[d];
  if (inside && fabs(p->w[d]) <= 1e-9)
    kn_factor_add(&k->f, d, p->s->M + (size_t)d * (size_t)p->ld, 1e-13);
  else if (!inside)
    put_on_bound(p, d);
  return 0;
}

/* Start: bounded rows on a bound (nearest to 0), free rows at 0; only rows < d are complementary. */
static void start(keller* k) {
  kn_lcp_boxed* p = &k->p;
  for (int i = 0; i < p->n; i++)
    p->z[i] = p->lo[i] > 0.0                                  ? p->lo[i]
              : p->hi[i] < 0.0                                ? p->hi[i]
              : p->lo[i] == -INFINITY && p->hi[i] == INFINITY ? 0.0
              : p->lo[i] > -INFINITY                          ? p->lo[i]
                                                              : p->hi[i];
  kn_lcp_boxed_w(p);
  kn_factor_clear(&k->f, p->n);
}

/* Last polish: w_C = 0 by one more solve from the original data. */
static void polish(keller* k) {
  kn_lcp_boxed* p = &k->p;
  kn_lcp_boxed_w(p);
  for (int i = 0; i < k->f.count; i++) k->rhs[i] = -p->w[k->f.index[i]];
  kn_factor_solve(&k->f, p->out, k->rhs);
  for (int i = 0; i < k->f.count; i++) p->z[k->f.index[i]] += p->out[i];
}

static kn_status keller_solve(double* z, kn_solve_info* info, const kn_lcp* lcp,
                              const kn_lcp_settings* settings, kn_lcp_work* work) {
  kn_status status = kn_lcp_begin(&kn_lcp_keller, z, info, lcp, settings, work);
  if (status != KN_OK) return status;
  keller k = {.v = work->v[5],
              .dw = work->v[6],
              .rhs = work->v[7],
              .dependent = work->iv[2],
              .f = {0, kn_pad8(lcp->n), work->A, work->iv[0], work->iv[1]}};
  kn_lcp_boxed_begin(&k.p, lcp, work, z);
  start(&k);
  int limit = settings->max_iterations ? settings->max_iterations : 20 * lcp->n + 50, end = 0;
  for (k.d = 0; k.d < lcp->n && end == 0; k.d++) end = drive(&k, &info->iterations, limit);
  if (end == 1) {
    kn_lcp_unscale(work->certificate, k.p.s, k.v);
    if (kn_lcp_is_farkas(lcp, work->certificate, &work->close)) {
      work->certificate_kind = KN_CERTIFICATE_FARKAS;
      info->status = KN_NO_SOLUTION;
    }
  }
  for (int i = 0; i < 3 && !kn_lcp_boxed_offer(&k.p, z, info, lcp, settings->tol); i++) polish(&k);
  return kn_lcp_finish(z, info, lcp, settings);
}

const kn_lcp_solver kn_lcp_keller = {
    .name = "keller",
    .doc = "principal pivoting one row at a time with an updated Cholesky factor; symmetric positive "
           "semidefinite M",
    .citation = "E. L. Keller, Math. Programming 5 (1973); R. W. Cottle, G. B. Dantzig, Linear Algebra Appl. "
                "1 (1968)",
    .settings = "tol max_iterations",
    .kinds = KN_LCP_STANDARD | KN_LCP_FREE | KN_LCP_BOX | KN_LCP_SYMMETRIC,
    .solve = keller_solve,
};
