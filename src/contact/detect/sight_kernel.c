/* Distances of circles and lines in the plane, KN_W at a time (sight.h). */
#include "base/isa.h"

#include <math.h>

#include "collide/lanes.h"
#include "contact/detect/sight.h"

/* Largest lane; the order does not matter. */
LANES double largest(vec v) {
  double most = v[0];
  for (int i = 1; i < KN_W; i++) most = v[i] > most ? v[i] : most;
  return most;
}

typedef double out __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

/* Two passes in one where there is a horizon: centres, then how far they may go. */
LANES double place_all(kn_sight* s, const double* rows, bool moving, double horizon) {
  const int n = s->stride;
  const double *C = rows + KN_PLANE_C * n, *S = rows + KN_PLANE_S * n, *X = rows + KN_PLANE_X * n,
               *Y = rows + KN_PLANE_Y * n, *W = rows + KN_PLANE_W * n, *VX = rows + KN_PLANE_VX * n,
               *VY = rows + KN_PLANE_VY * n, *cx = s->cx, *cy = s->cy, *x_then = s->x_then,
               *y_then = s->y_then, *ball = s->ball, *radius = s->radius;
  double *to_x = s->x, *to_y = s->y, *sweep = s->sweep, *reach = s->reach;
  vec farthest = splat(0.0), most = splat(0.0), dt = splat(horizon);
  for (int k = 0; k < s->count; k += KN_W) {
    vec c = load(C + k), t = load(S + k), ax = load(cx + k), ay = load(cy + k), X0 = load(X + k),
        Y0 = load(Y + k);
    vec x = X0 + (c * ax - t * ay), y = Y0 + (t * ax + c * ay);
    vec dx = x - load(x_then + k), dy = y - load(y_then + k);
    *(out*)(to_x + k) = x, *(out*)(to_y + k) = y;
    farthest = larger(farthest, dx * dx + dy * dy);
    if (!moving) continue;
    vec w = load(W + k), u = load(VX + k) - w * (y - Y0), v = load(VY + k) + w * (x - X0);
    vec way = dt * (root(u * u + v * v) + absolute(w) * load(ball + k));
    most = larger(most, way);
    *(out*)(sweep + k) = way, *(out*)(reach + k) = load(radius + k) + way;
  }
  if (moving) s->last_sweep = largest(most);
  return largest(farthest);
}

static double place(kn_sight* s, const double* rows, double horizon) {
  return horizon > 0.0 ? place_all(s, rows, true, horizon) : place_all(s, rows, false, 0.0);
}

static void list(kn_sight* s, double slack) {
  for (int a = 0; a < s->count; a++) {
    vec x = splat(s->x[a]), y = splat(s->y[a]), r = splat(s->radius[a] + slack);
    uint64_t found = 0;
    for (int k = (a + 1) & -KN_W; k < s->stride; k += KN_W) {
      vec dx = x - load(s->x + k), dy = y - load(s->y + k), far = r + load(s->radius + k);
      found |= (uint64_t)bits_of(dx * dx + dy * dy <= far * far) << k;
    }
    s->found[a] = found & s->allowed[a];
  }
  for (int l = 0; l < s->lines; l++) {
    vec nx = splat(s->line[l].nx), ny = splat(s->line[l].ny), off = splat(s->line[l].off + slack);
    uint64_t found = 0;
    for (int k = 0; k < s->stride; k += KN_W)
      found |= (uint64_t)bits_of((load(s->x + k) * nx + load(s->y + k) * ny) - off <= load(s->radius + k))
               << k;
    s->found[s->count + l] = found & s->beside[l];
  }
}

/* Lanes whose bit is set. */
LANES ivec set_lanes(uint64_t set, int first) {
  ivec bit;
  for (int i = 0; i < KN_W; i++) bit[i] = (int64_t)1 << i;
  return (((ivec){0} + (int64_t)(set >> first)) & bit) != 0;
}

static double nearest(const kn_sight* s) {
  vec never = splat(INFINITY), least = never;
  for (int a = 0; a < s->count; a++) {
    vec x = splat(s->x[a]), y = splat(s->y[a]), r = splat(s->radius[a]);
    for (int k = (a + 1) & -KN_W; k < s->stride; k += KN_W) {
      vec dx = x - load(s->x + k), dy = y - load(s->y + k), far = r + load(s->radius + k);
      vec apart = (dx * dx + dy * dy) - far * far;
      least = smaller(least, choose(set_lanes(s->allowed[a], k), apart, never));
    }
  }
  return -largest(-least);
}

const kn_sight_kernel KN_NAME(kn_sight) = {place, list, nearest};
