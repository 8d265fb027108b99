/* The blocks of a problem that matter beside a point near its answer, where methods go by factors of every row. Robots lie on a third of
   their possible contacts and most of their dry joints slide or hold clearly: a tenth to a third of the rows is left.

   At the point, r and u = W r + q, a block is

     held   a line at a bound against which u presses it, an open contact that parts: r stays as it is (X)
     even   a line inside its bounds, also after the step r - u / W_ii, and free rows: u = 0 (E)
     live   everything else (L)

   With D = diag W and a small eps (compare warm_modes.c), so that dependent rows are ordinary and r_E stays near the point,

     (W_EE + eps D) r_E + W_EL r_L + b_E = 0,   b_E = q_E + W_EX r_X - eps D r_E(point)
     u_L = S r_L + b_L - W_LE (W_EE + eps D)⁻¹ b_E,   S = W_LL - W_LE (W_EE + eps D)⁻¹ W_EL,   b_L = q_L + W_LX r_X

   which one elimination of E from (W, b) gives. A method answers S with the sets of L. What eps leaves of u_E goes where the
   end becomes the point, with the same S. From there the path (path.c) goes to an answer of the whole problem, by the changes of
   mode that held and even blocks still need, mostly none. */
#include <string.h>

#include "base/extreme.h"
#include "comp/cone/driver.h"
#include "comp/cone/warm_modes.h"
#include "math/dense.h"

typedef enum lot { HELD, EVEN, LIVE } lot;

static const double eps =
    1e-7; /* with more, what loop rows that contradict each other by rounding leave of u_E is above the tolerance */

static lot lot_of(const kn_block* b, const double* r, const double* u, double w) {
  double lo = b->set == KN_SET_FREE ? -INFINITY : b->set == KN_SET_BOX ? b->lo : 0.0;
  double hi = b->set == KN_SET_BOX ? b->hi : INFINITY, y = w > 0.0 ? r[0] - u[0] / w : r[0];
  for (int i = 1; i < kn_set_rows(b->set); i++)
    if (r[i] != 0.0) return LIVE;
  if ((r[0] <= lo && u[0] >= 0.0) || (r[0] >= hi && u[0] <= 0.0)) return HELD;
  bool inside = r[0] > lo && r[0] < hi && y > lo && y < hi;
  return b->set == KN_SET_FREE || (inside && kn_set_rows(b->set) == 1) ? EVEN : LIVE;
}

/* Rows of E, then of L, and the blocks of L. False: too many, or none is spared. */
static bool sort(kn_fewer* f, const kn_problem* p, const double* r, const double* u) {
  int rows = 0;
  f->even = f->problem.rows = f->problem.blocks = 0;
  for (int pass = EVEN; pass <= LIVE; pass++)
    for (int b = 0; b < p->blocks; b++) {
      const kn_block* k = &p->block[b];
      int count = kn_set_rows(k->set);
      double w = p->W[(size_t)k->row * (size_t)(p->rows + 1)];
      if ((int)lot_of(k, r + k->row, u + k->row, w) != pass) continue;
      if (rows + count > f->most) return false;
      if (pass == LIVE) {
        f->block[f->problem.blocks] = *k;
        f->block[f->problem.blocks++].row = rows - f->even;
      }
      for (int i = 0; i < count; i++) f->row[rows++] = k->row + i;
      if (pass == EVEN) f->even = rows;
    }
  f->problem.rows = rows - f->even;
  return f->problem.rows > 0 && f->problem.rows < p->rows;
}

/* E out of (W, b), which leaves S. False: W is not definite. */
static bool reduce(kn_fewer* f, const kn_problem* p, const double* r, const double* u) {
  int n = p->rows, e = f->even, live = f->problem.rows, m = e + live;
  size_t ld = (size_t)(f->ld = (m + 8) & ~7);
  for (int i = 0; i < m; i++) {
    const double* w = p->W + (size_t)f->row[i] * (size_t)n;
    double *out = f->A + (size_t)i * ld, b = u[f->row[i]]; /* of all r; less the part of E and L */
    for (int j = 0; j < m; j++) out[j] = w[f->row[j]], b -= out[j] * r[f->row[j]];
    if (i < e) b -= eps * out[i] * r[f->row[i]], out[i] *= 1.0 + eps;
    out[m] = b;
  }
  if (!kn_symmetric_eliminate(e, m, m + 1, f->A, (int)ld)) return false;
  f->problem.W = f->S, f->problem.block = f->block, f->problem.q = f->q;
  for (int i = 0; i < live; i++) {
    const double* row = f->A + (size_t)(e + i) * ld + e;
    for (int j = i; j < live; j++) f->S[i * live + j] = f->S[j * live + i] = row[j];
    f->r[i] = r[f->row[e + i]], f->diagonal[i] = row[i], f->q[i] = row[live];
  }
  return true;
}

/* The end r is the point now: b by what r_E has changed. */
static void recenter(kn_fewer* f, const double* W, int n, const double* r, const double* point) {
  int e = f->even, live = f->problem.rows, m = e + live;
  size_t ld = (size_t)f->ld;
  double* b = f->change;
  memset(b, 0, (size_t)m * sizeof *b);
  for (int i = 0; i < e; i++)
    b[i] = eps * W[(size_t)f->row[i] * (size_t)(n + 1)] * (point[f->row[i]] - r[f->row[i]]);
  for (int k = 0; k < e; k++) {
    double* row = f->A + (size_t)k * ld;
    kn_axpy(m - k - 1, b + k + 1, -b[k] / row[k], row + k + 1);
    row[m] += b[k];
  }
  for (int i = 0; i < live; i++) f->q[i] += b[e + i];
}

/* r of the whole problem from r_L. */
static void expand(double* r, const kn_fewer* f, const kn_problem* p) {
  int e = f->even, live = f->problem.rows;
  for (int i = 0; i < live; i++) r[f->row[e + i]] = f->r[i];
  for (int k = e - 1; k >= 0; k--) {
    const double* row = f->A + (size_t)k * (size_t)f->ld;
    double sum = row[e + live] + kn_dot(live, row + e, f->r);
    for (int j = k + 1; j < e; j++) sum += row[j] * r[f->row[j]];
    r[f->row[k]] = -sum / row[k];
  }
  for (int b = 0; b < p->blocks; b++) {
    double* x = r + p->block[b].row;
    if (p->block[b].set == KN_SET_BOX) *x = kn_min(kn_max(*x, p->block[b].lo), p->block[b].hi);
    if (p->block[b].set == KN_SET_POSITIVE) *x = kn_max(*x, 0.0);
  }
}

/* The answer of the live blocks. */
static bool answered(kn_drive* s, kn_fewer* f, bool (*method)(kn_drive*)) {
  kn_drive part = *s;
  part.p = &f->problem;
  part.best = (kn_judgement){INFINITY, INFINITY};
  kn_cone_scale(part.c, part.p, f->diagonal);
  part.ops->load(part.c, f->S, part.p->rows);
  kn_cone_start(part.c, f->r);
  part.ops->velocity(part.c);
  bool found = method(&part) && part.best.error <= s->tol && part.best.scaled <= s->tol;
  s->iterations = part.iterations;
  if (!found) return false;
  s->stage = part.stage;
  memcpy(f->r, s->w->best, (size_t)part.p->rows * sizeof *f->r);
  return true;
}

/* r of the whole problem from the answers of the live blocks, until the judge is content or u_E is lost on modes. */
static bool centered(double* r, kn_drive* s, kn_fewer* f, bool (*method)(kn_drive*)) {
  enum { TIMES = 4 };
  const kn_problem* p = s->p;
  double before = INFINITY, *point = s->w->diagonal; /* scratch once the problem is loaded */
  for (int k = 0; k < TIMES; k++) {
    memcpy(point, r, (size_t)p->rows * sizeof *r);
    if (!answered(s, f, method)) return k > 0;
    expand(r, f, p);
    kn_judgement j = kn_problem_judge(p, r);
    double error = kn_max(j.error, j.scaled);
    if (error <= s->tol || error > 0.1 * before || error > 1e-4) return true;
    recenter(f, p->W, p->rows, r, point);
    before = error;
  }
  return true;
}

bool kn_drive_fewer(kn_drive* s, bool (*method)(kn_drive*)) {
  enum { ROUNDS = 3 };
  const kn_problem* p = s->p;
  kn_fewer* f = &s->w->fewer;
  kn_solve_info info;
  double *point = s->w->start, *r = s->w->first, *u = s->w->q0;
  size_t bytes = (size_t)p->rows * sizeof *r;
  bool found = false;
  if (!p->W || !(s->best.error < INFINITY)) return false;
  memcpy(point, s->w->best, bytes);
  memcpy(r, point, bytes);
  for (int k = 0; k < ROUNDS && !found; k++) {
    kn_problem_velocity(u, p, r);
    if (!sort(f, p, r, u) || !reduce(f, p, r, u) || !centered(r, s, f, method)) break;
    found = kn_path_answer(r, &info, p, s->tol, false, s->w);
  }
  memcpy(s->w->best, found ? r : point, bytes);
  if (!found) return false;
  kn_drive_count(s, info.iterations, 0);
  s->best = (kn_judgement){info.residual, info.residual_scaled};
  return true;
}
