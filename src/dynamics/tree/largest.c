/* The largest spin and speed of a link's frame, and of their accelerations, in the form in which the last sweep left them:
   in space, or in the plane of a planar mechanism. For bounds of the way of a step (step/time/clear.c). */
#include <math.h>

#include "base/fours.h"
#include "dynamics/tree/data.h"

/* Squares of the lengths of two vectors, side by side; the sums of v4_dot. */
static inline kn_two squares(const kn_v4* a, const kn_v4* b) {
  kn_two p = v4_lo(*a), q = v4_lo(*b), r = v4_hi(*a), s = v4_hi(*b);
  kn_two x = {p[0], q[0]}, y = {p[1], q[1]}, z = {r[0], s[0]};
  return (x * x + z * z) + y * y;
}

/* Lengths of the largest of two vectors per link, `stride` vectors apart. Two links at a time; of an odd number the last one
   counts twice. */
static void largest(double* first, double* second, const kn_v4* a, const kn_v4* b, int n, size_t stride) {
  kn_two x = {0.0, 0.0}, y = x;
  for (int i = 0; i < n; i += 2, a += 2 * stride, b += 2 * stride) {
    size_t other = i + 1 < n ? stride : 0;
    x = kn_two_larger(squares(a, a + other), x), y = kn_two_larger(squares(b, b + other), y);
  }
  *first = sqrt(kn_max(x[0], x[1])), *second = sqrt(kn_max(y[0], y[1]));
}

static void largest_in_plane(double* spin, double* speed, const kn_kin* kin, int n) {
  int stride = kn_plane_stride(n);
  const double *w = kin->plane + KN_PLANE_W * stride, *x = kin->plane + KN_PLANE_VX * stride,
               *y = kin->plane + KN_PLANE_VY * stride;
  double a = 0.0, b = 0.0;
  int i = 0;
  if (n >= 8) { /* of fewer links they were just written one by one */
    kn_two turn = {0.0, 0.0}, way = turn;
    for (; i + 2 <= n; i += 2) {
      kn_two vx = *(const kn_two*)(x + i), vy = *(const kn_two*)(y + i);
      turn = kn_two_larger(kn_two_size(*(const kn_two*)(w + i)), turn);
      way = kn_two_larger(vx * vx + vy * vy, way);
    }
    a = kn_max(turn[0], turn[1]), b = kn_max(way[0], way[1]);
  }
  for (; i < n; i++) a = kn_max(a, fabs(w[i])), b = kn_max(b, x[i] * x[i] + y[i] * y[i]);
  *spin = a, *speed = sqrt(b);
}

static void largest_planar(double* al, double* a, const kn_planar_link* y, int n) {
  double x = 0.0, z = 0.0;
  for (int i = 0; i < n; i++)
    x = kn_max(x, fabs(y[i].al)), z = kn_max(z, y[i].bx * y[i].bx + y[i].by * y[i].by);
  *al = x, *a = sqrt(z);
}

void kn_dyn_largest_velocity(double* spin, double* speed, const kn_data* d, const kn_model* m) {
  const kn_link_kin* l = d->kin.link;
  if (d->kin.lean)
    largest_in_plane(spin, speed, &d->kin, m->nlink);
  else
    largest(spin, speed, &l->w, &l->vo, m->nlink, sizeof *l / sizeof(kn_v4));
}

void kn_dyn_largest_acceleration(double* spin, double* speed, const kn_data* d, const kn_model* m) {
  const kn_link_dyn* y = d->dyn;
  if (d->layout->planar)
    largest_planar(spin, speed, d->planar, m->nlink);
  else
    largest(spin, speed, &y->al, &y->a, m->nlink, sizeof *y / sizeof(kn_v4));
}
