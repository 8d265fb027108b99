/* Memory of kn_data: one arena, sized by the model (data.h says who writes what). */
#include "dynamics/tree/data.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static void take_kin(kn_kin* k, kn_arena* a, const kn_model* m) {
  k->link = KN_TAKE(a, kn_link_kin, m->nlink);
  k->weight = KN_TAKE(a, kn_link_weight, m->nlink);
  k->dof = KN_TAKE(a, kn_dof_motion, m->nv);
  double* plane = KN_TAKE(a, double, 8 + KN_PLANE_ROWS * kn_plane_stride(m->nlink));
  k->plane = a->base ? plane + 8 : NULL; /* one before the first is read */
}

static void take_all(kn_data* d, kn_arena* a, const kn_model* m) {
  size_t nlink = (size_t)m->nlink, nv = (size_t)m->nv, nq = (size_t)m->nq;
  d->layout = kn_layout_take(a, m);
  KN_TAKE_EACH(a, double, nlink + 8, &d->sin, &d->cos);
  take_kin(&d->kin, a, m);
  take_kin(&d->aux, a, m);
  KN_TAKE_EACH(a, double, nv, &d->v, &d->zero);
  d->fac = KN_TAKE(a, kn_dof_factor, nv);
  d->dyn = KN_TAKE(a, kn_link_dyn, nlink);
  d->art = KN_TAKE(a, kn_art, nlink);
  d->planar = KN_TAKE(a, kn_planar_link, nlink);
  d->planar_dinv = KN_TAKE(a, double, nv);
  d->arrow = KN_TAKE(a, kn_planar_arrow, KN_ARROWS + 1);
  double* chain = KN_TAKE(a, double, 8 + KN_CHAIN_ROWS * kn_chain_stride(m->nlink));
  d->chain = a->base ? chain + 8 : NULL;
  d->ups = KN_TAKE(a, double, 36 * nlink);
  d->push = KN_TAKE(a, double, 2 * KN_TILE * 36);
  d->tile = KN_TAKE(a, double, KN_TILE_ROWS* KN_TILE_ROWS);
  d->tmp = KN_TAKE(a, double, nv);
  d->rk = KN_TAKE(a, double, KN_RK* nv);
  d->outside = KN_TAKE(a, double, nv);
  d->rkq = KN_TAKE(a, double, 4 * nq);
  size_t rows = kn_rows_size(m, KN_TILE_ROWS);
  void* memory = kn_arena_take(a, rows);
  if (a->base) kn_rows_init(&d->rows, m, KN_TILE_ROWS, memory);
}

void kn_data_in_space(kn_data* d) {
  d->layout->planar = d->layout->one_plane = d->layout->chain = d->layout->brief = 0;
}

kn_status kn_data_create(kn_data** data, const kn_model* model) {
  KN_REQUIRE(data != NULL);
  *data = NULL;
  KN_REQUIRE(model != NULL);
  kn_data* d = calloc(1, sizeof *d);
  if (!d) return kn_fail(KN_OUT_OF_MEMORY, "%zu bytes could not be allocated", sizeof *d);
  d->model = model;
  kn_status status;
  KN_ARENA_CARVE(status, &d->arena, take_all(d, a, model));
  if (status == KN_OK)
    *data = d;
  else
    free(d);
  return status;
}

void kn_data_adopt(kn_data* d, const kn_model* model) {
  kn_arena measure = {0};
  kn_layout_take(&measure, model);
  memset(d->arena.base, 0, measure.used); /* the layout is the first piece */
  kn_arena again = {.base = d->arena.base, .capacity = measure.used};
  d->layout = kn_layout_take(&again, model);
  d->model = model;
  d->factored = 0;
  d->kin.weighed = d->aux.weighed = false;
  d->planar_kin = NULL;
  d->planar_stamp++;
}

void kn_data_destroy(kn_data* data) {
  if (!data) return;
  kn_adaptive_destroy(data);
  kn_arena_destroy(&data->arena);
  free(data);
}
