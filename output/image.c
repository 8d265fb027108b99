#define _GNU_SOURCE
#include "output/image.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

bool kn_image_open(kn_image* p, const char* path) {
  *p = (kn_image){.png = kn_file_ends(path, "png")};
  if (!p->png && !kn_file_ends(path, KN_IMAGE_ENDINGS)) {
    snprintf(p->file.why, sizeof p->file.why, "%.3000s: unknown ending, expected .svg or .png", path);
    return false;
  }
  if (!p->png) {
    bool ok = kn_file_open(&p->file, path);
    p->svg = p->file.stream;
    return ok;
  }
  if (!kn_file_reserve(&p->file, path)) return false;
  p->svg = open_memstream(&p->text, &p->size);
  return p->svg || (errno = ENOMEM, kn_file_commit(&p->file, false));
}

/* rsvg-convert reads the SVG from a file without a name and writes the PNG; its exit status, -1: not started.
 */
static int convert(const char* png, const char* svg, size_t size) {
  FILE* in = tmpfile();
  pid_t child;
  int status = -1;
  char* argv[] = {(char*)(size_t) "rsvg-convert", (char*)(size_t) "--zoom=2", (char*)(size_t) "--format=png",
                  (char*)(size_t) "--output",     (char*)(size_t)png,         NULL};
  posix_spawn_file_actions_t act;
  if (!in || fwrite(svg, 1, size, in) != size || fflush(in) != 0 || lseek(fileno(in), 0, SEEK_SET) != 0 ||
      posix_spawn_file_actions_init(&act) != 0) {
    if (in) fclose(in);
    return -1;
  }
  posix_spawn_file_actions_adddup2(&act, fileno(in), STDIN_FILENO);
  if (posix_spawnp(&child, argv[0], &act, NULL, argv, environ) == 0 && waitpid(child, &status, 0) == child)
    status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  posix_spawn_file_actions_destroy(&act);
  fclose(in);
  return status == 127 ? -1 : status;
}

bool kn_image_close(kn_image* p, bool good) {
  if (!p->png) return kn_file_close(&p->file, good);
  good = fclose(p->svg) == 0 && good;
  int status = good ? convert(p->file.part, p->text, p->size) : 1;
  free(p->text);
  errno = 0;
  bool ok = kn_file_commit(&p->file, good && status == 0);
  if (!ok && good && status < 0)
    snprintf(p->file.why, sizeof p->file.why,
             "%.3000s: PNG needs rsvg-convert (Debian package librsvg2-bin), which is not here; .svg does "
             "without",
             p->file.path);
  else if (!ok && good)
    snprintf(p->file.why, sizeof p->file.why, "%.3000s cannot be written: rsvg-convert failed", p->file.path);
  return ok;
}
