/* The settings message of a recording is one flat JSON object whose values are texts without escapes: the
   recorder writes nothing else. Whatever is not that is not accepted. Called by the reader. */
#include "record/settings_text.h"

#include <string.h>

typedef struct scan {
  const char *at, *end;
  char* out;
} scan;

static char next(scan* s) { /* the next character that is not blank; 0 at the end */
  while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r')) s->at++;
  return s->at < s->end ? *s->at : 0;
}

static bool take(scan* s, char c) {
  if (next(s) != c) return false;
  s->at++;
  return true;
}

static bool text(scan* s, bool may_be_empty) {
  if (!take(s, '"')) return false;
  const char* first = s->at;
  while (s->at < s->end && *s->at != '"') {
    if (*s->at == '\\' || (unsigned char)*s->at < ' ') return false;
    *s->out++ = *s->at++;
  }
  *s->out++ = 0;
  return (may_be_empty || s->at > first) && take(s, '"');
}

const char* kn_settings_parse(kn_hoard* pool, kn_view bytes) {
  char* room = kn_hoard_take(pool, bytes.left + 1); /* quotes make the source longer than the texts */
  scan s = {(const char*)bytes.at, (const char*)bytes.at + bytes.left, room};
  if (!room || !take(&s, '{')) return NULL;
  if (next(&s) != '}') do
      if (!text(&s, false) || !take(&s, ':') || !text(&s, true)) return NULL;
    while (take(&s, ','));
  if (!take(&s, '}') || next(&s) != 0) return NULL;
  *s.out = 0;
  return room;
}

const char* kn_settings_find(const char* settings, const char* name) {
  for (const char *key = settings, *value; key && key[0]; key = value + strlen(value) + 1) {
    value = key + strlen(key) + 1;
    if (strcmp(key, name) == 0) return value;
  }
  return NULL;
}
