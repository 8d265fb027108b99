/* Opening, stepping, saving and showing a world. */
#include "world.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

kw_world kw;

/* The options that open a subject: those of the command line. */
static const kn_option options[] = {
    KN_SUBJECT_OPTIONS,
    {.name = "--no-verdict", .type = KN_OPTION_FLAG, .help = "no verdict with every step"},
    {0}};
static const kn_command command = {
    .name = "view", .operands = "SCENE|MODEL|RUN", .min_operands = 1, .max_operands = 1, .options = options};
#ifdef __wasm__
const kn_command* const kn_commands[] = {&command, NULL};
#endif

KW(void*, kw_alloc)(size_t bytes) { return malloc(bytes ? bytes : 1); }
KW(void, kw_free)(void* p) { free(p); }

const char* kw_text_keep(char* text) {
  static char* kept;
  free(kept);
  kept = text;
  return kept ? kept : "";
}

KW(void, kw_close)(void) {
  kw_row_free();
  kn_state_destroy(kw.shown);
  kn_data_destroy(kw.data);
  kn_sim_destroy(kw.sim);
  kn_recording_close(kw.recording);
  if (kw.open) kn_subject_close(&kw.subject);
  kn_args_free(&kw.args);
  free(kw.jacobian);
  free(kw.words);
  kw = (kw_world){0};
}

static bool ends_with(const char* text, const char* end) {
  size_t n = strlen(text), m = strlen(end);
  return n > m && strcmp(text + n - m, end) == 0;
}

static kn_exit open_recording(const char* path) {
  kn_status status = kn_recording_open(&kw.recording, path);
  if (status != KN_OK) return kn_complain_status(&kw.args, status);
  kw.model = kn_recording_model(kw.recording);
  return KN_EXIT_OK;
}

static kn_exit open_subject(void) {
  kw.open = true;
  kn_exit code = kn_subject_open(&kw.subject, &kw.args);
  if (code != KN_EXIT_OK) return code;
  /* Observers only: the run is the same without them. */
  kw.subject.settings.verdict = kw.subject.settings.determinate = !kn_arg_flag(&kw.args, "--no-verdict");
  kw.model = kw.subject.model;
  kn_status status = kn_sim_create(&kw.sim, kw.model, &kw.subject.settings);
  if (status == KN_OK && kw.subject.controller.fn)
    status = kn_sim_set_controller(kw.sim, &kw.subject.controller);
  if (status == KN_OK) status = kn_sim_prepare(kw.sim, kw.subject.state);
  return status == KN_OK ? KN_EXIT_OK : kn_complain_status(&kw.args, status);
}

/* Words of a command line, '\n' between them, as after `knuckle view`. Returns an exit status; the sentence
   went to standard error, which the page keeps. */
KW(int, kw_open)(const char* line) {
  enum { MAX_WORDS = 128 };
  char* word[MAX_WORDS];
  int n = 0;
  bool helped;
  kw_close();
  kw.words = strdup(line);
  if (!kw.words) return kn_complain(NULL, KN_EXIT_VIOLATION, "out of memory");
  for (char* p = strtok(kw.words, "\n"); p && n < MAX_WORDS; p = strtok(NULL, "\n")) word[n++] = p;
  kn_exit code = kn_args_parse(&kw.args, &command, n, word, &helped);
  if (code != KN_EXIT_OK) return code;
  const char* what = kw.args.operand[0];
  code = ends_with(what, ".mcap") ? open_recording(what) : open_subject();
  if (code != KN_EXIT_OK) return code;
  kn_status status = kn_data_create(&kw.data, kw.model);
  if (status == KN_OK) status = kn_state_create(&kw.shown, kw.model);
  if (status == KN_OK) status = kw_row_create();
  kw.jacobian = calloc(6 * (size_t)kn_model_nv(kw.model) + 1, sizeof *kw.jacobian);
  if (status == KN_OK && !kw.jacobian) return kn_complain(&kw.args, KN_EXIT_VIOLATION, "out of memory");
  if (status == KN_OK && kw.sim) kw_row_first();
  return status == KN_OK ? KN_EXIT_OK : kn_complain_status(&kw.args, status);
}

/* ---- a run that is simulated ---- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

KW(int, kw_step)(void) {
  if (!kw.sim) return KN_BAD_ARGUMENT;
  kw_drag_apply();
  double start = now();
  kn_status status = kn_step(kw.sim, kw.subject.state);
  if (status != KN_OK) return status;
  kw.step_time = now() - start;
  kw.step++;
  kw_row_report(kn_sim_report(kw.sim));
  return KN_OK;
}

/* Steps without looking, for measuring. */
KW(int, kw_step_many)(int n) {
  kn_status status = kw.sim ? KN_OK : KN_BAD_ARGUMENT;
  for (int i = 0; i < n && status == KN_OK; i++) status = kn_step(kw.sim, kw.subject.state), kw.step++;
  return status;
}

KW(int, kw_save_size)(void) { return kw.sim ? (int)kn_state_size(kw.subject.state) : 0; }
KW(int, kw_save)(void* bytes, int size) { return kn_state_save(bytes, (size_t)size, kw.subject.state); }
KW(int, kw_restore)(const void* bytes, int size, double step) {
  kn_status status = kn_state_load(kw.subject.state, bytes, (size_t)size);
  if (status == KN_OK) kw.step = (int64_t)step, kw_row_first();
  return status;
}

/* The simulator's own sums of the energy ledger: they go on when a state is restored. */
KW(const double*, kw_ledger)(void) { return (const double*)&kn_sim_report(kw.sim)->total; }

/* The state's arrays; a page that writes to q must call kw_touch. */
KW(double*, kw_q)(void) { return kw.sim ? kn_state_q(kw.subject.state) : NULL; }
KW(double*, kw_v)(void) { return kw.sim ? kn_state_v(kw.subject.state) : NULL; }
KW(double*, kw_ctrl)(void) { return kw.sim ? kn_state_ctrl(kw.subject.state) : NULL; }
KW(void, kw_touch)(void) { kw_row_first(); }

KW(const char*, kw_hash)(void) {
  char* text = malloc(24);
  if (text) snprintf(text, 24, "%016llx", (unsigned long long)kn_state_hash(kw.subject.state));
  return kw_text_keep(text);
}

/* The verdict on the instant of coordinates q and velocities v, where it does not come with every step: its
   number, or -1; *rank and *solutions as in kn_verdict. Contacts that are not determinate: a list of indices
   into the contacts found, which the page does not need. */
KW(int, kw_judge)(const double* q, const double* v, int* rank, int* solutions) {
  kn_state* s;
  kn_diagnosis d;
  if (!kw.sim || kn_state_create(&s, kw.model) != KN_OK) return -1;
  kn_status status = kn_sim_prepare(kw.sim, s);
  memcpy(kn_state_q(s), q, (size_t)kn_model_nq(kw.model) * sizeof *q);
  memcpy(kn_state_v(s), v, (size_t)kn_model_nv(kw.model) * sizeof *v);
  if (status == KN_OK) status = kn_sim_diagnose(&d, kw.sim, s);
  kn_state_destroy(s);
  if (status != KN_OK) return -1;
  *rank = d.verdict.rank;
  *solutions = d.verdict.solutions;
  return (int)d.verdict.kind;
}

KW(const char*, kw_error)(void) { return kn_last_error(); }

/* ---- a recording ---- */

KW(int, kw_recorded_steps)(void) { return kw.recording ? kn_recording_steps(kw.recording) : 0; }
KW(int, kw_recorded_read)(int i) {
  kn_recorded step;
  kn_status status = kn_recording_read(&step, kw.recording, i);
  if (status == KN_OK) kw_row_recorded(&step);
  return status;
}

/* ---- any pose ---- */

/* Poses of the bodies for coordinates q and velocities v: per body R (row-major), p, angular and linear
   velocity of its origin in world axes: 18 numbers. */
KW(int, kw_pose)(double* out, const double* q, const double* v) {
  int n = kn_model_bodies(kw.model);
  memcpy(kn_state_q(kw.shown), q, (size_t)kn_model_nq(kw.model) * sizeof *q);
  memcpy(kn_state_v(kw.shown), v, (size_t)kn_model_nv(kw.model) * sizeof *v);
  kn_status status = kn_kinematics(kw.model, kw.shown, kw.data);
  for (int i = 0; i < n && status == KN_OK; i++) {
    kn_pose pose;
    status = kn_body_pose(&pose, kw.model, kw.data, i);
    memcpy(out + 18 * i, pose.R, sizeof pose.R);
    memcpy(out + 18 * i + 9, pose.p, sizeof pose.p);
    if (status == KN_OK) status = kn_body_velocity(out + 18 * i + 12, kw.model, kw.data, i, NULL);
  }
  return status;
}

/* Linear and angular momentum (about the origin) and centre of mass of the pose shown last: 9 numbers. */
KW(int, kw_momentum)(double* out) { return kn_momentum(out, out + 3, out + 6, kw.model, kw.shown, kw.data); }
