/* What the simulator sets on the memory of a solver (driver_work.c): threads, and how much the solves of a step may cost. */
#ifndef KN_COMP_DRIVER_WORK_H
#define KN_COMP_DRIVER_WORK_H

#include "knuckle/comp.h"

/* Threads that share large factorisations, or NULL. The same bits. */
struct kn_crew;
kn_status kn_solver_work_crew(kn_solver_work* work, struct kn_crew* crew);
/* The solves between two calls of kn_solver_work_begin may cost as much as so many Newton steps (kn_drive_spent); 0: as much as
   their methods ask for. */
void kn_solver_work_patience(kn_solver_work* work, double steps);
void kn_solver_work_begin(kn_solver_work* work);

#endif
