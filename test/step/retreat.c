/* The last resort of the position repair: trees that overlap end short of their way, others do not. */
#include <math.h>
#include <string.h>

#include "scene.h"
#include "step/sim.h"
#include "test.h"

/* Three balls on a line, 0.3 m apart, radius 0.1 m, without gravity; a fourth far away. */
static kn_model* balls(void) {
  kn_spec* spec;
  kn_model* model = NULL;
  static const double at[4] = {0.0, 0.3, 0.6, 9.0};
  kn_spec_create(&spec);
  for (int i = 0; i < 4; i++) {
    kn_body_def b = kn_body_default();
    kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
    kn_geom_def g = kn_geom_default(KN_SHAPE_SPHERE);
    kn_joint joint;
    kn_geom geom;
    b.mass = 1, b.inertia[0] = b.inertia[1] = b.inertia[2] = 0.004, b.pos[0] = at[i];
    kn_spec_add_body(&j.body, spec, &b);
    g.body = j.body;
    g.shape.size[0] = 0.1;
    kn_spec_add_joint(&joint, spec, &j);
    kn_spec_add_geom(&geom, spec, &g);
  }
  CHECK_OK(kn_compile(&model, spec));
  kn_spec_destroy(spec);
  return model;
}

/* The first ball is sent through the second, the second away along y but back again when it is stopped: the
   third stays where it wants to be, and so does the fourth. The first must end at the touching distance to
   the bisection's fineness, 2^-10 of its way. */
TEST(overlapping_trees_end_short_of_their_way) {
  kn_model* m = balls();
  kn_state* x;
  kn_sim* s;
  kn_sim_settings set = kn_sim_default();
  double q[28], worst;
  kn_flow f = {0};
  CHECK_OK(kn_state_create(&x, m));
  CHECK_OK(kn_sim_create(&s, m, &set));
  CHECK_OK(kn_step(s, x)); /* the blocks of the state are known from now on */
  memcpy(s->past.q_safe, x->q, sizeof q);
  memcpy(q, x->q, sizeof q);
  q[0] += 0.25;     /* gap 0.1 m: overlaps by 0.15 m */
  q[14] += 0.05;    /* free way */
  q[21 + 1] += 5.0; /* far away */
  double third = q[14], fourth = q[22];
  CHECK_OK(kn_stage_look(s, &f, q, 0.0, false, &worst));
  CHECK_NEAR(worst, 0.15, 1e-12);
  CHECK_OK(kn_stage_retreat(s, &f, q, 0.0, &worst));
  CHECK_BELOW(worst, 1e-9);
  CHECK(q[0] > x->q[0] + 0.1 - 0.25 / 1024 - 1e-9 && q[0] <= x->q[0] + 0.1 + 1e-9);
  CHECK_NEAR(q[14], third, 1e-15);
  CHECK_NEAR(q[22], fourth, 1e-15);
  /* it runs into the second when that one is kept from moving on: both are stopped, nothing overlaps */
  memcpy(q, x->q, sizeof q);
  q[0] += 0.25, q[7] += 0.2; /* the second runs 0.1 m into the third's place, which moves on */
  q[14] += 0.05;
  CHECK_OK(kn_stage_look(s, &f, q, 0.0, false, &worst));
  CHECK(worst > 0.04);
  CHECK_OK(kn_stage_retreat(s, &f, q, 0.0, &worst));
  CHECK_BELOW(worst, 1e-9);
  CHECK(q[7] - q[0] >= 0.2 - 1e-9 && q[14] - q[7] >= 0.2 - 1e-9);
  kn_sim_destroy(s);
  kn_state_destroy(x);
  kn_model_destroy(m);
}

/* A step that begins with an overlap has nothing to go back to: the position stays as it was. */
TEST(no_way_back_into_an_overlap) {
  kn_model* m = balls();
  kn_state* x;
  kn_sim* s;
  kn_sim_settings set = kn_sim_default();
  double q[28], worst;
  kn_flow f = {0};
  CHECK_OK(kn_state_create(&x, m));
  CHECK_OK(kn_sim_create(&s, m, &set));
  CHECK_OK(kn_step(s, x));
  memcpy(q, x->q, sizeof q);
  memcpy(s->past.q_safe, x->q, sizeof q);
  q[0] = 0.15, s->past.q_safe[0] = 0.2;
  CHECK_OK(kn_stage_retreat(s, &f, q, 0.0, &worst));
  CHECK_NEAR(q[0], 0.15, 1e-15);
  CHECK_NEAR(worst, 0.05, 1e-12);
  kn_sim_destroy(s);
  kn_state_destroy(x);
  kn_model_destroy(m);
}
