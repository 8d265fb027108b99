/* Reading a compiled model. */
#include "model/model.h"

#include <string.h>

#include "base/error.h"
#include "model/nearest_name.h"

#define SIZE(function, field)                                                                                \
  int function(const kn_model* model) { return model ? model->field : 0; }
SIZE(kn_model_nq, nq)
SIZE(kn_model_nv, nv)
SIZE(kn_model_nu, nu)
SIZE(kn_model_bodies, nbody)
SIZE(kn_model_joints, njoint)
SIZE(kn_model_geoms, ngeom)
SIZE(kn_model_frames, nframe)
SIZE(kn_model_loops, nloop)
SIZE(kn_model_keyframes, nkey)
SIZE(kn_model_sensors, sense.count)
SIZE(kn_model_pairs, rules.npair)
SIZE(kn_model_exclusions, rules.nexclusion)

double kn_model_mass(const kn_model* model) { return model ? model->mass : 0.0; }
const char* kn_model_name(const kn_model* model) { return model ? model->name : NULL; }
uint64_t kn_model_hash(const kn_model* model) { return model ? model->hash : 0; }

void kn_model_gravity(double gravity[3], const kn_model* model) {
  if (gravity && model) memcpy(gravity, model->gravity, sizeof model->gravity);
}

void kn_model_magnetic(double field[3], const kn_model* model) {
  if (field && model) memcpy(field, model->sense.magnetic, sizeof model->sense.magnetic);
}

/* ---- names ---- */

#define FIND(function, type, field, count, kind)                                                             \
  static const char* name_of_##type(const void* model, int i) {                                              \
    return ((const kn_model*)model)->field[i].name;                                                          \
  }                                                                                                          \
  kn_status function(type* id, const kn_model* model, const char* name) {                                    \
    KN_REQUIRE(id != NULL && model != NULL && name != NULL);                                                 \
    return kn_find_name(id, kind, name, model->count, name_of_##type, model);                                \
  }
FIND(kn_model_find_joint, kn_joint, joint, njoint, "joint")
FIND(kn_model_find_geom, kn_geom, geom, ngeom, "geom")
FIND(kn_model_find_frame, kn_frame, frame, nframe, "frame")
FIND(kn_model_find_actuator, kn_actuator, actuator, nu, "actuator")
FIND(kn_model_find_loop, kn_loop, loop, nloop, "loop")
FIND(kn_model_find_sensor, kn_sensor, sense.sensor, sense.count, "sensor")
FIND(kn_model_find_keyframe, int, key, nkey, "keyframe")

static const char* name_of_body(const void* model, int i) { return ((const kn_model*)model)->body[i].name; }

kn_status kn_model_find_body(kn_body* id, const kn_model* model, const char* name) {
  KN_REQUIRE(id != NULL && model != NULL && name != NULL);
  kn_status status = kn_find_name(id, "body", name, model->nbody, name_of_body, model);
  if (status == KN_OK || strcmp(name, "world") != 0) return status;
  *id = KN_WORLD;
  return KN_OK;
}

#define NAME(function, type, field, count)                                                                   \
  const char* function(const kn_model* model, type id) {                                                     \
    return model && id >= 0 && id < model->count ? model->field[id].name : NULL;                             \
  }
NAME(kn_joint_name, kn_joint, joint, njoint)
NAME(kn_geom_name, kn_geom, geom, ngeom)
NAME(kn_frame_name, kn_frame, frame, nframe)
NAME(kn_actuator_name, kn_actuator, actuator, nu)
NAME(kn_loop_name, kn_loop, loop, nloop)
NAME(kn_sensor_name, kn_sensor, sense.sensor, sense.count)

const char* kn_body_name(const kn_model* model, kn_body body) {
  if (!model || body < KN_WORLD || body >= model->nbody) return NULL;
  return body == KN_WORLD ? "world" : model->body[body].name;
}

/* ---- definitions ---- */

#define DEFINITION(function, type, index, field, count, kind)                                                \
  kn_status function(type* def, const kn_model* model, index id) {                                           \
    KN_REQUIRE(def != NULL && model != NULL);                                                                \
    if (id < 0 || id >= model->count)                                                                        \
      return kn_fail(KN_BAD_ARGUMENT, "%s: " kind " %d, but the model has %d", __func__, id, model->count);  \
    *def = model->field[id];                                                                                 \
    return KN_OK;                                                                                            \
  }
DEFINITION(kn_model_body, kn_body_def, kn_body, body, nbody, "body")
DEFINITION(kn_model_joint, kn_joint_def, kn_joint, joint, njoint, "joint")
DEFINITION(kn_model_geom, kn_geom_def, kn_geom, geom, ngeom, "geom")
DEFINITION(kn_model_frame, kn_frame_def, kn_frame, frame, nframe, "frame")
DEFINITION(kn_model_actuator, kn_actuator_def, kn_actuator, actuator, nu, "actuator")
DEFINITION(kn_model_loop, kn_loop_def, kn_loop, loop, nloop, "loop")
DEFINITION(kn_model_sensor, kn_sensor_def, kn_sensor, sense.sensor, sense.count, "sensor")

DEFINITION(kn_model_pair, kn_pair_def, int, rules.pair, rules.npair, "pair")
DEFINITION(kn_model_keyframe, kn_keyframe_def, int, key, nkey, "keyframe")

kn_status kn_model_exclusion(kn_body body[2], const kn_model* model, int exclusion) {
  KN_REQUIRE(body != NULL && model != NULL && exclusion >= 0 && exclusion < model->rules.nexclusion);
  memcpy(body, model->rules.exclusion[exclusion], sizeof model->rules.exclusion[exclusion]);
  return KN_OK;
}

kn_status kn_model_material(kn_material* material, const kn_model* model, kn_geom a, kn_geom b) {
  KN_REQUIRE(material != NULL && model != NULL && a >= 0 && a < model->ngeom && b >= 0 && b < model->ngeom);
  kn_material_pair(material, model, a, b);
  return KN_OK;
}

kn_status kn_model_joint_address(int* q, int* nq, int* v, int* nv, const kn_model* model, kn_joint joint) {
  KN_REQUIRE(model != NULL);
  if (joint < 0 || joint >= model->njoint)
    return kn_fail(KN_BAD_ARGUMENT, "kn_model_joint_address: joint %d, but the model has %d", joint,
                   model->njoint);
  int n = model->joint_nlink[joint];
  const kn_link* l = n ? &model->link[model->joint_link[joint]] : NULL;
  if (q) *q = l ? l->q : 0;
  if (v) *v = l ? l->v : 0;
  if (nq) *nq = l ? l[n - 1].q + l[n - 1].nq - l->q : 0;
  if (nv) *nv = l ? l[n - 1].v + l[n - 1].nv - l->v : 0;
  return KN_OK;
}
