#include <fcl/fcl.h>

#include "bench.h"
#include "peer.h"

/* Distance of two unit balls whose centres are 5 apart. */
static double answer() {
  fcl::Sphered ball(1.0);
  fcl::Transform3d a = fcl::Transform3d::Identity(), b = fcl::Transform3d::Identity();
  b.translation() = fcl::Vector3d(3, 0, 4);
  fcl::DistanceRequestd request;
  fcl::DistanceResultd result;
  fcl::distance(&ball, a, &ball, b, request, result);
  return result.min_distance;
}

KN_PEER_EXPORT const installed_peer kn_peer = {"distance of two balls", 3, answer};
