/* One case of a sweep: its values put into the study, the run, the outputs. Called by crew.c on any thread, and by
   `knuckle run --case`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/file.h"
#include "sweep/expression.h"
#include "sweep/plan.h"
#include "troubles.h"

/* A field "option.mu" is an option of the command; "model.…" an attribute of the model file; the rest is the study's. */
static const char* after(const char* field, const char* prefix) {
  size_t n = strlen(prefix);
  return strncmp(field, prefix, n) == 0 ? field + n : NULL;
}

static kn_exit set_option(kn_args* args, const kn_study_vary* v, const char* name, const char* value) {
  char word[64];
  snprintf(word, sizeof word, "--%s", name);
  const kn_option* o = args->command->options;
  for (int i = 0; o[i].name; i++)
    if (strcmp(o[i].name, word) == 0 && o[i].type != KN_OPTION_FLAG) return kn_arg_set(args, word, value);
  return kn_complain(args, KN_EXIT_INPUT, "%s:%d:%d: field option.%s: no option %s with a value",
                     args->operand[0], v->line, v->column, name, word);
}

/* What a case holds while its subject is opened: the subject keeps none of it. */
typedef struct changes {
  kn_study_edit edit[KN_SWEEP_VARIES];
  char (*value)[KN_SWEEP_TEXT];
  int edits;
  kn_model_edits* model;
} changes;

static kn_exit sort_changes(changes* c, kn_args* args, const kn_study_sweep* plan, int64_t i) {
  kn_exit code = KN_EXIT_OK;
  if (plan->varies > KN_SWEEP_VARIES)
    return kn_complain(args, KN_EXIT_INPUT, "%d variables, expected at most %d", plan->varies,
                       KN_SWEEP_VARIES);
  for (int k = 0; k < plan->varies && code == KN_EXIT_OK; k++) {
    const kn_study_vary* v = &plan->vary[k];
    const char *option = after(v->field, "option."), *model = after(v->field, "model.");
    kn_status status = kn_sweep_value(c->value[k], KN_SWEEP_TEXT, plan, i, k);
    if (status != KN_OK) return kn_complain_status(args, status);
    if (option)
      code = set_option(args, v, option, c->value[k]);
    else if (model) {
      if (!c->model) c->model = kn_model_edits_create();
      if (!c->model || !kn_model_edits_add(c->model, model, c->value[k]))
        code = kn_complain(args, KN_EXIT_INPUT,
                           "%s:%d:%d: \"%.80s\" is no field of a model, expected model.TAG.NAME.ATTRIBUTE",
                           args->operand[0], v->line, v->column, v->field);
    } else
      c->edit[c->edits++] = (kn_study_edit){v->field, c->value[k], v->line, v->column};
  }
  return code;
}

kn_exit kn_case_open(kn_subject* s, kn_args* args, const kn_study_sweep* plan, int64_t i,
                     char (*values)[KN_SWEEP_TEXT]) {
  changes c = {.value = values};
  memset(s, 0, sizeof *s);
  kn_exit code = sort_changes(&c, args, plan, i);
  if (code == KN_EXIT_OK) {
    kn_files files = c.model ? kn_model_edits_files(c.model) : (kn_files){0};
    code = kn_subject_open_case(s, args, c.model ? &files : NULL, c.edit, c.edits);
    const char* missed = code == KN_EXIT_OK && c.model ? kn_model_edits_missed(c.model) : NULL;
    if (missed)
      code = kn_complain(args, KN_EXIT_INPUT, "%s: the model has no \"%.80s\"", args->operand[0], missed);
  }
  s->edit = NULL;
  kn_model_edits_free(c.model);
  return code;
}

kn_exit kn_case_subject(kn_subject* s, kn_args* args, const kn_files* files) {
  static char values[KN_SWEEP_VARIES][KN_SWEEP_TEXT]; /* options keep pointing at it */
  kn_study* study = NULL;
  memset(s, 0, sizeof *s);
  if (!kn_arg_given(args, "--case")) return kn_subject_open_files(s, args, files);
  if (!kn_file_ends(args->operand[0], "yaml"))
    return kn_complain(args, KN_EXIT_USAGE, "--case: expected a study file with a section sweep:");
  kn_status status = kn_study_load(&study, args->operand[0]);
  if (status != KN_OK) return kn_complain_status(args, status);
  const kn_study_sweep* plan = study->sweep;
  int64_t i = kn_arg_int(args, "--case");
  kn_exit code =
      !plan ? kn_complain(args, KN_EXIT_INPUT, "%s:1:1: the study has no section sweep:", study->path)
      : i >= plan->cases
          ? kn_complain(args, KN_EXIT_USAGE, "--case %lld: the sweep has %lld cases, from 0 on", (long long)i,
                        (long long)plan->cases)
          : kn_case_open(s, args, plan, i, values);
  kn_study_free(study);
  return code;
}

/* ---- outputs ---- */

typedef struct watch {
  int count;
  kn_expression* e[KN_SWEEP_OUTPUTS];
  kn_data* data; /* for poses; NULL: none needed */
} watch;

static void watch_end(watch* w) {
  for (int k = 0; k < w->count; k++) kn_expression_free(w->e[k]);
  kn_data_destroy(w->data);
}

static bool watch_begin(watch* w, const kn_subject* s, const kn_study_sweep* plan, int64_t i, char* why,
                        size_t room) {
  kn_named named[KN_SWEEP_VARIES];
  char text[KN_SWEEP_TEXT], problem[300];
  bool poses = false;
  int count = 0;
  *w = (watch){0};
  for (int k = 0; k < plan->varies; k++) {
    char* end;
    kn_sweep_value(text, sizeof text, plan, i, k);
    double x = strtod(text, &end);
    if (!*end) named[count++] = (kn_named){plan->vary[k].name, x};
  }
  for (int k = 0; k < plan->outputs; k++) {
    const kn_study_output* o = &plan->output[k];
    w->e[k] = kn_expression_read(o->expression, s->model, named, count, problem, sizeof problem);
    if (!w->e[k]) {
      snprintf(why, room, "%s:%d:%d: output %s: %s", s->name, o->line, o->column, o->name, problem);
      return false;
    }
    w->count++;
    poses = poses || kn_expression_needs_poses(w->e[k]);
  }
  if (!poses || kn_data_create(&w->data, s->model) == KN_OK) return true;
  snprintf(why, room, "no memory");
  return false;
}

/* One instant into every expression. */
static void watch_step(watch* w, const kn_subject* s, const kn_energy* energy, const kn_report* report) {
  kn_instant at = {s->model, s->state, w->data, energy, report};
  if (w->data && kn_kinematics(s->model, s->state, w->data) != KN_OK) at.data = NULL;
  for (int k = 0; k < w->count; k++) kn_expression_step(w->e[k], &at);
}

static void watch_start(watch* w, const kn_subject* s) {
  kn_energy energy = {0};
  kn_data* data = NULL;
  if (kn_data_create(&data, s->model) == KN_OK && kn_kinematics(s->model, s->state, data) == KN_OK)
    kn_energy_of(&energy, s->model, s->state, data);
  kn_data_destroy(data);
  watch_step(w, s, &energy, NULL);
}

/* ---- the run ---- */

static void say(kn_case_row* row, kn_case_status status, const char* text) {
  row->status = status;
  free(row->reason);
  row->reason = text && text[0] ? strdup(text) : NULL;
}

/* stopped: by Ctrl-C, the case is not done. */
static kn_status simulate(kn_case_row* row, bool* stopped, const kn_sweep* w, kn_subject* s, kn_sim* sim,
                          watch* watching) {
  kn_trouble_tally troubles = {0};
  double begin = kn_seconds(), duration = isnan(w->duration) ? s->duration : w->duration;
  long steps = lround(duration / s->settings.dt);
  kn_status status = KN_OK;
  char text[KN_SWEEP_REASON];
  watch_start(watching, s);
  while (row->steps < steps && status == KN_OK) {
    status = kn_step(sim, s->state);
    if (status != KN_OK) break;
    const kn_report* r = kn_sim_report(sim);
    row->steps++;
    kn_trouble_count(&troubles, r->event, r->events);
    watch_step(watching, s, &r->energy, r);
    if (row->steps & 15) continue;
    if ((*stopped = kn_interrupted())) return KN_OK;
    if (kn_seconds() - begin > w->limit) {
      snprintf(text, sizeof text, "time limit: %.3g s of wall time were over at t = %.6g s", w->limit,
               kn_state_time(s->state));
      say(row, KN_CASE_FAILED, text);
      return KN_OK;
    }
  }
  for (int k = 0; k < KN_TROUBLE_COUNT && troubles.count && !row->reason; k++)
    if (troubles.kind[k].count)
      say(row, KN_CASE_TROUBLE, kn_trouble_sentence(text, sizeof text, s->model, &troubles.kind[k]));
  return status;
}

static bool run_subject(kn_case_row* row, const kn_sweep* w, kn_subject* s) {
  kn_sim* sim = NULL;
  watch watching;
  char why[KN_SWEEP_REASON];
  bool stopped = false, good = watch_begin(&watching, s, w->plan, row->i, why, sizeof why);
  if (!good) say(row, KN_CASE_FAILED, why);
  kn_status status = good ? kn_sim_create(&sim, s->model, &s->settings) : KN_OK;
  if (status == KN_OK && good && s->controller.fn) status = kn_sim_set_controller(sim, &s->controller);
  if (status == KN_OK && good) status = kn_sim_prepare(sim, s->state);
  if (status == KN_OK && good) status = simulate(row, &stopped, w, s, sim, &watching);
  if (status != KN_OK) say(row, KN_CASE_FAILED, kn_last_error());
  row->time = kn_state_time(s->state);
  row->hash = kn_state_hash(s->state);
  if (good && row->status != KN_CASE_FAILED)
    for (int k = 0; k < watching.count; k++) row->output[k] = kn_expression_value(watching.e[k]);
  kn_sim_destroy(sim);
  watch_end(&watching);
  return !stopped;
}

kn_exit kn_case_check(const kn_subject* s, const kn_sweep* w) {
  watch watching;
  char why[KN_SWEEP_REASON];
  bool good = watch_begin(&watching, s, w->plan, 0, why, sizeof why);
  watch_end(&watching);
  return good ? KN_EXIT_OK : kn_complain(w->args, KN_EXIT_INPUT, "%s", why);
}

bool kn_case_run(kn_case_row* row, const kn_sweep* w, int64_t i) {
  kn_subject s;
  kn_args args;
  char why[KN_SWEEP_REASON] = "", values[KN_SWEEP_VARIES][KN_SWEEP_TEXT];
  *row = (kn_case_row){.i = i};
  for (int k = 0; k < KN_SWEEP_OUTPUTS; k++) row->output[k] = NAN;
  if (!kn_args_copy(&args, w->args)) {
    say(row, KN_CASE_FAILED, "no memory");
    return true;
  }
  bool done = true;
  kn_complaints_keep(why, sizeof why);
  kn_exit code = kn_case_open(&s, &args, w->plan, i, values);
  kn_complaints_keep(NULL, 0);
  if (code != KN_EXIT_OK)
    say(row, KN_CASE_FAILED, why[0] ? why : "could not be opened");
  else
    done = run_subject(row, w, &s);
  kn_subject_close(&s);
  kn_args_free(&args);
  return done;
}
