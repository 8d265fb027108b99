#if defined(__x86_64__)
#include <math.h>

#include "collide/support.h"

#define KN_LANES 4
#include "collide/support_kernel.h"

int kn_support_cloud_avx2(const double* x, const double* y, const double* z, int n, double dx, double dy,
                          double dz) {
  return support_kernel(x, y, z, n, dx, dy, dz);
}
#else
typedef int kn_support_avx2_is_x86_only;
#endif
