/* The list of subcommands. A new one: its file cli/NAME.c, one line in each of the two lists here. */
#include "command.h"

extern const kn_command kn_command_bench, kn_command_check, kn_command_help, kn_command_list, kn_command_run;

const kn_command* const kn_commands[] = {&kn_command_run,  &kn_command_bench, &kn_command_check,
                                         &kn_command_list, &kn_command_help,  NULL};
