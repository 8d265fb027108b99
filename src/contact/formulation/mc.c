/* Minimal coordinates (jain-2014 section 4, Eq. 36): the velocity stays an unknown and the mass matrix is
   dense,

     [ M  -Jᵀ ] [ v⁺ ]   [ -M v_free ]
     [ J   0  ] [ λ  ] + [   bias    ]     first rows = 0, the others complementary.

   The bilateral rows use J v⁺ = U (not J (v⁺ - v⁻) = …), so that velocity errors do not accumulate. */
#include <string.h>

#include "contact/formulation/formulation.h"

static int extra(const kn_model* model) { return model->nv; }

static kn_status prepare(kn_contact_work* w) {
  int nv = w->model->nv, n = w->total;
  kn_dense_mass(w);
  kn_dense_jacobian(w);
  memset(w->W, 0, (size_t)n * n * sizeof(double));
  for (int i = 0; i < nv; i++)
    memcpy(w->W + (size_t)i * n, w->M + (size_t)i * nv, (size_t)nv * sizeof(double));
  for (int r = 0; r < w->rows; r++)
    for (int i = 0; i < nv; i++) {
      w->W[(size_t)(nv + r) * n + i] = w->J[(size_t)r * nv + i];
      w->W[(size_t)i * n + nv + r] = -w->J[(size_t)r * nv + i];
    }
  return KN_OK;
}

static void offset(kn_contact_work* w, const double* v_free, const double* bias) {
  int nv = w->model->nv;
  for (int i = 0; i < nv; i++) {
    w->q[i] = 0.0;
    for (int j = 0; j < nv; j++) w->q[i] -= w->M[(size_t)i * nv + j] * v_free[j];
  }
  memcpy(w->q + nv, bias, (size_t)w->rows * sizeof(double));
}

static void motion(double* v, kn_contact_work* w, const double* v_free, const double* r) {
  (void)v_free;
  memcpy(v, r, (size_t)w->model->nv * sizeof(double));
}

const kn_formulation kn_formulation_mc = {
    .name = "mc",
    .doc = "minimal coordinates: velocity and multipliers together, dense mass matrix",
    .citation = "A. Jain, Contact dynamics formulation using minimal coordinates, 2014, section 4",
    .dense = true,
    .extra = extra,
    .velocities = extra,
    .prepare = prepare,
    .offset = offset,
    .motion = motion,
};
