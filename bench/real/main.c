/* Impacts that somebody measured: 1718 of an ellipse on a plane and 570 tosses of a cube, of which a folder has a part.

     build/bench/real DIR [--judge DIR2] [--folds N] [--evaluations N]

   Friction, restitution and what else a contender has are fitted on DIR, one set of parameters for all impacts and one for all
   tosses, and judged on DIR2, or by cross-validation where there is none. MuJoCo is fitted by the same search; six published
   models stand in the data with their own predictions. Rows: relative errors of the impulse in per cent; position in
   widths of the cube and rotation in degrees, means over the frames of a toss, then over the tosses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"

enum { TRIALS = 16 };

typedef struct bout {
  kn_bench* b;
  const real_data *training, *judge;
  const real_peer* peer;
  int folds, evaluations;
} bout;

/* Predictions that came with the data. */
static void add_stored(real_trial* t, const real_data* judged, int model) {
  *t = (real_trial){.items = judged->impacts, .error = calloc((size_t)judged->impacts, sizeof *t->error)};
  snprintf(t->name, sizeof t->name, "%s", real_models[model]);
  for (int i = 0; i < judged->impacts && t->error; i++) {
    const real_impact* m = &judged->impact[i];
    double x = m->stored[model][0] - m->impulse[0], y = m->stored[model][1] - m->impulse[1];
    double size = m->impulse[0] * m->impulse[0] + m->impulse[1] * m->impulse[1];
    t->error[i].first = __builtin_sqrt((x * x + y * y) / size);
  }
}

/* Ours first: the law with the least cost on the training part; the others follow as extras. */
static int try_all(real_trial* trials, const bout* t, real_task task) {
  const real_contender *ours = task == REAL_PLANAR ? real_planar : real_tosses, *peer = NULL;
  int count = 0, laws = 0;
  for (; ours[laws].name; laws++) {
    real_trial* x = &trials[count];
    if (!real_try(x, &ours[laws], task, t->training, t->judge, t->folds, t->evaluations))
      kn_bench_fail(t->b, "%s: %s", ours[laws].name, kn_last_error());
    else if (++count > 1 && x->cost < trials[0].cost) {
      real_trial swap = *x;
      *x = trials[0];
      trials[0] = swap;
    }
  }
  if (t->peer) peer = task == REAL_PLANAR ? &t->peer->planar : &t->peer->tosses;
  if (peer && real_try(&trials[count], peer, task, t->training, t->judge, t->folds, t->evaluations)) count++;
  const real_data* judged = t->judge ? t->judge : t->training;
  for (int k = 0; task == REAL_PLANAR && k < REAL_MODELS; k++) add_stored(&trials[count++], judged, k);
  return count;
}

typedef double (*figure)(const real_trial* trial);
static double planar_median(const real_trial* t) { return 100.0 * real_share(t, false, 0.5); }
static double planar_mean(const real_trial* t) { return 100.0 * real_mean(t, false); }
static double planar_p90(const real_trial* t) { return 100.0 * real_share(t, false, 0.9); }
static double toss_position(const real_trial* t) { return real_mean(t, false); }
static double toss_rotation(const real_trial* t) { return real_mean(t, true); }
static double toss_position_median(const real_trial* t) { return real_share(t, false, 0.5); }
static double toss_rotation_median(const real_trial* t) { return real_share(t, true, 0.5); }

static void put_row(const bout* t, const char* name, const char* unit, figure f, const real_trial* trials,
                    int count) {
  char key[64];
  kn_bench_unit(t->b, unit, 1.0);
  if (!kn_bench_row(t->b, "%s", name)) return;
  for (int i = 0; i < count; i++) {
    bool ours = strncmp(trials[i].name, "knuckle", 7) == 0;
    if (i == 0 && ours)
      kn_bench_ours_value(t->b, "knuckle", f(&trials[i]));
    else if (ours)
      kn_bench_extra_value(t->b, trials[i].name, f(&trials[i]));
    else
      kn_bench_peer_value(t->b, trials[i].name, f(&trials[i]));
  }
  kn_bench_text(t->b, "law", trials[0].name);
  const real_contender* c = trials[0].contender;
  for (int k = 0; c && c->parameter[k]; k++) {
    snprintf(key, sizeof key, "parameters.%s", c->parameter[k]);
    kn_bench_number(t->b, key, trials[0].x[k]);
  }
}

static void note_peer(const bout* t, const real_trial* trials, int count) {
  for (int i = 0; i < count; i++) {
    const real_contender* c = trials[i].contender;
    char text[256] = "";
    for (int k = 0, n = 0; c && c->parameter[k] && n < 200; k++)
      n += snprintf(text + n, sizeof text - (size_t)n, " %s %.4g", c->parameter[k], trials[i].x[k]);
    if (c) kn_bench_note(t->b, "%s:%s (fitted on the whole training part)", trials[i].name, text);
  }
}

static void run_task(const bout* t, real_task task) {
  real_trial trials[TRIALS];
  int count = try_all(trials, t, task);
  const char* folder = kn_bench_results(t->b);
  if (count > 0 && task == REAL_PLANAR) {
    put_row(t, "planar-median", "%", planar_median, trials, count);
    put_row(t, "planar-mean", "%", planar_mean, trials, count);
    put_row(t, "planar-p90", "%", planar_p90, trials, count);
  } else if (count > 0) {
    put_row(t, "tosses-position", "width", toss_position, trials, count);
    put_row(t, "tosses-rotation", "deg", toss_rotation, trials, count);
    put_row(t, "tosses-position-median", "width", toss_position_median, trials, count);
    put_row(t, "tosses-rotation-median", "deg", toss_rotation_median, trials, count);
  }
  note_peer(t, trials, count);
  if (folder && count > 0) real_pictures(folder, task, trials, count, t->judge ? t->judge : t->training);
  for (int i = 0; i < count; i++) free(trials[i].error);
}

int main(int argc, char** argv) {
  kn_bench* b = kn_bench_open("real", "measured impacts and tosses, one set of parameters each", argc, argv);
  const char* folder = argc > 1 && argv[1][0] != '-' ? argv[1] : KN_SHARED_DATA "/real";
  const char* other = kn_bench_argument(b, "--judge", NULL);
  const char* only = kn_bench_argument(b, "--task", "");
  bool quick = kn_bench_quick(b);
  real_data training, judge = {0};
  char why[512] = "";
  bout t = {.b = b, .training = &training, .judge = other ? &judge : NULL};
  t.folds = atoi(kn_bench_argument(b, "--folds", quick ? "2" : "5"));
  t.evaluations = atoi(kn_bench_argument(b, "--evaluations", quick ? "60" : "300"));
  bool good = real_data_read(&training, folder, why, sizeof why);
  if (good && other) good = real_data_read(&judge, other, why, sizeof why);
  if (good && (t.folds < 2 || t.folds > training.tosses.count || t.evaluations < 30)) {
    snprintf(why, sizeof why,
             "--folds: expected 2 or more, at most one for each toss; --evaluations: 30 or more");
    good = false;
  }
  if (!good) {
    kn_bench_fail(b, "%s", why);
    return kn_bench_close(b);
  }
  t.peer = kn_bench_load_peer(b, "mujoco");
  if (t.peer) kn_bench_note(b, "%s %s", t.peer->name, t.peer->version());
  kn_bench_note(b,
                other ? "fitted on %d impacts and %d tosses, judged on %s"
                      : "%d impacts and %d tosses, cross-validated%s",
                training.impacts, training.tosses.count, other ? other : "");
  if (!*only || strcmp(only, "planar") == 0) {
    kn_bench_group(b, "planar impacts: relative error of the impulse", NULL, KN_BENCH_LINEAR);
    run_task(&t, REAL_PLANAR);
  }
  if (!*only || strcmp(only, "tosses") == 0) {
    kn_bench_group(b, "cube tosses: mean error over the frames", NULL, KN_BENCH_LINEAR);
    run_task(&t, REAL_TOSSES);
  }
  real_data_free(&training);
  real_data_free(&judge);
  return kn_bench_close(b);
}
