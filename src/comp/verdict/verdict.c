/* Existence and uniqueness of an LCP's solutions (Cottle, Pang, Stone 1992, chapter 3).

   P: exactly one solution for every q. Positive semidefinite and symmetric: w unique. Column adequate (all
   principal minors >= 0, and the columns M_•a dependent whenever minor(a) = 0): w unique for every q
   (Theorem 3.4.4 there). When w is unique, z is unique iff no null direction stays in the faces of the given
   solution (determinate.c). Small problems of other classes are enumerated. What none of this shows stays
   "undecided". */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "comp/lcp/lcp.h"
#include "comp/verdict/pmatrix.h"
#include "math/dense.h"

enum { ADEQUATE_ROWS = 14, ENUMERATE_ROWS = 14, MAX_SOLUTIONS = 32 };

const char* kn_verdict_name(kn_verdict_kind kind) {
  static const char* const names[] = {"undecided", "unique", "motion_unique", "several", "none"};
  return (unsigned)kind < KN_VERDICT_COUNT ? names[kind] : "unknown";
}

const char* kn_verdict_text(const kn_verdict* v) {
  if (!v) return "unknown";
  if (v->kind == KN_VERDICT_UNDECIDED && v->within_rounding) return "undecided within rounding";
  return kn_verdict_name(v->kind);
}

/* M with its free rows eliminated and unit diagonal, row-major in out (ld = m). Returns m, or -1 when the
   free block is singular. */
static int reduced(double* out, const kn_lcp* lcp, kn_lcp_work* work) {
  int n = lcp->n, nf = 0, nb = 0, *free_rows = work->iv[0], *rows = work->iv[1], *perm = work->iv[2];
  for (int i = 0; i < n; i++) {
    bool is_free = lcp->lo && lcp->hi && lcp->lo[i] == -INFINITY && lcp->hi[i] == INFINITY;
    if (is_free)
      free_rows[nf++] = i;
    else
      rows[nb++] = i;
  }
  for (int i = 0; i < nb; i++)
    for (int j = 0; j < nb; j++)
      out[(size_t)i * (size_t)nb + (size_t)j] = lcp->M[(size_t)rows[i] * (size_t)n + (size_t)rows[j]];
  if (nf == 0) return nb;
  double *F = work->B, *x = work->v[0], *b = work->v[1];
  for (int i = 0; i < nf; i++)
    for (int j = 0; j < nf; j++)
      F[(size_t)i * (size_t)nf + (size_t)j] = lcp->M[(size_t)free_rows[i] * (size_t)n + (size_t)free_rows[j]];
  if (kn_lu_factor(nf, F, nf, perm) < nf || kn_lu_pivot_ratio(nf, F, nf) < 1e-12) return -1;
  for (int j = 0; j < nb; j++) {
    for (int k = 0; k < nf; k++) b[k] = lcp->M[(size_t)free_rows[k] * (size_t)n + (size_t)rows[j]];
    kn_lu_solve(nf, x, F, nf, perm, b);
    for (int i = 0; i < nb; i++)
      for (int k = 0; k < nf; k++)
        out[(size_t)i * (size_t)nb + (size_t)j] -=
            lcp->M[(size_t)rows[i] * (size_t)n + (size_t)free_rows[k]] * x[k];
  }
  return nb;
}

static void unit_diagonal(double* A, int m, double* s) {
  double most = 0.0;
  for (int i = 0; i < m; i++) most = fmax(most, fabs(A[(size_t)i * (size_t)m + (size_t)i]));
  for (int i = 0; i < m; i++) {
    double d = fabs(A[(size_t)i * (size_t)m + (size_t)i]);
    s[i] = d > 1e-14 * most ? 1.0 / sqrt(d) : 1.0;
  }
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++) A[(size_t)i * (size_t)m + (size_t)j] *= s[i] * s[j];
}

/* Symmetric part restricted to keep[] positive (semi)definite? Pivoted Cholesky in H. */
static unsigned definiteness(const double* A, int m, const int* rows, int count, double* H, int* perm) {
  for (int i = 0; i < count; i++)
    for (int j = i; j < count; j++)
      H[(size_t)i * (size_t)count + (size_t)j] = 0.5 * (A[(size_t)rows[i] * (size_t)m + (size_t)rows[j]] +
                                                        A[(size_t)rows[j] * (size_t)m + (size_t)rows[i]]);
  int rank = kn_cholesky_pivoted(count, H, count, perm, 1e-12);
  if (rank == count) return KN_CLASS_PD | KN_CLASS_PSD;
  for (int i = rank; i < count; i++) /* the remaining Schur complement must vanish */
    for (int j = i; j < count; j++)
      if (fabs(H[(size_t)i * (size_t)count + (size_t)j]) > 1e-11) return 0;
  return KN_CLASS_PSD;
}

/* Copositive: zero-diagonal rows of the symmetric part non-negative, the rest semidefinite or non-negative.
 */
static bool copositive(const double* A, int m, int* rows, double* H, int* perm) {
  int count = 0;
  bool positive = true;
  for (int i = 0; i < m; i++) {
    double d = A[(size_t)i * (size_t)m + (size_t)i];
    if (fabs(d) > 1e-13) rows[count++] = i;
    for (int j = 0; j < m; j++) {
      double s = A[(size_t)i * (size_t)m + (size_t)j] + A[(size_t)j * (size_t)m + (size_t)i];
      if (s < 0.0 && fabs(d) <= 1e-13 && s < -1e-14) return false;
      positive = positive && s >= 0.0;
    }
  }
  return positive || definiteness(A, m, rows, count, H, perm) != 0;
}

static bool symmetric(const double* A, int m) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < i; j++)
      if (fabs(A[(size_t)i * (size_t)m + (size_t)j] - A[(size_t)j * (size_t)m + (size_t)i]) > 1e-12)
        return false;
  return true;
}

typedef struct adequacy {
  int m;
  long left; /* minors that may still be looked at; negative: all */
  bool undecided;
} adequacy;

/* Column adequacy by the recursion of the P test with all rows kept: T is A with the rows and columns in the
   minor exchanged out; a vanishing pivot must come with a vanishing column. Returns false when clearly
   violated. */
static bool adequate(adequacy* a, const double* A, int from) {
  int m = a->m;
  double T[ADEQUATE_ROWS * ADEQUATE_ROWS];
  for (int k = from; k < m; k++) {
    double pivot = A[k * m + k], most = 0.0;
    if (a->left == 0) {
      a->undecided = true;
      return true;
    }
    a->left--;
    if (pivot < -1e-11) return false;
    if (pivot <= 1e-9) {
      for (int i = 0; i < m; i++) most = fmax(most, fabs(A[i * m + k]));
      if (pivot > 1e-12 || (most > 1e-11 && most < 1e-7))
        a->undecided = true;
      else if (most >= 1e-7)
        return false;
      continue; /* dependent columns stay dependent in every larger minor */
    }
    for (int i = 0; i < m; i++) {
      double f = i == k ? 0.0 : A[i * m + k] / pivot;
      for (int j = from; j < m; j++) T[i * m + j] = i == k ? 0.0 : A[i * m + j] - f * A[k * m + j];
    }
    if (!adequate(a, T, k + 1)) return false;
  }
  return true;
}

static kn_answer column_adequate(const double* A, int m, long most) {
  adequacy a = {m, most > 0 ? most : -1, false};
  if (m > ADEQUATE_ROWS) return KN_ANSWER_UNDECIDED;
  if (!adequate(&a, A, 0)) return KN_ANSWER_NO;
  return a.undecided ? KN_ANSWER_UNDECIDED : KN_ANSWER_YES;
}

/* Class bits of the reduced matrix; also whether w is shown to be unique. */
static void classify(kn_verdict* v, bool* motion_unique, double* A, int m, kn_lcp_work* work) {
  int *rows = work->iv[0], *perm = work->iv[1];
  unit_diagonal(A, m, work->v[0]);
  for (int i = 0; i < m; i++) rows[i] = i;
  v->matrix_class = definiteness(A, m, rows, m, work->B, perm);
  kn_pmatrix p = {KN_ANSWER_YES, 0, 0.0};
  if (!(v->matrix_class & KN_CLASS_PD)) kn_pmatrix_test_within(work->patience, &p, m, A, m);
  if (p.is_p == KN_ANSWER_YES) v->matrix_class |= KN_CLASS_P | KN_CLASS_P0;
  if (p.is_p == KN_ANSWER_NO) {
    v->matrix_class |= KN_CLASS_NOT_P;
    v->failing_minor = p.failing;
    v->minor_value = p.value;
  }
  if (v->matrix_class & KN_CLASS_PSD)
    v->matrix_class |= KN_CLASS_P0 | KN_CLASS_COPOSITIVE;
  else if (copositive(A, m, rows, work->B, perm))
    v->matrix_class |= KN_CLASS_COPOSITIVE;
  *motion_unique = v->matrix_class & KN_CLASS_P || (v->matrix_class & KN_CLASS_PSD && symmetric(A, m));
  if (*motion_unique || p.is_p == KN_ANSWER_NO) return;
  if (column_adequate(A, m, work->patience) != KN_ANSWER_YES) return;
  *motion_unique = true;
  v->matrix_class |= KN_CLASS_P0;
}

/* Index sets are reported in rows of the original problem. */
static void original_rows(kn_verdict* v, const kn_lcp* lcp) {
  uint64_t set = 0;
  int k = 0;
  for (int i = 0; i < lcp->n && i < 64; i++) {
    if (lcp->lo && lcp->hi && lcp->lo[i] == -INFINITY && lcp->hi[i] == INFINITY) continue;
    if (k < 64 && v->failing_minor >> k & 1) set |= 1ull << i;
    k++;
  }
  v->failing_minor = set;
}

static void by_enumeration(kn_verdict* v, const kn_lcp* lcp, const kn_lcp_settings* settings,
                           kn_lcp_work* work) {
  kn_lcp_enumeration found;
  double* solutions = work->C; /* capacity bounded by its size below */
  int capacity =
      lcp->n > 0 ? (int)((size_t)kn_pad8(work->max_n) * (size_t)kn_pad8(work->max_n) / (size_t)lcp->n) : 0;
  if (kn_lcp_rows(lcp) > ENUMERATE_ROWS || lcp->n == 0) return;
  kn_certificate before = work->certificate_kind;
  kn_status status = kn_lcp_enumerate_within(work->patience ? work->patience : 100000, solutions,
                                             capacity < MAX_SOLUTIONS ? capacity : MAX_SOLUTIONS, &found, lcp,
                                             settings, work);
  if (status == KN_NO_SOLUTION) {
    v->kind = KN_VERDICT_NONE, v->exists = KN_ANSWER_NO;
    v->certificate = KN_CERTIFICATE_ENUMERATION, v->solutions = 0;
    return;
  }
  work->certificate_kind = before;
  if (status != KN_OK) return;
  v->solutions = found.count;
  if (found.count > 0) v->exists = KN_ANSWER_YES, v->certificate = KN_CERTIFICATE_SOLUTION;
  v->within_rounding = found.close;
  if (found.motions_differ)
    v->kind = KN_VERDICT_SEVERAL;
  else if (found.complete && found.count == 1 && !found.continuum)
    v->kind = KN_VERDICT_UNIQUE;
  else if (found.complete && found.count > 0 && !found.continuum)
    v->kind = KN_VERDICT_MOTION_UNIQUE;
}

static bool all_determinate(const kn_lcp* lcp, const double* z, int* rank, kn_lcp_work* work) {
  bool* flags = (bool*)work->certificate; /* one byte each; no certificate is wanted here */
  if (kn_lcp_determinate(flags, NULL, rank, lcp, z, work) != KN_OK) return false;
  for (int i = 0; i < lcp->n; i++)
    if (!flags[i]) return false;
  return true;
}

void kn_lcp_work_brief(kn_lcp_work* work) { work->patience = KN_BRIEF_MINORS; }

kn_status kn_lcp_verdict(kn_verdict* verdict, const kn_lcp* lcp, const double* z,
                         const kn_lcp_settings* settings, kn_lcp_work* work) {
  KN_REQUIRE(verdict != NULL && work != NULL);
  *verdict = (kn_verdict){.rank = -1, .solutions = -1};
  KN_TRY(kn_lcp_check(lcp));
  KN_REQUIRE(lcp->n <= work->max_n);
  kn_lcp_settings defaults = kn_lcp_settings_default();
  if (!settings) settings = &defaults;
  if (z && kn_lcp_residual_scaled(lcp, z) <= settings->tol) {
    verdict->exists = KN_ANSWER_YES;
    verdict->certificate = KN_CERTIFICATE_SOLUTION;
  } else if (work->certificate_kind != KN_CERTIFICATE_NONE) {
    verdict->exists = KN_ANSWER_NO;
    verdict->certificate = work->certificate_kind;
    verdict->kind = KN_VERDICT_NONE;
  }
  bool motion_unique = false;
  int m = reduced(work->A, lcp, work);
  if (m >= 0) {
    classify(verdict, &motion_unique, work->A, m, work);
    original_rows(verdict, lcp);
  } else { /* dependent equalities: semidefiniteness of the whole still makes the motion unique */
    memcpy(work->A, lcp->M, (size_t)lcp->n * (size_t)lcp->n * sizeof(double));
    unit_diagonal(work->A, lcp->n, work->v[0]);
    for (int i = 0; i < lcp->n; i++) work->iv[0][i] = i;
    verdict->matrix_class = definiteness(work->A, lcp->n, work->iv[0], lcp->n, work->B, work->iv[1]);
    motion_unique = verdict->matrix_class & KN_CLASS_PSD && symmetric(work->A, lcp->n);
  }
  if (verdict->kind == KN_VERDICT_NONE) return KN_OK;
  if (verdict->matrix_class & KN_CLASS_P) {
    verdict->exists = KN_ANSWER_YES;
    verdict->kind = KN_VERDICT_UNIQUE;
  } else if (motion_unique && verdict->certificate == KN_CERTIFICATE_SOLUTION) {
    verdict->kind =
        all_determinate(lcp, z, &verdict->rank, work) ? KN_VERDICT_UNIQUE : KN_VERDICT_MOTION_UNIQUE;
  } else {
    bool close = work->close;
    by_enumeration(verdict, lcp, settings, work);
    verdict->within_rounding |= close;
  }
  if (verdict->kind != KN_VERDICT_UNDECIDED) verdict->within_rounding = false;
  return KN_OK;
}
