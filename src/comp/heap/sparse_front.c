/* Fronts of the elimination for the blocks that have unknowns, in the order of sparse_order.c.

   Eliminating a block joins its cliques: their members are the front, those that are in no other clique its
   pivots, the rest its border, which is the new clique. The fronts that made the cliques are its children.
   A child with few pivots, or one that hardly adds zeros, is taken into its parent. All lists are sorted by
   rank, so that the border of a child is found in its parent in a few runs. */
#include <string.h>

#include "comp/heap/sparse.h"

typedef struct plan {
  kn_cone_sparse* s;
  int cliques, used, fronts;
  int *parent, *at, *count, *maker; /* per clique; maker: its front, -1: a clique of the pattern */
  kn_front* front;                  /* in the order of making */
  int *child, *sibling, *pivot_weight, *border_weight;
  double* entries; /* of the factor, without zeros that joining adds */
  int* near;
  int* left; /* per block: cliques, joined ones once */
} plan;

static int find(int* parent, int e) {
  while (parent[e] != e) e = parent[e] = parent[parent[e]];
  return e;
}

static int cliques_of(plan* p, int b) {
  const kn_cone_sparse* s = p->s;
  int n = 0;
  for (int k = s->order.clique_at[b]; k < s->order.clique_at[b + 1]; k++) {
    int e = find(p->parent, s->order.clique[k]), i = 0;
    while (i < n && p->near[i] != e) i++;
    if (i == n) p->near[n++] = e;
  }
  return n;
}

/* Members of the cliques of the pattern by rank. */
static void list_cliques(plan* p) {
  kn_cone_sparse* s = p->s;
  for (int e = 0; e < p->cliques; e++) p->parent[e] = e, p->count[e] = 0, p->maker[e] = -1;
  for (int b = 0; b < s->blocks; b++)
    for (int k = s->order.clique_at[b]; s->many[b] && k < s->order.clique_at[b + 1]; k++)
      p->count[s->order.clique[k]]++;
  for (int e = 0; e < p->cliques; e++) p->at[e] = p->used, p->used += p->count[e], p->count[e] = 0;
  for (int r = 0; r < s->blocks; r++) {
    int b = s->order.sequence[r];
    p->left[b] = s->order.clique_at[b + 1] - s->order.clique_at[b];
    for (int k = s->order.clique_at[b]; s->many[b] && k < s->order.clique_at[b + 1]; k++)
      s->plan.list[p->at[s->order.clique[k]] + p->count[s->order.clique[k]]++] = b;
  }
}

/* out = a and b by rank, doubles once: they are in one clique less. */
static int unite(int* out, const int* a, int na, const int* b, int nb, const int* rank, int* left) {
  int n = 0, i = 0, j = 0;
  while (i < na && j < nb) {
    int ra = rank[a[i]], rb = rank[b[j]], next = ra <= rb ? a[i] : b[j];
    out[n++] = next;
    left[next] -= ra == rb;
    i += ra <= rb;
    j += rb <= ra;
  }
  while (i < na) out[n++] = a[i++];
  while (j < nb) out[n++] = b[j++];
  return n;
}

/* All that b is coupled with and itself, at the end of the pool. */
static int gather_members(plan* p, int b, int n, int** members) {
  kn_cone_sparse* s = p->s;
  int *to = s->plan.list + p->used, *spare = to + s->blocks;
  *members = to;
  if (n == 0) {
    to[0] = b;
    return 1;
  }
  const int *e = p->near, *rank = s->order.rank;
  int size = p->count[e[0]];
  memcpy(to, s->plan.list + p->at[e[0]], (size_t)size * sizeof *to);
  for (int i = 1; i < n; i++) {
    size = unite(spare, to, size, s->plan.list + p->at[e[i]], p->count[e[i]], rank, p->left);
    int* t = to;
    to = spare, spare = t;
  }
  *members = to;
  return size;
}

enum { join_always = 8 };
static const double join_share = 1.25;

static double entries_of(int pivots, int border) { return (double)pivots * (pivots + 2.0 * border); }

/* Is the child better eliminated together with front t? Few pivots do not fill a panel of eight. */
static bool absorbs(plan* p, int t, int c) {
  int pivots = p->pivot_weight[t] + p->pivot_weight[c], border = p->border_weight[t];
  double joined = entries_of(pivots, border), apart = p->entries[t] + p->entries[c];
  if (pivots > join_always && joined > join_share * apart) return false;
  p->pivot_weight[t] = pivots;
  p->entries[t] = apart;
  return true;
}

/* Children of a new front, those taken in replaced by theirs; pivots in front of t's own. */
static void adopt(plan* p, int t, int n) {
  kn_cone_sparse* s = p->s;
  kn_front* f = &p->front[t];
  int own = f->pivot_at, own_count = f->pivots, *list = s->plan.list;
  bool moved = false;
  for (int i = 0; i < n; i++) {
    int c = p->maker[p->near[i]];
    if (c < 0) continue;
    if (!absorbs(p, t, c)) {
      p->sibling[c] = p->child[t];
      p->child[t] = c;
      continue;
    }
    if (!moved) f->pivot_at = p->used, f->pivots = 0, moved = true;
    const kn_front* g = &p->front[c];
    memcpy(list + f->pivot_at + f->pivots, list + g->pivot_at, (size_t)g->pivots * sizeof *list);
    f->pivots += g->pivots;
    for (int k = p->child[c], next; k >= 0; k = next) {
      next = p->sibling[k];
      p->sibling[k] = p->child[t];
      p->child[t] = k;
    }
    p->front[c].pivots = 0; /* gone */
  }
  if (!moved) return;
  memcpy(list + f->pivot_at + f->pivots, list + own, (size_t)own_count * sizeof *list);
  f->pivots += own_count;
  p->used = f->pivot_at + f->pivots;
}

/* The front of b. False: no room in the pool. */
static bool make_front(plan* p, int b) {
  kn_cone_sparse* s = p->s;
  if (p->used + 4 * s->blocks > s->plan.list_capacity) return false;
  int t = p->fronts++, e = p->cliques++, n = cliques_of(p, b), *members, border = 0;
  int size = gather_members(p, b, n, &members), *pivot = s->plan.list + p->used;
  kn_front* f = &p->front[t];
  for (int i = 0; i < n; i++) p->parent[p->near[i]] = e;
  p->parent[e] = e, p->maker[e] = t, p->child[t] = -1;
  *f = (kn_front){.pivot_at = p->used};
  int* keep = p->near + s->blocks + 1; /* border, for a moment */
  p->pivot_weight[t] = p->border_weight[t] = 0;
  for (int k = 0; k < size; k++) {
    int i = members[k];
    if (i == b || p->left[i] == 1)
      pivot[f->pivots++] = i, s->plan.front_of[i] = t, p->pivot_weight[t] += s->many[i];
    else
      keep[border++] = i, p->border_weight[t] += s->many[i];
  }
  memcpy(pivot + f->pivots, keep, (size_t)border * sizeof *keep);
  f->borders = p->count[e] = border;
  f->border_at = p->at[e] = p->used + f->pivots;
  p->used += size;
  p->entries[t] = entries_of(p->pivot_weight[t], p->border_weight[t]);
  adopt(p, t, n);
  return true;
}

static void take_front(plan* p, int t, int* at) {
  kn_cone_sparse* s = p->s;
  kn_front* f = &s->plan.front[*at];
  *f = p->front[t];
  f->children = 0;
  for (int c = p->child[t]; c >= 0; c = p->sibling[c]) f->children++;
  for (int k = 0; k < f->pivots; k++) s->plan.front_of[s->plan.list[f->pivot_at + k]] = *at;
  ++*at;
}

/* Fronts in postorder. up: the way back. */
static void postorder(plan* p, int* up) {
  int at = 0;
  for (int r = 0; r < p->fronts; r++) {
    if (p->front[r].pivots == 0 || p->front[r].borders > 0) continue; /* taken in, or a child */
    for (int t = r, depth = 0;;) {
      while (p->child[t] >= 0) {
        up[depth++] = t;
        t = p->child[t];
      }
      for (;;) {
        take_front(p, t, &at);
        if (depth == 0 || p->sibling[t] >= 0) break;
        t = up[--depth];
      }
      if (depth == 0) break;
      t = p->sibling[t];
    }
  }
  p->s->plan.fronts = at;
}

/* Multiplications and additions of one factor with the present unknowns. */
static double flops(const kn_cone_sparse* s) {
  double sum = 0.0;
  for (int t = 0; t < s->plan.fronts; t++) {
    const kn_front* f = &s->plan.front[t];
    double p = 0.0, b = 0.0;
    for (int k = 0; k < f->pivots; k++) p += s->many[s->plan.list[f->pivot_at + k]];
    for (int k = 0; k < f->borders; k++) b += s->many[s->plan.list[f->border_at + k]];
    sum += 2.0 * p * ((p + b) * b + p * p / 3.0);
  }
  return sum;
}

/* Every pair of coupled blocks comes to the front of the one that is eliminated first. */
static void deal_out(kn_cone_sparse* s) {
  int at = 0;
  for (int b = 0; b < s->blocks; b++) {
    s->plan.piece_at[b] = at;
    for (int k = s->start[b], t = s->plan.front_of[b]; t >= 0 && k < s->start[b + 1]; k++) {
      int i = s->row[k];
      s->plan.piece[at] = k;
      at += s->plan.front_of[i] > t || (s->plan.front_of[i] == t && i > b);
    }
  }
  s->plan.piece_at[s->blocks] = at;
}

static bool make_fronts(kn_cone_sparse* s) {
  int n = s->blocks, most = s->order.cliques + n + 1, *at = s->plan.scratch;
  plan p = {.s = s, .cliques = s->order.cliques};
  p.entries = (double*)(void*)at, at += 2 * n;
  p.front = (kn_front*)(void*)at, at += 5 * n;
  int** by_clique[] = {&p.parent, &p.at, &p.count, &p.maker};
  for (size_t i = 0; i < sizeof by_clique / sizeof *by_clique; i++) *by_clique[i] = at, at += most;
  int** by_front[] = {&p.child, &p.sibling, &p.pivot_weight, &p.border_weight};
  for (size_t i = 0; i < sizeof by_front / sizeof *by_front; i++) *by_front[i] = at, at += n;
  p.left = at, p.near = at + n;
  list_cliques(&p);
  for (int b = 0; b < n; b++) s->plan.front_of[b] = -1;
  for (int r = 0; r < n; r++) {
    int b = s->order.sequence[r];
    if (s->many[b] && s->plan.front_of[b] < 0 && !make_front(&p, b)) return false;
  }
  postorder(&p, p.near);
  deal_out(s);
  return kn_sparse_places(s);
}

static bool same_pattern(const kn_cone_sparse* s) {
  return s->order.last_blocks == s->blocks && s->order.last_stored == s->stored &&
         !memcmp(s->order.last_start, s->start, ((size_t)s->blocks + 1) * sizeof(int)) &&
         !memcmp(s->order.last_row, s->row, (size_t)s->stored * sizeof(int));
}

static void new_pattern(kn_cone_sparse* s) {
  kn_sparse_cover(s);
  s->order.covered = true, s->order.ordered = false;
  s->order.last_blocks = s->blocks, s->order.last_stored = s->stored;
  memcpy(s->order.last_start, s->start, ((size_t)s->blocks + 1) * sizeof(int));
  memcpy(s->order.last_row, s->row, (size_t)s->stored * sizeof(int));
}

/* Flops that could be done in the time that ordering and making fronts take, per block. */
static const double order_cost = 12000.0, plan_cost = 1500.0;

/* A block without unknowns costs nothing itself, but has joined what need not be joined. */
static double useless(const kn_cone_sparse* s, double now, int gone) { return 2.0 * now * gone / s->blocks; }

/* What the present order wastes in one factor: flops beyond those that it was made for, and a guess of what
   is lost by blocks that had unknowns then. */
static double waste(const kn_cone_sparse* s, double now) {
  int gone = 0;
  for (int b = 0; b < s->blocks; b++) gone += s->order.ordered_for[b] && !s->many[b];
  double more = now > s->order.flops ? now - s->order.flops : 0.0;
  return more + useless(s, now, gone);
}

bool kn_sparse_fits(kn_cone_sparse* s, int idle) {
  s->plan.idle += useless(s, s->plan.flops, idle);
  return s->plan.idle <= plan_cost * s->blocks;
}

static void order_and_plan(kn_cone_sparse* s) {
  s->order.ordered = s->plan.factorable = kn_sparse_order(s);
  if (s->order.ordered) s->plan.factorable = make_fronts(s);
  s->order.lost = 0.0;
  s->order.flops = s->plan.flops = s->plan.factorable ? flops(s) : 0.0;
}

/* The order of the problem before serves only where a new one would be the same: the bits of an answer depend on its
   problem alone, not on what was solved before it. */
static void begin(kn_cone_sparse* s) {
  s->order.begun = true;
  s->order.lost = 0.0;
  if (memcmp(s->order.ordered_for, s->many, (size_t)s->blocks) != 0) s->order.ordered = false;
}

/* Fronts for the unknowns s->many, in the order at hand while that is good enough. */
static void plan_seen(kn_cone_sparse* s) {
  if (!s->order.ordered) {
    order_and_plan(s);
    return;
  }
  s->plan.factorable = make_fronts(s);
  s->plan.flops = s->plan.factorable ? flops(s) : 0.0;
  s->order.lost += waste(s, s->plan.flops);
  if (!s->plan.factorable || s->order.lost > order_cost * s->blocks) order_and_plan(s);
}

/* Blocks that had unknowns in an earlier step of this problem are likely to have them again: they stay in the fronts,
   so that these last, until what they waste is worth new ones. */
static void remember(kn_cone_sparse* s, bool wasteful) {
  for (int b = 0; b < s->blocks; b++)
    if (wasteful || s->many[b]) s->plan.seen[b] = s->many[b];
}

void kn_sparse_plan(kn_cone_sparse* s) {
  if (!s->order.covered) {
    if (!same_pattern(s)) new_pattern(s);
    s->order.covered = true;
  }
  remember(s, !s->order.begun || s->plan.idle > plan_cost * s->blocks);
  if (!s->order.begun) begin(s);
  s->plan.planned = true;
  s->plan.idle = 0.0;
  unsigned char* now = s->many;
  s->many = s->plan.seen;
  plan_seen(s);
  s->many = now;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

void kn_sparse_take(kn_cone_sparse* s, kn_arena* arena, int blocks, int stored) {
  size_t n = (size_t)blocks, m = 3 * n + 24, many = (size_t)stored;
  s->start = KN_TAKE(arena, int, n + 1);
  s->row = KN_TAKE(arena, int, stored);
  s->mirror = KN_TAKE(arena, int, stored);
  s->diagonal = KN_TAKE(arena, int, n);
  s->value = KN_TAKE(arena, double, 12 * many);
  s->order.clique_at = KN_TAKE(arena, int, n + 2);
  s->order.clique_capacity = (int)least(many, 32 * n);
  s->order.clique = KN_TAKE(arena, int, s->order.clique_capacity + blocks);
  s->order.sequence = KN_TAKE(arena, int, n);
  s->order.rank = KN_TAKE(arena, int, n);
  s->order.ordered_for = KN_TAKE(arena, unsigned char, n);
  s->plan.front = KN_TAKE(arena, kn_front, n);
  s->plan.place = KN_TAKE(arena, kn_front_place, n);
  s->plan.task = KN_TAKE(arena, int, n + 1);
  s->plan.front_of = KN_TAKE(arena, int, n);
  s->plan.piece_at = KN_TAKE(arena, int, n + 1);
  s->plan.piece = KN_TAKE(arena, int, many / 2 + 1);
  s->plan.list_capacity = (int)least(least(n * (n + 1) / 2, 24 * many) + 80 * n + 1000, 200000000);
  s->plan.list = KN_TAKE(arena, int, s->plan.list_capacity);
  s->plan.scratch = KN_TAKE(arena, int, 80 * (n + 2) + many / 4);
  s->many = KN_TAKE(arena, unsigned char, n);
  s->plan.seen = KN_TAKE(arena, unsigned char, n);
  s->U_capacity = least(m * m + m * m / 4, 14 * (size_t)s->plan.list_capacity + 60 * m);
  s->U = KN_TAKE(arena, double, s->U_capacity);
  s->stack_capacity = least(m * m + m * m / 4 * 3, 40000000);
  s->stack = KN_TAKE(arena, double, s->stack_capacity);
  s->mark = KN_TAKE(arena, int, n + 1);
  s->x = KN_TAKE(arena, double, m);
  kn_sparse_take_hands(&s->own, 1, arena, blocks);
  s->order.last_start = KN_TAKE(arena, int, n + 1);
  s->order.last_row = KN_TAKE(arena, int, stored);
  s->order.last_blocks = -1;
  s->hand = &s->own;
}
