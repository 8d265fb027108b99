/* What a run leaves behind: the recording of --output or of the study file, its table and its plots. */
#ifndef KN_CLI_OUTPUTS_H
#define KN_CLI_OUTPUTS_H

#include "subject.h"

typedef struct kn_outputs {
  const char* recording; /* NULL: none */
  int every;
  char own[64]; /* a recording only for the other outputs; empty: none */
} kn_outputs;

kn_exit kn_outputs_open(kn_outputs* o, const kn_subject* s, const kn_args* args);
/* After the recording is closed. */
kn_exit kn_outputs_write(const kn_outputs* o, const kn_subject* s);
void kn_outputs_close(kn_outputs* o);

#endif
