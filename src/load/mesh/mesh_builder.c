/* Growing vertex and triangle arrays, and polygons cut into triangles by ears. */
#include "load/mesh/mesh_reader.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"

static kn_status grow(void** array, size_t* room, size_t need, size_t item, const char* name) {
  if (need <= *room) return KN_OK;
  if (need > KN_MESH_MAX_COUNT)
    return kn_fail(KN_NO_ROOM, "%s: more than %d elements", name, KN_MESH_MAX_COUNT);
  size_t next = *room ? *room * 2 : 256;
  if (next < need) next = need;
  void* p = realloc(*array, next * item);
  if (!p) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory for %zu elements", name, next);
  *array = p;
  *room = next;
  return KN_OK;
}

kn_status kn_mesh_builder_vertex(kn_mesh_builder* b, const double x[3]) {
  KN_TRY(grow((void**)&b->vertices, &b->vertex_room, b->nvertex + 1, 3 * sizeof(double), b->name));
  memcpy(b->vertices + 3 * b->nvertex++, x, 3 * sizeof(double));
  return KN_OK;
}

kn_status kn_mesh_builder_triangle(kn_mesh_builder* b, int32_t i, int32_t j, int32_t k) {
  KN_TRY(grow((void**)&b->triangles, &b->triangle_room, b->ntriangle + 1, 3 * sizeof(int32_t), b->name));
  int32_t* t = b->triangles + 3 * b->ntriangle++;
  t[0] = i, t[1] = j, t[2] = k;
  return KN_OK;
}

void kn_mesh_builder_free(kn_mesh_builder* b) {
  free(b->vertices);
  free(b->triangles);
  b->vertices = NULL;
  b->triangles = NULL;
}

kn_status kn_mesh_builder_finish(kn_mesh_data* out, kn_mesh_builder* b) {
  if (!b->nvertex) return kn_fail(KN_BAD_FILE, "%s: the file has no vertices", b->name);
  out->nvertex = (int32_t)b->nvertex;
  out->ntriangle = (int32_t)b->ntriangle;
  out->vertices = b->vertices;
  out->triangles = b->triangles;
  b->vertices = NULL;
  b->triangles = NULL;
  return KN_OK;
}

/* Newell's normal of the loop; its largest component tells which plane to project to. */
static void project_axes(int* u, int* v, const double* x, const int32_t* loop, size_t n) {
  double m[3] = {0, 0, 0};
  for (size_t i = 0; i < n; i++) {
    const double *p = x + 3 * loop[i], *q = x + 3 * loop[(i + 1) % n];
    for (int k = 0; k < 3; k++) {
      int a = (k + 1) % 3, c = (k + 2) % 3;
      m[k] += (p[a] - q[a]) * (p[c] + q[c]);
    }
  }
  int k = 0;
  for (int i = 1; i < 3; i++)
    if (fabs(m[i]) > fabs(m[k])) k = i;
  *u = m[k] >= 0 ? (k + 1) % 3 : (k + 2) % 3;
  *v = m[k] >= 0 ? (k + 2) % 3 : (k + 1) % 3;
}

static double turn(const double* a, const double* b, const double* c, int u, int v) {
  return (b[u] - a[u]) * (c[v] - a[v]) - (b[v] - a[v]) * (c[u] - a[u]);
}

/* No other corner of the loop lies in the triangle at corner i. */
static int is_ear(const double* x, const int32_t* loop, size_t n, size_t i, int u, int v) {
  size_t h = (i + n - 1) % n, j = (i + 1) % n;
  const double *a = x + 3 * loop[h], *b = x + 3 * loop[i], *c = x + 3 * loop[j];
  if (!(turn(a, b, c, u, v) > 0)) return 0;
  for (size_t k = 0; k < n; k++) {
    if (k == h || k == i || k == j) continue;
    const double* p = x + 3 * loop[k];
    if (turn(a, b, p, u, v) > 0 && turn(b, c, p, u, v) > 0 && turn(c, a, p, u, v) > 0) return 0;
  }
  return 1;
}

static int is_convex(const double* x, const int32_t* loop, size_t n, int u, int v) {
  for (size_t i = 0; i < n; i++)
    if (turn(x + 3 * loop[i], x + 3 * loop[(i + 1) % n], x + 3 * loop[(i + 2) % n], u, v) < 0) return 0;
  return 1;
}

static double distance2(const double* a, const double* b) {
  double s = 0;
  for (int k = 0; k < 3; k++) s += (a[k] - b[k]) * (a[k] - b[k]);
  return s;
}

static kn_status fan(kn_mesh_builder* b, const int32_t* loop, size_t n) {
  for (size_t i = 1; i + 1 < n; i++) KN_TRY(kn_mesh_builder_triangle(b, loop[0], loop[i], loop[i + 1]));
  return KN_OK;
}

/* Quads are cut along the shorter diagonal, convex loops as a fan, others by ears (cubic at worst, so loops
   of more than 1000 corners that are not convex are cut as a fan too; their signed area and volume stay
   right). */
kn_status kn_mesh_builder_polygon(kn_mesh_builder* b, int32_t* loop, size_t n) {
  const double* x = b->vertices;
  if (n == 3) return kn_mesh_builder_triangle(b, loop[0], loop[1], loop[2]);
  int u, v;
  project_axes(&u, &v, x, loop, n);
  int convex = is_convex(x, loop, n, u, v);
  if (n == 4 && convex &&
      distance2(x + 3 * loop[1], x + 3 * loop[3]) < distance2(x + 3 * loop[0], x + 3 * loop[2])) {
    KN_TRY(kn_mesh_builder_triangle(b, loop[0], loop[1], loop[3]));
    return kn_mesh_builder_triangle(b, loop[1], loop[2], loop[3]);
  }
  if (convex || n > 1000) return fan(b, loop, n);
  while (n > 3) {
    size_t i = 0;
    while (i < n && !is_ear(x, loop, n, i, u, v)) i++;
    if (i == n) return fan(b, loop, n); /* crosses itself */
    KN_TRY(kn_mesh_builder_triangle(b, loop[(i + n - 1) % n], loop[i], loop[(i + 1) % n]));
    memmove(loop + i, loop + i + 1, (n - i - 1) * sizeof *loop);
    n--;
  }
  return kn_mesh_builder_triangle(b, loop[0], loop[1], loop[2]);
}
