/* Steps in which nothing can touch: no contacts are looked for.

   After a search that found nothing, all pairs are at least `room` apart beyond their margins. A surface
   point moves in a step with speeds up to that of v_free by at most

     way = dt (s + dt a) + ½ dt² (w + dt al)² L c,

   s, w: largest speed of a surface point and largest spin of a link at the beginning of the step; a, al: the
   same of the accelerations that make v_free of v. The last term: at constant joint rates a point of a chain
   of length L bends off its tangent with at most w² L if all axes are parallel (spins of links are constant),
   else with w² L (1 + 2 depth), since |ẇ_k| <= Σ |w_j-1| |rate_j| and |rate_j| <= 2 w. Two points approach by
   2 way, the search itself looks ahead by 2 way more, so nothing is found as long as
   room > margin + 3 way + gtol, and room then shrinks by 2 way. What is found does not depend on this. */
#include <math.h>

#include "dynamics/tree/data.h"
#include "spatial/spatial.h"
#include "step/parts.h"
#include "step/sim.h"

static bool parallel(const kn_layout* y, int nlink) {
  for (int i = 0; i < nlink; i++) {
    const double* R0 = (const double*)y->link[i].R0;
    if (y->link[i].type != KN_LINK_HINGE) return false;
    if (y->link[i].parent >= 0 && fabs(R0[10]) < 1.0 - 1e-12) return false; /* z in z */
  }
  return true;
}

/* The farthest that a surface point is from the origin of its link. */
static double farthest(const kn_sim* s) {
  const kn_model* m = s->model;
  double radius = 0.0;
  for (int g = 0; g < m->ngeom; g++) {
    double centre[3];
    if (m->geom_place[g].link < 0) continue;
    radius = kn_max(radius, kn_detector_extent(centre, s->detector, g) + kn_norm3(centre));
  }
  return radius;
}

/* Longest way along links from a root to a surface point; infinite when joints can lengthen it. */
static double longest(const kn_sim* s) {
  const kn_model* m = s->model;
  const kn_layout* y = s->data->layout;
  double most = 0.0, *way = s->frame.dv;
  for (int i = 0; i < m->nlink; i++) {
    const kn_link_const* c = &y->link[i];
    if (c->type == KN_LINK_SLIDE || c->type == KN_LINK_SCREW || c->nv < 1) return INFINITY;
    way[c->v] = c->parent < 0 ? 0.0 : way[y->link[c->parent].v] + kn_norm3((const double*)&c->p0);
    most = kn_max(most, way[c->v]);
  }
  return most + s->clear.radius;
}

void kn_clear_create(kn_sim* s) {
  const kn_model* m = s->model;
  s->clear.step = -1;
  s->clear.room = 0.0;
  bool off = !kn_fast_on(s->fast, KN_FAST_CLEAR);
  s->clear.radius = farthest(s);
  s->clear.length = off || m->nloop || s->soft ? INFINITY : longest(s);
  s->clear.bend = parallel(s->data->layout, m->nlink) ? 0.5 : 0.5 + s->data->layout->depth;
}

/* At the end of a step; data holds the links' velocities. */
void kn_clear_end(kn_sim* s, const kn_state* x) {
  double v;
  if (!(s->clear.length < INFINITY) || s->touch.contacts) return;
  if (s->report.correction > 0.0) s->clear.room = 0.0; /* farther than the bound may be */
  kn_dyn_largest_velocity(&s->clear.spin, &v, s->data, s->model);
  s->clear.spin *= 1.01; /* keep_energy may still speed up by a thousandth */
  s->clear.speed = 1.01 * v + s->clear.spin * s->clear.radius;
  s->clear.step = x->step + 1;
}

/* Bound of the way in this step; data holds the accelerations that make v_free. */
static double way_of(const kn_sim* s, double dt) {
  double al, a;
  kn_dyn_largest_acceleration(&al, &a, s->data, s->model);
  double spin = s->clear.spin + dt * al;
  return dt * (s->clear.speed + dt * (a + al * s->clear.radius)) +
         dt * dt * spin * spin * s->clear.length * s->clear.bend;
}

/* The search looks ahead by the speeds at the beginning of the step. Motors and controllers may make more of them within it: what
   accelerations beyond ten times gravity's add from the middle to the end (legs that servos swing from rest into the floor). */
double kn_clear_kick(const kn_sim* s, double dt) {
  double al, a;
  if (!s->facts.driven && !s->controller.fn) return 0.0;
  kn_dyn_largest_acceleration(&al, &a, s->data, s->model);
  return 0.5 * dt * dt * kn_max(a + al * s->clear.radius - 10.0 * s->facts.gravity, 0.0);
}

/* Before a search: can it be left out? */
bool kn_clear_ahead(kn_sim* s, const kn_state* x, double dt) {
  s->clear.known = s->clear.step == x->step && s->past.continues;
  if (!s->clear.known || !(s->clear.room > 0.0)) return false;
  double way = way_of(s, dt);
  bool clear = s->clear.room - 3.0 * way > s->settings.gtol + s->settings.margin;
  s->clear.room -= 2.0 * way;
  return clear;
}

/* After a search at the midpoint: can the one at the end be left out? */
bool kn_clear_searched(kn_sim* s, double dt) {
  s->clear.room = 0.0;
  if (s->touch.contacts || !s->clear.known) return false;
  s->clear.room = kn_detector_clear(s->detector) - 2.0 * way_of(s, dt);
  return s->clear.room > s->settings.gtol;
}
