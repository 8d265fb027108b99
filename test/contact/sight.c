/* Spheres and planes of mechanisms in a plane are looked for in that plane: the contacts are those of the
   search in space, bit for bit, on every instruction set. */
#include <math.h>

#include "../dynamics/trees.h"
#include "base/isa.h"
#include "contact/detect/detect.h"
#include "dynamics/tree/data.h"

enum { MOST = 400 };

static void add_ball(kn_spec* spec, kn_rng* rng, kn_body body, bool equal) {
  kn_geom_def g = kn_geom_default(KN_SHAPE_SPHERE);
  kn_geom id;
  g.body = body;
  g.shape = (kn_shape){.type = KN_SHAPE_SPHERE, .size = {equal ? 0.1 : kn_rng_range(rng, 0.03, 0.2)}};
  for (int k = 0; k < 3; k++) g.pos[k] = kn_rng_range(rng, -0.3, 0.3);
  if (equal) g.pos[2] = 0.0;
  g.margin = kn_rng_int(rng, 4) ? 0.0 : 0.01;
  CHECK_OK(kn_spec_add_geom(&id, spec, &g));
}

static void add_wall(kn_spec* spec, kn_rng* rng) {
  kn_geom_def g = kn_geom_default(KN_SHAPE_PLANE);
  kn_geom id;
  double turn = kn_rng_range(rng, -1.5, 1.5);
  g.body = KN_WORLD;
  g.shape = (kn_shape){.type = KN_SHAPE_PLANE};
  for (int k = 0; k < 3; k++) g.pos[k] = kn_rng_range(rng, -1.0, 1.0);
  g.quat[0] = sqrt(0.5) * cos(turn), g.quat[1] = sqrt(0.5) * cos(turn); /* z to -y, then about z */
  g.quat[2] = sqrt(0.5) * sin(turn), g.quat[3] = sqrt(0.5) * sin(turn);
  CHECK_OK(kn_spec_add_geom(&id, spec, &g));
}

/* A chain or a tree about z; with standing spheres and several on a link unless it is plain. */
static kn_model* in_plane(kn_rng* rng, int bodies, bool plain) {
  kn_spec* spec;
  kn_model* model = NULL;
  CHECK_OK(kn_spec_create(&spec));
  for (int i = kn_rng_int(rng, 3); i > 0; i--) add_wall(spec, rng);
  for (int i = 0; i < bodies; i++) {
    kn_body_def b = kn_body_default();
    kn_joint_def j = kn_joint_default(KN_JOINT_HINGE);
    b.parent = i == 0 ? KN_WORLD : plain || kn_rng_int(rng, 3) ? i - 1 : kn_rng_int(rng, i + 1) - 1;
    for (int k = 0; k < (plain ? 2 : 3); k++) b.pos[k] = kn_rng_range(rng, -0.3, 0.3);
    random_inertia(rng, &b);
    j.axis[0] = j.axis[1] = 0.0, j.axis[2] = 1.0;
    CHECK_OK(kn_spec_add_body(&j.body, spec, &b));
    kn_joint id;
    CHECK_OK(kn_spec_add_joint(&id, spec, &j));
    for (int k = plain ? 1 : kn_rng_int(rng, 3); k > 0; k--) add_ball(spec, rng, j.body, plain);
    if (!plain && kn_rng_int(rng, 6) == 0) add_ball(spec, rng, KN_WORLD, false);
    if (kn_rng_int(rng, 9) == 0) add_wall(spec, rng);
  }
  CHECK_OK(kn_compile(&model, spec));
  kn_spec_destroy(spec);
  return model;
}

typedef struct eye {
  kn_data* data;
  kn_detector* detector;
  kn_contact contact[MOST];
  int count;
} eye;

static void open_eye(eye* e, const kn_model* m, bool plane) {
  CHECK_OK(kn_data_create(&e->data, m));
  CHECK_INT(e->data->layout->one_plane, 1);
  ((kn_layout*)(uintptr_t)e->data->layout)->one_plane = plane;
  CHECK_OK(kn_detector_create(&e->detector, m, MOST, 0));
}

static void close_eye(eye* e) {
  kn_data_destroy(e->data);
  kn_detector_destroy(e->detector);
}

static void look(eye* e, const kn_model* m, const double* q, const double* v, double margin, double horizon) {
  kn_dyn_position(e->data, m, q);
  kn_dyn_velocity(e->data, m, v);
  CHECK_OK(kn_detect(e->contact, &e->count, e->detector, e->data, margin, horizon, NULL));
}

static void same(const eye* a, const eye* b) {
  CHECK_INT(a->count, b->count);
  for (int i = 0; i < a->count && i < b->count; i++)
    CHECK(memcmp(&a->contact[i], &b->contact[i], sizeof(kn_contact)) == 0);
}

/* Nothing is closer than the detector says. Of equal spheres in one plane it says all it could, less the
   margins: the part of it. */
static double check_clear(const kn_model* m, const eye* plane, eye* space, const double* q, const double* v) {
  double clear = kn_detector_clear(plane->detector), least = INFINITY;
  look(space, m, q, v, 100.0, 0.0);
  for (int i = 0; i < space->count; i++) least = fmin(least, space->contact[i].gap);
  CHECK(!(clear > 0.0) || least >= clear - 1e-12);
  return least > 0.03 && least < INFINITY ? clear / (least - 0.02) : 1.0;
}

static void wander(kn_rng* rng, double* q, double* v, int nv) {
  bool far = kn_rng_int(rng, 20) == 0;
  for (int j = 0; j < nv; j++) {
    if (kn_rng_int(rng, 10) == 0) v[j] = kn_rng_range(rng, -3, 3);
    q[j] += far ? kn_rng_range(rng, -1, 1) : 2e-3 * v[j];
  }
}

TEST(the_plane_shows_what_space_shows) {
  kn_rng rng = kn_rng_seed(7);
  int contacts = 0, looks = 0;
  static eye plane, space;
  for (int i = 0; i < 60 * kn_test_effort(); i++) {
    kn_model* m = in_plane(&rng, 2 + kn_rng_int(&rng, 28), i % 2);
    double q[32], v[32];
    int balls = 0;
    for (int g = 0; g < m->ngeom; g++) balls += m->geom[g].shape.type == KN_SHAPE_SPHERE;
    if (m->ngeom > 64 || balls == 0) {
      kn_model_destroy(m);
      continue;
    }
    for (int j = 0; j < m->nv; j++) q[j] = kn_rng_range(&rng, -3, 3), v[j] = kn_rng_range(&rng, -3, 3);
    open_eye(&plane, m, true);
    open_eye(&space, m, false);
    CHECK(kn_detector_in_plane(plane.detector, plane.data));
    for (int k = 0; k < 60; k++) {
      double margin = kn_rng_int(&rng, 3) ? 1e-6 : 0.02, horizon = k % 2 ? 0.0 : 1e-3;
      wander(&rng, q, v, m->nv);
      look(&plane, m, q, v, margin, horizon), look(&space, m, q, v, margin, horizon);
      same(&plane, &space);
      contacts += plane.count, looks++;
    }
    close_eye(&plane), close_eye(&space);
    kn_model_destroy(m);
  }
  CHECK(contacts > looks); /* not a test of nothing */
}

TEST(nothing_is_closer_than_it_says) {
  kn_rng rng = kn_rng_seed(8);
  static eye plane, space;
  double least = INFINITY;
  for (int i = 0; i < 40 * kn_test_effort(); i++) {
    kn_model* m = in_plane(&rng, 2 + kn_rng_int(&rng, 6), i % 2);
    double q[32], v[32];
    for (int j = 0; j < m->nv; j++) q[j] = kn_rng_range(&rng, -3, 3), v[j] = kn_rng_range(&rng, -3, 3);
    open_eye(&plane, m, true);
    open_eye(&space, m, false);
    for (int k = 0; k < 20 && m->ngeom; k++) {
      wander(&rng, q, v, m->nv);
      look(&plane, m, q, v, 1e-6, 1e-3);
      if (plane.count == 0 && kn_detector_in_plane(plane.detector, plane.data))
        least = fmin(least, check_clear(m, &plane, &space, q, v) + (i % 2 ? 0.0 : INFINITY));
    }
    close_eye(&plane), close_eye(&space);
    kn_model_destroy(m);
  }
  CHECK(least > 0.99 && least < INFINITY);
}

TEST(the_same_bits_on_every_instruction_set) {
  kn_rng rng = kn_rng_seed(9);
  static eye plane, base;
  int top = kn_cpu_level();
  for (int i = 0; i < 20 * kn_test_effort(); i++) {
    kn_model* m = in_plane(&rng, 2 + kn_rng_int(&rng, 28), i % 2);
    double q[32], v[32];
    for (int j = 0; j < m->nv; j++) q[j] = kn_rng_range(&rng, -3, 3), v[j] = kn_rng_range(&rng, -3, 3);
    open_eye(&plane, m, true), open_eye(&base, m, true);
    for (int k = 0; k < 20 && m->ngeom && m->ngeom <= 64; k++) {
      wander(&rng, q, v, m->nv);
      kn_cpu_limit(KN_CPU_BASE);
      look(&base, m, q, v, 1e-6, 1e-3);
      double clear = kn_detector_clear(base.detector);
      for (int level = KN_CPU_BASE; level <= top; level++) {
        kn_cpu_limit(level);
        look(&plane, m, q, v, 1e-6, 1e-3);
        same(&plane, &base);
        CHECK(kn_detector_clear(plane.detector) == clear);
      }
    }
    kn_cpu_limit(top);
    close_eye(&plane), close_eye(&base);
    kn_model_destroy(m);
  }
}
