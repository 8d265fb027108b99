/* Random chains in a plane, with balls above a sloping floor: a step takes the fast paths and ends where the general
   way ends; every problem that is solved is shown to who watches; the bits are the same on every instruction
   set. And who asks for the data after a step gets the poses of the state. */
#include <math.h>

#include "../dynamics/trees.h"
#include "base/isa.h"
#include "dynamics/tree/data.h"
#include "scene.h"
#include "step/sim.h"

static void add_ball(kn_spec* spec, kn_rng* rng, kn_body body) {
  kn_geom_def g = kn_geom_default(KN_SHAPE_SPHERE);
  kn_geom id;
  g.body = body;
  g.shape = (kn_shape){.type = KN_SHAPE_SPHERE, .size = {kn_rng_range(rng, 0.05, 0.12)}};
  for (int k = 0; k < 2; k++) g.pos[k] = kn_rng_range(rng, -0.2, 0.2);
  g.material.mu = kn_rng_int(rng, 5) ? kn_rng_range(rng, 0.05, 1.5) : 100.0;
  g.material.e = kn_rng_int(rng, 2) ? 0.0 : kn_rng_range(rng, 0.0, 0.9);
  CHECK_OK(kn_spec_add_geom(&id, spec, &g));
}

/* Below the chain: its normal in the x-y plane, in which the chain swings. */
static void add_floor(kn_spec* spec, kn_rng* rng, double depth) {
  kn_geom_def g = kn_geom_default(KN_SHAPE_PLANE);
  kn_geom id;
  double turn = kn_rng_range(rng, 2.3, 4.0); /* z to -y, then about z */
  g.body = KN_WORLD;
  g.shape = (kn_shape){.type = KN_SHAPE_PLANE};
  g.pos[1] = -depth;
  g.quat[0] = sqrt(0.5) * cos(0.5 * turn), g.quat[1] = sqrt(0.5) * cos(0.5 * turn);
  g.quat[2] = sqrt(0.5) * sin(0.5 * turn), g.quat[3] = sqrt(0.5) * sin(0.5 * turn);
  CHECK_OK(kn_spec_add_geom(&id, spec, &g));
}

static kn_model* random_chain(kn_rng* rng, int links) {
  static const double down[3] = {0.0, -9.81, 0.0};
  kn_spec* spec;
  kn_model* model = NULL;
  CHECK_OK(kn_spec_create(&spec));
  CHECK_OK(kn_spec_set_gravity(spec, down));
  for (int i = 0; i < links; i++) {
    kn_body_def b = kn_body_default();
    kn_joint_def j = kn_joint_default(KN_JOINT_HINGE);
    kn_joint id;
    b.parent = i == 0 ? KN_WORLD : i - 1;
    b.pos[0] = kn_rng_range(rng, -0.2, 0.2), b.pos[1] = i ? kn_rng_range(rng, -0.4, -0.2) : 0.0;
    random_inertia(rng, &b);
    j.axis[0] = j.axis[1] = 0.0, j.axis[2] = 1.0;
    j.damping = kn_rng_int(rng, 3) ? 0.0 : 0.1;
    CHECK_OK(kn_spec_add_body(&j.body, spec, &b));
    CHECK_OK(kn_spec_add_joint(&id, spec, &j));
    add_ball(spec, rng, j.body);
  }
  add_floor(spec, rng, 0.2 * links);
  CHECK_OK(kn_compile(&model, spec));
  kn_spec_destroy(spec);
  return model;
}

typedef struct count {
  int stick, slip, open, impacts, several; /* what happened */
} count;

static void note(count* n, const kn_report* r) {
  n->impacts += r->impact.islands > 0;
  for (int i = 0; i < r->contacts; i++) {
    n->stick += r->contact[i].mode == KN_MODE_STICK;
    n->slip += r->contact[i].mode == KN_MODE_SLIP;
    n->open += r->contact[i].mode == KN_MODE_OPEN;
  }
}

static double apart(const kn_state* a, const kn_state* b, int n) {
  double most = 0.0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(a->q[i] - b->q[i]));
  return most;
}

/* Of the step from x: its verdict. */
static kn_verdict_kind verdict_of(const kn_model* m, kn_sim_settings settings, const kn_state* x) {
  kn_sim* sim = NULL;
  kn_state* y = NULL;
  kn_verdict_kind kind = KN_VERDICT_UNIQUE;
  settings.verdict = true;
  if (CHECK_OK(kn_sim_create(&sim, m, &settings)) && CHECK_OK(kn_state_create(&y, m)) &&
      CHECK_OK(kn_state_copy(y, x)) && CHECK_OK(kn_step(sim, y)))
    kind = kn_sim_report(sim)->verdict.kind;
  kn_sim_destroy(sim), kn_state_destroy(y);
  return kind;
}

/* How far apart the general way ends when rounding moves where a step begins, as another order of sums would: of rows that
   nearly follow from others, say, it decides which one gives way in a repair. */
static double moved_by_rounding(const kn_model* m, kn_sim_settings settings, const kn_state* x,
                                const kn_state* end) {
  enum { TRIES = 8 };
  kn_sim* sim = NULL;
  kn_state* y = NULL;
  kn_rng rng = kn_rng_seed(17);
  double off = 0.0;
  settings.fast = "none";
  if (CHECK_OK(kn_sim_create(&sim, m, &settings)) && CHECK_OK(kn_state_create(&y, m)))
    for (int k = 0; k < TRIES; k++) {
      CHECK_OK(kn_state_copy(y, x));
      for (int i = 0; i < m->nv; i++)
        y->q[i] += kn_rng_range(&rng, -1e-13, 1e-13), y->v[i] += kn_rng_range(&rng, -1e-13, 1e-13);
      CHECK_OK(kn_step(sim, y));
      off = fmax(off, apart(y, end, m->nq));
    }
  kn_sim_destroy(sim), kn_state_destroy(y);
  return off;
}

/* The second simulator takes every step from the state of the first, without fast paths. */
static void run_chain(count* n, kn_rng* rng, int links, int steps) {
  kn_model* m = random_chain(rng, links);
  kn_sim_settings settings = kn_sim_default();
  kn_sim* sim[2] = {NULL, NULL};
  kn_state* x[3] = {NULL, NULL, NULL}; /* the last: where the step began */
  settings.ledger = kn_rng_int(rng, 4) != 0;
  settings.anchors = kn_rng_int(rng, 4) != 0;
  settings.split_impacts = kn_rng_int(rng, 2);
  bool ok = true;
  for (int i = 0; i < 2 && ok; i++) {
    settings.fast = i ? "none" : NULL;
    ok = CHECK_OK(kn_state_create(&x[i], m)) && CHECK_OK(kn_sim_create(&sim[i], m, &settings)) &&
         CHECK_OK(kn_sim_prepare(sim[i], x[i]));
  }
  ok = ok && CHECK_OK(kn_state_create(&x[2], m));
  for (int j = 0; j < m->nv && ok; j++)
    x[0]->q[j] = kn_rng_range(rng, -0.3, 0.3), x[0]->v[j] = kn_rng_range(rng, -2, 2);
  for (int k = 0; ok && k < steps; k++) {
    ok = CHECK_OK(kn_state_copy(x[1], x[0])) && CHECK_OK(kn_state_copy(x[2], x[0])) &&
         CHECK_OK(kn_step(sim[0], x[0])) && CHECK_OK(kn_step(sim[1], x[1]));
    double off = ok ? apart(x[0], x[1], m->nq) : 0.0;
    if (off >
        1e-9) { /* rad; 1e-11 of a step, and chains that whip. Beyond: it has several answers, or rounding decides */
      for (int i = 0; i < 2; i++) CHECK_BELOW(kn_sim_report(sim[i])->residual, settings.tolerance);
      ok = CHECK(verdict_of(m, settings, x[2]) != KN_VERDICT_UNIQUE ||
                 moved_by_rounding(m, settings, x[2], x[1]) >= off);
      n->several++;
    }
    note(n, kn_sim_report(sim[0]));
    if (!ok) printf("  %d links, step %d\n", links, k);
  }
  for (int i = 0; i < 2; i++) kn_sim_destroy(sim[i]);
  for (int i = 0; i < 3; i++) kn_state_destroy(x[i]);
  kn_model_destroy(m);
}

TEST(random_chains_step_as_in_the_general_way) {
  kn_rng rng = kn_rng_seed(11);
  count n = {0};
  for (int i = 0; i < 40 * kn_test_effort(); i++) run_chain(&n, &rng, 1 + kn_rng_int(&rng, 12), 600);
  printf("  %d stick, %d slip, %d open, %d impacts, %d steps with several answers\n", n.stick, n.slip, n.open,
         n.impacts, n.several);
  CHECK(n.several <= 5);
  CHECK(n.slip > 100 && n.open > 100 && n.stick > 100 && n.impacts > 10); /* not a test of nothing */
}

TEST(the_same_bits_on_every_instruction_set) {
  int top = kn_cpu_level();
  for (int links = 1; links < 12; links += 3) {
    uint64_t hash[KN_CPU_AVX512 + 1];
    for (int level = KN_CPU_BASE; level <= top; level++) {
      kn_rng rng = kn_rng_seed(100 + links);
      kn_model* m = random_chain(&rng, links);
      kn_state* x;
      kn_sim* sim;
      kn_cpu_limit(level);
      CHECK_OK(kn_state_create(&x, m));
      CHECK_OK(kn_sim_create(&sim, m, NULL));
      for (int j = 0; j < m->nv; j++) x->q[j] = 0.3 - 0.05 * j, x->v[j] = 1.0;
      for (int k = 0; k < 600; k++) CHECK_OK(kn_step(sim, x));
      hash[level] = kn_state_hash(x);
      kn_sim_destroy(sim), kn_state_destroy(x), kn_model_destroy(m);
    }
    kn_cpu_limit(top);
    for (int level = 1; level <= top; level++) CHECK(hash[level] == hash[0]);
  }
}

static void seen(const kn_problem* p, const double* r, void* context) {
  CHECK_BELOW(kn_problem_error(p, r), 1e-10); /* the tolerance of the solver */
  ++*(int*)context;
}

TEST(a_watcher_sees_every_problem) {
  kn_rng rng = kn_rng_seed(13);
  kn_model* m = random_chain(&rng, 4);
  kn_sim* sim = NULL;
  kn_state* x = NULL;
  int watched = 0, solves = 0;
  bool ok = CHECK_OK(kn_state_create(&x, m)) && CHECK_OK(kn_sim_create(&sim, m, NULL)) &&
            CHECK_OK(kn_sim_watch_problems(sim, seen, &watched));
  for (int k = 0; ok && k < 600; k++) {
    ok = CHECK_OK(kn_step(sim, x));
    solves += kn_sim_report(sim)->solves;
  }
  CHECK(solves > 100);
  CHECK_INT(watched, solves);
  kn_sim_destroy(sim), kn_state_destroy(x);
  kn_model_destroy(m);
}

/* Rounding of a sweep from two starts: an ulp or two of positions of 10 m and of velocities of some 10 m/s. */
static void compare_poses(kn_sim* sim, const kn_state* x) {
  const kn_model* m = kn_sim_model(sim);
  kn_data *fresh, *data = kn_sim_data(sim);
  if (!CHECK_OK(kn_data_create(&fresh, m))) return;
  kn_dyn_position(fresh, m, x->q);
  kn_dyn_velocity(fresh, m, x->v);
  for (int l = 0; l < m->nlink; l++) {
    kn_pose a, b;
    double u[6], v[6];
    kn_link_pose(&a, data, l), kn_link_pose(&b, fresh, l);
    kn_link_velocity(u, data, l), kn_link_velocity(v, fresh, l);
    for (int k = 0; k < 3; k++) CHECK_NEAR(a.p[k], b.p[k], 1e-14);
    for (int k = 0; k < 9; k++) CHECK_NEAR(a.R[k], b.R[k], 1e-14);
    for (int k = 0; k < 6; k++) CHECK_NEAR(u[k], v[k], 1e-13);
  }
  kn_data_destroy(fresh);
}

static void poses_after(const char* name, const char* parameter, int steps) {
  kn_scene_opened* scene = NULL;
  kn_sim* sim = NULL;
  kn_state* x = NULL;
  if (!CHECK_OK(kn_scene_open(&scene, name, &parameter, parameter ? 1 : 0))) return;
  kn_sim_settings settings = kn_scene_settings(scene->scene);
  bool ok = CHECK_OK(kn_state_create(&x, scene->model)) &&
            CHECK_OK(kn_sim_create(&sim, scene->model, &settings)) && CHECK_OK(kn_sim_prepare(sim, x)) &&
            CHECK_OK(kn_scene_start(scene, x));
  if (ok) kn_sim_set_controller(sim, scene->controller.fn ? &scene->controller : NULL);
  for (int k = 0; ok && k < steps; k++) ok = CHECK_OK(kn_step(sim, x));
  if (ok) compare_poses(sim, x);
  kn_sim_destroy(sim), kn_state_destroy(x);
  kn_scene_close(scene);
}

/* In flight, after tiny and larger corrections, and with what a step leaves out of data unless it is asked for. */
TEST(who_asks_for_the_data_gets_the_poses_of_the_state) {
  for (int steps = 1; steps < 3000; steps = 2 * steps + 1) {
    poses_after("pendulum-2012", "links=3", steps);
    poses_after("pendulum-2014", "links=12", steps);
  }
  poses_after("quadruped", NULL, 50);
  poses_after("slider-crank", NULL, 300);
}
