/* What is built in: the dev build has everything but, at times, assimp (test/slim/slim.c asks the build with
 * nothing). */
#include "knuckle/features.h"

#include <string.h>

#include "knuckle/mesh.h"
#include "test.h"

TEST(full_build_has_every_feature) {
  int count = 0;
  for (const kn_feature* f = kn_features(); f->name; f++, count++) {
    CHECK(f->doc[0] != 0 && kn_built_with(f->name) == f->built);
    if (strcmp(f->name, "assimp") != 0) CHECK(f->built);
  }
  CHECK_INT(count, 8);
  CHECK_INT(kn_built_with("assimp"), kn_mesh_has_assimp());
  CHECK(!kn_built_with("nothing") && !kn_built_with("") && !kn_built_with(NULL));
}
