/* A linear complementarity problem without bodies: 0 <= z ⊥ M z + q >= 0, solved, judged, and asked whether its
   solution is the only one. Then one that has no solution, with the certificate that says why.

   Build against an installed knuckle: cc lcp.c $(pkg-config --cflags --libs knuckle) -o lcp */
#include <stdio.h>
#include <stdlib.h>

#include "knuckle/comp.h"

static void must(kn_status status) {
  if (status == KN_OK) return;
  fprintf(stderr, "%s: %s\n", kn_status_name(status), kn_last_error());
  exit(1);
}

int main(void) {
  const double M[] = {2, 1, 1, 2}, q[] = {-5, -6};
  kn_lcp lcp = {.n = 2, .M = M, .q = q}; /* lo = NULL: 0, hi = NULL: no upper bounds */
  kn_lcp_settings settings = kn_lcp_settings_default();
  kn_lcp_work* work;
  kn_solve_info info;
  kn_verdict verdict;
  double z[2];
  must(kn_lcp_work_create(&work, 2));
  must(kn_lcp_solve(z, &info, &lcp, &settings, work));
  must(kn_lcp_verdict(&verdict, &lcp, z, &settings, work));
  printf("z = (%.6f, %.6f), residual %.1e, %s\n", z[0], z[1], kn_lcp_residual(&lcp, z),
         kn_verdict_name(verdict.kind));
  bool right = kn_lcp_residual(&lcp, z) < 1e-12 && verdict.kind == KN_VERDICT_UNIQUE;

  const double N[] = {0, 0, 0, 1}, p[] = {-1, 1}; /* the first row asks for -1 >= 0 */
  kn_lcp none = {.n = 2, .M = N, .q = p};
  kn_status status = kn_lcp_solve(z, &info, &none, &settings, work);
  const double* y;
  kn_certificate kind = kn_lcp_certificate(&y, work);
  printf("%s, %s\n", kn_status_name(status),
         kind == KN_CERTIFICATE_FARKAS ? "proved by a vector y: no point is feasible" : "proved otherwise");
  right = right && status == KN_NO_SOLUTION && kind != KN_CERTIFICATE_NONE;
  kn_lcp_work_destroy(work);
  return right ? 0 : 1;
}
