/* Contacts of spheres and standing planes of a mechanism in a plane, looked for in that plane (sight.h): circles
   and lines of the detector arranged side by side, the list of near ones, and the choice of this way. */
#include "contact/detect/sight.h"

#include <math.h>
#include <string.h>

#include "base/extreme.h"
#include "base/fours.h"
#include "base/isa.h"

static const kn_sight_kernel* kernel(void) { return KN_BEST(&kn_sight); }

void kn_sight_take(kn_sight* s, kn_arena* arena, int count, int lines) {
  int n = kn_plane_stride(count);
  s->count = count, s->stride = n, s->lines = lines;
  s->slack = -1.0;
  KN_TAKE_EACH(arena, int32_t, count, &s->geom, &s->link);
  s->plane = KN_TAKE(arena, int32_t, lines);
  double** const of[] = {&s->cx,     &s->cy,     &s->radius, &s->ball,  &s->x,    &s->y,
                         &s->x_then, &s->y_then, &s->sweep,  &s->reach, &s->still};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) *of[i] = KN_TAKE(arena, double, n);
  s->z = KN_TAKE(arena, double, count);
  s->rows = KN_TAKE(arena, double, KN_PLANE_ROWS* n);
  s->line = KN_TAKE(arena, kn_sight_line, lines);
  s->allowed = KN_TAKE(arena, uint64_t, count);
  s->beside = KN_TAKE(arena, uint64_t, lines);
  s->found = KN_TAKE(arena, uint64_t, count + lines);
  s->index = KN_TAKE(arena, int32_t, count * (count + lines));
  s->near = KN_TAKE(arena, kn_sight_pair, count * (count + lines));
}

void kn_sight_forget(kn_sight* s) {
  s->ready = false;
  s->slack = -1.0, s->last_sweep = s->most_radius = 0.0;
  memset(s->allowed, 0, (size_t)s->count * sizeof *s->allowed);
  memset(s->beside, 0, (size_t)s->lines * sizeof *s->beside);
}

/* What stands still, in the basis of the roots. */
static void stand(kn_sight* s, const kn_data* data) {
  const double* e = (const double*)data->layout->link[0].R0; /* columns, 4 numbers each */
  s->ready = s->straight = true;
  for (int k = 0; k < s->count; k++) {
    s->straight &= s->link[k] == k;
    if (s->link[k] >= 0 && data->layout->chain)
      s->z[k] += data->layout->chain_of[KN_CHAIN_Z * kn_chain_stride(s->model->nlink) + s->link[k]];
    if (s->link[k] >= 0) continue;
    const kn_pose* at = &s->model->geom_place[s->geom[k]].in_link;
    s->cx[k] = at->p[0] * e[0] + at->p[1] * e[1] + at->p[2] * e[2];
    s->cy[k] = at->p[0] * e[4] + at->p[1] * e[5] + at->p[2] * e[6];
    s->rows[KN_PLANE_C * s->stride + k] = 1.0;
  }
  s->straight &= s->count == s->model->nlink;
  for (int l = 0; l < s->lines; l++) {
    const kn_pose* at = &s->model->geom_place[s->plane[l]].in_link;
    double n[3] = {at->R[2], at->R[5], at->R[8]};
    s->line[l].nx = n[0] * e[0] + n[1] * e[1] + n[2] * e[2];
    s->line[l].ny = n[0] * e[4] + n[1] * e[5] + n[2] * e[6];
    s->blind |= fabs(n[0] * e[8] + n[1] * e[9] + n[2] * e[10]) > 1e-12; /* 1e-9 m at a kilometre */
    s->line[l].off = n[0] * at->p[0] + n[1] * at->p[1] + n[2] * at->p[2];
  }
}

bool kn_sight_sees(kn_sight* s, const kn_data* data) {
  if (!s->count || !data->layout->one_plane) return false;
  if (!s->ready) stand(s, data);
  return !s->blind;
}

static const double* rows_of(kn_sight* s, const kn_data* data) {
  int stride = kn_plane_stride(s->model->nlink);
  const double* plane = data->kin.plane;
  if (s->straight) return plane;
  for (int k = 0; k < s->count; k++)
    for (int r = 0; r < KN_PLANE_ROWS && s->link[k] >= 0; r++)
      s->rows[r * s->stride + k] = plane[r * stride + s->link[k]];
  return s->rows;
}

static void add_near(kn_sight* s, int a, int b) {
  int column = b < 0 ? s->count + ~b : b;
  s->near[s->nnear++] = (kn_sight_pair){.a = a, .b = b, .pair = s->index[a * (s->count + s->lines) + column]};
}

/* In the order of the detector's pairs: circles, then circles and lines. */
static void renew(kn_sight* s, double slack) {
  s->slack = slack;
  s->nnear = 0;
  s->way2 = 0.0;
  memcpy(s->x_then, s->x, (size_t)s->stride * sizeof(double));
  memcpy(s->y_then, s->y, (size_t)s->stride * sizeof(double));
  kernel()->list(s, slack);
  for (int a = 0; a < s->count; a++)
    for (uint64_t set = s->found[a]; set; set &= set - 1) add_near(s, a, __builtin_ctzll(set));
  uint64_t any = 0;
  for (int l = 0; l < s->lines; l++) any |= s->found[s->count + l];
  for (; any; any &= any - 1) {
    int a = __builtin_ctzll(any);
    for (int l = 0; l < s->lines; l++)
      if (s->found[s->count + l] >> a & 1) add_near(s, a, ~l);
  }
}

/* As the kernel's place, circle by circle: of short chains, whose poses were written link by link a moment
   ago and would have to be waited for if they were read side by side. */
static double place_few(kn_sight* s, const double* rows, double horizon) {
  enum { N = 8 }; /* kn_plane_stride of few */
  const double *cx = s->cx, *cy = s->cy, *x_then = s->x_then, *y_then = s->y_then, *ball = s->ball,
               *radius = s->radius;
  double* restrict to_x = s->x, * restrict to_y = s->y, * restrict sweep = s->sweep, * restrict reach = s->reach,
                   farthest = 0.0, most = 0.0;
  for (int k = 0, count = s->count; k < count; k++, rows++) {
    double c = kn_apart(rows[KN_PLANE_C * N]), t = kn_apart(rows[KN_PLANE_S * N]),
           X = kn_apart(rows[KN_PLANE_X * N]), Y = kn_apart(rows[KN_PLANE_Y * N]);
    double x = X + (c * cx[k] - t * cy[k]), y = Y + (t * cx[k] + c * cy[k]);
    double dx = x - x_then[k], dy = y - y_then[k];
    to_x[k] = x, to_y[k] = y;
    farthest = kn_max(farthest, dx * dx + dy * dy);
    if (!(horizon > 0.0)) continue;
    double w = kn_apart(rows[KN_PLANE_W * N]), u = kn_apart(rows[KN_PLANE_VX * N]) - w * (y - Y),
           v = kn_apart(rows[KN_PLANE_VY * N]) + w * (x - X);
    double way = horizon * (sqrt(u * u + v * v) + fabs(w) * ball[k]);
    most = kn_max(most, way);
    sweep[k] = way, reach[k] = radius[k] + way;
  }
  if (horizon > 0.0) s->last_sweep = most;
  return farthest;
}

void kn_sight_look(kn_sight* s, const kn_data* data, double margin, double horizon) {
  enum { STEPS = 6 /* that a list lasts at the present speed */, FEW = 4 };
  const double* rows = rows_of(s, data);
  double reach = margin + s->most_margin;
  bool few = s->straight && s->count <= FEW;
  s->way2 = few ? place_few(s, rows, horizon) : kernel()->place(s, rows, horizon);
  s->within = horizon > 0.0 ? s->reach : s->radius;
  if (horizon > 0.0) reach += 2.0 * s->last_sweep;
  double left = s->slack - reach;
  if (left >= 0.0 && 4.0 * s->way2 <= left * left) return;
  renew(s, 1.001 * reach + 2.0 * STEPS * s->last_sweep + 1e-3);
}

static double height(const kn_sight* s, int a, int line) {
  const kn_sight_line* l = &s->line[line];
  return ((s->x[a] * l->nx + s->y[a] * l->ny) - l->off) - s->radius[a];
}

/* d - R of the closest of several pairs, from d² - R² = m of the closest: m / (d + R) grows with m and falls
   with R. */
static double apart(const kn_sight* s, double m) {
  double R = 2.0 * s->most_radius;
  if (!(m > 0.0)) return 0.0;
  return m < INFINITY ? m / (sqrt(m + R * R) + R) : INFINITY;
}

/* Of the list, beyond which there is nothing closer than its slack, less twice the way; if that is all there
   is to say, of all pairs. */
double kn_sight_clear(const kn_sight* s) {
  double m = INFINITY, low = INFINITY;
  for (const kn_sight_pair *p = s->near, *end = p + s->nnear; p < end; p++) {
    if (p->b < 0) {
      low = kn_min(low, height(s, p->a, ~p->b));
      continue;
    }
    double dx = s->x[p->a] - s->x[p->b], dy = s->y[p->a] - s->y[p->b], R = s->radius[p->a] + s->radius[p->b];
    m = kn_min(m, (dx * dx + dy * dy) - R * R);
  }
  double listed = kn_min(apart(s, m), low), rest = s->slack - 2.0 * sqrt(s->way2);
  if (listed <= rest) return listed;
  for (int l = 0; l < s->lines; l++)
    for (uint64_t set = s->beside[l]; set; set &= set - 1)
      low = kn_min(low, height(s, __builtin_ctzll(set), l));
  return kn_min(apart(s, kernel()->nearest(s)), low);
}
