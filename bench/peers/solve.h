#ifndef KN_BENCH_SOLVE_H
#define KN_BENCH_SOLVE_H

#include "bench/harness/bench.h"

void bench_solve(kn_bench* b);

#endif
