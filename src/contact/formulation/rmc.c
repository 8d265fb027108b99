/* Reduced minimal coordinates (jain-2014 section 5, Eqs. 37-41): the velocity is eliminated with the dense
   mass matrix,

     u = J M⁻¹ Jᵀ λ + J v_free + bias,   v⁺ = v_free + M⁻¹ Jᵀ λ,

   by Cholesky in O(N³) + O(N² nc). The bilateral rows are free rows of the problem; the solver eliminates
   them first, which makes the matrix Jᵀ Y J of Eq. 39, so the complementarity problem has contact rows only.
   Redundant loops are ordinary. */
#include <string.h>

#include "contact/formulation/formulation.h"
#include "math/dense.h"

static kn_status prepare(kn_contact_work* w) {
  int nv = w->model->nv, n = w->rows;
  kn_dense_mass(w);
  kn_dense_jacobian(w);
  kn_cholesky_factor(nv, w->M, nv, 0.0);
  for (int r = 0; r < n; r++) kn_cholesky_solve(nv, w->X + (size_t)r * nv, w->M, nv, w->J + (size_t)r * nv);
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      w->W[(size_t)i * n + j] = w->W[(size_t)j * n + i] =
          kn_dot(nv, w->J + (size_t)i * nv, w->X + (size_t)j * nv);
  return KN_OK;
}

static void offset(kn_contact_work* w, const double* v_free, const double* bias) {
  kn_gemv(w->rows, w->model->nv, w->q, w->J, w->model->nv, v_free);
  for (int i = 0; i < w->rows; i++) w->q[i] += bias[i];
}

static void motion(double* v, kn_contact_work* w, const double* v_free, const double* r) {
  memcpy(v, v_free, (size_t)w->model->nv * sizeof(double));
  for (int i = 0; i < w->rows; i++) kn_axpy(w->model->nv, v, r[i], w->X + (size_t)i * w->model->nv);
}

const kn_formulation kn_formulation_rmc = {
    .name = "rmc",
    .doc = "reduced minimal coordinates: contact rows only, dense mass matrix",
    .citation = "A. Jain, Contact dynamics formulation using minimal coordinates, 2014, section 5",
    .dense = true,
    .prepare = prepare,
    .offset = offset,
    .motion = motion,
    .reduced = true,
};
