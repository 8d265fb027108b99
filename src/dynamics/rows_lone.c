/* The rows of one contact that is alone on a chain in a plane (lone_kernel.h): what kn_rows_velocities,
   kn_rows_push, kn_rows_lambda, kn_rows_apply and kn_rows_inverse would give, bit for bit. */
#include "base/fours.h"
#include "dynamics/kernel.h"

int kn_rows_lone_aim(double u[4], kn_data* d, int link_a, int link_b, const double point[3],
                     const double frame[9], double dt) {
  return kn_dyn_kernels()->lone_aim(u, d, link_a, link_b, point, frame, dt);
}

void kn_rows_lone_push(double Lambda[9], kn_rows* rows, kn_data* d) {
  kn_dyn_kernels()->lone_push(Lambda, rows, d);
}

void kn_rows_lone_move(double* to, const kn_rows* rows, kn_data* d, const double* v, const double lambda[3],
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

void kn_rows_lone_inverse(double* tau, kn_data* d, const double* v, const double* qdd, const double lambda[3],
                          double scale) {
  const kn_model* m = d->model;
  kn_rows_planar_load(d, d->arrow, lambda, scale);
  kn_dyn_kernels()->inverse(tau, d, v, qdd, m->gravity);
  for (int j = 0; j < m->nv && d->layout->has_armature; j++) tau[j] += m->armature[j] * qdd[j];
}
