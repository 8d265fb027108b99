#include "loads.h"

#include <stdlib.h>
#include <string.h>

#include "knuckle/model.h"

typedef struct all {
  kn_loads seen; /* first: what the others know of it */
  const kn_model* model;
  kn_state* state;
  kn_data* data;
  double* q;
  kn_force_chooser* chooser;
  kn_contact_load* load;
  kn_load_sum* sum;
  int64_t step;
  int room; /* contacts */
  double v_rest;
  bool judged;
} all;

kn_force_choice kn_forces_asked(const kn_args* args) {
  const char* which = kn_arg_text(args, "--forces");
  return which[0] == 'l' ? KN_FORCES_LEAST : which[0] == 's' ? KN_FORCES_SOLVED : KN_FORCES_NEAREST;
}

kn_force_choice kn_forces_of_stepper(kn_force_choice choice, const char* stepper, bool split) {
  return stepper && strcmp(stepper, "time") == 0 && !split ? choice : KN_FORCES_SOLVED;
}

kn_loads* kn_loads_create(const kn_recording* in, kn_force_choice choice) {
  all* f = calloc(1, sizeof *f);
  if (!f) return NULL;
  f->model = kn_recording_model(in);
  f->step = -1;
  const char *split = kn_recording_setting(in, "split_impacts"), *rest = kn_recording_setting(in, "v_rest");
  f->v_rest = rest ? strtod(rest, NULL) : -1.0;
  choice =
      kn_forces_of_stepper(choice, kn_recording_setting(in, "stepper"), split && strcmp(split, "1") == 0);
  f->q = calloc((size_t)kn_model_nq(f->model) + 1, sizeof *f->q);
  if (f->q && kn_state_create(&f->state, f->model) == KN_OK && kn_data_create(&f->data, f->model) == KN_OK &&
      kn_force_chooser_create(&f->chooser, f->model, choice) == KN_OK)
    return &f->seen;
  kn_loads_free(&f->seen);
  return NULL;
}

void kn_loads_free(kn_loads* loads) {
  all* f = (all*)loads;
  if (!f) return;
  kn_state_destroy(f->state);
  kn_data_destroy(f->data);
  kn_force_chooser_destroy(f->chooser);
  free(f->q), free(f->load), free(f->sum);
  free(f);
}

static bool make_room(all* f, int contacts) {
  if (contacts <= f->room) return true;
  kn_contact_load* load = realloc(f->load, (size_t)contacts * sizeof *load);
  if (load) f->load = load;
  kn_load_sum* sum = realloc(f->sum, 3 * (size_t)contacts * sizeof *sum);
  if (sum) f->sum = sum;
  f->seen.load = f->load, f->seen.sum = f->sum;
  if (load && sum) f->room = contacts;
  return load && sum;
}

/* Kinematics where the step evaluated its contacts, half a step from its beginning; the velocities are those before. */
static bool middle(all* f, const kn_recorded* s) {
  memcpy(kn_state_v(f->state), s->v_before, (size_t)kn_model_nv(f->model) * sizeof(double));
  return kn_integrate(f->q, f->model, s->q_before, s->v_before, 0.5 * s->dt) == KN_OK &&
         (memcpy(kn_state_q(f->state), f->q, (size_t)kn_model_nq(f->model) * sizeof(double)),
          kn_kinematics(f->model, f->state, f->data) == KN_OK);
}

static bool fresh(all* f, const kn_recorded* s) {
  f->judged = false;
  f->step = -1;
  if (kn_contact_loads(f->load, s->contact, s->contacts, s->dt) != KN_OK || !middle(f, s) ||
      kn_loads_land(f->load, f->model, f->data, s->contact, s->contacts, f->v_rest, s->dt) != KN_OK ||
      kn_forces_choose(f->load, f->chooser, f->data, s->contact, s->contacts) != KN_OK ||
      kn_load_sums(f->sum, &f->seen.sums, 3 * f->room, s->contact, f->load, s->contacts) != KN_OK)
    return false;
  f->step = s->step;
  return true;
}

bool kn_loads_of(kn_loads* loads, const kn_recorded* s, bool judge) {
  all* f = (all*)loads;
  bool ok = f && make_room(f, s->contacts) && (f->step == s->step || fresh(f, s));
  if (ok && judge && !f->judged)
    f->judged = ok = kn_loads_judge(f->load, f->sum, f->seen.sums, f->model, f->data, s->contact, s->contacts,
                                    s->limit_impulse, s->v) == KN_OK;
  if (f && !ok) f->seen.failed = true;
  return ok;
}
