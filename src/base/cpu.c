#include "base/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static int detect(void) {
  int best = KN_CPU_BASE;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) best = KN_CPU_AVX2;
  if (best == KN_CPU_AVX2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    best = KN_CPU_AVX512;
#endif
  const char* asked = getenv("KN_ISA");
  if (!asked) return best;
  int level = !strcmp(asked, "base") ? KN_CPU_BASE : !strcmp(asked, "avx2") ? KN_CPU_AVX2 : KN_CPU_AVX512;
  return level < best ? level : best;
}

static _Atomic int cached = -1;

int kn_cpu_limit(int level) {
  int best = detect();
  level = level < best ? level : best;
  atomic_store_explicit(&cached, level, memory_order_relaxed);
  return level;
}

int kn_cpu_level(void) {
  int level = atomic_load_explicit(&cached, memory_order_relaxed);
  if (level < 0) {
    level = detect();
    atomic_store_explicit(&cached, level, memory_order_relaxed);
  }
  return level;
}
