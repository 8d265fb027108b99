#define _GNU_SOURCE
#include "output/file.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool kn_make_folders(const char* path, bool folder) {
  char text[KN_FILE_PATH];
  if ((size_t)snprintf(text, sizeof text, "%s%s", path, folder ? "/" : "") >= sizeof text) return false;
  for (char* slash = strchr(text + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    struct stat at;
    if (mkdir(text, 0777) != 0 && (stat(text, &at) != 0 || !S_ISDIR(at.st_mode))) return false;
    *slash = '/';
  }
  return true;
}

bool kn_file_same(const char* a, const char* b) {
  struct stat x, y;
  return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool kn_file_plain(const char* path, char* why, size_t room) {
  struct stat at;
  if (!path[0]) return snprintf(why, room, "the name of the file to write is empty"), false;
  if (stat(path, &at) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return true; /* opening says what is wrong with the folder */
    return snprintf(why, room, "%s cannot be written: %s", path, strerror(errno)), false;
  }
  if (S_ISREG(at.st_mode)) return true;
  snprintf(why, room, "%s is %s, expected a plain file", path,
           S_ISDIR(at.st_mode)    ? "a folder"
           : S_ISFIFO(at.st_mode) ? "a pipe (FIFO)"
           : S_ISSOCK(at.st_mode) ? "a socket"
                                  : "a device");
  return false;
}

static bool wrong(kn_file* f) {
  int number = errno;
  if (f->part[0]) unlink(f->part);
  f->part[0] = '\0';
  errno = number;
  snprintf(f->why, sizeof f->why, "%s cannot be written: %s", f->path,
           number ? strerror(number) : "writing failed");
  return false;
}

/* Where a link points to is replaced, not the link. */
static void resolve(kn_file* f) {
  char* real = realpath(f->path, NULL);
  if (real && strlen(real) < sizeof f->path) strcpy(f->path, real);
  free(real);
}

static int open_part(kn_file* f, const char* path) {
  *f = (kn_file){0};
  if (strlen(path) + 24 > sizeof f->path) {
    snprintf(f->why, sizeof f->why, "%.80s… is longer than a path can be", path);
    return -1;
  }
  strcpy(f->path, path);
  if (!kn_file_plain(path, f->why, sizeof f->why)) return -1;
  resolve(f);
  char ending[8]; /* kept: some writers choose their format by it */
  kn_file_ending(ending, f->path);
  int n = snprintf(f->part, sizeof f->part, "%s.XXXXXX.part%s%s", f->path, ending[0] ? "." : "", ending);
  int tail = 5 + (ending[0] ? 1 + (int)strlen(ending) : 0);
  int fd = n < (int)sizeof f->part ? mkstemps(f->part, tail) : -1;
  if (fd < 0) return f->part[0] = '\0', wrong(f), -1;
  mode_t mask = umask(0);
  umask(mask);
  fchmod(fd, 0666 & ~mask);
  return fd;
}

bool kn_file_open(kn_file* f, const char* path) {
  int fd = open_part(f, path);
  if (fd < 0) return false;
  f->stream = fdopen(fd, "w");
  if (f->stream) return true;
  close(fd);
  return wrong(f);
}

bool kn_file_reserve(kn_file* f, const char* path) {
  int fd = open_part(f, path);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

bool kn_file_commit(kn_file* f, bool good) {
  if (good && rename(f->part, f->path) == 0) return true;
  return wrong(f);
}

bool kn_file_close(kn_file* f, bool good) {
  errno = 0;
  good = !ferror(f->stream) && good;
  good = fflush(f->stream) == 0 && good;
  int number = errno;
  if (fclose(f->stream) != 0) good = false, number = errno;
  f->stream = NULL;
  errno = number;
  return kn_file_commit(f, good);
}

const char* kn_file_ending(char ending[8], const char* path) {
  const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
  ending[0] = '\0';
  if (!dot || (slash && dot < slash) || strlen(dot) > 8) return ending;
  for (size_t i = 0; i < strlen(dot); i++) ending[i] = (char)tolower((unsigned char)dot[i + 1]);
  return ending;
}

bool kn_file_ends(const char* path, const char* endings) {
  char ending[8];
  size_t n = strlen(kn_file_ending(ending, path));
  for (const char* e = endings; n && *e; e += strcspn(e, "|"), e += *e == '|')
    if (strcspn(e, "|") == n && strncmp(e, ending, n) == 0) return true;
  return false;
}
