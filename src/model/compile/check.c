/* Checks that need the links: what moves, and what moves as one. */
#include <math.h>

#include "base/error.h"
#include "base/extreme.h"
#include "model/compile/compile.h"
#include "spatial/spatial.h"

static int link_of(const kn_model* m, kn_body b) { return b == KN_WORLD ? -1 : m->place[b].link; }

static kn_status check_geom(const kn_model* m, int g) {
  const kn_geom_def* d = &m->geom[g];
  kn_who who = {"geom", g, d->name};
  if (m->geom_place[g].link < 0) return KN_OK;
  if (d->shape.type == KN_SHAPE_PLANE)
    return kn_refuse(&who,
                     "a plane has no end and may be only on the world or a body fixed to it, but body '%s' "
                     "moves; use a box",
                     m->body[d->body].name);
  if (d->shape.type == KN_SHAPE_MESH)
    return kn_refuse(&who, "a triangle mesh is static scenery, but body '%s' moves; use its convex hull",
                     m->body[d->body].name);
  return KN_OK;
}

static kn_status check_loop(const kn_model* m, int i) {
  const kn_loop_def* d = &m->loop[i];
  kn_who who = {"loop", i, d->name};
  if (d->type == KN_LOOP_COUPLING) return KN_OK;
  if (link_of(m, d->a) == link_of(m, d->b))
    return kn_refuse(&who, "bodies '%s' and '%s' are fixed to each other, so the loop joins nothing",
                     kn_body_name(m, d->a), kn_body_name(m, d->b));
  if (d->type == KN_LOOP_DISTANCE && !(d->length > 0.0))
    return kn_refuse(&who,
                     "the two points coincide at the reference position; to join them use a connect loop");
  return KN_OK;
}

static kn_status check_pair(const kn_model* m, int i) {
  const kn_pair_def* d = &m->rules.pair[i];
  kn_who who = {"pair", i, d->name};
  if (m->geom_place[d->a].link != m->geom_place[d->b].link) return KN_OK;
  return kn_refuse(&who, "the bodies of geoms %d and %d are fixed to each other, so they can never touch",
                   d->a, d->b);
}

/* Quaternions in keyframes become unit. */
static kn_status check_key(const kn_model* m, int i) {
  kn_keyframe_def* k = &m->key[i];
  kn_who who = {"keyframe", i, k->name};
  for (int l = 0; l < m->nlink && k->q; l++) {
    int type = m->link[l].type;
    if (type != KN_LINK_BALL && type != KN_LINK_FREE) continue;
    double* q = (double*)(uintptr_t)k->q + m->link[l].q + (type == KN_LINK_FREE ? 3 : 0);
    KN_TRY(kn_check_quat(&who, "rotation in q", q));
    kn_quat_unit(q);
  }
  return KN_OK;
}

/* Finite definitions whose products overflow. */
static kn_status check_sizes(const kn_model* m) {
  for (int i = 0; i < m->nlink; i++) {
    const kn_link* l = &m->link[i];
    kn_who who = {"joint", l->joint, m->joint[l->joint].name};
    if (!kn_all_finite(l->R0, 9) || !kn_all_finite(l->p0, 3) || !kn_all_finite(l->I, 6) ||
        !kn_all_finite(l->mc, 3) || !isfinite(l->mass))
      return kn_refuse(&who,
                       "the positions or inertias of the bodies it moves are too large for numbers to hold");
  }
  for (int b = 0; b < m->nbody; b++) {
    kn_who who = {"body", b, m->body[b].name};
    if (!kn_all_finite(m->place[b].in_link.p, 3) || !kn_all_finite(m->body[b].inertia, 6))
      return kn_refuse(&who, "its position or inertia is too large for numbers to hold");
  }
  for (int g = 0; g < m->ngeom; g++) {
    kn_who who = {"geom", g, m->geom[g].name};
    if (!kn_all_finite(m->geom_place[g].in_link.p, 3))
      return kn_refuse(&who, "its position is too large for numbers to hold");
  }
  for (int i = 0; i < m->nloop; i++) {
    kn_who who = {"loop", i, m->loop[i].name};
    if (!kn_all_finite(m->loop[i].pos_b, 3) || !isfinite(m->loop[i].length))
      return kn_refuse(&who, "its anchors are too far apart for numbers to hold");
  }
  return KN_OK;
}

kn_status kn_compile_check(const kn_model* m) {
  KN_TRY(check_sizes(m));
  for (int i = 0; i < m->ngeom; i++) KN_TRY(check_geom(m, i));
  for (int i = 0; i < m->nloop; i++) KN_TRY(check_loop(m, i));
  for (int i = 0; i < m->rules.npair; i++) KN_TRY(check_pair(m, i));
  for (int i = 0; i < m->nkey; i++) KN_TRY(check_key(m, i));
  return KN_OK;
}
