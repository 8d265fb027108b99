/* Λ by blocks against the full Λ: heaps of loose bodies, whose pattern must come in order, and trees in
   general; the same bits from every instruction set. */
#include "base/isa.h"
#include "dynamics/tree/dynamics.h"
#include "trees.h"

enum { BLOCKS = 60, ROWS = 3 * BLOCKS, ENTRIES = 60000 };

typedef struct heap {
  kn_model* m;
  kn_state* s;
  kn_data* d;
  kn_rows rows;
  void* memory;
  kn_row_block block[BLOCKS];
  int n, of_row[ROWS], size[ROWS], row[BLOCKS + 1], start[ROWS + 1], col[ENTRIES];
  int64_t at[ENTRIES];
  double value[KN_BLOCK_STRIDE * ENTRIES];
  kn_lambda_blocks out;
} heap;

/* Between two links, or a link and the world; of one to three rows. Every fourth repeats the last pair. */
static void random_block(kn_rng* rng, heap* h, int i) {
  kn_row_block* b = &h->block[i];
  memset(b, 0, sizeof *b);
  b->rows = kn_rng_int(rng, 4) ? 3 : 1 + kn_rng_int(rng, 2);
  b->link_a = kn_rng_int(rng, h->m->nlink), b->link_b = kn_rng_int(rng, h->m->nlink + 1) - 1;
  if (i % 4 == 3) b->link_a = b[-1].link_a, b->link_b = b[-1].link_b;
  for (int k = 0; k < 3; k++) b->point[k] = kn_rng_range(rng, -1, 1), random_unit(rng, b->dir[k]);
}

static void layout(heap* h) {
  int row = 0;
  for (int b = 0; b < h->n; b++) {
    h->row[b] = row, h->size[b] = h->block[b].rows;
    for (int k = 0; k < h->size[b]; k++) h->of_row[row++] = b;
  }
  h->row[h->n] = row;
  h->out = (kn_lambda_blocks){.capacity = ENTRIES, .of_row = h->of_row, .size = h->size};
  h->out.start = h->start, h->out.col = h->col, h->out.at = h->at, h->out.value = h->value;
  h->out.scratch = malloc(kn_lambda_blocks_scratch(ROWS, ENTRIES) * sizeof(int));
}

static heap* heap_of(kn_rng* rng, kn_model* model) {
  heap* h = calloc(1, sizeof *h);
  h->m = model;
  CHECK_OK(kn_state_create(&h->s, h->m));
  CHECK_OK(kn_data_create(&h->d, h->m));
  random_state(rng, h->m, h->s, 1.0);
  h->n = 1 + kn_rng_int(rng, BLOCKS);
  for (int b = 0; b < h->n; b++) random_block(rng, h, b);
  layout(h);
  h->memory = calloc(1, kn_rows_size(h->m, ROWS));
  kn_rows_init(&h->rows, h->m, ROWS, h->memory);
  kn_dyn_position(h->d, h->m, kn_state_q(h->s));
  CHECK_OK(kn_dyn_factor(h->d, h->m, NULL));
  return h;
}

static heap* open_heap(uint64_t seed, bool loose) {
  kn_rng rng = kn_rng_seed(seed);
  tree_options o = {.bodies = 2 + kn_rng_int(&rng, 20), .floating = true, .forest = loose ? 2.0 : 0.3};
  heap* h = heap_of(&rng, random_tree(&rng, &o));
  CHECK_OK(kn_rows_push(&h->rows, h->d, h->m, h->block, h->n));
  CHECK(kn_rows_lambda_blocks(&h->out, &h->rows, h->n));
  return h;
}

static void close_heap(heap* h) {
  free(h->memory), free(h->out.scratch);
  kn_data_destroy(h->d), kn_state_destroy(h->s), kn_model_destroy(h->m);
  free(h);
}

/* The entries, added up, less the full matrix: largest difference in units of its largest number. */
static double difference(const heap* h, const kn_rows* full) {
  int n = h->row[h->n];
  size_t cells = (size_t)n * (size_t)n;
  double *L = calloc(cells, sizeof *L), *S = calloc(cells, sizeof *S);
  kn_rows_lambda(L, full, h->d, h->m);
  for (int b = 0; b < h->n; b++)
    for (int k = h->start[b]; k < h->start[b + 1]; k++)
      for (int i = 0, c = h->col[k]; i < h->size[b]; i++)
        for (int j = 0; j < h->size[c]; j++)
          S[(size_t)(h->row[b] + i) * (size_t)n + (size_t)(h->row[c] + j)] +=
              h->value[h->at[k] + i * h->size[c] + j];
  double e = max_diff(L, S, (int)cells) / fmax(max_abs(L, (int)cells), 1e-300);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) CHECK(S[i * n + j] == S[j * n + i]);
  free(L), free(S);
  return e;
}

TEST(blocks_add_up_to_the_full_matrix) {
  double worst = 0.0;
  for (int i = 0; i < 200 * kn_test_effort(); i++) {
    heap* h = open_heap((uint64_t)i, i % 2);
    double e = difference(h, &h->rows);
    worst = fmax(worst, e);
    if (!CHECK(e <= 1e-13)) printf("  heap %d: %g\n", i, e); /* the same products, summed differently */
    close_heap(h);
  }
  printf("  worst difference %.2e\n", worst);
}

static kn_model* lone_bodies(kn_rng* rng) {
  kn_spec* spec;
  kn_model* model = NULL;
  kn_spec_create(&spec);
  for (int i = 0, n = 2 + kn_rng_int(rng, 20); i < n; i++) {
    kn_body_def b = kn_body_default();
    kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
    kn_joint joint;
    random_inertia(rng, &b);
    kn_spec_add_body(&j.body, spec, &b);
    kn_spec_add_joint(&joint, spec, &j);
  }
  CHECK_OK(kn_compile(&model, spec));
  kn_spec_destroy(spec);
  return model;
}

/* Free bodies have a way of their own, without segments: the same Λ and M⁻¹Jᵀλ, to rounding. */
TEST(free_bodies_agree_with_trees) {
  double worst = 0.0;
  for (int i = 0; i < 100 * kn_test_effort(); i++) {
    kn_rng rng = kn_rng_seed((uint64_t)i + 1000);
    heap* h = heap_of(&rng, lone_bodies(&rng));
    for (int b = 0; b < h->n; b++)
      if (h->block[b].link_a == h->block[b].link_b) h->block[b].link_b = -1;
    kn_rows general;
    void* memory = calloc(1, kn_rows_size(h->m, ROWS));
    double lambda[ROWS], *dv = calloc(2 * (size_t)h->m->nv, sizeof *dv);
    for (int r = 0; r < ROWS; r++) lambda[r] = kn_rng_range(&rng, -1, 1);
    kn_rows_init(&general, h->m, ROWS, memory);
    CHECK_OK(kn_rows_push(&general, h->d, h->m, h->block, h->n));
    CHECK(kn_rows_push_loose(&h->rows, h->d, h->m, h->block, h->n));
    CHECK(kn_rows_lambda_blocks(&h->out, &h->rows, h->n));
    double e = difference(h, &general);
    kn_rows_apply(dv, &h->rows, h->d, h->m, lambda);
    kn_rows_apply(dv + h->m->nv, &general, h->d, h->m, lambda);
    e = fmax(e, max_diff(dv, dv + h->m->nv, h->m->nv) / max_abs(dv, h->m->nv));
    worst = fmax(worst, e);
    if (!CHECK(e <= 1e-13)) printf("  heap %d: %g\n", i, e);
    free(memory), free(dv);
    close_heap(h);
  }
  printf("  worst difference %.2e\n", worst);
}

TEST(rows_of_loose_bodies_ascend) {
  for (int i = 0; i < 100 * kn_test_effort(); i++) {
    heap* h = open_heap((uint64_t)i, true);
    for (int b = 0; b < h->n; b++)
      for (int k = h->start[b] + 1; k < h->start[b + 1]; k++) CHECK(h->col[k - 1] < h->col[k]);
    close_heap(h);
  }
}

TEST(every_instruction_set_gives_the_same_bits) {
  int top = kn_cpu_level();
  for (int i = 0; i < 60 * kn_test_effort(); i++) {
    kn_cpu_limit(KN_CPU_BASE);
    heap* a = open_heap((uint64_t)i, i % 4 != 0);
    for (int level = 1; level <= top; level++) {
      kn_cpu_limit(level);
      heap* b = open_heap((uint64_t)i, i % 4 != 0);
      CHECK_INT(b->start[b->n], a->start[a->n]);
      for (int r = 0; r < a->n; r++)
        for (int k = a->start[r]; k < a->start[r + 1]; k++) {
          size_t numbers = (size_t)(a->size[r] * a->size[a->col[k]]);
          CHECK(a->col[k] == b->col[k] &&
                memcmp(a->value + a->at[k], b->value + b->at[k], numbers * sizeof(double)) == 0);
        }
      close_heap(b);
    }
    kn_cpu_limit(top);
    close_heap(a);
  }
}
