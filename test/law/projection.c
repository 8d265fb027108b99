/* The projection operator and its closed forms on random systems: the identities of the paper in their right
   form, the printed forms that fail, impacts, energies. */
#include "knuckle/projection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "math/eigen.h"
#include "math/projector.h"
#include "test.h"

enum { N = 24 };
typedef double mat[N * N];

static void mul(double* C, int a, int b, int c, const double* A, const double* B) {
  mat T = {0};
  for (int i = 0; i < a; i++)
    for (int j = 0; j < c; j++) {
      double s = 0;
      for (int k = 0; k < b; k++) s += A[i * b + k] * B[k * c + j];
      T[i * c + j] = s;
    }
  memcpy(C, T, sizeof(double) * (size_t)(a * c));
}

static void transpose(double* T, int a, int b, const double* A) {
  mat t = {0};
  for (int i = 0; i < a; i++)
    for (int j = 0; j < b; j++) t[j * a + i] = A[i * b + j];
  memcpy(T, t, sizeof(double) * (size_t)(a * b));
}

static double norm(int n, const double* A) {
  double m = 0;
  for (int i = 0; i < n; i++) m = fmax(m, fabs(A[i]));
  return m;
}

static double distance(int n, const double* A, const double* B) {
  double m = 0;
  for (int i = 0; i < n; i++) m = fmax(m, fabs(A[i] - B[i]));
  return m;
}

typedef struct sys {
  int n, m, rank;
  mat M, A, Adot, P, Mo, Mc, Mop, S, Ap, I;
  double v[N]; /* a velocity */
  kn_projector* p;
  kn_projector_info info;
} sys;

/* n in 2 … 12, m in 1 … n + 3; a third of the systems has dependent rows. M = GᵀG + ½ I. */
static bool make(sys* s, uint64_t seed) {
  kn_rng rng = kn_rng_seed(seed);
  int n = s->n = 2 + kn_rng_int(&rng, 11);
  int m = s->m = 1 + kn_rng_int(&rng, n + 3);
  int rank = s->rank = seed % 3 == 0 ? 1 + kn_rng_int(&rng, m < n ? m : n) : m < n ? m : n;
  mat G, B, C;
  for (int i = 0; i < n * n; i++) G[i] = kn_rng_normal(&rng), s->I[i] = i % (n + 1) == 0;
  transpose(B, n, n, G);
  mul(s->M, n, n, n, B, G);
  for (int i = 0; i < n; i++) s->M[i * n + i] += 0.5;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) s->M[j * n + i] = s->M[i * n + j];
  for (int i = 0; i < m * rank; i++) B[i] = kn_rng_normal(&rng);
  for (int i = 0; i < rank * n; i++) C[i] = kn_rng_normal(&rng);
  mul(s->A, m, rank, n, B, C);
  for (int i = 0; i < m * n; i++) s->Adot[i] = kn_rng_normal(&rng);
  for (int i = 0; i < n; i++) s->v[i] = kn_rng_normal(&rng);
  if (!CHECK_OK(kn_projector_set(s->p, n, m, s->M, s->A, 1e-6))) return false;
  CHECK_OK(kn_projector_describe(&s->info, s->p));
  return CHECK_OK(
      kn_projector_write(&(kn_projector_matrices){s->P, s->Mo, s->Mc, s->Mop, s->S, s->Ap}, s->p));
}

/* |A| |A⁺|: statements that go through A⁺ lose that much, whatever M is. */
static double jacobian_condition(const sys* s) { return norm(s->m * s->n, s->A) * norm(s->n * s->m, s->Ap); }

static double worst;
static double allowance = 1.0;
static void same(const sys* s, const double* X, const double* Y, int count, const char* what) {
  double d =
      distance(count, X, Y) / fmax(1, fmax(norm(count, X), norm(count, Y))) / s->info.condition / allowance;
  worst = fmax(worst, d);
  if (!(d <= 1e-12)) {
    CHECK_BELOW(d, 1e-12);
    printf("  %s: n %d, m %d, rank %d\n", what, s->n, s->m, s->rank);
  }
}

TEST(identities_on_random_systems) {
  static sys s;
  int count = 300 * kn_test_effort(), deficient = 0;
  CHECK_OK(kn_projector_create(&s.p, N, N));
  for (int i = 0; i < count; i++) {
    if (!make(&s, (uint64_t)i)) return;
    int n = s.n, m = s.m, nn = n * n;
    mat X, Y, Z, St, Pt;
    CHECK_INT(s.info.rank, s.rank);
    deficient += s.rank < m;
    transpose(Pt, n, n, s.P);
    transpose(St, n, n, s.S);
    same(&s, Pt, s.P, nn, "P symmetric");
    mul(X, n, n, n, s.P, s.P), same(&s, X, s.P, nn, "P²");
    mul(X, m, n, n, s.A, s.P), memset(Y, 0, sizeof Y), same(&s, X, Y, m * n, "A P = 0");
    mul(X, n, m, n, s.Ap, s.A);
    for (int k = 0; k < nn; k++) Y[k] = s.I[k] - s.P[k];
    same(&s, X, Y, nn, "A⁺A = I - P");
    mul(X, m, n, n, s.A, X), same(&s, X, s.A, m * n, "A A⁺ A");
    mul(X, n, m, n, s.Ap, s.A), mul(X, n, n, m, X, s.Ap), same(&s, X, s.Ap, n * m, "A⁺ A A⁺");
    mul(X, m, n, m, s.A, s.Ap), transpose(Y, m, m, X), same(&s, X, Y, m * m, "A A⁺ symmetric");
    /* (9b), (9c), (9d) corrected */
    mul(X, n, n, n, s.Mc, s.P), same(&s, X, s.Mo, nn, "Mc P = Mo");
    mul(X, n, n, n, s.P, s.Mc), same(&s, X, s.Mo, nn, "P Mc = Mo");
    mul(X, n, n, n, s.Mop, s.Mo), same(&s, X, s.P, nn, "Mo⁺ Mo = P"); /* Mo⁺ = Mc⁻¹ P: Mo Mc⁻¹ = P */
    mul(X, n, n, n, s.Mo, s.Mop), same(&s, X, s.P, nn, "Mo Mo⁺ = P");
    mul(X, n, n, n, s.P, s.M), mul(X, n, n, n, X, s.Mop), same(&s, X, s.P, nn, "P M Mc⁻¹ P = P");
    /* (10), (11) */
    mul(X, n, n, n, s.Mop, s.M);
    for (int k = 0; k < nn; k++) X[k] = s.I[k] - X[k];
    same(&s, X, s.S, nn, "S = I - Mo⁺ M");
    mul(X, n, n, n, s.S, s.S), same(&s, X, s.S, nn, "S²");
    memset(Y, 0, sizeof Y);
    mul(X, n, n, n, s.S, s.P), same(&s, X, Y, nn, "S P = 0");
    mul(X, n, n, n, s.P, St), same(&s, X, Y, nn, "P Sᵀ = 0");
    mul(X, m, n, n, s.A, s.S), same(&s, X, s.A, m * n, "A S = A");
    for (int k = 0; k < nn; k++) Y[k] = s.I[k] - s.P[k];
    mul(X, n, n, n, Y, s.S), same(&s, X, Y, nn, "(I - P) S = I - P");
    mul(X, n, n, n, s.S, Y), same(&s, X, s.S, nn, "S (I - P) = S");
    mul(X, n, n, n, s.M, s.S), mul(Y, n, n, n, St, s.M), same(&s, X, Y, nn, "M S = Sᵀ M");
    mul(Z, n, n, n, Y, s.S), same(&s, Z, X, nn, "Sᵀ M S = M S");
    mul(X, n, n, n, s.Mop, St), memset(Y, 0, sizeof Y), same(&s, X, Y, nn, "Mo⁺ Sᵀ = 0"); /* Remark 2 */
    mul(X, n, n, n, s.M, s.Mop);
    for (int k = 0; k < nn; k++) Y[k] = s.I[k] - St[k];
    same(&s, X, Y, nn, "M Mo⁺ = I - Sᵀ"); /* (11e) */
    /* (28b) */
    for (int k = 0; k < nn; k++) X[k] = s.I[k] - 2 * s.S[k];
    mul(X, n, n, n, X, X), same(&s, X, s.I, nn, "R² = I");
    /* (9f): ν inside, and cond(Mc) = cond of Mo on its range; the cheap estimate is from below */
    double lo = s.info.lambda_min, hi = s.info.lambda_max;
    if (s.info.rank < n) {
      CHECK(s.info.nu >= lo * (1 - 1e-10) && s.info.nu <= hi * (1 + 1e-10));
      CHECK_REL(s.info.condition / (hi / lo), 1.0, 1e-9);
    }
  }
  printf("  %d systems, %d with dependent rows, worst %.2g cond(Mc)\n", count, deficient, worst);
  kn_projector_destroy(s.p);
}

/* cond(Mc) is smallest for ν inside the interval: outside by ten it is ten times larger (9f). */
TEST(forms_asked_for_alone_are_the_same) {
  static sys s;
  static mat alone[6];
  CHECK_OK(kn_projector_create(&s.p, N, N));
  for (int i = 0; i < 30; i++) {
    if (!make(&s, (uint64_t)i)) return;
    const double* all[] = {s.P, s.Mo, s.Mc, s.Mop, s.S, s.Ap};
    for (int k = 0; k < 6; k++) {
      kn_projector_matrices one = {0};
      double** out[] = {&one.P, &one.Mo, &one.Mc, &one.Mo_plus, &one.S, &one.A_plus};
      *out[k] = alone[k];
      CHECK_OK(kn_projector_write(&one, s.p));
      CHECK(memcmp(alone[k], all[k], (size_t)(k == 5 ? s.n * s.m : s.n * s.n) * sizeof(double)) == 0);
    }
  }
  kn_projector_destroy(s.p);
}

TEST(nu_inside_the_interval_gives_the_least_condition) {
  static sys s;
  CHECK_OK(kn_projector_create(&s.p, N, N));
  int seen = 0;
  for (uint64_t i = 0; seen < 50; i++) {
    if (!make(&s, i)) return;
    if (s.rank == s.n) continue;
    seen++;
    double w[N];
    mat X;
    for (int side = 0; side < 2; side++) {
      double nu = side ? 10 * s.info.lambda_max : 0.1 * s.info.lambda_min;
      for (int k = 0; k < s.n * s.n; k++) X[k] = s.Mo[k] + nu * (s.I[k] - s.P[k]);
      kn_eigen_symmetric(s.n, X, w, NULL);
      CHECK_REL(w[s.n - 1] / w[0] / s.info.condition, 10.0, 1e-6);
    }
  }
  kn_projector_destroy(s.p);
}

/* What the paper prints and what is right, on one system: the printed forms must fail by far. */
TEST(printed_forms_fail) {
  static sys s;
  CHECK_OK(kn_projector_create(&s.p, N, N));
  uint64_t seed = 0;
  while (make(&s, seed++) && !(s.n >= 6 && s.rank < s.m && s.rank < s.n - 1)) {}
  int n = s.n, m = s.m, nn = n * n;
  mat X, Y, inverse = {0}, G, w, V;
  /* Mc⁻¹ by its eigenvectors */
  memcpy(X, s.Mc, sizeof X);
  kn_eigen_symmetric(n, X, w, V);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++) inverse[i * n + j] += V[i * n + k] * V[j * n + k] / w[k];
  mul(X, n, n, n, s.M, inverse);
  printf("  (9d) printed |M Mc⁻¹ - P| = %.2g", distance(nn, X, s.P));
  CHECK(distance(nn, X, s.P) > 0.1);
  mul(X, n, n, n, s.Mo, inverse);
  printf(", corrected |Mo Mc⁻¹ - P| = %.2g\n", distance(nn, X, s.P));
  CHECK_BELOW(distance(nn, X, s.P), 1e-12 * s.info.condition);
  mul(X, n, n, n, s.Mc, s.P);
  printf("  appendix printed |Mc P - M| = %.2g\n", distance(nn, X, s.M));
  CHECK(distance(nn, X, s.M) > 0.1);
  /* (6): q̈_perp = Ω q̇ with Ω = Λ - Λᵀ; the printed sign is the other one. Truth: A q̈ = -Ȧ q̇ for q̇ = P q̇. */
  double v[N], b[N], want[N], got[N];
  mat L, Lt;
  mul(v, n, n, 1, s.P, s.v);
  mul(b, m, n, 1, s.Adot, v);
  mul(X, m, n, m, s.A, s.Ap), mul(b, m, m, 1, X, b); /* consistent part */
  mul(want, n, m, 1, s.Ap, b);
  for (int i = 0; i < n; i++) want[i] = -want[i];
  mul(L, n, m, n, s.Ap, s.Adot), mul(L, n, n, n, L, s.P);
  for (int i = 0; i < nn; i++) L[i] = -L[i];
  transpose(Lt, n, n, L);
  for (int i = 0; i < nn; i++) G[i] = Lt[i] - L[i];
  mul(got, n, n, 1, G, v);
  printf("  (6) printed: error %.2g", distance(n, got, want));
  CHECK(distance(n, got, want) > 0.1);
  for (int i = 0; i < n; i++) got[i] = -got[i];
  printf(", corrected %.2g\n", distance(n, got, want));
  CHECK_BELOW(distance(n, got, want), 1e-11);
  /* (12) first line, ν Mc⁻¹ P Ω q̇ is zero and must be ν Mc⁻¹ Ω q̇ = Ω q̇ */
  mul(Y, n, n, 1, s.P, got), mul(Y, n, n, 1, inverse, Y);
  CHECK_BELOW(s.info.nu * norm(n, Y), 1e-11);
  mul(Y, n, n, 1, inverse, got);
  for (int i = 0; i < n; i++) Y[i] *= s.info.nu;
  CHECK_BELOW(distance(n, Y, got), 1e-11);
  /* (26): + Mc⁻¹ P i_u printed in a balance of momenta; P i_u is right: Mc q⁺ = … */
  double plus[N], printed[N], right[N], e = 0.4;
  kn_projection_impact out;
  double es[N];
  for (int i = 0; i < m; i++) es[i] = e;
  for (int i = 0; i < n; i++) b[i] = 0.3 * i - 1; /* i_u */
  CHECK_OK(kn_projector_impact(&out, plus, NULL, NULL, s.p, s.v, es, b));
  mul(X, n, n, n, s.P, s.M), mul(X, n, n, 1, X, s.v);
  mul(Y, n, n, 1, s.Mc, s.v);
  mul(want, n, n, 1, s.P, b), mul(got, n, n, 1, inverse, want);
  for (int i = 0; i < n; i++) {
    right[i] = (1 + e) * X[i] - e * Y[i] + want[i];
    printed[i] = (1 + e) * X[i] - e * Y[i] + got[i];
  }
  mul(Y, n, n, 1, s.Mc, plus);
  CHECK_BELOW(distance(n, Y, right), 1e-11);
  CHECK(distance(n, Y, printed) > 0.01);
  /* (51) printed: last term -½ qᵀ SᵀMS Ẽ q; right: -½ qᵀ SᵀMS q */
  double ev[N], Sv[N], SEv[N], MS[N], printed51;
  for (int i = 0; i < m; i++) es[i] = 0.2 + 0.5 * i / m;
  CHECK_OK(kn_projector_impact(&out, plus, NULL, NULL, s.p, s.v, es, NULL));
  mul(ev, m, n, 1, s.A, s.v);
  for (int i = 0; i < m; i++) ev[i] *= es[i];
  mul(SEv, n, m, 1, s.Ap, ev), mul(SEv, n, n, 1, s.S, SEv);
  mul(Sv, n, n, 1, s.S, s.v);
  mul(MS, n, n, 1, s.M, SEv);
  printed51 = 0;
  for (int i = 0; i < n; i++) printed51 += 0.5 * (SEv[i] - Sv[i]) * MS[i];
  printf("  (51) printed %.4g, corrected %.4g, by difference %.4g\n", printed51, out.energy,
         out.energy_difference);
  CHECK_REL(out.energy, out.energy_difference, 1e-11);
  CHECK(fabs(printed51 - out.energy_difference) > 1e-3 * out.kinetic);
  kn_projector_destroy(s.p);
}

/* q̈ and f against the equations themselves: M q̈ = force + f, A q̈ = -Ȧ q̇, f = Aᵀ λ with λ of least norm. */
TEST(acceleration_and_force) {
  static sys s;
  double force[N], bend[N], qdd[N], f[N], lambda[N], X[N], Y[N];
  bool flag[N];
  mat Ap_A;
  CHECK_OK(kn_projector_create(&s.p, N, N));
  for (int i = 0; i < 200 * kn_test_effort(); i++) {
    if (!make(&s, 5000 + (uint64_t)i)) return;
    int n = s.n, m = s.m;
    kn_rng rng = kn_rng_seed((uint64_t)i);
    double v[N];
    for (int k = 0; k < n; k++) force[k] = kn_rng_normal(&rng);
    mul(v, n, n, 1, s.P, s.v);
    mul(bend, m, n, 1, s.Adot, v);
    mul(Ap_A, m, n, m, s.A, s.Ap), mul(bend, m, m, 1, Ap_A, bend); /* Ȧ q̇ of a real mechanism is consistent */
    CHECK_OK(kn_projector_accelerate(qdd, f, lambda, flag, s.p, force, bend));
    allowance = fmax(1, 0.1 * jacobian_condition(&s));
    mul(X, n, n, 1, s.M, qdd);
    for (int k = 0; k < n; k++) Y[k] = force[k] + f[k];
    same(&s, X, Y, n, "M q̈ = u - h + f");
    mul(X, m, n, 1, s.A, qdd);
    for (int k = 0; k < m; k++) Y[k] = -bend[k];
    same(&s, X, Y, m, "A q̈ = -Ȧ q̇");
    mat At;
    transpose(At, m, n, s.A), mul(X, n, m, 1, At, lambda);
    same(&s, X, f, n, "Aᵀ λ = f");
    transpose(At, n, m, s.Ap), mul(X, m, n, 1, At, f);
    /* the pseudo-inverse of a badly scaled A magnifies rounding of f by |A⁺|² |f| |A| */
    CHECK_BELOW(distance(m, X, lambda) / fmax(1, norm(m, X)), 1e-9);
    for (int k = 0; k < m; k++) { /* determinate: the k-th unit vector is in the range of A */
      double d = fabs(1 - Ap_A[k * m + k]);
      CHECK(flag[k] == (d < 1e-6));
    }
  }
  allowance = 1.0;
  kn_projector_destroy(s.p);
}

/* Impacts: global and local e, external impulse, momentum form, Remarks 2 and 4, work identities (37)-(41),
   0 <= γ <= 1, energy by formula and by difference. */
TEST(impacts_and_their_energy) {
  static sys s;
  double iu[N], e[N], plus[N], f[N], lambda[N], X[N], Y[N], zero[N] = {0}, off = 0;
  kn_projection_impact out, none;
  CHECK_OK(kn_projector_create(&s.p, N, N));
  int count = 4000 * kn_test_effort(), unequal = 0, tensile = 0;
  for (int i = 0; i < count; i++) {
    if (!make(&s, 70000 + (uint64_t)i)) return;
    int n = s.n, m = s.m;
    kn_rng rng = kn_rng_seed((uint64_t)i);
    double common = i % 5 == 0 ? 1.0 : i % 5 == 1 ? 0.0 : kn_rng_unit(&rng), p[N], pp[N];
    bool local = i % 2;
    for (int k = 0; k < n; k++) iu[k] = i % 3 ? kn_rng_normal(&rng) : 0.0;
    for (int k = 0; k < m; k++) e[k] = local ? kn_rng_unit(&rng) : common;
    CHECK_OK(kn_projector_impact(&out, plus, f, lambda, s.p, s.v, e, i % 3 ? iu : NULL));
    tensile += out.tensile;
    allowance = fmax(1, 0.1 * jacobian_condition(&s));
    double scale = fmax(out.kinetic, fabs(out.energy));
    off = fmax(off, fabs(out.energy - out.energy_difference) / scale / s.info.condition);
    mul(X, n, n, 1, s.M, plus), mul(Y, n, n, 1, s.M, s.v);
    for (int k = 0; k < n; k++) Y[k] += iu[k] + f[k];
    same(&s, X, Y, n, "momentum balance (18)");
    mul(X, m, n, 1, s.A, plus), mul(Y, m, n, 1, s.A, s.v);
    for (int k = 0; k < m; k++) Y[k] *= -e[k];
    if (s.rank < m && local) { /* met in the least squares sense only */
      mat AAp;
      mul(AAp, m, n, m, s.A, s.Ap);
      double r[N];
      for (int k = 0; k < m; k++) r[k] = X[k] - Y[k];
      mul(r, m, m, 1, AAp, r);
      same(&s, r, zero, m, "A v⁺ = -E A v⁻ in the range");
      unequal++;
    } else {
      same(&s, X, Y, m, "A v⁺ = -E A v⁻");
    }
    if (local) continue;
    mul(p, n, n, 1, s.M, s.v);
    CHECK_OK(kn_projector_momentum(pp, s.p, p, common, i % 3 ? iu : NULL));
    mul(X, n, n, 1, s.M, plus), same(&s, pp, X, n, "momentum form (29)");
    /* Remark 2: an impulse in the range of Sᵀ has no effect on the velocity */
    double st[N];
    mat St;
    transpose(St, n, n, s.S), mul(st, n, n, 1, St, iu);
    CHECK_OK(kn_projector_impact(&none, X, NULL, NULL, s.p, s.v, e, NULL));
    CHECK_OK(kn_projector_impact(&out, Y, NULL, NULL, s.p, s.v, e, st));
    same(&s, X, Y, n, "Remark 2");
    /* Remark 4: one in the range of I - Sᵀ has no effect on i_f; and no impact for p⁻, i_u in it */
    double it[N], f0[N], vt[N];
    for (int k = 0; k < n; k++) it[k] = iu[k] - st[k];
    CHECK_OK(kn_projector_impact(&none, X, f0, NULL, s.p, s.v, e, NULL));
    CHECK_OK(kn_projector_impact(&out, Y, f, NULL, s.p, s.v, e, it));
    same(&s, f, f0, n, "Remark 4");
    mul(vt, n, n, 1, s.P, s.v); /* M⁻¹ (I - Sᵀ) p = Mo⁺ p: the range is that of P */
    CHECK_OK(kn_projector_impact(&out, Y, f, NULL, s.p, vt, e, it));
    same(&s, f, zero, n, "impact-free transition");
    /* (32), (35), (36) */
    double loss = 0, SMS[N], dot = 0, dl = 0, du = 0;
    mul(X, n, n, 1, s.S, s.v), mul(SMS, n, n, 1, s.M, X);
    for (int k = 0; k < n; k++) loss -= 0.5 * (1 - common * common) * X[k] * SMS[k];
    CHECK_OK(kn_projector_impact(&none, plus, f, lambda, s.p, s.v, e, NULL));
    double tol = 1e-12 * s.info.condition * none.kinetic;
    CHECK_NEAR(none.energy, loss, tol);
    CHECK(none.gamma >= -1e-12 && none.gamma <= 1 + 1e-12 * s.info.condition);
    if (common == 1.0) CHECK_NEAR(none.gamma, 1, 1e-12 * s.info.condition);
    /* (38)-(41): work of i_f on the mean velocity, in joint and in task space */
    double Av[N], Ap[N];
    mul(Av, m, n, 1, s.A, s.v), mul(Ap, m, n, 1, s.A, plus);
    for (int k = 0; k < n; k++) dot += 0.5 * f[k] * (s.v[k] + plus[k]);
    for (int k = 0; k < m; k++) dl += 0.5 * lambda[k] * (Av[k] + Ap[k]), du += lambda[k] * Av[k];
    /* λ of nearly dependent random rows is large: products of λ and A v round by |λ| |A v| */
    double big = 1e-12 * s.info.condition * (none.kinetic + norm(m, lambda) * (norm(m, Av) + norm(m, Ap)));
    CHECK_NEAR(dot, loss, tol);
    CHECK_NEAR(dl, loss, big);
    if (common < 1.0) CHECK_NEAR(du, 2 * loss / (1 - common), big / (1 - common));
  }
  printf("  %d impacts (%d with unequal e on dependent rows, %d tensile), |formula - difference| <= %.2g K "
         "cond(Mc)\n",
         count, unequal, tensile, off);
  allowance = 1.0;
  CHECK_BELOW(off, 1e-12);
  CHECK(unequal > 100);
  kn_projector_destroy(s.p);
}

TEST(bad_input_gets_a_status) {
  kn_projector* p;
  double M[4] = {1, 2, 2, 1}, A[2] = {1, 0}, v[2] = {1, 1}, x[2];
  CHECK_OK(kn_projector_create(&p, 2, 1));
  CHECK_STATUS(kn_projector_accelerate(x, NULL, NULL, NULL, p, v, NULL), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_projector_set(p, 2, 1, M, (double[]){0, 0}, 0), KN_BAD_ARGUMENT); /* indefinite, no rows */
  CHECK_STATUS(kn_projector_set(p, 3, 1, M, A, 0), KN_NO_ROOM);
  M[1] = NAN;
  CHECK_STATUS(kn_projector_set(p, 2, 1, M, A, 0), KN_NOT_FINITE);
  CHECK_TEXT(kn_last_error(), "NaN");
  kn_projector_destroy(p);
  CHECK_STATUS(kn_projector_create(&p, 0, 1), KN_BAD_ARGUMENT);
}

/* No allocation once the projector exists. */
TEST(nothing_is_allocated) {
  static sys s;
  double plus[N], qdd[N], lambda[N], e[N] = {0};
  kn_projection_impact out;
  CHECK_OK(kn_projector_create(&s.p, N, N));
  if (!kn_test_counts_allocations()) SKIP("allocations are not counted here");
  make(&s, 3);
  size_t before = kn_test_allocations();
  CHECK_OK(kn_projector_set(s.p, s.n, s.m, s.M, s.A, 0));
  CHECK_OK(kn_projector_accelerate(qdd, NULL, lambda, NULL, s.p, s.v, NULL));
  CHECK_OK(kn_projector_impact(&out, plus, NULL, NULL, s.p, s.v, e, NULL));
  CHECK_INT(kn_test_allocations() - before, 0);
  kn_projector_destroy(s.p);
}
