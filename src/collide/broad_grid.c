/* Rebuild of the fat pair list.

   Items are split into size classes (largest side within a factor 4). A class with few members, or larger
   than any grid makes sense for, is compared with everything ("large"). Every other class has a grid whose
   cell is at least its largest side, so boxes that overlap have centres in neighbouring cells: same class
   half of the 27 cells around: rows of three cells are contiguous in memory coarser class    the cells within
   (own side + cell)/2 of the centre. The grid wraps around (indices modulo a power of two), so its memory
   does not depend on how far items lie apart. Fat pairs are then counting-sorted by first item and each
   item's short list is sorted, which makes their order canonical. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "collide/broad.h"

enum {
  FEW = 48
}; /* classes up to this size are compared with everything: about where both ways cost the same */
enum { BINS = 512 }; /* size bins: two per factor of 2, over the exponents of single precision */

static double side(const kn_box* b) {
  double x = -(double)b->nhi[0] - b->lo[0], y = -(double)b->nhi[1] - b->lo[1],
         z = -(double)b->nhi[2] - b->lo[2];
  return fmax(x, fmax(y, z));
}

static double centre(const kn_box* b, int k) { return 0.5 * ((double)b->lo[k] - b->nhi[k]); }

/* Lists that last fewer than three updates cost more than wider boxes; lists that last long may be tighter.
 */
static void adapt_slack(kn_broad* b) {
  if (b->rebuilds == 0) b->slack = b->settings.slack;
  if (b->since < 3 && b->rebuilds > 0) b->slack = fmin(1.5 * b->slack, fmax(0.2, b->settings.slack));
  if (b->since > 12) b->slack = fmax(0.8 * b->slack, b->settings.slack);
}

/* Fat boxes: least slack on every side, and the motion of the next `horizon` updates ahead: from the
   velocity, or from how far the box came since the last rebuild. Long leaps are cut to four sides, so that
   one fast item does not pair with the whole world (it forces a rebuild sooner instead). */
static void fatten(kn_broad* b, const double* velocity, double dt) {
  adapt_slack(b);
  double per_update = b->since > 0 && b->rebuilds > 0 ? 1.0 / b->since : 0;
  for (int32_t i = 0; i < b->n; i++) {
    const kn_box *now = &b->box[i], *then = &b->last[i];
    double s = side(now), slack = b->slack * s, lo[3], hi[3];
    for (int k = 0; k < 3; k++) {
      double path = velocity ? dt * velocity[6 * (size_t)i + 3 + k]
                             : (per_update > 0 ? per_update * (centre(now, k) - centre(then, k)) : 0);
      path *= b->settings.horizon;
      path = fmax(-4 * s, fmin(4 * s, path));
      if (!(s < 1e30)) path = slack = 0;
      lo[k] = (double)now->lo[k] - slack + fmin(path, 0);
      hi[k] = -(double)now->nhi[k] + slack + fmax(path, 0);
    }
    b->fat[i] = kn_box_outward(lo, hi);
    b->last[i] = *now;
  }
}

/* Half-octave bin of a positive size from its floating-point representation. */
static int size_bin(double s) {
  if (!(s < 1e30)) return BINS - 1;
  union {
    float f;
    uint32_t u;
  } bits = {.f = (float)s};
  return (int)(bits.u >> 22) & (BINS - 1);
}

static void clear_levels(kn_broad* b) {
  b->nlevel = b->nlarge = 0;
  for (int32_t i = 0; i < b->n; i++) b->item_level[i] = b->filter[i].flags & KN_ITEM_PLANE ? -2 : -1;
}

/* Classes from the largest size down, each spanning a factor of about 4. */
static void choose_levels(kn_broad* b) {
  int32_t count[BINS] = {0};
  int level_of_bin[BINS];
  double largest[KN_BROAD_MAX_LEVELS] = {0};
  clear_levels(b);
  for (int32_t i = 0; i < b->n; i++)
    if (b->item_level[i] != -2) count[b->item_cell[i] = size_bin(side(&b->fat[i]))]++;
  for (int top = BINS - 1; top >= 0;) {
    int bottom = top, members = 0;
    if (!count[top]) {
      level_of_bin[top--] = -1;
      continue;
    }
    for (; bottom >= 0 && bottom > top - 4; bottom--) members += count[bottom];
    bool grid = members > FEW && top < BINS - 1 && b->nlevel < KN_BROAD_MAX_LEVELS;
    for (int k = bottom + 1; k <= top; k++) level_of_bin[k] = grid ? b->nlevel : -1;
    b->nlevel += grid;
    top = bottom;
  }
  for (int l = 0; l < b->nlevel; l++) b->level[l].count = 0;
  for (int32_t i = 0; i < b->n; i++) {
    if (b->item_level[i] == -2) continue;
    int l = b->item_level[i] = level_of_bin[b->item_cell[i]];
    if (l < 0) {
      b->large[b->nlarge++] = i;
    } else {
      b->level[l].count++;
      largest[l] = fmax(largest[l], side(&b->fat[i]));
    }
  }
  for (int l = 0; l < b->nlevel; l++) {
    b->level[l].cell = largest[l] * (1 + 1e-6); /* rounding of centre * inv_cell */
    b->level[l].inv_cell = 1 / b->level[l].cell;
  }
}

enum { SAMPLES = 64 };

static void sort_doubles(double* x, int n) {
  for (int i = 1; i < n; i++) {
    double v = x[i];
    int j = i;
    for (; j > 0 && x[j - 1] > v; j--) x[j] = x[j - 1];
    x[j] = v;
  }
}

/* Width of the middle nine tenths of a sample of the class, in cells. */
static void class_width(double cells[3], const kn_broad* b, int l) {
  double x[3][SAMPLES];
  int32_t stride = b->level[l].count / SAMPLES + 1, seen = 0;
  int n = 0;
  for (int32_t i = 0; i < b->n && n < SAMPLES; i++) {
    if (b->item_level[i] != l || seen++ % stride) continue;
    for (int k = 0; k < 3; k++) x[k][n] = centre(&b->fat[i], k);
    n++;
  }
  for (int k = 0; k < 3; k++) {
    sort_doubles(x[k], n);
    cells[k] = (x[k][n - 1 - n / 20] - x[k][n / 20]) * 1.12 * b->level[l].inv_cell + 1;
  }
}

/* Twice as many cells as items, given to the axes by their width. */
static void shape_grid(kn_broad* b, int l) {
  kn_broad_level* g = &b->level[l];
  double cells[3];
  int log[3] = {0, 0, 0}, total = 0, budget = 0;
  class_width(cells, b, l);
  while ((int64_t)1 << budget < 2 * (int64_t)g->count) budget++;
  while (total < budget) {
    int k = 0;
    for (int j = 1; j < 3; j++)
      if (cells[j] / (1 << log[j]) > cells[k] / (1 << log[k])) k = j;
    if (cells[k] <= 1 << log[k]) break;
    int add = log[k] ? 1 : 2; /* 1 cell or at least 4: neighbours on both sides must differ */
    log[k] += add;
    total += add;
  }
  for (int k = 0; k < 3; k++) g->mask[k] = (1 << log[k]) - 1;
  g->shift[0] = log[0];
  g->shift[1] = log[0] + log[1];
}

/* Cell coordinate before wrapping. Beyond 2^52 cells everything shares one. */
static int64_t cell_index(double x, double inv_cell) {
  double c = floor(x * inv_cell);
  return fabs(c) < 0x1p52 ? (int64_t)c : 0;
}

static int32_t bucket(const kn_broad_level* g, int64_t x, int64_t y, int64_t z) {
  return g->start + (int32_t)(x & g->mask[0]) + ((int32_t)(y & g->mask[1]) << g->shift[0]) +
         ((int32_t)(z & g->mask[2]) << g->shift[1]);
}

/* Counting sort of all classes at once: their buckets follow each other. */
static void sort_items(kn_broad* b) {
  int32_t buckets = 0;
  for (int l = 0; l < b->nlevel; l++) {
    shape_grid(b, l);
    b->level[l].start = buckets;
    buckets += (b->level[l].mask[0] + 1) * (b->level[l].mask[1] + 1) * (b->level[l].mask[2] + 1);
  }
  memset(b->cell_start, 0, (size_t)(buckets + 1) * sizeof *b->cell_start);
  for (int32_t i = 0; i < b->n; i++) {
    if (b->item_level[i] < 0) continue;
    const kn_broad_level* g = &b->level[b->item_level[i]];
    const kn_box* f = &b->fat[i];
    int32_t c = bucket(g, cell_index(centre(f, 0), g->inv_cell), cell_index(centre(f, 1), g->inv_cell),
                       cell_index(centre(f, 2), g->inv_cell));
    b->item_cell[i] = c;
    b->cell_start[c + 1]++;
  }
  for (int32_t c = 0; c < buckets; c++) b->cell_start[c + 1] += b->cell_start[c];
  for (int32_t i = b->n; i-- > 0;) { /* cell_start[c + 1] counts down to the start of c */
    if (b->item_level[i] < 0) continue;
    int32_t at = --b->cell_start[b->item_cell[i] + 1];
    b->sorted[at] = i;
    b->sorted_box[at] = b->fat[i];
  }
  int32_t total = 0; /* now cell_start[c + 1] = start of c: shift back */
  for (int l = 0; l < b->nlevel; l++) total += b->level[l].count;
  memmove(b->cell_start, b->cell_start + 1, (size_t)buckets * sizeof *b->cell_start);
  b->cell_start[buckets] = total;
  int32_t first = 0;
  for (int l = 0; l < b->nlevel; l++) b->level[l].first = first, first += b->level[l].count;
}

static void emit(kn_broad* b, int32_t i, int32_t j) {
  if (!kn_broad_allowed(b, i, j)) return;
  int32_t at = b->needed++;
  if (at < b->capacity) b->found[at] = i < j ? (kn_broad_pair){i, j} : (kn_broad_pair){j, i};
}

static void test_range(kn_broad* b, int32_t item, const kn_box* box, int32_t from, int32_t to) {
  for (int32_t s = from; s < to; s++)
    if (kn_box_meets(box, &b->sorted_box[s])) emit(b, item, b->sorted[s]);
}

/* Cells x0 … x1 (at most one period) of a row: one range, or two where the row wraps around. */
static void test_row(kn_broad* b, const kn_broad_level* g, int32_t item, const kn_box* box, int64_t x0,
                     int64_t x1, int64_t y, int64_t z) {
  int32_t row = bucket(g, 0, y, z), from = (int32_t)(x0 & g->mask[0]), to = (int32_t)(x1 & g->mask[0]);
  if (from <= to) {
    test_range(b, item, box, b->cell_start[row + from], b->cell_start[row + to + 1]);
  } else {
    test_range(b, item, box, b->cell_start[row + from], b->cell_start[row + g->mask[0] + 1]);
    test_range(b, item, box, b->cell_start[row], b->cell_start[row + to + 1]);
  }
}

/* Neighbours of the same class that come later: the rest of the own cell, the next cell, and the rows ahead.
 */
static void pairs_in_class(kn_broad* b, const kn_broad_level* g, int32_t s) {
  int32_t item = b->sorted[s];
  const kn_box* box = &b->sorted_box[s];
  int64_t x = cell_index(centre(box, 0), g->inv_cell), y = cell_index(centre(box, 1), g->inv_cell),
          z = cell_index(centre(box, 2), g->inv_cell);
  int64_t side_x = g->mask[0] > 0;
  test_range(b, item, box, s + 1, b->cell_start[b->item_cell[item] + 1]);
  if (side_x) test_row(b, g, item, box, x + 1, x + 1, y, z);
  if (g->mask[1] > 0) test_row(b, g, item, box, x - side_x, x + side_x, y + 1, z);
  if (g->mask[2] == 0) return;
  int64_t side_y = g->mask[1] > 0;
  for (int64_t dy = -side_y; dy <= side_y; dy++)
    test_row(b, g, item, box, x - side_x, x + side_x, y + dy, z + 1);
}

/* First and last cell of a coarser grid that may hold a centre of a box overlapping ours; never more than one
 * period. */
static void reach(int64_t c[2], const kn_box* box, int k, const kn_broad_level* g) {
  double half = 0.5 * g->cell;
  c[0] = cell_index((double)box->lo[k] - half, g->inv_cell);
  c[1] = cell_index(-(double)box->nhi[k] + half, g->inv_cell);
  if (c[1] - c[0] >= g->mask[k]) c[0] = 0, c[1] = g->mask[k];
}

static void pairs_with_coarser(kn_broad* b, const kn_broad_level* g, int32_t item, const kn_box* box) {
  int64_t c[3][2];
  for (int k = 0; k < 3; k++) reach(c[k], box, k, g);
  for (int64_t z = c[2][0]; z <= c[2][1]; z++)
    for (int64_t y = c[1][0]; y <= c[1][1]; y++) test_row(b, g, item, box, c[0][0], c[0][1], y, z);
}

static void find_pairs(kn_broad* b) {
  b->needed = 0;
  for (int l = 0; l < b->nlevel; l++) { /* level 0 is the coarsest */
    const kn_broad_level* g = &b->level[l];
    for (int32_t s = g->first; s < g->first + g->count; s++) {
      pairs_in_class(b, g, s);
      for (int c = 0; c < l; c++) pairs_with_coarser(b, &b->level[c], b->sorted[s], &b->sorted_box[s]);
    }
  }
  int32_t in_grids = b->nlevel ? b->level[b->nlevel - 1].first + b->level[b->nlevel - 1].count : 0;
  for (int32_t k = 0; k < b->nlarge; k++) {
    int32_t i = b->large[k];
    const kn_box* box = &b->fat[i];
    test_range(b, i, box, 0, in_grids);
    for (int32_t m = k + 1; m < b->nlarge; m++)
      if (kn_box_meets(box, &b->fat[b->large[m]])) emit(b, i, b->large[m]);
  }
}

static void sort_ints(int32_t* x, int32_t n) {
  for (int32_t i = 1; i < n; i++) {
    int32_t v = x[i], j = i;
    for (; j > 0 && x[j - 1] > v; j--) x[j] = x[j - 1];
    x[j] = v;
  }
}

static void sift_down(int32_t* x, int32_t root, int32_t n) {
  for (int32_t child; (child = 2 * root + 1) < n; root = child) {
    if (child + 1 < n && x[child + 1] > x[child]) child++;
    if (x[root] >= x[child]) return;
    int32_t swap = x[root];
    x[root] = x[child], x[child] = swap;
  }
}

/* Lists are short as a rule; a large item's list is heap-sorted. */
static void sort_list(int32_t* x, int32_t n) {
  if (n <= 64) {
    sort_ints(x, n);
    return;
  }
  for (int32_t i = n / 2; i-- > 0;) sift_down(x, i, n);
  for (int32_t end = n; --end > 0;) {
    int32_t swap = x[0];
    x[0] = x[end], x[end] = swap;
    sift_down(x, 0, end);
  }
}

static void order_pairs(kn_broad* b) {
  memset(b->first, 0, (size_t)(b->n + 1) * sizeof *b->first);
  for (int32_t k = 0; k < b->nfat; k++) b->first[b->found[k].a + 1]++;
  for (int32_t i = 0; i < b->n; i++) b->first[i + 1] += b->first[i];
  for (int32_t k = b->nfat; k-- > 0;) b->other[--b->first[b->found[k].a + 1]] = b->found[k].b;
  /* first[a + 1] now is the start of a; shift */
  memmove(b->first, b->first + 1, (size_t)b->n * sizeof *b->first);
  b->first[b->n] = b->nfat;
  for (int32_t i = 0; i < b->n; i++) sort_list(b->other + b->first[i], b->first[i + 1] - b->first[i]);
}

/* Signed reach of a box into the half-space n.x <= d: negative or zero when they meet. */
static bool box_meets_half_space(const kn_box* f, const double eq[4]) {
  double s = -eq[3];
  for (int k = 0; k < 3; k++) s += eq[k] * (eq[k] >= 0 ? (double)f->lo[k] : -(double)f->nhi[k]);
  return !(s > 0);
}

static void find_plane_pairs(kn_broad* b) {
  int32_t n = 0;
  for (int32_t i = 0; i < b->n; i++) {
    b->plane_first[i] = n;
    if (b->filter[i].flags & KN_ITEM_PLANE) continue;
    for (int32_t p = 0; p < b->nplane; p++)
      if (kn_broad_allowed(b, i, b->plane[p]) && kn_box_meets(&b->fat[i], &b->fat[b->plane[p]]) &&
          box_meets_half_space(&b->fat[i], b->plane_eq[p]))
        b->plane_other[n++] = p;
  }
  b->plane_first[b->n] = n;
}

kn_status kn_broad_rebuild(kn_broad* b, const double* velocity, double dt) {
  b->valid = false;
  fatten(b, velocity, dt);
  b->rebuilds++;
  b->since = 0;
  choose_levels(b);
  sort_items(b);
  find_pairs(b);
  if (b->needed > b->capacity)
    return kn_fail(KN_NO_ROOM, "broad phase: %d candidate pairs, room for %d", b->needed, b->capacity);
  b->nfat = b->needed;
  order_pairs(b);
  find_plane_pairs(b);
  b->valid = true;
  return KN_OK;
}
