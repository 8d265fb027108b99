/* Scenes for the engines, and what is measured on their states with our own model. */
#ifndef KN_BENCH_WORLD_H
#define KN_BENCH_WORLD_H

#include "engine.h"
#include "knuckle/step.h"
#include "scene.h"

typedef struct stage { /* a scene opened for all engines */
  kn_scene_opened* scene;
  kn_state* start;
  kn_state* probe; /* for measuring */
  kn_data* data;
  world w;
  int (*pair)[2]; /* geoms that may touch */
  int pairs;
  double* centre; /* of every geom, scratch */
  char mjcf[64];
} stage;

/* Exits with a message when the scene cannot be opened. */
void stage_open(stage* s, const char* scene, const char* const* settings, int count, double dt);
void stage_close(stage* s);

/* Of coordinates q and velocities v: kinetic + potential energy, the deepest overlap of two shapes, the
   number of touching pairs (gap <= touch). */
double stage_energy(stage* s, const double* q, const double* v);
double stage_penetration(stage* s, const double* q, int* touching, double touch);
/* Kinetic energy alone. */
double stage_kinetic(stage* s, const double* q, const double* v);
/* World positions of the geoms that touch a plane within `touch`: up to room of them, by geom index. */
int stage_feet(stage* s, const double* q, double touch, int* geom, double (*at)[3], int room);

/* Knuckle as one of the engines: default settings; with the energy-keeping integrator, for long chains; solved to
   1e-2, for piles. */
typedef enum ours_variant { OURS_DEFAULT, OURS_KEEP, OURS_COARSE, OURS_SWEEPS } ours_variant;
extern const engine engine_ours;
typedef struct ours_facts {
  double residual; /* worst so far */
  long impacts, troubles;
  double first_impact,
      second_impact; /* times of the first steps in which something came to touch; infinite: none */
  bool failed;
} ours_facts;
ours_facts engine_ours_facts(void* self);
kn_sim* engine_ours_sim(void* self);
/* As engine_ours.create with another step size, stepper and impact law (NULL: the scene's). */
void* engine_ours_open(const world* w, double dt, const char* stepper, const char* law);

#endif
