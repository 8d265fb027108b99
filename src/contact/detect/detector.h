/* The detector's data: pairs of geoms that may touch, bounding spheres, the near list. Made in detector.c,
   searched in detect.c. */
#pragma once

#include <math.h>

#include "contact/detect/centres.h"
#include "contact/detect/detect.h"
#include "contact/detect/sight.h"
#include "knuckle/broad.h"
#include "spatial/spatial.h"

typedef enum pair_kind { PAIR_OTHER, PAIR_SPHERE_PLANE, PAIR_SPHERE_SPHERE } pair_kind;

typedef struct kn_separation { /* what is remembered of a pair without contact points (separation.c) */
  double room;                 /* distance its shapes had at least, and the ways of both up to then, m;
                                  -INFINITY: not known */
  double axis[3];              /* direction in which they were, frame of the first; 0: none */
} kn_separation;

/* A geom pair that may ever touch, with everything the loop needs. */
enum { KN_FRICTION_RICH = 2 };
typedef struct kn_geom_pair {
  int32_t a, b;
  bool collides; /* false only of pairs that the broad phase proposes */
  int32_t
      friction; /* 0: none (condim 1), 1: mu, KN_FRICTION_RICH: with torsion, rolling or a second coefficient */
  pair_kind kind;
  double reach;  /* sum of bounding radii, or infinity for a plane */
  double margin; /* of the geoms, m */
  double mu, e;
  uint64_t key; /* of round pairs, which have one contact */
} kn_geom_pair;

typedef struct kn_lull { /* while things hardly move (lull.c) */
  link_then* then;       /* nlink: those with geoms */
  int32_t* pair;         /* of the near list: pairs that are looked at, all others are far apart */
  moving* moving;        /* nmoving: their geoms */
  bool* has;             /* ngeom: the geom is one of these */
  int links, pairs, geoms;
  double room;    /* all other pairs were farther apart then, beyond their margins, m; -INFINITY: not known */
  double reserve; /* in a whole search: how far apart pairs must be to be left out */
  double least;   /* of these */
  bool fresh;     /* there was no search since */
  int wait;       /* whole searches before it is tried again */
} kn_lull;

/* Up to this many geoms every pair that may collide is known; beyond it the broad phase finds candidates. If
   all are spheres and planes, which are looked at in no time, it does so from fewer on, and those candidates
   become the near list (at most so many pairs per geom). */
enum { KNOWN_GEOMS = 256, KNOWN_ROUND = KN_SIGHT_MOST, NEAR_PAIRS = 32, NEAR_STEPS = 8 };
#define BROAD_MARGIN 1e-3 /* of the broad phase beyond the margins of geoms, m */

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
  int npair, nnear, most_pairs, capacity, max_entries;
  int kept; /* places for candidates of the broad phase in pairs, a power of two; 0: npair pairs are known */
  struct {
    int contacts, pairs;
  } left;       /* found in the last call, without room: the call failed */
  int64_t call; /* counts the calls, for stamps */
  kn_geom_pair* pairs;
  kn_separation* apart; /* as pairs; not of round ones */
  int32_t* near;        /* indices in pairs, ascending */
  double slack;         /* of the near list; negative: there is none */
  double most_margin;   /* of the pairs */
  double last_sweep;    /* largest sweep bound of the last call with a horizon */
  double clear;         /* no pair of the list was closer than its margin and this in the last call */
  double moved2;        /* square of the largest way since the list was made */
  double (*centre)[3];  /* ngeom: bounding sphere centre in the link frame */
  double* radius;       /* ngeom; infinity for planes */
  double* spent;        /* ngeom: way and sweep in the call under way; not of round ones */
  double (*frame)[9];   /* ngeom: contact frame of a plane's normal, if it stands still */
  geom_now* now;        /* ngeom */
  moving* moving;       /* geoms that move, ascending */
  int nmoving;
  kn_pose* pose;       /* ngeom, with the broad phase */
  kn_pair_entry* next; /* caches of the pairs found touching in this call */
  const kn_data* data; /* of the call under way */
  double work;         /* of the shapes' distances so far, since kn_detector_work; see detect.h */
  bool trust;          /* kn_detector_trust */
  double horizon;
  kn_sight sight; /* round and few: of mechanisms in a plane */
  kn_lull lull;
};

/* Bounding centre of a geom. */
static inline const double* kn_geom_centre(const kn_detector* d, int g) {
  return (const double*)&d->now[g].world;
}

static inline bool kn_geom_is_plane(const kn_detector* d, int g) {
  return d->model->geom[g].shape.type == KN_SHAPE_PLANE;
}

/* Everything the loop needs of a pair, which may be one that no list has. */
kn_geom_pair kn_geom_pair_of(const kn_detector* d, int a, int b);
/* Of a contact between geoms a and b: stable while the same features touch. */
uint64_t kn_contact_key(int a, int b, uint64_t feature);

/* Tangents by a fixed rule from the normal: t1 is perpendicular to the axis of the normal's smallest
 * component. */
static inline void kn_contact_frame(double frame[9], const double n[3]) {
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

/* While things hardly move, only pairs that are close are looked at (lull.c). */
void kn_lull_take(kn_lull* lull, kn_arena* arena, const kn_model* model, int pairs);
/* Nothing is known. */
void kn_lull_forget(kn_detector* d);
/* Of the model: which links have geoms, and how far these reach. */
void kn_lull_fill(kn_detector* d);

/* Before a search: what is left of the room of all pairs that are not looked at in a lull, once their geoms have come as
   near as they can until the end of the horizon; negative: a whole search has to be made. */
double kn_lull_holds(kn_detector* d, double margin);

/* A whole search: its beginning, each pair of the near list with what is left between its shapes (-INFINITY: it was looked
   at), its end. gone: how far geoms are from where they were when the near list was made, at most. */
void kn_lull_begin(kn_detector* d, double margin);
static inline void kn_lull_pair(kn_detector* d, int32_t k, double left) {
  kn_lull* l = &d->lull;
  if (left > l->reserve)
    l->least = left < l->least ? left : l->least;
  else if (l->reserve < INFINITY)
    l->pair[l->pairs++] = k;
}
void kn_lull_end(kn_detector* d, double gone);

/* How far apart the shapes of a pair are at least, and for how long that will do (separation.c). */
/* The pose of a geom in the call under way, and with it the half sides of its box. */
const kn_pose* kn_geom_at(kn_detector* d, int g);

/* Height of a geom's bounding centre over a plane. */
static inline double kn_geom_height(const kn_detector* d, int g, const kn_pose* plane) {
  const double* c = kn_geom_centre(d, g);
  double sum = 0.0;
  for (int i = 0; i < 3; i++) sum += plane->R[3 * i + 2] * (c[i] - plane->p[i]);
  return sum;
}

/* What is left of the distance last found between the shapes of a pair of the list, if both used up their ways
   since on coming closer; -INFINITY: nothing is known. Not of detectors that are all round, which count no
   ways. */
static inline double kn_pair_left(const kn_detector* d, const kn_geom_pair* p) {
  return d->apart[p - d->pairs].room - (d->now[p->a].way + d->now[p->b].way);
}

/* Distance of the bounding spheres, or of a sphere and a half-space; -INFINITY: there is none. */
double kn_spheres_apart(kn_detector* d, const kn_geom_pair* p);
/* Are the bounds of the two more than reach apart? Then kn_pair_left is, too. */
bool kn_bounds_apart(kn_detector* d, const kn_geom_pair* p, double reach);
/* Are the two themselves, with a little to spare? False also where that is not easily seen: whoever finds no
   points of such a pair has only spent more time. A pair that is known to be more than `fresh` apart is not
   measured again. */
bool kn_pair_apart(kn_detector* d, const kn_geom_pair* p, double reach, double fresh);
