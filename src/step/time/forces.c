/* Smooth forces of a step, and how stiff ones enter.

   Springs (joint stiffness K, actuator -bias[1]) and dampers (damping D, actuator -bias[2]) are taken at the
   implicit midpoint: with v̄ = v + dv/2 and q̄ = q_m + dt/4 dv the forces -D v̄ and -K (q̄ - q_0) give

     (M + dt/2 D + dt²/4 K) dv = dt f(q_m, v),

   stable for any stiffness, and energy-neutral for linear springs. A saturated actuator has no implicit part.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "dynamics/tree/data.h"
#include "dynamics/tree/dynamics.h"
#include "step/time/motion.h"

/* Any actuator but a motor of one coordinate. */
static __attribute__((noinline)) void actuate_other(kn_sim* s, int a, const double* q, const double* v,
                                                    double ctrl) {
  const kn_model* m = s->model;
  const kn_actuator_place* t = &m->transmission[a];
  bool inside;
  double f = kn_dyn_actuator(&inside, m, a, q, v, ctrl);
  for (int k = 0; k < t->count; k++) s->force.tau_act[t->v[k]] += t->gear[k] * f;
  if (!t->count) kn_site_transmit(s->force.tau_act, m, a, q, NULL, f);
  if (!inside || t->count != 1) return;
  const kn_motor* motor = &s->data->layout->motor[a];
  if (m->link[m->dof_link[t->v[0]]].type == KN_LINK_BALL) s->force.implicit_k[t->v[0]] += motor->stiffness;
  s->force.implicit_d[t->v[0]] += motor->damping;
}

static void actuate_one(kn_sim* s, int a, const double* q, const double* v, const double* ctrl) {
  const kn_motor* c = &s->data->layout->motor[a];
  int j = c->v;
  if (c->q < 0) {
    actuate_other(s, a, q, v, ctrl[a]);
    return;
  }
  double length = 0.0 + c->gear * q[c->q],
         rate = 0.0 + c->gear * v[j]; /* 0: as kn_dyn_actuator has it, -0 is 0 */
  double f = c->gain * kn_clamp(ctrl[a], c->ctrl[0], c->ctrl[1]) + c->bias[0] + c->bias[1] * length +
             c->bias[2] * rate;
  bool inside = f > c->force[0] && f < c->force[1];
  s->force.tau_act[j] += c->gear * kn_clamp(f, c->force[0], c->force[1]);
  s->force.implicit_k[j] += inside ? c->stiffness : 0.0;
  s->force.implicit_d[j] += inside ? c->damping : 0.0;
}

/* In their order, four at a time where they are alike. */
static void actuate(kn_sim* s, const double* q, const double* v, const double* ctrl) {
  for (int a = 0; a < s->model->nu;) {
    a = kn_motion_drive(s, q, v, ctrl, a);
    for (int end = a + 4 < s->model->nu ? a + 4 : s->model->nu; a < end; a++) actuate_one(s, a, q, v, ctrl);
  }
}

/* Can some actuator give a force? Those of `--passive` are there, but without gain. */
bool kn_forces_driven(const kn_model* m) {
  bool any = false;
  for (int a = 0; a < m->nu; a++) {
    const kn_actuator_def* d = &m->actuator[a];
    any |= d->gain != 0.0 || d->bias[0] != 0.0 || d->bias[1] != 0.0 || d->bias[2] != 0.0;
    any |= d->force_limited && (d->force_range[0] > 0.0 || d->force_range[1] < 0.0);
  }
  return any;
}

/* No springs, dampers or actuators: all parts but the applied forces are zero for ever. */
bool kn_forces_passive(const kn_model* m, const kn_layout* y) {
  bool any = kn_forces_driven(m) || y->has_springs || y->has_gravcomp;
  for (int i = 0; i < m->nv; i++) any |= m->damping[i] != 0.0;
  return !any;
}

static kn_status finite_or_say(const double* x, int n, const char* what, double t) {
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i]))
      return kn_fail(KN_NOT_FINITE, "the controller set %s[%d] to %g at t = %g s", what, i, x[i], t);
  return KN_OK;
}

kn_status kn_stage_control(double* tau, kn_sim* s, kn_state* x, double t, const double* q, const double* v) {
  kn_state_block* memory = kn_state_find_block(x, "controller");
  kn_status status =
      s->controller.fn(tau, x->ctrl, t, q, v, memory ? memory->data : NULL, s->controller.context);
  if (status == KN_NO_ROOM) status = KN_INTERRUPTED; /* of a step, NO_ROOM would mean: more room, and again */
  if (status != KN_OK) kn_fail(status, "the controller stopped the run at t = %g s", t);
  if (status == KN_OK) status = finite_or_say(tau, s->model->nv, "tau", t);
  return status == KN_OK ? finite_or_say(x->ctrl, s->model->nu, "ctrl", t) : status;
}

/* Fills tau (all), its parts, and extra (the implicit diagonal) at (t, q, v). */
kn_status kn_stage_forces(kn_sim* s, kn_state* x, double t, const double* q, const double* v, double dt) {
  const kn_model* m = s->model;
  if (s->facts.passive && !s->controller.fn) {
    kn_fours_copy(s->force.tau, x->force, m->nv);
    kn_fours_copy(s->force.tau_applied, x->force, m->nv);
    return KN_OK;
  }
  kn_motion_calm(s);
  if (s->controller.fn) KN_TRY(kn_stage_control(s->force.tau_applied, s, x, t, q, v));
  kn_dyn_springs(s->force.tau_spring, s->data, m, q);
  if (s->facts.driven) actuate(s, q, v, x->ctrl);
  kn_motion_combine(s, x->force, v, dt);
  return KN_OK;
}

/* v_free = v + dv, (M + extra) dv = dt (tau - c(q_m, v_mean)), with the velocity-dependent forces at
 * s->frame.v_mean. */
void kn_free_velocity_at(kn_sim* s, const kn_state* x, double dt) {
  const kn_model* m = s->model;
  memcpy(s->frame.v_bias, s->frame.v_mean, (size_t)m->nv * sizeof(double));
  kn_dyn_accelerate(s->frame.dv, s->data, m, s->frame.v_bias, s->force.tau);
  if (kn_violent(s->frame.v_bias, m->nv, dt)) kn_violent_bound(s, x, dt);
  for (int i = 0; i < m->nv; i++) s->frame.v_free[i] = x->v[i] + dt * s->frame.dv[i];
}

static const double gentle = 0.05, violent = 0.25; /* rad: a guess alone will do; it is no guess any more */

/* v̄ once v_free is known: contacts bend the motion as they did in the last step. */
static void mean_of_free(kn_sim* s, const kn_state* x, double dt) {
  const double* contact = (const double*)s->blocks.rate->data + 2 * kn_rate_stride(s->model);
  kn_fours_mean(s->frame.v_bias, x->v, s->frame.v_free, s->model->nv);
  for (int i = 0; i < s->model->nv; i++) s->frame.v_bias[i] += 0.5 * dt * contact[i];
}

static const double expected = 1e-4; /* rad in a step: v_bias is near enough */

/* Whether v_bias expected of the contacts what they did not do. */
static bool rate_misled(const kn_sim* s, double dt) {
  const double* contact = (const double*)s->blocks.rate->data + 2 * kn_rate_stride(s->model);
  if (s->blocks.rate->used != kn_rate_bytes(s->model)) return false;
  return 0.5 * kn_motion_missed(s, contact, dt) > expected;
}

/* Nothing bends a flight, neither one that ends in impacts nor the first step after all contacts have opened: v_free as it is without the
   contacts that v_bias expected. */
void kn_free_velocity_of_flight(kn_sim* s, const kn_state* x, double dt) {
  const double* contact = (const double*)s->blocks.rate->data + 2 * kn_rate_stride(s->model);
  if (s->blocks.rate->used != kn_rate_bytes(s->model) || kn_soft_active(s)) return;
  if (!(0.5 * dt * dt * kn_fours_largest(contact, s->model->nv) > expected)) return;
  kn_fours_mean(s->frame.v_mean, x->v, s->frame.v_free, s->model->nv);
  kn_free_velocity_at(s, x, dt);
}

/* How far v_bias is off the mean of the step's velocities, rad in the step. */
static double bias_error(const kn_sim* s, const kn_state* x, double dt) {
  double off = 0.0;
  for (int i = 0; i < s->model->nv; i++)
    off = kn_max(off, fabs(0.5 * (x->v[i] + s->frame.v_plus[i]) - s->frame.v_bias[i]));
  return dt * off;
}

/* Do loops go on as in the step before? Where nothing else can act the order of the scheme is promised, and nothing is guessed. */
static bool loops_go_on(const kn_sim* s) { return s->model->nloop > 0 && !s->facts.smooth; }

/* Whether v_bias was a good guess of the mean velocity that loops and contacts bend. Loops do so in every step, and keep their
   energy: they are allowed less. */
bool kn_bias_expected(const kn_sim* s, const kn_state* x, double dt) {
  if (s->model->nloop == 0) return !rate_misled(s, dt);
  return loops_go_on(s) && bias_error(s, x, dt) <= 1e-6;
}

/* Whether v_bias is off by more than 1e-4, in a step gentle enough for another evaluation to bring it nearer: it multiplies the error
   by up to 6 dt ω. */
bool kn_bias_off(const kn_sim* s, const kn_state* x, double dt) {
  double speed = 0.0;
  for (int i = 0; i < s->model->nv; i++)
    speed = kn_max(speed, kn_max(fabs(x->v[i]), fabs(s->frame.v_plus[i])));
  return dt * speed <= gentle && bias_error(s, x, dt) > 1e-4;
}

/* After a step: what its contacts and loops did, if they are likely to go on with it. Bytes in use tell whether there is any. */
void kn_rate_contacts(kn_sim* s, const kn_flow* f, double dt) {
  kn_state_block* b = s->blocks.rate;
  size_t n = kn_rate_stride(s->model) * sizeof(double);
  bool goes_on = (f->held || loops_go_on(s)) && !f->impact;
  if (!goes_on && b->used == 2 * n) return;
  double* contact = (double*)b->data + 2 * kn_rate_stride(s->model);
  if (goes_on)
    kn_motion_rates(contact, s, dt);
  else
    kn_fours_clear(contact, s->model->nv);
  b->used = goes_on ? 3 * n : 2 * n;
}

static bool rates_known(const kn_sim* s) {
  size_t used = s->blocks.rate->used, n = kn_rate_stride(s->model) * sizeof(double);
  return used == 2 * n || used == 3 * n;
}

/* The first rate is taken for the one before as well. */
static void first_rate(kn_sim* s) {
  size_t n = kn_rate_stride(s->model);
  double* rate = s->blocks.rate->data;
  memcpy(rate + n, rate, n * sizeof *rate);
  s->blocks.rate->used = 2 * n * sizeof *rate;
}

/* The midpoint and the forces there, v_bias as a guess. *turn: the angle of the step. */
static kn_status look_ahead(double* turn, kn_sim* s, kn_state* x, double dt) {
  const kn_model* m = s->model;
  if (m->nq == m->nv && s->facts.passive && !s->controller.fn) {
    *turn = kn_motion_guess(s, x, dt);
    return KN_OK;
  }
  kn_stage_move(s->frame.q_mid, m, x->q, x->v, 0.5 * dt);
  if (s->data->layout->has_gravcomp) kn_dyn_position(s->data, m, s->frame.q_mid);
  KN_TRY(kn_stage_forces(s, x, x->time + 0.5 * dt, s->frame.q_mid, x->v, dt));
  *turn = kn_motion_mean(s, x, dt);
  return KN_OK;
}

/* Midpoint, poses, factors and v_free there in one go, as kn_dyn_position and kn_dyn_factor. c is to
   be taken at v̄ = (v + v_free)/2: first at a guess, and again only if that was not near enough (after an impact,
   in fast spinning bodies). Either way what is left of c's error is of third order. */
kn_status kn_stage_free_motion(kn_sim* s, kn_state* x, double dt) {
  const kn_model* m = s->model;
  double turn;
  bool known = rates_known(s); /* of a state that is new, or from before, nothing is */
  if (!known) memset(s->blocks.rate->data, 0, kn_rate_bytes(m));
  KN_TRY(look_ahead(&turn, s, x, dt));
  if (!(turn <= violent) || s->settings.bias_iterations <= 0) kn_fours_copy(s->frame.v_bias, x->v, m->nv);
  KN_TRY(kn_dyn_forward_extra(s->frame.dv, s->data, m, s->frame.q_mid, s->frame.v_bias, s->force.tau,
                              s->force.extra));
  if (turn > violent && kn_violent(s->frame.v_bias, m->nv, dt)) kn_violent_bound(s, x, dt);
  bool near = kn_motion_free(s, x, dt) && turn <= gentle;
  for (int k = 0; k < s->settings.bias_iterations && !near; k++) {
    mean_of_free(s, x, dt);
    kn_dyn_accelerate(s->frame.dv, s->data, m, s->frame.v_bias, s->force.tau);
    if (turn > violent && kn_violent(s->frame.v_bias, m->nv, dt)) kn_violent_bound(s, x, dt);
    near = kn_motion_free(s, x, dt);
  }
  if (!known) first_rate(s);
  return KN_OK;
}
