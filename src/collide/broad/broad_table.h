/* The update loops of one instruction set. */
#pragma once

#include "base/isa.h"
#include "collide/broad/broad.h"

enum { KN_BOXES_VALID = 1, KN_BOXES_INSIDE = 2 };

typedef struct kn_broad_table {
  int (*convert_boxes)(kn_box* out, const kn_box* fat, const double* boxes, int32_t n); /* KN_BOXES_… flags */
  bool (*all_inside)(const kn_box* box, const kn_box* fat, int32_t n);
  /* limit: scratch, n */
  int32_t (*filter_pairs)(kn_broad_pair* out, kn_box* limit, const kn_box* box, int32_t n,
                          const kn_broad_pair* fat_pair, int32_t np);
  /* All fat pairs that the filters allow, unordered, into found; counts them all in `needed`. */
  void (*find_pairs)(kn_broad* b);
  void (*find_item_pairs)(kn_broad* b, int32_t item); /* of a stray, appended to found */
} kn_broad_table;

KN_KERNEL_TABLE(kn_broad_table, kn_broad);

const kn_broad_table* kn_broad_kernels(void); /* for this machine */
