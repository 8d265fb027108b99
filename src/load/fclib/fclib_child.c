/* Reading a file nobody vouches for: a child process opens it with the HDF5 library and sends plain numbers
   through a pipe; the parent believes none of them. A crash, a hang or nonsense becomes KN_BAD_FILE. */
#ifdef KN_HAVE_HDF5
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "load/fclib/fclib.h"

typedef struct request {
  kn_fclib* out;
  const char* path;
} request;

typedef struct header {
  int32_t contacts, dimension, equalities, stored, global;
  char text[256]; /* the title */
} header;

static size_t value_count(const kn_fclib* f) {
  const kn_problem* p = &f->problem;
  int stored = p->sparse->start[p->blocks], last = p->blocks - 1;
  if (!stored) return 0;
  while (p->sparse->start[last] == stored) last--;
  int rows = kn_set_rows(p->block[last].set), cols = kn_set_rows(p->block[p->sparse->col[stored - 1]].set);
  return (size_t)p->sparse->at[stored - 1] + (size_t)(rows * cols);
}

static kn_status read_in_child(int fd, void* context) {
  const request* x = context;
  kn_fclib f;
  KN_TRY(kn_fclib_read_trusted(&f, x->path));
  const kn_problem* p = &f.problem;
  header h = {.contacts = f.contacts,
              .dimension = f.dimension,
              .equalities = p->blocks - f.contacts,
              .stored = p->sparse->start[p->blocks],
              .global = f.global};
  snprintf(h.text, sizeof h.text, "%s", f.title);
  kn_child_send(fd, &h, sizeof h);
  kn_child_send(fd, p->sparse->start, ((size_t)p->blocks + 1) * sizeof(int));
  kn_child_send(fd, p->sparse->col, (size_t)h.stored * sizeof(int));
  for (int b = 0; b < f.contacts; b++) kn_child_send(fd, &p->block[b].mu, sizeof(double));
  kn_child_send(fd, p->sparse->value, value_count(&f) * sizeof(double));
  kn_child_send(fd, p->q, (size_t)p->rows * sizeof(double));
  kn_fclib_free(&f);
  return KN_OK;
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

static kn_status receive_arrays(kn_fclib* out, kn_child* s, const header* h, const char* path) {
  size_t blocks = (size_t)(h->contacts + h->equalities);
  int *start = malloc((blocks + 1) * sizeof *start), *col = malloc(((size_t)h->stored + 1) * sizeof *col);
  kn_status status = start && col ? KN_OK : kn_fail(KN_OUT_OF_MEMORY, "%s", path);
  if (status == KN_OK &&
      !(kn_child_get(s, start, (blocks + 1) * sizeof *start) &&
        kn_child_get(s, col, (size_t)h->stored * sizeof *col) && pattern_ok(h, start, col)))
    status = kn_fail(KN_BAD_FILE, "%s: reading it failed", path);
  if (status == KN_OK) status = kn_fclib_layout(out, h->contacts, h->dimension, h->equalities, start, col);
  free(start);
  free(col);
  if (status != KN_OK) return status;
  kn_block* block = (kn_block*)(uintptr_t)out->problem.block;
  bool got = true;
  for (int b = 0; got && b < h->contacts; b++) got = kn_child_get(s, &block[b].mu, sizeof(double));
  got = got &&
        kn_child_get(s, (double*)(uintptr_t)out->problem.sparse->value, value_count(out) * sizeof(double)) &&
        kn_child_get(s, (double*)(uintptr_t)out->problem.q, (size_t)out->problem.rows * sizeof(double));
  return got ? kn_problem_check(&out->problem) : kn_fail(KN_BAD_FILE, "%s: reading it failed", path);
}

static kn_status receive(kn_child* s, void* context) {
  const request* x = context;
  header h;
  if (!kn_child_get(s, &h, sizeof h)) return kn_fail(KN_BAD_FILE, "%s: reading it failed", x->path);
  h.text[sizeof h.text - 1] = 0;
  if (!sane(&h)) return kn_fail(KN_BAD_FILE, "%s: impossible sizes", x->path);
  KN_TRY(receive_arrays(x->out, s, &h, x->path));
  x->out->global = h.global != 0;
  snprintf(x->out->title, sizeof x->out->title, "%.127s", h.text);
  return KN_OK;
}

kn_status kn_fclib_read(kn_fclib* out, const char* path) {
  KN_REQUIRE(out != NULL && path != NULL);
  *out = (kn_fclib){0};
  struct stat info;
  if (access(path, R_OK) != 0) return kn_fail(KN_NOT_FOUND, "%s: %s", path, strerror(errno));
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
    return kn_fail(KN_BAD_FILE, "%s: not a regular file", path);
  static const kn_child_limits limits = {.seconds = 120.0, .megabytes = 16384};
  char what[300];
  snprintf(what, sizeof what, "%.200s: the HDF5 library", path);
  request x = {out, path};
  kn_status status = kn_child_run(read_in_child, receive, &x, &limits, what);
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
