#include "model_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/dynamics.h"
#include "test.h"

/* *condition: largest diagonal entry over smallest pivot, by which rounding in M grows in the determinant. */
static double log_det(double* condition, double* M, int n) {
  double sum = 0.0, top = 0.0, least = INFINITY;
  for (int i = 0; i < n; i++) top = fmax(top, M[i * n + i]);
  for (int j = 0; j < n; j++) {
    for (int k = 0; k < j; k++)
      for (int i = j; i < n; i++) M[i * n + j] -= M[i * n + k] * M[j * n + k];
    double d = M[j * n + j];
    sum += log(d);
    least = fmin(least, d);
    for (int i = j; i < n; i++) M[i * n + j] /= sqrt(d);
  }
  *condition = top / least;
  return sum;
}

static void check_values(const kn_model* model, const double expected[4], double tolerance,
                         const char* path) {
  int n = kn_model_nv(model);
  kn_state* state = NULL;
  kn_data* data = NULL;
  double *M = calloc((size_t)n * (size_t)n + 1, sizeof *M), *bias = calloc((size_t)n + 1, sizeof *bias),
         trace = 0.0, norm = 0.0;
  bool ok = CHECK_OK(kn_state_create(&state, model)) && CHECK_OK(kn_data_create(&data, model));
  if (ok && n > 0) {
    CHECK_OK(kn_mass_matrix(M, model, state, data));
    CHECK_OK(kn_bias_force(bias, model, state, data));
    for (int i = 0; i < n; i++) trace += M[i * n + i], norm += bias[i] * bias[i];
    double condition, logdet = log_det(&condition, M, n);
    ok = CHECK_REL(kn_model_mass(model), expected[0], tolerance);
    ok = CHECK_NEAR(trace, expected[1], tolerance * expected[1]) && ok;
    ok = CHECK_NEAR(logdet, expected[2], tolerance * n + 1e-15 * n * condition) && ok;
    ok = CHECK_NEAR(sqrt(norm), expected[3], tolerance * fmax(expected[3], expected[0])) && ok;
    if (!ok) printf("  in %s\n", path);
  }
  free(M);
  free(bias);
  kn_data_destroy(data);
  kn_state_destroy(state);
}

static void check_row(const char* path, const int size[3], const double value[4],
                      const kn_load_settings* settings, double tolerance) {
  kn_spec* spec = NULL;
  kn_model* model = NULL;
  kn_status status = kn_load(&spec, NULL, path, settings);
  if (status == KN_OK) status = kn_compile(&model, spec);
  if (!CHECK(status == KN_OK)) {
    printf("  %s: %s\n", path, kn_last_error());
  } else {
    bool ok = size[0] < 0 || CHECK_INT(kn_model_bodies(model), size[0]);
    ok = (size[1] < 0 || CHECK_INT(kn_model_nq(model), size[1])) && ok;
    ok = CHECK_INT(kn_model_nv(model), size[2]) && ok;
    if (ok)
      check_values(model, value, tolerance, path);
    else
      printf("  in %s\n", path);
  }
  kn_model_destroy(model);
  kn_spec_destroy(spec);
}

int kn_check_table(const char* folder, const char* table, const kn_load_settings* settings,
                   double tolerance) {
  const char* root = folder[0] == '/' ? folder : kn_test_data(folder);
  if (!root) return -1;
  char base[512], line[1024], name[512], path[1100];
  snprintf(base, sizeof base, "%s", root);
  FILE* f = fopen(table, "r");
  if (!CHECK(f != NULL)) return 0;
  int rows = 0;
  while (fgets(line, sizeof line, f)) {
    int size[3];
    double v[4];
    if (line[0] == '#') continue;
    if (!CHECK(sscanf(line, "%511s %d %d %d %lf %lf %lf %lf", name, &size[0], &size[1], &size[2], &v[0],
                      &v[1], &v[2], &v[3]) == 8))
      continue;
    snprintf(path, sizeof path, "%s/%s", base, name);
    check_row(path, size, v, settings, tolerance);
    rows++;
  }
  fclose(f);
  return rows;
}
