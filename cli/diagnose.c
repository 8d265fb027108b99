/* knuckle diagnose: existence, uniqueness and determinacy of the contact forces at an instant. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/force.h"
#include "mu_map.h"
#include "output/image.h"
#include "subject.h"

static const char* yes_no(kn_answer a) {
  return a == KN_ANSWER_YES ? "yes" : a == KN_ANSWER_NO ? "no" : "undecided";
}

static const char* class_name(unsigned c) {
  return c & KN_CLASS_PD      ? "PD"
         : c & KN_CLASS_P     ? "P"
         : c & KN_CLASS_PSD   ? "PSD"
         : c & KN_CLASS_NOT_P ? "not P"
         : c & KN_CLASS_P0    ? "P0"
                              : "unknown";
}

static kn_answer unique(const kn_verdict* v) {
  if (v->kind == KN_VERDICT_UNIQUE) return KN_ANSWER_YES;
  return v->kind == KN_VERDICT_UNDECIDED ? KN_ANSWER_UNDECIDED : KN_ANSWER_NO;
}

static kn_answer motion_unique(const kn_verdict* v) {
  return v->kind == KN_VERDICT_MOTION_UNIQUE ? KN_ANSWER_YES : unique(v);
}

static const char* geom_label(const kn_model* m, kn_geom g, kn_body b) {
  const char* name = kn_geom_name(m, g);
  return name && *name ? name : kn_body_name(m, b);
}

static void write_json(const kn_subject* s, const kn_diagnosis* d, const kn_mu_map* map) {
  kn_json j;
  kn_json_start(&j);
  kn_json_number(&j, "t", d->t);
  kn_json_text(&j, "exists", yes_no(d->verdict.exists));
  kn_json_text(&j, "unique", yes_no(unique(&d->verdict)));
  kn_json_text(&j, "motion_unique", yes_no(motion_unique(&d->verdict)));
  kn_json_text(&j, "verdict", kn_verdict_name(d->verdict.kind));
  kn_json_text(&j, "matrix_class", class_name(d->verdict.matrix_class));
  kn_json_array(&j, "failing_minor");
  for (int i = 0; i < 64; i++)
    if (d->verdict.failing_minor >> i & 1) kn_json_int(&j, NULL, i);
  kn_json_end(&j);
  if (d->verdict.solutions >= 0)
    kn_json_int(&j, "solutions", d->verdict.solutions);
  else
    kn_json_null(&j, "solutions");
  kn_json_int(&j, "rank", d->verdict.rank);
  kn_json_int(&j, "rows", d->rows);
  kn_json_bool(&j, "within_rounding", d->verdict.within_rounding);
  kn_json_bool(&j, "forces", d->forces);
  kn_json_number(&j, "residual", d->residual);
  kn_json_array(&j, "contacts");
  for (int i = 0; i < d->contacts; i++) {
    const kn_contact* c = &d->contact[i];
    kn_json_begin(&j, NULL);
    kn_json_array(&j, "bodies");
    kn_json_text(&j, NULL, kn_body_name(s->model, c->body_a));
    kn_json_text(&j, NULL, kn_body_name(s->model, c->body_b));
    kn_json_end(&j);
    kn_json_numbers(&j, "point", c->point, 3);
    if (d->forces)
      kn_json_numbers(&j, "force", c->impulse, 3);
    else
      kn_json_null(&j, "force");
    kn_json_bool(&j, "sliding", c->mode == KN_MODE_SLIP);
    kn_json_text(&j, "determinate", yes_no(c->determinate));
    kn_json_end(&j);
  }
  kn_json_end(&j);
  if (map) kn_mu_map_json(&j, map);
  kn_notes_json(&j, s->report);
  kn_json_finish(&j, KN_EXIT_OK);
}

static const char* determinacy(const kn_diagnosis* d, const kn_contact* c) {
  if (c->determinate == KN_ANSWER_YES) return "determinate";
  if (c->determinate == KN_ANSWER_UNDECIDED) return "undecided whether it is determined";
  return d->verdict.kind == KN_VERDICT_SEVERAL ? "not determined (the solutions differ)"
                                               : "not determined by the motion";
}

static double largest_force(const kn_diagnosis* d) {
  double most = 0.0;
  for (int i = 0; i < d->contacts; i++) most = fmax(most, fabs(d->contact[i].impulse[0]));
  return most;
}

/* Rounding reads as nothing: below 1e-9 of the largest force, as far as the forces are solved. */
static double shown(double force, double most) { return fabs(force) <= 1e-9 * most ? 0.0 : force; }

static void print_contact(const kn_subject* s, const kn_diagnosis* d, int i, double most) {
  const kn_contact* c = &d->contact[i];
  printf("  contact %-2d  %s on %s: ", i, geom_label(s->model, c->geom_a, c->body_a),
         geom_label(s->model, c->geom_b, c->body_b));
  if (d->forces)
    printf("%.6g N normal, %.6g N tangential, ", shown(c->impulse[0], most),
           shown(hypot(c->impulse[1], c->impulse[2]), most));
  printf("%s", c->mode == KN_MODE_SLIP ? "sliding" : "sticking");
  printf(d->forces ? ", force %s\n" : ", no force shown\n", determinacy(d, c));
}

/* What the contacts of two bodies carry together: often determined where their shares are not. */
static kn_status print_sums(const kn_subject* s, const kn_diagnosis* d, const kn_data* data, double most) {
  size_t n = (size_t)d->contacts;
  kn_contact_load* load = malloc(n * sizeof *load + 1);
  kn_load_sum* sum = malloc(3 * n * sizeof *sum + 1);
  int sums = 0;
  kn_status status = load && sum ? kn_contact_loads(load, d->contact, d->contacts, 1.0) : KN_OUT_OF_MEMORY;
  if (status == KN_OK) status = kn_load_sums(sum, &sums, 3 * d->contacts, d->contact, load, d->contacts);
  if (status == KN_OK)
    status =
        kn_loads_judge(load, sum, sums, s->model, data, d->contact, d->contacts, NULL, kn_state_v(s->state));
  for (int i = 0; i < sums && status == KN_OK; i++) {
    char own_a[KN_LABEL], own_b[KN_LABEL];
    if (sum[i].b == KN_ANY_BODY || sum[i].contacts < 2) continue;
    const char* a = kn_label(own_a, kn_body_name(s->model, sum[i].a), "body", sum[i].a);
    const char* b = kn_label(own_b, kn_body_name(s->model, sum[i].b), "body", sum[i].b);
    printf("  together    %s on %s: %.6g N normal, force %.6g, %.6g, %.6g N on %s, %s\n", a, b, sum[i].normal,
           shown(sum[i].force[0], most), shown(sum[i].force[1], most), shown(sum[i].force[2], most), a,
           sum[i].determinate == KN_ANSWER_YES ? "determined by the motion" : "not determined by the motion");
  }
  free(load);
  free(sum);
  return status;
}

static kn_status write_text(const kn_subject* s, const kn_diagnosis* d, const kn_data* data) {
  double most = largest_force(d);
  kn_status status = KN_OK;
  printf("%s at t = %g s: %d closed contact%s, %d sliding, %d row%s\n", s->name, d->t, d->contacts,
         d->contacts == 1 ? "" : "s", d->sliding, d->rows, d->rows == 1 ? "" : "s");
  printf("  verdict     %s (a solution exists: %s)\n", kn_verdict_text(&d->verdict),
         yes_no(d->verdict.exists));
  printf("  matrix      %s", class_name(d->verdict.matrix_class));
  if (d->verdict.rank >= 0) printf(", rank %d on the active of %d rows", d->verdict.rank, d->rows);
  if (d->verdict.failing_minor) {
    printf("; minor of rows");
    for (int i = 0; i < 64; i++)
      if (d->verdict.failing_minor >> i & 1) printf(" %d", i);
    printf(" is %.3g", d->verdict.minor_value);
  }
  printf("\n");
  if (d->verdict.solutions >= 0) printf("  solutions   %d\n", d->verdict.solutions);
  if (d->contacts && !d->forces)
    printf("  forces      none found that obey Coulomb's law at every contact\n");
  for (int i = 0; i < d->contacts; i++) print_contact(s, d, i, most);
  if (d->forces && d->verdict.kind != KN_VERDICT_SEVERAL && d->contacts <= 128)
    status = print_sums(s, d, data, most);
  kn_ignored_print(stdout, s);
  return status;
}

/* The map looks at the instant again, with the simulator's own list of contacts: keep these ones. */
static kn_contact* keep_contacts(kn_diagnosis* d) {
  size_t size = (size_t)d->contacts * sizeof(kn_contact);
  kn_contact* copy = malloc(size + 1);
  if (!copy) return NULL;
  if (size) memcpy(copy, d->contact, size);
  d->contact = copy;
  return copy;
}

/* The text asks for memory itself, of which the library's last error knows nothing. */
static kn_exit text_failed(const kn_args* args, kn_status status) {
  if (status == KN_OUT_OF_MEMORY) return kn_complain_text(args, status, "no memory for the sums of forces");
  return kn_complain_status(args, status);
}

static int run(kn_args* args) {
  kn_subject s;
  kn_sim* sim = NULL;
  kn_exit code = kn_out_ending(args, kn_arg_text(args, "--output"), KN_IMAGE_ENDINGS);
  if (code != KN_EXIT_OK) return code;
  code = kn_subject_open(&s, args);
  if (code == KN_EXIT_OK) {
    kn_diagnosis d;
    kn_status status = kn_sim_create(&sim, s.model, &s.settings);
    if (status == KN_OK && s.controller.fn) status = kn_sim_set_controller(sim, &s.controller);
    if (status == KN_OK) status = kn_sim_prepare(sim, s.state);
    long steps = lround(kn_arg_number(args, "--at") / s.settings.dt);
    kn_interrupt_catch();
    for (long i = 0; i < steps && status == KN_OK && !kn_interrupted(); i++) status = kn_step(sim, s.state);
    if (status == KN_OK) status = kn_sim_diagnose(&d, sim, s.state);
    kn_mu_map map;
    bool mapped = status == KN_OK && kn_arg_given(args, "--mu-map");
    if (status != KN_OK) code = kn_complain_status(args, status);
    kn_contact* kept = status == KN_OK ? keep_contacts(&d) : NULL;
    if (status == KN_OK && !kept)
      code = kn_complain_text(args, KN_OUT_OF_MEMORY, "no memory for the contacts");
    if (code == KN_EXIT_OK && mapped) code = kn_mu_map_draw(&map, args, &s, sim, &d);
    if (code == KN_EXIT_OK && args->json) write_json(&s, &d, mapped ? &map : NULL);
    if (code == KN_EXIT_OK && !args->json) {
      status = kn_kinematics(s.model, s.state, kn_sim_data(sim));
      if (status == KN_OK) status = write_text(&s, &d, kn_sim_data(sim));
      if (status != KN_OK) code = text_failed(args, status);
      if (mapped && status == KN_OK) kn_mu_map_text(&map);
    }
    free(kept);
  }
  kn_sim_destroy(sim);
  kn_subject_close(&s);
  return code;
}

static const kn_option options[] = {{.name = "--at",
                                     .type = KN_OPTION_NUMBER,
                                     .value = "SECONDS",
                                     .fallback = "0",
                                     .min = 0,
                                     .max = 1e6,
                                     .help = "the instant; the scene is run up to it"},
                                    {.name = "--mu-map",
                                     .type = KN_OPTION_TWO,
                                     .value = "A B",
                                     .help = "draw where the mode matrix is a P-matrix, over the friction "
                                             "coefficients of the sliding contacts of A and of B (names of "
                                             "geoms or bodies, or contact numbers, commas between them)"},
                                    {.name = "--mu-max",
                                     .type = KN_OPTION_NUMBER,
                                     .value = "MU",
                                     .fallback = "1.5",
                                     .min = 1e-6,
                                     .max = 1e6,
                                     .help = "end of both axes of the map"},
                                    {.name = "--output",
                                     .letter = 'o',
                                     .type = KN_OPTION_TEXT,
                                     .value = "FILE",
                                     .fallback = "mu-map.svg",
                                     .help = "file of the map"},
                                    KN_SUBJECT_OPTIONS,
                                    {0}};

static const kn_example examples[] = {
    {"knuckle diagnose stack --at 1", "which forces under a stack are determined?"},
    {"knuckle diagnose painleve-rod --at 0.1 --json", "no solution, or several?"},
    {"knuckle diagnose grasp-2 --at 0.2 --mu-map link1,link3 link2,link4", "which friction is safe?"},
    {0}};

const kn_command kn_command_diagnose = {.name = "diagnose",
                                        .summary =
                                            "do contact forces exist, and are they unique, at an instant?",
                                        .operands = "SCENE",
                                        .min_operands = 1,
                                        .max_operands = 1,
                                        .options = options,
                                        .examples = examples,
                                        .run = run};
