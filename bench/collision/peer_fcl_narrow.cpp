/* FCL 0.7 with its default solver. */
#include <fcl/fcl.h>

#include <cmath>
#include <memory>
#include <vector>

#include "bench.h"
#include "peer_narrow.h"

namespace {
struct world {
  std::vector<std::unique_ptr<fcl::CollisionObjectd>> a, b;
  narrow_mode mode;
};

std::shared_ptr<fcl::CollisionGeometryd> geometry(const narrow_shape& s) {
  const double* z = s.size;
  switch (s.type) {
  case KN_SHAPE_PLANE: return std::make_shared<fcl::Halfspaced>(fcl::Vector3d(0, 0, 1), 0);
  case KN_SHAPE_SPHERE: return std::make_shared<fcl::Sphered>(z[0]);
  case KN_SHAPE_CAPSULE: return std::make_shared<fcl::Capsuled>(z[0], 2 * z[1]);
  case KN_SHAPE_CYLINDER: return std::make_shared<fcl::Cylinderd>(z[0], 2 * z[1]);
  case KN_SHAPE_ELLIPSOID: return std::make_shared<fcl::Ellipsoidd>(z[0], z[1], z[2]);
  case KN_SHAPE_BOX: return std::make_shared<fcl::Boxd>(2 * z[0], 2 * z[1], 2 * z[2]);
  default: {
    auto v = std::make_shared<std::vector<fcl::Vector3d>>();
    auto f = std::make_shared<std::vector<int>>();
    for (int i = 0; i < s.nv; i++) v->emplace_back(s.v[3 * i], s.v[3 * i + 1], s.v[3 * i + 2]);
    for (int i = 0; i < s.nt; i++) {
      f->push_back(3);
      for (int k = 0; k < 3; k++) f->push_back(s.triangle[3 * i + k]);
    }
    return std::make_shared<fcl::Convexd>(v, s.nt, f);
  }
  }
}

fcl::Transform3d transform(const kn_pose& P) {
  fcl::Transform3d t = fcl::Transform3d::Identity();
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) t.linear()(i, j) = P.R[3 * i + j];
    t.translation()(i) = P.p[i];
  }
  return t;
}

bool supports(kn_shape_type a, kn_shape_type b, narrow_mode mode) {
  return b <= KN_SHAPE_HULL && !(a == KN_SHAPE_PLANE && mode == NARROW_DISTANCE);
}

void* create(const narrow_pair* pairs, int n, narrow_mode mode, double) {
  world* w = new world;
  w->mode = mode;
  for (int i = 0; i < n; i++) {
    w->a.emplace_back(new fcl::CollisionObjectd(geometry(pairs[i].a), transform(pairs[i].A)));
    w->b.emplace_back(new fcl::CollisionObjectd(geometry(pairs[i].b), transform(pairs[i].B)));
  }
  return w;
}

double query(void* self, int i) {
  world* w = static_cast<world*>(self);
  if (w->mode == NARROW_DISTANCE) {
    fcl::DistanceRequestd request(true);
    fcl::DistanceResultd result;
    return fcl::distance(w->a[i].get(), w->b[i].get(), request, result);
  }
  fcl::CollisionRequestd request(4, true);
  fcl::CollisionResultd result;
  fcl::collide(w->a[i].get(), w->b[i].get(), request, result);
  double least = INFINITY;
  for (size_t k = 0; k < result.numContacts(); k++)
    least = std::fmin(least, -result.getContact(k).penetration_depth);
  return least;
}

void destroy(void* self) { delete static_cast<world*>(self); }
} // namespace

KN_PEER_EXPORT const narrow_peer kn_peer = {"fcl", supports, create, query, destroy};
