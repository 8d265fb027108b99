/* Which instruction set the vector kernels use. Results do not depend on it. */
#pragma once

typedef enum kn_cpu { KN_CPU_BASE, KN_CPU_AVX2, KN_CPU_AVX512 } kn_cpu;

/* The best level of this machine, or a lower one asked for by the environment variable KN_ISA
   (base, avx2, avx512), read once. */
extern int kn_cpu_cached; /* -1: not yet known; read and written atomically */
int kn_cpu_find(void);
static inline int kn_cpu_level(void) {
  int level = __atomic_load_n(&kn_cpu_cached, __ATOMIC_RELAXED);
  return level >= 0 ? level : kn_cpu_find();
}

/* For tests and benches: use at most this level from now on; returns the level really used. */
int kn_cpu_limit(int level);
