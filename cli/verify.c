/* knuckle verify: check a recording with code that shares nothing with the solvers. */
#include <stdlib.h>

#include "command.h"
#include "knuckle/record.h"
#include "troubles.h"

static void write_json(const kn_recording* in, const kn_verification* v, const kn_trouble_tally* troubles) {
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
  kn_json_bool(&j, "ok", v->violations == 0 && troubles->count == 0);
  kn_troubles_json(&j, kn_recording_model(in), troubles);
  kn_json_int(&j, "violations_total", v->violations);
  kn_json_array(&j, "file");
  for (int i = 0; i < kn_recording_problems(in); i++) kn_json_text(&j, NULL, kn_recording_problem(in, i));
  kn_json_end(&j);
  kn_json_array(&j, "not_checked");
  for (int i = 0; i < v->skips; i++) kn_json_text(&j, NULL, v->skipped[i]);
  kn_json_end(&j);
  kn_json_finish(&j, KN_EXIT_OK);
}

static void write_text(const kn_recording* in, const kn_verification* v, const kn_trouble_tally* troubles) {
  for (int i = 0; i < kn_recording_problems(in); i++) printf("file: %s\n", kn_recording_problem(in, i));
  for (int i = 0; i < v->listed && i < 40; i++)
    printf("step %lld: %s: %.3g, limit %.3g\n", (long long)v->violation[i].step, v->violation[i].check,
           v->violation[i].value, v->violation[i].limit);
  if (v->violations > 40) printf("… %d violations in all\n", v->violations);
  for (int i = 0; i < v->skips; i++) printf("not checked: %s\n", v->skipped[i]);
  kn_troubles_print(stdout, kn_recording_model(in), troubles);
  printf("%d steps checked: %s%s\n", v->steps, v->violations ? "violations found" : "all conditions hold",
         troubles->count ? "; the run itself reported trouble" : "");
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

static int run(kn_args* args) {
  kn_recording* in;
  kn_trouble_tally troubles = {0};
  kn_status status = kn_recording_open(&in, args->operand[0]);
  if (status != KN_OK) return kn_complain_status(args, status);
  kn_verification* v = malloc(sizeof *v);
  status = v ? kn_verify(v, in) : KN_OUT_OF_MEMORY;
  if (status == KN_OK) status = count_troubles(&troubles, in);
  kn_exit code = KN_EXIT_OK;
  if (status != KN_OK)
    code = kn_complain_status(args, status);
  else if (args->json)
    write_json(in, v, &troubles);
  else
    write_text(in, v, &troubles);
  if (code == KN_EXIT_OK && (v->violations || troubles.count)) code = KN_EXIT_VIOLATION;
  free(v);
  kn_recording_close(in);
  return code;
}

static const kn_example examples[] = {
    {"knuckle verify run.mcap", "does every recorded step obey the equations?"}, {0}};
extern const kn_command kn_command_verify;
const kn_command kn_command_verify = {
    .name = "verify",
    .summary = "re-check every step of a recording",
    .operands = "RUN",
    .min_operands = 1,
    .max_operands = 1,
    .details = "Rebuilds mass matrix, Jacobians and contact geometry with plain reference code and checks "
               "momentum, positions, contact conditions, "
               "loops and the energy ledger of every recorded step, and the file's own checksums. Exit "
               "status 1 when something is violated, or when the run itself was in trouble.",
    .examples = examples,
    .run = run};
