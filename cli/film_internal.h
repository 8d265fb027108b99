/* What a film holds; for its own files only. */
#ifndef KN_CLI_FILM_INTERNAL_H
#define KN_CLI_FILM_INTERNAL_H

#include "film.h"
#include "knuckle/force.h"

enum { KN_FILM_CURVES = 9 };

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
  double loudest; /* largest normal impulse of a blow since the last picture */
  kn_force_chooser* chooser;
  kn_state* middle; /* of the step, where its contacts were evaluated; with the velocities before it */
  double* v;        /* nv: after the step before */
  kn_data* data;
  kn_contact_load* load;
  size_t load_room;
  numbers curve[KN_FILM_CURVES];
  kn_film_sums sums;
  kn_plot plots[5];
  kn_plot_series series[7];
};

#endif
