/* Bullet in double precision: its pair algorithms through the dispatcher (contact), its GJK detector with EPA
   (distance and hulls). */
#include <BulletCollision/CollisionDispatch/btCollisionDispatcher.h>
#include <BulletCollision/CollisionDispatch/btCollisionObject.h>
#include <BulletCollision/CollisionDispatch/btCollisionObjectWrapper.h>
#include <BulletCollision/CollisionDispatch/btDefaultCollisionConfiguration.h>
#include <BulletCollision/CollisionDispatch/btManifoldResult.h>
#include <BulletCollision/NarrowPhaseCollision/btGjkEpaPenetrationDepthSolver.h>
#include <BulletCollision/NarrowPhaseCollision/btGjkPairDetector.h>
#include <BulletCollision/NarrowPhaseCollision/btPointCollector.h>
#include <BulletCollision/NarrowPhaseCollision/btVoronoiSimplexSolver.h>
#include <btBulletCollisionCommon.h>

#include <cmath>
#include <memory>
#include <vector>

#include "bench.h"
#include "peer_narrow.h"

namespace {
struct least_depth : btManifoldResult {
  double best = INFINITY;
  least_depth(const btCollisionObjectWrapper* a, const btCollisionObjectWrapper* b)
      : btManifoldResult(a, b) {}
  void addContactPoint(const btVector3&, const btVector3&, btScalar depth) override {
    best = depth < best ? depth : best;
  }
};

struct pair {
  std::unique_ptr<btCollisionShape> sa, sb;
  btCollisionObject a, b;
  btCollisionAlgorithm* algorithm = nullptr;
};

struct world {
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher{&configuration};
  btDispatcherInfo info;
  std::vector<std::unique_ptr<pair>> pairs;
  bool detector;
  double margin;
};

btCollisionShape* shape_of(const narrow_shape& s) {
  switch (s.type) {
  case KN_SHAPE_PLANE: return new btStaticPlaneShape(btVector3(0, 0, 1), 0);
  case KN_SHAPE_SPHERE: return new btSphereShape(s.size[0]);
  case KN_SHAPE_CAPSULE: return new btCapsuleShapeZ(s.size[0], 2 * s.size[1]);
  case KN_SHAPE_CYLINDER: {
    auto* c = new btCylinderShapeZ(btVector3(s.size[0], s.size[0], s.size[1]));
    c->setMargin(0);
    return c;
  }
  case KN_SHAPE_BOX: return new btBoxShape(btVector3(s.size[0], s.size[1], s.size[2]));
  default: {
    auto* h = new btConvexHullShape;
    for (int i = 0; i < s.nv; i++) h->addPoint(btVector3(s.v[3 * i], s.v[3 * i + 1], s.v[3 * i + 2]), false);
    h->recalcLocalAabb();
    h->setMargin(0);
    return h;
  }
  }
}

btTransform transform(const kn_pose& P) {
  const double* R = P.R;
  return btTransform(btMatrix3x3(R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8]),
                     btVector3(P.p[0], P.p[1], P.p[2]));
}

bool supports(kn_shape_type a, kn_shape_type b, narrow_mode) {
  return a != KN_SHAPE_ELLIPSOID && b != KN_SHAPE_ELLIPSOID && b <= KN_SHAPE_HULL;
}

void* create(const narrow_pair* pairs, int n, narrow_mode mode, double margin) {
  world* w = new world;
  w->margin = margin;
  w->detector =
      mode == NARROW_DISTANCE || (pairs[0].a.type == KN_SHAPE_HULL && pairs[0].b.type == KN_SHAPE_HULL);
  for (int i = 0; i < n; i++) {
    std::unique_ptr<pair> p(new pair);
    p->sa.reset(shape_of(pairs[i].a)), p->sb.reset(shape_of(pairs[i].b));
    p->a.setCollisionShape(p->sa.get()), p->b.setCollisionShape(p->sb.get());
    p->a.setWorldTransform(transform(pairs[i].A)), p->b.setWorldTransform(transform(pairs[i].B));
    if (!w->detector) {
      btCollisionObjectWrapper wa(nullptr, p->sa.get(), &p->a, p->a.getWorldTransform(), -1, -1);
      btCollisionObjectWrapper wb(nullptr, p->sb.get(), &p->b, p->b.getWorldTransform(), -1, -1);
      p->algorithm = w->dispatcher.findAlgorithm(&wa, &wb, nullptr, BT_CONTACT_POINT_ALGORITHMS);
    }
    w->pairs.push_back(std::move(p));
  }
  return w;
}

double query(void* self, int i) {
  world* w = static_cast<world*>(self);
  pair& p = *w->pairs[i];
  if (w->detector) {
    btVoronoiSimplexSolver simplex;
    btGjkEpaPenetrationDepthSolver epa;
    btGjkPairDetector gjk(static_cast<btConvexShape*>(p.sa.get()), static_cast<btConvexShape*>(p.sb.get()),
                          &simplex, &epa);
    btGjkPairDetector::ClosestPointInput input;
    btPointCollector out;
    input.m_transformA = p.a.getWorldTransform(), input.m_transformB = p.b.getWorldTransform();
    gjk.getClosestPoints(input, out, nullptr);
    return out.m_hasResult ? out.m_distance : INFINITY;
  }
  btCollisionObjectWrapper wa(nullptr, p.sa.get(), &p.a, p.a.getWorldTransform(), -1, -1);
  btCollisionObjectWrapper wb(nullptr, p.sb.get(), &p.b, p.b.getWorldTransform(), -1, -1);
  least_depth result(&wa, &wb);
  p.algorithm->processCollision(&wa, &wb, w->info, &result);
  return result.best;
}

void destroy(void* self) {
  world* w = static_cast<world*>(self);
  for (auto& p : w->pairs)
    if (p->algorithm) {
      p->algorithm->~btCollisionAlgorithm();
      w->dispatcher.freeCollisionAlgorithm(p->algorithm);
    }
  delete w;
}
} // namespace

KN_PEER_EXPORT const narrow_peer kn_peer = {"bullet", supports, create, query, destroy};
