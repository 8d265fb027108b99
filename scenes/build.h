/* Helpers of the scene builders: one error kept, ids returned, plain geometry. */
#ifndef KN_SCENES_BUILD_H
#define KN_SCENES_BUILD_H

#include <stddef.h>

#include "knuckle/model.h"

/* The first failure sticks; later calls do nothing and return -1. */
typedef struct kn_build {
  kn_spec* spec;
  kn_status status;
} kn_build;

typedef struct kn_v3 {
  double x, y, z;
} kn_v3;

static inline kn_v3 kn_at(double x, double y, double z) { return (kn_v3){x, y, z}; }
static inline void kn_put(double out[3], kn_v3 v) {
  out[0] = v.x;
  out[1] = v.y;
  out[2] = v.z;
}

kn_body kn_make_body(kn_build* b, const kn_body_def* def);
kn_joint kn_make_joint(kn_build* b, const kn_joint_def* def);
kn_geom kn_make_geom(kn_build* b, const kn_geom_def* def);
kn_actuator kn_make_actuator(kn_build* b, const kn_actuator_def* def);
kn_loop kn_make_loop(kn_build* b, const kn_loop_def* def);

/* A body with principal moments about com. */
kn_body kn_body_solid(kn_build* b, const char* name, kn_body parent, kn_v3 pos, double mass, kn_v3 com,
                      kn_v3 moments);
/* A body whose inertia is that of its geoms. */
kn_body kn_body_shaped(kn_build* b, const char* name, kn_body parent, kn_v3 pos);
kn_joint kn_joint_on(kn_build* b, kn_body body, kn_joint_type type, const char* name, kn_v3 axis);
kn_joint kn_joint_free_on(kn_build* b, kn_body body);

kn_geom_def kn_sphere(kn_body body, double radius);
kn_geom_def kn_box(kn_body body, double hx, double hy, double hz);
kn_geom_def kn_capsule(kn_body body, double radius, double half);
/* A capsule from one point to another. */
kn_geom_def kn_capsule_between(kn_body body, double radius, kn_v3 from, kn_v3 to);
/* Plane through pos with the given unit normal. */
kn_geom_def kn_plane(kn_v3 pos, kn_v3 normal);
kn_geom_def kn_floor(double mu, double e);
void kn_paint(kn_geom_def* g, float r, float green, float b);

kn_v3 kn_box_moments(double mass, double hx, double hy, double hz);        /* half extents */
kn_v3 kn_rod_moments(double mass, double length, double radius, int axis); /* solid cylinder along an axis */

/* A free ball of one sphere; body, joint and geom have the name. */
kn_body kn_ball_free(kn_build* b, const char* name, kn_v3 pos, double radius, double mass, double mu,
                     double e);

void kn_gravity(kn_build* b, double x, double y, double z);

/* Sine and cosine by their series after reduction to |x| <= pi/4: a few ulp, the same on every machine. */
void kn_sincos_exact(double* s, double* c, double x);
double kn_angle(double y, double x);                          /* atan2 to a few ulp, from the above */
void kn_quat_about(double quat[4], kn_v3 axis, double angle); /* unit axis */

/* First coordinate and dof of a named joint of a state; NULL when there is none. */
double* kn_joint_q(kn_state* state, const kn_model* model, const char* joint);
double* kn_joint_v(kn_state* state, const kn_model* model, const char* joint);

/* Numbers for jitter: splitmix64, uniform in [lo, hi). */
double kn_jitter(uint64_t* seed, double lo, double hi);

#endif
