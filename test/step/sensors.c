/* Sensors: against MuJoCo's values (test/step/sensors/reference.txt and robots.txt, made by
   test/oracle/mujoco_sensors.py), against closed forms, and with contacts, limits, loops and dry friction against
   what the step did. */
#include "knuckle/sensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "knuckle/load.h"
#include "mjcf.h"
#include "model/state.h"
#include "scene.h"
#include "test.h"

/* ---- a table of MuJoCo's values ---- */

typedef struct table {
  kn_model* m;
  kn_state* x;
  kn_sensors* s;
  double* value;
  char model[200];
  int compared;
  double worst;
} table;

static void table_end(table* t) {
  kn_sensors_destroy(t->s), kn_state_destroy(t->x), kn_model_destroy(t->m);
  free(t->value);
  t->s = NULL, t->x = NULL, t->m = NULL, t->value = NULL;
}

static kn_model* load(const char* path, kn_load_report** report) {
  kn_model* m = NULL;
  kn_load_report* own = NULL;
  kn_load_settings set = kn_load_default();
  kn_spec* spec = NULL;
  if (CHECK_OK(kn_load(&spec, &own, path, &set))) CHECK_OK(kn_compile(&m, spec));
  kn_spec_destroy(spec);
  if (report)
    *report = own;
  else
    kn_load_report_free(own);
  return m;
}

static bool table_model(table* t, const char* root, const char* name) {
  char path[500];
  table_end(t);
  snprintf(path, sizeof path, "%s/%s", root, name);
  snprintf(t->model, sizeof t->model, "%s", name);
  t->m = load(path, NULL);
  if (!t->m) return false;
  CHECK_OK(kn_state_create(&t->x, t->m));
  CHECK_OK(kn_sensors_create(&t->s, t->m));
  t->value = calloc((size_t)kn_model_sensor_numbers(t->m) + 1, sizeof(double));
  return true;
}

static int numbers(double* out, int room, const char* text) {
  int n = 0;
  char* end;
  for (; n < room; n++, text = end) {
    out[n] = strtod(text, &end);
    if (end == text) break;
  }
  return n;
}

/* Values are compared relative to the larger of 1 and the sensor's own size; forces and torques relative to the
   weight of the mechanism too, since they are sums of terms of its size. */
static void table_compare(table* t, const char* name, const char* text, double tolerance) {
  kn_sensor id;
  double x[8];
  int n = numbers(x, 8, text);
  if (!CHECK_OK(kn_model_find_sensor(&id, t->m, name))) return;
  CHECK_INT(kn_sensor_dim(t->m, id), n);
  double size = 1.0, off = 0.0;
  const double* y = t->value + kn_sensor_first(t->m, id);
  for (int i = 0; i < n; i++) size = fmax(size, fabs(x[i])), off = fmax(off, fabs(x[i] - y[i]));
  t->compared++;
  t->worst = fmax(t->worst, off / size);
  if (CHECK(off <= tolerance * size)) return;
  printf("  %s, sensor %s: off by %.3g\n   ours  ", t->model, name, off);
  for (int i = 0; i < n; i++) printf(" %.12g", y[i]);
  printf("\n   theirs");
  for (int i = 0; i < n; i++) printf(" %.12g", x[i]);
  printf("\n");
}

static int table_check(const char* root, const char* path, double tolerance, double* worst) {
  FILE* file = fopen(path, "r");
  char *line = NULL, name[100];
  size_t room = 0;
  table t = {0};
  bool fresh = false;
  if (!CHECK(file != NULL)) return 0;
  while (getline(&line, &room, file) > 0) {
    int used = 0;
    if (line[0] == '#' || sscanf(line, "%99s %n", name, &used) != 1) continue;
    const char* rest = line + used;
    if (strcmp(name, "model") == 0) {
      line[strcspn(line, "\n")] = 0;
      if (!table_model(&t, root, rest)) break;
      continue;
    }
    if (!t.m) break;
    if (strcmp(name, "state") == 0)
      kn_state_set_time(t.x, strtod(rest, NULL));
    else if (strcmp(name, "q") == 0)
      CHECK_INT(numbers(kn_state_q(t.x), kn_model_nq(t.m), rest), kn_model_nq(t.m));
    else if (strcmp(name, "v") == 0)
      CHECK_INT(numbers(kn_state_v(t.x), kn_model_nv(t.m), rest), kn_model_nv(t.m));
    else if (strcmp(name, "u") == 0) {
      CHECK_INT(numbers(kn_state_ctrl(t.x), kn_model_nu(t.m), rest), kn_model_nu(t.m));
      fresh = true;
    } else {
      if (fresh) CHECK_OK(kn_sensors_read(t.value, t.s, t.x, NULL));
      fresh = false;
      table_compare(&t, name, rest, tolerance);
    }
  }
  free(line);
  fclose(file);
  table_end(&t);
  *worst = t.worst;
  return t.compared;
}

#define OWN KN_SOURCE_DIR "/test/step/sensors/"

TEST(every_sensor_agrees_with_mujoco) {
  double worst = 0.0;
  /* both programs compute in double: 1e-9 of values of size 1 to 100, the issue's own bound */
  int n = table_check(KN_SOURCE_DIR, OWN "reference.txt", 1e-9, &worst);
  CHECK_INT(n, 4 * 93);
  printf("  %d values, worst %.1e\n", n, worst);
}

TEST(sensors_of_real_robots_agree_with_mujoco) {
  double worst = 0.0;
  if (access(KN_SHARED_DATA "/models/mjcf/skydio_x2/x2.xml", R_OK) != 0) SKIP("no shared data");
  int n = table_check(KN_SHARED_DATA "/models/mjcf", OWN "robots.txt", 1e-9, &worst); /* as above */
  CHECK_INT(n, 126);
  printf("  %d values, worst %.1e\n", n, worst);
}

/* ---- random trees, MuJoCo itself ---- */

#define PYTHON "/opt/knuckle-peers/bin/python"

/* Frames on all bodies, actuators between them, and every type of sensor that a random tree has something for. */
static void add_random_sensors(kn_spec* spec, const kn_model* plain, uint64_t seed) {
  kn_rng rng = kn_rng_seed(seed);
  int bodies = kn_model_bodies(plain), joints = kn_model_joints(plain);
  char name[40];
  for (int b = -1; b < bodies; b++) {
    kn_frame_def f = kn_frame_default();
    snprintf(name, sizeof name, "site%d", b + 1);
    f.name = name, f.body = b;
    for (int i = 0; i < 3; i++) f.pos[i] = kn_rng_range(&rng, -0.3, 0.3);
    for (int i = 0; i < 4; i++) f.quat[i] = kn_rng_range(&rng, -1, 1);
    CHECK_OK(kn_spec_add_frame(NULL, spec, &f));
  }
  for (int k = 0; k < 3; k++) {
    kn_actuator_def a = kn_actuator_default();
    snprintf(name, sizeof name, "drive%d", k);
    a.name = name, a.joints = 0;
    a.site = kn_rng_int(&rng, bodies + 1);
    a.refsite = k ? kn_rng_int(&rng, bodies + 1) : -1;
    for (int i = 0; i < 6; i++) a.site_gear[i] = kn_rng_range(&rng, -1, 1);
    for (int i = 0; i < 3; i++) a.bias[i] = kn_rng_range(&rng, -1, 0);
    if (a.site != a.refsite) CHECK_OK(kn_spec_add_actuator(NULL, spec, &a));
  }
  for (int t = 0; t < KN_SENSOR_TYPE_COUNT; t++) {
    kn_sensor_def d = kn_sensor_default((kn_sensor_type)t);
    kn_joint_def j;
    snprintf(name, sizeof name, "sensor%d", t);
    d.name = name;
    d.frame = kn_rng_int(&rng, bodies + 1);
    if (t >= KN_SENSOR_JOINT_POS && t <= KN_SENSOR_JOINT_FORCE) {
      d.joint = kn_rng_int(&rng, joints);
      CHECK_OK(kn_model_joint(&j, plain, d.joint));
      bool scalar = j.type == KN_JOINT_HINGE || j.type == KN_JOINT_SLIDE;
      bool ball = t == KN_SENSOR_BALL_QUAT || t == KN_SENSOR_BALL_ANGVEL;
      bool limit = t >= KN_SENSOR_LIMIT_POS && t <= KN_SENSOR_LIMIT_FORCE;
      if (limit || (ball ? j.type != KN_JOINT_BALL : !scalar)) continue;
    }
    /* of the world's own site MuJoCo adds torques about different points: nothing to compare with */
    if (t == KN_SENSOR_FORCE || t == KN_SENSOR_TORQUE) d.frame = 1 + kn_rng_int(&rng, bodies);
    if (t >= KN_SENSOR_ACTUATOR_POS && t <= KN_SENSOR_ACTUATOR_FORCE) d.actuator = 0;
    if (t >= KN_SENSOR_FRAME_POS && t <= KN_SENSOR_FRAME_ANGVEL && kn_rng_int(&rng, 2))
      d.ref_frame = kn_rng_int(&rng, bodies + 1);
    if (t >= KN_SENSOR_SUBTREE_COM) d.frame = -1, d.body = kn_rng_int(&rng, bodies);
    CHECK_OK(kn_spec_add_sensor(NULL, spec, &d));
  }
}

static kn_model* random_model(int i) {
  kn_random_settings set = kn_random_default(2 + i % 12);
  set.joints &= ~(1u << KN_JOINT_SCREW);
  set.geoms = set.limits = set.friction = set.actuators = false;
  set.springs = set.damping = i % 2, set.loops = 0;
  kn_spec* spec;
  kn_model *plain, *full = NULL;
  CHECK_OK(kn_spec_create(&spec));
  CHECK_OK(kn_random_spec(spec, (uint64_t)i, &set));
  if (CHECK_OK(kn_compile(&plain, spec))) add_random_sensors(spec, plain, (uint64_t)i + 77);
  CHECK_OK(kn_compile(&full, spec));
  kn_model_destroy(plain);
  kn_spec_destroy(spec);
  return full;
}

TEST(sensors_of_random_trees_agree_with_mujoco_itself) {
  if (access(PYTHON, X_OK) != 0) SKIP("no " PYTHON);
  if (system(PYTHON " -c 'import mujoco' 2>/dev/null") != 0) SKIP("no mujoco in " PYTHON);
  char folder[] = "/tmp/knuckle-sensors-XXXXXX", path[200], command[700];
  if (!CHECK(mkdtemp(folder) != NULL)) return;
  int count = 30 * kn_test_effort() > 200 ? 200 : 30 * kn_test_effort();
  for (int i = 0; i < count; i++) {
    kn_model* m = random_model(i);
    snprintf(path, sizeof path, "%s/%d.xml", folder, i);
    CHECK_OK(kn_mjcf_save(path, m, NULL));
    kn_model_destroy(m);
  }
  snprintf(command, sizeof command,
           "cd %s && " PYTHON " %s/test/oracle/mujoco_sensors.py $(ls *.xml) --states 2 > table.txt", folder,
           KN_SOURCE_DIR);
  CHECK_INT(system(command), 0);
  snprintf(path, sizeof path, "%s/table.txt", folder);
  double worst = 0.0;
  int n = table_check(folder, path, 1e-9, &worst); /* as above */
  CHECK(n > 40 * count);
  printf("  %d models, %d values, worst %.1e\n", count, n, worst);
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_INT(system(command), 0);
}

/* ---- closed forms, and forces of steps ---- */

typedef struct world {
  kn_model* m;
  kn_sim* sim;
  kn_state* x;
  double value[200];
} world;

static world start_with(const char* text, double dt, const char* stepper) {
  world w = {0};
  kn_spec* spec = NULL;
  kn_load_settings set = kn_load_default();
  kn_sim_settings choices = kn_sim_default();
  choices.dt = dt;
  choices.stepper = stepper;
  if (CHECK_OK(kn_load_text(&spec, NULL, "test.xml", text, strlen(text), &set)) &&
      CHECK_OK(kn_compile(&w.m, spec)) && CHECK_OK(kn_sim_create(&w.sim, w.m, &choices)) &&
      CHECK_OK(kn_state_create(&w.x, w.m)))
    CHECK_OK(kn_sim_prepare(w.sim, w.x));
  kn_spec_destroy(spec);
  return w;
}

static world start(const char* text, double dt) { return start_with(text, dt, "time"); }

static void end(world* w) { kn_state_destroy(w->x), kn_sim_destroy(w->sim), kn_model_destroy(w->m); }

static void steps(world* w, int n) {
  for (int i = 0; i < n; i++) CHECK_OK(kn_step(w->sim, w->x));
  CHECK_OK(kn_sim_sensors(w->value, w->sim, w->x));
}

static const double* sensed(const world* w, const char* name) {
  kn_sensor id = 0;
  CHECK_OK(kn_model_find_sensor(&id, w->m, name));
  return w->value + kn_sensor_first(w->m, id);
}

#define BOX                                                                                                  \
  "<body name='box' pos='0 0 %g'><freejoint/><geom type='box' size='.1 .2 .3' mass='2'/>"                    \
  "<site name='s' pos='.05 0 .02'/><site name='c'/></body>"
#define IMU                                                                                                  \
  "<sensor><accelerometer name='acc' site='s'/><gyro name='gyro' site='s'/><accelerometer name='mid' "       \
  "site='c'/><framequat name='quat' objtype='site' objname='s'/></sensor>"

TEST(a_falling_accelerometer_shows_nothing) {
  world w = start("<mujoco><worldbody><body pos='0 0 9'><freejoint/><geom size='.1'/><site name='s' "
                  "pos='.1 .2 .3'/></body></worldbody><sensor><accelerometer name='acc' "
                  "site='s'/></sensor></mujoco>",
                  1e-3);
  steps(&w, 100);
  for (int i = 0; i < 3; i++) CHECK_NEAR(sensed(&w, "acc")[i], 0.0, 1e-12); /* rounding of 9.81 */
  end(&w);
}

/* About a principal axis: ω stays, a point at r from the axis has ω² r towards it; no weight. Several turns, over
   which the quaternion does not jump. */
TEST(a_spinning_box_has_a_gyro_and_centripetal_acceleration) {
  char text[900];
  snprintf(text, sizeof text,
           "<mujoco><option gravity='0 0 0'/><worldbody>" BOX "</worldbody>" IMU "</mujoco>", 1.0);
  world w = start(text, 1e-3);
  double before[4] = {1, 0, 0, 0};
  kn_state_v(w.x)[5] = 7.0;
  for (int i = 0; i < 40; i++) {
    steps(&w, 50);
    const double *acc = sensed(&w, "acc"), *gyro = sensed(&w, "gyro"), *q = sensed(&w, "quat");
    CHECK_NEAR(gyro[2], 7.0, 1e-11); /* 2000 steps of rounding */
    CHECK_NEAR(acc[0], -49.0 * 0.05, 1e-10);
    CHECK_NEAR(acc[1], 0.0, 1e-10);
    CHECK_NEAR(sensed(&w, "mid")[0], 0.0, 1e-10);
    CHECK(q[0] * before[0] + q[1] * before[1] + q[2] * before[2] + q[3] * before[3] > 0.9); /* 20° a time */
    memcpy(before, q, sizeof before);
  }
  end(&w);
}

/* A rod's end: towards the pivot L ω² + g cos θ; across it α L + g sin θ with α = -(m g L/2 sin θ)/(m L²/3). */
TEST(a_pendulum_shows_its_centripetal_acceleration) {
  world w =
      start("<mujoco><worldbody><body pos='0 0 3'><joint axis='0 1 0'/><inertial mass='1.5' pos='0 0 -.4' "
            "diaginertia='.08 .08 .001'/><site name='s' pos='0 0 -.8'/></body></worldbody><sensor>"
            "<accelerometer name='acc' site='s'/><velocimeter name='vel' site='s'/></sensor></mujoco>",
            1e-3);
  kn_state_q(w.x)[0] = 1.0;
  for (int i = 0; i < 20; i++) {
    steps(&w, 37);
    double a = kn_state_q(w.x)[0], v = kn_state_v(w.x)[0], I = 0.08 + 1.5 * 0.16;
    double al = -1.5 * 9.81 * 0.4 * sin(a) / I;
    CHECK_NEAR(sensed(&w, "acc")[2], 0.8 * v * v + 9.81 * cos(a), 1e-11);
    CHECK_NEAR(sensed(&w, "acc")[0], -0.8 * al - 9.81 * sin(a), 1e-11);
    CHECK_NEAR(sensed(&w, "vel")[0], -0.8 * v, 1e-12);
  }
  end(&w);
}

#define REST                                                                                                 \
  "<mujoco><worldbody><geom type='plane' size='0 0 1'/><body name='box' pos='0 0 .3'><freejoint/>"           \
  "<geom type='box' size='.1 .2 .3' mass='2'/><site name='pad' type='box' size='.11 .21 .02' pos='0 0 "      \
  "-.3'/><site name='lid' type='box' size='.1 .2 .02' pos='0 0 .2'/><body pos='0 0 .3'><geom type='box' "    \
  "size='.05 .05 .05' mass='.5' pos='0 0 .05'/><site name='cell'/></body></body></worldbody><sensor>"        \
  "<touch name='pad' site='pad'/><touch name='lid' site='lid'/><accelerometer name='acc' site='pad'/>"       \
  "<force name='cell' site='cell'/><torque name='cell_torque' site='cell'/><force name='whole' "             \
  "site='pad'/></sensor></mujoco>"

/* The contacts below carry 2.5 kg and are felt where they are: the line from them outwards meets the pad, not the
   lid. A load cell in a weld shows what stands on it; the body itself hangs on nothing. */
TEST(a_box_at_rest_is_felt_below_and_weighed_within) {
  static const char* const others[] = {"event", "hybrid"};
  for (int k = 0; k < 2; k++) { /* other steppers say what their contacts carried, too */
    world o = start_with(REST, 1e-3, others[k]);
    steps(&o, 50);
    CHECK_NEAR(sensed(&o, "pad")[0], 2.5 * 9.81, 1e-6);
    CHECK_NEAR(sensed(&o, "acc")[2], 9.81, 1e-6);
    CHECK_NEAR(sensed(&o, "cell")[2], 0.5 * 9.81, 1e-6);
    end(&o);
  }
  world w = start(REST, 1e-3);
  steps(&w, 50);
  CHECK_NEAR(sensed(&w, "pad")[0], 2.5 * 9.81, 1e-8); /* the solver's tolerance, 1e-10 of the weight per dt */
  CHECK_NEAR(sensed(&w, "lid")[0], 0.0, 0.0);
  CHECK_NEAR(sensed(&w, "acc")[2], 9.81, 1e-8);
  CHECK_NEAR(sensed(&w, "cell")[2], 0.5 * 9.81, 1e-8);
  CHECK_NEAR(sensed(&w, "cell_torque")[0], 0.0, 1e-8);
  CHECK_NEAR(sensed(&w, "whole")[2], 0.0, 1e-8);
  double bare[200]; /* the state was moved: nobody knows of contacts */
  kn_state_q(w.x)[2] += 1.0;
  CHECK_OK(kn_sim_sensors(bare, w.sim, w.x));
  memcpy(w.value, bare, sizeof bare);
  CHECK_NEAR(sensed(&w, "pad")[0], 0.0, 0.0);
  CHECK_NEAR(sensed(&w, "acc")[2], 0.0, 1e-12);
  end(&w);
}

/* What holds an arm level: its limit, a dry joint, a loop. It does not accelerate, whoever holds it. */
TEST(limits_dry_joints_and_loops_hold_what_they_hold) {
  static const char* const arm =
      "<mujoco><worldbody><body name='arm' pos='0 0 1'><joint name='j' axis='0 1 0' %s/><geom type='box' "
      "size='.2 .02 .02' pos='.2 0 0' mass='1'/><site name='s' pos='.4 0 0'/></body></worldbody>%s<sensor>"
      "<accelerometer name='acc' site='s'/>%s</sensor></mujoco>";
  static const char* const how[3][3] = {
      {"range='-1 0' limited='true'", "",
       "<jointlimitfrc name='frc' joint='j'/><jointlimitpos name='pos' joint='j'/>"},
      {"frictionloss='5'", "", ""},
      {"", "<equality><connect body1='arm' anchor='.3 0 0'/></equality>", ""}};
  for (int k = 0; k < 3; k++) {
    char text[1200];
    snprintf(text, sizeof text, arm, how[k][0], how[k][1], how[k][2]);
    world w = start(text, 1e-3);
    steps(&w, 20);
    CHECK_NEAR(sensed(&w, "acc")[2], 9.81, 1e-7); /* the solver's tolerance, over dt */
    if (k == 0) CHECK_NEAR(sensed(&w, "frc")[0], 9.81 * 0.2, 1e-7);
    if (k == 0) CHECK_NEAR(sensed(&w, "pos")[0], 0.0, 1e-9);
    end(&w);
  }
}

/* A landing without bounce from 0.2 m: the values of all steps, times dt, are the change of velocity less that of
   free fall, to the length of a step; and nothing is allocated, nothing changed by reading. */
TEST(blows_count_with_their_mean_and_reading_changes_nothing) {
  char text[900];
  snprintf(text, sizeof text,
           "<mujoco><worldbody><geom type='plane' size='0 0 1'/>" BOX "</worldbody>" IMU "</mujoco>", 0.5);
  world w = start(text, 1e-3), other = start(text, 1e-3);
  double sum = 0.0;
  steps(&w, 1);
  steps(&other, 1);
  size_t allocated = kn_test_allocations();
  for (int i = 1; i < 400; i++) {
    CHECK_OK(kn_step(w.sim, w.x));
    CHECK_OK(kn_sim_sensors(w.value, w.sim, w.x));
    sum += 1e-3 * sensed(&w, "mid")[2];
    CHECK_OK(kn_step(other.sim, other.x));
  }
  CHECK_INT(kn_test_allocations(), allocated);
  CHECK_NEAR(sum, 0.4 * 9.81, 2 * 9.81e-3); /* rest before and after: the weight's impulse, to two steps */
  CHECK(kn_state_hash(w.x) == kn_state_hash(other.x));
  end(&w), end(&other);
}

/* Four propellers at the corners, each with a quarter of the weight, hold a box where it is for ten seconds; a fifth
   more lifts it with a fifth of g; opposite torques about z turn it with 4 c u / I. */
TEST(propellers_hold_lift_and_turn) {
  char text[1500] =
      "<mujoco><worldbody><body name='b' pos='0 0 1'><freejoint/><geom type='box' size='.1 .2 .05' "
      "mass='1.2'/>";
  static const char* const at[4] = {".2 .1 .05", "-.2 .1 .05", "-.2 -.1 .05", ".2 -.1 .05"};
  for (int i = 0; i < 4; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "<site name='p%d' pos='%s'/>", i, at[i]);
  strcat(text, "</body></worldbody><actuator>");
  for (int i = 0; i < 4; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "<motor name='m%d' site='p%d' gear='0 0 1 0 0 %g'/>", i, i, i % 2 ? 0.03 : -0.03);
  strcat(text,
         "</actuator><sensor><accelerometer name='acc' site='p0'/><frameangacc name='turn' objtype='xbody' "
         "objname='b'/></sensor></mujoco>");
  world w = start(text, 1e-3);
  double quarter = 1.2 * 9.81 / 4.0, I = 1.2 * (0.2 * 0.2 + 0.4 * 0.4) / 12.0;
  for (int i = 0; i < 4; i++) kn_state_ctrl(w.x)[i] = quarter;
  steps(&w, 10000);
  CHECK_NEAR(kn_state_q(w.x)[2], 1.0, 1e-12); /* rounding of forces that cancel, 10 s long */
  CHECK_NEAR(sensed(&w, "acc")[2], 9.81, 1e-12);
  for (int i = 0; i < 4; i++) kn_state_ctrl(w.x)[i] = 1.2 * quarter;
  steps(&w, 1000);
  CHECK_NEAR(kn_state_q(w.x)[2], 1.0 + 0.1 * 9.81, 1e-11);
  for (int i = 0; i < 4; i++) kn_state_ctrl(w.x)[i] = quarter * (i % 2 ? 1.1 : 0.9);
  steps(&w, 1);
  CHECK_NEAR(sensed(&w, "turn")[2], 4.0 * 0.03 * 0.1 * quarter / I, 1e-9);
  end(&w);
}

/* ---- loading ---- */

/* A model with other masses measures the same things: forces grow with the masses, accelerations of a fall do not. */
TEST(a_varied_model_keeps_its_sensors_and_drives) {
  kn_model *m = load(OWN "all.xml", NULL), *heavy = NULL;
  kn_variation v = kn_variation_none();
  v.mass = 2.0;
  if (m && CHECK_OK(kn_model_vary(&heavy, m, &v))) {
    CHECK_INT(kn_model_sensors(heavy), kn_model_sensors(m));
    CHECK_INT(kn_model_sensor_numbers(heavy), kn_model_sensor_numbers(m));
    double field[3];
    kn_actuator_def a;
    kn_model_magnetic(field, heavy);
    CHECK_NEAR(field[2], 0.7, 0.0);
    CHECK_OK(kn_model_actuator(&a, heavy, 6));
    CHECK(a.joints == 0 && a.site >= 0 && a.refsite >= 0 && a.site_gear[5] == 0.4);
  }
  kn_model_destroy(heavy), kn_model_destroy(m);
}

TEST(what_is_not_measured_is_listed_with_its_line) {
  const char* text =
      "<mujoco><worldbody><body name='b'><joint name='j'/><geom name='g' size='.1'/><site name='s'/></body>"
      "</worldbody>\n<tendon><fixed name='t'><joint joint='j' coef='1'/></fixed></tendon><sensor>\n"
      "<gyro name='g' site='s' noise='0.1' delay='0.1'/>\n<tendonpos name='tp' tendon='t'/>\n<user name='u' "
      "dim='2'/>\n"
      "<contact name='c' geom1='g'/></sensor></mujoco>";
  static const char* const lines[] = {"test.xml:3:", "test.xml:4:", "test.xml:5:", "test.xml:6:"};
  static const char* const words[] = {"delay", "<tendonpos> sensors are read and checked", "<user>",
                                      "<contact>"};
  kn_spec* spec = NULL;
  kn_load_report* report = NULL;
  kn_load_settings set = kn_load_default();
  CHECK_OK(kn_load_text(&spec, &report, "test.xml", text, strlen(text), &set));
  for (int k = 0; k < 4; k++) {
    int found = 0;
    for (int i = 0; i < kn_load_notes(report); i++) {
      const kn_note* n = kn_load_note(report, i);
      found += n->kind == KN_NOTE_UNSUPPORTED && strstr(n->where, lines[k]) && strstr(n->what, words[k]);
    }
    if (!CHECK_INT(found, 1)) printf("  %s %s\n", lines[k], words[k]);
  }
  for (int i = 0; i < kn_load_notes(report);
       i++) /* MuJoCo adds none either: it is for the reader of the file */
    CHECK(!strstr(kn_load_note(report, i)->what, "noise"));
  kn_spec_destroy(spec), kn_load_report_free(report);
  static const char* const bad[][2] = {
      {"<gyro name='a'/>", "looks at nothing"},
      {"<gyro site='sx'/>", "did you mean \"s\""},
      {"<framepos objtype='site' objname='s' reftype='site'/>", "expected both"},
      {"<jointlimitpos joint='j'/>", "has no limit"},
      {"<ballquat joint='j'/>", "no ball joint"},
      {"<gyro name='a' site='s'/><gyro name='a' site='s'/>", "is taken"},
      {"<gyro site='s' cutoff='-1'/>", "cutoff"}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    char file[600];
    kn_model* m = NULL;
    snprintf(file, sizeof file,
             "<mujoco><worldbody><body name='b'><joint name='j'/><geom size='.1'/><site name='s'/></body>"
             "</worldbody><sensor>%s</sensor></mujoco>",
             bad[k][0]);
    kn_status status = kn_load_text(&spec, NULL, "test.xml", file, strlen(file), &set);
    if (status == KN_OK) status = kn_compile(&m, spec);
    CHECK(status != KN_OK);
    if (!CHECK(strstr(kn_last_error(), bad[k][1]) != NULL)) printf("  %s\n", kn_last_error());
    kn_model_destroy(m), kn_spec_destroy(spec), spec = NULL;
  }
}
