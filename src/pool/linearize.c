/* Linearisation by centred differences, the runs shared among the threads of a pool (kn_linearize).

   With x⁺(δ) the state after the steps from x ⊕ δ: column i is (x⁺(h e_i) ⊖ x⁺(0) - (x⁺(-h e_i) ⊖ x⁺(0))) / 2h,
   of second order in h where the motion is smooth. It is not where contacts close, open, begin to slip or
   stick between the two sides: every run has a signature of what its contacts and limits did, and a column
   whose three signatures differ is marked. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "pool/pool.h"

typedef struct job {
  kn_pool* pool;
  const kn_state* from;
  int steps, width; /* nq + nv */
  double h;
  double* end; /* runs x width: where each ended */
  uint64_t* signature;
  kn_status* status; /* runs */
} job;

/* Runs 2 c and 2 c + 1 are the sides of column c, the last one is the middle. */
static int columns(const kn_model* m) { return 2 * m->nv + m->nu; }

static kn_status prepare(kn_hand* h, const kn_pool* p) {
  KN_TRY(kn_hand_turn(h, p, p->model));
  if (!h->state) KN_TRY(kn_state_create(&h->state, p->model));
  return h->blank.q ? KN_OK : kn_carry_create(&h->blank, p->model);
}

static kn_status displace(kn_state* x, const kn_state* from, int column, double h) {
  const kn_model* m = x->model;
  if (column >= 2 * m->nv) {
    x->ctrl[column - 2 * m->nv] += h;
  } else if (column >= m->nv) {
    x->v[column - m->nv] += h;
  } else {
    double* way = calloc((size_t)m->nv, sizeof *way);
    if (!way) return kn_fail(KN_OUT_OF_MEMORY, "no memory to linearise");
    way[column] = 1.0;
    kn_status status = kn_integrate(x->q, m, from->q, way, h);
    free(way);
    return status;
  }
  return KN_OK;
}

/* What contacts and limits did in a step. */
static uint64_t sign(uint64_t hash, const kn_report* r, int limits) {
  for (int i = 0; i < r->contacts; i++)
    if (r->contact[i].mode != KN_MODE_OPEN)
      hash = kn_hash_u64(kn_hash_u64(hash, r->contact[i].key),
                         (uint64_t)r->contact[i].mode << 1 | r->contact[i].impact);
  for (int i = 0; i < limits; i++)
    if (r->limit_impulse[i] != 0.0) hash = kn_hash_u64(hash, (uint64_t)i);
  return kn_hash_u64(hash, ~(uint64_t)0);
}

static kn_status run(const job* j, kn_hand* h, int index) {
  const kn_model* m = j->pool->model;
  KN_TRY(prepare(h, j->pool));
  kn_state* x = h->state;
  KN_TRY(kn_state_copy(x, j->from));
  if (index < 2 * columns(m)) KN_TRY(displace(x, j->from, index / 2, index % 2 ? -j->h : j->h));
  kn_carry_give(h->sim, &h->blank);
  for (int i = 0; i < j->steps; i++) {
    KN_TRY(kn_step(h->sim, x));
    j->signature[index] = sign(j->signature[index], &h->sim->report, m->nlimit);
  }
  memcpy(j->end + (size_t)index * (size_t)j->width, x->q, (size_t)m->nq * sizeof(double));
  memcpy(j->end + (size_t)index * (size_t)j->width + m->nq, x->v, (size_t)m->nv * sizeof(double));
  return KN_OK;
}

static void run_some(int worker, int first, int last, void* context) {
  const job* j = context;
  for (int i = first; i < last; i++) j->status[i] = run(j, &j->pool->hand[worker], i);
}

/* x⁺ of a run less that of the middle, 2 nv numbers. */
static kn_status apart(double* out, const job* j, int index) {
  const kn_model* m = j->pool->model;
  const double *at = j->end + (size_t)index * (size_t)j->width,
               *middle = j->end + 2 * (size_t)columns(m) * (size_t)j->width;
  KN_TRY(kn_difference(out, m, middle, at));
  for (int i = 0; i < m->nv; i++) out[m->nv + i] = at[m->nq + i] - middle[m->nq + i];
  return KN_OK;
}

static kn_status fill(kn_linearization* out, const job* j, double* scratch) {
  const kn_model* m = j->pool->model;
  int n = 2 * m->nv, all = columns(m);
  double *plus = scratch, *minus = scratch + n;
  out->switches = 0;
  for (int c = 0; c < all; c++) {
    KN_TRY(apart(plus, j, 2 * c));
    KN_TRY(apart(minus, j, 2 * c + 1));
    double* to = c < n ? out->A + c : out->B ? out->B + (c - n) : NULL;
    for (int i = 0; to && i < n; i++)
      to[(size_t)i * (size_t)(c < n ? n : m->nu)] = (plus[i] - minus[i]) / (2.0 * j->h);
    uint64_t middle = j->signature[2 * all];
    bool near = j->signature[2 * c] != middle || j->signature[2 * c + 1] != middle;
    if (out->near) out->near[c] = near;
    out->switches += near;
  }
  return KN_OK;
}

static kn_status linearize(kn_linearization* out, job* j) {
  kn_pool* p = j->pool;
  int runs = 2 * columns(p->model) + 1;
  kn_pool_turn_back(p);
  kn_crew_run(p->crew, runs, 1, run_some, j);
  for (int i = 0; i < runs; i++)
    if (j->status[i] != KN_OK)
      return kn_fail(j->status[i], "linearisation: the run %s column %d failed (%s)",
                     i == runs - 1 ? "in the middle, not"
                     : i % 2       ? "below"
                                   : "above",
                     i / 2, kn_status_text(j->status[i]));
  double* scratch = malloc(((size_t)4 * (size_t)p->model->nv + 1) * sizeof *scratch);
  if (!scratch) return kn_fail(KN_OUT_OF_MEMORY, "no memory to linearise");
  kn_status status = fill(out, j, scratch);
  free(scratch);
  return status;
}

kn_status kn_linearize(kn_linearization* out, kn_pool* p, const kn_state* state, int steps, double h) {
  KN_REQUIRE(out != NULL && p != NULL && state != NULL && out->A != NULL && steps >= 1);
  KN_REQUIRE(state->model == p->model);
  KN_REQUIRE(h >= 0.0 && isfinite(h));
  size_t runs = 2 * (size_t)columns(p->model) + 1;
  job j = {.pool = p, .from = state, .steps = steps, .h = h > 0.0 ? h : 1e-4};
  j.width = p->model->nq + p->model->nv;
  j.end = calloc(runs * (size_t)j.width + 1, sizeof *j.end);
  j.signature = calloc(runs, sizeof *j.signature);
  j.status = calloc(runs, sizeof *j.status);
  kn_status status = j.end && j.signature && j.status
                         ? linearize(out, &j)
                         : kn_fail(KN_OUT_OF_MEMORY, "no memory for %zu runs", runs);
  free(j.end), free(j.signature), free(j.status);
  return status;
}
