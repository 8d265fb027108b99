/* Computed torque with an internal-force law. The paper's own law is in a reference that cannot be had; this
   one is ours:

     a  = ẍ_d + kv (ẋ_d - ẋ) + kp (x_d - x)                 the object's wanted acceleration
     θ̈  from W_N^T q̈ + Ẇ_N^T q̇ = 0                          keeps the four contacts
     G λ = F,  F = diag(m, m, I) a,  G = object rows of W_σ   3 equations for 4 sliding normal forces:
     λ  = G⁺ F + α z,  G z = 0                                α sets how hard the fingers squeeze
     τ  = M_a θ̈ + h_a - (W_σ λ)_joints

   α: z of one sign: the smallest |α| that gives every contact lmin. Mixed signs: a squeeze raises some forces
   and lowers others; then the largest min λ that can be had, at most lmin, with the least sum. Where even
   that is negative, the nearest λ >= 0 (least squares). The direction of slip is the planned one.
   Feed-forward takes the planned q, q̇ and a = ẍ_d. */
#include <math.h>
#include <string.h>

#include "grasp.h"

/* Null vector of a 3 x 4 matrix of full rank: its signed 3 x 3 minors. */
static void null_vector(double z[4], double G[3][4]) {
  static const int other[4][3] = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};
  double size = 0;
  for (int i = 0; i < 4; i++) {
    int a = other[i][0], b = other[i][1], c = other[i][2];
    double d = G[0][a] * (G[1][b] * G[2][c] - G[1][c] * G[2][b]) -
               G[0][b] * (G[1][a] * G[2][c] - G[1][c] * G[2][a]) +
               G[0][c] * (G[1][a] * G[2][b] - G[1][b] * G[2][a]);
    z[i] = i % 2 ? -d : d;
    size += d * d;
  }
  size = size > 0 ? 1 / sqrt(size) : 0;
  double sum = z[0] + z[1] + z[2] + z[3];
  for (int i = 0; i < 4; i++) z[i] *= sum < 0 ? -size : size;
}

/* λ = G^T (G G^T)⁻¹ F */
static void least_norm(double lambda[4], double G[3][4], const double F[3]) {
  double S[9], y[3] = {F[0], F[1], F[2]};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      S[3 * i + j] = 0;
      for (int k = 0; k < 4; k++) S[3 * i + j] += G[i][k] * G[j][k];
    }
  kn_grasp_solve(y, S, 3, 1);
  for (int k = 0; k < 4; k++) lambda[k] = G[0][k] * y[0] + G[1][k] * y[1] + G[2][k] * y[2];
}

static double least(const double l[4], const double z[4], double alpha) {
  double m = INFINITY;
  for (int i = 0; i < 4; i++) m = fmin(m, l[i] + alpha * z[i]);
  return m;
}

/* α with the largest least force: f is concave and piecewise linear, its top is where two lines cross. */
static double top_of(const double l[4], const double z[4]) {
  double best = 0, high = least(l, z, 0);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < i; j++) {
      if (z[i] == z[j]) continue;
      double alpha = (l[j] - l[i]) / (z[i] - z[j]), f = least(l, z, alpha);
      if (f > high) best = alpha, high = f;
    }
  return best;
}

/* Smallest α >= (sum z > 0 by construction: fewer newtons with smaller α) that gives lmin; or the top. */
static double squeeze(const double l[4], const double z[4], double lmin) {
  double low = -INFINITY;
  for (int i = 0; i < 4; i++)
    if (z[i] > 0) low = fmax(low, (lmin - l[i]) / z[i]);
  bool mixed = false;
  for (int i = 0; i < 4; i++) mixed |= !(z[i] > 0);
  if (!mixed) return low;
  return isfinite(low) && least(l, z, low) >= lmin - 1e-12 ? low : top_of(l, z);
}

/* min |G λ - F|², λ >= 0, over the supports of at most three contacts: the answer is on one of them. */
static void nearest_pushing(double lambda[4], double G[3][4], const double F[3]) {
  double best = INFINITY;
  for (int set = 0; set < 15; set++) {
    double S[9] = {0}, y[3] = {0}, r[3] = {-F[0], -F[1], -F[2]}, error = 0;
    int at[4], n = 0;
    for (int i = 0; i < 4; i++)
      if (set >> i & 1) at[n++] = i;
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < n; j++)
        for (int k = 0; k < 3; k++) S[n * i + j] += G[k][at[i]] * G[k][at[j]];
      for (int k = 0; k < 3; k++) y[i] += G[k][at[i]] * F[k];
    }
    kn_grasp_solve(y, S, n, 1);
    bool pushing = true;
    for (int i = 0; i < n; i++) {
      pushing &= y[i] >= 0;
      for (int k = 0; k < 3; k++) r[k] += G[k][at[i]] * y[i];
    }
    for (int k = 0; k < 3; k++) error += r[k] * r[k];
    if (!pushing || !(error < best)) continue;
    best = error;
    memset(lambda, 0, 4 * sizeof *lambda);
    for (int i = 0; i < n; i++) lambda[at[i]] = y[i];
  }
}

static void grip(double lambda[4], double G[3][4], const double F[3], double lmin) {
  double z[4];
  null_vector(z, G);
  least_norm(lambda, G, F);
  double alpha = squeeze(lambda, z, lmin);
  for (int i = 0; i < 4; i++) lambda[i] += alpha * z[i];
  if (fmin(fmin(lambda[0], lambda[1]), fmin(lambda[2], lambda[3])) < -1e-9) nearest_pushing(lambda, G, F);
}

void kn_grasp_control(double torque[4], double lambda[KN_GRASP_C], const kn_grasp* g, double t,
                      const double q[KN_GRASP_N], const double v[KN_GRASP_N]) {
  double x[3], xd[3], a[3], direction[3];
  kn_grasp_plan plan;
  memset(torque, 0, 4 * sizeof *torque);
  memset(lambda, 0, 4 * sizeof *lambda);
  kn_grasp_desired(x, xd, a, direction, g, t);
  if (!kn_grasp_plan_at(&plan, g, t)) return;
  if (g->law == KN_GRASP_FEEDBACK)
    for (int i = 0; i < 3; i++) a[i] += g->kv * (xd[i] - v[i]) + g->kp * (x[i] - q[i]);
  else
    q = plan.q, v = plan.v;
  kn_grasp_contacts c;
  double M[KN_GRASP_N * KN_GRASP_N], h[KN_GRASP_N], qdd[KN_GRASP_N], G[3][4];
  kn_grasp_contacts_at(&c, q, v);
  kn_grasp_dynamics(M, h, q, v);
  kn_grasp_follow_second(qdd, &c, a);
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < KN_GRASP_C; i++) G[k][i] = c.WN[i][k] - g->mu[i] * plan.slip[i] * c.WT[i][k];
  double F[3] = {KN_GRASP_MASS * a[0], KN_GRASP_MASS * a[1], KN_GRASP_INERTIA * a[2]};
  double far = sqrt(direction[0] * direction[0] + direction[1] * direction[1]);
  for (int k = 0; k < 2 && far > 0; k++) F[k] += g->drag * direction[k] / far;
  grip(lambda, G, F, g->lmin);
  for (int j = 0; j < 4; j++) {
    int d = 3 + j;
    torque[j] = h[d];
    for (int k = 3; k < KN_GRASP_N; k++) torque[j] += M[d * KN_GRASP_N + k] * qdd[k];
    for (int i = 0; i < KN_GRASP_C; i++)
      torque[j] -= (c.WN[i][d] - g->mu[i] * plan.slip[i] * c.WT[i][d]) * lambda[i];
    torque[j] = torque[j] > -10 ? torque[j] < 10 ? torque[j] : 10 : -10; /* a NaN too */
  }
}
