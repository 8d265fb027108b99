/* knuckle compare: the same scene through every formulation, and how far they agree. */
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

static kn_status simulate(trial* t, kn_subject* s, double duration) {
  kn_sim* sim = NULL;
  kn_state* x = NULL;
  kn_sim_settings settings = s->settings;
  settings.formulation = t->name;
  kn_status status = kn_sim_create(&sim, s->model, &settings);
  if (status == KN_OK) status = kn_state_create(&x, s->model);
  if (status == KN_OK) status = kn_state_copy(x, s->state);
  if (status == KN_OK && s->controller.fn) status = kn_sim_set_controller(sim, &s->controller);
  if (status == KN_OK) status = kn_sim_prepare(sim, x);
  long steps = lround(duration / settings.dt);
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

static void print(const kn_subject* s, const kn_args* args, const trial* t, int count) {
  if (args->json) {
    kn_json j;
    kn_json_start(&j);
    kn_json_text(&j, "scene", s->name);
    kn_json_text(&j, "reference", t[0].name);
    kn_json_array(&j, "rows");
    for (int i = 0; i < count; i++) {
      kn_json_begin(&j, NULL);
      kn_json_text(&j, "formulation", t[i].name);
      kn_json_number(&j, "dv_max", t[i].dv);
      kn_json_number(&j, "dq_max", t[i].dq);
      kn_json_int(&j, "lcp_size", t[i].lcp_size);
      kn_json_number(&j, "residual_max", t[i].residual);
      kn_json_number(&j, "wall_s", t[i].wall);
      if (t[i].status != KN_OK) kn_json_text(&j, "refused", t[i].why);
      kn_json_end(&j);
    }
    kn_json_end(&j);
    kn_notes_json(&j, s->report);
    kn_json_finish(&j, KN_EXIT_OK);
    return;
  }
  printf("%-12s %10s %10s %9s %10s %9s\n", s->name, "max |Δv|", "max |Δq|", "LCP size", "residual",
         "wall, s");
  for (int i = 0; i < count; i++)
    if (t[i].status == KN_OK)
      printf("  %-10s %9.2g %9.2g %9d %10.2g %9.3g\n", t[i].name, t[i].dv, t[i].dq, t[i].lcp_size,
             t[i].residual, t[i].wall);
    else
      printf("  %-10s %s\n", t[i].name, t[i].why);
  kn_ignored_print(stdout, s);
}

static int run(kn_args* args) {
  enum { MAX = 16 };
  trial t[MAX] = {0};
  kn_subject s;
  int count = 0, done = 0;
  kn_exit code = kn_subject_open(&s, args);
  if (code == KN_EXIT_OK) {
    double duration = kn_arg_number(args, "--time");
    size_t nq = (size_t)kn_model_nq(s.model), nv = (size_t)kn_model_nv(s.model);
    kn_interrupt_catch();
    for (const kn_choice* c = kn_formulations(); c->name && count < MAX && code == KN_EXIT_OK; c++, count++) {
      t[count].name = c->name;
      t[count].q = calloc(nq + 1, sizeof(double));
      t[count].v = calloc(nv + 1, sizeof(double));
      if (!t[count].q || !t[count].v) {
        code = kn_complain_status(args, KN_OUT_OF_MEMORY);
        break;
      }
      if (simulate(&t[count], &s, duration) != KN_OK) continue;
      t[count].dv = largest(t[count].v, t[0].v, (int)nv);
      t[count].dq = largest(t[count].q, t[0].q, (int)nq);
      done++;
    }
    if (!done && code == KN_EXIT_OK)
      code = kn_complain(args, KN_EXIT_INPUT, "no formulation could run this scene: %s", t[0].why);
    else if (code == KN_EXIT_OK)
      print(&s, args, t, count);
    double limit = kn_arg_number(args, "--tolerance");
    for (int i = 0; i < count && code == KN_EXIT_OK; i++)
      if (t[i].status == KN_OK && !(t[i].dv <= limit)) code = KN_EXIT_VIOLATION;
  }
  for (int i = 0; i < MAX; i++) free(t[i].q), free(t[i].v);
  kn_subject_close(&s);
  return code;
}

static const kn_option options[] = {{.name = "--time",
                                     .type = KN_OPTION_NUMBER,
                                     .value = "SECONDS",
                                     .fallback = "0.5",
                                     .min = 0,
                                     .max = 1e6,
                                     .help = "simulated time; chaos separates long runs"},
                                    {.name = "--tolerance",
                                     .type = KN_OPTION_NUMBER,
                                     .value = "V",
                                     .fallback = "1e-6",
                                     .min = 0,
                                     .max = 1e6,
                                     .help = "exit status 1 when velocities differ by more"},
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
