/* Threads that wait for jobs and steal from each other (crew.h).

   A share is one 64-bit word, first in the low half and end in the high half, changed by compare-and-swap
   only (the owner fills it while it is empty, when nobody else changes it). Numbers are given out once, so no
   word that has numbers in it ever comes back, and a thief cannot mistake a new share for the one it saw.

   Jobs are short in one large world (tens of microseconds), so a worker looks out for the next one for a
   while before it sleeps. */
#define _GNU_SOURCE /* processors this process may use */
#include "base/crew.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"

#ifndef __wasm__
#include <pthread.h>
#include <sched.h>

enum {
  MOST_THREADS = 1024,
  LOOKS = 20000
}; /* some 500 µs of looking out, where every worker has a processor */

typedef struct worker {
  _Atomic uint64_t share;
  kn_crew* crew;
  pthread_t thread;
  int index;
} __attribute__((aligned(64))) worker;

struct kn_crew {
  worker* worker;
  int size, looks;
  kn_crew_job job;
  void* context;
  int grain;
  pthread_mutex_t mutex;
  pthread_cond_t begun, ended;
  __attribute__((aligned(64))) atomic_int round; /* counts jobs; negative: go home */
  __attribute__((aligned(64))) atomic_int busy;  /* workers that have not finished this round */
};

static uint64_t pack(uint32_t first, uint32_t end) { return (uint64_t)end << 32 | first; }
static uint32_t first_of(uint64_t s) { return (uint32_t)s; }
static uint32_t end_of(uint64_t s) { return (uint32_t)(s >> 32); }

/* The next piece of a worker's own share. */
static bool take(worker* w, uint32_t grain, int* first, int* last) {
  uint64_t s = atomic_load_explicit(&w->share, memory_order_relaxed);
  while (first_of(s) < end_of(s)) {
    uint32_t from = first_of(s), to = end_of(s) - from < grain ? end_of(s) : from + grain;
    if (!atomic_compare_exchange_weak_explicit(&w->share, &s, pack(to, end_of(s)), memory_order_relaxed,
                                               memory_order_relaxed))
      continue;
    *first = (int)from, *last = (int)to;
    return true;
  }
  return false;
}

/* The back half of the largest share of the others becomes this worker's own; false: all are empty. */
static bool steal(worker* w, uint32_t grain) {
  kn_crew* c = w->crew;
  for (;;) {
    worker* rich = NULL;
    uint64_t most = 0;
    for (int i = 0; i < c->size; i++) {
      uint64_t s = atomic_load_explicit(&c->worker[i].share, memory_order_relaxed);
      if (first_of(s) >= end_of(s)) continue;
      if (!rich || end_of(s) - first_of(s) > end_of(most) - first_of(most)) rich = &c->worker[i], most = s;
    }
    if (!rich) return false;
    uint32_t from = first_of(most), end = end_of(most), left = end - from;
    uint32_t middle = left <= grain ? from : end - left / 2;
    if (!atomic_compare_exchange_strong_explicit(&rich->share, &most, pack(from, middle),
                                                 memory_order_relaxed, memory_order_relaxed))
      continue;
    atomic_store_explicit(&w->share, pack(middle, end), memory_order_relaxed);
    return true;
  }
}

static void work(worker* w) {
  kn_crew* c = w->crew;
  uint32_t grain = (uint32_t)c->grain;
  int first, last;
  do
    while (take(w, grain, &first, &last)) c->job(w->index, first, last, c->context);
  while (steal(w, grain));
}

static void rest(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/* The next round's number: looked out for, then waited for. */
static int wait_for_round(kn_crew* c, int done) {
  for (int i = 0; i < c->looks; i++) {
    int round = atomic_load_explicit(&c->round, memory_order_acquire);
    if (round != done) return round;
    rest();
  }
  pthread_mutex_lock(&c->mutex);
  while (atomic_load_explicit(&c->round, memory_order_acquire) == done)
    pthread_cond_wait(&c->begun, &c->mutex);
  pthread_mutex_unlock(&c->mutex);
  return atomic_load_explicit(&c->round, memory_order_acquire);
}

static void finish(kn_crew* c) {
  if (atomic_fetch_sub_explicit(&c->busy, 1, memory_order_acq_rel) > 1) return;
  pthread_mutex_lock(&c->mutex); /* so that the caller is either before its look or asleep */
  pthread_cond_signal(&c->ended);
  pthread_mutex_unlock(&c->mutex);
}

static void* live(void* me) {
  worker* w = me;
  for (int round = 0; (round = wait_for_round(w->crew, round)) >= 0;) {
    work(w);
    finish(w->crew);
  }
  return NULL;
}

static void wait_for_others(kn_crew* c) {
  for (int i = 0; i < c->looks; i++) {
    if (!atomic_load_explicit(&c->busy, memory_order_acquire)) return;
    rest();
  }
  pthread_mutex_lock(&c->mutex);
  while (atomic_load_explicit(&c->busy, memory_order_acquire)) pthread_cond_wait(&c->ended, &c->mutex);
  pthread_mutex_unlock(&c->mutex);
}

static void call(kn_crew* c, int round) {
  pthread_mutex_lock(&c->mutex);
  atomic_store_explicit(&c->round, round, memory_order_release);
  pthread_cond_broadcast(&c->begun);
  pthread_mutex_unlock(&c->mutex);
}

void kn_crew_run(kn_crew* c, int count, int grain, kn_crew_job job, void* context) {
  if (count <= 0) return;
  if (grain < 1) grain = 1;
  if (c->size == 1 || count <= grain) {
    job(0, 0, count, context);
    return;
  }
  c->job = job, c->context = context, c->grain = grain;
  for (int i = 0; i < c->size; i++) {
    uint32_t first = (uint32_t)((int64_t)count * i / c->size);
    uint32_t end = (uint32_t)((int64_t)count * (i + 1) / c->size);
    atomic_store_explicit(&c->worker[i].share, pack(first, end), memory_order_relaxed);
  }
  atomic_store_explicit(&c->busy, c->size - 1, memory_order_relaxed);
  int round = atomic_load_explicit(&c->round, memory_order_relaxed);
  call(c, round == INT32_MAX ? 1 : round + 1);
  work(&c->worker[0]);
  wait_for_others(c);
}

static int processors(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

kn_status kn_crew_create(kn_crew** crew, int threads) {
  *crew = NULL;
  if (threads < 0 || threads > MOST_THREADS)
    return kn_fail(KN_BAD_ARGUMENT, "%d threads: 1 … %d, or 0 for one per processor", threads, MOST_THREADS);
  if (threads == 0) threads = processors();
  kn_crew* c = aligned_alloc(64, sizeof *c);
  worker* w = aligned_alloc(64, (size_t)threads * sizeof *w);
  if (!c || !w) {
    free(c), free(w);
    return kn_fail(KN_OUT_OF_MEMORY, "no memory for %d threads", threads);
  }
  *c = (kn_crew){.worker = w, .size = 1, .looks = threads <= processors() ? LOOKS : LOOKS / 100};
  pthread_mutex_init(&c->mutex, NULL);
  pthread_cond_init(&c->begun, NULL);
  pthread_cond_init(&c->ended, NULL);
  for (int i = 0; i < threads; i++) {
    w[i] = (worker){.crew = c, .index = i};
    if (i > 0 && pthread_create(&w[i].thread, NULL, live, &w[i]) != 0) {
      kn_crew_destroy(c);
      return kn_fail(KN_OUT_OF_MEMORY, "thread %d of %d could not be started", i + 1, threads);
    }
    c->size = i + 1;
  }
  *crew = c;
  return KN_OK;
}

void kn_crew_destroy(kn_crew* c) {
  if (!c) return;
  call(c, -1);
  for (int i = 1; i < c->size; i++) pthread_join(c->worker[i].thread, NULL);
  pthread_mutex_destroy(&c->mutex);
  pthread_cond_destroy(&c->begun);
  pthread_cond_destroy(&c->ended);
  free(c->worker);
  free(c);
}

int kn_crew_size(const kn_crew* c) { return c->size; }

#else /* WebAssembly has no threads: the caller does it all */

struct kn_crew {
  int size;
};

kn_status kn_crew_create(kn_crew** crew, int threads) {
  static kn_crew alone = {1};
  (void)threads;
  *crew = &alone;
  return KN_OK;
}
void kn_crew_destroy(kn_crew* crew) { (void)crew; }
int kn_crew_size(const kn_crew* crew) { return crew->size; }
void kn_crew_run(kn_crew* crew, int count, int grain, kn_crew_job job, void* context) {
  (void)crew, (void)grain;
  if (count > 0) job(0, 0, count, context);
}

#endif
