/* Loaded contacts travel.

   Between the midpoint q_m, where the rows of a step are taken, and its end the contact point wanders over both
   bodies, the normal turns and the bodies turn: J of the end is not J_m. A row that stays closed has

     0 = J(q⁺) v⁺ = J_m v⁺ + δ,    δ = dt/2 J̇ v + O(dt²)

   and with the demand J_m v⁺ = 0 the contact does work of first order, p·J_m (v + v⁺)/2 = p·δ: a coin that
   rolls on its rim loses its energy, a rattleback its spin. So loaded rows (hold.c) get δ as their bias, for the
   tangents the change of the slip as a vector:

     D = (J_m - J_m') v,    δ = ½ D + ¼ (D - D'),    ' of the step before

   Both products are at hand: J_m v before this solve, J_m' v after the last one, kept in the state. Whatever the
   shapes and joints, no curvature is asked for. An error of v is in both products, so that nothing of the landing
   rule's oscillation comes back (hold.c). The work of a row is p·(J_m v - δ)/2, of third order; where it would be
   positive, δ = J_m v is taken instead, and the row does none: contacts give no energy.

   What is left of the gap is of third order too: in every step it grows by dt g, and each time a position repair would
   take that back. As long as the contact slides or rolls smoothly, so is

     g = (gap before the repair - gap where the step began)/dt - (ε' + ε)/2,

   and the normal row is asked for J_m v⁺ = -δ + ε, ε = -(2g' - g''), g as the last two steps foresee it, which takes the
   drift away before it is there; half of its change within a step remains. Where that is nearly worth a repair, in jams
   mostly, ε is that of the end of the step, -(g' + 3/2 (g' - g'')), which leaves less and makes more of the gaps' rounding.
   The ε of both ends of a step are taken off what is measured, so that nothing is fed back. ε does the work of the repair
   that it replaces; there is one only where g is smooth, and small beside D.

   The products are those of the state's own v: where the caller changed q or v (kn_commit_weighed) there is no δ for one
   step. */
#include <math.h>

#include "base/error.h"
#include "step/sim.h"

size_t kn_travel_bytes(const kn_sim* s) { return (size_t)s->room.rows * sizeof(kn_travel_entry); }

kn_travel kn_travel_begin(const kn_sim* s, double dt) {
  kn_travel t = {0};
  const kn_state_block* b = s->blocks.travel;
  const kn_travel_entry* e = b->data;
  if (b->used == 0) return t;
  t.entry = e;
  t.count = (int)(b->used / sizeof *e);
  t.share = dt / (dt + e->dt);
  t.between = 0.5 * (dt + e->dt);
  return t;
}

static const double rounding = 1e-13; /* m/s */

/* Less than the rounding of the products it is the difference of is nothing. */
static double beyond_rounding(double difference, double a, double b) {
  return fabs(difference) > rounding + 1e-12 * (fabs(a) + fabs(b)) ? difference : 0.0;
}

/* Row k of a group: u = J_m v; what it was at the last midpoint, and by how much it had changed there. */
static double row_bias(double* by, const kn_travel* t, const kn_travel_entry* e, int k, const double* dir,
                       double u) {
  double before = k ? kn_dot3(dir, e->slip) : e->normal, last = k ? kn_dot3(dir, e->by_slip) : e->by_normal;
  *by = 2.0 * t->share * beyond_rounding(u - before, u, before);
  return e->known ? 0.75 * *by - 0.25 * last : 0.5 * *by;
}

/* ---- is the travel resolved? ----

   D has two parts. That of the mechanism, by which a point of a link that turns changes its velocity, is at most
   the product of angular velocities and speeds on the way to the root, times the time. That of the contact is
   ω × its way over the shapes (and as much by the normal's turning), and steps resolve it while the way is a small
   part of the shapes' size. Contacts that jump farther in a step, round the rim of a small foot that rocks say, do
   not travel: their D says nothing about the end of the step, and δ from it would give energy. Those ask for
   rest. */

/* Of the shapes' size, in one step: a quarter of a radian of a disk that rolls on its rim. */
static const double small_way = 0.25;

static double length3(const double* x) { return sqrt(kn_dot3(x, x)); }

/* The contact's part: ω and slip, times a small way over the smaller shape. m/s */
static double by_contact(const kn_sim* s, const kn_row_tag* tag, const kn_row_block* g, double slip) {
  const kn_contact* c = &s->touch.contact[tag->index];
  double centre[3], velocity[6], turn[3] = {0.0, 0.0, 0.0};
  double size = kn_min(kn_detector_extent(centre, s->detector, c->geom_a),
                       kn_detector_extent(centre, s->detector, c->geom_b));
  for (int side = 0; side < 2; side++) {
    int link = side ? g->link_b : g->link_a;
    if (link < 0) continue;
    kn_link_velocity(velocity, s->data, link);
    for (int i = 0; i < 3; i++) turn[i] += side ? -velocity[i] : velocity[i];
  }
  return small_way * (slip + size * length3(turn));
}

/* The mechanism's part: the largest angular velocity and speed on the way to the roots; a way that has shown more than
   `enough` is not followed to its end. m/s */
static double by_mechanism(const kn_sim* s, const kn_row_block* g, double time, double enough) {
  double turn2 = 0.0, speed2 = 0.0, velocity[6], enough2 = 1.001 * enough * enough / (4.0 * time * time);
  for (int side = 0; side < 2; side++)
    for (int link = side ? g->link_b : g->link_a; link >= 0; link = s->model->link[link].parent) {
      kn_link_velocity(velocity, s->data, link);
      turn2 = kn_max(turn2, kn_dot3(velocity, velocity));
      speed2 = kn_max(speed2, kn_dot3(velocity + 3, velocity + 3));
      if (turn2 * speed2 > enough2) return INFINITY;
    }
  return 2.0 * time * sqrt(turn2 * speed2);
}

/* way2: |D|². What costs little is looked at first: a D that a quarter of gravity makes in the time is harmless, since
   the load of a contact presses against all of it. */
static bool jumps(const kn_sim* s, const kn_row_tag* tag, const kn_row_block* g, const kn_travel* t,
                  const double* u, const double* v, double way2) {
  double slip2 = 0.0, harmless = 0.25 * s->facts.gravity * t->between;
  if (way2 <= harmless * harmless) return false;
  if (tag->kind == KN_ROW_LIMIT) /* of a ball joint: rad/s */
    for (int k = 0; k < g->ndof; k++) slip2 += v[g->dof[k]] * v[g->dof[k]];
  else
    for (int k = 0; k < tag->rows; k++) slip2 += u[k] * u[k];
  if (way2 <= small_way * small_way * slip2) return false;
  if (tag->kind == KN_ROW_LIMIT) return true;
  double over = sqrt(way2) - by_contact(s, tag, g, sqrt(slip2));
  return over > 0.0 && over > by_mechanism(s, g, t->between, over);
}

/* Does the gap drift smoothly, by little beside |D| and by more than a repair would leave for a hundred steps? way2: D². Steps of
   one length only. */
static bool drifts(const kn_travel_entry* e, const kn_travel* t, double way2) {
  static const double smooth = 0.5, small = 0.25, least = 1e-11; /* m: a tenth of what may stand */
  return e->measured == 3 && t->share == 0.5 && fabs(e->drift) * t->between > least &&
         fabs(e->drift - e->last) <= smooth * fabs(e->drift) && e->drift * e->drift <= small * small * way2;
}

/* -ε. Much of a change: what leaves half of what may stand. */
static double foreseen(const kn_travel_entry* e, const kn_travel* t) {
  static const double much = 1e-10; /* m */
  bool fast = fabs(e->drift - e->last) * t->between > much;
  return fast ? 2.5 * e->drift - 1.5 * e->last : 2.0 * e->drift - e->last;
}

/* Bias of the normal row of a contact: δ is there. */
static void normal_bias(kn_row_drift* d, double* bias, const kn_travel* t, const kn_travel_entry* e, double u,
                        double way2) {
  double delta = *bias;
  if (drifts(e, t, way2))
    *bias += foreseen(e, t);
  else if (u > delta + rounding)
    *bias = u;
  *d = (kn_row_drift){.push = delta - *bias, .last = e->drift, .known = e->measured > 0};
  d->lasted = e->measured > 1 && t->share == 0.5;
  d->due = e->gap + 0.5 * t->between * (e->push + d->push);
}

/* δ and D of a group's rows; |D|², and twice the work that they make of the force. A constant number of rows is unrolled. */
static inline __attribute__((always_inline)) double rows_bias(double* bias, double* by, double* work,
                                                              const kn_travel* t, const kn_travel_entry* e,
                                                              const kn_row_block* g, const double* u,
                                                              const double* force, const int rows) {
  double way = 0.0;
  *work = 0.0;
  for (int k = 0; k < rows; k++) {
    bias[k] = row_bias(&by[k], t, e, k, g->dir[k], u[k]);
    way += by[k] * by[k];
    if (k) *work += kn_dot3(g->dir[k], force) * (u[k] - bias[k]);
  }
  return way;
}

void kn_travel_bias(kn_sim* s, kn_constraints* set, int group, const kn_travel* t, int at, const double* u,
                    const double* force, const double* v) {
  kn_row_tag* tag = &set->tag[group];
  tag->held = at < t->count;
  if (!tag->held) return;
  double *bias = set->bias + tag->row, *by = set->travel + tag->row, work, way;
  const kn_row_block* g = &set->geometry[group];
  const kn_travel_entry* e = &t->entry[at];
  if (tag->rows == 3)
    way = rows_bias(bias, by, &work, t, e, g, u, force, 3);
  else
    way = rows_bias(bias, by, &work, t, e, g, u, force, tag->rows);
  if (jumps(s, tag, g, t, u, v, way)) {
    tag->held = false;
    for (int k = 0; k < tag->rows; k++) bias[k] = 0.0;
    return;
  }
  normal_bias(&set->drift[group], bias, t, e, u[0], way);
  for (int k = 1; k < tag->rows && work > 0.0; k++)
    if (fabs(u[k] - bias[k]) > rounding) bias[k] = u[k];
}

/* The gaps where the step ends but for the repair: how far they drifted. */
void kn_travel_drifted(kn_sim* s) {
  kn_travel_entry* list = s->blocks.travel->data;
  kn_lookup after = kn_lookup_in(s->sets.lookup, s->touch.after, sizeof *s->touch.after, s->touch.afters);
  for (int g = 0; g < s->sets.set.count && s->blocks.travel->used; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    const kn_row_drift* d = &s->sets.set.drift[g];
    if (!tag->held || !d->known || !(s->row.lambda[tag->row] > 0.0)) continue;
    int at = kn_lookup_find(&after, s->touch.contact[tag->index].key);
    if (at < 0) continue;
    list[g].push = d->push, list[g].last = d->last;
    list[g].drift = (s->touch.after[at].gap - d->due) / list[g].dt;
    list[g].measured = d->lasted ? 3 : 2;
  }
}

/* And where it ends, of those that travel. */
static void measure_gaps(kn_sim* s, kn_travel_entry* list, int count) {
  kn_lookup of = kn_lookup_in(s->sets.lookup, s->blocks.impulses->data, sizeof(kn_warm_entry), count);
  bool any = false;
  for (int i = 0; i < count; i++) any |= list[i].known;
  for (int k = 0; k < s->touch.afters && any; k++) {
    int i = kn_lookup_find(&of, kn_warm_key(&s->touch.after[k]));
    if (i < 0 || !list[i].known) continue;
    list[i].gap = s->touch.after[k].gap;
    if (!list[i].measured) list[i].measured = 1;
  }
}

/* After the solve: J_m v⁺ of the groups of s->sets.set, beside their impulses (kn_warm_save). */
void kn_travel_save(kn_sim* s, double dt) {
  kn_travel_entry* list = s->blocks.travel->data;
  for (int g = 0; g < s->sets.set.count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    const double *u = s->row.u_plus + tag->row, *by = s->sets.set.travel + tag->row;
    kn_travel_entry e = {.dt = dt, .normal = u[0], .known = tag->held};
    if (tag->held) e.by_normal = by[0];
    for (int k = 1; k < 3 && tag->rows == 3 && tag->kind == KN_ROW_CONTACT; k++) {
      const double* dir = s->sets.set.geometry[g].dir[k];
      double part = s->facts.rich ? 1.0 / kn_dot3(dir, dir) : 1.0; /* rows of two coefficients are scaled */
      double slip = part * u[k], change = tag->held ? part * by[k] : 0.0;
      for (int i = 0; i < 3; i++) e.slip[i] += slip * dir[i], e.by_slip[i] += change * dir[i];
    }
    list[g] = e;
  }
  s->blocks.travel->used = (size_t)s->sets.set.count * sizeof *list;
}

/* The factor by which all velocities were scaled after the solve (keep_energy.c); NAN: not one factor. */
static double scaled_by(const kn_sim* s) {
  const double *v = s->frame.v_plus, *solved = s->frame.v_solved;
  int most = 0, nv = s->model->nv;
  double largest = kn_fours_largest(solved, nv);
  if (largest == 0.0) return NAN;
  while (most < nv - 1 && fabs(solved[most]) < largest) most++;
  double factor = v[most] / solved[most], least = 1e-14 * largest; /* rounding of the products */
  kn_two_bits off = {0, 0};
  for (int i = 0; i < nv; i += 2) {
    kn_two x = *(const kn_two*)(v + i);
    off |= kn_two_size(x - factor * *(const kn_two*)(solved + i)) > least + 1e-14 * kn_two_size(x);
  }
  return off[0] | off[1] ? NAN : factor;
}

/* The products are of the state's own velocities: those that were scaled are scaled too. Where trees were scaled by
   factors of their own, the next step does without δ. */
void kn_travel_end(kn_sim* s) {
  kn_travel_entry* list = s->blocks.travel->data;
  measure_gaps(s, list, (int)(s->blocks.travel->used / sizeof *list));
  if (!s->blocks.travel->used || !s->frame.scaled) return;
  double factor = scaled_by(s);
  if (isnan(factor)) s->blocks.travel->used = 0;
  for (size_t i = 0; i < s->blocks.travel->used / sizeof *list; i++) {
    list[i].normal *= factor;
    list[i].by_normal *= factor * factor; /* D = dt J̇ v: J̇ is in proportion to v */
    for (int k = 0; k < 3; k++) list[i].slip[k] *= factor, list[i].by_slip[k] *= factor * factor;
  }
}

/* ---- the first step ----

   A state that a caller made has no step before it. Where it begins with closed contacts that neither open nor
   close, those are loaded from the first step on, and J v at q itself stands for the midpoint before. */

static const double closed = 1e-9; /* m and m/s: as a caller's own arithmetic leaves it */

static void first_entry(kn_sim* s, const kn_contact* c, int* count) {
  kn_row_block g;
  double u[3];
  kn_contact_rows(&g, s->model, c, 3);
  kn_rows_velocity_known(u, s->data, &g, 1);
  if (!(fabs(c->gap) <= closed && fabs(u[0]) <= closed) || *count >= s->room.rows) return;
  kn_travel_entry e = {.normal = u[0], .gap = c->gap, .measured = 1};
  kn_warm_entry w = {.key = kn_warm_key(c)};
  for (int i = 0; i < 3; i++) {
    e.slip[i] = u[1] * c->frame[3 + i] + u[2] * c->frame[6 + i];
    w.f[i] = 1e-100 * c->frame[i]; /* loaded; how much is not known */
  }
  ((kn_travel_entry*)s->blocks.travel->data)[*count] = e;
  ((kn_warm_entry*)s->blocks.impulses->data)[(*count)++] = w;
}

kn_status kn_travel_first(kn_sim* s, kn_state* x) {
  kn_state_block *travel = s->blocks.travel, *impulses = s->blocks.impulses;
  int count = 0;
  if (x->step != 0 || impulses->used || travel->used || s->stepper == &kn_stepper_event) return KN_OK;
  kn_dyn_position(s->data, s->model, x->q);
  kn_dyn_velocity(s->data, s->model, x->v);
  kn_data_fill(s->data);
  KN_TRY(kn_detect(s->touch.after, &s->touch.afters, s->detector, s->data, closed, 0.0, NULL));
  for (int i = 0; i < s->touch.afters; i++) first_entry(s, &s->touch.after[i], &count);
  travel->used =
      (size_t)count * sizeof(kn_travel_entry); /* their dt is 0: the way from q to q_m is all of it */
  impulses->used = (size_t)count * sizeof(kn_warm_entry);
  return KN_OK;
}
