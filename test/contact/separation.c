/* What the search remembers of pairs that are apart changes nothing: the contacts are those of a search that
   remembers nothing and those of asking every pair by itself, bit for bit; runs end in the same state, also
   when they are interrupted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../dynamics/trees.h"
#include "contact/detect/detect.h"
#include "contact/detect/detector.h"
#include "dynamics/tree/data.h"
#include "knuckle/mesh.h"
#include "knuckle/step.h"
#include "model/model.h"
#include "scene.h"
#include "step/sim.h"
#include "test.h"

enum { MOST = 4000, HULLS = 4 };

static kn_hull* hull_of(kn_rng* rng, int n) {
  kn_hull* h = NULL;
  double* p = malloc(3 * sizeof *p * (size_t)n);
  for (int i = 0; i < n; i++) {
    double l = 0;
    for (int k = 0; k < 3; k++) p[3 * i + k] = kn_rng_normal(rng), l += p[3 * i + k] * p[3 * i + k];
    for (int k = 0; k < 3; k++) p[3 * i + k] *= (0.1 + 0.05 * k) / sqrt(l);
  }
  CHECK_OK(kn_hull_create(&h, p, n, NULL));
  free(p);
  return h;
}

static kn_shape shape_of(kn_rng* rng, kn_hull* const* hulls) {
  static const kn_shape_type types[] = {KN_SHAPE_SPHERE,    KN_SHAPE_CAPSULE, KN_SHAPE_CYLINDER,
                                        KN_SHAPE_ELLIPSOID, KN_SHAPE_BOX,     KN_SHAPE_HULL};
  kn_shape s = {.type = types[kn_rng_int(rng, 6)]};
  for (int k = 0; k < 3; k++) s.size[k] = kn_rng_range(rng, 0.05, 0.2);
  if (s.type == KN_SHAPE_HULL) s.hull = hulls[kn_rng_int(rng, HULLS)];
  return s;
}

static void add_geom(kn_spec* spec, kn_rng* rng, kn_body body, kn_shape shape) {
  kn_geom_def g = kn_geom_default(shape.type);
  kn_geom id;
  g.body = body, g.shape = shape;
  random_quat(rng, g.quat);
  for (int k = 0; k < 3; k++) g.pos[k] = kn_rng_range(rng, -0.1, 0.1);
  if (body == KN_WORLD)
    for (int k = 0; k < 3; k++) g.pos[k] = kn_rng_range(rng, -1, 1);
  g.margin = kn_rng_int(rng, 4) ? 0.0 : 0.01;
  CHECK_OK(kn_spec_add_geom(&id, spec, &g));
}

/* Free bodies with one or two geoms each, some geoms that stand still, a wall. */
static kn_model* crowd(kn_rng* rng, int bodies, kn_hull* const* hulls) {
  kn_spec* spec;
  kn_model* model = NULL;
  CHECK_OK(kn_spec_create(&spec));
  for (int i = 0; i < bodies; i++) {
    kn_body_def b = kn_body_default();
    kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
    kn_joint id;
    random_inertia(rng, &b);
    CHECK_OK(kn_spec_add_body(&j.body, spec, &b));
    CHECK_OK(kn_spec_add_joint(&id, spec, &j));
    for (int k = 1 + kn_rng_int(rng, 2); k > 0; k--) add_geom(spec, rng, j.body, shape_of(rng, hulls));
  }
  for (int i = 0; i < 3; i++) add_geom(spec, rng, KN_WORLD, shape_of(rng, hulls));
  add_geom(spec, rng, KN_WORLD, (kn_shape){.type = KN_SHAPE_PLANE});
  CHECK_OK(kn_compile(&model, spec));
  kn_spec_destroy(spec);
  return model;
}

typedef struct eye {
  kn_detector* detector;
  kn_contact contact[MOST];
  int count;
  kn_state_block block;
} eye;

static void open_eye(eye* e, const kn_model* m) {
  CHECK_OK(kn_detector_create(&e->detector, m, MOST, 0));
  size_t room = (size_t)kn_detector_pairs(e->detector) * sizeof(kn_pair_entry);
  e->block = (kn_state_block){.data = calloc(1, room), .capacity = room};
}

static void close_eye(eye* e) {
  kn_detector_destroy(e->detector);
  free(e->block.data);
}

static void look(eye* e, kn_data* data, double margin, double horizon) {
  CHECK_OK(kn_detect(e->contact, &e->count, e->detector, data, margin, horizon, &e->block));
}

static void same(const eye* a, const eye* b) {
  CHECK_INT(a->count, b->count);
  CHECK(memcmp(a->contact, b->contact,
               (size_t)(a->count < b->count ? a->count : b->count) * sizeof(kn_contact)) == 0);
  CHECK(a->block.used == b->block.used && memcmp(a->block.data, b->block.data, a->block.used) == 0);
}

static const kn_pair_entry* entry_of(const kn_pair_entry* list, size_t n, int a, int b) {
  for (size_t i = 0; i < n; i++)
    if (list[i].geom_a == a && list[i].geom_b == b) return &list[i];
  return NULL;
}

/* Every pair by itself, in the order of detect.h, with what the state knew. */
static void ask_all(eye* e, const kn_model* m, const kn_data* data, double margin, const kn_pair_entry* list,
                    size_t n) {
  e->count = 0;
  for (int planes = 0; planes < 2; planes++)
    for (int a = 0; a < m->ngeom; a++)
      for (int b = planes ? 0 : a + 1; b < m->ngeom; b++) {
        bool pa = m->geom[a].shape.type == KN_SHAPE_PLANE, pb = m->geom[b].shape.type == KN_SHAPE_PLANE;
        if (pa || pb != (planes == 1) || !kn_model_collides(m, a, b)) continue;
        const kn_pair_entry* known = entry_of(list, n, a, b);
        kn_pair_cache cache = {.simplex_count = 0};
        int more = 0;
        if (known) cache = known->cache;
        double reach = margin + kn_margin_pair(m, a, b);
        CHECK_OK(kn_detect_pair(e->contact + e->count, &more, MOST - e->count, e->detector, data, a, b, reach,
                                &cache));
        e->count += more;
      }
}

/* Spheres are written out in detect.c: their points may differ by rounding. */
static void same_contacts(const eye* x, const eye* y, const kn_model* m) {
  bool ok = CHECK_INT(x->count, y->count);
  for (int i = 0; i < x->count && ok; i++) {
    const kn_contact *a = &x->contact[i], *b = &y->contact[i];
    bool round = m->geom[a->geom_a].shape.type == KN_SHAPE_SPHERE;
    ok = CHECK(a->key == b->key && a->geom_a == b->geom_a && a->geom_b == b->geom_b) &&
         CHECK(round ? fabs(a->gap - b->gap) < 1e-14 : memcmp(a, b, sizeof *a) == 0);
  }
}

/* Mostly a little along the velocities, sometimes far, sometimes not at all. */
static void wander(kn_rng* rng, const kn_model* m, double* q, double* v, double pace) {
  int how = kn_rng_int(rng, 30);
  if (how == 0) return;
  for (int b = 0; b < m->nv / 6; b++) {
    double *p = q + 7 * b, *u = v + 6 * b, turn = 0;
    if (kn_rng_int(rng, 20) == 0)
      for (int k = 0; k < 6; k++) u[k] = pace * kn_rng_range(rng, -2, 2);
    for (int k = 0; k < 3; k++)
      p[k] = how == 1 ? kn_rng_range(rng, -1, 1) : p[k] + 2e-3 * u[k] - 1e-3 * pace * p[k];
    for (int k = 3; k < 7; k++) p[k] += how == 1 ? kn_rng_normal(rng) : 2e-3 * u[k - 1 - (k == 6)];
    for (int k = 3; k < 7; k++) turn += p[k] * p[k];
    for (int k = 3; k < 7; k++) p[k] /= sqrt(turn);
  }
}

static bool in_lull(const kn_detector* d) { return d->lull.room > 0.0 && !d->lull.fresh; }

/* Returns the contacts found; *lulls: searches that looked at close pairs only. */
static int follow(kn_rng* rng, const kn_model* m, int looks, double pace, int* lulls) {
  static eye warm, cold, each;
  double *q = calloc((size_t)m->nq, sizeof *q), *v = calloc((size_t)m->nv, sizeof *v);
  kn_data* data;
  int found = 0;
  CHECK_OK(kn_data_create(&data, m));
  open_eye(&warm, m), open_eye(&cold, m), open_eye(&each, m);
  for (int b = 0; b < m->nv / 6; b++) {
    for (int k = 0; k < 3; k++) q[7 * b + k] = kn_rng_range(rng, -1, 1);
    random_quat(rng, q + 7 * b + 3);
    for (int k = 0; k < 6; k++) v[6 * b + k] = pace * kn_rng_range(rng, -2, 2);
  }
  for (int k = 0; k < looks; k++) {
    double margin = kn_rng_int(rng, 3) ? 1e-6 : 0.02, horizon = k % 2 ? 0.0 : 2e-3;
    wander(rng, m, q, v, pace);
    kn_dyn_position(data, m, q), kn_dyn_velocity(data, m, v);
    each.block.used = warm.block.used;
    memcpy(each.block.data, warm.block.data, warm.block.used);
    look(&warm, data, margin, horizon);
    *lulls += in_lull(warm.detector);
    kn_detector_forget(cold.detector);
    look(&cold, data, margin, horizon);
    same(&warm, &cold);
    found += warm.count;
    if (horizon > 0.0) continue;
    ask_all(&each, m, data, margin, each.block.data, each.block.used / sizeof(kn_pair_entry));
    same_contacts(&each, &warm, m);
  }
  close_eye(&warm), close_eye(&cold), close_eye(&each);
  kn_data_destroy(data);
  free(q), free(v);
  return found;
}

TEST(memory_of_separation_changes_no_contact) {
  kn_rng rng = kn_rng_seed(21);
  kn_hull* hulls[HULLS];
  static const int sizes[HULLS] = {12, 40, 150, 700};
  int found = 0, looks = 0, lulls[2] = {0, 0};
  for (int i = 0; i < HULLS; i++) hulls[i] = hull_of(&rng, sizes[i]);
  for (int i = 0; i < 24 * kn_test_effort(); i++) { /* every other crowd hardly moves */
    kn_model* m = crowd(&rng, 5 + i / 2 % 12, hulls);
    found += follow(&rng, m, 150, i % 2 ? 1e-3 : 1.0, &lulls[i % 2]), looks += 150;
    kn_model_destroy(m);
  }
  CHECK(found > 4 * looks && 4 * lulls[1] > looks); /* not a test of nothing */
  for (int i = 0; i < HULLS; i++) kn_hull_destroy(hulls[i]);
}

TEST(candidates_of_the_broad_phase_are_looked_up_and_remembered_alike) {
  kn_rng rng = kn_rng_seed(22);
  kn_hull* hulls[HULLS];
  for (int i = 0; i < HULLS; i++) hulls[i] = hull_of(&rng, 20 + 60 * i);
  kn_model* m = crowd(&rng, 200, hulls);
  CHECK(m->ngeom > KNOWN_GEOMS);
  int lulls = 0;
  CHECK(follow(&rng, m, 12 * kn_test_effort(), 1.0, &lulls) > 100 && lulls == 0);
  kn_model_destroy(m);
  for (int i = 0; i < HULLS; i++) kn_hull_destroy(hulls[i]);
}

typedef struct run {
  kn_scene_opened* scene;
  kn_sim* sim;
  kn_state* state;
} run;

static bool open_run(run* r, const char* name) {
  *r = (run){0};
  if (!CHECK_OK(kn_scene_open(&r->scene, name, NULL, 0))) return false;
  kn_sim_settings settings = kn_scene_settings_of(r->scene);
  return CHECK_OK(kn_sim_create(&r->sim, r->scene->model, &settings)) &&
         (!r->scene->controller.fn || CHECK_OK(kn_sim_set_controller(r->sim, &r->scene->controller))) &&
         CHECK_OK(kn_state_create(&r->state, r->scene->model)) &&
         CHECK_OK(kn_sim_prepare(r->sim, r->state)) && CHECK_OK(kn_scene_start(r->scene, r->state));
}

static void close_run(run* r) {
  kn_state_destroy(r->state);
  kn_sim_destroy(r->sim);
  if (r->scene) kn_scene_close(r->scene);
}

/* Steps that remember, steps that forget, and a simulator that takes over half way with the state alone. */
static void compare_runs(const char* name, int steps) {
  run warm, cold, late;
  bool ok = open_run(&warm, name);
  ok = open_run(&cold, name) && ok;
  ok = open_run(&late, name) && ok;
  for (int k = 0; k < steps && ok; k++) {
    kn_detector_forget(cold.sim->detector);
    kn_status a = kn_step(warm.sim, warm.state), b = kn_step(cold.sim, cold.state);
    ok = CHECK_INT(a, b) && a == KN_OK;
    if (ok && k > steps / 2) ok = CHECK_OK(kn_step(late.sim, late.state));
    if (ok && k == steps / 2) ok = CHECK_OK(kn_state_copy(late.state, warm.state));
    ok = ok && CHECK(kn_state_hash(warm.state) == kn_state_hash(cold.state));
  }
  /* some controllers remember more than the state does: their runs can only be compared with themselves */
  if (ok && !warm.scene->controller.fn) ok = CHECK(kn_state_hash(warm.state) == kn_state_hash(late.state));
  if (!ok) printf("  scene %s\n", name);
  close_run(&warm), close_run(&cold), close_run(&late);
}

TEST(runs_that_forget_and_runs_that_are_taken_over_end_in_the_same_state) {
  for (const kn_scene* const* s = kn_scenes(); *s; s++) compare_runs((*s)->name, 40 * kn_test_effort());
}
