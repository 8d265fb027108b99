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
