/* Checks with messages "kind index 'name': field is value, expected …". */
#pragma once

#include "model/spec.h"

typedef struct kn_who { /* the element under test */
  const char* kind;
  int index;
  const char* name;
} kn_who;

/* Checks every element of a list of `spec`; the check sees `who` and the index i. */
#define KN_VALIDATE_EACH(field, kind, check)                                                                 \
  for (int i = 0; i < spec->field.count; i++) {                                                              \
    kn_who who = {kind, i, spec->field.at[i].name};                                                          \
    KN_TRY(check);                                                                                           \
  }

kn_status kn_refuse(const kn_who* who, const char* format, ...) __attribute__((format(printf, 2, 3)));

kn_status kn_check_finite(const kn_who* who, const char* field, const double* x, int n);
kn_status kn_check_not_negative(const kn_who* who, const char* field, double x); /* and finite */
kn_status kn_check_quat(const kn_who* who, const char* field, const double q[4]);
kn_status kn_check_range(const kn_who* who, const char* field, const double range[2]); /* may be infinite */

kn_status kn_validate_geoms(const kn_spec* spec);
kn_status kn_validate_actuators(const kn_spec* spec);
kn_status kn_validate_sensors(const kn_spec* spec);
kn_status kn_validate_loops(const kn_spec* spec);
kn_status kn_validate_keyframes(const kn_spec* spec);
kn_status kn_validate_names(const kn_spec* spec);
