/* The first instant of a sub-step at which an open gap closes.

   Signs at the ends are not enough: a contact may dip below zero and come back. From a state where a contact
   has gap g and rate ġ, with |g̈| <= B and a slope that may jump by K where another point of a turning body
   becomes the nearest, g(t) >= g + (ġ - K) t - ½ B t². The first root of this bound is a time within which no
   gap can close (`ahead`; with -ġ, `behind`). A sub-step whose ends together cover it is clear; otherwise it
   is halved. Dips shorter than a thousandth of the sub-step, hence shallower than B h²/8e6, may pass. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "spatial/spatial.h"
#include "step/event/event.h"

enum { MAX_DEPTH = 10, MAX_LOOKS = 200 };

/* Bounds of every geom's motion within the sub-step, from the link velocities at both ends. */
static void bounds(kn_sim* s, kn_event_work* w) {
  const kn_model* m = s->model;
  kn_dyn_position(s->data, m, w->q1);
  kn_dyn_velocity(s->data, m, w->v1);
  for (int g = 0; g < m->ngeom; g++) {
    int link = m->geom_place[g].link;
    w->gap.spin[g] = w->gap.jerk[g] = 0.0;
    if (link < 0) continue;
    double V[6], d[3], dw[3], centre[3], R = kn_detector_radius(centre, s->detector, g);
    if (!isfinite(R)) R = 10.0; /* m: a moving plane, looked at nearby */
    kn_link_velocity(V, s->data, link);
    kn_sub3(dw, V, w->gap.link_v[link]);
    kn_sub3(d, V + 3, w->gap.link_v[link] + 3);
    double spin = fmax(kn_norm3(V), kn_norm3(w->gap.link_v[link]));
    w->gap.spin[g] = spin * R;
    w->gap.jerk[g] =
        2.0 * (kn_norm3(d) / w->flow.h + (spin * spin + kn_norm3(dw) / w->flow.h) * (R + kn_norm3(centre)));
  }
}

static bool limit_held(const kn_event_work* w, int limit) {
  for (int g = 0; g < w->closed.helds; g++)
    if (w->closed.held[g].kind == KN_ROW_LIMIT && w->closed.held[g].index == limit) return true;
  return false;
}

/* First positive root of gap + rate t - ½ B t². */
static double reach(double gap, double rate, double B) {
  gap = fmax(gap, KN_EVENT_DEEP);
  double root = sqrt(rate * rate + 2.0 * B * gap);
  if (rate + root > 0.0 && B > 0.0) return rate > 0.0 ? (rate + root) / B : 2.0 * gap / (root - rate);
  return rate < 0.0 ? gap / -rate : INFINITY;
}

static void note(kn_watch* out, double gap, double rate, double K, double B) {
  if (gap < out->gap) out->gap = gap, out->rate = rate;
  out->ahead = fmin(out->ahead, reach(gap, rate - K, B));
  out->behind = fmin(out->behind, reach(gap, -rate - K, B));
}

kn_status kn_event_watch(kn_watch* out, kn_sim* s, kn_event_work* w, const double* q, const double* v) {
  const kn_model* m = s->model;
  double extra = 0.0;
  *out = (kn_watch){.gap = INFINITY, .ahead = INFINITY, .behind = INFINITY};
  w->step.evaluations++;
  for (int g = 0; g < m->ngeom; g++) extra = fmax(extra, w->gap.jerk[g] * w->flow.h * w->flow.h);
  kn_dyn_position(s->data, m, q);
  kn_dyn_velocity(s->data, m, v);
  w->trial.used = w->cache.used;
  memcpy(w->trial.data, w->cache.data, w->cache.used);
  KN_TRY(kn_detect(s->touch.after, &s->touch.afters, s->detector, s->data, s->settings.gtol + extra,
                   w->flow.h, &w->trial));
  kn_constraints_clear(&s->sets.found);
  for (int i = 0; i < s->touch.afters; i++)
    KN_TRY(kn_constraint_add_contact(&s->sets.found, m, &s->touch.after[i], i, 0.0));
  for (int i = 0; i < m->nlimit; i++) KN_TRY(kn_constraint_add_limit(&s->sets.found, m, q, i, 0.0));
  kn_rows_velocity(s->row.u_before, s->data, m, s->sets.found.geometry, s->sets.found.count, v);
  for (int i = 0; i < s->touch.afters; i++) {
    const kn_contact* c = &s->touch.after[i];
    const kn_held* h = kn_event_held(w, c->key);
    if (h && h->mode == KN_MODE_OPEN && c->gap < out->gap) /* just released: only seen when it closes again */
      out->gap = c->gap, out->rate = s->row.u_before[s->sets.found.tag[i].row];
    if (h) continue;
    note(out, c->gap, s->row.u_before[s->sets.found.tag[i].row],
         w->gap.spin[c->geom_a] + w->gap.spin[c->geom_b], w->gap.jerk[c->geom_a] + w->gap.jerk[c->geom_b]);
  }
  for (int i = 0; i < m->nlimit; i++) {
    if (limit_held(w, i)) continue;
    int dof = m->limit[i].v;
    note(out, kn_limit_gap(m, i, q), s->row.u_before[s->sets.found.tag[s->touch.afters + i].row], 0.0,
         2.0 * fabs(w->v1[dof] - w->v[dof]) / w->flow.h);
  }
  kn_event_weigh(s, w);
  return KN_OK;
}

typedef struct search {
  int looks;
  bool found;
  double lo, hi; /* bracket, fractions of the sub-step */
  kn_watch low, high;
} search;

static kn_status at(kn_watch* out, kn_sim* s, kn_event_work* w, search* f, double theta) {
  f->looks++;
  kn_event_dense(w->flow.q_stage, w->flow.vs, s, w, theta);
  return kn_event_watch(out, s, w, w->flow.q_stage, w->flow.vs);
}

/* The first bracket of a closing gap in [a, b]; A, B: what the ends say. */
static kn_status bracket(search* f, kn_sim* s, kn_event_work* w, double a, const kn_watch* A, double b,
                         const kn_watch* B, int depth) {
  bool closes = B->gap < -KN_EVENT_DEEP, clear = A->ahead + B->behind >= (b - a) * w->flow.h;
  bool tired = f->looks > MAX_LOOKS || kn_event_spent(s, w);
  if (closes && A->ahead >= (b - a) * w->flow.h) clear = true; /* it begins at b */
  if ((!closes && clear) || (!closes && (depth == MAX_DEPTH || tired))) return KN_OK;
  if (closes && (clear || depth >= 3 || tired)) {
    f->found = true;
    f->lo = a, f->hi = b;
    f->low = *A, f->high = *B;
    return KN_OK;
  }
  kn_watch M;
  double middle = 0.5 * (a + b);
  KN_TRY(at(&M, s, w, f, middle));
  KN_TRY(bracket(f, s, w, a, A, middle, &M, depth + 1));
  if (f->found) return KN_OK;
  return bracket(f, s, w, middle, &M, b, B, depth + 1);
}

/* Regula falsi (Illinois) to the open side of the root. */
static kn_status refine(double* theta, search* f, kn_sim* s, kn_event_work* w) {
  double glo = fmax(f->low.gap, 0.0), ghi = f->high.gap;
  for (int k = 0; k < 60 && !kn_event_spent(s, w); k++) {
    if (f->low.gap >= 0.0 && f->low.gap <= kn_event_width(f->low.rate) && f->low.rate < 0.0) break;
    if ((f->hi - f->lo) * w->flow.h < 1e-16) break;
    double x = f->lo + (f->hi - f->lo) * (glo - 0.5 * kn_event_width(f->high.rate)) / (glo - ghi);
    if (!(x > f->lo && x < f->hi) || f->low.rate >= 0.0 || k % 8 == 7) x = 0.5 * (f->lo + f->hi);
    kn_watch M;
    KN_TRY(at(&M, s, w, f, x));
    if (M.gap < 0.0) {
      f->hi = x, ghi = M.gap, f->high = M;
      glo *= 0.5;
    } else {
      f->lo = x, glo = M.gap, f->low = M;
      ghi *= 0.5;
    }
  }
  *theta = f->lo;
  return KN_OK;
}

kn_status kn_event_first_gap(double* theta, kn_sim* s, kn_event_work* w) {
  search f = {0};
  kn_watch A, B;
  *theta = 1.0;
  bounds(s, w);
  KN_TRY(kn_event_watch(&A, s, w, w->q, w->v));
  KN_TRY(kn_event_watch(&B, s, w, w->q1, w->v1));
  KN_TRY(bracket(&f, s, w, 0.0, &A, 1.0, &B, 0));
  return f.found ? refine(theta, &f, s, w) : KN_OK;
}
