/* The list of features (knuckle/features.h): cmake/depends.cmake defines KN_HAVE_… for this folder. */
#include "knuckle/features.h"

#include <string.h>

static const kn_feature features[] = {
    {"assimp", "mesh formats beyond STL and OBJ",
#ifdef KN_HAVE_ASSIMP
     true
#else
     false
#endif
    },
    {"dsdp", "independent check of the energy certificate",
#ifdef KN_HAVE_DSDP
     true
#else
     false
#endif
    },
    {"fyaml", "study files",
#ifdef KN_HAVE_FYAML
     true
#else
     false
#endif
    },
    {"hdf5", "FCLIB problem files, export to HDF5",
#ifdef KN_HAVE_HDF5
     true
#else
     false
#endif
    },
    {"qhull", "convex hulls",
#ifdef KN_HAVE_QHULL
     true
#else
     false
#endif
    },
    {"record", "writing recordings",
#ifdef KN_HAVE_RECORD
     true
#else
     false
#endif
    },
    {"sundials", "the adaptive smooth integrator",
#ifdef KN_HAVE_SUNDIALS
     true
#else
     false
#endif
    },
    {"zstd", "reading recordings",
#ifdef KN_HAVE_ZSTD
     true
#else
     false
#endif
    },
    {NULL, NULL, false},
};

const kn_feature* kn_features(void) { return features; }

bool kn_built_with(const char* name) {
  for (const kn_feature* f = features; name && f->name; f++)
    if (strcmp(f->name, name) == 0) return f->built;
  return false;
}
