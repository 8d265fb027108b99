/* Random damage: whatever a definition holds, compile returns a status or a model without a NaN in it. */
#include <string.h>

#include "base/rng.h"
#include "model/compile/compile.h"
#include "scene.h"
#include "test.h"

static double strange(kn_rng* r) {
  static const double values[] = {NAN,    INFINITY, -INFINITY, 0.0,  -1.0,  1e300,
                                  -1e300, 1e-300,   1e160,     1e18, -1e-18};
  return values[kn_rng_int(r, sizeof values / sizeof *values)];
}

/* Replaces one number (double) of an element by a strange one. The elements are plain structs of doubles,
   ints and pointers; offsets of doubles are taken from the members named here. */
typedef struct field {
  size_t offset;
  int count;
} field;

#define FIELD(type, member)                                                                                  \
  { offsetof(type, member), (int)(sizeof(((type*)0)->member) / sizeof(double)) }
static const field body_fields[] = {FIELD(kn_body_def, pos),     FIELD(kn_body_def, quat),
                                    FIELD(kn_body_def, mass),    FIELD(kn_body_def, com),
                                    FIELD(kn_body_def, inertia), FIELD(kn_body_def, inertia_quat),
                                    FIELD(kn_body_def, gravcomp)};
static const field joint_fields[] = {
    FIELD(kn_joint_def, pos),        FIELD(kn_joint_def, axis),     FIELD(kn_joint_def, axis2),
    FIELD(kn_joint_def, pitch),      FIELD(kn_joint_def, ref),      FIELD(kn_joint_def, range),
    FIELD(kn_joint_def, damping),    FIELD(kn_joint_def, armature), FIELD(kn_joint_def, stiffness),
    FIELD(kn_joint_def, spring_ref), FIELD(kn_joint_def, friction)};
static const field geom_fields[] = {FIELD(kn_geom_def, shape.size),    FIELD(kn_geom_def, pos),
                                    FIELD(kn_geom_def, quat),          FIELD(kn_geom_def, density),
                                    FIELD(kn_geom_def, mass),          FIELD(kn_geom_def, margin),
                                    FIELD(kn_geom_def, material.mu),   FIELD(kn_geom_def, material.e),
                                    FIELD(kn_geom_def, material.roll), FIELD(kn_geom_def, material.K)};
static const field loop_fields[] = {FIELD(kn_loop_def, pos_a),  FIELD(kn_loop_def, quat_a),
                                    FIELD(kn_loop_def, pos_b),  FIELD(kn_loop_def, quat_b),
                                    FIELD(kn_loop_def, length), FIELD(kn_loop_def, coef)};

static void damage(kn_rng* r, void* element, const field* fields, int n) {
  const field* f = &fields[kn_rng_int(r, n)];
  double* x = (double*)(void*)((char*)element + f->offset);
  x[kn_rng_int(r, f->count)] = strange(r);
}

#define DAMAGE(array, fields)                                                                                \
  if ((array).count)                                                                                         \
  damage(r, &(array).at[kn_rng_int(r, (array).count)], fields, (int)(sizeof fields / sizeof *fields))

static void spoil(kn_spec* s, kn_rng* r) {
  switch (kn_rng_int(r, 5)) {
  case 0: DAMAGE(s->body, body_fields); break;
  case 1: DAMAGE(s->joint, joint_fields); break;
  case 2: DAMAGE(s->geom, geom_fields); break;
  case 3: DAMAGE(s->loop, loop_fields); break;
  default:
    if (s->joint.count) { /* enumerations and flags */
      kn_joint_def* j = &s->joint.at[kn_rng_int(r, s->joint.count)];
      j->type = (kn_joint_type)(kn_rng_int(r, 14) - 2);
      j->limited = kn_rng_int(r, 2);
    }
  }
}

static bool all_finite(const kn_model* m) {
  bool ok = isfinite(m->mass);
  for (int i = 0; i < m->nlink; i++) {
    const double* x = &m->link[i].pitch; /* pitch … I are doubles without gap */
    size_t n = (size_t)((const double*)(&m->link[i] + 1) - x);
    for (size_t k = 0; k < n; k++) ok = ok && isfinite(x[k]);
  }
  for (int i = 0; i < m->nq; i++) ok = ok && isfinite(m->q_ref[i]);
  for (int i = 0; i < m->nlimit; i++) ok = ok && isfinite(m->limit[i].bound);
  return ok;
}

TEST(random_damage_never_gets_through) {
  kn_rng r = kn_rng_seed(11);
  int refused = 0, count = 4000 * kn_test_effort();
  for (int i = 0; i < count; i++) {
    kn_random_settings s = kn_random_default(1 + kn_rng_int(&r, 8));
    s.geoms = s.limits = s.springs = s.actuators = true;
    s.loops = 2;
    kn_spec* spec;
    kn_model* m;
    kn_spec_create(&spec);
    CHECK_OK(kn_random_spec(spec, (uint64_t)i, &s));
    for (int k = kn_rng_int(&r, 3); k >= 0; k--) spoil(spec, &r);
    kn_status status = kn_compile(&m, spec);
    if (status == KN_OK) {
      if (!CHECK(all_finite(m))) printf("  seed %d\n", i);
      kn_model_destroy(m);
    } else {
      refused++;
      CHECK(m == NULL && *kn_last_error());
    }
    kn_spec_destroy(spec);
  }
  CHECK(refused > count / 3 &&
        refused < count); /* the damage matters, and not every spec is damaged beyond use */
  printf("%d of %d refused\n", refused, count);
}
