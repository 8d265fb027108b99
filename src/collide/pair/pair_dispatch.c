/* The public queries: argument checks, canonical order, flipping, and the promise that nothing non-finite
 * leaves. */
#include <string.h>

#include "base/error.h"
#include "collide/distance/gjk_hull.h"
#include "collide/pair/pair.h"

#define OF(type, other, name) [KN_SHAPE_##type][KN_SHAPE_##other] = {kn_distance_##name, kn_manifold_##name}

const kn_pair_query kn_pair_queries[KN_SHAPE_COUNT][KN_SHAPE_COUNT] = {
    OF(PLANE, SPHERE, plane_sphere),
    OF(PLANE, CAPSULE, plane_capsule),
    OF(PLANE, CYLINDER, plane_cylinder),
    OF(PLANE, ELLIPSOID, plane_ellipsoid),
    OF(PLANE, BOX, plane_box),
    OF(PLANE, HULL, plane_hull),
    [KN_SHAPE_PLANE][KN_SHAPE_MESH] = {kn_distance_plane_mesh, NULL},
    OF(SPHERE, SPHERE, sphere_sphere),
    OF(SPHERE, CAPSULE, sphere_capsule),
    OF(SPHERE, CYLINDER, sphere_cylinder),
    OF(SPHERE, ELLIPSOID, convex),
    OF(SPHERE, BOX, sphere_box),
    OF(SPHERE, HULL, convex),
    [KN_SHAPE_SPHERE][KN_SHAPE_MESH] = {kn_distance_mesh, NULL},
    OF(CAPSULE, CAPSULE, capsule_capsule),
    OF(CAPSULE, CYLINDER, convex),
    OF(CAPSULE, ELLIPSOID, convex),
    OF(CAPSULE, BOX, capsule_box),
    OF(CAPSULE, HULL, convex),
    [KN_SHAPE_CAPSULE][KN_SHAPE_MESH] = {kn_distance_mesh, NULL},
    OF(CYLINDER, CYLINDER, convex),
    OF(CYLINDER, ELLIPSOID, convex),
    OF(CYLINDER, BOX, convex),
    OF(CYLINDER, HULL, convex),
    [KN_SHAPE_CYLINDER][KN_SHAPE_MESH] = {kn_distance_mesh, NULL},
    OF(ELLIPSOID, ELLIPSOID, convex),
    OF(ELLIPSOID, BOX, convex),
    OF(ELLIPSOID, HULL, convex),
    [KN_SHAPE_ELLIPSOID][KN_SHAPE_MESH] = {kn_distance_mesh, NULL},
    OF(BOX, BOX, box_box),
    OF(BOX, HULL, convex),
    [KN_SHAPE_BOX][KN_SHAPE_MESH] = {kn_distance_mesh, NULL},
    OF(HULL, HULL, convex),
    [KN_SHAPE_HULL][KN_SHAPE_MESH] = {kn_distance_mesh, NULL},
};

/* Squares of volumes, sixth powers of lengths, must neither overflow nor vanish; the broad phase has the same bounds. */
#define LARGEST  1e30
#define SMALLEST 1e-30

typedef double pair_of_doubles __attribute__((vector_size(16), aligned(8)));

/* The sum of all squares, in independent lanes, is below 1e60 only if every number is finite and below 1e30.
 */
static bool poses_finite(const kn_pose* A, const kn_pose* B) {
  const pair_of_doubles *a = (const pair_of_doubles*)A, *b = (const pair_of_doubles*)B;
  pair_of_doubles s = a[0] * a[0] + a[1] * a[1] + a[2] * a[2], t = a[3] * a[3] + a[4] * a[4] + a[5] * a[5];
  pair_of_doubles u = b[0] * b[0] + b[1] * b[1] + b[2] * b[2], v = b[3] * b[3] + b[4] * b[4] + b[5] * b[5];
  pair_of_doubles w = (s + t) + (u + v);
  return w[0] + w[1] < LARGEST * LARGEST;
}

static bool shape_ok(const kn_shape* s) {
  const double* z = s->size;
  switch (s->type) {
  case KN_SHAPE_PLANE: return true;
  case KN_SHAPE_SPHERE: return z[0] > SMALLEST && z[0] < LARGEST;
  case KN_SHAPE_CAPSULE: return z[0] > SMALLEST && z[0] < LARGEST && z[1] >= 0 && z[1] < LARGEST;
  case KN_SHAPE_CYLINDER: return z[0] > SMALLEST && z[0] < LARGEST && z[1] > SMALLEST && z[1] < LARGEST;
  case KN_SHAPE_ELLIPSOID:
  case KN_SHAPE_BOX:
    return z[0] > SMALLEST && z[0] < LARGEST && z[1] > SMALLEST && z[1] < LARGEST && z[2] > SMALLEST &&
           z[2] < LARGEST;
  case KN_SHAPE_HULL: return s->hull != NULL;
  case KN_SHAPE_MESH: return s->mesh != NULL;
  default: return false;
  }
}

static const char* const type_name[KN_SHAPE_COUNT] = {"plane",     "sphere", "capsule", "cylinder",
                                                      "ellipsoid", "box",    "hull",    "mesh"};

static kn_status check_arguments(const kn_shape* a, const kn_pose* A, const kn_shape* b, const kn_pose* B) {
  if (!a || !A || !b || !B) return kn_fail(KN_BAD_ARGUMENT, "collision query: a shape or pose is NULL");
  if ((unsigned)a->type >= KN_SHAPE_COUNT || (unsigned)b->type >= KN_SHAPE_COUNT)
    return kn_fail(KN_BAD_ARGUMENT, "collision query: shape types %d and %d, expected 0 to %d", (int)a->type,
                   (int)b->type, KN_SHAPE_COUNT - 1);
  if (!shape_ok(a) || !shape_ok(b)) {
    const kn_shape* s = shape_ok(a) ? b : a;
    return kn_fail(KN_BAD_ARGUMENT,
                   "%s: size (%g, %g, %g) or missing data; sizes must be between 1e-30 and 1e30",
                   type_name[s->type], s->size[0], s->size[1], s->size[2]);
  }
  if (!poses_finite(A, B))
    return kn_fail(KN_BAD_ARGUMENT, "collision query: a pose is not finite or beyond 1e30 m");
  return KN_OK;
}

static kn_status unsupported(const kn_shape* a, const kn_shape* b) {
  return kn_fail(KN_UNSUPPORTED, "no %s-%s query", type_name[a->type], type_name[b->type]);
}

/* on_a - on_b = gap n: what is wrong with one of them shows in their sum, where the poses are rotations; of others points may be
   finite and the normal not. */
static double sum_of(double gap, const double n[3], const double a[3], const double b[3]) {
  return gap + ((a[0] - b[0]) + (a[1] - b[1]) + (a[2] - b[2])) + ((n[0] + n[1]) + n[2]);
}

static bool answer_finite(const kn_distance_result* d) {
  double s = sum_of(d->gap, d->normal, d->on_a, d->on_b);
  return s - s == 0;
}

static bool contacts_finite(const kn_contact_point* c, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) s += sum_of(c[i].gap, c[i].normal, c[i].on_a, c[i].on_b);
  return s - s == 0;
}

static kn_status overflowed(const kn_shape* a, const kn_shape* b) {
  return kn_fail(KN_NOT_FINITE, "%s-%s query: sizes or positions overflow", type_name[a->type],
                 type_name[b->type]);
}

static void swap_vectors(double* a, double* b) {
  for (int i = 0; i < 3; i++) {
    double t = a[i];
    a[i] = b[i], b[i] = t;
  }
}

/* An empty cache; what the counts say is not there need not be zeroed. */
static kn_pair_cache* forget(kn_pair_cache* c) {
  c->normal[0] = c->normal[1] = c->normal[2] = 0;
  c->simplex_count = c->key_count = c->side = c->feature[0] = c->feature[1] = 0;
  return c;
}

kn_status kn_distance(kn_distance_result* out, const kn_shape* a, const kn_pose* pose_a, const kn_shape* b,
                      const kn_pose* pose_b, kn_pair_cache* cache) {
  KN_REQUIRE(out != NULL);
  kn_pair_cache fresh;
  if (!cache) cache = forget(&fresh);
  if (a && b && pose_a && pose_b && a->type == KN_SHAPE_HULL && b->type == KN_SHAPE_HULL && a->hull &&
      b->hull && poses_finite(pose_a, pose_b)) { /* the short way for what is asked most often */
    kn_pair q = {a, b, pose_a, pose_b, INFINITY, cache};
    if (kn_hulls_distance(out, &q) && answer_finite(out)) return KN_OK;
  }
  KN_TRY(check_arguments(a, pose_a, b, pose_b));
  bool swap = a->type > b->type;
  kn_pair q = swap ? (kn_pair){b, a, pose_b, pose_a, INFINITY, cache}
                   : (kn_pair){a, b, pose_a, pose_b, INFINITY, cache};
  kn_distance_of* fn = kn_pair_queries[q.a->type][q.b->type].distance;
  if (!fn) return unsupported(a, b);
  fn(out, &q);
  if (swap) {
    swap_vectors(out->on_a, out->on_b);
    for (int i = 0; i < 3; i++) out->normal[i] = -out->normal[i];
  }
  if (!answer_finite(out)) {
    memset(out, 0, sizeof *out);
    return overflowed(a, b);
  }
  return KN_OK;
}

static void keep_keys(kn_pair_cache* cache, const kn_contact_point* c, int n) {
  cache->key_count = n < 8 ? n : 8;
  for (int i = 0; i < cache->key_count; i++) cache->key[i] = c[i].key;
}

/* What a swapped pair's contacts become: sides exchanged, normals turned round. */
static void flip(kn_contact_point* c, int n) {
  for (int i = 0; i < n; i++) {
    c[i].key = c[i].key << 32 | c[i].key >> 32;
    swap_vectors(c[i].on_a, c[i].on_b);
    for (int k = 0; k < 3; k++) c[i].normal[k] = -c[i].normal[k];
  }
}

/* A mesh takes what room there is; a convex pair's deepest points where there are too many. */
static int deepest_first(kn_contact_point* out, int capacity, kn_contact_point* c, int n) {
  int k = 0;
  for (; k < n && k < capacity; k++) {
    int best = k;
    for (int i = k + 1; i < n; i++)
      if (c[i].gap < c[best].gap) best = i;
    kn_contact_point t = c[k];
    c[k] = c[best], c[best] = t;
    out[k] = c[k];
  }
  return k;
}

static kn_status look_up(kn_contact_point* out, int* count, int capacity, const kn_pair* q) {
  if (q->b->type == KN_SHAPE_MESH && q->a->type != KN_SHAPE_MESH) {
    *count = kn_manifold_mesh(out, capacity, q);
    return contacts_finite(out, *count) ? KN_OK : overflowed(q->a, q->b);
  }
  kn_manifold_of* fn = kn_pair_queries[q->a->type][q->b->type].manifold;
  if (!fn) return unsupported(q->a, q->b);
  kn_contact_point local[KN_MANIFOLD_MAX];
  kn_contact_point* c = capacity >= KN_MANIFOLD_MAX ? out : local;
  int n = fn(c, q);
  if (!contacts_finite(c, n)) return overflowed(q->a, q->b);
  keep_keys(q->cache, c, n);
  *count = c == local ? deepest_first(out, capacity, local, n) : n;
  return KN_OK;
}

static kn_status checked(kn_contact_point* out, int* count, int capacity, const kn_pair* q) {
  *count = 0;
  KN_TRY(check_arguments(q->a, q->A, q->b, q->B));
  kn_status status = look_up(out, count, capacity, q);
  if (status != KN_OK)
    *count = 0;
  else if (q->b->type == KN_SHAPE_MESH)
    keep_keys(q->cache, out, *count);
  return status;
}

kn_status kn_manifold_query(kn_contact_point* out, int* count, int capacity, const kn_shape* a,
                            const kn_pose* pose_a, const kn_shape* b, const kn_pose* pose_b, double margin,
                            kn_pair_cache* cache) {
  KN_REQUIRE(out != NULL && count != NULL);
  *count = 0;
  if (capacity < 1) return kn_fail(KN_NO_ROOM, "contact capacity %d, expected at least 1", capacity);
  KN_REQUIRE(margin == margin && a != NULL && b != NULL);
  kn_pair_cache fresh;
  if (!cache) cache = forget(&fresh);
  bool swap = a->type > b->type;
  kn_pair q =
      swap ? (kn_pair){b, a, pose_b, pose_a, margin, cache} : (kn_pair){a, b, pose_a, pose_b, margin, cache};
  KN_TRY(checked(out, count, capacity, &q));
  if (swap) flip(out, *count);
  return KN_OK;
}
