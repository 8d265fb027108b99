#include "base/isa.h"

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

int kn_cpu_cached = -1;

int kn_cpu_limit(int level) {
  int best = detect();
  level = level < best ? level : best;
  __atomic_store_n(&kn_cpu_cached, level, __ATOMIC_RELAXED);
  return level;
}

int kn_cpu_find(void) {
  int level = detect();
  __atomic_store_n(&kn_cpu_cached, level, __ATOMIC_RELAXED);
  return level;
}
