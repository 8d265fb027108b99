/* Vector kernels, one source for all instruction sets.

   A file NAME_kernel.c is compiled once for each instruction set (cmake/layers.cmake), each time with KN_ISA = 0
   (base: what every machine has), 1 (AVX2) or 2 (AVX-512). It includes this header first and writes
   KN_NAME(f) for the names it exports; KN_W is the number of doubles in a register. The results do not depend
   on the set: the same operations in the same order, whatever KN_W (docs/decisions/0002-no-fma-bit-identical.md).

   The callers declare the variants by KN_KERNEL or KN_KERNEL_TABLE and take the one of this machine by KN_BEST.
   Elsewhere than on x86-64 only the base variant exists. */
#pragma once

#if defined(KN_ISA) /* inside a kernel */
#if KN_ISA == 0
#define KN_W       2
#define KN_NAME(f) f##_base
#elif KN_ISA == 1
#define KN_W       4
#define KN_NAME(f) f##_avx2
#else
#define KN_W       8
#define KN_NAME(f) f##_avx512
#endif
#endif

/* KN_KERNEL(void, kn_f, (double* x, int n)); KN_KERNEL_TABLE(kn_table, kn_t); */
#define KN_KERNEL(type, f, parameters)                                                                       \
  type f##_base parameters;                                                                                  \
  type f##_avx2 parameters;                                                                                  \
  type f##_avx512 parameters
#define KN_KERNEL_TABLE(type, name) extern const type name##_base, name##_avx2, name##_avx512

/* The variant of this machine: KN_BEST(kn_f)(x, n), KN_BEST(&kn_t)->f(x). */
#if defined(__x86_64__)
#define KN_BEST(f)                                                                                           \
  (kn_cpu_level() == KN_CPU_AVX512 ? f##_avx512 : kn_cpu_level() == KN_CPU_AVX2 ? f##_avx2 : f##_base)
#else
#define KN_BEST(f) (f##_base)
#endif

/* Which instruction set the vector kernels use. Results do not depend on it. */
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
