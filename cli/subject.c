#include "subject.h"

#include <stdlib.h>
#include <string.h>

#include "study.h"

const char* kn_subject_formulation(size_t i) { return kn_formulations()[i].name; }
const char* kn_subject_law(size_t i) { return kn_impact_laws()[i].name; }
const char* kn_subject_compliant_law(size_t i) { return kn_compliant_laws()[i].name; }
const char* kn_subject_stepper(size_t i) { return kn_steppers()[i].name; }

static bool is_file(const char* name) {
  const char* dot = strrchr(name, '.');
  return strchr(name, '/') || (dot && (!strcmp(dot, ".xml") || !strcmp(dot, ".urdf") ||
                                       !strcmp(dot, ".mjcf") || !strcmp(dot, ".yaml")));
}

enum { MAX_SETTINGS = 32 };

/* What the parameters of a scene are to be: the study's, then --set, then --links; later ones win. */
typedef struct wishes {
  int count;
  char* own; /* the texts that were made here */
  const char* list[MAX_SETTINGS];
} wishes;

static bool wishes_make(wishes* w, const kn_study* study, const kn_args* args) {
  const char* set = kn_arg_text(args, "--set");
  size_t room = (set ? strlen(set) : 0) + 64;
  for (int i = 0; study && i < study->sets; i++)
    room += strlen(study->set[i].name) + strlen(study->set[i].value) + 2;
  char* at = w->own = malloc(room);
  w->count = 0;
  if (!at) return false;
  for (int i = 0; study && i < study->sets && w->count < MAX_SETTINGS / 2; i++) {
    w->list[w->count++] = at;
    at += sprintf(at, "%s=%s", study->set[i].name, study->set[i].value) + 1;
  }
  char *text = strcpy(at, set ? set : ""), *rest;
  at += strlen(text) + 1;
  for (char* part = strtok_r(text, ",", &rest); part && w->count < MAX_SETTINGS - 1;
       part = strtok_r(NULL, ",", &rest))
    w->list[w->count++] = part;
  if (!kn_arg_given(args, "--links")) return true;
  w->list[w->count++] = at;
  sprintf(at, "links=%lld", kn_arg_int(args, "--links"));
  return true;
}

typedef struct edits { /* what is changed in a scene's spec */
  const kn_study* study;
  kn_args* args;
} edits;

static kn_status edit_scene(kn_spec* spec, void* context) {
  edits* e = context;
  kn_status status = e->study ? kn_study_apply(spec, e->study) : KN_OK;
  return status == KN_OK ? kn_subject_edit(spec, e->args) : status;
}

/* The change of a sweep that an error about a scene's parameter names, or NULL. */
static const kn_study_edit* culprit(const kn_subject* s, const char* error) {
  for (int i = 0; i < s->edits; i++)
    if (strncmp(s->edit[i].field, "set.", 4) == 0 && strstr(error, s->edit[i].field + 4)) return &s->edit[i];
  return NULL;
}

static kn_exit scene_refused(const kn_subject* s, kn_args* args, kn_status status) {
  const kn_study_edit* at = culprit(s, kn_scene_error());
  if (at)
    return kn_complain(args, kn_exit_of(status), "%s:%d:%d: %s", s->study->path, at->line, at->column,
                       kn_scene_error());
  return kn_complain(args, kn_exit_of(status), "%s: %s", s->study->path, kn_scene_error());
}

static kn_exit open_scene(kn_subject* s, kn_args* args) {
  wishes w;
  edits e = {s->study, args};
  if (!wishes_make(&w, s->study, args)) return kn_complain(args, KN_EXIT_INPUT, "no memory");
  const char* name = s->study ? s->study->scene : s->name;
  kn_status status = kn_scene_open_edited(&s->scene, name, w.list, w.count, edit_scene, &e);
  free(w.own);
  if (status != KN_OK && s->study) return scene_refused(s, args, status);
  if (status != KN_OK) return kn_complain_text(args, status, kn_scene_error());
  s->model = s->scene->model;
  s->controller = s->scene->controller;
  s->settings = kn_scene_settings_of(s->scene);
  s->duration = s->scene->scene->duration;
  return kn_study_controller(s, args);
}

/* What is read is not written over: the study, the model, what it includes, meshes. */
static kn_status note_input(const char* path, void* context) {
  kn_args* args = context;
  char *own = strdup(path), **longer = realloc(args->input, ((size_t)args->inputs + 1) * sizeof *longer);
  if (longer) args->input = longer;
  if (own && longer)
    longer[args->inputs++] = own;
  else
    free(own);
  return own && longer ? KN_OK : KN_OUT_OF_MEMORY;
}

/* Model and study into a spec. */
static kn_exit read_file(kn_spec** spec, kn_subject* s, kn_args* args, const kn_files* files) {
  kn_load_settings load = kn_load_default();
  if (files)
    load.files = *files;
  else if (!s->edit)
    load.files = (kn_files){.allow = note_input, .context = args};
  load.strict = kn_arg_flag(args, "--strict");
  load.packages = kn_arg_text(args, "--packages");
  const char* base = kn_arg_text(args, "--base");
  if (s->study && s->study->base && !kn_arg_given(args, "--base")) base = s->study->base;
  if (strcmp(base, "floating") == 0) load.base = KN_BASE_FLOATING;
  kn_status status = kn_load(spec, &s->report, s->model_path, &load);
  if (status == KN_OK && kn_arg_given(args, "--drop")) status = kn_spec_add_floor(*spec);
  if (status == KN_OK && s->study) status = kn_study_apply(*spec, s->study);
  if (status == KN_OK) status = kn_subject_edit(*spec, args);
  if (status == KN_OK && kn_arg_flag(args, "--passive")) status = kn_spec_disable_actuators(*spec);
  return status == KN_OK ? KN_EXIT_OK : kn_complain_status(args, status);
}

static kn_exit open_file(kn_subject* s, kn_args* args, const kn_files* files) {
  kn_exit code = kn_study_find(s, args, &s->model_path);
  if (code == KN_EXIT_OK && s->study && s->study->scene) return open_scene(s, args);
  if (code == KN_EXIT_OK) code = read_file(&s->spec, s, args, files);
  if (code != KN_EXIT_OK) return code;
  kn_status status = kn_compile(&s->model, s->spec);
  if (status != KN_OK) return kn_complain_status(args, status);
  s->settings = kn_sim_default();
  if (kn_load_timestep(s->report) > 0.0) s->settings.dt = kn_load_timestep(s->report);
  s->duration = 5.0;
  return kn_study_controller(s, args);
}

kn_certify_mode kn_subject_certificate(const char* mode) {
  return *mode == 'p' ? KN_CERTIFY_PROJECT : *mode == 'r' ? KN_CERTIFY_REFUSE : KN_CERTIFY_ALLOW;
}

kn_compliant_law kn_subject_compliant(const char* name) {
  int i = 0;
  while (i + 1 < KN_COMPLIANT_LAWS && strcmp(kn_compliant_laws()[i].name, name) != 0) i++;
  return (kn_compliant_law)i;
}

static kn_exit apply_options(kn_subject* s, kn_args* args) {
  const char* friction = kn_arg_text(args, "--friction");
  s->settings.formulation = kn_arg_text(args, "--formulation");
  s->settings.solver = kn_arg_text(args, "--solver");
  if (kn_arg_given(args, "--dt")) s->settings.dt = kn_arg_number(args, "--dt");
  if (kn_arg_given(args, "--law")) s->settings.law = kn_arg_text(args, "--law");
  if (kn_arg_given(args, "--certificate"))
    s->settings.certificate = kn_subject_certificate(kn_arg_text(args, "--certificate"));
  if (kn_arg_given(args, "--stepper")) s->settings.stepper = kn_arg_text(args, "--stepper");
  if (kn_arg_given(args, "--max-contacts"))
    s->settings.max_contacts = (int)kn_arg_int(args, "--max-contacts");
  if (kn_arg_given(args, "--rtol")) s->settings.rtol = kn_arg_number(args, "--rtol");
  if (kn_arg_given(args, "--friction-tol")) s->settings.friction_tol = kn_arg_number(args, "--friction-tol");
  s->settings.keep_energy = kn_arg_given(args, "--keep-energy");
  s->settings.split_impacts = kn_arg_given(args, "--split-impacts");
  if (kn_arg_given(args, "--step-threads")) s->settings.threads = (int)kn_arg_int(args, "--step-threads");
  if (kn_arg_given(args, "--sleep")) s->settings.sleep = kn_arg_number(args, "--sleep");
  if (kn_arg_flag(args, "--sequential")) s->settings.sequential = true;
  if (kn_arg_given(args, "--bias-iterations"))
    s->settings.bias_iterations = (int)kn_arg_int(args, "--bias-iterations");
  if (kn_arg_given(args, "--compliant-law"))
    s->settings.compliant.law = kn_subject_compliant(kn_arg_text(args, "--compliant-law"));
  if (kn_arg_given(args, "--exponent")) s->settings.compliant.exponent = kn_arg_number(args, "--exponent");
  if (kn_arg_given(args, "--eps")) s->settings.compliant.eps = kn_arg_number(args, "--eps");
  kn_study_settings(s, args);
  if (!friction) return KN_EXIT_OK;
  int facets = 0;
  if (strcmp(friction, "cone") == 0)
    s->settings.friction = 0;
  else if (sscanf(friction, "poly%d", &facets) == 1 && facets >= 4 && facets % 2 == 0)
    s->settings.friction = facets;
  else
    return kn_complain(args, KN_EXIT_USAGE,
                       "--friction %s: expected cone, or polyN with N even and at least 4", friction);
  return KN_EXIT_OK;
}

/* The state the run begins with. */
static kn_exit place(kn_subject* s, kn_args* args) {
  kn_status status = kn_state_create(&s->state, s->model);
  if (status == KN_OK) status = kn_subject_start(s);
  kn_exit code = status == KN_OK ? kn_study_start(s, args) : KN_EXIT_OK;
  if (code != KN_EXIT_OK) return code;
  const char* key = kn_arg_text(args, "--keyframe");
  int id;
  bool first = key && strcmp(key, "first") == 0 && kn_model_find_keyframe(&id, s->model, key) != KN_OK;
  if (status == KN_OK && key && !first) status = kn_model_find_keyframe(&id, s->model, key);
  if (first) id = 0;
  if (status == KN_OK && key && (!first || kn_model_keyframes(s->model) > 0))
    status = kn_state_keyframe(s->state, id);
  if (status == KN_OK && !s->scene && kn_arg_given(args, "--drop"))
    status = kn_drop_raise(s->state, s->model, kn_arg_number(args, "--drop"));
  return status == KN_OK ? KN_EXIT_OK : kn_complain_status(args, status);
}

/* Overlaps of the starting pose: the model is built anew when pairs are left out. */
static kn_exit settle_overlaps(kn_subject* s, kn_args* args) {
  bool changed = false;
  kn_status status =
      kn_overlaps_find(&changed, s, s->spec && strcmp(kn_arg_text(args, "--overlaps"), "keep") != 0);
  if (status == KN_OK && changed) {
    kn_state_destroy(s->state);
    kn_model_destroy(s->model);
    s->state = NULL;
    s->model = NULL;
    status = kn_compile(&s->model, s->spec);
    if (status == KN_OK) return place(s, args);
  }
  return status == KN_OK ? KN_EXIT_OK : kn_complain_status(args, status);
}

static kn_exit move_start(kn_subject* s, const kn_args* args) {
  kn_status status = kn_start_move(s);
  return status == KN_OK ? KN_EXIT_OK : kn_complain_status(args, status);
}

kn_exit kn_subject_open(kn_subject* s, kn_args* args) { return kn_subject_open_files(s, args, NULL); }

kn_exit kn_subject_open_files(kn_subject* s, kn_args* args, const kn_files* files) {
  kn_exit code = kn_subject_open_case(s, args, files, NULL, 0);
  if (code != KN_EXIT_OK || !s->study || note_input(s->study->path, args) == KN_OK) return code;
  return kn_complain(args, KN_EXIT_WRITE, "no memory");
}

kn_exit kn_subject_open_case(kn_subject* s, kn_args* args, const kn_files* files, const kn_study_edit* edit,
                             int count) {
  memset(s, 0, sizeof *s);
  s->edit = edit;
  s->edits = count;
  s->name = args->operand[0];
  kn_exit code = is_file(s->name) ? open_file(s, args, files) : open_scene(s, args);
  if (code == KN_EXIT_OK) code = apply_options(s, args);
  if (code == KN_EXIT_OK) code = place(s, args);
  if (code == KN_EXIT_OK && !edit) kn_drop_check(s, args);
  if (code == KN_EXIT_OK && !(edit && s->scene))
    code = settle_overlaps(s, args); /* cases of a scene list none */
  if (code == KN_EXIT_OK && !s->scene) code = move_start(s, args);
  kn_spec_destroy(s->spec);
  s->spec = NULL;
  return code;
}

kn_status kn_subject_start(kn_subject* s) {
  return s->scene ? kn_scene_start(s->scene, s->state) : kn_state_reset(s->state);
}

void kn_subject_close(kn_subject* s) {
  kn_state_destroy(s->state);
  if (s->scene)
    kn_scene_close(s->scene);
  else
    kn_model_destroy(s->model);
  kn_load_report_free(s->report);
  kn_study_free(s->study);
  free(s->servos);
  free(s->model_path);
  free(s->overlap);
}
