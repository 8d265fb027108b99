/* --mu, --restitution, --gravity: changes of a model that every command can make, for scenes and files. */
#include <math.h>

#include "subject.h"

kn_status kn_subject_edit(kn_spec* spec, void* context) {
  const kn_args* args = context;
  kn_status status = KN_OK;
  double gravity[3];
  if (kn_arg_given(args, "--mu") || kn_arg_given(args, "--restitution"))
    status = kn_spec_set_surfaces(spec, kn_arg_number(args, "--mu"), kn_arg_number(args, "--restitution"));
  if (status != KN_OK || !kn_arg_given(args, "--gravity")) return status;
  /* Too few numbers leave a NaN, which the spec refuses by name. */
  gravity[0] = gravity[1] = gravity[2] = NAN;
  kn_arg_numbers(args, "--gravity", gravity, 3);
  return kn_spec_set_gravity(spec, gravity);
}
