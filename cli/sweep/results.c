/* What a finished sweep leaves in its folder: results.csv, results.h5, summary.svg and index.html. All follow from the
   rows by case number alone: the same bytes whoever ran the cases. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "output/file.h"
#include "output/plot.h"
#include "output/text.h"
#include "sweep/plan.h"

static const char* const status_names[] = {"ok", "trouble", "failed"};

/* ---- table ---- */

/* value: those of all variables of all cases as numbers, NAN where one is a word. They are drawn here, once for all files. */
static void put_table(FILE* f, double* value, const kn_sweep* w, const kn_case_row* row, int64_t count) {
  char text[KN_SWEEP_TEXT], *end;
  const kn_study_sweep* p = w->plan;
  fprintf(f, "case,status,steps,time,state_hash");
  for (int k = 0; k < p->varies; k++) fputc(',', f), kn_text_cell(f, p->vary[k].name);
  for (int k = 0; k < p->outputs; k++) fputc(',', f), kn_text_cell(f, p->output[k].name);
  fprintf(f, ",seed,reason\n");
  for (int64_t i = 0; i < count; i++) {
    const kn_case_row* r = &row[i];
    fprintf(f, "%" PRId64 ",%s,%ld,%.17g,%016" PRIx64, r->i, status_names[r->status], r->steps, r->time,
            r->hash);
    for (int k = 0; k < p->varies; k++) {
      kn_sweep_value(text, sizeof text, p, r->i, k);
      double x = strtod(text, &end);
      value[k * count + i] = *end ? NAN : x;
      fputc(',', f);
      if (*end)
        kn_text_cell(f, text);
      else
        fputs(text, f);
    }
    for (int k = 0; k < p->outputs; k++) {
      if (isnan(r->output[k]))
        fputc(',', f);
      else
        fprintf(f, ",%.17g", r->output[k]);
    }
    fprintf(f, ",%" PRIu64 ",", p->seed);
    kn_text_cell(f, r->reason ? r->reason : "");
    fputc('\n', f);
  }
}

static kn_exit write_table(double* value, const kn_sweep* w, const kn_case_row* row, int64_t count) {
  kn_file file;
  char path[2048];
  snprintf(path, sizeof path, "%s/results.csv", w->folder);
  kn_exit code = kn_out_open(&file, w->args, path, NULL);
  if (code != KN_EXIT_OK) return code;
  put_table(file.stream, value, w, row, count);
  return kn_out_close(&file, w->args, true);
}

/* ---- HDF5 ---- */

/* Column c as numbers: variables first, then outputs, then what every case has. */
static int columns(const kn_study_sweep* p) { return p->varies + p->outputs + 4; }

static const char* column_name(const kn_study_sweep* p, int c) {
  static const char* const own[] = {"case", "status", "steps", "time"};
  return c < p->varies                ? p->vary[c].name
         : c < p->varies + p->outputs ? p->output[c - p->varies].name
                                      : own[c - p->varies - p->outputs];
}

static double cell(const kn_study_sweep* p, const kn_case_row* r, int c) {
  if (c < p->outputs) return r->output[c];
  double own[] = {(double)r->i, r->status, (double)r->steps, r->time};
  return own[c - p->outputs];
}

static double* column(const kn_study_sweep* p, const double* value, const kn_case_row* row, int64_t count,
                      int c) {
  double* x = malloc((size_t)(count ? count : 1) * sizeof *x);
  if (x && c < p->varies) memcpy(x, value + c * count, (size_t)count * sizeof *x);
  for (int64_t i = 0; x && c >= p->varies && i < count; i++) x[i] = cell(p, &row[i], c - p->varies);
  return x;
}

static kn_exit write_hdf5(const double* value, const kn_sweep* w, const kn_case_row* row, int64_t count) {
  char path[2048];
  int n = columns(w->plan);
  kn_column* list = calloc((size_t)n, sizeof *list);
  bool good = list != NULL;
  snprintf(path, sizeof path, "%s/results.h5", w->folder);
  for (int c = 0; c < n && good; c++) {
    list[c] = (kn_column){column_name(w->plan, c), "", column(w->plan, value, row, count, c)};
    good = list[c].x != NULL;
  }
  kn_exit code = good ? kn_out_hdf5(w->args, path, list, n, (long)count)
                      : kn_complain(w->args, KN_EXIT_WRITE, "%s: no memory", path);
  for (int c = 0; list && c < n; c++) free((void*)(uintptr_t)list[c].x);
  free(list);
  return code;
}

/* ---- picture: every output over every variable that is a number ---- */

enum { PANELS = 24 };

static kn_exit write_picture(const double* value, const kn_sweep* w, const kn_case_row* row, int64_t count) {
  const kn_study_sweep* p = w->plan;
  kn_plot panel[PANELS];
  kn_plot_series series[PANELS];
  double* data[KN_SWEEP_VARIES + KN_SWEEP_OUTPUTS];
  int n = 0, held = 0, across = 0;
  char path[2048];
  for (; held < p->varies; held++) data[held] = column(p, value, row, count, held);
  for (int o = 0; o < p->outputs && n < PANELS && p->varies; o++) {
    double* y = data[held++] = column(p, value, row, count, p->varies + o);
    for (int v = 0; v < p->varies && n < PANELS; v++) {
      const double* x = data[v];
      if (!x || !y || isnan(x[0])) continue;
      series[n] = (kn_plot_series){.style = KN_PLOT_POINTS, .x = x, .y = y, .n = (size_t)count};
      panel[n] = (kn_plot){.title = p->output[o].name,
                           .x_label = p->vary[v].name,
                           .y_label = p->output[o].name,
                           .log_x = p->vary[v].log,
                           .series = &series[n],
                           .series_count = 1};
      n++;
      if (o == 0) across++;
    }
  }
  snprintf(path, sizeof path, "%s/summary.svg", w->folder);
  kn_exit code = n ? kn_out_plot(w->args, path, panel, (size_t)n, (size_t)across, 420, 300) : KN_EXIT_OK;
  for (int i = 0; i < held; i++) free(data[i]);
  return code;
}

kn_exit kn_results_write(const kn_sweep* w, const kn_case_row* row, int64_t count) {
  double* value = calloc((size_t)count * (size_t)w->plan->varies + 1, sizeof *value);
  if (!value) return kn_complain(w->args, KN_EXIT_WRITE, "%s: no memory for the results", w->folder);
  kn_exit code = write_table(value, w, row, count);
  if (code == KN_EXIT_OK && KN_OUT_HDF5) code = write_hdf5(value, w, row, count);
  if (code == KN_EXIT_OK) code = write_picture(value, w, row, count);
  if (code == KN_EXIT_OK) code = kn_results_page(value, w, row, count);
  free(value);
  return code;
}
