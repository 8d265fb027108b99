#include <ccd/ccd.h>
#include <ccd/vec3.h>
#include <math.h>

#include "bench.h"
#include "peer.h"

typedef struct ball {
  ccd_vec3_t centre;
} ball;

static void support(const void* object, const ccd_vec3_t* direction, ccd_vec3_t* point) {
  ccdVec3Copy(point, direction);
  ccdVec3Normalize(point);
  ccdVec3Add(point, &((const ball*)object)->centre);
}

/* Two unit balls 5 apart are apart, 1 apart they meet. */
static double answer(void) {
  ball a = {{{0, 0, 0}}}, b = {{{3, 0, 4}}}, c = {{{0.6, 0, 0.8}}};
  ccd_t ccd;
  CCD_INIT(&ccd);
  ccd.support1 = ccd.support2 = support;
  ccd.max_iterations = 100;
  return ccdGJKIntersect(&a, &b, &ccd) == 0 && ccdGJKIntersect(&a, &c, &ccd) == 1 ? 1 : 0;
}

KN_PEER_EXPORT const installed_peer kn_peer = {"balls apart and meeting", 1, answer};
