#include <dart/dynamics/dynamics.hpp>

#include "bench.h"
#include "peer.h"

/* Mass matrix of a pendulum: I + m l². */
static double answer() {
  static dart::dynamics::SkeletonPtr skeleton;
  if (!skeleton) {
    skeleton = dart::dynamics::Skeleton::create("pendulum");
    dart::dynamics::RevoluteJoint::Properties joint;
    joint.mAxis = Eigen::Vector3d::UnitY();
    dart::dynamics::BodyNode::Properties body;
    body.mInertia =
        dart::dynamics::Inertia(2.0, Eigen::Vector3d(0, 0, -1), 0.5 * Eigen::Matrix3d::Identity());
    skeleton->createJointAndBodyNodePair<dart::dynamics::RevoluteJoint>(nullptr, joint, body);
  }
  return skeleton->getMassMatrix()(0, 0);
}

KN_PEER_EXPORT const installed_peer kn_peer = {"inertia of a pendulum", 2.5, answer};
