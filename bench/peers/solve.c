/* The contact problems inside our steps, given to Siconos: the largest problem of each scene's first seconds,
   from cold, to an error of 1e-8 by our judge. Peers run in a child process: they may hang. */
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/timer.h"
#include "bench/solvers/cone_peer.h"
#include "knuckle/fclib.h"
#include "solve.h"
#include "world.h"

static const double accept_error = 1e-8;

typedef struct catch { /* the largest problem seen, kept as a file */
  char path[64];
  int contacts;
}
catch;

static void keep_largest(const kn_problem* problem, const double* r, void* context) {
  catch* c = context;
  (void)r;
  if (problem->blocks <= c->contacts) return;
  for (int b = 0; b < problem->blocks; b++)
    if (problem->block[b].set != KN_SET_CONE3) return;
  if (kn_fclib_write(c->path, problem, "bench peers", NULL) == KN_OK) c->contacts = problem->blocks;
}

typedef struct answer {
  double us, error;
} answer;

static answer time_ours(const kn_problem* p) {
  answer a = {INFINITY, INFINITY};
  kn_solver_work* work = NULL;
  kn_solve_settings settings = kn_solve_default();
  kn_solve_info info = {0};
  double* r = calloc((size_t)p->rows, sizeof *r);
  settings.tol = accept_error;
  for (int k = 0; k < 7 && kn_solver_work_for(&work, p) == KN_OK; k++) {
    double start = kn_cpu_seconds();
    kn_problem_solve(r, &info, p, &settings, work);
    a.us = fmin(a.us, 1e6 * (kn_cpu_seconds() - start));
    kn_solver_work_destroy(work), work = NULL;
  }
  a.error = kn_problem_error(p, r);
  free(r);
  return a;
}

static void child(int fd, const cone_peer* peer, const kn_problem* p, int method) {
  int null = open("/dev/null", O_WRONLY);
  dup2(null, 1), dup2(null, 2);
  double* r = calloc((size_t)p->rows, sizeof *r);
  void* h = peer->open(p);
  answer a = {INFINITY, INFINITY};
  if (!h) _exit(1);
  for (int k = 0; k < 7; k++) {
    double start = kn_cpu_seconds();
    peer->solve(h, method, r, 0.1 * accept_error, 0);
    a.us = fmin(a.us, 1e6 * (kn_cpu_seconds() - start));
  }
  a.error = kn_problem_error(p, r);
  _exit(write(fd, &a, sizeof a) == (ssize_t)sizeof a ? 0 : 1);
}

static answer time_peer(const cone_peer* peer, const kn_problem* p, int method, double limit) {
  answer a = {INFINITY, INFINITY}, got;
  int pipes[2];
  if (pipe(pipes)) return a;
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) child(pipes[1], peer, p, method);
  close(pipes[1]);
  struct pollfd wait = {pipes[0], POLLIN, 0};
  if (pid > 0 && poll(&wait, 1, (int)(1000 * limit)) > 0 &&
      read(pipes[0], &got, sizeof got) == (ssize_t)sizeof got)
    a = got;
  close(pipes[0]);
  if (pid > 0) kill(pid, SIGKILL), waitpid(pid, NULL, 0);
  return a;
}

/* Steps until the problem is caught, at most `most` seconds of computing. */
static bool catch_problem(catch* c, const char* scene, const char* setting, double duration, double most) {
  stage s;
  const char* settings[] = {setting};
  stage_open(&s, scene, settings, setting[0] ? 1 : 0, 1e-3);
  void* self = engine_ours.create(&s.w, engine_ours.refuses(&s.w, OURS_DEFAULT) ? OURS_KEEP : OURS_DEFAULT);
  strcpy(c->path, "/tmp/knuckle-problem-XXXXXX");
  int fd = mkstemp(c->path);
  if (fd >= 0) close(fd);
  if (self && fd >= 0) {
    kn_sim_watch_problems(engine_ours_sim(self), keep_largest, c);
    double start = kn_cpu_seconds();
    for (int k = 0; k < lround(duration / 1e-3) && kn_cpu_seconds() - start < most; k++)
      engine_ours.step(self, 1);
    engine_ours.destroy(self);
  }
  stage_close(&s);
  return c->contacts > 0;
}

static void row(kn_bench* b, const cone_peer* peer, const kn_problem* p, double limit) {
  answer ours = time_ours(p);
  kn_bench_ours_value(b, "knuckle", ours.us);
  kn_bench_number(b, "contacts", p->blocks);
  kn_bench_number(b, "error", ours.error);
  if (ours.error > accept_error) kn_bench_note(b, "ours reached only %.1e", ours.error);
  for (int m = 0; peer && m < peer->methods; m++) {
    answer a = time_peer(peer, p, m, limit);
    char key[48];
    snprintf(key, sizeof key, "%s error", peer->names[m]);
    if (a.error <= accept_error)
      kn_bench_peer_value(b, peer->names[m], a.us);
    else
      kn_bench_number(b, key, a.error);
  }
}

void bench_solve(kn_bench* b) {
  static const struct {
    const char *scene, *setting, *name;
    double duration;
  } list[] = {{"quadruped", "", "solve-quadruped", 0.3},
              {"humanoid", "", "solve-humanoid", 0.3},
              {"sphere-pile", "balls=100", "solve-pile-100", 0.6}};
  const cone_peer* peer = NULL;
  kn_bench_group(b, "largest contact problem of a scene, solved to 1e-8", NULL, KN_BENCH_LOG);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    catch c = {0};
    kn_fclib f;
    if (!kn_bench_row(b, "%s", list[i].name)) continue;
    if (!peer) peer = kn_bench_load_peer(b, "siconos");
    bool caught =
        catch_problem(&c, list[i].scene, list[i].setting, list[i].duration, kn_bench_quick(b) ? 1 : 4);
    if (caught && kn_fclib_read(&f, c.path) == KN_OK) {
      row(b, peer, &f.problem, kn_bench_quick(b) ? 2.0 : 6.0);
      kn_fclib_free(&f);
    }
    unlink(c.path);
  }
}
