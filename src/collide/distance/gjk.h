/* Distance between convex cores (GJK), penetration (EPA) and the exhaustive axis search behind them. All work
   on the Minkowski difference M = A - B in the frame of A. Each answer carries the two bounds that certify
   it. */
#pragma once

#include "collide/distance/support.h"
#include "collide/pair/pair.h"

typedef struct kn_gjk_point {
  v3 w, a, b; /* w = a - b */
  int ia, ib; /* vertex numbers, -1 on curved cores */
} kn_gjk_point;

typedef enum kn_gjk_state {
  KN_GJK_APART,   /* v is the nearest point of M; dist - lower is the certified error */
  KN_GJK_OVERLAP, /* the origin is in M, or too close to its surface to tell */
  KN_GJK_BEYOND   /* stopped early: lower > limit */
} kn_gjk_state;

typedef struct kn_gjk {
  kn_gjk_point p[4];
  double weight[4]; /* barycentric coordinates of v */
  int count;
  v3 v;         /* nearest point found */
  double dist;  /* |v| */
  double lower; /* certified: no point of M is nearer than this */
  double along; /* separation along v itself, -INFINITY if not known: dist - along certifies v as a normal */
  double size;  /* largest |w| seen: scale of the rounding errors */
  int iterations;
} kn_gjk;

/* limit: stop as soon as the distance is certainly larger (INFINITY: never). rel: relative accuracy asked
   for. Warm start from the cache's simplex (polytopes) or normal. */
kn_gjk_state kn_gjk_run(kn_gjk* g, const kn_core* A, const kn_core* B, double limit, double rel,
                        const kn_pair_cache* warm);
void kn_gjk_save(kn_pair_cache* cache, const kn_gjk* g);

/* Support of M along d. */
static inline kn_gjk_point kn_minkowski(const kn_core* A, const kn_core* B, v3 d) {
  kn_gjk_point p;
  p.a = kn_core_support(A, d, &p.ia);
  p.b = kn_core_support(B, v3_neg(d), &p.ib);
  p.w = v3_sub(p.a, p.b);
  return p;
}

/* A code for a set of vertices of one shape, independent of their order; some may be the same. */
static inline uint32_t kn_feature_mix(int id) {
  uint32_t x = (uint32_t)id + 1;
  x ^= x >> 16, x *= 0x7feb352du;
  x ^= x >> 15, x *= 0x846ca68bu;
  return x ^ x >> 16;
}
static inline int kn_feature_code(int i, int j, int k) {
  uint32_t h = kn_feature_mix(i);
  if (j != i) h += kn_feature_mix(j);
  if (k != i && k != j) h += kn_feature_mix(k);
  return (int)(h & 0x3fffffff);
}

/* All face normals and all edge pairs of two polytopes: always ends, exact, slow. */
void kn_sat_run(kn_core_gap* out, const kn_core* A, const kn_core* B);

/* Faces and edges of polytope cores in the working frame. Segments have one edge with n1 = n2 = 0. */
int kn_core_face_count(const kn_core* c);
v3 kn_core_face_normal(const kn_core* c, int face);

/* Signed distance of two cores, radii not included, frame of A. limit: as kn_gjk_run; returns false beyond
 * it. */
bool kn_core_distance(kn_core_gap* out, const kn_core* A, const kn_core* B, double limit,
                      kn_pair_cache* cache);

/* The same when at least one core is a cylinder or an ellipsoid (distance_curved.c). */
bool kn_curved_distance(kn_core_gap* out, const kn_core* A, const kn_core* B, double limit,
                        kn_pair_cache* cache);
