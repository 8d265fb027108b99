/* A body dragged by hand: a spring with critical damping for the body's mass from a point of the body to
   where the pointer is. The force becomes the state's applied generalised force, Jᵀ f. */
#include <math.h>
#include <string.h>

#include "world.h"

static struct {
  bool on;
  kn_body body;
  double local[3], target[3], stiffness;
} drag;

KW(void, kw_drag)(int body, double x, double y, double z, double tx, double ty, double tz, double stiffness) {
  drag.on = true;
  drag.body = body;
  drag.stiffness = stiffness;
  drag.local[0] = x, drag.local[1] = y, drag.local[2] = z;
  drag.target[0] = tx, drag.target[1] = ty, drag.target[2] = tz;
}

KW(void, kw_drag_end)(void) {
  if (drag.on && kw.sim)
    memset(kn_state_force(kw.subject.state), 0, (size_t)kn_model_nv(kw.model) * sizeof(double));
  drag.on = false;
}

void kw_drag_apply(void) {
  if (!drag.on || drag.body < 0 || drag.body >= kn_model_bodies(kw.model)) return;
  const kn_model* m = kw.model;
  kn_state* s = kw.subject.state;
  kn_body_def def;
  kn_pose pose;
  double point[3], velocity[6];
  if (kn_kinematics(m, s, kw.data) != KN_OK || kn_body_pose(&pose, m, kw.data, drag.body) != KN_OK ||
      kn_model_body(&def, m, drag.body) != KN_OK)
    return;
  for (int i = 0; i < 3; i++)
    point[i] = pose.p[i] + pose.R[3 * i] * drag.local[0] + pose.R[3 * i + 1] * drag.local[1] +
               pose.R[3 * i + 2] * drag.local[2];
  if (kn_body_velocity(velocity, m, kw.data, drag.body, point) != KN_OK ||
      kn_jacobian(kw.jacobian, m, kw.data, drag.body, point) != KN_OK)
    return;
  double damping = 2.0 * sqrt(drag.stiffness * def.mass), *force = kn_state_force(s);
  int nv = kn_model_nv(m);
  memset(force, 0, (size_t)nv * sizeof *force);
  for (int i = 0; i < 3; i++) {
    double f = drag.stiffness * (drag.target[i] - point[i]) - damping * velocity[3 + i];
    for (int k = 0; k < nv; k++) force[k] += kw.jacobian[(3 + i) * nv + k] * f;
  }
}
