/* kn_problem_solve and its default, the driver: cheap methods first, each answer judged on the original data,
   the next method when the judge says no. Order and limits after measurement (docs/solvers.md). */
#include "comp/cone/driver.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/extreme.h"
#include "base/timer.h"

bool kn_drive_accept(kn_drive* s, const char* stage) {
  kn_cone_finish(s->w->point, s->c);
  kn_judgement j = kn_problem_judge(s->p, s->w->point);
  bool solved = j.error <= s->tol && j.scaled <= s->tol;
  if (kn_max(j.error, j.scaled) < kn_max(s->best.error, s->best.scaled)) {
    s->best = j;
    s->stage = stage;
    memcpy(s->w->best, s->w->point, (size_t)s->p->rows * sizeof(double));
  }
  return solved;
}

/* Multiplications of a factorisation and of a sweep, by the size of the problem, 18 to a nanosecond. Of small dense problems
   projections, roots and calls cost more than the matrix: 800 and 400 for a row, as measured with 35 to 116 rows. */
double kn_solver_work_step(int rows) {
  double n = rows;
  return n * (n * (n / 3.0 + 4.0) + 800.0);
}

static double step_work(const kn_cone* c) {
  return c->sparse ? c->sparse->plan.flops + 60.0 * c->sparse->stored : kn_solver_work_step(c->n);
}

static double sweep_work(const kn_cone* c) {
  double n = c->n;
  return c->sparse ? 9.0 * c->sparse->stored : n * (n + 400.0);
}

void kn_drive_count(kn_drive* s, int steps, int sweeps) {
  double step = step_work(s->c);
  s->iterations += steps + sweeps;
  s->w->work += steps * step + sweeps * sweep_work(s->c);
  s->w->dearest = kn_max(s->w->dearest, step);
}

/* An event costs what its products, its updates and the looks at all blocks do. */
static double event_work(int rows) {
  double n = rows;
  return n * (4.0 * n + 800.0);
}

void kn_solver_work_walk(kn_solver_work* w, int events, int rows) { w->work += events * event_work(rows); }

/* The solves of a step share 24e6 multiplications, 1.3 ms, or the patience with the dearest factor of them where that is more
   (the many contacts of a sparse one need half as many more). Beside that every one has some of its own, so that a thousand
   easy islands need nothing of it. */
static double own_work(const kn_solver_work* w) {
  enum { STEPS = 20, FEW = 4 };
  return kn_min(STEPS * w->dearest, kn_max(2e6, FEW * w->dearest));
}

static double left(const kn_solver_work* w) {
  double steps = w->cone.sparse ? 1.5 * w->patience : w->patience;
  double shared = kn_max(kn_max(24e6, steps * w->dearest) - w->used, 0.0);
  return kn_max(own_work(w) + shared - w->work, 0.0);
}

/* So many of `wanted` things of this price. */
static int affordable(const kn_solver_work* w, int wanted, double price) {
  return w->patience > 0.0 ? (int)kn_min(wanted, 1.0 + left(w) / price) : wanted;
}

int kn_solver_work_events(const kn_solver_work* w, int wanted, int rows) {
  return affordable(w, wanted, event_work(rows));
}

void kn_solver_work_enter(kn_solver_work* w, int rows) {
  w->work = 0.0;
  w->dearest = kn_solver_work_step(rows);
  w->cone.sparse = NULL; /* of the solve before */
}

void kn_solver_work_add(kn_solver_work* w, double multiplications) { w->work += multiplications; }

void kn_solver_work_leave(kn_solver_work* w) { w->used += kn_max(w->work - own_work(w), 0.0); }

double kn_solver_work_left(const kn_solver_work* w) { return w->patience > 0.0 ? left(w) : INFINITY; }

bool kn_solver_work_spent(const kn_solver_work* w) { return w->patience > 0.0 && !(left(w) > 0.0); }

bool kn_drive_spent(const kn_drive* s) { return kn_solver_work_spent(s->w); }

bool kn_drive_sweeps(kn_drive* s, int count, const char* stage) {
  for (int k = 0; k < count; k++) {
    s->ops->sweep(s->c);
    kn_drive_count(s, 0, 1);
    if (s->c->sparse && k % 4 != 3 && k + 1 < count) continue; /* the residual costs as much as a sweep */
    kn_cone_residual f = s->ops->residual(s->c, 1.0);
    if (f.most <= s->inner * f.size && kn_drive_accept(s, stage)) return true;
  }
  return false;
}

kn_newton_settings kn_newton_default(const kn_drive* s) {
  return (kn_newton_settings){.max_steps = 12,
                              .stall = 6,
                              .eps = 0.1,
                              .eps_rate = s->c->blocks < 16 ? 0.01 : 0.1,
                              .rho = 1.0,
                              .tol = s->inner};
}

bool kn_drive_newton(kn_drive* s, const kn_newton_settings* settings, const char* stage) {
  kn_cone_residual f;
  kn_newton_settings t = *settings;
  t.max_steps = affordable(s->w, t.max_steps, step_work(s->c));
  for (int round = 0; round < 3; round++, t.tol *= 0.03, t.max_steps = 3) {
    kn_drive_count(s, s->ops->newton(s->c, &t, &f), 0);
    if (!(f.most <= t.tol * f.size)) return kn_drive_accept(s, stage);
    if (kn_drive_accept(s, stage)) return true;
  }
  return false;
}

static void copy(double* to, const double* from, int n) { memcpy(to, from, (size_t)n * sizeof *to); }

static void diagonal_of(double* diagonal, const kn_problem* p) {
  if (p->W) {
    for (int i = 0; i < p->rows; i++) diagonal[i] = p->W[(size_t)i * (size_t)p->rows + (size_t)i];
    return;
  }
  const kn_sparse* s = p->sparse;
  for (int i = 0; i < p->rows; i++) diagonal[i] = 0.0;
  for (int b = 0; b < p->blocks; b++)
    for (int k = s->start[b]; k < s->start[b + 1]; k++) {
      if (s->col[k] != b) continue;
      for (int i = 0, rows = kn_set_rows(p->block[b].set); i < rows; i++)
        diagonal[p->block[b].row + i] += s->value[s->at[k] + i * rows + i];
    }
}

static bool load_dense(kn_drive* s) {
  kn_solver_work* w = s->w;
  if (s->p->rows > w->dense_rows) return false;
  if (!s->p->W) kn_problem_write_out(w->dense, s->p);
  s->c->sparse = NULL;
  kn_cone_scale(s->c, s->p, w->diagonal);
  s->ops->load(s->c, s->p->W ? s->p->W : w->dense, s->p->rows);
  return true;
}

/* The whole problem again, from r in its units. */
static void reload(kn_drive* s, const double* r) {
  diagonal_of(s->w->diagonal, s->p);
  load_dense(s);
  kn_cone_start(s->c, r);
  s->ops->velocity(s->c);
}

static void restart(kn_drive* s, const double* r) {
  copy(s->c->r, r, s->c->ld);
  s->ops->velocity(s->c);
}

/* Sweeps, then full Newton steps; from the swept point again with more sweeps and a line search. */
static bool quick(kn_drive* s, bool warm) {
  int sweeps = s->c->sparse && s->c->blocks > 200 ? (warm ? 5 : 20) : warm ? 1 : 3;
  if (kn_drive_sweeps(s, sweeps, "gs")) return true;
  copy(s->w->first, s->c->r, s->c->ld);
  kn_newton_settings t = kn_newton_default(s);
  if (s->c->sparse) t.max_steps = 40, t.stall = 8;
  if (warm && !s->c->sparse) t.eps = 1e-8, t.eps_rate = 0.0; /* close already: no damping */
  return kn_drive_newton(s, &t, "newton");
}

/* Newton's steps two and two, while they leave a tenth of the residual. */
static bool quickly(kn_drive* s) {
  kn_newton_settings t = kn_newton_default(s);
  kn_cone_residual f = s->ops->residual(s->c, 1.0);
  t.max_steps = 2;
  for (double before = INFINITY; f.most < 0.1 * before * f.size;) {
    before = f.most / f.size;
    kn_drive_count(s, s->ops->newton(s->c, &t, &f), 0);
    if (f.most <= s->tol * f.size && kn_drive_accept(s, "newton")) return true;
  }
  return false;
}

/* Proximal rounds, with a larger term than near an answer; sweeps move on from where they and the path
   stopped. */
static bool moved_on(kn_drive* s) {
  for (int k = 0, trials = s->c->blocks <= KN_HEAP_PATH_MOST ? 8 : 2; k < trials; k++)
    if (kn_drive_settle(s, 1e-2, 50) || kn_drive_sweeps(s, 20, "gs") || kn_drive_heap(s, 40)) return true;
  return false;
}

/* Heaps from the answer of the step before: some hundred contacts of loose bodies along the central path,
   others by Newton while it lasts; then proximal rounds. */
static bool settled(kn_drive* s) {
  copy(s->w->first, s->c->r, s->c->ld);
  if (kn_drive_sweeps(s, 5, "gs")) return true;
  if (s->p->pairs && s->c->blocks <= KN_HEAP_PATH_MOST) {
    if (quickly(s)) return true;
    restart(s, s->w->first);
    if (kn_drive_heap(s, 40)) return true;
  } else {
    copy(s->w->first, s->c->r, s->c->ld);
    kn_newton_settings t = kn_newton_default(s);
    t.max_steps = 15, t.stall = 4;
    if (kn_drive_newton(s, &t, "newton")) return true;
    restart(s, s->w->first);
  }
  return moved_on(s);
}

static bool searched(kn_drive* s) {
  restart(s, s->w->first);
  if (kn_drive_sweeps(s, s->c->blocks / 2 > 30 ? s->c->blocks / 2 : 30, "gs")) return true;
  copy(s->w->first, s->c->r, s->c->ld);
  kn_newton_settings t = kn_newton_default(s);
  t.halvings = 6;
  t.eps = 1e-8, t.eps_rate = 0.0;
  return kn_drive_newton(s, &t, "newton_ls");
}

/* Newton from zero with a hundred steps that need not lead downhill: a step costs as much as some sweeps, and
   robots that lie on redundant contacts beside dry joints are often solved after thirty steps only. */
static bool patient(kn_drive* s, int halvings, const char* stage) {
  kn_cone_start(s->c, NULL);
  s->ops->velocity(s->c);
  if (kn_drive_sweeps(s, 5, "gs")) return true;
  kn_newton_settings t = kn_newton_default(s);
  t.max_steps = t.stall = 100;
  t.halvings = halvings;
  return kn_drive_newton(s, &t, stage);
}

/* Many contacts: sweeps are cheap beside a factorisation, so ever more of them before each Newton. */
static bool alternate(kn_drive* s) {
  restart(s, s->w->first);
  for (int k = 0, sweeps = 30; k < 4; k++, sweeps *= 3) {
    if (kn_drive_sweeps(s, sweeps, "gs")) return true;
    copy(s->w->first, s->c->r, s->c->ld);
    kn_newton_settings t = kn_newton_default(s);
    t.halvings = k & 1 ? 0 : 6;
    if (kn_drive_newton(s, &t, "newton_ls")) return true;
    restart(s, s->w->first);
  }
  return false;
}

/* Between two methods: the work, or the iterations that were asked for. */
static bool spent(const kn_drive* s) {
  return kn_drive_spent(s) ||
         (s->settings->max_iterations > 0 && s->iterations >= s->settings->max_iterations);
}

/* The path from the best point so far, or from zero; pushed: also from starts beside it. */
static bool path_from(kn_drive* s, bool best, bool pushed) {
  kn_solve_info info;
  double* r = s->w->diagonal; /* scratch once the problem is loaded */
  if (!s->p->W || (best && !(s->best.error < INFINITY))) return false;
  if (best)
    copy(r, s->w->best, s->p->rows);
  else
    memset(r, 0, (size_t)s->p->rows * sizeof *r);
  bool found = kn_path_answer(r, &info, s->p, s->tol, pushed, s->w);
  if (!found) return false;
  s->iterations += info.iterations;
  kn_cone_start(s->c, r);
  s->ops->velocity(s->c);
  return kn_drive_accept(s, "path");
}

bool kn_drive_path(kn_drive* s) { return path_from(s, true, true) || path_from(s, false, true); }

/* From here on only slow methods are left: is what was found enough? */
static bool content(kn_drive* s, const char* stage) {
  kn_drive_accept(s, stage); /* the point the last method left */
  if (s->settings->enough > s->tol) s->tol = s->settings->enough, s->inner = 0.3 * s->tol;
  return s->best.error <= s->tol && s->best.scaled <= s->tol;
}

/* Proximal steps from the best point so far: an interior point leads to the right modes of robots on
   redundant contacts but hardly below 1e-8, these then need a dozen steps. */
static bool polished(kn_drive* s) {
  if (!(s->best.error < 1e-4)) return false;
  kn_cone_start(s->c, s->w->best);
  s->ops->velocity(s->c);
  return kn_drive_proximal(s, 0.01, 5, 10);
}

/* Fallbacks for up to some dozens of contacts, cheapest first. */
static bool small_fallbacks(kn_drive* s) {
  if (searched(s) || spent(s)) return true;
  if (s->settings->warm_start && (patient(s, 0, "newton") || spent(s))) return true;
  if (kn_drive_path(s) || spent(s)) return true; /* from the better point, before what costs milliseconds */
  if (kn_drive_central(s, 100) || polished(s) || spent(s)) return true;
  if (patient(s, 6, "newton_ls") || spent(s)) return true;
  restart(s, s->w->first);
  return kn_drive_proximal(s, 0.01, 5, 40) || spent(s) || content(s, "proximal");
}

static bool large_fallbacks(kn_drive* s) {
  if (content(s, "newton")) return true;
  restart(s, s->w->first);
  if (s->settings->warm_start && s->p->pairs && (kn_drive_heap(s, 40) || moved_on(s) || spent(s)))
    return true;
  if (s->settings->warm_start && (kn_drive_proximal(s, 0.01, 5, 40) || spent(s))) return true;
  return alternate(s) || spent(s) || kn_drive_interior(s, 60) || spent(s);
}

/* Damped Newton steps from the current point, without sweeps: forces that are not determined stay near those of the guess. */
static bool nearby(kn_drive* s) {
  kn_newton_settings t = kn_newton_default(s);
  if (kn_problem_tall(s->p)) return kn_drive_plain(s);
  t.max_steps = 15, t.stall = 5, t.eps_rate = 0.1;
  return kn_drive_newton(s, &t, "newton");
}

/* … then smoothing from the same. */
static bool nearby_smoothed(kn_drive* s) {
  double* r = s->w->center; /* as long as the cone's */
  copy(r, s->c->r, s->c->n);
  if (nearby(s)) return true;
  copy(s->c->r, r, s->c->n);
  return kn_drive_smooth(s, 1e-2, 40);
}

/* The blocks that fewer.c leaves: where a factor of theirs costs a fifth of one of all blocks, all methods together cost less
   than smoothing all blocks; where they are nearly all, each would be tried twice (robots on their backs: 1300 of 2000 factors). */
static bool undecided(kn_drive* s) {
  static const double few = 0.2;
  if (nearby_smoothed(s)) return true;
  if (kn_problem_tall(s->p) || step_work(s->c) > few * s->w->dearest || spent(s)) return false;
  if (patient(s, 0, "newton") || kn_drive_path(s) || spent(s)) return true;
  return kn_drive_central(s, 100) || polished(s) || patient(s, 6, "newton_ls");
}

/* From the answer of the step before, where the modes near it are not those of this one (kn_warm_answer): damped Newton steps
   answer three quarters of these problems after some six; both methods on the blocks that matter beside where they ended nearly
   all others, at a fifth of the price of smoothing all blocks. */
static bool from_guess(kn_drive* s) {
  double* guess = s->w->fewer.guess;
  kn_cone_finish(guess, s->c);
  if (nearby(s) || spent(s)) return true;
  if (kn_drive_fewer(s, undecided) || spent(s)) return true;
  reload(s, guess);
  return kn_drive_smooth(s, 1e-2, 40) || spent(s);
}

/* Undamped from the guess, then from zero; the path from where they end, which is often one mode away. */
static bool once_more(kn_drive* s) {
  reload(s, s->w->fewer.guess);
  copy(s->w->first, s->c->r, s->c->ld);
  if (quick(s, true) || spent(s)) return true;
  if (path_from(s, true, false) || spent(s)) return true;
  kn_cone_start(s->c, NULL);
  s->ops->velocity(s->c);
  return quick(s, false) || spent(s) || path_from(s, true, false) || spent(s);
}

/* Friction with spin and rolling. */
static void tall(kn_drive* s) {
  double* guess = s->w->fewer.guess;
  kn_cone_finish(guess, s->c);
  if (kn_drive_accept(s, "smooth") || kn_drive_fewer(s, undecided) || spent(s)) return;
  for (int k = 0; k < 2; k++) {
    reload(s, k ? NULL : guess);
    if (nearby_smoothed(s) || spent(s)) return;
  }
  if (kn_drive_fewer(s, undecided) || spent(s)) return;
  reload(s, guess);
  kn_drive_path(s);
}

void kn_drive_default(kn_drive* s) {
  if (kn_problem_tall(s->p)) {
    tall(s);
    return;
  }
  bool warm = s->settings->warm_start, large = s->c->sparse || s->c->n > 192;
  if (s->c->sparse && s->tol >= 1e-4) { /* nothing is cheaper than sweeps for so little */
    if (!kn_drive_sweeps(s, 100, "gs")) kn_drive_accept(s, "gs");
    return;
  }
  if (warm && s->c->sparse && s->tol >= 1e-7 && (settled(s) || spent(s))) return;
  if (warm && !large ? from_guess(s) || once_more(s) : quick(s, warm) || spent(s)) return;
  /* before a sequence (keep) the smoothing: its answers lie in the middle of what is possible and serve the next start longer */
  if (!warm && !large && !s->settings->keep && (patient(s, 0, "newton") || spent(s))) return;
  if (!warm && !large && (kn_drive_fewer(s, undecided) || spent(s))) return;
  if (!warm && !large) reload(s, s->w->best);
  if (!large && (kn_drive_smoothed(s) || spent(s))) return;
  if (large ? large_fallbacks(s) : small_fallbacks(s)) return;
  if (kn_drive_spent(s)) return;
  restart(s, s->w->first);
  if (!kn_drive_sweeps(s, affordable(s->w, 1000, sweep_work(s->c)), "gs")) kn_drive_accept(s, "gs");
}

static kn_status check_room(const kn_problem* p, const kn_solver_work* w) {
  if (p->rows > w->rows || p->blocks > w->blocks)
    return kn_fail(KN_NO_ROOM, "problem of %d rows in %d blocks, work made for %d in %d", p->rows, p->blocks,
                   w->rows, w->blocks);
  if (!p->W && p->sparse && p->sparse->start[p->blocks] > w->sparse_blocks)
    return kn_fail(KN_NO_ROOM, "%d stored blocks, work made for %d", p->sparse->start[p->blocks],
                   w->sparse_blocks);
  return KN_OK;
}

static void report(kn_solve_info* info, const kn_drive* s, kn_status status) {
  *info = (kn_solve_info){status, s->stage, s->iterations, s->best.error, s->best.scaled, 0.0, false};
}

/* Block-sparse when there are many blocks and few of them stored; of a full W no more are looked at than that. */
static bool load_sparse(kn_drive* s) {
  kn_solver_work* w = s->w;
  const kn_problem* p = s->p;
  double few = (double)p->blocks * p->blocks / 3.0;
  bool too_large = p->rows > w->dense_rows;
  if (kn_problem_tall(p)) return false;
  if (p->blocks < (p->W ? KN_SPARSE_LEAST_FROM_DENSE : KN_SPARSE_LEAST) || !w->stored) return false;
  if (!too_large && !p->W && p->sparse->start[p->blocks] > few) return false;
  s->c->sparse = &w->sparse;
  kn_cone_scale(s->c, p, w->diagonal);
  int most = p->W && !too_large ? (int)kn_min(w->stored, few) : w->stored;
  if (kn_sparse_load(s->c, p, most) && (too_large || w->sparse.stored <= few)) return true;
  s->c->sparse = NULL;
  return false;
}

/* r = 0 answers every block: all contacts separate. */
static bool zero_solves(const kn_problem* p) {
  for (int b = 0; b < p->blocks; b++) {
    const kn_block* k = &p->block[b];
    double q = p->q[k->row], lo = 0.0, hi = INFINITY;
    if (k->set == KN_SET_FREE) lo = -INFINITY;
    if (k->set == KN_SET_BOX) lo = k->lo, hi = k->hi;
    if (lo > 0.0 || hi < 0.0 || (q < 0.0 && hi > 0.0) || (q > 0.0 && lo < 0.0)) return false;
  }
  return true;
}

static kn_status answer_zero(double* r, kn_solve_info* info, const kn_problem* p,
                             const kn_solve_settings* settings) {
  memset(r, 0, (size_t)p->rows * sizeof *r);
  kn_judgement j = kn_problem_judge(p, r);
  kn_status status = j.error <= settings->tol && j.scaled <= settings->tol ? KN_OK : KN_NOT_CONVERGED;
  *info = (kn_solve_info){status, "zero", 0, j.error, j.scaled, 0.0, false};
  return status;
}

/* Loads the problem and runs one method on it. */
kn_status kn_drive_run(double* r, kn_solve_info* info, const kn_problem* p, const kn_solve_settings* settings,
                       kn_solver_work* w, void (*method)(kn_drive*)) {
  kn_drive s = {.p = p,
                .settings = settings,
                .w = w,
                .c = &w->cone,
                .ops = kn_cone_kernels(),
                .tol = settings->tol,
                .inner = 0.3 * settings->tol,
                .best = {INFINITY, INFINITY},
                .stage = "none"};
  diagonal_of(w->diagonal, p);
  if (!load_sparse(&s) && !load_dense(&s)) return kn_fail(KN_NO_ROOM, "%d rows with a full matrix", p->rows);
  kn_cone_start(s.c, settings->warm_start ? r : NULL);
  s.ops->velocity(s.c);
  method(&s);
  if (!(s.best.error < INFINITY)) kn_drive_accept(&s, "none");
  double tol = settings->tol; /* not what the fallbacks were content with */
  bool solved = s.best.error <= tol && s.best.scaled <= tol;
  kn_cone_start(s.c, solved || !kn_drive_spent(&s) ? NULL : w->best);
  /* nothing finite was found, or only what ran away when the work was spent: zero, judged like anything else */
  if (!(s.best.error < INFINITY) || kn_cone_wild(s.c)) {
    memset(w->best, 0, (size_t)p->rows * sizeof(double));
    s.best = kn_problem_judge(p, w->best);
  }
  kn_status status = s.best.error <= tol && s.best.scaled <= tol ? KN_OK : KN_NOT_CONVERGED;
  copy(r, w->best, p->rows);
  report(info, &s, status);
  return status;
}

kn_solve_settings kn_solve_default(void) {
  return (kn_solve_settings){.solver = "driver", .tol = 1e-10, .max_iterations = 0, .warm_start = false};
}

static kn_status check_guess(const double* r, int n) {
  int i = kn_first_not_finite(r, n);
  return i < n ? kn_fail(KN_NOT_FINITE, "warm start: r(%d) is %g", i, r[i]) : KN_OK;
}

/* The driver's shortcuts: nothing touches, or the old answer nearly fits. */
static bool shortcut(double* r, kn_solve_info* info, const kn_problem* p, const kn_solve_settings* settings,
                     kn_solver_work* w) {
  if (zero_solves(p) && answer_zero(w->best, info, p, settings) == KN_OK) {
    copy(r, w->best, p->rows);
    return true;
  }
  if (!kn_problem_tall(p) && kn_flat_answer(r, info, p, settings->tol, settings->warm_start, w)) return true;
  if (settings->warm_start && !settings->keep && kn_stick_answer(r, info, p, settings)) return true;
  return settings->warm_start && kn_warm_answer(r, info, p, settings, w);
}

static kn_status checked_solve(double* r, kn_solve_info* info, const kn_problem* p,
                               const kn_solve_settings* settings, kn_solver_work* w) {
  KN_REQUIRE(w != NULL && settings->tol > 0.0 && settings->max_iterations >= 0);
  KN_TRY(kn_problem_check_blocks(p));
  KN_TRY(check_room(p, w));
  const kn_cone_solver* solver = settings->solver ? kn_cone_solver_find(settings->solver) : kn_cone_solvers();
  if (!solver) return kn_fail(KN_NOT_FOUND, "no cone solver named '%s'", settings->solver);
  *info = (kn_solve_info){.status = KN_OK, .solver = "empty"};
  if (p->rows == 0) return KN_OK;
  KN_REQUIRE(r != NULL);
  if (settings->warm_start) KN_TRY(check_guess(r, p->rows));
  w->cone.sparse = NULL;
  if (!settings->keep && !settings->again) kn_warm_forget(w);
  if (p->W && solver == kn_cone_solvers() && shortcut(r, info, p, settings, w))
    return info->direct = true, KN_OK;
  *info = (kn_solve_info){.solver = "none", .residual = INFINITY, .residual_scaled = INFINITY};
  KN_TRY(kn_problem_check(p));
  if (!p->W && solver == kn_cone_solvers() && shortcut(r, info, p, settings, w))
    return info->direct = true, KN_OK;
  bool tall = kn_problem_tall(p);
  if (tall && !solver->tall)
    return kn_fail(KN_UNSUPPORTED, "solver '%s' knows no friction with spin or rolling: use auto or smooth",
                   solver->name);
  kn_status status = solver->solve(r, info, p, settings, w);
  if (status == KN_OK && settings->keep) kn_warm_keep(r, p, w);
  if (status == KN_NOT_CONVERGED)
    kn_fail(status, "best point has error %.3g, scaled %.3g; asked for %.3g", info->residual,
            info->residual_scaled, settings->tol);
  return status;
}

kn_status kn_problem_solve(double* r, kn_solve_info* info, const kn_problem* p,
                           const kn_solve_settings* settings, kn_solver_work* w) {
  kn_solve_settings standard = kn_solve_default();
  kn_solve_info own;
  if (!info) info = &own;
  *info = (kn_solve_info){.solver = "none", .residual = INFINITY, .residual_scaled = INFINITY};
  if (!settings) settings = &standard;
  double start = settings->untimed ? 0.0 : kn_wall_seconds();
  if (w) w->work = w->dearest = 0.0;
  info->status = checked_solve(r, info, p, settings, w);
  if (w) kn_solver_work_leave(w);
  if (!settings->untimed) info->time = kn_wall_seconds() - start;
  return info->status;
}
