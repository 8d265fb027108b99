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
#include "base/extreme.h"
#include "collide/broad/broad_table.h"

enum {
  FEW = 48
}; /* classes up to this size are compared with everything: about where both ways cost the same */
enum { BINS = 512 }; /* size bins: two per factor of 2, over the exponents of single precision */

static double side(const kn_box* b) {
  double x = -(double)b->nhi[0] - b->lo[0], y = -(double)b->nhi[1] - b->lo[1],
         z = -(double)b->nhi[2] - b->lo[2];
  return kn_max(kn_max(z, y), x);
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
   one fast item does not pair with the whole world (it is repaired sooner instead). */
void kn_broad_fatten(kn_broad* b, int32_t i, const double* velocity, double dt) {
  const kn_box *now = &b->box[i], *then = &b->last[i];
  int64_t age = b->updates - b->stamp[i];
  double s = side(now), slack = b->slack * s, lo[3], hi[3],
         per_update = b->rebuilds > 0 && age > 0 ? 1.0 / (double)age : 0;
  for (int k = 0; k < 3; k++) {
    double path = velocity ? dt * velocity[6 * (size_t)i + 3 + k]
                           : (per_update > 0 ? per_update * (centre(now, k) - centre(then, k)) : 0);
    path *= b->settings.horizon;
    path = kn_max(kn_min(path, 4 * s), -4 * s);
    if (!(s < 1e30)) path = slack = 0;
    lo[k] = (double)now->lo[k] - slack + kn_min(0, path);
    hi[k] = -(double)now->nhi[k] + slack + kn_max(0, path);
  }
  b->fat[i] = kn_box_outward(lo, hi);
  b->last[i] = *now;
  b->stamp[i] = b->updates;
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
  b->grid.nlevel = b->grid.nlarge = 0;
  for (int32_t i = 0; i < b->n; i++)
    b->grid.item_level[i] = b->rules.filter[i].flags & KN_ITEM_PLANE ? -2 : -1;
}

/* Classes from the largest size down, each spanning a factor of about 4. */
static void choose_levels(kn_broad* b) {
  int32_t count[BINS] = {0};
  int level_of_bin[BINS];
  double largest[KN_BROAD_MAX_LEVELS] = {0};
  clear_levels(b);
  for (int32_t i = 0; i < b->n; i++)
    if (b->grid.item_level[i] != -2) count[b->grid.item_cell[i] = size_bin(side(&b->fat[i]))]++;
  for (int top = BINS - 1; top >= 0;) {
    int bottom = top, members = 0;
    if (!count[top]) {
      level_of_bin[top--] = -1;
      continue;
    }
    for (; bottom >= 0 && bottom > top - 4; bottom--) members += count[bottom];
    bool grid = members > FEW && top < BINS - 1 && b->grid.nlevel < KN_BROAD_MAX_LEVELS;
    for (int k = bottom + 1; k <= top; k++) level_of_bin[k] = grid ? b->grid.nlevel : -1;
    b->grid.nlevel += grid;
    top = bottom;
  }
  for (int l = 0; l < b->grid.nlevel; l++) b->grid.level[l].count = 0;
  for (int32_t i = 0; i < b->n; i++) {
    if (b->grid.item_level[i] == -2) continue;
    int l = b->grid.item_level[i] = level_of_bin[b->grid.item_cell[i]];
    if (l < 0) {
      b->grid.large[b->grid.nlarge++] = i;
    } else {
      b->grid.level[l].count++;
      largest[l] = kn_max(side(&b->fat[i]), largest[l]);
    }
  }
  for (int l = 0; l < b->grid.nlevel; l++) {
    b->grid.level[l].cell = largest[l] * (1 + 1e-6); /* rounding of centre * inv_cell */
    b->grid.level[l].inv_cell = 1 / b->grid.level[l].cell;
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
  int32_t stride = b->grid.level[l].count / SAMPLES + 1, seen = 0;
  int n = 0;
  for (int32_t i = 0; i < b->n && n < SAMPLES; i++) {
    if (b->grid.item_level[i] != l || seen++ % stride) continue;
    for (int k = 0; k < 3; k++) x[k][n] = centre(&b->fat[i], k);
    n++;
  }
  for (int k = 0; k < 3; k++) {
    sort_doubles(x[k], n);
    cells[k] = (x[k][n - 1 - n / 20] - x[k][n / 20]) * 1.12 * b->grid.level[l].inv_cell + 1;
  }
}

/* Twice as many cells as items, given to the axes by their width. */
static void shape_grid(kn_broad* b, int l) {
  kn_broad_level* g = &b->grid.level[l];
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

/* Counting sort of all classes at once: their buckets follow each other. */
static void sort_items(kn_broad* b) {
  int32_t buckets = 0;
  for (int l = 0; l < b->grid.nlevel; l++) {
    shape_grid(b, l);
    b->grid.level[l].start = buckets;
    buckets +=
        (b->grid.level[l].mask[0] + 1) * (b->grid.level[l].mask[1] + 1) * (b->grid.level[l].mask[2] + 1);
  }
  memset(b->grid.cell_start, 0, (size_t)(buckets + 1) * sizeof *b->grid.cell_start);
  for (int32_t i = 0; i < b->n; i++) {
    if (b->grid.item_level[i] < 0) continue;
    const kn_broad_level* g = &b->grid.level[b->grid.item_level[i]];
    const kn_box* f = &b->fat[i];
    int32_t c =
        kn_cell_bucket(g, kn_cell_index(centre(f, 0), g->inv_cell), kn_cell_index(centre(f, 1), g->inv_cell),
                       kn_cell_index(centre(f, 2), g->inv_cell));
    b->grid.item_cell[i] = c;
    b->grid.cell_start[c + 1]++;
  }
  for (int32_t c = 0; c < buckets; c++) b->grid.cell_start[c + 1] += b->grid.cell_start[c];
  for (int32_t i = b->n; i-- > 0;) { /* cell_start[c + 1] counts down to the start of c */
    if (b->grid.item_level[i] < 0) continue;
    int32_t at = --b->grid.cell_start[b->grid.item_cell[i] + 1];
    b->grid.sorted[at] = i;
    for (int k = 0; k < 3; k++)
      b->grid.sorted_lo[k][at] = b->fat[i].lo[k], b->grid.sorted_nhi[k][at] = b->fat[i].nhi[k];
  }
  int32_t total = 0; /* now cell_start[c + 1] = start of c: shift back */
  for (int l = 0; l < b->grid.nlevel; l++) total += b->grid.level[l].count;
  memmove(b->grid.cell_start, b->grid.cell_start + 1, (size_t)buckets * sizeof *b->grid.cell_start);
  b->grid.cell_start[buckets] = total;
  int32_t first = 0;
  for (int l = 0; l < b->grid.nlevel; l++) b->grid.level[l].first = first, first += b->grid.level[l].count;
}

/* Counting sort by the larger item, then by the smaller one: each list comes out ascending. */
static void order_pairs(kn_broad* b) {
  kn_broad_pair* by_b = b->pair; /* not in use until the filter runs; as large as found */
  int32_t n = b->n, np = b->nfat;
  memset(b->first, 0, (size_t)(n + 1) * sizeof *b->first);
  memset(b->grid.fill, 0, (size_t)(n + 1) * sizeof *b->grid.fill);
  for (int32_t k = 0; k < np; k++) {
    kn_broad_pair* p = &b->found[k];
    int32_t lo = p->a < p->b ? p->a : p->b, hi = p->a < p->b ? p->b : p->a;
    *p = (kn_broad_pair){lo, hi};
    b->first[lo + 1]++;
    b->grid.fill[hi]++;
  }
  int32_t total = 0;
  for (int32_t i = 0; i < n; i++) {
    int32_t count = b->grid.fill[i];
    b->grid.fill[i] = total;
    total += count;
    b->first[i + 1] += b->first[i];
  }
  for (int32_t k = 0; k < np; k++) by_b[b->grid.fill[b->found[k].b]++] = b->found[k];
  memcpy(b->grid.fill, b->first, (size_t)n * sizeof *b->grid.fill);
  for (int32_t k = 0; k < np; k++) b->fat_pair[b->grid.fill[by_b[k].a]++] = by_b[k];
}

void kn_broad_find_planes(kn_broad* b, int32_t i) {
  int32_t* out = b->plane_other + (size_t)i * (size_t)b->nplane;
  int32_t n = 0;
  for (int32_t p = 0; p < b->nplane && !(b->rules.filter[i].flags & KN_ITEM_PLANE); p++)
    if (kn_broad_allowed(b, i, b->plane[p]) && kn_box_meets(&b->fat[i], &b->fat[b->plane[p]]) &&
        kn_box_meets_plane(&b->fat[i], b->plane_eq[p]))
      out[n++] = p;
  b->plane_count[i] = n;
}

kn_status kn_broad_rebuild(kn_broad* b, const double* velocity, double dt) {
  b->valid = false;
  adapt_slack(b);
  for (int32_t i = 0; i < b->n; i++) kn_broad_fatten(b, i, velocity, dt);
  b->rebuilds++;
  b->since = 0;
  choose_levels(b);
  sort_items(b);
  kn_broad_kernels()->find_pairs(b);
  if (b->needed > b->capacity)
    return kn_fail(KN_NO_ROOM, "broad phase: %d candidate pairs, room for %d", b->needed, b->capacity);
  b->nfat = b->needed;
  order_pairs(b);
  for (int32_t i = 0; i < b->n && b->nplane; i++) kn_broad_find_planes(b, i);
  memset(b->is_loose, 0, (size_t)b->n);
  b->nloose = 0;
  b->valid = true;
  return KN_OK;
}
