/* Pictures of the errors: how many items are how well predicted, by whom; and our worst cases. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "math/elementary.h"
#include "output/plot.h"
#include "trial.h"

enum { TRIALS = 16, WORST = 4, OUTLINE = 73, FRAMES = 4096 };

static int by_size(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

/* One panel: the part of the items whose error is below x. */
static void distribution(kn_plot* panel, kn_plot_series* series, double* numbers, const real_trial* trials,
                         int count, bool second, double scale) {
  int n = trials[0].items;
  double* share = numbers + (size_t)count * (size_t)n;
  for (int i = 0; i < n; i++) share[i] = (i + 0.5) / n;
  for (int k = 0; k < count; k++) {
    double* x = numbers + (size_t)k * (size_t)n;
    for (int i = 0; i < n; i++)
      x[i] = scale * (second ? trials[k].error[i].second : trials[k].error[i].first);
    qsort(x, (size_t)n, sizeof *x, by_size);
    series[k] =
        (kn_plot_series){.name = trials[k].name, .x = x, .y = share, .n = (size_t)n, .width = k ? 1.2 : 2.6};
  }
  panel->series = series;
  panel->series_count = (size_t)count;
  panel->y_label = "part of the items";
}

static void draw_distributions(const char* folder, real_task task, const real_trial* trials, int count) {
  kn_plot panel[2] = {{.x_label = "position error, widths"}, {.x_label = "rotation error, degrees"}};
  kn_plot_series series[2][TRIALS];
  char path[4096];
  size_t n = (size_t)(count + 1) * (size_t)trials[0].items;
  double* numbers = malloc(2 * n * sizeof *numbers);
  if (!numbers) return;
  if (task == REAL_PLANAR)
    panel[0] = (kn_plot){.x_label = "error of the impulse, %", .fix_x = true, .x_range = {0.0, 30.0}};
  distribution(&panel[0], series[0], numbers, trials, count, false, task == REAL_PLANAR ? 100.0 : 1.0);
  if (task == REAL_TOSSES) distribution(&panel[1], series[1], numbers + n, trials, count, true, 1.0);
  snprintf(path, sizeof path, "%s/real-%s-errors.svg", folder, task == REAL_PLANAR ? "planar" : "tosses");
  kn_plot_save(path, panel, task == REAL_PLANAR ? 1 : 2, 2, 620, 420);
  free(numbers);
}

/* The item with this rank among our errors; 0: the worst. */
static int ranked(const real_trial* t, real_task task, int rank) {
  for (int i = 0; i < t->items; i++) {
    int above = 0;
    double own = real_cost(t->error[i], task);
    for (int k = 0; k < t->items; k++) {
      double x = real_cost(t->error[k], task);
      above += x > own || (x == own && k < i);
    }
    if (above == rank) return i;
  }
  return 0;
}

/* ---- worst impacts: the ellipse on its plane, measured and predicted impulse at the contact ---- */

typedef struct impact_drawing {
  char title[96];
  double x[OUTLINE], y[OUTLINE], measured[2][2], predicted[2][2];
  kn_plot_series series[3];
} impact_drawing;

static void draw_impact(kn_plot* panel, impact_drawing* d, const real_impact* m, const double* p,
                        double error) {
  double s, c, a, b, lowest = INFINITY, foot = 0.0;
  const double scale = 0.3; /* m for 1 N s */
  kn_sincos(&s, &c, m->theta);
  for (int i = 0; i < OUTLINE; i++) {
    kn_sincos(&b, &a, 6.283185307179586 * i / (OUTLINE - 1));
    d->x[i] = 1e3 * (c * REAL_A * a - s * REAL_B * b);
    d->y[i] = 1e3 * (s * REAL_A * a + c * REAL_B * b);
    if (d->y[i] < lowest) lowest = d->y[i], foot = d->x[i];
  }
  for (int k = 0; k < 2; k++) {
    d->measured[0][k] = foot + k * 1e3 * scale * m->impulse[0];
    d->measured[1][k] = lowest + k * 1e3 * scale * m->impulse[1];
    d->predicted[0][k] = foot + k * 1e3 * scale * p[0];
    d->predicted[1][k] = lowest + k * 1e3 * scale * p[1];
  }
  d->series[0] = (kn_plot_series){.x = d->x, .y = d->y, .n = OUTLINE, .colour = "#888888"};
  d->series[1] =
      (kn_plot_series){.name = "measured", .x = d->measured[0], .y = d->measured[1], .n = 2, .width = 3};
  d->series[2] =
      (kn_plot_series){.name = "predicted", .x = d->predicted[0], .y = d->predicted[1], .n = 2, .width = 3};
  snprintf(d->title, sizeof d->title, "impact %d: %.1f %%", m->name, 100.0 * error);
  *panel = (kn_plot){.title = d->title,
                     .x_label = "mm (impulse: 0.1 N s is 30 mm)",
                     .y_label = "mm",
                     .equal_axes = true,
                     .series = d->series,
                     .series_count = 3};
}

static void worst_impacts(const char* folder, const real_trial* t, const real_data* data) {
  kn_plot panel[WORST];
  impact_drawing* drawing = calloc(WORST, sizeof *drawing);
  void* world = t->contender->open(t->x);
  char path[4096];
  int shown = 0;
  for (int k = 0; drawing && world && k < WORST && k < t->items; k++) {
    double p[2];
    int i = ranked(t, REAL_PLANAR, k);
    if (!t->contender->run(p, world, data, i)) continue;
    draw_impact(&panel[shown], &drawing[shown], &data->impact[i], p, t->error[i].first);
    shown++;
  }
  snprintf(path, sizeof path, "%s/real-planar-worst.svg", folder);
  if (shown) kn_plot_save(path, panel, (size_t)shown, 2, 460, 380);
  if (world) t->contender->close(world);
  free(drawing);
}

/* ---- worst tosses: the way of the cube's centre, dashed as recorded ---- */

typedef struct toss_drawing {
  char title[96];
  double q[FRAMES * 7], line[6][FRAMES];
  kn_plot_series series[6];
} toss_drawing;

static void draw_toss(kn_plot* panel, toss_drawing* d, const kn_track* t, real_error e) {
  static const char* const names[3] = {"x", "y", "z"};
  for (int c = 0; c < 3; c++) {
    for (int f = 0; f < t->frames; f++) d->line[c][f] = d->q[7 * f + c], d->line[3 + c][f] = t->q[7 * f + c];
    const char* colour = kn_plot_colour((size_t)c);
    d->series[2 * c] = (kn_plot_series){
        .name = names[c], .x = t->t, .y = d->line[c], .n = (size_t)t->frames, .colour = colour};
    d->series[2 * c + 1] = (kn_plot_series){
        .x = t->t, .y = d->line[3 + c], .n = (size_t)t->frames, .colour = colour, .dashed = true};
  }
  snprintf(d->title, sizeof d->title, "%s: %.2f widths, %.0f degrees", t->name, e.first, e.second);
  *panel = (kn_plot){.title = d->title,
                     .x_label = "t, s (dashed: recorded)",
                     .y_label = "m",
                     .series = d->series,
                     .series_count = 6};
}

static void worst_tosses(const char* folder, const real_trial* t, const real_data* data) {
  kn_plot panel[WORST];
  toss_drawing* drawing = calloc(WORST, sizeof *drawing);
  void* world = t->contender->open(t->x);
  char path[4096];
  int shown = 0;
  for (int k = 0; drawing && world && k < WORST && k < t->items; k++) {
    int i = ranked(t, REAL_TOSSES, k);
    if (data->tosses.at[i].frames > FRAMES || !t->contender->run(drawing[shown].q, world, data, i)) continue;
    draw_toss(&panel[shown], &drawing[shown], &data->tosses.at[i], t->error[i]);
    shown++;
  }
  snprintf(path, sizeof path, "%s/real-tosses-worst.svg", folder);
  if (shown) kn_plot_save(path, panel, (size_t)shown, 2, 520, 340);
  if (world) t->contender->close(world);
  free(drawing);
}

void real_pictures(const char* folder, real_task task, const real_trial* trials, int count,
                   const real_data* judged) {
  draw_distributions(folder, task, trials, count);
  if (!trials[0].contender) return;
  if (task == REAL_PLANAR)
    worst_impacts(folder, &trials[0], judged);
  else
    worst_tosses(folder, &trials[0], judged);
}
