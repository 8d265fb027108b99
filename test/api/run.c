/* Many steps in one call, inputs by rows, controllers that stop, forces after a step, a second simulator. */
#include "knuckle/run.h"

#include <stdlib.h>
#include <string.h>

#include "knuckle/load.h"
#include "test.h"
#include "world.h"

TEST(many_steps_are_the_same_steps) {
  static const char* const scene[] = {"pendulum-2014", "quadruped", "stack", "humanoid"};
  for (int k = 0; k < 4; k++) {
    kn_world one, many;
    if (!kn_world_open(&one, scene[k], "time", 0.0, NULL) ||
        !kn_world_open(&many, scene[k], "time", 0.0, NULL))
      return;
    kn_run run = {0};
    for (int i = 0; i < 200; i++) CHECK_OK(kn_step(one.sim, one.state));
    CHECK_OK(kn_step_many(&run, many.sim, many.state, 200));
    CHECK(run.steps == 200 && run.trouble.count == 0 && run.residual < 1e-9);
    CHECK(kn_state_hash(one.state) == kn_state_hash(many.state));
    kn_world_close(&one);
    kn_world_close(&many);
  }
}

static const char arm[] =
    "<mujoco><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 .5'><joint name='a' axis='0 1 0' "
    "stiffness='20' damping='.4' armature='.01' range='-60 60'/><geom type='capsule' size='.04' fromto='0 0 "
    "0 .4 0 0'/>"
    "<body pos='.4 0 0'><joint name='b' axis='0 1 0' frictionloss='.1'/><geom type='capsule' size='.04' "
    "fromto='0 0 0 .4 0 0'/></body></body><body pos='0 1 .2' euler='10 20 0'><freejoint/><geom type='box' "
    "size='.1 .1 .1'/>"
    "</body></worldbody><actuator><position joint='a' kp='50' kv='3'/><motor joint='b' "
    "gear='2'/></actuator></mujoco>";

typedef struct rig {
  kn_model* model;
  kn_sim* sim;
  kn_state* state;
} rig;

static bool rig_open(rig* r, const char* stepper) {
  kn_spec* spec;
  *r = (rig){0};
  if (!CHECK_OK(kn_load_text(&spec, NULL, "arm.xml", arm, strlen(arm), NULL))) return false;
  kn_sim_settings s = kn_sim_default();
  s.stepper = stepper;
  bool ok = CHECK_OK(kn_compile(&r->model, spec)) && CHECK_OK(kn_sim_create(&r->sim, r->model, &s)) &&
            CHECK_OK(kn_state_create(&r->state, r->model)) && CHECK_OK(kn_sim_prepare(r->sim, r->state));
  kn_spec_destroy(spec);
  return ok;
}

static void rig_close(rig* r) {
  kn_state_destroy(r->state);
  kn_sim_destroy(r->sim);
  kn_model_destroy(r->model);
}

TEST(a_rollout_is_a_loop_with_inputs) {
  enum { N = 300, EVERY = 4 };
  rig a, b;
  if (!rig_open(&a, "time") || !rig_open(&b, "time")) return;
  int nq = kn_model_nq(a.model), nv = kn_model_nv(a.model), nu = kn_model_nu(a.model);
  double *ctrl = calloc(N * 2, sizeof *ctrl), *force = calloc((size_t)(N * nv), sizeof *force);
  double *q = calloc((size_t)(N / EVERY * nq), sizeof *q), *v = calloc((size_t)(N / EVERY * nv), sizeof *v),
         t[N / EVERY];
  for (int i = 0; i < N; i++) {
    ctrl[2 * i] = 0.01 * (i % 50), ctrl[2 * i + 1] = i % 3 - 1;
    force[i * nv + 2] = 0.3 * (i % 7);
  }
  kn_rollout plan = {.steps = N, .every = EVERY, .ctrl = ctrl, .force = force, .q = q, .v = v, .t = t};
  kn_run run = {0};
  CHECK_OK(kn_rollout_run(&run, a.sim, a.state, &plan));
  CHECK_INT(run.steps, N);
  for (int i = 0; i < N; i++) {
    memcpy(kn_state_ctrl(b.state), ctrl + i * nu, (size_t)nu * sizeof *ctrl);
    memcpy(kn_state_force(b.state), force + i * nv, (size_t)nv * sizeof *force);
    CHECK_OK(kn_step(b.sim, b.state));
    if ((i + 1) % EVERY) continue;
    int row = (i + 1) / EVERY - 1;
    CHECK_BITS(q + row * nq, kn_state_q(b.state), (size_t)nq);
    CHECK_BITS(v + row * nv, kn_state_v(b.state), (size_t)nv);
    CHECK(t[row] == kn_state_time(b.state));
  }
  CHECK(kn_state_hash(a.state) == kn_state_hash(b.state));
  uint64_t before = kn_state_hash(a.state);
  ctrl[2 * N - 1] = NAN; /* refused before the first step */
  CHECK_STATUS(kn_rollout_run(&run, a.sim, a.state, &plan), KN_NOT_FINITE);
  CHECK_TEXT(kn_last_error(), "ctrl[299][1] is nan");
  CHECK(run.steps == N && kn_state_hash(a.state) == before);
  free(ctrl), free(force), free(q), free(v);
  rig_close(&a);
  rig_close(&b);
}

static kn_status stop_later(double* tau, double* ctrl, double t, const double* q, const double* v,
                            void* memory, void* context) {
  (void)q, (void)v, (void)memory;
  tau[0] += 0.1;
  ctrl[1] = 1.0 + t;
  if (t > *(double*)context) {
    ctrl[0] = 99.0;
    return KN_INTERRUPTED;
  }
  return KN_OK;
}

static kn_status garbage(double* tau, double* ctrl, double t, const double* q, const double* v, void* memory,
                         void* context) {
  (void)q, (void)v, (void)memory, (void)t;
  if (*(int*)context)
    ctrl[1] = INFINITY;
  else
    tau[1] = NAN;
  return KN_OK;
}

TEST(a_controller_stops_the_run_and_the_state_stays) {
  static const char* const stepper[] = {"time", "theta", "event", "compliant", "hybrid"};
  for (int k = 0; k < 5; k++) {
    rig r;
    double until = 0.05;
    if (!rig_open(&r, stepper[k])) return;
    kn_controller c = {.fn = stop_later, .context = &until};
    CHECK_OK(kn_sim_set_controller(r.sim, &c));
    kn_run run = {0};
    CHECK_STATUS(kn_step_many(&run, r.sim, r.state, 1000), KN_INTERRUPTED);
    CHECK_TEXT(kn_last_error(), "the controller stopped the run at t = 0.05");
    CHECK(run.steps == 49 || run.steps == 50 ||
          run.steps == 51); /* asked at the ends or the middle of steps */
    CHECK_NEAR(kn_state_time(r.state), 1e-3 * (double)run.steps, 1e-12);
    CHECK(kn_state_ctrl(r.state)[0] != 99.0); /* what the failed call wrote is taken back */
    c.fn = NULL;
    CHECK_OK(kn_sim_set_controller(r.sim, &c)); /* the run goes on without it */
    CHECK_OK(kn_step_many(&run, r.sim, r.state, 20));
    rig_close(&r);
  }
}

TEST(a_controller_that_writes_garbage_is_named) {
  static const char* const says[] = {"the controller set tau[1] to nan", "the controller set ctrl[1] to inf"};
  for (int which = 0; which < 2; which++) {
    rig r;
    if (!rig_open(&r, "time")) return;
    kn_controller c = {.fn = garbage, .context = &which};
    uint64_t before = kn_state_hash(r.state);
    CHECK_OK(kn_sim_set_controller(r.sim, &c));
    CHECK_STATUS(kn_step(r.sim, r.state), KN_NOT_FINITE);
    CHECK_TEXT(kn_last_error(), says[which]);
    CHECK(kn_state_hash(r.state) == before);
    rig_close(&r);
  }
}

/* The constraints' force from inverse dynamics against Jᵀ p of the reported contacts and limits: code that
   shares nothing. Away from impacts the contacts' geometry is that of the middle of the step, as here; the
   tolerance is the solver's 1e-10 of forces of some hundred N. Dry friction is in the constraints' force
   alone, so joint b is left out. */
TEST(forces_after_a_step_balance_with_the_contacts) {
  rig r;
  if (!rig_open(&r, "time")) return;
  const int nv = kn_model_nv(r.model);
  kn_data *scratch, *mid;
  kn_state* x;
  double a[9], act[9], pas[9], app[9], bias[9], con[9], M[81], J[54];
  CHECK_OK(kn_data_create(&scratch, r.model));
  CHECK_OK(kn_data_create(&mid, r.model));
  CHECK_OK(kn_state_create(&x, r.model));
  kn_step_forces out = {a, act, pas, app, bias, con};
  CHECK_INT(nv, 8);
  CHECK_STATUS(kn_sim_forces(&out, r.sim, r.state, scratch), KN_BAD_ARGUMENT); /* no step yet */
  int loaded = 0;
  for (int i = 0; i < 1500; i++) {
    kn_state_ctrl(r.state)[0] = 0.4, kn_state_ctrl(r.state)[1] = 0.2;
    kn_state_force(r.state)[3] = 0.3;
    CHECK_OK(kn_kinematics(r.model, r.state, mid));
    CHECK_OK(kn_integrate(kn_state_q(x), r.model, kn_state_q(r.state), kn_state_v(r.state), 0.5e-3));
    CHECK_OK(kn_step(r.sim, r.state));
    const kn_report* rep = kn_sim_report(r.sim);
    bool impact = false;
    for (int k = 0; k < rep->contacts; k++) impact |= rep->contact[k].impact;
    if (impact || i % 10) continue;
    CHECK_OK(kn_sim_forces(&out, r.sim, r.state, scratch));
    CHECK_OK(kn_mass_matrix(M, r.model, x, mid));
    double size = 1.0;
    for (int k = 0; k < nv; k++) { /* the balance itself, with the mass matrix */
      double sum = bias[k] - act[k] - pas[k] - app[k] - con[k];
      for (int j = 0; j < nv; j++) sum += M[k * nv + j] * a[j];
      size = fmax(size, fabs(M[k * nv + k] * a[k]) + fabs(con[k]));
      CHECK_NEAR(sum, 0.0, 1e-11 * size);
    }
    double tau[9] = {0};
    for (int k = 0; k < rep->contacts; k++) {
      const kn_contact* c = &rep->contact[k];
      double f[3] = {0};
      for (int d = 0; d < 3; d++)
        for (int j = 0; j < 3; j++) f[j] += c->frame[3 * d + j] * c->impulse[d] / rep->dt;
      loaded += c->impulse[0] > 0.0;
      for (int side = 0; side < 2; side++) {
        kn_body body = side ? c->body_b : c->body_a;
        if (body == KN_WORLD) continue;
        CHECK_OK(kn_jacobian(J, r.model, mid, body, c->point));
        for (int j = 0; j < nv; j++)
          for (int d = 0; d < 3; d++) tau[j] += (side ? -1.0 : 1.0) * J[(3 + d) * nv + j] * f[d];
      }
    }
    CHECK_ARRAY(con + 2, tau + 2, 6, 1e-8 * size); /* the box; scaled by CHECK_ARRAY once more */
  }
  CHECK(loaded > 100);
  kn_state_destroy(x);
  kn_data_destroy(scratch);
  kn_data_destroy(mid);
  rig_close(&r);
}

TEST(actuators_one_by_one_make_the_generalised_force) {
  rig r;
  double f[2], tau[8], q[] = {0.2, -0.3};
  if (!rig_open(&r, "time")) return;
  memcpy(kn_state_q(r.state), q, sizeof q);
  kn_state_v(r.state)[0] = 0.7;
  kn_state_ctrl(r.state)[0] = 0.5, kn_state_ctrl(r.state)[1] = -1.5;
  CHECK_OK(kn_actuator_values(f, r.model, r.state));
  CHECK_NEAR(f[0], 50.0 * (0.5 - 0.2) - 3.0 * 0.7, 1e-14); /* kp (u - q) - kv v, rounding of 15 */
  CHECK_NEAR(f[1], -1.5, 0.0);
  CHECK_OK(kn_actuator_force(tau, r.model, r.state, kn_sim_data(r.sim)));
  CHECK_NEAR(tau[0], f[0], 0.0);
  CHECK_NEAR(tau[1], 2.0 * f[1], 0.0);
  rig_close(&r);
}

TEST(poses_of_all_are_the_poses_of_each) {
  kn_world w;
  if (!kn_world_open(&w, "humanoid", "time", 0.0, NULL)) return;
  for (int i = 0; i < 50; i++) CHECK_OK(kn_step(w.sim, w.state));
  int n = kn_model_bodies(w.model), g = kn_model_geoms(w.model), f = kn_model_frames(w.model);
  kn_data* d = kn_sim_data(w.sim);
  CHECK_OK(kn_kinematics(w.model, w.state, d));
  kn_pose *p = calloc((size_t)(n + g + f), sizeof *p), one;
  double *v = calloc((size_t)(6 * n), sizeof *v), u[6];
  CHECK_OK(kn_body_poses(p, w.model, d));
  CHECK_OK(kn_geom_poses(p + n, w.model, d));
  CHECK_OK(kn_frame_poses(p + n + g, w.model, d));
  CHECK_OK(kn_body_velocities(v, w.model, d));
  for (int i = 0; i < n; i++) {
    CHECK_OK(kn_body_pose(&one, w.model, d, i));
    CHECK(memcmp(&one, &p[i], sizeof one) == 0);
    CHECK_OK(kn_body_velocity(u, w.model, d, i, NULL));
    CHECK_BITS(v + 6 * i, u, 6);
  }
  for (int i = 0; i < g; i++) {
    CHECK_OK(kn_geom_pose(&one, w.model, d, i));
    CHECK(memcmp(&one, &p[n + i], sizeof one) == 0);
  }
  for (int i = 0; i < f; i++) {
    CHECK_OK(kn_frame_pose(&one, w.model, d, i));
    CHECK(memcmp(&one, &p[n + g + i], sizeof one) == 0);
  }
  free(p), free(v);
  kn_world_close(&w);
}

TEST(a_clone_goes_on_with_the_same_bits_and_totals) {
  static const char* const stepper[] = {"time", "theta", "event", "hybrid"};
  for (int k = 0; k < 4; k++) {
    kn_world w;
    kn_sim* sim;
    kn_state* x;
    if (!kn_world_open(&w, "pendulum-2014", stepper[k], 0.0, NULL)) return;
    for (int i = 0; i < 700; i++) CHECK_OK(kn_step(w.sim, w.state));
    CHECK_OK(kn_sim_clone(&sim, w.sim));
    CHECK_OK(kn_state_create(&x, w.model));
    CHECK_OK(kn_sim_prepare(sim, x));
    CHECK_OK(kn_state_copy(x, w.state));
    for (int i = 0; i < 100; i++) {
      CHECK_OK(kn_step(w.sim, w.state));
      CHECK_OK(kn_step(sim, x));
      const kn_report *a = kn_sim_report(w.sim), *b = kn_sim_report(sim);
      CHECK(a->events == b->events && a->contacts == b->contacts);
      CHECK(memcmp(&a->total, &b->total, sizeof a->total) == 0 && a->gain_rel == b->gain_rel);
      CHECK(memcmp(&a->rise, &b->rise, sizeof a->rise) == 0);
    }
    CHECK(kn_state_hash(x) == kn_state_hash(w.state));
    kn_state_destroy(x);
    kn_sim_destroy(sim);
    kn_world_close(&w);
  }
}

/* The first simulator has made room for more contacts than it began with. */
TEST(a_clone_of_one_that_has_grown) {
  kn_world w;
  kn_sim_settings few = kn_sim_default();
  few.contact_room = 2;
  kn_sim* sim;
  if (!kn_world_open_with(&w, "stack", &few)) return;
  for (int i = 0; i < 50; i++) CHECK_OK(kn_step(w.sim, w.state));
  CHECK(kn_sim_report(w.sim)->contacts > 2);
  CHECK_OK(kn_sim_clone(&sim, w.sim));
  CHECK_INT(kn_sim_settings_of(sim)->contact_room, 2);
  kn_sim_destroy(sim);
  kn_world_close(&w);
}
