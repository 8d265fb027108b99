/* Kernels of the dense cone solvers. Element-wise vector operations only, each element in the same order of
   operations whatever KN_W: the same bits everywhere.

   Newton on the Alart-Curnier function (Alart, Curnier 1991; in the form "u_N = 0 on closed contacts"). With

     h = r_N - rho u_N,   y = r_T - rho u_T

   a contact is open (h <= 0), sticking (|y| <= mu h) or slipping. The new r of a step from r^k:

     open    r = 0
     stick   u + eps (r - r^k) = 0
     slip    u_N + eps (r_N - r_N^k) = 0
             r_T = mu r_N d + s t
             (1 - g) s + g rho (t.u_T + eps (s - t.r_T^k)) = 0

   with d = y/|y|, t across d and g = mu h/|y|. The last two lines are the linearised law
   (I - G) r_T + rho G u_T - mu d r_N = 0, G = g t t^T, split along d and t, so that a slipping contact has two
   unknowns. eps makes it a proximal step: singular W is ordinary, and the answer is exact because r = r^k at
   the end. Cost of a step: one factorisation of the closed rows. */
#include "base/extreme.h"
#include "base/isa.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "comp/cone/cone.h"
#include "comp/cone/onecontact.h"

typedef double kn_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));
typedef double kn_vec4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef long long kn_int4 __attribute__((vector_size(32)));

#define AT(p, i)  (*(kn_vec*)((p) + (i)))
#define CAT(p, i) (*(const kn_vec*)((p) + (i)))

static void KN_NAME(load)(kn_cone* c, const double* W, int stride) {
  int n = c->n, ld = c->ld;
  const double* d = c->d;
  for (int i0 = 0; i0 < ld; i0 += 4) {
    int j = 0;
    for (; i0 + 4 <= n && j + 4 <= n; j += 4) {
      const double* w = W + (size_t)i0 * (size_t)stride + j;
      double* out = c->W + (size_t)j * (size_t)ld + i0;
      kn_vec4 dj = *(const kn_vec4*)(d + j);
      kn_vec4 a = *(const kn_vec4*)w * d[i0] * dj, b = *(const kn_vec4*)(w + stride) * d[i0 + 1] * dj;
      kn_vec4 e = *(const kn_vec4*)(w + 2 * stride) * d[i0 + 2] * dj,
              f = *(const kn_vec4*)(w + 3 * stride) * d[i0 + 3] * dj;
      kn_vec4 ab0 = __builtin_shufflevector(a, b, 0, 4, 2, 6),
              ab1 = __builtin_shufflevector(a, b, 1, 5, 3, 7);
      kn_vec4 ef0 = __builtin_shufflevector(e, f, 0, 4, 2, 6),
              ef1 = __builtin_shufflevector(e, f, 1, 5, 3, 7);
      *(kn_vec4*)out = __builtin_shufflevector(ab0, ef0, 0, 1, 4, 5);
      *(kn_vec4*)(out + ld) = __builtin_shufflevector(ab1, ef1, 0, 1, 4, 5);
      *(kn_vec4*)(out + 2 * (size_t)ld) = __builtin_shufflevector(ab0, ef0, 2, 3, 6, 7);
      *(kn_vec4*)(out + 3 * (size_t)ld) = __builtin_shufflevector(ab1, ef1, 2, 3, 6, 7);
    }
    for (; j < n; j++)
      for (int i = i0; i < i0 + 4; i++)
        c->W[(size_t)j * (size_t)ld + i] = i < n ? W[(size_t)i * (size_t)stride + j] * d[i] * d[j] : 0.0;
  }
}

/* y += sum_k x_k w_k over four columns. */
static inline void add4(double* y, const double* w, size_t ld, const double* x, int len) {
  double x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
  for (int i = 0; i < len; i += KN_W)
    AT(y, i) = (((AT(y, i) + x0 * CAT(w, i)) + x1 * CAT(w + ld, i)) + x2 * CAT(w + 2 * ld, i)) +
               x3 * CAT(w + 3 * ld, i);
}

static inline void add1(double* y, const double* w, double x, int len) {
  for (int i = 0; i < len; i += KN_W) AT(y, i) += x * CAT(w, i);
}

static inline void add2(double* y, const double* w, size_t ld, double x0, double x1, int len) {
  for (int i = 0; i < len; i += KN_W) AT(y, i) = (AT(y, i) + x0 * CAT(w, i)) + x1 * CAT(w + ld, i);
}

static inline void add3(double* y, const double* w, size_t ld, double x0, double x1, double x2, int len) {
  for (int i = 0; i < len; i += KN_W)
    AT(y, i) = ((AT(y, i) + x0 * CAT(w, i)) + x1 * CAT(w + ld, i)) + x2 * CAT(w + 2 * ld, i);
}

static void sparse_velocity(double* u, const kn_cone* c, const double* r);

static inline void velocity_of(double* u, const kn_cone* c, const double* r) {
  if (c->sparse) {
    sparse_velocity(u, c, r);
    return;
  }
  int n = c->n, ld = c->ld, j = 0;
  for (int i = 0; i < ld; i += KN_W) AT(u, i) = CAT(c->q, i) + c->shift * CAT(r, i);
  for (; j + 4 <= n; j += 4) add4(u, c->W + (size_t)j * (size_t)ld, (size_t)ld, r + j, ld);
  for (; j < n; j++) add1(u, c->W + (size_t)j * (size_t)ld, r[j], ld);
}

static void KN_NAME(velocity)(kn_cone* c) { velocity_of(c->u, c, c->r); }

static inline double block_residual(const kn_cone_block* b, const double* r, const double* u, double rho) {
  if (b->kind == KN_CONE_LINE) {
    double y = r[0] - rho * u[0], e = r[0] - (y < b->lo ? b->lo : y > b->hi ? b->hi : y);
    return e * e;
  }
  double h = r[0] - rho * u[0], e0 = h > 0.0 ? rho * u[0] : r[0], e1 = r[1], e2 = 0.0;
  if (b->kind == KN_CONE_DISC) e2 = r[2];
  double radius = h > 0.0 ? b->mu * h : 0.0;
  if (radius > 0.0) {
    double y1 = r[1] - rho * u[1], y2 = b->kind == KN_CONE_DISC ? r[2] - rho * u[2] : 0.0;
    double l2 = y1 * y1 + y2 * y2, k = l2 > radius * radius ? radius / sqrt(l2) : 1.0;
    e1 -= k * y1, e2 -= k * y2;
  }
  return e0 * e0 + e1 * e1 + e2 * e2;
}

static inline double largest_entry(const double* x, double most, int n) {
  double m[8] = {most}; /* the order does not matter */
  int i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; k++) m[k] = kn_max(m[k], fabs(x[i + k]));
  for (; i < n; i++) m[0] = kn_max(m[0], fabs(x[i]));
  for (int k = 1; k < 8; k++) m[0] = kn_max(m[0], m[k]);
  return m[0];
}

/* The blocks in parts, whose sums are added in order: a crew may share them. Up to PART blocks are one. */
enum { PART = 1024, PARTS_MOST = 64 };

typedef struct residual_parts {
  const kn_cone* c;
  const double *r, *u;
  double rho;
  int size; /* blocks */
  kn_cone_residual part[PARTS_MOST];
} residual_parts;

static void residual_some(int worker, int first, int last, void* context) {
  residual_parts* p = context;
  const kn_cone* c = p->c;
  (void)worker;
  for (int i = first; i < last; i++) {
    int from = i * p->size, to = from + p->size < c->blocks ? from + p->size : c->blocks;
    kn_cone_residual f = {0.0, 0.0, 0.0};
    for (int b = from; b < to; b++) {
      int row = c->block[b].row;
      double e = block_residual(&c->block[b], p->r + row, p->u + row, p->rho);
      f.sum += e;
      f.most = kn_max(f.most, e);
    }
    int row = c->block[from].row, rows = (to < c->blocks ? c->block[to].row : c->n) - row;
    f.size = largest_entry(c->q + row, 0.0, rows);
    f.size = largest_entry(p->u + row, largest_entry(p->r + row, f.size, rows), rows);
    p->part[i] = f;
  }
}

/* The crew where there are enough blocks for it, or NULL. */
static inline kn_crew* crew_of(const kn_cone* c) {
  return c->sparse && c->blocks > PART ? c->sparse->crew : NULL;
}

static kn_cone_residual residual_of(const kn_cone* c, const double* r, const double* u, double rho) {
  residual_parts p; /* two kilobytes, which small problems should not clear */
  p.c = c, p.r = r, p.u = u, p.rho = rho, p.size = PART;
  while (p.size * PARTS_MOST < c->blocks) p.size *= 2;
  int parts = (c->blocks + p.size - 1) / p.size;
  if (crew_of(c))
    kn_crew_run(crew_of(c), parts, 1, residual_some, &p);
  else
    residual_some(0, 0, parts, &p);
  kn_cone_residual f = {0.0, 0.0, 0.0};
  for (int i = 0; i < parts; i++) {
    f.sum += p.part[i].sum;
    f.most = kn_max(f.most, p.part[i].most), f.size = kn_max(f.size, p.part[i].size);
  }
  f.most = sqrt(f.most);
  return f;
}

static kn_cone_residual KN_NAME(residual)(const kn_cone* c, double rho) {
  return residual_of(c, c->r, c->u, rho);
}

/* ---- Gauss-Seidel ---- */

static inline double line_solve(const kn_cone_block* b, double a, double r, double u) {
  if (a > 0.0) {
    double x = r - u / a;
    return x < b->lo ? b->lo : x > b->hi ? b->hi : x;
  } /* otherwise nothing moves: only the sign of u counts */
  return u > 0.0 && b->lo > -INFINITY ? b->lo : u < 0.0 && b->hi < INFINITY ? b->hi : r;
}

static inline void sweep_line(kn_cone* c, const kn_cone_block* b) {
  int i = b->row, ld = c->ld;
  const double* w = c->W + (size_t)i * (size_t)ld;
  double old = c->r[i], x = line_solve(b, w[i] + c->shift, old, c->u[i]);
  if (x == old) return;
  c->r[i] = x;
  add1(c->u, w, x - old, ld);
  c->u[i] += c->shift * (x - old);
}

static inline void sweep_flat(kn_cone* c, const kn_cone_block* b) {
  int i = b->row;
  size_t ld = (size_t)c->ld;
  const double* w = c->W + (size_t)i * ld;
  double* r = c->r + i;
  double* u = c->u + i;
  double A[4] = {w[i] + c->shift, w[ld + (size_t)i], w[i + 1], w[ld + (size_t)i + 1] + c->shift}, x[2];
  double v[2] = {u[0] - (A[0] * r[0] + A[1] * r[1]), u[1] - (A[2] * r[0] + A[3] * r[1])};
  flat_solve(x, A, v, b->mu);
  double e0 = x[0] - r[0], e1 = x[1] - r[1];
  if (e0 == 0.0 && e1 == 0.0) return;
  r[0] = x[0], r[1] = x[1];
  add2(c->u, w, ld, e0, e1, c->ld);
  u[0] += c->shift * e0, u[1] += c->shift * e1;
}

static inline void sweep_disc(kn_cone* c, kn_cone_block* b) {
  int i = b->row;
  size_t ld = (size_t)c->ld;
  const double *w0 = c->W + (size_t)i * ld + i, *w1 = w0 + ld, *w2 = w1 + ld;
  double* r = c->r + i;
  double* u = c->u + i;
  double A[9] = {w0[0] + c->shift, w1[0], w2[0], w0[1], w1[1] + c->shift, w2[1], w0[2], w1[2],
                 w2[2] + c->shift},
         x[3];
  double v[3] = {u[0] - (A[0] * r[0] + A[1] * r[1] + A[2] * r[2]),
                 u[1] - (A[3] * r[0] + A[4] * r[1] + A[5] * r[2]),
                 u[2] - (A[6] * r[0] + A[7] * r[1] + A[8] * r[2])};
  disc_solve(x, &b->slip, A, v, b->mu);
  double e0 = x[0] - r[0], e1 = x[1] - r[1], e2 = x[2] - r[2];
  if (e0 == 0.0 && e1 == 0.0 && e2 == 0.0) return;
  r[0] = x[0], r[1] = x[1], r[2] = x[2];
  if (e1 == 0.0 && e2 == 0.0)
    add1(c->u, w0 - i, e0, c->ld);
  else
    add3(c->u, w0 - i, ld, e0, e1, e2, c->ld);
  u[0] += c->shift * e0, u[1] += c->shift * e1, u[2] += c->shift * e2;
}

static void sparse_sweep(kn_cone* c);

static void KN_NAME(sweep)(kn_cone* c) {
  if (c->sparse) {
    sparse_sweep(c);
    return;
  }
  for (int b = 0; b < c->blocks; b++) {
    kn_cone_block* k = &c->block[b];
    if (k->kind == KN_CONE_DISC)
      sweep_disc(c, k);
    else if (k->kind == KN_CONE_FLAT)
      sweep_flat(c, k);
    else
      sweep_line(c, k);
  }
}

/* ---- LU with partial pivoting of [A b], column-major, right-hand side as column m ---- */

static inline int pivot_of(const double* a, int k, int m) {
  int best = k;
  double most = fabs(a[k]);
  for (int i = k + 1; i < m; i++)
    if (fabs(a[i]) > most) most = fabs(a[i]), best = i;
  return best;
}

static inline void swap(double* a, int i, int j) {
  double t = a[i];
  a[i] = a[j];
  a[j] = t;
}

/* Columns k0 … k0+3, pivots from rows below `limit`. Returns false on a zero or non-finite pivot. */
static inline bool lu_panel(double* A, size_t ld, int m, int limit, int k0, int* piv) {
  enum { w = 4 };
  for (int k = k0; k < k0 + w; k++) {
    double* a = A + (size_t)k * ld;
    int p = piv[k - k0] = pivot_of(a, k, limit);
    if (!(fabs(a[p]) > 0.0 && fabs(a[p]) < INFINITY)) return false;
    if (p != k)
      for (int j = k0; j < k0 + w; j++) swap(A + (size_t)j * ld, k, p);
    double inv = 1.0 / a[k];
    for (int i = k + 1; i < k0 + 4; i++) a[i] *= inv;
    for (int i = k0 + 4; i < m; i += KN_W) AT(a, i) *= inv;
    for (int j = k + 1; j < k0 + w; j++) {
      double *b = A + (size_t)j * ld, t = b[k];
      for (int i = k + 1; i < k0 + 4; i++) b[i] -= a[i] * t;
      for (int i = k0 + 4; i < m; i += KN_W) AT(b, i) -= CAT(a, i) * t;
    }
  }
  return true;
}

/* Row exchanges of the panel and its triangle on one column. */
static inline void lu_top(double* b, const double* L, size_t ld, int k0, const int* piv) {
  for (int k = 0; k < 4; k++)
    if (piv[k] != k0 + k) swap(b, k0 + k, piv[k]);
  const double *l0 = L + k0, *l1 = l0 + ld, *l2 = l1 + ld;
  double* t = b + k0;
  t[1] -= l0[1] * t[0];
  t[2] = (t[2] - l0[2] * t[0]) - l1[2] * t[1];
  t[3] = ((t[3] - l0[3] * t[0]) - l1[3] * t[1]) - l2[3] * t[2];
}

static inline void lu_update1(double* b, const double* L, size_t ld, int k0, int m) {
  double t0 = b[k0], t1 = b[k0 + 1], t2 = b[k0 + 2], t3 = b[k0 + 3];
  for (int i = k0 + 4; i < m; i += KN_W)
    AT(b, i) = (((CAT(b, i) - CAT(L, i) * t0) - CAT(L + ld, i) * t1) - CAT(L + 2 * ld, i) * t2) -
               CAT(L + 3 * ld, i) * t3;
}

static inline void lu_update2(double* b, double* c, const double* L, size_t ld, int k0, int m) {
  double t0 = b[k0], t1 = b[k0 + 1], t2 = b[k0 + 2], t3 = b[k0 + 3];
  double s0 = c[k0], s1 = c[k0 + 1], s2 = c[k0 + 2], s3 = c[k0 + 3];
  for (int i = k0 + 4; i < m; i += KN_W) {
    kn_vec l0 = CAT(L, i), l1 = CAT(L + ld, i), l2 = CAT(L + 2 * ld, i), l3 = CAT(L + 3 * ld, i);
    AT(b, i) = (((CAT(b, i) - l0 * t0) - l1 * t1) - l2 * t2) - l3 * t3;
    AT(c, i) = (((CAT(c, i) - l0 * s0) - l1 * s1) - l2 * s2) - l3 * s3;
  }
}

static inline void lu_back(double* A, size_t ld, int m) {
  double* x = A + (size_t)m * ld;
  for (int k = m - 1; k >= 0; k--) {
    const double* a = A + (size_t)k * ld;
    double t = x[k] /= a[k];
    int i = 0;
    for (; i + KN_W <= k; i += KN_W) AT(x, i) -= CAT(a, i) * t;
    for (; i < k; i++) x[i] -= a[i] * t;
  }
}

/* Replaces column m by the solution. */
static bool lu_solve(double* A, int lda, int m) {
  size_t ld = (size_t)lda;
  int piv[4], k0 = 0;
  for (; k0 + 4 <= m; k0 += 4) {
    if (!lu_panel(A, ld, m, m, k0, piv)) return false;
    const double* L = A + (size_t)k0 * ld;
    int j = k0 + 4;
    for (; j + 1 <= m; j += 2) {
      double *b = A + (size_t)j * ld, *c = b + ld;
      lu_top(b, L, ld, k0, piv);
      lu_top(c, L, ld, k0, piv);
      lu_update2(b, c, L, ld, k0, m);
    }
    if (j <= m) {
      lu_top(A + (size_t)j * ld, L, ld, k0, piv);
      lu_update1(A + (size_t)j * ld, L, ld, k0, m);
    }
  }
  for (; k0 < m; k0++) { /* last one to three columns, right-hand side included */
    double* a = A + (size_t)k0 * ld;
    int p = pivot_of(a, k0, m);
    if (!(fabs(a[p]) > 0.0 && fabs(a[p]) < INFINITY)) return false;
    for (int j = k0; j <= m && p != k0; j++) swap(A + (size_t)j * ld, k0, p);
    double inv = 1.0 / a[k0];
    for (int i = k0 + 1; i < m; i++) a[i] *= inv;
    for (int j = k0 + 1; j <= m; j++) {
      double *b = A + (size_t)j * ld, t = b[k0];
      for (int i = k0 + 1; i < m; i++) b[i] -= a[i] * t;
    }
  }
  lu_back(A, ld, m);
  return true;
}

/* ---- Newton ---- */

static inline int classify_cone(kn_cone_mode* m, const kn_cone_block* b, const double* r, const double* u,
                                double rho) {
  double h = r[0] - rho * u[0];
  m->state = KN_MODE_OPEN;
  if (!(h > 0.0)) return 0;
  m->state = KN_MODE_SLIP;
  double y1 = r[1] - rho * u[1], y2 = b->kind == KN_CONE_DISC ? r[2] - rho * u[2] : 0.0;
  double y = sqrt(y1 * y1 + y2 * y2), radius = b->mu * h;
  if (b->mu > 0.0 && y <= radius) {
    m->state = KN_MODE_STICK;
    return b->rows;
  }
  double inv = y > 0.0 ? 1.0 / y : 0.0;
  m->d[0] = y1 * inv, m->d[1] = y2 * inv;
  m->t[0] = -m->d[1], m->t[1] = m->d[0];
  m->g = radius * inv;
  return b->mu > 0.0 && b->kind == KN_CONE_DISC ? 2 : 1;
}

/* Modes of the blocks first … last - 1, whose unknowns begin at `at`; returns where they end. */
static inline int classify_from(kn_cone* c, double rho, int first, int last, int at) {
  for (int b = first; b < last; b++) {
    const kn_cone_block* k = &c->block[b];
    kn_cone_mode* m = &c->mode[b];
    const double *r = c->r + k->row, *u = c->u + k->row;
    m->at = at;
    if (k->kind != KN_CONE_LINE) {
      at += classify_cone(m, k, r, u, rho);
      continue;
    }
    double y = r[0] - rho * u[0];
    m->state = y <= k->lo ? KN_MODE_LOW : y >= k->hi ? KN_MODE_HIGH : KN_MODE_STICK;
    at += m->state == KN_MODE_STICK;
  }
  return at;
}

typedef struct classification {
  kn_cone* c;
  double rho;
} classification;

static void classify_some(int worker, int first, int last, void* context) {
  const classification* k = context;
  (void)worker;
  classify_from(k->c, k->rho, first, last, 0);
}

/* Mode of every block and the number of unknowns; the fronts of a sparse form number these themselves. */
static inline int classify(kn_cone* c, double rho) {
  if (!crew_of(c)) return classify_from(c, rho, 0, c->blocks, 0);
  kn_crew_run(crew_of(c), c->blocks, c->blocks / 16, classify_some, &(classification){c, rho});
  return 0;
}

/* Which rows the unknowns of a dense Newton step are; tangential ones of slipping contacts are mixed from two. */
typedef struct kn_unknowns {
  int m, slips;
  int row[KN_DENSE_MOST], slip[KN_DENSE_MOST / 3];
} kn_unknowns;

static inline void list_unknowns(kn_unknowns* l, const kn_cone* c) {
  l->m = l->slips = 0;
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    kn_cone_state state = c->mode[b].state;
    bool slips = state == KN_MODE_SLIP, two = slips && k->mu > 0.0 && k->kind == KN_CONE_DISC;
    int count = state == KN_MODE_STICK ? k->rows : slips ? 1 + two : 0;
    for (int i = 0; i < count; i++) l->row[l->m++] = k->row + i;
    if (two) l->slip[l->slips++] = b;
  }
}

/* One column over the scaled rows -> over the unknowns. */
static inline void gather(double* out, const kn_unknowns* l, const kn_cone* c, const double* in, double rho) {
  for (int i = 0; i < l->m; i++) out[i] = in[l->row[i]];
  for (int i = 0; i < l->slips; i++) {
    const kn_cone_mode* m = &c->mode[l->slip[i]];
    const double* x = in + c->block[l->slip[i]].row;
    out[m->at + 1] = m->g * rho * (m->t[0] * x[1] + m->t[1] * x[2]);
  }
}

static inline void slip_columns(double* A, size_t lda, const kn_unknowns* l, kn_cone* c, int b, double eps,
                                double rho) {
  const kn_cone_block* k = &c->block[b];
  const kn_cone_mode* m = &c->mode[b];
  size_t ld = (size_t)c->ld;
  const double* w = c->W + (size_t)k->row * ld;
  double* v = c->column;
  double *out = A + (size_t)m->at * lda, m1 = k->mu * m->d[0], m2 = k->mu * m->d[1];
  bool disc = k->kind == KN_CONE_DISC;
  if (k->mu == 0.0) {
    gather(out, l, c, w, rho);
  } else {
    for (int i = 0; i < c->ld; i += KN_W) {
      kn_vec x = CAT(w, i) + m1 * CAT(w + ld, i);
      if (disc) x += m2 * CAT(w + 2 * ld, i);
      AT(v, i) = x;
    }
    gather(out, l, c, v, rho);
  }
  out[m->at] += c->shift + eps;
  if (k->mu == 0.0 || !disc) return;
  out += lda;
  for (int i = 0; i < c->ld; i += KN_W) AT(v, i) = m->t[0] * CAT(w + ld, i) + m->t[1] * CAT(w + 2 * ld, i);
  gather(out, l, c, v, rho);
  out[m->at + 1] += m->g * rho * (c->shift + eps) + (1.0 - m->g);
}

static inline void stick_columns(double* A, size_t lda, const kn_unknowns* l, kn_cone* c, int b, double eps,
                                 double rho) {
  const kn_cone_block* k = &c->block[b];
  int at = c->mode[b].at;
  for (int i = 0; i < k->rows; i++) {
    double* out = A + (size_t)(at + i) * lda;
    gather(out, l, c, c->W + (size_t)(k->row + i) * (size_t)c->ld, rho);
    out[at + i] += c->shift + eps;
  }
}

/* Right-hand side over the scaled rows: eps r^k - q - (columns of lines held at a bound). */
static inline void right_side(double* v, kn_cone* c, double eps) {
  for (int i = 0; i < c->ld; i += KN_W) AT(v, i) = eps * CAT(c->r, i) - CAT(c->q, i);
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    kn_cone_state s = c->mode[b].state;
    double x = s == KN_MODE_LOW ? k->lo : s == KN_MODE_HIGH ? k->hi : 0.0;
    if (k->kind == KN_CONE_LINE && x != 0.0) add1(v, c->W + (size_t)k->row * (size_t)c->ld, -x, c->ld);
  }
}

static inline void expand_from(double* r, const kn_cone* c, const double* x, int first, int last) {
  for (int b = first; b < last; b++) {
    const kn_cone_block* k = &c->block[b];
    const kn_cone_mode* m = &c->mode[b];
    double* o = r + k->row;
    const double* in = x + m->at;
    if (m->state == KN_MODE_STICK) {
      for (int i = 0; i < k->rows; i++) o[i] = in[i];
    } else if (m->state == KN_MODE_SLIP) {
      o[0] = in[0];
      double s = k->mu > 0.0 && k->kind == KN_CONE_DISC ? in[1] : 0.0, n = k->mu * in[0];
      o[1] = n * m->d[0] + s * m->t[0];
      if (k->rows > 2) o[2] = n * m->d[1] + s * m->t[1];
    } else {
      o[0] = m->state == KN_MODE_LOW ? k->lo : m->state == KN_MODE_HIGH ? k->hi : 0.0;
      if (k->rows > 1) o[1] = 0.0;
      if (k->rows > 2) o[2] = 0.0;
    }
  }
}

typedef struct expansion {
  double* r;
  const kn_cone* c;
  const double* x;
} expansion;

static void expand_some(int worker, int first, int last, void* context) {
  const expansion* e = context;
  (void)worker;
  expand_from(e->r, e->c, e->x, first, last);
}

static inline void expand(double* r, const kn_cone* c, const double* x) {
  if (crew_of(c))
    kn_crew_run(crew_of(c), c->blocks, c->blocks / 16, expand_some, &(expansion){r, c, x});
  else
    expand_from(r, c, x, 0, c->blocks);
}

#include "comp/heap/sparse_kernel.h"

static bool dense_newton_solve(kn_cone* c, int m, double eps, double rho) {
  int lda = ((m + 7) & ~7) + 8;
  size_t ld = (size_t)lda;
  double* A = c->A;
  kn_unknowns l;
  list_unknowns(&l, c);
  for (int b = 0; b < c->blocks; b++) {
    if (c->mode[b].state == KN_MODE_SLIP)
      slip_columns(A, ld, &l, c, b, eps, rho);
    else if (c->mode[b].state == KN_MODE_STICK)
      stick_columns(A, ld, &l, c, b, eps, rho);
  }
  right_side(c->column, c, eps);
  gather(A + (size_t)m * ld, &l, c, c->column, rho);
  if (!lu_solve(A, lda, m)) return false;
  expand(c->try_r, c, A + (size_t)m * ld);
  for (int i = c->n; i < c->ld; i++) c->try_r[i] = 0.0;
  return true;
}

/* try_r, try_u = full Newton step. False if the matrix is singular or the step not finite. */
static bool newton_step(kn_cone* c, double eps, double rho) {
  int m = classify(c, rho);
  if (!(c->sparse ? sparse_newton_solve(c, eps, rho) : dense_newton_solve(c, m, eps, rho))) return false;
  velocity_of(c->try_u, c, c->try_r);
  double sum[8] = {0.0}; /* stays 0 unless an entry is not finite */
  for (int i = 0; i < c->ld; i += 8)
    for (int k = 0; k < 8; k++) sum[k] += 0.0 * c->try_u[i + k];
  for (int k = 1; k < 8; k++) sum[0] += sum[k];
  return sum[0] == 0.0;
}

/* Every block as if sticking: all rows are unknown, except the tangential ones of frictionless contacts. */
static int all_unknown(kn_cone* c) {
  int at = 0;
  for (int b = 0; b < c->blocks; b++) {
    bool flat = c->block[b].rows > 1 && c->block[b].mu == 0.0;
    c->mode[b] = (kn_cone_mode){.state = flat ? KN_MODE_SLIP : KN_MODE_STICK, .at = at};
    at += flat ? 1 : c->block[b].rows;
  }
  return at;
}

static bool dense_solve(kn_cone* c, int m, const double* D, double* x) {
  size_t ld = (size_t)(((m + 7) & ~7) + 8);
  double* A = c->A;
  kn_unknowns l;
  list_unknowns(&l, c);
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    int at = c->mode[b].at, many = (b + 1 < c->blocks ? c->mode[b + 1].at : m) - at;
    for (int j = 0; j < many; j++) {
      double* out = A + (size_t)(at + j) * ld;
      gather(out, &l, c, c->W + (size_t)(k->row + j) * (size_t)c->ld, 1.0);
      for (int i = 0; i < many; i++) out[at + i] += D[9 * (size_t)b + (size_t)(3 * i + j)];
      out[at + j] += c->shift;
    }
  }
  gather(A + (size_t)m * ld, &l, c, x, 1.0);
  return lu_solve(A, (int)ld, m);
}

static bool KN_NAME(solve)(kn_cone* c, const double* D, double* x) {
  int m = all_unknown(c);
  c->extra = D;
  bool ok = c->sparse ? sparse_factor_solve(c, x, 0.0, 1.0) : dense_solve(c, m, D, x);
  c->extra = NULL;
  if (!ok) return false;
  const double* y = c->sparse ? c->sparse->x : c->A + (size_t)m * (size_t)(((m + 7) & ~7) + 8);
  expand(x, c, y);
  return true;
}

static inline void take(kn_cone* c, double t) {
  if (t == 1.0) {
    memcpy(c->r, c->try_r, (size_t)c->ld * sizeof *c->r);
    memcpy(c->u, c->try_u, (size_t)c->ld * sizeof *c->u);
    return;
  }
  for (int i = 0; i < c->ld; i += KN_W) {
    AT(c->r, i) += t * (CAT(c->try_r, i) - CAT(c->r, i));
    AT(c->u, i) += t * (CAT(c->try_u, i) - CAT(c->u, i));
  }
}

/* Largest step 2^-k, k <= halvings, with sufficient decrease; the shortest otherwise. r and u are linear in
 * it. */
static double line_search(kn_cone* c, int halvings, double rho, double sum) {
  double t = 1.0;
  for (int k = 0; k < halvings; k++, t *= 0.5) {
    for (int i = 0; i < c->ld; i += KN_W) {
      AT(c->column, i) = CAT(c->r, i) + t * (CAT(c->try_r, i) - CAT(c->r, i));
      AT(c->spare, i) = CAT(c->u, i) + t * (CAT(c->try_u, i) - CAT(c->u, i));
    }
    if (residual_of(c, c->column, c->spare, rho).sum <= (1.0 - 0.2 * t) * sum) break;
  }
  return t;
}

/* Proximal term that falls with the residual: far away a damped step, close by the full one. */
static inline double newton_eps(const kn_newton_settings* s, const kn_cone_residual* f) {
  double e = s->eps_rate * f->most / f->size;
  return e > s->eps ? s->eps : kn_max(1e-12, e);
}

static int KN_NAME(newton)(kn_cone* c, const kn_newton_settings* s, kn_cone_residual* residual) {
  size_t bytes = (size_t)c->ld * sizeof *c->r;
  kn_cone_residual f = residual_of(c, c->r, c->u, s->rho), best = f;
  memcpy(c->best_r, c->r, bytes);
  double eps = s->eps_rate > 0.0 ? newton_eps(s, &f) : s->eps;
  int step = 0, stall = 0;
  for (; step < s->max_steps && f.most > s->tol * f.size; step++) {
    if (!newton_step(c, eps, s->rho)) break;
    take(c, s->halvings ? line_search(c, s->halvings, s->rho, f.sum) : 1.0);
    f = residual_of(c, c->r, c->u, s->rho);
    eps = s->eps_rate > 0.0 ? newton_eps(s, &f) : step >= 1 ? kn_max(1e-12, 0.1 * eps) : eps;
    if (!(f.sum < INFINITY)) break;
    stall = f.sum < 0.5 * best.sum ? 0 : stall + 1;
    if (f.sum < best.sum) best = f, memcpy(c->best_r, c->r, bytes);
    if (stall >= s->stall) break;
  }
  if (best.sum != f.sum) {
    memcpy(c->r, c->best_r, bytes);
    velocity_of(c->u, c, c->r);
  }
  *residual = best;
  return step;
}

const kn_cone_ops KN_NAME(kn_cone_ops) = {KN_NAME(load),  KN_NAME(velocity), KN_NAME(residual),
                                          KN_NAME(sweep), KN_NAME(newton),   KN_NAME(solve)};
