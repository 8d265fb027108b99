#define _GNU_SOURCE
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void read_file(const char* path, char* text, size_t room) {
  FILE* f = fopen(path, "r");
  size_t n = f ? fread(text, 1, room - 1, f) : 0;
  text[n] = '\0';
  if (f) fclose(f);
}

kn_test_result* kn_test_knuckle(const char* arguments) {
  static kn_test_result r;
  char command[4096], out[] = "/tmp/kn-cli-out-XXXXXX", err[] = "/tmp/kn-cli-err-XXXXXX";
  int a = mkstemp(out), b = mkstemp(err);
  if (a < 0 || b < 0) abort();
  close(a);
  close(b);
  snprintf(command, sizeof command, "'%s/knuckle' %s > %s 2> %s < /dev/null", KN_BINARY_DIR, arguments, out,
           err);
  int status = system(command);
  r.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  read_file(out, r.out, sizeof r.out);
  read_file(err, r.err, sizeof r.err);
  remove(out);
  remove(err);
  return &r;
}

const char* kn_test_put(char* folder, const char* name, const char* text) {
  static char path[256];
  if (strstr(folder, "XXXXXX") && !mkdtemp(folder)) abort();
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f) != 0) abort();
  return path;
}
