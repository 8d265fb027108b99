/* For the tetrahedron 0, a, b, c of volume V = a.(b x c)/6 and s = a + b + c:
     ∫x = V s/4,   ∫x xᵀ = V/20 (s sᵀ + a aᵀ + b bᵀ + c cᵀ),
   and for the triangle a, b, c of area A: ∫x = A s/3, ∫x xᵀ = A/12 (s sᵀ + a aᵀ + b bᵀ + c cᵀ)
   (both from ∫ of barycentric coordinates: p! q! … d!/(p+q+…+d)!). Signed volumes of a closed outward surface
   add up to the body whatever the apex. Inertia = tr(C) 1 - C with C the second moment about the centre. */
#include "model/polyhedron.h"

#include <math.h>

#include "spatial/spatial.h"

static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};

static void add(kn_moments* m, const double a[3], const double b[3], const double c[3], double size,
                double w1, double w2) {
  double s[3] = {a[0] + b[0] + c[0], a[1] + b[1] + c[1], a[2] + b[2] + c[2]};
  m->m0 += size;
  for (int k = 0; k < 3; k++) m->m1[k] += size * w1 * s[k];
  for (int k = 0; k < 6; k++) {
    int i = row[k], j = col[k];
    m->m2[k] += size * w2 * (s[i] * s[j] + a[i] * a[j] + b[i] * b[j] + c[i] * c[j]);
  }
}

void kn_moments_add_tetrahedron(kn_moments* m, const double o[3], const double a[3], const double b[3],
                                const double c[3], bool absolute) {
  double p[3], q[3], r[3], n[3];
  kn_sub3(p, a, o), kn_sub3(q, b, o), kn_sub3(r, c, o);
  kn_cross3(n, q, r);
  double v = (p[0] * n[0] + p[1] * n[1] + p[2] * n[2]) / 6;
  add(m, p, q, r, absolute ? fabs(v) : v, 1.0 / 4, 1.0 / 20);
}

void kn_moments_add_triangle(kn_moments* m, const double o[3], const double a[3], const double b[3],
                             const double c[3]) {
  double p[3], q[3], r[3], e[3], f[3], n[3];
  kn_sub3(p, a, o), kn_sub3(q, b, o), kn_sub3(r, c, o), kn_sub3(e, b, a), kn_sub3(f, c, a);
  kn_cross3(n, e, f);
  add(m, p, q, r, 0.5 * sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]), 1.0 / 3, 1.0 / 12);
}

void kn_moments_inertia(double com[3], double inertia[6], const kn_moments* m) {
  double C[6];
  for (int k = 0; k < 3; k++) com[k] = m->m1[k] / m->m0;
  for (int k = 0; k < 6; k++) C[k] = m->m2[k] - m->m0 * com[row[k]] * com[col[k]];
  inertia[0] = C[1] + C[2], inertia[1] = C[0] + C[2], inertia[2] = C[0] + C[1];
  for (int k = 3; k < 6; k++) inertia[k] = -C[k];
}
