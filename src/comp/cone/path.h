/* From the answer of a neighbouring problem to that of this one, one change of mode at a time (path.c). */
#ifndef KN_COMP_PATH_H
#define KN_COMP_PATH_H

#include "comp/cone/warm_modes.h"
#include "knuckle/comp.h"

typedef enum kn_path_mode {
  KN_PATH_LOW,    /* a line at its lower bound, an open contact without friction */
  KN_PATH_HIGH,   /* a line at its upper bound */
  KN_PATH_INSIDE, /* a line between its bounds */
  KN_PATH_OPEN,
  KN_PATH_STICK,
  KN_PATH_SLIP
} kn_path_mode;

/* What has changed since the factor (path_border.c). */
enum { KN_PATH_BORDER = 32, KN_PATH_OFTEN = 8 };
typedef struct kn_path_border {
  int count;                   /* unknowns gone and added */
  int gone[KN_PATH_BORDER];    /* an unknown of the factor, -1: added */
  int extra[KN_PATH_BORDER];   /* added: its block … */
  int unknown[KN_PATH_BORDER]; /* … and which of its unknowns */
  int extras;                  /* blocks added; those that are gone again have no unknowns */
  kn_warm_block block[KN_PATH_BORDER];
  double row[KN_PATH_BORDER][KN_WARM_ROWS], Y[KN_PATH_BORDER][KN_WARM_ROWS];
  double S[KN_PATH_BORDER][KN_PATH_BORDER], LU[KN_PATH_BORDER][KN_PATH_BORDER];
  double z[KN_PATH_BORDER]; /* right-hand side, then the unknowns added, and multipliers */
  int exchange[KN_PATH_BORDER];
} kn_path_border;

/* solve(context): x <- K⁻¹ x of s. */
typedef struct kn_path_border_ops {
  /* A block of the factor goes; false: no room. */
  bool (*remove)(kn_path_border* b, kn_warm_system* s, int block, void (*solve)(void*), void* context);
  /* An added block goes; m: unknowns of the factor. */
  void (*drop)(kn_path_border* b, int extra, int m);
  /* The block's place in b->block, -1: no room. damping: of its unknowns. */
  int (*add)(kn_path_border* b, kn_warm_system* s, const kn_warm_block* w, const double* damping,
             void (*solve)(void*), void* context);
  /* Of what was added and taken; false: singular. */
  bool (*factor)(kn_path_border* b);
  /* x, and b->z of what was added, from their right-hand sides. */
  void (*solve)(kn_path_border* b, kn_warm_system* s, void (*solve)(void*), void* context);
} kn_path_border_ops;
KN_KERNEL_TABLE(kn_path_border_ops, kn_path_border_ops);

/* Scratch; up to KN_WARM_ROWS rows. */
typedef struct kn_path {
  kn_path_mode mode[KN_WARM_ROWS];      /* blocks */
  double d[KN_WARM_ROWS][KN_WARM_WAYS]; /* blocks: direction of the friction of a slipping contact */
  int changes[KN_WARM_ROWS];            /* blocks: more than KN_PATH_OFTEN of one are a cycle */
  int at[KN_WARM_ROWS]; /* blocks: its place among the blocks with load, -1: none, -2 - k: added as k */
  double r[KN_WARM_ROWS], u[KN_WARM_ROWS], delta[KN_WARM_ROWS]; /* rows */
  double dr[KN_WARM_ROWS], du[KN_WARM_ROWS];                    /* rows: along the path */
  double damping[KN_WARM_ROWS];                                 /* rows: ε D */
  double end[KN_WARM_ROWS];                                     /* rows: where the last one ended */
  kn_path_border border;
} kn_path;

/* Moves r from a guess towards the answer of p; true when the end of the path was reached. s, ops: room and
   kernels for the matrix of the unknowns. push: how far unloaded rows are moved away from zero at the start,
   as a part of the largest velocity (0, or a little to get round a place where the path failed). eps: of diag W, added.
   turns: it may turn back in t on its way; what it ends at then is another answer than the one next to the guess.
   *events: changes of mode; at most `most`. */
bool kn_path_follow(double* r, kn_path* path, kn_warm_system* s, const kn_warm_ops* ops, const kn_problem* p,
                    double push, double eps, bool turns, int most, int* events);

#endif
