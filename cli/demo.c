/* knuckle demo: runs a scene (the pendulum of jain-2014 unless told otherwise) and writes one HTML page with
   the animation, the audit of the run and its curves. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "film.h"
#include "loads.h"
#include "output/image.h"
#include "subject.h"
#include "troubles.h"

#define PAGE_ENDINGS "html|htm"

typedef struct job {
  kn_args* args;
  kn_subject subject;
  kn_sim* sim;
  kn_film* film;
  double duration, wall;
  bool stopped;
} job;

static kn_exit prepare(job* j) {
  if (j->args->operands == 0) j->args->operand[j->args->operands++] = (char*)(size_t) "pendulum-2014";
  kn_exit code = kn_subject_open(&j->subject, j->args);
  if (code != KN_EXIT_OK) return code;
  kn_subject* s = &j->subject;
  j->duration = kn_arg_given(j->args, "--time") ? kn_arg_number(j->args, "--time") : s->duration;
  s->settings.verdict = kn_arg_flag(j->args, "--verdict");
  kn_status status = kn_sim_create(&j->sim, s->model, &s->settings);
  if (status == KN_OK && s->controller.fn) status = kn_sim_set_controller(j->sim, &s->controller);
  if (status == KN_OK) status = kn_sim_prepare(j->sim, s->state);
  if (status != KN_OK) return kn_complain_status(j->args, status);
  j->film = kn_film_create(
      s->model, 60,
      kn_forces_of_stepper(kn_forces_asked(j->args), s->settings.stepper, s->settings.split_impacts));
  return j->film ? KN_EXIT_OK : kn_complain(j->args, KN_EXIT_VIOLATION, "out of memory");
}

static kn_exit advance(job* j) {
  kn_progress bar;
  long steps = lround(j->duration / j->subject.settings.dt);
  if (!kn_film_look(j->film, j->sim, j->subject.state, true))
    return kn_complain(j->args, KN_EXIT_VIOLATION, "no picture");
  kn_progress_start(&bar, j->args, j->subject.name, j->duration, true);
  for (long i = 0; i < steps && !kn_interrupted(); i++) {
    double start = kn_seconds();
    kn_status status = kn_step(j->sim, j->subject.state);
    j->wall += kn_seconds() - start;
    if (status == KN_OK && !kn_film_look(j->film, j->sim, j->subject.state, false)) status = KN_OUT_OF_MEMORY;
    if (status != KN_OK) {
      kn_progress_end(&bar);
      return kn_complain_status(j->args, status);
    }
    kn_progress_update(&bar, kn_state_time(j->subject.state), NULL);
  }
  kn_progress_end(&bar);
  j->stopped = kn_interrupted();
  return KN_EXIT_OK;
}

enum { FACTS = 13 };

static size_t facts_of(const job* j, kn_page_fact facts[FACTS]) {
  const kn_film_sums* s = kn_film_summary(j->film);
  const kn_sim_settings* c = &j->subject.settings;
  double before = s->first.kinetic + s->first.potential + s->first.spring,
         after = s->last.kinetic + s->last.potential + s->last.spring;
  size_t n = 0, used = 0;
  char text[KN_SHORT_TEXT], speed[KN_SHORT_TEXT];
#define FACT(label, ...)                                                                                     \
  (facts[n].name = (label), snprintf(facts[n++].value, sizeof facts->value, __VA_ARGS__))
  FACT("formulation, solver, law, stepper", "%s, %s, %s, %s", c->formulation, c->solver, c->law, c->stepper);
  FACT("steps", "%ld of %s: %g s", s->steps, kn_time_text(text, c->dt), kn_state_time(j->subject.state));
  FACT("speed", "%s of computing, %s x real time", kn_time_text(text, j->wall),
       kn_count_text(speed, kn_state_time(j->subject.state) / fmax(j->wall, 1e-9)));
  FACT("contacts at once", "%d at most", s->contacts);
  FACT("impacts", "%ld (%ld with the impact guard)", s->impacts, s->guards);
  FACT("largest residual", "%.2g (scaled, judged by code that shares nothing with the solvers)", s->residual);
  FACT("deepest overlap", "%.2g m", s->penetration);
  FACT("energy", "%.6g J at the start, %.6g J at the end; work put in %.4g J", before, after,
       s->rise.work_in);
  FACT("energy rise", "%.3g J beyond that work, %.2g of the scale of %.4g J", s->rise.rise, s->rise.rise_rel,
       s->rise.scale);
  facts[n].name = "verdicts on steps with contact";
  snprintf(facts[n].value, sizeof facts->value, "not asked for (--verdict judges every step)");
  for (int k = 0; k < KN_VERDICT_COUNT && c->verdict; k++)
    if (s->verdicts[k] && used < sizeof facts->value)
      used += (size_t)snprintf(facts[n].value + used, sizeof facts->value - used, "%s%ld %s",
                               used ? ", " : "", s->verdicts[k], kn_verdict_name((kn_verdict_kind)k));
  n++;
  FACT("state hash", "%016llx (the same on every machine)",
       (unsigned long long)kn_state_hash(j->subject.state));
#undef FACT
  facts[n].name = "ignored in the model file";
  kn_ignored_fact(facts[n].value, sizeof facts->value, &j->subject);
  if (facts[n].value[0]) n++;
  return n;
}

static kn_exit write_page(job* j, const char* path) {
  kn_page_fact facts[FACTS];
  char title[128], command[256];
  const kn_subject* s = &j->subject;
  snprintf(title, sizeof title, "Knuckle: %s", s->name);
  snprintf(command, sizeof command, "knuckle demo %s", s->name);
  kn_page page = {.title = title,
                  .subtitle = s->scene ? s->scene->scene->purpose : "a model file",
                  .command = command,
                  .yaw = 0.35,
                  .pitch = 0.18,
                  .facts = facts};
  page.fact_count = facts_of(j, facts);
  kn_film_fill(j->film, &page);
  kn_file file;
  kn_make_folders(path, false); /* demo/ of the default; kn_out_open says what could not be made */
  kn_exit code = kn_out_open(&file, j->args, path, PAGE_ENDINGS);
  return code == KN_EXIT_OK ? kn_out_close(&file, j->args, kn_page_write(file.stream, &page)) : code;
}

/* The first second or two show the most: from the start to --until. */
static bool strobe(FILE* f, void* context) {
  const job* j = context;
  double until =
      kn_arg_given(j->args, "--until") ? kn_arg_number(j->args, "--until") : kn_state_time(j->subject.state);
  return kn_film_strobe(j->film, f, 0, until, (int)kn_arg_int(j->args, "--instants"));
}

static kn_exit tell(job* j, const char* path) {
  const kn_film_sums* s = kn_film_summary(j->film);
  if (!j->args->json) {
    kn_page_fact facts[FACTS];
    size_t n = facts_of(j, facts);
    for (size_t i = 0; !j->args->quiet && i < n; i++) printf("%-36s %s\n", facts[i].name, facts[i].value);
    kn_troubles_print(stdout, j->subject.model, &s->troubles);
    kn_start_print(stdout, &j->subject);
    printf("look at it: %s\n", path);
    return fflush(stdout) == 0 ? KN_EXIT_OK : KN_EXIT_WRITE;
  }
  kn_json json;
  char hash[24];
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)kn_state_hash(j->subject.state));
  kn_json_start(&json);
  kn_json_text(&json, "scene", j->subject.name);
  kn_json_text(&json, "file", path);
  kn_json_int(&json, "steps", s->steps);
  kn_json_number(&json, "time", kn_state_time(j->subject.state));
  kn_json_number(&json, "wall_s", j->wall);
  kn_json_text(&json, "state_hash", hash);
  kn_json_number(&json, "residual_max", s->residual);
  kn_json_number(&json, "penetration_max", s->penetration);
  kn_json_begin(&json, "energy");
  kn_json_number(&json, "scale", s->rise.scale);
  kn_json_number(&json, "rise", s->rise.rise);
  kn_json_number(&json, "rise_rel", s->rise.rise_rel);
  kn_json_number(&json, "work_in", s->rise.work_in);
  kn_json_end(&json);
  kn_json_int(&json, "contacts_max", s->contacts);
  kn_json_int(&json, "impacts", s->impacts);
  kn_json_text(&json, "status", j->stopped ? "interrupted" : s->troubles.count ? "trouble" : "ok");
  kn_troubles_json(&json, j->subject.model, &s->troubles);
  kn_start_json(&json, &j->subject);
  kn_notes_json(&json, j->subject.report);
  return kn_json_finish(&json, KN_EXIT_OK);
}

static int run(kn_args* args) {
  job j = {.args = args};
  const char* path = kn_arg_text(args, "--output");
  kn_interrupt_catch();
  kn_exit code = kn_out_ending(args, path, PAGE_ENDINGS); /* before the work, not after it */
  if (code == KN_EXIT_OK) code = kn_out_ending(args, kn_arg_text(args, "--picture"), KN_IMAGE_ENDINGS);
  if (code == KN_EXIT_OK) code = prepare(&j);
  if (code == KN_EXIT_OK) code = advance(&j);
  if (code == KN_EXIT_OK) code = write_page(&j, path);
  if (code == KN_EXIT_OK && kn_arg_given(args, "--picture"))
    code = kn_out_image(args, kn_arg_text(args, "--picture"), strobe, &j);
  if (code == KN_EXIT_OK) code = tell(&j, path);
  if (code == KN_EXIT_OK && j.stopped) code = KN_EXIT_INTERRUPTED;
  if (code == KN_EXIT_OK && kn_film_summary(j.film)->troubles.count) code = KN_EXIT_VIOLATION;
  kn_film_destroy(j.film);
  kn_sim_destroy(j.sim);
  kn_subject_close(&j.subject);
  return code;
}

static const kn_option options[] = {
    {.name = "--output",
     .letter = 'o',
     .type = KN_OPTION_TEXT,
     .value = "FILE",
     .fallback = "demo/index.html",
     .help = "the page to write (.html)"},
    KN_TIME_OPTION,
    KN_VERDICT_OPTION,
    KN_FORCES_OPTION,
    KN_SUBJECT_OPTIONS,
    {.name = "--picture",
     .type = KN_OPTION_TEXT,
     .value = "FILE",
     .help = "also several instants in one picture (.svg, .png), seen along +y"},
    {.name = "--until",
     .type = KN_OPTION_NUMBER,
     .value = "SECONDS",
     .min = 0,
     .max = 1e6,
     .help = "last instant of the picture (default: the end)"},
    {.name = "--instants",
     .type = KN_OPTION_INT,
     .value = "N",
     .fallback = "9",
     .min = 1,
     .max = 200,
     .help = "instants in the picture"},
    {0}};
static const kn_example examples[] = {
    {"knuckle demo", "the pendulum of the papers, demo/index.html"},
    {"knuckle demo pendulum-2014 --set links=6,e=0 --time 3 -o six.html", NULL},
    {"knuckle demo stack -o stack.html", "any scene of knuckle list scenes"},
    {0}};
extern const kn_command kn_command_demo;
const kn_command kn_command_demo = {.name = "demo",
                                    .summary = "run a scene and write a page to look at",
                                    .operands = "[SCENE]",
                                    .max_operands = 1,
                                    .options = options,
                                    .examples = examples,
                                    .run = run};
