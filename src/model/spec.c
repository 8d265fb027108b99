/* The spec: definitions are copied, indices checked when added, everything else by kn_compile (validate.c). */
#include "model/spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hoard.h"

/* ---- defaults ---- */

static const double UNIT_QUAT[4] = {1, 0, 0, 0};

static void set_quat(double q[4]) { memcpy(q, UNIT_QUAT, sizeof UNIT_QUAT); }

kn_material kn_material_default(void) { return (kn_material){.mu = 1.0}; }

kn_body_def kn_body_default(void) {
  kn_body_def d = {.parent = KN_WORLD};
  set_quat(d.quat);
  set_quat(d.inertia_quat);
  return d;
}

kn_joint_def kn_joint_default(kn_joint_type type) {
  kn_joint_def d = {.body = KN_WORLD, .type = type};
  d.axis[2] = 1.0;
  d.axis2[0] = 1.0;
  return d;
}

kn_geom_def kn_geom_default(kn_shape_type type) {
  kn_geom_def d = {
      .body = KN_WORLD, .contype = 1, .conaffinity = 1, .condim = 3, .density = 1000.0, .mass = -1.0};
  d.shape.type = type;
  d.material = kn_material_default();
  set_quat(d.quat);
  for (int i = 0; i < 3; i++) d.rgba[i] = 0.5f;
  d.rgba[3] = 1.0f;
  return d;
}

kn_frame_def kn_frame_default(void) {
  kn_frame_def d = {.body = KN_WORLD, .zone = KN_SHAPE_SPHERE, .zone_size = {0.005, 0.005, 0.005}};
  set_quat(d.quat);
  return d;
}

kn_actuator_def kn_actuator_default(void) {
  kn_actuator_def d = {.joints = 1, .gain = 1.0, .site = -1, .refsite = -1};
  for (int i = 0; i < 8; i++) d.joint[i] = -1, d.gear[i] = 1.0;
  return d;
}

kn_actuator_def kn_actuator_position(kn_joint joint, double kp, double kv) {
  kn_actuator_def d = kn_actuator_default();
  d.joint[0] = joint;
  d.gain = kp;
  d.bias[1] = -kp;
  d.bias[2] = -kv;
  return d;
}

kn_actuator_def kn_actuator_velocity(kn_joint joint, double kv) {
  kn_actuator_def d = kn_actuator_default();
  d.joint[0] = joint;
  d.gain = kv;
  d.bias[2] = -kv;
  return d;
}

kn_loop_def kn_loop_default(kn_loop_type type) {
  kn_loop_def d = {.type = type, .a = KN_WORLD, .b = KN_WORLD, .joint1 = -1, .joint2 = -1};
  set_quat(d.quat_a);
  set_quat(d.quat_b);
  if (type == KN_LOOP_COUPLING) d.coef[1] = 1.0;
  return d;
}

kn_sensor_def kn_sensor_default(kn_sensor_type type) {
  return (kn_sensor_def){.type = type,
                         .frame = -1,
                         .body = KN_WORLD,
                         .ref_frame = -1,
                         .ref_body = KN_WORLD,
                         .joint = -1,
                         .actuator = -1};
}

kn_pair_def kn_pair_default(void) {
  return (kn_pair_def){.a = -1, .b = -1, .material = kn_material_default(), .condim = 3};
}

/* ---- life ---- */

kn_status kn_spec_create(kn_spec** spec) {
  KN_REQUIRE(spec != NULL);
  *spec = calloc(1, sizeof **spec);
  if (!*spec)
    return kn_fail(KN_OUT_OF_MEMORY, "kn_spec_create: %zu bytes could not be allocated", sizeof **spec);
  (*spec)->gravity[2] = -9.81;
  (*spec)->magnetic[1] = -0.5;
  return KN_OK;
}

static void release(const void* memory) { free((void*)(uintptr_t)memory); }

void kn_spec_destroy(kn_spec* spec) {
  if (!spec) return;
  for (int i = 0; i < spec->key.count; i++) {
    release(spec->key.at[i].q);
    release(spec->key.at[i].v);
    release(spec->key.at[i].ctrl);
  }
#define X(field, kind, type, list, total)                                                                    \
  for (int i = 0; i < spec->field.count; i++) release(spec->field.at[i].name);                               \
  free(spec->field.at);
  KN_SPEC_KINDS(X)
#undef X
  kn_shape_pool_release(spec->shapes);
  free(spec->exclusion.at);
  for (int i = 0; i < spec->origin.files; i++) free(spec->origin.file[i]);
  free(spec->origin.file);
  free(spec->origin.at);
  free(spec->name);
  free(spec);
}

/* ---- adding ---- */

static kn_status out_of_memory(void) { return kn_fail(KN_OUT_OF_MEMORY, "the spec could not grow"); }

static kn_status grow(void** at, int count, int* capacity, size_t size) {
  if (count > (1 << 28)) return kn_fail(KN_NO_ROOM, "more than %d elements of one kind", 1 << 28);
  return kn_array_grow(at, capacity, count + 1, size) ? KN_OK : out_of_memory();
}

/* ---- where elements came from ---- */

static const char* own_file(kn_spec* spec, const char* file) {
  for (int i = spec->origin.files - 1; i >= 0; i--)
    if (strcmp(spec->origin.file[i], file) == 0) return spec->origin.file[i];
  if (!KN_ROOM(spec->origin.file, spec->origin.file_room, spec->origin.files + 1)) return NULL;
  char* own = strdup(file);
  if (own) spec->origin.file[spec->origin.files++] = own;
  return own;
}

kn_status kn_spec_came_from(kn_spec* spec, const char* file, int line, int column) {
  const int count[KN_KINDS] = {
#define X(field, kind, type, list, total) spec->field.count,
      KN_SPEC_KINDS(X)
#undef X
  };
  const char* own = own_file(spec, file);
  if (!own) return out_of_memory();
  for (int kind = 0; kind < KN_KINDS; kind++)
    for (int* i = &spec->origin.told[kind]; *i < count[kind]; ++*i) {
      if (!KN_ROOM(spec->origin.at, spec->origin.capacity, spec->origin.count + 1)) return out_of_memory();
      spec->origin.at[spec->origin.count++] = (kn_origin){kind, *i, own, line, column};
    }
  return KN_OK;
}

kn_status kn_spec_blame(const kn_spec* spec, kn_status status, const char* kind, int index) {
  static const char* const kinds[KN_KINDS] = {
#define X(field, kind, type, list, total) kind,
      KN_SPEC_KINDS(X)
#undef X
  };
  for (int i = 0; i < spec->origin.count; i++) {
    const kn_origin* o = &spec->origin.at[i];
    if (o->index != index || strcmp(kinds[o->kind], kind) != 0) continue;
    char text[512];
    snprintf(text, sizeof text, "%s", kn_last_error());
    return kn_fail_at(status, o->file, o->line, o->column, "%s", text);
  }
  return status;
}

/* NULL and "" are nameless. */
static kn_status copy_text(const char** out, const char* text) {
  *out = NULL;
  if (!text || !*text) return KN_OK;
  *out = strdup(text);
  return *out ? KN_OK : out_of_memory();
}

static kn_status copy_numbers(const double** out, const double* x, int n) {
  *out = NULL;
  if (!x || n <= 0) return KN_OK;
  double* copy = malloc((size_t)n * sizeof *copy);
  if (!copy) return out_of_memory();
  memcpy(copy, x, (size_t)n * sizeof *copy);
  *out = copy;
  return KN_OK;
}

static const char* shown(const char* name) { return name && *name ? name : "(nameless)"; }

static kn_status check_index(int index, int count, int least, const char* kind, const char* name,
                             const char* field) {
  if (index >= least && index < count) return KN_OK;
  return kn_fail(KN_BAD_ARGUMENT, "%s '%s': %s is %d, but only %d to %d have been added so far", kind,
                 shown(name), field, index, least, count - 1);
}

/* Room for one more in `field`, the definition copied with a name of its own. */
#define APPEND(field)                                                                                        \
  do {                                                                                                       \
    void* at_ = spec->field.at;                                                                              \
    kn_status status_ = grow(&at_, spec->field.count, &spec->field.capacity, sizeof *spec->field.at);        \
    spec->field.at = at_;                                                                                    \
    if (status_ != KN_OK) return status_;                                                                    \
    spec->field.at[spec->field.count] = *def;                                                                \
    KN_TRY(copy_text(&spec->field.at[spec->field.count].name, def->name));                                   \
    spec->field.count++;                                                                                     \
  } while (0)

/* … and its index told: the end of a call that adds. */
#define ADD(field)                                                                                           \
  do {                                                                                                       \
    APPEND(field);                                                                                           \
    if (id) *id = spec->field.count - 1;                                                                     \
    return KN_OK;                                                                                            \
  } while (0)

kn_status kn_spec_add_body(kn_body* id, kn_spec* spec, const kn_body_def* def) {
  KN_REQUIRE(spec != NULL && def != NULL);
  KN_TRY(
      check_index(def->parent, spec->body.count, KN_WORLD, "body", def->name, "parent (add parents first)"));
  ADD(body);
}

kn_status kn_spec_add_joint(kn_joint* id, kn_spec* spec, const kn_joint_def* def) {
  KN_REQUIRE(spec != NULL && def != NULL);
  KN_TRY(check_index(def->body, spec->body.count, 0, "joint", def->name, "body"));
  ADD(joint);
}

kn_status kn_spec_add_geom(kn_geom* id, kn_spec* spec, const kn_geom_def* def) {
  KN_REQUIRE(spec != NULL && def != NULL);
  KN_TRY(check_index(def->body, spec->body.count, KN_WORLD, "geom", def->name, "body"));
  APPEND(geom);
  kn_status status = def->own_shape ? kn_shape_pool_add(&spec->shapes, &def->shape) : KN_OK;
  if (status != KN_OK) {
    release(spec->geom.at[--spec->geom.count].name);
    return status;
  }
  if (id) *id = spec->geom.count - 1;
  return KN_OK;
}

kn_status kn_spec_add_frame(kn_frame* id, kn_spec* spec, const kn_frame_def* def) {
  KN_REQUIRE(spec != NULL && def != NULL);
  KN_TRY(check_index(def->body, spec->body.count, KN_WORLD, "frame", def->name, "body"));
  ADD(frame);
}

kn_status kn_spec_add_actuator(kn_actuator* id, kn_spec* spec, const kn_actuator_def* def) {
  KN_REQUIRE(spec != NULL && def != NULL);
  bool through_site = def->joints == 0 && def->site >= 0;
  if (!through_site && (def->joints < 1 || def->joints > 8))
    return kn_fail(KN_BAD_ARGUMENT, "actuator '%s': joints is %d, expected 1 to 8, or 0 and a site",
                   shown(def->name), def->joints);
  if (through_site) {
    KN_TRY(check_index(def->site, spec->frame.count, 0, "actuator", def->name, "site"));
    KN_TRY(check_index(def->refsite, spec->frame.count, -1, "actuator", def->name, "refsite"));
  }
  for (int i = 0; i < def->joints; i++)
    KN_TRY(check_index(def->joint[i], spec->joint.count, 0, "actuator", def->name, "joint"));
  ADD(actuator);
}

kn_status kn_spec_add_loop(kn_loop* id, kn_spec* spec, const kn_loop_def* def) {
  KN_REQUIRE(spec != NULL && def != NULL);
  if (def->type == KN_LOOP_COUPLING) {
    KN_TRY(check_index(def->joint1, spec->joint.count, 0, "loop", def->name, "joint1"));
    KN_TRY(check_index(def->joint2, spec->joint.count, -1, "loop", def->name, "joint2"));
  } else {
    KN_TRY(check_index(def->a, spec->body.count, KN_WORLD, "loop", def->name, "a"));
    KN_TRY(check_index(def->b, spec->body.count, KN_WORLD, "loop", def->name, "b"));
  }
  ADD(loop);
}

kn_status kn_spec_add_sensor(kn_sensor* id, kn_spec* spec, const kn_sensor_def* def) {
  KN_REQUIRE(spec != NULL && def != NULL);
  KN_TRY(check_index(def->frame, spec->frame.count, -1, "sensor", def->name, "frame"));
  KN_TRY(check_index(def->body, spec->body.count, KN_WORLD, "sensor", def->name, "body"));
  KN_TRY(check_index(def->ref_frame, spec->frame.count, -1, "sensor", def->name, "ref_frame"));
  KN_TRY(check_index(def->ref_body, spec->body.count, KN_WORLD, "sensor", def->name, "ref_body"));
  KN_TRY(check_index(def->joint, spec->joint.count, -1, "sensor", def->name, "joint"));
  KN_TRY(check_index(def->actuator, spec->actuator.count, -1, "sensor", def->name, "actuator"));
  ADD(sensor);
}

kn_status kn_spec_add_pair(kn_spec* spec, const kn_pair_def* def) {
  KN_REQUIRE(spec != NULL && def != NULL);
  KN_TRY(check_index(def->a, spec->geom.count, 0, "pair", def->name, "a"));
  KN_TRY(check_index(def->b, spec->geom.count, 0, "pair", def->name, "b"));
  APPEND(pair);
  return KN_OK;
}

kn_status kn_spec_add_exclusion(kn_spec* spec, kn_body a, kn_body b) {
  KN_REQUIRE(spec != NULL);
  KN_TRY(check_index(a, spec->body.count, KN_WORLD, "exclusion", NULL, "a"));
  KN_TRY(check_index(b, spec->body.count, KN_WORLD, "exclusion", NULL, "b"));
  void* at = spec->exclusion.at;
  kn_status status = grow(&at, spec->exclusion.count, &spec->exclusion.capacity, sizeof *spec->exclusion.at);
  spec->exclusion.at = at;
  if (status != KN_OK) return status;
  spec->exclusion.at[spec->exclusion.count++] = (kn_body_pair){a, b};
  return KN_OK;
}

kn_status kn_spec_add_keyframe(kn_spec* spec, const kn_keyframe_def* def) {
  KN_REQUIRE(spec != NULL && def != NULL);
  APPEND(key);
  kn_keyframe_def* k = &spec->key.at[spec->key.count - 1];
  k->q = k->v = k->ctrl = NULL;
  kn_status status = copy_numbers(&k->q, def->q, def->nq);
  if (status == KN_OK) status = copy_numbers(&k->v, def->v, def->nv);
  if (status == KN_OK) status = copy_numbers(&k->ctrl, def->ctrl, def->nu);
  return status;
}

/* Something falls, and nothing fixed below it stops it. */
static bool needs_floor(const kn_spec* spec) {
  bool falls = false, floor = false;
  for (int i = 0; i < spec->joint.count; i++) falls |= spec->joint.at[i].type == KN_JOINT_FREE;
  for (int i = 0; i < spec->geom.count; i++) {
    const kn_geom_def* g = &spec->geom.at[i];
    floor |= g->body == KN_WORLD && g->shape.type == KN_SHAPE_PLANE && (g->contype || g->conaffinity);
  }
  return falls && !floor;
}

kn_status kn_spec_add_floor(kn_spec* spec) {
  KN_REQUIRE(spec != NULL);
  if (!needs_floor(spec)) return KN_OK;
  kn_geom_def floor = kn_geom_default(KN_SHAPE_PLANE);
  floor.name = "knuckle-floor";
  floor.body = KN_WORLD;
  floor.contype = floor.conaffinity = UINT32_MAX; /* whatever the mechanism's bits say */
  kn_geom id;
  return kn_spec_add_geom(&id, spec, &floor);
}

kn_status kn_spec_set_surfaces(kn_spec* spec, double mu, double e) {
  KN_REQUIRE(spec != NULL);
  if (mu < 0.0) return kn_fail(KN_BAD_ARGUMENT, "mu is %g, expected 0 or more", mu);
  if (e < 0.0 || e > 1.0) return kn_fail(KN_BAD_ARGUMENT, "e is %g, expected 0 to 1", e);
  for (int i = 0; i < spec->geom.count + spec->pair.count; i++) {
    bool geom = i < spec->geom.count;
    kn_material* m = geom ? &spec->geom.at[i].material : &spec->pair.at[i - spec->geom.count].material;
    if (!isnan(mu)) m->mu = mu;
    if (!isnan(e)) m->e = e;
  }
  return KN_OK;
}

static kn_status set_vector(double to[3], const double from[3], const char* what) {
  for (int i = 0; i < 3; i++)
    if (!isfinite(from[i]))
      return kn_fail(KN_BAD_ARGUMENT, "%s[%d] is %g, expected a finite number", what, i, from[i]);
  memcpy(to, from, 3 * sizeof *from);
  return KN_OK;
}

kn_status kn_spec_set_gravity(kn_spec* spec, const double gravity[3]) {
  KN_REQUIRE(spec != NULL && gravity != NULL);
  return set_vector(spec->gravity, gravity, "gravity");
}

kn_status kn_spec_set_magnetic(kn_spec* spec, const double field[3]) {
  KN_REQUIRE(spec != NULL && field != NULL);
  return set_vector(spec->magnetic, field, "magnetic");
}

kn_status kn_spec_disable_actuators(kn_spec* spec) {
  KN_REQUIRE(spec != NULL);
  for (int i = 0; i < spec->actuator.count; i++) {
    kn_actuator_def* a = &spec->actuator.at[i];
    a->gain = a->bias[0] = a->bias[1] = a->bias[2] = 0.0;
  }
  return KN_OK;
}

kn_status kn_spec_set_name(kn_spec* spec, const char* name) {
  KN_REQUIRE(spec != NULL);
  const char* copy;
  KN_TRY(copy_text(&copy, name));
  free(spec->name);
  spec->name = (char*)(uintptr_t)copy;
  return KN_OK;
}
