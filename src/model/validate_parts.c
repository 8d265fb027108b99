/* Geoms, materials, pairs, actuators, loops, keyframes and names. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/compile/compile.h"

static kn_status check_material(const kn_who* who, const kn_material* m) {
  if (isnan(m->mu) || m->mu < 0.0)
    return kn_refuse(who, "material mu is %g, expected a number >= 0 (INFINITY: never slides)", m->mu);
  KN_TRY(kn_check_not_negative(who, "material torsion", m->torsion));
  KN_TRY(kn_check_not_negative(who, "material roll", m->roll));
  KN_TRY(kn_check_not_negative(who, "material mu2", m->mu2));
  if (!(m->e >= 0.0 && m->e <= 1.0))
    return kn_refuse(who, "material e is %g, expected a restitution coefficient between 0 and 1", m->e);
  if (m->law != KN_CONTACT_RIGID && m->law != KN_CONTACT_COMPLIANT)
    return kn_refuse(who, "material law is %d, which is none", (int)m->law);
  KN_TRY(kn_check_not_negative(who, "material K", m->K));
  KN_TRY(kn_check_not_negative(who, "material C", m->C));
  KN_TRY(kn_check_not_negative(who, "material Kt", m->Kt));
  KN_TRY(kn_check_not_negative(who, "material Ct", m->Ct));
  if (m->law == KN_CONTACT_COMPLIANT && m->K == 0.0)
    return kn_refuse(who, "material K is 0, but the compliant law needs a stiffness > 0 (N/m)");
  return KN_OK;
}

static kn_status check_condim(const kn_who* who, int condim) {
  if (condim == 1 || condim == 3 || condim == 4 || condim == 6) return KN_OK;
  return kn_refuse(who, "condim is %d, expected 1, 3, 4 or 6", condim);
}

static kn_status check_shape(const kn_who* who, const kn_shape* s) {
  if ((unsigned)s->type >= KN_SHAPE_COUNT)
    return kn_refuse(who, "shape type is %d, which is none", (int)s->type);
  for (int i = 0; i < kn_shape_sizes(s->type); i++)
    if (!(s->size[i] > 0.0 && isfinite(s->size[i])))
      return kn_refuse(who, "size[%d] is %g, expected a length > 0", i, s->size[i]);
  if (s->type == KN_SHAPE_HULL && !s->hull)
    return kn_refuse(who, "a hull shape needs its hull, which is NULL");
  if (s->type == KN_SHAPE_MESH && !s->mesh)
    return kn_refuse(who, "a mesh shape needs its mesh, which is NULL");
  return KN_OK;
}

kn_status kn_validate_geom(const kn_who* who, const kn_geom_def* d) {
  KN_TRY(check_shape(who, &d->shape));
  KN_TRY(kn_check_finite(who, "pos", d->pos, 3));
  KN_TRY(kn_check_quat(who, "quat", d->quat));
  KN_TRY(check_material(who, &d->material));
  KN_TRY(check_condim(who, d->condim));
  KN_TRY(kn_check_not_negative(who, "density", d->density));
  KN_TRY(kn_check_finite(who, "mass", &d->mass, 1));
  KN_TRY(kn_check_not_negative(who, "margin", d->margin));
  for (int i = 0; i < 4; i++)
    if (!isfinite(d->rgba[i]))
      return kn_refuse(who, "rgba[%d] is %g, expected a finite number", i, (double)d->rgba[i]);
  return KN_OK;
}

static bool infinite(const kn_geom_def* d) {
  return d->shape.type == KN_SHAPE_PLANE || d->shape.type == KN_SHAPE_MESH;
}

kn_status kn_validate_pair(const kn_spec* spec, const kn_who* who, const kn_pair_def* d) {
  if (d->a == d->b) return kn_refuse(who, "both geoms are %d, expected two different ones", d->a);
  const kn_geom_def *a = &spec->geom.at[d->a], *b = &spec->geom.at[d->b];
  if (a->body == b->body) return kn_refuse(who, "both geoms are on the same body, so they can never touch");
  if (infinite(a) && infinite(b))
    return kn_refuse(who, "two planes or meshes cannot collide with each other");
  KN_TRY(check_material(who, &d->material));
  KN_TRY(check_condim(who, d->condim));
  return kn_check_not_negative(who, "margin", d->margin);
}

/* ---- actuators ---- */

kn_status kn_validate_actuator(const kn_spec* spec, const kn_who* who, const kn_actuator_def* d) {
  for (int i = 0; i < d->joints; i++) {
    const kn_joint_def* j = &spec->joint.at[d->joint[i]];
    int nv = kn_joint_nv(j->type);
    if (nv == 0)
      return kn_refuse(who, "joint %d '%s' is fixed: nothing to drive", d->joint[i], j->name ? j->name : "");
    if (d->dof[i] < 0 || d->dof[i] >= nv)
      return kn_refuse(who, "dof[%d] is %d, but joint %d '%s' has dofs 0 to %d", i, d->dof[i], d->joint[i],
                       j->name ? j->name : "", nv - 1);
  }
  KN_TRY(kn_check_finite(who, "gear", d->gear, d->joints));
  if (!d->joints) KN_TRY(kn_check_finite(who, "site_gear", d->site_gear, 6));
  KN_TRY(kn_check_finite(who, "gain", &d->gain, 1));
  KN_TRY(kn_check_finite(who, "bias", d->bias, 3));
  if (d->ctrl_limited) KN_TRY(kn_check_range(who, "ctrl_range", d->ctrl_range));
  if (d->force_limited) KN_TRY(kn_check_range(who, "force_range", d->force_range));
  return KN_OK;
}

/* ---- loops ---- */

static kn_status check_motion(const kn_who* who, const kn_motion* u) {
  if ((unsigned)u->kind > KN_MOTION_CALLBACK)
    return kn_refuse(who, "motion kind is %d, which is none", (int)u->kind);
  if (u->kind == KN_MOTION_CALLBACK && !u->fn) return kn_refuse(who, "motion is a callback, but fn is NULL");
  if (u->kind == KN_MOTION_POLYNOMIAL || u->kind == KN_MOTION_SINE)
    return kn_check_finite(who, "motion c", u->c, 6);
  return KN_OK;
}

static kn_status check_scalar_joint(const kn_spec* spec, const kn_who* who, const char* field, kn_joint j) {
  if (kn_joint_nv(spec->joint.at[j].type) == 1) return KN_OK;
  return kn_refuse(who, "%s '%s' must be a hinge, slide or screw", field,
                   spec->joint.at[j].name ? spec->joint.at[j].name : "");
}

static kn_status check_coupling(const kn_spec* spec, const kn_who* who, const kn_loop_def* d) {
  KN_TRY(check_scalar_joint(spec, who, "joint1", d->joint1));
  if (d->joint2 >= 0) KN_TRY(check_scalar_joint(spec, who, "joint2", d->joint2));
  if (d->joint1 == d->joint2) return kn_refuse(who, "joint1 and joint2 are the same joint %d", d->joint1);
  return kn_check_finite(who, "coef", d->coef, 5);
}

kn_status kn_validate_loop(const kn_spec* spec, const kn_who* who, const kn_loop_def* d) {
  if ((unsigned)d->type >= KN_LOOP_TYPE_COUNT)
    return kn_refuse(who, "type is %d, which is none", (int)d->type);
  KN_TRY(check_motion(who, &d->motion));
  if (d->type == KN_LOOP_COUPLING) return check_coupling(spec, who, d);
  if (d->a == d->b) return kn_refuse(who, "a and b are the same body %d", d->a);
  KN_TRY(kn_check_finite(who, "pos_a", d->pos_a, 3));
  KN_TRY(kn_check_quat(who, "quat_a", d->quat_a));
  KN_TRY(kn_check_finite(who, "pos_b", d->pos_b, 3));
  KN_TRY(kn_check_quat(who, "quat_b", d->quat_b));
  if (d->type != KN_LOOP_DISTANCE || d->from_reference) return KN_OK;
  KN_TRY(kn_check_finite(who, "length", &d->length, 1));
  if (d->length <= 0.0)
    return kn_refuse(who, "length is %g, expected > 0 (to join two points use a connect loop)", d->length);
  return KN_OK;
}

/* ---- keyframes ---- */

static kn_status check_values(const kn_who* who, const char* field, const double* x, int given,
                              int expected) {
  if (!x && given == 0) return KN_OK;
  if (given != expected)
    return kn_refuse(who, "%s has %d values, but the model needs %d", field, given, expected);
  return x ? kn_check_finite(who, field, x, given) : KN_OK;
}

kn_status kn_validate_keyframe(const kn_spec* spec, const kn_who* who, const kn_keyframe_def* k) {
  int nq = 0, nv = 0;
  for (int j = 0; j < spec->joint.count; j++) {
    nq += kn_joint_nq(spec->joint.at[j].type);
    nv += kn_joint_nv(spec->joint.at[j].type);
  }
  KN_TRY(kn_check_finite(who, "time", &k->time, 1));
  KN_TRY(check_values(who, "q", k->q, k->nq, nq));
  KN_TRY(check_values(who, "v", k->v, k->nv, nv));
  return check_values(who, "ctrl", k->ctrl, k->nu, spec->actuator.count);
}

/* ---- names ---- */

typedef struct named {
  const char* name;
  int index;
} named;

static int by_name(const void* a, const void* b) {
  const named *x = a, *y = b;
  int c = strcmp(x->name, y->name);
  return c ? c : (x->index > y->index) - (x->index < y->index);
}

static kn_status check_unique(const char* kind, named* list, int n) {
  qsort(list, (size_t)n, sizeof *list, by_name);
  for (int i = 1; i < n; i++)
    if (strcmp(list[i].name, list[i - 1].name) == 0) {
      kn_who who = {kind, list[i].index, list[i].name};
      return kn_refuse(&who, "%s %d has the same name", kind, list[i - 1].index);
    }
  return KN_OK;
}

kn_status kn_validate_names(const kn_spec* spec) {
  int most = 0;
#define X(field, kind, type, list, total) most = spec->field.count > most ? spec->field.count : most;
  KN_SPEC_KINDS(X)
#undef X
  named* list = malloc(((size_t)most + 1) * sizeof *list);
  if (!list) return kn_fail(KN_OUT_OF_MEMORY, "no memory to compare names");
  kn_status status = KN_OK;
#define X(field, kind, type, in_model, total)                                                                \
  if (status == KN_OK) {                                                                                     \
    int n = 0;                                                                                               \
    for (int i = 0; i < spec->field.count; i++)                                                              \
      if (spec->field.at[i].name) list[n++] = (named){spec->field.at[i].name, i};                            \
    status = check_unique(kind, list, n);                                                                    \
  }
  KN_SPEC_KINDS(X)
#undef X
  free(list);
  return status;
}
