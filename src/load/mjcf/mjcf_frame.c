/* Orientations in MJCF's five notations. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "load/mjcf/mjcf.h"
#include "math/elementary.h"
#include "spatial/spatial.h"

#define DEGREE 0.017453292519943295

static void axis_quat(double q[4], const double axis[3], double angle) {
  double s;
  kn_sincos(&s, &q[0], 0.5 * angle);
  for (int i = 0; i < 3; i++) q[1 + i] = s * axis[i];
}

/* q takes e_z to z by the shortest way; opposite: half a turn about x. */
void kn_mj_quat_from_z(double quat[4], const double z[3]) {
  double v[3] = {z[0], z[1], z[2]};
  kn_unit3(v);
  double axis[3] = {-v[1], v[0], 0.0}; /* e_z × v */
  double s = sqrt(axis[0] * axis[0] + axis[1] * axis[1]);
  axis[0] = s < 1e-10 ? 1.0 : axis[0] / s;
  axis[1] = s < 1e-10 ? 0.0 : axis[1] / s;
  axis_quat(quat, axis, kn_atan2(s, v[2]));
  kn_quat_unit(quat);
}

void kn_mj_euler(double quat[4], const kn_mj_compiler* c, const double angle[3]) {
  double q[4] = {1, 0, 0, 0};
  for (int i = 0; i < 3; i++) {
    char letter = c->eulerseq[i];
    bool fixed = letter >= 'X' && letter <= 'Z';
    double axis[3] = {0, 0, 0}, turn[4];
    axis[fixed ? letter - 'X' : letter - 'x'] = 1.0;
    axis_quat(turn, axis, angle[i] * (c->degree ? DEGREE : 1.0));
    if (fixed)
      kn_quat_mul(q, turn, q);
    else
      kn_quat_mul(q, q, turn);
  }
  kn_quat_unit(q);
  memcpy(quat, q, sizeof q);
}

static kn_status from_axes(double quat[4], const kn_xml_attr* a) {
  double v[6], R[9];
  KN_TRY(kn_value_reals(v, NULL, a, 6, 6));
  double x[3] = {v[0], v[1], v[2]}, y[3] = {v[3], v[4], v[5]}, z[3];
  if (!(kn_unit3(x) > 1e-14))
    return kn_xml_fail_at(a, "the x axis of \"xyaxes\" is zero, expected a direction");
  double d = kn_dot3(x, y);
  for (int i = 0; i < 3; i++) y[i] -= d * x[i];
  if (!(kn_unit3(y) > 1e-14))
    return kn_xml_fail_at(a, "the axes of \"xyaxes\" are parallel or zero, expected two directions");
  kn_cross3(z, x, y);
  kn_unit3(z);
  for (int i = 0; i < 3; i++) R[3 * i] = x[i], R[3 * i + 1] = y[i], R[3 * i + 2] = z[i];
  kn_quat_from_matrix(quat, R);
  return KN_OK;
}

/* One notation at one attribute. */
static kn_status from_attr(double quat[4], const kn_mj_compiler* c, const kn_xml_attr* a) {
  double v[6], axis[3];
  switch (a->name[0]) {
  case 'q':
    KN_TRY(kn_value_reals(v, NULL, a, 4, 4));
    if (!(kn_quat_unit(v) > 1e-14))
      return kn_xml_fail_at(a, "the quaternion is zero, expected a rotation such as 1 0 0 0");
    memcpy(quat, v, 4 * sizeof *v);
    break;
  case 'a':
    KN_TRY(kn_value_reals(v, NULL, a, 4, 4));
    memcpy(axis, v, sizeof axis);
    if (!(kn_unit3(axis) > 1e-14))
      return kn_xml_fail_at(a, "the axis of \"axisangle\" is zero, expected a direction");
    axis_quat(quat, axis, v[3] * (c->degree ? DEGREE : 1.0));
    kn_quat_unit(quat);
    break;
  case 'x': return from_axes(quat, a);
  case 'z':
    KN_TRY(kn_value_reals(v, NULL, a, 3, 3));
    if (!(sqrt(kn_dot3(v, v)) > 1e-14)) return kn_xml_fail_at(a, "\"zaxis\" is zero, expected a direction");
    kn_mj_quat_from_z(quat, v);
    break;
  default: KN_TRY(kn_value_reals(v, NULL, a, 3, 3)); kn_mj_euler(quat, c, v);
  }
  return KN_OK;
}

static const char* const notation[] = {"quat", "axisangle", "xyaxes", "zaxis", "euler"};

/* The orientation attribute of one element; two of them are an error (quat beside another as well). */
static kn_status pick(const kn_xml_attr** out, const kn_xml_node* node) {
  *out = NULL;
  for (int i = 0; i < 5; i++) {
    const kn_xml_attr* a = kn_xml_find(node, notation[i]);
    if (!a) continue;
    if (*out)
      return kn_xml_fail_at(a, "two orientations, \"%s\" and \"%s\", expected one of them", (*out)->name,
                            a->name);
    *out = a;
  }
  return KN_OK;
}

kn_status kn_mj_orientation(double quat[4], bool* given, const kn_mj_element* e) {
  const kn_xml_attr* a;
  KN_TRY(pick(&a, e->node));
  for (const kn_mj_class* c = e->tag ? e->class : NULL; !a && c; c = c->parent)
    for (int i = c->count - 1; !a && i >= 0; i--)
      if (strcmp(c->element[i]->name, e->tag) == 0) KN_TRY(pick(&a, c->element[i]));
  if (given) *given = a != NULL;
  return a ? from_attr(quat, &e->document->compiler, a) : KN_OK;
}

kn_status kn_mj_place(double pos[3], double quat[4], const kn_mj_element* e) {
  KN_TRY(kn_mj_reals(pos, NULL, e, "pos", 3, 3));
  return kn_mj_orientation(quat, NULL, e);
}
