/* MuJoCo: mj_forward without its optional parts, and the stages of its smooth part alone. */
#include <mujoco/mujoco.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tree.h"

typedef struct peer {
  mjModel* m;
  mjData* d;
} peer;

static void* create(const tree* t) {
  char error[300];
  peer* p = calloc(1, sizeof *p);
  p->m = mj_loadXML(t->mjcf, NULL, error, sizeof error);
  if (!p->m || p->m->nv != t->nv) {
    free(p);
    return NULL;
  }
  p->m->opt.disableflags |= mjDSBL_CONSTRAINT | mjDSBL_EQUALITY | mjDSBL_FRICTIONLOSS | mjDSBL_LIMIT |
                            mjDSBL_CONTACT | mjDSBL_SPRING | mjDSBL_DAMPER | mjDSBL_WARMSTART |
                            mjDSBL_ACTUATION | mjDSBL_SENSOR;
  p->d = mj_makeData(p->m);
  return p;
}

static void set(void* context, const double* q, const double* v, const double* tau) {
  peer* p = context;
  memcpy(p->d->qpos, q, sizeof(double) * (size_t)p->m->nq);
  memcpy(p->d->qvel, v, sizeof(double) * (size_t)p->m->nv);
  memcpy(p->d->qfrc_applied, tau, sizeof(double) * (size_t)p->m->nv);
}

/* mj_forward with every optional part disabled. */
static void run(void* context) {
  peer* p = context;
  mj_forward(p->m, p->d);
}

static void run_stages(void* context) {
  peer* p = context;
  mj_kinematics(p->m, p->d);
  mj_comPos(p->m, p->d);
  mj_makeM(p->m, p->d);
  mj_factorM(p->m, p->d);
  mj_comVel(p->m, p->d);
  mj_rne(p->m, p->d, 0, p->d->qfrc_bias);
  mju_sub(p->d->qfrc_smooth, p->d->qfrc_applied, p->d->qfrc_bias, p->m->nv);
  mj_solveM(p->m, p->d, p->d->qacc_smooth, p->d->qfrc_smooth, 1);
}

static void get(double* qdd, void* context) {
  peer* p = context;
  memcpy(qdd, p->d->qacc_smooth, sizeof(double) * (size_t)p->m->nv);
}

static void destroy(void* context) {
  peer* p = context;
  mj_deleteData(p->d), mj_deleteModel(p->m);
  free(p);
}

KN_PEER_EXPORT const dynamics_peer kn_peer = {create, set, run, run_stages, get, destroy};
