/* kn_model_vary: without a difference the same model; with differences masses, surfaces, sizes and gravity
   are what was asked for, and the motion is that of the changed mechanism. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/dynamics.h"
#include "knuckle/mesh.h"
#include "knuckle/step.h"
#include "model/hull.h"
#include "scene.h"
#include "test.h"

TEST(without_a_difference_it_is_the_same_model) {
  int seen = 0;
  for (const kn_scene* const* s = kn_scenes(); *s; s++) {
    kn_scene_opened* scene;
    kn_model* same;
    if (kn_scene_open(&scene, (*s)->name, NULL, 0) != KN_OK) continue;
    kn_variation none = kn_variation_none();
    if (CHECK_OK(kn_model_vary(&same, scene->model, &none))) {
      if (!CHECK(kn_model_hash(same) == kn_model_hash(scene->model))) printf("  scene %s\n", (*s)->name);
      seen++;
    }
    kn_model_destroy(same);
    kn_scene_close(scene);
  }
  CHECK(seen >= 30);
}

TEST(every_difference_is_made) {
  kn_model *m, *v;
  if (!CHECK_OK(kn_scene_model(&m, "quadruped", NULL, 0))) return;
  int nbody = kn_model_bodies(m), ngeom = kn_model_geoms(m);
  double* mass = malloc((size_t)nbody * sizeof *mass);
  double* mu = malloc((size_t)ngeom * sizeof *mu);
  for (int i = 0; i < nbody; i++) mass[i] = 1.0 + 0.1 * i;
  for (int i = 0; i < ngeom; i++) mu[i] = 2.0 + i;
  kn_variation d = kn_variation_none();
  d.mass = 1.5, d.friction = 0.5, d.restitution = 0.25, d.size = 1.25, d.gravity[0] = 0.75;
  d.body_mass = mass, d.geom_friction = mu;
  if (!CHECK_OK(kn_model_vary(&v, m, &d))) return;
  for (int i = 0; i < nbody; i++) {
    kn_body_def a, b;
    kn_model_body(&a, m, i), kn_model_body(&b, v, i);
    CHECK_REL(b.mass, 1.5 * mass[i] * a.mass, 1e-15); /* two roundings */
    for (int k = 0; k < 6; k++) CHECK_REL(b.inertia[k], 1.5 * mass[i] * a.inertia[k], 1e-15);
  }
  for (int i = 0; i < ngeom; i++) {
    kn_geom_def a, b;
    kn_model_geom(&a, m, i), kn_model_geom(&b, v, i);
    CHECK_REL(b.material.mu, 0.5 * mu[i] * a.material.mu, 1e-15);
    CHECK_NEAR(b.material.e, fmin(1.0, a.material.e + 0.25), 0.0);
    double size = a.body == KN_WORLD ? 1.0 : 1.25;
    for (int k = 0; k < 3; k++) CHECK_REL(b.shape.size[k], size * a.shape.size[k], 1e-15);
  }
  double g[3], h[3];
  kn_model_gravity(g, m), kn_model_gravity(h, v);
  CHECK_NEAR(h[0], g[0] + 0.75, 0.0);
  CHECK_NEAR(h[2], g[2], 0.0);
  CHECK(kn_model_hash(v) != kn_model_hash(m));
  kn_model_destroy(v), kn_model_destroy(m);
  free(mass), free(mu);
}

TEST(what_no_model_can_have_is_refused_by_name) {
  kn_model *m, *v;
  if (!CHECK_OK(kn_scene_model(&m, "stack", NULL, 0))) return;
  kn_variation d = kn_variation_none();
  d.mass = 0.0;
  CHECK_STATUS(kn_model_vary(&v, m, &d), KN_BAD_ARGUMENT);
  CHECK_TEXT(kn_last_error(), "mass 0");
  d = kn_variation_none(), d.size = -1.0;
  CHECK_STATUS(kn_model_vary(&v, m, &d), KN_BAD_ARGUMENT);
  d = kn_variation_none(), d.gravity[1] = NAN;
  CHECK_STATUS(kn_model_vary(&v, m, &d), KN_BAD_ARGUMENT);
  d = kn_variation_none(), d.friction = INFINITY;
  CHECK_STATUS(kn_model_vary(&v, m, &d), KN_BAD_ARGUMENT);
  CHECK(v == NULL);
  kn_model_destroy(m);
}

/* A scaled hull is the hull of the scaled points, made by another way, and outlives the one it was made from. */
static void check_scaled(int n) {
  enum { MOST = 1000 };
  double points[3 * MOST], scaled[3 * MOST];
  uint64_t seed = 9;
  for (int i = 0; i < 3 * n; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    points[i] = (double)(seed >> 11) * 0x1p-53 - 0.3;
    scaled[i] = 2.0 * points[i]; /* a power of two: exact */
  }
  kn_hull *a, *b, *c;
  kn_hull_settings settings = kn_hull_default();
  if (!CHECK_OK(kn_hull_create(&a, points, n, &settings))) return;
  if (!CHECK_OK(kn_hull_create(&b, scaled, n, &settings))) return;
  if (!CHECK_OK(kn_hull_scaled(&c, a, 2.0))) return;
  kn_hull_destroy(a);
  CHECK_INT(c->nv, b->nv);
  CHECK_INT(c->nf, b->nf);
  CHECK_REL(c->volume, b->volume, 1e-14);
  CHECK_ARRAY(c->inertia, b->inertia, 6, 1e-13); /* sums over the faces */
  CHECK_ARRAY(c->centroid, b->centroid, 3, 1e-14);
  CHECK_REL(c->radius, b->radius, 1e-14);
  for (int i = 0; i < c->nf; i++) { /* vertices of a face lie in its plane */
    const double* p = c->plane + 4 * i;
    for (int k = c->face_start[i]; k < c->face_start[i + 1]; k++) {
      int j = c->face_vertex[k];
      CHECK_NEAR(p[0] * c->x[j] + p[1] * c->y[j] + p[2] * c->z[j], p[3], 1e-13);
    }
  }
  for (int i = 0; i < c->nv && c->star; i++) { /* a star holds the neighbours */
    int block = c->star_start[i], j = c->adj[c->adj_start[i]];
    CHECK_NEAR(c->star[3 * KN_HULL_LANES * block], c->x[j], 0.0);
  }
  CHECK((c->start != NULL) == (n == 1000)); /* large hulls have a map of directions */
  for (int i = 0; i < 6 * KN_HULL_MAP * KN_HULL_MAP && c->start; i++) CHECK_INT(c->start[i], b->start[i]);
  if (c->start)
    CHECK((const char*)c->start > c->arena.base && (const char*)c->start < c->arena.base + c->arena.used);
  kn_hull_destroy(b), kn_hull_destroy(c);
}

TEST(a_scaled_hull_is_the_hull_of_the_scaled_points) {
  check_scaled(40);
  check_scaled(1000);
}
