/* The solver's memory: one arena, sized once. */
#include <stdlib.h>

#include "base/error.h"
#include "comp/cone/driver.h"
#include "comp/cone/warm_modes.h"

static void take_fewer(kn_fewer* f, kn_arena* arena, int most, int rows) {
  double** vectors[] = {&f->change, &f->q, &f->r, &f->diagonal};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) *vectors[i] = KN_TAKE(arena, double, most);
  f->most = most;
  f->row = KN_TAKE(arena, int, most);
  f->A = KN_TAKE(arena, double, (size_t)most*(size_t)(most + 8));
  f->S = KN_TAKE(arena, double, (size_t)most*(size_t)most);
  f->block = KN_TAKE(arena, kn_block, most);
  f->guess = KN_TAKE(arena, double, rows);
}

static void take_all(kn_solver_work* w, kn_arena* arena) {
  kn_cone_take(&w->cone, arena, w->rows, w->blocks, w->dense_rows);
  if (w->stored) kn_sparse_take(&w->sparse, arena, w->blocks, w->stored);
  w->dense = KN_TAKE(arena, double, w->sparse_blocks ? (size_t)w->dense_rows*(size_t)w->dense_rows : 0);
  int warm_rows = w->dense_rows < KN_WARM_ROWS ? w->dense_rows : KN_WARM_ROWS;
  w->warm = KN_TAKE(arena, kn_warm_system, 1);
  w->path = KN_TAKE(arena, kn_path, 1);
  double* warm_W = KN_TAKE(arena, double, (size_t)warm_rows*(size_t)(warm_rows + 15) + 8);
  double* warm_A = KN_TAKE(arena, double, (size_t)warm_rows*(size_t)(warm_rows + 8));
  double* warm_LU = KN_TAKE(arena, double, (size_t)warm_rows*(size_t)warm_rows);
  if (w->warm) w->warm->LU = warm_LU;
  if (w->warm) w->warm->W = warm_W, w->warm->A = warm_A, w->warm->has_factor = false;
  take_fewer(&w->fewer, arena, warm_rows, w->rows);
  w->start = KN_TAKE(arena, double, (size_t)(4 * w->blocks + w->rows + 16));
  w->perm = KN_TAKE(arena, int, w->dense_rows);
  w->interior_s = KN_TAKE(arena, double, 4 * (size_t)w->blocks);
  w->interior_ds = KN_TAKE(arena, double, 4 * (size_t)w->blocks);
  w->interior_d = KN_TAKE(arena, double, 9 * (size_t)w->blocks);
  double** vectors[] = {&w->diagonal, &w->best, &w->point, &w->first, &w->center, &w->q0};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    *vectors[i] = KN_TAKE(arena, double, 4 * w->blocks + w->rows + 16);
}

/* Blocks of the symmetric pattern with its diagonal. */
static int stored_most(int blocks, int sparse_blocks) {
  double full = (double)blocks * blocks, given = 2.0 * sparse_blocks + blocks;
  return (int)fmin(sparse_blocks ? fmin(full, given) : full, 1e8);
}

kn_status kn_solver_work_create(kn_solver_work** work, int rows, int blocks, int sparse_blocks) {
  KN_REQUIRE(work != NULL && rows >= 0 && blocks >= 0 && sparse_blocks >= 0);
  *work = NULL;
  kn_solver_work* w = calloc(1, sizeof *w);
  if (!w) return kn_fail(KN_OUT_OF_MEMORY, "solver work");
  w->rows = rows, w->blocks = blocks, w->sparse_blocks = sparse_blocks;
  w->dense_rows = rows < KN_DENSE_MOST ? rows : KN_DENSE_MOST;
  if (blocks >= (sparse_blocks ? KN_SPARSE_LEAST : KN_SPARSE_LEAST_FROM_DENSE))
    w->stored = stored_most(blocks, sparse_blocks);
  kn_arena measure = {0};
  take_all(w, &measure);
  kn_status status = kn_arena_create(&w->arena, measure.used);
  if (status != KN_OK) {
    kn_solver_work_destroy(w);
    return status;
  }
  take_all(w, &w->arena);
  *work = w;
  return KN_OK;
}

kn_status kn_solver_work_pairs(kn_solver_work* w, int bodies, int blocks) {
  KN_REQUIRE(w != NULL && bodies >= 0 && blocks >= 0);
  kn_arena measure = {0};
  kn_heap_take(&w->heap, &measure, bodies, blocks);
  kn_arena_destroy(&w->heap_arena);
  w->heap = (kn_heap_work){0};
  KN_TRY(kn_arena_create(&w->heap_arena, measure.used));
  kn_heap_take(&w->heap, &w->heap_arena, bodies, blocks);
  return KN_OK;
}

kn_status kn_solver_work_for(kn_solver_work** work, const kn_problem* p) {
  KN_REQUIRE(work != NULL);
  KN_TRY(kn_problem_check(p));
  KN_TRY(
      kn_solver_work_create(work, p->rows, p->blocks, p->W || !p->sparse ? 0 : p->sparse->start[p->blocks]));
  kn_status status = p->pairs ? kn_solver_work_pairs(*work, p->pairs->bodies, p->blocks) : KN_OK;
  if (status != KN_OK) {
    kn_solver_work_destroy(*work);
    *work = NULL;
  }
  return status;
}

static kn_sparse_hand* take_hands(kn_arena* arena, int hands, int blocks) {
  kn_sparse_hand* hand = KN_TAKE(arena, kn_sparse_hand, hands);
  kn_sparse_take_hands(hand, hands, arena, blocks);
  return hand;
}

/* Memory for every worker of the crew, which may be NULL. */
kn_status kn_solver_work_crew(kn_solver_work* w, kn_crew* crew) {
  int hands = crew ? kn_crew_size(crew) : 1;
  w->sparse.crew = NULL, w->sparse.hand = &w->sparse.own;
  w->heap.nodes.crew = hands > 1 ? crew : NULL;
  kn_arena_destroy(&w->crew_arena);
  if (hands == 1 || !w->stored) return KN_OK;
  kn_arena measure = {0};
  take_hands(&measure, hands, w->blocks);
  KN_TRY(kn_arena_create(&w->crew_arena, measure.used));
  w->sparse.hand = take_hands(&w->crew_arena, hands, w->blocks);
  w->sparse.crew = crew;
  return KN_OK;
}

void kn_solver_work_destroy(kn_solver_work* work) {
  if (!work) return;
  kn_arena_destroy(&work->crew_arena);
  kn_arena_destroy(&work->heap_arena);
  kn_arena_destroy(&work->arena);
  free(work);
}
