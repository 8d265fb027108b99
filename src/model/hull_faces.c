/* Hull faces from qhull (reentrant). Its own merging of facets that are not convex within rounding stays on,
   so that the polygons it returns form a closed surface. The order in which it finds facets hangs on how the
   machine rounds (Debian's library for arm64 multiplies and adds in one), so they are sorted. It writes messages
   into a buffer, never to a terminal. */
#ifdef KN_HAVE_QHULL
#include <libqhull_r/qhull_ra.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/hull_build.h"

static kn_status add_facet(kn_polygons* out, qhT* qh, facetT* facet, const double* points) {
  vertexT *vertex, **vertexp;
  setT* vertices = qh_facet3vertex(qh, facet);
  kn_status status = KN_OK;
  FOREACHvertex_(vertices) {
    if (status == KN_OK) status = kn_polygons_corner(out, (int32_t)qh_pointid(qh, vertex->point));
  }
  qh_settempfree(qh, &vertices);
  if (status != KN_OK) return status;
  int32_t *loop = out->loop + out->start[out->nface], n = out->nloop - out->start[out->nface];
  double normal[3];
  if (n < 3) return kn_fail(KN_BAD_MODEL, "hull: a face with %d corners", n);
  kn_loop_normal(normal, points, loop, n);
  if (normal[0] * facet->normal[0] + normal[1] * facet->normal[1] + normal[2] * facet->normal[2] < 0)
    for (int32_t i = 0, j = n - 1; i < j; i++, j--) {
      int32_t swap = loop[i];
      loop[i] = loop[j], loop[j] = swap;
    }
  return kn_polygons_end_face(out);
}

static kn_status add_facets(kn_polygons* out, qhT* qh, const double* points) {
  facetT* facet;
  KN_TRY(kn_polygons_begin(out));
  int code = setjmp(qh->errexit); /* qhull leaves its own functions this way */
  if (code) return kn_fail(KN_BAD_MODEL, "hull: qhull stopped with code %d", code);
  qh->NOerrexit = False;
  FORALLfacets {
    kn_status added = add_facet(out, qh, facet, points);
    if (added != KN_OK) {
      qh->NOerrexit = True;
      return added;
    }
  }
  qh->NOerrexit = True;
  return kn_polygons_sort(out);
}

/* First line of qhull's report. */
static void first_line(char* text) { text[strcspn(text, "\r\n")] = 0; }

kn_status kn_hull_faces(kn_polygons* out, const double* points, int32_t n, int32_t max_vertices) {
  char report[512] = "", command[64] = "qhull Pp";
  if (max_vertices)
    snprintf(command, sizeof command, "qhull Pp TA%d", max_vertices > 4 ? max_vertices - 4 : 1);
  memset(out, 0, sizeof *out);
  FILE* sink = fmemopen(report, sizeof report - 1, "w");
  qhT* qh = malloc(sizeof *qh);
  double* copy = malloc(3 * sizeof *copy * (size_t)n);
  kn_status status = KN_OK;
  if (!sink || !qh || !copy) {
    status = kn_fail(KN_OUT_OF_MEMORY, "hull: no memory for %d points", n);
  } else {
    memcpy(copy, points, 3 * sizeof *copy * (size_t)n);
    qh_zero(qh, sink);
    int code = qh_new_qhull(qh, 3, n, copy, False, command, NULL, sink);
    if (code) {
      fflush(sink);
      first_line(report);
      status = kn_fail(KN_BAD_MODEL, "hull: qhull: %s", report[0] ? report : "failed");
    } else {
      status = add_facets(out, qh, copy);
    }
    int longs, bytes;
    qh->NOerrexit = True;
    qh_freeqhull(qh, !qh_ALL);
    qh_memfreeshort(qh, &longs, &bytes);
  }
  if (sink) fclose(sink);
  free(qh);
  free(copy);
  if (status != KN_OK) kn_polygons_free(out);
  return status;
}

#else

#include "base/error.h"
#include "model/hull_build.h"

kn_status kn_hull_faces(kn_polygons* out, const double* points, int32_t n, int32_t max_vertices) {
  (void)points, (void)n, (void)max_vertices;
  *out = (kn_polygons){0};
  return kn_fail(KN_UNSUPPORTED, "hull: built without qhull (KN_QHULL)");
}

#endif
