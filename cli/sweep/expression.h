/* What a sweep keeps of a case: expressions over the quantities of a run.

     max(pos.ball.z) - first(pos.ball.z)        when(contacts > 0)        final(energy.total) / mu

   Over time: first, final, max, min, mean, integral, rms, when (time at which the argument is first not 0),
   count (steps in which it is not 0). Of numbers: + - * / ^ (whole exponents), < <= > >= == !=, abs, sqrt,
   max and min of two. A quantity that stands by itself has its value at the end. Variables of the sweep are known
   by name. Only exactly rounded operations: the same bits on every machine. */
#ifndef KN_CLI_SWEEP_EXPRESSION_H
#define KN_CLI_SWEEP_EXPRESSION_H

#include "knuckle/step.h"

typedef struct kn_expression kn_expression;

/* Numbers that are known by name: variables of the sweep. */
typedef struct kn_named {
  const char* name;
  double value;
} kn_named;

/* Reads an expression for a model. NULL: what is wrong, a sentence, in why. */
kn_expression* kn_expression_read(const char* text, const kn_model* model, const kn_named* named, int count,
                                  char* why, size_t room);
void kn_expression_free(kn_expression* e);

/* What is known of an instant. */
typedef struct kn_instant {
  const kn_model* model;
  const kn_state* state;
  const kn_data* data;     /* kinematics of the state; NULL when no expression needs it */
  const kn_energy* energy; /* of the state */
  const kn_report* report; /* of the step that led to it; NULL: the beginning */
} kn_instant;

bool kn_expression_needs_poses(const kn_expression* e);
/* One instant: the beginning, then every step. */
void kn_expression_step(kn_expression* e, const kn_instant* at);
/* After the last one; NAN where it has no value (a time that never came). */
double kn_expression_value(const kn_expression* e);

#endif
