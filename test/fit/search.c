/* The search and its intervals against functions whose minima and spreads are known. */
#include "fit/search.h"

#include <stdlib.h>

#include "base/rng.h"
#include "math/elementary.h"
#include "test.h"

/* Costs with ripples: |x - x*| in each coordinate, and 5 % of a sine of 40 waves over the range. Many dents, one bottom. */
static kn_status rugged(double* item, const double* x, void* context) {
  const double* least = context;
  for (int i = 0; i < 5; i++) {
    item[i] = 0.0;
    for (int k = 0; k < 3; k++) {
      double s, c, d = x[k] - least[k];
      kn_sincos(&s, &c, 250.0 * d + i);
      item[i] += (1.0 + 0.2 * i) * fabs(d) * (1.0 + 0.05 * s);
    }
  }
  return KN_OK;
}

TEST(finds_the_bottom_among_many_dents) {
  double least[3] = {0.31, 0.86, 0.02};
  kn_fit_problem problem = {.n = 3, .items = 5, .cost = rugged, .context = least};
  kn_fit_settings settings = kn_fit_default();
  kn_fit_result r;
  settings.resamples = 0;
  settings.evaluations = 600;
  for (int k = 0; k < 3; k++) problem.range[k] = (kn_fit_range){0.0, 1.0, 0.5, false};
  if (!CHECK_OK(kn_fit_search(&r, &problem, &settings))) return;
  CHECK(r.converged);
  /* ten times the search's own tolerance: its cloud is that wide when it ends */
  for (int k = 0; k < 3; k++) CHECK_NEAR(r.parameter[k].value, least[k], 2e-3);
  kn_fit_result_free(&r);
}

/* The mean: item i costs (x - y_i)², so the fit is the mean of y and its 95 % interval ±1.96 standard errors. */
enum { ITEMS = 200 };
typedef struct sample {
  double y[ITEMS], z[ITEMS];
} sample;

static kn_status mean_cost(double* item, const double* x, void* context) {
  const sample* s = context;
  for (int i = 0; i < ITEMS; i++)
    item[i] = (x[0] - s->y[i]) * (x[0] - s->y[i]) + (x[1] - s->z[i]) * (x[1] - s->z[i]);
  return KN_OK;
}

TEST(intervals_are_those_of_a_mean) {
  sample s;
  kn_rng rng = kn_rng_seed(5);
  double sum = 0.0, squares = 0.0;
  for (int i = 0; i < ITEMS; i++) {
    s.y[i] = 3.0 + 0.4 * kn_rng_normal(&rng);
    s.z[i] = 1.0 + 0.1 * kn_rng_normal(&rng);
    sum += s.y[i];
  }
  for (int i = 0; i < ITEMS; i++) squares += (s.y[i] - sum / ITEMS) * (s.y[i] - sum / ITEMS);
  double se = sqrt(squares / ((double)ITEMS * (ITEMS - 1)));
  kn_fit_problem problem = {.n = 2,
                            .items = ITEMS,
                            .cost = mean_cost,
                            .context = &s,
                            .range = {{0.0, 10.0, 5.0, false}, {0.0, 5.0, 2.0, false}}};
  kn_fit_settings settings = kn_fit_default();
  kn_fit_result r;
  settings.scatter = 0.0;
  settings.evaluations = 400;
  settings.resamples = 2000; /* percentiles of the bootstrap scatter by about 4 % of their distance */
  if (!CHECK_OK(kn_fit_search(&r, &problem, &settings))) return;
  CHECK_NEAR(r.parameter[0].value, sum / ITEMS, 0.1 * se);
  CHECK_NEAR(r.parameter[0].high - r.parameter[0].low, 2.0 * 1.96 * se, 0.12 * 2.0 * 1.96 * se);
  CHECK(r.parameter[0].identifiable && r.parameter[1].identifiable);
  kn_fit_result_free(&r);
}

/* Only x0 x1 matters, and x2 not at all. */
static kn_status product_cost(double* item, const double* x, void* context) {
  const sample* s = context;
  for (int i = 0; i < ITEMS; i++) item[i] = (x[0] * x[1] - s->y[i]) * (x[0] * x[1] - s->y[i]);
  return KN_OK;
}

TEST(says_what_the_data_do_not_determine) {
  sample s;
  kn_rng rng = kn_rng_seed(6);
  for (int i = 0; i < ITEMS; i++) s.y[i] = 2.0 + 0.1 * kn_rng_normal(&rng);
  kn_fit_problem problem = {
      .n = 3,
      .items = ITEMS,
      .cost = product_cost,
      .context = &s,
      .range = {{0.1, 10.0, 1.0, true}, {0.1, 10.0, 1.0, true}, {0.0, 1.0, 0.5, false}}};
  kn_fit_settings settings = kn_fit_default();
  kn_fit_result r;
  if (!CHECK_OK(kn_fit_search(&r, &problem, &settings))) return;
  CHECK_NEAR(r.parameter[0].value * r.parameter[1].value, 2.0, 0.05);
  for (int k = 0; k < 3; k++) CHECK(!r.parameter[k].identifiable);
  CHECK_INT(r.parameter[0].partner, 1);
  CHECK_INT(r.parameter[1].partner, 0);
  CHECK_NEAR(r.parameter[2].low, 0.0, 0.0); /* nothing is known: the whole range */
  CHECK_NEAR(r.parameter[2].high, 1.0, 0.0);
  kn_fit_result_free(&r);
}

static kn_status never(double* item, const double* x, void* context) {
  (void)x, (void)context;
  item[0] = INFINITY;
  return KN_OK;
}

TEST(refuses_what_makes_no_sense) {
  kn_fit_problem problem = {.n = 1, .items = 1, .cost = never, .range = {{0.0, 1.0, 2.0, false}}};
  kn_fit_settings settings = kn_fit_default();
  kn_fit_result r;
  CHECK_STATUS(kn_fit_search(&r, &problem, &settings), KN_BAD_ARGUMENT);
  problem.range[0].start = 0.5;
  CHECK_STATUS(kn_fit_search(&r, &problem, &settings), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "could be simulated");
}
