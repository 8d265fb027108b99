/* MuJoCo from its wheel, on the file as it is: its own time step, its default integrator and `implicitfast`.
   4.0.0 has a wrong sparse factor in Newton's method, so the dense Jacobian is asked for. */
#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "robot.h"

typedef struct peer {
  mjModel* m;
  mjData* d;
  int bad; /* warnings of bad numbers: MuJoCo then starts again from the beginning */
} peer;

enum { AS_IS, IMPLICITFAST };
#ifndef NAME
#define NAME "mujoco"
#endif
static const char* const variants[] = {NAME, NAME " implicitfast", NULL};

static void silent(const char* text) { (void)text; }

static void start(peer* p, const robot_file* file) {
  mj_resetData(p->m, p->d);
  if (p->m->nkey > 0) mj_resetDataKeyframe(p->m, p->d, 0);
  if (file->task == ROBOT_PASSIVE) p->m->opt.disableflags |= mjDSBL_ACTUATION;
  mj_forward(p->m, p->d);
}

static void* open_file(const robot_file* file, int variant, char* why, int room) {
  mju_user_warning = silent;
  peer* p = calloc(1, sizeof *p);
  p->m = mj_loadXML(file->path, NULL, why, room);
  if (!p->m) {
    free(p);
    return NULL;
  }
  p->m->opt.timestep = file->dt;
  p->m->opt.jacobian = mjJAC_DENSE;
  if (variant == IMPLICITFAST) p->m->opt.integrator = mjINT_IMPLICITFAST;
  p->d = mj_makeData(p->m);
  start(p, file);
  return p;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int run(void* self, double* us, int steps) {
  peer* p = self;
  for (int i = 0; i < steps; i++) {
    double t = now();
    mj_step(p->m, p->d);
    us[i] = now() - t;
  }
  return steps;
}

static void close_peer(void* self) {
  peer* p = self;
  mj_deleteData(p->d);
  mj_deleteModel(p->m);
  free(p);
}

KN_PEER_EXPORT const robot_peer kn_peer = {NAME, mj_versionString, variants, open_file, run, close_peer};
