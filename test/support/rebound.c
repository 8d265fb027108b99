/* The e of an impact on a compliant contact F = K δⁿ (1 + c δ̇), in closed form. For a mass m that meets such a contact with v and
   no other force, m δ̇ dδ̇/dδ = -K δⁿ (1 + c δ̇), so ∫ δ̇ dδ̇/(1 + c δ̇) between two passages of the same δ is zero: with G(x) = x - ln(1 + x)

     G(c v) = G(-c e v)

   whatever K, m and n. */
#include "rebound.h"

#include <math.h>

static double G(double x) { return x - log(1.0 + x); }

double kn_soft_restitution(double c, double speed) {
  double x = c * speed, low = 0.0, high = 1.0;
  if (!(x > 1e-4)) return 1.0 - 2.0 / 3.0 * x; /* the next term is of the order x² */
  for (int i = 0; i < 60; i++) {
    double e = 0.5 * (low + high);
    if (x * e < 1.0 && G(-x * e) < G(x))
      low = e;
    else
      high = e;
  }
  return 0.5 * (low + high);
}
