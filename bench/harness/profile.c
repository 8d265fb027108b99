/* Performance profiles (Dolan, Moré 2002): for every solver the share of problems that it solved within a
   factor of the fastest solver of each problem. A solver without a figure in a row did not solve it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "output/plot.h"

enum { POINTS = 200, SOLVERS = 16 };

typedef struct profile {
  const char* name[SOLVERS];
  double share[SOLVERS][POINTS], factor[POINTS];
  int solvers, problems;
} profile;

static double time_of(const bench_row* row, const char* name) {
  for (size_t i = 0; i < row->entry_count; i++)
    if (strcmp(row->entries[i].name, name) == 0 && row->entries[i].median > 0) return row->entries[i].median;
  return INFINITY;
}

static void add_names(profile* p, const bench_row* row) {
  for (size_t i = 0; i < row->entry_count; i++) {
    int k = 0;
    while (k < p->solvers && strcmp(p->name[k], row->entries[i].name) != 0) k++;
    if (k == p->solvers && k < SOLVERS) p->name[p->solvers++] = row->entries[i].name;
  }
}

static void add_row(profile* p, const bench_row* row) {
  double best = INFINITY;
  for (int s = 0; s < p->solvers; s++) best = fmin(best, time_of(row, p->name[s]));
  for (int s = 0; s < p->solvers; s++)
    for (int k = 0; k < POINTS; k++)
      p->share[s][k] += best < INFINITY && time_of(row, p->name[s]) <= p->factor[k] * best;
  p->problems++;
}

static bool write_json(const profile* p, const char* title, const char* path) {
  FILE* f = fopen(path, "w");
  kn_json j;
  if (!f) return false;
  kn_json_open(&j, f, true);
  kn_json_begin(&j, NULL);
  kn_json_text(&j, "title", title);
  kn_json_text(&j, "machine", bench_machine());
  kn_json_int(&j, "problems", p->problems);
  kn_json_numbers(&j, "factor", p->factor, POINTS);
  kn_json_begin(&j, "share");
  for (int s = 0; s < p->solvers; s++) kn_json_numbers(&j, p->name[s], p->share[s], POINTS);
  kn_json_end(&j);
  bool ok = kn_json_close(&j);
  return fclose(f) == 0 && ok;
}

static bool draw(const profile* p, const char* title, const char* path) {
  kn_plot_series series[SOLVERS] = {0};
  for (int s = 0; s < p->solvers; s++)
    series[s] = (kn_plot_series){.name = p->name[s],
                                 .style = KN_PLOT_STEPS,
                                 .x = p->factor,
                                 .y = p->share[s],
                                 .n = POINTS,
                                 .width = s ? 1.8 : 3};
  kn_plot plot = {.title = title,
                  .x_label = "within this factor of the fastest",
                  .y_label = "share",
                  .log_x = true,
                  .fix_y = true,
                  .y_range = {0, 1},
                  .series = series,
                  .series_count = (size_t)p->solvers};
  return kn_plot_save(path, &plot, 1, 1, 0, 0);
}

void kn_bench_profile(kn_bench* b, const char* name, const char* title) {
  char path[1100];
  if (!b->save || b->group_count == 0) return;
  profile* p = calloc(1, sizeof *p);
  if (!p) abort();
  for (int k = 0; k < POINTS; k++) p->factor[k] = pow(10.0, 5.0 * k / (POINTS - 1));
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < b->row_count; i++)
      if (b->rows[i]->group == b->group_count - 1) pass ? add_row(p, b->rows[i]) : add_names(p, b->rows[i]);
  for (int s = 0; s < p->solvers; s++)
    for (int k = 0; k < POINTS; k++) p->share[s][k] /= p->problems;
  if (p->problems > 1) {
    snprintf(path, sizeof path, "%s/%s-%s.json", b->results, b->name, name);
    bool ok = write_json(p, title, path);
    snprintf(path, sizeof path, "%s/%s-%s.svg", b->results, b->name, name);
    if (ok && draw(p, title, path))
      kn_bench_note(b, "performance profile of %d problems: %s", p->problems, path);
  }
  free(p);
}
