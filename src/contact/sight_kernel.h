#include "collide/lanes.h"
#include "contact/sight.h"

/* Largest lane; the order does not matter. */
LANES double largest(vec v) {
  double most = v[0];
  for (int i = 1; i < KN_W; i++) most = v[i] > most ? v[i] : most;
  return most;
}

typedef double out __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

static double place(kn_sight* s, const double* rows) {
  const int n = s->stride;
  const double *C = rows + KN_PLANE_C * n, *S = rows + KN_PLANE_S * n, *X = rows + KN_PLANE_X * n,
               *Y = rows + KN_PLANE_Y * n, *cx = s->cx, *cy = s->cy, *x_then = s->x_then, *y_then = s->y_then;
  double *to_x = s->x, *to_y = s->y;
  vec farthest = splat(0.0);
  for (int k = 0; k < n; k += KN_W) {
    vec c = load(C + k), t = load(S + k), ax = load(cx + k), ay = load(cy + k);
    vec x = load(X + k) + (c * ax - t * ay), y = load(Y + k) + (t * ax + c * ay);
    vec dx = x - load(x_then + k), dy = y - load(y_then + k);
    *(out*)(to_x + k) = x, *(out*)(to_y + k) = y;
    farthest = larger(farthest, dx * dx + dy * dy);
  }
  return largest(farthest);
}

static double sweeps(kn_sight* s, const double* rows, double horizon) {
  const int n = s->stride;
  const double *X = rows + KN_PLANE_X * n, *Y = rows + KN_PLANE_Y * n, *W = rows + KN_PLANE_W * n,
               *VX = rows + KN_PLANE_VX * n, *VY = rows + KN_PLANE_VY * n, *x = s->x, *y = s->y,
               *ball = s->ball, *radius = s->radius;
  double *sweep = s->sweep, *reach = s->reach;
  vec most = splat(0.0), dt = splat(horizon);
  for (int k = 0; k < n; k += KN_W) {
    vec w = load(W + k), u = load(VX + k) - w * (load(y + k) - load(Y + k)),
        v = load(VY + k) + w * (load(x + k) - load(X + k));
    vec way = dt * (root(u * u + v * v) + absolute(w) * load(ball + k));
    most = larger(most, way);
    *(out*)(sweep + k) = way, *(out*)(reach + k) = load(radius + k) + way;
  }
  return largest(most);
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

const kn_sight_kernel KN_NAME(kn_sight) = {place, sweeps, list, nearest};
