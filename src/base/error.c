/* The last error of a thread: its status and the sentence that names the offender (error.h, knuckle/status.h). */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_error[512], last_file[512];
static _Thread_local struct {
  kn_status status;
  int line, column;
  size_t what; /* where the sentence begins in last_error */
} last;

kn_status kn_fail(kn_status status, const char* format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(last_error, sizeof last_error, format, args);
  va_end(args);
  last_file[0] = 0;
  last.status = status;
  last.line = last.column = 0;
  last.what = 0;
  return status;
}

kn_status kn_fail_at(kn_status status, const char* file, int line, int column, const char* format, ...) {
  va_list args;
  char what[sizeof last_error];
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  char place[sizeof last_file + 32];
  snprintf(place, sizeof place, "%.*s:%d:%d: ", (int)sizeof last_file - 1, file, line, column);
  kn_fail(status, "%s%s", place, what);
  snprintf(last_file, sizeof last_file, "%s", file);
  last.line = line;
  last.column = column;
  last.what = strlen(place) < strlen(last_error) ? strlen(place) : 0;
  return status;
}

const char* kn_last_error(void) { return last_error; }

kn_error kn_last_error_info(void) {
  return (kn_error){.status = last.status,
                    .text = last_error,
                    .what = last_error + last.what,
                    .file = last_file,
                    .line = last.line,
                    .column = last.column};
}

const char* kn_status_name(kn_status status) {
  static const char* const names[] = {
#define X(name, text) #name,
      KN_STATUS_LIST(X)
#undef X
  };
  return (unsigned)status < KN_STATUS_COUNT ? names[status] : "UNKNOWN";
}

const char* kn_status_text(kn_status status) {
  static const char* const texts[] = {
#define X(name, text) text,
      KN_STATUS_LIST(X)
#undef X
  };
  return (unsigned)status < KN_STATUS_COUNT ? texts[status] : "not a status";
}
