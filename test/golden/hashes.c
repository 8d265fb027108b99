/* The same answer as ever: every line of hashes.txt is one run of the command line and the state hash it must
   end with, bit for bit, on every compiler and instruction set. Runs of models below ../shared/data are
   skipped where that folder is missing. KN_GOLDEN=print prints the table with the present hashes. With KN_FAST the
   bits are promised only if every path that is off promises them (kn_fast_path.tolerance = 0); step/fast
   compares the others, to their tolerance. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "knuckle/step.h"
#include "test.h"

#define TABLE KN_SOURCE_DIR "/test/golden/hashes.txt"
#define DATA  "DATA/"

/* `run` with the arguments of a line, DATA replaced by its folder; the hash of its JSON, or NULL. */
static const char* hash_of(const char* line) {
  static char hash[17];
  char command[1024];
  const char* data = strstr(line, DATA);
  size_t path = data ? strcspn(data + strlen(DATA), " ") : 0;
  if (data)
    snprintf(command, sizeof command, "run '%s/%.*s' %s --json", kn_test_data(""), (int)path,
             data + strlen(DATA), data + strlen(DATA) + path);
  else
    snprintf(command, sizeof command, "run %s --json", line);
  const char* text = kn_test_knuckle(command)->out;
  if (strstr(text, "need assimp")) return "no meshes"; /* built without it: the robot has fewer shapes */
  const char* at = strstr(text, "\"state_hash\"");
  at = at ? strpbrk(at + strlen("\"state_hash\""), "0123456789abcdef") : NULL;
  if (!at) return NULL;
  snprintf(hash, sizeof hash, "%.16s", at);
  return hash;
}

/* Lines of one kind: of scenes, or of models below ../shared/data. */
static void compare(bool models) {
  const char* wish = getenv("KN_GOLDEN");
  bool print = wish && strcmp(wish, "print") == 0;
  FILE* f = fopen(TABLE, "r");
  char line[512];
  if (!CHECK(f != NULL)) return;
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '#' || strlen(line) < 20 || (strstr(line, DATA) != NULL) != models) continue;
    const char* got = hash_of(line + 18);
    if (got && strcmp(got, "no meshes") == 0) {
      printf("  left out, this build reads no Collada meshes: knuckle run %s\n", line + 18);
      continue;
    }
    bool same = CHECK(got && strncmp(line, got, 16) == 0);
    if (!same) printf("  %.16s was %s: knuckle run %s\n", line, got ? got : "no hash", line + 18);
    if (print) printf("%s  %s\n", got ? got : "no hash", line + 18);
  }
  fclose(f);
}

/* Of the paths that KN_FAST switches off, one that does not promise bits; NULL: there is none. */
static const char* without_bits(void) {
  const char* off = getenv("KN_FAST");
  for (const kn_fast_path* p = kn_fast_paths(); off && p->name; p++)
    for (const char* at = off; *at; at += strcspn(at, ","), at += *at == ',') {
      size_t n = strcspn(at, ",");
      bool named =
          (n == 4 && memcmp(at, "none", 4) == 0) || (n == strlen(p->name) && memcmp(at, p->name, n) == 0);
      if (named && p->tolerance > 0.0) return p->name;
    }
  return NULL;
}

#define SKIP_WITHOUT_BITS()                                                                                  \
  do {                                                                                                       \
    static char reason[96];                                                                                  \
    const char* path = without_bits();                                                                       \
    snprintf(reason, sizeof reason, "KN_FAST: without %s a run has a tolerance, not these bits (step/fast)", \
             path ? path : "");                                                                              \
    if (path) SKIP(reason);                                                                                  \
  } while (0)

TEST(scenes_end_where_they_always_did) {
  SKIP_WITHOUT_BITS();
  compare(false);
}

TEST(robots_end_where_they_always_did) {
  SKIP_WITHOUT_BITS();
  if (!kn_test_data("models")) SKIP("no shared data");
  compare(true);
}
