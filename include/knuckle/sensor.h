/* Reading the sensors of a model: joints, actuators, frames, inertial units, forces and torques, touch, ranges,
   subtrees, energy, clock (the types: KN_SENSOR_LIST in spec.h; docs/sensors.md).

   The instant. Sensors are read at a state, usually the one a step has left. Positions and velocities are that
   state's. Accelerations are those of that state under its own smooth forces (weight, springs, dampers, actuators,
   applied forces) and the constraint forces of the step before it: contacts, limits, loops and dry joint friction,
   each as its impulse over the step divided by the step's length. Where nothing touches this is the acceleration
   of the equation of motion at that state, as MuJoCo's mj_forward has it. A blow counts with its mean over the
   step, so that the sum of an accelerometer's values times dt is the change of velocity. */
#ifndef KNUCKLE_SENSOR_H
#define KNUCKLE_SENSOR_H

#include "knuckle/step.h"

KN_BEGIN_DECLS

/* How many numbers all sensors of a model have together. */
KN_API int kn_model_sensor_numbers(const kn_model* model);
/* Where the numbers of one sensor begin among all, and how many they are; 0 for a wrong index. */
KN_API int kn_sensor_first(const kn_model* model, kn_sensor sensor);
KN_API int kn_sensor_dim(const kn_model* model, kn_sensor sensor);
/* Unit of its numbers ("" for quaternions and axes), NULL for a wrong index. */
KN_API const char* kn_sensor_unit(const kn_model* model, kn_sensor sensor);
/* The type's name in MJCF ("gyro"); NULL when there is no such type. */
KN_API const char* kn_sensor_type_name(kn_sensor_type type);
/* What a type measures, in a few words; NULL when there is no such type. */
KN_API const char* kn_sensor_type_doc(kn_sensor_type type);

/* What acted in the step before the state, as a report or a recording has it. */
typedef struct kn_sensor_loads {
  double dt; /* length of the step, s */
  int contacts;
  const kn_contact* contact;
  const double* limit_impulse; /* model's limits, or NULL */
  const double* loop_impulse;  /* loop rows, or NULL */
  const double* dry_impulse;   /* nv, or NULL */
  const double* control;       /* nv: forces a controller added, or NULL */
} kn_sensor_loads;

/* Room for reading the sensors of a model; one per thread. */
typedef struct kn_sensors kn_sensors;

/* Makes that room; the caller destroys it. */
KN_API kn_status kn_sensors_create(kn_sensors** sensors, const kn_model* model);
/* Frees it; NULL is fine. */
KN_API void kn_sensors_destroy(kn_sensors* sensors);
/* All numbers of all sensors at a state (kn_model_sensor_numbers of them). loads NULL: nothing was in contact.
   Allocates nothing. */
KN_API kn_status kn_sensors_read(double* out, kn_sensors* sensors, const kn_state* state,
                                 const kn_sensor_loads* loads);

/* The same after kn_step, with what the report of the last step says of forces. A state that is not the one the
   last step left (none was made; it was changed since) is read as one without constraint forces. Allocates
   nothing. */
KN_API kn_status kn_sim_sensors(double* out, kn_sim* sim, const kn_state* state);

KN_END_DECLS
#endif
