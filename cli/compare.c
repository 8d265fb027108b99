/* knuckle compare: the same scene through every formulation, and how far they agree. Beside them what rounding alone
   does to the motion: the reference run again with steps longer and shorter by 1e-15 of themselves, a few units in
   their last place. Where that parts the runs farther than the formulations do, the motion is chaotic and nothing
   can agree. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

typedef struct trial {
  const char* name;
  kn_status status;
  double *q, *v, wall, dv, dq, residual;
  int lcp_size;
  char why[160];
} trial;

enum { MAX = 16, NUDGES = 4 };
static const double nudge[NUDGES] = {1e-15, -1e-15, 2e-15, -2e-15}; /* of dt */
/* Steps are solved to this, so that what is left between the formulations is rounding. */
static const double solved = 1e-12;
/* Sums of another formulation have other rounding in hundreds of terms, not in one number. */
static const double allowance = 100.0;

typedef struct table {
  trial row[MAX];
  int count;
  trial same;             /* the reference with nudged steps: the farthest of them */
  double duration, speed; /* s; largest |v| of the reference, at least 1 */
  double limit;           /* rows must agree to this */
} table;

static kn_status simulate(trial* t, kn_subject* s, double duration, double nudged) {
  kn_sim* sim = NULL;
  kn_state* x = NULL;
  kn_sim_settings settings = s->settings;
  settings.formulation = t->name;
  settings.dt *= 1.0 + nudged;
  settings.tolerance = fmin(settings.tolerance, solved);
  kn_status status = kn_sim_create(&sim, s->model, &settings);
  if (status == KN_OK) status = kn_state_create(&x, s->model);
  if (status == KN_OK) status = kn_state_copy(x, s->state);
  if (status == KN_OK && s->controller.fn) status = kn_sim_set_controller(sim, &s->controller);
  if (status == KN_OK) status = kn_sim_prepare(sim, x);
  long steps = lround(duration / s->settings.dt);
  double start = kn_seconds();
  for (long i = 0; i < steps && status == KN_OK && !kn_interrupted(); i++) {
    status = kn_step(sim, x);
    const kn_report* r = kn_sim_report(sim);
    if (r->lcp_size > t->lcp_size) t->lcp_size = r->lcp_size;
    t->residual = fmax(t->residual, r->residual);
  }
  t->wall = kn_seconds() - start;
  if (status == KN_OK) {
    memcpy(t->q, kn_state_q(x), sizeof(double) * (size_t)kn_model_nq(s->model));
    memcpy(t->v, kn_state_v(x), sizeof(double) * (size_t)kn_model_nv(s->model));
  } else {
    snprintf(t->why, sizeof t->why, "%s", kn_last_error());
  }
  kn_state_destroy(x);
  kn_sim_destroy(sim);
  return t->status = status;
}

static double largest(const double* a, const double* b, int n) {
  double most = 0.0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(a[i] - b[i]));
  return most;
}

static bool reserve(trial* t, const char* name, const kn_subject* s) {
  t->name = name;
  t->q = calloc((size_t)kn_model_nq(s->model) + 1, sizeof(double));
  t->v = calloc((size_t)kn_model_nv(s->model) + 1, sizeof(double));
  return t->q && t->v;
}

static void measure(trial* t, const trial* reference, const kn_subject* s) {
  t->dv = largest(t->v, reference->v, kn_model_nv(s->model));
  t->dq = largest(t->q, reference->q, kn_model_nq(s->model));
}

/* What a change of 1e-15 of the steps does to the end of the reference run. */
static bool shake(table* t, kn_subject* s) {
  trial one = {0};
  const trial* reference = &t->row[0];
  bool ok = reserve(&one, reference->name, s);
  for (int i = 0; i < NUDGES && ok && reference->status == KN_OK && !kn_interrupted(); i++) {
    if (simulate(&one, s, t->duration, nudge[i]) != KN_OK) continue;
    measure(&one, reference, s);
    t->same.dv = fmax(t->same.dv, one.dv);
    t->same.dq = fmax(t->same.dq, one.dq);
  }
  free(one.q), free(one.v);
  return ok;
}

static bool chaotic(const table* t) { return allowance * t->same.dv > t->limit; }

/* 1/s: how fast a difference of 1e-15 grew to what it was in the end. */
static double growth(const table* t) {
  double ratio = t->same.dv / (fabs(nudge[0]) * t->speed);
  return t->duration > 0.0 && ratio > 1.0 ? log(ratio) / t->duration : 0.0;
}

static const char* word(const table* t, const trial* r) {
  if (r->status != KN_OK) return r->status == KN_UNSUPPORTED ? "unsupported" : "failed";
  if (r->dv <= t->limit) return "agrees";
  return r->dv <= allowance * t->same.dv ? "within rounding" : "differs";
}

static kn_exit judge(const table* t) {
  for (int i = 0; i < t->count; i++) {
    const trial* r = &t->row[i];
    bool fails = r->status != KN_OK && r->status != KN_UNSUPPORTED;
    if (fails || (r->status == KN_OK && !(r->dv <= fmax(t->limit, allowance * t->same.dv))))
      return KN_EXIT_VIOLATION;
  }
  return KN_EXIT_OK;
}

static kn_exit json_out(const kn_subject* s, const table* t) {
  kn_json j;
  kn_json_start(&j);
  kn_json_text(&j, "scene", s->name);
  kn_json_text(&j, "reference", t->row[0].name);
  kn_json_array(&j, "rows");
  for (int i = 0; i < t->count; i++) {
    const trial* r = &t->row[i];
    kn_json_begin(&j, NULL);
    kn_json_text(&j, "formulation", r->name);
    kn_json_number(&j, "dv_max", r->dv);
    kn_json_number(&j, "dq_max", r->dq);
    kn_json_int(&j, "lcp_size", r->lcp_size);
    kn_json_number(&j, "residual_max", r->residual);
    kn_json_number(&j, "wall_s", r->wall);
    kn_json_text(&j, "verdict", word(t, r));
    if (r->status != KN_OK) kn_json_text(&j, "refused", r->why);
    kn_json_end(&j);
  }
  kn_json_end(&j);
  kn_json_begin(&j, "rounding");
  kn_json_number(&j, "nudge", nudge[0]);
  kn_json_number(&j, "dv_max", t->same.dv);
  kn_json_number(&j, "dq_max", t->same.dq);
  kn_json_number(&j, "growth_per_s", growth(t));
  kn_json_bool(&j, "chaotic", chaotic(t));
  kn_json_end(&j);
  kn_json_number(&j, "limit", t->limit);
  kn_notes_json(&j, s->report);
  return kn_json_finish(&j, judge(t));
}

static void text_out(const kn_subject* s, const table* t) {
  printf("%-12s %10s %10s %9s %10s %9s\n", s->name, "max |Δv|", "max |Δq|", "LCP size", "residual",
         "wall, s");
  for (int i = 0; i < t->count; i++) {
    const trial* r = &t->row[i];
    if (r->status != KN_OK)
      printf("  %-10s %s: %s\n", r->name, word(t, r), r->why);
    else
      printf("  %-10s %9.2g %9.2g %9d %10.2g %9.3g  %s\n", r->name, r->dv, r->dq, r->lcp_size, r->residual,
             r->wall, i ? word(t, r) : "reference");
  }
  printf("  %-10s %9.2g %9.2g  steps of %s, longer and shorter by 1e-15 of themselves", "rounding",
         t->same.dv, t->same.dq, t->row[0].name);
  if (t->same.dv > 0.0) printf(": grows by e^(%.3g t)", growth(t));
  printf("\n");
  if (chaotic(t))
    printf(
        "  chaotic: %g times that is more than %.2g, so no two ways of computing this motion agree to it\n",
        allowance, t->limit);
  kn_ignored_print(stdout, s);
}

static kn_exit run_all(table* t, kn_subject* s, const kn_args* args) {
  int done = 0;
  t->speed = 1.0;
  for (const kn_choice* c = kn_formulations(); c->name && t->count < MAX; c++) {
    trial* r = &t->row[t->count++];
    if (!reserve(r, c->name, s)) return kn_complain_status(args, KN_OUT_OF_MEMORY);
    if (simulate(r, s, t->duration, 0.0) != KN_OK) continue;
    measure(r, &t->row[0], s);
    done++;
  }
  for (int i = 0; i < kn_model_nv(s->model); i++) t->speed = fmax(t->speed, fabs(t->row[0].v[i]));
  t->limit = kn_arg_number(args, "--tolerance") * t->speed;
  if (!done)
    return kn_complain(args, KN_EXIT_INPUT, "no formulation could run this scene: %s", t->row[0].why);
  return shake(t, s) ? KN_EXIT_OK : kn_complain_status(args, KN_OUT_OF_MEMORY);
}

static int run(kn_args* args) {
  static table t;
  kn_subject s;
  memset(&t, 0, sizeof t);
  kn_exit code = kn_subject_open(&s, args);
  if (code == KN_EXIT_OK) {
    t.duration = kn_arg_number(args, "--time");
    kn_interrupt_catch();
    code = run_all(&t, &s, args);
  }
  if (code == KN_EXIT_OK && args->json)
    code = json_out(&s, &t);
  else if (code == KN_EXIT_OK)
    text_out(&s, &t), code = judge(&t);
  for (int i = 0; i < t.count; i++) free(t.row[i].q), free(t.row[i].v);
  kn_subject_close(&s);
  return code;
}

static const kn_option options[] = {{.name = "--time",
                                     .type = KN_OPTION_NUMBER,
                                     .value = "SECONDS",
                                     .fallback = "0.5",
                                     .min = 0,
                                     .max = 1e6,
                                     .help = "simulated time"},
                                    {.name = "--tolerance",
                                     .type = KN_OPTION_NUMBER,
                                     .value = "V",
                                     .fallback = "1e-9",
                                     .min = 0,
                                     .max = 1e6,
                                     .help = "exit status 1 when velocities differ by more (of the largest, "
                                             "at least 1) and rounding does not explain it, or a run fails"},
                                    KN_SUBJECT_OPTIONS,
                                    {0}};

static const kn_example examples[] = {
    {"knuckle compare pendulum-2014 --links 6", "every formulation, one motion"},
    {"knuckle compare stack --friction poly4 --json", "with a friction polyhedron"},
    {0}};

const kn_command kn_command_compare = {.name = "compare",
                                       .summary = "run a scene through every formulation and compare",
                                       .operands = "SCENE",
                                       .min_operands = 1,
                                       .max_operands = 1,
                                       .options = options,
                                       .examples = examples,
                                       .run = run};
