/* Forces that the motion leaves open: the same motion and the same state whatever is chosen, within the cones,
   and those of a robot that stands vary smoothly. What is chosen is judged by the verifier's mechanics, which
   shares nothing with the chooser. */
#include <stdlib.h>
#include <string.h>

#include "floor.h"
#include "knuckle/force.h"
#include "knuckle/load.h"
#include "record/verify/verify.h"
#include "test.h"

enum { ROOM = 128 };

typedef struct watch {
  kn_force_chooser* chooser;
  double last[ROOM][3], jump; /* world forces of the step before by contact; largest change of one, N */
  uint64_t key[ROOM];
  int lasts;
  double motion, cone, friction; /* worst change of what the dofs feel, of 1; beyond the cone, N; sum, N */
} watch;

static void look(watch* w, const kn_contact* contact, const kn_contact_load* load, int contacts,
                 bool settled) {
  w->friction = 0;
  for (int i = 0; i < contacts; i++) {
    w->friction += load[i].tangential;
    w->cone = fmax(w->cone, load[i].tangential - contact[i].mu * load[i].normal);
    for (int k = 0; k < w->lasts; k++)
      for (int a = 0; a < 3 && w->key[k] == contact[i].key && settled; a++)
        w->jump = fmax(w->jump, fabs(load[i].world[a] - w->last[k][a]));
  }
  w->lasts = contacts;
  for (int i = 0; i < contacts; i++) {
    w->key[i] = contact[i].key;
    memcpy(w->last[i], load[i].world, sizeof w->last[i]);
  }
}

/* What the dofs feel of the chosen forces less what they feel of the solver's, in parts of the largest. */
static double motion_change(const kn_plain* P, const kn_contact* contact, const kn_contact_load* a,
                            const kn_contact_load* b, int contacts, double* r) {
  double size = 0, most = 0;
  memset(r, 0, (size_t)P->model->nv * sizeof *r);
  for (int i = 0; i < contacts; i++) {
    const kn_contact* c = &contact[i];
    kn_plain_take(r, &size, P, c->body_a, c->point, a[i].world, 1.0);
    kn_plain_take(r, &size, P, c->body_b, c->point, a[i].world, -1.0);
    kn_plain_take(r, NULL, P, c->body_a, c->point, b[i].world, -1.0);
    kn_plain_take(r, NULL, P, c->body_b, c->point, b[i].world, 1.0);
  }
  for (int i = 0; i < P->model->nv; i++) most = fmax(most, fabs(r[i]));
  return size > 0 ? most / size : 0;
}

/* The servos of a robot move a little, twice a second, so that every step has another problem to solve. */
static void sway(kn_state* x, const kn_model* m, double t) {
  kn_keyframe_def key;
  for (int i = 0; i < kn_model_nu(m) && kn_model_keyframe(&key, m, 0) == KN_OK && key.ctrl; i++)
    kn_state_ctrl(x)[i] = key.ctrl[i] + 0.001 * sin(12.0 * t + i); /* rad */
}

/* Runs, choosing in every step; w[0] nearest, w[1] least, w[2] solved. */
static uint64_t run(watch w[3], const kn_model* m, kn_state* x, const kn_sim_settings* s, int steps,
                    int settled) {
  kn_sim* sim = NULL;
  kn_data* data = NULL;
  kn_state* mid = NULL;
  kn_plain_plan plan = {0};
  kn_plain P = {0};
  kn_contact_load load[3][ROOM];
  double* r = malloc((size_t)kn_model_nv(m) * sizeof *r + 8);
  bool ok = CHECK_OK(kn_sim_create(&sim, m, s)) && CHECK_OK(kn_data_create(&data, m)) &&
            CHECK_OK(kn_state_create(&mid, m)) && CHECK_OK(kn_plain_plan_make(&plan, m)) &&
            CHECK_OK(kn_plain_create(&P, m, &plan)) && CHECK_OK(kn_sim_prepare(sim, x));
  for (int i = 0; i < 3 && ok; i++)
    ok = CHECK_OK(kn_force_chooser_create(&w[i].chooser, m, (kn_force_choice)i));
  for (int i = 0; i < steps && ok; i++) {
    ok = CHECK_OK(kn_integrate(kn_state_q(mid), m, kn_state_q(x), kn_state_v(x), 0.5 * s->dt)) &&
         (sway(x, m, i * s->dt), CHECK_OK(kn_step(sim, x)));
    const kn_report* p = kn_sim_report(sim);
    kn_plain_place(&P, kn_state_q(mid), kn_state_v(mid));
    ok = ok && CHECK(p->contacts <= ROOM) && CHECK_OK(kn_kinematics(m, mid, data));
    for (int k = 2; k >= 0 && ok; k--) {
      ok = CHECK_OK(kn_contact_loads(load[k], p->contact, p->contacts, p->dt)) &&
           CHECK_OK(kn_forces_choose(load[k], w[k].chooser, data, p->contact, p->contacts));
      w[k].motion = fmax(w[k].motion, motion_change(&P, p->contact, load[2], load[k], p->contacts, r));
      look(&w[k], p->contact, load[k], p->contacts, i > settled);
    }
  }
  for (int i = 0; i < 3; i++) kn_force_chooser_destroy(w[i].chooser);
  kn_plain_destroy(&P);
  kn_plain_plan_free(&plan);
  kn_state_destroy(mid);
  kn_data_destroy(data);
  kn_sim_destroy(sim);
  free(r);
  return kn_state_hash(x);
}

static uint64_t run_alone(const kn_model* m, kn_state* x, const kn_sim_settings* s, int steps) {
  kn_sim* sim = NULL;
  if (CHECK_OK(kn_sim_create(&sim, m, s)) && CHECK_OK(kn_sim_prepare(sim, x)))
    for (int i = 0; i < steps; i++) sway(x, m, i * s->dt), CHECK_OK(kn_step(sim, x));
  kn_sim_destroy(sim);
  return kn_state_hash(x);
}

TEST(forces_of_a_standing_g1_vary_smoothly_and_leave_its_hash) {
  const char* path = kn_test_data("models/mjcf/unitree_g1/scene.xml");
  kn_spec* spec = NULL;
  kn_model* m = NULL;
  kn_state* x = NULL;
  watch w[3] = {0};
  if (!path) SKIP("no shared data");
  kn_sim_settings s = kn_sim_default();
  s.dt = 0.002; /* the model's */
  if (CHECK_OK(kn_load(&spec, NULL, path, NULL)) && CHECK_OK(kn_compile(&m, spec)) &&
      CHECK_OK(kn_state_create(&x, m)) && CHECK_OK(kn_state_keyframe(x, 0))) {
    uint64_t hash = run(w, m, x, &s, 200, 20); /* after the landing: 40 ms */
    CHECK_OK(kn_state_keyframe(x, 0));
    CHECK(run_alone(m, x, &s, 200) == hash);
    printf(
        "  largest change of a force in a step: nearest %.2g N, least %.2g N, as solved %.2g N; friction of "
        "both feet %.3g, %.3g, %.3g N\n",
        w[0].jump, w[1].jump, w[2].jump, w[0].friction, w[1].friction, w[2].friction);
    for (int k = 0; k < 2; k++) {
      CHECK_BELOW(w[k].jump, 8.0); /* N: what the servos themselves move between toe and heel is 5 N */
      CHECK_BELOW(w[k].jump, w[2].jump + 1e-9); /* never rougher than as solved */
      CHECK_BELOW(w[k].motion, 1e-9);           /* the chooser's 1e-10 times a lever of some metres */
      CHECK_BELOW(w[k].cone, 1e-9);             /* N */
    }
    /* feet do not pull at each other through the floor; least are the squares of all components, normals too */
    CHECK_BELOW(w[1].friction, 1.01 * w[2].friction);
  }
  kn_state_destroy(x);
  kn_model_destroy(m);
  kn_spec_destroy(spec);
}

/* Load moved from two opposite corners of a box to the other two turns it nowhere. Forces like that, told to be
   those of the step before, stay with "nearest"; "least" shares out equally. */
TEST(nearest_remembers_and_least_does_not) {
  kn_floor f = {0};
  kn_sim_settings s = kn_sim_default();
  kn_spec* spec = kn_floor_spec(0.5, 0, 0);
  kn_floor_add(spec, "box", KN_SHAPE_BOX, 0.1, 0.1, 0.1, 3, (double[]){0, 0, 0.1}, 0.5, 0);
  kn_force_chooser *near = NULL, *least = NULL;
  if (kn_floor_open(&f, spec, &s) && CHECK_OK(kn_force_chooser_create(&near, f.model, KN_FORCES_NEAREST)) &&
      CHECK_OK(kn_force_chooser_create(&least, f.model, KN_FORCES_LEAST))) {
    for (int i = 0; i < 20; i++) CHECK_OK(kn_step(f.sim, f.state));
    const kn_report* p = kn_sim_report(f.sim);
    kn_contact stiff[4];
    kn_contact_load told[4] = {0}, a[4], b[4];
    if (CHECK_INT(p->contacts, 4)) {
      CHECK_OK(kn_contact_loads(a, p->contact, 4, p->dt));
      memcpy(b, a, sizeof b);
      memcpy(stiff, p->contact, sizeof stiff);
      for (int i = 0; i < 4; i++) {
        const kn_contact* c = &p->contact[i];
        stiff[i].compliant = true; /* a force that is given by its deformation: remembered as it is */
        told[i].local[0] = told[i].normal = 3 * 9.81 / 4 + (c->point[0] * c->point[1] > 0 ? 2 : -2);
        for (int k = 0; k < 3; k++) told[i].world[k] = told[i].normal * c->frame[k];
      }
      CHECK_OK(kn_forces_choose(told, near, kn_sim_data(f.sim), stiff, 4));
      CHECK_OK(kn_forces_choose(told, least, kn_sim_data(f.sim), stiff, 4));
      CHECK_OK(kn_forces_choose(a, near, kn_sim_data(f.sim), p->contact, 4));
      CHECK_OK(kn_forces_choose(b, least, kn_sim_data(f.sim), p->contact, 4));
      for (int i = 0; i < 4; i++) {
        CHECK_NEAR(a[i].normal, told[i].normal, 1e-9); /* N: the solver's own error, 1e-12 of the weight */
        CHECK_NEAR(b[i].normal, 3 * 9.81 / 4, 1e-9);
        CHECK_NEAR(b[i].tangential, 0, 1e-9);
      }
    }
  }
  kn_force_chooser_destroy(near);
  kn_force_chooser_destroy(least);
  kn_floor_close(&f);
}

/* A ball on a ball: each carries what it carries, and not a bit of it changes. */
TEST(determined_forces_keep_every_bit) {
  kn_floor f = {0};
  kn_sim_settings s = kn_sim_default();
  kn_spec* spec = kn_floor_spec(0.5, 0, 0);
  kn_floor_add(spec, "ball", KN_SHAPE_SPHERE, 0.1, 0, 0, 2, (double[]){0, 0, 0.1}, 0.5, 0);
  kn_floor_add(spec, "other", KN_SHAPE_SPHERE, 0.1, 0, 0, 2, (double[]){0, 0, 0.3}, 0.5, 0);
  kn_force_chooser* near = NULL;
  if (kn_floor_open(&f, spec, &s) && CHECK_OK(kn_force_chooser_create(&near, f.model, KN_FORCES_NEAREST)))
    for (int i = 0; i < 20; i++) {
      CHECK_OK(kn_step(f.sim, f.state));
      const kn_report* p = kn_sim_report(f.sim);
      kn_contact_load a[ROOM], own[ROOM];
      CHECK_INT(p->contacts, 2);
      CHECK_OK(kn_contact_loads(own, p->contact, p->contacts, p->dt));
      memcpy(a, own, sizeof a);
      CHECK_OK(kn_forces_choose(a, near, kn_sim_data(f.sim), p->contact, p->contacts));
      for (int k = 0; k < p->contacts; k++) CHECK_BITS(a[k].world, own[k].world, 3);
    }
  kn_force_chooser_destroy(near);
  kn_floor_close(&f);
}
