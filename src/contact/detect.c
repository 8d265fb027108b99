#include "contact/detect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collide/hull.h"
#include "knuckle/broad.h"
#include "model/material.h"
#include "spatial/spatial.h"

/* A geom pair that may ever touch, with everything the loop needs. */
typedef struct pair {
  int32_t a, b;
  int32_t friction; /* friction directions: 0 for condim 1 */
  double reach;     /* sum of bounding radii plus margins, or infinity for a plane */
  double margin;    /* of the geoms, m */
  double mu, e;
} pair;

/* Up to this many geoms every pair that may collide is looked at; beyond it the broad phase finds candidates.
 */
enum { FEW_GEOMS = 24 };

struct kn_detector {
  kn_arena arena;
  kn_broad* broad;  /* NULL with few geoms */
  double* velocity; /* 6 ngeom, with the broad phase */
  const kn_model* model;
  int npair, capacity, candidates, max_entries;
  pair* pairs;
  double (*centre)[3]; /* ngeom: bounding sphere centre in the link frame */
  double* radius;      /* ngeom; infinity for planes */
  kn_pose* pose;       /* ngeom: present world poses */
  double (*world)[3];  /* ngeom: present world centres */
  double* sweep;       /* ngeom: how far a surface point can move within the horizon */
  kn_pair_entry* next; /* caches of the pairs found touching in this call */
};

static void bounding_sphere(double centre[3], double* radius, const kn_shape* s) {
  centre[0] = centre[1] = centre[2] = 0.0;
  switch (s->type) {
  case KN_SHAPE_PLANE: *radius = INFINITY; break;
  case KN_SHAPE_SPHERE: *radius = s->size[0]; break;
  case KN_SHAPE_CAPSULE: *radius = s->size[0] + s->size[1]; break;
  case KN_SHAPE_CYLINDER: *radius = sqrt(s->size[0] * s->size[0] + s->size[1] * s->size[1]); break;
  case KN_SHAPE_ELLIPSOID: *radius = fmax(s->size[0], fmax(s->size[1], s->size[2])); break;
  case KN_SHAPE_BOX:
    *radius = sqrt(s->size[0] * s->size[0] + s->size[1] * s->size[1] + s->size[2] * s->size[2]);
    break;
  case KN_SHAPE_HULL:
    memcpy(centre, s->hull->centroid, sizeof s->hull->centroid);
    *radius = s->hull->radius;
    break;
  default: *radius = INFINITY;
  }
}

static bool is_plane(const kn_detector* d, int g) { return d->model->geom[g].shape.type == KN_SHAPE_PLANE; }

static pair make_pair(const kn_detector* d, int a, int b) {
  kn_material material;
  kn_material_pair(&material, d->model, a, b);
  pair p = {.a = a, .b = b, .margin = kn_margin_pair(d->model, a, b), .mu = material.mu, .e = material.e};
  p.friction = kn_condim_pair(d->model, a, b) > 1 && material.mu > 0.0;
  p.reach = d->radius[a] + d->radius[b];
  return p;
}

/* All pairs that may collide: bounded ones by (a, b), then those with planes by (shape, plane), as the broad
 * phase does. */
static int collect_pairs(pair* out, const kn_detector* d) {
  int n = 0, count = d->model->ngeom;
  for (int planes = 0; planes < 2; planes++)
    for (int a = 0; a < count; a++)
      for (int b = planes ? 0 : a + 1; b < count; b++) {
        if (is_plane(d, a) || is_plane(d, b) != (planes == 1) || !kn_model_collides(d->model, a, b)) continue;
        if (out) out[n] = make_pair(d, a, b);
        n++;
      }
  return n;
}

static kn_status create_broad(kn_detector* d) {
  const kn_model* m = d->model;
  kn_broad_item* item = calloc((size_t)m->ngeom, sizeof *item);
  if (!item) return kn_fail(KN_OUT_OF_MEMORY, "detector: out of memory");
  for (int g = 0; g < m->ngeom;
       g++) { /* the model's filter is applied afterwards: it knows links and explicit pairs */
    item[g] = (kn_broad_item){
        .shape = m->geom[g].shape, .body = m->geom_place[g].link, .contype = 1, .conaffinity = 1};
    item[g].margin = m->geom[g].margin + 1e-3;
  }
  kn_broad_def def = {.items = item, .count = m->ngeom, .nbody = m->nlink};
  kn_broad_settings settings = kn_broad_default();
  settings.pair_capacity = 64 * m->ngeom > 4096 ? 64 * m->ngeom : 4096;
  kn_status status = kn_broad_create(&d->broad, &def, &settings);
  free(item);
  return status;
}

static void carve(kn_detector* d, kn_arena* arena, int pairs) {
  int n = d->model->ngeom;
  d->centre = (double(*)[3])kn_arena_take(arena, (size_t)n * sizeof(double[3]));
  d->world = (double(*)[3])kn_arena_take(arena, (size_t)n * sizeof(double[3]));
  d->radius = KN_TAKE(arena, double, n);
  d->sweep = KN_TAKE(arena, double, n);
  d->pose = KN_TAKE(arena, kn_pose, n);
  d->pairs = KN_TAKE(arena, pair, pairs);
  d->velocity = KN_TAKE(arena, double, pairs ? 0 : 6 * n);
  d->next = KN_TAKE(arena, kn_pair_entry, d->max_entries);
}

kn_status kn_detector_create(kn_detector** detector, const kn_model* model, int max_contacts) {
  *detector = NULL;
  kn_detector* d = calloc(1, sizeof *d);
  if (!d) return kn_fail(KN_OUT_OF_MEMORY, "detector: out of memory");
  d->model = model;
  d->capacity = max_contacts;
  int worst = model->ngeom <= FEW_GEOMS ? model->ngeom * (model->ngeom - 1) / 2 : 0;
  d->max_entries = worst && worst < max_contacts ? worst : max_contacts;
  kn_arena measure = {0};
  carve(d, &measure, worst);
  kn_status status = kn_arena_create(&d->arena, measure.used);
  if (status != KN_OK) {
    free(d);
    return status;
  }
  carve(d, &d->arena, worst);
  for (int g = 0; g < model->ngeom; g++) {
    double local[3];
    bounding_sphere(local, &d->radius[g], &model->geom[g].shape);
    kn_pose_apply(d->centre[g], &model->geom_place[g].in_link, local);
  }
  if (worst)
    d->npair = collect_pairs(d->pairs, d);
  else if (model->ngeom > 1)
    status = create_broad(d);
  if (status != KN_OK)
    kn_detector_destroy(d);
  else
    *detector = d;
  return status;
}

void kn_detector_destroy(kn_detector* d) {
  if (!d) return;
  kn_broad_destroy(d->broad);
  kn_arena_destroy(&d->arena);
  free(d);
}

int kn_detector_pairs(const kn_detector* d) { return d->max_entries; }
int kn_detector_candidates(const kn_detector* d) { return d->candidates; }

/* Speed bound of a geom's surface: its bounding centre's speed plus |ω| times the radius. */
static double speed(kn_detector* d, const kn_data* data, int g, const kn_pose* pose) {
  double V[6], arm[3], v[3];
  kn_link_velocity(V, data, d->model->geom_place[g].link);
  if (d->broad) {
    kn_copy3(d->velocity + 6 * g, V);
    kn_sub3(arm, d->pose[g].p, pose->p);
    kn_cross3(v, V, arm);
    kn_add3(d->velocity + 6 * g + 3, V + 3, v);
  }
  kn_sub3(arm, d->world[g], pose->p);
  kn_cross3(v, V, arm);
  kn_add3(v, v, V + 3);
  return kn_norm3(v) + (isfinite(d->radius[g]) ? kn_norm3(V) * d->radius[g] : 0.0);
}

static void place_geoms(kn_detector* d, const kn_data* data, double horizon) {
  const kn_model* m = d->model;
  for (int g = 0; g < m->ngeom; g++) {
    int link = m->geom_place[g].link;
    d->sweep[g] = 0.0;
    if (link < 0) {
      d->pose[g] = m->geom_place[g].in_link;
      kn_copy3(d->world[g], d->centre[g]);
      continue;
    }
    kn_pose pose;
    kn_link_pose(&pose, data, link);
    kn_pose_mul(&d->pose[g], &pose, &m->geom_place[g].in_link);
    kn_pose_apply(d->world[g], &pose, d->centre[g]);
    if (horizon > 0.0) d->sweep[g] = horizon * speed(d, data, g, &pose);
  }
}

/* Bounds test: spheres against spheres, spheres against half-spaces. */
static bool near(const kn_detector* d, const pair* p, double margin) {
  double dx[3];
  for (int i = 0; i < 3; i++) dx[i] = d->world[p->a][i] - d->world[p->b][i];
  if (isfinite(p->reach)) {
    double r = p->reach + margin;
    return dx[0] * dx[0] + dx[1] * dx[1] + dx[2] * dx[2] <= r * r;
  }
  if (!is_plane(d, p->b)) return true;
  const kn_pose* f = &d->pose[p->b];
  double height = 0.0;
  for (int i = 0; i < 3; i++) height += f->R[3 * i + 2] * (d->world[p->a][i] - f->p[i]);
  return height <= d->radius[p->a] + margin;
}

static uint64_t contact_key(int a, int b, uint64_t feature) {
  uint64_t x = feature ^ ((uint64_t)(uint32_t)a << 32 | (uint32_t)b) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* Tangents by a fixed rule from the normal: t1 is perpendicular to the axis of the normal's smallest
 * component. */
static void contact_frame(double frame[9], const double n[3]) {
  double ax = fabs(n[0]), ay = fabs(n[1]), az = fabs(n[2]);
  double e[3] = {0.0, 0.0, 0.0};
  e[ax <= ay && ax <= az ? 0 : ay <= az ? 1 : 2] = 1.0;
  kn_copy3(frame, n);
  kn_cross3(frame + 3, n, e);
  kn_normalize3(frame + 3, frame + 3);
  kn_cross3(frame + 6, n, frame + 3);
}

static void fill_contact(kn_contact* c, const kn_model* m, const pair* p, const kn_contact_point* point) {
  *c = (kn_contact){.key = contact_key(p->a, p->b, point->key), .geom_a = p->a, .geom_b = p->b, .island = -1};
  c->body_a = m->geom_place[p->a].body;
  c->body_b = m->geom_place[p->b].body;
  for (int i = 0; i < 3; i++) c->point[i] = 0.5 * (point->on_a[i] + point->on_b[i]);
  contact_frame(c->frame, point->normal);
  c->gap = point->gap;
  c->mu = p->friction ? p->mu : 0.0;
  c->e = p->e;
}

/* Pair order: bounded pairs first, then those with planes; each by (a, b). */
static int compare(const kn_detector* d, const kn_pair_entry* e, const pair* p) {
  int plane = is_plane(d, e->geom_b) - is_plane(d, p->b);
  if (plane) return plane;
  return e->geom_a != p->a ? e->geom_a - p->a : e->geom_b - p->b;
}

/* The cache of a pair: entries are in pair order, so one pointer walks along. */
static void recall(kn_pair_cache* cache, const kn_pair_entry** walk, const kn_pair_entry* end,
                   const kn_detector* d, const pair* p) {
  while (*walk < end && compare(d, *walk, p) < 0) (*walk)++;
  if (*walk < end && compare(d, *walk, p) == 0)
    *cache = (*walk)->cache;
  else
    memset(cache, 0, sizeof *cache);
}

typedef struct found {
  kn_contact* contact;
  int* count;
  int entries;
  double margin;
  const kn_pair_entry *walk, *end;
} found;

static kn_status touch(found* f, kn_detector* d, const pair* p) {
  const kn_model* m = d->model;
  double reach = f->margin + p->margin + d->sweep[p->a] + d->sweep[p->b];
  if (!near(d, p, reach)) return KN_OK;
  d->candidates++;
  kn_contact_point point[32];
  kn_pair_cache cache;
  int points = 0;
  recall(&cache, &f->walk, f->end, d, p);
  KN_TRY(kn_manifold_query(point, &points, 32, &m->geom[p->a].shape, &d->pose[p->a], &m->geom[p->b].shape,
                           &d->pose[p->b], reach, &cache));
  if (points && f->entries < d->max_entries) {
    d->next[f->entries].geom_a = p->a;
    d->next[f->entries].geom_b = p->b;
    d->next[f->entries++].cache = cache;
  }
  for (int i = 0; i < points; i++) {
    if (*f->count == d->capacity)
      return kn_fail(KN_NO_ROOM, "more than %d contacts: raise max_contacts", d->capacity);
    fill_contact(&f->contact[(*f->count)++], m, p, &point[i]);
  }
  return KN_OK;
}

static kn_status touch_candidates(found* f, kn_detector* d, double horizon) {
  const kn_broad_pair* list;
  int32_t n;
  kn_status room = KN_OK;
  KN_TRY(kn_broad_update(d->broad, d->pose, horizon > 0.0 ? d->velocity : NULL, horizon));
  kn_broad_pairs(d->broad, &list, &n);
  for (int i = 0; i < n; i++) {
    if (!kn_model_collides(d->model, list[i].a, list[i].b)) continue;
    pair p = make_pair(d, list[i].a, list[i].b);
    kn_status status = touch(f, d, &p);
    if (status == KN_NO_ROOM)
      room = status;
    else if (status != KN_OK)
      return status;
  }
  return room;
}

kn_status kn_detect(kn_contact* contact, int* count, kn_detector* d, const kn_data* data, double margin,
                    double horizon, kn_state_block* block) {
  found f = {.contact = contact, .count = count, .margin = margin};
  f.walk = block ? block->data : NULL;
  f.end = block ? f.walk + block->used / sizeof *f.walk : NULL;
  kn_status room = KN_OK;
  *count = 0;
  d->candidates = 0;
  place_geoms(d, data, horizon);
  for (int k = 0; k < d->npair && room == KN_OK; k++) {
    kn_status status = touch(&f, d, &d->pairs[k]);
    if (status == KN_NO_ROOM)
      room = status;
    else if (status != KN_OK)
      return status;
  }
  if (d->broad) {
    kn_status status = touch_candidates(&f, d, horizon);
    if (status == KN_NO_ROOM)
      room = status;
    else if (status != KN_OK)
      return status;
  }
  if (block) {
    block->used = (size_t)f.entries * sizeof *d->next;
    memcpy(block->data, d->next, block->used);
  }
  return room;
}
