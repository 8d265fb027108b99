/* The nearest consistent E as a semidefinite program, solved by DSDP (Benson, Ye, Zhang 2000). It shares
   nothing with the cutting planes but the problem: eigenvectors come from LAPACK. Both are opened when they are first
   asked for, not linked: they bring OpenBLAS along, which makes threads before `main` in every program, and where there
   is little memory the program then does not end. In DSDP's dual form,
   maximise bᵀy subject to C - Σ A_i y_i >= 0 in every block, y = (e, t):

     block 0   [I B(e); B(e)ᵀ I] >= 0    σmax(B) <= 1
     block 1   [I e - e0; . t]   >= 0    t >= |e - e0|²
     block 2   diag(e, 1 - e)    >= 0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/foreign.h"
#include "knuckle/certify.h"

#ifdef KN_HAVE_DSDP
#include <dlfcn.h>
#include <dsdp/dsdp5.h>

/* LAPACK's own, columns of V one after the other; a length for each text comes last, as Fortran has it. */
extern void dsyev_(const char* job, const char* half, const int* n, double* V, const int* stride, double* w,
                   double* work, const int* room, int* info, size_t job_length, size_t half_length);

#define FUNCTIONS(X)                                                                                         \
  X(DSDPCreate)                                                                                              \
  X(DSDPCreateSDPCone)                                                                                       \
  X(DSDPSetDualObjective)                                                                                    \
  X(DSDPSetY0)                                                                                               \
  X(DSDPSetGapTolerance)                                                                                     \
  X(DSDPSetMaxIts)                                                                                           \
  X(DSDPSetup)                                                                                               \
  X(DSDPSolve)                                                                                               \
  X(DSDPGetY)                                                                                                \
  X(DSDPDestroy)                                                                                             \
  X(SDPConeSetBlockSize)                                                                                     \
  X(SDPConeSetASparseVecMat)                                                                                 \
  X(dsyev_)

typedef struct library {
  void* handle;
#define X(name) __typeof__(&name) name;
  FUNCTIONS(X)
#undef X
} library;

static kn_status open_library(library* l) {
  l->handle = dlopen(KN_DSDP_FILE, RTLD_NOW | RTLD_LOCAL);
  if (!l->handle) return kn_fail(KN_UNSUPPORTED, "certificate check: %s", dlerror());
#define X(name)                                                                                              \
  if (!(l->name = (__typeof__(&name))dlsym(l->handle, #name)))                                               \
    return kn_fail(KN_UNSUPPORTED, "certificate check: " KN_DSDP_FILE " has no " #name);
  FUNCTIONS(X)
#undef X
  return KN_OK;
}

/* A matrix of a block in DSDP's sparse packed lower form; kept alive while the solver runs. */
typedef struct entries {
  int count;
  int* index;
  double* value;
} entries;

static void put(entries* s, int i, int j, double value) {
  int row = i > j ? i : j, column = i > j ? j : i;
  if (value == 0.0) return;
  s->index[s->count] = row * (row + 1) / 2 + column;
  s->value[s->count++] = value;
}

typedef struct program {
  library of;
  int k, rank;
  double *R, *Rp; /* rank x k, k x rank */
  entries* pool;  /* 3 blocks x (k + 2) matrices */
  int* index;
  double* value;
} program;

static kn_status decompose(program* p, const double* W) {
  int k = p->k;
  int room = 3 * k, info = 0;
  double *V = malloc((size_t)k * k * sizeof(double)), *d = malloc((size_t)k * sizeof(double)),
         *work = malloc((size_t)room * sizeof(double));
  kn_status status = V && d && work ? KN_OK : kn_fail(KN_OUT_OF_MEMORY, "certificate: out of memory");
  if (status == KN_OK) {
    memcpy(V, W, (size_t)k * k * sizeof(double));
    p->of.dsyev_("V", "U", &k, V, &k, d, work, &room, &info, 1, 1);
    KN_WRITTEN_ELSEWHERE(&info, sizeof info);
    if (info != 0) status = kn_fail(KN_NOT_CONVERGED, "certificate: no eigenvectors of W");
  }
  KN_WRITTEN_ELSEWHERE(V, V ? (size_t)k * k * sizeof(double) : 0);
  KN_WRITTEN_ELSEWHERE(d, d ? (size_t)k * sizeof(double) : 0);
  for (int j = 0; j < k && status == KN_OK; j++) {
    if (!(d[j] > 1e-12 * d[k - 1])) continue;
    for (int i = 0; i < k; i++) {
      p->R[p->rank * k + i] = V[j * k + i] / sqrt(d[j]);
      p->Rp[i * k + p->rank] = V[j * k + i] * sqrt(d[j]);
    }
    p->rank++;
  }
  free(V), free(d), free(work);
  return status;
}

static kn_status check_dsdp(int info, const char* what) {
  return info ? kn_fail(KN_NOT_CONVERGED, "certificate: DSDP %s failed with %d", what, info) : KN_OK;
}

/* Matrices of variable v (0: the constant C; 1 … k: e; k + 1: t) in block b; DSDP has C - Σ A y. */
static void fill(entries* s, const program* p, int b, int v, const double* e0) {
  int k = p->k, r = p->rank;
  if (b == 0 && v == 0)
    for (int i = 0; i < 2 * r; i++) put(s, i, i, 1.0);
  if (b == 0 && v >= 1 && v <= k)
    for (int i = 0; i < r; i++)
      for (int j = 0; j < r; j++) put(s, i, r + j, -p->R[i * k + v - 1] * p->Rp[(v - 1) * k + j]);
  if (b == 1 && v == 0)
    for (int i = 0; i < k; i++) put(s, i, i, 1.0), put(s, k, i, -e0[i]);
  if (b == 1 && v >= 1 && v <= k) put(s, k, v - 1, -1.0);
  if (b == 1 && v == k + 1) put(s, k, k, -1.0);
  if (b == 2 && v == 0)
    for (int i = 0; i < k; i++) put(s, k + i, k + i, 1.0);
  if (b == 2 && v >= 1 && v <= k) put(s, v - 1, v - 1, -1.0), put(s, k + v - 1, k + v - 1, 1.0);
}

static kn_status build(DSDP dsdp, SDPCone cone, program* p, const double* e0) {
  const library* l = &p->of;
  int k = p->k, size[3] = {2 * p->rank, k + 1, 2 * k}, used = 0;
  for (int b = 0; b < 3; b++) {
    KN_TRY(check_dsdp(l->SDPConeSetBlockSize(cone, b, size[b]), "block size"));
    for (int v = 0; v <= k + 1; v++) {
      entries* s = &p->pool[b * (k + 2) + v];
      *s = (entries){.index = p->index + used, .value = p->value + used};
      fill(s, p, b, v, e0);
      used += s->count;
      if (s->count == 0) continue;
      KN_TRY(check_dsdp(l->SDPConeSetASparseVecMat(cone, b, v, size[b], 1.0, 0, s->index, s->value, s->count),
                        "data"));
    }
  }
  return check_dsdp(l->DSDPSetDualObjective(dsdp, k + 1, -1.0), "objective");
}

static kn_status run(double* e, program* p, const double* e0) {
  const library* l = &p->of;
  DSDP dsdp;
  SDPCone cone;
  int k = p->k;
  double y[KN_CERTIFY_CONTACTS + 1];
  KN_TRY(check_dsdp(l->DSDPCreate(k + 1, &dsdp), "create"));
  kn_status status = check_dsdp(l->DSDPCreateSDPCone(dsdp, 3, &cone), "cone");
  if (status == KN_OK) status = build(dsdp, cone, p, e0);
  for (int i = 0; i < k && status == KN_OK; i++)
    status =
        check_dsdp(l->DSDPSetY0(dsdp, i + 1, 0.0), "start"); /* E = 0 is strictly feasible with t = k + 1 */
  if (status == KN_OK) status = check_dsdp(l->DSDPSetY0(dsdp, k + 1, k + 1.0), "start");
  if (status == KN_OK) status = check_dsdp(l->DSDPSetGapTolerance(dsdp, 1e-12), "tolerance");
  if (status == KN_OK) status = check_dsdp(l->DSDPSetMaxIts(dsdp, 400), "limit");
  if (status == KN_OK) status = check_dsdp(l->DSDPSetup(dsdp), "setup");
  if (status == KN_OK) status = check_dsdp(l->DSDPSolve(dsdp), "solve");
  if (status == KN_OK) status = check_dsdp(l->DSDPGetY(dsdp, y, k + 1), "solution");
  for (int i = 0; i < k && status == KN_OK; i++) e[i] = fmin(fmax(y[i], 0.0), 1.0);
  l->DSDPDestroy(dsdp);
  return status;
}

kn_status kn_certify_lmi(double* e_nearest, int k, const double* W, const double* e) {
  double rho;
  KN_REQUIRE(e_nearest != NULL);
  KN_TRY(kn_certify_rho(&rho, k, W, e)); /* checks the arguments */
  program p = {.k = k};
  size_t square = (size_t)k * (size_t)k, room = (size_t)(k + 2) * (square + 4) + 3 * square + 64;
  p.R = calloc(square, sizeof(double));
  p.Rp = calloc(square, sizeof(double));
  p.pool = calloc(3 * (size_t)(k + 2), sizeof *p.pool);
  p.index = calloc(room, sizeof(int));
  p.value = calloc(room, sizeof(double));
  kn_status status = p.R && p.Rp && p.pool && p.index && p.value
                         ? open_library(&p.of)
                         : kn_fail(KN_OUT_OF_MEMORY, "certificate: out of memory");
  if (status == KN_OK) status = decompose(&p, W);
  if (status == KN_OK && p.rank == 0) memcpy(e_nearest, e, (size_t)k * sizeof(double)); /* nothing moves */
  if (status == KN_OK && p.rank > 0) status = run(e_nearest, &p, e);
  free(p.R), free(p.Rp), free(p.pool), free(p.index), free(p.value);
  if (p.of.handle) dlclose(p.of.handle);
  return status;
}

#else

kn_status kn_certify_lmi(double* e_nearest, int k, const double* W, const double* e) {
  (void)e_nearest, (void)k, (void)W, (void)e;
  return kn_fail(KN_UNSUPPORTED, "certificate check: built without DSDP (KN_DSDP_CHECK)");
}

#endif
