/* One contact alone on a chain in a plane is solved directly (src/step/time/lone.c): states, reports and contacts
   are those of the general way, bit for bit. */
#include <math.h>

#include "../dynamics/trees.h"
#include "base/cpu.h"
#include "scene.h"
#include "step/sim.h"

typedef struct count {
  int lone, stick, slip, open, impacts; /* steps that were direct, and what happened in them */
} count;

/* Two simulators of one model, the second without the direct way. */
typedef struct twins {
  kn_state* x[2];
  kn_sim* sim[2];
} twins;

static bool open_twins(twins* t, const kn_model* m, const kn_sim_settings* settings) {
  bool ok = true;
  *t = (twins){0};
  for (int i = 0; i < 2; i++)
    ok = ok && CHECK_OK(kn_state_create(&t->x[i], m)) && CHECK_OK(kn_sim_create(&t->sim[i], m, settings)) &&
         CHECK_OK(kn_sim_prepare(t->sim[i], t->x[i]));
  if (!ok || !CHECK(t->sim[0]->lone)) return false;
  t->sim[1]->lone = false;
  return true;
}

static void close_twins(twins* t) {
  for (int i = 0; i < 2; i++) kn_sim_destroy(t->sim[i]), kn_state_destroy(t->x[i]);
}

/* Without pointers, which differ. */
static kn_report numbers(const kn_sim* s) {
  kn_report r;
  memcpy(&r, kn_sim_report(s), sizeof r);
  r.contact = NULL, r.event = NULL, r.limit_impulse = r.loop_impulse = NULL, r.loop_determinate = NULL;
  return r;
}

static bool same(const twins* t) {
  kn_report a = numbers(t->sim[0]), b = numbers(t->sim[1]);
  if (!CHECK(kn_state_hash(t->x[0]) == kn_state_hash(t->x[1])) || !CHECK(memcmp(&a, &b, sizeof a) == 0))
    return false;
  size_t contacts = (size_t)a.contacts, events = (size_t)a.events;
  const kn_report *ra = kn_sim_report(t->sim[0]), *rb = kn_sim_report(t->sim[1]);
  return CHECK(memcmp(ra->contact, rb->contact, contacts * sizeof *ra->contact) == 0) &&
         CHECK(memcmp(ra->event, rb->event, events * sizeof *ra->event) == 0);
}

static void note(count* n, const kn_sim* s) {
  const kn_report* r = kn_sim_report(s);
  n->impacts += r->impact.islands > 0;
  if (!s->lone_tangent || s->any_impact) return;
  n->lone++;
  n->stick += r->contact->mode == KN_MODE_STICK;
  n->slip += r->contact->mode == KN_MODE_SLIP;
  n->open += r->contact->mode == KN_MODE_OPEN;
}

static bool step(twins* t, count* n) {
  for (int i = 0; i < 2; i++)
    if (!CHECK_OK(kn_step(t->sim[i], t->x[i]))) return false;
  note(n, t->sim[0]);
  return same(t);
}

static void run_scene(count* n, const char* name, const char* links, int steps, bool split) {
  kn_scene_opened* scene = NULL;
  twins t = {0};
  if (!CHECK_OK(kn_scene_open(&scene, name, &links, 1))) return;
  kn_sim_settings settings = kn_scene_settings(scene->scene);
  settings.split_impacts = split;
  bool ok = open_twins(&t, scene->model, &settings);
  for (int i = 0; i < 2 && ok; i++) ok = CHECK_OK(kn_scene_start(scene, t.x[i]));
  for (int k = 0; ok && k < steps; k++) ok = step(&t, n);
  close_twins(&t);
  kn_scene_close(scene);
}

TEST(the_papers_pendulums) {
  static const char* const scenes[] = {"pendulum-2012", "pendulum-2014"};
  static const char* const links[] = {"links=2", "links=3", "links=6", "links=8", "links=9", "links=12"};
  for (int i = 0; i < 2; i++) {
    count n = {0};
    for (size_t k = 0; k < sizeof links / sizeof *links; k++)
      run_scene(&n, scenes[i], links[k], kn_test_effort() > 1 ? 5000 : 2500, k % 2);
    CHECK(n.lone > 1000 && n.slip > 100 && n.open > 100 && n.impacts > 10); /* not a test of nothing */
    CHECK(i == 1 || n.stick > 100);
  }
}

/* ---- random chains ---- */

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

static void run_chain(count* n, kn_rng* rng, int links, int steps) {
  kn_model* m = random_chain(rng, links);
  kn_sim_settings settings = kn_sim_default();
  twins t;
  settings.ledger = kn_rng_int(rng, 4) != 0;
  settings.anchors = kn_rng_int(rng, 4) != 0;
  settings.split_impacts = kn_rng_int(rng, 2);
  settings.stage_times = false;
  bool ok = open_twins(&t, m, &settings);
  for (int j = 0; j < m->nv && ok; j++) {
    t.x[0]->q[j] = t.x[1]->q[j] = kn_rng_range(rng, -0.3, 0.3);
    t.x[0]->v[j] = t.x[1]->v[j] = kn_rng_range(rng, -2, 2);
  }
  for (int k = 0; ok && k < steps; k++) ok = step(&t, n);
  close_twins(&t);
  kn_model_destroy(m);
}

TEST(random_chains) {
  kn_rng rng = kn_rng_seed(11);
  count n = {0};
  for (int i = 0; i < 40 * kn_test_effort(); i++) run_chain(&n, &rng, 1 + kn_rng_int(&rng, 12), 600);
  CHECK(n.lone > 1000 && n.slip > 100 && n.open > 100 && n.stick > 100 && n.impacts > 10);
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

/* What the direct way does not do is not asked of it. */
TEST(other_choices_take_the_general_way) {
  kn_rng rng = kn_rng_seed(12);
  kn_model* m = random_chain(&rng, 3);
  const kn_sim_settings usual = kn_sim_default();
  kn_sim_settings other[7] = {usual, usual, usual, usual, usual, usual, usual};
  other[0].formulation = "rmc", other[1].friction = 8, other[2].verdict = true, other[3].bias_iterations = 2;
  other[4].solver = "gs", other[5].stepper = "event", other[6].stepper = "hybrid";
  for (int i = 0; i < 7; i++) {
    kn_sim* sim = NULL;
    if (!CHECK_OK(kn_sim_create(&sim, m, &other[i]))) continue;
    CHECK(!sim->lone);
    kn_sim_destroy(sim);
  }
  kn_model_destroy(m);
}

static void seen(const kn_problem* p, const double* r, void* context) {
  CHECK_BELOW(kn_problem_error(p, r), 1e-10); /* the tolerance of the solver */
  ++*(int*)context;
}

/* Problems that are watched are made as they always were. */
TEST(a_watcher_sees_every_problem) {
  kn_rng rng = kn_rng_seed(13);
  kn_model* m = random_chain(&rng, 4);
  kn_sim_settings settings = kn_sim_default();
  count n = {0};
  twins t;
  int watched = 0, solves = 0;
  bool ok = open_twins(&t, m, &settings) && CHECK_OK(kn_sim_watch_problems(t.sim[0], seen, &watched));
  t.sim[1]->lone = true;
  for (int k = 0; ok && k < 600; k++) {
    ok = step(&t, &n);
    solves += kn_sim_report(t.sim[0])->solves;
  }
  CHECK_INT(n.stick + n.slip, 0); /* nothing was solved directly */
  CHECK(solves > 100);
  CHECK_INT(watched, solves);
  close_twins(&t);
  kn_model_destroy(m);
}
