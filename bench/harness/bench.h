/* The bench harness. A bench is a folder bench/NAME whose *.c and *.cpp become build/bench/NAME:

     int main(int argc, char** argv) {
       kn_bench* b = kn_bench_open("dynamics", "forward dynamics of trees", argc, argv);
       kn_bench_group(b, "serial chain", "links", KN_BENCH_LOG);     // one panel of the plot
       for (each n) {
         if (!kn_bench_row(b, "chain-%d", n)) continue;              // not selected by --filter
         kn_bench_x(b, n);
         kn_bench_ours(b, "knuckle", run_ours, &ours);               // timed closures …
         kn_bench_peer(b, "mujoco", run_mujoco, &mujoco);
         kn_bench_measure(b);                                        // … interleaved, medians
         kn_bench_number(b, "error", error);                         // further fields of the row
       }
       return kn_bench_close(b);
     }

   Times are CPU seconds of the calling thread (CLOCK_THREAD_CPUTIME_ID), so that a busy machine disturbs
   little, and ours and the peers take turns, so that what disturbs disturbs all alike. The table goes to
   standard error; standard output has one JSON object (always with --json, otherwise when it is no
   terminal); full runs are kept as bench/results/NAME.json and NAME.svg. */
#ifndef KN_BENCH_H
#define KN_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "output/json.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kn_bench kn_bench;
typedef void (*kn_bench_fn)(void* context);

/* Understands --json, --quick, --repeats N, --sample SECONDS, --filter TEXT, --results DIR, --no-save,
   --help; what it does not know is left to kn_bench_argument. Never returns NULL: usage errors exit with 2.
 */
kn_bench* kn_bench_open(const char* name, const char* title, int argc, char** argv);
/* Value of an argument "--n=5" or "--n 5", or the fallback. */
const char* kn_bench_argument(kn_bench* b, const char* name, const char* fallback);
bool kn_bench_quick(const kn_bench* b); /* --quick: fewer sizes and repeats are fine */
/* --repeats, or the fallback when it was not given. */
int kn_bench_repeats(kn_bench* b, int fallback);
/* Folder of the results when this run keeps them, otherwise NULL. */
const char* kn_bench_results(const kn_bench* b);

/* The unit of knuckle and best_peer in the rows that follow: seconds times scale ("us", 1e6 by default). */
void kn_bench_unit(kn_bench* b, const char* unit, double scale);

/* Following rows belong to one panel of the plot. x_label NULL: bars by row name. */
typedef enum kn_bench_axes { KN_BENCH_LINEAR, KN_BENCH_LOG } kn_bench_axes;
void kn_bench_group(kn_bench* b, const char* title, const char* x_label, kn_bench_axes axes);

/* Starts a row; false when --filter leaves it out (then skip the work). */
bool kn_bench_row(kn_bench* b, const char* format, ...) __attribute__((format(printf, 2, 3)));
void kn_bench_x(kn_bench* b, double x); /* place on the x axis, also a field of the row */

/* What is timed in this row. The first of ours is the row's "knuckle"; the fastest peer its best_peer.
   An extra is shown, but is not a peer: other work, single precision, a second way of ours. */
void kn_bench_ours(kn_bench* b, const char* name, kn_bench_fn run, void* context);
void kn_bench_peer(kn_bench* b, const char* name, kn_bench_fn run, void* context);
void kn_bench_extra(kn_bench* b, const char* name, kn_bench_fn run, void* context);
/* One run of the closure does `count` units of work (links, worlds, …): times are divided by it. */
void kn_bench_per(kn_bench* b, double count);
void kn_bench_measure(kn_bench* b);

/* A figure obtained otherwise instead of a timed closure, in the row's unit. */
void kn_bench_ours_value(kn_bench* b, const char* name, double value);
void kn_bench_peer_value(kn_bench* b, const char* name, double value);
void kn_bench_extra_value(kn_bench* b, const char* name, double value);
/* The plot shows this number of each row (a ratio to the fastest peer) as a bar, and the row's own ratio as a
   ring; words say so in the picture. Both texts stay the caller's. */
void kn_bench_plot_ratios(kn_bench* b, const char* key, const char* words);
/* Several of them: their median and spread. */
void kn_bench_ours_samples(kn_bench* b, const char* name, const double* values, int count);
void kn_bench_peer_samples(kn_bench* b, const char* name, const double* values, int count);
void kn_bench_extra_samples(kn_bench* b, const char* name, const double* values, int count);
/* Median of an entry of the current row in the row's unit; NaN when it is not there. */
double kn_bench_median(const kn_bench* b, const char* name);
double kn_bench_ratio(const kn_bench* b); /* knuckle / best_peer of the current row; NaN without peers */

/* Further fields of the row (JSON and table) … */
void kn_bench_number(kn_bench* b, const char* key, double value);
/* Rows of each group in the order of such a number, those without it last. After the last row. */
void kn_bench_sort(kn_bench* b, const char* key);
void kn_bench_text(kn_bench* b, const char* key, const char* value);
/* … and a remark under the table. */
void kn_bench_note(kn_bench* b, const char* format, ...) __attribute__((format(printf, 2, 3)));
/* Marks the bench as failed (wrong answers): exit status 1. */
void kn_bench_fail(kn_bench* b, const char* format, ...) __attribute__((format(printf, 2, 3)));
/* Writes further members of the JSON object before it is closed (e.g. "table1"). */
void kn_bench_members(kn_bench* b, void (*write)(kn_json* j, void* context), void* context);

/* Rows are claims of a paper with units of their own: the peer's column is the paper's, no plot is drawn. */
void kn_bench_claims(kn_bench* b);
/* Starts the row of a claim with both values (NaN: the paper has no number) and its fields "claim", "paper"
   and "holds"; a claim that does not hold fails the bench. False when --filter leaves it out. */
bool kn_bench_claim(kn_bench* b, const char* name, double paper, double ours, bool holds);

/* Performance profile of the rows of the present group as NAME-name.svg and .json beside the results. */
void kn_bench_profile(kn_bench* b, const char* name, const char* title);

/* Writes everything and frees b; returns the exit status. */
int kn_bench_close(kn_bench* b);

/* Pointer to the object kn_peer that the file bench/NAME/peer_X.c or .cpp exports with
     KN_PEER_EXPORT const my_interface kn_peer = { … };
   or NULL when peer X is not installed (noted under the table). Each peer is a module loaded by itself, so
   that peers with clashing symbols or versions of Eigen and Boost can share one run. */
const void* kn_bench_load_peer(kn_bench* b, const char* peer);
#ifdef __cplusplus
#define KN_PEER_EXPORT extern "C" __attribute__((visibility("default"), used))
#else
#define KN_PEER_EXPORT __attribute__((visibility("default"), used))
#endif

/* Writes to memory larger than the last-level cache, so that the next call runs cold. */
void kn_bench_chill(void);
/* Keeps the optimiser from dropping a result. */
static inline void kn_bench_keep(const void* p) { __asm__ volatile("" : : "r"(p) : "memory"); }

#ifdef __cplusplus
}
#endif
#endif
