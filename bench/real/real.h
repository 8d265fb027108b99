/* Real measurements: what the files of this bench and its peers share. A contender is an engine with some parameters; it
   is handed one item at a time, an impact or a toss, and says what it would have done. */
#ifndef KN_BENCH_REAL_H
#define KN_BENCH_REAL_H

#include <stdbool.h>

#include "fit/search.h"
#include "fit/track.h"

enum { REAL_MODELS = 6, REAL_PARAMETERS = 6 };

/* The ellipse and the cube (README of the data). */
#define REAL_MASS         0.0364
#define REAL_GYRATION     0.0192
#define REAL_A            0.035
#define REAL_B            0.025
#define REAL_CUBE_MASS    0.37
#define REAL_CUBE_INERTIA 8.1e-4
#define REAL_CUBE_HALF    0.0524
#define REAL_RATE         148.0
#define REAL_GRAVITY      9.81

/* One impact, in a right-handed frame whose first axis is the tangent of the recorded impulses (data.c says why that is
   not the axis of the recorded velocities). */
typedef struct real_impact {
  int name;
  double theta, before[3], impulse[2]; /* rad; m/s, m/s, rad/s; N s */
  double stored[REAL_MODELS][2];       /* impulses that published models predicted */
} real_impact;

typedef struct real_data {
  int impacts;
  real_impact* impact;
  kn_tracks tosses;
} real_data;

extern const char* const real_models[REAL_MODELS];

/* data.c: both tables of a folder; false with a sentence in why. */
bool real_data_read(real_data* data, const char* folder, char* why, size_t room);
void real_data_free(real_data* data);
/* Distance of the ellipse's centre from a plane it touches, whose normal is turned by tilt. */
double real_support(double theta, double tilt);

/* An engine. out: an impact's impulse (2 numbers), or a toss's frames (frames x 7). */
typedef struct real_contender {
  const char* name;
  const char* parameter[REAL_PARAMETERS]; /* ended by NULL */
  kn_fit_range range[REAL_PARAMETERS];
  void* (*open)(const double* x); /* one per thread; NULL: these parameters cannot be */
  bool (*run)(double* out, void* world, const real_data* data, int item);
  void (*close)(void* world);
} real_contender;

/* A peer's module exports one of these. */
typedef struct real_peer {
  const char* name;
  const char* (*version)(void);
  real_contender planar, tosses;
} real_peer;

extern const real_contender real_planar[]; /* ours, one per impact law; ended by a name NULL */
extern const real_contender real_tosses[];

#endif
