/* --drop: free bodies so far above the floor. */
#include <math.h>
#include <string.h>

#include "knuckle/broad.h"
#include "knuckle/dynamics.h"
#include "subject.h"

static bool touches_floor(const kn_geom_def* g) { return g->contype || g->conaffinity; }

static kn_joint free_joint(const kn_model* m, int from) {
  kn_joint_def j;
  for (int i = from; i < kn_model_joints(m); i++)
    if (kn_model_joint(&j, m, i) == KN_OK && j.type == KN_JOINT_FREE) return i;
  return -1;
}

static bool below(const kn_model* m, kn_body body, kn_body root) {
  kn_body_def def;
  while (body != root && body != KN_WORLD && kn_model_body(&def, m, body) == KN_OK) body = def.parent;
  return body == root;
}

static double lowest_point(const kn_model* m, const kn_data* data, kn_body root) {
  double lowest = INFINITY, lo[3], hi[3];
  kn_geom_def g;
  kn_pose pose;
  for (int i = 0; i < kn_model_geoms(m); i++)
    if (kn_model_geom(&g, m, i) == KN_OK && touches_floor(&g) && below(m, g.body, root) &&
        kn_geom_pose(&pose, m, data, i) == KN_OK && kn_shape_box(lo, hi, &g.shape, &pose) == KN_OK)
      lowest = fmin(lowest, lo[2]);
  return lowest;
}

kn_status kn_drop_raise(kn_state* state, const kn_model* m, double height) {
  kn_data* data;
  kn_status status = kn_data_create(&data, m);
  if (status == KN_OK) status = kn_kinematics(m, state, data);
  for (kn_joint j = free_joint(m, 0); status == KN_OK && j >= 0; j = free_joint(m, j + 1)) {
    int q, nq, v, nv;
    kn_joint_def def;
    kn_model_joint(&def, m, j);
    double lowest = lowest_point(m, data, def.body);
    status = kn_model_joint_address(&q, &nq, &v, &nv, m, j);
    if (status == KN_OK && isfinite(lowest)) kn_state_q(state)[q + 2] += height - lowest;
  }
  kn_data_destroy(data);
  return status;
}

void kn_drop_check(const kn_subject* s, const kn_args* args) {
  if (!kn_arg_given(args, "--drop")) return;
  size_t n = strlen(s->model_path ? s->model_path : "");
  bool urdf = n > 5 && strcmp(s->model_path + n - 5, ".urdf") == 0;
  if (s->scene)
    kn_complain(args, KN_EXIT_OK, "warning: --drop is for model files, it does nothing to a built-in scene");
  else if (free_joint(s->model, 0) < 0)
    kn_complain(args, KN_EXIT_OK, "warning: --drop does nothing: no body of %s is free to fall%s", s->name,
                urdf ? " (--base floating frees a URDF's root link)" : "");
}
