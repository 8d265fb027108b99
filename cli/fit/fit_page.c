/* The report of a fit as one HTML file without anything from elsewhere: the values with their intervals, the cost over every
   parameter, the errors of all trajectories, and the worst and the middle one beside their recordings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit/report.h"
#include "output/file.h"
#include "output/plot.h"
#include "output/text.h"

enum { SHOWN = 4, CURVES = 7, NAME = 160 };

/* ---- tables ---- */

static void put_parameters(FILE* out, const kn_fit_report* r) {
  fputs("<table><tr><th>parameter</th><th>value</th><th>from</th><th>to</th><th>in its "
        "range</th><th></th></tr>\n",
        out);
  for (int k = 0; k < r->result->n; k++) {
    const kn_study_parameter* p = &r->study->fit->parameter[k];
    const kn_fit_parameter* x = &r->result->parameter[k];
    double low = isnan(x->low) ? x->value : x->low, high = isnan(x->high) ? x->value : x->high,
           span = p->to - p->from;
    fputs("<tr><td>", out);
    kn_text_markup(out, p->name);
    fprintf(out, "</td><td>%.6g</td><td>%.6g</td><td>%.6g</td>", x->value, low, high);
    fprintf(out,
            "<td><svg width='200' height='14' viewBox='0 0 200 14'><rect y='5' width='200' height='4' "
            "fill='#8883'/>"
            "<rect x='%.2f' y='4' width='%.2f' height='6' fill='#2f6fd0'/><circle cx='%.2f' cy='7' r='4' "
            "fill='#d6336c'/></svg></td><td>",
            200.0 * (low - p->from) / span, fmax(1.0, 200.0 * (high - low) / span),
            200.0 * (x->value - p->from) / span);
    if (!x->identifiable) {
      fputs("<b>not identifiable</b>", out);
      if (x->partner >= 0) {
        fputs(": only together with ", out);
        kn_text_markup(out, r->study->fit->parameter[x->partner].name);
      }
    }
    fputs("</td></tr>\n", out);
  }
  fputs("</table>\n", out);
}

/* ---- pictures ---- */

static void put_cost_over_parameters(FILE* out, const kn_fit_report* r) {
  const kn_fit_result* f = r->result;
  kn_plot panel[KN_FIT_PARAMETERS];
  kn_plot_series series[KN_FIT_PARAMETERS];
  double* x = malloc((size_t)f->n * (size_t)f->traced * sizeof *x);
  if (!x) return;
  for (int k = 0; k < f->n; k++) {
    for (int i = 0; i < f->traced; i++) x[k * f->traced + i] = f->trace[i * f->n + k];
    series[k] = (kn_plot_series){
        .style = KN_PLOT_POINTS, .x = x + k * f->traced, .y = f->trace_cost, .n = (size_t)f->traced};
    panel[k] = (kn_plot){.x_label = r->study->fit->parameter[k].name,
                         .y_label = "cost",
                         .series = &series[k],
                         .series_count = 1};
  }
  kn_plot_write(out, panel, (size_t)f->n, f->n < 3 ? (size_t)f->n : 3, 380, 260);
  free(x);
}

static int by_cost(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static void put_distribution(FILE* out, const kn_fit_report* r) {
  int count = r->tracks->count;
  const char* const labels[2] = {"position error, mm", "rotation error, degrees"};
  double *sorted = malloc(3 * (size_t)count * sizeof *sorted), *share = sorted + 2 * (size_t)count;
  kn_plot panel[2];
  kn_plot_series series[2];
  if (!sorted) return;
  for (int i = 0; i < count; i++) {
    sorted[i] = 1e3 * r->score[i].position;
    sorted[count + i] = 57.295779513 * r->score[i].rotation;
    share[i] = (i + 0.5) / count;
  }
  for (int k = 0; k < 2; k++) {
    qsort(sorted + k * count, (size_t)count, sizeof *sorted, by_cost);
    series[k] =
        (kn_plot_series){.style = KN_PLOT_LINE, .x = sorted + k * count, .y = share, .n = (size_t)count};
    panel[k] = (kn_plot){
        .x_label = labels[k], .y_label = "part of the trajectories", .series = &series[k], .series_count = 1};
  }
  kn_plot_write(out, panel, 2, 2, 480, 280);
  free(sorted);
}

int kn_fit_ranked(const kn_fit_report* r, int rank) {
  for (int i = 0; i < r->tracks->count; i++) {
    int above = 0;
    for (int k = 0; k < r->tracks->count; k++)
      above += r->score[k].cost > r->score[i].cost || (r->score[k].cost == r->score[i].cost && k < i);
    if (above == rank) return i;
  }
  return 0;
}

/* The recorded coordinates of a track as dashed lines, the simulated ones over them. */
static void put_track(FILE* out, const kn_fit_report* r, int i) {
  const kn_track* t = &r->tracks->at[i];
  int nq = r->tracks->nq, shown = 0;
  size_t frames = (size_t)t->frames;
  double *q = malloc(frames * (size_t)nq * sizeof *q), *line = malloc(2 * CURVES * frames * sizeof *line);
  kn_plot_series series[2 * CURVES];
  char name[CURVES][16];
  if (q && line && kn_track_follow(q, r->world, t) == KN_OK) {
    for (int c = 0; c < nq && shown < CURVES; c++) {
      if (isnan(t->q[c])) continue;
      double *is = line + 2 * (size_t)shown * frames, *was = is + frames;
      for (size_t f = 0; f < frames; f++)
        is[f] = q[f * (size_t)nq + (size_t)c], was[f] = t->q[f * (size_t)nq + (size_t)c];
      snprintf(name[shown], sizeof name[shown], "q%d", c);
      const char* colour = kn_plot_colour((size_t)shown);
      series[2 * shown] =
          (kn_plot_series){.name = name[shown], .x = t->t, .y = is, .n = frames, .colour = colour};
      series[2 * shown + 1] =
          (kn_plot_series){.x = t->t, .y = was, .n = frames, .colour = colour, .dashed = true};
      shown++;
    }
    char title[NAME];
    snprintf(title, sizeof title, "%s: %.3g m, %.3g rad", t->name, r->score[i].position,
             r->score[i].rotation);
    kn_plot panel = {.title = title,
                     .x_label = "t, s (dashed: recorded)",
                     .y_label = "coordinates, m and quaternion or rad",
                     .series = series,
                     .series_count = 2 * (size_t)shown};
    kn_plot_write(out, &panel, 1, 1, 560, 320);
  }
  free(q);
  free(line);
}

/* ---- the page ---- */

static void put_page(FILE* out, const kn_fit_report* r) {
  const char* slash = strrchr(r->study->path, '/');
  fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width, initial-scale=1\"><title>Fit</title>\n<style>body{font:15px/1.45 "
        "system-ui,sans-serif;margin:0 auto;max-width:1180px;padding:1rem 1.2rem "
        "3rem}h1{font-size:1.35rem}h2{font-"
        "size:1.1rem;margin-top:1.6rem}td,th{text-align:right;padding:.15rem .8rem;border-bottom:1px solid "
        "#8884}table{border-collapse:collapse}svg{max-width:100%;height:auto}.tracks{display:grid;grid-"
        "template-"
        "columns:repeat(auto-fit,minmax(420px,1fr));gap:1rem}</style></head><body>\n<h1>",
        out);
  kn_text_markup(out, slash ? slash + 1 : r->study->path);
  fprintf(out, "</h1><p>%d trajectories, %d evaluations%s; cost %.6g ± %.2g (mean and standard error).</p>\n",
          r->tracks->count, r->result->evaluations, r->result->converged ? "" : ", ended at their limit",
          r->result->cost, r->result->error);
  put_parameters(out, r);
  fputs("<h2>Cost of every point that was tried</h2>\n", out);
  put_cost_over_parameters(out, r);
  fputs("<h2>Errors of the trajectories</h2>\n", out);
  put_distribution(out, r);
  fputs("<h2>The worst and the middle trajectories</h2>\n<div class=\"tracks\">\n", out);
  for (int k = 0; k < SHOWN && k < r->tracks->count; k++) put_track(out, r, kn_fit_ranked(r, k));
  if (r->tracks->count > SHOWN) put_track(out, r, kn_fit_ranked(r, r->tracks->count / 2));
  if (r->tracks->count > SHOWN + 1) put_track(out, r, kn_fit_ranked(r, r->tracks->count - 1));
  fputs("</div></body></html>\n", out);
}

kn_exit kn_fit_page(const kn_fit_report* r, const char* path) {
  kn_file file;
  kn_exit code = kn_out_open(&file, r->args, path, "html");
  if (code != KN_EXIT_OK) return code;
  put_page(file.stream, r);
  return kn_out_close(&file, r->args, !ferror(file.stream));
}
