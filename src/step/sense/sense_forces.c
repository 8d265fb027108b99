/* What acts on the bodies at the state whose sensors are read: the constraint forces of the step before it as
   wrenches on bodies and forces on dofs, the smooth forces of the state, and the accelerations of both. */
#include <string.h>

#include "contact/formulation/constraint.h"
#include "spatial/spatial.h"
#include "step/sense/sense.h"

/* A force at a point of a body, scaled. */
static void push(kn_sensors* s, kn_body body, const double point[3], const double f[3], double scale) {
  if (body == KN_WORLD) return;
  kn_sense_body* B = &s->body[body];
  double r[3], n[3];
  kn_sub3(r, point, B->com);
  kn_cross3(n, r, f);
  kn_axpy3(B->f, scale, f);
  kn_axpy3(B->n, scale, n);
}

static void turn(kn_sensors* s, kn_body body, const double n[3], double scale) {
  if (body != KN_WORLD) kn_axpy3(s->body[body].n, scale, n);
}

static void push_contacts(kn_sensors* s, const kn_sensor_loads* loads) {
  for (int i = 0; i < loads->contacts; i++) {
    const kn_contact* c = &loads->contact[i];
    double f[3];
    kn_mul33tv(f, c->frame, c->impulse);
    push(s, c->body_a, c->point, f, 1.0 / loads->dt);
    push(s, c->body_b, c->point, f, -1.0 / loads->dt);
  }
}

static kn_pose anchor(const kn_sensors* s, kn_body body, const double pos[3], const double quat[4]) {
  kn_pose local = kn_pose_from(pos, quat);
  return body == KN_WORLD ? local : kn_pose_mul(&s->body[body].pose, &local);
}

static void push_coupling(kn_sensors* s, const kn_loop_def* d, const double* q, double force) {
  const kn_model* m = s->model;
  s->tau[m->link[m->joint_link[d->joint1]].v] += force;
  if (d->joint2 < 0) return;
  const kn_link* l = &m->link[m->joint_link[d->joint2]];
  double x = q[l->q] - l->ref, slope = 0.0;
  for (int i = 4; i > 0; i--) slope = slope * x + i * d->coef[i];
  s->tau[l->v] -= slope * force;
}

/* The rows of constraint.c: along A's axes at B's anchor, then about the world's; along the line; on dofs. */
static void push_loop(kn_sensors* s, const kn_loop_def* d, const double* q, const double* p, double scale) {
  if (d->type == KN_LOOP_COUPLING) {
    push_coupling(s, d, q, scale * p[0]);
    return;
  }
  kn_pose A = anchor(s, d->a, d->pos_a, d->quat_a), B = anchor(s, d->b, d->pos_b, d->quat_b);
  double f[3];
  if (d->type == KN_LOOP_DISTANCE) {
    kn_sub3(f, A.p, B.p);
    kn_normalize3(f, f);
    kn_scale3(f, f, p[0]);
  } else {
    kn_mul33v(f, A.R, p);
  }
  push(s, d->a, B.p, f, scale);
  push(s, d->b, B.p, f, -scale);
  if (d->type != KN_LOOP_WELD) return;
  turn(s, d->a, p + 3, scale);
  turn(s, d->b, p + 3, -scale);
}

static void push_joints(kn_sensors* s, const kn_state* x, const kn_sensor_loads* loads) {
  const kn_model* m = s->model;
  double scale = 1.0 / loads->dt;
  for (int i = 0; i < m->nlimit && loads->limit_impulse; i++) {
    const kn_limit* l = &m->limit[i];
    double w[3], p = scale * loads->limit_impulse[i];
    if (p == 0.0) continue;
    if (l->side != 0) {
      s->tau[l->v] += l->side * p;
      continue;
    }
    kn_quat_log(w, x->q + l->q);
    kn_normalize3(w, w);
    for (int k = 0; k < 3; k++) s->tau[l->v + k] -= p * w[k];
  }
  for (int i = 0; i < m->nv && loads->dry_impulse; i++) s->tau[i] += scale * loads->dry_impulse[i];
  for (int i = 0; i < m->nv && loads->control; i++) s->tau[i] += loads->control[i];
  for (int i = 0, row = 0; i < m->nloop && loads->loop_impulse; i++) {
    int rows = kn_loop_rows(m, i);
    if (rows) push_loop(s, &m->loop[i], x->q, loads->loop_impulse + row, scale);
    row += rows;
  }
}

/* Wrenches of the bodies, summed from the tips, along every dof. */
static void collect(kn_sensors* s) {
  const kn_model* m = s->model;
  for (int i = 0; i < m->nlink; i++)
    memset(s->link[i].n, 0, sizeof(double[3])), memset(s->link[i].f, 0, sizeof(double[3]));
  for (int b = 0; b < m->nbody; b++) {
    int i = m->place[b].link;
    if (i < 0) continue;
    double o[3], r[3];
    v4_store3(o, s->data->kin.link[i].o);
    kn_sub3(r, s->body[b].com, o);
    kn_add3(s->link[i].f, s->link[i].f, s->body[b].f);
    kn_add3(s->link[i].n, s->link[i].n, s->body[b].n);
    kn_cross_add3(s->link[i].n, r, s->body[b].f);
  }
  for (int i = m->nlink - 1; i >= 0; i--) {
    const kn_link* l = &m->link[i];
    const kn_sense_link* L = &s->link[i];
    for (int j = l->v; j < l->v + l->nv; j++) {
      double S[3], T[3];
      v4_store3(S, s->data->kin.dof[j].sa);
      v4_store3(T, s->data->kin.dof[j].sl);
      s->tau[j] += kn_dot3(S, L->n) + kn_dot3(T, L->f);
    }
    if (l->parent < 0) continue;
    double r[3];
    v4_store3(r, s->data->kin.link[i].r);
    kn_add3(s->link[l->parent].f, s->link[l->parent].f, L->f);
    kn_add3(s->link[l->parent].n, s->link[l->parent].n, L->n);
    kn_cross_add3(s->link[l->parent].n, r, L->f);
  }
}

kn_status kn_sense_forces(kn_sensors* s, const kn_state* x, const kn_sensor_loads* loads) {
  const kn_model* m = s->model;
  size_t bytes = (size_t)m->nv * sizeof(double);
  memset(s->tau, 0, bytes);
  for (int b = 0; b < m->nbody; b++) memset(s->body[b].f, 0, 2 * sizeof(double[3]));
  if (loads) {
    push_contacts(s, loads);
    push_joints(s, x, loads);
    collect(s);
  }
  kn_dyn_passive(s->tau, s->data, m, x->q, x->v);
  for (int i = 0; i < m->nv; i++) s->tau[i] += s->act[i] + x->force[i];
  kn_status status = kn_dyn_factor(s->data, m, NULL);
  if (status != KN_OK) return status;
  kn_dyn_accelerate(s->qdd, s->data, m, x->v, s->tau);
  kn_sense_accelerate(s, x->v);
  return KN_OK;
}
