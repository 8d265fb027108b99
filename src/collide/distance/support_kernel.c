/* The farthest vertex of a hull for the support mappings (support.h). */
#include "base/isa.h"

#if KN_W == 8 /* four are enough here */
#undef KN_W
#define KN_W 4
#endif

#include "collide/distance/hull_climb.h"
#include "collide/distance/support.h"

int KN_NAME(kn_hull_farthest)(const kn_hull* h, double dx, double dy, double dz) {
  return search(h, dx, dy, dz);
}

int KN_NAME(kn_hull_climb)(const kn_hull* h, double dx, double dy, double dz, int near) {
  return h->nv > KN_HULL_FEW ? climb(h, dx, dy, dz, near) : farthest(h, dx, dy, dz);
}
