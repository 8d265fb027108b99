/* Bullet's dynamic tree. */
#include <BulletCollision/BroadphaseCollision/btDbvtBroadphase.h>
#include <LinearMath/btAabbUtil2.h>
#include <btBulletDynamicsCommon.h>

#include <vector>

#include "bench.h"
#include "peer_broad.h"

namespace {
struct world {
  btDbvtBroadphase broad;
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher{&configuration};
  std::vector<btBroadphaseProxy*> proxy;
  std::vector<int> client;
  explicit world(int) {}
};
} // namespace

#include "peer_bullet_broad.h"

KN_PEER_EXPORT const broad_peer kn_peer = {"bullet tree", create, filtered, update, destroy};
