/* Loop rows of a step: which of them are independent, and the velocity that obeys them at its end.

   Decided once a step, at the midpoint, and remembered: the impulses of the last step, which are in the state, name
   the rows that took part. They are decided anew when a row that was left out is not obeyed by the motion that
   the others allow, and when the factor of those that took part shows that they have come to depend on each
   other (a mark in the state).

   The velocity is brought back to J v = U at the new position in the M-norm. Λ and the factors of the midpoint serve:
   v ← v - M⁻¹Jᵀ Λ⁻¹ (J(q⁺) v - U), each time leaving what J changed within the step.
   Called by step/time (stages 4 and 9), step/event. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "contact/formulation/least_norm.h"
#include "math/dense.h"
#include "step/sim.h"

/* A row counts as dependent when it is parallel to the others to a thousandth: what it may be off by when they are
   obeyed, of the motion within the mechanism. Lengths of mechanisms are of this order at least, m. */
static const double parallel = 1e-3, length = 0.03;
/* Least part of a diagonal entry that is left as a pivot; W is quadratic. Rows are left out below parallel², and the
   order of this factor may leave less. */
static const double least_pivot = 0.1 * 1e-6;

static const uint64_t mark = (uint64_t)1 << 31; /* of a loop row's key: decide anew */

/* Loop rows come last in s->sets.found, one row each: the first of them. */
static int first_loop(const kn_sim* s) {
  int first = s->sets.found.count;
  while (first > 0 && s->sets.found.tag[first - 1].kind == KN_ROW_LOOP) first--;
  return first;
}

/* Rows of real mechanisms that are parallel to a thousandth (axes of a planar linkage that miss each other by a
   hair) count as dependent: taken literally they would lock the mechanism or move it by radians to close
   microns. W is quadratic, hence 1e-6. */
kn_status kn_stage_keep_loops(kn_sim* s, bool* keep) {
  const kn_model* m = s->model;
  int first = first_loop(s), rows = s->sets.found.count - first;
  for (int g = 0; g < s->sets.found.count; g++) keep[g] = true;
  if (rows == 0) return KN_OK;
  KN_TRY(kn_rows_push(&s->repair.rows, s->data, m, s->sets.found.geometry + first, rows));
  kn_rows_lambda(s->work->W, &s->repair.rows, s->data, m);
  kn_independent_rows(keep + first, rows, s->work->W, parallel * parallel, s->repair.least_scratch,
                      s->repair.least_pivot);
  for (int g = first; g < s->sets.found.count; g++) s->loops.kept[s->sets.found.tag[g].index] = keep[g];
  s->loops.known = true;
  return KN_OK;
}

void kn_stage_loops_again(kn_sim* s, bool* keep) {
  for (int g = 0; g < s->sets.found.count; g++)
    keep[g] = s->sets.found.tag[g].kind != KN_ROW_LOOP || s->loops.kept[s->sets.found.tag[g].index];
}

static bool is_loop_key(uint64_t key) { return key >> KN_WARM_KIND == KN_ROW_LOOP; }

/* s->loops.kept from the impulses of the last step; false: there are none, or they are marked. */
static bool remembered(kn_sim* s, int rows) {
  const kn_state_block* block = s->blocks.impulses;
  const kn_warm_entry* list = block->data;
  int found = 0;
  for (int i = 0; i < rows; i++) s->loops.kept[i] = false;
  for (size_t i = 0; i < block->used / sizeof *list; i++) {
    uint64_t index = list[i].key & 0xffffffffu;
    if (!is_loop_key(list[i].key)) continue;
    if (index >= (uint64_t)rows) return false;
    s->loops.kept[index] = true, found++;
  }
  return found > 0;
}

/* Fastest motion of a joint within the mechanisms, of links from first to end: all but the six of free bodies. */
static double inner_speed(const kn_model* m, int first, int end, const double* v) {
  double most = 0.0;
  for (int i = first; i < end; i++)
    for (int k = 0; k < m->link[i].nv && m->link[i].type != KN_LINK_FREE; k++)
      most = kn_max(most, fabs(v[m->link[i].v + k]));
  return most;
}

/* Whether rows that were left out are obeyed as well. u: J v of s->sets.found. */
static bool others_obeyed(const kn_sim* s, int first, const double* u, const double* v) {
  double speed = parallel * inner_speed(s->model, 0, s->model->nlink, v);
  for (int g = first; g < s->sets.found.count; g++) {
    const kn_row_tag* tag = &s->sets.found.tag[g];
    const kn_row_block* b = &s->sets.found.geometry[g];
    double most = b->ndof > 0 || b->angular ? speed : length * speed;
    if (!s->loops.kept[tag->index] && fabs(u[tag->row] - s->sets.found.rate[tag->row]) > most) return false;
  }
  return true;
}

kn_status kn_stage_keep_rows(kn_sim* s, bool* keep, const double* u, const double* v) {
  int first = first_loop(s);
  for (int g = 0; g < s->sets.found.count; g++) keep[g] = true;
  if (s->work->formulation->redundant || first == s->sets.found.count) return KN_OK;
  /* islands that go their compliant way leave no impulses behind */
  if (!u || s->soft || !remembered(s, s->sets.found.count - first) || !others_obeyed(s, first, u, v))
    return kn_stage_keep_loops(s, keep);
  s->loops.known = true;
  kn_stage_loops_again(s, keep);
  return KN_OK;
}

static void forget(kn_sim* s) {
  kn_warm_entry* list = s->blocks.impulses->data;
  for (size_t i = 0; i < s->blocks.impulses->used / sizeof *list; i++)
    if (is_loop_key(list[i].key)) list[i].key |= mark;
}

/* ---- velocity ---- */

static kn_status rows_here(kn_sim* s, const double* q, double t) {
  kn_constraints_clear(&s->sets.found);
  for (int i = 0, row = 0, rows; i < s->model->nloop; i++, row += rows)
    KN_TRY(kn_constraint_add_loop(&s->sets.found, s->model, s->data, q, i, row, t, &rows, NULL));
  return KN_OK;
}

/* A formulation that takes dependent rows has all of them in s->sets.set: the first `rows` entries of s->sets.slot, left are
   those that the others would have kept. */
static int independent(kn_sim* s, int rows) {
  const double* W = s->os->W;
  double* A = s->work->W; /* its problem is solved */
  size_t n = (size_t)s->sets.set.rows;
  int kept = 0;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < rows; j++)
      A[(size_t)i * (size_t)rows + (size_t)j] =
          W[(size_t)s->sets.set.tag[s->sets.slot[i]].row * n + (size_t)s->sets.set.tag[s->sets.slot[j]].row];
  kn_independent_rows(s->sets.keep, rows, A, parallel * parallel, s->repair.least_scratch,
                      s->repair.least_pivot);
  for (int i = 0; i < rows; i++)
    if (s->sets.keep[i]) s->sets.slot[kept++] = s->sets.slot[i];
  return kept;
}

/* Loop rows of s->sets.set: their rows in s->sets.slot, the factor of their Λ in A (scaled by scale). Their number, -1: they
   have come to depend on each other. */
static int factor_of_loops(kn_sim* s, double* A, double* scale) {
  const double* W = s->os->W;
  size_t n = (size_t)s->sets.set.rows;
  int rows = 0;
  for (int g = 0; g < s->sets.set.count; g++)
    if (s->sets.set.tag[g].kind == KN_ROW_LOOP) s->sets.slot[rows++] = g;
  if (s->work->formulation->redundant) rows = independent(s, rows);
  for (int i = 0; i < rows; i++) {
    size_t at = (size_t)s->sets.set.tag[s->sets.slot[i]].row;
    scale[i] = 1.0 / sqrt(W[at * n + at]);
    for (int j = 0; j <= i; j++)
      A[(size_t)j * (size_t)rows + (size_t)i] =
          W[at * n + (size_t)s->sets.set.tag[s->sets.slot[j]].row] * scale[i] * scale[j];
  }
  return kn_cholesky_factor(rows, A, rows, least_pivot) == rows ? rows : -1;
}

/* Of the joints in the trees that a row acts on. */
static double speed_of_trees(const kn_model* m, const int32_t tree[2], const double* v) {
  double most = 1e-5;
  for (int k = 0; k < 2; k++)
    if (tree[k] >= 0) most = kn_max(most, inner_speed(m, tree[k], m->link[tree[k]].end, v));
  return most;
}

/* What a row's velocity may be off by: verify asks for 1e-9 of its largest term, which is some part of that speed. */
static double size_of_row(const kn_row_block* b, const double* v, double speed) {
  double sum = 1e-6;
  for (int t = 0; t < b->ndof; t++) sum += fabs(b->coef[t] * v[b->dof[t]]);
  return b->ndof > 0 ? 2e-11 * sum : 1e-12 * speed;
}

/* With Λ and the factors of the midpoint; false when that leads nowhere. v is changed only if it does. */
static bool quick_velocity(kn_sim* s, const kn_flow* f, double* v) {
  enum { ROUNDS = 7 };
  const kn_model* m = s->model;
  double *A = s->repair.least_scratch, *scale = A + (size_t)s->room.repair * (size_t)s->room.repair,
         *p = s->row.compression;
  if (!f->reusable || s->os->large.is_sparse || s->sets.set.rows > s->room.repair) return false;
  int rows = factor_of_loops(s, A, scale);
  if (rows < 0) return forget(s), false;
  double *x = scale + rows, speed = 0.0, before = INFINITY;
  const int32_t* tree = NULL; /* whose speed that is */
  memcpy(s->frame.v_mean, v, (size_t)m->nv * sizeof(double));
  memset(p, 0, (size_t)s->sets.set.rows * sizeof(double));
  s->loops.work = 0.0;
  for (int k = 0; k < ROUNDS; k++) {
    double most = 0.0;
    kn_rows_velocity(s->row.u_free, s->data, m, s->sets.found.geometry, s->sets.found.count, s->frame.v_mean);
    for (int i = 0; i < rows; i++) {
      int index = s->sets.set.tag[s->sets.slot[i]].index;
      double off = s->sets.found.rate[index] - s->row.u_free[index];
      x[i] = off * scale[i];
      const int32_t* now = s->sets.found.tag[index].tree;
      if (!tree || now[0] != tree[0] || now[1] != tree[1]) speed = speed_of_trees(m, now, v);
      tree = now;
      most = kn_max(most, fabs(off) / size_of_row(&s->sets.found.geometry[index], s->frame.v_mean, speed));
    }
    if (most <= 1.0) {
      memcpy(v, s->frame.v_mean, (size_t)m->nv * sizeof(double));
      return true;
    }
    if (!(most < 0.3 * before)) return false;
    before = most;
    kn_cholesky_solve(rows, x, A, rows, x);
    for (int i = 0; i < rows; i++) {
      p[s->sets.set.tag[s->sets.slot[i]].row] = x[i] * scale[i];
      s->loops.work += x[i] * scale[i] * s->sets.found.rate[s->sets.set.tag[s->sets.slot[i]].index];
    }
    kn_data_swap(s->data); /* the factors belong to the poses of q_m */
    kn_rows_apply(s->frame.dv, &s->os->factored, s->data, m, p);
    kn_data_swap(s->data);
    for (int i = 0; i < m->nv; i++) s->frame.v_mean[i] += s->frame.dv[i];
  }
  return false;
}

/* v ← v + M⁻¹ J_bᵀ p with J_b v = U(t) at the present poses (those of the repaired position, of which the repair may have
   left the rows). */
kn_status kn_stage_project_velocity(kn_sim* s, kn_flow* f, const double* q, double* v, double t) {
  const kn_model* m = s->model;
  if (m->nloop == 0) return KN_OK;
  if (!s->loops.here) KN_TRY(rows_here(s, q, t));
  if (quick_velocity(s, f, v)) return KN_OK;
  f->reusable = false;
  if (s->loops.here) KN_TRY(rows_here(s, q, t)); /* with their rates as bias */
  KN_TRY(kn_dyn_factor(s->data, m, NULL));
  KN_TRY(kn_stage_keep_loops(s, s->sets.keep));
  KN_TRY(kn_row_islands(s, s->sets.keep));
  kn_rows_velocity(s->row.u_before, s->data, m, s->sets.set.geometry, s->sets.set.count, v);
  for (int r = 0; r < s->sets.set.rows; r++) s->sets.set.bias[r] += s->row.u_before[r];
  KN_TRY(kn_stage_correction(s, s->frame.v_mean));
  for (int i = 0; i < m->nv; i++) v[i] += s->frame.v_mean[i];
  return KN_OK;
}
