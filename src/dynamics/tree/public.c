/* The public functions: argument checks around the stages. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/extreme.h"
#include "dynamics/tree/kernel.h"
#include "spatial/spatial.h"

#define REQUIRE_DATA(data, model)                                                                            \
  KN_REQUIRE((model) != NULL);                                                                               \
  KN_REQUIRE((data) != NULL);                                                                                \
  KN_REQUIRE((data)->model == (model))
#define REQUIRE_STATE(state, model)                                                                          \
  KN_REQUIRE((state) != NULL);                                                                               \
  KN_REQUIRE((state)->model == (model))

static kn_status check_finite(const double* x, int n, const char* what) {
  if (kn_all_finite(x, n)) return KN_OK;
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return kn_fail(KN_NOT_FINITE, "%s[%d] is %g", what, i, x[i]);
  return KN_OK;
}

static kn_status check_state(const kn_state* s, const kn_model* m) {
  KN_TRY(check_finite(s->q, m->nq, "q"));
  return check_finite(s->v, m->nv, "v");
}

kn_status kn_kinematics(const kn_model* model, const kn_state* state, kn_data* data) {
  REQUIRE_DATA(data, model);
  REQUIRE_STATE(state, model);
  KN_TRY(check_state(state, model));
  kn_dyn_position(data, model, state->q);
  kn_dyn_velocity(data, model, state->v);
  return KN_OK;
}

static void place_pose(kn_pose* pose, const kn_data* d, int link, const kn_pose* in_link) {
  kn_pose T = kn_pose_identity();
  if (link >= 0) kn_link_pose(&T, d, link);
  *pose = kn_pose_mul(&T, in_link);
}

kn_status kn_body_pose(kn_pose* pose, const kn_model* model, const kn_data* data, kn_body body) {
  REQUIRE_DATA(data, model);
  KN_REQUIRE(pose != NULL);
  KN_REQUIRE(body >= KN_WORLD && body < model->nbody);
  if (body == KN_WORLD)
    *pose = kn_pose_identity();
  else
    place_pose(pose, data, model->place[body].link, &model->place[body].in_link);
  return KN_OK;
}

kn_status kn_geom_pose(kn_pose* pose, const kn_model* model, const kn_data* data, kn_geom geom) {
  REQUIRE_DATA(data, model);
  KN_REQUIRE(pose != NULL);
  KN_REQUIRE(geom >= 0 && geom < model->ngeom);
  place_pose(pose, data, model->geom_place[geom].link, &model->geom_place[geom].in_link);
  return KN_OK;
}

kn_status kn_frame_pose(kn_pose* pose, const kn_model* model, const kn_data* data, kn_frame frame) {
  REQUIRE_DATA(data, model);
  KN_REQUIRE(pose != NULL);
  KN_REQUIRE(frame >= 0 && frame < model->nframe);
  const kn_frame_def* f = &model->frame[frame];
  kn_pose body, local = kn_pose_from(f->pos, f->quat);
  KN_TRY(kn_body_pose(&body, model, data, f->body));
  *pose = kn_pose_mul(&body, &local);
  return KN_OK;
}

/* The point meant (NULL: the body origin) and the link it rides on. */
static kn_status body_point(double p[3], int* link, const kn_model* model, const kn_data* data, kn_body body,
                            const double point[3]) {
  KN_REQUIRE(body >= KN_WORLD && body < model->nbody);
  *link = body == KN_WORLD ? -1 : model->place[body].link;
  if (point) {
    kn_copy3(p, point);
    return KN_OK;
  }
  kn_pose T;
  KN_TRY(kn_body_pose(&T, model, data, body));
  kn_copy3(p, T.p);
  return KN_OK;
}

kn_status kn_body_velocity(double velocity[6], const kn_model* model, const kn_data* data, kn_body body,
                           const double point[3]) {
  REQUIRE_DATA(data, model);
  KN_REQUIRE(velocity != NULL);
  double p[3] = {0};
  int link = -1;
  KN_TRY(body_point(p, &link, model, data, body, point));
  memset(velocity, 0, 6 * sizeof(double));
  if (link < 0) return KN_OK;
  kn_v4 w = data->kin.link[link].w, arm = v4_sub(v4_load3(p), data->kin.link[link].o);
  v4_store3(velocity, w);
  v4_store3(velocity + 3, v4_add(data->kin.link[link].vo, v4_cross(w, arm)));
  return KN_OK;
}

kn_status kn_body_poses(kn_pose* pose, const kn_model* model, const kn_data* data) {
  REQUIRE_DATA(data, model);
  KN_REQUIRE(pose != NULL || model->nbody == 0);
  for (int i = 0; i < model->nbody; i++)
    place_pose(&pose[i], data, model->place[i].link, &model->place[i].in_link);
  return KN_OK;
}

kn_status kn_geom_poses(kn_pose* pose, const kn_model* model, const kn_data* data) {
  REQUIRE_DATA(data, model);
  KN_REQUIRE(pose != NULL || model->ngeom == 0);
  for (int i = 0; i < model->ngeom; i++)
    place_pose(&pose[i], data, model->geom_place[i].link, &model->geom_place[i].in_link);
  return KN_OK;
}

kn_status kn_frame_poses(kn_pose* pose, const kn_model* model, const kn_data* data) {
  REQUIRE_DATA(data, model);
  KN_REQUIRE(pose != NULL || model->nframe == 0);
  for (int i = 0; i < model->nframe; i++) KN_TRY(kn_frame_pose(&pose[i], model, data, i));
  return KN_OK;
}

kn_status kn_body_velocities(double* velocity, const kn_model* model, const kn_data* data) {
  REQUIRE_DATA(data, model);
  KN_REQUIRE(velocity != NULL || model->nbody == 0);
  for (int i = 0; i < model->nbody; i++) KN_TRY(kn_body_velocity(velocity + 6 * i, model, data, i, NULL));
  return KN_OK;
}

kn_status kn_jacobian(double* J, const kn_model* model, const kn_data* data, kn_body body,
                      const double point[3]) {
  REQUIRE_DATA(data, model);
  KN_REQUIRE(J != NULL || model->nv == 0);
  double p[3] = {0};
  int link = -1;
  size_t nv = (size_t)model->nv;
  KN_TRY(body_point(p, &link, model, data, body, point));
  if (nv) memset(J, 0, 6 * nv * sizeof(double));
  for (; link >= 0; link = model->link[link].parent) {
    const kn_link* l = &model->link[link];
    kn_v4 arm = v4_sub(v4_load3(p), data->kin.link[link].o);
    for (int j = l->v; j < l->v + l->nv; j++) {
      double a[3], v[3];
      v4_store3(a, data->kin.dof[j].sa);
      v4_store3(v, v4_add(data->kin.dof[j].sl, v4_cross(data->kin.dof[j].sa, arm)));
      for (size_t k = 0; k < 3; k++) J[k * nv + (size_t)j] = a[k], J[(3 + k) * nv + (size_t)j] = v[k];
    }
  }
  return KN_OK;
}

kn_status kn_jacobian_bias(double bias[6], const kn_model* model, kn_data* data, kn_body body,
                           const double point[3]) {
  REQUIRE_DATA(data, model);
  KN_REQUIRE(bias != NULL);
  double p[3] = {0};
  int link = -1;
  KN_TRY(body_point(p, &link, model, data, body, point));
  memset(bias, 0, 6 * sizeof(double));
  if (link < 0) return KN_OK;
  kn_dyn_kernels()->bias_acceleration(data, data->v);
  kn_v4 w = data->dyn[link].wb, arm = v4_sub(v4_load3(p), data->kin.link[link].o);
  v4_store3(bias, data->dyn[link].al);
  v4_store3(bias + 3,
            v4_add3(data->dyn[link].a, v4_cross(data->dyn[link].al, arm), v4_cross(w, v4_cross(w, arm))));
  return KN_OK;
}

kn_status kn_forward_dynamics(double* qdd, const kn_model* model, const kn_state* state, kn_data* data,
                              const double* tau) {
  REQUIRE_DATA(data, model);
  REQUIRE_STATE(state, model);
  KN_REQUIRE(qdd != NULL || model->nv == 0);
  KN_TRY(kn_dyn_forward(qdd, data, model, state->q, state->v, tau));
  if (kn_all_finite(qdd, model->nv)) return KN_OK;
  memset(qdd, 0, sizeof(double) * (size_t)model->nv);
  KN_TRY(check_state(state, model));
  if (tau) KN_TRY(check_finite(tau, model->nv, "tau"));
  return kn_fail(KN_NOT_FINITE, "accelerations overflow");
}

kn_status kn_inverse_dynamics(double* tau, const kn_model* model, const kn_state* state, kn_data* data,
                              const double* qdd) {
  KN_TRY(kn_kinematics(model, state, data));
  KN_REQUIRE((tau && qdd) || model->nv == 0);
  KN_TRY(check_finite(qdd, model->nv, "qdd"));
  kn_dyn_kernels()->inverse(tau, data, state->v, qdd, model->gravity);
  for (int j = 0; j < model->nv; j++) tau[j] += model->armature[j] * qdd[j];
  return KN_OK;
}

kn_status kn_bias_force(double* bias, const kn_model* model, const kn_state* state, kn_data* data) {
  KN_TRY(kn_kinematics(model, state, data));
  KN_REQUIRE(bias != NULL || model->nv == 0);
  kn_dyn_bias(bias, data, model, state->v);
  return KN_OK;
}

kn_status kn_mass_matrix(double* M, const kn_model* model, const kn_state* state, kn_data* data) {
  KN_TRY(kn_kinematics(model, state, data));
  KN_REQUIRE(M != NULL || model->nv == 0);
  kn_crba(M, data, model);
  return KN_OK;
}

kn_status kn_passive_force(double* tau, const kn_model* model, const kn_state* state, kn_data* data) {
  KN_TRY(kn_kinematics(model, state, data));
  KN_REQUIRE(tau != NULL || model->nv == 0);
  for (int j = 0; j < model->nv; j++) tau[j] = 0.0;
  kn_dyn_passive(tau, data, model, state->q, state->v);
  return KN_OK;
}

kn_status kn_actuator_force(double* tau, const kn_model* model, const kn_state* state, kn_data* data) {
  REQUIRE_DATA(data, model);
  REQUIRE_STATE(state, model);
  KN_REQUIRE(tau != NULL || model->nv == 0);
  KN_TRY(check_state(state, model));
  KN_TRY(check_finite(state->ctrl, model->nu, "ctrl"));
  for (int j = 0; j < model->nv; j++) tau[j] = 0.0;
  kn_dyn_actuate(tau, model, state->q, state->v, state->ctrl);
  return KN_OK;
}

kn_status kn_actuator_values(double* force, const kn_model* model, const kn_state* state) {
  KN_REQUIRE(model != NULL);
  REQUIRE_STATE(state, model);
  KN_REQUIRE(force != NULL || model->nu == 0);
  KN_TRY(check_state(state, model));
  KN_TRY(check_finite(state->ctrl, model->nu, "ctrl"));
  for (int i = 0; i < model->nu; i++) {
    bool inside;
    force[i] = kn_dyn_actuator(&inside, model, i, state->q, state->v, state->ctrl[i]);
  }
  return KN_OK;
}

/* Factors of the present position without extra diagonal. */
static kn_status plain_factors(kn_data* data, const kn_model* model) {
  return data->factored == 1 ? KN_OK : kn_dyn_factor(data, model, NULL);
}

kn_status kn_mass_pivots(double* diagonal, double* pivots, const kn_model* model, const kn_state* state,
                         kn_data* data) {
  KN_TRY(kn_kinematics(model, state, data));
  if (diagonal) kn_crba_diagonal(diagonal, data, model);
  if (!pivots) return KN_OK;
  KN_TRY(plain_factors(data, model));
  kn_data_fill(data);
  for (int j = 0; j < model->nv; j++) pivots[j] = 1.0 / data->fac[j].dinv;
  return KN_OK;
}

kn_status kn_solve_mass(double* X, const kn_model* model, kn_data* data, int columns) {
  REQUIRE_DATA(data, model);
  KN_REQUIRE(columns >= 0);
  KN_REQUIRE(X != NULL || model->nv == 0 || columns == 0);
  KN_TRY(plain_factors(data, model));
  kn_dyn_solve(X, data, model, columns);
  return KN_OK;
}

static kn_status check_nodes(const double* Lambda, const kn_model* m, const kn_node* node, int count) {
  KN_REQUIRE(count >= 0);
  KN_REQUIRE((node != NULL && Lambda != NULL) || count == 0);
  for (int i = 0; i < count; i++) {
    if (node[i].body < KN_WORLD || node[i].body >= m->nbody)
      return kn_fail(KN_BAD_ARGUMENT, "node %d: no body %d", i, node[i].body);
    KN_TRY(check_finite(node[i].point, 3, "node point"));
  }
  return KN_OK;
}

kn_status kn_compliance_recursive(double* Lambda, const kn_model* model, kn_data* data, const kn_node* node,
                                  int count) {
  REQUIRE_DATA(data, model);
  KN_TRY(check_nodes(Lambda, model, node, count));
  KN_TRY(plain_factors(data, model));
  if (count) kn_dyn_compliance_recursive(Lambda, data, model, node, count);
  return KN_OK;
}

kn_status kn_compliance(double* Lambda, const kn_model* model, kn_data* data, const kn_node* node,
                        int count) {
  REQUIRE_DATA(data, model);
  KN_TRY(check_nodes(Lambda, model, node, count));
  KN_TRY(plain_factors(data, model));
  return kn_dyn_compliance(Lambda, data, model, node, count);
}

kn_status kn_energy_of(kn_energy* energy, const kn_model* model, const kn_state* state, kn_data* data) {
  REQUIRE_DATA(data, model);
  REQUIRE_STATE(state, model);
  KN_REQUIRE(energy != NULL);
  KN_TRY(check_state(state, model));
  kn_dyn_energy(energy, data, model, state->q, state->v);
  return KN_OK;
}

kn_status kn_momentum(double linear[3], double angular[3], double com[3], const kn_model* model,
                      const kn_state* state, kn_data* data) {
  REQUIRE_DATA(data, model);
  REQUIRE_STATE(state, model);
  KN_TRY(check_state(state, model));
  kn_dyn_momentum(linear, angular, com, data, model, state->q, state->v);
  return KN_OK;
}
