/* Loads of the contacts of recorded steps, as export, plot and the page show them: forces in N, blows in N s,
   sums by pair and body, what the motion determines, and of what it does not the choice of --forces. */
#ifndef KN_CLI_LOADS_H
#define KN_CLI_LOADS_H

#include "command.h"
#include "knuckle/force.h"
#include "knuckle/record.h"

#define KN_FORCES_OPTION                                                                                     \
  {                                                                                                          \
    .name = "--forces", .type = KN_OPTION_CHOICE, .choices = "nearest|least|solved", .value = "WHICH",       \
    .fallback = "nearest",                                                                                   \
    .help = "where the motion leaves contact forces open: those nearest to the step before, the smallest, "  \
            "or what the solver found"                                                                       \
  }

/* What --forces asks for. */
kn_force_choice kn_forces_asked(const kn_args* args);
/* The same where one step has one contact problem; of other steppers, and of split steps, the solver's. */
kn_force_choice kn_forces_of_stepper(kn_force_choice choice, const char* stepper, bool split);

typedef struct kn_loads { /* of the step that was asked for last */
  const kn_contact_load* load;
  const kn_load_sum* sum;
  int sums;
  bool failed; /* the loads of some step could not be had: no memory */
} kn_loads;

/* NULL: no memory. */
kn_loads* kn_loads_create(const kn_recording* recording, kn_force_choice choice);
void kn_loads_free(kn_loads* loads);
/* Step after step, since a force may depend on the one before. With `judge` also what the motion determines. */
bool kn_loads_of(kn_loads* loads, const kn_recorded* step, bool judge);

#endif
