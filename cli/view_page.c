/* The page as one text: viewer/dist/view.html with a run in its empty <script id="run">. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "view.h"

static const char marker[] = "<script id=\"run\" type=\"application/json\">";

/* ---- the page as it was built ---- */

/* Named by KNUCKLE_VIEW_PAGE, else beside an installed program (bin/../share/knuckle), else in the source tree it was
   built from. */
static char* find_page(size_t* size, const kn_args* args) {
  const char* named = getenv("KNUCKLE_VIEW_PAGE");
  char exe[PATH_MAX - 64] = "", path[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  char* slash = n > 0 ? strrchr(exe, '/') : NULL;
  char* text = named ? kn_plain_file(size, named) : NULL;
  if (named) {
    if (!text) kn_complain(args, KN_EXIT_INPUT, "%s (KNUCKLE_VIEW_PAGE): %s", named, strerror(errno));
    return text;
  }
  if (slash) {
    *slash = '\0';
    snprintf(path, sizeof path, "%s/../share/knuckle/view.html", exe);
    text = kn_plain_file(size, path);
  }
  if (!text) text = kn_plain_file(size, KN_VIEWER_PAGE);
  if (!text)
    kn_complain(
        args, KN_EXIT_INPUT,
        "the viewer's page is not built: run `make viewer` (looked for share/knuckle/view.html beside the "
        "program and for %s)",
        KN_VIEWER_PAGE);
  return text;
}

/* ---- what goes into it ---- */

static char* base64(const uint8_t* x, size_t n) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  char *out = malloc((n + 2) / 3 * 4 + 1), *p = out;
  if (!out) return NULL;
  for (size_t i = 0; i < n; i += 3) {
    uint32_t v =
        (uint32_t)x[i] << 16 | (i + 1 < n ? (uint32_t)x[i + 1] << 8 : 0) | (i + 2 < n ? x[i + 2] : 0);
    *p++ = digits[v >> 18], *p++ = digits[v >> 12 & 63];
    *p++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
    *p++ = i + 2 < n ? digits[v & 63] : '=';
  }
  *p = '\0';
  return out;
}

/* gzip, then base64. */
static char* packed(const kn_view_file* f) {
  enum { GZIP = 15 + 16 };
  z_stream z = {0};
  if (f->size > UINT_MAX / 2 || deflateInit2(&z, 9, Z_DEFLATED, GZIP, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    return NULL;
  size_t room = deflateBound(&z, (uLong)f->size);
  uint8_t* out = malloc(room);
  char* text = NULL;
  z.next_in = f->bytes;
  z.avail_in = (uInt)f->size;
  z.next_out = out;
  z.avail_out = (uInt)room;
  if (out && deflate(&z, Z_FINISH) == Z_STREAM_END) text = base64(out, z.total_out);
  deflateEnd(&z);
  free(out);
  return text;
}

static bool put_files(kn_json* j, const kn_view* v, const char* token) {
  bool ok = true;
  kn_json_array(j, "files");
  for (int i = 0; i < v->files; i++) {
    kn_json_begin(j, NULL);
    kn_json_text(j, "path", v->file[i].path);
    if (token) {
      char url[128];
      snprintf(url, sizeof url, "data/%d?token=%s", i, token);
      kn_json_text(j, "url", url);
    } else {
      char* text = packed(&v->file[i]);
      ok = ok && text;
      kn_json_text(j, "gzip", text ? text : "");
      free(text);
    }
    kn_json_end(j);
  }
  kn_json_end(j);
  return ok;
}

static bool put_run(FILE* out, const kn_view* v, const char* token) {
  kn_json j;
  char hash[24];
  kn_json_open(&j, out, false);
  kn_json_begin(&j, NULL);
  kn_json_array(&j, "words");
  for (int i = 0; i < v->words; i++) kn_json_text(&j, NULL, v->word[i]);
  kn_json_end(&j);
  bool ok = put_files(&j, v, token);
  kn_json_array(&j, "checks");
  for (int i = 0; i < v->checks; i++) {
    kn_json_array(&j, NULL);
    kn_json_int(&j, NULL, v->check[i].step);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)v->check[i].hash);
    kn_json_text(&j, NULL, hash);
    kn_json_end(&j);
  }
  kn_json_end(&j);
  if (!isnan(v->duration)) kn_json_number(&j, "duration", v->duration);
  if (token && v->native) {
    char url[128];
    snprintf(url, sizeof url, "run?token=%s", token);
    kn_json_text(&j, "native", url);
  }
  if (!isnan(v->shot)) {
    kn_json_begin(&j, "shot");
    kn_json_number(&j, "time", v->shot);
    if (v->frames) {
      kn_json_number(&j, "until", v->end);
      kn_json_number(&j, "rate", v->rate);
      kn_json_number(&j, "speed", v->speed);
    }
    kn_json_end(&j);
  }
  return kn_json_close(&j) && ok;
}

char* kn_view_page(size_t* size, const kn_view* v, const kn_args* args, const char* token) {
  size_t page_size = 0, run_size = 0;
  char *run = NULL, *out = NULL, *page = find_page(&page_size, args);
  char* at = page ? strstr(page, marker) : NULL;
  if (page && !at)
    kn_complain(args, KN_EXIT_INPUT, "the viewer's page has no place for a run: is it view.html?");
  FILE* f = at ? open_memstream(&run, &run_size) : NULL;
  bool ok = f && put_run(f, v, token);
  if (f) ok = fclose(f) == 0 && ok;
  FILE* whole = ok ? open_memstream(&out, size) : NULL;
  if (whole) {
    at += strlen(marker);
    fwrite(page, 1, (size_t)(at - page), whole);
    for (const char* c = run; *c; c++) /* a name may hold the end of a script: no < in the JSON */
      if (*c == '<')
        fputs("\\u003c", whole);
      else
        fputc(*c, whole);
    fwrite(at, 1, page_size - (size_t)(at - page), whole);
    if (fclose(whole) != 0) free(out), out = NULL;
  }
  if (at && !out) kn_complain(args, KN_EXIT_VIOLATION, "out of memory for the page");
  free(run);
  free(page);
  return out;
}
