/* The operational-space compliance Λ = J M⁻¹ Jᵀ of nodes (points of bodies), 6 rows each [angular; linear],
   in two forms.

   Recursive (Jain 2014, Eqs. 62-69; psi, Υ and Ω as in Rodriguez, Jain, Kreutz 1992): with the factors of the
   articulated bodies, psi = X' (1 - g sᵀ) per dof,
     base to tips:  Υ(k) = psiᵀ Υ(parent) psi + s D⁻¹ sᵀ           (0 above a root)
     nodes:         X_i at a node's link is the move of a force from the node; X <- psi X towards the root
     blocks:        Λ_ij = X_i(a)ᵀ Υ(a) X_j(a),  a = nearest common ancestor of the links of i and j (not the
                    parent, as Eq. 69 case 4 has it); 0 between different trees.
   O(N) + O(nodes depth) + O(nodes²). Many nodes go in pairs of tiles of KN_TILE.

   Pushed: every row goes up by itself (rows.c). */
#include <string.h>

#include "base/error.h"
#include "dynamics/rows/rows.h"
#include "spatial/spatial.h"

/* W = T^T for the motion transform of one dof; columns of P are motions: P <- (X - s gᵀ) P, X only for the
   first dof of a link: a <- a + al x r. P is 6x6 row-major [angular; linear]. */
static void motion_columns(double P[36], const kn_data* d, int i, int j, bool first, bool root) {
  const double *r = (const double*)&d->kin.link[i].r, *sa = (const double*)&d->kin.dof[j].sa;
  const double *sl = (const double*)&d->kin.dof[j].sl, *gn = (const double*)&d->fac[j].gn;
  const double* gf = (const double*)&d->fac[j].gf;
  for (int c = 0; c < 6; c++) {
    double* p = P + c;
    double y = 0.0;
    if (!(first && root))
      for (int k = 0; k < 3; k++) y += gn[k] * p[6 * k] + gf[k] * p[6 * (3 + k)];
    if (first) {
      double al[3] = {p[0], p[6], p[12]};
      p[18] += al[1] * r[2] - al[2] * r[1];
      p[24] += al[2] * r[0] - al[0] * r[2];
      p[30] += al[0] * r[1] - al[1] * r[0];
    }
    for (int k = 0; k < 3; k++) p[6 * k] -= sa[k] * y, p[6 * (3 + k)] -= sl[k] * y;
  }
}

static void transpose6(double B[36], const double A[36]) {
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) B[6 * j + i] = A[6 * i + j];
}

/* Υ of all links into data->ups. */
static void upsilon(kn_data* d, const kn_model* m) {
  for (int i = 0; i < m->nlink; i++) {
    const kn_link* l = &m->link[i];
    double *U = d->ups + 36 * (size_t)i, T[36];
    if (l->parent < 0)
      memset(U, 0, sizeof T);
    else
      memcpy(U, d->ups + 36 * (size_t)l->parent, sizeof T);
    for (int j = l->v; j < l->v + l->nv; j++) {
      bool first = j == l->v, root = l->parent < 0;
      motion_columns(U, d, i, j, first, root); /* T Υ */
      transpose6(T, U);
      motion_columns(T, d, i, j, first, root); /* T Υ Tᵀ (symmetric) */
      double s[6];
      v4_store3(s, d->kin.dof[j].sa), v4_store3(s + 3, d->kin.dof[j].sl);
      for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++) U[6 * a + b] = T[6 * a + b] + s[a] * s[b] * d->fac[j].dinv;
    }
  }
}

/* X (forces in columns, 6x6 row-major) at link i becomes X at its parent: x <- X'x - g (s.x) per dof. */
static void psi_columns(double X[36], const kn_data* d, const kn_model* m, int i) {
  const kn_link* l = &m->link[i];
  const double* r = (const double*)&d->kin.link[i].r;
  for (int j = l->v + l->nv - 1; j >= l->v; j--) {
    const double *sa = (const double*)&d->kin.dof[j].sa, *sl = (const double*)&d->kin.dof[j].sl;
    const double *gn = (const double*)&d->fac[j].gn, *gf = (const double*)&d->fac[j].gf;
    for (int c = 0; c < 6; c++) {
      double *x = X + c, y = 0.0;
      for (int k = 0; k < 3; k++) y += sa[k] * x[6 * k] + sl[k] * x[6 * (3 + k)];
      if (j == l->v) {
        double f[3] = {x[18], x[24], x[30]};
        x[0] += r[1] * f[2] - r[2] * f[1];
        x[6] += r[2] * f[0] - r[0] * f[2];
        x[12] += r[0] * f[1] - r[1] * f[0];
      }
      for (int k = 0; k < 3; k++) x[6 * k] -= gn[k] * y, x[6 * (3 + k)] -= gf[k] * y;
    }
  }
}

/* Force at the node, about the link origin: n = n0 + (c - o) x f. */
static void node_start(double X[36], const kn_data* d, int link, const double point[3]) {
  double arm[3], S[9], o[3];
  v4_store3(o, d->kin.link[link].o);
  kn_sub3(arm, point, o);
  kn_skew33(S, arm);
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) X[6 * i + j] = i == j ? 1.0 : i < 3 && j > 2 ? S[3 * i + j - 3] : 0.0;
}

/* One block Xᵀ Υ Y into Λ at (i, j) and its transpose at (j, i). */
static void set_block(double* L, size_t ld, int i, int j, const double* U, const double* X, const double* Y) {
  double T[36];
  for (int a = 0; a < 6; a++)
    for (int b = 0; b < 6; b++) {
      double s = 0.0;
      for (int k = 0; k < 6; k++) s += U[6 * a + k] * Y[6 * k + b];
      T[6 * a + b] = s;
    }
  for (int a = 0; a < 6; a++)
    for (int b = 0; b < 6; b++) {
      double s = 0.0;
      for (int k = 0; k < 6; k++) s += X[6 * k + a] * T[6 * k + b];
      if (i == j && a > b) continue;
      L[(size_t)(6 * i + a) * ld + (size_t)(6 * j + b)] = s;
      L[(size_t)(6 * j + b) * ld + (size_t)(6 * i + a)] = s;
    }
}

typedef struct tile { /* nodes being pushed together */
  int count, node[2 * KN_TILE], at[2 * KN_TILE];
  double* X;
} tile;

/* Links from the tips to the root: at link a the nodes there meet each other for the first time, after which
   they move on together; a node's group is told by where it came from. */
static void meet(double* L, size_t ld, tile* t, const kn_data* d, const kn_model* m) {
  int group[2 * KN_TILE];
  for (int i = 0; i < t->count; i++) group[i] = i;
  for (int a = m->nlink - 1; a >= 0; a--) {
    const double* U = d->ups + 36 * (size_t)a;
    int first = -1;
    for (int i = 0; i < t->count; i++) {
      if (t->at[i] != a) continue;
      for (int j = 0; j < i; j++)
        if (t->at[j] == a && group[j] != group[i])
          set_block(L, ld, t->node[i], t->node[j], U, t->X + 36 * i, t->X + 36 * j);
      if (first < 0) first = i;
    }
    for (int i = 0; i < t->count && first >= 0; i++) {
      if (t->at[i] != a) continue;
      group[i] = first;
      t->at[i] = m->link[a].parent;
      if (t->at[i] >= 0) psi_columns(t->X + 36 * i, d, m, a);
    }
  }
}

static void tile_add(tile* t, kn_data* d, const kn_model* m, const kn_node* node, int from, int count) {
  for (int i = from; i < from + KN_TILE && i < count; i++) {
    int link = node[i].body < 0 ? -1 : m->place[node[i].body].link;
    if (link < 0) continue;
    node_start(t->X + 36 * t->count, d, link, node[i].point);
    t->node[t->count] = i, t->at[t->count] = link;
    t->count++;
  }
}

void kn_dyn_compliance_recursive(double* L, kn_data* d, const kn_model* m, const kn_node* node, int count) {
  kn_data_fill(d);
  size_t ld = 6 * (size_t)count;
  memset(L, 0, sizeof(double) * ld * ld);
  upsilon(d, m);
  tile t = {.X = d->push};
  for (int i = 0; i < count; i += KN_TILE) { /* the nodes with themselves */
    t.count = 0;
    tile_add(&t, d, m, node, i, count);
    for (int k = 0; k < t.count; k++)
      set_block(L, ld, t.node[k], t.node[k], d->ups + 36 * (size_t)t.at[k], t.X + 36 * k, t.X + 36 * k);
  }
  for (int i = 0; i < count; i += KN_TILE)
    for (int j = count > KN_TILE ? i + KN_TILE : i; j < count || j == i + KN_TILE; j += KN_TILE) {
      t.count = 0;
      tile_add(&t, d, m, node, i, count);
      if (j != i) tile_add(&t, d, m, node, j, count);
      meet(L, ld, &t, d, m);
    }
}

static int node_blocks(kn_row_block* block, const kn_model* m, const kn_node* node, int from, int count) {
  int n = 0;
  for (int i = from; i < from + KN_TILE && i < count; i++)
    for (int k = 0; k < 2; k++) {
      kn_row_block* b = &block[n++];
      *b = (kn_row_block){.link_b = -1, .rows = 3, .angular = k == 0};
      b->link_a = node[i].body < 0 ? -1 : m->place[node[i].body].link;
      kn_copy3(b->point, node[i].point);
      for (int j = 0; j < 3; j++) b->dir[j][j] = 1.0;
    }
  return n;
}

kn_status kn_dyn_compliance(double* L, kn_data* d, const kn_model* m, const kn_node* node, int count) {
  kn_row_block block[4 * KN_TILE];
  double* S = d->tile;
  size_t ld = 6 * (size_t)count;
  for (int i = 0; i < count; i += KN_TILE)
    for (int j = count > KN_TILE ? i + KN_TILE : i; j < count || j == i + KN_TILE; j += KN_TILE) {
      int ni = node_blocks(block, m, node, i, count) * 3;
      int nj = j != i ? node_blocks(block + ni / 3, m, node, j, count) * 3 : 0, n = ni + nj;
      KN_TRY(kn_rows_push(&d->rows, d, m, block, n / 3));
      kn_rows_lambda(S, &d->rows, d, m);
      for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
          size_t ra = (size_t)(a < ni ? 6 * i + a : 6 * j + a - ni);
          size_t rb = (size_t)(b < ni ? 6 * i + b : 6 * j + b - ni);
          L[ra * ld + rb] = S[(size_t)a * (size_t)n + (size_t)b];
        }
    }
  return KN_OK;
}
