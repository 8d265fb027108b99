/* Broad phase: creation, filters, and the update that filters the fat pair list or has it rebuilt. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collide/broad/broad_table.h"
#include "model/spec.h"

kn_broad_settings kn_broad_default(void) { return (kn_broad_settings){.slack = 0.02, .horizon = 8}; }

static uint64_t ordered(int32_t a, int32_t b) {
  return a < b ? (uint64_t)(uint32_t)a << 32 | (uint32_t)b : (uint64_t)(uint32_t)b << 32 | (uint32_t)a;
}

static bool contains(const uint64_t* list, int32_t n, uint64_t key) {
  int32_t lo = 0, hi = n;
  while (lo < hi) {
    int32_t mid = lo + (hi - lo) / 2;
    if (list[mid] < key)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < n && list[lo] == key;
}

bool kn_broad_excluded(const kn_broad* b, int32_t i, int32_t j) {
  return contains(b->rules.exclusion, b->rules.nexclusion,
                  ordered(b->rules.filter[i].body, b->rules.filter[j].body));
}

bool kn_broad_paired(const kn_broad* b, int32_t i, int32_t j) {
  return contains(b->rules.explicit_pair, b->rules.nexplicit, ordered(i, j));
}

const kn_broad_table* kn_broad_kernels(void) { return KN_BEST(&kn_broad); }

static kn_status check_item(const kn_broad_item* it, int32_t i, int32_t nbody, bool parents) {
  if (it->shape.type < 0 || it->shape.type >= KN_SHAPE_COUNT)
    return kn_fail(KN_BAD_ARGUMENT, "broad phase: item %d: no such shape", i);
  for (int k = 0; k < kn_shape_sizes(it->shape.type); k++)
    if (!(it->shape.size[k] > 0 && it->shape.size[k] < 1e30))
      return kn_fail(KN_BAD_ARGUMENT, "broad phase: item %d: size[%d] = %g must be positive and finite", i, k,
                     it->shape.size[k]);
  if (it->shape.type == KN_SHAPE_HULL && !it->shape.hull)
    return kn_fail(KN_BAD_ARGUMENT, "broad phase: item %d: hull missing", i);
  if (it->shape.type == KN_SHAPE_MESH && !it->shape.mesh)
    return kn_fail(KN_BAD_ARGUMENT, "broad phase: item %d: mesh missing", i);
  if (!(it->margin >= 0 && it->margin < 1e30))
    return kn_fail(KN_BAD_ARGUMENT, "broad phase: item %d: margin %g", i, it->margin);
  if (it->body < KN_WORLD || (parents && it->body >= nbody))
    return kn_fail(KN_BAD_ARGUMENT, "broad phase: item %d: body %d", i, it->body);
  return KN_OK;
}

static kn_status check_def(const kn_broad_def* d) {
  KN_REQUIRE(d && d->count >= 0 && (d->items || !d->count));
  KN_REQUIRE(d->nexclusion >= 0 && d->npair >= 0 && (d->exclusions || !d->nexclusion) &&
             (d->pairs || !d->npair));
  for (int32_t i = 0; i < d->count; i++) KN_TRY(check_item(&d->items[i], i, d->nbody, d->parent != NULL));
  for (int32_t i = 0; i < d->npair; i++)
    for (int k = 0; k < 2; k++)
      if (d->pairs[i][k] < 0 || d->pairs[i][k] >= d->count || d->pairs[i][0] == d->pairs[i][1])
        return kn_fail(KN_BAD_ARGUMENT, "broad phase: explicit pair %d: item %d", i, d->pairs[i][k]);
  return KN_OK;
}

static void lay_out(kn_broad* b, kn_arena* a, const kn_broad_def* d) {
  int32_t n = d->count;
  b->shape = KN_TAKE(a, kn_shape, n);
  KN_TAKE_EACH(a, double, n, &b->margin, &b->radius);
  b->rules.filter = KN_TAKE(a, kn_broad_filter, n);
  b->rules.exclusion = KN_TAKE(a, uint64_t, d->nexclusion);
  b->rules.explicit_pair = KN_TAKE(a, uint64_t, d->npair);
  b->plane = KN_TAKE(a, int32_t, b->nplane);
  b->box = KN_TAKE(a, kn_box, n);
  b->plane_eq = kn_arena_take(a, (size_t)b->nplane * sizeof *b->plane_eq);
  KN_TAKE_EACH(a, kn_box, n, &b->fat, &b->last);
  b->first = KN_TAKE(a, int32_t, n + 1);
  b->limit = KN_TAKE(a, kn_box, n);
  b->plane_count = KN_TAKE(a, int32_t, n);
  b->stamp = KN_TAKE(a, int64_t, n);
  KN_TAKE_EACH(a, int32_t, n, &b->loose, &b->strays);
  b->is_loose = KN_TAKE(a, uint8_t, n);
  b->plane_other = KN_TAKE(a, int32_t, (size_t)n * (size_t)b->nplane);
  KN_TAKE_EACH(a, int32_t, n, &b->grid.item_level, &b->grid.item_cell);
  for (int k = 0; k < 3; k++) {
    KN_TAKE_EACH(a, float, n + KN_BROAD_PAD, &b->grid.sorted_lo[k], &b->grid.sorted_nhi[k]);
  }
  KN_TAKE_EACH(a, int32_t, n, &b->grid.sorted, &b->grid.large);
  b->grid.fill = KN_TAKE(a, int32_t, n + 1);
  /* each class: at most 2 * (4 cells per item, a last doubling by 4) buckets */
  b->grid.cell_room = 8 * n + 64 * KN_BROAD_MAX_LEVELS + 1;
  b->grid.cell_start = KN_TAKE(a, int32_t, b->grid.cell_room);
}

static int ascending(const void* a, const void* b) {
  uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
  return x < y ? -1 : x > y;
}

static void fill_filters(kn_broad* b, const kn_broad_def* d) {
  for (int32_t i = 0; i < d->count; i++) {
    const kn_broad_item* it = &d->items[i];
    int32_t parent = d->parent && it->body >= 0 ? d->parent[it->body] : KN_WORLD;
    b->rules.filter[i] = (kn_broad_filter){it->body, parent, it->contype, it->conaffinity, 0};
    if (it->shape.type == KN_SHAPE_PLANE) b->rules.filter[i].flags |= KN_ITEM_PLANE;
    for (int32_t e = 0; e < d->nexclusion; e++)
      if (d->exclusions[e][0] == it->body || d->exclusions[e][1] == it->body)
        b->rules.filter[i].flags |= KN_ITEM_EXCLUDED;
  }
  for (int32_t e = 0; e < d->nexclusion; e++)
    b->rules.exclusion[e] = ordered(d->exclusions[e][0], d->exclusions[e][1]);
  for (int32_t e = 0; e < d->npair; e++) {
    b->rules.explicit_pair[e] = ordered(d->pairs[e][0], d->pairs[e][1]);
    for (int k = 0; k < 2; k++) b->rules.filter[d->pairs[e][k]].flags |= KN_ITEM_PAIRED;
  }
  b->rules.nexclusion = d->nexclusion;
  b->rules.nexplicit = d->npair;
  if (d->nexclusion) qsort(b->rules.exclusion, (size_t)d->nexclusion, sizeof *b->rules.exclusion, ascending);
  if (d->npair) qsort(b->rules.explicit_pair, (size_t)d->npair, sizeof *b->rules.explicit_pair, ascending);
}

static void fill(kn_broad* b, const kn_broad_def* d) {
  int32_t planes = 0;
  b->n = d->count;
  for (int32_t i = 0; i < d->count; i++) {
    b->shape[i] = d->items[i].shape;
    b->margin[i] = d->items[i].margin;
    b->radius[i] = kn_shape_radius(&b->shape[i]);
    if (b->shape[i].type == KN_SHAPE_PLANE) b->plane[planes++] = i;
  }
  fill_filters(b, d);
}

kn_status kn_broad_create(kn_broad** out, const kn_broad_def* def, const kn_broad_settings* settings) {
  kn_broad_settings s = settings ? *settings : kn_broad_default();
  KN_REQUIRE(out);
  *out = NULL;
  KN_REQUIRE(s.slack >= 0.001 && s.slack <= 1 && s.horizon >= 0 && s.horizon <= 64 && s.pair_capacity >= 0);
  KN_TRY(check_def(def));
  kn_broad* b = calloc(1, sizeof *b);
  if (!b) return kn_fail(KN_OUT_OF_MEMORY, "broad phase: no memory");
  b->settings = s;
  for (int32_t i = 0; i < def->count; i++) b->nplane += def->items[i].shape.type == KN_SHAPE_PLANE;
  kn_arena count = {0};
  lay_out(b, &count, def);
  kn_status status = kn_arena_create(&b->arena, count.used + 64);
  if (status == KN_OK) {
    lay_out(b, &b->arena, def);
    fill(b, def);
    status = kn_broad_reserve(b, s.pair_capacity ? s.pair_capacity : 32 * def->count + 64);
  }
  if (status == KN_OK)
    *out = b;
  else
    kn_broad_destroy(b);
  return status;
}

void kn_broad_destroy(kn_broad* broad) {
  if (!broad) return;
  kn_arena_destroy(&broad->arena);
  free(broad->pair);
  free(broad->fat_pair);
  free(broad->found);
  free(broad);
}

kn_status kn_broad_reserve(kn_broad* b, int32_t capacity) {
  KN_REQUIRE(b && capacity >= 0);
  if (capacity <= b->capacity && b->pair) return KN_OK;
  size_t pairs = (size_t)capacity + (size_t)b->n * (size_t)b->nplane + 1;
  kn_broad_pair *pair = malloc(pairs * sizeof *pair), *found = malloc(((size_t)capacity + 1) * sizeof *found);
  kn_broad_pair* fat_pair = malloc(pairs * sizeof *fat_pair); /* changes places with pair */
  if (!pair || !found || !fat_pair) {
    free(pair), free(found), free(fat_pair);
    return kn_fail(KN_OUT_OF_MEMORY, "broad phase: no memory for %d pairs", capacity);
  }
  free(b->pair), free(b->found), free(b->fat_pair);
  b->pair = pair, b->found = found, b->fat_pair = fat_pair;
  b->capacity = capacity;
  b->npair = 0;
  b->valid = false;
  return KN_OK;
}

static int32_t filter_planes(const kn_broad* b, kn_broad_pair* out) {
  int32_t k = 0;
  for (int32_t i = 0; i < b->n; i++)
    for (int32_t e = 0; e < b->plane_count[i]; e++) {
      int32_t p = b->plane_other[(size_t)i * (size_t)b->nplane + (size_t)e];
      out[k] = (kn_broad_pair){i, b->plane[p]};
      k += kn_box_meets_plane(&b->box[i], b->plane_eq[p]) && kn_box_meets(&b->box[i], &b->box[b->plane[p]]);
    }
  return k;
}

/* Boxes and plane equations are new. The fat list is kept, repaired or found again. */
static kn_status finish_update(kn_broad* b, bool inside, bool planes_moved, const double* velocity,
                               double dt) {
  b->updates++;
  b->since++;
  b->npair = 0;
  bool keep = b->valid && !planes_moved && (inside || kn_broad_repair(b, velocity, dt));
  if (!keep) KN_TRY(kn_broad_rebuild(b, velocity, dt));
  b->npair = kn_broad_kernels()->filter_pairs(b->pair, b->limit, b->box, b->n, b->fat_pair, b->nfat);
  b->npair += b->nplane ? filter_planes(b, b->pair + b->npair) : 0;
  return KN_OK;
}

/* The half-space of a plane grown by its margin and by what it sweeps. A plane that turns sweeps everything.
 */
static kn_status plane_equation(kn_broad* b, int32_t p, const kn_pose* pose, const double* velocity,
                                double dt, bool* moved) {
  double eq[4] = {pose->R[2], pose->R[5], pose->R[8], b->margin[b->plane[p]]}, lo[3], hi[3];
  for (int k = 0; k < 3; k++) eq[3] += eq[k] * pose->p[k];
  if (velocity) {
    double path = dt * (eq[0] * velocity[3] + eq[1] * velocity[4] + eq[2] * velocity[5]);
    bool turns = dt > 0 && (velocity[0] != 0 || velocity[1] != 0 || velocity[2] != 0);
    eq[3] = turns ? INFINITY : eq[3] + (path > 0 ? path : 0);
  }
  if (!(fabs(eq[0]) <= 2 && fabs(eq[1]) <= 2 && fabs(eq[2]) <= 2) || isnan(eq[3]))
    return kn_fail(KN_NOT_FINITE, "broad phase: the pose of plane item %d is not finite", b->plane[p]);
  *moved = *moved || memcmp(eq, b->plane_eq[p], sizeof eq) != 0;
  memcpy(b->plane_eq[p], eq, sizeof eq);
  for (int k = 0; k < 3; k++) lo[k] = -INFINITY, hi[k] = INFINITY;
  b->box[b->plane[p]] = kn_box_outward(lo, hi);
  return KN_OK;
}

kn_status kn_broad_update(kn_broad* b, const kn_pose* poses, const double* velocity, double dt) {
  KN_REQUIRE(b && (poses || !b->n) && dt >= 0 && isfinite(dt));
  bool moved = false;
  for (int32_t i = 0; i < b->n; i++) {
    if (b->rules.filter[i].flags & KN_ITEM_PLANE) continue;
    if (!kn_broad_item_box(b, i, &poses[i], velocity ? velocity + 6 * (size_t)i : NULL, dt)) {
      b->valid = false;
      b->npair = 0;
      return kn_fail(KN_NOT_FINITE, "broad phase: pose or velocity of item %d is not finite", i);
    }
  }
  for (int32_t p = 0; p < b->nplane; p++) {
    int32_t i = b->plane[p];
    kn_status status =
        plane_equation(b, p, &poses[i], velocity ? velocity + 6 * (size_t)i : NULL, dt, &moved);
    if (status != KN_OK) {
      b->valid = false;
      b->npair = 0;
      return status;
    }
  }
  bool inside = kn_broad_kernels()->all_inside(b->box, b->fat, b->n);
  return finish_update(b, inside, moved, velocity, dt);
}

static kn_status bad_box(kn_broad* b, const double* boxes) {
  int32_t i = 0;
  b->valid = false;
  b->npair = 0;
  while (i < b->n - 1 && boxes[6 * (size_t)i] <= boxes[6 * (size_t)i + 3] &&
         boxes[6 * (size_t)i + 1] <= boxes[6 * (size_t)i + 4] &&
         boxes[6 * (size_t)i + 2] <= boxes[6 * (size_t)i + 5])
    i++;
  return kn_fail(KN_NOT_FINITE, "broad phase: box %d is empty or not a number", i);
}

kn_status kn_broad_update_boxes(kn_broad* b, const double* boxes) {
  KN_REQUIRE(b && (boxes || !b->n));
  int flags = kn_broad_kernels()->convert_boxes(b->box, b->fat, boxes, b->n);
  if (!(flags & KN_BOXES_VALID)) return bad_box(b, boxes);
  bool moved = false;
  for (int32_t p = 0; p < b->nplane; p++) {
    double all[4] = {0, 0, 0, INFINITY};
    moved = moved || memcmp(all, b->plane_eq[p], sizeof all) != 0;
    memcpy(b->plane_eq[p], all, sizeof all);
  }
  return finish_update(b, flags & KN_BOXES_INSIDE, moved, NULL, 0);
}

void kn_broad_pairs(const kn_broad* broad, const kn_broad_pair** pairs, int32_t* count) {
  if (pairs) *pairs = broad ? broad->pair : NULL;
  if (count) *count = broad ? broad->npair : 0;
}

void kn_broad_get_stats(const kn_broad* b, kn_broad_stats* out) {
  if (!b || !out) return;
  *out = (kn_broad_stats){b->updates, b->rebuilds, b->valid ? b->nfat : 0, b->capacity, b->needed};
}

kn_status kn_broad_query(const kn_broad* b, int32_t* out, int32_t* count, int32_t capacity,
                         const double lo[3], const double hi[3]) {
  KN_REQUIRE(b && count && capacity >= 0 && (out || !capacity) && lo && hi);
  kn_box q = kn_box_outward(lo, hi);
  int32_t n = 0, planes = 0;
  for (int32_t i = 0; i < b->n; i++) {
    bool plane = b->rules.filter[i].flags & KN_ITEM_PLANE;
    if (!kn_box_meets(&q, &b->box[i]) || (plane && !kn_box_meets_plane(&q, b->plane_eq[planes]))) {
      planes += plane;
      continue;
    }
    planes += plane;
    if (n < capacity) out[n] = i;
    n++;
  }
  *count = n;
  return n <= capacity ? KN_OK
                       : kn_fail(KN_NO_ROOM, "broad phase: %d items meet the box, room for %d", n, capacity);
}
