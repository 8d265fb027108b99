/* Kernels of the warm start (warm_modes.c). Sums over rows of W run in eight
   interleaved lanes added in a fixed tree; in the factor and its solves eight rows are eight lanes and every
   element is updated in the order of k: the same bits for every KN_W.

   Unknowns of a sticking contact are the changes of r, of a slipping one (dn, s): r_N changes by dn, r_T by
   mu d dn + s t, and the row across is t.u_T. With the columns c_N = w_N + mu (d1 w_1 + d2 w_2) and
   c_t = t1 w_1 + t2 w_2 of W the matrix is that of Newton's method in the angle of slip; turning d by
   s / (mu r_N) turns u_T = -a r_T against t and adds a to the entry (t, t). Contacts of four to six rows have as many
   ways across as angles, and are done row by row. */
#include "base/isa.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "comp/cone/warm_modes.h"

typedef double kn_vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));
typedef int64_t kn_bits __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));
typedef double kn_vec4 __attribute__((vector_size(32), aligned(8), may_alias));

enum { G = KN_WARM_GROUP, KN_LANES = G / KN_W };

#define AT(p, i)   (*(kn_vec*)((p) + (i)))
#define CAT(p, i)  (*(const kn_vec*)((p) + (i)))
#define AT4(p, i)  (*(kn_vec4*)((p) + (i)))
#define CAT4(p, i) (*(const kn_vec4*)((p) + (i)))

/* ---- matrices ---- */

/* Rows with load, four entries at a time: what is written too much, the next four or the zeros write again,
   and what is read too much is in the next row; so the last row of the problem is copied exactly. */
static void KN_NAME(compress)(kn_warm_system* s) {
  int from[KN_WARM_ROWS], to[KN_WARM_ROWS], fours = 0, end = -1;
  for (int b = 0; b < s->blocks; b++) {
    const kn_warm_block* k = &s->block[b];
    if (fours == 0 || from[fours - 1] - to[fours - 1] != k->row - k->own) end = k->own;
    for (; end < k->own + k->rows; end += 4) to[fours] = end, from[fours++] = end + k->row - k->own;
  }
  for (int b = 0; b < s->blocks; b++)
    for (int i = 0; i < s->block[b].rows; i++) {
      int row = s->block[b].row + i;
      const double* in = s->W_in + (size_t)row * (size_t)s->n;
      double* out = s->W + (size_t)(s->block[b].own + i) * (size_t)s->ld;
      if (row + 1 < s->n)
        for (int k = 0; k < fours; k++) AT4(out, to[k]) = CAT4(in, from[k]);
      else
        for (int k = 0; k < s->blocks; k++)
          for (int j = 0; j < s->block[k].rows; j++) out[s->block[k].own + j] = in[s->block[k].row + j];
      for (int l = 0; l < G; l += KN_W) AT(out, s->rows + l) = AT(out, s->ld - G + l) = (kn_vec){0};
    }
  memset(s->W + (size_t)s->rows * (size_t)s->ld, 0, 8 * sizeof *s->W);
}

/* Entries of the unknowns in a row of W: of a slipping block w[0] (1, 0, 0) + w[1] b + w[2] c; blocks beside each other
   that do not slip are a run, their entries those of W. */
typedef struct mix {
  kn_vec4 b, c;
  int own, at;
  int run;                   /* rows of a run, or 0 */
  const kn_warm_block* tall; /* a slipping block of more than three rows, or NULL */
  int spare[10];             /* two cache lines each */
} mix;

/* Returns how many there are; tall: how many of them slip in more than three rows. */
static int mixes(mix* out, const kn_warm_system* s, int* tall) {
  int count = 0;
  *tall = 0;
  for (int i = 0; i < s->blocks; i++) {
    const kn_warm_block* k = &s->block[i];
    if (!k->slip && count > 0 && out[count - 1].run) {
      out[count - 1].run += k->rows;
      continue;
    }
    bool three = k->rows > 2;
    mix* o = &out[count++];
    o->own = k->own, o->at = k->at, o->run = k->slip ? 0 : k->rows, o->tall = NULL;
    if (!k->slip) continue;
    o->b = (kn_vec4){k->mu * k->d[0], three ? k->t[0] : 0.0, 0.0, 0.0};
    o->c = (kn_vec4){three ? k->mu * k->d[1] : 0.0, three ? k->t[1] : 0.0, 0.0, 0.0};
    if (k->rows > 3) o->tall = k, ++*tall;
  }
  return count;
}

static void gather_tall(double* out, const kn_warm_block* k, const double* w) {
  double across = kn_warm_along(k->t, w + 1, k->rows);
  out[0] = w[0] + k->mu * kn_warm_along(k->d, w + 1, k->rows);
  for (int i = 1; i < k->unknowns; i++) out[i] = w[1 + i] - k->t[i] * across;
}

/* What is written too much, the next one writes again or is beyond the end; blocks that slip in more than three rows are
   written last. */
static inline void gather(double* out, const mix* k, int count, int tall, const double* w) {
  for (int i = 0; i < count; i++) {
    const double* in = w + k[i].own;
    for (int j = 0; j < k[i].run; j += KN_W) AT(out, k[i].at + j) = CAT(in, j);
    if (!k[i].run) AT4(out, k[i].at) = ((kn_vec4){in[0], 0.0, 0.0, 0.0} + in[1] * k[i].b) + in[2] * k[i].c;
  }
  for (int i = 0; i < count && tall > 0; i++)
    if (k[i].tall) gather_tall(out + k[i].at, k[i].tall, w + k[i].own);
}

static inline void combine(double* out, const double* w1, const double* w2, double t1, double t2, int n) {
  for (int j = 0; j < n; j += KN_W) AT(out, j) = t1 * CAT(w1, j) + t2 * CAT(w2, j);
}

/* Way i across of a block of more than three rows whose rows of W begin at w. */
static void combine_tall(double* out, const kn_warm_block* k, int i, const double* w, size_t ld, int n) {
  for (int j = 0; j < n; j += KN_W) AT(out, j) = CAT(w, (size_t)(1 + i) * ld + (size_t)j);
  for (int c = 0; c + 1 < k->rows; c++) {
    double t = k->t[i] * k->t[c];
    for (int j = 0; j < n; j += KN_W) AT(out, j) -= t * CAT(w, (size_t)(1 + c) * ld + (size_t)j);
  }
}

/* Four columns of eight rows. */
static inline void transpose(double* out, const double* in, size_t ld) {
  for (int h = 0; h < G; h += 4) {
    kn_vec4 a = CAT4(in, 0), b = CAT4(in + ld, 0), c = CAT4(in + 2 * ld, 0), d = CAT4(in + 3 * ld, 0);
    kn_vec4 e = __builtin_shufflevector(a, b, 0, 4, 2, 6), f = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    kn_vec4 g = __builtin_shufflevector(c, d, 0, 4, 2, 6), i = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    AT4(out, h) = __builtin_shufflevector(e, g, 0, 1, 4, 5);
    AT4(out, G + h) = __builtin_shufflevector(f, i, 0, 1, 4, 5);
    AT4(out, 2 * G + h) = __builtin_shufflevector(e, g, 2, 3, 6, 7);
    AT4(out, 3 * G + h) = __builtin_shufflevector(f, i, 2, 3, 6, 7);
    in += 4 * ld;
  }
}

static void spread(double* out, const double* rows, int m) {
  enum { LD = KN_WARM_ROWS + 8 };
  double rest[4 * G];
  int j = 0;
  for (; j + 4 <= m; j += 4) transpose(out + (size_t)j * G, rows + j, LD);
  if (j == m) return;
  transpose(rest, rows + j, LD);
  memcpy(out + (size_t)j * G, rest, (size_t)(m - j) * G * sizeof *out);
}

static void KN_NAME(matrix)(kn_warm_system* s) {
  enum { LD = KN_WARM_ROWS + 8 };
  mix mixed[KN_WARM_ROWS] __attribute__((aligned(64)));
  double rows[(G + KN_SET_ROWS_MOST) * LD], across[LD];
  size_t ld = (size_t)s->ld, group = (size_t)G * (size_t)s->m;
  int filled = 0, done = 0, tall, count = mixes(mixed, s, &tall);
  for (int b = 0; b < s->blocks; b++) {
    const kn_warm_block* k = &s->block[b];
    const double* w = s->W + (size_t)k->own * ld;
    double* out = rows + (size_t)filled * LD;
    gather(out, mixed, count, tall, w);
    for (int i = 1; i < k->unknowns && !k->slip; i++)
      gather(out + (size_t)i * LD, mixed, count, tall, w + (size_t)i * ld);
    for (int i = 1; i < k->unknowns && k->slip; i++) {
      if (k->rows == 3)
        combine(across, w + ld, w + 2 * ld, k->t[0], k->t[1], s->ld);
      else
        combine_tall(across, k, i, w, ld, s->ld);
      gather(out + i * LD, mixed, count, tall, across);
      out[i * LD + k->at + i] += k->a;
    }
    for (int i = 0; i < k->unknowns; i++) s->diagonal[k->at + i] = out[i * LD + k->at + i];
    filled += k->unknowns;
    if (filled < G) continue;
    spread(s->A + (size_t)done++ * group, rows, s->m);
    filled -= G;
    for (int i = 0; i < filled; i++) memcpy(rows + i * LD, rows + (G + i) * LD, (size_t)s->m * sizeof *rows);
  }
  if (filled == 0) return;
  for (int i = filled; i < G; i++) memset(rows + i * LD, 0, (size_t)s->m * sizeof *rows);
  spread(s->A + (size_t)done * group, rows, s->m);
}

/* ---- LU, eight rows and columns at a time ---- */

typedef struct column {
  kn_vec v[KN_LANES];
} column;

#if KN_W == 8
#define SPLAT(x, k) __builtin_shufflevector((x).v[0], (x).v[0], k, k, k, k, k, k, k, k)
#elif KN_W == 4
#define SPLAT(x, k)                                                                                          \
  __builtin_shufflevector((x).v[(k) / 4], (x).v[(k) / 4], (k) % 4, (k) % 4, (k) % 4, (k) % 4)
#else
#define SPLAT(x, k) __builtin_shufflevector((x).v[(k) / 2], (x).v[(k) / 2], (k) % 2, (k) % 2)
#endif

/* All ones in the lanes above 8, none up to it. */
static const int64_t bits_after[16] = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};

/* Column k of the identity begins at 7 - k. */
static const double unit[15] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0};

static inline column load(const double* p) {
  column c;
  for (int l = 0; l < KN_LANES; l++) c.v[l] = CAT(p, l * KN_W);
  return c;
}

static inline void store(double* p, column c) {
  for (int l = 0; l < KN_LANES; l++) AT(p, l * KN_W) = c.v[l];
}

/* Lanes k+1 … 7, and lanes 0 … k-1. */
static inline column after(column c, int k) {
  for (int l = 0; l < KN_LANES; l++)
    c.v[l] = (kn_vec)((kn_bits)c.v[l] & *(const kn_bits*)(bits_after + 7 - k + l * KN_W));
  return c;
}

static inline column before(column c, int k) {
  for (int l = 0; l < KN_LANES; l++)
    c.v[l] = (kn_vec)((kn_bits)c.v[l] & ~*(const kn_bits*)(bits_after + 8 - k + l * KN_W));
  return c;
}

#define EIGHT(f)                                                                                             \
  f(0);                                                                                                      \
  f(1);                                                                                                      \
  f(2);                                                                                                      \
  f(3);                                                                                                      \
  f(4);                                                                                                      \
  f(5);                                                                                                      \
  f(6);                                                                                                      \
  f(7)

/* x -= l_k x_k. */
#define STEP(x, l, k)                                                                                        \
  do {                                                                                                       \
    kn_vec xk = SPLAT(x, k);                                                                                 \
    for (int i_ = 0; i_ < KN_LANES; i_++) (x).v[i_] -= (l).v[i_] * xk;                                       \
  } while (0)

#define PIVOT(k)                                                                                             \
  do {                                                                                                       \
    double p = c[k].v[(k) / KN_W][(k) % KN_W], inv = 1.0 / p;                                                \
    good &= (p > least[k] || -p > negative[k]) && fabs(p) < INFINITY;                                        \
    inverse[k] = inv;                                                                                        \
    column below = after(c[k], k), above = before(c[k], k);                                                  \
    for (int l = 0; l < KN_LANES; l++) below.v[l] *= inv, above.v[l] *= inv;                                 \
    store(low + (k)*G, below);                                                                               \
    store(up + (k)*G, above);                                                                                \
    _Pragma("GCC unroll 8") for (int j = (k) + 1; j < G; j++) STEP(c[j], below, k);                          \
  } while (0)

/* The block on the diagonal: L and U/pivots to low and up, U itself left in a. */
static inline bool diagonal_block(double* a, int width, double* inverse, double* low, double* up,
                                  const double* least, const double* negative) {
  column c[G];
  bool good = true;
  for (int k = 0; k < G; k++) {
    if (k < width)
      c[k] = load(a + k * G);
    else
      for (int l = 0; l < G; l++) c[k].v[l / KN_W][l % KN_W] = l == k;
  }
  EIGHT(PIVOT);
  for (int k = 0; k < width; k++) store(a + k * G, c[k]);
  return good;
}

/* The inverse of the product of steps STEP(x, l_k, k) in this order, as columns: eight of them become eight
   independent products in a solve. */
static inline void invert_low(double* low) {
  column l[G - 1];
  for (int k = 0; k < G - 1; k++) l[k] = load(low + k * G);
#define FROM(k, first)                                                                                       \
  if ((first) <= (k)) STEP(x, l[k], k)
#define COLUMN(first)                                                                                        \
  do {                                                                                                       \
    column x = load(unit + G - 1 - (first));                                                                 \
    FROM(0, first);                                                                                          \
    FROM(1, first);                                                                                          \
    FROM(2, first);                                                                                          \
    FROM(3, first);                                                                                          \
    FROM(4, first);                                                                                          \
    FROM(5, first);                                                                                          \
    FROM(6, first);                                                                                          \
    store(low + (first)*G, x);                                                                               \
  } while (0)
  EIGHT(COLUMN);
#undef FROM
#undef COLUMN
}

static inline void invert_up(double* up) {
  column l[G];
  for (int k = 1; k < G; k++) l[k] = load(up + k * G);
#define FROM(k, first)                                                                                       \
  if ((first) >= (k)) STEP(x, l[k], k)
#define COLUMN(first)                                                                                        \
  do {                                                                                                       \
    column x = load(unit + G - 1 - (first));                                                                 \
    FROM(7, first);                                                                                          \
    FROM(6, first);                                                                                          \
    FROM(5, first);                                                                                          \
    FROM(4, first);                                                                                          \
    FROM(3, first);                                                                                          \
    FROM(2, first);                                                                                          \
    FROM(1, first);                                                                                          \
    store(up + (first)*G, x);                                                                                \
  } while (0)
  EIGHT(COLUMN);
#undef FROM
#undef COLUMN
}

/* The eight columns of a times x. */
static inline column block_times(const double* a, column x) {
  column y;
  kn_vec s0 = SPLAT(x, 0), s1 = SPLAT(x, 1), s2 = SPLAT(x, 2), s3 = SPLAT(x, 3);
  kn_vec s4 = SPLAT(x, 4), s5 = SPLAT(x, 5), s6 = SPLAT(x, 6), s7 = SPLAT(x, 7);
  for (int l = 0; l < KN_LANES; l++) {
    const double* c = a + l * KN_W;
    kn_vec even = (CAT(c, 0) * s0 + CAT(c, 2 * G) * s2) + (CAT(c, 4 * G) * s4 + CAT(c, 6 * G) * s6);
    kn_vec odd = (CAT(c, G) * s1 + CAT(c, 3 * G) * s3) + (CAT(c, 5 * G) * s5 + CAT(c, 7 * G) * s7);
    y.v[l] = even + odd;
  }
  return y;
}

/* U to the right of the block. */
static inline void block_row(double* a, int columns, const double* low) {
  column l0 = load(low), l1 = load(low + G), l2 = load(low + 2 * G), l3 = load(low + 3 * G);
  column l4 = load(low + 4 * G), l5 = load(low + 5 * G), l6 = load(low + 6 * G);
  for (int j = 0; j < columns; j++, a += G) {
    column x = load(a);
    STEP(x, l0, 0);
    STEP(x, l1, 1);
    STEP(x, l2, 2);
    STEP(x, l3, 3);
    STEP(x, l4, 4);
    STEP(x, l5, 5);
    STEP(x, l6, 6);
    store(a, x);
  }
}

/* Eight rows below: L in the columns of the block (a, block: U of it), then columns to the right (u: U
   there). Each lane by itself. */
static inline void block_below(double* a, const double* block, const double* inverse, const double* u,
                               int columns) {
  for (int v = 0; v < KN_LANES; v++, a += KN_W) {
    kn_vec l[G];
#pragma GCC unroll 8
    for (int k = 0; k < G; k++) {
      kn_vec x = CAT(a, k * G);
#pragma GCC unroll 8
      for (int i = 0; i < k; i++) x -= l[i] * block[k * G + i];
      l[k] = x * inverse[k];
      AT(a, k * G) = l[k];
    }
    double* to = a + G * G;
    const double* from = u;
    for (int j = 0; j < columns; j++, to += G, from += G) {
      kn_vec x = CAT(to, 0);
#pragma GCC unroll 8
      for (int k = 0; k < G; k++) x -= l[k] * from[k];
      AT(to, 0) = x;
    }
  }
}

/* The same of a symmetric matrix, up to the diagonal only: L is U's transpose over the pivots (u: U at these rows' columns). */
static inline void block_below_symmetric(double* a, const double* inverse, const double* u, int columns) {
  double padded[G * G], l[G * G];
  if (columns < G) {
    memset(padded, 0, sizeof padded);
    memcpy(padded, u, (size_t)columns * G * sizeof *u);
  }
  const double* own = columns < G ? padded : u;
  transpose(l, own, G);
  transpose(l + 4 * G, own + 4, G);
  for (int k = 0; k < G; k++)
    for (int v = 0; v < G; v += KN_W) AT(a, k * G + v) = CAT(l, k * G + v) * inverse[k];
}

static inline void take_products(double* to, const double* l, const double* u, int columns) {
  for (int v = 0; v < G; v += KN_W) {
    kn_vec c[G];
#pragma GCC unroll 8
    for (int k = 0; k < G; k++) c[k] = CAT(l, k * G + v);
    double* x = to + v;
    const double* from = u;
    for (int j = 0; j < columns; j++, x += G, from += G) {
      kn_vec y = CAT(x, 0);
#pragma GCC unroll 8
      for (int k = 0; k < G; k++) y -= c[k] * from[k];
      AT(x, 0) = y;
    }
  }
}

static bool KN_NAME(factor)(kn_warm_system* s, const double* extra) {
  static const double far = 1e-4; /* of the diagonal entry: negative pivots of friction, not of rounding */
  double least[KN_WARM_ROWS + G], negative[KN_WARM_ROWS + G], *A = s->A;
  int m = s->m;
  size_t group = (size_t)G * (size_t)m;
  for (int i = 0; i < m; i++) {
    double* a = A + (size_t)(i / G) * group + (size_t)i * G + i % G;
    *a += extra[i];
    least[i] = 1e-13 * *a, negative[i] = far * fabs(*a);
  }
  for (int i = m; i < m + G; i++) least[i] = negative[i] = 0.0;
  for (int k0 = 0; k0 < m; k0 += G) {
    int right = m - k0 - G;
    double *row = A + (size_t)(k0 / G) * group, *block = row + (size_t)k0 * G, *u = block + G * G;
    if (!diagonal_block(block, right < 0 ? m - k0 : G, s->diagonal + k0, s->low + k0 * G, s->up + k0 * G,
                        least + k0, negative + k0))
      return false;
    if (right > 0) block_row(u, right, s->low + k0 * G);
    invert_low(s->low + k0 * G);
    invert_up(s->up + k0 * G);
    for (int i = k0 + G; i < m; i += G) {
      double* a = A + (size_t)(i / G) * group;
      if (s->symmetric) {
        const double* over = row + (size_t)i * G;
        block_below_symmetric(a + (size_t)k0 * G, s->diagonal + k0, over, m - i);
        take_products(a + (size_t)i * G, a + (size_t)k0 * G, over, m - i);
      } else {
        block_below(a + (size_t)k0 * G, block, s->diagonal + k0, u, right);
      }
    }
  }
  return true;
}

/* x -= columns of a times y, in two sums. */
static inline column less(column x, const double* a, const double* y, int columns) {
  column other;
  for (int l = 0; l < KN_LANES; l++) other.v[l] = (kn_vec){0};
  int j = 0;
  for (; j + 2 <= columns; j += 2, a += 2 * G)
    for (int l = 0; l < KN_LANES; l++) {
      x.v[l] -= CAT(a, l * KN_W) * y[j];
      other.v[l] -= CAT(a, G + l * KN_W) * y[j + 1];
    }
  if (j < columns)
    for (int l = 0; l < KN_LANES; l++) x.v[l] -= CAT(a, l * KN_W) * y[j];
  for (int l = 0; l < KN_LANES; l++) x.v[l] += other.v[l];
  return x;
}

static inline column minus(column a, column b) {
  for (int l = 0; l < KN_LANES; l++) a.v[l] -= b.v[l];
  return a;
}

/* What was found last comes last and from registers. */
static void KN_NAME(solve)(kn_warm_system* s) {
  int m = s->m, last = (m - 1) / G * G;
  size_t group = (size_t)G * (size_t)m;
  double* y = s->x;
  for (int i = m; i < last + G; i++) y[i] = 0.0;
  column x = block_times(s->low, load(y));
  store(y, x);
  for (int i = G; i < m; i += G) {
    const double* a = s->A + (size_t)(i / G) * group;
    column rest = less(load(y + i), a, y, i - G);
    x = block_times(s->low + i * G, minus(rest, block_times(a + (size_t)(i - G) * G, x)));
    store(y + i, x);
  }
  for (int i = last; i >= 0; i -= G) {
    const double* a = s->A + (size_t)(i / G) * group + (size_t)(i + G) * G;
    int right = m - i - G;
    column rest = load(y + i);
    if (right >= G) {
      rest = less(rest, a + G * G, y + i + 2 * G, right - G);
      rest = minus(rest, block_times(a, x));
    } else if (right > 0) {
      rest = less(rest, a, y + i + G, right);
    }
    x = block_times(s->up + i * G, rest);
    for (int l = 0; l < KN_LANES; l++) x.v[l] *= CAT(s->diagonal + i, l * KN_W);
    store(y + i, x);
  }
}

/* ---- velocities ---- */

/* Eight lanes to four, element-wise. */
static inline kn_vec4 four_lanes(const kn_vec* acc) {
#if KN_W == 8
  kn_vec4 lo = __builtin_shufflevector(acc[0], acc[0], 0, 1, 2, 3);
  return lo + __builtin_shufflevector(acc[0], acc[0], 4, 5, 6, 7);
#elif KN_W == 4
  return acc[0] + acc[1];
#else
  kn_vec lo = acc[0] + acc[2], hi = acc[1] + acc[3];
  return __builtin_shufflevector(lo, hi, 0, 1, 2, 3);
#endif
}

/* The sums of four rows of lanes, (s0 + s2) + (s1 + s3) each. */
static inline kn_vec4 sum4(kn_vec4 a, kn_vec4 b, kn_vec4 c, kn_vec4 d) {
  kn_vec4 ab = __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
  kn_vec4 cd = __builtin_shufflevector(c, d, 0, 1, 4, 5) + __builtin_shufflevector(c, d, 2, 3, 6, 7);
  return __builtin_shufflevector(ab, cd, 0, 2, 4, 6) + __builtin_shufflevector(ab, cd, 1, 3, 5, 7);
}

/* Rows w, w + ld, … times r over n entries, n a multiple of 8. */
static inline kn_vec4 dots4(const double* w, const size_t step[4], const double* r, int n) {
  kn_vec acc[4][KN_LANES];
  for (int t = 0; t < 4; t++)
    for (int l = 0; l < KN_LANES; l++) acc[t][l] = (kn_vec){0};
  for (int j = 0; j < n; j += G)
    for (int l = 0; l < KN_LANES; l++) {
      kn_vec v = CAT(r, j + l * KN_W);
      for (int t = 0; t < 4; t++) acc[t][l] += CAT(w + step[t], j + l * KN_W) * v;
    }
  return sum4(four_lanes(acc[0]), four_lanes(acc[1]), four_lanes(acc[2]), four_lanes(acc[3]));
}

/* Beyond the last row the last one counts again. */
static void KN_NAME(velocity)(kn_warm_system* s) {
  size_t ld = (size_t)s->ld;
  int full = s->ld - 8;
  double way[KN_WARM_ROWS + 16];
  for (int i = 0; i < full; i += KN_W) AT(way, i) = CAT(s->r, i) - CAT(s->base, i);
  for (int i = 0; i < s->rows; i += 4) {
    size_t left = (size_t)(s->rows - 1 - i);
    size_t step[4] = {0, left < 1 ? left * ld : ld, left < 2 ? left * ld : 2 * ld,
                      left < 3 ? left * ld : 3 * ld};
    AT4(s->u, i) = CAT4(s->q, i) + dots4(s->W + (size_t)i * ld, step, way, full);
  }
}

/* Four rows of the problem, the sum beyond the last full eight columns by itself. */
static inline void four_rows(double* u, const kn_warm_system* s, const double* r, const double* q,
                             const int row[4], int count) {
  size_t n = (size_t)s->n, full = n & ~(size_t)7;
  size_t step[4] = {(size_t)row[0] * n, (size_t)row[1] * n, (size_t)row[2] * n, (size_t)row[3] * n};
  kn_vec4 sum = dots4(s->W_in, step, r, (int)full), rest = {0.0, 0.0, 0.0, 0.0};
  for (size_t j = full; j < n; j++) {
    const double* w = s->W_in + j;
    rest += (kn_vec4){w[step[0]], w[step[1]], w[step[2]], w[step[3]]} * r[j];
  }
  sum += rest;
  if (row[0] + 3 == row[3] && row[0] + 1 == row[1] && row[1] + 1 == row[2]) {
    AT4(u, row[0]) = CAT4(q, row[0]) + sum;
    return;
  }
  for (int t = 0; t < count; t++) u[row[t]] = q[row[t]] + sum[t];
}

static void KN_NAME(velocities_of)(double* u, const kn_warm_system* s, const double* r, const double* q,
                                   int* row, int rows) {
  for (int i = 0; i < 3 && rows > 0; i++) row[rows + i] = row[rows - 1];
  for (int i = 0; i < rows; i += 4) four_rows(u, s, r, q, row + i, rows - i < 4 ? rows - i : 4);
}

static void KN_NAME(velocity_whole)(kn_warm_system* s) {
  int row[KN_WARM_ROWS + 3], rows = 0;
  for (int b = 0; b < s->blocks; b++)
    for (int i = 0; i < s->block[b].rows; i++) row[rows++] = s->block[b].row + i;
  KN_NAME(velocities_of)(s->u, s, s->r, s->q, row, rows);
}

static void KN_NAME(velocities)(double* u, const kn_warm_system* s, const double* r, const double* q) {
  int row[KN_WARM_ROWS + 3];
  for (int i = 0; i < s->n; i++) row[i] = i;
  KN_NAME(velocities_of)(u, s, r, q, row, s->n);
}

const kn_warm_ops KN_NAME(kn_warm_ops) = {KN_NAME(compress),   KN_NAME(matrix),       KN_NAME(factor),
                                          KN_NAME(solve),      KN_NAME(velocity),     KN_NAME(velocity_whole),
                                          KN_NAME(velocities), KN_NAME(velocities_of)};
