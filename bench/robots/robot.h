/* One robot of the race: a file, how it starts, and what a run of it cost. */
#ifndef KN_BENCH_ROBOT_H
#define KN_BENCH_ROBOT_H

#include <stdbool.h>

/* How a robot is run: motors without force, or its keyframe's controls on its own servos. */
typedef enum robot_task { ROBOT_PASSIVE, ROBOT_STAND } robot_task;

typedef struct robot_file {
  char path[512]; /* the model; for a peer an MJCF file with the same model */
  char name[96];  /* folder/file */
  bool urdf;
  robot_task task;
  double dt, time; /* s */
} robot_file;

/* Times of the steps of one run, us, in the order of the steps. */
typedef struct robot_times {
  double* us;
  int steps;
} robot_times;

/* A peer: opens a file and runs it. run returns the steps taken; us has room for `steps`. */
typedef struct robot_peer {
  const char* name;
  const char* (*version)(void);
  const char* const* variants; /* ended by NULL */
  void* (*open)(const robot_file* file, int variant, char* why, int room);
  int (*run)(void* peer, double* us, int steps);
  void (*close)(void* peer);
} robot_peer;

#endif
