/* Sensors of a recorded step: their values again, from the recorded state, inputs and forces. The one check that is
   made with the library's own code (src/step/sense, which is compared with MuJoCo): it finds values that do not
   belong to their step, not errors of that code. Called by verify.c. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "knuckle/sensor.h"
#include "record/verify/verify.h"

kn_status kn_verify_sensors_create(kn_verifier* v) {
  const kn_model* m = v->model;
  if (!kn_model_sensors(m)) return KN_OK;
  KN_TRY(kn_sensors_create(&v->sensors, m));
  KN_TRY(kn_state_create(&v->state, m));
  v->sensed = calloc((size_t)kn_model_sensor_numbers(m) + 1, sizeof(double));
  return v->sensed ? KN_OK : kn_fail(KN_OUT_OF_MEMORY, "no memory to verify sensors");
}

void kn_verify_sensors_destroy(kn_verifier* v) {
  kn_sensors_destroy(v->sensors);
  kn_state_destroy(v->state);
  free(v->sensed);
}

static void copy(double* to, const double* from, int n) {
  if (n) memcpy(to, from, (size_t)n * sizeof *to);
}

void kn_verify_sensors(kn_verifier* v, const kn_recorded* s) {
  if (!v->sensors || !s->sensors) return;
  const kn_model* m = v->model;
  kn_sensor_loads loads = {.dt = s->dt,
                           .contacts = s->contacts,
                           .contact = s->contact,
                           .limit_impulse = s->limit_impulse,
                           .loop_impulse = s->loop_impulse,
                           .dry_impulse = s->dry_impulse,
                           .control = s->control};
  copy(kn_state_q(v->state), s->q, m->nq);
  copy(kn_state_v(v->state), s->v, m->nv);
  copy(kn_state_ctrl(v->state), s->ctrl, m->nu);
  copy(kn_state_force(v->state), s->force, m->nv);
  kn_state_set_time(v->state, s->t);
  double off = kn_sensors_read(v->sensed, v->sensors, v->state, &loads) == KN_OK ? 0.0 : NAN;
  for (int i = 0; i < kn_model_sensor_numbers(m) && !isnan(off); i++) {
    double d = fabs(v->sensed[i] - s->sensors[i]) / fmax(1.0, fabs(v->sensed[i]));
    off = isnan(d) ? d : fmax(off, d);
  }
  kn_verifier_report(v, s->step, KN_CHECK_SENSORS, off,
                     1e-12); /* the same code on the same numbers: rounding */
}
