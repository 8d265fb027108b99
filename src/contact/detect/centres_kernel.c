/* Where the bounding centres of the moving geoms are, and how far they have moved (centres.h). */
#include "base/isa.h"

#include <math.h>
#if KN_W > 2
#include <immintrin.h>
#endif

#include "base/extreme.h"
#include "base/fours.h"
#include "contact/detect/centres.h"

/* Velocity of the bounding centre. */
KN_INLINE kn_v4 centre_velocity(const kn_link_kin* l, kn_v4 world) {
  return v4_add(l->vo, v4_cross(l->w, v4_sub(world, l->o)));
}

/* |R - Q|² of the link's axes: no point of the bounding sphere turns farther than its root times the radius
   over √2. */
KN_INLINE double turned2(const kn_v4* R, const kn_v4* Q) {
  kn_v4 sum = v4_zero();
  for (int j = 0; j < 3; j++) {
    kn_v4 x = v4_sub(R[j], Q[j]);
    sum = v4_add(sum, v4_mul(x, x));
  }
  return v4_sum(sum);
}

/* From the pose of the last call to this one: (a + b)² <= 2 (a² + b²) of shift and turn. */
KN_INLINE void go_on(geom_now* now, const moving* k, kn_v4 world, const kn_v4* R) {
  kn_v4 step = v4_sub(world, now->world);
  now->way += sqrt(2.0 * v4_dot(step, step) + (k->turn2 > 0.0 ? turned2(R, now->turn) * k->turn2 : 0.0));
  for (int j = 0; j < 3; j++) now->turn[j] = R[j];
}

void KN_NAME(kn_centres)(moved* most, geom_now* of, const moving* list, int count, const kn_link_kin* link,
                         double horizon, double* spent, int64_t call) {
  double distance2 = 0.0, speed2 = 0.0, round2 = 0.0, longest = 0.0;
  for (const moving *k = list, *end = k + count; k < end; k++) {
    geom_now* now = &of[k->geom];
    const kn_link_kin* l = &link[k->link];
    kn_v4 turned =
        v4_add3(v4_mulx(l->R[0], k->centre), v4_muly(l->R[1], k->centre), v4_mulz(l->R[2], k->centre));
    kn_v4 world = v4_add(turned, l->o), away = v4_sub(world, now->then);
    if (spent) {
      go_on(now, k, world, l->R);
      spent[k->geom] = now->way;
      longest = kn_max(longest, now->way);
    }
    double way = now->way - now->way_then;
    distance2 = kn_max(distance2, spent ? way * way : v4_dot(away, away));
    now->world = world;
    if (!(horizon > 0.0)) continue;
    kn_v4 v = centre_velocity(l, world);
    double own = v4_dot(v, v), spin2 = v4_dot(l->w, l->w);
    now->speed2 = own, now->spin2 = spin2;
    speed2 = kn_max(speed2, own);
    if (k->radius < INFINITY) round2 = kn_max(round2, spin2 * (k->radius * k->radius));
    if (!spent) continue;
    now->stamp_sweep = call;
    now->sweep = kn_sweep(now, k->radius, horizon);
    spent[k->geom] = now->way + now->sweep;
  }
  *most = (moved){distance2, speed2, round2, longest};
}

/* as a > b ? a : b */
KN_INLINE kn_v4 larger(kn_v4 a, kn_v4 b) {
#if KN_W > 2
  return (kn_v4)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
  return (kn_v4){kn_two_larger(a.lo, b.lo), kn_two_larger(a.hi, b.hi)};
#endif
}

/* (a + b)² <= 2 (a² + b²) of the origin and the turn about it, as in go_on; of the turn two columns, since the third has at most
   twice what they have together. The largest of all links component by component, and these are added. What is not a
   number stays so. */
drifted KN_NAME(kn_links_since)(const link_then* list, int count, const kn_link_kin* link, bool speeds) {
  kn_v4 way = v4_zero(), speed = way, all = way;
  for (const link_then *k = list, *end = k + count; k < end; k++) {
    const kn_link_kin* l = &link[k->link];
    kn_v4 x = v4_sub(l->o, k->o), a = v4_sub(l->R[0], k->R[0]), b = v4_sub(l->R[1], k->R[1]);
    kn_v4 own = v4_axpy(v4_mul(x, x), 1.5 * k->reach2, v4_add(v4_mul(a, a), v4_mul(b, b)));
    way = larger(own, way), all = v4_add(all, own);
    if (!speeds) continue;
    own = v4_axpy(v4_mul(l->vo, l->vo), k->reach2, v4_mul(l->w, l->w));
    speed = larger(own, speed), all = v4_add(all, own);
  }
  return (drifted){2.0 * v4_sum(way) + 0.0 * v4_sum(all), 2.0 * v4_sum(speed)};
}
