/* Figures 5, 7-10, 12 and 13 of Song and Kumar from our runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grasp_bench.h"
#include "knuckle/comp.h"
#include "output/plot.h"
#include "output/region.h"

enum { SAMPLES = 501 };
static const double DEGREE = 57.29577951308232;

static kn_plot_series line(const char* name, const double* x, const double* y, int n, int colour,
                           bool dashed) {
  return (kn_plot_series){.name = name,
                          .x = x,
                          .y = y,
                          .n = (size_t)n,
                          .colour = kn_plot_colour((size_t)colour),
                          .dashed = dashed,
                          .width = 1.8};
}

/* ---- 5 and 9: the plan and its torques ---- */

bool grasp_figure_plan(const char* path, const kn_grasp* g, bool rotation) {
  static double t[SAMPLES], value[SAMPLES], torque[4][SAMPLES];
  for (int k = 0; k < SAMPLES; k++) {
    double x[3], xd[3], xdd[3], direction[3], u[4], lambda[KN_GRASP_C];
    kn_grasp_plan p;
    t[k] = (double)k / (SAMPLES - 1);
    kn_grasp_desired(x, xd, xdd, direction, g, t[k]);
    if (!kn_grasp_plan_at(&p, g, t[k])) return false;
    kn_grasp_control(u, lambda, g, t[k], p.q, p.v);
    value[k] = rotation ? x[2] * DEGREE : x[1];
    for (int i = 0; i < 4; i++) torque[i][k] = u[i];
  }
  static const char* const joint[] = {"joint 1", "joint 2", "joint 3", "joint 4"};
  kn_plot_series s[5] = {line(NULL, t, value, SAMPLES, 0, false)};
  for (int i = 0; i < 4; i++) s[1 + i] = line(joint[i], t, torque[i], SAMPLES, i, i >= 2);
  kn_plot panel[2] = {{.title = rotation ? "(a) planned rotation" : "(a) planned translation",
                       .x_label = "time, s",
                       .y_label = rotation ? "orientation, degrees" : "y, m",
                       .series = s,
                       .series_count = 1},
                      {.title = "(b) joint torques",
                       .x_label = "time, s",
                       .y_label = "N m",
                       .series = s + 1,
                       .series_count = 4}};
  return kn_plot_save(path, panel, 2, 2, 620, 400);
}

/* ---- 7 and 8: rigid and compliant side by side ---- */

bool grasp_figure_forces(const char* path, const grasp_run* rigid, const grasp_run* const* compliant,
                         const double* eps, int count) {
  char name[4][32], title[2 * KN_GRASP_C][64];
  kn_plot_series s[2 * KN_GRASP_C][4];
  kn_plot panel[2 * KN_GRASP_C];
  if (count > 3) count = 3;
  for (int c = 0; c < count; c++) snprintf(name[c], sizeof name[c], "ε = %g", eps[c]);
  for (int i = 0; i < KN_GRASP_C; i++)
    for (int d = 0; d < 2; d++) {
      int p = 2 * i + d;
      s[p][0] = line("rigid", rigid->t, rigid->force[i][d], rigid->n, 0, false);
      for (int c = 0; c < count; c++)
        s[p][1 + c] =
            line(name[c], compliant[c]->t, compliant[c]->force[i][d], compliant[c]->n, 1 + c, c > 0);
      snprintf(title[p], sizeof title[p], "contact %d, %s", i + 1, d ? "tangential" : "normal");
      panel[p] = (kn_plot){.title = title[p],
                           .x_label = "time, s",
                           .y_label = "force, N",
                           .series = s[p],
                           .series_count = (size_t)(1 + count)};
    }
  return kn_plot_save(path, panel, 2 * KN_GRASP_C, 2, 620, 320);
}

bool grasp_figure_difference(const char* path, const grasp_run* rigid, const grasp_run* const* compliant,
                             const double* eps, int count) {
  int n = rigid->n;
  double* memory = calloc((size_t)(2 * (count + 1)) * (size_t)n, sizeof *memory);
  char name[8][32];
  kn_plot_series s[2][8];
  if (!memory) return false;
  if (count > 6) count = 6;
  for (int c = -1; c < count; c++) {
    const grasp_run* r = c < 0 ? rigid : compliant[c];
    double *phi = memory + (size_t)(2 * (c + 1)) * (size_t)n, *x = phi + n;
    for (int k = 0; k < n; k++) phi[k] = r->q[2][k] * DEGREE, x[k] = 1e3 * r->q[0][k];
    snprintf(name[c + 1], sizeof name[c + 1], c < 0 ? "rigid" : "ε = %g", c < 0 ? 0 : eps[c]);
    s[0][c + 1] = line(name[c + 1], r->t, phi, n, c + 1, c >= 0);
    s[1][c + 1] = line(name[c + 1], r->t, x, n, c + 1, false);
  }
  kn_plot panel[2] = {{.title = "(a) orientation",
                       .x_label = "time, s",
                       .y_label = "degrees",
                       .series = s[0],
                       .series_count = (size_t)(count + 1)},
                      {.title = "(b) position x",
                       .x_label = "time, s",
                       .y_label = "x, mm",
                       .series = s[1],
                       .series_count = (size_t)(count + 1)}};
  bool ok = kn_plot_save(path, panel, 2, 2, 640, 420);
  free(memory);
  return ok;
}

/* ---- 10: friction coefficients with a P-matrix ---- */

typedef struct friction_question {
  const kn_grasp_plan* plan;
  const double* M;
} friction_question;

static bool friction_is_p(double mu1, double mu2, void* context) {
  const friction_question* q = context;
  const double mu[KN_GRASP_C] = {mu1, mu2, mu1, mu2};
  double A[16];
  kn_pmatrix answer;
  kn_grasp_matrix(A, &q->plan->contact, q->M, mu, q->plan->slip);
  return kn_pmatrix_test(&answer, 4, A, 4) == KN_OK && answer.is_p == KN_ANSWER_YES;
}

bool grasp_figure_mu(const char* path, const kn_grasp* g) {
  static const double when[2] = {0.2, 0.5}, range[2] = {0, 1.5};
  static const double here[2][1] = {{0.8}, {0.6}};
  kn_plot panel[2];
  kn_plot_series s[2][2];
  kn_region region[2];
  char title[2][64];
  for (int k = 0; k < 2; k++) {
    kn_grasp_plan p;
    double M[KN_GRASP_N * KN_GRASP_N], h[KN_GRASP_N];
    if (!kn_grasp_plan_at(&p, g, when[k])) return false;
    kn_grasp_dynamics(M, h, p.q, p.v);
    friction_question q = {&p, M};
    if (!kn_region_trace(&region[k], friction_is_p, &q, range, range, 100)) return false;
    snprintf(title[k], sizeof title[k], "(%c) t = %g s", 'a' + k, when[k]);
    s[k][0] = (kn_plot_series){.name = "(0.8, 0.6)",
                               .style = KN_PLOT_POINTS,
                               .x = here[0],
                               .y = here[1],
                               .n = 1,
                               .colour = kn_plot_colour(1)};
    s[k][1] = (kn_plot_series){.name = "P-matrix",
                               .style = KN_PLOT_AREA,
                               .x = region[k].x,
                               .y = region[k].y,
                               .n = region[k].n,
                               .colour = kn_plot_colour(0)};
    panel[k] = (kn_plot){.title = title[k],
                         .x_label = "μ₁ (links 1 and 3)",
                         .y_label = "μ₂ (links 2 and 4)",
                         .fix_x = true,
                         .fix_y = true,
                         .x_range = {0, 1.5},
                         .y_range = {0, 1.5},
                         .series = s[k],
                         .series_count = 2};
  }
  bool ok = kn_plot_save(path, panel, 2, 2, 560, 520);
  for (int k = 0; k < 2; k++) kn_region_free(&region[k]);
  return ok;
}

/* ---- 12 and 13: the hybrid run with its switching points ---- */

/* Points of a series at the switches. */
static int marks(double x[GRASP_SWITCHES], double y[GRASP_SWITCHES], const grasp_run* r, const double* v) {
  int n = 0;
  for (int s = 0; s < r->switches; s++) {
    int k = r->change[s].sample;
    x[n] = r->t[k], y[n++] = v[k];
  }
  return n;
}

/* A bar over the time during which A of the plan is not P. */
static kn_plot_series window(double x[5], double y[5], const kn_grasp* g, double lo, double hi) {
  double lost = grasp_p_change(g, 0, 1, false),
         regained = isnan(lost) ? NAN : grasp_p_change(g, lost + 1e-3, 1, true);
  const double px[5] = {lost, regained, regained, lost, lost}, py[5] = {lo, lo, hi, hi, lo};
  memcpy(x, px, sizeof px);
  memcpy(y, py, sizeof py);
  return (kn_plot_series){.name = "not P (plan)",
                          .style = KN_PLOT_AREA,
                          .x = x,
                          .y = y,
                          .n = 5,
                          .colour = "#8a6d3b",
                          .width = -1};
}

static void span(double range[2], const double* v, int n) {
  for (int k = 0; k < n; k++) range[0] = fmin(range[0], v[k]), range[1] = fmax(range[1], v[k]);
}

bool grasp_figure_history(const char* path, const grasp_run* r, const kn_grasp* g) {
  static double mx[4][GRASP_SWITCHES * 2], my[4][GRASP_SWITCHES * 2], wx[4][5], wy[4][5];
  static const char* const title[] = {"contacts 1 and 3, normal", "contacts 2 and 4, normal",
                                      "contacts 1 and 3, tangential", "contacts 2 and 4, tangential"};
  static const char* const name[] = {"contact 1", "contact 2", "contact 3", "contact 4"};
  kn_plot_series s[4][4];
  kn_plot panel[4];
  for (int p = 0; p < 4; p++) {
    int first = p % 2, d = p / 2;
    double range[2] = {0, 0};
    span(range, r->force[first][d], r->n), span(range, r->force[first + 2][d], r->n);
    double pad = 0.06 * (range[1] - range[0]) + 1e-9;
    int n = marks(mx[p], my[p], r, r->force[first][d]);
    n += marks(mx[p] + n, my[p] + n, r, r->force[first + 2][d]);
    s[p][0] = (kn_plot_series){.name = "switch",
                               .style = KN_PLOT_POINTS,
                               .x = mx[p],
                               .y = my[p],
                               .n = (size_t)n,
                               .colour = kn_plot_colour(7)};
    s[p][1] = line(name[first], r->t, r->force[first][d], r->n, 0, false);
    s[p][2] = line(name[first + 2], r->t, r->force[first + 2][d], r->n, 1, true);
    s[p][3] = window(wx[p], wy[p], g, range[0] - pad, range[1] + pad);
    panel[p] = (kn_plot){.title = title[p],
                         .x_label = "time, s",
                         .y_label = "force, N",
                         .fix_y = true,
                         .y_range = {range[0] - pad, range[1] + pad},
                         .series = s[p],
                         .series_count = 4};
  }
  return kn_plot_save(path, panel, 4, 2, 720, 360);
}

bool grasp_figure_motion(const char* path, const grasp_run* r, const kn_grasp* g) {
  static double mx[3][GRASP_SWITCHES * 4], my[3][GRASP_SWITCHES * 4], wx[3][5], wy[3][5];
  static const char* const name[] = {"contact 1", "contact 2", "contact 3", "contact 4"};
  double *want = calloc(2 * (size_t)r->n, sizeof *want), *off = want + r->n,
         range[3][2] = {{1, 0}, {0, 0}, {0, 0}};
  if (!want) return false;
  for (int k = 0; k < r->n; k++) {
    double x[3], xd[3], xdd[3], direction[3];
    kn_grasp_desired(x, xd, xdd, direction, g, r->t[k]);
    want[k] = x[1], off[k] = 1e3 * (r->q[1][k] - x[1]);
  }
  range[0][0] = 0.115, range[0][1] = 0.185;
  for (int i = 0; i < KN_GRASP_C; i++) span(range[1], r->slip[i], r->n);
  span(range[2], off, r->n);
  kn_plot_series s[3][7];
  int n = marks(mx[0], my[0], r, r->q[1]), m = 0, l = marks(mx[2], my[2], r, off);
  for (int i = 0; i < KN_GRASP_C; i++) m += marks(mx[1] + m, my[1] + m, r, r->slip[i]);
  kn_plot_series mark = {.name = "switch", .style = KN_PLOT_POINTS, .colour = kn_plot_colour(7)};
  for (int p = 0; p < 3; p++) {
    s[p][0] = mark, s[p][0].x = mx[p], s[p][0].y = my[p];
    double pad = 0.06 * (range[p][1] - range[p][0]) + 1e-12;
    range[p][0] -= pad, range[p][1] += pad;
  }
  s[0][0].n = (size_t)n, s[1][0].n = (size_t)m, s[2][0].n = (size_t)l;
  s[0][1] = line("run", r->t, r->q[1], r->n, 0, false);
  s[0][2] = line("plan", r->t, want, r->n, 1, true);
  s[0][3] = window(wx[0], wy[0], g, range[0][0], range[0][1]);
  for (int i = 0; i < KN_GRASP_C; i++)
    s[1][1 + i] = line(name[i], r->t, r->slip[i], r->n, i % 2 + (i > 1) * 2, i > 1);
  s[1][5] = window(wx[1], wy[1], g, range[1][0], range[1][1]), s[1][5].name = NULL;
  s[2][1] = line("y − plan", r->t, off, r->n, 0, false);
  s[2][2] = window(wx[2], wy[2], g, range[2][0], range[2][1]);
  kn_plot panel[3] = {
      {.title = "(a) displacement y", .y_label = "m", .series = s[0], .series_count = 4},
      {.title = "(b) sliding velocities", .y_label = "m/s", .series = s[1], .series_count = 6},
      {.title = "(c) deviation from the plan", .y_label = "mm", .series = s[2], .series_count = 3}};
  for (int p = 0; p < 3; p++) {
    panel[p].x_label = "time, s", panel[p].fix_y = true;
    memcpy(panel[p].y_range, range[p], sizeof range[p]);
  }
  bool ok = kn_plot_save(path, panel, 3, 1, 900, 360);
  free(want);
  return ok;
}

/* ---- why: the least principal minor, and all solutions, over time ---- */

static double least_minor(const double A[16]) {
  double worst = INFINITY;
  for (int set = 1; set < 16; set++) {
    double S[4][4], det = 1;
    int at[4], n = 0;
    for (int i = 0; i < 4; i++)
      if (set >> i & 1) at[n++] = i;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        S[i][j] = A[4 * at[i] + at[j]] / sqrt(A[5 * at[i]] * A[5 * at[j]]); /* unit diagonal */
    for (int c = 0; c < n; c++) {
      det *= S[c][c];
      for (int i = c + 1; i < n && S[c][c] != 0; i++)
        for (int j = n - 1; j >= c; j--) S[i][j] -= S[i][c] / S[c][c] * S[c][j];
    }
    worst = fmin(worst, det);
  }
  return worst;
}

bool grasp_figure_minor(const char* path) {
  static double t[SAMPLES], minor[3][SAMPLES], count[2][SAMPLES];
  static const char* const name[] = {"example 2, cubic", "example 2, quintic", "example 1"};
  for (int k = 0; k < SAMPLES; k++) {
    t[k] = (double)k / (SAMPLES - 1);
    for (int c = 0; c < 3; c++) {
      grasp_options o = grasp_default(c == 2 ? 1 : 2);
      if (c < 2) o.path = (kn_grasp_path)c;
      kn_grasp g = grasp_plan_of(&o);
      kn_grasp_plan p;
      double M[KN_GRASP_N * KN_GRASP_N], h[KN_GRASP_N], A[16];
      if (!kn_grasp_plan_at(&p, &g, t[k])) return false;
      kn_grasp_dynamics(M, h, p.q, p.v);
      kn_grasp_matrix(A, &p.contact, M, g.mu, p.slip);
      minor[c][k] = least_minor(A);
      if (c < 2) count[c][k] = k > 0 && k < SAMPLES - 1 ? grasp_solution_count(&g, t[k]) : NAN;
    }
  }
  kn_plot_series s[2][3];
  for (int c = 0; c < 3; c++) s[0][c] = line(name[c], t, minor[c], SAMPLES, c, c == 1);
  for (int c = 0; c < 2; c++)
    s[1][c] = line(name[c], t, count[c], SAMPLES, c, c == 1), s[1][c].style = KN_PLOT_STEPS;
  kn_plot panel[2] = {
      {.title = "least principal minor of A (unit diagonal)", .series = s[0], .series_count = 3},
      {.title = "solutions of the rigid problem",
       .fix_y = true,
       .y_range = {0, 4},
       .series = s[1],
       .series_count = 2}};
  panel[0].x_label = panel[1].x_label = "time, s";
  return kn_plot_save(path, panel, 2, 2, 760, 400);
}
