/* A warm start near the old answer: most blocks stay what they are, open, sticking, slipping, or a line
   inside or at its bounds. With these modes fixed the rest is Newton's method on

     u_N = 0, u_T = 0 (stick);   u_N = 0, t.u_T = 0, |r_T| = mu r_N (slip, unknowns r_N and the angle of d; with
     spin and rolling friction r_T has up to five components and d as many angles less one),

   and one factor of its matrix serves several steps (chord method: near the answer each step leaves as large
   a part of the error as the slip directions turn). In original units: elimination without exchanges does not
   care about the scale of rows and columns. A term eps diag W makes every step proximal, so that dependent
   rows are ordinary and r stays next to the guess. With settings.keep the factor stays in the work object,
   and the next warm start whose modes are the same begins its steps with that one: each costs two products
   instead of a factor, and what they reach is judged like anything else; likewise with settings.again, where only q
   is another. Where steps gain too little, or the
   judge says that the modes were wrong, modes and matrix are taken anew, at most twice; whatever the judge
   does not accept then goes to the driver. */
#include "comp/cone/warm_modes.h"
#include "base/extreme.h"

#include <string.h>

#include "comp/cone/driver.h"

/* Of the path and of the steps of problems with dry joints, so that one factor serves both; less, and dependent rows that
   contradict each other by rounding drive r away. The others, which seldom change modes, save a step with less. */
static const double eps = 1e-6, eps_least = 1e-8;
/* How far unloaded rows start from zero on the path, as a part of the largest velocity: those that look wrong would all change at
   t = 0 otherwise, in the order of their numbers, and the largest should come first. */
static const double apart = 1e-5;
/* Cosine: by how much a slipping contact may have turned since the factor that steps go on with. */
static const double turned_far = 0.9999;

typedef struct warm {
  kn_warm_system* s;
  const kn_warm_ops* ops;
  const kn_problem* p;
  kn_solver_work* work;
  double *r, *u, *spare; /* n each: in the problem's rows */
  double term;           /* of D, added to A */
  double size;           /* largest weighted q or r, squared */
  int steps;
  bool whole;   /* rows are those of the problem, and the factor is an old one */
  bool as_were; /* modes are those the impulses show, whatever the velocities say */
  bool turns;   /* paths may turn back: the driver's, which takes any answer */
} warm;

static const kn_warm_ops* kernels(void) { return KN_BEST(&kn_warm_ops); }

/* ---- modes ---- */

static kn_warm_block* add(warm* w, int block, int rows, int unknowns) {
  kn_warm_system* s = w->s;
  kn_warm_block* k = &s->block[s->blocks++];
  *k = (kn_warm_block){.block = block, .row = w->p->block[block].row, .rows = rows, .unknowns = unknowns};
  return k;
}

/* Writes x to r; true when that changed it. */
static bool put(double* r, double x) {
  bool changed = *r != x;
  *r = x;
  return changed;
}

static bool line(warm* w, int block, double diagonal) {
  const kn_block* b = &w->p->block[block];
  double *r = w->r + b->row, u = w->u[b->row], y = diagonal > 0.0 && !w->as_were ? *r - u / diagonal : *r;
  double lo = b->set == KN_SET_FREE ? -INFINITY : b->set == KN_SET_BOX ? b->lo : 0.0;
  double hi = b->set == KN_SET_BOX ? b->hi : INFINITY;
  if (!(y > lo && y < hi)) return put(r, y <= lo ? lo : hi);
  add(w, block, 1, 1);
  return false;
}

/* A slipping contact keeps its direction; one that begins to slip takes that of y. */
static bool slip(warm* w, int block, int rows, double h, const double* y) {
  kn_warm_block* k = add(w, block, rows, rows - 1);
  double *r = w->r + k->row, *u = w->u + k->row;
  double mu = w->p->block[block].mu, length = sqrt(kn_warm_along(r + 1, r + 1, rows));
  bool slid = r[0] > 0.0 && fabs(length - mu * r[0]) <= 1e-6 * mu * r[0];
  double inv = 1.0 / (slid ? length : sqrt(kn_warm_along(y, y, rows)));
  k->slip = true, k->mu = mu;
  for (int i = 0; i + 1 < rows; i++) k->d[i] = (slid ? r[1 + i] : y[i]) * inv;
  kn_warm_turn_across(k);
  if (!slid) {
    if (!(r[0] > 0.0)) r[0] = h;
    for (int i = 1; i < rows; i++) r[i] = mu * r[0] * k->d[i - 1];
  }
  double along = -kn_warm_along(k->d, u + 1, rows);
  k->a = along > 0.0 ? along / (mu * r[0]) : 0.0;
  return !slid;
}

/* Mean W_TT of a contact: the unit of its tangential impulses. */
static double tangential_mass(const double* diagonal, int n, int rows) {
  if (rows == 3) return 0.5 * (diagonal[n + 1] + diagonal[2 * n + 2]);
  double sum = diagonal[n + 1];
  for (int i = 2; i < rows; i++) sum += diagonal[i * (n + 1)];
  return rows == 2 ? sum : sum / (rows - 1);
}

/* Compare cone_kernel.h, classify_cone: rho = 1 in scaled units. */
static bool cone(warm* w, int block, int rows, const double* diagonal) {
  const kn_block* b = &w->p->block[block];
  int n = w->p->rows;
  double *r = w->r + b->row, *u = w->u + b->row;
  double wn = diagonal[0], wt = tangential_mass(diagonal, n, rows);
  double h = w->as_were ? r[0] : r[0] - u[0] / wn, y[KN_WARM_WAYS];
  for (int i = 1; i < rows; i++) y[i - 1] = w->as_were ? r[i] : r[i] - u[i] / wt;
  double radius = w->as_were ? b->mu * h * (1.0 - 1e-9) : b->mu * h;
  bool changed = false, open = !(h > 0.0);
  if (open || b->mu == 0.0) {
    if (open) changed = put(r, 0.0);
    for (int i = 1; i < rows; i++) changed |= put(r + i, 0.0);
    if (!open) add(w, block, 1, 1);
    return changed;
  }
  if (!(kn_warm_along(y, y, rows) <= radius * radius)) return slip(w, block, rows, h, y);
  add(w, block, rows, rows);
  return false;
}

/* What blocks without load add to the velocities: boxes at a bound other than zero. */
static void fixed_part(warm* w, bool any) {
  kn_warm_system* s = w->s;
  const double* q = w->p->q;
  if (any) {
    memcpy(w->spare, w->r, (size_t)s->n * sizeof *w->spare);
    for (int b = 0; b < s->blocks; b++)
      for (int i = 0; i < s->block[b].rows; i++) w->spare[s->block[b].row + i] = 0.0;
    w->ops->velocities(w->u, s, w->spare, q);
    q = w->u;
  }
  for (int b = 0; b < s->blocks; b++)
    for (int i = 0; i < s->block[b].rows; i++) s->q[s->block[b].own + i] = q[s->block[b].row + i];
}

/* Rows with load by themselves. */
static void compress(warm* w, bool changed, bool fixed) {
  kn_warm_system* s = w->s;
  s->m = s->rows = 0;
  for (int b = 0; b < s->blocks; b++) {
    kn_warm_block* k = &s->block[b];
    k->own = s->rows, k->at = s->m;
    s->rows += k->rows, s->m += k->unknowns;
  }
  s->ld = ((s->rows + 7) & ~7) + 8;
  w->ops->compress(s);
  for (int b = 0; b < s->blocks; b++)
    for (int i = 0; i < s->block[b].rows; i++) {
      s->r[s->block[b].own + i] = w->r[s->block[b].row + i];
      s->u[s->block[b].own + i] = w->u[s->block[b].row + i];
    }
  for (int i = s->rows; i < s->ld; i++) s->r[i] = 0.0;
  for (int i = 0; i < s->ld; i++) s->base[i] = changed ? 0.0 : s->r[i];
  if (!changed) {
    memcpy(s->q, s->u, (size_t)s->rows * sizeof *s->q);
    return;
  }
  fixed_part(w, fixed);
  w->ops->velocity(s);
}

/* The factor at hand in the modes of s->block; false: a new one is due. */
static bool follows(kn_warm_system* s, const kn_warm_ops* ops, int blocks) {
  if (!s->has_factor || s->held_rows != s->n || s->term > eps) return false;
  for (int b = 0, next = 0; b < blocks; b++) {
    kn_warm_block none = {.block = b},
                  *w = next < s->blocks && s->block[next].block == b ? &s->block[next++] : &none;
    if (!kn_warm_take(s, ops, w, turned_far)) return false;
  }
  if (!kn_warm_taken(s)) return false;
  for (int b = 0; b < s->blocks; b++) s->block[b].at = kn_warm_held(s, s->block[b].block)->at;
  return true;
}

/* All rows, for an old factor. */
static void take_whole(warm* w, bool changed) {
  kn_warm_system* s = w->s;
  for (int b = 0; b < s->blocks; b++) s->block[b].own = s->block[b].row;
  memcpy(s->r, w->r, (size_t)s->n * sizeof *s->r);
  memcpy(s->u, w->u, (size_t)s->n * sizeof *s->u);
  memcpy(s->q, w->p->q, (size_t)s->n * sizeof *s->q);
  if (changed) w->ops->velocity_whole(s);
}

/* From r and u; r is moved onto the modes, and u with it where there is load. False: a contact without mass.
 */
static bool classify(warm* w, bool old) {
  const kn_problem* p = w->p;
  size_t n = (size_t)p->rows;
  bool changed = false, fixed = false;
  w->s->blocks = 0;
  for (int b = 0; b < p->blocks; b++) {
    int before = w->s->blocks;
    const double* diagonal = p->W + (size_t)p->block[b].row * n + p->block[b].row;
    int rows = kn_set_rows(p->block[b].set);
    double tangential = rows == 1 ? 1.0 : rows == 2 ? diagonal[n + 1] : diagonal[n + 1] + diagonal[2 * n + 2];
    if (!(tangential > 0.0) || (rows > 1 && !(diagonal[0] > 0.0))) return false;
    changed |= rows == 1 ? line(w, b, diagonal[0]) : cone(w, b, rows, diagonal);
    fixed |= before == w->s->blocks && w->r[p->block[b].row] != 0.0;
  }
  w->whole = old && follows(w->s, w->ops, p->blocks);
  if (w->whole)
    take_whole(w, changed);
  else
    compress(w, changed, fixed);
  return true;
}

/* ---- steps ---- */

/* The residual of the unknowns; returns the largest weighted square. */
static double residual(warm* w) {
  double most = 0.0;
  for (int b = 0; b < w->s->blocks; b++) {
    const kn_warm_block* k = &w->s->block[b];
    const double *u = w->s->u + k->own, *weight = w->s->weight + k->row;
    double* x = w->s->x + k->at;
    x[0] = u[0];
    for (int i = 1; i < k->unknowns; i++) x[i] = k->slip ? kn_warm_across(k, i, u + 1) : u[i];
    for (int i = 0; i < k->unknowns; i++) most = kn_max(x[i] * x[i] * weight[i], most);
  }
  return most;
}

static void measure(warm* w) {
  const kn_warm_system* s = w->s;
  double velocity = 0.0, impulse = 0.0;
  for (int b = 0; b < s->blocks; b++)
    for (int i = 0; i < s->block[b].unknowns; i++) {
      int row = s->block[b].row + i;
      double q = w->p->q[row], r = s->r[s->block[b].own + i];
      velocity = kn_max(q * q * s->weight[row], velocity), impulse = kn_max(r * r * s->D[row], impulse);
    }
  w->size = kn_max(impulse, velocity);
}

static bool factor(warm* w) {
  w->ops->matrix(w->s);
  measure(w);
  return kn_warm_factor(w->s, w->ops, w->term);
}

/* d after a step x from friction of this size. */
static void turned(kn_warm_block* k, const double* x, double size) {
  double back[KN_SET_ROWS_MOST];
  for (int i = 1; i < k->unknowns; i++) back[i] = -x[i];
  for (int i = 0; i + 1 < k->rows; i++) k->d[i] *= size;
  kn_warm_add_across(k, back, k->d);
  double inv = 1.0 / sqrt(kn_warm_along(k->d, k->d, k->rows));
  for (int i = 0; i + 1 < k->rows; i++) k->d[i] *= inv;
  kn_warm_turn_across(k);
}

/* r - x; slipping contacts stay on their cones and turn. False: one of them opens. */
static bool move(warm* w) {
  for (int b = 0; b < w->s->blocks; b++) {
    kn_warm_block* k = &w->s->block[b];
    const double* x = w->s->x + k->at;
    double* r = w->s->r + k->own;
    if (!k->slip) {
      for (int i = 0; i < k->unknowns; i++) r[i] -= x[i];
      continue;
    }
    double old = k->mu * r[0];
    r[0] -= x[0];
    if (!(r[0] > 0.0)) return false;
    if (k->unknowns > 1) turned(k, x, old);
    for (int i = 1; i < k->rows; i++) r[i] = k->mu * r[0] * k->d[i - 1];
  }
  return true;
}

/* a at the present point. */
static void turn(warm* w) {
  for (int b = 0; b < w->s->blocks; b++) {
    kn_warm_block* k = &w->s->block[b];
    const double* u = w->s->u + k->own;
    double along = k->unknowns > 1 && k->slip ? -kn_warm_along(k->d, u + 1, k->rows) : 0.0;
    k->a = along > 0.0 ? along / (k->mu * w->s->r[k->own]) : 0.0;
  }
}

/* Is a new factor cheaper than going on? Steps with the old one gain `gain` (of the squares) each; from a new
   one, with the directions of now, they gain its square. A factor costs as much as `price` steps. */
static bool worth(const warm* w, double f, double goal, double gain) {
  double price = w->s->m < 16 ? 2.0 : w->s->m < 40 ? 3.0 : 4.0;
  double ahead = goal;
  int steps = 0, newer = 0;
  for (double x = f; x > ahead && steps < 12; x *= gain) steps++;
  for (double x = f; x > ahead && newer < 12; x *= gain * gain) newer++;
  return steps - newer > price;
}

enum way { THERE, ELSEWHERE, SLOW }; /* ELSEWHERE: a contact opens */

/* Steps until the weighted residual is below tol, few factors, none beside an old one. */
static enum way chord(warm* w, double tol) {
  double f = INFINITY, goal = tol * tol * w->size;
  for (int k = 0, age = 0, factors = 1; k < 12; k++, w->steps++) {
    double before = f;
    f = residual(w);
    if (f <= (k >= 2 ? 1.0 : 1e-4) * goal) return THERE; /* the first step leaves eps of what it moved */
    if (!(f < INFINITY)) return SLOW;
    if (k >= 2 && f > 0.1 * before) return f <= 1e2 * goal ? THERE : SLOW; /* rounding: let the judge say */
    if (age >= 1 && factors < 4 && worth(w, f, goal, f / before)) {
      if (w->whole) return SLOW;
      turn(w);
      if (!factor(w)) return SLOW;
      age = 0, factors++;
    }
    kn_warm_solve(w->s, w->ops);
    if (!move(w)) return ELSEWHERE;
    age++;
    if (k >= 1 && f * (f / before) <= 0.1 * goal) return w->steps++, THERE; /* surely there */
    if (w->whole)
      w->ops->velocity_whole(w->s);
    else
      w->ops->velocity(w->s);
  }
  return residual(w) <= goal ? THERE : SLOW;
}

static void expand(warm* w) {
  for (int b = 0; b < w->s->blocks; b++)
    for (int i = 0; i < w->s->block[b].rows; i++)
      w->r[w->s->block[b].row + i] = w->s->r[w->s->block[b].own + i];
}

/* Largest response of a row to its own impulse. */
static double response(const double* r, const kn_problem* p) {
  double most = 0.0;
  size_t step = (size_t)p->rows + 1;
  for (int i = 0; i < p->rows; i++) most = kn_max(fabs(r[i]) * p->W[(size_t)i * step], most);
  return most;
}

/* Impulses that mostly cancel each other have responses far above every velocity of the problem. Such a guess
   is kept, but none grows from here. */
static bool moderate(const double* r, const double* guess, const kn_problem* p) {
  double velocity = 0.0, own = response(r, p);
  for (int i = 0; i < p->rows; i++) velocity = kn_max(fabs(p->q[i]), velocity);
  return own <= 1e2 * velocity || own <= 1.1 * response(guess, p);
}

static bool judged(kn_solve_info* info, const warm* w, const double* guess, double tol) {
  if (!moderate(w->r, guess, w->p)) return false;
  kn_judgement j = kn_problem_judge(w->p, w->r);
  *info = (kn_solve_info){KN_OK, "warm", w->steps, j.error, j.scaled, 0.0, false};
  return j.error <= tol && j.scaled <= tol;
}

static bool has_boxes(const kn_problem* p) {
  for (int b = 0; b < p->blocks; b++)
    if (p->block[b].set == KN_SET_BOX) return true;
  return false;
}

static bool begin(warm* w, const double* r, const kn_problem* p, kn_solver_work* work) {
  int n = p->rows;
  if (!p->W || n > KN_WARM_ROWS || n > work->dense_rows) return false;
  *w = (warm){.s = work->warm,
              .ops = kernels(),
              .p = p,
              .work = work,
              .r = work->point,
              .u = work->q0,
              .spare = work->center};
  w->term = has_boxes(p) ? eps : eps_least;
  w->s->n = n, w->s->W_in = p->W;
  kn_warm_measure(w->s, p);
  memcpy(w->r, r, (size_t)n * sizeof *r);
  return true;
}

/* The factor of the present modes: an old one, or made now. */
static bool ready_to_step(warm* w) {
  if (!w->whole) return factor(w);
  measure(w);
  return true;
}

/* The modes that the impulses of `from` show. q has moved by dt times the forces' change, which is large
   beside the velocities of nearly stuck dry joints (boxes), so that r - u/W often looks wrong where the modes
   are right. old: with the factor at hand where that is quick. */
static bool as_they_were(double* r, kn_solve_info* info, warm* w, const double* from, double tol, bool old) {
  size_t bytes = (size_t)w->p->rows * sizeof *r;
  memcpy(w->r, from, bytes);
  w->as_were = true;
  w->ops->velocities(w->u, w->s, w->r, w->p->q);
  enum way way = classify(w, old) && ready_to_step(w) ? chord(w, 0.3 * tol) : SLOW;
  w->as_were = false;
  if (way == SLOW && w->whole) return as_they_were(r, info, w, from, tol, false);
  if (way != THERE) return false;
  expand(w);
  if (!judged(info, w, r, tol)) return false;
  memcpy(r, w->r, bytes);
  return true;
}

/* One change of mode at a time (path.c) from a guess, then the modes at the end of the path. Slipping contacts turn on
   the way, so that its end is near the answer only: from there again, as long as the way leads on. Where dependent rows
   contradict each other by a little, only ever smaller terms send r far enough to change a mode. */
static bool followed_from(double* r, kn_solve_info* info, warm* w, kn_path* path, const double* from,
                          double tol, double push, int most) {
  enum { PASSES = 6 };
  size_t bytes = (size_t)w->p->rows * sizeof *r;
  double term = eps;
  int events = 0, all = 0;
  memcpy(w->r, from, bytes);
  for (int pass = 0; pass < PASSES; pass++, push = 0.0) {
    int few = kn_solver_work_events(w->work, most, w->p->rows);
    bool there = kn_path_follow(w->r, path, w->s, w->ops, w->p, push, term, w->turns, few, &events);
    kn_solver_work_walk(w->work, events + 1, w->p->rows);
    if (!there) break;
    if (!moderate(w->r, r, w->p)) break;
    all += events;
    if (events == 0 && term > 1e-12) term *= 1e-2;
    memcpy(path->end, w->r, bytes);
    bool answered = as_they_were(r, info, w, path->end, tol, true);
    memcpy(w->r, path->end, bytes);
    if (!answered && events == 0 && (answered = judged(info, w, r, tol))) memcpy(r, w->r, bytes);
    if (!answered && kn_solver_work_spent(w->work)) break;
    if (!answered) continue;
    info->solver = "path", info->iterations += all;
    return true;
  }
  memcpy(w->r, r, bytes);
  return false;
}

/* From starts that are moved off a place where the path failed. */
static bool followed_pushed(double* r, kn_solve_info* info, warm* w, kn_path* path, double tol, int most) {
  static const double push[] = {1e-2, 1e-1, 1.0};
  for (size_t i = 0; i < sizeof push / sizeof *push && !kn_solver_work_spent(w->work); i++)
    if (followed_from(r, info, w, path, r, tol, push[i], most)) return true;
  return false;
}

static bool followed(double* r, kn_solve_info* info, warm* w, kn_path* path, double tol, int most) {
  memcpy(w->r, r, (size_t)w->p->rows * sizeof *r);
  return judged(info, w, r, tol) || followed_from(r, info, w, path, r, tol, apart, most);
}

bool kn_path_answer(double* r, kn_solve_info* info, const kn_problem* p, double tol, bool pushed,
                    kn_solver_work* work) {
  warm w;
  if (!begin(&w, r, p, work) || !kn_all_finite(r, p->rows)) return false;
  kn_warm_forget(work);
  w.turns = true;
  return followed(r, info, &w, work->path, tol, 4 * p->blocks) ||
         (pushed && followed_pushed(r, info, &w, work->path, tol, 4 * p->blocks));
}

/* An answer at the edge between two modes may show the wrong ones. */
static bool already_there(const double* r, kn_solve_info* info, warm* w, double tol) {
  size_t bytes = (size_t)w->p->rows * sizeof *r;
  memcpy(w->work->path->end, w->r, bytes);
  memcpy(w->r, r, bytes);
  bool yes = judged(info, w, r, tol);
  memcpy(w->r, w->work->path->end, bytes);
  return yes;
}

bool kn_warm_answer(double* r, kn_solve_info* info, const kn_problem* p, const kn_solve_settings* settings,
                    kn_solver_work* work) {
  enum { WARM_EVENTS = 60, EVENTS_AGAIN = 12 };
  warm w;
  int n = p->rows;
  if (!begin(&w, r, p, work)) return false;
  if (settings->keep) kn_warm_renew(w.s);
  bool boxes = has_boxes(p) && !settings->keep;
  if (boxes && (as_they_were(r, info, &w, r, settings->tol, settings->again) ||
                followed_from(r, info, &w, work->path, r, settings->tol, apart, WARM_EVENTS)))
    return true;
  int olds = settings->keep ? 2 : settings->again && !boxes ? 1 : 0;
  int rounds = boxes ? 1 : 3; /* of natural modes; those of nearly stuck joints are mostly wrong */
  for (int round = 0; round < rounds && kn_all_finite(w.r, n); round++) {
    w.ops->velocities(w.u, w.s, w.r, p->q);
    if (!classify(&w, olds > 0)) return false;
    if (w.whole) olds--, round--;
    if (!ready_to_step(&w)) break;
    enum way way = chord(&w, 0.3 * settings->tol);
    expand(&w);
    if (way == SLOW && w.whole) olds = 0;
    if (way == THERE && judged(info, &w, r, settings->tol)) {
      memcpy(r, w.r, (size_t)n * sizeof *r);
      return true;
    }
    if (round == 0 && !boxes && already_there(r, info, &w, settings->tol)) return true;
  }
  if (settings->keep) return false;
  if (!boxes) return followed(r, info, &w, work->path, settings->tol, WARM_EVENTS);
  if (!kn_all_finite(w.r, n)) return false; /* the guess has been followed: now from where the rounds ended */
  memcpy(work->path->end, w.r, (size_t)n * sizeof *r);
  return followed_from(r, info, &w, work->path, work->path->end, settings->tol, apart, EVENTS_AGAIN);
}

void kn_warm_forget(kn_solver_work* work) { work->warm->has_factor = false; }

void kn_warm_keep(const double* r, const kn_problem* p, kn_solver_work* work) {
  warm w;
  if (!begin(&w, r, p, work)) return;
  w.ops->velocities(w.u, w.s, w.r, p->q);
  if (classify(&w, false)) factor(&w);
}
