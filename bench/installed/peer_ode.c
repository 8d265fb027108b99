#include <ode/ode.h>

#include "bench.h"
#include "peer.h"

/* Speed after one step of free fall in the precision the library was built with. */
static double answer(void) {
  static dWorldID world;
  static dBodyID body;
  if (!world) {
    dInitODE2(0);
    world = dWorldCreate();
    dWorldSetGravity(world, 0, 0, -10);
    body = dBodyCreate(world);
  }
  dBodySetLinearVel(body, 0, 0, 0);
  dWorldStep(world, 0.5);
  return -(double)dBodyGetLinearVel(body)[2];
}

KN_PEER_EXPORT const installed_peer kn_peer = {"speed after a step of free fall", 5, answer};
