/* Who runs the cases of a sweep: threads of this process, and under mpirun the other ranks. One list of what is still
   to do, from which everybody takes small handfuls (dynamic scheduling); rank 0 hands them out to the others while its
   own threads work. A case is taken once; its row goes to the journal as soon as it is known. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sweep/plan.h"

enum { HANDFUL = 64 };

const kn_ranks* kn_sweep_ranks; /* mpi.c sets it */

typedef struct crew {
  const kn_sweep* sweep;
  kn_journal* journal;
  const bool* done;
  int64_t first, stride, cursor, workers;
  pthread_mutex_t lock;
  atomic_long ran, failed, troubled;
  atomic_bool stop, lost;
  atomic_int busy; /* threads at work */
} crew;

/* The next cases to run; fewer towards the end, so that nobody waits long for the last one. */
static int64_t next(crew* c, int64_t list[HANDFUL]) {
  int64_t n = 0, cases = c->sweep->plan->cases;
  if (atomic_load(&c->stop) || kn_interrupted()) return 0;
  pthread_mutex_lock(&c->lock);
  int64_t left = (cases - c->cursor) / c->stride, most = left / (8 * c->workers) + 1;
  if (most > HANDFUL) most = HANDFUL;
  for (; c->cursor < cases && n < most; c->cursor += c->stride)
    if (!c->done[c->cursor]) list[n++] = c->cursor;
  pthread_mutex_unlock(&c->lock);
  return n;
}

static void count(crew* c, const kn_case_row* row) {
  atomic_fetch_add(&c->ran, 1);
  if (row->status == KN_CASE_FAILED) atomic_fetch_add(&c->failed, 1);
  if (row->status == KN_CASE_TROUBLE) atomic_fetch_add(&c->troubled, 1);
}

static void* work(void* context) {
  crew* c = context;
  int64_t list[HANDFUL], n;
  while ((n = next(c, list)) > 0)
    for (int64_t k = 0; k < n && !kn_interrupted() && !atomic_load(&c->stop); k++) {
      kn_case_row row;
      bool done = kn_case_run(&row, c->sweep, list[k]);
      if (done && !kn_journal_add(c->journal, &row)) {
        atomic_store(&c->lost, true);
        atomic_store(&c->stop, true);
      }
      if (done) count(c, &row);
      free(row.reason);
    }
  atomic_fetch_sub(&c->busy, 1);
  return NULL;
}

static void show(crew* c, kn_progress* bar) {
  char extra[96];
  snprintf(extra, sizeof extra, "%ld failed, %ld in trouble", atomic_load(&c->failed),
           atomic_load(&c->troubled));
  kn_progress_update(bar, (double)atomic_load(&c->ran), extra);
}

/* Short while ranks wait for answers; otherwise only the progress bar waits. */
static void nap(bool ranks) { nanosleep(&(struct timespec){.tv_nsec = ranks ? 300000 : 3000000}, NULL); }

/* Rows of another rank: they are counted line by line. */
static void keep_lines(crew* c, const char* lines, size_t bytes) {
  if (bytes && !kn_journal_lines(c->journal, lines, bytes)) {
    atomic_store(&c->lost, true);
    atomic_store(&c->stop, true);
  }
  for (const char *p = lines, *end; bytes && (end = memchr(p, '\n', (size_t)(lines + bytes - p)));
       p = end + 1) {
    const char* status = memchr(p, ',', (size_t)(end - p));
    kn_case_row row = {.status = !status            ? KN_CASE_FAILED
                                 : status[1] == 'o' ? KN_CASE_OK
                                 : status[1] == 't' ? KN_CASE_TROUBLE
                                                    : KN_CASE_FAILED};
    count(c, &row);
  }
}

/* The main thread while the others work: answers the other ranks, shows how far things are. */
static void oversee(crew* c, kn_progress* bar) {
  int others = kn_sweep_ranks ? kn_sweep_ranks->size - 1 : 0;
  while (atomic_load(&c->busy) > 0 || others > 0) {
    int from;
    const char* lines;
    size_t bytes;
    if (others > 0 && kn_sweep_ranks->receive(&from, &lines, &bytes)) {
      int64_t list[HANDFUL];
      keep_lines(c, lines, bytes);
      int64_t n = next(c, list);
      kn_sweep_ranks->answer(from, list, n);
      others -= n == 0;
      continue;
    }
    show(c, bar);
    nap(others > 0);
  }
  show(c, bar);
}

/* A rank that is not the first: cases from rank 0, rows to it. */
static kn_sweep_outcome assist(const kn_sweep* w) {
  kn_sweep_outcome out = {0};
  size_t room = (size_t)HANDFUL * 2048, used = 0;
  char* lines = malloc(room);
  int64_t list[HANDFUL], n;
  while (lines && (n = kn_sweep_ranks->ask(list, HANDFUL, lines, used)) > 0) {
    used = 0;
    for (int64_t k = 0; k < n && !kn_interrupted(); k++) {
      kn_case_row row;
      bool done = kn_case_run(&row, w, list[k]);
      if (done) used += (size_t)kn_journal_line(lines + used, room - used, w, &row);
      free(row.reason);
      out.ran += done;
    }
  }
  out.lost = !lines;
  free(lines);
  return out;
}

kn_sweep_outcome kn_sweep_work(const kn_sweep* w, kn_journal* journal, const bool* done, int64_t first,
                               int64_t stride, int threads) {
  pthread_t thread[KN_SWEEP_THREADS];
  kn_progress bar;
  if (kn_sweep_ranks && kn_sweep_ranks->rank > 0) return assist(w);
  crew c = {.sweep = w,
            .journal = journal,
            .done = done,
            .first = first,
            .stride = stride,
            .cursor = first,
            .workers = threads + (kn_sweep_ranks ? kn_sweep_ranks->size - 1 : 0)};
  int64_t left = 0;
  for (int64_t i = first; i < w->plan->cases; i += stride) left += !done[i];
  pthread_mutex_init(&c.lock, NULL);
  kn_progress_start(&bar, w->args, "sweep", (double)left, false);
  kn_interrupt_catch();
  int started = 0;
  for (; started < threads && left > started; started++) {
    atomic_fetch_add(&c.busy, 1);
    if (pthread_create(&thread[started], NULL, work, &c) == 0) continue;
    atomic_fetch_sub(&c.busy, 1);
    break;
  }
  if (started == 0 && left > 0) { /* no thread to be had */
    atomic_fetch_add(&c.busy, 1);
    work(&c);
  }
  oversee(&c, &bar);
  for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
  kn_progress_end(&bar);
  pthread_mutex_destroy(&c.lock);
  return (kn_sweep_outcome){atomic_load(&c.ran), kn_interrupted(), atomic_load(&c.lost)};
}
