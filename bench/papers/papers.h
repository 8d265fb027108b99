/* Pieces of the bench of the papers' tables. */
#ifndef KN_BENCH_PAPERS_H
#define KN_BENCH_PAPERS_H

#include <stdbool.h>

#include "bench/harness/bench.h"

enum { SAMPLES = 5001 };

/* One pendulum run. */
typedef struct run {
  double cpu, duration; /* s of CPU time in all, s simulated */
  long steps, contacts, impacts;
  double residual, gain, drift;
  double t[SAMPLES], height[SAMPLES], speed[SAMPLES]; /* of the last link, vertical */
} run;

typedef struct run_settings {
  const char *scene, *formulation;
  int links;
  double duration; /* s */
  bool hinge_bias;
  bool general; /* no fast paths: the kernels for motions in space, as both of the papers' methods had */
} run_settings;

/* poly4 friction and Lemke, as in the papers. */
bool simulate(run* r, const run_settings* s);
/* LCP size with four contacts and four directions; links 0: the scene has no such parameter. */
int size_of(const char* scene, int links, const char* formulation);
/* Slope of log y over log x. */
double exponent(const double* x, const double* y, int n);
double cpu_now(void);

/* ---- growth.c: how set-up and step grow with the number of links at four fixed contacts ---- */
enum { GROWTH_SIZES = 9 };
typedef struct growth {
  const char* formulation;
  int count, links[GROWTH_SIZES];
  double x[GROWTH_SIZES], setup[GROWTH_SIZES], step[GROWTH_SIZES]; /* links, s, s */
  double setup_exponent, step_exponent;                            /* over the larger half of the sizes */
} growth;

bool grow(growth* g, const char* formulation, int largest);
void growth_figure(const char* folder, const growth* list, int count);

/* ---- figures.c ---- */
/* Height and vertical velocity of the last link by two formulations, as in the papers' figures. */
bool papers_figure(const char* folder, const char* name, const char* scene, int links, double duration);

#endif
