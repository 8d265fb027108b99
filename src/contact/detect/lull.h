/* While things hardly move, only pairs that are close are looked at (lull.c). */
#pragma once

#include "contact/detect/detector.h"

void kn_lull_take(kn_lull* lull, kn_arena* arena, const kn_model* model, int pairs);
/* Nothing is known. */
void kn_lull_forget(kn_detector* d);
/* Of the model: which links have geoms, and how far these reach. */
void kn_lull_fill(kn_detector* d);

/* Before a search: what is left of the room of all pairs that are not looked at in a lull, once their geoms have come as
   near as they can until the end of the horizon; negative: a whole search has to be made. */
double kn_lull_holds(kn_detector* d, double margin);

/* A whole search: its beginning, each pair of the near list with what is left between its shapes (-INFINITY: it was looked
   at), its end. gone: how far geoms are from where they were when the near list was made, at most. */
void kn_lull_begin(kn_detector* d, double margin);
static inline void kn_lull_pair(kn_detector* d, int32_t k, double left) {
  kn_lull* l = &d->lull;
  if (left > l->reserve)
    l->least = left < l->least ? left : l->least;
  else if (l->reserve < INFINITY)
    l->pair[l->pairs++] = k;
}
void kn_lull_end(kn_detector* d, double gone);
