/* Parts of the collision bench; each registers its rows. */
#ifndef KN_BENCH_COLLISION_H
#define KN_BENCH_COLLISION_H

#include "bench.h"

void bench_broad(kn_bench* b);
void bench_narrow(kn_bench* b);
void bench_toi(kn_bench* b);

#endif
