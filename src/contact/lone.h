/* One contact alone on a chain in a plane, in the operational-space formulation (lone.c). */
#ifndef KN_CONTACT_LONE_H
#define KN_CONTACT_LONE_H

#include "contact/formulation.h"

/* Whether problems of this work may be solved so if a contact is alone; it does not change. */
bool kn_lone_may(const kn_contact_work* w, int friction, const char* solver);

/* λ (on entry a guess) and v⁺ of the one group of `set`, whose rows kn_rows_lone_aim has aimed with `tangent`
   as its answer; u_free = J v_free. What kn_contact_begin and kn_contact_solve would give, bit for bit, and W
   and Y as they would leave them. False: it takes these two. */
bool kn_lone_solve(double lambda[3], double* v_plus, kn_solve_info* info, kn_contact_work* w,
                   const kn_constraints* set, int tangent, const double* v_free, const double* u_free,
                   double tolerance);

#endif
