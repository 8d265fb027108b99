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
    size_t start = kn_proto_begin(b, 2);
    kn_proto_text(b, 1, kn_scene_name(name, kn_joint_name(m, j), "joint", j));
    kn_proto_numbers(b, 2, (double[]){s->q[q], s->v[v], s->tau[v]}, 3);
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
  if (!l->impulse) kn_proto_numbers(b, 8, (double[]){l->normal, l->tangential, l->local[1], l->local[2]}, 4);
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
  kn_proto_numbers(b, 2, sum->force, 3);
  kn_proto_numbers(b, 5, (double[]){sum->normal, sum->tangential, sum->impulse_normal}, 3);
  kn_proto_count(b, 8, (uint64_t)sum->contacts);
  kn_proto_text(b, 9, answer(sum->determinate));
}

void kn_series_energy(kn_bytes* b, const kn_snapshot* s) {
  const kn_energy* e = &s->report.energy;
  kn_proto_time(b, 1, s->time);
  double total = e->kinetic + e->potential + e->spring;
  kn_proto_numbers(b, 2, (double[]){e->kinetic, e->potential, e->spring, total}, 4);
}

void kn_series_report(kn_bytes* b, const kn_snapshot* s) {
  const kn_report* r = &s->report;
  kn_proto_time(b, 1, s->time);
  kn_proto_count(b, 2, (uint64_t)r->contacts);
  kn_proto_numbers(b, 3, (double[]){r->residual, r->penetration, r->closure}, 3);
  kn_proto_count(b, 6, (uint64_t)r->iterations);
  kn_proto_count(b, 7, (uint64_t)r->events);
  kn_proto_text(b, 8, kn_verdict_name(r->verdict.kind));
}

/* One number is x; quaternions are w, x, y, z. */
void kn_series_sensors(kn_bytes* b, const kn_model* m, const kn_snapshot* s) {
  kn_proto_time(b, 1, s->time);
  for (int i = 0; i < m->sense.count; i++) {
    const double* x = s->sensors + kn_sensor_first(m, i);
    int n = kn_sensor_dim(m, i), turns = n == 4;
    char name[KN_NAME];
    size_t start = kn_proto_begin(b, 2);
    kn_proto_text(b, 1, kn_scene_name(name, kn_sensor_name(m, i), "sensor", i));
    kn_proto_text(b, 2, kn_sensor_unit(m, i));
    if (turns) kn_proto_number(b, 6, x[0]);
    kn_proto_numbers(b, 3, x + turns, n - turns);
    kn_proto_end(b, start);
  }
}
