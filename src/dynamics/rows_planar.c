/* Rows of mechanisms in a plane (planar_kernel.h). A row is a force (n; f) in the plane of its tree; at every
   dof on the way to the root

     y = n,   n <- n + t·f - g_n y,   f <- f - g_f y,

   and Λ = Σ y yᵀ / D. Rows of a block go two and two, side by side in one vector: Y of such a pair is kept
   dof by dof, without the root of D. Rows that push out of the plane are zero and in no pair. Of one pair
   alone M⁻¹Jᵀ is made at once, so that impulses become motions by a product. One code for all instruction
   sets: there is nothing to gain from wide vectors. */
#include <string.h>

#include "dynamics/kernel.h"

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

enum { SHORT = 8 }; /* links: on more of them a column costs as much as the sweeps that it saves */

typedef struct force { /* on its way up, of two rows at a time */
  pair n, x, y;
  int link;
} force;

typedef struct side { /* of a block: where its forces act on a link, in the plane */
  int link;
  const double *e1, *e2, *s;
  double x, y; /* arm */
} side;

static inline double dot3(const double* a, const double* b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline side side_of(const kn_data* d, const kn_row_block* b, int link) {
  side a = {.link = link};
  if (link < 0) return a;
  const double *e = (const double*)d->layout->link[d->planar[link].root].R0,
               *o = (const double*)&d->kin.link[link].o;
  const double arm[3] = {b->point[0] - o[0], b->point[1] - o[1], b->point[2] - o[2]};
  a.e1 = e, a.e2 = e + 4, a.s = e + 8;
  a.x = dot3(arm, a.e1), a.y = dot3(arm, a.e2);
  return a;
}

typedef struct push { /* of one row on one side */
  double n, x, y;
} push;

/* Unit force along dir, times sign. */
static inline push unit_push(const side* a, const double* dir, bool angular, double sign) {
  if (a->link < 0) return (push){0.0, 0.0, 0.0};
  if (angular) return (push){sign * dot3(dir, a->s), 0.0, 0.0};
  double x = sign * dot3(dir, a->e1), y = sign * dot3(dir, a->e2);
  return (push){a->x * y - a->y * x, x, y};
}

static inline bool is_zero(push f) { return f.n == 0.0 && f.x == 0.0 && f.y == 0.0; }

static inline force both(int link, push f, push g) {
  return (force){{f.n, g.n}, {f.x, g.x}, {f.y, g.y}, link};
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

/* The rows of a block that can move anything, two and two. */
static void put_block(kn_rows* rows, kn_data* d, int row, const kn_row_block* b) {
  if (b->link_a == b->link_b) return;
  side a = side_of(d, b, b->link_a), c = side_of(d, b, b->link_b);
  int most = a.link > c.link ? a.link : c.link, active[3], count = 0;
  push f[3], g[3];
  for (int t = 0; t < b->rows; t++) {
    f[t] = unit_push(&a, b->dir[t], b->angular, 1.0), g[t] = unit_push(&c, b->dir[t], b->angular, -1.0);
    if (!is_zero(f[t]) || !is_zero(g[t])) active[count++] = t;
  }
  for (int k = 0; k < count; k += 2) {
    int t = active[k], u = active[k + 1 < count ? k + 1 : k];
    pair* Y = new_pair(rows, d, row + t, row + u, most);
    if (c.link < 0)
      climb_one(both(a.link, f[t], f[u]), Y, d);
    else
      climb_both(both(a.link, f[t], f[u]), both(c.link, g[t], g[u]), Y, d);
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
      put_block(rows, d, row, b);
    row += b->ndof > 0 ? 1 : b->rows;
  }
  ix->solved = ix->pairs == 1 && d->model->nlink <= SHORT;
  if (ix->solved) kn_dyn_kernels()->planar_columns(ix->X, rows->Y, d, ix->pair[0].top);
  return true;
}

/* The 2 x 2 block of Λ of two pairs. */
static inline void put_lambda(double* Lambda, int n, kn_row_pair p, const pair* P, kn_row_pair q,
                              const pair* Q, const double* dinv) {
  int top = p.top < q.top ? p.top : q.top;
  pair first = {0.0, 0.0}, second = {0.0, 0.0};
  for (int i = 0; i <= top; i++) {
    pair y = P[i] * dinv[i];
    first += y * Q[i][0], second += y * Q[i][1];
  }
  Lambda[p.a * n + q.a] = Lambda[q.a * n + p.a] = first[0];
  if (p.b != p.a) Lambda[p.b * n + q.a] = Lambda[q.a * n + p.b] = first[1];
  if (q.b == q.a) return;
  if (P != Q) Lambda[p.a * n + q.b] = Lambda[q.b * n + p.a] = second[0];
  if (p.b != p.a) Lambda[p.b * n + q.b] = Lambda[q.b * n + p.b] = second[1];
}

void kn_rows_planar_lambda(double* Lambda, const kn_rows* rows, const kn_data* d) {
  kn_rows_index* ix = rows->index;
  int n = rows->rows;
  memset(Lambda, 0, (size_t)n * (size_t)n * sizeof *Lambda);
  for (int k = 0; k < ix->pairs; k++)
    for (int j = k; j < ix->pairs; j++)
      put_lambda(Lambda, n, ix->pair[k], pair_of(rows, k, d), ix->pair[j], pair_of(rows, j, d),
                 d->planar_dinv);
}

static inline pair impulses(kn_row_pair p, const double* lambda) {
  return (pair){lambda[p.a], p.b != p.a ? lambda[p.b] : 0.0};
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
  double* z = ix->scale;
  memset(z, 0, (size_t)nv * sizeof *z);
  for (int k = 0; k < ix->pairs; k++) {
    const pair *Y = pair_of(rows, k, d), l = impulses(ix->pair[k], lambda);
    for (int i = 0; i <= ix->pair[k].top; i++) {
      pair y = Y[i] * l;
      z[i] += y[0] + y[1];
    }
  }
  for (int i = 0; i < nv; i++) d->planar[i].z = z[i] * d->planar_dinv[i];
  kn_dyn_kernels()->planar_half(dv, d);
}

/* A force on a link at its point, in the plane; taken off by the inverse dynamics. */
static void load_link(kn_data* d, const kn_row_block* b, int link, const double pull[3], double sign) {
  if (link < 0) return;
  side a = side_of(d, b, link);
  double* on = d->planar[link].on;
  if (b->angular) {
    on[0] += sign * dot3(pull, a.s);
    return;
  }
  double x = sign * dot3(pull, a.e1), y = sign * dot3(pull, a.e2);
  on[0] += a.x * y - a.y * x, on[1] += x, on[2] += y;
}

/* Forces of the rows on the links, for the inverse dynamics. False: the general way. */
bool kn_rows_planar_loads(kn_data* d, const kn_row_block* block, int blocks, const double* lambda,
                          double scale) {
  if (!d->planar_kin || d->planar_kin != d->kin.link) return false;
  for (const kn_row_block* b = block; b < block + blocks; b++) {
    double pull[3] = {0.0, 0.0, 0.0};
    for (int t = 0; t < b->rows && b->ndof == 0; t++)
      for (int k = 0; k < 3; k++) pull[k] += lambda[t] * b->dir[t][k];
    lambda += b->ndof > 0 ? 1 : b->rows;
    if (b->ndof > 0 || b->link_a == b->link_b) continue;
    load_link(d, b, b->link_a, pull, scale);
    load_link(d, b, b->link_b, pull, -scale);
  }
  return true;
}

/* ---- velocities of rows, of two motions at a time ---- */

static inline void add_side(double* Jv, double* Jw, const kn_data* d, const kn_row_block* b, int link,
                            double sign) {
  if (link < 0) return;
  side a = side_of(d, b, link);
  const double* u = d->planar[link].u;
  pair al = *(const pair*)u, x = *(const pair*)(u + 2) - al * a.y, y = *(const pair*)(u + 4) + al * a.x;
  for (int t = 0; t < b->rows; t++) {
    pair row = b->angular ? dot3(b->dir[t], a.s) * al : dot3(b->dir[t], a.e1) * x + dot3(b->dir[t], a.e2) * y;
    Jv[t] += sign * row[0], Jw[t] += sign * row[1];
  }
}

bool kn_rows_planar_velocities(double* Jv, double* Jw, kn_data* d, const kn_row_block* block, int blocks,
                               const double* v, const double* w) {
  if (!d->planar_kin || d->planar_kin != d->kin.link) return false;
  int last = -1;
  for (const kn_row_block* b = block; b < block + blocks; b++) {
    last = b->link_a > last ? b->link_a : last;
    last = b->link_b > last ? b->link_b : last;
  }
  kn_dyn_kernels()->planar_motions(d, v, w, last);
  for (const kn_row_block* b = block; b < block + blocks; b++) {
    int rows = b->ndof > 0 ? 1 : b->rows;
    for (int t = 0; t < rows; t++) Jv[t] = Jw[t] = 0.0;
    for (int t = 0; t < b->ndof; t++) Jv[0] += b->coef[t] * v[b->dof[t]], Jw[0] += b->coef[t] * w[b->dof[t]];
    if (b->ndof == 0 && b->link_a != b->link_b) {
      add_side(Jv, Jw, d, b, b->link_a, 1.0);
      add_side(Jv, Jw, d, b, b->link_b, -1.0);
    }
    Jv += rows, Jw += rows;
  }
  return true;
}
