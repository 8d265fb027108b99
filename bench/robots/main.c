/* Robots that people own: every MJCF and URDF of a folder, run as the file says (its time step, its keyframe),
   against MuJoCo on the same file in the same run. Motors without force, then, where a keyframe and actuators
   exist, standing on the robot's own servos. A folder with scene files is run by them, others by their models;
   URDF robots reach the peers through our MJCF writer.

     build/bench/robots [DIR] [--time SECONDS] [--task passive|stand]

   ratio_run is of whole runs (sum over the steps), median of the repeats; the row's time and ratio are those of the
   median step; p99 and max are of the steps' medians over the repeats. Table, JSON and plot are sorted by
   ratio_run; notes say what the goals of docs/performance.md ask for. */
#define _GNU_SOURCE
#include <dirent.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "ours.h"
#include "stages.h"

enum { FILES = 1000, MOST_STEPS = 20000, REPEATS = 9 };

static robot_file files[FILES];
static int count;

static bool ends(const char* text, const char* end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

static bool holds(const char* path, const char* words) {
  char text[4096] = {0};
  FILE* f = fopen(path, "r");
  if (!f) return false;
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = '\0';
  return strstr(text, words) != NULL;
}

static bool has_scenes(const char* path) {
  char folder[512];
  bool any = false;
  snprintf(folder, sizeof folder, "%s", path);
  *strrchr(folder, '/') = '\0';
  DIR* d = opendir(folder);
  for (struct dirent* e; d && (e = readdir(d));)
    any |= strncmp(e->d_name, "scene", 5) == 0 && ends(e->d_name, ".xml");
  if (d) closedir(d);
  return any;
}

static int visit(const char* path, const struct stat* st, int kind, struct FTW* at) {
  (void)st;
  const char* base = path + at->base;
  bool urdf = ends(path, ".urdf");
  if (kind != FTW_F || count == FILES || strlen(path) >= sizeof files->path) return 0;
  if (!urdf && !(ends(path, ".xml") && holds(path, "<mujoco"))) return 0;
  if (!urdf && has_scenes(path) && strncmp(base, "scene", 5) != 0) return 0;
  robot_file* f = &files[count++];
  *f = (robot_file){.urdf = urdf};
  strcpy(f->path, path);
  const char* folder = base - 1;
  while (folder > path && folder[-1] != '/') folder--;
  snprintf(f->name, sizeof f->name, "%.*s/%.*s", (int)(base - 1 - folder), folder,
           (int)(strlen(base) - (urdf ? 5 : 4)), base);
  return 0;
}

static int by_path(const void* a, const void* b) {
  return strcmp(((const robot_file*)a)->path, ((const robot_file*)b)->path);
}

static int by_size(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

typedef struct figures { /* of one run, us */
  double sum, median, p99, max;
} figures;

static figures figures_of(double* us, int n) {
  figures f = {0};
  for (int i = 0; i < n; i++) f.sum += us[i];
  qsort(us, (size_t)n, sizeof *us, by_size);
  if (n) f.median = us[n / 2], f.p99 = us[(int)(0.99 * (n - 1))], f.max = us[n - 1];
  return f;
}

static double middle(double* x, int n) {
  qsort(x, (size_t)n, sizeof *x, by_size);
  return n ? x[n / 2] : NAN;
}

/* Every repeat takes the same steps to the bit, so that what a step costs is the median over the repeats: an interrupt
   in one of them does not count. */
static figures usual_steps(double us[REPEATS][MOST_STEPS], int repeats, int n) {
  static double usual[MOST_STEPS];
  for (int k = 0; k < n; k++) {
    double of[REPEATS];
    for (int i = 0; i < repeats; i++) of[i] = us[i][k];
    usual[k] = middle(of, repeats);
  }
  return figures_of(usual, n);
}

enum { PEERS = 2 }; /* two versions of MuJoCo; the faster one counts */

typedef struct race {
  kn_bench* b;
  const robot_peer* peer[PEERS];
  int repeats, unreadable, skipped, fixed;
  int ratios, rows, spikes, slow,
      cold; /* of a task; rows with p99 > 8 medians, a step > 1 ms up to 50 dof, < 95 % warm */
  double ratio[FILES], step_ratio[FILES]; /* of whole runs, of median steps */
} race;

/* One variant of a peer: its median step, and our run over its run; NaN when it cannot open the file. */
static double against_one(race* r, const robot_peer* peer, int v, const robot_file* file, const double* ours,
                          int steps) {
  static double us[MOST_STEPS];
  double median[REPEATS], ratio[REPEATS];
  char why[300] = "";
  int n = 0;
  for (; n < r->repeats; n++) {
    void* p = peer->open(file, v, why, sizeof why);
    if (!p) break;
    int taken = peer->run(p, us, steps);
    peer->close(p);
    figures f = figures_of(us, taken);
    median[n] = f.median, ratio[n] = ours[n] / f.sum;
  }
  if (!n) {
    kn_bench_note(r->b, "%s: %s: %s", file->name, peer->variants[v], why);
    return NAN;
  }
  kn_bench_peer_value(r->b, peer->variants[v], middle(median, n));
  return middle(ratio, n);
}

/* All variants; the fastest counts. */
static void against(race* r, const robot_file* file, const double* ours, int steps) {
  double best = NAN;
  for (int k = 0; k < PEERS; k++)
    for (int v = 0; r->peer[k] && r->peer[k]->variants[v]; v++)
      best = fmax(best, against_one(r, r->peer[k], v, file, ours, steps));
  if (best != best) return;
  kn_bench_number(r->b, "ratio_run", best);
  r->step_ratio[r->ratios] = kn_bench_ratio(r->b);
  r->ratio[r->ratios++] = best;
}

static void save_for_peer(robot_file* file, const robot_ours* ours, char* made) {
  *made = '\0';
  if (!file->urdf) return;
  char path[] = "/tmp/knuckle-robot-XXXXXX.xml";
  int fd = mkstemps(path, 4);
  if (fd < 0) return;
  close(fd);
  if (robot_ours_save(ours, path)) strcpy(file->path, path);
  strcpy(made, path);
}

static void one(race* r, robot_file file) {
  static double us[REPEATS][MOST_STEPS];
  double sums[REPEATS], median[REPEATS];
  char why[600], made[64];
  robot_run run;
  robot_ours* ours = robot_ours_open(&file, why, sizeof why);
  if (!ours) {
    if (*why) r->unreadable++, kn_bench_note(r->b, "%s: %s", file.name, why);
    if (!*why) r->skipped++;
    return;
  }
  if (robot_ours_nv(ours) == 0) { /* a part for others to include */
    robot_ours_close(ours);
    r->fixed++;
    return;
  }
  if (!kn_bench_row(r->b, "%s%s", file.name, file.task == ROBOT_STAND ? " stand" : "")) {
    robot_ours_close(ours);
    return;
  }
  int steps = (int)fmin(lround(file.time / file.dt), MOST_STEPS), taken = 0;
  for (int i = 0; i < r->repeats; i++) {
    int n = robot_ours_run(&run, ours, us[i], steps);
    taken = i && taken < n ? taken : n;
    static double sorted[MOST_STEPS];
    memcpy(sorted, us[i], (size_t)n * sizeof *sorted);
    figures f = figures_of(sorted, n);
    sums[i] = f.sum * (n ? (double)steps / n : 0.0), median[i] = f.median;
  }
  figures usual = usual_steps(us, r->repeats, taken);
  kn_bench_ours_value(r->b, "knuckle", middle(median, r->repeats));
  if (taken < steps)
    kn_bench_fail(r->b, "%s: step %d of %d failed or the run took too long: %s", file.name, taken, steps,
                  kn_last_error());
  save_for_peer(&file, ours, made);
  against(r, &file, sums, steps);
  if (*made) remove(made);
  r->rows++, r->spikes += usual.p99 > 8.0 * usual.median, r->slow += run.nv <= 50 && usual.max > 1e3,
      r->cold += run.left_warm > 0.05;
  kn_bench_number(r->b, "mean", middle(sums, r->repeats) / steps);
  kn_bench_number(r->b, "p99", usual.p99);
  kn_bench_number(r->b, "max", usual.max);
  kn_bench_number(r->b, "nv", run.nv);
  kn_bench_number(r->b, "contacts", run.contacts);
  kn_bench_number(r->b, "rows.contact", run.contact_rows);
  kn_bench_number(r->b, "rows.limit", run.limits);
  kn_bench_number(r->b, "rows.dry", run.dry);
  kn_bench_number(r->b, "rows.loop", run.loops);
  kn_bench_number(r->b, "warm_share", 1.0 - run.left_warm);
  kn_bench_number(r->b, "mode_changes", run.changes);
  kn_bench_number(r->b, "residual", run.residual);
  kn_bench_number(r->b, "rise_rel", run.rise_rel);
  kn_bench_number(r->b, "start_rel", run.start_rel);
  kn_bench_number(r->b, "overlap", run.overlap);
  kn_bench_number(r->b, "troubles", (double)run.troubles);
  robot_ours_close(ours);
}

static void ratios(race* r, const char* title, const char* of, double* ratio) {
  if (!r->ratios) return;
  qsort(ratio, (size_t)r->ratios, sizeof *ratio, by_size);
  kn_bench_note(r->b, "%s: ratio of %s, %d robots: median %.2f, nine of ten %.2f, worst %.2f", title, of,
                r->ratios, ratio[r->ratios / 2], ratio[(int)(0.9 * (r->ratios - 1))], ratio[r->ratios - 1]);
}

/* One task: every file, and what it came to. */
static void all_files(race* r, robot_task task, double time) {
  const char* title = task == ROBOT_PASSIVE ? "motors without force" : "standing on its servos";
  kn_bench_group(r->b, title, NULL, KN_BENCH_LINEAR);
  r->ratios = r->rows = r->spikes = r->slow = r->cold = 0;
  for (int i = 0; i < count; i++) {
    robot_file f = files[i];
    f.task = task, f.time = time;
    one(r, f);
  }
  kn_bench_note(r->b,
                "%s: p99 above 8 medians in %d of %d, a step above 1 ms in %d (up to 50 dof), warm start "
                "below 95 %% in %d",
                title, r->spikes, r->rows, r->slow, r->cold);
  ratios(r, title, "median steps", r->step_ratio);
  ratios(r, title, "whole runs", r->ratio);
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "--count") == 0) return robot_count(argv[2]);
  if (argc == 2 && strcmp(argv[1], "--stages") == 0) return robot_stages();
  kn_bench* b = kn_bench_open("robots", "robots people own, at the file's step", argc, argv);
  static race r;
  r.b = b, r.repeats = (int)fmin(kn_bench_repeats(b, kn_bench_quick(b) ? 1 : 3), REPEATS);
  const char* folder = KN_SHARED_DATA "/models";
  if (argc > 1 && argv[1][0] != '-') folder = argv[1];
  const char* task = kn_bench_argument(b, "--task", "");
  double time = atof(kn_bench_argument(b, "--time", "1"));
  if (nftw(folder, visit, 16, FTW_PHYS) != 0 || !count) kn_bench_fail(b, "%s: no robots there", folder);
  qsort(files, (size_t)count, sizeof *files, by_path);
  static const char* const peers[PEERS] = {"mujoco", "mujoco3"};
  for (int k = 0; k < PEERS; k++) {
    r.peer[k] = kn_bench_load_peer(b, peers[k]);
    if (r.peer[k]) kn_bench_note(b, "%s %s", r.peer[k]->name, r.peer[k]->version());
  }
  for (robot_task t = ROBOT_PASSIVE; t <= ROBOT_STAND; t++) {
    if (*task && strcmp(task, t == ROBOT_PASSIVE ? "passive" : "stand") != 0) continue;
    all_files(&r, t, time);
  }
  kn_bench_sort(b, "ratio_run");
  kn_bench_plot_ratios(b, "ratio_run", "time over the fastest MuJoCo's: bar whole runs, ring median steps");
  kn_bench_note(
      b, "%d files could not be read, %d have no keyframe or no servos to stand on, %d nothing that moves",
      r.unreadable, r.skipped, r.fixed);
  return kn_bench_close(b);
}
