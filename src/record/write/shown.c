/* A step for other programs (shown.h). Forces that the motion leaves open are nearest to those shown before. */
#include "record/write/shown.h"

#include "base/error.h"
#include "model/model.h"
#include "record/write/mcap.h"

enum { JUDGED = 64 }; /* contacts; the work grows with the cube */

struct kn_shown {
  const kn_model* model;
  kn_state* state;
  kn_data* data;
  kn_force_chooser* chooser;
  kn_contact_load* load;
  kn_load_sum* sum;
  int sums, room;
  double v_rest, *v;            /* v: nv, after the step before */
  kn_body body[KN_BODIES_MOST]; /* those that can touch; none: they are too many */
  bool touched[KN_BODIES_MOST]; /* when shown last, or never shown */
  int bodies;
  kn_bytes message;
};

static void find_bodies(kn_shown* s) {
  const kn_model* m = s->model;
  for (kn_body b = 0; b < m->nbody; b++) {
    bool has = false;
    for (int g = 0; g < m->ngeom && !has; g++)
      has = m->geom[g].body == b && (m->geom[g].contype || m->geom[g].conaffinity);
    if (!has) continue;
    if (s->bodies == KN_BODIES_MOST) {
      s->bodies = 0;
      return;
    }
    s->touched[s->bodies] = true;
    s->body[s->bodies++] = b;
  }
}

kn_status kn_shown_create(kn_shown** out, const kn_model* model, kn_force_choice choice, double v_rest) {
  kn_shown* s = *out = calloc(1, sizeof *s);
  if (!s) return kn_fail(KN_OUT_OF_MEMORY, "no memory to record");
  s->model = model;
  s->v_rest = v_rest;
  find_bodies(s);
  s->v = calloc((size_t)model->nv + 1, sizeof *s->v);
  kn_status status =
      s->v ? kn_state_create(&s->state, model) : kn_fail(KN_OUT_OF_MEMORY, "no memory to record");
  if (status == KN_OK) status = kn_data_create(&s->data, model);
  if (status == KN_OK) status = kn_force_chooser_create(&s->chooser, model, choice);
  if (status == KN_OK) return KN_OK;
  kn_shown_destroy(s);
  *out = NULL;
  return status;
}

void kn_shown_destroy(kn_shown* s) {
  if (!s) return;
  kn_force_chooser_destroy(s->chooser);
  kn_data_destroy(s->data);
  kn_state_destroy(s->state);
  free(s->load), free(s->sum), free(s->v), free(s->message.at);
  free(s);
}

int kn_shown_end(const kn_shown* s) { return KN_CHANNEL_BODY + s->bodies; }

void kn_shown_channels(const kn_shown* s, kn_bytes* out) {
  char name[KN_NAME];
  for (int i = 0; i < s->bodies; i++)
    kn_mcap_body_channel(out, (uint16_t)(KN_CHANNEL_BODY + i), kn_scene_body(name, s->model, s->body[i]));
}

/* ---- a step ---- */

static bool make_room(kn_shown* s, int contacts) {
  if (contacts <= s->room) return true;
  kn_contact_load* load = realloc(s->load, (size_t)contacts * sizeof *load);
  if (load) s->load = load;
  kn_load_sum* sum = realloc(s->sum, 3 * (size_t)contacts * sizeof *sum);
  if (sum) s->sum = sum;
  if (load && sum) s->room = contacts;
  return load && sum;
}

void kn_shown_passed(kn_shown* s, const kn_snapshot* x) {
  memcpy(s->v, x->v, (size_t)s->model->nv * sizeof *s->v);
}

static bool place(kn_shown* s, const kn_snapshot* x, double back, const double* v) {
  memcpy(kn_state_v(s->state), v, (size_t)s->model->nv * sizeof(double));
  return kn_integrate(kn_state_q(s->state), s->model, x->q, x->v, -back) == KN_OK &&
         kn_kinematics(s->model, s->state, s->data) == KN_OK;
}

/* Half a step back the contacts were evaluated. */
static bool loads(kn_shown* s, const kn_snapshot* x) {
  const kn_report* r = &x->report;
  s->sums = 0;
  if (r->contacts == 0) return true;
  return make_room(s, r->contacts) && place(s, x, 0.5 * r->dt, x->v_before ? x->v_before : s->v) &&
         kn_contact_loads(s->load, r->contact, r->contacts, r->dt) == KN_OK &&
         kn_loads_land(s->load, s->model, s->data, r->contact, r->contacts, s->v_rest, r->dt) == KN_OK &&
         kn_forces_choose(s->load, s->chooser, s->data, r->contact, r->contacts) == KN_OK &&
         kn_load_sums(s->sum, &s->sums, 3 * s->room, r->contact, s->load, r->contacts) == KN_OK &&
         (r->contacts > JUDGED || kn_loads_judge(s->load, s->sum, s->sums, s->model, s->data, r->contact,
                                                 r->contacts, r->limit_impulse, x->v) == KN_OK);
}

/* Forces on bodies: of those that touch, and once more when they no longer do. */
static void put_bodies(kn_shown* s, double t, kn_shown_put put, void* context) {
  for (int i = 0; i < s->bodies; i++) {
    const kn_load_sum* sum = NULL;
    for (int k = 0; k < s->sums && !sum; k++)
      if (s->sum[k].a == s->body[i] && s->sum[k].b == KN_ANY_BODY) sum = &s->sum[k];
    if (!sum && !s->touched[i]) continue;
    s->touched[i] = sum != NULL;
    s->message.n = 0;
    kn_series_body(&s->message, t, sum);
    put(context, (uint16_t)(KN_CHANNEL_BODY + i), &s->message);
  }
}

bool kn_shown_shapes(kn_shown* s, kn_shown_put put, void* context) {
  s->message.n = 0;
  kn_scene_shapes(&s->message, s->model, 0.0);
  put(context, KN_CHANNEL_SCENE, &s->message);
  return !s->message.failed;
}

bool kn_shown_step(kn_shown* s, const kn_snapshot* x, kn_shown_put put, void* context) {
  kn_bytes* b = &s->message;
  if (!loads(s, x) || !place(s, x, 0.0, x->v)) return false;
  b->n = 0, kn_scene_transforms(b, s->model, s->data, x->time), put(context, KN_CHANNEL_TF, b);
  b->n = 0, kn_scene_contacts(b, s->model, &x->report, s->load, x->time), put(context, KN_CHANNEL_SCENE, b);
  b->n = 0, kn_series_joints(b, s->model, x), put(context, KN_CHANNEL_JOINTS, b);
  b->n = 0, kn_series_contacts(b, s->model, x, s->load), put(context, KN_CHANNEL_CONTACTS, b);
  b->n = 0, kn_series_energy(b, x), put(context, KN_CHANNEL_ENERGY, b);
  b->n = 0, kn_series_report(b, x), put(context, KN_CHANNEL_REPORT, b);
  if (x->sensors) b->n = 0, kn_series_sensors(b, s->model, x), put(context, KN_CHANNEL_SENSORS, b);
  put_bodies(s, x->time, put, context);
  return !b->failed;
}
