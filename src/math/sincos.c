/* Sine and cosine of one angle, and the arc tangent (elementary.h): argument reduction by three words of π/2, beyond
   that range by exact products, then the polynomials of sincos_poly.h. */
#include "math/elementary.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "math/sincos_poly.h"
#include "math/sincos_table.h"

void kn_sincos_array(int n, double* s, double* c, const double* x) { KN_BEST(kn_sincos_array)(n, s, c, x); }

/* r + y, reduced, quadrant k. */
static void reduced(double* s, double* c, double r, double y, int64_t k) {
  double z = r * r, z2 = z * z;
  double sn = KN_SIN_POLY(r, y, z, z2);
  double h = 0.5 * z, u = 1.0 - h;
  double cs = u + (((1.0 - u) - h) + (KN_COS_TAIL(z, z2) - r * y));
  double a = k & 1 ? cs : sn, b = k & 1 ? sn : cs;
  *s = k & 2 ? -a : a;
  *c = (k + 1) & 2 ? -b : b;
}

/* 1e6 < |x| <= 1e15: k of up to 50 bits times 119 bits of pi/2, exact products summed from the large end. */
static void wide(double* s, double* c, double x) {
  double k = floor(x * 0x1.45f306dc9c883p-1 + 0.5);
  const double word[3] = {KN_P1, KN_P2, KN_P3};
  double r = x, y = 0.0;
  for (int i = 0; i < 3; i++) {
    double p = -k * word[i], e = i < 2 ? kn_product_error(-k, word[i], p) : 0.0;
    double t = r + p, v = t - r;
    y += ((r - (t - v)) + (p - v)) + e;
    r = t;
  }
  double t = r + y;
  y = (r - t) + y;
  if (fabs(t) > 0.7854) { /* the quotient was rounded to the wrong side */
    double side = copysign(1.0, t), a = t - side * KN_P1, b = y - side * KN_P2;
    t = a + b, y = (a - t) + b, k += side;
  }
  reduced(s, c, t, y, (int64_t)k);
}

void kn_sincos(double* s, double* c, double x) {
  if (!(fabs(x) <= KN_SINCOS_LIMIT)) {
    if (!isfinite(x)) {
      *s = 0.0, *c = 1.0;
      return;
    }
    if (fabs(x) > 1e15) x = fmod(x, 0x1.921fb54442d18p+2);
    wide(s, c, x);
    return;
  }
  double t = x * 0x1.45f306dc9c883p-1 + KN_MAGIC;
  double k = t - KN_MAGIC;
  double a = x - k * KN_P1, w = k * KN_P2;
  double r0 = a - w;
  double low = ((a - r0) - w) - k * KN_P3;
  double r = r0 + low, y = (r0 - r) + low;
  int64_t bits;
  memcpy(&bits, &t, sizeof bits);
  reduced(s, c, r, y, bits);
}

/* atan a for 0 <= a <= tan(pi/8), minimax in z = a²: a + a z A(z), error 2e-18. */
static double atan_small(double a) {
  static const double A[11] = {-0x1.555555555553dp-2, 0x1.99999999957cdp-3,  -0x1.24924922a9b1ep-3,
                               0x1.c71c70e49980fp-4,  -0x1.745cf8b07ee71p-4, 0x1.3b1115e2f553cp-4,
                               -0x1.10eb917b49d56p-4, 0x1.df0cf64ae4731p-5,  -0x1.9cc7a8ab8b076p-5,
                               0x1.37b80da446590p-5,  -0x1.25267255b3d1bp-6};
  double z = a * a, p = A[10];
  for (int i = 9; i >= 0; i--) p = A[i] + z * p;
  return a + a * z * p;
}

/* First octant folded at tan(pi/8): atan(t) = pi/4 + atan((t-1)/(t+1)). */
double kn_atan2(double y, double x) {
  double ax = fabs(x), ay = fabs(y), hi = ax > ay ? ax : ay, lo = ax > ay ? ay : ax;
  if (!(hi > 0.0) || !isfinite(hi)) return 0.0;
  double angle = lo > 0.41421356237309503 * hi
                     ? 0x1.921fb54442d18p-1 + (0x1.1a62633145c07p-55 - atan_small((hi - lo) / (hi + lo)))
                     : atan_small(lo / hi);
  if (ay > ax) angle = 0x1.921fb54442d18p+0 - (angle - 0x1.1a62633145c07p-54);
  if (x < 0.0) angle = 0x1.921fb54442d18p+1 - (angle - 0x1.1a62633145c07p-53);
  return y < 0.0 ? -angle : angle;
}
