/* Status codes. Every public call that can fail returns one; kn_last_error() has the sentence. */
#ifndef KNUCKLE_STATUS_H
#define KNUCKLE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define KN_API __attribute__((visibility("default")))
#else
#define KN_API
#endif

#ifdef __cplusplus
#define KN_BEGIN_DECLS extern "C" {
#define KN_END_DECLS   }
#else
#define KN_BEGIN_DECLS
#define KN_END_DECLS
#endif

KN_BEGIN_DECLS

/* clang-format off */
#define KN_STATUS_LIST(X)                                                     \
  X(OK,            "done")                                                    \
  X(BAD_ARGUMENT,  "an argument is NULL, out of range or not finite")         \
  X(OUT_OF_MEMORY, "memory could not be had")                                 \
  X(NO_ROOM,       "a fixed capacity is used up")                             \
  X(NOT_FOUND,     "no such name or file")                                    \
  X(BAD_MODEL,     "the model breaks a rule; the message names the element")  \
  X(BAD_FILE,      "the file breaks its format; the message has line and column") \
  X(IO,            "reading or writing failed")                               \
  X(UNSUPPORTED,   "known, but not supported here")                           \
  X(NOT_CONVERGED, "no answer within the limits; the best one is returned with its residual") \
  X(NO_SOLUTION,   "shown by a certificate to have no solution")              \
  X(NOT_FINITE,    "a NaN or infinity came in or would have come out")        \
  X(INFEASIBLE,    "the constraints contradict each other")                   \
  X(INTERRUPTED,   "stopped on request")
/* clang-format on */

typedef enum kn_status {
#define X(name, text) KN_##name,
  KN_STATUS_LIST(X)
#undef X
      KN_STATUS_COUNT
} kn_status;

/* Name ("BAD_ARGUMENT") and one-line meaning of a status; never NULL. */
KN_API const char* kn_status_name(kn_status status);
KN_API const char* kn_status_text(kn_status status);

/* What went wrong in the last failed call on this thread: a sentence naming the offender. Never NULL;
   valid until the next failing call on the same thread. */
KN_API const char* kn_last_error(void);

/* The same failure in parts. `file` is "" and `line` 0 where it has no place in a text file; texts are valid
   as long as kn_last_error()'s. */
typedef struct kn_error {
  kn_status status;
  const char* text; /* the whole sentence: "file:line:column: what is wrong, what was expected" */
  const char* what; /* the sentence behind the place */
  const char* file;
  int line, column; /* from 1 */
} kn_error;
KN_API kn_error kn_last_error_info(void);

KN_END_DECLS
#endif
