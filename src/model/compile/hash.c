/* Hash of everything that influences motion: not names, colours, groups, keyframes, sensors, or named
   frames that no actuator acts on. */
#include "base/hash.h"
#include "model/compile/compile.h"
#include "model/hull.h"
#include "model/trimesh.h"

static uint64_t ints(uint64_t h, const int32_t* x, int n) {
  for (int i = 0; i < n; i++) h = kn_hash_u64(h, (uint64_t)(int64_t)x[i]);
  return h;
}

static uint64_t material(uint64_t h, const kn_material* k) {
  double x[] = {k->mu, k->torsion, k->roll, k->e, k->K, k->C, k->Kt, k->Ct};
  int32_t i[] = {(int32_t)k->law, k->priority};
  if (k->mu2 != 0.0) h = kn_hash_doubles(h, &k->mu2, 1);
  return ints(kn_hash_doubles(h, x, sizeof x / sizeof *x), i, 2);
}

static uint64_t pose(uint64_t h, const kn_pose* X) {
  return kn_hash_doubles(kn_hash_doubles(h, X->R, 9), X->p, 3);
}

static uint64_t link_of(uint64_t h, const kn_link* l) {
  int32_t i[] = {l->parent, l->type, l->q, l->v};
  double x[] = {l->pitch, l->ref, l->mass};
  h = kn_hash_doubles(ints(h, i, 4), x, 3);
  h = kn_hash_doubles(kn_hash_doubles(h, l->R0, 9), l->p0, 3);
  return kn_hash_doubles(kn_hash_doubles(h, l->mc, 3), l->I, 6);
}

static uint64_t shape(uint64_t h, const kn_shape* s) {
  h = kn_hash_doubles(kn_hash_u64(h, (uint64_t)s->type), s->size, 3);
  if (s->type == KN_SHAPE_HULL) {
    size_t n = (size_t)s->hull->nv;
    h = kn_hash_doubles(kn_hash_doubles(kn_hash_doubles(h, s->hull->x, n), s->hull->y, n), s->hull->z, n);
  }
  if (s->type == KN_SHAPE_MESH) {
    h = kn_hash_doubles(h, s->mesh->vertices, 3 * (size_t)s->mesh->nvertex);
    h = ints(h, s->mesh->triangles, 3 * s->mesh->ntriangle);
  }
  return h;
}

static uint64_t geom(uint64_t h, const kn_geom_def* g, const kn_geom_place* p) {
  int32_t i[] = {p->link, p->body, g->condim, (int32_t)g->contype, (int32_t)g->conaffinity};
  h = pose(ints(h, i, 5), &p->in_link);
  h = kn_hash_double(shape(h, &g->shape), g->margin);
  return material(h, &g->material);
}

static uint64_t motion(uint64_t h, const kn_motion* u) {
  return kn_hash_doubles(kn_hash_u64(h, (uint64_t)u->kind), u->c, 6);
}

static uint64_t loop(uint64_t h, const kn_loop_def* l) {
  int32_t i[] = {(int32_t)l->type, l->a, l->b, l->joint1, l->joint2, l->inactive};
  h = kn_hash_doubles(kn_hash_doubles(ints(h, i, 6), l->pos_a, 3), l->quat_a, 4);
  h = kn_hash_doubles(kn_hash_doubles(h, l->pos_b, 3), l->quat_b, 4);
  return motion(kn_hash_doubles(kn_hash_double(h, l->length), l->coef, 5), &l->motion);
}

static uint64_t through_site(uint64_t h, const kn_actuator_def* a, const kn_actuator_place* t) {
  h = kn_hash_doubles(h, a->site_gear, 6);
  h = pose(ints(h, &t->site.link, 1), &t->site.in_link);
  return a->refsite < 0 ? h : pose(ints(h, &t->refsite.link, 1), &t->refsite.in_link);
}

static uint64_t actuator(uint64_t h, const kn_actuator_def* a, const kn_actuator_place* t) {
  if (!t->count) h = through_site(h, a, t);
  h = ints(ints(kn_hash_u64(h, (uint64_t)t->count), t->q, t->count), t->v, t->count);
  h = kn_hash_doubles(kn_hash_double(kn_hash_doubles(h, t->gear, (size_t)t->count), a->gain), a->bias, 3);
  if (a->ctrl_limited) h = kn_hash_doubles(h, a->ctrl_range, 2);
  return a->force_limited ? kn_hash_doubles(h, a->force_range, 2) : h;
}

uint64_t kn_compile_hash(const kn_model* m) {
  int32_t sizes[] = {
      m->nq,    m->nv, m->nu, m->nlink, m->nbody, m->ngeom, m->nloop, m->rules.npair, m->rules.nexclusion,
      m->nlimit};
  uint64_t h = kn_hash_doubles(ints(0x6b6e, sizes, (int)(sizeof sizes / sizeof *sizes)), m->gravity, 3);
  size_t nv = (size_t)m->nv, nq = (size_t)m->nq;
  for (int i = 0; i < m->nlink; i++) h = link_of(h, &m->link[i]);
  for (int i = 0; i < m->nbody; i++) {
    h = pose(ints(h, &m->place[i].link, 1), &m->place[i].in_link);
    h = kn_hash_double(h, m->body[i].gravcomp);
  }
  for (int i = 0; i < m->ngeom; i++) h = geom(h, &m->geom[i], &m->geom_place[i]);
  for (int i = 0; i < m->nu; i++) h = actuator(h, &m->actuator[i], &m->transmission[i]);
  for (int i = 0; i < m->nloop; i++) h = loop(h, &m->loop[i]);
  for (int i = 0; i < m->rules.npair; i++) {
    const kn_pair_def* p = &m->rules.pair[i];
    int32_t k[] = {p->a, p->b, p->condim};
    h = material(kn_hash_double(ints(h, k, 3), p->margin), &p->material);
  }
  for (int i = 0; i < m->rules.nexclusion; i++) h = ints(h, m->rules.exclusion[i], 2);
  for (int i = 0; i < m->nlimit; i++) {
    const kn_limit* l = &m->limit[i];
    int32_t k[] = {l->link, l->q, l->side};
    h = kn_hash_double(ints(h, k, 3), l->bound);
  }
  h = kn_hash_doubles(kn_hash_doubles(h, m->armature, nv), m->damping, nv);
  h = kn_hash_doubles(kn_hash_doubles(h, m->stiffness, nv), m->friction, nv);
  return kn_hash_doubles(kn_hash_doubles(h, m->q_ref, nq), m->q_spring, nq);
}
