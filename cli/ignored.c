/* What a model file asks for and the run does without: unsupported features and doubtful data, with their
   lines. The loader lists them; run, demo, compare, diagnose and certify say them once. */
#include <string.h>

#include "subject.h"

static int count(const kn_subject* s, kn_note_kind kind) {
  int n = 0;
  for (int i = 0; i < kn_load_notes(s->report); i++) n += kn_load_note(s->report, i)->kind == kind;
  return n;
}

static void print_kind(FILE* out, const kn_subject* s, kn_note_kind kind, const char* label) {
  enum { SHOWN = 8 };
  int shown = 0, all = count(s, kind);
  for (int i = 0; i < kn_load_notes(s->report) && shown < SHOWN; i++) {
    const kn_note* n = kn_load_note(s->report, i);
    if (n->kind != kind) continue;
    fprintf(out, "  %-11s %s: %s\n", shown++ ? "" : label, n->where, n->what);
  }
  if (all > SHOWN)
    fprintf(out, "  %-11s and %d more: knuckle check %s lists all\n", "", all - SHOWN, s->name);
}

void kn_ignored_print(FILE* out, const kn_subject* s) {
  print_kind(out, s, KN_NOTE_UNSUPPORTED, "ignored");
  print_kind(out, s, KN_NOTE_WARNING, "warning");
}

static void json_kind(kn_json* j, const kn_load_report* report, const char* key, kn_note_kind kind) {
  kn_json_array(j, key);
  for (int i = 0; i < kn_load_notes(report); i++) {
    const kn_note* n = kn_load_note(report, i);
    if (n->kind != kind) continue;
    kn_json_begin(j, NULL);
    kn_json_text(j, "where", n->where);
    kn_json_text(j, "what", n->what);
    kn_json_end(j);
  }
  kn_json_end(j);
}

void kn_notes_json(kn_json* j, const kn_load_report* report) {
  json_kind(j, report, "unsupported", KN_NOTE_UNSUPPORTED);
  json_kind(j, report, "warnings", KN_NOTE_WARNING);
}

void kn_ignored_fact(char* text, size_t room, const kn_subject* s) {
  int shown = 0, all = count(s, KN_NOTE_UNSUPPORTED) + count(s, KN_NOTE_WARNING);
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < kn_load_notes(s->report) && used < room; i++) {
    const kn_note* n = kn_load_note(s->report, i);
    size_t need = strlen(n->where) + strlen(n->what) + 4;
    if (n->kind == KN_NOTE_INFO || used + need + 40 > room) continue;
    used += (size_t)snprintf(text + used, room - used, "%s%s: %s", shown++ ? "; " : "", n->where, n->what);
  }
  if (shown < all && used < room)
    snprintf(text + used, room - used, "%s%d more (knuckle check)", shown ? "; and " : "", all - shown);
}
