/* URDF <visual>, <collision>, <material>, <inertial> and mesh paths. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "knuckle/massprops.h"
#include "load/urdf/urdf.h"
#include "math/elementary.h"
#include "spatial/spatial.h"

kn_status kn_ud_origin(double pos[3], double quat[4], const kn_xml_node* node) {
  const kn_xml_node* o = kn_xml_child(node, "origin");
  memset(pos, 0, 3 * sizeof *pos);
  memcpy(quat, (double[4]){1, 0, 0, 0}, 4 * sizeof *quat);
  if (!o) return KN_OK;
  const kn_xml_attr *rpy = kn_xml_find(o, "rpy"), *q = kn_xml_find(o, "quat_xyzw");
  KN_TRY(kn_value_reals(pos, NULL, kn_xml_find(o, "xyz"), 3, 3));
  if (rpy) {
    double a[3], s[3], c[3];
    KN_TRY(kn_value_reals(a, NULL, rpy, 3, 3));
    for (int i = 0; i < 3; i++) kn_sincos(&s[i], &c[i], 0.5 * a[i]);
    double x[4] = {c[0], s[0], 0, 0}, y[4] = {c[1], 0, s[1], 0}, z[4] = {c[2], 0, 0, s[2]};
    kn_quat_mul(quat, y, x);
    kn_quat_mul(quat, z, quat);
    kn_quat_unit(quat);
  }
  if (q && !rpy) {
    double v[4];
    KN_TRY(kn_value_reals(v, NULL, q, 4, 4));
    if (!(kn_quat_unit(v) > 1e-14))
      return kn_xml_fail_at(q, "the quaternion is zero, expected a rotation such as 0 0 0 1");
    memcpy(quat, (double[4]){v[3], v[0], v[1], v[2]}, 4 * sizeof *quat);
  }
  return KN_OK;
}

/* ---- inertia ---- */

static kn_status moment(double* out, const kn_xml_node* node, const char* name) {
  const kn_xml_attr* a = kn_xml_find(node, name);
  if (!a) return kn_xml_fail(node, "<inertia> without %s, expected ixx ixy ixz iyy iyz izz", name);
  return kn_value_reals(out, NULL, a, 1, 1);
}

/* Suspicious tensors are used as they are; strict refuses them. */
static kn_status judge(kn_ud_loader* l, const kn_ud_link* link, const kn_xml_node* node) {
  double m[3], axes[4];
  const kn_body_def* d = &link->def;
  KN_TRY(kn_principal_axes(m, axes, d->inertia));
  double top = fmax(fabs(m[0]), fabs(m[2]));
  const char* what = NULL;
  if (m[2] < -1e-12 * top)
    what = "is not positive semi-definite";
  else if (m[1] + m[2] < m[0] * (1.0 - 1e-9))
    what = "breaks A + B >= C, no mass distribution has it";
  else if (d->mass > 0.0 && top == 0.0)
    what = "is zero although the link has mass";
  else if (d->mass == 0.0 && top > 0.0)
    what = "is not zero although the link has no mass";
  if (!what) return KN_OK;
  if (l->settings->strict)
    return kn_xml_fail(node,
                       "the inertia of link \"%.60s\" (moments %g %g %g) %s, expected a real body's inertia",
                       link->name, m[0], m[1], m[2], what);
  return kn_note_node(l->report, KN_NOTE_WARNING, node,
                      "the inertia of link \"%.60s\" (moments %g %g %g) %s; it is used as given", link->name,
                      m[0], m[1], m[2], what);
}

kn_status kn_ud_inertial(kn_ud_loader* l, kn_ud_link* link) {
  const kn_xml_node* node = kn_xml_child(link->node, "inertial");
  kn_body_def* d = &link->def;
  d->any_inertia = true;
  d->inertia_from_geoms = false;
  d->mass = 0.0;
  memset(d->inertia, 0, sizeof d->inertia);
  memset(d->com, 0, sizeof d->com);
  memcpy(d->inertia_quat, (double[4]){1, 0, 0, 0}, sizeof d->inertia_quat);
  if (!node) return KN_OK;
  const kn_xml_node *mass = kn_xml_child(node, "mass"), *inertia = kn_xml_child(node, "inertia");
  if (!mass || !kn_xml_find(mass, "value"))
    return kn_xml_fail(mass ? mass : node, "<inertial> without mass, expected <mass value=\"…\"/>");
  if (!inertia)
    return kn_xml_fail(node, "<inertial> without inertia, expected <inertia ixx=\"…\" ixy=\"…\" …/>");
  KN_TRY(kn_ud_origin(d->com, d->inertia_quat, node));
  KN_TRY(kn_value_real(&d->mass, kn_xml_find(mass, "value")));
  if (d->mass < 0.0)
    return kn_xml_fail_at(kn_xml_find(mass, "value"), "mass is %g, expected a number >= 0", d->mass);
  static const char* const names[] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
  for (int i = 0; i < 6; i++) KN_TRY(moment(&d->inertia[i], inertia, names[i]));
  return judge(l, link, inertia);
}

/* ---- paths ---- */

static bool exists(const kn_ud_loader* l, const char* path) {
  return kn_files_have(path, &l->settings->files);
}

static bool last_is(const char* folder, const char* package, size_t n) {
  size_t m = strlen(folder);
  while (m && folder[m - 1] == '/') m--;
  return m >= n && strncmp(folder + m - n, package, n) == 0 && (m == n || folder[m - n - 1] == '/');
}

/* folder/rest, or folder/share/rest, or the package's own folder. rest = "package/…". */
static const char* below(const kn_ud_loader* l, const char* folder, size_t length, const char* rest) {
  size_t n = strcspn(rest, "/");
  char* path = kn_hoard_format(l->pool, "%.*s/%s", (int)length, folder, rest);
  if (path && exists(l, path)) return path;
  path = kn_hoard_format(l->pool, "%.*s/share/%s", (int)length, folder, rest);
  if (path && exists(l, path)) return path;
  char* own = kn_hoard_text(l->pool, folder, length);
  if (own && rest[n] && last_is(own, rest, n)) {
    path = kn_hoard_format(l->pool, "%s%s", own, rest + n);
    if (path && exists(l, path)) return path;
  }
  return NULL;
}

static const char* in_list(const kn_ud_loader* l, const char* list, const char* rest) {
  for (const char* p = list; p && *p;) {
    size_t n = strcspn(p, ":");
    const char* found = n ? below(l, p, n, rest) : NULL;
    if (found) return found;
    p += n + (p[n] == ':');
  }
  return NULL;
}

#ifdef __wasi__ /* no realpath: paths of the page's files are absolute as they are */
static char* full_path(const char* folder) { return strdup(folder); }
#else
static char* full_path(const char* folder) { return realpath(folder[0] ? folder : ".", NULL); }
#endif

/* The file's folder and those above it; of files given by name (settings.files), as far as their names go. */
static const char* above(const kn_ud_loader* l, const char* folder, const char* rest) {
  char* full = l->settings->files.read ? strdup(folder) : full_path(folder);
  const char* found = NULL;
  for (size_t n = full ? strlen(full) : 0; n > 0 && !found;) {
    found = below(l, full, n, rest);
    while (n > 0 && full[n - 1] != '/') n--;
    while (n > 0 && full[n - 1] == '/') n--;
  }
  if (!found) found = below(l, "", 0, rest);
  free(full);
  return found;
}

/* A path of a mesh: package://, model://, file://, relative. NULL in *path: not found (not an error here). */
static kn_status resolve(const char** path, kn_ud_loader* l, const char* uri) {
  *path = NULL;
  const char* rest = NULL;
  if (strncmp(uri, "package://", 10) == 0) rest = uri + 10;
  if (strncmp(uri, "model://", 8) == 0) rest = uri + 8;
  if (!rest) {
    if (strncmp(uri, "file://", 7) == 0) uri += 7;
    char* joined = kn_path_join(l->pool, l->folder, uri);
    if (!joined) return kn_fail(KN_OUT_OF_MEMORY, "no memory");
    if (exists(l, joined)) *path = joined;
    return KN_OK;
  }
  while (*rest == '/') rest++; /* package:///name/… is common */
  const char* found = in_list(l, l->settings->packages, rest);
  if (!found) found = in_list(l, getenv("ROS_PACKAGE_PATH"), rest);
  if (!found) found = in_list(l, getenv("AMENT_PREFIX_PATH"), rest);
  if (!found) found = above(l, l->folder, rest);
  *path = found;
  return KN_OK;
}

/* ---- looks ---- */

static kn_status read_material(kn_ud_material* m, kn_ud_loader* l, const kn_xml_node* node) {
  const char* name = kn_xml_value(node, "name");
  const kn_xml_node *color = kn_xml_child(node, "color"), *texture = kn_xml_child(node, "texture");
  double rgba[4] = {0.5, 0.5, 0.5, 1.0};
  int known = name ? kn_names_get(&l->names, 'M', name) : -1;
  *m = (kn_ud_material){.name = name ? name : "", .texture = "", .rgba = {0.5f, 0.5f, 0.5f, 1.0f}};
  if (known >= 0 && !color && !texture) {
    *m = l->material[known];
    return KN_OK;
  }
  const kn_xml_attr* a = color ? kn_xml_find(color, "rgba") : NULL;
  KN_TRY(kn_value_reals(rgba, NULL, a, 3, 4));
  for (int i = 0; i < 4; i++) m->rgba[i] = (float)rgba[i];
  const char* file = texture ? kn_xml_value(texture, "filename") : NULL;
  if (file && file[0]) {
    const char* path;
    KN_TRY(resolve(&path, l, file));
    if (path) m->texture = path;
  }
  if (known >= 0 || !name || !name[0]) return KN_OK;
  if (!KN_GROW(l->pool, l->material, l->nmaterial, l->material_capacity) ||
      !kn_names_put(&l->names, l->pool, 'M', name, l->nmaterial))
    return KN_XML_NO_MEMORY(node);
  l->material[l->nmaterial++] = *m;
  return KN_OK;
}

kn_status kn_ud_materials(kn_ud_loader* l, const kn_xml_node* root) {
  kn_ud_material m;
  for (const kn_xml_node* k = root->child; k; k = k->next)
    if (kn_xml_is(k, "material")) KN_TRY(read_material(&m, l, k));
  return KN_OK;
}

/* ---- shapes ---- */

static kn_status positive(double* out, const kn_xml_node* node, const char* name, double factor) {
  const kn_xml_attr* a = kn_xml_find(node, name);
  if (!a) return kn_xml_fail(node, "<%s> without %s, expected a length in metres", node->name, name);
  KN_TRY(kn_value_reals(out, NULL, a, 1, 1));
  if (!(*out > 0.0)) return kn_xml_fail_at(a, "%s is %g, expected a length > 0", name, *out);
  *out *= factor;
  return KN_OK;
}

static kn_status primitive(kn_shape* s, const kn_xml_node* node) {
  if (kn_xml_is(node, "box")) {
    const kn_xml_attr* a = kn_xml_find(node, "size");
    s->type = KN_SHAPE_BOX;
    if (!a) return kn_xml_fail(node, "<box> without size, expected three lengths");
    KN_TRY(kn_value_reals(s->size, NULL, a, 3, 3));
    for (int i = 0; i < 3; i++) {
      if (!(s->size[i] > 0.0))
        return kn_xml_fail_at(a, "size number %d is %g, expected a length > 0", i + 1, s->size[i]);
      s->size[i] *= 0.5;
    }
    return KN_OK;
  }
  s->type = kn_xml_is(node, "sphere")    ? KN_SHAPE_SPHERE
            : kn_xml_is(node, "capsule") ? KN_SHAPE_CAPSULE
                                         : KN_SHAPE_CYLINDER;
  KN_TRY(positive(&s->size[0], node, "radius", 1.0));
  return kn_xml_is(node, "sphere") ? KN_OK : positive(&s->size[1], node, "length", 0.5);
}

static kn_status mesh_scale(double scale[3], const kn_xml_node* node) {
  const kn_xml_attr* a = kn_xml_find(node, "scale");
  int n = 3;
  scale[0] = scale[1] = scale[2] = 1.0;
  if (a) KN_TRY(kn_value_reals(scale, &n, a, 1, 3));
  if (n == 2) return kn_xml_fail_at(a, "scale has 2 numbers, expected 1 or 3");
  if (n == 1) scale[1] = scale[2] = scale[0];
  for (int i = 0; i < 3; i++)
    if (scale[i] == 0.0) return kn_xml_fail_at(a, "a scale factor is zero, expected numbers other than 0");
  return KN_OK;
}

static kn_status mesh_path(const char** path, kn_ud_loader* l, const kn_xml_node* node) {
  const kn_xml_attr* a = kn_xml_find(node, "filename");
  if (!a || !a->value[0]) return kn_xml_fail(node, "<mesh> without filename, expected filename=\"…\"");
  KN_TRY(resolve(path, l, a->value));
  if (*path) return KN_OK;
  return kn_xml_fail_at(a,
                        "mesh file \"%.160s\" was not found; give the folder of its package (--packages, "
                        "ROS_PACKAGE_PATH) or leave meshes out (--no-meshes)",
                        a->value);
}

/* Hull of a collision mesh; NULL and a note when there is none. */
static kn_status mesh_hull(kn_hull** hull, kn_ud_loader* l, const kn_xml_node* node, const char* path) {
  kn_mesh_data mesh = {0};
  double scale[3];
  *hull = NULL;
  KN_TRY(mesh_scale(scale, node));
  kn_status status = kn_files_mesh(&mesh, path, &l->settings->files);
  if (status == KN_OK) status = kn_mesh_data_scale(&mesh, scale);
  if (status == KN_OK) status = kn_hull_create(hull, mesh.vertices, mesh.nvertex, NULL);
  kn_mesh_data_free(&mesh);
  if (status == KN_OK || status == KN_OUT_OF_MEMORY) return status;
  return kn_note_node(l->report, KN_NOTE_UNSUPPORTED, node,
                      "the mesh cannot be used for contact and was left out: %s", kn_last_error());
}

static kn_status add_mesh(kn_ud_loader* l, kn_geom_def* g, kn_visual* v, const kn_xml_node* shape,
                          bool collides) {
  KN_TRY(mesh_scale(v->scale, shape));
  if (!collides) {
    const kn_xml_attr* a = kn_xml_find(shape, "filename");
    if (!a) return kn_xml_fail(shape, "<mesh> without filename, expected filename=\"…\"");
    KN_TRY(resolve(&v->mesh_file, l, a->value));
    return kn_note_visual(l->report, v);
  }
  if (l->settings->skip_meshes) return KN_OK;
  kn_hull* hull;
  KN_TRY(mesh_path(&v->mesh_file, l, shape));
  KN_TRY(mesh_hull(&hull, l, shape, v->mesh_file));
  if (!hull) return KN_OK;
  g->shape = (kn_shape){.type = KN_SHAPE_HULL, .hull = hull};
  g->own_shape = true;
  kn_status status = kn_spec_add_geom(&v->geom, l->spec, g);
  if (status != KN_OK) {
    kn_hull_destroy(hull);
    return status;
  }
  return kn_note_visual(l->report, v);
}

/* Bullet's <contact> of a link. */
static kn_status contact_values(kn_material* m, const kn_xml_node* link) {
  const kn_xml_node* c = kn_xml_child(link, "contact");
  for (const kn_xml_node* k = c ? c->child : NULL; k; k = k->next) {
    const kn_xml_attr* a = kn_xml_find(k, "value");
    double v;
    if (!a) continue;
    KN_TRY(kn_value_reals(&v, NULL, a, 1, 1));
    bool friction = kn_xml_is(k, "lateral_friction"), e = kn_xml_is(k, "restitution");
    if ((friction && v < 0.0) || (e && !(v >= 0.0 && v <= 1.0)))
      return kn_xml_fail_at(a, "%s is %g, expected %s", k->name, v,
                            e ? "a number from 0 to 1" : "a number >= 0");
    if (friction) m->mu = v;
    if (e) m->e = v;
  }
  return KN_OK;
}

static kn_status add_shape(kn_ud_loader* l, const kn_ud_link* link, const kn_xml_node* node) {
  bool collides = kn_xml_is(node, "collision");
  const kn_xml_node* geometry = kn_xml_child(node, "geometry");
  const kn_xml_node* shape = NULL;
  static const char* const known[] = {"box", "cylinder", "capsule", "sphere", "mesh"};
  for (int i = 0; geometry && !shape && i < 5; i++) shape = kn_xml_child(geometry, known[i]);
  if (!shape)
    return kn_xml_fail(geometry ? geometry : node,
                       "<%s> without a shape, expected <geometry> with box, cylinder, sphere or mesh",
                       node->name);
  kn_geom_def g = kn_geom_default(KN_SHAPE_BOX);
  kn_ud_material looks = {.name = "", .texture = "", .rgba = {0.5f, 0.5f, 0.5f, 1.0f}};
  const kn_xml_node* material = kn_xml_child(node, "material");
  if (material && !collides) KN_TRY(read_material(&looks, l, material));
  g.name = NULL; /* names of visuals and collisions need not be unique */
  g.body = link->body;
  g.mass = 0.0;
  g.contype = g.conaffinity = collides;
  g.group = collides ? 3 : 2;
  memcpy(g.rgba, looks.rgba, sizeof g.rgba);
  KN_TRY(contact_values(&g.material, link->node));
  KN_TRY(kn_ud_origin(g.pos, g.quat, node));
  if (!kn_xml_is(shape, "mesh")) {
    kn_geom id;
    memset(g.shape.size, 0, sizeof g.shape.size);
    KN_TRY(primitive(&g.shape, shape));
    return kn_xml_added(kn_spec_add_geom(&id, l->spec, &g), l->spec, node);
  }
  const char* name = kn_xml_value(node, "name");
  kn_visual v = {.body = g.body,
                 .geom = -1,
                 .name = name ? name : "",
                 .material = looks.name,
                 .texture = looks.texture,
                 .group = g.group};
  memcpy(v.pos, g.pos, sizeof v.pos);
  memcpy(v.quat, g.quat, sizeof v.quat);
  memcpy(v.rgba, g.rgba, sizeof v.rgba);
  return add_mesh(l, &g, &v, shape, collides);
}

kn_status kn_ud_geometry(kn_ud_loader* l, const kn_ud_link* link) {
  for (const kn_xml_node* k = link->node->child; k; k = k->next)
    if (kn_xml_is(k, "visual") || kn_xml_is(k, "collision")) KN_TRY(add_shape(l, link, k));
  return KN_OK;
}
