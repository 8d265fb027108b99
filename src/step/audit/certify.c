/* The energy certificate of a scene's next impact: one step is taken with a copy of the state while an
   observer looks at the impact problems it sets up. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "step/sim.h"

typedef struct observer {
  kn_sim* sim;
  kn_sim_certificate* out;
  const double* e;
  kn_repair repair;
  kn_status status;
} observer;

static void describe(observer* o, const kn_impact_problem* p, const int* rows, int k) {
  for (int j = 0; j < k; j++) {
    o->out->approach[j] = p->u_before[rows[j]];
    for (int g = p->first; g < p->first + p->count; g++) {
      const kn_row_tag* tag = &p->set->tag[g];
      if (tag->kind != KN_ROW_CONTACT || tag->row - p->set->tag[p->first].row != rows[j]) continue;
      o->out->contact[j] = o->sim->touch.contact[tag->index];
    }
  }
}

/* Keeps the worst island. */
static void look(const kn_impact_problem* p, void* context) {
  observer* o = context;
  kn_sim_certificate* out = o->out;
  static const int max = KN_CERTIFY_CONTACTS;
  double *W = malloc((size_t)max * max * sizeof(double)), e[KN_CERTIFY_CONTACTS], fixed[KN_CERTIFY_CONTACTS];
  int k = 0, *rows = malloc((size_t)max * sizeof(int));
  kn_energy_certificate energy;
  kn_status status = W && rows ? kn_impact_certificate(W, e, rows, &k, p)
                               : kn_fail(KN_OUT_OF_MEMORY, "certificate: out of memory");
  if (status == KN_OK && o->e && k > 0) memcpy(e, o->e, (size_t)k * sizeof(double));
  if (status == KN_OK && k > 0) status = kn_certify(&energy, fixed, k, W, e, o->repair);
  if (status == KN_OK && k > 0) {
    out->islands++;
    bool worse = out->contacts == 0 || energy.rho > out->energy.rho + 1e-12 ||
                 (energy.rho > out->energy.rho - 1e-12 && k > out->contacts);
    if (worse) {
      out->contacts = k;
      out->energy = energy;
      memcpy(out->e, e, (size_t)k * sizeof(double));
      memcpy(out->e_repaired, fixed, (size_t)k * sizeof(double));
      memcpy(out->W, W, (size_t)k * (size_t)k * sizeof(double));
      describe(o, p, rows, k);
      if (out->velocity && !energy.consistent) kn_impact_velocity(out->velocity, energy.velocity, p);
    }
  }
  if (o->status == KN_OK) o->status = status;
  free(W), free(rows);
}

static kn_status run_step(observer* o, kn_state* x) {
  kn_sim* s = o->sim;
  kn_report report = s->report;
  double kinetic_max = s->book.kinetic_max, potential_min = s->book.potential_min,
         potential_max = s->book.potential_max;
  s->work->watcher.impact = look;
  s->work->watcher.impact_context = o;
  kn_status status = kn_step(s, x);
  s->work->watcher.impact = NULL;
  s->report.total = report.total;
  s->report.gain_rel = report.gain_rel;
  s->book.kinetic_max = kinetic_max, s->book.potential_min = potential_min,
  s->book.potential_max = potential_max;
  return o->status != KN_OK ? o->status : status;
}

kn_status kn_sim_certify(kn_sim_certificate* out, kn_sim* s, const kn_state* state, const double* e,
                         kn_repair repair) {
  KN_REQUIRE(out && s && state && state->model == s->model);
  double* velocity = out->velocity;
  memset(out, 0, sizeof *out);
  out->velocity = velocity;
  out->t = state->time;
  KN_TRY(kn_impact_reserve(s->work, kn_impact_law_find("projection")));
  kn_state* x;
  KN_TRY(kn_state_create(&x, s->model));
  observer o = {.sim = s, .out = out, .e = e, .repair = repair};
  kn_status status = kn_state_copy(x, state);
  if (status == KN_OK) status = run_step(&o, x);
  kn_state_destroy(x);
  if (status == KN_OK && out->contacts == 0)
    status = kn_fail(KN_NOT_FOUND, "no contact collides in the step after t = %g s", state->time);
  return status;
}
