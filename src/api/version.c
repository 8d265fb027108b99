#include "knuckle/version.h"

const char* kn_version(void) { return KN_VERSION; }
