/* Any bytes as an LCP (first byte: rows and solver, second: kind of bounds, then numbers): never a crash, a
   NaN or a hang, and "solved" only with a residual that the judge confirms. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/comp.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

enum { MAX = 8 };

/* Eight bytes as they are: every double there is, NaN and infinities included. */
static double number(const uint8_t** at, const uint8_t* end) {
  double v = 0.0;
  size_t left = (size_t)(end - *at), take = left < 8 ? left : 8;
  if (take == 8)
    memcpy(&v, *at, 8);
  else if (take > 0)
    v = (double)(int8_t) * *at / 16.0;
  *at += take;
  return v;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  double M[MAX * MAX], q[MAX], lo[MAX], hi[MAX], z[MAX] = {0};
  const uint8_t *at = data + 2, *end = data + size;
  if (size < 2) return 0;
  int n = data[0] % (MAX + 1), count;
  const kn_lcp_solver* const* list = kn_lcp_solvers(&count);
  const kn_lcp_solver* solver = list[data[0] / (MAX + 1) % count];
  bool small = data[1] & 1; /* one byte per number: mutations stay in an interesting range */
  for (int i = 0; i < n * n; i++) M[i] = small && at < end ? (double)(int8_t)*at++ / 8.0 : number(&at, end);
  for (int i = 0; i < n; i++) q[i] = small && at < end ? (double)(int8_t)*at++ / 8.0 : number(&at, end);
  for (int i = 0; i < n; i++) {
    lo[i] = data[1] & 4 ? number(&at, end) : i % 3 == 1 ? -INFINITY : 0.0;
    hi[i] = data[1] & 4 ? number(&at, end) : i % 3 == 2 ? 1.0 : INFINITY;
  }
  kn_lcp lcp = {n, M, q, data[1] & 2 ? lo : NULL, data[1] & 2 ? hi : NULL};
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_lcp_work* work;
  kn_solve_info info;
  if (kn_lcp_work_create(&work, 2 * MAX) != KN_OK) abort();
  kn_status status = solver->solve(z, &info, &lcp, &settings, work);
  bool answered = status == KN_OK || status == KN_NOT_CONVERGED || status == KN_NO_SOLUTION;
  if (kn_lcp_check(&lcp) != KN_OK && answered) abort();
  for (int i = 0; i < n && answered; i++)
    if (!isfinite(z[i])) abort();
  if (status == KN_OK && !(kn_lcp_residual_scaled(&lcp, z) <= settings.tol)) abort();
  if (status == KN_NO_SOLUTION && kn_lcp_certificate(NULL, work) == KN_CERTIFICATE_NONE) abort();
  kn_verdict verdict;
  bool flags[MAX];
  double least[MAX];
  if (answered && kn_lcp_verdict(&verdict, &lcp, z, &settings, work) != KN_OK) abort();
  if (status == KN_OK && kn_lcp_determinate(flags, least, NULL, &lcp, z, work) != KN_OK) abort();
  for (int i = 0; i < n && status == KN_OK; i++)
    if (!isfinite(least[i])) abort();
  kn_lcp_work_destroy(work);
  return 0;
}
