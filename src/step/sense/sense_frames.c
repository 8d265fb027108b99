/* Sensors that look at a frame: where it is, how it moves, what touches it and what lies ahead of it. */
#include <math.h>

#include "knuckle/cast.h"
#include "spatial/spatial.h"
#include "step/sense/sense.h"

kn_pose kn_sense_pose(const kn_sensors* s, kn_frame frame, kn_body body) {
  const kn_model* m = s->model;
  if (frame >= 0) body = m->frame[frame].body;
  kn_pose X = body == KN_WORLD ? kn_pose_identity() : s->body[body].pose;
  if (frame < 0) return X;
  kn_pose local = kn_pose_from(m->frame[frame].pos, m->frame[frame].quat);
  return kn_pose_mul(&X, &local);
}

static kn_body body_of(const kn_sensors* s, kn_frame frame, kn_body body) {
  return frame >= 0 ? s->model->frame[frame].body : body;
}

static void quat_of(double out[4], const kn_sensors* s, kn_frame frame, kn_body body) {
  body = body_of(s, frame, body);
  kn_quat_identity(out);
  if (body != KN_WORLD) memcpy(out, s->body[body].quat, sizeof s->body->quat);
  if (frame >= 0) kn_quat_mul(out, out, s->model->frame[frame].quat);
}

/* Velocity seen from a reference that moves and turns itself. */
static void seen_velocity(double out[3], const kn_sensors* s, const kn_sensor_def* d, const kn_pose* own,
                          const kn_pose* ref) {
  kn_body body = body_of(s, d->frame, d->body), other = body_of(s, d->ref_frame, d->ref_body);
  double v[3], w[3], r[3];
  if (d->type == KN_SENSOR_FRAME_ANGVEL) {
    kn_sense_spin(out, s, body);
    kn_sense_spin(w, s, other);
    kn_sub3(out, out, w);
  } else {
    kn_sense_velocity(out, s, body, own->p);
    kn_sense_velocity(v, s, other, ref->p);
    kn_sense_spin(w, s, other);
    kn_sub3(out, out, v);
    kn_sub3(r, own->p, ref->p);
    kn_cross_add3(out, r, w);
  }
  kn_mul33tv(out, ref->R, out);
}

void kn_sense_frame(double* out, const kn_sensors* s, const kn_sensor_def* d) {
  kn_pose own = kn_sense_pose(s, d->frame, d->body), ref = kn_sense_pose(s, d->ref_frame, d->ref_body);
  double other[4];
  switch (d->type) {
  case KN_SENSOR_FRAME_POS: kn_pose_apply_inverse(out, &ref, own.p); return;
  case KN_SENSOR_FRAME_QUAT:
    quat_of(out, s, d->frame, d->body);
    quat_of(other, s, d->ref_frame, d->ref_body);
    kn_quat_conj(other, other);
    kn_quat_mul(out, other, out);
    return;
  case KN_SENSOR_FRAME_X:
  case KN_SENSOR_FRAME_Y:
  case KN_SENSOR_FRAME_Z:
    for (int i = 0; i < 3; i++) out[i] = own.R[3 * i + (d->type - KN_SENSOR_FRAME_X)];
    kn_mul33tv(out, ref.R, out);
    return;
  case KN_SENSOR_FRAME_LINVEL:
  case KN_SENSOR_FRAME_ANGVEL: seen_velocity(out, s, d, &own, &ref); return;
  case KN_SENSOR_FRAME_LINACC: kn_sense_acceleration(out, s, body_of(s, d->frame, d->body), own.p); return;
  default: kn_sense_spin_rate(out, s, body_of(s, d->frame, d->body));
  }
}

/* As MuJoCo: a contact of the frame's body counts when the line from its point outwards along the normal meets
   the zone, which is always so for points inside. */
double kn_sense_touch(const kn_sensors* s, kn_frame frame, const kn_sensor_loads* loads) {
  const kn_frame_def* f = &s->model->frame[frame];
  kn_shape zone = {.type = f->zone};
  memcpy(zone.size, f->zone_size, sizeof zone.size);
  kn_pose at = kn_sense_pose(s, frame, KN_WORLD);
  double sum = 0.0;
  for (int i = 0; loads && i < loads->contacts; i++) {
    const kn_contact* c = &loads->contact[i];
    if ((c->body_a != f->body && c->body_b != f->body) || !(c->impulse[0] > 0.0)) continue;
    double way[3];
    kn_ray_hit hit;
    kn_scale3(way, c->frame, c->body_b == f->body ? 1.0 : -1.0); /* the normal points from B to A */
    if (kn_ray_cast(&hit, &zone, &at, c->point, way, INFINITY) == KN_OK && hit.hit)
      sum += c->impulse[0] / loads->dt;
  }
  return sum;
}

/* First point of the surface along the ray, from inside too; negative: none. A solid seen from inside ends where
   it would begin for one who looks back from far away. */
static double along(const kn_shape* shape, const kn_pose* at, const double from[3], const double way[3]) {
  kn_ray_hit hit;
  if (kn_ray_cast(&hit, shape, at, from, way, INFINITY) != KN_OK || !hit.hit) return -1.0;
  if (!hit.inside) return hit.t;
  if (shape->type == KN_SHAPE_PLANE) return -1.0; /* from below there is nothing to be seen */
  double far = 1.0, back[3], start[3];
  kn_scale3(back, way, -1.0);
  for (int k = 0; k < 60; k++, far *= 2.0) {
    for (int i = 0; i < 3; i++) start[i] = from[i] + far * way[i];
    if (kn_ray_cast(&hit, shape, at, start, back, far) != KN_OK || !hit.hit) return -1.0;
    if (!hit.inside) return far - hit.t;
  }
  return -1.0;
}

double kn_sense_range(const kn_sensors* s, kn_frame frame) {
  const kn_model* m = s->model;
  kn_pose at = kn_sense_pose(s, frame, KN_WORLD), pose;
  double way[3] = {at.R[2], at.R[5], at.R[8]}, best = -1.0;
  for (int g = 0; g < m->ngeom; g++) {
    if (m->geom[g].body == m->frame[frame].body || m->geom[g].rgba[3] == 0.0f) continue;
    if (kn_geom_pose(&pose, m, s->data, g) != KN_OK) continue;
    double t = along(&m->geom[g].shape, &pose, at.p, way);
    if (t >= 0.0 && (best < 0.0 || t < best)) best = t;
  }
  return best;
}
