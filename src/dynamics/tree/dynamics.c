/* The stages, with run-time choice of the kernels. */
#include "dynamics/tree/dynamics.h"

#include <string.h>

#include "base/error.h"
#include "dynamics/tree/kernel.h"

void kn_dyn_position(kn_data* data, const kn_model* model, const double* q) {
  (void)model;
  data->factored = 0;
  kn_dyn_kernels()->position(&data->kin, data, q);
}

void kn_data_swap(kn_data* data) {
  kn_kin kin = data->kin;
  data->kin = data->aux;
  data->aux = kin;
}

void kn_data_fill(kn_data* data) {
  if (data->kin.lean || data->lean_factors) kn_dyn_kernels()->fill(data);
}

void kn_dyn_velocity(kn_data* data, const kn_model* model, const double* v) {
  kn_data_fill(data);
  if (data->layout->planar)
    kn_dyn_plane_velocity(data, model, v);
  else if (model->nv)
    memcpy(data->v, v, sizeof(double) * (size_t)model->nv);
  kn_dyn_kernels()->velocity(&data->kin, data, v);
}

void kn_dyn_plane_velocity(kn_data* data, const kn_model* model, const double* v) {
  memcpy(data->v, v, sizeof(double) * (size_t)model->nv);
  kn_dyn_kernels()->plane_velocity(data, v);
}

static kn_status singular(const kn_model* model, int bad) {
  const char* name = model->joint[model->link[model->dof_link[bad]].joint].name;
  return kn_fail(KN_BAD_MODEL, "joint '%s' (dof %d) moves no inertia at this position", name ? name : "",
                 bad);
}

kn_status kn_dyn_factor(kn_data* data, const kn_model* model, const double* extra) {
  int bad = kn_dyn_kernels()->factor(data, extra);
  data->factored = bad >= 0 ? 0 : extra ? 2 : 1;
  return bad < 0 ? KN_OK : singular(model, bad);
}

void kn_dyn_accelerate(double* qdd, kn_data* data, const kn_model* model, const double* v,
                       const double* tau) {
  (void)model;
  kn_dyn_kernels()->accelerate(qdd, data, v, tau);
}

kn_status kn_dyn_forward(double* qdd, kn_data* data, const kn_model* model, const double* q, const double* v,
                         const double* tau) {
  return kn_dyn_forward_extra(qdd, data, model, q, v, tau, NULL);
}

kn_status kn_dyn_forward_extra(double* qdd, kn_data* data, const kn_model* model, const double* q,
                               const double* v, const double* tau, const double* extra) {
  int bad = kn_dyn_kernels()->forward(qdd, data, q, v, tau, extra);
  data->factored = bad >= 0 ? 0 : extra ? 2 : 1;
  return bad < 0 ? KN_OK : singular(model, bad);
}

void kn_dyn_inverse(double* tau, kn_data* data, const kn_model* model, const double* v, const double* qdd) {
  kn_dyn_kernels()->inverse(tau, data, v, qdd, model->gravity);
  for (int j = 0; j < model->nv && data->layout->has_armature; j++) tau[j] += model->armature[j] * qdd[j];
}

void kn_dyn_bias(double* bias, kn_data* data, const kn_model* model, const double* v) {
  kn_dyn_kernels()->inverse(bias, data, v, NULL, model->gravity);
}

void kn_dyn_solve(double* X, kn_data* data, const kn_model* model, int columns) {
  (void)model;
  kn_data_fill(data);
  for (int c = 0; c < columns; c++) kn_dyn_kernels()->solve(X + c, data, columns);
}

void kn_dyn_multiply(double* y, kn_data* data, const kn_model* model, const double* x) {
  kn_dyn_kernels()->inverse(y, data, data->zero, x, data->zero3);
  for (int j = 0; j < model->nv; j++) y[j] += model->armature[j] * x[j];
}

void kn_link_pose(kn_pose* pose, const kn_data* data, int link) {
  const kn_v4* R = data->kin.link[link].R;
  kn_v4 own[3], o = data->kin.link[link].o;
  if (data->kin.lean) {
    kn_plane_axes(own, &data->kin, data, link);
    R = own, o = kn_plane_origin(&data->kin, data, link);
  }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) pose->R[3 * i + j] = ((const double*)&R[j])[i];
  v4_store3(pose->p, o);
}

void kn_link_velocity(double velocity[6], const kn_data* data, int link) {
  kn_v4 w = data->kin.link[link].w, v = data->kin.link[link].vo;
  if (data->kin.lean) {
    const kn_v4* e = data->layout->link[0].R0;
    const double* plane = data->kin.plane + link;
    int n = kn_plane_stride(data->model->nlink);
    w = v4_scale(e[2], plane[KN_PLANE_W * n]);
    v = v4_add(v4_scale(e[0], plane[KN_PLANE_VX * n]), v4_scale(e[1], plane[KN_PLANE_VY * n]));
  }
  v4_store3(velocity, w);
  v4_store3(velocity + 3, v);
}
