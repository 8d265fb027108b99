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

/* Labels of an axis, between marks that only they have: y labels end at the frame. */
static int labels(const char* text) {
  int n = 0;
  for (const char* at = text; (at = strstr(at, "<text")); at++) n++;
  return n;
}

static void of_range(double lo, double hi, bool log, bool fixed, bool equal) {
  double x[4] = {lo, lo, hi, hi}, y[4] = {lo, hi, lo, hi};
  kn_plot_series line = {.style = KN_PLOT_LINE_POINTS, .x = x, .y = y, .n = 4};
  kn_plot p = {.log_x = log, .log_y = log, .equal_axes = equal, .series = &line, .series_count = 1};
  if (fixed) p.fix_x = p.fix_y = true, p.x_range[0] = p.y_range[0] = lo, p.x_range[1] = p.y_range[1] = hi;
  seen s;
  char* text = draw(&p, 1, &s);
  if (!CHECK(strlen(text) < 20000)) printf("  range %g … %g\n", lo, hi);
  if (!CHECK(labels(text) <= 80)) printf("  range %g … %g\n", lo, hi);
  free(text);
}

/* Nearly constant data had ticks below the resolution of doubles, and the loop over them never ended. */
TEST(any_range_of_data_has_a_few_ticks) {
  static const double size[] = {0.0, 5e-324, 1e-310, 1e-300, 1e-20, 1e-9,  9.81,
                                1.0, 1e6,    1e15,   1e100,  1e300, 1e308, 1.7976931348623157e308};
  static const double span[] = {0.0, 2.3e-16, 1e-15, 1e-13, 1e-12, 1e-11, 1e-6, 0.1, 1.0, 2.0};
  enum { SIZES = sizeof size / sizeof *size, SPANS = sizeof span / sizeof *span };
  for (int i = 0; i < SIZES; i++)
    for (int k = 0; k < SPANS; k++)
      for (int way = 0; way < 8; way++) {
        double a = way & 1 ? -size[i] : size[i], b = a - span[k] * a;
        of_range(fmin(a, b), fmax(a, b), way & 2, way & 4, way & 1);
      }
  for (int i = 0; i < SIZES; i++) { /* neighbouring doubles, and around zero */
    of_range(size[i], nextafter(size[i], INFINITY), false, false, false);
    of_range(-size[i], size[i], false, false, true);
    of_range(0.0, size[i], false, false, false);
  }
}

TEST(labels_tell_neighbouring_ticks_apart) {
  double y[] = {1.0e6, 1.0e6 + 4.0};
  kn_plot_series line = {.style = KN_PLOT_LINE, .y = y, .n = 2};
  kn_plot p = {.series = &line, .series_count = 1};
  seen s;
  char* text = draw(&p, 1, &s);
  CHECK(strstr(text, ">1000001<") && strstr(text, ">1000002<"));
  free(text);
}

/* A joint at rest that rounding moves by 1e-16: zero was written with fifteen zeros beside -5e-17. */
TEST(zero_among_tiny_ticks_is_short) {
  double y[] = {-2e-16, 1e-16};
  kn_plot_series line = {.style = KN_PLOT_LINE, .y = y, .n = 2};
  kn_plot p = {.series = &line, .series_count = 1};
  seen s;
  char* text = draw(&p, 1, &s);
  CHECK(strstr(text, ">0<") && strstr(text, ">-1e-16<") && !strstr(text, "0.0000"));
  free(text);
}

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

/* A force of 24.525 N that wanders by 1e-9 N was drawn as a landscape with ticks of twelve digits. */
TEST(roundings_are_drawn_as_a_straight_line) {
  double x[] = {0, 1, 2}, y[] = {24.525, 24.525 + 2e-9, 24.525 - 1e-9};
  kn_plot_series series = {.style = KN_PLOT_LINE, .x = x, .y = y, .n = 3};
  kn_plot plot = {.title = "t", .x_label = "x", .y_label = "y", .series = &series, .series_count = 1};
  char* text = NULL;
  size_t size = 0;
  FILE* f = open_memstream(&text, &size);
  CHECK(f && kn_plot_write(f, &plot, 1, 1, 400, 300));
  if (f) fclose(f);
  CHECK(text && strstr(text, "24.525") == NULL); /* ticks like 24 and 25 */
  CHECK(text && strstr(text, ">25.0<") != NULL);
  free(text);
}
