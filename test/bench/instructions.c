/* Instructions per step of fixed scenes against bench/results/callgrind.txt. Counts of one compiler
   hardly vary, so growth by more than 5 % is a change of the code: find the reason, or write the new count
   there (scripts/callgrind.sh) with a note. Skipped without valgrind, with another compiler, without the
   bench. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#define RESULTS KN_SOURCE_DIR "/bench/results/callgrind.txt"
#define STEP    KN_BINARY_DIR "/bench/step"
#define ROBOTS  KN_BINARY_DIR "/bench/robots"
#define MODELS  KN_SOURCE_DIR "/../shared/data/models/mjcf"

/* Ten robots have counts too (bench/robots/stages.c); their lines say so. */
static bool is_robot(const char* line) { return strstr(line, " robot") != NULL; }

static double counted(const char* program, const char* scene) {
  char command[512], line[512];
  double count = -1.0;
  snprintf(command, sizeof command,
           "valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=kn_counted_steps '%s' "
           "--count '%s' 2>&1",
           program, scene);
  FILE* out = popen(command, "r");
  if (!CHECK(out != NULL)) return count;
  while (fgets(line, sizeof line, out)) {
    const char* at = strstr(line, "Collected : ");
    if (at) count = strtod(at + strlen("Collected : "), NULL);
  }
  pclose(out);
  return count;
}

/* The first line of the file names the compiler of the counts. */
static bool comparable(FILE* f) {
  char line[256];
  return fgets(line, sizeof line, f) && strstr(line, "gcc " __VERSION__) != NULL;
}

TEST(no_step_grows) {
  FILE* f = fopen(RESULTS, "r");
  if (!CHECK(f != NULL)) return;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP("sanitizers count too");
#endif
  if (access(STEP, X_OK) != 0) SKIP("bench/step is not built");
  if (system("valgrind --version > /dev/null 2>&1") != 0) SKIP("no valgrind");
  if (!comparable(f)) SKIP("the counts are another compiler's");
  char line[512], scene[64];
  double expected;
  int scenes = 0, absent = 0;
  while (fgets(line, sizeof line, f)) {
    if (line[0] == '#' || sscanf(line, "%63s %lf", scene, &expected) != 2) continue;
    bool robot = is_robot(line);
    if (robot && (access(ROBOTS, X_OK) != 0 || access(MODELS, R_OK) != 0)) {
      absent++;
      continue;
    }
    double got = counted(robot ? ROBOTS : STEP, scene);
    printf("  %-12s %11.0f instructions, %+.1f %%\n", scene, got, 100.0 * (got / expected - 1.0));
    CHECK(got > 0.0);
    CHECK_BELOW(got, 1.05 * expected);
    scenes++;
  }
  fclose(f);
  if (absent) printf("  %d robots are not counted: no models beside the project\n", absent);
  CHECK(scenes >= 5);
}
