/* The rows of one contact that is alone on a chain in a plane (lone_kernel.h): what kn_rows_velocities,
   kn_rows_push and kn_rows_lambda would leave, bit for bit. */
#include "base/fours.h"
#include "dynamics/kernel.h"

int kn_rows_lone_aim(double u[4], kn_data* d, int link_a, int link_b, const double point[3],
                     const double frame[9], double dt) {
  kn_planar_arrow* w = d->arrow; /* that of the first block */
  if (!d->layout->chain || !d->planar_kin || d->planar_kin != d->kin.link || link_a == link_b) return 0;
  w->stamp = 0;
  w->link[0] = link_a, w->link[1] = link_b, w->top = link_a > link_b ? link_a : link_b;
  if (!kn_dyn_kernels()->lone_aim(u, w, d, point, frame, dt)) return 0;
  kn_few_copy(w->point, point, 3);
  kn_few_copy(w->dir, frame, 9);
  w->stamp = d->planar_stamp;
  return w->row[0][1];
}

void kn_rows_lone_push(double Lambda[9], kn_rows* rows, kn_data* d) {
  const kn_planar_arrow* w = d->arrow;
  kn_rows_index* ix = rows->index;
  double l[3];
  int t = w->row[0][1], s = 3 - t; /* the tangent in the plane, the other */
  rows->rows = 3;
  ix->planar = 1, ix->loose = 0, ix->pairs = 1;
  ix->pair[0] = (kn_row_pair){.a = 0, .b = t, .top = w->top};
  ix->solved = d->model->nlink <= KN_PLANAR_SHORT;
  kn_dyn_kernels()->lone_push(l, rows->Y, ix->solved ? ix->X : NULL, w, d);
  Lambda[0] = l[0], Lambda[t] = Lambda[3 * t] = l[1], Lambda[4 * t] = l[2];
  Lambda[s] = Lambda[3 * s] = Lambda[4 * s] = Lambda[5] = Lambda[7] = 0.0;
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

bool kn_rows_lone_balance(double* tau, const kn_data* d, const double* v_bias, const double* v,
                          const double* v_end, double rate, const double lambda[3]) {
  const kn_planar_arrow* w = d->arrow;
  if (!d->layout->brief || d->layout->has_armature || w->stamp != d->planar_stamp) return false;
  kn_dyn_kernels()->balance(tau, d, v_bias, v, v_end, rate, w, rate * lambda[0], rate * lambda[w->row[0][1]]);
  return true;
}
