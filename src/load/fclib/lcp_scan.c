/* A cursor over text for the LCP readers (fclib.h): numbers whatever the locale, and errors with line and
   column. */
#include "load/fclib/fclib.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "load/text/value.h"

kn_status kn_scan_fail(const kn_scan* t, const char* format, ...) {
  char text[256];
  int line = 1, column = 1;
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  for (const char* c = t->start; c < t->at; c++)
    if (*c == '\n')
      line++, column = 1;
    else
      column++;
  return kn_fail_at(KN_BAD_FILE, t->name, line, column, "%s", text);
}

void kn_scan_blanks(kn_scan* t) {
  while (t->at < t->end && (*t->at == ' ' || *t->at == '\t' || *t->at == '\n' || *t->at == '\r')) t->at++;
}

bool kn_scan_skip(kn_scan* t, char c) {
  kn_scan_blanks(t);
  if (t->at >= t->end || *t->at != c) return false;
  t->at++;
  return true;
}

kn_status kn_scan_expect(kn_scan* t, char c) {
  if (kn_scan_skip(t, c)) return KN_OK;
  return t->at < t->end ? kn_scan_fail(t, "expected '%c'", c)
                        : kn_scan_fail(t, "file ends, expected '%c'", c);
}

bool kn_scan_word(kn_scan* t, const char* word) {
  size_t n = strlen(word);
  if ((size_t)(t->end - t->at) < n || strncmp(t->at, word, n) != 0) return false;
  t->at += n;
  return true;
}

/* Numbers are copied first: the text need not end with a zero. */
kn_status kn_scan_number(double* out, kn_scan* t, const char* what) {
  char copy[512];
  size_t n = 0;
  kn_scan_blanks(t);
  while (n + 1 < sizeof copy && t->at + n < t->end && strchr("+-.0123456789eEinfaINFA", t->at[n]) &&
         t->at[n]) {
    copy[n] = t->at[n];
    n++;
  }
  copy[n] = 0;
  const char* end = copy;
  if (n == 0)
    return kn_scan_fail(t, t->at < t->end ? "expected %s, a number" : "file ends, expected %s", what);
  if (!kn_value_number(out, &end) || *end)
    return kn_scan_fail(t, "%s: \"%.40s\" is not a finite number", what, copy);
  t->at += n;
  return KN_OK;
}

static char unescape(char c) {
  return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
}

kn_status kn_scan_string(char* out, size_t size, kn_scan* t) {
  size_t n = 0;
  KN_TRY(kn_scan_expect(t, '"'));
  kn_scan start = *t;
  for (; t->at < t->end && *t->at != '"'; t->at++) {
    char c = *t->at;
    if ((unsigned char)c < ' ') return kn_scan_fail(t, "control character in a string");
    if (c == '\\') {
      if (++t->at >= t->end) break;
      if (!strchr("\"\\/bfnrtu", *t->at)) return kn_scan_fail(t, "unknown escape \\%c", *t->at);
      c = *t->at == 'u' ? '?' : unescape(*t->at);
      if (*t->at == 'u') t->at += t->end - t->at > 4 ? 4 : 0;
    }
    if (out && n + 1 < size) out[n++] = c;
  }
  if (t->at >= t->end) return kn_scan_fail(&start, "string without an end");
  t->at++;
  if (out && size) out[n] = 0;
  return KN_OK;
}

kn_status kn_scan_value(kn_scan* t, int depth) {
  kn_scan_blanks(t);
  if (depth > 64) return kn_scan_fail(t, "nested too deep");
  if (t->at >= t->end) return kn_scan_fail(t, "file ends, expected a value");
  char open = *t->at, close = open == '{' ? '}' : ']';
  if (open == '"') return kn_scan_string(NULL, 0, t);
  if (kn_scan_word(t, "null") || kn_scan_word(t, "true") || kn_scan_word(t, "false")) return KN_OK;
  double unused;
  if (open != '{' && open != '[') return kn_scan_number(&unused, t, "a value");
  t->at++;
  for (bool first = true; !kn_scan_skip(t, close); first = false) {
    if (!first) KN_TRY(kn_scan_expect(t, ','));
    if (open == '{') {
      KN_TRY(kn_scan_string(NULL, 0, t));
      KN_TRY(kn_scan_expect(t, ':'));
    }
    KN_TRY(kn_scan_value(t, depth + 1));
  }
  return KN_OK;
}
