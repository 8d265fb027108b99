/* knuckle fit: what its files share.

     fit.c       the command
     fit_page.c  the report as one HTML file */
#ifndef KN_CLI_FIT_REPORT_H
#define KN_CLI_FIT_REPORT_H

#include "fit/search.h"
#include "fit/track.h"
#include "subject.h"

/* A finished fit. */
typedef struct kn_fit_report {
  const kn_args* args;
  const kn_study* study;
  const kn_fit_result* result;
  const kn_tracks* tracks;
  const kn_track_score* score; /* of every track, at the values found */
  const kn_fit_world* world;   /* with the values found */
  double seconds;
} kn_fit_report;

/* fit_page.c: parameters, errors and the worst trajectories, beside the study or where --output says. */
kn_exit kn_fit_page(const kn_fit_report* report, const char* path);
/* Number of the track with this rank of cost; 0: the worst. */
int kn_fit_ranked(const kn_fit_report* report, int rank);

#endif
