/* Public functions of sensors (knuckle/sensor.h): memory, units, and the order of evaluation. Called by the user
   after a step, by the recorder for every recorded one, and by the verifier. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "step/sense/sense.h"
#include "step/sim.h"

static const struct {
  const char *name, *unit, *doc;
} types[KN_SENSOR_TYPE_COUNT] = {
#define X(id, name, dim, unit, doc) {name, unit, doc},
    KN_SENSOR_LIST(X)
#undef X
};

const char* kn_sensor_type_name(kn_sensor_type type) {
  return (unsigned)type < KN_SENSOR_TYPE_COUNT ? types[type].name : NULL;
}

const char* kn_sensor_type_doc(kn_sensor_type type) {
  return (unsigned)type < KN_SENSOR_TYPE_COUNT ? types[type].doc : NULL;
}

int kn_model_sensor_numbers(const kn_model* m) { return m ? m->sense.first[m->sense.count] : 0; }

int kn_sensor_first(const kn_model* m, kn_sensor sensor) {
  return m && sensor >= 0 && sensor < m->sense.count ? m->sense.first[sensor] : 0;
}

int kn_sensor_dim(const kn_model* m, kn_sensor sensor) {
  return m && sensor >= 0 && sensor < m->sense.count ? m->sense.first[sensor + 1] - m->sense.first[sensor]
                                                     : 0;
}

/* Does the sensor look at something that moves along a line? */
static bool is_length(const kn_model* m, const kn_sensor_def* d) {
  kn_joint joint = d->joint;
  if (d->type >= KN_SENSOR_ACTUATOR_POS) {
    const kn_actuator_def* a = &m->actuator[d->actuator];
    if (!a->joints) return a->site_gear[0] != 0.0 || a->site_gear[1] != 0.0 || a->site_gear[2] != 0.0;
    joint = a->joint[0];
  }
  return m->joint[joint].type == KN_JOINT_SLIDE ||
         (m->joint[joint].type == KN_JOINT_FREE && d->type >= KN_SENSOR_ACTUATOR_POS &&
          m->actuator[d->actuator].dof[0] < 3);
}

const char* kn_sensor_unit(const kn_model* m, kn_sensor sensor) {
  if (!m || sensor < 0 || sensor >= m->sense.count) return NULL;
  const kn_sensor_def* d = &m->sense.sensor[sensor];
  const char* unit = types[d->type].unit;
  if (!strchr(unit, '*')) return unit;
  bool length = is_length(m, d);
  if (unit[0] == 'N') return length ? "N" : "N m";
  return unit[1] ? (length ? "m/s" : "rad/s") : length ? "m" : "rad";
}

/* ---- memory ---- */

static void carve(kn_sensors* s, kn_arena* a) {
  const kn_model* m = s->model;
  s->body = KN_TAKE(a, kn_sense_body, m->nbody);
  s->link = KN_TAKE(a, kn_sense_link, m->nlink);
  KN_TAKE_EACH(a, double, m->nv, &s->tau, &s->act, &s->qdd, &s->control);
}

static bool needs_forces(kn_sensor_type t) {
  return t == KN_SENSOR_ACCELEROMETER || t == KN_SENSOR_FORCE || t == KN_SENSOR_TORQUE ||
         t == KN_SENSOR_FRAME_LINACC || t == KN_SENSOR_FRAME_ANGACC;
}

kn_status kn_sensors_create(kn_sensors** out, const kn_model* m) {
  KN_REQUIRE(out != NULL);
  *out = NULL;
  KN_REQUIRE(m != NULL);
  kn_sensors* s = calloc(1, sizeof *s);
  if (!s) return kn_fail(KN_OUT_OF_MEMORY, "no memory for sensors");
  s->model = m;
  for (int i = 0; i < m->sense.count; i++) {
    kn_sensor_type t = m->sense.sensor[i].type;
    s->wants_forces |= needs_forces(t);
    s->wants_quats |= t == KN_SENSOR_FRAME_QUAT;
    s->wants_energy |= t == KN_SENSOR_KINETIC;
  }
  kn_status status;
  KN_ARENA_CARVE(status, &s->arena, carve(s, a));
  if (status == KN_OK) status = kn_data_create(&s->data, m);
  if (status != KN_OK) {
    kn_sensors_destroy(s);
    return status;
  }
  kn_data_in_space(s->data);
  *out = s;
  return KN_OK;
}

void kn_sensors_destroy(kn_sensors* s) {
  if (!s) return;
  kn_data_destroy(s->data);
  kn_arena_destroy(&s->arena);
  free(s);
}

/* ---- reading ---- */

static kn_status check(const kn_sensors* s, const kn_state* x, const kn_sensor_loads* loads) {
  KN_REQUIRE(x->model == s->model);
  if (!loads) return KN_OK;
  KN_REQUIRE(loads->dt > 0.0 && loads->contacts >= 0);
  KN_REQUIRE(loads->contact != NULL || loads->contacts == 0);
  for (int i = 0; i < loads->contacts; i++) {
    const kn_contact* c = &loads->contact[i];
    KN_REQUIRE(c->body_a >= KN_WORLD && c->body_a < s->model->nbody);
    KN_REQUIRE(c->body_b >= KN_WORLD && c->body_b < s->model->nbody);
  }
  return KN_OK;
}

kn_status kn_sensors_read(double* out, kn_sensors* s, const kn_state* x, const kn_sensor_loads* loads) {
  KN_REQUIRE(s != NULL && x != NULL);
  KN_REQUIRE(out != NULL || s->model->sense.count == 0);
  KN_TRY(check(s, x, loads));
  const kn_model* m = s->model;
  KN_TRY(kn_kinematics(m, x, s->data));
  kn_sense_place(s);
  KN_TRY(kn_actuator_force(s->act, m, x, s->data));
  if (s->wants_quats) kn_sense_quats(s, x->q);
  if (s->wants_forces) KN_TRY(kn_sense_forces(s, x, loads));
  if (s->wants_energy) KN_TRY(kn_energy_of(&s->energy, m, x, s->data));
  for (int i = 0; i < m->sense.count; i++)
    kn_sense_value(out + m->sense.first[i], s, &m->sense.sensor[i], x, loads);
  return KN_OK;
}

kn_status kn_sim_sensors(double* out, kn_sim* s, const kn_state* x) {
  KN_REQUIRE(s != NULL && x != NULL);
  KN_REQUIRE(x->model == s->model);
  if (!s->sensors) return KN_OK;
  const kn_report* r = &s->report;
  kn_sensor_loads loads = {.dt = r->dt,
                           .contacts = r->contacts,
                           .contact = r->contact,
                           .limit_impulse = r->limit_impulse,
                           .loop_impulse = r->loop_impulse,
                           .dry_impulse = r->dry_impulse};
  bool follows = r->dt > 0.0 && kn_ledger_continues(s, x);
  if (follows && s->controller.fn) { /* what it added to the applied forces */
    double* control = s->sensors->control;
    for (int i = 0; i < s->model->nv; i++) control[i] = s->force.tau_applied[i] - x->force[i];
    loads.control = control;
  }
  return kn_sensors_read(out, s->sensors, x, follows ? &loads : NULL);
}
