/* Mutation testing of the verifier and of the judge: every mutant of mutants.def is run, and who must notice it does.
   First the engine without a mutant: then nobody may notice anything. The table of all of them is printed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "knuckle/load.h"
#include "knuckle/record.h"
#include "test.h"

extern int kn_mutant;
int kn_mutant; /* the chosen one, 0: none; the copies of the engine's files ask for it */

typedef struct mutant {
  int number;
  const char *file, *runs, *notices;
} mutant;

static const mutant mutants[] = {
#define MUTANT(number, file, text, instead, runs, notices) {number, file, runs, notices},
#include "mutants.def"
#undef MUTANT
};
enum { MUTANTS = sizeof mutants / sizeof *mutants };

/* Some of them again with other steppers, whose recordings are checked by other equations: run@stepper. */
static const mutant again[] = {
    {1, "actuator", "rig@event", "momentum"},
    {4, "damping", "rig@event", "momentum"},
    {8, "carried weight", "rig@event", "momentum"},
    {9, "time", "rig@event", "time"},
    {16, "mu", "rig@event", "friction-coefficient"},
    {17, "e", "drop@event", "restitution"},
    {23, "decompression", "drop@event", "restitution|momentum"},
    {35, "point", "rig@event", "contact-point"},
    {34, "gap", "rig@event", "gap"},
    {1, "actuator", "rig@compliant", "forces"},
    {9, "time", "rig@compliant", "time"},
    {16, "mu", "rig@compliant", "friction-coefficient"},
    {34, "gap", "rig@compliant", "gap"},
    {21, "cone", "spin", "friction-cone"},
    {71, "torsion", "spin@theta", "friction-cone"},
    {72, "rolling", "spin@theta", "slip|friction-cone"},
    {41, "velocity", "rig@hybrid", "momentum"},
    {44, "impulse", "rig@hybrid", "momentum"},
};
enum { AGAIN = sizeof again / sizeof *again };

/* ---- models ---- */

static const char rig[] =
    "<mujoco><worldbody><geom type='plane' size='5 5 .1'/>"
    "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' friction='.3'/></body>"
    "<body pos='0 1 .1'><freejoint/><geom type='box' size='.1 .1 .1' priority='1' condim='1'/></body>"
    "<body pos='1 0 1'><joint axis='0 1 0' damping='.05' range='-60 40'/><geom type='capsule' size='.03' "
    "fromto='0 0 0 .4 0 0'/><body pos='.4 0 0'><joint name='b' axis='0 1 0' stiffness='3'/><geom "
    "type='capsule' "
    "size='.03' fromto='0 0 0 .4 0 0'/><body pos='.4 0 0' gravcomp='.5'><joint type='ball'/><geom size='.05' "
    "pos='0 "
    ".02 0'/></body></body></body></worldbody><actuator><motor joint='b' gear='2' ctrlrange='-.2 .2' "
    "ctrllimited='true'/><motor joint='b' forcerange='-.1 .1' forcelimited='true'/></actuator></mujoco>";
static const char spin[] = /* torsion and rolling; torsion of a box; two coefficients of a pair */
    "<mujoco><worldbody><geom name='g' type='plane' size='5 5 .1' condim='6' friction='.5 .01 .002'/>"
    "<body pos='0 0 .1'><freejoint/><geom size='.1' condim='6' friction='.5 .01 .002'/></body>"
    "<body pos='1 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' priority='1' condim='4' friction='.4 "
    ".02 .1'/></body>"
    "<body pos='2 0 .1'><freejoint/><geom name='b' type='box' size='.1 .1 .1'/></body></worldbody>"
    "<contact><pair geom1='b' geom2='g' condim='6' friction='.3 .6 .01 .001 .001'/></contact></mujoco>";
static const char fall[] =
    "<mujoco><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 .13'><freejoint/><geom type='box' "
    "size='.1 .1 "
    ".1'/></body><body pos='1 0 .15'><freejoint/><geom size='.1'/></body></worldbody></mujoco>";
static const char loop[] =
    "<mujoco><worldbody><body name='a' pos='0 0 1'><joint axis='0 1 0'/><geom type='capsule' size='.02' "
    "contype='0' "
    "fromto='0 0 0 .3 0 0'/><body name='b' pos='.3 0 0'><joint axis='0 1 0'/><geom type='capsule' size='.02' "
    "contype='0' fromto='0 0 0 0 0 -.4'/></body></body><body name='c' pos='.6 0 .6'><joint axis='0 1 "
    "0'/><geom "
    "type='capsule' size='.02' contype='0' fromto='0 0 0 -.3 0 0'/></body></worldbody><equality><connect "
    "body1='b' "
    "body2='c' anchor='0 0 -.4'/></equality></mujoco>";
static const char dry[] = "<mujoco><worldbody><body pos='0 0 1'><joint axis='0 1 0' frictionloss='.1'/><geom "
                          "type='capsule' size='.03' "
                          "fromto='0 0 0 .4 0 0'/></body></worldbody></mujoco>";
static const char ball[] = "<mujoco><worldbody><body pos='0 0 1'><joint type='ball' range='0 50' "
                           "limited='true'/><geom type='capsule' "
                           "size='.03' fromto='0 0 0 .4 0 0'/></body></worldbody></mujoco>";

static kn_status add_ball(kn_spec* spec, double x, double z, double e, double mu, kn_shape_type type) {
  kn_body_def b = kn_body_default();
  kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
  kn_geom_def g = kn_geom_default(type);
  b.pos[0] = x, b.pos[2] = z, b.inertia_from_geoms = true;
  g.shape.size[0] = g.shape.size[1] = g.shape.size[2] = 0.1;
  g.material.e = e, g.material.mu = mu;
  kn_status status = kn_spec_add_body(&j.body, spec, &b);
  g.body = j.body;
  int id;
  if (status == KN_OK) status = kn_spec_add_joint(&id, spec, &j);
  return status == KN_OK ? kn_spec_add_geom(&id, spec, &g) : status;
}

/* Things with restitution, which MJCF cannot say. */
static kn_status bouncing(kn_spec** spec, const char* runs) {
  bool elastic = strcmp(runs, "elastic") == 0, row = strcmp(runs, "cradle") == 0;
  kn_geom_def floor = kn_geom_default(KN_SHAPE_PLANE);
  int id;
  kn_status status = kn_spec_create(spec);
  floor.body = KN_WORLD, floor.material.mu = 0.1;
  if (status == KN_OK) status = kn_spec_add_geom(&id, *spec, &floor);
  if (status == KN_OK)
    status = add_ball(*spec, 0.0, row ? 0.1 : 0.3, elastic ? 1.0 : 0.8, 0.0, KN_SHAPE_SPHERE);
  if (status == KN_OK && row) status = add_ball(*spec, 0.25, 0.1, 0.5, 0.0, KN_SHAPE_SPHERE);
  if (status == KN_OK && !elastic && !row) status = add_ball(*spec, 1.0, 0.2, 0.5, 0.4, KN_SHAPE_BOX);
  return status;
}

static kn_status model_of(kn_model** model, const char* runs) { /* without the stepper */
  static const struct {
    const char *name, *text;
  } texts[] = {{"rig", rig}, {"fall", fall}, {"loop", loop}, {"dry", dry}, {"ball", ball}, {"spin", spin}};
  kn_spec* spec = NULL;
  kn_status status = KN_NOT_FOUND;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (strcmp(texts[i].name, runs) == 0)
      status = kn_load_text(&spec, NULL, "mutant.xml", texts[i].text, strlen(texts[i].text), NULL);
  if (status == KN_NOT_FOUND) status = bouncing(&spec, runs);
  if (status == KN_OK) status = kn_compile(model, spec);
  kn_spec_destroy(spec);
  return status;
}

/* ---- under the verifier ---- */

static void drive(kn_state* state, const kn_model* m, int step) {
  for (int i = 0; i < kn_model_nu(m); i++) kn_state_ctrl(state)[i] = 0.5 * sin(0.02 * step);
  if (kn_model_nu(m)) kn_state_force(state)[2] = 0.2;
}

static kn_status record(const char* path, const char* what, int steps) {
  char runs[64];
  snprintf(runs, sizeof runs, "%s", what);
  char* stepper = strchr(runs, '@');
  if (stepper) *stepper++ = 0;
  kn_model* model = NULL;
  kn_sim* sim = NULL;
  kn_state* state = NULL;
  kn_recorder* rec = NULL;
  kn_sim_settings s = kn_sim_default();
  if (strcmp(runs, "drop-newton") == 0) s.law = "newton";
  if (stepper) s.stepper = stepper;
  kn_record_settings rs = kn_record_default();
  rs.scene_rate = 0.0;
  kn_status status = model_of(&model, runs);
  if (status == KN_OK) status = kn_sim_create(&sim, model, &s);
  if (status == KN_OK) status = kn_state_create(&state, model);
  if (status == KN_OK) status = kn_sim_prepare(sim, state);
  if (status == KN_OK) status = kn_recorder_open(&rec, path, sim, &rs);
  if (status == KN_OK && strcmp(runs, "rig") == 0) kn_state_v(state)[0] = 1.0, kn_state_v(state)[6] = 0.5;
  if (status == KN_OK && strcmp(runs, "cradle") == 0) kn_state_v(state)[0] = 0.5;
  static const double fast[18] = {.5, .2, 0, 3, 2, 10, .5, .2, 0, 0, 0, 3, .4, .4, 0, 0, 0, 2};
  if (status == KN_OK && strcmp(runs, "spin") == 0) memcpy(kn_state_v(state), fast, sizeof fast);
  for (int i = 0; i < steps && status == KN_OK; i++) {
    drive(state, model, i);
    status = kn_recorder_before(rec, state);
    if (status == KN_OK) status = kn_step(sim, state);
    if (status == KN_OK) status = kn_recorder_step(rec, state);
  }
  kn_status closed = kn_recorder_close(rec);
  kn_state_destroy(state);
  kn_sim_destroy(sim);
  kn_model_destroy(model);
  return status != KN_OK ? status : closed;
}

/* The checks that a recording of this mutant violates, each once, ended by "|"; false: it could not be made. */
static bool violated(char* out, size_t room, const char* runs, int number) {
  static kn_verification v;
  char path[128];
  kn_recording* in = NULL;
  out[0] = 0;
  snprintf(path, sizeof path, "/tmp/knuckle-mutant-%d.mcap", (int)getpid());
  kn_mutant = number;
  kn_status status = record(path, runs, strcmp(runs, "elastic") == 0 ? 1500 : 600);
  kn_mutant = 0;
  if (status == KN_OK) status = kn_recording_open(&in, path);
  if (status == KN_OK) status = kn_verify(&v, in);
  unlink(path);
  kn_recording_close(in);
  if (status != KN_OK) return false;
  for (int i = 0; i < v.listed; i++) {
    char name[64];
    snprintf(name, sizeof name, "%s|", v.violation[i].check);
    if (!strstr(out, name) && strlen(out) + strlen(name) < room) strcat(out, name);
    if (getenv("KN_SHOW"))
      printf("    step %lld %s %g > %g\n", (long long)v.violation[i].step, v.violation[i].check,
             v.violation[i].value, v.violation[i].limit);
  }
  for (int i = 0; i < v.skips; i++) strcat(out, "skipped|");
  return true;
}

/* ---- under the judge ---- */

enum { CONTACTS = 3, FLAT = 3 * CONTACTS, FREE = FLAT + 2, BOX, PUSH, ROWS, BLOCKS = CONTACTS + 4 };

typedef struct drawn { /* a problem, and its memory */
  kn_problem problem;
  kn_block block[BLOCKS];
  double W[ROWS * ROWS], q[ROWS];
} drawn;

/* W = G Gᵀ of contacts in space, one in a plane, a row that is free, one in a box and one that only pushes. */
static void draw(drawn* d, uint64_t seed) {
  kn_rng rng = kn_rng_seed(seed);
  double G[ROWS * ROWS];
  for (int i = 0; i < ROWS * ROWS; i++) G[i] = kn_rng_range(&rng, -1.0, 1.0);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < ROWS; j++) {
      d->W[i * ROWS + j] = i == j ? 2.0 : 0.0;
      for (int k = 0; k < ROWS; k++) d->W[i * ROWS + j] += G[i * ROWS + k] * G[j * ROWS + k];
    }
  for (int i = 0; i < ROWS; i++) d->q[i] = kn_rng_range(&rng, -1.0, 0.5);
  for (int c = 0; c <= CONTACTS; c++)
    d->block[c] = (kn_block){.set = c < CONTACTS ? KN_SET_CONE3 : KN_SET_CONE2,
                             .row = 3 * c,
                             .mu = kn_rng_range(&rng, 0.2, 1.0),
                             .hi = INFINITY};
  d->block[CONTACTS + 1] = (kn_block){.set = KN_SET_FREE, .row = FREE};
  d->block[CONTACTS + 2] = (kn_block){.set = KN_SET_BOX, .row = BOX, .lo = -0.1, .hi = 0.1};
  d->block[CONTACTS + 3] = (kn_block){.set = KN_SET_POSITIVE, .row = PUSH, .hi = INFINITY};
  d->problem = (kn_problem){.rows = ROWS, .blocks = BLOCKS, .block = d->block, .W = d->W, .q = d->q};
}

static double square(double x) { return x * x; }

/* |r - P(r - û)|² of a contact, P by the ray of the cone that x leans on. */
static double contact_error(double mu, const double* r, const double* u, int rows) {
  double r2 = rows == 3 ? r[2] : 0.0, u2 = rows == 3 ? u[2] : 0.0;
  if (isinf(mu)) { /* it sticks and pushes, or it is open */
    double stick = square(fmin(r[0], u[0])) + u[1] * u[1] + u2 * u2,
           open = r[0] * r[0] + r[1] * r[1] + r2 * r2 + square(fmin(u[0], 0.0));
    return fmin(stick, open);
  }
  double x[3] = {r[0] - u[0] - mu * hypot(u[1], u2), r[1] - u[1], r2 - u2}, t = hypot(x[1], x[2]), p[3] = {0};
  double along = (x[0] + mu * t) / sqrt(1.0 + mu * mu); /* on the ray (1, mu x_T/t) of unit length */
  if (t <= mu * x[0])
    p[0] = x[0], p[1] = x[1], p[2] = x[2];
  else if (along > 0.0) {
    p[0] = along / sqrt(1.0 + mu * mu);
    p[1] = mu * p[0] * x[1] / t, p[2] = mu * p[0] * x[2] / t;
  }
  return square(r[0] - p[0]) + square(r[1] - p[1]) + square(r2 - p[2]);
}

/* The error of knuckle/comp.h, written down again. */
static double plain_error(const drawn* d, const double* r) {
  double u[ROWS], sum = 0.0, size[3] = {0};
  for (int i = 0; i < ROWS; i++) {
    u[i] = d->q[i];
    for (int j = 0; j < ROWS; j++) u[i] += d->W[i * ROWS + j] * r[j];
    size[0] += square(d->q[i]), size[1] += square(r[i]), size[2] += square(u[i]);
  }
  for (int c = 0; c <= CONTACTS; c++)
    sum += contact_error(d->block[c].mu, r + 3 * c, u + 3 * c, c < CONTACTS ? 3 : 2);
  sum += square(u[FREE]) + square(fmin(r[PUSH], u[PUSH]));
  sum += square(r[BOX] - fmax(-0.1, fmin(0.1, r[BOX] - u[BOX])));
  return sqrt(sum / fmax(size[0], fmax(size[1], size[2])));
}

typedef struct count {
  int refused; /* the judge says no */
  int lied;    /* the judge says yes and the law says no, or the other way round */
} count;

static void solve_with(count* n, const drawn* d, const char* solver) {
  double r[ROWS] = {0};
  kn_solver_work* work = NULL;
  kn_solve_info info;
  kn_solve_settings s = kn_solve_default();
  s.solver = solver;
  if (kn_solver_work_for(&work, &d->problem) != KN_OK) return;
  kn_status status = kn_problem_solve(r, &info, &d->problem, &s, work);
  n->refused += status != KN_OK;
  n->lied += status == KN_OK && plain_error(d, r) > 1e-9; /* the judge asked for 1e-10 */
  kn_solver_work_destroy(work);
}

/* What the judge says of numbers that are no answer. */
static void spoil(count* n, const drawn* d, uint64_t seed) {
  kn_rng rng = kn_rng_seed(seed);
  drawn x = *d;
  double r[ROWS];
  x.problem.block = x.block, x.problem.W = x.W, x.problem.q = x.q;
  if (seed % 2) x.block[0].mu = x.block[CONTACTS].mu = INFINITY;
  for (int i = 0; i < ROWS; i++) r[i] = kn_rng_range(&rng, -0.2, 1.0);
  double plain = plain_error(&x, r), judged = kn_problem_error(&x.problem, r);
  n->lied += fabs(plain - judged) > 1e-9 * plain; /* rounding of some dozen terms */
}

static void solve_lcp(count* n, uint64_t seed) {
  enum { N = 8 };
  kn_rng rng = kn_rng_seed(seed);
  double M[N * N], q[N], z[N] = {0}, G[N * N];
  for (int i = 0; i < N * N; i++) G[i] = kn_rng_range(&rng, -1.0, 1.0);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      M[i * N + j] = i == j;
      for (int k = 0; k < N; k++) M[i * N + j] += G[i * N + k] * G[j * N + k];
    }
  for (int i = 0; i < N; i++) q[i] = kn_rng_range(&rng, -1.0, 1.0);
  kn_lcp lcp = {.n = N, .M = M, .q = q};
  kn_lcp_work* work = NULL;
  kn_lcp_settings s = kn_lcp_settings_default();
  kn_solve_info info;
  if (kn_lcp_work_create(&work, N) != KN_OK) return;
  kn_status status = kn_lcp_solver_find("psor")->solve(z, &info, &lcp, &s, work);
  double worst = 0.0;
  for (int i = 0; i < N; i++) {
    double w = q[i];
    for (int j = 0; j < N; j++) w += M[i * N + j] * z[j];
    worst = fmax(worst, fmax(fmax(-z[i], -w), fabs(z[i] * w)));
  }
  n->refused += status != KN_OK;
  n->lied += status == KN_OK && worst > 1e-8;
  kn_lcp_work_destroy(work);
}

static count judged(int number) {
  static const char* const solver[] = {"driver", "gs", "newton", "interior"};
  count n = {0};
  kn_mutant = number;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    drawn d;
    draw(&d, seed);
    for (size_t k = 0; k < sizeof solver / sizeof *solver; k++) solve_with(&n, &d, solver[k]);
    for (uint64_t k = 0; k < 10; k++) spoil(&n, &d, 100 * seed + k);
    solve_lcp(&n, seed);
  }
  kn_mutant = 0;
  return n;
}

/* ---- the table ---- */

static bool one_of(const char* wanted, const char* found) {
  char list[128], name[64];
  snprintf(list, sizeof list, "%s", wanted);
  for (char* at = strtok(list, "|"); at; at = strtok(NULL, "|")) {
    snprintf(name, sizeof name, "%s|", at);
    if (strstr(found, name)) return true;
  }
  return false;
}

static void notices(char* out, size_t room, const mutant* m) {
  if (strcmp(m->runs, "comp") != 0) {
    if (!violated(out, room, m->runs, m->number)) snprintf(out, room, "no recording|");
    return;
  }
  count plain = judged(0), now = judged(m->number);
  snprintf(out, room, "%s%s", now.refused > plain.refused ? "judge|" : "",
           now.lied > plain.lied ? "oracle|" : "");
}

TEST(nobody_notices_anything_without_a_mutant) {
  static const char* const runs[] = {"rig",        "drop",          "drop-newton", "elastic", "cradle",
                                     "fall",       "loop",          "dry",         "ball",    "rig@event",
                                     "drop@event", "rig@compliant", "rig@hybrid",  "spin",    "spin@theta"};
  char found[2000];
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    CHECK(violated(found, sizeof found, runs[i], 0));
    if (!CHECK(found[0] == 0)) printf("  %s: %s\n", runs[i], found);
  }
  count n = judged(0);
  CHECK_INT(n.refused, 0);
  CHECK_INT(n.lied, 0);
}

/* A mutant of a fast path that is off would change nothing. The variable is read once, by the first simulator. */
__attribute__((constructor)) static void all_paths(void) { unsetenv("KN_FAST"); }

TEST(every_mutant_is_noticed) {
  char found[2000];
  int caught = 0;
  printf("  mutant file                    runs         noticed by\n");
  for (int i = 0; i < MUTANTS + AGAIN; i++) {
    const mutant* m = i < MUTANTS ? &mutants[i] : &again[i - MUTANTS];
    notices(found, sizeof found, m);
    bool ok = one_of(m->notices, found);
    caught += ok;
    printf("  %6d %-23s %-12s %s%.60s\n", m->number, m->file, m->runs, ok ? "" : "NOT AS EXPECTED: ", found);
    CHECK(ok);
  }
  printf("  %d of %d mutants are noticed\n", caught, MUTANTS + AGAIN);
  CHECK(MUTANTS >= 40);
}
