/* The dynamics as the contact and step layers use it: raw arrays, stages, factors kept.

   Order of calls in a step:
     kn_dyn_position   q        -> link poses
     kn_dyn_velocity   v        -> link angular velocities (and linear ones of the link origins)
     kn_dyn_factor              -> articulated inertias with `extra` added to the joint diagonal; factors kept
     kn_dyn_accelerate tau, v   -> free acceleration with those factors
     kn_rows_push               -> Y for a set of constraint rows: Λ = Y D⁻¹ Yᵀ, and M⁻¹Jᵀλ from Yᵀλ
   With M = Lᵀ D L (tree-sparse, from the articulated bodies), Y = J L⁻¹. */
#pragma once

#include "knuckle/dynamics.h"
#include "model/model.h"

/* A constraint row block: 1 … 3 scalar rows acting between two links at a world point, or one row on dofs.
   Row k of the block:  J_k v = dir_k · (velocity of link a at point − velocity of link b at point)
   with the velocity taken linear (angular = 0) or angular (angular = 1).
   A dof block (ndof > 0): J v = sum coef_i v[dof_i], one row; links and directions are not read. */
typedef struct kn_row_block {
  int32_t link_a, link_b; /* -1: world */
  int32_t rows;           /* 1, 2 or 3 directions */
  int32_t angular;
  double point[3];  /* world */
  double dir[3][3]; /* unit directions, world */
  int32_t ndof;     /* dof block: number of coefficients */
  int32_t dof[3];
  double coef[3];
} kn_row_block;

/* Factored rows. Memory is owned by the caller and sized by kn_rows_size. */
typedef struct kn_rows {
  int capacity, rows; /* scalar rows */
  double* Y;          /* layout private to dynamics/rows/rows.c */
  void* index;
} kn_rows;

void kn_dyn_position(kn_data* data, const kn_model* model, const double* q);
/* Exchanges the poses with the second set, where those of the position before the last survive. */
void kn_data_swap(kn_data* data);
/* Chains in a plane leave poses and factors in a form of their own (data.h) if data->may_be_lean: before link
   poses or factors are read. */
void kn_data_fill(kn_data* data);
void kn_dyn_velocity(kn_data* data, const kn_model* model, const double* v);
/* Of mechanisms in a plane: only what kin.plane has of it. */
void kn_dyn_plane_velocity(kn_data* data, const kn_model* model, const double* v);
/* Largest spin and speed of a link's frame as kn_dyn_velocity left them, and of the accelerations that
   kn_dyn_accelerate or kn_dyn_forward left. */
void kn_dyn_largest_velocity(double* spin, double* speed, const kn_data* data, const kn_model* model);
void kn_dyn_largest_acceleration(double* spin, double* speed, const kn_data* data, const kn_model* model);
/* extra: nv values added to the joint-space diagonal besides armature (implicit damping, PD), or NULL. */
kn_status kn_dyn_factor(kn_data* data, const kn_model* model, const double* extra);
/* qdd = (M + extra)⁻¹ (tau − bias(q, v)); tau NULL = 0; uses poses, velocities and factors. */
void kn_dyn_accelerate(double* qdd, kn_data* data, const kn_model* model, const double* v, const double* tau);
/* All four stages at once: the fast way when only the acceleration is wanted. Factors stay. */
kn_status kn_dyn_forward(double* qdd, kn_data* data, const kn_model* model, const double* q, const double* v,
                         const double* tau);
/* The same with `extra` as in kn_dyn_factor. */
kn_status kn_dyn_forward_extra(double* qdd, kn_data* data, const kn_model* model, const double* q,
                               const double* v, const double* tau, const double* extra);
/* tau = M qdd + bias(q, v), armature included, by RNEA at the position of kn_dyn_position. */
void kn_dyn_inverse(double* tau, kn_data* data, const kn_model* model, const double* v, const double* qdd);
void kn_dyn_bias(double* bias, kn_data* data, const kn_model* model, const double* v); /* C v + g, by RNEA */
/* X := (M + extra)⁻¹ X, row-major nv x columns */
void kn_dyn_solve(double* X, kn_data* data, const kn_model* model, int columns);
/* y = M x (armature, no extra), O(N) */
void kn_dyn_multiply(double* y, kn_data* data, const kn_model* model, const double* x);

size_t kn_rows_size(const kn_model* model, int capacity); /* bytes of caller-owned memory, which is zero */
void kn_rows_init(kn_rows* rows, const kn_model* model, int capacity, void* memory);
kn_status kn_rows_push(kn_rows* rows, kn_data* data, const kn_model* model, const kn_row_block* block,
                       int blocks);
/* The same for rows between free bodies without children, for kn_rows_lambda_blocks and kn_rows_apply only;
   false when some row is of another kind, and nothing is pushed. */
bool kn_rows_push_loose(kn_rows* rows, kn_data* data, const kn_model* model, const kn_row_block* block,
                        int blocks);
/* Λ, rows x rows, row-major, exactly symmetric */
void kn_rows_lambda(double* Lambda, const kn_rows* rows, const kn_data* data, const kn_model* model);
/* Λ by blocks of rows, as kn_sparse of comp.h has it. In heaps of loose bodies the entries of a row of blocks
   ascend; else a pair of blocks may come more than once, its entries add up. The caller gives the memory and
   of_row, size. */
enum { KN_BLOCK_STRIDE = 12 }; /* numbers from one entry to the next */
typedef struct kn_lambda_blocks {
  int capacity;             /* entries */
  int64_t needed;           /* where they did not fit: entries there are */
  const int *of_row, *size; /* rows: block of a row; blocks: its rows */
  int *start, *col;         /* blocks + 1, capacity */
  int64_t* at;              /* capacity: offset in value, row-major */
  double* value;            /* KN_BLOCK_STRIDE capacity */
  int* scratch;             /* kn_lambda_blocks_scratch */
} kn_lambda_blocks;
size_t kn_lambda_blocks_scratch(int blocks, int capacity);
/* False when there are more entries than fit. */
bool kn_rows_lambda_blocks(kn_lambda_blocks* out, const kn_rows* rows, int blocks);
/* The same as Λ = G Gᵀ, as kn_pairs of comp.h has it: body (2 per block) and G (36 per block) of rows pushed
   by kn_rows_push_loose. Returns the bodies, 0 when some block has not three rows. */
int kn_rows_pairs(int* body, double* G, const kn_rows* rows, int blocks);
/* dv = (M + extra)⁻¹ Jᵀ λ */
void kn_rows_apply(double* dv, const kn_rows* rows, kn_data* data, const kn_model* model,
                   const double* lambda);
/* Plain products without factors: Jv = J v;  tau += Jᵀ λ;  Jdv = J̇ v with directions fixed in the world. */
void kn_rows_velocity(double* Jv, kn_data* data, const kn_model* model, const kn_row_block* block, int blocks,
                      const double* v);
/* J v with v the velocity of the last kn_dyn_velocity, whose link velocities are used. */
void kn_rows_velocity_known(double* Jv, const kn_data* data, const kn_row_block* block, int blocks);
/* Both: Jv with that velocity v, Jw = J w with w = v + dt qdd of the last forward dynamics, at the same
 * poses. */
void kn_rows_velocities(double* Jv, double* Jw, kn_data* data, const kn_model* model,
                        const kn_row_block* block, int blocks, const double* w, double dt);
void kn_rows_force(double* tau, kn_data* data, const kn_model* model, const kn_row_block* block, int blocks,
                   const double* lambda);
/* tau = M qdd + bias - scale Jᵀ λ. */
void kn_rows_inverse(double* tau, kn_data* data, const kn_model* model, const double* v, const double* qdd,
                     const kn_row_block* block, int blocks, const double* lambda, double scale);
void kn_rows_bias(double* Jdv, kn_data* data, const kn_model* model, const kn_row_block* block, int blocks,
                  const double* v);

/* World pose of a link; velocity [ω; v of the link origin] in world axes. */
void kn_link_pose(kn_pose* pose, const kn_data* data, int link);
void kn_link_velocity(double velocity[6], const kn_data* data, int link);

void kn_dyn_integrate(double* q_out, const kn_model* model, const double* q, const double* v, double dt);
/* u' = dexp⁻¹_u v for rotations, all orders of the increment u since a reference: w + ½ u × w + (1 - t cot
 * t)/|u|² u × (u × w), t = |u|/2. */
void kn_dyn_increment_rate(double* du, const kn_model* model, const double* u, const double* v);
void kn_dyn_difference(double* v, const kn_model* model, const double* q0, const double* q1);
/* At the position of kn_dyn_position, which must be q; writes the link velocities. */
void kn_dyn_energy_here(kn_energy* energy, kn_data* data, const kn_model* model, const double* q,
                        const double* v);
/* kn_dyn_position and that in one go. */
void kn_dyn_arrive(kn_energy* energy, kn_data* data, const kn_model* model, const double* q, const double* v);
void kn_dyn_energy(kn_energy* energy, kn_data* data, const kn_model* model, const double* q, const double* v);
/* Of every tree, at the first dof of its root (nv values, others 0): all its energy and its kinetic part; without
   springs. */
void kn_dyn_tree_energy(double* all, double* kinetic, kn_data* data, const kn_model* model, const double* q,
                        const double* v);
/* Forces of springs, dampers and gravity compensation (this one at the position of kn_dyn_position), and of
   actuators; added to tau. */
void kn_dyn_passive(double* tau, kn_data* data, const kn_model* model, const double* q, const double* v);
/* The part that does not depend on the velocity. */
void kn_dyn_springs(double* tau, kn_data* data, const kn_model* model, const double* q);
/* Force of one actuator before its gears; *inside: within its force range, so that it has slopes. */
double kn_dyn_actuator(bool* inside, const kn_model* model, int actuator, const double* q, const double* v,
                       double ctrl);
/* Its length and rate, as MuJoCo has them. */
void kn_dyn_transmission(double* length, double* rate, const kn_model* model, int actuator, const double* q,
                         const double* v);
void kn_dyn_actuate(double* tau, const kn_model* model, const double* q, const double* v, const double* ctrl);
/* Linear momentum, angular momentum about the world origin, centre of mass (outputs may be NULL). */
void kn_dyn_momentum(double linear[3], double angular[3], double com[3], kn_data* data, const kn_model* model,
                     const double* q, const double* v);

/* The mass matrix by composite bodies, nv x nv row-major, at the position of kn_dyn_position, and its
   tree-sparse factors M = Lᵀ D L in place (D on the diagonal, unit L below it; only entries of ancestors are
   read and written). factor returns the first dof without a positive pivot, or -1. */
void kn_crba(double* M, kn_data* data, const kn_model* model);
void kn_crba_diagonal(double* diagonal, kn_data* data, const kn_model* model); /* nv, armature included */
int kn_ltdl_factor(double* M, const kn_data* data, const kn_model* model);
void kn_ltdl_solve(double* x, const double* LD, const kn_data* data, const kn_model* model);

/* Forces of springs and actuators that need no poses. */
double kn_spring_energy(const kn_model* model, const double* q); /* sum of k/2 |deflection|² */

/* site_drive.c: of an actuator through a site. transmit adds force × its moment to tau and returns moment · v; tau
   and v may be NULL. */
double kn_site_transmit(double* tau, const kn_model* model, int actuator, const double* q, const double* v,
                        double force);
double kn_site_length(const kn_model* model, int actuator, const double* q);
