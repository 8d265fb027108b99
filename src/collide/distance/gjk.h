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

/* The same from a point of M that is probably near: hulls climb from its vertices. */
static inline kn_gjk_point kn_minkowski_near(const kn_core* A, const kn_core* B, v3 d,
                                             const kn_gjk_point* near) {
  kn_gjk_point p;
  p.a = kn_core_support_near(A, d, &p.ia, near->ia);
  p.b = kn_core_support_near(B, v3_neg(d), &p.ib, near->ib);
  p.w = v3_sub(p.a, p.b);
  return p;
}

#define KN_EPA_VERTICES 200
#define KN_EPA_FACES    (2 * KN_EPA_VERTICES)

typedef struct kn_epa_face {
  int v[3];   /* vertices, counter-clockwise seen from outside */
  int adj[3]; /* face across edge v[i] v[i+1] */
  v3 n;       /* unit, outward */
  double d;   /* n.w on the face */
} kn_epa_face;

typedef struct kn_epa {
  kn_gjk_point p[KN_EPA_VERTICES];
  kn_epa_face face[KN_EPA_FACES];
  double key[KN_EPA_FACES]; /* d of living faces, INFINITY of dead ones */
  int free_list[KN_EPA_FACES];
  int vertices, faces, free_count;
  double eps; /* absolute tolerance of the visibility test */
} kn_epa;

typedef enum kn_epa_state {
  KN_EPA_DONE,   /* certified within tol */
  KN_EPA_FLAT,   /* M has no thickness along out->n: touching with gap 0 */
  KN_EPA_FULL,   /* out of room; best bounds returned (curved cores) */
  KN_EPA_REFUSED /* degenerate geometry: use the axis search */
} kn_epa_state;

/* Expands the simplex of g until the nearest face is within tol of the surface of M. out: the answer (normal
   from B towards A, gap = -depth). upper - lower bounds the depth's error. tol: absolute; negative: relative
   to the depth. */
kn_epa_state kn_epa_run(kn_epa* e, kn_core_gap* out, double* lower, double* upper, const kn_core* A,
                        const kn_core* B, const kn_gjk* g, double tol);

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
