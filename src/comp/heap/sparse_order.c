/* Fill-reducing order of the contact graph.

   W couples two contacts when they touch the same body, so the pattern is a union of cliques, one per body,
   and a contact belongs to two of them or one (a robot is one body here). The cliques are found again from
   the pattern, greedily; any cover will do, and any pattern has one. Eliminating a contact joins its cliques
   to one (quotient graph; George, Liu 1989). Next comes the contact that adds the least fill: (a - c)(b - c)
   for cliques of a and b unknowns that have c in common, which is an upper bound, exact unless a third clique
   meets both. Contacts without unknowns (open ones) are left out, and put last. */
#include <string.h>

#include "comp/heap/sparse.h"

/* ---- cover ---- */

typedef struct cover {
  kn_cone_sparse* s;
  unsigned char *done, *in;   /* per stored block: edge covered; per block: in the clique */
  int *count, *member, *size; /* common neighbours; the clique */
} cover;

static int degree(const kn_cone_sparse* s, int b) { return s->start[b + 1] - s->start[b]; }

static void add_member(cover* c, int b, int* size) {
  const kn_cone_sparse* s = c->s;
  c->member[(*size)++] = b;
  c->in[b] = 1;
  for (int k = s->start[b]; k < s->start[b + 1]; k++) c->count[s->row[k]]++;
}

/* The edge of b not yet covered whose other end has fewest neighbours. */
static int next_neighbour(const cover* c, int b) {
  const kn_cone_sparse* s = c->s;
  int best = -1;
  for (int k = s->start[b]; k < s->start[b + 1]; k++)
    if (!c->done[k] && s->row[k] != b && (best < 0 || degree(s, s->row[k]) < degree(s, best)))
      best = s->row[k];
  return best;
}

static int grow(cover* c, int b, int other) {
  const kn_cone_sparse* s = c->s;
  int size = 0;
  add_member(c, b, &size);
  add_member(c, other, &size);
  for (int k = s->start[b]; k < s->start[b + 1]; k++) {
    int i = s->row[k];
    if (!c->done[k] && !c->in[i] && c->count[i] == size) add_member(c, i, &size);
  }
  return size;
}

static void close_clique(cover* c, int size) {
  const kn_cone_sparse* s = c->s;
  for (int m = 0; m < size; m++)
    for (int b = c->member[m], k = s->start[b]; k < s->start[b + 1]; k++) {
      if (c->in[s->row[k]]) c->done[k] = 1;
      c->count[s->row[k]] = 0;
    }
  for (int m = 0; m < size; m++) c->in[c->member[m]] = 0;
}

/* Blocks by number of neighbours: where little choice is, none is wrong. */
static void by_degree(const kn_cone_sparse* s, int* out, int* first) {
  int n = s->blocks;
  for (int d = 0; d <= n + 1; d++) first[d] = 0;
  for (int b = 0; b < n; b++) first[degree(s, b) + 1]++;
  for (int d = 0; d <= n; d++) first[d + 1] += first[d];
  for (int b = 0; b < n; b++) out[first[degree(s, b)]++] = b;
}

/* No pattern of bodies: everything is one clique. */
static void cover_by_one(kn_cone_sparse* s) {
  s->order.cliques = 1;
  for (int b = 0; b < s->blocks; b++) s->order.clique_at[b] = b, s->order.clique[b] = 0;
  s->order.clique_at[s->blocks] = s->blocks;
}

/* Cliques are listed in s->list until they are turned over to lists by block. */
void kn_sparse_cover(kn_cone_sparse* s) {
  int n = s->blocks, *m = s->plan.scratch, total = 0;
  cover c = {.s = s, .count = m, .member = m + n, .done = (unsigned char*)(m + 6 * (n + 2))};
  int *turn = m + 2 * n, *first = m + 3 * n;
  c.in = (unsigned char*)(m + 5 * (n + 2));
  by_degree(s, turn, first);
  memset(c.count, 0, (size_t)n * sizeof(int));
  memset(c.in, 0, (size_t)n);
  memset(c.done, 0, (size_t)s->stored);
  memset(s->order.clique_at, 0, ((size_t)n + 2) * sizeof(int));
  s->order.cliques = 0;
  for (int t = 0; t < n; t++)
    for (int b = turn[t], other; (other = next_neighbour(&c, b)) >= 0; s->order.cliques++) {
      int size = grow(&c, b, other);
      close_clique(&c, size);
      if (s->order.cliques == 8 * n || total - s->order.cliques + size > s->order.clique_capacity) {
        cover_by_one(s);
        return;
      }
      s->plan.list[total++] = -1; /* header */
      for (int k = 0; k < size; k++)
        s->plan.list[total++] = c.member[k], s->order.clique_at[c.member[k] + 2]++;
    }
  for (int b = 0; b < n; b++) s->order.clique_at[b + 2] += s->order.clique_at[b + 1];
  for (int k = 0, e = -1; k < total; k++) {
    if (s->plan.list[k] < 0)
      e++;
    else
      s->order.clique[s->order.clique_at[s->plan.list[k] + 1]++] = e;
  }
}

/* ---- order ---- */

typedef struct merge {
  kn_cone_sparse* s;
  int cliques, used;
  int* parent;               /* clique -> the one it was joined to, itself if none */
  int *at, *count;           /* members, in s->list */
  int* weight;               /* their unknowns */
  int *common, *stamp;       /* with the new clique; for which new clique */
  int *heap, *place, heaped; /* blocks by key; place[b] = -1: gone */
  int64_t* key;
  int done;
} merge;

static int find(int* parent, int e) {
  while (parent[e] != e) e = parent[e] = parent[parent[e]];
  return e;
}

static bool before(const merge* m, int a, int b) {
  return m->key[a] < m->key[b] || (m->key[a] == m->key[b] && a < b);
}

static void put(merge* m, int at, int b) { m->heap[at] = b, m->place[b] = at; }

static void sift(merge* m, int at, int b) {
  while (at > 0 && before(m, b, m->heap[(at - 1) / 2])) put(m, at, m->heap[(at - 1) / 2]), at = (at - 1) / 2;
  for (int child; (child = 2 * at + 1) < m->heaped; at = child) {
    if (child + 1 < m->heaped && before(m, m->heap[child + 1], m->heap[child])) child++;
    if (!before(m, m->heap[child], b)) break;
    put(m, at, m->heap[child]);
  }
  put(m, at, b);
}

static void leave(merge* m, int b) {
  int at = m->place[b], last = m->heap[--m->heaped];
  m->place[b] = -1;
  if (last != b) sift(m, at, last);
  m->s->order.rank[b] = m->done;
  m->s->order.sequence[m->done++] = b;
}

/* Different cliques of b, joined ones once. */
static int cliques_of(merge* m, int b, int* out) {
  const kn_cone_sparse* s = m->s;
  int n = 0;
  for (int k = s->order.clique_at[b]; k < s->order.clique_at[b + 1]; k++) {
    int e = find(m->parent, s->order.clique[k]), i = 0;
    while (i < n && out[i] != e) i++;
    if (i == n) out[n++] = e;
  }
  return n;
}

/* Fill of b from its n cliques; common[] with the first of them is at hand. */
static int64_t fill(const merge* m, int b, const int* e, int n) {
  if (n < 2) return 0;
  int64_t first = m->weight[e[0]];
  if (n == 2) return (first - m->common[e[1]]) * (m->weight[e[1]] - m->common[e[1]]);
  int64_t all = first, most = first;
  for (int k = 1; k < n; k++) {
    all += m->weight[e[k]] - m->common[e[k]];
    if (m->weight[e[k]] > most) most = m->weight[e[k]];
  }
  all -= m->s->many[b], most -= m->s->many[b];
  return (all * all - most * most) / 2;
}

/* common[] of clique e with all that meet it, counted under a stamp. */
static void count_common(merge* m, int e, int* near) {
  for (int k = 0; k < m->count[e]; k++) {
    int b = m->s->plan.list[m->at[e] + k], n = cliques_of(m, b, near);
    for (int i = 0; i < n; i++) {
      if (m->stamp[near[i]] != e + 1) m->stamp[near[i]] = e + 1, m->common[near[i]] = 0;
      m->common[near[i]] += m->s->many[b];
    }
  }
}

/* Keys of the members of e, which is put first in their lists. */
static void set_keys(merge* m, int e, int* near, bool own) {
  for (int k = 0; k < m->count[e]; k++) {
    int b = m->s->plan.list[m->at[e] + k], n = cliques_of(m, b, near), i = 0;
    if (own && near[0] != e) continue; /* at the start each block once */
    while (near[i] != e) i++;
    near[i] = near[0], near[0] = e;
    m->key[b] = fill(m, b, near, n);
    sift(m, m->place[b], b);
  }
}

/* Joins the cliques of b to a new one without b and without those that were in no other. */
static bool eliminate(merge* m, int b, int* near) {
  kn_cone_sparse* s = m->s;
  int n = cliques_of(m, b, near), e = m->cliques++, used = m->used;
  m->parent[e] = e, m->at[e] = used, m->weight[e] = 0, m->stamp[e] = 0;
  leave(m, b);
  for (int i = 0; i < n; i++) m->parent[near[i]] = e;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < m->count[near[i]]; k++) {
      int j = s->plan.list[m->at[near[i]] + k];
      if (m->place[j] < 0 || s->mark[j] == e) continue;
      s->mark[j] = e;
      if (used == s->plan.list_capacity) return false;
      s->plan.list[used++] = j;
    }
  int kept = m->used;
  for (int k = m->used; k < used; k++) {
    int j = s->plan.list[k];
    if (cliques_of(m, j, near) == 1)
      leave(m, j);
    else
      s->plan.list[kept++] = j, m->weight[e] += s->many[j];
  }
  m->count[e] = kept - m->used;
  m->used = kept;
  count_common(m, e, near);
  set_keys(m, e, near, false);
  return true;
}

static void list_cliques(merge* m) {
  kn_cone_sparse* s = m->s;
  for (int e = 0; e < m->cliques; e++) m->parent[e] = e, m->count[e] = m->weight[e] = m->stamp[e] = 0;
  for (int b = 0; b < s->blocks; b++)
    for (int k = s->order.clique_at[b]; s->many[b] && k < s->order.clique_at[b + 1]; k++)
      m->count[s->order.clique[k]]++;
  for (int e = 0; e < m->cliques; e++) m->at[e] = m->used, m->used += m->count[e], m->count[e] = 0;
  for (int b = 0; b < s->blocks; b++)
    for (int k = s->order.clique_at[b]; s->many[b] && k < s->order.clique_at[b + 1]; k++) {
      int e = s->order.clique[k];
      s->plan.list[m->at[e] + m->count[e]++] = b;
      m->weight[e] += s->many[b];
    }
}

bool kn_sparse_order(kn_cone_sparse* s) {
  int n = s->blocks, most = s->order.cliques + n + 1, *at = s->plan.scratch;
  merge m = {.s = s, .cliques = s->order.cliques};
  int** arrays[] = {&m.parent, &m.at, &m.count, &m.weight, &m.common, &m.stamp};
  m.key = (int64_t*)(void*)at, at += 2 * n;
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) *arrays[i] = at, at += most;
  m.heap = at, m.place = at + n;
  int* near = at + 2 * n;
  list_cliques(&m);
  for (int b = 0; b < n; b++) {
    s->mark[b] = m.place[b] = -1;
    m.key[b] = 0;
    s->order.ordered_for[b] = s->many[b];
    if (s->many[b]) m.heaped++, put(&m, m.heaped - 1, b);
  }
  for (int e = 0; e < s->order.cliques; e++) {
    count_common(&m, e, near);
    set_keys(&m, e, near, true);
  }
  while (m.heaped > 0)
    if (!eliminate(&m, m.heap[0], near)) return false;
  for (int b = 0; b < n; b++)
    if (!s->many[b]) s->order.rank[b] = m.done, s->order.sequence[m.done++] = b;
  return true;
}
