/* The energy headline against one recomputed from the recording by plain code of its own: positions,
   velocities and the work columns of every step, nothing of what the stepper added up. And gains planted on
   purpose, each of which must appear under its cause. */
#define _GNU_SOURCE
#include <ftw.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "floor.h"
#include "knuckle/load.h"
#include "knuckle/record.h"
#include "scene.h"
#include "test.h"
#include "world.h"

static const char* recording(void) {
  static char path[256];
  const char* folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/knuckle-energy-%d.mcap", folder ? folder : "/tmp", (int)getpid());
  return path;
}

/* ---- plain mechanics: body by body from the definitions ---- */

/* Potential energy of the weights alone: heights of the centres of mass. */
static double height_energy(const kn_model* m, kn_data* data) {
  double g[3], sum = 0.0;
  kn_model_gravity(g, m);
  for (kn_body b = 0; b < kn_model_bodies(m); b++) {
    kn_body_def def;
    kn_pose pose;
    double c[3];
    if (kn_model_body(&def, m, b) != KN_OK || kn_body_pose(&pose, m, data, b) != KN_OK) return NAN;
    for (int i = 0; i < 3; i++)
      c[i] = pose.R[3 * i] * def.com[0] + pose.R[3 * i + 1] * def.com[1] + pose.R[3 * i + 2] * def.com[2];
    for (int i = 0; i < 3; i++) sum -= (1.0 - def.gravcomp) * def.mass * g[i] * (pose.p[i] + c[i]);
  }
  return sum;
}

/* ½ vᵀ M v of the dense mass matrix. */
static double kinetic_energy(const kn_model* m, kn_state* x, kn_data* data, double* M) {
  int n = kn_model_nv(m);
  double sum = 0.0;
  const double* v = kn_state_v(x);
  if (kn_mass_matrix(M, m, x, data) != KN_OK) return NAN;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) sum += 0.5 * v[i] * M[i * n + j] * v[j];
  return sum;
}

typedef struct energies {
  double kinetic, stored; /* stored: weights and springs */
} energies;

static energies energy_at(const kn_model* m, kn_state* x, kn_data* data, double* M, const double* q,
                          const double* v) {
  kn_energy e = {0};
  memcpy(kn_state_q(x), q, (size_t)kn_model_nq(m) * sizeof *q);
  memcpy(kn_state_v(x), v, (size_t)kn_model_nv(m) * sizeof *v);
  if (kn_kinematics(m, x, data) != KN_OK || kn_energy_of(&e, m, x, data) != KN_OK)
    return (energies){NAN, NAN};
  return (energies){kinetic_energy(m, x, data, M), height_energy(m, data) + e.spring};
}

/* ---- the headline from a recording ---- */

typedef struct headline {
  double rise, work, scale;
} headline;

static headline recompute(const char* path) {
  kn_recording* in = NULL;
  kn_state* x = NULL;
  kn_data* data = NULL;
  headline h = {0};
  double low = 0.0, before = 0.0, least = 0.0, most = 0.0, compliant = 0.0;
  if (!CHECK_OK(kn_recording_open(&in, path))) return h;
  const kn_model* m = kn_recording_model(in);
  double* M = malloc((size_t)kn_model_nv(m) * (size_t)kn_model_nv(m) * sizeof *M + 8);
  CHECK_OK(kn_state_create(&x, m));
  CHECK_OK(kn_data_create(&data, m));
  for (int i = 0; i < kn_recording_steps(in) && x && data && M; i++) {
    kn_recorded s;
    if (!CHECK_OK(kn_recording_read(&s, in, i))) break;
    energies was = energy_at(m, x, data, M, s.q_before, s.v_before), now = energy_at(m, x, data, M, s.q, s.v);
    double start = was.kinetic + was.stored, end = now.kinetic + now.stored;
    if (i == 0) low = start, before = start, least = most = was.stored, h.scale = was.kinetic;
    h.work += start - before; /* what the caller changed between two steps */
    h.work += s.ledger.actuator + s.ledger.applied + s.ledger.prescribed;
    compliant += s.ledger.compliant;
    double F = end - compliant - h.work;
    low = fmin(low, F);
    h.rise = fmax(h.rise, F - low);
    before = end;
    h.scale = fmax(h.scale, fmax(was.kinetic, now.kinetic));
    least = fmin(least, now.stored), most = fmax(most, now.stored);
  }
  h.scale = fmax(h.scale, most - least);
  free(M);
  kn_data_destroy(data);
  kn_state_destroy(x);
  kn_recording_close(in);
  return h;
}

/* Steps with a recording, then compares. Energies of some hundred J are known to 1e-16 of themselves: where
   the run itself has hardly any (what rests), that is what can be compared. */
static bool agree(const char* name, kn_sim* sim, kn_state* x, int steps) {
  kn_recorder* rec = NULL;
  const char* path = recording();
  kn_record_settings set = kn_record_default();
  set.scene_rate = 0.0;
  bool ok = CHECK_OK(kn_recorder_open(&rec, path, sim, &set));
  for (int i = 0; i < steps && ok; i++) {
    CHECK_OK(kn_recorder_before(rec, x));
    ok = CHECK_OK(kn_step(sim, x)) && CHECK_OK(kn_recorder_step(rec, x));
  }
  ok = CHECK_OK(kn_recorder_close(rec)) && ok;
  const kn_report* r = kn_sim_report(sim);
  const kn_energy_rise* told = &r->rise;
  headline own = recompute(path);
  double near = 1e-9 * fmax(told->scale, 1e-4 * (fabs(r->energy.potential) + r->energy.spring));
  ok = ok && CHECK_NEAR(told->rise, own.rise, near) && CHECK_NEAR(told->work_in, own.work, near);
  ok = ok && CHECK(told->scale >= own.scale * (1.0 - 1e-9) - near); /* a floor for what rests besides */
  double causes = told->contact + told->damping + told->integration + told->correction;
  /* columns of a mechanism that is jammed (boxes drawn 9 cm into each other) hold 1e8 J that cancel: each is known to its last bits */
  double columns = fmax(fabs(r->total.friction), fabs(r->total.normal));
  ok = ok && CHECK_NEAR(causes, told->rise, near + 4e-15 * columns);
  if (!ok)
    printf("  %s: told %.15g J of work %.15g, recomputed %.15g, %.15g; causes %.15g; scale %g\n", name,
           told->rise, told->work_in, own.rise, own.work, causes, told->scale);
  remove(path);
  return ok;
}

TEST(the_headline_is_the_one_of_the_recording_in_every_scene) {
  static const char* const steppers[] = {NULL, "time", "event", "compliant"};
  int compared = 0;
  for (const kn_scene* const* s = kn_scenes(); *s; s++)
    for (int k = 0; k < (kn_test_effort() > 1 ? 4 : 1); k++) {
      kn_world w;
      if (kn_world_open(&w, (*s)->name, steppers[k] ? steppers[k] : kn_scene_settings(*s).stepper, 0.0, NULL))
        compared += agree((*s)->name, w.sim, w.state, kn_test_steps(200));
      kn_world_close(&w);
    }
  printf("  %d runs agree\n", compared);
}

TEST(the_headline_counts_the_work_of_motors_and_hands) {
  static const char text[] = "<mujoco><worldbody><geom type='plane' size='5 5 .1'/>"
                             "<body name='arm' pos='0 0 1'><joint name='a' axis='0 1 0' damping='.05'/><geom "
                             "type='capsule' size='.03' "
                             "fromto='0 0 0 .4 0 0'/></body>"
                             "<body name='ball' pos='2 0 .3'><freejoint/><geom size='.1'/></body></worldbody>"
                             "<actuator><motor joint='a' gear='5'/></actuator></mujoco>";
  kn_spec* spec = NULL;
  kn_model* m = NULL;
  kn_sim* sim = NULL;
  kn_state* x = NULL;
  kn_sim_settings s = kn_sim_default();
  CHECK_OK(kn_load_text(&spec, NULL, "rig.xml", text, sizeof text - 1, NULL));
  CHECK_OK(kn_compile(&m, spec));
  CHECK_OK(kn_sim_create(&sim, m, &s));
  CHECK_OK(kn_state_create(&x, m));
  kn_state_ctrl(x)[0] = 1.0;
  kn_state_force(x)[3] = 2.0; /* pushes the ball */
  if (agree("motor", sim, x, 100)) {
    double work = kn_sim_report(sim)->rise.work_in;
    CHECK(work > 0.1);
    kn_state_q(x)[3] += 1.0; /* somebody lifts the ball by a metre */
    CHECK_OK(kn_step(sim, x));
    const kn_energy_rise* r = &kn_sim_report(sim)->rise;
    kn_body_def ball;
    kn_model_body(&ball, m, 1);
    CHECK(r->work_in - work > 0.9 * ball.mass * 9.81);
    CHECK_BELOW(r->rise_rel, 1e-3);
  }
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_model_destroy(m);
  kn_spec_destroy(spec);
}

/* ---- planted gains ---- */

/* A box that spins about its axes without forces under the θ-scheme: the integrator's own. With repairs the scheme
   gives its gains back. */
TEST(a_gain_of_the_integrator_is_told_as_such) {
  static const char text[] =
      "<mujoco><option gravity='0 0 0'/><worldbody><body name='b'><freejoint/><geom type='box' "
      "size='.3 .05 .1' mass='1'/></body></worldbody></mujoco>";
  kn_spec* spec = NULL;
  kn_model* m = NULL;
  kn_sim* sim = NULL;
  kn_state* x = NULL;
  kn_sim_settings s = kn_sim_default();
  s.stepper = "theta";
  s.projection = false;
  CHECK_OK(kn_load_text(&spec, NULL, "spin.xml", text, sizeof text - 1, NULL));
  CHECK_OK(kn_compile(&m, spec));
  CHECK_OK(kn_sim_create(&sim, m, &s));
  CHECK_OK(kn_state_create(&x, m));
  memcpy(kn_state_v(x) + 3, (double[]){1, 10, 20}, 3 * sizeof(double));
  if (agree("spin", sim, x, 2000)) {
    const kn_energy_rise* r = &kn_sim_report(sim)->rise;
    CHECK(r->rise_rel > 1e-2);
    CHECK_NEAR(r->integration, r->rise, 1e-9 * r->scale);
  }
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_model_destroy(m);
  kn_spec_destroy(spec);
}

/* Newton's law with friction and without the guard: a rod that slides as it strikes may leave with more than
   it had (Kane's paradox). One of forty slopes does. */
TEST(a_gain_of_an_impact_is_told_as_contact) {
  double best = 0.0, share = 0.0;
  for (int k = 1; k < 40; k++) {
    kn_floor w;
    kn_sim_settings s = kn_sim_default();
    kn_spec* spec = kn_floor_spec(0.8, 0.9, 0);
    kn_floor_add(spec, "rod", KN_SHAPE_CAPSULE, 0.01, 0.5, 0, 1, (double[]){0, 0, 0.6}, 0.8, 0.9);
    s.law = "newton";
    s.guard = false;
    s.dt = 1e-4;
    if (kn_floor_open(&w, spec, &s)) {
      double *q = kn_state_q(w.state), *v = kn_state_v(w.state), slope = 0.039 * k;
      q[3] = cos(0.5 * slope), q[5] = sin(0.5 * slope);
      v[0] = 0.6, v[2] = -1.0;
      for (int i = 0; i < 3000; i++)
        if (!CHECK_OK(kn_step(w.sim, w.state))) break;
      const kn_energy_rise* r = &kn_sim_report(w.sim)->rise;
      if (r->rise_rel > best) best = r->rise_rel, share = r->contact / r->rise;
    }
    kn_floor_close(&w);
  }
  printf("  largest gain %.2g of the scale, %.3g of it by contact\n", best, share);
  CHECK(best > 1e-3);
  CHECK(share > 0.99);
}

/* A ball that starts 5 cm within the floor: the repair lifts it out again. */
TEST(a_gain_of_the_position_repair_is_told_as_correction) {
  kn_floor w;
  kn_sim_settings s = kn_sim_default();
  kn_spec* spec = kn_floor_spec(0, 0, 0);
  kn_floor_add(spec, "ball", KN_SHAPE_SPHERE, 0.1, 0.1, 0.1, 2, (double[]){0, 0, 0.1}, 0, 0);
  if (kn_floor_open(&w, spec, &s)) {
    kn_state_q(w.state)[2] -= 0.05;
    agree("sunk ball", w.sim, w.state, 20);
    const kn_energy_rise* r = &kn_sim_report(w.sim)->rise;
    CHECK_NEAR(r->correction, 2 * 9.81 * 0.05, 1e-3);
    CHECK_NEAR(r->rise, r->correction, 1e-6);
  }
  kn_floor_close(&w);
}

static bool robot_agrees(const char* path, int steps) {
  kn_spec* spec = NULL;
  kn_model* m = NULL;
  kn_sim* sim = NULL;
  kn_state* x = NULL;
  kn_sim_settings s = kn_sim_default();
  bool ok = CHECK_OK(kn_load(&spec, NULL, path, NULL)) && CHECK_OK(kn_compile(&m, spec)) &&
            CHECK_OK(kn_sim_create(&sim, m, &s)) && CHECK_OK(kn_state_create(&x, m)) &&
            agree(path, sim, x, steps);
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_model_destroy(m);
  kn_spec_destroy(spec);
  return ok;
}

/* Robots in which defects were seen, for longer. */
TEST(the_headline_is_the_one_of_the_recording_for_robots) {
  static const char* const file[] = {
      "attacks/chain-mass-ratio.xml",           "models/mjcf/unitree_h1/h1.xml",
      "models/mjcf/robotiq_2f85/2f85.xml",      "models/mjcf/agility_cassie/cassie.xml",
      "models/mjcf/kuka_iiwa_14/iiwa14.xml",    "models/mjcf/toddlerbot_2xc/toddlerbot_2xc.xml",
      "models/mjcf/unitree_g1/g1.xml",          "models/mjcf/shadow_hand/left_hand.xml",
      "models/mjcf/wonik_allegro/left_hand.xml"};
  int compared = 0;
  if (!kn_test_data("models")) SKIP("no shared data");
  for (size_t i = 0; i < sizeof file / sizeof *file; i++)
    compared += robot_agrees(kn_test_data(file[i]), kn_test_steps(150));
  printf("  %d robots agree\n", compared);
}

static int robots_agreed, robots_seen;

/* MJCF scenes include the robots beside them, keyframes and parts are made to be included; the gripper of bravo7 has a link without
   any inertia and is refused (docs/loading.md). */
static int try_robot(const char* path, const struct stat* at, int kind, struct FTW* place) {
  const char *name = path + place->base, *end = strrchr(name, '.');
  (void)at;
  bool mjcf = end && strcmp(end, ".xml") == 0 && strstr(path, "/mjcf/") && !strstr(path, "/assets/"),
       urdf = end && strcmp(end, ".urdf") == 0;
  if (kind != FTW_F || !(mjcf || urdf)) return 0;
  if (strncmp(name, "scene", 5) == 0 || strcmp(name, "keyframes.xml") == 0 ||
      strcmp(name, "bravo7_gripper.urdf") == 0)
    return 0;
  robots_seen++;
  robots_agreed += robot_agrees(path, kn_test_steps(10));
  return 0;
}

/* And all of them, for a short while. */
TEST(the_headline_is_the_one_of_the_recording_for_every_robot) {
  const char* folder = kn_test_data("models");
  if (!folder) SKIP("no shared data");
  CHECK_INT(nftw(folder, try_robot, 16, FTW_PHYS), 0);
  CHECK(robots_seen > 50); /* 59 when this was written */
  CHECK_INT(robots_agreed, robots_seen);
  printf("  %d robots agree\n", robots_agreed);
}
