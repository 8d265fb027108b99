#include <LCP_Solvers.h>
#include <LinearComplementarityProblem.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <SolverOptions.h>
#include <lcp_cst.h>

#include "bench.h"
#include "peer.h"

/* z of the LCP w = 2 z - 3, 0 <= w, 0 <= z, w z = 0. */
static double answer(void) {
  double m[1] = {2}, q[1] = {-3}, z[1] = {0}, w[1] = {0};
  NumericsMatrix* M = NM_create_from_data(NM_DENSE, 1, 1, m);
  LinearComplementarityProblem problem = {.size = 1, .M = M, .q = q};
  SolverOptions* options = solver_options_create(SICONOS_LCP_LEMKE);
  int info = linearComplementarity_driver(&problem, z, w, options);
  solver_options_delete(options);
  M->matrix0 = NULL;
  NM_clear(M);
  free(M);
  return info == 0 ? z[0] : -1;
}

KN_PEER_EXPORT const installed_peer kn_peer = {"an LCP of size 1", 1.5, answer};
