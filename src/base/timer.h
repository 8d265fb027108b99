/* Clocks. */
#pragma once

#include <time.h>

static inline double kn_clock_seconds(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double kn_wall_seconds(void) { return kn_clock_seconds(CLOCK_MONOTONIC); }
#ifdef CLOCK_THREAD_CPUTIME_ID /* WebAssembly has none */
static inline double kn_cpu_seconds(void) { return kn_clock_seconds(CLOCK_THREAD_CPUTIME_ID); }
#else
static inline double kn_cpu_seconds(void) { return kn_wall_seconds(); }
#endif
