/* The θ-scheme of Moreau and Jean (M. Jean 1999; Siconos' MoreauJeanOSI):

     (M + θ dt D + θ² dt² K) (v⁺ - v) = dt (f(q, v) - θ dt K v) + Jᵀ p,     everything at q
     contacts with gap + dt/2 u <= 0 take part:  0 <= u_n⁺ + e u_n ⊥ p_n >= 0 (Newton's law), Coulomb
     q⁺ = q ⊕ dt (θ v⁺ + (1 - θ) v)

   Restitution is Newton's whatever the impact law chosen. With positions repaired the gap stays closed;
   without, it is open or closed by the scheme's own O(dt) as in the reference codes. The scheme's forces are explicit:
   what they would gain (a body that spins about two axes) is taken from the velocities (kn_stage_give_back), and with
   θ = ½, which does not damp, what they would lose is given back as well (kn_stage_keep_energy). */
#include <string.h>

#include "base/error.h"
#include "step/sim.h"

/* m, rad: the repair leaves gaps of either sign below this. Judged by their sign a resting block was free in every
   other step, and crept down a slope on which it must stick. */
static const double touching = 1e-9;

static kn_status gather(kn_sim* s, kn_state* x, double dt) {
  /* without repair the scheme is that of the reference codes, to the bit */
  double near = s->settings.projection ? touching : 0.0;
  KN_TRY(kn_stage_find(s, x->q, x->time + dt, dt));
  kn_rows_velocity(s->row.u_before, s->data, s->model, s->sets.found.geometry, s->sets.found.count, x->v);
  KN_TRY(kn_stage_keep_loops(s, s->sets.keep));
  for (int g = 0; g < s->sets.found.count; g++) {
    const kn_row_tag* tag = &s->sets.found.tag[g];
    double u = s->row.u_before[tag->row];
    if (tag->kind == KN_ROW_CONTACT) {
      const kn_contact* c = &s->touch.contact[tag->index];
      s->sets.keep[g] = c->gap + 0.5 * dt * u <= near;
      s->sets.found.bias[tag->row] = kn_restitution(s, c, -u) * u;
      s->touch.impacting[tag->index] = s->sets.keep[g] && c->e > 0.0 && u < -kn_rest_speed(s, 0.0, dt);
    } else if (tag->kind == KN_ROW_LIMIT) {
      s->sets.keep[g] = kn_limit_gap(s->model, tag->index, x->q) + 0.5 * dt * u <= near;
      s->report.limits += s->sets.keep[g];
    } else if (tag->kind == KN_ROW_LOOP) {
      s->report.loops += tag->rows;
    } else if (tag->kind == KN_ROW_SPIN) { /* the rest of the contact before it */
      s->sets.keep[g] = s->sets.keep[g - 1];
    }
  }
  return kn_row_islands(s, s->sets.keep);
}

static kn_status step(kn_sim* s, kn_state* x, double dt) {
  const kn_model* m = s->model;
  double theta = s->settings.theta;
  kn_flow f = {0};
  s->force.implicit = (kn_implicit){.d = theta, .kv = theta * dt, .kdv = theta * theta * dt};
  kn_report_begin(s, x, dt);
  memcpy(s->frame.q_mid, x->q, (size_t)m->nq * sizeof(double));
  kn_dyn_position(s->data, m, x->q);
  kn_dyn_velocity(s->data, m, x->v);
  KN_TRY(kn_stage_forces(s, x, x->time, x->q, x->v, dt));
  KN_TRY(kn_dyn_factor(s->data, m, s->force.extra));
  memcpy(s->frame.v_mean, x->v, (size_t)m->nv * sizeof(double));
  kn_free_velocity_at(s, x, dt);
  double reach = s->settings.gtol + s->settings.margin + kn_clear_kick(s, dt);
  KN_TRY(kn_detect(s->touch.contact, &s->touch.contacts, s->detector, s->data, reach, dt,
                   kn_state_find_block(x, "pairs")));
  KN_TRY(gather(s, x, dt));
  kn_rows_velocity(s->row.u_before, s->data, m, s->sets.set.geometry, s->sets.set.count, x->v);
  kn_rows_velocity(s->row.u_free, s->data, m, s->sets.set.geometry, s->sets.set.count, s->frame.v_free);
  KN_TRY(kn_stage_solve(s, x, &f, dt));
  kn_rows_velocity(s->row.u_plus, s->data, m, s->sets.set.geometry, s->sets.set.count, s->frame.v_plus);
  memcpy(s->row.compression, s->row.lambda, (size_t)s->sets.set.rows * sizeof(double));
  kn_report_rows(s, &f);
  kn_warm_save(s, x);
  for (int i = 0; i < m->nv; i++) s->frame.v_mean[i] = theta * s->frame.v_plus[i] + (1.0 - theta) * x->v[i];
  kn_dyn_integrate(s->frame.q_hat, m, x->q, s->frame.v_mean, dt);
  kn_ledger_flight(s, x, s->frame.v_plus, dt);
  kn_anchor_advance(s, x, dt);
  kn_end_arrive(s, s->frame.v_plus);
  kn_ledger_arrive(s);
  KN_TRY(kn_stage_project(s, x, &f, s->frame.q_hat, x->time + dt));
  kn_end_corrected(s, &f, s->frame.v_plus);
  kn_ledger_correct(s);
  kn_anchor_update(s, f.loose);
  if (m->nloop && s->settings.projection) {
    double before = s->book.energy_now.kinetic;
    KN_TRY(kn_stage_project_velocity(s, &f, s->frame.q_hat, s->frame.v_plus, x->time + dt));
    kn_end_energy(s);
    kn_ledger_velocity(s, &f, before);
  }
  if (s->settings.projection)
    KN_TRY(theta > 0.5 ? kn_stage_give_back(s, x, &f) : kn_stage_keep_energy(s, x, &f));
  KN_TRY(kn_stage_commit(s, x, &f, x->time + dt));
  kn_report_end(s, false);
  kn_stage_bodies_end(s, x, true);
  return KN_OK;
}

const kn_stepper kn_stepper_theta = {
    .name = "theta",
    .doc = "the θ-scheme of Moreau and Jean, Newton's restitution",
    .citation = "M. Jean, The non-smooth contact dynamics method, 1999",
    .step = step,
};
