/* Plots are well-formed XML (by expat), draw what they are given, and never contain NaN. */
#include "output/plot.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

typedef struct seen {
  int paths, circles, rects;
} seen;

static void XMLCALL on_start(void* data, const XML_Char* name, const XML_Char** attributes) {
  seen* s = (seen*)data;
  (void)attributes;
  s->paths += strcmp(name, "path") == 0;
  s->circles += strcmp(name, "circle") == 0;
  s->rects += strcmp(name, "rect") == 0;
}

/* The text of the picture (to be freed); *s is empty when it is not well-formed. */
static char* draw(const kn_plot* panels, size_t count, seen* s) {
  char* text = NULL;
  size_t length = 0;
  FILE* f = open_memstream(&text, &length);
  *s = (seen){0};
  CHECK(kn_plot_write(f, panels, count, 2, 0, 0));
  fclose(f);
  XML_Parser parser = XML_ParserCreate(NULL);
  XML_SetUserData(parser, s);
  XML_SetStartElementHandler(parser, on_start);
  CHECK(XML_Parse(parser, text, (int)length, 1) == XML_STATUS_OK);
  XML_ParserFree(parser);
  CHECK(strstr(text, "nan") == NULL);
  CHECK(strstr(text, "inf") == NULL);
  return text;
}

TEST(lines_points_and_bars) {
  double x[] = {1, 10, 100, 1000}, y[] = {0.5, NAN, 30, 700}, bars[] = {3, 1, 2};
  const char* names[] = {"one", "two <&> three", "a rather long name of a category"};
  kn_plot_series lines[] = {{.name = "knuckle", .style = KN_PLOT_LINE_POINTS, .x = x, .y = y, .n = 4},
                            {.name = "peer & co", .style = KN_PLOT_POINTS, .x = x, .y = x, .n = 4}};
  kn_plot_series bar = {.name = "ratio", .style = KN_PLOT_BARS, .y = bars, .n = 3};
  kn_plot panels[] = {
      {.title = "log",
       .x_label = "n",
       .y_label = "t < 1",
       .log_x = true,
       .log_y = true,
       .series = lines,
       .series_count = 2},
      {.title = "bars", .categories = names, .category_count = 3, .series = &bar, .series_count = 1}};
  seen s;
  char* text = draw(panels, 2, &s);
  CHECK_INT(s.circles, 8); /* the NaN is a gap; one in the legend */
  CHECK(strstr(text, "two &lt;&amp;&gt; three") != NULL);
  CHECK(strstr(text, "peer &amp; co") != NULL);
  CHECK(s.rects >= 3 + 1);
  free(text);
}

TEST(odd_data) {
  double constant[] = {5, 5, 5}, nothing[] = {NAN, INFINITY, -INFINITY}, negative[] = {-1, -2, 0};
  kn_plot_series s1 = {.style = KN_PLOT_LINE, .y = constant, .n = 3},
                 s2 = {.style = KN_PLOT_LINE, .y = nothing, .n = 3},
                 s3 = {.style = KN_PLOT_LINE_POINTS, .y = negative, .n = 3};
  kn_plot panels[] = {{.series = &s1, .series_count = 1},
                      {.series = &s2, .series_count = 1},
                      {.series = &s3, .series_count = 1, .log_y = true},
                      {.title = "empty"}};
  seen s;
  free(draw(panels, 4, &s));
  CHECK_INT(s.circles, 0); /* nothing of a logarithmic axis' negative data */
}

/* A million points stay a small file, and the peak stays visible. */
TEST(long_series_are_thinned_without_losing_peaks) {
  enum { N = 1000000 };
  double* y = malloc(N * sizeof *y);
  seen s;
  if (!CHECK(y != NULL)) return;
  for (int i = 0; i < N; i++) y[i] = sin(1e-5 * i);
  y[N / 3] = 50;
  kn_plot_series one = {.style = KN_PLOT_LINE, .y = y, .n = N};
  kn_plot plot = {.series = &one, .series_count = 1, .fix_y = true, .y_range = {0, 50}};
  char* text = draw(&plot, 1, &s);
  CHECK_BELOW((double)strlen(text), 200e3);
  CHECK(strstr(text, " 44.00L") != NULL); /* the top of the frame: y = 50 */
  free(text);
  free(y);
}

TEST(unwritable_paths_are_reported) { CHECK(!kn_plot_save("/nonexistent/x.svg", NULL, 0, 1, 0, 0)); }

/* rest.xml of the attacks: ticks of values that differ in the last bit never ended and filled the disk. */
TEST(nearly_constant_data_ends) {
  static const double y[] = {9.81, 9.810000000000002, 9.81, -1e300, 1e300};
  kn_plot_series s = {.name = "weight", .y = y, .n = 3};
  kn_plot p = {.series = &s, .series_count = 1};
  char* text = NULL;
  size_t size = 0;
  FILE* f = open_memstream(&text, &size);
  CHECK(kn_plot_write(f, &p, 1, 1, 0, 0));
  s.n = 5;
  CHECK(kn_plot_write(f, &p, 1, 1, 0, 0));
  s.y = y + 4, s.n = 1;
  CHECK(kn_plot_write(f, &p, 1, 1, 0, 0));
  fclose(f);
  CHECK(size < 40000);
  free(text);
}

/* Names at the ends of curves that end at the same height stand below each other. */
TEST(names_beside_the_curves_do_not_overlap) {
  static const double y[] = {1, 2, 3};
  kn_plot_series s[8];
  static const char* const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  for (int i = 0; i < 8; i++) s[i] = (kn_plot_series){.name = names[i], .y = y, .n = 3};
  kn_plot p = {.series = s, .series_count = 8, .labels_right = true};
  char* text = NULL;
  size_t size = 0;
  FILE* f = open_memstream(&text, &size);
  CHECK(kn_plot_write(f, &p, 1, 1, 0, 0));
  fclose(f);
  double last = -1;
  for (int i = 0; i < 8; i++) {
    char end[16];
    snprintf(end, sizeof end, ">%s</text>", names[i]);
    char* found = strstr(text, end);
    if (!CHECK(found != NULL)) continue;
    while (found > text && strncmp(found, " y=\"", 4) != 0) found--;
    double at = atof(found + 4);
    CHECK(last < 0 || at - last > 14.9); /* letters are 12 pixels high */
    last = at;
  }
  free(text);
}
