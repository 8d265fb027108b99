/* What the position repair leaves alone, and the repair of one contact (project_one.c). */
#ifndef KN_STEP_PROJECT_ONE_H
#define KN_STEP_PROJECT_ONE_H

#include "step/sim.h"

/* m. What is less than this is left to a later step: it does not grow, and penetrations do not enter
   velocities. */
#define KN_WORTH 1e-10
/* The same of slip along the surface: anchors remember all of it, so that none is ever lost; half of the
   promised 1e-9 m. */
#define KN_WORTH_SLIP 5e-10
/* The same of a loaded contact that lifted: its gap does not enter velocities either (hold.c). */
#define KN_WORTH_LIFT 1e-8
#define KN_QUICK_MOST 3e-5 /* m, rad: larger corrections get their own rows */
#define KN_FORESEEN   1e-7 /* m, rad: J d of such a correction is right to 1e-10 */

/* Without loops: nothing that could not wait. */
static inline bool kn_good_enough(double worst, double penetration) {
  return worst <= KN_WORTH || (worst <= KN_WORTH_SLIP && penetration <= KN_WORTH);
}

typedef enum kn_one {
  KN_ONE_OTHER, /* it has to go the general way, nothing was done */
  KN_ONE_MOVED, /* one correction was made; unless s->moved_on nobody has looked since */
  KN_ONE_DONE
} kn_one;

/* One contact, before and after (s->after), with the rows of the step still in s->work. */
bool kn_one_contact(const kn_sim* s);
/* q in place; worst: violation then; left: what the correction was to remove. */
kn_one kn_repair_one(kn_sim* s, double* q, double* worst, double* left);

#endif
