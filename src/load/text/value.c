/* Numbers, lists, keywords and booleans of attributes, with errors that name file, line, column and what was
   expected (value.h). Numbers are read in the C locale whatever the program's is. */
#define _GNU_SOURCE
#include "load/text/value.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/plain.h"
#include "model/nearest_name.h"

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool kn_value_number(double* out, const char** at) {
  const char* p = *at;
  char* end;
  const char* q = p + (*p == '-' || *p == '+');
  if (!((*q >= '0' && *q <= '9') || (*q == '.' && q[1] >= '0' && q[1] <= '9'))) return false;
  if (q[0] == '0' && (q[1] == 'x' || q[1] == 'X')) return false;
  double v = kn_text_to_double(p, &end);
  if (end == p || !isfinite(v)) return false;
  *out = v;
  *at = end;
  return true;
}

/* The next word of a value for messages, at most 40 characters. */
static const char* word(char buffer[44], const char* p) {
  int n = 0;
  while (p[n] && !blank(p[n]) && n < 40) n++;
  memcpy(buffer, p, (size_t)n);
  buffer[n] = 0;
  return buffer;
}

static kn_status wrong_count(const kn_xml_attr* attr, int got, int least, int most) {
  const char* more = most != INT_MAX && got > most ? "more than " : "";
  if (least == most)
    return kn_xml_fail_at(attr, "attribute \"%s\" has %s%d number%s, expected %d", attr->name, more,
                          *more ? most : got, (*more ? most : got) == 1 ? "" : "s", least);
  if (most == INT_MAX)
    return kn_xml_fail_at(attr, "attribute \"%s\" has %d numbers, expected at least %d", attr->name, got,
                          least);
  return kn_xml_fail_at(attr, "attribute \"%s\" has %s%d number%s, expected %d to %d", attr->name, more,
                        *more ? most : got, (*more ? most : got) == 1 ? "" : "s", least, most);
}

/* Numbers of a model that can be meant: beyond these products of some of them overflow or lose all digits, and
   the engine could only say so without a line. Attributes of MJCF and URDF by name, blanks around each. */
typedef struct range {
  const char* names;
  double least, most; /* of the size of a number that is not 0 */
  const char* unit;
} range;

static const range ranges[] = {
    {" timestep ", 1e-12, 1e3, "s"},
    {" mass value ", 1e-30, 1e30, "kg"}, /* value: <mass> in URDF */
    {" density ", 1e-30, 1e30, "kg/m³"},
    {" diaginertia ixx iyy izz ", 1e-40, 1e40, "kg m²"},
    {" fullinertia ixy ixz iyz ", 0.0, 1e40, "kg m²"},
    {" size radius length ", 1e-12, 1e12, "m"},
    {" pos xyz fromto vertex ", 0.0, 1e12, "m"},
    {" scale refpos anchor ", 0.0, 1e12, ""},
    {" gravity ", 0.0, 1e12, "m/s²"},
    {" friction stiffness damping armature frictionloss kp kv gear ", 0.0, 1e30, ""},
};

static const range* range_of(const char* name) {
  static const range any = {"", 0.0, 1.7976931348623157e308, ""};
  char word[64];
  if (snprintf(word, sizeof word, " %s ", name) >= (int)sizeof word) return &any;
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (strstr(ranges[i].names, word)) return &ranges[i];
  return &any;
}

static kn_status check_range(const kn_xml_attr* attr, double v) {
  const range* r = range_of(attr->name);
  double size = fabs(v), least = fmax(r->least, 2.2250738585072014e-308); /* denormals lose digits */
  if (size == 0.0 || (size >= least && size <= r->most)) return KN_OK;
  return kn_xml_fail_at(attr, "%g in attribute \"%s\" is too %s, expected 0 or a size between %g and %g%s%s",
                        v, attr->name, size < least ? "small" : "large", least, r->most, *r->unit ? " " : "",
                        r->unit);
}

static kn_status scan(double* out, int capacity, int* count, const kn_xml_attr* attr, char kind, int least,
                      int most) {
  const char* p = attr->value;
  int n = 0;
  char buffer[44];
  for (;;) {
    while (blank(*p)) p++;
    if (!*p) break;
    const char* start = p;
    double v;
    if (!kn_value_number(&v, &p) || (*p && !blank(*p)))
      return kn_xml_fail_at(
          attr, "\"%s\" in attribute \"%s\" is not a finite number, expected numbers separated by blanks",
          word(buffer, start), attr->name);
    if (kind == 'i' && (v != floor(v) || fabs(v) > INT_MAX))
      return kn_xml_fail_at(attr, "\"%s\" in attribute \"%s\" is not an integer of 32 bits",
                            word(buffer, start), attr->name);
    if (n == most) return wrong_count(attr, n + 1, least, most);
    if (kind == 'r') KN_TRY(check_range(attr, v));
    if (n < capacity) out[n] = v;
    n++;
  }
  if (n < least) return wrong_count(attr, n, least, most);
  if (count) *count = n;
  return KN_OK;
}

kn_status kn_value_reals(double* out, int* count, const kn_xml_attr* attr, int least, int most) {
  if (count) *count = 0;
  return attr ? scan(out, most, count, attr, 'r', least, most) : KN_OK;
}

kn_status kn_value_real(double* out, const kn_xml_attr* attr) {
  return kn_value_reals(out, NULL, attr, 1, 1);
}

kn_status kn_value_bound(double* out, const kn_xml_attr* attr) {
  KN_TRY(kn_value_real(out, attr));
  if (!attr || *out >= 0.0) return KN_OK;
  return kn_xml_fail_at(attr, "%s is %g, expected a number >= 0", attr->name, *out);
}

kn_status kn_value_ints(int* out, int* count, const kn_xml_attr* attr, int least, int most) {
  double v[16];
  int n;
  if (count) *count = 0;
  if (!attr) return KN_OK;
  KN_TRY(scan(v, 16, &n, attr, 'i', least, most));
  for (int i = 0; i < n && i < 16; i++) out[i] = (int)v[i];
  if (count) *count = n;
  return KN_OK;
}

kn_status kn_value_check(const kn_xml_attr* attr, char kind, int least, int most) {
  return scan(NULL, 0, NULL, attr, kind, least, most);
}

kn_status kn_value_array(double** out, int* count, kn_hoard* pool, const kn_xml_attr* attr) {
  KN_TRY(scan(NULL, 0, count, attr, 'r', 0, INT_MAX));
  *out = kn_hoard_take(pool, ((size_t)*count + 1) * sizeof **out);
  if (!*out)
    return kn_fail_at(KN_OUT_OF_MEMORY, attr->file, attr->line, attr->column, "no memory for %d numbers",
                      *count);
  return scan(*out, *count, count, attr, 'r', 0, INT_MAX);
}

kn_status kn_value_bool(bool* out, const kn_xml_attr* attr) {
  int k = *out;
  KN_TRY(kn_value_keyword(&k, attr, "false|true"));
  *out = k == 1;
  return KN_OK;
}

static bool listed(int* index, const char* value, const char* list) {
  size_t n = strlen(value);
  int k = 0;
  for (const char* p = list;; k++) {
    size_t m = strcspn(p, "|");
    if (m == n && strncmp(p, value, n) == 0) {
      *index = k;
      return true;
    }
    if (!p[m]) return false;
    p += m + 1;
  }
}

kn_status kn_value_keyword(int* out, const kn_xml_attr* attr, const char* list) {
  if (!attr || listed(out, attr->value, list)) return KN_OK;
  char options[300], given[44];
  size_t n = 0;
  for (const char* p = list; *p && n + 3 < sizeof options; p++) {
    if (*p == '|')
      options[n++] = ',', options[n++] = ' ';
    else
      options[n++] = *p;
  }
  options[n] = 0;
  size_t m = strlen(attr->value);
  memcpy(given, attr->value, m > 40 ? 40 : m);
  given[m > 40 ? 40 : m] = 0;
  return kn_xml_fail_at(attr, "attribute \"%s\" is \"%s\", expected one of: %s", attr->name, given, options);
}

int kn_value_near(const char* a, const char* b) {
  int n = (int)strnlen(a, 64), limit = n <= 3 ? 1 : n <= 6 ? 2 : 3;
  int d = kn_edit_distance(a, b, limit);
  return d > limit ? -1 : d;
}
