#include "floor.h"

#include <math.h>
#include <string.h>

#include "spatial/spatial.h"
#include "test.h"

static void add_plane(kn_spec* spec, double mu, double e, double tilt) {
  kn_geom id;
  kn_geom_def floor = kn_geom_default(KN_SHAPE_PLANE);
  floor.name = "floor";
  floor.body = KN_WORLD;
  floor.material.mu = mu;
  floor.material.e = e;
  floor.quat[0] = cos(tilt / 2);
  floor.quat[2] = sin(tilt / 2);
  kn_spec_add_geom(&id, spec, &floor);
}

kn_spec* kn_floor_spec(double mu, double e, double tilt) {
  kn_spec* spec;
  kn_spec_create(&spec);
  add_plane(spec, mu, e, tilt);
  return spec;
}

kn_body kn_floor_add(kn_spec* spec, const char* name, kn_shape_type type, double sx, double sy, double sz,
                     double mass, const double pos[3], double mu, double e) {
  kn_body_def b = kn_body_default();
  kn_body body;
  kn_joint joint;
  kn_geom geom;
  b.name = name;
  memcpy(b.pos, pos, sizeof b.pos);
  b.inertia_from_geoms = true;
  kn_spec_add_body(&body, spec, &b);
  kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
  j.body = body;
  kn_spec_add_joint(&joint, spec, &j);
  kn_geom_def d = kn_geom_default(type);
  d.body = body;
  d.shape.size[0] = sx, d.shape.size[1] = sy, d.shape.size[2] = sz;
  d.mass = mass;
  d.material.mu = mu;
  d.material.e = e;
  kn_spec_add_geom(&geom, spec, &d);
  return body;
}

kn_model* kn_floor_bodies(int count) {
  kn_spec* spec;
  kn_model* model = NULL;
  kn_spec_create(&spec);
  for (int i = 0; i < count; i++) {
    kn_body_def b = kn_body_default();
    kn_joint_def j = kn_joint_default(KN_JOINT_FREE);
    kn_geom_def g = kn_geom_default(KN_SHAPE_SPHERE);
    kn_joint joint;
    kn_geom geom;
    b.mass = i == 1 ? 10 : 1;
    b.inertia[0] = 0.1 * b.mass, b.inertia[1] = 0.2 * b.mass, b.inertia[2] = 0.15 * b.mass;
    b.pos[0] = 0.7 * i;
    g.shape.size[0] = 0.1;
    kn_spec_add_body(&j.body, spec, &b);
    g.body = j.body;
    kn_spec_add_joint(&joint, spec, &j);
    kn_spec_add_geom(&geom, spec, &g);
  }
  add_plane(spec, 0, 0, 0);
  CHECK_OK(kn_compile(&model, spec));
  kn_spec_destroy(spec);
  return model;
}

bool kn_floor_open(kn_floor* w, kn_spec* spec, const kn_sim_settings* settings) {
  memset(w, 0, sizeof *w);
  bool ok = CHECK_OK(kn_compile(&w->model, spec)) && CHECK_OK(kn_state_create(&w->state, w->model)) &&
            CHECK_OK(kn_sim_create(&w->sim, w->model, settings)) &&
            CHECK_OK(kn_sim_prepare(w->sim, w->state));
  kn_spec_destroy(spec);
  return ok;
}

void kn_floor_close(kn_floor* w) {
  kn_sim_destroy(w->sim);
  kn_state_destroy(w->state);
  kn_model_destroy(w->model);
}

kn_contact kn_random_contact(const kn_model* model, kn_rng* rng, double mu) {
  kn_contact c = {
      .geom_a = kn_rng_int(rng, model->ngeom), .geom_b = kn_rng_int(rng, model->ngeom), .mu = mu, .mu2 = mu};
  double *n = c.frame, *t = c.frame + 3;
  for (int k = 0; k < 3; k++)
    n[k] = kn_rng_normal(rng), t[k] = kn_rng_normal(rng), c.point[k] = kn_rng_range(rng, -1, 1);
  kn_normalize3(n, n);
  kn_axpy3(t, -kn_dot3(n, t), n);
  kn_normalize3(t, t);
  kn_cross3(c.frame + 6, n, t);
  return c;
}
