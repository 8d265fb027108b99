/* A two-link arm pushes a box: the worked example of docs/model.md.

   Build against an installed knuckle: cc arm.c $(pkg-config --cflags --libs knuckle) -o arm */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/step.h"

/* Every call returns a status; the sentence is in kn_last_error(). */
static void must(kn_status status) {
  if (status == KN_OK) return;
  fprintf(stderr, "%s: %s\n", kn_status_name(status), kn_last_error());
  exit(1);
}

static kn_body add_link(kn_spec* spec, const char* name, kn_body parent, double x) {
  kn_body_def body = kn_body_default();
  body.name = name;
  body.parent = parent;
  body.pos[0] = x; /* in the parent's frame */
  body.inertia_from_geoms = true;
  kn_body id;
  must(kn_spec_add_body(&id, spec, &body));

  kn_joint_def joint = kn_joint_default(KN_JOINT_HINGE); /* about z, at the body's origin */
  joint.name = name;
  joint.body = id;
  joint.damping = 0.05;
  joint.limited = true;
  joint.range[0][0] = -2.5;
  joint.range[0][1] = 2.5;
  kn_joint hinge;
  must(kn_spec_add_joint(&hinge, spec, &joint));

  kn_geom_def geom = kn_geom_default(KN_SHAPE_CAPSULE); /* along its own z: turned to x */
  geom.body = id;
  geom.shape.size[0] = 0.03;
  geom.shape.size[1] = 0.2;
  geom.pos[0] = 0.2;
  geom.quat[0] = geom.quat[2] = 1.0; /* need not be unit */
  geom.density = 500.0;
  must(kn_spec_add_geom(NULL, spec, &geom));

  kn_actuator_def servo = kn_actuator_position(hinge, 20.0, 10.0);
  servo.name = name;
  must(kn_spec_add_actuator(NULL, spec, &servo));
  return id;
}

static void add_box(kn_spec* spec) {
  kn_body_def body = kn_body_default();
  body.name = "box";
  body.pos[0] = 0.45;
  body.pos[1] = 0.3;
  body.pos[2] = 0.05;
  body.inertia_from_geoms = true;
  kn_body id;
  must(kn_spec_add_body(&id, spec, &body));
  kn_joint_def joint = kn_joint_default(KN_JOINT_FREE);
  joint.body = id;
  must(kn_spec_add_joint(NULL, spec, &joint));
  kn_geom_def geom = kn_geom_default(KN_SHAPE_BOX);
  geom.body = id;
  for (int i = 0; i < 3; i++) geom.shape.size[i] = 0.05; /* half extents */
  geom.mass = 0.4;
  geom.material.mu = 0.4;
  must(kn_spec_add_geom(NULL, spec, &geom));
}

static kn_model* build(void) {
  kn_spec* spec;
  kn_model* model;
  must(kn_spec_create(&spec));
  kn_geom_def table = kn_geom_default(KN_SHAPE_PLANE); /* on the world, normal +z */
  table.name = "table";
  table.material.mu = 0.4;
  must(kn_spec_add_geom(NULL, spec, &table));
  kn_body_def stand = kn_body_default(); /* no joint: fixed to the world */
  stand.name = "stand";
  stand.pos[2] = 0.05;
  kn_body base;
  must(kn_spec_add_body(&base, spec, &stand));
  kn_body upper = add_link(spec, "shoulder", base, 0.0);
  kn_body lower = add_link(spec, "elbow", upper, 0.4);
  add_box(spec);
  kn_frame_def tip = kn_frame_default();
  tip.name = "tip";
  tip.body = lower;
  tip.pos[0] = 0.4;
  must(kn_spec_add_frame(NULL, spec, &tip));
  must(kn_compile(&model, spec)); /* checks everything; the spec could go on to be edited */
  kn_spec_destroy(spec);
  return model;
}

static void step_for(kn_sim* sim, kn_state* state, int steps) {
  for (int i = 0; i < steps; i++) {
    must(kn_step(sim, state));
    if (kn_sim_report(sim)->status != KN_OK)
      printf("t = %g: residual %g\n", kn_state_time(state), kn_sim_report(sim)->residual);
  }
}

int main(void) {
  kn_model* model = build();
  printf("%d bodies, %d coordinates, %d dofs, %g kg\n", kn_model_bodies(model), kn_model_nq(model),
         kn_model_nv(model), kn_model_mass(model));

  kn_state* state;
  kn_sim* sim;
  kn_sim_settings settings = kn_sim_default();
  must(kn_state_create(&state, model)); /* reference position, at rest */
  must(kn_sim_create(&sim, model, &settings));
  must(kn_sim_prepare(sim, state));

  kn_actuator shoulder, elbow; /* things are found by name; wrong names get the nearest ones */
  must(kn_model_find_actuator(&shoulder, model, "shoulder"));
  must(kn_model_find_actuator(&elbow, model, "elbow"));
  kn_state_ctrl(state)[shoulder] = 1.2;
  kn_state_ctrl(state)[elbow] = 0.4;
  step_for(sim, state, 500);

  size_t size = kn_state_size(state); /* everything that influences the future, as flat bytes */
  void* saved = malloc(size);
  must(kn_state_save(saved, size, state));
  step_for(sim, state, 500);
  uint64_t hash = kn_state_hash(state);

  kn_frame tip;
  kn_body box;
  kn_pose at, moved;
  must(kn_model_find_frame(&tip, model, "tip"));
  must(kn_model_find_body(&box, model, "box"));
  must(kn_kinematics(model, state, kn_sim_data(sim)));
  must(kn_frame_pose(&at, model, kn_sim_data(sim), tip));
  must(kn_body_pose(&moved, model, kn_sim_data(sim), box));
  printf("after %g s the tip is at (%.4f, %.4f), the box at (%.4f, %.4f)\n", kn_state_time(state), at.p[0],
         at.p[1], moved.p[0], moved.p[1]);

  must(kn_state_load(state, saved, size)); /* back to 0.5 s, and once more: the same bits */
  step_for(sim, state, 500);
  bool same = kn_state_hash(state) == hash;
  printf("restored and run again: %s\n", same ? "bit-identical" : "DIFFERENT");

  free(saved);
  kn_sim_destroy(sim);
  kn_state_destroy(state);
  kn_model_destroy(model);
  return same ? 0 : 1;
}
