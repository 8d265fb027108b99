/* Every trouble is a kind of its own: provoked where each can happen, with its place, value and limit. */
#include <math.h>
#include <string.h>

#include "knuckle/load.h"
#include "knuckle/record.h"
#include "scene.h"
#include "test.h"
#include "world.h"

typedef struct rig {
  kn_model* model;
  kn_state* state;
  kn_sim* sim;
  kn_trouble_tally tally;
} rig;

static bool rig_open_with(rig* r, const char* xml, const kn_sim_settings* settings, void (*edit)(kn_spec*)) {
  kn_spec* spec = NULL;
  *r = (rig){0};
  bool ok = CHECK_OK(kn_load_text(&spec, NULL, "rig.xml", xml, strlen(xml), NULL));
  if (ok && edit) edit(spec);
  ok = ok && CHECK_OK(kn_compile(&r->model, spec));
  kn_spec_destroy(spec);
  return ok && CHECK_OK(kn_sim_create(&r->sim, r->model, settings)) &&
         CHECK_OK(kn_state_create(&r->state, r->model)) && CHECK_OK(kn_sim_prepare(r->sim, r->state));
}

static bool rig_open(rig* r, const char* xml, const kn_sim_settings* settings) {
  return rig_open_with(r, xml, settings, NULL);
}

static void rig_close(rig* r) {
  kn_state_destroy(r->state);
  kn_sim_destroy(r->sim);
  kn_model_destroy(r->model);
}

static void rig_step(rig* r, int steps) {
  for (int i = 0; i < steps; i++) {
    if (!CHECK_OK(kn_step(r->sim, r->state))) return;
    const kn_report* report = kn_sim_report(r->sim);
    kn_trouble_count(&r->tally, report->event, report->events);
  }
}

/* A kind was seen, its value is beyond its limit, and its place is the one expected. */
static void check_kind(const rig* r, kn_trouble_kind kind, const char* where) {
  const kn_trouble_sum* sum = &r->tally.kind[kind];
  char text[300], place[200];
  if (!CHECK(sum->count > 0)) {
    printf("  %s was not seen\n", kn_trouble_name(kind));
    return;
  }
  CHECK(sum->worst.value >= sum->worst.limit && sum->worst.limit > 0.0);
  CHECK(strcmp(kn_event_where(place, sizeof place, r->model, &sum->worst), where) == 0);
  printf("  %s %s\n", kn_trouble_name(kind), kn_trouble_sentence(text, sizeof text, r->model, sum));
}

TEST(every_kind_has_a_name_a_unit_and_two_sentences) {
  for (int k = 0; k < KN_TROUBLE_COUNT; k++) {
    kn_trouble_kind kind = (kn_trouble_kind)k, found;
    const char *meaning = kn_trouble_meaning(kind), *advice = kn_trouble_advice(kind);
    CHECK(kn_trouble_find(&found, kn_trouble_name(kind)) && found == kind); /* names differ */
    CHECK(strlen(kn_trouble_unit(kind)) > 0);
    CHECK(strlen(meaning) > 20 && meaning[strlen(meaning) - 1] == '.');
    CHECK(strlen(advice) > 20 && advice[strlen(advice) - 1] == '.');
  }
  CHECK(!kn_trouble_find(NULL, "no-such-kind"));
  CHECK(strcmp(kn_trouble_name(KN_TROUBLE_COUNT), "unknown") == 0);
}

#define FLOOR "<geom name='floor' type='plane' size='5 5 .1'/>"

/* Gauss-Seidel in the sweeps it has does not carry a hundred tons on grams. */
TEST(a_solver_that_stops_early_names_the_contact) {
  rig r;
  kn_sim_settings s = kn_sim_default();
  s.solver = "gs";
  if (rig_open(
          &r,
          "<mujoco><worldbody>" FLOOR
          "<body name='light' pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' mass='1e-3'/></body>"
          "<body name='heavy' pos='.05 0 .3'><freejoint/><geom type='box' size='.1 .1 .1' mass='1e5'/></body>"
          "</worldbody></mujoco>",
          &s))
    rig_step(&r, 20);
  const kn_trouble_sum* sum = &r.tally.kind[KN_TROUBLE_RESIDUAL];
  kn_body body[2];
  CHECK(sum->count > 0 && sum->worst.value > 1e-8);
  CHECK_INT(kn_event_bodies(body, r.model, &sum->worst), 2);
  CHECK(sum->worst.key != 0);
  rig_close(&r);
}

/* A residual is relative to the problem's numbers. A body that drifts against a wall with 1e-60 m/s has none
   worth a word, whatever the solver made of it. */
TEST(a_residual_of_1e_65_is_no_trouble) {
  static const char* const solvers[] = {"auto", "gs"};
  for (int k = 0; k < 2; k++) {
    rig r;
    kn_sim_settings s = kn_sim_default();
    s.solver = solvers[k];
    if (rig_open(
            &r,
            "<mujoco><option gravity='0 0 0'/><worldbody>" FLOOR
            "<body name='a' pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' mass='1e-3'/></body>"
            "<body name='b' pos='.03 .02 .3'><freejoint/><geom type='box' size='.1 .1 .1' mass='1e5'/></body>"
            "</worldbody></mujoco>",
            &s)) {
      kn_state_v(r.state)[8] = -1e-60;
      kn_state_v(r.state)[3] = 1e-58;
      rig_step(&r, 20);
    }
    CHECK_INT(r.tally.count, 0);
    rig_close(&r);
  }
}

/* A ball of 0.2 m in a slot of 0.15 m between two walls that cannot move. */
TEST(an_overlap_that_cannot_be_repaired_names_the_bodies) {
  rig r;
  kn_sim_settings s = kn_sim_default();
  if (rig_open(&r,
               "<mujoco><option gravity='0 0 0'/><worldbody>"
               "<geom name='left' type='box' size='.1 1 1' pos='-.175 0 0'/><geom name='right' type='box' "
               "size='.1 1 1' "
               "pos='.175 0 0'/>"
               "<body name='ball'><joint name='slide' type='slide' axis='1 0 0'/><geom size='.1'/></body>"
               "</worldbody></mujoco>",
               &s))
    rig_step(&r, 2);
  check_kind(&r, KN_TROUBLE_OVERLAP, "left on ball");
  rig_close(&r);
}

/* A body on a rail, tied to a point beside the rail. */
static void tie(kn_spec* spec) {
  kn_loop_def l = kn_loop_default(KN_LOOP_CONNECT);
  kn_loop id;
  l.name = "tie";
  l.a = 0, l.b = KN_WORLD;
  l.pos_b[1] = 0.1;
  CHECK_OK(kn_spec_add_loop(&id, spec, &l));
}

TEST(a_loop_that_cannot_close_is_named) {
  rig r;
  kn_sim_settings s = kn_sim_default();
  if (rig_open_with(
          &r,
          "<mujoco><option gravity='0 0 0'/><worldbody><body name='cart'><joint type='slide' axis='1 0 "
          "0'/><geom size='.1'/></body></worldbody></mujoco>",
          &s, tie))
    rig_step(&r, 3);
  check_kind(&r, KN_TROUBLE_LOOP_OPEN, "loop tie between cart and world");
  CHECK_NEAR(r.tally.kind[KN_TROUBLE_LOOP_OPEN].worst.value, 0.1, 1e-9);
  rig_close(&r);
}

/* A hinge that starts half a radian beyond its limit, with a weight to lift: told once, not as a stop besides. */
static void start_beyond_a_limit(const char* name, const char* where) {
  rig r;
  char xml[512];
  kn_sim_settings s = kn_sim_default();
  snprintf(xml, sizeof xml,
           "<mujoco><worldbody><body name='arm'><joint %s axis='0 1 0' range='-170 0' limited='true'/>"
           "<geom type='capsule' size='.02' fromto='0 0 0 .4 0 0'/></body></worldbody></mujoco>",
           name);
  if (rig_open(&r, xml, &s)) {
    kn_state_q(r.state)[0] = 0.5;
    rig_step(&r, 50);
  }
  check_kind(&r, KN_TROUBLE_START_REPAIRED, where);
  CHECK_INT(r.tally.kind[KN_TROUBLE_START_REPAIRED].count, 1);
  CHECK_INT(r.tally.kind[KN_TROUBLE_ENERGY_RISE].count, 0);
  CHECK_INT(r.tally.kind[KN_TROUBLE_STOPPED].count, 0);
  rig_close(&r);
}

/* A box that starts 1 cm inside the floor, on an arm: the two that overlap are named, not the joint that moved. */
TEST(a_start_inside_the_floor_names_who_overlaps) {
  rig r;
  kn_sim_settings s = kn_sim_default();
  if (rig_open(
          &r,
          "<mujoco><worldbody><geom name='ground' type='plane' size='1 1 1'/><body name='foot' pos='0 0 .09'>"
          "<joint name='lift' type='slide' axis='0 0 1' range='-1 1' limited='true'/>"
          "<geom name='sole' type='box' size='.1 .1 .1'/></body></worldbody></mujoco>",
          &s))
    rig_step(&r, 50);
  check_kind(&r, KN_TROUBLE_START_REPAIRED, "foot on ground");
  CHECK_INT(r.tally.kind[KN_TROUBLE_START_REPAIRED].count, 1);
  rig_close(&r);
}

TEST(a_start_beyond_a_limit_is_told_as_such) {
  start_beyond_a_limit("name='hinge'", "joint hinge of arm");
  start_beyond_a_limit("", "joint0 of arm");
}

static void one_each(kn_sim_settings* s) {
  s->sequential = true;
  s->event_limit = 1;
}

/* A row with losses: the balls catch up with each other, more than one impact for each of the four contacts. */
TEST(impacts_without_end_are_told) {
  kn_world w;
  rig r = {0};
  if (kn_world_open(&w, "newton-cradle gap=0 e=0.6", "time", 0.0, one_each))
    for (int k = 0; k < 1000 && !r.tally.count && kn_world_step(&w); k++)
      kn_trouble_count(&r.tally, w.report->event, w.report->events);
  const kn_trouble_sum* sum = &r.tally.kind[KN_TROUBLE_IMPACT_LIMIT];
  kn_body body[2];
  CHECK(sum->count > 0 && sum->worst.value == 4.0 && sum->worst.limit == 4.0);
  CHECK_INT(kn_event_bodies(body, w.model, &sum->worst), 2);
  kn_world_close(&w);
}

/* A long chain bent over, too fast for its step: what was taken back, by name. (A rise is not left to tell.) */
TEST(energy_that_does_not_add_up_has_its_kinds) {
  static const kn_trouble_kind kinds[] = {KN_TROUBLE_INTEGRATION_ENERGY, KN_TROUBLE_CORRECTION_ENERGY};
  kn_world w;
  kn_trouble_tally tally = {0};
  if (kn_world_open(&w, "pendulum-2012 links=120", "time", 0.0, NULL))
    for (int k = 0; k < 1800 && kn_world_step(&w); k++)
      kn_trouble_count(&tally, w.report->event, w.report->events);
  for (int i = 0; i < 2; i++) {
    const kn_trouble_sum* sum = &tally.kind[kinds[i]];
    if (!CHECK(sum->count > 0 && sum->worst.value > sum->worst.limit && sum->worst.limit > 0.0))
      printf("  %s\n", kn_trouble_name(kinds[i]));
  }
  CHECK_INT(tally.kind[KN_TROUBLE_ENERGY_RISE].count, 0);
  kn_world_close(&w);
}

/* Three links that fall onto the stops of their joints, 5 ms a step. A stop without a bounce loses .3 J at once, known to first order in
   the step only: with what the scheme is off by there, .0175 J in 3 s, it loses energy all the same, so nothing is told. */
TEST(what_a_landing_takes_is_no_error_of_the_integrator) {
#define LINK "<geom type='capsule' fromto='0 0 0 .5 0 0' size='.02' mass='1'/>"
  rig r;
  kn_sim_settings s = kn_sim_default();
  s.dt = 0.005;
  if (rig_open(&r,
               "<mujoco><compiler autolimits='true'/><worldbody><body pos='0 0 2'><joint name='a' axis='0 1 "
               "0'/>" LINK "<body pos='.5 0 0'><joint name='b' axis='0 1 0' range='-15 15'/>" LINK
               "<body pos='.5 0 0'><joint name='c' axis='0 1 0' range='-25 25'/>" LINK
               "</body></body></body></worldbody></mujoco>",
               &s)) {
    rig_step(&r, 600);
    const kn_report* report = kn_sim_report(r.sim);
    CHECK(report->total.limit < -0.3); /* J: stops were hit */
    CHECK_INT(r.tally.count, 0);
    CHECK(report->rise.rise_rel < 1e-6); /* the promise */
  }
  rig_close(&r);
#undef LINK
}

/* A stiff mast on a foot falls over the foot's edge, which is .8 m below the base: seen from the middle of a step the edge moves by
   dt/2 ω² .8 m. Asked to rest there its points lifted the mast by 3e-3 of its energy. It has a motor and dry friction, so
   nothing is taken back. What is left is below 5e-4 g dt: 2e-5. */
TEST(an_edge_on_which_a_body_tips_gives_no_energy) {
  rig r;
  kn_sim_settings s = kn_sim_default();
  s.dt = 0.002;
  if (rig_open(&r,
               "<mujoco><worldbody>" FLOOR
               "<body pos='.15 0 .8'><freejoint/><geom type='sphere' size='.05' mass='10'/>"
               "<body name='foot' pos='-.15 0 -.79'><joint name='ankle' axis='0 1 0' frictionloss='1000'/>"
               "<geom type='box' size='.1 .05 .01' mass='1'/></body></body></worldbody>"
               "<actuator><motor joint='ankle'/></actuator></mujoco>",
               &s)) {
    rig_step(&r, 350);
    const kn_report* report = kn_sim_report(r.sim);
    CHECK(report->energy.kinetic > 3.0); /* J: it fell, and still stands on the edge */
    CHECK_INT(report->contacts, 2);
    CHECK(report->rise.rise_rel < 5e-5);
    CHECK_INT(r.tally.count, 0);
  }
  rig_close(&r);
}

static void few_events(kn_sim_settings* s) { s->event_limit = 0; }

/* Scenes that the event stepper leaves to `time`, each for its own reason. */
TEST(the_event_stepper_says_why_it_gave_up) {
  static const struct {
    const char* scene;
    void (*change)(kn_sim_settings*);
    kn_trouble_kind kind;
    int steps;
  } row[] = {{"painleve-rod", NULL, KN_TROUBLE_EVENT_MODES, 1200},
             {"wall", NULL, KN_TROUBLE_EVENT_ROWS, 3},
             {"bouncing-ball", few_events, KN_TROUBLE_EVENT_LIMIT, 10}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    kn_world w;
    kn_trouble_tally tally = {0};
    if (kn_world_open(&w, row[i].scene, "event", 0.0, row[i].change))
      for (int k = 0; k < row[i].steps && kn_world_step(&w); k++)
        kn_trouble_count(&tally, w.report->event, w.report->events);
    const kn_trouble_sum* sum = &tally.kind[row[i].kind];
    if (!CHECK(sum->count > 0 && sum->worst.value >= sum->worst.limit)) printf("  in %s\n", row[i].scene);
    kn_world_close(&w);
  }
}

#define ROD(name, x, range)                                                                                  \
  "<body name='" name "' pos='" x " 0 0'><joint name='pin-" name "' axis='0 1 0' range='" range              \
  "'/><geom type='capsule' size='.02' fromto='0 0 0 0 0 .2' mass='.1'/></body>"
#define FREE "-3 3"

static void blow(rig* r, const char* rods, int steps) {
  char xml[4000];
  kn_sim_settings s = kn_sim_default();
  s.margin = 2e-3; /* m: contacts that are farther away than this are not looked for between bodies at rest */
  snprintf(xml, sizeof xml,
           "<mujoco><option gravity='0 0 0'/><compiler angle='radian'/><worldbody>"
           "<body name='ball' pos='-.105 0 .2'><freejoint/><geom type='sphere' size='.05' mass='1'/></body>"
           "%s</worldbody></mujoco>",
           rods);
  if (!rig_open(r, xml, &s)) return;
  kn_state_v(r->state)[0] = 60.0;
  rig_step(r, steps);
}

/* A ball at 60 m/s hits the tip of a resting rod whose range ends after 20 mrad (as the fingers of talos hit its legs): the
   limit, out of reach when the step begins, takes part in the blow. The rod ends at it, and the ball stops there:
   without rebound all that moves is at rest when the row closes. */
TEST(a_limit_takes_part_in_a_blow) {
  rig r;
  blow(&r, ROD("rod", "0", "-.02 .02"), 3);
  CHECK_INT(r.tally.kind[KN_TROUBLE_LIMIT_PUSHED].count, 0);
  CHECK_NEAR(kn_state_q(r.state)[7], 0.02, 1e-9); /* rad: what a repair leaves */
  CHECK_NEAR(kn_state_v(r.state)[6], 0.0, 1e-9);  /* rad/s: the residual, 1e-10, of 60 m/s over .2 m */
  rig_close(&r);
}

/* Rods half a millimetre apart hand the blow on: contacts join the step's problem one after the other, four times at most, and
   after the last time a rod with a range of 20 mrad is driven beyond it. */
TEST(a_limit_that_a_blow_overruns_is_told) {
  rig r;
  blow(&r,
       ROD("a", "0", FREE) ROD("b", ".0405", FREE) ROD("c", ".081", FREE) ROD("d", ".1215", FREE)
           ROD("e", ".162", "-.02 .02"),
       3);
  check_kind(&r, KN_TROUBLE_LIMIT_PUSHED, "joint pin-e of e");
  rig_close(&r);
}
