/* A few contacts of a motion in a plane (flat.c). */
#ifndef KN_COMP_FLAT_H
#define KN_COMP_FLAT_H

#include "comp/problem/problem.h"

/* By their modes, from r if warm. False: this is no such problem, or nothing good was found. */
bool kn_flat_answer(double* r, kn_solve_info* info, const kn_problem* p, double tol, bool warm,
                    kn_solver_work* w);

#endif
