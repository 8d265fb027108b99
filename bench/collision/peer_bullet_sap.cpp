/* Bullet's sweep and prune on three axes. */
#include <BulletCollision/BroadphaseCollision/btAxisSweep3.h>
#include <LinearMath/btAabbUtil2.h>
#include <btBulletDynamicsCommon.h>

#include <vector>

#include "bench.h"
#include "peer_broad.h"

namespace {
struct world {
  bt32BitAxisSweep3 broad;
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher{&configuration};
  std::vector<btBroadphaseProxy*> proxy;
  std::vector<int> client;
  explicit world(int n) : broad(btVector3(-200, -200, -200), btVector3(200, 200, 200), n + 10) {}
};
} // namespace

#include "peer_bullet_broad.h"

KN_PEER_EXPORT const broad_peer kn_peer = {"bullet sap", create, filtered, update, destroy};
