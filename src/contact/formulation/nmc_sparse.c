/* Non-minimal coordinates with block-sparse elimination of the hinge rows (D. Baraff, Linear-time dynamics
   using Lagrange multipliers, 1996). The bodies of a tree and their hinges make a matrix whose graph is the
   tree:

     [ M  Gᵀ ] [ ΔV ]   [ b ]        node u = (V_u, -p_u), joined to its parent's V_p alone:
     [ G  0  ] [ -p ] = [ h ]        K_u = [ A_u  N_uᵀ ; N_u  0 ],  C_u = [ E_u ; -N_u X_u ]

   Leaves first nothing fills in: A_p ← A_p - C_uᵀ K_u⁻¹ C_u. A_u is the inertia of the branch beyond the
   hinge u, positive definite, so K_u is solved by two Cholesky factors, A = L Lᵀ and S = N A⁻¹ Nᵀ:

     x_0 = A⁻¹ r,   s = S⁻¹ (N x_0 - h),   x = x_0 - A⁻¹ Nᵀ s.

   One solve costs O(n). The hinge rows are gone from the complementarity problem,
     u = W λ + J V_1 + bias,  W = J H Jᵀ,  V_1 = V + H (f dt) with the hinges closed,   V⁺ = V_1 + H Jᵀ λ,
   H the ΔV part of the inverse. E_u: armature and implicit joint terms, a (S⁺)ᵀ S⁺ between child and parent,
   and held rows of thin bodies (maximal.c).
 */
#include <string.h>

#include "contact/formulation/maximal.h"
#include "math/dense.h"

typedef struct kn_branch {
  int m;            /* hinge rows */
  double A[36];     /* inertia of the branch, then its factor */
  double Y[36];     /* A⁻¹ Nᵀ by columns: m x 6 */
  double S[36];     /* factor of N A⁻¹ Nᵀ */
  double C[12 * 6]; /* rows of the node, columns of V_parent */
  double T[12 * 6]; /* K⁻¹ C */
  double y[12];
} kn_branch;

static size_t own_bytes(const kn_model* m, int max_rows) {
  return kn_maximal_bytes(m, max_rows, sizeof(kn_branch));
}

static kn_status own_init(kn_contact_work* w, void* memory, size_t bytes) {
  return kn_maximal_init(w, memory, bytes, sizeof(kn_branch));
}

static void add_outer(double* A, double scale, const double* a, const double* b) {
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) A[6 * i + j] += scale * a[i] * b[j];
}

/* The held rows of a thin body's joint. */
static void add_held(kn_branch* b, kn_branch* parent, const kn_unit* t) {
  double own[36], cross[36], up[36];
  kn_maximal_hold(own, cross, up, t);
  kn_axpy(36, b->A, 1.0, own);
  if (!parent) return;
  kn_axpy(36, b->C, 1.0, cross);
  kn_axpy(36, parent->A, 1.0, up);
}

/* Inertias, hinge rows and joint terms of all nodes, before elimination. */
static void assemble(kn_contact_work* w) {
  const kn_maximal* x = w->own;
  for (int u = 0; u < x->units; u++) {
    const kn_unit* t = &x->unit[u];
    kn_branch* b = &x->branch[u];
    b->m = 6 - t->dofs;
    memcpy(b->A, t->M, sizeof b->A);
    memset(b->C, 0, sizeof b->C);
    for (int k = 0; k < b->m; k++) kn_maximal_carry(b->C + 6 * (6 + k), t, t->N + 6 * k);
    if (t->held[1] > 0.0) add_held(b, t->parent >= 0 ? &x->branch[t->parent] : NULL, t);
    for (int j = 0; j < t->dofs && x->coupled; j++) {
      int d = t->dof[j];
      double a = w->model->armature[d] + (w->diagonal ? w->diagonal[d] : 0.0), up[6];
      const double* s = t->Splus + 6 * j;
      add_outer(b->A, a, s, s);
      if (t->parent < 0 || a == 0.0) continue;
      kn_maximal_carry(up, t, s);
      add_outer(b->C, a, s, up);
      add_outer(x->branch[t->parent].A, a, up, up);
    }
  }
}

/* [x; s] = K⁻¹ [r; h], r and x of 6, h and s of m. */
static void node_solve(double out[12], const kn_branch* b, const kn_unit* t, const double r[6],
                       const double* h) {
  double g[6];
  kn_cholesky_solve(6, out, b->A, 6, r);
  if (b->m == 0) return;
  for (int k = 0; k < b->m; k++) g[k] = kn_dot(6, t->N + 6 * k, out) - h[k];
  kn_cholesky_solve(b->m, out + 6, b->S, b->m, g);
  for (int k = 0; k < b->m; k++) kn_axpy(6, out, -out[6 + k], b->Y + 6 * k);
}

static void factor_node(kn_branch* b, const kn_unit* t) {
  kn_cholesky_factor(6, b->A, 6, 0.0);
  for (int k = 0; k < b->m; k++) kn_cholesky_solve(6, b->Y + 6 * k, b->A, 6, t->N + 6 * k);
  for (int i = 0; i < b->m; i++)
    for (int j = 0; j < b->m; j++) b->S[i * b->m + j] = kn_dot(6, t->N + 6 * i, b->Y + 6 * j);
  if (b->m) kn_cholesky_factor(b->m, b->S, b->m, 0.0);
}

/* T = K⁻¹ C, then the parent's share: A_p -= Cᵀ T. */
static void eliminate_node(kn_branch* b, const kn_unit* t, double* A_parent) {
  int rows = 6 + b->m;
  for (int j = 0; j < 6; j++) {
    double r[6], h[6], z[12];
    for (int i = 0; i < 6; i++) r[i] = b->C[6 * i + j];
    for (int i = 0; i < b->m; i++) h[i] = b->C[6 * (6 + i) + j];
    node_solve(z, b, t, r, h);
    for (int i = 0; i < rows; i++) b->T[6 * i + j] = z[i];
  }
  for (int k = 0; k < rows; k++)
    for (int i = 0; i < 6; i++) kn_axpy(6, A_parent + 6 * i, -b->C[6 * k + i], b->T + 6 * k);
}

static void factor(kn_contact_work* w) {
  const kn_maximal* x = w->own;
  assemble(w);
  for (int u = x->units - 1; u >= 0; u--) {
    const kn_unit* t = &x->unit[u];
    factor_node(&x->branch[u], t);
    if (t->parent >= 0) eliminate_node(&x->branch[u], t, x->branch[t->parent].A);
  }
}

/* ΔV (n) for impulses b (n, destroyed) on the bodies; from: velocities whose hinges are to be closed, or
 * NULL. */
static void solve(double* dV, const kn_maximal* x, double* b, const double* from) {
  for (int u = x->units - 1; u >= 0; u--) {
    const kn_unit* t = &x->unit[u];
    kn_branch* k = &x->branch[u];
    double h[6] = {0};
    for (int i = 0; i < k->m && from; i++) {
      h[i] = -kn_dot(6, t->N + 6 * i, from + 6 * u);
      if (t->parent >= 0) h[i] -= kn_dot(6, k->C + 6 * (6 + i), from + 6 * t->parent);
    }
    node_solve(k->y, k, t, b + 6 * u, h);
    for (int i = 0; i < 6 + k->m && t->parent >= 0; i++)
      kn_axpy(6, b + 6 * t->parent, -k->y[i], k->C + 6 * i);
  }
  for (int u = 0; u < x->units; u++) {
    const kn_branch* k = &x->branch[u];
    int p = x->unit[u].parent;
    for (int i = 0; i < 6; i++)
      dV[6 * u + i] = k->y[i] - (p >= 0 ? kn_dot(6, k->T + 6 * i, dV + 6 * p) : 0.0);
  }
}

static kn_status prepare(kn_contact_work* w) {
  kn_maximal* x = w->own;
  size_t n = (size_t)x->n;
  kn_maximal_place(w);
  factor(w);
  kn_maximal_rows(x->G, w);
  for (int r = 0; r < w->rows; r++) {
    memcpy(x->t, x->G + (size_t)r * n, n * sizeof(double));
    solve(x->X + (size_t)r * n, x, x->t, NULL);
  }
  for (int i = 0; i < w->rows; i++)
    for (int j = 0; j <= i; j++)
      w->W[i * w->rows + j] = w->W[j * w->rows + i] =
          kn_dot(x->n, x->G + (size_t)i * n, x->X + (size_t)j * n);
  return KN_OK;
}

static void offset(kn_contact_work* w, const double* v_free, const double* bias) {
  kn_maximal* x = w->own;
  kn_maximal_forces(w, v_free);
  solve(x->t, x, x->f, x->V);
  kn_axpy(x->n, x->V, 1.0, x->t);
  kn_gemv(w->rows, x->n, w->q, x->G, x->n, x->V);
  for (int i = 0; i < w->rows; i++) w->q[i] += bias[i];
}

static void motion(double* v, kn_contact_work* w, const double* v_free, const double* r) {
  kn_maximal* x = w->own;
  (void)v_free;
  for (int i = 0; i < w->rows; i++)
    if (r[i] != 0.0) kn_axpy(x->n, x->V, r[i], x->X + (size_t)i * x->n);
  kn_maximal_motion(v, w, x->V);
}

const kn_formulation kn_formulation_nmc_sparse = {
    .name = "nmc-sparse",
    .doc = "free bodies, hinge rows eliminated block by block along the tree, linear in the number of links",
    .citation = "D. Baraff, Linear-time dynamics using Lagrange multipliers, 1996",
    .maximal = true,
    .own_bytes = own_bytes,
    .own_init = own_init,
    .prepare = prepare,
    .offset = offset,
    .motion = motion,
};
