/* A program outside the project: it sees the installed headers and library only. A pendulum of mass m at the
   end of a rod of length l, held horizontally, starts to fall with q̈ = g / l; and a wrong model is refused by
   name. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "knuckle/dynamics.h"

static int check(int ok, const char* what) {
  if (!ok) printf("outside: %s failed: %s\n", what, kn_last_error());
  return ok;
}

static kn_status pendulum(kn_model** model, double mass, double length) {
  kn_spec* spec;
  kn_body bob;
  kn_status status = kn_spec_create(&spec);
  if (status != KN_OK) return status;
  kn_body_def body = kn_body_default();
  body.name = "bob";
  body.mass = mass;
  body.com[0] = length;
  for (int i = 0; i < 3; i++) body.inertia[i] = 1e-12;
  kn_joint_def hinge = kn_joint_default(KN_JOINT_HINGE);
  hinge.axis[0] = hinge.axis[2] = 0;
  hinge.axis[1] = 1;
  status = kn_spec_add_body(&bob, spec, &body);
  hinge.body = bob;
  if (status == KN_OK) status = kn_spec_add_joint(NULL, spec, &hinge);
  if (status == KN_OK) status = kn_compile(model, spec);
  kn_spec_destroy(spec);
  return status;
}

int main(void) {
  kn_model* model = NULL;
  kn_state* state;
  kn_data* data;
  double qdd, tau = 0;
  if (!check(pendulum(&model, 2.0, 0.5) == KN_OK, "compile")) return 1;
  if (!check(kn_state_create(&state, model) == KN_OK && kn_data_create(&data, model) == KN_OK, "create"))
    return 1;
  if (!check(kn_forward_dynamics(&qdd, model, state, data, &tau) == KN_OK, "forward dynamics")) return 1;
  if (!check(fabs(qdd - 9.81 / 0.5) < 1e-9, "fall")) return 1; /* the 1e-12 kg m² change it by 4e-11 */
  kn_data_destroy(data);
  kn_state_destroy(state);
  kn_model_destroy(model);
  if (!check(pendulum(&model, -1.0, 0.5) == KN_BAD_MODEL && strstr(kn_last_error(), "bob"), "refusal"))
    return 1;
  printf("outside: qdd = %g\n", qdd);
  return 0;
}
