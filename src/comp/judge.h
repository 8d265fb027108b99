/* The judge's own product, one function per instruction set; the same bits from each. */
#ifndef KN_COMP_JUDGE_H
#define KN_COMP_JUDGE_H

/* u_i = q_i + w_i . r for one to three rows w_i of n entries, one after the other. */
typedef void (*kn_judge_rows)(double* u, const double* w, const double* q, const double* r, int n, int rows);

void kn_judge_rows_base(double* u, const double* w, const double* q, const double* r, int n, int rows);
#if defined(__x86_64__)
void kn_judge_rows_avx2(double* u, const double* w, const double* q, const double* r, int n, int rows);
void kn_judge_rows_avx512(double* u, const double* w, const double* q, const double* r, int n, int rows);
#endif

#endif
