/* Mass properties of the shapes, closed forms. Solids: textbook. Thin layers of even thickness h on the
   surface have the moments d/dh of the solid grown by h, which gives (mass per area 1): sphere      m = 4πr²,
   I = 2/3 m r² ellipsoid   m = area, C_x/m = a²/5 + 2abc/(5 (ab + bc + ca)) · a … from d/dh of a³bc (4π/15)
     cylinder    side 2πr·2l and two discs πr²;  capsule  side and two half spheres with centre at l + r/2
     box         six rectangles.
   C = ∫x xᵀ about the centre; inertia = tr(C) 1 - C. */
#include "knuckle/massprops.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "math/elementary.h"
#include "model/hull.h"
#include "model/polyhedron.h"
#include "model/spec.h"
#include "model/trimesh.h"

#define PI 3.14159265358979323846

/* Diagonal second moments to inertia. */
static void set_diagonal(kn_massprops* out, double mass, double Cx, double Cy, double Cz) {
  memset(out, 0, sizeof *out);
  out->mass = mass;
  out->inertia[0] = Cy + Cz, out->inertia[1] = Cx + Cz, out->inertia[2] = Cx + Cy;
}

static void from_moments(kn_massprops* out, const kn_moments* m, const double origin[3], double density) {
  kn_moments_inertia(out->com, out->inertia, m);
  for (int k = 0; k < 3; k++) out->com[k] += origin[k];
  for (int k = 0; k < 6; k++) out->inertia[k] *= density;
  out->mass = m->m0 * density;
}

static void solid_capsule(kn_massprops* out, double r, double l) {
  double mc = PI * r * r * 2 * l, ms = 4.0 / 3 * PI * r * r * r;
  /* half spheres: centre of each 3/8 r beyond its flat side, second moment along the axis about the flat side
   * r²/5 */
  double Cz = mc * l * l / 3 + ms * (r * r / 5 + 2 * l * 3.0 / 8 * r + l * l);
  double Cx = mc * r * r / 4 + ms * r * r / 5;
  set_diagonal(out, mc + ms, Cx, Cx, Cz);
}

static void shell_capsule(kn_massprops* out, double r, double l) {
  double mc = 2 * PI * r * 2 * l, ms = 4 * PI * r * r;
  double Cz = mc * l * l / 3 + ms * (r * r / 3 + 2 * l * r / 2 + l * l);
  double Cx = mc * r * r / 2 + ms * r * r / 3;
  set_diagonal(out, mc + ms, Cx, Cx, Cz);
}

static void shell_cylinder(kn_massprops* out, double r, double l) {
  double side = 2 * PI * r * 2 * l, discs = 2 * PI * r * r;
  double Cx = side * r * r / 2 + discs * r * r / 4;
  set_diagonal(out, side + discs, Cx, Cx, side * l * l / 3 + discs * l * l);
}

static void shell_box(kn_massprops* out, const double s[3]) {
  double C[3] = {0, 0, 0}, mass = 0;
  for (int k = 0; k < 3; k++) { /* the two faces normal to axis k */
    double m = 8 * s[(k + 1) % 3] * s[(k + 2) % 3];
    mass += m;
    for (int i = 0; i < 3; i++) C[i] += i == k ? m * s[i] * s[i] : m * s[i] * s[i] / 3;
  }
  set_diagonal(out, mass, C[0], C[1], C[2]);
}

static void shell_ellipsoid(kn_massprops* out, const double s[3]) {
  const double p = 1.6075;
  double ab = s[0] * s[1], bc = s[1] * s[2], ca = s[2] * s[0], abc = s[0] * bc, sum = ab + bc + ca;
  double area = 4 * PI * kn_pow((kn_pow(ab, p) + kn_pow(bc, p) + kn_pow(ca, p)) / 3, 1 / p);
  double C[3];
  for (int k = 0; k < 3; k++) C[k] = area * (s[k] * s[k] / 5 + 2 * abc * s[k] / (5 * sum));
  set_diagonal(out, area, C[0], C[1], C[2]);
}

static void solid_ellipsoid(kn_massprops* out, const double s[3]) {
  double m = 4.0 / 3 * PI * s[0] * s[1] * s[2];
  set_diagonal(out, m, m * s[0] * s[0] / 5, m * s[1] * s[1] / 5, m * s[2] * s[2] / 5);
}

static void solid_box(kn_massprops* out, const double s[3]) {
  double m = 8 * s[0] * s[1] * s[2];
  set_diagonal(out, m, m * s[0] * s[0] / 3, m * s[1] * s[1] / 3, m * s[2] * s[2] / 3);
}

static void solid_cylinder(kn_massprops* out, double r, double l) {
  double m = PI * r * r * 2 * l;
  set_diagonal(out, m, m * r * r / 4, m * r * r / 4, m * l * l / 3);
}

static void solid_hull(kn_massprops* out, const kn_hull* h) {
  out->mass = h->volume;
  memcpy(out->com, h->centroid, sizeof out->com);
  memcpy(out->inertia, h->inertia, sizeof out->inertia);
}

static void shell_hull(kn_massprops* out, const kn_hull* h) {
  kn_moments m = {0};
  for (int32_t f = 0; f < h->nf; f++) {
    const int32_t *v = h->face_vertex + h->face_start[f], n = h->face_start[f + 1] - h->face_start[f];
    for (int32_t i = 1; i + 1 < n; i++) {
      double x[3][3];
      int32_t corner[3] = {v[0], v[i], v[i + 1]};
      for (int c = 0; c < 3; c++)
        x[c][0] = h->x[corner[c]], x[c][1] = h->y[corner[c]], x[c][2] = h->z[corner[c]];
      kn_moments_add_triangle(&m, h->centroid, x[0], x[1], x[2]);
    }
  }
  from_moments(out, &m, h->centroid, 1);
}

static kn_status check_shape(const kn_shape* s, double density) {
  if (!s || s->type < 0 || s->type >= KN_SHAPE_COUNT)
    return kn_fail(KN_BAD_ARGUMENT, "mass properties: no shape");
  if (!(density >= 0) || !isfinite(density))
    return kn_fail(KN_BAD_ARGUMENT, "mass properties: density %g", density);
  if (s->type == KN_SHAPE_PLANE) return kn_fail(KN_BAD_ARGUMENT, "mass properties: a plane has no mass");
  if ((s->type == KN_SHAPE_HULL && !s->hull) || (s->type == KN_SHAPE_MESH && !s->mesh))
    return kn_fail(KN_BAD_ARGUMENT, "mass properties: shape without its hull or mesh");
  for (int k = 0; k < kn_shape_sizes(s->type); k++)
    if (!(s->size[k] > 0) || !isfinite(s->size[k]))
      return kn_fail(KN_BAD_ARGUMENT, "mass properties: size[%d] = %g must be positive and finite", k,
                     s->size[k]);
  return KN_OK;
}

static kn_status finish(kn_massprops* out, double density) {
  out->mass *= density;
  for (int k = 0; k < 6; k++) out->inertia[k] *= density;
  bool finite = isfinite(out->mass);
  for (int k = 0; k < 6; k++) finite = finite && isfinite(out->inertia[k]);
  return finite ? KN_OK : kn_fail(KN_NOT_FINITE, "mass properties: the sizes overflow");
}

static kn_status shape_massprops(kn_massprops* out, const kn_shape* shape, double density, bool shell) {
  KN_REQUIRE(out);
  memset(out, 0, sizeof *out);
  KN_TRY(check_shape(shape, density));
  const double* s = shape->size;
  double ball[3] = {s[0], s[0], s[0]}, sphere = 4 * PI * s[0] * s[0], C = sphere * s[0] * s[0] / 3;
  switch (shape->type) {
  case KN_SHAPE_SPHERE: shell ? set_diagonal(out, sphere, C, C, C) : solid_ellipsoid(out, ball); break;
  case KN_SHAPE_CAPSULE: (shell ? shell_capsule : solid_capsule)(out, s[0], s[1]); break;
  case KN_SHAPE_CYLINDER: (shell ? shell_cylinder : solid_cylinder)(out, s[0], s[1]); break;
  case KN_SHAPE_ELLIPSOID: (shell ? shell_ellipsoid : solid_ellipsoid)(out, s); break;
  case KN_SHAPE_BOX: (shell ? shell_box : solid_box)(out, s); break;
  case KN_SHAPE_HULL: (shell ? shell_hull : solid_hull)(out, shape->hull); break;
  default: {
    const kn_mesh* m = shape->mesh;
    kn_mesh_data view = {m->nvertex, m->ntriangle, m->vertices, m->triangles};
    return kn_mesh_data_massprops(out, &view, shell ? KN_MESH_INERTIA_SHELL : KN_MESH_INERTIA_EXACT, density);
  }
  }
  return finish(out, density);
}

kn_status kn_shape_massprops(kn_massprops* out, const kn_shape* shape, double density) {
  return shape_massprops(out, shape, density, false);
}

kn_status kn_shape_massprops_shell(kn_massprops* out, const kn_shape* shape, double density) {
  return shape_massprops(out, shape, density, true);
}

static const double* corner(const kn_mesh_data* m, int32_t triangle, int c) {
  return m->vertices + 3 * (size_t)m->triangles[3 * (size_t)triangle + c];
}

static kn_moments surface_moments(const kn_mesh_data* mesh, const double origin[3]) {
  kn_moments m = {0};
  for (int32_t i = 0; i < mesh->ntriangle; i++)
    kn_moments_add_triangle(&m, origin, corner(mesh, i, 0), corner(mesh, i, 1), corner(mesh, i, 2));
  return m;
}

static kn_moments volume_moments(const kn_mesh_data* mesh, const double origin[3], bool absolute) {
  kn_moments m = {0};
  for (int32_t i = 0; i < mesh->ntriangle; i++)
    kn_moments_add_tetrahedron(&m, origin, corner(mesh, i, 0), corner(mesh, i, 1), corner(mesh, i, 2),
                               absolute);
  return m;
}

static kn_status convex_massprops(kn_massprops* out, const kn_mesh_data* mesh, double density) {
  kn_hull* hull;
  KN_TRY(kn_hull_create(&hull, mesh->vertices, mesh->nvertex, NULL));
  solid_hull(out, hull);
  kn_hull_destroy(hull);
  return finish(out, density);
}

/* Tetrahedra over the surface's centroid give the centre; tetrahedra over that centre give mass and inertia.
   For a closed surface both passes see the same body; with absolute volumes they do not, and this order is
   MuJoCo's. */
static kn_status volume_massprops(kn_massprops* out, const kn_mesh_data* mesh, const double centroid[3],
                                  bool absolute, double density) {
  kn_moments m = volume_moments(mesh, centroid, absolute);
  double scale = fabs(m.m0);
  if (!(m.m0 > 0) || !isfinite(m.m0))
    return kn_fail(KN_BAD_MODEL,
                   "mesh: volume %g is not positive: triangles face inwards or the surface is open or flat",
                   m.m0);
  double com[3];
  for (int k = 0; k < 3; k++) com[k] = centroid[k] + m.m1[k] / scale;
  m = volume_moments(mesh, com, absolute);
  if (absolute) memset(m.m1, 0, sizeof m.m1); /* the centre stays where the first pass put it */
  from_moments(out, &m, com, density);
  return finish(out, 1);
}

kn_status kn_mesh_data_massprops(kn_massprops* out, const kn_mesh_data* mesh, kn_mesh_inertia mode,
                                 double density) {
  KN_REQUIRE(out && mesh && mesh->nvertex > 0 && density >= 0 && isfinite(density));
  memset(out, 0, sizeof *out);
  if (mode == KN_MESH_INERTIA_CONVEX) return convex_massprops(out, mesh, density);
  kn_moments s = surface_moments(mesh, mesh->vertices);
  if (!(s.m0 > 0) || !isfinite(s.m0))
    return kn_fail(KN_BAD_MODEL, "mesh: surface area %g is not positive", s.m0);
  double centroid[3];
  for (int k = 0; k < 3; k++) centroid[k] = mesh->vertices[k] + s.m1[k] / s.m0;
  if (mode != KN_MESH_INERTIA_SHELL)
    return volume_massprops(out, mesh, centroid, mode == KN_MESH_INERTIA_LEGACY, density);
  s = surface_moments(mesh, centroid);
  from_moments(out, &s, centroid, density);
  return finish(out, 1);
}

kn_massprops kn_massprops_add(const kn_massprops* a, const kn_massprops* b) {
  if (!a || !b) return a ? *a : b ? *b : (kn_massprops){0};
  kn_massprops s = {.mass = a->mass + b->mass};
  if (!(s.mass > 0)) return *a;
  double wa = a->mass / s.mass, wb = b->mass / s.mass, d[3];
  for (int k = 0; k < 3; k++) {
    s.com[k] = wa * a->com[k] + wb * b->com[k];
    d[k] = a->com[k] - b->com[k];
  }
  double m = a->mass * wb, dd = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]; /* reduced mass */
  for (int k = 0; k < 3; k++) s.inertia[k] = a->inertia[k] + b->inertia[k] + m * (dd - d[k] * d[k]);
  s.inertia[3] = a->inertia[3] + b->inertia[3] - m * d[0] * d[1];
  s.inertia[4] = a->inertia[4] + b->inertia[4] - m * d[0] * d[2];
  s.inertia[5] = a->inertia[5] + b->inertia[5] - m * d[1] * d[2];
  return s;
}

kn_massprops kn_massprops_move(const kn_massprops* a, const kn_pose* pose) {
  if (!a || !pose) return a ? *a : (kn_massprops){0};
  const double *R = pose->R, *I = a->inertia;
  double T[3][3], J[3][3], S[3][3] = {{I[0], I[3], I[4]}, {I[3], I[1], I[5]}, {I[4], I[5], I[2]}};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      T[i][j] = R[3 * i] * S[0][j] + R[3 * i + 1] * S[1][j] + R[3 * i + 2] * S[2][j];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      J[i][j] = T[i][0] * R[3 * j] + T[i][1] * R[3 * j + 1] + T[i][2] * R[3 * j + 2];
  kn_massprops out = {.mass = a->mass, .inertia = {J[0][0], J[1][1], J[2][2], J[0][1], J[0][2], J[1][2]}};
  for (int k = 0; k < 3; k++)
    out.com[k] = R[3 * k] * a->com[0] + R[3 * k + 1] * a->com[1] + R[3 * k + 2] * a->com[2] + pose->p[k];
  return out;
}
