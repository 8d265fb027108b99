/* Position repair of heaps of spheres. Every body is a sphere about its centre of mass, free, so that a
   normal pushes nothing but centres:

     min ½ Σ m_k |d_k|²   s.t.  n·(d_a - d_b) >= -gap,

   by over-relaxed sweeps on the multipliers (Christopherson 1941) that carry the shifts d of the bodies along
   instead of a matrix, until no overlap is larger than `enough`; then the gaps are taken anew from the
   centres. Planes that stand still are the other partners. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/isa.h"

#include "dynamics/tree/data.h"
#include "spatial/v4.h"
#include "step/repair/project_round.h"
#include "step/sim.h"

static const double most = 1e-7;   /* m: overlaps that may stay, as kn_stage_project has it for heaps */
static const double enough = 4e-8; /* m: what sweeps leave; gaps bend by the square of the shifts */
enum { SWEEPS = 100, ROUNDS = 6, LOOKS = 2 };

static bool lone_sphere(const kn_model* m, int link) {
  const kn_link* l = &m->link[link];
  double off = kn_max(fabs(l->mc[0]), kn_max(fabs(l->mc[1]), fabs(l->mc[2])));
  for (int k = 0; k < 3; k++)
    if (m->armature[l->v + k] != 0.0) return false;
  return l->parent < 0 && l->end == link + 1 && l->type == KN_LINK_FREE && l->mass > 0.0 &&
         off <= 1e-15 * l->mass;
}

bool kn_round_heap(const kn_model* m) {
  if (m->nlimit || m->nloop) return false;
  for (int i = 0; i < m->nlink; i++)
    if (!lone_sphere(m, i)) return false;
  for (int g = 0; g < m->ngeom; g++) {
    const double* p = m->geom_place[g].in_link.p;
    bool moves = m->geom_place[g].link >= 0, centred = p[0] == 0.0 && p[1] == 0.0 && p[2] == 0.0;
    kn_shape_type type = m->geom[g].shape.type;
    if (!(type == KN_SHAPE_SPHERE && moves && centred) && !(type == KN_SHAPE_PLANE && !moves)) return false;
  }
  return true;
}

void kn_round_carve(kn_round* r, kn_arena* arena, const kn_model* m, int contacts) {
  r->row = KN_TAKE(arena, kn_round_row, contacts);
  r->shift = KN_TAKE(arena, kn_v4, m->nlink + 1);
  r->weight = KN_TAKE(arena, double, m->nlink + 1);
  kn_round_weigh(r, m);
}

void kn_round_weigh(kn_round* r, const kn_model* m) {
  for (int i = 0; i < m->nlink && r->weight; i++) r->weight[i] = 1.0 / m->link[i].mass;
}

/* The world, link nlink, does not move. */
static void fill(kn_round_row* row, const kn_round* r, const kn_model* m, const kn_contact* c, int index) {
  int a = m->geom_place[c->geom_a].link, b = m->geom_place[c->geom_b].link;
  *row = (kn_round_row){.n = v4_load3(c->frame), .gap = c->gap, .contact = index};
  row->a = a < 0 ? m->nlink : a, row->b = b < 0 ? m->nlink : b;
  row->wa = r->weight[row->a], row->wb = r->weight[row->b];
  row->inverse = 1.0 / (row->wa + row->wb);
}

/* Contacts come sorted by their bodies. Swept in this order each would wait for the one before it, which has
   a body in common; taken from eight places in turn they seldom have. Gaps far larger than the overlaps come
   last and are not swept. Returns the rows that are. */
static int fill_all(kn_sim* s) {
  enum { PLACES = 8 };
  int n = s->touch.afters, part = (n + PLACES - 1) / PLACES, rows = 0, last = n;
  double far = 8.0 * s->report.penetration + 1e-7;
  for (int k = 0; k < part; k++)
    for (int i = k; i < n; i += part)
      fill(&s->repair.round.row[s->touch.after[i].gap > far ? --last : rows++], &s->repair.round, s->model,
           &s->touch.after[i], i);
  return rows;
}

/* Gaps and normals at the new centres; the overlap that is left. */
static double renew(kn_sim* s, const double* q) {
  const kn_model* m = s->model;
  kn_round* r = &s->repair.round;
  double deepest = 0.0;
  for (int i = 0; i < s->touch.afters; i++) {
    kn_round_row* k = &r->row[i];
    kn_contact* c = &s->touch.after[k->contact];
    if (k->a < m->nlink && k->b < m->nlink) {
      kn_v4 d = v4_sub(v4_load3(q + m->link[k->a].q), v4_load3(q + m->link[k->b].q));
      double length = sqrt(v4_dot(d, d));
      k->gap = length - (m->geom[c->geom_a].shape.size[0] + m->geom[c->geom_b].shape.size[0]);
      if (length > 0.0) k->n = v4_scale(d, 1.0 / length);
    } else {
      k->gap += v4_dot(k->n, v4_sub(r->shift[k->a], r->shift[k->b]));
    }
    k->push = 0.0;
    c->gap = k->gap;
    deepest = kn_max(deepest, -k->gap);
  }
  return deepest;
}

/* One correction of q; returns the farthest way, m, negative when it is too far to be one. */
static double correct(kn_sim* s, double* q, int rows) {
  const kn_model* m = s->model;
  kn_round* r = &s->repair.round;
  double largest = 0.0;
  memset(r->shift, 0, (size_t)(m->nlink + 1) * sizeof *r->shift);
  __typeof__(&kn_round_sweep_base) sweep = KN_BEST(kn_round_sweep);
  for (int k = 0; k < SWEEPS && sweep(r, rows) > enough; k++) continue;
  for (int i = 0; i < m->nlink; i++) largest = kn_max(largest, v4_dot(r->shift[i], r->shift[i]));
  largest = sqrt(largest);
  if (largest > 0.5) return -1.0;
  for (int i = 0; i < m->nlink; i++) {
    const double* d = (const double*)&r->shift[i];
    double* at = q + m->link[i].q;
    for (int k = 0; k < 3; k++) at[k] += d[k], s->repair.shift[m->link[i].v + k] += d[k];
    s->data->kin.link[i].o = s->data->kin.link[i].r = v4_load3(at); /* as kn_dyn_position would */
  }
  s->report.penetration = renew(s, q);
  s->report.correction += largest;
  return largest;
}

/* From the contacts in s->touch.after, all that are closer than 5 gtol: no others can be hit as long as
   nobody goes farther than half of it, else all are looked for again. */
kn_status kn_round_repair(kn_sim* s, kn_flow* f, double* q, double t, double* worst) {
  for (int look = 0; look < LOOKS && s->report.penetration > most; look++) {
    double way = 0.0, moved = 0.0, before = INFINITY;
    int rows = fill_all(s);
    for (int k = 0; k < ROUNDS && s->report.penetration > most && s->report.penetration < 0.9 * before; k++) {
      before = s->report.penetration;
      moved = correct(s, q, rows);
      if (moved < 0.0) break;
      way += moved, rows = s->touch.afters;
    }
    if (way > 2.5 * s->settings.gtol) {
      KN_TRY(kn_stage_look(s, f, q, t, worst));
      continue;
    }
    break;
  }
  *worst = s->report.penetration;
  return KN_OK;
}
