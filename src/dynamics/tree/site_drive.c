/* Actuators that act through a site (propellers, thrusters): their moment about every dof, by carrying the wrench
   from the site towards the root in link axes. Only the joints on the way are evaluated, so that no poses are
   needed: the forces of a stage may ask for it at any q.

   Without a refsite the wrench is site_gear in the site's axes. With one it is site_gear in the axes of refsite,
   acting at site, and its opposite acting at refsite; both end at the last link above the two, whose dofs move
   them alike. As MuJoCo has it. */
#include "dynamics/tree/dynamics.h"
#include "math/elementary.h"
#include "spatial/spatial.h"

typedef struct wrench { /* link axes; torque about the link's origin */
  double n[3], f[3];
} wrench;

/* A link in the frame of the one above it (model.h). */
static void link_place(kn_pose* X, const kn_link* l, const double* q) {
  double turn[9], quat[4], s, c, x = q[l->q] - l->ref, way = 0.0;
  kn_copy3(X->p, l->p0);
  switch (l->type) {
  case KN_LINK_FREE:
    kn_quat_normalize(quat, q + l->q + 3);
    kn_quat_to_matrix(X->R, quat);
    kn_copy3(X->p, q + l->q);
    return;
  case KN_LINK_BALL:
    kn_quat_normalize(quat, q + l->q);
    kn_quat_to_matrix(turn, quat);
    kn_mul33(X->R, l->R0, turn);
    return;
  case KN_LINK_SLIDE:
    memcpy(X->R, l->R0, sizeof X->R);
    way = x;
    break;
  default:
    kn_sincos(&s, &c, x);
    for (int i = 0; i < 9; i += 3) {
      X->R[i] = l->R0[i] * c + l->R0[i + 1] * s;
      X->R[i + 1] = l->R0[i + 1] * c - l->R0[i] * s;
      X->R[i + 2] = l->R0[i + 2];
    }
    way = l->pitch * x;
  }
  for (int i = 0; i < 3; i++) X->p[i] += l->R0[3 * i + 2] * way;
}

/* What the wrench does along each dof of its link. X: the link in the one above. */
static void moments(double s[6], const wrench* w, const kn_link* l, const kn_pose* X) {
  switch (l->type) {
  case KN_LINK_HINGE: s[0] = w->n[2]; break;
  case KN_LINK_SLIDE: s[0] = w->f[2]; break;
  case KN_LINK_SCREW: s[0] = w->n[2] + l->pitch * w->f[2]; break;
  case KN_LINK_BALL: kn_copy3(s, w->n); break;
  default: kn_mul33v(s, X->R, w->f), kn_copy3(s + 3, w->n);
  }
}

/* Adds scale × moment to tau (may be NULL) from link up to below `end`; returns moment · v (v may be NULL). */
static double carry(double* tau, double scale, const kn_model* m, const double* q, const double* v, int link,
                    int end, wrench w) {
  double rate = 0.0;
  for (int i = link; i != end && i >= 0; i = m->link[i].parent) {
    const kn_link* l = &m->link[i];
    double s[6], arm[3];
    kn_pose X;
    link_place(&X, l, q);
    moments(s, &w, l, &X);
    for (int k = 0; k < l->nv; k++) {
      if (tau) tau[l->v + k] += scale * s[k];
      if (v) rate += s[k] * v[l->v + k];
    }
    kn_mul33v(w.f, X.R, w.f);
    kn_mul33v(w.n, X.R, w.n);
    kn_cross3(arm, X.p, w.f);
    kn_add3(w.n, w.n, arm);
  }
  return rate;
}

/* The site's pose in the frame of link `above` (-1: world). */
static kn_pose seen_from(int above, const kn_model* m, const kn_frame_place* site, const double* q) {
  kn_pose X = site->in_link, step;
  for (int i = site->link; i != above && i >= 0; i = m->link[i].parent) {
    link_place(&step, &m->link[i], q);
    X = kn_pose_mul(&step, &X);
  }
  return X;
}

/* A force and torque along axes (of the common link) at the site, as a wrench on the site's link. */
static wrench at_site(const kn_frame_place* site, const kn_pose* seen, const double f[3], const double n[3]) {
  const kn_pose* own = &site->in_link;
  double arm[3];
  wrench w;
  kn_mul33tv(w.f, seen->R, f), kn_mul33v(w.f, own->R, w.f);
  kn_mul33tv(w.n, seen->R, n), kn_mul33v(w.n, own->R, w.n);
  kn_cross3(arm, own->p, w.f);
  kn_add3(w.n, w.n, arm);
  return w;
}

double kn_site_transmit(double* tau, const kn_model* m, int actuator, const double* q, const double* v,
                        double force) {
  const kn_actuator_def* a = &m->actuator[actuator];
  const kn_actuator_place* t = &m->transmission[actuator];
  if (a->refsite < 0) {
    kn_pose own = kn_pose_identity();
    wrench w = at_site(&t->site, &own, a->site_gear, a->site_gear + 3);
    return carry(tau, force, m, q, v, t->site.link, -1, w);
  }
  kn_pose site = seen_from(t->common, m, &t->site, q), ref = seen_from(t->common, m, &t->refsite, q);
  double f[3], n[3];
  kn_mul33v(f, ref.R, a->site_gear);
  kn_mul33v(n, ref.R, a->site_gear + 3);
  wrench on = at_site(&t->site, &site, f, n), back = at_site(&t->refsite, &ref, f, n);
  return carry(tau, force, m, q, v, t->site.link, t->common, on) -
         carry(tau, -force, m, q, v, t->refsite.link, t->common, back);
}

double kn_site_length(const kn_model* m, int actuator, const double* q) {
  const kn_actuator_def* a = &m->actuator[actuator];
  const kn_actuator_place* t = &m->transmission[actuator];
  if (a->refsite < 0) return 0.0;
  kn_pose site = seen_from(t->common, m, &t->site, q), ref = seen_from(t->common, m, &t->refsite, q),
          between = kn_pose_between(&ref, &site);
  double quat[4], turn[3];
  kn_quat_from_rotation(quat, between.R);
  kn_quat_log(turn, quat);
  return kn_dot3(a->site_gear, between.p) + kn_dot3(a->site_gear + 3, turn);
}
