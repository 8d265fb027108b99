/* knuckle verify: check a recording with code that shares nothing with the solvers. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "knuckle/record.h"
#include "troubles.h"

enum { NAMES = KN_SKIPS_MAX };

static const char* check_name(size_t i) { return kn_verify_checks()[i].name; }

/* Splits a comma-separated list in place; ended by NULL. False: a name that is none. */
static bool split(const kn_args* args, const char** name, char* text) {
  int n = 0;
  for (char* at = strtok(text, ","); at && n < NAMES; at = strtok(NULL, ",")) {
    const char* known[NAMES] = {NULL};
    size_t count = 0;
    while (check_name(count)) known[count] = check_name(count), count++;
    size_t i = 0;
    while (i < count && strcmp(known[i], at) != 0) i++;
    if (i == count) {
      const char* near = kn_suggest(at, known, count);
      kn_complain(args, KN_EXIT_USAGE, "there is no check named \"%s\"%s%s%s", at,
                  near ? ", did you mean " : "", near ? near : "",
                  near ? "?" : " (knuckle verify --checks lists them)");
      return false;
    }
    name[n++] = at;
  }
  name[n] = NULL;
  return true;
}

static int unasked(const kn_verification* v) {
  int n = 0;
  for (int i = 0; i < v->skips; i++) n += !v->skipped[i].asked;
  return n;
}

static kn_exit verdict_of(const kn_verification* v, const kn_trouble_tally* troubles) {
  return v->violations || troubles->count || unasked(v) ? KN_EXIT_VIOLATION : KN_EXIT_OK;
}

/* What the run said of itself: its exit status and ours agree. */
static kn_status count_troubles(kn_trouble_tally* troubles, kn_recording* in) {
  kn_recorded step;
  for (int i = 0; i < kn_recording_steps(in); i++) {
    kn_status status = kn_recording_read(&step, in, i);
    if (status != KN_OK) return status;
    kn_trouble_count(troubles, step.event, step.events);
  }
  return KN_OK;
}

static kn_exit write_json(const kn_recording* in, const kn_verification* v,
                          const kn_trouble_tally* troubles) {
  kn_json j;
  kn_json_start(&j);
  kn_json_int(&j, "steps", v->steps);
  kn_json_array(&j, "violations");
  for (int i = 0; i < v->listed; i++) {
    kn_json_begin(&j, NULL);
    kn_json_int(&j, "step", v->violation[i].step);
    kn_json_text(&j, "check", v->violation[i].check);
    kn_json_number(&j, "value", v->violation[i].value);
    kn_json_number(&j, "limit", v->violation[i].limit);
    kn_json_end(&j);
  }
  kn_json_end(&j);
  kn_json_array(&j, "skipped");
  for (int i = 0; i < v->skips; i++) kn_json_text(&j, NULL, v->skipped[i].check);
  kn_json_end(&j);
  kn_json_bool(&j, "ok", verdict_of(v, troubles) == KN_EXIT_OK);
  kn_troubles_json(&j, kn_recording_model(in), troubles);
  kn_json_int(&j, "violations_total", v->violations);
  kn_json_array(&j, "file");
  for (int i = 0; i < kn_recording_problems(in); i++) kn_json_text(&j, NULL, kn_recording_problem(in, i));
  kn_json_end(&j);
  kn_json_array(&j, "not_checked");
  for (int i = 0; i < v->skips; i++) {
    kn_json_begin(&j, NULL);
    kn_json_text(&j, "check", v->skipped[i].check);
    kn_json_text(&j, "why", v->skipped[i].why);
    kn_json_bool(&j, "asked", v->skipped[i].asked);
    kn_json_end(&j);
  }
  kn_json_end(&j);
  return kn_json_finish(&j, verdict_of(v, troubles));
}

/* Checks that were left out for the same reason stand in one line. */
static void write_skips(const kn_verification* v) {
  for (int i = 0; i < v->skips; i++) {
    bool told = false;
    for (int k = 0; k < i; k++) told |= strcmp(v->skipped[k].why, v->skipped[i].why) == 0;
    if (told) continue;
    printf("not checked (%s):", v->skipped[i].why);
    for (int k = i; k < v->skips; k++)
      if (strcmp(v->skipped[k].why, v->skipped[i].why) == 0) printf(" %s", v->skipped[k].check);
    printf("\n");
  }
}

static kn_exit write_text(const kn_args* args, const kn_recording* in, const kn_verification* v,
                          const kn_trouble_tally* troubles) {
  enum { SHOWN = 40 };
  for (int i = 0; i < kn_recording_problems(in); i++) printf("file: %s\n", kn_recording_problem(in, i));
  for (int i = 0; i < v->listed && i < SHOWN; i++)
    printf("step %lld: %s: %.3g, limit %.3g\n", (long long)v->violation[i].step, v->violation[i].check,
           v->violation[i].value, v->violation[i].limit);
  if (v->violations > SHOWN) printf("… %d violations in all\n", v->violations);
  write_skips(v);
  kn_troubles_print(stdout, kn_recording_model(in), troubles);
  printf("%d steps checked: %s%s\n", v->steps,
         v->violations ? "violations found"
         : unasked(v)  ? "what was checked holds, but not everything was (--skip NAME accepts that)"
                       : "all conditions hold",
         troubles->count ? "; the run itself reported trouble" : "");
  if (fflush(stdout) != 0) return kn_complain(args, KN_EXIT_WRITE, "standard output could not be written");
  return verdict_of(v, troubles);
}

static kn_exit write_checks(const kn_args* args) {
  if (args->json) {
    kn_json j;
    kn_json_start(&j);
    kn_json_array(&j, "checks");
    for (const kn_verify_check* c = kn_verify_checks(); c->name; c++) {
      kn_json_begin(&j, NULL);
      kn_json_text(&j, "name", c->name);
      kn_json_text(&j, "what", c->doc);
      kn_json_end(&j);
    }
    kn_json_end(&j);
    return kn_json_finish(&j, KN_EXIT_OK);
  }
  for (const kn_verify_check* c = kn_verify_checks(); c->name; c++) printf("%-22s %s\n", c->name, c->doc);
  return fflush(stdout) == 0 ? KN_EXIT_OK : kn_complain(args, KN_EXIT_WRITE, "standard output: cannot write");
}

static int run(kn_args* args) {
  const char *skip[NAMES + 1] = {NULL}, *given = kn_arg_text(args, "--skip");
  if (kn_arg_flag(args, "--checks")) return write_checks(args);
  if (args->operands != 1) return kn_complain(args, KN_EXIT_USAGE, "expected a recording");
  char* names = strdup(given ? given : "");
  kn_verification* v = malloc(sizeof *v);
  kn_recording* in = NULL;
  kn_trouble_tally troubles = {0};
  kn_exit code = KN_EXIT_OK;
  if (!v || !names)
    code = kn_complain(args, KN_EXIT_INPUT, "no memory");
  else if (!split(args, skip, names))
    code = KN_EXIT_USAGE;
  else {
    kn_status status = kn_recording_open(&in, args->operand[0]);
    if (status == KN_OK) status = kn_verify_except(v, in, skip);
    if (status == KN_OK) status = count_troubles(&troubles, in);
    code = status != KN_OK ? kn_complain_status(args, status)
           : args->json    ? write_json(in, v, &troubles)
                           : write_text(args, in, v, &troubles);
  }
  free(names);
  free(v);
  kn_recording_close(in);
  return code;
}

static const kn_option options[] = {
    {.name = "--skip",
     .type = KN_OPTION_TEXT,
     .value = "NAME,…",
     .help = "leave these checks out; without it a check that cannot be made gives exit status 1"},
    {.name = "--checks", .type = KN_OPTION_FLAG, .help = "list the checks and what each looks at"},
    {0}};
static const kn_example examples[] = {
    {"knuckle verify run.mcap", "does every recorded step obey the equations?"},
    {"knuckle verify --checks", "what is checked"},
    {0}};
extern const kn_command kn_command_verify;
const kn_command kn_command_verify = {
    .name = "verify",
    .summary = "re-check every step of a recording",
    .operands = "RUN",
    .min_operands = 0,
    .max_operands = 1,
    .details =
        "Rebuilds mass matrix, Jacobians, forces, materials and the gaps of all pairs of shapes from the "
        "recorded model and settings with plain reference code, and checks every recorded step against "
        "them; the recorded values themselves are trusted in nothing. Exit status 1 when something is "
        "violated, when the run itself was in trouble, or when something could not be checked and --skip did "
        "not accept that.",
    .options = options,
    .examples = examples,
    .run = run};
