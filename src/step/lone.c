/* Steps in which one contact is near and there are no other rows, on a chain in a plane: gather.c, warm.c and
   solve_islands of time.c without their lists. What is left for the rest of the step is the same, bit for bit
   (test/step/lone.c). */
#include <math.h>

#include "contact/lone.h"
#include "step/sim.h"

bool kn_lone_possible(const kn_sim* s) {
  const kn_sim_settings* p = &s->settings;
  return s->stepper == &kn_stepper_time && s->bare && s->one_tree && !s->modes && !s->soft &&
         p->max_contacts > 0 && p->bias_iterations <= 1 && kn_lone_may(s->work, p->friction, p->solver);
}

/* The group of the contact, as kn_constraint_add_contact and kn_row_islands leave it. */
static void put_group(kn_sim* s, const kn_contact* c, int link_a, int link_b, bool keep) {
  kn_constraints* f = &s->found;
  kn_row_block* g = f->geometry;
  g->link_a = link_a, g->link_b = link_b, g->rows = 3, g->angular = 0, g->ndof = 0;
  kn_few_copy(g->point, c->point, 3);
  kn_few_copy(g->dir[0], c->frame, 9);
  *f->tag = (kn_row_tag){
      .kind = KN_ROW_CONTACT, .rows = 3, .blocks = 1, .tree = {link_a < 0 ? -1 : 0, link_b < 0 ? -1 : 0}};
  *f->block = (kn_block){.set = KN_SET_CONE3, .mu = c->mu, .hi = INFINITY};
  f->count = f->blocks = 1, f->rows = 3;
  if (s->set.geometry != g) s->set = *f;
  s->set.count = s->set.blocks = s->islands = keep, s->set.rows = keep ? 3 : 0;
  s->island_first[0] = 0, s->island_first[1] = keep;
  s->tree_parent[0] = 0, s->tree_island[0] = keep - 1;
  s->keep[0] = keep;
  s->unsorted = false;
}

bool kn_lone_gather(kn_sim* s, double dt) {
  const kn_contact* c = s->contact;
  int a = s->model->geom_place[c->geom_a].link, b = s->model->geom_place[c->geom_b].link;
  double u[4];
  if (!(c->mu > 0.0 && c->mu < INFINITY)) return false;
  int t = s->lone_tangent = kn_rows_lone_aim(u, s->data, a, b, c->point, c->frame, dt);
  if (!t) return false;
  double *before = s->found.u_before, *free = s->found.u_free, *bias = s->found.bias, rate = 1.0 / dt;
  before[0] = s->u_before[0] = u[0], before[t] = s->u_before[t] = u[1];
  free[0] = s->u_free[0] = u[2], free[t] = s->u_free[t] = u[3];
  before[3 - t] = s->u_before[3 - t] = free[3 - t] = s->u_free[3 - t] = bias[1] = bias[2] = 0.0;
  bias[0] = 2.0 * rate * kn_max(c->gap, 0.0);
  put_group(s, c, a, b, c->gap + 0.5 * dt * kn_min(u[2], 0.0) <= s->settings.gtol);
  s->any_impact = s->impacting[0] = kn_contact_impacts(s, c, u[0], u[2], dt, rate);
  return true;
}

/* Last step's impulse along the normal and the tangent, as kn_warm_load has it. */
static void load(double* lambda, const kn_sim* s, uint64_t key, const double* frame, int t) {
  const kn_state_block* block = s->blocks.impulses;
  const kn_warm_entry* e = block->data;
  const double* tangent = frame + 3 * t;
  lambda[0] = lambda[t] = 0.0;
  for (const kn_warm_entry* end = e + block->used / sizeof *e; e < end; e++) {
    if (e->key != key) continue;
    lambda[0] = frame[0] * e->f[0] + frame[1] * e->f[1] + frame[2] * e->f[2];
    lambda[t] = tangent[0] * e->f[0] + tangent[1] * e->f[1] + tangent[2] * e->f[2];
    return;
  }
}

static void save(kn_sim* s, uint64_t key, const double* frame, int t) {
  kn_state_block* block = s->blocks.impulses;
  kn_warm_entry* e = block->data;
  const double *tangent = frame + 3 * t, n = s->lambda[0], f = s->lambda[t];
  e->key = key;
  for (int i = 0; i < 3; i++) e->f[i] = (0.0 + frame[i] * n) + tangent[i] * f;
  block->used = sizeof *e;
}

static void report(kn_sim* s, const kn_solve_info* info) {
  enum { LCP_SIZE = 6 }; /* four directions and two */
  kn_report* r = &s->report;
  r->solves++;
  r->iterations += info->iterations;
  r->residual = kn_max(r->residual, info->residual_scaled);
  if (r->lcp_size < LCP_SIZE) r->lcp_size = LCP_SIZE;
}

bool kn_lone_step(kn_sim* s) {
  const kn_contact* c = s->contact;
  int t = s->lone_tangent;
  double t0 = kn_stage_clock(s), *lambda = s->lambda;
  const double *W = s->work->W, *u = s->u_free;
  kn_solve_info info;
  if (!t || s->set.count != 1) return false;
  load(lambda, s, kn_warm_key(c), c->frame, t);
  if (!kn_lone_solve(lambda, s->v_plus, &info, s->work, &s->set, t, s->v_free, u, s->settings.tolerance))
    return false;
  s->reusable = true;
  s->u_plus[0] = (u[0] + lambda[0] * W[0]) + lambda[t] * W[t];
  s->u_plus[t] = (u[t] + lambda[0] * W[t]) + lambda[t] * W[4 * t];
  s->u_plus[3 - t] = 0.0;
  report(s, &info);
  save(s, kn_warm_key(c), c->frame, t);
  kn_stage_book(s, &s->report.time.solve, t0);
  return true;
}
