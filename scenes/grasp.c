/* The two whole-arm grasps of Song and Kumar as ordinary models: an ellipse that slides and turns in the
   horizontal plane, two fingers of two hinged links. A link is a flat box whose inner face holds the line of
   the paper, so that the contact abscissa is within the link and the gap is exact (collide/distance/distance_face.c).
   grasp-3d is example 2 in space: the object is free, lies on a table under gravity and may tilt. */
#include "grasp.h"

#include <string.h>

#include "build.h"
#include "scene.h"

/* Parameters of both; the first ones differ. */
enum { Y0, LMIN, PATH, LAW, KP, KV, EPS, MU1, MU2, Y1, TABLE };

static kn_grasp task(int example, const double* p) {
  kn_grasp g = kn_grasp_task(example);
  g.from[1] = p[Y0], g.to[1] = example == 1 ? p[Y0] : p[Y1];
  g.lmin = p[LMIN], g.kp = p[KP], g.kv = p[KV];
  g.path = (kn_grasp_path)p[PATH], g.law = (kn_grasp_law)p[LAW];
  for (int i = 0; i < KN_GRASP_C; i++) g.mu[i] = i % 2 ? p[MU2] : p[MU1];
  return g;
}

static const double HALF_HEIGHT = 0.02, HALF_THICK = 0.005, THICK_3D = 0.06; /* m */

static kn_geom add_ellipsoid(kn_build* b, kn_body body, double c) {
  kn_geom_def g = kn_geom_default(KN_SHAPE_ELLIPSOID);
  g.name = "object";
  g.body = body;
  g.shape.size[0] = KN_GRASP_A, g.shape.size[1] = KN_GRASP_B, g.shape.size[2] = c;
  g.contype = g.conaffinity = 0; /* explicit pairs only */
  kn_paint(&g, 0.85f, 0.55f, 0.20f);
  return kn_make_geom(b, &g);
}

/* In space: moments of an elliptic disc of height 2 c, to which the paper's moment belongs. */
static kn_geom add_free_object(kn_build* b) {
  const double m = KN_GRASP_MASS, c2 = THICK_3D * THICK_3D / 3;
  kn_body body = kn_body_solid(b, "object", KN_WORLD, kn_at(0, 0, 0), m, kn_at(0, 0, 0),
                               kn_at(m * (KN_GRASP_B * KN_GRASP_B / 4 + c2),
                                     m * (KN_GRASP_A * KN_GRASP_A / 4 + c2), KN_GRASP_INERTIA));
  kn_joint_free_on(b, body);
  return add_ellipsoid(b, body, THICK_3D);
}

static kn_geom add_object(kn_build* b) {
  kn_body body = kn_body_solid(b, "object", KN_WORLD, kn_at(0, 0, 0), KN_GRASP_MASS, kn_at(0, 0, 0),
                               kn_at(KN_GRASP_INERTIA, KN_GRASP_INERTIA, KN_GRASP_INERTIA));
  kn_joint_on(b, body, KN_JOINT_SLIDE, "x", kn_at(1, 0, 0));
  kn_joint_on(b, body, KN_JOINT_SLIDE, "y", kn_at(0, 1, 0));
  kn_joint_on(b, body, KN_JOINT_HINGE, "phi", kn_at(0, 0, 1));
  return add_ellipsoid(b, body, HALF_HEIGHT);
}

/* Link along its own x axis; side +1: the object is to the right of it. */
static kn_body add_link(kn_build* b, kn_geom* geom, const char* name, kn_body parent, kn_v3 pos, int side) {
  kn_body body = kn_body_solid(b, name, parent, pos, KN_GRASP_LINK_M, kn_at(KN_GRASP_LINK / 2, 0, 0),
                               kn_at(KN_GRASP_LINK_I, KN_GRASP_LINK_I, KN_GRASP_LINK_I));
  kn_joint_on(b, body, KN_JOINT_HINGE, name, kn_at(0, 0, 1));
  kn_geom_def g = kn_box(body, KN_GRASP_LINK / 2, HALF_THICK, HALF_HEIGHT);
  g.name = name;
  g.pos[0] = KN_GRASP_LINK / 2, g.pos[1] = side * HALF_THICK;
  g.contype = g.conaffinity = 0;
  kn_paint(&g, 0.30f, 0.45f, 0.65f);
  *geom = kn_make_geom(b, &g);
  return body;
}

static void add_palm(kn_build* b) {
  kn_geom_def g = kn_box(KN_WORLD, KN_GRASP_PALM, HALF_THICK, HALF_HEIGHT);
  g.name = "palm";
  g.pos[1] = -HALF_THICK;
  g.contype = g.conaffinity = 0;
  kn_paint(&g, 0.45f, 0.47f, 0.50f);
  kn_make_geom(b, &g);
}

static void add_pair(kn_build* b, kn_geom object, kn_geom link, double mu) {
  kn_pair_def pair = kn_pair_default();
  pair.a = object, pair.b = link;
  pair.condim = 3;
  pair.material.mu = mu;
  if (b->status == KN_OK) b->status = kn_spec_add_pair(b->spec, &pair);
}

static void add_hand(kn_build* b, const kn_grasp* g, kn_geom object) {
  static const char* const names[] = {"link1", "link2", "link3", "link4"};
  kn_geom link[KN_GRASP_C];
  for (int f = 0; f < 2; f++) {
    int side = f ? -1 : 1;
    kn_body near =
        add_link(b, &link[2 * f], names[2 * f], KN_WORLD, kn_at(-side * KN_GRASP_PALM, 0, 0), side);
    add_link(b, &link[2 * f + 1], names[2 * f + 1], near, kn_at(KN_GRASP_LINK, 0, 0), side);
  }
  add_palm(b);
  for (int i = 0; i < KN_GRASP_C; i++) add_pair(b, object, link[i], g->mu[i]);
}

static kn_status build(kn_spec* spec, const kn_grasp* g) {
  kn_build b = {spec, KN_OK};
  kn_gravity(&b, 0, 0, 0); /* the plane is horizontal */
  add_hand(&b, g, add_object(&b));
  return b.status;
}

static kn_status build_3d(kn_spec* spec, const double* p) {
  kn_grasp g = task(2, p);
  kn_build b = {spec, KN_OK};
  kn_geom object = add_free_object(&b);
  add_hand(&b, &g, object);
  kn_geom_def table = kn_plane(kn_at(0, 0, -THICK_3D), kn_at(0, 0, 1));
  table.name = "table";
  table.contype = table.conaffinity = 0;
  add_pair(&b, object, kn_make_geom(&b, &table), p[TABLE]);
  return b.status;
}

static kn_status setup(kn_state* state, const kn_grasp* g) {
  kn_grasp_plan plan;
  if (!kn_grasp_plan_at(&plan, g, 0)) return KN_BAD_ARGUMENT;
  memcpy(kn_state_q(state), plan.q, sizeof plan.q);
  memcpy(kn_state_v(state), plan.v, sizeof plan.v);
  return KN_OK;
}

static kn_status setup_3d(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  kn_grasp g = task(2, p);
  kn_grasp_plan plan;
  if (!kn_grasp_plan_at(&plan, &g, 0)) return KN_BAD_ARGUMENT;
  double *q = kn_state_q(state), s, c;
  kn_sincos_exact(&s, &c, plan.q[2] / 2);
  const double pose[7] = {plan.q[0], plan.q[1], 0, c, 0, 0, s};
  memcpy(q, pose, sizeof pose);
  memcpy(q + 7, plan.q + 3, 4 * sizeof *q);
  return KN_OK;
}

static kn_status control_3d(double* tau, double* ctrl, double t, const double* q, const double* v,
                            void* memory, void* context) {
  (void)ctrl, (void)memory;
  double torque[4], lambda[KN_GRASP_C];
  double yaw = kn_angle(2 * (q[3] * q[6] + q[4] * q[5]), 1 - 2 * (q[5] * q[5] + q[6] * q[6]));
  const double flat[KN_GRASP_N] = {q[0], q[1], yaw, q[7], q[8], q[9], q[10]};
  const double rate[KN_GRASP_N] = {v[0], v[1], v[5], v[6], v[7], v[8], v[9]}; /* while it lies flat */
  kn_grasp g;
  memcpy(&g, context, sizeof g);
  kn_grasp_control(torque, lambda, &g, t, flat, rate);
  for (int i = 0; i < 4; i++) tau[6 + i] += torque[i];
  return KN_OK;
}

static kn_status control_fn(double* tau, double* ctrl, double t, const double* q, const double* v,
                            void* memory, void* context) {
  (void)ctrl, (void)memory;
  double torque[4], lambda[KN_GRASP_C];
  kn_grasp g;
  memcpy(&g, context, sizeof g);
  kn_grasp_control(torque, lambda, &g, t, q, v);
  for (int i = 0; i < 4; i++) tau[3 + i] += torque[i];
  return KN_OK;
}

static kn_status control(kn_controller* c, double* context, const kn_grasp* g) {
  _Static_assert(sizeof *g <= KN_SCENE_CONTEXT * sizeof(double), "the task fits the scene's context");
  memcpy(context, g, sizeof *g);
  *c = (kn_controller){.fn = control_fn, .context = context};
  return KN_OK;
}

static kn_status control_in_space(kn_controller* c, double* context, const kn_model* model, const double* p) {
  kn_grasp g = task(2, p);
  (void)model;
  g.drag = p[TABLE] * KN_GRASP_MASS * 9.81;
  kn_status status = control(c, context, &g);
  c->fn = control_3d;
  return status;
}

/* Kelvin-Voigt of song-kumar Eq. 13 with K̄ = C̄ = 1, t0 = 1 s, m0 the object's mass. */
static void tune(kn_sim_settings* s, const double* p) {
  s->compliant.eps = p[EPS];
  s->compliant.m0 = KN_GRASP_MASS;
}

#define SCENE_FUNCTIONS(k)                                                                                   \
  static kn_status build_##k(kn_spec* spec, const double* p) {                                               \
    kn_grasp g = task(k, p);                                                                                 \
    return build(spec, &g);                                                                                  \
  }                                                                                                          \
  static kn_status setup_##k(kn_state* state, const kn_model* model, const double* p) {                      \
    kn_grasp g = task(k, p);                                                                                 \
    (void)model;                                                                                             \
    return setup(state, &g);                                                                                 \
  }                                                                                                          \
  static kn_status control_##k(kn_controller* c, double* context, const kn_model* model, const double* p) {  \
    kn_grasp g = task(k, p);                                                                                 \
    (void)model;                                                                                             \
    return control(c, context, &g);                                                                          \
  }
SCENE_FUNCTIONS(1)
SCENE_FUNCTIONS(2)

static const kn_scene_words words[] = {{"path", "cubic|quintic"}, {"law", "feedback|ff"}, {0}};

#define COMMON_PARAMS(y_doc, y, y_lo, y_hi, path, m1, m2)                                                    \
  {"y0", y, y_lo, y_hi, false, y_doc}, {"lmin", 0.1, 0, 20, false, "least normal force asked for, N"},       \
      {"path", path, 0, 1, true, "polynomial of the planned motion"},                                        \
      {"law", 0, 0, 1, true, "computed torque on the measured state, or on the plan"},                       \
      {"kp", 100, 0, 1e6, false, "position gain, 1/s²"}, {"kv", 20, 0, 1e4, false, "velocity gain, 1/s"},    \
      {"eps", 5e-4, 1e-9, 1, false, "deformation scale of the compliant contact"},                           \
      {"mu1", m1, 0, 100, false, "friction of the proximal links 1 and 3"}, {                                \
    "mu2", m2, 0, 100, false, "friction of the distal links 2 and 4"                                         \
  }

static const kn_scene_param param_1[] = {
    COMMON_PARAMS("height of the object's centre, m", 0.155, 0.151, 0.2, 1, 0.1, 0.1), {0}};
const kn_scene kn_scene_grasp_1 = {
    .name = "grasp-1",
    .watch = "both contact models agree, no switch happens: forces are unique all the way",
    .purpose =
        "whole-arm grasp, example 1: an ellipse is turned by 40 degrees in place, four sliding contacts",
    .citation = "Song and Kumar, example 1: contact forces always unique, models agree within 1 mm "
                "(y0, the internal forces and the gains are ours)",
    .param = param_1,
    .words = words,
    .build = build_1,
    .setup = setup_1,
    .control = control_1,
    .tune = tune,
    .dt = 5e-4,
    .duration = 1.0,
};

static const kn_scene_param param_2[] = {
    COMMON_PARAMS("first height of the object's centre, m", 0.12, 0.105, 0.185, 0, 0.8, 0.6),
    {"y1", 0.18, 0.105, 0.185, false, "last height, m"},
    {0}};
const kn_scene kn_scene_grasp_2 = {
    .name = "grasp-2",
    .watch = "between 0.42 s and 0.64 s rigid forces are not unique: stepper hybrid switches to compliant "
             "contact and back",
    .purpose = "whole-arm grasp, example 2: an ellipse is pushed away; rigid contact forces are not unique "
               "from 0.420 s to 0.643 s",
    .citation = "Song and Kumar, example 2: switches at 0.420 s and 0.643 s (the path is a cubic)",
    .param = param_2,
    .words = words,
    .build = build_2,
    .setup = setup_2,
    .control = control_2,
    .tune = tune,
    .dt = 5e-4,
    .duration = 1.0,
};

static const kn_scene_param param_3d[] = {
    COMMON_PARAMS("first height of the object's centre, m", 0.12, 0.105, 0.185, 0, 0.8, 0.6),
    {"y1", 0.18, 0.105, 0.185, false, "last height, m"},
    {"table", 0, 0, 100, false, "friction of the table"},
    {0}};
const kn_scene kn_scene_grasp_3d = {
    .name = "grasp-3d",
    .watch = "which of the forces in space are determined is in `diagnose grasp-3d --at 0.3`",
    .purpose = "whole-arm grasp in space: example 2 with a free ellipsoid that lies on an air table",
    .citation = "after Song and Kumar, who leave the extension to three dimensions open",
    .param = param_3d,
    .words = words,
    .build = build_3d,
    .setup = setup_3d,
    .control = control_in_space,
    .tune = tune,
    .dt = 5e-4,
    .duration = 1.0,
};
