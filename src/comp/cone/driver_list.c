/* The list of solvers for kn_problem: being here is being tested by the conformance suite. */
#include <string.h>

#include "comp/cone/driver.h"

static int limit(const kn_drive* s, int own) {
  return s->settings->max_iterations ? s->settings->max_iterations : own;
}

static void gs(kn_drive* s) {
  if (!kn_drive_sweeps(s, limit(s, 5000), "gs")) kn_drive_accept(s, "gs");
}

static void newton_with(kn_drive* s, int halvings, const char* stage) {
  if (kn_drive_sweeps(s, 5, "gs")) return;
  kn_newton_settings t = kn_newton_default(s);
  t.max_steps = t.stall = limit(s, 100);
  t.halvings = halvings;
  if (!kn_drive_newton(s, &t, stage)) kn_drive_accept(s, stage);
}

static void newton(kn_drive* s) { newton_with(s, 0, "newton"); }

static void newton_ls(kn_drive* s) { newton_with(s, 6, "newton_ls"); }

static void proximal(kn_drive* s) {
  if (!kn_drive_proximal(s, 0.01, 5, limit(s, 100))) kn_drive_accept(s, "proximal");
}

static void interior(kn_drive* s) {
  if (!kn_drive_interior(s, limit(s, 60))) kn_drive_accept(s, "interior");
}

static void path(kn_drive* s) {
  kn_drive_accept(s, "path"); /* the guess, or zero */
  if ((s->best.error <= s->tol && s->best.scaled <= s->tol) || kn_drive_path(s)) return;
  for (int sweeps = 10; sweeps <= 160; sweeps *= 4) /* too far from any answer: nearer by sweeps, and again */
    if (kn_drive_sweeps(s, sweeps, "gs") || kn_drive_path(s)) return;
}

static void smooth(kn_drive* s) { kn_drive_smooth(s, s->settings->warm_start ? 1e-2 : 1e-1, limit(s, 100)); }

/* clang-format off */
#define SOLVER(method)                                                                                         \
  static kn_status solve_##method(double* r, kn_solve_info* info, const kn_problem* p,                          \
                                  const kn_solve_settings* settings, kn_solver_work* w) {                       \
    return kn_drive_run(r, info, p, settings, w, method);                                                       \
  }
/* clang-format on */

SOLVER(kn_drive_default)
SOLVER(gs)
SOLVER(newton)
SOLVER(newton_ls)
SOLVER(proximal)
SOLVER(interior)
SOLVER(path)
SOLVER(smooth)

static const kn_cone_solver solvers[] = {
    {.name = "driver",
     .doc = "Picks, judges every answer on the original data and falls back.",
     .citation = "docs/solvers.md",
     .iterations = "no limit",
     .exact = true,
     .tall = true,
     .solve = solve_kn_drive_default},
    {.name = "gs",
     .doc = "Block Gauss-Seidel with the exact solution of one contact.",
     .citation = "Jourdan, Alart, Jean 1998",
     .iterations = "sweeps",
     .default_iterations = 5000,
     .solve = solve_gs},
    {.name = "newton",
     .doc = "Nonsmooth Newton on the Alart-Curnier function, proximal, full steps.",
     .citation = "Alart, Curnier 1991",
     .iterations = "steps",
     .default_iterations = 100,
     .dense_only = true,
     .solve = solve_newton},
    {.name = "newton_ls",
     .doc = "The same with a line search on the sum of squares.",
     .citation = "Alart, Curnier 1991",
     .iterations = "steps",
     .default_iterations = 100,
     .dense_only = true,
     .solve = solve_newton_ls},
    {.name = "proximal",
     .doc = "Proximal point: W + eps I around the last answer, Newton inside.",
     .citation = "Rockafellar 1976",
     .iterations = "rounds",
     .default_iterations = 100,
     .dense_only = true,
     .solve = solve_proximal},
    {.name = "interior",
     .doc = "Interior point in Nesterov-Todd scaling with the slip term, finished by Newton.",
     .citation = "Acary, Armand, Nguyen 2023",
     .iterations = "steps",
     .default_iterations = 60,
     .solve = solve_interior},
    {.name = "path",
     .doc = "Parametric active set: the answer of a neighbouring problem followed, one change of mode at a "
            "time.",
     .citation = "Ferreau, Bock, Diehl 2008",
     .iterations = "no limit",
     .dense_only = true,
     .solve = solve_path},
    {.name = "smooth",
     .doc = "Smoothing Newton: kinks of the law rounded by tau, the answer followed while tau goes to zero; "
            "cones of any "
            "dimension (friction with spin and rolling).",
     .citation = "Chen, Mangasarian 1996; Fukushima, Luo, Tseng 2002",
     .iterations = "steps",
     .default_iterations = 100,
     .dense_only = true,
     .tall = true,
     .solve = solve_smooth},
    {.name = NULL}};

const kn_cone_solver* kn_cone_solvers(void) { return solvers; }

const kn_cone_solver* kn_cone_solver_find(const char* name) {
  for (const kn_cone_solver* s = solvers; name && s->name; s++)
    if (!strcmp(s->name, name)) return s;
  return NULL;
}
