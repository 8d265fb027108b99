/* Dynamics of trees. Everything here is O(N) unless it says otherwise and allocates nothing after
   kn_data_create. Derived values and scratch live in kn_data, one per thread. */
#ifndef KNUCKLE_DYNAMICS_H
#define KNUCKLE_DYNAMICS_H

#include "knuckle/model.h"

KN_BEGIN_DECLS

/* Derived values of one state (poses, factors, scratch); one per thread, can be thrown away. */
typedef struct kn_data kn_data;

/* Makes room for the derived values of a model; the caller destroys it. */
KN_API kn_status kn_data_create(kn_data** data, const kn_model* model);
/* Frees it; NULL is fine. */
KN_API void kn_data_destroy(kn_data* data);

/* ---- kinematics ---- */
KN_API kn_status kn_kinematics(const kn_model* model, const kn_state* state,
                               kn_data* data); /* poses and velocities */
/* Pose of a body, from the last kn_kinematics. */
KN_API kn_status kn_body_pose(kn_pose* pose, const kn_model* model, const kn_data* data, kn_body body);
/* Pose of a geom, from the last kn_kinematics. */
KN_API kn_status kn_geom_pose(kn_pose* pose, const kn_model* model, const kn_data* data, kn_geom geom);
/* Pose of a named frame, from the last kn_kinematics. */
KN_API kn_status kn_frame_pose(kn_pose* pose, const kn_model* model, const kn_data* data, kn_frame frame);
/* Velocity [angular; linear] in world axes of the body point that is at `point` (world); NULL: the body
 * origin. */
KN_API kn_status kn_body_velocity(double velocity[6], const kn_model* model, const kn_data* data,
                                  kn_body body, const double point[3]);
/* All at once, in the order of the indices: poses of bodies, geoms, frames (kn_model_bodies … long) and
   velocities of the bodies' origins (6 each). */
KN_API kn_status kn_body_poses(kn_pose* pose, const kn_model* model, const kn_data* data);
/* Poses of all geoms. */
KN_API kn_status kn_geom_poses(kn_pose* pose, const kn_model* model, const kn_data* data);
/* Poses of all named frames. */
KN_API kn_status kn_frame_poses(kn_pose* pose, const kn_model* model, const kn_data* data);
/* Spatial velocities of all bodies, 6 each. */
KN_API kn_status kn_body_velocities(double* velocity, const kn_model* model, const kn_data* data);
/* 6 x nv row-major Jacobian of that point [angular; linear], and its bias acceleration Jdot v. */
KN_API kn_status kn_jacobian(double* J, const kn_model* model, const kn_data* data, kn_body body,
                             const double point[3]);
/* J̇ v of a point of a body. */
KN_API kn_status kn_jacobian_bias(double bias[6], const kn_model* model, kn_data* data, kn_body body,
                                  const double point[3]);

/* ---- dynamics; state gives q, v; forces are generalised, nv ---- */
/* qdd = M⁻¹ (tau - bias). */
KN_API kn_status kn_forward_dynamics(double* qdd, const kn_model* model, const kn_state* state, kn_data* data,
                                     const double* tau);
/* tau = M qdd + bias. */
KN_API kn_status kn_inverse_dynamics(double* tau, const kn_model* model, const kn_state* state, kn_data* data,
                                     const double* qdd);
KN_API kn_status kn_bias_force(double* bias, const kn_model* model, const kn_state* state,
                               kn_data* data); /* C v + gravity */
KN_API kn_status kn_mass_matrix(double* M, const kn_model* model, const kn_state* state,
                                kn_data* data); /* nv x nv, armature included */
/* The diagonal of M, and the pivots D of M = Lᵀ D L (their product is det M), nv each, in time and memory that grow
   with the bodies and not with their square. Either may be NULL. */
KN_API kn_status kn_mass_pivots(double* diagonal, double* pivots, const kn_model* model,
                                const kn_state* state, kn_data* data);
/* Forces of the joints' own springs and dampers, actuators and gravity compensation at the present controls.
 */
KN_API kn_status kn_passive_force(double* tau, const kn_model* model, const kn_state* state, kn_data* data);
/* Generalised forces of the actuators at the state's ctrl. */
KN_API kn_status kn_actuator_force(double* tau, const kn_model* model, const kn_state* state, kn_data* data);
/* Force of every actuator (nu), before its gear, at the state's controls. */
KN_API kn_status kn_actuator_values(double* force, const kn_model* model, const kn_state* state);
/* X := M⁻¹ X, X is nv x columns row-major, at the position of the last kinematics or dynamics call. */
KN_API kn_status kn_solve_mass(double* X, const kn_model* model, kn_data* data, int columns);

/* ---- compliance ---- */
/* A point of a body at which forces act. */
typedef struct kn_node { /* a point of a body */
  kn_body body;
  double point[3]; /* world */
} kn_node;
/* Λ = J M⁻¹ Jᵀ of the nodes' 6-row Jacobians, (6 count)² row-major, by the Υ/Ω/ψ recursion of jain-2014. */
KN_API kn_status kn_compliance_recursive(double* Lambda, const kn_model* model, kn_data* data,
                                         const kn_node* node, int count);
/* The same by pushing columns up the tree. */
KN_API kn_status kn_compliance(double* Lambda, const kn_model* model, kn_data* data, const kn_node* node,
                               int count);

/* ---- invariants ---- */
/* Energies, J. */
typedef struct kn_energy {
  double kinetic, potential, spring;
} kn_energy;
/* Energies of a state. */
KN_API kn_status kn_energy_of(kn_energy* energy, const kn_model* model, const kn_state* state, kn_data* data);
KN_API kn_status kn_momentum(double linear[3], double angular[3], double com[3], const kn_model* model,
                             const kn_state* state, kn_data* data); /* angular about the world origin */

/* ---- motion on the manifold ---- */
/* q_out = q moved by v dt along the joints (quaternions stay unit). */
KN_API kn_status kn_integrate(double* q_out, const kn_model* model, const double* q, const double* v,
                              double dt);
/* v with integrate(q0, v, 1) = q1 */
KN_API kn_status kn_difference(double* v, const kn_model* model, const double* q0, const double* q1);

/* Smooth integrators (no contact). */
typedef enum kn_integrator {
  KN_INTEGRATE_EULER,    /* semi-implicit Euler: 1 evaluation, order 1 */
  KN_INTEGRATE_RK4,      /* 4 evaluations, order 4 */
  KN_INTEGRATE_MIDPOINT, /* implicit midpoint: keeps energy over long runs, order 2 */
  KN_INTEGRATE_ADAPTIVE, /* SUNDIALS ARKODE between t and t + dt */
  KN_INTEGRATOR_COUNT
} kn_integrator;
typedef struct kn_integrate_settings {
  kn_integrator method;
  double rtol, atol; /* adaptive */
  int iterations;    /* midpoint: at most */
} kn_integrate_settings;
KN_API kn_integrate_settings kn_integrate_default(void);
/* Controller: called at every evaluation; adds to tau. */
typedef void (*kn_force_fn)(double* tau, double t, const double* q, const double* v, void* context);
KN_API kn_status kn_integrate_smooth(kn_state* state, const kn_model* model, kn_data* data, double dt,
                                     const kn_integrate_settings* settings, kn_force_fn force, void* context);

KN_END_DECLS
#endif
