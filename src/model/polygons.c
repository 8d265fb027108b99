/* Polygon surfaces and their half edges. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hoard.h"
#include "model/hull_build.h"

static kn_status room(int32_t** array, int32_t* have, int32_t need) {
  if (need > 0 && KN_ROOM(*array, *have, need)) return KN_OK;
  return kn_fail(KN_OUT_OF_MEMORY, "hull: no memory for %d face corners", need);
}

kn_status kn_polygons_begin(kn_polygons* p) {
  memset(p, 0, sizeof *p);
  KN_TRY(room(&p->start, &p->nface_room, 1));
  p->start[0] = 0;
  return KN_OK;
}

kn_status kn_polygons_corner(kn_polygons* p, int32_t vertex) {
  KN_TRY(room(&p->loop, &p->nloop_room, p->nloop + 1));
  p->loop[p->nloop++] = vertex;
  return KN_OK;
}

kn_status kn_polygons_end_face(kn_polygons* p) {
  KN_TRY(room(&p->start, &p->nface_room, p->nface + 2));
  p->start[++p->nface] = p->nloop;
  return KN_OK;
}

void kn_polygons_free(kn_polygons* p) {
  free(p->start);
  free(p->loop);
  memset(p, 0, sizeof *p);
}

typedef struct face_loop {
  const int32_t* loop;
  int32_t n;
} face_loop;

static int by_corners(const void* a, const void* b) {
  const face_loop *x = a, *y = b;
  for (int32_t i = 0; i < x->n && i < y->n; i++)
    if (x->loop[i] != y->loop[i]) return x->loop[i] < y->loop[i] ? -1 : 1;
  return x->n < y->n ? -1 : x->n > y->n;
}

static void begin_at_least(int32_t* out, const int32_t* loop, int32_t n) {
  int32_t least = 0;
  for (int32_t i = 1; i < n; i++)
    if (loop[i] < loop[least]) least = i;
  for (int32_t i = 0; i < n; i++) out[i] = loop[(least + i) % n];
}

kn_status kn_polygons_sort(kn_polygons* p) {
  if (!p->nface) return KN_OK;
  face_loop* face = malloc((size_t)p->nface * sizeof *face);
  int32_t* turned = malloc((size_t)p->nloop * sizeof *turned);
  if (!face || !turned) {
    free(face);
    free(turned);
    return kn_fail(KN_OUT_OF_MEMORY, "hull: no memory for %d faces", p->nface);
  }
  for (int32_t f = 0; f < p->nface; f++) {
    int32_t at = p->start[f], n = p->start[f + 1] - at;
    begin_at_least(turned + at, p->loop + at, n);
    face[f] = (face_loop){turned + at, n};
  }
  qsort(face, (size_t)p->nface, sizeof *face, by_corners);
  for (int32_t f = 0; f < p->nface; f++) {
    memcpy(p->loop + p->start[f], face[f].loop, (size_t)face[f].n * sizeof *p->loop);
    p->start[f + 1] = p->start[f] + face[f].n;
  }
  free(face);
  free(turned);
  return KN_OK;
}

void kn_loop_normal(double out[3], const double* points, const int32_t* loop, int32_t n) {
  const double* o = points + 3 * (size_t)loop[0];
  out[0] = out[1] = out[2] = 0;
  for (int32_t i = 1; i + 1 < n; i++) {
    const double *a = points + 3 * (size_t)loop[i], *b = points + 3 * (size_t)loop[i + 1];
    double u[3] = {a[0] - o[0], a[1] - o[1], a[2] - o[2]}, v[3] = {b[0] - o[0], b[1] - o[1], b[2] - o[2]};
    out[0] += u[1] * v[2] - u[2] * v[1];
    out[1] += u[2] * v[0] - u[0] * v[2];
    out[2] += u[0] * v[1] - u[1] * v[0];
  }
}

/* Twins are found by listing the half edges that leave each vertex: degree is small on average. */
static kn_status find_twins(kn_halfedges* h, const kn_polygons* p, int32_t* first, int32_t* chain,
                            int32_t npoint) {
  memset(first, -1, (size_t)npoint * sizeof *first);
  for (int32_t e = 0; e < p->nloop; e++) {
    chain[e] = first[p->loop[e]];
    first[p->loop[e]] = e;
    h->twin[e] = -1;
  }
  for (int32_t e = 0; e < p->nloop; e++) {
    int32_t from = p->loop[e], to = p->loop[h->next[e]], found = 0;
    for (int32_t g = first[to]; g >= 0; g = chain[g])
      if (p->loop[h->next[g]] == from) h->twin[e] = g, found++;
    if (found != 1 || h->face[h->twin[e]] == h->face[e])
      return kn_fail(KN_BAD_MODEL, "hull: the edge of points %d and %d has %d opposite faces", from, to,
                     found);
  }
  for (int32_t e = 0; e < p->nloop; e++)
    if (h->twin[h->twin[e]] != e)
      return kn_fail(KN_BAD_MODEL, "hull: an edge at point %d is doubled", p->loop[e]);
  return KN_OK;
}

kn_status kn_halfedges_create(kn_halfedges* out, const kn_polygons* p, int32_t npoint) {
  size_t bytes = (size_t)p->nloop * sizeof(int32_t);
  kn_halfedges h = {malloc(bytes), malloc(bytes), malloc(bytes)};
  int32_t *first = malloc((size_t)npoint * sizeof *first), *chain = malloc(bytes);
  kn_status status = KN_OK;
  if (!h.next || !h.face || !h.twin || !first || !chain) {
    status = kn_fail(KN_OUT_OF_MEMORY, "hull: no memory for %d edges", p->nloop);
  } else {
    for (int32_t f = 0; f < p->nface; f++)
      for (int32_t e = p->start[f]; e < p->start[f + 1]; e++) {
        h.next[e] = e + 1 < p->start[f + 1] ? e + 1 : p->start[f];
        h.face[e] = f;
      }
    status = find_twins(&h, p, first, chain, npoint);
  }
  free(first);
  free(chain);
  if (status != KN_OK) kn_halfedges_free(&h);
  *out = h;
  return status;
}

void kn_halfedges_free(kn_halfedges* h) {
  free(h->next);
  free(h->face);
  free(h->twin);
  memset(h, 0, sizeof *h);
}
