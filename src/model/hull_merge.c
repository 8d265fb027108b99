/* Merging coplanar faces. Faces are taken largest first; a face's group grows over edges to faces whose
   vertices all lie within the tolerance of its plane. The outline of a group must be one loop. Vertices
   inside a group vanish, and vertices left with two faces lie on a straight edge and vanish too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/hull_build.h"

typedef struct face_rank {
  double area;
  int32_t face;
} face_rank;

static int larger_first(const void* a, const void* b) {
  const face_rank *x = a, *y = b;
  if (x->area != y->area) return x->area > y->area ? -1 : 1;
  return x->face < y->face ? -1 : x->face > y->face;
}

typedef struct merger {
  const kn_polygons* in;
  const double* points;
  kn_halfedges h;
  double tolerance;
  face_rank* rank; /* nface */
  int32_t* group;  /* nface: the seed face, -1 */
  int32_t* queue;  /* nface */
  int32_t* faces;  /* npoint: outlines through the vertex */
} merger;

static bool on_plane(const merger* m, int32_t face, const double n[3], const double o[3]) {
  double normal[3];
  const int32_t* loop = m->in->loop + m->in->start[face];
  kn_loop_normal(normal, m->points, loop, m->in->start[face + 1] - m->in->start[face]);
  if (normal[0] * n[0] + normal[1] * n[1] + normal[2] * n[2] < 0) return false;
  for (int32_t e = m->in->start[face]; e < m->in->start[face + 1]; e++) {
    const double* x = m->points + 3 * (size_t)m->in->loop[e];
    if (fabs(n[0] * (x[0] - o[0]) + n[1] * (x[1] - o[1]) + n[2] * (x[2] - o[2])) > m->tolerance) return false;
  }
  return true;
}

static void grow_group(merger* m, int32_t seed) {
  const kn_polygons* p = m->in;
  const int32_t* loop = p->loop + p->start[seed];
  double n[3];
  m->group[seed] = seed;
  kn_loop_normal(n, m->points, loop, p->start[seed + 1] - p->start[seed]);
  double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  if (!(length > 0) || m->tolerance <= 0) return;
  for (int k = 0; k < 3; k++) n[k] /= length;
  int32_t head = 0, tail = 0;
  m->queue[tail++] = seed;
  while (head < tail) {
    int32_t f = m->queue[head++];
    for (int32_t e = p->start[f]; e < p->start[f + 1]; e++) {
      int32_t g = m->h.face[m->h.twin[e]];
      if (m->group[g] >= 0 || !on_plane(m, g, n, m->points + 3 * (size_t)loop[0])) continue;
      m->group[g] = seed;
      m->queue[tail++] = g;
    }
  }
}

static bool is_outline(const merger* m, int32_t e) {
  return m->group[m->h.face[e]] != m->group[m->h.face[m->h.twin[e]]];
}

/* The outline edge after e: turn around its end through the group's inner edges. */
static int32_t next_outline(const merger* m, int32_t e) {
  e = m->h.next[e];
  while (!is_outline(m, e)) e = m->h.next[m->h.twin[e]];
  return e;
}

/* Writes each group's outline, skipping vertices with fewer than three outlines when `skip`. */
static kn_status write_outlines(kn_polygons* out, merger* m, bool skip) {
  int32_t outline = 0, walked = 0;
  for (int32_t e = 0; e < m->in->nloop; e++) outline += is_outline(m, e);
  for (int32_t f = 0; f < m->in->nface; f++) m->queue[f] = 0; /* group written */
  KN_TRY(kn_polygons_begin(out));
  for (int32_t s = 0; s < m->in->nloop; s++) {
    int32_t g = m->group[m->h.face[s]];
    if (m->queue[g] || !is_outline(m, s)) continue;
    m->queue[g] = 1;
    int32_t e = s, corners = 0;
    do {
      int32_t v = m->in->loop[e];
      walked++;
      if (!skip) m->faces[v]++;
      if (!skip || m->faces[v] >= 3) {
        KN_TRY(kn_polygons_corner(out, v));
        corners++;
      }
      e = next_outline(m, e);
    } while (e != s);
    if (corners < 3) return kn_fail(KN_BAD_MODEL, "hull: merging leaves a face with %d corners", corners);
    KN_TRY(kn_polygons_end_face(out));
  }
  if (walked != outline) return kn_fail(KN_BAD_MODEL, "hull: a merged face has a hole");
  return out->nface >= 4 ? KN_OK : kn_fail(KN_BAD_MODEL, "hull: merging leaves %d faces", out->nface);
}

static kn_status merge(kn_polygons* out, merger* m, int32_t n) {
  const kn_polygons* p = m->in;
  for (int32_t f = 0; f < p->nface; f++) {
    double normal[3];
    kn_loop_normal(normal, m->points, p->loop + p->start[f], p->start[f + 1] - p->start[f]);
    m->rank[f] = (face_rank){normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2], f};
    m->group[f] = -1;
  }
  qsort(m->rank, (size_t)p->nface, sizeof *m->rank, larger_first);
  for (int32_t i = 0; i < p->nface; i++)
    if (m->group[m->rank[i].face] < 0) grow_group(m, m->rank[i].face);
  memset(m->faces, 0, (size_t)n * sizeof *m->faces);
  kn_polygons draft;
  kn_status status = write_outlines(&draft, m, false);
  kn_polygons_free(&draft);
  if (status != KN_OK) return status;
  status = write_outlines(out, m, true);
  if (status != KN_OK) return status;
  kn_halfedges check;
  KN_TRY(kn_halfedges_create(&check, out, n));
  kn_halfedges_free(&check);
  return KN_OK;
}

kn_status kn_hull_merge(kn_polygons* out, const kn_polygons* in, const double* points, int32_t n,
                        double tolerance) {
  merger m = {.in = in, .points = points, .tolerance = tolerance};
  memset(out, 0, sizeof *out);
  KN_TRY(kn_halfedges_create(&m.h, in, n));
  m.rank = malloc((size_t)in->nface * sizeof *m.rank);
  m.group = malloc((size_t)in->nface * sizeof *m.group);
  m.queue = malloc((size_t)in->nface * sizeof *m.queue);
  m.faces = malloc((size_t)n * sizeof *m.faces);
  kn_status status = m.rank && m.group && m.queue && m.faces
                         ? merge(out, &m, n)
                         : kn_fail(KN_OUT_OF_MEMORY, "hull: no memory for %d faces", in->nface);
  kn_halfedges_free(&m.h);
  free(m.rank);
  free(m.group);
  free(m.queue);
  free(m.faces);
  if (status != KN_OK) kn_polygons_free(out);
  return status;
}
