/* Scenes that other engines were publicly reported to fail on, each named after its symptom; the comment names the
   engine and the number of the report. Ours beside a closed form: docs/evidence.md has the table. */
#include <math.h>
#include <string.h>

#include "knuckle/dynamics.h"
#include "knuckle/load.h"
#include "test.h"
#include "world.h"

typedef struct rig {
  kn_model* model;
  kn_state* state;
  kn_sim* sim;
} rig;

static bool open_rig(rig* r, const char* text, const char* stepper, double dt) {
  kn_spec* spec = NULL;
  kn_sim_settings s = kn_sim_default();
  s.stepper = stepper, s.dt = dt;
  *r = (rig){0};
  bool ok = CHECK_OK(kn_load_text(&spec, NULL, "rig.xml", text, strlen(text), NULL)) &&
            CHECK_OK(kn_compile(&r->model, spec)) && CHECK_OK(kn_state_create(&r->state, r->model)) &&
            CHECK_OK(kn_sim_create(&r->sim, r->model, &s));
  kn_spec_destroy(spec);
  return ok;
}

static void close_rig(rig* r) {
  kn_sim_destroy(r->sim);
  kn_state_destroy(r->state);
  kn_model_destroy(r->model);
}

static double energy_of(const rig* r) {
  kn_energy e;
  return kn_energy_of(&e, r->model, r->state, kn_sim_data(r->sim)) == KN_OK ? e.kinetic + e.potential : NAN;
}

/* mujoco 3328: a 45 g capsule between two pads of mu = .7, squeezed with 20 times what Coulomb's law asks for, sinks
   through the grip at 50 to 2300 µm/s. Inside the cone the speed is 0. 1e-12 m in 10 s: the anchors hold rounding. */
TEST(pinched_capsule_creeps_through_the_grip) {
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    kn_world w;
    kn_creep c;
    int left = 0;
    if (kn_world_open(&w, "gripper margin=20", *s, 0.0, NULL) && kn_world_until(&w, 2.0)) {
      kn_creep_begin(&c, &w);
      while (kn_state_time(w.state) < 12.0 && kn_world_step(&w)) kn_creep_watch(&c, &w);
      double creep = kn_creep_now(&c, &w, &left);
      printf("  pinched capsule     %-5s creeps %.2g m in 10 s\n", *s, creep);
      CHECK(left >= 2);
      CHECK_BELOW(creep, 1e-12);
    }
    kn_world_close(&w);
  }
}

/* mujoco 172: a four-bar linkage whose last joint, closed by a constraint, comes apart when its crank is driven
   fast. A parallelogram of sides of 1 and 2 m, closed by a point; a motor of 300 N m at the crank. The loop's gap is
   the distance of the coupler's end from the second crank's tip. 1e-9 m: what the repair of positions leaves. And the kinetic energy is the motor's work, τ φ: 1e-9
   of it, for the scheme keeps the work of a constant torque but for rounding. */
TEST(four_bar_linkage_comes_apart_when_driven_fast) {
  static const char text[] =
      "<mujoco><compiler angle='radian'/><option gravity='0 0 0'/><worldbody>"
      "<body><joint name='crank' axis='0 1 0'/>"
      "<geom type='capsule' fromto='0 0 0 0 0 1' size='.02' mass='1' contype='0' conaffinity='0'/>"
      "<body name='coupler' pos='0 0 1'><joint axis='0 1 0'/>"
      "<geom type='capsule' fromto='0 0 0 2 0 0' size='.02' mass='1' contype='0' "
      "conaffinity='0'/></body></body>"
      "<body name='rocker' pos='2 0 0'><joint axis='0 1 0'/>"
      "<geom type='capsule' fromto='0 0 0 0 0 1.2' size='.02' mass='1' contype='0' conaffinity='0'/></body>"
      "</worldbody><equality><connect body1='coupler' body2='rocker' anchor='2 0 0'/></equality>"
      "<actuator><motor joint='crank' gear='1'/></actuator></mujoco>";
  rig r;
  double gap = 0.0, fastest = 0.0, worst = 0.0;
  const double torque = 300.0;
  if (open_rig(&r, text, "time", 2e-4)) {
    const double *q = kn_state_q(r.state), *v = kn_state_v(r.state);
    kn_state_ctrl(r.state)[0] = torque;
    for (int k = 0; k < 5000 && CHECK_OK(kn_step(r.sim, r.state)); k++) {
      double end[2] = {sin(q[0]) + 2.0 * cos(q[0] + q[1]), cos(q[0]) - 2.0 * sin(q[0] + q[1])};
      double tip[2] = {2.0 + sin(q[2]), cos(q[2])};
      gap = fmax(gap, hypot(end[0] - tip[0], end[1] - tip[1]));
      fastest = fmax(fastest, fabs(v[0]));
      if (q[0] > 0.1) worst = fmax(worst, fabs(energy_of(&r) / (torque * q[0]) - 1.0));
    }
    printf("  four-bar linkage    to %.0f rad/s: opens %.2g m, energy %.2g off the motor's work\n", fastest,
           gap, worst);
    CHECK(fastest > 20.0);
    CHECK_BELOW(gap, 1e-9);
    CHECK_BELOW(worst, 1e-9);
  }
  close_rig(&r);
}

/* dart 892: two boxes on parallel hinges of the world strike each other face to face, and the complementarity solver
   answers NaN: many contacts, all but one of them redundant. Like the wings of a door, no gravity, e = 0: at the
   middle both stop for good, v = 0; where, is known to the way of a step, v dt. */
TEST(boxes_on_parallel_hinges_collide_to_nan) {
  static const char text[] = "<mujoco><compiler angle='radian'/><option gravity='0 0 0'/><worldbody>"
                             "<body pos='-.5 0 0'><joint axis='0 0 1'/><geom type='box' size='.4 .5 .5' "
                             "pos='.1 .7 0' mass='1'/></body>"
                             "<body pos='.5 0 0'><joint axis='0 0 1'/><geom type='box' size='.4 .5 .5' "
                             "pos='-.1 .7 0' mass='1'/></body>"
                             "</worldbody></mujoco>";
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    rig r;
    if (open_rig(&r, text, *s, 1e-3)) {
      double *q = kn_state_q(r.state), *v = kn_state_v(r.state), residual = 0.0, overlap = 0.0;
      int touched = 0;
      q[0] = 0.5, q[1] = -0.5, v[0] = -2.0, v[1] = 2.0;
      for (int k = 0; k < 1000 && CHECK_OK(kn_step(r.sim, r.state)); k++) {
        const kn_report* report = kn_sim_report(r.sim);
        residual = fmax(residual, report->residual), overlap = fmax(overlap, report->penetration);
        touched += v[0] > -1.0;
      }
      printf("  boxes on hinges     %-5s end at %.2g and %.2g rad/s, residual %.2g, overlap %.2g m\n", *s,
             v[0], v[1], residual, overlap);
      CHECK(touched > 700); /* 0.25 s of way */
      CHECK_BELOW(fabs(v[0]) + fabs(v[1]), 1e-9);
      CHECK_BELOW(fabs(q[0]) + fabs(q[1]), 2.0 * 2.0 * 1e-3);
      CHECK_BELOW(residual, 1e-8); /* the solver's tolerance 1e-10, with room for redundant rows */
      CHECK_BELOW(overlap, 1e-8);
    }
    close_rig(&r);
  }
}

/* bullet3 1530: a ball with e = 1 dropped from 10 m loses height, down to 4.5 m, whatever the step. The apex
   h = z + v²/2g of every flight is the first, at 1/240 s too: 1e-10 of it, rounding of 60 s. */
TEST(elastic_ball_from_ten_metres_loses_height) {
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    kn_world w;
    double lowest = INFINITY, highest = 0.0;
    int bounces = 0;
    if (kn_world_open(&w, "bouncing-ball e=1 height=10", *s, 1.0 / 240.0, NULL)) {
      while (kn_state_time(w.state) < 60.0) {
        double down = w.v[2];
        if (!kn_world_step(&w)) break;
        double apex = w.q[2] - 0.1 + w.v[2] * w.v[2] / (2.0 * 9.81);
        lowest = fmin(lowest, apex), highest = fmax(highest, apex);
        bounces += down < 0.0 && w.v[2] > 0.0;
      }
      printf("  elastic ball, 10 m  %-5s after %d bounces %.2g m lower, %.2g m higher\n", *s, bounces,
             10.0 - lowest, highest - 10.0);
      CHECK(bounces >= 20);
      CHECK_BELOW(10.0 - lowest, 1e-9);
      CHECK_BELOW(highest - 10.0, 1e-12);
    }
    kn_world_close(&w);
  }
}

/* newton 1137: a box dropped 9 cm on another, both of them meshes with mu = .5 and e = 0, springs back by 9 cm. The
   rebound of e = 0 is 0: nothing moves up faster than 1e-9 m/s, and the end is one box on the other. */
TEST(mesh_dropped_on_a_mesh_springs_back) {
  static const char text[] =
      "<mujoco><asset><mesh name='m' vertex='-.05 -.05 -.05 .05 -.05 -.05 -.05 .05 -.05 .05 .05 -.05 "
      "-.05 -.05 .05 .05 -.05 .05 -.05 .05 .05 .05 .05 .05'/></asset><worldbody>"
      "<geom type='plane' size='5 5 1' friction='.5'/>"
      "<body pos='0 0 .05'><freejoint/><geom type='mesh' mesh='m' friction='.5'/></body>"
      "<body pos='.01 .005 .24'><freejoint/><geom type='mesh' mesh='m' friction='.5'/></body>"
      "</worldbody></mujoco>";
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    rig r;
    if (open_rig(&r, text, *s, 1e-3)) {
      const double *q = kn_state_q(r.state), *v = kn_state_v(r.state);
      double up = 0.0;
      for (int k = 0; k < 1000 && CHECK_OK(kn_step(r.sim, r.state)); k++) up = fmax(up, v[8]);
      printf("  mesh on mesh        %-5s springs back at %.2g m/s, ends %.2g m off\n", *s, up, q[9] - 0.15);
      CHECK_BELOW(up, 1e-9);
      CHECK_NEAR(q[9], 0.15, 1e-8);
    }
    close_rig(&r);
  }
}
