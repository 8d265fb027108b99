/* Many steps in one call: kn_step_many, kn_rollout_run; and a simulator like another one: kn_sim_clone. */
#include "knuckle/run.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "step/carry.h"

static kn_status one(kn_run* run, kn_sim* s, kn_state* x) {
  KN_TRY(kn_step(s, x));
  if (!run) return KN_OK;
  const kn_report* r = &s->report;
  run->steps++;
  run->residual = kn_max(run->residual, r->residual);
  run->penetration = kn_max(run->penetration, r->penetration);
  if (r->events) kn_trouble_count(&run->trouble, r->event, r->events);
  return KN_OK;
}

kn_status kn_step_many(kn_run* run, kn_sim* sim, kn_state* state, int64_t n) {
  KN_REQUIRE(sim != NULL && state != NULL && n >= 0);
  for (int64_t i = 0; i < n; i++) KN_TRY(one(run, sim, state));
  return KN_OK;
}

static kn_status check_rows(const double* x, int64_t rows, int columns, const char* what) {
  if (!x || columns == 0) return KN_OK;
  for (int64_t i = 0; i < rows * columns; i++)
    if (!isfinite(x[i]))
      return kn_fail(KN_NOT_FINITE, "rollout: %s[%lld][%d] is %g", what, (long long)(i / columns),
                     (int)(i % columns), x[i]);
  return KN_OK;
}

static void keep(const kn_rollout* a, int64_t row, const kn_state* x) {
  size_t nq = (size_t)x->model->nq, nv = (size_t)x->model->nv;
  if (a->q) memcpy(a->q + (size_t)row * nq, x->q, nq * sizeof(double));
  if (a->v) memcpy(a->v + (size_t)row * nv, x->v, nv * sizeof(double));
  if (a->t) a->t[row] = x->time;
}

kn_status kn_rollout_run(kn_run* run, kn_sim* sim, kn_state* state, const kn_rollout* a) {
  KN_REQUIRE(sim != NULL && state != NULL && a != NULL && a->steps >= 0 && a->every >= 1);
  size_t nu = (size_t)sim->model->nu, nv = (size_t)sim->model->nv;
  KN_TRY(check_rows(a->ctrl, a->steps, sim->model->nu, "ctrl"));
  KN_TRY(check_rows(a->force, a->steps, sim->model->nv, "force"));
  for (int64_t i = 0; i < a->steps; i++) {
    if (a->ctrl) memcpy(state->ctrl, a->ctrl + (size_t)i * nu, nu * sizeof(double));
    if (a->force) memcpy(state->force, a->force + (size_t)i * nv, nv * sizeof(double));
    KN_TRY(one(run, sim, state));
    if ((i + 1) % a->every == 0) keep(a, (i + 1) / a->every - 1, state);
  }
  return KN_OK;
}

/* What runs on beside the state goes from one to the other. */
static kn_status carry_over(kn_sim* to, const kn_sim* from) {
  kn_carry carry;
  KN_TRY(kn_carry_create(&carry, from->model));
  kn_status status = kn_carry_take(&carry, from);
  if (status == KN_OK) kn_carry_give(to, &carry);
  kn_carry_destroy(&carry);
  return status;
}

kn_status kn_sim_clone(kn_sim** clone, const kn_sim* sim) {
  KN_REQUIRE(clone != NULL);
  *clone = NULL;
  KN_REQUIRE(sim != NULL);
  kn_sim* s;
  kn_sim_settings settings = sim->settings;
  if (!settings.max_contacts) settings.contact_room = sim->room.contacts; /* it may have grown */
  KN_TRY(kn_sim_create(&s, sim->model, &settings));
  s->settings.contact_room = sim->settings.contact_room;
  kn_sim_set_controller(s, &sim->controller);
  kn_status status = carry_over(s, sim);
  if (status != KN_OK)
    kn_sim_destroy(s);
  else
    *clone = s;
  return status;
}
