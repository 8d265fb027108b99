/* Determinate and indeterminate contact forces.

   For a given motion u every other solution r + d has W d = 0 and stays in the same faces: an open contact
   carries nothing, a sliding one moves along its ray (1, r_T / r_N), a sticking one anywhere, a contact with
   r = 0 and u = 0 only into its cone. With the columns B of these faces, a force is indeterminate iff some d
   = B c, W B c = 0, reaches it; one-sided columns (c_j >= 0) take part only if they can be positive:  N_j y >
   0 for some y with N_P y >= 0, N a null-space basis and P the one-sided rows; a least-distance problem
   solved by NNLS (Lawson and Hanson 1974, chapter 23). The columns are scaled to unit diagonal of W, so that
   forces and torques weigh alike.

   The minimum-norm choice is the projection of 0 onto {r + B N y} ∩ faces by Dykstra's alternating
   projections. */
#include "comp/verdict/enumerate.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "comp/lcp/lcp.h"
#include "comp/problem/problem.h"
#include "math/dense.h"

enum { MAX_DIM = 48, MAX_SIDES = 96 };

static void householder(double* A, int m, int k, int step, double* tau) {
  double* c = A + (size_t)step * (size_t)m;
  double norm = 0.0;
  for (int i = step; i < m; i++) norm += c[i] * c[i];
  norm = sqrt(norm);
  double alpha = c[step] > 0.0 ? -norm : norm, v0 = c[step] - alpha;
  *tau = alpha;
  for (int j = step + 1; j < k && norm > 0.0; j++) {
    double *o = A + (size_t)j * (size_t)m, d = v0 * o[step];
    for (int i = step + 1; i < m; i++) d += c[i] * o[i];
    d /= alpha * v0;
    o[step] += d * v0;
    for (int i = step + 1; i < m; i++) o[i] += d * c[i];
  }
}

static void swap_columns(double* A, int m, int a, int b, int* perm) {
  int t = perm[a];
  perm[a] = perm[b];
  perm[b] = t;
  for (int i = 0; i < m; i++) {
    double x = A[(size_t)a * (size_t)m + (size_t)i];
    A[(size_t)a * (size_t)m + (size_t)i] = A[(size_t)b * (size_t)m + (size_t)i];
    A[(size_t)b * (size_t)m + (size_t)i] = x;
  }
}

static int largest_column(const double* A, int m, int k, int step, double* norm) {
  int best = step;
  *norm = -1.0;
  for (int j = step; j < k; j++) {
    double s = 0.0;
    for (int i = step; i < m; i++)
      s += A[(size_t)j * (size_t)m + (size_t)i] * A[(size_t)j * (size_t)m + (size_t)i];
    if (s > *norm) *norm = s, best = j;
  }
  *norm = sqrt(fmax(*norm, 0.0));
  return best;
}

/* Modified Gram-Schmidt, twice. */
static void orthonormalise(double* N, int k, int dim) {
  for (int a = 0; a < dim; a++) {
    double* v = N + (size_t)a * (size_t)k;
    for (int twice = 0; twice < 2; twice++) {
      for (int b = 0; b < a; b++)
        kn_axpy(k, v, -kn_dot(k, v, N + (size_t)b * (size_t)k), N + (size_t)b * (size_t)k);
      double norm = sqrt(kn_dot(k, v, v));
      for (int i = 0; i < k; i++) v[i] /= norm;
    }
  }
}

int kn_null_space(double* N, int m, int k, double* A, double tol, int* perm, double* scratch) {
  double first = 0.0, norm, *R = scratch;
  int rank = 0;
  for (int j = 0; j < k; j++) perm[j] = j;
  for (; rank < k && rank < m; rank++) {
    int best = largest_column(A, m, k, rank, &norm);
    if (rank == 0) first = norm;
    if (!(norm > tol * first) || norm == 0.0) break;
    if (best != rank) swap_columns(A, m, rank, best, perm);
    householder(A, m, k, rank, &R[rank]);
  }
  int dim = k - rank;
  memset(N, 0, (size_t)k * (size_t)dim * sizeof *N);
  for (int d = 0; d < dim; d++) { /* R11 x = -R12 e_d */
    double* v = N + (size_t)d * (size_t)k;
    v[perm[rank + d]] = 1.0;
    for (int i = rank - 1; i >= 0; i--) {
      double s = -A[(size_t)(rank + d) * (size_t)m + (size_t)i];
      for (int j = i + 1; j < rank; j++) s -= A[(size_t)j * (size_t)m + (size_t)i] * v[perm[j]];
      v[perm[i]] = s / R[i];
    }
  }
  orthonormalise(N, k, dim);
  return dim;
}

/* The faces of a solved problem in scaled units. */
typedef struct faces {
  int rows, cols;
  double* A;     /* W' B, rows x cols by columns */
  double* B;     /* contacts: the columns themselves */
  int* one_side; /* per column: 1 when its coefficient may only grow from 0 */
  int* origin;   /* per column: row (LCP) or block (cones) */
  double* N;     /* null space, cols x dim */
  int dim;
} faces;

/* Is there y with N_P y >= 0 and (N_P y)_j >= 1 for the rows asked? Marks every one-sided column that it
 * makes positive. */
static bool grow(faces* f, const int* sides, int count, int only, double* pool, int* passive, bool* can) {
  int d = f->dim, m = d + 1;
  double *E = pool, *b = E + (size_t)m * (size_t)count, *u = b + m, *r = u + count, *scratch = r + m;
  for (int j = 0; j < count; j++) {
    for (int i = 0; i < d; i++)
      E[(size_t)i * (size_t)count + (size_t)j] = f->N[(size_t)i * (size_t)f->cols + (size_t)sides[j]];
    E[(size_t)d * (size_t)count + (size_t)j] = only < 0 || only == j ? 1.0 : 0.0;
  }
  memset(b, 0, (size_t)m * sizeof *b);
  b[d] = 1.0;
  double left = kn_nnls(u, r, m, count, E, b, scratch, passive);
  if (!(left > 1e-7)) return false;
  for (int j = 0; j < count; j++) {
    double s = 0.0;
    for (int i = 0; i < d; i++) s -= f->N[(size_t)i * (size_t)f->cols + (size_t)sides[j]] * r[i] / r[d];
    if (s > 1e-6) can[j] = true;
  }
  return only < 0 || can[only];
}

/* One-sided columns that cannot take part are removed from the null space: their rows become constraints. */
static void drop_columns(faces* f, const int* sides, const bool* can, int count, kn_lcp_work* work) {
  int kept = 0, d = f->dim;
  double *A = work->C, *Y = work->farkas;
  for (int j = 0; j < count; j++) {
    if (can[j]) continue;
    for (int i = 0; i < d; i++)
      A[(size_t)i * (size_t)count + (size_t)kept] = f->N[(size_t)i * (size_t)f->cols + (size_t)sides[j]];
    kept++;
  }
  if (kept == 0) return;
  for (int i = 1; i < d; i++)
    memmove(A + (size_t)i * (size_t)kept, A + (size_t)i * (size_t)count, (size_t)kept * sizeof *A);
  double scratch[2 * MAX_DIM], old[MAX_DIM];
  int perm[MAX_DIM], dim = kn_null_space(Y, kept, d, A, 1e-7, perm, scratch);
  for (int row = 0; row < f->cols; row++) {
    for (int i = 0; i < d; i++) old[i] = f->N[(size_t)i * (size_t)f->cols + (size_t)row];
    for (int c = 0; c < dim; c++) {
      double s = 0.0;
      for (int i = 0; i < d; i++) s += old[i] * Y[(size_t)c * (size_t)d + (size_t)i];
      f->N[(size_t)c * (size_t)f->cols + (size_t)row] = s;
    }
  }
  f->dim = dim;
}

/* Null space of the faces, with one-sided columns used only where they can be. */
static void analyse(faces* f, kn_lcp_work* work) {
  int sides[MAX_SIDES], count = 0;
  bool can[MAX_SIDES] = {0};
  f->dim = kn_null_space(f->N, f->rows, f->cols, f->A, 1e-9, work->iv[3], work->w2);
  if (f->dim == 0) return;
  for (int c = 0; c < f->cols; c++)
    if (f->one_side[c]) {
      if (count == MAX_SIDES) return; /* too many to sort out: all are taken as movable */
      sides[count++] = c;
    }
  if (count == 0 || f->dim > MAX_DIM) return;
  if (!grow(f, sides, count, -1, work->farkas, work->iv2, can))
    for (int j = 0; j < count; j++)
      if (!can[j]) grow(f, sides, count, j, work->farkas, work->iv2, can);
  drop_columns(f, sides, can, count, work);
}

static bool column_moves(const faces* f, int c) {
  double s = 0.0;
  for (int d = 0; d < f->dim; d++)
    s += f->N[(size_t)d * (size_t)f->cols + (size_t)c] * f->N[(size_t)d * (size_t)f->cols + (size_t)c];
  return s > 1e-12;
}

static void begin_faces(faces* f, int rows, kn_lcp_work* work) {
  *f = (faces){rows, 0, work->A, work->scaled.M, work->iv[0], work->iv[1], work->B, 0};
}

/* ---- LCP ---- */

static void lcp_faces(faces* f, const kn_lcp* lcp, kn_lcp_boxed* p, const double* z, kn_lcp_work* work) {
  kn_lcp_boxed_begin(p, lcp, work, z);
  begin_faces(f, lcp->n, work);
  double unit = 1.0;
  for (int i = 0; i < p->n; i++) unit = fmax(unit, 1e-4 * fabs(p->z[i]));
  for (int i = 0; i < p->n; i++) {
    double above = p->z[i] - p->lo[i], below = p->hi[i] - p->z[i], near = 1e-9 * unit;
    if (p->lo[i] == p->hi[i] || fabs(p->w[i]) > near) continue;
    double sign = below <= near && above > near ? -1.0 : 1.0, *to = f->A + (size_t)f->cols * (size_t)f->rows;
    for (int r = 0; r < p->n; r++) to[r] = sign * p->s->M[(size_t)i * (size_t)p->ld + (size_t)r];
    f->one_side[f->cols] = above <= near || below <= near;
    f->origin[f->cols++] = sign > 0 ? i : -1 - i;
  }
}

/* Dykstra between the affine set z + N y and the box; x starts at 0. Result in p->z. */
static void lcp_least_norm(const faces* f, kn_lcp_boxed* p, double* x, double* correction) {
  int k = f->cols;
  memset(correction, 0, (size_t)k * sizeof *correction);
  for (int c = 0; c < k; c++) x[c] = 0.0;
  double* z0 = p->out;
  for (int c = 0; c < k; c++) z0[c] = f->origin[c] >= 0 ? p->z[f->origin[c]] : p->z[-1 - f->origin[c]];
  for (int round = 0; round < 3000; round++) {
    double change = 0.0;
    /* affine: x <- z0 + N N^T (x - z0) with column signs */
    double y[MAX_DIM];
    for (int d = 0; d < f->dim; d++) {
      y[d] = 0.0;
      for (int c = 0; c < k; c++)
        y[d] += f->N[(size_t)d * (size_t)k + (size_t)c] * (f->origin[c] >= 0 ? 1.0 : -1.0) * (x[c] - z0[c]);
    }
    for (int c = 0; c < k; c++) {
      double s = z0[c];
      for (int d = 0; d < f->dim; d++)
        s += f->N[(size_t)d * (size_t)k + (size_t)c] * (f->origin[c] >= 0 ? 1.0 : -1.0) * y[d];
      int i = f->origin[c] >= 0 ? f->origin[c] : -1 - f->origin[c];
      double t = s + correction[c], b = t < p->lo[i] ? p->lo[i] : t > p->hi[i] ? p->hi[i] : t;
      correction[c] = t - b;
      change = fmax(change, fabs(b - x[c]));
      x[c] = b;
    }
    if (change <= 1e-14 * (1.0 + fabs(x[0]))) break;
  }
}

kn_status kn_lcp_determinate(bool* determinate, double* z_min, int* rank, const kn_lcp* lcp, const double* z,
                             kn_lcp_work* work) {
  KN_TRY(kn_lcp_check(lcp));
  KN_REQUIRE(work != NULL && lcp->n <= work->max_n && (lcp->n == 0 || z != NULL));
  faces f;
  kn_lcp_boxed p;
  lcp_faces(&f, lcp, &p, z, work);
  int cols = f.cols;
  analyse(&f, work);
  if (rank) *rank = cols - f.dim;
  for (int i = 0; determinate && i < lcp->n; i++) determinate[i] = true;
  for (int c = 0; determinate && c < cols; c++)
    if (column_moves(&f, c)) determinate[f.origin[c] >= 0 ? f.origin[c] : -1 - f.origin[c]] = false;
  if (!z_min) return KN_OK;
  memcpy(z_min, z, (size_t)lcp->n * sizeof *z);
  if (f.dim == 0 || f.dim > MAX_DIM) return KN_OK;
  double *x = work->v[5], *chosen = work->v[7];
  lcp_least_norm(&f, &p, x, work->v[6]);
  for (int c = 0; c < cols; c++) p.z[f.origin[c] >= 0 ? f.origin[c] : -1 - f.origin[c]] = x[c];
  kn_lcp_unscale(chosen, p.s, p.z);
  for (int i = 0; i < lcp->n; i++) chosen[i] = kn_lcp_clamp(lcp, i, chosen[i]);
  /* only a point that is as good a solution replaces the given one */
  if (kn_lcp_residual_scaled(lcp, chosen) <= fmax(1e-10, 2.0 * kn_lcp_residual_scaled(lcp, z)))
    memcpy(z_min, chosen, (size_t)lcp->n * sizeof *z);
  return KN_OK;
}

/* ---- contacts ---- */

typedef struct cone_view {
  const kn_problem* p;
  double *s, *u, *r; /* scale per row, scaled u and r */
} cone_view;

static double entry_sparse(const kn_problem* p, int row_block, int i, int col_block, int j) {
  const kn_sparse* a = p->sparse;
  int width = kn_set_rows(p->block[col_block].set);
  for (int k = a->start[row_block]; k < a->start[row_block + 1]; k++)
    if (a->col[k] == col_block) return a->value[a->at[k] + i * width + j];
  return 0.0;
}

/* Adds coefficient * (block b, component j) to the last face column: to B, and its image S W S to A. */
static void add_row(faces* f, const cone_view* v, int b, int j, double coefficient) {
  const kn_problem* p = v->p;
  int column = p->block[b].row + j;
  double *to = f->A + (size_t)(f->cols - 1) * (size_t)f->rows, c = coefficient * v->s[column];
  f->B[(size_t)(f->cols - 1) * (size_t)f->rows + (size_t)column] += coefficient;
  for (int a = 0; a < p->blocks; a++)
    for (int i = 0; i < kn_set_rows(p->block[a].set); i++) {
      int row = p->block[a].row + i;
      double w = p->W ? p->W[(size_t)row * (size_t)p->rows + (size_t)column] : entry_sparse(p, a, i, b, j);
      to[row] += v->s[row] * w * c;
    }
}

/* Normal rows by sqrt W_NN, the tangential rows of a contact alike, so that circles stay circles. */
static void view_scales(cone_view* v) {
  const kn_problem* p = v->p;
  for (int b = 0; b < p->blocks; b++) {
    int row = p->block[b].row, n = kn_set_rows(p->block[b].set);
    double d[3];
    for (int i = 0; i < n; i++)
      d[i] =
          p->W ? p->W[(size_t)(row + i) * (size_t)p->rows + (size_t)(row + i)] : entry_sparse(p, b, i, b, i);
    if (n == 3) d[1] = d[2] = 0.5 * (d[1] + d[2]);
    for (int i = 0; i < n; i++) v->s[row + i] = d[i] > 0.0 ? 1.0 / sqrt(d[i]) : 1.0;
  }
}

static void new_column(faces* f, int origin, bool one_side) {
  size_t at = (size_t)f->cols * (size_t)f->rows;
  memset(f->A + at, 0, (size_t)f->rows * sizeof *f->A);
  memset(f->B + at, 0, (size_t)f->rows * sizeof *f->B);
  f->one_side[f->cols] = one_side;
  f->origin[f->cols++] = origin;
}

static void scalar_face(faces* f, const cone_view* v, int b, double near) {
  const kn_block* k = &v->p->block[b];
  double s = v->s[k->row], r = v->r[k->row], u = v->u[k->row];
  double lo = k->set == KN_SET_FREE ? -INFINITY : k->set == KN_SET_POSITIVE ? 0.0 : k->lo / s;
  double hi = k->set == KN_SET_BOX ? k->hi / s : INFINITY;
  if (fabs(u) > near || lo == hi) return;
  bool at_lo = r - lo <= near, at_hi = hi - r <= near;
  new_column(f, b, at_lo || at_hi);
  add_row(f, v, b, 0, at_hi && !at_lo ? -1.0 : 1.0);
}

/* r = 0 and u = 0: rays that span the inside of the cone. */
static void resting_face(faces* f, const cone_view* v, int b, double mu) {
  static const double ray[3][2] = {{1, 0}, {-0.5, 0.8660254037844386}, {-0.5, -0.8660254037844386}};
  int n = kn_set_rows(v->p->block[b].set);
  double m = fmin(mu, 10.0);
  for (int i = 0; i < n; i++) {
    new_column(f, b, true);
    add_row(f, v, b, 0, 1.0);
    add_row(f, v, b, 1, n == 3 ? m * ray[i][0] : i ? m : -m);
    if (n == 3) add_row(f, v, b, 2, m * ray[i][1]);
  }
}

static void cone_face(faces* f, const cone_view* v, int b, double near) {
  const kn_block* k = &v->p->block[b];
  int n = kn_set_rows(k->set), row = k->row;
  const double *r = v->r + row, *u = v->u + row;
  double ut = n == 3 ? sqrt(u[1] * u[1] + u[2] * u[2]) : fabs(u[1]);
  double mu = k->mu > 0.0 ? fmin(k->mu * v->s[row] / v->s[row + 1], 1e6) : 0.0;
  bool loaded = r[0] > near;
  if (u[0] > near) return;
  if (mu == 0.0 || ut > near) { /* one ray: the normal, or against the slip */
    new_column(f, b, !loaded);
    add_row(f, v, b, 0, 1.0);
    for (int i = 1; mu > 0.0 && i < n; i++) add_row(f, v, b, i, -mu * u[i] / ut);
  } else if (loaded) {
    for (int i = 0; i < n; i++) {
      new_column(f, b, false);
      add_row(f, v, b, i, 1.0);
    }
  } else
    resting_face(f, v, b, mu);
}

static void cone_faces(faces* f, cone_view* v, const kn_problem* problem, const double* r,
                       kn_lcp_work* work) {
  *v = (cone_view){problem, work->v[0], work->v[1], work->v[2]};
  begin_faces(f, problem->rows, work);
  view_scales(v);
  kn_problem_velocity(v->u, problem, r);
  double size = 0.0, force = 0.0;
  for (int i = 0; i < problem->rows; i++) {
    v->r[i] = r[i] / v->s[i];
    v->u[i] *= v->s[i];
    size = fmax(size, fabs(problem->q[i] * v->s[i]));
    force = fmax(force, fabs(v->r[i]));
  }
  double near = 1e-8 * (size + 1e-3 * force); /* two digits looser than the solver's tolerance */
  for (int b = 0; b < problem->blocks; b++)
    if (problem->block[b].set >= KN_SET_CONE2)
      cone_face(f, v, b, near);
    else
      scalar_face(f, v, b, near);
}

static void project_block(double* x, const kn_block* k, const double* s) {
  int n = kn_set_rows(k->set);
  if (k->set == KN_SET_FREE) return;
  if (n == 1) {
    double lo = k->set == KN_SET_BOX ? k->lo / s[0] : 0.0,
           hi = k->set == KN_SET_BOX ? k->hi / s[0] : INFINITY;
    x[0] = x[0] < lo ? lo : x[0] > hi ? hi : x[0];
    return;
  }
  double mu = k->mu * s[0] / s[1], t = n == 3 ? sqrt(x[1] * x[1] + x[2] * x[2]) : fabs(x[1]);
  if (!(mu < INFINITY)) {
    x[0] = fmax(x[0], 0.0);
    return;
  }
  if (t <= mu * x[0]) return;
  double a = (x[0] + mu * t) / (1.0 + mu * mu);
  a = a > 0.0 ? a : 0.0;
  x[0] = a;
  for (int i = 1; i < n; i++) x[i] *= t > 0.0 ? mu * a / t : 0.0;
}

/* Dykstra between r + span(B N) and the cones, in scaled units, started at 0. */
static void cone_least_norm(double* r_min, const faces* f, const cone_view* v, kn_lcp_work* work) {
  int rows = f->rows, dim = f->dim;
  double *D = work->A, *x = work->v[3], *correction = work->v[4], *y = work->v[5];
  const kn_problem* p = v->p;
  memset(D, 0, (size_t)rows * (size_t)dim * sizeof *D);
  for (int d = 0; d < dim; d++)
    for (int c = 0; c < f->cols; c++)
      kn_axpy(rows, D + (size_t)d * (size_t)rows, f->N[(size_t)d * (size_t)f->cols + (size_t)c],
              f->B + (size_t)c * (size_t)rows);
  orthonormalise(D, rows, dim);
  memset(x, 0, (size_t)rows * sizeof *x);
  memset(correction, 0, (size_t)rows * sizeof *correction);
  for (int round = 0; round < 2000; round++) {
    double change = 0.0;
    for (int i = 0; i < rows; i++) y[i] = x[i] - v->r[i], r_min[i] = v->r[i];
    for (int d = 0; d < dim; d++)
      kn_axpy(rows, r_min, kn_dot(rows, y, D + (size_t)d * (size_t)rows), D + (size_t)d * (size_t)rows);
    for (int i = 0; i < rows; i++) y[i] = r_min[i] + correction[i], correction[i] = y[i];
    for (int b = 0; b < p->blocks; b++)
      project_block(y + p->block[b].row, &p->block[b], v->s + p->block[b].row);
    for (int i = 0; i < rows; i++) {
      correction[i] -= y[i];
      change = fmax(change, fabs(y[i] - x[i]));
      x[i] = y[i];
    }
    if (change <= 1e-15) break;
  }
  for (int i = 0; i < rows; i++) r_min[i] = x[i] * v->s[i];
}

kn_status kn_problem_determinate(bool* determinate, double* r_min, int* rank, const kn_problem* problem,
                                 const double* r, kn_lcp_work* work) {
  KN_TRY(kn_problem_check(problem));
  KN_REQUIRE(work != NULL && problem->rows <= work->max_n && (problem->rows == 0 || r != NULL));
  if (kn_problem_tall(problem))
    return kn_fail(KN_UNSUPPORTED,
                   "which forces are determined is not known with friction of spin or rolling");
  faces f;
  cone_view v;
  cone_faces(&f, &v, problem, r, work);
  analyse(&f, work);
  if (rank) *rank = f.cols - f.dim;
  for (int b = 0; determinate && b < problem->blocks; b++) determinate[b] = true;
  for (int c = 0; determinate && c < f.cols; c++)
    if (column_moves(&f, c)) determinate[f.origin[c]] = false;
  if (!r_min) return KN_OK;
  memcpy(r_min, r, (size_t)problem->rows * sizeof *r);
  if (f.dim == 0) return KN_OK;
  double *chosen = work->v[6], before = kn_problem_error_scaled(problem, r);
  cone_least_norm(chosen, &f, &v, work);
  /* only a point that is as good a solution replaces the given one */
  if (kn_problem_error_scaled(problem, chosen) <= fmax(1e-9, 2.0 * before))
    memcpy(r_min, chosen, (size_t)problem->rows * sizeof *r);
  return KN_OK;
}
