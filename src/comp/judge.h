/* The judge's own product, one function per instruction set; the same bits from each. */
#ifndef KN_COMP_JUDGE_H
#define KN_COMP_JUDGE_H

#include <stdbool.h>

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

extern const kn_judge_ops kn_judge_ops_base;
#if defined(__x86_64__)
extern const kn_judge_ops kn_judge_ops_avx2, kn_judge_ops_avx512;
#endif

#endif
