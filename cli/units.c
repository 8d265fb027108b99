#include "units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The joint of "q.NAME", "v.NAME.3" or "tau.joint7", and which of its numbers. */
static bool joint_of(kn_joint_def* d, int* part, const char* name, const kn_model* m) {
  static const char* const parts[] = {"x", "y", "z", "qw", "qx", "qy", "qz"};
  static const char* const rates[] = {"vx", "vy", "vz", "wx", "wy", "wz"};
  for (int j = 0; j < kn_model_joints(m); j++) {
    char own[64];
    const char* text = kn_joint_name(m, j);
    if (text && text[0])
      snprintf(own, sizeof own, "%s", text);
    else
      snprintf(own, sizeof own, "joint%d", j);
    size_t n = strlen(own);
    if (strncmp(name, own, n) != 0 || (name[n] != '\0' && name[n] != '.')) continue;
    *part = 0;
    if (name[n] == '.') {
      *part = atoi(name + n + 1);
      for (int i = 0; i < 7; i++)
        if (strcmp(name + n + 1, parts[i]) == 0) *part = i;
      for (int i = 0; i < 6; i++)
        if (strcmp(name + n + 1, rates[i]) == 0) *part = i;
    }
    return kn_model_joint(d, m, j) == KN_OK;
  }
  return false;
}

/* Is number `part` of the joint a length? Quaternions are neither: -1. */
static int is_length(kn_joint_type type, int part, bool coordinate) {
  switch (type) {
  case KN_JOINT_SLIDE: return 1;
  case KN_JOINT_FREE: return part < 3 ? 1 : coordinate ? -1 : 0;
  case KN_JOINT_BALL: return coordinate ? -1 : 0;
  case KN_JOINT_PLANAR: return part < 2;
  case KN_JOINT_CYLINDRICAL: return part == 0;
  default: return 0;
  }
}

void kn_unit_of(char unit[KN_UNIT_TEXT], const kn_quantity* q, const kn_model* m) {
  kn_joint_def d;
  int part;
  const char *dot = strchr(q->name, '.'), *u = q->unit && q->unit[0] ? q->unit : "1";
  bool position = strncmp(q->name, "q.", 2) == 0, rate = strncmp(q->name, "v.", 2) == 0,
       torque = strncmp(q->name, "tau.", 4) == 0;
  if (dot && (position || rate || torque) && u[0] == '1' && joint_of(&d, &part, dot + 1, m)) {
    int length = is_length(d.type, part, position);
    u = position ? (length > 0   ? "m"
                    : length < 0 ? "1"
                                 : "rad")
        : rate   ? (length > 0 ? "m/s" : "rad/s")
                 : (length > 0 ? "N" : "N m");
  }
  snprintf(unit, KN_UNIT_TEXT, "%s", u);
}
