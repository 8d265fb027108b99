/* Refinement of a solve with hinge rows. Hinge impulses of free bodies may be thousands of times what
   anything moves in the end, and W = G M⁻¹ Gᵀ carries rounding of that size. The rows' velocities read from
   the bodies themselves, u = G V + bias, do not; with F the equality rows (hinges, loops) and C the others,

     S = W_CC - W_CF W_FF⁻¹ W_FC
     repeat:  δ_F = -W_FF⁻¹ u_F                             V += X δ, X = M⁻¹ Gᵀ
              λ' solves (S, u_C - S λ) with the sets of C,   δ_C = λ' - λ,  δ_F = -W_FF⁻¹ W_FC δ_C

   Corrections are small, so that errors of W enter them in second order only.

   The problem itself is solved in the same space: λ of C from (S, q_C - W_CF W_FF⁻¹ q_F), which is the problem of the
   operational space up to rounding, then the impulses of F. From the same guess the solver takes the same way
   there, so that forces which the motion leaves open are the same in every formulation. */
#include <math.h>
#include <string.h>

#include "contact/formulation/maximal.h"
#include "math/dense.h"

enum { ROUNDS = 4 };

size_t kn_refine_doubles(int total, int max_rows) {
  size_t t = (size_t)total, r = (size_t)max_rows;
  return t * t + t * r + r * r + 2 * t + 3 * r;
}

typedef struct parts {
  int f, c;      /* equality rows, other rows */
  int *F, *C;    /* their numbers */
  double *K, *Z; /* factor of W_FF; W_FF⁻¹ W_FC, a row per row of C */
  double *S, *q, *lambda, *change;
  double *u, *d;   /* rows */
  kn_block* block; /* of C */
  int blocks;
} parts;

static void split(parts* a, const kn_refinement* r, const kn_contact_work* w) { /* of r: rows and blocks */
  a->f = a->c = a->blocks = 0;
  a->F = w->hinge.index;
  a->C = w->hinge.index + r->rows;
  a->block = w->hinge.block;
  for (int b = 0; b < r->nblock; b++) {
    const kn_block* k = &r->block[b];
    int rows = kn_set_rows(k->set);
    if (k->set == KN_SET_FREE) {
      a->F[a->f++] = k->row;
      continue;
    }
    a->block[a->blocks] = *k;
    a->block[a->blocks++].row = a->c;
    for (int i = 0; i < rows; i++) a->C[a->c++] = k->row + i;
  }
  size_t f = (size_t)a->f, c = (size_t)a->c;
  a->K = w->hinge.scratch;
  a->Z = a->K + f * f;
  a->S = a->Z + f * c;
  a->q = a->S + c * c;
  a->lambda = a->q + c;
  a->change = a->lambda + c;
  a->u = a->change + c;
  a->d = a->u + r->rows;
}

/* u = G (V - V_0) + q_0; returns the largest |u_F| relative to the largest term in any. */
static double velocities(parts* a, const kn_refinement* r) {
  double worst = 0.0, size = 0.0;
  for (int i = 0; i < r->rows; i++) {
    const double* g = r->G + (size_t)i * r->n;
    double sum = r->q[i];
    for (int k = 0; k < r->n; k++) sum += g[k] * (r->V[k] - (r->V_0 ? r->V_0[k] : 0.0));
    a->u[i] = sum;
  }
  for (int i = 0; i < a->f; i++) {
    const double* g = r->G + (size_t)a->F[i] * r->n;
    for (int k = 0; k < r->n; k++) size = fmax(size, fabs(g[k] * r->V[k]));
    worst = fmax(worst, fabs(a->u[a->F[i]]));
  }
  return size > 0.0 ? worst / size : 0.0;
}

static void add(const kn_refinement* r, int row, double delta) {
  r->p[row] += delta;
  if (delta != 0.0) kn_axpy(r->n, r->V, delta, r->X + (size_t)row * r->n);
}

static bool factor(parts* a, const kn_refinement* r) {
  size_t ld = (size_t)r->rows;
  for (int i = 0; i < a->f; i++)
    for (int j = 0; j < a->f; j++) a->K[(size_t)i * a->f + j] = r->W[a->F[i] * ld + a->F[j]];
  if (kn_cholesky_factor(a->f, a->K, a->f, 1e-13) < a->f) return false; /* redundant: as it was */
  for (int i = 0; i < a->c; i++) {
    for (int k = 0; k < a->f; k++) a->d[k] = r->W[a->F[k] * ld + a->C[i]];
    kn_cholesky_solve(a->f, a->Z + (size_t)i * a->f, a->K, a->f, a->d);
  }
  for (int i = 0; i < a->c; i++)
    for (int j = 0; j <= i; j++) {
      double s = r->W[a->C[i] * ld + a->C[j]];
      for (int k = 0; k < a->f; k++) s -= r->W[a->F[k] * ld + a->C[i]] * a->Z[(size_t)j * a->f + k];
      a->S[(size_t)i * a->c + j] = a->S[(size_t)j * a->c + i] = s;
    }
  return true;
}

static void close_equalities(parts* a, const kn_refinement* r) {
  for (int i = 0; i < a->f; i++) a->d[i] = -a->u[a->F[i]];
  kn_cholesky_solve(a->f, a->d, a->K, a->f, a->d);
  for (int i = 0; i < a->f; i++) add(r, a->F[i], a->d[i]);
}

/* False: nothing was to be corrected, or nothing could be. */
static bool correct_contacts(parts* a, const kn_refinement* r, kn_contact_work* w, double tolerance) {
  kn_solve_settings settings = kn_solve_default();
  kn_solve_info info;
  settings.tol = tolerance;
  settings.warm_start = settings.untimed = true;
  for (int i = 0; i < a->c; i++) a->lambda[i] = a->change[i] = r->p[a->C[i]];
  for (int i = 0; i < a->c; i++) a->q[i] = a->u[a->C[i]] - kn_dot(a->c, a->S + (size_t)i * a->c, a->lambda);
  kn_problem p = {.rows = a->c, .blocks = a->blocks, .block = a->block, .W = a->S, .q = a->q};
  double before = kn_problem_error_scaled(&p, a->lambda);
  if (before <= tolerance) return false;
  kn_problem_solve(a->change, &info, &p, &settings, w->solver);
  double size = 0.0, most = 0.0;
  for (int i = 0; i < a->c; i++) {
    a->change[i] -= a->lambda[i];
    size = fmax(size, fabs(a->lambda[i]));
    most = fmax(most, fabs(a->change[i]));
  }
  if (!(info.residual_scaled < before) || most > 3.0 * size)
    return false; /* far away, where forces are not unique */
  memset(a->d, 0, (size_t)a->f * sizeof(double));
  for (int i = 0; i < a->c; i++) {
    add(r, a->C[i], a->change[i]);
    kn_axpy(a->f, a->d, -a->change[i], a->Z + (size_t)i * a->f);
  }
  for (int i = 0; i < a->f; i++) add(r, a->F[i], a->d[i]);
  return true;
}

bool kn_condensed_solve(double* p, kn_solve_info* info, const kn_problem* whole,
                        const kn_solve_settings* settings, kn_contact_work* w) {
  parts a;
  kn_refinement r = {.rows = whole->rows, .W = whole->W, .block = whole->block, .nblock = whole->blocks};
  split(&a, &r, w);
  if (a.f == 0 || !factor(&a, &r)) return false;
  for (int i = 0; i < a.f; i++) a.d[i] = whole->q[a.F[i]];
  for (int i = 0; i < a.c; i++) {
    a.q[i] = whole->q[a.C[i]] - kn_dot(a.f, a.Z + (size_t)i * a.f, a.d);
    a.lambda[i] = p[a.C[i]];
  }
  kn_problem contacts = {.rows = a.c, .blocks = a.blocks, .block = a.block, .W = a.S, .q = a.q};
  *info = (kn_solve_info){.solver = "condensed", .direct = true};
  if (a.c) kn_problem_solve(a.lambda, info, &contacts, settings, w->solver);
  kn_cholesky_solve(a.f, a.d, a.K, a.f, a.d);
  for (int i = 0; i < a.f; i++) a.d[i] = -a.d[i];
  for (int i = 0; i < a.c; i++) kn_axpy(a.f, a.d, -a.lambda[i], a.Z + (size_t)i * a.f);
  for (int i = 0; i < a.f; i++) p[a.F[i]] = a.d[i];
  for (int i = 0; i < a.c; i++) p[a.C[i]] = a.lambda[i];
  info->residual = kn_problem_error(whole, p);
  info->residual_scaled = kn_problem_error_scaled(whole, p);
  return info->status == KN_OK && info->residual_scaled <= settings->tol && info->residual <= settings->tol;
}

void kn_refine(const kn_refinement* r, kn_contact_work* w, double tolerance) {
  parts a;
  split(&a, r, w);
  if (a.f == 0) return;
  bool closed = velocities(&a, r) <= tolerance;
  if ((closed && a.c == 0) || !factor(&a, r)) return;
  for (int round = 0; round < ROUNDS; round++) {
    if (!closed) close_equalities(&a, r), velocities(&a, r);
    bool fine = a.c == 0 || !correct_contacts(&a, r, w, tolerance);
    closed = velocities(&a, r) <= tolerance;
    if (closed && fine) return;
  }
}

void kn_maximal_advance(double* V, const kn_contact_work* w, const double* r) {
  const kn_maximal* x = w->own;
  if (V != x->V) memcpy(V, x->V, (size_t)x->n * sizeof(double));
  for (int i = 0; i < w->total; i++)
    if (r[i] != 0.0) kn_axpy(x->n, V, r[i], x->X + (size_t)i * x->n);
}

void kn_maximal_refine(kn_contact_work* w, double tolerance) {
  kn_maximal* x = w->own;
  kn_maximal_advance(x->V_end, w, w->r);
  kn_refine(&(kn_refinement){.n = x->n,
                             .rows = w->total,
                             .G = x->G,
                             .X = x->X,
                             .W = w->W,
                             .V_0 = x->V,
                             .q = w->q,
                             .block = w->block,
                             .nblock = w->nblock,
                             .V = x->V_end,
                             .p = w->r},
            w, tolerance);
  x->refined = true;
}
