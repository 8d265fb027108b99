#include "troubles.h"

enum { SENTENCE = 600 };

static void write_kind(kn_json* j, const kn_model* m, const kn_trouble_sum* sum) {
  const kn_event* e = &sum->worst;
  char text[3 * SENTENCE], sentence[SENTENCE];
  kn_body body[2];
  int bodies = kn_event_bodies(body, m, e);
  kn_trouble_sentence(sentence, sizeof sentence, m, sum);
  snprintf(text, sizeof text, "%s %s %s", kn_trouble_meaning(e->trouble), sentence,
           kn_trouble_advice(e->trouble));
  kn_json_begin(j, NULL);
  kn_json_text(j, "kind", kn_trouble_name(e->trouble));
  kn_json_number(j, "t", sum->first);
  kn_json_array(j, "bodies");
  for (int i = 0; i < bodies; i++) kn_json_text(j, NULL, kn_body_name(m, body[i]));
  kn_json_end(j);
  kn_json_number(j, "value", e->value);
  kn_json_number(j, "limit", e->limit);
  kn_json_text(j, "text", text);
  kn_json_int(j, "count", sum->count);
  kn_json_text(j, "unit", kn_trouble_unit(e->trouble));
  kn_json_number(j, "t_worst", e->t);
  if (e->joint >= 0) kn_json_text(j, "joint", kn_joint_name(m, e->joint));
  if (e->loop >= 0) kn_json_text(j, "loop", kn_loop_name(m, e->loop));
  if (e->geom_a >= 0 && e->geom_b >= 0) {
    kn_json_array(j, "geoms");
    kn_json_text(j, NULL, kn_geom_name(m, e->geom_a));
    kn_json_text(j, NULL, kn_geom_name(m, e->geom_b));
    kn_json_end(j);
  }
  kn_json_end(j);
}

void kn_troubles_json(kn_json* j, const kn_model* m, const kn_trouble_tally* t) {
  kn_json_array(j, "troubles");
  for (int k = 0; k < KN_TROUBLE_COUNT; k++)
    if (t->kind[k].count) write_kind(j, m, &t->kind[k]);
  kn_json_end(j);
}

void kn_troubles_print(FILE* out, const kn_model* m, const kn_trouble_tally* t) {
  char sentence[SENTENCE];
  for (int k = 0; k < KN_TROUBLE_COUNT; k++) {
    if (!t->kind[k].count) continue;
    kn_trouble_kind kind = (kn_trouble_kind)k;
    fprintf(out, "  trouble     %s %s\n", kn_trouble_name(kind),
            kn_trouble_sentence(sentence, sizeof sentence, m, &t->kind[k]));
    fprintf(out, "              %s\n              %s\n", kn_trouble_meaning(kind), kn_trouble_advice(kind));
  }
}
