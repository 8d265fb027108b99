/* The elimination of least_norm.c, four columns at a time. */
#include "base/isa.h"

#include "contact/formulation/least_norm.h"

typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

/* Entries left of the diagonal and behind the last row change too; nobody reads them. */
void KN_NAME(kn_few_eliminate)(double (*A)[KN_FEW], int k, int m, double inverse) {
  const double* from = A[k];
  for (int i = k + 1; i < m; i++) {
    double* restrict row = A[i], l = from[i] * inverse;
    for (int j = i & ~3; j < m; j += 4) *(four*)(row + j) -= l * *(const four*)(from + j);
  }
}
