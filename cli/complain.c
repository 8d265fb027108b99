/* What went wrong, said once: a sentence on standard error and, with --json, one object
   {"error":{"status","file","line","column","text"}} on standard output in place of the result. */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* The first complaint that goes with a failure; later ones follow from it. */
static struct {
  bool kept;
  char status[32], text[2048];
} first;

static _Thread_local struct { /* where complaints of a thread go instead */
  char* text;
  size_t room;
} kept;

void kn_complaints_keep(char* text, size_t room) {
  kept.text = text;
  kept.room = room;
}

static bool json_began; /* the result's own object is on its way */

kn_exit kn_exit_of(kn_status status) {
  switch (status) {
  case KN_OK: return KN_EXIT_OK;
  case KN_IO: return KN_EXIT_WRITE;
  case KN_INTERRUPTED: return KN_EXIT_INTERRUPTED;
  case KN_BAD_ARGUMENT:
  case KN_NOT_FOUND:
  case KN_BAD_MODEL:
  case KN_BAD_FILE:
  case KN_UNSUPPORTED: return KN_EXIT_INPUT;
  default: return KN_EXIT_VIOLATION;
  }
}

static const char* status_of(kn_exit code) {
  switch (code) {
  case KN_EXIT_USAGE: return "USAGE";
  case KN_EXIT_INPUT: return kn_status_name(KN_BAD_FILE);
  case KN_EXIT_WRITE: return kn_status_name(KN_IO);
  case KN_EXIT_INTERRUPTED: return kn_status_name(KN_INTERRUPTED);
  default: return "FAILED";
  }
}

static kn_exit say(const kn_args* args, kn_exit code, const char* status, const char* text) {
  bool red = code != KN_EXIT_OK && kn_colours();
  if (kept.text) {
    if (!kept.text[0]) snprintf(kept.text, kept.room, "%s", text);
    return code;
  }
  fflush(stdout);
  if (red) fputs("\033[31m", kn_terminal()), fflush(kn_terminal());
  fprintf(stderr, "knuckle%s%s:", args && args->command ? " " : "",
          args && args->command ? args->command->name : "");
  fflush(stderr);
  if (red) fputs("\033[0m", kn_terminal()), fflush(kn_terminal());
  fprintf(stderr, " %s\n", text);
  if (code == KN_EXIT_OK || first.kept) return code;
  first.kept = true;
  snprintf(first.status, sizeof first.status, "%s", status);
  snprintf(first.text, sizeof first.text, "%s", text);
  return code;
}

kn_exit kn_complain(const kn_args* args, kn_exit code, const char* format, ...) {
  va_list list;
  char text[2048];
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return say(args, code, status_of(code), text);
}

kn_exit kn_complain_text(const kn_args* args, kn_status status, const char* text) {
  return say(args, kn_exit_of(status), kn_status_name(status), text);
}

kn_exit kn_complain_status(const kn_args* args, kn_status status) {
  return kn_complain_text(args, status, kn_last_error());
}

/* "FILE:12:3: text" taken apart; the text after it, or the whole text with line and column 0. */
static const char* split(char* file, size_t room, long* line, long* column, const char* text) {
  for (const char* c = strchr(text, ':'); c; c = strchr(c + 1, ':')) {
    char *end, *after;
    if (!isdigit((unsigned char)c[1])) continue;
    *line = strtol(c + 1, &end, 10);
    if (*end != ':' || !isdigit((unsigned char)end[1])) continue;
    *column = strtol(end + 1, &after, 10);
    if (*after != ':') continue;
    snprintf(file, room, "%.*s", (int)(c - text), text);
    return after + (after[1] == ' ' ? 2 : 1);
  }
  *line = *column = 0;
  return text;
}

/* A sentence that begins with the name of an operand speaks of that file. */
static void guess_file(char* file, size_t room, int argc, char** argv, const char* text) {
  for (int i = 0; i < argc && !file[0]; i++) {
    size_t n = strlen(argv[i]);
    if (n && argv[i][0] != '-' && strncmp(text, argv[i], n) == 0 && (text[n] == ':' || text[n] == ' '))
      snprintf(file, room, "%s", argv[i]);
  }
}

kn_exit kn_complaint_json(kn_exit code, int argc, char** argv) {
  kn_json j;
  char file[1024] = "";
  long line = 0, column = 0;
  if (code == KN_EXIT_OK || json_began) return code;
  const char* text = split(file, sizeof file, &line, &column, first.kept ? first.text : "");
  guess_file(file, sizeof file, argc, argv, text);
  kn_json_start(&j);
  kn_json_begin(&j, "error");
  kn_json_text(&j, "status", first.kept ? first.status : status_of(code));
  kn_json_text(&j, "file", file[0] ? file : NULL);
  if (line) {
    kn_json_int(&j, "line", line);
    kn_json_int(&j, "column", column);
  } else {
    kn_json_null(&j, "line");
    kn_json_null(&j, "column");
  }
  kn_json_text(&j, "text", text);
  kn_json_int(&j, "exit", code);
  kn_json_end(&j);
  return kn_json_finish(&j, code);
}

void kn_json_start(kn_json* j) {
  json_began = true;
  kn_json_open(j, stdout, false);
  kn_json_begin(j, NULL);
}

kn_exit kn_json_finish(kn_json* j, kn_exit code) { return kn_json_close(j) ? code : KN_EXIT_WRITE; }
