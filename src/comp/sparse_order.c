/* Fill-reducing order and supernodes of the contact graph.

   Approximate minimum degree on the quotient graph (Amestoy, Davis, Duff 1996): eliminating p makes an
   element with the variables L_p = adj(p) and the lists of p's elements, which it absorbs; L_p is at the same
   time the structure of column p of the factor. The degree of i is bounded by |A_i| + |L_p \ i| + sum |L_e
   \ L_p|. Then the elimination tree is put in postorder and columns with the same structure (or nearly) are
   joined to supernodes. */
#include <string.h>

#include "comp/sparse.h"

typedef struct graph {
  int n, used, capacity;
  int *at, *length, *elements; /* per variable: list of elements, then of variables, in iw */
  int* iw;
  int *L_at, *L_count; /* per eliminated variable: its element's variables in list */
  int* list;
  int *mark, *w, *stamp;
  int *head, *next, *prev, *degree;
  int* turn; /* elimination index, -1 while alive, absorbed elements keep theirs */
  unsigned char* absorbed;
} graph;

static void unlink_degree(graph* g, int i) {
  if (g->prev[i] >= 0)
    g->next[g->prev[i]] = g->next[i];
  else
    g->head[g->degree[i]] = g->next[i];
  if (g->next[i] >= 0) g->prev[g->next[i]] = g->prev[i];
}

static void link_degree(graph* g, int i, int degree) {
  g->degree[i] = degree;
  g->prev[i] = -1;
  g->next[i] = g->head[degree];
  if (g->head[degree] >= 0) g->prev[g->head[degree]] = i;
  g->head[degree] = i;
}

static bool form_element(graph* g, int p, int tag) {
  g->L_at[p] = g->used;
  g->mark[p] = tag;
  const int* a = g->iw + g->at[p];
  for (int k = 0; k < g->length[p]; k++) {
    bool element = k < g->elements[p];
    if (element && g->absorbed[a[k]]) continue;
    const int* from = element ? g->list + g->L_at[a[k]] : &a[k];
    int many = element ? g->L_count[a[k]] : 1;
    for (int m = 0; m < many; m++) {
      int i = from[m];
      if (g->turn[i] >= 0 || g->mark[i] == tag) continue;
      if (g->used == g->capacity) return false;
      g->mark[i] = tag;
      g->list[g->used++] = i;
    }
    if (element) g->absorbed[a[k]] = 1;
  }
  g->L_count[p] = g->used - g->L_at[p];
  return true;
}

/* w[e] = |L_e \ L_p| of the elements around. */
static void count_outside(graph* g, int p, int tag) {
  for (int k = 0; k < g->L_count[p]; k++) {
    int i = g->list[g->L_at[p] + k];
    for (int m = 0; m < g->elements[i]; m++) {
      int e = g->iw[g->at[i] + m];
      if (g->absorbed[e]) continue;
      if (g->stamp[e] != tag) g->stamp[e] = tag, g->w[e] = g->L_count[e];
      g->w[e]--;
    }
  }
}

/* New lists and degree of a variable of L_p. */
static void update_variable(graph* g, int i, int p, int tag, int left) {
  int *a = g->iw + g->at[i], out = 0, degree = g->L_count[p] - 1, keep = g->elements[i], kept;
  for (int m = 0; m < keep; m++) {
    int e = a[m];
    if (g->absorbed[e]) continue;
    if (g->w[e] == 0) {
      g->absorbed[e] = 1;
      continue;
    }
    degree += g->w[e];
    a[out++] = e;
  }
  kept = out;
  for (int m = keep; m < g->length[i]; m++) {
    int v = a[m];
    if (g->turn[v] >= 0 || g->mark[v] == tag) continue;
    a[out++] = v;
    degree++;
  }
  /* p itself: room is certain, p or an absorbed element was dropped */
  if (out > kept) a[out] = a[kept];
  a[kept] = p;
  g->elements[i] = kept + 1;
  g->length[i] = out + 1;
  unlink_degree(g, i);
  link_degree(g, i, degree < left ? degree : left);
}

static bool eliminate(graph* g) {
  int least = 0;
  for (int k = 0; k < g->n; k++) {
    if (least > 0) least--;
    while (g->head[least] < 0) least++;
    int p = g->head[least], tag = k + 1;
    unlink_degree(g, p);
    if (!form_element(g, p, tag)) return false;
    g->turn[p] = k;
    count_outside(g, p, tag);
    for (int m = 0; m < g->L_count[p]; m++) {
      update_variable(g, g->list[g->L_at[p] + m], p, tag, g->n - k - 2 > 0 ? g->n - k - 2 : 0);
      int d = g->degree[g->list[g->L_at[p] + m]];
      if (d < least) least = d;
    }
  }
  return true;
}

/* position[] = postorder of the elimination tree; parent in terms of blocks. */
static void postorder(graph* g, kn_cone_sparse* s, int* parent, int* child, int* sibling) {
  int n = g->n, root = -1, at = 0;
  for (int p = 0; p < n; p++) child[p] = sibling[p] = -1;
  for (int p = 0; p < n; p++) {
    int best = -1;
    for (int k = 0; k < g->L_count[p]; k++) {
      int i = g->list[g->L_at[p] + k];
      if (best < 0 || g->turn[i] < g->turn[best]) best = i;
    }
    parent[p] = best;
  }
  for (int p = n - 1; p >= 0; p--) {
    int* list = parent[p] < 0 ? &root : &child[parent[p]];
    sibling[p] = *list;
    *list = p;
  }
  int v = root;
  while (v >= 0) {
    while (child[v] >= 0) v = child[v];
    for (;;) { /* v has no unvisited children */
      s->order[at] = v;
      s->position[v] = at++;
      if (sibling[v] >= 0) {
        v = sibling[v];
        break;
      }
      v = parent[v];
      if (v < 0) return;
    }
  }
}

static size_t front_entries(int columns, int border) {
  return (size_t)columns * (size_t)(columns + 2 * border);
}

/* Columns of equal structure, then with the child just before while at most a quarter of the entries are
 * zeros. */
static void find_supernodes(kn_cone_sparse* s, const graph* g, const int* parent) {
  int n = g->n, count = 0;
  for (int j = 0; j < n;) {
    int end = j + 1;
    while (end < n) {
      int b = s->order[end - 1];
      if (parent[b] < 0 || s->position[parent[b]] != end || g->L_count[b] != g->L_count[s->order[end]] + 1)
        break;
      end++;
    }
    int first = j, border = g->L_count[s->order[end - 1]];
    size_t entries = front_entries(end - j, border); /* without the zeros that joining adds */
    while (count > 0) {
      int c0 = s->first[count - 1], last = s->order[first - 1];
      if (parent[last] < 0 || s->position[parent[last]] < first || s->position[parent[last]] >= end) break;
      size_t joined = front_entries(end - c0, border), apart = entries + s->U_at[count - 1];
      if (end - c0 > 4 && 4 * joined > 5 * apart) break;
      first = c0;
      entries = apart;
      count--;
    }
    s->first[count] = first;
    s->border_count[count] = border;
    s->U_at[count] = entries;
    count++;
    j = end;
  }
  s->first[count] = n;
  s->supernodes = count;
}

static void sort_ints(int* a, int n) { /* short lists; shell sort */
  for (int gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
    for (int i = gap; i < n; i++) {
      int x = a[i], j = i;
      for (; j >= gap && a[j - gap] > x; j -= gap) a[j] = a[j - gap];
      a[j] = x;
    }
}

/* Border lists in positions, children counts, and whether the factors have room with three unknowns per
 * block. */
static bool finish(kn_cone_sparse* s, const graph* g, int* owner) {
  size_t U = 0, stack = 0, most = 0;
  for (int t = 0; t < s->supernodes; t++) {
    s->children[t] = 0;
    for (int p = s->first[t]; p < s->first[t + 1]; p++) owner[p] = t;
  }
  for (int t = 0; t < s->supernodes; t++) {
    int last = s->order[s->first[t + 1] - 1];
    s->border_start[t] = g->L_at[last];
    int* b = s->list + g->L_at[last];
    for (int k = 0; k < s->border_count[t]; k++) b[k] = s->position[b[k]];
    sort_ints(b, s->border_count[t]);
    if (s->border_count[t] > 0) s->children[owner[b[0]]]++;
  }
  size_t* update = s->update_at; /* sizes while planning */
  int depth = 0;
  for (int t = 0; t < s->supernodes; t++) {
    size_t columns = 3 * (size_t)(s->first[t + 1] - s->first[t]), border = 3 * (size_t)s->border_count[t];
    size_t m = columns + border;
    U += columns * (m + 1);
    size_t front = (m + 1) * (m + 24);
    if (stack + front > most) most = stack + front;
    for (int c = 0; c < s->children[t]; c++) stack -= update[--depth];
    update[depth++] = (border + 1) * border;
    stack += (border + 1) * border;
    if (stack > most) most = stack;
  }
  return U <= s->U_capacity && most + 64 <= s->front_capacity;
}

static graph make_graph(kn_cone_sparse* s) {
  int n = s->blocks, *m = s->scratch;
  graph g = {.n = n, .capacity = s->list_capacity, .list = s->list};
  int** arrays[] = {&g.at,    &g.length, &g.elements, &g.L_at, &g.L_count, &g.mark, &g.w,
                    &g.stamp, &g.head,   &g.next,     &g.prev, &g.degree,  &g.turn};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) *arrays[i] = m, m += n + 1;
  g.absorbed = (unsigned char*)m;
  m += n + 1;
  g.iw = m;
  memset(g.absorbed, 0, (size_t)n);
  for (int i = 0, at = 0; i < n; i++) {
    g.at[i] = at, g.length[i] = 0, g.elements[i] = 0, g.mark[i] = 0, g.stamp[i] = 0, g.turn[i] = -1,
    g.head[i] = -1;
    for (int k = s->start[i]; k < s->start[i + 1]; k++)
      if (s->row[k] != i) g.iw[at + g.length[i]++] = s->row[k];
    at += g.length[i] + 1;
  }
  for (int i = n - 1; i >= 0; i--) link_degree(&g, i, g.length[i]);
  return g;
}

static bool same_pattern(const kn_cone_sparse* s) {
  return s->last_blocks == s->blocks && s->last_stored == s->stored &&
         !memcmp(s->last_start, s->start, ((size_t)s->blocks + 1) * sizeof(int)) &&
         !memcmp(s->last_row, s->row, (size_t)s->stored * sizeof(int));
}

void kn_sparse_order(kn_cone_sparse* s) {
  if (s->ordered) return;
  s->ordered = true;
  if (same_pattern(s)) return;
  graph g = make_graph(s);
  s->factorable = eliminate(&g);
  if (s->factorable) {
    int *parent = g.mark, *child = g.w, *sibling = g.stamp;
    postorder(&g, s, parent, child, sibling);
    find_supernodes(s, &g, parent);
    s->factorable = finish(s, &g, g.next);
  }
  s->last_blocks = s->blocks, s->last_stored = s->stored;
  memcpy(s->last_start, s->start, ((size_t)s->blocks + 1) * sizeof(int));
  memcpy(s->last_row, s->row, (size_t)s->stored * sizeof(int));
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

void kn_sparse_take(kn_cone_sparse* s, kn_arena* arena, int blocks, int stored) {
  size_t n = (size_t)blocks, m = 3 * n + 24;
  s->start = KN_TAKE(arena, int, blocks + 1);
  s->row = KN_TAKE(arena, int, stored);
  s->mirror = KN_TAKE(arena, int, stored);
  s->diagonal = KN_TAKE(arena, int, blocks);
  s->value = KN_TAKE(arena, double, 12 * (size_t)stored);
  s->position = KN_TAKE(arena, int, blocks);
  s->order = KN_TAKE(arena, int, blocks);
  s->first = KN_TAKE(arena, int, blocks + 1);
  s->border_start = KN_TAKE(arena, int, blocks + 1);
  s->border_count = KN_TAKE(arena, int, blocks + 1);
  s->children = KN_TAKE(arena, int, blocks + 1);
  size_t list = least(n * (n + 1) / 2 + 1, 24 * (size_t)stored + 1000);
  s->list_capacity = (int)least(list, 200000000);
  s->list = KN_TAKE(arena, int, s->list_capacity);
  s->scratch = KN_TAKE(arena, int, 15 * (n + 1) + (size_t)stored);
  s->U_capacity = least(m * m, 14 * (size_t)s->list_capacity + 30 * m);
  s->U = KN_TAKE(arena, double, s->U_capacity);
  s->front_capacity = least(2 * m * m, 40000000);
  s->front = KN_TAKE(arena, double, s->front_capacity);
  s->U_at = KN_TAKE(arena, size_t, blocks + 1);
  s->update_at = KN_TAKE(arena, size_t, blocks + 1);
  s->offset = KN_TAKE(arena, int, blocks + 1);
  s->unknowns_at = KN_TAKE(arena, int, blocks + 1);
  s->x = KN_TAKE(arena, double, m);
  s->last_start = KN_TAKE(arena, int, blocks + 1);
  s->last_row = KN_TAKE(arena, int, stored);
  s->last_blocks = -1;
}
