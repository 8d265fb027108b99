/* Any two convex shapes: chooses the variant of this machine (pair_convex_kernel.c). */
#include "collide/pair/pair.h"

void kn_distance_convex(kn_distance_result* out, const kn_pair* q) { KN_BEST(kn_convex_distance)(out, q); }

int kn_manifold_convex(kn_contact_point* out, const kn_pair* q) {
  return KN_BEST(kn_convex_manifold)(out, q);
}
