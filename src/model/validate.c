#include "base/error.h"
#include "model/compile.h"

kn_status kn_spec_validate(const kn_spec* spec) {
  for (int j = 0; j < spec->joint.count; j++)
    if ((unsigned)spec->joint.at[j].type >= KN_JOINT_TYPE_COUNT)
      return kn_fail(KN_BAD_MODEL, "joint %d: no such type", j);
  return KN_OK;
}
