/* Foxglove messages of a step as JSON text (scene.h): transforms of the bodies, shapes once, contact forces as
   arrows. */
#include "record/write/scene.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "model/hull.h"
#include "model/model.h"
#include "model/trimesh.h"
#include "spatial/spatial.h"

static void say(kn_bytes* b, const char* format, ...) __attribute__((format(printf, 2, 3)));
static void say(kn_bytes* b, const char* format, ...) {
  va_list args;
  if (!kn_bytes_room(b, 1024)) return;
  va_start(args, format);
  int n = vsnprintf((char*)b->at + b->n, 1024, format, args);
  va_end(args);
  if (n > 0) b->n += (size_t)(n < 1024 ? n : 1023);
}

static void text(kn_bytes* b, const char* words) { kn_put(b, words, strlen(words)); }

static void stamp(kn_bytes* b, const char* key, double t) {
  double sec = floor(fmax(t, 0.0));
  say(b, "\"%s\":{\"sec\":%.0f,\"nsec\":%d}", key, sec, (int)((fmax(t, 0.0) - sec) * 1e9));
}

/* Names with quotes or control characters made harmless; nameless bodies get their number. */
static void frame_id(kn_bytes* b, const kn_model* m, kn_body body) {
  const char* name = kn_body_name(m, body);
  if (!name || !name[0]) {
    say(b, "\"body_%d\"", body);
    return;
  }
  kn_put_u8(b, '"');
  for (const char* p = name; *p; p++) {
    if (*p == '"' || *p == '\\') kn_put_u8(b, '\\');
    kn_put_u8(b, (unsigned char)*p < 32 ? ' ' : (uint8_t)*p);
  }
  kn_put_u8(b, '"');
}

/* Micrometres are enough for a picture; ten times faster than printf. */
static void number(kn_bytes* b, double x) {
  if (!(fabs(x) < 1e9)) {
    say(b, "%.9g", isfinite(x) ? x : 0.0);
    return;
  }
  char text[24];
  int n = sizeof text;
  uint64_t i = (uint64_t)(fabs(x) * 1e6 + 0.5);
  for (int k = 0; k < 6; k++, i /= 10) text[--n] = (char)('0' + i % 10);
  text[--n] = '.';
  do text[--n] = (char)('0' + i % 10);
  while (i /= 10);
  if (x < 0.0) text[--n] = '-';
  kn_put(b, text + n, sizeof text - (size_t)n);
}

static void member(kn_bytes* b, const char* key, double x) {
  kn_put(b, key, strlen(key));
  number(b, x);
}

static void vector(kn_bytes* b, const char* key, const double x[3]) {
  text(b, key);
  member(b, "\"x\":", x[0]), member(b, ",\"y\":", x[1]), member(b, ",\"z\":", x[2]);
  kn_put_u8(b, '}');
}

static void rotation(kn_bytes* b, const char* key, const double q[4]) {
  text(b, key);
  member(b, "\"x\":", q[1]), member(b, ",\"y\":", q[2]), member(b, ",\"z\":", q[3]),
      member(b, ",\"w\":", q[0]);
  kn_put_u8(b, '}');
}

static void pose(kn_bytes* b, const double pos[3], const double quat[4]) {
  text(b, "\"pose\":{");
  vector(b, "\"position\":{", pos);
  text(b, ",");
  rotation(b, "\"orientation\":{", quat);
  text(b, "}");
}

static void color(kn_bytes* b, const float c[4]) {
  say(b, "\"color\":{\"r\":%.4g,\"g\":%.4g,\"b\":%.4g,\"a\":%.4g}", (double)c[0], (double)c[1], (double)c[2],
      (double)c[3]);
}

static void box(kn_bytes* b, const char* comma, const kn_geom_def* g, const double pos[3], double x, double y,
                double z) {
  text(b, comma), text(b, "{");
  pose(b, pos, g->quat);
  say(b, ",\"size\":{\"x\":%.9g,\"y\":%.9g,\"z\":%.9g},", 2 * x, 2 * y, 2 * z);
  color(b, g->rgba);
  text(b, "}");
}

/* One list of the entity: cubes, spheres or cylinders of a body. */
static void list_of(kn_bytes* b, const kn_model* m, kn_body body, const char* key, kn_shape_type type) {
  const char* comma = "";
  say(b, "\"%s\":[", key);
  for (int i = 0; i < m->ngeom; i++) {
    const kn_geom_def* g = &m->geom[i];
    const double* s = g->shape.size;
    if (g->body != body) continue;
    kn_shape_type t = g->shape.type;
    if (type == KN_SHAPE_BOX && t == KN_SHAPE_BOX) box(b, comma, g, g->pos, s[0], s[1], s[2]), comma = ",";
    if (type == KN_SHAPE_BOX && t == KN_SHAPE_PLANE) { /* a slab whose top is the plane */
      double R[9], p[3];
      kn_quat_to_matrix(R, g->quat);
      for (int k = 0; k < 3; k++) p[k] = g->pos[k] - 0.005 * R[3 * k + 2];
      box(b, comma, g, p, s[0] > 0 ? s[0] : 10, s[1] > 0 ? s[1] : 10, 0.005), comma = ",";
    }
    if (type == KN_SHAPE_SPHERE && t == KN_SHAPE_SPHERE)
      box(b, comma, g, g->pos, s[0], s[0], s[0]), comma = ",";
    if (type == KN_SHAPE_SPHERE && t == KN_SHAPE_ELLIPSOID)
      box(b, comma, g, g->pos, s[0], s[1], s[2]), comma = ",";
    if (type == KN_SHAPE_SPHERE && t == KN_SHAPE_CAPSULE) {
      double R[9], p[3];
      kn_quat_to_matrix(R, g->quat);
      for (int side = -1; side <= 1; side += 2) {
        for (int k = 0; k < 3; k++) p[k] = g->pos[k] + side * s[1] * R[3 * k + 2];
        box(b, comma, g, p, s[0], s[0], s[0]), comma = ",";
      }
    }
    if (type == KN_SHAPE_CYLINDER && (t == KN_SHAPE_CYLINDER || t == KN_SHAPE_CAPSULE)) {
      text(b, comma), text(b, "{");
      pose(b, g->pos, g->quat);
      say(b, ",\"size\":{\"x\":%.9g,\"y\":%.9g,\"z\":%.9g},\"bottom_scale\":1,\"top_scale\":1,", 2 * s[0],
          2 * s[0], 2 * s[1]);
      color(b, g->rgba);
      text(b, "}");
      comma = ",";
    }
  }
  text(b, "],");
}

static void point(kn_bytes* b, const char* comma, double x, double y, double z) {
  say(b, "%s{\"x\":%.7g,\"y\":%.7g,\"z\":%.7g}", comma, x, y, z);
}

static void triangles(kn_bytes* b, const kn_geom_def* g) {
  const kn_hull* h = g->shape.hull;
  const kn_mesh* mesh = g->shape.mesh;
  const char* comma = "";
  pose(b, g->pos, g->quat);
  text(b, ",\"points\":[");
  for (int i = 0; h && i < h->nv; i++, comma = ",") point(b, comma, h->x[i], h->y[i], h->z[i]);
  for (int i = 0; mesh && i < mesh->nvertex; i++, comma = ",")
    point(b, comma, mesh->vertices[3 * i], mesh->vertices[3 * i + 1], mesh->vertices[3 * i + 2]);
  text(b, "],\"indices\":[");
  comma = "";
  for (int f = 0; h && f < h->nf; f++)
    for (int k = h->face_start[f] + 2; k < h->face_start[f + 1]; k++, comma = ",")
      say(b, "%s%d,%d,%d", comma, h->face_vertex[h->face_start[f]], h->face_vertex[k - 1], h->face_vertex[k]);
  for (int t = 0; mesh && t < 3 * mesh->ntriangle; t++, comma = ",")
    say(b, "%s%d", comma, mesh->triangles[t]);
  text(b, "],\"colors\":[],");
  color(b, g->rgba);
}

static void meshes(kn_bytes* b, const kn_model* m, kn_body body) {
  const char* comma = "";
  text(b, "\"triangles\":[");
  for (int i = 0; i < m->ngeom; i++) {
    const kn_geom_def* g = &m->geom[i];
    if (g->body != body || (g->shape.type != KN_SHAPE_HULL && g->shape.type != KN_SHAPE_MESH)) continue;
    text(b, comma), text(b, "{");
    triangles(b, g);
    text(b, "}");
    comma = ",";
  }
  text(b, "]");
}

void kn_scene_shapes(kn_bytes* out, const kn_model* m, double t) {
  const char* comma = "";
  text(out, "{\"deletions\":[],\"entities\":[");
  for (kn_body body = KN_WORLD; body < m->nbody; body++) {
    text(out, comma), text(out, "{");
    stamp(out, "timestamp", t);
    text(out, ",\"frame_id\":");
    frame_id(out, m, body);
    say(out,
        ",\"id\":\"shapes_%d\",\"lifetime\":{\"sec\":0,\"nsec\":0},\"frame_locked\":true,\"metadata\":[],"
        "\"arrows\":[],",
        body);
    list_of(out, m, body, "cubes", KN_SHAPE_BOX);
    list_of(out, m, body, "spheres", KN_SHAPE_SPHERE);
    list_of(out, m, body, "cylinders", KN_SHAPE_CYLINDER);
    text(out, "\"lines\":[],");
    meshes(out, m, body);
    text(out, ",\"texts\":[],\"models\":[]}");
    comma = ",";
  }
  text(out, "]}");
}

void kn_scene_transforms(kn_bytes* out, const kn_model* m, const kn_data* data, double t) {
  const char* comma = "";
  kn_bytes time = {0}; /* the same for all */
  stamp(&time, "timestamp", t);
  text(out, "{\"transforms\":[");
  for (kn_body body = 0; body < m->nbody; body++) {
    kn_pose X;
    double quat[4];
    if (kn_body_pose(&X, m, data, body) != KN_OK) continue;
    kn_quat_from_matrix(quat, X.R);
    text(out, comma), text(out, "{");
    kn_put(out, time.at, time.n);
    text(out, ",\"parent_frame_id\":\"world\",\"child_frame_id\":");
    frame_id(out, m, body);
    text(out, ",");
    vector(out, "\"translation\":{", X.p);
    text(out, ",");
    rotation(out, "\"rotation\":{", quat);
    text(out, "}");
    comma = ",";
  }
  text(out, "]}");
  free(time.at);
}

/* An arrow per contact with a force, a centimetre per newton up to half a metre, along the force on A. What
   collides has an impulse and no force: no arrow. */
void kn_scene_contacts(kn_bytes* out, const kn_report* r, double t) {
  const char* comma = "";
  kn_contact_load* load = malloc((size_t)r->contacts * sizeof *load + 1);
  bool known = load && kn_contact_loads(load, r->contact, r->contacts, r->dt) == KN_OK;
  text(out, "{\"deletions\":[],\"entities\":[{");
  stamp(out, "timestamp", t);
  say(out, ",\"frame_id\":\"world\",\"id\":\"contacts\",\"lifetime\":{\"sec\":0,\"nsec\":0},\"frame_locked\":"
           "false,\"metadata\":[],\"arrows\":[");
  for (int i = 0; i < r->contacts && known; i++) {
    const kn_contact* c = &r->contact[i];
    double f[3], R[9], Rx[9], quat[4];
    memcpy(f, load[i].world, sizeof f);
    double n = kn_unit3(f);
    if (load[i].impulse || !(n > 0.0)) continue;
    kn_rotation_to_z(R, f);
    for (int k = 0; k < 3; k++)
      Rx[3 * k] = R[3 * k + 2], Rx[3 * k + 1] = R[3 * k],
             Rx[3 * k + 2] = R[3 * k + 1]; /* x along the force */
    kn_quat_from_matrix(quat, Rx);
    text(out, comma), text(out, "{");
    pose(out, c->point, quat);
    double length = fmin(0.5, 0.01 * n);
    say(out,
        ",\"shaft_length\":%.6g,\"shaft_diameter\":0.01,\"head_length\":%.6g,\"head_diameter\":0.02,"
        "\"color\":{\"r\":1,\"g\":0.4,\"b\":0,\"a\":1}}",
        length, 0.2 * length);
    comma = ",";
  }
  free(load);
  say(out, "],\"cubes\":[],\"spheres\":[],\"cylinders\":[],\"lines\":[],\"triangles\":[],\"texts\":[],"
           "\"models\":[]}]}");
}
