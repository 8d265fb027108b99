/* <option><flag …/></option>: switches of MuJoCo's that take parts of the model out of the motion. A part that is
   disabled is not written to the spec, so nothing after the loader knows of switches:

     contact       geoms touch nothing, pairs are dropped       limit         joints have no range
     equality      loops and couplings are dropped              frictionloss  joints have no dry friction
     constraint    all four of the above                        spring, damper, passive   no stiffness, no damping, both (and no gravity compensation)
     actuation     actuators have no force                      clampctrl     controls are not limited
     gravity       none

   Switches of MuJoCo's own numerics (warmstart, refsafe, midphase, …) have no effect here by nature and are passed over
   by the schema; filterparent and override would change the motion and are told as unsupported. */
#include <string.h>

#include "base/error.h"
#include "load/mjcf/mjcf.h"

static bool disable(kn_mj_loader* l, const char* name) {
  kn_mj_off* off = &l->off;
  bool constraint = strcmp(name, "constraint") == 0, passive = strcmp(name, "passive") == 0, known = false;
  struct {
    const char* name;
    bool* flag;
    bool also;
  } part[] = {{"contact", &off->contact, constraint},   {"limit", &off->limit, constraint},
              {"equality", &off->equality, constraint}, {"frictionloss", &off->frictionloss, constraint},
              {"spring", &off->spring, passive},        {"damper", &off->damper, passive},
              {"passive", &off->gravcomp, passive},     {"actuation", &off->actuation, false},
              {"clampctrl", &off->clampctrl, false}};
  for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
    if (part[i].also || strcmp(name, part[i].name) == 0) known = *part[i].flag = true;
  if (strcmp(name, "gravity") == 0) {
    l->gravity[0] = l->gravity[1] = l->gravity[2] = 0.0;
    known = true;
  }
  return known;
}

kn_status kn_mj_flags_read(kn_mj_loader* l, const kn_xml_node* flag) {
  for (int i = 0; i < flag->nattr; i++) {
    const kn_xml_attr* a = &flag->attr[i];
    int enabled;
    KN_TRY(kn_value_keyword(&enabled, a, "disable|enable"));
    bool other = enabled ? strcmp(a->name, "override") == 0 : strcmp(a->name, "filterparent") == 0;
    if (!enabled && disable(l, a->name)) continue;
    if (other)
      KN_TRY(kn_note_attr(l->report, KN_NOTE_UNSUPPORTED, a,
                          "flag %s=\"%s\" is not supported and has no effect", a->name, a->value));
  }
  return KN_OK;
}

static void strip_joint(kn_joint_def* d, const kn_mj_off* off) {
  if (off->limit) d->limited = false;
  if (off->frictionloss) d->friction = 0.0;
  if (off->spring) d->stiffness = 0.0;
  if (off->damper) d->damping = 0.0;
}

void kn_mj_flags_apply(kn_mj_loader* l) {
  for (int i = 0; i < l->joint.count; i++) strip_joint(&l->joint.at[i].def, &l->off);
  if (l->off.contact) {
    for (int i = 0; i < l->geom.count; i++) {
      l->geom.at[i].def.contype = l->geom.at[i].def.conaffinity = 0;
      l->geom.at[i].referenced = false;
    }
    l->pair.count = 0;
  }
  if (l->off.equality) l->loop.count = 0;
  if (l->off.gravcomp)
    for (int i = 0; i < l->body.count; i++) l->body.at[i].def.gravcomp = 0.0;
  if (l->off.clampctrl)
    for (int i = 0; i < l->actuator.count; i++) l->actuator.at[i].def.ctrl_limited = false;
}
