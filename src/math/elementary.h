/* Logarithm, exponential and power by additions, multiplications and divisions alone: the same bits on every
   machine, where libm's change with the processor and the library. */
#pragma once

double kn_log(double x); /* natural, within 2 ulp; x <= 0: -INFINITY */
double kn_exp(double x); /* within 2 ulp; 0 below the smallest double, INFINITY above the largest */

/* x^y = exp(y ln x) for x > 0 (0 for x <= 0): relative error at most (2 + |y ln x|) 2.3e-16. */
double kn_pow(double x, double y);

/* e of a b = p + e exactly, p the rounded product (Dekker 1971, Veltkamp's splitting; no fused operation). */
static inline double kn_product_error(double a, double b, double p) {
  double ca = 134217729.0 * a, cb = 134217729.0 * b;
  double ah = ca - (ca - a), bh = cb - (cb - b), al = a - ah, bl = b - bh;
  return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
}

/* Our own sine, cosine and arc tangent: the same bits on every machine and instruction set (libm's change
   with the processor). Error of sine and cosine: at most 0.8 ulp for |x| <= 1e6, at most 1e-15 absolute to
   1e15; beyond that neighbouring doubles are further apart than the period's parts and the argument is taken
   modulo the double nearest to 2 pi. Not finite: 0 and 1, so that no NaN starts here. */
void kn_sincos(double* s, double* c, double x);
void kn_sincos_array(int n, double* s, double* c, const double* x); /* the same values, vectorised */

double kn_atan2(double y, double x); /* within 2 ulp; atan2(0, 0) = 0 */
