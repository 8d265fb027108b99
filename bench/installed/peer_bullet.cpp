#include <BulletDynamics/Featherstone/btMultiBody.h>
#include <btBulletDynamicsCommon.h>

#include "bench.h"
#include "peer.h"

/* Double precision shows in the ninth digit. */
static double answer() {
  static_assert(sizeof(btScalar) == 8, "Bullet in double precision");
  btMultiBody body(1, 1.0, btVector3(1, 1, 1), true, false);
  body.setupRevolute(0, 2.0, btVector3(0.5, 0.5, 0.5), -1, btQuaternion(0, 0, 0, 1), btVector3(0, 1, 0),
                     btVector3(0, 0, 0), btVector3(0, 0, -1));
  body.finalizeMultiDof();
  body.setJointVel(0, 3.0);
  return body.getLinkMass(0) + 1e-9 * body.getJointVel(0);
}

KN_PEER_EXPORT const installed_peer kn_peer = {"mass of a link", 2.0 + 3e-9, answer};
