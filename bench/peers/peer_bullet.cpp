// Bullet in double precision, its default 10 rounds of the impulse solver and 50: trees as Featherstone
// multibodies, free bodies as rigid bodies. Of two surfaces it takes the product of friction and restitution.
#include <BulletDynamics/Featherstone/btMultiBody.h>
#include <BulletDynamics/Featherstone/btMultiBodyConstraintSolver.h>
#include <BulletDynamics/Featherstone/btMultiBodyDynamicsWorld.h>
#include <BulletDynamics/Featherstone/btMultiBodyJointLimitConstraint.h>
#include <BulletDynamics/Featherstone/btMultiBodyLinkCollider.h>
#include <btBulletDynamicsCommon.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <memory>
#include <vector>

#include "bench.h"
#include "engine.h"

namespace {

using Mat3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
using Vec = Eigen::Vector3d;

Eigen::Matrix3d mat(const double R[9]) { return Eigen::Map<const Mat3>(R); }
Vec vec(const double x[3]) { return Vec(x[0], x[1], x[2]); }
btVector3 bt(const Vec& v) { return btVector3(v[0], v[1], v[2]); }
Vec eigen(const btVector3& v) { return Vec(v.x(), v.y(), v.z()); }
btQuaternion bt(const Eigen::Matrix3d& R) {
  Eigen::Quaterniond q(R);
  return btQuaternion(q.x(), q.y(), q.z(), q.w());
}
btTransform bt(const Eigen::Matrix3d& R, const Vec& p) {
  btTransform t;
  t.setRotation(bt(R));
  t.setOrigin(bt(p));
  return t;
}

struct Principal { // frame at the centre of mass along the principal axes, in the body frame
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();
  Vec p = Vec::Zero(), moments = Vec::Ones();
};

Principal principal(const world_body& b) {
  Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(mat(b.I));
  Principal f;
  f.p = vec(b.com);
  f.moments = solver.eigenvalues();
  // equal moments: the axes of the body, as they are
  if (f.moments[2] - f.moments[0] < 1e-12 * f.moments[2]) return f;
  f.R = solver.eigenvectors();
  if (f.R.determinant() < 0) f.R.col(2) *= -1;
  return f;
}

struct Peer {
  const world* w;
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher{&configuration};
  btDbvtBroadphase broad;
  btMultiBodyConstraintSolver solver;
  btMultiBodyDynamicsWorld dynamics{&dispatcher, &broad, &solver, &configuration};
  std::vector<Principal> frame;
  std::vector<std::unique_ptr<btCollisionShape>> shapes;
  std::vector<std::unique_ptr<btCollisionObject>> objects;
  std::vector<std::unique_ptr<btMultiBodyConstraint>> limits;
  std::unique_ptr<btMultiBody> tree;
  std::vector<btRigidBody*> rigid;
};

const char* const names[] = {"bullet", "bullet 50 rounds", nullptr};

const char* refuses(const world* w, int variant) {
  if (variant && !w->loose && w->bodies >= 60) return "no better on long chains";
  if (w->nu > 0) return "no implicit servos in multibodies: explicit ones are unstable at 1 ms";
  return nullptr;
}

btCollisionShape* primitive(const world_geom& g) {
  switch (g.shape) {
  case WORLD_SPHERE: return new btSphereShape(g.size[0]);
  case WORLD_CAPSULE: return new btCapsuleShapeZ(g.size[0], 2 * g.size[1]);
  case WORLD_BOX: return new btBoxShape(btVector3(g.size[0], g.size[1], g.size[2]));
  default: {
    Vec n(g.R[2], g.R[5], g.R[8]);
    return new btStaticPlaneShape(bt(n), n.dot(vec(g.p)));
  }
  }
}

// All shapes of a body as one, in the principal frame of its centre of mass.
btCollisionShape* shape_of(Peer* p, int body) {
  std::vector<const world_geom*> mine;
  for (int g = 0; g < p->w->geoms; g++)
    if (p->w->geom[g].body == body) mine.push_back(&p->w->geom[g]);
  if (mine.empty()) return nullptr;
  const Principal& f = p->frame[body];
  Vec at = f.R.transpose() * (vec(mine[0]->p) - f.p);
  if (mine.size() == 1 && mine[0]->shape == WORLD_SPHERE && at.norm() < 1e-12) {
    p->shapes.emplace_back(primitive(*mine[0]));
    return p->shapes.back().get();
  }
  auto* all = new btCompoundShape;
  for (const world_geom* g : mine) {
    p->shapes.emplace_back(primitive(*g));
    all->addChildShape(
        bt(Eigen::Matrix3d(f.R.transpose() * mat(g->R)), Vec(f.R.transpose() * (vec(g->p) - f.p))),
        p->shapes.back().get());
  }
  p->shapes.emplace_back(all);
  return all;
}

void surface(const Peer* p, btCollisionObject* o) {
  o->setFriction(std::sqrt(p->w->mu));
  o->setRestitution(std::sqrt(p->w->e));
  o->setActivationState(DISABLE_DEACTIVATION);
}

void add_ground(Peer* p) {
  for (int g = 0; g < p->w->geoms; g++) {
    if (p->w->geom[g].body >= 0) continue;
    p->shapes.emplace_back(primitive(p->w->geom[g]));
    btRigidBody::btRigidBodyConstructionInfo info(0, nullptr, p->shapes.back().get());
    auto* ground = new btRigidBody(info);
    p->objects.emplace_back(ground);
    surface(p, ground);
    p->dynamics.addRigidBody(ground, 2, 1); // the ground meets bodies only
  }
}

void add_loose(Peer* p) {
  for (int i = 0; i < p->w->bodies; i++) {
    const world_body& b = p->w->body[i];
    const Principal& f = p->frame[i];
    btRigidBody::btRigidBodyConstructionInfo info(b.mass, nullptr, shape_of(p, i), bt(f.moments));
    info.m_startWorldTransform = bt(Eigen::Matrix3d(mat(b.R) * f.R), Vec(vec(b.p) + mat(b.R) * f.p));
    auto* body = new btRigidBody(info);
    p->objects.emplace_back(body);
    p->rigid.push_back(body);
    surface(p, body);
    body->setLinearVelocity(bt(vec(b.vc))), body->setAngularVelocity(bt(vec(b.w)));
    body->setDamping(0, 0);
    p->dynamics.addRigidBody(body, 1, 3);
  }
}

void add_tree(Peer* p) {
  const world* w = p->w;
  p->tree = std::make_unique<btMultiBody>(w->bodies, 0.0, btVector3(1, 1, 1), true, false);
  btMultiBody* t = p->tree.get();
  Principal ground;
  for (int i = 0; i < w->bodies; i++) {
    const world_body& b = w->body[i];
    const Principal &f = p->frame[i], &parent = b.parent < 0 ? ground : p->frame[b.parent];
    Eigen::Matrix3d R0 = mat(b.R0), to_this = f.R.transpose() * R0.transpose() * parent.R;
    Vec pivot = parent.R.transpose() * (vec(b.p0) + R0 * vec(b.anchor) - parent.p);
    Vec com = f.R.transpose() * (f.p - vec(b.anchor));
    t->setupRevolute(i, b.mass, bt(f.moments), b.parent, bt(to_this), bt(Vec(f.R.transpose() * vec(b.axis))),
                     bt(pivot), bt(com), true);
  }
  t->finalizeMultiDof();
  t->setLinearDamping(0), t->setAngularDamping(0), t->setUseGyroTerm(true);
  t->setMaxCoordinateVelocity(1e30), t->setHasSelfCollision(true), t->setCanSleep(false);
  t->setBaseWorldTransform(btTransform::getIdentity());
  for (int i = 0; i < w->bodies; i++) {
    double q = w->q[w->body[i].q], v = w->v[w->body[i].v];
    t->setJointPosMultiDof(i, &q), t->setJointVelMultiDof(i, &v);
  }
  p->dynamics.addMultiBody(t);
  btAlignedObjectArray<btQuaternion> q;
  btAlignedObjectArray<btVector3> x;
  t->forwardKinematics(q, x);
  for (int i = 0; i < w->bodies; i++) {
    btCollisionShape* shape = shape_of(p, i);
    if (!shape) continue;
    auto* c = new btMultiBodyLinkCollider(t, i);
    p->objects.emplace_back(c);
    c->setCollisionShape(shape);
    surface(p, c);
    p->dynamics.addCollisionObject(c, 1, 3);
    t->getLink(i).m_collider = c;
    if (w->body[i].limited) {
      p->limits.emplace_back(
          new btMultiBodyJointLimitConstraint(t, i, w->body[i].range[0], w->body[i].range[1]));
      p->dynamics.addMultiBodyConstraint(p->limits.back().get());
      p->limits.back()->finalizeMultiDof();
    }
  }
  t->updateCollisionObjectWorldTransforms(q, x);
}

void* create(const world* w, int variant) {
  auto* p = new Peer;
  p->w = w;
  for (int i = 0; i < w->bodies; i++) p->frame.push_back(principal(w->body[i]));
  p->dynamics.setGravity(btVector3(w->gravity[0], w->gravity[1], w->gravity[2]));
  if (variant) p->dynamics.getSolverInfo().m_numIterations = 50;
  add_ground(p);
  if (w->loose)
    add_loose(p);
  else
    add_tree(p);
  return p;
}

void step(void* self, int steps) {
  auto* p = static_cast<Peer*>(self);
  for (int i = 0; i < steps; i++) p->dynamics.stepSimulation(p->w->dt, 0);
}

// stepSimulation with 0 substeps takes one step of the time given.
void get(double* q, double* v, void* self) {
  auto* p = static_cast<Peer*>(self);
  for (int i = 0; i < p->w->bodies; i++) {
    const world_body& b = p->w->body[i];
    if (!p->w->loose) {
      q[b.q] = p->tree->getJointPosMultiDof(i)[0], v[b.v] = p->tree->getJointVelMultiDof(i)[0];
      continue;
    }
    btTransform T = p->rigid[i]->getWorldTransform();
    btQuaternion h = T.getRotation();
    Eigen::Matrix3d R =
        Eigen::Quaterniond(h.w(), h.x(), h.y(), h.z()).toRotationMatrix() * p->frame[i].R.transpose();
    Eigen::Quaterniond e(R);
    Vec w = eigen(p->rigid[i]->getAngularVelocity()), r = R * p->frame[i].p;
    Vec x = eigen(T.getOrigin()) - r, u = eigen(p->rigid[i]->getLinearVelocity()) - w.cross(r),
        wb = R.transpose() * w;
    double out[7] = {x[0], x[1], x[2], e.w(), e.x(), e.y(), e.z()};
    for (int k = 0; k < 7; k++) q[b.q + k] = out[k];
    for (int k = 0; k < 3; k++) v[b.v + k] = u[k], v[b.v + 3 + k] = wb[k];
  }
}

int contacts(void* self) {
  auto* p = static_cast<Peer*>(self);
  int n = 0;
  for (int i = 0; i < p->dispatcher.getNumManifolds(); i++) {
    const btPersistentManifold* m = p->dispatcher.getManifoldByIndexInternal(i);
    for (int k = 0; k < m->getNumContacts(); k++) // it pushes a little before surfaces meet
      n += m->getContactPoint(k).getDistance() <= 0 || m->getContactPoint(k).getAppliedImpulse() > 0;
  }
  return n;
}

double spin_energy(const Vec& I, const btVector3& w) { // w in principal axes
  return 0.5 * (I[0] * w.x() * w.x() + I[1] * w.y() * w.y() + I[2] * w.z() * w.z());
}

// From Bullet's own masses, axes and link frames.
double tree_energy(Peer* p, const btVector3& gravity) {
  btAlignedObjectArray<btQuaternion> q;
  btAlignedObjectArray<btVector3> x;
  int n = p->w->bodies;
  std::vector<btVector3> omega(n), vel(n);
  double sum = 0;
  p->tree->forwardKinematics(q, x);
  for (int i = 0; i < n; i++) {
    const btMultibodyLink& l = p->tree->getLink(i);
    const btTransform& T = l.m_cachedWorldTransform;
    btVector3 pivot = T.getOrigin() - T.getBasis() * l.m_dVector, w(0, 0, 0), v(0, 0, 0);
    if (l.m_parent >= 0) {
      w = omega[l.m_parent];
      v = vel[l.m_parent] + w.cross(pivot - p->tree->getLink(l.m_parent).m_cachedWorldTransform.getOrigin());
    }
    omega[i] = w + T.getBasis() * l.m_axes[0].m_topVec * p->tree->getJointVelMultiDof(i)[0];
    vel[i] = v + omega[i].cross(T.getOrigin() - pivot);
    btVector3 I = l.m_inertiaLocal;
    sum += spin_energy(Vec(I.x(), I.y(), I.z()), T.getBasis().transpose() * omega[i]);
    sum += l.m_mass * (0.5 * vel[i].length2() - gravity.dot(T.getOrigin()));
  }
  return sum;
}

double energy(void* self) {
  auto* p = static_cast<Peer*>(self);
  const double* g = p->w->gravity;
  btVector3 gravity(g[0], g[1], g[2]);
  double sum = p->tree ? tree_energy(p, gravity) : 0;
  for (size_t i = 0; i < p->rigid.size(); i++) {
    const btRigidBody* b = p->rigid[i];
    btVector3 w = b->getWorldTransform().getBasis().transpose() * b->getAngularVelocity();
    double mass = p->w->body[i].mass;
    sum += 0.5 * mass * b->getLinearVelocity().length2() -
           mass * gravity.dot(b->getWorldTransform().getOrigin());
    sum += spin_energy(p->frame[i].moments, w);
  }
  return sum;
}

void destroy(void* self) {
  auto* p = static_cast<Peer*>(self);
  for (auto& l : p->limits) p->dynamics.removeMultiBodyConstraint(l.get());
  for (auto& o : p->objects) p->dynamics.removeCollisionObject(o.get());
  if (p->tree) p->dynamics.removeMultiBody(p->tree.get());
  delete p;
}

} // namespace

KN_PEER_EXPORT const engine kn_peer = {names, refuses, create, step, get, contacts, energy, nullptr, destroy};
