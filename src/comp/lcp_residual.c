#include "comp/lcp_residual.h"

#include "base/cpu.h"
#include "comp/lcp.h"

void kn_lcp_residuals(double* original, double* scaled, const kn_lcp* lcp, const double* z) {
#if defined(__x86_64__)
  switch (kn_cpu_level()) {
  case KN_CPU_AVX512: kn_lcp_residuals_avx512(original, scaled, lcp, z); return;
  case KN_CPU_AVX2: kn_lcp_residuals_avx2(original, scaled, lcp, z); return;
  default: break;
  }
#endif
  kn_lcp_residuals_base(original, scaled, lcp, z);
}

double kn_lcp_residual(const kn_lcp* lcp, const double* z) {
  double original, scaled;
  kn_lcp_residuals(&original, &scaled, lcp, z);
  return original;
}

double kn_lcp_residual_scaled(const kn_lcp* lcp, const double* z) {
  double original, scaled;
  kn_lcp_residuals(&original, &scaled, lcp, z);
  return scaled;
}
