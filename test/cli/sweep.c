/* knuckle sweep: the same results whoever runs the cases, nothing lost or doubled by a kill, values where the method
   puts them, outputs as closed forms say, mistakes with line and column. */
#define _GNU_SOURCE
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "knuckle/load.h"
#include "test.h"

static char folder[] = "/tmp/kn-sweep-XXXXXX";

static const char* put(const char* name, const char* text) { return kn_test_put(folder, name, text); }

static kn_test_result* sweep(const char* before, const char* name, const char* after) {
  char line[2400];
  snprintf(line, sizeof line, "%s %s/%s %s", before, folder, name, after);
  return kn_test_knuckle(line);
}

static char* text_of(const char* name) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* f = fopen(path, "rb");
  if (!f) return calloc(1, 1);
  char* text = calloc(1, 4 << 20);
  if (text && fread(text, 1, (4 << 20) - 1, f) == 0) text[0] = 0;
  fclose(f);
  return text;
}

static void put_ball(void) {
  put("ball.xml",
      "<mujoco><worldbody><!-- <geom name='g' size='9'/> --><geom name='floor' type='plane' size='5 5 .1'/>"
      "<body name='ball' pos='0 0 1'><freejoint name='root'/><geom name='g' size='.1' mass='1'/></body>"
      "</worldbody></mujoco>");
}

static const char ball[] = "model: ball.xml\nduration: .1\nmaterials:\n  - geom: '*'\n    restitution: 0.5\n"
                           "sweep:\n  method: latin\n  cases: %d\n  seed: 3\n  vary:\n"
                           "    e: {field: materials.0.restitution, from: 0.1, to: 0.9}\n"
                           "    height: {field: model.body.ball.pos.2, from: 0.11, to: 0.2}\n"
                           "  outputs:\n    top: max(pos.ball.z)\n    hit: when(contacts > 0)\n";

static void put_balls(const char* name, int cases) {
  char text[1024];
  put_ball();
  snprintf(text, sizeof text, ball, cases);
  put(name, text);
}

TEST(threads_shards_and_ranks_write_the_same_bytes) {
  static const char* const ways[] = {"--threads 1", "--threads 2", "--threads 5"};
  char *first = NULL, *hdf5 = NULL;
  put_balls("same.yaml", 200);
  for (int i = 0; i < 3; i++) {
    char after[256];
    snprintf(after, sizeof after, "%s -o %s/way%d", ways[i], folder, i);
    CHECK_INT(sweep("sweep", "same.yaml", after)->status, 0);
    snprintf(after, sizeof after, "way%d/results.csv", i);
    char* text = text_of(after);
    snprintf(after, sizeof after, "way%d/results.h5", i);
    char* data = text_of(after);
    if (i == 0) first = text, hdf5 = data;
    CHECK(strlen(text) > 200 * 40 && strcmp(text, first) == 0 && strcmp(data, hdf5) == 0);
    if (i) free(text), free(data);
  }
  for (int i = 1; i <= 3; i++) {
    char after[300];
    snprintf(after, sizeof after, "--shard %d/3 -o %s/shards%s", i, folder, i == 3 ? "/elsewhere" : "");
    CHECK_INT(sweep("sweep", "same.yaml", after)->status, 0);
  }
  char merge[300];
  snprintf(merge, sizeof merge, "--merge -o %s/shards", folder);
  kn_test_result* r = sweep("sweep", "same.yaml", merge); /* a third of the cases is in the other folder */
  CHECK_INT(r->status, 1);
  CHECK_TEXT(r->out, "66 cases are missing");
  snprintf(merge, sizeof merge, "%s/shards/elsewhere --merge -o %s/shards", folder, folder);
  CHECK_INT(sweep("sweep", "same.yaml", merge)->status, 0);
  char* text = text_of("shards/results.csv");
  CHECK(strcmp(text, first) == 0);
  free(text);
  free(first);
  free(hdf5);
}

TEST(mpirun_writes_the_same_bytes) {
  char line[1200];
  if (access(KN_BINARY_DIR "/knuckle-mpi", X_OK) != 0 || system("command -v mpirun > /dev/null") != 0)
    SKIP("no MPI on this machine");
  put_balls("ranks.yaml", 200);
  snprintf(line, sizeof line, "-o %s/alone", folder);
  CHECK_INT(sweep("sweep", "ranks.yaml", line)->status, 0);
  char* alone = text_of("alone/results.csv");
  for (int ranks = 2; ranks <= 4; ranks += 2) {
    /* Open MPI leaves memory of its own behind: leaks are looked for in the other ways of a sweep */
    snprintf(line, sizeof line,
             "ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root --oversubscribe -np %d '%s/knuckle' "
             "sweep %s/ranks.yaml --quiet -o %s/ranks%d > /dev/null 2>&1",
             ranks, KN_BINARY_DIR, folder, folder, ranks);
    CHECK_INT(system(line), 0);
    snprintf(line, sizeof line, "ranks%d/results.csv", ranks);
    char* text = text_of(line);
    CHECK(text[0] && strcmp(text, alone) == 0);
    free(text);
  }
  free(alone);
}

/* ---- kills ---- */

/* Starts the words of a command, quietly, and returns its process. */
static pid_t start(const char* const* words) {
  pid_t child = fork();
  if (child != 0) return child;
  if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(126);
  setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* Open MPI's own */
  execvp(words[0], (char**)(size_t)words);
  _exit(127);
}

static void wait_random(int most_ms) {
  static unsigned random = 12345;
  random = random * 1103515245u + 12345u;
  usleep(5000 + (random >> 8) % (1000u * (unsigned)most_ms));
}

/* Some process that `parent` started, the last one found: of mpirun a rank. 0: none yet. */
static pid_t child_of(pid_t parent) {
  DIR* proc = opendir("/proc");
  pid_t found = 0;
  for (struct dirent* e = proc ? readdir(proc) : NULL; e; e = readdir(proc)) {
    char path[300], name[64];
    int pid = atoi(e->d_name), above = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE* f = pid > 0 ? fopen(path, "r") : NULL;
    if (f && fscanf(f, "%*d (%63[^)]) %*c %d", name, &above) == 2 && above == parent) found = pid;
    if (f) fclose(f);
  }
  if (proc) closedir(proc);
  return found;
}

/* Goes on to the end: ranks without their mpirun end by themselves a little later and hold the journal until then. */
static void finish(const char* words) {
  kn_test_result* r = NULL;
  for (int i = 0; i < 300; i++) {
    r = sweep("sweep", "killed.yaml", words);
    if (!strstr(r->err, "by another sweep")) break;
    usleep(100000);
  }
  CHECK_INT(r->status, 0);
}

/* Every case once in the journals of the folder, and the results those of a sweep that nobody killed. */
static void check_unharmed(const char* way, const char* const* journals, int cases) {
  char out[300];
  bool* seen = calloc((size_t)cases, sizeof *seen);
  int once = 0;
  for (; *journals && seen; journals++) {
    snprintf(out, sizeof out, "%s/%s", way, *journals);
    char* text = text_of(out);
    for (char* p = strchr(text, '\n'); p && p[1]; p = strchr(p + 1, '\n')) {
      int i = atoi(p + 1);
      if (!CHECK(i >= 0 && i < cases && !seen[i])) break; /* what was done was not run again */
      seen[i] = true, once++;
    }
    free(text);
  }
  CHECK_INT(once, cases);
  free(seen);
  snprintf(out, sizeof out, "--fresh -o %s/unharmed", folder);
  CHECK_INT(sweep("sweep", "killed.yaml", out)->status, 0);
  snprintf(out, sizeof out, "%s/results.csv", way);
  char *text = text_of(out), *other = text_of("unharmed/results.csv");
  CHECK(text[0] && strcmp(text, other) == 0);
  free(text);
  free(other);
}

static int kills(void) { return kn_test_effort() >= 10 ? 20 : kn_test_steps(3); }

/* SIGKILL at random moments, the same command again, then to the end: every case once. */
TEST(killed_sweeps_lose_nothing_and_double_nothing) {
  char path[300], out[300];
  put_balls("killed.yaml", 400);
  snprintf(path, sizeof path, "%s/killed.yaml", folder);
  snprintf(out, sizeof out, "-o%s/killed", folder);
  for (int i = 0; i < 20; i++) {
    pid_t child = start((const char*[]){KN_BINARY_DIR "/knuckle", "sweep", path, out, "--quiet", NULL});
    wait_random(60);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
  }
  finish(out);
  check_unharmed("killed", (const char*[]){"journal.txt", NULL}, 400);
}

TEST(killed_shards_lose_nothing_and_double_nothing) {
  char path[300], out[300], shard[32];
  put_balls("killed.yaml", 400);
  snprintf(path, sizeof path, "%s/killed.yaml", folder);
  snprintf(out, sizeof out, "-o%s/pieces", folder);
  for (int i = 0; i < 2 * kills(); i++) {
    snprintf(shard, sizeof shard, "%d/3", i % 3 + 1);
    pid_t child = start(
        (const char*[]){KN_BINARY_DIR "/knuckle", "sweep", path, out, "--shard", shard, "--quiet", NULL});
    wait_random(60);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
  }
  for (int i = 1; i <= 3; i++) {
    char line[400];
    snprintf(line, sizeof line, "%s --shard %d/3", out, i);
    finish(line);
  }
  char line[400];
  snprintf(line, sizeof line, "%s --merge", out);
  finish(line);
  check_unharmed(
      "pieces", (const char*[]){"journal-1-of-3.txt", "journal-2-of-3.txt", "journal-3-of-3.txt", NULL}, 400);
}

/* Of an MPI job first mpirun itself, then one of its ranks, in turn. */
TEST(killed_ranks_and_mpirun_lose_nothing_and_double_nothing) {
  char path[300], out[300];
  if (access(KN_BINARY_DIR "/knuckle-mpi", X_OK) != 0 || system("command -v mpirun > /dev/null") != 0)
    SKIP("no MPI on this machine");
  int cases = kn_test_effort() >= 10 ? 4000 : kn_test_steps(4000);
  put_balls("killed.yaml", cases);
  snprintf(path, sizeof path, "%s/killed.yaml", folder);
  snprintf(out, sizeof out, "-o%s/ranked", folder);
  for (int i = 0; i < 2 * kills(); i++) {
    pid_t child = start((const char*[]){"mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "3",
                                        KN_BINARY_DIR "/knuckle", "sweep", path, out, "--quiet", NULL});
    pid_t rank = 0;
    for (int k = 0; i % 2 && k < 500 && !(rank = child_of(child)); k++) usleep(10000);
    wait_random(1000);
    kill(rank > 0 ? rank : child, SIGKILL);
    /* mpirun ends with its rank; one that was killed before it had said hello it may wait for without end */
    int waited = 0;
    while (waited < 500 && waitpid(child, NULL, WNOHANG) == 0) waited++, usleep(10000);
    if (waited == 500 && kill(child, SIGKILL) == 0) waitpid(child, NULL, 0);
  }
  finish(out);
  check_unharmed("ranked", (const char*[]){"journal.txt", NULL}, cases);
}

/* SIGTERM (as timeout, Slurm and Ctrl-C end a program) while a case of years runs: the program ends and the case is
   not among the results. The loop is bounded by the test's own timeout only: a hang is a failure. */
TEST(a_case_that_never_ends_can_be_interrupted) {
  char path[600], out[600];
  put("endless.yaml", "scene: pendulum-2014\nduration: 1e6\nsweep:\n  method: list\n  vary:\n"
                      "    mu: {field: option.mu, values: [0.1, 0.2]}\n  outputs: {t: final(t)}\n");
  snprintf(path, sizeof path, "%s/endless.yaml", folder);
  snprintf(out, sizeof out, "-o%s/endless", folder);
  pid_t child = fork();
  if (child == 0) {
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(126);
    execl(KN_BINARY_DIR "/knuckle", "knuckle", "sweep", path, out, "--quiet", (char*)NULL);
    _exit(127);
  }
  struct stat journal;
  snprintf(path, sizeof path, "%s/endless/journal.txt", folder);
  while (stat(path, &journal) != 0) usleep(10000); /* signals are caught before the journal's first case */
  usleep(500000);
  kill(child, SIGTERM);
  int status = 0, waited = 0;
  while (waitpid(child, &status, WNOHANG) == 0 && waited++ < 3000) usleep(10000);
  if (!CHECK(waited < 3000)) kill(child, SIGKILL), waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 130);
  char *text = text_of("endless/journal.txt"), *line = strchr(text, '\n');
  CHECK(line && line[1] == 0); /* the head alone */
  free(text);
}

TEST(torn_lines_are_told_by_their_checksum) {
  char out[300], path[300];
  put_balls("torn.yaml", 20);
  snprintf(out, sizeof out, "-o %s/torn", folder);
  CHECK_INT(sweep("sweep", "torn.yaml", out)->status, 0);
  char* whole = text_of("torn/results.csv");
  snprintf(path, sizeof path, "%s/torn/journal.txt", folder);
  struct stat at;
  CHECK_INT(stat(path, &at), 0);
  CHECK_INT(truncate(path, at.st_size - 7), 0); /* in the middle of the last line */
  CHECK_INT(sweep("sweep", "torn.yaml", out)->status, 0);
  char* again = text_of("torn/results.csv");
  CHECK(strcmp(whole, again) == 0);
  free(whole);
  free(again);
}

static const char* column(const char* text, int line, int k) {
  for (; line > 0 && text; line--) text = strchr(text, '\n') + 1;
  for (; k > 0 && text; k--) text = strchr(text, ',') + 1;
  return text;
}

/* A ball falls h - r: it touches at t = √(2 (h - r) / g) up to one step, bounces to (e²) of the height. */
TEST(outputs_agree_with_the_closed_form_of_a_fall) {
  put_ball();
  put("fall.yaml",
      "model: ball.xml\nduration: 1\ndt: 1e-4\nmaterials:\n  - geom: '*'\n    restitution: 0.5\nsweep:\n  "
      "vary:\n"
      "    h: {field: model.body.ball.pos.2, values: [0.3, 0.6, 1.1]}\n    r: {field: model.geom.g.size, "
      "values: [.1, "
      "0.2]}\n  outputs:\n    hit: when(contacts > 0)\n    fall: (first(pos.ball.z) - min(pos.ball.z)) * 2 / "
      "2\n    top: "
      "max(pos.ball.z * (v.root.vz < 0) * (t > 0.5))\n    speed: max(abs(vel.ball.z))\n    mean: mean(t)\n");
  CHECK_INT(sweep("sweep", "fall.yaml", "")->status, 0);
  char* text = text_of("fall.sweep/results.csv");
  for (int i = 0; i < 6; i++) {
    double h = i < 2 ? 0.3 : i < 4 ? 0.6 : 1.1, r = i % 2 ? 0.2 : 0.1;
    CHECK_NEAR(atof(column(text, i + 1, 5)), h, 0);
    CHECK_NEAR(atof(column(text, i + 1, 6)), r, 0);
    CHECK_NEAR(atof(column(text, i + 1, 7)), sqrt(2 * (h - r) / 9.81), 2e-4); /* two steps */
    CHECK_NEAR(atof(column(text, i + 1, 8)), h - r, 1e-6);                    /* overlap is repaired */
    CHECK_NEAR(atof(column(text, i + 1, 10)), sqrt(2 * 9.81 * (h - r)), 2 * 9.81e-4); /* two steps of g dt */
    CHECK_NEAR(atof(column(text, i + 1, 11)), 0.5, 1e-9);                             /* of time itself */
  }
  free(text);
}

/* Every stratum of a Latin hypercube once, for numbers of cases that are no powers. */
TEST(latin_hypercube_has_every_stratum_once) {
  static const int sizes[] = {1, 2, 7, 100, 1000};
  for (int s = 0; s < 5; s++) {
    char text[512];
    kn_study* study = NULL;
    int n = sizes[s];
    snprintf(text, sizeof text,
             "scene: stack\nsweep: {method: latin, cases: %d, vary: {dt: {from: 0, to: %d}, gtol: "
             "{from: 0, to: %d}}}\n",
             n, n, n);
    CHECK_OK(kn_study_read(&study, "latin.yaml", text, strlen(text)));
    bool* seen = calloc((size_t)n, 2);
    int equal = 0;
    for (int i = 0; i < n && study && seen; i++) {
      char x[64], y[64];
      CHECK_OK(kn_sweep_value(x, sizeof x, study->sweep, i, 0));
      CHECK_OK(kn_sweep_value(y, sizeof y, study->sweep, i, 1));
      int a = (int)atof(x), b = (int)atof(y);
      CHECK(a >= 0 && a < n && !seen[a] && b >= 0 && b < n && !seen[n + b]);
      seen[a] = seen[n + b] = true;
      equal += a == b;
    }
    if (n == 1000) CHECK(equal < 20); /* two permutations: one place in common is expected, 20 never are */
    free(seen);
    kn_study_free(study);
  }
}

TEST(a_grid_has_every_combination_and_log_ranges_their_ends) {
  static const char text[] =
      "scene: stack\nsweep:\n  vary:\n    dt: {from: 1e-5, to: 1e-2, count: 4, scale: log}\n    "
      "law: [poisson, newton]\n";
  kn_study* study = NULL;
  CHECK_OK(kn_study_read(&study, "grid.yaml", text, strlen(text)));
  if (!study) return;
  CHECK_INT(study->sweep->cases, 8);
  char x[64], y[64];
  for (int i = 0; i < 8; i++) {
    CHECK_OK(kn_sweep_value(x, sizeof x, study->sweep, i, 0));
    CHECK_OK(kn_sweep_value(y, sizeof y, study->sweep, i, 1));
    CHECK_REL(atof(x) / pow(10, i / 2 - 5), 1.0, 1e-14); /* rounding of exp(log) */
    CHECK_TEXT(y, i % 2 ? "newton" : "poisson");
  }
  CHECK_STATUS(kn_sweep_value(x, sizeof x, study->sweep, 8, 0), KN_BAD_ARGUMENT);
  kn_study_free(study);
}

TEST(mistakes_have_line_and_column) {
  static const struct {
    const char *text, *says;
  } wrong[] = {
      {"scene: stack\nsweep:\n  vary:\n    materials.7.friction: [1]\n", "sweep.yaml:4:5: "},
      {"scene: stack\nsweep:\n  vary:\n    frobnicate: [1]\n", "unknown key \"frobnicate\""},
      {"scene: stack\nsweep:\n  vary: {dt: {from: 1, to: 1, count: 3}}\n", "is empty, expected from < to"},
      {"scene: stack\nsweep:\n  vary: {dt: {from: 1, to: 2, count: 100000}, gtol: {from: 1, to: 2, count: "
       "10000}}\n",
       "sweep.yaml:3:3: 1e+09 cases, expected at most 1e+07"},
      {"scene: stack\nsweep: {method: random, vary: {dt: {from: 1e-4, to: 1e-3}}}\n", "expected cases: 1000"},
      {"scene: stack\nsweep: {vary: {dt: []}}\n", "must be a list with something in it"},
      {"scene: stack\nsweep: {vary: {dt: [1e-3]}, outputs: {a: max(contcts)}}\n", "did you mean contacts?"},
      {"scene: stack\nsweep: {vary: {dt: [1e-3]}, outputs: {a: 1 +}}\n", "output a: the expression ends"},
      {"scene: stack\nsweep:\n  vary:\n    option.nonsense: [1]\n",
       "sweep.yaml:4:5: field option.nonsense: no option --nonsense"},
      {"scene: stack\nsweep:\n  vary:\n    set.boxs: [1]\n",
       "sweep.yaml:4:5: scene stack has no parameter 'boxs'"},
      {"scene: stck\nsweep: {vary: {dt: [1e-3]}}\n", "did you mean"},
      {"scene: stack\nsweep: {vary: {model.geom.x.size: [1]}}\n", ""},
      {"scene: stack\nduration: 1\n", "no section sweep"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    put("sweep.yaml", wrong[i].text);
    kn_test_result* r = sweep("sweep", "sweep.yaml", "");
    CHECK_INT(r->status, 3);
    CHECK_TEXT(r->err, wrong[i].says);
  }
}

/* A case that fails is kept with its reason; the others go on; a case that never ends is stopped. */
TEST(failed_cases_are_kept_with_their_reason) {
  put_ball();
  put("fails.yaml",
      "model: ball.xml\nduration: .01\nsweep:\n  vary:\n    size: {field: model.geom.g.size, values: [0.1, "
      "-1, 0.2]}\n  outputs: {z: pos.ball.z}\n");
  kn_test_result* r = sweep("sweep", "fails.yaml", "");
  CHECK_INT(r->status, 1);
  CHECK_TEXT(r->out, "2 ok, 0 in trouble, 1 failed");
  CHECK_TEXT(r->out, "case 1: ");
  char* text = text_of("fails.sweep/results.csv");
  CHECK_TEXT(text, "\n1,failed,0,");
  CHECK_TEXT(text, "ball.xml:1:");
  free(text);
  put("long.yaml", "model: ball.xml\nduration: 100000\nsweep: {limit: 0.05, vary: {dt: [1e-4]}}\n");
  r = sweep("sweep", "long.yaml", "");
  CHECK_INT(r->status, 1);
  CHECK_TEXT(r->out, "time limit: 0.05 s");
}

TEST(a_changed_study_does_not_go_on_in_old_journals) {
  put_balls("changed.yaml", 10);
  CHECK_INT(sweep("sweep", "changed.yaml", "")->status, 0);
  put_balls("changed.yaml", 11);
  kn_test_result* r = sweep("sweep", "changed.yaml", "");
  CHECK(r->status != 0);
  CHECK_TEXT(r->err, "--fresh starts over");
  CHECK_INT(sweep("sweep", "changed.yaml", "--fresh")->status, 0);
}

TEST(run_case_is_the_case_of_the_sweep) {
  put_balls("again.yaml", 12);
  CHECK_INT(sweep("sweep", "again.yaml", "")->status, 0);
  char* text = text_of("again.sweep/results.csv");
  char hash[32];
  snprintf(hash, sizeof hash, "\"%.16s\"", column(text, 8, 4));
  CHECK_TEXT(sweep("run", "again.yaml", "--case 7 --json")->out, hash);
  CHECK_INT(sweep("run", "again.yaml", "--case 12")->status, 2);
  free(text);
}
