/* `knuckle bench grasp`: runs of the two examples, and their figures. */
#ifndef KN_BENCH_GRASP_H
#define KN_BENCH_GRASP_H

#include <stdbool.h>
#include <stddef.h>

#include "grasp.h"

typedef struct grasp_options {
  int example;         /* 1, 2 */
  const char* stepper; /* "time", "compliant", "hybrid" */
  kn_grasp_path path;
  kn_grasp_law law;
  double eps, dt, lmin;
  double y0; /* 0: the scene's */
} grasp_options;
grasp_options grasp_default(int example);

enum { GRASP_SWITCHES = 16 };

typedef struct grasp_switch {
  double t;
  int to;     /* 1: compliant, -1: rigid */
  int sample; /* the step that reported it */
  char cause[160];
  double force_jump;    /* largest change of a contact force over the switch, relative to the largest force */
  double velocity_jump; /* largest change of a joint velocity in that step beyond the neighbours', rad/s */
} grasp_switch;

/* Series over time; index 0 is after the first step. */
typedef struct grasp_run {
  int n;
  double* t;
  double* q[KN_GRASP_N];
  double* v[KN_GRASP_N];
  double* torque[4];
  double* force[KN_GRASP_C][2]; /* normal; tangential along t */
  double* slip[KN_GRASP_C];     /* tangential velocity */
  double* compliant;            /* number of compliant contacts */
  int switches;
  grasp_switch change[GRASP_SWITCHES];
  int events;     /* switch events seen, may exceed the room */
  double error_y; /* largest |y - y_d|, m */
  double* memory;
} grasp_run;

/* False with a reason when it cannot be run. Free with grasp_run_free in any case. */
bool grasp_simulate(grasp_run* r, const grasp_options* o, char reason[200]);
void grasp_run_free(grasp_run* r);
/* Largest difference of a coordinate between two runs with the same times (from and to: s). */
double grasp_difference(const grasp_run* a, const grasp_run* b, int coordinate);
double grasp_force_difference(const grasp_run* a, const grasp_run* b, double from, double to);

/* ---- the planned motion ---- */
kn_grasp grasp_plan_of(const grasp_options* o);
bool grasp_is_p(const kn_grasp* g, double t);
/* First change of the P property to `to` in [lo, hi], by steps and bisection; NaN: none. */
double grasp_p_change(const kn_grasp* g, double lo, double hi, bool to);
/* Solutions of the contact problem at t with the planned torques; -1 undecided. */
int grasp_solution_count(const kn_grasp* g, double t);

/* ---- figures ---- */
/* Writes name.svg into the folder; false when it cannot. */
bool grasp_snapshots(const char* path, const char* title, const grasp_run* r, const kn_grasp* g);
bool grasp_figure_plan(const char* path, const kn_grasp* g, bool rotation); /* figures 5, 9 */
bool grasp_figure_forces(const char* path, const grasp_run* rigid, const grasp_run* const* compliant,
                         const double* eps, int count); /* figure 7 */
bool grasp_figure_difference(const char* path, const grasp_run* rigid, const grasp_run* const* compliant,
                             const double* eps, int count);                         /* figure 8 */
bool grasp_figure_mu(const char* path, const kn_grasp* g);                          /* figure 10 */
bool grasp_figure_history(const char* path, const grasp_run* r, const kn_grasp* g); /* figure 12 */
bool grasp_figure_motion(const char* path, const grasp_run* r, const kn_grasp* g);  /* figure 13 */
bool grasp_figure_minor(const char* path); /* least principal minor of A, and the solutions, over time */

/* ---- the assumption δ̇_T = 0 on leaving the rigid model (assumption.c) ---- */
enum { GRASP_RATES = 4 };
typedef struct grasp_assumption {
  double lost, eps;              /* s: where P is lost */
  const char* name[GRASP_RATES]; /* the rate assumed instead; [0] is δ̇_T = 0 itself */
  /* largest differences from δ̇_T = 0, of y in m and of a normal force in N, when the rigid model is left at
     the loss of P … */
  double difference[GRASP_RATES], force[GRASP_RATES];
  /* … and 10 ms before the slip of contacts 2 and 4 reverses */
  double late_difference[GRASP_RATES], late_force[GRASP_RATES];
} grasp_assumption;
/* Runs the closed-form models; draws y and force differences when path is not NULL. */
bool grasp_assume(grasp_assumption* out, const grasp_options* o, const char* path);

#endif
