/* Contacts of a motion in a plane as flat.c has them: the rows that take part, scaled to unit diagonal, and
 * back. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/extreme.h"
#include "comp/cone/driver.h"

/* One contact of a motion in a plane: u = W r + q with W = [a b; b c] of the normal and the one tangent, in
   closed form by its mode (flat.c). Nothing is judged here. */
typedef int kn_flat_mode;
enum { KN_FLAT_OPEN, KN_FLAT_STICK, KN_FLAT_SLIDE, KN_FLAT_SLIDE_BACK, KN_FLAT_MODES };

typedef struct kn_single {
  double a, b, c, qn, qt, mu;
  double rn, rt;
} kn_single;

/* That of a former answer. */
static inline kn_flat_mode kn_single_former(double rn, double rt, double mu) {
  if (!(rn > 0.0)) return KN_FLAT_OPEN;
  return fabs(rt) <= (1.0 - 1e-9) * mu * rn ? KN_FLAT_STICK : rt > 0.0 ? KN_FLAT_SLIDE : KN_FLAT_SLIDE_BACK;
}

/* r of a mode, with one step of refinement where it sticks; false: it does not hold, or only just. */
static inline __attribute__((always_inline)) bool kn_single_mode(kn_single* s, kn_flat_mode m) {
  if (m == KN_FLAT_OPEN) {
    s->rn = s->rt = 0.0;
    return s->qn >= 0.0;
  }
  if (m == KN_FLAT_STICK) {
    double det = s->a * s->c - s->b * s->b, inv = 1.0 / det;
    if (!(det > 1e-6 * s->a * s->c)) return false;
    s->rn = (s->b * s->qt - s->c * s->qn) * inv, s->rt = (s->b * s->qn - s->a * s->qt) * inv;
    double un = s->qn + (s->a * s->rn + s->b * s->rt), ut = s->qt + (s->b * s->rn + s->c * s->rt);
    s->rn += (s->b * ut - s->c * un) * inv, s->rt += (s->b * un - s->a * ut) * inv;
    return s->rn >= 0.0 && fabs(s->rt) <= s->mu * s->rn;
  }
  double way = m == KN_FLAT_SLIDE ? s->mu : -s->mu, d = s->a + way * s->b;
  if (!(d > 1e-6 * s->a)) return false;
  s->rn = -s->qn / d, s->rt = way * s->rn;
  return s->rn >= 0.0 && (s->qt + s->b * s->rn + s->c * s->rt) * way <= 0.0;
}

/* r in `first` or, if that does not hold, the mode that its r suggests. How many were tried; 0: neither
   holds. */
static inline int kn_single_solve(kn_single* s, kn_flat_mode first) {
  if (kn_single_mode(s, first)) return 1;
  kn_flat_mode second = !(s->qn < 0.0)           ? KN_FLAT_OPEN
                        : first != KN_FLAT_STICK ? KN_FLAT_STICK
                        : s->rt > 0.0            ? KN_FLAT_SLIDE
                                                 : KN_FLAT_SLIDE_BACK;
  return kn_single_mode(s, second) ? 2 : 0;
}

enum { BLOCKS = 6, ROWS = 2 * BLOCKS };

typedef kn_flat_mode mode;
enum { OPEN = KN_FLAT_OPEN, STICK, SLIDE, SLIDE_BACK, MODES };
enum { LOW, BETWEEN, HIGH, LINE_MODES };

typedef struct place {
  bool line;     /* an interval; otherwise a contact */
  int n, t;      /* reduced rows; t < 0: no friction */
  int modes;     /* how many it has */
  double mu;     /* scaled */
  double lo, hi; /* scaled */
} place;

typedef double pair __attribute__((vector_size(16), may_alias));
#define ALIGNED __attribute__((aligned(16)))

typedef struct flat {
  int m, places;
  place at[BLOCKS];
  int row[ROWS];                  /* in the problem */
  double scale[ROWS], unit[ROWS]; /* r = scale r', and its inverse */
  /* m rows; columns of W, q and u in whole pairs */
  double W[ROWS][ROWS] ALIGNED, q[ROWS] ALIGNED, u[ROWS] ALIGNED, r[ROWS], guess[ROWS];
  double A[ROWS][ROWS]; /* LU, inverse pivots */
  int order[ROWS];      /* of the unknowns' rows */
  int unknowns;
  struct {
    int row, row2; /* x is r of row, and factor times it that of row2 */
    double factor;
  } x[ROWS];
  mode mode[BLOCKS];
  double size, usual; /* largest of q and r; of q and the guess */
  int factors;
  uint64_t tried; /* modes by their code_of, of up to three places */
} flat;

#define KN_UNROLLED static inline __attribute__((always_inline))

/* ---- from and to the problem ---- */

/* The one tangential row of a contact that takes part; -1: none, -2: both do. */
static int tangent_of(const kn_problem* p, const kn_block* b, double most) {
  int rows = kn_set_rows(b->set), found = -1;
  size_t n = (size_t)p->rows;
  if (b->mu == 0.0) return -1;
  for (int i = b->row + 1; i < b->row + rows; i++) {
    if (p->W[(size_t)i * n + (size_t)i] <= 1e-22 * most && fabs(p->q[i]) <= 1e-22) continue;
    if (found >= 0) return -2;
    found = i;
  }
  return found;
}

static bool add_row(flat* f, const kn_problem* p, int row, double most) {
  double d = p->W[(size_t)row * (size_t)p->rows + (size_t)row];
  if (!(d > 1e-20 * most)) return false;
  f->row[f->m] = row;
  f->unit[f->m] = sqrt(d);
  f->scale[f->m] = 1.0 / f->unit[f->m];
  f->m++;
  return true;
}

static bool add_place(flat* f, const kn_problem* p, int block, double most) {
  const kn_block* b = &p->block[block];
  place* a = &f->at[f->places++];
  *a = (place){.line = kn_set_rows(b->set) == 1, .n = f->m, .t = -1, .modes = LINE_MODES};
  if (!add_row(f, p, b->row, most)) return false;
  double d = f->scale[a->n];
  if (a->line) {
    a->lo = b->set == KN_SET_FREE ? -INFINITY : b->set == KN_SET_BOX ? b->lo / d : 0.0;
    a->hi = b->set == KN_SET_BOX ? b->hi / d : INFINITY;
    return true;
  }
  int t = tangent_of(p, b, most);
  a->modes = t < 0 ? 2 : MODES;
  if (t == -1) return true;
  if (t == -2 || !(b->mu < INFINITY)) return false;
  a->t = f->m;
  if (!add_row(f, p, t, most)) return false;
  a->mu = b->mu * d * f->unit[a->t];
  return true;
}

/* Two numbers that need not lie side by side. */
KN_UNROLLED pair both(double a, double b) { return (pair){a, b}; }
KN_UNROLLED pair magnitude(pair x) { return (pair){fabs(x[0]), fabs(x[1])}; }
KN_UNROLLED pair larger2(pair a, pair b) { return (pair){kn_max(b[0], a[0]), kn_max(b[1], a[1])}; }

/* Contacts in space that slide along one line each, and nothing else; a constant number is unrolled. False:
   other rows, or rows that cannot move. */
KN_UNROLLED bool reduce_contacts(flat* f, const kn_problem* p, const double* r, const int count) {
  const int n = 3 * count;
  const double* W = p->W;
  double most = 0.0;
  int at[BLOCKS];
  for (int i = 0; i < n; i++) most = kn_max(W[i * (n + 1)], most);
  for (int b = 0; b < count; b++) {
    const kn_block* k = &p->block[b];
    int row = 3 * b, t = row + 1;
    if (k->set != KN_SET_CONE3 || k->row != row || !(k->mu > 0.0 && k->mu < INFINITY)) return false;
    bool one = W[t * (n + 1)] > 1e-22 * most || fabs(p->q[t]) > 1e-22,
         two = W[(t + 1) * (n + 1)] > 1e-22 * most || fabs(p->q[t + 1]) > 1e-22;
    if (one == two) return false;
    at[b] = t += two;
    double dn = W[row * (n + 1)], dt = W[t * (n + 1)];
    if (!(dn > 1e-20 * most && dt > 1e-20 * most)) return false;
    double un = sqrt(dn), ut = sqrt(dt), sn = 1.0 / un, st = 1.0 / ut;
    f->row[2 * b] = row, f->row[2 * b + 1] = t;
    f->unit[2 * b] = un, f->unit[2 * b + 1] = ut, f->scale[2 * b] = sn, f->scale[2 * b + 1] = st;
    f->at[b] = (place){.n = 2 * b, .t = 2 * b + 1, .modes = MODES, .mu = k->mu * sn * ut};
    f->r[2 * b] = f->guess[2 * b] = r ? r[row] * un : 0.0;
    f->r[2 * b + 1] = f->guess[2 * b + 1] = r ? r[t] * ut : 0.0;
    f->q[2 * b] = p->q[row] * sn, f->q[2 * b + 1] = p->q[t] * st;
  }
  pair size = {0.0, 0.0};
  for (int b = 0; b < count; b++) {
    const double *wn = W + 3 * b * n, *wt = W + at[b] * n, sn = f->scale[2 * b], st = f->scale[2 * b + 1];
    for (int c = 0; c < count; c++) {
      pair s = both(f->scale[2 * c], f->scale[2 * c + 1]);
      *(pair*)(f->W[2 * b] + 2 * c) = both(wn[3 * c], wn[at[c]]) * (sn * s);
      *(pair*)(f->W[2 * b + 1] + 2 * c) = both(wt[3 * c], wt[at[c]]) * (st * s);
    }
    pair q = both(f->q[2 * b], f->q[2 * b + 1]), g = both(f->r[2 * b], f->r[2 * b + 1]);
    size = larger2(size, larger2(magnitude(q), magnitude(g)));
  }
  f->m = 2 * count, f->places = count, f->factors = 0, f->tried = 0;
  f->size = f->usual = kn_max(size[1], size[0]);
  return f->size < INFINITY;
}

static bool reduce_few(flat* f, const kn_problem* p, const double* r) {
  if (p->rows != 3 * p->blocks) return false;
  switch (p->blocks) {
  case 2: return reduce_contacts(f, p, r, 2);
  case 3: return reduce_contacts(f, p, r, 3);
  default: return reduce_contacts(f, p, r, p->blocks);
  }
}

/* False: not a problem for this. */
/* Does the first contact slide in two directions? Most contacts in space say so at once. */
static bool slides_both_ways(const kn_problem* p) {
  const kn_block* b = p->block;
  return b->set == KN_SET_CONE3 && b->mu > 0.0 && fabs(p->q[b->row + 1]) > 1e-22 &&
         fabs(p->q[b->row + 2]) > 1e-22;
}

static bool reduce(flat* f, const kn_problem* p, const double* r) {
  double most = 0.0;
  size_t n = (size_t)p->rows;
  if (p->blocks > BLOCKS || slides_both_ways(p)) return false;
  if (reduce_few(f, p, r)) return true;
  for (size_t i = 0; i < n; i++) most = kn_max(p->W[i * n + i], most);
  f->m = f->places = f->factors = 0, f->tried = 0;
  f->size = 0.0;
  for (int b = 0; b < p->blocks; b++)
    if (!add_place(f, p, b, most)) return false;
  for (int i = 0; i < f->m; i++) {
    const double* w = p->W + (size_t)f->row[i] * n;
    for (int j = 0; j <= i; j++) f->W[i][j] = f->W[j][i] = w[f->row[j]] * f->scale[i] * f->scale[j];
    f->q[i] = p->q[f->row[i]] * f->scale[i];
    f->r[i] = f->guess[i] = r ? r[f->row[i]] * f->unit[i] : 0.0;
    f->size = kn_max(kn_max(fabs(f->r[i]), fabs(f->q[i])), f->size);
    if (f->m & 1) f->W[i][f->m] = 0.0;
  }
  if (f->m & 1) f->q[f->m] = 0.0;
  f->usual = f->size;
  return f->size < INFINITY;
}

static void expand(double* r, const flat* f, int rows) {
  memset(r, 0, (size_t)rows * sizeof *r);
  for (int i = 0; i < f->m; i++) r[f->row[i]] = f->scale[i] * f->r[i];
}
