/* The judge's own product, one function per instruction set; the same bits from each. */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "base/extreme.h"
#include "base/isa.h"
#include "comp/problem/problem.h"
#include "knuckle/comp.h"

/* u_i = q_i + w_i . r for rows w_i of n entries, one after the other. */
typedef void (*kn_judge_product)(double* u, const double* w, const double* q, const double* r, int n,
                                 int rows);

/* Contacts in space with finite friction, one array per quantity: r, u and q in the order normal, tangents;
   diagonal of W normal and mean tangential; mu. Out: each one's residual in the units of the problem and in
   scaled ones, its largest scaled entries of q, r and u, and their squares in the units of the problem. */
enum { KN_JUDGE_MOST = 32 };
typedef struct kn_judge_cones {
  int count;
  double floor, common; /* diagonals up to floor take the unit `common` */
  double r[3][KN_JUDGE_MOST], u[3][KN_JUDGE_MOST], q[3][KN_JUDGE_MOST];
  double wn[KN_JUDGE_MOST], wt[KN_JUDGE_MOST], mu[KN_JUDGE_MOST];
  double e[KN_JUDGE_MOST], es[KN_JUDGE_MOST];
  double q_max[KN_JUDGE_MOST], r_max[KN_JUDGE_MOST], u_max[KN_JUDGE_MOST];
  double qq[KN_JUDGE_MOST], rr[KN_JUDGE_MOST], uu[KN_JUDGE_MOST];
} kn_judge_cones;

typedef struct kn_judge_ops {
  kn_judge_product product;
  void (*cones)(kn_judge_cones* c);
} kn_judge_ops;

/* A singular W has directions along which r may run away without moving u by more than rounding; measured
   against such an r every u would look small. In unit-diagonal scaling answers beyond this many q are not
   taken as a measure: a mass ratio of 1e6 gives them 1e3 to 1e6. */
#define KN_LARGEST_ANSWER 1e6

typedef struct kn_judge_sizes {
  double q2, r2, u2;          /* sums of squares in the units of the problem */
  double q_max, r_max, u_max; /* largest, scaled */
} kn_judge_sizes;

/* +inf unless the answer is a number; 0/0 is 0. No branch on a = 0, which happens now and then and cannot be
   foretold. */
static inline double kn_judge_ratio(double a, double b) {
  if (!(b < INFINITY)) return INFINITY;
  double x = a / b;
  return x >= 0.0 ? x : a == 0.0 ? 0.0 : INFINITY;
}

/* Errors from the sum of the squares of the residuals and the largest scaled one. */
static inline __attribute__((always_inline)) kn_judgement kn_judge_relative(double residual2, double scaled,
                                                                            kn_judge_sizes s) {
  double size2 = kn_max(kn_max(s.u2, s.r2), s.q2);
  double largest = kn_max(s.u_max, s.r_max), most = KN_LARGEST_ANSWER * s.q_max;
  return (kn_judgement){sqrt(kn_judge_ratio(residual2, size2)),
                        kn_judge_ratio(scaled, kn_max(largest < most ? largest : most, s.q_max))};
}

KN_KERNEL_TABLE(kn_judge_ops, kn_judge_ops);

/* Both residuals of an LCP in one pass over M. */
KN_KERNEL(void, kn_lcp_residuals, (double* original, double* scaled, const kn_lcp* lcp, const double* z));
void kn_lcp_residuals(double* original, double* scaled, const kn_lcp* lcp, const double* z);
