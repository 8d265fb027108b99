#include <stdio.h>
#include <unistd.h>

#include "solvers.h"

static const char* given;

const char* bench_solvers_folder(const char* kind) {
  static char path[2][4096];
  static int used;
  char* out = path[used++ % 2];
  snprintf(out, sizeof path[0], "%s/%s", given ? given : KN_SHARED_DATA, kind);
  return given && access(out, R_OK) != 0 ? given : out;
}

int main(int argc, char** argv) {
  if (argc > 1 && argv[1][0] != '-') given = argv[1];
  kn_bench* b = kn_bench_open("solvers", "complementarity solvers: LCPs and frictional contact", argc, argv);
  bench_lcp(b);
  bench_cones(b);
  return kn_bench_close(b);
}
