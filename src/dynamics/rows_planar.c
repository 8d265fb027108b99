/* Rows of mechanisms in a plane (planar_kernel.h). A row is a force (n; f) in the plane of its tree; at every
   dof on the way to the root

     y = n,   n <- n + t·f - g_n y,   f <- f - g_f y,

   and Λ = Σ y yᵀ / D. Y is kept row by row over all dofs, without the root of D: Y_rj = y. Rows that push out
   of the plane are zero. One code for all instruction sets: there is nothing to gain from wide vectors. */
#include <string.h>

#include "dynamics/kernel.h"

enum { MOST = 24 }; /* rows; more go the general way */

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

typedef struct force { /* on its way up, of two rows at a time */
  int link;
  pair n, x, y;
} force;

typedef struct side { /* of a block: where its forces act on a link, in the plane */
  int link;
  const double *e1, *e2, *s;
  double x, y; /* arm */
} side;

static inline double dot3(const double* a, const double* b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static side side_of(const kn_data* d, const kn_row_block* b, int link) {
  side a = {.link = link};
  if (link < 0) return a;
  const double *e = (const double*)d->layout->link[d->planar[link].root].R0,
               *o = (const double*)&d->kin.link[link].o;
  const double arm[3] = {b->point[0] - o[0], b->point[1] - o[1], b->point[2] - o[2]};
  a.e1 = e, a.e2 = e + 4, a.s = e + 8;
  a.x = dot3(arm, a.e1), a.y = dot3(arm, a.e2);
  return a;
}

/* Unit force along dir, times sign, in one lane of f. */
static inline void unit_force(force* f, int lane, const side* a, const double* dir, bool angular,
                              double sign) {
  if (a->link < 0) return;
  if (angular) {
    f->n[lane] = sign * dot3(dir, a->s);
    return;
  }
  double x = sign * dot3(dir, a->e1), y = sign * dot3(dir, a->e2);
  f->x[lane] = x, f->y[lane] = y, f->n[lane] = a->x * y - a->y * x;
}

/* One dof up. */
static inline void climb(force* f, double* Y[2], const kn_data* d) {
  const kn_planar_link* p = &d->planar[f->link];
  pair y = f->n;
  Y[0][f->link] = y[0], Y[1][f->link] = y[1];
  f->n = (f->n - (f->x * p->ry - f->y * p->rx)) - p->gn * y;
  f->x -= p->gfx * y, f->y -= p->gfy * y;
  f->link = d->layout->link[f->link].parent;
}

/* Both sides of a pair of rows; they meet at the first common link. */
static void climb_both(force a, force b, double* Y[2], const kn_data* d) {
  while (b.link >= 0 || a.link >= 0) {
    if (a.link == b.link) {
      a.n += b.n, a.x += b.x, a.y += b.y;
      b.link = -1;
    }
    if (a.link > b.link)
      climb(&a, Y, d);
    else
      climb(&b, Y, d);
  }
}

static bool all_in_room(const kn_rows* rows, const kn_data* d, const kn_row_block* block, int blocks,
                        int count) {
  const kn_rows_index* ix = rows->index;
  if (!d->planar_kin || d->planar_kin != d->kin.link || count > MOST) return false;
  if ((size_t)count * (size_t)d->model->nv > ix->y_cap) return false;
  for (int i = 0; i < blocks; i++)
    if (block[i].ndof > 1) return false;
  return true;
}

static bool is_zero(const force* f, int lane) {
  return f->n[lane] == 0.0 && f->x[lane] == 0.0 && f->y[lane] == 0.0;
}

/* A pair of rows of a block into Y (of one row: twice the same); top: the largest link they act on, -1 for a
   row of zeros. */
static void put_pair(double* Y[2], int32_t top[2], kn_data* d, force f, force g) {
  int most = f.link > g.link ? f.link : g.link;
  for (int k = 0; k < 2; k++) top[k] = is_zero(&f, k) && is_zero(&g, k) ? -1 : most;
  if (top[0] < 0 && top[1] < 0) return;
  for (int k = 0; k < 2; k++) memset(Y[k], 0, (size_t)(most + 1) * sizeof(double));
  climb_both(f, g, Y, d);
}

/* A dof's own coordinate: y there is the coefficient, and no moment. */
static void put_dof(double* Y, const kn_data* d, int j, double coefficient) {
  const kn_planar_link* p = &d->planar[j];
  pair c = {coefficient, coefficient};
  double* both[2] = {Y, Y};
  force none = {.link = -1}, f = {d->layout->link[j].parent, -p->gn * c, -p->gfx * c, -p->gfy * c};
  memset(Y, 0, (size_t)(j + 1) * sizeof *Y);
  Y[j] = coefficient;
  climb_both(f, none, both, d);
}

/* Forces of rows t and u on one side. */
static inline force both_rows(const side* a, const kn_row_block* b, int t, int u, double sign) {
  force f = {.link = a->link};
  unit_force(&f, 0, a, b->dir[t], b->angular, sign);
  if (u == t)
    f.n[1] = f.n[0], f.x[1] = f.x[0], f.y[1] = f.y[0];
  else
    unit_force(&f, 1, a, b->dir[u], b->angular, sign);
  return f;
}

/* The rows of a block, two and two. */
static void put_block(double* Y, int32_t* top, kn_data* d, const kn_row_block* b) {
  bool acts = b->link_a != b->link_b;
  side a = side_of(d, b, acts ? b->link_a : -1), c = side_of(d, b, acts ? b->link_b : -1);
  size_t nv = (size_t)d->model->nv;
  for (int t = 0; t < b->rows; t += 2) {
    int u = t + 1 < b->rows ? t + 1 : t;
    double* rows[2] = {Y + (size_t)t * nv, Y + (size_t)u * nv};
    int32_t tops[2];
    put_pair(rows, tops, d, both_rows(&a, b, t, u, 1.0), both_rows(&c, b, t, u, -1.0));
    top[t] = tops[0], top[u] = tops[1];
  }
}

bool kn_rows_planar_push(kn_rows* rows, kn_data* d, const kn_row_block* block, int blocks, int count) {
  kn_rows_index* ix = rows->index;
  ix->planar = all_in_room(rows, d, block, blocks, count);
  if (!ix->planar) return false;
  int row = 0;
  for (const kn_row_block* b = block; b < block + blocks; b++) {
    double* Y = rows->Y + (size_t)row * (size_t)d->model->nv;
    if (b->ndof > 0) {
      put_dof(Y, d, b->dof[0], b->coef[0]);
      ix->top[row++] = b->dof[0];
    } else {
      put_block(Y, ix->top + row, d, b);
      row += b->rows;
    }
  }
  return true;
}

static double dot(const double* x, const double* y, int n) {
  pair a = {0.0, 0.0}, b = {0.0, 0.0};
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    a += *(const pair*)(x + i) * *(const pair*)(y + i);
    b += *(const pair*)(x + i + 2) * *(const pair*)(y + i + 2);
  }
  a += b;
  double rest = 0.0;
  for (; i < n; i++) rest += x[i] * y[i];
  return (a[0] + a[1]) + rest;
}

void kn_rows_planar_lambda(double* Lambda, const kn_rows* rows, const kn_data* d) {
  kn_rows_index* ix = rows->index;
  size_t n = (size_t)rows->rows, nv = (size_t)d->model->nv;
  for (size_t r = 0; r < n; r++) {
    double* restrict scaled = ix->scale;
    const double* restrict y = rows->Y + r * nv;
    for (int k = 0; k <= ix->top[r]; k++) scaled[k] = y[k] * d->planar_dinv[k];
    for (size_t c = r; c < n; c++) {
      int top = ix->top[c] < ix->top[r] ? ix->top[c] : ix->top[r];
      Lambda[r * n + c] = Lambda[c * n + r] = top < 0 ? 0.0 : dot(scaled, rows->Y + c * nv, top + 1);
    }
  }
}

void kn_rows_planar_apply(double* dv, const kn_rows* rows, kn_data* d, const double* lambda) {
  kn_rows_index* ix = rows->index;
  size_t nv = (size_t)d->model->nv;
  double* restrict z = ix->scale;
  memset(z, 0, nv * sizeof *z);
  for (int r = 0; r < rows->rows; r++) {
    const double* restrict y = rows->Y + (size_t)r * nv, x = lambda[r];
    for (int k = 0; x != 0.0 && k <= ix->top[r]; k++) z[k] += x * y[k];
  }
  for (size_t k = 0; k < nv; k++) d->planar[k].z = z[k] * d->planar_dinv[k];
  kn_dyn_kernels()->planar_half(dv, d);
}

/* Forces of the rows on the links, for the inverse dynamics. False: the general way. */
bool kn_rows_planar_loads(kn_data* d, const kn_row_block* block, int blocks, const double* lambda,
                          double scale) {
  if (!d->planar_kin || d->planar_kin != d->kin.link) return false;
  for (const kn_row_block* b = block; b < block + blocks; b++) {
    if (b->ndof > 0) {
      lambda++;
      continue;
    }
    bool acts = b->link_a != b->link_b;
    double dir[3] = {0.0, 0.0, 0.0};
    for (int t = 0; t < b->rows; t++, lambda++)
      for (int k = 0; k < 3; k++) dir[k] += *lambda * b->dir[t][k];
    for (int k = 0; k < 2 && acts; k++) {
      side a = side_of(d, b, k ? b->link_b : b->link_a);
      if (a.link < 0) continue;
      force f = {.link = a.link};
      unit_force(&f, 0, &a, dir, b->angular, k ? -scale : scale);
      double* on = d->planar[a.link].on;
      on[0] += f.n[0], on[1] += f.x[0], on[2] += f.y[0];
    }
  }
  return true;
}
