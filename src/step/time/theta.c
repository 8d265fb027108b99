/* The θ-scheme of Moreau and Jean (M. Jean 1999; Siconos' MoreauJeanOSI):

     (M + θ dt D + θ² dt² K) (v⁺ - v) = dt (f(q, v) - θ dt K v) + Jᵀ p,     everything at q
     contacts with gap + dt/2 u <= 0 take part:  0 <= u_n⁺ + e u_n ⊥ p_n >= 0 (Newton's law), Coulomb
     q⁺ = q ⊕ dt (θ v⁺ + (1 - θ) v)

   Restitution is Newton's whatever the impact law chosen. With positions repaired the gap stays closed;
   without, it is open or closed by the scheme's own O(dt) as in the reference codes. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "step/sim.h"

static kn_status gather(kn_sim* s, kn_state* x, double dt) {
  KN_TRY(kn_stage_find(s, x->q, x->time + dt, dt));
  kn_rows_velocity(s->u_before, s->data, s->model, s->found.geometry, s->found.count, x->v);
  KN_TRY(kn_stage_keep_loops(s, s->keep));
  for (int g = 0; g < s->found.count; g++) {
    const kn_row_tag* tag = &s->found.tag[g];
    double u = s->u_before[tag->row];
    if (tag->kind == KN_ROW_CONTACT) {
      const kn_contact* c = &s->contact[tag->index];
      s->keep[g] = c->gap + 0.5 * dt * u <= 0.0;
      s->found.bias[tag->row] = kn_restitution(s, c, -u) * u;
      s->impacting[tag->index] = s->keep[g] && c->e > 0.0 && u < -kn_rest_speed(s, 0.0, dt);
    } else if (tag->kind == KN_ROW_LIMIT) {
      s->keep[g] = kn_limit_gap(s->model, tag->index, x->q) + 0.5 * dt * u <= 0.0;
      s->report.limits += s->keep[g];
    } else if (tag->kind == KN_ROW_LOOP) {
      s->report.loops += tag->rows;
    }
  }
  return kn_row_islands(s, s->keep);
}

static kn_status step(kn_sim* s, kn_state* x, double dt) {
  const kn_model* m = s->model;
  double theta = s->settings.theta;
  s->implicit = (kn_implicit){.d = theta, .kv = theta * dt, .kdv = theta * theta * dt};
  kn_report_begin(s, x, dt);
  memcpy(s->q_mid, x->q, (size_t)m->nq * sizeof(double));
  kn_dyn_position(s->data, m, x->q);
  kn_dyn_velocity(s->data, m, x->v);
  KN_TRY(kn_detect(s->contact, &s->contacts, s->detector, s->data, s->settings.gtol + s->settings.margin, dt,
                   kn_state_find_block(x, "pairs")));
  KN_TRY(kn_stage_forces(s, x, x->time, x->q, x->v, dt));
  KN_TRY(kn_dyn_factor(s->data, m, s->extra));
  memcpy(s->v_mean, x->v, (size_t)m->nv * sizeof(double));
  kn_free_velocity_at(s, x, dt);
  KN_TRY(gather(s, x, dt));
  kn_rows_velocity(s->u_before, s->data, m, s->set.geometry, s->set.count, x->v);
  kn_rows_velocity(s->u_free, s->data, m, s->set.geometry, s->set.count, s->v_free);
  KN_TRY(kn_stage_solve(s, x, dt));
  kn_rows_velocity(s->u_plus, s->data, m, s->set.geometry, s->set.count, s->v_plus);
  memcpy(s->compression, s->lambda, (size_t)s->set.rows * sizeof(double));
  kn_report_rows(s, dt);
  kn_warm_save(s, x);
  for (int i = 0; i < m->nv; i++) s->v_mean[i] = theta * s->v_plus[i] + (1.0 - theta) * x->v[i];
  kn_dyn_integrate(s->q_hat, m, x->q, s->v_mean, dt);
  kn_ledger_flight(s, x, s->v_plus, dt);
  kn_anchor_advance(s, x, dt);
  KN_TRY(kn_stage_project(s, x, s->q_hat, x->time + dt));
  kn_ledger_correct(s, s->v_plus);
  kn_anchor_update(s, x);
  if (s->settings.projection) KN_TRY(kn_stage_project_velocity(s, s->q_hat, s->v_plus, x->time + dt));
  if (s->settings.projection) kn_ledger_velocity(s);
  kn_report_end(s, x, s->q_hat, s->v_plus, x->time + dt);
  kn_stage_bodies_end(s, x, true);
  return KN_OK;
}

const kn_stepper kn_stepper_theta = {
    .name = "theta",
    .doc = "the θ-scheme of Moreau and Jean, Newton's restitution",
    .citation = "M. Jean, The non-smooth contact dynamics method, 1999",
    .step = step,
};
