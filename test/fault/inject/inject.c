/* Preloaded into `knuckle`: runs its main() again and again, each time with one fault more, in a copy of the process.

     KN_FAULT=alloc|write|short|close|read  KN_FAULT_OUT=FILE  KN_FAULT_MOST=n  LD_PRELOAD=libkn_inject.so knuckle …

   alloc: the n-th allocation of the program itself fails. write, read, close: the n-th such call on a file (not on a
   terminal or a pipe) fails with EIO or ENOSPC. short: it does half of what was asked. Standard streams and files opened by
   fopen count: they get streams whose reading and writing go through here. KN_FAULT_OUT gets a line per run, "n signal
   status changed told left": how it ended, whether standard output differs from that of the run without a fault, how much
   stands on standard error, whether a failed run left a KN_FAULT_FILE that is not whole. At most KN_FAULT_MOST faults are tried, spread evenly. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

typedef enum kind { NONE, ALLOC, WRITE, SHORT, CLOSE, READ } kind;
static const char* const kinds[] = {"none", "alloc", "write", "short", "close", "read"};

static volatile kind wanted; /* NONE until main() runs */
static long count, fail_at;  /* 0: only count */
static uintptr_t text_from, text_to;

/* One more of the wanted kind; true: it is the one. */
static bool hit(void) { return __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) == fail_at; }

/* ---- memory: of the program itself, not of the libraries it uses ---- */

static bool own(const void* caller) { return (uintptr_t)caller >= text_from && (uintptr_t)caller < text_to; }

static bool no_memory(const void* caller) {
  if (wanted != ALLOC || !own(caller) || !hit()) return false;
  errno = ENOMEM;
  return true;
}

void* malloc(size_t n) { return no_memory(__builtin_return_address(0)) ? NULL : __libc_malloc(n); }
void* calloc(size_t n, size_t m) {
  return no_memory(__builtin_return_address(0)) ? NULL : __libc_calloc(n, m);
}
void* realloc(void* p, size_t n) {
  return no_memory(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}
void* aligned_alloc(size_t a, size_t n) {
  return no_memory(__builtin_return_address(0)) ? NULL : __libc_memalign(a, n);
}
int posix_memalign(void** p, size_t a, size_t n) {
  *p = no_memory(__builtin_return_address(0)) ? NULL : __libc_memalign(a, n);
  return *p ? 0 : ENOMEM;
}

/* ---- files ---- */

static bool regular(int fd) {
  struct stat s;
  return fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
}

static ssize_t real_write(int fd, const void* b, size_t n) {
  static ssize_t (*fn)(int, const void*, size_t);
  if (!fn) fn = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  return fn(fd, b, n);
}
static ssize_t real_read(int fd, void* b, size_t n) {
  static ssize_t (*fn)(int, void*, size_t);
  if (!fn) fn = (ssize_t(*)(int, void*, size_t))dlsym(RTLD_NEXT, "read");
  return fn(fd, b, n);
}
static int real_close(int fd) {
  static int (*fn)(int);
  if (!fn) fn = (int (*)(int))dlsym(RTLD_NEXT, "close");
  return fn(fd);
}

ssize_t write(int fd, const void* b, size_t n) {
  if ((wanted == WRITE || wanted == SHORT) && fd != 2 && n && regular(fd) && hit()) {
    if (wanted == SHORT && n > 1) return real_write(fd, b, n / 2);
    errno = ENOSPC;
    return -1;
  }
  return real_write(fd, b, n);
}

ssize_t read(int fd, void* b, size_t n) {
  if (wanted == READ && regular(fd) && hit()) {
    errno = EIO;
    return -1;
  }
  return real_read(fd, b, n);
}

int close(int fd) {
  bool fails = wanted == CLOSE && fd > 2 && regular(fd) && hit();
  int result = real_close(fd);
  if (!fails) return result;
  errno = EIO;
  return -1;
}

/* Streams of the C library call the kernel by themselves: these go through write() and read() above. */
static ssize_t put(void* c, const char* b, size_t n) {
  size_t done = 0;
  while (done < n) {
    ssize_t k = write((int)(intptr_t)c, b + done, n - done);
    if (k < 0) return 0; /* fopencookie's sign of an error */
    done += (size_t)k;
  }
  return (ssize_t)n;
}
static ssize_t get(void* c, char* b, size_t n) { return read((int)(intptr_t)c, b, n); }
static int seek(void* c, off64_t* at, int from) {
  off64_t to = lseek64((int)(intptr_t)c, *at, from);
  if (to < 0) return -1;
  *at = to;
  return 0;
}
static int shut(void* c) { return close((int)(intptr_t)c); }
static const cookie_io_functions_t through = {get, put, seek, shut};

static struct { /* streams made here, which have no descriptor of their own */
  FILE* stream;
  int fd;
} made[64];
static int mades;

FILE* fdopen(int fd, const char* mode) {
  FILE* f = fopencookie((void*)(intptr_t)fd, mode, through);
  if (f) made[mades++ % 64].stream = f, made[(mades - 1) % 64].fd = fd;
  return f;
}
int fileno(FILE* f) {
  for (int i = 0; i < 64; i++)
    if (made[i].stream == f) return made[i].fd;
  int (*fn)(FILE*) = (int (*)(FILE*))dlsym(RTLD_NEXT, "fileno");
  return fn(f);
}

/* Files that are read keep their own streams; what is asked of them by fread may fail or end early. */
size_t fread(void* b, size_t size, size_t n, FILE* f) {
  static size_t (*fn)(void*, size_t, size_t, FILE*);
  if (!fn) fn = (size_t(*)(void*, size_t, size_t, FILE*))dlsym(RTLD_NEXT, "fread");
  if (wanted == READ && size && n && hit()) {
    errno = EIO;
    return fn(b, size, n / 2, f); /* half of it: an error or an end, the caller must see that it is not all */
  }
  return fn(b, size, n, f);
}
size_t __fread_chk(void* b, size_t room, size_t size, size_t n, FILE* f);
size_t __fread_chk(void* b, size_t room, size_t size, size_t n, FILE* f) {
  if (size && n > room / size) abort();
  return fread(b, size, n, f);
}
FILE* fopen(const char* path, const char* mode) {
  static FILE* (*fn)(const char*, const char*);
  if (!fn) fn = (FILE * (*)(const char*, const char*)) dlsym(RTLD_NEXT, "fopen");
  if (mode[0] == 'r') return fn(path, mode);
  int flags = strchr(mode, '+') ? O_RDWR : O_WRONLY;
  if (mode[0] == 'w') flags |= O_CREAT | O_TRUNC;
  if (mode[0] == 'a') flags |= O_CREAT | O_APPEND;
  if (strchr(mode, 'x')) flags |= O_EXCL;
  int fd = open(path, flags | O_CLOEXEC, 0666);
  return fd < 0 ? NULL : fdopen(fd, mode);
}
FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

/* ---- runs ---- */

static int (*real_main)(int, char**, char**);
static char first_out[64], this_out[64];

static int find_text(struct dl_phdr_info* info, size_t size, void* context) {
  (void)size, (void)context;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
    text_from = info->dlpi_addr + p->p_vaddr, text_to = text_from + p->p_memsz;
  }
  return 1; /* the first is the program */
}

static long size_of(const char* path) {
  struct stat s;
  return stat(path, &s) == 0 ? (long)s.st_size : -1;
}

static bool same_file(const char* a, const char* b) {
  int x = open(a, O_RDONLY), y = open(b, O_RDONLY);
  char p[4096], q[4096];
  bool same = x >= 0 && y >= 0;
  for (ssize_t n = 1; same && n > 0;) {
    n = real_read(x, p, sizeof p);
    same = real_read(y, q, sizeof q) == n && (n <= 0 || memcmp(p, q, (size_t)n) == 0);
  }
  real_close(x), real_close(y);
  return same;
}

static void copy_file(const char* to, const char* from) {
  int x = open(from, O_RDONLY), y = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  char p[4096];
  for (ssize_t n; (n = real_read(x, p, sizeof p)) > 0;)
    if (real_write(y, p, (size_t)n) != n) break;
  real_close(x), real_close(y);
}

/* One run in a copy; returns its wait status and how many calls of the kind there were. */
static int run(long n, const char* out, const char* err, long* calls, int argc, char** argv, char** env,
               kind what) {
  int pipes[2], how = 0;
  if (pipe(pipes) != 0) _exit(90);
  pid_t pid = fork();
  if (pid == 0) {
    int o = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), e = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(o, 1), dup2(e, 2);
    real_close(o), real_close(e), real_close(pipes[0]);
    stdout = fdopen(1, "w"), stderr = fdopen(2, "w");
    setvbuf(stderr, NULL, _IONBF, 0);
    alarm(60);
    count = 0, fail_at = n, wanted = what;
    int status = real_main(argc, argv, env);
    fflush(NULL);
    wanted = NONE;
    if (real_write(pipes[1], &count, sizeof count) < 0) _exit(91);
    _exit(status);
  }
  real_close(pipes[1]);
  if (real_read(pipes[0], calls, sizeof *calls) != sizeof *calls) *calls = -1;
  real_close(pipes[0]);
  while (waitpid(pid, &how, 0) < 0 && errno == EINTR) {}
  return how;
}

static int many(int argc, char** argv, char** env) {
  const char *which = getenv("KN_FAULT"), *list = getenv("KN_FAULT_OUT"), *most = getenv("KN_FAULT_MOST"),
             *left = getenv("KN_FAULT_FILE");
  char err[64], good[64];
  kind what = NONE;
  for (size_t i = 1; i < sizeof kinds / sizeof *kinds; i++)
    if (which && strcmp(which, kinds[i]) == 0) what = (kind)i;
  FILE* lines = list ? fopen(list, "w") : NULL;
  if (!lines || what == NONE) return real_main(argc, argv, env);
  unsetenv("LD_PRELOAD"); /* programs it starts are themselves */
  snprintf(first_out, sizeof first_out, "/tmp/kn-fault-a-%d", (int)getpid());
  snprintf(this_out, sizeof this_out, "/tmp/kn-fault-b-%d", (int)getpid());
  snprintf(err, sizeof err, "/tmp/kn-fault-e-%d", (int)getpid());
  long calls = 0, ignored, tries = most ? atol(most) : 100;
  int how = run(0, first_out, err, &calls, argc, argv, env, what);
  fprintf(lines, "0 %d %d %ld %ld\n", WIFSIGNALED(how) ? WTERMSIG(how) : 0, WEXITSTATUS(how), calls,
          size_of(err));
  fflush(lines);
  snprintf(good, sizeof good, "/tmp/kn-fault-g-%d", (int)getpid());
  if (left && size_of(left) >= 0) copy_file(good, left);
  for (long k = 0; k < tries && k < calls; k++) {
    long n = calls <= tries ? k + 1 : 1 + (long)((double)k * (double)calls / (double)tries);
    if (left) unlink(left);
    how = run(n, this_out, err, &ignored, argc, argv, env, what);
    fprintf(lines, "%ld %d %d %d %ld %d\n", n, WIFSIGNALED(how) ? WTERMSIG(how) : 0, WEXITSTATUS(how),
            !same_file(first_out, this_out), size_of(err),
            left && how != 0 && size_of(left) >= 0 && !same_file(left, good));
    fflush(lines);
  }
  fclose(lines);
  unlink(first_out), unlink(this_out), unlink(err), unlink(good);
  return 0;
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(void),
                      void (*fini)(void), void (*end)(void), void* stack) {
  typedef int (*start)(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void),
                       void (*)(void), void*);
  start real = (start)dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = main;
  dl_iterate_phdr(find_text, NULL);
  return real(many, argc, argv, init, fini, end, stack);
}
