/* All public functions, found in the headers (generate.c), called with NULL, wrong sizes, wrong numbers and objects of
   another model, one wrong value at a time among right ones, and all wrong at once: a status, never a crash. Every call
   has a process of its own. What the language cannot tell (an array shorter than it is said to be, an object that was
   freed) is not tried. */
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "knuckle/archive.h"
#include "knuckle/batch.h"
#include "knuckle/broad.h"
#include "knuckle/cast.h"
#include "knuckle/certify.h"
#include "knuckle/collide.h"
#include "knuckle/comp.h"
#include "knuckle/contact.h"
#include "knuckle/dynamics.h"
#include "knuckle/fclib.h"
#include "knuckle/features.h"
#include "knuckle/force.h"
#include "knuckle/hdf5.h"
#include "knuckle/lcp_file.h"
#include "knuckle/load.h"
#include "knuckle/massprops.h"
#include "knuckle/mesh.h"
#include "knuckle/model.h"
#include "knuckle/pool.h"
#include "knuckle/projection.h"
#include "knuckle/record.h"
#include "knuckle/run.h"
#include "knuckle/sensor.h"
#include "knuckle/spec.h"
#include "knuckle/status.h"
#include "knuckle/step.h"
#include "knuckle/trouble.h"
#include "knuckle/types.h"
#include "knuckle/version.h"
#include "test.h"

typedef struct call {
  const char *name, *kinds; /* a letter per parameter */
  int args;
  void (*fn)(const int* pick);
} call;

enum { GOOD, BAD, WORSE, HUGE_ONE, FOREIGN, PICKS };

/* ---- right values ---- */

typedef struct world { /* everything about one model */
  kn_spec* spec;
  kn_model* model;
  kn_state* state;
  kn_data* data;
  kn_sim* sim;
  kn_batch* batch;
  kn_force_chooser* chooser;
  kn_pool* pool;
  kn_sensors* sensors;
} world;

static world here, there;
static kn_recording* recording;
static kn_recorder* recorder;
static kn_solver_work* solver_work;
static kn_lcp_work* lcp_work;
static kn_qp_work* qp_work;
static kn_hull* hull;
static kn_mesh* mesh;
static kn_broad* broad;
static kn_projector* projector;
static kn_study* study;
static kn_load_report* load_report;
static kn_pose pose = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
static kn_shape ball = {.type = KN_SHAPE_SPHERE, .size = {0.1, 0.1, 0.1}};
static double numbers[65536];
static const char zeros[1 << 20]; /* for what is read */
static char scratch[8][1 << 19];  /* for what is written, each argument its own */
static char path[64];

/* The pool has one thread: those it would make are not in a copy of the process. */
static bool make_world(world* w, const char* text) {
  kn_sim_settings s = kn_sim_default();
  return kn_load_text(&w->spec, w == &here ? &load_report : NULL, "m.xml", text, strlen(text), NULL) ==
             KN_OK &&
         kn_compile(&w->model, w->spec) == KN_OK && kn_state_create(&w->state, w->model) == KN_OK &&
         kn_data_create(&w->data, w->model) == KN_OK && kn_sim_create(&w->sim, w->model, &s) == KN_OK &&
         kn_sim_prepare(w->sim, w->state) == KN_OK && kn_batch_create(&w->batch, w->model, 2) == KN_OK &&
         kn_force_chooser_create(&w->chooser, w->model, KN_FORCES_NEAREST) == KN_OK &&
         kn_pool_create(&w->pool, w->model, NULL, 2, 1) == KN_OK &&
         kn_sensors_create(&w->sensors, w->model) == KN_OK;
}

static bool make_all(void) {
  static const char one[] =
      "<mujoco><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 .1'><freejoint/><geom "
      "size='.1'/></body><body pos='1 0 1'><joint axis='0 1 0'/><geom size='.1'/></body></worldbody>"
      "</mujoco>";
  static const char two[] = "<mujoco><worldbody><body><joint/><geom size='.2'/></body></worldbody></mujoco>";
  static const double points[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  static const int32_t triangles[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  kn_mesh_data data = {.nvertex = 4,
                       .ntriangle = 4,
                       .vertices = (double*)(uintptr_t)points,
                       .triangles = (int32_t*)(uintptr_t)triangles};
  snprintf(path, sizeof path, "/tmp/knuckle-calls-%d.mcap", (int)getpid());
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) numbers[i] = 0.1;
  bool ok = make_world(&here, one) && make_world(&there, two) &&
            kn_recorder_open(&recorder, path, here.sim, NULL) == KN_OK &&
            kn_step(here.sim, here.state) == KN_OK && kn_recorder_step(recorder, here.state) == KN_OK &&
            kn_recorder_close(recorder) == KN_OK && kn_recording_open(&recording, path) == KN_OK;
  recorder = NULL; /* has a thread, which a copy of the process has not */
  kn_broad_item item[2] = {{.shape = ball}, {.shape = ball, .body = 1}};
  kn_broad_def def = {.items = item, .count = 2, .nbody = 2};
  kn_study_read(&study, "m.yaml", "", 0);
  return ok && kn_solver_work_create(&solver_work, 12, 4, 16) == KN_OK &&
         kn_lcp_work_create(&lcp_work, 8) == KN_OK && kn_qp_work_create(&qp_work, 4, 4) == KN_OK &&
         kn_hull_create(&hull, points, 4, NULL) == KN_OK && kn_mesh_create(&mesh, &data, NULL) == KN_OK &&
         kn_broad_create(&broad, &def, NULL) == KN_OK && kn_projector_create(&projector, 4, 4) == KN_OK;
}

/* ---- values by type ---- */

static bool is(const char* type, const char* name) {
  size_t n = strlen(name);
  if (strncmp(type, "const ", 6) == 0) type += 6;
  return strncmp(type, name, n) == 0 && strcmp(type + n, "*") == 0;
}

static void* pointer(const char* type, int pick) {
  world* w = pick == FOREIGN ? &there : &here;
  if (pick == BAD) return NULL;
  const struct {
    const char* name;
    void* value;
  } known[] = {{"kn_spec", w->spec},
               {"kn_model", w->model},
               {"kn_state", w->state},
               {"kn_data", w->data},
               {"kn_sim", w->sim},
               {"kn_batch", w->batch},
               {"kn_force_chooser", w->chooser},
               {"kn_pool", w->pool},
               {"kn_sensors", w->sensors},
               {"kn_recording", recording},
               {"kn_recorder", NULL},
               {"kn_solver_work", solver_work},
               {"kn_lcp_work", lcp_work},
               {"kn_qp_work", qp_work},
               {"kn_hull", hull},
               {"kn_mesh", mesh},
               {"kn_broad", broad},
               {"kn_projector", projector},
               {"kn_study", study},
               {"kn_load_report", load_report},
               {"kn_problem_dump", NULL},
               {"kn_shape", &ball},
               {"kn_pose", &pose}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (is(type, known[i].name)) return known[i].value;
  if (strcmp(type, "const char*") == 0) return (void*)(uintptr_t) "name";
  if (strcmp(type, "const double*") == 0) return numbers;
  static kn_sim_settings sim;
  static kn_hull_settings hulls;
  static kn_solve_settings solve;
  static kn_lcp_settings lcp;
  static kn_record_settings rec;
  sim = kn_sim_default(), hulls = kn_hull_default(), solve = kn_solve_default(),
  lcp = kn_lcp_settings_default();
  rec = kn_record_default();
  if (is(type, "kn_sim_settings")) return &sim;
  if (is(type, "kn_hull_settings")) return &hulls;
  if (is(type, "kn_solve_settings")) return &solve;
  if (is(type, "kn_lcp_settings")) return &lcp;
  if (is(type, "kn_record_settings")) return &rec;
  if (strcmp(type, "void*") == 0) return calloc(1, 1 << 20); /* written, or freed */
  static int next;
  if (strncmp(type, "const ", 6) == 0 && !strstr(type, "**")) return (void*)(uintptr_t)zeros;
  return scratch[next++ % 8];
}

static long long whole(const char* type, int pick) {
  bool index = strncmp(type, "kn_", 3) == 0; /* an index or an enumeration */
  if (strcmp(type, "size_t") == 0) return pick == GOOD ? 8 : 0;
  if (strcmp(type, "bool") == 0) return pick == GOOD;
  return pick == BAD ? -1 : pick == WORSE ? INT_MIN : pick == HUGE_ONE && index ? INT_MAX : index ? 0 : 1;
}

static double number(int pick) {
  return pick == BAD ? NAN : pick == WORSE ? -INFINITY : pick == HUGE_ONE ? -1.0 : 0.5;
}

#include "calls.inc"

/* ---- calls ---- */

void __gcov_dump(void) __attribute__((weak)); /* of builds that count branches (scripts/coverage.sh) */

/* In a process of its own; the signal that ended it, 0: none. */
static int signal_of(const call* c, const int* pick) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(1);
    if (chdir("/tmp") != 0) _exit(1);
    alarm(20);
    c->fn(pick);
    if (__gcov_dump) __gcov_dump();
    _exit(0);
  }
  int how = 0;
  if (pid < 0 || waitpid(pid, &how, 0) != pid) return -1;
  return WIFSIGNALED(how) ? WTERMSIG(how) : 0;
}

static int try(const call* c, const int* pick, const char* what, int which) {
  int s = signal_of(c, pick);
  if (s) printf("  %s: %s%.0d: signal %d\n", c->name, what, which, s);
  return s != 0;
}

static int crashes(const call* c, int* tried) {
  int pick[32] = {0}, bad = 0;
  bad += try(c, pick, "right values", 0), ++*tried;
  for (int a = 0; a < c->args; a++) {
    int most = c->kinds[a] == 'p' ? BAD : c->kinds[a] == 'f' ? GOOD : HUGE_ONE;
    for (int p = BAD; p <= most; p++) {
      pick[a] = p;
      bad += try(c, pick, c->kinds[a] == 'p' ? "NULL as argument " : "a wrong number as argument ", a + 1),
          ++*tried;
    }
    pick[a] = FOREIGN;
    if (c->kinds[a] == 'p') bad += try(c, pick, "of another model: argument ", a + 1), ++*tried;
    pick[a] = GOOD;
  }
  for (int a = 0; a < c->args; a++) pick[a] = BAD;
  bad += try(c, pick, "all wrong", 0), ++*tried;
  return bad;
}

TEST(every_public_function_survives_wrong_arguments) {
  int functions = sizeof calls / sizeof *calls, tried = 0, crashed = 0;
  if (!CHECK(make_all())) return;
  for (int i = 0; i < functions; i++) crashed += crashes(&calls[i], &tried) > 0;
  unlink(path);
  printf("  %d functions, %d calls, %d functions crashed\n", functions, tried, crashed);
  CHECK(functions > 250);
  CHECK_INT(crashed, 0);
}

/* ---- lists ---- */

static void* ask(void* context) {
  (void)context;
  size_t sum = 0;
  for (int i = 0; i < 1000; i++) {
    for (const kn_choice* c = kn_formulations(); c->name; c++) sum += strlen(c->doc);
    for (const kn_choice* c = kn_steppers(); c->name; c++) sum += strlen(c->doc);
    for (const kn_choice* c = kn_impact_laws(); c->name; c++) sum += strlen(c->doc);
  }
  return (void*)sum;
}

TEST(lists_of_choices_are_read_by_threads_at_once) { /* under TSan: they were filled by whoever asked */
  pthread_t thread[4];
  void* sum[4];
  for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, ask, NULL);
  for (int i = 0; i < 4; i++) pthread_join(thread[i], &sum[i]);
  for (int i = 1; i < 4; i++) CHECK(sum[i] == sum[0]);
}
