/* Random shapes and poses, and independent judges of a distance answer, for the collision tests. */
#ifndef KN_TEST_SHAPES_H
#define KN_TEST_SHAPES_H

#include "base/rng.h"
#include "knuckle/collide.h"

void kn_test_rotation(double R[9], kn_rng* rng);                     /* uniform */
void kn_test_small_rotation(double R[9], kn_rng* rng, double angle); /* R <- about a random axis times R */
void kn_test_direction(double n[3], kn_rng* rng);                    /* uniform unit vector */
/* Sizes around 1 with ratios up to `aspect`. Hulls and meshes must be set by the caller. */
kn_shape kn_test_shape(kn_shape_type type, kn_rng* rng, double aspect);
double kn_test_shape_radius(const kn_shape* shape); /* bounding radius about the frame's origin */
/* min over A of n.a - max over B of n.b from the support mapping (A may be a plane: only n = -its normal
 * counts). */
double kn_test_separation(const kn_shape* a, const kn_pose* A, const kn_shape* b, const kn_pose* B,
                          const double n[3]);
/* Signed distance-like defect of a point from the surface: 0 on it; written per shape, no library code. */
double kn_test_surface_error(const kn_shape* s, const kn_pose* P, const double x[3]);

/* A pool of hulls made once: random clouds of 4 to 60 points, prisms, boxes, flattened and stretched ones. */
#define KN_TEST_HULLS 48
const kn_hull* kn_test_hull(int index);

/* A random pair of shapes in one of the hard situations. */
typedef enum kn_test_class {
  KN_TEST_RANDOM,   /* any poses, from far apart to deep */
  KN_TEST_PARALLEL, /* equal rotations */
  KN_TEST_NEARLY,   /* rotations 1e-14 … 1e-1 apart */
  KN_TEST_SAME,     /* the same shape twice, shifted by 0, 1e-14 … 1 */
  KN_TEST_TOUCH,    /* moved along the normal until the gap is 0, +-1e-15 … 1e-6 */
  KN_TEST_SLENDER,  /* aspect ratios up to 1e4 */
  KN_TEST_CLASSES
} kn_test_class;

typedef struct kn_test_pair {
  kn_shape a, b;
  kn_pose A, B;
  double size; /* sum of the bounding radii */
  kn_test_class kind;
} kn_test_pair;

kn_test_pair kn_test_pair_make(kn_rng* rng, kn_shape_type a, kn_shape_type b, kn_test_class kind);

#endif
