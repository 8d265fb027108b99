/* Making a detector: bounding spheres of the geoms, the pairs that may touch (model/model.h), and the room for
   the lists of detect.c. Everything that is allocated is allocated here. */
#include "contact/detect/detector.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/extreme.h"
#include "dynamics/tree/data.h"
#include "model/hull.h"
#include "model/model.h"
#include "spatial/v4.h"

static void bounding_sphere(double centre[3], double* radius, const kn_shape* s) {
  centre[0] = centre[1] = centre[2] = 0.0;
  switch (s->type) {
  case KN_SHAPE_PLANE: *radius = INFINITY; break;
  case KN_SHAPE_SPHERE: *radius = s->size[0]; break;
  case KN_SHAPE_CAPSULE: *radius = s->size[0] + s->size[1]; break;
  case KN_SHAPE_CYLINDER: *radius = sqrt(s->size[0] * s->size[0] + s->size[1] * s->size[1]); break;
  case KN_SHAPE_ELLIPSOID: *radius = kn_max(s->size[0], kn_max(s->size[1], s->size[2])); break;
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

uint64_t kn_contact_key(int a, int b, uint64_t feature) {
  uint64_t x = feature ^ ((uint64_t)(uint32_t)a << 32 | (uint32_t)b) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

kn_geom_pair kn_geom_pair_of(const kn_detector* d, int a, int b) {
  kn_material material;
  kn_material_pair(&material, d->model, a, b);
  kn_geom_pair p = {
      .a = a, .b = b, .margin = kn_margin_pair(d->model, a, b), .mu = material.mu, .e = material.e};
  p.collides = true;
  int condim = kn_condim_pair(d->model, a, b);
  p.friction =
      condim > 1 && material.mu > 0.0 ? kn_friction_rich(&material, condim) ? KN_FRICTION_RICH : 1 : 0;
  p.reach = d->radius[a] + d->radius[b];
  p.key = kn_contact_key(a, b, 0);
  if (d->model->geom[a].shape.type == KN_SHAPE_SPHERE) {
    if (d->model->geom[b].shape.type == KN_SHAPE_SPHERE) p.kind = PAIR_SPHERE_SPHERE;
    if (kn_geom_is_plane(d, b) && d->model->geom_place[b].link < 0) p.kind = PAIR_SPHERE_PLANE;
  }
  return p;
}

/* All pairs that may collide: bounded ones by (a, b), then those with planes by (shape, plane), as the broad
 * phase does. */
static int collect_pairs(kn_geom_pair* out, const kn_detector* d) {
  int n = 0, count = d->model->ngeom;
  for (int planes = 0; planes < 2; planes++)
    for (int a = 0; a < count; a++)
      for (int b = planes ? 0 : a + 1; b < count; b++) {
        if (kn_geom_is_plane(d, a) || kn_geom_is_plane(d, b) != (planes == 1) ||
            !kn_model_collides(d->model, a, b))
          continue;
        if (out) out[n] = kn_geom_pair_of(d, a, b);
        n++;
      }
  return n;
}

static kn_status create_broad(kn_detector* d, int pairs) {
  const kn_model* m = d->model;
  kn_broad_item* item = calloc((size_t)m->ngeom, sizeof *item);
  if (!item) return kn_fail(KN_OUT_OF_MEMORY, "detector: out of memory");
  for (int g = 0; g < m->ngeom;
       g++) { /* the model's filter is applied afterwards: it knows links and explicit pairs */
    item[g] = (kn_broad_item){
        .shape = m->geom[g].shape, .body = m->geom_place[g].link, .contype = 1, .conaffinity = 1};
    item[g].margin = m->geom[g].margin + BROAD_MARGIN;
    if (d->round && kn_geom_is_plane(d, g))
      item[g].contype = item[g].conaffinity = 0; /* looked at one by one */
  }
  kn_broad_def def = {.items = item, .count = m->ngeom, .nbody = m->nlink};
  kn_broad_settings settings = kn_broad_default();
  settings.pair_capacity = 64 * m->ngeom > 4096 ? 64 * m->ngeom : 4096;
  if (settings.pair_capacity < pairs) settings.pair_capacity = pairs;
  kn_status status = kn_broad_create(&d->broad, &def, &settings);
  free(item);
  return status;
}

static bool few_geoms(const kn_detector* d) {
  return d->model->ngeom <= (d->round ? KNOWN_ROUND : KNOWN_GEOMS);
}

static void carve(kn_detector* d, kn_arena* arena, int pairs) {
  int n = d->model->ngeom;
  d->centre = (double(*)[3])kn_arena_take(arena, (size_t)n * sizeof(double[3]));
  d->frame = (double(*)[9])kn_arena_take(arena, (size_t)n * sizeof(double[9]));
  KN_TAKE_EACH(arena, double, n, &d->radius, &d->spent);
  d->now = KN_TAKE(arena, geom_now, n);
  d->moving = KN_TAKE(arena, moving, n);
  d->pairs = KN_TAKE(arena, kn_geom_pair, pairs);
  d->apart = KN_TAKE(arena, kn_separation, d->round ? 0 : pairs);
  d->near = KN_TAKE(arena, int32_t, pairs);
  bool boxed = !few_geoms(d);
  d->pose = KN_TAKE(arena, kn_pose, boxed ? n : 0);
  KN_TAKE_EACH(arena, double, boxed ? 6 * n : 0, &d->velocity, &d->boxes);
  d->skin = KN_TAKE(arena, double, boxed ? n : 0);
  d->planes = KN_TAKE(arena, int32_t, n);
  d->next = KN_TAKE(arena, kn_pair_entry, d->max_entries);
  int planes = 0;
  for (int g = 0; g < n; g++) planes += kn_geom_is_plane(d, g);
  if (!d->round && !boxed) kn_lull_take(&d->lull, arena, d->model, pairs);
  if (d->round && !boxed) kn_sight_take(&d->sight, arena, n - planes, planes);
}

/* Spheres, and planes that stand still. */
static bool all_round(const kn_model* m) {
  for (int g = 0; g < m->ngeom; g++) {
    kn_shape_type type = m->geom[g].shape.type;
    if (type != KN_SHAPE_SPHERE && !(type == KN_SHAPE_PLANE && m->geom_place[g].link < 0)) return false;
  }
  return true;
}

/* What never changes: bounding spheres, and geoms that belong to the world. */
static void place_once(kn_detector* d, int g) {
  const kn_model* m = d->model;
  const kn_pose* at = &m->geom_place[g].in_link;
  double local[3], normal[3] = {at->R[2], at->R[5], at->R[8]};
  bounding_sphere(local, &d->radius[g], &m->geom[g].shape);
  kn_pose_apply(d->centre[g], at, local);
  d->now[g].world = v4_load3(d->centre[g]);
  d->now[g].pose = *at;
  kn_contact_frame(d->frame[g], normal);
  if (kn_geom_is_plane(d, g)) d->planes[d->nplane++] = g;
  if (m->geom_place[g].link < 0) return;
  double r = d->radius[g];
  bool turns = m->geom[g].shape.type != KN_SHAPE_SPHERE && r < INFINITY; /* turning it changes something */
  d->moving[d->nmoving++] = (moving){.centre = d->now[g].world,
                                     .radius = r,
                                     .turn2 = turns ? r * r : 0.0,
                                     .geom = g,
                                     .link = m->geom_place[g].link};
}

/* Circles are the spheres, lines the planes, in the order of the geoms. */
static void fill_sight(kn_detector* d) {
  const kn_model* m = d->model;
  kn_sight* s = &d->sight;
  int32_t place[KNOWN_ROUND];
  int circles = 0, lines = 0;
  s->model = m, s->most_margin = d->most_margin;
  for (int g = 0; g < m->ngeom; g++) {
    place[g] = kn_geom_is_plane(d, g) ? s->count + lines : circles;
    if (kn_geom_is_plane(d, g)) {
      s->plane[lines++] = g;
      continue;
    }
    int k = circles++;
    s->geom[k] = g, s->link[k] = m->geom_place[g].link;
    s->cx[k] = d->centre[g][0], s->cy[k] = d->centre[g][1], s->z[k] = d->centre[g][2];
    s->ball[k] = d->radius[g];
    s->radius[k] = d->radius[g] + 0.5 * d->most_margin + 1e-9;
    s->most_radius = kn_max(s->most_radius, s->radius[k]);
  }
  for (int k = 0; k < d->npair; k++) {
    int a = place[d->pairs[k].a], b = place[d->pairs[k].b];
    s->index[a * (s->count + s->lines) + b] = k;
    if (b < s->count)
      s->allowed[a] |= (uint64_t)1 << b;
    else
      s->beside[b - s->count] |= (uint64_t)1 << a;
  }
}

/* Places for candidates of the broad phase: rarely two for one. */
static int kept_pairs(const kn_model* m) {
  int n = 4096;
  while (n < 32 * m->ngeom && n < 1 << 22) n *= 2;
  return n;
}

/* Nothing is known of the pairs; pairs at the places for candidates are none. */
static void forget_pairs(kn_detector* d) {
  for (int g = 0; g < d->model->ngeom; g++) d->now[g].way = 0.0;
  for (int k = 0; k < d->npair && !d->round; k++) d->apart[k] = (kn_separation){.room = -INFINITY};
  for (int k = 0; k < d->kept; k++) d->pairs[k].a = d->pairs[k].b = -1;
}

/* Everything that comes from the model. */
static void fill(kn_detector* d) {
  const kn_model* m = d->model;
  d->nplane = d->nmoving = d->npair = d->nnear = 0;
  d->slack = -1.0, d->most_margin = d->last_sweep = 0.0;
  for (int g = 0; g < m->ngeom; g++) place_once(d, g);
  if (few_geoms(d)) d->npair = collect_pairs(d->pairs, d);
  forget_pairs(d);
  if (d->lull.then) kn_lull_fill(d);
  for (int g = 0; g < m->ngeom; g++) d->most_margin = kn_max(d->most_margin, 2.0 * m->geom[g].margin);
  if (d->sight.count) fill_sight(d);
}

bool kn_detector_adopt(kn_detector* d, const kn_model* model) {
  const kn_model* old = d->model;
  if (d->broad || model->ngeom != old->ngeom) return false;
  d->model = model;
  if (few_geoms(d) && collect_pairs(NULL, d) != d->most_pairs) {
    d->model = old;
    return false;
  }
  if (d->sight.count) kn_sight_forget(&d->sight);
  fill(d);
  return true;
}

kn_status kn_detector_create(kn_detector** detector, const kn_model* model, int max_contacts, int pairs) {
  *detector = NULL;
  kn_detector* d = calloc(1, sizeof *d);
  if (!d) return kn_fail(KN_OUT_OF_MEMORY, "detector: out of memory");
  d->model = model;
  d->capacity = max_contacts;
  d->round = all_round(model);
  bool few = few_geoms(d);
  int worst = few ? collect_pairs(NULL, d) : d->round ? NEAR_PAIRS * model->ngeom : kept_pairs(model);
  if (!few && d->round && worst < pairs) worst = pairs;
  d->max_entries = few && worst < max_contacts ? worst : max_contacts;
  d->most_pairs = few || d->round ? worst : 0;
  d->kept = few || d->round ? 0 : worst;
  kn_status status;
  KN_ARENA_CARVE(status, &d->arena, carve(d, a, worst));
  if (status != KN_OK) {
    free(d);
    return status;
  }
  fill(d);
  if (!few) status = create_broad(d, pairs);
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

void kn_detector_forget(kn_detector* d) {
  d->slack = d->sight.slack = -1.0;
  d->last_sweep = d->sight.last_sweep = 0.0;
  kn_lull_forget(d);
  forget_pairs(d);
}

int kn_detector_room(const kn_detector* d) {
  kn_broad_stats stats = {0};
  if (d->broad) kn_broad_get_stats(d->broad, &stats);
  return stats.capacity > d->most_pairs ? stats.capacity : d->most_pairs;
}

void kn_detector_wants(int* contacts, int* pairs, const kn_detector* d) {
  *contacts = d->capacity + d->left.contacts;
  *pairs = d->left.pairs ? kn_detector_room(d) + d->left.pairs : 0;
}

int kn_detector_pairs(const kn_detector* d) { return d->max_entries; }
bool kn_detector_in_plane(kn_detector* d, const kn_data* data) { return kn_sight_sees(&d->sight, data); }
double kn_detector_clear(const kn_detector* d) {
  if (d->sight.used) return kn_sight_clear(&d->sight);
  double rest = d->broad ? 0.0 : d->slack - 2.0 * sqrt(d->moved2) - d->most_margin; /* not in the list */
  return kn_min(d->clear, rest);
}

double kn_detector_extent(double centre[3], const kn_detector* d, kn_geom g) {
  kn_copy3(centre, d->centre[g]);
  return d->radius[g];
}

double kn_detector_radius(double centre[3], const kn_detector* d, kn_geom g) {
  kn_copy3(centre, d->centre[g]);
  return d->model->geom[g].shape.type == KN_SHAPE_SPHERE ? 0.0 : d->radius[g];
}

void kn_detector_in_space(kn_detector* d) { d->sight.blind = true; }
