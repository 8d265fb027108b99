/* Errors, fits and cross-validation of contenders, all by the same code. */
#include "trial.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "math/elementary.h"

enum { THREADS = 64, FRAMES = 4096 };

/* ---- errors ---- */

static real_error impact_error(const double* p, const real_impact* i) {
  double x = p[0] - i->impulse[0], y = p[1] - i->impulse[1];
  return (real_error){
      sqrt(x * x + y * y) / sqrt(i->impulse[0] * i->impulse[0] + i->impulse[1] * i->impulse[1]), 0.0};
}

/* Means over the frames of the distance over the cube's width, and of the angle between the orientations in degrees. */
static real_error toss_error(const double* q, const kn_track* t) {
  real_error e = {0};
  for (int f = 0; f < t->frames; f++) {
    const double *a = q + 7 * f, *b = t->q + 7 * f;
    double d = 0.0, dot = 0.0, away = 0.0;
    for (int i = 0; i < 3; i++) d += (a[i] - b[i]) * (a[i] - b[i]);
    for (int i = 3; i < 7; i++) dot += a[i] * b[i];
    for (int i = 3; i < 7; i++) away += (a[i] - dot * b[i]) * (a[i] - dot * b[i]);
    e.first += sqrt(d) / (2.0 * REAL_CUBE_HALF);
    e.second += 2.0 * kn_atan2(sqrt(away), fabs(dot)) * 57.29577951308232;
  }
  e.first /= t->frames;
  e.second /= t->frames;
  return e;
}

/* A toss's errors are measured by what is aimed at: 0.12 widths and 16 degrees count alike. */
double real_cost(real_error e, real_task task) {
  return task == REAL_PLANAR ? e.first : e.first / 0.12 + e.second / 16.0;
}

typedef struct crew {
  real_error* out;
  const real_contender* c;
  real_task task;
  const double* x;
  const real_data* data;
  const int* list;
  int count;
  atomic_int next;
  atomic_bool failed;
} crew;

static void* work(void* context) {
  crew* w = context;
  double* out = malloc(FRAMES * 7 * sizeof *out);
  void* world = out ? w->c->open(w->x) : NULL;
  for (int i; world && (i = atomic_fetch_add(&w->next, 1)) < w->count;) {
    int item = w->list[i];
    bool fits = w->task == REAL_PLANAR || w->data->tosses.at[item].frames <= FRAMES;
    if (!fits || !w->c->run(out, world, w->data, item)) {
      atomic_store(&w->failed, true);
      break;
    }
    w->out[i] = w->task == REAL_PLANAR ? impact_error(out, &w->data->impact[item])
                                       : toss_error(out, &w->data->tosses.at[item]);
  }
  if (!world) atomic_store(&w->failed, true);
  if (world) w->c->close(world);
  free(out);
  return NULL;
}

bool real_errors(real_error* out, const real_contender* c, real_task task, const double* x,
                 const real_data* data, const int* list, int count) {
  pthread_t thread[THREADS];
  crew w = {.out = out, .c = c, .task = task, .x = x, .data = data, .list = list, .count = count};
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int started = 0, wanted = cores > THREADS ? THREADS : (int)cores;
  while (started < wanted - 1 && pthread_create(&thread[started], NULL, work, &w) == 0) started++;
  work(&w);
  for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
  return !atomic_load(&w.failed);
}

/* ---- fits ---- */

typedef struct fitting {
  const real_contender* c;
  real_task task;
  const real_data* data;
  const int* list;
  int count;
  real_error* error;
} fitting;

static kn_status cost(double* item, const double* x, void* context) {
  fitting* f = context;
  bool good = real_errors(f->error, f->c, f->task, x, f->data, f->list, f->count);
  for (int i = 0; i < f->count; i++) item[i] = good ? real_cost(f->error[i], f->task) : INFINITY;
  return KN_OK;
}

static bool fit(double* x, double* best, const real_contender* c, real_task task, const real_data* data,
                const int* list, int count, int evaluations) {
  fitting f = {c, task, data, list, count, calloc((size_t)count, sizeof *f.error)};
  kn_fit_problem problem = {.items = count, .cost = cost, .context = &f};
  kn_fit_settings settings = kn_fit_default();
  kn_fit_result result;
  settings.evaluations = evaluations;
  settings.resamples = 0;
  while (c->parameter[problem.n]) problem.n++;
  memcpy(problem.range, c->range, (size_t)problem.n * sizeof *c->range);
  bool good = f.error && kn_fit_search(&result, &problem, &settings) == KN_OK;
  for (int k = 0; good && k < problem.n; k++) x[k] = result.parameter[k].value;
  if (good) *best = result.cost;
  if (good) kn_fit_result_free(&result);
  free(f.error);
  return good;
}

static int items_of(const real_data* d, real_task task) {
  return task == REAL_PLANAR ? d->impacts : d->tosses.count;
}

/* Each fold is predicted by parameters that have not seen it. */
static bool cross_validate(real_trial* t, real_task task, const real_data* data, int folds, int evaluations) {
  int n = t->items;
  int *inside = malloc((size_t)n * sizeof *inside), *outside = malloc((size_t)n * sizeof *outside);
  real_error* error = malloc((size_t)n * sizeof *error);
  bool good = inside && outside && error;
  for (int fold = 0; fold < folds && good; fold++) {
    int in = 0, out = 0;
    double x[REAL_PARAMETERS], best;
    for (int i = 0; i < n; i++)
      if (i % folds == fold)
        outside[out++] = i;
      else
        inside[in++] = i;
    good = fit(x, &best, t->contender, task, data, inside, in, evaluations) &&
           real_errors(error, t->contender, task, x, data, outside, out);
    for (int i = 0; i < out && good; i++) t->error[outside[i]] = error[i];
  }
  free(inside);
  free(outside);
  free(error);
  return good;
}

bool real_try(real_trial* t, const real_contender* c, real_task task, const real_data* training,
              const real_data* judge, int folds, int evaluations) {
  const real_data* judged = judge ? judge : training;
  int n = items_of(training, task), most;
  *t = (real_trial){.contender = c, .items = items_of(judged, task)};
  snprintf(t->name, sizeof t->name, "%s", c->name);
  most = n > t->items ? n : t->items;
  t->error = calloc((size_t)t->items, sizeof *t->error);
  int* all = malloc((size_t)most * sizeof *all);
  for (int i = 0; all && i < most; i++) all[i] = i;
  bool good = all && t->error && fit(t->x, &t->cost, c, task, training, all, n, evaluations);
  if (good && judge) good = real_errors(t->error, c, task, t->x, judge, all, t->items);
  if (good && !judge) good = cross_validate(t, task, training, folds, evaluations);
  free(all);
  return good;
}

/* ---- figures ---- */

static int by_size(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

double real_share(const real_trial* t, bool second, double share) {
  double* x = malloc((size_t)t->items * sizeof *x);
  if (!x) abort();
  for (int i = 0; i < t->items; i++) x[i] = second ? t->error[i].second : t->error[i].first;
  qsort(x, (size_t)t->items, sizeof *x, by_size);
  double at = share * (t->items - 1), low = floor(at); /* between two of them, linearly */
  double value = x[(int)low] + (at - low) * (x[(int)ceil(at)] - x[(int)low]);
  free(x);
  return value;
}

double real_mean(const real_trial* t, bool second) {
  double sum = 0.0;
  for (int i = 0; i < t->items; i++) sum += second ? t->error[i].second : t->error[i].first;
  return sum / t->items;
}
