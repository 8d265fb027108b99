/* See picture.h. The eye's axes: right u, up w, towards the eye n (unit, right-handed u × w = n). A point x
   is drawn at (u·x, w·x); n·x sorts. Flat faces are shaded by their normal, round ones by a gradient. */
#include "picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "knuckle/mesh.h"

typedef struct view {
  FILE* file;
  double u[3], w[3], n[3];
  double scale, cx, cy; /* pixels per metre, middle of the view in (u, w) */
  int width, height;
} view;

typedef struct thing {
  const kn_geom_def* def;
  kn_pose pose;
  double depth;
  int index;
} thing;

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void place(double out[3], const kn_pose* X, double x, double y, double z) {
  for (int i = 0; i < 3; i++) out[i] = X->p[i] + X->R[3 * i] * x + X->R[3 * i + 1] * y + X->R[3 * i + 2] * z;
}

static double sx(const view* v, const double x[3]) {
  return v->width / 2.0 + v->scale * (dot(v->u, x) - v->cx);
}
static double sy(const view* v, const double x[3]) {
  return v->height / 2.0 - v->scale * (dot(v->w, x) - v->cy);
}

/* Light from the upper left, a little from the front. */
static double brightness(const view* v, const double normal[3]) {
  double l = -0.35 * dot(v->u, normal) + 0.8 * dot(v->w, normal) + 0.5 * dot(v->n, normal);
  return 0.55 + 0.45 * (l > 0.0 ? fmin(l, 1.0) : 0.0);
}

static void colour(const view* v, const float rgba[4], double light) {
  int c[3];
  for (int i = 0; i < 3; i++) c[i] = (int)(255.0 * fmin(1.0, fmax(0.0, (double)rgba[i] * light)) + 0.5);
  fprintf(v->file, "#%02x%02x%02x", c[0], c[1], c[2]);
}

static void opacity(const view* v, const float rgba[4]) {
  if (rgba[3] < 0.995f) fprintf(v->file, " fill-opacity=\"%.2f\"", (double)rgba[3]);
}

/* ---- faces ---- */

static void face(const view* v, const float rgba[4], double (*x)[3], int n) {
  double a[3], b[3], normal[3];
  for (int i = 0; i < 3; i++) a[i] = x[1][i] - x[0][i], b[i] = x[2][i] - x[0][i];
  normal[0] = a[1] * b[2] - a[2] * b[1];
  normal[1] = a[2] * b[0] - a[0] * b[2];
  normal[2] = a[0] * b[1] - a[1] * b[0];
  double size = sqrt(dot(normal, normal));
  if (!(size > 0.0) || dot(normal, v->n) <= 1e-9 * size) return; /* seen from behind, or edge on */
  for (int i = 0; i < 3; i++) normal[i] /= size;
  fputs("<polygon points=\"", v->file);
  for (int i = 0; i < n; i++) fprintf(v->file, "%s%.1f,%.1f", i ? " " : "", sx(v, x[i]), sy(v, x[i]));
  fputs("\" fill=\"", v->file);
  colour(v, rgba, brightness(v, normal));
  fputs("\" stroke=\"", v->file);
  colour(v, rgba, 0.45);
  fputs("\" stroke-width=\"0.6\" stroke-linejoin=\"round\"", v->file);
  opacity(v, rgba);
  fputs("/>\n", v->file);
}

static void box(const view* v, const thing* t) {
  const double* h = t->def->shape.size;
  for (int axis = 0; axis < 3; axis++)
    for (int side = -1; side <= 1; side += 2) {
      double x[4][3];
      for (int k = 0; k < 4; k++) {
        double c[3], s = k == 1 || k == 2 ? 1.0 : -1.0, r = k >= 2 ? 1.0 : -1.0;
        int i = (axis + 1) % 3, j = (axis + 2) % 3;
        c[axis] = side * h[axis];
        c[i] = (side > 0 ? s : r) * h[i]; /* counter-clockwise seen from outside */
        c[j] = (side > 0 ? r : s) * h[j];
        place(x[k], &t->pose, c[0], c[1], c[2]);
      }
      face(v, t->def->rgba, x, 4);
    }
}

enum { SIDES = 32 };

static void cylinder(const view* v, const thing* t) {
  double top[SIDES][3], low[SIDES][3], r = t->def->shape.size[0], h = t->def->shape.size[1];
  for (int k = 0; k < SIDES; k++) {
    double s, c;
    kn_sincos_exact(&s, &c, k * 6.283185307179586 / SIDES);
    place(top[k], &t->pose, r * c, r * s, h);
    place(low[SIDES - 1 - k], &t->pose, r * c, r * s, -h);
  }
  for (int k = 0; k < SIDES; k++) {
    double x[4][3];
    int next = (k + 1) % SIDES;
    memcpy(x[0], low[SIDES - 1 - k], sizeof x[0]);
    memcpy(x[1], low[SIDES - 1 - next], sizeof x[0]);
    memcpy(x[2], top[next], sizeof x[0]);
    memcpy(x[3], top[k], sizeof x[0]);
    face(v, t->def->rgba, x, 4);
  }
  face(v, t->def->rgba, top, SIDES);
  face(v, t->def->rgba, low, SIDES);
}

static void hull(const view* v, const thing* t) {
  kn_mesh_data m;
  if (!t->def->shape.hull || kn_hull_triangles(&m, t->def->shape.hull) != KN_OK) return;
  for (int i = 0; i < m.ntriangle; i++) {
    double x[3][3];
    for (int k = 0; k < 3; k++) {
      const double* p = &m.vertices[3 * m.triangles[3 * i + k]];
      place(x[k], &t->pose, p[0], p[1], p[2]);
    }
    face(v, t->def->rgba, x, 3);
  }
  kn_mesh_data_free(&m);
}

/* ---- round things ---- */

static void gradient(const view* v, const thing* t) {
  fprintf(v->file,
          "<radialGradient id=\"g%d\" cx=\"0.35\" cy=\"0.3\" r=\"0.75\"><stop offset=\"0\" stop-color=\"",
          t->index);
  colour(v, t->def->rgba, 1.35);
  fputs("\"/><stop offset=\"1\" stop-color=\"", v->file);
  colour(v, t->def->rgba, 0.55);
  fputs("\"/></radialGradient>\n", v->file);
}

/* The outline of an ellipsoid is the ellipse of the projected matrix Q = P R diag(size²) Rᵀ Pᵀ. */
static void ellipsoid(const view* v, const thing* t, const double size[3]) {
  double Q[3] = {0}; /* uu, uw, ww */
  for (int k = 0; k < 3; k++) {
    double axis[3] = {t->pose.R[k], t->pose.R[3 + k], t->pose.R[6 + k]}, a = size[k] * dot(v->u, axis),
           b = size[k] * dot(v->w, axis);
    Q[0] += a * a, Q[1] += a * b, Q[2] += b * b;
  }
  double mean = (Q[0] + Q[2]) / 2, diff = (Q[0] - Q[2]) / 2, root = sqrt(diff * diff + Q[1] * Q[1]);
  double angle = root > 1e-12 * mean ? 0.5 * kn_angle(Q[1], diff) : 0.0;
  gradient(v, t);
  fprintf(
      v->file,
      "<ellipse rx=\"%.2f\" ry=\"%.2f\" transform=\"translate(%.1f %.1f) rotate(%.2f)\" fill=\"url(#g%d)\"",
      fmax(0.5, v->scale * sqrt(mean + root)), fmax(0.5, v->scale * sqrt(fmax(0.0, mean - root))),
      sx(v, t->pose.p), sy(v, t->pose.p), -angle * 57.29577951308232, t->index);
  opacity(v, t->def->rgba);
  fputs("/>\n", v->file);
}

static void stroke(const view* v, const thing* t, double shift, double width, double light) {
  double a[3], b[3], h = t->def->shape.size[1];
  place(a, &t->pose, 0, 0, -h);
  place(b, &t->pose, 0, 0, h);
  fprintf(v->file,
          "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke-linecap=\"round\" "
          "stroke-width=\"%.2f\" stroke=\"",
          sx(v, a) - shift, sy(v, a) - shift, sx(v, b) - shift + 0.01, sy(v, b) - shift, width);
  colour(v, t->def->rgba, light);
  fputs("\"/>\n", v->file);
}

static void capsule(const view* v, const thing* t) {
  double r = v->scale * t->def->shape.size[0];
  stroke(v, t, 0.0, fmax(1.0, 2 * r), 0.55);
  stroke(v, t, 0.08 * r, fmax(0.8, 1.7 * r), 0.85);
  stroke(v, t, 0.25 * r, fmax(0.4, 0.7 * r), 1.15);
}

static void draw(const view* v, const thing* t) {
  const double* s = t->def->shape.size;
  double ball[3] = {s[0], s[0], s[0]};
  switch (t->def->shape.type) {
  case KN_SHAPE_SPHERE: ellipsoid(v, t, ball); break;
  case KN_SHAPE_ELLIPSOID: ellipsoid(v, t, s); break;
  case KN_SHAPE_CAPSULE: capsule(v, t); break;
  case KN_SHAPE_CYLINDER: cylinder(v, t); break;
  case KN_SHAPE_BOX: box(v, t); break;
  case KN_SHAPE_HULL: hull(v, t); break;
  default: break;
  }
}

/* ---- planes: a piece of them around the middle, with a grid ---- */

static void plane(const view* v, const thing* t, const double middle[3], double reach) {
  double d[3], x[4][3];
  for (int i = 0; i < 3; i++) d[i] = middle[i] - t->pose.p[i];
  double a = d[0] * t->pose.R[0] + d[1] * t->pose.R[3] + d[2] * t->pose.R[6];
  double b = d[0] * t->pose.R[1] + d[1] * t->pose.R[4] + d[2] * t->pose.R[7];
  place(x[0], &t->pose, a - reach, b - reach, 0);
  place(x[1], &t->pose, a + reach, b - reach, 0);
  place(x[2], &t->pose, a + reach, b + reach, 0);
  place(x[3], &t->pose, a - reach, b + reach, 0);
  float pale[4] = {0.93f, 0.94f, 0.95f, 0.3f};
  bool level = t->pose.R[8] > 0.9;
  if (level) pale[3] = 1.0f;
  face(v, pale, x, 4);
  for (int k = 1; k < 8 && level; k++) {
    double s = -reach + k * reach / 4, p[2][3], q[2][3];
    place(p[0], &t->pose, a + s, b - reach, 0);
    place(p[1], &t->pose, a + s, b + reach, 0);
    place(q[0], &t->pose, a - reach, b + s, 0);
    place(q[1], &t->pose, a + reach, b + s, 0);
    fprintf(
        v->file,
        "<path d=\"M%.1f %.1fL%.1f %.1fM%.1f %.1fL%.1f %.1f\" stroke=\"#cfd4d8\" stroke-width=\"0.6\"/>\n",
        sx(v, p[0]), sy(v, p[0]), sx(v, p[1]), sy(v, p[1]), sx(v, q[0]), sy(v, q[0]), sx(v, q[1]),
        sy(v, q[1]));
  }
}

/* ---- the whole ---- */

static double extent(const kn_shape* s) { /* radius of a ball around the shape */
  switch (s->type) {
  case KN_SHAPE_SPHERE: return s->size[0];
  case KN_SHAPE_CAPSULE: return s->size[0] + s->size[1];
  case KN_SHAPE_CYLINDER: return sqrt(s->size[0] * s->size[0] + s->size[1] * s->size[1]);
  case KN_SHAPE_BOX: return sqrt(dot(s->size, s->size));
  default: return fmax(s->size[0], fmax(s->size[1], s->size[2]));
  }
}

static void aim(view* v, double middle[3], double* reach, const thing* t, int n) {
  double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, a[2][2];
  for (int k = 0; k < 2; k++) a[k][0] = INFINITY, a[k][1] = -INFINITY;
  for (int i = 0; i < n; i++) {
    if (t[i].def->shape.type == KN_SHAPE_PLANE) continue;
    double r = extent(&t[i].def->shape), at[2] = {dot(v->u, t[i].pose.p), dot(v->w, t[i].pose.p)};
    for (int k = 0; k < 3; k++)
      lo[k] = fmin(lo[k], t[i].pose.p[k] - r), hi[k] = fmax(hi[k], t[i].pose.p[k] + r);
    for (int k = 0; k < 2; k++) a[k][0] = fmin(a[k][0], at[k] - r), a[k][1] = fmax(a[k][1], at[k] + r);
  }
  if (!(lo[0] <= hi[0])) {
    for (int k = 0; k < 3; k++) lo[k] = -1.0, hi[k] = 1.0;
    for (int k = 0; k < 2; k++) a[k][0] = -1.0, a[k][1] = 1.0;
  }
  for (int i = 0; i < n; i++) { /* the floor below the middle is in the picture */
    if (t[i].def->shape.type != KN_SHAPE_PLANE || t[i].pose.R[8] < 0.9) continue;
    double below[3] = {(lo[0] + hi[0]) / 2, (lo[1] + hi[1]) / 2, t[i].pose.p[2]};
    if (lo[2] - below[2] > 3.0 * (hi[2] - lo[2] + hi[0] - lo[0])) continue; /* too far away */
    a[1][0] = fmin(a[1][0], dot(v->w, below));
  }
  *reach = 0.0;
  for (int k = 0; k < 3; k++) middle[k] = (lo[k] + hi[k]) / 2, *reach = fmax(*reach, 0.65 * (hi[k] - lo[k]));
  v->cx = (a[0][0] + a[0][1]) / 2;
  v->cy = (a[1][0] + a[1][1]) / 2;
  v->scale = 0.86 * fmin(v->width / (a[0][1] - a[0][0]), v->height / (a[1][1] - a[1][0]));
}

/* Half extents of the shape's box along the world axes (a ball around hulls). */
static void half_box(double h[3], const thing* t) {
  const double* s = t->def->shape.size;
  double r = extent(&t->def->shape), local[3] = {r, r, r}, round = 0.0;
  switch (t->def->shape.type) {
  case KN_SHAPE_BOX: memcpy(local, s, sizeof local); break;
  case KN_SHAPE_CYLINDER: local[0] = local[1] = s[0], local[2] = s[1]; break;
  case KN_SHAPE_CAPSULE: local[0] = local[1] = 0.0, local[2] = s[1], round = s[0]; break;
  default: local[0] = local[1] = local[2] = 0.0, round = r;
  }
  for (int i = 0; i < 3; i++) {
    h[i] = round;
    for (int k = 0; k < 3; k++) h[i] += fabs(t->pose.R[3 * i + k]) * local[k];
  }
}

/* +1: a hides no part of b (a first), -1: b first, 0: either. Boxes apart along an axis tell which is nearer
   to the eye; when two axes say different things, neither hides the other. */
static int order(const view* v, const thing* a, const thing* b) {
  double ha[3], hb[3];
  int found = 0;
  half_box(ha, a);
  half_box(hb, b);
  for (int k = 0; k < 3; k++) {
    double gap = b->pose.p[k] - a->pose.p[k], touch = ha[k] + hb[k], slack = 1e-3 * touch;
    if (fabs(gap) < touch - slack || fabs(v->n[k]) < 1e-9) continue;
    int says = gap * v->n[k] > 0.0 ? 1 : -1;
    if (found && says != found) return 0;
    found = says;
  }
  return found;
}

static int farther(const void* a, const void* b) {
  const thing *x = a, *y = b;
  if (x->depth != y->depth) return x->depth < y->depth ? -1 : 1;
  return x->index - y->index;
}

/* Planes first, then again and again the farthest thing that nothing left has to precede. */
static void arrange(const view* v, thing* t, int n) {
  qsort(t, (size_t)n, sizeof *t, farther);
  for (int i = 0; i < n && n <= 1000; i++) {
    if (t[i].def->shape.type == KN_SHAPE_PLANE) continue;
    int pick = -1;
    for (int j = i; j < n && pick < 0; j++) {
      bool free = true;
      for (int k = i; k < n && free; k++) free = k == j || order(v, &t[j], &t[k]) >= 0;
      if (free) pick = j;
    }
    if (pick <= i) continue;
    thing first = t[pick];
    memmove(&t[i + 1], &t[i], (size_t)(pick - i) * sizeof *t);
    t[i] = first;
  }
}

static void look(view* v, const kn_picture_settings* s) {
  double sa, ca, se, ce;
  kn_sincos_exact(&sa, &ca, s->azimuth * 0.017453292519943295);
  kn_sincos_exact(&se, &ce, s->elevation * 0.017453292519943295);
  double n[3] = {sa * ce, -ca * ce, se}, u[3] = {ca, sa, 0}, w[3] = {-sa * se, ca * se, ce};
  memcpy(v->n, n, sizeof n);
  memcpy(v->u, u, sizeof u);
  memcpy(v->w, w, sizeof w);
}

static kn_status gather(thing* t, kn_geom_def* def, int n, const kn_model* model, const kn_state* state,
                        const view* v) {
  kn_data* data;
  kn_status status = kn_data_create(&data, model);
  if (status != KN_OK) return status;
  status = kn_kinematics(model, state, data);
  for (int g = 0; g < n && status == KN_OK; g++) {
    t[g] = (thing){.def = &def[g], .index = g};
    status = kn_model_geom(&def[g], model, g);
    if (status == KN_OK) status = kn_geom_pose(&t[g].pose, model, data, g);
    t[g].depth = def[g].shape.type == KN_SHAPE_PLANE ? -INFINITY : dot(v->n, t[g].pose.p);
  }
  kn_data_destroy(data);
  return status;
}

kn_picture_settings kn_picture_default(void) {
  return (kn_picture_settings){.width = 480, .height = 320, .azimuth = 25, .elevation = 20};
}

kn_status kn_picture_write(FILE* file, const kn_model* model, const kn_state* state,
                           const kn_picture_settings* settings) {
  if (!file || !model || !state) return KN_BAD_ARGUMENT;
  kn_picture_settings standard = kn_picture_default();
  if (!settings) settings = &standard;
  view v = {.file = file, .width = settings->width, .height = settings->height};
  int n = kn_model_geoms(model);
  thing* t = calloc((size_t)n + 1, sizeof *t);
  kn_geom_def* def = calloc((size_t)n + 1, sizeof *def);
  look(&v, settings);
  kn_status status = t && def ? gather(t, def, n, model, state, &v) : KN_OUT_OF_MEMORY;
  if (status == KN_OK) {
    double middle[3], reach;
    aim(&v, middle, &reach, t, n);
    arrange(&v, t, n);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n",
            v.width, v.height, v.width, v.height);
    fprintf(file, "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n");
    for (int g = 0; g < n; g++)
      if (t[g].def->shape.type == KN_SHAPE_PLANE)
        plane(&v, &t[g], middle, reach);
      else
        draw(&v, &t[g]);
    fprintf(file, "</svg>\n");
    if (ferror(file)) status = KN_IO;
  }
  free(t);
  free(def);
  return status;
}
