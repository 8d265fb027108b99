/* Stages 5 to 7 for one set of rows: the formulation makes the problem, rows that hold velocities as unknowns
   (mc, nmc) are eliminated, the solver answers, the judge's residual goes into the solution, and the
   formulation recovers v⁺. With theta > 0 (decompression) the normal rows are doubled, so that friction is
   bounded by the whole recovered impulse (contact/impact/impact.c). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/extreme.h"
#include "base/fours.h"
#include "contact/formulation/formulation.h"
#include "math/dense.h"

kn_status kn_contact_begin(kn_contact_work* w, const kn_constraints* set, int first, int count) {
  static const kn_row_tag none;
  const kn_row_tag* tag = count ? &set->tag[first] : &none;
  const kn_row_tag* last = count ? &set->tag[first + count - 1] : &none;
  int row0 = tag->row, block0 = tag->block;
  w->geometry = set->geometry + first;
  w->count = count;
  w->solved = false;
  w->rows = last->row + last->rows - row0;
  w->extra = kn_formulation_extra(w->formulation, w->model);
  w->total = w->extra + w->rows;
  w->velocities = w->formulation->velocities ? w->formulation->velocities(w->model) : 0;
  if (w->rows > w->max_rows)
    return kn_fail(KN_NO_ROOM, "%d rows in an island, room for %d", w->rows, w->max_rows);
  w->nblock = w->extra;
  for (int i = 0; i < w->extra; i++) w->block[i] = (kn_block){.set = KN_SET_FREE, .row = i};
  for (int b = block0; b < last->block + last->blocks; b++) {
    const kn_block* from = &set->block[b];
    kn_block* to = &w->block[w->nblock++];
    to->set = from->set, to->row = from->row + w->extra - row0;
    to->mu = kn_apart(from->mu), to->lo = kn_apart(from->lo), to->hi = kn_apart(from->hi);
  }
  return w->formulation->prepare(w);
}

/* The square system a cone solver gets: the problem itself, or what is left of it when velocities are
 * eliminated. */
typedef struct system {
  int n, free; /* rows; free rows in front of the contact rows */
  int nblock;
  double *W, *q, *r;
  kn_block* block;
  int room; /* rows that fit */
} system_t;

/* Velocity rows: u_a = A r_a - Bᵀ r_b + q_a = 0 with A = M > 0. Eliminated, r_a = A⁻¹ (Bᵀ r_b - q_a) and the
   rest is u_b = B A⁻¹ Bᵀ r_b + q_b - B A⁻¹ q_a. Hinge and loop rows may then be redundant. */
static void eliminate(system_t* s, kn_contact_work* w) {
  int na = w->velocities, n = w->total, m = n - na;
  double *K = w->reduced.K, *Z = w->reduced.Z, *y = w->reduced.Z + (size_t)na * m;
  for (int i = 0; i < na; i++) memcpy(K + (size_t)i * na, w->W + (size_t)i * n, (size_t)na * sizeof(double));
  kn_cholesky_factor(na, K, na, 0.0);
  kn_cholesky_solve(na, y, K, na, w->q);
  for (int i = 0; i < m; i++) {
    const double* B = w->W + (size_t)(na + i) * n;
    kn_cholesky_solve(na, Z + (size_t)i * na, K, na, B);
    w->reduced.q[i] = w->q[na + i] - kn_dot(na, B, y);
  }
  for (int i = 0; i < m; i++)
    for (int j = 0; j <= i; j++)
      w->reduced.W[(size_t)i * m + j] = w->reduced.W[(size_t)j * m + i] =
          kn_dot(na, w->W + (size_t)(na + i) * n, Z + (size_t)j * na);
  for (int b = na; b < w->nblock; b++) {
    w->reduced.block[b - na] = w->block[b];
    w->reduced.block[b - na].row -= na;
  }
  *s = (system_t){.n = m,
                  .free = w->extra - na,
                  .nblock = w->nblock - na,
                  .W = w->reduced.W,
                  .q = w->reduced.q,
                  .r = w->reduced.r,
                  .block = w->reduced.block,
                  .room = w->max_total - na};
}

static void restore(kn_contact_work* w, const system_t* s) {
  int na = w->velocities;
  const double *Z = w->reduced.Z, *y = w->reduced.Z + (size_t)na * s->n;
  for (int i = 0; i < na; i++) w->r[i] = -y[i];
  for (int i = 0; i < s->n; i++) {
    w->r[na + i] = s->r[i];
    kn_axpy(na, w->r, s->r[i], Z + (size_t)i * na);
  }
}

static bool has_theta(const system_t* s, const kn_block* c, const double* theta) {
  return c->set >= KN_SET_CONE3 && theta[c->row - s->free] > 0.0;
}

/* Decompression with the true cone as an ordinary problem of twice the contacts: the given impulse θ n is the
   normal impulse of a second contact at the same place whose normal row is r_N - θ = 0 and whose friction is
   bounded by mu θ. Both oppose the same slip, so together they are bounded by mu (λ_n + θ_n). Returns the
   rows, -1 when they do not fit. */
static int doubled(system_t* s, const double* theta) {
  int n = s->n, rows = n, nblock = s->nblock;
  for (int b = s->free; b < nblock; b++)
    if (has_theta(s, &s->block[b], theta)) rows += kn_set_rows(s->block[b].set);
  if (rows > s->room) return -1;
  for (int i = n - 1; i >= 0; i--) { /* widen in place, last row first */
    memmove(s->W + (size_t)i * rows, s->W + (size_t)i * n, (size_t)n * sizeof(double));
    memset(s->W + (size_t)i * rows + n, 0, (size_t)(rows - n) * sizeof(double));
  }
  memset(s->W + (size_t)n * rows, 0, (size_t)(rows - n) * rows * sizeof(double));
  for (int b = s->free, at = n; b < nblock; b++) {
    const kn_block* c = &s->block[b];
    if (!has_theta(s, c, theta)) continue;
    double scale = s->W[(size_t)c->row * rows + c->row]; /* any positive number: r_N = θ */
    int size = kn_set_rows(c->set);
    s->block[s->nblock++] = (kn_block){.set = c->set, .row = at, .mu = c->mu};
    s->W[(size_t)at * rows + at] = scale;
    s->q[at] = -scale * theta[c->row - s->free];
    for (int k = 1; k < size; k++) { /* tangential rows and columns repeat the contact's own */
      s->q[at + k] = s->q[c->row + k];
      memcpy(s->W + (size_t)(at + k) * rows, s->W + (size_t)(c->row + k) * rows, (size_t)at * sizeof(double));
    }
    for (int i = 0; i < at + size; i++)
      for (int k = 1; k < size; k++) s->W[(size_t)i * rows + at + k] = s->W[(size_t)i * rows + c->row + k];
    for (int k = 1; k < size; k++) s->W[(size_t)at * rows + at + k] = 0.0;
    at += size;
  }
  return rows;
}

/* Undoes the widening and folds the second contacts' friction into the first. */
static void fold(system_t* s, const double* theta, int rows, int nblock) {
  for (int b = s->free, at = s->n; b < nblock; b++) {
    const kn_block* c = &s->block[b];
    if (!has_theta(s, c, theta)) continue;
    int size = kn_set_rows(c->set);
    for (int k = 1; k < size; k++) s->r[c->row + k] += s->r[at + k];
    at += size;
  }
  for (int i = 0; i < s->n; i++)
    memmove(s->W + (size_t)i * s->n, s->W + (size_t)i * rows, (size_t)s->n * sizeof(double));
  s->nblock = nblock;
}

static bool is_auto(const char* name) {
  return name[0] == 'a' && name[1] == 'u' && name[2] == 't' && name[3] == 'o' && name[4] == 0;
}

static kn_solve_settings settings_of(const kn_contact_work* w, bool warm, double tolerance) {
  kn_solve_settings settings = kn_solve_default();
  settings.solver = NULL; /* the first of the list, without a search for its name */
  settings.tol = tolerance;
  settings.enough = w->large.is_sparse && w->nblock > 200
                        ? 1e-6
                        : 1e-8; /* once only slow methods are left; more for heaps of hundreds */
  settings.warm_start = warm;
  settings.untimed = true;
  if (w->large.is_sparse && tolerance >= KN_LOOSE) settings.max_iterations = 100; /* no slow fallbacks */
  return settings;
}

static kn_status solve_cone(kn_contact_solution* out, kn_contact_work* w, const double* theta, bool warm,
                            double tolerance, const char* solver) {
  system_t s = {.n = w->total,
                .free = w->extra,
                .nblock = w->nblock,
                .W = w->W,
                .q = w->q,
                .r = w->r,
                .block = w->block,
                .room = w->large.max_dense};
  if (w->velocities) {
    eliminate(&s, w);
    memcpy(s.r, w->r + w->velocities, (size_t)s.n * sizeof(double));
  }
  bool chosen = solver && !is_auto(solver);
  bool sparse = w->large.is_sparse;
  int nblock = s.nblock, rows = s.n;
  if (theta && sparse)
    KN_TRY(kn_twins_make(&rows, w, theta));
  else if (theta)
    rows = doubled(&s, theta);
  if (rows < 0) return kn_fail(KN_NO_ROOM, "decompression needs more rows: raise max_contacts");
  kn_problem p = {
      .rows = rows, .blocks = sparse ? w->nblock : s.nblock, .block = s.block, .W = s.W, .q = s.q};
  if (sparse) p.W = NULL, p.sparse = theta ? &w->large.twins.sparse : &w->large.sparse;
  if (w->large.is_sparse && w->large.pairs.bodies && !theta) p.pairs = &w->large.pairs;
  kn_solve_settings settings = settings_of(w, warm && !theta, tolerance);
  if (chosen) settings.solver = solver;
  settings.again = w->solved && !theta;
  if (p.W) kn_few_copy(w->tame, s.r, rows); /* the guess */
  bool condensed =
      w->formulation->refine && !theta && !chosen && kn_condensed_solve(s.r, &out->info, &p, &settings, w);
  if (!condensed) kn_problem_solve(s.r, &out->info, &p, &settings, w->solver);
  w->solved = p.W && !condensed && !theta && !w->velocities;
  double excess = p.W ? kn_impulses_excess(&p, s.r) : 0.0;
  if (kn_impulses_large(excess) && kn_impulses_grew(excess, warm ? kn_impulses_excess(&p, w->tame) : 0.0)) {
    w->solved = false;
    kn_impulses_tame(s.r, &out->info, &p, s.W, &settings, w->solver, w->tame);
    excess = kn_impulses_excess(&p, s.r);
  }
  out->wild = excess > 1e4;
  if (w->watcher.problem) w->watcher.problem(&p, s.r, w->watcher.problem_context);
  if (theta && sparse)
    kn_twins_fold(w, nblock);
  else if (theta)
    fold(&s, theta, rows, nblock);
  if (w->velocities) restore(w, &s);
  return KN_OK;
}

/* Offsets below the last bit of v_free: links in free flight that touch without pressing, say. They are none, and no choice of
   modes answers them. */
static void drop_rounding(kn_contact_work* w, const double* v_free) {
  static const double rounding = 1e-16, fastest = 1e3; /* m/s */
  double most = 0.0, speed = 0.0;
  for (int i = 0; i < w->total; i++) {
    most = kn_max(fabs(w->q[i]), most);
    if (!(most <= rounding * fastest)) return;
  }
  for (int i = 0; i < w->model->nv; i++) speed = kn_max(fabs(v_free[i]), speed);
  if (most <= rounding * speed) memset(w->q, 0, (size_t)w->total * sizeof *w->q);
}

/* The given impulses move the rows before anything else happens. */
static void give(kn_contact_work* w, const double* theta) {
  if (w->large.is_sparse) {
    kn_problem p = {
        .rows = w->rows, .blocks = w->nblock, .block = w->block, .q = w->q, .sparse = &w->large.sparse};
    kn_problem_velocity(w->q, &p, theta);
    return;
  }
  for (int i = 0; i < w->total; i++)
    for (int j = 0; j < w->rows; j++) w->q[i] += w->W[(size_t)i * w->total + w->extra + j] * theta[j];
}

/* A solution within the solver's tolerance of impulses in hinges, which are large, may be off by far more of what
   moves: what is refined is refined to rounding. */
static const double refined = 1e-12;

kn_status kn_contact_solve(double* lambda, double* v_plus, kn_contact_solution* out, kn_contact_work* w,
                           const double* v_free, const double* bias, const double* theta, bool warm,
                           double tolerance, int friction, const char* solver) {
  w->formulation->offset(w, v_free, bias);
  drop_rounding(w, v_free);
  if (theta) give(w, theta);
  if (!warm || w->extra) memset(w->r, 0, (size_t)w->total * sizeof(double));
  if (warm) kn_few_copy(w->r + w->extra, lambda, w->rows);
  out->lcp_size = kn_contact_lcp_size(w, friction ? friction : 4);
  out->directions = friction;
  out->wild = false;
  if (friction)
    KN_TRY(kn_polyhedral_solve(w->r, out, w, theta, tolerance, friction, solver));
  else
    KN_TRY(solve_cone(out, w, theta, warm, tolerance, solver));
  if (!friction && !theta && w->formulation->refine) w->formulation->refine(w, fmin(tolerance, refined));
  kn_few_copy(lambda, w->r + w->extra, w->rows);
  if (theta)
    for (int i = 0; i < w->rows; i++) w->r[w->extra + i] += theta[i];
  if (w->formulation->recover) w->formulation->recover(lambda, w, v_free, w->r);
  w->formulation->motion(v_plus, w, v_free, w->r);
  return KN_OK;
}
