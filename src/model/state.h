/* The state: t, q, v, inputs, and named blocks that other layers add (sticking anchors, warm start, compliant
   deformations, controller memory, body poses of non-minimal formulations). Everything here is hashed and
   saved. */
#ifndef KN_MODEL_STATE_H
#define KN_MODEL_STATE_H

#include "model/model.h"

enum { KN_STATE_BLOCKS = 8 };

typedef struct kn_state_block {
  const char* name; /* static text */
  size_t used;      /* bytes in use: hashed and saved */
  size_t capacity;  /* bytes */
  void* data;       /* 64-byte aligned; entries are plain data without padding garbage (zeroed) */
} kn_state_block;

struct kn_state {
  const kn_model* model;
  kn_arena arena;
  double time;
  int64_t step;
  double *q, *v, *ctrl, *force;
  int nblock;
  kn_state_block block[KN_STATE_BLOCKS];
};

/* Adds a block (outside a step); KN_OK and the old one when the name exists with enough capacity. */
kn_status kn_state_add_block(kn_state_block** block, kn_state* state, const char* name, size_t capacity);
kn_state_block* kn_state_find_block(kn_state* state, const char* name);

#endif
