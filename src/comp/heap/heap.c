/* Heaps of loose bodies: an interior point with predictor and corrector, in the space of the bodies.

   With P = diag(mu, 1, 1), x = P r and s = P^-1 y, y = u + mu|u_T| n, Coulomb's law says x, s ∈ K (Lorentz
   cone), x·s = 0, s - |s_T| e = G G^T x + q, e = (1, 0, 0), rows of G and q times P^-1. Newton in
   Nesterov-Todd scaling T x = T^-1 s = l (cone_interior.c), slip term included, B = I - e t^T, t = s_T/|s_T|:

     T dx + T^-1 ds = c,   B ds - G G^T dx = -R,   R = s - |s_T| e - G G^T x - q.

   y = G^T dx leads to (I + G^T E G) y = G^T (a + E R) with E = T^-2 B^-1, a = T^-1 c; then B ds = G y - R and
   dx = a - T^-2 ds. Predictor: c = -l, a = -x. Corrector (Mehrotra 1992): the products of its steps and the
   centre sigma m, sigma = (m_predicted / m)^3.

   From the answer of the step before, moved inside the cones, it takes seven to ten steps to 5e-5. Beyond
   that the path may turn back, because the slip term is not monotone; most contacts have their modes by then,
   and sweeps and proximal rounds end it. */
#include "comp/heap/heap.h"

#include <math.h>
#include <string.h>

#include "comp/cone/driver.h"

const kn_heap_ops* kn_heap_kernels(void) { return KN_BEST(&kn_heap_ops); }

void kn_heap_take(kn_heap_work* h, kn_arena* arena, int bodies, int contacts) {
  size_t n = ((size_t)contacts + 7) & ~(size_t)7;
  double** three[] = {&h->x, &h->s, &h->q,  &h->u,  &h->R, &h->w, &h->t,
                      &h->f, &h->g, &h->dx, &h->ds, &h->a, &h->d};
  double** one[] = {&h->b, &h->reach, &h->mu};
  for (size_t i = 0; i < sizeof three / sizeof *three; i++) *three[i] = KN_TAKE(arena, double, 3 * n);
  for (size_t i = 0; i < sizeof one / sizeof *one; i++) *one[i] = KN_TAKE(arena, double, n);
  h->E = KN_TAKE(arena, double, 9 * n);
  kn_pairs_take(&h->nodes, arena, bodies, contacts);
}

/* False: not a heap of contacts with friction between loose bodies. */
static bool load(kn_heap_work* h, const kn_drive* s) {
  const kn_cone* c = s->c;
  if (!s->p->pairs || !h->E || c->blocks > h->nodes.most_blocks) return false;
  int n = h->stride = (c->blocks + 7) & ~7;
  h->contacts = c->blocks;
  for (int b = 0; b < c->blocks; b++) {
    const kn_cone_block* k = &c->block[b];
    if (k->kind != KN_CONE_DISC || !(k->mu > 0.0) || k->mu > 1e3) return false;
    h->mu[b] = k->mu;
    for (int i = 0; i < 3; i++) {
      double P = i ? 1.0 : k->mu;
      h->d[i * n + b] = c->d[k->row + i] / P;
      h->q[i * n + b] = c->q[k->row + i] / P;
    }
  }
  return kn_pairs_load(&h->nodes, s->p->pairs, c->blocks, h->d, n);
}

static void from_cone(kn_heap_work* h, const kn_cone* c) {
  int n = h->stride;
  for (int b = 0; b < n; b++)
    for (int i = 0; i < 3; i++) {
      double P = i || b >= h->contacts ? 1.0 : h->mu[b];
      h->x[i * n + b] = b < h->contacts ? c->r[4 * b + i] * P : i == 0; /* those between stay at x = s = e */
      h->u[i * n + b] = b < h->contacts ? c->u[4 * b + i] / P : i == 0;
      h->s[i * n + b] = i == 0;
      h->dx[i * n + b] = h->ds[i * n + b] = h->f[i * n + b] = 0.0;
    }
}

static double largest(const kn_heap_work* h, const double* x) {
  double most = 0.0;
  for (int i = 0; i < 3; i++)
    for (int b = 0; b < h->contacts; b++) most = fmax(most, fabs(x[i * h->stride + b]));
  return most;
}

/* x_0 - |x_T| >= least */
static void push(double* x, const kn_heap_work* h, double least) {
  int n = h->stride;
  for (int b = 0; b < h->contacts; b++)
    x[b] = fmax(x[b], sqrt(x[n + b] * x[n + b] + x[2 * n + b] * x[2 * n + b]) + least);
}

/* s of u, both inside by a share of the largest impulse. */
static void start(kn_heap_work* h, double share) {
  int n = h->stride;
  double most = largest(h, h->x), least = share * (most > 0.0 ? most : largest(h, h->q));
  for (int b = 0; b < h->contacts; b++) {
    double s1 = h->u[n + b], s2 = h->u[2 * n + b];
    h->s[n + b] = s1, h->s[2 * n + b] = s2;
    h->s[b] = fmax(h->u[b], 0.0) + sqrt(s1 * s1 + s2 * s2);
  }
  push(h->x, h, least);
  push(h->s, h, least);
}

static void velocities(kn_heap_work* h, const kn_pair_ops* ops) {
  ops->gather(&h->nodes, h->x, h->stride);
  ops->scatter(h->u, h->stride, &h->nodes);
  for (int i = 0; i < 3; i++)
    for (int b = 0; b < h->contacts; b++) h->u[i * h->stride + b] += h->q[i * h->stride + b];
}

static void to_cone(kn_cone* c, const kn_heap_work* h) {
  for (int b = 0; b < h->contacts; b++)
    for (int i = 0; i < 3; i++) {
      double P = i ? 1.0 : h->mu[b];
      c->r[4 * b + i] = h->x[i * h->stride + b] / P;
      c->u[4 * b + i] = h->u[i * h->stride + b] * P;
    }
}

/* dx and ds for the present a, and how far they may go. Where E spans ten orders of magnitude y loses that
   many digits; a second solve with what is left over gives them back. */
static double solve(kn_heap_work* h, const kn_heap_ops* k, const kn_pair_ops* ops) {
  int n = 8 * h->nodes.nodes;
  double *y = h->nodes.y, *y0 = h->nodes.y0;
  k->right(h);
  ops->gather(&h->nodes, h->g, h->stride);
  ops->solve(&h->nodes);
  if (h->late) {
    memcpy(y0, y, (size_t)n * sizeof *y);
    ops->scatter(h->f, h->stride, &h->nodes);
    k->rest(h);
    ops->gather(&h->nodes, h->f, h->stride);
    for (int i = 0; i < n; i++) y[i] -= y0[i];
    ops->solve(&h->nodes);
    for (int i = 0; i < n; i++) y[i] += y0[i];
  }
  ops->scatter(h->f, h->stride, &h->nodes);
  return k->direction(h);
}

/* The slip term is not linear: s_0 follows it, as far as it stays well inside. */
static void follow_slip(kn_heap_work* h, double t) {
  int n = h->stride;
  for (int b = 0; b < h->contacts; b++) {
    double st = sqrt(h->s[n + b] * h->s[n + b] + h->s[2 * n + b] * h->s[2 * n + b]), inside = h->s[b] - st;
    h->s[b] += fmax((1.0 - t) * h->R[b] - (inside - h->u[b]), -0.5 * inside);
  }
}

static double step_of(double reach) { return fmin(1.0, 0.99 * reach); }

/* One step; returns its length, 0 when there is none. */
static double step(kn_heap_work* h, const kn_heap_ops* k, const kn_pair_ops* ops) {
  k->scale(h);
  if (!ops->factor(&h->nodes, h->E, h->stride)) return 0.0;
  double m = k->gap(h, 0.0), most = largest(h, h->x);
  h->late = m < 1e-7 * most * most;
  double ahead = k->gap(h, fmin(1.0, solve(h, k, ops))) / m;
  double sigma = fmin(1.0, fmax(1e-6, ahead > 0.0 ? ahead * ahead * ahead : 0.0));
  k->correct(h, sigma * m, 1.0);
  double length = step_of(solve(h, k, ops));
  if (length < 0.1) { /* towards the centre only */
    k->correct(h, m, 0.0);
    length = step_of(solve(h, k, ops));
  }
  if (!(length > 0.0 && length <= 1.0)) return 0.0;
  k->advance(h, length);
  velocities(h, ops);
  follow_slip(h, length);
  if (length < 0.1) {
    double least = 0.1 * sqrt(fmax(k->gap(h, 0.0), 0.0));
    push(h->x, h, least);
    push(h->s, h, least);
    velocities(h, ops);
  }
  return length;
}

/* Sweeps and a few proximal rounds from a point of the path; the path itself is kept in h. */
static bool finish(kn_drive* s) { return kn_drive_sweeps(s, 5, "heap") || kn_drive_settle(s, 1e-3, 10); }

/* From c->r along the path, with trials to finish from 5e-5 on and at every tenth of that. False where it
   turns back: no half of the gap in six steps. */
static bool follow(kn_drive* s, double share, int steps) {
  kn_heap_work* h = &s->w->heap;
  const kn_heap_ops* k = kn_heap_kernels();
  const kn_pair_ops* ops = kn_pair_kernels();
  double next = 5e-5, least = INFINITY;
  from_cone(h, s->c);
  start(h, share);
  velocities(h, ops);
  for (int i = 0, waited = 0; i < steps && waited < 6 && !kn_drive_spent(s); i++) {
    double length = step(h, k, ops), m = k->gap(h, 0.0);
    if (!(length > 0.0 && m < INFINITY)) return false;
    kn_drive_count(s, 1, 0);
    waited = m < 0.5 * least ? 0 : waited + 1;
    if (waited == 0) least = m;
    to_cone(s->c, h);
    kn_cone_residual f = s->ops->residual(s->c, 1.0);
    if (f.most <= s->tol * f.size && kn_drive_accept(s, "heap")) return true;
    if (f.most > next * f.size) continue;
    next = 0.1 * f.most / f.size;
    if (finish(s)) return true;
  }
  return false;
}

/* As far inside the cones as the answer is off; where that path turns back, ten and a hundred times as far.
   With many contacts proximal rounds cost less than another path. */
bool kn_drive_heap(kn_drive* s, int steps) {
  kn_heap_work* h = &s->w->heap;
  if (!load(h, s)) return false;
  size_t bytes = (size_t)s->c->ld * sizeof(double);
  double* first = s->w->start;
  memcpy(first, s->c->r, bytes);
  kn_cone_residual f = s->ops->residual(s->c, 1.0);
  double share = fmax(1e-4, 3.0 * f.most / f.size);
  int starts = s->c->blocks <= KN_HEAP_PATH_MOST ? 3 : 1;
  for (int k = 0; k < starts; k++, share *= 10.0) {
    if (follow(s, share, steps)) return true;
    memcpy(s->c->r, first, bytes);
    s->ops->velocity(s->c);
  }
  return false;
}
