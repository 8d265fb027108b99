/* Planar grasp scenes: a straight link against an ellipse. With E = R diag(a^2, b^2) R^T the support function
   of the ellipse is h(n) = sqrt(n^T E n); gap = n.(c - p) - h, contact = c - E n / h (Song and Kumar,
   geometry of ex. 1-2). */
#include "collide/pair/pair.h"

void kn_line_ellipse(double* gap, double contact[2], const double p[2], const double n[2], const double c[2],
                     const double axes[2], double sin_phi, double cos_phi) {
  if (!gap || !contact || !p || !n || !c || !axes) return;
  double u = axes[0] * (cos_phi * n[0] + sin_phi * n[1]), v = axes[1] * (cos_phi * n[1] - sin_phi * n[0]);
  double h = sqrt(u * u + v * v), s = h > 0 ? 1 / h : 0;
  double x = axes[0] * u * s, y = axes[1] * v * s;
  *gap = n[0] * (c[0] - p[0]) + n[1] * (c[1] - p[1]) - h;
  contact[0] = c[0] - (cos_phi * x - sin_phi * y);
  contact[1] = c[1] - (sin_phi * x + cos_phi * y);
}
