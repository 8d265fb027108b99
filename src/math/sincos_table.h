/* The variants of kn_sincos_array. In-place use (s or c equal to x) is not allowed. */
#ifndef KN_MATH_SINCOS_TABLE_H
#define KN_MATH_SINCOS_TABLE_H

typedef void (*kn_sincos_fn)(int, double*, double*, const double*);
extern const kn_sincos_fn kn_sincos_array_base;
#if defined(__x86_64__)
extern const kn_sincos_fn kn_sincos_array_avx2, kn_sincos_array_avx512;
#endif

#endif
