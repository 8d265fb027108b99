/* Stage 9: where the step ends. Poses in data, and with them the energies there, which the ledger reads: both
   come from one sweep of the tree.

     kn_end_arrive      at q̂, before the position repair
     kn_end_corrected   at the repaired position
     kn_end_energy      there, after the velocities changed

   A tiny correction leaves the poses in data where they were (flow.behind) until kn_end_corrected; what keep_energy.c
   does leaves them elsewhere (flow.elsewhere, commit.c) until a reader asks for them (kn_end_catch_up). Called by time.c,
   theta.c, and sim.c for readers. */
#include "step/sim.h"

void kn_end_arrive(kn_sim* s, const double* v) {
  double t0 = kn_stage_clock(s);
  kn_data_swap(s->data);
  kn_dyn_arrive(&s->book.energy_hat, s->data, s->model, s->frame.q_hat, v);
  kn_stage_book(s, &s->report.time.audit, t0);
}

void kn_end_corrected(kn_sim* s, kn_flow* f, const double* v) {
  if (s->report.correction == 0.0) {
    kn_energy_copy(&s->book.energy_now, &s->book.energy_hat);
    return;
  }
  if (f->behind)
    kn_dyn_arrive(&s->book.energy_now, s->data, s->model, s->frame.q_hat, v);
  else
    kn_dyn_energy_here(&s->book.energy_now, s->data, s->model, s->frame.q_hat, v);
  f->behind = false;
}

void kn_end_energy(kn_sim* s) {
  kn_dyn_energy(&s->book.energy_now, s->data, s->model, s->frame.q_hat, s->frame.v_plus);
}

void kn_end_catch_up(kn_sim* s) {
  kn_energy unused;
  if (s->past.poses_elsewhere) kn_dyn_arrive(&unused, s->data, s->model, s->frame.q_hat, s->frame.v_plus);
  s->past.poses_elsewhere = false;
}
