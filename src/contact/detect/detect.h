/* Contacts of a model at a configuration: geom pairs → manifolds → kn_contact records in a fixed order.

   The order is by geom pair, then by the manifold's own order, so that two runs agree bit for bit. What a
   pair remembers (kn_pair_cache) influences feature keys, so caches of touching pairs live in the state;
   others start cold. */
#pragma once

#include "dynamics/tree/dynamics.h"
#include "knuckle/collide.h"
#include "knuckle/contact.h"
#include "model/state.h"

typedef struct kn_pair_entry { /* cache of a touching pair, as saved in the state */
  int32_t geom_a, geom_b;
  kn_pair_cache cache;
} kn_pair_entry;

typedef struct kn_detector kn_detector;

/* Room for so many contacts and, beyond what the number of geoms asks for, so many pairs of geoms. */
kn_status kn_detector_create(kn_detector** detector, const kn_model* model, int max_contacts, int pairs);
void kn_detector_destroy(kn_detector* detector);
/* From now on of a model that differs as kn_model_vary differs. false: there is a broad phase, which cannot. */
bool kn_detector_adopt(kn_detector* detector, const kn_model* model);
/* Largest number of touching pairs whose cache is kept. */
int kn_detector_pairs(const kn_detector* detector);

/* Contacts at the link poses in data with gap <= margin + what the pair can close in `horizon` seconds at the
   link velocities in data (0: poses only), written to contact (capacity of creation). block holds
   kn_pair_entry records and is updated. KN_NO_ROOM: there is no room for all, and what is in contact and
   block is of no use; kn_detector_wants says what would be enough. */
kn_status kn_detect(kn_contact* contact, int* count, kn_detector* detector, kn_data* data, double margin,
                    double horizon, kn_state_block* block);
/* What the searches over the pieces of curved shapes have cost since the last call, in multiplications of which 18 take a nanosecond: by count, the same
   on every machine. */
double kn_detector_work(kn_detector* detector);
/* Until told otherwise, the place where a pair was found to overlap most easily is trusted to be so still: no other is looked
   for. For searches that are followed by one without. */
void kn_detector_trust(kn_detector* detector, bool trust);
/* The list of near pairs is made anew in the next call: poses that overflowed say nothing about ways. */
void kn_detector_forget(kn_detector* detector);
/* Pairs of geoms there is room for. */
int kn_detector_room(const kn_detector* detector);
/* Room for contacts and pairs that the last kn_detect would have needed. */
void kn_detector_wants(int* contacts, int* pairs, const kn_detector* detector);

/* The contacts of one pair of geoms (ordered as kn_detect orders it) with gap <= margin; *cache in and out.
 */
kn_status kn_detect_pair(kn_contact* contact, int* count, int capacity, kn_detector* detector,
                         const kn_data* data, kn_geom a, kn_geom b, double margin, kn_pair_cache* cache);
/* Radius about the geom's bounding centre within which turning can move its surface: 0 for spheres; and that
   centre in the link's frame. */
double kn_detector_radius(double centre[3], const kn_detector* detector, kn_geom geom);

/* Radius of the geom's bounding sphere, and its centre in the link's frame. */
double kn_detector_extent(double centre[3], const kn_detector* detector, kn_geom geom);
/* In the last call no pair was closer than its own margin and this, m; 0 or less: not known. */
double kn_detector_clear(const kn_detector* detector);

/* Is all that the detector needs of data in kin.plane? Then kn_dyn_plane_velocity is enough for a horizon. */
bool kn_detector_in_plane(kn_detector* detector, const kn_data* data);

/* From now on nothing is looked for in the plane of a planar mechanism, all in space. */
void kn_detector_in_space(kn_detector* detector);
