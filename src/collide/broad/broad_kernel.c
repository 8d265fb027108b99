/* The loops of every update, written once for eight lanes: conversion of boxes, the test that they stay
   inside their fat boxes, and the filter of the fat pairs. Comparisons and roundings are the same on every
   instruction set. */
#include "base/isa.h"

#undef KN_W
#define KN_W (KN_ISA == 0 ? 4 : 8) /* floats */

#include <math.h>
#include <string.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "collide/broad/broad.h"
#include "collide/broad/broad_table.h"

/* Outward: a float step is at most 2^-23 of the value; 2e-38 covers zero without subnormal numbers. */
#if defined(__AVX__)
typedef float v8f __attribute__((vector_size(32)));
typedef double v4d __attribute__((vector_size(32)));
typedef int64_t v4l __attribute__((vector_size(32)));

/* In one store: a load of the whole box need not wait until two have arrived. */
static inline void put_box(kn_box* out, kn_v4f lo, kn_v4f nhi) {
  v8f both = __builtin_shufflevector(lo, nhi, 0, 1, 2, 3, 4, 5, 6, 7);
  memcpy(out, &both, sizeof both);
}

static inline kn_v4f below4(v4d x) {
  v4d size = (v4d)((v4l)x & (v4l){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX});
  return __builtin_convertvector(x - size * 0x1p-23 - 2e-38, kn_v4f);
}

static inline kn_box convert(const double* x, bool* valid) {
  v4d lo = {x[0], x[1], x[2], 0}, hi = {x[3], x[4], x[5], 0};
  *valid &= __builtin_ia32_movmskpd256((v4d)(lo <= hi)) == 15;
  return (kn_box){below4(lo), below4(-hi)};
}
#else
static inline void put_box(kn_box* out, kn_v4f lo, kn_v4f nhi) { *out = (kn_box){lo, nhi}; }
static inline float below(double x) { return (float)(x - fabs(x) * 0x1p-23 - 2e-38); }

static inline kn_box convert(const double* x, bool* valid) {
  *valid &= (x[0] <= x[3]) & (x[1] <= x[4]) & (x[2] <= x[5]);
  return (kn_box){{below(x[0]), below(x[1]), below(x[2]), below(0)},
                  {below(-x[3]), below(-x[4]), below(-x[5]), below(0)}};
}
#endif

static int KN_NAME(convert_boxes)(kn_box* out, const kn_box* fat, const double* boxes, int32_t n) {
  kn_v4i inside = {-1, -1, -1, -1};
  bool valid = true;
  for (int32_t i = 0; i < n; i++) {
    kn_box box = convert(boxes + 6 * (size_t)i, &valid);
    put_box(&out[i], box.lo, box.nhi);
    inside &= (box.lo >= fat[i].lo) & (box.nhi >= fat[i].nhi);
  }
  return (valid ? KN_BOXES_VALID : 0) | (kn_v4i_all(inside) ? KN_BOXES_INSIDE : 0);
}

static bool KN_NAME(all_inside)(const kn_box* box, const kn_box* fat, int32_t n) {
  kn_v4i inside = {-1, -1, -1, -1};
  for (int32_t i = 0; i < n; i++) inside &= (box[i].lo >= fat[i].lo) & (box[i].nhi >= fat[i].nhi);
  return kn_v4i_all(inside);
}

#if defined(__AVX__)
static inline bool meets(const kn_box* limit, const kn_box* b) {
  v8f x, y;
  memcpy(&x, b, sizeof x);
  memcpy(&y, limit, sizeof y);
  return _mm256_testc_ps((__m256)(x <= y), (__m256)((v8f){0} == 0));
}
#else
static inline bool meets(const kn_box* limit, const kn_box* b) {
  return kn_v4i_all((b->lo <= limit->lo) & (b->nhi <= limit->nhi));
}
#endif

/* With a box kept as (lo, -hi), b meets a when (lo_b, -hi_b) <= (hi_a, -lo_a), the limit of a. 32 pairs are
   tested before those that meet are copied: where a pair goes depends on the ones before it, and loads wait
   for the addresses of earlier stores. */
static int32_t KN_NAME(filter_pairs)(kn_broad_pair* out, kn_box* limit, const kn_box* box, int32_t n,
                                     const kn_broad_pair* fat_pair, int32_t np) {
  int32_t k = 0;
  for (int32_t i = 0; i < n; i++) put_box(&limit[i], -box[i].nhi, -box[i].lo);
  for (int32_t start = 0; start < np; start += 32) {
    const kn_broad_pair* p = fat_pair + start;
    int32_t count = np - start < 32 ? np - start : 32;
    uint32_t meet = 0;
    for (int32_t i = 0; i < count; i++) meet |= (uint32_t)meets(&limit[p[i].a], &box[p[i].b]) << i;
    for (; meet; meet &= meet - 1) out[k++] = p[__builtin_ctz(meet)];
  }
  return k;
}

/* Pair search of a rebuild: one box against a stretch of boxes in cell order, KN_W at a time. */
typedef float vf __attribute__((vector_size(4 * KN_W)));
typedef int32_t vi __attribute__((vector_size(4 * KN_W)));

static inline vf load(const float* p) {
  vf v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline unsigned bits(vi m) {
#if KN_W == 8
  return (unsigned)__builtin_ia32_movmskps256((vf)m);
#elif defined(__SSE2__)
  return (unsigned)__builtin_ia32_movmskps((vf)m);
#else
  unsigned r = 0;
  for (int i = 0; i < KN_W; i++) r |= (unsigned)(m[i] & 1) << i;
  return r;
#endif
}

typedef struct seeker {
  kn_broad* b;
  int32_t item;
  float lo[3], nhi[3]; /* its fat box */
} seeker;

static inline void emit(kn_broad* b, int32_t i, int32_t j) {
  if (!kn_broad_allowed(b, i, j)) return;
  int32_t at = b->needed++;
  if (at < b->capacity) b->found[at] = (kn_broad_pair){i, j};
}

static inline void seek(const seeker* q, int32_t from, int32_t to) {
  const kn_broad* b = q->b;
  for (int32_t s = from; s < to; s += KN_W) {
    vi m = load(b->grid.sorted_lo[0] + s) <= -q->nhi[0];
    m &= load(b->grid.sorted_lo[1] + s) <= -q->nhi[1];
    m &= load(b->grid.sorted_lo[2] + s) <= -q->nhi[2];
    m &= load(b->grid.sorted_nhi[0] + s) <= -q->lo[0];
    m &= load(b->grid.sorted_nhi[1] + s) <= -q->lo[1];
    m &= load(b->grid.sorted_nhi[2] + s) <= -q->lo[2];
    unsigned hit = bits(m);
    if (to - s < KN_W) hit &= (1u << (to - s)) - 1;
    for (; hit; hit &= hit - 1) emit(q->b, q->item, b->grid.sorted[s + __builtin_ctz(hit)]);
  }
}

/* Cells x0 … x1 (at most one period) of a row: one stretch, or two where the row wraps around. */
static inline void seek_row(const seeker* q, const kn_broad_level* g, int64_t x0, int64_t x1, int64_t y,
                            int64_t z) {
  const int32_t* start = q->b->grid.cell_start + kn_cell_bucket(g, 0, y, z);
  int32_t from = (int32_t)(x0 & g->mask[0]), to = (int32_t)(x1 & g->mask[0]);
  if (from <= to) {
    seek(q, start[from], start[to + 1]);
  } else {
    seek(q, start[from], start[g->mask[0] + 1]);
    seek(q, start[0], start[to + 1]);
  }
}

/* Neighbours of the same class that come later: the rest of the own cell, the next cell, and the rows ahead.
 */
static void seek_in_class(const seeker* q, const kn_broad_level* g, int32_t s) {
  const kn_broad* b = q->b;
  int32_t cell = b->grid.item_cell[q->item] - g->start;
  int64_t x = cell & g->mask[0], y = (cell >> g->shift[0]) & g->mask[1], z = cell >> g->shift[1];
  int64_t side_x = g->mask[0] > 0, side_y = g->mask[1] > 0;
  bool wraps = x == g->mask[0];
  seek(q, s + 1, b->grid.cell_start[g->start + cell + (wraps ? 1 : 2)]);
  if (wraps && side_x) seek_row(q, g, 0, 0, y, z);
  if (side_y) seek_row(q, g, x - side_x, x + side_x, y + 1, z);
  if (g->mask[2] == 0) return;
  for (int64_t dy = -side_y; dy <= side_y; dy++) seek_row(q, g, x - side_x, x + side_x, y + dy, z + 1);
}

/* First and last cell of a coarser grid that may hold a centre of a box overlapping ours; never more than one
 * period. */
static inline void reach(int64_t c[2], const seeker* q, int k, const kn_broad_level* g) {
  double half = 0.5 * g->cell;
  c[0] = kn_cell_index((double)q->lo[k] - half, g->inv_cell);
  c[1] = kn_cell_index(-(double)q->nhi[k] + half, g->inv_cell);
  if (c[1] - c[0] >= g->mask[k]) c[0] = 0, c[1] = g->mask[k];
}

static void seek_in_coarser(const seeker* q, const kn_broad_level* g) {
  int64_t c[3][2];
  for (int k = 0; k < 3; k++) reach(c[k], q, k, g);
  for (int64_t z = c[2][0]; z <= c[2][1]; z++)
    for (int64_t y = c[1][0]; y <= c[1][1]; y++) seek_row(q, g, c[0][0], c[0][1], y, z);
}

/* Fat pairs of one item that left its cell, appended to found: with items that stay in theirs by the grids,
   with large and loose ones one by one. Between two strays only the first finds the pair. */
static void KN_NAME(find_item_pairs)(kn_broad* b, int32_t item) {
  const kn_box* box = &b->fat[item];
  seeker q = {.b = b, .item = item};
  for (int c = 0; c < 3; c++) q.lo[c] = box->lo[c], q.nhi[c] = box->nhi[c];
  int32_t from = b->needed;
  for (int l = 0; l < b->grid.nlevel; l++) seek_in_coarser(&q, &b->grid.level[l]);
  for (int32_t m = 0; m < b->grid.nlarge; m++)
    if (kn_box_meets(box, &b->fat[b->grid.large[m]])) emit(b, item, b->grid.large[m]);
  int32_t kept = from, to = b->needed < b->capacity ? b->needed : b->capacity;
  for (int32_t i = from; i < to; i++)
    if (!b->is_loose[b->found[i].b]) b->found[kept++] = b->found[i];
  b->needed = b->needed > b->capacity ? b->needed : kept; /* out of room: leave it so */
  for (int32_t m = 0; m < b->nloose; m++) {
    int32_t j = b->loose[m];
    if (j == item || (b->is_loose[j] == 2 && j < item)) continue;
    if (kn_box_meets(box, &b->fat[j])) emit(b, item, j);
  }
}

static void KN_NAME(find_pairs)(kn_broad* b) {
  seeker q = {.b = b};
  int32_t in_grids = 0;
  b->needed = 0;
  for (int l = 0; l < b->grid.nlevel; l++) { /* level 0 is the coarsest */
    const kn_broad_level* g = &b->grid.level[l];
    in_grids += g->count;
    for (int32_t s = g->first; s < g->first + g->count; s++) {
      q.item = b->grid.sorted[s];
      for (int k = 0; k < 3; k++) q.lo[k] = b->grid.sorted_lo[k][s], q.nhi[k] = b->grid.sorted_nhi[k][s];
      seek_in_class(&q, g, s);
      for (int c = 0; c < l; c++) seek_in_coarser(&q, &b->grid.level[c]);
    }
  }
  for (int32_t k = 0; k < b->grid.nlarge; k++) {
    const kn_box* box = &b->fat[q.item = b->grid.large[k]];
    for (int c = 0; c < 3; c++) q.lo[c] = box->lo[c], q.nhi[c] = box->nhi[c];
    seek(&q, 0, in_grids);
    for (int32_t m = k + 1; m < b->grid.nlarge; m++)
      if (kn_box_meets(box, &b->fat[b->grid.large[m]])) emit(b, q.item, b->grid.large[m]);
  }
}

const kn_broad_table KN_NAME(kn_broad) = {KN_NAME(convert_boxes), KN_NAME(all_inside), KN_NAME(filter_pairs),
                                          KN_NAME(find_pairs), KN_NAME(find_item_pairs)};
