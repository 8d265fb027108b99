/* Bounding spheres of geoms at the present poses (detect.c). */
#pragma once

#include <math.h>

#include "base/isa.h"
#include "dynamics/tree/data.h"
#include "spatial/spatial.h"
#include "spatial/v4.h"

typedef struct geom_now { /* a geom at the present poses */
  kn_v4 world;            /* bounding centre */
  kn_v4 then;             /* the same when the near list was made */
  kn_v4 turn[3];          /* the link's axes in the last call that counted ways */
  double way;             /* no surface point has gone farther in all those calls together */
  double way_then;        /* the same when the near list was made */
  double half[3];         /* half sides of its box along the world's axes; with the pose */
  double speed2, spin2;   /* squares of the centre's speed and of |ω|, in calls with a horizon */
  double sweep;           /* how far a surface point can move within the horizon */
  int64_t stamp;          /* of the call that last computed pose and half; sweep: stamp_sweep */
  int64_t stamp_sweep;
  kn_pose pose;
} geom_now;

/* Speed bound of a geom's surface over the horizon: its bounding centre's speed plus |ω| times the radius. */
static inline double kn_sweep(const geom_now* now, double radius, double horizon) {
  return horizon * (sqrt(now->speed2) + (radius < INFINITY ? sqrt(now->spin2) * radius : 0.0));
}

typedef struct moving { /* a geom that is not the world's */
  kn_v4 centre;         /* of the bounding sphere, link frame */
  double radius;        /* infinity for planes */
  double turn2;         /* its square where turning matters, otherwise 0 */
  int32_t geom, link;
} moving;

typedef struct moved {
  double distance2;      /* largest square of a surface point's way since the near list was made */
  double speed2, round2; /* largest squares of a centre's speed and of |ω| times the radius */
  double way;            /* longest way */
} moved;

typedef struct link_then { /* a link with geoms where the last whole search found it (lull.c) */
  kn_v4 R[3], o;
  double reach2; /* square of the farthest that a point of its geoms is from its origin */
  int32_t link;
} link_then;

typedef struct drifted { /* squares: no point of a geom is farther from where it was then, or faster */
  double way2, speed2;
} drifted;

/* Places the bounding centres of `count` geoms that move; horizon > 0: with their speeds. spent, if not NULL: their ways
   go on, and this is the way of each (by geom) with what it can go within the horizon; sweeps are those of `call`. */
KN_KERNEL(void, kn_centres,
          (moved * most, geom_now* now, const moving* list, int count, const kn_link_kin* link,
           double horizon, double* spent, int64_t call));
/* What can have moved since; speeds: and how fast it is. */
KN_KERNEL(drifted, kn_links_since, (const link_then* list, int count, const kn_link_kin* link, bool speeds));
