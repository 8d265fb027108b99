/* Foxglove messages of a step (shown.h). Field numbers are those of the table in proto.c. */
#include "record/write/shown.h"

#include <math.h>
#include <stdio.h>

#include "model/hull.h"
#include "model/model.h"
#include "model/trimesh.h"
#include "spatial/spatial.h"

const char* kn_scene_name(char name[KN_NAME], const char* own, const char* kind, int i) {
  if (own && own[0])
    snprintf(name, KN_NAME, "%s", own);
  else
    snprintf(name, KN_NAME, "%s%d", kind, i);
  return name;
}

const char* kn_scene_body(char name[KN_NAME], const kn_model* m, kn_body body) {
  return kn_scene_name(name, kn_body_name(m, body), "body", body);
}

const char* kn_scene_geom(char name[KN_NAME], const kn_model* m, kn_geom geom) {
  return kn_scene_name(name, kn_geom_name(m, geom), "geom", geom);
}

static void rotation(kn_bytes* b, int field, const double q[4]) {
  size_t start = kn_proto_begin(b, field);
  for (int k = 0; k < 4; k++) kn_proto_number(b, k + 1, q[(k + 1) % 4]); /* x, y, z, w */
  kn_proto_end(b, start);
}

static void pose(kn_bytes* b, const double pos[3], const double quat[4]) {
  size_t start = kn_proto_begin(b, 1);
  kn_proto_vector(b, 1, pos);
  rotation(b, 2, quat);
  kn_proto_end(b, start);
}

static void color(kn_bytes* b, int field, const float c[4]) {
  size_t start = kn_proto_begin(b, field);
  for (int k = 0; k < 4; k++) kn_proto_number(b, k + 1, (double)c[k]);
  kn_proto_end(b, start);
}

/* ---- shapes ---- */

enum { ARROWS = 7, CUBES, SPHERES, CYLINDERS, TRIANGLES = 12, TEXTS };

/* A cube or sphere with half sizes x, y, z. */
static void solid(kn_bytes* b, int list, const kn_geom_def* g, const double pos[3], double x, double y,
                  double z) {
  size_t start = kn_proto_begin(b, list);
  pose(b, pos, g->quat);
  kn_proto_vector(b, 2, (double[]){2 * x, 2 * y, 2 * z});
  color(b, 3, g->rgba);
  kn_proto_end(b, start);
}

static void cylinder(kn_bytes* b, const kn_geom_def* g) {
  const double* s = g->shape.size;
  size_t start = kn_proto_begin(b, CYLINDERS);
  pose(b, g->pos, g->quat);
  kn_proto_vector(b, 2, (double[]){2 * s[0], 2 * s[0], 2 * s[1]});
  kn_proto_numbers(b, 3, (double[]){1.0, 1.0}, 2);
  color(b, 5, g->rgba);
  kn_proto_end(b, start);
}

static void point(kn_bytes* b, double x, double y, double z) { kn_proto_vector(b, 2, (double[]){x, y, z}); }

static void index_packed(kn_bytes* b, const kn_hull* h, const kn_mesh* mesh) {
  int n = mesh ? 3 * mesh->ntriangle : 0;
  for (int f = 0; h && f < h->nf; f++) n += 3 * (h->face_start[f + 1] - h->face_start[f] - 2);
  uint32_t* at = malloc((size_t)n * sizeof *at + 1);
  if (!at) {
    b->failed = true;
    return;
  }
  n = 0;
  for (int f = 0; h && f < h->nf; f++)
    for (int k = h->face_start[f] + 2; k < h->face_start[f + 1]; k++) {
      at[n++] = (uint32_t)h->face_vertex[h->face_start[f]];
      at[n++] = (uint32_t)h->face_vertex[k - 1];
      at[n++] = (uint32_t)h->face_vertex[k];
    }
  for (int t = 0; mesh && t < 3 * mesh->ntriangle; t++) at[n++] = (uint32_t)mesh->triangles[t];
  kn_proto_fixed(b, 5, at, (size_t)n);
  free(at);
}

static void triangles(kn_bytes* b, const kn_geom_def* g) {
  const kn_hull* h = g->shape.hull;
  const kn_mesh* mesh = g->shape.mesh;
  size_t start = kn_proto_begin(b, TRIANGLES);
  pose(b, g->pos, g->quat);
  for (int i = 0; h && i < h->nv; i++) point(b, h->x[i], h->y[i], h->z[i]);
  for (int i = 0; mesh && i < mesh->nvertex; i++)
    point(b, mesh->vertices[3 * i], mesh->vertices[3 * i + 1], mesh->vertices[3 * i + 2]);
  color(b, 3, g->rgba);
  index_packed(b, h, mesh);
  kn_proto_end(b, start);
}

/* A point of the geom on its z axis. */
static void along_z(double p[3], const kn_geom_def* g, double z) {
  double R[9];
  kn_quat_to_matrix(R, g->quat);
  for (int k = 0; k < 3; k++) p[k] = g->pos[k] + z * R[3 * k + 2];
}

static void shape(kn_bytes* b, const kn_geom_def* g) {
  const double* s = g->shape.size;
  double p[3];
  switch (g->shape.type) {
  case KN_SHAPE_PLANE: /* a slab whose top is the plane */
    along_z(p, g, -0.005);
    solid(b, CUBES, g, p, s[0] > 0 ? s[0] : 10, s[1] > 0 ? s[1] : 10, 0.005);
    break;
  case KN_SHAPE_BOX: solid(b, CUBES, g, g->pos, s[0], s[1], s[2]); break;
  case KN_SHAPE_SPHERE: solid(b, SPHERES, g, g->pos, s[0], s[0], s[0]); break;
  case KN_SHAPE_ELLIPSOID: solid(b, SPHERES, g, g->pos, s[0], s[1], s[2]); break;
  case KN_SHAPE_CAPSULE:
    for (int side = -1; side <= 1; side += 2) {
      along_z(p, g, side * s[1]);
      solid(b, SPHERES, g, p, s[0], s[0], s[0]);
    }
    cylinder(b, g);
    break;
  case KN_SHAPE_CYLINDER: cylinder(b, g); break;
  case KN_SHAPE_HULL:
  case KN_SHAPE_MESH: triangles(b, g); break;
  default: break;
  }
}

static size_t entity(kn_bytes* b, double t, const char* frame, const char* id, bool locked) {
  size_t start = kn_proto_begin(b, 2);
  kn_proto_time(b, 1, t);
  kn_proto_text(b, 2, frame);
  kn_proto_text(b, 3, id);
  kn_proto_time(b, 4, 0.0);
  kn_proto_count(b, 5, locked);
  return start;
}

void kn_scene_shapes(kn_bytes* out, const kn_model* m, double t) {
  char name[KN_NAME], id[KN_NAME + 16];
  for (kn_body body = KN_WORLD; body < m->nbody; body++) {
    kn_scene_body(name, m, body);
    snprintf(id, sizeof id, "shapes of %s", name);
    size_t start = entity(out, t, name, id, true);
    for (int i = 0; i < m->ngeom; i++)
      if (m->geom[i].body == body) shape(out, &m->geom[i]);
    kn_proto_end(out, start);
  }
}

void kn_scene_transforms(kn_bytes* out, const kn_model* m, const kn_data* data, double t) {
  char name[KN_NAME];
  for (kn_body body = 0; body < m->nbody; body++) {
    kn_pose X;
    double quat[4];
    if (kn_body_pose(&X, m, data, body) != KN_OK) continue;
    kn_quat_from_matrix(quat, X.R);
    size_t start = kn_proto_begin(out, 1);
    kn_proto_time(out, 1, t);
    kn_proto_text(out, 2, "world");
    kn_proto_text(out, 3, kn_scene_body(name, m, body));
    kn_proto_vector(out, 4, X.p);
    rotation(out, 5, quat);
    kn_proto_end(out, start);
  }
}

/* ---- forces ---- */

static const float orange[4] = {1.0f, 0.4f, 0.0f, 1.0f}, dark[4] = {0.1f, 0.1f, 0.1f, 1.0f};

enum { LABELS = 32 }; /* more could not be read */

/* A centimetre per newton up to half a metre, x along the force on A. */
static double arrow(kn_bytes* b, const double at[3], const double unit[3], double force) {
  double R[9], Rx[9], quat[4], length = fmin(0.5, 0.01 * force);
  kn_rotation_to_z(R, unit);
  for (int k = 0; k < 3; k++)
    Rx[3 * k] = R[3 * k + 2], Rx[3 * k + 1] = R[3 * k], Rx[3 * k + 2] = R[3 * k + 1];
  kn_quat_from_matrix(quat, Rx);
  size_t start = kn_proto_begin(b, ARROWS);
  pose(b, at, quat);
  kn_proto_numbers(b, 2, (double[]){length, 0.01, 0.2 * length, 0.02}, 4);
  color(b, 6, orange);
  kn_proto_end(b, start);
  return 1.2 * length;
}

static void label(kn_bytes* b, const double at[3], const char* words) {
  static const double upright[4] = {1, 0, 0, 0};
  size_t start = kn_proto_begin(b, TEXTS);
  pose(b, at, upright);
  kn_proto_count(b, 2, 1);
  kn_proto_number(b, 3, 12.0); /* pixels */
  kn_proto_count(b, 4, 1);
  color(b, 5, dark);
  kn_proto_text(b, 6, words);
  kn_proto_end(b, start);
}

static void name_and_value(kn_bytes* b, const char* name, const char* value) {
  size_t start = kn_proto_begin(b, 6);
  kn_proto_text(b, 1, name);
  kn_proto_text(b, 2, value);
  kn_proto_end(b, start);
}

/* An arrow per contact with a force, its names and newtons beside it. What collides has an impulse and no force: no
   arrow. */
void kn_scene_contacts(kn_bytes* out, const kn_model* m, const kn_report* r, const kn_contact_load* load,
                       double t) {
  size_t start = entity(out, t, "world", "contact forces", false);
  int labels = 0;
  for (int i = 0; i < r->contacts; i++) {
    const kn_contact* c = &r->contact[i];
    char a[KN_NAME], b[KN_NAME], words[2 * KN_NAME + 64];
    double f[3], tip[3];
    memcpy(f, load[i].world, sizeof f);
    double n = kn_unit3(f);
    if (load[i].impulse || !(n > 0.0)) continue;
    double length = arrow(out, c->point, f, n);
    for (int k = 0; k < 3; k++) tip[k] = c->point[k] + length * f[k];
    snprintf(words, sizeof words, "%s on %s: %.4g N", kn_scene_geom(b, m, c->geom_b),
             kn_scene_geom(a, m, c->geom_a), n);
    if (labels++ < LABELS) label(out, tip, words);
    snprintf(words, sizeof words, "%s on %s", b, a);
    char value[96];
    snprintf(value, sizeof value, "%.6g %.6g %.6g N", load[i].world[0], load[i].world[1], load[i].world[2]);
    name_and_value(out, words, value);
  }
  kn_proto_end(out, start);
}
