/* Impact law `projection` (F. Aghili, sections 3 and 4, corrected as in docs/projection.md) in contact space.
   The normal rows that take part are two-sided during the impact, so there is a closed form:

     N   bilateral rows, limits and resting contacts: brought to rest first, y = W_NN⁺ u_N (never gains)
     I   approaching contacts: W' = W_II - W_IN W_NN⁺ W_NI,  φ = u_I - W_IN y,  Q = W'⁺
     i_I = -Q (I + E) φ,   i_N = -W_NN⁺ (u_N + W_NI i_I),    u_I⁺ = -E φ
     ΔK  = ½ φᵀ (E Q E - Q) φ  after the first stage

   which is q̇⁺ = q̇⁻ - S (I + A⁺EA) q̇⁻ with the resting rows eliminated after inverting. E is certified on
   (W', E) first (law/certificate.h): E that can create energy is moved to the nearest one that cannot,
   refused or allowed. Rows are two-sided only as long as none pulls: a negative impulse, a contact outside
   the set that would close, friction, or dry joint friction hands the impact to the complementarity law
   (Newton's, one-sided, with the E asked for: that one cannot gain without friction, and the guard watches it
   with friction). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "contact/impact/impact.h"
#include "law/certificate.h"
#include "math/dense.h"
#include "math/projector.h"

typedef struct kn_projection_law_work {
  int n, k, rank; /* rows of N and I; rank of W_NN */
  int fixed;      /* bilateral rows, first in N */
  kn_certificate_work certificate;
  double *L, *scale;       /* n x n factor of the pivoted, unit-diagonal W_NN */
  double* X;               /* k x n: row j = W_NN⁺ W_N,I_j */
  double *W, *t;           /* k x k; rows */
  double *phi, *e, *i, *y; /* k, k, k, n */
  int *N, *I, *perm;
  double *v, *Mv, *zero; /* nv */
} work_t;

static void carve(void* memory, kn_arena* a, int rows, int nv) {
  work_t* o = memory;
  size_t n = (size_t)rows, k = n < KN_CERTIFY_CONTACTS ? n : KN_CERTIFY_CONTACTS;
  o->L = KN_TAKE(a, double, n* n);
  o->X = KN_TAKE(a, double, k* n);
  o->W = KN_TAKE(a, double, k* k);
  double** rows_of[] = {&o->scale, &o->t, &o->phi, &o->e, &o->i, &o->y};
  for (size_t i = 0; i < sizeof rows_of / sizeof *rows_of; i++) *rows_of[i] = KN_TAKE(a, double, n);
  KN_TAKE_EACH(a, int, n, &o->N, &o->I, &o->perm);
  KN_TAKE_EACH(a, double, nv, &o->v, &o->Mv, &o->zero);
  void* certificate = kn_arena_take(a, kn_certificate_size((int)k));
  if (certificate) kn_certificate_init(&o->certificate, (int)k, certificate);
}

/* Without the stepper's word a contact rests if it hardly moves, or if it is not to bounce and is slow beside
   the fastest: as an impacting one with e = 0 next to e = 1 it would raise a false alarm. */
static bool rests(const kn_impact_problem* p, int row, double fastest) {
  if (p->resting) return p->resting[row];
  double u = p->u_before[row];
  return fabs(u) <= 1e-9 || (p->e[row] == 0.0 && u < 0.0 && -u <= 0.05 * fastest);
}

static double fastest_approach(const kn_impact_problem* p) {
  double most = 0.0;
  for (int g = p->first; g < p->first + p->count; g++)
    if (p->set->tag[g].kind == KN_ROW_CONTACT)
      most = fmax(most, -p->u_before[p->set->tag[g].row - p->set->tag[p->first].row]);
  return most;
}

/* Sorts the rows into N and I; why the closed form does not apply, or KN_HANDED_NOT. */
static kn_handed gather(work_t* o, const kn_impact_problem* p) {
  const kn_contact_work* w = p->work;
  kn_handed why = KN_HANDED_NOT;
  double fastest = fastest_approach(p);
  o->n = o->k = 0;
  for (int g = p->first; g < p->first + p->count; g++) {
    const kn_row_tag* tag = &p->set->tag[g];
    for (int i = 0; i < tag->rows && tag->kind == KN_ROW_LOOP; i++)
      o->N[o->n++] = tag->row - p->set->tag[p->first].row + i;
  }
  o->fixed = o->n;
  for (int g = p->first; g < p->first + p->count; g++) {
    const kn_row_tag* tag = &p->set->tag[g];
    const kn_block* b = &w->block[tag->block - p->set->tag[p->first].block];
    int row = tag->row - p->set->tag[p->first].row;
    double u = p->u_before[row];
    if (tag->kind == KN_ROW_FRICTION && (b->lo < 0.0 || b->hi > 0.0)) why = KN_HANDED_FRICTION;
    if (tag->kind != KN_ROW_CONTACT && tag->kind != KN_ROW_LIMIT) continue;
    bool resting = rests(p, row, fastest);
    if (u > 1e-9 && !resting) continue; /* moves apart: not in the set, looked at afterwards */
    if (b->set == KN_SET_CONE3 && b->mu > 0.0) why = KN_HANDED_FRICTION;
    if (resting || tag->kind == KN_ROW_LIMIT)
      o->N[o->n++] = row;
    else if (o->k < o->certificate.max_k)
      o->I[o->k++] = row;
    else
      why = KN_HANDED_SIZE;
  }
  return why;
}

static double at(const kn_contact_work* w, int i, int j) { return w->W[(size_t)i * w->total + j]; }

/* x ← W_NN⁺ x on the independent rows; the others get zero. */
static void solve_N(work_t* o, double* x) {
  int n = o->n, r = o->rank;
  double* t = o->t;
  for (int i = 0; i < r; i++) {
    t[i] = x[o->perm[i]] * o->scale[o->perm[i]];
    for (int k = 0; k < i; k++) t[i] -= o->L[(size_t)k * n + i] * t[k];
    t[i] /= o->L[(size_t)i * n + i];
  }
  for (int i = r - 1; i >= 0; i--) {
    for (int k = i + 1; k < r; k++) t[i] -= o->L[(size_t)i * n + k] * t[k];
    t[i] /= o->L[(size_t)i * n + i];
  }
  memset(x, 0, (size_t)n * sizeof(double));
  for (int i = 0; i < r; i++) x[o->perm[i]] = t[i] * o->scale[o->perm[i]];
}

/* Upper factor of L with the largest remaining pivot, bilateral rows before one-sided ones: a contact that
   depends on loops carries nothing, and is not mistaken for one that pulls. */
static int factor(work_t* o, double tol) {
  int n = o->n, rank = 0;
  double* A = o->L;
  for (int i = 0; i < n; i++) o->perm[i] = i;
  for (int stage = 0; stage < 2; stage++) {
    int end = stage ? n : o->fixed;
    for (;; rank++) {
      int best = -1;
      for (int i = rank; i < n; i++)
        if (o->perm[i] < end && (best < 0 || A[(size_t)i * n + i] > A[(size_t)best * n + best])) best = i;
      if (best < 0 || !(A[(size_t)best * n + best] > tol)) break;
      for (int j = 0; j < n && best != rank; j++) { /* swap rows, then columns */
        double t = A[(size_t)rank * n + j];
        A[(size_t)rank * n + j] = A[(size_t)best * n + j], A[(size_t)best * n + j] = t;
      }
      for (int j = 0; j < n && best != rank; j++) {
        double t = A[(size_t)j * n + rank];
        A[(size_t)j * n + rank] = A[(size_t)j * n + best], A[(size_t)j * n + best] = t;
      }
      int swap = o->perm[rank];
      o->perm[rank] = o->perm[best], o->perm[best] = swap;
      double* row = A + (size_t)rank * n;
      double root = sqrt(row[rank]);
      for (int j = rank; j < n; j++) row[j] /= root;
      for (int i = rank + 1; i < n; i++)
        for (int j = rank + 1; j < n; j++) A[(size_t)i * n + j] -= row[i] * row[j];
    }
  }
  return rank;
}

/* W_NN factored with the formulation's rank tolerance; W' and its certificate. */
static void eliminate(work_t* o, const kn_contact_work* w) {
  int n = o->n, k = o->k;
  double most = 0.0;
  for (int i = 0; i < n; i++) most = fmax(most, at(w, o->N[i], o->N[i]));
  for (int i = 0; i < n; i++) {
    double d = at(w, o->N[i], o->N[i]);
    o->scale[i] = d > 1e-12 * most ? 1.0 / sqrt(d) : 0.0;
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) o->L[(size_t)i * n + j] = at(w, o->N[i], o->N[j]) * o->scale[i] * o->scale[j];
  o->rank = factor(o, KN_PROJECTION_RANK_TOL * KN_PROJECTION_RANK_TOL);
  for (int j = 0; j < k; j++) {
    double* x = o->X + (size_t)j * n;
    for (int i = 0; i < n; i++) x[i] = at(w, o->N[i], o->I[j]);
    solve_N(o, x);
  }
  for (int i = 0; i < k; i++)
    for (int j = 0; j < k; j++) {
      double sum = at(w, o->I[i], o->I[j]);
      for (int c = 0; c < n; c++) sum -= at(w, o->I[i], o->N[c]) * o->X[(size_t)j * n + c];
      o->W[(size_t)i * k + j] = sum;
    }
  for (int i = 0; i < k; i++)
    for (int j = 0; j < i; j++)
      o->W[(size_t)i * k + j] = o->W[(size_t)j * k + i] =
          0.5 * (o->W[(size_t)i * k + j] + o->W[(size_t)j * k + i]);
  kn_certificate_set(&o->certificate, k, o->W);
}

/* y = W_NN⁺ u_N and u_I - W_IN y for the formulation's offset q. */
static void first_stage(work_t* o, double* after, const kn_contact_work* w) {
  for (int i = 0; i < o->n; i++) o->y[i] = w->q[o->N[i]];
  solve_N(o, o->y);
  for (int j = 0; j < o->k; j++) {
    after[j] = w->q[o->I[j]];
    for (int i = 0; i < o->n; i++) after[j] -= at(w, o->I[j], o->N[i]) * o->y[i];
  }
}

/* Impulses into w->r for u_I⁺ = -s E φ: s = 1, or 0 for the end of compression. after: u_I of the first
   stage, with the external impulse. */
static void impulses(work_t* o, kn_contact_work* w, const double* after, double s) {
  int n = o->n, k = o->k;
  for (int j = 0; j < k; j++) o->t[j] = after[j] + s * o->e[j] * o->phi[j];
  kn_certificate_Q(o->i, &o->certificate, o->t);
  memset(w->r, 0, (size_t)w->total * sizeof(double));
  for (int j = 0; j < k; j++) w->r[o->I[j]] = -o->i[j];
  for (int c = 0; c < n; c++) {
    double sum = -o->y[c];
    for (int j = 0; j < k; j++) sum += o->X[(size_t)j * n + c] * o->i[j];
    w->r[o->N[c]] = sum;
  }
}

/* A unilateral row that pulls, or one outside the set that closes. */
static kn_handed judge(const kn_impact_problem* p) {
  const kn_contact_work* w = p->work;
  double most = 0.0, fastest = 0.0;
  for (int i = 0; i < w->rows; i++) {
    most = fmax(most, fabs(w->r[i]));
    fastest = fmax(fastest, fabs(p->u_before[i]));
  }
  for (int g = p->first; g < p->first + p->count; g++) {
    const kn_row_tag* tag = &p->set->tag[g];
    int row = tag->row - p->set->tag[p->first].row;
    if (tag->kind != KN_ROW_CONTACT && tag->kind != KN_ROW_LIMIT) continue;
    double pull = -w->r[row];
    if (pull > 1e-10 * most && pull * at(w, row, row) > 1e-10 * fmax(fastest, 1e-9)) return KN_HANDED_TENSILE;
    double u = w->q[row] + kn_dot(w->total, w->W + (size_t)row * w->total, w->r);
    if (u < -1e-9 * fastest - 1e-12) return KN_HANDED_CLOSING;
  }
  return KN_HANDED_NOT;
}

/* ½ (b - a)ᵀ M (b + a) */
static double energy_between(work_t* o, const kn_contact_work* w, const double* a, const double* b) {
  int nv = w->model->nv;
  double change = 0.0;
  for (int i = 0; i < nv; i++) o->zero[i] = a[i] + b[i];
  kn_dyn_multiply(o->Mv, w->data, w->model, o->zero);
  for (int i = 0; i < nv; i++) change += 0.5 * (b[i] - a[i]) * o->Mv[i];
  return change;
}

/* ½ φᵀ (E Q E - Q) φ, Eq. 53. */
static double energy_of_E(work_t* o) {
  double sum = 0.0;
  for (int pass = 0; pass < 2; pass++) {
    for (int j = 0; j < o->k; j++) o->t[j] = pass ? o->phi[j] : o->e[j] * o->phi[j];
    kn_certificate_Q(o->i, &o->certificate, o->t);
    sum += (pass ? -0.5 : 0.5) * kn_dot(o->k, o->t, o->i);
  }
  return sum;
}

static kn_status certify(kn_impact_result* r, work_t* o, const kn_impact_problem* p) {
  for (int j = 0; j < o->k; j++) o->e[j] = r->e_used[o->I[j]];
  r->rho = kn_certificate_rho(&o->certificate, o->e);
  if (!(r->rho > 1.0 + 1e-12) || p->certificate == KN_CERTIFY_ALLOW) return KN_OK;
  if (p->certificate == KN_CERTIFY_REFUSE)
    return kn_fail(KN_INFEASIBLE,
                   "law projection: the restitution of %d impacting contacts can create energy, rho = %g",
                   o->k, r->rho);
  kn_certificate_repair(o->e, &o->certificate, o->e, o->k <= 24 ? KN_REPAIR_NEAREST : KN_REPAIR_MEAN);
  r->repaired = true;
  return KN_OK;
}

static kn_status hand_over(kn_impact_result* r, const kn_impact_problem* p, kn_handed why, double* scratch) {
  r->handed = why;
  r->repaired = false;
  return kn_impact_newton(r, p, scratch);
}

static void apply(double* v, double* impulse, kn_contact_work* w, const double* v_free) {
  memcpy(impulse, w->r, (size_t)w->rows * sizeof(double));
  if (w->formulation->recover) w->formulation->recover(impulse, w, v_free, w->r);
  w->formulation->motion(v, w, v_free, w->r);
}

static kn_status solve(kn_impact_result* r, const kn_impact_problem* p, double* scratch) {
  kn_contact_work* w = p->work;
  work_t* o = w->law_memory[KN_MEMORY_PROJECTION];
  if (!o || w->extra)
    return kn_fail(KN_UNSUPPORTED,
                   "law projection needs a formulation in contact space (os, rmc, projection)");
  if (w->large.is_sparse) return kn_fail(KN_UNSUPPORTED, "law projection: %d rows are too many", w->rows);
  kn_handed why = gather(o, p);
  r->handed = KN_HANDED_NOT;
  r->rho = 0.0;
  r->repaired = false;
  if (why != KN_HANDED_NOT && !p->external) return hand_over(r, p, why, scratch);
  if (why != KN_HANDED_NOT)
    return kn_fail(KN_BAD_ARGUMENT, "law projection: an external impulse needs contacts without friction");
  int nv = w->model->nv;
  eliminate(o, w);
  w->formulation->offset(w, p->v_before, p->bias);
  first_stage(o, o->phi, w);
  KN_TRY(certify(r, o, p));
  /* the velocity after the first stage, for its energy */
  memset(w->r, 0, (size_t)w->total * sizeof(double));
  for (int i = 0; i < o->n; i++) w->r[o->N[i]] = -o->y[i];
  apply(o->v, r->impulse, w, p->v_before);
  r->energy_formula = energy_between(o, w, p->v_before, o->v) + energy_of_E(o);
  impulses(o, w, o->phi, 0.0);
  apply(r->v_after, r->compression, w, p->v_before);
  impulses(o, w, o->phi, 1.0);
  if (!p->external && (why = judge(p)) != KN_HANDED_NOT) return hand_over(r, p, why, scratch);
  apply(r->v_after, r->impulse, w, p->v_before);
  if (p->external) { /* y = Mo⁺ i_u: what i_u does to a system at rest; the law is linear */
    double *y = scratch, *after = scratch + nv;
    memcpy(y, p->external, (size_t)nv * sizeof(double));
    kn_dyn_solve(y, w->data, w->model, 1);
    memset(scratch + 2 * nv, 0, (size_t)w->rows * sizeof(double));
    w->formulation->offset(w, y, scratch + 2 * nv);
    first_stage(o, after, w);
    impulses(o, w, after, 0.0);
    double* more = scratch + 2 * nv;
    apply(y, more, w, y);
    for (int i = 0; i < w->rows; i++) r->impulse[i] += more[i];
    for (int i = 0; i < nv; i++) r->v_after[i] += y[i];
    kn_dyn_multiply(o->Mv, w->data, w->model, y);
    r->energy_formula += 0.5 * kn_dot(nv, y, o->Mv) + kn_dot(nv, o->v, o->Mv);
  }
  for (int j = 0; j < o->k; j++) r->e_used[o->I[j]] = o->e[j];
  r->closed = true;
  r->solves++;
  return KN_OK;
}

kn_status kn_impact_certificate(double* W, double* e, int* rows, int* k, const kn_impact_problem* p) {
  work_t* o = p->work->law_memory[KN_MEMORY_PROJECTION];
  if (!o || p->work->extra)
    return kn_fail(KN_UNSUPPORTED, "a certificate needs law projection and formulation os");
  gather(o, p);
  eliminate(o, p->work);
  *k = o->k;
  memcpy(W, o->W, (size_t)o->k * (size_t)o->k * sizeof(double));
  for (int j = 0; j < o->k; j++) {
    e[j] = p->e[o->I[j]];
    rows[j] = o->I[j];
  }
  return KN_OK;
}

/* λ_I = Q φ, λ_N = -W_NN⁺ W_NI λ_I, v = M⁻¹ Jᵀ λ. */
void kn_impact_velocity(double* v, const double* phi, const kn_impact_problem* p) {
  kn_contact_work* w = p->work;
  work_t* o = w->law_memory[KN_MEMORY_PROJECTION];
  kn_certificate_Q(o->i, &o->certificate, phi);
  memset(w->r, 0, (size_t)w->total * sizeof(double));
  for (int j = 0; j < o->k; j++) w->r[o->I[j]] = o->i[j];
  for (int c = 0; c < o->n; c++)
    for (int j = 0; j < o->k; j++) w->r[o->N[c]] -= o->X[(size_t)j * o->n + c] * o->i[j];
  memset(o->v, 0, (size_t)w->model->nv * sizeof(double));
  w->formulation->motion(v, w, o->v, w->r);
}

const kn_impact_law kn_impact_law_projection = {
    .name = "projection",
    .doc = "closed form by projection with certified restitution; one-sided Newton where a contact would "
           "pull or has friction",
    .citation = "F. Aghili, Nonsmooth mechanics based on linear projection operator, sections 3 and 4",
    .solve = solve,
    .full = true,
    .memory = KN_MEMORY_PROJECTION,
    .size = sizeof(work_t),
    .carve = carve,
};
