/* J̇ q̇ of contact rows along the present motion.

   The bias of body-fixed points (kn_rows_bias) leaves out that the contact point wanders over both surfaces
   and that the normal turns with them: for a link that slides on an ellipse that is most of it. The row of a
   contact is W(q), the gradient of the gap and the slip at the point that touches, so its rate is

     Ẇ q̇ = d/dh [W(q ⊕ h q̇) q̇]  at h = 0,

   taken by central differences of detection at ±h and ±2h (Richardson: error h⁴). Where a feature is not
   found again, or the two differences disagree (an edge passes, the tangents are chosen anew), the caller's
   value stays. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "step/sim.h"

static const double H = 1e-4; /* s: rounding 1e-16 v/H, truncation v⁵/R⁴ H⁴ */
enum { SIDES = 4 };
static const int SHIFT[SIDES] = {-2, -1, 1, 2};

static void row_velocity(double u[3], const kn_sim* s, const kn_contact* c, const double* v) {
  kn_row_block g = {.rows = 3,
                    .link_a = s->model->geom_place[c->geom_a].link,
                    .link_b = s->model->geom_place[c->geom_b].link};
  for (int i = 0; i < 3; i++) g.point[i] = c->point[i];
  for (int i = 0; i < 9; i++) g.dir[i / 3][i % 3] = c->frame[i];
  kn_rows_velocity(u, s->data, s->model, &g, 1, v);
}

/* Velocities of the rows of s->touch.after when the mechanism has moved on by `time`; NaN where a contact is
   gone. */
static kn_status displaced(double* u, kn_sim* s, const kn_state* x, double* q, kn_contact* near,
                           double time) {
  int count = 0;
  KN_TRY(kn_integrate(q, s->model, x->q, x->v, time));
  kn_dyn_position(s->data, s->model, q);
  KN_TRY(kn_detect(near, &count, s->detector, s->data, 2 * s->settings.gtol, 0.0, NULL));
  for (int i = 0; i < s->touch.afters; i++) {
    u[3 * i] = u[3 * i + 1] = u[3 * i + 2] = NAN;
    for (int k = 0; k < count; k++)
      if (near[k].key == s->touch.after[i].key) row_velocity(u + 3 * i, s, &near[k], x->v);
  }
  return KN_OK;
}

kn_status kn_contact_row_rates(double* rate, kn_sim* s, const kn_state* x) {
  size_t n = 3 * (size_t)s->touch.afters;
  double *u[SIDES], *memory = calloc(SIDES * n + (size_t)s->model->nq + 1, sizeof *memory);
  kn_contact* near = calloc((size_t)s->room.contacts + 1, sizeof *near);
  kn_status status = memory && near ? KN_OK : kn_fail(KN_OUT_OF_MEMORY, "diagnosis: out of memory");
  for (int k = 0; k < SIDES && status == KN_OK; k++) {
    u[k] = memory + (size_t)k * n;
    status = displaced(u[k], s, x, memory + SIDES * n, near, SHIFT[k] * H);
  }
  for (size_t i = 0; i < n && status == KN_OK; i++) {
    double fine = (u[2][i] - u[1][i]) / (2 * H), coarse = (u[3][i] - u[0][i]) / (4 * H);
    bool smooth = fabs(fine - coarse) <= 0.01 * fmax(1.0, fabs(fine)); /* false with NaN */
    rate[i] = smooth ? (4 * fine - coarse) / 3 : NAN;
  }
  free(memory);
  free(near);
  kn_dyn_position(s->data, s->model, x->q);
  kn_dyn_velocity(s->data, s->model, x->v);
  return status;
}
