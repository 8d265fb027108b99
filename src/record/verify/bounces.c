/* Restitution. A contact whose pair has e > 0 and that closes faster than what comes to rest must collide:

     closes in the step   gap_m + dt/2 J_n v_free < 0,  speed at touch w² = u² − 2 a_n gap,  w > v_rest

   and what collides must return e. With b the speed at which the free motion arrives, slowed by the landing
   to somewhere between w = sqrt(b² − 2 |a_n| depth) and b (src/step/time/landing.c),
     every law, alone and central (W_nt = 0, or no friction):   e w <= u⁺ <= e b
     newton, any contact that was pushed:                       the same
     alone, through the centres of free bodies that only gravity pulls: the landing costs what it raised, ΔV, and
       u⁺ <= e sqrt(b² - 2 W_nn ΔV)
     poisson:   p_d <= e p_c where the surfaces part, and Σ p_d >= Σ e p_c over what collides,
   p_c less by the landing's own share. A guard event may lower e; then u⁺ <= e b remains.
   Called by verify.c. */
#include <string.h>

#include "record/verify/verify.h"

static double gravity(const kn_verifier* v) { return kn_plain_length(v->model->gravity); }

static double rest_speed(const kn_verifier* v, const kn_recorded* s, double a_n) {
  return v->asked.v_rest >= 0.0 ? v->asked.v_rest : 2.0 * fmax(gravity(v), fabs(a_n)) * s->dt;
}

static bool has_event(const kn_recorded* s, kn_event_kind kind) {
  for (int i = 0; i < s->events; i++)
    if (s->event[i].kind == kind) return true;
  return false;
}

/* A step without impacts: should this contact have collided? */
static void check_missed(kn_verifier* v, const kn_recorded* s, const kn_contact* c, double e) {
  double before[3], free[3];
  if (!(e > 0.0)) return;
  kn_contact_relative(before, &v->mid, c, s->v_before);
  kn_contact_relative(free, &v->mid, c, s->v_free);
  double a_n = (free[0] - before[0]) / s->dt, gap = fmax(0.0, c->gap - 0.5 * s->dt * before[0]);
  double w = sqrt(fmax(0.0, before[0] * before[0] - 2.0 * a_n * gap)), rest = rest_speed(v, s, a_n);
  bool closes = c->gap + 0.5 * s->dt * free[0] < -1e-9 && (before[0] < -1e-9 || gap > 1e-9);
  if (closes) kn_verifier_report(v, s->step, KN_CHECK_RESTITUTION, w, 1.01 * rest);
}

/* The only contact that pushes any of the bodies it joins, and no limit or loop does. */
bool kn_verify_alone(const kn_verifier* v, const kn_recorded* s, const kn_contact* c) {
  const kn_model* m = v->model;
  int tree[2] = {kn_plain_tree(&v->plan, c->body_a), kn_plain_tree(&v->plan, c->body_b)};
  if (m->nloop) return false;
  for (int i = 0; i < s->contacts; i++) {
    const kn_contact* o = &s->contact[i];
    if (o == c) continue;
    for (int side = 0; side < 2; side++) {
      int t = kn_plain_tree(&v->plan, side ? o->body_b : o->body_a);
      if (t >= 0 && (t == tree[0] || t == tree[1])) return false;
    }
  }
  for (int i = 0; i < m->nlimit; i++) {
    int t = v->plan.tree[m->limit[i].v];
    if (s->limit_impulse[i] != 0.0 && (t == tree[0] || t == tree[1])) return false;
  }
  for (int i = 0; i < m->nv; i++)
    if (m->friction[i] > 0.0) return false;
  return true;
}

typedef struct arrival {
  double fast, slow; /* bounds of the speed at touch, m/s */
  double after;      /* of parting */
  double rest;
} arrival;

static arrival arrive(const kn_verifier* v, const kn_recorded* s, const kn_contact* c) {
  double before[3], free[3], after[3];
  kn_plain_gap g;
  kn_contact_relative(before, &v->after, c, s->v_before);
  kn_contact_relative(free, &v->after, c, s->v_free);
  kn_contact_relative(after, &v->after, c, s->v);
  double a_n = fabs(free[0] - before[0]) / s->dt;
  double depth = kn_plain_gap_of(&g, &v->flight, c->geom_a, c->geom_b) ? fmax(0.0, -g.gap) : 0.0;
  arrival x = {.fast = -free[0], .after = after[0], .rest = rest_speed(v, s, a_n)};
  double pull = fmax(a_n, gravity(v));
  /* the repair may be longer than this contact's depth where the surfaces turn: twice */
  x.slow = sqrt(fmax(0.0, x.fast * x.fast - 4.0 * pull * depth));
  return x;
}

/* The contact moves free bodies without turning them, and gravity alone works on them: then the raise is that of the
   landing, of first order and no more. */
static bool plain_landing(const kn_verifier* v, const kn_recorded* s, const kn_contact* c, double W_nn) {
  const kn_model* m = v->model;
  double mobility = 0.0;
  if (s->contacts != 1 || m->nu || v->after.spring != 0.0) return false;
  for (int i = 0; i < m->njoint; i++)
    if (m->joint[i].type != KN_JOINT_FREE) return false;
  for (int i = 0; i < m->nv; i++)
    if (v->force.input[i] != 0.0) return false;
  for (int side = 0; side < 2; side++) {
    kn_body b = side ? c->body_b : c->body_a;
    if (kn_plain_tree(&v->plan, b) >= 0) mobility += 1.0 / m->body[b].mass;
  }
  return fabs(W_nn - mobility) <= 1e-9 * W_nn;
}

/* Whoever takes what a landing raised from the velocities later has not landed as it should. */
static void check_landing(kn_verifier* v, const kn_recorded* s, const kn_contact* c, double e, double W_nn) {
  arrival x = arrive(v, s, c);
  double raised = v->after.potential - v->flight.potential, left = x.fast * x.fast - 2.0 * W_nn * raised;
  if (!(raised > 0.0) || !(left > 0.0) || !plain_landing(v, s, c, W_nn)) return;
  kn_verifier_report(v, s->step, KN_CHECK_RESTITUTION, x.after - e * sqrt(left), 1e-6 * kn_speed_scale(v, s));
}

/* Contacts that collide together are one problem: an impulse is known to the last digits of the largest one (1e-13),
   not of its own. One that should be zero may be 1e-20 of all that came of decompression. */
static double rounding_of_impulses(const kn_recorded* s) {
  double most = 0.0;
  for (int i = 0; i < s->contacts; i++) most = fmax(most, fabs(s->contact[i].impulse[0]));
  return 1e-13 * most;
}

/* Does a push along the normal turn what torsion or rolling act on? It does not if it goes through the centres of mass. */
static bool normal_turns(kn_verifier* v, const kn_contact* c, double W_nn) {
  kn_surface k = kn_surface_of(v->sweep, c->geom_a, c->geom_b);
  double *x = v->spare, w[3], most = fmax(k.torsion, k.roll);
  if (!(most > 0.0)) return false;
  memset(x, 0, (size_t)v->model->nv * sizeof *x);
  kn_plain_push(x, &v->after, c, c->frame);
  kn_plain_solve(x, &v->after, NULL);
  kn_contact_spin(w, &v->after, c, x);
  return most / k.mu * hypot(hypot(w[0], w[1]), w[2]) > 1e-9 * W_nn;
}

static void check_bounce(kn_verifier* v, const kn_recorded* s, const kn_contact* c, double e, bool lowered) {
  arrival x = arrive(v, s, c);
  bool poisson = strcmp(v->asked.law, "poisson") == 0, newton = strcmp(v->asked.law, "newton") == 0;
  if (!c->impact) { /* too slow, or it lost its e */
    bool must = e > 0.0 && c->impulse[0] > 0.0 && kn_verify_alone(v, s, c) && !lowered;
    if (must) kn_verifier_report(v, s->step, KN_CHECK_RESTITUTION, x.slow, 1.01 * x.rest);
    return;
  }
  if (!lowered) kn_verifier_report(v, s->step, KN_CHECK_RESTITUTION, fabs(c->e_used - e), 1e-9);
  double most = lowered ? fmax(c->e_used, e) : e, u = kn_speed_scale(v, s);
  if (poisson && !lowered && !v->asked.sequential && x.after > 1e-6 * u)
    kn_verifier_report(v, s->step, KN_CHECK_RESTITUTION,
                       c->impulse_decompression - e * c->impulse_compression,
                       1e-6 * c->impulse[0] + rounding_of_impulses(s));
  double W[9];
  kn_contact_compliance(W, v, s, &v->after, c);
  double mu = kn_surface_of(v->sweep, c->geom_a, c->geom_b).mu;
  bool central = mu == 0.0 || (hypot(W[1], W[2]) <= 1e-9 * W[0] && !normal_turns(v, c, W[0]));
  if (!(kn_verify_alone(v, s, c) && (central || newton)) || v->asked.sequential) return;
  kn_verifier_report(v, s->step, KN_CHECK_RESTITUTION, x.after - most * x.fast, 1e-6 * u);
  if (!lowered) kn_verifier_report(v, s->step, KN_CHECK_RESTITUTION, e * x.slow - x.after, 1e-6 * u);
  if (!lowered) check_landing(v, s, c, e, W[0]);
}

/* Poisson: all that collided together return e of their compression, less what the landing took of it, which it takes
   from the contacts of an island together: no single one tells. Its impulses p did the work R that lifted the bodies, at speeds
   between those of arrival and zero: Σ p <= 2 R / (the slowest arrival), whatever else the island lies on. */
static void check_poisson(kn_verifier* v, const kn_recorded* s) {
  double compression = 0.0, returned = 0.0, slack = 1e-6, slowest = INFINITY, e_most = 0.0;
  for (int i = 0; i < s->contacts; i++) {
    const kn_contact* c = &s->contact[i];
    if (!c->impact) continue;
    arrival x = arrive(v, s, c);
    double e = kn_surface_of(v->sweep, c->geom_a, c->geom_b).e;
    compression += e * c->impulse_compression;
    returned += c->impulse_decompression;
    if (c->impulse_compression > 0.0) slowest = fmin(slowest, x.fast), e_most = fmax(e_most, e);
    if (x.fast > 0.0) slack = fmax(slack, 2.0 * (1.0 - x.slow / x.fast));
  }
  double raised = v->after.potential + v->after.spring - v->flight.potential - v->flight.spring;
  double taken = slowest > 0.0 && isfinite(slowest) ? e_most * 2.0 * fmax(raised, 0.0) / slowest : 0.0;
  kn_verifier_report(v, s->step, KN_CHECK_RESTITUTION,
                     fmin(compression * (1.0 - fmin(slack, 1.0)), compression - taken) - returned,
                     1e-6 * fmax(compression, 1e-12));
}

bool kn_verify_lowered(const kn_recorded* s) {
  return has_event(s, KN_EVENT_GUARD) || has_event(s, KN_EVENT_REPAIR) || has_event(s, KN_EVENT_HANDED) ||
         has_event(s, KN_EVENT_TROUBLE);
}

void kn_verify_bounces(kn_verifier* v, const kn_recorded* s) {
  bool lowered = kn_verify_lowered(s);
  if (v->asked.any_e || *v->asked.stepper == 'c')
    return; /* e is a function of the caller, or of the compliant law */
  if (s->impact && !lowered && !v->asked.sequential && strcmp(v->asked.law, "poisson") == 0)
    check_poisson(v, s);
  for (int i = 0; i < s->contacts; i++) {
    const kn_contact* c = &s->contact[i];
    double e = kn_surface_of(v->sweep, c->geom_a, c->geom_b).e;
    if (c->compliant) continue;
    if (s->impact)
      check_bounce(v, s, c, e, lowered);
    else
      check_missed(v, s, c, e);
  }
}
