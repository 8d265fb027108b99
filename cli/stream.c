/* Standard output and error of the command line. Names in models, recordings and file names are strangers'
   texts: on their way to a terminal, control characters (escape sequences that move the cursor, set titles,
   rewrite what stands there) become visible text, everywhere at once, because everything passes here. What the
   program itself sends to a terminal (the progress bar, colours) goes through kn_terminal. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "output/text.h"

static FILE* raw; /* standard error without the filter */

static bool write_all(int fd, const char* text, size_t n) {
  while (n > 0) {
    ssize_t got = write(fd, text, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    text += got;
    n -= (size_t)got;
  }
  return true;
}

static ssize_t filtered(void* cookie, const char* text, size_t size) {
  int fd = (int)(ptrdiff_t)cookie;
  size_t start = 0;
  for (size_t i = 0; i < size;) {
    size_t n = kn_text_control(text + i, size - i);
    if (!n) {
      i++;
      continue;
    }
    char shown[16];
    int length = snprintf(shown, sizeof shown, "\\x%02x", (unsigned char)text[i + n - 1]);
    if (!write_all(fd, text + start, i - start) || !write_all(fd, shown, (size_t)length)) return 0;
    i += n;
    start = i;
  }
  return write_all(fd, text + start, size - start) ? (ssize_t)size : 0;
}

static FILE* filter(int fd, int mode) {
  FILE* f = fopencookie((void*)(ptrdiff_t)fd, "w", (cookie_io_functions_t){.write = filtered});
  if (f) setvbuf(f, NULL, mode, mode == _IONBF ? 0 : 65536);
  return f;
}

void kn_streams_open(void) {
  raw = stderr;
  FILE *out = filter(STDOUT_FILENO, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF),
       *err = filter(STDERR_FILENO, _IOLBF);
  if (out) stdout = out;
  if (err) stderr = err;
}

FILE* kn_terminal(void) { return raw ? raw : stderr; }

bool kn_colours(void) {
  const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
  return isatty(STDERR_FILENO) && !(none && none[0]) && term && strcmp(term, "dumb") != 0;
}
