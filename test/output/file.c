/* Files that appear whole or not at all. */
#define _GNU_SOURCE
#include "output/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/image.h"
#include "output/plot.h"
#include "test.h"

static const char* at(const char* name) {
  static char folder[] = "/tmp/kn-file-XXXXXX", path[256];
  if (strstr(folder, "XXXXXX") && !mkdtemp(folder)) abort();
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static long size_of(const char* path) {
  struct stat s;
  return stat(path, &s) == 0 ? (long)s.st_size : -1;
}

TEST(a_file_appears_when_it_is_whole) {
  kn_file f;
  char path[256];
  snprintf(path, sizeof path, "%s", at("new/folder/a.csv"));
  CHECK(!kn_file_open(&f, path)); /* no folder is made unasked */
  CHECK(kn_make_folders(path, false));
  if (!CHECK(kn_file_open(&f, path))) return;
  fputs("1,2\n", f.stream);
  CHECK_INT(size_of(path), -1);
  CHECK(kn_file_close(&f, true));
  CHECK_INT(size_of(path), 4);
}

TEST(what_fails_leaves_what_was_there) {
  kn_file f;
  char path[256], part[KN_FILE_PATH];
  snprintf(path, sizeof path, "%s", at("b.csv"));
  if (!CHECK(kn_file_open(&f, path))) return;
  fputs("old", f.stream);
  CHECK(kn_file_close(&f, true));
  if (!CHECK(kn_file_open(&f, path))) return;
  fputs("half of something", f.stream);
  strcpy(part, f.part);
  CHECK(!kn_file_close(&f, false));
  CHECK_TEXT(f.why, "b.csv cannot be written");
  CHECK_INT(size_of(path), 3);
  CHECK_INT(size_of(part), -1);
}

TEST(fifos_devices_and_folders_are_refused_at_once) {
  kn_file f;
  char path[256];
  snprintf(path, sizeof path, "%s", at("pipe.csv"));
  CHECK(mkfifo(path, 0600) == 0);
  CHECK(!kn_file_open(&f, path)); /* opening it would wait for a reader */
  CHECK_TEXT(f.why, "pipe");
  CHECK(!kn_file_open(&f, "/dev/full"));
  CHECK_TEXT(f.why, "device");
  CHECK(!kn_file_open(&f, "/tmp"));
  CHECK_TEXT(f.why, "folder");
  CHECK(!kn_file_open(&f, ""));
  CHECK(!kn_file_open(&f, "/proc/nothing/here.csv"));
  CHECK_TEXT(f.why, "cannot be written");
}

TEST(endings) {
  char e[8];
  CHECK(strcmp(kn_file_ending(e, "a.b/c.SVG"), "svg") == 0);
  CHECK(strcmp(kn_file_ending(e, "a.b/c"), "") == 0);
  CHECK(strcmp(kn_file_ending(e, "x.averylongending"), "") == 0);
  CHECK(kn_file_ends("a.h5", "csv|json|h5"));
  CHECK(!kn_file_ends("a.h", "csv|json|h5"));
  CHECK(!kn_file_ends("a.js", "csv|json|h5"));
  CHECK(!kn_file_ends("a", "csv|json|h5"));
}

TEST(a_plot_becomes_a_png) {
  static const double y[] = {0, 1, 4};
  kn_plot_series s = {.name = "squares", .y = y, .n = 3};
  kn_plot p = {.title = "squares", .series = &s, .series_count = 1};
  unsigned char head[8] = {0};
  char path[256];
  snprintf(path, sizeof path, "%s", at("squares.png"));
  if (system("rsvg-convert --version > /dev/null 2>&1") != 0) SKIP("no rsvg-convert here");
  CHECK(kn_plot_save(path, &p, 1, 1, 0, 0));
  FILE* f = fopen(path, "rb");
  if (!CHECK(f != NULL)) return;
  CHECK_INT(fread(head, 1, 8, f), 8);
  fclose(f);
  CHECK(memcmp(head, "\x89PNG\r\n\x1a\n", 8) == 0);
  CHECK(size_of(path) > 2000);
  kn_image image;
  CHECK(!kn_image_open(&image, "/tmp/x.bmp"));
  CHECK_TEXT(image.file.why, "expected .svg or .png");
}

TEST(without_rsvg_convert_png_names_the_package) {
  kn_plot p = {.title = "nothing"};
  char path[256], *before = strdup(getenv("PATH") ? getenv("PATH") : "");
  kn_image image;
  snprintf(path, sizeof path, "%s", at("none.png"));
  setenv("PATH", "/nonexistent", 1);
  CHECK(kn_image_open(&image, path));
  CHECK(!kn_image_close(&image, kn_plot_write(image.svg, &p, 1, 1, 0, 0)));
  CHECK_TEXT(image.file.why, "librsvg2-bin");
  CHECK_INT(size_of(path), -1);
  setenv("PATH", before, 1);
  free(before);
}
