/* Block-sparse counterparts of the dense kernels; included by cone_kernel.h. The Newton system is solved by a
   multifrontal LU (Duff, Reid 1983): each supernode's dense front takes its rows of W, the update matrices of
   its children and the right-hand side as one more column; pivots are searched inside the supernode only (the
   proximal term keeps them away from zero), and what is left after its columns is the update for its parent.
 */

typedef kn_vec4 quad;

/* u += W_:b x over the stored blocks of column b. */
static inline void scatter(double* u, const kn_cone_sparse* s, int b, const double* x) {
  double x0 = x[0], x1 = x[1], x2 = x[2];
  for (int k = s->start[b]; k < s->start[b + 1]; k++) {
    const double* v = s->value + 12 * (size_t)k;
    quad* to = (quad*)(u + 4 * (size_t)s->row[k]);
    *to = ((*to + x0 * *(const quad*)v) + x1 * *(const quad*)(v + 4)) + x2 * *(const quad*)(v + 8);
  }
}

static void sparse_velocity(double* u, const kn_cone* c, const double* r) {
  for (int i = 0; i < c->ld; i += KN_W) AT(u, i) = CAT(c->q, i) + c->shift * CAT(r, i);
  for (int b = 0; b < c->blocks; b++) {
    const double* x = r + 4 * (size_t)b;
    if (x[0] != 0.0 || x[1] != 0.0 || x[2] != 0.0) scatter(u, c->sparse, b, x);
  }
}

static inline void sparse_solve_block(double* x, kn_cone* c, kn_cone_block* b, const double* r,
                                      const double* u) {
  const double* w = c->sparse->value + 12 * (size_t)c->sparse->diagonal[b->row >> 2];
  if (b->kind == KN_CONE_DISC) {
    double A[9] = {w[0] + c->shift, w[4], w[8], w[1], w[5] + c->shift, w[9], w[2], w[6], w[10] + c->shift};
    double v[3] = {u[0] - (A[0] * r[0] + A[1] * r[1] + A[2] * r[2]),
                   u[1] - (A[3] * r[0] + A[4] * r[1] + A[5] * r[2]),
                   u[2] - (A[6] * r[0] + A[7] * r[1] + A[8] * r[2])};
    disc_solve(x, &b->slip, A, v, b->mu);
  } else if (b->kind == KN_CONE_FLAT) {
    double A[4] = {w[0] + c->shift, w[4], w[1], w[5] + c->shift};
    double v[2] = {u[0] - (A[0] * r[0] + A[1] * r[1]), u[1] - (A[2] * r[0] + A[3] * r[1])};
    flat_solve(x, A, v, b->mu);
  } else {
    double a = w[0] + c->shift;
    x[0] = line_solve(b, a, r[0], u[0]);
  }
}

static void sparse_sweep(kn_cone* c) {
  for (int b = 0; b < c->blocks; b++) {
    double *r = c->r + 4 * (size_t)b, *u = c->u + 4 * (size_t)b, x[3] = {0.0, 0.0, 0.0};
    sparse_solve_block(x, c, &c->block[b], r, u);
    double e[3] = {x[0] - r[0], x[1] - r[1], x[2] - r[2]};
    if (e[0] == 0.0 && e[1] == 0.0 && e[2] == 0.0) continue;
    r[0] = x[0], r[1] = x[1], r[2] = x[2];
    scatter(c->u, c->sparse, b, e);
    u[0] += c->shift * e[0], u[1] += c->shift * e[1], u[2] += c->shift * e[2];
  }
}

/* ---- Newton system ---- */

static inline int unknowns(const kn_cone_block* k, const kn_cone_mode* m) {
  if (m->state == KN_MODE_STICK) return k->rows;
  if (m->state == KN_MODE_SLIP) return k->mu > 0.0 && k->kind == KN_CONE_DISC ? 2 : 1;
  return 0;
}

/* Rows of block i combined to its unknowns: stick as they are, slip n and g rho t. */
static inline void reduce_rows(double* out, const double* in, const kn_cone_block* k, const kn_cone_mode* m,
                               double rho) {
  out[0] = in[0], out[1] = in[1], out[2] = in[2];
  if (m->state == KN_MODE_SLIP && k->kind == KN_CONE_DISC)
    out[1] = m->g * rho * (m->t[0] * in[1] + m->t[1] * in[2]);
}

/* Columns of block j combined to those of its unknowns. v: three columns of four, out alike. */
static inline void reduce_columns(double* out, const double* v, const kn_cone_block* k,
                                  const kn_cone_mode* m) {
  if (m->state != KN_MODE_SLIP || k->mu == 0.0) {
    memcpy(out, v, 12 * sizeof *out);
    return;
  }
  double m1 = k->mu * m->d[0], m2 = k->kind == KN_CONE_DISC ? k->mu * m->d[1] : 0.0;
  *(quad*)out = (*(const quad*)v + m1 * *(const quad*)(v + 4)) + m2 * *(const quad*)(v + 8);
  *(quad*)(out + 4) = m->t[0] * *(const quad*)(v + 4) + m->t[1] * *(const quad*)(v + 8);
}

/* Stored block `index` = (i, j) into the front at the places of i and j. */
static inline void assemble(double* F, size_t ld, const kn_cone* c, int index, int i, int j, double rho) {
  const kn_cone_sparse* s = c->sparse;
  const kn_cone_mode *mi = &c->mode[i], *mj = &c->mode[j];
  int ni = unknowns(&c->block[i], mi), nj = unknowns(&c->block[j], mj);
  if (ni == 0 || nj == 0) return;
  double v[12], rows[3];
  reduce_columns(v, s->value + 12 * (size_t)index, &c->block[j], mj);
  double* to = F + (size_t)s->offset[s->position[j]] * ld + s->offset[s->position[i]];
  for (int b = 0; b < nj; b++) {
    reduce_rows(rows, v + 4 * b, &c->block[i], mi, rho);
    for (int a = 0; a < ni; a++) to[(size_t)b * ld + (size_t)a] += rows[a];
  }
}

static inline void add_diagonal(double* F, size_t ld, const kn_cone* c, int b, double eps, double rho) {
  const kn_cone_mode* m = &c->mode[b];
  int at = c->sparse->offset[c->sparse->position[b]], n = unknowns(&c->block[b], m);
  double e = c->shift + eps;
  for (int i = 0; c->extra && i < n; i++)
    for (int j = 0; j < n; j++)
      F[(size_t)(at + j) * ld + (size_t)(at + i)] += c->extra[9 * (size_t)b + (size_t)(3 * i + j)];
  for (int i = 0; i < n; i++) {
    double* f = F + (size_t)(at + i) * ld + (size_t)(at + i);
    *f += m->state == KN_MODE_SLIP && i == 1 ? m->g * rho * e + (1.0 - m->g) : e;
  }
}

/* Right-hand side of a block's unknowns: v over the scaled rows, as right_side() makes it. */
static inline void assemble_right(double* to, const kn_cone* c, int b, const double* v, double rho) {
  double rows[3];
  int n = unknowns(&c->block[b], &c->mode[b]);
  if (n == 0) return;
  reduce_rows(rows, v + 4 * (size_t)b, &c->block[b], &c->mode[b], rho);
  for (int i = 0; i < n; i++) to[i] += rows[i];
}

static void sparse_right_side(double* v, kn_cone* c, double eps) {
  for (int i = 0; i < c->ld; i += KN_W) AT(v, i) = eps * CAT(c->r, i) - CAT(c->q, i);
  for (int b = 0; b < c->blocks; b++) {
    kn_cone_state st = c->mode[b].state;
    double x[3] = {0.0, 0.0, 0.0};
    if (c->block[b].kind != KN_CONE_LINE || (st != KN_MODE_LOW && st != KN_MODE_HIGH)) continue;
    x[0] = -(st == KN_MODE_LOW ? c->block[b].lo : c->block[b].hi);
    if (x[0] != 0.0) scatter(v, c->sparse, b, x);
  }
}

/* Places of the supernode's positions in its front; returns the pivots, *m the size. */
static inline int place(const kn_cone* c, int t, int* m) {
  const kn_cone_sparse* s = c->sparse;
  int at = 0, pivots;
  for (int p = s->first[t]; p < s->first[t + 1]; p++) {
    s->offset[p] = at;
    at += unknowns(&c->block[s->order[p]], &c->mode[s->order[p]]);
  }
  pivots = at;
  const int* b = s->list + s->border_start[t];
  for (int k = 0; k < s->border_count[t]; k++) {
    s->offset[b[k]] = at;
    at += unknowns(&c->block[s->order[b[k]]], &c->mode[s->order[b[k]]]);
  }
  *m = at;
  return pivots;
}

static void front_matrix(double* F, size_t ld, kn_cone* c, int t, int m, const double* right, double eps,
                         double rho) {
  const kn_cone_sparse* s = c->sparse;
  int p0 = s->first[t], p1 = s->first[t + 1];
  for (int p = p0; p < p1; p++) {
    int j = s->order[p];
    if (unknowns(&c->block[j], &c->mode[j]) == 0) continue;
    for (int k = s->start[j]; k < s->start[j + 1]; k++) {
      int i = s->row[k], q = s->position[i];
      if (q < p0) continue;
      assemble(F, ld, c, k, i, j, rho);
      if (q >= p1) assemble(F, ld, c, s->mirror[k], j, i, rho);
    }
    add_diagonal(F, ld, c, j, eps, rho);
    assemble_right(F + (size_t)m * ld + s->offset[p], c, j, right, rho);
  }
}

static inline void add_run(double* to, const double* from, int n) {
  int i = 0;
  for (; i + 4 <= n; i += 4) *(quad*)(to + i) += *(const quad*)(from + i);
  for (; i < n; i++) to[i] += from[i];
}

/* Adds a child's update matrix; its border unknowns are found by position, neighbours together. */
__attribute__((noinline)) static void extend_add(double* F, size_t ld, const kn_cone* c, int child, int m,
                                                 const double* update, int n, int* map) {
  const kn_cone_sparse* s = c->sparse;
  const int* b = s->list + s->border_start[child];
  int runs = 0, end = -1, *length = map, *to_at = map + n + 1; /* runs of unknowns that stay neighbours */
  for (int k = 0; k < s->border_count[child]; k++) {
    int block = s->order[b[k]], many = unknowns(&c->block[block], &c->mode[block]), at = s->offset[b[k]];
    if (many == 0) continue;
    if (at != end) to_at[runs] = at, length[runs++] = 0;
    length[runs - 1] += many;
    end = at + many;
  }
  to_at[runs] = m, length[runs] = 1; /* the right-hand side */
  for (int a = 0; a <= runs; a++)
    for (int j = 0; j < length[a]; j++, update += n) {
      double* to = F + (size_t)(to_at[a] + j) * ld;
      const double* from = update;
      for (int k = 0; k < runs; from += length[k++]) add_run(to + to_at[k], from, length[k]);
    }
}

/* First `pivots` of m rows and columns of F eliminated, all m + 1 columns updated. */
static bool lu_partial(double* A, size_t ld, int m, int pivots) {
  int piv[4], k0 = 0;
  for (; k0 + 4 <= pivots; k0 += 4) {
    if (!lu_panel(A, ld, m, pivots, k0, piv)) return false;
    const double* L = A + (size_t)k0 * ld;
    int j = k0 + 4;
    for (; j + 1 <= m; j += 2) {
      double *b = A + (size_t)j * ld, *d = b + ld;
      lu_top(b, L, ld, k0, piv);
      lu_top(d, L, ld, k0, piv);
      lu_update2(b, d, L, ld, k0, m);
    }
    if (j <= m) {
      lu_top(A + (size_t)j * ld, L, ld, k0, piv);
      lu_update1(A + (size_t)j * ld, L, ld, k0, m);
    }
  }
  for (; k0 < pivots; k0++) {
    double* a = A + (size_t)k0 * ld;
    int p = pivot_of(a, k0, pivots);
    if (!(fabs(a[p]) > 0.0 && fabs(a[p]) < INFINITY)) return false;
    for (int j = k0; j <= m && p != k0; j++) swap(A + (size_t)j * ld, k0, p);
    double inv = 1.0 / a[k0];
    for (int i = k0 + 1; i < m; i += KN_W) AT(a, i) *= inv;
    for (int j = k0 + 1; j <= m; j++) {
      double *b = A + (size_t)j * ld, t = b[k0];
      if (t == 0.0) continue;
      for (int i = k0 + 1; i < m; i += KN_W) AT(b, i) -= CAT(a, i) * t;
    }
  }
  return true;
}

/* U rows (pivots x (m + 1 - 0), columns contiguous) kept for the way back; the update goes down the stack. */
static void keep_rows(double* U, const double* F, size_t ld, int m, int pivots) {
  for (int j = 0; j <= m; j++)
    memcpy(U + (size_t)j * (size_t)pivots, F + (size_t)j * ld, (size_t)pivots * sizeof *U);
}

static void keep_update(double* to, const double* F, size_t ld, int m, int pivots) {
  int n = m - pivots;
  for (int j = 0; j <= n; j++)
    memmove(to + (size_t)j * (size_t)n, F + (size_t)(pivots + j) * ld + pivots, (size_t)n * sizeof *to);
}

static bool eliminate_fronts(kn_cone* c, const double* right, double eps, double rho) {
  kn_cone_sparse* s = c->sparse;
  size_t top = 0, U = 0;
  int depth = 0, *stack = s->scratch, *sizes = s->scratch + s->blocks, *map = s->scratch + 2 * s->blocks;
  for (int t = 0; t < s->supernodes; t++) {
    int m, pivots = place(c, t, &m);
    size_t ld = (size_t)(((m + 7) & ~7) + 8), base = top;
    double* F = s->front + ((top + 7) & ~(size_t)7);
    memset(F, 0, ld * (size_t)(m + 1) * sizeof *F);
    front_matrix(F, ld, c, t, m, right, eps, rho);
    for (int k = 0; k < s->children[t]; k++) {
      int child = stack[--depth], n = sizes[depth];
      base -= (size_t)n * (size_t)(n + 1);
      extend_add(F, ld, c, child, m, s->front + base, n, map);
    }
    if (!lu_partial(F, ld, m, pivots)) return false;
    s->U_at[t] = U;
    keep_rows(s->U + U, F, ld, m, pivots);
    U += (size_t)pivots * (size_t)(m + 1);
    int n = m - pivots;
    top = base;
    if (s->border_count[t] == 0) continue;
    keep_update(s->front + base, F, ld, m, pivots);
    stack[depth] = t, sizes[depth++] = n;
    top = base + (size_t)n * (size_t)(n + 1);
  }
  return true;
}

static void back_substitute(kn_cone* c) {
  kn_cone_sparse* s = c->sparse;
  for (int t = s->supernodes - 1; t >= 0; t--) {
    int m, pivots = place(c, t, &m), at = pivots;
    const double* U = s->U + s->U_at[t];
    double* x = s->x + s->unknowns_at[s->first[t]];
    memcpy(x, U + (size_t)m * (size_t)pivots, (size_t)pivots * sizeof *x);
    const int* b = s->list + s->border_start[t];
    for (int k = 0; k < s->border_count[t]; k++) {
      int block = s->order[b[k]], many = unknowns(&c->block[block], &c->mode[block]);
      for (int i = 0; i < many; i++, at++) {
        double y = s->x[s->unknowns_at[b[k]] + i];
        for (int p = 0; p < pivots; p++) x[p] -= U[(size_t)at * (size_t)pivots + (size_t)p] * y;
      }
    }
    for (int k = pivots - 1; k >= 0; k--) {
      double y = x[k] /= U[(size_t)k * (size_t)pivots + (size_t)k];
      for (int p = 0; p < k; p++) x[p] -= U[(size_t)k * (size_t)pivots + (size_t)p] * y;
    }
  }
}

/* Unknowns of the present modes with `right` over the scaled rows; the answer goes to s->x. */
static bool sparse_factor_solve(kn_cone* c, const double* right, double eps, double rho) {
  kn_cone_sparse* s = c->sparse;
  kn_sparse_order(s);
  if (!s->factorable) return false;
  for (int p = 0, at = 0; p < s->blocks; p++) {
    s->unknowns_at[p] = at;
    at += unknowns(&c->block[s->order[p]], &c->mode[s->order[p]]);
  }
  if (!eliminate_fronts(c, right, eps, rho)) return false;
  back_substitute(c);
  for (int b = 0; b < c->blocks; b++) c->mode[b].at = s->unknowns_at[s->position[b]];
  return true;
}

/* try_r = full Newton step. */
static bool sparse_newton_solve(kn_cone* c, double eps, double rho) {
  sparse_right_side(c->column, c, eps);
  if (!sparse_factor_solve(c, c->column, eps, rho)) return false;
  expand(c->try_r, c, c->sparse->x);
  return true;
}
