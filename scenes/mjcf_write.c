/* See mjcf.h. Joints of a body act in order in both formats, so compound joints fall apart into MuJoCo's
   hinges and slides without change of coordinates. */
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "knuckle/mesh.h"
#include "mjcf.h"

static _Thread_local char message[256];
const char* kn_mjcf_error(void) { return message; }

typedef struct writer {
  FILE* file;
  const kn_model* model;
  const kn_mjcf_settings* settings;
  int depth;
} writer;

static kn_status unsupported(const char* format, ...) __attribute__((format(printf, 1, 2)));
static kn_status unsupported(const char* format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return KN_UNSUPPORTED;
}

#define TRY(call)                                                                                            \
  do {                                                                                                       \
    kn_status status_ = (call);                                                                              \
    if (status_ != KN_OK) return status_;                                                                    \
  } while (0)

static void indent(const writer* w) { fprintf(w->file, "%*s", 2 * w->depth, ""); }

static void numbers(const writer* w, const char* key, const double* x, int n) {
  fprintf(w->file, " %s=\"", key);
  for (int i = 0; i < n; i++) fprintf(w->file, "%s%.17g", i ? " " : "", x[i]);
  fputc('"', w->file);
}

static void number(const writer* w, const char* key, double x) { numbers(w, key, &x, 1); }

static void escaped(const writer* w, const char* text) {
  for (; *text; text++) {
    const char* code = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '"' ? "&quot;" : NULL;
    if (code)
      fputs(code, w->file);
    else
      fputc(*text, w->file);
  }
}

/* The element's name, or kind and index when it has none; part >= 0 tells the pieces of a compound joint. */
static void name(const writer* w, const char* key, const char* text, const char* kind, int index, int part) {
  fprintf(w->file, " %s=\"", key);
  if (text && *text)
    escaped(w, text);
  else
    fprintf(w->file, "%s%d", kind, index);
  if (part >= 0) fprintf(w->file, ".%d", part);
  fputc('"', w->file);
}

static void body_name(const writer* w, const char* key, kn_body body) {
  if (body == KN_WORLD)
    fprintf(w->file, " %s=\"world\"", key);
  else
    name(w, key, kn_body_name(w->model, body), "body", body, -1);
}

/* ---- joints ---- */

static void cross(double out[3], const double a[3], const double b[3]) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

typedef struct piece {
  bool slide;
  double axis[3];
} piece;

/* Pieces of a scalar or compound joint; 0 for the others. */
static int pieces(piece out[3], const kn_joint_def* d) {
  double x[3], y[3];
  piece hinge = {false, {d->axis[0], d->axis[1], d->axis[2]}},
        slide = {true, {d->axis[0], d->axis[1], d->axis[2]}};
  switch (d->type) {
  case KN_JOINT_HINGE: out[0] = hinge; return 1;
  case KN_JOINT_SLIDE: out[0] = slide; return 1;
  case KN_JOINT_CYLINDRICAL: out[0] = slide, out[1] = hinge; return 2;
  case KN_JOINT_UNIVERSAL:
    out[0] = out[1] = hinge;
    memcpy(out[1].axis, d->axis2, sizeof d->axis2);
    return 2;
  case KN_JOINT_PLANAR:
    cross(y, d->axis, d->axis2);
    cross(x, y, d->axis);
    out[0] = out[1] = slide, out[2] = hinge;
    memcpy(out[0].axis, x, sizeof x);
    memcpy(out[1].axis, y, sizeof y);
    return 3;
  default: return 0;
  }
}

static void joint_numbers(const writer* w, const kn_joint_def* d) {
  if (d->damping != 0.0) number(w, "damping", d->damping);
  if (d->armature != 0.0) number(w, "armature", d->armature);
  if (d->stiffness != 0.0) number(w, "stiffness", d->stiffness);
  if (d->friction != 0.0 && w->settings->constraints) number(w, "frictionloss", d->friction);
}

/* MuJoCo has no one-sided ranges. */
static void joint_range(const writer* w, const double range[2]) {
  double r[2] = {isinf(range[0]) ? -1e10 : range[0], isinf(range[1]) ? 1e10 : range[1]};
  fprintf(w->file, " limited=\"true\"");
  numbers(w, "range", r, 2);
}

static kn_status joint(const writer* w, kn_joint j) {
  kn_joint_def d;
  piece p[3];
  TRY(kn_model_joint(&d, w->model, j));
  int n = pieces(p, &d);
  if (d.type == KN_JOINT_FIXED) return KN_OK;
  if (d.type == KN_JOINT_SCREW) return unsupported("joint %d '%s': MuJoCo has no screw joint", j, d.name);
  for (int k = 0; k < n; k++) {
    indent(w);
    fprintf(w->file, "<joint type=\"%s\"", p[k].slide ? "slide" : "hinge");
    name(w, "name", d.name, "joint", j, n > 1 ? k : -1);
    numbers(w, "pos", d.pos, 3);
    numbers(w, "axis", p[k].axis, 3);
    number(w, "ref", d.ref[k]);
    if (d.stiffness != 0.0) number(w, "springref", d.spring_ref[k]);
    if (d.limited && w->settings->constraints) joint_range(w, d.range[k]);
    joint_numbers(w, &d);
    fprintf(w->file, "/>\n");
  }
  if (n) return KN_OK;
  indent(w);
  fprintf(w->file, "<joint type=\"%s\"", d.type == KN_JOINT_FREE ? "free" : "ball");
  name(w, "name", d.name, "joint", j, -1);
  if (d.type == KN_JOINT_BALL) {
    double range[2] = {0.0, d.range[0][1]};
    numbers(w, "pos", d.pos, 3);
    if (d.limited && w->settings->constraints) joint_range(w, range);
  }
  joint_numbers(w, &d);
  fprintf(w->file, "/>\n");
  return KN_OK;
}

/* ---- geoms ---- */

static const char* shape_name(kn_shape_type type) {
  static const char* const names[KN_SHAPE_COUNT] = {"plane",     "sphere", "capsule", "cylinder",
                                                    "ellipsoid", "box",    "mesh",    NULL};
  return names[type];
}

static int shape_sizes(kn_shape_type type) {
  static const int n[KN_SHAPE_COUNT] = {0, 1, 2, 2, 3, 3, 0, 0};
  return n[type];
}

static void contact_numbers(const writer* w, const kn_material* m, int condim, double margin) {
  double mu[3] = {isinf(m->mu) ? 1e6 : m->mu, m->torsion, m->roll};
  fprintf(w->file, " condim=\"%d\"", condim);
  if (margin != 0.0) number(w, "margin", margin);
  numbers(w, "friction", mu, 3);
}

static kn_status geom(const writer* w, kn_geom g) {
  kn_geom_def d;
  TRY(kn_model_geom(&d, w->model, g));
  if (!shape_name(d.shape.type)) return unsupported("geom %d '%s': MuJoCo has no static mesh", g, d.name);
  indent(w);
  fprintf(w->file, "<geom type=\"%s\"", shape_name(d.shape.type));
  name(w, "name", d.name, "geom", g, -1);
  if (d.shape.type == KN_SHAPE_HULL) fprintf(w->file, " mesh=\"hull%d\"", g);
  if (d.shape.type == KN_SHAPE_PLANE) fprintf(w->file, " size=\"0 0 1\"");
  if (shape_sizes(d.shape.type)) numbers(w, "size", d.shape.size, shape_sizes(d.shape.type));
  numbers(w, "pos", d.pos, 3);
  numbers(w, "quat", d.quat, 4);
  contact_numbers(w, &d.material, d.condim, d.margin);
  if (d.material.priority) fprintf(w->file, " priority=\"%d\"", d.material.priority);
  fprintf(w->file, " contype=\"%u\" conaffinity=\"%u\"", w->settings->contact ? d.contype : 0u,
          w->settings->contact ? d.conaffinity : 0u);
  fprintf(w->file, " rgba=\"%.3g %.3g %.3g %.3g\"/>\n", (double)d.rgba[0], (double)d.rgba[1],
          (double)d.rgba[2], (double)d.rgba[3]);
  return KN_OK;
}

static kn_status geoms_of(const writer* w, kn_body body) {
  for (int g = 0; g < kn_model_geoms(w->model); g++) {
    kn_geom_def d;
    TRY(kn_model_geom(&d, w->model, g));
    if (d.body == body) TRY(geom(w, g));
  }
  return KN_OK;
}

static kn_status hulls(writer* w) {
  fprintf(w->file, "  <asset>\n");
  for (int g = 0; g < kn_model_geoms(w->model); g++) {
    kn_geom_def d;
    kn_mesh_data mesh;
    TRY(kn_model_geom(&d, w->model, g));
    if (d.shape.type != KN_SHAPE_HULL) continue;
    TRY(kn_hull_triangles(&mesh, d.shape.hull));
    fprintf(w->file, "    <mesh name=\"hull%d\"", g);
    numbers(w, "vertex", mesh.vertices, 3 * mesh.nvertex);
    fprintf(w->file, "/>\n");
    kn_mesh_data_free(&mesh);
  }
  fprintf(w->file, "  </asset>\n");
  return KN_OK;
}

/* ---- bodies ---- */

static void site(const writer* w, int loop, char side, const double pos[3], const double quat[4]) {
  indent(w);
  fprintf(w->file, "<site name=\"loop%d%c\"", loop, side);
  numbers(w, "pos", pos, 3);
  numbers(w, "quat", quat, 4);
  fprintf(w->file, "/>\n");
}

/* Anchors of loops and named frames are sites. */
static kn_status sites_of(const writer* w, kn_body body) {
  for (int i = 0; i < kn_model_loops(w->model) && w->settings->constraints; i++) {
    kn_loop_def d;
    TRY(kn_model_loop(&d, w->model, i));
    if (d.type == KN_LOOP_COUPLING) continue;
    if (d.a == body) site(w, i, 'a', d.pos_a, d.quat_a);
    if (d.b == body) site(w, i, 'b', d.pos_b, d.quat_b);
  }
  for (int i = 0; i < kn_model_frames(w->model); i++) {
    kn_frame_def d;
    TRY(kn_model_frame(&d, w->model, i));
    if (d.body != body) continue;
    indent(w);
    fprintf(w->file, "<site");
    name(w, "name", d.name, "frame", i, -1);
    numbers(w, "pos", d.pos, 3);
    numbers(w, "quat", d.quat, 4);
    fprintf(w->file, "/>\n");
  }
  return KN_OK;
}

static kn_status open_body(const writer* w, kn_body b) {
  kn_body_def d;
  TRY(kn_model_body(&d, w->model, b));
  indent(w);
  fprintf(w->file, "<body");
  body_name(w, "name", b);
  numbers(w, "pos", d.pos, 3);
  numbers(w, "quat", d.quat, 4);
  if (d.gravcomp != 0.0) number(w, "gravcomp", d.gravcomp);
  fprintf(w->file, ">\n");
  indent(w);
  fprintf(w->file, "  <inertial");
  numbers(w, "pos", d.com, 3);
  number(w, "mass", d.mass);
  for (int i = 0; i < 3; i++)
    if (d.inertia[i] < w->settings->least_inertia) d.inertia[i] = w->settings->least_inertia;
  numbers(w, "fullinertia", d.inertia, 6);
  fprintf(w->file, "/>\n");
  return KN_OK;
}

static kn_status body_content(const writer* w, kn_body b) {
  for (int j = 0; j < kn_model_joints(w->model); j++) {
    kn_joint_def d;
    TRY(kn_model_joint(&d, w->model, j));
    if (d.body == b) TRY(joint(w, j));
  }
  TRY(geoms_of(w, b));
  return sites_of(w, b);
}

static kn_body parent_of(const writer* w, kn_body b) {
  kn_body_def d = {.parent = KN_WORLD};
  kn_model_body(&d, w->model, b);
  return d.parent;
}

static kn_body next_child(const writer* w, kn_body parent, kn_body after) {
  for (kn_body b = after + 1; b < kn_model_bodies(w->model); b++)
    if (parent_of(w, b) == parent) return b;
  return KN_WORLD;
}

/* Depth first without recursion: deep chains are fine. */
static kn_status tree(writer* w) {
  kn_body at = KN_WORLD, child = next_child(w, KN_WORLD, KN_WORLD);
  w->depth = 2;
  for (;;) {
    if (child != KN_WORLD) {
      TRY(open_body(w, child));
      w->depth++;
      TRY(body_content(w, child));
      at = child;
      child = next_child(w, at, at);
    } else if (at != KN_WORLD) {
      w->depth--;
      indent(w);
      fprintf(w->file, "</body>\n");
      kn_body parent = parent_of(w, at);
      child = next_child(w, parent, at);
      at = parent;
    } else {
      return KN_OK;
    }
  }
}

/* ---- the rest ---- */

static kn_status loop(const writer* w, int i) {
  kn_loop_def d;
  TRY(kn_model_loop(&d, w->model, i));
  if (d.motion.kind != KN_MOTION_NONE)
    return unsupported("loop %d '%s': MuJoCo has no prescribed motion", i, d.name);
  if (d.type == KN_LOOP_DISTANCE) return unsupported("loop %d '%s': MuJoCo has no distance loop", i, d.name);
  if (d.type == KN_LOOP_COUPLING) {
    fprintf(w->file, "    <joint");
    name(w, "joint1", kn_joint_name(w->model, d.joint1), "joint", d.joint1, -1);
    if (d.joint2 >= 0) name(w, "joint2", kn_joint_name(w->model, d.joint2), "joint", d.joint2, -1);
    numbers(w, "polycoef", d.coef, 5);
  } else {
    fprintf(w->file, "    <%s site1=\"loop%da\" site2=\"loop%db\"",
            d.type == KN_LOOP_WELD ? "weld" : "connect", i, i);
  }
  if (d.inactive) fprintf(w->file, " active=\"false\"");
  name(w, "name", d.name, "loop", i, -1);
  fprintf(w->file, "/>\n");
  return KN_OK;
}

static kn_status loops(const writer* w) {
  if (!w->settings->constraints) return KN_OK;
  fprintf(w->file, "  <equality>\n");
  for (int i = 0; i < kn_model_loops(w->model); i++) TRY(loop(w, i));
  fprintf(w->file, "  </equality>\n");
  return KN_OK;
}

static kn_status contacts(const writer* w) {
  fprintf(w->file, "  <contact>\n");
  for (int i = 0; i < kn_model_pairs(w->model) && w->settings->contact; i++) {
    kn_pair_def d;
    TRY(kn_model_pair(&d, w->model, i));
    fprintf(w->file, "    <pair");
    name(w, "geom1", kn_geom_name(w->model, d.a), "geom", d.a, -1);
    name(w, "geom2", kn_geom_name(w->model, d.b), "geom", d.b, -1);
    double mu = isinf(d.material.mu) ? 1e6 : d.material.mu;
    double five[5] = {mu, mu, d.material.torsion, d.material.roll, d.material.roll};
    fprintf(w->file, " condim=\"%d\"", d.condim);
    number(w, "margin", d.margin);
    numbers(w, "friction", five, 5);
    fprintf(w->file, "/>\n");
  }
  for (int i = 0; i < kn_model_exclusions(w->model); i++) {
    kn_body b[2];
    TRY(kn_model_exclusion(b, w->model, i));
    fprintf(w->file, "    <exclude");
    body_name(w, "body1", b[0]);
    body_name(w, "body2", b[1]);
    fprintf(w->file, "/>\n");
  }
  fprintf(w->file, "  </contact>\n");
  return KN_OK;
}

/* Name of the MuJoCo joint that carries one dof of a joint. */
static kn_status dof_joint(const writer* w, const char* key, kn_joint j, int dof) {
  kn_joint_def d;
  piece p[3];
  TRY(kn_model_joint(&d, w->model, j));
  int n = pieces(p, &d);
  name(w, key, d.name, "joint", j, n > 1 ? dof : -1);
  return KN_OK;
}

static bool scalar(const writer* w, kn_joint j) {
  kn_joint_def d;
  return kn_model_joint(&d, w->model, j) == KN_OK && d.type != KN_JOINT_BALL && d.type != KN_JOINT_FREE;
}

static kn_status tendons(const writer* w) {
  fprintf(w->file, "  <tendon>\n");
  for (int i = 0; i < kn_model_nu(w->model); i++) {
    kn_actuator_def d;
    TRY(kn_model_actuator(&d, w->model, i));
    if (d.joints <= 1) continue;
    fprintf(w->file, "    <fixed name=\"tendon%d\">\n", i);
    for (int k = 0; k < d.joints; k++) {
      if (!scalar(w, d.joint[k]))
        return unsupported("actuator %d '%s': ball or free joint in a tendon", i, d.name);
      fprintf(w->file, "      <joint");
      TRY(dof_joint(w, "joint", d.joint[k], d.dof[k]));
      number(w, "coef", d.gear[k]);
      fprintf(w->file, "/>\n");
    }
    fprintf(w->file, "    </fixed>\n");
  }
  fprintf(w->file, "  </tendon>\n");
  return KN_OK;
}

/* A reference to a named frame, which is a site there. */
static kn_status site_name(const writer* w, const char* key, kn_frame frame) {
  kn_frame_def d;
  TRY(kn_model_frame(&d, w->model, frame));
  name(w, key, d.name, "frame", frame, -1);
  return KN_OK;
}

static kn_status transmission(const writer* w, const kn_actuator_def* d, int i) {
  double gear[6] = {d->gear[0]};
  if (d->joints > 1) {
    fprintf(w->file, " tendon=\"tendon%d\"", i);
    gear[0] = 1.0;
  } else if (d->joints == 1) {
    TRY(dof_joint(w, "joint", d->joint[0], scalar(w, d->joint[0]) ? d->dof[0] : -1));
    if (!scalar(w, d->joint[0])) gear[0] = 0.0, gear[d->dof[0]] = d->gear[0];
  } else {
    TRY(site_name(w, "site", d->site));
    if (d->refsite >= 0) TRY(site_name(w, "refsite", d->refsite));
    memcpy(gear, d->site_gear, sizeof gear);
  }
  numbers(w, "gear", gear, 6);
  return KN_OK;
}

static kn_status actuators(const writer* w) {
  fprintf(w->file, "  <actuator>\n");
  for (int i = 0; i < kn_model_nu(w->model); i++) {
    kn_actuator_def d;
    TRY(kn_model_actuator(&d, w->model, i));
    fprintf(w->file, "    <general");
    name(w, "name", d.name, "actuator", i, -1);
    TRY(transmission(w, &d, i));
    fprintf(w->file, " gaintype=\"fixed\" biastype=\"affine\"");
    number(w, "gainprm", d.gain);
    numbers(w, "biasprm", d.bias, 3);
    if (d.ctrl_limited) fprintf(w->file, " ctrllimited=\"true\""), numbers(w, "ctrlrange", d.ctrl_range, 2);
    if (d.force_limited)
      fprintf(w->file, " forcelimited=\"true\""), numbers(w, "forcerange", d.force_range, 2);
    fprintf(w->file, "/>\n");
  }
  fprintf(w->file, "  </actuator>\n");
  return KN_OK;
}

/* What a sensor looks at, as MJCF says it. */
static kn_status sensor_object(const writer* w, const kn_sensor_def* d) {
  if (d->type <= KN_SENSOR_RANGEFINDER) return site_name(w, "site", d->frame);
  if (d->joint >= 0 && d->type <= KN_SENSOR_JOINT_FORCE) return dof_joint(w, "joint", d->joint, -1);
  if (d->type <= KN_SENSOR_ACTUATOR_FORCE) {
    name(w, "actuator", kn_actuator_name(w->model, d->actuator), "actuator", d->actuator, -1);
    return KN_OK;
  }
  if (d->type >= KN_SENSOR_POTENTIAL) return KN_OK;
  if (d->type >= KN_SENSOR_SUBTREE_COM) {
    body_name(w, "body", d->body);
    return KN_OK;
  }
  fprintf(w->file, " objtype=\"%s\"", d->frame >= 0 ? "site" : "xbody");
  if (d->frame >= 0)
    TRY(site_name(w, "objname", d->frame));
  else
    body_name(w, "objname", d->body);
  if (d->ref_frame < 0 && d->ref_body == KN_WORLD) return KN_OK;
  fprintf(w->file, " reftype=\"%s\"", d->ref_frame >= 0 ? "site" : "xbody");
  if (d->ref_frame >= 0) return site_name(w, "refname", d->ref_frame);
  body_name(w, "refname", d->ref_body);
  return KN_OK;
}

static kn_status sensors(const writer* w) {
  static const char* const tags[] = {
#define X(id, name, dim, unit, doc) name,
      KN_SENSOR_LIST(X)
#undef X
  };
  if (!kn_model_sensors(w->model)) return KN_OK;
  fprintf(w->file, "  <sensor>\n");
  for (int i = 0; i < kn_model_sensors(w->model); i++) {
    kn_sensor_def d;
    TRY(kn_model_sensor(&d, w->model, i));
    fprintf(w->file, "    <%s", tags[d.type]);
    name(w, "name", d.name, "sensor", i, -1);
    TRY(sensor_object(w, &d));
    if (d.cutoff > 0.0) number(w, "cutoff", d.cutoff);
    fprintf(w->file, "/>\n");
  }
  fprintf(w->file, "  </sensor>\n");
  return KN_OK;
}

static kn_status document(writer* w) {
  double gravity[3] = {0};
  kn_model_gravity(gravity, w->model);
  fprintf(w->file, "<mujoco");
  name(w, "model", kn_model_name(w->model), "model", 0, -1);
  fprintf(w->file,
          ">\n  <compiler angle=\"radian\" autolimits=\"false\" inertiafromgeom=\"false\"%s/>\n  <option",
          w->settings->least_inertia > 0.0 ? " balanceinertia=\"true\"" : "");
  number(w, "timestep", w->settings->timestep);
  numbers(w, "gravity", gravity, 3);
  if (kn_model_sensors(w->model)) {
    double field[3] = {0};
    kn_model_magnetic(field, w->model);
    numbers(w, "magnetic", field, 3);
  }
  fprintf(w->file, "/>\n");
  TRY(hulls(w));
  fprintf(w->file, "  <worldbody>\n");
  w->depth = 2;
  TRY(geoms_of(w, KN_WORLD));
  TRY(sites_of(w, KN_WORLD));
  TRY(tree(w));
  fprintf(w->file, "  </worldbody>\n");
  TRY(loops(w));
  TRY(contacts(w));
  TRY(tendons(w));
  TRY(actuators(w));
  TRY(sensors(w));
  fprintf(w->file, "</mujoco>\n");
  return KN_OK;
}

kn_mjcf_settings kn_mjcf_default(void) {
  return (kn_mjcf_settings){.contact = true, .constraints = true, .timestep = 1e-3};
}

kn_status kn_mjcf_write(FILE* file, const kn_model* model, const kn_mjcf_settings* settings) {
  kn_mjcf_settings standard = kn_mjcf_default();
  message[0] = '\0';
  if (!file || !model) return KN_BAD_ARGUMENT;
  writer w = {.file = file, .model = model, .settings = settings ? settings : &standard};
  locale_t c =
      newlocale(LC_NUMERIC_MASK, "C", (locale_t)0); /* a decimal point, whatever the program has set */
  locale_t before = uselocale(c);
  kn_status status = document(&w);
  uselocale(before);
  if (c) freelocale(c);
  if (status != KN_OK && !message[0]) snprintf(message, sizeof message, "%s", kn_last_error());
  if (status == KN_OK && ferror(file)) {
    snprintf(message, sizeof message, "the MJCF text could not be written");
    return KN_IO;
  }
  return status;
}

kn_status kn_mjcf_save(const char* path, const kn_model* model, const kn_mjcf_settings* settings) {
  FILE* file = path ? fopen(path, "w") : NULL;
  if (!file) {
    snprintf(message, sizeof message, "%s cannot be opened for writing", path ? path : "(NULL)");
    return KN_IO;
  }
  kn_status status = kn_mjcf_write(file, model, settings);
  if (fclose(file) != 0 && status == KN_OK) {
    snprintf(message, sizeof message, "%s could not be written", path);
    status = KN_IO;
  }
  if (status != KN_OK) remove(path); /* no half files */
  return status;
}
