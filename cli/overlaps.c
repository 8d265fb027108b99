/* What already overlaps when a run begins. Collision shapes of neighbouring links are often drawn larger than
   the gap between them; held apart by a hard law they would jam the robot, so pairs of one robot that overlap
   in its starting pose are left out of contact, and the user is told which. */
#include <stdlib.h>

#include "subject.h"

/* Less is rounding of a model file: the step repairs it. */
static const double rounding = 1e-12, shallow = 1e-6, deep = 1e-4; /* m */

static kn_body root_of(const kn_model* m, kn_body body) {
  kn_body_def def;
  while (body != KN_WORLD && kn_model_body(&def, m, body) == KN_OK && def.parent != KN_WORLD)
    body = def.parent;
  return body;
}

static bool one_robot(const kn_model* m, kn_body a, kn_body b) {
  return a != KN_WORLD && b != KN_WORLD && root_of(m, a) == root_of(m, b);
}

static bool neighbours(const kn_model* m, kn_body a, kn_body b) {
  kn_body_def def;
  return (kn_model_body(&def, m, a) == KN_OK && def.parent == b) ||
         (kn_model_body(&def, m, b) == KN_OK && def.parent == a);
}

/* Neighbours that overlap by rounding of their meshes do so along an axis where their joint cannot part them.
 */
static double least_depth(const kn_model* m, kn_body a, kn_body b) {
  return neighbours(m, a, b) ? rounding : deep;
}

static kn_overlap* slot(kn_subject* s, kn_body a, kn_body b) {
  for (int i = 0; i < s->overlaps; i++)
    if (s->overlap[i].a == a && s->overlap[i].b == b) return &s->overlap[i];
  s->overlap[s->overlaps] = (kn_overlap){.a = a, .b = b};
  return &s->overlap[s->overlaps++];
}

static kn_status list(kn_subject* s) {
  kn_sim* sim;
  const kn_contact* c;
  int count = 0;
  kn_sim_settings settings = s->settings;
  settings.max_contacts = 0; /* all of them, whatever a step may have */
  kn_status status = kn_sim_create(&sim, s->model, &settings);
  if (status != KN_OK) return status;
  status = kn_sim_contacts(&c, &count, sim, s->state, 0.0);
  if (status == KN_OK) s->overlap = calloc((size_t)count + 1, sizeof *s->overlap);
  if (status == KN_OK && !s->overlap) status = KN_OUT_OF_MEMORY;
  for (int i = 0; i < count && status == KN_OK; i++) {
    bool near =
        one_robot(s->model, c[i].body_a, c[i].body_b) && neighbours(s->model, c[i].body_a, c[i].body_b);
    if (c[i].gap > -(near ? rounding : shallow)) continue;
    kn_overlap* o = slot(s, c[i].body_a, c[i].body_b);
    if (-c[i].gap > o->depth) o->depth = -c[i].gap;
  }
  kn_sim_destroy(sim);
  return status;
}

kn_status kn_overlaps_find(bool* changed, kn_subject* s, bool leave_out) {
  kn_status status = list(s);
  for (int i = 0; i < s->overlaps && status == KN_OK && leave_out; i++) {
    kn_overlap* o = &s->overlap[i];
    if (!one_robot(s->model, o->a, o->b) || o->depth < least_depth(s->model, o->a, o->b)) continue;
    status = kn_spec_add_exclusion(s->spec, o->a, o->b);
    o->left_out = *changed = true;
  }
  return status;
}

void kn_overlaps_json(kn_json* j, const kn_subject* s) {
  kn_json_array(j, "overlaps");
  for (int i = 0; i < s->overlaps; i++) {
    kn_json_begin(j, NULL);
    kn_json_array(j, "bodies");
    kn_json_text(j, NULL, kn_body_name(s->model, s->overlap[i].a));
    kn_json_text(j, NULL, kn_body_name(s->model, s->overlap[i].b));
    kn_json_end(j);
    kn_json_number(j, "depth", s->overlap[i].depth);
    kn_json_bool(j, "left_out", s->overlap[i].left_out);
    kn_json_end(j);
  }
  kn_json_end(j);
}

void kn_overlaps_print(const kn_subject* s) {
  enum { SHOWN = 8 };
  for (int i = 0; i < s->overlaps && i < SHOWN; i++)
    printf("%s%s and %s by %.3g m%s\n",
           i ? "              " : "  overlaps    at the start: ", kn_body_name(s->model, s->overlap[i].a),
           kn_body_name(s->model, s->overlap[i].b), s->overlap[i].depth,
           s->overlap[i].left_out ? ", left out of contact" : "");
  int out = 0;
  for (int i = 0; i < s->overlaps; i++) out += s->overlap[i].left_out;
  if (out)
    printf("              links of one robot that overlap in its starting pose can never touch: no force, no "
           "gap and\n              no penetration is reported for them (--overlaps keep holds them apart)\n");
  if (s->overlaps > SHOWN) printf("              and %d more (--json lists all)\n", s->overlaps - SHOWN);
}
