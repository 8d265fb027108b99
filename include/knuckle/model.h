/* The compiled mechanism: immutable, shareable between threads. */
#ifndef KNUCKLE_MODEL_H
#define KNUCKLE_MODEL_H

#include "knuckle/spec.h"

KN_BEGIN_DECLS

/* Frees a model; NULL is fine. */
KN_API void kn_model_destroy(kn_model* model);

/* Sizes. Coordinates and dofs are ordered depth first over the bodies, children in the order of adding. */
KN_API int kn_model_nq(const kn_model* model);
KN_API int kn_model_nv(const kn_model* model);
KN_API int kn_model_nu(const kn_model* model); /* actuators */
KN_API int kn_model_bodies(const kn_model* model);
KN_API int kn_model_joints(const kn_model* model);
KN_API int kn_model_geoms(const kn_model* model);
KN_API int kn_model_frames(const kn_model* model);
KN_API int kn_model_loops(const kn_model* model);
KN_API int kn_model_keyframes(const kn_model* model);
KN_API int kn_model_sensors(const kn_model* model);
KN_API int kn_model_pairs(const kn_model* model);      /* explicit contact pairs */
KN_API int kn_model_exclusions(const kn_model* model); /* pairs of bodies that do not collide */
KN_API double kn_model_mass(const kn_model* model);    /* of all bodies */
KN_API const char* kn_model_name(const kn_model* model);
KN_API uint64_t kn_model_hash(const kn_model* model); /* of everything that influences motion */

/* Look-up by name: KN_NOT_FOUND with a message (nearest names) when there is none. */
KN_API kn_status kn_model_find_body(kn_body* id, const kn_model* model, const char* name);
KN_API kn_status kn_model_find_joint(kn_joint* id, const kn_model* model, const char* name);
KN_API kn_status kn_model_find_geom(kn_geom* id, const kn_model* model, const char* name);
KN_API kn_status kn_model_find_frame(kn_frame* id, const kn_model* model, const char* name);
KN_API kn_status kn_model_find_actuator(kn_actuator* id, const kn_model* model, const char* name);
KN_API kn_status kn_model_find_loop(kn_loop* id, const kn_model* model, const char* name);
KN_API kn_status kn_model_find_sensor(kn_sensor* id, const kn_model* model, const char* name);
KN_API kn_status kn_model_find_keyframe(int* id, const kn_model* model, const char* name);

/* Names; "" for nameless, "world" for KN_WORLD, NULL for a wrong index. */
KN_API const char* kn_body_name(const kn_model* model, kn_body body);
KN_API const char* kn_joint_name(const kn_model* model, kn_joint joint);
KN_API const char* kn_geom_name(const kn_model* model, kn_geom geom);
KN_API const char* kn_frame_name(const kn_model* model, kn_frame frame);
KN_API const char* kn_actuator_name(const kn_model* model, kn_actuator actuator);
KN_API const char* kn_loop_name(const kn_model* model, kn_loop loop);
KN_API const char* kn_sensor_name(const kn_model* model, kn_sensor sensor);

/* The definitions as compiled (inertia resolved, axes unit). */
KN_API kn_status kn_model_body(kn_body_def* def, const kn_model* model, kn_body body);
KN_API kn_status kn_model_joint(kn_joint_def* def, const kn_model* model, kn_joint joint);
KN_API kn_status kn_model_geom(kn_geom_def* def, const kn_model* model, kn_geom geom);
KN_API kn_status kn_model_frame(kn_frame_def* def, const kn_model* model, kn_frame frame);
KN_API kn_status kn_model_actuator(kn_actuator_def* def, const kn_model* model, kn_actuator actuator);
KN_API kn_status kn_model_loop(kn_loop_def* def, const kn_model* model, kn_loop loop);
KN_API kn_status kn_model_sensor(kn_sensor_def* def, const kn_model* model, kn_sensor sensor);
KN_API kn_status kn_model_pair(kn_pair_def* def, const kn_model* model, int pair);
KN_API kn_status kn_model_exclusion(kn_body body[2], const kn_model* model, int exclusion);
KN_API kn_status kn_model_keyframe(kn_keyframe_def* def, const kn_model* model,
                                   int keyframe); /* borrowed arrays */
/* May two geoms touch (pairs, exclusions, contact bits, parent and child), and how their surfaces combine. */
KN_API bool kn_model_collides(const kn_model* model, kn_geom a, kn_geom b);
KN_API kn_status kn_model_material(kn_material* material, const kn_model* model, kn_geom a, kn_geom b);
/* First coordinate and dof of a joint, and their numbers. */
KN_API kn_status kn_model_joint_address(int* q, int* nq, int* v, int* nv, const kn_model* model,
                                        kn_joint joint);
KN_API void kn_model_gravity(double gravity[3], const kn_model* model);
KN_API void kn_model_magnetic(double field[3], const kn_model* model); /* of kn_spec_set_magnetic */

/* ---- variations ---- */

/* How a model differs from the one it is made of: randomised worlds of a pool, cases of a sweep. All factors
   and terms apply on top of each other. */
typedef struct kn_variation {
  double mass;             /* factor of all masses and inertias, > 0 */
  double friction;         /* factor of all friction coefficients (sliding, torsion, rolling), >= 0 */
  double restitution;      /* added to every e, which stays in 0 … 1 */
  double size;             /* factor of the shapes of moving bodies, each about its own origin, > 0; masses,
                                   inertias and joints stay where they are */
  double gravity[3];       /* added, m/s² */
  const double* body_mass; /* a factor for each body besides, or NULL */
  const double* geom_friction; /* a factor for each geom besides, or NULL */
} kn_variation;
/* No difference: factors 1, terms 0. */
KN_API kn_variation kn_variation_none(void);
/* Makes the model; the caller destroys it. Meshes and hulls that did not change are those of `model`, which
   must live as long. Without any difference it is the same model bit for bit, with the same hash. */
KN_API kn_status kn_model_vary(kn_model** varied, const kn_model* model, const kn_variation* variation);

/* ---- state ---- */

/* Exactly what is integrated, hashed and saved. */
typedef struct kn_state kn_state;

KN_API kn_status kn_state_create(kn_state** state,
                                 const kn_model* model); /* at the reference position, at rest */
/* Frees a state; NULL is fine. */
KN_API void kn_state_destroy(kn_state* state);
/* Copies everything that influences the future; both of the same model. */
KN_API kn_status kn_state_copy(kn_state* to, const kn_state* from);
KN_API kn_status kn_state_reset(kn_state* state);                  /* reference position, at rest, t = 0 */
KN_API kn_status kn_state_keyframe(kn_state* state, int keyframe); /* the model's keyframe */

/* Time, s. */
KN_API double kn_state_time(const kn_state* state);
/* Sets the time, s. */
KN_API void kn_state_set_time(kn_state* state, double time);
/* Arrays owned by the state: nq coordinates, nv velocities, nu controls, nv applied generalised forces. */
KN_API double* kn_state_q(kn_state* state);
/* Velocities, nv; may be written. */
KN_API double* kn_state_v(kn_state* state);
/* Inputs of the actuators, nu; may be written. */
KN_API double* kn_state_ctrl(kn_state* state);
/* Generalised forces from outside, nv; may be written. */
KN_API double* kn_state_force(kn_state* state);

/* Flat bytes for saving; the same model is required on loading (checked by hash). */
KN_API size_t kn_state_size(const kn_state* state);
KN_API kn_status kn_state_save(void* bytes, size_t capacity, const kn_state* state);
KN_API kn_status kn_state_load(kn_state* state, const void* bytes, size_t size);
KN_API uint64_t kn_state_hash(const kn_state* state);

KN_END_DECLS
#endif
