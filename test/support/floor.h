/* Free bodies above a floor, for tests of the steppers. g = 9.81 along -z. */
#ifndef KN_TEST_FLOOR_H
#define KN_TEST_FLOOR_H

#include "base/rng.h"
#include "knuckle/step.h"
#include "model/model.h"

typedef struct kn_floor {
  kn_model* model;
  kn_state* state;
  kn_sim* sim;
} kn_floor;

/* A spec with a floor through the origin, tilted about y by `tilt` rad: downhill is +x. */
kn_spec* kn_floor_spec(double mu, double e, double tilt);
/* A free body of one shape; name may be NULL. */
kn_body kn_floor_add(kn_spec* spec, const char* name, kn_shape_type type, double sx, double sy, double sz,
                     double mass, const double pos[3], double mu, double e);
/* `count` free balls of 1 kg (the second of 10 kg) with three different moments of inertia, 0.7 m apart,
   then a floor (geom `count`), for contacts put where a test wants them. NULL: a failed check. */
kn_model* kn_floor_bodies(int count);
/* Compiles and destroys the spec. A failure is a failed check; the world may be closed all the same. */
bool kn_floor_open(kn_floor* w, kn_spec* spec, const kn_sim_settings* settings);
void kn_floor_close(kn_floor* w);

/* A contact at a random point between random geoms: formulations do not ask whether surfaces touch there. */
kn_contact kn_random_contact(const kn_model* model, kn_rng* rng, double mu);

#endif
