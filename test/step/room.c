/* Room for contacts: none is ever left out. Room grows between an attempt and its repetition, a fixed
   capacity fails with a sentence, and in both cases the state is what it was. */
#include <math.h>
#include <string.h>

#include "floor.h"
#include "scene.h"
#include "step/sim.h"
#include "test.h"

/* n boxes of 0.2 m on a floor, 0.5 m apart; `drop` above it. */
static kn_spec* boxes(int n, double drop) {
  kn_spec* spec = kn_floor_spec(0.6, 0.0, 0.0);
  int side = (int)ceil(sqrt(n));
  for (int i = 0; i < n; i++) {
    double pos[3] = {0.5 * (i % side), 0.5 * (i / side), 0.1 + drop};
    kn_floor_add(spec, NULL, KN_SHAPE_BOX, 0.1, 0.1, 0.1, 1.0, pos, 0.6, 0.0);
  }
  return spec;
}

/* Deepest corner of any box below the floor, from the coordinates alone. */
static double deepest(const kn_state* x, int n) {
  double most = 0.0;
  for (int b = 0; b < n; b++) {
    const double *p = x->q + 7 * b, *o = p + 3; /* quaternion w x y z */
    double z[3] = {2 * (o[1] * o[3] - o[0] * o[2]), 2 * (o[2] * o[3] + o[0] * o[1]),
                   1 - 2 * (o[1] * o[1] + o[2] * o[2])}; /* third row of the rotation */
    double low = p[2] - 0.1 * (fabs(z[0]) + fabs(z[1]) + fabs(z[2]));
    most = fmax(most, -low);
  }
  return most;
}

static void stand(int n, const char* stepper, int steps, double drop) {
  kn_floor w;
  kn_sim_settings s = kn_sim_default();
  s.stepper = stepper;
  double reported = 0.0, seen = 0.0;
  if (!kn_floor_open(&w, boxes(n, drop), &s)) return kn_floor_close(&w);
  int contacts = 0;
  for (int i = 0; i < steps; i++) {
    if (!CHECK_OK(kn_step(w.sim, w.state))) break;
    const kn_report* r = kn_sim_report(w.sim);
    reported = fmax(reported, r->penetration);
    seen = fmax(seen, deepest(w.state, n));
    contacts = r->contacts > contacts ? r->contacts : contacts;
  }
  printf("  %d boxes, %s: %d contacts, room %d, overlap %.1e m, reported %.1e m\n", n, stepper, contacts,
         w.sim->room.contacts, seen, reported);
  CHECK_INT(contacts, 4 * n);
  CHECK_BELOW(seen, 1e-9);             /* what the position repair promises */
  CHECK_BELOW(seen, reported + 1e-15); /* rounding of positions of 10 m */
  kn_floor_close(&w);
}

TEST(the_forty_first_box_does_not_fall_through_the_floor) {
  stand(41, "time", 200, 0.0);
  stand(41, "theta", 50, 0.0);
  stand(41, "event", 20, 0.0);
  stand(41, "hybrid", 20, 0.0);
}

TEST(four_hundred_boxes_stand) {
  stand(400, "time", 20, 0.0);
  stand(400, "time", 20, 1e-5); /* they land, all in one step */
}

static void same_bits(const kn_sim_settings* grows, int n, double drop, int steps) {
  kn_floor a, b;
  kn_sim_settings fixed = *grows;
  fixed.max_contacts = 4 * n + 100;
  bool open = kn_floor_open(&a, boxes(n, drop), grows);
  open &= kn_floor_open(&b, boxes(n, drop), &fixed);
  for (int i = 0; i < steps && open; i++) {
    open =
        CHECK_OK(kn_step(a.sim, a.state)) && CHECK_OK(kn_step(b.sim, b.state)) &&
        CHECK(kn_state_hash(a.state) == kn_state_hash(b.state)) &&
        CHECK(memcmp(&kn_sim_report(a.sim)->total, &kn_sim_report(b.sim)->total, sizeof(kn_ledger)) == 0) &&
        CHECK_INT(kn_sim_report(a.sim)->events, kn_sim_report(b.sim)->events);
  }
  CHECK(a.sim->room.contacts > 160);
  kn_floor_close(&a);
  kn_floor_close(&b);
}

/* A simulator that grew in the middle and one that had the room from the start. */
/* Where room grows a step is taken twice: one first step in ten of such mechanisms was, with four contacts for each geom. */
TEST(first_steps_of_mechanisms_are_taken_once) {
  int grown = 0, scenes = 0;
  for (uint64_t seed = 0; seed < 300; seed++) {
    kn_spec* spec = NULL;
    kn_floor w = {0};
    kn_random_settings r = kn_random_default(1 + (int)(seed % 12));
    r.geoms = true;
    r.floating = 0.8;
    if (!CHECK_OK(kn_spec_create(&spec)) || !CHECK_OK(kn_random_spec(spec, seed, &r))) return;
    if (kn_floor_open(&w, spec, NULL)) {
      int room = w.sim->room.contacts;
      kn_random_state(w.state, w.model, seed, 0.3, 1.0);
      scenes += kn_step(w.sim, w.state) == KN_OK;
      grown += w.sim->room.contacts > room;
    }
    kn_floor_close(&w);
  }
  printf("  %d of %d grow\n", grown, scenes);
  CHECK(scenes > 290 && grown <= scenes / 100);
}

TEST(growing_does_not_change_a_bit) {
  static const char* const stepper[] = {"time", "theta", "event", "compliant"};
  for (int k = 0; k < 4; k++) {
    kn_sim_settings s = kn_sim_default();
    s.stepper = stepper[k];
    same_bits(&s, 41, 1e-4, k < 2 ? 60 : 12); /* falls for 4.5 ms, then all land */
  }
}

/* max_contacts given: the step fails, says both numbers, and nothing has changed; more room, and it goes on.
 */
TEST(a_step_without_room_fails_and_changes_nothing) {
  kn_floor w;
  kn_sim_settings s = kn_sim_default();
  s.max_contacts = 160;
  if (!kn_floor_open(&w, boxes(41, 1e-4), &s)) return kn_floor_close(&w);
  kn_status status = KN_OK;
  uint64_t before = 0;
  int steps = 0;
  for (; steps < 20 && status == KN_OK; steps++) {
    before = kn_state_hash(w.state);
    status = kn_step(w.sim, w.state);
  }
  CHECK_STATUS(status, KN_NO_ROOM);
  CHECK_TEXT(kn_last_error(), "164");
  CHECK_TEXT(kn_last_error(), "160");
  CHECK(kn_state_hash(w.state) == before);
  CHECK_STATUS(kn_step(w.sim, w.state), KN_NO_ROOM); /* again, and again nothing */
  CHECK(kn_state_hash(w.state) == before);
  kn_sim* wide;
  s.max_contacts = 0;
  CHECK_OK(kn_sim_create(&wide, w.model, &s));
  for (int i = 0; i < 20; i++) CHECK_OK(kn_step(wide, w.state));
  CHECK_INT(kn_sim_report(wide)->contacts, 164);
  CHECK_BELOW(deepest(w.state, 41), 1e-9);
  kn_sim_destroy(wide);
  kn_floor_close(&w);
}

/* Once there is room, no step allocates. */
TEST(steps_that_have_room_do_not_allocate) {
  kn_floor w;
  if (!kn_test_counts_allocations()) SKIP("allocations are not counted here");
  if (!kn_floor_open(&w, boxes(60, 0.0), NULL)) return kn_floor_close(&w);
  CHECK_OK(kn_step(w.sim, w.state));
  size_t before = kn_test_allocations();
  for (int i = 0; i < 20; i++) CHECK_OK(kn_step(w.sim, w.state));
  CHECK_INT(kn_test_allocations() - before, 0);
  kn_floor_close(&w);
}

/* Lists of contacts and the last report outlive the growth. */
TEST(contacts_of_a_state_are_all_there_and_the_report_stays) {
  kn_floor w;
  kn_sim_settings s = kn_sim_default();
  const kn_contact* c;
  int n;
  if (!kn_floor_open(&w, boxes(41, 0.05), &s)) return kn_floor_close(&w);
  CHECK_OK(kn_step(w.sim, w.state));
  kn_data* data = kn_sim_data(w.sim);
  kn_report before = *kn_sim_report(w.sim);
  CHECK_OK(kn_sim_contacts(&c, &n, w.sim, w.state, 0.1));
  CHECK_INT(n, 164);
  CHECK(kn_sim_data(w.sim) == data);
  CHECK_INT(kn_sim_report(w.sim)->contacts, before.contacts);
  CHECK(kn_sim_report(w.sim)->contact == w.sim->touch.contact);
  kn_diagnosis d;
  for (int b = 0; b < 41; b++) w.state->q[7 * b + 2] = 0.1;
  CHECK_OK(kn_sim_diagnose(&d, w.sim, w.state));
  CHECK_INT(d.contacts, 164);
  kn_floor_close(&w);
}

/* Spheres that all meet: more near pairs than there is room for at first. */
TEST(pairs_of_spheres_have_room_too) {
  enum { N = 90 };
  kn_floor w;
  kn_spec* spec = kn_floor_spec(0.0, 0.0, 0.0);
  for (int i = 0; i < N; i++) { /* a dense bunch far above the floor: 90 spheres within one diameter */
    double pos[3] = {0.01 * (i % 5), 0.01 * (i / 5 % 5), 50.0 + 0.01 * (i / 25)};
    kn_floor_add(spec, NULL, KN_SHAPE_SPHERE, 0.1, 0, 0, 1.0, pos, 0.0, 0.0);
  }
  const kn_contact* c;
  int n;
  if (!kn_floor_open(&w, spec, NULL)) return kn_floor_close(&w);
  CHECK_OK(kn_sim_contacts(&c, &n, w.sim, w.state, 0.0));
  CHECK_INT(n, N * (N - 1) / 2);
  kn_floor_close(&w);
}

/* Deepest overlap of balls of 0.1 m with each other and with the floor, from the coordinates alone. */
static double deepest_of_balls(const kn_state* x, int n) {
  double most = 0.0;
  for (int i = 0; i < n; i++) {
    const double* p = x->q + 7 * i;
    most = fmax(most, 0.1 - p[2]);
    for (int k = 0; k < i; k++) {
      const double* o = x->q + 7 * k;
      double d[3] = {p[0] - o[0], p[1] - o[1], p[2] - o[2]};
      most = fmax(most, 0.2 - sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
    }
  }
  return most;
}

/* One island of more rows than the dense repair has room for (1536): a raft of balls that overlap by 1e-6 m, so that the ones
   outside have to go farthest. "position repair of 2523 rows, room for 1536" in a pile of 5000. */
TEST(a_position_repair_of_thousands_of_rows_has_room) {
  enum { SIDE = 24, N = SIDE * SIDE };
  kn_floor w;
  kn_spec* spec = kn_floor_spec(0.3, 0.0, 0.0);
  for (int i = 0; i < N; i++) {
    double pos[3] = {(0.2 - 1e-6) * (i % SIDE), (0.2 - 1e-6) * (i / SIDE), 0.1 - 1e-6};
    kn_floor_add(spec, NULL, KN_SHAPE_SPHERE, 0.1, 0, 0, 1.0, pos, 0.3, 0.0);
  }
  if (!kn_floor_open(&w, spec, NULL)) return kn_floor_close(&w);
  for (int i = 0; i < 3; i++) {
    if (!CHECK_OK(kn_step(w.sim, w.state))) break;
    const kn_report* r = kn_sim_report(w.sim);
    double seen = deepest_of_balls(w.state, N);
    printf("  step %d: %d contacts, overlap %.1e m\n", i, r->contacts, seen);
    CHECK_INT(r->status, KN_OK);
    CHECK_BELOW(seen, 1e-9); /* what the position repair promises */
  }
  CHECK(3 * kn_sim_report(w.sim)->contacts > 1536);
  kn_floor_close(&w);
}
