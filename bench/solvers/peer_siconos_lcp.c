/* Siconos' LCP solvers on dense matrices (column-major, as its format wants). */
#include <LCP_Solvers.h>
#include <LinearComplementarityProblem.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <SolverOptions.h>
#include <lcp_cst.h>
#include <stdlib.h>
#include <string.h>

#include "solvers.h"

static const char* const names[] = {"lexicolemke", "pivot", "bard", "newton-min", "newton-fb"};
static const int ids[] = {SICONOS_LCP_LEMKE, SICONOS_LCP_PIVOT, SICONOS_LCP_BARD, SICONOS_LCP_NEWTONMIN,
                          SICONOS_LCP_NEWTON_FB_FBLSA};

typedef struct problem {
  LinearComplementarityProblem lcp;
  SolverOptions* options;
  double *M, *q, *z, *w;
} problem;

static void* open_problem(int which, int n, const double* M, const double* q) {
  problem* p = calloc(1, sizeof *p);
  p->M = malloc(sizeof(double) * (size_t)(n * n));
  p->q = malloc(sizeof(double) * (size_t)n);
  p->z = calloc((size_t)n, sizeof(double));
  p->w = calloc((size_t)n, sizeof(double));
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) p->M[j * n + i] = M[i * n + j];
  memcpy(p->q, q, sizeof(double) * (size_t)n);
  p->lcp.size = n;
  p->lcp.M = NM_create_from_data(NM_DENSE, n, n, p->M);
  p->lcp.q = p->q;
  p->options = solver_options_create(ids[which]);
  p->options->dparam[SICONOS_DPARAM_TOL] = 1e-10;
  return p;
}

static void run(void* context) {
  problem* p = context;
  memset(p->z, 0, sizeof(double) * (size_t)p->lcp.size);
  memset(p->w, 0, sizeof(double) * (size_t)p->lcp.size);
  linearComplementarity_driver(&p->lcp, p->z, p->w, p->options);
}

static const double* answer(void* context) { return ((problem*)context)->z; }

static void close_problem(void* context) {
  problem* p = context;
  solver_options_delete(p->options);
  free(p->options);
  p->lcp.M->matrix0 = NULL;
  NM_clear(p->lcp.M);
  free(p->lcp.M);
  free(p->M), free(p->q), free(p->z), free(p->w), free(p);
}

KN_PEER_EXPORT const lcp_peer kn_peer = {5, names, open_problem, run, answer, close_problem};
