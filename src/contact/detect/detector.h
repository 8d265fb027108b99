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
