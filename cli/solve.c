/* knuckle solve: one problem file, its answer, the judge's residual and the verdict. */
#include "solve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char* status_word(kn_status status) {
  return status == KN_OK ? "solved" : status == KN_NO_SOLUTION ? "no_solution" : "not_converged";
}

static const char* class_text(char* out, size_t size, unsigned bits) {
  static const struct {
    unsigned bit;
    const char* name;
  } names[] = {{KN_CLASS_PD, "PD"},
               {KN_CLASS_P, "P"},
               {KN_CLASS_PSD, "PSD"},
               {KN_CLASS_P0, "P0"},
               {KN_CLASS_COPOSITIVE, "copositive"},
               {KN_CLASS_NOT_P, "not_P"}};
  size_t used = 0;
  out[0] = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (bits & names[i].bit)
      used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " " : "", names[i].name);
  return used ? out : "unknown";
}

static const char* certificate_name(kn_certificate c) {
  static const char* const names[] = {"none", "solution", "farkas", "ray", "enumeration"};
  return (unsigned)c < sizeof names / sizeof *names ? names[c] : "none";
}

static void json_verdict(kn_json* j, const kn_solved* s) {
  char text[64];
  kn_json_text(j, "verdict", kn_verdict_name(s->verdict.kind));
  kn_json_text(j, "certificate", certificate_name(s->verdict.certificate));
  kn_json_text(j, "matrix_class", class_text(text, sizeof text, s->verdict.matrix_class));
  if (s->verdict.matrix_class & KN_CLASS_NOT_P) {
    kn_json_array(j, "failing_minor");
    for (int i = 0; i < 64; i++)
      if (s->verdict.failing_minor >> i & 1) kn_json_int(j, NULL, i);
    kn_json_end(j);
    kn_json_number(j, "minor_value", s->verdict.minor_value);
  }
  if (s->verdict.rank >= 0) kn_json_int(j, "rank", s->verdict.rank);
}

static kn_exit json_out(const kn_solved* s, kn_exit code) {
  kn_json j;
  kn_json_start(&j);
  kn_json_text(&j, "kind", s->kind);
  kn_json_int(&j, "n", s->n);
  kn_json_text(&j, "status", status_word(s->info.status));
  kn_json_number(&j, "residual", s->info.residual);
  kn_json_number(&j, "residual_scaled", s->info.residual_scaled);
  kn_json_text(&j, "solver", s->info.solver);
  kn_json_int(&j, "iterations", s->info.iterations);
  kn_json_number(&j, "time_us", 1e6 * s->info.time);
  json_verdict(&j, s);
  kn_json_numbers(&j, "z", s->z, (size_t)s->n);
  if (s->determinate) {
    kn_json_array(&j, "determinate");
    for (int i = 0; i < s->flags; i++) kn_json_bool(&j, NULL, s->determinate[i]);
    kn_json_end(&j);
  } else
    kn_json_null(&j, "determinate");
  if (s->enumeration) {
    kn_json_array(&j, "solutions");
    for (int k = 0; k < s->enumeration->count; k++)
      kn_json_numbers(&j, NULL, s->solutions + (size_t)k * (size_t)s->n, (size_t)s->n);
    kn_json_end(&j);
    kn_json_bool(&j, "solutions_complete", s->enumeration->complete);
    kn_json_bool(&j, "solutions_continuum", s->enumeration->continuum);
  }
  return kn_json_finish(&j, code);
}

static void print_vector(const char* name, const double* z, int n) {
  printf("%-12s", name);
  for (int i = 0; i < n && i < 12; i++) printf(" %.10g", z[i]);
  printf("%s\n", n > 12 ? " …" : "");
}

static void text_out(const kn_solved* s) {
  char text[64];
  int loose = 0;
  printf("%-12s %s, %d rows\n", "problem", s->kind, s->n);
  printf("%-12s %s by %s, %d iterations, %.1f us\n", "status", status_word(s->info.status), s->info.solver,
         s->info.iterations, 1e6 * s->info.time);
  printf("%-12s %.3g (scaled %.3g)\n", "residual", s->info.residual, s->info.residual_scaled);
  printf("%-12s %s, certificate %s\n", "verdict", kn_verdict_text(&s->verdict),
         certificate_name(s->verdict.certificate));
  printf("%-12s %s\n", "matrix", class_text(text, sizeof text, s->verdict.matrix_class));
  if (s->verdict.matrix_class & KN_CLASS_NOT_P) {
    printf("%-12s %.3g, rows", "bad minor", s->verdict.minor_value);
    for (int i = 0; i < 64; i++)
      if (s->verdict.failing_minor >> i & 1) printf(" %d", i);
    printf("\n");
  }
  for (int i = 0; s->determinate && i < s->flags; i++) loose += !s->determinate[i];
  if (s->determinate)
    printf("%-12s %d of %d forces are not determined by the motion\n", "forces", loose, s->flags);
  if (s->info.status != KN_NO_SOLUTION) print_vector("z", s->z, s->n);
  if (!s->enumeration) return;
  printf("%-12s %d%s%s\n", "solutions", s->enumeration->count,
         s->enumeration->complete ? "" : ", more may exist",
         s->enumeration->continuum ? ", some not isolated" : "");
  for (int k = 0; k < s->enumeration->count; k++)
    print_vector("", s->solutions + (size_t)k * (size_t)s->n, s->n);
}

kn_exit kn_solved_print(const kn_args* args, const kn_solved* s) {
  kn_exit code = s->info.status == KN_OK || s->info.status == KN_NO_SOLUTION ? KN_EXIT_OK : KN_EXIT_VIOLATION;
  if (args->json) return json_out(s, code);
  text_out(s);
  return code;
}

static bool ends_with(const char* name, const char* ending) {
  size_t a = strlen(name), b = strlen(ending);
  return a >= b && strcmp(name + a - b, ending) == 0;
}

static int run(kn_args* args) {
  const char* path = args->operand[0];
  bool friction = ends_with(path, ".hdf5") || ends_with(path, ".h5");
  if (kn_arg_text(args, "--method")) return kn_solve_frictionless(args, path);
  return friction ? kn_solve_friction(args, path) : kn_solve_lcp(args, path);
}

static const kn_option options[] = {
    {.name = "--solver",
     .type = KN_OPTION_TEXT,
     .value = "NAME",
     .fallback = "driver",
     .help = "see `knuckle list solvers` (friction) and `knuckle list lcp-solvers`"},
    {.name = "--method",
     .type = KN_OPTION_TEXT,
     .value = "NAME",
     .help =
         "bodies at rest without friction (a file with M, J, Q): force, gauss, descent or all, with duality "
         "gaps"},
    {.name = "--all", .type = KN_OPTION_FLAG, .help = "find all solutions of an LCP (up to 20 rows)"},
    {.name = "--tol",
     .type = KN_OPTION_NUMBER,
     .value = "X",
     .fallback = "1e-10",
     .min = 1e-16,
     .max = 1,
     .help = "accept residuals up to this"},
    {.name = "--output",
     .letter = 'o',
     .type = KN_OPTION_TEXT,
     .value = "FILE",
     .help = "write the problem with its solution (.json for LCPs, .hdf5 for friction)"},
    {0}};

static const kn_example examples[] = {
    {"knuckle solve problem.json --all", "an LCP and all its solutions"},
    {"knuckle solve examples/frictionless.json --method all",
     "where bodies at rest begin to move: forces, Gauss' least constraint, steepest descent"},
    {"knuckle solve Rover1039.hdf5 --json", "a friction problem in FCLIB's format"},
    {0}};

const kn_command kn_command_solve = {.name = "solve",
                                     .summary =
                                         "solve a complementarity problem file, print residual and verdict",
                                     .operands = "FILE",
                                     .min_operands = 1,
                                     .max_operands = 1,
                                     .details = "FILE is an LCP (.json, .dat of Siconos, binary .lcp) or a "
                                                "friction problem of FCLIB (.hdf5, local or global "
                                                "form). The residual is computed by code that shares nothing "
                                                "with the solvers; \"no_solution\" is said only with a "
                                                "certificate. Formats and verdicts: docs/solvers.md.",
                                     .options = options,
                                     .examples = examples,
                                     .run = run};
