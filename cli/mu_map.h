/* knuckle diagnose --mu-map: where in the plane of two friction coefficients is the mode matrix a P-matrix?
 */
#ifndef KN_CLI_MU_MAP_H
#define KN_CLI_MU_MAP_H

#include "subject.h"

enum { KN_MODE_ROWS = 64 };

typedef struct kn_mu_map {
  const char* file;
  const char* name[2]; /* as given */
  int columns[2];      /* sliding contacts that have the coefficient */
  double mu[2];        /* present values */
  double limit[2];     /* from the present point: largest value of one coefficient before P is lost, the other
                          kept; NaN when the present point is outside */
  bool inside;
} kn_mu_map;

/* Draws the map of the sim's contacts at the state into args' -o file. */
kn_exit kn_mu_map_draw(kn_mu_map* map, const kn_args* args, const kn_subject* s, kn_sim* sim,
                       const kn_diagnosis* d);
void kn_mu_map_json(kn_json* j, const kn_mu_map* map);
void kn_mu_map_text(const kn_mu_map* map);

#endif
