/* One scene run by every engine in turns: times, and what the states show when our model looks at them. */
#ifndef KN_BENCH_RACE_H
#define KN_BENCH_RACE_H

#include "bench/harness/bench.h"
#include "world.h"

enum { RACE_ENTRIES = 20, RACE_REPEATS = 31 };

typedef struct race_entry {
  const engine* api;
  int variant;
  char name[32];
  bool ours, first; /* first: the row's "knuckle" */
  void* self;
  double spent;                /* s, this pass */
  double sample[RACE_REPEATS]; /* us a step */
  int samples;
  double us; /* their median */
  /* of the measured pass */
  double energy_start, energy_end, energy_after; /* after the first impact; NaN: not reached */
  double energy_error;       /* against the reference, over the kinetic energy before the impact */
  double energy_error_total; /* the same over the reference's energy */
  double gain;               /* largest rise of the energy, over the same */
  double lowest;
  double penetration, drift, slip, residual, first_contact, reached;
  double mismatch; /* energy by the engine and by our model at its last coordinates, relative */
  int contacts;    /* the engine's own count at the end */
  int touching;    /* pairs with a gap <= 0.1 mm at the end, by our model */
  bool refused;
  char why[160];
} race_entry;

typedef struct race_kind {
  const char* scene;
  char setting[64];
  double duration, dt;
  bool swings;  /* a first impact after free motion: energies are compared */
  bool stands;  /* contacts at rest are counted, slip is measured */
  int contacts; /* expected at the end; 0: any */
} race_kind;

typedef struct race {
  race_kind kind;
  stage s;
  race_entry entry[RACE_ENTRIES];
  int entries, steps;
  /* reference run */
  double impact, sample_time, energy[2]; /* Poisson's and Newton's law */
  double kinetic;                        /* J, before the impact; of a pile: lost in falling */
  char reference[64];
} race;

/* peers: `count` engines of modules, NULL entries are skipped; only: those whose name contains it, or NULL.
   budget: seconds of one run after which a peer is stopped; one that needs a tenth of it runs only once. */
void race_run(race* r, const race_kind* kind, const engine* const* peers, int count, const char* only,
              int repeats, double budget);
void race_close(race* r);
/* The fastest peer that simulated the scene; NULL: none. */
const race_entry* race_best(const race* r);
const race_entry* race_ours(const race* r);

#endif
