/* The contacts of a step (stages 2 and 4): which pairs are near, then their contact points, in the order of
   detect.h. Called by kn_step and by the event stepper, with the poses of kn_data.

   Pairs that may touch are kept from call to call. A list of near pairs holds while no bounding sphere has
   moved further than the slack it was made with; larger models have the broad phase make it
   (collide/broad), mechanisms in a plane are looked at in their plane (sight.c). Near pairs of spheres and
   planes are written out here; all others go through collide/pair with last call's cache. */
#include "contact/detect/detect.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/extreme.h"
#include "base/isa.h"
#include "collide/broad/broad.h"
#include "collide/distance/distance_piece.h"
#include "contact/detect/detector.h"
#include "dynamics/tree/data.h"
#include "model/model.h"
#include "spatial/v4.h"

/* Which pairs are looked at. All pairs that may ever collide are known (up to KNOWN_GEOMS geoms) or come from
   the broad phase. Of the known ones a list of near pairs is kept (Verlet 1967): bounding spheres closer than
   `slack`, and the shapes themselves if they are not round. It stays complete while no surface point has
   moved so far that a pair outside could have come within reach, 2 moved + reach <= slack. The list only
   leaves out pairs that cannot touch: what is found does not depend on it, and a restored state finds the
   same.

   Many spheres: each geom has a slack of its own, for so many steps at its own speed, and a pair is listed if
   it is closer than both together. The list is complete while every geom has moved by no more than its slack
   less its share of the reach. */

static double square(const double v[3]) { return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]; }

/* Bounding centres of geoms that move, and bounds on their motion. */
static moved place_centres(kn_detector* d, const moving* list, int count) {
  moved most = {0};
  KN_BEST(kn_centres)
  (&most, d->now, list, count, d->data->kin.link, d->horizon, d->round ? NULL : d->spent, d->call);
  return most;
}

static inline double sweep_of(kn_detector* d, int g) {
  geom_now* now = &d->now[g];
  if (!(d->horizon > 0.0) || d->model->geom_place[g].link < 0) return 0.0;
  if (now->stamp_sweep == d->call) return now->sweep;
  now->stamp_sweep = d->call;
  return now->sweep = kn_sweep(now, d->radius[g], d->horizon);
}

/* ---- the near list ---- */

static bool add_near(kn_detector* d, int a, int b) {
  if (!kn_model_collides(d->model, a, b)) return true;
  if (d->npair == d->most_pairs) {
    d->left.pairs++;
    return false;
  }
  d->near[d->nnear++] = d->npair;
  d->pairs[d->npair++] = kn_geom_pair_of(d, a, b);
  return true;
}

static void remember(kn_detector* d, int g) {
  d->now[g].then = d->now[g].world;
  d->now[g].way_then = d->now[g].way;
}

/* ---- the near list of many spheres and planes ---- */

static void remember_all(kn_detector* d) {
  d->nnear = 0;
  for (int g = 0; g < d->model->ngeom; g++) remember(d, g);
}

/* How many pairs the broad phase has no room for, if that is what it says. */
static kn_status broad_status(kn_detector* d, kn_status status) {
  kn_broad_stats stats;
  kn_broad_get_stats(d->broad, &stats);
  if (status == KN_NO_ROOM) d->left.pairs = stats.needed > stats.capacity ? stats.needed - stats.capacity : 1;
  return status;
}

/* Spheres by the broad phase, each grown by its slack, then spheres and planes. */
static kn_status renew_round(kn_detector* d) {
  const kn_broad_pair* list;
  int32_t n;
  int count = d->model->ngeom;
  bool room = true;
  for (int g = 0; g < count; g++)
    for (int i = 0; i < 3; i++) {
      double half = kn_geom_is_plane(d, g) ? 0.0 : d->radius[g] + d->skin[g];
      d->boxes[6 * g + i] = kn_geom_centre(d, g)[i] - half;
      d->boxes[6 * g + 3 + i] = kn_geom_centre(d, g)[i] + half;
    }
  kn_status status = kn_broad_update_boxes(d->broad, d->boxes);
  if (status != KN_OK) return broad_status(d, status);
  kn_broad_pairs(d->broad, &list, &n);
  d->npair = d->left.pairs = 0;
  for (int i = 0; i < n; i++) {
    int a = list[i].a, b = list[i].b;
    double apart[3], far = d->radius[a] + d->radius[b] + d->skin[a] + d->skin[b];
    kn_sub3(apart, kn_geom_centre(d, a), kn_geom_centre(d, b));
    if (square(apart) <= far * far) room &= add_near(d, a, b);
  }
  for (int a = 0; a < count; a++)
    for (int k = 0; k < d->nplane && !kn_geom_is_plane(d, a); k++)
      if (kn_geom_height(d, a, &d->now[d->planes[k]].pose) <= d->radius[a] + d->skin[a])
        room &= add_near(d, a, d->planes[k]);
  return room ? KN_OK : kn_fail(KN_NO_ROOM, "more than %d pairs of spheres are near", d->most_pairs);
}

/* A geom's share of the reach of its pairs. The planes', which stand still, is with the spheres. */
static double share_of(kn_detector* d, int g, double margin) {
  double sweep = d->horizon > 0.0 ? sweep_of(d, g) : 0.0;
  return (d->nplane ? 1.0 : 0.5) * (margin + d->most_margin) + sweep;
}

static bool list_holds(kn_detector* d, double margin) {
  for (int k = 0; k < d->nmoving; k++) {
    int g = d->moving[k].geom;
    double room = d->skin[g] - share_of(d, g, margin);
    kn_v4 way = v4_sub(d->now[g].world, d->now[g].then);
    if (!(room >= 0.0 && v4_dot(way, way) <= room * room)) return false;
  }
  return true;
}

/* For some steps, or when there are too many pairs for this call only. */
static kn_status keep_round(kn_detector* d, double margin) {
  kn_status status = KN_OK;
  if (d->slack >= 0.0 && list_holds(d, margin)) return KN_OK;
  for (int few = 0; few < 2; few++) {
    remember_all(d);
    for (int g = 0; g < d->model->ngeom; g++) {
      d->skin[g] = 1.001 * share_of(d, g, margin);
      if (!few && d->model->geom_place[g].link >= 0) d->skin[g] += NEAR_STEPS * d->now[g].sweep + 5e-4;
    }
    status = renew_round(d);
    d->slack = few ? -1.0 : 0.0;
    if (status != KN_NO_ROOM) return status;
  }
  return status;
}

static void renew_near(kn_detector* d, double slack, double reach) {
  d->slack = slack;
  remember_all(d);
  for (int k = 0; k < d->npair; k++) {
    kn_geom_pair* p = &d->pairs[k];
    if (!(d->round ? kn_spheres_apart(d, p) > slack : kn_pair_apart(d, p, slack, reach)))
      d->near[d->nnear++] = k;
  }
}

/* A list lasts for a dozen steps at the present speed, longer where it can hold only a few pairs. */
static void keep_near(kn_detector* d, moved* m, double margin) {
  if (d->horizon > 0.0) d->last_sweep = d->horizon * (sqrt(m->speed2) + sqrt(m->round2));
  double reach = margin + d->most_margin + (d->horizon > 0.0 ? 2.0 * d->last_sweep : 0.0);
  double left = d->slack - reach;
  if (left >= 0.0 && 4.0 * m->distance2 <= left * left) return;
  m->distance2 = 0.0;
  double steps = d->round && d->npair <= 16 ? 100.0 : 12.0; /* round ones are looked at in no time */
  renew_near(d, 1.001 * reach + 2.0 * steps * d->last_sweep + 1e-3, reach);
}

static __attribute__((noinline)) void enrich(kn_contact* c, const kn_model* m) {
  kn_material k;
  int condim = kn_condim_pair(m, c->geom_a, c->geom_b);
  kn_material_pair(&k, m, c->geom_a, c->geom_b);
  if (k.mu2 > 0.0) c->mu2 = k.mu2;
  if (condim >= 4) c->torsion = k.torsion;
  if (condim >= 6) c->roll = k.roll;
}

/* What later stages fill in, from torsion on, is zero: so many bytes that each store stands by itself. */
static inline __attribute__((always_inline)) void clear_rest(kn_contact* c) {
  typedef double word __attribute__((may_alias));
  typedef double words __attribute__((vector_size(16), aligned(8), may_alias));
  size_t at = offsetof(kn_contact, torsion);
#pragma GCC unroll 64
  for (; at + sizeof(words) <= sizeof *c; at += sizeof(words)) *(words*)((char*)c + at) = (words){0.0, 0.0};
  if (at < sizeof *c) *(word*)((char*)c + at) = 0.0;
}

/* All but its point and frame. */
static kn_contact* new_contact(kn_contact* c, const kn_model* m, const kn_geom_pair* p, uint64_t key,
                               double gap) {
  clear_rest(c);
  c->key = key, c->geom_a = p->a, c->geom_b = p->b, c->island = -1;
  c->body_a = m->geom_place[p->a].body;
  c->body_b = m->geom_place[p->b].body;
  c->gap = gap;
  c->mu = c->mu2 = p->friction ? p->mu : 0.0;
  c->e = p->e;
  if (__builtin_expect(p->friction == KN_FRICTION_RICH, 0)) enrich(c, m);
  return c;
}

static void fill_contact(kn_contact* c, const kn_model* m, const kn_geom_pair* p,
                         const kn_contact_point* point) {
  new_contact(c, m, p, kn_contact_key(p->a, p->b, point->key), point->gap);
  for (int i = 0; i < 3; i++) c->point[i] = 0.5 * (point->on_a[i] + point->on_b[i]);
  kn_contact_frame(c->frame, point->normal);
}

/* Pair order: bounded pairs first, then those with planes; each by (a, b). */
static int compare(const kn_detector* d, const kn_pair_entry* e, const kn_geom_pair* p) {
  int plane = kn_geom_is_plane(d, e->geom_b) - kn_geom_is_plane(d, p->b);
  if (plane) return plane;
  return e->geom_a != p->a ? e->geom_a - p->a : e->geom_b - p->b;
}

/* The cache of a pair, if it touched: entries are in pair order, so one pointer walks along. */
static bool recall(kn_pair_cache* cache, const kn_pair_entry** walk, const kn_pair_entry* end,
                   const kn_detector* d, const kn_geom_pair* p) {
  while (*walk < end && compare(d, *walk, p) < 0) (*walk)++;
  if (*walk < end && compare(d, *walk, p) == 0) {
    *cache = (*walk)->cache;
    return true;
  }
  memset(cache, 0, sizeof *cache);
  return false;
}

typedef struct found {
  kn_contact* contact;
  int* count;
  int entries;
  double margin;
  const kn_pair_entry *walk, *end;
} found;

/* A contact without room: kn_detect says how many there were. */
static kn_status leave(kn_detector* d) {
  d->left.contacts++;
  return KN_OK;
}

/* A sphere at c on a plane that stands still, as kn_manifold_query has it; nothing to remember. */
static inline kn_status touch_plane(found* f, kn_detector* d, const kn_geom_pair* p, double reach,
                                    const double* c) {
  const double *n = d->frame[p->b], *o = d->now[p->b].pose.p;
  double r = d->radius[p->a];
  double gap = n[0] * (c[0] - o[0]) + n[1] * (c[1] - o[1]) + n[2] * (c[2] - o[2]) - r;
  d->clear = kn_min(d->clear, gap - p->margin);
  if (!(gap <= reach)) return KN_OK;
  if (*f->count == d->capacity) return leave(d);
  kn_contact* to = &f->contact[(*f->count)++];
  new_contact(to, d->model, p, p->key, gap);
  for (int i = 0; i < 3; i++) to->point[i] = c[i] - (r + 0.5 * gap) * n[i];
  memcpy(to->frame, n, sizeof to->frame);
  return KN_OK;
}

/* Spheres at a and b. */
static inline kn_status touch_sphere(found* f, kn_detector* d, const kn_geom_pair* p, double reach,
                                     const double* a, const double* b) {
  double n[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]}, far = p->reach + reach, d2 = square(n);
  bool apart = !(d2 <= far * far) || far < 0.0;
  if (apart && (d->broad || d->sight.used)) return KN_OK; /* nobody asks how far */
  double length = sqrt(d2);
  d->clear = kn_min(d->clear, length - p->reach - p->margin);
  if (apart) return KN_OK;
  double gap = length - p->reach, r = d->radius[p->a];
  if (length > 0.0)
    kn_scale3(n, n, 1.0 / length);
  else
    n[2] = 1.0;
  if (*f->count == d->capacity) return leave(d);
  kn_contact* to = &f->contact[(*f->count)++];
  new_contact(to, d->model, p, p->key, gap);
  for (int i = 0; i < 3; i++) to->point[i] = a[i] - (r + 0.5 * gap) * n[i];
  kn_contact_frame(to->frame, n);
  return KN_OK;
}

/* Cylinders and ellipsoids on anything but spheres and planes: where they overlap, all their pieces are searched for the least way
   apart (distance_curved.c). */
static bool searched(const kn_model* m, kn_geom i, kn_geom k) {
  kn_shape_type a = m->geom[i].shape.type, b = m->geom[k].shape.type;
  bool easy = a == KN_SHAPE_SPHERE || b == KN_SHAPE_SPHERE || a == KN_SHAPE_PLANE || b == KN_SHAPE_PLANE;
  return !easy && (a == KN_SHAPE_CYLINDER || a == KN_SHAPE_ELLIPSOID || b == KN_SHAPE_CYLINDER ||
                   b == KN_SHAPE_ELLIPSOID);
}

/* kn_manifold_query, and what its search cost. */
static kn_status query(kn_contact_point point[32], int* points, kn_detector* d, kn_geom a, kn_geom b,
                       const kn_pose* pose_a, const kn_pose* pose_b, double reach, kn_pair_cache* cache) {
  static const double evaluation = 9e2;
  const kn_model* m = d->model;
  int64_t before = kn_piece_work();
  *points = 0;
  if (cache->simplex_count == 3 && searched(m, a, b)) cache->simplex[3][0] = d->trust;
  KN_TRY(kn_manifold_query(point, points, 32, &m->geom[a].shape, pose_a, &m->geom[b].shape, pose_b, reach,
                           cache));
  d->work += evaluation * (double)(kn_piece_work() - before);
  return KN_OK;
}

/* Pairs that had no points in the last search are first asked whether they are still apart. */
static kn_status touch_other(found* f, kn_detector* d, kn_geom_pair* p, double reach) {
  const kn_model* m = d->model;
  kn_pair_cache cache;
  bool known = recall(&cache, &f->walk, f->end, d, p);
  if (known ? kn_bounds_apart(d, p, reach) : kn_pair_apart(d, p, reach, reach)) {
    d->clear = kn_min(d->clear, kn_pair_left(d, p) - p->margin);
    return KN_OK;
  }
  d->clear = kn_min(d->clear, 0.0);
  kn_contact_point point[32];
  int points;
  KN_TRY(query(point, &points, d, p->a, p->b, kn_geom_at(d, p->a), kn_geom_at(d, p->b), reach, &cache));
  if (points && f->entries < d->max_entries) {
    d->next[f->entries].geom_a = p->a;
    d->next[f->entries].geom_b = p->b;
    d->next[f->entries++].cache = cache;
  }
  for (int i = 0; i < points; i++) {
    if (*f->count == d->capacity)
      leave(d);
    else
      fill_contact(&f->contact[(*f->count)++], m, p, &point[i]);
  }
  return KN_OK;
}

static kn_status touch(found* f, kn_detector* d, kn_geom_pair* p) {
  double reach = f->margin + p->margin + sweep_of(d, p->a) + sweep_of(d, p->b);
  if (p->kind == PAIR_SPHERE_PLANE) return touch_plane(f, d, p, reach, kn_geom_centre(d, p->a));
  if (p->kind == PAIR_SPHERE_SPHERE)
    return touch_sphere(f, d, p, reach, kn_geom_centre(d, p->a), kn_geom_centre(d, p->b));
  return touch_other(f, d, p, reach);
}

/* What is left between the shapes of a pair at the end of the horizon, beyond its margin. */
static inline double left_of(const kn_detector* d, const kn_geom_pair* p) {
  return d->apart[p - d->pairs].room - p->margin - (d->spent[p->a] + d->spent[p->b]);
}

/* Is the pair known to be apart until then? */
static inline bool far_apart(kn_detector* d, double left, double margin) {
  if (!(left > margin)) return false;
  d->clear = kn_min(d->clear, left);
  return true;
}

/* Poses of all geoms and velocities at their origins, for the broad phase. */
static void place_all(kn_detector* d) {
  for (int g = 0; g < d->model->ngeom; g++) {
    double *V = d->velocity + 6 * g, arm[3], v[3], link[6];
    d->pose[g] = *kn_geom_at(d, g);
    int at = d->model->geom_place[g].link;
    if (at < 0) continue;
    kn_link_velocity(link, d->data, at);
    kn_sub3(arm, d->pose[g].p, (const double*)&d->data->kin.link[at].o);
    kn_cross3(v, link, arm);
    kn_copy3(V, link);
    kn_add3(V + 3, link + 3, v);
  }
}

/* What the model says about a candidate of the broad phase is looked up once, and kept until another pair
   needs the place. */
static kn_geom_pair* kept_pair(kn_detector* d, int a, int b) {
  uint64_t h = ((uint64_t)(uint32_t)a << 32 | (uint32_t)b) * 0x9e3779b97f4a7c15u;
  kn_geom_pair* p = &d->pairs[h >> 32 & (uint64_t)(d->kept - 1)];
  if (p->a == a && p->b == b) return p;
  *p = kn_geom_pair_of(d, a, b);
  p->collides = kn_model_collides(d->model, a, b);
  d->apart[p - d->pairs] = (kn_separation){.room = -INFINITY};
  return p;
}

static kn_status touch_candidates(found* f, kn_detector* d, double horizon) {
  const kn_broad_pair* list;
  int32_t n;
  place_all(d);
  for (int g = 0; g < d->model->ngeom; g++)
    if (!kn_geom_is_plane(d, g))
      d->broad->margin[g] = d->model->geom[g].margin + kn_max(BROAD_MARGIN, f->margin);
  kn_status status = kn_broad_update(d->broad, d->pose, horizon > 0.0 ? d->velocity : NULL, horizon);
  if (status != KN_OK) return broad_status(d, status);
  kn_broad_pairs(d->broad, &list, &n);
  for (int i = 0; i < n; i++) {
    kn_geom_pair* p = kept_pair(d, list[i].a, list[i].b);
    if (p->collides && !far_apart(d, left_of(d, p), f->margin)) KN_TRY(touch(f, d, p));
  }
  return KN_OK;
}

/* Centre in space of a circle that may touch something. */
static inline kn_v4 circle_in_space(const kn_detector* d, int k) {
  const kn_sight* s = &d->sight;
  const kn_kin* kin = &d->data->kin;
  int geom = s->geom[k], link = s->link[k];
  if (link < 0) return d->now[geom].world;
  if (kin->lean) {
    const kn_v4* e = d->data->layout->link[0].R0;
    return v4_add3(v4_scale(e[0], s->x[k]), v4_scale(e[1], s->y[k]), v4_scale(e[2], s->z[k]));
  }
  return v4_add(v4_mul33s(kin->link[link].R, d->centre[geom]), kin->link[link].o);
}

static kn_status touch_seen(found* f, kn_detector* d) {
  const kn_sight* s = &d->sight;
  const double* sweep = d->horizon > 0.0 ? s->sweep : s->still;
  for (const kn_sight_pair *k = s->near, *end = k + s->nnear; k < end; k++) {
    if (!kn_sight_close(s, k, f->margin)) continue;
    const kn_geom_pair* p = &d->pairs[k->pair];
    kn_v4 a = circle_in_space(d, k->a);
    double reach = f->margin + p->margin + sweep[k->a];
    if (k->b < 0) {
      KN_TRY(touch_plane(f, d, p, reach, (const double*)&a));
      continue;
    }
    kn_v4 b = circle_in_space(d, k->b);
    KN_TRY(touch_sphere(f, d, p, reach + sweep[k->b], (const double*)&a, (const double*)&b));
  }
  return KN_OK;
}

static kn_status look_in_plane(found* f, kn_detector* d, kn_state_block* block) {
  kn_sight_look(&d->sight, d->data, f->margin, d->horizon);
  if (block) block->used = 0; /* nothing of round pairs is remembered */
  return touch_seen(f, d);
}

/* In a lull only the pairs that were close. */
static kn_status look_at_close(found* f, kn_detector* d, double left) {
  const kn_lull* l = &d->lull;
  place_centres(d, l->moving, l->geoms);
  d->clear = left;
  for (int k = 0; k < l->pairs; k++) {
    kn_geom_pair* p = &d->pairs[l->pair[k]];
    if (!far_apart(d, left_of(d, p), f->margin)) KN_TRY(touch(f, d, p));
  }
  return KN_OK;
}

static kn_status look_at_near(found* f, kn_detector* d) {
  if (d->round) {
    for (int k = 0; k < d->nnear; k++) KN_TRY(touch(f, d, &d->pairs[d->near[k]]));
    return KN_OK;
  }
  bool known = !d->broad;
  if (known) kn_lull_begin(d, f->margin);
  for (int k = 0; k < d->nnear; k++) {
    kn_geom_pair* p = &d->pairs[d->near[k]];
    double left = left_of(d, p);
    if (known) kn_lull_pair(d, d->near[k], left);
    if (!far_apart(d, left, f->margin)) KN_TRY(touch(f, d, p));
  }
  if (known) kn_lull_end(d, sqrt(d->moved2));
  return KN_OK;
}

static kn_status look_at_all(found* f, kn_detector* d) {
  moved most = place_centres(d, d->moving, d->nmoving);
  if (most.way > 1e4) kn_detector_forget(d); /* so long that rounding shows: they begin anew */
  if (!d->broad)
    keep_near(d, &most, f->margin);
  else if (d->round)
    KN_TRY(keep_round(d, f->margin));
  d->clear = INFINITY, d->moved2 = most.distance2;
  KN_TRY(look_at_near(f, d));
  return d->broad && !d->round ? touch_candidates(f, d, d->horizon) : KN_OK;
}

static kn_status look_in_space(found* f, kn_detector* d, kn_data* data, kn_state_block* block) {
  f->walk = block ? block->data : NULL;
  f->end = block ? f->walk + block->used / sizeof *f->walk : NULL;
  kn_data_fill(data);
  double left = d->lull.then ? kn_lull_holds(d, f->margin) : -1.0;
  KN_TRY(left >= 0.0 ? look_at_close(f, d, left) : look_at_all(f, d));
  if (block) {
    block->used = (size_t)f->entries * sizeof *d->next;
    memcpy(block->data, d->next, block->used);
  }
  return KN_OK;
}

kn_status kn_detect(kn_contact* contact, int* count, kn_detector* d, kn_data* data, double margin,
                    double horizon, kn_state_block* block) {
  found f = {.contact = contact, .count = count, .margin = margin};
  *count = 0;
  d->data = data;
  d->horizon = horizon;
  d->call++;
  d->left.contacts = d->left.pairs = 0;
  d->sight.used = kn_sight_sees(&d->sight, data);
  kn_status status = d->sight.used ? look_in_plane(&f, d, block) : look_in_space(&f, d, data, block);
  if (__builtin_expect(status != KN_OK || d->left.contacts == 0, 1)) return status;
  return kn_fail(KN_NO_ROOM, "%d contacts are within reach, room for %d", d->capacity + d->left.contacts,
                 d->capacity);
}

double kn_detector_work(kn_detector* d) {
  double work = d->work;
  d->work = 0.0;
  return work;
}

void kn_detector_trust(kn_detector* d, bool trust) { d->trust = trust; }

static void geom_pose(kn_pose* pose, const kn_detector* d, const kn_data* data, int g) {
  const kn_geom_place* place = &d->model->geom_place[g];
  *pose = place->in_link;
  if (place->link < 0) return;
  kn_pose link;
  kn_link_pose(&link, data, place->link);
  *pose = kn_pose_mul(&link, &place->in_link);
}

kn_status kn_detect_pair(kn_contact* contact, int* count, int capacity, kn_detector* d, const kn_data* data,
                         kn_geom a, kn_geom b, double margin, kn_pair_cache* cache) {
  const kn_model* m = d->model;
  kn_contact_point point[32];
  kn_pose pose_a, pose_b;
  int points;
  geom_pose(&pose_a, d, data, a);
  geom_pose(&pose_b, d, data, b);
  *count = 0;
  KN_TRY(query(point, &points, d, a, b, &pose_a, &pose_b, margin, cache));
  if (!points) return KN_OK;
  kn_geom_pair p = kn_geom_pair_of(d, a, b);
  for (int i = 0; i < points && *count < capacity; i++) fill_contact(&contact[(*count)++], m, &p, &point[i]);
  return KN_OK;
}
