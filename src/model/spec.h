/* The editable description: growing arrays of definitions with names of their own. */
#pragma once

#include "knuckle/spec.h"
#include "knuckle/types.h"

/* How many numbers of a shape's size have a meaning. */
int kn_shape_sizes(kn_shape_type type);

/* Hulls and meshes handed over with own_shape: shared by the spec and the models compiled from it, freed with
   the last of them. */
typedef struct kn_shape_pool kn_shape_pool;

/* Takes over the shape's hull and mesh (each once, however often it comes). *pool is made when NULL. On
   failure nothing is taken over. */
kn_status kn_shape_pool_add(kn_shape_pool** pool, const kn_shape* shape);
kn_shape_pool* kn_shape_pool_share(kn_shape_pool* pool);
void kn_shape_pool_release(kn_shape_pool* pool);

/* Everything with a name: its list in the spec, the word for it in messages, its type, and its list and count in the
   compiled model. */
#define KN_SPEC_KINDS(X)                                                                                     \
  X(body, "body", kn_body_def, body, nbody)                                                                  \
  X(joint, "joint", kn_joint_def, joint, njoint)                                                             \
  X(geom, "geom", kn_geom_def, geom, ngeom)                                                                  \
  X(frame, "frame", kn_frame_def, frame, nframe)                                                             \
  X(actuator, "actuator", kn_actuator_def, actuator, nu)                                                     \
  X(loop, "loop", kn_loop_def, loop, nloop)                                                                  \
  X(sensor, "sensor", kn_sensor_def, sense.sensor, sense.count)                                              \
  X(pair, "pair", kn_pair_def, rules.pair, rules.npair)                                                      \
  X(key, "keyframe", kn_keyframe_def, key, nkey)

typedef struct kn_body_pair {
  kn_body a, b;
} kn_body_pair;

/* Where in a file an element stands. */
typedef struct kn_origin {
  int kind, index; /* kind: by the order of KN_SPEC_KINDS */
  const char* file;
  int line, column;
} kn_origin;
enum {
#define X(field, kind, type, list, total) KN_KIND_##field,
  KN_SPEC_KINDS(X)
#undef X
      KN_KINDS
};

struct kn_spec {
  char* name;
  double gravity[3], magnetic[3];
  bool compiled; /* definitions of a model, read back: axes and quaternions stay as they are, to the bit */
  kn_shape_pool* shapes; /* NULL while nothing is owned */
#define X(field, kind, type, list, total)                                                                    \
  struct {                                                                                                   \
    type* at;                                                                                                \
    int count, capacity;                                                                                     \
  } field;
  KN_SPEC_KINDS(X)
#undef X
  struct {
    kn_body_pair* at;
    int count, capacity;
  } exclusion;
  struct {
    kn_origin* at;
    int count, capacity, told[KN_KINDS]; /* told: elements of each kind that have theirs */
    char** file;
    int files, file_room;
  } origin; /* empty: nothing came from a file */
};

/* Elements that were added since the last call came from there: kn_compile says so of what it refuses. */
kn_status kn_spec_came_from(kn_spec* spec, const char* file, int line, int column);
/* Puts the place of an element before the last error, where it has one. */
kn_status kn_spec_blame(const kn_spec* spec, kn_status status, const char* kind, int index);
