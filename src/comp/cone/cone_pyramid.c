/* Fallback by pivoting: friction cones replaced by pyramids give an LCP that Lemke's method always solves;
   its answer has the right contacts open, sticking and slipping often enough to start Newton on the true
   cones.

   Per contact r_T = sum_k b_k e_k with facet directions e_k, b_k >= 0 (Stewart, Trinkle 1996):
     0 <= r_N ⊥ u_N >= 0,   0 <= b_k ⊥ e_k.u_T + l >= 0,   0 <= l ⊥ mu r_N - sum_k b_k >= 0.
   When Newton fails, the first facet of each contact is turned onto its slip direction and the LCP solved
   again. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "comp/cone/driver.h"

typedef struct facet {
  double x, y;
} facet;

/* The same on every machine, so no libm: multiples of 45 degrees. */
static const facet eight[8] = {
    {1, 0},  {0.7071067811865476, 0.7071067811865476},   {0, 1},  {-0.7071067811865476, 0.7071067811865476},
    {-1, 0}, {-0.7071067811865476, -0.7071067811865476}, {0, -1}, {0.7071067811865476, -0.7071067811865476}};

static facet direction(const double* axis, int k, int facets) {
  facet e = eight[k * 8 / facets];
  return (facet){axis[0] * e.x - axis[1] * e.y, axis[1] * e.x + axis[0] * e.y};
}

static int facets_of(const kn_cone_block* b, int facets) {
  return b->kind == KN_CONE_LINE || b->mu == 0.0 ? 0 : b->kind == KN_CONE_FLAT ? 2 : facets;
}

/* LCP variables of a block: normal, facets, slip speed. */
static int variables(const kn_cone_block* b, int facets) {
  int f = facets_of(b, facets);
  return 1 + (f ? f + 1 : 0);
}

int kn_pyramid_size(const kn_cone* c, int facets) {
  int n = 0;
  for (int b = 0; b < c->blocks; b++)
    n += variables(&c->block[b], facets) + (c->block[b].kind == KN_CONE_LINE);
  return n;
}

/* Scaled row i as a combination of LCP variables of block b: out[v] = coefficient of variable v. */
typedef struct column {
  int at, count;
  double n[10], t1[10], t2[10]; /* per variable: its part in r_N, r_T1, r_T2 */
} column;

static void describe(column* out, const kn_cone_block* b, const double* axis, int facets, int at) {
  int f = facets_of(b, facets);
  *out = (column){.at = at, .count = 1 + f, .n = {1.0}};
  for (int k = 0; k < f; k++) {
    facet e = b->kind == KN_CONE_FLAT ? (facet){k ? -1.0 : 1.0, 0.0} : direction(axis, k, f);
    out->t1[1 + k] = e.x, out->t2[1 + k] = e.y;
  }
}

/* Product of two descriptions with the block W_bc. */
static void fill_block(double* M, int ld, const kn_cone* c, const kn_cone_block* rows, const column* x,
                       const kn_cone_block* cols, const column* y) {
  for (int j = 0; j < y->count; j++) {
    double part[3] = {y->n[j], y->t1[j], y->t2[j]}, u[3] = {0.0, 0.0, 0.0};
    for (int m = 0; m < cols->rows; m++) {
      const double* w = c->W + (size_t)(cols->row + m) * (size_t)c->ld + rows->row;
      for (int i = 0; i < rows->rows && part[m] != 0.0; i++) u[i] += w[i] * part[m];
    }
    for (int i = 0; i < x->count; i++)
      M[(size_t)(x->at + i) * (size_t)ld + (size_t)(y->at + j)] =
          x->n[i] * u[0] + x->t1[i] * u[1] + x->t2[i] * u[2];
  }
}

static void friction_rows(double* M, int n, const column* x, double mu) {
  int l = x->at + x->count;
  for (int k = 1; k < x->count; k++) {
    M[(size_t)(x->at + k) * (size_t)n + (size_t)l] = 1.0;
    M[(size_t)l * (size_t)n + (size_t)(x->at + k)] = -1.0;
  }
  M[(size_t)l * (size_t)n + (size_t)x->at] = mu;
}

static int build(kn_drive* s, kn_pyramid* p, int facets) {
  const kn_cone* c = s->c;
  int n = 0, at = 0;
  for (int b = 0; b < c->blocks; b++) n += variables(&c->block[b], facets);
  memset(p->M, 0, (size_t)n * (size_t)n * sizeof *p->M);
  p->bounded = false;
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* kb = &c->block[b];
    column x;
    describe(&x, kb, p->axis + 2 * b, facets, at);
    for (int d = 0, to = 0; d < c->blocks; to += variables(&c->block[d], facets), d++) {
      column y;
      describe(&y, &c->block[d], p->axis + 2 * d, facets, to);
      fill_block(p->M, n, c, kb, &x, &c->block[d], &y);
    }
    for (int i = 0; i < x.count; i++) {
      const double* q = c->q + kb->row;
      p->q[at + i] =
          x.n[i] * q[0] + (kb->rows > 1 ? x.t1[i] * q[1] : 0.0) + (kb->rows > 2 ? x.t2[i] * q[2] : 0.0);
      p->lo[at + i] = 0.0, p->hi[at + i] = INFINITY;
    }
    if (kb->kind == KN_CONE_LINE) {
      p->lo[at] = kb->lo, p->hi[at] = kb->hi;
      p->bounded = p->bounded || kb->lo != 0.0 || kb->hi < INFINITY;
    }
    if (x.count > 1) {
      friction_rows(p->M, n, &x, kb->mu);
      p->q[at + x.count] = 0.0, p->lo[at + x.count] = 0.0, p->hi[at + x.count] = INFINITY;
    }
    at += variables(kb, facets);
  }
  return n;
}

static void extract(kn_drive* s, const kn_pyramid* p, int facets) {
  kn_cone* c = s->c;
  for (int b = 0, at = 0; b < c->blocks; at += variables(&c->block[b], facets), b++) {
    column x;
    const kn_cone_block* k = &c->block[b];
    double r[3] = {0.0, 0.0, 0.0};
    describe(&x, k, p->axis + 2 * b, facets, at);
    for (int i = 0; i < x.count; i++) {
      double z = p->z[at + i];
      r[0] += x.n[i] * z, r[1] += x.t1[i] * z, r[2] += x.t2[i] * z;
    }
    for (int i = 0; i < k->rows; i++) c->r[k->row + i] = r[i];
  }
  s->ops->velocity(c);
}

/* Facets onto the present direction of friction, or of y = r_T - u_T. */
static void turn(kn_drive* s, kn_pyramid* p) {
  for (int b = 0; b < s->c->blocks; b++) {
    const kn_cone_block* k = &s->c->block[b];
    if (k->kind != KN_CONE_DISC) continue;
    const double *r = s->c->r + k->row, *u = s->c->u + k->row;
    double y1 = r[1] - u[1], y2 = r[2] - u[2], l = sqrt(y1 * y1 + y2 * y2);
    if (!(l > 0.0)) continue;
    p->axis[2 * b] = y1 / l, p->axis[2 * b + 1] = y2 / l;
  }
}

static double balance(const kn_cone* c) {
  double r = 0.0, u = 0.0;
  for (int i = 0; i < c->n; i++) r = fmax(r, fabs(c->r[i])), u = fmax(u, fabs(c->u[i]));
  return r > 0.0 && u > 0.0 ? fmin(fmax(r / u, 1e-3), 1e3) : 1.0;
}

/* Ways to start Newton: sweeps before, rho (0: |r|/|u|), damping, halvings. They fail on different problems.
 */
typedef struct way {
  int sweeps;
  double rho, eps_rate;
  int halvings;
} way;

static const way ways[] = {{0, 1.0, 0.0, 0},  {1, 1.0, 0.0, 0}, {5, 1.0, 0.0, 0},  {0, 0.0, 0.0, 0},
                           {1, 0.0, 0.0, 0},  {1, 1.0, 0.1, 0}, {5, 1.0, 0.01, 6}, {1, 0.1, 0.1, 0},
                           {1, 10.0, 0.1, 0}, {20, 1.0, 0.1, 6}};
enum { FEW_WAYS = 5, ALL_WAYS = sizeof ways / sizeof *ways };

/* Newton from the pyramid's answer, which stays in c->r when it fails. */
static bool from_pyramid(kn_drive* s, kn_pyramid* p, int count, const char* stage) {
  kn_cone* c = s->c;
  memcpy(p->start, c->r, (size_t)c->ld * sizeof *c->r);
  double rho = balance(c);
  for (int k = 0; k < count && !kn_drive_spent(s); k++) {
    if (k) {
      memcpy(c->r, p->start, (size_t)c->ld * sizeof *c->r);
      s->ops->velocity(c);
    }
    for (int i = 0; i < ways[k].sweeps; i++) s->ops->sweep(c);
    kn_newton_settings t = kn_newton_default(s);
    t.rho = ways[k].rho > 0.0 ? ways[k].rho : rho;
    t.halvings = ways[k].halvings;
    t.eps_rate = ways[k].eps_rate;
    if (t.eps_rate == 0.0) t.eps = 1e-8; /* the start is close */
    if (kn_drive_newton(s, &t, stage)) return true;
  }
  memcpy(c->r, p->start, (size_t)c->ld * sizeof *c->r);
  s->ops->velocity(c);
  return false;
}

static void solve_pyramid(kn_drive* s, kn_pyramid* p, int facets) {
  kn_lcp_settings settings = kn_lcp_settings_default();
  settings.tol = 1e-7; /* a start for Newton, no more */
  int n = build(s, p, facets);
  kn_lcp lcp = {n, p->M, p->q, p->bounded ? p->lo : NULL, p->bounded ? p->hi : NULL};
  kn_solve_info info;
  kn_lcp_solver_find("lemke")->solve(p->z, &info, &lcp, &settings, p->work);
  kn_drive_count(s, 0, info.iterations);
  extract(s, p, facets);
}

static bool has_room(const kn_drive* s, int facets) {
  const kn_pyramid* p = &s->w->pyramid;
  return p->work && !s->c->sparse && kn_pyramid_size(s->c, facets) <= p->most;
}

bool kn_drive_pyramid(kn_drive* s, int facets, int rounds) {
  kn_pyramid* p = &s->w->pyramid;
  if (!has_room(s, facets)) return false;
  for (int b = 0; b < s->c->blocks; b++) p->axis[2 * b] = 1.0, p->axis[2 * b + 1] = 0.0;
  for (int k = 0; k < rounds && !kn_drive_spent(s); k++) {
    solve_pyramid(s, p, facets);
    if (from_pyramid(s, p, FEW_WAYS, "pyramid")) return true;
    turn(s, p);
  }
  return false;
}

bool kn_drive_scatter(kn_drive* s, int rounds) {
  kn_pyramid* p = &s->w->pyramid;
  kn_rng rng = kn_rng_seed(1);
  for (int k = 0; k < rounds && !kn_drive_spent(s); k++) {
    int facets = k % 3 == 2 ? 8 : 4;
    if (!has_room(s, facets)) return false;
    for (int b = 0; b < s->c->blocks; b++) {
      double t = kn_rng_range(&rng, -1.0, 1.0),
             l = 1.0 + t * t; /* a point on the circle without sine and cosine */
      p->axis[2 * b] = (1.0 - t * t) / l, p->axis[2 * b + 1] = 2.0 * t / l;
    }
    for (int turns = 0; turns < 3; turns++) {
      solve_pyramid(s, p, facets);
      if (from_pyramid(s, p, ALL_WAYS, "scatter")) return true;
      turn(s, p);
    }
  }
  return false;
}
