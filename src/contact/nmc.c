/* Non-minimal coordinates (jain-2014 section 3; FA in jain-2012): every link is a free body, every hinge a
   set of rows.

   Unit u = a link with its own mass; massless links of compound joints belong to the joint of the next unit.
   Velocity V_u = [ω; v of the link origin], world axes. Relative motion V_u - X V_parent = S θ̇ with X = [1 0;
   -[l]x 1], l = o_u - o_parent. N: orthonormal complement of S, so the hinge's rows are Nᵀ (V_u - X V_parent)
   = 0, and θ̇ = S⁺ (V_u - X V_parent).

     nmc      [ M  -Gᵀ ] [V⁺]   [-M V_free]       G = hinge rows over contact rows; unknowns V⁺ (6n), p_b, λ
   (Eq. 27) [ G    0 ] [p ] + [  bias   ] nmc-os   G M⁻¹ Gᵀ p + G V_free + bias          unknowns p_b, λ
   (section 6)

   Own smooth dynamics: V_free = V + dt M⁻¹ (f - gyroscopic - M b), b = J̇ q̇ the links' bias acceleration. The
   papers' rows leave b out (centripetal terms then enter one step late); `hinge_bias` keeps it, and the step
   equals OS. Armature and implicit joint terms a enter as M += (S⁺)ᵀ a S⁺ of the joint. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "contact/formulation.h"
#include "math/dense.h"
#include "spatial/spatial.h"

typedef struct unit {
  int link, parent; /* parent unit, -1: world */
  int dofs, dof[6]; /* of the joint that leads to it */
  double o[3], l[3];
  double M[36];     /* inertia at the origin, world axes */
  double S[36];     /* 6 x dofs */
  double Splus[36]; /* dofs x 6 */
  double N[36];     /* (6 - dofs) x 6, orthonormal rows */
} unit;

typedef struct maximal {
  int units, hinge_rows, n; /* n = 6 units */
  bool coupled;             /* armature or implicit terms couple the bodies */
  int* unit_of;             /* nlink: the unit a link belongs to */
  unit* unit;
  double* G;           /* (hinge rows + rows) x n */
  double* Minv;        /* n x n Cholesky factor when coupled, else 36 per unit: inverses */
  double* X;           /* M⁻¹ Gᵀ, stored by rows: (hinge rows + rows) x n */
  double *V, *f, *t;   /* n: velocities, forces, scratch */
  double* bias;        /* 6 units */
  kn_row_block* probe; /* 2 units: linear and angular velocity of each origin */
} maximal;

/* A massless link with exactly one child link belongs to the joint of that child. */
static bool is_unit(const kn_model* m, int link) {
  return m->link[link].mass > 0.0 || link + 1 == m->link[link].end ||
         m->link[link + 1].end != m->link[link].end;
}

static int count_units(const kn_model* m, int* hinge_rows) {
  int units = 0, dofs = 0;
  for (int i = 0; i < m->nlink; i++) units += is_unit(m, i), dofs += m->link[i].nv;
  *hinge_rows = 6 * units - dofs;
  return units;
}

static void carve(maximal* x, kn_arena* a, const kn_model* m, int max_rows) {
  x->units = count_units(m, &x->hinge_rows);
  x->n = 6 * x->units;
  size_t rows = (size_t)x->hinge_rows + (size_t)max_rows;
  x->unit_of = KN_TAKE(a, int, m->nlink);
  x->unit = KN_TAKE(a, unit, x->units);
  x->G = KN_TAKE(a, double, rows*(size_t)x->n);
  x->X = KN_TAKE(a, double, rows*(size_t)x->n);
  x->Minv = KN_TAKE(a, double, (size_t)x->n * x->n);
  x->V = KN_TAKE(a, double, x->n);
  x->f = KN_TAKE(a, double, x->n);
  x->t = KN_TAKE(a, double, x->n);
  x->bias = KN_TAKE(a, double, x->n);
  x->probe = KN_TAKE(a, kn_row_block, 2 * x->units);
}

static size_t own_bytes(const kn_model* m, int max_rows) {
  maximal x;
  kn_arena measure = {0};
  carve(&x, &measure, m, max_rows);
  return measure.used + 2 * sizeof(maximal) + 128;
}

static kn_status own_init(kn_contact_work* w, void* memory, size_t bytes) {
  maximal* x = memory;
  size_t head = (sizeof *x + 63) / 64 * 64;
  kn_arena arena = {.base = (char*)memory + head, .capacity = bytes - head};
  carve(x, &arena, w->model, w->max_rows);
  const kn_model* m = w->model;
  for (int i = 0, u = 0; i < m->nlink; i++) {
    if (!is_unit(m, i)) continue;
    unit* t = &x->unit[u];
    t->link = i;
    t->dofs = 0;
    int l = i;
    do { /* the joint: this link and the massless ones above it */
      x->unit_of[l] = u;
      if (t->dofs + m->link[l].nv > 6)
        return kn_fail(KN_UNSUPPORTED, "a joint of more than 6 dofs cannot be cut into hinge rows");
      for (int k = m->link[l].nv - 1; k >= 0; k--) t->dof[t->dofs++] = m->link[l].v + k;
      l = m->link[l].parent;
    } while (l >= 0 && !is_unit(m, l));
    t->parent = l < 0 ? -1 : x->unit_of[l];
    if (!(m->link[i].mass > 0.0))
      return kn_fail(KN_UNSUPPORTED, "a link without mass but with several children cannot be a free body");
    u++;
  }
  w->own = x;
  return KN_OK;
}

/* ---- geometry at the present poses ---- */

static void motion_column(double s[6], const kn_model* m, const kn_data* data, int dof, const double o[3]) {
  const kn_link* link = &m->link[m->dof_link[dof]];
  kn_pose pose;
  double arm[3], z[3];
  int k = dof - link->v;
  kn_link_pose(&pose, data, m->dof_link[dof]);
  kn_sub3(arm, o, pose.p);
  memset(s, 0, sizeof(double[6]));
  if (link->type == KN_LINK_FREE && k < 3) {
    s[3 + k] = 1.0;
    return;
  }
  int column = link->type == KN_LINK_FREE ? k - 3 : link->type == KN_LINK_BALL ? k : 2;
  for (int i = 0; i < 3; i++) z[i] = pose.R[3 * i + column];
  if (link->type == KN_LINK_SLIDE) {
    kn_copy3(s + 3, z);
    return;
  }
  kn_copy3(s, z);
  kn_cross3(s + 3, z, arm);
  if (link->type == KN_LINK_SCREW) kn_axpy3(s + 3, link->pitch, z);
}

/* Splus = (SᵀS)⁻¹Sᵀ and an orthonormal complement N by Gram-Schmidt on unit vectors, twice for accuracy. */
static void split_space(unit* u) {
  double A[36], Q[36];
  int d = u->dofs, have = 0;
  for (int i = 0; i < d; i++)
    for (int j = 0; j < d; j++) {
      A[i * d + j] = 0.0;
      for (int k = 0; k < 6; k++) A[i * d + j] += u->S[k * d + i] * u->S[k * d + j];
    }
  if (d) kn_cholesky_factor(d, A, d, 0.0);
  for (int k = 0; k < 6; k++) {
    double b[6], x[6];
    for (int i = 0; i < d; i++) b[i] = u->S[k * d + i];
    if (d) kn_cholesky_solve(d, x, A, d, b);
    for (int i = 0; i < d; i++) u->Splus[i * 6 + k] = x[i];
  }
  for (int c = 0; c < d + 6 && have < 6; c++) {
    double v[6] = {0};
    for (int k = 0; k < 6; k++) v[k] = c < d ? u->S[k * d + c] : (k == c - d);
    double before = kn_dot(6, v, v);
    for (int pass = 0; pass < 2; pass++)
      for (int j = 0; j < have; j++) kn_axpy(6, v, -kn_dot(6, v, Q + 6 * j), Q + 6 * j);
    double norm2 = kn_dot(6, v, v);
    if (c >= d && norm2 < 0.1 * before) continue; /* nearly in the span: another unit vector is better */
    for (int k = 0; k < 6; k++) Q[6 * have + k] = v[k] / sqrt(norm2);
    have++;
  }
  for (int c = 0; have < 6 && c < 6; c++) { /* what the threshold left out */
    double v[6] = {0};
    v[c] = 1.0;
    for (int pass = 0; pass < 2; pass++)
      for (int j = 0; j < have; j++) kn_axpy(6, v, -kn_dot(6, v, Q + 6 * j), Q + 6 * j);
    double norm2 = kn_dot(6, v, v);
    if (norm2 < 1e-6) continue;
    for (int k = 0; k < 6; k++) Q[6 * have + k] = v[k] / sqrt(norm2);
    have++;
  }
  memcpy(u->N, Q + 6 * d, (size_t)(6 - d) * 6 * sizeof(double));
}

static void place(maximal* x, const kn_model* m, const kn_data* data) {
  for (int i = 0; i < x->units; i++) {
    unit* u = &x->unit[i];
    const kn_link* link = &m->link[u->link];
    kn_pose pose;
    kn_link_pose(&pose, data, u->link);
    kn_copy3(u->o, pose.p);
    kn_copy3(u->l, u->o);
    if (u->parent >= 0) kn_sub3(u->l, u->o, x->unit[u->parent].o);
    double I[9], t[9], c[3];
    kn_sym_expand(I, link->I);
    kn_mul33(t, pose.R, I);
    kn_mul33t(I, t, pose.R);
    kn_mul33v(c, pose.R, link->mc);
    double skew[9];
    kn_skew33(skew, c);
    for (int r = 0; r < 3; r++)
      for (int k = 0; k < 3; k++) {
        u->M[6 * r + k] = I[3 * r + k];
        u->M[6 * r + 3 + k] = skew[3 * r + k];
        u->M[6 * (3 + r) + k] = -skew[3 * r + k];
        u->M[6 * (3 + r) + 3 + k] = r == k ? link->mass : 0.0;
      }
    for (int k = 0; k < u->dofs; k++) {
      double s[6];
      motion_column(s, m, data, u->dof[k], u->o);
      for (int r = 0; r < 6; r++) u->S[r * u->dofs + k] = s[r];
    }
    split_space(u);
  }
}

/* row += a (on unit u and, carried over, on its parent with opposite sign): the relative velocity of a joint.
 */
static void relative_row(double* row, const maximal* x, int u, const double a[6]) {
  const unit* t = &x->unit[u];
  for (int k = 0; k < 6; k++) row[6 * u + k] += a[k];
  if (t->parent < 0) return;
  double moment[3];
  kn_cross3(moment, t->l, a + 3);
  for (int k = 0; k < 3; k++) {
    row[6 * t->parent + k] -= a[k] + moment[k];
    row[6 * t->parent + 3 + k] -= a[3 + k];
  }
}

static void dof_row(double* row, const maximal* x, const kn_model* m, int dof, double scale) {
  int u = x->unit_of[m->dof_link[dof]];
  double a[6];
  for (int j = 0; j < x->unit[u].dofs; j++) {
    if (x->unit[u].dof[j] != dof) continue;
    for (int k = 0; k < 6; k++) a[k] = scale * x->unit[u].Splus[6 * j + k];
    relative_row(row, x, u, a);
  }
}

static void body_row(double* row, const maximal* x, int link, const kn_row_block* g, const double dir[3],
                     double sign) {
  if (link < 0) return;
  int u = x->unit_of[link];
  double arm[3], moment[3];
  if (g->angular) {
    for (int k = 0; k < 3; k++) row[6 * u + k] += sign * dir[k];
    return;
  }
  kn_sub3(arm, g->point, x->unit[u].o);
  kn_cross3(moment, arm, dir);
  for (int k = 0; k < 3; k++) {
    row[6 * u + k] += sign * moment[k];
    row[6 * u + 3 + k] += sign * dir[k];
  }
}

static void fill_rows(kn_contact_work* w) {
  maximal* x = w->own;
  int n = x->n, row = 0;
  memset(x->G, 0, (size_t)(x->hinge_rows + w->rows) * n * sizeof(double));
  for (int u = 0; u < x->units; u++)
    for (int k = 0; k < 6 - x->unit[u].dofs; k++)
      relative_row(x->G + (size_t)row++ * n, x, u, x->unit[u].N + 6 * k);
  for (int g = 0; g < w->count; g++) {
    const kn_row_block* b = &w->geometry[g];
    if (b->ndof) {
      for (int k = 0; k < b->ndof; k++) dof_row(x->G + (size_t)row * n, x, w->model, b->dof[k], b->coef[k]);
      row++;
      continue;
    }
    for (int k = 0; k < b->rows; k++, row++) {
      body_row(x->G + (size_t)row * n, x, b->link_a, b, b->dir[k], 1.0);
      body_row(x->G + (size_t)row * n, x, b->link_b, b, b->dir[k], -1.0);
    }
  }
}

/* M into a zeroed matrix with row length ld >= n. */
static void mass_matrix(double* M, int ld, const kn_contact_work* w) {
  const maximal* x = w->own;
  for (int u = 0; u < x->units; u++)
    for (int r = 0; r < 6; r++)
      memcpy(M + (size_t)(6 * u + r) * ld + 6 * u, x->unit[u].M + 6 * r, 6 * sizeof(double));
  for (int d = 0; d < w->model->nv && x->coupled; d++) {
    double a = w->model->armature[d] + (w->diagonal ? w->diagonal[d] : 0.0);
    if (a == 0.0) continue;
    int u = x->unit_of[w->model->dof_link[d]], p = x->unit[u].parent;
    double* row = x->t;
    memset(row, 0, (size_t)x->n * sizeof(double));
    dof_row(row, x, w->model, d, 1.0);
    int at[2] = {u, p};
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 2; j++)
        for (int r = 0; r < 6 && at[i] >= 0 && at[j] >= 0; r++)
          for (int k = 0; k < 6; k++)
            M[(size_t)(6 * at[i] + r) * ld + 6 * at[j] + k] += a * row[6 * at[i] + r] * row[6 * at[j] + k];
  }
}

static bool is_coupled(const kn_contact_work* w) {
  for (int d = 0; d < w->model->nv; d++)
    if (w->model->armature[d] + (w->diagonal ? w->diagonal[d] : 0.0) != 0.0) return true;
  return false;
}

/* Factor: one dense Cholesky when coupled, 6 x 6 ones otherwise. */
static void factor_mass(kn_contact_work* w) {
  maximal* x = w->own;
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

static void solve_mass(double* y, const maximal* x, const double* b) {
  if (x->coupled) {
    kn_cholesky_solve(x->n, y, x->Minv, x->n, b);
    return;
  }
  for (int u = 0; u < x->units; u++) kn_cholesky_solve(6, y + 6 * u, x->Minv + 36 * u, 6, b + 6 * u);
}

static void multiply_units(double* y, const maximal* x, const double* V) {
  for (int u = 0; u < x->units; u++) kn_gemv(6, 6, y + 6 * u, x->unit[u].M, 6, V + 6 * u);
}

/* Velocities of all origins for minimal velocities v. */
static void origins(maximal* x) {
  for (int u = 0; u < x->units; u++) {
    for (int a = 0; a < 2; a++) {
      kn_row_block* p = &x->probe[2 * u + a];
      *p = (kn_row_block){.link_a = x->unit[u].link, .link_b = -1, .rows = 3, .angular = a == 0};
      kn_copy3(p->point, x->unit[u].o);
      for (int k = 0; k < 3; k++) p->dir[k][k] = 1.0;
    }
  }
}

/* V_free of the bodies on their own, or of the tree when the problem is an impact. */
static void free_velocity(kn_contact_work* w, const double* v_free) {
  maximal* x = w->own;
  const kn_smooth* s = w->smooth;
  const kn_model* m = w->model;
  origins(x);
  kn_rows_velocity(x->V, w->data, m, x->probe, 2 * x->units, s ? s->v : v_free);
  if (s && s->V && s->have_V) memcpy(x->V, s->V, (size_t)x->n * sizeof(double));
  if (!s) return;
  kn_rows_velocity(x->bias, w->data, m, x->probe, 2 * x->units, s->v_bias); /* ω for the gyroscopic terms */
  for (int u = 0; u < x->units; u++) {
    const unit* t = &x->unit[u];
    const double* omega = x->bias + 6 * u;
    double Iw[3], wc[3], wwc[3];
    double c[3] = {t->M[6 * 2 + 4], t->M[6 * 0 + 5], t->M[6 * 1 + 3]}; /* m c: the block M_ωv is [m c]x */
    for (int k = 0; k < 3; k++) Iw[k] = kn_dot3(t->M + 6 * k, omega);
    double* f = x->f + 6 * u;
    kn_cross3(f, c, m->gravity); /* moment of the weight about the origin */
    kn_scale3(f + 3, m->gravity, m->link[t->link].mass);
    double gyro[3];
    kn_cross3(gyro, omega, Iw);
    kn_cross3(wc, omega, c);
    kn_cross3(wwc, omega, wc);
    kn_sub3(f, f, gyro);
    kn_sub3(f + 3, f + 3, wwc);
  }
  for (int d = 0; d < m->nv; d++) dof_row(x->f, x, m, d, s->tau[d]);
  if (s->hinge_bias) {
    kn_rows_bias(x->bias, w->data, m, x->probe, 2 * x->units, s->v_bias);
    multiply_units(x->t, x, x->bias);
    for (int i = 0; i < x->n; i++) x->f[i] -= x->t[i];
  }
  solve_mass(x->t, x, x->f);
  for (int i = 0; i < x->n; i++) x->V[i] += s->dt * x->t[i];
}

static void keep_bodies(const kn_contact_work* w, const double* V) {
  const maximal* x = w->own;
  if (w->smooth && w->smooth->V) memcpy(w->smooth->V, V, (size_t)x->n * sizeof(double));
}

static void minimal_velocity(double* v, const maximal* x, const double* V) {
  for (int i = 0; i < x->units; i++) {
    const unit* u = &x->unit[i];
    double rel[6];
    memcpy(rel, V + 6 * i, sizeof rel);
    if (u->parent >= 0) {
      const double* P = V + 6 * u->parent;
      double carried[3];
      kn_cross3(carried, P, u->l);
      for (int k = 0; k < 3; k++) rel[k] -= P[k], rel[3 + k] -= P[3 + k] + carried[k];
    }
    for (int j = 0; j < u->dofs; j++) v[u->dof[j]] = kn_dot(6, u->Splus + 6 * j, rel);
  }
}

static void prepare(kn_contact_work* w) {
  maximal* x = w->own;
  place(x, w->model, w->data);
  x->coupled = is_coupled(w);
  factor_mass(w);
  fill_rows(w);
}

static int contact_rows(const kn_contact_work* w, int directions) {
  int size = 0;
  for (int b = w->extra; b < w->nblock; b++) size += w->block[b].set == KN_SET_CONE3 ? directions + 2 : 1;
  return size;
}

/* ---- nmc-os ---- */

static int os_extra(const kn_model* m) {
  int hinge_rows;
  count_units(m, &hinge_rows);
  return hinge_rows;
}

static kn_status os_prepare(kn_contact_work* w) {
  maximal* x = w->own;
  int total = w->total, n = x->n;
  prepare(w);
  for (int r = 0; r < total; r++) solve_mass(x->X + (size_t)r * n, x, x->G + (size_t)r * n);
  for (int i = 0; i < total; i++)
    for (int j = 0; j <= i; j++)
      w->W[(size_t)i * total + j] = w->W[(size_t)j * total + i] =
          kn_dot(n, x->G + (size_t)i * n, x->X + (size_t)j * n);
  return KN_OK;
}

static void os_offset(kn_contact_work* w, const double* v_free, const double* bias) {
  maximal* x = w->own;
  free_velocity(w, v_free);
  kn_gemv(w->total, x->n, w->q, x->G, x->n, x->V);
  for (int i = 0; i < w->rows; i++) w->q[w->extra + i] += bias[i];
}

static void os_motion(double* v, kn_contact_work* w, const double* v_free, const double* r) {
  maximal* x = w->own;
  (void)v_free;
  for (int i = 0; i < w->total; i++)
    if (r[i] != 0.0) kn_axpy(x->n, x->V, r[i], x->X + (size_t)i * x->n);
  keep_bodies(w, x->V);
  minimal_velocity(v, x, x->V);
}

static int os_lcp_size(const kn_contact_work* w, int directions) {
  return ((const maximal*)w->own)->hinge_rows + contact_rows(w, directions);
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
    .motion = os_motion,
    .lcp_size = os_lcp_size,
};

/* ---- nmc ---- */

static int full_extra(const kn_model* m) {
  int hinge_rows, units = count_units(m, &hinge_rows);
  return 6 * units + hinge_rows;
}

static int full_velocities(const kn_model* m) {
  int hinge_rows;
  return 6 * count_units(m, &hinge_rows);
}

static kn_status full_prepare(kn_contact_work* w) {
  maximal* x = w->own;
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
  maximal* x = w->own;
  free_velocity(w, v_free);
  memset(w->q, 0, (size_t)w->total * sizeof(double));
  for (int i = 0; i < x->n; i++) w->q[i] = -kn_dot(x->n, w->W + (size_t)i * w->total, x->V);
  memcpy(w->q + w->extra, bias, (size_t)w->rows * sizeof(double));
}

static void full_motion(double* v, kn_contact_work* w, const double* v_free, const double* r) {
  (void)v_free;
  keep_bodies(w, r);
  minimal_velocity(v, w->own, r);
}

static int full_lcp_size(const kn_contact_work* w, int directions) {
  const maximal* x = w->own;
  return x->n + x->hinge_rows + contact_rows(w, directions);
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
    .motion = full_motion,
    .lcp_size = full_lcp_size,
};
