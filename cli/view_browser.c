/* Chromium without a window, driven by its debugging protocol: JSON messages that end with 0, on two pipes that are the
   child's files 3 and 4. One question is open at a time; events that come in between are passed over. Answers
   begin with {"id":N, and what is read from them (names of targets, base64) has no escapes. */
#define _GNU_SOURCE
#include "view_browser.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

enum {
  PATIENCE = 600000, /* ms of silence: a heavy run is simulated before the page is ready */
  GOODBYE = 50,      /* tenths of a second to end by itself */
  PART = 1 << 16
};

extern char** environ;

bool kn_program_there(const char* name) {
  const char* path = getenv("PATH");
  char file[PATH_MAX];
  while (path && *path) {
    int n = (int)strcspn(path, ":");
    snprintf(file, sizeof file, "%.*s/%s", n, path, name);
    if (n > 0 && access(file, X_OK) == 0) return true;
    path += n + (path[n] == ':');
  }
  return false;
}

static bool fail(kn_browser* b, const char* format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(b->why, sizeof b->why, format, list);
  va_end(list);
  return false;
}

/* ---- messages ---- */

/* Reads until a message is whole: b->text up to its 0. What came after it stays for the next one. */
static bool next_message(kn_browser* b) {
  const char* end;
  memmove(b->text, b->text + b->length, b->used -= b->length);
  b->length = 0;
  for (size_t looked = 0; !(end = memchr(b->text + looked, 0, b->used - looked));) {
    struct pollfd at = {.fd = b->from, .events = POLLIN};
    looked = b->used;
    if (b->room < b->used + PART) {
      char* more = realloc(b->text, 2 * b->room + PART);
      if (!more) return fail(b, "out of memory for a picture");
      b->text = more;
      b->room = 2 * b->room + PART;
    }
    int ready = poll(&at, 1, PATIENCE);
    if (kn_interrupted()) return fail(b, "interrupted");
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return fail(b, "chromium did not answer for %d s", PATIENCE / 1000);
    ssize_t n = read(b->from, b->text + b->used, PART);
    if (n <= 0) return fail(b, "chromium ended before the picture was made");
    b->used += (size_t)n;
  }
  b->length = (size_t)(end - b->text) + 1;
  return true;
}

/* Waits for the answer to the last question, or with a `method` for that event. */
static bool wait_for(kn_browser* b, const char* method) {
  char head[KN_BROWSER_WORD];
  if (method)
    snprintf(head, sizeof head, "{\"method\":\"%s\"", method);
  else
    snprintf(head, sizeof head, "{\"id\":%ld,", b->asked);
  do {
    if (!next_message(b)) return false;
  } while (strncmp(b->text, head, strlen(head)) != 0);
  const char* wrong = strstr(b->text, "\"error\":{");
  return !wrong || method ? true : fail(b, "chromium: %.300s", wrong);
}

static bool ask(kn_browser* b, const char* method, const char* parameters) {
  char session[2 * KN_BROWSER_WORD] = "", *line;
  if (b->session[0]) snprintf(session, sizeof session, ",\"sessionId\":\"%s\"", b->session);
  int n = asprintf(&line, "{\"id\":%ld,\"method\":\"%s\",\"params\":{%s}%s}", ++b->asked, method, parameters,
                   session);
  if (n < 0) return fail(b, "out of memory");
  bool sent = write(b->to, line, (size_t)n + 1) == n + 1;
  free(line);
  return sent ? wait_for(b, NULL) : fail(b, "chromium does not listen");
}

/* The text of "key":"…" in the last answer; its length, 0 when it is not there. */
static size_t answered(const kn_browser* b, const char* key, const char** text) {
  char head[KN_BROWSER_WORD];
  snprintf(head, sizeof head, "\"%s\":\"", key);
  const char* at = strstr(b->text, head);
  if (!at) return 0;
  *text = at + strlen(head);
  return strcspn(*text, "\"");
}

/* An expression of the page that ends (or promises) "ok", or a sentence. */
static bool page_does(kn_browser* b, const char* expression) {
  char line[512];
  const char* text;
  snprintf(line, sizeof line, "\"expression\":\"%s\",\"awaitPromise\":true,\"returnByValue\":true",
           expression);
  if (!ask(b, "Runtime.evaluate", line)) return false;
  size_t n = answered(b, "value", &text);
  if (n == 2 && strncmp(text, "ok", 2) == 0) return true;
  if (n == 0) n = answered(b, "description", &text);
  return n ? fail(b, "the page says: %.*s", (int)(n < 800 ? n : 800), text) : fail(b, "the page failed");
}

/* ---- the program ---- */

/* A pipe whose ends are no files 0 to 9: the child's 3 and 4 are put in their place one after the other. */
static bool make_pipe(int at[2]) {
  int low[2];
  if (pipe2(low, O_CLOEXEC) != 0) return false;
  for (int i = 0; i < 2; i++) at[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 10), close(low[i]);
  return at[0] >= 0 && at[1] >= 0;
}

static int spawn(kn_browser* b, int listens, int tells, const char* window) {
  const char* argv[] = {"chromium",
                        "--headless",
                        "--remote-debugging-pipe",
                        "--use-angle=swiftshader",
                        "--enable-unsafe-swiftshader",
                        "--hide-scrollbars",
                        "--force-device-scale-factor=1",
                        window,
                        geteuid() == 0 ? "--no-sandbox" : NULL,
                        NULL};
  posix_spawn_file_actions_t files;
  if (posix_spawn_file_actions_init(&files) != 0) return ENOMEM;
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, listens, 3);
  posix_spawn_file_actions_adddup2(&files, tells, 4);
  int wrong = posix_spawnp(&b->child, argv[0], &files, NULL, (char**)(size_t)argv, environ);
  if (wrong) b->child = 0;
  posix_spawn_file_actions_destroy(&files);
  return wrong;
}

static bool start(kn_browser* b, int width, int height) {
  int there[2] = {-1, -1}, back[2] = {-1, -1};
  char window[64];
  snprintf(window, sizeof window, "--window-size=%d,%d", width, height);
  bool ok = make_pipe(there) && make_pipe(back);
  int wrong = ok ? spawn(b, there[0], back[1], window) : errno;
  b->to = there[1];
  b->from = back[0];
  if (there[0] >= 0) close(there[0]);
  if (back[1] >= 0) close(back[1]);
  if (wrong == ENOENT) return fail(b, "chromium is not installed (Debian: chromium)");
  return wrong ? fail(b, "chromium could not be started: %s", strerror(wrong)) : true;
}

static bool attach(kn_browser* b, const char* file, int width, int height) {
  char line[PATH_MAX + 128];
  const char* text = "";
  size_t n;
  snprintf(line, sizeof line, "\"url\":\"about:blank\",\"width\":%d,\"height\":%d", width, height);
  if (!ask(b, "Target.createTarget", line)) return false;
  n = answered(b, "targetId", &text);
  snprintf(line, sizeof line, "\"targetId\":\"%.*s\",\"flatten\":true", (int)n, text);
  if (!n || !ask(b, "Target.attachToTarget", line)) return false;
  n = answered(b, "sessionId", &text);
  if (!n || n >= sizeof b->session) return fail(b, "chromium gave no session");
  snprintf(b->session, sizeof b->session, "%.*s", (int)n, text);
  snprintf(line, sizeof line, "\"width\":%d,\"height\":%d,\"deviceScaleFactor\":1,\"mobile\":false", width,
           height);
  if (!ask(b, "Emulation.setDeviceMetricsOverride", line) || !ask(b, "Page.enable", "")) return false;
  snprintf(line, sizeof line, "\"url\":\"file://%s\"", file);
  return ask(b, "Page.navigate", line) && wait_for(b, "Page.loadEventFired");
}

/* The page's script goes on after the page has loaded, and may end with a sentence instead. */
static const char ready[] =
    "(async () => { while (!document.documentElement.dataset.ready) await new Promise(r => setTimeout(r, "
    "10)); "
    "return window.knuckleReady ? window.knuckleReady() : document.body.innerText; })()";

bool kn_browser_open(kn_browser* b, const char* file, int width, int height) {
  *b = (kn_browser){.to = -1, .from = -1, .text = calloc(1, PART), .room = PART};
  if (!b->text) return fail(b, "out of memory");
  signal(SIGPIPE, SIG_IGN); /* a browser or an encoder that ends is a sentence, not a signal */
  return start(b, width, height) && attach(b, file, width, height) && page_does(b, ready);
}

bool kn_browser_frame(kn_browser* b, int i) {
  char line[64];
  snprintf(line, sizeof line, "window.knuckleFrame(%d)", i);
  return page_does(b, line);
}

/* ---- pictures ---- */

static int digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* base64 to bytes, in place. */
static size_t decode(uint8_t* out, const char* text, size_t n) {
  size_t made = 0;
  uint32_t bits = 0;
  for (size_t i = 0, k = 0; i < n && digit(text[i]) >= 0; i++) {
    bits = bits << 6 | (uint32_t)digit(text[i]);
    if (++k % 4 == 1) continue;
    out[made++] = (uint8_t)(bits >> (6 - 2 * ((k - 1) % 4)));
  }
  return made;
}

bool kn_browser_picture(kn_browser* b, uint8_t** png, size_t* size) {
  const char* text;
  if (!ask(b, "Page.captureScreenshot", "\"format\":\"png\",\"optimizeForSpeed\":true")) return false;
  size_t n = answered(b, "data", &text);
  if (!n) return fail(b, "chromium made no picture");
  *png = (uint8_t*)b->text + (text - b->text);
  *size = decode(*png, text, n);
  return true;
}

void kn_browser_close(kn_browser* b) {
  b->session[0] = '\0';
  if (b->child && b->to >= 0) {
    static const char last[] = "{\"id\":0,\"method\":\"Browser.close\"}";
    if (write(b->to, last, sizeof last) < 0) kill(b->child, SIGTERM);
  }
  if (b->to >= 0) close(b->to);
  if (b->from >= 0) close(b->from);
  for (int i = 0, status; b->child && i <= GOODBYE; i++) {
    if (waitpid(b->child, &status, WNOHANG) == b->child) b->child = 0;
    if (b->child && i == GOODBYE) kill(b->child, SIGKILL), waitpid(b->child, &status, 0);
    if (b->child) usleep(100000);
  }
  free(b->text);
  *b = (kn_browser){.to = -1, .from = -1};
}
