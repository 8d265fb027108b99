/* knuckle plot: recorded quantities over time as SVG or PNG. Each operand is one panel, or several where its
   quantities have different units or are too many for one frame. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/file.h"
#include "output/image.h"
#include "output/plot.h"
#include "quantity.h"

enum { CURVES = 8 }; /* the palette has as many colours; more curves in one frame cannot be told apart */

typedef struct figure {
  const kn_args* args;
  kn_recording* in;
  kn_table table;
  bool* chosen;      /* by quantity: asked for by the operand at hand */
  int* column;       /* by quantity: its column of y, -1: not wanted */
  const char** unit; /* of every quantity; "1": none */
  double *t, *y;     /* y: column after column, `stride` apart */
  int rows, stride;  /* rows within --from … --to */
  double last;       /* time of the last recorded step */
  kn_plot_series* series;
  kn_plot* panel;
  char (*title)[160];
  int curves, panels, room;
} figure;

/* Groups that exist where something touches. */
static bool of_contacts(const char* word) {
  static const char* const groups[] = {"force",          "friction", "impulse",    "gap",
                                       "determinate",    "force_on", "impulse_on", "between",
                                       "determinate_on", "contact"};
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
    if (strcmp(word, groups[i]) == 0) return true;
  return false;
}

static kn_exit choose(figure* f, const char* words) {
  char wrong[120];
  if (kn_table_select(f->chosen, &f->table, words, wrong)) return KN_EXIT_OK;
  if (of_contacts(words)) { /* known, but nothing touched */
    memset(f->chosen, 0, (size_t)f->table.count * sizeof *f->chosen);
    return KN_EXIT_OK;
  }
  const char* near = kn_table_near(&f->table, wrong);
  return kn_complain(f->args, KN_EXIT_USAGE, "no quantity \"%s\"%s%s%s; `knuckle export %s --list` shows all",
                     wrong, near ? ", did you mean " : "", near ? near : "", near ? "?" : "",
                     f->args->operand[0]);
}

/* Which quantities all operands together need, and memory for them. */
static kn_exit reserve(figure* f) {
  size_t n = (size_t)f->table.count, columns = 0;
  f->chosen = calloc(n + 1, sizeof *f->chosen);
  f->column = calloc(n + 1, sizeof *f->column);
  f->unit = calloc(n + 1, sizeof *f->unit);
  if (!f->chosen || !f->column || !f->unit) return kn_complain(f->args, KN_EXIT_VIOLATION, "out of memory");
  for (size_t i = 0; i < n; i++) {
    f->column[i] = -1;
    f->unit[i] = f->table.at[i].unit[0] ? f->table.at[i].unit : "1";
  }
  for (int p = 1; p < f->args->operands; p++) {
    kn_exit code = choose(f, f->args->operand[p]);
    if (code != KN_EXIT_OK) return code;
    for (size_t i = 0; i < n; i++) {
      f->room += f->chosen[i];
      if (f->chosen[i] && f->column[i] < 0) f->column[i] = (int)columns++;
    }
  }
  f->stride = kn_recording_steps(f->in);
  f->t = calloc((size_t)f->stride + 1, sizeof *f->t);
  f->y = calloc(columns * (size_t)f->stride + 1, sizeof *f->y);
  f->series = calloc((size_t)f->room + 1, sizeof *f->series);
  f->panel = calloc((size_t)f->room + 1, sizeof *f->panel);
  f->title = calloc((size_t)f->room + 1, sizeof *f->title);
  bool ok = f->t && f->y && f->series && f->panel && f->title;
  return ok ? KN_EXIT_OK : kn_complain(f->args, KN_EXIT_VIOLATION, "out of memory");
}

static kn_exit read_steps(figure* f) {
  double from = kn_arg_number(f->args, "--from"), to = kn_arg_number(f->args, "--to");
  const double within = 1e-9; /* s: times are sums of steps, 0.1 s is 0.10000000000000007 s */
  for (int r = 0; r < f->stride; r++) {
    kn_recorded s;
    kn_status status = kn_recording_read(&s, f->in, r);
    if (status != KN_OK) return kn_complain_status(f->args, status);
    f->last = s.t;
    f->t[f->rows] = s.t;
    for (int i = 0; i < f->table.count; i++)
      if (f->column[i] >= 0)
        f->y[(size_t)f->column[i] * (size_t)f->stride + (size_t)f->rows] =
            kn_quantity_value(&f->table.at[i], &s); /* of all steps: a force may depend on the one before */
    f->rows += !(s.t < from - within || s.t > to + within); /* NaN: no limit */
  }
  if (kn_table_status(&f->table) != KN_OK) return kn_complain_status(f->args, KN_OUT_OF_MEMORY);
  if (f->rows) return KN_EXIT_OK;
  return kn_complain(f->args, KN_EXIT_INPUT, "%s: no recorded step in the time asked for, it ends at %g s",
                     f->args->operand[0], f->last);
}

static const double* values(const figure* f, int quantity) {
  return f->y + (size_t)f->column[quantity] * (size_t)f->stride;
}

static bool zero(const figure* f, int quantity) {
  for (int r = 0; r < f->rows; r++)
    if (values(f, quantity)[r] != 0.0) return false;
  return true;
}

static kn_plot* add_panel(figure* f, const char* unit, const char* title, int left_out) {
  kn_plot* p = &f->panel[f->panels];
  char* text = f->title[f->panels++];
  int n = snprintf(text, sizeof *f->title, "%.120s", title);
  if (left_out) snprintf(text + n, sizeof *f->title - (size_t)n, " (%d more: zero throughout)", left_out);
  *p = (kn_plot){.title = text,
                 .x_label = "time in s",
                 .y_label = strcmp(unit, "1") == 0 ? "value (no unit)" : unit,
                 .log_y = kn_arg_flag(f->args, "--log"),
                 .labels_right = true,
                 .series = f->series + f->curves};
  if (kn_arg_numbers(f->args, "--range", p->y_range, 2) == 2) p->fix_y = true;
  return p;
}

/* The panels of one operand: one per unit, and one per curve beyond CURVES of a unit. What is zero
   throughout is left out of a large group and counted in its title. */
static void lay_out(figure* f, const char* words) {
  int chosen = 0, zeros = 0;
  for (int i = 0; i < f->table.count; i++) {
    chosen += f->chosen[i];
    zeros += f->chosen[i] && zero(f, i);
  }
  bool drop = chosen > CURVES / 2 && zeros < chosen;
  for (int i = 0; i < f->table.count && drop; i++) f->chosen[i] = f->chosen[i] && !zero(f, i);
  for (int first = 0; first < f->table.count; first++) {
    int same = 0, left_out = drop ? zeros : 0;
    kn_plot* p = NULL;
    for (int i = first; f->chosen[first] && i < f->table.count; i++)
      same += f->chosen[i] && strcmp(f->unit[i], f->unit[first]) == 0;
    for (int i = first; same && i < f->table.count; i++) {
      if (!f->chosen[i] || strcmp(f->unit[i], f->unit[first]) != 0) continue;
      const char* name = f->table.at[i].name;
      if (!p || same > CURVES)
        p = add_panel(f, f->unit[first], same == 1 || same > CURVES ? name : words, p ? 0 : left_out);
      f->series[f->curves++] = (kn_plot_series){
          .name = name, .style = KN_PLOT_LINE, .x = f->t, .y = values(f, i), .n = (size_t)f->rows};
      p->series_count++;
      if (i != first) f->chosen[i] = false;
    }
    f->chosen[first] = false;
  }
}

/* A grid about as wide as high; small multiples are smaller. */
static void grid(const figure* f, size_t* columns, double* width, double* height) {
  *columns = f->panels > 6 ? 3 : f->panels > 1 ? 2 : 1;
  *width = f->panels > 6 ? 520 : 760;
  *height = f->panels > 6 ? 260 : f->panels > 1 ? 340 : 440;
}

static kn_exit tell(const figure* f, const char* path, const char* svg) {
  kn_json j;
  kn_json_start(&j);
  kn_json_text(&j, "file", path);
  kn_json_int(&j, "rows", f->rows);
  kn_json_array(&j, "panels");
  for (int p = 0; p < f->panels; p++) {
    kn_json_begin(&j, NULL);
    kn_json_text(&j, "title", f->panel[p].title);
    kn_json_text(&j, "unit", f->panel[p].y_label);
    kn_json_array(&j, "quantities");
    for (size_t i = 0; i < f->panel[p].series_count; i++) kn_json_text(&j, NULL, f->panel[p].series[i].name);
    kn_json_end(&j);
    kn_json_end(&j);
  }
  kn_json_end(&j);
  if (svg) kn_json_text(&j, "svg", svg);
  return kn_json_finish(&j, KN_EXIT_OK);
}

static kn_exit write_out(const figure* f) {
  const char* path = kn_arg_text(f->args, "--output");
  size_t columns, size = 0, count = (size_t)f->panels;
  double width, height;
  char* text = NULL;
  grid(f, &columns, &width, &height);
  if (path) {
    kn_exit code = kn_out_plot(f->args, path, f->panel, count, columns, width, height);
    return code == KN_EXIT_OK && f->args->json ? tell(f, path, NULL) : code;
  }
  FILE* out = f->args->json ? open_memstream(&text, &size) : stdout;
  bool ok = out && kn_plot_write(out, f->panel, count, columns, width, height);
  if (out) ok = (f->args->json ? fclose(out) : fflush(out)) == 0 && ok;
  kn_exit code = !ok             ? kn_complain(f->args, KN_EXIT_WRITE, "standard output cannot be written")
                 : f->args->json ? tell(f, NULL, text)
                                 : KN_EXIT_OK;
  free(text);
  return code;
}

static kn_exit draw(figure* f) {
  double range[3];
  size_t given = kn_arg_numbers(f->args, "--range", range, 3);
  if (given && (given != 2 || !(range[0] < range[1])))
    return kn_complain(f->args, KN_EXIT_USAGE, "--range: expected two numbers LOW,HIGH with LOW below HIGH");
  kn_exit code = kn_out_ending(f->args, kn_arg_text(f->args, "--output"), KN_IMAGE_ENDINGS);
  if (code != KN_EXIT_OK) return code;
  kn_status status = kn_recording_open(&f->in, f->args->operand[0]);
  if (status == KN_OK) status = kn_table_create(&f->table, f->in, kn_forces_asked(f->args));
  if (status != KN_OK) return kn_complain_status(f->args, status);
  code = reserve(f);
  if (code == KN_EXIT_OK) code = read_steps(f);
  for (int p = 1; p < f->args->operands && code == KN_EXIT_OK; p++) {
    code = choose(f, f->args->operand[p]);
    if (code == KN_EXIT_OK) lay_out(f, f->args->operand[p]);
  }
  if (code == KN_EXIT_OK && f->panels == 0)
    return kn_complain(f->args, KN_EXIT_INPUT,
                       "%s: nothing touches in this recording, there is nothing to draw",
                       f->args->operand[0]);
  return code == KN_EXIT_OK ? write_out(f) : code;
}

static int run(kn_args* args) {
  figure f = {.args = args};
  kn_exit code = draw(&f);
  free(f.chosen);
  free(f.column);
  free(f.unit);
  free(f.t);
  free(f.y);
  free(f.series);
  free(f.panel);
  free(f.title);
  kn_table_free(&f.table);
  kn_recording_close(f.in);
  return code;
}

static const kn_option options[] = {
    {.name = "--output",
     .letter = 'o',
     .type = KN_OPTION_TEXT,
     .value = "FILE",
     .help = "where to write, .svg or .png (default: SVG on standard output)"},
    {.name = "--from", .type = KN_OPTION_NUMBER, .value = "SECONDS", .help = "first instant (default: all)"},
    {.name = "--to", .type = KN_OPTION_NUMBER, .value = "SECONDS", .help = "last instant (default: all)"},
    {.name = "--range",
     .type = KN_OPTION_NUMBERS,
     .value = "LOW,HIGH",
     .help = "ends of the value axes (default: what the curves need)"},
    {.name = "--log", .type = KN_OPTION_FLAG, .help = "logarithmic values"},
    KN_FORCES_OPTION,
    {0}};
static const kn_example examples[] = {
    {"knuckle plot run.mcap q.elbow -o elbow.svg", "a joint over time"},
    {"knuckle plot run.mcap force energy.kinetic,energy.potential -o run.png",
     "contact forces and energies, two panels"},
    {"knuckle plot run.mcap sensor:imu_acc -o acc.svg", "a sensor (sensor.imu_acc is the same)"},
    {"knuckle plot run.mcap ledger --from 0.2 --to 0.4 -o ledger.svg",
     "where energy went, column by column, in a fifth of a second"},
    {0}};
extern const kn_command kn_command_plot;
const kn_command kn_command_plot = {
    .name = "plot",
    .summary = "recorded quantities as SVG or PNG",
    .operands = "RUN QUANTITY…",
    .min_operands = 2,
    .max_operands = 65,
    .details =
        "Each QUANTITY makes one panel: a name, several with commas, or a group (q, v, sensor, energy, "
        "ledger, force). A group with several units makes a panel for each, one of more than eight "
        "curves a small panel for each curve. Names: `knuckle export RUN --list`.",
    .options = options,
    .examples = examples,
    .run = run};
