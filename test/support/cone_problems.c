#include "cone_problems.h"

#include <stdlib.h>
#include <string.h>

const char* const kn_family_name[KN_FAMILY_COUNT] = {"free", "stack", "artic", "dup"};

static void cross(double* c, const double* a, const double* b) {
  c[0] = a[1] * b[2] - a[2] * b[1], c[1] = a[2] * b[0] - a[0] * b[2], c[2] = a[0] * b[1] - a[1] * b[0];
}

static void random_frame(double F[3][3], kn_rng* rng) {
  double a[3] = {kn_rng_normal(rng), kn_rng_normal(rng), kn_rng_normal(rng)}, l = 0.0;
  for (int k = 0; k < 3; k++) F[0][k] = kn_rng_normal(rng);
  for (int k = 0; k < 3; k++) l += F[0][k] * F[0][k];
  for (int k = 0; k < 3; k++) F[0][k] /= sqrt(l);
  cross(F[1], F[0], a);
  l = sqrt(F[1][0] * F[1][0] + F[1][1] * F[1][1] + F[1][2] * F[1][2]);
  for (int k = 0; k < 3; k++) F[1][k] /= l;
  cross(F[2], F[0], F[1]);
}

/* Rows of contact c for body b (6 dofs: linear, angular), point x relative to its centre. */
static void body_rows(kn_generated* g, int c, int b, const double F[3][3], const double* x, double sign) {
  for (int i = 0; i < 3; i++) {
    double m[3], *row = g->J + (size_t)(3 * c + i) * (size_t)g->dofs + 6 * b;
    cross(m, x, F[i]);
    for (int k = 0; k < 3; k++) row[k] += sign * F[i][k], row[3 + k] += sign * m[k];
  }
}

static void set_body(kn_generated* g, int b, double mass, double inertia) {
  for (int k = 0; k < 6; k++)
    g->inverse_mass[(size_t)(6 * b + k) * (size_t)g->dofs + (size_t)(6 * b + k)] =
        1.0 / (k < 3 ? mass : inertia);
}

static void make_free(kn_generated* g, kn_rng* rng, int nc, double ratio) {
  int nb = g->dofs / 6;
  for (int b = 0; b < nb; b++) {
    double m = pow(ratio, kn_rng_unit(rng));
    set_body(g, b, m, m * kn_rng_range(rng, 0.1, 0.6));
    for (int k = 0; k < 6; k++) g->v[6 * b + k] = kn_rng_normal(rng);
  }
  for (int c = 0; c < nc; c++) {
    double F[3][3], x[3], y[3];
    int a = kn_rng_int(rng, nb), b = kn_rng_int(rng, nb + 1);
    random_frame(F, rng);
    for (int k = 0; k < 3; k++) x[k] = kn_rng_range(rng, -1, 1), y[k] = kn_rng_range(rng, -1, 1);
    body_rows(g, c, a, F, x, 1.0);
    if (b < nb && b != a) body_rows(g, c, b, F, y, -1.0);
  }
}

static void make_stack(kn_generated* g, kn_rng* rng, int nc, double ratio) {
  static const double F[3][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}};
  int nb = g->dofs / 6;
  double push[2] = {kn_rng_normal(rng), kn_rng_normal(rng)};
  for (int b = 0; b < nb; b++) {
    double m = nb > 1 ? pow(ratio, (double)b / (nb - 1)) : 1.0;
    set_body(g, b, m, m * 2.0 / 3.0);
    double* v = g->v + 6 * b;
    v[0] = 0.3 * push[0] * kn_rng_unit(rng), v[1] = 0.3 * push[1] * kn_rng_unit(rng), v[2] = -1.0;
    for (int k = 3; k < 6; k++) v[k] = 0.1 * kn_rng_normal(rng);
  }
  for (int c = 0; c < nc; c++) {
    double e = (c & 1) ? 1.0 : -1.0, f = (c & 2) ? 1.0 : -1.0;
    double bottom[3] = {e, f, -1}, top[3] = {e, f, 1};
    body_rows(g, c, c / 4, F, bottom, 1.0);
    if (c / 4 > 0) body_rows(g, c, c / 4 - 1, F, top, -1.0);
  }
}

static void make_artic(kn_generated* g, kn_rng* rng, int nc, double ratio) {
  for (int k = 0; k < g->dofs; k++) {
    g->inverse_mass[(size_t)k * (size_t)g->dofs + (size_t)k] = pow(ratio, -kn_rng_unit(rng));
    g->v[k] = kn_rng_normal(rng);
  }
  for (int i = 0; i < 3 * nc * g->dofs; i++) g->J[i] = kn_rng_normal(rng);
}

static void set_matrix(kn_generated* g) {
  int n = g->problem.rows, m = g->dofs;
  double *W = calloc((size_t)n * (size_t)n, sizeof *W), *X = calloc((size_t)n * (size_t)m, sizeof *X);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < m; k++)
      X[i * m + k] = g->J[i * m + k] * g->inverse_mass[(size_t)k * (size_t)m + (size_t)k];
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double s = 0.0;
      for (int k = 0; k < m; k++) s += X[i * m + k] * g->J[j * m + k];
      W[i * n + j] = W[j * n + i] = s;
    }
  free(X);
  g->problem.W = W;
}

void kn_generated_offset(kn_generated* g) {
  int n = g->problem.rows, m = g->dofs;
  double* q = (double*)(uintptr_t)g->problem.q;
  for (int i = 0; i < n; i++) {
    q[i] = 0.0;
    for (int k = 0; k < m; k++) q[i] += g->J[i * m + k] * g->v[k];
  }
}

/* Contacts that would separate are turned to approach, three times in four. */
static void close_contacts(kn_generated* g, kn_rng* rng) {
  for (int c = 0; c < g->problem.blocks; c++)
    if (g->problem.q[3 * c] > 0.0 && kn_rng_unit(rng) < 0.75)
      for (int k = 0; k < 3 * g->dofs; k++) g->J[(size_t)(3 * c) * (size_t)g->dofs + (size_t)k] *= -1.0;
}

static int dofs_of(kn_rng* rng, kn_family family, int nc) {
  if (family == KN_FAMILY_STACK) return 6 * ((nc + 3) / 4);
  if (family == KN_FAMILY_FREE) return 6 * (1 + kn_rng_int(rng, nc));
  return (int)fmax(1.0, 3.0 * nc * kn_rng_range(rng, 0.45, 0.85));
}

kn_generated kn_generate(kn_rng* rng, kn_family family, int nc, double ratio) {
  kn_generated g = {.dofs = dofs_of(rng, family, nc)};
  size_t n = (size_t)(3 * nc), m = (size_t)g.dofs;
  g.J = calloc(n * m, sizeof(double));
  g.inverse_mass = calloc(m * m, sizeof(double));
  g.v = calloc(m, sizeof(double));
  double* q = calloc(n, sizeof *q);
  kn_block* block = calloc((size_t)nc, sizeof *block);
  for (int c = 0; c < nc; c++) {
    double mu = kn_rng_unit(rng) < 0.1 ? 0.0 : kn_rng_range(rng, 0.0, 1.5);
    block[c] = (kn_block){.set = KN_SET_CONE3, .row = 3 * c, .mu = mu};
  }
  g.problem = (kn_problem){.rows = 3 * nc, .blocks = nc, .block = block, .q = q};
  if (family == KN_FAMILY_FREE) make_free(&g, rng, nc, ratio);
  if (family == KN_FAMILY_STACK) make_stack(&g, rng, nc, ratio);
  if (family >= KN_FAMILY_ARTIC) make_artic(&g, rng, nc, ratio);
  if (family == KN_FAMILY_DUP)
    for (int c = (nc + 1) / 2; c < nc; c++) {
      int from = c - (nc + 1) / 2;
      memcpy(g.J + (size_t)(3 * c) * m, g.J + (size_t)(3 * from) * m, 3 * m * sizeof(double));
      block[c].mu = block[from].mu;
    }
  kn_generated_offset(&g);
  if (family == KN_FAMILY_FREE || family == KN_FAMILY_ARTIC) close_contacts(&g, rng), kn_generated_offset(&g);
  set_matrix(&g);
  return g;
}

void kn_generated_free(kn_generated* g) {
  free((void*)(uintptr_t)g->problem.W);
  free((void*)(uintptr_t)g->problem.q);
  free((void*)(uintptr_t)g->problem.block);
  free(g->J);
  free(g->inverse_mass);
  free(g->v);
}
