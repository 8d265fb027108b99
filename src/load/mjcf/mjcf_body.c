/* <worldbody>, <body>, <frame>, <replicate>, <joint>, <site>: the tree. A body's own joints, geoms and sites
   are read first (through frames, in the order of the file), then its inertia is settled, then its child
   bodies. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "load/mjcf/mjcf.h"
#include "spatial/spatial.h"

#define DEGREE       0.017453292519943295
#define MAX_REPLICAS 1000000

static void move(double pos[3], double quat[4], const kn_pose* frame) {
  double turn[4];
  kn_pose_apply(pos, frame, pos);
  kn_quat_from_matrix(turn, frame->R);
  kn_quat_mul(quat, turn, quat);
  kn_quat_unit(quat);
}

static bool moved(const kn_pose* frame) {
  kn_pose I = kn_pose_identity();
  return memcmp(frame, &I, sizeof I) != 0;
}

/* ---- joints ---- */

static kn_status first_of(double* out, kn_mj_loader* l, const kn_mj_element* e, const char* name) {
  double v[3] = {0, 0, 0};
  KN_TRY(kn_mj_reals(v, NULL, e, name, 1, 3));
  const kn_xml_attr* a = kn_mj_attr(e, name);
  *out = v[0];
  if (v[0] < 0.0) return kn_xml_fail_at(a, "%s is %g, expected a number >= 0", name, v[0]);
  if (v[1] != 0.0 || v[2] != 0.0)
    return kn_note_attr(l->report, KN_NOTE_UNSUPPORTED, a,
                        "only the linear coefficient of %s is used, the others have no effect", name);
  return KN_OK;
}

/* limited="true" beside no range, or an empty one from 0 to 0: MuJoCo warns and leaves the joint free. */
static bool limited_by_nothing(const kn_mj_element* e) {
  const kn_xml_attr *a = kn_mj_attr(e, "limited"), *r = kn_mj_attr(e, "range");
  double v[2] = {0, 0};
  if (!a || strcmp(a->value, "true") != 0) return false;
  return !r || (kn_value_reals(v, NULL, r, 2, 2) == KN_OK && v[0] == 0.0 && v[1] == 0.0);
}

static kn_status joint_limits(kn_mj_joint* j, kn_mj_loader* l, const kn_mj_element* e, double unit) {
  kn_joint_def* d = &j->def;
  if (d->type == KN_JOINT_FREE) return KN_OK;
  double range[2] = {0, 0};
  if (limited_by_nothing(e))
    KN_TRY(kn_note_attr(l->report, KN_NOTE_WARNING, kn_mj_attr(e, "limited"),
                        "\"limited\" is true but there is no \"range\": the joint has no limits"));
  else
    KN_TRY(kn_mj_limited(&d->limited, e, "limited", "range"));
  KN_TRY(kn_mj_reals(range, NULL, e, "range", 2, 2));
  d->range[0][0] = range[0] * unit;
  d->range[0][1] = range[1] * unit;
  if (d->type == KN_JOINT_BALL && d->limited && range[0] != 0.0)
    return kn_xml_fail_at(kn_mj_attr(e, "range"),
                          "the range of a ball joint starts at %g, expected 0 and the largest angle",
                          range[0]);
  KN_TRY(kn_mj_limited(&j->frc_limited, e, "actuatorfrclimited", "actuatorfrcrange"));
  return kn_mj_reals(j->frc_range, NULL, e, "actuatorfrcrange", 2, 2);
}

static kn_status joint_forces(kn_mj_joint* j, kn_mj_loader* l, const kn_mj_element* e, double unit) {
  kn_joint_def* d = &j->def;
  KN_TRY(first_of(&d->stiffness, l, e, "stiffness"));
  KN_TRY(first_of(&d->damping, l, e, "damping"));
  KN_TRY(kn_value_bound(&d->armature, kn_mj_attr(e, "armature")));
  KN_TRY(kn_value_bound(&d->friction, kn_mj_attr(e, "frictionloss")));
  KN_TRY(kn_mj_real(&d->ref[0], e, "ref"));
  KN_TRY(kn_mj_real(&d->spring_ref[0], e, "springref"));
  KN_TRY(kn_mj_reals(j->springdamper, NULL, e, "springdamper", 2, 2));
  if (d->type == KN_JOINT_HINGE) {
    d->ref[0] *= unit;
    d->spring_ref[0] *= unit;
  }
  return KN_OK;
}

static kn_status add_joint(kn_mj_loader* l, const kn_mj_scope* scope, kn_body body, const kn_pose* frame,
                           const kn_xml_node* node) {
  if (body == KN_WORLD) return kn_xml_fail(node, "a joint in <worldbody>, expected it inside a <body>");
  kn_mj_element e;
  bool free = kn_xml_is(node, "freejoint");
  KN_TRY(kn_mj_element_open(&e, scope, node, free ? "" : "joint"));
  static const kn_joint_type types[] = {KN_JOINT_FREE, KN_JOINT_BALL, KN_JOINT_SLIDE, KN_JOINT_HINGE};
  int type = free ? 0 : 3;
  if (!free) KN_TRY(kn_mj_keyword(&type, &e, "type", "free|ball|slide|hinge"));
  double unit = scope->document->compiler.degree && (type == 1 || type == 3) ? DEGREE : 1.0;
  KN_MJ_NEW(kn_mj_joint, j, l, joint, node);
  *j = (kn_mj_joint){.def = kn_joint_default(types[type]), .node = node};
  kn_joint_def* d = &j->def;
  const kn_mj_joint* before = l->joint.count > 1 ? j - 1 : NULL;
  j->v = before ? before->v + before->nv : 0;
  j->nv = type == 0 ? 6 : type == 1 ? 3 : 1;
  d->body = body;
  KN_TRY(kn_mj_name(&d->name, l, scope, node));
  KN_TRY(kn_mj_register(l, 'j', d->name, l->joint.count - 1, node));
  l->body.at[body].moving = true;
  if (type == 0 && l->body.at[body].def.parent != KN_WORLD)
    return kn_xml_fail(node, "a free joint in a nested body, expected it in a child of <worldbody>");
  for (int i = 0; i < l->joint.count - 1; i++) {
    kn_mj_joint* o = &l->joint.at[l->joint.count - 2 - i];
    if (o->def.body != body) break;
    if (o->def.type == KN_JOINT_FREE || type == 0)
      return kn_xml_fail(node,
                         "a free joint beside another joint of the same body, expected the free joint alone");
    bool turns = o->def.type == KN_JOINT_BALL || o->def.type == KN_JOINT_HINGE;
    if ((type == 1 && turns) || (o->def.type == KN_JOINT_BALL && type == 3))
      return kn_xml_fail(node,
                         "a ball joint beside another rotating joint of the same body, expected it alone");
  }
  double axis[3] = {0, 0, 1}, pos[3] = {0, 0, 0};
  if (!free) {
    KN_TRY(kn_mj_reals(pos, NULL, &e, "pos", 3, 3));
    KN_TRY(kn_mj_reals(axis, NULL, &e, "axis", 3, 3));
    if (type >= 2 && !(kn_unit3(axis) > 1e-14))
      return kn_xml_fail_at(kn_mj_attr(&e, "axis"), "the joint axis is zero, expected a direction");
    KN_TRY(joint_limits(j, l, &e, unit));
    KN_TRY(joint_forces(j, l, &e, unit));
  }
  if (type != 0) {
    kn_pose_apply(d->pos, frame, pos);
    kn_mul33v(d->axis, frame->R, axis);
  }
  return KN_OK;
}

/* ---- geoms, sites ---- */

static kn_status add_geom(kn_mj_loader* l, const kn_mj_scope* scope, kn_body body, const kn_pose* frame,
                          const kn_xml_node* node) {
  kn_mj_element e;
  kn_mj_geom g;
  const char* name;
  KN_TRY(kn_mj_element_open(&e, scope, node, "geom"));
  KN_TRY(kn_mj_name(&name, l, scope, node));
  KN_TRY(kn_mj_geom_read(&g, l, &e, name));
  g.def.body = body;
  if (moved(frame)) move(g.def.pos, g.def.quat, frame);
  KN_MJ_NEW(kn_mj_geom, slot, l, geom, node);
  *slot = g;
  return kn_mj_register(l, 'g', name, l->geom.count - 1, node);
}

/* The volume in which a touch sensor at the site feels contacts. */
static kn_status site_zone(kn_frame_def* d, const kn_mj_element* e, const double* ends) {
  static const kn_shape_type types[] = {KN_SHAPE_SPHERE,   KN_SHAPE_CAPSULE, KN_SHAPE_ELLIPSOID,
                                        KN_SHAPE_CYLINDER, KN_SHAPE_BOX,     KN_SHAPE_SPHERE};
  int type = 0;
  KN_TRY(kn_mj_keyword(&type, e, "type", "sphere|capsule|ellipsoid|cylinder|box|mesh"));
  d->zone = types[type];
  KN_TRY(kn_mj_reals(d->zone_size, NULL, e, "size", 1, 3));
  if (!ends) return KN_OK;
  double half = 0.0;
  for (int i = 0; i < 3; i++) half += (ends[i] - ends[3 + i]) * (ends[i] - ends[3 + i]);
  d->zone_size[d->zone == KN_SHAPE_BOX || d->zone == KN_SHAPE_ELLIPSOID ? 2 : 1] = 0.5 * sqrt(half);
  if (d->zone == KN_SHAPE_BOX || d->zone == KN_SHAPE_ELLIPSOID) d->zone_size[1] = d->zone_size[0];
  return KN_OK;
}

static kn_status add_site(kn_mj_loader* l, const kn_mj_scope* scope, kn_body body, const kn_pose* frame,
                          const kn_xml_node* node) {
  kn_mj_element e;
  KN_TRY(kn_mj_element_open(&e, scope, node, "site"));
  KN_MJ_NEW(kn_mj_site, s, l, site, node);
  *s = (kn_mj_site){.def = kn_frame_default(), .node = node};
  memcpy(s->def.quat, (double[4]){1, 0, 0, 0}, sizeof s->def.quat);
  s->def.body = body;
  KN_TRY(kn_mj_name(&s->def.name, l, scope, node));
  const kn_xml_attr* ends = kn_mj_attr(&e, "fromto");
  KN_TRY(kn_mj_place(s->def.pos, s->def.quat, &e));
  double v[6], axis[3];
  KN_TRY(kn_value_reals(v, NULL, ends, 6, 6));
  KN_TRY(site_zone(&s->def, &e, ends ? v : NULL));
  if (ends) {
    for (int i = 0; i < 3; i++) axis[i] = v[i] - v[3 + i], s->def.pos[i] = 0.5 * (v[i] + v[3 + i]);
    if (!(sqrt(kn_dot3(axis, axis)) > 1e-14))
      return kn_xml_fail_at(ends, "the two ends of fromto coincide, expected different points");
    kn_mj_quat_from_z(s->def.quat, axis);
  }
  if (moved(frame)) move(s->def.pos, s->def.quat, frame);
  return kn_mj_register(l, 's', s->def.name, l->site.count - 1, node);
}

/* ---- frames and replicas ---- */

typedef struct walk { /* what the two passes over a body's children share */
  kn_mj_loader* l;
  kn_body body;
  bool bodies; /* pass 2: child bodies; pass 1: the body's own elements */
  const kn_xml_node* inertial;
  kn_pose inertial_frame;
} walk;

static kn_status walk_children(walk* w, const kn_mj_scope* scope, const kn_pose* frame,
                               const kn_xml_node* node);

static kn_status walk_frame(walk* w, const kn_mj_scope* scope, const kn_pose* frame,
                            const kn_xml_node* node) {
  kn_mj_element e = {.node = node, .document = scope->document};
  double pos[3] = {0, 0, 0}, quat[4] = {1, 0, 0, 0}, scale[3] = {1, 1, 1}, mass = 0.0;
  const kn_xml_attr *s = kn_xml_find(node, "scale"), *m = kn_xml_find(node, "massscale");
  int n = 0;
  KN_TRY(kn_value_reals(scale, &n, s, 1, 3));
  KN_TRY(kn_value_real(&mass, m));
  if ((s && (scale[0] != 1.0 || (n > 1 && scale[1] != 1.0) || (n > 2 && scale[2] != 1.0))) ||
      (m && mass != 0.0 && mass != 1.0))
    return kn_xml_fail_at(
        s ? s : m, "scaled frames are not supported, expected scale 1; write the scaled numbers instead");
  KN_TRY(kn_mj_place(pos, quat, &e));
  kn_pose own = kn_pose_make(pos, quat), total = kn_pose_mul(frame, &own);
  kn_mj_scope inner = *scope;
  const kn_xml_attr* class = kn_xml_find(node, "childclass");
  if (class) KN_TRY(kn_mj_class_find(&inner.childclass, scope->document, class));
  return walk_children(w, &inner, &total, node);
}

static kn_status walk_replicate(walk* w, const kn_mj_scope* scope, const kn_pose* frame,
                                const kn_xml_node* node) {
  const kn_xml_attr *count = kn_xml_find(node, "count"), *sep = kn_xml_find(node, "sep");
  double pos[3] = {0, 0, 0}, angle[3] = {0, 0, 0}, quat[4] = {1, 0, 0, 0};
  int n, digits = 1;
  if (!count) return kn_xml_fail(node, "<replicate> without count, expected the number of copies");
  KN_TRY(kn_value_ints(&n, NULL, count, 1, 1));
  if (n < 1 || n > MAX_REPLICAS || (w->l->replicas += n) > MAX_REPLICAS)
    return kn_xml_fail_at(count, "count is %d, expected 1 to %d copies in the whole model", n, MAX_REPLICAS);
  KN_TRY(kn_value_reals(pos, NULL, kn_xml_find(node, "offset"), 3, 3));
  KN_TRY(kn_value_reals(angle, NULL, kn_xml_find(node, "euler"), 3, 3));
  if (kn_xml_find(node, "euler")) kn_mj_euler(quat, &scope->document->compiler, angle);
  for (int k = 10; k < n; k *= 10) digits++;
  kn_pose step = kn_pose_make(pos, quat), at = *frame;
  for (int i = 0; i < n; i++) {
    kn_mj_scope inner = *scope;
    inner.suffix = kn_hoard_format(w->l->pool, "%s%0*d%s", sep ? sep->value : "", digits, i, scope->suffix);
    if (!inner.suffix) return KN_XML_NO_MEMORY(node);
    KN_TRY(walk_children(w, &inner, &at, node));
    at = kn_pose_mul(&at, &step);
  }
  return KN_OK;
}

static kn_status walk_own(walk* w, const kn_mj_scope* scope, const kn_pose* frame, const kn_xml_node* c) {
  if (kn_xml_is(c, "joint") || kn_xml_is(c, "freejoint")) return add_joint(w->l, scope, w->body, frame, c);
  if (kn_xml_is(c, "geom")) return add_geom(w->l, scope, w->body, frame, c);
  if (kn_xml_is(c, "site")) return add_site(w->l, scope, w->body, frame, c);
  if (kn_xml_is(c, "inertial")) {
    if (w->body == KN_WORLD) return kn_xml_fail(c, "<inertial> in <worldbody>, expected it inside a <body>");
    if (w->inertial) return kn_xml_fail(c, "a second <inertial> of the same body, expected one");
    w->inertial_frame = *frame;
    w->inertial = c;
  }
  return KN_OK;
}

static kn_status walk_children(walk* w, const kn_mj_scope* scope, const kn_pose* frame,
                               const kn_xml_node* node) {
  for (const kn_xml_node* c = node->child; c; c = c->next) {
    if (kn_xml_is(c, "frame")) {
      KN_TRY(walk_frame(w, scope, frame, c));
    } else if (kn_xml_is(c, "replicate")) {
      KN_TRY(walk_replicate(w, scope, frame, c));
    } else if (!w->bodies) {
      KN_TRY(walk_own(w, scope, frame, c));
    } else if (kn_xml_is(c, "body")) {
      KN_TRY(kn_mj_body_read(w->l, scope, w->body, frame, c));
    } else if (kn_xml_is(c, "attach")) {
      KN_TRY(kn_mj_attach(w->l, scope, w->body, frame, c));
    }
  }
  return KN_OK;
}

/* ---- bodies ---- */

static bool has_bodies(const kn_xml_node* node) {
  for (const kn_xml_node* c = node->child; c; c = c->next)
    if (kn_xml_is(c, "body") || kn_xml_is(c, "attach") ||
        ((kn_xml_is(c, "frame") || kn_xml_is(c, "replicate")) && has_bodies(c)))
      return true;
  return false;
}

/* A childless body on a free joint may have its frame moved to its inertial frame. */
static kn_status align_free(kn_mj_loader* l, int body, int joint, int geom, int site) {
  kn_mj_body* b = &l->body.at[body];
  if (l->joint.count != joint + 1 || l->joint.at[joint].def.type != KN_JOINT_FREE || has_bodies(b->node))
    return KN_OK;
  int align = 2;
  KN_TRY(kn_value_keyword(&align, kn_xml_find(l->joint.at[joint].node, "align"), "false|true|auto"));
  if (align == 0 || (align == 2 && !b->document->compiler.alignfree)) return KN_OK;
  double moments[3], axes[4], quat[4];
  KN_TRY(kn_principal_axes(moments, axes, b->def.inertia));
  kn_quat_mul(quat, b->def.inertia_quat, axes);
  kn_pose old = kn_pose_make(b->def.pos, b->def.quat), shift = kn_pose_make(b->def.com, quat),
          fresh = kn_pose_mul(&old, &shift);
  kn_pose back = kn_pose_inverse(&shift);
  memcpy(b->def.pos, fresh.p, sizeof fresh.p);
  kn_quat_from_matrix(b->def.quat, fresh.R);
  memset(b->def.com, 0, sizeof b->def.com);
  memcpy(b->def.inertia_quat, (double[4]){1, 0, 0, 0}, sizeof quat);
  for (int i = 0; i < 3; i++) b->def.inertia[i] = moments[i], b->def.inertia[3 + i] = 0.0;
  for (int i = geom; i < l->geom.count; i++) move(l->geom.at[i].def.pos, l->geom.at[i].def.quat, &back);
  for (int i = site; i < l->site.count; i++) move(l->site.at[i].def.pos, l->site.at[i].def.quat, &back);
  return KN_OK;
}

/* A body that only looks (no contact) loses its looks under discardvisual, after the inertia is settled. */
static void discard_visual(kn_mj_loader* l, const kn_mj_document* d, int first) {
  for (int i = first; d->compiler.discardvisual && i < l->geom.count; i++)
    if (l->geom.at[i].def.contype == 0 && l->geom.at[i].def.conaffinity == 0) l->geom.at[i].emit = false;
}

kn_status kn_mj_body_read(kn_mj_loader* l, const kn_mj_scope* scope, kn_body parent, const kn_pose* frame,
                          const kn_xml_node* node) {
  kn_mj_element e = {.node = node, .document = scope->document};
  kn_mj_scope inner = *scope;
  const kn_xml_attr* class = kn_xml_find(node, "childclass");
  if (class) KN_TRY(kn_mj_class_find(&inner.childclass, scope->document, class));
  KN_MJ_NEW(kn_mj_body, b, l, body, node);
  int id = l->body.count - 1, joint = l->joint.count, geom = l->geom.count, site = l->site.count;
  *b = (kn_mj_body){.def = kn_body_default(), .node = node, .document = scope->document};
  b->def.parent = parent;
  memset(b->def.pos, 0, sizeof b->def.pos);
  memcpy(b->def.quat, (double[4]){1, 0, 0, 0}, sizeof b->def.quat);
  KN_TRY(kn_mj_place(b->def.pos, b->def.quat, &e));
  if (moved(frame)) move(b->def.pos, b->def.quat, frame);
  KN_TRY(kn_value_real(&b->def.gravcomp, kn_xml_find(node, "gravcomp")));
  KN_TRY(kn_mj_name(&b->def.name, l, scope, node));
  KN_TRY(kn_mj_register(l, 'b', b->def.name, id, node));
  walk own = {.l = l, .body = id}, children = {.l = l, .body = id, .bodies = true};
  kn_pose identity = kn_pose_identity();
  KN_TRY(walk_children(&own, &inner, &identity, node));
  KN_TRY(kn_mj_body_inertia(l, id, own.inertial, &own.inertial_frame, geom, l->geom.count - geom));
  KN_TRY(align_free(l, id, joint, geom, site));
  discard_visual(l, scope->document, geom);
  b = &l->body.at[id];
  kn_pose in_parent = kn_pose_make(b->def.pos, b->def.quat);
  b->world = parent == KN_WORLD ? in_parent : kn_pose_mul(&l->body.at[parent].world, &in_parent);
  return walk_children(&children, &inner, &identity, node);
}

static kn_status walk_world(kn_mj_loader* l, const kn_mj_scope* scope, kn_body body, const kn_pose* frame,
                            const kn_xml_node* node) {
  for (int pass = 0; pass < 2; pass++) {
    walk w = {.l = l, .body = body, .bodies = pass == 1};
    KN_TRY(walk_children(&w, scope, frame, node));
  }
  return KN_OK;
}

kn_status kn_mj_world_read(kn_mj_loader* l, const kn_mj_document* d) {
  kn_mj_scope scope = {d, NULL, ""};
  kn_pose identity = kn_pose_identity();
  for (int pass = 0; pass < 2;
       pass++) /* the world's own elements of every <worldbody> come before the bodies */
    for (const kn_xml_node* s = d->root->child; s; s = s->next) {
      if (!kn_xml_is(s, "worldbody")) continue;
      walk w = {.l = l, .body = KN_WORLD, .bodies = pass == 1};
      int first = l->geom.count;
      KN_TRY(walk_children(&w, &scope, &identity, s));
      if (pass == 0) discard_visual(l, d, first);
    }
  return KN_OK;
}

/* ---- <attach> ---- */

static const kn_xml_node* find_in_tree(const kn_xml_node* node, const char* tag, const char* name) {
  for (const kn_xml_node* c = node->child; c; c = c->next) {
    const char* own = kn_xml_value(c, "name");
    if (kn_xml_is(c, tag) && own && strcmp(own, name) == 0) return c;
    if (kn_xml_is(c, "body") || kn_xml_is(c, "frame")) {
      const kn_xml_node* found = find_in_tree(c, tag, name);
      if (found) return found;
    }
  }
  return NULL;
}

static kn_status open_document(kn_mj_document** out, kn_mj_loader* l, const kn_mj_scope* scope,
                               const kn_xml_node* node) {
  const kn_xml_attr *model = kn_xml_find(node, "model"), *prefix = kn_xml_find(node, "prefix");
  if (!model)
    return kn_xml_fail(node, "<attach> without model is not supported, expected model=\"…\" of <asset>");
  const kn_mj_submodel* sub = NULL;
  for (int i = 0; i < l->submodel.count; i++)
    if (l->submodel.at[i].document == scope->document && strcmp(l->submodel.at[i].name, model->value) == 0)
      sub = &l->submodel.at[i];
  if (!sub)
    return kn_xml_fail_at(model, "unknown model \"%.60s\", expected a <model> of <asset>", model->value);
  if (scope->document->depth >= 16 || l->document.count >= 64)
    return kn_xml_fail_at(
        model, "more than 64 attachments or 16 levels of them, expected fewer (is there a cycle?)");
  kn_mj_document* d = kn_hoard_take(l->pool, sizeof *d);
  const char* path =
      d ? kn_path_join(l->pool, scope->document->folder, kn_xml_value(sub->node, "file")) : NULL;
  if (!path) return KN_XML_NO_MEMORY(node);
  kn_xml_node* root;
  KN_TRY(kn_xml_read(&root, l->pool, path, &l->settings->files));
  d->root = root;
  d->folder = kn_path_folder(l->pool, path);
  d->prefix = kn_hoard_format(l->pool, "%s%s", scope->document->prefix, prefix ? prefix->value : "");
  d->depth = scope->document->depth + 1;
  if (!d->folder || !d->prefix) return KN_XML_NO_MEMORY(node);
  KN_TRY(kn_xml_include(root, l->pool, d->folder, &l->settings->files));
  KN_TRY(kn_schema_check(&kn_mjcf_schema, root, "", l->report, &l->soft));
  KN_TRY(kn_mj_compiler_read(l, d));
  KN_TRY(kn_mj_defaults_read(l, d));
  KN_TRY(kn_mj_assets_read(l, d));
  KN_MJ_NEW(kn_mj_document*, slot, l, document, node);
  *slot = *out = d;
  return KN_OK;
}

/* The class that holds where an element stands in its own document. */
static kn_status class_at(const kn_mj_class** out, const kn_mj_document* d, const kn_xml_node* node) {
  *out = NULL;
  for (const kn_xml_node* p = node->parent; p; p = p->parent) {
    const kn_xml_attr* a = kn_xml_find(p, "childclass");
    if (a) return kn_mj_class_find(out, d, a);
  }
  return KN_OK;
}

kn_status kn_mj_attach(kn_mj_loader* l, const kn_mj_scope* scope, kn_body parent, const kn_pose* frame,
                       const kn_xml_node* node) {
  kn_mj_document* d = NULL;
  KN_TRY(open_document(&d, l, scope, node));
  const kn_xml_attr *body = kn_xml_find(node, "body"), *inner_frame = kn_xml_find(node, "frame");
  const kn_xml_node* world = kn_xml_child(d->root, "worldbody");
  kn_mj_scope inner = {d, NULL, scope->suffix};
  if (!world) return kn_xml_fail(node, "the attached model has no <worldbody>, expected one");
  if (!body && !inner_frame) return walk_world(l, &inner, parent, frame, world);
  const kn_xml_attr* wanted = body ? body : inner_frame;
  const kn_xml_node* found = find_in_tree(world, body ? "body" : "frame", wanted->value);
  if (!found)
    return kn_xml_fail_at(wanted, "the attached model has no %s \"%.60s\"", body ? "body" : "frame",
                          wanted->value);
  KN_TRY(class_at(&inner.childclass, d, found));
  if (body) return kn_mj_body_read(l, &inner, parent, frame, found);
  for (int pass = 0; pass < 2; pass++) {
    walk w = {.l = l, .body = parent, .bodies = pass == 1};
    KN_TRY(walk_frame(&w, &inner, frame, found));
  }
  return KN_OK;
}
