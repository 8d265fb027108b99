// Bullet in double precision: btMultiBody's articulated-body algorithm. It adds dt times the acceleration to
// the velocities, so that these are set again in the timed call, as a stepper would find them changed.
#include <BulletDynamics/Featherstone/btMultiBody.h>
#include <btBulletDynamicsCommon.h>

#include <Eigen/Eigenvalues>
#include <memory>
#include <vector>

#include "bench.h"
#include "tree.h"

namespace {

using Mat3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
using Vec = Eigen::Vector3d;

struct Principal { // frame at the centre of mass along the principal axes, in the link frame
  Eigen::Matrix3d R;
  Vec p, moments;
};

struct Peer {
  std::unique_ptr<btMultiBody> body;
  const tree* t;
  std::vector<double> q, v, tau, qdd;
  btAlignedObjectArray<btScalar> scratch_r;
  btAlignedObjectArray<btVector3> scratch_v;
  btAlignedObjectArray<btMatrix3x3> scratch_m;
  btTransform base;
  btVector3 omega, vel;
  bool floating;
};

btVector3 bt(const Vec& v) { return btVector3(v[0], v[1], v[2]); }
btQuaternion bt(const Eigen::Matrix3d& R) {
  Eigen::Quaterniond q(R);
  return btQuaternion(q.x(), q.y(), q.z(), q.w());
}

Principal principal(const tree_link& l) {
  Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(Eigen::Matrix3d(Eigen::Map<const Mat3>(l.I)));
  Principal f{solver.eigenvectors(), Eigen::Map<const Vec>(l.com), solver.eigenvalues()};
  if (f.R.determinant() < 0) f.R.col(2) *= -1;
  return f;
}

void* create(const tree* t) {
  auto* p = new Peer;
  p->t = t;
  p->floating = t->nlink > 0 && t->link[0].free;
  int links = t->nlink - p->floating;
  std::vector<Principal> frame;
  for (int i = 0; i < t->nlink; i++) frame.push_back(principal(t->link[i]));
  Principal world{Eigen::Matrix3d::Identity(), Vec::Zero(), Vec::Ones()};
  const Principal& root = p->floating ? frame[0] : world;
  p->body = std::make_unique<btMultiBody>(links, p->floating ? t->link[0].mass : 0.0, bt(root.moments),
                                          !p->floating, false);
  for (int i = p->floating; i < t->nlink; i++) {
    const tree_link& l = t->link[i];
    const Principal& parent = l.parent < 0 ? world : frame[l.parent];
    Eigen::Matrix3d R0 = Eigen::Map<const Mat3>(l.R0);
    Vec p0 = Eigen::Map<const Vec>(l.p0);
    // parent principal frame -> link principal frame at q = 0
    Eigen::Matrix3d to_this = frame[i].R.transpose() * R0.transpose() * parent.R;
    Vec pivot = parent.R.transpose() * (p0 - parent.p), com = frame[i].R.transpose() * frame[i].p;
    Vec axis = frame[i].R.transpose() * Vec::UnitZ();
    p->body->setupRevolute(i - p->floating, l.mass, bt(frame[i].moments),
                           l.parent < 0 ? -1 : l.parent - p->floating, bt(to_this), bt(axis), bt(pivot),
                           bt(com), true);
  }
  p->body->finalizeMultiDof();
  p->body->setLinearDamping(0), p->body->setAngularDamping(0), p->body->useRK4Integration(false);
  p->body->setUseGyroTerm(true), p->body->useGlobalVelocities(false);
  p->body->setMaxCoordinateVelocity(1e30);
  p->q.resize(t->nq), p->v.resize(t->nv), p->tau.resize(t->nv), p->qdd.resize(t->nv);
  return p;
}

void set(void* context, const double* q, const double* v, const double* tau) {
  auto* p = static_cast<Peer*>(context);
  p->q.assign(q, q + p->t->nq), p->v.assign(v, v + p->t->nv), p->tau.assign(tau, tau + p->t->nv);
  if (!p->floating) return;
  Principal f = principal(p->t->link[0]);
  Eigen::Matrix3d R = Eigen::Quaterniond(q[3], q[4], q[5], q[6]).toRotationMatrix();
  Vec o(q[0], q[1], q[2]), w = R * Vec(v[3], v[4], v[5]);
  p->base.setIdentity(), p->base.setRotation(bt(Eigen::Matrix3d(R * f.R))),
      p->base.setOrigin(bt(Vec(o + R * f.p)));
  p->omega = bt(w), p->vel = bt(Vec(Vec(v[0], v[1], v[2]) + w.cross(R * f.p)));
}

const double dt = 1e-6; // any: the change of velocity is divided by it

void run(void* context) {
  auto* p = static_cast<Peer*>(context);
  btMultiBody* b = p->body.get();
  const tree* t = p->t;
  btVector3 g(t->gravity[0], t->gravity[1], t->gravity[2]);
  b->clearForcesAndTorques();
  if (p->floating) {
    b->setBaseWorldTransform(p->base), b->setBaseVel(p->vel), b->setBaseOmega(p->omega);
    b->addBaseForce(g * b->getBaseMass());
    // the bench applies no force to the floating base
  }
  for (int i = p->floating; i < t->nlink; i++) {
    const tree_link& l = t->link[i];
    int k = i - p->floating;
    b->setJointPos(k, p->q[l.q] - l.ref), b->setJointVel(k, p->v[l.v]);
    b->addJointTorque(k, p->tau[l.v]);
    b->addLinkForce(k, g * b->getLinkMass(k));
  }
  b->computeAccelerationsArticulatedBodyAlgorithmMultiDof(dt, p->scratch_r, p->scratch_v, p->scratch_m, false,
                                                          false, false);
}

void get(double* qdd, void* context) {
  auto* p = static_cast<Peer*>(context);
  for (int i = p->floating; i < p->t->nlink; i++) {
    const tree_link& l = p->t->link[i];
    qdd[l.v] = (p->body->getJointVel(i - p->floating) - p->v[l.v]) / dt;
  }
}

void destroy(void* context) { delete static_cast<Peer*>(context); }

} // namespace

KN_PEER_EXPORT const dynamics_peer kn_peer = {create, set, run, nullptr, get, destroy};
