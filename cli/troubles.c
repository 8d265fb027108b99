#include "troubles.h"

enum { SENTENCE = 600 };

/* joint3: one without a name, as `knuckle check` lists it. */
static void write_name(kn_json* j, const char* kind, const char* name, int index) {
  char own[32];
  snprintf(own, sizeof own, "%s%d", kind, index);
  kn_json_text(j, kind, name && name[0] ? name : own);
}

static void write_kind(kn_json* j, const kn_model* m, const kn_trouble_sum* sum) {
  const kn_event* e = &sum->worst;
  char text[3 * SENTENCE], sentence[SENTENCE];
  kn_body body[2];
  int bodies = kn_event_bodies(body, m, e);
  kn_trouble_sentence(sentence, sizeof sentence, m, sum);
  snprintf(text, sizeof text, "%s Seen %s. %s", kn_trouble_meaning(e->trouble), sentence,
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
  if (e->joint >= 0) write_name(j, "joint", kn_joint_name(m, e->joint), e->joint);
  if (e->loop >= 0) write_name(j, "loop", kn_loop_name(m, e->loop), e->loop);
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

void kn_troubles_markdown(FILE* out) {
  fputs(
      "# Troubles\n\n"
      "Written by `knuckle help --troubles` from the table in `include/knuckle/trouble.h`; a test keeps it "
      "up to "
      "date.\n\n"
      "A step always leaves a valid state. What it could not do as it should is a trouble: an event with its "
      "kind, time, place (bodies,\n"
      "geoms, joint or loop, contact key), value and limit. A step names each kind once, with its worst "
      "value. "
      "`knuckle run` prints a\n"
      "summary by kind and ends with exit status 1; `knuckle demo` does the same, and `knuckle verify` of "
      "the "
      "recording too: recordings\n"
      "hold the troubles, and thinned ones (`--record-every`) every step that had one. In `run --json`, "
      "`status` is `ok`, `trouble` or\n"
      "`interrupted`, and `troubles` lists kind, first time `t`, `bodies`, worst `value`, its `limit`, "
      "`text` and "
      "`count` of steps.\n"
      "In C: `kn_event.trouble`, `kn_trouble_name`, `kn_trouble_count` (include/knuckle/trouble.h, "
      "step.h).\n\n"
      "| kind | unit | what it means | what to do |\n|---|---|---|---|\n",
      out);
  for (int k = 0; k < KN_TROUBLE_COUNT; k++) {
    kn_trouble_kind kind = (kn_trouble_kind)k;
    fprintf(out, "| `%s` | %s | %s | %s |\n", kn_trouble_name(kind), kn_trouble_unit(kind),
            kn_trouble_meaning(kind), kn_trouble_advice(kind));
  }
  fputs(
      "\n## Limits\n\n"
      "- `residual`: the tolerance asked for, but no less than 1e-8 (1e-6 for heaps of more than 200 "
      "contacts): there the solver itself is\n"
      "  content once only slow methods are left. What is wrong by less than 1e-12 m/s is nothing.\n"
      "- `overlap`: 1e-9 m or rad, the promise of [evidence.md](evidence.md); heaps gtol. `loop-open`: 1e-7, "
      "the "
      "digits of anchors and axes\n"
      "  in model files.\n"
      "- `integration-energy`, `correction-energy`, `energy-rise`, `start-repaired`: 1e-3 of the energy "
      "scale. Of `integration-energy` what landings lost in the same step is taken off: by as much nobody "
      "gained anything. `stopped`: 1e-6 of it in one step.\n\n"
      "## Does the energy add up?\n\n"
      "F = kinetic + potential + spring energy + what compliant contacts have stored − work that went in "
      "(actuators, applied forces,\n"
      "prescribed motion, and what the caller changed between two steps) can only fall in a run that creates "
      "no "
      "energy.\n"
      "`energy.rise` of `run --json` is its largest rise above its lowest value so far, in J; `rise_rel` the "
      "same "
      "over `scale`:\n"
      "the largest kinetic energy or the range of potential and spring energy so far, at least the weight "
      "times "
      "100 gtol (1 cm).\n"
      "`by` says where it came from: between the lowest value and the top of the rise F changed by contact + "
      "damping + integration +\n"
      "correction. `max_gain_rel` is the audit of the contact forces alone ([contact.md](contact.md)). In C: "
      "`kn_report.rise`.\n",
      out);
}
