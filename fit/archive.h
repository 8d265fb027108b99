/* What search.c and interval.c share: the problem in a unit box, and every point that was evaluated. */
#ifndef KN_FIT_ARCHIVE_H
#define KN_FIT_ARCHIVE_H

#include "fit/search.h"

typedef struct kn_fit_archive {
  const kn_fit_problem* problem;
  int n, items, count, room;
  double* u;    /* count x n, 0 … 1 */
  double* item; /* count x items */
  double* mean; /* count; INFINITY: cannot be */
  int best;     /* the answer so far: the least mean, until settled */
  bool settled; /* the answer stands: what follows is for the intervals */
  int most;     /* evaluations that are expected in all, for `watch` */
} kn_fit_archive;

/* Evaluates u (n) and keeps it as the last point. */
kn_status kn_fit_evaluate(kn_fit_archive* archive, const double* u);
double kn_fit_from_unit(const kn_fit_range* range, double u);
double kn_fit_to_unit(const kn_fit_range* range, double x);
/* Standard error of the mean over items of item costs a less b (b NULL: 0). */
double kn_fit_standard_error(const double* a, const double* b, int items);

/* interval.c: do the items tell that point i is worse than the best one? */
bool kn_fit_noticed(const kn_fit_archive* archive, int i);
/* interval.c: intervals and identifiability around the best point. */
kn_status kn_fit_intervals(kn_fit_result* out, kn_fit_archive* archive, const kn_fit_settings* settings);

#endif
