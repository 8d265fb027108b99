/* Steps of `event`, whose inside is not recorded: impacts, changes of mode and sub-steps at instants of their own. What must hold between
   the two ends of such a step, whatever happens within it:

     momentum     M(q_m)(v⁺ − v) = dt (τ − c) + Jᵀp, up to the change of each of these terms from one end to the other; and exactly
                  m Δv = dt m g + Σ p of every body that is free (momentum.c)
     position     q⁺ = q ⊕ dt v̄, v̄ between v and v⁺ and what the free acceleration adds
     contacts     p in the cone as the normal turned; who pushed was closed; who is closed does not approach; friction against slip
                  that keeps its direction, and with all it has
     energy       no more than was put in
   Steps left to `time` (event `handed`, or a trouble of `event`) are checked by that scheme's equations instead. Called by verify.c. */
#include <string.h>

#include "record/verify/verify.h"

bool kn_verify_handed(const kn_recorded* s) {
  for (int i = 0; i < s->events; i++) {
    const kn_event* e = &s->event[i];
    if (e->kind == KN_EVENT_HANDED && e->value >= 3.0) return true;
    if (e->kind == KN_EVENT_TROUBLE && e->trouble >= KN_TROUBLE_EVENT_LIMIT &&
        e->trouble <= KN_TROUBLE_EVENT_OVERLAP)
      return true;
  }
  return false;
}

typedef struct touch {        /* a contact seen from both ends */
  double before[3], after[3]; /* velocities in its frame */
  double gap[2];              /* of its pair at the ends, m */
  double turn;                /* rad: of the normal, by the shapes at the ends */
  double way;                 /* m: how far the surfaces may have moved in the step */
} touch;

static touch touch_of(const kn_verifier* v, const kn_recorded* s, const kn_contact* c) {
  touch t = {.gap = {c->gap, c->gap}};
  const kn_plain* at[2] = {&v->before, &v->after};
  kn_contact_relative(t.before, &v->before, c, s->v_before);
  kn_contact_relative(t.after, &v->after, c, s->v);
  for (int k = 0; k < 2; k++) {
    kn_plain_gap g;
    if (!kn_plain_gap_of(&g, at[k], c->geom_a, c->geom_b)) continue;
    t.gap[k] = g.gap;
    double across[3] = {g.normal[1] * c->frame[2] - g.normal[2] * c->frame[1],
                        g.normal[2] * c->frame[0] - g.normal[0] * c->frame[2],
                        g.normal[0] * c->frame[1] - g.normal[1] * c->frame[0]};
    t.turn = fmax(t.turn, kn_plain_length(across));
  }
  double speed = fmax(kn_plain_length(t.before), kn_plain_length(t.after));
  t.way = 2.0 * s->dt * (speed + s->dt * kn_plain_length(v->model->gravity)) +
          1e-9; /* twice: impacts in between; what is closed */
  return t;
}

static void check_slip(kn_verifier* v, const kn_recorded* s, const kn_contact* c, const touch* t, double mu,
                       double p_scale, double u_scale) {
  const double *a = t->before + 1, *b = t->after + 1, *p = c->impulse + 1;
  double slow = fmin(hypot(a[0], a[1]), hypot(b[0], b[1])), p_t = hypot(p[0], p[1]);
  /* steady: the same way at both ends to a tenth, and far faster than friction changes it in a step */
  bool steady =
      slow > 1e-3 * u_scale && a[0] * b[0] + a[1] * b[1] > 0.995 * hypot(a[0], a[1]) * hypot(b[0], b[1]);
  if (!steady || c->impact || t->turn > 1e-3) return;
  kn_verifier_report(v, s->step, KN_CHECK_SLIP, (p[0] * b[0] + p[1] * b[1]) / (hypot(b[0], b[1]) * p_scale),
                     1e-6);
  /* held all along: closed at both ends */
  if (fmax(t->gap[0], t->gap[1]) < 1e-8 && isfinite(mu))
    kn_verifier_report(v, s->step, KN_CHECK_SLIP, (mu * c->impulse[0] * 0.99 - p_t) / p_scale, 1e-6);
}

static void check_contact(kn_verifier* v, const kn_recorded* s, const kn_contact* c, double p_scale,
                          double u_scale) {
  double mu = kn_surface_of(v->sweep, c->geom_a, c->geom_b).mu, p = c->impulse[0],
         p_t = hypot(c->impulse[1], c->impulse[2]);
  touch t = touch_of(v, s, c);
  double turned = 2.0 * t.turn * (1.0 + fmin(mu, 10.0)) * hypot(p, p_t) / p_scale;
  kn_verifier_report(v, s->step, KN_CHECK_PULL, -p / p_scale, 1e-7 + turned);
  if (isfinite(mu))
    kn_verifier_report(v, s->step, KN_CHECK_CONE, (p_t - mu * fmax(p, 0.0)) / p_scale, 1e-7 + turned);
  if (p > 1e-9 * p_scale)
    kn_verifier_report(v, s->step, KN_CHECK_COMPLEMENTARITY, fmin(t.gap[0], t.gap[1]), t.way);
  /* it is there at the end: its geometry is that of the end. One that parted may have the gap of another point of its pair */
  bool here = fabs(t.gap[1] - c->gap) <= 1e-6 + v->asked.gtol && !(c->mode == KN_MODE_OPEN && p > 0.0);
  /* held to the end and closed (KN_EVENT_CLOSED); one that did not push may be about to collide */
  if (here && c->gap <= 1e-9 && !c->impact && c->mode != KN_MODE_OPEN && p > 1e-9 * p_scale)
    kn_verifier_report(v, s->step, KN_CHECK_APPROACH, -t.after[0] / u_scale, 1e-6);
  check_slip(v, s, c, &t, mu, p_scale, u_scale);
  kn_verifier_report(v, s->step, KN_CHECK_POINT,
                     fmin(kn_off_surface(&v->after, c), kn_off_surface(&v->before, c)), here ? 1e-6 : t.way);
  double e = kn_surface_of(v->sweep, c->geom_a, c->geom_b).e;
  if (!c->impact || v->asked.any_e) return;
  kn_verifier_report(v, s->step, KN_CHECK_RESTITUTION, c->e_used, e + 1e-9);
  if (strcmp(v->asked.law, "poisson") != 0) return;
  double returned = c->impulse_decompression - e * c->impulse_compression;
  kn_verifier_report(v, s->step, KN_CHECK_RESTITUTION, returned, 1e-6 * p_scale);
  /* one that parts has not come to rest in between, whose force would count as compression */
  bool parts = t.gap[1] > 1e-8 && t.after[0] > 0.0 && kn_verify_alone(v, s, c) && !kn_verify_lowered(s);
  if (parts) kn_verifier_report(v, s->step, KN_CHECK_RESTITUTION, -returned, 1e-6 * p_scale);
}

static void check_limit(kn_verifier* v, const kn_recorded* s, int i, double p_scale, double u_scale) {
  const kn_limit* l = &v->model->limit[i];
  double axis[3], p = s->limit_impulse[i], gap[2];
  gap[0] = kn_plain_limit(axis, v->model, i, s->q_before);
  gap[1] = kn_plain_limit(axis, v->model, i, s->q);
  double u[2] = {kn_plain_limit_rate(l, axis, s->v_before), kn_plain_limit_rate(l, axis, s->v)};
  kn_verifier_report(v, s->step, KN_CHECK_PULL, -p / p_scale, 1e-6);
  double way = 2.0 * s->dt * fmax(fabs(u[0]), fabs(u[1])) + 1e-3 * s->dt * u_scale + 1e-9;
  if (p > 1e-9 * p_scale) kn_verifier_report(v, s->step, KN_CHECK_COMPLEMENTARITY, fmin(gap[0], gap[1]), way);
  if (gap[1] <= 1e-9 && !v->model->nloop)
    kn_verifier_report(v, s->step, KN_CHECK_APPROACH, -u[1] / u_scale, 1e-6);
}

/* Does anything push the dof's tree that acts at instants of its own? */
static void mark_pushed(double* pushed, const kn_verifier* v, const kn_recorded* s) {
  const kn_model* m = v->model;
  const int* tree = v->plan.tree;
  for (int i = 0; i < m->nv; i++) pushed[i] = m->nloop || m->friction[i] > 0.0;
  for (int k = 0; k < 2 * s->contacts; k++) {
    int t = kn_plain_tree(&v->plan, k % 2 ? s->contact[k / 2].body_b : s->contact[k / 2].body_a);
    for (int i = 0; i < m->nv; i++)
      if (tree[i] == t) pushed[i] = 1.0;
  }
  for (int k = 0; k < m->nlimit; k++)
    for (int i = 0; i < m->nv && s->limit_impulse[k] != 0.0; i++)
      if (tree[i] == tree[m->limit[k].v]) pushed[i] = 1.0;
}

/* q⁺ − q ⊕ dt (v + v⁺)/2: of a smooth motion the trapezoid's error, dt³ ȧ/12 (taken three times); where something pushed, v̄ is between v and v⁺
   but for what else acts; impacts turn round what the forces between them had made of the velocity. */
static void check_position(kn_verifier* v, const kn_recorded* s) {
  const kn_model* m = v->model;
  int n = m->nv, impacts = 0;
  double *mean = v->scratch, *q = v->scratch + n, size = 1.0, least = INFINITY, fast = kn_speed_scale(v, s),
         *first = v->ends, *last = first + n, *way = last + n, *pushed = way + n;
  mark_pushed(pushed, v, s);
  for (int i = 0; i < s->events; i++)
    impacts += s->event[i].kind == KN_EVENT_IMPACT || s->event[i].kind == KN_EVENT_LIMIT;
  kn_plain_solve(first, &v->before, NULL),
      kn_plain_solve(last, &v->after, NULL); /* dt times the accelerations */
  for (int i = 0; i < n; i++) {
    double jump =
        0.0; /* of any dof of its kind in the tree: a push along one may come and go within the step */
    for (int k = 0; k < n; k++)
      if (v->plan.tree[k] == v->plan.tree[i] && v->mid.dof[k].linear == v->mid.dof[i].linear)
        jump = fmax(jump, fabs(s->v[k] - s->v_before[k]));
    double rough = 0.5 * jump + fmax(fabs(first[i]), fabs(last[i]));
    mean[i] = 0.5 * (s->v[i] + s->v_before[i]);
    way[i] = s->dt * (pushed[i] > 0.0 ? rough + (m->nloop && impacts > 1 ? 2.0 * fast : 0.0)
                                      : 0.25 * fabs(first[i] - last[i]));
    least = fmin(least, kn_plain_inertia(&v->mid, i));
  }
  if (impacts > 0) kn_verify_pushes(way, v, s, NULL, true);
  kn_plain_advance(q, m, s->q_before, mean, s->dt);
  for (int i = 0; i < m->nq; i++) size = fmax(size, fabs(s->q[i]));
  double allowed =
      1e-9 * size + 10.0 * s->correction / sqrt(fmax(least, 1e-300)); /* the integrator's tolerance */
  kn_verifier_report(v, s->step, KN_CHECK_POSITION, kn_verify_off(m, q, s->q, way),
                     allowed + (m->nloop ? 1e-5 : 0.0));
}

void kn_verify_ends(kn_verifier* v, const kn_recorded* s, const double* mid) {
  int n = v->model->nv;
  double p = 1e-12, u = kn_speed_scale(v, s);
  for (int i = 0; i < s->contacts; i++) p = fmax(p, fabs(s->contact[i].impulse[0]));
  double held = p;
  for (int i = 0; i < v->model->nlimit; i++) held = fmax(held, fabs(s->limit_impulse[i]));
  kn_verify_momentum_ends(v, s, mid);
  check_position(v, s);
  for (int i = 0; i < s->contacts; i++) check_contact(v, s, &s->contact[i], p, u);
  for (int i = 0; i < v->model->nlimit; i++) check_limit(v, s, i, held, u);
  kn_verify_gaps_end(v, s);
  for (int i = 0; i < n; i++) v->force.drive_d[i] = v->force.drive_k[i] = 0.0; /* nothing is implicit */
  kn_verify_rise(v, s);
}
