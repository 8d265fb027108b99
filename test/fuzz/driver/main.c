/* Stands in for libFuzzer in ordinary builds: feeds a fuzz target its seeds and reproducible mutations of
   them (bit flips, bytes, numbers, cuts, splices, repeats). A crash, a hang (ctest's time limit) or a
   sanitizer report is the failure. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/rng.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#ifndef KN_FUZZ_ROUNDS
#define KN_FUZZ_ROUNDS 2000 /* fewer where one input is a whole simulation (../CMakeLists.txt) */
#endif
enum { MAX_SEEDS = 256, MAX_BYTES = 1 << 16, ROUNDS = KN_FUZZ_ROUNDS };

typedef struct text {
  uint8_t* bytes;
  size_t size;
} text;

static text seeds[MAX_SEEDS];
static size_t seed_count;

static void add_seed(const char* path) {
  FILE* f = fopen(path, "rb");
  uint8_t* bytes = malloc(MAX_BYTES);
  if (f && bytes && seed_count < MAX_SEEDS) {
    size_t n = fread(bytes, 1, MAX_BYTES, f);
    seeds[seed_count++] = (text){bytes, n};
    bytes = NULL;
  }
  free(bytes);
  if (f) fclose(f);
}

static int by_name(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }

static void read_seeds(const char* folder) {
  char* names[MAX_SEEDS];
  size_t n = 0;
  DIR* dir = opendir(folder);
  for (struct dirent* e; dir && n < MAX_SEEDS && (e = readdir(dir));) {
    if (e->d_name[0] == '.') continue;
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if ((names[n] = strdup(path))) n++;
  }
  if (dir) closedir(dir);
  qsort(names, n, sizeof *names, by_name); /* the same order everywhere */
  for (size_t i = 0; i < n; i++) {
    add_seed(names[i]);
    free(names[i]);
  }
}

static size_t below(kn_rng* r, size_t n) { return n ? (size_t)(kn_rng_next(r) % n) : 0; }

static size_t splice(kn_rng* r, uint8_t* b, size_t n) {
  const text* other = &seeds[below(r, seed_count)];
  size_t at = below(r, n + 1), from = below(r, other->size), length = below(r, other->size - from + 1);
  if (at + length > MAX_BYTES) length = MAX_BYTES - at;
  if (length) memcpy(b + at, other->bytes + from, length);
  return at + length > n ? at + length : n;
}

static size_t insert(kn_rng* r, uint8_t* b, size_t n) {
  static const char* const words[] = {"nan",  "1e999",  "-1", "0",  "99999999999",
                                      "\"",   "<",      ">",  "\n", " ",
                                      "-inf", "1e-400", "/",  "&",  "\xff\xff\xff\xff"};
  const char* word = words[below(r, sizeof words / sizeof *words)];
  size_t length = strlen(word), at = below(r, n + 1);
  if (n + length > MAX_BYTES) return n;
  memmove(b + at + length, b + at, n - at);
  memcpy(b + at, word, length);
  return n + length;
}

static size_t cut(kn_rng* r, uint8_t* b, size_t n) {
  size_t at = below(r, n), length = below(r, n - at + 1);
  memmove(b + at, b + at + length, n - at - length);
  return n - length;
}

static size_t mutate(kn_rng* r, uint8_t* b, size_t n) {
  for (size_t k = 1 + below(r, 4); k > 0; k--) switch (below(r, 6)) {
    case 0:
      if (n) b[below(r, n)] ^= (uint8_t)(1u << below(r, 8));
      break;
    case 1:
      if (n) b[below(r, n)] = (uint8_t)kn_rng_next(r);
      break;
    case 2:
    case 3: n = insert(r, b, n); break;
    case 4: n = n ? cut(r, b, n) : n; break;
    case 5: n = splice(r, b, n); break;
    }
  return n;
}

int main(int argc, char** argv) {
  const char* effort = getenv("KN_EFFORT");
  long rounds = ROUNDS * (effort && atol(effort) > 0 ? atol(effort) : 1);
  static uint8_t work[MAX_BYTES];
  kn_rng r = kn_rng_seed(1);
  for (int i = 1; i < argc; i++) read_seeds(argv[i]);
  if (seed_count == 0) {
    puts("no seeds\n0 passed, 1 failed, 0 skipped");
    return 1;
  }
  for (size_t i = 0; i < seed_count; i++) LLVMFuzzerTestOneInput(seeds[i].bytes, seeds[i].size);
  for (long i = 0; i < rounds; i++) {
    const text* seed = &seeds[below(&r, seed_count)];
    memcpy(work, seed->bytes, seed->size);
    size_t n = mutate(&r, work, seed->size);
    uint8_t* exact = malloc(n ? n : 1); /* so that a sanitizer sees reads beyond the end */
    if (!exact) return 1;
    memcpy(exact, work, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
  }
  printf("%zu seeds, %ld mutations\n1 passed, 0 failed, 0 skipped\n", seed_count, rounds);
  for (size_t i = 0; i < seed_count; i++) free(seeds[i].bytes);
  return 0;
}
