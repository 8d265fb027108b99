/* Many worlds of one model on several threads: reinforcement learning, Monte Carlo, design search.

   A pool has W worlds and T threads. Each thread has one simulator and takes worlds in turn; what belongs to
   a world (state, warm start, sticking contacts, the record of its energy) is exchanged between worlds, so
   memory is T simulators and W small states. Results are those of a simulator of its own for every world, bit
   for bit, for any T and any order. Steps allocate nothing, unless a world finds more contacts than any
   before it: then room grows between two steps. A world that fails is reported and rests until its reset; the
   others go on.

   The states are rows of one array that the caller owns: t, q (nq), v (nv) of world 0, then of world 1 …
   (kn_pool_width numbers each). It is read when a call begins and written when it ends, so a row that the
   caller changes is where its world goes on. */
#ifndef KNUCKLE_POOL_H
#define KNUCKLE_POOL_H

#include "knuckle/sensor.h"
#include "knuckle/step.h"

KN_BEGIN_DECLS

/* Worlds of one model and the threads that step them. One call at a time. */
typedef struct kn_pool kn_pool;

/* All worlds at the model's reference position, at rest. threads: the caller's included; 0: one for each
   processor this process may use. settings NULL: defaults; its callbacks are called from all threads. The
   model must live as long. */
KN_API kn_status kn_pool_create(kn_pool** pool, const kn_model* model, const kn_sim_settings* settings,
                                int worlds, int threads);
/* Frees it; NULL is fine. */
KN_API void kn_pool_destroy(kn_pool* pool);
KN_API int kn_pool_worlds(const kn_pool* pool);
KN_API int kn_pool_threads(const kn_pool* pool);
KN_API int kn_pool_width(const kn_pool* pool); /* numbers in a row: 1 + nq + nv */

/* A controller of all worlds, as kn_sim_set_controller has it: asked within every step, its memory part of each
   state; called from all threads, so its context must not change. NULL: none. */
KN_API kn_status kn_pool_set_controller(kn_pool* pool, const kn_controller* controller);

/* ---- stepping ---- */

/* Where and when a callback is called. */
typedef struct kn_pool_at {
  int world;
  int thread;   /* 0 … kn_pool_threads - 1: no other call has this number at the same time */
  int64_t step; /* of this call of kn_pool_step, from 0 */
} kn_pool_at;

/* Before a step of a world: writes controls (nu, as they are) and applied forces (nv, as they are). Anything
   but KN_OK ends the world's run with this status. Called from all threads; the result may depend on the
   world and the state only, or runs are not the same twice. */
typedef kn_status (*kn_pool_control)(double* ctrl, double* force, const kn_pool_at* at, kn_state* state,
                                     void* context);
/* After every `every`-th step of a world: writes its row of values (sensors, rewards, features), and may end
   the world's run by *done = true. The simulator has the report and the derived values of this step. */
typedef kn_status (*kn_pool_observe)(double* value, bool* done, const kn_pool_at* at, kn_sim* sim,
                                     kn_state* state, void* context);

/* Inputs of a call and what is kept of it; every pointer but state may be NULL. Arrays have the world as
   their first index, then the row; kept rows are steps / every. Rows that a world did not reach are left as
   they were. */
typedef struct kn_pool_run {
  int64_t steps;
  double* state; /* worlds x width, in and out */

  const double* ctrl;  /* worlds x rows x nu: row i holds for steps i hold … (i + 1) hold - 1 */
  const double* force; /* worlds x rows x nv */
  int64_t hold;        /* steps for which a row holds; 0: one row for all steps */
  kn_pool_control control;

  int64_t every;       /* 0: the final state only */
  double *q, *v, *t;   /* worlds x kept x nq, x nv, x 1 */
  int32_t* contacts;   /* worlds x kept: how many */
  kn_contact* contact; /* worlds x kept x contact_room: the first of them */
  int contact_room;
  double* sensor; /* worlds x kept x kn_model_sensor_numbers (sensor.h) */
  kn_pool_observe observe;
  double* value; /* worlds x kept x values */
  int values;
  void* context; /* of control and observe */

  uint8_t* done;     /* worlds: not 0: it rests; set by observe and by failures */
  int64_t* taken;    /* worlds: steps it made in this call */
  kn_status* status; /* worlds: KN_OK, or why it ended */
} kn_pool_run;

/* How a call went, over all worlds. */
typedef struct kn_pool_summary {
  int64_t steps;      /* made, all worlds */
  int64_t contacts;   /* reported, all steps */
  int64_t troubles;   /* steps in trouble (trouble.h) */
  int failed;         /* worlds that have failed and wait for their reset */
  double residual;    /* worst */
  double penetration; /* largest, m */
} kn_pool_summary;

/* Steps all worlds. KN_OK also when worlds fail: summary (or NULL) counts them. Not finite inputs fail the
   world that has them. */
KN_API kn_status kn_pool_step(kn_pool_summary* summary, kn_pool* pool, const kn_pool_run* run);
/* Why a world has failed, in a sentence; "" if it has not. */
KN_API const char* kn_pool_failure(const kn_pool* pool, int world);
/* A world with all that is not in its row: warm start, sticking contacts, inputs; to save, hash and copy.
   Written between calls only; t, q, v are those of the row in the next kn_pool_step. */
KN_API kn_state* kn_pool_state(kn_pool* pool, int world);
/* The world goes on from a copy of this state (of the pool's model), and its row of `state` (or NULL) is
   written. */
KN_API kn_status kn_pool_put(double* state, kn_pool* pool, int world, const kn_state* from);
/* The model of a world: the pool's, or its own since a reset with a variation. */
KN_API const kn_model* kn_pool_model(const kn_pool* pool, int world);

/* ---- reset ---- */

/* Random differences, drawn evenly between two bounds; {0, 0} stands for no difference. They depend on seed,
   world and how often the world has been reset, on nothing else. */
typedef struct kn_pool_ranges {
  uint64_t seed;
  double mass[2];        /* factor of all masses together */
  double body_mass[2];   /* factor of each body by itself */
  double friction[2];    /* factor of all friction coefficients */
  double restitution[2]; /* added to every e */
  double size[2];        /* factor of the shapes of moving bodies */
  double gravity[3][2];  /* added, m/s² */
  int delay[2];          /* of the controls, steps, both bounds included */
  double q[2], v[2];     /* added to every scalar coordinate, and to every velocity */
} kn_pool_ranges;

/* Which worlds begin again, and where. */
typedef struct kn_pool_reset {
  double* state;                 /* worlds x width: rows of the worlds that begin again are written */
  const uint8_t* mask;           /* worlds: not 0: this one; NULL: all */
  int keyframe;                  /* of the model; -1: reference position, or `start` */
  const double* start;           /* width numbers, or NULL */
  const kn_pool_ranges* ranges;  /* or NULL */
  const kn_variation* variation; /* worlds, or NULL; ranges are drawn on top (body_mass instead of its own) */
  const int* delay;              /* worlds: steps by which controls come late, or NULL */
  uint8_t* done;                 /* worlds, or NULL: 0 for those that begin again */
  bool recount;                  /* this is their first reset: the same seed gives the same draws again */
} kn_pool_reset;

/* Worlds with differences get a model of their own (allocates). On failure (a variation no model can have) the
   first offender is named and its world has failed. */
KN_API kn_status kn_pool_begin(kn_pool* pool, const kn_pool_reset* reset);

/* ---- derivatives ---- */

/* Linearisation of `steps` steps about a state: δx⁺ = A δx + B δu, x = (tangent of q, v), 2 nv numbers. By
   centred differences of width h over the threads of a pool. A column is near a switch when its two sides and
   the middle do not have the same contacts, sticking, slipping, limits and impacts all the way: it is then a
   chord, no derivative. */
typedef struct kn_linearization {
  double* A;     /* 2 nv x 2 nv, row-major */
  double* B;     /* 2 nv x nu, or NULL */
  uint8_t* near; /* 2 nv + nu, or NULL: 1 near a switch */
  int switches;  /* columns near a switch */
} kn_linearization;

/* h: half the distance between the sides in rad, m, and their rates; 0: 1e-4. Truncation is of order h²; what
   the contact solver's tolerance leaves in a velocity (some 1e-6 m/s in a standing robot) comes in divided by
   h. The state is not changed. */
KN_API kn_status kn_linearize(kn_linearization* out, kn_pool* pool, const kn_state* state, int steps,
                              double h);

KN_END_DECLS
#endif
