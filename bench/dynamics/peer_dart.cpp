// DART: Skeleton::computeForwardDynamics, poses and velocities set in the timed call (they are evaluated
// lazily).
#include <dart/dynamics/dynamics.hpp>

#include "bench.h"
#include "tree.h"

namespace {

using Mat3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
using namespace dart::dynamics;

struct Peer {
  SkeletonPtr skeleton;
  const tree* t;
  Eigen::VectorXd q, v, tau; // in DART's order: equal to ours, free joints as (rotation vector, position)
};

void* create(const tree* t) {
  auto* p = new Peer;
  p->t = t;
  p->skeleton = Skeleton::create("tree");
  p->skeleton->setGravity(Eigen::Map<const Eigen::Vector3d>(t->gravity));
  std::vector<BodyNode*> node;
  for (int i = 0; i < t->nlink; i++) {
    const tree_link& l = t->link[i];
    BodyNode* parent = l.parent < 0 ? nullptr : node[l.parent];
    BodyNode::Properties body;
    body.mName = "body" + std::to_string(i);
    body.mInertia = Inertia(l.mass, Eigen::Map<const Eigen::Vector3d>(l.com),
                            Eigen::Matrix3d(Eigen::Map<const Mat3>(l.I)));
    if (l.free) {
      FreeJoint::Properties joint;
      joint.mName = "joint" + std::to_string(i);
      node.push_back(p->skeleton->createJointAndBodyNodePair<FreeJoint>(parent, joint, body).second);
    } else {
      RevoluteJoint::Properties joint;
      joint.mName = "joint" + std::to_string(i);
      joint.mAxis = Eigen::Vector3d::UnitZ();
      joint.mT_ParentBodyToJoint.linear() = Eigen::Map<const Mat3>(l.R0);
      joint.mT_ParentBodyToJoint.translation() = Eigen::Map<const Eigen::Vector3d>(l.p0);
      node.push_back(p->skeleton->createJointAndBodyNodePair<RevoluteJoint>(parent, joint, body).second);
    }
  }
  p->q = Eigen::VectorXd::Zero(t->nv), p->v = p->q, p->tau = p->q;
  return p;
}

// DART's free joint velocity and force: (angular, linear) in body axes.
void set(void* context, const double* q, const double* v, const double* tau) {
  auto* p = static_cast<Peer*>(context);
  for (int i = 0; i < p->t->nlink; i++) {
    const tree_link& l = p->t->link[i];
    if (!l.free) {
      p->q[l.v] = q[l.q] - l.ref, p->v[l.v] = v[l.v], p->tau[l.v] = tau[l.v];
      continue;
    }
    Eigen::Isometry3d T = Eigen::Isometry3d::Identity();
    T.linear() = Eigen::Quaterniond(q[l.q + 3], q[l.q + 4], q[l.q + 5], q[l.q + 6]).toRotationMatrix();
    T.translation() = Eigen::Map<const Eigen::Vector3d>(q + l.q);
    p->q.segment<6>(l.v) = FreeJoint::convertToPositions(T);
    p->v.segment<3>(l.v) = Eigen::Map<const Eigen::Vector3d>(v + l.v + 3);
    p->v.segment<3>(l.v + 3) = T.linear().transpose() * Eigen::Map<const Eigen::Vector3d>(v + l.v);
    p->tau.segment<3>(l.v) = Eigen::Map<const Eigen::Vector3d>(tau + l.v + 3);
    p->tau.segment<3>(l.v + 3) = T.linear().transpose() * Eigen::Map<const Eigen::Vector3d>(tau + l.v);
  }
}

void run(void* context) {
  auto* p = static_cast<Peer*>(context);
  p->skeleton->setPositions(p->q);
  p->skeleton->setVelocities(p->v);
  p->skeleton->setForces(p->tau);
  p->skeleton->computeForwardDynamics();
}

void get(double* qdd, void* context) {
  auto* p = static_cast<Peer*>(context);
  Eigen::VectorXd a = p->skeleton->getAccelerations();
  for (int i = 0; i < p->t->nlink; i++) {
    const tree_link& l = p->t->link[i];
    if (!l.free) {
      qdd[l.v] = a[l.v];
      continue;
    }
    for (int k = 0; k < 3; k++) qdd[l.v + 3 + k] = a[l.v + k];
  }
}

void destroy(void* context) { delete static_cast<Peer*>(context); }

} // namespace

KN_PEER_EXPORT const dynamics_peer kn_peer = {create, set, run, nullptr, get, destroy};
