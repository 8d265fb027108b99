/* Islands at rest sleep: they cost nothing until something reaches them.

   A tree whose velocities stay below settings.sleep for settings.sleep_time is at rest; when all trees of an island (trees
   that press on each other) are, the island falls asleep: its velocities become zero, and what its contacts remember (pair
   caches, impulses, anchors) waits in blocks of the state of its own. The steps are then taken by a simulator of the
   part of the mechanism that is awake, in which the sleeping shapes stand still. An island wakes, before the
   step in question is taken, when a shape of the awake part comes within reach of one of its shapes, or when its
   coordinates, velocities, forces or controls are changed. Reports and energies are those of the whole.

   Who sleeps is part of the state (block "sleep", one number per tree), so that a saved state goes on the same. */
#pragma once

#include "step/sim.h"

/* A tree of the mechanism: ranges of links, coordinates, dofs. */
typedef struct kn_tree {
  int link, link_end, q, q_end, v, v_end;
  bool able; /* it may sleep: no loops, no rules that name it together with another tree */
} kn_tree;

/* The awake part of the mechanism. Indices of geoms are those of the whole. */
typedef struct kn_sleep_part {
  kn_model* model;
  kn_sim* sim;
  kn_state* state;
  int *limit, *joint, *actuator; /* of the whole, by index of the part */
} kn_sleep_part;

typedef struct kn_sleep {
  int trees, sleepers, islands; /* islands that sleep */
  kn_tree* tree;
  int* tree_of_geom;     /* ngeom; -1: stands still */
  int* tree_of_actuator; /* nu */
  bool* asleep;          /* trees */
  bool* wakes;           /* trees: marked to wake */
  int *island, *parent;  /* trees: island of a sleeper; scratch */
  uint64_t stamp;        /* of the state this belongs to, as it is */
  int64_t step;
  bool off;                 /* somebody needs every body awake (a recorder) */
  double *q, *force, *ctrl; /* as they were when they fell asleep: nq, nv, nu */
  kn_contact* contact;      /* of the sleepers, as last reported */
  int contacts, contact_room;
  uint64_t* keys; /* scratch, sorted */
  int key_room;
  kn_energy energy;   /* of the sleepers */
  double penetration; /* deepest of their contacts, m */
  kn_sleep_part part;
} kn_sleep;

kn_status kn_sleep_create(kn_sleep** sleep, kn_sim* sim);
void kn_sleep_destroy(kn_sleep* sleep);
/* A step with all that sleeping needs; kn_step_for of simulators that have it. */
kn_status kn_sleep_step(kn_sim* sim, kn_state* state, double dt);
/* Poses and velocities of the whole in the simulator's data, which the part's steps do not write. */
void kn_sleep_fill(kn_sim* sim);

/* sleep_part.c: the awake part made and dropped; a step's numbers in and out. */
kn_status kn_sleep_part_create(kn_sim* sim, kn_state* state);
void kn_sleep_part_drop(kn_sleep* sleep);
void kn_sleep_part_feed(kn_sim* sim, const kn_state* state);
kn_status kn_sleep_part_fetch(kn_sim* sim, kn_state* state);

/* sleep_entries.c: what contacts remember, between the blocks of the awake and of the sleepers. mine: trees whose entries
   move; records: contacts among which theirs are. */
kn_status kn_sleep_move(kn_sim* sim, kn_state* state, const bool* mine, bool to_sleep,
                        const kn_contact* records, int count);

/* The tree of a contact that may sleep or wake, or -1: both its geoms stand still. */
static inline int kn_sleep_tree(const kn_sleep* z, const kn_contact* c) {
  int a = z->tree_of_geom[c->geom_a];
  return a >= 0 ? a : z->tree_of_geom[c->geom_b];
}
