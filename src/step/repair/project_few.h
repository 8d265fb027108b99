/* The repair of two or three contacts (project_few.c). */
#ifndef KN_STEP_PROJECT_FEW_H
#define KN_STEP_PROJECT_FEW_H

#include "step/repair/project_one.h"

/* All contacts of the step, before and after (s->after), with its rows still in s->work. */
bool kn_few_contacts(const kn_sim* s);
/* As kn_repair_one. */
kn_one kn_repair_few(kn_sim* s, double* q, double* worst, double* left);

#endif
