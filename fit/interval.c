/* How sure a fit is: a bootstrap over the items, without simulating anything again.

   1. Along every parameter the change that the data notice: the mean of the paired differences of the items' costs
      exceeds twice its standard error.
   2. A cloud of points around the best one, as wide as that; the costs of each item there are kept.
   3. A resample draws the items anew; its mean costs at the cloud's points are those of the drawn items. A
      quadratic through them (least squares) has its minimum somewhere: the spread of these minima is the interval.

   A quadratic that is flat in a direction, beside its own scatter between resamples, means that the data do not
   determine that direction: the parameters that make it up are not identifiable, alone or only together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "fit/archive.h"
#include "math/eigen.h"

enum { N = KN_FIT_PARAMETERS, TERMS = (N + 1) * (N + 2) / 2 };

typedef struct cloud {
  kn_fit_archive* a;
  int n, terms, first, count; /* points first … first + count - 1 of the archive */
  double centre[N], step[N];  /* unit box */
  bool open[N];               /* the data notice no step */
  double* basis;              /* terms x count: least-squares coefficients from mean costs */
  double* mean;               /* count: of a resample */
} cloud;

/* 1, x_i, x_i x_j for i <= j. */
static void terms_of(double* t, const double* x, int n) {
  int at = 0;
  t[at++] = 1.0;
  for (int i = 0; i < n; i++) t[at++] = x[i];
  for (int i = 0; i < n; i++)
    for (int j = i; j < n; j++) t[at++] = x[i] * x[j];
}

/* ---- 1: what the data notice ---- */

/* Is point i noticeably worse than the best one? Either the mean of the items' paired differences exceeds twice its standard
   error, or clearly more items are worse than better (sign test): a single item that bounces elsewhere makes the standard error
   as large as the mean. A change of less than a thousandth of the cost is nothing, however regular: rounding makes such. */
bool kn_fit_noticed(const kn_fit_archive* a, int i) {
  const double *item = a->item + (size_t)i * (size_t)a->items,
               *best = a->item + (size_t)a->best * (size_t)a->items;
  double worse = 0.0, differ = 0.0;
  for (int k = 0; k < a->items; k++)
    worse += (item[k] > best[k]) - (item[k] < best[k]), differ += item[k] != best[k];
  double se = kn_fit_standard_error(item, best, a->items);
  double rise = a->mean[i] - a->mean[a->best];
  return rise > 1e-3 * a->mean[a->best] && (rise > 2.0 * se || worse > 2.0 * sqrt(differ));
}

/* A step in the unit box that the data notice, doubled from small; to the inner side of the box. Open: they notice none, up
   to the end of the range. */
static kn_status find_step(double* step, bool* open, kn_fit_archive* a, int k) {
  double u[N], centre[N];
  memcpy(centre, a->u + (size_t)(a->best * a->n), sizeof(double) * (size_t)a->n);
  double sign = centre[k] < 0.5 ? 1.0 : -1.0, room = fmax(centre[k], 1.0 - centre[k]);
  for (double d = 0.004;; d *= 2.0) {
    *step = fmin(d, room);
    memcpy(u, centre, sizeof u);
    u[k] += sign * *step;
    KN_TRY(kn_fit_evaluate(a, u));
    *open = !kn_fit_noticed(a, a->count - 1);
    if (*step >= room || !*open) return KN_OK;
  }
}

/* ---- 2: the cloud ---- */

static kn_status draw_cloud(cloud* c, uint64_t seed) {
  kn_rng rng = kn_rng_seed(seed ^ 0xc10d);
  double u[N];
  c->first = c->a->count;
  for (int i = 0; i < c->count; i++) {
    for (int k = 0; k < c->n; k++) {
      u[k] = c->centre[k] + c->step[k] * kn_rng_range(&rng, -1.0, 1.0);
      u[k] = fmin(fmax(u[k], 0.0), 1.0);
    }
    KN_TRY(kn_fit_evaluate(c->a, u));
  }
  return KN_OK;
}

/* Solves the symmetric positive system G X = B (terms x count) in place; G is overwritten. */
static void solve(double* G, double* B, int n, int columns) {
  for (int i = 0; i < n; i++) {
    double pivot = G[i * n + i];
    for (int r = 0; r < n; r++) {
      if (r == i || G[r * n + i] == 0.0) continue;
      double f = G[r * n + i] / pivot;
      for (int k = 0; k < n; k++) G[r * n + k] -= f * G[i * n + k];
      for (int k = 0; k < columns; k++) B[r * columns + k] -= f * B[i * columns + k];
    }
  }
  for (int i = 0; i < n; i++)
    for (int k = 0; k < columns; k++) B[i * columns + k] /= G[i * n + i];
}

/* (TᵀT + small)⁻¹ Tᵀ with T the terms of the points, in units of the steps. Points that could not be simulated are
   left out. */
static bool make_basis(cloud* c) {
  int t = c->terms;
  if (t < 3 || c->count < t) return false; /* never: at least one parameter */
  double* G = calloc((size_t)t * (size_t)t, sizeof *G);
  double x[N], row[TERMS];
  c->basis = calloc((size_t)t * (size_t)c->count, sizeof *c->basis);
  c->mean = calloc((size_t)c->count, sizeof *c->mean);
  if (!G || !c->basis || !c->mean) {
    free(G);
    return false;
  }
  for (int p = 0; p < c->count; p++) {
    if (!isfinite(c->a->mean[c->first + p])) continue;
    for (int k = 0; k < c->n; k++) x[k] = (c->a->u[(c->first + p) * c->n + k] - c->centre[k]) / c->step[k];
    terms_of(row, x, c->n);
    for (int i = 0; i < t; i++) {
      c->basis[i * c->count + p] = row[i];
      for (int j = 0; j < t; j++) G[i * t + j] += row[i] * row[j];
    }
  }
  for (int i = 0; i < t; i++) G[i * t + i] += 1e-9 * c->count; /* parameters pressed against their range */
  solve(G, c->basis, t, c->count);
  free(G);
  return true;
}

/* ---- 3: resamples ---- */

typedef struct quadratic {
  double g[N], H[N * N]; /* cost = … + gᵀx + ½ xᵀHx, x in units of the steps */
} quadratic;

static void fit_quadratic(quadratic* q, const cloud* c) {
  double coefficient[TERMS] = {0};
  for (int i = 0; i < c->terms; i++)
    for (int p = 0; p < c->count; p++) coefficient[i] += c->basis[i * c->count + p] * c->mean[p];
  int at = 1;
  for (int i = 0; i < c->n; i++) q->g[i] = coefficient[at++];
  for (int i = 0; i < c->n; i++)
    for (int j = i; j < c->n; j++) {
      double h = coefficient[at++];
      q->H[i * c->n + j] = q->H[j * c->n + i] = i == j ? 2.0 * h : h;
    }
}

/* Its least value within twice the cloud and the unit box, coordinate by coordinate. */
static void minimise(double* x, const quadratic* q, const cloud* c) {
  int n = c->n;
  memset(x, 0, sizeof(double) * N);
  for (int sweep = 0; sweep < 200; sweep++)
    for (int k = 0; k < n; k++) {
      double slope = q->g[k], h = q->H[k * n + k];
      for (int j = 0; j < n; j++)
        if (j != k) slope += q->H[k * n + j] * x[j];
      double low = fmax(-2.0, -c->centre[k] / c->step[k]),
             high = fmin(2.0, (1.0 - c->centre[k]) / c->step[k]);
      if (h > 0.0)
        x[k] = fmin(fmax(-slope / h, low), high);
      else /* hollow: the lower end */
        x[k] = slope * low + 0.5 * h * low * low < slope * high + 0.5 * h * high * high ? low : high;
    }
}

static void resample(cloud* c, kn_rng* rng, double* weight) {
  int items = c->a->items;
  for (int i = 0; i < items; i++) weight[i] = rng ? 0.0 : 1.0;
  for (int i = 0; rng && i < items; i++) weight[kn_rng_int(rng, items)] += 1.0;
  for (int p = 0; p < c->count; p++) {
    const double* item = c->a->item + (size_t)(c->first + p) * (size_t)items;
    double sum = 0.0;
    if (isfinite(c->a->mean[c->first + p]))
      for (int i = 0; i < items; i++) sum += weight[i] * item[i];
    c->mean[p] = sum / items;
  }
}

static int by_size(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

/* The percentiles of column k of `minima`, as values of the parameter; the fitted value is always inside. */
static void interval_of(kn_fit_parameter* out, const cloud* c, double* minima, int count, int k,
                        double level) {
  const kn_fit_range* r = &c->a->problem->range[k];
  double* x = minima + k * count;
  qsort(x, (size_t)count, sizeof *x, by_size);
  int cut = (int)(0.5 * (1.0 - level) * count);
  double low = fmin(x[cut], 0.0), high = fmax(x[count - 1 - cut], 0.0);
  double a = fmax(c->centre[k] + c->step[k] * low, 0.0), b = fmin(c->centre[k] + c->step[k] * high, 1.0);
  out->low = kn_fit_from_unit(r, a);
  out->high = kn_fit_from_unit(r, b);
  out->step = c->step[k];
}

/* How far one can walk from the centre along a direction, to one side, before the data notice: what each parameter must move
   to be noticed by itself is one step, so in a direction that is determined four are noticed. Otherwise the walk goes on,
   twice as far each time, and the intervals of the parameters reach to its last unnoticed point. */
static kn_status walk(kn_fit_result* out, cloud* c, const double* direction, int largest, double side) {
  for (double far = 4.0; far <= 256.0; far *= 2.0) {
    double u[N];
    bool moved = false;
    for (int k = 0; k < c->n; k++) {
      double at = c->centre[k] + side * far * c->step[k] * direction[k] / fabs(direction[largest]);
      u[k] = fmin(fmax(at, 0.0), 1.0);
      moved = moved || (u[k] == at && fabs(direction[k]) >= 0.4 * fabs(direction[largest]));
    }
    KN_TRY(kn_fit_evaluate(c->a, u));
    if (kn_fit_noticed(c->a, c->a->count - 1)) return KN_OK;
    for (int k = 0; k < c->n; k++) {
      double x = kn_fit_from_unit(&c->a->problem->range[k], u[k]);
      out->parameter[k].low = fmin(out->parameter[k].low, x);
      out->parameter[k].high = fmax(out->parameter[k].high, x);
    }
    if (!moved) return KN_OK; /* at the border of the ranges */
  }
  return KN_OK;
}

/* A direction in which the quadratic is flat, beside the scatter of its curvature between resamples, is walked along. The
   two parameters that make up most of it are partners: only together do they matter. */
static kn_status judge_direction(kn_fit_result* out, cloud* c, const double* direction, double curvature,
                                 double scatter, double largest) {
  int first = -1, second = -1;
  if (curvature > 2.0 * scatter && curvature > 1e-3 * largest) return KN_OK;
  for (int k = 0; k < c->n; k++) {
    if (first < 0 || fabs(direction[k]) > fabs(direction[first]))
      second = first, first = k;
    else if (second < 0 || fabs(direction[k]) > fabs(direction[second]))
      second = k;
  }
  KN_TRY(walk(out, c, direction, first, 1.0));
  KN_TRY(walk(out, c, direction, first, -1.0));
  if (second < 0 || fabs(direction[second]) < 0.4 * fabs(direction[first])) return KN_OK;
  out->parameter[first].partner = second;
  out->parameter[second].partner = first;
  return KN_OK;
}

static kn_status spread(kn_fit_result* out, cloud* c, const kn_fit_settings* settings) {
  int n = c->n, count = settings->resamples;
  quadratic whole, one;
  double H[N * N], w[N], V[N * N], sum[N] = {0}, squares[N] = {0}, x[N];
  double *minima = malloc((size_t)count * (size_t)n * sizeof *minima),
         *weight = malloc((size_t)c->a->items * sizeof *weight);
  kn_rng rng = kn_rng_seed(settings->seed ^ 0xb007);
  if (!minima || !weight) {
    free(minima);
    free(weight);
    return kn_fail(KN_OUT_OF_MEMORY, "no memory for %d resamples", count);
  }
  resample(c, NULL, weight);
  fit_quadratic(&whole, c);
  memcpy(H, whole.H, sizeof H);
  kn_eigen_symmetric(n, H, w, V);
  for (int b = 0; b < count; b++) {
    resample(c, &rng, weight);
    fit_quadratic(&one, c);
    minimise(x, &one, c);
    for (int k = 0; k < n; k++) {
      double bend = 0.0;
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) bend += V[i * n + k] * one.H[i * n + j] * V[j * n + k];
      sum[k] += bend;
      squares[k] += bend * bend;
      minima[k * count + b] = x[k];
    }
  }
  for (int k = 0; k < n; k++) interval_of(&out->parameter[k], c, minima, count, k, settings->level);
  kn_status status = KN_OK;
  for (int k = 0; k < n && status == KN_OK; k++) {
    double direction[N], mean = sum[k] / count;
    for (int i = 0; i < n; i++) direction[i] = V[i * n + k];
    status =
        judge_direction(out, c, direction, w[k], sqrt(fmax(squares[k] / count - mean * mean, 0.0)), w[n - 1]);
  }
  free(minima);
  free(weight);
  return status;
}

/* A parameter whose interval is half its range or more is not determined: the whole range is open. */
static void conclude(kn_fit_result* out, const cloud* c) {
  const kn_fit_problem* p = c->a->problem;
  for (int k = 0; k < p->n; k++) {
    kn_fit_parameter* x = &out->parameter[k];
    const kn_fit_range* r = &p->range[k];
    x->identifiable = !c->open[k] && kn_fit_to_unit(r, x->high) - kn_fit_to_unit(r, x->low) < 0.5;
    if (!x->identifiable) x->low = r->from, x->high = r->to;
  }
  for (int k = 0; k < p->n; k++) { /* partners are both open */
    kn_fit_parameter* x = &out->parameter[k];
    if (x->identifiable || (x->partner >= 0 && out->parameter[x->partner].identifiable)) x->partner = -1;
  }
}

kn_status kn_fit_intervals(kn_fit_result* out, kn_fit_archive* a, const kn_fit_settings* settings) {
  cloud c = {.a = a, .n = a->n, .terms = (a->n + 1) * (a->n + 2) / 2};
  c.count = 4 * c.terms;
  for (int k = 0; k < a->n; k++) KN_TRY(find_step(&c.step[k], &c.open[k], a, k));
  memcpy(c.centre, a->u + (size_t)(a->best * a->n), sizeof(double) * (size_t)a->n);
  KN_TRY(draw_cloud(&c, settings->seed));
  kn_status status = make_basis(&c) ? spread(out, &c, settings)
                                    : kn_fail(KN_OUT_OF_MEMORY, "no memory for the intervals of a fit");
  if (status == KN_OK) conclude(out, &c);
  free(c.basis);
  free(c.mean);
  return status;
}
