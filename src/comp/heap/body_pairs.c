/* Heaps in the space of their bodies: order of elimination and its plan.

   Minimum degree on sets of neighbours as bits: eliminating k joins its neighbours. Some hundred bodies: the
   order takes less than one factorisation and lasts while the same bodies touch. */
#include "comp/heap/heap.h"

#include <string.h>

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
  h->side_at = KN_TAKE(arena, int, n + 1);
  h->side = KN_TAKE(arena, int, 2 * m);
  h->update_at = KN_TAKE(arena, size_t, n);
  h->group = KN_TAKE(arena, int, n + 1);
  h->outer = KN_TAKE(arena, int, n);
  h->wave = KN_TAKE(arena, kn_pair_wave, n + 1);
  h->target_at = KN_TAKE(arena, int, h->most_fill + 1);
  h->due = KN_TAKE(arena, kn_pair_due, h->most_fill + 1);
  h->parent = KN_TAKE(arena, int, n);
  h->place = KN_TAKE(arena, int, n + 1);
  h->work = KN_TAKE(arena, double, n);
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
  return true;
}

/* Tree of the elimination; work of every column with all below it in the tree. Returns that of all columns. */
static double weigh(kn_pair_nodes* h) {
  double all = 0.0;
  for (int k = 0; k < h->nodes; k++) h->work[k] = 0.0;
  for (int k = 0; k < h->nodes; k++) {
    double n = h->column[k + 1] - h->column[k];
    h->parent[k] = -1;
    for (int p = h->column[k]; p < h->column[k + 1]; p++) {
      int i = h->position[h->row[p]];
      if (h->parent[k] < 0 || i < h->parent[k]) h->parent[k] = i;
    }
    all += n * (n + 1.0) + 1.0;
    h->work[k] += n * (n + 1.0) + 1.0;
    if (h->parent[k] >= 0) h->work[h->parent[k]] += h->work[k];
  }
  return all;
}

/* place[k]: the task of column k, `tasks` of a column above them. Subtrees with less than a share of all work are tasks,
   small ones together with their neighbours; little work in all has none. */
static void cut_tasks(kn_pair_nodes* h, double all) {
  const double split = 1.0 / 12, join = 1.0 / 64, least = 5e4; /* products: some 2 ms */
  double work = 0.0;
  h->tasks = 0;
  for (int k = 0; k < h->nodes; k++) { /* roots; the others go with them */
    bool top = all < least || h->work[k] > split * all, root = h->parent[k] < 0;
    root |= !root && h->work[h->parent[k]] > split * all;
    h->place[k] = top || !root ? -1 : h->tasks;
    if (top || !root) continue;
    work += h->work[k];
    if (work > join * all) h->tasks++, work = 0.0;
  }
  h->tasks += work > 0.0;
  for (int k = h->nodes - 1; k >= 0; k--) {
    bool top = all < least || h->work[k] > split * all;
    if (top)
      h->place[k] = h->tasks;
    else if (h->place[k] < 0)
      h->place[k] = h->place[h->parent[k]];
  }
}

/* New places of the columns, task by task and then those above, each in the old order: the same fill. */
static void number_groups(kn_pair_nodes* h) {
  enum { PANEL = 4 };
  int n = h->nodes, *next = h->parent, at = 0;
  h->groups = 0;
  for (int t = 0; t <= h->tasks; t++) h->group[t] = 0;
  for (int k = 0; k < n; k++) h->group[h->place[k]]++;
  for (int t = 0; t <= h->tasks; t++) {
    int many = h->group[t];
    h->group[t] = at;
    at += many;
  }
  memcpy(next, h->group, (size_t)(h->tasks < n ? h->tasks + 1 : n) * sizeof *next);
  for (int k = 0; k < n; k++) h->place[k] = next[h->place[k]]++;
  h->groups = h->tasks;
  for (int k = h->group[h->tasks]; k < n; k += PANEL) h->group[h->groups++] = k;
  h->group[h->groups] = n;
}

/* position[], columns and rows in the new places, rows ascending. */
static void renumber(kn_pair_nodes* h) {
  int n = h->nodes, *row = h->update, *old = h->parent, at = 0; /* neither has anything yet */
  for (int k = 0; k < n; k++) old[h->place[k]] = k;
  for (int i = 0; i < n; i++) h->position[i] = h->place[h->position[i]];
  for (int k = 0; k < n; k++) {
    int from = at;
    for (int p = h->column[old[k]]; p < h->column[old[k] + 1]; p++) row[at++] = h->position[h->row[p]];
    kn_sort_few(row + from, at - from);
    h->place[k] = from;
  }
  memcpy(h->row, row, (size_t)at * sizeof *row);
  memcpy(h->column, h->place, (size_t)n * sizeof *h->column);
  h->column[n] = at;
}

/* The columns first … last - 1 together: what they change outside their groups, by targets. */
static void plan_wave(kn_pair_nodes* h, kn_pair_wave* wave, int first, int last) {
  int *count = h->place, at = h->target_at[wave->target];
  wave->targets = 0, wave->products = 0;
  for (int k = first; k < last; k++)
    for (int p = h->outer[k]; p < h->column[k + 1]; p++) count[h->row[p]] = 0;
  for (int k = first; k < last; k++)
    for (int p = h->outer[k]; p < h->column[k + 1]; p++) count[h->row[p]]++;
  for (int k = first; k < last; k++)
    for (int p = h->outer[k]; p < h->column[k + 1]; p++) {
      int* c = &count[h->row[p]];
      if (*c <= 0) continue; /* seen: what is there is -1 - its place */
      at += *c;
      *c = -1 - (at - *c);
      h->target_at[wave->target + ++wave->targets] = at;
    }
  for (int k = first; k < last; k++)
    for (int p = h->outer[k]; p < h->column[k + 1]; p++) {
      int* c = &count[h->row[p]];
      h->due[-1 - (*c)--] = (kn_pair_due){p, k};
      wave->products += 2 * (h->column[k + 1] - p) - 1;
    }
}

static void plan_groups(kn_pair_nodes* h) {
  for (int g = 0; g < h->groups; g++)
    for (int k = h->group[g]; k < h->group[g + 1]; k++) {
      int p = h->column[k];
      while (p < h->column[k + 1] && h->row[p] < h->group[g + 1]) p++;
      h->outer[k] = p;
    }
  h->target_at[0] = 0;
  h->wave[0].target = 0;
  plan_wave(h, &h->wave[0], 0, h->group[h->tasks]);
  for (int g = h->tasks; g < h->groups; g++) {
    kn_pair_wave *last = &h->wave[g - h->tasks], *wave = last + 1;
    wave->target = last->target + last->targets;
    plan_wave(h, wave, h->group[g], h->group[g + 1]);
  }
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
    h->update_at[k] = used;
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

static void list_sides(kn_pair_nodes* h, int blocks) {
  memset(h->side_at, 0, (size_t)(h->nodes + 1) * sizeof *h->side_at);
  for (int e = 0; e < 2 * blocks; e++)
    if (h->node[e] >= 0) h->side_at[h->node[e] + 1]++;
  for (int k = 0; k < h->nodes; k++) h->side_at[k + 1] += h->side_at[k];
  memcpy(h->place, h->side_at, (size_t)h->nodes * sizeof *h->place);
  for (int e = 0; e < 2 * blocks; e++)
    if (h->node[e] >= 0) h->side[h->place[h->node[e]]++] = e;
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
  list_sides(h, blocks);
}

static bool order(kn_pair_nodes* h, const kn_pairs* pairs, int blocks) {
  if (h->nodes == pairs->bodies && h->last_blocks == blocks &&
      !memcmp(h->last, pairs->body, 2 * (size_t)blocks * sizeof(int)))
    return true;
  h->last_blocks = -1;
  h->nodes = pairs->bodies;
  neighbours(h, pairs->body, blocks);
  if (!choose_order(h)) return false;
  cut_tasks(h, weigh(h));
  number_groups(h);
  renumber(h);
  if (!plan_updates(h)) return false;
  plan_groups(h);
  place_blocks(h, pairs->body, blocks);
  memcpy(h->last, pairs->body, 2 * (size_t)blocks * sizeof(int));
  h->last_blocks = blocks;
  return true;
}

void kn_pairs_share(const kn_pair_nodes* h, int count, kn_crew_job job, void* context) {
  if (h->crew && h->blocks >= KN_PAIRS_SHARE)
    kn_crew_run(h->crew, count, count / 16 + 1, job, context);
  else
    job(0, 0, count, context);
}

typedef struct loading {
  kn_pair_nodes* h;
  const kn_pairs* pairs;
  const double* d;
  int stride;
} loading;

static void load_some(int worker, int first, int last, void* context) {
  const loading* l = context;
  const kn_pair_nodes* h = l->h;
  (void)worker;
  for (int b = first; b < last; b++)
    for (int side = 0; side < 2; side++) {
      const double* from = l->pairs->G + 36 * (size_t)b + 18 * (side != h->swapped[b]);
      double* to = h->G + 48 * (size_t)b + 24 * side;
      bool there = h->node[2 * b + side] >= 0;
      for (int i = 0; i < 3; i++, to += 8)
        for (int j = 0; j < 8; j++) to[j] = there && j < 6 ? l->d[i * l->stride + b] * from[6 * i + j] : 0.0;
    }
}

bool kn_pairs_load(kn_pair_nodes* h, const kn_pairs* pairs, int blocks, const double* d, int stride) {
  if (pairs->bodies > h->most_nodes || blocks > h->most_blocks || !order(h, pairs, blocks)) return false;
  h->blocks = blocks;
  kn_pairs_share(h, blocks, load_some, &(loading){h, pairs, d, stride});
  return true;
}
