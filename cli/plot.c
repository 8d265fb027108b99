/* knuckle plot: recorded quantities over time as SVG. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/plot.h"
#include "quantity.h"

typedef struct figure {
  kn_recording* in;
  kn_table table;
  bool* chosen;
  double *t, *y;
  kn_plot_series* series;
  kn_plot* panel;
  int rows, panels;
} figure;

/* One panel per operand; a group name puts all its members in one panel. */
static kn_exit choose(const kn_args* args, figure* f, int operand, int* count) {
  char wrong[120];
  *count = 0;
  if (!kn_table_select(f->chosen, &f->table, args->operand[operand], wrong)) {
    const char* near = kn_table_near(&f->table, wrong);
    return kn_complain(args, KN_EXIT_USAGE, "no quantity \"%s\"%s%s%s; `knuckle export %s --list` shows all",
                       wrong, near ? ", did you mean " : "", near ? near : "", near ? "?" : "",
                       args->operand[0]);
  }
  for (int i = 0; i < f->table.count; i++) *count += f->chosen[i];
  return *count <= 24
             ? KN_EXIT_OK
             : kn_complain(args, KN_EXIT_USAGE, "\"%s\" is %d quantities, expected at most 24 in one panel",
                           args->operand[operand], *count);
}

static kn_status fill(figure* f, kn_plot_series* first, double* y) {
  int k = 0;
  for (int i = 0; i < f->table.count; i++)
    if (f->chosen[i])
      first[k] = (kn_plot_series){.name = f->table.at[i].name,
                                  .style = KN_PLOT_LINE,
                                  .x = f->t,
                                  .y = y + (size_t)k * (size_t)f->rows,
                                  .n = (size_t)f->rows},
      k++;
  for (int r = 0; r < f->rows; r++) {
    kn_recorded s;
    kn_status status = kn_recording_read(&s, f->in, r);
    if (status != KN_OK) return status;
    f->t[r] = s.t;
    k = 0;
    for (int i = 0; i < f->table.count; i++)
      if (f->chosen[i]) y[(size_t)k++ * (size_t)f->rows + (size_t)r] = kn_quantity_value(&f->table.at[i], &s);
  }
  return KN_OK;
}

static const char* unit_of(const figure* f) {
  for (int i = 0; i < f->table.count; i++)
    if (f->chosen[i]) return f->table.at[i].unit;
  return "";
}

static kn_exit draw(const kn_args* args, figure* f) {
  kn_status status = kn_recording_open(&f->in, args->operand[0]);
  if (status == KN_OK) status = kn_table_create(&f->table, f->in);
  if (status != KN_OK) return kn_complain_status(args, status);
  f->rows = kn_recording_steps(f->in);
  f->panels = args->operands - 1;
  size_t most = 24 * (size_t)f->panels;
  f->chosen = calloc((size_t)f->table.count + 1, sizeof *f->chosen);
  f->t = calloc((size_t)f->rows + 1, sizeof(double));
  f->y = calloc(most * (size_t)f->rows + 1, sizeof(double));
  f->series = calloc(most, sizeof *f->series);
  f->panel = calloc((size_t)f->panels, sizeof *f->panel);
  if (!f->chosen || !f->t || !f->y || !f->series || !f->panel)
    return kn_complain(args, KN_EXIT_WRITE, "no memory");
  size_t used = 0;
  for (int p = 0; p < f->panels; p++) {
    int n;
    kn_exit code = choose(args, f, p + 1, &n);
    if (code != KN_EXIT_OK) return code;
    status = fill(f, f->series + used, f->y + used * (size_t)f->rows);
    if (status != KN_OK) return kn_complain_status(args, status);
    f->panel[p] = (kn_plot){.title = args->operand[p + 1],
                            .x_label = "t / s",
                            .y_label = unit_of(f),
                            .log_y = kn_arg_flag(args, "--log"),
                            .series = f->series + used,
                            .series_count = (size_t)n};
    used += (size_t)n;
  }
  const char* path = kn_arg_text(args, "--output");
  size_t columns = f->panels > 1 ? 2 : 1;
  bool ok = path ? kn_plot_save(path, f->panel, (size_t)f->panels, columns, 0, 0)
                 : kn_plot_write(stdout, f->panel, (size_t)f->panels, columns, 0, 0);
  return ok ? KN_EXIT_OK
            : kn_complain(args, KN_EXIT_WRITE, "%s cannot be written: %s", path ? path : "standard output",
                          strerror(errno));
}

static int run(kn_args* args) {
  figure f = {0};
  kn_exit code = draw(args, &f);
  free(f.chosen);
  free(f.t);
  free(f.y);
  free(f.series);
  free(f.panel);
  kn_table_free(&f.table);
  kn_recording_close(f.in);
  return code;
}

static const kn_option options[] = {{.name = "--output",
                                     .letter = 'o',
                                     .type = KN_OPTION_TEXT,
                                     .value = "FILE.svg",
                                     .help = "where to write (default: standard output)"},
                                    {.name = "--log", .type = KN_OPTION_FLAG, .help = "logarithmic values"},
                                    {0}};
static const kn_example examples[] = {
    {"knuckle plot run.mcap q.elbow -o elbow.svg", "a joint over time"},
    {"knuckle plot run.mcap force energy.kinetic,energy.potential -o run.svg",
     "contact forces and energies, two panels"},
    {0}};
extern const kn_command kn_command_plot;
const kn_command kn_command_plot = {
    .name = "plot",
    .summary = "recorded quantities as SVG",
    .operands = "RUN QUANTITY…",
    .min_operands = 2,
    .max_operands = 17,
    .details = "Each QUANTITY makes one panel: a name, several with commas, or a group (q, v, energy, "
               "ledger, force). Names: `knuckle export RUN --list`.",
    .options = options,
    .examples = examples,
    .run = run};
