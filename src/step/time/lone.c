/* Steps in which one contact is near and there are no other rows, on a chain in a plane, in the
   operational-space formulation: two rows (the normal n and the tangent t in the plane) take part,

     u = Λ λ + J v_free + bias,   v⁺ = v_free + M⁻¹Jᵀ λ,

   in closed form by the mode (comp/cone/single.h). The general way (gather.c, warm_start.c, contact/formulation/solve.c,
   comp/cone/flat.c) does the same after it has made lists of groups, blocks, islands and pairs of rows. What is
   left for the rest of the step is the same, bit for bit (test/step/lone.c); only the contact's geometry is
   not written down. The problem that the judge sees is the whole one, with the row out of the plane. */
#include <math.h>
#include <string.h>

#include "comp/cone/single.h"
#include "comp/problem/problem.h"
#include "dynamics/tree/data.h"
#include "step/sim.h"

extern const kn_formulation kn_formulation_os;

bool kn_lone_possible(const kn_sim* s) {
  const kn_sim_settings* p = &s->settings;
  bool usual = !p->friction && p->bias_iterations <= 1 && (!p->solver || strcmp(p->solver, "auto") == 0);
  return usual && s->stepper == &kn_stepper_time && s->work->formulation == &kn_formulation_os &&
         s->data->layout->chain && s->bare && !s->modes && !s->soft && s->max_contacts > 0;
}

/* The group of the contact, as kn_constraint_add_contact and kn_row_islands leave it. */
static void put_group(kn_sim* s, const kn_contact* c, int link_a, int link_b, bool keep) {
  kn_constraints* f = &s->found;
  *f->tag = (kn_row_tag){
      .kind = KN_ROW_CONTACT, .rows = 3, .blocks = 1, .tree = {link_a < 0 ? -1 : 0, link_b < 0 ? -1 : 0}};
  *f->block = (kn_block){.set = KN_SET_CONE3, .mu = c->mu, .hi = INFINITY};
  f->count = f->blocks = 1, f->rows = 3;
  if (s->set.tag != f->tag) s->set = *f;
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
  int t = s->lone_tangent = kn_rows_few_aim(u, s->data, 0, a, b, c->point, c->frame, dt);
  if (!t) return false;
  double *before = s->found.u_before, *free = s->found.u_free, *bias = s->found.bias, rate = 1.0 / dt,
         gap = c->gap, depth = 0.5 * dt * kn_min(u[2], 0.0);
  before[0] = s->u_before[0] = u[0], before[t] = s->u_before[t] = u[1];
  free[0] = s->u_free[0] = u[2], free[t] = s->u_free[t] = u[3];
  before[3 - t] = s->u_before[3 - t] = free[3 - t] = s->u_free[3 - t] = bias[1] = bias[2] = 0.0;
  bias[0] = 2.0 * rate * kn_max(0.0, gap);
  put_group(s, c, a, b, gap + depth <= s->settings.gtol);
  s->any_impact = s->impacting[0] = kn_contact_impacts(s, c, u[0], u[2], dt, rate);
  return true;
}

/* ---- stages 6 and 7 ---- */

/* Last step's impulse along the normal and the tangent, as kn_warm_load has it. */
static void load(double guess[2], const kn_sim* s, const kn_contact* c, int t) {
  const kn_state_block* block = s->blocks.impulses;
  const kn_warm_entry *e = block->data, *end = e + block->used / sizeof *e;
  const double *n = c->frame, *f = c->frame + 3 * t;
  guess[0] = guess[1] = 0.0;
  while (e < end && e->key != kn_warm_key(c)) e++;
  if (e == end) return;
  guess[0] = n[0] * e->f[0] + n[1] * e->f[1] + n[2] * e->f[2];
  guess[1] = f[0] * e->f[0] + f[1] * e->f[1] + f[2] * e->f[2];
}

/* As kn_warm_save. */
static void save(kn_sim* s, const kn_contact* c, int t) {
  kn_state_block* block = s->blocks.impulses;
  kn_warm_entry* e = block->data;
  const double *n = c->frame, *f = c->frame + 3 * t, rn = s->lambda[0], rt = s->lambda[t];
  double x = (0.0 + n[0] * rn) + f[0] * rt, y = (0.0 + n[1] * rn) + f[1] * rt,
         z = (0.0 + n[2] * rn) + f[2] * rt;
  e->key = kn_warm_key(c), e->f[0] = x, e->f[1] = y, e->f[2] = z;
  block->used = sizeof *e;
}

/* r of the contact; how many modes were tried, -1: this is not for the closed form. As single_answer of
   flat.c, and zero where the contact opens by itself. */
static inline int modes_tried(kn_single* p, const double guess[2]) {
  double most = kn_max(p->a, p->c);
  if (!(p->a > 1e-8 * most) || !(p->c > 1e-22 * most)) return -1;
  if (p->qn < 0.0) {
    int tried = kn_single_solve(p, kn_single_former(guess[0], guess[1], p->mu));
    return tried ? tried : -1;
  }
  p->rn = p->rt = 0.0;
  return 0;
}

/* Impulses so large that the general way would try to tame them (tame.c); at 0.99 of where it does. */
static inline bool excessive(const kn_single* p) {
  double response = kn_max(fabs(p->rn) * p->a, fabs(p->rt) * p->c);
  return response > 99.0 * kn_max(fabs(p->qn), fabs(p->qt));
}

/* As kn_report_solution. */
static void report(kn_report* r, int tried, double residual) {
  enum { LCP_SIZE = 6 }; /* four directions and two */
  r->solves++;
  r->iterations += tried;
  r->residual = kn_max(r->residual, residual);
  if (r->lcp_size < LCP_SIZE) r->lcp_size = LCP_SIZE;
}

/* s->lambda, v_plus, u_plus, and Λ and the factored rows for the repair. */
static bool solve(kn_sim* s) {
  kn_contact_work* w = s->work;
  const kn_contact* c = s->contact;
  double guess[2], *W = w->W, *q = w->q, *lambda = s->lambda, *u = s->u_plus;
  const double *u_free = s->u_free, tolerance = s->settings.tolerance;
  int t = s->lone_tangent;
  load(guess, s, c, t);
  kn_rows_few_push(W, &w->factored, s->data, 1);
  w->is_sparse = false;
  q[0] = u_free[0] + s->set.bias[0], q[t] = u_free[t] + s->set.bias[t], q[3 - t] = 0.0;
  kn_single p = {.a = W[0], .b = W[t], .c = W[4 * t], .qn = q[0], .qt = q[t], .mu = c->mu};
  int tried = modes_tried(&p, guess);
  if (tried < 0 || excessive(&p)) return false;
  lambda[0] = p.rn, lambda[t] = p.rt, lambda[3 - t] = 0.0;
  u[0] = (u_free[0] + p.rn * p.a) + p.rt * p.b, u[t] = (u_free[t] + p.rn * p.b) + p.rt * p.c, u[3 - t] = 0.0;
  kn_judgement j = kn_contact_judge(W, q, lambda, p.mu);
  if (!(j.error <= tolerance && j.scaled <= tolerance)) return false;
  report(&s->report, tried, j.scaled);
  save(s, c, t);
  kn_rows_few_move(s->v_plus, &w->factored, s->data, s->v_free, lambda, w->vector);
  return true;
}

bool kn_lone_step(kn_sim* s) {
  double t0 = kn_stage_clock(s);
  if (!s->lone_tangent || s->set.count != 1) return false;
  s->reusable = !s->work->watch && solve(s);
  if (!s->reusable) {
    s->lone_tangent = 0;
    kn_contact_rows(s->found.geometry, s->model, s->contact, 3); /* for whoever goes on in the general way */
  }
  kn_stage_book(s, &s->report.time.solve, t0);
  return s->reusable;
}
