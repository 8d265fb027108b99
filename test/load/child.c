/* Work in a child process: whatever it does, the parent gets a status and a sentence. */
#include <errno.h>
#include <fcntl.h>
#ifdef __linux__
#include <linux/seccomp.h>
#include <sys/prctl.h>
#endif
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "knuckle/fclib.h"
#include "knuckle/features.h"
#include "knuckle/mesh.h"
#include "test.h"

static const kn_child_limits limits = {.seconds = 20.0, .megabytes = 512};

static kn_status crash(int pipe, void* context) {
  (void)pipe, (void)context;
  abort();
}
static kn_status hang(int pipe, void* context) {
  (void)pipe, (void)context;
  for (volatile int i = 0; i >= 0; i = (i + 1) % 1000) {}
  return KN_OK;
}
static kn_status eat(int pipe, void* context) {
  (void)pipe;
  char** kept = context;
  for (int i = 0; i < 100; i++) {
    char* p = malloc((size_t)64 << 20);
    if (!p) return kn_fail(KN_OUT_OF_MEMORY, "no memory after %d times 64 MB", i);
    memset(p, 1, (size_t)64 << 20);
    *kept = p; /* so that it is not left out */
  }
  return KN_OK;
}
static kn_status refuse(int pipe, void* context) {
  (void)pipe, (void)context;
  return kn_fail(KN_UNSUPPORTED, "not this one");
}
static kn_status write_file(int pipe, void* context) {
  (void)pipe;
  FILE* f = fopen(context, "w");
  bool ok = f && fputs("hello", f) >= 0;
  if (f) ok = fclose(f) == 0 && ok;
  return ok ? KN_OK : kn_fail(KN_IO, "cannot write");
}
static kn_status send_many(int pipe, void* context) {
  (void)context;
  for (int i = 0; i < 300000; i++) kn_child_send(pipe, &i, sizeof i);
  return KN_OK;
}
static kn_status get_many(kn_child* child, void* context) {
  int x, *sum = context;
  for (int i = 0; i < 300000; i++) {
    if (!kn_child_get(child, &x, sizeof x) || x != i) return kn_fail(KN_BAD_FILE, "%d came as %d", i, x);
    *sum += x % 3;
  }
  return kn_child_get(child, &x, 1) ? kn_fail(KN_BAD_FILE, "too much") : KN_OK;
}

/* What a hole in a library would be used for: KN_OK where the call got through. */
static kn_status open_socket(int pipe, void* context) {
  (void)pipe, (void)context;
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  return fd >= 0 ? KN_OK : kn_fail(KN_IO, "socket: %s", strerror(errno));
}
static kn_status run_program(int pipe, void* context) {
  (void)context;
  static char name[] = "true";
  char *words[] = {name, NULL}, *none[] = {NULL};
  fcntl(pipe, F_SETFD, 0);
  execve("/bin/true", words, none);
  return kn_fail(KN_IO, "execve: %s", strerror(errno));
}
static kn_status remove_file(int pipe, void* context) {
  (void)pipe;
  char* path = context;
  return unlink(path) == 0 ? KN_OK : kn_fail(KN_IO, "unlink: %s", strerror(errno));
}

/* Does the kernel take filters? A program at no address is a wrong address to one that does. */
static bool filters(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__linux__)
  return false;
#else
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) != 0 && errno == EFAULT;
#endif
}

TEST(a_child_opens_no_socket_runs_no_program_and_removes_no_file) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/knuckle-kept-%d", (int)getpid());
  if (!filters()) SKIP("no filter of system calls here");
  FILE* f = fopen(path, "w");
  if (!CHECK(f != NULL)) return;
  fclose(f);
  CHECK_STATUS(kn_child_run(open_socket, NULL, NULL, &limits, "x"), KN_IO);
  CHECK_TEXT(kn_last_error(), "socket: Operation not permitted");
  CHECK_STATUS(kn_child_run(run_program, NULL, NULL, &limits, "x"), KN_IO);
  CHECK_TEXT(kn_last_error(), "execve: Operation not permitted");
  CHECK_STATUS(kn_child_run(remove_file, NULL, path, &limits, "x"), KN_IO);
  CHECK(access(path, F_OK) == 0);
  kn_child_limits may = limits;
  may.may_write = true; /* files, but nothing else */
  CHECK_STATUS(kn_child_run(open_socket, NULL, NULL, &may, "x"), KN_IO);
  CHECK_STATUS(kn_child_run(run_program, NULL, NULL, &may, "x"), KN_IO);
  CHECK_OK(kn_child_run(remove_file, NULL, path, &may, "x"));
  unlink(path);
}

TEST(a_child_that_crashes_hangs_or_eats_memory_is_a_status) {
  char* kept = NULL;
  CHECK_STATUS(kn_child_run(crash, NULL, NULL, &limits, "x.off: lib"), KN_BAD_FILE);
  CHECK_TEXT(kn_last_error(), "x.off: lib crashed");
  CHECK_STATUS(kn_child_run(hang, NULL, NULL, &(kn_child_limits){.seconds = 1.0}, "x.off: lib"), KN_BAD_FILE);
  CHECK_TEXT(kn_last_error(), "took too long");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK_STATUS(kn_child_run(eat, NULL, &kept, &limits, "x.off: lib"), KN_OUT_OF_MEMORY);
#endif
  CHECK_STATUS(kn_child_run(refuse, NULL, NULL, &limits, "x.off: lib"), KN_UNSUPPORTED);
  CHECK_TEXT(kn_last_error(), "not this one");
}

TEST(a_child_may_write_files_only_when_it_is_told_to) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/knuckle-child-%d", (int)getpid());
  CHECK_STATUS(kn_child_run(write_file, NULL, path, &limits, "x"), KN_IO);
  if (filters()) CHECK(access(path, F_OK) != 0); /* not even an empty one */
  unlink(path);
  kn_child_limits may = limits;
  may.may_write = true;
  CHECK_OK(kn_child_run(write_file, NULL, path, &may, "x"));
  unlink(path);
}

TEST(a_child_sends_what_it_found) {
  int sum = 0;
  CHECK_OK(kn_child_run(send_many, get_many, &sum, &limits, "x"));
  CHECK_INT(sum, 300000);
}

TEST(assimp_aborts_on_an_off_file_of_three_vertices) {
  kn_mesh_data mesh = {0};
  static const char text[] = "OFF\n3 1 0\n";
  if (!kn_mesh_has_assimp()) SKIP("built without assimp");
  CHECK_STATUS(kn_mesh_data_read(&mesh, "bad.off", text, sizeof text - 1), KN_BAD_FILE);
  CHECK_TEXT(kn_last_error(), "bad.off");
  static const char good[] = "OFF\n4 2 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n3 0 1 3\n";
  CHECK_OK(kn_mesh_data_read(&mesh, "good.off", good, sizeof good - 1));
  CHECK_INT(mesh.nvertex, 4);
  CHECK_INT(mesh.ntriangle, 2);
  kn_mesh_data_free(&mesh);
}

TEST(hdf5_on_a_full_disk_is_a_status_and_leaves_no_file) {
  static const double W[9] = {2, 0, 0, 0, 1, 0, 0, 0, 1}, q[3] = {-1, 0.1, 0.2};
  static const kn_block block = {.set = KN_SET_CONE3, .mu = 0.5};
  kn_problem p = {.rows = 3, .blocks = 1, .block = &block, .W = W, .q = q};
  char path[64];
  struct rlimit before, small;
  snprintf(path, sizeof path, "/tmp/knuckle-full-%d.hdf5", (int)getpid());
  if (kn_fclib_write(path, &p, "t", NULL) == KN_UNSUPPORTED) SKIP("built without HDF5");
  unlink(path);
  getrlimit(RLIMIT_FSIZE, &before);
  for (rlim_t most = 0; most <= 4096; most += 512) { /* a disk that is full after so many bytes */
    small = before, small.rlim_cur = most;
    setrlimit(RLIMIT_FSIZE, &small);
    kn_status status = kn_fclib_write(path, &p, "t", NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_STATUS(status, KN_IO);
    CHECK(access(path, F_OK) != 0);
  }
  CHECK_OK(kn_fclib_write(path, &p, "t", NULL));
  kn_fclib f;
  CHECK_OK(kn_fclib_read(&f, path));
  CHECK_INT(f.contacts, 1);
  kn_fclib_free(&f);
  unlink(path);
}
