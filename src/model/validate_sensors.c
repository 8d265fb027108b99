/* Sensors of a spec: each must look at something that its type can measure. Called by kn_spec_validate. */
#include <math.h>

#include "base/error.h"
#include "model/compile/compile.h"

int kn_sensor_numbers(kn_sensor_type type) {
  static const int n[KN_SENSOR_TYPE_COUNT] = {
#define X(id, name, dim, unit, doc) dim,
      KN_SENSOR_LIST(X)
#undef X
  };
  return (unsigned)type < KN_SENSOR_TYPE_COUNT ? n[type] : 0;
}

static kn_status check_zone(const kn_spec* spec, const kn_who* who, kn_frame frame) {
  const kn_frame_def* f = &spec->frame.at[frame];
  int n = kn_shape_sizes(f->zone);
  if (!n)
    return kn_refuse(who, "the zone of frame %d '%s' is no sphere, capsule, ellipsoid, cylinder or box",
                     frame, f->name ? f->name : "");
  for (int i = 0; i < n; i++)
    if (!(f->zone_size[i] > 0.0 && isfinite(f->zone_size[i])))
      return kn_refuse(who, "zone_size[%d] of frame %d '%s' is %g, expected a length > 0", i, frame,
                       f->name ? f->name : "", f->zone_size[i]);
  return KN_OK;
}

static kn_status check_joint(const kn_spec* spec, const kn_who* who, const kn_sensor_def* d) {
  if (d->joint < 0) return kn_refuse(who, "joint is %d, expected the joint it looks at", d->joint);
  const kn_joint_def* j = &spec->joint.at[d->joint];
  bool ball = d->type == KN_SENSOR_BALL_QUAT || d->type == KN_SENSOR_BALL_ANGVEL,
       limit = d->type >= KN_SENSOR_LIMIT_POS && d->type <= KN_SENSOR_LIMIT_FORCE;
  const char* name = j->name ? j->name : "";
  if (limit && !j->limited) return kn_refuse(who, "joint %d '%s' has no limit", d->joint, name);
  if (limit && j->type == KN_JOINT_BALL) return KN_OK;
  if (ball && j->type != KN_JOINT_BALL)
    return kn_refuse(who, "joint %d '%s' is no ball joint", d->joint, name);
  if (!ball && kn_joint_nv(j->type) != 1)
    return kn_refuse(who, "joint %d '%s' must be a hinge, slide or screw", d->joint, name);
  return KN_OK;
}

kn_status kn_validate_sensor(const kn_spec* spec, const kn_who* who, const kn_sensor_def* d) {
  if ((unsigned)d->type >= KN_SENSOR_TYPE_COUNT)
    return kn_refuse(who, "type is %d, which is none", (int)d->type);
  KN_TRY(kn_check_not_negative(who, "cutoff", d->cutoff));
  if (d->type <= KN_SENSOR_RANGEFINDER && d->frame < 0)
    return kn_refuse(who, "frame is %d, expected the frame it sits at", d->frame);
  if (d->type == KN_SENSOR_TOUCH) return check_zone(spec, who, d->frame);
  if (d->type >= KN_SENSOR_JOINT_POS && d->type <= KN_SENSOR_JOINT_FORCE) return check_joint(spec, who, d);
  if (d->type >= KN_SENSOR_ACTUATOR_POS && d->type <= KN_SENSOR_ACTUATOR_FORCE && d->actuator < 0)
    return kn_refuse(who, "actuator is %d, expected the actuator it looks at", d->actuator);
  return KN_OK;
}
