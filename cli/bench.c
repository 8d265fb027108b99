/* knuckle bench NAME: runs build/bench/NAME, a program of its own, so that peers never reach the library. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

enum { MAX_BENCHES = 64 };

static bool bench_folder(char* path, size_t room) {
  ssize_t n = readlink("/proc/self/exe", path, room - 8);
  if (n <= 0) return false;
  path[n] = '\0';
  char* slash = strrchr(path, '/');
  strcpy(slash ? slash : path, "/bench");
  return access(path, R_OK) == 0;
}

static int by_name(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }

static size_t find_benches(const char* folder, char* names[MAX_BENCHES]) {
  DIR* dir = opendir(folder);
  size_t n = 0;
  for (struct dirent* e; dir && n < MAX_BENCHES && (e = readdir(dir));) {
    char path[4400];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0 &&
        (names[n] = strdup(e->d_name)))
      n++;
  }
  if (dir) closedir(dir);
  qsort(names, n, sizeof *names, by_name);
  return n;
}

/* What a bench of the source tree is about; NULL: somebody's own. */
static const char* about(const char* name) {
  static const char* const known[][2] = {
      {"collision", "broad and narrow phase, distances, times of impact"},
      {"dynamics", "forward dynamics, batches of worlds, compliance of contacts"},
      {"grasp", "the claims and figures of Song and Kumar's grasps"},
      {"growth", "memory and time with the number of bodies, to 10 000"},
      {"installed", "are the peers there, and do they answer?"},
      {"papers", "the tables of Jain's papers beside ours"},
      {"peers", "whole steps against other engines: pendulums, robots, piles"},
      {"pool", "many worlds on all cores, against mujoco.rollout"},
      {"real", "measured impacts and tosses"},
      {"robots", "every MJCF and URDF of a folder, against MuJoCo"},
      {"simbenchmark", "SimBenchmark's tasks beside the published errors"},
      {"solvers", "complementarity problems, against Siconos and others"},
      {"step", "a step of fixed scenes, stage by stage; no peers"},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i][0], name) == 0) return known[i][1];
  return NULL;
}

static int list_benches(const kn_args* args, char** names, size_t n) {
  if (args->json) {
    kn_json j;
    kn_json_start(&j);
    kn_json_array(&j, "benches");
    for (size_t i = 0; i < n; i++) kn_json_text(&j, NULL, names[i]);
    return kn_json_finish(&j, KN_EXIT_OK);
  }
  for (size_t i = 0; i < n; i++)
    about(names[i]) ? printf("%-14s %s\n", names[i], about(names[i])) : puts(names[i]);
  return KN_EXIT_OK;
}

static int start(const kn_args* args, const char* folder) {
  char path[4400];
  char** argv = (char**)calloc((size_t)args->operands + 2, sizeof *argv);
  int n = 0;
  if (!argv) return kn_complain(args, KN_EXIT_VIOLATION, "out of memory");
  snprintf(path, sizeof path, "%s/%s", folder, args->operand[0]);
  argv[n++] = path;
  for (int i = 1; i < args->operands; i++) argv[n++] = args->operand[i];
  if (args->json) argv[n++] = (char*)(size_t) "--json";
  execv(path, argv);
  free(argv);
  return kn_complain(args, KN_EXIT_INPUT, "%s could not be started", path);
}

static int run(kn_args* args) {
  char folder[4096];
  char* names[MAX_BENCHES];
  bool known = false;
  if (!bench_folder(folder, sizeof folder))
    return kn_complain(args, KN_EXIT_INPUT,
                       "no benches beside this binary: they are built by `make` in the source tree");
  size_t n = find_benches(folder, names);
  int code = KN_EXIT_OK;
  for (size_t i = 0; i < n; i++) known |= args->operands > 0 && strcmp(names[i], args->operand[0]) == 0;
  if (args->operands == 0)
    code = list_benches(args, names, n);
  else if (known)
    code = start(args, folder);
  else {
    const char* near = kn_suggest(args->operand[0], (const char* const*)names, n);
    code = kn_complain(args, KN_EXIT_USAGE, "no bench \"%s\"%s%s%s; `knuckle bench` lists all",
                       args->operand[0], near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
  }
  for (size_t i = 0; i < n; i++) free(names[i]);
  return code;
}

static const kn_example examples[] = {
    {"knuckle bench", "which benches there are"},
    {"knuckle bench dynamics", "table; results in bench/results"},
    {"knuckle bench dynamics --quick --json", "options of the bench follow its name"},
    {0}};
extern const kn_command kn_command_bench;
const kn_command kn_command_bench = {.name = "bench",
                                     .summary = "Knuckle and its peers side by side in one run",
                                     .operands = "[NAME [ARGUMENTS]]",
                                     .max_operands = -1,
                                     .raw = true,
                                     .examples = examples,
                                     .run = run};
