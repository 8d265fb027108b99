/* knuckle export: a recording as CSV, JSON or HDF5. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "output/file.h"
#include "output/text.h"
#include "quantity.h"

typedef struct job {
  kn_recording* in;
  kn_table table;
  bool* chosen;
  double* column; /* rows x chosen, column after column */
  double* t;
  int rows, columns;
} job;

static kn_status gather(job* j) {
  for (int i = 0; i < j->table.count; i++) j->columns += j->chosen[i];
  j->rows = kn_recording_steps(j->in);
  j->column = malloc((size_t)j->rows * (size_t)j->columns * sizeof(double) + 1);
  j->t = malloc((size_t)j->rows * sizeof(double) + 1);
  if (!j->column || !j->t) return KN_OUT_OF_MEMORY;
  for (int r = 0; r < j->rows; r++) {
    kn_recorded s;
    kn_status status = kn_recording_read(&s, j->in, r);
    if (status != KN_OK) return status;
    j->t[r] = s.t;
    for (int i = 0, c = 0; i < j->table.count; i++)
      if (j->chosen[i])
        j->column[(size_t)c++ * (size_t)j->rows + (size_t)r] = kn_quantity_value(&j->table.at[i], &s);
  }
  return kn_table_status(&j->table);
}

static bool write_csv(const job* j, FILE* f) {
  fputs("t", f);
  for (int i = 0; i < j->table.count; i++)
    if (j->chosen[i]) fputc(',', f), kn_text_cell(f, j->table.at[i].name);
  fputc('\n', f);
  for (int r = 0; r < j->rows; r++) {
    fprintf(f, "%.17g", j->t[r]);
    for (int c = 0; c < j->columns; c++) {
      double x = j->column[(size_t)c * (size_t)j->rows + (size_t)r];
      if (x == x)
        fprintf(f, ",%.17g", x);
      else
        fputc(',', f);
    }
    fputc('\n', f);
  }
  return !ferror(f);
}

static bool write_json(const job* j, FILE* f) {
  kn_json out;
  if (f == stdout)
    kn_json_start(&out);
  else {
    kn_json_open(&out, f, true);
    kn_json_begin(&out, NULL);
  }
  kn_json_numbers(&out, "t", j->t, (size_t)j->rows);
  for (int i = 0, c = 0; i < j->table.count; i++)
    if (j->chosen[i])
      kn_json_numbers(&out, j->table.at[i].name, j->column + (size_t)c++ * (size_t)j->rows, (size_t)j->rows);
  return kn_json_close(&out);
}

static const char* format_of(const kn_args* args, const char* path) {
  const char* format = kn_arg_text(args, "--format");
  if (format) return format;
  if (!path) return args->json ? "json" : "csv";
  return kn_file_ends(path, "h5|hdf5") ? "hdf5" : kn_file_ends(path, "json") ? "json" : "csv";
}

static kn_exit save_hdf5(const kn_args* args, const job* j, const char* path) {
  if (!path) return kn_complain(args, KN_EXIT_USAGE, "HDF5 needs a file, expected -o FILE.h5");
  kn_column* list = malloc(((size_t)j->columns + 1) * sizeof *list);
  if (!list) return kn_complain(args, KN_EXIT_WRITE, "no memory");
  list[0] = (kn_column){"t", "s", j->t};
  for (int i = 0, c = 0; i < j->table.count; i++)
    if (j->chosen[i]) {
      const kn_quantity* q = &j->table.at[i];
      const double* x = j->column + (size_t)c * (size_t)j->rows;
      list[++c] = (kn_column){q->name, q->unit, x};
    }
  kn_exit code = kn_out_hdf5(args, path, list, j->columns + 1, j->rows);
  free(list);
  return code;
}

/* columns 0: not counted. */
static kn_exit tell(const kn_args* args, long rows, int columns, const char* path) {
  kn_json out;
  if (!args->json) return KN_EXIT_OK;
  kn_json_start(&out);
  kn_json_text(&out, "file", path);
  kn_json_text(&out, "format", format_of(args, path));
  kn_json_int(&out, "rows", rows);
  if (columns) kn_json_int(&out, "columns", columns);
  return kn_json_finish(&out, KN_EXIT_OK);
}

static kn_exit write_out(const kn_args* args, const job* j) {
  const char *path = kn_arg_text(args, "--output"), *format = format_of(args, path);
  kn_file file;
  kn_exit code = kn_out_ending(args, path, kn_arg_given(args, "--format") ? NULL : "csv|json|h5|hdf5");
  if (code != KN_EXIT_OK) return code;
  if (strcmp(format, "hdf5") == 0)
    code = save_hdf5(args, j, path);
  else if (path) {
    code = kn_out_open(&file, args, path, NULL);
    if (code != KN_EXIT_OK) return code;
    bool ok = strcmp(format, "json") == 0 ? write_json(j, file.stream) : write_csv(j, file.stream);
    code = kn_out_close(&file, args, ok);
  } else {
    if (args->json && strcmp(format, "json") != 0)
      return kn_complain(args, KN_EXIT_USAGE, "--json writes JSON to standard output, expected -o FILE");
    bool ok = strcmp(format, "json") == 0 ? write_json(j, stdout) : write_csv(j, stdout);
    if (fflush(stdout) == 0 && ok) return KN_EXIT_OK;
    return kn_complain(args, KN_EXIT_WRITE, "writing failed: %s", strerror(errno));
  }
  return code == KN_EXIT_OK ? tell(args, j->rows, j->columns + 1, path) : code;
}

/* --table contacts, pairs or bodies. */
static kn_exit write_table(const kn_args* args, kn_recording* in) {
  const char *path = kn_arg_text(args, "--output"), *format = format_of(args, path);
  bool json = strcmp(format, "json") == 0;
  long rows;
  kn_file file;
  if (strcmp(format, "hdf5") == 0)
    return kn_complain(args, KN_EXIT_USAGE, "--table %s has columns of names, expected .csv or .json",
                       kn_arg_text(args, "--table"));
  if (kn_arg_given(args, "--only"))
    return kn_complain(args, KN_EXIT_USAGE, "--only chooses quantities of --table steps");
  if (args->json && !json && !path)
    return kn_complain(args, KN_EXIT_USAGE, "--json writes JSON to standard output, expected -o FILE");
  kn_exit code = kn_out_ending(args, path, kn_arg_given(args, "--format") ? NULL : "csv|json");
  if (code == KN_EXIT_OK && path) code = kn_out_open(&file, args, path, NULL);
  if (code != KN_EXIT_OK) return code;
  kn_status status = kn_export_loads(path ? file.stream : stdout, json, in, args, &rows);
  if (path) {
    code = kn_out_close(&file, args, status == KN_OK);
    if (status == KN_OK && code == KN_EXIT_OK) return tell(args, rows, 0, path);
    return status == KN_OK ? code : kn_complain_status(args, status);
  }
  if (status != KN_OK) return kn_complain_status(args, status);
  return fflush(stdout) == 0 && !ferror(stdout)
             ? KN_EXIT_OK
             : kn_complain(args, KN_EXIT_WRITE, "writing failed: %s", strerror(errno));
}

static kn_exit list_json(const kn_table* t) {
  kn_json j;
  kn_json_start(&j);
  kn_json_array(&j, "quantities");
  for (int i = 0; i < t->count; i++) {
    kn_json_begin(&j, NULL);
    kn_json_text(&j, "name", t->at[i].name);
    kn_json_text(&j, "unit", t->at[i].unit);
    kn_json_end(&j);
  }
  kn_json_end(&j);
  return kn_json_finish(&j, KN_EXIT_OK);
}

static kn_exit export(const kn_args* args, job* j) {
  char wrong[120];
  kn_status status = kn_recording_open(&j->in, args->operand[0]);
  if (status != KN_OK) return kn_complain_status(args, status);
  for (int i = 0; i < kn_recording_problems(j->in); i++)
    kn_complain(args, KN_EXIT_OK, "%s", kn_recording_problem(j->in, i));
  if (strcmp(kn_arg_text(args, "--table"), "steps") != 0 && !kn_arg_flag(args, "--list"))
    return write_table(args, j->in);
  status = kn_table_create(&j->table, j->in, kn_forces_asked(args));
  if (status != KN_OK) return kn_complain_status(args, status);
  if (kn_arg_flag(args, "--list") && args->json) return list_json(&j->table);
  if (kn_arg_flag(args, "--list")) {
    for (int i = 0; i < j->table.count; i++)
      printf("%s%s%s\n", j->table.at[i].name, j->table.at[i].unit[0] ? " " : "", j->table.at[i].unit);
    return KN_EXIT_OK;
  }
  j->chosen = calloc((size_t)j->table.count + 1, sizeof *j->chosen);
  if (!j->chosen) return kn_complain(args, KN_EXIT_WRITE, "no memory");
  if (!kn_table_select(j->chosen, &j->table, kn_arg_text(args, "--only"), wrong)) {
    const char* near = kn_table_near(&j->table, wrong);
    return kn_complain(args, KN_EXIT_USAGE, "no quantity \"%s\"%s%s%s; `knuckle export %s --list` shows all",
                       wrong, near ? ", did you mean " : "", near ? near : "", near ? "?" : "",
                       args->operand[0]);
  }
  status = gather(j);
  return status == KN_OK ? write_out(args, j) : kn_complain_status(args, status);
}

static int run(kn_args* args) {
  job j = {0};
  kn_exit code = export(args, &j);
  free(j.chosen);
  free(j.column);
  free(j.t);
  kn_table_free(&j.table);
  kn_recording_close(j.in);
  return code;
}

static const kn_option options[] = {
    {.name = "--output",
     .letter = 'o',
     .type = KN_OPTION_TEXT,
     .value = "FILE",
     .help = "where to write (default: standard output); .csv, .json, .h5"},
    {.name = "--format",
     .type = KN_OPTION_CHOICE,
     .choices = "csv|json|hdf5",
     .value = "KIND",
     .help = "instead of by the ending"},
    {.name = "--table",
     .type = KN_OPTION_CHOICE,
     .choices = "steps|contacts|pairs|bodies",
     .value = "ROWS",
     .fallback = "steps",
     .help =
         "a row per step with its quantities, or per step and contact, pair of bodies, body that touches"},
    {.name = "--only",
     .type = KN_OPTION_TEXT,
     .value = "NAMES",
     .help = "quantities or groups, comma-separated: q,v.elbow,ledger,force"},
    {.name = "--list", .type = KN_OPTION_FLAG, .help = "names of all quantities in the recording"},
    KN_FORCES_OPTION,
    {0}};
static const kn_example examples[] = {
    {"knuckle export run.mcap -o run.csv", "everything, one row per step"},
    {"knuckle export run.mcap --list", "what is in it"},
    {"knuckle export run.mcap --only q,energy -o run.h5", "coordinates and energies as HDF5"},
    {"knuckle export run.mcap --table contacts -o contacts.csv",
     "every contact: geoms, point, force in world axes and in its frame, mode"},
    {0}};
extern const kn_command kn_command_export;
const kn_command kn_command_export = {
    .name = "export",
    .summary = "a recording as CSV, JSON or HDF5",
    .operands = "RUN",
    .min_operands = 1,
    .max_operands = 1,
    .details =
        "Quantities: q.JOINT, v.JOINT, u.ACTUATOR, tau.JOINT, sensor.NAME, energy.*, ledger.*, residual, "
        "penetration, and for each pair of bodies that touched "
        "force.A.B (normal, N), friction.A.B (N), between.A.B.x (on A in world axes, N), impulse.A.B (of "
        "blows, N s), determinate.A.B (1: the motion determines the pair's force) and gap.A.B; "
        "force_on.BODY.x, impulse_on.BODY.x and determinate_on.BODY of all that touches a body. Single "
        "contacts, where --only names them: contact.GEOM_A.GEOM_B.normal, tangential, x, point_x, sticking, "
        "determinate and more. Joints, actuators, bodies and geoms without a name are "
        "joint3, actuator0, body2, geom1 as `knuckle check` lists them, and so in study files. gap is "
        "measured "
        "where the step evaluates its contacts (its middle, before positions are repaired), penetration "
        "at the end of the step; both only over pairs that can touch.",
    .options = options,
    .examples = examples,
    .run = run};
