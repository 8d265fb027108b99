/* Heaps in the space of their bodies: order of elimination and its plan.

   Minimum degree on sets of neighbours as bits: eliminating k joins its neighbours. Some hundred bodies: the
   order takes less than one factorisation and lasts while the same bodies touch. */
#include "comp/heap/body_pairs.h"

#include <string.h>

#include "base/isa.h"
#include "comp/heap/sparse.h"

const kn_pair_ops* kn_pair_kernels(void) { return KN_BEST(&kn_pair_ops); }

void kn_pairs_take(kn_pair_nodes* h, kn_arena* arena, int bodies, int blocks) {
  size_t m = (size_t)blocks + 1, n = (size_t)bodies + 1, words = (n + 63) / 64;
  h->most_blocks = blocks;
  h->most_nodes = bodies;
  h->most_fill = 20 * bodies; /* heaps of 100 spheres have 4, of 700 15 */
  h->most_updates = 400 * n;
  h->node = KN_TAKE(arena, int, 2 * m);
  h->entry = KN_TAKE(arena, int, m);
  h->swapped = KN_TAKE(arena, bool, m);
  h->opens = KN_TAKE(arena, bool, m);
  h->fills = KN_TAKE(arena, bool, (size_t)h->most_fill + 1);
  h->G = KN_TAKE(arena, double, 48 * m);
  h->column = KN_TAKE(arena, int, n + 1);
  h->row = KN_TAKE(arena, int, h->most_fill + 1);
  h->update = KN_TAKE(arena, int, h->most_updates);
  h->position = KN_TAKE(arena, int, n);
  h->last = KN_TAKE(arena, int, 2 * m);
  h->reach = KN_TAKE(arena, uint64_t, n * words);
  h->degree = KN_TAKE(arena, int, n);
  h->diagonal = KN_TAKE(arena, double, KN_NODE* n);
  h->lower = KN_TAKE(arena, double, KN_NODE*(size_t)h->most_fill);
  h->upper = KN_TAKE(arena, double, KN_NODE*(size_t)h->most_fill);
  h->y = KN_TAKE(arena, double, 8 * n);
  h->y0 = KN_TAKE(arena, double, 8 * n);
  h->last_blocks = -1;
}

static size_t words_of(const kn_pair_nodes* h) { return ((size_t)h->nodes + 63) / 64; }

static void join(uint64_t* set, int i) { set[i >> 6] |= (uint64_t)1 << (i & 63); }
static void leave(uint64_t* set, int i) { set[i >> 6] &= ~((uint64_t)1 << (i & 63)); }

static int count(const uint64_t* set, size_t words) {
  int n = 0;
  for (size_t w = 0; w < words; w++) n += __builtin_popcountll(set[w]);
  return n;
}

static void neighbours(kn_pair_nodes* h, const int* body, int blocks) {
  size_t words = words_of(h);
  memset(h->reach, 0, (size_t)h->nodes * words * sizeof *h->reach);
  for (int b = 0; b < blocks; b++) {
    int i = body[2 * b], j = body[2 * b + 1];
    if (i < 0 || j < 0) continue;
    join(h->reach + (size_t)i * words, j);
    join(h->reach + (size_t)j * words, i);
  }
  for (int i = 0; i < h->nodes; i++) h->degree[i] = count(h->reach + (size_t)i * words, words);
}

/* Members of a set into list; returns their number, or -1 when there is no room. */
static int members(int* list, int room, const uint64_t* set, size_t words) {
  int n = 0;
  for (size_t w = 0; w < words; w++)
    for (uint64_t rest = set[w]; rest; rest &= rest - 1) {
      if (n == room) return -1;
      list[n++] = (int)(64 * w) + __builtin_ctzll(rest);
    }
  return n;
}

/* Eliminates body k: its neighbours, which are left in `list`, become neighbours of each other. */
static void eliminate(kn_pair_nodes* h, int k, const int* list, int n) {
  size_t words = words_of(h);
  const uint64_t* from = h->reach + (size_t)k * words;
  for (int m = 0; m < n; m++) {
    uint64_t* to = h->reach + (size_t)list[m] * words;
    for (size_t w = 0; w < words; w++) to[w] |= from[w];
    leave(to, k);
    leave(to, list[m]);
    h->degree[list[m]] = count(to, words);
  }
}

static int least_degree(const kn_pair_nodes* h) {
  int best = -1;
  for (int i = 0; i < h->nodes; i++)
    if (h->degree[i] >= 0 && (best < 0 || h->degree[i] < h->degree[best])) best = i;
  return best;
}

/* position[] and the columns, rows ascending. */
static bool choose_order(kn_pair_nodes* h) {
  size_t words = words_of(h);
  int at = 0;
  for (int k = 0; k < h->nodes; k++) {
    int body = least_degree(h);
    int n = members(h->row + at, h->most_fill - at, h->reach + (size_t)body * words, words);
    if (n < 0) return false;
    eliminate(h, body, h->row + at, n);
    h->degree[body] = -1;
    h->position[body] = k;
    h->column[k] = at;
    at += n;
  }
  h->column[h->nodes] = at;
  for (int k = 0; k < h->nodes; k++) {
    int from = h->column[k], n = h->column[k + 1] - from;
    for (int m = 0; m < n; m++) h->row[from + m] = h->position[h->row[from + m]];
    kn_sort_few(h->row + from, n);
  }
  return true;
}

/* Entry (row i, column k) below the diagonal. */
static int entry_of(const kn_pair_nodes* h, int i, int k) {
  int p = h->column[k];
  while (h->row[p] != i) p++;
  return p;
}

/* Where the products of column k go: its first row's column holds all of them or passes them on, so every
   pair (i, j) of rows has an entry. */
static bool plan_updates(kn_pair_nodes* h) {
  size_t used = 0;
  for (int k = 0; k < h->nodes; k++) {
    int from = h->column[k], end = h->column[k + 1];
    for (int p = from; p < end; p++) {
      if (used + (size_t)(end - p) > h->most_updates) return false;
      int at = h->column[h->row[p]];
      for (int q = p + 1; q < end; q++) {
        while (h->row[at] != h->row[q]) at++;
        h->update[used++] = at;
      }
    }
  }
  return true;
}

static void place_blocks(kn_pair_nodes* h, const int* body, int blocks) {
  for (int p = 0; p < h->column[h->nodes]; p++) h->fills[p] = true;
  for (int b = 0; b < blocks; b++) {
    int i = body[2 * b] < 0 ? -1 : h->position[body[2 * b]];
    int j = body[2 * b + 1] < 0 ? -1 : h->position[body[2 * b + 1]];
    h->swapped[b] = i >= 0 && j >= 0 && i > j; /* the second side first */
    h->node[2 * b] = h->swapped[b] ? j : i;
    h->node[2 * b + 1] = h->swapped[b] ? i : j;
    h->entry[b] = i < 0 || j < 0 ? -1 : entry_of(h, h->node[2 * b + 1], h->node[2 * b]);
    if (h->entry[b] < 0) continue;
    h->opens[b] = h->fills[h->entry[b]];
    h->fills[h->entry[b]] = false;
  }
}

static bool order(kn_pair_nodes* h, const kn_pairs* pairs, int blocks) {
  if (h->nodes == pairs->bodies && h->last_blocks == blocks &&
      !memcmp(h->last, pairs->body, 2 * (size_t)blocks * sizeof(int)))
    return true;
  h->last_blocks = -1;
  h->nodes = pairs->bodies;
  neighbours(h, pairs->body, blocks);
  if (!choose_order(h) || !plan_updates(h)) return false;
  place_blocks(h, pairs->body, blocks);
  memcpy(h->last, pairs->body, 2 * (size_t)blocks * sizeof(int));
  h->last_blocks = blocks;
  return true;
}

bool kn_pairs_load(kn_pair_nodes* h, const kn_pairs* pairs, int blocks, const double* d, int stride) {
  if (pairs->bodies > h->most_nodes || blocks > h->most_blocks || !order(h, pairs, blocks)) return false;
  h->blocks = blocks;
  for (int b = 0; b < blocks; b++)
    for (int side = 0; side < 2; side++) {
      const double* from = pairs->G + 36 * (size_t)b + 18 * (side != h->swapped[b]);
      double* to = h->G + 48 * (size_t)b + 24 * side;
      bool there = h->node[2 * b + side] >= 0;
      for (int i = 0; i < 3; i++, to += 8)
        for (int j = 0; j < 8; j++) to[j] = there && j < 6 ? d[i * stride + b] * from[6 * i + j] : 0.0;
    }
  return true;
}
