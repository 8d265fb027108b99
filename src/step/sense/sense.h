/* The inside of reading sensors: the motion of links and bodies at a state, and what acts on them. World axes. */
#pragma once

#include "dynamics/tree/data.h"
#include "knuckle/sensor.h"
#include "model/state.h"

typedef struct kn_sense_body {
  kn_pose pose;      /* body frame */
  double com[3];     /* centre of mass */
  double w[3], v[3]; /* angular velocity, velocity of the centre of mass */
  double f[3], n[3]; /* constraint force on it, torque about the centre of mass */
  double F[3], N[3]; /* rate of momentum less weight, of angular momentum about the centre of mass */
  double quat[4];    /* of its frame, continuous in time */
  double mass;
  bool below; /* scratch: in the subtree asked for */
} kn_sense_body;

typedef struct kn_sense_link {
  double al[3], a[3]; /* angular acceleration, acceleration of the origin */
  double n[3], f[3];  /* constraint force, torque about the origin, summed from the tips */
} kn_sense_link;

struct kn_sensors {
  const kn_model* model;
  kn_data* data;
  kn_arena arena;
  bool wants_forces, wants_quats, wants_energy; /* of some sensor */
  kn_sense_body* body;                          /* nbody */
  kn_sense_link* link;                          /* nlink */
  double *tau, *act, *qdd, *control;            /* nv; control: of kn_sim_sensors */
  kn_energy energy;
};

/* sense_motion.c: poses and velocities; quaternions; accelerations once s->qdd is known. */
void kn_sense_place(kn_sensors* s);
void kn_sense_quats(kn_sensors* s, const double* q);
void kn_sense_accelerate(kn_sensors* s, const double* v);
/* A point of a body (KN_WORLD too): velocity; acceleration less gravity. */
void kn_sense_velocity(double out[3], const kn_sensors* s, kn_body body, const double point[3]);
void kn_sense_acceleration(double out[3], const kn_sensors* s, kn_body body, const double point[3]);
void kn_sense_spin(double out[3], const kn_sensors* s, kn_body body);
void kn_sense_spin_rate(double out[3], const kn_sensors* s, kn_body body);

/* sense_forces.c: constraint forces on the bodies, all forces in tau, accelerations in qdd. */
kn_status kn_sense_forces(kn_sensors* s, const kn_state* x, const kn_sensor_loads* loads);

/* sense_values.c: the numbers of one sensor. */
void kn_sense_value(double* out, kn_sensors* s, const kn_sensor_def* d, const kn_state* x,
                    const kn_sensor_loads* loads);
/* sense_frames.c: of those that look at a frame. */
void kn_sense_frame(double* out, const kn_sensors* s, const kn_sensor_def* d);
double kn_sense_touch(const kn_sensors* s, kn_frame frame, const kn_sensor_loads* loads);
double kn_sense_range(const kn_sensors* s, kn_frame frame);
/* Pose of a frame, or of a body's own (frame -1). */
kn_pose kn_sense_pose(const kn_sensors* s, kn_frame frame, kn_body body);
