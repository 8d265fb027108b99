#include "output/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/image.h"
#include "output/text.h"

/* Dark to light blue, orange, green, …: distinguishable also with colour-vision deficiency
   (Okabe and Ito's set, yellow replaced by a darker one). */
static const char* const palette[] = {"#0b5fa5", "#d55e00", "#009e73", "#a3509c",
                                      "#56a5d8", "#b58900", "#5b6770", "#c2185b"};
enum { PALETTE = sizeof palette / sizeof *palette };

const char* kn_plot_colour(size_t i) { return palette[i % PALETTE]; }

static const double margin_left = 74, margin_right = 22, margin_top = 44, margin_bottom = 58;

typedef struct axis {
  bool log;
  double unit;       /* power of two that brings the data away from overflow and denormals, mostly 1 */
  double lo, hi;     /* data range (decades' exponents if log), in units */
  double from, span; /* pixels: from + span * (value - lo) / (hi - lo) */
} axis;

typedef struct panel {
  const kn_plot* plot;
  axis x, y;
  double left, top, width, height; /* of the inner frame */
} panel;

static void label(FILE* f, double x, double y, const char* anchor, double size, const char* colour,
                  const char* text) {
  fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%.3g\" fill=\"%s\">", x, y, anchor,
          size, colour);
  kn_text_markup(f, text);
  fputs("</text>\n", f);
}

static bool usable(const axis* a, double v) { return isfinite(v) && (!a->log || v > 0); }
static double data_value(const axis* a, double v) { return a->log ? log10(v) : v * a->unit; }
static double clamp(double x, double most) { return fmax(-most, fmin(x, most)); }
/* Of data outside a fixed range: far outside the picture, but numbers that a reader of SVG can hold. */
static double pixel(const axis* a, double v) {
  return clamp(a->from + a->span * (data_value(a, v) - a->lo) / (a->hi - a->lo), 1e6);
}
static double series_x(const kn_plot_series* s, size_t i) { return s->x ? s->x[i] : (double)i; }

static void widen(axis* a, double v) {
  if (!usable(a, v)) return;
  v = data_value(a, v);
  a->lo = fmin(a->lo, v);
  a->hi = fmax(a->hi, v);
}

static bool has_bars(const kn_plot* p) {
  for (size_t s = 0; s < p->series_count; s++)
    if (p->series[s].style == KN_PLOT_BARS) return true;
  return false;
}

/* Numbers beyond 2^±900 are shown in units of 2^±900: sums and quotients of ranges stay finite and normal. */
static void choose_unit(axis* a) {
  double most = fmax(fabs(a->lo), fabs(a->hi));
  int exponent = 0;
  if (a->log || !(most > 0) || !isfinite(most)) return;
  frexp(most, &exponent);
  a->unit = ldexp(1.0, exponent > 900 ? -900 : exponent < -900 ? 900 : 0);
  a->lo *= a->unit, a->hi *= a->unit;
}

/* A curve that wanders by less than a millionth of its values is a straight line to the reader, not a landscape
   of roundings with ten-digit ticks; times and ranges that were asked for are taken exactly. Logarithms: 1e-9 of a decade. */
static bool one_value(const axis* a, bool exactly) {
  return a->hi - a->lo <= (a->log ? 1e-9 : (exactly ? 1e-12 : 1e-6) * fmax(fabs(a->lo), fabs(a->hi)));
}

static void fit_axis(axis* a, bool fixed, const double range[2], bool pad) {
  if (fixed) {
    a->lo = a->log ? data_value(a, range[0]) : range[0];
    a->hi = a->log ? data_value(a, range[1]) : range[1];
  }
  if (!(a->lo <= a->hi) || !isfinite(a->lo) || !isfinite(a->hi)) a->lo = 0, a->hi = 1; /* no data */
  choose_unit(a);
  if (one_value(a, fixed || !pad)) {
    double most = fmax(fabs(a->lo), fabs(a->hi)), d = a->log || most == 0 ? 0.5 : 0.05 * most;
    a->lo -= d, a->hi += d;
  } else if (!fixed && pad) {
    double d = 0.04 * (a->hi - a->lo);
    a->lo -= d, a->hi += d;
  }
}

static void fit(panel* p) {
  const kn_plot* plot = p->plot;
  bool bars = has_bars(plot);
  p->x = (axis){.log = plot->log_x && !bars, .unit = 1, .lo = INFINITY, .hi = -INFINITY};
  p->y = (axis){.log = plot->log_y, .unit = 1, .lo = INFINITY, .hi = -INFINITY};
  for (size_t s = 0; s < plot->series_count; s++)
    for (size_t i = 0; i < plot->series[s].n; i++) {
      if (!bars) widen(&p->x, series_x(&plot->series[s], i));
      widen(&p->y, plot->series[s].y[i]);
    }
  if (bars && !p->y.log) widen(&p->y, 0);
  if (bars) p->x.lo = 0, p->x.hi = (double)plot->category_count;
  fit_axis(&p->x, plot->fix_x && !bars, plot->x_range, !bars && p->x.log);
  fit_axis(&p->y, plot->fix_y, plot->y_range, true);
  if (bars && !p->y.log && p->y.lo < 0 && p->y.lo > -0.05 * p->y.hi) p->y.lo = 0;
}

static void equalise(panel* p) {
  double ux = (p->x.hi - p->x.lo) / p->width, uy = (p->y.hi - p->y.lo) / p->height, u = fmax(ux, uy);
  double grow_x = 0.5 * (u * p->width - (p->x.hi - p->x.lo)),
         grow_y = 0.5 * (u * p->height - (p->y.hi - p->y.lo));
  p->x.lo -= grow_x, p->x.hi += grow_x;
  p->y.lo -= grow_y, p->y.hi += grow_y;
}

/* Step of 1, 2 or 5 times a power of ten that gives about `want` ticks. */
static double tick_step(double range, double want) {
  double raw = range / want, power = pow(10, floor(log10(raw))), r = raw / power;
  return power * (r < 1.5 ? 1 : r < 3.5 ? 2 : r < 7.5 ? 5 : 10);
}

/* As many digits as tell neighbouring ticks apart. */
static void number_label(char text[32], double v, double step, double unit) {
  v += 0.0; /* no "-0" */
  int digits = v != 0 ? (int)ceil(log10(fabs(v) / step)) + 1 : 1;
  long double value = (long double)v / unit; /* may be beyond a double's range */
  if (v != 0 && (fabsl(value) >= 1e6L || fabsl(value) < 1e-4L))
    snprintf(text, 32, "%.*Lg", digits < 3 ? 3 : digits > 15 ? 15 : digits, value);
  else if (v == 0 && step / unit < 1e-4) /* its neighbours are powers of ten */
    snprintf(text, 32, "0");
  else {
    int decimals = (int)fmax(0, -floor(log10(step / unit) + 1e-9));
    snprintf(text, 32, "%.*Lf", decimals > 15 ? 15 : decimals, value);
  }
}

static void power_label(char text[32], double exponent) {
  static const char* const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  int e = (int)lround(exponent);
  if (e >= -3 && e <= 4) {
    snprintf(text, 32, "%g", pow(10, e));
    return;
  }
  char number[16], *out = text + sprintf(text, "10%s", e < 0 ? "⁻" : "");
  snprintf(number, sizeof number, "%d", abs(e));
  for (char* c = number; *c; c++) out += sprintf(out, "%s", digits[*c - '0']);
}

static void grid_line(FILE* f, const panel* p, bool vertical, double at, bool strong) {
  const char* colour = strong ? "#dde2e7" : "#eef1f4";
  if (vertical)
    fprintf(f, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"%s\"/>\n", at, p->top, p->top + p->height, colour);
  else
    fprintf(f, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"%s\"/>\n", p->left, at, p->left + p->width, colour);
}

static void tick(FILE* f, const panel* p, bool vertical, double at, const char* text) {
  grid_line(f, p, vertical, at, true);
  if (vertical)
    label(f, at, p->top + p->height + 18, "middle", 12, "#4a5560", text);
  else
    label(f, p->left - 8, at + 4, "end", 12, "#4a5560", text);
}

static void linear_ticks(FILE* f, const panel* p, const axis* a, bool vertical) {
  double step = tick_step(a->hi - a->lo, vertical ? fmax(3, p->width / 90) : fmax(3, p->height / 55));
  char text[32];
  double first = ceil(a->lo / step - 1e-9), last = floor(a->hi / step + 1e-9);
  for (int i = 0; i <= (int)fmin(last - first, 1000); i++) { /* there are about 3 to 20 */
    double v = (first + i) * step;
    number_label(text, v, step, a->unit);
    tick(f, p, vertical, a->from + a->span * (v - a->lo) / (a->hi - a->lo), text);
  }
}

static void log_ticks(FILE* f, const panel* p, const axis* a, bool vertical) {
  double decades = a->hi - a->lo, room = vertical ? p->width / 60 : p->height / 30;
  int stride = (int)fmax(1, ceil(decades / room));
  char text[32];
  for (int e = (int)floor(a->lo); e <= (int)ceil(a->hi); e++) {
    for (int m = 1; m < 10; m++) {
      double v = e + log10(m);
      if (v < a->lo || v > a->hi) continue;
      double at = a->from + a->span * (v - a->lo) / decades;
      bool named = m == 1 ? e % stride == 0 : decades < 1.6 && (m == 2 || m == 5);
      if (!named) {
        if (stride == 1) grid_line(f, p, vertical, at, false);
        continue;
      }
      if (m == 1)
        power_label(text, e);
      else
        snprintf(text, sizeof text, "%.3Lg", m * powl(10, e)); /* may be beyond a double */
      tick(f, p, vertical, at, text);
    }
  }
}

static void category_ticks(FILE* f, const panel* p) {
  size_t n = p->plot->category_count;
  double slot = p->width / (double)n;
  for (size_t i = 0; i < n; i++) {
    double at = p->left + slot * ((double)i + 0.5), y = p->top + p->height + 16;
    const char* name = p->plot->categories ? p->plot->categories[i] : "";
    if (slot < 7.0 * (double)strlen(name)) {
      fprintf(f, "<g transform=\"translate(%.1f %.1f) rotate(-28)\">", at + 4, y - 3);
      label(f, 0, 0, "end", 11, "#4a5560", name);
      fputs("</g>\n", f);
    } else
      label(f, at, y, "middle", 12, "#4a5560", name);
  }
}

static void axes(FILE* f, const panel* p) {
  const kn_plot* plot = p->plot;
  if (has_bars(plot))
    category_ticks(f, p);
  else if (p->x.log)
    log_ticks(f, p, &p->x, true);
  else
    linear_ticks(f, p, &p->x, true);
  if (p->y.log)
    log_ticks(f, p, &p->y, false);
  else
    linear_ticks(f, p, &p->y, false);
  fprintf(f, "<path d=\"M%.1f %.1fV%.1fH%.1f\" stroke=\"#7b8794\" fill=\"none\"/>\n", p->left, p->top,
          p->top + p->height, p->left + p->width);
  if (plot->title)
    fprintf(f, "<g font-weight=\"600\">"),
        label(f, p->left, p->top - 18, "start", 15, "#1f2933", plot->title), fputs("</g>\n", f);
  if (plot->x_label)
    label(f, p->left + p->width / 2, p->top + p->height + 42, "middle", 13, "#323f4b", plot->x_label);
  if (plot->y_label) {
    fprintf(f, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">", p->left - 56, p->top + p->height / 2);
    label(f, 0, 0, "middle", 13, "#323f4b", plot->y_label);
    fputs("</g>\n", f);
  }
}

/* A long line is drawn through the first, lowest, highest and last point of each pixel column, which looks
   the same and keeps the file small. */
typedef struct pen {
  FILE* f;
  bool down, any;
  double column, first, low, high, last;
} pen;

static void pen_point(pen* w, double x, double y) {
  fprintf(w->f, "%c%.2f %.2f", w->down ? 'L' : 'M', x, y);
  w->down = true;
}

static void pen_flush(pen* w) {
  if (!w->any) return;
  double x = w->column;
  pen_point(w, x, w->first);
  if (w->low < w->high && (w->low != w->first || w->high != w->last)) {
    pen_point(w, x, w->low);
    pen_point(w, x, w->high);
  }
  if (w->last != w->first) pen_point(w, x, w->last);
  w->any = false;
}

static void pen_column(pen* w, double x, double y) {
  double column = floor(2 * x) / 2;
  if (w->any && column != w->column) pen_flush(w);
  if (!w->any) *w = (pen){w->f, w->down, true, column, y, y, y, y};
  w->low = fmin(w->low, y);
  w->high = fmax(w->high, y);
  w->last = y;
}

static void draw_line(FILE* f, const panel* p, const kn_plot_series* s, const char* colour) {
  bool many = (double)s->n > 4 * p->width && !p->plot->equal_axes;
  pen w = {.f = f};
  double before = NAN;
  fputs("<path d=\"", f);
  for (size_t i = 0; i < s->n; i++) {
    double vx = series_x(s, i), vy = s->y[i];
    if (!usable(&p->x, vx) || !usable(&p->y, vy)) {
      pen_flush(&w);
      w.down = false;
      continue;
    }
    double x = pixel(&p->x, vx), y = pixel(&p->y, vy);
    if (s->style == KN_PLOT_STEPS && w.down && !many) pen_point(&w, x, before);
    if (many)
      pen_column(&w, x, y);
    else
      pen_point(&w, x, y);
    before = y;
  }
  pen_flush(&w);
  fprintf(f, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%.3g\" stroke-linejoin=\"round\"%s/>\n", colour,
          s->width > 0 ? s->width : 2, s->dashed ? " stroke-dasharray=\"6 4\"" : "");
}

/* Even-odd: a loop inside a loop is a hole. width < 0: no outline. */
static void draw_area(FILE* f, const panel* p, const kn_plot_series* s, const char* colour) {
  bool down = false;
  fputs("<path d=\"", f);
  for (size_t i = 0; i < s->n; i++) {
    if (!usable(&p->x, series_x(s, i)) || !usable(&p->y, s->y[i])) {
      if (down) fputc('Z', f);
      down = false;
      continue;
    }
    fprintf(f, "%c%.2f %.2f", down ? 'L' : 'M', pixel(&p->x, series_x(s, i)), pixel(&p->y, s->y[i]));
    down = true;
  }
  fprintf(f, "%s\" fill=\"%s\" fill-opacity=\"0.16\" fill-rule=\"evenodd\"", down ? "Z" : "", colour);
  if (s->width >= 0)
    fprintf(f, " stroke=\"%s\" stroke-width=\"%.3g\" stroke-linejoin=\"round\"", colour,
            s->width > 0 ? s->width : 1.6);
  fputs("/>\n", f);
}

static void draw_points(FILE* f, const panel* p, const kn_plot_series* s, const char* colour) {
  for (size_t i = 0; i < s->n; i++)
    if (usable(&p->x, series_x(s, i)) && usable(&p->y, s->y[i]))
      fprintf(f,
              "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3.4\" fill=\"%s\" stroke=\"#fff\" stroke-width=\"1\"/>\n",
              pixel(&p->x, series_x(s, i)), pixel(&p->y, s->y[i]), colour);
}

static void draw_bars(FILE* f, const panel* p, const kn_plot_series* s, const char* colour, size_t at,
                      size_t of) {
  double slot = p->width / (double)p->plot->category_count, bar = 0.78 * slot / (double)of;
  double ground = p->y.log ? p->top + p->height : fmin(pixel(&p->y, 0), p->top + p->height);
  for (size_t i = 0; i < s->n && i < p->plot->category_count; i++) {
    if (!usable(&p->y, s->y[i])) continue;
    double y = pixel(&p->y, s->y[i]), x = p->left + slot * ((double)i + 0.11) + bar * (double)at;
    fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" rx=\"1.5\"/>\n", x,
            fmin(y, ground), bar * 0.92, fabs(ground - y), colour);
  }
}

/* Points of the data within a box of pixels. */
static size_t covered(const panel* p, double x, double y, double width, double height) {
  size_t n = 0;
  for (size_t s = 0; s < p->plot->series_count && !has_bars(p->plot); s++) {
    const kn_plot_series* e = &p->plot->series[s];
    for (size_t i = 0; i < e->n; i++) {
      if (!usable(&p->x, series_x(e, i)) || !usable(&p->y, e->y[i])) continue;
      double px = pixel(&p->x, series_x(e, i)), py = pixel(&p->y, e->y[i]);
      n += px > x && px < x + width && py > y && py < y + height;
    }
  }
  return n;
}

/* Upper left corner of a box in the corner of the frame that hides least: upper left when equal. */
static void place_legend(const panel* p, double width, double height, double* x, double* y) {
  size_t best = (size_t)-1;
  for (int corner = 0; corner < 4; corner++) {
    double left = corner % 2 ? p->left + p->width - width - 6 : p->left + 6;
    double top = corner / 2 ? p->top + p->height - height - 6 : p->top + 3;
    size_t n = covered(p, left, top, width, height);
    if (n < best) best = n, *x = left, *y = top;
  }
}

static void legend(FILE* f, const panel* p) {
  size_t rows = 0, longest = 0, row = 0;
  for (size_t s = 0; s < p->plot->series_count; s++)
    if (p->plot->series[s].name) {
      size_t length = strlen(p->plot->series[s].name);
      rows++;
      longest = length > longest ? length : longest;
    }
  if (rows < 2) return;
  /* A row above the frame when it fits, else a box in a corner. */
  double slot = 34 + 6.8 * (double)longest;
  bool across =
      slot * (double)rows + 7.5 * (double)(p->plot->title ? strlen(p->plot->title) : 0) + 30 < p->width;
  double x0 = p->left + p->width - slot * (double)rows, y0 = p->top - 22;
  if (!across) {
    place_legend(p, slot + 8, 18 * (double)rows + 4, &x0, &y0);
    x0 += 4, y0 += 11;
  }
  if (!across)
    fprintf(f,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#fff\" fill-opacity=\"0.85\" "
            "rx=\"4\"/>\n",
            x0 - 4, y0 - 11, slot + 8, 18 * (double)rows + 4);
  for (size_t s = 0; s < p->plot->series_count; s++) {
    const kn_plot_series* e = &p->plot->series[s];
    if (!e->name) continue;
    const char* colour = e->colour ? e->colour : kn_plot_colour(s);
    double x = x0 + (across ? slot * (double)row : 0), y = y0 + (across ? 0 : 18 * (double)row);
    if (e->style == KN_PLOT_BARS || e->style == KN_PLOT_AREA)
      fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"10\" fill=\"%s\"%s rx=\"1.5\"/>\n", x + 3,
              y - 5, colour, e->style == KN_PLOT_AREA ? " fill-opacity=\"0.3\"" : "");
    else if (e->style == KN_PLOT_POINTS)
      fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", x + 10, y, colour);
    else
      fprintf(f, "<path d=\"M%.1f %.1fh20\" stroke=\"%s\" stroke-width=\"2.4\"%s/>\n", x, y, colour,
              e->dashed ? " stroke-dasharray=\"6 4\"" : "");
    label(f, x + 25, y + 4, "start", 12, "#323f4b", e->name);
    row++;
  }
}

/* ---- names at the ends of the curves ---- */

enum { LABELS = 64 };
static const double letter = 6.6, label_step = 15;

typedef struct end_label {
  size_t series;
  double at, y; /* where the curve ends, where its name stands */
} end_label;

static size_t named_series(const kn_plot* plot) {
  size_t n = 0;
  for (size_t s = 0; s < plot->series_count; s++) n += plot->series[s].name != NULL;
  return n;
}

/* Width of the strip right of the frame; 0: no names there. */
static double label_strip(const kn_plot* plot, double width) {
  size_t longest = 0, n = named_series(plot);
  if (!plot->labels_right || n < 2 || n > LABELS) return 0;
  for (size_t s = 0; s < plot->series_count; s++)
    if (plot->series[s].name && strlen(plot->series[s].name) > longest)
      longest = strlen(plot->series[s].name);
  return fmin(22 + letter * (double)longest, 0.42 * width);
}

/* Pixel where a curve leaves the picture on the right. */
static double end_of(const panel* p, const kn_plot_series* s) {
  for (size_t i = s->n; i-- > 0;) {
    if (!usable(&p->x, series_x(s, i)) || !usable(&p->y, s->y[i])) continue;
    return fmin(fmax(pixel(&p->y, s->y[i]), p->top), p->top + p->height);
  }
  return p->top + p->height;
}

static int by_height(const void* a, const void* b) {
  const end_label *x = a, *y = b;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  return x->series < y->series ? -1 : 1;
}

/* Names keep their order and at least a line's distance; the column stays beside the frame. */
static void spread(end_label* at, size_t n, double top, double bottom) {
  double step = n > 1 ? fmin(label_step, (bottom - top) / (double)(n - 1)) : label_step;
  for (size_t i = 0; i < n; i++) at[i].y = i ? fmax(at[i].at, at[i - 1].y + step) : fmax(at[i].at, top);
  for (size_t i = n; i-- > 0;) {
    double limit = i + 1 < n ? at[i + 1].y - step : bottom;
    if (at[i].y > limit) at[i].y = limit;
  }
}

static void end_labels(FILE* f, const panel* p, double strip) {
  end_label at[LABELS];
  size_t n = 0, most = (size_t)((strip - 18) / letter);
  for (size_t s = 0; s < p->plot->series_count; s++)
    if (p->plot->series[s].name) at[n++] = (end_label){s, end_of(p, &p->plot->series[s]), 0};
  qsort(at, n, sizeof *at, by_height);
  spread(at, n, p->top + 4, p->top + p->height);
  for (size_t i = 0; i < n; i++) {
    const kn_plot_series* e = &p->plot->series[at[i].series];
    const char* colour = e->colour ? e->colour : kn_plot_colour(at[i].series);
    double x = p->left + p->width;
    char text[128];
    size_t length = strlen(e->name);
    if (length <= most)
      snprintf(text, sizeof text, "%s", e->name);
    else /* the end of a long name tells it apart from its neighbours */
      snprintf(text, sizeof text, "…%s", e->name + length - (most > 2 ? most - 1 : 1));
    fprintf(f, "<path d=\"M%.1f %.1fL%.1f %.1fh4\" stroke=\"%s\" fill=\"none\"/>\n", x + 2, at[i].at, x + 10,
            at[i].y, colour);
    label(f, x + 17, at[i].y + 4, "start", 12, colour, text);
  }
}

static void draw_panel(FILE* f, const kn_plot* plot, double left, double top, double width, double height,
                       size_t number) {
  panel p = {.plot = plot,
             .left = left + margin_left,
             .top = top + margin_top,
             .width = width - margin_left - margin_right,
             .height = height - margin_top - margin_bottom};
  size_t bars = 0, bar = 0;
  double strip = label_strip(plot, width);
  p.width -= strip;
  fit(&p);
  if (plot->equal_axes && !p.x.log && !p.y.log && p.x.unit == p.y.unit) equalise(&p);
  p.x.from = p.left, p.x.span = p.width;
  p.y.from = p.top + p.height, p.y.span = -p.height;
  axes(f, &p);
  fprintf(
      f,
      "<clipPath id=\"frame%zu\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></clipPath>\n",
      number, p.left - 4, p.top - 4, p.width + 8, p.height + 8);
  fprintf(f, "<g clip-path=\"url(#frame%zu)\">\n", number);
  for (size_t s = 0; s < plot->series_count; s++) bars += plot->series[s].style == KN_PLOT_BARS;
  for (size_t s = plot->series_count; s-- > 0;) { /* the first series ends on top */
    const kn_plot_series* e = &plot->series[s];
    const char* colour = e->colour ? e->colour : kn_plot_colour(s);
    if (e->style == KN_PLOT_BARS)
      draw_bars(f, &p, e, colour, bars - 1 - bar++, bars);
    else if (e->style == KN_PLOT_AREA)
      draw_area(f, &p, e, colour);
    else if (e->style != KN_PLOT_POINTS)
      draw_line(f, &p, e, colour);
    if (e->style == KN_PLOT_POINTS || e->style == KN_PLOT_LINE_POINTS) draw_points(f, &p, e, colour);
  }
  fputs("</g>\n", f);
  if (strip > 0)
    end_labels(f, &p, strip);
  else if (!plot->labels_right || plot->series_count > 1)
    legend(f, &p);
}

bool kn_plot_write(FILE* f, const kn_plot* panels, size_t count, size_t columns, double width,
                   double height) {
  if (columns == 0) columns = 1;
  if (columns > count) columns = count ? count : 1;
  if (!(width > 0)) width = 720;
  if (!(height > 0)) height = 440;
  size_t rows = (count + columns - 1) / columns;
  double w = width * (double)columns, h = height * (double)(rows ? rows : 1);
  fprintf(
      f,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      w, h, w, h);
  for (size_t i = 0; i < count; i++)
    draw_panel(f, &panels[i], width * (double)(i % columns), height * (double)(i / columns), width, height,
               i);
  fputs("</svg>\n", f);
  return !ferror(f);
}

bool kn_plot_save(const char* path, const kn_plot* panels, size_t count, size_t columns, double width,
                  double height) {
  kn_image image;
  return kn_image_open(&image, path) &&
         kn_image_close(&image, kn_plot_write(image.svg, panels, count, columns, width, height));
}
