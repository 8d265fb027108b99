/* knuckle check: load a model, validate it and print what it is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "knuckle/dynamics.h"
#include "knuckle/load.h"
#include "knuckle/sensor.h"
#include "mjcf.h"
#include "output/file.h"
#include "subject.h"

typedef struct values { /* at the state asked for */
  double *M, *bias, *qacc;
  double trace, logdet, norm;
  bool singular;
} values;

typedef struct loaded {
  kn_spec* spec;
  kn_load_report* report;
  kn_model* model;
  kn_state* state;
  kn_data* data;
  values at;
} loaded;

static void release(loaded* x) {
  free(x->at.M);
  free(x->at.bias);
  free(x->at.qacc);
  kn_data_destroy(x->data);
  kn_state_destroy(x->state);
  kn_model_destroy(x->model);
  kn_spec_destroy(x->spec);
  kn_load_report_free(x->report);
}

static kn_exit set_numbers(const kn_args* args, const char* option, double* out, int n) {
  if (!kn_arg_given(args, option)) return KN_EXIT_OK;
  double* given = calloc((size_t)n + 1, sizeof *given);
  size_t count = given ? kn_arg_numbers(args, option, given, (size_t)n) : 0;
  if (given && count == (size_t)n && n > 0) memcpy(out, given, (size_t)n * sizeof *given);
  free(given);
  if (count != (size_t)n)
    return kn_complain(args, KN_EXIT_USAGE, "%s has %zu numbers, the model needs %d", option, count, n);
  return KN_EXIT_OK;
}

/* Trace and log det M without M, which has nv² entries; singular when a pivot is not positive. */
static kn_status judge(values* a, const loaded* x) {
  int n = kn_model_nv(x->model);
  double* diagonal = malloc(2 * (size_t)n * sizeof *diagonal);
  if (!diagonal) return KN_OUT_OF_MEMORY;
  double* pivot = diagonal + n;
  kn_status status = kn_mass_pivots(diagonal, pivot, x->model, x->state, x->data);
  for (int i = 0; i < n && status == KN_OK; i++) {
    a->trace += diagonal[i];
    a->norm += a->bias[i] * a->bias[i];
    a->singular |= !(pivot[i] > 0.0);
    a->logdet += log(pivot[i]);
  }
  a->norm = sqrt(a->norm);
  free(diagonal);
  return status;
}

static kn_status evaluate(loaded* x, bool matrix) {
  size_t n = (size_t)kn_model_nv(x->model);
  values* a = &x->at;
  a->M = calloc(matrix ? n * n + 1 : 1, sizeof(double));
  a->bias = calloc(n + 1, sizeof(double));
  a->qacc = calloc(n + 1, sizeof(double));
  if (!a->M || !a->bias || !a->qacc) return KN_OUT_OF_MEMORY;
  if (n == 0) return KN_OK;
  kn_status status = matrix ? kn_mass_matrix(a->M, x->model, x->state, x->data) : KN_OK;
  if (status == KN_OK) status = kn_bias_force(a->bias, x->model, x->state, x->data);
  double* tau = calloc(n, sizeof *tau);
  if (!tau) status = KN_OUT_OF_MEMORY;
  if (status == KN_OK) status = kn_passive_force(tau, x->model, x->state, x->data);
  if (status == KN_OK) status = kn_forward_dynamics(a->qacc, x->model, x->state, x->data, tau);
  free(tau);
  return status == KN_OK ? judge(a, x) : status;
}

static const char* kind_name(kn_note_kind kind) {
  return kind == KN_NOTE_UNSUPPORTED ? "unsupported" : kind == KN_NOTE_WARNING ? "warning" : "note";
}

static void json_infos(kn_json* j, const loaded* x) {
  kn_json_array(j, "notes");
  for (int i = 0; i < kn_load_notes(x->report); i++) {
    const kn_note* n = kn_load_note(x->report, i);
    if (n->kind != KN_NOTE_INFO) continue;
    kn_json_begin(j, NULL);
    kn_json_text(j, "where", n->where);
    kn_json_text(j, "what", n->what);
    kn_json_end(j);
  }
  kn_json_end(j);
}

static bool asked(const kn_args* args, const char* name) {
  const char* list = kn_arg_text(args, "--dump");
  size_t n = strlen(name);
  for (const char* p = list; p && *p; p += *p == ',') {
    size_t m = strcspn(p, ",");
    if (m == n && strncmp(p, name, n) == 0) return true;
    p += m;
  }
  return false;
}

/* Bodies with mass, centre and inertia tensor in the body frame, for comparisons. */
static void json_bodies(kn_json* j, const kn_model* m) {
  kn_json_array(j, "body");
  for (int i = 0; i < kn_model_bodies(m); i++) {
    kn_body_def d;
    if (kn_model_body(&d, m, i) != KN_OK) continue;
    kn_json_begin(j, NULL);
    kn_json_text(j, "name", kn_body_name(m, i));
    kn_json_int(j, "parent", d.parent);
    kn_json_number(j, "mass", d.mass);
    kn_json_numbers(j, "com", d.com, 3);
    kn_json_numbers(j, "inertia_quat", d.inertia_quat, 4);
    kn_json_numbers(j, "inertia", d.inertia, 6);
    kn_json_end(j);
  }
  kn_json_end(j);
}

static const char* const types[] = {"fixed",  "hinge",     "slide",       "ball", "free",
                                    "planar", "universal", "cylindrical", "screw"};

static void json_joints(kn_json* j, const kn_model* m) {
  kn_json_array(j, "joint");
  for (int i = 0; i < kn_model_joints(m); i++) {
    kn_joint_def d;
    int q, nq, v, nv;
    char own[KN_LABEL];
    if (kn_model_joint(&d, m, i) != KN_OK || kn_model_joint_address(&q, &nq, &v, &nv, m, i) != KN_OK)
      continue;
    kn_json_begin(j, NULL);
    kn_json_text(j, "name", kn_label(own, kn_joint_name(m, i), "joint", i));
    kn_json_text(j, "type", types[d.type]);
    kn_json_int(j, "body", d.body);
    kn_json_int(j, "q", q);
    kn_json_int(j, "v", v);
    kn_json_bool(j, "limited", d.limited);
    kn_json_numbers(j, "range", d.range[0], 2);
    kn_json_number(j, "damping", d.damping);
    kn_json_number(j, "armature", d.armature);
    kn_json_number(j, "stiffness", d.stiffness);
    kn_json_number(j, "friction", d.friction);
    kn_json_end(j);
  }
  kn_json_end(j);
}

static void json_actuators(kn_json* j, const kn_model* m) {
  kn_json_array(j, "actuator");
  for (int i = 0; i < kn_model_nu(m); i++) {
    kn_actuator_def d;
    if (kn_model_actuator(&d, m, i) != KN_OK) continue;
    kn_json_begin(j, NULL);
    kn_json_text(j, "name", kn_actuator_name(m, i));
    kn_json_ints(j, "joint", d.joint, (size_t)d.joints);
    kn_json_numbers(j, "gear", d.gear, (size_t)d.joints);
    kn_json_number(j, "gain", d.gain);
    kn_json_numbers(j, "bias", d.bias, 3);
    if (d.ctrl_limited) kn_json_numbers(j, "ctrl_range", d.ctrl_range, 2);
    if (d.force_limited) kn_json_numbers(j, "force_range", d.force_range, 2);
    kn_json_end(j);
  }
  kn_json_end(j);
}

/* What the sensors show at the state, without contacts. */
static double* sense(const loaded* x) {
  double* value = calloc((size_t)kn_model_sensor_numbers(x->model) + 1, sizeof *value);
  kn_sensors* sensors = NULL;
  if (value && (kn_sensors_create(&sensors, x->model) != KN_OK ||
                kn_sensors_read(value, sensors, x->state, NULL) != KN_OK)) {
    free(value);
    value = NULL;
  }
  kn_sensors_destroy(sensors);
  return value;
}

static void json_sensors(kn_json* j, const loaded* x) {
  const kn_model* m = x->model;
  double* value = sense(x);
  kn_json_array(j, "sensor");
  for (int i = 0; i < kn_model_sensors(m) && value; i++) {
    kn_sensor_def d;
    char own[KN_LABEL];
    if (kn_model_sensor(&d, m, i) != KN_OK) continue;
    kn_json_begin(j, NULL);
    kn_json_text(j, "name", kn_label(own, kn_sensor_name(m, i), "sensor", i));
    kn_json_text(j, "type", kn_sensor_type_name(d.type));
    kn_json_text(j, "unit", kn_sensor_unit(m, i));
    kn_json_numbers(j, "value", value + kn_sensor_first(m, i), (size_t)kn_sensor_dim(m, i));
    kn_json_end(j);
  }
  kn_json_end(j);
  free(value);
}

static void print_sensors(const loaded* x) {
  const kn_model* m = x->model;
  double* value = sense(x);
  if (kn_model_sensors(m)) printf("sensors\n");
  for (int i = 0; i < kn_model_sensors(m) && value; i++) {
    kn_sensor_def d;
    char own[KN_LABEL];
    if (kn_model_sensor(&d, m, i) != KN_OK) continue;
    printf("  %-28s %-16s", kn_label(own, kn_sensor_name(m, i), "sensor", i), kn_sensor_type_name(d.type));
    for (int k = 0; k < kn_sensor_dim(m, i); k++) printf(" %.6g", value[kn_sensor_first(m, i) + k]);
    printf(" %s\n", kn_sensor_unit(m, i));
  }
  free(value);
}

static kn_exit print_json(const kn_args* args, loaded* x) {
  kn_json j;
  size_t n = (size_t)kn_model_nv(x->model);
  kn_json_start(&j);
  kn_json_int(&j, "bodies", kn_model_bodies(x->model));
  kn_json_int(&j, "nq", kn_model_nq(x->model));
  kn_json_int(&j, "nv", kn_model_nv(x->model));
  kn_json_number(&j, "mass", kn_model_mass(x->model));
  kn_json_number(&j, "trace_M", x->at.trace);
  kn_json_number(&j, "logdet_M", x->at.singular ? -INFINITY : x->at.logdet);
  kn_json_number(&j, "bias_norm", x->at.norm);
  kn_notes_json(&j, x->report);
  json_infos(&j, x);
  kn_json_text(&j, "format", x->report ? kn_load_format(x->report) : "scene");
  kn_json_text(&j, "name", kn_model_name(x->model));
  kn_json_int(&j, "joints", kn_model_joints(x->model));
  kn_json_int(&j, "geoms", kn_model_geoms(x->model));
  kn_json_int(&j, "actuators", kn_model_nu(x->model));
  kn_json_int(&j, "loops", kn_model_loops(x->model));
  kn_json_int(&j, "keyframes", kn_model_keyframes(x->model));
  kn_json_int(&j, "sensors", kn_model_sensors(x->model));
  if (kn_model_sensors(x->model)) json_sensors(&j, x);
  if (asked(args, "M")) kn_json_numbers(&j, "M", x->at.M, n * n);
  if (asked(args, "bias")) kn_json_numbers(&j, "bias", x->at.bias, n);
  if (asked(args, "qacc")) kn_json_numbers(&j, "qacc", x->at.qacc, n);
  if (asked(args, "q")) kn_json_numbers(&j, "q", kn_state_q(x->state), (size_t)kn_model_nq(x->model));
  if (asked(args, "bodies")) json_bodies(&j, x->model);
  if (asked(args, "joints")) json_joints(&j, x->model);
  if (asked(args, "actuators")) json_actuators(&j, x->model);
  return kn_json_finish(&j, KN_EXIT_OK);
}

static void print_joint(const kn_model* m, int i) {
  kn_joint_def d;
  if (kn_model_joint(&d, m, i) != KN_OK) return;
  char range[48] = "";
  if (d.limited) snprintf(range, sizeof range, "%.4g … %.4g", d.range[0][0], d.range[0][1]);
  char own[KN_LABEL], body[KN_LABEL];
  printf("  %-28s %-10s on %-*s%s\n", kn_label(own, kn_joint_name(m, i), "joint", i), types[d.type],
         range[0] ? 29 : 0, kn_label(body, kn_body_name(m, d.body), "body", d.body), range);
}

static const char* shape_name(kn_shape_type type) {
  static const char* const names[KN_SHAPE_COUNT] = {
      [KN_SHAPE_PLANE] = "plane",       [KN_SHAPE_SPHERE] = "sphere", [KN_SHAPE_CAPSULE] = "capsule",
      [KN_SHAPE_CYLINDER] = "cylinder", [KN_SHAPE_BOX] = "box",       [KN_SHAPE_ELLIPSOID] = "ellipsoid"};
  return (unsigned)type < KN_SHAPE_COUNT && names[type] ? names[type] : "hull";
}

static void print_geom(const kn_model* m, int i) {
  kn_geom_def d;
  char own[KN_LABEL], body[KN_LABEL];
  if (kn_model_geom(&d, m, i) != KN_OK) return;
  printf("  %-28s %-10s on %-28s friction %g, restitution %g%s\n",
         kn_label(own, kn_geom_name(m, i), "geom", i), shape_name(d.shape.type),
         kn_label(body, kn_body_name(m, d.body), "body", d.body), d.material.mu, d.material.e,
         d.contype || d.conaffinity ? "" : ", touches nothing");
}

static kn_exit print_text(const kn_args* args, const loaded* x) {
  const kn_model* m = x->model;
  printf("%s  (%s, %s)\n", args->operand[0], x->report ? kn_load_format(x->report) : "scene",
         kn_model_name(m));
  printf("  bodies %d   joints %d   nq %d   nv %d   geoms %d   actuators %d   loops %d   keyframes %d\n",
         kn_model_bodies(m), kn_model_joints(m), kn_model_nq(m), kn_model_nv(m), kn_model_geoms(m),
         kn_model_nu(m), kn_model_loops(m), kn_model_keyframes(m));
  printf("  mass %.9g kg   trace M %.9g   log det M %.9g   |bias| %.9g\n", kn_model_mass(m), x->at.trace,
         x->at.singular ? -INFINITY : x->at.logdet, x->at.norm);
  if (!args->quiet && kn_model_joints(m)) {
    printf("joints\n");
    for (int i = 0; i < kn_model_joints(m); i++) print_joint(m, i);
  }
  if (!args->quiet) print_sensors(x);
  if (kn_arg_flag(args, "--geoms") && kn_model_geoms(m)) {
    printf("geoms\n");
    for (int i = 0; i < kn_model_geoms(m); i++) print_geom(m, i);
  }
  for (int i = 0; i < kn_load_notes(x->report); i++) {
    const kn_note* n = kn_load_note(x->report, i);
    printf("%s: %s: %s\n", n->where, kind_name(n->kind), n->what);
  }
  return fflush(stdout) == 0 ? KN_EXIT_OK : KN_EXIT_WRITE;
}

/* A built-in scene by name, with --set name=value,… */
static kn_exit build_scene(const kn_args* args, loaded* x) {
  const char* list[KN_SCENE_PARAMS];
  const char* set = kn_arg_text(args, "--set");
  char* copy = strdup(set ? set : "");
  int n = 0;
  for (char* part = copy ? strtok(copy, ",") : NULL; part && n < KN_SCENE_PARAMS; part = strtok(NULL, ","))
    list[n++] = part;
  kn_status status = kn_scene_model(&x->model, args->operand[0], list, n);
  free(copy);
  return status == KN_OK ? KN_EXIT_OK : kn_complain_text(args, status, kn_scene_error());
}

static kn_exit load_file(const kn_args* args, loaded* x) {
  kn_load_settings s = kn_load_default();
  s.strict = kn_arg_flag(args, "--strict");
  s.base = strcmp(kn_arg_text(args, "--base"), "floating") == 0 ? KN_BASE_FLOATING : KN_BASE_FIXED;
  s.packages = kn_arg_text(args, "--packages");
  s.skip_meshes = kn_arg_flag(args, "--no-meshes");
  kn_status status = kn_load(&x->spec, &x->report, args->operand[0], &s);
  if (status == KN_OK) status = kn_compile(&x->model, x->spec);
  return status == KN_OK ? KN_EXIT_OK : kn_complain_status(args, status);
}

/* A name without dot and slash that is no file is meant as a scene, if misspelt. */
static bool is_scene(const char* name) {
  const kn_scene* scene;
  if (kn_scene_find(&scene, name) == KN_OK) return true;
  return !strpbrk(name, "./") && access(name, F_OK) != 0;
}

static kn_exit check(const kn_args* args, loaded* x) {
  kn_exit code = is_scene(args->operand[0]) ? build_scene(args, x) : load_file(args, x);
  if (code != KN_EXIT_OK) return code;
  kn_status status = kn_state_create(&x->state, x->model);
  if (status == KN_OK) status = kn_data_create(&x->data, x->model);
  if (status == KN_OK && kn_arg_given(args, "--key")) {
    int key;
    status = kn_model_find_keyframe(&key, x->model, kn_arg_text(args, "--key"));
    if (status == KN_OK) status = kn_state_keyframe(x->state, key);
  }
  if (status != KN_OK) return kn_complain_status(args, status);
  code = set_numbers(args, "--q", kn_state_q(x->state), kn_model_nq(x->model));
  if (code == KN_EXIT_OK) code = set_numbers(args, "--v", kn_state_v(x->state), kn_model_nv(x->model));
  if (code != KN_EXIT_OK) return code;
  status = evaluate(x, args->json && asked(args, "M"));
  if (status != KN_OK) return kn_complain_status(args, status);
  if (kn_arg_given(args, "--mjcf")) {
    kn_file file;
    code = kn_out_reserve(&file, args, kn_arg_text(args, "--mjcf"), "xml|mjcf");
    if (code == KN_EXIT_OK)
      code = kn_out_commit(&file, args, kn_mjcf_save(file.part, x->model, NULL), kn_mjcf_error());
    if (code != KN_EXIT_OK) return code;
  }
  return args->json ? print_json(args, x) : print_text(args, x);
}

static int run(kn_args* args) {
  loaded x = {0};
  kn_exit code = check(args, &x);
  release(&x);
  return code;
}

static const kn_option options[] = {
    {.name = "--strict", .type = KN_OPTION_FLAG, .help = "unsupported features and bad inertias are errors"},
    {.name = "--base",
     .type = KN_OPTION_CHOICE,
     .choices = "fixed|floating",
     .fallback = "fixed",
     .value = "KIND",
     .help = "how a URDF's root link is held"},
    {.name = "--packages",
     .type = KN_OPTION_TEXT,
     .value = "FOLDERS",
     .help = "folders with ROS packages, ':' between them, for package:// paths"},
    {.name = "--no-meshes",
     .type = KN_OPTION_FLAG,
     .help = "do not open mesh files (geoms made of them are left out)"},
    {.name = "--geoms", .type = KN_OPTION_FLAG, .help = "list the geoms with their surfaces"},
    {.name = "--key", .type = KN_OPTION_TEXT, .value = "NAME", .help = "evaluate at this keyframe"},
    {.name = "--q",
     .type = KN_OPTION_NUMBERS,
     .value = "NUMBERS",
     .help = "evaluate at these coordinates (nq of them)"},
    {.name = "--v",
     .type = KN_OPTION_NUMBERS,
     .value = "NUMBERS",
     .help = "and at these velocities (nv of them)"},
    {.name = "--dump",
     .type = KN_OPTION_TEXT,
     .value = "NAMES",
     .help = "arrays to add to the JSON: M, bias, qacc, q, bodies, joints, actuators"},
    {.name = "--set",
     .type = KN_OPTION_TEXT,
     .value = "NAME=VALUE,…",
     .help = "parameters of a built-in scene"},
    {.name = "--mjcf", .type = KN_OPTION_TEXT, .value = "FILE", .help = "also write the model as MJCF"},
    {0}};
static const kn_example examples[] = {
    {"knuckle check robot.xml", "is it sound, and what is in it?"},
    {"knuckle check robot.urdf --base floating --json", "the same for scripts"},
    {"knuckle check arm.xml --q 0,0.5 --v 0,0 --dump M,bias --json", "mass matrix and bias force at a state"},
    {"knuckle check quadruped --mjcf quadruped.xml", "a built-in scene, for other simulators"},
    {0}};
extern const kn_command kn_command_check;
const kn_command kn_command_check = {
    .name = "check",
    .summary = "load, validate and print a model",
    .operands = "MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .details = "MODEL is an MJCF or URDF file, or the name of a built-in scene. Every error is "
               "file:line:column: what is wrong, what was "
               "expected. What the file asks for and "
               "Knuckle does not do is listed. Mass matrix, bias force (velocity and gravity) and "
               "acceleration, and the sensors without contacts, are evaluated at the model's reference "
               "position at rest unless --key, --q, --v say otherwise.",
    .options = options,
    .examples = examples,
    .run = run};
