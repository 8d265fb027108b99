/* Memory of separation (stages 2 and 4): a pair of shapes known to be some distance apart is not looked at again
   before the ways of both together could have used that distance up. Called by detect.c for pairs that are not
   spheres and planes only.

   Ways (geom_now.way) grow from call to call by how far a point of the surface can have moved, whatever made
   the poses: a step, a correction, a state that was restored. Distances come from bounding spheres and boxes,
   from closed forms, or from a separating direction that GJK looks for only until it is good enough, starting
   from the one that was good the last time (kn_apart_bound). What is remembered leaves out pairs that have no
   contact points and nothing else: results are the same bits with and without it. */
#include "contact/detect/detector.h"

#include <math.h>

#include "base/extreme.h"
#include "collide/distance/apart.h"

const kn_pose* kn_geom_at(kn_detector* d, int g) {
  geom_now* now = &d->now[g];
  if (now->stamp == d->call) return &now->pose;
  const kn_shape* shape = &d->model->geom[g].shape;
  int link = d->model->geom_place[g].link;
  now->stamp = d->call;
  if (link >= 0) {
    kn_pose pose;
    kn_link_pose(&pose, d->data, link);
    now->pose = kn_pose_mul(&pose, &d->model->geom_place[g].in_link);
  }
  const double* R = now->pose.R;
  for (int i = 0; i < 3; i++) {
    now->half[i] = d->radius[g];
    if (shape->type == KN_SHAPE_BOX)
      now->half[i] = fabs(R[3 * i]) * shape->size[0] + fabs(R[3 * i + 1]) * shape->size[1] +
                     fabs(R[3 * i + 2]) * shape->size[2];
  }
  return &now->pose;
}

double kn_spheres_apart(kn_detector* d, const kn_geom_pair* p) {
  if (p->reach < INFINITY) {
    double n[3];
    kn_sub3(n, kn_geom_centre(d, p->a), kn_geom_centre(d, p->b));
    return sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) - p->reach;
  }
  if (!kn_geom_is_plane(d, p->b)) return -INFINITY;
  return kn_geom_height(d, p->a, kn_geom_at(d, p->b)) - d->radius[p->a];
}

/* Of the boxes along the world's axes; only boxes have better ones than their sphere's. */
static double boxes_apart(kn_detector* d, const kn_geom_pair* p) {
  double most = -INFINITY;
  if (!(p->reach < INFINITY)) return most;
  kn_geom_at(d, p->a), kn_geom_at(d, p->b);
  const geom_now *a = &d->now[p->a], *b = &d->now[p->b];
  const double *x = kn_geom_centre(d, p->a), *y = kn_geom_centre(d, p->b);
  for (int i = 0; i < 3; i++) most = kn_max(most, fabs(x[i] - y[i]) - (a->half[i] + b->half[i]));
  return most;
}

/* Of the sizes of both. Contact points of flat shapes may lie this much beside them (KN_PATCH_SLACK) and are then
   farther apart than their gap says; and sums of ways are rounded. */
#define BESIDE 1e-6

static double spare(const kn_detector* d, const kn_geom_pair* p) {
  double a = d->radius[p->a], b = d->radius[p->b];
  return BESIDE * ((a < INFINITY ? a : 0.0) + (b < INFINITY ? b : 0.0));
}

/* Planes and meshes, for which no radius bounds what turning does, belong to the world (model/compile/check.c). */
static bool remember(kn_detector* d, const kn_geom_pair* p, double bound) {
  d->apart[p - d->pairs].room = bound - spare(d, p) + (d->now[p->a].way + d->now[p->b].way);
  return true;
}

bool kn_bounds_apart(kn_detector* d, const kn_geom_pair* p, double reach) {
  double spheres = kn_spheres_apart(d, p);
  if (spheres > reach) return remember(d, p, spheres);
  double boxes = boxes_apart(d, p);
  return boxes > reach && remember(d, p, boxes);
}

bool kn_pair_apart(kn_detector* d, const kn_geom_pair* p, double reach, double fresh) {
  enum { STEPS = 8 }; /* that a new bound should last */
  double left = kn_pair_left(d, p);
  if (left > reach || kn_bounds_apart(d, p, reach)) return true;
  if (left > fresh || p->kind != PAIR_OTHER) return false; /* the bounds of spheres are the shapes */
  const kn_shape *a = &d->model->geom[p->a].shape, *b = &d->model->geom[p->b].shape;
  double need = reach + spare(d, p), want = need + STEPS * (d->now[p->a].sweep + d->now[p->b].sweep) + 1e-4;
  kn_separation* s = &d->apart[p - d->pairs];
  double bound = kn_apart_bound(s->axis, a, kn_geom_at(d, p->a), b, kn_geom_at(d, p->b), need, want);
  remember(d, p, bound);
  return bound > need;
}
