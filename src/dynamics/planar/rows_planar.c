/* Rows of mechanisms in a plane (planar_kernel.h). A row is a force (n; f) in the plane of its tree; at every
   dof on the way to the root

     y = n,   n <- n + t·f - g_n y,   f <- f - g_f y,

   and Λ = Σ y yᵀ / D. Rows of a block go two and two, side by side in one vector: Y of such a pair is kept
   dof by dof, without the root of D. Rows that push out of the plane are zero and in no pair. Of one pair
   alone M⁻¹Jᵀ is made at once, so that impulses become motions by a product. One code for all instruction
   sets: there is nothing to gain from wide vectors. */
#include <math.h>
#include <string.h>

#include "base/fours.h"
#include "dynamics/tree/kernel.h"

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

typedef struct force { /* on its way up, of two rows at a time */
  pair n, x, y;
  int link;
} force;

static inline double dot3(const double* a, const double* b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Unit forces of a block's rows on a link, times sign: forces in the plane and moments about its origin. */
static inline void pushes(pair f[3], double n[3], const kn_data* d, const kn_row_block* b, int link,
                          double sign) {
  const double *e1 = (const double*)d->layout->link[d->planar[link].root].R0, *e2 = e1 + 4;
  if (__builtin_expect(b->angular, 0)) {
    for (int t = 0; t < b->rows; t++) f[t] = (pair){0.0, 0.0}, n[t] = sign * dot3(b->dir[t], e2 + 4);
    return;
  }
  pair x = {e1[0], e2[0]}, y = {e1[1], e2[1]}, z = {e1[2], e2[2]};
  int stride = kn_plane_stride(d->model->nlink);
  const double* o = d->kin.plane + KN_PLANE_X * stride + link;
  pair arm = (x * b->point[0] + y * b->point[1] + z * b->point[2]) - (pair){o[0], o[stride]};
  for (int t = 0; t < 3; t++) { /* of fewer rows the rest is not used */
    f[t] = sign * (x * b->dir[t][0] + y * b->dir[t][1] + z * b->dir[t][2]);
    n[t] = arm[0] * f[t][1] - arm[1] * f[t][0];
  }
}

/* One dof up. */
static inline void climb(force* f, pair* Y, const kn_data* d) {
  const kn_planar_link* p = &d->planar[f->link];
  pair y = f->n;
  Y[f->link] = y;
  f->n = (f->n - (f->x * p->ry - f->y * p->rx)) - p->gn * y;
  f->x -= p->gfx * y, f->y -= p->gfy * y;
  f->link = d->layout->link[f->link].parent;
}

static inline void zeros_between(pair* Y, int from, int to) {
  for (int k = from; k < to; k++) Y[k] = (pair){0.0, 0.0};
}

static inline void climb_one(force f, pair* Y, kn_data* d) {
  kn_dyn_kernels()->planar_climb((double*)Y, d, f.link, (const double*)&f.n);
}

/* Both sides on a chain: the farther one climbs until they meet. */
static void climb_chain(force a, force b, pair* Y, kn_data* d) {
  force far = a.link > b.link ? a : b, near = a.link > b.link ? b : a;
  const kn_planar_link* p = &d->planar[far.link];
  pair n = far.n, x = far.x, y = far.y;
  for (int i = far.link; i > near.link; i--, p--) {
    pair m = n;
    Y[i] = m;
    n = (m - (x * p->ry - y * p->rx)) - p->gn * m;
    x -= p->gfx * m, y -= p->gfy * m;
  }
  climb_one((force){n + near.n, x + near.x, y + near.y, near.link}, Y, d);
}

/* Both sides; they meet at the first common link. */
static void climb_both(force a, force b, pair* Y, kn_data* d) {
  while (a.link >= 0 && b.link >= 0 && a.link != b.link) {
    int at = a.link > b.link ? a.link : b.link;
    climb(a.link > b.link ? &a : &b, Y, d);
    zeros_between(Y, (a.link > b.link ? a.link : b.link) + 1, at);
  }
  if (a.link == b.link)
    a.n += b.n, a.x += b.x, a.y += b.y;
  else if (a.link < 0)
    a = b;
  climb_one(a, Y, d);
}

static bool all_in_room(const kn_rows* rows, const kn_data* d, const kn_row_block* block, int blocks,
                        int count) {
  const kn_rows_index* ix = rows->index;
  if (!d->planar_kin || d->planar_kin != d->kin.link || count > KN_PLANAR_ROWS || !ix->X) return false;
  if (2 * (size_t)count * (size_t)d->model->nv > ix->y_cap) return false;
  for (int i = 0; i < blocks; i++)
    if (block[i].ndof > 1) return false;
  return true;
}

static inline pair* pair_of(const kn_rows* rows, int k, const kn_data* d) {
  return (pair*)rows->Y + (size_t)k * (size_t)d->model->nv;
}

/* A new pair of rows; b = a: of one row alone. Returns its Y. */
static pair* new_pair(kn_rows* rows, const kn_data* d, int a, int b, int top) {
  kn_rows_index* ix = rows->index;
  pair* Y = pair_of(rows, ix->pairs, d);
  ix->pair[ix->pairs++] = (kn_row_pair){.a = a, .b = b, .top = top};
  return Y;
}

/* A dof's own coordinate: y there is the coefficient, and no moment. */
static void put_dof(kn_rows* rows, kn_data* d, int row, int j, double coefficient) {
  const kn_planar_link* p = &d->planar[j];
  pair c = {coefficient, coefficient}, *Y = new_pair(rows, d, row, row, j);
  force f = {-p->gn * c, -p->gfx * c, -p->gfy * c, d->layout->link[j].parent};
  Y[j] = c;
  zeros_between(Y, f.link + 1, j);
  climb_one(f, Y, d);
}

/* ---- rows as arrows in the plane ---- */

static inline bool same_block(const kn_planar_arrow* w, const kn_row_block* b) {
  typedef int64_t bits __attribute__((vector_size(16), aligned(8), may_alias));
  typedef int64_t word __attribute__((may_alias));
  const double *x = b->point, *y = b->dir[0];
  word differ = (w->link[0] ^ b->link_a) | (w->link[1] ^ b->link_b);
  bits more = {0, 0};
  for (int i = 0; i < 3; i++) differ |= *(const word*)(w->point + i) ^ *(const word*)(x + i);
  for (int i = 0; i < 8; i += 2) more |= *(const bits*)(w->dir + i) ^ *(const bits*)(y + i);
  differ |= *(const word*)(w->dir + 8) ^ *(const word*)(y + 8);
  return (differ | more[0] | more[1]) == 0;
}

static inline void keep_block(kn_planar_arrow* w, const kn_row_block* b) {
  kn_few_copy(w->point, b->point, 3);
  kn_few_copy(w->dir, b->dir[0], 9);
}

static inline void put_force(double* to, const pair* f, const double* n, const int32_t* row) {
  pair a = f[row[0]], b = f[row[1]];
  *(pair*)to = (pair){n[row[0]], n[row[1]]};
  *(pair*)(to + 2) = (pair){a[0], b[0]}, *(pair*)(to + 4) = (pair){a[1], b[1]};
}

static inline int moves(pair f, double n) { return fabs(f[0]) + fabs(f[1]) + fabs(n) > 0.0; }

/* Pairs of rows by which of three take part. */
static const int32_t chosen[8][4] = {{0}, {0, 0}, {1, 1}, {0, 1}, {2, 2}, {0, 2}, {1, 2}, {0, 1, 2, 2}};

/* Of a side whose origin is o, times sign. */
static inline void put_side(double* to, pair x, pair y, pair point, const double* o, int stride,
                            double sign) {
  double ax = point[0] - o[0], ay = point[1] - o[stride];
  x *= sign, y *= sign;
  *(pair*)to = ax * y - ay * x, *(pair*)(to + 2) = x, *(pair*)(to + 4) = y;
}

/* A contact in space one of whose tangents is out of the plane, both sides in the same basis; false: another
   block. */
static inline bool contact_arrow(kn_planar_arrow* w, const kn_data* d, const kn_row_block* b) {
  if (!d->layout->one_plane || b->rows != 3 || b->angular) return false;
  const double *e1 = (const double*)d->layout->link[0].R0, *e2 = e1 + 4, *p = b->point, *n = b->dir[0],
               *t = b->dir[1], *u = b->dir[2];
  pair x = {e1[0], e2[0]}, y = {e1[1], e2[1]}, z = {e1[2], e2[2]};
  pair point = x * p[0] + y * p[1] + z * p[2], normal = x * n[0] + y * n[1] + z * n[2];
  pair first = x * t[0] + y * t[1] + z * t[2], second = x * u[0] + y * u[1] + z * u[2];
  bool one = fabs(first[0]) + fabs(first[1]) > 0.0, two = fabs(second[0]) + fabs(second[1]) > 0.0;
  if (one == two || !(fabs(normal[0]) + fabs(normal[1]) > 0.0)) return false;
  pair fx = {normal[0], one ? first[0] : second[0]}, fy = {normal[1], one ? first[1] : second[1]};
  int stride = kn_plane_stride(d->model->nlink);
  const double* o = d->kin.plane + KN_PLANE_X * stride;
  w->pairs = 1, w->row[0][0] = 0, w->row[0][1] = one ? 1 : 2;
  if (b->link_a >= 0) put_side(w->force[0][0], fx, fy, point, o + b->link_a, stride, 1.0);
  if (b->link_b >= 0) put_side(w->force[0][1], fx, fy, point, o + b->link_b, stride, -1.0);
  return true;
}

/* The rows of a block that can move anything, two and two. */
static void make_arrow(kn_planar_arrow* w, const kn_data* d, const kn_row_block* b) {
  pair f[2][3];
  double n[2][3];
  int a = b->link_a, c = b->link_b, active = 0;
  w->pairs = 0;
  w->link[0] = a, w->link[1] = c, w->top = a > c ? a : c;
  if (a == c || contact_arrow(w, d, b)) return;
  for (int i = 0; i < 2; i++) {
    if (w->link[i] < 0) continue;
    pushes(f[i], n[i], d, b, w->link[i], i ? -1.0 : 1.0);
    active |= moves(f[i][0], n[i][0]) | moves(f[i][1], n[i][1]) << 1 | moves(f[i][2], n[i][2]) << 2;
  }
  active &= (1 << b->rows) - 1;
  w->pairs = (active != 0) + (active == 7);
  memcpy(w->row, chosen[active], sizeof w->row);
  for (int k = 0; k < w->pairs; k++) {
    if (a >= 0) put_force(w->force[k][0], f[0], n[0], w->row[k]);
    if (c >= 0) put_force(w->force[k][1], f[1], n[1], w->row[k]);
  }
}

/* Of block i; three linear rows are kept for the next time. */
static inline const kn_planar_arrow* arrow_of(kn_data* d, const kn_row_block* b, int i) {
  bool keep = i < KN_ARROWS && b->rows == 3 && !b->angular;
  kn_planar_arrow* w = &d->arrow[keep ? i : KN_ARROWS];
  if (keep && w->stamp == d->planar_stamp && same_block(w, b)) return w;
  make_arrow(w, d, b);
  w->stamp = keep ? d->planar_stamp : 0;
  if (keep) keep_block(w, b);
  return w;
}

static inline force arrow_force(const kn_planar_arrow* w, int k, int i) {
  const double* f = w->force[k][i];
  return (force){*(const pair*)f, *(const pair*)(f + 2), *(const pair*)(f + 4), w->link[i]};
}

static void put_block(kn_rows* rows, kn_data* d, int row, const kn_row_block* b, int i) {
  const kn_planar_arrow* w = arrow_of(d, b, i);
  for (int k = 0; k < w->pairs; k++) {
    pair* Y = new_pair(rows, d, row + w->row[k][0], row + w->row[k][1], w->top);
    if (w->link[1] < 0)
      climb_one(arrow_force(w, k, 0), Y, d);
    else if (d->layout->chain && w->link[0] >= 0)
      climb_chain(arrow_force(w, k, 0), arrow_force(w, k, 1), Y, d);
    else
      climb_both(arrow_force(w, k, 0), arrow_force(w, k, 1), Y, d);
  }
}

bool kn_rows_planar_push(kn_rows* rows, kn_data* d, const kn_row_block* block, int blocks, int count) {
  kn_rows_index* ix = rows->index;
  ix->planar = all_in_room(rows, d, block, blocks, count);
  if (!ix->planar) return false;
  int row = 0;
  ix->pairs = 0;
  for (const kn_row_block* b = block; b < block + blocks; b++) {
    if (b->ndof > 0)
      put_dof(rows, d, row, b->dof[0], b->coef[0]);
    else
      put_block(rows, d, row, b, (int)(b - block));
    row += b->ndof > 0 ? 1 : b->rows;
  }
  ix->solved = ix->pairs == 1 && d->model->nlink <= KN_PLANAR_SHORT;
  if (ix->solved) kn_dyn_kernels()->planar_columns(ix->X, rows->Y, d, ix->pair[0].top);
  return true;
}

#define UNROLLED static inline __attribute__((always_inline))
enum { FEW_PAIRS = 3 };

/* Sums of two pairs: y of the first times the first and the second of the other. */
typedef struct sums {
  pair first, second;
} sums;

UNROLLED void add_products(sums* s, pair y, pair q) { s->first += y * q[0], s->second += y * q[1]; }

UNROLLED int lower(int a, int b) { return a < b ? a : b; }

/* The 2 x 2 block of Λ of two pairs. */
UNROLLED void put_sums(double* Lambda, int n, kn_row_pair p, kn_row_pair q, bool same, sums s) {
  Lambda[p.a * n + q.a] = Lambda[q.a * n + p.a] = s.first[0];
  if (p.b != p.a) Lambda[p.b * n + q.a] = Lambda[q.a * n + p.b] = s.first[1];
  if (q.b == q.a) return;
  if (!same) Lambda[p.a * n + q.b] = Lambda[q.b * n + p.a] = s.second[0];
  if (p.b != p.a) Lambda[p.b * n + q.b] = Lambda[q.b * n + p.b] = s.second[1];
}

/* Of `count` pairs from `from` on, all products at once as far down as all go; a constant number stays in
   registers. */
UNROLLED void put_lambda(double* Lambda, const kn_rows* rows, const kn_data* d, int from, const int count) {
  const kn_row_pair* p = ((const kn_rows_index*)rows->index)->pair + from;
  const pair* Y[FEW_PAIRS];
  sums s[FEW_PAIRS][FEW_PAIRS];
  int all = p[0].top;
  for (int k = 0; k < count; k++) {
    Y[k] = pair_of(rows, from + k, d);
    all = lower(all, p[k].top);
    for (int j = k; j < count; j++) s[k][j] = (sums){{0.0, 0.0}, {0.0, 0.0}};
  }
  for (int i = 0; i <= all; i++)
    for (int k = 0; k < count; k++) {
      pair y = Y[k][i] * d->planar_dinv[i];
      for (int j = k; j < count; j++) add_products(&s[k][j], y, Y[j][i]);
    }
  for (int k = 0; k < count; k++)
    for (int j = k; j < count; j++) {
      for (int i = all + 1; i <= lower(p[k].top, p[j].top); i++)
        add_products(&s[k][j], Y[k][i] * d->planar_dinv[i], Y[j][i]);
      put_sums(Lambda, rows->rows, p[k], p[j], k == j, s[k][j]);
    }
}

static void put_lambda_between(double* Lambda, const kn_rows* rows, const kn_data* d, int k, int j) {
  const kn_row_pair* p = ((const kn_rows_index*)rows->index)->pair;
  const pair *P = pair_of(rows, k, d), *Q = pair_of(rows, j, d);
  sums s = {{0.0, 0.0}, {0.0, 0.0}};
  for (int i = 0; i <= lower(p[k].top, p[j].top); i++) add_products(&s, P[i] * d->planar_dinv[i], Q[i]);
  put_sums(Lambda, rows->rows, p[k], p[j], false, s);
}

void kn_rows_planar_lambda(double* Lambda, const kn_rows* rows, const kn_data* d) {
  const kn_rows_index* ix = rows->index;
  int n = rows->rows, pairs = ix->pairs;
  memset(Lambda, 0, (size_t)n * (size_t)n * sizeof *Lambda);
  for (int k = 0; k < pairs; k += FEW_PAIRS) {
    switch (pairs - k) {
    case 1: put_lambda(Lambda, rows, d, k, 1); break;
    case 2: put_lambda(Lambda, rows, d, k, 2); break;
    default: put_lambda(Lambda, rows, d, k, 3);
    }
    for (int j = k + FEW_PAIRS; j < pairs; j++)
      for (int l = k; l < k + FEW_PAIRS; l++) put_lambda_between(Lambda, rows, d, l, j);
  }
}

static inline pair impulses(kn_row_pair p, const double* lambda) {
  return (pair){lambda[p.a], p.b != p.a ? lambda[p.b] : 0.0};
}

static void push_by_many(kn_data* d, const kn_rows* rows, const double* lambda) {
  const kn_rows_index* ix = rows->index;
  double* z = ix->scale; /* two sums per dof */
  int nv = d->model->nv;
  memset(z, 0, 2 * (size_t)nv * sizeof *z);
  for (int k = 0; k < ix->pairs; k++) {
    const pair *Y = pair_of(rows, k, d), l = impulses(ix->pair[k], lambda);
    if (l[0] == 0.0 && l[1] == 0.0) continue; /* as open contacts have them */
    const pair* end = Y + ix->pair[k].top + 1;
    for (pair* to = (pair*)z; Y < end; Y++, to++) *to += *Y * l;
  }
  for (int i = 0; i < nv; i++) d->planar[i].z = (z[2 * i] + z[2 * i + 1]) * d->planar_dinv[i];
}

void kn_rows_planar_apply(double* dv, const kn_rows* rows, kn_data* d, const double* lambda) {
  kn_rows_index* ix = rows->index;
  int nv = d->model->nv;
  if (ix->solved) {
    const pair *X = (const pair*)ix->X, l = impulses(ix->pair[0], lambda);
    for (int k = 0; k < nv; k++) {
      pair x = X[k] * l;
      dv[k] = x[0] + x[1];
    }
    return;
  }
  push_by_many(d, rows, lambda);
  kn_dyn_kernels()->planar_push(dv, d, ix->pairs);
}

/* Where the outside forces on a link are summed, moment and forces so far apart. */
static inline double* outside(kn_data* d, int link, int* apart) {
  bool rows = d->layout->chain && !d->layout->brief;
  *apart = rows ? kn_chain_stride(d->model->nlink) : 1;
  return rows ? d->chain + KN_CHAIN_ON * *apart + link : d->planar[link].on;
}

static void load_rows(kn_data* d, const kn_planar_arrow* w, const double* lambda, double scale) {
  int apart;
  d->planar_loaded = true;
  for (int k = 0; k < w->pairs; k++) {
    double p = scale * lambda[w->row[k][0]],
           q = w->row[k][1] != w->row[k][0] ? scale * lambda[w->row[k][1]] : 0.0;
    for (int i = 0; i < 2; i++) {
      if (w->link[i] < 0) continue;
      const double* f = w->force[k][i];
      double* on = outside(d, w->link[i], &apart);
      for (int j = 0; j < 3; j++) on[j * apart] += p * f[2 * j] + q * f[2 * j + 1];
    }
  }
}

/* Forces of the rows on the links, for the inverse dynamics, which takes them off. False: the general way. */
bool kn_rows_planar_loads(kn_data* d, const kn_row_block* block, int blocks, const double* lambda,
                          double scale) {
  if (!d->planar_kin || d->planar_kin != d->kin.link) return false;
  d->planar_loaded = true;
  for (const kn_row_block* b = block; b < block + blocks; b++) {
    const double* l = lambda;
    lambda += b->ndof > 0 ? 1 : b->rows;
    if (b->ndof > 0) continue;
    load_rows(d, arrow_of(d, b, (int)(b - block)), l, scale);
  }
  return true;
}

/* ---- velocities of rows, of two motions at a time ---- */

static inline void arrow_velocity(double* Jv, double* Jw, const kn_planar_arrow* w, const kn_data* d,
                                  double dt) {
  int stride = kn_plane_stride(d->model->nlink);
  for (int k = 0; k < w->pairs; k++) {
    pair x = {0.0, 0.0}, y = x;
    for (int i = 0; i < 2; i++) {
      if (w->link[i] < 0) continue;
      const kn_planar_link* p = &d->planar[w->link[i]];
      const double *f = w->force[k][i], *m = d->kin.plane + KN_PLANE_W * stride + w->link[i];
      pair n = *(const pair*)f, fx = *(const pair*)(f + 2), fy = *(const pair*)(f + 4);
      x += n * m[0] + fx * m[stride] + fy * m[2 * stride];
      y += n * p->al + fx * p->bx + fy * p->by;
    }
    int a = w->row[k][0], b = w->row[k][1];
    y = x + dt * y;
    Jv[b] = x[1], Jw[b] = y[1];
    Jv[a] = x[0], Jw[a] = y[0];
  }
}

bool kn_rows_planar_velocities(double* Jv, double* Jw, kn_data* d, const kn_row_block* block, int blocks,
                               const double* v, const double* w, double dt) {
  if (!d->planar_kin || d->planar_kin != d->kin.link) return false;
  for (const kn_row_block* b = block; b < block + blocks; b++) {
    int rows = b->ndof > 0 ? 1 : b->rows;
    Jv[0] = Jw[0] = 0.0;
    if (rows > 1) Jv[1] = Jw[1] = 0.0;
    if (rows > 2) Jv[2] = Jw[2] = 0.0;
    for (int t = 0; t < b->ndof; t++) Jv[0] += b->coef[t] * v[b->dof[t]], Jw[0] += b->coef[t] * w[b->dof[t]];
    if (b->ndof == 0) arrow_velocity(Jv, Jw, arrow_of(d, b, (int)(b - block)), d, dt);
    Jv += rows, Jw += rows;
  }
  return true;
}

/* Of one motion of a chain, link by link up to the last that is asked for. */
bool kn_rows_planar_velocity(double* Jv, kn_data* d, const kn_row_block* block, int blocks, const double* v) {
  if (!d->layout->chain || !d->planar_kin || d->planar_kin != d->kin.link) return false;
  int last = -1;
  for (const kn_row_block* b = block; b < block + blocks; b++) {
    last = b->ndof == 0 && b->link_a > last ? b->link_a : last;
    last = b->ndof == 0 && b->link_b > last ? b->link_b : last;
  }
  double w = 0.0, x = 0.0, y = 0.0;
  for (kn_planar_link *p = d->planar, *end = p + last; p <= end; p++, v++) {
    x -= w * p->ry, y += w * p->rx, w += *v;
    p->u[0] = w, p->u[1] = x, p->u[2] = y;
  }
  v -= last + 1;
  for (const kn_row_block* b = block; b < block + blocks; b++) {
    int rows = b->ndof > 0 ? 1 : b->rows;
    for (int t = 0; t < rows; t++) Jv[t] = 0.0;
    for (int t = 0; t < b->ndof; t++) Jv[0] += b->coef[t] * v[b->dof[t]];
    const kn_planar_arrow* a = b->ndof == 0 ? arrow_of(d, b, (int)(b - block)) : NULL;
    for (int k = 0; a && k < a->pairs; k++) {
      pair sum = {0.0, 0.0};
      for (int i = 0; i < 2; i++) {
        if (a->link[i] < 0) continue;
        const double *f = a->force[k][i], *u = d->planar[a->link[i]].u;
        sum += *(const pair*)f * u[0] + *(const pair*)(f + 2) * u[1] + *(const pair*)(f + 4) * u[2];
      }
      Jv[a->row[k][1]] = sum[1], Jv[a->row[k][0]] = sum[0];
    }
    Jv += rows;
  }
  return true;
}
