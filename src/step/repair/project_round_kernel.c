/* One sweep of project_round.c without branches: half of the rows push and half do not, and nobody knows which. */
#include "base/isa.h"

#include "base/extreme.h"
#include "step/repair/project_round.h"

double KN_NAME(kn_round_sweep)(kn_round* r, int rows) {
  const double relax = 1.5;
  double worst = 0.0;
  kn_v4* shift = r->shift;
  for (kn_round_row *k = r->row, *end = k + rows; k < end; k++) {
    kn_v4 *a = &shift[k->a], *b = &shift[k->b], n = k->n;
    double over = -k->gap - v4_dot(n, v4_sub(*a, *b));
    double next = kn_max(k->push + relax * over * k->inverse, 0.0), e = next - k->push;
    worst = kn_max(worst, over);
    k->push = next;
    *a = v4_axpy(*a, e * k->wa, n), *b = v4_axpy(*b, -e * k->wb, n);
  }
  return worst;
}
