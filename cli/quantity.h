/* Recorded quantities by name, for export and plot. */
#ifndef KN_CLI_QUANTITY_H
#define KN_CLI_QUANTITY_H

#include "command.h"
#include "loads.h"

typedef struct kn_quantity {
  char*
      name; /* q.JOINT, v.JOINT, u.ACTUATOR, energy.kinetic, ledger.friction, force.A.B, residual, …; no two are equal */
  const char* unit;
  int kind, index;
  kn_body a, b;
  uint64_t key;    /* of a contact */
  kn_loads* loads; /* of the table */
} kn_quantity;

typedef struct kn_table { /* every quantity of a recording */
  kn_quantity* at;
  int count, capacity;
  kn_loads* loads;
} kn_table;

/* All quantities: coordinates, velocities, controls, scalars, ledger; for each pair of bodies that ever touched
   normal force and friction (N, sums of the contacts' sizes), impulse of blows (N s), whether the motion
   determines the pair's force, gap; for each such body force and impulse in world axes; for each contact its
   force, point, mode. */
kn_status kn_table_create(kn_table* table, kn_recording* recording, kn_force_choice choice);
void kn_table_free(kn_table* table);
/* Step after step (loads.h). */
double kn_quantity_value(const kn_quantity* q, const kn_recorded* step);
/* OUT_OF_MEMORY when a value that was asked for could not be had. */
kn_status kn_table_status(const kn_table* table);
/* The nearest name to a misspelt one, or NULL. */
const char* kn_table_near(const kn_table* table, const char* name);
/* Marks what a comma-separated list asks for: exact names or prefixes (q, v.arm, ledger). NULL list:
   everything but single contacts. False and wrong when a word matches nothing. */
bool kn_table_select(bool* chosen, const kn_table* table, const char* list, char wrong[120]);

#endif
