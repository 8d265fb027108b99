/* Watertight ray-triangle test (Woop, Benthin and Wald 2013): axes are permuted so that |d_z| is largest and
   sheared so that the ray runs along z; then the signs of three edge functions decide, and a shared edge gets
   exactly opposite values from its two triangles. Zero counts as inside. Nodes are visited nearest first. */
#include "collide/distance/mesh_ray.h"

#include <math.h>

typedef struct ray {
  double o[3], d[3], inv[3];
  int x, y, z;       /* permuted axes */
  double sx, sy, sz; /* shear */
} ray;

static ray make_ray(const double o[3], const double d[3]) {
  ray r;
  for (int k = 0; k < 3; k++) r.o[k] = o[k], r.d[k] = d[k], r.inv[k] = 1 / d[k];
  r.z = fabs(d[0]) > fabs(d[1]) ? (fabs(d[0]) > fabs(d[2]) ? 0 : 2) : (fabs(d[1]) > fabs(d[2]) ? 1 : 2);
  r.x = (r.z + 1) % 3, r.y = (r.z + 2) % 3;
  if (d[r.z] < 0) { /* keep the sense of rotation */
    int swap = r.x;
    r.x = r.y, r.y = swap;
  }
  r.sx = d[r.x] / d[r.z], r.sy = d[r.y] / d[r.z], r.sz = 1 / d[r.z];
  return r;
}

/* Entry into the node's box, or INFINITY. Bounds are rounded outwards; the exit is lengthened by the rounding
   of the slab arithmetic (Ize 2013), so a box is never missed. */
static double enter(const ray* r, const kn_mesh_node* n, double t_max) {
  double t0 = 0, t1 = t_max;
  for (int k = 0; k < 3; k++) {
    if (r->d[k] == 0) {
      if (r->o[k] < n->lo[k] || r->o[k] > n->hi[k]) return INFINITY;
      continue;
    }
    double a = (n->lo[k] - r->o[k]) * r->inv[k], b = (n->hi[k] - r->o[k]) * r->inv[k];
    double near = a < b ? a : b, far = a < b ? b : a;
    t0 = near > t0 ? near : t0;
    t1 = far < t1 ? far : t1;
  }
  return t0 * (1 - 1e-14) <= t1 * (1 + 1e-14) ? t0 : INFINITY;
}

static void shear(double out[3], const ray* r, const double* v) {
  double x = v[r->x] - r->o[r->x], y = v[r->y] - r->o[r->y], z = v[r->z] - r->o[r->z];
  out[0] = x - r->sx * z, out[1] = y - r->sy * z, out[2] = r->sz * z;
}

static double triangle(const kn_mesh* m, const ray* r, int32_t t) {
  double a[3], b[3], c[3];
  const int32_t* v = m->triangles + 3 * (size_t)t;
  shear(a, r, m->vertices + 3 * (size_t)v[0]);
  shear(b, r, m->vertices + 3 * (size_t)v[1]);
  shear(c, r, m->vertices + 3 * (size_t)v[2]);
  double u = c[0] * b[1] - c[1] * b[0], w = a[0] * c[1] - a[1] * c[0], s = b[0] * a[1] - b[1] * a[0];
  if ((u < 0 || w < 0 || s < 0) && (u > 0 || w > 0 || s > 0)) return INFINITY;
  double det = u + w + s;
  if (det == 0) return INFINITY; /* edge on */
  double hit = (u * a[2] + w * b[2] + s * c[2]) / det;
  return hit >= 0 ? hit : INFINITY;
}

int32_t kn_mesh_ray(const kn_mesh* mesh, double* t, const double o[3], const double d[3]) {
  ray r = make_ray(o, d);
  int32_t stack[KN_MESH_STACK], top = 0, best = -1;
  if (enter(&r, mesh->nodes, *t) < INFINITY) stack[top++] = 0;
  while (top) {
    const kn_mesh_node* n = &mesh->nodes[stack[--top]];
    if (enter(&r, n, *t) == INFINITY) continue;
    for (int32_t i = n->first; i < n->first + n->count; i++) {
      int32_t k = mesh->order[i];
      double hit = triangle(mesh, &r, k);
      if (hit > *t || hit == INFINITY || (hit == *t && best >= 0 && k > best)) continue;
      *t = hit;
      best = k;
    }
    if (n->count) continue;
    const kn_mesh_node* child = &mesh->nodes[n->first];
    double t0 = enter(&r, child, *t), t1 = enter(&r, child + 1, *t);
    int32_t near = t0 <= t1 ? n->first : n->first + 1;
    if (fmax(t0, t1) < INFINITY) stack[top++] = 2 * n->first + 1 - near;
    if (fmin(t0, t1) < INFINITY) stack[top++] = near;
  }
  return best;
}
