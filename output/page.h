/* A run as one HTML file that needs nothing else: an animation (turn, zoom, seek), a table of facts and
 * plots. */
#ifndef KN_OUTPUT_PAGE_H
#define KN_OUTPUT_PAGE_H

#include "output/plot.h"

/* Floats per contact. */
enum { KN_PAGE_CONTACT = 7 };

typedef struct kn_page_shape {
  const char* type; /* plane, sphere, capsule, cylinder, ellipsoid, box (sizes as in kn_shape), or faces */
  double size[3];
  double rgb[3];
  const double* points; /* faces: 3 npoint, in the shape's frame */
  size_t npoint;
  const int* triangles; /* faces: 3 ntriangle, counter-clockwise from outside */
  size_t ntriangle;
} kn_page_shape;

typedef struct kn_page_fact {
  const char* name;
  char value[640];
} kn_page_fact;

typedef struct kn_page {
  const char *title, *subtitle, *command;
  const kn_page_shape* shapes;
  size_t shape_count;
  const double* times; /* frame_count */
  const float* frames; /* frame_count x shape_count x {position, quaternion w x y z}, world */
  size_t frame_count;
  const size_t* contact_start; /* frame_count + 1: contacts of frame f are start[f] … start[f+1]-1 */
  /* {point, vector, kind}, world; kind 0: a force in N, 1: the impulse of a blow in N s, 2: a force in N that the
     motion does not determine. Each unit is drawn with a scale of its own, so that its longest shows well. */
  const float* contacts;
  double yaw, pitch; /* camera, rad; 0, 0 looks along +y */
  const kn_page_fact* facts;
  size_t fact_count;
  const kn_plot* plots;
  size_t plot_count;
} kn_page;

bool kn_page_write(FILE* file, const kn_page* page);

#endif
