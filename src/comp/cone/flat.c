/* A few contacts of motions in a plane, by their modes.

   When every contact can slide along one line only (the other tangential row of W is zero, as between bodies
   that move in a plane), a contact is open, sticking or sliding one way or the other, and in given modes the
   problem is linear:

     open     r = 0                      holds if u_N >= 0
     stick    u_N = u_T = 0              holds if r_N >= 0 and |r_T| <= mu r_N
     slide s  u_N = 0, r_T = s mu r_N    holds if r_N >= 0 and s u_T <= 0,     s = ±1

   Rows with an interval are held at one of its ends or free between them. A warm start is first taken at its
   word: the modes that its r obeys. Modes that do not hold change as Newton's method on the Alart-Curnier
   function would change them (cone_kernel.h), those of stiff contacts as the projection on the cone does;
   where that goes round in circles the usual modes of a jam are tried, then all, those next to the guess
   first. Jammed contacts (a normal that nearly passes through the hinge it loads) change modes from step to
   step: sweeps and damped Newton steps then take hundreds of rounds, pivots a few.

   Unit diagonal scaling; LU with row exchanges; a term eps in the diagonal makes the steps proximal around
   the guess, so that dependent rows are ordinary. Whatever is found is judged like everything else. */

#include "base/fours.h"
#include "comp/cone/flat_reduce.h"

enum { ALL_MODES = 256 };

static const double eps = 1e-10;
/* Of the scaled size: by how much a mode may be missed, after one step and in the end. */
static const double coarse = 1e-6, fine = 1e-12;
/* A contact with more friction than this in its own units yields little along its normal. */
static const double stiff = 10.0;

/* ---- modes ---- */

/* u of `pairs` pairs of rows; a constant number stays in registers. */
KN_UNROLLED void velocities_of(flat* f, const int pairs) {
  pair u[ROWS / 2];
  for (int i = 0; i < pairs; i++) u[i] = *(const pair*)(f->q + 2 * i);
  for (int j = 0; j < f->m; j++) /* W is symmetric */
    for (int i = 0; i < pairs; i++) u[i] += *(const pair*)(f->W[j] + 2 * i) * f->r[j];
  for (int i = 0; i < pairs; i++) *(pair*)(f->u + 2 * i) = u[i];
}

static void velocities(flat* f) {
  switch ((f->m + 1) / 2) {
  case 1: velocities_of(f, 1); break;
  case 2: velocities_of(f, 2); break;
  case 3: velocities_of(f, 3); break;
  default: velocities_of(f, (f->m + 1) / 2);
  }
}

static mode line_mode(const place* a, double y) { return y <= a->lo ? LOW : y >= a->hi ? HIGH : BETWEEN; }

/* Of a contact with natural values h = r_N - u_N, y = r_T - u_T. */
static mode contact_mode(const place* a, double h, double y) {
  if (!(h > 0.0)) return OPEN;
  if (a->t < 0 || fabs(y) <= a->mu * h) return STICK;
  return y > 0.0 ? SLIDE : SLIDE_BACK;
}

static mode natural_mode(const flat* f, const place* a) {
  double h = f->r[a->n] - f->u[a->n];
  return a->line ? line_mode(a, h) : contact_mode(a, h, a->t < 0 ? 0.0 : f->r[a->t] - f->u[a->t]);
}

/* Does the present mode hold at r and u? */
static bool holds(const flat* f, int b, double slack) {
  const place* a = &f->at[b];
  double tol = slack * f->size, r = f->r[a->n], u = f->u[a->n];
  mode m = f->mode[b];
  if (a->line) return m == LOW ? u >= -tol : m == HIGH ? u <= tol : r >= a->lo - tol && r <= a->hi + tol;
  if (m == OPEN) return u >= -tol;
  if (!(r >= -tol)) return false;
  if (a->t < 0) return true;
  if (m == STICK) return fabs(f->r[a->t]) <= a->mu * r + tol;
  return m == SLIDE ? f->u[a->t] <= tol : f->u[a->t] >= -tol;
}

/* ---- one set of modes ---- */

static void unknown(flat* f, int row, int row2, double factor) {
  f->x[f->unknowns].row = row, f->x[f->unknowns].row2 = row2, f->x[f->unknowns].factor = factor;
  f->unknowns++;
}

/* Unknowns, and r moved onto the modes. */
static void take_modes(flat* f) {
  f->unknowns = 0;
  for (int b = 0; b < f->places; b++) {
    const place* a = &f->at[b];
    mode m = f->mode[b];
    double* r = f->r;
    if (a->line) {
      if (m == BETWEEN)
        unknown(f, a->n, -1, 0.0);
      else
        r[a->n] = m == LOW ? a->lo : a->hi;
      continue;
    }
    if (m == OPEN) r[a->n] = 0.0;
    if (m == OPEN && a->t >= 0) r[a->t] = 0.0;
    if (m == OPEN) continue;
    double factor = m == SLIDE ? a->mu : m == SLIDE_BACK ? -a->mu : 0.0;
    unknown(f, a->n, factor != 0.0 ? a->t : -1, factor);
    if (factor != 0.0) r[a->t] = factor * r[a->n];
    if (m == STICK && a->t >= 0) unknown(f, a->t, -1, 0.0);
  }
}

/* LU with row exchanges of n unknowns, with `term` in the diagonal; the least pivot. A constant number is
   unrolled. */
KN_UNROLLED double factor_of(flat* f, const int n, const double term) {
  int* order = f->order;
  double least = INFINITY;
  for (int i = 0; i < n; i++) order[i] = f->x[i].row;
  for (int j = 0; j < n; j++) { /* W is symmetric */
    const double* w = f->W[order[j]];
    if (f->x[j].row2 < 0) {
      for (int i = 0; i < n; i++) f->A[i][j] = w[order[i]];
    } else {
      const double *t = f->W[f->x[j].row2], share = f->x[j].factor;
      for (int i = 0; i < n; i++) f->A[i][j] = w[order[i]] + share * t[order[i]];
    }
    f->A[j][j] += term;
  }
  for (int k = 0; k < n; k++) {
    int best = k;
    double size = fabs(f->A[k][k]);
    for (int i = k + 1; i < n; i++) {
      double a = fabs(f->A[i][k]);
      best = a > size ? i : best, size = a > size ? a : size;
    }
    if (best != k) {
      for (int j = 0; j < n; j++) {
        double t = f->A[k][j];
        f->A[k][j] = f->A[best][j], f->A[best][j] = t;
      }
      int row = order[k];
      order[k] = order[best], order[best] = row;
    }
    least = size < least ? size : least;
    if (!(size > 1e-13)) return 0.0;
    double inv = f->A[k][k] = 1.0 / f->A[k][k];
    for (int i = k + 1; i < n; i++) {
      double l = f->A[i][k] *= inv;
      for (int j = k + 1; j < n; j++) f->A[i][j] -= l * f->A[k][j];
    }
  }
  return least;
}

KN_UNROLLED void solve_of(double* to, const flat* f, const int n) {
  double x[ROWS];
  for (int i = 0; i < n; i++) x[i] = f->u[f->order[i]];
  for (int k = 0; k < n; k++)
    for (int i = k + 1; i < n; i++) x[i] -= f->A[i][k] * x[k];
  for (int k = n - 1; k >= 0; k--) {
    x[k] *= f->A[k][k];
    for (int i = 0; i < k; i++) x[i] -= f->A[i][k] * x[k];
  }
  for (int i = 0; i < n; i++) to[i] = x[i];
}

static double factor_with(flat* f, double term) {
  switch (f->unknowns) {
  case 2: return factor_of(f, 2, term);
  case 3: return factor_of(f, 3, term);
  case 4: return factor_of(f, 4, term);
  case 5: return factor_of(f, 5, term);
  case 6: return factor_of(f, 6, term);
  default: return factor_of(f, f->unknowns, term);
  }
}

/* False: singular in spite of eps. Rows that are far from dependent go without it. */
static bool factor(flat* f) {
  static const double clear = 1e-4;
  f->factors++;
  return factor_with(f, 0.0) > clear || factor_with(f, eps) > 0.0;
}

/* One proximal step from r; u is that of the old r and then of the new one. */
static void step(flat* f) {
  double x[ROWS];
  switch (f->unknowns) {
  case 2: solve_of(x, f, 2); break;
  case 3: solve_of(x, f, 3); break;
  case 4: solve_of(x, f, 4); break;
  case 5: solve_of(x, f, 5); break;
  case 6: solve_of(x, f, 6); break;
  default: solve_of(x, f, f->unknowns);
  }
  for (int i = 0; i < f->unknowns; i++) {
    f->r[f->x[i].row] -= x[i];
    if (f->x[i].row2 >= 0) f->r[f->x[i].row2] = f->x[i].factor * f->r[f->x[i].row];
  }
  velocities(f);
}

static double left(const flat* f) {
  double most = 0.0;
  for (int i = 0; i < f->unknowns; i++) most = kn_max(fabs(f->u[f->x[i].row]), most);
  return most;
}

/* r and u of the present modes to a relative eps, which is enough to see whether they hold. What is left of
   them, infinite: they have none. */
static double solve_modes(flat* f) {
  double size = 0.0;
  take_modes(f);
  velocities(f);
  if (f->unknowns && !factor(f)) return INFINITY;
  step(f);
  for (int i = 0; i < f->m; i++) size = kn_max(kn_max(fabs(f->r[i]), fabs(f->q[i])), size);
  f->size = size;
  return left(f);
}

static bool all_hold(const flat* f, double slack) {
  for (int b = 0; b < f->places; b++)
    if (!holds(f, b, slack)) return false;
  return true;
}

/* Do the present modes hold? If it seems so, further steps until rounding is left. */
static bool right_modes(flat* f) {
  enum { STEPS = 3 };
  double rest = solve_modes(f), enough = 1e-15 * f->size;
  if (rest > enough && !(rest <= coarse * f->size && all_hold(f, coarse))) return false;
  for (int k = 0; k < STEPS && rest > enough; k++) {
    step(f);
    rest = left(f);
  }
  return rest <= fine * f->size && all_hold(f, fine);
}

/* Rounding that takes r out of its set. */
static void clip(flat* f) {
  for (int b = 0; b < f->places; b++) {
    const place* a = &f->at[b];
    double* r = f->r + a->n;
    if (a->line) {
      *r = *r < a->lo ? a->lo : *r > a->hi ? a->hi : *r;
      continue;
    }
    if (*r < 0.0) *r = 0.0;
    if (a->t < 0) continue;
    double most = a->mu * *r, *t = f->r + a->t;
    *t = *t > most ? most : *t < -most ? -most : *t;
  }
}

/* ---- search ---- */

/* Of a stiff contact whose mode does not hold. Its cone is nearly the half-plane r_N >= 0, so that a small
   force along the normal comes with any force across: pressed, it slides rather than sticks unless u_T is
   small beside u_N, and when it would have to pull it slides the way of r_T rather than opens. */
static mode stiff_mode(const flat* f, const place* a, mode m) {
  double r = f->r[a->n], rt = f->r[a->t], u = f->u[a->n], ut = f->u[a->t];
  if (m == OPEN && fabs(ut) <= -a->mu * (u + a->mu * fabs(ut))) return STICK;
  if (m == OPEN) return ut < 0.0 ? SLIDE : SLIDE_BACK;
  if (m != STICK) return r < 0.0 ? OPEN : STICK;
  if (a->mu * fabs(rt) <= -r) return OPEN;
  return rt > 0.0 ? SLIDE : SLIDE_BACK;
}

static mode next_mode(const flat* f, int b) {
  const place* a = &f->at[b];
  if (a->line || a->t < 0 || a->mu < stiff) return natural_mode(f, a);
  return stiff_mode(f, a, f->mode[b]);
}

/* By how much the present mode is missed. */
static double violation(const flat* f, int b) {
  const place* a = &f->at[b];
  double r = f->r[a->n], u = f->u[a->n];
  mode m = f->mode[b];
  if (a->line) return m == LOW ? -u : m == HIGH ? u : kn_max(r - a->hi, a->lo - r);
  if (m == OPEN || a->t < 0 || r < 0.0) return m == OPEN ? -u : -r;
  return m == STICK ? fabs(f->r[a->t]) - a->mu * r : fabs(f->u[a->t]);
}

typedef struct change {
  mode before[BLOCKS];
  int count, worst; /* how many changed; the one that was missed most */
} change;

/* Modes that do not hold change, all or the first one only; false: there is none, or it would stay. */
static bool change_modes(flat* f, bool all, change* c) {
  double most = -1.0;
  c->count = 0;
  for (int b = 0; b < f->places && (all || !c->count); b++) {
    c->before[b] = f->mode[b];
    if (holds(f, b, fine)) continue;
    mode m = next_mode(f, b);
    if (m == f->mode[b]) continue;
    double missed = violation(f, b);
    if (missed > most) most = missed, c->worst = b;
    f->mode[b] = m;
    c->count++;
  }
  return c->count > 0;
}

/* Only the worst changes. */
static void change_less(flat* f, change* c) {
  for (int b = 0; b < f->places; b++)
    if (b != c->worst) f->mode[b] = c->before[b];
  c->count = 1;
}

/* The present modes as a number. */
static unsigned code_of(const flat* f) {
  unsigned code = 0;
  for (int b = 0; b < f->places; b++) code = MODES * code + (unsigned)f->mode[b];
  return code;
}

/* Marks the present modes as tried, of up to three places; had they been before? */
static bool known(flat* f) {
  uint64_t bit = f->places <= 3 ? (uint64_t)1 << code_of(f) : 0, before = f->tried;
  f->tried |= bit;
  return before & bit;
}

static void from_guess(flat* f) {
  for (int i = 0; i < f->m; i++) f->r[i] = f->guess[i];
}

/* Changes of modes until they hold; false when some come back. Forces of a million times the usual come from
   contacts that contradict each other: then only one of them changes. They would leave their rounding in r as
   well: the next modes start from the guess. */
static bool pivot(flat* f) {
  enum { MOST = 12 };
  unsigned seen[MOST];
  change c = {.count = 0};
  for (int k = 0; k < MOST; k++) {
    seen[k] = code_of(f);
    for (int i = 0; i < k; i++)
      if (seen[i] == seen[k]) return false;
    if (f->size > 1e2 * f->usual) from_guess(f);
    known(f);
    if (right_modes(f)) return true;
    if (c.count > 1 && f->size > 1e3 * f->usual)
      change_less(f, &c);
    else if (!change_modes(f, k < MOST / 2, &c))
      return false;
  }
  return false;
}

/* Modes as the natural values of r have them. */
static void natural_modes(flat* f) {
  velocities(f);
  for (int b = 0; b < f->places; b++) f->mode[b] = natural_mode(f, &f->at[b]);
}

/* Modes of a former answer: those that the guess itself obeys. Normals have turned since, by 1e-3 a step, so
   that what slid may lie within its cone now: near its edge it slides still. Stiff contacts stick again more
   often. */
static void former_modes(flat* f) {
  static const double edge = 1e-2, edge_stiff = 1e-4;
  for (int b = 0; b < f->places; b++) {
    const place* a = &f->at[b];
    double r = f->guess[a->n], t = a->t < 0 ? 0.0 : f->guess[a->t];
    if (a->line)
      f->mode[b] = line_mode(a, r);
    else
      f->mode[b] = contact_mode(
          a, r, fabs(t) <= (1.0 - (a->mu < stiff ? edge : edge_stiff)) * a->mu * r ? 0.0 : 2.0 * t);
  }
}

static bool holds_at_all(flat* f) {
  from_guess(f);
  return right_modes(f);
}

/* All modes, those that differ from `from` in the fewest places first. */
static bool try_all(flat* f, const mode* from) {
  int count = 1;
  for (int b = 0; b < f->places; b++) {
    count *= f->at[b].modes;
    if (count > ALL_MODES) return false;
  }
  for (int differ = 1; differ <= f->places; differ++)
    for (int code = 1; code < count; code++) {
      int rest = code, places = 0;
      for (int b = 0; b < f->places; b++) {
        int digit = rest % f->at[b].modes;
        rest /= f->at[b].modes;
        places += digit != 0;
        f->mode[b] = (from[b] + digit) % f->at[b].modes;
      }
      if (places == differ && !known(f) && holds_at_all(f)) return true;
    }
  return false;
}

/* Modes of three contacts that jam: the stiff one, the others. Two of them carry: mostly the others, of which
   one slips, or the stiff one without slipping and one that sticks; less often with one that slips. */
static const mode jams[][3] = {
    {OPEN, SLIDE, STICK}, {OPEN, SLIDE_BACK, STICK}, {OPEN, STICK, SLIDE}, {OPEN, STICK, SLIDE_BACK},
    {STICK, OPEN, STICK}, {STICK, STICK, OPEN},      {STICK, SLIDE, OPEN}, {STICK, SLIDE_BACK, OPEN},
    {STICK, OPEN, SLIDE}, {STICK, OPEN, SLIDE_BACK}, {SLIDE, OPEN, STICK}, {SLIDE_BACK, OPEN, STICK},
    {SLIDE, STICK, OPEN}, {SLIDE_BACK, STICK, OPEN},
};
enum { JAMS = sizeof jams / sizeof *jams };

/* The stiff one of three contacts, -1: there is none. */
static int stiffest(const flat* f) {
  int most = 0;
  for (int b = 0; b < f->places; b++) {
    if (f->at[b].line || f->at[b].modes != MODES) return -1;
    if (f->at[b].mu > f->at[most].mu) most = b;
  }
  return f->places == 3 && f->at[most].mu >= stiff ? most : -1;
}

static bool try_jams(flat* f) {
  int at = stiffest(f);
  if (at < 0) return false;
  for (int k = 0; k < JAMS; k++) {
    for (int b = 0, other = 1; b < 3; b++) f->mode[b] = jams[k][b == at ? 0 : other++];
    if (!known(f) && holds_at_all(f)) return true;
  }
  return false;
}

static bool judged(kn_solve_info* info, const double* r, const flat* f, const kn_problem* p, double tol) {
  kn_judgement j = kn_problem_judge(p, r);
  *info = (kn_solve_info){KN_OK, "modes", f->factors, j.error, j.scaled, 0.0, false};
  return j.error <= tol && j.scaled <= tol;
}

/* u of a row with the judge's order of operations. */
static double velocity_as_judged(const kn_problem* p, const double* r, int row) {
  const double* w = p->W + (size_t)row * (size_t)p->rows;
  double sum = 0.0;
  for (int j = 0; j < p->rows; j++) sum += w[j] * r[j];
  return p->q[row] + sum;
}

/* A contact that yields a million times less along its normal than across has so large a mu in its own units
   that the judge sees the last bits of u_T. Which of the forces has bits that are fine enough depends on the
   order of the sum: those that stick are tried one after the other. */
static void fit_last_bits(double* r, const flat* f, const kn_problem* p, int b) {
  int t = f->row[f->at[b].t];
  double u = velocity_as_judged(p, r, t);
  for (int i = 0; i < f->unknowns && u != 0.0; i++) {
    int row = f->row[f->x[i].row];
    if (f->x[i].row2 >= 0 || !(fabs(f->W[f->at[b].t][f->x[i].row]) > 1e-3)) continue;
    double before = r[row], v;
    r[row] -= u / p->W[(size_t)t * (size_t)p->rows + (size_t)row];
    v = velocity_as_judged(p, r, t);
    if (fabs(v) < fabs(u))
      u = v;
    else
      r[row] = before;
  }
}

static bool is_delicate(const flat* f, int b) {
  const place* a = &f->at[b];
  return !a->line && a->t >= 0 && f->mode[b] == STICK && a->mu > 1e2;
}

static void fit_stiff(double* r, const flat* f, const kn_problem* p) {
  for (int b = 0; b < f->places; b++)
    if (is_delicate(f, b)) fit_last_bits(r, f, p, b);
}

/* Such a contact that carries alone has no force with finer bits: its two terms of the sum for u_T cancel,
   and what is left is a multiple of their last bit. Less than that, 1e-17, on one that is open makes up for
   it. */
static bool fit_by_open(double* r, const flat* f, const kn_problem* p) {
  for (int b = 0; b < f->places; b++) {
    int t = f->row[f->at[b].t < 0 ? 0 : f->at[b].t];
    for (int o = 0; o < f->places && is_delicate(f, b); o++) {
      if (f->at[o].line || f->mode[o] != OPEN) continue;
      int row = f->row[f->at[o].n];
      double w = p->W[(size_t)t * (size_t)p->rows + (size_t)row], before = r[t];
      for (int k = -1; k <= 1; k++) { /* u_T of the sign that a push can take away */
        r[t] = before * (1.0 + k * 0x1p-52);
        double u = velocity_as_judged(p, r, t);
        r[row] = w != 0.0 && -u / w > 0.0 ? -u / w : 0.0;
        if (fabs(velocity_as_judged(p, r, t)) < 0.1 * fabs(u)) return true;
        r[row] = 0.0;
      }
      r[t] = before;
    }
  }
  return false;
}

static bool accepted(kn_solve_info* info, double* r, flat* f, const kn_problem* p, double tol) {
  enum { TRIES = 2 };
  for (int k = 0; k <= TRIES; k++) {
    clip(f);
    expand(r, f, p->rows);
    if (judged(info, r, f, p, tol)) return true;
    fit_stiff(r, f, p);
    if (judged(info, r, f, p, tol)) return true;
    if (fit_by_open(r, f, p) && judged(info, r, f, p, tol)) return true;
    for (int i = 0; i < f->m; i++) f->u[i] = velocity_as_judged(p, r, f->row[i]) * f->scale[i];
    for (int i = 0; i < f->m; i++) f->r[i] = r[f->row[i]] * f->unit[i];
    step(f);
  }
  return false;
}

static bool several(double* answer, kn_solve_info* info, const kn_problem* p, const double* guess,
                    double tol) {
  flat f; /* not set to zero: most of it is never used */
  mode from[BLOCKS];
  if (!reduce(&f, p, guess)) return false;
  if (guess) {
    former_modes(&f);
    if (pivot(&f) && accepted(info, answer, &f, p, tol)) return true;
    if (try_jams(&f) && accepted(info, answer, &f, p, tol)) return true;
  }
  from_guess(&f);
  natural_modes(&f);
  memcpy(from, f.mode, sizeof from);
  return (pivot(&f) && accepted(info, answer, &f, p, tol)) ||
         (try_all(&f, from) && accepted(info, answer, &f, p, tol));
}

/* ---- one contact alone ---- */

/* The former mode, or that of the natural values there; without a former one sticking first. */
static bool single_answer(double* r, kn_solve_info* info, const kn_problem* p, const double* guess,
                          double tol) {
  const kn_block* b = p->block;
  int n = p->rows;
  if (p->blocks != 1 || kn_set_rows(b->set) < 2 || !(b->mu < INFINITY)) return false;
  double most = p->W[0];
  for (int i = 1; i < n; i++) most = kn_max(p->W[i * (n + 1)], most);
  int t = tangent_of(p, b, most);
  if (t < 0 || !(p->W[0] > 1e-8 * most)) return false;
  kn_single s = {
      .a = p->W[0], .b = p->W[t], .c = p->W[t * (n + 1)], .qn = p->q[0], .qt = p->q[t], .mu = b->mu};
  int factors = kn_single_solve(&s, guess ? kn_single_former(guess[0], guess[t], b->mu) : KN_FLAT_STICK);
  if (!factors) return false;
  for (int i = 0; i < n; i++) r[i] = 0.0;
  r[0] = s.rn, r[t] = s.rt;
  kn_judgement j = kn_problem_judge(p, r);
  *info = (kn_solve_info){KN_OK, "modes", factors, j.error, j.scaled, 0.0, false};
  return j.error <= tol && j.scaled <= tol;
}

static double largest(const double* x, int n) {
  kn_two two = {0.0, 0.0};
  int i = 0;
  for (; i + 2 <= n; i += 2) two = kn_two_larger(two, kn_two_size((kn_two){x[i], x[i + 1]}));
  double most = kn_max(two[1], two[0]);
  return i < n ? kn_max(fabs(x[i]), most) : most;
}

/* What rests has the same forces as before: little more than rounding is left of their residual. What is left
   adds up from step to step, so that it is much less than what is asked for. */
static bool still_right(kn_solve_info* info, const kn_problem* p, const double* guess, double tol) {
  double little = kn_max(1e-4 * tol, 2e-15), most = largest(p->q, p->rows);
  for (int b = 0; b < p->blocks; b++) { /* most that are not show it at once */
    int row = p->block[b].row;
    if (guess[row] > 0.0 && fabs(velocity_as_judged(p, guess, row)) > 5.0 * little * most) return false;
  }
  kn_judgement j = kn_problem_judge(p, guess);
  *info = (kn_solve_info){KN_OK, "modes", 0, j.error, j.scaled, 0.0, false};
  return j.error <= little && j.scaled <= little;
}

void kn_solver_work_modes(kn_solver_work* work, bool on) { work->no_modes = !on; }
void kn_solver_work_patience(kn_solver_work* work, double steps) {
  work->patience = steps;
  kn_solver_work_begin(work);
}
void kn_solver_work_begin(kn_solver_work* work) { work->used = 0.0; }
double* kn_solver_work_used(kn_solver_work* work) { return &work->used; }
double kn_solver_work_done(const kn_solver_work* work) { return work->work; }

bool kn_flat_answer(double* r, kn_solve_info* info, const kn_problem* p, double tol, bool warm,
                    kn_solver_work* work) {
  double *answer = work->point, *guess = warm ? r : NULL;
  if (!p->W || work->no_modes) return false;
  if (guess && p->blocks > 1 && still_right(info, p, guess, tol)) return true;
  if (!single_answer(answer, info, p, guess, tol) && !several(answer, info, p, guess, tol)) return false;
  kn_few_copy(r, answer, p->rows);
  return true;
}
