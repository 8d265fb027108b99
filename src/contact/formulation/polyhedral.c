/* Coulomb friction by polyhedra (formulation.h): expansion of the rows to F_n, β, σ, the LCP, its solution
   folded back, and the refinement that turns the polyhedra towards the cone's own solution. */
#include "contact/formulation/formulation.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "comp/cone/flat.h"
#include "comp/lcp/lcp.h"
#include "math/dense.h"
#include "math/elementary.h"

int kn_polyhedral_rows(int rows, int cones, int directions) { return rows + cones * (directions - 1); }

/* Direction j of nf: angle 2πj/nf in the (t1, t2) plane. */
static void uniform(double d[2], int j, int nf) {
  if (nf == 4) { /* exact */
    static const double table[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    memcpy(d, table[j], sizeof table[0]);
    return;
  }
  kn_sincos(&d[1], &d[0], 6.283185307179586 * j / nf);
}

/* The same, turned so that the first one is `aim`. */
static void direction(double d[2], int j, int nf, const double aim[2]) {
  double c[2];
  uniform(c, j, nf);
  d[0] = aim[0] * c[0] - aim[1] * c[1];
  d[1] = aim[1] * c[0] + aim[0] * c[1];
}

static int expand(kn_combo* list, const kn_contact_work* w, int directions) {
  int n = 0;
  for (int b = 0; b < w->nblock; b++) {
    const kn_block* k = &w->block[b];
    list[n++] = (kn_combo){.at = k->row, .count = 1, .c = {1.0}, .sigma = -1};
    if (k->set != KN_SET_CONE3) continue;
    for (int j = 0; j < directions; j++) {
      list[n] = (kn_combo){.at = k->row + 1, .count = 2, .sigma = n - j + directions};
      direction(list[n++].c, j, directions, w->poly.aim[b]);
    }
    list[n++] = (kn_combo){.at = b, .count = 0, .sigma = -1};
  }
  return n;
}

static double combine(const double* row, const kn_combo* c) {
  double s = 0.0;
  for (int k = 0; k < c->count; k++) s += c->c[k] * row[c->at + k];
  return s;
}

static void assemble(kn_contact_work* w, const kn_combo* list, int n, const double* theta, int directions) {
  for (int i = 0; i < n; i++) {
    double* row = w->poly.M + (size_t)i * n;
    memset(row, 0, (size_t)n * sizeof(double));
    w->poly.lo[i] = 0.0;
    w->poly.hi[i] = INFINITY;
    if (list[i].count == 0) { /* mu F_n - sum beta (+ mu θ) ⊥ σ */
      const kn_block* k = &w->block[list[i].at];
      row[i - directions - 1] = k->mu;
      for (int j = 1; j <= directions; j++) row[i - j] = -1.0;
      w->poly.q[i] = theta && !w->as_printed ? k->mu * theta[k->row - w->extra] : 0.0;
      continue;
    }
    w->poly.q[i] = combine(w->q, &list[i]);
    for (int j = 0; j < n; j++)
      for (int a = 0; a < list[i].count; a++)
        row[j] += list[i].c[a] * combine(w->W + (size_t)(list[i].at + a) * w->total, &list[j]);
    if (list[i].sigma >= 0) row[list[i].sigma] = 1.0;
  }
  for (int b = 0, i = 0; b < w->nblock; b++) {
    if (w->block[b].set == KN_SET_FREE) w->poly.lo[i] = -INFINITY;
    if (w->block[b].set == KN_SET_BOX) w->poly.lo[i] = w->block[b].lo, w->poly.hi[i] = w->block[b].hi;
    i += w->block[b].set == KN_SET_CONE3 ? directions + 2 : 1;
  }
}

static kn_status solve_once(double* r, kn_contact_solution* out, kn_contact_work* w, const double* theta,
                            double tolerance, int directions, const char* solver) {
  kn_combo* list = w->poly.combo;
  int n = expand(list, w, directions);
  if (n > w->poly.rows) return kn_fail(KN_NO_ROOM, "polyhedral LCP of %d rows, room for %d", n, w->poly.rows);
  assemble(w, list, n, theta, directions);
  kn_lcp lcp = {.n = n, .M = w->poly.M, .q = w->poly.q, .lo = w->poly.lo, .hi = w->poly.hi};
  kn_lcp_settings settings = kn_lcp_settings_default();
  settings.tol = tolerance;
  const kn_lcp_solver* s = solver && strcmp(solver, "auto") != 0 ? kn_lcp_solver_find(solver) : NULL;
  memset(w->poly.z, 0, (size_t)n * sizeof(double));
  kn_lcp_work_allow(w->poly.lcp, kn_solver_work_left(w->solver));
  if (s)
    s->solve(w->poly.z, &out->info, &lcp, &settings, w->poly.lcp);
  else
    kn_lcp_solve(w->poly.z, &out->info, &lcp, &settings, w->poly.lcp);
  kn_solver_work_add(w->solver, (double)out->info.iterations * n * n);
  memset(r, 0, (size_t)w->total * sizeof(double));
  for (int i = 0; i < n; i++)
    for (int k = 0; k < list[i].count; k++) r[list[i].at + k] += list[i].c[k] * w->poly.z[i];
  out->lcp_size = n;
  return KN_OK;
}

/* Distance of one contact to the cone's law, and the direction to turn its polyhedron to. */
static double distance(kn_contact_work* w, int b, const double* r, double bound) {
  int at = w->block[b].row + 1;
  const double* row = w->W + (size_t)at * w->total;
  double trace = row[at] + row[w->total + at + 1], y[2], d2 = 0.0;
  double rho = trace > 0.0 ? 2.0 / trace : 1.0; /* kg; zero where velocities are unknowns */
  for (int i = 0; i < 2; i++) {
    double u = w->q[at + i] + kn_dot(w->total, row + (size_t)i * w->total, r);
    y[i] = r[at + i] - rho * u;
  }
  double n = sqrt(y[0] * y[0] + y[1] * y[1]), shrink = n > bound ? bound / n : 1.0;
  for (int i = 0; i < 2; i++) {
    double d = r[at + i] - shrink * y[i];
    d2 += d * d;
    if (n > 0.0) w->poly.aim[b][i] = y[i] / n;
  }
  return sqrt(d2);
}

/* The largest distance as a part of the largest mu p_n. */
static double aim_all(kn_contact_work* w, const double* r, const double* theta) {
  double worst = 0.0, largest = 0.0;
  for (int b = 0; b < w->nblock; b++) {
    const kn_block* k = &w->block[b];
    if (k->set != KN_SET_CONE3) continue;
    double bound = k->mu * (r[k->row] + (theta ? theta[k->row - w->extra] : 0.0));
    worst = fmax(worst, distance(w, b, r, bound));
    largest = fmax(largest, bound);
  }
  return largest > 0.0 ? worst / largest : 0.0;
}

/* Rounds until the polyhedra lie in the cones, or the work of the step is spent: then the last one's answer is what there is. */
static kn_status refine(double* r, kn_contact_solution* out, kn_contact_work* w, const double* theta,
                        double tolerance, int directions, const char* solver) {
  enum { ROUNDS = 400 }; /* linear convergence, at times slow: 0.94 a round has been seen */
  double last = INFINITY;
  for (int k = 0; k < ROUNDS && !(k && kn_solver_work_spent(w->solver)); k++) {
    KN_TRY(solve_once(r, out, w, theta, tolerance, directions, solver));
    out->directions = directions;
    if (!(w->poly.friction_tol > 0.0) || out->info.status != KN_OK) return KN_OK;
    double now = aim_all(w, r, theta);
    if (now <= w->poly.friction_tol) return KN_OK;
    if (now >= last && 2 * directions <= w->poly.finest) directions *= 2;
    last = now;
  }
  out->info.status = KN_NOT_CONVERGED;
  return KN_OK;
}

kn_status kn_polyhedral_solve(double* r, kn_contact_solution* out, kn_contact_work* w, const double* theta,
                              double tolerance, int directions, const char* solver) {
  for (int b = 0; b < w->nblock; b++) w->poly.aim[b][0] = 1.0, w->poly.aim[b][1] = 0.0;
  kn_solver_work_enter(w->solver, w->total);
  kn_status status = refine(r, out, w, theta, tolerance, directions, solver);
  kn_solver_work_leave(w->solver);
  return status;
}
