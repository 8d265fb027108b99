/* The rows of one to three contacts that are all there is on a chain in a plane (few_kernel.h): what
   kn_rows_velocities, kn_rows_push, kn_rows_lambda, kn_rows_apply and kn_rows_inverse would give, bit for
   bit. */
#include "base/fours.h"
#include "dynamics/tree/kernel.h"

bool kn_rows_few_fit(const kn_rows* rows, const kn_data* d, int count) {
  const kn_rows_index* ix = rows->index;
  return ix->X && 6 * (size_t)count * (size_t)d->model->nv <= ix->y_cap;
}

int kn_rows_few_aim(double u[4], kn_data* d, int g, int link_a, int link_b, const double point[3],
                    const double frame[9], double dt) {
  return kn_dyn_kernels()->few_aim(u, d, g, link_a, link_b, point, frame, dt);
}

void kn_rows_few_push(double* Lambda, kn_rows* rows, kn_data* d, int count) {
  kn_dyn_kernels()->few_push(Lambda, rows, d, count);
}

void kn_rows_few_move(double* to, const kn_rows* rows, kn_data* d, const double* v, const double* lambda,
                      double* scratch) {
  const kn_rows_index* ix = rows->index;
  int nv = d->model->nv;
  if (!ix->solved) {
    kn_rows_planar_apply(scratch, rows, d, lambda);
    for (int i = 0; i < nv; i++) to[i] = v[i] + kn_apart(scratch[i]);
    return;
  }
  const kn_two *X = (const kn_two*)ix->X, l = {lambda[0], lambda[ix->pair[0].b]};
  for (int i = 0; i < nv; i += 2) { /* there is room (fours.h) */
    kn_two a = X[i] * l, b = X[i + 1] * l;
    *(kn_two*)(to + i) = *(const kn_two*)(v + i) + (kn_two){a[0] + a[1], b[0] + b[1]};
  }
}

void kn_rows_few_inverse(double* tau, kn_data* d, const double* v, const double* qdd, const double* lambda,
                         int count, double scale) {
  const kn_model* m = d->model;
  for (int g = 0; g < count; g++) kn_rows_planar_load(d, d->arrow + g, lambda + 3 * g, scale);
  kn_dyn_kernels()->inverse(tau, d, v, qdd, m->gravity);
  for (int j = 0; j < m->nv && d->layout->has_armature; j++) tau[j] += m->armature[j] * qdd[j];
}
