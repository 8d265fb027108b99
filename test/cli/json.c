/* Every command with --json, on good and on bad input: one JSON object on standard output and nothing else
   there; failures as {"error":{"status","file","line","column","text"}}. A command without lines here fails
   the test, so that a new one gets its own. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "test.h"

static char folder[] = "/tmp/kn-json-XXXXXX";

/* F/ stands for the folder of the test. */
static const struct {
  const char *command, *good, *bad;
  int status; /* of the bad line */
  const char* text;
} lines[] = {
    {"demo", "demo pendulum-2014 --time 0.05 -o F/d.html", "demo no-such-scene", 3, "no-such-scene"},
    {"run", "run stack --time 0.01", "run F/bad.xml", 3, "expected"},
    {"compare", "compare pendulum-2014 --time 0.01", "compare stack --time x", 2, "--time"},
    {"diagnose", "diagnose stack --at 0.01", "diagnose stack --mu-map a b -o F/a.bmp", 2, "unknown ending"},
    {"certify", "certify rod --contacts -0.3,0.3 --e 0.9,0.1 -o F/c.svg", "certify rod --contacts 1", 2,
     "rod"},
    {"check", "check stack", "check F/bad.xml", 3, "expected"},
    {"study", "study init F/good.xml --force", "study init F/bad.xml", 3, "expected"},
    {"export", "export F/run.mcap --only energy", "export F/run.mcap -o F/a.xlsx", 2, ".csv"},
    {"export", "export F/run.mcap --table pairs", "export F/run.mcap --table pairs -o F/a.h5", 2,
     ".csv or .json"},
    {"export", "export F/run.mcap --list", "export F/none.mcap", 3, "none.mcap"},
    {"export", "export F/run.mcap -o F/a.csv", "export F/run.mcap --only enrgy", 2, "did you mean energy"},
    {"plot", "plot F/run.mcap energy -o F/a.svg", "plot F/run.mcap energy -o F/a.xlsx", 2, ".svg or .png"},
    {"plot", "plot F/run.mcap energy", "plot F/run.mcap enrgy -o F/a.svg", 2, "did you mean energy"},
    {"verify", "verify F/run.mcap", "verify F/bad.xml", 3, "bad.xml"},
    {"solve", "solve F/lcp.json", "solve F/bad.json", 3, "bad.json"},
    {"bench", "bench", "bench no-such-bench", 2, "no-such-bench"},
    {"sweep", "sweep F/sweep.yaml", "sweep F/badsweep.yaml", 3, "badsweep.yaml"},
    {"fit", "fit " KN_SOURCE_DIR "/examples/fit/toss.yaml -o F/fit.html", "fit F/badsweep.yaml", 3,
     "badsweep.yaml"},
    {"view", "view --help", "view no-such-scene --html F/v.html", 3,
     "no-such-scene"}, /* make viewer builds its page */
    {"list", "list", "list comands", 2, "did you mean commands"},
    {"completion", "completion bash", "completion fish", 2, "bash or zsh"},
    {"help", "help", "help nothing", 2, "nothing"},
    {"help", "help run", "help --markdown", 2, "--markdown"},
    {"help", "run --help", "run --tiem 1", 2, "did you mean --time"},
    {"help", "help run", "", 2, "expected COMMAND"}};

static const char* expanded(const char* line) {
  static char out[1024];
  char* to = out;
  for (const char* c = line; *c; c++)
    to += c[0] == 'F' && c[1] == '/' ? sprintf(to, "%s", folder) : sprintf(to, "%c", *c);
  strcpy(to, " --json");
  return out;
}

static void write_file(const char* name, const char* text) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f) != 0) abort();
}

static void prepare(void) {
  static bool done;
  char line[256];
  if (done) return;
  done = true;
  if (!mkdtemp(folder)) abort();
  write_file("bad.xml", "<mujoco>\n  <worldbody><body><geom size='-1'/></body></worldbody>\n</mujoco>");
  write_file("good.xml", "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>");
  write_file("sweep.yaml",
             "scene: stack\nduration: 0.002\nsweep: {vary: {dt: [1e-3]}, outputs: {n: contacts}}\n");
  write_file("badsweep.yaml", "scene: stack\nsweep: {vary: {dt: [1e-3]}, outputs: {n: contcts}}\n");
  write_file("bad.json", "{\"M\": [[1, 2], \n");
  write_file("lcp.json", "{\"M\": [[2, 1], [1, 2]], \"q\": [-1, -1]}");
  snprintf(line, sizeof line, "run stack --time 0.01 -o %s/run.mcap", folder);
  if (kn_test_knuckle(line)->status != 0) abort();
}

static json_t* object(const char* text) {
  json_error_t error;
  json_t* root = json_loads(text, JSON_REJECT_DUPLICATES, &error); /* refuses anything after the object */
  if (!CHECK(json_is_object(root))) printf("%s:%d: %s\n%.200s\n", error.source, error.line, error.text, text);
  return root;
}

/* Builds with sanitizers have no benches. */
static bool built(const char* command) {
  return strcmp(command, "bench") != 0 || access(KN_BINARY_DIR "/bench/step", X_OK) == 0;
}

TEST(every_command_prints_one_json_object) {
  prepare();
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    if (!built(lines[i].command)) continue;
    kn_test_result* r = kn_test_knuckle(expanded(lines[i].good));
    if (!CHECK_INT(r->status, 0)) puts(lines[i].good);
    json_t* root = object(r->out);
    CHECK(json_object_get(root, "error") == NULL);
    json_decref(root);
  }
}

TEST(every_failure_is_a_json_object_too) {
  prepare();
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    if (!built(lines[i].command)) continue;
    kn_test_result* r = kn_test_knuckle(expanded(lines[i].bad));
    if (!CHECK_INT(r->status, lines[i].status)) puts(lines[i].bad);
    CHECK(strlen(r->err) > 0); /* the sentence for people stays where it was */
    json_t *root = object(r->out), *e = json_object_get(root, "error");
    static const char* const keys[] = {"status", "file", "line", "column", "text"};
    for (int k = 0; k < 5; k++) CHECK(json_object_get(e, keys[k]) != NULL);
    const char* text = json_string_value(json_object_get(e, "text"));
    const char* file = json_string_value(json_object_get(e, "file"));
    if (!CHECK((text && strstr(text, lines[i].text)) || (file && strstr(file, lines[i].text))))
      printf("%s\n%s\n", lines[i].bad, r->out);
    json_decref(root);
  }
}

TEST(a_bad_model_has_its_place_in_the_error) {
  prepare();
  json_t *root = object(kn_test_knuckle(expanded("run F/bad.xml"))->out), *e = json_object_get(root, "error");
  CHECK_TEXT(json_string_value(json_object_get(e, "file")), "/bad.xml");
  CHECK_TEXT(json_string_value(json_object_get(e, "status")), "BAD_FILE");
  CHECK_INT(json_integer_value(json_object_get(e, "line")), 2);
  CHECK(json_integer_value(json_object_get(e, "column")) > 1);
  json_decref(root);
}

TEST(no_command_is_forgotten_here) {
  json_t *root = object(kn_test_knuckle("list commands --json")->out),
         *list = json_object_get(root, "commands");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char* name = json_string_value(json_object_get(json_array_get(list, i), "name"));
    bool found = false;
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) found |= strcmp(lines[k].command, name) == 0;
    if (!CHECK(found)) printf("knuckle %s has no lines in test/cli/json.c\n", name);
  }
  json_decref(root);
}
