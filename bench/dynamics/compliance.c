#include "dynamics_bench.h"

void bench_compliance(kn_bench* b) { (void)b; }
