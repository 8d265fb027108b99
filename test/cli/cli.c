/* The command line as a user meets it: the binary is run, its output and exit status are checked. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "test.h"

TEST(overview_and_version) {
  kn_test_result* r = kn_test_knuckle("--help");
  CHECK_INT(r->status, 0);
  CHECK_TEXT(r->out, "usage: knuckle COMMAND");
  r = kn_test_knuckle("--version");
  CHECK_INT(r->status, 0);
  CHECK_TEXT(r->out, "knuckle 0.");
  r = kn_test_knuckle("");
  CHECK_INT(r->status, 2);
  CHECK_INT(strlen(r->out), 0);
}

TEST(misspelt_words_get_a_suggestion) {
  kn_test_result* r = kn_test_knuckle("lsit");
  CHECK_INT(r->status, 2);
  CHECK_TEXT(r->err, "did you mean list?");
  r = kn_test_knuckle("list --jsno");
  CHECK_INT(r->status, 2);
  CHECK_TEXT(r->err, "did you mean --json?");
  r = kn_test_knuckle("list comands");
  CHECK_INT(r->status, 2);
  CHECK_TEXT(r->err, "did you mean commands?");
  r = kn_test_knuckle("qqqqqqqq");
  CHECK_INT(r->status, 2);
  CHECK(strstr(r->err, "did you mean") == NULL);
}

TEST(usage_errors_say_what_is_wrong) {
  CHECK_INT(kn_test_knuckle("list a b")->status, 2);
  CHECK_TEXT(kn_test_knuckle("list a b")->err, "unexpected \"b\"");
  CHECK_TEXT(kn_test_knuckle("list --json=3")->err, "--json takes no value");
}

/* Every command explains itself. */
TEST(every_command_has_help_with_an_example) {
  json_t* root = json_loads(kn_test_knuckle("list commands --json")->out, 0, NULL);
  json_t* commands = json_object_get(root, "commands");
  CHECK(json_array_size(commands) >= 3);
  for (size_t i = 0; i < json_array_size(commands); i++) {
    char arguments[128];
    const char* name = json_string_value(json_object_get(json_array_get(commands, i), "name"));
    snprintf(arguments, sizeof arguments, "%s --help", name);
    kn_test_result* r = kn_test_knuckle(arguments);
    CHECK_INT(r->status, 0);
    CHECK_TEXT(r->out, "examples:");
    CHECK_TEXT(r->out, "knuckle ");
    CHECK_INT(strlen(r->err), 0);
  }
  json_decref(root);
}

TEST(json_is_one_object_and_nothing_else) {
  json_error_t error;
  kn_test_result* r = kn_test_knuckle("list --json");
  json_t* root = json_loads(r->out, 0, &error);
  CHECK_INT(r->status, 0);
  CHECK(json_is_object(root));
  CHECK_INT(strlen(r->err), 0);
  json_decref(root);
}

TEST(unwritable_output_is_exit_4) {
  CHECK_INT(system("'" KN_BINARY_DIR "/knuckle' list --json > /dev/full") >> 8, 4);
}

TEST(the_page_of_the_command_line_is_up_to_date) {
  static char page[65536];
  FILE* f = fopen(KN_SOURCE_DIR "/docs/cli.md", "r");
  if (!CHECK(f != NULL)) return;
  page[fread(page, 1, sizeof page - 1, f)] = '\0';
  fclose(f);
  if (!CHECK(strcmp(kn_test_knuckle("help --markdown")->out, page) == 0))
    puts("renew it: make docs   (or build-dev/knuckle help --markdown > docs/cli.md)");
}

TEST(outputs_of_a_study_are_written) {
  char folder[] = "/tmp/knuckle-outputs-test-XXXXXX", path[256], command[512];
  if (!CHECK(mkdtemp(folder) != NULL)) return;
  snprintf(path, sizeof path, "%s/ball.xml", folder);
  FILE* f = fopen(path, "w");
  fprintf(f, "<mujoco><worldbody><geom type='plane' size='1 1 .1'/><body pos='0 0 1'><joint name='fall' "
             "type='slide' axis='0 0 1'/><geom size='.1'/></body></worldbody></mujoco>");
  fclose(f);
  snprintf(path, sizeof path, "%s/ball.yaml", folder);
  f = fopen(path, "w");
  fprintf(
      f,
      "model: ball.xml\nduration: 0.1\noutputs: {recording: %s/run.mcap, every: 10, csv: %s/run.csv, plot: "
      "[q.fall, energy]}\n",
      folder, folder);
  fclose(f);
  snprintf(command, sizeof command, "run %s", path);
  CHECK_INT(kn_test_knuckle(command)->status, 0);
  const char* left[] = {"run.mcap", "run.csv", "run.svg", "ball.xml", "ball.yaml"};
  for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, left[i]);
    f = fopen(path, "r");
    if (!CHECK(f != NULL)) continue;
    int lines = 0, c;
    while ((c = fgetc(f)) != EOF) lines += c == '\n';
    if (i == 1) CHECK_INT(lines, 6); /* a head and every tenth of 50 steps of MuJoCo's 0.002 s */
    fclose(f);
    remove(path);
  }
  CHECK_INT(remove(folder), 0);
}
