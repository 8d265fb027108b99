/* From the answer of a neighbouring problem to that of this one, one change of mode at a time (path.c). */
#pragma once

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

enum { KN_PATH_OFTEN = 8 };

/* Scratch; up to KN_WARM_ROWS rows. */
typedef struct kn_path {
  kn_path_mode mode[KN_WARM_ROWS];      /* blocks */
  double d[KN_WARM_ROWS][KN_WARM_WAYS]; /* blocks: direction of the friction of a slipping contact */
  int rows[KN_WARM_ROWS];               /* blocks: of a contact with friction, otherwise 1 */
  int changes[KN_WARM_ROWS];            /* blocks: more than KN_PATH_OFTEN of one are a cycle */
  double r[KN_WARM_ROWS], u[KN_WARM_ROWS], delta[KN_WARM_ROWS]; /* rows */
  double dr[KN_WARM_ROWS], du[KN_WARM_ROWS];                    /* rows: along the path */
  double end[KN_WARM_ROWS];                                     /* rows: where the last one ended */
} kn_path;

/* Moves r from a guess towards the answer of p; true when the end of the path was reached. s, ops: room and
   kernels for the matrix of the unknowns. push: how far unloaded rows are moved away from zero at the start,
   as a part of the largest velocity (0, or a little to get round a place where the path failed). eps: of diag W, added; the
   factor at hand serves where it has the same.
   turns: it may turn back in t on its way; what it ends at then is another answer than the one next to the guess.
   *events: changes of mode; at most `most`. */
bool kn_path_follow(double* r, kn_path* path, kn_warm_system* s, const kn_warm_ops* ops, const kn_problem* p,
                    double push, double eps, bool turns, int most, int* events);
