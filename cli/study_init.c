/* knuckle study init: a commented study file for a model, to be edited. As it stands it changes nothing but
   the length of the run: all that it could say is there behind '#', with the model's own names. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "knuckle/load.h"
#include "output/file.h"
#include "subject.h"

static const char* folderless(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Names that YAML would read as something else stand in quotes. */
static void name_out(FILE* f, const char* name) {
  bool plain = name[0] && !strchr("-0123456789.~+", name[0]);
  for (const char* c = name; *c && plain; c++)
    plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
            strchr("_-./", *c) != NULL;
  if (plain && strcmp(name, "true") != 0 && strcmp(name, "false") != 0 && strcmp(name, "null") != 0) {
    fputs(name, f);
    return;
  }
  fputc('"', f);
  for (const char* c = name; *c; c++) {
    if (*c == '"' || *c == '\\') fputc('\\', f);
    if ((unsigned char)*c < 0x20 || *c == 0x7f)
      fprintf(f, "\\x%02x", (unsigned char)*c);
    else
      fputc(*c, f);
  }
  fputc('"', f);
}

/* The model as the study file at `to` finds it: from its folder on, or from the root. */
static void model_from(char* out, size_t room, const char* path, const char* to) {
  char folder[KN_FILE_PATH];
  size_t n = (size_t)(folderless(to) - to);
  snprintf(folder, sizeof folder, "%.*s", n ? (int)n : 1, n ? to : ".");
  char *model = realpath(path, NULL), *at = realpath(folder, NULL);
  bool below = model && at && strncmp(model, at, strlen(at)) == 0 && model[strlen(at)] == '/';
  snprintf(out, room, "%s", below ? model + strlen(at) + 1 : model ? model : path);
  free(model);
  free(at);
}

static void head(FILE* f, const char* path, const kn_load_report* report, const kn_args* args,
                 const char* to) {
  bool urdf = strcmp(kn_load_format(report), "urdf") == 0;
  double dt = kn_load_timestep(report);
  char model[KN_FILE_PATH];
  if (kn_arg_given(args, "--output"))
    model_from(model, sizeof model, path, to);
  else
    snprintf(model, sizeof model, "%s", folderless(path));
  fprintf(f,
          "# A study of %s: what the model file cannot say. `knuckle run %s` reads it when it stands\n"
          "# beside the model under the same name with .yaml; `knuckle run THIS.yaml` reads it by itself.\n"
          "# Options of the command line win. docs/loading.md explains every key.\n\n",
          folderless(path), folderless(path));
  fputs("model: ", f);
  name_out(f, model);
  fputs("\n", f);
  if (urdf)
    fprintf(f, "base: %s            # fixed, or floating: the root link moves freely\n",
            kn_arg_text(args, "--base"));
  fputs("duration: 5              # s\n", f);
  fprintf(f, "%sdt: %g               # s, the time step\n", dt > 0 ? "# " : "", dt > 0 ? dt : 0.001);
  fputs("# stepper: time          # time, theta, event, compliant, hybrid\n"
        "# law: poisson           # impact law: poisson, newton, stronge, projection, sequential\n"
        "# sequential: true       # impacts one after the other, each by the law\n"
        "# compliant: {law: flores}   # knuckle list compliant-laws\n"
        "# bias_iterations: 2     # spinning tops on a floor: second order\n"
        "# formulation: os        # os, rmc, mc, nmc-os, nmc-sparse, nmc, projection\n"
        "# friction: cone         # or poly4, poly8, …\n"
        "# solver: auto           # knuckle list solvers\n"
        "# sleep: 1e-6            # m/s, rad/s: islands slower than this sleep; 0: none\n\n",
        f);
}

static void materials(FILE* f, const kn_model* m) {
  enum { SHOWN = 12 };
  char own[KN_LABEL];
  int shown = 0;
  fputs("# Surfaces, by names or patterns (* and ?); later lines win. Geoms without a name are geom0, geom1, "
        "…\n"
        "# (`knuckle check MODEL --geoms` lists them).\n"
        "# materials:\n"
        "#   - geom: \"*\"            # all\n"
        "#     friction: 0.8        # coefficient of sliding friction\n"
        "#     restitution: 0       # 0: no rebound, 1: all of it\n",
        f);
  for (int i = 0; i < kn_model_bodies(m) && shown < SHOWN; i++) {
    int geoms = 0;
    double mu = 0, e = 0;
    for (int g = 0; g < kn_model_geoms(m); g++) {
      kn_geom_def d;
      if (kn_model_geom(&d, m, g) != KN_OK || d.body != i || !(d.contype || d.conaffinity)) continue;
      if (!geoms++) mu = d.material.mu, e = d.material.e;
    }
    if (!geoms) continue;
    fputs("#   - body: ", f);
    name_out(f, kn_label(own, kn_body_name(m, i), "body", i));
    fprintf(f, "   # its %d geom%s\n#     friction: %g\n#     restitution: %g\n", geoms,
            geoms == 1 ? "" : "s", mu, e);
    shown++;
  }
  fputs("#   - pair: [floor, foot]  # what touches what; instead of each one's own\n"
        "#     restitution: 0.5\n#   - geom: pad\n#     compliance: {stiffness: 1e5, damping: 50}   # N/m, N "
        "s/m\n\n",
        f);
}

/* A joint of one coordinate begins within its range, as near as can be to where the model has it. */
static void start_within(FILE* f, double q, const kn_joint_def* d) {
  const double *r = d->range[0], at = q < r[0] ? r[0] : q > r[1] ? r[1] : q;
  bool given = d->limited && r[0] <= r[1];
  fprintf(f, "%.9g", given ? at : q);
  if (given) fprintf(f, "   # from %.6g to %.6g", r[0], r[1]);
  if (given && at != q) fprintf(f, "; the model's %.6g is outside", q);
}

static void start_values(FILE* f, const kn_model* m, kn_state* state) {
  char own[KN_LABEL];
  fputs("# The start: a keyframe of the model, coordinates q (rad, m) and velocities v, by joints or "
        "patterns.\n"
        "# initial:\n",
        f);
  if (kn_model_keyframes(m) > 0) {
    fputs("#   keyframe: ", f);
    kn_keyframe_def key;
    name_out(f, kn_model_keyframe(&key, m, 0) == KN_OK && key.name && key.name[0] ? key.name : "first");
    fputs("\n", f);
  }
  fputs("#   q:\n", f);
  for (int j = 0; j < kn_model_joints(m); j++) {
    int q, nq, v, nv;
    kn_joint_def d;
    if (kn_model_joint_address(&q, &nq, &v, &nv, m, j) != KN_OK || nq == 0) continue;
    fputs("#     ", f);
    name_out(f, kn_label(own, kn_joint_name(m, j), "joint", j));
    fputs(nq > 1 ? ": [" : ": ", f);
    if (nq == 1 && kn_model_joint(&d, m, j) == KN_OK)
      start_within(f, kn_state_q(state)[q], &d);
    else
      for (int i = 0; i < nq; i++) fprintf(f, "%s%g", i ? ", " : "", kn_state_q(state)[q + i]);
    fputs(nq > 1 ? "]\n" : "\n", f);
  }
  fputs("#   v: {\"*\": 0}\n\n", f);
}

static void controller(FILE* f, const kn_model* m) {
  char own[KN_LABEL];
  fputs("# A servo per joint: torque = kp (target - q) - kd v + torque.\n"
        "# controller:\n#   \"*\": {kp: 100, kd: 5, target: 0}\n",
        f);
  for (int j = 0; j < kn_model_joints(m); j++) {
    kn_joint_def d;
    if (kn_model_joint(&d, m, j) != KN_OK || (d.type != KN_JOINT_HINGE && d.type != KN_JOINT_SLIDE)) continue;
    fputs("#   ", f);
    name_out(f, kn_label(own, kn_joint_name(m, j), "joint", j));
    fputs(": {kp: 100, kd: 5, target: 0}\n", f);
    break;
  }
  fputs("\n# Files, beside this one; existing ones are replaced only with --force.\n"
        "# outputs:\n#   recording: run.mcap    # knuckle verify, export, plot\n#   every: 1\n"
        "#   csv: run.csv\n#   plot: [energy, q, force]\n",
        f);
}

static kn_exit write_file(const kn_args* args, const char* path, const kn_load_report* report,
                          const kn_model* m, const char* to) {
  kn_state* state;
  kn_file file;
  kn_status status = kn_state_create(&state, m);
  if (status == KN_OK) status = kn_state_reset(state);
  if (status != KN_OK) return kn_complain_status(args, status);
  kn_exit code = kn_out_open(&file, args, to, "yaml|yml");
  if (code == KN_EXIT_OK) {
    head(file.stream, path, report, args, to);
    materials(file.stream, m);
    start_values(file.stream, m, state);
    controller(file.stream, m);
    code = kn_out_close(&file, args, true);
  }
  kn_state_destroy(state);
  return code;
}

/* robot.xml → robot.yaml */
static void beside(char* to, size_t room, const char* path) {
  const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
  snprintf(to, room, "%.*s.yaml", dot ? (int)(dot - path) : (int)strlen(path), path);
}

static int run(kn_args* args) {
  const char* path = args->operands > 1 ? args->operand[1] : "";
  char to[KN_FILE_PATH];
  kn_spec* spec = NULL;
  kn_load_report* report = NULL;
  kn_model* m = NULL;
  if (strcmp(args->operand[0], "init") != 0)
    return kn_complain(args, KN_EXIT_USAGE, "no action \"%s\", expected init", args->operand[0]);
  if (args->operands < 2) return kn_complain(args, KN_EXIT_USAGE, "expected study init MODEL");
  if (kn_arg_given(args, "--output"))
    snprintf(to, sizeof to, "%s", kn_arg_text(args, "--output"));
  else
    beside(to, sizeof to, path);
  if (access(to, F_OK) == 0 && !kn_arg_flag(args, "--force"))
    return kn_complain(args, KN_EXIT_WRITE, "%s exists; --force replaces it", to);
  kn_load_settings s = kn_load_default();
  s.packages = kn_arg_text(args, "--packages");
  if (strcmp(kn_arg_text(args, "--base"), "floating") == 0) s.base = KN_BASE_FLOATING;
  kn_status status = kn_load(&spec, &report, path, &s);
  if (status == KN_OK) status = kn_compile(&m, spec);
  kn_exit code = status == KN_OK ? write_file(args, path, report, m, to) : kn_complain_status(args, status);
  if (code == KN_EXIT_OK && args->json) {
    kn_json j;
    kn_json_start(&j);
    kn_json_text(&j, "file", to);
    code = kn_json_finish(&j, KN_EXIT_OK);
  } else if (code == KN_EXIT_OK && !args->quiet)
    printf("%s: edit it, then: knuckle run %s\n", to, to);
  kn_model_destroy(m);
  kn_spec_destroy(spec);
  kn_load_report_free(report);
  return code;
}

static const kn_option options[] = {
    {.name = "--output",
     .letter = 'o',
     .type = KN_OPTION_TEXT,
     .value = "FILE.yaml",
     .help = "where to write (default: beside the model, under its name)"},
    {.name = "--force", .type = KN_OPTION_FLAG, .help = "replace an existing file"},
    {.name = "--base",
     .type = KN_OPTION_CHOICE,
     .choices = "fixed|floating",
     .value = "KIND",
     .fallback = "fixed",
     .help = "how a URDF's root link is held"},
    {.name = "--packages",
     .type = KN_OPTION_TEXT,
     .value = "FOLDERS",
     .help = "folders with ROS packages, ':' between them"},
    {0}};
static const kn_example examples[] = {
    {"knuckle study init robot.xml",
     "robot.yaml with all that can be said, commented, in the robot's own names"},
    {"knuckle run robot.yaml", "run it with what you have changed"},
    {0}};
extern const kn_command kn_command_study;
const kn_command kn_command_study = {
    .name = "study",
    .summary = "write a commented study file for a model",
    .operands = "init MODEL",
    .min_operands = 1,
    .max_operands = 2,
    .details = "A study file says what MJCF and URDF cannot: surfaces, impact law, stepper, start, servos, "
               "outputs (docs/loading.md). The file written here is complete, with the names of the model's "
               "bodies and joints; what stands behind # is how to say it.",
    .options = options,
    .examples = examples,
    .run = run};
