/* Parts of the collision bench; each registers its rows. */
#ifndef KN_BENCH_COLLISION_H
#define KN_BENCH_COLLISION_H

#include "bench.h"

void bench_broad(kn_bench* b);
void bench_narrow(kn_bench* b);
void bench_toi(kn_bench* b);
/* Runs the pairs of one row of the hulls or the curved pairs, for callgrind (scripts/callgrind-pairs.sh), or prints ns a pair. */
int bench_narrow_count(const char* row, bool timed);

#endif
