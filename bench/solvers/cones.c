/* Frictional contact: generated problems of four families and three mass ratios, warm starts, and every FCLIB
   file of a folder (--dir, default ../shared/data/friction) with a performance profile. Peers run in a child
   process (they may crash or hang) and count only where their answer has the FCLIB error <= 1e-8 by our
   judge; ours must reach 1e-8 in both units. */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/timer.h"
#include "cone_peer.h"
#include "cone_problems.h"
#include "knuckle/fclib.h"
#include "solvers.h"

enum { METHODS = 3, MOST_FILES = 512 };
static const double accept_error = 1e-8;

/* ---- timing ---- */

typedef struct trial {
  double time; /* s; infinite when not solved */
  double error, scaled;
  char solver[24];
} trial;

static trial time_ours(const kn_problem* p, kn_solver_work* work, double* r, const double* guess) {
  kn_solve_settings settings = kn_solve_default();
  kn_solve_info info = {0};
  trial t = {.time = INFINITY};
  settings.warm_start = guess != NULL;
  int inner = 1;
  for (int k = 0; k < 5; k++) {
    double spent = kn_cpu_seconds(); /* the clock itself costs half a microsecond */
    for (int i = 0; i < inner; i++) {
      if (guess) memcpy(r, guess, (size_t)p->rows * sizeof *r);
      kn_problem_solve(r, &info, p, &settings, work);
    }
    spent = kn_cpu_seconds() - spent;
    if (spent < 50e-6 && inner < 64) {
      inner *= 4, k--;
      continue;
    }
    t.time = fmin(t.time, spent / inner);
    if (spent > 0.2) break;
  }
  t.error = info.residual, t.scaled = info.residual_scaled;
  snprintf(t.solver, sizeof t.solver, "%s", info.solver);
  if (!(t.error <= accept_error && t.scaled <= accept_error)) t.time = INFINITY;
  return t;
}

static void peer_child(int fd, const cone_peer* peer, const kn_problem* p, int method, double limit) {
  struct rlimit cpu = {(rlim_t)ceil(limit), (rlim_t)ceil(limit)};
  setrlimit(RLIMIT_CPU, &cpu); /* the limit means computing, not waiting on a busy machine */
  int null = open("/dev/null", O_WRONLY);
  dup2(null, 1), dup2(null, 2);
  double *r = calloc((size_t)p->rows + 1, sizeof *r), best = INFINITY;
  void* h = peer->open(p);
  if (!h) _exit(1);
  int inner = 1;
  for (int k = 0; k < 5; k++) {
    double start = kn_cpu_seconds();
    for (int i = 0; i < inner; i++) peer->solve(h, method, r, 0.1 * accept_error, 0);
    double t = kn_cpu_seconds() - start;
    if (t < 50e-6 && inner < 64) {
      inner *= 4, k--;
      continue;
    }
    best = fmin(best, t / inner);
    if (t > 0.02) break;
  }
  trial t = {.time = best, .error = kn_problem_error(p, r), .scaled = kn_problem_error_scaled(p, r)};
  if (!(t.error <= accept_error)) t.time = INFINITY;
  ssize_t sent = write(fd, &t, sizeof t);
  _exit(sent == (ssize_t)sizeof t ? 0 : 1);
}

static trial time_peer(const cone_peer* peer, const kn_problem* p, int method, double limit) {
  trial t = {.time = INFINITY, .error = INFINITY, .scaled = INFINITY};
  int pipes[2];
  if (!peer || pipe(pipes)) return t;
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) peer_child(pipes[1], peer, p, method, limit);
  close(pipes[1]);
  struct pollfd wait = {pipes[0], POLLIN, 0};
  trial got;
  if (pid > 0 && poll(&wait, 1, (int)(10000 * limit)) > 0 &&
      read(pipes[0], &got, sizeof got) == (ssize_t)sizeof got)
    t = got;
  close(pipes[0]);
  if (pid > 0) kill(pid, SIGKILL), waitpid(pid, NULL, 0);
  return t;
}

static int by_value(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double quantile(double* x, int n, double q) {
  if (n == 0) return NAN;
  qsort(x, (size_t)n, sizeof *x, by_value);
  return x[(int)fmin(n - 1, q * n)];
}

/* ---- generated problems ---- */

static void generated(kn_bench* b, const cone_peer* peer, int nc, int per, int peers_on) {
  static const double ratios[3] = {1, 1e3, 1e6};
  if (!kn_bench_row(b, "cones-%d", nc)) return;
  kn_bench_x(b, nc);
  int total = 12 * per, n = 0, ours_solved = 0, solved[METHODS] = {0};
  double *times = calloc((size_t)total, sizeof *times), *theirs[METHODS], *same[METHODS], sum = 0.0;
  for (int m = 0; m < METHODS; m++)
    theirs[m] = calloc((size_t)total, sizeof(double)), same[m] = calloc((size_t)total, sizeof(double));
  kn_rng rng = kn_rng_seed(7 + (uint64_t)nc);
  kn_solver_work* work = NULL;
  if (kn_solver_work_create(&work, 3 * nc, nc, 0) != KN_OK) return;
  double* r = calloc(3 * (size_t)nc, sizeof *r);
  for (int f = 0; f < KN_FAMILY_COUNT; f++)
    for (int m = 0; m < 3; m++)
      for (int k = 0; k < per; k++) {
        kn_generated g = kn_generate(&rng, (kn_family)f, nc, ratios[m]);
        trial t = time_ours(&g.problem, work, r, NULL);
        if (t.time < INFINITY) times[ours_solved++] = t.time, sum += t.time;
        for (int j = 0; j < METHODS && k < peers_on; j++) { /* peers are slow: fewer of each kind */
          trial s = time_peer(peer, &g.problem, j, 0.5);
          if (s.time < INFINITY && t.time < INFINITY)
            theirs[j][solved[j]] = s.time, same[j][solved[j]++] = t.time;
        }
        n++;
        kn_generated_free(&g);
      }
  double p99 = quantile(times, ours_solved, 0.99);
  kn_bench_ours_value(b, "knuckle", 1e6 * quantile(times, ours_solved, 0.5));
  int asked = 12 * (per < peers_on ? per : peers_on);
  for (int j = 0; j < METHODS && peer; j++) {
    char key[48];
    kn_bench_peer_value(b, peer->names[j], 1e6 * quantile(theirs[j], solved[j], 0.5));
    snprintf(key, sizeof key, "%s solved %%", peer->names[j]);
    kn_bench_number(b, key, 100.0 * solved[j] / asked);
    snprintf(key, sizeof key, "ratio to %s", peer->names[j]);
    kn_bench_number(b, key, quantile(same[j], solved[j], 0.5) / quantile(theirs[j], solved[j], 0.5));
  }
  kn_bench_number(b, "solved %", 100.0 * ours_solved / n);
  kn_bench_number(b, "mean", 1e6 * sum / ours_solved);
  kn_bench_number(b, "p99", 1e6 * p99);
  kn_solver_work_destroy(work);
  for (int m = 0; m < METHODS; m++) free(theirs[m]), free(same[m]);
  free(times), free(r);
}

/* ---- warm starts ---- */

static int state_of(const double* r, double mu) {
  double t = sqrt(r[1] * r[1] + r[2] * r[2]);
  return r[0] <= 0.0 ? 0 : t < 0.999999 * mu * r[0] ? 1 : 2;
}

/* One solve, s; infinite when not solved. */
static double time_once(double* r, const kn_problem* p, const double* guess, bool keep,
                        kn_solver_work* work) {
  kn_solve_settings settings = kn_solve_default();
  kn_solve_info info;
  settings.warm_start = guess != NULL, settings.keep = keep, settings.untimed = true;
  if (guess) memcpy(r, guess, (size_t)p->rows * sizeof *r);
  double start = kn_wall_seconds();
  kn_problem_solve(r, &info, p, &settings, work);
  double spent = kn_wall_seconds() - start;
  return info.residual <= accept_error && info.residual_scaled <= accept_error ? spent : INFINITY;
}

enum { COLD, WARM, KEPT, WAYS };

/* The next problem from zero, from the first one's answer, and with its factor too. The first one is solved
   again before each, so that nothing but that answer and its factor is known; best of nine. */
static bool time_ways(double* times, double* r, const kn_problem* before, const kn_problem* next,
                      const double* first, double* kept, kn_solver_work* work) {
  for (int k = 0; k < WAYS; k++) times[k] = INFINITY;
  for (int repeat = 0; repeat < 9; repeat++)
    for (int k = 0; k < WAYS; k++) {
      const double* guess = k == COLD ? NULL : first;
      time_once(r, before, NULL, k == KEPT, work);
      if (k == KEPT)
        guess = memcpy(kept, r, (size_t)before->rows * sizeof *r); /* the factor is that of this answer */
      times[k] = fmin(times[k], time_once(r, next, guess, k == KEPT, work));
    }
  return times[COLD] < INFINITY && times[WARM] < INFINITY && times[KEPT] < INFINITY;
}

static double mean(const double* x, int n) {
  double sum = 0.0;
  for (int i = 0; i < n; i++) sum += x[i];
  return n > 0 ? sum / n : 0.0;
}

/* q moved a little; pairs of problems in which at most one contact changes its state. */
static void warm(kn_bench* b, int nc, int count) {
  if (!kn_bench_row(b, "warm-%d", nc)) return;
  kn_bench_x(b, nc);
  kn_rng rng = kn_rng_seed(99);
  kn_solver_work* work = NULL;
  if (kn_solver_work_create(&work, 3 * nc, nc, 0) != KN_OK) return;
  size_t rows = 3 * (size_t)nc;
  double *r = calloc(4 * rows, sizeof *r), *first = r + rows, *q = first + rows, *kept = q + rows,
         *times[WAYS];
  for (int k = 0; k < WAYS; k++) times[k] = calloc((size_t)count, sizeof(double));
  int n = 0;
  for (int tries = 0; n < count && tries < 30 * count; tries++) {
    kn_generated g = kn_generate(&rng, (kn_family)(tries % KN_FAMILY_COUNT), nc, tries % 2 ? 1e3 : 1.0);
    if (kn_problem_solve(first, NULL, &g.problem, NULL, work) == KN_OK) {
      double move = pow(10.0, kn_rng_range(&rng, -4.0, -1.0)), spent[WAYS];
      kn_problem before = g.problem;
      memcpy(q, before.q, rows * sizeof *q);
      before.q = q;
      for (int i = 0; i < g.dofs; i++) g.v[i] *= 1.0 + move * kn_rng_normal(&rng);
      kn_generated_offset(&g);
      int changed = 0;
      bool solved = time_ways(spent, r, &before, &g.problem, first, kept, work);
      for (int k = 0; k < nc; k++)
        changed +=
            state_of(r + 3 * k, g.problem.block[k].mu) != state_of(first + 3 * k, g.problem.block[k].mu);
      if (changed <= 1 && solved) {
        for (int k = 0; k < WAYS; k++) times[k][n] = spent[k];
        n++;
      }
    }
    kn_generated_free(&g);
  }
  double means[WAYS], medians[WAYS];
  for (int k = 0; k < WAYS; k++) means[k] = mean(times[k], n), medians[k] = quantile(times[k], n, 0.5);
  kn_bench_ours_value(b, "kept", 1e6 * medians[KEPT]);
  kn_bench_extra_value(b, "warm", 1e6 * medians[WARM]);
  kn_bench_extra_value(b, "cold", 1e6 * medians[COLD]);
  kn_bench_number(b, "median kept/cold", medians[KEPT] / medians[COLD]);
  kn_bench_number(b, "median warm/cold", medians[WARM] / medians[COLD]);
  kn_bench_number(b, "mean kept", 1e6 * means[KEPT]);
  kn_bench_number(b, "mean warm", 1e6 * means[WARM]);
  kn_bench_number(b, "mean cold", 1e6 * means[COLD]);
  kn_bench_number(b, "pairs", n);
  kn_solver_work_destroy(work);
  for (int k = 0; k < WAYS; k++) free(times[k]);
  free(r);
}

/* ---- heaps ---- */

static void heap(kn_bench* b, kn_heap kind, const char* name, int contacts, double tol) {
  if (!kn_bench_row(b, "%s-%d", name, contacts)) return;
  kn_bench_x(b, contacts);
  kn_rng rng = kn_rng_seed(3);
  kn_pile p;
  kn_solver_work* work = NULL;
  kn_solve_settings settings = kn_solve_default();
  kn_solve_info info = {0}, again = {0};
  settings.tol = tol;
  kn_pile_make(&p, &rng, kind, contacts, 0.5, 0.01);
  double* r = calloc((size_t)p.problem.rows, sizeof *r);
  if (kn_solver_work_for(&work, &p.problem) == KN_OK) {
    double start = kn_cpu_seconds();
    kn_problem_solve(r, &info, &p.problem, &settings, work);
    double cold = kn_cpu_seconds() - start, steps = 0.0;
    settings.warm_start = true;
    for (int k = 0; k < 10; k++) {
      for (int i = 0; i < 6 * p.bodies; i++) p.v[i] += 9.81e-6 * kn_rng_normal(&rng);
      kn_pile_offset(&p);
      start = kn_cpu_seconds();
      kn_problem_solve(r, &again, &p.problem, &settings, work);
      steps += kn_cpu_seconds() - start;
    }
    kn_bench_ours_value(b, "knuckle", 1e6 * cold);
    kn_bench_extra_value(b, "warm", 1e5 * steps);
    kn_bench_number(b, "error", info.residual);
    kn_bench_number(b, "scaled", info.residual_scaled);
    kn_bench_number(b, "tol", tol);
    kn_bench_text(b, "finished by", info.solver);
    if (info.status != KN_OK || again.status != KN_OK)
      kn_bench_note(b, "%s-%d: not converged", name, contacts);
  }
  kn_solver_work_destroy(work);
  kn_pile_free(&p);
  free(r);
}

/* ---- published problems ---- */

/* Three-dimensional copy of a plane problem, for peers: the second tangent is free to move and does not. */
typedef struct embedded {
  kn_problem problem;
  kn_sparse matrix;
} embedded;

static void embed(embedded* e, const kn_problem* p) {
  int nb = p->blocks, stored = p->sparse->start[nb];
  kn_block* block = calloc((size_t)nb, sizeof *block);
  int64_t* at = calloc((size_t)stored + 1, sizeof *at);
  double *value = calloc(9 * (size_t)stored, sizeof *value), *q = calloc(3 * (size_t)nb, sizeof *q);
  for (int b = 0; b < nb; b++) {
    block[b] = (kn_block){.set = KN_SET_CONE3, .row = 3 * b, .mu = p->block[b].mu};
    q[3 * b] = p->q[2 * b], q[3 * b + 1] = p->q[2 * b + 1];
    for (int k = p->sparse->start[b]; k < p->sparse->start[b + 1]; k++) {
      const double* v = p->sparse->value + p->sparse->at[k];
      double* to = value + 9 * (size_t)k;
      at[k] = 9 * (int64_t)k;
      to[0] = v[0], to[1] = v[1], to[3] = v[2], to[4] = v[3];
      if (p->sparse->col[k] == b) to[8] = v[3];
    }
  }
  e->matrix = (kn_sparse){p->sparse->start, p->sparse->col, at, value};
  e->problem = (kn_problem){3 * nb, nb, block, NULL, &e->matrix, q, NULL};
}

static void embedded_free(embedded* e) {
  free((void*)(uintptr_t)e->matrix.at);
  free((void*)(uintptr_t)e->matrix.value);
  free((void*)(uintptr_t)e->problem.block);
  free((void*)(uintptr_t)e->problem.q);
}

typedef struct profile {
  int files;
  double time[1 + METHODS][MOST_FILES]; /* ours first */
} profile;

static void published(kn_bench* b, const cone_peer* peer, const char* folder, const char* name,
                      profile* all) {
  char path[4096];
  kn_fclib f;
  if (!kn_bench_row(b, "%.*s", (int)(strlen(name) - 5), name)) return;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (kn_fclib_read(&f, path) != KN_OK) {
    kn_bench_note(b, "%s", kn_last_error());
    return;
  }
  kn_solver_work* work = NULL;
  double* r = calloc((size_t)f.problem.rows + 1, sizeof *r);
  if (kn_solver_work_for(&work, &f.problem) == KN_OK) {
    trial t = time_ours(&f.problem, work, r, NULL);
    embedded e;
    if (f.dimension == 2) embed(&e, &f.problem);
    int at = all->files++;
    all->time[0][at] = t.time;
    kn_bench_ours_value(b, "knuckle", 1e6 * t.time);
    for (int m = 0; m < METHODS && peer; m++) {
      trial s =
          time_peer(peer, f.dimension == 2 ? &e.problem : &f.problem, m, kn_bench_quick(b) ? 2.0 : 10.0);
      all->time[1 + m][at] = s.time;
      kn_bench_peer_value(b, peer->names[m], s.time < INFINITY ? 1e6 * s.time : NAN);
    }
    kn_bench_number(b, "contacts", f.contacts);
    kn_bench_number(b, "error", t.error);
    kn_bench_number(b, "scaled", t.scaled);
    kn_bench_text(b, "finished by", t.solver);
    if (!(t.time < INFINITY)) kn_bench_fail(b, "%s: error %.2e, scaled %.2e", name, t.error, t.scaled);
    if (f.dimension == 2) embedded_free(&e);
  }
  kn_solver_work_destroy(work);
  free(r);
  kn_fclib_free(&f);
}

static void compare_published(kn_bench* b, const cone_peer* peer, const profile* all) {
  int front = 0, slow = 0;
  for (int i = 0; i < all->files; i++) {
    double best = INFINITY;
    for (int m = 1; m <= METHODS && peer; m++) best = fmin(best, all->time[m][i]);
    front += all->time[0][i] <= best;
    slow += all->time[0][i] > 10.0 * best;
  }
  kn_bench_note(
      b, "published problems: in front of all peers on %d of %d, more than 10 times the best peer on %d",
      front, all->files, slow);
  kn_bench_profile(b, "profile", "Share of the published friction problems solved to 1e-8");
}

static int by_name(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }

static void folder_of_problems(kn_bench* b, const cone_peer* peer, const char* folder) {
  static profile all;
  char* names[MOST_FILES];
  int n = 0;
  DIR* dir = opendir(folder);
  for (struct dirent* e; dir && n < MOST_FILES && (e = readdir(dir));) {
    size_t l = strlen(e->d_name);
    if (l > 5 && !strcmp(e->d_name + l - 5, ".hdf5")) names[n++] = strdup(e->d_name);
  }
  if (dir) closedir(dir);
  qsort(names, (size_t)n, sizeof *names, by_name);
  kn_bench_group(b, "published friction problems", NULL, KN_BENCH_LOG);
  for (int i = 0; i < n; i++) published(b, peer, folder, names[i], &all), free(names[i]);
  if (all.files) compare_published(b, peer, &all);
  if (n == 0) kn_bench_note(b, "no .hdf5 files in %s", folder);
}

void bench_cones(kn_bench* b) {
  const cone_peer* peer = kn_bench_load_peer(b, "siconos_cone");
  int per = kn_bench_quick(b) ? 10 : 150;
  kn_bench_group(b, "generated friction problems, median", "contacts", KN_BENCH_LOG);
  for (int nc = 2; nc <= 32; nc *= 2)
    generated(b, peer, nc, nc == 32 ? per / 2 : per, kn_bench_quick(b) ? 3 : 10);
  kn_bench_group(b, "warm start, at most one contact changed", "contacts", KN_BENCH_LOG);
  for (int nc = 8; nc <= 32; nc *= 2) warm(b, nc, kn_bench_quick(b) ? 60 : 300);
  kn_bench_group(b, "heaps", "contacts", KN_BENCH_LOG);
  static const int sizes[] = {100, 300, 1000, 2000, 5000};
  for (int i = 0; i < 5; i++) heap(b, KN_HEAP_SPHERES, "spheres", sizes[i], sizes[i] > 2000 ? 1e-6 : 1e-10);
  for (int i = 0; i < 4; i++) heap(b, KN_HEAP_BRICKS, "bricks", sizes[i], 1e-10);
  folder_of_problems(b, peer, kn_bench_argument(b, "--dir", bench_solvers_folder("friction")));
}
