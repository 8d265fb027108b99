/* Poses, velocities and accelerations of the bodies at the state whose sensors are read. */
#include "spatial/spatial.h"
#include "step/sense/sense.h"

static void take(double out[3], kn_v4 x) { v4_store3(out, x); }

void kn_sense_place(kn_sensors* s) {
  const kn_model* m = s->model;
  for (int b = 0; b < m->nbody; b++) {
    kn_sense_body* B = &s->body[b];
    kn_body_pose(&B->pose, m, s->data, b);
    kn_pose_apply(B->com, &B->pose, m->body[b].com);
    B->mass = m->body[b].mass;
    kn_sense_spin(B->w, s, b);
    kn_sense_velocity(B->v, s, b, B->com);
  }
}

/* Turn of one joint in the body's axes, as a quaternion: rotations about the axis, or its own. */
static void turn_of(double out[4], const kn_model* m, const kn_joint_def* j, const kn_link* l, int k,
                    const double* q) {
  double w[3];
  kn_quat_identity(out);
  if (l->type == KN_LINK_BALL) kn_quat_normalize(out, q + l->q);
  if (l->type != KN_LINK_HINGE && l->type != KN_LINK_SCREW) return;
  const double* axis = j->type == KN_JOINT_UNIVERSAL && k == 1 ? j->axis2 : j->axis;
  kn_scale3(w, axis, q[l->q] - l->ref);
  kn_quat_exp(out, w);
  (void)m;
}

/* Products of quaternions along the tree keep their sign from step to step, which a rotation matrix does not
   know. Joints are in the order in which they act. */
void kn_sense_quats(kn_sensors* s, const double* q) {
  const kn_model* m = s->model;
  double turn[4];
  for (int b = 0; b < m->nbody; b++) memcpy(s->body[b].quat, m->body[b].quat, sizeof turn);
  for (int j = 0; j < m->njoint; j++) {
    double* own = s->body[m->joint[j].body].quat;
    for (int k = 0; k < m->joint_nlink[j]; k++) {
      const kn_link* l = &m->link[m->joint_link[j] + k];
      if (l->type == KN_LINK_FREE) {
        kn_quat_normalize(own, q + l->q + 3);
        continue;
      }
      turn_of(turn, m, &m->joint[j], l, k, q);
      kn_quat_mul(own, own, turn);
    }
  }
  for (int b = 0; b < m->nbody; b++) {
    double* own = s->body[b].quat;
    if (m->body[b].parent >= 0) kn_quat_mul(own, s->body[m->body[b].parent].quat, own);
    kn_quat_normalize(own, own);
  }
}

/* Outwards: of a link at r from the one above (p),
     al = al_p + S qdd + w_p × S v,   a = a_p + al_p × r + w_p × (w_p × r) + T qdd + 2 w_p × T v
   with S, T its dofs' angular and linear motions. */
static void accelerate_link(kn_sensors* s, int i, const double* v) {
  static const double none[3] = {0.0, 0.0, 0.0};
  const kn_link* l = &s->model->link[i];
  const kn_link_kin* kin = &s->data->kin.link[i];
  kn_sense_link* L = &s->link[i];
  double wp[3] = {0.0, 0.0, 0.0}, r[3], c[3];
  const double *al = none, *a = none;
  if (l->parent >= 0) {
    take(wp, s->data->kin.link[l->parent].w);
    al = s->link[l->parent].al, a = s->link[l->parent].a;
  }
  take(r, kin->r);
  kn_copy3(L->al, al);
  kn_copy3(L->a, a);
  if (l->type != KN_LINK_FREE) { /* a free body's coordinates are those of the world */
    kn_cross_add3(L->a, al, r);
    kn_cross3(c, wp, r);
    kn_cross_add3(L->a, wp, c);
  }
  for (int j = l->v; j < l->v + l->nv; j++) {
    double S[3], T[3];
    take(S, s->data->kin.dof[j].sa);
    take(T, s->data->kin.dof[j].sl);
    kn_axpy3(L->al, s->qdd[j], S);
    kn_axpy3(L->a, s->qdd[j], T);
    kn_cross3(c, wp, S);
    kn_axpy3(L->al, v[j], c);
    kn_cross3(c, wp, T);
    kn_axpy3(L->a, 2.0 * v[j], c);
  }
}

void kn_sense_accelerate(kn_sensors* s, const double* v) {
  const kn_model* m = s->model;
  for (int i = 0; i < m->nlink; i++) accelerate_link(s, i, v);
  for (int b = 0; b < m->nbody; b++) {
    kn_sense_body* B = &s->body[b];
    double al[3], w[3], I[9], Iw[3];
    kn_sense_acceleration(B->F, s, b, B->com);
    kn_scale3(B->F, B->F, B->mass);
    kn_sense_spin_rate(al, s, b);
    kn_mul33tv(al, B->pose.R, al);
    kn_mul33tv(w, B->pose.R, B->w);
    kn_sym_expand(I, m->body[b].inertia);
    kn_mul33v(Iw, I, w);
    kn_mul33v(B->N, I, al);
    kn_cross_add3(B->N, w, Iw);
    kn_mul33v(B->N, B->pose.R, B->N);
  }
}

static int link_of(const kn_sensors* s, kn_body body) {
  return body == KN_WORLD ? -1 : s->model->place[body].link;
}

void kn_sense_spin(double out[3], const kn_sensors* s, kn_body body) {
  int i = link_of(s, body);
  out[0] = out[1] = out[2] = 0.0;
  if (i >= 0) take(out, s->data->kin.link[i].w);
}

void kn_sense_spin_rate(double out[3], const kn_sensors* s, kn_body body) {
  int i = link_of(s, body);
  out[0] = out[1] = out[2] = 0.0;
  if (i >= 0) kn_copy3(out, s->link[i].al);
}

void kn_sense_velocity(double out[3], const kn_sensors* s, kn_body body, const double point[3]) {
  int i = link_of(s, body);
  double w[3], o[3], r[3];
  out[0] = out[1] = out[2] = 0.0;
  if (i < 0) return;
  take(w, s->data->kin.link[i].w);
  take(o, s->data->kin.link[i].o);
  take(out, s->data->kin.link[i].vo);
  kn_sub3(r, point, o);
  kn_cross_add3(out, w, r);
}

void kn_sense_acceleration(double out[3], const kn_sensors* s, kn_body body, const double point[3]) {
  int i = link_of(s, body);
  double w[3], o[3], r[3], c[3];
  kn_scale3(out, s->model->gravity, -1.0);
  if (i < 0) return;
  take(w, s->data->kin.link[i].w);
  take(o, s->data->kin.link[i].o);
  kn_sub3(r, point, o);
  kn_add3(out, out, s->link[i].a);
  kn_cross_add3(out, s->link[i].al, r);
  kn_cross3(c, w, r);
  kn_cross_add3(out, w, c);
}
