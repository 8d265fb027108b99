/* A few contacts of a motion in a plane (flat.c). */
#pragma once

#include "comp/problem/problem.h"

/* By their modes, from r if warm. False: this is no such problem, or nothing good was found. */
bool kn_flat_answer(double* r, kn_solve_info* info, const kn_problem* p, double tol, bool warm,
                    kn_solver_work* w);

/* Whether kn_flat_answer tries at all; it does at first. */
void kn_solver_work_modes(kn_solver_work* work, bool on);
/* Threads that share large factorisations, or NULL. The same bits. */
struct kn_crew;
kn_status kn_solver_work_crew(kn_solver_work* work, struct kn_crew* crew);
/* The solves between two calls of kn_solver_work_begin may cost as much as so many factors (kn_solver_work_spent); 0: as much
   as their methods ask for. */
void kn_solver_work_patience(kn_solver_work* work, double steps);
void kn_solver_work_begin(kn_solver_work* work);
/* Multiplications since then, 18 to a nanosecond; others who share them add theirs. */
double* kn_solver_work_used(kn_solver_work* work);
/* … of the last solve, all of it; of one factorisation of so many rows. */
double kn_solver_work_done(const kn_solver_work* work);
double kn_solver_work_step(int rows);
/* A solve by other means than kn_problem_solve's, of so many rows: it begins; it costs so much more; it ends. What may be spent yet:
   INFINITY without patience. */
void kn_solver_work_enter(kn_solver_work* work, int rows);
void kn_solver_work_add(kn_solver_work* work, double multiplications);
void kn_solver_work_leave(kn_solver_work* work);
double kn_solver_work_left(const kn_solver_work* work);
/* Are they, and what the solve under way has cost, beyond what may be spent? */
bool kn_solver_work_spent(const kn_solver_work* work);
