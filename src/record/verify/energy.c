/* Energy of a step: the recorded numbers are the mechanism's own, the ledger balances, contacts and impacts
   create nothing, and the total does not rise above what was put in.

     gain    ½ (v⁺ − v_f)ᵀ (M + extra) (v⁺ + v_f) <= 0   over the rows of a step or of an impact
     rise    E − W, W the work of inputs, actuators and driven loops so far, above the lowest value it had
   The scale of both is E_ref, the larger of the most kinetic energy and the range of the potential so far.
   Called by verify.c. */
#include <math.h>
#include <string.h>

#include "record/verify/verify.h"

static double scale_of(kn_verifier* v) {
  double stored[2] = {v->before.potential + v->before.spring, v->after.potential + v->after.spring};
  v->kinetic_most = fmax(v->kinetic_most, fmax(v->before.kinetic, v->after.kinetic));
  if (!v->started) v->potential_least = v->potential_most = stored[0];
  for (int i = 0; i < 2; i++) {
    v->potential_least = fmin(v->potential_least, stored[i]);
    v->potential_most = fmax(v->potential_most, stored[i]);
  }
  return fmax(v->kinetic_most, v->potential_most - v->potential_least);
}

static void check_totals(kn_verifier* v, const kn_recorded* s, double size) {
  double* total = (double*)&v->total;
  const double *given = (const double*)&s->total, *column = (const double*)&s->ledger;
  if (!v->started || !v->asked.full) {
    v->total = s->total;
    return;
  }
  for (size_t i = 0; i < sizeof s->ledger / sizeof(double); i++) {
    total[i] += column[i];
    kn_verifier_report(v, s->step, KN_CHECK_LEDGER, fabs(total[i] - given[i]) / fmax(size, fabs(given[i])),
                       1e-9);
  }
}

void kn_verify_energy(kn_verifier* v, const kn_recorded* s) {
  const kn_ledger* l = &s->ledger;
  const kn_plain *a = &v->before, *b = &v->after;
  const double* column = (const double*)l;
  double stored = l->kinetic + l->potential + l->spring, spent = 0.0, size = 1e-12;
  for (size_t i = 3; i < sizeof *l / sizeof(double); i++)
    spent += column[i], size = fmax(size, fabs(column[i]));
  size = fmax(size, fmax(fabs(b->kinetic), fmax(fabs(b->potential), fabs(b->spring))));
  kn_verifier_report(v, s->step, KN_CHECK_LEDGER, fabs(stored - spent) / size, 1e-9);
  kn_verifier_report(v, s->step, KN_CHECK_ENERGY, fabs(b->kinetic - s->energy.kinetic) / size, 1e-9);
  kn_verifier_report(v, s->step, KN_CHECK_ENERGY, fabs(b->potential - s->energy.potential) / size, 1e-9);
  kn_verifier_report(v, s->step, KN_CHECK_ENERGY, fabs(b->spring - s->energy.spring) / size, 1e-9);
  kn_verifier_report(v, s->step, KN_CHECK_ENERGY, fabs(b->kinetic - a->kinetic - l->kinetic) / size, 1e-9);
  kn_verifier_report(v, s->step, KN_CHECK_ENERGY, fabs(b->potential - a->potential - l->potential) / size,
                     1e-9);
  kn_verifier_report(v, s->step, KN_CHECK_ENERGY, fabs(b->spring - a->spring - l->spring) / size, 1e-9);
  check_totals(v, s, size);
}

void kn_verify_gain(kn_verifier* v, const kn_recorded* s) {
  int n = v->model->nv;
  double *sum = v->scratch, *Ms = v->spare, gain = 0.0;
  if (v->model->nloop) return; /* loops do work of the integrator's order */
  for (int i = 0; i < n; i++) sum[i] = s->v[i] + s->v_free[i], Ms[i] = 0.0;
  kn_plain_multiply(Ms, s->impact ? &v->after : &v->mid, s->impact ? NULL : v->extra, sum);
  for (int i = 0; i < n; i++) gain += 0.5 * (s->v[i] - s->v_free[i]) * Ms[i];
  kn_verifier_report(v, s->step, KN_CHECK_GAIN, gain, 1e-9 * fmax(scale_of(v), 1e-9));
}

/* dt v̄ · (inputs + actuators with their implicit part), and what driven loops say they put in. */
static double work_of(const kn_verifier* v, const kn_recorded* s) {
  const double* end = s->impact ? s->v_free : s->v_solved;
  double sum = s->ledger.prescribed;
  for (int i = 0; i < v->model->nv; i++) {
    double dv = end[i] - s->v_before[i];
    double drive = v->actuator[i] - (0.5 * v->drive_d[i] + 0.25 * s->dt * v->drive_k[i]) * dv;
    sum += s->dt * 0.5 * (end[i] + s->v_before[i]) * (v->input[i] + drive);
  }
  return sum;
}

void kn_verify_rise(kn_verifier* v, const kn_recorded* s) {
  const kn_plain *a = &v->before, *b = &v->after;
  double begin = a->kinetic + a->potential + a->spring, end = b->kinetic + b->potential + b->spring;
  if (!v->started) v->work = 0.0, v->lowest = begin;
  v->work += work_of(v, s);
  if (!v->started && kn_verify_start_broken(v, s)) v->lowest = fmax(v->lowest, end - v->work);
  v->lowest = fmin(v->lowest, end - v->work);
  scale_of(v);
  if (!(end - v->work - v->lowest <= v->rise)) v->rise = end - v->work - v->lowest, v->rise_step = s->step;
}

/* Once all steps are seen: E_ref is that of the whole run. */
void kn_verify_rise_end(kn_verifier* v) {
  const double* g = v->model->gravity;
  /* a part in a thousand is what `run` calls trouble; at rest, of the weight over a hundred tolerances of gaps (1 cm)
   */
  double least = v->model->mass * sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) * 100.0 * v->asked.gtol,
         scale = fmax(v->kinetic_most, v->potential_most - v->potential_least);
  kn_verifier_report(v, v->rise_step, KN_CHECK_RISE, v->rise, 1e-3 * fmax(scale, least));
}
