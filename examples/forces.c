/* Contact forces: a box of 2 kg rests on a floor, four contacts carry it. Prints every force with its place and
   whether the motion determines it, and checks that together they are the weight.

   Build against an installed knuckle: cc forces.c $(pkg-config --cflags --libs knuckle) -o forces */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "knuckle/step.h"

static void must(kn_status status) {
  if (status == KN_OK) return;
  fprintf(stderr, "%s: %s\n", kn_status_name(status), kn_last_error());
  exit(1);
}

static kn_model* build(void) {
  kn_spec* spec;
  kn_model* model;
  kn_body id;
  must(kn_spec_create(&spec));
  kn_geom_def floor = kn_geom_default(KN_SHAPE_PLANE); /* on the world, normal +z */
  must(kn_spec_add_geom(NULL, spec, &floor));
  kn_body_def body = kn_body_default();
  body.name = "box";
  body.pos[2] = 0.1;
  body.inertia_from_geoms = true;
  must(kn_spec_add_body(&id, spec, &body));
  kn_joint_def joint = kn_joint_default(KN_JOINT_FREE);
  joint.body = id;
  must(kn_spec_add_joint(NULL, spec, &joint));
  kn_geom_def geom = kn_geom_default(KN_SHAPE_BOX);
  geom.body = id;
  for (int i = 0; i < 3; i++) geom.shape.size[i] = 0.1; /* half extents */
  geom.mass = 2.0;
  must(kn_spec_add_geom(NULL, spec, &geom));
  must(kn_compile(&model, spec));
  kn_spec_destroy(spec);
  return model;
}

int main(void) {
  kn_model* model = build();
  kn_sim_settings settings = kn_sim_default();
  settings.determinate = true; /* ask of every force whether it is determined */
  kn_state* state;
  kn_sim* sim;
  must(kn_state_create(&state, model));
  must(kn_sim_create(&sim, model, &settings));
  must(kn_sim_prepare(sim, state));
  for (int i = 0; i < 100; i++) must(kn_step(sim, state));

  const kn_report* r = kn_sim_report(sim);
  double up = 0.0;
  for (int i = 0; i < r->contacts; i++) {
    const kn_contact* c = &r->contact[i];
    double force[3] = {0}; /* on geom A, world axes: rows of the frame are normal and tangents */
    for (int k = 0; k < 3; k++)
      for (int j = 0; j < 3; j++) force[j] += c->impulse[k] * c->frame[3 * k + j] / r->dt;
    bool box_is_a = c->body_a != KN_WORLD;
    up += box_is_a ? force[2] : -force[2];
    printf("at (%+.2f, %+.2f): %.3f N, %s\n", c->point[0], c->point[1], fabs(force[2]),
           c->determinate == KN_ANSWER_YES  ? "determined by the motion"
           : c->determinate == KN_ANSWER_NO ? "one of many that give this motion"
                                            : "not asked");
  }
  double weight = kn_model_mass(model) * 9.81;
  printf("together %.6f N, weight %.6f N\n", up, weight);
  bool carried = fabs(up - weight) < 1e-6 * weight; /* the solver's tolerance is 1e-10 of the impulses */
  kn_sim_destroy(sim);
  kn_state_destroy(state);
  kn_model_destroy(model);
  return carried ? 0 : 1;
}
