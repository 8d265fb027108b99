/* May an island of contacts be rigid? See hybrid_judge.c. */
#pragma once

#include "step/compliant/compliant.h"

typedef enum kn_safety {
  KN_SAFE,      /* one motion, and stable as the limit of stiff contact */
  KN_UNDECIDED, /* too close to call, or too many rows */
  KN_NO_MOTION, /* the rigid problem has no solution */
  KN_MOTIONS,   /* several motions */
  KN_UNSTABLE,  /* the stiff contacts' own motion grows */
  KN_FORCES     /* one motion, the forces are not determined (only when asked) */
} kn_safety;

typedef struct kn_mode {
  int row;     /* of the island */
  int tangent; /* first tangential row when sliding, else -1 */
  double s[2]; /* mu × direction of slip */
  bool free;
  int contact; /* of s->touch.contact, or -1 */
  double K, C;
} kn_mode;

typedef struct kn_judge {
  kn_arena arena;
  int n; /* modes of the island looked at last */
  kn_mode* mode;
  double *A, *B, *b, *lo, *hi, *z, *re, *im, *scratch;
  int* pivot;
  bool* keep;
  kn_lcp_work* lcp;
  uint64_t who; /* modes the verdict speaks of */
  double value; /* the failing minor, the eigenvalue's real part, the rank */
  double imag;
  int solutions; /* or -1 */
  bool is_p;
  bool turned; /* turn is filled: J̇ v of all rows of the step */
  double* turn;
} kn_judge;

enum { KN_JUDGE_ROWS = 60 };

/* Λ of island i of s->sets.set to s->work->W. */
kn_status kn_judge_lambda(kn_sim* s, int i);
/* The island at the evaluation point; compliant contacts slide or stick as the law said last. */
kn_safety kn_judge_island(kn_sim* s, kn_state* x, int i, double dt);
