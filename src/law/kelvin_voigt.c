/* Deformation δ of a thin layer between the bodies (song-kumar section 2.2):

     normal       λ_N = max(0, f(δ_N) + g(δ_N, δ̇_N)),  δ̇_N = -u_N;  no force while δ_N <= 0
     tangential   λ_T = f(δ_T) + g(δ_T, δ̇_T),  slip s = u_T + δ̇_T,  |λ_T| <= mu λ_N,  λ_T against s

   A sub-step h takes the rates as means, δ⁺ = δ + h w with w_N = -ū_N, and the forces at δ + θ h w, rate w:

     p = h (f(δ) + k θ h w + c w)   =>   w = r p - r a,   1/r = h (c + θ h k),  a = h f(δ)
     normal:  0 <= p_N ⊥ ū_N + r p_N - r a >= 0          tangential:  s = ū_T + r p_T - r a,  Coulomb (p_T, s)

   which is Coulomb's law for ū + R p + b: one small cone problem, unique as soon as R outweighs the coupling.
   Energy, linear law:  -p_N ū_N = ΔS + K (θ - ½)(h w)² + h c w²,  -p_T·ū_T = the same + mu p_N |s|: nothing
   is created for θ >= ½. A contact that closes within the sub-step gets half the spring at its end,
   p = h k (δ + h w)/2, which takes at least what the spring then holds, and no damper; one that opens while
   still compressed loses what is left. User functions enter by their secants, so there the balance holds to
   the order of h. */
#include "law/kelvin_voigt.h"

#include <math.h>

#include "math/elementary.h"

/* Is this the normal force of a power law? */
static bool powers(const kn_soft_law* law, bool tangential) {
  return law->exponent > 0.0 && !law->f && !tangential;
}

static double power(const kn_soft_law* law, double delta) {
  if (!(delta > 0.0)) return 0.0;
  return law->exponent == 1.5 ? delta * sqrt(delta) : kn_pow(delta, law->exponent);
}

static double f_of(const kn_soft_law* law, double delta, double K, bool tangential) {
  if (powers(law, tangential)) return K * power(law, delta);
  return law->f ? law->f(delta, K, tangential, law->context) : K * delta;
}

/* dg/drate as the secant through 0; at rest through a small rate. */
static double damping(const kn_soft_law* law, double delta, double rate, double C, bool tangential) {
  if (powers(law, tangential)) return C * power(law, delta);
  if (!law->g) return C;
  double w = fabs(rate) > 1e-9 ? rate : 1e-9; /* m/s */
  return fmax(law->g(delta, w, C, tangential, law->context) / w, 0.0);
}

/* Slope of f over the way the sub-step will go. */
static double slope(const kn_soft_law* law, double delta, double ahead, double K, bool tangential) {
  if (!law->f && !powers(law, tangential)) return K;
  double from = fmax(delta, 0.0), to = fmax(ahead, 0.0), least = 1e-9 + 1e-6 * from; /* m */
  if (fabs(to - from) < least) to = from + least;
  return fmax((f_of(law, to, K, tangential) - f_of(law, from, K, tangential)) / (to - from), 0.0);
}

/* No stiffness at all: a row that never pushes. */
static double reciprocal(double x) { return x > 1e-30 ? 1.0 / x : 1e30; }

void kn_soft_row_of(kn_soft_row* row, const kn_soft_law* law, const kn_soft_pair* pair,
                    const kn_soft_state* s, double h, double theta) {
  double k = slope(law, s->n, s->n + h * s->n_rate, pair->K, false);
  if (s->n <= 0.0) {
    row->r_n = reciprocal(0.5 * h * h * k);
    row->b[0] = -s->n / h;
  } else {
    double mid = law->exponent > 0.0 ? s->n + 0.5 * h * s->n_rate : s->n; /* of a power law: second order */
    double c = damping(law, mid, s->n_rate, pair->C, false);
    row->r_n = reciprocal(h * (c + theta * h * k));
    row->b[0] = -row->r_n * h * f_of(law, s->n, pair->K, false);
  }
  double length = sqrt(s->t[0] * s->t[0] + s->t[1] * s->t[1]);
  double rate = sqrt(s->t_rate[0] * s->t_rate[0] + s->t_rate[1] * s->t_rate[1]);
  row->k_t = !law->f        ? pair->Kt
             : length > 0.0 ? f_of(law, length, pair->Kt, true) / length
                            : slope(law, 0.0, 0.0, pair->Kt, true);
  row->c_t = damping(law, length, rate, pair->Ct, true);
  row->r_t = reciprocal(h * (row->c_t + theta * h * row->k_t));
  for (int i = 0; i < 2; i++) row->b[1 + i] = -row->r_t * h * row->k_t * s->t[i];
}

void kn_soft_steepest(double* k, double* c, const kn_soft_law* law, const kn_soft_pair* pair,
                      const kn_soft_state* s, double way) {
  *k = pair->K, *c = pair->C;
  if (!powers(law, false)) return;
  double most = fmax(s->n, 0.0) + way, f = power(law, most);
  *k *= most > 0.0 ? law->exponent * f / most : 0.0;
  *c *= f;
}

/* ∫ f from 0 by Simpson's rule; exact for the linear law. */
static double integral(const kn_soft_law* law, double delta, double K, bool tangential) {
  if (!(delta > 0.0)) return 0.0;
  if (powers(law, tangential)) return K * delta * power(law, delta) / (law->exponent + 1.0);
  if (!law->f) return 0.5 * K * delta * delta;
  enum { PIECES = 16 };
  double sum = 0.0, h = delta / PIECES;
  for (int i = 0; i <= PIECES; i++)
    sum += (i == 0 || i == PIECES ? 1.0 : i % 2 ? 4.0 : 2.0) * f_of(law, i * h, K, tangential);
  return sum * h / 3.0;
}

double kn_soft_stored(const kn_soft_law* law, const kn_soft_pair* pair, const kn_soft_state* s) {
  double length = sqrt(s->t[0] * s->t[0] + s->t[1] * s->t[1]);
  return integral(law, s->n, pair->K, false) + integral(law, length, pair->Kt, true);
}

bool kn_soft_advance(kn_soft_state* s, kn_soft_energy* lost, const kn_soft_law* law, const kn_soft_pair* pair,
                     const kn_soft_row* row, const double p[3], const double u_mean[3], double mu, double h,
                     double theta) {
  double before = integral(law, s->n, pair->K, false);
  s->n_rate = -u_mean[0];
  s->n += h * s->n_rate;
  lost->normal += -p[0] * u_mean[0] - (integral(law, s->n, pair->K, false) - before);
  if (!(mu > 0.0)) return true;
  before = integral(law, sqrt(s->t[0] * s->t[0] + s->t[1] * s->t[1]), pair->Kt, true);
  double stiff = row->c_t + theta * h * row->k_t, slip = 0.0, scale = 0.0;
  for (int i = 0; i < 2; i++) {
    double w = stiff > 1e-30 ? (p[1 + i] / h - row->k_t * s->t[i]) / stiff : -u_mean[1 + i];
    slip += (u_mean[1 + i] + w) * (u_mean[1 + i] + w);
    scale += u_mean[1 + i] * u_mean[1 + i] + w * w;
    s->t_rate[i] = w;
    s->t[i] += h * w;
    lost->friction -= p[1 + i] * u_mean[1 + i];
  }
  if (s->n <= 0.0) s->t[0] = s->t[1] = s->t_rate[0] = s->t_rate[1] = 0.0; /* open: the layer springs back */
  lost->friction -= integral(law, sqrt(s->t[0] * s->t[0] + s->t[1] * s->t[1]), pair->Kt, true) - before;
  return slip > 1e-18 + 1e-16 * scale; /* (1e-9 m/s)², (1e-8)² of the velocities it is the difference of */
}

/* δ with f(δ) = force, δ >= 0. */
static double inverse(const kn_soft_law* law, double force, double K, bool tangential) {
  if (!(force > 0.0)) return 0.0;
  if (powers(law, tangential)) return K > 0.0 ? kn_pow(force / K, 1.0 / law->exponent) : 0.0;
  if (!law->f) return K > 0.0 ? force / K : 0.0;
  double lo = 0.0, hi = 1e-9;
  for (int i = 0; i < 60 && f_of(law, hi, K, tangential) < force; i++) hi *= 2.0;
  for (int i = 0; i < 200 && hi - lo > 1e-15 * hi; i++) {
    double mid = 0.5 * (lo + hi);
    if (f_of(law, mid, K, tangential) < force)
      lo = mid;
    else
      hi = mid;
  }
  return 0.5 * (lo + hi);
}

/* g may depend on δ: two rounds of f(δ) = force - g(δ, rate) are exact when it does not. */
void kn_soft_build(kn_soft_state* s, const kn_soft_law* law, const kn_soft_pair* pair, const double force[3],
                   double n_rate, const double t_rate[2]) {
  *s = (kn_soft_state){.n_rate = n_rate, .t_rate = {t_rate[0], t_rate[1]}};
  double rate = sqrt(t_rate[0] * t_rate[0] + t_rate[1] * t_rate[1]), length = 0.0;
  for (int round = 0; round < 2; round++) {
    double c = damping(law, s->n, n_rate, pair->C, false);
    s->n = inverse(law, force[0] - c * n_rate, pair->K, false);
    c = damping(law, length, rate, pair->Ct, true);
    double rest[2] = {force[1] - c * t_rate[0], force[2] - c * t_rate[1]};
    double size = sqrt(rest[0] * rest[0] + rest[1] * rest[1]);
    length = inverse(law, size, pair->Kt, true);
    for (int i = 0; i < 2; i++) s->t[i] = size > 0.0 ? rest[i] / size * length : 0.0;
  }
}
