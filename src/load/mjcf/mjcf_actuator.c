/* <actuator>. Force = gain u + bias0 + bias1 length + bias2 rate; shortcuts set gain and bias, defaults of
   any actuator kind apply in order from the main class down. A damping ratio r means bias2 = -2 r sqrt(kp m)
   with m the inertia seen through the gear at the reference position. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "load/mjcf/mjcf.h"

typedef struct gains {
  double gain, bias[3], ratio;
  bool affine;         /* bias is used */
  const char* problem; /* why it cannot be represented */
} gains;

static kn_status read_general(gains* g, const kn_xml_node* node) {
  const kn_xml_attr* dyn = kn_xml_find(node, "dyntype");
  double p[10] = {g->gain}, b[10] = {g->bias[0], g->bias[1], g->bias[2]};
  int dynamics = 0, gain = 0, bias = g->affine;
  KN_TRY(kn_value_keyword(&dynamics, dyn, "none|integrator|filter|filterexact|muscle|user|pid|dcmotor"));
  if (dyn) g->problem = dynamics ? "activation dynamics" : NULL;
  KN_TRY(kn_value_reals(p, NULL, kn_xml_find(node, "gainprm"), 1, 10));
  g->gain = p[0];
  KN_TRY(kn_value_keyword(&gain, kn_xml_find(node, "gaintype"), "fixed|affine|muscle|user|pid|dcmotor"));
  if (gain > 1 || (gain == 1 && (p[1] != 0.0 || p[2] != 0.0))) g->problem = "a gain that is not constant";
  KN_TRY(kn_value_keyword(&bias, kn_xml_find(node, "biastype"), "none|affine|muscle|user|pid|dcmotor"));
  g->affine = bias == 1;
  if (bias > 1) g->problem = "a bias that is not affine";
  KN_TRY(kn_value_reals(b, NULL, kn_xml_find(node, "biasprm"), 1, 10));
  memcpy(g->bias, b, sizeof g->bias);
  return KN_OK;
}

static kn_status read_position(gains* g, const kn_xml_node* node) {
  const kn_xml_attr *kv = kn_xml_find(node, "kv"), *ratio = kn_xml_find(node, "dampratio");
  double v = -g->bias[2];
  KN_TRY(kn_value_bound(&g->gain, kn_xml_find(node, "kp")));
  if (kv && ratio) return kn_xml_fail_at(ratio, "both kv and dampratio, expected one of them");
  if (kv) g->ratio = 0.0;
  KN_TRY(kn_value_bound(&v, kv));
  KN_TRY(kn_value_bound(&g->ratio, ratio));
  g->affine = true;
  g->bias[0] = 0.0, g->bias[1] = -g->gain, g->bias[2] = ratio ? 0.0 : -v;
  return KN_OK;
}

static kn_status apply(gains* g, const kn_xml_node* node) {
  if (kn_xml_is(node, "general")) return read_general(g, node);
  if (kn_xml_is(node, "motor")) {
    *g = (gains){.gain = 1.0};
    return KN_OK;
  }
  if (kn_xml_is(node, "position")) return read_position(g, node);
  if (kn_xml_is(node, "velocity")) {
    KN_TRY(kn_value_bound(&g->gain, kn_xml_find(node, "kv")));
    *g = (gains){.gain = g->gain, .bias = {0, 0, -g->gain}, .affine = true};
    return KN_OK;
  }
  return KN_OK; /* the others have no affine form; the element itself is listed */
}

static kn_status apply_classes(gains* g, const kn_mj_class* c, int depth) {
  if (!c || depth > KN_XML_MAX_DEPTH) return KN_OK;
  KN_TRY(apply_classes(g, c->parent, depth + 1));
  for (int i = 0; i < c->count; i++)
    if (kn_mj_is_actuator(c->element[i]->name)) KN_TRY(apply(g, c->element[i]));
  return KN_OK;
}

/* ---- where it acts ---- */

static kn_status on_joint(kn_mj_actuator* a, kn_mj_loader* l, const kn_mj_element* e,
                          const kn_xml_attr* joint, bool in_parent, const double gear[6]) {
  int j;
  KN_TRY(kn_mj_find(&j, l, e->document, 'j', joint));
  kn_joint_type type = l->joint.at[j].def.type;
  int n = type == KN_JOINT_FREE ? 6 : type == KN_JOINT_BALL ? 3 : 1;
  a->def.joints = 0;
  for (int i = 0; i < n; i++) {
    if (n > 1 && gear[i] == 0.0) continue;
    a->def.joint[a->def.joints] = j;
    a->def.dof[a->def.joints] = i;
    a->def.gear[a->def.joints++] = gear[i];
  }
  if (n == 1 || !in_parent) return KN_OK;
  a->emit = false;
  return kn_note_attr(l->report, KN_NOTE_UNSUPPORTED, joint,
                      "jointinparent of a ball or free joint is not supported; the actuator was left out");
}

static kn_status on_tendon(kn_mj_actuator* a, kn_mj_loader* l, const kn_mj_element* e,
                           const kn_xml_attr* tendon, double gear) {
  int t;
  KN_TRY(kn_mj_find(&t, l, e->document, 't', tendon));
  const kn_mj_tendon* T = &l->tendon.at[t];
  if (!T->fixed || T->count > 8) {
    a->emit = false;
    return kn_note_attr(l->report, KN_NOTE_UNSUPPORTED, tendon,
                        "an actuator on a %s is not supported and was left out",
                        T->fixed ? "tendon over more than 8 joints" : "spatial tendon");
  }
  a->def.joints = T->count;
  for (int i = 0; i < T->count; i++) {
    a->def.joint[i] = T->joint[i];
    a->def.dof[i] = 0;
    a->def.gear[i] = T->coef[i] * gear;
  }
  return KN_OK;
}

static kn_status on_site(kn_mj_actuator* a, kn_mj_loader* l, const kn_mj_element* e, const kn_xml_attr* site,
                         const double gear[6]) {
  const kn_xml_attr* ref = kn_xml_find(e->node, "refsite");
  a->def.joints = 0;
  memcpy(a->def.site_gear, gear, sizeof a->def.site_gear);
  KN_TRY(kn_mj_find(&a->def.site, l, e->document, 's', site));
  return ref ? kn_mj_find(&a->def.refsite, l, e->document, 's', ref) : KN_OK;
}

static kn_status transmission(kn_mj_actuator* a, kn_mj_loader* l, const kn_mj_element* e) {
  static const char* const ways[] = {"joint",      "jointinparent", "tendon", "site",
                                     "slidersite", "cranksite",     "body"};
  const kn_xml_attr* way[7];
  int given = 0, which = -1;
  for (int i = 0; i < 7; i++) {
    way[i] = kn_xml_find(e->node, ways[i]);
    if (way[i] && !(i == 4 || i == 5)) given++, which = i;
    if (way[i] && which < 0) which = i;
  }
  if (which < 0)
    return kn_xml_fail(e->node, "<%s> acts on nothing, expected joint=\"…\", tendon=\"…\" or site=\"…\"",
                       e->node->name);
  if (given > 1)
    return kn_xml_fail_at(way[which], "the actuator acts on two things, expected one of joint, tendon, site");
  double gear[6] = {1, 0, 0, 0, 0, 0};
  KN_TRY(kn_mj_reals(gear, NULL, e, "gear", 1, 6));
  if (which == 0 || which == 1) return on_joint(a, l, e, way[which], which == 1, gear);
  if (which == 2) return on_tendon(a, l, e, way[2], gear[0]);
  if (which == 3) return on_site(a, l, e, way[3], gear);
  int index;
  if (which == 6) KN_TRY(kn_mj_find(&index, l, e->document, 'b', way[6]));
  a->emit = false;
  return kn_note_attr(l->report, KN_NOTE_UNSUPPORTED, way[which],
                      "an actuator that acts through \"%s\" is not supported and was left out", ways[which]);
}

/* inheritrange: the control range is the target's range, stretched about its middle. */
static kn_status inherit_range(kn_mj_actuator* a, const kn_mj_loader* l, const kn_mj_element* e) {
  double factor = 0.0, lo, hi;
  const kn_xml_attr *attr = kn_mj_attr(e, "inheritrange"), *tendon = kn_xml_find(e->node, "tendon");
  KN_TRY(kn_value_real(&factor, attr));
  if (factor == 0.0 || !a->emit || kn_xml_find(e->node, "ctrlrange")) return KN_OK;
  KN_TRY(kn_value_bound(&factor, attr));
  if (tendon) {
    int t = kn_names_get(&l->names, 't', tendon->value);
    if (t < 0 || !l->tendon.at[t].limited)
      return kn_xml_fail_at(attr, "inheritrange from a tendon without range, expected a tendon with limits");
    lo = l->tendon.at[t].range[0], hi = l->tendon.at[t].range[1];
  } else {
    const kn_joint_def* j = a->def.joints ? &l->joint.at[a->def.joint[0]].def : NULL;
    if (!j || !j->limited)
      return kn_xml_fail_at(attr, "inheritrange from a joint without range, expected a joint with limits");
    lo = j->range[0][0], hi = j->range[0][1];
  }
  double middle = 0.5 * (lo + hi), half = 0.5 * (hi - lo) * factor;
  a->def.ctrl_limited = true;
  a->def.ctrl_range[0] = middle - half;
  a->def.ctrl_range[1] = middle + half;
  return KN_OK;
}

static kn_status read_actuator(kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node) {
  kn_mj_element e;
  KN_TRY(kn_mj_element_open(&e, scope, node, "actuator"));
  kn_mj_actuator a = {.def = kn_actuator_default(), .node = node, .emit = true};
  gains g = {.gain = 1.0};
  KN_TRY(kn_mj_name(&a.name, l, scope, node));
  a.def.name = a.name;
  bool known = kn_xml_is(node, "general") || kn_xml_is(node, "motor") || kn_xml_is(node, "position") ||
               kn_xml_is(node, "velocity");
  if (!known) {
    a.emit = false;
    KN_TRY(kn_note_node(l->report, KN_NOTE_UNSUPPORTED, node,
                        "<%s> actuators are not supported; this one was left out", node->name));
  } else {
    KN_TRY(apply_classes(&g, e.class, 0));
    KN_TRY(apply(&g, node));
  }
  if (known && g.problem) {
    a.emit = false;
    KN_TRY(kn_note_node(l->report, KN_NOTE_UNSUPPORTED, node,
                        "an actuator with %s is not supported and was left out", g.problem));
  }
  kn_status status = known ? transmission(&a, l, &e) : KN_OK;
  if (status == KN_NOT_FOUND) return KN_OK; /* attached document, not brought in */
  KN_TRY(status);
  a.def.gain = g.gain;
  for (int i = 0; i < 3; i++) a.def.bias[i] = g.affine ? g.bias[i] : 0.0;
  a.dampratio = g.ratio;
  KN_TRY(kn_mj_limited(&a.def.ctrl_limited, &e, "ctrllimited", "ctrlrange"));
  KN_TRY(kn_mj_limited(&a.def.force_limited, &e, "forcelimited", "forcerange"));
  KN_TRY(kn_mj_reals(a.def.ctrl_range, NULL, &e, "ctrlrange", 2, 2));
  KN_TRY(kn_mj_reals(a.def.force_range, NULL, &e, "forcerange", 2, 2));
  KN_TRY(inherit_range(&a, l, &e));
  KN_MJ_NEW(kn_mj_actuator, slot, l, actuator, node);
  *slot = a;
  return kn_mj_register(l, 'a', a.name, l->actuator.count - 1, node);
}

kn_status kn_mj_actuators_read(kn_mj_loader* l, const kn_mj_document* d) {
  return kn_mj_each(l, d, "actuator", read_actuator);
}

static bool wants_spring(const kn_mj_joint* j) {
  return j->springdamper[0] > 0.0 && j->springdamper[1] > 0.0;
}

/* springdamper: time constant and damping ratio of the joint against the inertia seen along it, 1/mean
 * (M⁻¹)_ii. */
static kn_status finish_spring(kn_mj_loader* l, kn_mj_joint* j, kn_mj_inertia* in) {
  if (!wants_spring(j)) return KN_OK;
  double tc = j->springdamper[0], dr = j->springdamper[1], mobility = 0.0;
  for (int i = 0; i < j->nv; i++) {
    double m, *J = kn_hoard_take(l->pool, ((size_t)in->n + 1) * sizeof *J);
    if (!J) return KN_XML_NO_MEMORY(j->node);
    J[j->v + i] = 1.0;
    if (!kn_mj_reflected(&m, in, J))
      return kn_xml_fail(j->node, "springdamper needs the inertia seen by the joint, but the mass matrix is "
                                  "singular, expected bodies with mass");
    mobility += 1.0 / (m * j->nv);
  }
  j->def.stiffness = 1.0 / (mobility * fmax(1e-15, tc * tc * dr * dr));
  j->def.damping = 2.0 / (mobility * fmax(1e-15, tc));
  return KN_OK;
}

/* actuatorfrcrange bounds what all actuators together do to a joint; one actuator alone takes it over. */
static kn_status finish_force_range(kn_mj_loader* l, int joint) {
  kn_mj_joint* j = &l->joint.at[joint];
  kn_mj_actuator* only = NULL;
  int users = 0;
  for (int i = 0; i < l->actuator.count; i++)
    for (int k = 0; l->actuator.at[i].emit && k < l->actuator.at[i].def.joints; k++)
      if (l->actuator.at[i].def.joint[k] == joint) users++, only = &l->actuator.at[i];
  if (users == 0) return KN_OK;
  if (users > 1 || only->def.joints > 1 || only->def.gear[0] == 0.0)
    return kn_note_node(
        l->report, KN_NOTE_UNSUPPORTED, j->node,
        "actuatorfrcrange of a joint with several actuators is not supported and has no effect");
  double g = only->def.gear[0], lo = j->frc_range[0] / g, hi = j->frc_range[1] / g;
  if (g < 0.0) {
    double t = lo;
    lo = hi;
    hi = t;
  }
  if (!only->def.force_limited) only->def.force_range[0] = -INFINITY, only->def.force_range[1] = INFINITY;
  only->def.force_limited = true;
  only->def.force_range[0] = fmax(only->def.force_range[0], lo);
  only->def.force_range[1] = fmin(only->def.force_range[1], hi);
  return KN_OK;
}

static kn_status finish_damping(kn_mj_loader* l, kn_mj_actuator* a, kn_mj_inertia* in) {
  double m;
  if (!a->emit || !(a->dampratio > 0.0)) return KN_OK;
  if (!a->def.joints)
    return kn_note_node(l->report, KN_NOTE_UNSUPPORTED, a->node,
                        "dampratio of an actuator through a site is not supported and has no effect");
  double* J = kn_hoard_take(l->pool, ((size_t)in->n + 1) * sizeof *J);
  if (!J) return KN_XML_NO_MEMORY(a->node);
  for (int k = 0; k < a->def.joints; k++) J[l->joint.at[a->def.joint[k]].v + a->def.dof[k]] += a->def.gear[k];
  if (!kn_mj_reflected(&m, in, J))
    return kn_xml_fail(a->node, "dampratio needs the inertia seen by the actuator, but the mass matrix is "
                                "singular, expected bodies with mass");
  a->def.bias[2] = -2.0 * a->dampratio * sqrt(fmax(0.0, a->def.gain * m));
  return KN_OK;
}

kn_status kn_mj_actuators_finish(kn_mj_loader* l) {
  bool needed = false;
  for (int i = 0; i < l->joint.count; i++) {
    if (l->joint.at[i].frc_limited) KN_TRY(finish_force_range(l, i));
    needed = needed || wants_spring(&l->joint.at[i]);
  }
  for (int i = 0; i < l->actuator.count; i++) needed = needed || l->actuator.at[i].dampratio > 0.0;
  if (!needed) return KN_OK;
  kn_mj_inertia in = {0};
  kn_status status = kn_mj_reference_inertia(&in, l);
  for (int i = 0; status == KN_OK && i < l->joint.count; i++) status = finish_spring(l, &l->joint.at[i], &in);
  for (int i = 0; status == KN_OK && i < l->actuator.count; i++)
    status = finish_damping(l, &l->actuator.at[i], &in);
  kn_mj_inertia_free(&in);
  return status;
}
