/* Energy of a step: the recorded numbers are the mechanism's own, the ledger balances, contacts and impacts
   create nothing, and the total does not rise above what was put in.

     gain    ½ (v⁺ − v_f)ᵀ (M + extra) (v⁺ + v_f) <= 0   over the rows of a step or of an impact
     rise    E − W, E with what compliant contacts store, W the work of inputs, actuators and driven loops so far, above the lowest value it had
   The scale of both is E_ref, the larger of the most kinetic energy and the range of the potential so far.
   Called by verify.c. */

#include "record/verify/verify.h"

static double scale_of(kn_verifier* v) {
  double stored[2] = {v->before.potential + v->before.spring, v->after.potential + v->after.spring};
  v->climb.kinetic_most = fmax(v->climb.kinetic_most, fmax(v->before.kinetic, v->after.kinetic));
  if (!v->last.started) v->climb.potential_least = v->climb.potential_most = stored[0];
  for (int i = 0; i < 2; i++) {
    v->climb.potential_least = fmin(v->climb.potential_least, stored[i]);
    v->climb.potential_most = fmax(v->climb.potential_most, stored[i]);
  }
  return fmax(v->climb.kinetic_most, v->climb.potential_most - v->climb.potential_least);
}

static void check_totals(kn_verifier* v, const kn_recorded* s, double size) {
  double* total = (double*)&v->total;
  const double *given = (const double*)&s->total, *column = (const double*)&s->ledger;
  if (!v->last.started || !v->asked.full) {
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
  const double off[] = {b->kinetic - s->energy.kinetic,
                        b->potential - s->energy.potential,
                        b->spring - s->energy.spring,
                        b->kinetic - a->kinetic - l->kinetic,
                        b->potential - a->potential - l->potential,
                        b->spring - a->spring - l->spring};
  for (int i = 0; i < 6; i++) kn_verifier_report(v, s->step, KN_CHECK_ENERGY, fabs(off[i]) / size, 1e-9);
  check_totals(v, s, size);
}

/* Newton's law of restitution at several contacts creates energy by itself; the run says so (`energy-rise`). */
bool kn_verify_newton(const kn_verifier* v, const kn_recorded* s) {
  for (int i = 0; i < s->contacts && v->asked.moreau; i++)
    if (kn_surface_of(v->sweep, s->contact[i].geom_a, s->contact[i].geom_b).e > 0.0) return true;
  return false;
}

/* Contacts, limits and dry friction take from the free motion: ½ (v⁺ - v_free)·M (v⁺ + v_free) <= 0, but for what the travel of loaded
   contacts asks for, u⁺ = -δ: p·(u⁺ + u_free)/2 <= |p||δ|. */
void kn_verify_gain(kn_verifier* v, const kn_recorded* s) {
  int n = v->model->nv;
  double *sum = v->scratch, *Ms = v->spare, gain = 0.0;
  if (v->model->nloop) return; /* loops do work of the integrator's order */
  if (kn_verify_newton(v, s)) return;
  for (int i = 0; i < n; i++) sum[i] = s->v[i] + s->v_free[i], Ms[i] = 0.0;
  kn_plain_multiply(Ms, s->impact ? &v->after : &v->mid, s->impact ? NULL : v->force.extra, sum);
  for (int i = 0; i < n; i++) gain += 0.5 * (s->v[i] - s->v_free[i]) * Ms[i];
  double limit = 1e-9 * fmax(scale_of(v), 1e-9);
  if (gain > limit && !s->impact) limit += kn_verify_travelled(v, s);
  kn_verifier_report(v, s->step, KN_CHECK_GAIN, gain, limit);
}

/* dt v̄ · (inputs + actuators with their implicit part), and what driven loops say they put in. */
static double work_of(const kn_verifier* v, const kn_recorded* s) {
  const kn_model* m = v->model;
  const double* end = s->impact ? s->v_free : s->v_solved;
  double sum = s->ledger.prescribed, theta = v->asked.moreau ? v->asked.theta : 0.5, *way = v->spare;
  for (int i = 0; i < m->nv; i++) way[i] = s->dt * (theta * end[i] + (1.0 - theta) * s->v_before[i]);
  for (int j = 0; j < m->njoint && (v->asked.event || kn_verify_soft(s));
       j++) { /* what pushes at instants of its own: the way it went */
    int aq, nq, av, nv;
    if (kn_model_joint_address(&aq, &nq, &av, &nv, m, j) == KN_OK && nq == nv)
      for (int k = 0; k < nv; k++) way[av + k] = s->q[aq + k] - s->q_before[aq + k];
  }
  for (int i = 0; i < m->nv; i++) {
    double dv = end[i] - s->v_before[i];
    double drive = v->force.actuator[i] -
                   (theta * v->force.drive_d[i] + theta * theta * s->dt * v->force.drive_k[i]) * dv;
    sum += way[i] * (v->force.input[i] + drive);
  }
  return sum;
}

void kn_verify_rise(kn_verifier* v, const kn_recorded* s) {
  const kn_plain *a = &v->before, *b = &v->after;
  double begin = a->kinetic + a->potential + a->spring, end = b->kinetic + b->potential + b->spring;
  end += kn_verify_stored(v, s);
  if (!v->last.started) v->climb.work = 0.0, v->climb.lowest = begin;
  v->climb.work += work_of(v, s);
  if (!v->last.started && kn_verify_start_broken(v, s))
    v->climb.lowest = fmax(v->climb.lowest, end - v->climb.work);
  v->climb.lowest = fmin(v->climb.lowest, end - v->climb.work);
  scale_of(v);
  if (!(end - v->climb.work - v->climb.lowest <= v->climb.most))
    v->climb.most = end - v->climb.work - v->climb.lowest, v->climb.step = s->step;
}

/* Once all steps are seen: E_ref is that of the whole run. */
void kn_verify_rise_end(kn_verifier* v) {
  /* a part in a thousand is what `run` calls trouble; at rest, of the weight over a hundred tolerances of gaps (1 cm)
   */
  double least = v->model->mass * kn_plain_length(v->model->gravity) * 100.0 * v->asked.gtol,
         scale = fmax(v->climb.kinetic_most, v->climb.potential_most - v->climb.potential_least);
  kn_verifier_report(v, v->climb.step, KN_CHECK_RISE, v->climb.most, 1e-3 * fmax(scale, least));
}
