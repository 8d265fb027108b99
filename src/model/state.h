/* The state: t, q, v, inputs, and named blocks that other layers add (sticking anchors, warm start, compliant
   deformations, controller memory, body poses of non-minimal formulations). Everything here is hashed and
   saved. */
#pragma once

#include <string.h>

#include "base/fours.h"
#include "model/model.h"

enum { KN_STATE_BLOCKS = 12 };

typedef struct kn_state_block {
  const char* name; /* static text */
  size_t used;      /* bytes in use: hashed and saved */
  size_t capacity;  /* bytes */
  size_t kept;      /* bytes used when kn_state_keep was called */
  void* kept_data;  /* and what they were */
  void* data;       /* 64-byte aligned; entries are plain data without padding garbage (zeroed) */
} kn_state_block;

struct kn_state {
  const kn_model* model;
  kn_arena arena;
  double time;
  int64_t step;
  double *q, *v, *ctrl, *force;
  double* ctrl_kept; /* of kn_state_keep, as are so many blocks */
  int nblock, nkept;
  uint64_t stamp; /* another one whenever blocks were added, moved or filled by others than a step: of no two
                     states */
  kn_state_block block[KN_STATE_BLOCKS];
};

/* Adds a block (outside a step); KN_OK and the old one when the name exists with enough capacity. */
kn_status kn_state_add_block(kn_state_block** block, kn_state* state, const char* name, size_t capacity);
static inline void kn_block_keep(kn_state_block* b) {
  size_t used = b->used;
  b->kept = used;
  if (!used) return;
  if (used > 512) {
    memcpy(b->kept_data, b->data, used);
    return;
  }
  kn_two *to = b->kept_data, *from = b->data, *end = (kn_two*)((char*)b->data + used);
  do to[0] = from[0], to[1] = from[1], to[2] = from[2], to[3] = from[3], to += 4, from += 4;
  while (from < end); /* whole lines */
}
/* Blocks and controls are kept as they are before a step, and come back when it failed. Mostly there are four
   with nothing or a few entries: no call, no loop over them. */
static inline void kn_state_keep(kn_state* state) {
  kn_state_block* b = state->block; /* those that do not exist are empty */
  state->nkept = state->nblock;
  kn_block_keep(b), kn_block_keep(b + 1), kn_block_keep(b + 2), kn_block_keep(b + 3);
  for (int i = 4; i < state->nblock; i++) kn_block_keep(b + i);
  kn_fours_copy(state->ctrl_kept, state->ctrl, state->model->nu);
}
void kn_state_take_back(kn_state* state) __attribute__((cold));
kn_state_block* kn_state_find_block(kn_state* state, const char* name);

/* state_check.c: whether the bytes of a block can be what its name says; names that are not known hold anything. */
kn_status kn_state_check_block(const kn_model* model, const char* name, const char* data, size_t used);
size_t kn_state_entry_size(const char* name); /* bytes of an entry; 0: not known */
bool kn_state_all_finite(const char* bytes, size_t count);
