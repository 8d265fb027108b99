#include "solvers.h"

int main(int argc, char** argv) {
  kn_bench* b = kn_bench_open("solvers", "complementarity solvers: LCPs and frictional contact", argc, argv);
  bench_lcp(b);
  bench_cones(b);
  return kn_bench_close(b);
}
