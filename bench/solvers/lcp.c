/* Contact LCPs (four friction directions, four families, mass ratios 1, 1e3, 1e6): time per problem and share
   solved. A peer is counted only on the problems that it solves to 1e-6 by our judge, and ours is timed on
   those too. */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/timer.h"
#include "contact_gen.h"
#include "knuckle/comp.h"
#include "knuckle/lcp_file.h"
#include "solvers.h"

typedef struct entry {
  kn_lcp lcp;
  double *M, *q, *z;
} entry;

typedef struct ours {
  const kn_lcp_solver* solver;
  entry* e;
  kn_lcp_work* work;
  kn_status status;
} ours;

static void make_entry(entry* e, int nc, int k) {
  static const double ratios[3] = {1, 1e3, 1e6};
  int n = 6 * nc;
  double *W = malloc(sizeof(double) * (size_t)(9 * nc * nc)), *q3 = malloc(sizeof(double) * (size_t)(3 * nc)),
         *mu = malloc(sizeof(double) * (size_t)nc);
  kn_rng rng = kn_rng_seed((uint64_t)(1000 * nc + k));
  e->M = malloc(sizeof(double) * (size_t)(n * n));
  e->q = malloc(sizeof(double) * (size_t)n);
  e->z = calloc((size_t)n, sizeof(double));
  kn_gen_contacts(W, q3, mu, nc, (kn_gen_family)(k % KN_GEN_FAMILIES), ratios[k / KN_GEN_FAMILIES % 3], &rng);
  kn_gen_pyramid(e->M, e->q, nc, W, q3, mu);
  e->lcp = (kn_lcp){n, e->M, e->q, NULL, NULL};
  free(W), free(q3), free(mu);
}

static void run_ours(void* context) {
  ours* o = context;
  kn_solve_info info;
  kn_lcp_settings settings = kn_lcp_settings_default();
  o->status = o->solver->solve(o->e->z, &info, &o->e->lcp, &settings, o->work);
}

/* Least CPU seconds of one run, out of a few samples long enough for the clock. */
static double seconds(void (*run)(void*), void* context) {
  double best = INFINITY;
  int inner = 1;
  for (int sample = 0; sample < 5; sample++) {
    double t = kn_cpu_seconds();
    for (int i = 0; i < inner; i++) run(context);
    t = (kn_cpu_seconds() - t) / inner;
    if (t * inner < 20e-6 && inner < 64)
      inner *= 4, sample--;
    else
      best = fmin(best, t);
    if (t > 0.05) break;
  }
  return best;
}

static int by_value(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* v, int n) {
  qsort(v, (size_t)n, sizeof *v, by_value);
  return n ? n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]) : NAN;
}

typedef struct best_peer {
  char name[64];
  double time, ours, ratio;
} best_peer;

static void measure_peer(kn_bench* b, const lcp_peer* peer, const char* library, int which, entry* e,
                         int count, const double* mine, best_peer* best) {
  double *theirs = malloc(sizeof(double) * (size_t)count), *same = malloc(sizeof(double) * (size_t)count);
  char name[64];
  int solved = 0;
  for (int k = 0; k < count; k++) {
    void* problem = peer->open(which, e[k].lcp.n, e[k].lcp.M, e[k].lcp.q);
    peer->run(problem);
    if (kn_lcp_residual_scaled(&e[k].lcp, peer->z(problem)) <= 1e-6) {
      theirs[solved] = seconds(peer->run, problem);
      same[solved++] = mine[k];
    }
    peer->close(problem);
  }
  snprintf(name, sizeof name, "%s %s", library, peer->names[which]);
  char key[80];
  snprintf(key, sizeof key, "%s solved", name);
  kn_bench_number(b, key, (double)solved / count);
  if (solved * 4 >= count) { /* a median over a handful of easy problems says nothing */
    double t = median(theirs, solved), o = median(same, solved);
    kn_bench_peer_value(b, name, 1e6 * t);
    if (!(t >= best->time)) {
      best->time = t, best->ours = o, best->ratio = o / t;
      snprintf(best->name, sizeof best->name, "%s", name);
    }
  }
  free(theirs), free(same);
}

/* Peers print; standard output belongs to the JSON object, standard error to the table. */
static void mute(int kept[2]) {
  int nowhere = open("/dev/null", O_WRONLY);
  fflush(NULL);
  for (int fd = 1; fd <= 2; fd++) kept[fd - 1] = dup(fd), dup2(nowhere, fd);
  close(nowhere);
}

static void unmute(const int kept[2]) {
  fflush(NULL);
  for (int fd = 1; fd <= 2; fd++) dup2(kept[fd - 1], fd), close(kept[fd - 1]);
}

/* One row: all solvers over the problems of one size, or Lemke's method of each library over one published
   problem (some of the other methods cycle for ever there). */
static void measure(kn_bench* b, entry* e, int count, bool lemke_only) {
  static const char* const libraries[] = {"siconos", "dart", "bullet"};
  double *mine = malloc(sizeof(double) * (size_t)count), *sorted = malloc(sizeof(double) * (size_t)count);
  best_peer best = {.time = INFINITY, .ratio = NAN};
  ours o = {.solver = kn_lcp_solver_find("driver")};
  int solved = 0;
  double worst = 0;
  if (!mine || !sorted || kn_lcp_work_create(&o.work, e[0].lcp.n) != KN_OK) exit(1);
  for (int k = 0; k < count; k++) {
    o.e = &e[k];
    mine[k] = sorted[k] = seconds(run_ours, &o);
    solved += o.status == KN_OK || o.status == KN_NO_SOLUTION;
    if (o.status == KN_OK) worst = fmax(worst, kn_lcp_residual_scaled(&e[k].lcp, e[k].z));
  }
  kn_bench_ours_value(b, "driver", 1e6 * median(sorted, count));
  kn_bench_number(b, "problems", count);
  kn_bench_number(b, "solved", (double)solved / count);
  kn_bench_number(b, "worst_residual", worst);
  for (size_t l = 0; l < sizeof libraries / sizeof *libraries; l++) {
    static double spent[3][8]; /* a peer that needed more than a second for one row is left out afterwards */
    char module[64];
    int kept[2];
    snprintf(module, sizeof module, "%s_lcp", libraries[l]);
    const lcp_peer* peer = kn_bench_load_peer(b, module);
    mute(kept);
    for (int s = 0; peer && s < (lemke_only ? 1 : peer->count); s++) {
      if (spent[l][s] > 1.0 && e[0].lcp.n > 64) continue;
      spent[l][s] = -kn_cpu_seconds();
      measure_peer(b, peer, libraries[l], s, e, count, mine, &best);
      spent[l][s] += kn_cpu_seconds();
    }
    unmute(kept);
  }
  kn_bench_number(b, "ours_where_best_peer_solves", 1e6 * best.ours);
  kn_bench_number(b, "ratio_where_best_peer_solves", best.ratio);
  if (solved < count) kn_bench_fail(b, "n = %d: %d of %d solved", e[0].lcp.n, solved, count);
  kn_lcp_work_destroy(o.work);
  free(mine), free(sorted);
}

static void size_row(kn_bench* b, int nc, int count) {
  entry* e = malloc(sizeof *e * (size_t)count);
  for (int k = 0; k < count; k++) make_entry(&e[k], nc, k);
  measure(b, e, count, false);
  for (int k = 0; k < count; k++) free(e[k].M), free(e[k].q), free(e[k].z);
  free(e);
}

static int by_text(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }

static bool is_lcp_file(const char* name) {
  const char* dot = strrchr(name, '.');
  return dot && (strcmp(dot, ".lcp") == 0 || strcmp(dot, ".dat") == 0 || strcmp(dot, ".json") == 0);
}

/* Every LCP file of a folder. */
static void folder_rows(kn_bench* b, const char* folder) {
  char* names[512];
  int n = 0;
  DIR* dir = opendir(folder);
  for (struct dirent* e; dir && n < 512 && (e = readdir(dir));)
    if (is_lcp_file(e->d_name)) names[n++] = strdup(e->d_name);
  if (dir) closedir(dir);
  qsort(names, (size_t)n, sizeof *names, by_text);
  for (int i = 0; i < n; i++) {
    char path[1024];
    kn_lcp_file file;
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    if (kn_bench_row(b, "file-%s", names[i])) {
      if (kn_lcp_file_read(&file, path) != KN_OK)
        kn_bench_fail(b, "%s", kn_last_error());
      else {
        entry e = {.lcp = file.lcp, .z = calloc((size_t)file.lcp.n + 1, sizeof(double))};
        kn_bench_number(b, "rows", file.lcp.n);
        measure(b, &e, 1, true);
        free(e.z);
        kn_lcp_file_free(&file);
      }
    }
    free(names[i]);
  }
}

void bench_lcp(kn_bench* b) {
  kn_bench_unit(b, "us", 1e6);
  kn_bench_group(b, "contact LCPs, four friction directions", "rows", KN_BENCH_LOG);
  for (int nc = 2; nc <= (kn_bench_quick(b) ? 16 : 64); nc *= 2) {
    if (!kn_bench_row(b, "lcp-%d", 6 * nc)) continue;
    kn_bench_x(b, 6 * nc);
    size_row(b, nc, kn_bench_quick(b) || nc > 16 ? 24 : 120);
  }
  const char* folder = kn_bench_argument(b, "--lcp-dir", bench_solvers_folder("lcp"));
  kn_bench_group(b, "published LCPs", NULL, KN_BENCH_LOG);
  folder_rows(b, folder);
  kn_bench_profile(b, "profile-lcp", "Share of the published LCPs solved to 1e-6 (peers: Lemke)");
}
