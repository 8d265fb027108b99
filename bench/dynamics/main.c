/* Forward dynamics of serial chains and robots against the peers, batches of worlds, and the compliance of
   contacts. */
#include "dynamics_bench.h"

int main(int argc, char** argv) {
  kn_bench* b =
      kn_bench_open("dynamics", "tree dynamics: forward dynamics and contact compliance", argc, argv);
  bench_forward(b);
  bench_compliance(b);
  return kn_bench_close(b);
}
