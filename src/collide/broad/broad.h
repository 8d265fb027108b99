/* Inside the broad phase. */
#pragma once

#include "base/arena.h"
#include "knuckle/broad.h"

/* Bounds in single precision, rounded outwards: lo xyz 0, then -hi xyz 0. With hi negated, "a overlaps b" and
   "a inside b" are each one comparison of eight numbers. */
typedef float kn_v4f __attribute__((vector_size(16)));
typedef int32_t kn_v4i __attribute__((vector_size(16)));
typedef struct kn_box {
  kn_v4f lo, nhi;
} __attribute__((aligned(32))) kn_box;

static inline bool kn_v4i_all(kn_v4i m) { /* every lane true (-1) */
#ifdef __SSE2__
  return __builtin_ia32_movmskps((kn_v4f)m) == 15;
#else
  return (m[0] & m[1] & m[2] & m[3]) != 0;
#endif
}

/* lo_a <= hi_b and lo_b <= hi_a */
static inline bool kn_box_meets(const kn_box* a, const kn_box* b) {
  return kn_v4i_all((a->lo <= -b->nhi) & (b->lo <= -a->nhi));
}

/* Does a box reach into the half-space n·x <= d? */
static inline bool kn_box_meets_plane(const kn_box* f, const double eq[4]) {
  double s = -eq[3];
  for (int k = 0; k < 3; k++) s += eq[k] * (eq[k] >= 0 ? (double)f->lo[k] : -(double)f->nhi[k]);
  return !(s > 0);
}

enum { KN_BROAD_MAX_LEVELS = 24, KN_BROAD_PAD = 16 };

/* One size class: a grid that wraps around in each axis (cells a whole number of periods apart share a
   bucket; the box test tells them apart), counting-sorted. */
typedef struct kn_broad_level {
  double cell, inv_cell; /* at least as large as every box of the class */
  int32_t first, count;  /* its items in `sorted` */
  int32_t mask[3];       /* cells per axis - 1; a power of two, 1 or >= 4 cells */
  int32_t shift[2];      /* bucket = x + (y << shift[0]) + (z << shift[1]) */
  int32_t start;         /* its buckets in cell_start */
} kn_broad_level;

enum { KN_ITEM_PLANE = 1, KN_ITEM_EXCLUDED = 2, KN_ITEM_PAIRED = 4 };

typedef struct kn_broad_filter {
  int32_t body, parent;
  uint32_t contype, conaffinity;
  uint32_t flags;
} kn_broad_filter;

/* Who may meet whom; fixed at creation. broad.c */
typedef struct kn_broad_rules {
  kn_broad_filter* filter; /* n */
  uint64_t* exclusion;     /* sorted body pairs */
  uint64_t* explicit_pair; /* sorted item pairs */
  int32_t nexclusion, nexplicit;
} kn_broad_rules;

/* Cells of each size, scratch of a rebuild. broad_grid.c */
typedef struct kn_broad_grid {
  kn_broad_level level[KN_BROAD_MAX_LEVELS];
  int32_t nlevel;
  int32_t* item_level;                 /* n: level, -1 large, -2 plane */
  int32_t* item_cell;                  /* n */
  float *sorted_lo[3], *sorted_nhi[3]; /* n + KN_BROAD_PAD: fat boxes in cell order */
  int32_t* sorted;                     /* n: items in cell order */
  int32_t* fill;                       /* n + 1: counting sort */
  int32_t* large;                      /* n: items compared with everything */
  int32_t nlarge;
  int32_t* cell_start;
  int32_t cell_room;
} kn_broad_grid;

struct kn_broad {
  kn_arena arena; /* everything below but the pair arrays */
  kn_broad_settings settings;
  int32_t n, nplane;

  /* fixed at creation */
  kn_shape* shape; /* n */
  double* margin;  /* n */
  double* radius;  /* n: of the shape about its frame's origin */
  kn_broad_rules rules;
  int32_t* plane; /* nplane items */

  /* written by each update */
  kn_box* box;           /* n, of shapes */
  double (*plane_eq)[4]; /* nplane: n, d of the half-space n.x <= d, margin included */
  kn_broad_pair* pair;   /* capacity + nplane * n */
  kn_box* limit;         /* n: scratch of the filter */
  int32_t npair;

  /* written by each rebuild */
  kn_box* fat;             /* n */
  kn_box* last;            /* n: boxes at the last rebuild, to estimate motion */
  int32_t* first;          /* n + 1: counting sort */
  kn_broad_pair* fat_pair; /* capacity; ascending (a, b) */
  kn_broad_pair* found;    /* capacity: fat pairs as found */
  int32_t* plane_count;    /* n: planes near item i are plane_other[i nplane …] */
  int32_t* plane_other;    /* n * nplane */
  int64_t* stamp;          /* n: update at which the fat box was made */
  int32_t* loose;          /* n: items repaired since the rebuild; their cells are stale */
  int32_t* strays;         /* n: items outside their fat boxes now */
  uint8_t* is_loose;       /* n: 1 loose, 2 stray now */
  int32_t nloose;
  int32_t nfat, capacity, needed;
  double slack;  /* in use: settings.slack … 0.2 */
  bool valid;    /* the fat list may be used */
  int32_t since; /* updates since the rebuild */
  int64_t updates, rebuilds;

  kn_broad_grid grid;
};

/* Cell coordinate before wrapping. Beyond 2^52 cells everything shares one. */
static inline int64_t kn_cell_index(double x, double inv_cell) {
  double c = x * inv_cell;
  if (!(c < 0x1p52 && c > -0x1p52)) return 0;
  int64_t i = (int64_t)c; /* towards zero; floor is a call without SSE4 */
  return i - (c < (double)i);
}

static inline int32_t kn_cell_bucket(const kn_broad_level* g, int64_t x, int64_t y, int64_t z) {
  return g->start + (int32_t)(x & g->mask[0]) + ((int32_t)(y & g->mask[1]) << g->shift[0]) +
         ((int32_t)(z & g->mask[2]) << g->shift[1]);
}

/* Box of item i at a pose, grown by margin and sweep; false when not finite. */
bool kn_broad_item_box(kn_broad* b, int32_t i, const kn_pose* pose, const double* velocity, double dt);
kn_box kn_box_outward(const double lo[3], const double hi[3]);
/* Finds all fat pairs again. KN_NO_ROOM leaves the list invalid and `needed` set. */
kn_status kn_broad_rebuild(kn_broad* b, const double* velocity, double dt);
/* Fixes the fat list for the few items that left their fat boxes; false when a rebuild is due. */
bool kn_broad_repair(kn_broad* b, const double* velocity, double dt);
/* New fat box of item i from its box and motion. */
void kn_broad_fatten(kn_broad* b, int32_t i, const double* velocity, double dt);
/* Planes whose half-space the fat box of item i meets. */
void kn_broad_find_planes(kn_broad* b, int32_t i);

/* The rare part of the filters: exclusions and explicit pairs. */
bool kn_broad_excluded(const kn_broad* b, int32_t i, int32_t j);
bool kn_broad_paired(const kn_broad* b, int32_t i, int32_t j);

static inline bool kn_broad_allowed(const kn_broad* b, int32_t i, int32_t j) {
  const kn_broad_filter *p = &b->rules.filter[i], *q = &b->rules.filter[j];
  if ((p->flags & q->flags & KN_ITEM_PAIRED) && kn_broad_paired(b, i, j)) return true;
  if (p->body == q->body) return false; /* also two static ones */
  if (!((p->contype & q->conaffinity) | (q->contype & p->conaffinity))) return false;
  if ((p->parent == q->body && q->body >= 0) || (q->parent == p->body && p->body >= 0)) return false;
  return !((p->flags & q->flags & KN_ITEM_EXCLUDED) && kn_broad_excluded(b, i, j));
}

/* Radius about the origin of the shape's frame; infinite for planes. */
double kn_shape_radius(const kn_shape* s);
