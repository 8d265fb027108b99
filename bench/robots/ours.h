/* Knuckle on a robot file, as `knuckle run` has it: the file's step, exact contact, the verdicts off. */
#ifndef KN_BENCH_ROBOTS_OURS_H
#define KN_BENCH_ROBOTS_OURS_H

#include "knuckle/step.h"
#include "robot.h"

/* What a run did beside its times. */
typedef struct robot_run {
  int nv, contacts;                   /* contacts: mean over the steps with any */
  double contact_rows, limits, loops; /* mean rows a step */
  int dry;                            /* dofs with dry friction */
  double
      changes; /* of modes, mean a step: contacts that open, close, stick or slip; limits and dry joints that begin or
                     cease to hold */
  double left_warm;         /* share of the steps with contact whose solver left the warm start */
  double residual, overlap; /* largest; overlap after the first tenth of the run, m */
  double rise_rel,
      start_rel; /* rise of the energy over its scale at the end: from the repaired start on; by the first
                                 step's repair of the start */
  long troubles;
  kn_stage_times time; /* mean of a step, us (robot_ours_time_stages) */
  double mean;         /* of a step, us */
} robot_run;

typedef struct robot_ours robot_ours;

/* NULL: why has a sentence. A stand needs a keyframe and actuators, otherwise why is "". */
robot_ours* robot_ours_open(robot_file* file, char* why, int room);
int robot_ours_nv(const robot_ours* robot);
/* From the start; returns the steps taken. */
int robot_ours_run(robot_run* run, robot_ours* robot, double* us, int steps);
/* Runs from now on book the times of their stages. */
void robot_ours_time_stages(robot_ours* robot);
void robot_ours_close(robot_ours* robot);
/* The model as MJCF for the peers; false when it cannot be written. */
bool robot_ours_save(const robot_ours* robot, const char* path);

#endif
