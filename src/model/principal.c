/* Principal axes by Jacobi's method kept as a quaternion (as MuJoCo does, so that frames agree): D = RᵀIR;
   the largest off-diagonal D_rc is zeroed by a turn about the third axis, tan 2θ = 2 D_rc/(D_cc - D_rr) with
   |θ| <= 45°; at the end moments are sorted in descending order by quarter turns. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "knuckle/massprops.h"
#include "spatial/spatial.h"

static void turn_by(double q[4], const double turn[4]) {
  kn_quat_mul(q, q, turn);
  kn_quat_normalize(q, q);
}

static void quat_matrix(double R[3][3], const double q[4]) {
  double w = q[0], x = q[1], y = q[2], z = q[3];
  double m[3][3] = {{w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)},
                    {2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)},
                    {2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z}};
  memcpy(R, m, sizeof m);
}

/* D = Rᵀ I R */
static void rotate_tensor(double D[3][3], double I[3][3], const double q[4]) {
  double R[3][3], T[3][3];
  quat_matrix(R, q);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) T[i][j] = I[i][0] * R[0][j] + I[i][1] * R[1][j] + I[i][2] * R[2][j];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) D[i][j] = R[0][i] * T[0][j] + R[1][i] * T[1][j] + R[2][i] * T[2][j];
}

/* The turn that zeroes the largest off-diagonal element; false when it would be too small to matter. */
static bool jacobi_turn(double turn[4], double D[3][3]) {
  int r = 0, c = 1;
  if (fabs(D[0][2]) > fabs(D[r][c])) r = 0, c = 2;
  if (fabs(D[1][2]) > fabs(D[r][c])) r = 1, c = 2;
  if (D[r][c] == 0) return false;
  double tau = (D[c][c] - D[r][r]) / (2 * D[r][c]);
  double t = tau >= 0 ? 1 / (tau + sqrt(1 + tau * tau)) : -1 / (-tau + sqrt(1 + tau * tau));
  if (fabs(t) < 1e-15) return false;
  double cosine = 1 / sqrt(1 + t * t), sign = tau >= 0 ? -1 : 1;
  turn[1] = turn[2] = turn[3] = 0;
  turn[0] = sqrt(0.5 + 0.5 * cosine);
  double half = fabs(t) * cosine / (2 * turn[0]); /* sine of half the angle, without cancellation */
  turn[3 - r - c + 1] = (r == 0 && c == 2 ? -sign : sign) * half;
  return true;
}

static void sort_descending(double moments[3], double quat[4]) {
  for (int pass = 0; pass < 3; pass++) {
    int i = pass % 2; /* compare (0,1), (1,2), (0,1) */
    if (!(moments[i] + 1e-12 < moments[i + 1])) continue;
    double swap = moments[i];
    moments[i] = moments[i + 1], moments[i + 1] = swap;
    double quarter[4] = {sqrt(0.5), 0, 0, 0};
    quarter[(i + 2) % 3 + 1] = sqrt(0.5);
    turn_by(quat, quarter);
  }
}

kn_status kn_principal_axes(double moments[3], double quat[4], const double inertia[6]) {
  KN_REQUIRE(moments && quat && inertia);
  double I[3][3] = {{inertia[0], inertia[3], inertia[4]},
                    {inertia[3], inertia[1], inertia[5]},
                    {inertia[4], inertia[5], inertia[2]}};
  for (int k = 0; k < 6; k++)
    if (!isfinite(inertia[k])) return kn_fail(KN_NOT_FINITE, "inertia: element %d is not finite", k);
  double D[3][3], turn[4];
  quat[0] = 1, quat[1] = quat[2] = quat[3] = 0;
  for (int i = 0; i < 500; i++) {
    rotate_tensor(D, I, quat);
    if (!jacobi_turn(turn, D)) break;
    turn_by(quat, turn);
  }
  for (int k = 0; k < 3; k++) moments[k] = D[k][k];
  sort_descending(moments, quat);
  return KN_OK;
}
