/* Static triangle mesh: bounding tree by the surface area heuristic over 16 bins (Wald 2007), two children
   per node, leaves of at most 4 triangles. Below depth 64, or when no split helps, the middle of the sorted
   order is used, so depth stays below 64 + log2(n) < KN_MESH_STACK. */
#include "model/trimesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "spatial/spatial.h"

enum { BINS = 16, LEAF = 4, SAH_DEPTH = 64 };

static float float_below(double x) {
  float f = (float)x;
  return (double)f > x ? nextafterf(f, -INFINITY) : f;
}

/* Single-precision bounds that contain x. */
static float float_above(double x) {
  float f = (float)x;
  return (double)f < x ? nextafterf(f, INFINITY) : f;
}

typedef struct bounds {
  float lo[3], hi[3];
} bounds;

static const bounds EMPTY = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static void grow(bounds* b, const bounds* a) {
  for (int k = 0; k < 3; k++) {
    b->lo[k] = a->lo[k] < b->lo[k] ? a->lo[k] : b->lo[k];
    b->hi[k] = a->hi[k] > b->hi[k] ? a->hi[k] : b->hi[k];
  }
}

static float half_area(const bounds* b) {
  float x = b->hi[0] - b->lo[0], y = b->hi[1] - b->lo[1], z = b->hi[2] - b->lo[2];
  return x < 0 ? 0 : x * y + y * z + z * x;
}

typedef struct builder {
  kn_mesh* m;
  bounds* box; /* per triangle */
} builder;

static bounds triangle_bounds(const kn_mesh* m, int32_t t) {
  bounds b;
  for (int k = 0; k < 3; k++) {
    double a = m->vertices[3 * (size_t)m->triangles[3 * (size_t)t] + k], lo = a, hi = a;
    for (int c = 1; c < 3; c++) {
      double x = m->vertices[3 * (size_t)m->triangles[3 * (size_t)t + c] + k];
      lo = x < lo ? x : lo, hi = x > hi ? x : hi;
    }
    b.lo[k] = float_below(lo), b.hi[k] = float_above(hi);
  }
  return b;
}

static float middle(const bounds* b, int axis) { return 0.5f * b->lo[axis] + 0.5f * b->hi[axis]; }

static int bin_of(float x, float low, float scale) {
  int i = (int)((x - low) * scale);
  return i < 0 ? 0 : i >= BINS ? BINS - 1 : i;
}

typedef struct split {
  int axis, bin;
  float low, scale, cost;
} split;

/* Best plane among the bins of one axis. */
static void try_axis(split* best, const builder* b, const int32_t* order, int32_t n, const bounds* centres,
                     int axis) {
  float width = centres->hi[axis] - centres->lo[axis];
  if (!(width > 0)) return;
  float low = centres->lo[axis], scale = BINS / width;
  if (!isfinite(scale)) return;
  bounds box[BINS], right[BINS];
  int32_t count[BINS] = {0};
  for (int i = 0; i < BINS; i++) box[i] = EMPTY;
  for (int32_t i = 0; i < n; i++) {
    int k = bin_of(middle(&b->box[order[i]], axis), low, scale);
    count[k]++;
    grow(&box[k], &b->box[order[i]]);
  }
  right[BINS - 1] = box[BINS - 1];
  for (int i = BINS - 2; i > 0; i--) right[i] = right[i + 1], grow(&right[i], &box[i]);
  bounds left = EMPTY;
  int32_t in_left = 0;
  for (int i = 0; i + 1 < BINS; i++) {
    grow(&left, &box[i]);
    in_left += count[i];
    float cost = half_area(&left) * (float)in_left + half_area(&right[i + 1]) * (float)(n - in_left);
    if (in_left && in_left < n && cost < best->cost) *best = (split){axis, i, low, scale, cost};
  }
}

static int32_t partition(const builder* b, int32_t* order, int32_t n, const split* s) {
  int32_t i = 0, j = n;
  while (i < j) {
    if (bin_of(middle(&b->box[order[i]], s->axis), s->low, s->scale) <= s->bin) {
      i++;
    } else {
      int32_t swap = order[i];
      order[i] = order[--j], order[j] = swap;
    }
  }
  return i;
}

typedef struct task {
  int32_t node, first, count, depth;
} task;

static int32_t split_range(const builder* b, int32_t first, int32_t count, int32_t depth,
                           const bounds* centres) {
  split best = {.cost = INFINITY};
  if (depth < SAH_DEPTH)
    for (int axis = 0; axis < 3; axis++) try_axis(&best, b, b->m->order + first, count, centres, axis);
  return isfinite(best.cost) ? partition(b, b->m->order + first, count, &best) : count / 2;
}

static void build(const builder* b) {
  kn_mesh* m = b->m;
  task stack[KN_MESH_STACK];
  int top = 0;
  m->nnode = 1;
  stack[top++] = (task){0, 0, m->ntriangle, 0};
  while (top) {
    task t = stack[--top];
    bounds box = EMPTY, centres = EMPTY;
    for (int32_t i = t.first; i < t.first + t.count; i++) {
      const bounds* a = &b->box[m->order[i]];
      bounds c;
      for (int k = 0; k < 3; k++) c.lo[k] = c.hi[k] = middle(a, k);
      grow(&box, a);
      grow(&centres, &c);
    }
    kn_mesh_node* node = &m->nodes[t.node];
    memcpy(node->lo, box.lo, sizeof node->lo);
    memcpy(node->hi, box.hi, sizeof node->hi);
    node->first = t.first;
    node->count = t.count;
    if (t.count <= LEAF) continue;
    int32_t left = split_range(b, t.first, t.count, t.depth, &centres);
    node->first = m->nnode;
    node->count = 0;
    m->nnode += 2;
    stack[top++] = (task){node->first, t.first, left, t.depth + 1};
    stack[top++] = (task){node->first + 1, t.first + left, t.count - left, t.depth + 1};
  }
}

static void lay_out(kn_mesh* m, kn_arena* a, int32_t nv, int32_t nt) {
  m->vertices = KN_TAKE(a, double, 3 * (size_t)nv);
  KN_TAKE_EACH(a, int32_t, 3 * (size_t)nt, &m->triangles, &m->neighbour);
  m->normal = KN_TAKE(a, double, 3 * (size_t)nt);
  m->nodes = KN_TAKE(a, kn_mesh_node, 2 * (size_t)nt);
  m->order = KN_TAKE(a, int32_t, nt);
}

/* Unit normal; false when the triangle has no area beyond rounding. */
static bool triangle_normal(double n[3], const double* x, const int32_t* t) {
  const double *a = x + 3 * (size_t)t[0], *b = x + 3 * (size_t)t[1], *c = x + 3 * (size_t)t[2];
  double u[3], v[3], longest = 0;
  for (int k = 0; k < 3; k++) {
    u[k] = b[k] - a[k], v[k] = c[k] - a[k];
    longest = fmax(longest, fmax(fabs(u[k]), fabs(v[k])));
  }
  if (!(longest > 0)) return false;
  for (int k = 0; k < 3; k++) u[k] /= longest, v[k] /= longest;
  kn_cross3(n, u, v);
  double length = kn_norm3(n);
  if (!(length > 1e-14)) return false;
  for (int k = 0; k < 3; k++) n[k] /= length;
  return true;
}

typedef struct half {
  int32_t low, high, at;
} half;

static int by_ends(const void* a, const void* b) {
  const half *x = a, *y = b;
  if (x->low != y->low) return x->low < y->low ? -1 : 1;
  if (x->high != y->high) return x->high < y->high ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

static kn_status find_neighbours(kn_mesh* m) {
  size_t n = 3 * (size_t)m->ntriangle;
  half* e = malloc(n * sizeof *e);
  if (!e) return kn_fail(KN_OUT_OF_MEMORY, "mesh: no memory for %zu edges", n);
  for (size_t i = 0; i < n; i++) {
    int32_t a = m->triangles[i], b = m->triangles[i % 3 == 2 ? i - 2 : i + 1];
    e[i] = (half){a < b ? a : b, a < b ? b : a, (int32_t)i};
    m->neighbour[i] = -1;
  }
  qsort(e, n, sizeof *e, by_ends);
  for (size_t i = 0, j; i < n; i = j) {
    for (j = i + 1; j < n && e[j].low == e[i].low && e[j].high == e[i].high;) j++;
    if (j - i != 2) continue;
    m->neighbour[e[i].at] = e[i + 1].at / 3;
    m->neighbour[e[i + 1].at] = e[i].at / 3;
  }
  free(e);
  return KN_OK;
}

static void copy_triangles(kn_mesh* m, const kn_mesh_data* data) {
  m->nvertex = data->nvertex;
  memcpy(m->vertices, data->vertices, 3 * sizeof(double) * (size_t)data->nvertex);
  for (int32_t i = 0; i < data->ntriangle; i++) {
    const int32_t* t = data->triangles + 3 * (size_t)i;
    if (!triangle_normal(m->normal + 3 * (size_t)m->ntriangle, data->vertices, t)) continue;
    memcpy(m->triangles + 3 * (size_t)m->ntriangle, t, 3 * sizeof *t);
    m->order[m->ntriangle] = m->ntriangle;
    m->ntriangle++;
  }
}

static kn_status build_tree(kn_mesh* m) {
  builder b = {m, malloc((size_t)m->ntriangle * sizeof(bounds))};
  if (!b.box) return kn_fail(KN_OUT_OF_MEMORY, "mesh: no memory for %d bounds", m->ntriangle);
  for (int32_t i = 0; i < m->ntriangle; i++) b.box[i] = triangle_bounds(m, i);
  build(&b);
  free(b.box);
  for (int k = 0; k < 3; k++) {
    m->lo[k] = INFINITY, m->hi[k] = -INFINITY;
    for (size_t i = 0; i < 3 * (size_t)m->ntriangle; i++) {
      double x = m->vertices[3 * (size_t)m->triangles[i] + k];
      m->lo[k] = fmin(m->lo[k], x), m->hi[k] = fmax(m->hi[k], x);
    }
  }
  return KN_OK;
}

static kn_status check(const kn_mesh_data* d) {
  for (size_t i = 0; i < 3 * (size_t)d->nvertex; i++)
    if (!(fabs(d->vertices[i]) < 1e30))
      return kn_fail(KN_NOT_FINITE, "mesh: vertex %zu is not finite (or beyond 1e30)", i / 3);
  for (size_t i = 0; i < 3 * (size_t)d->ntriangle; i++)
    if (d->triangles[i] < 0 || d->triangles[i] >= d->nvertex)
      return kn_fail(KN_BAD_ARGUMENT, "mesh: triangle %zu names vertex %d of %d", i / 3, d->triangles[i],
                     d->nvertex);
  return KN_OK;
}

kn_status kn_mesh_create(kn_mesh** out, const kn_mesh_data* data, int32_t* dropped) {
  KN_REQUIRE(out);
  *out = NULL;
  KN_REQUIRE(data && data->nvertex >= 0 && data->ntriangle >= 0);
  if (!data->nvertex || !data->ntriangle) return kn_fail(KN_BAD_MODEL, "mesh: no triangles");
  KN_TRY(check(data));
  kn_mesh* m = calloc(1, sizeof *m);
  if (!m) return kn_fail(KN_OUT_OF_MEMORY, "mesh: no memory");
  kn_status status;
  KN_ARENA_CARVE(status, &m->arena, lay_out(m, a, data->nvertex, data->ntriangle));
  if (status == KN_OK) {
    copy_triangles(m, data);
    if (dropped) *dropped = data->ntriangle - m->ntriangle;
    if (!m->ntriangle)
      status = kn_fail(KN_BAD_MODEL, "mesh: none of the %d triangles has an area", data->ntriangle);
  }
  if (status == KN_OK) status = find_neighbours(m);
  if (status == KN_OK) status = build_tree(m);
  if (status == KN_OK)
    *out = m;
  else
    kn_mesh_destroy(m);
  return status;
}

void kn_mesh_destroy(kn_mesh* mesh) {
  if (!mesh) return;
  kn_arena_destroy(&mesh->arena);
  free(mesh);
}

void kn_mesh_counts(const kn_mesh* mesh, int32_t* nvertex, int32_t* ntriangle) {
  if (nvertex) *nvertex = mesh ? mesh->nvertex : 0;
  if (ntriangle) *ntriangle = mesh ? mesh->ntriangle : 0;
}

kn_status kn_mesh_triangles(kn_mesh_data* out, const kn_mesh* mesh) {
  KN_REQUIRE(out && mesh);
  return kn_mesh_data_create(out, mesh->vertices, mesh->nvertex, mesh->triangles, mesh->ntriangle);
}

static bool boxes_meet(const float* lo, const float* hi, const kn_mesh_node* n) {
  return (lo[0] <= n->hi[0]) & (hi[0] >= n->lo[0]) & (lo[1] <= n->hi[1]) & (hi[1] >= n->lo[1]) &
         (lo[2] <= n->hi[2]) & (hi[2] >= n->lo[2]);
}

void kn_mesh_first(kn_mesh_cursor* c, const kn_mesh* mesh, const double lo[3], const double hi[3]) {
  c->mesh = mesh;
  for (int k = 0; k < 3; k++) c->lo[k] = float_below(lo[k]), c->hi[k] = float_above(hi[k]);
  c->leaf = c->left = 0;
  c->top = 0;
  if (boxes_meet(c->lo, c->hi, mesh->nodes)) c->stack[c->top++] = 0;
}

/* Leaves hold few triangles, so their own bounds are tested from the vertices. */
static bool triangle_meets(const kn_mesh_cursor* c, int32_t t) {
  bounds b = triangle_bounds(c->mesh, t);
  kn_mesh_node n;
  memcpy(n.lo, b.lo, sizeof n.lo);
  memcpy(n.hi, b.hi, sizeof n.hi);
  return boxes_meet(c->lo, c->hi, &n);
}

int32_t kn_mesh_next(kn_mesh_cursor* c) {
  for (;;) {
    while (c->left > 0) {
      int32_t t = c->mesh->order[c->leaf++];
      c->left--;
      if (triangle_meets(c, t)) return t;
    }
    if (!c->top) return -1;
    const kn_mesh_node* n = &c->mesh->nodes[c->stack[--c->top]];
    if (n->count) {
      c->leaf = n->first;
      c->left = n->count;
      continue;
    }
    const kn_mesh_node* child = &c->mesh->nodes[n->first];
    if (boxes_meet(c->lo, c->hi, child + 1)) c->stack[c->top++] = n->first + 1;
    if (boxes_meet(c->lo, c->hi, child)) c->stack[c->top++] = n->first;
  }
}

kn_status kn_mesh_overlap(int32_t* out, int32_t* count, int32_t capacity, const kn_mesh* mesh,
                          const double lo[3], const double hi[3]) {
  KN_REQUIRE(count && mesh && lo && hi && capacity >= 0 && (out || !capacity));
  kn_mesh_cursor c;
  int32_t t, n = 0;
  kn_mesh_first(&c, mesh, lo, hi);
  while ((t = kn_mesh_next(&c)) >= 0) {
    if (n < capacity) out[n] = t;
    n++;
  }
  *count = n;
  return n <= capacity ? KN_OK
                       : kn_fail(KN_NO_ROOM, "mesh: %d triangles meet the box, room for %d", n, capacity);
}
