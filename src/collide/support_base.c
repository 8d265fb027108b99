/* Portable variant: scalar with two chains, which beats two-lane vectors without a blend instruction. */
#include "collide/support.h"

int kn_support_cloud_base(const double* x, const double* y, const double* z, int n, double dx, double dy,
                          double dz) {
  double best0 = x[0] * dx + y[0] * dy + z[0] * dz, best1 = x[1] * dx + y[1] * dy + z[1] * dz;
  int at0 = 0, at1 = 1;
  for (int i = 2; i < n; i += 2) {
    double s0 = x[i] * dx + y[i] * dy + z[i] * dz, s1 = x[i + 1] * dx + y[i + 1] * dy + z[i + 1] * dz;
    if (s0 > best0) best0 = s0, at0 = i;
    if (s1 > best1) best1 = s1, at1 = i + 1;
  }
  return best1 > best0 || (best1 == best0 && at1 < at0) ? at1 : at0;
}
