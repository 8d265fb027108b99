/* One contact of a motion in a plane: u = W r + q with W = [a b; b c] of the normal and the one tangent, in
   closed form by its mode (flat.c). Nothing is judged here. */
#pragma once

#include <math.h>
#include <stdbool.h>

typedef int kn_flat_mode;
enum { KN_FLAT_OPEN, KN_FLAT_STICK, KN_FLAT_SLIDE, KN_FLAT_SLIDE_BACK, KN_FLAT_MODES };

typedef struct kn_single {
  double a, b, c, qn, qt, mu;
  double rn, rt;
} kn_single;

/* That of a former answer. */
static inline kn_flat_mode kn_single_former(double rn, double rt, double mu) {
  if (!(rn > 0.0)) return KN_FLAT_OPEN;
  return fabs(rt) <= (1.0 - 1e-9) * mu * rn ? KN_FLAT_STICK : rt > 0.0 ? KN_FLAT_SLIDE : KN_FLAT_SLIDE_BACK;
}

/* r of a mode, with one step of refinement where it sticks; false: it does not hold, or only just. */
static inline __attribute__((always_inline)) bool kn_single_mode(kn_single* s, kn_flat_mode m) {
  if (m == KN_FLAT_OPEN) {
    s->rn = s->rt = 0.0;
    return s->qn >= 0.0;
  }
  if (m == KN_FLAT_STICK) {
    double det = s->a * s->c - s->b * s->b, inv = 1.0 / det;
    if (!(det > 1e-6 * s->a * s->c)) return false;
    s->rn = (s->b * s->qt - s->c * s->qn) * inv, s->rt = (s->b * s->qn - s->a * s->qt) * inv;
    double un = s->qn + (s->a * s->rn + s->b * s->rt), ut = s->qt + (s->b * s->rn + s->c * s->rt);
    s->rn += (s->b * ut - s->c * un) * inv, s->rt += (s->b * un - s->a * ut) * inv;
    return s->rn >= 0.0 && fabs(s->rt) <= s->mu * s->rn;
  }
  double way = m == KN_FLAT_SLIDE ? s->mu : -s->mu, d = s->a + way * s->b;
  if (!(d > 1e-6 * s->a)) return false;
  s->rn = -s->qn / d, s->rt = way * s->rn;
  return s->rn >= 0.0 && (s->qt + s->b * s->rn + s->c * s->rt) * way <= 0.0;
}

/* r in `first` or, if that does not hold, the mode that its r suggests. How many were tried; 0: neither
   holds. */
static inline int kn_single_solve(kn_single* s, kn_flat_mode first) {
  if (kn_single_mode(s, first)) return 1;
  kn_flat_mode second = !(s->qn < 0.0)           ? KN_FLAT_OPEN
                        : first != KN_FLAT_STICK ? KN_FLAT_STICK
                        : s->rt > 0.0            ? KN_FLAT_SLIDE
                                                 : KN_FLAT_SLIDE_BACK;
  return kn_single_mode(s, second) ? 2 : 0;
}
