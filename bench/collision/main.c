/* Collision against the peers: broad phase (and whatever else collision.h lists). */
#include <string.h>

#include "collision.h"

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "--count") == 0) return bench_narrow_count(argv[2], false);
  if (argc == 3 && strcmp(argv[1], "--time") == 0) return bench_narrow_count(argv[2], true);
  kn_bench* b = kn_bench_open("collision", "collision detection", argc, argv);
  bench_narrow(b);
  bench_broad(b);
  bench_toi(b);
  return kn_bench_close(b);
}
