#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/multibody.hpp>

#include "bench.h"
#include "peer.h"

/* Mass matrix of a pendulum: I + m l². */
static double answer() {
  static pinocchio::Model model;
  static pinocchio::Data* data;
  if (!data) {
    auto joint = model.addJoint(0, pinocchio::JointModelRY(), pinocchio::SE3::Identity(), "hinge");
    pinocchio::Inertia inertia(2.0, Eigen::Vector3d(0, 0, -1), 0.5 * Eigen::Matrix3d::Identity());
    model.appendBodyToJoint(joint, inertia, pinocchio::SE3::Identity());
    data = new pinocchio::Data(model);
  }
  pinocchio::crba(model, *data, Eigen::VectorXd::Zero(1));
  return data->M(0, 0);
}

KN_PEER_EXPORT const installed_peer kn_peer = {"inertia of a pendulum", 2.5, answer};
