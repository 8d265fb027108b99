/* FCL's continuous collision by conservative advancement, along the motion that interpolates the two poses.
 */
#include <fcl/fcl.h>

#include <memory>
#include <vector>

#include "bench.h"
#include "peer_toi.h"

namespace {
struct pair {
  std::shared_ptr<fcl::Convexd> a, b;
};

std::shared_ptr<fcl::Convexd> hull(const kn_mesh_data* m) {
  auto vertices = std::make_shared<std::vector<fcl::Vector3d>>();
  auto faces = std::make_shared<std::vector<int>>();
  for (int i = 0; i < m->nvertex; i++)
    vertices->emplace_back(m->vertices[3 * i], m->vertices[3 * i + 1], m->vertices[3 * i + 2]);
  for (int i = 0; i < m->ntriangle; i++) {
    faces->push_back(3);
    for (int k = 0; k < 3; k++) faces->push_back(m->triangles[3 * i + k]);
  }
  return std::make_shared<fcl::Convexd>(vertices, m->ntriangle, faces, false);
}

void* create(const kn_mesh_data* a, const kn_mesh_data* b) { return new pair{hull(a), hull(b)}; }

fcl::Transform3d transform(const double* x) {
  fcl::Transform3d t = fcl::Transform3d::Identity();
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) t.linear()(i, j) = x[3 * i + j];
  t.translation() = fcl::Vector3d(x[9], x[10], x[11]);
  return t;
}

double query(void* self, const double* a0, const double* a1, const double* b0, const double* b1) {
  pair* p = static_cast<pair*>(self);
  fcl::ContinuousCollisionRequestd request(100, 1e-6, fcl::CCDM_SCREW, fcl::GST_LIBCCD,
                                           fcl::CCDC_CONSERVATIVE_ADVANCEMENT);
  request.ccd_motion_type = fcl::CCDM_LINEAR;
  fcl::ContinuousCollisionResultd result;
  fcl::continuousCollide(p->a.get(), transform(a0), transform(a1), p->b.get(), transform(b0), transform(b1),
                         request, result);
  return result.is_collide ? result.time_of_contact : 1;
}

void destroy(void* self) { delete static_cast<pair*>(self); }
} // namespace

KN_PEER_EXPORT const toi_peer kn_peer = {"fcl", create, query, destroy};
