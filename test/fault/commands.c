/* Every command, with one allocation, write, read or close after the other that fails (inject/inject.c): it ends by itself,
   says so on standard error and by its exit status, or does what it does without the fault; a failed one leaves no half
   file under the final name. `make test` spreads a bounded number of faults over each command, KN_EFFORT more. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static char folder[64];

static const char model[] =
    "<mujoco><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 .1'><freejoint/><geom type='box' "
    "size='.1 .1 "
    ".1'/></body><body name='a' pos='1 0 1'><joint name='j' axis='0 1 0' range='-60 40'/><geom "
    "type='capsule' size='.03' "
    "fromto='0 0 0 .4 0 0'/></body></worldbody><actuator><motor joint='j'/></actuator></mujoco>";

static const struct {
  const char *line, *file; /* file: what it writes, in one piece; NULL: nothing, or as it goes */
  bool timed;              /* prints times, which differ */
} commands[] = {
    {"check m.xml", NULL, false},
    {"check m.xml --json", NULL, false},
    {"list", NULL, false},
    {"run m.xml --time 0.02 -o q.mcap", NULL, true},
    {"run bouncing-ball --time 0.02 --json", NULL, true},
    {"verify r.mcap", NULL, false},
    {"verify r.mcap --json", NULL, false},
    {"export r.mcap", NULL, false},
    {"export r.mcap -o e.csv", "e.csv", false},
    {"export r.mcap -o e.json", "e.json", false},
    {"export r.mcap -o e.h5", "e.h5", false},
    {"plot r.mcap q.j -o p.svg", "p.svg", false},
    {"diagnose m.xml --at 0.01", NULL, false},
    {"compare m.xml --time 0.01", NULL, true},
    {"certify bouncing-ball", NULL, false},
    {"demo bouncing-ball --time 0.05 -o d.html", NULL, true}, /* the page holds times: no two are alike */
    {"solve l.json", NULL, true},
};

static const char* const faults[] = {"alloc", "write", "short", "close", "read"};

static void put(const char* name, const char* text) {
  FILE* f = fopen(name, "w");
  if (CHECK(f != NULL)) CHECK(fputs(text, f) >= 0 && fclose(f) == 0);
}

static bool prepare(void) {
  char line[600];
  snprintf(folder, sizeof folder, "/tmp/knuckle-faults-%d", (int)getpid());
  if (!CHECK(mkdir(folder, 0700) == 0 && chdir(folder) == 0)) return false;
  put("m.xml", model);
  put("l.json", "{\"M\": [[2, 1], [1, 2]], \"q\": [-5, -6]}");
  snprintf(line, sizeof line, "'%s/knuckle' run m.xml --time 0.05 -o r.mcap --quiet > /dev/null 2>&1",
           KN_BINARY_DIR);
  return CHECK_INT(system(line), 0);
}

typedef struct tally {
  int runs, signals, silent, untold, halves;
} tally;

static tally read_lines(const char* what, bool timed) {
  tally t = {0};
  FILE* in = fopen("faults.txt", "r");
  long n, calls, told;
  int sig, status, changed, left, good = 0;
  if (!CHECK(in != NULL) || !CHECK(fscanf(in, "0 %d %d %ld %ld", &sig, &good, &calls, &told) == 4)) return t;
  while (fscanf(in, "%ld %d %d %d %ld %d", &n, &sig, &status, &changed, &told, &left) == 6) {
    const char* wrong = NULL;
    t.runs++;
    if (sig)
      wrong = "ended by a signal", t.signals++;
    else if (status == good && changed && !timed && told == 0)
      wrong = "changed in silence", t.silent++;
    else if (status != good && told <= 0 && !changed)
      wrong = "failed without a word", t.untold++;
    if (left) wrong = "left a half file", t.halves++;
    if (wrong) printf("  %s: fault %ld: %s (signal %d, status %d)\n", what, n, wrong, sig, status);
  }
  fclose(in);
  return t;
}

TEST(every_command_survives_every_fault) {
  tally all = {0};
  if (access(KN_BINARY_DIR "/test/libkn_inject.so", R_OK) != 0) SKIP("no library to preload in this build");
  if (!prepare()) return;
  int most = 40 * kn_test_effort();
  for (size_t c = 0; c < sizeof commands / sizeof *commands; c++)
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
      char line[1000], what[200];
      snprintf(what, sizeof what, "%s, %s", commands[c].line, faults[k]);
      snprintf(line, sizeof line,
               "KN_FAULT=%s KN_FAULT_MOST=%d KN_FAULT_OUT=faults.txt KN_FAULT_FILE=%s "
               "LD_PRELOAD='%s/test/libkn_inject.so' "
               "'%s/knuckle' %s > /dev/null 2>&1",
               faults[k], most, commands[c].file ? commands[c].file : "none", KN_BINARY_DIR, KN_BINARY_DIR,
               commands[c].line);
      if (!CHECK_INT(system(line), 0)) continue;
      tally t = read_lines(what, commands[c].timed);
      all.runs += t.runs, all.signals += t.signals, all.silent += t.silent, all.untold += t.untold;
      all.halves += t.halves;
    }
  printf("  %d faults: %d signals, %d changed in silence, %d without a word, %d half files\n", all.runs,
         all.signals, all.silent, all.untold, all.halves);
  CHECK(all.runs > 300);
  CHECK_INT(all.signals, 0);
  CHECK_INT(all.silent, 0);
  CHECK_INT(all.untold, 0);
  CHECK_INT(all.halves, 0);
  char clean[100];
  snprintf(clean, sizeof clean, "rm -rf '%s'", folder);
  if (chdir("/") == 0) CHECK_INT(system(clean), 0);
}
