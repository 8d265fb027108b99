/* Recordings: MCAP files (mcap.dev) with zstd chunks that other tools open, append-only, indexed, with a
   checksum per chunk and a hash chain over the steps. Channels (docs/recording.md):
     knuckle/model, knuckle/settings    once, at the start
     knuckle/step                       every recorded step: state before and after, inputs, forces, contacts, sensors,
                                        report
     /tf, /scene, /contacts, …          Protobuf for other programs, at most 60 a second of simulated time
   A file that was cut off (kill -9, full disk) is readable up to its last complete chunk. */
#ifndef KNUCKLE_RECORD_H
#define KNUCKLE_RECORD_H

#include "knuckle/force.h"
#include "knuckle/step.h"

KN_BEGIN_DECLS

/* ---- writing ---- */

/* Choices of a recorder. */
typedef struct kn_record_settings {
  int every;         /* steps: 1 records all, n every n-th and those in trouble (a thinned recording cannot be
                        verified from step to step) */
  double scene_rate; /* 1/s of simulated time, 0 … 60; 0: no Foxglove messages */
  size_t chunk_bytes;     /* a chunk is written when this many bytes are waiting */
  double chunk_seconds;   /* or this much wall time has passed */
  int level;              /* zstd, 1 … 19, or -100 … -1: faster, larger */
  kn_force_choice forces; /* in what others see; knuckle/step has what the solver found */
} kn_record_settings;

KN_API kn_record_settings kn_record_default(void); /* every step, 60 Hz, 1 MB, 1 s, level -10, nearest */

/* Writes the steps of a simulation to a file, in a thread of its own. */
typedef struct kn_recorder kn_recorder;

/* Starts a file (an existing one is replaced) and a writer thread. */
KN_API kn_status kn_recorder_open(kn_recorder** recorder, const char* path, kn_sim* sim,
                                  const kn_record_settings* settings);
/* Before a step: remembers the state it starts from. Without it the state after the last recorded step is
 * taken. */
KN_API kn_status kn_recorder_before(kn_recorder* recorder, const kn_state* state);
/* After a step: appends it. KN_IO once the disk refused something; what was written before stays readable. */
KN_API kn_status kn_recorder_step(kn_recorder* recorder, const kn_state* state);
/* Writes what is waiting and the index, ends the thread, frees. Returns the first failure of all. */
KN_API kn_status kn_recorder_close(kn_recorder* recorder);
KN_API uint64_t kn_recorder_bytes(const kn_recorder* recorder); /* written so far */

/* ---- reading ---- */

/* One step of a recording. */
typedef struct kn_recorded {
  int64_t step;               /* 1, 2, … */
  double t, dt;               /* time after the step */
  uint64_t state_hash, chain; /* of the state after; of all steps so far */
  const double *q, *v;        /* after */
  const double *q_before, *v_before;
  const double *ctrl, *force; /* inputs: nu controls, nv applied forces */
  const double* control;      /* nv: forces a controller added, NULL: there was none */
  const double* tau;          /* nv: forces the step used besides contact, limits, loops and velocity terms */
  const double* extra;        /* nv: what implicit springs and dampers add to the diagonal of M */
  const double* v_bias;       /* nv: velocity at which the velocity-dependent forces were taken */
  const double* v_free;       /* nv: velocity without contact */
  const double* v_solved;     /* nv: v before energy that a forced repair added was taken back by scaling */
  bool impact;                /* contacts collided at the end of the step */
  int contacts, events, limits, loops;
  const kn_contact* contact;
  const kn_event* event;
  const double *limit_impulse, *loop_impulse;
  const double* dry_impulse; /* nv: of dry joint friction, NULL: none acted */
  const double* sensors;     /* values of all sensors (knuckle/sensor.h), NULL: there are none */
  kn_status status;
  kn_verdict_kind verdict;
  int lcp_size, solves, iterations, islands;
  double residual, penetration, lift, closure, drift, correction, audit, gain_rel, momentum_error, slowed;
  kn_energy energy;
  kn_ledger ledger, total;
} kn_recorded;

/* An open recording. */
typedef struct kn_recording kn_recording;

/* Opens a file and checks every chunk. Damaged parts are skipped and listed; only a file without any readable
   model is an error. */
KN_API kn_status kn_recording_open(kn_recording** recording, const char* path);
KN_API void kn_recording_close(kn_recording* recording);
KN_API int kn_recording_steps(const kn_recording* recording);
/* Step i in file order; the arrays stay valid until the next call. */
KN_API kn_status kn_recording_read(kn_recorded* out, kn_recording* recording, int i);
KN_API const kn_model* kn_recording_model(const kn_recording* recording);
KN_API uint64_t kn_recording_model_hash(const kn_recording* recording); /* of the model that was simulated */
KN_API const char* kn_recording_setting(const kn_recording* recording,
                                        const char* name); /* as text, NULL: none */
KN_API int kn_recording_every(const kn_recording* recording);
/* What is wrong with the file: sentences. None for a complete, undamaged file. */
KN_API int kn_recording_problems(const kn_recording* recording);
KN_API const char* kn_recording_problem(const kn_recording* recording, int i);

/* ---- verifying ---- */

/* Violations that are described; more are only counted. */
#define KN_VIOLATIONS_MAX 1000
/* Skipped checks that are described. */
#define KN_SKIPS_MAX 64

/* The checks, ended by a NULL name: what `knuckle verify` looks at (docs/recording.md has this table). */
typedef struct kn_verify_check {
  const char *name, *doc;
} kn_verify_check;
KN_API const kn_verify_check* kn_verify_checks(void);

/* A check that failed: where, by how much, against which limit. */
typedef struct kn_violation {
  int64_t step;
  const char* check; /* name in kn_verify_checks */
  double value, limit;
} kn_violation;

/* A check that this recording does not allow, and why. */
typedef struct kn_skip {
  const char *check, *why;
  bool asked; /* the caller asked for it */
} kn_skip;

/* What the verifier found. */
typedef struct kn_verification {
  int steps;      /* checked */
  int violations; /* all */
  int listed;     /* the first of them */
  kn_violation violation[KN_VIOLATIONS_MAX];
  int skips; /* checks left out */
  kn_skip skipped[KN_SKIPS_MAX];
} kn_verification;

/* Rebuilds mass matrix, Jacobians, forces, materials and contact geometry from the recorded model and
   settings, with plain code of its own, and checks every recorded step. KN_OK also when violations were
   found; what a recording does not allow to check is listed in `skipped`. */
KN_API kn_status kn_verify(kn_verification* out, kn_recording* recording);
/* The same without some checks: names ended by NULL. KN_NOT_FOUND: there is no such check. */
KN_API kn_status kn_verify_except(kn_verification* out, kn_recording* recording, const char* const* names);

/* ---- contact problems ---- */

/* Writes the contact problems of a run as files. */
typedef struct kn_problem_dump kn_problem_dump;

/* From now on every contact problem the simulator solves with the true cone, and its solution, becomes a file
   problem-NNNNNN.hdf5 (FCLIB, local form) in an existing directory. Limits are written as contacts without
   friction; problems with dry joint friction do not fit the format and are only counted. */
KN_API kn_status kn_problem_dump_open(kn_problem_dump** dump, const char* directory, kn_sim* sim);
/* The first failure of all. */
KN_API kn_status kn_problem_dump_close(int* written, int* left_out, kn_problem_dump* dump);

KN_END_DECLS
#endif
