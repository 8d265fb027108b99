/* Recursive Schur test on eight matrices at once. Derivation in pmatrix.c. Lanes never mix, so every instruction set gives the same bits. */
#include "base/isa.h"

#include <stddef.h>
#include <string.h>

#include "comp/verdict/pmatrix.h"

typedef double kn_vec __attribute__((vector_size(8 * KN_W), aligned(8 * KN_W), may_alias));
typedef long long kn_mask __attribute__((vector_size(8 * KN_W), aligned(8 * KN_W), may_alias));

enum { PARTS = 8 / KN_W };
#define AT(A, i, j) ((const kn_vec*)((A) + ((size_t)((i)*ld + (j))) * 8))

typedef struct walk {
  unsigned set; /* rows of the failing minor, filled while unwinding */
  int lane;
  int n;
} walk;

static inline bool any(kn_mask bad) {
  long long s = 0;
  for (int i = 0; i < KN_W; i++) s |= bad[i];
  return s != 0;
}

static int first_lane(const kn_vec* v, double limit) {
  for (int l = 0; l < 8; l++)
    if (!(v[l / KN_W][l % KN_W] > limit)) return l;
  return -1;
}

static inline kn_vec least(kn_vec a, kn_vec b) {
  kn_mask less = a < b;
  return (kn_vec)(((kn_mask)a & less) | ((kn_mask)b & ~less));
}

/* Which minor of which lane: the lowest lane, so that the answer does not depend on the width. */
static bool leaf_failed(walk* w, const double* A, int ld, const kn_vec* minor) {
  static const unsigned sets[7] = {1, 2, 4, 3, 5, 6, 7};
  for (int lane = 0; lane < 8; lane++) {
    double e[3][3];
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) e[i][j] = A[(i * ld + j) * 8 + lane];
    double ab = e[0][0] * e[1][1] - e[0][1] * e[1][0], ac = e[0][0] * e[2][2] - e[0][2] * e[2][0];
    double bc = e[1][1] * e[2][2] - e[1][2] * e[2][1];
    double x = e[1][0] * e[2][2] - e[1][2] * e[2][0], y = e[1][0] * e[2][1] - e[1][1] * e[2][0];
    double all[7] = {e[0][0], e[1][1], e[2][2], ab, ac, bc, e[0][0] * bc - e[0][1] * x + e[0][2] * y};
    double before = minor[lane / KN_W][lane % KN_W];
    for (int k = 0; k < 7; k++) {
      if (all[k] > KN_PMATRIX_TOL && all[k] * before > KN_PMATRIX_TOL) continue;
      w->lane = lane;
      w->set = sets[k] << (w->n - 3);
      return true;
    }
  }
  return false;
}

/* Least of the seven minors of a 3 x 3 matrix, lane by lane. */
static inline bool leaf3(walk* w, const double* A, int ld, const kn_vec* minor) {
  kn_mask bad = {0};
  for (int p = 0; p < PARTS; p++) {
    kn_vec a = AT(A, 0, 0)[p], b = AT(A, 1, 1)[p], c = AT(A, 2, 2)[p];
    kn_vec a01 = AT(A, 0, 1)[p], a10 = AT(A, 1, 0)[p], a02 = AT(A, 0, 2)[p], a20 = AT(A, 2, 0)[p];
    kn_vec a12 = AT(A, 1, 2)[p], a21 = AT(A, 2, 1)[p];
    kn_vec ab = a * b - a01 * a10, ac = a * c - a02 * a20, bc = b * c - a12 * a21;
    kn_vec x = a10 * c - a12 * a20, y = a10 * a21 - b * a20;
    kn_vec det = a * bc - a01 * x + a02 * y;
    kn_vec m = least(least(least(a, b), least(c, ab)), least(least(ac, bc), det));
    bad |= ~((m > KN_PMATRIX_TOL) & (m * minor[p] > KN_PMATRIX_TOL));
  }
  return !any(bad) || !leaf_failed(w, A, ld, minor);
}

/* S = A / a_00 of size m - 1. */
static inline void schur(double* S, const double* A, int ld, int m, const kn_vec* inverse) {
  for (int i = 1; i < m; i++)
    for (int p = 0; p < PARTS; p++) {
      kn_vec f = AT(A, i, 0)[p] * inverse[p];
      kn_vec* to = (kn_vec*)(S + (size_t)((i - 1) * (m - 1)) * 8) + p;
      for (int j = 1; j < m; j++) to[(size_t)(j - 1) * PARTS] = AT(A, i, j)[p] - f * AT(A, 0, j)[p];
    }
}

static bool visit(walk* w, const double* A, int ld, int m, const kn_vec* minor, double* buffer) {
  if (m == 3) return leaf3(w, A, ld, minor);
  kn_vec inverse[PARTS], next[PARTS];
  kn_mask bad = {0};
  for (int p = 0; p < PARTS; p++) {
    kn_vec a = AT(A, 0, 0)[p];
    next[p] = minor[p] * a;
    bad |= ~((a > KN_PMATRIX_TOL) & (next[p] > KN_PMATRIX_TOL));
    inverse[p] = 1.0 / a;
  }
  if (any(bad)) {
    w->lane = first_lane(AT(A, 0, 0), KN_PMATRIX_TOL);
    if (w->lane < 0) w->lane = first_lane(next, KN_PMATRIX_TOL);
    w->set = 1u << (w->n - m);
    return false;
  }
  schur(buffer, A, ld, m, inverse);
  if (!visit(w, buffer, m - 1, m - 1, next, buffer + (size_t)((m - 1) * (m - 1)) * 8)) {
    w->set |= 1u << (w->n - m);
    return false;
  }
  return visit(w, A + (size_t)(ld + 1) * 8, ld, m - 1, minor, buffer);
}

bool KN_NAME(kn_pmatrix_lanes)(kn_pmatrix_lanes* p) {
  walk w = {0, 0, p->m};
  kn_vec minor[PARTS];
  memcpy(minor, p->minor, sizeof minor);
  bool ok = visit(&w, p->A, p->m, p->m, minor, p->buffer);
  p->failing = w.set;
  p->lane = w.lane;
  return ok;
}
