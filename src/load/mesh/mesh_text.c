/* Words and numbers of the text formats. Numbers do not depend on the locale: short ones are converted
   exactly by integer arithmetic and one correctly rounded operation (Clinger 1990), long ones by strtod in
   the C locale. */
#include <math.h>
#include <stdlib.h>

#include "base/plain.h"
#include "load/mesh/mesh_reader.h"

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

/* Skips blanks within the line, including a backslash that joins the next line. */
static void skip_blanks(kn_text* t) {
  for (;;) {
    while (t->at < t->end && is_blank(*t->at)) t->at++;
    if (t->at == t->end || *t->at != '\\') return;
    const char* p = t->at + 1;
    while (p < t->end && *p == '\r') p++;
    if (p == t->end || *p != '\n') return;
    t->at = p + 1;
    t->line++;
  }
}

void kn_text_next_line(kn_text* t) {
  const char* p = memchr(t->at, '\n', (size_t)(t->end - t->at));
  t->at = p ? p + 1 : t->end;
  t->line += p != NULL;
}

size_t kn_text_word(kn_text* t, const char** word) {
  skip_blanks(t);
  const char* p = t->at;
  while (p < t->end && *p != '\n' && !is_blank(*p)) p++;
  *word = t->at;
  t->at = p;
  return (size_t)(p - *word);
}

size_t kn_text_word_any(kn_text* t, const char** word) {
  size_t n;
  while (!(n = kn_text_word(t, word))) {
    if (t->at == t->end) return 0;
    kn_text_next_line(t);
  }
  return n;
}

static int number_slow(double* out, const char* word, size_t length) {
  char buffer[512];
  if (length >= sizeof buffer) return 0;
  memcpy(buffer, word, length);
  buffer[length] = 0;
  char* stop;
  *out = kn_text_to_double(buffer, &stop);
  return stop == buffer + length && isfinite(*out);
}

/* The decimal exponent "e-12" at p; returns the end, or NULL when no digit follows. */
static const char* exponent(int* out, const char* p, const char* end) {
  int negative = 0, e = 0;
  if (p < end && (*p == '+' || *p == '-')) negative = *p++ == '-';
  const char* first = p;
  for (; p < end && *p >= '0' && *p <= '9'; p++)
    if (e < 100000) e = 10 * e + (*p - '0');
  *out = negative ? -e : e;
  return p == first ? NULL : p;
}

int kn_text_number(double* out, const char* word, size_t length) {
  static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char *p = word, *end = word + length;
  int negative = 0, digits = 0, significant = 0, scale = 0, e = 0;
  uint64_t m = 0;
  if (p < end && (*p == '+' || *p == '-')) negative = *p++ == '-';
  for (int point = 0; p < end; p++) {
    if (*p == '.' && !point) {
      point = 1;
    } else if (*p >= '0' && *p <= '9') {
      if (significant < 19) m = 10 * m + (uint64_t)(*p - '0');
      significant += significant || *p != '0';
      digits++;
      scale -= point;
    } else {
      break;
    }
  }
  if (!digits) return 0; /* also "nan", "inf" and hexadecimal text */
  if (p < end && (*p == 'e' || *p == 'E') && !(p = exponent(&e, p + 1, end))) return 0;
  if (p != end) return 0;
  e += scale;
  if (significant > 19 || m > (uint64_t)1 << 53 || e < -22 || e > 22) return number_slow(out, word, length);
  double x = e < 0 ? (double)m / ten[-e] : (double)m * ten[e];
  *out = negative ? -x : x;
  return 1;
}

size_t kn_text_integer(int32_t* out, const char* word, const char* end) {
  const char* p = word;
  int negative = 0;
  int64_t m = 0;
  if (p < end && (*p == '+' || *p == '-')) negative = *p++ == '-';
  const char* first = p;
  for (; p < end && *p >= '0' && *p <= '9'; p++) {
    m = 10 * m + (*p - '0');
    if (m > INT32_MAX) return 0;
  }
  if (p == first) return 0;
  *out = (int32_t)(negative ? -m : m);
  return (size_t)(p - word);
}
