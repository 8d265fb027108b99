/* The plotted channels of a recording (shown.h). Field numbers are those of the table in proto.c. */
#include "record/write/shown.h"

#include <stdio.h>

#include "knuckle/sensor.h"
#include "model/model.h"

static const char* answer(kn_answer a) {
  return a == KN_ANSWER_YES ? "yes" : a == KN_ANSWER_NO ? "no" : "undecided";
}

/* Joints with one coordinate, as robots report them; where free bodies are is in /tf. */
void kn_series_joints(kn_bytes* b, const kn_model* m, const kn_snapshot* s) {
  kn_proto_time(b, 1, s->time);
  for (int j = 0; j < m->njoint; j++) {
    int q, nq, v, nv;
    char name[KN_NAME];
    if (kn_model_joint_address(&q, &nq, &v, &nv, m, j) != KN_OK || nq != 1) continue;
    const char* own = kn_joint_name(m, j);
    snprintf(name, sizeof name, "%s", own ? own : "");
    if (!name[0]) snprintf(name, sizeof name, "joint%d", j);
    size_t start = kn_proto_begin(b, 2);
    kn_proto_text(b, 1, name);
    kn_proto_number(b, 2, s->q[q]);
    kn_proto_number(b, 3, s->v[v]);
    kn_proto_number(b, 4, s->tau[v]);
    kn_proto_end(b, start);
  }
}

static void contact(kn_bytes* b, const kn_model* m, const kn_contact* c, const kn_contact_load* l) {
  static const double none[3] = {0, 0, 0};
  char name[KN_NAME];
  kn_proto_text(b, 1, kn_scene_geom(name, m, c->geom_a));
  kn_proto_text(b, 2, kn_scene_geom(name, m, c->geom_b));
  kn_proto_text(b, 3, kn_scene_body(name, m, c->body_a));
  kn_proto_text(b, 4, kn_scene_body(name, m, c->body_b));
  kn_proto_vector(b, 5, c->point);
  kn_proto_vector(b, 6, l->impulse ? none : l->world);
  kn_proto_vector(b, 7, l->impulse ? l->world : none);
  kn_proto_number(b, 8, l->impulse ? 0.0 : l->normal);
  kn_proto_number(b, 9, l->impulse ? 0.0 : l->tangential);
  kn_proto_number(b, 10, l->impulse ? 0.0 : l->local[1]);
  kn_proto_number(b, 11, l->impulse ? 0.0 : l->local[2]);
  kn_proto_number(b, 12, c->gap);
  kn_proto_text(b, 13, kn_contact_mode_name(c));
  kn_proto_count(b, 14, l->impulse);
  kn_proto_text(b, 15, answer(l->determinate));
}

/* Forces (N) of contacts that last, impulses (N s) of what collides; on A, in world axes. */
void kn_series_contacts(kn_bytes* b, const kn_model* m, const kn_snapshot* s, const kn_contact_load* load) {
  kn_proto_time(b, 1, s->time);
  for (int i = 0; i < s->report.contacts; i++) {
    size_t start = kn_proto_begin(b, 2);
    contact(b, m, &s->report.contact[i], &load[i]);
    kn_proto_end(b, start);
  }
}

void kn_series_body(kn_bytes* b, double t, const kn_load_sum* sum) {
  kn_proto_time(b, 1, t);
  if (!sum) return;
  for (int k = 0; k < 3; k++) kn_proto_number(b, 2 + k, sum->force[k]);
  kn_proto_number(b, 5, sum->normal);
  kn_proto_number(b, 6, sum->tangential);
  kn_proto_number(b, 7, sum->impulse_normal);
  kn_proto_count(b, 8, (uint64_t)sum->contacts);
  kn_proto_text(b, 9, answer(sum->determinate));
}

void kn_series_energy(kn_bytes* b, const kn_snapshot* s) {
  const kn_energy* e = &s->report.energy;
  kn_proto_time(b, 1, s->time);
  kn_proto_number(b, 2, e->kinetic);
  kn_proto_number(b, 3, e->potential);
  kn_proto_number(b, 4, e->spring);
  kn_proto_number(b, 5, e->kinetic + e->potential + e->spring);
}

void kn_series_report(kn_bytes* b, const kn_snapshot* s) {
  const kn_report* r = &s->report;
  kn_proto_time(b, 1, s->time);
  kn_proto_count(b, 2, (uint64_t)r->contacts);
  kn_proto_number(b, 3, r->residual);
  kn_proto_number(b, 4, r->penetration);
  kn_proto_number(b, 5, r->closure);
  kn_proto_count(b, 6, (uint64_t)r->iterations);
  kn_proto_count(b, 7, (uint64_t)r->events);
  kn_proto_text(b, 8, kn_verdict_name(r->verdict.kind));
}

/* One number is x; quaternions are w, x, y, z. */
void kn_series_sensors(kn_bytes* b, const kn_model* m, const kn_snapshot* s) {
  kn_proto_time(b, 1, s->time);
  for (int i = 0; i < m->sense.count; i++) {
    const double* x = s->sensors + kn_sensor_first(m, i);
    const char* own = kn_sensor_name(m, i);
    int n = kn_sensor_dim(m, i);
    char name[KN_NAME];
    snprintf(name, sizeof name, "%s", own ? own : "");
    if (!name[0]) snprintf(name, sizeof name, "sensor%d", i);
    size_t start = kn_proto_begin(b, 2);
    kn_proto_text(b, 1, name);
    kn_proto_text(b, 2, kn_sensor_unit(m, i));
    if (n == 4) kn_proto_number(b, 6, x[0]);
    for (int k = n == 4; k < n; k++) kn_proto_number(b, 3 + k - (n == 4), x[k]);
    kn_proto_end(b, start);
  }
}
