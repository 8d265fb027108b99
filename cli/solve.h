/* knuckle solve, shared between LCPs and friction problems. */
#ifndef KN_CLI_SOLVE_H
#define KN_CLI_SOLVE_H

#include "command.h"
#include "knuckle/comp.h"

typedef struct kn_solved {
  const char* kind; /* "lcp", "friction" */
  int n;
  kn_solve_info info;
  kn_verdict verdict;
  const double* z;         /* n */
  const bool* determinate; /* per multiplier (LCP) or contact (friction), or NULL: not computed */
  int flags;               /* how many */
  const double* solutions; /* count x n with --all, or NULL */
  const kn_lcp_enumeration* enumeration;
} kn_solved;

/* Prints, writes JSON, and gives the exit status. */
kn_exit kn_solved_print(const kn_args* args, const kn_solved* s);

kn_exit kn_solve_lcp(const kn_args* args, const char* path);
kn_exit kn_solve_friction(const kn_args* args, const char* path);
/* Bodies at rest without friction: a file with M, J and Q. */
kn_exit kn_solve_frictionless(const kn_args* args, const char* path);

#endif
