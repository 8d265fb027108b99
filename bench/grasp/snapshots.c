/* Figures 6 and 11: the mechanism seen from above at several instants, with the contact forces. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grasp_bench.h"

enum { SHOTS = 6, COLUMNS = 3 };
static const double WIDTH = 330, HEIGHT = 330, TOP = 46, SCALE = 620, ARROW = 0.055; /* px, px/m, m/N */

typedef struct canvas {
  FILE* f;
  double x0, y0; /* pixel of the palm's middle */
} canvas;

static double px(const canvas* c, double x) { return c->x0 + SCALE * x; }
static double py(const canvas* c, double y) { return c->y0 - SCALE * y; }

static void segment(const canvas* c, double ax, double ay, double bx, double by, double width,
                    const char* colour) {
  fprintf(c->f,
          "<path d=\"M%.2f %.2fL%.2f %.2f\" stroke=\"%s\" stroke-width=\"%.2f\" stroke-linecap=\"round\"/>\n",
          px(c, ax), py(c, ay), px(c, bx), py(c, by), colour, width);
}

static void disc(const canvas* c, double x, double y, double r, const char* fill, const char* stroke) {
  fprintf(c->f, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.1f\" fill=\"%s\" stroke=\"%s\"/>\n", px(c, x),
          py(c, y), r, fill, stroke);
}

static void arrow(const canvas* c, double x, double y, double fx, double fy) {
  double l = hypot(fx, fy);
  if (l < 0.02) return;
  double bx = x + ARROW * fx, by = y + ARROW * fy, ux = fx / l, uy = fy / l, h = 0.011, w = 0.0045;
  segment(c, x, y, bx - 0.6 * h * ux, by - 0.6 * h * uy, 2.0, "#c2185b");
  fprintf(c->f, "<path d=\"M%.2f %.2fL%.2f %.2fL%.2f %.2fZ\" fill=\"#c2185b\"/>\n", px(c, bx), py(c, by),
          px(c, bx - h * ux - w * uy), py(c, by - h * uy + w * ux), px(c, bx - h * ux + w * uy),
          py(c, by - h * uy - w * ux));
}

static void mechanism(const canvas* c, const double* q, const double force[KN_GRASP_C][2], bool ghost) {
  kn_grasp_contacts k;
  const double rest[KN_GRASP_N] = {0};
  const char* link = ghost ? "#d5dce4" : "#4a719b";
  kn_grasp_contacts_at(&k, q, rest);
  fprintf(c->f,
          "<ellipse rx=\"%.2f\" ry=\"%.2f\" transform=\"translate(%.2f %.2f) rotate(%.4f)\" fill=\"%s\" "
          "stroke=\"%s\" stroke-width=\"1.5\"/>\n",
          SCALE * KN_GRASP_A, SCALE * KN_GRASP_B, px(c, q[0]), py(c, q[1]), -q[2] * 57.29577951308232,
          ghost ? "none" : "#f3d9b1", ghost ? "#e4d3bb" : "#b9772a");
  if (!ghost) { /* the major axis */
    double s = sin(q[2]), e = cos(q[2]), a = 0.85 * KN_GRASP_A;
    fprintf(c->f, "<path d=\"M%.2f %.2fL%.2f %.2f\" stroke=\"#b9772a\" stroke-dasharray=\"4 4\"/>\n",
            px(c, q[0] - a * e), py(c, q[1] - a * s), px(c, q[0] + a * e), py(c, q[1] + a * s));
  }
  for (int f = 0; f < 2; f++) {
    double x = f ? KN_GRASP_PALM : -KN_GRASP_PALM, y = 0, angle = 0;
    int side = f ? -1 : 1;
    for (int l = 0; l < 2; l++) {
      angle += q[3 + 2 * f + l];
      double ux = cos(angle), uy = sin(angle), off = 0.0052; /* half the width: the inner face is the line */
      double ox = -side * uy * off, oy = side * ux * off;
      double ex = x + KN_GRASP_LINK * ux, ey = y + KN_GRASP_LINK * uy;
      segment(c, x + ox, y + oy, ex + ox, ey + oy, 6.4, link);
      if (!ghost) disc(c, x, y, 3.6, "#ffffff", "#33506f");
      x = ex, y = ey;
    }
  }
  if (ghost) return;
  segment(c, -KN_GRASP_PALM, -0.006, KN_GRASP_PALM, -0.006, 6, "#5b6770");
  for (int f = 0; f < 2; f++) disc(c, f ? KN_GRASP_PALM : -KN_GRASP_PALM, 0, 3.6, "#ffffff", "#33506f");
  for (int i = 0; i < KN_GRASP_C; i++) {
    const double *n = k.n[i], t[2] = {n[1], -n[0]};
    if (force)
      arrow(c, k.point[i][0], k.point[i][1], force[i][0] * n[0] + force[i][1] * t[0],
            force[i][0] * n[1] + force[i][1] * t[1]);
    disc(c, k.point[i][0], k.point[i][1], 3, force && force[i][0] > 1e-6 ? "#c2185b" : "#ffffff", "#c2185b");
  }
}

static int sample_at(const grasp_run* r, double t) {
  int k = 0;
  while (k < r->n - 1 && r->t[k] < t - 1e-9) k++;
  return k;
}

bool grasp_snapshots(const char* path, const char* title, const grasp_run* r, const kn_grasp* g) {
  FILE* f = fopen(path, "w");
  if (!f) return false;
  int rows = (SHOTS + COLUMNS - 1) / COLUMNS;
  fprintf(
      f,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif\" fill=\"none\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
      "<text x=\"20\" y=\"30\" font-size=\"16\" font-weight=\"600\" fill=\"#1f2933\">%s</text>\n",
      WIDTH * COLUMNS, TOP + HEIGHT * rows, WIDTH * COLUMNS, TOP + HEIGHT * rows, title);
  kn_grasp_plan start;
  bool ghost = kn_grasp_plan_at(&start, g, 0);
  for (int s = 0; s < SHOTS; s++) {
    int k = sample_at(r, s / (double)(SHOTS - 1));
    double q[KN_GRASP_N], force[KN_GRASP_C][2];
    for (int i = 0; i < KN_GRASP_N; i++) q[i] = r->q[i][k];
    for (int i = 0; i < KN_GRASP_C; i++) force[i][0] = r->force[i][0][k], force[i][1] = r->force[i][1][k];
    double left = WIDTH * (s % COLUMNS), top = TOP + HEIGHT * (s / COLUMNS);
    canvas c = {f, left + WIDTH / 2, top + HEIGHT - 44};
    bool soft = r->compliant[k] > 0;
    fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\" fill=\"%s\"/>\n",
            left + 6, top + 4, WIDTH - 12, HEIGHT - 10, soft ? "#fbf3e6" : "#f6f8fa");
    if (ghost && s) mechanism(&c, start.q, NULL, true);
    mechanism(&c, q, (const double(*)[2])force, false);
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"14\" fill=\"#323f4b\">t = %.1f s%s</text>\n",
            left + 18, top + 26, s / (double)(SHOTS - 1), soft ? " (compliant)" : "");
  }
  fprintf(f,
          "<path d=\"M%.1f 25h%.1f\" stroke=\"#c2185b\" stroke-width=\"2\"/>"
          "<text x=\"%.1f\" y=\"30\" font-size=\"12\" fill=\"#4a5560\">1 N</text>\n",
          WIDTH * COLUMNS - 100, SCALE * ARROW, WIDTH * COLUMNS - 96 + SCALE * ARROW);
  fputs("</svg>\n", f);
  bool ok = !ferror(f);
  return fclose(f) == 0 && ok;
}
