/* Constraint rows: memory, halves, plain products J v, Jᵀ λ, J̇ v, and M⁻¹Jᵀλ from the factored rows. */
#include "dynamics/rows/rows.h"

#include <string.h>

#include "base/error.h"
#include "dynamics/tree/kernel.h"

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Dofs on the longest path to the root. */
static size_t depth(const kn_model* m) {
  size_t most = 0;
  for (int i = 0; i < m->nlink; i++) {
    size_t n = 0;
    for (int p = i; p >= 0; p = m->link[p].parent) n += (size_t)m->link[p].nv;
    if (n > most) most = n;
  }
  return most;
}

/* Bounds: a row is on at most 3 paths and once per dof; a segment has at least one dof. */
static void take(kn_rows* rows, kn_arena* arena, const kn_model* m, int capacity) {
  size_t cap = (size_t)capacity, nv = (size_t)m->nv, nlink = (size_t)m->nlink;
  size_t entries = cap * least(nv, 3 * depth(m)), in_plane = nv == nlink ? KN_PLANAR_ROWS * nv : 0;
  size_t halves = 3 * cap, carried = least(nv, cap * 3 * depth(m));
  size_t kept = entries > 16 * cap ? entries : 16 * cap; /* 48 per contact: rows_loose.c */
  size_t segments = least(2 * halves + 1, nlink + 1);
  kn_rows_index* ix = KN_TAKE(arena, kn_rows_index, 1);
  kn_rows_index t = {.y_cap = kept + KN_PAD * (carried + 1) + in_plane};
  size_t xs = 2 * (halves + KN_PAD * least(halves, nlink)) + KN_PAD;
  t.head = KN_TAKE(arena, int32_t, nlink);
  t.half = KN_TAKE(arena, kn_half, halves);
  t.segment = KN_TAKE(arena, kn_segment, segments);
  KN_TAKE_EACH(arena, int32_t, segments, &t.stack, &t.child);
  t.plan = KN_TAKE(arena, int32_t, KN_PLAN * cap);
  t.cols = KN_TAKE(arena, int32_t, entries);
  t.map = KN_TAKE(arena, int32_t, entries + halves);
  t.dofs = KN_TAKE(arena, int32_t, nv);
  t.scale = KN_TAKE(arena, double, 2 * nv);
  t.pair = KN_TAKE(arena, kn_row_pair, cap);
  if (nv == nlink) t.X = KN_TAKE(arena, double, 2 * nv);
  t.where = KN_TAKE(arena, int32_t, cap);
  t.x = KN_TAKE(arena, double, 6 * xs);
  t.tmp = KN_TAKE(arena, double, 6 * (cap + KN_PAD));
  t.whole_cap = nv > 256 ? 0 : (int32_t)least(cap, KN_WHOLE_MOST); /* more dofs are loose bodies */
  t.whole = KN_TAKE(arena, double, t.whole_cap ? nv*((size_t)t.whole_cap + 12) + 8 : 0);
  t.tiles = KN_TAKE(arena, uint64_t, t.whole_cap ? segments : 0);
  double* Y = KN_TAKE(arena, double, t.y_cap);
  if (!arena->base) return;
  *ix = t;
  memset(ix->where, -1, sizeof(int32_t) * cap);
  memset(ix->head, -1, sizeof(int32_t) * nlink);
  *rows = (kn_rows){.capacity = capacity, .Y = Y, .index = ix};
}

size_t kn_rows_size(const kn_model* model, int capacity) {
  kn_arena measure = {0};
  kn_rows rows;
  take(&rows, &measure, model, capacity);
  return measure.used + 64;
}

void kn_rows_init(kn_rows* rows, const kn_model* model, int capacity, void* memory) {
  size_t size = kn_rows_size(model, capacity);
  char* aligned = (char*)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
  kn_arena arena = {.base = aligned, .capacity = size - 64};
  take(rows, &arena, model, capacity);
}

static int block_rows(const kn_row_block* b) { return b->ndof > 0 ? 1 : b->rows; }

kn_status kn_rows_push(kn_rows* rows, kn_data* data, const kn_model* model, const kn_row_block* block,
                       int blocks) {
  int count = 0;
  (void)model;
  for (int i = 0; i < blocks; i++) count += block_rows(&block[i]);
  rows->rows = 0;
  if (count > rows->capacity)
    return kn_fail(KN_NO_ROOM, "%d constraint rows, room for %d", count, rows->capacity);
  rows->rows = count;
  ((kn_rows_index*)rows->index)->loose = 0;
  if (kn_rows_planar_push(rows, data, block, blocks, count)) return KN_OK;
  kn_rows_index* ix = rows->index;
  kn_data_fill(data);
  kn_rows_plan(ix, data, block, blocks, count);
  kn_dyn_kernels()->push(rows, data, block);
  return KN_OK;
}

void kn_rows_lambda(double* Lambda, const kn_rows* rows, const kn_data* data, const kn_model* model) {
  (void)model;
  if (((const kn_rows_index*)rows->index)->planar)
    kn_rows_planar_lambda(Lambda, rows, data);
  else
    kn_dyn_kernels()->lambda(Lambda, rows);
}

typedef double two __attribute__((vector_size(16), aligned(8), may_alias));

/* x·y of two rows, `apart` numbers apart; each in two sums that do not wait for each other. */
static inline two products(const double* x, ptrdiff_t apart, const double* y, int n) {
  two a = {0.0, 0.0}, b = a, last = a;
  int i = 0;
  for (; i + 2 <= n; i += 2) {
    two f = *(const two*)(y + i);
    a += *(const two*)(x + i) * f, b += *(const two*)(x + apart + i) * f;
  }
  if (i < n) last = (two){x[i], x[apart + i]} * y[i];
  return ((two){a[0], b[0]} + (two){a[1], b[1]}) + last;
}

/* e = Y λ, y / sqrt(D) back to y. */
static void gather(const kn_rows* rows, kn_data* data, const double* lambda) {
  const kn_rows_index* ix = rows->index;
  for (int t = 0; t < ix->nsegment; t++) {
    const kn_segment* s = &ix->segment[t];
    const int32_t* col = ix->cols + s->col0;
    const double *y = rows->Y + s->y0, *of = lambda + col[0];
    for (int k = 0; k < s->cols && !s->plain; k++) ix->tmp[k] = lambda[col[k]], of = ix->tmp;
    for (int j = s->dof0, end = j + s->dofs; j < end; j += 2, y += 2 * s->pad) {
      bool one = j + 1 == end;
      two e = products(y, one ? 0 : s->pad, of, s->cols);
      data->fac[ix->dofs[j]].e = e[0] / ix->scale[j];
      if (!one) data->fac[ix->dofs[j + 1]].e = e[1] / ix->scale[j + 1];
    }
  }
}

/* D⁻¹ L⁻ᵀ Jᵀ λ = D⁻¹ Y λ, then L⁻¹. */
void kn_rows_apply(double* dv, const kn_rows* rows, kn_data* data, const kn_model* model,
                   const double* lambda) {
  const kn_rows_index* ix = rows->index;
  if (ix->planar) {
    kn_rows_planar_apply(dv, rows, data, lambda);
    return;
  }
  kn_data_fill(data);
  for (int j = 0; j < model->nv; j++) data->fac[j].e = 0.0;
  if (ix->loose)
    kn_rows_loose_apply(rows, data, lambda);
  else
    gather(rows, data, lambda);
  kn_dyn_kernels()->forward_half(dv, data);
}

/* Sum over the dofs above `link` of force.motion, or motion coefficients added to tau: x = (n; f) at o. */
static void unit_force(kn_v4* n, kn_v4* f, const kn_row_block* b, int t, kn_v4 o) {
  kn_v4 dir = v4_load3(b->dir[t]);
  *n = b->angular ? dir : v4_cross(v4_sub(v4_load3(b->point), o), dir);
  *f = b->angular ? v4_zero() : dir;
}

void kn_rows_velocity(double* Jv, kn_data* data, const kn_model* model, const kn_row_block* block, int blocks,
                      const double* v) {
  (void)model;
  if (blocks == 0) return;
  if (kn_rows_planar_velocity(Jv, data, block, blocks, v)) return;
  const kn_link_dyn* y = data->dyn;
  kn_data_fill(data);
  kn_dyn_kernels()->scratch_velocity(data, v);
  kn_dyn_kernels()->rows_velocity(Jv, data, block, blocks, &y->wb, &y->a, sizeof *y / sizeof(kn_v4), v);
}

void kn_rows_velocity_known(double* Jv, const kn_data* data, const kn_row_block* block, int blocks) {
  const kn_link_kin* y = data->kin.link;
  kn_dyn_kernels()->rows_velocity(Jv, data, block, blocks, &y->w, &y->vo, sizeof *y / sizeof(kn_v4), data->v);
}

void kn_rows_velocities(double* Jv, double* Jw, kn_data* data, const kn_model* model,
                        const kn_row_block* block, int blocks, const double* w, double dt) {
  if (kn_rows_planar_velocities(Jv, Jw, data, block, blocks, data->v, w, dt)) return;
  kn_data_fill(data);
  kn_rows_velocity_known(Jv, data, block, blocks);
  kn_rows_velocity(Jw, data, model, block, blocks, w);
}

/* Link forces are summed from the tips to the root: O(N + rows). */
void kn_rows_force(double* tau, kn_data* data, const kn_model* model, const kn_row_block* block, int blocks,
                   const double* lambda) {
  kn_link_dyn* y = data->dyn;
  kn_data_fill(data);
  for (int i = 0; i < model->nlink; i++) y[i].n = y[i].f = v4_zero();
  int row = 0;
  for (int i = 0; i < blocks; i++) {
    const kn_row_block* b = &block[i];
    if (b->ndof > 0) {
      for (int t = 0; t < b->ndof; t++) tau[b->dof[t]] += b->coef[t] * lambda[row];
      row++;
      continue;
    }
    for (int t = 0; t < b->rows; t++, row++)
      for (int side = 0; side < 2 && b->link_a != b->link_b; side++) {
        int link = side ? b->link_b : b->link_a;
        if (link < 0) continue;
        kn_v4 un, uf;
        double l = side ? -lambda[row] : lambda[row];
        unit_force(&un, &uf, b, t, data->kin.link[link].o);
        y[link].n = v4_axpy(y[link].n, l, un), y[link].f = v4_axpy(y[link].f, l, uf);
      }
  }
  for (int i = model->nlink - 1; i >= 0; i--) {
    const kn_link* l = &model->link[i];
    for (int j = l->v; j < l->v + l->nv; j++)
      tau[j] += v4_dot2(data->kin.dof[j].sa, y[i].n, data->kin.dof[j].sl, y[i].f);
    if (l->parent < 0) continue;
    y[l->parent].n = v4_add3(y[l->parent].n, y[i].n, v4_cross(data->kin.link[i].r, y[i].f));
    y[l->parent].f = v4_add(y[l->parent].f, y[i].f);
  }
}

/* The forces of the rows are taken off the links before the sums from the tips: one pass for both. */
static void inverse_less_rows(double* tau, kn_data* data, const kn_model* model, const double* v,
                              const double* qdd, const kn_row_block* block, int blocks, const double* lambda,
                              double scale) {
  kn_data_fill(data);
  kn_dyn_kernels()->inverse_loads(data, v, qdd, model->gravity);
  kn_dyn_kernels()->rows_unload(data, block, blocks, lambda, scale);
  kn_dyn_kernels()->inverse_sum(tau, data);
}

void kn_rows_inverse(double* tau, kn_data* data, const kn_model* model, const double* v, const double* qdd,
                     const kn_row_block* block, int blocks, const double* lambda, double scale) {
  if (kn_rows_planar_loads(data, block, blocks, lambda, scale))
    kn_dyn_kernels()->inverse(tau, data, v, qdd, model->gravity);
  else
    inverse_less_rows(tau, data, model, v, qdd, block, blocks, lambda, scale);
  for (int j = 0, n = data->layout->has_armature ? model->nv : 0; j < n; j += 2)
    *(kn_two*)(tau + j) =
        kn_two_fresh(tau + j) + *(const kn_two*)(model->armature + j) * *(const kn_two*)(qdd + j);
  for (const kn_row_block* b = block; b < block + blocks; b++) {
    for (int t = 0; t < b->ndof; t++) tau[b->dof[t]] -= scale * b->coef[t] * *lambda;
    lambda += block_rows(b);
  }
}

/* Acceleration of the material point at `point` with qdd = 0, or the angular one, along dir. */
static double link_bias_row(const kn_data* d, const kn_row_block* b, int t, int link) {
  if (link < 0) return 0.0;
  kn_v4 dir = v4_load3(b->dir[t]);
  if (b->angular) return v4_dot(dir, d->dyn[link].al);
  kn_v4 arm = v4_sub(v4_load3(b->point), d->kin.link[link].o), w = d->dyn[link].wb;
  return v4_dot(dir, v4_add3(d->dyn[link].a, v4_cross(d->dyn[link].al, arm), v4_cross(w, v4_cross(w, arm))));
}

void kn_rows_bias(double* Jdv, kn_data* data, const kn_model* model, const kn_row_block* block, int blocks,
                  const double* v) {
  (void)model;
  kn_data_fill(data);
  kn_dyn_kernels()->bias_acceleration(data, v);
  int row = 0;
  for (int i = 0; i < blocks; i++) {
    const kn_row_block* b = &block[i];
    for (int t = 0; t < block_rows(b); t++)
      Jdv[row++] = b->ndof > 0 || b->link_a == b->link_b
                       ? 0.0
                       : link_bias_row(data, b, t, b->link_a) - link_bias_row(data, b, t, b->link_b);
  }
}
