/* The boundary of a region of the plane that is known by a yes-or-no question: a grid, marching squares, and
   bisection along the grid's edges. The loops are for KN_PLOT_AREA: closed, separated by NaN, to be filled
   by the even-odd rule. */
#ifndef KN_OUTPUT_REGION_H
#define KN_OUTPUT_REGION_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef bool (*kn_region_fn)(double x, double y, void* context);

typedef struct kn_region {
  double *x, *y; /* n points */
  size_t n;
} kn_region;

/* Region within [x0, x1] × [y0, y1], asked on cells × cells squares. False: no memory. Free with
   kn_region_free. */
bool kn_region_trace(kn_region* out, kn_region_fn inside, void* context, const double x_range[2],
                     const double y_range[2], int cells);
void kn_region_free(kn_region* region);

#ifdef __cplusplus
}
#endif
#endif
