/* libccd with plain support functions: GJK and EPA at a lowered tolerance; MPR in the second module. */
#include <ccd/ccd.h>
#include <math.h>
#include <stdlib.h>

#include "bench.h"
#include "peer_narrow.h"

static void support(const void* object, const ccd_vec3_t* dir, ccd_vec3_t* out) {
  const void* const* o = object;
  const narrow_shape* s = o[0];
  const kn_pose* P = o[1];
  const double *R = P->R, *d = dir->v;
  double l[3], x[3];
  for (int i = 0; i < 3; i++) l[i] = R[i] * d[0] + R[3 + i] * d[1] + R[6 + i] * d[2];
  if (s->type == KN_SHAPE_BOX) {
    for (int i = 0; i < 3; i++) x[i] = l[i] > 0 ? s->size[i] : -s->size[i];
  } else {
    int best = 0;
    double top = -INFINITY;
    for (int i = 0; i < s->nv; i++) {
      double t = s->v[3 * i] * l[0] + s->v[3 * i + 1] * l[1] + s->v[3 * i + 2] * l[2];
      if (t > top) top = t, best = i;
    }
    for (int i = 0; i < 3; i++) x[i] = s->v[3 * best + i];
  }
  for (int i = 0; i < 3; i++)
    out->v[i] = R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2] + P->p[i];
}

static void center(const void* object, ccd_vec3_t* out) {
  const void* const* o = object;
  const kn_pose* P = o[1];
  for (int i = 0; i < 3; i++) out->v[i] = P->p[i];
}

typedef struct world {
  const narrow_pair* pairs;
  ccd_t ccd;
} world;

static bool supports(kn_shape_type a, kn_shape_type b, narrow_mode mode) {
  return mode == NARROW_CONTACT && (a == KN_SHAPE_BOX || a == KN_SHAPE_HULL) &&
         (b == KN_SHAPE_BOX || b == KN_SHAPE_HULL);
}

static void* create(const narrow_pair* pairs, int n, narrow_mode mode, double margin) {
  (void)n, (void)mode, (void)margin;
  world* w = calloc(1, sizeof *w);
  w->pairs = pairs;
  CCD_INIT(&w->ccd);
  w->ccd.support1 = w->ccd.support2 = support;
  w->ccd.center1 = w->ccd.center2 = center;
  w->ccd.max_iterations = 200;
  w->ccd.epa_tolerance = 1e-9;
  w->ccd.mpr_tolerance = 1e-9;
  return w;
}

static double query(void* self, int i) {
  world* w = self;
  const void *a[2] = {&w->pairs[i].a, &w->pairs[i].A}, *b[2] = {&w->pairs[i].b, &w->pairs[i].B};
  ccd_real_t depth = 0;
  ccd_vec3_t dir, pos;
#ifdef NARROW_MPR
  int rc = ccdMPRPenetration(a, b, &w->ccd, &depth, &dir, &pos);
#else
  int rc = ccdGJKPenetration(a, b, &w->ccd, &depth, &dir, &pos);
#endif
  return rc == 0 ? -depth : INFINITY;
}

static void destroy(void* self) { free(self); }

#ifdef NARROW_MPR
KN_PEER_EXPORT const narrow_peer kn_peer = {"ccd mpr", supports, create, query, destroy};
#else
KN_PEER_EXPORT const narrow_peer kn_peer = {"ccd epa", supports, create, query, destroy};
#endif
