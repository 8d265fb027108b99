/* Which geoms may touch and how their surfaces combine, from the definitions and the rules written in
   knuckle/types.h and model/model.h, and a simple sweep over boxes along x that finds the near ones.
   Called by gaps.c, contacts.c and bounces.c; shares nothing with model/material.c or collide/. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/trimesh.h"
#include "record/verify/verify.h"

typedef struct box {
  double lo[3], hi[3];
  kn_geom geom;
} box;

struct kn_nearby {
  const kn_model* model;
  kn_body* carrier; /* nbody: the body that has joints and carries this one rigidly, or KN_WORLD */
  box* box;         /* of the bounded geoms */
  kn_geom* flat;    /* the planes */
  int boxes, flats;
};

static bool has_joint(const kn_model* m, kn_body body) {
  int q, nq, v, nv;
  for (int j = 0; j < m->njoint; j++)
    if (m->joint[j].body == body && kn_model_joint_address(&q, &nq, &v, &nv, m, j) == KN_OK && nv > 0)
      return true;
  return false;
}

kn_status kn_nearby_create(kn_nearby** sweep, const kn_model* m) {
  kn_nearby* s = *sweep = calloc(1, sizeof *s);
  if (!s) return kn_fail(KN_OUT_OF_MEMORY, "no memory to verify %d geoms", m->ngeom);
  s->model = m;
  s->carrier = calloc((size_t)m->nbody + 1, sizeof *s->carrier);
  s->box = calloc((size_t)m->ngeom + 1, sizeof *s->box);
  s->flat = calloc((size_t)m->ngeom + 1, sizeof *s->flat);
  if (!s->carrier || !s->box || !s->flat) {
    kn_nearby_destroy(s);
    *sweep = NULL;
    return kn_fail(KN_OUT_OF_MEMORY, "no memory to verify %d geoms", m->ngeom);
  }
  for (kn_body b = 0; b < m->nbody; b++) {
    kn_body up = m->body[b].parent;
    s->carrier[b] = has_joint(m, b) ? b : up == KN_WORLD ? KN_WORLD : s->carrier[up];
  }
  return KN_OK;
}

void kn_nearby_destroy(kn_nearby* s) {
  if (!s) return;
  free(s->carrier), free(s->box), free(s->flat);
  free(s);
}

static const kn_pair_def* explicit_pair(const kn_model* m, kn_geom a, kn_geom b) {
  for (int i = 0; i < m->rules.npair; i++)
    if ((m->rules.pair[i].a == a && m->rules.pair[i].b == b) ||
        (m->rules.pair[i].a == b && m->rules.pair[i].b == a))
      return &m->rules.pair[i];
  return NULL;
}

static kn_body carrier_of(const kn_nearby* s, kn_body body) {
  return body == KN_WORLD ? KN_WORLD : s->carrier[body];
}

/* Body x hangs on y by its own joints; children of what is fixed to the world do touch it. */
static bool child_of(const kn_nearby* s, kn_body x, kn_body y) {
  return x != KN_WORLD && y != KN_WORLD && carrier_of(s, s->model->body[x].parent) == y;
}

bool kn_may_collide(const kn_nearby* s, kn_geom a, kn_geom b) {
  const kn_model* m = s->model;
  const kn_geom_def *g = &m->geom[a], *h = &m->geom[b];
  kn_body x = carrier_of(s, g->body), y = carrier_of(s, h->body);
  if (x == y) return false;
  if (explicit_pair(m, a, b)) return true;
  if (!(g->contype & h->conaffinity) && !(h->contype & g->conaffinity)) return false;
  if (child_of(s, x, y) || child_of(s, y, x)) return false;
  for (int i = 0; i < m->rules.nexclusion; i++) {
    const kn_body* e = m->rules.exclusion[i];
    if ((e[0] == g->body && e[1] == h->body) || (e[0] == h->body && e[1] == g->body)) return false;
  }
  return true;
}

/* condim 1: no friction; 3: along the surfaces; 4: and torsion; 6: and rolling. Where mu is zero or holds everything,
   friction has nothing but mu. */
static kn_surface surface(int condim, double mu, double mu2, double torsion, double roll, double e) {
  kn_surface x = {.mu = condim > 1 ? mu : 0.0, .e = e};
  x.mu2 = x.mu;
  if (!(x.mu > 0.0) || !isfinite(x.mu)) return x;
  if (mu2 > 0.0) x.mu2 = mu2;
  if (condim >= 4) x.torsion = torsion;
  if (condim >= 6) x.roll = roll;
  return x;
}

kn_surface kn_surface_of(const kn_nearby* s, kn_geom a, kn_geom b) {
  const kn_model* m = s->model;
  const kn_pair_def* pair = explicit_pair(m, a, b);
  const kn_material* k = pair ? &pair->material : NULL;
  if (pair) return surface(pair->condim, k->mu, k->mu2, k->torsion, k->roll, k->e);
  const kn_geom_def *g = &m->geom[a], *h = &m->geom[b];
  double e = g->material.e > h->material.e ? g->material.e : h->material.e;
  if (g->material.priority != h->material.priority) {
    const kn_geom_def* first = g->material.priority > h->material.priority ? g : h;
    k = &first->material;
    return surface(first->condim, k->mu, 0.0, k->torsion, k->roll, e);
  }
  int condim = g->condim > h->condim ? g->condim : h->condim;
  k = &g->material;
  const kn_material* l = &h->material;
  return surface(condim, fmax(k->mu, l->mu), 0.0, fmax(k->torsion, l->torsion), fmax(k->roll, l->roll), e);
}

/* ---- near pairs ---- */

static void bounds(box* out, const kn_shape* shape, const kn_pose* pose, double grow) {
  for (int i = 0; i < 3; i++) {
    double n[3] = {0, 0, 0};
    n[i] = 1.0;
    if (shape->type != KN_SHAPE_MESH) {
      out->hi[i] = kn_plain_reach(shape, pose, n) + grow;
      n[i] = -1.0;
      out->lo[i] = -kn_plain_reach(shape, pose, n) - grow;
      continue;
    }
    double middle = pose->p[i], half = 0.0;
    for (int k = 0; k < 3; k++) {
      double R = pose->R[3 * i + k];
      middle += 0.5 * R * (shape->mesh->lo[k] + shape->mesh->hi[k]);
      half += 0.5 * fabs(R) * (shape->mesh->hi[k] - shape->mesh->lo[k]);
    }
    out->lo[i] = middle - half - grow, out->hi[i] = middle + half + grow;
  }
}

static int by_low(const void* a, const void* b) {
  const box *x = a, *y = b;
  if (x->lo[0] != y->lo[0]) return x->lo[0] < y->lo[0] ? -1 : 1;
  return (x->geom > y->geom) - (x->geom < y->geom);
}

static void meet_planes(const kn_nearby* s, const kn_plain* p, const box* at, double grow, kn_pair_fn fn,
                        void* context) {
  for (int k = 0; k < s->flats; k++) {
    kn_pose plane, pose;
    if (!kn_may_collide(s, at->geom, s->flat[k])) continue;
    kn_plain_geom(&plane, p, s->flat[k]);
    kn_plain_geom(&pose, p, at->geom);
    double down[3] = {-plane.R[2], -plane.R[5], -plane.R[8]}, far = 0.0;
    for (int i = 0; i < 3; i++) far += down[i] * plane.p[i];
    double low = kn_plain_reach(&s->model->geom[at->geom].shape, &pose, down);
    if (low - far + grow >= 0.0) fn(context, at->geom, s->flat[k]);
  }
}

void kn_nearby_pairs(kn_nearby* s, const kn_plain* p, const double* grow, kn_pair_fn fn, void* context) {
  const kn_model* m = s->model;
  s->boxes = s->flats = 0;
  for (kn_geom g = 0; g < m->ngeom; g++) {
    kn_pose pose;
    if (m->geom[g].shape.type == KN_SHAPE_PLANE) {
      s->flat[s->flats++] = g;
      continue;
    }
    kn_plain_geom(&pose, p, g);
    s->box[s->boxes].geom = g;
    bounds(&s->box[s->boxes++], &m->geom[g].shape, &pose, grow ? grow[g] : 0.0);
  }
  for (int i = 0; i < s->boxes; i++)
    meet_planes(s, p, &s->box[i], grow ? grow[s->box[i].geom] : 0.0, fn, context);
  qsort(s->box, (size_t)s->boxes, sizeof *s->box, by_low);
  for (int i = 0; i < s->boxes; i++)
    for (int k = i + 1; k < s->boxes && s->box[k].lo[0] <= s->box[i].hi[0]; k++) {
      const box *a = &s->box[i], *b = &s->box[k];
      if (a->lo[1] > b->hi[1] || b->lo[1] > a->hi[1] || a->lo[2] > b->hi[2] || b->lo[2] > a->hi[2]) continue;
      kn_geom first = a->geom < b->geom ? a->geom : b->geom, second = a->geom < b->geom ? b->geom : a->geom;
      if (kn_may_collide(s, first, second)) fn(context, first, second);
    }
}
