/* Islands by union-find with path halving; the smaller index becomes the root, so roots are canonical. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "knuckle/broad.h"

struct kn_islands {
  kn_arena arena;
  int32_t max_bodies, max_edges, nbody, nedge, count;
  int32_t* root;       /* union-find; afterwards the island of each body */
  int32_t* number;     /* island of a root */
  int32_t* body_start; /* count + 1 */
  int32_t* body;
  int32_t* edge_start; /* count + 1 */
  int32_t* edge;
};

static void lay_out(kn_islands* s, kn_arena* a) {
  s->root = KN_TAKE(a, int32_t, s->max_bodies);
  s->number = KN_TAKE(a, int32_t, s->max_bodies);
  s->body_start = KN_TAKE(a, int32_t, s->max_bodies + 2);
  s->body = KN_TAKE(a, int32_t, s->max_bodies);
  s->edge_start = KN_TAKE(a, int32_t, s->max_bodies + 2);
  s->edge = KN_TAKE(a, int32_t, s->max_edges);
}

kn_status kn_islands_create(kn_islands** out, int32_t max_bodies, int32_t max_edges) {
  KN_REQUIRE(out);
  *out = NULL;
  KN_REQUIRE(max_bodies >= 0 && max_edges >= 0);
  kn_islands* s = calloc(1, sizeof *s);
  if (!s) return kn_fail(KN_OUT_OF_MEMORY, "islands: no memory");
  s->max_bodies = max_bodies;
  s->max_edges = max_edges;
  kn_arena count = {0};
  lay_out(s, &count);
  kn_status status = kn_arena_create(&s->arena, count.used + 64);
  if (status != KN_OK) {
    free(s);
    return status;
  }
  lay_out(s, &s->arena);
  *out = s;
  return KN_OK;
}

void kn_islands_destroy(kn_islands* islands) {
  if (!islands) return;
  kn_arena_destroy(&islands->arena);
  free(islands);
}

static int32_t find(int32_t* root, int32_t i) {
  while (root[i] != i) i = root[i] = root[root[i]];
  return i;
}

static void unite(int32_t* root, int32_t a, int32_t b) {
  a = find(root, a), b = find(root, b);
  if (a < b)
    root[b] = a;
  else
    root[a] = b;
}

static int32_t island_of_edge(const kn_islands* s, const int32_t e[2]) {
  return e[0] >= 0 ? s->root[e[0]] : e[1] >= 0 ? s->root[e[1]] : -1;
}

/* Turns counts in start[i + 1] into starts. */
static void prefix(int32_t* start, int32_t n) {
  start[0] = 0;
  for (int32_t i = 0; i < n; i++) start[i + 1] += start[i];
}

static void group(kn_islands* s, const int32_t (*edges)[2]) {
  memset(s->body_start, 0, (size_t)(s->count + 1) * sizeof *s->body_start);
  memset(s->edge_start, 0, (size_t)(s->count + 1) * sizeof *s->edge_start);
  for (int32_t i = 0; i < s->nbody; i++) s->body_start[s->root[i] + 1]++;
  for (int32_t e = 0; e < s->nedge; e++)
    if (island_of_edge(s, edges[e]) >= 0) s->edge_start[island_of_edge(s, edges[e]) + 1]++;
  prefix(s->body_start, s->count);
  prefix(s->edge_start, s->count);
  memcpy(s->number, s->body_start, (size_t)s->count * sizeof *s->number); /* fill positions */
  for (int32_t i = 0; i < s->nbody; i++) s->body[s->number[s->root[i]]++] = i;
  memcpy(s->number, s->edge_start, (size_t)s->count * sizeof *s->number);
  for (int32_t e = 0; e < s->nedge; e++) {
    int32_t island = island_of_edge(s, edges[e]);
    if (island >= 0) s->edge[s->number[island]++] = e;
  }
}

kn_status kn_islands_build(kn_islands* s, int32_t nbody, const int32_t (*edges)[2], int32_t nedge) {
  KN_REQUIRE(s && nbody >= 0 && nedge >= 0 && (edges || !nedge));
  if (nbody > s->max_bodies || nedge > s->max_edges)
    return kn_fail(KN_NO_ROOM, "islands: %d bodies and %d edges, room for %d and %d", nbody, nedge,
                   s->max_bodies, s->max_edges);
  for (int32_t e = 0; e < nedge; e++)
    if (edges[e][0] >= nbody || edges[e][1] >= nbody)
      return kn_fail(KN_BAD_ARGUMENT, "islands: edge %d names body %d of %d", e,
                     edges[e][edges[e][0] >= nbody ? 0 : 1], nbody);
  for (int32_t i = 0; i < nbody; i++) s->root[i] = i;
  for (int32_t e = 0; e < nedge; e++)
    if (edges[e][0] >= 0 && edges[e][1] >= 0) unite(s->root, edges[e][0], edges[e][1]);
  s->nbody = nbody;
  s->nedge = nedge;
  s->count = 0;
  for (int32_t i = 0; i < nbody; i++) { /* a root comes before its members */
    int32_t r = find(s->root, i);
    if (r == i) s->number[i] = s->count++;
  }
  for (int32_t i = nbody; i-- > 0;) s->root[i] = find(s->root, i); /* flat, then numbered */
  for (int32_t i = 0; i < nbody; i++) s->root[i] = s->number[s->root[i]];
  group(s, edges);
  return KN_OK;
}

int32_t kn_islands_count(const kn_islands* islands) { return islands ? islands->count : 0; }

int32_t kn_islands_of_body(const kn_islands* islands, int32_t body) {
  return islands && body >= 0 && body < islands->nbody ? islands->root[body] : -1;
}

void kn_islands_get(const kn_islands* s, int32_t island, const int32_t** bodies, int32_t* nbody,
                    const int32_t** edges, int32_t* nedge) {
  bool ok = s && island >= 0 && island < s->count;
  if (bodies) *bodies = ok ? s->body + s->body_start[island] : NULL;
  if (nbody) *nbody = ok ? s->body_start[island + 1] - s->body_start[island] : 0;
  if (edges) *edges = ok ? s->edge + s->edge_start[island] : NULL;
  if (nedge) *nedge = ok ? s->edge_start[island + 1] - s->edge_start[island] : 0;
}
