/* Every allocation fails once in turn, in every scenario below: a status and a sentence, nothing held afterwards. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "knuckle/fclib.h"
#include "knuckle/lcp_file.h"
#include "knuckle/load.h"
#include "knuckle/mesh.h"
#include "knuckle/record.h"
#include "test.h"

static const char model_text[] =
    "<mujoco><asset><mesh name='m' vertex='0 0 0 .1 0 0 0 .1 0 0 0 .1 .1 .1 .1'/></asset><worldbody><geom "
    "type='plane' "
    "size='5 5 .1'/><body pos='0 0 .1'><freejoint/><geom type='mesh' mesh='m'/></body><body name='a' pos='1 "
    "0 1'><joint "
    "name='j' axis='0 1 0' range='-60 40'/><geom type='capsule' size='.03' fromto='0 0 0 .4 0 "
    "0'/></body><body "
    "pos='2 0 .1'><freejoint/><geom type='box' size='.1 .1 .1'/></body></worldbody><actuator><motor "
    "joint='j'/></actuator>"
    "<keyframe><key qpos='0 0 .1 1 0 0 0 .1 2 0 .1 1 0 0 0'/></keyframe></mujoco>";
static const char urdf_text[] = "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' "
                                "ixy='0' ixz='0' iyy='1' iyz='0' "
                                "izz='1'/></inertial><collision><geometry><box size='1 1 "
                                "1'/></geometry></collision></link><link name='b'><inertial>"
                                "<mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' "
                                "izz='1'/></inertial></link><joint name='j' "
                                "type='revolute'><parent link='a'/><child link='b'/><axis xyz='0 0 "
                                "1'/><limit lower='-1' upper='1' effort='1' "
                                "velocity='1'/></joint></robot>";

static kn_status load_as(const char* name, const char* text) {
  kn_spec* spec = NULL;
  kn_model* model = NULL;
  kn_status status = kn_load_text(&spec, NULL, name, text, strlen(text), NULL);
  if (status == KN_OK) status = kn_compile(&model, spec);
  kn_model_destroy(model);
  kn_spec_destroy(spec);
  return status;
}
static kn_status load_mjcf(void) { return load_as("m.xml", model_text); }
static kn_status load_urdf(void) { return load_as("r.urdf", urdf_text); }

static char path[64];
static kn_model* shared; /* made before anything fails */

static kn_status simulate(void) {
  kn_sim* sim = NULL;
  kn_state *state = NULL, *copy = NULL;
  kn_sim_settings s = kn_sim_default();
  s.verdict = s.determinate = true;
  kn_status status = kn_sim_create(&sim, shared, &s);
  if (status == KN_OK) status = kn_state_create(&state, shared);
  if (status == KN_OK) status = kn_state_create(&copy, shared);
  if (status == KN_OK) status = kn_sim_prepare(sim, state);
  for (int i = 0; i < 3 && status == KN_OK; i++) status = kn_step(sim, state);
  if (status == KN_OK) status = kn_state_copy(copy, state);
  kn_diagnosis d;
  kn_mode_matrix mm;
  if (status == KN_OK) status = kn_sim_diagnose(&d, sim, state);
  if (status == KN_OK && (status = kn_sim_mode_matrix(&mm, sim, state)) == KN_OK) kn_mode_matrix_free(&mm);
  kn_state_destroy(copy);
  kn_state_destroy(state);
  kn_sim_destroy(sim);
  return status;
}

static kn_status steppers(void) {
  kn_status status = KN_OK;
  for (const kn_choice* c = kn_steppers(); c->name && status == KN_OK; c++) {
    kn_sim* sim = NULL;
    kn_state* state = NULL;
    kn_sim_settings s = kn_sim_default();
    s.stepper = c->name;
    status = kn_sim_create(&sim, shared, &s);
    if (status == KN_OK) status = kn_state_create(&state, shared);
    if (status == KN_OK) status = kn_step(sim, state);
    kn_state_destroy(state);
    kn_sim_destroy(sim);
  }
  return status;
}

static kn_status record(void) {
  kn_sim* sim = NULL;
  kn_state* state = NULL;
  kn_recorder* rec = NULL;
  kn_sim_settings s = kn_sim_default();
  kn_status status = kn_sim_create(&sim, shared, &s);
  if (status == KN_OK) status = kn_state_create(&state, shared);
  if (status == KN_OK) status = kn_recorder_open(&rec, path, sim, NULL);
  for (int i = 0; i < 20 && status == KN_OK; i++) {
    status = kn_recorder_before(rec, state);
    if (status == KN_OK) status = kn_step(sim, state);
    if (status == KN_OK) status = kn_recorder_step(rec, state);
  }
  kn_status closed = kn_recorder_close(rec);
  kn_state_destroy(state);
  kn_sim_destroy(sim);
  return status == KN_OK ? closed : status;
}

static kn_status verify(void) {
  static kn_verification v;
  kn_recording* in = NULL;
  kn_status status = kn_recording_open(&in, path);
  if (status == KN_OK) status = kn_verify(&v, in);
  /* a chunk for which there was no memory is said to be lost, and that is a violation */
  if (status == KN_OK && !kn_test_allocation_failed() && v.violations) status = KN_BAD_FILE;
  kn_recording_close(in);
  return status;
}

static kn_status meshes(void) {
  static const char stl[] =
      "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 "
      "0\nendloop\nendfacet\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 0 1 0\nvertex 0 0 "
      "1\nendloop\nendfacet\nendsolid s\n";
  static const char obj[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 1 1 1\nf 1 2 3\nf 1 2 4 5\nf 2 3 4\n";
  kn_mesh_data a = {0}, b = {0};
  kn_hull* hull = NULL;
  kn_mesh* mesh = NULL;
  kn_status status = kn_mesh_data_read(&a, "a.stl", stl, sizeof stl - 1);
  if (status == KN_OK) status = kn_mesh_data_read(&b, "b.obj", obj, sizeof obj - 1);
  if (status == KN_OK) status = kn_hull_create(&hull, b.vertices, b.nvertex, NULL);
  if (status == KN_OK) status = kn_mesh_create(&mesh, &b, NULL);
  kn_hull_destroy(hull);
  kn_mesh_destroy(mesh);
  kn_mesh_data_free(&a);
  kn_mesh_data_free(&b);
  return status;
}

static kn_status solvers(void) {
  static const double W[9] = {2, 0, 0, 0, 1, 0, 0, 0, 1}, q[3] = {-1, 0.1, 0.2};
  static const kn_block block = {.set = KN_SET_CONE3, .mu = 0.5};
  kn_problem p = {.rows = 3, .blocks = 1, .block = &block, .W = W, .q = q};
  kn_solver_work* work = NULL;
  kn_lcp_work* lcp_work = NULL;
  double r[3] = {0}, z[3] = {0};
  kn_status status = kn_solver_work_for(&work, &p);
  if (status == KN_OK) status = kn_problem_solve(r, NULL, &p, NULL, work);
  if (status == KN_OK) status = kn_lcp_work_create(&lcp_work, 3);
  kn_lcp lcp = {.n = 3, .M = W, .q = q};
  if (status == KN_OK) status = kn_lcp_solve(z, NULL, &lcp, NULL, lcp_work);
  kn_solver_work_destroy(work);
  kn_lcp_work_destroy(lcp_work);
  return status;
}

static void every_allocation(const char* name, kn_status (*run)(void)) {
  long n = 1, before;
  int silent = 0, leaked = 0;
  if (!CHECK_OK(run())) return;
  before = kn_test_live_allocations();
  run();
  /* what the C library allocates by ways that are not counted and frees by free() */
  long uncounted = kn_test_live_allocations() - before;
  CHECK(uncounted <= 0);
  for (bool failed = true; failed && n < 20000; n++) {
    before = kn_test_live_allocations();
    kn_test_fail_allocation(n);
    kn_status status = run();
    failed = kn_test_allocation_failed();
    kn_test_fail_allocation(0);
    bool told = status == KN_OK || (kn_status_name(status) && kn_last_error()[0]);
    if (!told && silent++ == 0) printf("  %s: allocation %ld: no sentence\n", name, n);
    if (kn_test_live_allocations() > before && leaked++ == 0)
      printf("  %s: allocation %ld: %ld held\n", name, n, kn_test_live_allocations() - before);
  }
  printf("  %-10s %5ld allocations%s\n", name, n - 2, uncounted ? ", some frees are not counted" : "");
  CHECK_INT(silent, 0);
  CHECK_INT(leaked, 0);
}

TEST(every_allocation_may_fail) {
  if (!kn_test_counts_allocations()) SKIP("the sanitizer has its own allocator");
  kn_spec* spec = NULL;
  snprintf(path, sizeof path, "/tmp/knuckle-fault-%d.mcap", (int)getpid());
  if (!CHECK_OK(kn_load_text(&spec, NULL, "m.xml", model_text, strlen(model_text), NULL)) ||
      !CHECK_OK(kn_compile(&shared, spec)))
    return;
  static const struct {
    const char* name;
    kn_status (*run)(void);
  } scenario[] = {{"mjcf", load_mjcf}, {"urdf", load_urdf},    {"meshes", meshes}, {"solvers", solvers},
                  {"sim", simulate},   {"steppers", steppers}, {"record", record}, {"verify", verify}};
  for (size_t i = 0; i < sizeof scenario / sizeof *scenario; i++)
    every_allocation(scenario[i].name, scenario[i].run);
  unlink(path);
  kn_model_destroy(shared);
  kn_spec_destroy(spec);
}
