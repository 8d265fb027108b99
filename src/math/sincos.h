/* Our own sine, cosine and arc tangent: the same bits on every machine and instruction set (libm's change
   with the processor). Error of sine and cosine: at most 0.8 ulp for |x| <= 1e6, at most 1e-15 absolute to
   1e15; beyond that neighbouring doubles are further apart than the period's parts and the argument is taken
   modulo the double nearest to 2 pi. Not finite: 0 and 1, so that no NaN starts here. */
#pragma once

void kn_sincos(double* s, double* c, double x);
void kn_sincos_array(int n, double* s, double* c, const double* x); /* the same values, vectorised */

double kn_atan2(double y, double x); /* within 2 ulp; atan2(0, 0) = 0 */
