/* The files of a run: where its recording goes, and the table and plots that a study file asks for, made of the
   recording by the commands export and plot once the run is over.

   A study may come with a stranger's model. It writes beside itself only, and replaces nothing, unless --force
   says so; `-o` of the command line is the user's own word and replaces what is there. */
#define _GNU_SOURCE
#include "outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

extern const kn_command kn_command_export, kn_command_plot;

/* The folder a path is in, links followed; false: there is none. */
static bool folder_of(char out[KN_FILE_PATH], const char* path) {
  char text[KN_FILE_PATH];
  const char* slash = strrchr(path, '/');
  if (!slash)
    strcpy(text, ".");
  else
    snprintf(text, sizeof text, "%.*s", slash == path ? 1 : (int)(slash - path), path);
  char* real = realpath(text, NULL);
  bool ok = real && strlen(real) < KN_FILE_PATH;
  if (ok) strcpy(out, real);
  free(real);
  return ok;
}

static bool within(const char* folder, const char* path) {
  size_t n = strlen(folder);
  return strncmp(folder, path, n) == 0 && (path[n] == '\0' || path[n] == '/' || folder[n - 1] == '/');
}

/* A path of the study as it will be written: relative ones are beside the study. */
static kn_exit allow(char out[KN_FILE_PATH], const kn_subject* s, const kn_args* args, const char* wanted,
                     const char* key) {
  const kn_study* st = s->study;
  char home[KN_FILE_PATH], there[KN_FILE_PATH];
  const char* slash = strrchr(st->path, '/');
  int n = snprintf(out, KN_FILE_PATH, "%.*s%s", wanted[0] == '/' || !slash ? 0 : (int)(slash - st->path) + 1,
                   st->path, wanted);
  if (n >= KN_FILE_PATH)
    return kn_complain(args, KN_EXIT_INPUT, "%s: %s: the path is too long", st->path, key);
  if (kn_arg_flag(args, "--force")) return KN_EXIT_OK;
  struct stat at;
  if (!folder_of(home, st->path) || !folder_of(there, out))
    return kn_complain(args, KN_EXIT_WRITE, "%s: %s: %s is in a folder that does not exist", st->path, key,
                       out);
  if (!within(home, there))
    return kn_complain(args, KN_EXIT_USAGE,
                       "%s: %s: %s is outside the study's folder %s; --force writes it all the same",
                       st->path, key, out, home);
  if (lstat(out, &at) == 0)
    return kn_complain(args, KN_EXIT_USAGE, "%s: %s: %s exists; --force replaces it", st->path, key, out);
  return KN_EXIT_OK;
}

/* A recording is one long file that must survive a kill, so it grows under its own name; the lock keeps a
   second run away from it. */
static kn_exit claim(kn_outputs* o, const kn_args* args) {
  char why[KN_FILE_PATH + 256];
  kn_exit code = kn_out_ending(args, o->recording, "mcap");
  if (code == KN_EXIT_OK) code = kn_out_not_input(args, o->recording);
  if (code != KN_EXIT_OK) return code;
  if (!kn_file_plain(o->recording, why, sizeof why)) return kn_complain(args, KN_EXIT_WRITE, "%s", why);
  o->lock = open(o->recording, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (o->lock < 0)
    return kn_complain(args, KN_EXIT_WRITE, "%s cannot be written: %s", o->recording, strerror(errno));
  if (flock(o->lock, LOCK_EX | LOCK_NB) != 0)
    return kn_complain(args, KN_EXIT_WRITE, "%s is being written by another run", o->recording);
  return KN_EXIT_OK;
}

static kn_exit temporary(kn_outputs* o, const kn_args* args) {
  const char* folder = getenv("TMPDIR");
  int n = snprintf(o->own, sizeof o->own, "%s/knuckle-outputs-XXXXXX.mcap",
                   folder && folder[0] ? folder : "/tmp");
  int fd = n < (int)sizeof o->own ? mkstemps(o->own, 5) : -1;
  if (fd < 0) return kn_complain(args, KN_EXIT_WRITE, "%s: no temporary recording can be made there", o->own);
  close(fd);
  o->recording = o->own;
  return KN_EXIT_OK;
}

/* run.mcap → run.svg */
static void renamed(char out[KN_FILE_PATH], const char* path, const char* ending) {
  const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
  int n = dot && (!slash || dot > slash) ? (int)(dot - path) : (int)strlen(path);
  snprintf(out, KN_FILE_PATH, "%.*s%s", n, path, ending);
}

static kn_exit study_outputs(kn_outputs* o, const kn_subject* s, const kn_args* args) {
  const kn_study* st = s->study;
  kn_exit code = KN_EXIT_OK;
  char picture[KN_FILE_PATH];
  if (!o->recording && st->recording) {
    code = allow(o->path, s, args, st->recording, "outputs: recording");
    o->recording = o->path;
  }
  if (code == KN_EXIT_OK && st->csv) code = allow(o->csv, s, args, st->csv, "outputs: csv");
  if (code == KN_EXIT_OK && st->csv) code = kn_out_ending(args, o->csv, "csv|json|h5|hdf5");
  if (code == KN_EXIT_OK && st->plots) {
    renamed(picture,
            st->recording            ? st->recording
            : strrchr(st->path, '/') ? strrchr(st->path, '/') + 1
                                     : st->path,
            ".svg");
    code = allow(o->plot, s, args, picture, "outputs: plot");
  }
  if (st->every && !kn_arg_given(args, "--record-every")) o->every = st->every;
  return code;
}

kn_exit kn_outputs_open(kn_outputs* o, const kn_subject* s, const kn_args* args) {
  *o = (kn_outputs){.recording = kn_arg_text(args, "--output"),
                    .every = (int)kn_arg_int(args, "--record-every"),
                    .lock = -1,
                    .silent = args->json || args->quiet};
  kn_exit code = s->study ? study_outputs(o, s, args) : KN_EXIT_OK;
  if (code == KN_EXIT_OK && !o->recording && (o->csv[0] || o->plot[0])) code = temporary(o, args);
  if (code == KN_EXIT_OK && o->recording) code = claim(o, args);
  return code;
}

static kn_exit call(const kn_command* command, int argc, char** argv) {
  kn_args args;
  bool helped;
  kn_exit code = kn_args_parse(&args, command, argc, argv, &helped);
  if (code == KN_EXIT_OK) code = (kn_exit)command->run(&args);
  kn_args_free(&args);
  return code;
}

static kn_exit write_study(const kn_outputs* o, const kn_study* st) {
  enum { MOST = 64 };
  char* argv[MOST + 4];
  char dash[] = "-o";
  kn_exit code = KN_EXIT_OK;
  int n = 0;
  if (o->csv[0]) {
    char* list[] = {(char*)(size_t)o->recording, dash, (char*)(size_t)o->csv};
    code = call(&kn_command_export, 3, list);
  }
  if (!o->plot[0] || code != KN_EXIT_OK) return code;
  argv[n++] = (char*)(size_t)o->recording;
  for (int i = 0; i < st->plots && i < MOST; i++) argv[n++] = (char*)(size_t)st->plot[i];
  argv[n++] = dash;
  argv[n++] = (char*)(size_t)o->plot;
  return call(&kn_command_plot, n, argv);
}

kn_exit kn_outputs_write(const kn_outputs* o, const kn_subject* s) {
  if (!o->recording) return KN_EXIT_OK;
  kn_exit code = s->study ? write_study(o, s->study) : KN_EXIT_OK;
  const char* written[] = {o->own[0] ? "" : o->recording, code == KN_EXIT_OK ? o->csv : "",
                           code == KN_EXIT_OK ? o->plot : ""};
  for (int i = 0; i < 3; i++)
    if (written[i][0] && !o->silent) printf("  %-11s %s\n", i ? "" : "wrote", written[i]);
  return code;
}

void kn_outputs_close(kn_outputs* o) {
  if (o->lock >= 0) close(o->lock);
  if (o->own[0]) remove(o->own);
}
