/* A contender on a list of items: its errors, its fit, its cross-validation; and pictures of them. */
#ifndef KN_BENCH_REAL_TRIAL_H
#define KN_BENCH_REAL_TRIAL_H

#include "bench.h"
#include "real.h"

typedef enum real_task { REAL_PLANAR, REAL_TOSSES } real_task;

/* Planar: relative error of the impulse in first. Tosses: position in widths, rotation in degrees. */
typedef struct real_error {
  double first, second;
} real_error;

typedef struct real_trial {
  char name[64];
  const real_contender* contender; /* NULL: stored predictions */
  double x[REAL_PARAMETERS];       /* fitted on the whole training part */
  double cost;                     /* there */
  real_error* error;               /* of every judged item */
  int items;
} real_trial;

/* Errors of the items list[0 … count - 1] of data, on all cores. False: these parameters cannot be. */
bool real_errors(real_error* out, const real_contender* c, real_task task, const double* x,
                 const real_data* data, const int* list, int count);
/* An error as one number: what is fitted. */
double real_cost(real_error e, real_task task);
/* Fits on the training part and judges on `judge`, or by cross-validation over so many folds where judge is NULL. */
bool real_try(real_trial* trial, const real_contender* c, real_task task, const real_data* training,
              const real_data* judge, int folds, int evaluations);
double real_share(const real_trial* trial, bool second, double share); /* percentile, 0 … 1 */
double real_mean(const real_trial* trial, bool second);

/* pictures.c: distributions of errors, and the worst cases of ours, as SVG in a folder. */
void real_pictures(const char* folder, real_task task, const real_trial* trials, int count,
                   const real_data* judged);

#endif
