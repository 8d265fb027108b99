/* Compliant islands inside a step: what they need, what they leave behind. See compliant.c. */
#pragma once

#include "law/kelvin_voigt.h"
#include "step/sim.h"

/* A compliant contact in the state, block "compliant". */
typedef struct kn_soft_entry {
  uint64_t key;
  int32_t geom_a, geom_b;
  int32_t
      group;    /* contacts that went compliant together; > 0. KN_SOFT_RETURNED: rigid again, at its offset */
  int32_t safe; /* steps in a row in which its island could have been rigid; returned: 1 in the first step */
  int32_t slips;
  float speed; /* m/s: approach when it closed; 0 where the law does not ask */
  double g0;   /* m: the layer touches at gap = g0, so that q is continuous where a rigid contact leaves;
                  returned: the gap that counts as zero */
  double gap;  /* m, at the state's position */
  double t[3]; /* m: tangential deformation, world axes */
  double from; /* N: largest normal force in its island when it left rigid; returned: s, until g0 is 0 */
} kn_soft_entry;

enum { KN_SOFT_RETURNED = -1 };

/* A contact that returned, in the step under way. */
typedef struct kn_soft_level {
  uint64_t key;
  double now, end; /* m: the gap that counts as zero where the step starts, where it ends */
} kn_soft_level;

/* A contact of a compliant island in the step under way. */
typedef struct kn_soft_contact {
  uint64_t key;
  kn_geom geom_a, geom_b;
  int group, safe, island, tag_row; /* row in s->sets.set before the island was taken out */
  kn_soft_pair pair;
  kn_soft_state state;
  kn_soft_row row;
  double mu, g0, from, speed, frame[9];
  double impulse[3], velocity[3];
  bool slipped;
} kn_soft_contact;

typedef struct kn_soft_work {
  kn_arena arena;
  bool all; /* the stepper `compliant` */
  kn_soft_law law;
  const kn_soft_name* name;
  double* tree_mass;        /* nlink: of the tree whose root the link is */
  double reach;             /* largest g0 in the state, m */
  double* offset;           /* per contact of s->touch.contact: its g0 */
  int* entry_of;            /* per contact of s->touch.contact: entry in the state, -1 */
  bool* soft;               /* per island of the step */
  int count;                /* contacts in compliant islands */
  kn_soft_contact* contact; /* max_contacts */
  int islands;
  /* one island */
  double *W, *q, *p, *u, *u_mean, *a, *P, *Q, *extra; /* rows² / rows */
  kn_block* block;
  /* whole step, nv */
  double *dv, *shift, *force; /* velocity change, displacement beyond dt (v + v⁺)/2, Jᵀp */
  double stored_state, stored_start, stored_end, created; /* J */
  kn_soft_energy lost;
  kn_soft_entry* next;    /* scratch, max_contacts */
  int levels;             /* contacts that returned and still have an offset */
  kn_soft_level* level;   /* max_contacts */
  struct kn_judge* judge; /* hybrid only */
  double last_dt;         /* s: length of the step before, for its forces */
  double next_dt, next_t; /* running record: length of the last step, where it ended */
  double kept_dt, kept_t; /* as they were before the step */
} kn_soft_work;

kn_status kn_soft_create(kn_soft_work** work, const kn_sim* sim);
void kn_soft_destroy(kn_soft_work* work);

double kn_soft_mass(const kn_sim* s, kn_geom a, kn_geom b); /* of the lighter tree that touches, kg */
kn_soft_pair kn_soft_pair_of(const kn_sim* s, kn_geom a, kn_geom b);
double kn_soft_stored_in(const kn_sim* s, const kn_soft_entry* e); /* J */
kn_soft_entry* kn_soft_entries(int* count, kn_state* x);
void kn_soft_unlevel(kn_sim* s, uint64_t key); /* compliant again: its gaps are those of the shapes */

/* compliant_island.c: moves island i of s->sets.set through the step. Its contacts are soft->contact[first
   …]. */
kn_status kn_soft_island(kn_sim* s, int island, int first, double dt);

/* hybrid.c */
kn_status kn_judge_create(struct kn_judge** judge, const kn_sim* sim);
void kn_judge_destroy(struct kn_judge* judge);
/* Decides for every island of s->sets.set: soft->soft[i]; new entries are appended to the state. */
kn_status kn_hybrid_decide(kn_sim* s, kn_state* x, double dt);
/* After the step: islands that have been safe long enough become rigid again. */
kn_status kn_hybrid_return(kn_sim* s, kn_state* x);

/* May an island of contacts be rigid? See hybrid_judge.c. */
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
