/* A run kept in memory as pictures and curves, for an HTML page (output/page.h). */
#ifndef KN_CLI_FILM_H
#define KN_CLI_FILM_H

#include "knuckle/force.h"
#include "knuckle/step.h"
#include "output/page.h"

typedef struct kn_film kn_film;

/* Every 1/rate seconds one picture; curves get a point per step. Of forces that the motion leaves open those of
   `choice` are drawn. NULL: out of memory. */
kn_film* kn_film_create(const kn_model* model, double rate, kn_force_choice choice);
void kn_film_destroy(kn_film* film);
/* After kn_sim_prepare once and after every step: looks at the state's positions and the last report. */
bool kn_film_look(kn_film* film, kn_sim* sim, kn_state* state, bool first);

/* What was seen, for the table and for scripts. */
typedef struct kn_film_sums {
  long steps;
  double residual, penetration, correction;
  kn_energy_rise rise;
  int contacts;
  long impacts, guards, verdicts[KN_VERDICT_COUNT];
  kn_trouble_tally troubles;
  kn_energy first, last;
} kn_film_sums;
const kn_film_sums* kn_film_summary(const kn_film* film);

/* Fills shapes, frames, contacts and plots of the page; they live as long as the film. */
void kn_film_fill(kn_film* film, kn_page* page);

/* One SVG picture: the moving shapes at `count` instants, side view along +y, later ones stronger. */
bool kn_film_strobe(const kn_film* film, FILE* file, double from, double to, int count);

#endif
