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

/* dart 2903: a closed chain of hinges in a plane that is not aligned with the world's axes, closed by a weld, drifts
   open: of the weld's six rows three are redundant, and a singular pivot gives up the rest. A parallelogram of sides
   1, 2, 1 m in a tilted frame swings under gravity for 10 s, short of its folded positions, where it could
   branch. In its own frame its end stays where it was welded,
   (2, 0), turned by q1 + q2 + q3 + q4 = 0: 1e-9 m and rad, what the repair of positions leaves. */
TEST(tilted_closed_chain_drifts_open) {
  static const char text[] =
      "<mujoco><compiler angle='radian' autolimits='true'/><worldbody><body euler='.5 .7 .3'>"
      "<body><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0 0 -1' size='.02' mass='1' contype='0' "
      "conaffinity='0'/>"
      "<body pos='0 0 -1'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 2 0 0' size='.02' mass='1' "
      "contype='0' conaffinity='0'/>"
      "<body pos='2 0 0'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0 0 1' size='.02' mass='1' "
      "contype='0' conaffinity='0'/>"
      "<body name='tip' pos='0 0 1'><joint axis='0 1 0'/><geom type='sphere' size='.03' mass='.1' "
      "contype='0' "
      "conaffinity='0'/></body></body></body></body></body></worldbody>"
      "<equality><weld body1='tip'/></equality></mujoco>";
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    rig r;
    double gap = 0.0, turned = 0.0, swung = 0.0;
    if (open_rig(&r, text, *s, 1e-3)) {
      const double* q = kn_state_q(r.state);
      for (int k = 0; k < 10000 && CHECK_OK(kn_step(r.sim, r.state)); k++) {
        double a = q[0], b = a + q[1], c = b + q[2];
        gap = fmax(gap, hypot(2.0 * cos(b) - sin(a) + sin(c) - 2.0, cos(c) - cos(a) - 2.0 * sin(b)));
        turned = fmax(turned, fabs(c + q[3])), swung = fmax(swung, fabs(a));
      }
      printf("  tilted closed chain %-5s swings by %.2g rad, opens %.2g m, turns %.2g rad\n", *s, swung, gap,
             turned);
      CHECK(swung > 0.5);
      CHECK_BELOW(gap, 1e-9);
      CHECK_BELOW(turned, 1e-9);
    }
    close_rig(&r);
  }
}

/* drake 21510: a box lying flat on a box rattles where contact is stiff, and where it is soft enough not to, the two
   are pressed deep into each other by a gripper whose force is far above their weight. Boxes of 1 kg and 20 cm, for
   1 s on their own, then under a stamp with 10 kN: nothing moves and nothing overlaps. 1e-9 m/s and 1e-8 m:
   rounding, and what detection and the projection of positions leave. */
TEST(flat_boxes_rattle_or_sink_under_a_gripper) {
  static const char text[] =
      "<mujoco><worldbody><geom type='plane' size='5 5 1'/>"
      "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>"
      "<body pos='0 0 .3'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>"
      "<body pos='0 0 .45'><joint name='z' type='slide' axis='0 0 1'/><geom type='box' size='.05 .05 .05' "
      "mass='1'/></body></worldbody><actuator><motor joint='z'/></actuator></mujoco>";
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    rig r;
    double fast = 0.0, deep = 0.0;
    if (open_rig(&r, text, *s, 1e-3)) {
      const double *q = kn_state_q(r.state), *v = kn_state_v(r.state);
      for (int k = 0; k < 2000 && CHECK_OK(kn_step(r.sim, r.state)); k++) {
        kn_state_ctrl(r.state)[0] = k < 1000 ? 0.0 : -1e4;
        for (int i = 0; i < kn_model_nv(r.model); i++) fast = fmax(fast, fabs(v[i]));
        deep = fmax(deep, fmax(0.1 - q[2], fmax(0.2 - (q[9] - q[2]), -q[14] + (q[9] - 0.3))));
      }
      printf("  flat boxes, 10 kN   %-5s move at %.2g m/s, sink %.2g m\n", *s, fast, deep);
      CHECK_BELOW(fast, 1e-9);
      CHECK_BELOW(deep, 1e-8);
    }
    close_rig(&r);
  }
}

/* dart 3442: a heavy box on a light one sinks right through it from a mass ratio of 100 on. Ratios of 100, 1e4 and 1e6:
   the upper box stays where it was put; 1e-8 m as above. */
TEST(heavy_box_sinks_through_a_light_one) {
  for (const char* const* s = kn_world_steppers(); *s; s++)
    for (double ratio = 100.0; ratio < 2e6; ratio *= 100.0) {
      rig r;
      char text[600];
      double sunk = 0.0;
      snprintf(text, sizeof text,
               "<mujoco><worldbody><geom type='plane' size='5 5 1'/>"
               "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>"
               "<body pos='0 0 .3'><freejoint/><geom type='box' size='.1 .1 .1' mass='%.0f'/></body>"
               "</worldbody></mujoco>",
               ratio);
      if (open_rig(&r, text, *s, 1e-3)) {
        const double* q = kn_state_q(r.state);
        for (int k = 0; k < 2000 && CHECK_OK(kn_step(r.sim, r.state)); k++)
          sunk = fmax(sunk, fabs(q[9] - 0.3));
        printf("  heavy on light box  %-5s 1:%-7.0f moves %.2g m\n", *s, ratio, sunk);
        CHECK_BELOW(sunk, 1e-8);
      }
      close_rig(&r);
    }
}

/* raisimLib 55: a box of 1 kg on a floor with mu = .5 moves under 4.9 N, below mu m g = 4.905 N. A slide joint
   along the floor carries the force, another one the box. 1e-12 m/s: the contact sticks to rounding. Above, with
   4.91 N, it has to move: a = 0.005 m/s². */
TEST(box_slides_below_the_limit_of_friction) {
  static const char text[] =
      "<mujoco><option gravity='0 0 -9.81'/><worldbody><geom type='plane' size='5 5 1' friction='.5'/>"
      "<body pos='0 0 .1'><joint name='x' type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
      "<geom type='box' size='.1 .1 .1' mass='1' friction='.5'/></body></worldbody>"
      "<actuator><motor joint='x'/></actuator></mujoco>";
  static const double force[] = {4.9, 4.91};
  for (const char* const* s = kn_world_steppers(); *s; s++)
    for (int i = 0; i < 2; i++) {
      rig r;
      if (open_rig(&r, text, *s, 1e-3)) {
        const double* v = kn_state_v(r.state);
        kn_state_ctrl(r.state)[0] = force[i];
        for (int k = 0; k < 1000 && CHECK_OK(kn_step(r.sim, r.state)); k++) continue;
        printf("  box pushed, %.2f N  %-5s moves at %.3g m/s after 1 s\n", force[i], *s, v[0]);
        CHECK_NEAR(v[0], i ? (force[i] - 4.905) * 1.0 : 0.0, i ? 1e-4 : 1e-12); /* a step late at most */
      }
      close_rig(&r);
    }
}

/* genesis-world 3126: a cube of 10 cm sent sliding at 6 m/s on a floor with mu = .5 lifts off by 318 mm and tumbles. The force of
   friction, mu N at h/2 below the centre, moves N by mu h/2 = 2.5 cm, which the base of 5 cm holds: a cube with mu < 1
   cannot tip. It stops after v²/(2 mu g), to the way of two steps, and never lifts: 1e-9 m, what the repair leaves. */
TEST(sliding_cube_lifts_off_and_tumbles) {
  static const char text[] = "<mujoco><option gravity='0 0 -9.81'/><worldbody>"
                             "<geom type='plane' size='5 5 1' friction='.5'/>"
                             "<body pos='0 0 .05'><freejoint/><geom type='box' size='.05 .05 .05' mass='1' "
                             "friction='.5'/></body></worldbody></mujoco>";
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    rig r;
    double lift = 0.0, turn = 0.0;
    if (open_rig(&r, text, *s, 1e-3)) {
      const double* q = kn_state_q(r.state);
      kn_state_v(r.state)[0] = 6.0;
      for (int k = 0; k < 2000 && CHECK_OK(kn_step(r.sim, r.state)); k++) {
        lift = fmax(lift, q[2] - 0.05);
        for (int i = 4; i < 7; i++) turn = fmax(turn, fabs(q[i]));
      }
      double way = 6.0 * 6.0 / (2.0 * 0.5 * 9.81);
      printf("  sliding cube        %-5s stops %.2g m off %.3f m, lifts %.2g m, turns %.2g rad\n", *s,
             q[0] - way, way, lift, 2.0 * turn);
      CHECK_NEAR(q[0], way, 2.0 * 6.0 * 1e-3);
      CHECK_BELOW(lift, 1e-9);
      CHECK_BELOW(turn, 1e-9);
    }
    close_rig(&r);
  }
}

/* raisimLib 301: a quadruped stands on four feet, all in contact, and in single steps the force of one foot is read as 0. Here
   every foot pushes in every step of two seconds at rest, and the four together carry the weight, to 1e-6 of it: what is
   left of the fall after twenty seconds of damping. */
TEST(standing_quadruped_loses_the_force_of_a_foot) {
  kn_world w;
  if (kn_world_open(&w, "quadruped", "time", 0.0, NULL) && kn_world_until(&w, 20.0)) {
    double least = INFINITY, off = 0.0, weight = 9.81 * kn_model_mass(w.model), dt = w.settings.dt;
    while (kn_state_time(w.state) < 22.0 && kn_world_step(&w)) {
      const kn_report* r = kn_sim_report(w.sim);
      double sum = 0.0;
      CHECK_INT(r->contacts, 4);
      for (int i = 0; i < r->contacts; i++) {
        sum += r->contact[i].impulse[0] / dt;
        least = fmin(least, r->contact[i].impulse[0] / dt);
      }
      off = fmax(off, fabs(sum - weight));
    }
    printf("  standing quadruped  least force of a foot %.3g N, sum %.2g N off the weight of %.4g N\n", least,
           off, weight);
    CHECK(least > 0.05 * weight);
    CHECK_BELOW(off, 1e-6 * weight);
  }
  kn_world_close(&w);
}

/* mujoco 441: balls lie in a cup; moved slowly it keeps them, moved quickly they slip through its walls. Walls of half a
   millimetre, the cup at 20 m/s, which is 40 walls or a whole ball in a step of 1 ms, against a stop: the balls fly against the front.
   None is ever farther from the cup's middle than its walls allow; 1e-8 m as above. */
TEST(balls_slip_through_the_walls_of_a_fast_cup) {
  static const char text[] =
      "<mujoco><compiler autolimits='true'/><worldbody>"
      "<body name='cup'><joint type='slide' axis='1 0 0' range='-.3 .3'/>"
      "<geom type='box' size='.05 .05 .00025' pos='0 0 -.00025' mass='1'/>"
      "<geom type='box' size='.00025 .05 .03' pos='.05025 0 .03' mass='1'/>"
      "<geom type='box' size='.00025 .05 .03' pos='-.05025 0 .03' mass='1'/>"
      "<geom type='box' size='.05 .00025 .03' pos='0 .05025 .03' mass='1'/>"
      "<geom type='box' size='.05 .00025 .03' pos='0 -.05025 .03' mass='1'/></body>"
      "<body pos='0 0 .01'><freejoint/><geom type='sphere' size='.01' mass='.01'/></body>"
      "<body pos='.025 .02 .01'><freejoint/><geom type='sphere' size='.01' mass='.01'/></body>"
      "<body pos='-.03 -.02 .01'><freejoint/><geom type='sphere' size='.01' mass='.01'/></body>"
      "</worldbody></mujoco>";
  for (const char* const* s = kn_world_steppers(); *s; s++) {
    rig r;
    double out = -INFINITY;
    if (open_rig(&r, text, *s, 1e-3)) {
      const double* q = kn_state_q(r.state);
      kn_state_v(r.state)[0] = 20.0;
      for (int k = 0; k < 60 && CHECK_OK(kn_step(r.sim, r.state)); k++)
        for (int ball = 0; ball < 3; ball++) {
          const double* x = q + 1 + 7 * ball;
          out = fmax(out, fmax(fabs(x[0] - q[0]), fabs(x[1])) - 0.04);
        }
      printf("  fast cup            %-5s stops at %.3g m, balls at most %.2g m beyond its walls\n", *s, q[0],
             out);
      CHECK_NEAR(q[0], 0.3, 1e-3);
      CHECK(out > -1e-3); /* they were there */
      CHECK_BELOW(out, 1e-8);
    }
    close_rig(&r);
  }
}
