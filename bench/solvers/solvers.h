/* The bench of src/comp: `knuckle bench solvers [DIR]`. Each file adds its rows. */
#ifndef KN_BENCH_SOLVERS_H
#define KN_BENCH_SOLVERS_H

#include "bench.h"

/* LCP solvers of a peer: open copies the data, run solves once from zero (the timed part), z is the answer.
 */
typedef struct lcp_peer {
  int count;
  const char* const* names;
  void* (*open)(int which, int n, const double* M, const double* q);
  void (*run)(void* problem);
  const double* (*z)(void* problem);
  void (*close)(void* problem);
} lcp_peer;

#ifndef __cplusplus
/* Problems of a kind: DIR/kind or DIR itself of the command, otherwise those of the shared data. */
const char* bench_solvers_folder(const char* kind);
void bench_lcp(kn_bench* b);
void bench_cones(kn_bench* b);
#endif

#endif
