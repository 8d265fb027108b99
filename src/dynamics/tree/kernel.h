/* The dynamics kernels of one instruction set. */
#pragma once

#include "base/fours.h"
#include "base/isa.h"
#include "dynamics/rows/rows.h"
#include "dynamics/tree/data.h"

typedef struct kn_dyn_table {
  void (*position)(kn_kin* kin, kn_data* d, const double* q);
  void (*velocity)(kn_kin* kin, const kn_data* d, const double* v);
  void (*scratch_velocity)(kn_data* d, const double* v); /* into wb, a */
  int (*factor)(kn_data* d, const double* extra);        /* first bad dof, or -1 */
  int (*forward)(double* qdd, kn_data* d, const double* q, const double* v, const double* tau,
                 const double* extra);                                 /* as factor */
  void (*energy)(kn_energy* out, const kn_kin* kin, const kn_data* d); /* without springs and armature */
  /* Velocity and energy at the poses of kin. */
  void (*energy_here)(kn_energy* out, kn_kin* kin, kn_data* d, const double* v);
  void (*plane_velocity)(kn_data* d, const double* v);
  void (*fill)(kn_data* d); /* kn_data_fill */
  void (*arrive)(kn_energy* out, kn_kin* kin, kn_data* d, const double* q, const double* v); /* all three */
  void (*accelerate)(double* qdd, kn_data* d, const double* v, const double* tau);
  void (*inverse)(double* tau, kn_data* d, const double* v, const double* qdd, const double* gravity);
  void (*inverse_loads)(kn_data* d, const double* v, const double* qdd, const double* gravity); /* n, f */
  void (*inverse_sum)(double* tau, kn_data* d);     /* inverse is both, one after the other */
  void (*solve)(double* x, kn_data* d, int stride); /* one column in place */
  void (*forward_half)(double* x, kn_data* d);      /* L⁻¹ applied to D⁻¹e */
  void (*planar_push)(double* x, kn_data* d,
                      int pairs); /* the same from planar[].z, of so many pairs of rows */
  /* rows_planar.c; numbers of two rows or motions side by side. Y of a force (n, fx, fy) on a link; columns
     L⁻¹D⁻¹Y. */
  void (*planar_climb)(double* Y, kn_data* d, int link, const double* force);
  void (*planar_columns)(double* X, const double* Y, kn_data* d, int top);
  void (*bias_acceleration)(kn_data* d, const double* v); /* wb, al, a at qdd = 0, base at rest */
  void (*push)(kn_rows* rows, kn_data* d, const kn_row_block* block);
  void (*lambda)(double* Lambda, const kn_rows* rows);
  void (*rows_velocity)(double* Jv, const kn_data* d, const kn_row_block* block, int blocks, const kn_v4* w,
                        const kn_v4* vo, size_t stride, const double* v);
  void (*rows_unload)(kn_data* d, const kn_row_block* block, int blocks, const double* lambda, double scale);
} kn_dyn_table;

KN_KERNEL_TABLE(kn_dyn_table, kn_dyn);
static inline const kn_dyn_table* kn_dyn_kernels(void) { return KN_BEST(&kn_dyn); }
