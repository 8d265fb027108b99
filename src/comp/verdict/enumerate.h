#pragma once

#include "base/arena.h"

enum { KN_ENUMERATE_MAX = 20 }; /* rows of the standard problem */

typedef struct kn_enumerate_work {
  double* tableau; /* one (max x (max + 1)) table per depth */
  double* scratch; /* for NNLS at singular leaves */
  int* passive;
} kn_enumerate_work;

void kn_enumerate_take(kn_enumerate_work* w, kn_arena* arena);
