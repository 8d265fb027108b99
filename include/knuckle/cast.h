/* Ray casts, and the time of impact of two moving shapes. Pure functions of their arguments; no allocation.
 */
#ifndef KNUCKLE_CAST_H
#define KNUCKLE_CAST_H

#include "knuckle/collide.h"

KN_BEGIN_DECLS

/* Where a ray meets a shape. */
typedef struct kn_ray_hit {
  bool hit;
  bool inside;      /* the origin lies in the solid: t = 0, normal against the ray */
  double t;         /* first point = origin + t * direction */
  double point[3];  /* world */
  double normal[3]; /* unit, outward (for a mesh: against the ray), world */
  int32_t feature;  /* hull: face; mesh: triangle; otherwise -1 */
} kn_ray_hit;

/* First point of the ray on a solid shape (mesh: on its surface, from either side) with 0 <= t <= t_max (may
   be INFINITY). direction need not be unit, only finite and not zero. A miss is KN_OK with hit = false. */
KN_API kn_status kn_ray_cast(kn_ray_hit* out, const kn_shape* shape, const kn_pose* pose,
                             const double origin[3], const double direction[3], double t_max);

/* A rigid motion: x(t) = centre + t v + exp(t [w]) (x(0) - centre), all in world axes. */
typedef struct kn_sweep {
  kn_pose start;
  double centre[3]; /* point about which it turns, world, at t = 0 */
  double w[3];      /* rad/s */
  double v[3];      /* m/s, of the centre */
} kn_sweep;

/* Pose at time t. */
KN_API void kn_sweep_pose(kn_pose* out, const kn_sweep* sweep, double t);

/* How a search for the time of impact ended. */
typedef enum kn_toi_state {
  KN_TOI_SEPARATE, /* proven: no contact in [0, t_max]; t = t_max */
  KN_TOI_TOUCH,    /* proven: no contact before t, and 0 < gap(t) <= tolerance */
  KN_TOI_OVERLAP,  /* gap <= tolerance at t = 0 */
  KN_TOI_UNDECIDED /* steps used up; proven: no contact before t */
} kn_toi_state;

/* Choices of a search for the time of impact. */
typedef struct kn_toi_settings {
  double tolerance; /* m, gap that counts as contact; > 0; default 1e-6. At least 1e-13 of
                       the sizes for closed-form pairs, 1e-10 for hulls and curved pairs */
  int max_steps;    /* default 1000 */
} kn_toi_settings;

/* When two moving shapes touch first, and where. */
typedef struct kn_toi_result {
  kn_toi_state state;
  double t;
  kn_distance_result distance; /* at t */
  int steps;                   /* distance queries */
} kn_toi_result;

/* The default choices. */
KN_API kn_toi_settings kn_toi_default(void);

/* First contact of two moving shapes in [0, t_max] by conservative advancement: with gap g and normal n at
   time t, no point can close the gap before t + g / (n.(v_b - v_a) + |n x w_a| r_a + |n x w_b| r_b). For
   meshes, which are not convex, the bound is |v_b - v_a| + |w_a| r_a + |w_b| r_b. settings and cache may be
   NULL. A plane may not turn: KN_UNSUPPORTED. */
KN_API kn_status kn_time_of_impact(kn_toi_result* out, const kn_shape* a, const kn_sweep* sweep_a,
                                   const kn_shape* b, const kn_sweep* sweep_b, double t_max,
                                   const kn_toi_settings* settings, kn_pair_cache* cache);

KN_END_DECLS
#endif
