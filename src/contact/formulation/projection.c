/* Projection formulation (F. Aghili, Nonsmooth mechanics based on linear projection operator; corrections in
   docs/projection.md). The bilateral rows A, of any rank, are not multiplied but projected out:

     P = I - A⁺A,  Mc = P M P + ν (I - P),  Mo⁺ = Mc⁻¹ P,  S = I - Mo⁺ M
     v_b = v_free - S (v_free - A⁺ b)                 the motion with A v = b, b = -bias
     u   = Λ λ + J v_b + bias,  Λ = J Mo⁺ Jᵀ          contacts, limits, dry friction: the usual problem
     v⁺  = v_b + Mo⁺ Jᵀ λ
     f   = M (v⁺ - v_free) - Jᵀ λ,  λ_b = A⁺ᵀ f        least norm when rows depend on each other

   The map is linear, so with the free acceleration in place of v_free and J̇ v in place of bias it gives the
   constrained acceleration and force, Eqs. 13 and 14: S Ω q̇ = -S A⁺ (Ȧ q̇).

   The problem handed to the solver keeps a row for every bilateral one (1 on the diagonal, no coupling, no
   offset), so that rows have one numbering in all formulations; the solver finds zero there and recover()
   puts λ_b in its place. Rank: KN_PROJECTION_RANK_TOL, in coordinates scaled by sqrt(M_ii), independent rows
   exact. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "contact/formulation/formulation.h"
#include "math/dense.h"
#include "math/projector.h"

typedef struct kn_projection_own {
  kn_projector_core core;
  double *M, *J, *X; /* nv², rows x nv, rows x nv: row i of X = Mo⁺ J_i */
  double* A;         /* bilateral rows, gathered */
  double *b, *lambda_b;
  double *v_b, *f, *reach;
  int* row; /* bilateral rows in the island's numbering */
  int m;
  bool *free, *held; /* rows: is bilateral; cannot move (bilateral, or depends on bilateral ones) */
  bool* flag;        /* rows */
  bool bent;         /* reach is not zero */
} kn_projection_own;

static void carve(kn_projection_own* o, kn_arena* a, int nv, int rows) {
  size_t n = (size_t)nv, m = (size_t)rows;
  o->M = KN_TAKE(a, double, n* n);
  KN_TAKE_EACH(a, double, m* n, &o->J, &o->X, &o->A);
  KN_TAKE_EACH(a, double, m, &o->b, &o->lambda_b);
  KN_TAKE_EACH(a, double, n, &o->v_b, &o->f, &o->reach);
  o->row = KN_TAKE(a, int, m);
  KN_TAKE_EACH(a, bool, m, &o->free, &o->held, &o->flag);
}

static size_t own_bytes(const kn_model* model, int max_rows) {
  kn_projection_own o = {0};
  kn_arena measure = {.used = (sizeof o + 63) / 64 * 64};
  carve(&o, &measure, model->nv, max_rows);
  return measure.used + kn_projector_core_size(model->nv, max_rows);
}

static kn_status own_init(kn_contact_work* w, void* memory, size_t bytes) {
  kn_projection_own* o = memory;
  kn_arena a = {.base = memory, .used = (sizeof *o + 63) / 64 * 64, .capacity = bytes};
  carve(o, &a, w->model->nv, w->max_rows);
  kn_projector_core_init(&o->core, w->model->nv, w->max_rows, (char*)memory + a.used);
  w->M = o->M;
  w->J = o->J;
  return KN_OK;
}

static kn_status prepare(kn_contact_work* w) {
  kn_projection_own* o = w->own;
  int nv = w->model->nv, n = w->rows;
  kn_dense_mass(w);
  kn_dense_jacobian(w);
  o->m = 0;
  o->bent = false;
  for (int i = 0; i < n; i++) o->free[i] = false;
  for (int b = 0; b < w->nblock; b++) {
    if (w->block[b].set != KN_SET_FREE) continue;
    int i = w->block[b].row;
    o->free[i] = true;
    memcpy(o->A + (size_t)o->m * nv, w->J + (size_t)i * nv, (size_t)nv * sizeof(double));
    o->row[o->m++] = i;
  }
  if (!kn_projector_build(&o->core, nv, o->m, w->M, o->A, KN_PROJECTION_RANK_TOL, true))
    return kn_fail(KN_BAD_MODEL, "projection: the constraint inertia is not positive definite");
  for (int i = 0; i < n; i++) {
    const double* row = w->J + (size_t)i * nv;
    /* what the bilateral rows hold has no mobility at all, not 1e-30 of rounding that invites impulses of
     * 1e14 */
    o->held[i] = o->free[i] || kn_projector_share(&o->core, row) <= 1e-9;
    if (o->held[i])
      memset(o->X + (size_t)i * nv, 0, (size_t)nv * sizeof(double));
    else
      kn_projector_admit(o->X + (size_t)i * nv, &o->core, row);
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      w->W[(size_t)i * n + j] = w->W[(size_t)j * n + i] =
          o->held[i] || o->held[j] ? i == j && o->free[i]
                                   : kn_dot(nv, w->J + (size_t)i * nv, o->X + (size_t)j * nv);
  return KN_OK;
}

/* v_b for v_free and the bias of the last offset(). */
static void obey(double* v, kn_projection_own* o, const double* v_free) {
  int nv = o->core.n;
  if (o->m == 0) {
    if (v != v_free) memcpy(v, v_free, (size_t)nv * sizeof(double));
    return;
  }
  kn_projector_S(o->f, &o->core, v_free);
  for (int i = 0; i < nv; i++) v[i] = v_free[i] - o->f[i] + (o->bent ? o->reach[i] : 0.0);
}

static void offset(kn_contact_work* w, const double* v_free, const double* bias) {
  kn_projection_own* o = w->own;
  int nv = w->model->nv;
  o->bent = false;
  for (int k = 0; k < o->m; k++) {
    o->b[k] = -bias[o->row[k]];
    o->bent |= o->b[k] != 0.0;
  }
  if (o->bent) kn_projector_reach_basic(o->reach, &o->core, o->b);
  obey(o->v_b, o, v_free);
  double fast = sqrt(kn_dot(nv, o->v_b, o->v_b));
  for (int i = 0; i < w->rows; i++) {
    const double* row = w->J + (size_t)i * nv;
    double u = o->free[i] ? -bias[i] : kn_dot(nv, row, o->v_b);
    if (o->held[i] && fabs(u) <= 1e-11 * fast * sqrt(kn_dot(nv, row, row))) u = 0.0; /* it rests on loops */
    w->q[i] = u + bias[i];
  }
}

static void motion(double* v, kn_contact_work* w, const double* v_free, const double* r) {
  kn_projection_own* o = w->own;
  obey(v, o, v_free);
  for (int i = 0; i < w->rows; i++)
    if (!o->free[i]) kn_axpy(w->model->nv, v, r[i], o->X + (size_t)i * w->model->nv);
}

static void recover(double* lambda, kn_contact_work* w, const double* v_free, double* r) {
  kn_projection_own* o = w->own;
  int nv = w->model->nv;
  if (o->m == 0) return;
  motion(o->v_b, w, v_free, r);
  for (int i = 0; i < nv; i++) o->v_b[i] -= v_free[i];
  kn_gemv(nv, nv, o->f, w->M, nv, o->v_b);
  for (int i = 0; i < w->rows; i++)
    if (!o->free[i]) kn_axpy(nv, o->f, -r[i], w->J + (size_t)i * nv);
  kn_projector_multipliers(o->lambda_b, &o->core, o->f);
  for (int k = 0; k < o->m; k++) r[o->row[k]] = lambda[o->row[k]] = o->lambda_b[k];
}

/* A direction of force that is loaded: row `of` of the island, as c[0] J_of + c[1] J_of+1 + c[2] J_of+2. */
static void load(kn_projection_own* o, const kn_contact_work* w, int of, int count, const double* c) {
  int nv = w->model->nv;
  double* g = o->A + (size_t)o->m * nv;
  memset(g, 0, (size_t)nv * sizeof(double));
  for (int k = 0; k < count; k++) kn_axpy(nv, g, c[k], w->J + (size_t)(of + k) * nv);
  o->row[o->m++] = of;
}

/* A contact that sticks has three directions, one that slides that of its force. */
static void load_block(kn_projection_own* o, const kn_contact_work* w, const kn_block* b, const double* p) {
  static const double one = 1.0;
  if (b->set == KN_SET_FREE || (b->set != KN_SET_CONE3 && p[0] != 0.0)) load(o, w, b->row, 1, &one);
  if (b->set != KN_SET_CONE3 || !(p[0] > 0.0)) return;
  double limit = b->mu * p[0], c[3] = {1.0, p[1] / p[0], p[2] / p[0]};
  bool slides = p[1] * p[1] + p[2] * p[2] >= (1.0 - 1e-9) * limit * limit;
  if (slides) load(o, w, b->row, 3, c);
  for (int k = 0; k < 3 && !slides; k++) load(o, w, b->row + k, 1, &one);
}

/* Which multipliers the motion determines: no dependency between the loaded directions involves them. Uses up
   what prepare() made. */
static void inspect(bool* determinate, kn_contact_work* w, const double* lambda) {
  kn_projection_own* o = w->own;
  for (int i = 0; i < w->rows; i++) determinate[i] = true;
  o->m = 0;
  for (int b = 0; b < w->nblock; b++) load_block(o, w, &w->block[b], lambda + w->block[b].row);
  if (!kn_projector_build(&o->core, w->model->nv, o->m, w->M, o->A, KN_PROJECTION_RANK_TOL, true)) return;
  kn_projector_determinate(o->flag, &o->core);
  for (int k = 0; k < o->m; k++)
    if (!o->flag[k]) determinate[o->row[k]] = false;
}

static double condition(const kn_contact_work* w) {
  const kn_projection_own* o = w->own;
  return o->core.condition;
}

const kn_formulation kn_formulation_projection = {
    .name = "projection",
    .doc = "bilateral rows projected out, redundant and singular ones included; contacts by J Mo+ Jt",
    .citation = "F. Aghili, Nonsmooth mechanics based on linear projection operator",
    .redundant = true,
    .own_bytes = own_bytes,
    .own_init = own_init,
    .prepare = prepare,
    .offset = offset,
    .motion = motion,
    .recover = recover,
    .inspect = inspect,
    .condition = condition,
    .reduced = true,
};
