/* Block-sparse counterparts of the dense kernels; included by cone_kernel.h. The Newton system is solved by a
   multifrontal LU (Duff, Reid 1983): each dense front takes its rows of W, the update matrices of its
   children and the right-hand side as one more column; what is left after its pivots is the update for its
   parent.

   A front is eliminated by panels of w <= 8 pivots. With P A11 = L11 U11, T = L11^-1 P:  U12 = T A12,
   L21 = A21 U11^-1,  A22 -= L21 U12. Pivots are searched inside the panel only (the proximal term keeps them
   away from zero), so nothing but T knows of row exchanges, and a column of U12 is one vector of eight. */

typedef kn_vec4 quad;
typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

/* u += W_:b x over the stored blocks of column b. */
static inline void scatter(double* u, const kn_cone_sparse* s, int b, const double* x) {
  double x0 = x[0], x1 = x[1], x2 = x[2];
  for (int k = s->start[b]; k < s->start[b + 1]; k++) {
    const double* v = s->value + 12 * (size_t)k;
    quad* to = (quad*)(u + 4 * (size_t)s->row[k]);
    *to = ((*to + x0 * *(const quad*)v) + x1 * *(const quad*)(v + 4)) + x2 * *(const quad*)(v + 8);
  }
}

/* u = W r + q + shift r by several threads, row by row: the additions to a row are those of scatter(), in its order. */
typedef struct shared_velocity {
  double* u;
  const kn_cone* c;
  const double* r;
} shared_velocity;

static void velocity_some(int worker, int first, int last, void* context) {
  const shared_velocity* v = context;
  const kn_cone_sparse* s = v->c->sparse;
  (void)worker;
  for (int b = first; b < last; b++) {
    quad u = *(const quad*)(v->u + 4 * (size_t)b);
    for (int k = s->start[b]; k < s->start[b + 1]; k++) {
      const double *x = v->r + 4 * (size_t)s->row[k], *w = s->value + 12 * (size_t)s->mirror[k];
      if (x[0] != 0.0 || x[1] != 0.0 || x[2] != 0.0)
        u = ((u + x[0] * *(const quad*)w) + x[1] * *(const quad*)(w + 4)) + x[2] * *(const quad*)(w + 8);
    }
    *(quad*)(v->u + 4 * (size_t)b) = u;
  }
}

static void sparse_velocity(double* u, const kn_cone* c, const double* r) {
  for (int i = 0; i < c->ld; i += KN_W) AT(u, i) = CAT(c->q, i) + c->shift * CAT(r, i);
  if (c->sparse->crew && c->sparse->stored >= KN_SPARSE_SHARE) {
    shared_velocity v = {u, c, r};
    kn_crew_run(c->sparse->crew, c->blocks, c->blocks / 16 + 1, velocity_some, &v);
    return;
  }
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

/* Rows of a block combined to its unknowns: stick as they are, slip n and g rho t. Two or one of them. */
static inline void add_few_rows(double* to, const double* in, const kn_cone_block* k, const kn_cone_mode* m,
                                int many, double rho) {
  to[0] += in[0];
  if (many == 1) return;
  bool slip = m->state == KN_MODE_SLIP && k->kind == KN_CONE_DISC;
  double t0 = slip ? m->g * rho * m->t[0] : 1.0, t1 = slip ? m->g * rho * m->t[1] : 0.0;
  to[1] += t0 * in[1] + t1 * in[2];
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

/* Stored block `index` = (i, j) into the front at the places of i and j. Three unknowns: all rows as they
   are; the fourth is zero. */
static inline void assemble(double* F, size_t ld, const kn_cone* c, const int* offset, int index, int i,
                            int j, double rho) {
  const kn_cone_sparse* s = c->sparse;
  int ni = s->many[i], nj = s->many[j];
  const double* v = s->value + 12 * (size_t)index;
  double *to = F + (size_t)offset[j] * ld + offset[i], reduced[12];
  if (nj < 3 && c->mode[j].state == KN_MODE_SLIP)
    reduce_columns(reduced, v, &c->block[j], &c->mode[j]), v = reduced;
  if (ni == 3) {
    for (int b = 0; b < nj; b++, to += ld) *(quad*)to += *(const quad*)(v + 4 * b);
    return;
  }
  for (int b = 0; b < nj; b++, to += ld) add_few_rows(to, v + 4 * b, &c->block[i], &c->mode[i], ni, rho);
}

static inline void add_diagonal(double* F, size_t ld, const kn_cone* c, int at, int b, double eps,
                                double rho) {
  const kn_cone_mode* m = &c->mode[b];
  int n = c->sparse->many[b];
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
  int n = c->sparse->many[b];
  if (n == 3)
    *(quad*)to += *(const quad*)(v + 4 * (size_t)b);
  else
    add_few_rows(to, v + 4 * (size_t)b, &c->block[b], &c->mode[b], n, rho);
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

/* Shape of a front. Rows begin so that those of the border are aligned: the entry of unknowns i, j is at
   F[j * ld + lead + i], the right-hand side is column pivots + border. */
typedef struct shape {
  int pivots, border, lead;
  size_t ld;
} shape;

/* Places of the front's blocks. */
static inline shape place(int* offset, const kn_cone_sparse* s, const kn_front* f) {
  const int *pivot = s->plan.list + f->pivot_at, *border = s->plan.list + f->border_at;
  int at = 0;
  for (int k = 0; k < f->pivots; k++) offset[pivot[k]] = at, at += s->many[pivot[k]];
  int pivots = at;
  for (int k = 0; k < f->borders; k++) offset[border[k]] = at, at += s->many[border[k]];
  return (shape){pivots, at - pivots, -pivots & 7, (size_t)(((pivots + 7) & ~7) + ((at - pivots + 7) & ~7))};
}

/* Blocks (i, j) and (j, i), three unknowns each. */
static inline void assemble_plain(double* F, size_t ld, const kn_cone_sparse* s, const int* offset, int index,
                                  int i, int j) {
  const double *v = s->value + 12 * (size_t)index, *w = s->value + 12 * (size_t)s->mirror[index];
  double *to = F + (size_t)offset[j] * ld + offset[i], *back = F + (size_t)offset[i] * ld + offset[j];
  for (int b = 0; b < 3; b++, to += ld, back += ld) {
    *(quad*)to += *(const quad*)(v + 4 * b);
    *(quad*)back += *(const quad*)(w + 4 * b);
  }
}

/* A Newton system under way: what all its fronts share. */
typedef struct system {
  kn_cone* c;
  const double* right;
  double eps, rho;
  bool shared;         /* by the crew: some fronts leave their updates in places of their own */
  atomic_int singular; /* some front is */
} system;

static void front_matrix(double* F, const shape* h, const system* n, const int* offset, int t) {
  const kn_cone* c = n->c;
  const kn_cone_sparse* s = c->sparse;
  const kn_front* f = &s->plan.front[t];
  size_t ld = h->ld;
  double *b = F + (size_t)(h->pivots + h->border) * ld, rho = n->rho;
  for (int p = 0; p < f->pivots; p++) {
    int j = s->plan.list[f->pivot_at + p];
    if (s->many[j] == 0) continue;
    for (int at = s->plan.piece_at[j]; at < s->plan.piece_at[j + 1]; at++) {
      int k = s->plan.piece[at], i = s->row[k];
      if (s->many[i] + s->many[j] == 6) {
        assemble_plain(F, ld, s, offset, k, i, j);
        continue;
      }
      if (s->many[i] == 0) continue;
      assemble(F, ld, c, offset, k, i, j, rho);
      assemble(F, ld, c, offset, s->mirror[k], j, i, rho);
    }
    assemble(F, ld, c, offset, s->diagonal[j], j, j, rho);
    add_diagonal(F, ld, c, offset[j], j, n->eps, rho);
    assemble_right(b + offset[j], c, j, n->right, rho);
  }
}

static inline int padded(int n) { return (n + 7) & ~7; }

/* Up to four neighbouring rows of an update matrix and where they go. */
typedef struct piece {
  int from, to;
  const kn_int4* mask;
} piece;

static const long long first_of_four[5][4]
    __attribute__((aligned(32))) = {{0}, {-1}, {-1, -1}, {-1, -1, -1}, {-1, -1, -1, -1}};

/* Adds a child's update matrix of n columns and the right-hand side to F, the parent's first entry. Border
   blocks that stay neighbours go together, by fours; rows that belong to others get a zero. */
static void extend_add(double* F, const shape* h, const kn_cone_sparse* s, const kn_sparse_hand* hand,
                       const kn_front* child, const double* update, int n) {
  const int* b = s->plan.list + child->border_at;
  int runs = 0, end = -1, *length = hand->map, *to_at = hand->map + n + 1, pieces = 0;
  piece* p = (piece*)(void*)hand->y;
  for (int k = 0; k < child->borders; k++) {
    int many = s->many[b[k]], at = hand->offset[b[k]];
    if (many == 0) continue;
    if (at != end) to_at[runs] = at, length[runs++] = 0;
    length[runs - 1] += many;
    end = at + many;
  }
  for (int k = 0, from = 0; k < runs; from += length[k++])
    for (int i = 0; i < length[k]; i += 4) {
      int left = length[k] - i;
      p[pieces++] = (piece){from + i, to_at[k] + i, (const kn_int4*)first_of_four[left < 4 ? left : 4]};
    }
  to_at[runs] = h->pivots + h->border, length[runs] = 1;
  for (int a = 0; a <= runs; a++)
    for (int j = 0; j < length[a]; j++, update += padded(n)) {
      double* to = F + (size_t)(to_at[a] + j) * h->ld;
      for (int k = 0; k < pieces; k++)
        *(quad*)(to + p[k].to) += (quad)((kn_int4) * (const quad*)(update + p[k].from) & *p[k].mask);
    }
}

/* ---- elimination of a front ---- */

typedef double kn_vec8 __attribute__((vector_size(64), aligned(8), may_alias));
typedef long long kn_int8 __attribute__((vector_size(64), aligned(8), may_alias));
#define EIGHT(p)  (*(kn_vec8*)(p))
#define CEIGHT(p) (*(const kn_vec8*)(p))

/* Below this share of a column's largest entry a diagonal entry is no pivot. */
static const double pivot_share = 0.25;

#define UNROLL _Pragma("GCC unroll 8")

/* Row of the pivot in column k of u, entries k … w-1. */
static inline __attribute__((always_inline)) int block_pivot(const double* u, int k, int w) {
  double most = 0.0;
  UNROLL for (int i = k + 1; i < w; i++) most = kn_max(most, fabs(u[i]));
  return fabs(u[k]) >= pivot_share * most ? k : pivot_of(u, k, w);
}

/* LU of the w x w block at a, with row exchanges: U column by column (eight apart), with the reciprocals of
   the pivots on its diagonal, and T = L^-1 P alike. */
static inline __attribute__((always_inline)) bool factor_block(double* U, double* T, const double* a,
                                                               size_t ld, int w) {
  static const double unit[15] = {[7] = 1.0};
  static const long long below[16] = {[8] = -1, -1, -1, -1, -1, -1, -1, -1};
  kn_vec8 u[8], t[8];
  int from[8];
  double column[8], inverse[8];
  UNROLL for (int j = 0; j < w; j++) {
    u[j] = (kn_vec8)((kn_int8)CEIGHT(a + (size_t)j * ld) & ~*(const kn_int8*)(below + 8 - w));
    t[j] = CEIGHT(unit + 7 - j), from[j] = j;
  }
  UNROLL for (int k = 0; k < w; k++) {
    EIGHT(column) = u[k];
    int p = block_pivot(column, k, w);
    if (p != k) {
      UNROLL for (int j = 0; j < w; j++) {
        kn_vec8* v = j < k ? &t[j] : &u[j];
        double x = (*v)[k];
        (*v)[k] = (*v)[p], (*v)[p] = x;
      }
      int row = from[k];
      from[k] = from[p], from[p] = row;
    }
    double pivot = u[k][k], inv = inverse[k] = 1.0 / pivot;
    if (!(fabs(pivot) > 0.0 && fabs(pivot) < INFINITY)) return false;
    kn_vec8 l = (kn_vec8)((kn_int8)u[k] & *(const kn_int8*)(below + 7 - k)) * inv;
    UNROLL for (int j = k + 1; j < w; j++) u[j] -= l * u[j][k];
    UNROLL for (int j = 0; j < k; j++) t[j] -= l * t[j][k];
    t[k] -= l;
  }
  UNROLL for (int j = 0; j < w; j++) EIGHT(U + 8 * j) = u[j], EIGHT(T + 8 * from[j]) = t[j];
  UNROLL for (int j = 0; j < w; j++) U[9 * j] = inverse[j];
  return true;
}

/* Columns 0 … w-1 of the rows below: A21 U11^-1. */
static inline __attribute__((always_inline)) void lower_panel(double* A, size_t ld, int rows, const double* U,
                                                              int w) {
  for (int i = 0; i < rows; i += KN_W) {
    kn_vec l[8];
    UNROLL for (int k = 0; k < w; k++) {
      kn_vec x = CAT(A + (size_t)k * ld, i);
      UNROLL for (int j = 0; j < k; j++) x -= l[j] * U[8 * k + j];
      AT(A + (size_t)k * ld, i) = l[k] = x * U[9 * k];
    }
  }
}

/* U12 = T A12, eight per column. */
static inline __attribute__((always_inline)) void upper_panel(double* U, const double* T, const double* b,
                                                              size_t ld, int columns, int w) {
  kn_vec8 t[8];
  UNROLL for (int k = 0; k < w; k++) t[k] = CEIGHT(T + 8 * k);
  for (int j = 0; j < columns; j++, b += ld) {
    kn_vec8 x = t[0] * b[0];
    UNROLL for (int k = 1; k < w; k++) x += t[k] * b[k];
    EIGHT(U + 8 * j) = x;
  }
}

/* C -= L U of some columns; w columns of L. */
static inline __attribute__((always_inline)) void update(double* C, const double* L, const double* U,
                                                         size_t ld, int rows, int columns, int w) {
  for (int i = 0; i < rows; i += KN_W) {
    kn_vec l[8];
    UNROLL for (int k = 0; k < w; k++) l[k] = CAT(L + (size_t)k * ld, i);
    double* c = C + i;
    for (int j = 0; j < columns; j++, c += ld) {
      kn_vec x = CAT(c, 0);
      UNROLL for (int k = 0; k < w; k++) x -= l[k] * U[8 * j + k];
      AT(c, 0) = x;
    }
  }
}

/* The same by sixteens: they stay in the cache while the rows pass. */
static inline __attribute__((always_inline)) void update_all(double* C, const double* L, const double* U,
                                                             size_t ld, int rows, int columns, int w) {
  for (int many; columns > 0; columns -= many, C += (size_t)many * ld, U += 8 * many) {
    many = columns < 16 ? columns : 16;
    update(C, L, U, ld, rows, many, w);
  }
}

/* ---- panels in groups ----

   What up to four panels do to the columns behind them is done for sixteen columns at a time: these stay in the cache
   meanwhile, and a crew shares them out once a group. Every entry has the same operations in the same order as panel by panel. */

enum { GROUP = 4, SHARE = 1 << 14 }; /* SHARE: entries times panels from which on a crew pays: some 20 us */

typedef struct panel {
  double *A, *U; /* its first pivot; U behind its own w columns */
  int w, rows, columns;
  double T[64];
} panel;

typedef struct group {
  panel panel[GROUP];
  int panels, rest; /* columns behind them all */
  size_t ld;
} group;

static inline __attribute__((always_inline)) bool begin(panel* p, double* U, size_t ld, int w) {
  if (!factor_block(U, p->T, p->A, ld, w)) return false;
  lower_panel(p->A + w, ld, p->rows, U, w);
  return true;
}

/* One body per width: everything in registers. */
static bool begin_panel(panel* p, double* U, size_t ld) {
  switch (p->w) {
  case 1: return begin(p, U, ld, 1);
  case 2: return begin(p, U, ld, 2);
  case 3: return begin(p, U, ld, 3);
  case 4: return begin(p, U, ld, 4);
  case 5: return begin(p, U, ld, 5);
  case 6: return begin(p, U, ld, 6);
  case 7: return begin(p, U, ld, 7);
  default: return begin(p, U, ld, 8);
  }
}

static inline __attribute__((always_inline)) void apply(const panel* p, size_t ld, int first, int count,
                                                        int w) {
  double *b = p->A + (size_t)(w + first) * ld, *U = p->U + 8 * (size_t)first;
  upper_panel(U, p->T, b, ld, count, w);
  update_all(b + w, p->A + w, U, ld, p->rows, count, w);
}

/* Columns first … first + count - 1 behind the panel's own. */
static void apply_panel(const panel* p, size_t ld, int first, int count) {
  switch (p->w) {
  case 1: apply(p, ld, first, count, 1); break;
  case 2: apply(p, ld, first, count, 2); break;
  case 3: apply(p, ld, first, count, 3); break;
  case 4: apply(p, ld, first, count, 4); break;
  case 5: apply(p, ld, first, count, 5); break;
  case 6: apply(p, ld, first, count, 6); break;
  case 7: apply(p, ld, first, count, 7); break;
  default: apply(p, ld, first, count, 8); break;
  }
}

static void apply_some(int worker, int first, int last, void* context) {
  const group* g = context;
  (void)worker;
  for (int from = 16 * first, many; from < 16 * last && from < g->rest; from += many) {
    many = g->rest - from < 16 ? g->rest - from : 16;
    for (const panel* p = g->panel; p < g->panel + g->panels; p++)
      apply_panel(p, g->ld, p->columns - g->rest + from, many);
  }
}

/* The first panel takes what is over eight: the rows below every panel are aligned. */
static inline int first_panel(int pivots) { return ((pivots - 1) & 7) + 1; }

/* All pivots of F; false: singular. U takes 8 (w + columns) numbers of every panel, the right-hand side among the columns. */
static bool eliminate_front(double* F, const shape* h, double* U, kn_crew* crew) {
  double* A = F + h->lead;
  int columns = h->pivots + h->border + 1, rows = (int)h->ld - h->lead, left = h->pivots;
  group g; /* two kilobytes, which small fronts should not clear */
  g.ld = h->ld;
  while (left > 0) {
    for (g.panels = 0; g.panels < GROUP && left > 0;) {
      panel* p = &g.panel[g.panels++];
      int w = first_panel(left);
      columns -= w, rows -= w, left -= w;
      p->A = A, p->U = U + 8 * w, p->w = w, p->rows = rows, p->columns = columns;
      if (!begin_panel(p, U, g.ld)) return false;
      int own = 8 * (GROUP - g.panels); /* columns of the group that are still to come */
      if (own > 0 && left > 0) apply_panel(p, g.ld, 0, own < left ? own : left);
      U += 8 * (size_t)(w + columns);
      A += (size_t)w * g.ld + (size_t)w;
    }
    g.rest = columns;
    int pieces = (columns + 15) / 16;
    if (crew && (size_t)rows * (size_t)columns * (size_t)g.panels >= SHARE)
      kn_crew_run(crew, pieces, 1, apply_some, &g);
    else
      apply_some(0, 0, pieces, &g);
  }
  return true;
}

/* Update matrix and right-hand side, columns of padded(border). */
static void keep_update(double* to, const double* F, const shape* h) {
  size_t n = (size_t)padded(h->border);
  const double* from = F + (size_t)h->pivots * h->ld + (h->ld - n);
  for (int j = 0; j <= h->border; j++, to += n, from += h->ld) memmove(to, from, n * sizeof *to);
}

static size_t update_size(int border) { return (size_t)padded(border) * (size_t)(border + 1); }

/* Update matrices that wait for their parents, the last one on top. */
static void wait_for_parent(kn_sparse_hand* w, int t, int border, double* update) {
  w->open[w->depth] = t, w->sizes[w->depth] = border, w->update[w->depth++] = update;
}

/* One front: its matrix, its children's updates, its pivots; what is left goes where it waits. */
static bool eliminate_one(const system* n, kn_sparse_hand* w, int t, kn_crew* crew) {
  const kn_cone_sparse* s = n->c->sparse;
  const kn_front* f = &s->plan.front[t];
  shape h = place(w->offset, s, f);
  double *F = w->top, *first = F + h.lead;
  memset(F, 0, h.ld * (size_t)(h.pivots + h.border + 1) * sizeof *F);
  front_matrix(first, &h, n, w->offset, t);
  for (int k = 0; k < f->children; k++) {
    double* update = w->update[--w->depth];
    extend_add(first, &h, s, w, &s->plan.front[w->open[w->depth]], update, w->sizes[w->depth]);
    if (update >= w->stack && update < w->top) w->top = update;
  }
  const kn_front_place* at = &s->plan.place[t];
  if (!eliminate_front(F, &h, s->U + at->U_at, crew)) return false;
  if (f->borders == 0) return true;
  double* to = n->shared && at->role == KN_FRONT_LAST ? s->stack + at->update_at : w->top;
  keep_update(to, F, &h);
  if (to == w->top) w->top += update_size(h.border);
  wait_for_parent(w, t, h.border, to);
  return true;
}

static void eliminate_some(int worker, int first, int last, void* context) {
  system* n = context;
  const kn_cone_sparse_plan* plan = &n->c->sparse->plan;
  kn_sparse_hand* w = &n->c->sparse->hand[worker];
  for (int i = first; i < last; i++) {
    w->depth = 0, w->top = w->stack;
    for (int t = plan->task[i]; t < plan->task[i + 1] && plan->place[t].role != KN_FRONT_TOP; t++)
      if (atomic_load_explicit(&n->singular, memory_order_relaxed) || !eliminate_one(n, w, t, NULL)) {
        atomic_store_explicit(&n->singular, 1, memory_order_relaxed);
        return;
      }
  }
}

/* Border unknowns of a front. */
static int border_of(const kn_cone_sparse* s, const kn_front* f) {
  int n = 0;
  for (int k = 0; k < f->borders; k++) n += s->many[s->plan.list[f->border_at + k]];
  return n;
}

/* Children before parents: subtrees by the crew, each by one worker, then the fronts above them one after
   the other; or all of them so. Every front has the same operations either way. */
static bool eliminate_fronts(system* n) {
  kn_cone_sparse* s = n->c->sparse;
  const kn_cone_sparse_plan* plan = &s->plan;
  kn_sparse_hand* w = &s->hand[0];
  n->shared = kn_sparse_lay_out(s);
  if (n->shared) kn_crew_run(s->crew, plan->tasks, 1, eliminate_some, n);
  if (atomic_load_explicit(&n->singular, memory_order_relaxed)) return false;
  w->depth = 0, w->top = w->stack;
  for (int t = 0; t < plan->fronts; t++) {
    const kn_front* f = &plan->front[t];
    const kn_front_place* at = &plan->place[t];
    if (!n->shared || at->role == KN_FRONT_TOP) {
      if (!eliminate_one(n, w, t, s->crew)) return false;
    } else if (at->role == KN_FRONT_LAST && f->borders) {
      wait_for_parent(w, t, border_of(s, f), s->stack + at->update_at);
    }
  }
  return true;
}

/* y[0 … w-1] of a panel from y[w … m-1]; U as eliminate_front leaves it. */
static inline void solve_panel(double* y, const double* U, int m, int w) {
  kn_vec8 a = CEIGHT(U + 8 * m), b = {0}, d = {0}, e = {0};
  int j = w;
  for (; j + 4 <= m; j += 4) {
    a -= CEIGHT(U + 8 * j) * y[j], b -= CEIGHT(U + 8 * (j + 1)) * y[j + 1];
    d -= CEIGHT(U + 8 * (j + 2)) * y[j + 2], e -= CEIGHT(U + 8 * (j + 3)) * y[j + 3];
  }
  for (; j < m; j++) a -= CEIGHT(U + 8 * j) * y[j];
  double x[8];
  EIGHT(x) = (a + b) + (d + e);
  for (int k = w - 1; k >= 0; k--) {
    y[k] = x[k] * U[9 * k];
    for (int i = 0; i < k; i++) x[i] -= U[8 * k + i] * y[k];
  }
}

/* Unknowns of one front's pivots, those of its border being known. */
static void substitute_one(const kn_cone* c, double* y, int t) {
  const kn_cone_sparse* s = c->sparse;
  const kn_front* f = &s->plan.front[t];
  const int *pivot = s->plan.list + f->pivot_at, *border = s->plan.list + f->border_at;
  int pivots = 0, m;
  for (int k = 0; k < f->pivots; k++) pivots += s->many[pivot[k]];
  m = pivots;
  for (int k = 0; k < f->borders; k++) {
    const double* x = s->x + c->mode[border[k]].at;
    for (int i = 0; i < s->many[border[k]]; i++) y[m++] = x[i];
  }
  const double* U = s->U + s->plan.place[t].U_at;
  for (int end = pivots, w; end > 0; end -= w) w = end > 8 ? 8 : end, U += 8 * (size_t)(m - (end - w) + 1);
  for (int end = pivots, w; end > 0; end -= w) {
    w = end > 8 ? 8 : end;
    U -= 8 * (size_t)(m - (end - w) + 1);
    solve_panel(y + (end - w), U, m - (end - w), w);
  }
  memcpy(s->x + c->mode[pivot[0]].at, y, (size_t)pivots * sizeof(double));
}

static void substitute_some(int worker, int first, int last, void* context) {
  const kn_cone* c = ((const system*)context)->c;
  const kn_cone_sparse_plan* plan = &c->sparse->plan;
  for (int i = first; i < last; i++) {
    int end = plan->task[i];
    while (end < plan->task[i + 1] && plan->place[end].role != KN_FRONT_TOP) end++;
    for (int t = end - 1; t >= plan->task[i]; t--) substitute_one(c, c->sparse->hand[worker].y, t);
  }
}

/* Parents before children. */
static void back_substitute(system* n) {
  const kn_cone_sparse* s = n->c->sparse;
  for (int t = s->plan.fronts - 1; t >= 0; t--)
    if (!n->shared || s->plan.place[t].role == KN_FRONT_TOP) substitute_one(n->c, s->hand[0].y, t);
  if (n->shared) kn_crew_run(s->crew, s->plan.tasks, 1, substitute_some, n);
}

/* Unknowns of each block; fronts for them when one got its first, or when too many have lost their last. */
static bool plan_unknowns(kn_cone* c) {
  kn_cone_sparse* s = c->sparse;
  bool fits = s->plan.planned;
  int idle = 0;
  for (int b = 0; b < c->blocks; b++) {
    s->many[b] = (unsigned char)unknowns(&c->block[b], &c->mode[b]);
    fits = fits && (s->many[b] == 0 || s->plan.front_of[b] >= 0);
    idle += s->many[b] == 0 && s->plan.front_of[b] >= 0;
  }
  if (!fits || !kn_sparse_fits(s, idle)) kn_sparse_plan(s);
  if (!s->plan.factorable) return false;
  int at = 0;
  for (int t = 0; t < s->plan.fronts; t++)
    for (int k = 0; k < s->plan.front[t].pivots; k++) {
      int b = s->plan.list[s->plan.front[t].pivot_at + k];
      c->mode[b].at = at;
      at += s->many[b];
    }
  return true;
}

/* Unknowns of the present modes with `right` over the scaled rows; the answer goes to s->x. */
static bool sparse_factor_solve(kn_cone* c, const double* right, double eps, double rho) {
  if (!plan_unknowns(c)) return false;
  system n = {.c = c, .right = right, .eps = eps, .rho = rho};
  if (!eliminate_fronts(&n)) return false;
  back_substitute(&n);
  return true;
}

/* try_r = full Newton step. */
static bool sparse_newton_solve(kn_cone* c, double eps, double rho) {
  sparse_right_side(c->column, c, eps);
  if (!sparse_factor_solve(c, c->column, eps, rho)) return false;
  expand(c->try_r, c, c->sparse->x);
  return true;
}
