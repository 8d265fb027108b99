/* The command line as a user meets it: the binary is run, its output and exit status are checked. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "test.h"

typedef struct result {
  int status;
  char out[65536], err[8192];
} result;

static void read_file(const char* path, char* text, size_t room) {
  FILE* f = fopen(path, "r");
  size_t n = f ? fread(text, 1, room - 1, f) : 0;
  text[n] = '\0';
  if (f) fclose(f);
}

static result* knuckle(const char* arguments) {
  static result r;
  char command[4096], out[] = "/tmp/kn-cli-out-XXXXXX", err[] = "/tmp/kn-cli-err-XXXXXX";
  int a = mkstemp(out), b = mkstemp(err);
  CHECK(a >= 0 && b >= 0);
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

TEST(overview_and_version) {
  result* r = knuckle("--help");
  CHECK_INT(r->status, 0);
  CHECK_TEXT(r->out, "usage: knuckle COMMAND");
  r = knuckle("--version");
  CHECK_INT(r->status, 0);
  CHECK_TEXT(r->out, "knuckle 0.");
  r = knuckle("");
  CHECK_INT(r->status, 2);
  CHECK_INT(strlen(r->out), 0);
}

TEST(misspelt_words_get_a_suggestion) {
  result* r = knuckle("lsit");
  CHECK_INT(r->status, 2);
  CHECK_TEXT(r->err, "did you mean list?");
  r = knuckle("list --jsno");
  CHECK_INT(r->status, 2);
  CHECK_TEXT(r->err, "did you mean --json?");
  r = knuckle("list comands");
  CHECK_INT(r->status, 2);
  CHECK_TEXT(r->err, "did you mean commands?");
  r = knuckle("qqqqqqqq");
  CHECK_INT(r->status, 2);
  CHECK(strstr(r->err, "did you mean") == NULL);
}

TEST(usage_errors_say_what_is_wrong) {
  CHECK_INT(knuckle("list a b")->status, 2);
  CHECK_TEXT(knuckle("list a b")->err, "unexpected \"b\"");
  CHECK_TEXT(knuckle("list --json=3")->err, "--json takes no value");
}

/* Every command explains itself. */
TEST(every_command_has_help_with_an_example) {
  json_t* root = json_loads(knuckle("list commands --json")->out, 0, NULL);
  json_t* commands = json_object_get(root, "commands");
  CHECK(json_array_size(commands) >= 3);
  for (size_t i = 0; i < json_array_size(commands); i++) {
    char arguments[128];
    const char* name = json_string_value(json_object_get(json_array_get(commands, i), "name"));
    snprintf(arguments, sizeof arguments, "%s --help", name);
    result* r = knuckle(arguments);
    CHECK_INT(r->status, 0);
    CHECK_TEXT(r->out, "examples:");
    CHECK_TEXT(r->out, "knuckle ");
    CHECK_INT(strlen(r->err), 0);
  }
  json_decref(root);
}

TEST(json_is_one_object_and_nothing_else) {
  json_error_t error;
  result* r = knuckle("list --json");
  json_t* root = json_loads(r->out, 0, &error);
  CHECK_INT(r->status, 0);
  CHECK(json_is_object(root));
  CHECK_INT(strlen(r->err), 0);
  json_decref(root);
}

TEST(unwritable_output_is_exit_4) {
  CHECK_INT(system("'" KN_BINARY_DIR "/knuckle' list --json > /dev/full") >> 8, 4);
}
