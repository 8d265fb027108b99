/* knuckle: the command line. */
#include <errno.h>
#include <string.h>

#include "command.h"
#include "knuckle/version.h"

const kn_command* kn_command_find(const char* name) {
  const char* names[64];
  size_t n = 0;
  for (; kn_commands[n] && n < 64; n++) {
    if (strcmp(kn_commands[n]->name, name) == 0) return kn_commands[n];
    names[n] = kn_commands[n]->name;
  }
  const char* near = kn_suggest(name, names, n);
  if (near)
    kn_complain(NULL, KN_EXIT_USAGE, "no command \"%s\"; did you mean %s?", name, near);
  else
    kn_complain(NULL, KN_EXIT_USAGE, "no command \"%s\"; see knuckle --help", name);
  return NULL;
}

static int print_version(bool json) {
  if (json) {
    kn_json j;
    kn_json_start(&j);
    kn_json_text(&j, "version", KN_VERSION);
    return kn_json_finish(&j, KN_EXIT_OK);
  }
  printf("knuckle %s\n", KN_VERSION);
  return fflush(stdout) == 0 ? KN_EXIT_OK : KN_EXIT_WRITE;
}

/* --json anywhere before "--", so that mistakes beside it are reported as asked for. */
static bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (strcmp(argv[i], "--json") == 0) return true;
  return false;
}

static int run_command(int argc, char** argv) {
  const kn_command* command = kn_command_find(argv[1]);
  if (!command) return KN_EXIT_USAGE;
  kn_args args;
  bool helped;
  int code = kn_args_parse(&args, command, argc - 2, argv + 2, &helped);
  if (code == KN_EXIT_OK && !helped) code = command->run(&args);
  kn_args_free(&args);
  return code;
}

/* What a command printed may still wait in a buffer, and the device may be full: nothing is lost in silence. */
static int printed(int code) {
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  return (int)kn_complain(NULL, KN_EXIT_WRITE, "standard output could not be written%s%s", errno ? ": " : "",
                          errno ? strerror(errno) : "");
}

static int start(int argc, char** argv) {
  bool json = wants_json(argc, argv);
  if (argc - json < 2) {
    kn_help_overview(stderr);
    if (json) kn_complain(NULL, KN_EXIT_USAGE, "expected COMMAND; see knuckle --help");
    return (int)(json ? kn_complaint_json(KN_EXIT_USAGE, 0, NULL) : KN_EXIT_USAGE);
  }
  if (json && strcmp(argv[1], "--json") == 0) { /* knuckle --json COMMAND: the order does not matter */
    argv[1] = argv[2];
    argv[2] = (char*)(size_t) "--json";
  }
  if (strcmp(argv[1], "--version") == 0) return print_version(json);
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) argv[1] = (char*)(size_t) "help";
  int code = run_command(argc, argv);
  return json ? (int)kn_complaint_json((kn_exit)code, argc - 1, argv + 1) : code;
}

int kn_main(int argc, char** argv) {
  kn_streams_open();
  return printed(start(argc, argv));
}

#ifndef KN_MPI /* sweep/mpi.c has its own */
int main(int argc, char** argv) { return kn_main(argc, argv); }
#endif
