/* The verifier accepts what the simulator does and finds errors of every kind planted into a step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "knuckle/load.h"
#include "knuckle/record.h"
#include "linkages.h"
#include "record/verify/verify.h"
#include "test.h"

static const char rig_text[] =
    "<mujoco><worldbody><geom type='plane' size='5 5 .1'/>"
    "<body name='box' pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' friction='.3'/></body>"
    "<body name='arm' pos='1 0 1'><joint name='a' axis='0 1 0' damping='.05' range='-60 40'/><geom "
    "type='capsule' size='.03' fromto='0 0 0 .4 0 0'/>"
    "<body name='fore' pos='.4 0 0'><joint name='b' axis='0 1 0' stiffness='3'/><geom type='capsule' "
    "size='.03' fromto='0 0 0 .4 0 0'/>"
    "<body name='hand' pos='.4 0 0'><joint type='ball'/><geom size='.05' pos='0 .02 "
    "0'/></body></body></body></worldbody>"
    "<actuator><motor joint='b' gear='2'/></actuator></mujoco>";

static const char loop_text[] =
    "<mujoco><worldbody><body name='a' pos='0 0 1'><joint name='ja' axis='0 1 0'/><geom type='capsule' "
    "size='.02' contype='0' fromto='0 0 0 .3 0 0'/>"
    "<body name='b' pos='.3 0 0'><joint axis='0 1 0'/><geom type='capsule' size='.02' contype='0' fromto='0 "
    "0 0 0 0 "
    "-.4'/></body></body>"
    "<body name='c' pos='.6 0 .6'><joint name='jc' axis='0 1 0'/><geom type='capsule' size='.02' contype='0' "
    "fromto='0 0 "
    "0 -.3 0 0'/></body></worldbody>"
    "<equality><connect body1='b' body2='c' anchor='0 0 -.4'/></equality></mujoco>";

/* An arm with dry friction that carries a gripper of two coupled slides, one of them on its limit. */
static const char gripper_text[] =
    "<mujoco><worldbody><body pos='0 0 1'><joint axis='0 1 0' frictionloss='.1'/><geom type='capsule' "
    "size='.03' fromto='0 0 0 .4 0 0' density='500'/><body pos='.4 0 0'><joint axis='0 1 0' "
    "frictionloss='.1'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 .3 .1 0' density='500'/>"
    "<body pos='.3 .1 0'><joint axis='1 0 0' frictionloss='.1'/><geom size='.02' density='500'/>"
    "<body pos='.05 0 0'><joint name='l' type='slide' axis='0 1 0' range='0 .03'/><geom size='.02' pos='0 "
    ".05 "
    "0' density='3000'/></body><body pos='.05 0 0'><joint name='r' type='slide' axis='0 1 0'/><geom "
    "size='.02' "
    "pos='.02 -.05 .02'/></body></body></body></body></worldbody>"
    "<equality><joint joint1='l' joint2='r' polycoef='0 -1 0 0 0'/></equality></mujoco>";

/* With the time step of the file, where it has one; e: of all surfaces, or NAN. */
static kn_recording* record_by(const char* text, int steps, double push, int every, kn_sim_settings s,
                               double e) {
  kn_spec* spec = NULL;
  kn_model* model = NULL;
  kn_sim* sim = NULL;
  kn_state* state = NULL;
  kn_recorder* rec = NULL;
  kn_load_report* report = NULL;
  kn_recording* in = NULL;
  char path[128];
  snprintf(path, sizeof path, "/tmp/knuckle-verify-%d.mcap", (int)getpid());
  kn_record_settings rs = kn_record_default();
  rs.every = every;
  bool ok = CHECK_OK(kn_load_text(&spec, &report, "rig.xml", text, strlen(text), NULL));
  if (ok && strstr(text, "timestep")) s.dt = kn_load_timestep(report);
  ok = ok && CHECK_OK(kn_spec_set_surfaces(spec, NAN, e)) && CHECK_OK(kn_compile(&model, spec)) &&
       CHECK_OK(kn_sim_create(&sim, model, &s)) && CHECK_OK(kn_state_create(&state, model)) &&
       CHECK_OK(kn_sim_prepare(sim, state)) && CHECK_OK(kn_recorder_open(&rec, path, sim, &rs));
  if (ok) kn_state_v(state)[0] = push;
  for (int i = 0; ok && i < steps; i++) {
    if (kn_model_nu(model)) kn_state_ctrl(state)[0] = 0.3 * sin(0.02 * i);
    kn_recorder_before(rec, state);
    ok = CHECK_OK(kn_step(sim, state)) && CHECK_OK(kn_recorder_step(rec, state));
  }
  CHECK_OK(kn_recorder_close(rec));
  CHECK_OK(kn_recording_open(&in, path));
  unlink(path);
  kn_state_destroy(state);
  kn_sim_destroy(sim);
  kn_model_destroy(model);
  kn_spec_destroy(spec);
  kn_load_report_free(report);
  return in;
}

static kn_recording* record_with(const char* text, int steps, double push, int every, int max_contacts,
                                 const char* stepper, double tolerance) {
  kn_sim_settings s = kn_sim_default();
  s.max_contacts = max_contacts, s.stepper = stepper;
  if (tolerance > 0.0) s.tolerance = tolerance;
  return record_by(text, steps, push, every, s, NAN);
}

static void show(const char* name, const kn_verification* v) {
  for (int i = 0; i < v->listed && i < 5; i++)
    printf("  %s step %lld %s %g\n", name, (long long)v->violation[i].step, v->violation[i].check,
           v->violation[i].value);
}

static kn_recording* record(const char* text, int steps, double push, int every) {
  return record_with(text, steps, push, every, 0, "time", 0.0);
}

TEST(an_honest_recording_passes) {
  kn_recording* in = record(rig_text, 400, 1.0, 1); /* later the hand whips: 1.5e-3 of integration error */
  kn_verification* v = malloc(sizeof *v);
  CHECK_OK(kn_verify(v, in));
  CHECK_INT(v->violations, 0);
  CHECK_INT(v->steps, 400);
  show("", v);
  kn_recording_close(in);
  in = record(loop_text, 1000, 0.0, 1);
  CHECK_OK(kn_verify(v, in));
  CHECK_INT(v->violations, 0);
  show("", v);
  kn_recording_close(in);
  in = record(rig_text, 300, 1.0, 7);
  CHECK_OK(kn_verify(v, in));
  CHECK_INT(v->violations, 0);
  CHECK(v->skips >= 1);
  CHECK_TEXT(v->skipped[0].why, "thinned");
  kn_recording_close(in);
  free(v);
}

/* ---- planted errors ---- */

typedef struct catch {
  int count;
  char checks[400];
}
catch;

static void note(void* context, int64_t step, const char* check, double value, double limit) {
  catch* c = context;
  (void)step, (void)value, (void)limit;
  c->count++;
  if (strlen(c->checks) + strlen(check) + 3 < sizeof c->checks) strcat(strcat(c->checks, check), "; ");
}

typedef struct spoiled { /* a step whose arrays may be written */
  kn_recorded step;
  double q[64], v[64], q_before[64], v_before[64], tau[64], v_free[64], limit[64], solved[64];
  kn_contact contact[32];
} spoiled;

static void thaw(spoiled* s, const kn_recorded* from, const kn_model* m) {
  size_t nq = (size_t)kn_model_nq(m) * sizeof(double), nv = (size_t)kn_model_nv(m) * sizeof(double);
  s->step = *from;
  memcpy(s->q, from->q, nq), memcpy(s->v, from->v, nv), memcpy(s->q_before, from->q_before, nq),
      memcpy(s->v_before, from->v_before, nv);
  memcpy(s->tau, from->tau, nv), memcpy(s->v_free, from->v_free, nv);
  if (from->limits) memcpy(s->limit, from->limit_impulse, (size_t)from->limits * sizeof(double));
  if (from->contacts) memcpy(s->contact, from->contact, (size_t)from->contacts * sizeof *s->contact);
  for (int i = 1; i < from->contacts; i++) /* the most loaded one first */
    if (s->contact[i].impulse[0] > s->contact[0].impulse[0]) {
      kn_contact t = s->contact[0];
      s->contact[0] = s->contact[i];
      s->contact[i] = t;
    }
  s->step.q = s->q, s->step.v = s->v, s->step.q_before = s->q_before, s->step.v_before = s->v_before,
  s->step.v_solved = s->v;
  s->step.tau = s->tau, s->step.v_free = s->v_free, s->step.limit_impulse = s->limit,
  s->step.contact = s->contact;
}

/* Each changes one thing by a part in a thousand or less of its size. */
static void wrong_velocity(spoiled* s) { s->v[6] += 1e-5; }
static void wrong_angular_velocity(spoiled* s) { s->v[3] += 1e-5; }
static void wrong_position(spoiled* s) { s->q[1] += 1e-5; }
static void wrong_joint(spoiled* s) { s->q[7] += 1e-5; }
static void wrong_before(spoiled* s) { s->v_before[6] += 1e-5; }
static void wrong_torque(spoiled* s) { s->tau[6] += 1e-3; }
static void wrong_normal_impulse(spoiled* s) { s->contact[0].impulse[0] *= 1.001; }
static void pulling(spoiled* s) { s->contact[1].impulse[0] = -1e-3 * s->contact[0].impulse[0]; }
static void outside_cone(spoiled* s) {
  s->contact[0].impulse[1] = 1.01 * s->contact[0].mu * s->contact[0].impulse[0];
}
static void friction_forward(spoiled* s) {
  s->contact[0].impulse[1] = -s->contact[0].impulse[1], s->contact[0].impulse[2] = -s->contact[0].impulse[2];
}
static void point_moved(spoiled* s) { s->contact[0].point[2] += 1e-4; }
static void lost_contact(spoiled* s) { s->contact[0] = s->contact[--s->step.contacts]; }
static void wrong_kinetic(spoiled* s) { s->step.energy.kinetic *= 1.0 + 1e-6; }
static void wrong_column(spoiled* s) { s->step.ledger.friction += 1e-6; }
static void wrong_potential(spoiled* s) {
  s->step.ledger.potential += 1e-6, s->step.ledger.correction += 1e-6;
}
static void created(spoiled* s) { s->step.gain_rel = 1e-6; }
static void unsolved(spoiled* s) { s->step.residual = 1e-3; }
static void nan_value(spoiled* s) { s->v[0] = NAN; }
/* Said to have been scaled up, and turned round, at the end of the step. */
static void scaled_up(spoiled* s) {
  for (int i = 0; i < 64; i++) s->solved[i] = 0.99 * s->v[i];
  s->step.v_solved = s->solved;
}
static void reversed(spoiled* s) {
  for (int i = 0; i < 64; i++) s->solved[i] = -s->v[i];
  s->step.v_solved = s->solved;
}

static const struct {
  const char *name, *says;
  void (*plant)(spoiled*);
  const char*
      not_of; /* steppers, by their first letters, in whose steps there is no such thing or it is no error */
} plants[] = {{"velocity", "momentum", wrong_velocity, ""},
              {"scaled up", "scaling", scaled_up, "e"},
              {"reversed", "scaling", reversed, "e"},
              {"angular velocity", "momentum", wrong_angular_velocity, ""},
              {"position", "position", wrong_position, ""},
              {"joint", "position", wrong_joint, ""},
              {"velocity before", "momentum", wrong_before, ""},
              {"torque", "forces", wrong_torque, "e"},
              {"normal impulse", "momentum", wrong_normal_impulse, ""},
              {"pulling contact", "pull", pulling, ""},
              {"friction beyond the cone", "friction-cone", outside_cone, ""},
              {"slip", "slip", friction_forward, "c"},
              {"contact point", "contact-point", point_moved, ""},
              {"missing contact", "momentum", lost_contact, ""},
              {"kinetic energy", "energy", wrong_kinetic, ""},
              {"ledger column", "ledger", wrong_column, ""},
              {"potential energy", "energy", wrong_potential, ""},
              {"energy created", "energy-gain", created, ""},
              {"residual", "residual", unsolved, ""},
              {"not a number", "finite", nan_value, ""}};

/* The direction of the velocity repair, a hair away from the loop's own row, was taken out of the momentum
   balance together with the dry friction of other joints. */
TEST(dry_friction_beside_a_coupling_is_no_violation) {
  kn_recording* in = record(gripper_text, 400, 0.0, 1);
  kn_verification* v = malloc(sizeof *v);
  CHECK_OK(kn_verify(v, in));
  CHECK_INT(v->violations, 0);
  show("", v);
  free(v);
  kn_recording_close(in);
}

/* For single steps of a recording by that stepper; what is found goes to c. */
static bool open_verifier(kn_verifier* v, catch* c, const kn_recording* in, const char* stepper) {
  if (!CHECK_OK(kn_verifier_create(v, kn_recording_model(in)))) return false;
  v->found = note;
  v->context = c;
  v->asked.full = false;
  v->asked.stepper = stepper, v->asked.event = strcmp(stepper, "event") == 0;
  v->asked.moreau = strcmp(stepper, "theta") == 0, v->asked.theta = kn_sim_default().theta;
  kn_compliant_settings s = kn_sim_default().compliant;
  v->asked.K = s.K, v->asked.C = s.C, v->asked.Kt = s.Kt, v->asked.eps = s.eps, v->asked.t0 = s.t0;
  return true;
}

/* Plants of every kind into a step of a recording by that stepper. */
static void plant_all(const char* stepper) {
  kn_recording* in = record_with(rig_text, 60, 1.0, 1, 0, stepper, 0.0); /* the box slides on four points */
  const kn_model* m = kn_recording_model(in);
  kn_verifier v;
  catch c;
  if (!open_verifier(&v, &c, in, stepper)) return;
  for (size_t k = 0; k < sizeof plants / sizeof *plants; k++) {
    kn_recorded step;
    spoiled s;
    if (strchr(plants[k].not_of, *stepper)) continue;
    CHECK_OK(kn_recording_read(&step, in, 40));
    CHECK(step.contacts >= 2);
    thaw(&s, &step, m);
    c = (catch){0};
    kn_verifier_step(&v, &s.step);
    CHECK_INT(c.count, 0);
    plants[k].plant(&s);
    c = (catch){0};
    kn_verifier_step(&v, &s.step);
    if (!CHECK(c.count > 0 && strstr(c.checks, plants[k].says)))
      printf("  %s, %s: found \"%s\"\n", stepper, plants[k].name, c.checks);
  }
  kn_verifier_destroy(&v);
  kn_recording_close(in);
}

TEST(planted_errors_of_every_kind_are_found) {
  plant_all("time");
  plant_all("theta");
  plant_all("event");
  plant_all("compliant");
  plant_all("hybrid");
}

/* Every kind of joint, loop, actuator, limit and shape beside each other: ball joints with limits, dry friction and a servo, forces at sites
   with and without a reference, a four-bar linkage, a coupling, a weld, a rule for a pair, bodies that never touch. */
static const char all_text[] =
    "<mujoco><option timestep='0.002'/><worldbody><geom name='floor' type='plane' size='9 9 1'/>"
    "<body name='arm' pos='0 0 1'><joint name='a' axis='0 1 0' range='-40 40' limited='true' "
    "frictionloss='.05' damping='.02' stiffness='.3'/>"
    "<geom type='capsule' fromto='0 0 0 .5 0 0' size='.04'/><site name='base'/>"
    "<body name='fore' pos='.5 0 0'><joint name='b' type='ball' range='0 50' limited='true' "
    "frictionloss='.01' damping='.01'/>"
    "<geom type='capsule' fromto='0 0 0 .4 0 0' size='.03'/><site name='tip' pos='.4 0 "
    "0'/></body></body>" KN_LINKAGES_BODIES
    "<body name='w1' pos='-6 0 .3'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body name='w2' pos='-6 .5 .3'><freejoint/><geom type='cylinder' size='.1 .1'/></body>"
    "<body name='slider' pos='3 0 1'><joint name='s' type='slide' axis='0 0 1' range='-.6 .2' "
    "limited='true'/><geom type='box' size='.1 .2 .1'/></body>"
    "<body name='egg' pos='2 2 .5'><freejoint name='egg'/><geom type='ellipsoid' size='.1 .15 .2'/></body>"
    "<body name='wheel' pos='4 2 .4' euler='90 0 0'><freejoint/><geom type='cylinder' size='.2 .05'/></body>"
    "<body name='ball' pos='0 3 .6'><freejoint/><geom name='ball' size='.1'/></body></worldbody>"
    "<contact><pair geom1='ball' geom2='floor' friction='.3 .3 .01 .001 .001' condim='3'/>" KN_LINKAGES_APART
    "</contact>"
    "<equality>" KN_LINKAGES_LOOPS "<weld body1='w1' body2='w2'/></equality>"
    "<actuator><position joint='b' kp='1' gear='0 1 0'/><general site='tip' refsite='base' gear='0 0 1 0 .1 "
    "0'/><general site='tip' gear='.2 0 0 0 0 .1'/><velocity joint='s' kv='2' ctrlrange='-1 1'/><motor "
    "joint='egg' gear='0 0 1 .1 0 0'/></actuator>"
    "</mujoco>";

static void holds(const char* name, kn_sim_settings settings, double e) {
  kn_recording* in = record_by(all_text, 500, 0.5, 1, settings, e);
  kn_verification* v = malloc(sizeof *v);
  if (!CHECK(in && v)) return;
  CHECK_OK(kn_verify(v, in));
  CHECK_INT(v->violations, 0);
  CHECK_INT(v->steps, 500);
  CHECK_INT(v->skips, 0);
  show(name, v);
  kn_recording_close(in);
  free(v);
}

TEST(everything_in_one_model_verifies) {
  static const char* const steppers[] = {"time", "hybrid", "event", "compliant"};
  for (size_t i = 0; i < sizeof steppers / sizeof *steppers; i++) {
    kn_sim_settings s = kn_sim_default();
    s.stepper = steppers[i];
    holds(s.stepper, s, NAN);
  }
}

/* Where bodies collide, loops and dry friction of islands that do not are held all the same: by laws that go from impact to impact they were not,
   and a linkage opened by its whole acceleration of the step. */
TEST(every_law_holds_islands_that_do_not_collide) {
  static const char* const laws[] = {"poisson", "newton", "stronge", "projection", "sequential"};
  for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
    kn_sim_settings s = kn_sim_default();
    s.law = laws[i];
    holds(s.law, s, 0.5);
  }
}

/* Their own equations: `theta` everything where the step begins, `event` what holds between the ends of a step, `compliant` and `hybrid` the
   law of Kelvin and Voigt. No check is left out. */
TEST(recordings_of_every_stepper_are_checked_by_their_own_equations) {
  static const char* const list[] = {"theta", "event", "compliant", "hybrid"};
  for (int k = 0; k < 4; k++) {
    kn_recording* in = record_with(rig_text, 200, 1.0, 1, 0, list[k],
                                   0.0); /* later the explicit forces of theta gain a thousandth */
    kn_verification* v = malloc(sizeof *v);
    CHECK_OK(kn_verify(v, in));
    CHECK_INT(v->violations, 0);
    CHECK_INT(v->skips, 0);
    show(list[k], v);
    kn_recording_close(in);
    free(v);
  }
}

/* A free capsule above a plane; tilt: of its axis from level, rad. */
static kn_recording* record_capsule(double r, double l, double tilt, double z, double dt, int steps,
                                    const char* stepper) {
  char text[400];
  snprintf(text, sizeof text,
           "<mujoco><option timestep='%g'/><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 %g' "
           "euler='0 %g 0'>"
           "<freejoint/><geom type='capsule' size='%g %g'/></body></worldbody></mujoco>",
           dt, z, 90.0 - tilt * 180.0 / M_PI, r, l);
  return record_with(text, steps, 0.0, 1, 0, stepper, 0.0);
}

/* Found to violate before: the point of the upper ball of a tilted capsule lies inside the capsule (contact-point, in a short one that
   overlaps the plane: up to 6e-5 m); a step of `event` was placed dt/2 v behind its beginning, its rolling points halfway between
   its ends (momentum, 1e-5); forces between impacts (position); and the points of contacts that parted within the step. */
TEST(tilted_capsules_that_rock_on_a_plane_pass) {
  static const struct {
    double r, l, tilt, z, dt;
  } list[] = {{0.0624886561527, 0.00181098596916, 0.0202764630521, 0.0623850437925, 0.001},
              {0.052627675400, 0.0450377174724, 0.0127071167593, 0.0535752501832, 0.002},
              {0.122659116165, 0.0380699659998, 0.496721247567, 0.142896767424, 0.005},
              {0.0577732240166, 0.00919379420372, 0.00440249668365, 0.0605609076699, 0.005}};
  static const char* const stepper[] = {"time", "theta", "event", "compliant"};
  kn_verification* v = malloc(sizeof *v);
  for (int k = 0; k < 16 && CHECK(v); k++) {
    kn_recording* in = record_capsule(list[k / 4].r, list[k / 4].l, list[k / 4].tilt, list[k / 4].z,
                                      list[k / 4].dt, (int)(0.4 / list[k / 4].dt), stepper[k % 4]);
    CHECK_OK(kn_verify(v, in));
    CHECK_INT(v->violations, 0);
    show(stepper[k % 4], v);
    kn_recording_close(in);
  }
  free(v);
}

/* Found to violate before, like simple_humanoid.urdf: the deepest points of a disc that comes down flat go round its
   rim within a step. The layer of a contact then began as thick as the one at its place of before and was told where no rim was
   (overlap), and what one edge throws onto the other is faster within the step than at its ends (gap, complementarity). */
TEST(discs_that_come_down_flat_on_layers_pass) {
  static const struct {
    double r, h, z, tilt[2], box, dt;
  } list[] = {{0.6729, 0.0192, 0.035861, {0.035623, 0.000906}, 0.3365, 0.001},
              {0.7690, 0.0943, 0.103678, {0.065076, 0.012355}, 0.0, 0.005},
              {0.9788, 0.0549, 0.078006, {1.289550, 0.759548}, 0.4894, 0.002},
              {0.8207, 0.0764, 0.099928, {0.009426, 0.004792}, 0.0, 0.005},
              {0.8929, 0.0809, 0.109074, {0.675180, 0.077436}, 0.4465, 0.002},
              {0.2724, 0.0617, 0.071087, {0.040305, 0.015738}, 0.1362, 0.001}};
  kn_verification* v = malloc(sizeof *v);
  for (size_t k = 0; k < sizeof list / sizeof *list && CHECK(v); k++) {
    char text[500], box[100] = "";
    if (list[k].box > 0.0)
      snprintf(box, sizeof box, "<geom type='box' size='%g %g %g'/>", list[k].box, list[k].box, list[k].h);
    snprintf(text, sizeof text,
             "<mujoco><option timestep='%g'/><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 %g' "
             "euler='%g %g 0'><freejoint/><geom type='cylinder' size='%g %g'/>%s</body></worldbody></mujoco>",
             list[k].dt, list[k].z, list[k].tilt[0], list[k].tilt[1], list[k].r, list[k].h, box);
    kn_recording* in = record_with(text, (int)(0.3 / list[k].dt), 0.0, 1, 0, "compliant", 0.0);
    CHECK_OK(kn_verify(v, in));
    CHECK_INT(v->violations, 0);
    show("", v);
    kn_recording_close(in);
  }
  free(v);
}

static void point_aside(spoiled* s) { s->contact[0].point[1] += 1e-3; } /* 1e-6 / 2 r off the surface */
static void point_deep(spoiled* s) { s->contact[0].point[2] -= 1e-5; }

/* The first step of the first of those, one of whose two points is inside the capsule. */
TEST(points_beside_the_balls_of_a_capsule_are_found) {
  static void (*const list[])(spoiled*) = {point_aside, point_deep};
  kn_recording* in = record_capsule(0.0625, 0.0018, 0.02, 0.0624, 0.001, 1, "time");
  kn_verifier v;
  catch c = {0};
  if (!open_verifier(&v, &c, in, "time")) return;
  for (int k = 0; k < 2; k++) {
    kn_recorded step;
    spoiled s;
    CHECK_OK(kn_recording_read(&step, in, 0));
    CHECK_INT(step.contacts, 2);
    thaw(&s, &step, kn_recording_model(in));
    list[k](&s);
    c = (catch){0};
    kn_verifier_step(&v, &s.step);
    if (!CHECK(strstr(c.checks, "contact-point"))) printf("  plant %d: found \"%s\"\n", k, c.checks);
  }
  kn_verifier_destroy(&v);
  kn_recording_close(in);
}

static char* boxes_text(int n) {
  char *text = malloc((size_t)n * 160 + 200), *at = text;
  if (!text) return NULL;
  at += sprintf(at, "<mujoco><worldbody><geom type='plane' size='5 5 .1'/>");
  for (int i = 0; i < n; i++) /* towers of three, a little apart */
    at += sprintf(at, "<body pos='%g %g %g'><freejoint/><geom type='box' size='.1 .1 .1'/></body>",
                  0.3 * (i % 10), 0.3 * (i / 10 % 10), 0.1 + 0.2 * (i / 100));
  sprintf(at, "</worldbody></mujoco>");
  return text;
}

/* Dense matrices over all 1800 dofs took hours; one block per tree and a sweep over boxes take seconds. */
TEST(five_hundred_steps_of_three_hundred_boxes_verify_in_a_minute) {
  char* text = boxes_text(300);
  kn_recording* in = text ? record_with(text, 500, 0.0, 1, 4000, "time", 0.0) : NULL;
  kn_verification* v = malloc(sizeof *v);
  if (!CHECK(in != NULL && v != NULL)) return;
  struct timespec a, b;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
  CHECK_OK(kn_verify(v, in));
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
  CHECK_INT(v->violations, 0);
  CHECK_INT(v->steps, 500);
  show("", v);
  double seconds = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
  printf("  %.1f s of processor time\n", seconds);
  CHECK_BELOW(seconds, 60.0);
  kn_recording_close(in);
  free(v);
  free(text);
}

/* A shaft between four walls, and n spheres above its floor. */
static char* spheres_text(int n) {
  static const char* const wall[4] = {"pos='.5 0 0' zaxis='-1 0 0'", "pos='-.5 0 0' zaxis='1 0 0'",
                                      "pos='0 .5 0' zaxis='0 -1 0'", "pos='0 -.5 0' zaxis='0 1 0'"};
  char* text = malloc(500 + 100 * (size_t)n);
  if (!text) return NULL;
  char* at = text + sprintf(text, "<mujoco><worldbody><geom type='plane' size='2 2 1'/>");
  for (int i = 0; i < 4; i++) at += sprintf(at, "<geom type='plane' size='2 2 1' %s/>", wall[i]);
  for (int i = 0; i < n; i++)
    at += sprintf(at, "<body pos='%g %g %g'><freejoint/><geom size='.1'/></body>",
                  -0.33 + 0.22 * (i % 4) + 0.003 * (i % 7), -0.33 + 0.22 * (i / 4 % 4) + 0.003 * (i % 5),
                  0.11 + 0.21 * (i / 16));
  sprintf(at, "</worldbody></mujoco>");
  return text;
}

/* Loaded contacts of a heap land where others travel, and forces are as far from their cones as the step's own residual says. */
TEST(heaps_at_a_loose_tolerance_hold) {
  char* text = spheres_text(80);
  kn_recording* in = text ? record_with(text, 300, 0.0, 1, 0, "time", 1e-6) : NULL;
  kn_verification* v = malloc(sizeof *v);
  if (!CHECK(in != NULL && v != NULL)) return;
  CHECK_OK(kn_verify(v, in));
  CHECK_INT(v->violations, 0);
  CHECK_INT(v->steps, 300);
  show("", v);
  kn_recording_close(in);
  free(v);
  free(text);
}

TEST(an_opened_loop_is_found) {
  kn_recording* in = record(loop_text, 60, 0.0, 1);
  const kn_model* m = kn_recording_model(in);
  kn_verifier v;
  if (!CHECK_OK(kn_verifier_create(&v, m))) return;
  catch c = {0};
  v.found = note;
  v.context = &c;
  kn_recorded step;
  spoiled s;
  CHECK_OK(kn_recording_read(&step, in, 40));
  thaw(&s, &step, m);
  s.q[2] += 1e-4;
  kn_verifier_step(&v, &s.step);
  CHECK_TEXT(c.checks, "loop");
  kn_verifier_destroy(&v);
  kn_recording_close(in);
}

/* docs/recording.md has the program's own table. */
TEST(the_page_lists_every_check) {
  static char page[100000];
  FILE* in = fopen(KN_SOURCE_DIR "/docs/recording.md", "r");
  if (!CHECK(in != NULL)) return;
  page[fread(page, 1, sizeof page - 1, in)] = 0;
  fclose(in);
  for (const kn_verify_check* c = kn_verify_checks(); c->name; c++) {
    char row[400], doc[300];
    size_t n = 0;
    for (const char* p = c->doc; *p && n < sizeof doc - 8; p++)
      n += (size_t)(*p == '|' ? sprintf(doc + n, "&#124;") : sprintf(doc + n, "%c", *p));
    snprintf(row, sizeof row, "| %s | %s |", c->name, doc);
    if (!CHECK(strstr(page, row) != NULL)) printf("  missing: %s\n", row);
  }
}

TEST(a_check_left_out_is_listed_and_others_are_refused) {
  kn_recording* in = record(rig_text, 20, 1.0, 1);
  kn_verification* v = malloc(sizeof *v);
  const char *skip[] = {"momentum", NULL}, *none[] = {"no-such-check", NULL};
  CHECK_OK(kn_verify_except(v, in, skip));
  CHECK_INT(v->skips, 1);
  CHECK_TEXT(v->skipped[0].check, "momentum");
  CHECK(v->skipped[0].asked);
  CHECK_STATUS(kn_verify_except(v, in, none), KN_NOT_FOUND);
  free(v);
  kn_recording_close(in);
}
