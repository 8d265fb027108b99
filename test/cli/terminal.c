/* On a terminal: a progress bar, and Ctrl-C ends a run with its page written and status 130. Elsewhere:
 * silence. */
#define _GNU_SOURCE
#include <errno.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "test.h"

static bool no_terminal(void) {
  int a, b;
  if (openpty(&a, &b, NULL, NULL, NULL) != 0) return true;
  close(a);
  close(b);
  return false;
}

/* Runs knuckle on a pseudo-terminal; interrupts it once its output shows that it runs. */
static unsigned short width; /* columns of the terminal; 0: it does not say */

static int on_terminal(char* const argv[], bool interrupt, char* text, size_t room) {
  int master, status = -1;
  size_t n = 0;
  struct winsize size = {.ws_row = 20, .ws_col = width};
  pid_t child = forkpty(&master, NULL, NULL, width ? &size : NULL);
  if (child == 0) {
    execv(KN_BINARY_DIR "/knuckle", argv);
    _exit(127);
  }
  if (child < 0) return -1;
  for (ssize_t got; n < room - 1 && (got = read(master, text + n, room - 1 - n)) > 0;) {
    n += (size_t)got;
    if (interrupt && write(master, "\003", 1) == 1) interrupt = false; /* Ctrl-C */
  }
  text[n] = '\0';
  waitpid(child, &status, 0);
  close(master);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(a_progress_bar_on_a_terminal_only) {
  static char text[1 << 20];
  if (no_terminal()) SKIP("no pseudo-terminals here");
  char* const argv[] = {"knuckle", "demo", "--time", "20", "-o", "/tmp/kn-test-demo/bar.html", NULL};
  CHECK_INT(on_terminal(argv, false, text, sizeof text), 0);
  CHECK_TEXT(text, "pendulum-2014 ");
  CHECK_TEXT(text, "x real time");
  CHECK_TEXT(text, "left 0:0");
  char* const quiet[] = {"knuckle", "demo", "-q", "--time", "20", "-o", "/tmp/kn-test-demo/bar.html", NULL};
  CHECK_INT(on_terminal(quiet, false, text, sizeof text), 0);
  CHECK(strstr(text, "real time") == NULL);
  CHECK_INT(strlen(kn_test_knuckle("demo --time 0.1 -o /tmp/kn-test-demo/bar.html")->err), 0);
}

TEST(ctrl_c_leaves_a_readable_page_and_130) {
  static char text[1 << 20];
  struct stat info;
  if (no_terminal()) SKIP("no pseudo-terminals here");
  char* const argv[] = {"knuckle", "demo", "--time", "100000", "-o", "/tmp/kn-test-demo/stopped.html", NULL};
  remove("/tmp/kn-test-demo/stopped.html");
  CHECK_INT(on_terminal(argv, true, text, sizeof text), 130);
  CHECK(stat("/tmp/kn-test-demo/stopped.html", &info) == 0 && info.st_size > 10000);
}

/* A line as wide as the terminal would wrap, and every renewal would leave a copy behind. */
TEST(the_progress_bar_is_cut_to_the_width_of_the_terminal) {
  static char text[1 << 20];
  if (no_terminal()) SKIP("no pseudo-terminals here");
  width = 40;
  char* const argv[] = {"knuckle", "demo", "--time", "20", "-o", "/tmp/kn-test-demo/bar.html", NULL};
  CHECK_INT(on_terminal(argv, false, text, sizeof text), 0);
  width = 0;
  int lines = 0;
  for (char* at = text; (at = strstr(at, "\r\033[K")); lines++) {
    int columns = 0;
    bool bar = false;
    for (at += 4; *at && *at != '\r' && *at != '\n' && *at != '\033'; at++) {
      columns += ((unsigned char)*at & 0xc0) != 0x80;
      bar = bar || strncmp(at, "░", 3) == 0 || strncmp(at, "█", 3) == 0;
    }
    if (bar) CHECK(columns > 20 && columns < 40);
  }
  CHECK(lines > 1);
}

TEST(colours_on_a_terminal_only) {
  static char text[1 << 16];
  if (no_terminal()) SKIP("no pseudo-terminals here");
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  char* const argv[] = {"knuckle", "run", "no-such-scene", NULL};
  CHECK_INT(on_terminal(argv, false, text, sizeof text), 3);
  CHECK_TEXT(text, "\033[31mknuckle run:\033[0m");
  setenv("NO_COLOR", "1", 1);
  CHECK_INT(on_terminal(argv, false, text, sizeof text), 3);
  CHECK(strchr(text, 033) == NULL);
  unsetenv("NO_COLOR");
  CHECK(strchr(kn_test_knuckle("run no-such-scene")->err, 033) == NULL);
}
