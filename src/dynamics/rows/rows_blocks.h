/* Λ by blocks: the products of one segment, private to rows_blocks.c and its kernels. */
#pragma once

#include "base/isa.h"
#include "dynamics/rows/rows.h"

typedef struct kn_block_segment {
  int count, dofs, pad;
  const double* Y;       /* dofs x pad, and four numbers more that may be read */
  const int32_t* first;  /* count: where the columns of the blocks begin */
  const int32_t* member; /* count: the blocks */
  const int* size;       /* of all blocks */
  const int32_t* spot;   /* block i with block j goes to entry spot[spot_at[i] + j]; ~entry: is added there */
  const int32_t* spot_at; /* count */
} kn_block_segment;

typedef void (*kn_block_pairs_fn)(double* value, const kn_block_segment* s);
KN_KERNEL(void, kn_block_pairs, (double* value, const kn_block_segment* s));
