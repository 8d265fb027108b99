/* <keyframe>. */
#include <string.h>

#include "base/error.h"
#include "load/mjcf/mjcf.h"
#include "spatial/spatial.h"

static int count_q(kn_joint_type t) { return t == KN_JOINT_FREE ? 7 : t == KN_JOINT_BALL ? 4 : 1; }
static int count_v(kn_joint_type t) { return t == KN_JOINT_FREE ? 6 : t == KN_JOINT_BALL ? 3 : 1; }

static kn_status numbers(double** out, kn_mj_loader* l, const kn_xml_node* node, const char* name,
                         int wanted) {
  const kn_xml_attr* a = kn_xml_find(node, name);
  int n;
  *out = NULL;
  if (!a) return KN_OK;
  KN_TRY(kn_value_array(out, &n, l->pool, a));
  if (n != wanted) return kn_xml_fail_at(a, "%s has %d numbers, the model needs %d", name, n, wanted);
  return KN_OK;
}

static kn_status unit_quaternions(kn_mj_loader* l, double* q, const kn_xml_attr* a) {
  int at = 0;
  for (int i = 0; q && i < l->joint.count; i++) {
    kn_joint_type t = l->joint.at[i].def.type;
    int first = t == KN_JOINT_FREE ? at + 3 : at;
    if ((t == KN_JOINT_FREE || t == KN_JOINT_BALL) && !(kn_quat_unit(q + first) > 1e-14)) {
      q[first] = 1.0; /* as MuJoCo does */
      KN_TRY(kn_note_attr(l->report, KN_NOTE_WARNING, a,
                          "numbers %d to %d are a zero quaternion, no rotation (1 0 0 0) is used", first + 1,
                          first + 4));
    }
    at += count_q(t);
  }
  return KN_OK;
}

static kn_status read_key(kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node) {
  int nq = 0, nv = 0, nu = 0;
  for (int i = 0; i < l->joint.count; i++) {
    nq += count_q(l->joint.at[i].def.type);
    nv += count_v(l->joint.at[i].def.type);
  }
  double *q, *v, *u;
  kn_keyframe_def k = {0};
  KN_TRY(kn_value_real(&k.time, kn_xml_find(node, "time")));
  KN_TRY(numbers(&q, l, node, "qpos", nq));
  KN_TRY(numbers(&v, l, node, "qvel", nv));
  KN_TRY(numbers(&u, l, node, "ctrl", l->actuator.count));
  KN_TRY(unit_quaternions(l, q, kn_xml_find(node, "qpos")));
  for (int i = 0; i < l->actuator.count; i++) /* controls of actuators that were left out go with them */
    if (l->actuator.at[i].emit) {
      if (u) u[nu] = u[i];
      nu++;
    }
  k.q = q, k.nq = q ? nq : 0;
  k.v = v, k.nv = v ? nv : 0;
  k.ctrl = u, k.nu = u ? nu : 0;
  for (int i = 0; i < node->nattr; i++)
    if (kn_xml_is(node, "key") &&
        (!strcmp(node->attr[i].name, "act") || !strncmp(node->attr[i].name, "mpos", 4) ||
         !strncmp(node->attr[i].name, "mquat", 5)))
      KN_TRY(kn_note_attr(l->report, KN_NOTE_UNSUPPORTED, &node->attr[i],
                          "%s of a keyframe is not supported and has no effect", node->attr[i].name));
  KN_TRY(kn_mj_name(&k.name, l, scope, node));
  KN_MJ_NEW(kn_mj_key, slot, l, key, node);
  *slot = (kn_mj_key){k, node};
  return KN_OK;
}

kn_status kn_mj_keyframes_read(kn_mj_loader* l, const kn_mj_document* d) {
  kn_mj_scope scope = {d, NULL, ""};
  for (const kn_xml_node* s = d->root->child; s; s = s->next) {
    if (!kn_xml_is(s, "keyframe")) continue;
    if (d->prefix[0] || d->depth) {
      KN_TRY(kn_note_node(l->report, KN_NOTE_UNSUPPORTED, s,
                          "keyframes of an attached model are not supported and were left out"));
      continue;
    }
    for (const kn_xml_node* k = s->child; k; k = k->next) KN_TRY(read_key(l, &scope, k));
  }
  return KN_OK;
}
