/* What commands write to files: endings checked, nothing half written, complaints in one place. */
#include <errno.h>
#include <string.h>

#include "command.h"
#include "output/image.h"
#include "output/plot.h"

/* ".csv, .json or .h5" of "csv|json|h5" */
static void list(char* text, size_t room, const char* endings) {
  size_t used = 0;
  text[0] = '\0';
  for (const char* e = endings; *e && used < room;) {
    size_t n = strcspn(e, "|");
    bool last = e[n] == '\0';
    used += (size_t)snprintf(text + used, room - used, "%s.%.*s",
                             e == endings ? ""
                             : last       ? " or "
                                          : ", ",
                             (int)n, e);
    e += n + !last;
  }
}

kn_exit kn_out_ending(const kn_args* args, const char* path, const char* endings) {
  char known[128];
  if (!path || !endings || kn_file_ends(path, endings)) return KN_EXIT_OK;
  list(known, sizeof known, endings);
  return kn_complain(args, KN_EXIT_USAGE, "%s: unknown ending, expected %s", path, known);
}

/* Writing over what is being read destroys it. */
kn_exit kn_out_not_input(const kn_args* args, const char* path) {
  bool input = false;
  for (int i = 0; i < args->operands; i++) input = input || kn_file_same(path, args->operand[i]);
  for (int i = 0; i < args->inputs; i++) input = input || kn_file_same(path, args->input[i]);
  if (!input) return KN_EXIT_OK;
  return kn_complain(args, KN_EXIT_USAGE, "%s is read by this command and would be overwritten", path);
}

kn_exit kn_out_open(kn_file* f, const kn_args* args, const char* path, const char* endings) {
  kn_exit code = kn_out_ending(args, path, endings);
  if (code == KN_EXIT_OK) code = kn_out_not_input(args, path);
  if (code == KN_EXIT_OK && !kn_file_open(f, path)) code = kn_complain(args, KN_EXIT_WRITE, "%s", f->why);
  return code;
}

kn_exit kn_out_close(kn_file* f, const kn_args* args, bool good) {
  return kn_file_close(f, good) ? KN_EXIT_OK : kn_complain(args, KN_EXIT_WRITE, "%s", f->why);
}

kn_exit kn_out_reserve(kn_file* f, const kn_args* args, const char* path, const char* endings) {
  kn_exit code = kn_out_ending(args, path, endings);
  if (code == KN_EXIT_OK) code = kn_out_not_input(args, path);
  if (code == KN_EXIT_OK && !kn_file_reserve(f, path)) code = kn_complain(args, KN_EXIT_WRITE, "%s", f->why);
  return code;
}

kn_exit kn_out_commit(kn_file* f, const kn_args* args, kn_status status, const char* why) {
  if (status == KN_OK) errno = 0;
  bool ok = kn_file_commit(f, status == KN_OK);
  if (ok) return KN_EXIT_OK;
  if (status != KN_OK && status != KN_IO) return kn_complain_text(args, status, why);
  return kn_complain(args, KN_EXIT_WRITE, "%s", f->why); /* `why` would name the part file */
}

kn_exit kn_out_image(const kn_args* args, const char* path, bool (*draw)(FILE*, void*), void* context) {
  kn_image image;
  kn_exit code = kn_out_ending(args, path, KN_IMAGE_ENDINGS);
  if (code == KN_EXIT_OK) code = kn_out_not_input(args, path);
  if (code != KN_EXIT_OK) return code;
  if (kn_image_open(&image, path) && kn_image_close(&image, draw(image.svg, context))) return KN_EXIT_OK;
  return kn_complain(args, KN_EXIT_WRITE, "%s", image.file.why);
}

typedef struct figure {
  const kn_plot* panels;
  size_t count, columns;
  double width, height;
} figure;

static bool draw_figure(FILE* f, void* context) {
  const figure* g = context;
  return kn_plot_write(f, g->panels, g->count, g->columns, g->width, g->height);
}

kn_exit kn_out_plot(const kn_args* args, const char* path, const kn_plot* panels, size_t count,
                    size_t columns, double width, double height) {
  figure g = {panels, count, columns, width, height};
  return kn_out_image(args, path, draw_figure, &g);
}
