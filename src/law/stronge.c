/* Energetic restitution at one contact (W. J. Stronge 1990, Rigid body collisions with friction, Eqs. 2-9;
   in three dimensions J. A. Batlle 1996, The jam process in 3D rough collisions).

   The normal impulse p is the clock. With compliance L, velocity u = (u_n, u_t), friction f per unit p:

     du/dp = L (1, f),   slip  f = -mu u_t/|u_t|
                         stick f = -L_tt⁻¹ L_tn  while |f| <= mu; else slip starts along the only s with
                                   L_tn - mu L_tt s = k s, k > 0, and stays straight.
     work of the normal impulse  dW = u_n dp;  ends when  W₊ = e² W₋  (parts with u_n > 0, u_n < 0)

   Friction only dissipates, so K⁺ - K⁻ <= -(1 - e²) W₋. A slip that slows down by friction may press the
   bodies together (du_n/dp < 0) but not for ever: K falls by |u_n| + mu |u_t| per unit p.

   Slip turns: Runge-Kutta of order 4 with steps that change u_t by at most 1/32 of itself. Each step's
   impulse is dp (1, f̄), |f̄| <= mu, along which u is linear and W quadratic: ends of phases are met exactly,
   and the energy balance holds to rounding whatever the step. Slip along a direction that does not turn is
   one step; where it turns fast into such a direction (L_tt nearly singular) Euler's implicit rule takes
   over. */
#include "law/stronge.h"

#include <math.h>
#include <string.h>

enum { MAX_STEPS = 20000 };
static const double tiny = 1e-12; /* of the compliance or of the speed before: rounding of both */

typedef enum mode { SLIP, STRAIGHT, STICK } mode;

typedef struct impact {
  const double* L;
  double mu, e, u[3], speed, scale; /* speed before, trace of L */
  double l[2], axis[2][2];          /* eigenvalues and vectors of L_tt */
  double f[2];                      /* STRAIGHT, STICK */
  mode mode;
  kn_stronge* out;
} impact;

static void rate(double a[3], const double L[9], const double f[2]) {
  for (int i = 0; i < 3; i++) a[i] = L[3 * i] + L[3 * i + 1] * f[0] + L[3 * i + 2] * f[1];
}

static void eigen(impact* m) {
  double a = m->L[4], b = m->L[5], c = m->L[8], h = 0.5 * (a - c), d = sqrt(h * h + b * b);
  double x = h >= 0.0 ? h + d : b, y = h >= 0.0 ? b : d - h, n = sqrt(x * x + y * y);
  m->axis[0][0] = n > 0.0 ? x / n : 1.0;
  m->axis[0][1] = n > 0.0 ? y / n : 0.0;
  m->axis[1][0] = -m->axis[0][1];
  m->axis[1][1] = m->axis[0][0];
  m->l[0] = 0.5 * (a + c) + d;
  m->l[1] = fmax(0.5 * (a + c) - d, 0.0);
}

/* x = (s L_tt + k)⁻¹ b on the range of L_tt. */
static void solve_tt(double x[2], const impact* m, double s, double k, const double b[2]) {
  x[0] = x[1] = 0.0;
  for (int i = 0; i < 2; i++) {
    if (k <= 0.0 && m->l[i] <= tiny * m->scale) continue;
    double c = (m->axis[i][0] * b[0] + m->axis[i][1] * b[1]) / (s * m->l[i] + k);
    for (int j = 0; j < 2; j++) x[j] += c * m->axis[i][j];
  }
}

/* The unit s with (c L_tt + k) s = b, k >= 0, or if |L_tt⁻¹ b| <= c, that over c. |s(k)| falls with k. */
static bool disc(double s[2], const impact* m, double c, const double b[2]) {
  double low = 0.0, high = sqrt(b[0] * b[0] + b[1] * b[1]);
  solve_tt(s, m, c, 0.0, b);
  if (s[0] * s[0] + s[1] * s[1] <= 1.0) return true;
  for (int i = 0; i < 100; i++) {
    double k = 0.5 * (low + high);
    solve_tt(s, m, c, k, b);
    if (s[0] * s[0] + s[1] * s[1] > 1.0)
      low = k;
    else
      high = k;
  }
  solve_tt(s, m, c, high, b); /* |s| <= 1: inside the cone */
  return false;
}

/* Slip has stopped: it sticks, or starts again. */
static void stop(impact* m) {
  double b[2] = {m->L[1], m->L[2]}, s[2], c = isfinite(m->mu) ? m->mu : 1.0;
  m->mode = disc(s, m, c, b) || !isfinite(m->mu) ? STICK : STRAIGHT;
  if (!isfinite(m->mu)) solve_tt(s, m, 1.0, 0.0, b);
  for (int j = 0; j < 2; j++) m->f[j] = -c * s[j];
}

/* Friction at u; false when there is no slip to speak of. */
static bool sliding(double f[2], const impact* m, const double u[3]) {
  double r = sqrt(u[1] * u[1] + u[2] * u[2]);
  if (r <= tiny * m->speed) return false;
  for (int j = 0; j < 2; j++) f[j] = -m->mu * u[1 + j] / r;
  return true;
}

/* f̄ over dp by Runge-Kutta; a stage at which slip has vanished takes the first stage's direction. */
static void average(double f[2], const impact* m, const double f0[2], double dp) {
  static const double at[3] = {0.5, 0.5, 1.0}, weight[3] = {2.0, 2.0, 1.0};
  double k[2] = {f0[0], f0[1]}, sum[2] = {f0[0], f0[1]}, a[3], u[3];
  for (int s = 0; s < 3; s++) {
    rate(a, m->L, k);
    for (int i = 0; i < 3; i++) u[i] = m->u[i] + at[s] * dp * a[i];
    if (!sliding(k, m, u)) memcpy(k, f0, sizeof k);
    for (int j = 0; j < 2; j++) sum[j] += weight[s] * k[j];
  }
  for (int j = 0; j < 2; j++) f[j] = sum[j] / 6.0;
}

/* f at the end of dp (Euler's implicit rule): u_t + dp (L_tn + L_tt f) has the direction -f, or is zero. */
static void implicit(double f[2], const impact* m, double dp) {
  double b[2] = {m->u[1] + dp * m->L[1], m->u[2] + dp * m->L[2]}, s[2];
  disc(s, m, m->mu * dp, b);
  for (int j = 0; j < 2; j++) f[j] = -m->mu * s[j];
}

/* Does slip turn much faster than it changes? s⊥ L_tt s⊥ = trace - s L_tt s. */
static bool stiff(const impact* m, const double f[2], double along, double dp, double r) {
  double sLs =
      (f[0] * f[0] * m->L[4] + 2.0 * f[0] * f[1] * m->L[5] + f[1] * f[1] * m->L[8]) / (m->mu * m->mu);
  return fabs(along + m->mu * (m->L[4] + m->L[8] - sLs)) * dp > 2.0 * r; /* 2.8: Runge-Kutta blows up */
}

/* Longest dp along a constant f before u_n = 0 or the work is done; INFINITY if neither happens. */
static double phase_end(const impact* m, double a_n, bool approaching) {
  double u = m->u[0];
  if (approaching) return a_n > 0.0 ? fmax(-u, 0.0) / a_n : INFINITY;
  double left = fmax(m->e * m->e * m->out->work_in - m->out->work_out, 0.0), d = u * u + 2.0 * a_n * left;
  if (d < 0.0) return -u / a_n; /* falls back before: a second approach */
  return left > 0.0 ? 2.0 * left / (u + sqrt(d)) : 0.0;
}

static void advance(impact* m, const double f[2], double dp, bool approaching, bool whole) {
  double a[3], u_n = m->u[0];
  rate(a, m->L, f);
  for (int i = 0; i < 3; i++) m->u[i] += dp * a[i];
  m->out->p[0] += dp;
  for (int j = 0; j < 2; j++) m->out->p[1 + j] += dp * f[j];
  if (approaching && whole) m->u[0] = 0.0;
  double work = 0.5 * dp * (u_n + m->u[0]);
  if (approaching)
    m->out->work_in -= work;
  else
    m->out->work_out += work;
}

/* One step of turning slip, cut at the end of the phase. Returns whether the phase ended. */
static bool slip_step(impact* m, bool approaching) {
  double f[2], a[3], dp, r = sqrt(m->u[1] * m->u[1] + m->u[2] * m->u[2]), f0[2];
  if (!sliding(f0, m, m->u)) {
    stop(m);
    return false;
  }
  rate(a, m->L, f0);
  double along = (a[1] * m->u[1] + a[2] * m->u[2]) / r, across = (a[1] * m->u[2] - a[2] * m->u[1]) / r;
  bool straight = fabs(across) <= tiny * (1.0 + m->mu) * m->scale, ends = false, late = false;
  memcpy(f, f0, sizeof f);
  if (straight)
    dp = along < 0.0 ? -r / along : INFINITY;
  else
    dp = r / (32.0 * sqrt(a[1] * a[1] + a[2] * a[2])), late = stiff(m, f0, along, dp, r);
  for (int k = 0; k < 4; k++) { /* the cut moves f̄ by less than 1/32, and that moves the cut: settles fast */
    if (late)
      implicit(f, m, dp);
    else if (!straight)
      average(f, m, f0, dp);
    rate(a, m->L, f);
    double end = phase_end(m, a[0], approaching);
    if ((ends = end <= dp || (ends && isfinite(end)))) dp = end;
    if (!ends) break;
  }
  if (!isfinite(dp)) { /* cannot be: K would fall without bound */
    m->out->locked = true;
    return true;
  }
  advance(m, f, dp, approaching, ends);
  return ends;
}

static bool straight_step(impact* m, bool approaching) {
  double a[3];
  rate(a, m->L, m->f);
  double end = a[0] > tiny * m->L[0] ? phase_end(m, a[0], approaching) : INFINITY;
  m->out->locked = !isfinite(end);
  if (!m->out->locked) advance(m, m->f, end, approaching, true);
  return true;
}

static void begin(impact* m) {
  eigen(m);
  m->mode = m->mu > 0.0 ? SLIP : STRAIGHT;
  if (isfinite(m->mu)) return;
  double p[2]; /* infinite friction stops the slip before the normal impulse begins */
  solve_tt(p, m, 1.0, 0.0, m->u + 1);
  for (int j = 0; j < 2; j++) m->out->p[1 + j] = -p[j];
  for (int i = 0; i < 3; i++) m->u[i] -= m->L[3 * i + 1] * p[0] + m->L[3 * i + 2] * p[1];
  stop(m);
}

void kn_stronge_impact(kn_stronge* out, const double L[9], const double u[3], double mu, double e) {
  impact m = {.L = L, .mu = mu, .e = e, .out = out, .scale = L[0] + L[4] + L[8]};
  *out = (kn_stronge){0};
  if (!(u[0] < 0.0) || !(L[0] > 0.0)) return;
  memcpy(m.u, u, sizeof m.u);
  m.speed = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
  begin(&m);
  bool approaching = m.u[0] < 0.0, first = true;
  for (; out->steps < MAX_STEPS && !out->locked; out->steps++) {
    bool ended = m.mode == SLIP ? slip_step(&m, approaching) : straight_step(&m, approaching);
    if (!ended) continue;
    if (first) out->compression = out->p[0];
    first = false;
    if (!approaching && out->work_out >= (1.0 - tiny) * e * e * out->work_in) break;
    if (approaching && e == 0.0) break;
    approaching = !approaching;
  }
  if (first) out->compression = out->p[0];
}
