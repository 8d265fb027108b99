/* MuJoCo from its wheel: soft contact. As it ships and stiff (time constant at its lower bound of two steps);
   Euler, RK4 and, for robots with strong servos, its implicit integrator; CG for piles. Restitution by the
   damping ratio of the contact's spring: exp(-pi z / sqrt(1 - z²)) = e. */
#include <math.h>
#include <mujoco/mujoco.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "engine.h"

typedef struct peer {
  mjModel* m;
  mjData* d;
} peer;

enum { DEFAULT, STIFF, RK4, RK4_STIFF, IMPLICIT, CG };
static const char* const names[] = {"mujoco",          "mujoco stiff", "mujoco rk4", "mujoco rk4 stiff",
                                    "mujoco implicit", "mujoco cg",    NULL};

static const char* refuses(const world* w, int variant) {
  if (variant == CG && !w->loose) return "for piles only";
  if (variant == IMPLICIT && w->nu == 0) return "for servos only";
  if (!w->loose && w->bodies >= 60 && (variant == STIFF || variant == RK4_STIFF))
    return "bursts on long chains";
  if (w->loose && (variant == RK4 || variant == RK4_STIFF || variant == STIFF))
    return "four evaluations a step, or stiff: slower still on piles";
  if (w->loose && variant == DEFAULT && w->bodies > 300)
    return "Newton's method: slower than CG on large piles";
  return NULL;
}

static double damping_ratio(double e) {
  if (e <= 0.0) return 1.0;
  double l = -log(e);
  return l / sqrt(l * l + mjPI * mjPI);
}

/* A bouncing contact must resolve its own oscillation: at least twenty steps a period. */
static void contact_softness(const world* w, mjModel* m, bool stiff) {
  double z = damping_ratio(w->e), time = stiff ? 2 * w->dt : 0.02;
  double slowest = 20 * w->dt / (2 * mjPI) / z;
  if (w->e > 0.0 && time < slowest) time = slowest;
  for (int g = 0; g < m->ngeom; g++) {
    m->geom_solref[mjNREF * g] = time;
    m->geom_solref[mjNREF * g + 1] = z;
    if (!stiff) continue;
    m->geom_solimp[mjNIMP * g] = 0.99, m->geom_solimp[mjNIMP * g + 1] = 0.9999;
  }
  for (int j = 0; j < m->njnt && stiff; j++) m->jnt_solref[mjNREF * j] = 2 * w->dt;
}

/* After a bad number MuJoCo starts again from the beginning; get() tells. */
static void silent(const char* text) { (void)text; }

static void* create(const world* w, int variant) {
  mju_user_warning = silent;
  char error[300];
  peer* p = calloc(1, sizeof *p);
  p->m = mj_loadXML(w->mjcf, NULL, error, sizeof error);
  if (!p->m || p->m->nv != w->nv || p->m->nq != w->nq || p->m->nu != w->nu) {
    free(p);
    return NULL;
  }
  contact_softness(w, p->m, variant == STIFF || variant == RK4_STIFF);
  if (variant == RK4 || variant == RK4_STIFF) p->m->opt.integrator = mjINT_RK4;
  if (variant == IMPLICIT) p->m->opt.integrator = mjINT_IMPLICITFAST;
  if (variant == CG) p->m->opt.solver = mjSOL_CG;
  if (w->loose) p->m->narena = (mjtSize)1 << 29;
  p->d = mj_makeData(p->m);
  memcpy(p->d->qpos, w->q, sizeof(double) * (size_t)w->nq);
  memcpy(p->d->qvel, w->v, sizeof(double) * (size_t)w->nv);
  memcpy(p->d->ctrl, w->ctrl, sizeof(double) * (size_t)w->nu);
  return p;
}

static void step(void* self, int steps) {
  peer* p = self;
  for (int i = 0; i < steps; i++) mj_step(p->m, p->d);
}

static void get(double* q, double* v, void* self) {
  peer* p = self;
  memcpy(q, p->d->qpos, sizeof(double) * (size_t)p->m->nq);
  memcpy(v, p->d->qvel, sizeof(double) * (size_t)p->m->nv);
  for (int i = mjWARN_BADQPOS; i <= mjWARN_BADQACC; i++)
    if (p->d->warning[i].number > 0) q[0] = NAN;
}

static int contacts(void* self) {
  peer* p = self;
  int n = 0;
  for (int i = 0; i < p->d->ncon; i++) n += p->d->contact[i].efc_address >= 0;
  return n;
}

/* Of the present state; mj_step leaves poses of the state before. */
static double energy(void* self) {
  peer* p = self;
  mj_kinematics(p->m, p->d), mj_comPos(p->m, p->d), mj_makeM(p->m, p->d);
  mj_energyPos(p->m, p->d), mj_energyVel(p->m, p->d);
  return p->d->energy[0] + p->d->energy[1];
}

static void destroy(void* self) {
  peer* p = self;
  mj_deleteData(p->d), mj_deleteModel(p->m);
  free(p);
}

KN_PEER_EXPORT const engine kn_peer = {names, refuses, create, step, get, contacts, energy, NULL, destroy};
