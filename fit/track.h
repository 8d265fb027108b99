/* Recorded trajectories, simulated again: how far a model's motion is from the recorded one. */
#ifndef KN_FIT_TRACK_H
#define KN_FIT_TRACK_H

#include "knuckle/load.h"
#include "knuckle/step.h"

/* One trajectory: its frames in the coordinates of a model. */
typedef struct kn_track {
  char name[48];
  int frames;
  double* t; /* frames, s, ascending */
  double* q; /* frames x nq; NAN: not recorded */
  double* v; /* nv: velocity in the first frame */
} kn_track;

typedef struct kn_tracks {
  int count, room, nq, nv;
  kn_track* at;
} kn_tracks;

/* read.c: the files a study's section `fit` names, relative to the study. Coordinates that a file does not have start
   as in `start` (nq) and are not compared. */
kn_status kn_tracks_read(kn_tracks* tracks, const kn_model* model, const double* start,
                         const kn_study* study);
/* A new track of so many frames, filled with NAN (q) and 0; NULL: no memory. */
kn_track* kn_tracks_add(kn_tracks* tracks, int frames);
void kn_tracks_free(kn_tracks* tracks);

/* What is simulated. */
typedef struct kn_fit_world {
  const kn_model* model;
  kn_sim_settings settings; /* dt: at most; a whole number of steps fits between two frames */
  kn_controller controller; /* fn NULL: none */
} kn_fit_world;

/* How errors of different kinds add up: |Δposition| / length + |Δangle| / angle, its mean over the recorded joints. */
typedef struct kn_fit_scales {
  double length, angle; /* m, rad: an error as bad as the other one's */
  bool squares;         /* mean of squares instead */
} kn_fit_scales;

/* A trajectory's errors: means over its frames. */
typedef struct kn_track_score {
  double cost;
  double position, rotation; /* m, rad; 0: none recorded */
} kn_track_score;

/* Errors of simulated frames q (frames x nq) beside the recorded ones. */
void kn_track_compare(kn_track_score* out, const kn_model* model, const kn_track* track, const double* q,
                      const kn_fit_scales* scales);
/* Simulates one track: frames x nq. A step that fails leaves the rest where it stopped. */
kn_status kn_track_follow(double* q, const kn_fit_world* world, const kn_track* track);
/* All of them, on so many threads; score: tracks->count. The same numbers for any number of threads. */
kn_status kn_tracks_score(kn_track_score* score, const kn_fit_world* world, const kn_tracks* tracks,
                          const kn_fit_scales* scales, int threads);

#endif
