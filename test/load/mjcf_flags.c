/* <option><flag NAME="disable"/></option>: the model moves as one from whose file that part was taken out by hand, bit for
   bit, and otherwise than with it. Both models come from one text with a marker for the flags and markers for the parts. */
#include <stdio.h>
#include <string.h>

#include "knuckle/load.h"
#include "knuckle/step.h"
#include "test.h"

typedef struct part { /* what the text has for each part, or "" */
  const char *contact, *range, *friction, *stiffness, *damping, *gravcomp, *gravity, *coupling, *ctrl, *motor;
} part;

static const part whole = {"",
                           "range='-20 20'",
                           "frictionloss='.1'",
                           "stiffness='3'",
                           "damping='.4'",
                           "gravcomp='.3'",
                           "0 0 -9.81",
                           "<joint joint1='a' joint2='b'/>",
                           "ctrlrange='-1 1'",
                           "gear='2'"};

static void write_model(char* text, size_t size, const part* p, const char* flags) {
  snprintf(text, size,
           "<mujoco><option gravity='%s'><flag %s/></option>"
           "<worldbody><geom type='plane' size='0 0 .1' %s/>"
           "<body pos='0 0 .5' %s><joint name='a' axis='0 1 0' %s %s %s %s/>"
           "<geom type='capsule' fromto='0 0 0 .4 0 0' size='.05' %s/></body>"
           "<body pos='2 0 .5'><joint name='b' axis='0 1 0'/><geom type='capsule' fromto='0 0 0 .4 0 0' "
           "size='.05' %s/></body>"
           "<body pos='4 0 .06'><freejoint/><geom size='.05' %s/></body></worldbody>"
           "<equality>%s</equality><actuator><general joint='a' %s %s/></actuator>"
           "<keyframe><key ctrl='3'/></keyframe></mujoco>",
           p->gravity, flags, p->contact, p->gravcomp, p->range, p->friction, p->stiffness, p->damping,
           p->contact, p->contact, p->contact, p->coupling, p->ctrl, p->motor);
}

/* 300 steps from the keyframe (its control is beyond the control's range); 0 when something failed. */
static uint64_t run(const part* p, const char* flags, int* unsupported) {
  char text[2048];
  write_model(text, sizeof text, p, flags);
  kn_spec* spec = NULL;
  kn_load_report* report = NULL;
  kn_model* model = NULL;
  kn_state* state = NULL;
  kn_sim* sim = NULL;
  uint64_t hash = 0;
  if (CHECK_OK(kn_load_text(&spec, &report, "flags.xml", text, strlen(text), NULL)) &&
      CHECK_OK(kn_compile(&model, spec)) && CHECK_OK(kn_state_create(&state, model)) &&
      CHECK_OK(kn_state_keyframe(state, 0)) && CHECK_OK(kn_sim_create(&sim, model, NULL))) {
    for (int i = 0; i < 300; i++) CHECK_OK(kn_step(sim, state));
    hash = kn_state_hash(state);
  }
  *unsupported = 0;
  for (int i = 0; i < kn_load_notes(report); i++)
    *unsupported += kn_load_note(report, i)->kind == KN_NOTE_UNSUPPORTED;
  kn_sim_destroy(sim);
  kn_state_destroy(state);
  kn_model_destroy(model);
  kn_load_report_free(report);
  kn_spec_destroy(spec);
  return hash;
}

static void check_flag(const char* flag, const part* without) {
  char text[64];
  int notes, none;
  snprintf(text, sizeof text, "%s='disable'", flag);
  uint64_t with = run(&whole, "", &none), off = run(&whole, text, &notes), by_hand = run(without, "", &none);
  if (!CHECK(off == by_hand) || !CHECK(off != with) || !CHECK_INT(notes, 0)) printf("  flag %s\n", flag);
}

TEST(a_disabled_flag_is_the_part_taken_out_by_hand) {
  static const char none[] = "contype='0' conaffinity='0'";
#define WITHOUT(...)                                                                                         \
  part p = whole;                                                                                            \
  __VA_ARGS__;
  { WITHOUT(p.contact = none) check_flag("contact", &p); }
  { WITHOUT(p.range = "") check_flag("limit", &p); }
  { WITHOUT(p.friction = "") check_flag("frictionloss", &p); }
  { WITHOUT(p.coupling = "") check_flag("equality", &p); }
  { WITHOUT(p.contact = none; p.range = p.friction = p.coupling = "") check_flag("constraint", &p); }
  { WITHOUT(p.stiffness = "") check_flag("spring", &p); }
  { WITHOUT(p.damping = "") check_flag("damper", &p); }
  { WITHOUT(p.stiffness = p.damping = p.gravcomp = "") check_flag("passive", &p); }
  { WITHOUT(p.gravity = "0 0 0") check_flag("gravity", &p); }
  { WITHOUT(p.ctrl = "") check_flag("clampctrl", &p); }
  { WITHOUT(p.motor = "gear='2' gainprm='0'") check_flag("actuation", &p); }
}

TEST(flags_that_would_change_the_motion_and_are_not_read_are_told) {
  int notes;
  run(&whole, "filterparent='disable' warmstart='disable' energy='enable'", &notes);
  CHECK_INT(notes, 1);
  run(&whole, "override='enable'", &notes);
  CHECK_INT(notes, 1);
}
