/* The list of subcommands, in the order of the help. A new one: its file cli/NAME.c and one line here. */
#include "command.h"

/* clang-format off */
#define KN_COMMAND_LIST(X) \
  X(demo)                  \
  X(run)                   \
  X(view)                  \
  X(sweep)                 \
  X(fit)                   \
  X(compare)               \
  X(diagnose)              \
  X(certify)               \
  X(check)                 \
  X(study)                 \
  X(export)                \
  X(plot)                  \
  X(verify)                \
  X(solve)                 \
  X(bench)                 \
  X(list)                  \
  X(completion)            \
  X(help)
/* clang-format on */

#define X(name) extern const kn_command kn_command_##name;
KN_COMMAND_LIST(X)
#undef X

const kn_command* const kn_commands[] = {
#define X(name) &kn_command_##name,
    KN_COMMAND_LIST(X)
#undef X
        NULL};
