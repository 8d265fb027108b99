/* The version, for the compiler and at run time. This is the one place it is written; CMake reads it here. */
#ifndef KNUCKLE_VERSION_H
#define KNUCKLE_VERSION_H

#include "knuckle/status.h"

/* The version in parts, as text, and as one number that grows. */
#define KN_VERSION_MAJOR 0
/* See KN_VERSION_MAJOR. */
#define KN_VERSION_MINOR 1
/* See KN_VERSION_MAJOR. */
#define KN_VERSION_PATCH 0
/* See KN_VERSION_MAJOR. */
#define KN_VERSION "0.1.0"
/* For #if: KN_VERSION_NUMBER >= KN_VERSION_OF(0, 2, 0) */
#define KN_VERSION_OF(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
/* See KN_VERSION_MAJOR. */
#define KN_VERSION_NUMBER KN_VERSION_OF(KN_VERSION_MAJOR, KN_VERSION_MINOR, KN_VERSION_PATCH)

KN_BEGIN_DECLS

/* "0.1.0": of the library that is running, which may be newer than the header it was compiled with. */
KN_API const char* kn_version(void);

KN_END_DECLS
#endif
