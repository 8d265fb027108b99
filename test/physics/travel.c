/* Second order where contacts travel: contact points that wander over both bodies, normals and limits that turn
   within a step (src/step/time/travel.c). Each row prints its observed order; the motion is compared with itself at
   other steps, or with the stepper `event`, which shares nothing of the mechanism. */
#include <math.h>
#include <string.h>

#include "knuckle/dynamics.h"
#include "knuckle/load.h"
#include "test.h"
#include "world.h"

/* Energy lost until `end`, of the energy at the start. */
static double loss_of(const char* text, double dt, double end) {
  kn_world w;
  double loss = NAN;
  if (kn_world_open(&w, text, "time", dt, NULL)) {
    double first = kn_world_energy(&w);
    if (kn_world_until(&w, end)) loss = (first - kn_world_energy(&w)) / first;
  }
  kn_world_close(&w);
  return loss;
}

/* A coin that rolls round on its rim: 97 % were lost in .5 s at 1 ms. The coin is 0.1 mm thick and starts by the
   formula of a thin one, so that it slides a little at first: 8e-6 of its energy goes into friction at any step. */
TEST(euler_disk_keeps_its_energy) {
  double coarse = loss_of("spinning-coin", 2e-3, 0.5), fine = loss_of("spinning-coin", 1e-3, 0.5);
  double order = log2((coarse - 8e-6) / (fine - 8e-6));
  printf("  Euler disk, .5 s: loses %.2g at 2 ms, %.2g at 1 ms: order %.2f\n", coarse, fine, order);
  CHECK_BELOW(fabs(fine), 1e-3);
  CHECK(order >= 1.9);
}

static double apart(const double* a, const double* b) {
  double sum = 0.0;
  for (int i = 0; i < 4; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sqrt(sum);
}

/* The direction that a rattleback likes: its spin stays. It fell from 5 to 3.32 rad/s at .5 ms. */
TEST(rattleback_keeps_its_spin) {
  double loss = loss_of("rattleback spin=5", 1e-3, 7.0), at[3][4] = {{0}}, spin[3] = {NAN, NAN, NAN};
  const double dt[3] = {2e-3, 1e-3, 1e-3};
  for (int k = 0; k < 3; k++) { /* the last one by events */
    kn_world w;
    if (kn_world_open(&w, "rattleback spin=5 rock=1", k == 2 ? "event" : "time", dt[k], NULL) &&
        kn_world_until(&w, 2.0))
      spin[k] = w.v[5], memcpy(at[k], w.q + 3, sizeof at[k]);
    kn_world_close(&w);
  }
  double order = log2(apart(at[0], at[2]) / apart(at[1], at[2]));
  printf("  rattleback: loses %.2g in 7 s at 1 ms; spin after 2 s %.6f, by events %.6f; error %.2g, %.2g: "
         "order %.2f\n",
         loss, spin[1], spin[2], apart(at[0], at[2]), apart(at[1], at[2]), order);
  CHECK_BELOW(fabs(loss), 1e-3);
  CHECK(order >= 1.9);
}

/* ---- models of their own ---- */

typedef struct rig {
  kn_model* model;
  kn_state* state;
} rig;

static bool open_rig(rig* r, const char* text) {
  kn_spec* spec = NULL;
  *r = (rig){0};
  bool ok = CHECK_OK(kn_load_text(&spec, NULL, "rig.xml", text, strlen(text), NULL)) &&
            CHECK_OK(kn_compile(&r->model, spec)) && CHECK_OK(kn_state_create(&r->state, r->model));
  kn_spec_destroy(spec);
  return ok;
}

static void close_rig(rig* r) {
  kn_state_destroy(r->state);
  kn_model_destroy(r->model);
}

static double energy_of(const rig* r, kn_sim* sim) {
  kn_energy e;
  return kn_energy_of(&e, r->model, r->state, kn_sim_data(sim)) == KN_OK ? e.kinetic + e.potential : NAN;
}

/* From (q, v) for `end` seconds; q at the end and the loss of energy. */
static bool run(double* q_end, double* loss, const char* text, const double* q, const double* v,
                const char* stepper, double dt, double end) {
  rig r;
  kn_sim* sim = NULL;
  kn_sim_settings s = kn_sim_default();
  s.stepper = stepper, s.dt = dt, s.rtol = 1e-12;
  bool ok = open_rig(&r, text) && CHECK_OK(kn_sim_create(&sim, r.model, &s));
  if (ok) {
    memcpy(kn_state_q(r.state), q, sizeof(double[4])), memcpy(kn_state_v(r.state), v, sizeof(double[3]));
    double first = energy_of(&r, sim);
    for (int k = 0, n = (int)lround(end / dt); k < n && ok; k++) ok = CHECK_OK(kn_step(sim, r.state));
    *loss = (first - energy_of(&r, sim)) / first;
    memcpy(q_end, kn_state_q(r.state), sizeof(double[4]));
  }
  kn_sim_destroy(sim);
  close_rig(&r);
  return ok;
}

/* A rod that turns along the limit of its ball joint, without gravity: 14 % were lost in 2 s at 1 ms. */
TEST(motion_along_a_ball_joint_limit) {
  static const char text[] =
      "<mujoco><compiler angle='radian'/><option gravity='0 0 0'/><worldbody><body>"
      "<joint type='ball' range='0 .5' limited='true'/>"
      "<geom type='capsule' fromto='0 0 0 0 0 -.5' size='.02' mass='1' contype='0' conaffinity='0'/>"
      "</body></worldbody></mujoco>";
  const double q[4] = {0.96891242171064473, 0.24740395925452294, 0, 0}, v[3] = {0, 5, 0};
  double at[3][4], loss[3];
  const double dt[3] = {2e-3, 1e-3, 5e-4};
  for (int k = 0; k < 3; k++)
    if (!run(at[k], &loss[k], text, q, v, "time", dt[k], 2.0)) return;
  double order = log2(loss[0] / loss[1]), next = log2(loss[1] / loss[2]);
  printf("  ball-joint limit, 2 s: loses %.2g, %.2g, %.2g at 2, 1, .5 ms: orders %.2f, %.2f\n", loss[0],
         loss[1], loss[2], order, next);
  CHECK_BELOW(fabs(loss[1]), 1e-3);
  CHECK(order >= 1.9 && next >= 1.9);
}

/* A heavy top at 125 rad/s: error / dt² jumped by 5.6 where the guess of the mean velocity took over from a second
   evaluation. 5 %: terms of third order at 1 ms. */
TEST(heavy_top_of_second_order_at_every_step) {
  static const char text[] = "<mujoco><worldbody><body><joint type='ball'/>"
                             "<inertial pos='0 0 .1' mass='1' diaginertia='.002 .002 .004'/>"
                             "</body></worldbody></mujoco>";
  const double q[4] = {0.98006657784124163, 0.19866933079506122, 0, 0}, v[3] = {0, 0, 125};
  const double dt[] = {1e-3, 8e-4, 5e-4, 4e-4, 2e-4, 1e-4};
  double exact[4], at[4], loss, least = INFINITY, most = 0.0;
  if (!run(exact, &loss, text, q, v, "event", 1e-3, 1.0)) return;
  for (size_t k = 0; k < sizeof dt / sizeof *dt; k++) {
    if (!run(at, &loss, text, q, v, "time", dt[k], 1.0)) return;
    double ratio = apart(at, exact) / (dt[k] * dt[k]);
    least = fmin(least, ratio), most = fmax(most, ratio);
  }
  printf("  heavy top: error / dt² between %.0f and %.0f from 1 ms to .1 ms\n", least, most);
  CHECK_BELOW(most, 1.05 * least);
}
