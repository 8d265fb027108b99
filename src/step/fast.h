/* The fast paths of a step: a list, like solvers and laws (kn_fast_paths of step.h). Each replaces a general
   way that stays in the code; which are on is settled once per simulator (kn_fast_choose, kn_fast_apply),
   and every layer owns the plain switch of its own path. Nothing else asks for a path by name. */
#pragma once

#include "knuckle/step.h"

/* In the order of the list. */
typedef enum kn_fast {
  KN_FAST_PLANAR, /* dynamics/planar: kn_data_in_space switches it off */
  KN_FAST_SIGHT,  /* contact/detect/sight: kn_detector_in_space */
  KN_FAST_CLEAR,  /* step/time/clear.c */
  KN_FAST_MODES,  /* comp/cone/flat.c: kn_solver_work_modes */
  KN_FAST_HEAP,   /* dynamics/rows/rows_loose.c and comp/heap: kn_contact_work.fast_heap */
  KN_FAST_COUNT
} kn_fast;

/* *on: bit per path, all but those that `off` (names with commas between, "none": no path at all; may be
   NULL) and the environment's KN_FAST switch off. KN_NOT_FOUND for a name that is none. */
kn_status kn_fast_choose(unsigned* on, const char* off);
static inline bool kn_fast_on(unsigned on, kn_fast path) { return on >> path & 1; }
