/* Finding things by name, with the nearest names when there is none. */
#pragma once

#include "knuckle/status.h"

typedef const char* (*kn_name_fn)(const void* owner, int i);

/* Index of the name; KN_NOT_FOUND and "no joint 'elbw'; nearest: 'elbow', …" otherwise. */
kn_status kn_find_name(int32_t* id, const char* kind, const char* name, int count, kn_name_fn name_of,
                       const void* owner);

/* Edit distance (insert, delete, replace, swap of neighbours), not above limit + 1; case does not count. */
int kn_edit_distance(const char* a, const char* b, int limit);
