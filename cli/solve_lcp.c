#include <stdlib.h>

#include "knuckle/lcp_file.h"
#include "output/file.h"
#include "solve.h"

enum { MOST_SOLUTIONS = 256, VERDICT_ROWS = 1500 };

typedef struct session {
  kn_lcp_file file;
  kn_lcp_work* work;
  double *z, *all;
  bool* determinate;
  kn_lcp_enumeration enumeration;
  kn_solved out;
} session;

static void release(session* s) {
  free(s->z), free(s->all), free(s->determinate);
  kn_lcp_work_destroy(s->work);
  kn_lcp_file_free(&s->file);
}

/* Rows of the standard form, which the workspace must hold. */
static int rows_needed(const kn_lcp* lcp) {
  int rows = lcp->n;
  for (int i = 0; lcp->hi && i < lcp->n; i++) rows += lcp->hi[i] - (lcp->lo ? lcp->lo[i] : 0.0) < 1e300;
  return rows;
}

static kn_exit prepare(const kn_args* args, session* s, const char* path) {
  kn_status status = kn_lcp_file_read(&s->file, path);
  if (status == KN_OK) status = kn_lcp_work_create(&s->work, rows_needed(&s->file.lcp));
  if (status != KN_OK) return kn_complain_status(args, status);
  if (s->file.frictionless.n)
    return kn_complain(args, KN_EXIT_USAGE, "%s has M, J and Q: use --method force, gauss, descent or all",
                       path);
  size_t n = (size_t)s->file.lcp.n;
  s->z = calloc(n + 1, sizeof *s->z);
  s->determinate = calloc(n + 1, sizeof *s->determinate);
  s->all = calloc((n + 1) * MOST_SOLUTIONS, sizeof *s->all);
  return s->z && s->determinate && s->all ? KN_EXIT_OK
                                          : kn_complain(args, KN_EXIT_VIOLATION, "not enough memory");
}

static kn_exit answer(const kn_args* args, session* s) {
  const char* name = kn_arg_text(args, "--solver");
  const kn_lcp_solver* solver = kn_lcp_solver_find(name);
  if (!solver)
    return kn_complain(args, KN_EXIT_USAGE, "no LCP solver \"%s\"; see knuckle list lcp-solvers", name);
  kn_lcp_settings settings = kn_lcp_settings_default();
  settings.tol = kn_arg_number(args, "--tol");
  const kn_lcp* lcp = &s->file.lcp;
  kn_status status = solver->solve(s->z, &s->out.info, lcp, &settings, s->work);
  if (status != KN_OK && status != KN_NOT_CONVERGED && status != KN_NO_SOLUTION)
    return kn_complain_status(args, status);
  s->out.verdict = (kn_verdict){.rank = -1, .solutions = -1};
  if (lcp->n <= VERDICT_ROWS) kn_lcp_verdict(&s->out.verdict, lcp, s->z, &settings, s->work);
  if (status == KN_OK && lcp->n <= VERDICT_ROWS &&
      kn_lcp_determinate(s->determinate, NULL, &s->out.verdict.rank, lcp, s->z, s->work) == KN_OK)
    s->out.determinate = s->determinate;
  if (!kn_arg_flag(args, "--all")) return KN_EXIT_OK;
  status = kn_lcp_enumerate(s->all, MOST_SOLUTIONS, &s->enumeration, lcp, &settings, s->work);
  if (status != KN_OK && status != KN_NO_SOLUTION) return kn_complain_status(args, status);
  if (s->enumeration.count > MOST_SOLUTIONS) s->enumeration.count = MOST_SOLUTIONS;
  s->out.enumeration = &s->enumeration;
  s->out.solutions = s->all;
  return KN_EXIT_OK;
}

kn_exit kn_solve_lcp(const kn_args* args, const char* path) {
  session s = {0};
  kn_exit code = prepare(args, &s, path);
  if (code == KN_EXIT_OK) code = answer(args, &s);
  const char* to = kn_arg_text(args, "--output");
  if (code == KN_EXIT_OK && to) {
    kn_file file;
    code = kn_out_reserve(&file, args, to, "json");
    if (code == KN_EXIT_OK) {
      kn_status status = kn_lcp_file_write(file.part, &s.file.lcp, s.file.title[0] ? s.file.title : NULL,
                                           s.out.info.status == KN_OK ? s.z : NULL);
      code = kn_out_commit(&file, args, status, kn_last_error());
    }
  }
  if (code == KN_EXIT_OK) {
    s.out.kind = "lcp";
    s.out.n = s.out.flags = s.file.lcp.n;
    s.out.z = s.z;
    code = kn_solved_print(args, &s.out);
  }
  release(&s);
  return code;
}
