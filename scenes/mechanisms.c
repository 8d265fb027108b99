/* Problems of the IFToMM library of computational benchmarks (A01 to A04) and the slider-crank with
   clearance. Their plane x-y is our x-z plane. */
#include <math.h>
#include <stdio.h>

#include "build.h"
#include "scene.h"

static const kn_v3 PIN = {0, -1, 0}; /* positive angles turn x towards z */

/* A rod along its own x axis with its hinge at the origin. */
static kn_body add_bar(kn_build* b, const char* name, kn_body parent, kn_v3 pos, kn_v3 axis, double mass,
                       kn_v3 com, kn_v3 moments, kn_v3 end) {
  kn_body body = kn_body_solid(b, name, parent, pos, mass, com, moments);
  kn_joint_on(b, body, KN_JOINT_HINGE, name, axis);
  double size = sqrt(end.x * end.x + end.y * end.y + end.z * end.z);
  kn_geom_def g = kn_capsule_between(body, 0.02 * size, kn_at(0, 0, 0), end);
  g.contype = g.conaffinity = 0;
  kn_paint(&g, 0.30f, 0.50f, 0.70f);
  kn_make_geom(b, &g);
  return body;
}

static void close_loop(kn_build* b, const char* name, kn_body a, kn_v3 on_a, kn_body c, kn_v3 on_c) {
  kn_loop_def l = kn_loop_default(KN_LOOP_CONNECT);
  l.name = name;
  l.a = a;
  l.b = c;
  kn_put(l.pos_a, on_a);
  kn_put(l.pos_b, on_c);
  kn_make_loop(b, &l);
}

/* ---- A01: simple pendulum, point mass 1 kg at 1 m, released from (-1, 0) ---- */

static kn_status build_a01(kn_spec* spec, const double* p) {
  (void)p;
  kn_build b = {spec, KN_OK};
  add_bar(&b, "rod", KN_WORLD, kn_at(0, 0, 0), PIN, 1.0, kn_at(-1, 0, 0), kn_at(0, 0, 0), kn_at(-1, 0, 0));
  return b.status;
}

const kn_scene kn_scene_a01 = {
    .name = "a01",
    .watch = "drift of the energy over a long smooth motion",
    .purpose = "simple pendulum: drift of a smooth motion",
    .citation = "IFToMM A01: period 2.3678419476 s; at 10 s (-0.275087462576, -0.961419205099)",
    .build = build_a01,
    .dt = 1e-3,
    .duration = 10.0,
};

/* ---- A02: N-window four-bar, singular when all bars are horizontal ---- */

enum { WINDOWS, SPEED };

static kn_status build_a02(kn_spec* spec, const double* p) {
  kn_build b = {spec, KN_OK};
  const double I = 1.0 / 12.0;
  kn_body last = KN_WORLD;
  for (int i = 0; i <= (int)p[WINDOWS]; i++) {
    char name[32];
    snprintf(name, sizeof name, "upright%d", i);
    kn_body upright = add_bar(&b, name, KN_WORLD, kn_at(i, 0, 0), PIN, 1.0, kn_at(0, 0, 0.5), kn_at(I, I, 0),
                              kn_at(0, 0, 1));
    if (i > 0) {
      snprintf(name, sizeof name, "window%d", i);
      close_loop(&b, name, last, kn_at(1, 0, 0), upright, kn_at(0, 0, 1));
    }
    if (i == (int)p[WINDOWS]) break;
    snprintf(name, sizeof name, "beam%d", i);
    last = add_bar(&b, name, upright, kn_at(0, 0, 1), PIN, 1.0, kn_at(0.5, 0, 0), kn_at(0, I, I),
                   kn_at(1, 0, 0));
  }
  return b.status;
}

/* Points B move with +x: uprights turn at -speed, beams stay level. */
static kn_status setup_a02(kn_state* state, const kn_model* model, const double* p) {
  for (int i = 0; i <= (int)p[WINDOWS]; i++) {
    char name[32];
    snprintf(name, sizeof name, "upright%d", i);
    *kn_joint_v(state, model, name) = -p[SPEED];
    if (i == (int)p[WINDOWS]) break;
    snprintf(name, sizeof name, "beam%d", i);
    *kn_joint_v(state, model, name) = p[SPEED];
  }
  return KN_OK;
}

static const kn_scene_param a02_param[] = {
    {"windows", 2, 1, 1000, true, "number of windows"},
    {"speed", 1, -10, 10, false, "first speed of the upper points, m/s"},
    {0}};
const kn_scene kn_scene_a02 = {
    .name = "a02",
    .watch = "the passage through the position where all bars are in line: the loops stay closed, the energy "
             "stays",
    .purpose = "linked four-bars pass through a singular position",
    .citation = "IFToMM A02, 2 windows: at 4 s B0 = (0.117616102376, 0.993059138451); energy 35.835 J",
    .param = a02_param,
    .build = build_a02,
    .setup = setup_a02,
    .dt = 1e-3,
    .duration = 10.0,
};

/* ---- A03: Andrews' squeezing mechanism (constants of the test set for IVP solvers) ---- */

static const double RR = 7e-3, RA = 92e-5, D = 28e-3, DA = 115e-4, SS = 35e-3, SA = 1874e-5, SB = 1043e-5,
                    SC = 18e-3, SD = 2e-2, ZT = 4e-2, E_ = 2e-2, EA = 1421e-5, TA = 2308e-5, TB = 916e-5,
                    U = 4e-2, UA = 1228e-5, UB = 449e-5, ZF = 2e-2, FA = 1421e-5, XA = -.06934, YA = -.00227,
                    XB = -.03635, YB = .03273, XC = .014, YC = .072, C0 = 4530, L0 = .07785, MOM = .033;

/* Moment about y (the pin's direction) matters; the others make a valid tensor. */
static kn_v3 planar(double I) { return kn_at(I, I, I); }

static kn_status build_a03(kn_spec* spec, const double* p) {
  (void)p;
  kn_build b = {spec, KN_OK};
  kn_gravity(&b, 0, 0, 0);
  kn_body k1 = add_bar(&b, "beta", KN_WORLD, kn_at(0, 0, 0), PIN, .04325, kn_at(RA, 0, 0), planar(2.194e-6),
                       kn_at(RR, 0, 0));
  kn_body k2 = add_bar(&b, "theta", k1, kn_at(RR, 0, 0), PIN, .00365, kn_at(-DA, 0, 0), planar(4.410e-7),
                       kn_at(-D, 0, 0));
  kn_body k3 = add_bar(&b, "gamma", KN_WORLD, kn_at(XB, 0, YB), PIN, .02373, kn_at(SA, 0, SB),
                       planar(5.255e-6), kn_at(0, 0, -SS));
  kn_body k5 = add_bar(&b, "delta", KN_WORLD, kn_at(XA, 0, YA), PIN, .07050, kn_at(TA, 0, TB),
                       planar(1.169e-5), kn_at(ZT, 0, 0));
  kn_body k4 = add_bar(&b, "phi", k5, kn_at(ZT, 0, 0), PIN, .00706, kn_at(0, 0, -(E_ - EA)), planar(5.667e-7),
                       kn_at(0, 0, -E_));
  kn_body k7 = add_bar(&b, "epsilon", KN_WORLD, kn_at(XA, 0, YA), PIN, .05498, kn_at(UA, 0, UB),
                       planar(1.912e-5), kn_at(0, 0, -U));
  kn_body k6 = add_bar(&b, "omega", k7, kn_at(0, 0, -U), PIN, .00706, kn_at(ZF - FA, 0, 0), planar(5.667e-7),
                       kn_at(ZF, 0, 0));
  close_loop(&b, "k3", k2, kn_at(-D, 0, 0), k3, kn_at(0, 0, -SS));
  close_loop(&b, "k4", k2, kn_at(-D, 0, 0), k4, kn_at(0, 0, -E_));
  close_loop(&b, "k6", k2, kn_at(-D, 0, 0), k6, kn_at(ZF, 0, 0));
  return b.status;
}

static kn_status setup_a03(kn_state* state, const kn_model* model, const double* p) {
  (void)p;
  static const struct {
    const char* joint;
    double angle;
  } start[] = {{"beta", -0.0617138900142764496358948458001}, {"theta", 0.0},
               {"gamma", 0.455279819163070380255912382449},  {"phi", 0.222668390165885884674473185609},
               {"delta", 0.487364979543842550225598953530},  {"omega", -0.222668390165885884674473185609},
               {"epsilon", 1.23054744454982119249735015568}};
  for (size_t i = 0; i < sizeof start / sizeof *start; i++)
    *kn_joint_q(state, model, start[i].joint) = start[i].angle;
  return KN_OK;
}

/* Drive moment on the crank; spring from D on the triangle K3 to the fixed point C. Context: dofs of beta,
   gamma, coordinate of gamma. */
static kn_status drive_a03(double* tau, double* ctrl, double t, const double* q, const double* v,
                           void* memory, void* context) {
  (void)ctrl, (void)t, (void)v, (void)memory;
  const double* c = (const double*)context;
  double s, k;
  kn_sincos_exact(&s, &k, q[(int)c[2]]);
  double dx = SD * k + SC * s + XB - XC, dy = SD * s - SC * k + YB - YC, L = sqrt(dx * dx + dy * dy);
  double force = -C0 * (L - L0) / L, fx = force * dx, fy = force * dy;
  tau[(int)c[0]] += MOM;
  tau[(int)c[1]] += fx * (SC * k - SD * s) + fy * (SD * k + SC * s);
  return KN_OK;
}

static kn_status control_a03(kn_controller* controller, double* context, const kn_model* model,
                             const double* p) {
  (void)p;
  kn_joint beta, gamma;
  int q, v0, v1;
  kn_status status = kn_model_find_joint(&beta, model, "beta");
  if (status == KN_OK) status = kn_model_find_joint(&gamma, model, "gamma");
  if (status == KN_OK) status = kn_model_joint_address(NULL, NULL, &v0, NULL, model, beta);
  if (status == KN_OK) status = kn_model_joint_address(&q, NULL, &v1, NULL, model, gamma);
  if (status != KN_OK) return status;
  context[0] = v0, context[1] = v1, context[2] = q;
  *controller = (kn_controller){.fn = drive_a03, .context = context};
  return KN_OK;
}

const kn_scene kn_scene_a03 = {
    .name = "a03",
    .watch = "seven bodies and three loops driven fast: closure in the report",
    .purpose = "Andrews' squeezing mechanism: seven bodies, three loops, very fast",
    .citation =
        "IFToMM A03, IVP test set: q(0.03) = (15.81077, -15.75637, 0.0408222, -0.534730, 0.524410, 0.534730, "
        "1.048081)",
    .build = build_a03,
    .setup = setup_a03,
    .control = control_a03,
    .dt = 1e-5,
    .duration = 0.05,
};

/* ---- A04: Bricard's mechanism ----

   Five rods of 1 m and 1 kg on the edges of a cube, joint axes Y Z X Y Z X; gravity along -y. The redundant
   loop is closed by a weld whose rotation about the last axis is free: connect and two alignment rows come
   from a second connect along that axis. */

static kn_v3 rod_moments(int axis) { /* square section of 0.1 m */
  double along = 0.01 / 6.0, across = (1.0 + 0.01) / 12.0;
  return kn_at(axis == 0 ? along : across, axis == 1 ? along : across, axis == 2 ? along : across);
}

static kn_status build_bricard(kn_spec* spec, const double* p) {
  (void)p;
  kn_build b = {spec, KN_OK};
  kn_gravity(&b, 0, -9.81, 0);
  const kn_v3 X = {1, 0, 0}, Y = {0, 1, 0}, Z = {0, 0, 1};
  kn_body r1 =
      add_bar(&b, "rod1", KN_WORLD, kn_at(0, 0, 0), Y, 1, kn_at(.5, 0, 0), rod_moments(0), kn_at(1, 0, 0));
  kn_body r2 =
      add_bar(&b, "rod2", r1, kn_at(1, 0, 0), Z, 1, kn_at(0, -.5, 0), rod_moments(1), kn_at(0, -1, 0));
  kn_body r3 =
      add_bar(&b, "rod3", r2, kn_at(0, -1, 0), X, 1, kn_at(0, 0, .5), rod_moments(2), kn_at(0, 0, 1));
  kn_body r4 =
      add_bar(&b, "rod4", r3, kn_at(0, 0, 1), Y, 1, kn_at(-.5, 0, 0), rod_moments(0), kn_at(-1, 0, 0));
  kn_body r5 =
      add_bar(&b, "rod5", r4, kn_at(-1, 0, 0), Z, 1, kn_at(0, .5, 0), rod_moments(1), kn_at(0, 1, 0));
  /* a hinge about x at (0, 0, 1): two points of the axis stay on it (6 rows, one dependent) */
  close_loop(&b, "hinge6", r5, kn_at(0, 1, 0), KN_WORLD, kn_at(0, 0, 1));
  close_loop(&b, "axis6", r5, kn_at(0.5, 1, 0), KN_WORLD, kn_at(0.5, 0, 1));
  return b.status;
}

const kn_scene kn_scene_bricard = {
    .name = "bricard",
    .watch = "six links in a closed loop that counting says cannot move: it moves, because constraints are "
             "redundant; closure stays at rounding",
    .purpose = "a loop that moves only because its constraints are redundant",
    .citation = "IFToMM A04: half period 2.495855757 s",
    .build = build_bricard,
    .dt = 1e-3,
    .duration = 10.0,
};

/* ---- slider-crank with clearance (Flores, Leine, Glocker 2010) ---- */

enum { CRANK_RATE, ROD_RATE, SLIDER_RATE };

static kn_status build_slider_crank(kn_spec* spec, const double* p) {
  (void)p;
  kn_build b = {spec, KN_OK};
  const double l1 = 0.153, l2 = 0.306, half_long = 0.05, half_high = 0.025, clearance = 0.001, mu = 0.01,
               e = 0.4;
  kn_body crank = add_bar(&b, "crank", KN_WORLD, kn_at(0, 0, 0), PIN, .038, kn_at(l1 / 2, 0, 0),
                          planar(7.4e-5), kn_at(l1, 0, 0));
  kn_body rod = add_bar(&b, "rod", crank, kn_at(l1, 0, 0), PIN, .038, kn_at(l2 / 2, 0, 0), planar(5.9e-4),
                        kn_at(l2, 0, 0));
  kn_body slider = kn_body_solid(&b, "slider", rod, kn_at(l2, 0, 0), .076, kn_at(0, 0, 0), planar(2.7e-6));
  kn_joint_on(&b, slider, KN_JOINT_HINGE, "slider", PIN);
  kn_geom_def g = kn_box(slider, half_long, 0.02, half_high);
  g.name = "slider";
  g.material.mu = mu;
  g.material.e = e;
  kn_paint(&g, 0.75f, 0.45f, 0.25f);
  kn_make_geom(&b, &g);
  for (int k = 0; k < 2; k++) {
    double side = k ? -1.0 : 1.0;
    kn_geom_def guide = kn_plane(kn_at(0, 0, side * (half_high + clearance)), kn_at(0, 0, -side));
    guide.name = k ? "lower" : "upper";
    guide.material.mu = mu;
    guide.material.e = e;
    guide.rgba[3] = 0.3f;
    kn_make_geom(&b, &guide);
  }
  return b.status;
}

static kn_status setup_slider_crank(kn_state* state, const kn_model* model, const double* p) {
  (void)model;
  double* v = kn_state_v(state); /* absolute rates in the papers, relative ones here */
  v[0] = p[CRANK_RATE];
  v[1] = p[ROD_RATE] - p[CRANK_RATE];
  v[2] = p[SLIDER_RATE] - p[ROD_RATE];
  return KN_OK;
}

static const kn_scene_param slider_param[] = {
    {"crank", 150, -1e4, 1e4, false, "first rate of the crank, rad/s"},
    {"rod", -75, -1e4, 1e4, false, "first rate of the rod, rad/s"},
    {"slider", 0, -1e4, 1e4, false, "first rate of the slider, rad/s"},
    {0}};
const kn_scene kn_scene_slider_crank = {
    .name = "slider-crank",
    .watch = "the slider strikes its guide forward and back at every turn of the crank",
    .purpose = "a slider rattles in its guide",
    .citation = "Flores, Leine, Glocker 2010: first impact at 2.692502752e-3 s",
    .param = slider_param,
    .build = build_slider_crank,
    .setup = setup_slider_crank,
    .dt = 1e-5,
    .duration = 0.1,
    .law = "newton",
};
