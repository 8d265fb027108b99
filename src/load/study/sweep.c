/* The section `sweep` of a study: what changes from case to case, and what is kept. Called by study.c; the
   cases are run by the command line (cli/sweep) and from Python.

   The value of variable k in case i is a function of (i, k, seed) alone, so that any process can run any case:

     grid     i written in the mixed radix of the counts, the last variable fastest
     random   u = U(seed, k, i),                      value = from + u (to - from)
     latin    u = (P_k(i) + U(seed, k, i)) / cases,   P_k a permutation of the cases

   on a logarithmic range between ln from and ln to. P_k is a Feistel network over the next power of four,
   followed until it falls among the cases (cycle walking: Black and Rogaway 2002): no table, whatever the number
   of cases. Lists are entered at floor(u count). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/plain.h"
#include "base/rng.h"
#include "load/study/parts.h"
#include "math/elementary.h"

static const double most_cases =
    1e7; /* results and bookkeeping of more do not fit in the memory of one machine */

/* ---- reading ---- */

static kn_status read_values(kn_study_own* x, kn_study_vary* v, const kn_yaml* list) {
  const char** texts = NULL;
  int capacity = 0, count = 0;
  if (list->kind != KN_YAML_LIST || !list->child)
    return kn_xml_fail_at(&list->at, "\"values\" must be a list with something in it, expected [0.1, 0.2]");
  for (const kn_yaml* k = list->child; k; k = k->next) {
    if (k->kind != KN_YAML_SCALAR || !k->at.value[0])
      return kn_xml_fail_at(&k->at, "expected a number or a word");
    KN_STUDY_NEW(const char*, t, x, texts, count, capacity);
    *t = k->at.value;
  }
  v->value = texts;
  v->count = count;
  return KN_OK;
}

static kn_status read_range(kn_study_vary* v, const kn_yaml* n) {
  double count;
  const char* scale = "linear";
  KN_TRY(kn_study_number(&v->from, n, "from", -1e300, 1e300));
  KN_TRY(kn_study_number(&v->to, n, "to", -1e300, 1e300));
  KN_TRY(kn_study_number(&count, n, "count", 1.0, most_cases));
  KN_TRY(kn_study_choice(&scale, n, "scale", "linear|log"));
  if (isnan(v->from) || isnan(v->to))
    return kn_xml_fail_at(&n->at, "\"%.40s\" has no values, expected a list, or from: and to:", n->at.name);
  v->log = scale[1] == 'o';
  v->count = isnan(count) ? 0 : (int64_t)count;
  if (!isnan(count) && count != floor(count))
    return kn_xml_fail_at(&kn_yaml_get(n, "count")->at, "\"count\" must be a whole number");
  if (v->log && (v->from <= 0.0 || v->to <= 0.0))
    return kn_xml_fail_at(&n->at, "a logarithmic range from %g to %g, expected numbers above 0", v->from,
                          v->to);
  if (!(v->from < v->to))
    return kn_xml_fail_at(&n->at, "the range from %g to %g is empty, expected from < to", v->from, v->to);
  return KN_OK;
}

static kn_status read_vary(kn_study_own* x, kn_study_vary* v, const kn_yaml* n) {
  *v = (kn_study_vary){.name = n->at.name, .field = n->at.name, .line = n->key.line, .column = n->key.column};
  if (n->kind == KN_YAML_LIST) return read_values(x, v, n);
  if (n->kind == KN_YAML_SCALAR)
    return kn_xml_fail_at(&n->at, "\"%.40s\" has one value, expected a list or {from: 0, to: 1, count: 11}",
                          n->at.name);
  KN_TRY(kn_study_only(n, "field values from to count scale"));
  KN_TRY(kn_study_word(&v->field, n, "field"));
  const kn_yaml* values = kn_yaml_get(n, "values");
  return values ? read_values(x, v, values) : read_range(v, n);
}

static kn_status read_varies(kn_study_own* x, kn_study_sweep* w, const kn_yaml* n) {
  kn_study_vary* list = NULL;
  int capacity = 0;
  if (!n || n->kind != KN_YAML_MAP || !n->child)
    return kn_fail_at(KN_BAD_FILE, x->s.path, n ? n->at.line : w->line, n ? n->at.column : 1,
                      "a sweep without anything to vary, expected vary: {dt: [1e-3, 1e-4]}");
  for (const kn_yaml* k = n->child; k; k = k->next) {
    KN_STUDY_NEW(kn_study_vary, v, x, list, w->varies, capacity);
    KN_TRY(read_vary(x, v, k));
  }
  w->vary = list;
  return KN_OK;
}

static kn_status read_outputs(kn_study_own* x, kn_study_sweep* w, const kn_yaml* n) {
  kn_study_output* list = NULL;
  int capacity = 0;
  if (!n) return KN_OK;
  KN_TRY(kn_study_map(n));
  for (const kn_yaml* k = n->child; k; k = k->next) {
    if (k->kind != KN_YAML_SCALAR || !k->at.value[0])
      return kn_xml_fail_at(&k->at, "\"%.40s\" must be an expression, expected max(energy.total)",
                            k->at.name);
    KN_STUDY_NEW(kn_study_output, o, x, list, w->outputs, capacity);
    *o = (kn_study_output){k->at.name, k->at.value, k->at.line, k->at.column};
  }
  w->output = list;
  return KN_OK;
}

/* How many cases there are, and that every variable can give a value to each. */
static kn_status count_cases(kn_study_own* x, kn_study_sweep* w, double asked, const kn_yaml* n) {
  bool drawn = w->method == KN_SWEEP_RANDOM || w->method == KN_SWEEP_LATIN;
  double cases = drawn ? asked : w->method == KN_SWEEP_GRID ? 1.0 : (double)w->vary[0].count;
  if (drawn && isnan(asked))
    return kn_xml_fail_at(&n->at, "a random sweep without a number of cases, expected cases: 1000");
  if (!drawn && !isnan(asked))
    return kn_xml_fail_at(&kn_yaml_get(n, "cases")->key,
                          "\"cases\" follows from the values of a grid or a list");
  for (int k = 0; k < w->varies && !drawn; k++) {
    const kn_study_vary* v = &w->vary[k];
    if (v->count == 0)
      return kn_fail_at(KN_BAD_FILE, x->s.path, v->line, v->column,
                        "a range without a number of points, expected count: 11");
    if (w->method == KN_SWEEP_LIST && v->count != w->vary[0].count)
      return kn_fail_at(KN_BAD_FILE, x->s.path, v->line, v->column,
                        "%" PRId64 " values beside %" PRId64 " of \"%.40s\", expected lists of one length",
                        v->count, w->vary[0].count, w->vary[0].name);
    if (w->method == KN_SWEEP_GRID) cases *= (double)v->count;
  }
  if (cases > most_cases)
    return kn_xml_fail_at(&n->at, "%.3g cases, expected at most %.0g", cases, most_cases);
  w->cases = (int64_t)cases;
  return KN_OK;
}

kn_status kn_study_read_sweep(kn_study_own* x, const kn_yaml* n) {
  const char* method = "grid";
  double asked, seed;
  int which = 0;
  if (!n) return KN_OK;
  KN_TRY(kn_study_map(n));
  KN_TRY(kn_study_only(n, "method cases seed limit vary outputs"));
  kn_study_sweep* w = kn_hoard_take(&x->pool, sizeof *w);
  if (!w) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", x->s.path);
  w->line = n->key.line;
  KN_TRY(kn_study_choice(&method, n, "method", "grid|random|latin|list"));
  const kn_yaml* m = kn_yaml_get(n, "method");
  if (m) KN_TRY(kn_value_keyword(&which, &m->at, "grid|random|latin|list"));
  w->method = (kn_sweep_method)which;
  KN_TRY(kn_study_number(&asked, n, "cases", 1.0, most_cases));
  KN_TRY(kn_study_number(&seed, n, "seed", 0.0, 0x1p53));
  KN_TRY(kn_study_number(&w->limit, n, "limit", 1e-3, 1e7));
  w->seed = isnan(seed) ? 0 : (uint64_t)seed;
  KN_TRY(read_varies(x, w, kn_yaml_get(n, "vary")));
  KN_TRY(read_outputs(x, w, kn_yaml_get(n, "outputs")));
  KN_TRY(count_cases(x, w, asked, n));
  x->s.sweep = w;
  return KN_OK;
}

/* ---- values ---- */

static uint64_t draw(uint64_t seed, uint64_t k, uint64_t i) {
  uint64_t x = seed;
  x = kn_rng_mix(&x) ^ k;
  x = kn_rng_mix(&x) ^ i;
  return kn_rng_mix(&x);
}

/* A permutation of 0 … n - 1 that belongs to seed and k. */
static uint64_t permuted(uint64_t i, uint64_t n, uint64_t seed, uint64_t k) {
  int half = 1;
  while (((uint64_t)1 << (2 * half)) < n) half++;
  uint64_t mask = ((uint64_t)1 << half) - 1;
  do {
    uint64_t left = i >> half, right = i & mask;
    for (uint64_t round = 0; round < 6; round++) {
      uint64_t mixed = left ^ (draw(seed, (k << 8) + round + 1, right) & mask);
      left = right;
      right = mixed;
    }
    i = (left << half) | right;
  } while (i >= n);
  return i;
}

/* Where in its range, 0 … 1, variable k is in case i. */
static double position(const kn_study_sweep* w, int64_t i, int k) {
  double u = (double)(draw(w->seed, (uint64_t)k << 8, (uint64_t)i) >> 11) * 0x1p-53;
  if (w->method == KN_SWEEP_LATIN)
    u = ((double)permuted((uint64_t)i, (uint64_t)w->cases, w->seed, (uint64_t)k) + u) / (double)w->cases;
  return u < 1.0 ? u : 0x1.fffffffffffffp-1; /* the sum may round up */
}

/* Number of the value of variable k in case i of a grid or a list. */
static int64_t index_of(const kn_study_sweep* w, int64_t i, int k) {
  if (w->method == KN_SWEEP_LIST) return i;
  for (int j = w->varies - 1; j > k; j--) i /= w->vary[j].count;
  return i % w->vary[k].count;
}

static double in_range(const kn_study_vary* v, double u) {
  if (u <= 0.0) return v->from;
  if (u >= 1.0) return v->to;
  if (!v->log) return v->from + u * (v->to - v->from);
  double a = kn_log(v->from), b = kn_log(v->to);
  return kn_exp(a + u * (b - a));
}

static bool says(char* text, size_t room, int digits, double x) {
  snprintf(text, room, "%.*g", digits, x);
  char* comma = strchr(text, ','); /* the locale's */
  if (comma) *comma = '.';
  return kn_text_to_double(text, NULL) == x;
}

/* The shortest of the usual forms that reads back to the same bits. What fifteen digits do not say no fewer do: values that are drawn need sixteen or seventeen. */
static void number_text(char* text, size_t room, double x) {
  int digits = says(text, room, 15, x) ? 6 : 16;
  while (digits <= 17 && !says(text, room, digits, x)) digits++;
}

kn_status kn_sweep_value(char* text, size_t room, const kn_study_sweep* w, int64_t i, int k) {
  KN_REQUIRE(text != NULL && room >= 32 && w != NULL && i >= 0 && i < w->cases && k >= 0 && k < w->varies);
  const kn_study_vary* v = &w->vary[k];
  bool drawn = w->method == KN_SWEEP_RANDOM || w->method == KN_SWEEP_LATIN;
  double u = drawn ? position(w, i, k) : 0.0;
  int64_t at = drawn ? (int64_t)(u * (double)v->count) : index_of(w, i, k);
  if (v->value)
    snprintf(text, room, "%s", v->value[at]);
  else
    number_text(text, room,
                in_range(v, drawn          ? u
                            : v->count > 1 ? (double)at / (double)(v->count - 1)
                                           : 0.0));
  return KN_OK;
}
