/* kn_hull: checks and repairs of the input points, then the arrays that collision reads. */
#include "model/hull.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/hull_build.h"
#include "model/polyhedron.h"
#include "spatial/spatial.h"

#define FLAT                                                                                                 \
  1e-10 /* thinner than this part of the extent counts as flat: near the rounding of the coordinates */

kn_hull_settings kn_hull_default(void) { return (kn_hull_settings){.merge = 1e-9}; }

typedef struct cloud {
  double* x; /* 3 n, moved and scaled to about unit size */
  int32_t n;
  double centre[3], scale; /* original = centre + scale * x */
  double thickness;        /* of x, up to a factor of about 3 */
  int dimension;           /* 0 … 3 */
  double axes[3][3];       /* the first `dimension` span the points, the others are orthogonal to them */
} cloud;

static double normalise(double a[3]) {
  double length = sqrt(kn_dot3(a, a));
  for (int k = 0; k < 3 && length > 0; k++) a[k] /= length;
  return length;
}

/* The point farthest from `o` once components along the first d axes are removed. */
static double farthest(double away[3], const cloud* c, const double o[3], int d) {
  double best = -1;
  for (int32_t i = 0; i < c->n; i++) {
    double r[3];
    for (int k = 0; k < 3; k++) r[k] = c->x[3 * (size_t)i + k] - o[k];
    for (int a = 0; a < d; a++) {
      double s = kn_dot3(r, c->axes[a]);
      for (int k = 0; k < 3; k++) r[k] -= s * c->axes[a][k];
    }
    double length = kn_dot3(r, r);
    if (length > best) best = length, memcpy(away, r, sizeof r);
  }
  return sqrt(best);
}

/* Completes axes[from …] to an orthonormal frame. */
static void complete_axes(cloud* c, int from) {
  for (int d = from; d < 3; d++) {
    double* a = c->axes[d];
    if (d == 2) {
      kn_cross3(a, c->axes[0], c->axes[1]);
    } else {
      int least = 0;
      for (int k = 1; k < 3; k++)
        if (d == 1 && fabs(c->axes[0][k]) < fabs(c->axes[0][least])) least = k;
      double e[3] = {0, 0, 0};
      e[least] = 1;
      if (d == 1)
        kn_cross3(a, c->axes[0], e);
      else
        memcpy(a, e, sizeof e);
    }
    normalise(a);
  }
}

/* A greedy simplex (farthest point from what is spanned so far) tells dimension and thickness. */
static void measure(cloud* c) {
  double o[3], away[3], extent = 1;
  memcpy(o, c->x, sizeof o);
  for (c->dimension = 0; c->dimension < 3; c->dimension++) {
    double r = farthest(away, c, o, c->dimension);
    if (c->dimension == 0) { /* start from an extreme point */
      for (int k = 0; k < 3; k++) o[k] += away[k];
      r = extent = farthest(away, c, o, 0);
    }
    c->thickness = r;
    if (!(r > FLAT * extent) || r <= 0) break;
    memcpy(c->axes[c->dimension], away, sizeof away);
    normalise(c->axes[c->dimension]);
  }
  complete_axes(c, c->dimension);
}

static kn_status make_cloud(cloud* c, const double* points, int32_t n) {
  double lo[3], hi[3];
  memset(c, 0, sizeof *c);
  for (int k = 0; k < 3; k++) lo[k] = hi[k] = points[k];
  for (int32_t i = 0; i < n; i++)
    for (int k = 0; k < 3; k++) {
      double x = points[3 * (size_t)i + k];
      if (!(fabs(x) < 1e30))
        return kn_fail(KN_NOT_FINITE, "hull: point %d is not finite (or beyond 1e30)", i);
      lo[k] = fmin(lo[k], x), hi[k] = fmax(hi[k], x);
    }
  for (int k = 0; k < 3; k++) {
    c->centre[k] = 0.5 * (lo[k] + hi[k]);
    c->scale = fmax(c->scale, 0.5 * (hi[k] - lo[k]));
  }
  if (!(c->scale > 1e-150)) c->scale = 1;
  int power; /* a power of two, so that scaling is exact */
  frexp(c->scale, &power);
  c->scale = ldexp(1, power);
  c->n = n;
  c->x = malloc(8 * 3 * sizeof *c->x * (size_t)n); /* room for three extrusions */
  if (!c->x) return kn_fail(KN_OUT_OF_MEMORY, "hull: no memory for %d points", n);
  for (int32_t i = 0; i < n; i++)
    for (int k = 0; k < 3; k++)
      c->x[3 * (size_t)i + k] = (points[3 * (size_t)i + k] - c->centre[k]) / c->scale;
  measure(c);
  return KN_OK;
}

static kn_status thicken(cloud* c, double width) {
  static const char* what[] = {"one point", "on a straight line", "in one plane"};
  if (!(width > 0))
    return kn_fail(KN_BAD_MODEL, "hull: the %d points are %s; give `thicken` a width to extrude them", c->n,
                   what[c->dimension]);
  for (int d = c->dimension; d < 3; d++) {
    double half = 0.5 * width / c->scale;
    for (int32_t i = 0; i < c->n; i++)
      for (int k = 0; k < 3; k++) {
        double* x = &c->x[3 * (size_t)i + k];
        c->x[3 * (size_t)(i + c->n) + k] = *x + half * c->axes[d][k];
        *x -= half * c->axes[d][k];
      }
    c->n *= 2;
  }
  measure(c);
  if (c->dimension < 3)
    return kn_fail(KN_BAD_MODEL, "hull: thicken %g is below 1e-10 of the points' extent", width);
  return KN_OK;
}

/* Looser merging may fail on odd surfaces; tighter ones, and at last none, are tried in turn. */
static kn_status build_faces(kn_polygons* out, const cloud* c, const kn_hull_settings* s) {
  kn_polygons raw;
  KN_TRY(kn_hull_faces(&raw, c->x, c->n, s->max_vertices));
  double tolerance = s->merge * c->thickness;
  kn_status status;
  for (int attempt = 0;; attempt++) {
    status = kn_hull_merge(out, &raw, c->x, c->n, attempt < 3 ? tolerance : 0);
    if (status != KN_BAD_MODEL || attempt == 3) break;
    tolerance *= 1e-3;
  }
  kn_polygons_free(&raw);
  return status;
}

typedef struct sizes {
  int32_t nv, nf, ne, nloop;
} sizes;

enum { STAR = 3 * KN_HULL_LANES }; /* numbers in a block */

/* Same takes in the measuring and the real pass. */
static void lay_out(kn_hull* h, kn_arena* arena, const sizes* s) {
  h->nv = s->nv, h->nf = s->nf, h->ne = s->ne;
  h->nv_padded = (s->nv + KN_HULL_LANES - 1) / KN_HULL_LANES * KN_HULL_LANES;
  KN_TAKE_EACH(arena, const double, h->nv_padded, &h->x, &h->y, &h->z);
  h->plane = KN_TAKE(arena, double, 4 * s->nf);
  h->face_start = KN_TAKE(arena, int32_t, s->nf + 1);
  KN_TAKE_EACH(arena, const int32_t, s->nloop, &h->face_vertex, &h->face_next);
  h->edge = KN_TAKE(arena, int32_t, 4 * s->ne);
  h->adj_start = KN_TAKE(arena, int32_t, s->nv + 1);
  h->adj = KN_TAKE(arena, int32_t, s->nloop);
  h->star_start = s->nv <= KN_HULL_STARS ? KN_TAKE(arena, int32_t, s->nv + 1) : NULL;
  h->star = s->nv <= KN_HULL_STARS ? KN_TAKE(arena, double, STAR*(s->nv + s->nloop / KN_HULL_LANES)) : NULL;
  h->start = s->nv > KN_HULL_SMALL ? KN_TAKE(arena, int32_t, 6 * KN_HULL_MAP * KN_HULL_MAP) : NULL;
  h->vface_start = KN_TAKE(arena, int32_t, s->nv + 1);
  h->vface = KN_TAKE(arena, int32_t, s->nloop);
}

/* The arrays are const for readers; only this file writes them, before anybody else sees the hull. */
static double* mutable_d(const double* p) { return (double*)(uintptr_t)p; }
static int32_t* mutable_i(const int32_t* p) { return (int32_t*)(uintptr_t)p; }

static void fill_vertices(kn_hull* h, const cloud* c, const int32_t* kept) {
  double* axis[3] = {mutable_d(h->x), mutable_d(h->y), mutable_d(h->z)};
  for (int k = 0; k < 3; k++) {
    for (int32_t i = 0; i < h->nv_padded; i++) {
      int32_t from = kept[i < h->nv ? i : 0];
      axis[k][i] = c->centre[k] + c->scale * c->x[3 * (size_t)from + k];
    }
    h->lo[k] = h->hi[k] = axis[k][0];
    for (int32_t i = 0; i < h->nv; i++)
      h->lo[k] = fmin(h->lo[k], axis[k][i]), h->hi[k] = fmax(h->hi[k], axis[k][i]);
  }
}

static void fill_faces(kn_hull* h, const kn_polygons* p, const kn_halfedges* e) {
  int32_t ne = 0;
  memcpy(mutable_i(h->face_start), p->start, (size_t)(p->nface + 1) * sizeof *p->start);
  memcpy(mutable_i(h->face_vertex), p->loop, (size_t)p->nloop * sizeof *p->loop);
  for (int32_t i = 0; i < p->nloop; i++) {
    int32_t from = p->loop[i], to = p->loop[e->next[i]], across = e->face[e->twin[i]];
    mutable_i(h->face_next)[i] = across;
    if (from > to) continue;
    int32_t* edge = mutable_i(h->edge) + 4 * (size_t)ne++;
    edge[0] = from, edge[1] = to, edge[2] = e->face[i], edge[3] = across;
  }
}

static int ascending(const void* a, const void* b) {
  int32_t x = *(const int32_t*)a, y = *(const int32_t*)b;
  return x < y ? -1 : x > y;
}

/* Each half edge leaving v gives one neighbour and one face. */
static void fill_around_vertices(kn_hull* h, const kn_polygons* p, const kn_halfedges* e) {
  int32_t *start = mutable_i(h->adj_start), *adj = mutable_i(h->adj), *vface = mutable_i(h->vface);
  for (int32_t i = 0; i < p->nloop; i++) start[p->loop[i] + 1]++;
  for (int32_t v = 0; v < h->nv; v++) start[v + 1] += start[v];
  memcpy(mutable_i(h->vface_start), start, (size_t)(h->nv + 1) * sizeof *start);
  for (int32_t i = p->nloop; i-- > 0;) { /* start[v + 1] counts down to start[v] and is restored below */
    int32_t at = --start[p->loop[i] + 1];
    adj[at] = p->loop[e->next[i]];
    vface[at] = e->face[i];
  }
  memcpy(start, h->vface_start, (size_t)(h->nv + 1) * sizeof *start);
  for (int32_t v = 0; v < h->nv; v++) {
    size_t n = (size_t)(start[v + 1] - start[v]);
    qsort(adj + start[v], n, sizeof *adj, ascending);
    qsort(vface + start[v], n, sizeof *vface, ascending);
  }
}

static void fill_stars(kn_hull* h) {
  if (!h->star) return;
  int32_t* start = mutable_i(h->star_start);
  for (int32_t v = 0; v < h->nv; v++) {
    const int32_t *first = h->adj + h->adj_start[v], n = h->adj_start[v + 1] - h->adj_start[v];
    double* block = mutable_d(h->star) + STAR * (size_t)start[v];
    start[v + 1] = start[v] + (n + KN_HULL_LANES - 1) / KN_HULL_LANES;
    for (int32_t i = 0; i < (start[v + 1] - start[v]) * KN_HULL_LANES; i++) {
      int32_t from = i < n ? first[i] : v, at = i / KN_HULL_LANES * STAR + i % KN_HULL_LANES;
      block[at] = h->x[from], block[at + KN_HULL_LANES] = h->y[from],
      block[at + 2 * KN_HULL_LANES] = h->z[from];
    }
  }
}

static double height(const kn_hull* h, int32_t v, const double n[3]) {
  return n[0] * h->x[v] + n[1] * h->y[v] + n[2] * h->z[v];
}

/* The vertex of the largest n.x over the hull, climbing from vertex v. */
static int32_t climb(const kn_hull* h, int32_t v, const double n[3]) {
  double best = height(h, v, n);
  for (bool moved = true; moved;) {
    moved = false;
    for (int32_t i = h->adj_start[v]; i < h->adj_start[v + 1] && !moved; i++) {
      double d = height(h, h->adj[i], n);
      if (d > best) best = d, v = h->adj[i], moved = true;
    }
  }
  return v;
}

/* A good vertex to start from for every cell of the cube of directions: the farthest along its middle. */
static void fill_starts(kn_hull* h) {
  enum { N = KN_HULL_MAP };
  if (!h->start) return;
  int32_t* start = mutable_i(h->start);
  for (int cell = 0, v = 0; cell < 6 * N * N; cell++) {
    int side = cell / (N * N), axis = side / 2, i = cell / N % N, j = cell % N;
    double d[3];
    d[axis] = side % 2 ? 1.0 : -1.0;
    d[(axis + 1) % 3] = (2 * i + 1 - N) / (double)N;
    d[(axis + 2) % 3] = (2 * j + 1 - N) / (double)N;
    start[cell] = v = climb(h, v, d);
  }
}

static kn_status fill_planes(kn_hull* h, const double* packed) {
  for (int32_t f = 0; f < h->nf; f++) {
    double *plane = mutable_d(h->plane) + 4 * (size_t)f, d = -INFINITY;
    kn_loop_normal(plane, packed, h->face_vertex + h->face_start[f], h->face_start[f + 1] - h->face_start[f]);
    if (!(normalise(plane) > 0)) return kn_fail(KN_BAD_MODEL, "hull: face %d has no area", f);
    for (int32_t i = h->face_start[f]; i < h->face_start[f + 1]; i++)
      d = fmax(d, height(h, climb(h, h->face_vertex[i], plane), plane));
    plane[3] = d;
  }
  return KN_OK;
}

static kn_status fill_moments(kn_hull* h, const double* packed) {
  double o[3];
  kn_moments m = {0};
  for (int k = 0; k < 3; k++) o[k] = 0.5 * (h->lo[k] + h->hi[k]);
  for (int32_t f = 0; f < h->nf; f++) {
    const int32_t* loop = h->face_vertex + h->face_start[f];
    for (int32_t i = 1; i + 1 < h->face_start[f + 1] - h->face_start[f]; i++)
      kn_moments_add_tetrahedron(&m, o, packed + 3 * (size_t)loop[0], packed + 3 * (size_t)loop[i],
                                 packed + 3 * (size_t)loop[i + 1], false);
  }
  if (!(m.m0 > 0)) return kn_fail(KN_BAD_MODEL, "hull: volume %g is not positive", m.m0);
  h->volume = m.m0;
  kn_moments_inertia(h->centroid, h->inertia, &m);
  for (int k = 0; k < 3; k++) h->centroid[k] += o[k];
  for (int32_t v = 0; v < h->nv; v++) {
    double r[3] = {h->x[v] - h->centroid[0], h->y[v] - h->centroid[1], h->z[v] - h->centroid[2]};
    h->radius = fmax(h->radius, sqrt(kn_dot3(r, r)));
  }
  return KN_OK;
}

/* Renumbers loops to the kept points (ascending), each loop from its smallest vertex. kept is filled; returns
 * how many. */
static int32_t renumber(kn_polygons* p, int32_t* kept, int32_t* map, int32_t n) {
  int32_t nv = 0;
  for (int32_t i = 0; i < n; i++) map[i] = -1;
  for (int32_t i = 0; i < p->nloop; i++) map[p->loop[i]] = 0;
  for (int32_t i = 0; i < n; i++)
    if (map[i] == 0) map[i] = nv, kept[nv++] = i;
  for (int32_t i = 0; i < p->nloop; i++) p->loop[i] = map[p->loop[i]];
  for (int32_t f = 0; f < p->nface; f++) {
    int32_t *loop = p->loop + p->start[f], n_loop = p->start[f + 1] - p->start[f];
    int32_t least = 0;
    for (int32_t i = 1; i < n_loop; i++)
      if (loop[i] < loop[least]) least = i;
    for (int32_t turn = 0; turn < least; turn++) {
      int32_t first = loop[0];
      memmove(loop, loop + 1, (size_t)(n_loop - 1) * sizeof *loop);
      loop[n_loop - 1] = first;
    }
  }
  return nv;
}

static kn_status fill(kn_hull* h, const cloud* c, const kn_polygons* p, const kn_halfedges* e,
                      const int32_t* kept) {
  fill_vertices(h, c, kept);
  fill_faces(h, p, e);
  fill_around_vertices(h, p, e);
  fill_stars(h);
  fill_starts(h);
  double* packed = malloc(3 * sizeof *packed * (size_t)h->nv);
  if (!packed) return kn_fail(KN_OUT_OF_MEMORY, "hull: no memory for %d vertices", h->nv);
  for (int32_t i = 0; i < h->nv; i++)
    packed[3 * i] = h->x[i], packed[3 * i + 1] = h->y[i], packed[3 * i + 2] = h->z[i];
  kn_status status = fill_planes(h, packed);
  if (status == KN_OK) status = fill_moments(h, packed);
  free(packed);
  return status;
}

static kn_status assemble(kn_hull** out, const cloud* c, kn_polygons* p, int32_t* kept, int32_t* map) {
  kn_halfedges e;
  sizes s = {.nv = renumber(p, kept, map, c->n), .nf = p->nface, .nloop = p->nloop, .ne = p->nloop / 2};
  if (s.nv - s.ne + s.nf != 2)
    return kn_fail(KN_BAD_MODEL, "hull: %d vertices, %d edges, %d faces", s.nv, s.ne, s.nf);
  KN_TRY(kn_halfedges_create(&e, p, s.nv));
  kn_hull* h = calloc(1, sizeof *h);
  kn_status status = h ? KN_OK : kn_fail(KN_OUT_OF_MEMORY, "hull: no memory");
  if (h) KN_ARENA_CARVE(status, &h->arena, lay_out(h, a, &s));
  if (status == KN_OK) status = fill(h, c, p, &e, kept);
  kn_halfedges_free(&e);
  if (status == KN_OK)
    *out = h;
  else
    kn_hull_destroy(h);
  return status;
}

static kn_status create(kn_hull** out, cloud* c, const kn_hull_settings* s) {
  if (c->dimension < 3) KN_TRY(thicken(c, s->thicken));
  kn_polygons p;
  KN_TRY(build_faces(&p, c, s));
  int32_t *kept = malloc((size_t)c->n * sizeof *kept), *map = malloc((size_t)c->n * sizeof *map);
  kn_status status =
      kept && map ? assemble(out, c, &p, kept, map) : kn_fail(KN_OUT_OF_MEMORY, "hull: no memory");
  free(kept);
  free(map);
  kn_polygons_free(&p);
  return status;
}

kn_status kn_hull_create(kn_hull** out, const double* points, int32_t n, const kn_hull_settings* settings) {
  kn_hull_settings s = settings ? *settings : kn_hull_default();
  KN_REQUIRE(out);
  *out = NULL;
  KN_REQUIRE(points && n > 0 && n <= KN_MESH_MAX_COUNT / 8);
  KN_REQUIRE(s.merge >= 0 && s.merge <= 1e-3 && s.thicken >= 0 && isfinite(s.thicken));
  KN_REQUIRE(s.max_vertices == 0 || s.max_vertices >= 4);
  cloud c;
  KN_TRY(make_cloud(&c, points, n));
  kn_status status = create(out, &c, &s);
  free(c.x);
  return status;
}

/* A face of a convex body: no vertex of the body is higher above it than rounding and merging explain. */
static kn_status check_convex(const kn_hull* h) {
  double extent = 0.0;
  for (int k = 0; k < 3; k++) extent = fmax(extent, h->hi[k] - h->lo[k]);
  for (int32_t f = 0; f < h->nf; f++) {
    const double* plane = h->plane + 4 * (size_t)f;
    double highest = plane[3];
    for (int32_t v = 0; v < h->nv; v++) highest = fmax(highest, height(h, v, plane));
    for (int32_t i = h->face_start[f]; i < h->face_start[f + 1]; i++)
      if (!(highest - height(h, h->face_vertex[i], plane) <= 2e-3 * extent))
        return kn_fail(KN_BAD_MODEL, "hull: face %d is not one of a convex body", f);
  }
  return KN_OK;
}

kn_status kn_hull_from_faces(kn_hull** out, const double* points, int32_t n, kn_polygons* faces) {
  *out = NULL;
  for (int32_t i = 0; i < faces->nloop; i++)
    if (faces->loop[i] < 0 || faces->loop[i] >= n)
      return kn_fail(KN_BAD_MODEL, "hull: corner %d of %d points", faces->loop[i], n);
  for (int32_t i = 0; i < 3 * n; i++)
    if (!(fabs(points[i]) < 1e30)) return kn_fail(KN_NOT_FINITE, "hull: point %d is not finite", i / 3);
  for (int32_t f = 0; f < faces->nface; f++)
    if (faces->start[f + 1] - faces->start[f] < 3)
      return kn_fail(KN_BAD_MODEL, "hull: face %d has fewer than three corners", f);
  cloud c = {.n = n, .scale = 1.0, .x = mutable_d(points)};
  int32_t *kept = malloc((size_t)n * sizeof *kept), *map = malloc((size_t)n * sizeof *map);
  kn_hull* hull = NULL;
  kn_status status =
      kept && map ? assemble(&hull, &c, faces, kept, map) : kn_fail(KN_OUT_OF_MEMORY, "hull: no memory");
  if (status == KN_OK && hull->nv != n) status = kn_fail(KN_BAD_MODEL, "hull: some points are in no face");
  if (status == KN_OK) status = check_convex(hull);
  if (status == KN_OK)
    *out = hull;
  else
    kn_hull_destroy(hull);
  free(kept);
  free(map);
  return status;
}

void kn_hull_destroy(kn_hull* hull) {
  if (!hull) return;
  kn_arena_destroy(&hull->arena);
  free(hull);
}

void kn_hull_counts(const kn_hull* hull, int32_t* nvertex, int32_t* nface, int32_t* nedge) {
  if (nvertex) *nvertex = hull ? hull->nv : 0;
  if (nface) *nface = hull ? hull->nf : 0;
  if (nedge) *nedge = hull ? hull->ne : 0;
}

kn_status kn_hull_triangles(kn_mesh_data* out, const kn_hull* hull) {
  KN_REQUIRE(out && hull);
  kn_mesh_data m = {hull->nv, 0, malloc(3 * sizeof(double) * (size_t)hull->nv),
                    malloc(3 * sizeof(int32_t) * (size_t)(2 * hull->nv))};
  if (!m.vertices || !m.triangles) {
    kn_mesh_data_free(&m);
    return kn_fail(KN_OUT_OF_MEMORY, "hull: no memory for its triangles");
  }
  for (int32_t i = 0; i < hull->nv; i++)
    m.vertices[3 * i] = hull->x[i], m.vertices[3 * i + 1] = hull->y[i], m.vertices[3 * i + 2] = hull->z[i];
  for (int32_t f = 0; f < hull->nf; f++)
    for (int32_t i = hull->face_start[f] + 1; i + 1 < hull->face_start[f + 1]; i++) {
      int32_t* t = m.triangles + 3 * (size_t)m.ntriangle++;
      t[0] = hull->face_vertex[hull->face_start[f]], t[1] = hull->face_vertex[i],
      t[2] = hull->face_vertex[i + 1];
    }
  *out = m;
  return KN_OK;
}

/* ---- a hull k times as large about the origin of its frame: the same faces and edges ---- */

static void scale(const double* array, size_t count, double k) {
  double* x = (double*)(uintptr_t)array; /* the copy's own */
  for (size_t i = 0; i < count; i++) x[i] *= k;
}

kn_status kn_hull_scaled(kn_hull** hull, const kn_hull* from, double k) {
  *hull = NULL;
  kn_hull* h = malloc(sizeof *h);
  if (!h) return kn_fail(KN_OUT_OF_MEMORY, "no memory for a scaled hull");
  *h = *from;
  kn_status status = kn_arena_create(&h->arena, from->arena.capacity);
  if (status != KN_OK) {
    free(h);
    return status;
  }
  lay_out(h, &h->arena, &(sizes){from->nv, from->nf, from->ne, from->face_start[from->nf]});
  memcpy(h->arena.base, from->arena.base, from->arena.used);
  scale(h->x, (size_t)h->nv_padded, k);
  scale(h->y, (size_t)h->nv_padded, k);
  scale(h->z, (size_t)h->nv_padded, k);
  for (int i = 0; i < h->nf; i++) scale(h->plane + 4 * i + 3, 1, k);
  if (h->star) scale(h->star, 3 * KN_HULL_LANES * (size_t)h->star_start[h->nv], k);
  scale(h->lo, 3, k), scale(h->hi, 3, k), scale(h->centroid, 3, k);
  h->radius *= k;
  h->volume *= k * k * k;
  scale(h->inertia, 6, k * k * k * k * k);
  *hull = h;
  return KN_OK;
}
