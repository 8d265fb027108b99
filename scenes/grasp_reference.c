/* Both contact models of Song and Kumar integrated by themselves, in the closed-form coordinates: Runge-Kutta
   of fourth order, the rigid problem by trying all sixteen sets of pushing contacts. Shares nothing with the
   library's steppers, so that tests and `knuckle bench grasp` can hold them against it.

   Compliant (Eqs. 6, 7, 13, Kelvin-Voigt): δ_N = g0 - gap, λ_N = max(0, K δ_N + C δ̇_N), 0 where δ_N <= 0;
   tangential state δ_T:  f = K δ_T - C v_T;  |f| <= mu λ_N: sticks, λ_T = f, δ̇_T = -v_T;
   otherwise slides, λ_T = mu λ_N sgn f, δ̇_T = (λ_T - K δ_T)/C.  Force on q: W_N λ_N + W_T λ_T. */
#include "grasp_reference.h"

#include <math.h>
#include <string.h>

enum { N = KN_GRASP_N, NC = KN_GRASP_C };

static double dot7(const double* a, const double* b) {
  double r = 0;
  for (int k = 0; k < N; k++) r += a[k] * b[k];
  return r;
}

/* A x = b, n <= 4, partial pivoting; false when singular. */
static bool solve4(double* x, const double* A, const double* b, int n) {
  double M[4][5];
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) M[i][j] = A[i * n + j];
    M[i][n] = b[i];
  }
  for (int c = 0; c < n; c++) {
    int p = c;
    for (int i = c + 1; i < n; i++)
      if (fabs(M[i][c]) > fabs(M[p][c])) p = i;
    if (!(fabs(M[p][c]) > 1e-14)) return false;
    for (int j = 0; j <= n; j++) {
      double t = M[c][j];
      M[c][j] = M[p][j], M[p][j] = t;
    }
    for (int i = 0; i < n; i++)
      for (int j = n; j >= c && i != c; j--) M[i][j] -= M[i][c] / M[c][c] * M[c][j];
  }
  for (int i = 0; i < n; i++) x[i] = M[i][n] / M[i][i];
  return true;
}

int kn_grasp_solutions(double (*lambda)[KN_GRASP_C], const double A[16], const double b[4]) {
  int count = 0;
  for (int set = 15; set >= 0; set--) {
    double S[16], r[4], x[4], z[4] = {0};
    int at[4], n = 0;
    for (int i = 0; i < NC; i++)
      if (set >> i & 1) at[n++] = i;
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < n; j++) S[i * n + j] = A[at[i] * NC + at[j]];
      r[i] = -b[at[i]];
    }
    if (!solve4(x, S, r, n)) continue;
    bool ok = true;
    for (int i = 0; i < n; i++) ok &= x[i] > 0, z[at[i]] = x[i];
    for (int i = 0; i < NC && ok; i++) {
      double w = b[i];
      for (int j = 0; j < NC; j++) w += A[i * NC + j] * z[j];
      ok = set >> i & 1 || w >= 0;
    }
    if (ok) memcpy(lambda[count++], z, sizeof z);
  }
  return count;
}

/* Signs of slip: present ones, planned ones where the contact hardly slides. */
static void slip_signs(double s[NC], const kn_grasp* g, double t, const kn_grasp_contacts* c,
                       const double* v) {
  kn_grasp_plan plan;
  bool planned = kn_grasp_plan_at(&plan, g, t);
  for (int i = 0; i < NC; i++) {
    double vt = dot7(c->WT[i], v);
    s[i] = fabs(vt) < 1e-6 && planned ? plan.slip[i] : vt > 0 ? 1 : -1;
  }
}

static bool rigid_acceleration(double* a, double force[NC][2], const kn_grasp* g, double t, const double* q,
                               const double* v) {
  kn_grasp_contacts c;
  double M[N * N], h[N], A[16], b[NC], torque[4], want[NC], s[NC], z[16][NC];
  kn_grasp_contacts_at(&c, q, v);
  kn_grasp_dynamics(M, h, q, v);
  kn_grasp_control(torque, want, g, t, q, v);
  slip_signs(s, g, t, &c, v);
  kn_grasp_matrix(A, &c, M, g->mu, s);
  kn_grasp_offset(b, &c, M, h, torque);
  if (kn_grasp_solutions(z, A, b) < 1) return false;
  for (int k = 0; k < N; k++) {
    a[k] = (k < 3 ? 0 : torque[k - 3]) - h[k];
    for (int i = 0; i < NC; i++) a[k] += (c.WN[i][k] - g->mu[i] * s[i] * c.WT[i][k]) * z[0][i];
  }
  kn_grasp_solve(a, M, N, 1);
  for (int i = 0; i < NC; i++) force[i][0] = z[0][i], force[i][1] = -g->mu[i] * s[i] * z[0][i];
  return true;
}

static void compliant_acceleration(double* a, double* deform, double force[NC][2], const kn_grasp* g,
                                   const kn_grasp_state* x, double t, const double* q, const double* v,
                                   const double* delta) {
  kn_grasp_contacts c;
  double M[N * N], h[N], torque[4], want[NC];
  kn_grasp_contacts_at(&c, q, v);
  kn_grasp_dynamics(M, h, q, v);
  kn_grasp_control(torque, want, g, t, q, v);
  for (int k = 0; k < N; k++) a[k] = (k < 3 ? 0 : torque[k - 3]) - h[k];
  for (int i = 0; i < NC; i++) {
    double dn = x->offset[i] - c.gap[i], rate = -dot7(c.WN[i], v), vt = dot7(c.WT[i], v);
    double normal = dn > 0 ? fmax(0, x->K * dn + x->C * rate) : 0, f = x->K * delta[i] - x->C * vt;
    bool sticks = fabs(f) <= g->mu[i] * normal;
    double tangential = sticks ? f : f > 0 ? g->mu[i] * normal : -g->mu[i] * normal;
    deform[i] = sticks ? -vt : (tangential - x->K * delta[i]) / x->C;
    force[i][0] = normal, force[i][1] = tangential;
    for (int k = 0; k < N; k++) a[k] += c.WN[i][k] * normal + c.WT[i][k] * tangential;
  }
  kn_grasp_solve(a, M, N, 1);
}

kn_grasp_state kn_grasp_start(const kn_grasp* g, double eps) {
  kn_grasp_state x = {.eps = eps};
  kn_grasp_plan plan;
  if (eps > 0) x.K = KN_GRASP_MASS / eps, x.C = KN_GRASP_MASS / sqrt(eps);
  if (kn_grasp_plan_at(&plan, g, 0)) memcpy(x.q, plan.q, sizeof x.q), memcpy(x.v, plan.v, sizeof x.v);
  return x;
}

bool kn_grasp_step(kn_grasp_state* x, const kn_grasp* g, double dt) {
  static const double node[4] = {0, 0.5, 0.5, 1}, weight[4] = {1 / 6.0, 1 / 3.0, 1 / 3.0, 1 / 6.0};
  double kq[4][N], kv[4][N], kd[4][NC] = {{0}}, force[NC][2];
  for (int s = 0; s < 4; s++) {
    double q[N], v[N], d[NC], w = s ? node[s] * dt : 0;
    for (int k = 0; k < N; k++) q[k] = x->q[k] + (s ? w * kq[s - 1][k] : 0);
    for (int k = 0; k < N; k++) v[k] = x->v[k] + (s ? w * kv[s - 1][k] : 0);
    for (int k = 0; k < NC; k++) d[k] = x->delta[k] + (s ? w * kd[s - 1][k] : 0);
    memcpy(kq[s], v, sizeof v);
    if (x->eps > 0)
      compliant_acceleration(kv[s], kd[s], force, g, x, x->t + w, q, v, d);
    else if (!rigid_acceleration(kv[s], force, g, x->t + w, q, v))
      return false;
    if (s == 0) memcpy(x->force, force, sizeof force);
  }
  for (int s = 0; s < 4; s++) {
    for (int k = 0; k < N; k++) x->q[k] += dt * weight[s] * kq[s][k], x->v[k] += dt * weight[s] * kv[s][k];
    for (int k = 0; k < NC; k++) x->delta[k] += dt * weight[s] * kd[s][k];
  }
  x->t += dt;
  return true;
}
