/* Traced boundaries: a ring (two loops), a half-plane cut by the frame, nothing and everything. */
#include "output/region.h"

#include <math.h>

#include "output/plot.h"
#include "test.h"

static bool ring(double x, double y, void* c) {
  (void)c;
  double r = hypot(x - 0.4, y + 0.1);
  return r < 0.5 && r > 0.2;
}

static bool half(double x, double y, void* c) {
  (void)c;
  return y < 0.3 * x;
}

static bool saddle(double x, double y, void* c) {
  (void)c;
  return x * y > 0;
}

static bool always(double x, double y, void* c) {
  (void)x, (void)y;
  return *(bool*)c;
}

/* |area| of each loop. */
static int loops(double* area, const kn_region* r) {
  int n = 0;
  for (size_t i = 0; i < r->n;) {
    double twice = 0;
    size_t k = i;
    for (; k + 1 < r->n && isfinite(r->x[k + 1]); k++) twice += r->x[k] * r->y[k + 1] - r->x[k + 1] * r->y[k];
    CHECK(r->x[i] == r->x[k] && r->y[i] == r->y[k]); /* closed */
    if (n < 4) area[n] = fabs(twice) / 2;
    n++;
    i = k + 2;
  }
  return n;
}

TEST(a_ring_has_two_loops) {
  const double range[2] = {-1, 1};
  kn_region r;
  double area[4];
  CHECK(kn_region_trace(&r, ring, NULL, range, range, 80));
  if (CHECK_INT(loops(area, &r), 2)) {
    /* chords of a circle: relative error (cell/r)²/12 or so */
    CHECK_NEAR(fmax(area[0], area[1]), 0.25 * 3.14159265, 0.25 * 1e-2);
    CHECK_NEAR(fmin(area[0], area[1]), 0.04 * 3.14159265, 0.04 * 2e-2);
  }
  double worst = 0;
  for (size_t i = 0; i < r.n; i++) {
    double d = hypot(r.x[i] - 0.4, r.y[i] + 0.1);
    if (isfinite(d)) worst = fmax(worst, fmin(fabs(d - 0.5), fabs(d - 0.2)));
  }
  CHECK_BELOW(worst, 0.025 / 8192); /* bisected fourteen times: half of the last interval, slanted */
  kn_region_free(&r);
}

TEST(the_frame_closes_a_half_plane) {
  const double range[2] = {-1, 1};
  kn_region r;
  double area[4];
  bool yes = true;
  CHECK(kn_region_trace(&r, half, NULL, range, range, 17));
  if (CHECK_INT(loops(area, &r), 1)) CHECK_NEAR(area[0], 2.0, 0.02); /* corners are cut by half a cell */
  kn_region_free(&r);
  CHECK(kn_region_trace(&r, always, &yes, range, range, 5));
  if (CHECK_INT(loops(area, &r), 1)) CHECK_NEAR(area[0], 4.0, 1e-12);
  kn_region_free(&r);
  yes = false;
  CHECK(kn_region_trace(&r, always, &yes, range, range, 5));
  CHECK_INT(r.n, 0);
  kn_region_free(&r);
}

TEST(opposite_quadrants) {
  const double range[2] = {-1, 1};
  kn_region r;
  double area[4];
  CHECK(kn_region_trace(&r, saddle, NULL, range, range, 9)); /* the middle cell has alternating corners */
  if (CHECK_INT(loops(area, &r), 2)) CHECK_NEAR(area[0] + area[1], 2.0, 0.05);
  kn_region_free(&r);
}
