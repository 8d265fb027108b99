/* The numbers of a sensor, by its type, once the motion of the bodies is known. */
#include "base/extreme.h"
#include "contact/formulation/constraint.h"
#include "dynamics/tree/dynamics.h"
#include "model/compile/compile.h"
#include "spatial/spatial.h"
#include "step/sense/sense.h"

/* ---- sensors at a frame, in its axes ---- */

/* Marks a body and all below it. KN_WORLD: all. */
static void mark_below(kn_sensors* s, kn_body root) {
  for (int b = 0; b < s->model->nbody; b++) {
    kn_body parent = s->model->body[b].parent;
    s->body[b].below = b == root || (parent == KN_WORLD ? root == KN_WORLD : s->body[parent].below);
  }
}

/* What the parent must exert for the bodies below to move as they do: Σ (rate of momentum − weight − constraint
   forces), and its moment about the point. */
static void support(double f[3], double n[3], kn_sensors* s, kn_body root, const double point[3]) {
  f[0] = f[1] = f[2] = n[0] = n[1] = n[2] = 0.0;
  mark_below(s, root);
  for (int b = 0; b < s->model->nbody; b++) {
    const kn_sense_body* B = &s->body[b];
    double need[3], r[3];
    if (!B->below) continue;
    kn_sub3(need, B->F, B->f);
    kn_sub3(r, B->com, point);
    kn_add3(f, f, need);
    kn_add3(n, n, B->N);
    kn_sub3(n, n, B->n);
    kn_cross_add3(n, r, need);
  }
}

static void at_frame(double* out, kn_sensors* s, const kn_sensor_def* d, const kn_sensor_loads* loads) {
  kn_body body = s->model->frame[d->frame].body;
  kn_pose at = kn_sense_pose(s, d->frame, KN_WORLD);
  double other[3];
  switch (d->type) {
  case KN_SENSOR_TOUCH: out[0] = kn_sense_touch(s, d->frame, loads); return;
  case KN_SENSOR_RANGEFINDER: out[0] = kn_sense_range(s, d->frame); return;
  case KN_SENSOR_ACCELEROMETER: kn_sense_acceleration(out, s, body, at.p); break;
  case KN_SENSOR_VELOCIMETER: kn_sense_velocity(out, s, body, at.p); break;
  case KN_SENSOR_GYRO: kn_sense_spin(out, s, body); break;
  case KN_SENSOR_FORCE: support(out, other, s, body, at.p); break;
  case KN_SENSOR_TORQUE: support(other, out, s, body, at.p); break;
  default: kn_copy3(out, s->model->sense.magnetic);
  }
  kn_mul33tv(out, at.R, out);
}

/* ---- joints and actuators ---- */

/* Of the limit the joint is beyond: gap and its rate; the force of all its limits. */
static double of_limit(const kn_sensors* s, const kn_sensor_def* d, const kn_state* x,
                       const kn_sensor_loads* loads) {
  const kn_model* m = s->model;
  double force = 0.0;
  for (int i = 0; i < m->nlimit; i++) {
    const kn_limit* l = &m->limit[i];
    if (l->joint != d->joint) continue;
    double gap = kn_limit_gap(m, i, x->q), w[3];
    if (loads && loads->limit_impulse) force += loads->limit_impulse[i] / loads->dt;
    if (d->type == KN_SENSOR_LIMIT_FORCE || !(gap < 0.0)) continue;
    if (d->type == KN_SENSOR_LIMIT_POS) return gap;
    if (l->side != 0) return l->side * x->v[l->v];
    kn_quat_log(w, x->q + l->q);
    kn_normalize3(w, w);
    return -kn_dot3(w, x->v + l->v);
  }
  return d->type == KN_SENSOR_LIMIT_FORCE ? force : 0.0;
}

static void of_joint(double* out, const kn_sensors* s, const kn_sensor_def* d, const kn_state* x,
                     const kn_sensor_loads* loads) {
  const kn_link* l = &s->model->link[s->model->joint_link[d->joint]];
  switch (d->type) {
  case KN_SENSOR_JOINT_POS: out[0] = x->q[l->q]; return;
  case KN_SENSOR_JOINT_VEL: out[0] = x->v[l->v]; return;
  case KN_SENSOR_BALL_QUAT: kn_quat_normalize(out, x->q + l->q); return;
  case KN_SENSOR_BALL_ANGVEL: kn_copy3(out, x->v + l->v); return;
  case KN_SENSOR_JOINT_FORCE: out[0] = s->act[l->v]; return;
  default: out[0] = of_limit(s, d, x, loads);
  }
}

static void of_actuator(double* out, const kn_sensors* s, const kn_sensor_def* d, const kn_state* x) {
  double length, rate;
  bool inside;
  if (d->type == KN_SENSOR_ACTUATOR_FORCE) {
    out[0] = kn_dyn_actuator(&inside, s->model, d->actuator, x->q, x->v, x->ctrl[d->actuator]);
    return;
  }
  kn_dyn_transmission(&length, &rate, s->model, d->actuator, x->q, x->v);
  out[0] = d->type == KN_SENSOR_ACTUATOR_POS ? length : rate;
}

/* ---- subtrees ---- */

static void of_subtree(double* out, kn_sensors* s, const kn_sensor_def* d) {
  double mass = 0.0, c[3] = {0, 0, 0}, v[3] = {0, 0, 0}, L[3] = {0, 0, 0};
  mark_below(s, d->body);
  for (int b = 0; b < s->model->nbody; b++) {
    const kn_sense_body* B = &s->body[b];
    if (!B->below) continue;
    mass += B->mass;
    kn_axpy3(c, B->mass, B->com);
    kn_axpy3(v, B->mass, B->v);
  }
  if (mass > 1e-15) /* as MuJoCo: less is nothing */
    kn_scale3(c, c, 1.0 / mass), kn_scale3(v, v, 1.0 / mass);
  else if (d->body >= 0)
    kn_copy3(c, s->body[d->body].com);
  if (d->type != KN_SENSOR_SUBTREE_ANGMOM) {
    kn_copy3(out, d->type == KN_SENSOR_SUBTREE_COM ? c : v);
    return;
  }
  for (int b = 0; b < s->model->nbody; b++) {
    const kn_sense_body* B = &s->body[b];
    double r[3], p[3], w[3], I[9];
    if (!B->below) continue;
    kn_sub3(r, B->com, c);
    kn_sub3(p, B->v, v);
    kn_scale3(p, p, B->mass);
    kn_cross_add3(L, r, p);
    kn_mul33tv(w, B->pose.R, B->w);
    kn_sym_expand(I, s->model->body[b].inertia);
    kn_mul33v(w, I, w);
    kn_mul33v(w, B->pose.R, w);
    kn_add3(L, L, w);
  }
  kn_copy3(out, L);
}

/* ---- energy ---- */

/* Of all bodies, those that cannot move too, as MuJoCo counts it. */
static double potential(const kn_sensors* s, const double* q) {
  double sum = kn_spring_energy(s->model, q);
  for (int b = 0; b < s->model->nbody; b++)
    sum -= s->body[b].mass * kn_dot3(s->model->gravity, s->body[b].com);
  return sum;
}

/* ---- all ---- */

/* Quaternions and axes are not clipped; forces of touch are not negative anyway. */
static void clip(double* out, const kn_sensor_def* d) {
  bool unit =
      d->type == KN_SENSOR_BALL_QUAT || (d->type >= KN_SENSOR_FRAME_QUAT && d->type <= KN_SENSOR_FRAME_Z);
  if (!(d->cutoff > 0.0) || unit) return;
  for (int i = 0; i < kn_sensor_numbers(d->type); i++) out[i] = kn_clamp(out[i], -d->cutoff, d->cutoff);
}

void kn_sense_value(double* out, kn_sensors* s, const kn_sensor_def* d, const kn_state* x,
                    const kn_sensor_loads* loads) {
  if (d->type <= KN_SENSOR_RANGEFINDER)
    at_frame(out, s, d, loads);
  else if (d->type <= KN_SENSOR_JOINT_FORCE)
    of_joint(out, s, d, x, loads);
  else if (d->type <= KN_SENSOR_ACTUATOR_FORCE)
    of_actuator(out, s, d, x);
  else if (d->type <= KN_SENSOR_FRAME_ANGACC)
    kn_sense_frame(out, s, d);
  else if (d->type <= KN_SENSOR_SUBTREE_ANGMOM)
    of_subtree(out, s, d);
  else
    out[0] = d->type == KN_SENSOR_POTENTIAL ? potential(s, x->q)
             : d->type == KN_SENSOR_KINETIC ? s->energy.kinetic
                                            : x->time;
  clip(out, d);
}
