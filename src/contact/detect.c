#include "contact/detect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/extreme.h"
#include "collide/hull.h"
#include "contact/centres.h"
#include "contact/sight.h"
#include "dynamics/data.h"
#include "knuckle/broad.h"
#include "model/material.h"
#include "spatial/spatial.h"
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

typedef enum pair_kind { PAIR_OTHER, PAIR_SPHERE_PLANE, PAIR_SPHERE_SPHERE } pair_kind;

/* A geom pair that may ever touch, with everything the loop needs. */
typedef struct pair {
  int32_t a, b;
  int32_t friction; /* friction directions: 0 for condim 1 */
  pair_kind kind;
  double reach;  /* sum of bounding radii, or infinity for a plane */
  double margin; /* of the geoms, m */
  double mu, e;
  uint64_t key; /* of round pairs, which have one contact */
} pair;

/* Up to this many geoms every pair that may collide is known; beyond it the broad phase finds candidates. If
   all are spheres and planes, those candidates become the near list (at most so many pairs per geom). */
enum { KNOWN_GEOMS = 64, NEAR_PAIRS = 32, NEAR_STEPS = 8 };

struct kn_detector {
  kn_arena arena;
  kn_broad* broad; /* NULL with few geoms */
  bool round;      /* spheres and planes only: with the broad phase, pairs are those of the near list */
  double* boxes;   /* 6 ngeom, round */
  double* skin;    /* ngeom: slack of its own, with the broad phase */
  int32_t* planes; /* nplane */
  int nplane;
  double* velocity; /* 6 ngeom, with the broad phase */
  const kn_model* model;
  int npair, nnear, most_pairs, capacity, candidates, max_entries;
  int64_t call; /* counts the calls, for stamps */
  pair* pairs;
  int32_t* near;       /* indices in pairs, ascending */
  double slack;        /* of the near list; negative: there is none */
  double most_margin;  /* of the pairs */
  double last_sweep;   /* largest sweep bound of the last call with a horizon */
  double clear;        /* no pair of the list was closer than its margin and this in the last call */
  double moved2;       /* square of the largest way since the list was made */
  double (*centre)[3]; /* ngeom: bounding sphere centre in the link frame */
  double* radius;      /* ngeom; infinity for planes */
  bool* ball;          /* ngeom: turning it changes nothing */
  double (*frame)[9];  /* ngeom: contact frame of a plane's normal, if it stands still */
  geom_now* now;       /* ngeom */
  moving* moving;      /* geoms that move, ascending */
  int nmoving;
  kn_pose* pose;       /* ngeom, with the broad phase */
  kn_pair_entry* next; /* caches of the pairs found touching in this call */
  const kn_data* data; /* of the call under way */
  bool plain;          /* spheres' contacts have a normal and a gap only */
  double horizon;
  kn_sight sight; /* round and few: of mechanisms in a plane */
  bool seen;      /* the last call was in the plane */
};

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

static bool is_plane(const kn_detector* d, int g) { return d->model->geom[g].shape.type == KN_SHAPE_PLANE; }

static uint64_t contact_key(int a, int b, uint64_t feature) {
  uint64_t x = feature ^ ((uint64_t)(uint32_t)a << 32 | (uint32_t)b) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static pair make_pair(const kn_detector* d, int a, int b) {
  kn_material material;
  kn_material_pair(&material, d->model, a, b);
  pair p = {.a = a, .b = b, .margin = kn_margin_pair(d->model, a, b), .mu = material.mu, .e = material.e};
  p.friction = kn_condim_pair(d->model, a, b) > 1 && material.mu > 0.0;
  p.reach = d->radius[a] + d->radius[b];
  p.key = contact_key(a, b, 0);
  if (d->model->geom[a].shape.type == KN_SHAPE_SPHERE) {
    if (d->model->geom[b].shape.type == KN_SHAPE_SPHERE) p.kind = PAIR_SPHERE_SPHERE;
    if (is_plane(d, b) && d->model->geom_place[b].link < 0) p.kind = PAIR_SPHERE_PLANE;
  }
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
    if (d->round && is_plane(d, g)) item[g].contype = item[g].conaffinity = 0; /* looked at one by one */
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
  d->frame = (double(*)[9])kn_arena_take(arena, (size_t)n * sizeof(double[9]));
  d->radius = KN_TAKE(arena, double, n);
  d->ball = KN_TAKE(arena, bool, n);
  d->now = KN_TAKE(arena, geom_now, n);
  d->moving = KN_TAKE(arena, moving, n);
  d->pairs = KN_TAKE(arena, pair, pairs);
  d->near = KN_TAKE(arena, int32_t, pairs);
  bool boxed = n > KNOWN_GEOMS;
  d->pose = KN_TAKE(arena, kn_pose, boxed ? n : 0);
  d->velocity = KN_TAKE(arena, double, boxed ? 6 * n : 0);
  d->boxes = KN_TAKE(arena, double, boxed ? 6 * n : 0);
  d->skin = KN_TAKE(arena, double, boxed ? n : 0);
  d->planes = KN_TAKE(arena, int32_t, n);
  d->next = KN_TAKE(arena, kn_pair_entry, d->max_entries);
  int planes = 0;
  for (int g = 0; g < n; g++) planes += is_plane(d, g);
  if (d->round && !boxed) kn_sight_take(&d->sight, arena, n - planes, planes);
}

static void contact_frame(double frame[9], const double n[3]);

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
  d->ball[g] = m->geom[g].shape.type == KN_SHAPE_SPHERE;
  kn_pose_apply(d->centre[g], at, local);
  d->now[g].world = v4_load3(d->centre[g]);
  d->now[g].pose = *at;
  contact_frame(d->frame[g], normal);
  if (is_plane(d, g)) d->planes[d->nplane++] = g;
  if (m->geom_place[g].link < 0) return;
  double r = d->radius[g];
  d->moving[d->nmoving++] = (moving){.centre = d->now[g].world,
                                     .radius = r,
                                     .turn2 = d->ball[g] || !(r < INFINITY) ? 0.0 : r * r,
                                     .geom = g,
                                     .link = m->geom_place[g].link};
}

/* Circles are the spheres, lines the planes, in the order of the geoms. */
static void fill_sight(kn_detector* d) {
  const kn_model* m = d->model;
  kn_sight* s = &d->sight;
  int32_t place[KNOWN_GEOMS];
  int circles = 0, lines = 0;
  s->model = m, s->most_margin = d->most_margin;
  for (int g = 0; g < m->ngeom; g++) {
    place[g] = is_plane(d, g) ? s->count + lines : circles;
    if (is_plane(d, g)) {
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

kn_status kn_detector_create(kn_detector** detector, const kn_model* model, int max_contacts) {
  *detector = NULL;
  kn_detector* d = calloc(1, sizeof *d);
  if (!d) return kn_fail(KN_OUT_OF_MEMORY, "detector: out of memory");
  d->model = model;
  d->capacity = max_contacts;
  d->slack = -1.0;
  bool few = model->ngeom <= KNOWN_GEOMS;
  d->round = all_round(model);
  int worst = few ? model->ngeom * (model->ngeom - 1) / 2 : d->round ? NEAR_PAIRS * model->ngeom : 0;
  d->max_entries = few && worst < max_contacts ? worst : max_contacts;
  d->most_pairs = worst;
  kn_arena measure = {0};
  carve(d, &measure, worst);
  kn_status status = kn_arena_create(&d->arena, measure.used);
  if (status != KN_OK) {
    free(d);
    return status;
  }
  carve(d, &d->arena, worst);
  for (int g = 0; g < model->ngeom; g++) place_once(d, g);
  if (few)
    d->npair = collect_pairs(d->pairs, d);
  else
    status = create_broad(d);
  for (int g = 0; g < model->ngeom; g++) d->most_margin = kn_max(d->most_margin, 2.0 * model->geom[g].margin);
  if (d->sight.count) fill_sight(d);
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
void kn_detector_plain(kn_detector* d, bool plain) { d->plain = plain; }
int kn_detector_candidates(const kn_detector* d) { return d->candidates; }
bool kn_detector_in_plane(kn_detector* d, const kn_data* data) { return kn_sight_sees(&d->sight, data); }
double kn_detector_clear(const kn_detector* d) {
  if (d->seen) return kn_sight_clear(&d->sight);
  double rest = d->broad ? 0.0 : d->slack - 2.0 * sqrt(d->moved2) - d->most_margin; /* not in the list */
  return kn_min(d->clear, rest);
}

/* ---- geoms at the present poses ---- */

/* Bounding centre of a geom. */
static inline const double* centre_of(const kn_detector* d, int g) { return (const double*)&d->now[g].world; }

static double square(const double v[3]) { return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]; }

/* Bounding centres of all geoms that move, and bounds on their motion. */
static moved place_centres(kn_detector* d) {
#if defined(__x86_64__)
  static const kn_centres_fn variant[] = {kn_centres_base, kn_centres_avx2, kn_centres_avx512};
  kn_centres_fn place = variant[kn_cpu_level()];
#else
  kn_centres_fn place = kn_centres_base;
#endif
  moved most = {0};
  place(&most, d->now, d->moving, d->nmoving, d->data->kin.link, d->horizon > 0.0);
  return most;
}

/* Speed bound of a geom's surface: its bounding centre's speed plus |ω| times the radius. */
static double sweep_of(kn_detector* d, int g) {
  geom_now* now = &d->now[g];
  if (!(d->horizon > 0.0) || d->model->geom_place[g].link < 0) return 0.0;
  if (now->stamp_sweep == d->call) return now->sweep;
  double r = d->radius[g];
  now->stamp_sweep = d->call;
  now->sweep = d->horizon * (sqrt(now->speed2) + (r < INFINITY ? sqrt(now->spin2) * r : 0.0));
  return now->sweep;
}

static const kn_pose* pose_of(kn_detector* d, int g) {
  geom_now* now = &d->now[g];
  if (now->stamp == d->call) return &now->pose;
  const kn_shape* shape = &d->model->geom[g].shape;
  int link = d->model->geom_place[g].link;
  now->stamp = d->call;
  if (link >= 0) {
    kn_pose pose;
    kn_link_pose(&pose, d->data, link);
    kn_pose_mul(&now->pose, &pose, &d->model->geom_place[g].in_link);
  }
  const double* R = now->pose.R;
  for (int i = 0; i < 3; i++) {
    now->half[i] = d->radius[g];
    if (shape->type == KN_SHAPE_BOX)
      now->half[i] = fabs(R[3 * i]) * shape->size[0] + fabs(R[3 * i + 1]) * shape->size[1] +
                     fabs(R[3 * i + 2]) * shape->size[2];
  }
  return &now->pose;
}

/* ---- bounds ---- */

/* Height of the bounding centre over a plane. */
static double height(const kn_detector* d, int g, const kn_pose* plane) {
  const double* c = centre_of(d, g);
  double sum = 0.0;
  for (int i = 0; i < 3; i++) sum += plane->R[3 * i + 2] * (c[i] - plane->p[i]);
  return sum;
}

/* Spheres against spheres, spheres against half-spaces. */
static bool within(kn_detector* d, const pair* p, double margin) {
  const double *a = centre_of(d, p->a), *b = centre_of(d, p->b);
  if (p->reach < INFINITY) {
    double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2], r = p->reach + margin;
    return x * x + y * y + z * z <= r * r;
  }
  if (!is_plane(d, p->b)) return true;
  return height(d, p->a, pose_of(d, p->b)) <= d->radius[p->a] + margin;
}

/* Distance of the bounding spheres, or of a sphere and a half-space. */
static double bounds_apart(kn_detector* d, const pair* p) {
  double n[3];
  if (p->reach < INFINITY) {
    kn_sub3(n, centre_of(d, p->a), centre_of(d, p->b));
    return sqrt(square(n)) - p->reach;
  }
  return is_plane(d, p->b) ? height(d, p->a, pose_of(d, p->b)) - d->radius[p->a] : 0.0;
}

/* Boxes along the world's axes; only boxes have better ones than their sphere's. */
static bool boxes_meet(kn_detector* d, const pair* p, double margin) {
  if (!(p->reach < INFINITY)) return true;
  pose_of(d, p->a), pose_of(d, p->b);
  const geom_now *a = &d->now[p->a], *b = &d->now[p->b];
  const double *x = centre_of(d, p->a), *y = centre_of(d, p->b);
  bool meet = true;
  for (int i = 0; i < 3; i++) meet &= fabs(x[i] - y[i]) <= a->half[i] + b->half[i] + margin;
  return meet;
}

/* ---- the near list ---- */

static bool add_near(kn_detector* d, int a, int b) {
  if (!kn_model_collides(d->model, a, b)) return true;
  if (d->npair == d->most_pairs) return false;
  d->near[d->nnear++] = d->npair;
  d->pairs[d->npair++] = make_pair(d, a, b);
  return true;
}

static void remember(kn_detector* d, int g) {
  int link = d->model->geom_place[g].link;
  d->now[g].then = d->now[g].world;
  if (link < 0) return;
  for (int j = 0; j < 3; j++) d->now[g].turn_then[j] = d->data->kin.link[link].R[j];
}

/* Shapes that are not round: by their boxes, then by their distance. */
static bool clearly_apart(kn_detector* d, const pair* p, double slack) {
  kn_distance_result at;
  if (p->kind != PAIR_OTHER) return false;
  if (!boxes_meet(d, p, slack)) return true;
  const kn_shape *a = &d->model->geom[p->a].shape, *b = &d->model->geom[p->b].shape;
  return kn_distance(&at, a, pose_of(d, p->a), b, pose_of(d, p->b), NULL) == KN_OK && at.gap > slack;
}

/* ---- the near list of many spheres and planes ---- */

static void remember_all(kn_detector* d) {
  d->nnear = 0;
  for (int g = 0; g < d->model->ngeom; g++) remember(d, g);
}

/* Spheres by the broad phase, each grown by its slack, then spheres and planes. */
static kn_status renew_round(kn_detector* d) {
  const kn_broad_pair* list;
  int32_t n;
  int count = d->model->ngeom;
  bool room = true;
  for (int g = 0; g < count; g++)
    for (int i = 0; i < 3; i++) {
      double half = is_plane(d, g) ? 0.0 : d->radius[g] + d->skin[g];
      d->boxes[6 * g + i] = centre_of(d, g)[i] - half;
      d->boxes[6 * g + 3 + i] = centre_of(d, g)[i] + half;
    }
  KN_TRY(kn_broad_update_boxes(d->broad, d->boxes));
  kn_broad_pairs(d->broad, &list, &n);
  d->npair = 0;
  for (int i = 0; i < n; i++) {
    int a = list[i].a, b = list[i].b;
    double apart[3], far = d->radius[a] + d->radius[b] + d->skin[a] + d->skin[b];
    kn_sub3(apart, centre_of(d, a), centre_of(d, b));
    if (square(apart) <= far * far) room &= add_near(d, a, b);
  }
  for (int a = 0; a < count; a++)
    for (int k = 0; k < d->nplane && !is_plane(d, a); k++)
      if (height(d, a, &d->now[d->planes[k]].pose) <= d->radius[a] + d->skin[a])
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

static void renew_near(kn_detector* d, double slack) {
  d->slack = slack;
  remember_all(d);
  for (int k = 0; k < d->npair; k++) {
    const pair* p = &d->pairs[k];
    bool moving_plane = is_plane(d, p->b) && d->model->geom_place[p->b].link >= 0;
    if (moving_plane || (within(d, p, slack) && !clearly_apart(d, p, slack))) d->near[d->nnear++] = k;
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
  renew_near(d, 1.001 * reach + 2.0 * steps * d->last_sweep + 1e-3);
}

/* Tangents by a fixed rule from the normal: t1 is perpendicular to the axis of the normal's smallest
 * component. */
static void contact_frame(double frame[9], const double n[3]) {
  double ax = fabs(n[0]), ay = fabs(n[1]), az = fabs(n[2]), *t = frame + 3, least;
  kn_copy3(frame, n);
  if (ax <= ay && ax <= az) /* n x that axis; as a vector in memory it would be waited for */
    t[0] = 0.0, t[1] = n[2], t[2] = -n[1], least = ax;
  else if (ay <= az)
    t[0] = -n[2], t[1] = 0.0, t[2] = n[0], least = ay;
  else
    t[0] = n[1], t[1] = -n[0], t[2] = 0.0, least = az;
  if (least != 0.0) kn_normalize3(t, t); /* else as long as n, as in motions in a plane */
  kn_cross3(frame + 6, n, t);
}

static kn_contact* new_contact(kn_contact* c, const kn_model* m, const pair* p, uint64_t key, double gap) {
  *c = (kn_contact){.key = key, .geom_a = p->a, .geom_b = p->b, .island = -1};
  c->body_a = m->geom_place[p->a].body;
  c->body_b = m->geom_place[p->b].body;
  c->gap = gap;
  c->mu = p->friction ? p->mu : 0.0;
  c->e = p->e;
  return c;
}

static void fill_contact(kn_contact* c, const kn_model* m, const pair* p, const kn_contact_point* point) {
  new_contact(c, m, p, contact_key(p->a, p->b, point->key), point->gap);
  for (int i = 0; i < 3; i++) c->point[i] = 0.5 * (point->on_a[i] + point->on_b[i]);
  contact_frame(c->frame, point->normal);
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

static kn_status no_room(const kn_detector* d) {
  return kn_fail(KN_NO_ROOM, "more than %d contacts: raise max_contacts", d->capacity);
}

/* What kn_detector_plain leaves of a contact. */
static void plain_contact(kn_contact* c, const pair* p, double gap, const double n[3]) {
  c->key = p->key;
  c->geom_a = p->a, c->geom_b = p->b;
  c->gap = gap;
  kn_copy3(c->frame, n);
}

/* A sphere at c on a plane that stands still, as kn_manifold_query has it; nothing to remember. */
static inline kn_status touch_plane(found* f, kn_detector* d, const pair* p, double reach, const double* c) {
  const double *n = d->frame[p->b], *o = d->now[p->b].pose.p;
  double r = d->radius[p->a];
  double gap = n[0] * (c[0] - o[0]) + n[1] * (c[1] - o[1]) + n[2] * (c[2] - o[2]) - r;
  d->clear = kn_min(d->clear, gap - p->margin);
  if (!(gap <= reach)) return KN_OK;
  d->candidates++;
  if (*f->count == d->capacity) return no_room(d);
  kn_contact* to = &f->contact[(*f->count)++];
  if (d->plain) {
    plain_contact(to, p, gap, n);
    return KN_OK;
  }
  new_contact(to, d->model, p, p->key, gap);
  for (int i = 0; i < 3; i++) to->point[i] = c[i] - (r + 0.5 * gap) * n[i];
  memcpy(to->frame, n, sizeof to->frame);
  return KN_OK;
}

/* Spheres at a and b. */
static inline kn_status touch_sphere(found* f, kn_detector* d, const pair* p, double reach, const double* a,
                                     const double* b) {
  double n[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]}, far = p->reach + reach, d2 = square(n);
  bool apart = !(d2 <= far * far) || far < 0.0;
  if (apart && (d->broad || d->seen)) return KN_OK; /* nobody asks how far */
  double length = sqrt(d2);
  d->clear = kn_min(d->clear, length - p->reach - p->margin);
  if (apart) return KN_OK;
  d->candidates++;
  double gap = length - p->reach, r = d->radius[p->a];
  if (length > 0.0)
    kn_scale3(n, n, 1.0 / length);
  else
    n[2] = 1.0;
  if (*f->count == d->capacity) return no_room(d);
  kn_contact* to = &f->contact[(*f->count)++];
  if (d->plain) {
    plain_contact(to, p, gap, n);
    return KN_OK;
  }
  new_contact(to, d->model, p, p->key, gap);
  for (int i = 0; i < 3; i++) to->point[i] = a[i] - (r + 0.5 * gap) * n[i];
  contact_frame(to->frame, n);
  return KN_OK;
}

static kn_status touch_other(found* f, kn_detector* d, const pair* p, double reach) {
  const kn_model* m = d->model;
  bool near = within(d, p, reach);
  d->clear = kn_min(d->clear, near ? 0.0 : bounds_apart(d, p) - p->margin);
  if (!near || !boxes_meet(d, p, reach)) return KN_OK;
  d->candidates++;
  kn_contact_point point[32];
  kn_pair_cache cache;
  int points = 0;
  recall(&cache, &f->walk, f->end, d, p);
  KN_TRY(kn_manifold_query(point, &points, 32, &m->geom[p->a].shape, pose_of(d, p->a), &m->geom[p->b].shape,
                           pose_of(d, p->b), reach, &cache));
  if (points && f->entries < d->max_entries) {
    d->next[f->entries].geom_a = p->a;
    d->next[f->entries].geom_b = p->b;
    d->next[f->entries++].cache = cache;
  }
  for (int i = 0; i < points; i++) {
    if (*f->count == d->capacity) return no_room(d);
    fill_contact(&f->contact[(*f->count)++], m, p, &point[i]);
  }
  return KN_OK;
}

static kn_status touch(found* f, kn_detector* d, const pair* p) {
  double reach = f->margin + p->margin + sweep_of(d, p->a) + sweep_of(d, p->b);
  if (p->kind == PAIR_SPHERE_PLANE) return touch_plane(f, d, p, reach, centre_of(d, p->a));
  if (p->kind == PAIR_SPHERE_SPHERE)
    return touch_sphere(f, d, p, reach, centre_of(d, p->a), centre_of(d, p->b));
  return touch_other(f, d, p, reach);
}

/* Poses of all geoms and velocities at their origins, for the broad phase. */
static void place_all(kn_detector* d) {
  for (int g = 0; g < d->model->ngeom; g++) {
    double *V = d->velocity + 6 * g, arm[3], v[3], link[6];
    d->pose[g] = *pose_of(d, g);
    int at = d->model->geom_place[g].link;
    if (at < 0) continue;
    kn_link_velocity(link, d->data, at);
    kn_sub3(arm, d->pose[g].p, (const double*)&d->data->kin.link[at].o);
    kn_cross3(v, link, arm);
    kn_copy3(V, link);
    kn_add3(V + 3, link + 3, v);
  }
}

static kn_status touch_candidates(found* f, kn_detector* d, double horizon) {
  const kn_broad_pair* list;
  int32_t n;
  kn_status room = KN_OK;
  place_all(d);
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
    const pair* p = &d->pairs[k->pair];
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

static kn_status look_in_space(found* f, kn_detector* d, kn_data* data, kn_state_block* block) {
  f->walk = block ? block->data : NULL;
  f->end = block ? f->walk + block->used / sizeof *f->walk : NULL;
  kn_status room = KN_OK;
  kn_data_fill(data);
  moved most = place_centres(d);
  if (!d->broad)
    keep_near(d, &most, f->margin);
  else if (d->round)
    KN_TRY(keep_round(d, f->margin));
  d->clear = INFINITY, d->moved2 = most.distance2;
  for (int k = 0; k < d->nnear && room == KN_OK; k++) {
    kn_status status = touch(f, d, &d->pairs[d->near[k]]);
    if (status == KN_NO_ROOM)
      room = status;
    else if (status != KN_OK)
      return status;
  }
  if (d->broad && !d->round) {
    kn_status status = touch_candidates(f, d, d->horizon);
    if (status == KN_NO_ROOM)
      room = status;
    else if (status != KN_OK)
      return status;
  }
  if (block) {
    block->used = (size_t)f->entries * sizeof *d->next;
    memcpy(block->data, d->next, block->used);
  }
  return room;
}

kn_status kn_detect(kn_contact* contact, int* count, kn_detector* d, kn_data* data, double margin,
                    double horizon, kn_state_block* block) {
  found f = {.contact = contact, .count = count, .margin = margin};
  *count = 0;
  d->candidates = 0;
  d->data = data;
  d->horizon = horizon;
  d->call++;
  d->seen = kn_sight_sees(&d->sight, data);
  return d->seen ? look_in_plane(&f, d, block) : look_in_space(&f, d, data, block);
}

bool kn_detect_gaps(kn_contact* contact, int count, kn_detector* d, kn_data* data, double margin) {
  kn_sight* s = &d->sight;
  if (!d->seen || !data->kin.lean) return false;
  kn_sight_look(s, data, margin, 0.0);
  int seen = 0;
  for (const kn_sight_pair *p = s->near, *end = p + s->nnear; p < end; p++) {
    if (!kn_sight_close(s, p, margin)) continue;
    const pair* of = &d->pairs[p->pair];
    double x = s->x[p->a], y = s->y[p->a], gap;
    if (p->b < 0) {
      const kn_sight_line* l = &s->line[~p->b];
      gap = ((x * l->nx + y * l->ny) - l->off) - d->radius[of->a];
    } else {
      double dx = x - s->x[p->b], dy = y - s->y[p->b], dz = s->z[p->a] - s->z[p->b];
      gap = sqrt(dx * dx + dy * dy + dz * dz) - of->reach;
    }
    if (!(gap <= margin + of->margin)) continue;
    if (seen == count || contact[seen].key != of->key) return false;
    contact[seen++].gap = gap;
  }
  return seen == count;
}

static void geom_pose(kn_pose* pose, const kn_detector* d, const kn_data* data, int g) {
  const kn_geom_place* place = &d->model->geom_place[g];
  *pose = place->in_link;
  if (place->link < 0) return;
  kn_pose link;
  kn_link_pose(&link, data, place->link);
  kn_pose_mul(pose, &link, &place->in_link);
}

kn_status kn_detect_pair(kn_contact* contact, int* count, int capacity, const kn_detector* d,
                         const kn_data* data, kn_geom a, kn_geom b, double margin, kn_pair_cache* cache) {
  const kn_model* m = d->model;
  kn_contact_point point[32];
  kn_pose pose_a, pose_b;
  int points = 0;
  geom_pose(&pose_a, d, data, a);
  geom_pose(&pose_b, d, data, b);
  *count = 0;
  KN_TRY(kn_manifold_query(point, &points, 32, &m->geom[a].shape, &pose_a, &m->geom[b].shape, &pose_b, margin,
                           cache));
  if (!points) return KN_OK;
  pair p = make_pair(d, a, b);
  for (int i = 0; i < points && *count < capacity; i++) fill_contact(&contact[(*count)++], m, &p, &point[i]);
  return KN_OK;
}

double kn_detector_extent(double centre[3], const kn_detector* d, kn_geom g) {
  kn_copy3(centre, d->centre[g]);
  return d->radius[g];
}

double kn_detector_radius(double centre[3], const kn_detector* d, kn_geom g) {
  kn_copy3(centre, d->centre[g]);
  return d->model->geom[g].shape.type == KN_SHAPE_SPHERE ? 0.0 : d->radius[g];
}
