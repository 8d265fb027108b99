/* <sensor>: what a sensor looks at must exist; what it measures becomes a sensor of the spec. Frames of geoms and
   of bodies' inertia (objtype "geom", "body") become nameless frames of the spec, placed as MuJoCo places them. */
#include <string.h>

#include "base/error.h"
#include "load/mjcf/mjcf.h"
#include "spatial/spatial.h"

static int type_of(const char* tag) {
  static const char* const tags[] = {
#define X(id, name, dim, unit, doc) name,
      KN_SENSOR_LIST(X)
#undef X
  };
  int i = 0;
  while (i < KN_SENSOR_TYPE_COUNT && strcmp(tags[i], tag) != 0) i++;
  return i;
}

/* A nameless frame on a body; its index. */
static kn_status new_frame(kn_frame* out, kn_mj_loader* l, const kn_xml_node* node, kn_body body,
                           const double pos[3], const double quat[4]) {
  KN_MJ_NEW(kn_mj_site, s, l, site, node);
  *s = (kn_mj_site){.def = kn_frame_default(), .node = node};
  s->def.body = body;
  kn_copy3(s->def.pos, pos);
  memcpy(s->def.quat, quat, sizeof s->def.quat);
  *out = l->site.count - 1;
  return KN_OK;
}

/* MuJoCo's frame of a geom; of a mesh it is that of the mesh's inertia. */
static kn_status geom_frame(double pos[3], double quat[4], const kn_mj_geom* g) {
  kn_copy3(pos, g->def.pos);
  memcpy(quat, g->def.quat, sizeof g->def.quat);
  if (!g->mesh) return KN_OK;
  union {
    const kn_mj_mesh* in;
    kn_mj_mesh* out;
  } mesh = {g->mesh}; /* properties are computed at first use */
  KN_TRY(kn_mj_mesh_props(mesh.out));
  double moments[3], axes[4];
  KN_TRY(kn_principal_axes(moments, axes, g->mesh->props.inertia));
  kn_pose geom = kn_pose_make(pos, quat);
  kn_pose_apply(pos, &geom, g->mesh->props.com);
  kn_quat_mul(quat, quat, axes);
  return KN_OK;
}

/* The only geom with mass of a body, or NULL: its frame is then the body's inertial frame. */
static const kn_mj_geom* only_geom(const kn_mj_loader* l, int body) {
  const kn_mj_geom* only = NULL;
  for (int i = 0; i < l->geom.count; i++) {
    const kn_mj_geom* g = &l->geom.at[i];
    if (g->def.body != body || !(g->props.mass > 0.0)) continue;
    if (only) return NULL;
    only = g;
  }
  return only;
}

static kn_status inertial_frame(double pos[3], double quat[4], const kn_mj_loader* l, int body) {
  const kn_mj_body* b = &l->body.at[body];
  const double* I = b->def.inertia;
  const kn_mj_geom* geom = b->by_geoms ? only_geom(l, body) : NULL;
  if (geom) return geom_frame(pos, quat, geom);
  kn_copy3(pos, b->def.com);
  memcpy(quat, b->def.inertia_quat, sizeof b->def.inertia_quat);
  if (!b->by_geoms && I[3] == 0.0 && I[4] == 0.0 && I[5] == 0.0) return KN_OK;
  double moments[3], axes[4];
  KN_TRY(kn_principal_axes(moments, axes, I));
  kn_quat_mul(quat, quat, axes);
  return KN_OK;
}

/* objtype and objname, or reftype and refname. */
static kn_status read_object(kn_frame* frame, kn_body* body, kn_mj_loader* l, const kn_mj_document* d,
                             const kn_xml_node* node, const char* type_key, const char* name_key) {
  static const char kinds[] = "bbgsc";
  const kn_xml_attr *type = kn_xml_find(node, type_key), *name = kn_xml_find(node, name_key);
  int k, index;
  double pos[3], quat[4];
  if (!type && !name) return KN_OK;
  if (!type || !name)
    return kn_xml_fail(node, "<%s> with only one of %s and %s, expected both", node->name, type_key,
                       name_key);
  KN_TRY(kn_value_keyword(&k, type, "body|xbody|geom|site|camera"));
  if (k == 4) return KN_UNSUPPORTED;
  KN_TRY(kn_mj_find(&index, l, d, kinds[k], name));
  if (k == 3) *frame = index;
  if (k == 1 || (k == 0 && index == KN_WORLD)) *body = index;
  if (k == 1 || k == 3 || index == KN_WORLD) return KN_OK;
  if (k == 0) KN_TRY(inertial_frame(pos, quat, l, index));
  if (k == 2) KN_TRY(geom_frame(pos, quat, &l->geom.at[index]));
  return new_frame(frame, l, node, k == 0 ? index : l->geom.at[index].def.body, pos, quat);
}

/* What every reference of the element points at. */
static kn_status read_references(kn_sensor_def* s, kn_mj_loader* l, const kn_mj_document* d,
                                 const kn_xml_node* node) {
  static const struct {
    const char* name;
    char kind;
  } refs[] = {{"joint", 'j'}, {"site", 's'},  {"tendon", 't'}, {"actuator", 'a'}, {"body", 'b'},
              {"geom", 'g'},  {"body1", 'b'}, {"body2", 'b'},  {"geom1", 'g'},    {"geom2", 'g'}};
  for (size_t i = 0; i < sizeof refs / sizeof *refs; i++) {
    const kn_xml_attr* a = kn_xml_find(node, refs[i].name);
    int index;
    if (!a) continue;
    KN_TRY(kn_mj_find(&index, l, d, refs[i].kind, a));
    if (i == 0) s->joint = index;
    if (i == 1) s->frame = index;
    if (i == 3) s->actuator = index;
    if (i == 4) s->body = index;
  }
  return KN_OK;
}

static kn_status left_out(kn_mj_loader* l, const kn_xml_node* node, const char* why) {
  return kn_note_node(l->report, KN_NOTE_UNSUPPORTED, node, "<%s> sensors %s; this one was left out",
                      node->name, why);
}

/* The element a sensor of this type must name. */
static kn_status check_complete(const kn_sensor_def* s, const kn_xml_node* node) {
  const char* missing = NULL;
  if (s->type <= KN_SENSOR_RANGEFINDER && s->frame < 0) missing = "site";
  if (s->type >= KN_SENSOR_JOINT_POS && s->type <= KN_SENSOR_JOINT_FORCE && s->joint < 0) missing = "joint";
  if (s->type >= KN_SENSOR_ACTUATOR_POS && s->type <= KN_SENSOR_ACTUATOR_FORCE && s->actuator < 0)
    missing = "actuator";
  if (s->type >= KN_SENSOR_SUBTREE_COM && s->type <= KN_SENSOR_SUBTREE_ANGMOM && !kn_xml_find(node, "body"))
    missing = "body";
  if (s->type >= KN_SENSOR_FRAME_POS && s->type <= KN_SENSOR_FRAME_ANGACC && !kn_xml_find(node, "objname"))
    missing = "objtype and objname";
  if (!missing) return KN_OK;
  return kn_xml_fail(node, "<%s> looks at nothing, expected %s=\"…\"", node->name, missing);
}

/* What a file may ask of a known sensor and this loader cannot give; NULL: nothing. */
static const char* beyond(const kn_mj_loader* l, const kn_sensor_def* s, const kn_xml_node* node) {
  const kn_xml_attr* data = kn_xml_find(node, "data");
  if (s->type == KN_SENSOR_RANGEFINDER &&
      (kn_xml_find(node, "camera") || (data && strcmp(data->value, "dist"))))
    return "of cameras, or with other data than the distance, are not supported";
  if (s->actuator >= 0 && !l->actuator.at[s->actuator].emit)
    return "of an actuator that was left out have nothing to measure";
  return NULL;
}

static kn_status read_sensor(kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node) {
  const kn_mj_document* d = scope->document;
  int type = type_of(node->name);
  kn_sensor_def s = kn_sensor_default(type < KN_SENSOR_TYPE_COUNT ? (kn_sensor_type)type : KN_SENSOR_CLOCK);
  KN_TRY(kn_value_bound(&s.cutoff, kn_xml_find(node, "cutoff")));
  kn_status status = read_references(&s, l, d, node);
  if (status == KN_NOT_FOUND) return KN_OK; /* attached document, not brought in */
  KN_TRY(status);
  if (type == KN_SENSOR_TYPE_COUNT) return left_out(l, node, "are read and checked, not computed");
  const char* why = beyond(l, &s, node);
  if (why) return left_out(l, node, why);
  if (type >= KN_SENSOR_FRAME_POS && type <= KN_SENSOR_FRAME_ANGACC) {
    status = read_object(&s.frame, &s.body, l, d, node, "objtype", "objname");
    if (status == KN_OK) status = read_object(&s.ref_frame, &s.ref_body, l, d, node, "reftype", "refname");
    if (status == KN_NOT_FOUND) return KN_OK;
    if (status == KN_UNSUPPORTED) return left_out(l, node, "of cameras are not supported");
    KN_TRY(status);
  }
  KN_TRY(check_complete(&s, node));
  KN_TRY(kn_mj_name(&s.name, l, scope, node));
  KN_TRY(kn_mj_register(l, 'n', s.name, l->sensor.count, node));
  KN_MJ_NEW(kn_mj_sensor, slot, l, sensor, node);
  *slot = (kn_mj_sensor){.def = s, .node = node};
  return KN_OK;
}

kn_status kn_mj_sensors_read(kn_mj_loader* l, const kn_mj_document* d) {
  return kn_mj_each(l, d, "sensor", read_sensor);
}
