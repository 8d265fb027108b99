/* A model as bytes: the same hash, the same run, and no damage goes unnoticed. */
#include "knuckle/archive.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "knuckle/load.h"
#include "knuckle/mesh.h"
#include "scene.h"
#include "test.h"

static kn_model* again(const kn_model* model) {
  void* bytes;
  size_t size;
  kn_model* copy = NULL;
  if (CHECK_OK(kn_model_save(&bytes, &size, model))) CHECK_OK(kn_model_load(&copy, bytes, size));
  kn_archive_free(bytes);
  return copy;
}

TEST(every_scene_has_the_same_hash_again) {
  for (const kn_scene* const* s = kn_scenes(); *s; s++) {
    kn_model* model;
    if (!CHECK_OK(kn_scene_model(&model, (*s)->name, NULL, 0))) continue;
    bool function = false; /* a motion that is a function cannot be saved */
    for (int i = 0; i < kn_model_loops(model); i++) {
      kn_loop_def d;
      CHECK_OK(kn_model_loop(&d, model, i));
      function |= d.motion.kind == KN_MOTION_CALLBACK;
    }
    kn_model* copy = function ? NULL : again(model);
    if (!function) CHECK(copy && kn_model_hash(copy) == kn_model_hash(model));
    kn_model_destroy(copy);
    kn_model_destroy(model);
  }
}

TEST(random_models_have_the_same_hash_again) {
  for (uint64_t seed = 0; seed < 100; seed++) {
    kn_random_settings r = kn_random_default(1 + (int)(seed % 12));
    r.geoms = r.limits = r.springs = r.damping = r.armature = r.friction = r.actuators = r.gravcomp = true;
    r.loops = (int)(seed % 3);
    kn_spec* spec;
    kn_model *model = NULL, *copy;
    CHECK_OK(kn_spec_create(&spec));
    if (CHECK_OK(kn_random_spec(spec, seed, &r)) && CHECK_OK(kn_compile(&model, spec)) &&
        (copy = again(model))) {
      CHECK(kn_model_hash(copy) == kn_model_hash(model));
      kn_model_destroy(copy);
    }
    kn_model_destroy(model);
    kn_spec_destroy(spec);
  }
}

/* Rounded points give faces with many corners, and a hull of them would be made otherwise the second time. */
static kn_model* with_hull(uint64_t seed) {
  kn_rng rng = kn_rng_seed(seed);
  double x[300];
  for (int i = 0; i < 300; i++) x[i] = 0.125 * (double)(int)(8.0 * (2.0 * kn_rng_unit(&rng) - 1.0)) / 3.0;
  kn_spec* spec;
  kn_hull* hull;
  kn_model* model = NULL;
  kn_body_def b = kn_body_default();
  b.inertia_from_geoms = true;
  kn_geom_def g = kn_geom_default(KN_SHAPE_HULL);
  kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
  const double q[] = {0, 0, 1, 1, 0, 0, 0};
  kn_keyframe_def key = {.name = "start", .time = 0.5, .q = q, .nq = 7};
  if (!CHECK_OK(kn_spec_create(&spec)) || !CHECK_OK(kn_hull_create(&hull, x, 100, NULL))) return NULL;
  g.shape.hull = hull;
  g.own_shape = true;
  CHECK_OK(kn_spec_add_body(&j.body, spec, &b));
  g.body = j.body;
  CHECK_OK(kn_spec_add_joint(NULL, spec, &j));
  CHECK_OK(kn_spec_add_geom(NULL, spec, &g));
  CHECK_OK(kn_spec_add_keyframe(spec, &key));
  CHECK_OK(kn_compile(&model, spec));
  kn_spec_destroy(spec);
  return model;
}

TEST(hulls_keep_their_faces_and_keyframes_are_there) {
  for (uint64_t seed = 0; seed < 20; seed++) {
    kn_model *model = with_hull(seed), *copy = model ? again(model) : NULL;
    if (!CHECK(copy)) continue;
    kn_geom_def a, b;
    int32_t n[2][3];
    CHECK(kn_model_hash(copy) == kn_model_hash(model));
    CHECK_OK(kn_model_geom(&a, model, 0));
    CHECK_OK(kn_model_geom(&b, copy, 0));
    kn_hull_counts(a.shape.hull, &n[0][0], &n[0][1], &n[0][2]);
    kn_hull_counts(b.shape.hull, &n[1][0], &n[1][1], &n[1][2]);
    CHECK(memcmp(n[0], n[1], sizeof n[0]) == 0);
    kn_keyframe_def k;
    CHECK_OK(kn_model_keyframe(&k, copy, 0));
    CHECK(strcmp(k.name, "start") == 0 && k.time == 0.5 && k.q && k.q[2] == 1.0 && !k.v && !k.ctrl);
    kn_model_destroy(model);
    kn_model_destroy(copy);
  }
}

TEST(every_changed_byte_is_refused) {
  kn_model *model = with_hull(3), *copy;
  void* bytes;
  size_t size;
  if (!CHECK(model) || !CHECK_OK(kn_model_save(&bytes, &size, model))) return;
  unsigned char* x = bytes;
  for (size_t i = 0; i < size; i += 7) {
    x[i] ^= 0x40;
    CHECK_STATUS(kn_model_load(&copy, bytes, size), KN_BAD_FILE);
    x[i] ^= 0x40;
  }
  for (size_t n = 0; n < size; n += 13) CHECK_STATUS(kn_model_load(&copy, bytes, n), KN_BAD_FILE);
  CHECK_OK(kn_model_load(&copy, bytes, size));
  kn_model_destroy(copy);
  kn_model_destroy(model);
  kn_archive_free(bytes);
}

TEST(triangles_of_a_mesh_come_back) {
  const double x[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  const int32_t t[] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2};
  kn_mesh_data in, out;
  kn_mesh* mesh;
  CHECK_OK(kn_mesh_data_create(&in, x, 4, t, 4));
  CHECK_OK(kn_mesh_create(&mesh, &in, NULL));
  CHECK_OK(kn_mesh_triangles(&out, mesh));
  CHECK(out.nvertex == 4 && out.ntriangle == 4);
  CHECK(memcmp(out.vertices, x, sizeof x) == 0 && memcmp(out.triangles, t, sizeof t) == 0);
  kn_mesh_data_free(&in);
  kn_mesh_data_free(&out);
  kn_mesh_destroy(mesh);
}
