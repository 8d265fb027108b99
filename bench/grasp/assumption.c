/* What the assumption δ̇_T = 0 does, which the paper leaves open ("there is no physical basis for this
   assumption").

   On leaving the rigid model a sliding contact gets δ_T = (λ_T - C δ̇_T)/K: λ_T is continuous whatever δ̇_T is
   taken to be, but the state differs. Taken here besides δ̇_T = 0: the slow manifold of a sliding contact,
   δ̇_T = λ̇_T/K; the rate of a sticking one, δ̇_T = -v_T; and no deformation at all, δ_T = 0.

   While the contact slides its force is mu λ_N against the slip: δ_T does not enter, and it forgets where it
   began, δ̇_T = (λ_T - K δ_T)/C, with the time C/K = √ε t0. So the assumption cannot matter unless the contact
   stops or turns within a few √ε t0. Measured: the rigid model is left at the P loss, and 10 ms before the
   slip of contacts 2 and 4 reverses. Closed forms and Runge-Kutta only (scenes/grasp_reference.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grasp_bench.h"
#include "grasp_reference.h"
#include "output/plot.h"

static const char* const names[GRASP_RATES] = {"δ̇ = 0", "δ̇ = λ̇/K", "δ̇ = −v", "δ = 0"};
static const double DT = 1e-4, AFTER = 0.15; /* s: step; how long after the reversal is compared */

static void planned_force(double tangential[KN_GRASP_C], double normal[KN_GRASP_C], const kn_grasp* g,
                          double t) {
  kn_grasp_plan p;
  double torque[4];
  kn_grasp_plan_at(&p, g, t);
  kn_grasp_control(torque, normal, g, t, p.q, p.v);
  for (int i = 0; i < KN_GRASP_C; i++) tangential[i] = -g->mu[i] * p.slip[i] * normal[i];
}

/* The compliant state built from the planned motion at t. */
static kn_grasp_state leave(const kn_grasp* g, double t, double eps, int rate) {
  kn_grasp_state x = kn_grasp_start(g, eps);
  kn_grasp_plan p;
  double lt[KN_GRASP_C], ln[KN_GRASP_C], before[KN_GRASP_C], unused[KN_GRASP_C];
  kn_grasp_plan_at(&p, g, t);
  planned_force(lt, ln, g, t);
  planned_force(before, unused, g, t - DT);
  x.t = t;
  memcpy(x.q, p.q, sizeof x.q);
  memcpy(x.v, p.v, sizeof x.v);
  for (int i = 0; i < KN_GRASP_C; i++) {
    double slip = 0;
    for (int k = 0; k < KN_GRASP_N; k++) slip += p.contact.WT[i][k] * x.v[k];
    const double guess[GRASP_RATES] = {0, (lt[i] - before[i]) / DT / x.K, -slip, lt[i] / x.C};
    x.offset[i] = ln[i] / x.K;
    x.delta[i] = (lt[i] - x.C * guess[rate]) / x.K;
  }
  return x;
}

/* Largest differences from δ̇ = 0 of y and of a normal force until `end`. */
static void differences(double* dy, double* force, const kn_grasp* g, double t, double end, double eps,
                        int rate) {
  kn_grasp_state a = leave(g, t, eps, 0), b = leave(g, t, eps, rate);
  *dy = *force = 0;
  while (a.t < end) {
    kn_grasp_step(&a, g, DT);
    kn_grasp_step(&b, g, DT);
    *dy = fmax(*dy, fabs(a.q[1] - b.q[1]));
    for (int i = 0; i < KN_GRASP_C; i++) *force = fmax(*force, fabs(a.force[i][0] - b.force[i][0]));
  }
}

enum { TRACE = 3600 };

static bool draw(const char* path, const grasp_assumption* a, const kn_grasp* g) {
  static double t[TRACE], delta[GRASP_RATES][TRACE], force[GRASP_RATES][KN_GRASP_C][TRACE],
      away[GRASP_RATES][TRACE];
  kn_plot_series s[2][GRASP_RATES];
  for (int r = 0; r < GRASP_RATES; r++) {
    kn_grasp_state x = leave(g, a->lost, a->eps, r);
    for (int k = 0; k < TRACE; k++) {
      t[k] = x.t, delta[r][k] = 1e3 * x.delta[1];
      kn_grasp_step(&x, g, DT);
      for (int i = 0; i < KN_GRASP_C; i++) {
        force[r][i][k] = x.force[i][0];
        away[r][k] = fmax(away[r][k], fabs(force[r][i][k] - force[0][i][k]));
      }
      away[r][k] = fmax(away[r][k], 1e-16); /* the logarithm's zero */
    }
    kn_plot_series line = {.name = names[r], .x = t, .n = TRACE, .colour = kn_plot_colour((size_t)r)};
    s[0][r] = s[1][r] = line;
    s[0][r].y = delta[r], s[0][r].n = TRACE / 3, s[1][r].y = away[r];
  }
  kn_plot panel[2] = {{.title = "(a) tangential deformation of contact 2",
                       .x_label = "time, s",
                       .y_label = "mm",
                       .series = s[0],
                       .series_count = GRASP_RATES},
                      {.title = "(b) normal forces: away from δ̇ = 0",
                       .x_label = "time, s",
                       .y_label = "largest difference, N",
                       .log_y = true,
                       .fix_y = true,
                       .y_range = {1e-16, 1},
                       .series = s[1] + 1,
                       .series_count = GRASP_RATES - 1}};
  return kn_plot_save(path, panel, 2, 2, 760, 420);
}

bool grasp_assume(grasp_assumption* out, const grasp_options* o, const char* path) {
  kn_grasp g = grasp_plan_of(o);
  *out = (grasp_assumption){.eps = o->eps, .lost = grasp_p_change(&g, 0, 1, false)};
  double reversal = grasp_p_change(&g, out->lost + 1e-3, 1, true); /* P is regained where the slip reverses */
  if (!isfinite(out->lost) || !isfinite(reversal)) return false;
  for (int r = 1; r < GRASP_RATES; r++) {
    out->name[r] = names[r];
    differences(&out->difference[r], &out->force[r], &g, out->lost, reversal + AFTER, o->eps, r);
    differences(&out->late_difference[r], &out->late_force[r], &g, reversal - 0.01, reversal + AFTER, o->eps,
                r);
  }
  return !path || draw(path, out, &g);
}
