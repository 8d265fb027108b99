/* The outputs a study file asks for, once the run is over: a table and plots of its recording, made by the
   commands export and plot. Without `recording` they are made of one that is removed afterwards. */
#include "outputs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const kn_command kn_command_export, kn_command_plot;

static char* beside(char* out, size_t room, const char* path, const char* ending) {
  const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
  int n = dot && (!slash || dot > slash) ? (int)(dot - path) : (int)strlen(path);
  snprintf(out, room, "%.*s%s", n, path, ending);
  return out;
}

kn_exit kn_outputs_open(kn_outputs* o, const kn_subject* s, const kn_args* args) {
  const kn_study* st = s->study;
  *o = (kn_outputs){.recording = kn_arg_text(args, "--output"),
                    .every = (int)kn_arg_int(args, "--record-every")};
  if (!st) return KN_EXIT_OK;
  if (!o->recording) o->recording = st->recording;
  if (st->every && !kn_arg_given(args, "--record-every")) o->every = st->every;
  if (o->recording || (!st->csv && st->plots == 0)) return KN_EXIT_OK;
  strcpy(o->own, "/tmp/knuckle-outputs-XXXXXX.mcap");
  int fd = mkstemps(o->own, 5);
  if (fd < 0) return kn_complain(args, KN_EXIT_WRITE, "%s: cannot be written", o->own);
  close(fd);
  o->recording = o->own;
  return KN_EXIT_OK;
}

static kn_exit call(const kn_command* command, int argc, char** argv) {
  kn_args args;
  bool helped;
  kn_exit code = kn_args_parse(&args, command, argc, argv, &helped);
  if (code == KN_EXIT_OK) code = (kn_exit)command->run(&args);
  kn_args_free(&args);
  return code;
}

kn_exit kn_outputs_write(const kn_outputs* o, const kn_subject* s) {
  enum { MOST = 16 };
  const kn_study* st = s->study;
  char recording[1024], table[1024], picture[1024], *argv[MOST + 4], dash[] = "-o";
  kn_exit code = KN_EXIT_OK;
  if (!st || !o->recording) return KN_EXIT_OK;
  snprintf(recording, sizeof recording, "%s", o->recording);
  if (st->csv) {
    snprintf(table, sizeof table, "%s", st->csv);
    char* list[] = {recording, dash, table};
    code = call(&kn_command_export, 3, list);
  }
  if (st->plots == 0 || code != KN_EXIT_OK) return code;
  int n = 0;
  argv[n++] = recording;
  for (int i = 0; i < st->plots && i < MOST; i++) argv[n++] = strdup(st->plot[i]);
  argv[n++] = dash;
  argv[n++] = beside(picture, sizeof picture, o->own[0] ? st->path : o->recording, ".svg");
  code = call(&kn_command_plot, n, argv);
  for (int i = 1; i < n - 2; i++) free(argv[i]);
  return code;
}

void kn_outputs_close(kn_outputs* o) {
  if (o->own[0]) remove(o->own);
}
