/* Pairs, gaps, missing contacts, overlaps and joint ranges, over all pairs of geoms that may touch: what the
   engine's search found, and what it should have found. The gap of a pair is that of shape.c. Called by
   verify.c. */
#include <stdlib.h>

#include "base/hoard.h"
#include "record/verify/verify.h"

/* ---- recorded pairs ---- */

static bool same(double a, double b) { return a == b || fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b)); }

void kn_verify_pairs(kn_verifier* v, const kn_recorded* s) {
  const kn_model* m = v->model;
  for (int i = 0; i < s->contacts; i++) {
    const kn_contact* c = &s->contact[i];
    bool ok = kn_may_collide(v->sweep, c->geom_a, c->geom_b) && m->geom[c->geom_a].body == c->body_a &&
              m->geom[c->geom_b].body == c->body_b;
    kn_verifier_report(v, s->step, KN_CHECK_PAIR, ok ? 0.0 : 1.0, 0.0);
    kn_surface own = kn_surface_of(v->sweep, c->geom_a, c->geom_b);
    const double given[] = {c->mu, c->mu2, c->torsion, c->roll},
                 of[] = {own.mu, own.mu2, own.torsion, own.roll};
    for (int k = 0; k < 4; k++) /* too small is as wrong as too large */
      if (!same(given[k], of[k]))
        kn_verifier_report(v, s->step, KN_CHECK_FRICTION_COEFFICIENT, given[k] < of[k] ? of[k] : given[k],
                           given[k] < of[k] ? given[k] : of[k]);
    if (!same(c->e, own.e))
      kn_verifier_report(v, s->step, KN_CHECK_RESTITUTION, fmax(c->e, own.e), fmin(c->e, own.e));
  }
}

/* ---- gaps of the recorded pairs ---- */

static int by_pair(const void* a, const void* b) {
  const kn_listed *x = a, *y = b;
  if (x->a != y->a) return x->a < y->a ? -1 : 1;
  return (x->b > y->b) - (x->b < y->b);
}

/* v->listed: the pairs of the step, ascending, each once, with its least gap and that contact. */
static bool list_pairs(kn_verifier* v, const kn_recorded* s) {
  int n = s->contacts, kept = 0;
  if (!KN_ROOM(v->listed, v->listed_capacity, n)) return false;
  for (int i = 0; i < n; i++) {
    const kn_contact* c = &s->contact[i];
    bool swap = c->geom_a > c->geom_b;
    v->listed[i] = (kn_listed){swap ? c->geom_b : c->geom_a, swap ? c->geom_a : c->geom_b, i, i, c->gap};
  }
  if (n) qsort(v->listed, (size_t)n, sizeof *v->listed, by_pair);
  for (int i = 0; i < n; i++) {
    kn_listed* last = kept ? &v->listed[kept - 1] : NULL;
    if (!last || by_pair(last, &v->listed[i]) != 0)
      v->listed[kept++] = v->listed[i];
    else if (v->listed[i].gap < last->gap)
      last->gap = v->listed[i].gap, last->deepest = v->listed[i].deepest;
  }
  v->listeds = kept;
  return true;
}

static bool is_listed(const kn_verifier* v, kn_geom a, kn_geom b) {
  kn_listed key = {.a = a < b ? a : b, .b = a < b ? b : a};
  return v->listeds && bsearch(&key, v->listed, (size_t)v->listeds, sizeof key, by_pair) != NULL;
}

/* Half the width of a geom, m; 0 for planes and meshes. */
static double extent(const kn_shape* shape) {
  static const kn_pose here = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
  double half[3];
  if (shape->type == KN_SHAPE_PLANE || shape->type == KN_SHAPE_MESH) return 0.0;
  for (int i = 0; i < 3; i++)
    half[i] = fmax(kn_plain_reach(shape, &here, (double[3]){i == 0, i == 1, i == 2}), 0.0);
  return kn_plain_length(half);
}

/* How wrong the gap and the normal of a listed pair are, m, at P. */
static double gap_error(const kn_recorded* s, const kn_plain* P, const kn_listed* l) {
  const kn_contact* c = &s->contact[l->deepest];
  kn_plain_gap g;
  if (!kn_plain_gap_of(&g, P, c->geom_a, c->geom_b)) return 0.0;
  double off = fabs(c->gap - g.gap), along = kn_plain_apart(P, c->geom_a, c->geom_b, c->frame);
  return isnan(along) ? off : fmax(off, g.gap - along);
}

static void check_listed(kn_verifier* v, const kn_recorded* s, const kn_plain* P) {
  for (int i = 0; i < v->listeds; i++) {
    const kn_listed* l = &v->listed[i];
    double size = fmax(extent(&v->model->geom[l->a].shape), extent(&v->model->geom[l->b].shape));
    double off = gap_error(s, P, l);
    if (s->impact) off = fmin(off, gap_error(s, &v->flight, l));
    /* 1e-6 of the size: kn_manifold_query holds resting faces steady against noise to a tenth of that */
    kn_verifier_report(v, s->step, KN_CHECK_GAP, off, 1e-6 * fmax(size, 0.1) + v->soft.offset);
  }
}

/* ---- missing contacts ---- */

typedef struct search {
  kn_verifier* v;
  const kn_recorded* s;
  const kn_plain* P;
} search;

/* A pair that is not listed must not close: gap + dt/2 v_n >= 0 with the velocity after the step. */
static void missing(void* context, kn_geom a, kn_geom b) {
  search* x = context;
  kn_plain_gap g;
  double va[3], vb[3], closing = 0.0;
  if (is_listed(x->v, a, b) || !kn_plain_gap_of(&g, x->P, a, b)) return;
  kn_plain_velocity(va, x->P, x->v->model->geom[a].body, g.point, x->s->v);
  kn_plain_velocity(vb, x->P, x->v->model->geom[b].body, g.point, x->s->v);
  for (int i = 0; i < 3; i++) closing -= 0.5 * x->s->dt * g.normal[i] * (va[i] - vb[i]);
  if (x->s->impact && g.gap > 0.0) return;
  /* the way of a step that others' impulses may push a free body, which the search cannot foresee */
  kn_verifier_report(x->v, x->s->step, KN_CHECK_MISSING, closing - fmax(g.gap, 0.0),
                     fmax(1e-6, 0.02 * x->v->asked.gtol));
}

/* How far each geom's surface moves in half a step. */
static void sweeps(kn_verifier* v, const kn_recorded* s, const kn_plain* P) {
  const kn_model* m = v->model;
  for (int g = 0; g < m->ngeom; g++) {
    kn_pose pose;
    double u[3], w[3];
    kn_plain_geom(&pose, P, g);
    kn_plain_velocity(u, P, m->geom[g].body, pose.p, s->v);
    kn_plain_spin(w, P, m->geom[g].body, s->v);
    v->grow[g] = 0.5 * s->dt * (kn_plain_length(u) + kn_plain_length(w) * extent(&m->geom[g].shape)) + 1e-6;
  }
}

void kn_verify_gaps(kn_verifier* v, const kn_recorded* s) {
  const kn_plain* P = s->impact ? &v->after : &v->mid;
  if (!list_pairs(v, s)) {
    v->failed = true;
    return;
  }
  check_listed(v, s, P);
  sweeps(v, s, P);
  kn_nearby_pairs(v->sweep, P, v->grow, missing, &(search){v, s, P});
}

static void left_out(void* context, kn_geom a, kn_geom b) {
  search* x = context;
  kn_plain_gap g;
  if (is_listed(x->v, a, b) || !kn_plain_gap_of(&g, x->P, a, b)) return;
  kn_verifier_report(x->v, x->s->step, KN_CHECK_MISSING, -g.gap, 1e-8); /* m: closed is 1e-9 */
}

/* Contacts that are near at the end are listed as they are there; those that pushed and left, as they were. */
void kn_verify_gaps_end(kn_verifier* v, const kn_recorded* s) {
  if (!list_pairs(v, s)) {
    v->failed = true;
    return;
  }
  sweeps(v, s, &v->after);
  for (int i = 0; i < v->listeds; i++) {
    const kn_listed* l = &v->listed[i];
    double size = fmax(extent(&v->model->geom[l->a].shape), extent(&v->model->geom[l->b].shape)),
           off = gap_error(s, &v->after, l),
           way = 4.0 * (v->grow[l->a] + v->grow[l->b]); /* of the whole step, and there and back */
    bool pushed = s->contact[l->deepest].impulse[0] != 0.0;
    if (pushed) off = fmin(off, fmin(gap_error(s, &v->before, l), gap_error(s, &v->mid, l)));
    kn_plain_gap g;
    bool gone = pushed && kn_plain_gap_of(&g, &v->after, l->a, l->b) && g.gap > v->asked.gtol;
    kn_verifier_report(v, s->step, KN_CHECK_GAP, off, 1e-6 * fmax(size, 0.1) + (gone ? way : 0.0));
  }
  kn_nearby_pairs(v->sweep, &v->after, NULL, left_out, &(search){v, s, &v->after});
}

/* ---- overlaps and ranges after the step ---- */

typedef struct deepest {
  const kn_plain* P;
  double overlap;
} deepest;

static void overlap(void* context, kn_geom a, kn_geom b) {
  deepest* d = context;
  kn_plain_gap g;
  if (kn_plain_gap_of(&g, d->P, a, b)) d->overlap = fmax(d->overlap, -g.gap);
}

void kn_verify_overlaps(kn_verifier* v, const kn_recorded* s) {
  deepest d = {&v->after, 0.0};
  kn_nearby_pairs(v->sweep, &v->after, NULL, overlap, &d);
  double soft = 0.0; /* a compliant contact overlaps by its deformation */
  for (int i = 0; i < s->contacts; i++)
    if (s->contact[i].compliant) soft = fmax(soft, s->contact[i].delta[0]);
  kn_verifier_report(v, s->step, KN_CHECK_OVERLAP, d.overlap,
                     fmax(v->asked.gtol, fmax(s->penetration, soft) + 1e-6) + v->soft.offset);
}

/* How far a joint is beyond its range, m or rad. */
static double beyond(const kn_model* m, kn_joint j, const double* q) {
  const kn_joint_def* d = &m->joint[j];
  int aq, nq, av, nv;
  double worst = 0.0;
  if (!d->limited || kn_model_joint_address(&aq, &nq, &av, &nv, m, j) != KN_OK) return 0.0;
  if (d->type == KN_JOINT_BALL) {
    const double* p = q + aq;
    double s = sqrt(p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
    return fmax(0.0, 2.0 * atan2(s, fabs(p[0])) - d->range[0][1]);
  }
  for (int k = 0; k < nv && nq == nv; k++)
    worst = fmax(worst, fmax(d->range[k][0] - q[aq + k], q[aq + k] - d->range[k][1]));
  return worst;
}

void kn_verify_limits(kn_verifier* v, const kn_recorded* s) {
  for (kn_joint j = 0; j < v->model->njoint; j++) {
    double now = beyond(v->model, j, s->q);
    /* one that starts outside its range comes back over some steps */
    kn_verifier_report(v, s->step, KN_CHECK_LIMIT, now,
                       fmax(v->asked.gtol, 1.000001 * beyond(v->model, j, s->q_before)));
  }
}

bool kn_verify_start_broken(kn_verifier* v, const kn_recorded* s) {
  deepest d = {&v->before, 0.0};
  kn_nearby_pairs(v->sweep, &v->before, NULL, overlap, &d);
  double worst = d.overlap;
  for (kn_joint j = 0; j < v->model->njoint; j++) worst = fmax(worst, beyond(v->model, j, s->q_before));
  return worst > 1e-9; /* what the repair of positions leaves */
}
