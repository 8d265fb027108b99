/* A crew of threads that does one job at a time, in pieces: the pool of worlds, sweeps, and the islands and
   pairs of one large world use it.

   A job is the numbers 0 … count - 1. Each worker begins with a share of its own and takes `grain` numbers at
   a time from its front; a worker that has nothing left takes the back half of the largest share. Which
   worker does a number is left to chance: a job whose results depend on it is wrong. The caller is worker 0
   and works too. Shares are on cache lines of their own. */
#pragma once

#include "knuckle/status.h"

typedef struct kn_crew kn_crew;

/* The numbers first … last - 1, by this worker. */
typedef void (*kn_crew_job)(int worker, int first, int last, void* context);

/* threads >= 1, the caller's included; 0: one for each processor this process may use. */
kn_status kn_crew_create(kn_crew** crew, int threads);
void kn_crew_destroy(kn_crew* crew); /* NULL is fine */
int kn_crew_size(const kn_crew* crew);
/* Returns when all numbers are done. Not from inside a job, and from one thread at a time. No allocation. */
void kn_crew_run(kn_crew* crew, int count, int grain, kn_crew_job job, void* context);
