/* Mass properties against MuJoCo's values (table), against integration by meshes, and under motion. */
#include "knuckle/massprops.h"

#include "test.h"

#include <string.h>

#include "base/rng.h"

typedef struct shape_row {
  kn_shape_type type;
  int shell;
  double size[3], mass, quat[4], moments[3];
} shape_row;

typedef struct mesh_row {
  kn_mesh_inertia mode;
  int nvertex, ntriangle;
  double vertices[64];
  int32_t triangles[128];
  double mass, com[3], quat[4], moments[3];
} mesh_row;

typedef struct tensor_row {
  double tensor[6], moments[3], quat[4];
} tensor_row;

#include "massprops_table.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void rotation(double R[9], const double q[4]) {
  double w = q[0], x = q[1], y = q[2], z = q[3];
  double M[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                 2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                 2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
  memcpy(R, M, sizeof M);
}

/* Equal up to the quaternion's sign, or equal as tensors when two moments nearly coincide. */
static void check_frame(const double inertia[6], const double moments[3], const double quat[4], double tol) {
  double d[3], q[4];
  CHECK_OK(kn_principal_axes(d, q, inertia));
  CHECK_NEAR(d[0] / moments[0], 1, tol);
  CHECK_NEAR(d[1] / moments[0], moments[1] / moments[0], tol);
  CHECK_NEAR(d[2] / moments[0], moments[2] / moments[0], tol);
  double same = 0;
  for (int k = 0; k < 4; k++) same += q[k] * quat[k];
  CHECK_NEAR(fabs(same), 1, 1e-9);
}

TEST(shapes_as_in_mujoco) {
  for (size_t i = 0; i < COUNT(shape_table); i++) {
    const shape_row* r = &shape_table[i];
    kn_shape s = {.type = r->type, .size = {r->size[0], r->size[1], r->size[2]}};
    kn_massprops p;
    CHECK_OK(r->shell ? kn_shape_massprops_shell(&p, &s, 730) : kn_shape_massprops(&p, &s, 730));
    /* MuJoCo differences an ellipsoid's layer numerically: 1e-6 */
    double tol = r->shell && r->type == KN_SHAPE_ELLIPSOID ? 2e-5 : 1e-13;
    CHECK_NEAR(p.mass / r->mass, 1, tol);
    /* a single primitive keeps its own axes */
    for (int k = 0; k < 3; k++) CHECK_NEAR(p.inertia[k] / r->moments[k], 1, tol);
    CHECK(r->quat[0] == 1 && p.inertia[3] == 0 && p.inertia[4] == 0 && p.inertia[5] == 0);
  }
}

TEST(meshes_as_in_mujoco) {
  for (size_t i = 0; i < COUNT(mesh_table); i++) {
    const mesh_row* r = &mesh_table[i];
    kn_mesh_data m;
    kn_massprops p;
    CHECK_OK(kn_mesh_data_create(&m, r->vertices, r->nvertex, r->triangles, r->ntriangle));
    CHECK_OK(kn_mesh_data_massprops(&p, &m, r->mode, 730));
    CHECK_NEAR(p.mass / r->mass, 1, 1e-12);
    for (int k = 0; k < 3; k++) CHECK_NEAR(p.com[k], r->com[k], 1e-12);
    check_frame(p.inertia, r->moments, r->quat, 1e-12);
    kn_mesh_data_free(&m);
  }
}

TEST(principal_axes_as_in_mujoco) {
  for (size_t i = 0; i < COUNT(tensor_table); i++) {
    const tensor_row* r = &tensor_table[i];
    check_frame(r->tensor, r->moments, r->quat, 1e-11);
  }
}

TEST(principal_axes_rebuild_the_tensor) {
  kn_rng rng = kn_rng_seed(1);
  for (int trial = 0; trial < 20000; trial++) {
    double I[6], d[3], q[4], R[9], scale = pow(10, kn_rng_range(&rng, -9, 6)), worst = 0, size = 0;
    for (int k = 0; k < 6; k++) I[k] = scale * kn_rng_normal(&rng) * (k < 3 || trial % 2 ? 1 : 1e-6);
    CHECK_OK(kn_principal_axes(d, q, I));
    rotation(R, q);
    for (int k = 0; k < 6; k++) {
      static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
      double s = 0;
      for (int a = 0; a < 3; a++) s += R[3 * row[k] + a] * d[a] * R[3 * col[k] + a];
      worst = fmax(worst, fabs(s - I[k]));
      size = fmax(size, fabs(I[k]));
    }
    /* as MuJoCo, a turn is left out when its cosine exceeds 1 - 1e-12, an angle of 1.4e-6, times D_cc - D_rr
     */
    if (!CHECK_NEAR(worst / size, 0, 6e-6)) return;
    if (!CHECK(d[0] >= d[1] - 1e-12 && d[1] >= d[2] - 1e-12)) return;
  }
  double d[3], q[4], bad[6] = {1, 1, 1, 0, NAN, 0};
  CHECK_STATUS(kn_principal_axes(d, q, bad), KN_NOT_FINITE);
}

/* A fine mesh of a surface of revolution approaches the closed form with the square of the step. */
static void revolve(kn_mesh_data* out, const kn_shape* s, int n) {
  static double x[3 * 80000];
  static int32_t t[3 * 160000];
  int rings = n / 2, nv = 0, nt = 0;
  for (int i = 0; i <= rings; i++)
    for (int j = 0; j < n; j++) {
      double a = M_PI * i / rings, b = 2 * M_PI * j / n, u[3] = {sin(a) * cos(b), sin(a) * sin(b), cos(a)};
      double* y = x + 3 * nv++;
      for (int k = 0; k < 3; k++) y[k] = u[k] * (s->type == KN_SHAPE_ELLIPSOID ? s->size[k] : s->size[0]);
      if (s->type == KN_SHAPE_CAPSULE) y[2] += 2 * i < rings ? s->size[1] : -s->size[1];
    }
  for (int i = 0; i < rings; i++)
    for (int j = 0; j < n; j++) {
      int32_t a = i * n + j, b = i * n + (j + 1) % n, c = a + n, d = b + n;
      int32_t q[6] = {a, c, d, a, d, b};
      memcpy(t + 3 * nt, q, sizeof q);
      nt += 2;
    }
  CHECK_OK(kn_mesh_data_create(out, x, nv, t, nt));
}

TEST(closed_forms_are_limits_of_meshes) {
  kn_shape shapes[] = {{.type = KN_SHAPE_SPHERE, .size = {0.4}},
                       {.type = KN_SHAPE_CAPSULE, .size = {0.3, 0.5}},
                       {.type = KN_SHAPE_ELLIPSOID, .size = {0.3, 0.5, 0.9}}};
  for (size_t i = 0; i < COUNT(shapes); i++)
    for (int shell = 0; shell < 2; shell++) {
      if (shell && shapes[i].type == KN_SHAPE_ELLIPSOID)
        continue; /* even layer: not the even surface density of a mesh */
      double error[2];
      kn_massprops exact, p;
      CHECK_OK(shell ? kn_shape_massprops_shell(&exact, &shapes[i], 2)
                     : kn_shape_massprops(&exact, &shapes[i], 2));
      for (int fine = 0; fine < 2; fine++) {
        kn_mesh_data m;
        revolve(&m, &shapes[i],
                fine ? 200 : 100); /* the capsule needs an odd ring at the waist: rings are even */
        CHECK_OK(kn_mesh_data_massprops(&p, &m, shell ? KN_MESH_INERTIA_SHELL : KN_MESH_INERTIA_EXACT, 2));
        error[fine] = fabs(p.mass - exact.mass) / exact.mass;
        for (int k = 0; k < 3; k++)
          error[fine] = fmax(error[fine], fabs(p.inertia[k] - exact.inertia[k]) / exact.inertia[k]);
        kn_mesh_data_free(&m);
      }
      CHECK(error[1] < 2e-3);
      if (shapes[i].type != KN_SHAPE_CAPSULE) CHECK_NEAR(error[0] / error[1], 4, 0.1);
    }
}

TEST(move_and_add_agree_with_moving_the_mesh) {
  kn_rng rng = kn_rng_seed(2);
  const mesh_row* r = &mesh_table[0];
  for (int trial = 0; trial < 50; trial++) {
    double q[4], n = 0;
    for (int k = 0; k < 4; k++) q[k] = kn_rng_normal(&rng), n += q[k] * q[k];
    for (int k = 0; k < 4; k++) q[k] /= sqrt(n);
    kn_pose pose = {.p = {kn_rng_normal(&rng), kn_rng_normal(&rng), kn_rng_normal(&rng)}};
    rotation(pose.R, q);
    kn_mesh_data m;
    kn_massprops here, there;
    CHECK_OK(kn_mesh_data_create(&m, r->vertices, r->nvertex, r->triangles, r->ntriangle));
    CHECK_OK(kn_mesh_data_massprops(&here, &m, KN_MESH_INERTIA_EXACT, 3));
    CHECK_OK(kn_mesh_data_transform(&m, &pose));
    CHECK_OK(kn_mesh_data_massprops(&there, &m, KN_MESH_INERTIA_EXACT, 3));
    kn_massprops moved = kn_massprops_move(&here, &pose);
    CHECK_ARRAY(moved.com, there.com, 3, 1e-12);
    CHECK_ARRAY(moved.inertia, there.inertia, 6, 1e-12);
    /* two halves of a box are the box */
    kn_shape half = {.type = KN_SHAPE_BOX, .size = {0.5, 0.2, 0.3}},
             whole = {.type = KN_SHAPE_BOX, .size = {1, 0.2, 0.3}};
    kn_massprops a, b, sum, box;
    CHECK_OK(kn_shape_massprops(&a, &half, 5));
    CHECK_OK(kn_shape_massprops(&box, &whole, 5));
    b = a;
    a.com[0] = -0.5, b.com[0] = 0.5;
    a = kn_massprops_move(&a, &pose), b = kn_massprops_move(&b, &pose), box = kn_massprops_move(&box, &pose);
    sum = kn_massprops_add(&a, &b);
    CHECK_ARRAY(sum.com, box.com, 3, 1e-13);
    CHECK_ARRAY(sum.inertia, box.inertia, 6, 1e-13);
    kn_mesh_data_free(&m);
  }
}

TEST(bad_mass_properties_are_refused) {
  kn_massprops p;
  kn_shape s = {.type = KN_SHAPE_BOX, .size = {1, 0, 1}};
  CHECK_STATUS(kn_shape_massprops(&p, &s, 1), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "size[1]");
  s.size[1] = NAN;
  CHECK_STATUS(kn_shape_massprops(&p, &s, 1), KN_BAD_ARGUMENT);
  s.size[1] = 1e200;
  s.size[0] = 1e200;
  CHECK_STATUS(kn_shape_massprops(&p, &s, 1), KN_NOT_FINITE);
  s = (kn_shape){.type = KN_SHAPE_PLANE};
  CHECK_STATUS(kn_shape_massprops(&p, &s, 1), KN_BAD_ARGUMENT);
  s = (kn_shape){.type = KN_SHAPE_HULL};
  CHECK_STATUS(kn_shape_massprops(&p, &s, 1), KN_BAD_ARGUMENT);
  s = (kn_shape){.type = KN_SHAPE_SPHERE, .size = {1}};
  CHECK_STATUS(kn_shape_massprops(&p, &s, -1), KN_BAD_ARGUMENT);
  /* a mesh turned inside out, and a flat one */
  double x[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  int32_t t[12] = {0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2};
  kn_mesh_data m = {4, 4, x, t};
  CHECK_STATUS(kn_mesh_data_massprops(&p, &m, KN_MESH_INERTIA_EXACT, 1), KN_BAD_MODEL);
  CHECK_TEXT(kn_last_error(), "inwards");
  CHECK_OK(kn_mesh_data_massprops(&p, &m, KN_MESH_INERTIA_LEGACY, 1));
  x[11] = 0;
  CHECK_STATUS(kn_mesh_data_massprops(&p, &m, KN_MESH_INERTIA_EXACT, 1), KN_BAD_MODEL);
  CHECK_STATUS(kn_mesh_data_massprops(&p, &m, KN_MESH_INERTIA_CONVEX, 1), KN_BAD_MODEL);
}
