/* What a film holds; for its own files only. */
#ifndef KN_CLI_FILM_INTERNAL_H
#define KN_CLI_FILM_INTERNAL_H

#include "film.h"

enum { KN_FILM_CURVES = 8 };

typedef struct numbers {
  double* v;
  size_t n, room;
} numbers;

struct kn_film {
  const kn_model* model;
  double rate, next; /* frames per second, time of the next picture */
  size_t shape_count;
  kn_page_shape* shapes;
  kn_geom* geoms;
  double* times;
  float* frames;
  size_t frame_count, frame_room;
  size_t* contact_start;
  float* contacts;
  size_t contact_count, contact_room, contact_mark;
  double loudest; /* largest normal impulse of a step since the last picture */
  numbers curve[KN_FILM_CURVES];
  kn_film_sums sums;
  kn_plot plots[4];
  kn_plot_series series[6];
};

#endif
