/* Repair of the fat pair list when few items left their fat boxes (strays): their pairs are dropped and found
   again, and the ordered list is merged in one pass. Strays keep their old place in the grids, so from then
   on they are loose: searches skip them there and compare them one by one, until the next rebuild. */
#include <string.h>

#include "collide/broad/broad_table.h"

static bool inside(const kn_box* a, const kn_box* b) {
  return kn_v4i_all((a->lo >= b->lo) & (a->nhi >= b->nhi));
}

/* Items outside their fat boxes; -1 when there are more than `most`. */
static int32_t find_strays(kn_broad* b, int32_t most) {
  int32_t n = 0;
  for (int32_t i = 0; i < b->n; i++) {
    if (inside(&b->box[i], &b->fat[i])) continue;
    if (n == most) return -1;
    b->strays[n++] = i;
  }
  return n;
}

static bool before(kn_broad_pair p, kn_broad_pair q) { return p.a < q.a || (p.a == q.a && p.b < q.b); }

static void sift_down(kn_broad_pair* x, int32_t root, int32_t n) {
  for (int32_t child; (child = 2 * root + 1) < n; root = child) {
    if (child + 1 < n && before(x[child], x[child + 1])) child++;
    if (!before(x[root], x[child])) return;
    kn_broad_pair swap = x[root];
    x[root] = x[child], x[child] = swap;
  }
}

static void heap_sort(kn_broad_pair* x, int32_t n) {
  for (int32_t i = n / 2; i-- > 0;) sift_down(x, i, n);
  for (int32_t end = n; --end > 0;) {
    kn_broad_pair swap = x[0];
    x[0] = x[end], x[end] = swap;
    sift_down(x, 0, end);
  }
}

/* Old pairs without strays and new pairs, in order, into b->pair, which then becomes the fat list. */
static void merge(kn_broad* b, int32_t added) {
  kn_broad_pair* out = b->pair;
  int32_t k = 0, next = 0;
  for (int32_t i = 0; i < b->nfat; i++) {
    kn_broad_pair p = b->fat_pair[i];
    while (next < added && before(b->found[next], p)) out[k++] = b->found[next++];
    out[k] = p;
    k += !((b->is_loose[p.a] | b->is_loose[p.b]) & 2);
  }
  while (next < added) out[k++] = b->found[next++];
  b->pair = b->fat_pair;
  b->fat_pair = out;
  b->nfat = k;
}

bool kn_broad_repair(kn_broad* b, const double* velocity, double dt) {
  int32_t n = find_strays(b, b->n / 32 + 1);
  if (n < 0 || b->nloose + n > b->n / 8 + 1) return false;
  for (int32_t s = 0; s < n; s++) {
    int32_t i = b->strays[s];
    kn_broad_fatten(b, i, velocity, dt);
    if (!b->is_loose[i]) b->loose[b->nloose++] = i;
    b->is_loose[i] = 2;
  }
  b->needed = 0;
  for (int32_t s = 0; s < n; s++) {
    kn_broad_kernels()->find_item_pairs(b, b->strays[s]);
    if (b->nplane) kn_broad_find_planes(b, b->strays[s]);
  }
  bool room = b->needed + b->nfat <= b->capacity;
  if (room) {
    for (int32_t k = 0; k < b->needed; k++) {
      kn_broad_pair p = b->found[k];
      if (p.a > p.b) b->found[k] = (kn_broad_pair){p.b, p.a};
    }
    heap_sort(b->found, b->needed);
    merge(b, b->needed);
  }
  for (int32_t s = 0; s < n; s++) b->is_loose[b->strays[s]] = 1;
  return room;
}
