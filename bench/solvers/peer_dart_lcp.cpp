// DART's Lemke.
#include <dart/lcpsolver/Lemke.hpp>

#include "solvers.h"

namespace {
const char* const names[] = {"lemke"};

struct Problem {
  Eigen::MatrixXd M;
  Eigen::VectorXd q, z;
};

void* open_problem(int, int n, const double* M, const double* q) {
  auto* p = new Problem{Eigen::MatrixXd(n, n), Eigen::VectorXd(n), Eigen::VectorXd::Zero(n)};
  for (int i = 0; i < n; i++) {
    p->q[i] = q[i];
    for (int j = 0; j < n; j++) p->M(i, j) = M[i * n + j];
  }
  return p;
}

void run(void* context) {
  auto* p = static_cast<Problem*>(context);
  p->z.setZero(p->q.size());
  dart::lcpsolver::Lemke(p->M, p->q, &p->z);
}

const double* answer(void* context) {
  auto* p = static_cast<Problem*>(context);
  if (p->z.size() != p->q.size()) p->z.setZero(p->q.size());
  return p->z.data();
}

void close_problem(void* context) { delete static_cast<Problem*>(context); }
} // namespace

KN_PEER_EXPORT const lcp_peer kn_peer = {1, names, open_problem, run, answer, close_problem};
