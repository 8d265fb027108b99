/* Closed forms of the projection formulation on plain matrices (F. Aghili; equation numbers are the paper's,
   signs and identities corrected as in docs/projection.md):

     acceleration  q̈ = Mo⁺ (u - h) + S Ω q̇,  S Ω q̇ = -S A⁺ (Ȧ q̇)                       (12), (13)
     force         f = Sᵀ (h - u) + Sᵀ M Ω q̇,  Sᵀ M = M S                                 (14)
     impact        q̇⁺ = q̇⁻ - S (I + Ẽ) q̇⁻ + Mo⁺ i_u,  Ẽ = A⁺ E A                         (27), (49)
     impulse       i_f = -M S (I + Ẽ) q̇⁻ - Sᵀ i_u                                         (30), (50)
     energy        ΔK = ½ q̇⁻ᵀ (Ẽᵀ SᵀMS Ẽ - SᵀMS) q̇⁻ + ½ i_uᵀ Mo⁺ i_u + q̇⁻ᵀ (I - Sᵀ) i_u  (31), (51) */
#include "knuckle/projection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/extreme.h"
#include "math/dense.h"
#include "math/eigen.h"
#include "math/projector.h"

struct kn_projector {
  kn_projector_core core;
  double *A, *x, *g; /* max_m x max_n; scratch: 4 max_n, max_m + max_n */
};

kn_status kn_projector_create(kn_projector** projector, int max_n, int max_m) {
  KN_REQUIRE(projector != NULL);
  *projector = NULL;
  KN_REQUIRE(max_n > 0 && max_m >= 0 && max_n <= 10000 && max_m <= 10000);
  size_t n = (size_t)max_n, m = (size_t)max_m, head = (sizeof(kn_projector) + 63) / 64 * 64,
         own = (m * n + 5 * n + m + 8) * sizeof(double);
  size_t core = kn_projector_core_size(max_n, max_m), total = (head + core + own + 127) / 64 * 64;
  char* memory = aligned_alloc(64, total);
  if (!memory) return kn_fail(KN_OUT_OF_MEMORY, "projector: out of memory");
  memset(memory, 0, total);
  kn_projector* p = (kn_projector*)(void*)memory;
  kn_projector_core_init(&p->core, max_n, max_m, memory + head);
  p->A = (double*)(void*)(memory + head + (core + 63) / 64 * 64);
  p->x = p->A + m * n;
  p->g = p->x + 4 * n;
  *projector = p;
  return KN_OK;
}

void kn_projector_destroy(kn_projector* p) { free(p); }

kn_status kn_projector_set(kn_projector* p, int n, int m, const double* M, const double* A, double rank_tol) {
  KN_REQUIRE(p && M && (A || m == 0));
  KN_REQUIRE(rank_tol >= 0.0 && rank_tol < 1.0);
  if (n < 1 || m < 0 || n > p->core.max_n || m > p->core.max_m)
    return kn_fail(KN_NO_ROOM, "projector: %d coordinates and %d rows, room for %d and %d", n, m,
                   p->core.max_n, p->core.max_m);
  if (!kn_all_finite(M, (size_t)n * (size_t)n) || !kn_all_finite(A, (size_t)m * (size_t)n))
    return kn_fail(KN_NOT_FINITE, "projector: M or A holds a NaN or infinity");
  if (m) memcpy(p->A, A, (size_t)m * (size_t)n * sizeof(double));
  if (!kn_projector_build(&p->core, n, m, M, p->A, rank_tol > 0.0 ? rank_tol : KN_PROJECTION_RANK_TOL,
                          false)) {
    p->core.n = 0;
    return kn_fail(KN_BAD_ARGUMENT, "projector: M is not positive definite");
  }
  return KN_OK;
}

/* Columns of an operator applied to unit vectors. */
typedef void apply_fn(double* y, kn_projector_core* p, const double* x);

static void columns(double* out, kn_projector_core* p, apply_fn* apply, int in, double* unit, double* y) {
  for (int j = 0; j < in; j++) {
    memset(unit, 0, (size_t)in * sizeof(double));
    unit[j] = 1.0;
    apply(y, p, unit);
    for (int i = 0; i < p->n; i++) out[(size_t)i * in + j] = y[i];
  }
}

/* A⁺ b = (I - P) S A⁺ b, since (I - P) S = I - P. */
static void pseudo_inverse(double* x, kn_projector_core* p, const double* b) {
  double* part = p->y;
  kn_projector_reach(x, p, b);
  memset(part, 0, (size_t)p->n * sizeof(double));
  for (int k = 0; k < p->rank; k++) {
    const double* q = p->Q + (size_t)k * p->n;
    kn_axpy(p->n, part, kn_dot(p->n, q, x), q);
  }
  memcpy(x, part, (size_t)p->n * sizeof(double));
}

/* Mo = P M P from the P and M at hand. */
static void write_Mo(double* Mo, kn_projector_core* p, double* x, double* y) {
  int n = p->n;
  for (int j = 0; j < n; j++) {
    memset(x, 0, (size_t)n * sizeof(double));
    x[j] = 1.0;
    kn_projector_P(x, p, x);
    kn_gemv(n, n, y, p->M, n, x);
    kn_projector_P(y, p, y);
    for (int i = 0; i < n; i++) Mo[(size_t)i * n + j] = y[i];
  }
}

kn_status kn_projector_write(const kn_projector_matrices* out, kn_projector* p) {
  KN_REQUIRE(out && p && p->core.n > 0);
  kn_projector_core* c = &p->core;
  int n = c->n;
  double *x = p->g, *y = p->x;
  if (out->P) columns(out->P, c, kn_projector_P, n, x, y);
  if (out->Mo) write_Mo(out->Mo, c, x, y);
  if (out->Mo_plus) columns(out->Mo_plus, c, kn_projector_admit, n, x, y);
  if (out->S) columns(out->S, c, kn_projector_S, n, x, y);
  if (out->A_plus) columns(out->A_plus, c, pseudo_inverse, c->m, x, y);
  if (!out->Mc) return KN_OK;
  write_Mo(out->Mc, c, x, y);
  for (int k = 0; k < c->rank; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        out->Mc[(size_t)i * n + j] += c->nu * c->Q[(size_t)k * n + i] * c->Q[(size_t)k * n + j];
  return KN_OK;
}

kn_status kn_projector_describe(kn_projector_info* info, const kn_projector* p) {
  KN_REQUIRE(info && p && p->core.n > 0);
  const kn_projector_core* c = &p->core;
  int n = c->n;
  *info = (kn_projector_info){.rank = c->rank, .nu = c->nu};
  double* Mc = malloc(((size_t)n * n + 2 * (size_t)n) * sizeof(double));
  if (!Mc) return kn_fail(KN_OUT_OF_MEMORY, "projector: out of memory");
  double *w = Mc + (size_t)n * n, least = INFINITY, most = 0.0;
  for (int i = 0; i < n; i++) /* Mc = UᵀU */
    for (int j = 0; j < n; j++) {
      double sum = 0.0;
      for (int k = 0; k <= (i < j ? i : j); k++) sum += c->U[(size_t)k * n + i] * c->U[(size_t)k * n + j];
      Mc[(size_t)i * n + j] = sum;
    }
  kn_eigen_symmetric(n, Mc, w, NULL);
  info->condition = w[n - 1] / w[0];
  int skip = c->rank; /* the `rank` eigenvalues nearest to ν belong to the constrained directions */
  bool* out = calloc((size_t)n, sizeof *out);
  for (int k = 0; out && k < skip; k++) {
    int near = -1;
    for (int i = 0; i < n; i++)
      if (!out[i] && (near < 0 || fabs(w[i] - c->nu) < fabs(w[near] - c->nu))) near = i;
    out[near] = true;
  }
  for (int i = 0; out && i < n; i++)
    if (!out[i]) least = fmin(least, w[i]), most = fmax(most, w[i]);
  free(out);
  free(Mc);
  info->lambda_min = most > 0.0 ? least : 0.0;
  info->lambda_max = most;
  return KN_OK;
}

kn_status kn_projector_accelerate(double* qdd, double* f, double* lambda, bool* determinate, kn_projector* p,
                                  const double* force, const double* Adot_v) {
  KN_REQUIRE(qdd && p && force && p->core.n > 0);
  kn_projector_core* c = &p->core;
  int n = c->n;
  double *bend = p->x, *F = p->x + n, *MF = p->x + 2 * n;
  memset(bend, 0, (size_t)n * sizeof(double));
  if (Adot_v) kn_projector_reach(bend, c, Adot_v);
  kn_projector_St(F, c, force);
  kn_gemv(n, n, MF, c->M, n, bend);
  for (int i = 0; i < n; i++) F[i] = -F[i] - MF[i];
  kn_projector_admit(qdd, c, force);
  for (int i = 0; i < n; i++) qdd[i] -= bend[i];
  if (f) memcpy(f, F, (size_t)n * sizeof(double));
  if (lambda) kn_projector_multipliers(lambda, c, F);
  if (determinate) kn_projector_determinate(determinate, c);
  return KN_OK;
}

static double kinetic(const kn_projector_core* c, const double* v, double* Mv) {
  kn_gemv(c->n, c->n, Mv, c->M, c->n, v);
  return 0.5 * kn_dot(c->n, v, Mv);
}

kn_status kn_projector_impact(kn_projection_impact* out, double* v_after, double* i_f, double* i_lambda,
                              kn_projector* p, const double* v, const double* e, const double* i_u) {
  KN_REQUIRE(out && v_after && p && v && (e || p->core.m == 0) && p->core.n > 0);
  kn_projector_core* c = &p->core;
  int n = c->n, m = c->m;
  double *Sv = p->x, *SEv = p->x + n, *y = p->x + 2 * n, *F = p->x + 3 * n, *b = p->g, *Mv = p->g + m;
  out->kinetic = kinetic(c, v, Mv);
  bool equal = true;
  for (int i = 0; i < m; i++) {
    equal &= e[i] == e[0];
    b[i] = e[i] * kn_dot(n, p->A + (size_t)i * n, v);
  }
  kn_projector_S(Sv, c, v);
  if (equal) /* Ẽ = e A⁺A, S Ẽ = e S: exact however A is conditioned */
    for (int i = 0; i < n; i++) SEv[i] = m ? e[0] * Sv[i] : 0.0;
  else
    kn_projector_reach(SEv, c, b); /* S Ẽ v */
  out->energy = kinetic(c, SEv, Mv) - kinetic(c, Sv, Mv);
  for (int i = 0; i < n; i++) y[i] = Sv[i] + SEv[i];
  kn_gemv(n, n, F, c->M, n, y);
  for (int i = 0; i < n; i++) F[i] = -F[i];
  for (int i = 0; i < n; i++) v_after[i] = v[i] - y[i];
  if (i_u) {
    kn_projector_admit(y, c, i_u); /* Mo⁺ i_u */
    out->energy += 0.5 * kn_dot(n, i_u, y);
    for (int i = 0; i < n; i++) v_after[i] += y[i];
    kn_projector_St(y, c, i_u);
    for (int i = 0; i < n; i++) F[i] -= y[i], out->energy += v[i] * (i_u[i] - y[i]);
  }
  double after = kinetic(c, v_after, Mv), most = 0.0, least = 0.0;
  out->energy_difference = after - out->kinetic;
  out->gamma = out->kinetic > 0.0 ? after / out->kinetic : 1.0;
  double* lambda = i_lambda ? i_lambda : b;
  kn_projector_multipliers(lambda, c, F);
  for (int i = 0; i < m; i++) most = fmax(most, fabs(lambda[i])), least = fmin(least, lambda[i]);
  out->tensile = least < -1e-12 * most;
  if (i_f) memcpy(i_f, F, (size_t)n * sizeof(double));
  return KN_OK;
}

kn_status kn_projector_momentum(double* p_after, kn_projector* p, const double* momentum, double e,
                                const double* i_u) {
  KN_REQUIRE(p_after && p && momentum && p->core.n > 0);
  int n = p->core.n;
  double *s = p->x, *t = p->x + n;
  kn_projector_St(s, &p->core, momentum);
  memset(t, 0, (size_t)n * sizeof(double));
  if (i_u) {
    kn_projector_St(t, &p->core, i_u);
    for (int i = 0; i < n; i++) t[i] = i_u[i] - t[i];
  }
  for (int i = 0; i < n; i++) p_after[i] = momentum[i] - (1.0 + e) * s[i] + t[i];
  return KN_OK;
}
