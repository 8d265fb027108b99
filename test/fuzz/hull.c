/* Any points as a hull, and any triangles over them as a static mesh: a status, or a closed surface with
   finite numbers that holds the points. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/cast.h"
#include "knuckle/massprops.h"
#include "model/hull.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

enum { MAX = 200 };

/* Half the inputs choose from a few values, so that coplanar, collinear and duplicate points are common. */
static double coordinate(const uint8_t* p, int mode) {
  int16_t i;
  double x;
  switch (mode) {
  case 0: memcpy(&i, p, sizeof i); return i / 256.0;
  case 1: return (p[0] % 5) - 2.0;
  case 2: memcpy(&i, p, sizeof i); return i / 256.0 + 1e-9 * p[1];
  default: memcpy(&x, p, sizeof x); return x;
  }
}

static void check_hull(const kn_hull* h, const double* x, int n, double merge) {
  if (h->nv - h->ne + h->nf != 2 || !(h->volume > 0) || !isfinite(h->volume)) abort();
  double size = 0;
  for (int k = 0; k < 3; k++) size = fmax(size, h->hi[k] - h->lo[k]);
  for (int f = 0; f < h->nf; f++)
    for (int i = 0; i < n; i++) {
      const double* p = h->plane + 4 * f;
      double far = p[0] * (x[3 * i] - h->centroid[0]) + p[1] * (x[3 * i + 1] - h->centroid[1]) +
                   p[2] * (x[3 * i + 2] - h->centroid[2]) -
                   (p[3] - p[0] * h->centroid[0] - p[1] * h->centroid[1] - p[2] * h->centroid[2]);
      double reach = size + fabs(h->centroid[0]) + fabs(h->centroid[1]) + fabs(h->centroid[2]);
      if (!(far <= (1e-8 + 10 * merge) * size + 1e-11 * reach)) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static double x[3 * MAX];
  static int32_t t[3 * MAX];
  if (size < 2) return 0;
  int mode = data[0] % 4, width = mode == 3 ? 8 : mode == 1 ? 1 : 2;
  kn_hull_settings s = kn_hull_default();
  s.merge = data[1] & 1 ? 1e-6 : data[1] & 2 ? 0 : 1e-9;
  s.thicken = data[1] & 4 ? 0.01 : 0;
  s.max_vertices = data[1] & 8 ? 4 + (data[1] >> 4) : 0;
  data += 2, size -= 2;
  int n = (int)(size / (size_t)(3 * width));
  if (n > MAX) n = MAX;
  for (int i = 0; i < 3 * n; i++) x[i] = coordinate(data + i * width, mode);
  kn_hull* h;
  if (kn_hull_create(&h, x, n, &s) == KN_OK) {
    if (!s.max_vertices) check_hull(h, x, n, s.merge);
    kn_hull_destroy(h);
  } else if (h || !strlen(kn_last_error())) {
    abort();
  }
  int nt = n > 3 ? n : 0;
  for (int i = 0; i < 3 * nt; i++) t[i] = data[i] % (n + (n < 250));
  kn_mesh_data soup = {n, nt, x, t};
  kn_mesh* m;
  if (kn_mesh_create(&m, &soup, NULL) == KN_OK) {
    kn_shape shape = {.type = KN_SHAPE_MESH, .mesh = m};
    kn_pose P = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
    double o[3] = {0.1, 0.2, 300}, d[3] = {0.01, 0, -1};
    kn_ray_hit hit;
    kn_massprops mass;
    if (kn_ray_cast(&hit, &shape, &P, o, d, INFINITY) != KN_OK || !isfinite(hit.t)) abort();
    if (kn_shape_massprops(&mass, &shape, 1) == KN_OK && !(isfinite(mass.mass) && isfinite(mass.inertia[0])))
      abort();
    kn_mesh_destroy(m);
  }
  return 0;
}
