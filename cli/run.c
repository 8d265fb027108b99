/* knuckle run: simulate a scene or a model file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "knuckle/record.h"
#include "loads.h"
#include "outputs.h"
#include "troubles.h"

/* What the run adds up over its steps. */
typedef struct tally {
  long steps;
  double wall, residual, penetration, closure, drift, energy0, gain, lift;
  int contacts, lcp_size;
  long verdicts[KN_VERDICT_COUNT];
  kn_trouble_tally troubles;
  kn_event* event;
  size_t events, room;
  kn_ledger ledger;
  int problems, left_out; /* files of --problems */
} tally;

static double larger(double a, double b) { return b > a ? b : a; }

static void keep_events(tally* t, const kn_report* r) {
  for (int i = 0; i < r->events; i++) {
    if (t->events == t->room) {
      size_t room = t->room ? 2 * t->room : 256;
      kn_event* more = realloc(t->event, room * sizeof *more);
      if (!more) return;
      t->event = more;
      t->room = room;
    }
    t->event[t->events++] = r->event[i];
  }
}

static void add(tally* t, const kn_report* r) {
  t->steps++;
  t->residual = larger(t->residual, r->residual);
  t->penetration = larger(t->penetration, r->penetration);
  t->closure = larger(t->closure, r->closure);
  t->drift = larger(t->drift, r->drift);
  t->lift = larger(t->lift, r->lift);
  if (r->contacts > t->contacts) t->contacts = r->contacts;
  if (r->lcp_size > t->lcp_size) t->lcp_size = r->lcp_size;
  t->verdicts[r->verdict.kind]++;
  t->gain = r->gain_rel;
  t->ledger = r->total;
  kn_trouble_count(&t->troubles, r->event, r->events);
  keep_events(t, r);
}

static void write_events(kn_json* j, const kn_model* m, const tally* t, bool switches) {
  kn_json_array(j, switches ? "switches" : "events");
  for (size_t i = 0; i < t->events; i++) {
    const kn_event* e = &t->event[i];
    kn_body body[2];
    if ((e->kind == KN_EVENT_SWITCH) != switches) continue;
    kn_json_begin(j, NULL);
    kn_json_number(j, "t", e->t);
    if (switches) {
      kn_json_text(j, "from", e->value > 0.0 ? "rigid" : "compliant");
      kn_json_text(j, "to", e->value > 0.0 ? "compliant" : "rigid");
      kn_json_text(j, "cause", e->text);
    }
    kn_json_text(j, "kind", kn_event_name(e->kind));
    kn_json_array(j, "bodies");
    for (int k = 0, bodies = kn_event_bodies(body, m, e); k < bodies; k++)
      kn_json_text(j, NULL, kn_body_name(m, body[k]));
    kn_json_end(j);
    kn_json_number(j, "detail", e->value);
    if (e->kind == KN_EVENT_TROUBLE) kn_json_text(j, "trouble", kn_trouble_name(e->trouble));
    kn_json_end(j);
  }
  kn_json_end(j);
}

static void write_json(const kn_subject* s, const tally* t, const kn_report* r, kn_exit code) {
  kn_json j;
  char hash[32];
  kn_json_start(&j);
  kn_json_text(&j, "scene", s->name);
  kn_json_text(&j, "formulation", s->settings.formulation);
  kn_json_text(&j, "solver", s->settings.solver);
  kn_json_text(&j, "stepper", s->settings.stepper);
  kn_json_int(&j, "steps", t->steps);
  kn_json_number(&j, "time", kn_state_time(s->state));
  kn_json_number(&j, "wall_s", t->wall);
  kn_json_numbers(&j, "q", kn_state_q(s->state), (size_t)kn_model_nq(s->model));
  kn_json_numbers(&j, "v", kn_state_v(s->state), (size_t)kn_model_nv(s->model));
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)kn_state_hash(s->state));
  kn_json_text(&j, "state_hash", hash);
  kn_json_text(&j, "status",
               code == KN_EXIT_INTERRUPTED ? "interrupted"
               : t->troubles.count         ? "trouble"
                                           : "ok");
  kn_troubles_json(&j, s->model, &t->troubles);
  kn_json_begin(&j, "energy");
  kn_json_number(&j, "initial", t->energy0);
  kn_json_number(&j, "final", r->energy.kinetic + r->energy.potential + r->energy.spring);
  kn_json_number(&j, "scale", r->rise.scale);
  kn_json_number(&j, "rise", r->rise.rise);
  kn_json_number(&j, "rise_rel", r->rise.rise_rel);
  kn_json_number(&j, "work_in", r->rise.work_in);
  kn_json_begin(&j, "by");
  kn_json_number(&j, "contact", r->rise.contact);
  kn_json_number(&j, "integration", r->rise.integration);
  kn_json_number(&j, "correction", r->rise.correction);
  kn_json_number(&j, "damping", r->rise.damping);
  kn_json_end(&j);
  kn_json_number(&j, "max_gain_rel", t->gain);
  kn_json_end(&j);
  kn_json_begin(&j, "ledger");
#define X(name) kn_json_number(&j, #name, t->ledger.name);
  KN_LEDGER_LIST(X)
#undef X
  kn_json_end(&j);
  kn_json_number(&j, "residual_max", t->residual);
  kn_json_number(&j, "penetration_max", t->penetration);
  kn_json_number(&j, "closure_max", t->closure);
  kn_json_number(&j, "drift_max", t->drift);
  kn_json_number(&j, "lift_max", t->lift);
  kn_json_int(&j, "contacts_max", t->contacts);
  kn_json_int(&j, "lcp_size_max", t->lcp_size);
  kn_overlaps_json(&j, s);
  kn_start_json(&j, s);
  kn_notes_json(&j, s->report);
  write_events(&j, s->model, t, false);
  kn_json_begin(&j, "verdicts");
  for (int k = 0; k < KN_VERDICT_COUNT; k++)
    kn_json_int(&j, kn_verdict_name((kn_verdict_kind)k), t->verdicts[k]);
  kn_json_end(&j);
  write_events(&j, s->model, t, true);
  kn_json_finish(&j, KN_EXIT_OK);
}

static void write_text(const kn_subject* s, const tally* t, const kn_report* r) {
  double end = r->energy.kinetic + r->energy.potential + r->energy.spring;
  long counts[KN_EVENT_COUNT] = {0};
  for (size_t i = 0; i < t->events; i++) counts[t->event[i].kind]++;
  char step[KN_SHORT_TEXT], wall[KN_SHORT_TEXT], speed[KN_SHORT_TEXT];
  printf("%s: %ld steps of %s in %s (%s x real time)\n", s->name, t->steps,
         kn_time_text(step, s->settings.dt), kn_time_text(wall, t->wall),
         kn_count_text(speed, kn_state_time(s->state) / t->wall));
  printf("  energy      %.9g J at the start, %.9g J at the end; work put in %.4g J\n", t->energy0, end,
         r->rise.work_in);
  printf("  energy rise %.3g J, %.2g of the scale of %.4g J", r->rise.rise, r->rise.rise_rel, r->rise.scale);
  if (r->rise.rise > 0.0)
    printf("; by contact %.3g J, integration %.3g J, correction %.3g J", r->rise.contact, r->rise.integration,
           r->rise.correction);
  printf("; largest gain of a contact %.2g\n", t->gain);
  printf("  contacts    at most %d; residual %.2g; penetration %.2g m; loop closure %.2g\n", t->contacts,
         t->residual, t->penetration, t->closure);
  printf("  events      ");
  const char* between = "";
  for (int k = 0; k < KN_EVENT_COUNT; k++)
    if (counts[k]) printf("%s%ld %s", between, counts[k], kn_event_name((kn_event_kind)k)), between = ", ";
  printf("%s\n", t->events ? "" : "none");
  kn_troubles_print(stdout, s->model, &t->troubles);
  kn_overlaps_print(s);
  kn_start_print(stdout, s);
  kn_ignored_print(stdout, s);
  if (t->problems || t->left_out)
    printf("  problems    %d files; %d problems with dry joint friction left out (FCLIB cannot hold them)\n",
           t->problems, t->left_out);
  printf("  state hash  %016llx\n", (unsigned long long)kn_state_hash(s->state));
}

/* Steps with or without a recording. */
static kn_status step_once(kn_sim* sim, kn_state* state, kn_recorder* recorder) {
  if (!recorder) return kn_step(sim, state);
  kn_recorder_before(recorder, state);
  kn_status status = kn_step(sim, state);
  return status == KN_OK ? kn_recorder_step(recorder, state) : status;
}

static kn_exit complain_step(const kn_args* args, const kn_subject* s, kn_status status) {
  if (status != KN_NO_ROOM || !s->settings.max_contacts) return kn_complain_status(args, status);
  return kn_complain(args, kn_exit_of(status), "at t = %.9g s: %s; --max-contacts was %d",
                     kn_state_time(s->state), kn_last_error(), s->settings.max_contacts);
}

static kn_exit simulate(kn_subject* s, kn_args* args, tally* t, kn_sim* sim, double duration,
                        kn_recorder* recorder) {
  kn_progress bar;
  kn_exit code = KN_EXIT_OK;
  char extra[64];
  long steps = lround(duration / s->settings.dt);
  kn_progress_start(&bar, args, s->name, duration, true);
  kn_interrupt_catch();
  double start = kn_seconds();
  for (long i = 0; i < steps && code == KN_EXIT_OK; i++) {
    kn_status status = step_once(sim, s->state, recorder);
    if (status != KN_OK) {
      code = complain_step(args, s, status);
      break;
    }
    const kn_report* r = kn_sim_report(sim);
    if (i == 0)
      t->energy0 = r->energy.kinetic + r->energy.potential + r->energy.spring - r->ledger.kinetic -
                   r->ledger.potential - r->ledger.spring;
    add(t, r);
    if (i % 64 == 0) {
      snprintf(extra, sizeof extra, "%d contacts, %.4g J", r->contacts,
               r->energy.kinetic + r->energy.potential);
      kn_progress_update(&bar, kn_state_time(s->state), extra);
    }
    if (kn_interrupted()) code = KN_EXIT_INTERRUPTED;
  }
  t->wall = kn_seconds() - start;
  kn_progress_end(&bar);
  return code;
}

static kn_exit record_start(kn_recorder** recorder, const kn_args* args, kn_sim* sim, const kn_outputs* o) {
  const char* path = o->recording;
  if (!path) return KN_EXIT_OK;
  kn_record_settings settings = kn_record_default();
  settings.every = o->every;
  settings.forces = kn_forces_asked(args);
  kn_status status = kn_recorder_open(recorder, path, sim, &settings);
  return status == KN_OK ? KN_EXIT_OK : kn_complain_status(args, status);
}

static kn_exit problems_start(kn_problem_dump** dump, const kn_args* args, kn_sim* sim) {
  const char* directory = kn_arg_text(args, "--problems");
  struct stat at;
  if (!directory) return KN_EXIT_OK;
  if (mkdir(directory, 0777) != 0 && (stat(directory, &at) != 0 || !S_ISDIR(at.st_mode)))
    return kn_complain(args, KN_EXIT_WRITE, "%s: cannot be made a folder", directory);
  kn_status status = kn_problem_dump_open(dump, directory, sim);
  return status == KN_OK ? KN_EXIT_OK : kn_complain_status(args, status);
}

static int run(kn_args* args) {
  kn_subject s;
  tally t = {0};
  kn_sim* sim = NULL;
  kn_exit code = kn_case_subject(&s, args, NULL);
  if (code == KN_EXIT_OK) {
    s.settings.verdict = kn_arg_flag(args, "--verdict");
    kn_status status = kn_sim_create(&sim, s.model, &s.settings);
    if (status == KN_OK && s.controller.fn) status = kn_sim_set_controller(sim, &s.controller);
    if (status == KN_OK) status = kn_sim_prepare(sim, s.state);
    if (status != KN_OK) code = kn_complain_status(args, status);
  }
  if (code == KN_EXIT_OK) {
    double duration = kn_arg_given(args, "--time") ? kn_arg_number(args, "--time") : s.duration;
    kn_recorder* recorder = NULL;
    kn_problem_dump* dump = NULL;
    kn_outputs outputs;
    code = kn_outputs_open(&outputs, &s, args);
    if (code == KN_EXIT_OK) code = record_start(&recorder, args, sim, &outputs);
    if (code == KN_EXIT_OK) code = problems_start(&dump, args, sim);
    if (code == KN_EXIT_OK) code = simulate(&s, args, &t, sim, duration, recorder);
    kn_status dumped = kn_problem_dump_close(&t.problems, &t.left_out, dump);
    kn_status closed = kn_recorder_close(recorder);
    if (closed == KN_OK) closed = dumped;
    if (closed != KN_OK && (code == KN_EXIT_OK || code == KN_EXIT_INTERRUPTED))
      code = kn_complain_status(args, closed);
    if (code == KN_EXIT_OK || code == KN_EXIT_INTERRUPTED) {
      if (args->json)
        write_json(&s, &t, kn_sim_report(sim), code);
      else
        write_text(&s, &t, kn_sim_report(sim));
      kn_exit left = kn_outputs_write(&outputs, &s);
      if (code == KN_EXIT_OK) code = left;
      if (code == KN_EXIT_OK && t.troubles.count) code = KN_EXIT_VIOLATION;
    }
    kn_outputs_close(&outputs);
  }
  free(t.event);
  kn_sim_destroy(sim);
  kn_subject_close(&s);
  return code;
}

static const kn_option options[] = {
    KN_TIME_OPTION,
    {.name = "--output",
     .letter = 'o',
     .type = KN_OPTION_TEXT,
     .value = "FILE.mcap",
     .help = "record every step (export, plot, verify, view; Foxglove, Rerun)"},
    {.name = "--record-every",
     .type = KN_OPTION_INT,
     .value = "N",
     .min = 1,
     .max = 1e9,
     .fallback = "1",
     .help = "record only every N-th step"},
    {.name = "--problems",
     .type = KN_OPTION_TEXT,
     .value = "DIR",
     .help = "write every contact problem and its solution as an FCLIB file (solve, other solvers)"},
    KN_VERDICT_OPTION,
    KN_FORCES_OPTION,
    KN_OUTPUT_OPTIONS,
    KN_CASE_OPTION,
    KN_SUBJECT_OPTIONS,
    {0}};

static const kn_example examples[] = {
    {"knuckle run pendulum-2014 --links 12", "the papers' pendulum with twelve links"},
    {"knuckle run stack --time 10 --json", "numbers for a script"},
    {"knuckle run robot.xml --dt 5e-4", "a MuJoCo model as it is"},
    {"knuckle run stack -o stack.mcap", "with a recording of every step"},
    {"knuckle study init robot.xml && knuckle run robot.yaml", "a commented study file, and a run by it"},
    {"knuckle run stack --time .05 --problems problems", "the contact problems for other solvers"},
    {0}};

const kn_command kn_command_run = {
    .name = "run",
    .summary = "simulate a scene or a model file",
    .operands = "SCENE",
    .min_operands = 1,
    .max_operands = 1,
    .details =
        "SCENE is the name of a built-in scene (`knuckle list scenes`), an MJCF or URDF file, or a study "
        "file (.yaml)." KN_STUDY_HELP,
    .options = options,
    .examples = examples,
    .run = run};
