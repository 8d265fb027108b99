/* <geom>: shape, placement (fromto, primitives fitted to meshes), contact properties and mass data. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "load/mjcf/mjcf.h"
#include "spatial/spatial.h"

enum { PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF };
static const char types[] = "plane|hfield|sphere|capsule|ellipsoid|cylinder|box|mesh|sdf";
static const kn_shape_type shape_of[] = {
    [PLANE] = KN_SHAPE_PLANE,     [HFIELD] = KN_SHAPE_PLANE,        [SPHERE] = KN_SHAPE_SPHERE,
    [CAPSULE] = KN_SHAPE_CAPSULE, [ELLIPSOID] = KN_SHAPE_ELLIPSOID, [CYLINDER] = KN_SHAPE_CYLINDER,
    [BOX] = KN_SHAPE_BOX,         [MESH] = KN_SHAPE_HULL,           [SDF] = KN_SHAPE_HULL};
static const int size_needed[] = {[PLANE] = 0,    [HFIELD] = 0, [SPHERE] = 1, [CAPSULE] = 2, [ELLIPSOID] = 3,
                                  [CYLINDER] = 2, [BOX] = 3,    [MESH] = 0,   [SDF] = 0};

/* Ends given: the axis runs from the second to the first, the middle is the centre. */
static kn_status from_ends(kn_geom_def* g, int type, const kn_xml_attr* a) {
  double v[6], axis[3];
  if (type != CAPSULE && type != CYLINDER && type != ELLIPSOID && type != BOX)
    return kn_xml_fail_at(a,
                          "fromto needs a capsule, cylinder, ellipsoid or box, expected one of these types");
  KN_TRY(kn_value_reals(v, NULL, a, 6, 6));
  for (int i = 0; i < 3; i++) {
    axis[i] = v[i] - v[3 + i];
    g->pos[i] = 0.5 * (v[i] + v[3 + i]);
  }
  double half = 0.5 * sqrt(kn_dot3(axis, axis));
  if (!(half > 1e-14)) return kn_xml_fail_at(a, "the two ends of fromto coincide, expected different points");
  kn_mj_quat_from_z(g->quat, axis);
  bool two = type == ELLIPSOID || type == BOX; /* half widths across, the same */
  g->shape.size[two ? 2 : 1] = half;
  if (two) g->shape.size[1] = g->shape.size[0];
  return KN_OK;
}

static kn_status check_size(const kn_geom_def* g, int type, const kn_mj_element* e) {
  static const char* const what[] = {"", "a radius", "a radius and a half length", "three half sizes"};
  int n = size_needed[type];
  for (int i = 0; i < n; i++)
    if (!(g->shape.size[i] > 0.0)) {
      const kn_xml_attr* a = kn_mj_attr(e, "size");
      if (!a) return kn_xml_fail(e->node, "<geom> without size, expected size with %s", what[n]);
      return kn_xml_fail_at(a, "size number %d is %g or missing, expected %s > 0", i + 1, g->shape.size[i],
                            what[n]);
    }
  return KN_OK;
}

/* A primitive in place of a mesh: the box of equal inertia, or the bounding box, of the mesh in its principal
   axes; its centre becomes the geom's centre. */
static kn_status fit_primitive(kn_mj_geom* g, int type, const kn_mj_element* e, kn_mj_mesh* m) {
  kn_geom_def* def = &g->def;
  double box[3], moments[3], turn[4], scale = 1.0;
  KN_TRY(kn_mj_real(&scale, e, "fitscale"));
  KN_TRY(kn_principal_axes(moments, turn, m->props.inertia));
  kn_pose geom = kn_pose_make(def->pos, def->quat), mesh = kn_pose_make(m->props.com, turn);
  double shift[3] = {0, 0, 0};
  if (e->document->compiler.fitaabb) {
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    kn_pose inverse = kn_pose_inverse(&mesh);
    for (int i = 0; i < m->data.nvertex; i++) {
      double x[3];
      kn_pose_apply(x, &inverse, m->data.vertices + 3 * i);
      for (int k = 0; k < 3; k++) lo[k] = fmin(lo[k], x[k]), hi[k] = fmax(hi[k], x[k]);
    }
    for (int k = 0; k < 3; k++) box[k] = 0.5 * (hi[k] - lo[k]), shift[k] = 0.5 * (hi[k] + lo[k]);
  } else {
    double sum = moments[0] + moments[1] + moments[2];
    for (int k = 0; k < 3; k++) box[k] = 0.5 * sqrt(6.0 * fmax(0.0, sum - 2.0 * moments[k]) / m->props.mass);
  }
  double* size = def->shape.size;
  bool aabb = e->document->compiler.fitaabb;
  switch (type) {
  case SPHERE: size[0] = aabb ? fmax(fmax(box[0], box[1]), box[2]) : (box[0] + box[1] + box[2]) / 3.0; break;
  case CAPSULE:
    size[0] = aabb ? fmax(box[0], box[1]) : 0.5 * (box[0] + box[1]);
    size[1] = aabb ? fmax(0.0, box[2] - size[0]) : fmax(0.0, box[2] - 0.5 * size[0]);
    break;
  case CYLINDER:
    size[0] = aabb ? fmax(box[0], box[1]) : 0.5 * (box[0] + box[1]);
    size[1] = box[2];
    break;
  default: memcpy(size, box, sizeof box);
  }
  for (int k = 0; k < 3; k++) size[k] *= scale;
  kn_pose_apply(shift, &mesh, shift);
  kn_pose_apply(def->pos, &geom, shift);
  kn_quat_mul(def->quat, def->quat, turn);
  return KN_OK;
}

static kn_status read_shape(kn_mj_geom* g, kn_mj_loader* l, const kn_mj_element* e) {
  int type = SPHERE;
  kn_geom_def* def = &g->def;
  KN_TRY(kn_mj_keyword(&type, e, "type", types));
  const kn_xml_attr *mesh = kn_mj_attr(e, "mesh"), *ends = kn_mj_attr(e, "fromto");
  if ((type == MESH || type == SDF) && !mesh)
    return kn_xml_fail(e->node, "<geom type=\"mesh\"> without a mesh, expected mesh=\"…\"");
  if (type == HFIELD && !kn_mj_attr(e, "hfield"))
    return kn_xml_fail(e->node, "<geom type=\"hfield\"> without hfield, expected hfield=\"…\"");
  double size[3] = {0, 0, 0};
  KN_TRY(kn_mj_reals(size, NULL, e, "size", 1, 3));
  kn_shape_type shape = shape_of[type];
  *def = kn_geom_default(shape);
  memcpy(def->shape.size, size, sizeof size);
  memset(def->pos, 0, sizeof def->pos);
  memcpy(def->quat, (double[4]){1, 0, 0, 0}, sizeof def->quat);
  KN_TRY(kn_mj_place(def->pos, def->quat, e));
  g->infinite = type == PLANE || type == HFIELD;
  g->emit = type != HFIELD && type != SDF;
  if (type == HFIELD || type == SDF)
    KN_TRY(kn_note_node(l->report, KN_NOTE_UNSUPPORTED, e->node,
                        "%s geoms are not supported; this one was left out",
                        type == HFIELD ? "height field" : "signed distance"));
  if (mesh) {
    int index;
    KN_TRY(kn_mj_find(&index, l, e->document, 'm', mesh));
    kn_mj_mesh* m = &l->mesh.at[index];
    g->mesh = m;
    bool skip = l->settings->skip_meshes && m->path;
    if (!skip) KN_TRY(kn_mj_mesh_load(l, m));
    if (skip || m->data.nvertex == 0) {
      g->emit = false;
      g->infinite = true; /* no mass known */
      return KN_OK;
    }
    if (type != MESH && !g->infinite && type != SDF) {
      KN_TRY(kn_mj_mesh_props(m));
      KN_TRY(fit_primitive(g, type, e, m));
      g->mesh = NULL;
    }
  }
  if (ends && !mesh) KN_TRY(from_ends(def, type, ends));
  return mesh ? KN_OK : check_size(def, type, e);
}

static kn_status read_contact(kn_geom_def* def, const kn_mj_element* e) {
  double friction[3] = {1.0, 0.005, 0.0001};
  int contype = 1, conaffinity = 1, condim = 3;
  KN_TRY(kn_mj_reals(friction, NULL, e, "friction", 1, 3));
  KN_TRY(kn_mj_int(&contype, e, "contype"));
  KN_TRY(kn_mj_int(&conaffinity, e, "conaffinity"));
  KN_TRY(kn_mj_int(&condim, e, "condim"));
  KN_TRY(kn_mj_int(&def->material.priority, e, "priority"));
  KN_TRY(kn_value_bound(&def->margin, kn_mj_attr(e, "margin")));
  if (condim != 1 && condim != 3 && condim != 4 && condim != 6)
    return kn_xml_fail_at(kn_mj_attr(e, "condim"), "condim is %d, expected 1, 3, 4 or 6", condim);
  for (int i = 0; i < 3; i++)
    if (friction[i] < 0.0)
      return kn_xml_fail_at(kn_mj_attr(e, "friction"), "friction number %d is %g, expected a number >= 0",
                            i + 1, friction[i]);
  def->material.mu = friction[0];
  def->material.torsion = condim >= 4 ? friction[1] : 0.0;
  def->material.roll = condim >= 6 ? friction[2] : 0.0;
  def->contype = (uint32_t)contype;
  def->conaffinity = (uint32_t)conaffinity;
  def->condim = condim;
  return KN_OK;
}

static kn_status read_mass(kn_geom_def* def, kn_mj_geom* g, const kn_mj_element* e) {
  def->mass = -1.0;
  def->density = 1000.0;
  KN_TRY(kn_value_bound(&def->mass, kn_mj_attr(e, "mass")));
  KN_TRY(kn_value_bound(&def->density, kn_mj_attr(e, "density")));
  return kn_mj_bool(&g->shell, e, "shellinertia");
}

static kn_status read_looks(kn_mj_geom* g, kn_mj_loader* l, const kn_mj_element* e) {
  double rgba[4] = {0.5, 0.5, 0.5, 1.0};
  KN_TRY(kn_mj_int(&g->def.group, e, "group"));
  const kn_xml_attr *color = kn_mj_attr(e, "rgba"), *material = kn_mj_attr(e, "material");
  g->material = material ? material->value : "";
  for (int i = 0; i < 4; i++) g->def.rgba[i] = (float)rgba[i];
  if (material) {
    int index;
    KN_TRY(kn_mj_find(&index, l, e->document, 'M', material));
    const kn_mj_material* m = &l->material.at[index];
    memcpy(g->def.rgba, m->rgba, sizeof m->rgba);
    g->material = m->name;
  }
  KN_TRY(kn_value_reals(rgba, NULL, color, 4, 4));
  for (int i = 0; color && i < 4; i++) g->def.rgba[i] = (float)rgba[i];
  return KN_OK;
}

kn_status kn_mj_geom_read(kn_mj_geom* g, kn_mj_loader* l, const kn_mj_element* e, const char* name) {
  *g = (kn_mj_geom){.node = e->node};
  KN_TRY(read_shape(g, l, e));
  g->def.name = name;
  KN_TRY(read_contact(&g->def, e));
  KN_TRY(read_mass(&g->def, g, e));
  return read_looks(g, l, e);
}
