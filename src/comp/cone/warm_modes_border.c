/* The factor at hand and the modes of now (warm_modes_border_kernel.c has the algebra): it is made for some modes, and follows
   those of single blocks as they change. */
#include <string.h>

#include "base/extreme.h"
#include "comp/cone/warm_modes.h"
#include "math/dense.h"

/* One entry of each row and its mirror image: a matrix that is not symmetric by its making shows it there. What is off by
   less or elsewhere only makes the factor a little worse than Newton's. */
static bool looks_symmetric(const kn_warm_system* s, const kn_problem* p) {
  static const double alike = 1e-10;
  size_t n = (size_t)p->rows;
  for (size_t i = 0; i < n; i++) {
    size_t j = (7 * i + 3) % n;
    if (!(fabs(p->W[i * n + j] - p->W[j * n + i]) <= alike * (s->D[i] + s->D[j]))) return false;
  }
  return true;
}

void kn_warm_measure(kn_warm_system* s, const kn_problem* p) {
  size_t step = (size_t)p->rows + 1;
  double most = 0.0;
  for (int i = 0; i < p->rows; i++) s->D[i] = p->W[(size_t)i * step], most = kn_max(most, s->D[i]);
  for (int b = 0; b < p->blocks; b++) {
    int row = p->block[b].row, rows = kn_set_rows(p->block[b].set);
    for (int i = 2; i < rows; i++) s->D[row + 1] = kn_max(s->D[row + 1], s->D[row + i]);
    for (int i = 2; i < rows; i++) s->D[row + i] = s->D[row + 1];
  }
  for (int i = 0; i < p->rows; i++) s->D[i] = kn_max(s->D[i], 1e-6 * most), s->weight[i] = 1.0 / s->D[i];
  s->W_symmetric = looks_symmetric(s, p);
}

void kn_warm_renew(kn_warm_system* s) {
  s->border.count = s->border.extras = s->border.factored = s->border.price = 0;
  for (int b = 0; b < s->n; b++) s->place[b] = -1;
  for (int b = 0; b < s->held_blocks && s->has_factor; b++) s->place[s->held[b].block] = b;
}

static void hold(kn_warm_system* s, double term) {
  s->has_factor = true, s->term = term, s->held_rows = s->n, s->held_blocks = s->blocks;
  memcpy(s->held, s->block, (size_t)s->blocks * sizeof *s->held);
  kn_warm_renew(s);
}

static bool with_exchanges(kn_warm_system* s, const kn_warm_ops* ops, const double* extra) {
  size_t m = (size_t)s->m;
  ops->matrix(s);
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < m; j++)
      s->LU[i * m + j] = s->A[(i / KN_WARM_GROUP * m + j) * KN_WARM_GROUP + i % KN_WARM_GROUP];
    s->LU[i * m + i] += extra[i];
  }
  return kn_lu_factor(s->m, s->LU, s->m, s->perm) == s->m;
}

bool kn_warm_factor(kn_warm_system* s, const kn_warm_ops* ops, double term) {
  double extra[KN_WARM_ROWS];
  s->symmetric = s->W_symmetric && s->m > 2 * KN_WARM_GROUP; /* of less there is nothing to save */
  for (int b = 0; b < s->blocks; b++) s->symmetric &= !s->block[b].slip;
  for (int b = 0; b < s->blocks; b++)
    for (int i = 0; i < s->block[b].unknowns; i++)
      extra[s->block[b].at + i] = term * s->D[s->block[b].row + i];
  hold(s, term);
  s->exchanged = !ops->factor(s, extra);
  s->has_factor = !s->exchanged || with_exchanges(s, ops, extra);
  return s->has_factor;
}

void kn_warm_solve_held(kn_warm_system* s, const kn_warm_ops* ops) {
  double x[KN_WARM_ROWS];
  if (!s->exchanged) {
    ops->solve(s);
    return;
  }
  kn_lu_solve(s->m, x, s->LU, s->m, s->perm, s->x);
  memcpy(s->x, x, (size_t)s->m * sizeof *x);
}

void kn_warm_solve(kn_warm_system* s, const kn_warm_ops* ops) {
  if (s->border.count)
    KN_BEST(&kn_warm_border_ops)->solve(s, ops);
  else
    kn_warm_solve_held(s, ops);
}

const kn_warm_block* kn_warm_held(const kn_warm_system* s, int block) {
  int place = s->place[block];
  return place >= 0 ? &s->held[place] : place == -1 ? NULL : &s->border.block[-2 - place];
}

/* Does the matrix know how fast a slipping contact turns? */
static bool turns_alike(const kn_warm_system* s, const kn_warm_block* old, const kn_warm_block* w) {
  static const double part = 0.1; /* of the entry that it belongs to */
  return fabs(w->a - old->a) <= part * (s->D[w->row + 1] + old->a);
}

/* That of an added block stands in the border's own matrix. */
static void turn(kn_warm_border* b, int extra, double a) {
  for (int p = 0; p < b->count; p++)
    if (b->extra[p] == extra && b->unknown[p] > 0) {
      b->S[p][p] += a - b->block[extra].a;
      if (b->factored > p) b->factored = p;
    }
  b->block[extra].a = a;
}

/* Does a change cost less than a new factor, with those before it? Counted in instructions: 25 unknowns, of six rows to a contact, 6 000
   for one that is added and 1 500 for one that goes, 30 000 for a new factor; 80 unknowns 9 000, 3 000 and 220 000. */
static bool cheap(kn_warm_system* s, const kn_warm_block* old, const kn_warm_block* w) {
  s->border.price += 4 * w->unknowns + (old ? old->unknowns : 0);
  return s->border.price <= s->m;
}

/* In the factor's mode, and slips that way? */
static bool unchanged(const kn_warm_system* s, const kn_warm_block* old, const kn_warm_block* w,
                      double cosine) {
  bool same = old ? kn_warm_mode(old) == kn_warm_mode(w) : w->unknowns == 0;
  return same && (!w->slip || (kn_warm_along(old->d, w->d, w->rows) >= cosine && turns_alike(s, old, w)));
}

void kn_warm_stay(const kn_warm_system* s, kn_warm_block* w, double cosine) {
  const kn_warm_block* old = kn_warm_held(s, w->block);
  if (s->border.price <= s->m || !w->slip || !unchanged(s, old, w, cosine)) return;
  memcpy(w->d, old->d, sizeof w->d), memcpy(w->t, old->t, sizeof w->t);
  w->a = old->a;
}

bool kn_warm_take(kn_warm_system* s, const kn_warm_ops* ops, const kn_warm_block* w, double cosine) {
  const kn_warm_border_ops* border = KN_BEST(&kn_warm_border_ops);
  const kn_warm_block* old = kn_warm_held(s, w->block);
  int place = s->place[w->block];
  if (unchanged(s, old, w, cosine)) return true;
  bool same = old ? kn_warm_mode(old) == kn_warm_mode(w) : w->unknowns == 0;
  s->has_factor = false; /* until kn_warm_taken */
  if (same && place <= -2 && kn_warm_along(old->d, w->d, w->rows) >= cosine) {
    turn(&s->border, -2 - place, w->a);
    return true;
  }
  if (!cheap(s, old, w)) return false;
  if (place >= 0 && !border->remove(s, ops, place)) return false;
  if (place <= -2) border->drop(s, -2 - place);
  s->place[w->block] = -1;
  if (w->unknowns == 0) return true;
  int extra = border->add(s, ops, w);
  if (extra >= 0) s->place[w->block] = -2 - extra;
  return extra >= 0;
}

bool kn_warm_taken(kn_warm_system* s) {
  s->border.price = 0;
  if (!s->has_factor) s->has_factor = KN_BEST(&kn_warm_border_ops)->factor(&s->border);
  return s->has_factor;
}
