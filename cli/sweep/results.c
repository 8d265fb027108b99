/* What a finished sweep leaves in its folder: results.csv, results.h5, summary.svg and index.html. All follow from the
   rows by case number alone: the same bytes whoever ran the cases. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef KN_HAVE_HDF5
#include <hdf5.h>
#endif

#include "output/file.h"
#include "output/plot.h"
#include "sweep/plan.h"

static const char* const status_names[] = {"ok", "trouble", "failed"};

static void put_quoted(FILE* f, const char* text) {
  fputc('"', f);
  for (const char* c = text; *c; c++) {
    if (*c == '"') fputc('"', f);
    fputc(*c, f);
  }
  fputc('"', f);
}

/* ---- table ---- */

/* value: those of all variables of all cases as numbers, NAN where one is a word. They are drawn here, once for all files. */
static void put_table(FILE* f, double* value, const kn_sweep* w, const kn_case_row* row, int64_t count) {
  char text[KN_SWEEP_TEXT], *end;
  const kn_study_sweep* p = w->plan;
  fprintf(f, "case,status,steps,time,state_hash");
  for (int k = 0; k < p->varies; k++) fputc(',', f), put_quoted(f, p->vary[k].name);
  for (int k = 0; k < p->outputs; k++) fputc(',', f), put_quoted(f, p->output[k].name);
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
      if (strpbrk(text, ",\" "))
        put_quoted(f, text);
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
    put_quoted(f, r->reason ? r->reason : "");
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

#ifdef KN_HAVE_HDF5
static bool put_column(hid_t file, hid_t plain, const char* name, const double* x, hsize_t n) {
  char safe[256];
  snprintf(safe, sizeof safe, "%s", name);
  for (char* c = safe; *c; c++)
    if (*c == '/') *c = '_';
  hid_t space = H5Screate_simple(1, &n, NULL);
  hid_t set = H5Dcreate2(file, safe, H5T_IEEE_F64LE, space, H5P_DEFAULT, plain, H5P_DEFAULT);
  bool ok = set >= 0 && H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0;
  if (set >= 0) H5Dclose(set);
  H5Sclose(space);
  return ok;
}

static bool put_hdf5(const char* path, const double* value, const kn_sweep* w, const kn_case_row* row,
                     int64_t count) {
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t plain = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(plain, 0); /* no clock in the file: equal rows, equal bytes */
  bool ok = file >= 0;
  for (int c = 0; c < columns(w->plan) && ok; c++) {
    double* x = column(w->plan, value, row, count, c);
    ok = x && put_column(file, plain, column_name(w->plan, c), x, (hsize_t)count);
    free(x);
  }
  H5Pclose(plain);
  return file >= 0 && H5Fclose(file) >= 0 && ok;
}

/* libhdf5 crashes where a disk is full: it writes in a child, whose death is a failure like any other. */
static bool write_in_child(const char* path, const double* value, const kn_sweep* w, const kn_case_row* row,
                           int64_t count) {
  int status;
  pid_t child = fork();
  if (child == 0) _exit(put_hdf5(path, value, w, row, count) ? 0 : 1);
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static kn_exit write_hdf5(const double* value, const kn_sweep* w, const kn_case_row* row, int64_t count) {
  kn_file file;
  char path[2048];
  snprintf(path, sizeof path, "%s/results.h5", w->folder);
  kn_exit code = kn_out_reserve(&file, w->args, path, NULL);
  if (code != KN_EXIT_OK) return code;
  bool good = write_in_child(file.part, value, w, row, count);
  return kn_out_commit(&file, w->args, good ? KN_OK : KN_IO, "HDF5 could not write it");
}
#else
static kn_exit write_hdf5(const double* value, const kn_sweep* w, const kn_case_row* row, int64_t count) {
  (void)value, (void)w, (void)row, (void)count;
  return KN_EXIT_OK;
}
#endif

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
  if (code == KN_EXIT_OK) code = write_hdf5(value, w, row, count);
  if (code == KN_EXIT_OK) code = write_picture(value, w, row, count);
  if (code == KN_EXIT_OK) code = kn_results_page(value, w, row, count);
  free(value);
  return code;
}
