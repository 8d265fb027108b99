/* Forces are forces: N for what presses, N s for what collides, sums by pair and body, and which of them the
   motion determines. */
#include <math.h>
#include <string.h>

#include "floor.h"
#include "knuckle/force.h"
#include "knuckle/load.h"
#include "test.h"

enum { ROOM = 64 };

typedef struct rig {
  kn_floor w;
  int contacts, sums;
  kn_contact_load load[ROOM];
  kn_load_sum sum[3 * ROOM];
} rig;

static bool look(rig* r) {
  const kn_report* p = kn_sim_report(r->w.sim);
  r->contacts = p->contacts;
  return CHECK(p->contacts <= ROOM) && CHECK_OK(kn_contact_loads(r->load, p->contact, p->contacts, p->dt)) &&
         CHECK_OK(kn_load_sums(r->sum, &r->sums, 3 * ROOM, p->contact, r->load, p->contacts)) &&
         CHECK_OK(kn_loads_judge(r->load, r->sum, r->sums, r->w.model, kn_sim_data(r->w.sim), p->contact,
                                 p->contacts, p->limit_impulse, kn_state_v(r->w.state)));
}

static const kn_load_sum* sum_on(const rig* r, kn_body a, kn_body b) {
  for (int i = 0; i < r->sums; i++)
    if (r->sum[i].a == a && r->sum[i].b == b) return &r->sum[i];
  return NULL;
}

/* A box of 3 kg on the floor: each corner's share is anybody's guess, their sum is its weight. */
TEST(a_sum_of_undetermined_forces_is_determinate) {
  rig r = {0};
  kn_sim_settings s = kn_sim_default();
  kn_spec* spec = kn_floor_spec(0.5, 0, 0);
  kn_floor_add(spec, "box", KN_SHAPE_BOX, 0.1, 0.1, 0.1, 3, (double[]){0, 0, 0.1}, 0.5, 0);
  if (kn_floor_open(&r.w, spec, &s)) {
    for (int i = 0; i < 20; i++) CHECK_OK(kn_step(r.w.sim, r.w.state));
    if (look(&r)) {
      CHECK_INT(r.contacts, 4);
      for (int i = 0; i < r.contacts; i++) {
        CHECK_INT(r.load[i].determinate, KN_ANSWER_NO);
        CHECK(!r.load[i].impulse);
      }
      const kn_load_sum* all = sum_on(&r, 0, KN_ANY_BODY);
      if (CHECK(all != NULL)) {
        CHECK_NEAR(all->force[2], 3 * 9.81, 1e-9); /* N, not N s */
        CHECK_INT(all->determinate, KN_ANSWER_YES);
        CHECK_INT(all->contacts, 4);
      }
    }
  }
  kn_floor_close(&r.w);
}

/* A ball on a box on the floor: one contact, determined; and the pair below carries both. */
TEST(one_contact_is_determinate_and_pairs_add_up) {
  rig r = {0};
  kn_sim_settings s = kn_sim_default();
  kn_spec* spec = kn_floor_spec(0.5, 0, 0);
  kn_floor_add(spec, "box", KN_SHAPE_BOX, 0.1, 0.1, 0.1, 3, (double[]){0, 0, 0.1}, 0.5, 0);
  kn_floor_add(spec, "ball", KN_SHAPE_SPHERE, 0.05, 0, 0, 1, (double[]){0, 0, 0.25}, 0.5, 0);
  if (kn_floor_open(&r.w, spec, &s)) {
    for (int i = 0; i < 20; i++) CHECK_OK(kn_step(r.w.sim, r.w.state));
    if (look(&r)) {
      const kn_load_sum *ball = sum_on(&r, 1, KN_ANY_BODY), *box = sum_on(&r, 0, KN_ANY_BODY);
      if (CHECK(ball && box)) {
        CHECK_NEAR(ball->force[2], 9.81, 1e-9);
        CHECK_NEAR(box->force[2], 3 * 9.81, 1e-9); /* floor up, ball down: its weight */
        CHECK(ball->determinate == KN_ANSWER_YES && box->determinate == KN_ANSWER_YES);
      }
      double floor = 0.0;
      for (int i = 0; i < r.sums; i++)
        if (r.sum[i].b != KN_ANY_BODY && (r.sum[i].a == KN_WORLD || r.sum[i].b == KN_WORLD))
          floor = fabs(r.sum[i].force[2]);
      CHECK_NEAR(floor, 4 * 9.81, 1e-9);
    }
  }
  kn_floor_close(&r.w);
}

/* A bar held by two hands that cannot move, with friction: how hard they squeeze is not in the motion, so
   neither hand's sum is determined; what both do together is. */
TEST(a_squeeze_is_not_determined_but_its_effect_is) {
  static const char text[] =
      "<mujoco><worldbody><body name='l' pos='-.15 0 0'><geom type='box' size='.05 .2 .2' "
      "friction='1'/></body>"
      "<body name='r' pos='.15 0 0'><geom type='box' size='.05 .2 .2' friction='1'/></body>"
      "<body name='bar'><freejoint/><geom type='box' size='.1 .02 .02' mass='1' friction='1'/></body>"
      "</worldbody></mujoco>";
  rig r = {0};
  kn_spec* spec = NULL;
  kn_sim_settings s = kn_sim_default();
  CHECK_OK(kn_load_text(&spec, NULL, "hands.xml", text, sizeof text - 1, NULL));
  if (kn_floor_open(&r.w, spec, &s)) {
    CHECK_OK(kn_step(r.w.sim, r.w.state));
    if (look(&r) && CHECK(r.contacts >= 2)) {
      kn_body bar;
      CHECK_OK(kn_model_find_body(&bar, r.w.model, "bar"));
      const kn_load_sum* all = sum_on(&r, bar, KN_ANY_BODY);
      if (CHECK(all != NULL)) CHECK_INT(all->determinate, KN_ANSWER_YES);
      for (int i = 0; i < r.sums; i++)
        if (r.sum[i].b != KN_ANY_BODY) CHECK_INT(r.sum[i].determinate, KN_ANSWER_NO);
    }
  }
  kn_floor_close(&r.w);
}

/* A ball of 2 kg that lands with 3 m/s and leaves with half of it: 2 (3 + 1.5) N s, whatever the step. */
TEST(an_impact_has_an_impulse_and_no_force) {
  for (int k = 0; k < 2; k++) {
    rig r = {0};
    kn_sim_settings s = kn_sim_default();
    kn_spec* spec = kn_floor_spec(0, 0.5, 0);
    kn_floor_add(spec, "ball", KN_SHAPE_SPHERE, 0.1, 0.1, 0.1, 2, (double[]){0, 0, 0.1 + 1e-4}, 0, 0.5);
    s.dt = k ? 1e-4 : 1e-3;
    int hits = 0;
    if (kn_floor_open(&r.w, spec, &s)) {
      kn_state_v(r.w.state)[2] = -3;
      for (int i = 0; i < 10; i++) {
        CHECK_OK(kn_step(r.w.sim, r.w.state));
        if (!look(&r)) break;
        for (int c = 0; c < r.contacts; c++) {
          if (r.load[c].normal == 0.0) continue;
          CHECK(r.load[c].impulse);
          CHECK_NEAR(r.load[c].normal, 9, 0.05); /* N s; gravity over a step and on the way there */
          const kn_load_sum* all = sum_on(&r, 0, KN_ANY_BODY);
          if (CHECK(all != NULL)) {
            CHECK_NEAR(all->force[2], 0, 0);
            CHECK_NEAR(all->impulse[2], r.load[c].normal, 1e-12);
          }
          hits++;
        }
      }
    }
    CHECK_INT(hits, 1);
    kn_floor_close(&r.w);
  }
}

TEST(modes_have_names) {
  kn_contact c = {.mode = KN_MODE_OPEN};
  CHECK(strcmp(kn_contact_mode_name(&c), "open") == 0);
  c.mode = KN_MODE_SLIP;
  CHECK(strcmp(kn_contact_mode_name(&c), "slipping") == 0);
  c.mode = KN_MODE_STICK;
  CHECK(strcmp(kn_contact_mode_name(&c), "sticking") == 0);
  c.rolling = true;
  CHECK(strcmp(kn_contact_mode_name(&c), "rolling") == 0);
}
