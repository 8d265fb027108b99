/* How far apart the shapes of a pair are at least, and for how long that will do (separation.c). */
#pragma once

#include "contact/detect/detector.h"

/* The pose of a geom in the call under way, and with it the half sides of its box. */
const kn_pose* kn_geom_at(kn_detector* d, int g);

/* Height of a geom's bounding centre over a plane. */
static inline double kn_geom_height(const kn_detector* d, int g, const kn_pose* plane) {
  const double* c = kn_geom_centre(d, g);
  double sum = 0.0;
  for (int i = 0; i < 3; i++) sum += plane->R[3 * i + 2] * (c[i] - plane->p[i]);
  return sum;
}

/* What is left of the distance last found between the shapes of a pair of the list, if both used up their ways
   since on coming closer; -INFINITY: nothing is known. Not of detectors that are all round, which count no
   ways. */
static inline double kn_pair_left(const kn_detector* d, const kn_geom_pair* p) {
  return d->apart[p - d->pairs].room - (d->now[p->a].way + d->now[p->b].way);
}

/* Distance of the bounding spheres, or of a sphere and a half-space; -INFINITY: there is none. */
double kn_spheres_apart(kn_detector* d, const kn_geom_pair* p);
/* Are the bounds of the two more than reach apart? Then kn_pair_left is, too. */
bool kn_bounds_apart(kn_detector* d, const kn_geom_pair* p, double reach);
/* Are the two themselves, with a little to spare? False also where that is not easily seen: whoever finds no
   points of such a pair has only spent more time. A pair that is known to be more than `fresh` apart is not
   measured again. */
bool kn_pair_apart(kn_detector* d, const kn_geom_pair* p, double reach, double fresh);
