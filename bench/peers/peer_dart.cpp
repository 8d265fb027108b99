// DART: generalised coordinates, its own collision detector, Dantzig's method for contacts (its default) and
// projected Gauss-Seidel. Servos are joint springs, which it integrates implicitly. It has no rotor inertia
// and its detector no planes and capsules: planes are large boxes, capsules (which nothing touches here) are
// left out.
#include <dart/collision/dart/DARTCollisionDetector.hpp>
#include <dart/constraint/constraint.hpp>
#include <dart/dynamics/dynamics.hpp>
#include <dart/simulation/World.hpp>

#include "bench.h"
#include "engine.h"

namespace {

using namespace dart::dynamics;
using Mat3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
using Vec = Eigen::Vector3d;

Vec vec(const double x[3]) { return Vec(x[0], x[1], x[2]); }
Eigen::Isometry3d pose(const double R[9], const double p[3]) {
  Eigen::Isometry3d T = Eigen::Isometry3d::Identity();
  T.linear() = Eigen::Map<const Mat3>(R);
  T.translation() = vec(p);
  return T;
}

struct Peer {
  const world* w;
  dart::simulation::WorldPtr dynamics;
  std::vector<BodyNode*> node;
};

enum { DANTZIG, PGS };
const char* const names[] = {"dart", "dart pgs", nullptr};

const char* refuses(const world* w, int variant) {
  if (w->loose && variant == DANTZIG) return "dense Dantzig method: seconds a step on piles";
  if (!w->loose && w->bodies >= 60) return "far behind on long chains";
  return nullptr;
}

// Of two surfaces DART takes the smaller friction and the product of restitutions.
void add_shape(const Peer* p, BodyNode* node, const world_geom& g) {
  ShapePtr shape;
  Eigen::Isometry3d T = pose(g.R, g.p);
  const double size = 200;
  if (g.shape == WORLD_SPHERE) shape = std::make_shared<SphereShape>(g.size[0]);
  if (g.shape == WORLD_BOX) shape = std::make_shared<BoxShape>(2 * vec(g.size));
  if (g.shape == WORLD_PLANE) {
    shape = std::make_shared<BoxShape>(Vec(size, size, 10));
    T.translate(Vec(0, 0, -5));
  }
  if (!shape) return;
  auto* s = node->createShapeNodeWith<CollisionAspect, DynamicsAspect>(shape);
  s->setRelativeTransform(T);
  s->getDynamicsAspect()->setFrictionCoeff(p->w->mu);
  s->getDynamicsAspect()->setRestitutionCoeff(std::sqrt(p->w->e));
}

void add_ground(Peer* p) {
  auto skeleton = Skeleton::create("ground");
  for (int g = 0; g < p->w->geoms; g++) {
    if (p->w->geom[g].body >= 0) continue;
    WeldJoint::Properties joint;
    joint.mName = "weld" + std::to_string(g);
    BodyNode::Properties body;
    body.mName = "ground" + std::to_string(g);
    add_shape(p, skeleton->createJointAndBodyNodePair<WeldJoint>(nullptr, joint, body).second, p->w->geom[g]);
  }
  skeleton->setMobile(false);
  p->dynamics->addSkeleton(skeleton);
}

BodyNode::Properties body_properties(const world_body& b, int i) {
  BodyNode::Properties body;
  body.mName = "body" + std::to_string(i);
  body.mInertia = Inertia(b.mass, vec(b.com), Eigen::Matrix3d(Eigen::Map<const Mat3>(b.I)));
  return body;
}

BodyNode* add_hinge(const SkeletonPtr& skeleton, BodyNode* parent, const world_body& b, int i) {
  RevoluteJoint::Properties joint;
  joint.mName = "joint" + std::to_string(i);
  joint.mAxis = vec(b.axis);
  joint.mT_ParentBodyToJoint = pose(b.R0, b.p0) * Eigen::Translation3d(vec(b.anchor));
  joint.mT_ChildBodyToJoint = Eigen::Isometry3d(Eigen::Translation3d(vec(b.anchor)));
  auto pair = skeleton->createJointAndBodyNodePair<RevoluteJoint>(parent, joint, body_properties(b, i));
  pair.first->setDampingCoefficient(0, b.damping + b.kv);
  if (b.kp > 0) pair.first->setSpringStiffness(0, b.kp), pair.first->setRestPosition(0, b.target);
  if (b.limited) {
    pair.first->setPositionLowerLimit(0, b.range[0]), pair.first->setPositionUpperLimit(0, b.range[1]);
    pair.first->setLimitEnforcement(true);
  }
  return pair.second;
}

BodyNode* add_free(const SkeletonPtr& skeleton, const world_body& b, int i) {
  FreeJoint::Properties joint;
  joint.mName = "joint" + std::to_string(i);
  return skeleton->createJointAndBodyNodePair<FreeJoint>(nullptr, joint, body_properties(b, i)).second;
}

void start(Peer* p) {
  for (int i = 0; i < p->w->bodies; i++) {
    const world_body& b = p->w->body[i];
    Joint* j = p->node[i]->getParentJoint();
    if (b.joint == WORLD_HINGE) {
      j->setPosition(0, p->w->q[b.q]), j->setVelocity(0, p->w->v[b.v]);
      continue;
    }
    Eigen::Isometry3d T = pose(b.R, b.p);
    Eigen::Vector6d v;
    Vec w = vec(b.w), origin = vec(b.vc) - w.cross(T.linear() * vec(b.com));
    v << T.linear().transpose() * w, T.linear().transpose() * origin;
    j->setPositions(FreeJoint::convertToPositions(T)), j->setVelocities(v);
  }
}

void* create(const world* w, int variant) {
  auto* p = new Peer;
  p->w = w;
  p->dynamics = dart::simulation::World::create();
  p->dynamics->setTimeStep(w->dt);
  p->dynamics->setGravity(vec(w->gravity));
  auto* solver = p->dynamics->getConstraintSolver();
  solver->setCollisionDetector(dart::collision::DARTCollisionDetector::create());
  solver->getCollisionOption().maxNumContacts = 100000;
  if (variant == PGS) {
    auto boxed = std::make_unique<dart::constraint::BoxedLcpConstraintSolver>(
        std::make_shared<dart::constraint::PgsBoxedLcpSolver>());
    boxed->setCollisionDetector(dart::collision::DARTCollisionDetector::create());
    boxed->getCollisionOption().maxNumContacts = 100000;
    p->dynamics->setConstraintSolver(std::move(boxed));
  }
  add_ground(p);
  SkeletonPtr skeleton;
  for (int i = 0; i < w->bodies; i++) {
    const world_body& b = w->body[i];
    if (b.parent < 0) {
      skeleton = Skeleton::create("tree" + std::to_string(i));
      p->node.push_back(b.joint == WORLD_FREE ? add_free(skeleton, b, i)
                                              : add_hinge(skeleton, nullptr, b, i));
    } else {
      p->node.push_back(add_hinge(skeleton, p->node[b.parent], b, i));
    }
    for (int g = 0; g < w->geoms; g++)
      if (w->geom[g].body == i) add_shape(p, p->node[i], w->geom[g]);
    bool last = i + 1 == w->bodies || w->body[i + 1].parent < 0;
    if (!last) continue;
    if (w->nu == 0) skeleton->enableSelfCollisionCheck();
    skeleton->disableAdjacentBodyCheck();
    p->dynamics->addSkeleton(skeleton);
  }
  start(p);
  return p;
}

void step(void* self, int steps) {
  auto* p = static_cast<Peer*>(self);
  for (int i = 0; i < steps; i++) p->dynamics->step();
}

void get(double* q, double* v, void* self) {
  auto* p = static_cast<Peer*>(self);
  for (int i = 0; i < p->w->bodies; i++) {
    const world_body& b = p->w->body[i];
    const Joint* j = p->node[i]->getParentJoint();
    if (b.joint == WORLD_HINGE) {
      q[b.q] = j->getPosition(0), v[b.v] = j->getVelocity(0);
      continue;
    }
    Eigen::Isometry3d T = p->node[i]->getWorldTransform();
    Eigen::Quaterniond h(T.linear());
    Eigen::Vector6d u = p->node[i]->getSpatialVelocity();
    Vec x = T.translation(), wb = u.head<3>(), o = T.linear() * u.tail<3>();
    double out[7] = {x[0], x[1], x[2], h.w(), h.x(), h.y(), h.z()};
    for (int k = 0; k < 7; k++) q[b.q + k] = out[k];
    for (int k = 0; k < 3; k++) v[b.v + k] = o[k], v[b.v + 3 + k] = wb[k];
  }
}

int contacts(void* self) {
  return static_cast<int>(static_cast<Peer*>(self)->dynamics->getLastCollisionResult().getNumContacts());
}

double energy(void* self) {
  auto* p = static_cast<Peer*>(self);
  double sum = 0;
  for (int i = 0; i < p->w->bodies; i++) {
    const BodyNode* n = p->node[i];
    // its own potential energy takes the origin of the body for the centre of mass
    sum += n->computeKineticEnergy() - n->getMass() * vec(p->w->gravity).dot(n->getCOM());
  }
  return sum;
}

void destroy(void* self) { delete static_cast<Peer*>(self); }

} // namespace

KN_PEER_EXPORT const engine kn_peer = {names, refuses, create, step, get, contacts, energy, nullptr, destroy};
