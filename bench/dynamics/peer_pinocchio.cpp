// Pinocchio: articulated-body algorithm, compiled here for this machine (templates).
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/multibody.hpp>

#include "bench.h"
#include "tree.h"

namespace {

using Mat3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;

struct Peer {
  pinocchio::Model model;
  std::unique_ptr<pinocchio::Data> data;
  Eigen::VectorXd q, v, tau;
  const tree* t;
};

// Its Data holds three tensors of nv³ numbers: 24 GB at 1000 dofs, so that larger models are left out.
void* create(const tree* t) {
  if (t->nv > 400) return nullptr;
  auto* p = new Peer;
  p->t = t;
  p->model.gravity.linear() = Eigen::Map<const Eigen::Vector3d>(t->gravity);
  std::vector<pinocchio::JointIndex> id;
  for (int i = 0; i < t->nlink; i++) {
    const tree_link& l = t->link[i];
    pinocchio::SE3 place(Eigen::Matrix3d(Eigen::Map<const Mat3>(l.R0)),
                         Eigen::Map<const Eigen::Vector3d>(l.p0));
    auto parent = l.parent < 0 ? 0 : id[l.parent];
    std::string name = "joint" + std::to_string(i);
    if (l.free)
      id.push_back(
          p->model.addJoint(parent, pinocchio::JointModelFreeFlyer(), pinocchio::SE3::Identity(), name));
    else
      id.push_back(p->model.addJoint(parent, pinocchio::JointModelRZ(), place, name));
    pinocchio::Inertia Y(l.mass, Eigen::Map<const Eigen::Vector3d>(l.com),
                         Eigen::Matrix3d(Eigen::Map<const Mat3>(l.I)));
    p->model.appendBodyToJoint(id.back(), Y, pinocchio::SE3::Identity());
  }
  p->data = std::make_unique<pinocchio::Data>(p->model);
  p->q = Eigen::VectorXd::Zero(t->nq), p->v = Eigen::VectorXd::Zero(t->nv), p->tau = p->v;
  return p;
}

// Free joint: quaternion x y z w; velocity and force linear first, in body axes.
Eigen::Matrix3d base_axes(const Peer* p, const tree_link& l) {
  return Eigen::Quaterniond(p->q[l.q + 6], p->q[l.q + 3], p->q[l.q + 4], p->q[l.q + 5]).toRotationMatrix();
}

void set(void* context, const double* q, const double* v, const double* tau) {
  auto* p = static_cast<Peer*>(context);
  for (int i = 0; i < p->t->nlink; i++) {
    const tree_link& l = p->t->link[i];
    if (!l.free) {
      p->q[l.q] = q[l.q] - l.ref, p->v[l.v] = v[l.v], p->tau[l.v] = tau[l.v];
      continue;
    }
    for (int k = 0; k < 3; k++) p->q[l.q + k] = q[l.q + k], p->q[l.q + 3 + k] = q[l.q + 4 + k];
    p->q[l.q + 6] = q[l.q + 3];
    Eigen::Matrix3d R = base_axes(p, l);
    p->v.segment<3>(l.v) = R.transpose() * Eigen::Map<const Eigen::Vector3d>(v + l.v);
    p->tau.segment<3>(l.v) = R.transpose() * Eigen::Map<const Eigen::Vector3d>(tau + l.v);
    p->v.segment<3>(l.v + 3) = Eigen::Map<const Eigen::Vector3d>(v + l.v + 3);
    p->tau.segment<3>(l.v + 3) = Eigen::Map<const Eigen::Vector3d>(tau + l.v + 3);
  }
}

void run(void* context) {
  auto* p = static_cast<Peer*>(context);
  pinocchio::aba(p->model, *p->data, p->q, p->v, p->tau, pinocchio::Convention::WORLD);
}

void get(double* qdd, void* context) {
  auto* p = static_cast<Peer*>(context);
  for (int i = 0; i < p->t->nlink; i++) {
    const tree_link& l = p->t->link[i];
    if (!l.free) {
      qdd[l.v] = p->data->ddq[l.v];
      continue;
    }
    Eigen::Vector3d w = p->v.segment<3>(l.v + 3), u = p->v.segment<3>(l.v), a = p->data->ddq.segment<3>(l.v);
    Eigen::Vector3d world = base_axes(p, l) * (a + w.cross(u));
    for (int k = 0; k < 3; k++) qdd[l.v + k] = world[k], qdd[l.v + 3 + k] = p->data->ddq[l.v + 3 + k];
  }
}

void destroy(void* context) { delete static_cast<Peer*>(context); }

} // namespace

KN_PEER_EXPORT const dynamics_peer kn_peer = {create, set, run, nullptr, get, destroy};
