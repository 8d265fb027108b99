/* One horizontal bar per row: its ratio to the fastest peer, a column per group, in the order of the rows.
   A row's name, its bar and its figures stand in one line, so that fifty robots can be read.

     bar   the number `key` of the row (kn_bench_plot_ratios), e.g. of whole runs
     ring  knuckle / best_peer of the row, e.g. of median steps
     line  1: as long as the fastest peer takes */
#include <math.h>
#include <string.h>

#include "internal.h"
#include "output/image.h"
#include "output/plot.h"
#include "output/text.h"

enum { TOP = 64, LINE = 19, NAMES = 400, BARS = 260, FIGURES = 200, COLUMN = NAMES + BARS + FIGURES };

static double number_of(const bench_row* row, const char* key) {
  for (size_t i = 0; i < row->field_count; i++)
    if (!row->fields[i].is_text && strcmp(row->fields[i].key, key) == 0) return row->fields[i].number;
  return NAN;
}

typedef struct chart {
  FILE* f;
  const kn_bench* b;
  double left, most; /* of a column; the ratio at the right end of its bars */
} chart;

static double place(const chart* c, double ratio) {
  return c->left + NAMES + BARS * fmin(ratio, c->most) / c->most;
}

static void words(const chart* c, double x, double y, const char* anchor, int size, const char* text) {
  fprintf(c->f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\" fill=\"#1f2933\">", x, y,
          anchor, size);
  kn_text_markup(c->f, text);
  fputs("</text>\n", c->f);
}

static void one_row(const chart* c, const bench_row* row, double y) {
  const bench_entry *ours = bench_ours(row), *peer = bench_best_peer(row);
  double whole = number_of(row, c->b->ratio_key);
  char text[128];
  words(c, c->left + NAMES - 8, y + 13, "end", 12, row->name);
  if (!ours || !peer || !isfinite(whole)) {
    words(c, c->left + NAMES + 6, y + 13, "start", 12, "no peer");
    return;
  }
  double median = ours->median / peer->median;
  fprintf(c->f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", place(c, 0),
          y + 3, place(c, whole) - place(c, 0), LINE - 6, whole <= 1.0 ? "#0b61a4" : "#d95f0e");
  fprintf(c->f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#ffffff\" stroke=\"#1f2933\"/>\n",
          place(c, median), y + 0.5 * LINE);
  snprintf(text, sizeof text, "%.2f   %.3g against %.3g %s", whole, ours->median, peer->median, row->unit);
  words(c, c->left + NAMES + BARS + 10, y + 13, "start", 12, text);
}

static double one_group(const chart* c, size_t group) {
  double y = TOP;
  words(c, c->left + NAMES, TOP - 30, "start", 16, c->b->groups[group].title);
  words(c, c->left + NAMES, TOP - 10, "start", 11, c->b->ratio_words);
  for (size_t i = 0; i < c->b->row_count; i++)
    if (c->b->rows[i]->group == group) one_row(c, c->b->rows[i], y), y += LINE;
  fprintf(
      c->f,
      "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%.1f\" stroke=\"#1f2933\" stroke-dasharray=\"4 3\"/>\n",
      place(c, 1), place(c, 1), TOP - 4, y + 4);
  words(c, place(c, 1), y + 18, "middle", 12, "1");
  return y;
}

bool bench_write_ratios(const kn_bench* b, const char* path) {
  kn_image image;
  chart c = {.b = b, .most = 1.25};
  size_t lines = 0;
  for (size_t g = 0; g < b->group_count; g++) {
    size_t n = 0;
    for (size_t i = 0; i < b->row_count; i++) n += b->rows[i]->group == g;
    if (n > lines) lines = n;
  }
  for (size_t i = 0; i < b->row_count; i++) {
    double ratio = number_of(b->rows[i], b->ratio_key);
    if (isfinite(ratio)) c.most = fmax(c.most, fmin(ratio, 4.0));
  }
  if (!kn_image_open(&image, path)) return false;
  c.f = image.svg;
  double width = (double)COLUMN * (double)b->group_count, height = TOP + LINE * (double)lines + 30;
  fprintf(
      c.f,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      width, height, width, height);
  for (size_t g = 0; g < b->group_count; g++) c.left = (double)COLUMN * (double)g, one_group(&c, g);
  fputs("</svg>\n", c.f);
  return kn_image_close(&image, !ferror(c.f));
}
