/* Plots as SVG text: lines, points and bars on linear or logarithmic axes, with a legend; several panels
   make one picture. Used by the benches, `knuckle plot` and the demo page. Not-finite points (and points
   <= 0 on a logarithmic axis) are gaps. */
#ifndef KN_OUTPUT_PLOT_H
#define KN_OUTPUT_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kn_plot_style {
  KN_PLOT_LINE,
  KN_PLOT_POINTS,
  KN_PLOT_LINE_POINTS,
  KN_PLOT_STEPS, /* holds the value until the next x */
  KN_PLOT_AREA,  /* closed loops separated by not-finite points, filled by the even-odd rule */
  KN_PLOT_BARS   /* one bar per category: y[i] belongs to categories[i]; x is not read */
} kn_plot_style;

typedef struct kn_plot_series {
  const char* name; /* for the legend; NULL: not listed */
  kn_plot_style style;
  const double *x, *y; /* x NULL: 0, 1, 2, … */
  size_t n;
  const char* colour; /* NULL: the next of the palette */
  bool dashed;
  double width; /* line width in pixels; 0: default */
} kn_plot_series;

typedef struct kn_plot {
  const char *title, *x_label, *y_label;
  bool log_x, log_y;
  bool fix_x, fix_y; /* use the ranges below instead of fitting the data */
  double x_range[2], y_range[2];
  bool labels_right; /* names at the ends of the curves, right of the frame, instead of a legend */
  bool equal_axes;   /* one unit is as long on both axes (trajectories) */
  const char* const* categories; /* names under the bars */
  size_t category_count;
  const kn_plot_series* series;
  size_t series_count;
} kn_plot;

/* One picture of count panels in a grid; width and height of one panel in pixels (0: 720 x 440). */
bool kn_plot_write(FILE* file, const kn_plot* panels, size_t count, size_t columns, double width,
                   double height);
/* The same into a file, .svg or .png (output/image.h); false when it cannot be written. */
bool kn_plot_save(const char* path, const kn_plot* panels, size_t count, size_t columns, double width,
                  double height);

/* The i-th colour of the palette, "#rrggbb". */
const char* kn_plot_colour(size_t i);

#ifdef __cplusplus
}
#endif
#endif
