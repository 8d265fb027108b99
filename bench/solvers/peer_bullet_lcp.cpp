// Bullet's Lemke and Dantzig solvers in double precision. Dantzig solves A x = b + w: b = -q.
#include <BulletDynamics/MLCPSolvers/btDantzigLCP.h>
#include <BulletDynamics/MLCPSolvers/btLemkeAlgorithm.h>
#include <BulletDynamics/MLCPSolvers/btSolveProjectedGaussSeidel.h>

#include <vector>

#include "solvers.h"

namespace {
const char* const names[] = {"lemke", "dantzig"};

struct Problem {
  int which, n;
  btMatrixXu M;
  btVectorXu q;
  std::vector<double> A, b, z;
  btDantzigScratchMemory scratch;
};

void* open_problem(int which, int n, const double* M, const double* q) {
  auto* p = new Problem{which, n, btMatrixXu(n, n), btVectorXu(n), {}, {}, std::vector<double>(n), {}};
  p->A.assign(M, M + n * n);
  p->b.assign(q, q + n);
  for (int i = 0; i < n; i++) {
    p->q[i] = q[i];
    for (int j = 0; j < n; j++) p->M.setElem(i, j, M[i * n + j]);
  }
  return p;
}

void run_lemke(Problem* p) {
  btLemkeAlgorithm lemke(p->M, p->q, 0);
  btVectorXu z = lemke.solve(10 * p->n);
  for (int i = 0; i < p->n; i++) p->z[i] = z.size() > p->n + i ? z[p->n + i] : 0.0; /* (w, z) */
}

void run_dantzig(Problem* p) {
  int n = p->n, skip = n > 1 ? ((n - 1) | 3) + 1 : n;
  std::vector<double> A(static_cast<size_t>(n) * skip), b(n), w(n), lo(n), hi(n, BT_INFINITY);
  std::vector<int> index(n, -1);
  for (int i = 0; i < n; i++) {
    b[i] = -p->b[i];
    for (int j = 0; j < n; j++) A[static_cast<size_t>(i) * skip + j] = p->A[static_cast<size_t>(i) * n + j];
  }
  btSolveDantzigLCP(n, A.data(), p->z.data(), b.data(), w.data(), 0, lo.data(), hi.data(), index.data(),
                    p->scratch);
}

void run(void* context) {
  auto* p = static_cast<Problem*>(context);
  if (p->which == 0)
    run_lemke(p);
  else
    run_dantzig(p);
}

const double* answer(void* context) { return static_cast<Problem*>(context)->z.data(); }
void close_problem(void* context) { delete static_cast<Problem*>(context); }
} // namespace

KN_PEER_EXPORT const lcp_peer kn_peer = {2, names, open_problem, run, answer, close_problem};
