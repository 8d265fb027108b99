#ifndef KN_DYNAMICS_BENCH_H
#define KN_DYNAMICS_BENCH_H

#include "bench.h"

void bench_forward(kn_bench* b);
void bench_compliance(kn_bench* b);

#endif
