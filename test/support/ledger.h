/* The energy balance of a report. */
#ifndef KN_TEST_LEDGER_H
#define KN_TEST_LEDGER_H

#include "knuckle/step.h"

/* Work of all columns less the change of the energies, J: rounding. */
static inline double kn_ledger_left(const kn_ledger* l) {
  double sum =
      -2.0 * (l->kinetic + l->potential + l->spring); /* once as columns, once as what they balance */
#define X(name) sum += l->name;
  KN_LEDGER_LIST(X)
#undef X
  return sum;
}

#endif
