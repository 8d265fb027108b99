/* The search: CMA-ES (Hansen, The CMA evolution strategy: a tutorial, 2016, arXiv:1604.00772), in a unit box.

   Costs of trajectories with impacts jump: a corner that hits a little later bounces elsewhere. Derivatives of such costs
   say nothing, and methods that trust them or a simplex stop in the first dent. A cloud of points that moves and
   shapes itself by the ranks of its costs does not mind. Letters as in the tutorial: m mean, σ step, C = A Aᵀ
   covariance, p_σ and p_c paths, λ points a generation of which the best μ count with weights w.

   Points outside of the box are reflected into it, so that an answer on its border (e = 0) is reached. The first
   generation is a Latin hypercube over the whole box; its best point or the given start is the first mean. */
#include "fit/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "fit/archive.h"
#include "math/elementary.h"

enum { N = KN_FIT_PARAMETERS, POPULATION = 16 };

kn_fit_settings kn_fit_default(void) {
  return (kn_fit_settings){.tolerance = 2e-4, .scatter = 0.05, .resamples = 400, .level = 0.95, .seed = 1};
}

/* ---- points ---- */

double kn_fit_from_unit(const kn_fit_range* r, double u) {
  if (u <= 0.0) return r->from;
  if (u >= 1.0) return r->to;
  if (!r->log) return r->from + u * (r->to - r->from);
  double a = kn_log(r->from), b = kn_log(r->to);
  return kn_exp(a + u * (b - a));
}

double kn_fit_to_unit(const kn_fit_range* r, double x) {
  double u = r->log ? (kn_log(x) - kn_log(r->from)) / (kn_log(r->to) - kn_log(r->from))
                    : (x - r->from) / (r->to - r->from);
  return u < 0.0 ? 0.0 : u > 1.0 ? 1.0 : u;
}

double kn_fit_standard_error(const double* a, const double* b, int items) {
  double sum = 0.0, squares = 0.0;
  for (int i = 0; i < items; i++) sum += a[i] - (b ? b[i] : 0.0);
  for (int i = 0; i < items; i++) {
    double d = a[i] - (b ? b[i] : 0.0) - sum / items;
    squares += d * d;
  }
  return items > 1 ? sqrt(squares / ((double)items * (items - 1))) : 0.0;
}

static bool archive_grow(kn_fit_archive* a) {
  if (a->count < a->room) return true;
  int room = 2 * a->room + 64;
  double* u = realloc(a->u, (size_t)(room * a->n) * sizeof *u);
  if (u) a->u = u;
  double* item = realloc(a->item, (size_t)room * (size_t)a->items * sizeof *item);
  if (item) a->item = item;
  double* mean = realloc(a->mean, (size_t)room * sizeof *mean);
  if (mean) a->mean = mean;
  if (!u || !item || !mean) return false;
  a->room = room;
  return true;
}

kn_status kn_fit_evaluate(kn_fit_archive* a, const double* u) {
  const kn_fit_problem* p = a->problem;
  double x[N], sum = 0.0;
  if (!archive_grow(a)) return kn_fail(KN_OUT_OF_MEMORY, "no memory for %d points of a fit", a->count + 1);
  double* item = a->item + (size_t)a->count * (size_t)a->items;
  memcpy(a->u + (size_t)(a->count * a->n), u, (size_t)a->n * sizeof *u);
  for (int k = 0; k < a->n; k++) x[k] = kn_fit_from_unit(&p->range[k], u[k]);
  KN_TRY(p->cost(item, x, p->context));
  for (int i = 0; i < a->items; i++) sum += item[i];
  a->mean[a->count] = isfinite(sum) ? sum / a->items : INFINITY;
  if (a->count == 0 || (!a->settled && a->mean[a->count] < a->mean[a->best])) a->best = a->count;
  a->count++;
  if (p->watch && !p->watch(a->count, a->most, a->mean[a->best], p->context))
    return kn_fail(KN_INTERRUPTED, "stopped on request after %d evaluations", a->count);
  return KN_OK;
}

/* ---- the strategy ---- */

typedef struct strategy {
  int n, lambda, mu;
  double w[POPULATION], mueff, cs, ds, cc, c1, cmu, chi; /* constants */
  double m[N], sigma, C[N * N], A[N * N], ps[N], pc[N];
  int generation;
  kn_rng rng;
} strategy;

static void strategy_start(strategy* s, int n, const double* mean, uint64_t seed) {
  double sum = 0.0, squares = 0.0;
  *s = (strategy){.n = n, .sigma = 0.15};
  s->rng = kn_rng_seed(seed);
  s->lambda = 5 + (int)(3.0 * kn_log(n + 1.0));
  s->mu = s->lambda / 2;
  for (int i = 0; i < s->mu; i++) sum += s->w[i] = kn_log(s->lambda / 2.0 + 0.5) - kn_log(i + 1.0);
  for (int i = 0; i < s->mu; i++) s->w[i] /= sum, squares += s->w[i] * s->w[i];
  double me = s->mueff = 1.0 / squares;
  s->cs = (me + 2.0) / (n + me + 5.0);
  s->ds = 1.0 + s->cs + 2.0 * fmax(0.0, sqrt((me - 1.0) / (n + 1.0)) - 1.0);
  s->cc = (4.0 + me / n) / (n + 4.0 + 2.0 * me / n);
  s->c1 = 2.0 / ((n + 1.3) * (n + 1.3) + me);
  s->cmu = fmin(1.0 - s->c1, 2.0 * (me - 2.0 + 1.0 / me) / ((n + 2.0) * (n + 2.0) + me));
  s->chi = sqrt((double)n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n));
  memcpy(s->m, mean, (size_t)n * sizeof *mean);
  for (int i = 0; i < n; i++) s->C[i * n + i] = 1.0;
}

/* C = A Aᵀ, A lower triangular. C stays positive: what rounding takes is put back on the diagonal. */
static void factor(strategy* s) {
  int n = s->n;
  memset(s->A, 0, sizeof s->A);
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double x = s->C[i * n + j];
      for (int k = 0; k < j; k++) x -= s->A[i * n + k] * s->A[j * n + k];
      s->A[i * n + j] = i > j ? x / s->A[j * n + j] : sqrt(fmax(x, 1e-14 * s->C[i * n + i] + 1e-300));
    }
}

static double reflect(double u) {
  double r = fabs(u);
  r -= 2.0 * floor(0.5 * r);
  return r > 1.0 ? 2.0 - r : r;
}

static void draw(double* u, strategy* s) {
  double z[N];
  int n = s->n;
  for (int i = 0; i < n; i++) z[i] = kn_rng_normal(&s->rng);
  for (int i = 0; i < n; i++) {
    double y = 0.0;
    for (int k = 0; k <= i; k++) y += s->A[i * n + k] * z[k];
    u[i] = reflect(s->m[i] + s->sigma * y);
  }
}

/* The next mean, paths, covariance and step from the generation's points u, best first in `order`. */
static void learn(strategy* s, const double* u, const int* order) {
  int n = s->n;
  double y[POPULATION][N], step[N] = {0}, z[N], norm = 0.0;
  for (int i = 0; i < s->mu; i++)
    for (int k = 0; k < n; k++) {
      y[i][k] = (u[order[i] * n + k] - s->m[k]) / s->sigma;
      step[k] += s->w[i] * y[i][k];
    }
  for (int i = 0; i < n; i++) { /* A z = step */
    z[i] = step[i];
    for (int k = 0; k < i; k++) z[i] -= s->A[i * n + k] * z[k];
    z[i] /= s->A[i * n + i];
  }
  for (int k = 0; k < n; k++) {
    s->ps[k] = (1.0 - s->cs) * s->ps[k] + sqrt(s->cs * (2.0 - s->cs) * s->mueff) * z[k];
    norm += s->ps[k] * s->ps[k];
  }
  s->generation++;
  double start = 1.0 - kn_pow(1.0 - s->cs, 2.0 * s->generation);
  double h = sqrt(norm / start) < (1.4 + 2.0 / (n + 1.0)) * s->chi ? 1.0 : 0.0;
  for (int k = 0; k < n; k++) {
    s->pc[k] = (1.0 - s->cc) * s->pc[k] + h * sqrt(s->cc * (2.0 - s->cc) * s->mueff) * step[k];
    s->m[k] += s->sigma * step[k];
  }
  for (int a = 0; a < n; a++)
    for (int b = 0; b < n; b++) {
      double rank = 0.0;
      for (int i = 0; i < s->mu; i++) rank += s->w[i] * y[i][a] * y[i][b];
      s->C[a * n + b] = (1.0 - s->c1 - s->cmu + (1.0 - h) * s->c1 * s->cc * (2.0 - s->cc)) * s->C[a * n + b] +
                        s->c1 * s->pc[a] * s->pc[b] + s->cmu * rank;
    }
  s->sigma *= kn_exp(fmin(1.0, (s->cs / s->ds) * (sqrt(norm) / s->chi - 1.0)));
}

static double widest(const strategy* s) {
  double w = 0.0;
  for (int k = 0; k < s->n; k++) w = fmax(w, s->sigma * sqrt(s->C[k * s->n + k]));
  return w;
}

/* The points of the last generation differ by less than the data can tell. */
static bool in_the_noise(const kn_fit_archive* a, int first, double scatter) {
  double low = INFINITY, high = 0.0;
  for (int i = first; i < a->count; i++) low = fmin(low, a->mean[i]), high = fmax(high, a->mean[i]);
  double se = kn_fit_standard_error(a->item + (size_t)a->best * (size_t)a->items, NULL, a->items);
  return high - low < scatter * se;
}

static void sort_points(int* order, const double* mean, int count) {
  for (int i = 0; i < count; i++) {
    int k = i;
    for (; k > 0 && mean[i] < mean[order[k - 1]]; k--) order[k] = order[k - 1];
    order[k] = i;
  }
}

/* A Latin hypercube over the box beside the start: its best point is where the strategy begins. */
static kn_status look_around(kn_fit_archive* a, const kn_fit_settings* settings) {
  int n = a->n, count = 4 * (n + 1), cell[64];
  double u[N] = {0};
  kn_rng rng = kn_rng_seed(settings->seed ^ 0x5eed);
  double grid[64][N];
  for (int k = 0; k < n; k++) {
    u[k] = kn_fit_to_unit(&a->problem->range[k], a->problem->range[k].start);
    for (int i = 0; i < count; i++) cell[i] = i;
    for (int i = count - 1; i > 0; i--) {
      int j = kn_rng_int(&rng, i + 1), swap = cell[i];
      cell[i] = cell[j];
      cell[j] = swap;
    }
    for (int i = 0; i < count; i++) grid[i][k] = (cell[i] + kn_rng_unit(&rng)) / count;
  }
  KN_TRY(kn_fit_evaluate(a, u));
  for (int i = 0; i < count; i++) KN_TRY(kn_fit_evaluate(a, grid[i]));
  return KN_OK;
}

/* The middle of the cloud instead of its luckiest point, unless that one is noticeably better: in a landscape of dents the
   deepest one belongs to the noise of these items. A cloud that is still wide has no middle worth having. */
static kn_status settle(kn_fit_archive* a, const strategy* s, bool converged) {
  double u[N];
  for (int k = 0; k < a->n; k++) u[k] = reflect(s->m[k]);
  KN_TRY(kn_fit_evaluate(a, u));
  if (converged && !kn_fit_noticed(a, a->count - 1)) a->best = a->count - 1;
  a->settled = true;
  return KN_OK;
}

static kn_status run(kn_fit_result* out, kn_fit_archive* a, const kn_fit_settings* settings, int most) {
  strategy s;
  int quiet = 0, order[POPULATION];
  KN_TRY(look_around(a, settings));
  if (!isfinite(a->mean[a->best]))
    return kn_fail(KN_BAD_ARGUMENT, "none of %d points in the ranges could be simulated", a->count);
  strategy_start(&s, a->n, a->u + (size_t)(a->best * a->n), settings->seed);
  while (a->count < most && !out->converged) {
    int first = a->count;
    factor(&s);
    for (int i = 0; i < s.lambda; i++) {
      double u[N];
      draw(u, &s);
      KN_TRY(kn_fit_evaluate(a, u));
    }
    sort_points(order, a->mean + first, s.lambda);
    learn(&s, a->u + (size_t)(first * a->n), order);
    quiet = in_the_noise(a, first, settings->scatter) ? quiet + 1 : 0;
    out->converged = quiet >= 2 || widest(&s) < settings->tolerance;
  }
  return settle(a, &s, out->converged);
}

/* ---- the call ---- */

static kn_status check(const kn_fit_problem* p) {
  KN_REQUIRE(p->n >= 1 && p->n <= N && p->items >= 1 && p->cost != NULL);
  for (int k = 0; k < p->n; k++) {
    const kn_fit_range* r = &p->range[k];
    if (!(r->from < r->to) || !(r->start >= r->from && r->start <= r->to) || (r->log && r->from <= 0.0))
      return kn_fail(KN_BAD_ARGUMENT, "parameter %d: from %g to %g, start %g, expected from <= start <= to",
                     k, r->from, r->to, r->start);
  }
  return KN_OK;
}

static kn_status keep(kn_fit_result* out, kn_fit_archive* a, const kn_fit_problem* p) {
  size_t n = (size_t)a->n, items = (size_t)a->items, count = (size_t)a->count;
  out->cost = a->mean[a->best];
  out->error = kn_fit_standard_error(a->item + (size_t)a->best * items, NULL, a->items);
  out->evaluations = out->traced = a->count;
  out->item = malloc(items * sizeof(double));
  out->trace = malloc(count * n * sizeof(double));
  out->trace_cost = malloc(count * sizeof(double));
  if (!out->item || !out->trace || !out->trace_cost)
    return kn_fail(KN_OUT_OF_MEMORY, "no memory for the result of a fit");
  memcpy(out->item, a->item + (size_t)a->best * items, items * sizeof(double));
  memcpy(out->trace_cost, a->mean, count * sizeof(double));
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < n; k++) out->trace[i * n + k] = kn_fit_from_unit(&p->range[k], a->u[i * n + k]);
  for (size_t k = 0; k < n; k++) { /* the cloud of the intervals may have found a better point */
    kn_fit_parameter* x = &out->parameter[k];
    x->value = out->trace[(size_t)a->best * n + k];
    x->low = isnan(x->low) ? x->low : fmin(x->low, x->value);
    x->high = isnan(x->high) ? x->high : fmax(x->high, x->value);
  }
  return KN_OK;
}

kn_status kn_fit_search(kn_fit_result* out, const kn_fit_problem* p, const kn_fit_settings* settings) {
  KN_REQUIRE(out != NULL && p != NULL && settings != NULL);
  *out = (kn_fit_result){.n = p->n, .items = p->items};
  KN_TRY(check(p));
  int most = settings->evaluations > 0 ? settings->evaluations : 100 + 80 * p->n;
  kn_fit_archive a = {.problem = p, .n = p->n, .items = p->items};
  a.most = most + (settings->resamples ? 8 * p->n + 2 * (p->n + 1) * (p->n + 2) : 0);
  for (int k = 0; k < p->n; k++)
    out->parameter[k] = (kn_fit_parameter){.low = NAN, .high = NAN, .identifiable = true, .partner = -1};
  kn_status status = run(out, &a, settings, most);
  if (status == KN_OK && settings->resamples > 0) status = kn_fit_intervals(out, &a, settings);
  if (status == KN_OK) status = keep(out, &a, p);
  free(a.u);
  free(a.item);
  free(a.mean);
  if (status != KN_OK) kn_fit_result_free(out);
  return status;
}

void kn_fit_result_free(kn_fit_result* r) {
  free(r->item);
  free(r->trace);
  free(r->trace_cost);
  r->item = r->trace = r->trace_cost = NULL;
}
