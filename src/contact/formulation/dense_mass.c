#include "contact/formulation/formulation.h"

#include <math.h>
#include <string.h>

void kn_dense_mass(kn_contact_work* w) {
  int nv = w->model->nv;
  kn_crba(w->M, w->data, w->model);
  if (!w->diagonal) return;
  for (int i = 0; i < nv; i++) w->M[(size_t)i * nv + i] += w->diagonal[i];
}

void kn_dense_jacobian(kn_contact_work* w) {
  int nv = w->model->nv;
  memset(w->J, 0, (size_t)w->rows * nv * sizeof(double));
  for (int g = 0, row = 0; g < w->count; row += w->geometry[g].ndof ? 1 : w->geometry[g].rows, g++) {
    int rows = w->geometry[g].ndof ? 1 : w->geometry[g].rows;
    for (int k = 0; k < rows; k++) {
      double unit[3] = {k == 0, k == 1, k == 2};
      kn_rows_force(w->J + (size_t)(row + k) * nv, w->data, w->model, &w->geometry[g], 1, unit);
    }
  }
  /* Entries that are rounding of the largest one are zero: a direction in which nothing can move must have no
     compliance at all, not 1e-33 of it (the tree recursion gets an exact zero). */
  double most = 0.0;
  size_t n = (size_t)w->rows * nv;
  for (size_t i = 0; i < n; i++) most = fmax(most, fabs(w->J[i]));
  for (size_t i = 0; i < n; i++)
    if (fabs(w->J[i]) < 1e-15 * most) w->J[i] = 0.0;
}
