/* Shape pairs from raw bytes: any bits as sizes and poses, a hull from raw points. Every query must return,
   and what it returns must be finite with unit normals. Layout: 2 type bytes, a flag byte, a length byte,
   then doubles. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/collide.h"
#include "knuckle/mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

typedef struct reader {
  const uint8_t* p;
  size_t left;
} reader;

static double number(reader* r) {
  double x = 0;
  size_t n = r->left < 8 ? r->left : 8;
  memcpy(&x, r->p, n);
  r->p += n, r->left -= n;
  return x;
}

/* flag 0: rotation from a quaternion of the bytes; 1: nine raw numbers. */
static kn_pose pose(reader* r, int raw) {
  kn_pose P;
  for (int i = 0; i < 3; i++) P.p[i] = number(r);
  if (raw) {
    for (int i = 0; i < 9; i++) P.R[i] = number(r);
    return P;
  }
  double q[4], l = 0;
  for (int i = 0; i < 4; i++) q[i] = number(r), l += q[i] * q[i];
  if (!(l > 1e-200 && l < 1e200)) q[0] = 1, q[1] = q[2] = q[3] = 0, l = 1;
  for (int i = 0; i < 4; i++) q[i] /= sqrt(l);
  double w = q[0], x = q[1], y = q[2], z = q[3];
  double R[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                 2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                 2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
  memcpy(P.R, R, sizeof R);
  return P;
}

static void all_finite(double gap, const double n[3], const double a[3], const double b[3]) {
  if (!isfinite(gap)) abort();
  for (int i = 0; i < 3; i++)
    if (!isfinite(n[i]) || !isfinite(a[i]) || !isfinite(b[i])) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  reader r = {data + 4, size - 4};
  kn_shape a = {.type = (kn_shape_type)(data[0] % KN_SHAPE_COUNT)},
           b = {.type = (kn_shape_type)(data[1] % KN_SHAPE_COUNT)};
  int raw = data[2] & 1;
  for (int i = 0; i < 3; i++) a.size[i] = number(&r), b.size[i] = number(&r);
  if (data[2] & 2) b = a;
  kn_pose A = pose(&r, raw), B = pose(&r, raw);
  double margin = number(&r), points[3 * 24];
  int n = 4 + data[3] % 20;
  for (int i = 0; i < 3 * n; i++) points[i] = number(&r);
  kn_hull* hull = NULL;
  kn_mesh* mesh = NULL;
  if (a.type == KN_SHAPE_HULL || b.type == KN_SHAPE_HULL) kn_hull_create(&hull, points, n, NULL);
  if (a.type == KN_SHAPE_MESH || b.type == KN_SHAPE_MESH) {
    int32_t t[3 * 24];
    kn_mesh_data m;
    for (int i = 0; i < n; i++) t[3 * i] = i, t[3 * i + 1] = (i + 1) % n, t[3 * i + 2] = (i + 2) % n;
    if (kn_mesh_data_create(&m, points, n, t, n) == KN_OK) {
      kn_mesh_create(&mesh, &m, NULL);
      kn_mesh_data_free(&m);
    }
  }
  a.hull = b.hull = hull, a.mesh = b.mesh = mesh;
  kn_pair_cache cache;
  memset(&cache, 0, sizeof cache);
  for (int frame = 0; frame < 2; frame++) { /* cold, then warm */
    kn_distance_result d;
    kn_contact_point c[16];
    int count = 0;
    if (kn_distance(&d, &a, &A, &b, &B, &cache) == KN_OK) {
      all_finite(d.gap, d.normal, d.on_a, d.on_b);
      double l = sqrt(d.normal[0] * d.normal[0] + d.normal[1] * d.normal[1] + d.normal[2] * d.normal[2]);
      if (!raw && fabs(l - 1) > 1e-9) abort();
    }
    if (kn_manifold_query(c, &count, 16, &a, &A, &b, &B, margin, &cache) == KN_OK)
      for (int i = 0; i < count; i++) all_finite(c[i].gap, c[i].normal, c[i].on_a, c[i].on_b);
    if (count < 0 || count > 16) abort();
  }
  kn_hull_destroy(hull);
  kn_mesh_destroy(mesh);
  return 0;
}
