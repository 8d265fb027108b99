/* What a study file adds to a subject: surfaces, choices, the start and a servo per joint. */
#include "study.h"

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

static kn_status find_joint(int* q, int* nq, int* v, int* nv, const kn_model* m, const char* name) {
  kn_joint id;
  kn_status status = kn_model_find_joint(&id, m, name);
  return status == KN_OK ? kn_model_joint_address(q, nq, v, nv, m, id) : status;
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
  if (!isnan(st->duration)) s->duration = st->duration;
}

static kn_exit wrong_joint(const kn_args* args, const kn_study* st, int line) {
  return kn_complain(args, KN_EXIT_INPUT, "%s:%d:1: %s", st->path, line, kn_last_error());
}

kn_exit kn_study_start(kn_subject* s, const kn_args* args) {
  const kn_study* st = s->study;
  int q, nq, v, nv, key;
  if (!st) return KN_EXIT_OK;
  if (st->keyframe) {
    kn_status status = kn_model_find_keyframe(&key, s->model, st->keyframe);
    if (status == KN_OK) status = kn_state_keyframe(s->state, key);
    if (status != KN_OK) return kn_complain_status(args, status);
  }
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < (pass ? st->v_count : st->q_count); i++) {
      const kn_study_joint* j = pass ? &st->v[i] : &st->q[i];
      if (find_joint(&q, &nq, &v, &nv, s->model, j->joint) != KN_OK) return wrong_joint(args, st, j->line);
      if (j->k >= (pass ? nv : nq))
        return kn_complain(args, KN_EXIT_INPUT, "%s:%d:1: joint \"%s\" has %d numbers, more are given",
                           st->path, j->line, j->joint, pass ? nv : nq);
      if (pass)
        kn_state_v(s->state)[v + j->k] = j->value;
      else
        kn_state_q(s->state)[q + j->k] = j->value;
    }
  return KN_EXIT_OK;
}

kn_exit kn_study_controller(kn_subject* s, const kn_args* args) {
  const kn_study* st = s->study;
  if (!st || !st->servos) return KN_EXIT_OK;
  s->servos = calloc(1, sizeof *s->servos + (size_t)st->servos * sizeof(servo));
  if (!s->servos) return kn_complain(args, KN_EXIT_INPUT, "no memory for %d servos", st->servos);
  for (int i = 0; i < st->servos; i++) {
    const kn_study_servo* d = &st->servo[i];
    servo* k = &s->servos->at[s->servos->count++];
    int nq, nv;
    if (find_joint(&k->q, &nq, &k->v, &nv, s->model, d->joint) != KN_OK)
      return wrong_joint(args, st, d->line);
    if (nq != 1)
      return kn_complain(args, KN_EXIT_INPUT,
                         "%s:%d:1: joint \"%s\" has %d coordinates, expected a joint with one", st->path,
                         d->line, d->joint, nq);
    k->kp = or_zero(d->kp), k->kd = or_zero(d->kd), k->target = or_zero(d->target),
    k->torque = or_zero(d->torque);
  }
  s->controller = (kn_controller){.fn = control, .context = s->servos};
  return KN_EXIT_OK;
}

kn_exit kn_study_find(kn_subject* s, const kn_args* args, char** model_path) {
  size_t n = strlen(s->name);
  bool yaml = n > 5 && strcmp(s->name + n - 5, ".yaml") == 0;
  char* path = yaml ? strdup(s->name) : kn_study_beside(s->name);
  *model_path = yaml ? NULL : strdup(s->name);
  kn_status status = path ? kn_study_load(&s->study, path) : KN_OK;
  kn_exit code = status == KN_OK ? KN_EXIT_OK : kn_complain_status(args, status);
  if (code == KN_EXIT_OK && yaml && !s->study->model)
    code = kn_complain(args, KN_EXIT_INPUT, "%s:1:1: the study names no model, expected model: FILE", path);
  if (code == KN_EXIT_OK && yaml) {
    const char* slash = strrchr(path, '/');
    size_t folder = slash && s->study->model[0] != '/' ? (size_t)(slash - path) + 1 : 0;
    *model_path = calloc(folder + strlen(s->study->model) + 1, 1);
    if (*model_path) memcpy(*model_path, path, folder), strcpy(*model_path + folder, s->study->model);
  }
  free(path);
  if (code == KN_EXIT_OK && !*model_path) code = kn_complain(args, KN_EXIT_INPUT, "no memory");
  return code;
}
