/* Λ = J M⁻¹ Jᵀ of contacts with three rows each: our push, our Υ recursion (6 rows a node), and the dense
   product J M⁻¹ Jᵀ with the tree-sparse factors of M; against the number of links, of contacts, and on the
   humanoid's feet. The articulated factors are there already in all cases. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "dynamics/rows/rows.h"
#include "dynamics/tree/data.h"
#include "dynamics_bench.h"
#include "model/state.h"
#include "scene.h"

enum { CONTACTS = 16 };

typedef struct problem {
  kn_model* m;
  kn_state* s;
  kn_data* d;
  int contacts, rows;
  kn_row_block block[CONTACTS];
  kn_node node[CONTACTS];
  kn_rows R;
  void* memory;
  double *L, *L6, *dense, *J, *Z, *M;
} problem;

static void run_push(void* context) {
  problem* p = context;
  kn_rows_push(&p->R, p->d, p->m, p->block, p->contacts);
  kn_rows_lambda(p->L, &p->R, p->d, p->m);
}

static void run_recursive(void* context) {
  problem* p = context;
  kn_dyn_compliance_recursive(p->L6, p->d, p->m, p->node, p->contacts);
}

/* J by rows, the mass matrix, its factors, solves and products: what an engine without the O(N) form does. */
static void run_dense(void* context) {
  problem* p = context;
  int nv = p->m->nv, n = p->rows;
  double unit[3 * CONTACTS] = {0};
  memset(p->J, 0, sizeof(double) * (size_t)(n * nv));
  for (int i = 0; i < n; i++) {
    unit[i] = 1.0;
    kn_rows_force(p->J + i * nv, p->d, p->m, p->block, p->contacts, unit);
    unit[i] = 0.0;
  }
  kn_crba(p->M, p->d, p->m);
  kn_ltdl_factor(p->M, p->d, p->m);
  memcpy(p->Z, p->J, sizeof(double) * (size_t)(n * nv));
  for (int i = 0; i < n; i++) kn_ltdl_solve(p->Z + i * nv, p->M, p->d, p->m);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double s = 0;
      for (int k = 0; k < nv; k++) s += p->J[i * nv + k] * p->Z[j * nv + k];
      p->dense[i * n + j] = s;
    }
}

static void open_problem(problem* p, kn_model* m, int contacts, const kn_body* body) {
  *p = (problem){.m = m, .contacts = contacts, .rows = 3 * contacts};
  kn_state_create(&p->s, m), kn_data_create(&p->d, m);
  kn_random_state(p->s, m, 3, 0.5, 0.5);
  kn_dyn_position(p->d, m, p->s->q);
  if (kn_dyn_factor(p->d, m, NULL) != KN_OK) exit(1);
  kn_rng rng = kn_rng_seed(5);
  for (int i = 0; i < contacts; i++) {
    kn_row_block* b = &p->block[i];
    *b = (kn_row_block){
        .link_a = m->place[body[i]].link, .link_b = -1, .rows = 3, .dir = {{1}, {0, 1}, {0, 0, 1}}};
    kn_pose pose;
    kn_body_pose(&pose, m, p->d, body[i]);
    for (int k = 0; k < 3; k++) b->point[k] = pose.p[k] + kn_rng_range(&rng, -0.1, 0.1);
    p->node[i].body = body[i];
    memcpy(p->node[i].point, b->point, sizeof b->point);
  }
  size_t n = (size_t)p->rows, nv = (size_t)m->nv, c = (size_t)contacts;
  p->memory = malloc(kn_rows_size(m, p->rows));
  kn_rows_init(&p->R, m, p->rows, p->memory);
  p->L = calloc(n * n, 8), p->dense = calloc(n * n, 8), p->L6 = calloc(36 * c * c, 8);
  p->J = calloc(n * nv, 8), p->Z = calloc(n * nv, 8), p->M = calloc(nv * nv, 8);
}

static void close_problem(problem* p) {
  free(p->memory), free(p->L), free(p->dense), free(p->L6), free(p->J), free(p->Z), free(p->M);
  kn_data_destroy(p->d), kn_state_destroy(p->s), kn_model_destroy(p->m);
}

/* Push against dense, and the linear parts of the recursion's blocks against the push. */
static double largest_error(problem* p) {
  run_push(p), run_dense(p), run_recursive(p);
  double worst = 0, size = 1e-300;
  int n = p->rows, n6 = 6 * p->contacts;
  for (int i = 0; i < n * n; i++) size = fmax(size, fabs(p->dense[i]));
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double l6 = p->L6[(6 * (i / 3) + 3 + i % 3) * n6 + 6 * (j / 3) + 3 + j % 3];
      worst = fmax(worst, fmax(fabs(p->L[i * n + j] - p->dense[i * n + j]), fabs(p->L[i * n + j] - l6)));
    }
  return worst / size;
}

static void row(kn_bench* b, problem* p, double x) {
  if (x > 0) kn_bench_x(b, x);
  double error = largest_error(p);
  kn_bench_ours(b, "push", run_push, p);
  kn_bench_extra(b, "recursion, 6 rows", run_recursive, p);
  if (p->m->nv <= 300) kn_bench_extra(b, "dense", run_dense, p);
  kn_bench_measure(b);
  kn_bench_number(b, "error", error);
  if (error > 1e-9) kn_bench_fail(b, "compliance: forms differ by %.2e", error);
  close_problem(p);
}

static kn_model* chain_model(int links) {
  char setting[32];
  const char* settings[] = {setting};
  kn_model* m = NULL;
  snprintf(setting, sizeof setting, "links=%d", links);
  if (kn_scene_model(&m, "chain", settings, 1) != KN_OK) exit(1);
  return m;
}

void bench_compliance(kn_bench* b) {
  static const int links[] = {10, 30, 100, 300, 1000}, contacts[] = {1, 2, 4, 8, 16};
  problem p;
  kn_body body[CONTACTS];
  kn_bench_group(b, "compliance of 8 contacts on the last links of a chain", "links", KN_BENCH_LOG);
  for (int i = 0; i < 5; i++) {
    if (!kn_bench_row(b, "lambda-chain-%d", links[i])) continue;
    for (int k = 0; k < 8; k++) body[k] = links[i] - 1 - k;
    open_problem(&p, chain_model(links[i]), 8, body);
    row(b, &p, links[i]);
  }
  kn_bench_group(b, "compliance on a chain of 100 links", "contacts", KN_BENCH_LOG);
  for (int i = 0; i < 5; i++) {
    if (!kn_bench_row(b, "lambda-contacts-%d", contacts[i])) continue;
    for (int k = 0; k < contacts[i]; k++) body[k] = 99 - k * (96 / contacts[i]);
    open_problem(&p, chain_model(100), contacts[i], body);
    row(b, &p, contacts[i]);
  }
  kn_bench_group(b, "compliance of the humanoid's feet", NULL, KN_BENCH_LINEAR);
  static const int feet[] = {4, 8};
  for (int i = 0; i < 2; i++) {
    kn_model* m = NULL;
    if (!kn_bench_row(b, "lambda-humanoid-%d", feet[i])) continue;
    if (kn_scene_model(&m, "humanoid", NULL, 0) != KN_OK) exit(1);
    kn_body foot[2];
    if (kn_model_find_body(&foot[0], m, "foot_L") != KN_OK ||
        kn_model_find_body(&foot[1], m, "foot_R") != KN_OK) {
      kn_bench_note(b, "humanoid: %s", kn_last_error());
      kn_model_destroy(m);
      continue;
    }
    for (int k = 0; k < feet[i]; k++) body[k] = foot[k < feet[i] / 2 ? 0 : 1];
    open_problem(&p, m, feet[i], body);
    row(b, &p, 0);
  }
}
