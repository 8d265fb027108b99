/* A broad phase that is given axis-aligned boxes frame by frame. */
#ifndef KN_BENCH_PEER_BROAD_H
#define KN_BENCH_PEER_BROAD_H

typedef struct broad_peer {
  const char* name;
  void* (*create)(int n, const double* boxes); /* 6 per body: lo, hi */
  int (*update)(void* self,
                const double* boxes); /* new boxes; returns the number of pairs whose boxes overlap */
  int (*unfiltered)(void* self,
                    const double* boxes); /* as the engine leaves them, with more pairs; may be NULL */
  void (*destroy)(void* self);
} broad_peer;

#endif
