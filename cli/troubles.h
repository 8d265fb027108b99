/* The troubles of a run in words and as JSON: the same for run, demo and verify. */
#ifndef KN_CLI_TROUBLES_H
#define KN_CLI_TROUBLES_H

#include "command.h"
#include "knuckle/step.h"

/* "troubles": one object per kind, with its first time, worst value, place and sentence. */
void kn_troubles_json(kn_json* json, const kn_model* model, const kn_trouble_tally* tally);
/* Per kind: what, where, what it means, what to do. Nothing without trouble. */
void kn_troubles_print(FILE* out, const kn_model* model, const kn_trouble_tally* tally);

/* The page docs/troubles.md. */
void kn_troubles_markdown(FILE* out);

#endif
