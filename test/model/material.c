/* Surfaces of pairs, and which geoms may touch. */
#include "model/model.h"

#include "test.h"

TEST(friction_by_priority_then_maximum) {
  kn_material a = kn_material_default(), b = a, m;
  a.mu = 0.3, a.e = 0.2, a.torsion = 0.01;
  b.mu = 0.7, b.e = 0.1;
  kn_material_combine(&m, &a, &b);
  CHECK_NEAR(m.mu, 0.7, 0.0);
  CHECK_NEAR(m.e, 0.2, 0.0);
  CHECK_NEAR(m.torsion, 0.01, 0.0);
  a.priority = 1;
  kn_material_combine(&m, &a, &b);
  CHECK_NEAR(m.mu, 0.3, 0.0);
  b.priority = 2;
  kn_material_combine(&m, &a, &b);
  CHECK_NEAR(m.mu, 0.7, 0.0);
  CHECK_NEAR(m.torsion, 0.0, 0.0);
  CHECK_NEAR(m.e, 0.2, 0.0); /* e is the larger one whatever the priority */
}

TEST(compliance_in_series) {
  kn_material a = kn_material_default(), b = a, m;
  a.law = KN_CONTACT_COMPLIANT, a.K = 300.0, a.C = 3.0;
  kn_material_combine(&m, &a, &b); /* the other one rigid: infinitely stiff */
  CHECK(m.law == KN_CONTACT_COMPLIANT);
  CHECK_NEAR(m.K, 300.0, 0.0);
  CHECK_NEAR(m.Kt, 300.0, 0.0);
  b.law = KN_CONTACT_COMPLIANT, b.K = 600.0, b.C = 6.0, b.Kt = 150.0;
  kn_material_combine(&m, &b, &a);
  CHECK_NEAR(m.K, 200.0, 1e-12);
  CHECK_NEAR(m.C, 2.0, 1e-14);
  CHECK_NEAR(m.Kt, 100.0, 1e-12);
  kn_material x, y;
  kn_material_combine(&x, &a, &b);
  kn_material_combine(&y, &b, &a);
  CHECK(x.K == y.K && x.C == y.C && x.Kt == y.Kt && x.mu == y.mu); /* bitwise symmetric */
  a.law = b.law = KN_CONTACT_RIGID;
  kn_material_combine(&m, &a, &b);
  CHECK(m.law == KN_CONTACT_RIGID && m.K == 0.0);
}

/* floor (world), post (fixed to the world) -> swing (hinge) -> glued (no joint), tip (two hinges); ball
 * (free) */
enum { FLOOR, POST, SWING, GLUED, TIP, BALL, GEOMS };

static kn_model* scene(bool pair, bool exclude, uint32_t ball_bits) {
  kn_spec* s;
  kn_model* m = NULL;
  kn_spec_create(&s);
  kn_body parent[5] = {KN_WORLD, 0, 1, 1, KN_WORLD};
  for (int b = 0; b < 5; b++) {
    kn_body_def d = kn_body_default();
    d.parent = parent[b];
    d.mass = 1.0;
    d.inertia[0] = d.inertia[1] = d.inertia[2] = 1.0;
    kn_spec_add_body(NULL, s, &d);
  }
  kn_body on[4] = {1, 3, 3, 4};
  for (int k = 0; k < 4; k++) {
    kn_joint_def j = kn_joint_default(k == 3 ? KN_JOINT_FREE : KN_JOINT_HINGE);
    j.body = on[k];
    if (k == 2) j.axis[0] = 1.0;
    kn_spec_add_joint(NULL, s, &j);
  }
  for (int g = 0; g < GEOMS; g++) {
    kn_geom_def d = kn_geom_default(g == FLOOR ? KN_SHAPE_PLANE : KN_SHAPE_SPHERE);
    d.body = g - 1;
    d.shape.size[0] = 0.1;
    d.condim = g == BALL ? 4 : 3;
    if (g == BALL) d.contype = ball_bits, d.conaffinity = 0;
    kn_spec_add_geom(NULL, s, &d);
  }
  if (pair) {
    kn_pair_def p = kn_pair_default();
    p.a = TIP, p.b = SWING, p.condim = 1, p.material.mu = 0.05;
    kn_spec_add_pair(s, &p);
  }
  if (exclude) kn_spec_add_exclusion(s, 4, 3);
  CHECK_OK(kn_compile(&m, s));
  kn_spec_destroy(s);
  return m;
}

static bool both(const kn_model* m, int a, int b) {
  bool x = kn_model_collides(m, a, b), y = kn_model_collides(m, b, a);
  CHECK(x == y);
  return x;
}

TEST(filter) {
  kn_model* m = scene(false, false, 1);
  CHECK(!both(m, FLOOR, POST));  /* both fixed */
  CHECK(both(m, FLOOR, SWING));  /* the world is no parent in this sense */
  CHECK(both(m, POST, SWING));   /* nor is a body fixed to it */
  CHECK(!both(m, SWING, GLUED)); /* one link */
  CHECK(!both(m, SWING, TIP));   /* parent and child, two joints between */
  CHECK(!both(m, GLUED, TIP));   /* also through a welded body */
  CHECK(both(m, POST, TIP));     /* grandparent */
  CHECK(both(m, TIP, BALL));
  CHECK(!kn_model_collides(m, 3, 3) && !kn_model_collides(m, -1, 2) && !kn_model_collides(m, 2, GEOMS));
  CHECK_INT(kn_condim_pair(m, TIP, BALL), 4);
  kn_model_destroy(m);
  m = scene(true, true, 1);
  CHECK(both(m, SWING, TIP));  /* explicit pair */
  CHECK(!both(m, TIP, BALL));  /* excluded */
  CHECK(both(m, SWING, BALL)); /* another body */
  kn_material x;
  kn_material_pair(&x, m, SWING, TIP);
  CHECK_NEAR(x.mu, 0.05, 0.0);
  CHECK_INT(kn_condim_pair(m, TIP, SWING), 1);
  kn_material_pair(&x, m, SWING, BALL);
  CHECK_NEAR(x.mu, 1.0, 0.0);
  kn_model_destroy(m);
  m = scene(false, false, 2);
  CHECK(!both(m, TIP, BALL)); /* bits do not meet */
  kn_model_destroy(m);
}
