#include "contact/detect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collide/hull.h"
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

struct kn_detector {
  kn_arena arena;
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

/* Pairs are kept when the filters let them collide and at least one of them moves. */
static int collect_pairs(pair* out, const kn_detector* d) {
  const kn_model* m = d->model;
  int n = 0;
  for (int a = 0; a < m->ngeom; a++)
    for (int b = a + 1; b < m->ngeom; b++) {
      if (m->geom_place[a].link == m->geom_place[b].link || !kn_model_collides(m, a, b)) continue;
      if (!isfinite(d->radius[a]) && !isfinite(d->radius[b]) &&
          m->geom[a].shape.type == m->geom[b].shape.type)
        continue;
      if (out) {
        kn_material material;
        kn_material_pair(&material, m, a, b);
        out[n] = (pair){.a = a, .b = b, .margin = kn_margin_pair(m, a, b)};
        out[n].friction = kn_condim_pair(m, a, b) > 1 && material.mu > 0.0;
        out[n].reach = d->radius[a] + d->radius[b];
        out[n].mu = material.mu;
        out[n].e = material.e;
      }
      n++;
    }
  return n;
}

static void carve(kn_detector* d, kn_arena* arena, int pairs) {
  int n = d->model->ngeom;
  d->centre = (double(*)[3])kn_arena_take(arena, (size_t)n * sizeof(double[3]));
  d->world = (double(*)[3])kn_arena_take(arena, (size_t)n * sizeof(double[3]));
  d->radius = KN_TAKE(arena, double, n);
  d->sweep = KN_TAKE(arena, double, n);
  d->pose = KN_TAKE(arena, kn_pose, n);
  d->pairs = KN_TAKE(arena, pair, pairs);
  d->next = KN_TAKE(arena, kn_pair_entry, d->max_entries);
}

kn_status kn_detector_create(kn_detector** detector, const kn_model* model, int max_contacts) {
  *detector = NULL;
  kn_detector* d = calloc(1, sizeof *d);
  if (!d) return kn_fail(KN_OUT_OF_MEMORY, "detector: out of memory");
  d->model = model;
  d->capacity = max_contacts;
  int worst = model->ngeom * (model->ngeom - 1) / 2;
  d->max_entries = worst < max_contacts ? worst : max_contacts;
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
  d->npair = collect_pairs(NULL, d);
  collect_pairs(d->pairs, d);
  *detector = d;
  return KN_OK;
}

void kn_detector_destroy(kn_detector* d) {
  if (!d) return;
  kn_arena_destroy(&d->arena);
  free(d);
}

int kn_detector_pairs(const kn_detector* d) { return d->max_entries; }
int kn_detector_candidates(const kn_detector* d) { return d->candidates; }

/* Speed bound of a geom's surface: its bounding centre's speed plus |ω| times the radius. */
static double speed(const kn_detector* d, const kn_data* data, int g, const kn_pose* pose) {
  double V[6], arm[3], v[3];
  kn_link_velocity(V, data, d->model->geom_place[g].link);
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
  int plane = isfinite(d->radius[p->a]) ? p->b : p->a, other = p->a + p->b - plane;
  if (d->model->geom[plane].shape.type != KN_SHAPE_PLANE) return true;
  const kn_pose* f = &d->pose[plane];
  double height = 0.0;
  for (int i = 0; i < 3; i++) height += f->R[3 * i + 2] * (d->world[other][i] - f->p[i]);
  return height <= d->radius[other] + margin;
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

/* The cache of a pair: entries are in pair order, so one pointer walks along. */
static void recall(kn_pair_cache* cache, const kn_pair_entry** walk, const kn_pair_entry* end,
                   const pair* p) {
  while (*walk < end && ((*walk)->geom_a < p->a || ((*walk)->geom_a == p->a && (*walk)->geom_b < p->b)))
    (*walk)++;
  if (*walk < end && (*walk)->geom_a == p->a && (*walk)->geom_b == p->b)
    *cache = (*walk)->cache;
  else
    memset(cache, 0, sizeof *cache);
}

kn_status kn_detect(kn_contact* contact, int* count, kn_detector* d, const kn_data* data, double margin,
                    double horizon, kn_state_block* block) {
  const kn_model* m = d->model;
  const kn_pair_entry* walk = block ? block->data : NULL;
  const kn_pair_entry* end = block ? walk + block->used / sizeof *walk : NULL;
  kn_status status = KN_OK;
  int entries = 0;
  *count = 0;
  d->candidates = 0;
  place_geoms(d, data, horizon);
  for (int k = 0; k < d->npair; k++) {
    const pair* p = &d->pairs[k];
    double reach = margin + p->margin + d->sweep[p->a] + d->sweep[p->b];
    if (!near(d, p, reach)) continue;
    d->candidates++;
    kn_contact_point point[32];
    kn_pair_cache cache;
    int points = 0;
    recall(&cache, &walk, end, p);
    KN_TRY(kn_manifold_query(point, &points, 32, &m->geom[p->a].shape, &d->pose[p->a], &m->geom[p->b].shape,
                             &d->pose[p->b], reach, &cache));
    if (points && entries < d->max_entries) {
      d->next[entries].geom_a = p->a;
      d->next[entries].geom_b = p->b;
      d->next[entries++].cache = cache;
    }
    for (int i = 0; i < points; i++) {
      if (*count == d->capacity) {
        status = kn_fail(KN_NO_ROOM, "more than %d contacts: raise max_contacts", d->capacity);
        break;
      }
      fill_contact(&contact[(*count)++], m, p, &point[i]);
    }
  }
  if (block) {
    block->used = (size_t)entries * sizeof *d->next;
    memcpy(block->data, d->next, block->used);
  }
  return status;
}
