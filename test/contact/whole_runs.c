/* Whole runs, not single steps: the formulations end where the operational space ends. What a step repairs (positions of
   contacts, loops and anchors) is repaired with the same Λ whatever the formulation, and contact forces that the motion
   leaves open are the same, so that nothing but rounding parts the runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/step.h"
#include "scene.h"
#include "test.h"

enum { MOST = 128 };

typedef struct end {
  double v[MOST], speed;
} end;

static bool run_to_end(end* out, const char* scene, const char* formulation, double duration, double nudge) {
  kn_scene_opened* o = NULL;
  kn_state* x = NULL;
  kn_sim* sim = NULL;
  if (!CHECK_OK(kn_scene_open(&o, scene, NULL, 0))) return false;
  kn_sim_settings s = kn_scene_settings(o->scene);
  long steps = lround(duration / s.dt);
  s.formulation = formulation;
  s.tolerance = 1e-12;
  s.dt *= 1.0 + nudge;
  int nv = kn_model_nv(o->model);
  bool ok = CHECK(nv <= MOST) && CHECK_OK(kn_state_create(&x, o->model)) && CHECK_OK(kn_scene_start(o, x)) &&
            CHECK_OK(kn_sim_create(&sim, o->model, &s));
  if (ok && o->controller.fn) ok = CHECK_OK(kn_sim_set_controller(sim, &o->controller));
  for (long k = 0; k < steps && ok; k++) ok = CHECK_OK(kn_step(sim, x));
  memset(out, 0, sizeof *out);
  for (int i = 0; i < nv && ok; i++) {
    out->v[i] = kn_state_v(x)[i];
    out->speed = fmax(out->speed, fabs(out->v[i]));
  }
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_scene_close(o);
  return ok;
}

static double apart(const end* a, const end* b) {
  double most = 0.0;
  for (int i = 0; i < MOST; i++) most = fmax(most, fabs(a->v[i] - b->v[i]));
  return most;
}

/* 1e-9 of the largest velocity, at least 1 (m/s, rad/s): the promise. Seen: 3e-10 (a03, velocities of 1e3 rad/s), others 1e-11. */
static void all_agree(const char* scene, double duration) {
  static end reference, other;
  if (!run_to_end(&reference, scene, "os", duration, 0.0)) return;
  double limit = 1e-9 * fmax(1.0, reference.speed);
  for (const kn_choice* c = kn_formulations() + 1; c->name; c++) {
    if (!run_to_end(&other, scene, c->name, duration, 0.0)) return;
    double d = apart(&reference, &other);
    if (!CHECK_NEAR(d, 0.0, limit)) printf("  %s by %s\n", scene, c->name);
  }
}

/* The bars of A02 are thin rods: no inertia about their axes, so that the mass matrix of the free bodies is singular. It overflowed. */
TEST(thin_rods_agree) { all_agree("a02", 0.3); }

/* Loops: position and velocity repair of the step with Λ of its midpoint. Apart by 6e-4 and 6e-3 before. */
TEST(loops_agree) {
  all_agree("four-bar", 0.2);
  all_agree("a03", 0.005);
  all_agree("bricard", 0.05);
}

/* Robots that stand: 1.5e-6 m/s after 50 ms before; forces under the humanoid's soles are not determined. */
TEST(standing_robots_agree) {
  all_agree("quadruped", 0.05);
  all_agree("humanoid", 0.02);
}

/* Impacts with friction. */
TEST(impacts_agree) {
  all_agree("pendulum-2014", 0.3);
  all_agree("rocking-block", 0.2);
}

/* Dominoes part because the motion is chaotic: steps longer by 1e-15 of themselves part the same formulation as far. The separation
   of 1e-15 grows ten-thousandfold at least in .3 s, and what formulations add is of that size, not of the size of a
   scheme: 0.1 m/s before. */
TEST(dominoes_part_by_rounding) {
  static end reference, nudged, other;
  double most = 0.0;
  if (!run_to_end(&reference, "dominoes", "os", 0.3, 0.0)) return;
  for (int k = -2; k <= 2; k++) {
    if (k == 0) continue;
    if (!run_to_end(&nudged, "dominoes", "os", 0.3, 1e-15 * k)) return;
    most = fmax(most, apart(&reference, &nudged));
  }
  CHECK(most > 1e-11);
  if (!run_to_end(&other, "dominoes", "nmc-sparse", 0.3, 0.0)) return;
  CHECK_NEAR(apart(&reference, &other), 0.0, fmax(1e-9, 100.0 * most));
  CHECK(apart(&reference, &other) < 1e-5);
}
