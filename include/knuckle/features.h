/* What this build of the library can do: each feature needs a library other people wrote, and can be left out
   (cmake/depends.cmake). Functions that need one which is not there return KN_UNSUPPORTED "built without …".
 */
#ifndef KNUCKLE_FEATURES_H
#define KNUCKLE_FEATURES_H

#include "knuckle/status.h"

KN_BEGIN_DECLS

/* An optional part of this build. */
typedef struct kn_feature {
  const char* name; /* NULL ends the list */
  const char* doc;
  bool built; /* is it in this build? */
} kn_feature;

/* The list of optional parts, ended by an entry without a name. */
KN_API const kn_feature* kn_features(void);
/* False also for a name that is not in the list. */
KN_API bool kn_built_with(const char* name);

KN_END_DECLS
#endif
