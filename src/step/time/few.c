/* Steps in which two or three contacts are near and there are no other rows, on a chain in a plane, in the
   operational-space formulation: lone.c for a few. The general way (gather.c, warm_start.c, contact/formulation/solve.c) does
   the same after it has made lists of groups, blocks, islands and pairs of rows; what is left for the rest of
   the step is the same, bit for bit (test/step/few.c), but for the geometry of the contacts, which is not
   written down. */
#include <math.h>

#include "comp/cone/flat.h"
#include "comp/problem/problem.h"
#include "contact/formulation/tame.h"
#include "dynamics/tree/data.h"
#include "step/sim.h"

enum { MOST = KN_FEW };
#define UNROLLED static inline __attribute__((always_inline))

/* Groups of the contacts, as kn_constraint_add_contact and kn_row_islands leave them. */
static void put_groups(kn_sim* s, int count) {
  kn_constraints* f = &s->found;
  for (int g = 0; g < count; g++) {
    const kn_planar_arrow* w = s->data->arrow + g;
    f->tag[g] = (kn_row_tag){.kind = KN_ROW_CONTACT,
                             .index = g,
                             .row = 3 * g,
                             .rows = 3,
                             .block = g,
                             .blocks = 1,
                             .tree = {w->link[0] < 0 ? -1 : 0, w->link[1] < 0 ? -1 : 0}};
    f->block[g] = (kn_block){.set = KN_SET_CONE3, .row = 3 * g, .mu = s->contact[g].mu, .hi = INFINITY};
    s->keep[g] = true;
  }
  f->count = f->blocks = count, f->rows = 3 * count;
  if (s->set.tag != f->tag) s->set = *f;
  s->set.count = s->set.blocks = count, s->set.rows = 3 * count;
  s->islands = 1, s->island_first[0] = 0, s->island_first[1] = count;
  s->tree_parent[0] = s->tree_island[0] = 0;
  s->unsorted = false;
}

/* And their geometry, for whoever goes on in the general way. */
static void put_geometry(kn_sim* s) {
  for (int i = 0; i < s->contacts; i++) kn_contact_rows(&s->found.geometry[i], s->model, &s->contact[i], 3);
}

bool kn_few_gather(kn_sim* s, double dt) {
  int count = s->contacts;
  double *before = s->found.u_before, *free = s->found.u_free, *bias = s->found.bias, rate = 1.0 / dt;
  bool any = false;
  if (!kn_rows_few_fit(&s->work->factored, s->data, count)) return false;
  for (int g = 0; g < count; g++) {
    const kn_contact* c = &s->contact[g];
    int a = s->model->geom_place[c->geom_a].link, b = s->model->geom_place[c->geom_b].link;
    double u[4], gap = c->gap;
    int t = kn_rows_few_aim(u, s->data, g, a, b, c->point, c->frame, dt), n = 3 * g, o = n + 3 - t;
    if (t == 0 || !(c->mu > 0.0 && c->mu < INFINITY)) return false;
    if (!(gap + 0.5 * dt * kn_min(u[2], 0.0) <= s->settings.gtol)) return false; /* it may stay out */
    s->few_tangent[g] = t, t += n;
    before[n] = s->u_before[n] = u[0], before[t] = s->u_before[t] = u[1];
    free[n] = s->u_free[n] = u[2], free[t] = s->u_free[t] = u[3];
    before[o] = s->u_before[o] = free[o] = s->u_free[o] = bias[n + 1] = bias[n + 2] = 0.0;
    bias[n] = 2.0 * rate * kn_max(0.0, gap);
    any |= s->impacting[g] = kn_contact_impacts(s, c, u[0], u[2], dt, rate);
  }
  s->any_impact = any;
  put_groups(s, count);
  s->few_count = count;
  return true;
}

/* ---- stages 6 and 7 ---- */

/* Last step's impulses, as kn_warm_load has them; lists keep their order from step to step. */
UNROLLED void load(kn_sim* s, const int count) {
  const kn_state_block* block = s->blocks.impulses;
  const kn_warm_entry* list = block->data;
  int entries = (int)(block->used / sizeof *list), at = 0;
  for (int g = 0; g < count; g++) {
    const kn_contact* c = &s->contact[g];
    uint64_t key = kn_warm_key(c);
    double* to = s->lambda + 3 * g;
    to[0] = to[1] = to[2] = 0.0;
    if (!(at < entries && list[at].key == key))
      for (at = 0; at < entries && list[at].key != key;) at++;
    if (at == entries) continue;
    const double *e = list[at++].f, *n = c->frame, *f = c->frame + 3 * s->few_tangent[g];
    to[0] = n[0] * e[0] + n[1] * e[1] + n[2] * e[2];
    to[s->few_tangent[g]] = f[0] * e[0] + f[1] * e[1] + f[2] * e[2];
  }
}

/* As kn_warm_save. */
UNROLLED void save(kn_sim* s, const int count) {
  kn_state_block* block = s->blocks.impulses;
  kn_warm_entry* e = block->data;
  for (int g = 0; g < count; g++, e++) {
    const kn_contact* c = &s->contact[g];
    const double *n = c->frame, *f = c->frame + 3 * s->few_tangent[g], *l = s->lambda + 3 * g, rn = l[0],
                 rt = l[s->few_tangent[g]];
    e->key = kn_warm_key(c);
    for (int i = 0; i < 3; i++) e->f[i] = (0.0 + n[i] * rn) + f[i] * rt;
  }
  block->used = (size_t)count * sizeof *e;
}

/* J v⁺ = J v_free + Λ λ; Λ is symmetric. */
UNROLLED void velocities_after(kn_sim* s, const int count) {
  const int n = 3 * count;
  for (int g = 0; g < count; g++) {
    int t = s->few_tangent[g], row = 3 * g;
    const double *wn = s->work->W + row * n, *wt = wn + t * n;
    double un = s->u_free[row], ut = s->u_free[row + t];
    for (int h = 0; h < count; h++) {
      int a = 3 * h, b = a + s->few_tangent[h];
      un += s->lambda[a] * wn[a], ut += s->lambda[a] * wt[a];
      un += s->lambda[b] * wn[b], ut += s->lambda[b] * wt[b];
    }
    s->u_plus[row] = un, s->u_plus[row + t] = ut, s->u_plus[row + 3 - t] = 0.0;
  }
}

/* As kn_report_solution. */
static void report(kn_report* r, const kn_solve_info* info, int count) {
  enum { LCP_SIZE = 6 }; /* of a contact: four directions and two */
  r->solves++;
  r->iterations += info->iterations;
  r->residual = kn_max(r->residual, info->residual_scaled);
  if (r->lcp_size < LCP_SIZE * count) r->lcp_size = LCP_SIZE * count;
}

/* Some contact would close, so that λ = 0 is no answer. */
UNROLLED bool pressed(const double* q, const int count) {
  bool any = false;
  for (int g = 0; g < count; g++) any |= q[3 * g] < 0.0;
  return any;
}

/* s->lambda, v_plus, u_plus, and Λ and the factored rows for the repair. */
UNROLLED bool solve(kn_sim* s, const int count) {
  kn_contact_work* w = s->work;
  kn_problem p = {.rows = 3 * count, .blocks = count, .block = s->set.block, .W = w->W, .q = w->q};
  kn_solve_info info;
  kn_rows_few_push(w->W, &w->factored, s->data, count);
  w->is_sparse = false;
  for (int i = 0; i < 3 * count; i++) w->q[i] = kn_apart(s->u_free[i]) + s->set.bias[i];
  if (!pressed(w->q, count)) return false;
  load(s, count);
  if (!kn_flat_answer(s->lambda, &info, &p, s->settings.tolerance, true, w->solver)) return false;
  if (kn_impulses_excess(&p, s->lambda) > 1e2) return false;
  kn_rows_few_move(s->v_plus, &w->factored, s->data, s->v_free, s->lambda, w->vector);
  velocities_after(s, count);
  report(&s->report, &info, count);
  save(s, count);
  return true;
}

bool kn_few_step(kn_sim* s) {
  double t0 = kn_stage_clock(s);
  if (!s->few_count) return false;
  s->reusable = !s->work->watch && (s->few_count == 2 ? solve(s, 2) : solve(s, MOST));
  if (!s->reusable) {
    s->few_count = 0;
    put_geometry(s);
  }
  kn_stage_book(s, &s->report.time.solve, t0);
  return s->reusable;
}
