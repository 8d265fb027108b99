/* A scene under way: opened by one text, stepped by a named stepper. */
#ifndef KN_TEST_WORLD_H
#define KN_TEST_WORLD_H

#include "scene.h"

typedef struct kn_world {
  kn_scene_opened* scene;
  const kn_model* model;
  kn_state* state;
  kn_sim* sim;
  kn_sim_settings settings;
  const kn_report* report;
  double *q, *v;
} kn_world;

/* Names of the steppers a promise is checked with ("time", and "event" where it is listed), ended by NULL. */
const char* const* kn_world_steppers(void);

/* text: "incline slope=30 margin=1.01". dt 0: the scene's. change (may be NULL) edits the settings. A failure
   is a failed check of the running test; a world that could not be opened may still be closed. */
bool kn_world_open(kn_world* w, const char* text, const char* stepper, double dt,
                   void (*change)(kn_sim_settings* s));
/* The same under settings of one's own. */
bool kn_world_open_with(kn_world* w, const char* text, const kn_sim_settings* settings);
void kn_world_close(kn_world* w);
/* One step; false (a failed check) when the call failed. */
bool kn_world_step(kn_world* w);
/* Steps until the time is reached to half a step. */
bool kn_world_until(kn_world* w, double t);
double kn_world_energy(const kn_world* w); /* of the state, J: all kinds */

/* ---- creep ---- */

/* Loaded contacts at one instant with their material points on both geoms. */
typedef struct kn_creep {
  int count;
  struct {
    uint64_t key;
    kn_geom a, b;
    double on_a[3], on_b[3]; /* geom frames */
    double frame[9];         /* geom b's frame: normal, tangents */
    bool loaded;             /* in every step since then */
  } point[64];
} kn_creep;

void kn_creep_begin(kn_creep* c, kn_world* w);
/* After every step: drops points whose contact carried no load. */
void kn_creep_watch(kn_creep* c, const kn_world* w);
/* Largest tangential distance of the two material points of a contact that stayed loaded, m; *left: how many
   stayed. */
double kn_creep_now(const kn_creep* c, kn_world* w, int* left);

#endif
