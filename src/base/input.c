#define _GNU_SOURCE
#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static kn_status judge(const struct stat* info, const char* path) {
  if (S_ISREG(info->st_mode)) return KN_OK;
  return kn_fail_at(KN_BAD_FILE, path, 1, 1, "%s, expected a plain file",
                    S_ISDIR(info->st_mode)    ? "is a folder"
                    : S_ISFIFO(info->st_mode) ? "is a pipe (FIFO)"
                                              : "is a device or socket");
}

static kn_status not_there(const char* path) {
  return kn_fail_at(errno == ENOENT || errno == ENOTDIR ? KN_NOT_FOUND : KN_BAD_FILE, path, 1, 1,
                    "cannot open the file: %s", strerror(errno));
}

kn_status kn_input_check(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 ? judge(&info, path) : not_there(path);
}

kn_status kn_input_open(FILE** file, size_t* size, const char* path) {
  struct stat info;
  *file = NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* without waiting, whatever it is */
  if (fd < 0) return not_there(path);
  kn_status status = fstat(fd, &info) == 0 ? judge(&info, path) : not_there(path);
  if (status == KN_OK && !(*file = fdopen(fd, "rb")))
    status = kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", path);
  if (status != KN_OK)
    close(fd);
  else
    *size = (size_t)info.st_size;
  return status;
}
