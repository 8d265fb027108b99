/* The dense non-minimal formulations (free bodies and hinge rows: maximal.c). With G = hinge rows over the
   problem's rows:

     nmc      [ M  -Gᵀ ] [V⁺]   [-M V_free]     unknowns V⁺ (6n), p_b, λ     (jain-2014 Eq. 27)
              [ G    0 ] [p ] + [  bias   ]
     nmc-os   G M⁻¹ Gᵀ p + G V_free + bias      unknowns p_b, λ              (jain-2014 section 6)

   V_free = V + M⁻¹ f dt of the bodies on their own. */
#include <string.h>

#include "contact/formulation/maximal.h"
#include "math/dense.h"

static size_t own_bytes(const kn_model* m, int max_rows) { return kn_maximal_bytes(m, max_rows, 0); }

static kn_status own_init(kn_contact_work* w, void* memory, size_t bytes) {
  return kn_maximal_init(w, memory, bytes, 0);
}

static void add_block(double* M, int ld, int row, int column, const double* B, bool transposed) {
  for (int r = 0; r < 6; r++)
    for (int k = 0; k < 6; k++)
      M[(size_t)(6 * row + r) * ld + 6 * column + k] += transposed ? B[6 * k + r] : B[6 * r + k];
}

/* The held rows of thin bodies' joints. */
static void add_held(double* M, int ld, const kn_maximal* x) {
  for (int u = 0; u < x->units; u++) {
    double own[36], cross[36], up[36];
    int p = x->unit[u].parent;
    if (!(x->unit[u].held[1] > 0.0)) continue;
    kn_maximal_hold(own, cross, up, &x->unit[u]);
    add_block(M, ld, u, u, own, false);
    if (p < 0) continue;
    add_block(M, ld, u, p, cross, false);
    add_block(M, ld, p, u, cross, true);
    add_block(M, ld, p, p, up, false);
  }
}

/* M into a zeroed matrix with row length ld >= n. */
static void mass_matrix(double* M, int ld, const kn_contact_work* w) {
  const kn_maximal* x = w->own;
  for (int u = 0; u < x->units; u++)
    for (int r = 0; r < 6; r++)
      memcpy(M + (size_t)(6 * u + r) * ld + 6 * u, x->unit[u].M + 6 * r, 6 * sizeof(double));
  if (x->coupled) add_held(M, ld, x);
  for (int d = 0; d < w->model->nv && x->coupled; d++) {
    double a = w->model->armature[d] + (w->diagonal ? w->diagonal[d] : 0.0);
    if (a == 0.0) continue;
    int u = x->unit_of[w->model->dof_link[d]], p = x->unit[u].parent;
    double* row = x->t;
    memset(row, 0, (size_t)x->n * sizeof(double));
    kn_maximal_dof(row, x, w->model, d, 1.0);
    int at[2] = {u, p};
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 2; j++)
        for (int r = 0; r < 6 && at[i] >= 0 && at[j] >= 0; r++)
          for (int k = 0; k < 6; k++)
            M[(size_t)(6 * at[i] + r) * ld + 6 * at[j] + k] += a * row[6 * at[i] + r] * row[6 * at[j] + k];
  }
}

/* Factor: one dense Cholesky when coupled, 6 x 6 ones otherwise. */
static void factor_mass(kn_contact_work* w) {
  kn_maximal* x = w->own;
  if (x->coupled) {
    memset(x->Minv, 0, (size_t)x->n * x->n * sizeof(double));
    mass_matrix(x->Minv, x->n, w);
    kn_cholesky_factor(x->n, x->Minv, x->n, 0.0);
    return;
  }
  for (int u = 0; u < x->units; u++) {
    memcpy(x->Minv + 36 * u, x->unit[u].M, sizeof x->unit[u].M);
    kn_cholesky_factor(6, x->Minv + 36 * u, 6, 0.0);
  }
}

static void solve_mass(double* y, const kn_maximal* x, const double* b) {
  if (x->coupled) {
    kn_cholesky_solve(x->n, y, x->Minv, x->n, b);
    return;
  }
  for (int u = 0; u < x->units; u++) kn_cholesky_solve(6, y + 6 * u, x->Minv + 36 * u, 6, b + 6 * u);
}

static void free_velocity(kn_contact_work* w, const double* v_free) {
  kn_maximal* x = w->own;
  kn_maximal_forces(w, v_free);
  if (!w->smooth) return;
  solve_mass(x->t, x, x->f);
  kn_axpy(x->n, x->V, 1.0, x->t);
}

static void prepare(kn_contact_work* w) {
  kn_maximal* x = w->own;
  kn_maximal_place(w);
  factor_mass(w);
  memset(x->G, 0, (size_t)x->hinge_rows * (size_t)x->n * sizeof(double));
  for (int u = 0, row = 0; u < x->units; u++)
    for (int k = 0; k < 6 - x->unit[u].dofs; k++, row++)
      kn_maximal_relative(x->G + (size_t)row * x->n, x, u, x->unit[u].N + 6 * k);
  kn_maximal_rows(x->G + (size_t)x->hinge_rows * x->n, w);
}

/* ---- nmc-os ---- */

static int os_extra(const kn_model* m) {
  int hinge_rows;
  kn_maximal_units(m, &hinge_rows);
  return hinge_rows;
}

/* Which bodies each row of G is about. */
static void find_bodies(kn_maximal* x, int rows) {
  for (int r = 0; r < rows; r++) {
    int *on = x->on + (size_t)r * KN_ROW_BODIES, count = 0;
    const double* g = x->G + (size_t)r * x->n;
    for (int k = 0; k < KN_ROW_BODIES; k++) on[k] = -1;
    for (int u = 0; u < x->units; u++, g += 6) {
      if (g[0] == 0.0 && g[1] == 0.0 && g[2] == 0.0 && g[3] == 0.0 && g[4] == 0.0 && g[5] == 0.0) continue;
      if (count == KN_ROW_BODIES) {
        on[0] = -2;
        break;
      }
      on[count++] = u;
    }
  }
}

/* X_r = M⁻¹ G_r: bodies by themselves leave zeros where G has them. */
static void solve_row(kn_maximal* x, int r) {
  const int* on = x->on + (size_t)r * KN_ROW_BODIES;
  const double* g = x->G + (size_t)r * x->n;
  double* to = x->X + (size_t)r * x->n;
  if (x->coupled || on[0] == -2) {
    solve_mass(to, x, g);
    return;
  }
  memset(to, 0, (size_t)x->n * sizeof(double));
  for (int k = 0; k < KN_ROW_BODIES && on[k] >= 0; k++)
    kn_cholesky_solve(6, to + 6 * on[k], x->Minv + 36 * on[k], 6, g + 6 * on[k]);
}

/* G_i · X_j over the bodies of row i; without coupling rows that share no body are zero. */
static double product(const kn_maximal* x, int i, int j) {
  const int *a = x->on + (size_t)i * KN_ROW_BODIES, *b = x->on + (size_t)j * KN_ROW_BODIES;
  const double *g = x->G + (size_t)i * x->n, *y = x->X + (size_t)j * x->n;
  if (a[0] == -2) return kn_dot(x->n, g, y);
  double sum = 0.0;
  for (int k = 0; k < KN_ROW_BODIES && a[k] >= 0; k++) {
    bool shared = x->coupled || b[0] == -2;
    for (int l = 0; l < KN_ROW_BODIES && b[l] >= 0; l++) shared |= b[l] == a[k];
    if (shared) sum += kn_dot(6, g + 6 * a[k], y + 6 * a[k]);
  }
  return sum;
}

static kn_status os_prepare(kn_contact_work* w) {
  kn_maximal* x = w->own;
  int total = w->total;
  prepare(w);
  find_bodies(x, total);
  for (int r = 0; r < total; r++) solve_row(x, r);
  for (int i = 0; i < total; i++)
    for (int j = 0; j <= i; j++) w->W[(size_t)i * total + j] = w->W[(size_t)j * total + i] = product(x, i, j);
  return KN_OK;
}

static void os_offset(kn_contact_work* w, const double* v_free, const double* bias) {
  kn_maximal* x = w->own;
  x->refined = false;
  free_velocity(w, v_free);
  kn_gemv(w->total, x->n, w->q, x->G, x->n, x->V);
  for (int i = 0; i < w->rows; i++) w->q[w->extra + i] += bias[i];
}

static void os_motion(double* v, kn_contact_work* w, const double* v_free, const double* r) {
  kn_maximal* x = w->own;
  (void)v_free;
  if (x->refined)
    memcpy(x->V, x->V_end, (size_t)x->n * sizeof(double));
  else
    kn_maximal_advance(x->V, w, r);
  kn_maximal_motion(v, w, x->V);
}

const kn_formulation kn_formulation_nmc_os = {
    .name = "nmc-os",
    .doc = "free bodies, hinges as constraint rows, body velocities eliminated",
    .citation = "A. Jain et al., Operational space contact dynamics, 2012 (FA); 2014, section 6",
    .maximal = true,
    .extra = os_extra,
    .own_bytes = own_bytes,
    .own_init = own_init,
    .prepare = os_prepare,
    .offset = os_offset,
    .refine = kn_maximal_refine,
    .motion = os_motion,
};

/* ---- nmc ---- */

static int full_extra(const kn_model* m) {
  int hinge_rows, units = kn_maximal_units(m, &hinge_rows);
  return 6 * units + hinge_rows;
}

static int full_velocities(const kn_model* m) {
  int hinge_rows;
  return 6 * kn_maximal_units(m, &hinge_rows);
}

static kn_status full_prepare(kn_contact_work* w) {
  kn_maximal* x = w->own;
  int n = x->n, total = w->total;
  prepare(w);
  memset(w->W, 0, (size_t)total * total * sizeof(double));
  mass_matrix(w->W, total, w);
  for (int r = 0; r < x->hinge_rows + w->rows; r++)
    for (int i = 0; i < n; i++) {
      double g = x->G[(size_t)r * n + i];
      w->W[(size_t)(n + r) * total + i] = g;
      w->W[(size_t)i * total + n + r] = -g;
    }
  return KN_OK;
}

static void full_offset(kn_contact_work* w, const double* v_free, const double* bias) {
  kn_maximal* x = w->own;
  free_velocity(w, v_free);
  memset(w->q, 0, (size_t)w->total * sizeof(double));
  for (int i = 0; i < x->n; i++) w->q[i] = -kn_dot(x->n, w->W + (size_t)i * w->total, x->V);
  memcpy(w->q + w->extra, bias, (size_t)w->rows * sizeof(double));
}

static void full_refine(kn_contact_work* w, double tolerance) {
  kn_maximal* x = w->own;
  kn_refine(&(kn_refinement){.n = x->n,
                             .rows = w->total - x->n,
                             .G = x->G,
                             .X = w->reduced.Z,
                             .W = w->reduced.W,
                             .q = w->q + x->n,
                             .block = w->reduced.block,
                             .nblock = w->nblock - x->n,
                             .V = w->r,
                             .p = w->r + x->n},
            w, tolerance);
}

static void full_motion(double* v, kn_contact_work* w, const double* v_free, const double* r) {
  (void)v_free;
  kn_maximal_motion(v, w, r);
}

const kn_formulation kn_formulation_nmc = {
    .name = "nmc",
    .doc = "free bodies: body velocities, hinge and contact multipliers all unknown",
    .citation = "A. Jain, Contact dynamics formulation using minimal coordinates, 2014, section 3",
    .maximal = true,
    .extra = full_extra,
    .velocities = full_velocities,
    .own_bytes = own_bytes,
    .own_init = own_init,
    .prepare = full_prepare,
    .offset = full_offset,
    .refine = full_refine,
    .motion = full_motion,
};
