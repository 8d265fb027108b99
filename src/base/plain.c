#define _GNU_SOURCE
#include "base/plain.h"

#include <stdbool.h>
#include <stdlib.h>

/* The C locale, made once; zero where there is no memory for it. */
static locale_t c_locale(void) {
  static locale_t locale;
  locale_t have = __atomic_load_n(&locale, __ATOMIC_ACQUIRE);
  if (have) return have;
  locale_t fresh = newlocale(LC_ALL_MASK, "C", (locale_t)0), none = (locale_t)0;
  if (!__atomic_compare_exchange_n(&locale, &none, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    freelocale(fresh);
    return none;
  }
  return fresh;
}

double kn_text_to_double(const char* text, char** end) {
  locale_t c = c_locale();
  return c ? strtod_l(text, end, c) : strtod(text, end);
}

locale_t kn_plain_begin(void) {
  locale_t c = c_locale();
  return c ? uselocale(c) : (locale_t)0;
}

void kn_plain_end(locale_t before) {
  if (before) uselocale(before);
}
