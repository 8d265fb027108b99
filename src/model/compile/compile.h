/* Stages of kn_compile. Each reads what the ones before it have filled in. */
#pragma once

#include "model/model.h"
#include "model/spec.h"

enum { KN_JOINT_LINKS = 3 }; /* most links one joint becomes */

/* One joint as primitives: their types and link frames in the body frame. */
typedef struct kn_primitive {
  int type;        /* kn_link_type */
  kn_pose in_body; /* link frame at the reference position */
} kn_primitive;

/* Number of primitives written; 0 for fixed. The definition is valid, its axes are unit. */
int kn_joint_links(kn_joint_type type); /* number of links */
int kn_joint_nq(kn_joint_type type);
int kn_joint_nv(kn_joint_type type);
int kn_sensor_numbers(kn_sensor_type type); /* validate_sensors.c */

/* Checks the whole spec: KN_BAD_MODEL and the offender's name. */
kn_status kn_spec_validate(const kn_spec* spec);

/* Bodies -> links, places of bodies and geoms, order of coordinates. */
kn_status kn_compile_links(kn_model* model);
/* Mass, centre of mass and tensor of bodies (body axes), then of links. */
kn_status kn_compile_inertia(kn_model* model);
/* Limits, transmissions, per-dof and per-coordinate arrays. */
void kn_compile_joints(kn_model* model);
/* Closures given by the reference position. */
void kn_compile_loops(kn_model* model);
/* Sorted keys of pairs and exclusions. */
kn_status kn_compile_pairs(kn_model* model);
/* What only the links can tell: planes that move, loops and pairs within one link, rotations of keyframes. */
kn_status kn_compile_check(const kn_model* model);
/* Every dof must move some inertia: otherwise M is singular. */
kn_status kn_compile_rank(const kn_model* model);
uint64_t kn_compile_hash(const kn_model* model);

/* World pose of a body with all joints at their reference position. */
kn_pose kn_body_reference(const kn_model* model, kn_body body);

int kn_count_limits(const kn_joint_def* joint, int njoint);

/* Checks with messages "kind index 'name': field is value, expected …". */
typedef struct kn_who { /* the element under test */
  const char* kind;
  int index;
  const char* name;
} kn_who;

kn_status kn_refuse(const kn_who* who, const char* format, ...) __attribute__((format(printf, 2, 3)));

const kn_who* kn_refused(void); /* the element of the last kn_refuse since kn_refused_none, NULL: none */
void kn_refused_none(void);

kn_status kn_check_finite(const kn_who* who, const char* field, const double* x, int n);
kn_status kn_check_not_negative(const kn_who* who, const char* field, double x); /* and finite */
kn_status kn_check_quat(const kn_who* who, const char* field, const double q[4]);
kn_status kn_check_range(const kn_who* who, const char* field, const double range[2]); /* may be infinite */

kn_status kn_validate_geom(const kn_who* who, const kn_geom_def* d);
kn_status kn_validate_pair(const kn_spec* spec, const kn_who* who, const kn_pair_def* d);
kn_status kn_validate_actuator(const kn_spec* spec, const kn_who* who, const kn_actuator_def* d);
kn_status kn_validate_sensor(const kn_spec* spec, const kn_who* who, const kn_sensor_def* d);
kn_status kn_validate_loop(const kn_spec* spec, const kn_who* who, const kn_loop_def* d);
kn_status kn_validate_keyframe(const kn_spec* spec, const kn_who* who, const kn_keyframe_def* k);
kn_status kn_validate_names(const kn_spec* spec);
