/* knuckle: the command line. */
#include <string.h>

#include "command.h"

const kn_command* kn_command_find(const char* name) {
  const char* names[64];
  size_t n = 0;
  for (; kn_commands[n] && n < 64; n++) {
    if (strcmp(kn_commands[n]->name, name) == 0) return kn_commands[n];
    names[n] = kn_commands[n]->name;
  }
  const char* near = kn_suggest(name, names, n);
  if (near)
    fprintf(stderr, "knuckle: no command \"%s\"; did you mean %s?\n", name, near);
  else
    fprintf(stderr, "knuckle: no command \"%s\"; see knuckle --help\n", name);
  return NULL;
}

static int print_version(void) {
  printf("knuckle %s\n", KN_VERSION);
  return fflush(stdout) == 0 ? KN_EXIT_OK : KN_EXIT_WRITE;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    kn_help_overview(stderr);
    return KN_EXIT_USAGE;
  }
  if (strcmp(argv[1], "--version") == 0) return print_version();
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    kn_help_overview(stdout);
    return fflush(stdout) == 0 ? KN_EXIT_OK : KN_EXIT_WRITE;
  }
  const kn_command* command = kn_command_find(argv[1]);
  if (!command) return KN_EXIT_USAGE;
  kn_args args;
  bool helped;
  int code = kn_args_parse(&args, command, argc - 2, argv + 2, &helped);
  if (code == KN_EXIT_OK && !helped) code = command->run(&args);
  kn_args_free(&args);
  return code;
}
