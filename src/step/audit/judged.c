/* Which forces does an instant have? Called by kn_sim_diagnose.

   The present modes make an LCP: a sliding contact pushes along one ray, a sticking one has free tangential
   rows. Its solution decides about P, minors and the number of solutions, but a free tangential row knows no
   friction limit: between two walls it held a box by friction without any normal force. So the same rows are
   judged once more with a friction cone on every sticking contact, a = Λ λ + a_free as "velocity":

     the LCP's solution obeys the cones     it is shown
     it does not                            the problem with cones is solved, and its solution shown if the judge
                                            (who never counts more than 1e6 |q| of a force as its unit) accepts it
     neither                                no force is shown

   and a verdict about all solutions takes the cones in too: no other mode may hold as well. */
#include "step/audit/judged.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const double enough = 1e-9; /* as the verdict on contact problems asks (comp/verdict) */

static bool obeys(kn_judged* j, const double* z) {
  double error = kn_problem_error(j->cones, z), scaled = kn_problem_error_scaled(j->cones, z);
  j->residual = scaled;
  return error <= enough && scaled <= enough;
}

static bool has_cones(const kn_problem* p) {
  for (int b = 0; b < p->blocks; b++)
    if (p->block[b].set == KN_SET_CONE3) return true;
  return false;
}

/* Rounding outside the sets goes: what is shown lies in them exactly. */
static void into_sets(double* z, const kn_problem* p) {
  for (int b = 0; b < p->blocks; b++) {
    const kn_block* k = &p->block[b];
    double *f = z + k->row, most = k->mu * f[0];
    if (k->set == KN_SET_FREE) continue;
    if (!(f[0] > 0.0)) memset(f, 0, (size_t)kn_set_rows(k->set) * sizeof *f);
    if (k->set != KN_SET_CONE3 || !(f[0] > 0.0)) continue;
    double t = sqrt(f[1] * f[1] + f[2] * f[2]);
    if (t > most) f[1] *= most / t, f[2] *= most / t;
    while (sqrt(f[1] * f[1] + f[2] * f[2]) > most) f[1] *= 1.0 - 2.2e-16, f[2] *= 1.0 - 2.2e-16;
  }
}

/* Same a = Λ λ + a_free for both, beyond rounding of the larger? */
static bool same_motion(const kn_lcp* lcp, const double* z, const double* r) {
  int n = lcp->n;
  for (int i = 0; i < n; i++) {
    double a = 0.0, size = fabs(lcp->q[i]);
    for (int k = 0; k < n; k++) {
      double m = lcp->M[(size_t)i * (size_t)n + (size_t)k];
      a += m * (z[k] - r[k]), size += fabs(m) * (fabs(z[k]) + fabs(r[k]));
    }
    if (fabs(a) > 1e-7 * size) return false;
  }
  return true;
}

static void flags_of_blocks(bool* fixed, const kn_problem* p, const bool* block) {
  for (int b = 0; b < p->blocks; b++)
    for (int i = 0; i < kn_set_rows(p->block[b].set); i++) fixed[p->block[b].row + i] = block[b];
}

/* Several solutions: a force that differs between them is not determined, whatever the motion of one of them
   determines. Where they cannot all be listed no force is called determinate. */
static kn_status compare_solutions(bool* determinate, const kn_lcp* lcp, const double* z, kn_lcp_work* work) {
  enum { MOST = 64 };
  size_t n = (size_t)lcp->n;
  kn_lcp_enumeration all;
  kn_lcp_settings settings = kn_lcp_settings_default();
  double *list = calloc(MOST * n + 1, sizeof *list), size = 0.0;
  if (!list) return kn_fail(KN_OUT_OF_MEMORY, "diagnosis: out of memory");
  bool listed = kn_lcp_enumerate(list, MOST, &all, lcp, &settings, work) == KN_OK && all.complete &&
                !all.continuum && all.count <= MOST;
  for (size_t i = 0; i < n; i++) size = fmax(size, fabs(z[i]));
  for (int k = 0; k < all.count && listed; k++)
    for (size_t i = 0; i < n; i++) size = fmax(size, fabs(list[(size_t)k * n + i]));
  for (size_t i = 0; i < n; i++) {
    determinate[i] = determinate[i] && listed;
    for (int k = 0; k < all.count && listed; k++)
      if (fabs(list[(size_t)k * n + i] - z[i]) > 1e-9 * size) determinate[i] = false; /* beyond rounding */
  }
  free(list);
  return KN_OK;
}

/* All contacts slide: the LCP is the whole problem. */
static kn_status without_cones(kn_judged* j, bool solved) {
  j->found = solved && obeys(j, j->z);
  KN_TRY(kn_lcp_verdict(&j->verdict, j->modes, j->found ? j->z : NULL, NULL, j->work));
  if (!j->found) return KN_OK;
  kn_lcp_determinate(j->fixed, NULL, &j->verdict.rank, j->modes, j->z, j->work);
  return j->verdict.kind == KN_VERDICT_SEVERAL ? compare_solutions(j->fixed, j->modes, j->z, j->work) : KN_OK;
}

/* r: room for the forces that obey the cones; kept: the LCP's solution, or NULL. */
static kn_status find(kn_judged* j, double* r, const double* kept, kn_solver_work* solver) {
  size_t size = (size_t)j->modes->n * sizeof *r;
  kn_solve_settings settings = kn_solve_default();
  if (kept) memcpy(r, kept, size);
  j->found = kept && obeys(j, r);
  for (int warm = 1; warm >= 0 && !j->found; warm--) {
    settings.warm_start = warm && kept;
    if (!settings.warm_start) memset(r, 0, size);
    kn_problem_solve(r, NULL, j->cones, &settings, solver);
    j->found = obeys(j, r);
  }
  return KN_OK;
}

/* What all solutions have in common: by the cones where that is decided, otherwise by the modes, if the present
   ones hold. */
static kn_status judge_all(kn_judged* j, const double* r, const double* kept, kn_solver_work* solver) {
  kn_verdict all;
  KN_TRY(kn_lcp_verdict(&j->verdict, j->modes, kept, NULL, j->work));
  KN_TRY(kn_problem_verdict(&all, j->cones, j->found ? r : NULL, solver));
  bool hold = kept && j->found && same_motion(j->modes, kept, r);
  if (all.kind == KN_VERDICT_UNDECIDED && hold) return KN_OK;
  if (all.kind == KN_VERDICT_UNDECIDED && !j->found && j->verdict.kind == KN_VERDICT_NONE) return KN_OK;
  j->verdict.kind = all.kind, j->verdict.exists = all.exists, j->verdict.certificate = all.certificate;
  j->verdict.within_rounding = all.within_rounding, j->verdict.solutions = all.solutions;
  return KN_OK;
}

static kn_status with_cones(kn_judged* j, double* r, bool* block, bool solved, kn_solver_work* solver) {
  const double* kept = solved ? j->z : NULL;
  KN_TRY(find(j, r, kept, solver));
  KN_TRY(judge_all(j, r, kept, solver));
  if (!j->found) return KN_OK;
  memcpy(j->z, r, (size_t)j->modes->n * sizeof *r);
  if (kn_problem_determinate(block, NULL, &j->verdict.rank, j->cones, j->z, j->work) == KN_OK)
    flags_of_blocks(j->fixed, j->cones, block);
  for (int i = 0; i < j->modes->n && j->verdict.kind == KN_VERDICT_SEVERAL; i++) j->fixed[i] = false;
  return KN_OK;
}

kn_status kn_judge_instant(kn_judged* j) {
  size_t n = (size_t)j->modes->n;
  memset(j->z, 0, n * sizeof *j->z);
  bool solved = kn_lcp_solve(j->z, NULL, j->modes, NULL, j->work) == KN_OK;
  kn_status status;
  if (!has_cones(j->cones))
    status = without_cones(j, solved);
  else {
    kn_solver_work* solver = NULL;
    double* r = calloc(n, sizeof *r);
    bool* block = calloc(n, sizeof *block);
    status = r && block ? kn_solver_work_for(&solver, j->cones)
                        : kn_fail(KN_OUT_OF_MEMORY, "diagnosis: out of memory");
    if (status == KN_OK) status = with_cones(j, r, block, solved, solver);
    kn_solver_work_destroy(solver);
    free(r);
    free(block);
  }
  if (j->found) into_sets(j->z, j->cones);
  j->found = j->found && obeys(j, j->z);
  if (!j->found) memset(j->z, 0, n * sizeof *j->z);
  return status;
}
