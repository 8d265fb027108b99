/* ODE in double precision: bodies in maximal coordinates, hinges as constraints. Its approximate step (20
   rounds of relaxation, its default) and its exact one. Servos are stops at one angle with ODE's error
   reduction and softness set so that they are implicit springs and dampers. */
#include <math.h>
#include <ode/ode.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "engine.h"

enum { MOST_POINTS = 8 };

typedef struct peer {
  const world* w;
  dWorldID world;
  dSpaceID space;
  dJointGroupID touching;
  dBodyID* body;
  dJointID* hinge; /* NULL for free bodies */
  int count;
  bool exact;
} peer;

enum { QUICK, EXACT };
static const char* const names[] = {"ode quick", "ode exact", NULL};

static const char* refuses(const world* w, int variant) {
  if (variant == EXACT && w->loose) return "dense Dantzig method: seconds a step on piles";
  if (variant == EXACT && w->bodies >= 60) return "time grows with the cube of the links";
  return NULL;
}

static void rotation(dMatrix3 out, const double R[9]) {
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) out[4 * i + j] = R[3 * i + j];
    out[4 * i + 3] = 0;
  }
}

static void turn(double out[3], const double R[9], const double x[3]) {
  for (int i = 0; i < 3; i++) out[i] = R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2];
}

/* Pose of the body frame; ODE's bodies are at their centre of mass. */
static void place(dBodyID b, const world_body* d, const double R[9], const double p[3]) {
  dMatrix3 M;
  double com[3];
  rotation(M, R);
  turn(com, R, d->com);
  dBodySetRotation(b, M);
  dBodySetPosition(b, p[0] + com[0], p[1] + com[1], p[2] + com[2]);
}

static void add_hinge(peer* p, int i) {
  const world_body* d = &p->w->body[i];
  double anchor[3], axis[3];
  turn(anchor, d->R_ref, d->anchor), turn(axis, d->R_ref, d->axis);
  dJointID h = dJointCreateHinge(p->world, 0);
  dJointAttach(h, p->body[i], d->parent < 0 ? 0 : p->body[d->parent]);
  dJointSetHingeAnchor(h, anchor[0] + d->p_ref[0], anchor[1] + d->p_ref[1], anchor[2] + d->p_ref[2]);
  dJointSetHingeAxis(h, axis[0], axis[1], axis[2]);
  if (d->limited)
    dJointSetHingeParam(h, dParamLoStop, d->range[0]), dJointSetHingeParam(h, dParamHiStop, d->range[1]);
  if (d->kp > 0.0) {
    double kd = d->kv + d->damping, dt = p->w->dt;
    dJointSetHingeParam(h, dParamLoStop, d->target), dJointSetHingeParam(h, dParamHiStop, d->target);
    dJointSetHingeParam(h, dParamStopERP, dt * d->kp / (dt * d->kp + kd));
    dJointSetHingeParam(h, dParamStopCFM, 1.0 / (dt * d->kp + kd));
  }
  p->hinge[i] = h;
}

static void add_geom(peer* p, const world_geom* g) {
  dGeomID o = NULL;
  if (g->shape == WORLD_PLANE) {
    double n[3] = {g->R[2], g->R[5], g->R[8]};
    o = dCreatePlane(p->space, n[0], n[1], n[2], n[0] * g->p[0] + n[1] * g->p[1] + n[2] * g->p[2]);
  } else if (g->shape == WORLD_SPHERE) {
    o = dCreateSphere(p->space, g->size[0]);
  } else if (g->shape == WORLD_CAPSULE) {
    o = dCreateCapsule(p->space, g->size[0], 2 * g->size[1]);
  } else {
    o = dCreateBox(p->space, 2 * g->size[0], 2 * g->size[1], 2 * g->size[2]);
  }
  dGeomSetCategoryBits(o, g->contype), dGeomSetCollideBits(o, g->conaffinity);
  if (g->body < 0) return;
  const double* com = p->w->body[g->body].com;
  dMatrix3 M;
  rotation(M, g->R);
  dGeomSetBody(o, p->body[g->body]);
  dGeomSetOffsetPosition(o, g->p[0] - com[0], g->p[1] - com[1], g->p[2] - com[2]);
  dGeomSetOffsetRotation(o, M);
}

static void add_bodies(peer* p) {
  for (int i = 0; i < p->w->bodies; i++) {
    const world_body* d = &p->w->body[i];
    dMass m;
    dMassSetParameters(&m, d->mass, 0, 0, 0, d->I[0], d->I[4], d->I[8], d->I[1], d->I[2], d->I[5]);
    p->body[i] = dBodyCreate(p->world);
    dBodySetMass(p->body[i], &m);
    dBodySetAutoDisableFlag(p->body[i], 0);
    place(p->body[i], d, d->R_ref, d->p_ref);
  }
  for (int i = 0; i < p->w->bodies; i++)
    if (p->w->body[i].joint == WORLD_HINGE) add_hinge(p, i);
  for (int i = 0; i < p->w->bodies; i++) {
    const world_body* d = &p->w->body[i];
    place(p->body[i], d, d->R, d->p);
    dBodySetLinearVel(p->body[i], d->vc[0], d->vc[1], d->vc[2]);
    dBodySetAngularVel(p->body[i], d->w[0], d->w[1], d->w[2]);
  }
}

static void* create(const world* w, int variant) {
  static int started;
  if (!started++) dInitODE2(0);
  peer* p = calloc(1, sizeof *p);
  p->w = w;
  p->exact = variant == EXACT;
  p->world = dWorldCreate();
  p->space = w->loose ? dHashSpaceCreate(0) : dSimpleSpaceCreate(0);
  if (w->loose) dHashSpaceSetLevels(p->space, -5, 1);
  p->touching = dJointGroupCreate(0);
  dWorldSetGravity(p->world, w->gravity[0], w->gravity[1], w->gravity[2]);
  p->body = calloc((size_t)w->bodies, sizeof *p->body);
  p->hinge = calloc((size_t)w->bodies, sizeof *p->hinge);
  add_bodies(p);
  for (int g = 0; g < w->geoms; g++) add_geom(p, &w->geom[g]);
  return p;
}

static void near_pair(void* data, dGeomID a, dGeomID b) {
  peer* p = data;
  dContact c[MOST_POINTS];
  dBodyID ba = dGeomGetBody(a), bb = dGeomGetBody(b);
  if ((!ba && !bb) || (ba && bb && dAreConnected(ba, bb))) return;
  int n = dCollide(a, b, MOST_POINTS, &c[0].geom, sizeof c[0]);
  for (int i = 0; i < n; i++) {
    c[i].surface = (dSurfaceParameters){.mode = dContactApprox1, .mu = p->w->mu};
    if (p->w->e > 0.0) {
      c[i].surface.mode |= dContactBounce;
      c[i].surface.bounce = p->w->e, c[i].surface.bounce_vel = 2 * 9.8 * p->w->dt;
    }
    dJointAttach(dJointCreateContact(p->world, p->touching, &c[i]), ba, bb);
  }
  p->count += n;
}

static void step(void* self, int steps) {
  peer* p = self;
  for (int i = 0; i < steps; i++) {
    p->count = 0;
    dSpaceCollide(p->space, p, near_pair);
    if (p->exact)
      dWorldStep(p->world, p->w->dt);
    else
      dWorldQuickStep(p->world, p->w->dt);
    dJointGroupEmpty(p->touching);
  }
}

static void get_free(double* q, double* v, dBodyID b, const world_body* d) {
  const dReal *R = dBodyGetRotation(b), *x = dBodyGetPosition(b), *u = dBodyGetLinearVel(b),
              *w = dBodyGetAngularVel(b), *h = dBodyGetQuaternion(b);
  double r[3];
  for (int i = 0; i < 3; i++)
    r[i] = R[4 * i] * d->com[0] + R[4 * i + 1] * d->com[1] + R[4 * i + 2] * d->com[2];
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    q[i] = x[i] - r[i];
    v[i] = u[i] - (w[j] * r[k] - w[k] * r[j]);
    v[3 + i] = R[i] * w[0] + R[4 + i] * w[1] + R[8 + i] * w[2];
  }
  for (int i = 0; i < 4; i++) q[3 + i] = h[i];
}

static void get(double* q, double* v, void* self) {
  peer* p = self;
  for (int i = 0; i < p->w->bodies; i++) {
    const world_body* d = &p->w->body[i];
    if (d->joint == WORLD_FREE) get_free(q + d->q, v + d->v, p->body[i], d);
    if (d->joint == WORLD_HINGE) {
      q[d->q] = dJointGetHingeAngle(p->hinge[i]);
      v[d->v] = dJointGetHingeAngleRate(p->hinge[i]);
    }
  }
}

static int contacts(void* self) { return ((peer*)self)->count; }

static double energy(void* self) {
  peer* p = self;
  double sum = 0;
  for (int i = 0; i < p->w->bodies; i++) {
    const world_body* d = &p->w->body[i];
    const dReal *R = dBodyGetRotation(p->body[i]), *x = dBodyGetPosition(p->body[i]),
                *u = dBodyGetLinearVel(p->body[i]), *w = dBodyGetAngularVel(p->body[i]);
    double wb[3];
    for (int k = 0; k < 3; k++) wb[k] = R[k] * w[0] + R[4 + k] * w[1] + R[8 + k] * w[2];
    for (int k = 0; k < 3; k++) {
      sum += 0.5 * d->mass * u[k] * u[k] - d->mass * p->w->gravity[k] * x[k];
      for (int j = 0; j < 3; j++) sum += 0.5 * wb[k] * d->I[3 * k + j] * wb[j];
    }
  }
  return sum;
}

static double drift(void* self) {
  peer* p = self;
  double worst = 0;
  for (int i = 0; i < p->w->bodies; i++) {
    dVector3 a, b;
    if (!p->hinge[i]) continue;
    dJointGetHingeAnchor(p->hinge[i], a), dJointGetHingeAnchor2(p->hinge[i], b);
    double d2 = 0;
    for (int k = 0; k < 3; k++) d2 += (a[k] - b[k]) * (a[k] - b[k]);
    worst = fmax(worst, sqrt(d2));
  }
  return worst;
}

static void destroy(void* self) {
  peer* p = self;
  dJointGroupDestroy(p->touching);
  dSpaceDestroy(p->space);
  dWorldDestroy(p->world);
  free(p->body), free(p->hinge);
  free(p);
}

KN_PEER_EXPORT const engine kn_peer = {names, refuses, create, step, get, contacts, energy, drift, destroy};
