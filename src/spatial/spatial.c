/* Quaternions from matrices, and the exponential and logarithm of rotations (spatial.h). */
#include "spatial/spatial.h"

#include "math/elementary.h"

/* The largest of the four components is taken as pivot, so that no difference cancels (Shepperd 1978):

     4 w² = 1 + t_0,  4 x² = 1 + t_1,  4 y² = 1 + t_2,  4 z² = 1 + t_3,

   and the other components from sums and differences across the diagonal. */
void kn_quat_from_matrix(double q[4], const double R[9]) {
  double t[4] = {R[0] + R[4] + R[8], R[0] - R[4] - R[8], R[4] - R[0] - R[8], R[8] - R[0] - R[4]};
  int k = 0;
  for (int i = 1; i < 4; i++)
    if (t[i] > t[k]) k = i;
  double c[4][4] = {{1.0 + t[0], R[7] - R[5], R[2] - R[6], R[3] - R[1]},
                    {R[7] - R[5], 1.0 + t[1], R[3] + R[1], R[2] + R[6]},
                    {R[2] - R[6], R[3] + R[1], 1.0 + t[2], R[7] + R[5]},
                    {R[3] - R[1], R[2] + R[6], R[7] + R[5], 1.0 + t[3]}};
  for (int i = 0; i < 4; i++) q[i] = c[k][0] < 0.0 ? -c[k][i] : c[k][i];
  kn_quat_unit(q);
}

/* As above, rounded otherwise: the body poses of the non-minimal formulations keep their bits by it, models
   theirs by the one above. */
void kn_quat_from_rotation(double q[4], const double R[9]) {
  double trace = R[0] + R[4] + R[8];
  double square[4] = {trace, R[0], R[4], R[8]}; /* (4 q_i² - 1 + ...) / 2 up to a common shift */
  int best = 0;
  for (int i = 1; i < 4; i++)
    if (square[i] > square[best]) best = i;
  double t[4];
  if (best == 0) {
    t[0] = 1.0 + trace, t[1] = R[7] - R[5], t[2] = R[2] - R[6], t[3] = R[3] - R[1];
  } else {
    int i = best - 1, j = (i + 1) % 3, k = (i + 2) % 3;
    t[0] = R[3 * k + j] - R[3 * j + k];
    t[1 + i] = 1.0 + R[4 * i] - R[4 * j] - R[4 * k];
    t[1 + j] = R[3 * j + i] + R[3 * i + j];
    t[1 + k] = R[3 * k + i] + R[3 * i + k];
  }
  kn_quat_normalize(q, t);
  if (q[0] < 0.0)
    for (int i = 0; i < 4; i++) q[i] = -q[i];
}

/* exp(w/2) = (cos |w|/2, sin(|w|/2)/|w| w); series below 1e-4, where the next term is 1e-18 of the first. */
void kn_quat_exp(double q[4], const double w[3]) {
  double a2 = kn_dot3(w, w), k;
  if (a2 < 1e-8) {
    k = 0.5 - a2 * (1.0 / 48.0 - a2 * (1.0 / 3840.0));
    q[0] = 1.0 - a2 * (0.125 - a2 * (1.0 / 384.0));
  } else {
    double a = sqrt(a2), s, c;
    kn_sincos(&s, &c, 0.5 * a);
    k = s / a;
    q[0] = c;
  }
  kn_scale3(q + 1, w, k);
}

/* |w| = 2 atan2(|v|, |q_w|), the shorter way round; series where |v| is small. */
void kn_quat_log(double w[3], const double q[4]) {
  double sign = q[0] < 0.0 ? -1.0 : 1.0, s2 = kn_dot3(q + 1, q + 1), c = fabs(q[0]), k;
  if (s2 < 1e-8 * c * c) {
    double t2 = s2 / (c * c);
    k = (2.0 - t2 * (2.0 / 3.0 - t2 * 0.4)) / c;
  } else {
    double s = sqrt(s2);
    k = 2.0 * kn_atan2(s, c) / s;
  }
  if (!isfinite(k)) k = 0.0;
  kn_scale3(w, q + 1, sign * k);
}
