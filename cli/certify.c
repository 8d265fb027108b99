/* knuckle certify: can the restitution coefficients of an impact create energy? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/image.h"
#include "output/plot.h"
#include "subject.h"

enum { MAX = KN_CERTIFY_CONTACTS, CURVE = 160 };

typedef struct question {
  const char* name;
  kn_sim_certificate c; /* for the rod: t = 0, no contacts' names */
  double lmi[MAX];
  bool have_lmi, rod;
  int nv;
  const kn_model* model;
  const char* picture; /* NULL: none */
} question;

static const char* approach_name(kn_approach a) {
  return a == KN_APPROACH_YES ? "yes" : a == KN_APPROACH_NO ? "no" : "undecided";
}

static kn_repair repair_of(const kn_args* args) {
  const char* name = kn_arg_text(args, "--repair");
  return strcmp(name, "mean") == 0     ? KN_REPAIR_MEAN
         : strcmp(name, "radial") == 0 ? KN_REPAIR_RADIAL
                                       : KN_REPAIR_NEAREST;
}

/* Q = W⁻¹ by elimination, or all NaN when W is singular (redundant contacts). */
static void invert(double* Q, const double* W, int k) {
  static double A[2 * MAX * MAX];
  for (int i = 0; i < k * k; i++) Q[i] = NAN;
  for (int i = 0; i < k; i++)
    for (int j = 0; j < 2 * k; j++) A[i * 2 * k + j] = j < k ? W[i * k + j] : j - k == i;
  for (int p = 0; p < k; p++) {
    int best = p;
    for (int i = p + 1; i < k; i++)
      if (fabs(A[i * 2 * k + p]) > fabs(A[best * 2 * k + p])) best = i;
    if (!(fabs(A[best * 2 * k + p]) > 1e-12 * fabs(W[0]))) return;
    for (int j = 0; j < 2 * k; j++) {
      double t = A[p * 2 * k + j];
      A[p * 2 * k + j] = A[best * 2 * k + j], A[best * 2 * k + j] = t;
    }
    for (int i = 0; i < k; i++) {
      double f = i == p ? 0.0 : A[i * 2 * k + p] / A[p * 2 * k + p];
      for (int j = 0; j < 2 * k && i != p; j++) A[i * 2 * k + j] -= f * A[p * 2 * k + j];
    }
  }
  for (int i = 0; i < k; i++)
    for (int j = 0; j < k; j++) Q[i * k + j] = A[i * 2 * k + k + j] / A[i * 2 * k + i];
}

/* Farthest e2 from e1 towards `end` that is consistent; the set is convex and holds e2 = e1. */
static double border(const double* W, double e1, double end) {
  double safe = e1, over = end, rho;
  if (kn_certify_rho(&rho, 2, W, (double[]){e1, end}) == KN_OK && rho <= 1.0 + 1e-12) return end;
  for (int i = 0; i < 40; i++) {
    double e2 = 0.5 * (safe + over);
    if (kn_certify_rho(&rho, 2, W, (double[]){e1, e2}) == KN_OK && rho <= 1.0)
      safe = e2;
    else
      over = e2;
  }
  return safe;
}

static kn_exit draw(const kn_args* args, const question* q) {
  const kn_sim_certificate* c = &q->c;
  double x[2 * CURVE + 3], y[2 * CURVE + 3];
  for (int i = 0; i <= CURVE; i++) {
    double e1 = 0.5 - 0.5 * cos(3.14159265358979 * i / CURVE); /* dense at the ends */
    x[i] = x[2 * CURVE + 1 - i] = e1;
    y[i] = border(c->W, e1, 1.0);
    y[2 * CURVE + 1 - i] = border(c->W, e1, 0.0);
  }
  x[2 * CURVE + 2] = x[0], y[2 * CURVE + 2] = y[0];
  char title[160];
  snprintf(title, sizeof title, "%s: restitution that cannot create energy", q->name);
  double way_x[2] = {c->e[0], c->e_repaired[0]}, way_y[2] = {c->e[1], c->e_repaired[1]};
  kn_plot_series series[] = {
      {.name = "cannot create energy",
       .style = KN_PLOT_AREA,
       .x = x,
       .y = y,
       .n = 2 * CURVE + 3,
       .colour = "#2e9e55"},
      {.style = KN_PLOT_LINE, .x = x, .y = y, .n = 2 * CURVE + 3, .colour = "#2f7d46", .width = 1.5},
      {.style = KN_PLOT_LINE, .x = way_x, .y = way_y, .n = 2, .colour = "#555555", .dashed = true},
      {.name = "asked for", .style = KN_PLOT_POINTS, .x = way_x, .y = way_y, .n = 1, .colour = "#c0392b"},
      {.name = "nearest",
       .style = KN_PLOT_POINTS,
       .x = way_x + 1,
       .y = way_y + 1,
       .n = 1,
       .colour = "#1f4e9c"},
  };
  kn_plot plot = {.title = title,
                  .x_label = "e1",
                  .y_label = "e2",
                  .fix_x = true,
                  .fix_y = true,
                  .x_range = {0, 1},
                  .y_range = {0, 1},
                  .equal_axes = true,
                  .series = series,
                  .series_count = c->energy.consistent ? 4 : 5};
  return kn_out_plot(args, q->picture, &plot, 1, 1, 560, 520);
}

static void write_example(kn_json* j, const question* q) {
  const kn_sim_certificate* c = &q->c;
  if (c->energy.consistent) {
    kn_json_null(j, "energy_gain_example");
    return;
  }
  kn_json_begin(j, "energy_gain_example");
  kn_json_numbers(j, "contact_velocity", c->energy.velocity, (size_t)c->contacts);
  if (c->velocity) kn_json_numbers(j, "velocity", c->velocity, (size_t)q->nv);
  kn_json_number(j, "kinetic_before", 1.0);
  kn_json_number(j, "gain", c->energy.gain);
  kn_json_text(j, "approaching_exists", approach_name(c->energy.approach));
  if (c->energy.approach == KN_APPROACH_YES) {
    kn_json_numbers(j, "approaching", c->energy.approaching, (size_t)c->contacts);
    kn_json_number(j, "approaching_gain", c->energy.approaching_gain);
  }
  kn_json_end(j);
}

static void write_json(const question* q, const kn_args* args) {
  const kn_sim_certificate* c = &q->c;
  size_t k = (size_t)c->contacts;
  static double Q[MAX * MAX];
  kn_json j;
  kn_json_start(&j);
  kn_json_text(&j, "scene", q->name);
  if (!q->rod) kn_json_number(&j, "t", c->t);
  kn_json_int(&j, "contacts", c->contacts);
  kn_json_int(&j, "rank", c->energy.rank);
  kn_json_number(&j, "rho", c->energy.rho);
  kn_json_bool(&j, "consistent", c->energy.consistent);
  kn_json_numbers(&j, "e_requested", c->e, k);
  kn_json_numbers(&j, "e_nearest", c->e_repaired, k);
  kn_json_text(&j, "repair", kn_arg_text(args, "--repair"));
  kn_json_number(&j, "distance", c->energy.distance);
  kn_json_int(&j, "cuts", c->energy.cuts);
  if (q->have_lmi) kn_json_numbers(&j, "e_nearest_lmi", q->lmi, k);
  write_example(&j, q);
  invert(Q, c->W, c->contacts);
  kn_json_array(&j, "Q");
  for (size_t i = 0; i < k; i++) kn_json_numbers(&j, NULL, Q + i * k, k);
  kn_json_end(&j);
  kn_json_array(&j, "W");
  for (size_t i = 0; i < k; i++) kn_json_numbers(&j, NULL, c->W + i * k, k);
  kn_json_end(&j);
  if (!q->rod) {
    kn_json_array(&j, "bodies");
    for (size_t i = 0; i < k; i++) {
      kn_json_array(&j, NULL);
      kn_json_text(&j, NULL, kn_body_name(q->model, c->contact[i].body_a));
      kn_json_text(&j, NULL, kn_body_name(q->model, c->contact[i].body_b));
      kn_json_end(&j);
    }
    kn_json_end(&j);
  }
  kn_json_text(&j, "picture", q->picture);
  kn_json_finish(&j, KN_EXIT_OK);
}

static void list(const char* label, const double* x, int n) {
  printf("  %-12s", label);
  for (int i = 0; i < n; i++) printf(" %.6g", x[i]);
  printf("\n");
}

static void write_text(const question* q, const kn_args* args) {
  const kn_sim_certificate* c = &q->c;
  const kn_energy_certificate* e = &c->energy;
  int k = c->contacts;
  static double Q[MAX * MAX];
  if (q->rod)
    printf("uniform rod, mass 1 kg, length 1 m, landing flat on %d contacts\n", k);
  else
    printf("%s: impact after t = %.6g s, %d impacting contacts\n", q->name, c->t, k);
  for (int i = 0; i < k && !q->rod; i++)
    printf("  contact %-3d  %s on %s, %.4g m/s\n", i + 1, kn_body_name(q->model, c->contact[i].body_a),
           kn_body_name(q->model, c->contact[i].body_b), c->approach[i]);
  if (k <= 6) {
    invert(Q, c->W, k);
    if (isfinite(Q[0]))
      for (int i = 0; i < k; i++) list(i ? "" : "Q, kg", Q + i * k, k);
    else
      printf("  Q            singular: %d contacts, rank %d (redundant)\n", k, e->rank);
  }
  list("e asked for", c->e, k);
  printf("  rho          %.9g\n", e->rho);
  if (e->consistent) {
    printf("  verdict      consistent: no impact velocity gains energy\n");
  } else {
    printf("  verdict      can create energy: %.4g J of gain per joule of approach\n", e->gain);
    list("gains with", e->velocity, k);
    printf("  approaching  %s\n",
           e->approach == KN_APPROACH_YES  ? "a velocity with which every contact approaches gains too"
           : e->approach == KN_APPROACH_NO ? "no velocity with which every contact approaches gains"
                                           : "undecided whether an approaching velocity gains");
    if (e->approach == KN_APPROACH_YES) list("", e->approaching, k);
    list(kn_arg_text(args, "--repair"), c->e_repaired, k);
    printf("  distance     %.6g\n", e->distance);
  }
  if (q->have_lmi) list("DSDP", q->lmi, k);
  if (q->picture) printf("  picture      %s\n", q->picture);
}

static kn_exit ask_rod(question* q, kn_args* args) {
  kn_sim_certificate* c = &q->c;
  double at[MAX];
  size_t n = kn_arg_numbers(args, "--contacts", at, MAX), m = kn_arg_numbers(args, "--e", c->e, MAX);
  q->rod = true;
  if (n == 0 || n > MAX || m != n)
    return kn_complain(args, KN_EXIT_USAGE,
                       "rod needs --contacts and --e with as many numbers (%zu and %zu given, at most %d)", n,
                       m, MAX);
  c->contacts = (int)n;
  kn_status status = kn_certify_rod(c->W, (int)n, at);
  if (status == KN_OK) status = kn_certify(&c->energy, c->e_repaired, (int)n, c->W, c->e, repair_of(args));
  return status == KN_OK ? KN_EXIT_OK : kn_complain_status(args, status);
}

/* Runs to the first impact at or after --at; certifies the step that has it. */
static kn_status find_impact(question* q, kn_args* args, kn_subject* s, kn_sim* sim, kn_state* before,
                             const double* e) {
  double at = kn_arg_number(args, "--at"), end = fmax(s->duration, at + 10.0);
  kn_status status = KN_OK;
  kn_progress bar;
  kn_progress_start(&bar, args, "run", end, true);
  kn_interrupt_catch();
  while (status == KN_OK && !kn_interrupted() && kn_state_time(s->state) < end) {
    status = kn_state_copy(before, s->state);
    if (status == KN_OK) status = kn_step(sim, s->state);
    kn_progress_update(&bar, kn_state_time(s->state), NULL);
    if (status != KN_OK || kn_state_time(s->state) < at || kn_sim_report(sim)->impact.islands == 0) continue;
    status = kn_sim_certify(&q->c, sim, before, e, repair_of(args));
    if (status == KN_OK) break;
    if (status == KN_NOT_FOUND) status = KN_OK; /* only contacts at rest took part */
  }
  kn_progress_end(&bar);
  if (status == KN_OK && q->c.contacts == 0)
    kn_complain(args, KN_EXIT_INPUT, "%s has no impact between %g and %g s", s->name, at, end);
  return status;
}

static kn_exit ask_scene(question* q, kn_args* args, kn_subject* s) {
  kn_sim* sim = NULL;
  kn_state* before = NULL;
  double e[MAX];
  size_t n = kn_arg_numbers(args, "--e", e, MAX);
  kn_exit code = kn_subject_open(s, args);
  if (code != KN_EXIT_OK) return code;
  s->settings.stepper = "time";
  s->settings.formulation = "os";
  q->nv = kn_model_nv(s->model);
  q->model = s->model;
  q->c.velocity = calloc((size_t)q->nv + 1, sizeof(double));
  for (size_t i = n; i < MAX; i++) e[i] = 0.0;
  kn_status status = kn_sim_create(&sim, s->model, &s->settings);
  if (status == KN_OK && s->controller.fn) status = kn_sim_set_controller(sim, &s->controller);
  if (status == KN_OK) status = kn_sim_prepare(sim, s->state);
  if (status == KN_OK) status = kn_state_create(&before, s->model);
  if (status == KN_OK) status = kn_sim_prepare(sim, before);
  if (status == KN_OK) status = find_impact(q, args, s, sim, before, n ? e : NULL);
  if (status != KN_OK) code = kn_complain_status(args, status);
  if (code == KN_EXIT_OK && q->c.contacts == 0) code = KN_EXIT_INPUT;
  if (code == KN_EXIT_OK && n && n != (size_t)q->c.contacts)
    code = kn_complain(args, KN_EXIT_USAGE, "%zu coefficients for %d impacting contacts", n, q->c.contacts);
  kn_state_destroy(before);
  kn_sim_destroy(sim);
  return code;
}

static int run(kn_args* args) {
  question* q = calloc(1, sizeof *q);
  kn_subject s = {0};
  if (!q) return kn_complain(args, KN_EXIT_INPUT, "out of memory");
  q->name = args->operand[0];
  bool rod = strcmp(q->name, "rod") == 0;
  const char* file = kn_arg_text(args, "--output");
  kn_exit code = strcmp(file, "none") == 0 ? KN_EXIT_OK : kn_out_ending(args, file, KN_IMAGE_ENDINGS);
  if (code == KN_EXIT_OK) code = rod ? ask_rod(q, args) : ask_scene(q, args, &s);
  kn_sim_certificate* c = &q->c;
  if (code == KN_EXIT_OK && kn_arg_flag(args, "--lmi")) {
    kn_status status = kn_certify_lmi(q->lmi, c->contacts, c->W, c->e);
    q->have_lmi = status == KN_OK;
    if (status != KN_OK) code = kn_complain_status(args, status);
  }
  if (code == KN_EXIT_OK && c->contacts == 2 && strcmp(file, "none") != 0) {
    q->picture = file;
    code = draw(args, q);
  }
  if (code == KN_EXIT_OK) {
    if (args->json)
      write_json(q, args);
    else
      write_text(q, args);
    if (kn_arg_flag(args, "--check") && !c->energy.consistent) code = KN_EXIT_VIOLATION;
  }
  free(c->velocity);
  if (!rod) kn_subject_close(&s);
  free(q);
  return code;
}

static const kn_option options[] = {
    {.name = "--at",
     .type = KN_OPTION_NUMBER,
     .value = "SECONDS",
     .fallback = "0",
     .min = 0,
     .max = 1e6,
     .help = "the first impact at or after this time"},
    {.name = "--e",
     .type = KN_OPTION_NUMBERS,
     .value = "E1,E2,…",
     .help = "restitution of the impacting contacts instead of the scene's"},
    {.name = "--contacts",
     .type = KN_OPTION_NUMBERS,
     .value = "X1,X2,…",
     .help = "rod: where it lands, metres from its middle"},
    {.name = "--repair",
     .type = KN_OPTION_CHOICE,
     .choices = "nearest|mean|radial",
     .value = "HOW",
     .fallback = "nearest",
     .help = "which consistent set to propose: nearest, shrunk towards the mean, or all scaled"},
    {.name = "--lmi", .type = KN_OPTION_FLAG, .help = "solve the matrix inequality by DSDP as well"},
    {.name = "--check", .type = KN_OPTION_FLAG, .help = "exit status 1 when energy can be created"},
    {.name = "--output",
     .letter = 'o',
     .type = KN_OPTION_TEXT,
     .value = "FILE",
     .fallback = "certify.svg",
     .help = "picture of the admissible region, drawn for two contacts; \"none\": no picture"},
    KN_SUBJECT_OPTIONS,
    {0}};

static const kn_example examples[] = {
    {"knuckle certify rod --contacts -0.3,0.3 --e 0.9,0.1", "a uniform rod lands flat on two contacts"},
    {"knuckle certify newton-cradle", "the first impact of a scene"},
    {"knuckle certify rod --contacts -0.45,0.45 --e 1,0 --lmi --json",
     "with the matrix inequality solved by DSDP"},
    {0}};

const kn_command kn_command_certify = {
    .name = "certify",
    .summary = "can these restitution coefficients create energy? the nearest set that cannot",
    .operands = "SCENE|rod",
    .min_operands = 1,
    .max_operands = 1,
    .details =
        "The impacting contacts of a scene's first impact (or of a uniform rod of 1 kg and 1 m) meet at "
        "once, "
        "each with its own restitution coefficient. rho > 1 means that some velocity before the impact "
        "leaves with more energy than it came with. Friction is left out. docs/projection.md explains.",
    .options = options,
    .examples = examples,
    .run = run};
