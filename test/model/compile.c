/* Bodies to links, against poses composed by hand and against sums of point masses. */
#include "model/compile/compile.h"

#include <string.h>

#include "base/rng.h"
#include "knuckle/mesh.h"
#include "knuckle/model.h"
#include "spatial/spatial.h"
#include "test.h"

static kn_body_def solid(const char* name, kn_body parent) {
  kn_body_def b = kn_body_default();
  b.name = name;
  b.parent = parent;
  b.mass = 1.0;
  b.inertia[0] = b.inertia[1] = b.inertia[2] = 0.1;
  return b;
}

static kn_joint add_joint(kn_spec* s, kn_body b, kn_joint_type type, const char* name) {
  kn_joint_def d = kn_joint_default(type);
  kn_joint id = -1;
  d.body = b;
  d.name = name;
  CHECK_OK(kn_spec_add_joint(&id, s, &d));
  return id;
}

/* World pose of a link at given coordinates, by the table at the head of model.h. */
static kn_pose link_pose(const kn_model* m, int i, const double* q) {
  const kn_link* l = &m->link[i];
  kn_pose P = kn_pose_identity(), F;
  memcpy(F.R, l->R0, sizeof F.R);
  memcpy(F.p, l->p0, sizeof F.p);
  double x = l->nv == 1 ? q[l->q] - l->ref : 0.0, c = cos(x), s = sin(x);
  if (l->type == KN_LINK_HINGE || l->type == KN_LINK_SCREW) P.R[0] = P.R[4] = c, P.R[1] = -s, P.R[3] = s;
  if (l->type == KN_LINK_SLIDE) P.p[2] = x;
  if (l->type == KN_LINK_SCREW) P.p[2] = l->pitch * x;
  if (l->type == KN_LINK_BALL) kn_quat_to_matrix(P.R, &q[l->q]);
  if (l->type == KN_LINK_FREE) return kn_pose_make(&q[l->q], &q[l->q + 3]);
  kn_pose X = kn_pose_mul(&F, &P);
  if (l->parent < 0) return X;
  kn_pose up = link_pose(m, l->parent, q);
  return kn_pose_mul(&up, &X);
}

static kn_pose body_pose(const kn_model* m, kn_body b, const double* q) {
  if (m->place[b].link < 0) return m->place[b].in_link;
  kn_pose L = link_pose(m, m->place[b].link, q);
  return kn_pose_mul(&L, &m->place[b].in_link);
}

static kn_pose turn(const double axis[3], double angle, const double anchor[3]) {
  double u[3] = {axis[0], axis[1], axis[2]}, q[4], back[3];
  kn_unit3(u);
  q[0] = cos(angle / 2);
  for (int i = 0; i < 3; i++) q[i + 1] = sin(angle / 2) * u[i];
  kn_pose X = kn_pose_make(anchor, q);
  kn_mul33v(back, X.R, anchor);
  for (int i = 0; i < 3; i++) X.p[i] -= back[i];
  return X;
}

static kn_pose move(const double axis[3], double x) {
  kn_pose X = kn_pose_identity();
  double u[3] = {axis[0], axis[1], axis[2]};
  kn_unit3(u);
  for (int i = 0; i < 3; i++) X.p[i] = u[i] * x;
  return X;
}

/* X_parent X_ref J_1 … J_k written out by the definition of each joint type. */
static kn_pose expected_pose(const kn_model* m, kn_body b, const double* q) {
  kn_pose X = m->body[b].parent == KN_WORLD ? kn_pose_identity() : expected_pose(m, m->body[b].parent, q);
  kn_pose local = kn_pose_make(m->body[b].pos, m->body[b].quat);
  X = kn_pose_mul(&X, &local);
  for (int j = 0; j < m->njoint; j++) {
    const kn_joint_def* d = &m->joint[j];
    if (d->body != b) continue;
    int a;
    kn_model_joint_address(&a, NULL, NULL, NULL, m, j);
    kn_pose J[3];
    int n = 0;
    double y[3], x2[3], x = q[a] - d->ref[0];
    switch (d->type) {
    case KN_JOINT_HINGE: J[n++] = turn(d->axis, x, d->pos); break;
    case KN_JOINT_SLIDE: J[n++] = move(d->axis, x); break;
    case KN_JOINT_SCREW:
      J[n++] = turn(d->axis, x, d->pos);
      J[n++] = move(d->axis, d->pitch * x);
      break;
    case KN_JOINT_CYLINDRICAL:
      J[n++] = move(d->axis, x);
      J[n++] = turn(d->axis, q[a + 1] - d->ref[1], d->pos);
      break;
    case KN_JOINT_UNIVERSAL:
      J[n++] = turn(d->axis, x, d->pos);
      J[n++] = turn(d->axis2, q[a + 1] - d->ref[1], d->pos);
      break;
    case KN_JOINT_PLANAR:
      kn_cross3(y, d->axis, d->axis2);
      kn_cross3(x2, y, d->axis);
      J[n++] = move(x2, x);
      J[n++] = move(y, q[a + 1] - d->ref[1]);
      J[n++] = turn(d->axis, q[a + 2] - d->ref[2], d->pos);
      break;
    case KN_JOINT_BALL: {
      double zero[3] = {0}, back[3];
      J[n] = kn_pose_make(zero, &q[a]);
      kn_mul33v(back, J[n].R, d->pos);
      for (int i = 0; i < 3; i++) J[n].p[i] = d->pos[i] - back[i];
      n++;
      break;
    }
    case KN_JOINT_FREE: return kn_pose_make(&q[a], &q[a + 3]);
    default: break;
    }
    for (int k = 0; k < n; k++) X = kn_pose_mul(&X, &J[k]);
  }
  return X;
}

static void random_vector(double x[3], kn_rng* r) {
  for (int i = 0; i < 3; i++) x[i] = kn_rng_normal(r);
}

static kn_model* random_model(kn_rng* r, int bodies) {
  kn_spec* s;
  kn_model* m = NULL;
  kn_spec_create(&s);
  for (int b = 0; b < bodies; b++) {
    kn_body_def d = solid("", b ? kn_rng_int(r, b + 1) - 1 : KN_WORLD);
    random_vector(d.pos, r);
    random_vector(d.com, r);
    for (int i = 0; i < 4; i++) d.quat[i] = kn_rng_normal(r), d.inertia_quat[i] = kn_rng_normal(r);
    kn_spec_add_body(NULL, s, &d);
    int n = kn_rng_int(r, 3);
    for (int k = 0; k < n; k++) {
      kn_joint_def j = kn_joint_default((kn_joint_type)kn_rng_int(r, KN_JOINT_TYPE_COUNT));
      j.body = b;
      if (j.type == KN_JOINT_FREE && (d.parent != KN_WORLD || n != 1)) j.type = KN_JOINT_BALL;
      random_vector(j.pos, r);
      random_vector(j.axis, r);
      random_vector(j.axis2, r);
      random_vector(j.ref, r);
      j.pitch = 0.3;
      j.armature = 0.01; /* several joints may happen to be redundant */
      kn_spec_add_joint(NULL, s, &j);
    }
  }
  CHECK_OK(kn_compile(&m, s));
  kn_spec_destroy(s);
  return m;
}

static void random_q(double* q, const kn_model* m, kn_rng* r) {
  for (int i = 0; i < m->nq; i++) q[i] = kn_rng_normal(r);
  for (int i = 0; i < m->nlink; i++) {
    if (m->link[i].type == KN_LINK_BALL) kn_quat_unit(&q[m->link[i].q]);
    if (m->link[i].type == KN_LINK_FREE) kn_quat_unit(&q[m->link[i].q + 3]);
  }
}

TEST(poses_of_random_trees_follow_the_definition) {
  kn_rng r = kn_rng_seed(1);
  for (int k = 0; k < 200; k++) {
    kn_model* m = random_model(&r, 1 + kn_rng_int(&r, 12));
    if (!m) return;
    double q[256];
    random_q(q, m, &r);
    for (int b = 0; b < m->nbody; b++) {
      kn_pose got = body_pose(m, b, q), want = expected_pose(m, b, q);
      /* products of at most 12 x 8 poses, each exact to a few ulp of sizes below 100 */
      CHECK_ARRAY(got.R, want.R, 9, 1e-12);
      CHECK_ARRAY(got.p, want.p, 3, 1e-12);
    }
    for (int i = 0; i < m->nlink; i++) {
      CHECK(m->link[i].parent < i);
      CHECK(m->link[i].end > i && m->link[i].end <= m->nlink);
      if (m->link[i].parent >= 0) CHECK(m->link[m->link[i].parent].end >= m->link[i].end);
      if (m->link[i].end > i + 1) CHECK_INT(m->link[i + 1].parent, i); /* the first child is the next link */
    }
    kn_model_destroy(m);
  }
}

TEST(reference_coordinates_give_the_reference_position) {
  kn_rng r = kn_rng_seed(2);
  for (int k = 0; k < 100; k++) {
    kn_model* m = random_model(&r, 1 + kn_rng_int(&r, 12));
    if (!m) return;
    for (int b = 0; b < m->nbody; b++) {
      kn_pose got = body_pose(m, b, m->q_ref), want = kn_body_reference(m, b);
      CHECK_ARRAY(got.R, want.R, 9, 1e-13);
      CHECK_ARRAY(got.p, want.p, 3, 1e-13);
    }
    kn_model_destroy(m);
  }
}

/* Kinetic energy of links in rigid rotation = of the bodies: checked through total mass, first and second
   moments about the world origin, computed from bodies and from links. */
static void add_moments(double out[10], double m, const double c[3], const double I[6], const kn_pose* X,
                        bool about_origin) {
  double A[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]}, S[9], cc[3], t[9], Rt[9];
  double tr = I[0] + I[1] + I[2];
  for (int i = 0; i < 9; i++) S[i] = (i % 4 == 0 ? tr / 2 : 0.0) - A[i]; /* second moment ∫ x xᵀ */
  if (about_origin)                                                      /* to the centre */
    for (int i = 0; i < 9; i++) S[i] -= m > 0.0 ? m * c[i / 3] * c[i % 3] : 0.0;
  for (int i = 0; i < 9; i++) Rt[i] = X->R[3 * (i % 3) + i / 3];
  kn_mul33(t, X->R, S);
  kn_mul33(S, t, Rt);
  kn_pose_apply(cc, X, c);
  out[0] += m;
  static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
  for (int i = 0; i < 3; i++) out[1 + i] += m * cc[i];
  for (int i = 0; i < 6; i++) out[4 + i] += S[3 * row[i] + col[i]] + m * cc[row[i]] * cc[col[i]];
}

TEST(links_carry_the_moments_of_their_bodies) {
  kn_rng r = kn_rng_seed(3);
  for (int k = 0; k < 100; k++) {
    kn_model* m = random_model(&r, 1 + kn_rng_int(&r, 12));
    if (!m) return;
    double q[256], got[10] = {0}, want[10] = {0};
    random_q(q, m, &r);
    for (int i = 0; i < m->nlink; i++) {
      const kn_link* l = &m->link[i];
      if (l->mass == 0.0) continue;
      kn_pose X = link_pose(m, i, q);
      double c[3] = {l->mc[0] / l->mass, l->mc[1] / l->mass, l->mc[2] / l->mass};
      add_moments(got, l->mass, c, l->I, &X, true);
    }
    for (int b = 0; b < m->nbody; b++) {
      if (m->place[b].link < 0) continue;
      kn_pose X = body_pose(m, b, q);
      add_moments(want, m->body[b].mass, m->body[b].com, m->body[b].inertia, &X, false);
    }
    CHECK_ARRAY(got, want, 10, 1e-12);
    kn_model_destroy(m);
  }
}

TEST(compound_joints_become_massless_links) {
  kn_spec* s;
  kn_model* m;
  kn_spec_create(&s);
  kn_body_def b = solid("table", KN_WORLD);
  kn_spec_add_body(NULL, s, &b);
  kn_joint_def tilt = kn_joint_default(KN_JOINT_UNIVERSAL);
  tilt.body = 0;
  tilt.axis[0] = tilt.axis2[1] = 1.0;
  tilt.axis[2] = tilt.axis2[0] = 0.0;
  kn_joint p = add_joint(s, 0, KN_JOINT_PLANAR, "p"), u = -1;
  CHECK_OK(kn_spec_add_joint(&u, s, &tilt));
  b = solid("hand", 0);
  kn_spec_add_body(NULL, s, &b);
  kn_joint f = add_joint(s, 1, KN_JOINT_FIXED, "f"), c = add_joint(s, 1, KN_JOINT_CYLINDRICAL, "c");
  if (!CHECK_OK(kn_compile(&m, s))) return;
  CHECK_INT(m->nlink, 7);
  CHECK_INT(kn_model_nv(m), 7);
  CHECK_INT(m->joint_link[p], 0);
  CHECK_INT(m->joint_nlink[p], 3);
  CHECK_INT(m->joint_link[u], 3);
  CHECK_INT(m->joint_nlink[f], 0);
  CHECK_INT(m->joint_link[c], 5);
  CHECK_NEAR(m->link[3].mass, 0.0, 0.0);
  CHECK_NEAR(m->link[4].mass, 1.0, 0.0);
  CHECK_NEAR(m->link[6].mass, 1.0, 0.0);
  int q, nq, v, nv;
  CHECK_OK(kn_model_joint_address(&q, &nq, &v, &nv, m, u));
  CHECK(q == 3 && nq == 2 && v == 3 && nv == 2);
  CHECK_OK(kn_model_joint_address(&q, &nq, &v, &nv, m, f));
  CHECK(nq == 0 && nv == 0);
  kn_model_destroy(m);
  kn_spec_destroy(s);
}

TEST(two_coaxial_hinges_with_nothing_between_are_refused) {
  kn_spec* s;
  kn_model* m;
  kn_spec_create(&s);
  kn_body_def b = solid("b", KN_WORLD);
  b.pos[0] = b.com[1] = b.inertia_quat[1] = 0.3;
  kn_spec_add_body(NULL, s, &b);
  for (int i = 0; i < 2; i++) {
    kn_joint_def j = kn_joint_default(KN_JOINT_HINGE);
    j.name = i ? "second" : "first";
    j.body = 0;
    j.axis[0] = 0.3;
    j.axis[1] = -0.7;
    kn_spec_add_joint(NULL, s, &j);
  }
  CHECK_STATUS(kn_compile(&m, s), KN_BAD_MODEL);
  CHECK_TEXT(kn_last_error(), "first");
  CHECK(m == NULL);
  kn_spec_destroy(s);
}

TEST(depth_first_order_whatever_the_order_of_adding) {
  kn_spec* s;
  kn_model* m;
  kn_spec_create(&s);
  kn_body parent[5] = {KN_WORLD, KN_WORLD, 0, 1, 0}; /* 0 -> 2, 4; 1 -> 3 */
  for (int i = 0; i < 5; i++) {
    kn_body_def b = solid("", parent[i]);
    kn_spec_add_body(NULL, s, &b);
    add_joint(s, i, KN_JOINT_HINGE, "");
  }
  CHECK_OK(kn_compile(&m, s));
  int want[5] = {0, 3, 1, 4, 2};
  for (int i = 0; i < 5; i++) CHECK_INT(m->place[i].link, want[i]);
  CHECK_INT(m->link[0].end, 3);
  CHECK_INT(m->link[3].end, 5);
  CHECK_INT(m->link[2].parent, 0);
  kn_model_destroy(m);
  kn_spec_destroy(s);
}

TEST(hash_sees_motion_but_not_paint) {
  uint64_t h[4];
  for (int k = 0; k < 4; k++) {
    kn_spec* s;
    kn_model* m;
    kn_spec_create(&s);
    kn_body_def b = solid(k == 1 ? "other" : "b", KN_WORLD);
    if (k == 2) b.mass += 1e-12;
    kn_spec_add_body(NULL, s, &b);
    add_joint(s, 0, KN_JOINT_HINGE, "");
    kn_geom_def g = kn_geom_default(KN_SHAPE_SPHERE);
    g.shape.size[0] = 1.0;
    g.body = 0;
    g.rgba[0] = (float)k;
    if (k == 3) g.material.mu = 0.999;
    kn_spec_add_geom(NULL, s, &g);
    CHECK_OK(kn_compile(&m, s));
    h[k] = kn_model_hash(m);
    kn_model_destroy(m);
    kn_spec_destroy(s);
  }
  CHECK(h[0] == h[1]);
  CHECK(h[0] != h[2]);
  CHECK(h[0] != h[3]);
}

TEST(inertia_from_geoms_is_the_sum_of_its_parts) {
  kn_spec* s;
  kn_model *m, *turned;
  kn_spec_create(&s);
  kn_body_def b = kn_body_default();
  b.name = "dumbbell";
  b.inertia_from_geoms = true;
  b.mass = -5.0; /* not read */
  kn_spec_add_body(NULL, s, &b);
  add_joint(s, 0, KN_JOINT_FREE, "");
  for (int k = 0; k < 2; k++) { /* two balls of 3 kg, r = 0.2, at ±1 along x */
    kn_geom_def g = kn_geom_default(KN_SHAPE_SPHERE);
    g.body = 0;
    g.shape.size[0] = 0.2;
    g.pos[0] = k ? 1.0 : -1.0;
    g.mass = 3.0;
    kn_spec_add_geom(NULL, s, &g);
  }
  kn_geom_def rod =
      kn_geom_default(KN_SHAPE_BOX); /* 2 x .1 x .2 m of density 50: 2 kg, lying turned about y */
  rod.body = 0;
  rod.shape.size[0] = 0.1, rod.shape.size[1] = 0.05, rod.shape.size[2] = 1.0;
  rod.density = 50.0;
  rod.quat[0] = rod.quat[2] = 1.0;
  kn_spec_add_geom(NULL, s, &rod);
  if (!CHECK_OK(kn_compile(&m, s))) return;
  kn_body_def d;
  kn_model_body(&d, m, 0);
  CHECK_NEAR(d.mass, 8.0, 1e-14);
  double ball = 0.4 * 3.0 * 0.04,
         want[6] = {2 * ball + 2.0 / 3 * (0.0025 + 0.01), 2 * (ball + 3.0) + 2.0 / 3 * (1.0 + 0.01),
                    2 * (ball + 3.0) + 2.0 / 3 * (1.0 + 0.0025)};
  CHECK_ARRAY(d.inertia, want, 6, 1e-14);
  CHECK_NEAR(kn_model_mass(m), 8.0, 1e-14);
  kn_geom_def none = kn_geom_default(KN_SHAPE_SPHERE); /* weightless decoration */
  none.body = 0;
  none.shape.size[0] = 1.0;
  none.mass = 0.0;
  kn_spec_add_geom(NULL, s, &none);
  CHECK_OK(kn_compile(&turned, s));
  kn_model_body(&d, turned, 0);
  CHECK_ARRAY(d.inertia, want, 6, 1e-14);
  kn_model_destroy(m);
  kn_model_destroy(turned);
  kn_spec_destroy(s);
}

TEST(owned_hulls_live_as_long_as_the_last_owner) {
  kn_spec* s;
  kn_model *a, *b;
  kn_hull* hull;
  double cube[24];
  for (int i = 0; i < 24; i++) cube[i] = (i / 3 >> i % 3) & 1 ? 0.5 : -0.5;
  CHECK_OK(kn_hull_create(&hull, cube, 8, NULL));
  kn_spec_create(&s);
  kn_body_def d = kn_body_default();
  d.inertia_from_geoms = true;
  kn_spec_add_body(NULL, s, &d);
  add_joint(s, 0, KN_JOINT_FREE, "");
  kn_geom_def g = kn_geom_default(KN_SHAPE_HULL);
  g.body = 0;
  g.shape.hull = hull;
  g.own_shape = true;
  CHECK_OK(kn_spec_add_geom(NULL, s, &g));
  g.pos[0] = 1.0;
  CHECK_OK(kn_spec_add_geom(NULL, s, &g)); /* the same hull twice */
  CHECK_OK(kn_compile(&a, s));
  CHECK_OK(kn_compile(&b, s));
  kn_spec_destroy(s);
  CHECK_NEAR(kn_model_mass(a), 2000.0, 1e-9);
  CHECK(kn_model_hash(a) == kn_model_hash(b));
  kn_model_destroy(a);
  int32_t nv;
  kn_hull_counts(b->geom[0].shape.hull, &nv, NULL, NULL);
  CHECK_INT(nv, 8);
  kn_model_destroy(b);
}
