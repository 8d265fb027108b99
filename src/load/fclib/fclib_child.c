/* Reading a file nobody vouches for: a child process opens it with the HDF5 library and sends plain numbers
   through a pipe; the parent believes none of them. A crash, a hang or nonsense becomes KN_BAD_FILE. */
#ifdef KN_HAVE_HDF5
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/timer.h"
#include "load/fclib/fclib.h"

enum { SECONDS = 120 }; /* of wall time for one file */

typedef struct header {
  int32_t status, contacts, dimension, equalities, stored, global;
  char text[256]; /* message, or the title */
} header;

static bool send_all(int fd, const void* data, size_t bytes) {
  const char* p = data;
  while (bytes) {
    ssize_t n = write(fd, p, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n, bytes -= (size_t)n;
  }
  return true;
}

static size_t value_count(const kn_fclib* f) {
  const kn_problem* p = &f->problem;
  int stored = p->sparse->start[p->blocks], last = p->blocks - 1;
  if (!stored) return 0;
  while (p->sparse->start[last] == stored) last--;
  int rows = kn_set_rows(p->block[last].set), cols = kn_set_rows(p->block[p->sparse->col[stored - 1]].set);
  return (size_t)p->sparse->at[stored - 1] + (size_t)(rows * cols);
}

static _Noreturn void child(int fd, const char* path) {
  struct rlimit cpu = {SECONDS, SECONDS};
  setrlimit(RLIMIT_CPU, &cpu);
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  kn_fclib f;
  header h = {0};
  h.status = kn_fclib_read_trusted(&f, path);
  snprintf(h.text, sizeof h.text, "%s", h.status == KN_OK ? f.title : kn_last_error());
  if (h.status == KN_OK) {
    const kn_problem* p = &f.problem;
    h.contacts = f.contacts, h.dimension = f.dimension, h.equalities = p->blocks - f.contacts;
    h.stored = p->sparse->start[p->blocks], h.global = f.global;
    bool sent = send_all(fd, &h, sizeof h) &&
                send_all(fd, p->sparse->start, ((size_t)p->blocks + 1) * sizeof(int)) &&
                send_all(fd, p->sparse->col, (size_t)h.stored * sizeof(int));
    for (int b = 0; sent && b < f.contacts; b++) sent = send_all(fd, &p->block[b].mu, sizeof(double));
    sent = sent && send_all(fd, p->sparse->value, value_count(&f) * sizeof(double)) &&
           send_all(fd, p->q, (size_t)p->rows * sizeof(double));
    _exit(sent ? 0 : 1);
  }
  send_all(fd, &h, sizeof h);
  _exit(0);
}

typedef struct source {
  int fd;
  double deadline;
} source;

static bool get(source* s, void* data, size_t bytes) {
  char* p = data;
  while (bytes) {
    double left = s->deadline - kn_wall_seconds();
    struct pollfd w = {s->fd, POLLIN, 0};
    if (left <= 0.0) return false;
    int ready = poll(&w, 1, (int)(1000.0 * left) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    ssize_t n = read(s->fd, p, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n, bytes -= (size_t)n;
  }
  return true;
}

static bool sane(const header* h) {
  return h->contacts >= 0 && h->contacts <= KN_FCLIB_MOST_ROWS && h->equalities >= 0 &&
         h->equalities <= KN_FCLIB_MOST_ROWS && (h->dimension == 2 || h->dimension == 3) && h->stored >= 0 &&
         h->stored <= KN_FCLIB_MOST_ENTRIES;
}

static bool pattern_ok(const header* h, const int* start, const int* col) {
  int blocks = h->contacts + h->equalities;
  if (start[0] != 0 || start[blocks] != h->stored) return false;
  for (int b = 0; b < blocks; b++)
    if (start[b + 1] < start[b]) return false;
  for (int k = 0; k < h->stored; k++)
    if (col[k] < 0 || col[k] >= blocks) return false;
  return true;
}

static kn_status receive_arrays(kn_fclib* out, source* s, const header* h, const char* path) {
  size_t blocks = (size_t)(h->contacts + h->equalities);
  int *start = malloc((blocks + 1) * sizeof *start), *col = malloc(((size_t)h->stored + 1) * sizeof *col);
  kn_status status = start && col ? KN_OK : kn_fail(KN_OUT_OF_MEMORY, "%s", path);
  if (status == KN_OK && !(get(s, start, (blocks + 1) * sizeof *start) &&
                           get(s, col, (size_t)h->stored * sizeof *col) && pattern_ok(h, start, col)))
    status = kn_fail(KN_BAD_FILE, "%s: reading it failed", path);
  if (status == KN_OK) status = kn_fclib_layout(out, h->contacts, h->dimension, h->equalities, start, col);
  free(start);
  free(col);
  if (status != KN_OK) return status;
  kn_block* block = (kn_block*)(uintptr_t)out->problem.block;
  bool got = true;
  for (int b = 0; got && b < h->contacts; b++) got = get(s, &block[b].mu, sizeof(double));
  got = got && get(s, (double*)(uintptr_t)out->problem.sparse->value, value_count(out) * sizeof(double)) &&
        get(s, (double*)(uintptr_t)out->problem.q, (size_t)out->problem.rows * sizeof(double));
  return got ? kn_problem_check(&out->problem) : kn_fail(KN_BAD_FILE, "%s: reading it failed", path);
}

static kn_status receive(kn_fclib* out, source* s, const char* path) {
  header h;
  if (!get(s, &h, sizeof h)) return kn_fail(KN_BAD_FILE, "%s: the HDF5 library crashed or hung on it", path);
  h.text[sizeof h.text - 1] = 0;
  if (h.status < 0 || h.status >= KN_STATUS_COUNT) return kn_fail(KN_BAD_FILE, "%s: reading it failed", path);
  if (h.status != KN_OK) return kn_fail((kn_status)h.status, "%s", h.text);
  if (!sane(&h)) return kn_fail(KN_BAD_FILE, "%s: impossible sizes", path);
  KN_TRY(receive_arrays(out, s, &h, path));
  out->global = h.global != 0;
  snprintf(out->title, sizeof out->title, "%.127s", h.text);
  return KN_OK;
}

kn_status kn_fclib_read(kn_fclib* out, const char* path) {
  KN_REQUIRE(out != NULL && path != NULL);
  *out = (kn_fclib){0};
  if (access(path, R_OK) != 0) return kn_fail(KN_NOT_FOUND, "%s: %s", path, strerror(errno));
  int pipes[2];
  if (pipe(pipes) != 0) return kn_fail(KN_IO, "pipe: %s", strerror(errno));
  pid_t pid = fork();
  if (pid == 0) {
    close(pipes[0]);
    child(pipes[1], path);
  }
  close(pipes[1]);
  source s = {pipes[0], kn_wall_seconds() + SECONDS};
  kn_status status = pid < 0 ? kn_fail(KN_IO, "fork: %s", strerror(errno)) : receive(out, &s, path);
  close(pipes[0]);
  if (pid > 0) {
    if (status != KN_OK) kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
  }
  if (status != KN_OK) kn_fclib_free(out);
  return status;
}

#else

#include "base/error.h"
#include "load/fclib/fclib.h"

kn_status kn_fclib_read(kn_fclib* out, const char* path) {
  KN_REQUIRE(out != NULL && path != NULL);
  *out = (kn_fclib){0};
  return kn_fail(KN_UNSUPPORTED, "%s: built without HDF5 (KN_HDF5)", path);
}

#endif
