/* <contact>, <tendon>, <equality>. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "load/mjcf/mjcf.h"
#include "spatial/spatial.h"

/* In an attached document, elements that refer to what was not brought in are left out. */
#define FIND_OR_SKIP(out, l, d, kind, attr)                                                                  \
  do {                                                                                                       \
    kn_status found_ = kn_mj_find((out), (l), (d), (kind), (attr));                                          \
    if (found_ == KN_NOT_FOUND) return KN_OK;                                                                \
    if (found_ != KN_OK) return found_;                                                                      \
  } while (0)

static kn_status need(const kn_xml_attr** out, const kn_xml_node* node, const char* name) {
  *out = kn_xml_find(node, name);
  return *out ? KN_OK : kn_xml_fail(node, "<%s> without %s, expected %s=\"…\"", node->name, name, name);
}

/* ---- contact ---- */

/* Values of the pair where it says nothing: the geom of higher priority, else the larger ones. */
static void mix(kn_pair_def* p, const kn_geom_def* a, const kn_geom_def* b) {
  const kn_geom_def* only = a->material.priority > b->material.priority   ? a
                            : a->material.priority < b->material.priority ? b
                                                                          : NULL;
  p->material = a->material;
  p->condim = only ? only->condim : a->condim > b->condim ? a->condim : b->condim;
  p->material.mu = only ? only->material.mu : fmax(a->material.mu, b->material.mu);
  p->material.torsion = only ? only->material.torsion : fmax(a->material.torsion, b->material.torsion);
  p->material.roll = only ? only->material.roll : fmax(a->material.roll, b->material.roll);
  p->margin = fmax(a->margin, b->margin);
}

static kn_status read_pair(kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node) {
  const kn_xml_attr *a, *b;
  kn_mj_element e;
  int ga, gb, n = 0;
  KN_TRY(need(&a, node, "geom1"));
  KN_TRY(need(&b, node, "geom2"));
  FIND_OR_SKIP(&ga, l, scope->document, 'g', a);
  FIND_OR_SKIP(&gb, l, scope->document, 'g', b);
  if (ga == gb) return kn_xml_fail_at(b, "a pair of a geom with itself, expected two different geoms");
  KN_TRY(kn_mj_element_open(&e, scope, node, "pair"));
  kn_pair_def p = kn_pair_default();
  mix(&p, &l->geom.at[ga].def, &l->geom.at[gb].def);
  double f[5] = {0};
  KN_TRY(kn_mj_reals(f, &n, &e, "friction", 1, 5));
  KN_TRY(kn_mj_int(&p.condim, &e, "condim"));
  KN_TRY(kn_mj_real(&p.margin, &e, "margin"));
  for (int i = 0; i < n; i++)
    if (f[i] < 0.0)
      return kn_xml_fail_at(kn_mj_attr(&e, "friction"), "friction number %d is %g, expected a number >= 0",
                            i + 1, f[i]);
  if (p.condim != 1 && p.condim != 3 && p.condim != 4 && p.condim != 6)
    return kn_xml_fail_at(kn_mj_attr(&e, "condim"), "condim is %d, expected 1, 3, 4 or 6", p.condim);
  const double least = 1e-5; /* MuJoCo's own least coefficient */
  if (n > 1 && f[0] != f[1]) f[0] = fmax(f[0], least), p.material.mu2 = fmax(f[1], least);
  if (n > 0) p.material.mu = f[0];
  p.material.torsion = p.condim >= 4 ? (n > 2 ? f[2] : p.material.torsion) : 0.0;
  p.material.roll = p.condim >= 6 ? (n > 3 ? f[3] : p.material.roll) : 0.0;
  p.a = ga;
  p.b = gb;
  KN_TRY(kn_mj_name(&p.name, l, scope, node));
  l->geom.at[ga].referenced = l->geom.at[gb].referenced = true;
  KN_MJ_NEW(kn_mj_pair, slot, l, pair, node);
  *slot = (kn_mj_pair){p, node};
  return KN_OK;
}

static kn_status read_exclude(kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node) {
  const kn_xml_attr *a, *b;
  int ba, bb;
  KN_TRY(need(&a, node, "body1"));
  KN_TRY(need(&b, node, "body2"));
  FIND_OR_SKIP(&ba, l, scope->document, 'b', a);
  FIND_OR_SKIP(&bb, l, scope->document, 'b', b);
  KN_MJ_NEW(kn_body_pair, slot, l, exclusion, node);
  *slot = (kn_body_pair){ba, bb};
  return KN_OK;
}

static kn_status read_contact(kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node) {
  return kn_xml_is(node, "pair") ? read_pair(l, scope, node) : read_exclude(l, scope, node);
}

kn_status kn_mj_contacts_read(kn_mj_loader* l, const kn_mj_document* d) {
  return kn_mj_each(l, d, "contact", read_contact);
}

/* ---- tendons ---- */

static kn_status read_fixed(kn_mj_tendon* t, kn_mj_loader* l, const kn_mj_scope* scope,
                            const kn_xml_node* node) {
  for (const kn_xml_node* k = node->child; k; k = k->next) {
    const kn_xml_attr *joint, *coef;
    int j;
    KN_TRY(need(&joint, k, "joint"));
    KN_TRY(need(&coef, k, "coef"));
    FIND_OR_SKIP(&j, l, scope->document, 'j', joint);
    kn_joint_type type = l->joint.at[j].def.type;
    if (type != KN_JOINT_HINGE && type != KN_JOINT_SLIDE)
      return kn_xml_fail_at(joint, "a tendon over a ball or free joint, expected hinge or slide joints");
    for (int i = 0; i < t->count && i < 8; i++)
      if (t->joint[i] == j)
        return kn_xml_fail_at(joint, "the joint is in the tendon twice, expected different joints");
    if (t->count < 8) {
      t->joint[t->count] = j;
      KN_TRY(kn_value_reals(&t->coef[t->count], NULL, coef, 1, 1));
    }
    t->count++;
  }
  if (t->count == 0)
    return kn_xml_fail(node, "<fixed> without joints, expected <joint joint=\"…\" coef=\"…\"/> inside");
  return KN_OK;
}

static kn_status read_spatial(kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node) {
  int n = 0, index;
  for (const kn_xml_node* k = node->child; k; k = k->next) {
    const kn_xml_attr *site = kn_xml_find(k, "site"), *geom = kn_xml_find(k, "geom");
    if (site && kn_xml_is(k, "site")) FIND_OR_SKIP(&index, l, scope->document, 's', site);
    if (geom && kn_xml_is(k, "geom")) FIND_OR_SKIP(&index, l, scope->document, 'g', geom);
    n += kn_xml_is(k, "site");
  }
  if (n < 2)
    return kn_xml_fail(node, "<spatial> with %d sites, expected at least two <site site=\"…\"/> inside", n);
  return kn_note_node(l->report, KN_NOTE_UNSUPPORTED, node,
                      "spatial tendon \"%.60s\" is read and checked, it exerts no force and no limit",
                      kn_xml_value(node, "name") ? kn_xml_value(node, "name") : "");
}

static kn_status read_tendon(kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node) {
  kn_mj_element e;
  KN_TRY(kn_mj_element_open(&e, scope, node, "tendon"));
  kn_mj_tendon t = {.node = node, .fixed = kn_xml_is(node, "fixed")};
  KN_TRY(kn_mj_name(&t.name, l, scope, node));
  KN_TRY(kn_mj_limited(&t.limited, &e, "limited", "range"));
  KN_TRY(kn_mj_reals(t.range, NULL, &e, "range", 2, 2));
  if (t.fixed)
    KN_TRY(read_fixed(&t, l, scope, node));
  else
    KN_TRY(read_spatial(l, scope, node));
  if (t.fixed && t.limited)
    KN_TRY(kn_note_node(l->report, KN_NOTE_UNSUPPORTED, node,
                        "the length limits of tendon \"%.60s\" are not supported and have no effect",
                        t.name ? t.name : ""));
  KN_MJ_NEW(kn_mj_tendon, slot, l, tendon, node);
  *slot = t;
  return kn_mj_register(l, 't', t.name, l->tendon.count - 1, node);
}

kn_status kn_mj_tendons_read(kn_mj_loader* l, const kn_mj_document* d) {
  return kn_mj_each(l, d, "tendon", read_tendon);
}

/* ---- equality ---- */

/* Two sites in place of bodies and anchors. */
static kn_status between_sites(kn_loop_def* loop, kn_mj_loader* l, const kn_mj_document* d,
                               const kn_xml_node* node) {
  const kn_xml_attr *s1 = kn_xml_find(node, "site1"), *s2 = kn_xml_find(node, "site2");
  int a, b;
  if (!s1 || !s2) return kn_xml_fail(node, "<%s> with one site, expected site1 and site2", node->name);
  FIND_OR_SKIP(&a, l, d, 's', s1);
  FIND_OR_SKIP(&b, l, d, 's', s2);
  const kn_frame_def *A = &l->site.at[a].def, *B = &l->site.at[b].def;
  loop->a = A->body;
  loop->b = B->body;
  memcpy(loop->pos_a, A->pos, sizeof A->pos);
  memcpy(loop->quat_a, A->quat, sizeof A->quat);
  memcpy(loop->pos_b, B->pos, sizeof B->pos);
  memcpy(loop->quat_b, B->quat, sizeof B->quat);
  loop->from_reference = false;
  return KN_OK;
}

static kn_status two_bodies(kn_loop_def* loop, kn_mj_loader* l, const kn_mj_document* d,
                            const kn_xml_node* node) {
  const kn_xml_attr *b1, *b2 = kn_xml_find(node, "body2");
  KN_TRY(need(&b1, node, "body1"));
  FIND_OR_SKIP(&loop->a, l, d, 'b', b1);
  loop->b = KN_WORLD;
  if (b2) FIND_OR_SKIP(&loop->b, l, d, 'b', b2);
  if (loop->a == loop->b)
    return kn_xml_fail(node, "<%s> between a body and itself, expected two bodies", node->name);
  return KN_OK;
}

static kn_pose body_pose(const kn_mj_loader* l, kn_body b) {
  return b == KN_WORLD ? kn_pose_identity() : l->body.at[b].world;
}

/* The anchor is a point of body 1; the point of body 2 is where it is at the reference position. */
static kn_status read_connect(kn_loop_def* loop, kn_mj_loader* l, const kn_mj_document* d,
                              const kn_xml_node* node) {
  if (kn_xml_find(node, "site1") || kn_xml_find(node, "site2")) return between_sites(loop, l, d, node);
  const kn_xml_attr* anchor;
  KN_TRY(two_bodies(loop, l, d, node));
  KN_TRY(need(&anchor, node, "anchor"));
  KN_TRY(kn_value_reals(loop->pos_a, NULL, anchor, 3, 3));
  kn_pose A = body_pose(l, loop->a), B = body_pose(l, loop->b), rel = kn_pose_between(&B, &A);
  kn_pose_apply(loop->pos_b, &rel, loop->pos_a);
  loop->from_reference = false;
  return KN_OK;
}

/* relpose: body 2 in the frame of body 1, a zero quaternion means the reference position; the anchor is a
   point of body 2. */
static kn_status read_weld(kn_loop_def* loop, kn_mj_loader* l, const kn_mj_document* d,
                           const kn_xml_node* node) {
  if (kn_xml_find(node, "site1") || kn_xml_find(node, "site2")) return between_sites(loop, l, d, node);
  double r[7] = {0}, quat[4];
  KN_TRY(two_bodies(loop, l, d, node));
  KN_TRY(kn_value_reals(r, NULL, kn_xml_find(node, "relpose"), 7, 7));
  KN_TRY(kn_value_reals(loop->pos_b, NULL, kn_xml_find(node, "anchor"), 3, 3));
  memcpy(quat, r + 3, sizeof quat);
  kn_pose rel;
  if (kn_quat_unit(quat) > 0.0) {
    rel = kn_pose_make(r, quat);
  } else {
    kn_pose A = body_pose(l, loop->a), B = body_pose(l, loop->b);
    rel = kn_pose_between(&A, &B);
  }
  kn_pose_apply(loop->pos_a, &rel, loop->pos_b);
  kn_quat_from_matrix(loop->quat_a, rel.R);
  loop->from_reference = false;
  return KN_OK;
}

static kn_status scalar_joint(int* out, kn_mj_loader* l, const kn_mj_document* d, const kn_xml_attr* a) {
  KN_TRY(kn_mj_find(out, l, d, 'j', a));
  kn_joint_type type = l->joint.at[*out].def.type;
  if (type == KN_JOINT_HINGE || type == KN_JOINT_SLIDE) return KN_OK;
  return kn_xml_fail_at(a, "an equality of a ball or free joint, expected a hinge or slide joint");
}

static kn_status polynomial(kn_loop_def* loop, const kn_xml_node* node) {
  memcpy(loop->coef, (double[5]){0, 1}, sizeof loop->coef);
  return kn_value_reals(loop->coef, NULL, kn_xml_find(node, "polycoef"), 1, 5);
}

static kn_status read_coupling(kn_loop_def* loop, kn_mj_loader* l, const kn_mj_document* d,
                               const kn_xml_node* node) {
  const kn_xml_attr *j1, *j2 = kn_xml_find(node, "joint2");
  loop->joint2 = -1;
  KN_TRY(need(&j1, node, "joint1"));
  KN_TRY(scalar_joint(&loop->joint1, l, d, j1));
  if (j2) KN_TRY(scalar_joint(&loop->joint2, l, d, j2));
  return polynomial(loop, node);
}

/* Tendons over one joint each are joints in other units: c q1 + … ; anything else is listed. */
static kn_status read_tendon_equality(bool* made, kn_loop_def* loop, kn_mj_loader* l, const kn_mj_document* d,
                                      const kn_xml_node* node) {
  const kn_xml_attr *t1, *t2 = kn_xml_find(node, "tendon2");
  int a, b = -1;
  KN_TRY(need(&t1, node, "tendon1"));
  KN_TRY(kn_mj_find(&a, l, d, 't', t1));
  if (t2) KN_TRY(kn_mj_find(&b, l, d, 't', t2));
  const kn_mj_tendon *A = &l->tendon.at[a], *B = b >= 0 ? &l->tendon.at[b] : NULL;
  *made = A->fixed && A->count == 1 && A->coef[0] != 0.0 && (!B || (B->fixed && B->count == 1));
  if (!*made)
    return kn_note_node(
        l->report, KN_NOTE_UNSUPPORTED, node,
        "an equality of tendons over several joints or in space is not supported and has no effect");
  KN_TRY(polynomial(loop, node));
  loop->joint1 = A->joint[0];
  loop->joint2 = B ? B->joint[0] : -1;
  double power = 1.0;
  for (int i = 0; i < 5; i++, power *= B ? B->coef[0] : 0.0) loop->coef[i] *= power / A->coef[0];
  return KN_OK;
}

static kn_status read_equality(kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node) {
  static const struct {
    const char* tag;
    kn_loop_type type;
  } kinds[] = {{"connect", KN_LOOP_CONNECT},
               {"weld", KN_LOOP_WELD},
               {"joint", KN_LOOP_COUPLING},
               {"tendon", KN_LOOP_COUPLING}};
  int kind = -1;
  for (int i = 0; i < 4; i++)
    if (kn_xml_is(node, kinds[i].tag)) kind = i;
  if (kind < 0) return KN_OK; /* listed by the schema */
  kn_mj_element e;
  KN_TRY(kn_mj_element_open(&e, scope, node, "equality"));
  kn_loop_def loop = kn_loop_default(kinds[kind].type);
  bool active = true, made = true;
  KN_TRY(kn_mj_bool(&active, &e, "active"));
  loop.inactive = !active;
  loop.a = loop.b = -2; /* still unknown */
  kn_status status = kind == 0   ? read_connect(&loop, l, scope->document, node)
                     : kind == 1 ? read_weld(&loop, l, scope->document, node)
                     : kind == 2 ? read_coupling(&loop, l, scope->document, node)
                                 : read_tendon_equality(&made, &loop, l, scope->document, node);
  if (status == KN_NOT_FOUND) return KN_OK; /* of an attached document, about what was not brought in */
  KN_TRY(status);
  if (!made || (kind < 2 && (loop.a == -2 || loop.b == -2))) return KN_OK;
  if (kind >= 2) loop.a = loop.b = KN_WORLD;
  KN_TRY(kn_mj_name(&loop.name, l, scope, node));
  KN_MJ_NEW(kn_mj_loop, slot, l, loop, node);
  *slot = (kn_mj_loop){loop, node};
  return KN_OK;
}

kn_status kn_mj_equalities_read(kn_mj_loader* l, const kn_mj_document* d) {
  return kn_mj_each(l, d, "equality", read_equality);
}
