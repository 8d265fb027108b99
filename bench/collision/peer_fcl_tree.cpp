/* FCL's dynamic tree. The boxes are handed over directly (a geometry of given bounds). */
#include <fcl/fcl.h>

#include <memory>
#include <vector>

#include "bench.h"
#include "peer_broad.h"

namespace {
/* A collision object whose bounds are set from outside. */
class boxed : public fcl::CollisionObjectd {
public:
  explicit boxed(const std::shared_ptr<fcl::CollisionGeometryd>& g) : fcl::CollisionObjectd(g) {}
  void set(const double* b) {
    this->aabb.min_ = fcl::Vector3d(b[0], b[1], b[2]);
    this->aabb.max_ = fcl::Vector3d(b[3], b[4], b[5]);
  }
};

struct world {
  fcl::DynamicAABBTreeCollisionManagerd manager;
  std::vector<std::unique_ptr<boxed>> object;
};

bool count_pair(fcl::CollisionObjectd* a, fcl::CollisionObjectd* b, void* data) {
  *static_cast<int*>(data) += a->getAABB().overlap(b->getAABB());
  return false;
}

void* create(int n, const double* boxes) {
  world* w = new world;
  std::vector<fcl::CollisionObjectd*> all;
  for (int i = 0; i < n; i++) {
    w->object.emplace_back(new boxed(std::make_shared<fcl::Boxd>(1, 1, 1)));
    w->object.back()->set(boxes + 6 * i);
    all.push_back(w->object.back().get());
  }
  w->manager.registerObjects(all);
  w->manager.setup();
  return w;
}

int update(void* self, const double* boxes) {
  world* w = static_cast<world*>(self);
  for (size_t i = 0; i < w->object.size(); i++) w->object[i]->set(boxes + 6 * i);
  w->manager.update();
  int count = 0;
  w->manager.collide(&count, count_pair);
  return count;
}

void destroy(void* self) { delete static_cast<world*>(self); }
} // namespace

KN_PEER_EXPORT const broad_peer kn_peer = {"fcl tree", create, update, nullptr, destroy};
