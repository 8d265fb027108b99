/* One contact of a mechanism in a plane is repaired in closed form (src/step/repair/project_one.c): states and
   reports are those of the general way, bit for bit; and what the ledger of such steps leaves behind. */
#include <math.h>

#include "dynamics/tree/data.h"
#include "scene.h"
#include "step/repair/project_one.h"
#include "test.h"

typedef struct pair {
  kn_scene_opened* scene;
  kn_state* x[2];
  kn_sim* sim[2];
} pair;

/* The second goes the general way: it does not know that there are no rows but those of contacts. */
static bool open_pair(pair* p, const char* name, const char* links) {
  *p = (pair){0};
  if (!CHECK_OK(kn_scene_open(&p->scene, name, &links, 1))) return false;
  kn_sim_settings settings = kn_scene_settings(p->scene->scene);
  for (int i = 0; i < 2; i++)
    if (!CHECK_OK(kn_state_create(&p->x[i], p->scene->model)) ||
        !CHECK_OK(kn_sim_create(&p->sim[i], p->scene->model, &settings)) ||
        !CHECK_OK(kn_sim_prepare(p->sim[i], p->x[i])) || !CHECK_OK(kn_scene_start(p->scene, p->x[i])))
      return false;
  p->sim[1]->bare = p->sim[1]->lone = false;
  return true;
}

static void close_pair(pair* p) {
  for (int i = 0; i < 2; i++) kn_sim_destroy(p->sim[i]), kn_state_destroy(p->x[i]);
  kn_scene_close(p->scene);
}

static bool repaired_alone(const kn_sim* s) {
  return s->reusable && kn_one_contact(s) && s->report.correction > 0.0;
}

/* The balance of momentum is rounding of forces of some kN over 1 ms, the columns that of energies of 100 J.
 */
static void compare(const pair* p) {
  const kn_report *a = kn_sim_report(p->sim[0]), *b = kn_sim_report(p->sim[1]);
  CHECK(kn_state_hash(p->x[0]) == kn_state_hash(p->x[1]));
  CHECK(a->penetration == b->penetration && a->correction == b->correction && a->lift == b->lift);
  CHECK(a->audit == b->audit && a->momentum_error == b->momentum_error && a->momentum_error <= 1e-11);
  CHECK(a->ledger.normal == b->ledger.normal && a->ledger.friction == b->ledger.friction);
  CHECK_NEAR(a->ledger.integration, b->ledger.integration, 1e-12);
  CHECK_NEAR(a->ledger.correction, b->ledger.correction, 1e-12);
}

/* Both take every step from the same state. */
TEST(the_repair_of_one_contact_is_the_general_one) {
  static const char* const scenes[] = {"pendulum-2012", "pendulum-2014"};
  static const char* const links[] = {"links=1", "links=2", "links=3", "links=5", "links=8", "links=12"};
  int repaired = 0, anchored = 0;
  for (int i = 0; i < 12; i++) {
    pair p;
    bool ok = open_pair(&p, scenes[i / 6], links[i % 6]);
    for (int k = 0; ok && k < (kn_test_effort() > 1 ? 5000 : 2500); k++) {
      ok = CHECK_OK(kn_state_copy(p.x[1], p.x[0])) && CHECK_OK(kn_step(p.sim[0], p.x[0])) &&
           CHECK_OK(kn_step(p.sim[1], p.x[1]));
      if (!ok || !repaired_alone(p.sim[0])) continue;
      compare(&p);
      repaired++, anchored += p.sim[0]->blocks.anchors->used > 0;
    }
    close_pair(&p);
  }
  CHECK(repaired > 1000 && anchored > 500); /* not a test of nothing */
}

/* After a tiny correction the poses are moved on when somebody asks for them. */
TEST(who_asks_for_the_data_gets_the_poses_of_the_state) {
  pair p;
  bool ok = open_pair(&p, "pendulum-2012", "links=3"), behind = false;
  for (int k = 0; ok && !behind && k < 5000; k++) {
    ok = CHECK_OK(kn_step(p.sim[0], p.x[0]));
    behind = p.sim[0]->moved_on;
  }
  if (ok && CHECK(behind)) {
    const kn_model* m = p.scene->model;
    kn_data *fresh, *data = kn_sim_data(p.sim[0]);
    CHECK_OK(kn_data_create(&fresh, m));
    kn_dyn_position(fresh, m, p.x[0]->q);
    kn_dyn_velocity(fresh, m, p.x[0]->v);
    for (int l = 0; l < m->nlink; l++) {
      kn_pose a, b;
      double u[6], v[6];
      kn_link_pose(&a, data, l), kn_link_pose(&b, fresh, l);
      kn_link_velocity(u, data, l), kn_link_velocity(v, fresh, l);
      for (int k = 0; k < 3; k++) CHECK_NEAR(a.p[k], b.p[k], 1e-15);
      for (int k = 0; k < 9; k++) CHECK_NEAR(a.R[k], b.R[k], 1e-15);
      for (int k = 0; k < 6; k++) CHECK_NEAR(u[k], v[k], 1e-14); /* m/s, some links of 1 m */
    }
    kn_data_destroy(fresh);
  }
  close_pair(&p);
}
