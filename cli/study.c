/* What a study file adds to a subject: surfaces, choices, the start and a servo per joint. */
#include "study.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct servo { /* tau = kp (target - q) - kd v + torque on a scalar joint */
  int q, v;
  double kp, kd, target, torque;
} servo;

struct kn_servos {
  int count;
  servo at[];
};

static kn_status control(double* tau, double* ctrl, double t, const double* q, const double* v, void* memory,
                         void* context) {
  const kn_servos* s = context;
  (void)ctrl, (void)t, (void)memory;
  for (int i = 0; i < s->count; i++) {
    const servo* k = &s->at[i];
    tau[k->v] += k->kp * (k->target - q[k->q]) - k->kd * v[k->v] + k->torque;
  }
  return KN_OK;
}

static double or_zero(double x) { return isnan(x) ? 0.0 : x; }

static bool is_pattern(const char* name) { return strpbrk(name, "*?[") != NULL; }

/* The next joint from `from` on that a name or pattern means; -1: none. */
static kn_joint next_joint(const kn_model* m, const char* pattern, kn_joint from) {
  char own[KN_LABEL];
  for (kn_joint j = from; j < kn_model_joints(m); j++)
    if (fnmatch(pattern, kn_label(own, kn_joint_name(m, j), "joint", j), 0) == 0) return j;
  return -1;
}

/* A joint that is not there, with the nearest one. */
static kn_exit no_joint(const kn_args* args, const kn_study* st, const kn_model* m, const char* name,
                        int line) {
  int n = kn_model_joints(m);
  char(*own)[KN_LABEL] = calloc((size_t)n + 1, sizeof *own);
  const char** list = calloc((size_t)n + 1, sizeof *list);
  const char* near = NULL;
  for (int j = 0; own && list && j < n; j++) list[j] = kn_label(own[j], kn_joint_name(m, j), "joint", j);
  if (own && list) near = kn_suggest(name, list, (size_t)n);
  kn_exit code =
      kn_complain(args, KN_EXIT_INPUT, "%s:%d:1: no joint %s \"%.60s\"%s%s%s; `knuckle check` lists all %d",
                  st->path, line, is_pattern(name) ? "fits" : "is called", name,
                  near ? ", did you mean \"" : "", near ? near : "", near ? "\"?" : "", n);
  free(own);
  free(list);
  return code;
}

void kn_study_settings(kn_subject* s, const kn_args* args) {
  const kn_study* st = s->study;
  if (!st) return;
  if (st->formulation && !kn_arg_given(args, "--formulation")) s->settings.formulation = st->formulation;
  if (st->solver && !kn_arg_given(args, "--solver")) s->settings.solver = st->solver;
  if (st->law && !kn_arg_given(args, "--law")) s->settings.law = st->law;
  if (st->stepper && !kn_arg_given(args, "--stepper")) s->settings.stepper = st->stepper;
  if (st->friction && !kn_arg_given(args, "--friction"))
    s->settings.friction = strncmp(st->friction, "poly", 4) == 0 ? atoi(st->friction + 4) : 0;
  if (!isnan(st->dt) && !kn_arg_given(args, "--dt")) s->settings.dt = st->dt;
  if (!isnan(st->gtol)) s->settings.gtol = st->gtol;
  if (!isnan(st->v_rest)) s->settings.v_rest = st->v_rest;
  if (!isnan(st->tolerance)) s->settings.tolerance = st->tolerance;
  if (!isnan(st->sleep) && !kn_arg_given(args, "--sleep")) s->settings.sleep = st->sleep;
  if (!isnan(st->bias_iterations) && !kn_arg_given(args, "--bias-iterations"))
    s->settings.bias_iterations = (int)st->bias_iterations;
  if (st->sequential && !kn_arg_given(args, "--sequential"))
    s->settings.sequential = strcmp(st->sequential, "true") == 0;
  if (st->compliant_law && !kn_arg_given(args, "--compliant-law"))
    s->settings.compliant.law = kn_subject_compliant(st->compliant_law);
  if (!isnan(st->exponent) && !kn_arg_given(args, "--exponent"))
    s->settings.compliant.exponent = st->exponent;
  if (!isnan(st->eps) && !kn_arg_given(args, "--eps")) s->settings.compliant.eps = st->eps;
  if (st->certificate && !kn_arg_given(args, "--certificate"))
    s->settings.certificate = kn_subject_certificate(st->certificate);
  if (!isnan(st->duration)) s->duration = st->duration;
}

/* One number of the study into q or v of every joint it means. */
static kn_exit set_number(kn_subject* s, const kn_args* args, const kn_study_joint* d, bool velocity) {
  const kn_model* m = s->model;
  kn_joint j = next_joint(m, d->joint, 0);
  if (j < 0) return no_joint(args, s->study, m, d->joint, d->line);
  for (; j >= 0; j = next_joint(m, d->joint, j + 1)) {
    int q, nq, v, nv;
    kn_status status = kn_model_joint_address(&q, &nq, &v, &nv, m, j);
    if (status != KN_OK) return kn_complain_status(args, status);
    if (d->k >= (velocity ? nv : nq)) {
      char own[KN_LABEL];
      return kn_complain(args, KN_EXIT_INPUT, "%s:%d:1: joint \"%s\" has %d numbers, more are given",
                         s->study->path, d->line, kn_label(own, kn_joint_name(m, j), "joint", j),
                         velocity ? nv : nq);
    }
    if (velocity)
      kn_state_v(s->state)[v + d->k] = d->value;
    else
      kn_state_q(s->state)[q + d->k] = d->value;
  }
  return KN_EXIT_OK;
}

kn_exit kn_study_start(kn_subject* s, const kn_args* args) {
  const kn_study* st = s->study;
  kn_exit code = KN_EXIT_OK;
  int key;
  if (!st) return KN_EXIT_OK;
  if (st->keyframe) {
    kn_status status = kn_model_find_keyframe(&key, s->model, st->keyframe);
    if (status == KN_OK) status = kn_state_keyframe(s->state, key);
    if (status != KN_OK) return kn_complain_status(args, status);
  }
  for (int i = 0; i < st->q_count && code == KN_EXIT_OK; i++) code = set_number(s, args, &st->q[i], false);
  for (int i = 0; i < st->v_count && code == KN_EXIT_OK; i++) code = set_number(s, args, &st->v[i], true);
  return code;
}

/* The servo of the joint with velocity v: a later line of the study replaces an earlier one. */
static servo* servo_of(kn_servos* all, int v) {
  for (int i = 0; i < all->count; i++)
    if (all->at[i].v == v) return &all->at[i];
  return &all->at[all->count++];
}

static kn_exit add_servos(kn_subject* s, const kn_args* args, const kn_study_servo* d) {
  const kn_model* m = s->model;
  kn_joint j = next_joint(m, d->joint, 0);
  if (j < 0) return no_joint(args, s->study, m, d->joint, d->line);
  for (; j >= 0; j = next_joint(m, d->joint, j + 1)) {
    int q, nq, v, nv;
    kn_status status = kn_model_joint_address(&q, &nq, &v, &nv, m, j);
    if (status != KN_OK) return kn_complain_status(args, status);
    if (nq != 1 && is_pattern(d->joint)) continue; /* "*" means the joints a servo can hold */
    if (nq != 1)
      return kn_complain(args, KN_EXIT_INPUT,
                         "%s:%d:1: joint \"%s\" has %d coordinates, expected a joint with one",
                         s->study->path, d->line, d->joint, nq);
    *servo_of(s->servos, v) = (servo){.q = q,
                                      .v = v,
                                      .kp = or_zero(d->kp),
                                      .kd = or_zero(d->kd),
                                      .target = or_zero(d->target),
                                      .torque = or_zero(d->torque)};
  }
  return KN_EXIT_OK;
}

kn_exit kn_study_controller(kn_subject* s, const kn_args* args) {
  const kn_study* st = s->study;
  kn_exit code = KN_EXIT_OK;
  if (!st || !st->servos) return KN_EXIT_OK;
  s->servos = calloc(1, sizeof *s->servos + (size_t)kn_model_joints(s->model) * sizeof(servo));
  if (!s->servos) return kn_complain(args, KN_EXIT_INPUT, "no memory for %d servos", st->servos);
  for (int i = 0; i < st->servos && code == KN_EXIT_OK; i++) code = add_servos(s, args, &st->servo[i]);
  s->controller = (kn_controller){.fn = control, .context = s->servos};
  return code;
}

kn_exit kn_study_find(kn_subject* s, const kn_args* args, char** model_path) {
  size_t n = strlen(s->name);
  bool yaml = n > 5 && strcmp(s->name + n - 5, ".yaml") == 0;
  char* path = yaml ? strdup(s->name) : kn_study_beside(s->name);
  *model_path = yaml ? NULL : strdup(s->name);
  kn_status status = path ? kn_study_read_edited(&s->study, path, NULL, 0, s->edit, s->edits) : KN_OK;
  kn_exit code = status == KN_OK ? KN_EXIT_OK : kn_complain_status(args, status);
  bool scene = code == KN_EXIT_OK && s->study && s->study->scene;
  if (code == KN_EXIT_OK && yaml && !s->study->model && !scene)
    code = kn_complain(args, KN_EXIT_INPUT,
                       "%s:1:1: the study names no model, expected model: FILE or scene: NAME", path);
  if (scene && !yaml)
    code = kn_complain(args, KN_EXIT_INPUT,
                       "%s:1:1: a scene in the study beside a model, expected no scene:", path);
  if (code == KN_EXIT_OK && yaml && !scene) {
    const char* slash = strrchr(path, '/');
    size_t folder = slash && s->study->model[0] != '/' ? (size_t)(slash - path) + 1 : 0;
    *model_path = calloc(folder + strlen(s->study->model) + 1, 1);
    if (*model_path) memcpy(*model_path, path, folder), strcpy(*model_path + folder, s->study->model);
  }
  free(path);
  if (code == KN_EXIT_OK && !*model_path && !scene) code = kn_complain(args, KN_EXIT_INPUT, "no memory");
  return code;
}
