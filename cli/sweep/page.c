/* index.html of a sweep: its rows as points and as a table, in one file without anything from elsewhere. The text is
   cli/sweep/page.html, put into the object file as it is; the rows go into its empty <script id="data">. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/file.h"
#include "sweep/plan.h"

__asm__(".section .rodata\n"
        "kn_sweep_page_text:\n"
        ".incbin \"" KN_SWEEP_PAGE "\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char kn_sweep_page_text[];

enum { MOST = 20000 }; /* rows of a page: beyond that a browser gets slow, and points cover each other */

enum { DIGITS = 12 }; /* enough to look at; results.csv has all of them */

static void put_value(kn_json* j, const kn_sweep* w, int64_t i, int k, double x) {
  char text[KN_SWEEP_TEXT];
  if (isfinite(x)) {
    kn_json_rounded(j, NULL, x, DIGITS);
    return;
  }
  kn_sweep_value(text, sizeof text, w->plan, i, k);
  kn_json_text(j, NULL, text);
}

/* value: of the first variable; those of the others follow each after `count` numbers. */
static void put_row(kn_json* j, const kn_sweep* w, const kn_case_row* r, const double* value, int64_t count) {
  static const char* const status_names[] = {"ok", "trouble", "failed"};
  kn_json_begin(j, NULL);
  kn_json_text(j, "s", status_names[r->status]);
  kn_json_array(j, "v");
  kn_json_int(j, NULL, r->i);
  for (int k = 0; k < w->plan->varies; k++) put_value(j, w, r->i, k, value[k * count]);
  for (int k = 0; k < w->plan->outputs; k++) {
    if (isfinite(r->output[k]))
      kn_json_rounded(j, NULL, r->output[k], DIGITS);
    else
      kn_json_null(j, NULL);
  }
  kn_json_end(j);
  if (r->reason) kn_json_text(j, "why", r->reason);
  kn_json_end(j);
}

static bool put_data(FILE* f, const double* value, const kn_sweep* w, const kn_case_row* row, int64_t count) {
  kn_json j;
  int64_t sum[3] = {0}, stride = count / MOST + 1;
  const char* slash = strrchr(w->study->path, '/');
  for (int64_t i = 0; i < count; i++) sum[row[i].status]++;
  kn_json_open(&j, f, false);
  kn_json_begin(&j, NULL);
  kn_json_text(&j, "study", slash ? slash + 1 : w->study->path);
  kn_json_text(&j, "command", slash ? slash + 1 : w->study->path);
  const char* place = strrchr(w->folder, '/');
  kn_json_text(&j, "folder", place ? place + 1 : w->folder);
  kn_json_int(&j, "cases", count);
  kn_json_int(&j, "ok", sum[0]);
  kn_json_int(&j, "trouble", sum[1]);
  kn_json_int(&j, "failed", sum[2]);
  kn_json_array(&j, "variables");
  for (int k = 0; k < w->plan->varies; k++) kn_json_text(&j, NULL, w->plan->vary[k].name);
  kn_json_end(&j);
  kn_json_array(&j, "outputs");
  for (int k = 0; k < w->plan->outputs; k++) kn_json_text(&j, NULL, w->plan->output[k].name);
  kn_json_end(&j);
  kn_json_array(&j, "rows");
  for (int64_t i = 0; i < count; i++) /* thinned, but nothing that went wrong is left out */
    if (i % stride == 0 || (row[i].status != KN_CASE_OK && sum[1] + sum[2] < MOST))
      put_row(&j, w, &row[i], value + i, count);
  kn_json_end(&j);
  return kn_json_close(&j);
}

kn_exit kn_results_page(const double* value, const kn_sweep* w, const kn_case_row* row, int64_t count) {
  static const char marker[] = "<script id=\"data\" type=\"application/json\">";
  kn_file file;
  char path[2048], *data = NULL;
  size_t size = 0;
  snprintf(path, sizeof path, "%s/index.html", w->folder);
  kn_exit code = kn_out_open(&file, w->args, path, NULL);
  if (code != KN_EXIT_OK) return code;
  const char* at = strstr(kn_sweep_page_text, marker);
  FILE* f = at ? open_memstream(&data, &size) : NULL;
  bool good = f && put_data(f, value, w, row, count);
  if (f && fclose(f) != 0) good = false;
  if (good) {
    at += strlen(marker);
    fwrite(kn_sweep_page_text, 1, (size_t)(at - kn_sweep_page_text), file.stream);
    for (const char* c = data; *c; c++) /* a name may hold the end of a script: no < in the JSON */
      if (*c == '<')
        fputs("\\u003c", file.stream);
      else
        fputc(*c, file.stream);
    fputs(at, file.stream);
  }
  free(data);
  return kn_out_close(&file, w->args, good);
}
