/* Inside a pool: worlds, and the threads' simulators. */
#pragma once

#include "base/crew.h"
#include "knuckle/pool.h"
#include "step/carry.h"

enum { KN_POOL_TEXT = 192 };

/* One world. On cache lines of its own: neighbours are stepped by other threads. */
typedef struct kn_world {
  kn_state* state;
  kn_carry carry;
  const kn_model* model; /* the pool's, or own */
  kn_model* own;         /* since a reset with differences, or NULL */
  uint64_t resets;
  kn_status status; /* not KN_OK: it has failed */
  char text[KN_POOL_TEXT];
} __attribute__((aligned(64))) kn_world;

/* What one thread has for itself. */
typedef struct kn_hand {
  kn_sim* sim;     /* NULL: it could not be made again */
  kn_state* state; /* scratch of kn_linearize, made on first use; so is */
  kn_carry blank;  /* the record of a run that has not begun */
  kn_pool_summary sum;
} __attribute__((aligned(64))) kn_hand;

struct kn_pool {
  const kn_model* model;
  kn_sim_settings settings;
  char* fast; /* the text of settings.fast */
  kn_controller controller;
  kn_crew* crew;
  kn_hand* hand; /* threads */
  kn_world* world;
  int worlds, threads;
};

static inline int kn_pool_row(const kn_model* m) { return 1 + m->nq + m->nv; }
/* The world has failed: status and the last error of this thread. */
void kn_world_fail(kn_world* world, kn_status status);
/* The world's row from its state, or the other way if they differ. */
void kn_world_write(double* row, const kn_world* world);
void kn_world_read(kn_world* world, const double* row);

/* The hand's simulator becomes one of this model. */
kn_status kn_hand_turn(kn_hand* hand, const kn_pool* pool, const kn_model* model);
/* All simulators are of the pool's own model (or none): models of worlds may go. */
void kn_pool_turn_back(kn_pool* pool);

/* "delay" block of a state: so many rows of controls that have been given and do not act yet. */
kn_status kn_delay_set(kn_state* state, int steps);
/* The control that acts now: the one given as many steps ago; ctrl in and out. */
void kn_delay_pass(kn_state* state, double* ctrl);
