/* Setting the last-error text. Usage: return kn_fail(KN_BAD_ARGUMENT, "body %d: mass %g", i, m); */
#pragma once

#include "knuckle/status.h"

kn_status kn_fail(kn_status status, const char* format, ...) __attribute__((cold, format(printf, 2, 3)));

/* The same about a place in a text file: "file:line:column: " goes before the sentence. */
kn_status kn_fail_at(kn_status status, const char* file, int line, int column, const char* format, ...)
    __attribute__((cold, format(printf, 5, 6)));

/* Returns from the calling function when an expression fails. */
#define KN_TRY(expr)                                                                                         \
  do {                                                                                                       \
    kn_status kn_try_status_ = (expr);                                                                       \
    if (__builtin_expect(kn_try_status_ != KN_OK, 0)) return kn_try_status_;                                 \
  } while (0)

/* Argument check at the public surface. */
#define KN_REQUIRE(cond)                                                                                     \
  do {                                                                                                       \
    if (!(cond)) return kn_fail(KN_BAD_ARGUMENT, "%s: expected %s", __func__, #cond);                        \
  } while (0)
