/* MJCF: reading order, names, and writing the spec. */
#include "load/mjcf/mjcf.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "knuckle/mesh.h"
#include "spatial/spatial.h"

/* ---- names ---- */

static const char* kind_text(char kind) {
  switch (kind) {
  case 'b': return "body";
  case 'j': return "joint";
  case 'g': return "geom";
  case 's': return "site";
  case 't': return "tendon";
  case 'a': return "actuator";
  case 'm': return "mesh";
  case 'n': return "sensor";
  default: return "material";
  }
}

kn_status kn_mj_register(kn_mj_loader* l, char kind, const char* name, int index, const kn_xml_node* node) {
  if (!name) return KN_OK;
  if (kn_names_get(&l->names, kind, name) >= 0 || (kind == 'b' && strcmp(name, "world") == 0)) {
    static const char taken[] = "%s name \"%.60s\" is taken, expected a name of its own";
    const kn_xml_attr* a = kn_xml_find(node, "name");
    if (a) return kn_xml_fail_at(a, taken, kind_text(kind), name);
    return kn_xml_fail(node, taken, kind_text(kind), name);
  }
  return kn_names_put(&l->names, l->pool, kind, name, index) ? KN_OK : KN_XML_NO_MEMORY(node);
}

kn_status kn_mj_find(int* out, kn_mj_loader* l, const kn_mj_document* d, char kind, const kn_xml_attr* attr) {
  *out = KN_WORLD;
  if (kind == 'b' && strcmp(attr->value, "world") == 0) return KN_OK;
  const char* name = kn_mj_prefixed(l, d, attr->value);
  if (!name) return KN_XML_NO_MEMORY(attr);
  *out = kn_names_get(&l->names, kind, name);
  if (*out >= 0) return KN_OK;
  if (d->depth && kind != 'm' && kind != 'M') return KN_NOT_FOUND;
  char wanted[60];
  snprintf(wanted, sizeof wanted, "the name of a %s in this model", kind_text(kind));
  return kn_names_unknown(&l->names, kind, name, attr, kind_text(kind), wanted);
}

/* ---- writing ---- */

static kn_status emit_visual(kn_mj_loader* l, const kn_mj_geom* g, int id) {
  kn_visual v = {
      .body = g->def.body, .geom = id, .name = g->def.name, .material = g->material, .group = g->def.group};
  memcpy(v.pos, g->def.pos, sizeof v.pos);
  memcpy(v.quat, g->def.quat, sizeof v.quat);
  memcpy(v.rgba, g->def.rgba, sizeof v.rgba);
  v.scale[0] = v.scale[1] = v.scale[2] = 1.0;
  if (g->mesh) {
    kn_mj_scope scope = {g->mesh->document, NULL, ""};
    kn_mj_element e;
    double pos[3] = {0, 0, 0}, quat[4] = {1, 0, 0, 0};
    KN_TRY(kn_mj_element_open(&e, &scope, g->mesh->node, "mesh"));
    KN_TRY(kn_mj_reals(v.scale, NULL, &e, "scale", 3, 3));
    KN_TRY(kn_mj_reals(pos, NULL, &e, "refpos", 3, 3));
    KN_TRY(kn_mj_reals(quat, NULL, &e, "refquat", 4, 4));
    kn_quat_unit(quat);
    kn_pose ref = kn_pose_make(pos, quat), inverse = kn_pose_inverse(&ref),
            geom = kn_pose_make(v.pos, v.quat);
    for (int i = 0; i < 3; i++) inverse.p[i] *= v.scale[i]; /* refpos and refquat come before the scale */
    kn_pose total = kn_pose_mul(&geom, &inverse);
    memcpy(v.pos, total.p, sizeof v.pos);
    kn_quat_from_matrix(v.quat, total.R);
    v.mesh_file = g->mesh->path;
  }
  if (g->material && g->material[0]) {
    int m = kn_names_get(&l->names, 'M', g->material);
    if (m >= 0) v.texture = l->material.at[m].texture;
  }
  return kn_note_visual(l->report, &v);
}

/* Collision meshes become their convex hulls; a mesh that only looks is kept for viewers alone. */
static kn_status emit_geom(kn_spec* spec, kn_mj_loader* l, kn_mj_geom* g) {
  bool collides = g->def.contype || g->def.conaffinity || g->referenced;
  g->kn_id = -1;
  if (g->mesh && g->emit && collides) {
    kn_hull* hull;
    kn_status status = kn_hull_create(&hull, g->mesh->data.vertices, g->mesh->data.nvertex, NULL);
    if (status == KN_OUT_OF_MEMORY) return status;
    if (status != KN_OK) {
      KN_TRY(kn_note_node(l->report, KN_NOTE_UNSUPPORTED, g->node,
                          "the mesh has no convex hull (%s); the geom does not collide", kn_last_error()));
      return emit_visual(l, g, -1);
    }
    g->def.shape.type = KN_SHAPE_HULL;
    g->def.shape.hull = hull;
    g->def.own_shape = true;
    status = kn_spec_add_geom(&g->kn_id, spec, &g->def);
    if (status != KN_OK) kn_hull_destroy(hull);
    KN_TRY(kn_xml_added(status, spec, g->node));
    return emit_visual(l, g, g->kn_id);
  }
  if (!g->mesh && g->emit) KN_TRY(kn_xml_added(kn_spec_add_geom(&g->kn_id, spec, &g->def), spec, g->node));
  return g->mesh || g->emit ? emit_visual(l, g, g->kn_id) : KN_OK;
}

static kn_status emit_tree(kn_spec* spec, kn_mj_loader* l) {
  int id;
  for (int i = 0; i < l->body.count; i++)
    KN_TRY(kn_xml_added(kn_spec_add_body(&id, spec, &l->body.at[i].def), spec, l->body.at[i].node));
  for (int i = 0; i < l->joint.count; i++)
    KN_TRY(kn_xml_added(kn_spec_add_joint(&id, spec, &l->joint.at[i].def), spec, l->joint.at[i].node));
  for (int i = 0; i < l->geom.count; i++) KN_TRY(emit_geom(spec, l, &l->geom.at[i]));
  for (int i = 0; i < l->site.count; i++)
    KN_TRY(kn_xml_added(kn_spec_add_frame(&id, spec, &l->site.at[i].def), spec, l->site.at[i].node));
  return KN_OK;
}

static kn_status emit_rest(kn_spec* spec, kn_mj_loader* l, const kn_xml_node* root) {
  int id;
  for (int i = 0; i < l->actuator.count; i++)
    if (l->actuator.at[i].emit)
      KN_TRY(kn_xml_added(kn_spec_add_actuator(&l->actuator.at[i].kn_id, spec, &l->actuator.at[i].def), spec,
                          l->actuator.at[i].node));
  for (int i = 0; i < l->sensor.count; i++) {
    kn_sensor_def d = l->sensor.at[i].def;
    if (d.actuator >= 0) d.actuator = l->actuator.at[d.actuator].kn_id;
    KN_TRY(kn_xml_added(kn_spec_add_sensor(&id, spec, &d), spec, l->sensor.at[i].node));
  }
  for (int i = 0; i < l->loop.count; i++)
    KN_TRY(kn_xml_added(kn_spec_add_loop(&id, spec, &l->loop.at[i].def), spec, l->loop.at[i].node));
  for (int i = 0; i < l->pair.count; i++) {
    kn_pair_def p = l->pair.at[i].def;
    p.a = l->geom.at[p.a].kn_id;
    p.b = l->geom.at[p.b].kn_id;
    if (p.a >= 0 && p.b >= 0) KN_TRY(kn_xml_added(kn_spec_add_pair(spec, &p), spec, l->pair.at[i].node));
  }
  for (int i = 0; i < l->exclusion.count; i++)
    if (l->exclusion.at[i].a != l->exclusion.at[i].b)
      KN_TRY(
          kn_xml_added(kn_spec_add_exclusion(spec, l->exclusion.at[i].a, l->exclusion.at[i].b), spec, root));
  for (int i = 0; i < l->key.count; i++)
    KN_TRY(kn_xml_added(kn_spec_add_keyframe(spec, &l->key.at[i].def), spec, l->key.at[i].node));
  return KN_OK;
}

static kn_status emit(kn_spec* spec, kn_mj_loader* l, const kn_xml_node* root) {
  kn_mj_flags_apply(l);
  const char* name = kn_xml_value(root, "model");
  KN_TRY(kn_spec_set_name(spec, name ? name : ""));
  KN_TRY(kn_spec_set_gravity(spec, l->gravity));
  KN_TRY(kn_spec_set_magnetic(spec, l->magnetic));
  KN_TRY(emit_tree(spec, l));
  KN_TRY(emit_rest(spec, l, root));
  return l->off.actuation ? kn_spec_disable_actuators(spec) : KN_OK;
}

/* ---- reading ---- */

kn_status kn_mj_each(kn_mj_loader* l, const kn_mj_document* d, const char* section, kn_mj_reader* read) {
  kn_mj_scope scope = {d, NULL, ""};
  for (const kn_xml_node* s = d->root->child; s; s = s->next)
    for (const kn_xml_node* k = kn_xml_is(s, section) ? s->child : NULL; k; k = k->next)
      KN_TRY(read(l, &scope, k));
  return KN_OK;
}

static kn_status read_references(kn_mj_loader* l, const kn_mj_document* d) {
  KN_TRY(kn_mj_contacts_read(l, d));
  KN_TRY(kn_mj_tendons_read(l, d));
  KN_TRY(kn_mj_equalities_read(l, d));
  return kn_mj_actuators_read(l, d);
}

static kn_status read_all(kn_mj_loader* l, kn_mj_document* d) {
  KN_TRY(kn_mj_compiler_read(l, d));
  KN_TRY(kn_mj_option_read(l, d));
  KN_TRY(kn_mj_defaults_read(l, d));
  KN_TRY(kn_mj_assets_read(l, d));
  KN_TRY(kn_mj_world_read(l, d));
  KN_TRY(kn_mj_inertia_finish(l));
  for (int i = 0; i < l->document.count; i++) KN_TRY(read_references(l, l->document.at[i]));
  KN_TRY(read_references(l, d));
  KN_TRY(kn_mj_actuators_finish(l));
  for (int i = 0; i < l->document.count; i++) {
    KN_TRY(kn_mj_keyframes_read(l, l->document.at[i]));
    KN_TRY(kn_mj_sensors_read(l, l->document.at[i]));
  }
  KN_TRY(kn_mj_keyframes_read(l, d));
  KN_TRY(kn_mj_sensors_read(l, d));
  if (l->soft == 0) return KN_OK;
  return kn_note_node(l->report, KN_NOTE_INFO, d->root,
                      "%d soft-constraint attributes (solref, solimp, impratio, gap, …) are read and have no "
                      "effect: contacts and limits are hard",
                      l->soft);
}

static void free_meshes(kn_mj_loader* l) {
  for (int i = 0; i < l->mesh.count; i++) kn_mesh_data_free(&l->mesh.at[i].data);
}

kn_status kn_mjcf_load(kn_spec** spec, kn_load_report* report, kn_hoard* pool, kn_xml_node* root,
                       const char* folder, const kn_load_settings* settings) {
  kn_mj_loader* l = kn_hoard_take(pool, sizeof *l);
  kn_mj_document* d = l ? kn_hoard_take(pool, sizeof *d) : NULL;
  if (!d) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", root->file);
  *l = (kn_mj_loader){.pool = pool,
                      .report = report,
                      .settings = settings,
                      .gravity = {0, 0, -9.81},
                      .magnetic = {0, -0.5, 0}};
  *d = (kn_mj_document){.folder = folder, .prefix = "", .root = root};
  report->format = "mjcf";
  KN_TRY(kn_xml_include(root, pool, folder, &settings->files));
  KN_TRY(kn_schema_check(&kn_mjcf_schema, root, "", report, &l->soft));
  kn_status status = read_all(l, d);
  if (status == KN_OK) status = kn_spec_create(spec);
  if (status == KN_OK) status = emit(*spec, l, root);
  if (status != KN_OK) {
    kn_spec_destroy(*spec);
    *spec = NULL;
  }
  free_meshes(l);
  return status;
}
