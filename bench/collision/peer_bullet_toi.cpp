/* Bullet's conservative advancement. It stops at a gap of 1 mm. */
#include <BulletCollision/NarrowPhaseCollision/btContinuousConvexCollision.h>
#include <BulletCollision/NarrowPhaseCollision/btGjkEpaPenetrationDepthSolver.h>
#include <BulletCollision/NarrowPhaseCollision/btVoronoiSimplexSolver.h>
#include <btBulletCollisionCommon.h>

#include "bench.h"
#include "peer_toi.h"

namespace {
struct pair {
  btConvexHullShape a, b;
  btVoronoiSimplexSolver simplex;
  btGjkEpaPenetrationDepthSolver depth;
};

void fill(btConvexHullShape& h, const kn_mesh_data* m) {
  for (int i = 0; i < m->nvertex; i++)
    h.addPoint(btVector3(m->vertices[3 * i], m->vertices[3 * i + 1], m->vertices[3 * i + 2]), false);
  h.setMargin(0);
  h.recalcLocalAabb();
}

void* create(const kn_mesh_data* a, const kn_mesh_data* b) {
  pair* p = new pair;
  fill(p->a, a);
  fill(p->b, b);
  return p;
}

btTransform transform(const double* x) {
  return btTransform(btMatrix3x3(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]),
                     btVector3(x[9], x[10], x[11]));
}

double query(void* self, const double* a0, const double* a1, const double* b0, const double* b1) {
  pair* p = static_cast<pair*>(self);
  btContinuousConvexCollision cast(&p->a, &p->b, &p->simplex, &p->depth);
  btConvexCast::CastResult result;
  result.m_fraction = 1;
  return cast.calcTimeOfImpact(transform(a0), transform(a1), transform(b0), transform(b1), result)
             ? result.m_fraction
             : 1;
}

void destroy(void* self) { delete static_cast<pair*>(self); }
} // namespace

KN_PEER_EXPORT const toi_peer kn_peer = {"bullet", create, query, destroy};
