/* Many instants of a run in one picture. The outline of a convex shape seen from the side is drawn through
   its support points in directions of the picture's plane. */
#include <math.h>
#include <string.h>

#include "film_internal.h"
#include "knuckle/collide.h"

enum { OUTLINE = 40 };

typedef struct view {
  FILE* f;
  double left, top, scale; /* pixel = scale * (x - left), scale * (top - z) */
  double lo[2], hi[2];
} view;

static void pose_at(kn_pose* pose, const kn_film* film, size_t frame, size_t shape) {
  const float* at = film->frames + (frame * film->shape_count + shape) * 7;
  double w = at[3], x = at[4], y = at[5], z = at[6];
  *pose = (kn_pose){.R = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                          2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                          2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)},
                    .p = {at[0], at[1], at[2]}};
}

/* Outline points (x, z); false for shapes without one. */
static bool outline(double out[OUTLINE][2], const kn_film* film, size_t frame, size_t shape,
                    kn_geom_def* def) {
  kn_pose pose;
  if (kn_model_geom(def, film->model, film->geoms[shape]) != KN_OK || def->shape.type == KN_SHAPE_PLANE)
    return false;
  pose_at(&pose, film, frame, shape);
  for (int i = 0; i < OUTLINE; i++) {
    double p[3], d[3] = {cos(2 * M_PI * i / OUTLINE), 0, sin(2 * M_PI * i / OUTLINE)};
    if (kn_support(p, &def->shape, &pose, d) != KN_OK) return false;
    out[i][0] = p[0];
    out[i][1] = p[2];
  }
  return true;
}

static void draw_outline(const view* v, double p[OUTLINE][2], const double rgb[3], double opacity) {
  fprintf(v->f, "<path d=\"");
  for (int i = 0; i < OUTLINE; i++)
    fprintf(v->f, "%c%.1f %.1f", i ? 'L' : 'M', v->scale * (p[i][0] - v->left),
            v->scale * (v->top - p[i][1]));
  fprintf(v->f,
          "Z\" fill=\"#%02x%02x%02x\" fill-opacity=\"%.2f\" stroke=\"#1f2933\" stroke-opacity=\"%.2f\" "
          "stroke-width=\"0.8\"/>\n",
          (unsigned)lround(255 * rgb[0]), (unsigned)lround(255 * rgb[1]), (unsigned)lround(255 * rgb[2]),
          opacity, 0.6 * opacity);
}

static void fit(view* v, const kn_film* film) {
  double p[OUTLINE][2];
  kn_geom_def def;
  for (int k = 0; k < 2; k++) v->lo[k] = INFINITY, v->hi[k] = -INFINITY;
  for (size_t f = 0; f < film->frame_count; f++)
    for (size_t s = 0; s < film->shape_count; s++) {
      if (!outline(p, film, f, s, &def) || def.body == KN_WORLD) continue;
      for (int i = 0; i < OUTLINE; i++)
        for (int k = 0; k < 2; k++) {
          v->lo[k] = fmin(v->lo[k], p[i][k]);
          v->hi[k] = fmax(v->hi[k], p[i][k]);
        }
    }
}

/* What belongs to the world: planes as their edge, other shapes as outlines, cut to the picture. */
static void draw_world(const view* v, const kn_film* film) {
  static const double grey[3] = {0.80, 0.83, 0.86};
  for (size_t s = 0; s < film->shape_count; s++) {
    double p[OUTLINE][2];
    kn_geom_def def;
    if (outline(p, film, 0, s, &def)) {
      if (def.body == KN_WORLD) draw_outline(v, p, grey, 1);
      continue;
    }
    if (def.shape.type != KN_SHAPE_PLANE) continue;
    kn_pose pose;
    pose_at(&pose, film, 0, s);
    double n[2] = {pose.R[2], pose.R[8]}, length = 100 * (v->hi[0] - v->lo[0] + v->hi[1] - v->lo[1]);
    fprintf(v->f, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#7b8794\" stroke-width=\"3\"/>\n",
            v->scale * (pose.p[0] - length * n[1] - v->left), v->scale * (v->top - pose.p[2] - length * n[0]),
            v->scale * (pose.p[0] + length * n[1] - v->left),
            v->scale * (v->top - pose.p[2] + length * n[0]));
  }
}

static size_t frame_near(const kn_film* film, double t) {
  size_t best = 0;
  for (size_t i = 0; i < film->frame_count; i++)
    if (fabs(film->times[i] - t) < fabs(film->times[best] - t)) best = i;
  return best;
}

bool kn_film_strobe(const kn_film* film, FILE* file, double from, double to, int count) {
  view v = {.f = file};
  const double width = 900;
  fit(&v, film);
  if (!(v.lo[0] < v.hi[0])) return false;
  double margin = 0.04 * (v.hi[0] - v.lo[0] + v.hi[1] - v.lo[1]);
  v.left = v.lo[0] - margin;
  v.top = v.hi[1] + margin;
  v.scale = width / (v.hi[0] - v.lo[0] + 2 * margin);
  double height = v.scale * (v.hi[1] - v.lo[1] + 2 * margin);
  fprintf(
      file,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      width, height, width, height);
  draw_world(&v, film);
  for (int k = 0; k < count; k++) {
    double part = count > 1 ? (double)k / (count - 1) : 1, opacity = 0.10 + 0.85 * part * part;
    size_t frame = frame_near(film, from + part * (to - from));
    for (size_t s = 0; s < film->shape_count; s++) {
      double p[OUTLINE][2];
      kn_geom_def def;
      if (outline(p, film, frame, s, &def) && def.body != KN_WORLD)
        draw_outline(&v, p, film->shapes[s].rgb, opacity);
    }
  }
  fputs("</svg>\n", file);
  return !ferror(file);
}
