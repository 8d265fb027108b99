/* knuckle fit: parameters of a model from recorded trajectories. The study's section `fit` says what is looked for and
   where the recordings are; fit/ searches; every point of the search is a case like those of a sweep, so that whatever a
   sweep can vary can be fitted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fit/report.h"
#include "output/file.h"
#include "sweep/plan.h"

typedef struct fit {
  kn_args* args;
  kn_study* study;
  const kn_study_fit* plan;
  kn_tracks tracks;
  kn_track_score* score;
  kn_fit_scales scales;
  int threads;
  kn_progress bar;
} fit;

/* ---- a point of the search as a case ---- */

typedef struct point { /* what an open subject keeps pointing at */
  char text[KN_FIT_PARAMETERS][64];
  const char* word[KN_FIT_PARAMETERS];
  char values[KN_SWEEP_VARIES][KN_SWEEP_TEXT];
  kn_study_vary vary[KN_SWEEP_VARIES];
  kn_args args;
  kn_subject subject;
} point;

static kn_exit point_open(point* p, const fit* f, const double* x) {
  kn_study_sweep plan = {.method = KN_SWEEP_LIST, .cases = 1, .vary = p->vary};
  memset(&p->subject, 0, sizeof p->subject);
  if (!kn_args_copy(&p->args, f->args)) return kn_complain(f->args, KN_EXIT_VIOLATION, "out of memory");
  for (int k = 0; k < f->plan->parameters; k++) {
    const kn_study_parameter* parameter = &f->plan->parameter[k];
    kn_number_text(p->text[k], x[k]);
    p->word[k] = p->text[k];
    for (int i = 0; i < parameter->fields; i++)
      p->vary[plan.varies++] = (kn_study_vary){.name = parameter->name,
                                               .field = parameter->field[i],
                                               .value = &p->word[k],
                                               .count = 1,
                                               .line = parameter->line,
                                               .column = parameter->column};
  }
  return kn_case_open(&p->subject, &p->args, &plan, 0, p->values);
}

static void point_close(point* p) {
  kn_subject_close(&p->subject);
  kn_args_free(&p->args);
}

static kn_fit_world world_of(const point* p) {
  return (kn_fit_world){p->subject.model, p->subject.settings, p->subject.controller};
}

/* ---- the search ---- */

/* A point that cannot be opened or simulated has no cost. */
static kn_status cost(double* item, const double* x, void* context) {
  fit* f = context;
  char why[KN_SWEEP_REASON] = "";
  point* p = malloc(sizeof *p);
  if (!p) return KN_OUT_OF_MEMORY;
  kn_complaints_keep(why, sizeof why);
  bool good = point_open(p, f, x) == KN_EXIT_OK;
  kn_complaints_keep(NULL, 0);
  if (good) {
    kn_fit_world world = world_of(p);
    good = kn_tracks_score(f->score, &world, &f->tracks, &f->scales, f->threads) == KN_OK;
  }
  for (int i = 0; i < f->tracks.count; i++) item[i] = good ? f->score[i].cost : INFINITY;
  point_close(p);
  free(p);
  return KN_OK;
}

static bool watch(int evaluations, int most, double best, void* context) {
  fit* f = context;
  char text[64];
  snprintf(text, sizeof text, "cost %.4g", best);
  kn_progress_update(&f->bar, fmin(evaluations, most), text);
  return !kn_interrupted();
}

static kn_exit search(kn_fit_result* result, fit* f) {
  kn_fit_problem problem = {
      .n = f->plan->parameters, .items = f->tracks.count, .cost = cost, .watch = watch, .context = f};
  kn_fit_settings settings = kn_fit_default();
  if (!isnan(f->plan->tolerance)) settings.tolerance = f->plan->tolerance;
  if (f->plan->resamples >= 0) settings.resamples = f->plan->resamples;
  if (f->tracks.count < 2) settings.resamples = 0; /* one trajectory does not scatter */
  settings.evaluations = f->plan->evaluations;
  settings.seed = f->plan->seed;
  for (int k = 0; k < problem.n; k++) {
    const kn_study_parameter* p = &f->plan->parameter[k];
    problem.range[k] = (kn_fit_range){p->from, p->to, p->start, p->log};
  }
  int n = problem.n, most = settings.evaluations ? settings.evaluations : 100 + 80 * n;
  kn_progress_start(&f->bar, f->args, "fit", most + 8 * n + 2 * (n + 1) * (n + 2), false);
  kn_interrupt_catch();
  kn_status status = kn_fit_search(result, &problem, &settings);
  kn_progress_end(&f->bar);
  if (status == KN_INTERRUPTED)
    return kn_complain(f->args, KN_EXIT_INTERRUPTED, "interrupted, nothing was written");
  return status == KN_OK ? KN_EXIT_OK : kn_complain_status(f->args, status);
}

/* ---- what comes out ---- */

static double mean_of(const fit* f, bool rotation) {
  double sum = 0.0;
  for (int i = 0; i < f->tracks.count; i++) sum += rotation ? f->score[i].rotation : f->score[i].position;
  return sum / f->tracks.count;
}

static kn_exit tell_json(const fit* f, const kn_fit_result* r, double seconds, const char* page) {
  kn_json j;
  kn_json_start(&j);
  kn_json_text(&j, "study", f->study->path);
  kn_json_array(&j, "parameters");
  for (int k = 0; k < r->n; k++) {
    const kn_fit_parameter* p = &r->parameter[k];
    kn_json_begin(&j, NULL);
    kn_json_text(&j, "name", f->plan->parameter[k].name);
    kn_json_number(&j, "value", p->value);
    kn_json_number(&j, "low", p->low);
    kn_json_number(&j, "high", p->high);
    kn_json_bool(&j, "identifiable", p->identifiable);
    if (p->partner >= 0) kn_json_text(&j, "only_with", f->plan->parameter[p->partner].name);
    kn_json_end(&j);
  }
  kn_json_end(&j);
  kn_json_number(&j, "cost", r->cost);
  kn_json_number(&j, "cost_error", r->error);
  kn_json_number(&j, "position", mean_of(f, false));
  kn_json_number(&j, "rotation", mean_of(f, true));
  kn_json_int(&j, "trajectories", f->tracks.count);
  kn_json_int(&j, "evaluations", r->evaluations);
  kn_json_bool(&j, "converged", r->converged);
  kn_json_number(&j, "wall_s", seconds);
  kn_json_text(&j, "report", page);
  return kn_json_finish(&j, KN_EXIT_OK);
}

static kn_exit tell(const fit* f, const kn_fit_result* r, double seconds, const char* page) {
  char wall[KN_SHORT_TEXT];
  printf("%s: %d trajectories, %d evaluations in %s\n", f->study->path, f->tracks.count, r->evaluations,
         kn_time_text(wall, seconds));
  for (int k = 0; k < r->n; k++) {
    const kn_fit_parameter* p = &r->parameter[k];
    printf("  %-16s %12.6g", f->plan->parameter[k].name, p->value);
    if (!isnan(p->low)) printf("   95 %% from %.6g to %.6g", p->low, p->high);
    puts(p->identifiable ? "" : "   not identifiable");
  }
  printf("  cost %.6g ± %.2g; mean errors: %.4g m, %.4g rad\n", r->cost, r->error, mean_of(f, false),
         mean_of(f, true));
  printf("  wrote %s\n", page);
  return KN_EXIT_OK;
}

static void warn(const fit* f, const kn_fit_result* r) {
  for (int k = 0; k < r->n; k++) {
    const kn_fit_parameter* p = &r->parameter[k];
    const char* name = f->plan->parameter[k].name;
    if (!p->identifiable && p->partner >= 0)
      kn_complain(f->args, KN_EXIT_OK,
                  "warning: %s is not identifiable: only its combination with %s matters; fix one of them",
                  name, f->plan->parameter[p->partner].name);
    else if (!p->identifiable)
      kn_complain(f->args, KN_EXIT_OK,
                  "warning: %s is not identifiable: these trajectories hardly depend on it; fix it", name);
  }
  if (f->tracks.count < 5)
    kn_complain(f->args, KN_EXIT_OK, "warning: %d trajectories: %s", f->tracks.count,
                f->tracks.count < 2 ? "intervals need several" : "intervals of so few are rough");
  if (!r->converged)
    kn_complain(f->args, KN_EXIT_OK,
                "warning: the search ended at its limit of evaluations (evaluations: in the study)");
}

/* ---- the command ---- */

static kn_exit open_plan(fit* f, kn_args* args) {
  const char* path = args->operand[0];
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int fields = 0;
  *f = (fit){.args = args};
  if (!kn_file_ends(path, "yaml"))
    return kn_complain(args, KN_EXIT_USAGE, "%s: expected a study file, STUDY.yaml", path);
  kn_status status = kn_study_load(&f->study, path);
  if (status != KN_OK) return kn_complain_status(args, status);
  f->plan = f->study->fit;
  if (!f->plan) return kn_complain(args, KN_EXIT_INPUT, "%s:1:1: the study has no section fit:", path);
  for (int k = 0; k < f->plan->parameters; k++) fields += f->plan->parameter[k].fields;
  if (f->plan->parameters > KN_FIT_PARAMETERS || fields > KN_SWEEP_VARIES)
    return kn_complain(args, KN_EXIT_INPUT, "%s:%d:1: %d parameters of %d fields, expected at most %d and %d",
                       path, f->plan->line, f->plan->parameters, fields, KN_FIT_PARAMETERS, KN_SWEEP_VARIES);
  f->scales = (kn_fit_scales){f->plan->length, f->plan->angle, f->plan->squares};
  f->threads = kn_arg_given(args, "--threads") ? (int)kn_arg_int(args, "--threads")
               : cores > 0                     ? (int)cores
                                               : 1;
  return KN_EXIT_OK;
}

/* The start must open: a mistake in the study ends here, with its line. Then the trajectories, in its model. */
static kn_exit read_tracks(fit* f) {
  double x[KN_FIT_PARAMETERS];
  point* p = malloc(sizeof *p);
  if (!p) return kn_complain(f->args, KN_EXIT_VIOLATION, "out of memory");
  for (int k = 0; k < f->plan->parameters; k++) x[k] = f->plan->parameter[k].start;
  kn_exit code = point_open(p, f, x);
  kn_status status = KN_OK;
  if (code == KN_EXIT_OK)
    status = kn_tracks_read(&f->tracks, p->subject.model, kn_state_q(p->subject.state), f->study);
  if (status != KN_OK) code = kn_complain_status(f->args, status);
  point_close(p);
  free(p);
  if (code != KN_EXIT_OK) return code;
  f->score = calloc((size_t)f->tracks.count + 1, sizeof *f->score);
  return f->score ? KN_EXIT_OK : kn_complain(f->args, KN_EXIT_VIOLATION, "out of memory");
}

static void page_path(char* path, size_t room, const fit* f) {
  const char* given = kn_arg_text(f->args, "--output");
  int stem = (int)strlen(f->study->path) - 5;
  if (given)
    snprintf(path, room, "%s", given);
  else
    snprintf(path, room, "%.*s.fit.html", stem, f->study->path);
}

/* The values found, simulated once more for the report. */
static kn_exit report(fit* f, const kn_fit_result* r, double seconds) {
  double x[KN_FIT_PARAMETERS];
  char path[4096];
  point* p = malloc(sizeof *p);
  if (!p) return kn_complain(f->args, KN_EXIT_VIOLATION, "out of memory");
  page_path(path, sizeof path, f);
  for (int k = 0; k < r->n; k++) x[k] = r->parameter[k].value;
  kn_exit code = point_open(p, f, x);
  if (code == KN_EXIT_OK) {
    kn_fit_world world = world_of(p);
    kn_status status = kn_tracks_score(f->score, &world, &f->tracks, &f->scales, f->threads);
    kn_fit_report all = {f->args, f->study, r, &f->tracks, f->score, &world, seconds};
    code = status == KN_OK ? kn_fit_page(&all, path) : kn_complain_status(f->args, status);
  }
  point_close(p);
  free(p);
  if (code != KN_EXIT_OK) return code;
  warn(f, r);
  return f->args->json ? tell_json(f, r, seconds, path) : tell(f, r, seconds, path);
}

static int run(kn_args* args) {
  fit f;
  kn_fit_result result = {0};
  double begin = kn_seconds();
  kn_exit code = open_plan(&f, args);
  if (code == KN_EXIT_OK) code = read_tracks(&f);
  if (code == KN_EXIT_OK) code = search(&result, &f);
  if (code == KN_EXIT_OK) code = report(&f, &result, kn_seconds() - begin);
  kn_fit_result_free(&result);
  kn_tracks_free(&f.tracks);
  free(f.score);
  kn_study_free(f.study);
  return code;
}

static const kn_option options[] = {
    {.name = "--output",
     .letter = 'o',
     .type = KN_OPTION_TEXT,
     .value = "FILE",
     .help = "the report page (default: STUDY.fit.html beside the study)"},
    {.name = "--threads",
     .type = KN_OPTION_INT,
     .value = "N",
     .min = 1,
     .max = KN_SWEEP_THREADS,
     .help = "threads (default: one per core); the same result for any number"},
    KN_SUBJECT_OPTIONS,
    {0}};

static const kn_example examples[] = {
    {"knuckle fit examples/fit/toss.yaml -o toss.html",
     "friction, restitution and table height of a thrown box; the report is toss.html"},
    {"knuckle fit examples/fit/toss.yaml -o toss.html --json", "values, intervals and cost for scripts"},
    {0}};

const kn_command kn_command_fit = {
    .name = "fit",
    .summary = "find parameters of a model from recorded trajectories",
    .operands = "STUDY.yaml",
    .min_operands = 1,
    .max_operands = 1,
    .details =
        "The study's section `fit` says what is looked for and what was recorded:\n\n"
        "  model: cube.xml\n"
        "  materials:\n"
        "    - {geom: '*', friction: 0.2, restitution: 0.2}\n"
        "  fit:\n"
        "    parameters:\n"
        "      mu: {field: materials.0.friction, from: 0.05, to: 0.6}\n"
        "      ground: {field: model.geom.floor.pos.2, from: -0.01, to: 0.01}\n"
        "    data:\n"
        "      - file: tosses.csv\n"
        "        trajectory: toss          # column that numbers the trajectories\n"
        "        rate: 148                 # frames a second, or time: COLUMN\n"
        "        q: {cube: [px, py, pz, qw, qx, qy, qz]}\n"
        "        v: {cube: [vx, vy, vz, wx, wy, wz]}\n"
        "    scales: {length: 0.1, angle: 0.5}\n\n"
        "Fields are those of `knuckle sweep`. Recordings of `knuckle run -o run.mcap` need a file: alone. "
        "Columns may be "
        "scaled and shifted: pz*0.001-0.02. Every value comes with an interval of 95 % and a warning where "
        "the trajectories do not determine it. All of it: docs/fitting.md.",
    .options = options,
    .examples = examples,
    .run = run};
