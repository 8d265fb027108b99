/* Where a run begins: a start that breaks a joint limit, overlaps or leaves a loop open is moved before the run, so that the
   run's energy is that of a motion. What was moved is said once. */
#include "subject.h"

kn_status kn_start_move(kn_subject* s) { return kn_start_repair(&s->start, &s->moved, s->state); }

static const char* where(char text[160], const kn_subject* s) {
  return kn_event_where(text, 160, s->model, &s->start);
}

void kn_start_json(kn_json* j, const kn_subject* s) {
  kn_body body[2];
  char text[160];
  if (!s->moved) return;
  kn_json_begin(j, "start");
  kn_json_array(j, "bodies");
  for (int k = 0, bodies = kn_event_bodies(body, s->model, &s->start); k < bodies; k++)
    kn_json_text(j, NULL, kn_body_name(s->model, body[k]));
  kn_json_end(j);
  kn_json_text(j, "where", where(text, s));
  kn_json_number(j, "raised", s->start.value);
  kn_json_end(j);
}

void kn_start_print(FILE* out, const kn_subject* s) {
  char text[160];
  if (!s->moved) return;
  fprintf(
      out,
      "  start       moved before the run, %.3g J higher (%s): it broke a joint limit, overlapped or left a "
      "loop open,\n              and the nearest position that is allowed took its place. To choose another "
      "start: --keyframe NAME,\n              --drop 0.1, or coordinates in a study file (`knuckle study "
      "init MODEL` writes one)\n",
      s->start.value, where(text, s));
}
