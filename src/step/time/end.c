/* Stage 9: where the step ends. Poses in data, and with them the energies there, which the ledger reads: both
   come from one sweep of the tree.

     kn_end_arrive      at q̂, before the position repair
     kn_end_corrected   at the repaired position
     kn_end_energy      there, after the velocities changed

   A tiny correction may leave the poses in data where they were, and so does keep_energy.c
   (s->repair.moved_on); who needs them asks for them (kn_end_catch_up). Called by time.c, theta.c and the repair. */
#include "dynamics/tree/data.h"
#include "step/sim.h"

void kn_end_arrive(kn_sim* s, const double* v) {
  double t0 = kn_stage_clock(s);
  kn_data_swap(s->data);
  s->repair.moved_on = false;
  if (!s->settings.ledger) {
    kn_dyn_position(s->data, s->model, s->frame.q_hat);
    return;
  }
  kn_dyn_arrive(&s->book.energy_hat, s->data, s->model, s->frame.q_hat, v);
  kn_stage_book(s, &s->report.time.audit, t0);
}

void kn_end_corrected(kn_sim* s, const double* v) {
  if (s->settings.ledger && s->report.correction == 0.0) {
    kn_energy_copy(&s->book.energy_now, &s->book.energy_hat);
    return;
  }
  if (s->repair.moved_on)
    kn_dyn_arrive(&s->book.energy_now, s->data, s->model, s->frame.q_hat, v);
  else
    kn_dyn_energy_here(&s->book.energy_now, s->data, s->model, s->frame.q_hat, v);
  s->repair.moved_on = false;
}

void kn_end_energy(kn_sim* s) {
  kn_dyn_energy(&s->book.energy_now, s->data, s->model, s->frame.q_hat, s->frame.v_plus);
}

void kn_end_catch_up(kn_sim* s) {
  kn_energy unused;
  if (s->repair.moved_on) kn_dyn_arrive(&unused, s->data, s->model, s->frame.q_hat, s->frame.v_plus);
  s->repair.moved_on = false;
}
