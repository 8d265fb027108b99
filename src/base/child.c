/* A child process with limits on memory, time, files and system calls. The protocol: the child sends its status and a sentence, then
   whatever its work sends. A crash, a hang or nonsense becomes KN_BAD_FILE with a sentence. Where there are no
   processes (WebAssembly) the work is refused.

   The work comes before the status is known, so it writes into memory first: kn_child_send appends to the child's
   buffer, which goes out at the end in one piece. */
#include "base/child.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#if defined(__unix__) && !defined(__wasm__)
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/timer.h"

enum { TEXT = 400 };

typedef struct head {
  uint32_t magic;
  int32_t status;
  uint64_t bytes; /* that follow */
  char text[TEXT];
} head;

enum { MAGIC = 0x6b6e6368 };

struct kn_child {
  int fd;
  double deadline;
  uint64_t left;   /* bytes that the child said it would send */
  kn_status crash; /* what a death means: a bad file to read, a place that cannot be written */
};

/* ---- the child's side ---- */

static struct { /* of this process; it has one thread */
  uint8_t* at;
  size_t n, room;
  bool failed;
} out;

bool kn_child_send(int pipe, const void* bytes, size_t size) {
  (void)pipe;
  if (out.room - out.n < size) {
    size_t wanted = out.room ? out.room : 1 << 16;
    while (wanted - out.n < size && wanted < SIZE_MAX / 2) wanted *= 2;
    uint8_t* fresh = wanted - out.n < size ? NULL : realloc(out.at, wanted);
    out.failed |= !fresh;
    if (!fresh) return false;
    out.at = fresh, out.room = wanted;
  }
  if (size) memcpy(out.at + out.n, bytes, size);
  out.n += size;
  return true;
}

static bool write_all(int fd, const void* data, size_t bytes) {
  const char* p = data;
  while (bytes) {
    ssize_t n = write(fd, p, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n, bytes -= (size_t)n;
  }
  return true;
}

/* What the process has mapped already does not count against the limit. */
static size_t mapped(void) {
  char text[64] = {0};
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  return n > 0 ? (size_t)strtoull(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE) : (size_t)1 << 32;
}

static void limit(int what, rlim_t most) {
  struct rlimit r = {most, most};
  setrlimit(what, &r);
}

static _Noreturn void work_in_child(int fd, kn_child_fn work, void* context, const kn_child_limits* l) {
  for (int s = 1; s < 32; s++) signal(s, SIG_DFL); /* the parent's handlers mean the parent */
  int quiet = open("/dev/null", O_WRONLY);         /* libraries print */
  if (quiet >= 0) dup2(quiet, 1), dup2(quiet, 2);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, (rlim_t)l->seconds + 1);
  if (!l->may_write) limit(RLIMIT_FSIZE, 0);
  if (l->megabytes) limit(RLIMIT_AS, (rlim_t)(mapped() + (l->megabytes << 20)));
  signal(SIGXFSZ, SIG_IGN);      /* a write beyond the limit then fails instead */
  kn_filter_enter(l->may_write); /* where there is none, the limits above are what there is */
  head h = {.magic = MAGIC};
  h.status = work(fd, context);
  if (h.status == KN_OK && out.failed) h.status = kn_fail(KN_OUT_OF_MEMORY, "no memory for what was read");
  if (h.status != KN_OK) snprintf(h.text, sizeof h.text, "%s", kn_last_error());
  h.bytes = h.status == KN_OK ? out.n : 0;
  _exit(write_all(fd, &h, sizeof h) && write_all(fd, out.at, (size_t)h.bytes) ? 0 : 1);
}

/* ---- the parent's side ---- */

static bool read_all(kn_child* c, void* data, size_t bytes) {
  char* p = data;
  while (bytes) {
    double left = c->deadline - kn_wall_seconds();
    struct pollfd w = {c->fd, POLLIN, 0};
    if (left <= 0.0) return false;
    int ready = poll(&w, 1, (int)(1000.0 * left) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    ssize_t n = read(c->fd, p, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n, bytes -= (size_t)n;
  }
  return true;
}

bool kn_child_get(kn_child* c, void* bytes, size_t size) {
  if (size > c->left || !read_all(c, bytes, size)) return false;
  c->left -= size;
  return true;
}

static kn_status hear(kn_child* c, kn_parent_fn receive, void* context, const char* what) {
  head h;
  if (!read_all(c, &h, sizeof h))
    return kn_fail(c->crash, "%s %s", what,
                   kn_wall_seconds() >= c->deadline ? "took too long on it"
                                                    : "crashed on it, or ran out of memory");
  h.text[TEXT - 1] = 0;
  if (h.magic != MAGIC || h.status < 0 || h.status >= KN_STATUS_COUNT)
    return kn_fail(KN_BAD_FILE, "%s answered nonsense", what);
  if (h.status != KN_OK) return kn_fail((kn_status)h.status, "%s", h.text);
  c->left = h.bytes;
  return receive ? receive(c, context) : KN_OK;
}

kn_status kn_child_run(kn_child_fn work, kn_parent_fn receive, void* context, const kn_child_limits* limits,
                       const char* what) {
  int pipes[2];
  if (pipe(pipes) != 0) return kn_fail(KN_IO, "%s: no pipe: %s", what, strerror(errno));
  fcntl(pipes[0], F_SETFD, FD_CLOEXEC), fcntl(pipes[1], F_SETFD, FD_CLOEXEC);
  pid_t pid = fork();
  if (pid == 0) {
    close(pipes[0]);
    work_in_child(pipes[1], work, context, limits);
  }
  close(pipes[1]);
  kn_child c = {.fd = pipes[0],
                .deadline = kn_wall_seconds() + limits->seconds,
                .crash = limits->may_write ? KN_IO : KN_BAD_FILE};
  kn_status status = pid < 0 ? kn_fail(KN_IO, "%s: no process: %s", what, strerror(errno))
                             : hear(&c, receive, context, what);
  close(pipes[0]);
  if (pid > 0) {
    if (status != KN_OK) kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
  }
  return status;
}

#else
struct kn_child {
  int none;
};

bool kn_child_send(int pipe, const void* bytes, size_t size) { return (void)pipe, (void)bytes, !size; }
bool kn_child_get(kn_child* c, void* bytes, size_t size) { return (void)c, (void)bytes, !size; }

kn_status kn_child_run(kn_child_fn work, kn_parent_fn receive, void* context, const kn_child_limits* limits,
                       const char* what) {
  (void)work, (void)receive, (void)context, (void)limits;
  return kn_fail(KN_UNSUPPORTED, "%s: needs a process of its own, and there are none here", what);
}
#endif
