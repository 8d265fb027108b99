/* Forces at an instant that obey Coulomb's law, or the word that none were found (judged.c). */
#pragma once

#include "knuckle/comp.h"

/* The mode problem as an LCP and the same rows with friction cones on the sticking contacts. */
typedef struct kn_judged {
  const kn_lcp* modes;
  const kn_problem* cones; /* W and q are those of modes */
  kn_lcp_work* work;       /* for modes->n rows */
  double* z;               /* out: forces; 0 when none were found */
  bool* fixed;             /* out, per row: the same in every solution with this motion */
  bool found;              /* out: z obeys the law of every contact, judged */
  double residual;         /* out: the judge's, scaled */
  kn_verdict verdict;      /* out */
} kn_judged;

kn_status kn_judge_instant(kn_judged* j);
