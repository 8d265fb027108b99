/* Parameters that make many recorded trajectories come out as measured: the least mean of many costs over a box, the
   spread of the answer, and whether the data determine it at all. Nothing here knows what a cost is.

     kn_fit_problem problem = {.n = 2, .items = tracks, .cost = cost, .context = &mine, .range = {…}};
     kn_fit_settings settings = kn_fit_default();
     kn_fit_result result;
     kn_status status = kn_fit_search(&result, &problem, &settings);
     … result.parameter[0].value …
     kn_fit_result_free(&result);

   The same seed gives the same bits. */
#ifndef KN_FIT_SEARCH_H
#define KN_FIT_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "knuckle/status.h"

enum { KN_FIT_PARAMETERS = 12 };

/* Where a parameter may be, and where the search begins. */
typedef struct kn_fit_range {
  double from, to, start;
  bool log; /* the search sees its logarithm; from > 0 */
} kn_fit_range;

typedef struct kn_fit_problem {
  int n, items; /* parameters, 1 … KN_FIT_PARAMETERS; costs, at least 1 */
  kn_fit_range range[KN_FIT_PARAMETERS];
  /* The costs of all items, >= 0, at x (n). Anything but KN_OK ends the search with it; a cost that is not
     finite means that this x cannot be. */
  kn_status (*cost)(double* item, const double* x, void* context);
  /* May be NULL: told after every evaluation how far things are; false ends the search (KN_INTERRUPTED). */
  bool (*watch)(int evaluations, int most, double best, void* context);
  void* context;
} kn_fit_problem;

typedef struct kn_fit_settings {
  int evaluations;  /* of all costs, at most, for the search itself; default 100 + 80 n as 0 */
  double tolerance; /* the search ends when its steps are this part of the ranges; default 2e-4 */
  double scatter; /* or when its points differ by less than this part of the standard error of the mean cost:
                       more digits would fit the noise; default .05 */
  int resamples;  /* of the bootstrap; 0: no intervals; default 400 */
  double level;   /* of the intervals, default .95 */
  uint64_t seed;
} kn_fit_settings;
kn_fit_settings kn_fit_default(void);

typedef struct kn_fit_parameter {
  double value;
  double low, high;  /* interval of `level`; the whole range when not identifiable; NAN: not asked for */
  bool identifiable; /* the data determine it: the interval is shorter than half the range */
  int partner;       /* not identifiable because only a combination with this one matters; -1: none */
  double step;       /* change that the data notice (twice the standard error), as part of the range */
} kn_fit_parameter;

typedef struct kn_fit_result {
  int n, items;
  kn_fit_parameter parameter[KN_FIT_PARAMETERS];
  double cost;  /* mean at the values */
  double error; /* its standard error over the items */
  double* item; /* costs of the items at the values */
  int evaluations;
  bool converged; /* not ended by the limit of evaluations */
  /* Every evaluated point, in order, for pictures: n numbers each, and their mean costs. */
  double *trace, *trace_cost;
  int traced;
} kn_fit_result;

kn_status kn_fit_search(kn_fit_result* out, const kn_fit_problem* problem, const kn_fit_settings* settings);
void kn_fit_result_free(kn_fit_result* result);

#endif
