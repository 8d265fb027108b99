/* What a simulator remembers of a run beside the state: totals and extremes of the energy, where the last step
   ended, the contacts it reported. With it and the state any simulator of the same settings goes on to the
   same bits and the same reports. One simulator then serves many worlds (src/pool), and kn_sim_clone makes a
   second one like the first. */
#pragma once

#include "step/sim.h"

typedef struct kn_carry {
  kn_ledger total;
  kn_energy_rise rise;
  kn_sim_rise begun; /* what report.rise is made of */
  kn_energy energy;  /* where the last step ended */
  double gain_rel, kinetic_max, potential_min, potential_max;
  double soft_dt, soft_t; /* compliant steppers: length of the last step, where it ended */
  bool started;
  int lasts, last_room;
  kn_seen* last; /* lasts; its own memory */
  double *q, *v; /* nq, nv: where the last step ended; its own memory */
} kn_carry;

/* Of a run that has not begun. */
kn_status kn_carry_create(kn_carry* carry, const kn_model* model);
void kn_carry_destroy(kn_carry* carry);
void kn_carry_clear(kn_carry* carry);
/* From a simulator, after its steps: allocates only when there are more contacts than ever before. */
kn_status kn_carry_take(kn_carry* carry, const kn_sim* sim);
/* Into a simulator, before its steps. Its report is of no use until the next step. */
void kn_carry_give(kn_sim* sim, const kn_carry* carry);

/* The simulator is from now on one of this model, which differs from its own only as kn_model_vary differs.
   false: this simulator cannot (its formulation or stepper keeps numbers of the model, or its broad phase),
   and another one is to be made. Allocates nothing. */
bool kn_sim_adopt(kn_sim* sim, const kn_model* model);
