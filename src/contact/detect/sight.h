/* Spheres and standing planes of a mechanism that moves in a plane, seen in that plane (detect.c).

   Circles side by side instead of spheres one by one: centres, speeds and ways of all of them in wide
   vectors. What lies out of the plane is left out of the distances, which makes them smaller at most: a pair
   that is apart here is apart. Those that are not are looked at in space. */
#pragma once

#include "base/arena.h"
#include "base/isa.h"
#include "dynamics/tree/data.h"

enum { KN_SIGHT_MOST = 64 }; /* one bit each */

typedef struct kn_sight_pair { /* of circles, or of a circle and a line: b = ~line */
  int32_t a, b;
  int32_t pair; /* the detector's */
} kn_sight_pair;

typedef struct kn_sight_line { /* standing plane across that of the mechanism: height = x nx + y ny - off */
  double nx, ny, off;
} kn_sight_line;

typedef struct kn_sight {
  const kn_model* model;
  int count, stride; /* circles; padded to 8 */
  int lines;
  bool ready;              /* lines and standing circles are placed */
  bool blind;              /* some plane is not across */
  bool used;               /* the last call was in the plane */
  bool straight;           /* circle k belongs to link k */
  int32_t* geom;           /* count */
  int32_t* link;           /* count; -1: stands still */
  int32_t* plane;          /* lines: the geom */
  double *cx, *cy;         /* stride each: centre in the axes of the link, or in the basis of the roots */
  double* z;               /* count: out of the plane, layout->chain */
  double* radius;          /* with half of the largest margin and of what rounding may do */
  double* ball;            /* the sphere's own */
  double *x, *y;           /* now */
  double *x_then, *y_then; /* when the list was made */
  double *sweep, *reach;   /* within the horizon, if there is one; radius + sweep */
  double* still;           /* zeros: sweeps without a horizon */
  double* rows;            /* KN_PLANE_ROWS x stride: links of the circles, unless straight */
  kn_sight_line* line;
  uint64_t* allowed; /* count: circles b > a that may touch a */
  uint64_t* beside;  /* lines: circles that may touch it */
  uint64_t* found;   /* count + lines: scratch of the kernel */
  int32_t* index;    /* count x (count + lines): the detector's pair */
  kn_sight_pair* near;
  int nnear;
  double slack;         /* of the list; negative: there is none */
  double way2;          /* square of the largest way since it was made */
  const double* within; /* radius or reach: what the pairs of the last look have, beside its margin */
  double last_sweep, most_margin, most_radius;
} kn_sight;

typedef struct kn_sight_kernel {
  /* Centres on the links in `rows` (KN_PLANE_ROWS, stride apart); with a horizon sweeps, reaches and the
     largest sweep. Largest square of a way since the list was made. */
  double (*place)(kn_sight* s, const double* rows, double horizon);
  /* s->found[a]: circles b > a closer than slack; of the lines afterwards: circles. */
  void (*list)(kn_sight* s, double slack);
  /* Least square of a distance of two circles less that of their radii's sum. */
  double (*nearest)(const kn_sight* s);
} kn_sight_kernel;

KN_KERNEL_TABLE(kn_sight_kernel, kn_sight);

/* Memory for `count` circles and `lines` lines; a measuring arena leaves it empty. */
void kn_sight_take(kn_sight* s, kn_arena* arena, int count, int lines);
/* As if just taken: another model is to be seen. */
void kn_sight_forget(kn_sight* sight);
/* Does it know the mechanism of data? */
bool kn_sight_sees(kn_sight* s, const kn_data* data);
/* The poses of data, and the list of near pairs kept complete for pairs that come within margin beyond their
   own and their sweeps. */
void kn_sight_look(kn_sight* s, const kn_data* data, double margin, double horizon);
/* May the pair touch within margin beyond its own and its sweeps? */
static inline bool kn_sight_close(const kn_sight* s, const kn_sight_pair* p, double margin) {
  double x = s->x[p->a], y = s->y[p->a];
  if (p->b < 0) {
    const kn_sight_line* l = &s->line[~p->b];
    return (x * l->nx + y * l->ny) - l->off <= s->within[p->a] + margin;
  }
  double dx = x - s->x[p->b], dy = y - s->y[p->b], far = (s->within[p->a] + s->within[p->b]) + margin;
  return dx * dx + dy * dy <= far * far;
}
/* No pair is closer than its own margin and this, m. */
double kn_sight_clear(const kn_sight* s);
