/* knuckle solve --method: frictionless contact of bodies at rest by Baraff's three formulations, with the duality gap of
   each answer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/lcp_file.h"
#include "solve.h"

enum { WAYS = 3 };

typedef struct way {
  kn_status status;
  double *a, *lambda;
  kn_frictionless_info info;
  char why[200];
} way;

typedef struct session {
  kn_lcp_file file;
  way by[WAYS];
  bool wanted[WAYS];
  double tol;
} session;

static double norm_of(const kn_frictionless* p, const double* x) {
  double sum = 0.0;
  for (int i = 0; i < p->n; i++)
    for (int k = 0; k < p->n; k++) sum += x[i] * p->M[(size_t)i * (size_t)p->n + (size_t)k] * x[k];
  return sqrt(fmax(sum, 0.0));
}

/* |a_i - a_first|_M over |a_first|_M, or as it is where nothing moves. */
static double apart(const session* s, int i, int first) {
  const kn_frictionless* p = &s->file.frictionless;
  double* d = calloc((size_t)p->n + 1, sizeof *d);
  if (!d) return NAN;
  for (int k = 0; k < p->n; k++) d[k] = s->by[i].a[k] - s->by[first].a[k];
  double size = norm_of(p, s->by[first].a), off = norm_of(p, d);
  free(d);
  return size > 0.0 ? off / size : off;
}

static int first_of(const session* s) {
  for (int i = 0; i < WAYS; i++)
    if (s->wanted[i] && s->by[i].status == KN_OK) return i;
  return -1;
}

/* A gap of tol is an error of √tol in a, since the gap is quadratic. */
static bool good(const session* s, const way* w) {
  return w->status == KN_OK && fabs(w->info.gap) <= s->tol && w->info.overlap <= sqrt(s->tol);
}

static const char* word(const session* s, const way* w) {
  return w->status == KN_UNSUPPORTED ? "not_defined" : good(s, w) ? "solved" : "not_converged";
}

static kn_exit verdict(const session* s) {
  for (int i = 0; i < WAYS; i++)
    if (s->wanted[i] && s->by[i].status != KN_UNSUPPORTED && !good(s, &s->by[i])) return KN_EXIT_VIOLATION;
  return KN_EXIT_OK;
}

static kn_exit json_out(const session* s) {
  const kn_frictionless* p = &s->file.frictionless;
  const kn_frictionless_method* list = kn_frictionless_methods();
  int first = first_of(s);
  kn_json j;
  kn_json_start(&j);
  kn_json_text(&j, "kind", "frictionless");
  kn_json_int(&j, "n", p->n);
  kn_json_int(&j, "contacts", p->m);
  kn_json_text(&j, "status", first < 0 ? "not_defined" : word(s, &s->by[first]));
  kn_json_array(&j, "methods");
  for (int i = 0; i < WAYS; i++) {
    const way* w = &s->by[i];
    if (!s->wanted[i]) continue;
    kn_json_begin(&j, NULL);
    kn_json_text(&j, "method", list[i].name);
    kn_json_text(&j, "status", word(s, w));
    if (w->status == KN_OK) {
      kn_json_number(&j, "gap", w->info.gap);
      kn_json_number(&j, "overlap", w->info.overlap);
      kn_json_number(&j, "norm", w->info.norm);
      kn_json_number(&j, "apart", apart(s, i, first));
      kn_json_int(&j, "iterations", w->info.iterations);
      kn_json_numbers(&j, "a", w->a, (size_t)p->n);
      kn_json_numbers(&j, "lambda", w->lambda, (size_t)p->m);
    } else
      kn_json_text(&j, "why", w->why);
    kn_json_end(&j);
  }
  kn_json_end(&j);
  return kn_json_finish(&j, verdict(s));
}

static void vector(const char* name, const double* x, int n) {
  printf("  %-10s", name);
  for (int i = 0; i < n && i < 12; i++) printf(" %.10g", x[i]);
  printf("%s\n", n > 12 ? " …" : "");
}

static void text_out(const session* s) {
  const kn_frictionless* p = &s->file.frictionless;
  int first = first_of(s);
  printf("frictionless contact at rest: %d coordinates, %d contacts\n", p->n, p->m);
  printf("%-10s %11s %11s %13s %11s %6s\n", "method", "gap", "overlap", "|a|_M", "apart", "steps");
  for (int i = 0; i < WAYS; i++) {
    const way* w = &s->by[i];
    const char* name = kn_frictionless_methods()[i].name;
    if (!s->wanted[i]) continue;
    if (w->status == KN_OK)
      printf("%-10s %11.2g %11.2g %13.9g %11.2g %6d\n", name, w->info.gap, w->info.overlap, w->info.norm,
             apart(s, i, first), w->info.iterations);
    else
      printf("%-10s %s\n", name, w->why);
  }
  if (first < 0) return;
  vector("a", s->by[first].a, p->n);
  vector("lambda", s->by[first].lambda, p->m);
}

static kn_exit choose(const kn_args* args, session* s, const char* path) {
  const char* name = kn_arg_text(args, "--method");
  bool all = !name || strcmp(name, "all") == 0, any = all;
  for (int i = 0; i < WAYS; i++) {
    s->wanted[i] = all || strcmp(name, kn_frictionless_methods()[i].name) == 0;
    any |= s->wanted[i];
  }
  if (!any)
    return kn_complain(args, KN_EXIT_USAGE, "no method \"%s\"; expected force, gauss, descent or all", name);
  if (s->file.frictionless.n == 0)
    return kn_complain(args, KN_EXIT_INPUT, "%s: --method needs \"M\", \"J\" and \"Q\"; this is an LCP",
                       path);
  return KN_EXIT_OK;
}

static kn_exit answer(const kn_args* args, session* s) {
  const kn_frictionless* p = &s->file.frictionless;
  for (int i = 0; i < WAYS; i++) {
    way* w = &s->by[i];
    w->a = calloc((size_t)p->n + 1, sizeof(double));
    w->lambda = calloc((size_t)p->m + 1, sizeof(double));
    if (!w->a || !w->lambda) return kn_complain_status(args, KN_OUT_OF_MEMORY);
    if (!s->wanted[i]) continue;
    w->status = kn_frictionless_solve(w->a, w->lambda, &w->info, p, kn_frictionless_methods()[i].name);
    if (w->status != KN_OK) snprintf(w->why, sizeof w->why, "%s", kn_last_error());
    if (w->status != KN_OK && w->status != KN_UNSUPPORTED && w->status != KN_NOT_CONVERGED)
      return kn_complain_status(args, w->status);
  }
  return KN_EXIT_OK;
}

kn_exit kn_solve_frictionless(const kn_args* args, const char* path) {
  session s = {.tol = kn_arg_number(args, "--tol")};
  kn_status status = kn_lcp_file_read(&s.file, path);
  kn_exit code = status == KN_OK ? choose(args, &s, path) : kn_complain_status(args, status);
  if (code == KN_EXIT_OK && (kn_arg_flag(args, "--all") || kn_arg_text(args, "--output")))
    code = kn_complain(args, KN_EXIT_USAGE, "--all and --output are for LCPs");
  if (code == KN_EXIT_OK) code = answer(args, &s);
  if (code == KN_EXIT_OK && args->json)
    code = json_out(&s);
  else if (code == KN_EXIT_OK)
    text_out(&s), code = verdict(&s);
  for (int i = 0; i < WAYS; i++) free(s.by[i].a), free(s.by[i].lambda);
  kn_lcp_file_free(&s.file);
  return code;
}
