/* Random trees for the dynamics tests: every joint type, several joints per body, massless bodies in between,
   forests, floating bases; and serial chains. */
#ifndef KN_TEST_TREES_H
#define KN_TEST_TREES_H

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "knuckle/dynamics.h"
#include "test.h"

typedef struct tree_options {
  int bodies;
  double branch;   /* probability of hanging on a random earlier body instead of the last one */
  double forest;   /* probability of hanging on the world */
  bool floating;   /* roots are free */
  bool hinges;     /* hinges only */
  bool mujoco;     /* only joint types MuJoCo has: hinge, slide, ball, free, fixed */
  double armature; /* largest */
  double stiffness, damping;
  bool gravity;
  bool square; /* offsets, joint axes and centres of mass lie on axes, many inertias are round */
} tree_options;

static inline void random_unit(kn_rng* rng, double u[3]) {
  double n;
  do {
    n = 0;
    for (int i = 0; i < 3; i++) u[i] = kn_rng_range(rng, -1, 1), n += u[i] * u[i];
  } while (n < 0.01 || n > 1);
  for (int i = 0; i < 3; i++) u[i] /= sqrt(n);
}

static inline void random_quat(kn_rng* rng, double q[4]) {
  double n = 0;
  for (int i = 0; i < 4; i++) q[i] = kn_rng_normal(rng), n += q[i] * q[i];
  for (int i = 0; i < 4; i++) q[i] /= sqrt(n);
}

/* Principal moments of a random box, so that the triangle inequality holds. */
static inline void random_inertia(kn_rng* rng, kn_body_def* b) {
  double s[3];
  b->mass = kn_rng_range(rng, 0.2, 3.0);
  for (int i = 0; i < 3; i++) s[i] = kn_rng_range(rng, 0.05, 0.5), b->com[i] = kn_rng_range(rng, -0.3, 0.3);
  for (int i = 0; i < 3; i++)
    b->inertia[i] = b->mass / 12 * (s[(i + 1) % 3] * s[(i + 1) % 3] + s[(i + 2) % 3] * s[(i + 2) % 3]);
  random_quat(rng, b->inertia_quat);
}

static inline void on_axis(kn_rng* rng, double x[3], double length) {
  memset(x, 0, 3 * sizeof x[0]);
  x[kn_rng_int(rng, 3)] = kn_rng_int(rng, 2) ? length : -length;
}

/* Turns the random body into one whose directions are axes; thick and thin rods, balls and boxes. */
static inline void square_body(kn_rng* rng, kn_body_def* b) {
  static const double unit[4] = {1, 0, 0, 0};
  memcpy(b->quat, unit, sizeof unit), memcpy(b->inertia_quat, unit, sizeof unit);
  on_axis(rng, b->pos, kn_rng_range(rng, 0, 0.4));
  on_axis(rng, b->com, kn_rng_int(rng, 3) ? kn_rng_range(rng, 0, 0.3) : 0.0);
  int axis = kn_rng_int(rng, 3), kind = kn_rng_int(rng, 4);
  for (int i = 0; i < 3 && b->com[axis] == 0.0; i++)
    if (b->com[i] != 0.0) axis = i;
  double I = b->inertia[axis];
  if (kind == 0) return;
  for (int i = 0; i < 3; i++) b->inertia[i] = kind == 1 ? I : i == axis ? I * (kind == 2 ? 2e-3 : 0.2) : I;
}

static inline void add_random_joint(kn_rng* rng, kn_spec* spec, kn_body body, kn_joint_type type,
                                    const tree_options* o) {
  kn_joint_def j = kn_joint_default(type);
  j.body = body;
  for (int i = 0; i < 3; i++) j.pos[i] = kn_rng_range(rng, -0.2, 0.2);
  random_unit(rng, j.axis);
  do random_unit(rng, j.axis2);
  while (fabs(j.axis[0] * j.axis2[0] + j.axis[1] * j.axis2[1] + j.axis[2] * j.axis2[2]) > 0.8);
  if (o->square) memset(j.pos, 0, sizeof j.pos), on_axis(rng, j.axis, 1.0);
  if (o->square)
    for (int i = 0; i < 3; i++) j.axis2[i] = fabs(j.axis[(i + 1) % 3]);
  j.pitch = type == KN_JOINT_SCREW ? kn_rng_range(rng, -0.2, 0.2) : j.pitch;
  for (int i = 0; i < 3; i++) j.ref[i] = kn_rng_int(rng, 3) ? 0.0 : kn_rng_range(rng, -1, 1);
  if (type == KN_JOINT_BALL || type == KN_JOINT_FREE) memset(j.ref, 0, sizeof j.ref);
  j.armature = type == KN_JOINT_FREE ? 0.0 : kn_rng_range(rng, 0, o->armature);
  j.stiffness = type == KN_JOINT_FREE ? 0.0 : kn_rng_range(rng, 0, o->stiffness);
  j.damping = kn_rng_range(rng, 0, o->damping);
  kn_joint id;
  CHECK_OK(kn_spec_add_joint(&id, spec, &j));
}

static inline kn_joint_type random_joint_type(kn_rng* rng, const tree_options* o) {
  static const kn_joint_type all[] = {
      KN_JOINT_HINGE,  KN_JOINT_SLIDE,     KN_JOINT_BALL,  KN_JOINT_FIXED,       KN_JOINT_HINGE,
      KN_JOINT_PLANAR, KN_JOINT_UNIVERSAL, KN_JOINT_HINGE, KN_JOINT_CYLINDRICAL, KN_JOINT_SCREW};
  if (o->hinges) return KN_JOINT_HINGE;
  return all[kn_rng_int(rng, o->mujoco ? 5 : 10)];
}

/* Compiles; the caller destroys. */
static inline kn_model* random_tree(kn_rng* rng, const tree_options* o) {
  kn_spec* spec;
  kn_model* model = NULL;
  CHECK_OK(kn_spec_create(&spec));
  double zero[3] = {0, 0, 0};
  if (!o->gravity) kn_spec_set_gravity(spec, zero);
  for (int i = 0; i < o->bodies; i++) {
    kn_body_def b = kn_body_default();
    kn_body id;
    b.parent = i == 0 || kn_rng_unit(rng) < o->forest ? KN_WORLD
               : kn_rng_unit(rng) < o->branch         ? kn_rng_int(rng, i)
                                                      : i - 1;
    for (int k = 0; k < 3; k++) b.pos[k] = kn_rng_range(rng, -0.4, 0.4);
    random_quat(rng, b.quat);
    random_inertia(rng, &b);
    if (o->square) square_body(rng, &b);
    CHECK_OK(kn_spec_add_body(&id, spec, &b));
    if (b.parent == KN_WORLD && o->floating) {
      add_random_joint(rng, spec, id, KN_JOINT_FREE, o);
      continue;
    }
    kn_joint_type type = random_joint_type(rng, o);
    if (type != KN_JOINT_FIXED) add_random_joint(rng, spec, id, type, o);
    if (!o->hinges && !o->square && kn_rng_int(rng, 6) == 0 && type != KN_JOINT_BALL)
      add_random_joint(rng, spec, id, kn_rng_int(rng, 2) ? KN_JOINT_HINGE : KN_JOINT_SLIDE, o);
  }
  CHECK_OK(kn_compile(&model, spec));
  kn_spec_destroy(spec);
  return model;
}

/* Serial chain of hinges with alternating axes, links along x: the scene of the benches. */
static inline kn_model* chain(int n, bool parallel) {
  kn_spec* spec;
  kn_model* model = NULL;
  CHECK_OK(kn_spec_create(&spec));
  for (int i = 0; i < n; i++) {
    kn_body_def b = kn_body_default();
    kn_joint_def j = kn_joint_default(KN_JOINT_HINGE);
    b.parent = i - 1;
    b.pos[0] = i ? 0.5 : 0.0;
    b.mass = 1.0, b.com[0] = 0.25;
    b.inertia[0] = 0.002, b.inertia[1] = b.inertia[2] = 0.021;
    j.axis[0] = 0, j.axis[1] = parallel || i % 2 == 0, j.axis[2] = !(parallel || i % 2 == 0);
    CHECK_OK(kn_spec_add_body(&j.body, spec, &b));
    kn_joint id;
    CHECK_OK(kn_spec_add_joint(&id, spec, &j));
  }
  CHECK_OK(kn_compile(&model, spec));
  kn_spec_destroy(spec);
  return model;
}

/* Random position (through the manifold) and velocity. */
static inline void random_state(kn_rng* rng, const kn_model* m, kn_state* s, double speed) {
  int nv = kn_model_nv(m);
  double* v = kn_state_v(s);
  for (int j = 0; j < nv; j++) v[j] = kn_rng_range(rng, -2, 2);
  kn_integrate(kn_state_q(s), m, kn_state_q(s), v, 1.0);
  for (int j = 0; j < nv; j++) v[j] = speed * kn_rng_range(rng, -1, 1);
}

static inline double max_abs(const double* x, int n) {
  double m = 0;
  for (int i = 0; i < n; i++) m = fmax(m, fabs(x[i]));
  return m;
}
static inline double max_diff(const double* x, const double* y, int n) {
  double m = 0;
  for (int i = 0; i < n; i++) m = fmax(m, fabs(x[i] - y[i]));
  return m;
}

#endif
