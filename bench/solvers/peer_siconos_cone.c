/* Siconos numerics: nonsmooth Gauss-Seidel, nonsmooth Newton (Alart-Curnier), ADMM. Dense storage below 30
   contacts, block-sparse for Gauss-Seidel and sparse for the others from there on, as its own examples do. */
#include <FrictionContactProblem.h>
#include <Friction_cst.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <NumericsVerbose.h>
#include <SolverOptions.h>
#include <SparseBlockMatrix.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "cone_peer.h"

typedef struct handle {
  int nc;
  NumericsMatrix *dense, *block, *sparse;
  double *q, *mu, *u;
} handle;

static double* full_matrix(const kn_problem* p) { /* column-major */
  size_t n = (size_t)p->rows;
  double* W = calloc(n * n + 1, sizeof *W);
  for (int b = 0; b < p->blocks; b++)
    for (int k = p->W ? 0 : p->sparse->start[b]; k < (p->W ? p->blocks : p->sparse->start[b + 1]); k++)
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
          size_t row = (size_t)(3 * b + i), col = (size_t)(3 * (p->W ? k : p->sparse->col[k]) + j);
          W[col * n + row] += p->W ? p->W[row * n + col] : p->sparse->value[p->sparse->at[k] + 3 * i + j];
        }
  return W;
}

static void fill_entries(NumericsMatrix* M, const kn_problem* p) {
  for (int b = 0; b < p->blocks; b++)
    for (int k = p->W ? 0 : p->sparse->start[b]; k < (p->W ? p->blocks : p->sparse->start[b + 1]); k++) {
      int c = p->W ? k : p->sparse->col[k];
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
          double x = p->W ? p->W[(size_t)(3 * b + i) * (size_t)p->rows + (size_t)(3 * c + j)]
                          : p->sparse->value[p->sparse->at[k] + 3 * i + j];
          if (x != 0.0) NM_entry(M, 3 * b + i, 3 * c + j, x);
        }
    }
}

static NumericsMatrix* sparse_matrix(const kn_problem* p) {
  NumericsMatrix* M = NM_create(NM_SPARSE, p->rows, p->rows);
  size_t count = p->W ? (size_t)p->rows * (size_t)p->rows : 9 * (size_t)p->sparse->start[p->blocks];
  NM_triplet_alloc(M, (CS_INT)count);
  M->matrix2->origin = NSM_TRIPLET;
  fill_entries(M, p);
  NM_csc(M);
  return M;
}

static void* open_problem(const kn_problem* p) {
  for (int b = 0; b < p->blocks; b++)
    if (p->block[b].set != KN_SET_CONE3) return NULL;
  handle* h = calloc(1, sizeof *h);
  size_t n = (size_t)p->rows;
  h->nc = p->blocks;
  h->q = calloc(n + 1, sizeof(double));
  h->mu = calloc((size_t)h->nc + 1, sizeof(double));
  h->u = calloc(n + 1, sizeof(double));
  memcpy(h->q, p->q, n * sizeof(double));
  for (int b = 0; b < h->nc; b++) h->mu[b] = p->block[b].mu;
  numerics_set_verbose(0);
  if (h->nc < 30) {
    h->dense = NM_create_from_data(NM_DENSE, p->rows, p->rows, full_matrix(p));
    return h;
  }
  h->sparse = sparse_matrix(p);
  SparseBlockStructuredMatrix* blocks = SBM_new();
  SBM_from_csparse(3, NM_csc(h->sparse), blocks);
  h->block = NM_create_from_data(NM_SPARSE_BLOCK, p->rows, p->rows, blocks);
  return h;
}

static const int ids[3] = {SICONOS_FRICTION_3D_NSGS, SICONOS_FRICTION_3D_NSN_AC, SICONOS_FRICTION_3D_ADMM};

static int solve_problem(void* handle_, int method, double* r, double tol, int max_iterations) {
  handle* h = handle_;
  NumericsMatrix* M = h->dense ? h->dense : method == 0 ? h->block : h->sparse;
  FrictionContactProblem problem = {
      .dimension = 3, .numberOfContacts = h->nc, .M = M, .q = h->q, .mu = h->mu};
  SolverOptions* options = solver_options_create(ids[method]);
  options->dparam[SICONOS_DPARAM_TOL] = tol;
  static const int limits[3] = {10000, 200, 5000};
  options->iparam[SICONOS_IPARAM_MAX_ITER] = max_iterations ? max_iterations : limits[method];
  memset(r, 0, 3 * (size_t)h->nc * sizeof *r);
  memset(h->u, 0, 3 * (size_t)h->nc * sizeof *h->u);
  int info = fc3d_driver(&problem, r, h->u, options);
  solver_options_delete(options);
  free(options);
  return info;
}

static void close_problem(void* handle_) {
  handle* h = handle_;
  if (!h) return;
  NumericsMatrix* all[3] = {h->dense, h->block, h->sparse};
  for (int i = 0; i < 3; i++)
    if (all[i]) {
      NM_clear(all[i]);
      free(all[i]);
    }
  free(h->q);
  free(h->mu);
  free(h->u);
  free(h);
}

static const char* const names[3] = {"siconos nsgs", "siconos nsn_ac", "siconos admm"};

KN_PEER_EXPORT const cone_peer kn_peer = {3, names, open_problem, solve_problem, close_problem};
