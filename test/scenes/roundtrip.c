/* Model -> MJCF text -> loader -> model: the same mechanism comes back, for random models and for every
 * scene. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/dynamics.h"
#include "knuckle/load.h"
#include "mjcf.h"
#include "model/model.h"
#include "model/spec.h"
#include "scene.h"
#include "test.h"

static kn_model* reload(const kn_model* m) {
  char* text = NULL;
  size_t size;
  FILE* f = open_memstream(&text, &size);
  kn_spec* spec = NULL;
  kn_load_report* report = NULL;
  kn_model* copy = NULL;
  kn_status written = kn_mjcf_write(f, m, NULL);
  fclose(f);
  if (written == KN_OK && CHECK_OK(kn_load_text(&spec, &report, "written.xml", text, size, NULL))) {
    CHECK_OK(kn_compile(&copy, spec));
    kn_load_report_free(report);
    kn_spec_destroy(spec);
  }
  if (written != KN_OK) {
    CHECK_STATUS(written, KN_UNSUPPORTED);
    CHECK(*kn_mjcf_error());
  }
  free(text);
  return copy;
}

static double difference(const double* a, const double* b, int n) {
  double e = 0.0, size = 1.0;
  for (int i = 0; i < n; i++) {
    e = fmax(e, fabs(a[i] - b[i]));
    size = fmax(size, fabs(b[i]));
  }
  return e / size;
}

/* Acceleration under passive and motor forces: sees every joint, inertia, spring, damper and motor. */
static void accelerate(double* qdd, const kn_model* m, const double* q, const double* v) {
  kn_state* s;
  kn_data* d;
  int n = kn_model_nv(m);
  double *tau = calloc((size_t)n + 1, sizeof *tau), *motor = calloc((size_t)n + 1, sizeof *motor);
  kn_state_create(&s, m);
  kn_data_create(&d, m);
  memcpy(kn_state_q(s), q, (size_t)kn_model_nq(m) * sizeof *q);
  memcpy(kn_state_v(s), v, (size_t)n * sizeof *v);
  for (int i = 0; i < kn_model_nu(m); i++) kn_state_ctrl(s)[i] = 0.1 * i - 0.2;
  CHECK_OK(kn_passive_force(tau, m, s, d));
  CHECK_OK(kn_actuator_force(motor, m, s, d));
  for (int i = 0; i < n; i++) tau[i] += motor[i];
  CHECK_OK(kn_forward_dynamics(qdd, m, s, d, tau));
  kn_data_destroy(d);
  kn_state_destroy(s);
  free(tau);
  free(motor);
}

static bool same_contacts(const kn_model* a, const kn_model* b) {
  for (int g = 0; g < a->ngeom; g++) { /* geoms come back sorted by body: found by name */
    char name[32];
    kn_geom other;
    snprintf(name, sizeof name, "geom%d", g);
    if (!CHECK_OK(kn_model_find_geom(&other, b, *a->geom[g].name ? a->geom[g].name : name))) return false;
    const kn_geom_def *x = &a->geom[g], *y = &b->geom[other];
    bool ok = CHECK_INT(x->shape.type, y->shape.type) && CHECK_INT(x->condim, y->condim);
    ok = ok && (x->shape.type == KN_SHAPE_PLANE || CHECK_ARRAY(x->shape.size, y->shape.size, 1, 1e-15));
    ok = ok && CHECK_NEAR(y->material.mu, x->material.mu, 1e-15) && CHECK_INT(x->contype, y->contype);
    ok = ok && CHECK_INT(x->conaffinity, y->conaffinity);
    ok = ok && CHECK_ARRAY(y->pos, x->pos, 3, 1e-15) && CHECK_ARRAY(y->quat, x->quat, 4, 1e-15);
    if (!ok) return false;
  }
  return true;
}

static bool same(const kn_model* a, const kn_model* b, uint64_t seed) {
  bool ok = CHECK_INT(b->nq, a->nq) && CHECK_INT(b->nv, a->nv) && CHECK_INT(b->nu, a->nu);
  ok = ok && CHECK_INT(b->nlink, a->nlink) && CHECK_INT(b->ngeom, a->ngeom) && CHECK_INT(b->nloop, a->nloop);
  ok = ok && CHECK_INT(b->nlimit, a->nlimit) && CHECK_INT(b->nbody, a->nbody);
  if (!ok) return false;
  kn_state* s;
  kn_state_create(&s, a);
  kn_random_state(s, a, seed, 1.0, 1.0);
  double *x = calloc((size_t)a->nv + 1, sizeof *x), *y = calloc((size_t)a->nv + 1, sizeof *y);
  accelerate(x, a, kn_state_q(s), kn_state_v(s));
  accelerate(y, b, kn_state_q(s), kn_state_v(s));
  /* rewritten numbers differ in the last bit (axes and quaternions made unit again), times cond(M) */
  ok = CHECK_NEAR(difference(y, x, a->nv), 0.0, 1e-10);
  ok = CHECK_ARRAY(b->friction, a->friction, (size_t)a->nv, 1e-15) && ok;
  double low[2] = {0},
         high[2] = {0}; /* joints are numbered in another order: sums weighted by the coordinate */
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < a->nlimit; i++) {
      const kn_limit* l = &(k ? b : a)->limit[i];
      (l->side > 0 ? low : high)[k] += l->bound * (1.0 + l->q);
    }
  ok = CHECK_REL(low[1], low[0], 1e-12) && CHECK_REL(high[1], high[0], 1e-12) && ok;
  for (int i = 0; i < a->nloop; i++) ok = CHECK_INT(b->loop[i].type, a->loop[i].type) && ok;
  ok = same_contacts(a, b) && ok;
  free(x);
  free(y);
  kn_state_destroy(s);
  return ok;
}

TEST(random_models_come_back) {
  int n = 0;
  for (int i = 0; i < 150; i++) {
    kn_random_settings s = kn_random_default(1 + i % 25);
    s.joints = ~(1u << KN_JOINT_SCREW);
    s.geoms = s.limits = s.springs = s.damping = s.friction = s.actuators = s.gravcomp = true;
    s.loops = i % 3;
    kn_spec* spec;
    kn_model *m = NULL, *copy;
    kn_spec_create(&spec);
    CHECK_OK(kn_random_spec(spec, 5000 + (uint64_t)i, &s));
    for (int k = 0; k < spec->loop.count; k++)
      if (spec->loop.at[k].type == KN_LOOP_DISTANCE) spec->loop.at[k].type = KN_LOOP_CONNECT;
    CHECK_OK(kn_compile(&m, spec));
    kn_spec_destroy(spec);
    copy = m ? reload(m) : NULL;
    if (CHECK(copy != NULL) && !same(m, copy, (uint64_t)i)) printf("  random model %d\n", i);
    n += copy != NULL;
    kn_model_destroy(copy);
    kn_model_destroy(m);
  }
  printf("%d models\n", n);
}

TEST(scenes_come_back) {
  int n = 0;
  for (const kn_scene* const* scene = kn_scenes(); *scene; scene++) {
    kn_model* m;
    if (!CHECK_OK(kn_scene_model(&m, (*scene)->name, NULL, 0))) continue;
    bool point_masses =
        strncmp((*scene)->name, "a0", 2) == 0; /* thin rods: refused by the loader's inertia rule */
    kn_model* copy = point_masses ? NULL : reload(m);
    if (copy && !same(m, copy, 1)) printf("  scene %s\n", (*scene)->name);
    n += copy != NULL;
    kn_model_destroy(copy);
    kn_model_destroy(m);
  }
  CHECK(n >= 25);
  printf("%d scenes\n", n);
}

TEST(what_mujoco_cannot_say_is_refused_by_name) {
  kn_spec* spec;
  kn_model* m;
  kn_spec_create(&spec);
  kn_body_def b = kn_body_default();
  b.mass = b.inertia[0] = b.inertia[1] = b.inertia[2] = 1.0;
  kn_spec_add_body(NULL, spec, &b);
  kn_joint_def j = kn_joint_default(KN_JOINT_SCREW);
  j.body = 0;
  j.name = "drill";
  kn_spec_add_joint(NULL, spec, &j);
  CHECK_OK(kn_compile(&m, spec));
  FILE* f = tmpfile();
  CHECK_STATUS(kn_mjcf_write(f, m, NULL), KN_UNSUPPORTED);
  CHECK_TEXT(kn_mjcf_error(), "drill");
  fclose(f);
  CHECK_STATUS(kn_mjcf_write(NULL, m, NULL), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_mjcf_save("/no/such/folder/x.xml", m, NULL), KN_IO);
  kn_model_destroy(m);
  kn_spec_destroy(spec);
}
