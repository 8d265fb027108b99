/* An ellipsoid over a face of a box: the closed form against the planar one, and against separations in many
   directions (the gap is the largest of them). */
#include <math.h>

#include "knuckle/collide.h"
#include "test.h"

static double uniform(uint64_t* s, double lo, double hi) {
  *s = *s * 6364136223846793005u + 1442695040888963407u;
  return lo + (hi - lo) * (double)(*s >> 11) / 9007199254740992.0;
}

static void turn(kn_pose* p, uint64_t* s) {
  double q[4], l = 0;
  for (int i = 0; i < 4; i++) q[i] = uniform(s, -1, 1), l += q[i] * q[i];
  for (int i = 0; i < 4; i++) q[i] /= sqrt(l);
  double w = q[0], x = q[1], y = q[2], z = q[3];
  double R[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                 2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                 2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
  for (int i = 0; i < 9; i++) p->R[i] = R[i];
}

/* min over A of n.a - max over B of n.b */
static double separation(const kn_shape* a, const kn_pose* A, const kn_shape* b, const kn_pose* B,
                         const double n[3]) {
  double minus[3] = {-n[0], -n[1], -n[2]}, x[3], y[3];
  kn_support(x, a, A, minus);
  kn_support(y, b, B, n);
  return n[0] * (x[0] - y[0]) + n[1] * (x[1] - y[1]) + n[2] * (x[2] - y[2]);
}

TEST(no_direction_separates_more_than_the_gap) {
  uint64_t s = 7;
  int overlapping = 0, on_face = 0;
  double excess = -INFINITY, misfit = 0, lost = -INFINITY;
  for (int k = 0; k < 400 * kn_test_effort(); k++) {
    kn_shape e = {.type = KN_SHAPE_ELLIPSOID}, b = {.type = KN_SHAPE_BOX};
    for (int i = 0; i < 3; i++) e.size[i] = uniform(&s, 0.2, 1), b.size[i] = uniform(&s, 0.2, 1.5);
    kn_pose E, B = {{0}, {0}};
    turn(&E, &s), turn(&B, &s);
    int axis = (int)uniform(&s, 0, 3);
    double n[3] = {B.R[axis], B.R[3 + axis], B.R[6 + axis]}, low[3], in[3];
    /* place the ellipsoid over the face, from 0.1 deep to 0.1 apart */
    E.p[0] = E.p[1] = E.p[2] = 0;
    double minus[3] = {-n[0], -n[1], -n[2]};
    kn_support(low, &e, &E, minus);
    double h = -(n[0] * low[0] + n[1] * low[1] + n[2] * low[2]);
    for (int i = 0; i < 3; i++) in[i] = i == axis ? 0 : uniform(&s, -1, 1) * b.size[i];
    double lift = b.size[axis] + h + uniform(&s, -0.1, 0.1);
    for (int i = 0; i < 3; i++) {
      E.p[i] = lift * n[i];
      for (int j = 0; j < 3; j++) E.p[i] += B.R[3 * i + j] * in[j];
    }
    kn_distance_result r;
    if (!CHECK_OK(kn_distance(&r, &e, &E, &b, &B, NULL))) return;
    double fit = 0;
    for (int i = 0; i < 3; i++) fit += pow(r.on_a[i] - r.on_b[i] - r.gap * r.normal[i], 2);
    misfit = fmax(misfit, sqrt(fit));
    lost = fmax(lost, fabs(separation(&e, &E, &b, &B, r.normal) - r.gap));
    for (int d = 0; d < 400; d++) { /* all around, and close to the answer */
      double m[3], l = 0, w = d % 2 ? 1 : 0.05;
      for (int i = 0; i < 3; i++) m[i] = (d % 2 ? 0 : r.normal[i]) + w * uniform(&s, -1, 1), l += m[i] * m[i];
      for (int i = 0; i < 3; i++) m[i] /= sqrt(l);
      excess = fmax(excess, separation(&e, &E, &b, &B, m) - r.gap);
    }
    overlapping += r.gap < 0;
    on_face += fabs(r.normal[0] * n[0] + r.normal[1] * n[1] + r.normal[2] * n[2]) > 1 - 1e-14;
  }
  printf("  %d overlapping, %d on the face; misfit %.2g\n", overlapping, on_face, misfit);
  CHECK(overlapping > 50 && on_face > 50);
  CHECK_BELOW(excess, 1e-10); /* edges and corners go through the iterative path: 1e-11 of the size */
  CHECK_BELOW(misfit, 1e-9);
  CHECK_BELOW(lost, 1e-10);
}

TEST(a_planar_link_is_the_line_of_the_grasp) {
  uint64_t s = 3;
  double worst = 0;
  for (int k = 0; k < 200; k++) {
    double phi = uniform(&s, -3, 3), psi = uniform(&s, -3, 3), along = uniform(&s, 0.05, 0.15);
    double depth = uniform(&s, -2e-3, 2e-3), axes[2] = {0.15, 0.11};
    kn_shape e = {.type = KN_SHAPE_ELLIPSOID, .size = {0.15, 0.11, 0.02}};
    kn_shape b = {.type = KN_SHAPE_BOX, .size = {0.1, 0.005, 0.02}};
    double cp = cos(phi), sp = sin(phi), c = cos(psi), d = sin(psi);
    /* link along u from p, normal n = (u_y, -u_x); the box lies behind it */
    double u[2] = {c, d}, n[2] = {d, -c}, p[2] = {uniform(&s, -1, 1), uniform(&s, -1, 1)}, gap, x[2];
    double zero[2] = {0, 0};
    kn_line_ellipse(&gap, x, zero, n, zero, axes, sp, cp); /* gap = -h, x = contact, for the centre at 0 */
    double centre[2];
    for (int i = 0; i < 2; i++) centre[i] = p[i] + along * u[i] - x[i] + depth * n[i];
    kn_line_ellipse(&gap, x, p, n, centre, axes, sp, cp);
    kn_pose E = {{cp, -sp, 0, sp, cp, 0, 0, 0, 1}, {centre[0], centre[1], 0}};
    kn_pose B = {{c, -d, 0, d, c, 0, 0, 0, 1},
                 {p[0] + 0.1 * u[0] - 0.005 * n[0], p[1] + 0.1 * u[1] - 0.005 * n[1], 0}};
    kn_contact_point point[4];
    int count;
    CHECK_OK(kn_manifold_query(point, &count, 4, &e, &E, &b, &B, 0.01, NULL));
    if (!CHECK_INT(count, 1)) return;
    worst = fmax(worst, fabs(point[0].gap - gap));
    worst = fmax(worst, hypot(point[0].on_a[0] - x[0], point[0].on_a[1] - x[1]));
    worst = fmax(worst, hypot(point[0].normal[0] - n[0], point[0].normal[1] - n[1]));
  }
  CHECK_BELOW(worst, 2e-15); /* rounding of metres */
}
