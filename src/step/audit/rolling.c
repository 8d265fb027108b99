/* Which sticking contacts roll: a round surface takes part and the bodies turn against each other about an
   axis in the tangent plane, so that the contact point wanders over a surface while nothing slips. */
#include <math.h>
#include <string.h>

#include "spatial/spatial.h"
#include "step/sim.h"

static const double least = 1e-6; /* rad/s: slower turning is rounding of a body at rest */

void kn_report_rolling(kn_sim* s) {
  const kn_model* m = s->model;
  for (int i = 0; i < s->touch.contacts; i++) {
    kn_contact* c = &s->touch.contact[i];
    c->rolling = false;
    if (c->mode != KN_MODE_STICK || !kn_anchor_rolls(m, c)) continue;
    kn_row_block spin = {.link_a = m->geom_place[c->geom_a].link,
                         .link_b = m->geom_place[c->geom_b].link,
                         .rows = 2,
                         .angular = 1};
    double w[2];
    kn_copy3(spin.point, c->point);
    memcpy(spin.dir, c->frame + 3, sizeof(double[6]));
    kn_rows_velocity(w, s->data, m, &spin, 1, s->frame.v_plus);
    c->rolling = sqrt(w[0] * w[0] + w[1] * w[1]) > least;
  }
}
