/* <asset>: meshes (read when first used), textures and materials (kept for viewers), sub-models. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "load/mjcf/mjcf.h"
#include "spatial/spatial.h"

/* File name without folder and ending. */
static const char* stem(kn_mj_loader* l, const char* path) {
  const char *slash = strrchr(path, '/'), *back = strrchr(path, '\\');
  if (back > slash) slash = back;
  const char *start = slash ? slash + 1 : path, *dot = strrchr(start, '.');
  return kn_hoard_text(l->pool, start, dot ? (size_t)(dot - start) : strlen(start));
}

static const char* asset_path(kn_mj_loader* l, const kn_mj_document* d, const char* folder,
                              const char* file) {
  if (d->compiler.strippath) {
    const char *slash = strrchr(file, '/'), *back = strrchr(file, '\\');
    if (back > slash) slash = back;
    if (slash) file = slash + 1;
  }
  char* base = kn_path_join(l->pool, d->folder, folder);
  if (base && !folder[0]) base = kn_hoard_text(l->pool, d->folder, strlen(d->folder));
  return base ? kn_path_join(l->pool, base, file) : NULL;
}

static kn_status read_mesh(kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node) {
  const kn_mj_document* d = scope->document;
  const kn_xml_attr *file = kn_xml_find(node, "file"), *name = kn_xml_find(node, "name");
  const kn_xml_attr *vertex = kn_xml_find(node, "vertex"), *builtin = kn_xml_find(node, "builtin");
  if (!file && !vertex && !builtin)
    return kn_xml_fail(node, "<mesh> without data, expected file=\"…\" or vertex=\"…\"");
  if (file && vertex) return kn_xml_fail_at(vertex, "<mesh> has both file and vertex, expected one of them");
  if (!name && !file) return kn_xml_fail(node, "<mesh> without a name, expected name=\"…\"");
  KN_MJ_NEW(kn_mj_mesh, m, l, mesh, node);
  *m = (kn_mj_mesh){.node = node, .document = d};
  m->name = name ? name->value : stem(l, file->value);
  if (file) m->path = asset_path(l, d, d->compiler.meshdir, file->value);
  m->name = m->name ? kn_mj_prefixed(l, d, m->name) : NULL;
  if (!m->name || (file && !m->path)) return KN_XML_NO_MEMORY(node);
  return kn_mj_register(l, 'm', m->name, l->mesh.count - 1, node);
}

static kn_status mesh_element(kn_mj_element* e, const kn_mj_mesh* m) {
  kn_mj_scope scope = {m->document, NULL, ""};
  return kn_mj_element_open(e, &scope, m->node, "mesh");
}

static kn_status mesh_from_text(kn_mj_mesh* m, kn_mj_loader* l) {
  const kn_xml_attr *v = kn_xml_find(m->node, "vertex"), *f = kn_xml_find(m->node, "face");
  double *vertex, *face = NULL;
  int nv, nf = 0;
  if (!v)
    return kn_note_node(l->report, KN_NOTE_UNSUPPORTED, m->node,
                        "built-in mesh shapes are not supported; mesh \"%s\" is empty", m->name);
  KN_TRY(kn_value_array(&vertex, &nv, l->pool, v));
  if (nv % 3 != 0) return kn_xml_fail_at(v, "vertex has %d numbers, expected a multiple of 3", nv);
  if (f) KN_TRY(kn_value_array(&face, &nf, l->pool, f));
  if (nf % 3 != 0) return kn_xml_fail_at(f, "face has %d numbers, expected a multiple of 3", nf);
  int32_t* index = kn_hoard_take(l->pool, ((size_t)nf + 1) * sizeof *index);
  if (!index) return KN_XML_NO_MEMORY(m->node);
  for (int i = 0; i < nf; i++) {
    if (!(face[i] >= 0 && face[i] < nv / 3 && face[i] == floor(face[i])))
      return kn_xml_fail_at(f, "face index %g, expected an integer from 0 to %d", face[i], nv / 3 - 1);
    index[i] = (int32_t)face[i];
  }
  if (nv < 12)
    return kn_xml_fail_at(v, "mesh \"%.60s\" has %d vertices, expected at least 4", m->name, nv / 3);
  if (kn_mesh_data_create(&m->data, vertex, nv / 3, index, nf / 3) == KN_OK) return KN_OK;
  return kn_xml_fail_at(v, "mesh \"%.60s\": %s", m->name, kn_last_error());
}

/* refpos and refquat first, then the scale. */
static kn_status place_mesh(kn_mj_mesh* m, const kn_mj_element* e) {
  double scale[3] = {1, 1, 1}, pos[3] = {0, 0, 0}, quat[4] = {1, 0, 0, 0};
  KN_TRY(kn_mj_reals(scale, NULL, e, "scale", 3, 3));
  KN_TRY(kn_mj_reals(pos, NULL, e, "refpos", 3, 3));
  KN_TRY(kn_mj_reals(quat, NULL, e, "refquat", 4, 4));
  for (int i = 0; i < 3; i++)
    if (scale[i] == 0.0)
      return kn_xml_fail_at(kn_mj_attr(e, "scale"), "a scale factor is zero, expected numbers other than 0");
  if (!(kn_quat_unit(quat) > 1e-14))
    return kn_xml_fail_at(kn_mj_attr(e, "refquat"), "the quaternion is zero, expected a rotation");
  kn_pose ref = kn_pose_make(pos, quat), inverse = kn_pose_inverse(&ref);
  KN_TRY(kn_mesh_data_transform(&m->data, &inverse));
  return kn_mesh_data_scale(&m->data, scale);
}

/* A cloud of points stands for its convex hull. */
static kn_status close_cloud(kn_mj_mesh* m) {
  kn_hull* hull;
  if (m->data.ntriangle > 0) return KN_OK;
  KN_TRY(kn_hull_create(&hull, m->data.vertices, m->data.nvertex, NULL));
  kn_mesh_data closed;
  kn_status status = kn_hull_triangles(&closed, hull);
  kn_hull_destroy(hull);
  if (status != KN_OK) return status;
  kn_mesh_data_free(&m->data);
  m->data = closed;
  return KN_OK;
}

kn_status kn_mj_mesh_load(kn_mj_loader* l, kn_mj_mesh* m) {
  if (m->loaded) return KN_OK;
  m->loaded = true;
  kn_mj_element e;
  KN_TRY(mesh_element(&e, m));
  if (!m->path) {
    KN_TRY(mesh_from_text(m, l));
  } else {
    kn_status status = kn_files_mesh(&m->data, m->path, &l->settings->files);
    if (status == KN_OUT_OF_MEMORY) return status;
    if (status != KN_OK) {
      return kn_xml_fail_at(kn_xml_find(m->node, "file"), "mesh file cannot be read: %s", kn_last_error());
    }
  }
  if (m->data.nvertex == 0) return KN_OK;
  if (close_cloud(m) == KN_OUT_OF_MEMORY) return KN_OUT_OF_MEMORY; /* a flat cloud stays as it is */
  return place_mesh(m, &e);
}

kn_status kn_mj_mesh_props(kn_mj_mesh* m) {
  static const kn_mesh_inertia mode[] = {KN_MESH_INERTIA_CONVEX, KN_MESH_INERTIA_EXACT,
                                         KN_MESH_INERTIA_LEGACY, KN_MESH_INERTIA_SHELL};
  if (m->has_props) return KN_OK;
  kn_mj_element e;
  int k = 2;
  KN_TRY(mesh_element(&e, m));
  KN_TRY(kn_mj_keyword(&k, &e, "inertia", "convex|exact|legacy|shell"));
  kn_status status = kn_mesh_data_massprops(&m->props, &m->data, mode[k], 1.0);
  m->has_props = true;
  if (status == KN_OK || status == KN_OUT_OF_MEMORY) return status;
  return kn_xml_fail(m->node, "mesh \"%.60s\" has no usable mass properties: %s", m->name, kn_last_error());
}

/* ---- looks ---- */

static kn_status read_texture(kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node) {
  if (!kn_xml_is(node, "texture")) return KN_OK;
  const kn_mj_document* d = scope->document;
  const kn_xml_attr *file = kn_xml_find(node, "file"), *name = kn_xml_find(node, "name");
  KN_MJ_NEW(kn_mj_texture, t, l, texture, node);
  t->name = name ? name->value : file ? stem(l, file->value) : "";
  t->path = file ? asset_path(l, d, d->compiler.texturedir, file->value) : "";
  t->name = t->name ? kn_mj_prefixed(l, d, t->name) : NULL;
  return t->name && t->path ? KN_OK : KN_XML_NO_MEMORY(node);
}

static kn_status read_material(kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node) {
  const kn_mj_document* d = scope->document;
  const kn_xml_attr* name = kn_xml_find(node, "name");
  if (!name || !name->value[0]) return kn_xml_fail(node, "<material> without a name, expected name=\"…\"");
  kn_mj_element e;
  KN_TRY(kn_mj_element_open(&e, scope, node, "material"));
  double rgba[4] = {1, 1, 1, 1};
  KN_TRY(kn_mj_reals(rgba, NULL, &e, "rgba", 4, 4));
  KN_MJ_NEW(kn_mj_material, m, l, material, node);
  m->name = kn_mj_prefixed(l, d, name->value);
  m->texture = "";
  const kn_xml_attr* texture = kn_mj_attr(&e, "texture");
  for (int i = 0; texture && i < l->texture.count; i++)
    if (strcmp(l->texture.at[i].name, texture->value) == 0) m->texture = l->texture.at[i].path;
  for (int i = 0; i < 4; i++) m->rgba[i] = (float)rgba[i];
  return m->name ? kn_mj_register(l, 'M', m->name, l->material.count - 1, node) : KN_XML_NO_MEMORY(node);
}

static kn_status read_submodel(kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node) {
  const kn_mj_document* d = scope->document;
  const kn_xml_attr *file = kn_xml_find(node, "file"), *name = kn_xml_find(node, "name");
  if (!file) return kn_xml_fail(node, "<model> without file, expected file=\"…\"");
  KN_MJ_NEW(kn_mj_submodel, s, l, submodel, node);
  *s = (kn_mj_submodel){name ? name->value : stem(l, file->value), node, d};
  return s->name ? KN_OK : KN_XML_NO_MEMORY(node);
}

static kn_status read_asset(kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node) {
  if (kn_xml_is(node, "mesh")) return read_mesh(l, scope, node);
  if (kn_xml_is(node, "material")) return read_material(l, scope, node);
  return kn_xml_is(node, "model") ? read_submodel(l, scope, node) : KN_OK;
}

kn_status kn_mj_assets_read(kn_mj_loader* l, const kn_mj_document* d) {
  KN_TRY(kn_mj_each(l, d, "asset", read_texture)); /* before the materials that name them */
  return kn_mj_each(l, d, "asset", read_asset);
}
