#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last_error[512];

kn_status kn_fail(kn_status status, const char* format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(last_error, sizeof last_error, format, args);
  va_end(args);
  return status;
}

const char* kn_last_error(void) { return last_error; }

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
