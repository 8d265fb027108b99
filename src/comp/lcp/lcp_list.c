#include <string.h>

#include "comp/lcp/lcp.h"

static const kn_lcp_solver* const solvers[] = {&kn_lcp_auto,   &kn_lcp_lemke, &kn_lcp_pivot,
                                               &kn_lcp_keller, &kn_lcp_nnls,  &kn_lcp_pgs};

const kn_lcp_solver* const* kn_lcp_solvers(int* count) {
  if (count) *count = (int)(sizeof solvers / sizeof *solvers);
  return solvers;
}

const kn_lcp_solver* kn_lcp_solver_find(const char* name) {
  for (size_t i = 0; name && i < sizeof solvers / sizeof *solvers; i++)
    if (strcmp(solvers[i]->name, name) == 0) return solvers[i];
  return NULL;
}
