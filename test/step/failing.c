/* A step that fails changes nothing: not the state with all its blocks, and not what the simulator makes of the
   next step. A twin that never failed goes along, and every bit must be the same. */
#include <math.h>
#include <string.h>

#include "floor.h"
#include "step/sim.h"
#include "test.h"

typedef struct fault {
  bool on;
  int calls;
} fault;

typedef struct memory {
  double count, held;
} memory;

/* A weak damper on the first body that counts its calls; broken, it overflows and sets what it can. */
static kn_status control(double* tau, double* ctrl, double t, const double* q, const double* v, void* own,
                         void* context) {
  memory* m = own;
  fault* f = context;
  (void)t, (void)q;
  m->count += 1.0;
  m->held = v[0];
  f->calls++;
  ctrl[0] = m->count;
  tau[0] -= 0.1 * v[0];
  if (f->on) tau[0] = 1e308 * (1.0 + m->count), ctrl[0] = 7.0;
  return KN_OK;
}

/* Boxes that slide and land, one on another, a hinge with a servo, a ball that bounces. */
static kn_spec* scene(void) {
  kn_spec* spec = kn_floor_spec(0.3, 0.4, 0.05);
  kn_body pole =
      kn_floor_add(spec, "a", KN_SHAPE_BOX, 0.1, 0.1, 0.1, 1.0, (double[3]){0, 0, 0.101}, 0.3, 0.4);
  kn_floor_add(spec, "b", KN_SHAPE_BOX, 0.1, 0.1, 0.1, 2.0, (double[3]){0.02, 0, 0.302}, 0.3, 0.0);
  kn_floor_add(spec, "c", KN_SHAPE_SPHERE, 0.1, 0, 0, 1.0, (double[3]){0.6, 0, 0.11}, 0.3, 0.8);
  kn_joint_def j = kn_joint_default(KN_JOINT_HINGE);
  kn_body_def b = kn_body_default();
  kn_geom_def g = kn_geom_default(KN_SHAPE_CAPSULE);
  kn_geom geom;
  kn_joint hinge;
  kn_actuator servo;
  b.parent = pole, b.pos[1] = 0.2, b.inertia_from_geoms = true;
  kn_spec_add_body(&j.body, spec, &b);
  g.body = j.body, g.shape.size[0] = 0.03, g.shape.size[1] = 0.1, g.mass = 0.3;
  kn_spec_add_joint(&hinge, spec, &j);
  kn_spec_add_geom(&geom, spec, &g);
  kn_actuator_def a = kn_actuator_position(hinge, 2.0, 0.1);
  kn_spec_add_actuator(&servo, spec, &a);
  return spec;
}

static void with_a_twin(const char* stepper, const char* formulation, bool memory_kept, int steps) {
  kn_floor w[2];
  fault f[2] = {{0}, {0}};
  kn_sim_settings set = kn_sim_default();
  set.stepper = stepper, set.formulation = formulation, set.dt = 2e-3;
  bool open = true;
  for (int k = 0; k < 2; k++) {
    open &= kn_floor_open(&w[k], scene(), &set);
    kn_controller c = {.fn = control, .memory = sizeof(memory), .context = &f[k]};
    if (open && memory_kept) open = CHECK_OK(kn_sim_set_controller(w[k].sim, &c));
    if (open) open = CHECK_OK(kn_sim_prepare(w[k].sim, w[k].state));
  }
  int failed = 0;
  for (int i = 0; i < steps && open; i++) {
    uint64_t before = kn_state_hash(w[1].state);
    double v0 = w[1].state->v[0];
    if (i % 3 == 1) { /* a step that fails, in one of two ways */
      f[1].on = memory_kept;
      if (!memory_kept) w[1].state->v[0] = 1e307;
      if (!memory_kept) before = kn_state_hash(w[1].state);
      kn_status status = kn_step(w[1].sim, w[1].state);
      failed += status != KN_OK;
      open &= CHECK(status != KN_OK) && CHECK(kn_state_hash(w[1].state) == before);
      f[1].on = false;
      w[1].state->v[0] = v0;
    }
    for (int k = 0; k < 2; k++) open &= CHECK_OK(kn_step(w[k].sim, w[k].state));
    const kn_report *a = kn_sim_report(w[0].sim), *b = kn_sim_report(w[1].sim);
    open &= CHECK(kn_state_hash(w[0].state) == kn_state_hash(w[1].state));
    open &= CHECK_INT(a->events, b->events) && CHECK_INT(a->contacts, b->contacts);
    open &= CHECK(memory_kept || isfinite(b->total.kinetic));
    open &= CHECK(!memory_kept || memcmp(&a->total, &b->total, sizeof a->total) == 0);
  }
  printf("  %-9s %-10s %d failures\n", stepper, formulation, failed);
  CHECK(failed > 0);
  for (int k = 0; k < 2; k++) kn_floor_close(&w[k]);
}

TEST(a_failed_step_changes_nothing) {
  static const char* const stepper[] = {"time", "theta", "event", "compliant", "hybrid"};
  for (int k = 0; k < 5; k++) with_a_twin(stepper[k], "os", true, 60);
  with_a_twin("time", "nmc", true, 30); /* bodies of its own */
  with_a_twin("time", "rmc", true, 30);
  with_a_twin("time", "projection", true, 30);
}

/* The state itself is wild, the caller mends it: the step after is as if nothing had happened. The ledger's
   totals may differ: the energy of the mended state is taken anew. */
TEST(a_wild_state_that_is_mended_goes_on) {
  static const char* const stepper[] = {"time", "theta", "compliant", "hybrid"};
  for (int k = 0; k < 4; k++) with_a_twin(stepper[k], "os", false, 40);
}

TEST(a_state_that_is_not_finite_stays_as_it_is) {
  kn_floor w;
  if (!kn_floor_open(&w, scene(), NULL)) return kn_floor_close(&w);
  for (int i = 0; i < 5; i++) CHECK_OK(kn_step(w.sim, w.state));
  w.state->v[3] = NAN;
  uint64_t before = kn_state_hash(w.state);
  CHECK_STATUS(kn_step(w.sim, w.state), KN_NOT_FINITE);
  CHECK(kn_state_hash(w.state) == before);
  kn_floor_close(&w);
}

/* Nothing but the state decides what a step does: a simulator made anew for every step has the same bits. Not
   yet where energy is taken back from the velocities (keep_energy, stepper compliant): the energy before the
   step is the one the last step ended with, or computed anew, and the two may differ in the last bit. */
TEST(a_new_simulator_at_every_step_has_the_same_bits) {
  static const char* const stepper[] = {"time", "theta", "event", "hybrid"};
  for (int k = 0; k < 4; k++) {
    kn_floor w;
    kn_sim_settings set = kn_sim_default();
    set.stepper = stepper[k], set.dt = 2e-3;
    bool open = kn_floor_open(&w, scene(), &set);
    for (int i = 0; i < 150 && open; i++) {
      kn_sim* fresh;
      kn_state* y;
      open = CHECK_OK(kn_sim_create(&fresh, w.model, &set)) && CHECK_OK(kn_state_create(&y, w.model)) &&
             CHECK_OK(kn_state_copy(y, w.state)) && CHECK_OK(kn_step(fresh, y)) &&
             CHECK_OK(kn_step(w.sim, w.state)) && CHECK(kn_state_hash(y) == kn_state_hash(w.state));
      if (!open) printf("  %s, step %d\n", stepper[k], i);
      kn_sim_destroy(fresh);
      kn_state_destroy(y);
    }
    kn_floor_close(&w);
  }
}
