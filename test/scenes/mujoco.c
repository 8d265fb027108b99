/* Mass matrix, bias, passive and motor forces, and acceleration of random trees against MuJoCo, through the
   MJCF writer. The same quantities are compared with the committed table test/oracle/mujoco.txt, so that a
   machine without MuJoCo checks them too. Where it is installed, the table is made by
   KN_ORACLE_TABLE=test/oracle/mujoco.txt build/test/test_scenes_mujoco write_table */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "knuckle/dynamics.h"
#include "mjcf.h"
#include "model/spec.h"
#include "scene.h"
#include "test.h"

#ifdef HAVE_MUJOCO
#include <mujoco/mujoco.h>
#endif

/* Everything MuJoCo can express; planar, universal and cylindrical joints are written as several. */
static kn_random_settings tree_settings(int i, int bodies) {
  kn_random_settings s = kn_random_default(bodies);
  s.joints = ~(1u << KN_JOINT_SCREW);
  s.branch = (i % 5) / 4.0;
  s.roots = i % 3 ? 0.05 : 0.3;
  s.floating = (i % 4) / 3.0;
  s.springs = i % 2;
  s.damping = i % 2;
  s.actuators = i % 7 < 3;
  s.gravcomp = i % 4 == 1;
  return s;
}

typedef struct result {
  int nq, nv, nu;
  double *M, *bias, *passive, *motor, *qacc; /* nv², nv, nv, nv, nv */
} result;

static result result_create(const kn_model* m) {
  size_t n = (size_t)kn_model_nv(m);
  result r = {.nq = kn_model_nq(m), .nv = (int)n, .nu = kn_model_nu(m)};
  r.M = calloc(n * n + 4 * n + 1, sizeof *r.M);
  r.bias = r.M + n * n;
  r.passive = r.bias + n;
  r.motor = r.passive + n;
  r.qacc = r.motor + n;
  return r;
}

static kn_model* make_tree(int i, int bodies) {
  kn_spec* spec;
  kn_model* m = NULL;
  kn_random_settings s = tree_settings(i, bodies);
  kn_spec_create(&spec);
  CHECK_OK(kn_random_spec(spec, 1000 + (uint64_t)i, &s));
  CHECK_OK(kn_compile(&m, spec));
  kn_spec_destroy(spec);
  return m;
}

static double applied(int dof) { return 0.7 * (dof % 5) - 1.1; }

static void set_inputs(kn_state* s, const kn_model* m, int i) {
  kn_random_state(s, m, (uint64_t)i, 1.5, 2.0);
  for (int k = 0; k < kn_model_nu(m); k++) kn_state_ctrl(s)[k] = 0.3 * (k % 7) - 0.8;
}

static void ours(result* r, const kn_model* m, kn_state* s) {
  kn_data* d;
  size_t n = (size_t)r->nv;
  double* tau = calloc(n + 1, sizeof *tau);
  CHECK_OK(kn_data_create(&d, m));
  CHECK_OK(kn_mass_matrix(r->M, m, s, d));
  CHECK_OK(kn_bias_force(r->bias, m, s, d));
  CHECK_OK(kn_passive_force(r->passive, m, s, d));
  CHECK_OK(kn_actuator_force(r->motor, m, s, d));
  for (size_t k = 0; k < n; k++) tau[k] = applied((int)k) + r->passive[k] + r->motor[k];
  CHECK_OK(kn_forward_dynamics(r->qacc, m, s, d, tau));
  kn_data_destroy(d);
  free(tau);
}

static double difference(const double* a, const double* b, int n) {
  double e = 0.0, size = 1.0;
  for (int i = 0; i < n; i++) {
    e = fmax(e, fabs(a[i] - b[i]));
    size = fmax(size, fabs(b[i]));
  }
  return e / size;
}

/* y = M x with x a fixed pattern: one column's worth of numbers that sees every entry. */
static void fold(double* y, const result* r) {
  for (int i = 0; i < r->nv; i++) {
    y[i] = 0.0;
    for (int k = 0; k < r->nv; k++) y[i] += r->M[i * r->nv + k] * (1.0 + 0.1 * (k % 11));
  }
}

#ifdef HAVE_MUJOCO
static mjModel* load(const kn_model* m, bool contact) {
  kn_mjcf_settings settings = {.timestep = 1e-3, .contact = contact};
  char *text = NULL, error[500] = "";
  size_t size;
  FILE* f = open_memstream(&text, &size);
  if (!CHECK_OK(kn_mjcf_write(f, m, &settings))) printf("  %s\n", kn_mjcf_error());
  fclose(f);
  mjSpec* spec = mj_parseXMLString(text, NULL, error, sizeof error);
  mjModel* mj = spec ? mj_compile(spec, NULL) : NULL;
  if (!CHECK(mj != NULL)) printf("  %s %s\n", error, spec ? mjs_getError(spec) : "");
  if (spec) mj_deleteSpec(spec);
  free(text);
  return mj;
}

static bool theirs(result* r, const kn_model* m, kn_state* s) {
  mjModel* mj = load(m, false);
  if (!mj) return false;
  bool same = CHECK_INT(mj->nq, r->nq) && CHECK_INT(mj->nv, r->nv) && CHECK_INT(mj->nu, r->nu);
  if (same) {
    mjData* d = mj_makeData(mj);
    memcpy(d->qpos, kn_state_q(s), (size_t)r->nq * sizeof(double));
    memcpy(d->qvel, kn_state_v(s), (size_t)r->nv * sizeof(double));
    memcpy(d->ctrl, kn_state_ctrl(s), (size_t)r->nu * sizeof(double));
    for (int k = 0; k < r->nv; k++) d->qfrc_applied[k] = applied(k);
    mj_forward(mj, d);
    mj_fullM(mj, d, r->M);
    memcpy(r->bias, d->qfrc_bias, (size_t)r->nv * sizeof(double));
    memcpy(r->passive, d->qfrc_passive, (size_t)r->nv * sizeof(double));
    memcpy(r->motor, d->qfrc_actuator, (size_t)r->nv * sizeof(double));
    memcpy(r->qacc, d->qacc, (size_t)r->nv * sizeof(double));
    mj_deleteData(d);
  }
  mj_deleteModel(mj);
  return same;
}
#endif

TEST(five_hundred_random_trees_agree_with_mujoco) {
#ifndef HAVE_MUJOCO
  SKIP("MuJoCo is not installed (scripts/peers.sh)");
#else
  int count = kn_test_effort() > 1 ? 2000 : 500;
  double worst[5] = {0};
  for (int i = 0; i < count; i++) {
    /* 1 to 200 bodies, most of them small: MuJoCo's dense work grows like n³ */
    kn_model* m = make_tree(i, i % 10 == 9 ? 1 + (i * 7) % 200 : 1 + i % 30);
    kn_state* s;
    if (!m) continue;
    CHECK_OK(kn_state_create(&s, m));
    set_inputs(s, m, i);
    result a = result_create(m), b = result_create(m);
    ours(&a, m, s);
    if (theirs(&b, m, s)) {
      double e[5] = {difference(a.M, b.M, a.nv * a.nv), difference(a.bias, b.bias, a.nv),
                     difference(a.passive, b.passive, a.nv), difference(a.motor, b.motor, a.nv),
                     difference(a.qacc, b.qacc, a.nv)};
      /* the bound of the acceptance test; accelerations lose cond(M) more digits */
      for (int k = 0; k < 5; k++) {
        if (!CHECK_NEAR(e[k], 0.0, 1e-9)) printf("  tree %d, %d dofs, quantity %d\n", i, a.nv, k);
        worst[k] = fmax(worst[k], e[k]);
      }
    }
    free(a.M);
    free(b.M);
    kn_state_destroy(s);
    kn_model_destroy(m);
  }
  printf("%d trees, largest relative differences: M %.1e, bias %.1e, passive %.1e, motors %.1e, acceleration "
         "%.1e\n",
         count, worst[0], worst[1], worst[2], worst[3], worst[4]);
#endif
}

/* Every built-in scene at its beginning: the robots and mechanisms as MuJoCo sees them. */
TEST(scenes_agree_with_mujoco) {
#ifndef HAVE_MUJOCO
  SKIP("MuJoCo is not installed (scripts/peers.sh)");
#else
  int n = 0;
  for (const kn_scene* const* scene = kn_scenes(); *scene; scene++) {
    kn_scene_opened* o;
    kn_state* s;
    if (!CHECK_OK(kn_scene_open(&o, (*scene)->name, NULL, 0))) continue;
    /* large heaps are many times the same ball; MuJoCo refuses bodies without extent (point masses, thin
     * rods) */
    bool skip = kn_model_nv(o->model) > 200 || strncmp((*scene)->name, "a0", 2) == 0;
    if (!skip) {
      CHECK_OK(kn_state_create(&s, o->model));
      CHECK_OK(kn_scene_start(o, s));
      result a = result_create(o->model), b = result_create(o->model);
      ours(&a, o->model, s);
      if (theirs(&b, o->model, s)) {
        bool ok = CHECK_NEAR(difference(a.M, b.M, a.nv * a.nv), 0.0, 1e-12);
        ok &= CHECK_NEAR(difference(a.bias, b.bias, a.nv), 0.0, 1e-12);
        ok &= CHECK_NEAR(difference(a.qacc, b.qacc, a.nv), 0.0, 1e-9);
        if (!ok) printf("  scene %s\n", (*scene)->name);
      }
      free(a.M);
      free(b.M);
      kn_state_destroy(s);
      n++;
    }
    kn_scene_close(o);
  }
  printf("%d scenes\n", n);
#endif
}

/* Which geoms may touch: spheres with a margin of 1 km, so that MuJoCo reports every pair its filter lets
 * pass. */
TEST(contact_filter_is_that_of_mujoco) {
#ifndef HAVE_MUJOCO
  SKIP("MuJoCo is not installed (scripts/peers.sh)");
#else
  kn_rng r = kn_rng_seed(21);
  int allowed = 0, refused = 0;
  for (int i = 0; i < 60; i++) {
    kn_random_settings s = kn_random_default(2 + kn_rng_int(&r, 10));
    s.joints = 1u << KN_JOINT_HINGE | 1u << KN_JOINT_SLIDE | 1u << KN_JOINT_FREE | 1u << KN_JOINT_UNIVERSAL;
    s.geoms = true;
    s.welded = 0.3;
    kn_spec* spec;
    kn_model* m = NULL;
    kn_spec_create(&spec);
    CHECK_OK(kn_random_spec(spec, (uint64_t)i, &s));
    for (int g = 0; g < spec->geom.count; g++) {
      kn_geom_def* d = &spec->geom.at[g];
      d->shape.type = KN_SHAPE_SPHERE;
      d->shape.size[0] = 0.01;
      d->margin = 1000.0;
      d->contype = (uint32_t)kn_rng_int(&r, 4);
      d->conaffinity = (uint32_t)kn_rng_int(&r, 4);
    }
    for (int k = 0; k < 2; k++)
      kn_spec_add_exclusion(spec, kn_rng_int(&r, s.bodies), kn_rng_int(&r, s.bodies + 1) - 1);
    CHECK_OK(kn_compile(&m, spec));
    kn_spec_destroy(spec);
    mjModel* mj = m ? load(m, true) : NULL;
    if (mj) {
      mjData* d = mj_makeData(mj);
      int n = kn_model_geoms(m);
      bool* touch = calloc((size_t)n * (size_t)n, sizeof *touch);
      mj_forward(mj, d);
      for (int c = 0; c < d->ncon; c++) {
        int ids[2];
        for (int k = 0; k < 2; k++) /* MuJoCo sorts geoms by body: back by name, "geomN"; "floor" is 0 */
          ids[k] = atoi(mj_id2name(mj, mjOBJ_GEOM, d->contact[c].geom[k]) + strlen("geom"));
        touch[ids[0] * n + ids[1]] = touch[ids[1] * n + ids[0]] = true;
      }
      for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++) {
          bool ours_may = kn_model_collides(m, a, b);
          if (!CHECK(ours_may == touch[a * n + b]))
            printf("  model %d, geoms %d %d: ours %d\n", i, a, b, ours_may);
          allowed += ours_may;
          refused += !ours_may;
        }
      free(touch);
      mj_deleteData(d);
      mj_deleteModel(mj);
    }
    kn_model_destroy(m);
  }
  CHECK(allowed > 300 && refused > 300);
  printf("%d pairs may touch, %d may not\n", allowed, refused);
#endif
}

/* ---- the table: per tree "tree i bodies nv" and four lines of nv numbers: M x, bias, passive + motor, qacc
 * ---- */

enum { TABLE_TREES = 40 };

#ifdef HAVE_MUJOCO
static int table_bodies(int i) { return 1 + i % 12; }

static void write_row(FILE* f, const double* x, int n) {
  for (int i = 0; i < n; i++) fprintf(f, "%s%.17g", i ? " " : "", x[i]);
  fputc('\n', f);
}

TEST(write_table) {
  const char* path = getenv("KN_ORACLE_TABLE");
  if (!path) SKIP("set KN_ORACLE_TABLE to write the table");
  FILE* f = fopen(path, "w");
  if (!CHECK(f != NULL)) return;
  for (int i = 0; i < TABLE_TREES; i++) {
    kn_model* m = make_tree(i, table_bodies(i));
    kn_state* s;
    kn_state_create(&s, m);
    set_inputs(s, m, i);
    result r = result_create(m);
    double* y = calloc((size_t)r.nv + 1, sizeof *y);
    CHECK(theirs(&r, m, s));
    fprintf(f, "tree %d %d %d\n", i, table_bodies(i), r.nv);
    fold(y, &r);
    write_row(f, y, r.nv);
    write_row(f, r.bias, r.nv);
    for (int k = 0; k < r.nv; k++) y[k] = r.passive[k] + r.motor[k];
    write_row(f, y, r.nv);
    write_row(f, r.qacc, r.nv);
    free(y);
    free(r.M);
    kn_state_destroy(s);
    kn_model_destroy(m);
  }
  fclose(f);
}
#endif

static bool read_row(FILE* f, double* x, int n) {
  for (int i = 0; i < n; i++)
    if (fscanf(f, "%lf", &x[i]) != 1) return false;
  return true;
}

TEST(the_committed_table_of_mujoco_values) {
  FILE* f = fopen(KN_SOURCE_DIR "/test/oracle/mujoco.txt", "r");
  if (!CHECK(f != NULL)) return;
  int i, bodies, nv, trees = 0;
  while (fscanf(f, " tree %d %d %d", &i, &bodies, &nv) == 3) {
    kn_model* m = make_tree(i, bodies);
    kn_state* s;
    if (!m || !CHECK_INT(kn_model_nv(m), nv)) break;
    kn_state_create(&s, m);
    set_inputs(s, m, i);
    result r = result_create(m);
    double *x = calloc((size_t)nv + 1, sizeof *x), *y = calloc((size_t)nv + 1, sizeof *y);
    ours(&r, m, s);
    fold(y, &r);
    CHECK(read_row(f, x, nv));
    CHECK_NEAR(difference(y, x, nv), 0.0, 1e-9);
    CHECK(read_row(f, x, nv));
    CHECK_NEAR(difference(r.bias, x, nv), 0.0, 1e-9);
    CHECK(read_row(f, x, nv));
    for (int k = 0; k < nv; k++) y[k] = r.passive[k] + r.motor[k];
    CHECK_NEAR(difference(y, x, nv), 0.0, 1e-9);
    CHECK(read_row(f, x, nv));
    CHECK_NEAR(difference(r.qacc, x, nv), 0.0, 1e-9);
    free(x);
    free(y);
    free(r.M);
    kn_state_destroy(s);
    kn_model_destroy(m);
    trees++;
  }
  CHECK_INT(trees, TABLE_TREES);
  fclose(f);
}
