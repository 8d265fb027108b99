/* Bodies and joints, and the order of all checks. Tensors may be semi-definite (point masses, thin rods):
   what counts is that the mechanism as a whole has a regular mass matrix, which kn_compile_rank decides. */
#include "model/compile/compile.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "math/eigen.h"
#include "spatial/spatial.h"

/* The element that was refused last in this thread. */
static _Thread_local kn_who refused;

const kn_who* kn_refused(void) { return refused.kind ? &refused : NULL; }
void kn_refused_none(void) { refused.kind = NULL; }

kn_status kn_refuse(const kn_who* who, const char* format, ...) {
  refused = *who;
  char text[384];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return kn_fail(KN_BAD_MODEL, "%s %d '%.80s': %s", who->kind, who->index, who->name ? who->name : "", text);
}

kn_status kn_check_finite(const kn_who* who, const char* field, const double* x, int n) {
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i]))
      return n == 1 ? kn_refuse(who, "%s is %g, expected a finite number", field, x[i])
                    : kn_refuse(who, "%s[%d] is %g, expected a finite number", field, i, x[i]);
  return KN_OK;
}

kn_status kn_check_not_negative(const kn_who* who, const char* field, double x) {
  KN_TRY(kn_check_finite(who, field, &x, 1));
  return x < 0.0 ? kn_refuse(who, "%s is %g, expected a number >= 0", field, x) : KN_OK;
}

kn_status kn_check_quat(const kn_who* who, const char* field, const double q[4]) {
  KN_TRY(kn_check_finite(who, field, q, 4));
  double big = 0.0;
  for (int i = 0; i < 4; i++) big = fmax(big, fabs(q[i]));
  return big < 1e-10 ? kn_refuse(who, "%s is zero, expected a rotation such as 1 0 0 0", field) : KN_OK;
}

kn_status kn_check_range(const kn_who* who, const char* field, const double range[2]) {
  if (isnan(range[0]) || isnan(range[1])) return kn_refuse(who, "%s is not a number", field);
  if (range[0] > range[1])
    return kn_refuse(who, "%s is %g … %g, expected the lower bound first", field, range[0], range[1]);
  if (range[0] == INFINITY || range[1] == -INFINITY)
    return kn_refuse(who, "%s is %g … %g, which allows no value", field, range[0], range[1]);
  return KN_OK;
}

/* ---- bodies ---- */

static kn_status check_inertia(const kn_who* who, const double I[6]) {
  double e[3], tensor[9];
  kn_sym_expand(tensor, I);
  kn_eigen_symmetric(3, tensor, e, NULL); /* ascending */
  double slack = 1e-6 * e[2];             /* tensors come from files with few digits */
  if (e[0] < -slack || e[2] < 0.0)
    return kn_refuse(who,
                     "inertia has principal moments %g %g %g, expected none below zero (check the signs of "
                     "the products of inertia)",
                     e[0], e[1], e[2]);
  if (e[2] > e[0] + e[1] + slack)
    return kn_refuse(
        who,
        "inertia has principal moments %g %g %g, but no mass distribution has one above the sum of "
        "the other two (triangle inequality)",
        e[0], e[1], e[2]);
  return KN_OK;
}

static kn_status validate_body(const kn_who* who, const kn_body_def* d) {
  KN_TRY(kn_check_finite(who, "pos", d->pos, 3));
  KN_TRY(kn_check_quat(who, "quat", d->quat));
  KN_TRY(kn_check_not_negative(who, "gravcomp", d->gravcomp));
  if (d->inertia_from_geoms) return KN_OK;
  KN_TRY(kn_check_not_negative(who, "mass", d->mass));
  KN_TRY(kn_check_finite(who, "com", d->com, 3));
  KN_TRY(kn_check_quat(who, "inertia_quat", d->inertia_quat));
  KN_TRY(kn_check_finite(who, "inertia", d->inertia, 6));
  return d->any_inertia ? KN_OK : check_inertia(who, d->inertia);
}

/* ---- joints ---- */

static bool has_axis(kn_joint_type t) {
  return t != KN_JOINT_FIXED && t != KN_JOINT_BALL && t != KN_JOINT_FREE;
}
static bool has_axis2(kn_joint_type t) { return t == KN_JOINT_PLANAR || t == KN_JOINT_UNIVERSAL; }

static kn_status check_axes(const kn_who* who, const kn_joint_def* d) {
  if (!has_axis(d->type)) return KN_OK;
  double a[3] = {d->axis[0], d->axis[1], d->axis[2]}, b[3] = {d->axis2[0], d->axis2[1], d->axis2[2]}, c[3];
  KN_TRY(kn_check_finite(who, "axis", a, 3));
  if (kn_unit3(a) < 1e-10) return kn_refuse(who, "axis is zero, expected a direction");
  if (!has_axis2(d->type)) return KN_OK;
  KN_TRY(kn_check_finite(who, "axis2", b, 3));
  if (kn_unit3(b) < 1e-10) return kn_refuse(who, "axis2 is zero, expected a direction");
  kn_cross3(c, a, b);
  if (kn_dot3(c, c) < 1e-12) return kn_refuse(who, "axis2 is parallel to axis, expected another direction");
  return KN_OK;
}

static kn_status check_limits(const kn_who* who, const kn_joint_def* d) {
  if (!d->limited) return KN_OK;
  if (d->type == KN_JOINT_FREE || d->type == KN_JOINT_FIXED)
    return kn_refuse(who, "a %s joint cannot be limited", d->type == KN_JOINT_FREE ? "free" : "fixed");
  if (d->type == KN_JOINT_BALL) {
    if (!(d->range[0][1] > 0.0 && isfinite(d->range[0][1])))
      return kn_refuse(who, "range[0][1] is %g, expected the largest rotation angle of the ball, > 0",
                       d->range[0][1]);
    return KN_OK;
  }
  for (int k = 0; k < kn_joint_links(d->type); k++) {
    static const char* const field[KN_JOINT_LINKS] = {"range[0]", "range[1]", "range[2]"};
    KN_TRY(kn_check_range(who, field[k], d->range[k]));
  }
  return KN_OK;
}

static kn_status check_free(const kn_spec* spec, const kn_who* who, const kn_joint_def* d) {
  if (spec->body.at[d->body].parent == KN_WORLD) return KN_OK;
  return kn_refuse(
      who,
      "a free joint must be on a child of the world, but body '%s' has a parent; use planar, slide "
      "and ball joints there",
      spec->body.at[d->body].name ? spec->body.at[d->body].name : "");
}

/* Sees each joint once: a free joint before or after another one of the same body. */
static kn_status check_alone(const kn_spec* spec, kn_joint* first, int j) {
  const kn_joint_def* d = &spec->joint.at[j];
  kn_joint other = first[d->body];
  if (other < 0) {
    first[d->body] = j;
    return KN_OK;
  }
  bool other_free = spec->joint.at[other].type == KN_JOINT_FREE;
  if (d->type != KN_JOINT_FREE && !other_free) return KN_OK;
  int f = other_free ? other : j, o = other_free ? j : other;
  kn_who who = {"joint", f, spec->joint.at[f].name};
  return kn_refuse(&who, "a free joint must be its body's only joint, but joint %d '%s' is on it too", o,
                   spec->joint.at[o].name ? spec->joint.at[o].name : "");
}

static kn_status check_free_alone(const kn_spec* spec) {
  kn_joint* first = malloc(((size_t)spec->body.count + 1) * sizeof *first);
  if (!first) return kn_fail(KN_OUT_OF_MEMORY, "no memory to check %d bodies", spec->body.count);
  for (int b = 0; b < spec->body.count; b++) first[b] = -1;
  kn_status status = KN_OK;
  for (int j = 0; j < spec->joint.count && status == KN_OK; j++) status = check_alone(spec, first, j);
  free(first);
  return status;
}

static kn_status validate_joint(const kn_spec* spec, const kn_who* who, const kn_joint_def* d) {
  if ((unsigned)d->type >= KN_JOINT_TYPE_COUNT)
    return kn_refuse(who, "type is %d, which is none", (int)d->type);
  KN_TRY(kn_check_finite(who, "pos", d->pos, 3));
  KN_TRY(check_axes(who, d));
  KN_TRY(kn_check_finite(who, "pitch", &d->pitch, 1));
  KN_TRY(kn_check_finite(who, "ref", d->ref, 3));
  KN_TRY(kn_check_finite(who, "spring_ref", d->spring_ref, 3));
  KN_TRY(check_limits(who, d));
  KN_TRY(kn_check_not_negative(who, "damping", d->damping));
  KN_TRY(kn_check_not_negative(who, "armature", d->armature));
  KN_TRY(kn_check_not_negative(who, "stiffness", d->stiffness));
  KN_TRY(kn_check_not_negative(who, "friction", d->friction));
  return d->type == KN_JOINT_FREE ? check_free(spec, who, d) : KN_OK;
}

static kn_status validate_frame(const kn_who* who, const kn_frame_def* d) {
  KN_TRY(kn_check_finite(who, "pos", d->pos, 3));
  return kn_check_quat(who, "quat", d->quat);
}

/* Checks every element of a list of `spec`; the check sees `who` and the index i. */
#define EACH(field, kind, check)                                                                             \
  for (int i = 0; i < spec->field.count; i++) {                                                              \
    kn_who who = {kind, i, spec->field.at[i].name};                                                          \
    KN_TRY(check);                                                                                           \
  }

kn_status kn_spec_validate(const kn_spec* spec) {
  EACH(body, "body", validate_body(&who, &spec->body.at[i]))
  EACH(joint, "joint", validate_joint(spec, &who, &spec->joint.at[i]))
  KN_TRY(check_free_alone(spec));
  EACH(geom, "geom", kn_validate_geom(&who, &spec->geom.at[i]))
  EACH(pair, "pair", kn_validate_pair(spec, &who, &spec->pair.at[i]))
  EACH(frame, "frame", validate_frame(&who, &spec->frame.at[i]))
  EACH(actuator, "actuator", kn_validate_actuator(spec, &who, &spec->actuator.at[i]))
  EACH(sensor, "sensor", kn_validate_sensor(spec, &who, &spec->sensor.at[i]))
  EACH(loop, "loop", kn_validate_loop(spec, &who, &spec->loop.at[i]))
  EACH(key, "keyframe", kn_validate_keyframe(spec, &who, &spec->key.at[i]))
  return kn_validate_names(spec);
}
