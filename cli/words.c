/* Numbers and names as people write them. */
#include <math.h>
#include <stdio.h>

#include "command.h"

const char* kn_count_text(char text[KN_SHORT_TEXT], double x) {
  if (!isfinite(x) || fabs(x) >= 1e7 || (x != 0.0 && fabs(x) < 1e-4))
    snprintf(text, KN_SHORT_TEXT, "%.3g", x);
  else if (fabs(x) >= 999.5) { /* three digits that count */
    double unit = pow(10.0, floor(log10(fabs(x))) - 2.0);
    snprintf(text, KN_SHORT_TEXT, "%.0f", unit * round(x / unit));
  } else
    snprintf(text, KN_SHORT_TEXT, "%.3g", x);
  return text;
}

const char* kn_label(char own[KN_LABEL], const char* name, const char* kind, int index) {
  if (name && name[0]) return name;
  snprintf(own, KN_LABEL, "%s%d", kind, index);
  return own;
}

const char* kn_time_text(char text[KN_SHORT_TEXT], double s) {
  char number[KN_SHORT_TEXT];
  double size = fabs(s);
  if (s == 0.0)
    snprintf(text, KN_SHORT_TEXT, "0 s");
  else if (size < 0.9995e-6)
    snprintf(text, KN_SHORT_TEXT, "%.20s ns", kn_count_text(number, 1e9 * s));
  else if (size < 0.9995e-3)
    snprintf(text, KN_SHORT_TEXT, "%.20s µs", kn_count_text(number, 1e6 * s));
  else if (size < 0.9995)
    snprintf(text, KN_SHORT_TEXT, "%.20s ms", kn_count_text(number, 1e3 * s));
  else if (size < 119.5)
    snprintf(text, KN_SHORT_TEXT, "%.20s s", kn_count_text(number, s));
  else if (size < 7199.5)
    snprintf(text, KN_SHORT_TEXT, "%ld min %ld s", lround(s) / 60, lround(s) % 60);
  else
    snprintf(text, KN_SHORT_TEXT, "%.0f h %ld min", floor(s / 3600.0), lround(fmod(s, 3600.0)) / 60);
  return text;
}
