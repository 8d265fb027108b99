/* The editable description: growing arrays of definitions with names of their own. */
#ifndef KN_MODEL_SPEC_H
#define KN_MODEL_SPEC_H

#include "knuckle/spec.h"
#include "model/shapes.h"

#define KN_SPEC_ARRAY(type)                                                                                  \
  struct {                                                                                                   \
    type* at;                                                                                                \
    int count, capacity;                                                                                     \
  }

typedef struct kn_body_pair {
  kn_body a, b;
} kn_body_pair;

struct kn_spec {
  char* name;
  double gravity[3], magnetic[3];
  bool compiled; /* definitions of a model, read back: axes and quaternions stay as they are, to the bit */
  kn_shape_pool* shapes; /* NULL while nothing is owned */
  KN_SPEC_ARRAY(kn_body_def) body;
  KN_SPEC_ARRAY(kn_joint_def) joint;
  KN_SPEC_ARRAY(kn_geom_def) geom;
  KN_SPEC_ARRAY(kn_frame_def) frame;
  KN_SPEC_ARRAY(kn_actuator_def) actuator;
  KN_SPEC_ARRAY(kn_loop_def) loop;
  KN_SPEC_ARRAY(kn_sensor_def) sensor;
  KN_SPEC_ARRAY(kn_pair_def) pair;
  KN_SPEC_ARRAY(kn_body_pair) exclusion;
  KN_SPEC_ARRAY(kn_keyframe_def) key;
};

#endif
