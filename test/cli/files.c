/* Files that commands write: a stranger's study stays in its folder, nothing is replaced unasked, inputs are
   never written over, nothing half written stays, names cannot command a terminal or break a format. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "test.h"

static char folder[] = "/tmp/kn-files-XXXXXX";

static const char ball[] =
    "<mujoco><worldbody><geom type='plane' size='1 1 .1'/><body name='%s' pos='0 0 .1'><joint name='%s' "
    "type='slide' axis='0 0 1'/><geom size='.1'/></body></worldbody></mujoco>";

static const char* at(const char* name) {
  static char paths[8][160];
  static int next;
  char* path = paths[next++ % 8];
  if (strstr(folder, "XXXXXX")) {
    if (!mkdtemp(folder)) abort();
    snprintf(path, sizeof *paths, "%s/in", folder);
    mkdir(path, 0777);
  }
  snprintf(path, sizeof *paths, "%s/%s", folder, name);
  return path;
}

static void put(const char* name, const char* text) {
  FILE* f = fopen(at(name), "w");
  if (!f || fputs(text, f) < 0 || fclose(f) != 0) abort();
}

static long size_of(const char* name) {
  struct stat s;
  return stat(at(name), &s) == 0 ? (long)s.st_size : -1;
}

static kn_test_result* knuckle(const char* format, const char* a, const char* b) {
  char line[1024];
  snprintf(line, sizeof line, format, a, b);
  return kn_test_knuckle(line);
}

static void robot(void) {
  char text[600];
  snprintf(text, sizeof text, ball, "ball", "fall");
  put("in/robot.xml", text);
}

TEST(a_study_writes_in_its_own_folder_only) {
  robot();
  put("bashrc.mcap", "precious");
  static const char* const outside[] = {"../bashrc.mcap", "/tmp/kn-files-elsewhere.mcap", "../new.mcap",
                                        "~/.bashrc"};
  for (size_t i = 0; i < 4; i++) {
    char text[200];
    snprintf(text, sizeof text, "outputs: {recording: %s}\n", outside[i]);
    put("in/robot.yaml", text);
    kn_test_result* r = knuckle("run %s --time 0.01", at("in/robot.xml"), "");
    CHECK(r->status == 2 || r->status == 4);
    CHECK_TEXT(r->err, "robot.yaml");
  }
  CHECK_INT(size_of("bashrc.mcap"), 8);
  CHECK_INT(size_of("new.mcap"), -1);
  put("in/robot.yaml", "outputs: {csv: ../out.csv}\n");
  CHECK_INT(knuckle("run %s --time 0.01", at("in/robot.xml"), "")->status, 2);
  CHECK_INT(knuckle("run %s --time 0.01 --force", at("in/robot.xml"), "")->status, 0);
  CHECK(size_of("out.csv") > 100);
  CHECK(symlink("..", at("in/up")) == 0); /* a link out of the folder is outside too */
  put("in/robot.yaml", "outputs: {recording: up/linked.mcap}\n");
  CHECK_INT(knuckle("run %s --time 0.01", at("in/robot.xml"), "")->status, 2);
  CHECK_INT(size_of("linked.mcap"), -1);
}

TEST(a_study_replaces_nothing_unasked_and_run_says_what_it_writes) {
  robot();
  put("in/robot.yaml", "outputs: {recording: run.mcap, csv: run.csv, plot: [energy]}\n");
  kn_test_result* r = knuckle("run %s --time 0.01", at("in/robot.xml"), "");
  CHECK_INT(r->status, 0);
  CHECK_TEXT(r->out, "in/run.mcap");
  CHECK_TEXT(r->out, "in/run.csv");
  CHECK_TEXT(r->out, "in/run.svg");
  long size = size_of("in/run.mcap");
  CHECK(size > 0 && size_of("in/run.csv") > 0 && size_of("in/run.svg") > 0);
  r = knuckle("run %s --time 0.02", at("in/robot.xml"), "");
  CHECK_INT(r->status, 2);
  CHECK_TEXT(r->err, "exists; --force replaces it");
  CHECK_INT(size_of("in/run.mcap"), size);
  CHECK_INT(knuckle("run %s --time 0.02 --force", at("in/robot.xml"), "")->status, 0);
  CHECK(size_of("in/run.mcap") > size);
  remove(at("in/robot.yaml"));
  r = knuckle("run %s --time 0.01 -o %s", at("in/robot.xml"), at("in/run.mcap")); /* the user's own word */
  CHECK_INT(r->status, 0);
  CHECK_TEXT(r->out, "in/run.mcap");
}

TEST(inputs_are_never_written_over) {
  robot();
  long size = size_of("in/robot.xml");
  CHECK_INT(knuckle("run %s --time 0.01 -o %s", at("in/robot.xml"), at("in/robot.xml"))->status, 2);
  CHECK(symlink(at("in/robot.xml"), at("robot.mcap")) == 0);
  CHECK_INT(knuckle("run %s --time 0.01 -o %s", at("in/robot.xml"), at("robot.mcap"))->status, 2);
  CHECK_INT(size_of("in/robot.xml"), size);
  put("in/parts.xml", "<mujoco><default><geom density='900'/></default></mujoco>");
  put("in/whole.xml", "<mujoco><include file='parts.xml'/><worldbody><body><freejoint/><geom "
                      "size='.1'/></body></worldbody></mujoco>");
  long parts = size_of("in/parts.xml");
  CHECK(symlink(at("in/parts.xml"), at("parts.mcap")) == 0);
  CHECK_INT(knuckle("run %s --time 0.01 --force -o %s", at("in/whole.xml"), at("parts.mcap"))->status, 2);
  CHECK_INT(size_of("in/parts.xml"), parts);
  put("in/study.yaml", "model: robot.xml\n"); /* what a study reads is an input of every command on it */
  static const char* const ends[] = {"html", "mcap"};
  for (size_t i = 0; i < 2; i++) {
    char name[32];
    snprintf(name, sizeof name, "model.%s", ends[i]);
    CHECK(symlink(at("in/robot.xml"), at(name)) == 0);
    CHECK_INT(
        knuckle(i ? "run %s --time 0.01 -o %s" : "demo %s --time 0.01 -o %s", at("in/study.yaml"), at(name))
            ->status,
        2);
  }
  CHECK_INT(size_of("in/robot.xml"), size);
  knuckle("run %s --time 0.01 -o %s", at("in/robot.xml"), at("a.mcap"));
  CHECK(link(at("a.mcap"), at("a.csv")) == 0);
  size = size_of("a.mcap");
  CHECK_INT(knuckle("export %s -o %s", at("a.mcap"), at("a.csv"))->status, 2);
  CHECK(link(at("a.mcap"), at("a.svg")) == 0);
  CHECK_INT(knuckle("plot %s q -o %s", at("a.mcap"), at("a.svg"))->status, 2);
  CHECK_INT(size_of("a.mcap"), size);
}

TEST(a_recording_that_another_run_writes_is_refused) {
  robot();
  FILE* f = fopen(at("busy.mcap"), "w");
  if (!CHECK(f != NULL)) return;
  fputs("growing", f);
  fflush(f);
  CHECK_INT(flock(fileno(f), LOCK_EX | LOCK_NB), 0);
  kn_test_result* r = knuckle("run %s --time 0.01 -o %s", at("in/robot.xml"), at("busy.mcap"));
  CHECK_INT(r->status, 4);
  CHECK_TEXT(r->err, "being written by another run");
  CHECK_INT(size_of("busy.mcap"), 7);
  fclose(f);
  CHECK_INT(knuckle("run %s --time 0.01 -o %s", at("in/robot.xml"), at("busy.mcap"))->status, 0);
}

TEST(fifos_and_devices_are_refused_at_once) {
  robot();
  static const char* const ends[] = {"p.xml", "p.mcap", "p.json", "p.urdf", "p.yaml", "p.csv", "p.html"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) CHECK_INT(mkfifo(at(ends[i]), 0600), 0);
  /* an alarm ends a command that waits for the pipe: the shell's status is then not 3 or 4 */
  CHECK_INT(knuckle("run %s", at("p.xml"), "")->status, 3);
  CHECK_INT(knuckle("run %s", at("p.yaml"), "")->status, 3);
  CHECK_INT(knuckle("check %s", at("p.urdf"), "")->status, 3);
  CHECK_INT(knuckle("verify %s", at("p.mcap"), "")->status, 3);
  CHECK_INT(knuckle("solve %s", at("p.json"), "")->status, 3);
  CHECK_INT(knuckle("run %s --time 0.01 -o %s", at("in/robot.xml"), at("p.mcap"))->status, 4);
  knuckle("run %s --time 0.01 -o %s", at("in/robot.xml"), at("b.mcap"));
  CHECK_INT(knuckle("export %s -o %s", at("b.mcap"), at("p.csv"))->status, 4);
  CHECK_INT(knuckle("demo %s --time 0.01 -o %s", at("in/robot.xml"), at("p.html"))->status, 4);
  CHECK_INT(knuckle("check %s", "/dev/zero", "")->status, 3);
  put("in/fit.yaml", "model: robot.xml\nmaterials:\n  - {geom: '*', friction: 0.2}\nfit:\n"
                     "  parameters:\n    mu: {field: materials.0.friction, from: 0.1, to: 0.6}\n"
                     "  data:\n    - {file: ../p.csv, trajectory: n, rate: 100, q: {fall: [z]}}\n");
  kn_test_result* fit = knuckle("fit %s", at("in/fit.yaml"), "");
  CHECK_INT(fit->status, 3);
  CHECK_TEXT(fit->err, "is a pipe (FIFO)");
  CHECK_INT(knuckle("study init %s -o %s", at("in/robot.xml"), at("p.yaml"))->status, 4);
  CHECK_INT(knuckle("export %s --format csv -o %s", at("b.mcap"), "/dev/full")->status, 4);
}

/* A file system without room, by the limit on the size of files: the sentence, status 4, nothing half written. */
static int in_little_room(const char* arguments, long bytes, char* said, size_t room) {
  int status, pipes[2];
  if (pipe(pipes) != 0) abort();
  pid_t child = fork();
  if (child == 0) {
    struct rlimit limit = {(rlim_t)bytes, (rlim_t)bytes};
    char line[1024];
    signal(SIGXFSZ, SIG_IGN); /* writing fails instead of a signal */
    setrlimit(RLIMIT_FSIZE, &limit);
    dup2(pipes[1], 2);
    close(pipes[0]);
    snprintf(line, sizeof line, "exec '%s/knuckle' %s > /dev/null", KN_BINARY_DIR, arguments);
    execl("/bin/sh", "sh", "-c", line, (char*)NULL);
    _exit(127);
  }
  close(pipes[1]);
  size_t used = 0;
  for (ssize_t n; used < room - 1 && (n = read(pipes[0], said + used, room - 1 - used)) > 0;)
    used += (size_t)n;
  said[used] = '\0';
  close(pipes[0]);
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(a_full_disk_is_status_4_and_leaves_no_half_file) {
  char line[600], said[2000];
  robot();
  knuckle("run %s --time 0.2 -o %s", at("in/robot.xml"), at("c.mcap"));
  static const char* const outs[] = {"export %s -o %s/full.csv", "export %s -o %s/full.json",
                                     "plot %s q v energy -o %s/full.svg", "export %s -o %s/full.h5"};
  for (size_t i = 0; i < 4; i++) {
    snprintf(line, sizeof line, outs[i], at("c.mcap"), folder);
    if (!CHECK_INT(in_little_room(line, 1000, said, sizeof said), 4)) puts(line);
    CHECK_TEXT(said, "full.");
  }
  snprintf(line, sizeof line, "ls %s/full* > /dev/null 2>&1", folder);
  CHECK(system(line) != 0); /* nothing under the name, no part file */
  snprintf(line, sizeof line, "demo %s --time 0.1 -o %s/full.html", at("in/robot.xml"), folder);
  CHECK_INT(in_little_room(line, 1000, said, sizeof said), 4);
  CHECK_INT(size_of("full.html"), -1);
  snprintf(line, sizeof line, "run %s --time 3 -o %s/long.mcap", at("in/robot.xml"), folder);
  CHECK_INT(in_little_room(line, 3000, said, sizeof said), 4);
  CHECK_TEXT(said, "writing failed");
}

TEST(names_are_escaped_wherever_they_are_shown) {
  char text[900], all[400];
  snprintf(text, sizeof text, ball, "a,b&quot;&lt;/script&gt;&lt;b&gt;", "q&#x9b;31m&#x7f;,&lt;i&gt;");
  put("in/evil.xml", text);
  kn_test_result* r = knuckle("check %s", at("in/evil.xml"), "");
  CHECK_INT(r->status, 0);
  CHECK(strstr(r->out, "\xc2\x9b") == NULL && strchr(r->out, 0x7f) == NULL);
  CHECK_TEXT(r->out, "q\\x9b31m\\x7f,<i>");
  CHECK_INT(knuckle("run %s --time 0.05 -o %s", at("in/evil.xml"), at("evil.mcap"))->status, 0);
  CHECK_INT(knuckle("demo %s --time 0.05 -o %s", at("in/evil.xml"), at("evil.html"))->status, 0);
  CHECK_INT(knuckle("export %s -o %s", at("evil.mcap"), at("evil.csv"))->status, 0);
  CHECK_INT(knuckle("export %s -o %s", at("evil.mcap"), at("evil.h5"))->status, 0);
  CHECK_INT(knuckle("plot %s q,v force -o %s", at("evil.mcap"), at("evil.svg"))->status, 0);
  /* every row of the CSV has as many cells as its head, by a reader that shares no code */
  snprintf(
      all, sizeof all,
      "python3 -c \"import csv,sys; r=list(csv.reader(open('%s'))); sys.exit(len({len(x) for x in r}) != 1 "
      "or r[0][1] != 'q.q\\x9b31m\\x7f,<i>')\"",
      at("evil.csv"));
  CHECK_INT(system(all), 0);
  snprintf(all, sizeof all, "python3 -c \"import xml.dom.minidom as d; d.parse('%s')\"", at("evil.svg"));
  CHECK_INT(system(all), 0);
  snprintf(all, sizeof all, "test $(grep -c '</script>' '%s') = 1", at("evil.html"));
  CHECK_INT(system(all), 0); /* the page's own, once */
  r = knuckle("run '%s'", "no\033]0;title\007such.xml", "");
  CHECK_INT(r->status, 3);
  CHECK(strchr(r->err, 033) == NULL);
  CHECK_TEXT(r->err, "no\\x1b]0;title\\x07such.xml");
}

/* Two joints, bodies and geoms whose names differ at the end only, and a joint called like part of another. */
TEST(long_names_are_whole_and_no_two_columns_are_called_alike) {
  char n[151], all[500];
  memset(n, 'a', 150);
  n[150] = '\0';
  FILE* f = fopen(at("in/long.xml"), "w");
  if (!CHECK(f != NULL)) return;
  fprintf(
      f,
      "<mujoco><worldbody><geom type='plane' size='1 1 .1'/><body name='%s1' pos='0 0 .1'><joint name='%s1' "
      "type='slide' axis='0 0 1'/><geom name='%s1' size='.1'/><body name='%s2' pos='.5 0 0'><joint "
      "name='%s2' type='ball'/><geom size='.1'/><body pos='.5 0 0'><joint name='%s2.0'/><geom pos='.1 0 0' "
      "size='.01'/></body></body></body></worldbody></mujoco>",
      n, n, n, n, n, n);
  fclose(f);
  CHECK_INT(knuckle("run %s --time 0.05 -o %s", at("in/long.xml"), at("long.mcap"))->status, 0);
  static const char* const ends[] = {"csv", "json", "h5"};
  for (size_t i = 0; i < 3; i++) {
    snprintf(all, sizeof all, "export %%s -o %%s.%s", ends[i]);
    CHECK_INT(knuckle(all, at("long.mcap"), at("long"))->status, 0);
  }
  snprintf(all, sizeof all,
           "python3 -c \"import csv,sys; r=next(csv.reader(open('%s'))); sys.exit(len(set(r)) != len(r) or "
           "'q.'+'a'*150+'2.0 (2)' not in r or 'force.'+'a'*150+'1.world' not in r)\"",
           at("long.csv"));
  CHECK_INT(system(all), 0);
}

TEST(tables_without_rows_have_their_names) {
  robot();
  put("in/free.xml", "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>");
  CHECK_INT(knuckle("run %s --time 0.01 -o %s", at("in/free.xml"), at("free.mcap"))->status, 0);
  CHECK_INT(knuckle("run %s --time 0.01 -o %s", at("in/robot.xml"), at("touch.mcap"))->status, 0);
  static const char* const tables[] = {"contacts", "pairs", "bodies"};
  for (size_t i = 0; i < 3; i++) {
    char line[64];
    snprintf(line, sizeof line, "export %%s --table %s", tables[i]);
    kn_test_result* r = knuckle(line, at("free.mcap"), "");
    CHECK_INT(r->status, 0);
    char* names = strdup(r->out);
    CHECK(strncmp(names, "t,step,", 7) == 0);
    CHECK_TEXT(knuckle(line, at("touch.mcap"), "")->out, names); /* the same names with rows below them */
    free(names);
  }
}

/* What a terminal would obey is shown, and JSON stays JSON; so do YAML and tables. */
TEST(control_characters_in_names_break_no_format) {
  static const char* const evil[] = {"&#x85;", "&#x9b;31m", "&#x202e;&#x2066;", "&#x7f;", "=1+1", "@SUM(1)"};
  for (size_t i = 0; i < sizeof evil / sizeof *evil; i++) {
    char text[600], all[600];
    snprintf(text, sizeof text, ball, evil[i], evil[i]);
    put("in/control.xml", text);
    remove(at("control.yaml"));
    kn_test_result* r = knuckle("run %s --time 0.02 -o %s --json", at("in/control.xml"), at("control.mcap"));
    CHECK_INT(r->status, 0);
    CHECK(strstr(r->out, "\\x") == NULL); /* JSON has no such escape */
    CHECK_INT(knuckle("study init %s -o %s", at("in/control.xml"), at("control.yaml"))->status, 0);
    CHECK_INT(knuckle("run %s --time 0.01", at("control.yaml"), "")->status, 0);
    CHECK_INT(knuckle("export %s --table contacts -o %s", at("control.mcap"), at("control.csv"))->status, 0);
    snprintf(
        all, sizeof all,
        "python3 -c \"import csv,sys; sys.exit(any(c[:1] in ('=','@') for r in csv.reader(open('%s')) for c "
        "in r))\"",
        at("control.csv"));
    CHECK_INT(system(all), 0); /* no cell that a spreadsheet computes */
  }
}

/* With little memory there is a sentence and an end. Libraries that made threads before `main` left the program waiting for them. */
TEST(with_little_memory_every_command_ends) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP("sanitizers need the address space");
#endif
  robot();
  static const char* const commands[] = {"run %s --time 0.01", "check %s", "compare %s --time 0.01",
                                         "list scenes"};
  for (int megabytes = 100; megabytes <= 220; megabytes += 40)
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
      char line[600], all[900];
      snprintf(line, sizeof line, commands[i], at("in/robot.xml"));
      snprintf(all, sizeof all, "ulimit -v %d; timeout 20 '%s/knuckle' %s > %s 2>&1", 1024 * megabytes,
               KN_BINARY_DIR, line, at("said"));
      int status = system(all);
      bool ended = WIFEXITED(status) && WEXITSTATUS(status) <= 4;
      if (!CHECK(ended && (status == 0 || size_of("said") > 20))) printf("  %d MB: %s\n", megabytes, line);
    }
}
