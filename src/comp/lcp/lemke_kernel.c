/* Lemke's pivoting loop. Derivation in lemke.c. All vector work is element-wise, so every instruction set gives the same bits. */
#include "base/isa.h"

#include <math.h>
#include <string.h>

#include "comp/lcp/lemke.h"

typedef double kn_vec __attribute__((vector_size(8 * KN_W), aligned(16), may_alias));
typedef long long kn_mask __attribute__((vector_size(8 * KN_W), aligned(16), may_alias));

#if KN_W == 8
static const kn_mask iota = {0, 1, 2, 3, 4, 5, 6, 7};
#elif KN_W == 4
static const kn_mask iota = {0, 1, 2, 3};
#else
static const kn_mask iota = {0, 1};
#endif

/* Least and largest of the lanes, in a tree: a chain of scalars would cost more than the vector work. */
static inline double least_lane(kn_vec a) {
  double s[KN_W], m[2];
  memcpy(s, &a, sizeof s);
  for (int i = 0; i < 2; i++) m[i] = s[i];
#if KN_W >= 4
  for (int i = 0; i < 2; i++) m[i] = s[2 + i] < m[i] ? s[2 + i] : m[i];
#endif
#if KN_W == 8
  double k[2];
  for (int i = 0; i < 2; i++) k[i] = s[4 + i] < s[6 + i] ? s[4 + i] : s[6 + i];
  for (int i = 0; i < 2; i++) m[i] = k[i] < m[i] ? k[i] : m[i];
#endif
  return m[0] < m[1] ? m[0] : m[1];
}

/* v_r = t as a whole-vector store: a scalar store would stall the vector load that follows. */
static inline void set_entry(double* v, int r, double t) {
  double* at = v + (r & ~(KN_W - 1));
  kn_mask here = iota == (long long)(r & (KN_W - 1));
  kn_vec splat = t - (kn_vec){0}, old = *(kn_vec*)at;
  *(kn_mask*)at = ((kn_mask)splat & here) | ((kn_mask)old & ~here);
}

/* v <- E_k v: t = v_r / p, v <- v - t y, v_r = t. */
static inline void apply_eta(const kn_lemke* l, int k, double* v) {
  int r = l->erow[k], ld = l->ld;
  double t = v[r] * l->ipivot[k];
  if (t == 0.0) return;
  const double* y = l->eta + (size_t)k * (size_t)ld;
  if (ld <= 32) { /* short columns: one pass, the next eta waits for every store */
    kn_vec splat = t - (kn_vec){0};
    for (int i = 0; i < ld; i += KN_W) {
      kn_mask here = iota == (long long)(r - i);
      kn_vec x = *(kn_vec*)(v + i) - splat * *(const kn_vec*)(y + i);
      *(kn_mask*)(v + i) = ((kn_mask)splat & here) | ((kn_mask)x & ~here);
    }
    return;
  }
  for (int i = 0; i < ld; i += KN_W) *(kn_vec*)(v + i) -= t * *(const kn_vec*)(y + i);
  set_entry(v, r, t);
}

static inline void apply_etas(const kn_lemke* l, int from, double* v) {
  for (int k = from; k < l->etas; k++) apply_eta(l, k, v);
}

void KN_NAME(kn_lemke_ftran)(kn_lemke* l, double* v) { apply_etas(l, 0, v); }

/* y = B^-1 a_e, started at the eta where the variable left the basis (its column was a unit vector then). */
static void entering_column(kn_lemke* l, int e) {
  int n = l->n, ld = l->ld, from = l->left_eta[e];
  double* y = l->y;
  if (from >= 0) {
    for (int i = 0; i < ld; i += KN_W) *(kn_vec*)(y + i) = (kn_vec){0};
    set_entry(y, l->left_row[e], 1.0);
    apply_etas(l, from, y);
    return;
  }
  const double* a = e == 2 * n ? l->d : l->M + (size_t)(e - n) * (size_t)ld;
  for (int i = 0; i < ld; i += KN_W) *(kn_vec*)(y + i) = -*(const kn_vec*)(a + i);
  apply_etas(l, 0, y);
}

static void push_eta(kn_lemke* l, int r) {
  int k = l->etas++;
  double* to = l->eta + (size_t)k * (size_t)l->ld;
  for (int i = 0; i < l->ld; i += KN_W) *(kn_vec*)(to + i) = *(const kn_vec*)(l->y + i);
  l->erow[k] = r;
  l->ipivot[k] = 1.0 / l->y[r];
}

static void pivot(kn_lemke* l, int e, int r) {
  int left = l->basic[r];
  l->left_row[left] = r;
  l->left_eta[left] = l->etas;
  push_eta(l, r);
  apply_eta(l, l->etas - 1, l->x);
  l->basic[r] = e;
  l->pivots++;
}

/* Lexicographic rule: rows (x, B^-1)_r / y_r compared column by column until one is least. ties: rows, count.
 */
static int lexicographic_row(kn_lemke* l, int* ties, int count) {
  for (int c = 0; c < l->n && count > 1; c++) {
    memset(l->v, 0, (size_t)l->ld * sizeof(double));
    l->v[c] = 1.0;
    apply_etas(l, 0, l->v);
    double least = INFINITY;
    for (int i = 0; i < count; i++) least = fmin(least, l->v[ties[i]] / l->y[ties[i]]);
    int kept = 0;
    for (int i = 0; i < count; i++)
      if (l->v[ties[i]] / l->y[ties[i]] <= least + 1e-11 * fmax(1.0, fabs(least))) ties[kept++] = ties[i];
    count = kept;
  }
  return ties[0];
}

static inline double most_of(const double* v, int ld) {
  kn_vec m = {0};
  for (int i = 0; i < ld; i += KN_W) {
    kn_mask a = *(const kn_mask*)(v + i) & 0x7fffffffffffffffLL;
    kn_mask more = (kn_vec)a > m;
    m = (kn_vec)((a & more) | ((kn_mask)m & ~more));
  }
  double most = 0.0;
  for (int i = 0; i < KN_W; i++) most = m[i] > most ? m[i] : most;
  return most;
}

/* ratio_i = max(x_i, 0) / y_i where y_i > tol, else +inf; returns the least. */
static inline double ratios(kn_lemke* l, double tol) {
  const kn_vec inf = INFINITY - (kn_vec){0};
  kn_vec least = inf;
  for (int i = 0; i < l->ld; i += KN_W) {
    kn_vec y = *(const kn_vec*)(l->y + i), x = *(const kn_vec*)(l->x + i);
    kn_mask up = y > tol, pos = x > 0.0;
    kn_vec q =
        (kn_vec)((kn_mask)x & pos) / (kn_vec)(((kn_mask)y & up) | ((kn_mask)(1.0 - (kn_vec){0}) & ~up));
    q = (kn_vec)(((kn_mask)q & up) | ((kn_mask)inf & ~up));
    *(kn_vec*)(l->ratio + i) = q;
    kn_mask less = q < least;
    least = (kn_vec)(((kn_mask)q & less) | ((kn_mask)least & ~less));
  }
  return least_lane(least);
}

static inline int is_free_row(const kn_lemke* l, int r) {
  int b = l->basic[r];
  if (!l->free_row || b == 2 * l->n) return 0;
  return l->free_row[b < l->n ? b : b - l->n];
}

/* A free variable never blocks. */
static double drop_free(kn_lemke* l) {
  double least = INFINITY;
  for (int i = 0; i < l->n; i++) {
    if (is_free_row(l, i)) l->ratio[i] = INFINITY;
    least = l->ratio[i] < least ? l->ratio[i] : least;
  }
  return least;
}

/* Row of least ratio among entries above tol, ties (1e-11) to z0, then to the largest pivot or the
   lexicographic rule; -1: none. */
static int row_above(kn_lemke* l, double tol) {
  int n = l->n, best = -1, ties[64], count = 0;
  double least = ratios(l, tol);
  if (l->free_row) least = drop_free(l);
  if (!(least < INFINITY)) return -1;
  double limit = least + 1e-11 * (least > 1.0 ? least : 1.0);
  for (int i = 0; i < n; i++) {
    if (!(l->ratio[i] <= limit)) continue;
    if (l->basic[i] == 2 * n) return i;
    if (count < 64) ties[count++] = i;
    if (best < 0 || l->y[i] > l->y[best]) best = i;
  }
  return l->lexicographic && count > 1 ? lexicographic_row(l, ties, count) : best;
}

/* Row that leaves; -1: ray. A pivot must exceed 1e-11 of its column; the column's largest entry is looked up
   only when the chosen pivot is small enough for that to matter (columns of the scaled problem do not reach
   1e4 before it does). */
static int leaving_row(kn_lemke* l) {
  int r = row_above(l, 1e-15);
  if (r >= 0 && l->y[r] > 1e-7) return r;
  double most = most_of(l->y, l->ld);
  return most > 0.0 ? row_above(l, 1e-11 * most) : -1;
}

/* New etas for the present basis: each structural column picks the largest entry among rows whose w is not
   basic. Returns false when a column has no pivot left. */
static bool refactor(kn_lemke* l) {
  int n = l->n, count = 0;
  int* structural = l->left_row; /* rewritten below */
  for (int r = 0; r < n; r++)
    if (l->basic[r] >= n) structural[count++] = l->basic[r];
  double* used = l->ratio; /* 1: row already holds its basic variable */
  for (int i = 0; i < n; i++) used[i] = 0.0;
  for (int r = 0; r < n; r++)
    if (l->basic[r] < n) used[l->basic[r]] = 1.0;
  for (int i = 0; i < n; i++)
    if (used[i] == 1.0) l->basic[i] = i;
  l->etas = 0;
  for (int v = 0; v <= 2 * n; v++) l->left_eta[v] = v < n ? 0 : -1;
  for (int c = 0; c < count; c++) {
    int r = -1, e = structural[c];
    entering_column(l, e);
    for (int i = 0; i < n; i++)
      if (used[i] == 0.0 && (r < 0 || fabs(l->y[i]) > fabs(l->y[r]))) r = i;
    if (r < 0 || l->y[r] == 0.0) return false;
    push_eta(l, r);
    used[r] = 2.0;
    l->basic[r] = e;
  }
  for (int i = 0; i < n; i++) l->left_row[i] = i;
  memcpy(l->x, l->q, (size_t)l->ld * sizeof(double));
  apply_etas(l, 0, l->x);
  return true;
}

/* Bring the free variables into the basis: w_f = 0 leaves, z_f enters; dependent ones stay at zero. */
static void enter_free(kn_lemke* l) {
  int n = l->n;
  for (int f = 0; f < n; f++) {
    if (!l->free_row[f]) continue;
    entering_column(l, n + f);
    int r = -1;
    for (int i = 0; i < n; i++)
      if (l->free_row[i] && l->basic[i] == i && (r < 0 || fabs(l->y[i]) > fabs(l->y[r]))) r = i;
    if (r >= 0 && fabs(l->y[r]) > 1e-11 * most_of(l->y, l->ld)) pivot(l, n + f, r);
  }
}

/* First pivot: z0 enters with the row that makes all others non-negative; -1: already feasible. */
static int first_row(kn_lemke* l) {
  int best = -1;
  double least = 0.0;
  for (int i = 0; i < l->n; i++) {
    if (is_free_row(l, i) || !(l->x[i] < 0.0) || !(l->y[i] < 0.0)) continue;
    double t = -(l->x[i] / l->y[i]); /* x_i / d_i */
    if (best < 0 || t < least || (t <= least && l->lexicographic)) {
      best = i;
      least = t;
    }
  }
  return best;
}

static bool feasible(const kn_lemke* l) {
  for (int i = 0; i < l->n; i++)
    if (l->x[i] < 0.0 && !is_free_row(l, i)) return false;
  return true;
}

static void reset(kn_lemke* l) {
  int n = l->n;
  l->etas = l->pivots = 0;
  for (int i = 0; i < n; i++) l->basic[i] = i;
  for (int v = 0; v <= 2 * n; v++) {
    l->left_row[v] = v < n ? v : -1;
    l->left_eta[v] = v < n ? 0 : -1;
  }
  memcpy(l->x, l->q, (size_t)l->ld * sizeof(double));
}

kn_lemke_end KN_NAME(kn_lemke_run)(kn_lemke* l) {
  int n = l->n, e = 2 * n;
  reset(l);
  if (l->free_row) enter_free(l);
  if (feasible(l)) return KN_LEMKE_SOLVED;
  entering_column(l, e);
  int r = first_row(l), since = 0;
  while (r >= 0) {
    int left = l->basic[r];
    pivot(l, e, r);
    if (left == 2 * n) return KN_LEMKE_SOLVED;
    if (l->pivots >= l->max_pivots) return KN_LEMKE_LIMIT;
    since++;
    if ((l->refactor_every && since >= l->refactor_every) || l->etas == l->capacity) {
      if (!refactor(l)) return KN_LEMKE_BREAKDOWN;
      since = 0;
    }
    e = left < n ? left + n : left - n;
    entering_column(l, e);
    r = leaving_row(l);
  }
  l->entering = e;
  return KN_LEMKE_RAY;
}
