/* Non-minimal coordinates (jain-2014 section 3; FA in jain-2012): every link is a free body, every hinge a
   set of rows.

   Unit u = a link with its own mass; massless links of compound joints belong to the joint of the next unit.
   Velocity V_u = [ω; v of the link origin], world axes. Relative motion V_u - X V_parent = S θ̇ with
   X = [1 0; -[l]x 1], l = o_u - o_parent. N: orthonormal complement of S, so the hinge's rows are
   Nᵀ (V_u - X V_parent) = 0, and θ̇ = S⁺ (V_u - X V_parent).

   Own smooth dynamics: M (V⁺ - V) = dt (f - gyroscopic - M b) + Gᵀ p, b = J̇ q̇ the links' bias acceleration.
   The papers' rows leave b out (centripetal terms then enter one step late); `hinge_bias` keeps it, and the
   step equals OS. Armature and implicit joint terms a enter as M += (S⁺)ᵀ a S⁺ of the joint.

   Thin bodies (a rod has no inertia about its axis, a point none at all) have a singular M, although the hinges
   leave no motion without energy. Their hinge rows g = Nᵀ (V_u - X V_parent) enter M as well, M += gᵀ K g with
   K = Nᵀ diag(i, i, i, m, m, m) N: where g V⁺ = 0 that moves nothing but the hinges' impulses, p + K g (V⁺ - V)
   instead of p. Rows of every joint of a thin body suffice: V with M V = 0 and these rows zero is zero on every
   other body, so it obeys all hinges and moves without energy, which a compiled model rules out. */
#include "contact/formulation/maximal.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "math/dense.h"
#include "spatial/spatial.h"

/* A massless link with exactly one child link belongs to the joint of that child. */
static bool is_unit(const kn_model* m, int link) {
  return m->link[link].mass > 0.0 || link + 1 == m->link[link].end ||
         m->link[link + 1].end != m->link[link].end;
}

int kn_maximal_units(const kn_model* m, int* hinge_rows) {
  int units = 0, dofs = 0;
  for (int i = 0; i < m->nlink; i++) units += is_unit(m, i), dofs += m->link[i].nv;
  *hinge_rows = 6 * units - dofs;
  return units;
}

static void carve(kn_maximal* x, kn_arena* a, const kn_model* m, int max_rows, size_t branch_bytes) {
  x->units = kn_maximal_units(m, &x->hinge_rows);
  x->n = 6 * x->units;
  size_t n = (size_t)x->n, rows = (size_t)max_rows + (branch_bytes ? 0 : (size_t)x->hinge_rows);
  x->unit_of = KN_TAKE(a, int, m->nlink);
  x->unit = KN_TAKE(a, kn_unit, x->units);
  KN_TAKE_EACH(a, double, rows* n, &x->G, &x->X);
  x->on = branch_bytes ? NULL : KN_TAKE(a, int, KN_ROW_BODIES* rows);
  x->Minv = branch_bytes ? NULL : KN_TAKE(a, double, n* n);
  KN_TAKE_EACH(a, double, n, &x->V, &x->f, &x->t, &x->bias, &x->V_begin, &x->V_end);
  x->q = KN_TAKE(a, double, m->nq);
  x->d = KN_TAKE(a, double, m->nv);
  x->probe = KN_TAKE(a, kn_row_block, 2 * x->units);
  x->branch = branch_bytes ? kn_arena_take(a, (size_t)x->units * branch_bytes) : NULL;
}

size_t kn_maximal_bytes(const kn_model* m, int max_rows, size_t branch_bytes) {
  kn_maximal x;
  kn_arena measure = {0};
  carve(&x, &measure, m, max_rows, branch_bytes);
  return measure.used + 2 * sizeof(kn_maximal) + 128;
}

/* Singular up to 1e-6 of its largest pivots, in the link's own axes. Where M is merely that ill-conditioned
   holding the rows changes nothing but rounding, for the better. */
static bool is_thin(const kn_link* link) {
  double I[9], skew[9], M[36] = {0};
  kn_sym_expand(I, link->I);
  kn_skew33(skew, link->mc);
  for (int r = 0; r < 3; r++)
    for (int k = 0; k < 3; k++) M[6 * (3 + r) + 3 + k] = I[3 * r + k], M[6 * r + 3 + k] = -skew[3 * r + k];
  for (int r = 0; r < 3; r++) M[7 * r] = link->mass;
  double least = 1e-6;
  return kn_cholesky_factor(6, M, 6, least) != 6;
}

static void hold_thin(kn_maximal* x, const kn_model* m) {
  for (int i = 0; i < x->units; i++) {
    kn_unit *u = &x->unit[i], *up = u->parent >= 0 ? &x->unit[u->parent] : NULL;
    const kn_link *a = &m->link[u->link], *b = up ? &m->link[up->link] : a;
    u->thin = is_thin(a);
    u->held[0] = u->held[1] = 0.0;
    if (!u->thin && !(up && up->thin)) continue;
    double mass = fmax(a->mass, b->mass);
    double turn = fmax(a->I[0] + a->I[1] + a->I[2], b->I[0] + b->I[1] + b->I[2]) / 3.0;
    u->held[0] = turn > 0.0 ? turn : mass;
    u->held[1] = mass;
  }
}

kn_status kn_maximal_init(kn_contact_work* w, void* memory, size_t bytes, size_t branch_bytes) {
  kn_maximal* x = memory;
  size_t head = (sizeof *x + 63) / 64 * 64;
  kn_arena arena = {.base = (char*)memory + head, .capacity = bytes - head};
  carve(x, &arena, w->model, w->max_rows, branch_bytes);
  const kn_model* m = w->model;
  for (int i = 0, u = 0; i < m->nlink; i++) {
    if (!is_unit(m, i)) continue;
    kn_unit* t = &x->unit[u];
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
  hold_thin(x, m);
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
static void split_space(kn_unit* u) {
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

void kn_maximal_inertias(kn_contact_work* w) {
  kn_maximal* x = w->own;
  const kn_model* m = w->model;
  for (int i = 0; i < x->units; i++) {
    kn_unit* u = &x->unit[i];
    const kn_link* link = &m->link[u->link];
    kn_pose pose;
    kn_link_pose(&pose, w->data, u->link);
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
  }
}

static void hinges(kn_contact_work* w) {
  kn_maximal* x = w->own;
  for (int i = 0; i < x->units; i++) {
    kn_unit* u = &x->unit[i];
    for (int k = 0; k < u->dofs; k++) {
      double s[6];
      motion_column(s, w->model, w->data, u->dof[k], u->o);
      for (int r = 0; r < 6; r++) u->S[r * u->dofs + k] = s[r];
    }
    split_space(u);
  }
}

/* row += a (on unit u and, carried over, on its parent with opposite sign): the relative velocity of a joint.
 */
void kn_maximal_relative(double* row, const kn_maximal* x, int u, const double a[6]) {
  const kn_unit* t = &x->unit[u];
  for (int k = 0; k < 6; k++) row[6 * u + k] += a[k];
  if (t->parent < 0) return;
  double moment[3];
  kn_cross3(moment, t->l, a + 3);
  for (int k = 0; k < 3; k++) {
    row[6 * t->parent + k] -= a[k] + moment[k];
    row[6 * t->parent + 3 + k] -= a[3 + k];
  }
}

void kn_maximal_dof(double* row, const kn_maximal* x, const kn_model* m, int dof, double scale) {
  int u = x->unit_of[m->dof_link[dof]];
  double a[6];
  for (int j = 0; j < x->unit[u].dofs; j++) {
    if (x->unit[u].dof[j] != dof) continue;
    for (int k = 0; k < 6; k++) a[k] = scale * x->unit[u].Splus[6 * j + k];
    kn_maximal_relative(row, x, u, a);
  }
}

static void body_row(double* row, const kn_maximal* x, int link, const kn_row_block* g, const double dir[3],
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

void kn_maximal_rows(double* G, kn_contact_work* w) {
  const kn_maximal* x = w->own;
  memset(G, 0, (size_t)w->rows * (size_t)x->n * sizeof(double));
  for (int g = 0; g < w->count; g++) {
    const kn_row_block* b = &w->geometry[g];
    if (b->ndof) {
      for (int k = 0; k < b->ndof; k++) kn_maximal_dof(G, x, w->model, b->dof[k], b->coef[k]);
      G += x->n;
      continue;
    }
    for (int k = 0; k < b->rows; k++, G += x->n) {
      body_row(G, x, b->link_a, b, b->dir[k], 1.0);
      body_row(G, x, b->link_b, b, b->dir[k], -1.0);
    }
  }
}

void kn_maximal_carry(double out[6], const kn_unit* t, const double a[6]) {
  double moment[3];
  kn_cross3(moment, t->l, a + 3);
  for (int k = 0; k < 3; k++) out[k] = -(a[k] + moment[k]), out[3 + k] = -a[3 + k];
}

void kn_maximal_hold(double own[36], double cross[36], double parent[36], const kn_unit* t) {
  int rows = 6 - t->dofs;
  memset(own, 0, sizeof(double[36]));
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < rows; j++) {
      const double *a = t->N + 6 * i, *b = t->N + 6 * j;
      double K = t->held[0] * kn_dot3(a, b) + t->held[1] * kn_dot3(a + 3, b + 3);
      for (int k = 0; k < 6; k++) kn_axpy(6, own + 6 * k, K * a[k], b);
    }
  for (int k = 0; k < 6; k++) kn_maximal_carry(cross + 6 * k, t, own + 6 * k);
  for (int k = 0; k < 6; k++) {
    double column[6];
    for (int i = 0; i < 6; i++) column[i] = cross[6 * i + k];
    kn_maximal_carry(parent + 6 * k, t, column);
  }
}

static bool is_coupled(const kn_contact_work* w) {
  const kn_maximal* x = w->own;
  for (int u = 0; u < x->units; u++)
    if (x->unit[u].held[1] > 0.0) return true;
  for (int d = 0; d < w->model->nv; d++)
    if (w->model->armature[d] + (w->diagonal ? w->diagonal[d] : 0.0) != 0.0) return true;
  return false;
}

void kn_maximal_place(kn_contact_work* w) {
  kn_maximal_inertias(w);
  hinges(w);
  ((kn_maximal*)w->own)->coupled = is_coupled(w);
}

static void multiply_units(double* y, const kn_maximal* x, const double* V) {
  for (int u = 0; u < x->units; u++) kn_gemv(6, 6, y + 6 * u, x->unit[u].M, 6, V + 6 * u);
}

void kn_maximal_probes(kn_maximal* x) {
  for (int u = 0; u < x->units; u++) {
    for (int a = 0; a < 2; a++) {
      kn_row_block* p = &x->probe[2 * u + a];
      *p = (kn_row_block){.link_a = x->unit[u].link, .link_b = -1, .rows = 3, .angular = a == 0};
      kn_copy3(p->point, x->unit[u].o);
      for (int k = 0; k < 3; k++) p->dir[k][k] = 1.0;
    }
  }
}

void kn_maximal_velocity(double* V, kn_contact_work* w, const double* v) {
  kn_maximal* x = w->own;
  kn_maximal_probes(x);
  kn_rows_velocity(V, w->data, w->model, x->probe, 2 * x->units, v);
}

/* Weight and gyroscopic force of a body about its origin, ω as given. */
static void body_force(double f[6], const kn_unit* t, const kn_model* m, const double omega[3]) {
  double Iw[3], wc[3], wwc[3], gyro[3];
  double c[3] = {t->M[6 * 2 + 4], t->M[6 * 0 + 5], t->M[6 * 1 + 3]}; /* m c: the block M_ωv is [m c]x */
  for (int k = 0; k < 3; k++) Iw[k] = kn_dot3(t->M + 6 * k, omega);
  kn_cross3(f, c, m->gravity); /* moment of the weight about the origin */
  kn_scale3(f + 3, m->gravity, m->link[t->link].mass);
  kn_cross3(gyro, omega, Iw);
  kn_cross3(wc, omega, c);
  kn_cross3(wwc, omega, wc);
  kn_sub3(f, f, gyro);
  kn_sub3(f + 3, f + 3, wwc);
}

void kn_maximal_forces(kn_contact_work* w, const double* v_free) {
  kn_maximal* x = w->own;
  const kn_smooth* s = w->smooth;
  const kn_model* m = w->model;
  kn_maximal_velocity(x->V, w, s ? s->v : v_free);
  memset(x->f, 0, (size_t)x->n * sizeof(double));
  if (!s) return;
  if (s->V) memcpy(x->V, s->V, (size_t)x->n * sizeof(double));
  memcpy(x->V_begin, x->V, (size_t)x->n * sizeof(double));
  kn_maximal_velocity(x->bias, w, s->v_bias); /* ω for the gyroscopic terms */
  for (int u = 0; u < x->units; u++) body_force(x->f + 6 * u, &x->unit[u], m, x->bias + 6 * u);
  for (int d = 0; d < m->nv; d++) kn_maximal_dof(x->f, x, m, d, s->tau[d]);
  if (s->hinge_bias) {
    kn_rows_bias(x->bias, w->data, m, x->probe, 2 * x->units, s->v_bias);
    multiply_units(x->t, x, x->bias);
    for (int i = 0; i < x->n; i++) x->f[i] -= x->t[i];
  }
  for (int i = 0; i < x->n; i++) x->f[i] *= s->dt;
}

static void minimal_velocity(double* v, const kn_maximal* x, const double* V) {
  for (int i = 0; i < x->units; i++) {
    const kn_unit* u = &x->unit[i];
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

void kn_maximal_motion(double* v, kn_contact_work* w, const double* V) {
  kn_maximal* x = w->own;
  memcpy(x->V_end, V, (size_t)x->n * sizeof(double));
  minimal_velocity(v, x, V);
}
