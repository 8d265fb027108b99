/* The list of formulations, and the memory of one: being in the list is being compared with all others by
   `knuckle compare` and the agreement tests. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contact/formulation/formulation.h"
#include "contact/formulation/maximal.h"

extern const kn_formulation kn_formulation_os, kn_formulation_rmc, kn_formulation_mc, kn_formulation_nmc_os,
    kn_formulation_nmc_sparse, kn_formulation_nmc, kn_formulation_projection;

static const kn_formulation* const list[] = {
    &kn_formulation_os,         &kn_formulation_rmc, &kn_formulation_mc,        &kn_formulation_nmc_os,
    &kn_formulation_nmc_sparse, &kn_formulation_nmc, &kn_formulation_projection};

const kn_formulation* const* kn_formulation_list(int* count) {
  *count = (int)(sizeof list / sizeof *list);
  return list;
}

const kn_formulation* kn_formulation_find(const char* name) {
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (strcmp(list[i]->name, name) == 0) return list[i];
  return NULL;
}

static void carve_blocks(kn_contact_work* w, kn_arena* a) {
  kn_lambda_blocks* b = &w->large.blocks;
  int rows = w->max_rows;
  b->of_row = w->large.block_of_row = KN_TAKE(a, int, rows);
  b->size = w->large.block_size = KN_TAKE(a, int, rows);
  w->large.block_row = KN_TAKE(a, int, rows);
  b->start = KN_TAKE(a, int, rows + 1);
  size_t entries = (size_t)w->large.entries;
  b->scratch = KN_TAKE(a, int, kn_lambda_blocks_scratch(rows, w->large.entries));
  b->col = KN_TAKE(a, int, entries);
  b->at = KN_TAKE(a, int64_t, entries);
  b->value = KN_TAKE(a, double, 2 * KN_BLOCK_STRIDE * entries); /* those of twins behind them */
  kn_work_twins* t = &w->large.twins;
  t->start = KN_TAKE(a, int, 2 * (size_t)rows + 1);
  t->col = KN_TAKE(a, int, entries);
  t->of = KN_TAKE(a, int, rows);
  t->at = KN_TAKE(a, int64_t, entries);
  t->sparse = (kn_sparse){.start = t->start, .col = t->col, .at = t->at, .value = b->value};
  size_t pairs = w->large.loose ? (size_t)rows / 3 + 1 : 0;
  w->large.body = KN_TAKE(a, int, 2 * pairs);
  w->large.G = KN_TAKE(a, double, 36 * pairs);
  w->large.pairs = (kn_pairs){.body = w->large.body, .G = w->large.G};
  w->large.sparse = (kn_sparse){.start = b->start, .col = b->col, .at = b->at, .value = b->value};
}

static void carve(kn_contact_work* w, kn_arena* a, int friction) {
  int nv = w->model->nv, total = w->max_total;
  w->block = KN_TAKE(a, kn_block, total);
  w->W = KN_TAKE(a, double, (size_t)w->large.max_dense * w->large.max_dense);
  KN_TAKE_EACH(a, double, total, &w->q, &w->r);
  w->vector = KN_TAKE(a, double, nv);
  w->tame = KN_TAKE(a, double, 4 * (size_t)total);
  if (w->formulation->dense) {
    w->M = KN_TAKE(a, double, (size_t)nv* nv);
    KN_TAKE_EACH(a, double, (size_t)w->max_rows* nv, &w->J, &w->X);
  } else if (w->formulation->own_bytes) {
    w->own = kn_arena_take(a, w->formulation->own_bytes(w->model, w->max_rows));
  } else {
    void* memory = kn_arena_take(a, kn_rows_size(w->model, w->max_rows));
    if (memory) kn_rows_init(&w->factored, w->model, w->max_rows, memory);
    if (w->large.blocks.capacity) carve_blocks(w, a);
  }
  if (w->formulation->velocities) {
    size_t na = (size_t)w->formulation->velocities(w->model), rest = (size_t)total - na;
    w->reduced.K = KN_TAKE(a, double, na* na);
    w->reduced.Z = KN_TAKE(a, double, na* rest + na);
    w->reduced.W = KN_TAKE(a, double, rest* rest);
    KN_TAKE_EACH(a, double, rest, &w->reduced.q, &w->reduced.r);
    w->reduced.block = KN_TAKE(a, kn_block, rest);
  }
  if (w->formulation->refine) {
    w->hinge.scratch = KN_TAKE(a, double, kn_refine_doubles(total, w->max_rows));
    w->hinge.index = KN_TAKE(a, int, 2 * total);
    w->hinge.block = KN_TAKE(a, kn_block, total);
  }
  if (!friction) return;
  int n = w->poly.rows;
  w->poly.M = KN_TAKE(a, double, (size_t)n* n);
  KN_TAKE_EACH(a, double, n, &w->poly.q, &w->poly.lo, &w->poly.hi, &w->poly.z);
  w->poly.combo = KN_TAKE(a, kn_combo, n);
  w->poly.aim = (double(*)[2])kn_arena_take(a, (size_t)total * sizeof(double[2]));
}

/* Are there only bodies that move by themselves? */
static bool all_loose(const kn_model* model) {
  for (int i = 0; i < model->nlink; i++)
    if (model->link[i].type != KN_LINK_FREE || model->link[i].parent >= 0) return false;
  return model->nlink > 0;
}

/* Λ has zero blocks mostly between trees: of one robot nearly every row meets every other. */
static bool many_trees(const kn_model* m) {
  enum { MANY = 8 };
  int trees = 0;
  for (int i = 0; i < m->nlink; i++) trees += m->link[i].parent < 0;
  return trees >= MANY;
}

int kn_formulation_extra(const kn_formulation* f, const kn_model* model) {
  return f->extra ? f->extra(model) : 0;
}

int kn_contact_lcp_size(const kn_contact_work* w, int directions) {
  int size = w->extra;
  for (int b = w->extra; b < w->nblock; b++)
    if (!w->formulation->reduced || w->block[b].set != KN_SET_FREE)
      size += w->block[b].set == KN_SET_CONE3 ? directions + 2 : 1;
  return size;
}

kn_status kn_contact_work_create(kn_contact_work** work, const kn_model* model, kn_data* data,
                                 const kn_formulation* f, int max_rows, int friction, int entries) {
  *work = NULL;
  kn_contact_work* w = calloc(1, sizeof *w);
  if (!w) return kn_fail(KN_OUT_OF_MEMORY, "contact: out of memory");
  w->formulation = f;
  w->model = model;
  w->data = data;
  w->max_rows = max_rows;
  w->max_total = kn_formulation_extra(f, model) + 2 * max_rows; /* decompression doubles contacts */
  w->poly.finest = friction;
  w->large.max_dense = w->max_total;
  if (!f->dense && !f->own_bytes && !friction && max_rows >= 3 * KN_BLOCKS_LEAST) {
    w->large.blocks_least = many_trees(model) ? KN_BLOCKS_LEAST : KN_BLOCKS_OF_ONE;
    w->large.blocks.capacity = w->large.usual = KN_BLOCKS_PER_ROW * max_rows;
    w->large.entries = entries > w->large.usual ? entries : w->large.usual;
    w->large.loose = all_loose(model);
    if (w->large.max_dense > KN_DENSE_ROWS) w->large.max_dense = KN_DENSE_ROWS;
  }
  w->poly.rows =
      friction ? kn_formulation_extra(f, model) + kn_polyhedral_rows(max_rows, max_rows / 3 + 1, friction)
               : 0;
  kn_status status;
  KN_ARENA_CARVE(status, &w->arena, carve(w, a, friction));
  if (status == KN_OK && f->own_init) status = f->own_init(w, w->own, f->own_bytes(model, max_rows));
  if (status == KN_OK) {
    status = kn_solver_work_create(&w->solver, w->max_total, w->max_total, w->large.entries);
  }
  if (status == KN_OK && w->large.loose) status = kn_solver_work_pairs(w->solver, model->nlink, max_rows / 3);
  if (status == KN_OK && friction) status = kn_lcp_work_create(&w->poly.lcp, w->poly.rows);
  if (status != KN_OK)
    kn_contact_work_destroy(w);
  else
    *work = w;
  return status;
}

void kn_contact_work_destroy(kn_contact_work* w) {
  if (!w) return;
  kn_solver_work_destroy(w->solver);
  kn_lcp_work_destroy(w->poly.lcp);
  kn_arena_destroy(&w->arena);
  for (int i = 0; i < KN_LAW_MEMORIES; i++) free(w->law_memory[i]);
  free(w);
}
