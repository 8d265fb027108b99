/* Operational-space formulation (jain-2014 section 6; TA in jain-2012):

     u = Λ λ + J v_free + bias,   Λ = J M⁻¹ Jᵀ = Y D⁻¹ Yᵀ,   v⁺ = v_free + M⁻¹ Jᵀ λ

   Λ comes from the articulated-body factors in O(N) + O(nc·depth) + O(nc²); no mass matrix is formed. */
#include "base/error.h"
#include "base/fours.h"
#include "contact/formulation/formulation.h"

static bool wants_blocks(const kn_contact_work* w) {
  return w->large.may_be_sparse && w->large.blocks.capacity && w->nblock >= w->large.blocks_least;
}

/* Many blocks: Λ by blocks, if few of them meet. */
static bool prepare_blocks(kn_contact_work* w) {
  for (int b = 0; b < w->nblock; b++) {
    int end = b + 1 < w->nblock ? w->block[b + 1].row : w->rows;
    w->large.block_row[b] = w->block[b].row;
    w->large.block_size[b] = end - w->block[b].row;
    for (int r = w->block[b].row; r < end; r++) w->large.block_of_row[r] = b;
  }
  return kn_rows_lambda_blocks(&w->large.blocks, &w->factored, w->nblock);
}

kn_status kn_contact_no_entries(kn_contact_work* w, int64_t wants) {
  w->large.wants = wants;
  return kn_fail(KN_NO_ROOM, "%d rows in %lld blocks, room for %d", w->rows, (long long)wants,
                 w->large.entries);
}

static kn_status prepare(kn_contact_work* w) {
  bool many = wants_blocks(w), only = w->rows > w->large.max_dense; /* only: there is no room for W */
  if (many) w->large.blocks.capacity = only ? w->large.entries : w->large.usual;
  w->large.is_sparse = many && w->nblock == w->count && w->large.fast_heap &&
                       kn_rows_push_loose(&w->factored, w->data, w->model, w->geometry, w->count) &&
                       prepare_blocks(w);
  w->large.pairs.bodies = w->large.is_sparse && w->large.loose && 3 * w->nblock <= w->max_rows
                              ? kn_rows_pairs(w->large.body, w->large.G, &w->factored, w->nblock)
                              : 0;
  if (w->large.is_sparse) return KN_OK;
  KN_TRY(kn_rows_push(&w->factored, w->data, w->model, w->geometry, w->count));
  w->large.is_sparse = many && prepare_blocks(w);
  if (w->large.is_sparse) return KN_OK;
  if (only && many) return kn_contact_no_entries(w, w->large.blocks.needed);
  if (only) return kn_fail(KN_NO_ROOM, "%d rows that all meet, room for %d", w->rows, w->large.max_dense);
  kn_rows_lambda(w->W, &w->factored, w->data, w->model);
  return KN_OK;
}

static void offset(kn_contact_work* w, const double* v_free, const double* bias) {
  const double* u = w->known ? w->known : w->q;
  if (!w->known) kn_rows_velocity(w->q, w->data, w->model, w->geometry, w->count, v_free);
  for (int i = 0; i < w->rows; i++) w->q[i] = kn_apart(u[i]) + bias[i];
}

static void motion(double* v, kn_contact_work* w, const double* v_free, const double* r) {
  kn_rows_apply(w->vector, &w->factored, w->data, w->model, r);
  for (int i = 0; i < w->model->nv; i++) v[i] = v_free[i] + kn_apart(w->vector[i]);
}

const kn_formulation kn_formulation_os = {
    .name = "os",
    .doc = "operational space: compliance by tree recursion, linear in the number of links",
    .citation = "A. Jain, Contact dynamics formulation using minimal coordinates, 2014, section 6",
    .prepare = prepare,
    .offset = offset,
    .motion = motion,
};
