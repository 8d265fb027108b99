#include <stdlib.h>

#include "knuckle/fclib.h"
#include "output/file.h"
#include "solve.h"

enum { DETERMINATE_ROWS = 1200 }; /* dense analysis beyond this takes minutes */

typedef struct session {
  kn_fclib file;
  kn_solver_work* work;
  kn_lcp_work* dense;
  double* r;
  bool* determinate;
  kn_solved out;
} session;

static void release(session* s) {
  free(s->r), free(s->determinate);
  kn_solver_work_destroy(s->work);
  kn_lcp_work_destroy(s->dense);
  kn_fclib_free(&s->file);
}

static kn_exit answer(const kn_args* args, session* s) {
  const kn_problem* p = &s->file.problem;
  kn_solve_settings settings = kn_solve_default();
  settings.solver = kn_arg_text(args, "--solver");
  settings.tol = kn_arg_number(args, "--tol");
  if (!kn_cone_solver_find(settings.solver))
    return kn_complain(args, KN_EXIT_USAGE, "no solver \"%s\"; see knuckle list solvers", settings.solver);
  kn_status status = kn_problem_solve(s->r, &s->out.info, p, &settings, s->work);
  if (status != KN_OK && status != KN_NOT_CONVERGED) return kn_complain_status(args, status);
  s->out.info.status = status;
  kn_problem_verdict(&s->out.verdict, p, status == KN_OK ? s->r : NULL, s->work);
  if (s->out.verdict.kind == KN_VERDICT_NONE) s->out.info.status = KN_NO_SOLUTION;
  if (status != KN_OK) return KN_EXIT_OK;
  if (p->rows > DETERMINATE_ROWS || kn_lcp_work_create(&s->dense, p->rows) != KN_OK) return KN_EXIT_OK;
  if (kn_problem_determinate(s->determinate, NULL, &s->out.verdict.rank, p, s->r, s->dense) == KN_OK)
    s->out.determinate = s->determinate;
  return KN_EXIT_OK;
}

kn_exit kn_solve_friction(const kn_args* args, const char* path) {
  session s = {0};
  if (kn_arg_flag(args, "--all")) return kn_complain(args, KN_EXIT_USAGE, "--all is for LCPs");
  kn_status status = kn_fclib_read(&s.file, path);
  if (status == KN_OK) status = kn_solver_work_for(&s.work, &s.file.problem);
  kn_exit code = status == KN_OK ? KN_EXIT_OK : kn_complain_status(args, status);
  s.r = calloc((size_t)s.file.problem.rows + 1, sizeof *s.r);
  s.determinate = calloc((size_t)s.file.problem.blocks + 1, sizeof *s.determinate);
  if (code == KN_EXIT_OK && (!s.r || !s.determinate))
    code = kn_complain(args, KN_EXIT_VIOLATION, "not enough memory");
  if (code == KN_EXIT_OK) code = answer(args, &s);
  const char* to = kn_arg_text(args, "--output");
  kn_file file;
  if (code == KN_EXIT_OK && to) {
    code = kn_out_reserve(&file, args, to, "hdf5|h5");
    if (code == KN_EXIT_OK) {
      status = kn_fclib_write(file.part, &s.file.problem, s.file.title[0] ? s.file.title : NULL, s.r);
      code = kn_out_commit(&file, args, status, kn_last_error());
    }
  }
  if (code == KN_EXIT_OK) {
    s.out.kind = "friction";
    s.out.n = s.file.problem.rows;
    s.out.flags = s.file.problem.blocks;
    s.out.z = s.r;
    code = kn_solved_print(args, &s.out);
  }
  release(&s);
  return code;
}
