/* URDF: links and joints into a tree of bodies. */
#include "load/urdf/urdf.h"

#include <string.h>

#include "base/error.h"
#include "spatial/spatial.h"

/* ---- xacro ---- */

static kn_status refuse_xacro(const kn_xml_node* node) {
  if (strncmp(node->name, "xacro:", 6) == 0)
    return kn_xml_fail(node,
                       "<%.40s> is a xacro macro, this file is a source for xacro; run `xacro FILE > "
                       "robot.urdf` and load the result",
                       node->name);
  for (int i = 0; i < node->nattr; i++)
    if (strstr(node->attr[i].value, "${") || strstr(node->attr[i].value, "$("))
      return kn_xml_fail_at(
          &node->attr[i],
          "\"%.40s\" is xacro text, expected a value; run `xacro FILE > robot.urdf` and load the result",
          node->attr[i].value);
  for (const kn_xml_node* k = node->child; k; k = k->next)
    if (strcmp(node->name, "gazebo") != 0) KN_TRY(refuse_xacro(k));
  return KN_OK;
}

/* ---- reading ---- */

static kn_status named(const char** out, kn_ud_loader* l, const kn_xml_node* node, char kind, int index) {
  const kn_xml_attr* a = kn_xml_find(node, "name");
  if (!a || !a->value[0]) return kn_xml_fail(node, "<%s> without a name, expected name=\"…\"", node->name);
  if (kn_names_get(&l->names, kind, a->value) >= 0)
    return kn_xml_fail_at(a, "%s name \"%.60s\" is taken, expected a name of its own", node->name, a->value);
  *out = a->value;
  return kn_names_put(&l->names, l->pool, kind, a->value, index) ? KN_OK : KN_XML_NO_MEMORY(node);
}

static kn_status find_link(int* out, kn_ud_loader* l, const kn_xml_node* joint, const char* end) {
  const kn_xml_node* node = kn_xml_child(joint, end);
  const kn_xml_attr* a = node ? kn_xml_find(node, "link") : NULL;
  if (!a)
    return kn_xml_fail(node ? node : joint, "<joint> without %s link, expected <%s link=\"…\"/>", end, end);
  *out = kn_names_get(&l->names, 'l', a->value);
  if (*out >= 0) return KN_OK;
  return kn_names_unknown(&l->names, 'l', a->value, a, "link", "the name of a <link>");
}

static kn_status read_joint(kn_ud_joint* j, kn_ud_loader* l, const kn_xml_node* node) {
  const kn_xml_attr* type = kn_xml_find(node, "type");
  const kn_xml_node* axis = kn_xml_child(node, "axis");
  *j = (kn_ud_joint){.node = node, .axis = {1, 0, 0}, .next = -1, .id = -1};
  KN_TRY(named(&j->name, l, node, 'j', (int)(j - l->joint)));
  if (!type)
    return kn_xml_fail(
        node, "<joint> without type, expected revolute, continuous, prismatic, fixed, floating or planar");
  KN_TRY(kn_value_keyword(&j->type, type, "revolute|continuous|prismatic|fixed|floating|planar|spherical"));
  KN_TRY(find_link(&j->parent, l, node, "parent"));
  KN_TRY(find_link(&j->child, l, node, "child"));
  KN_TRY(kn_ud_origin(j->pos, j->quat, node));
  const kn_xml_attr* xyz = axis ? kn_xml_find(axis, "xyz") : NULL;
  KN_TRY(kn_value_reals(j->axis, NULL, xyz, 3, 3));
  bool needs = j->type == KN_UD_REVOLUTE || j->type == KN_UD_CONTINUOUS || j->type == KN_UD_PRISMATIC ||
               j->type == KN_UD_PLANAR;
  if (needs && !(kn_unit3(j->axis) > 1e-12))
    return kn_xml_fail_at(xyz, "the joint axis is zero, expected a direction");
  kn_ud_link* child = &l->link[j->child];
  if (child->parent_joint >= 0)
    return kn_xml_fail(
        node, "link \"%.60s\" has two parents, joint \"%.60s\" (line %d) and this one; expected a tree",
        child->name, l->joint[child->parent_joint].name, l->joint[child->parent_joint].node->line);
  if (j->parent == j->child)
    return kn_xml_fail(node, "joint \"%.60s\" connects a link with itself, expected two links", j->name);
  child->parent_joint = (int)(j - l->joint);
  return KN_OK;
}

static kn_status read_links(kn_ud_loader* l, const kn_xml_node* root) {
  int n = 0, m = 0;
  for (const kn_xml_node* k = root->child; k; k = k->next)
    n += kn_xml_is(k, "link"), m += kn_xml_is(k, "joint");
  if (n == 0) return kn_xml_fail(root, "<robot> without links, expected at least one <link name=\"…\"/>");
  l->link = kn_hoard_take(l->pool, (size_t)n * sizeof *l->link);
  l->joint = kn_hoard_take(l->pool, (size_t)m * sizeof *l->joint + 1);
  if (!l->link || !l->joint) return KN_XML_NO_MEMORY(root);
  for (const kn_xml_node* k = root->child; k; k = k->next) {
    if (!kn_xml_is(k, "link")) continue;
    kn_ud_link* link = &l->link[l->nlink];
    *link = (kn_ud_link){
        .node = k, .parent_joint = -1, .first_child = -1, .body = KN_WORLD, .def = kn_body_default()};
    KN_TRY(named(&link->name, l, k, 'l', l->nlink));
    l->nlink++;
  }
  for (const kn_xml_node* k = root->child; k; k = k->next)
    if (kn_xml_is(k, "joint")) {
      KN_TRY(read_joint(&l->joint[l->njoint], l, k));
      l->njoint++;
    }
  for (int i = l->njoint - 1; i >= 0; i--) { /* children in the order of the file */
    kn_ud_joint* j = &l->joint[i];
    j->next = l->link[j->parent].first_child;
    l->link[j->parent].first_child = i;
  }
  return KN_OK;
}

static kn_status find_root(int* out, const kn_ud_loader* l, const kn_xml_node* root) {
  *out = -1;
  for (int i = 0; i < l->nlink; i++) {
    if (l->link[i].parent_joint >= 0) continue;
    if (*out >= 0)
      return kn_xml_fail(
          l->link[i].node,
          "links \"%.60s\" and \"%.60s\" both have no parent, expected one root; is a joint missing?",
          l->link[*out].name, l->link[i].name);
    *out = i;
  }
  if (*out < 0)
    return kn_xml_fail(root,
                       "every link has a parent: the joints form a cycle, expected a tree with one root");
  return KN_OK;
}

/* ---- writing ---- */

static kn_status limits(kn_joint_def* d, kn_ud_loader* l, const kn_ud_joint* j) {
  const kn_xml_node* limit = kn_xml_child(j->node, "limit");
  double lo = 0.0, hi = 0.0;
  if (j->type != KN_UD_REVOLUTE && j->type != KN_UD_PRISMATIC) return KN_OK;
  if (!limit)
    return kn_note_node(l->report, KN_NOTE_WARNING, j->node,
                        "joint \"%.60s\" has no <limit>; it moves freely", j->name);
  const kn_xml_attr *a = kn_xml_find(limit, "lower"), *b = kn_xml_find(limit, "upper");
  KN_TRY(kn_value_real(&lo, a));
  KN_TRY(kn_value_real(&hi, b));
  if (!(lo < hi))
    return kn_note_node(l->report, KN_NOTE_WARNING, limit,
                        "the limits of joint \"%.60s\" (%g to %g) are empty; it moves freely", j->name, lo,
                        hi);
  d->limited = true;
  d->range[0][0] = lo;
  d->range[0][1] = hi;
  return KN_OK;
}

static kn_status joint_dynamics(kn_joint_def* d, const kn_ud_joint* j) {
  const kn_xml_node* node = kn_xml_child(j->node, "dynamics");
  static const char* const names[] = {"damping", "friction", "armature"};
  double* out[] = {&d->damping, &d->friction, &d->armature};
  for (int i = 0; node && i < 3; i++) KN_TRY(kn_value_bound(out[i], kn_xml_find(node, names[i])));
  return KN_OK;
}

/* A floating joint below a moving link: three slides, then a ball. */
static kn_status add_floating(kn_ud_loader* l, kn_ud_joint* j, kn_body body) {
  static const char axis_name[] = "xyz";
  for (int i = 0; i < 3; i++) {
    kn_joint_def d = kn_joint_default(KN_JOINT_SLIDE);
    d.name = kn_hoard_format(l->pool, "%s_%c", j->name, axis_name[i]);
    if (!d.name) return KN_XML_NO_MEMORY(j->node);
    d.body = body;
    for (int k = 0; k < 3; k++) d.axis[k] = k == i;
    KN_TRY(kn_spec_add_joint(&j->id, l->spec, &d));
  }
  kn_joint_def d = kn_joint_default(KN_JOINT_BALL);
  d.name = j->name;
  d.body = body;
  return kn_spec_add_joint(&j->id, l->spec, &d);
}

static kn_status add_joint(kn_ud_loader* l, kn_ud_joint* j, kn_body body, bool free_base) {
  static const kn_joint_type types[] = {KN_JOINT_HINGE, KN_JOINT_HINGE,  KN_JOINT_SLIDE, KN_JOINT_FIXED,
                                        KN_JOINT_FREE,  KN_JOINT_PLANAR, KN_JOINT_BALL};
  if (j->type == KN_UD_FIXED) return KN_OK;
  if (j->type == KN_UD_FLOATING && !free_base) return add_floating(l, j, body);
  kn_joint_def d = kn_joint_default(types[j->type]);
  d.name = j->name;
  d.body = body;
  memcpy(d.axis, j->axis, sizeof d.axis);
  if (j->type == KN_UD_PLANAR) { /* two directions in the plane */
    double R[9];
    kn_rotation_to_z(R, j->axis);
    for (int i = 0; i < 3; i++) d.axis2[i] = R[3 * i];
  }
  KN_TRY(limits(&d, l, j));
  KN_TRY(joint_dynamics(&d, j));
  return kn_xml_added(kn_spec_add_joint(&j->id, l->spec, &d), l->spec, j->node);
}

static kn_status add_link(kn_ud_loader* l, int index, bool world) {
  kn_ud_link* link = &l->link[index];
  kn_ud_joint* j = link->parent_joint >= 0 ? &l->joint[link->parent_joint] : NULL;
  kn_body_def* d = &link->def;
  KN_TRY(kn_ud_inertial(l, link));
  if (world) {
    link->world = kn_pose_identity();
    return kn_xml_added(kn_ud_geometry(l, link), l->spec, link->node);
  }
  d->name = strcmp(link->name, "world") == 0 ? "world_link" : link->name;
  d->parent = KN_WORLD;
  memset(d->pos, 0, sizeof d->pos);
  memcpy(d->quat, (double[4]){1, 0, 0, 0}, sizeof d->quat);
  bool free_base = false;
  if (j) {
    kn_ud_link* parent = &l->link[j->parent];
    d->parent = parent->body;
    memcpy(d->pos, j->pos, sizeof d->pos);
    memcpy(d->quat, j->quat, sizeof d->quat);
    bool still = true; /* the parent is fixed to the world */
    for (const kn_ud_link* p = parent; still && p->parent_joint >= 0;
         p = &l->link[l->joint[p->parent_joint].parent])
      still = l->joint[p->parent_joint].type == KN_UD_FIXED;
    free_base = j->type == KN_UD_FLOATING && still && l->settings->base == KN_BASE_FIXED;
    kn_pose own = kn_pose_make(d->pos, d->quat);
    link->world = kn_pose_mul(&parent->world, &own);
    if (free_base) {
      d->parent = KN_WORLD;
      memcpy(d->pos, link->world.p, sizeof d->pos);
      kn_quat_from_matrix(d->quat, link->world.R);
    }
  } else {
    link->world = kn_pose_identity();
  }
  KN_TRY(kn_xml_added(kn_spec_add_body(&link->body, l->spec, d), l->spec, link->node));
  if (j) KN_TRY(kn_xml_added(add_joint(l, j, link->body, free_base), l->spec, j->node));
  if (!j && l->settings->base == KN_BASE_FLOATING) {
    kn_joint_def free = kn_joint_default(KN_JOINT_FREE);
    kn_joint id;
    free.name = kn_names_get(&l->names, 'j', "root_joint") >= 0 ? "floating_base_joint" : "root_joint";
    free.body = link->body;
    KN_TRY(kn_xml_added(kn_spec_add_joint(&id, l->spec, &free), l->spec, link->node));
  }
  return kn_xml_added(kn_ud_geometry(l, link), l->spec, link->node);
}

/* Depth first without recursion: chains may be long. */
static kn_status add_tree(kn_ud_loader* l, int root) {
  int* stack = kn_hoard_take(l->pool, ((size_t)l->nlink + 1) * sizeof *stack);
  int top = 0, seen = 0;
  if (!stack) return KN_XML_NO_MEMORY(l->link[root].node);
  bool world = strcmp(l->link[root].name, "world") == 0 && l->settings->base == KN_BASE_FIXED;
  stack[top++] = root;
  while (top) {
    int i = stack[--top];
    KN_TRY(add_link(l, i, world && i == root));
    seen++;
    int first = top;
    for (int j = l->link[i].first_child; j >= 0; j = l->joint[j].next) stack[top++] = l->joint[j].child;
    for (int a = first, b = top - 1; a < b; a++, b--) { /* first child on top */
      int t = stack[a];
      stack[a] = stack[b];
      stack[b] = t;
    }
  }
  if (seen == l->nlink) return KN_OK;
  for (int i = 0; i < l->nlink; i++)
    if (l->link[i].body == KN_WORLD && i != root)
      return kn_xml_fail(l->link[i].node, "link \"%.60s\" is part of a cycle of joints, expected a tree",
                         l->link[i].name);
  return KN_OK;
}

static kn_status add_mimics(kn_ud_loader* l) {
  for (int i = 0; i < l->njoint; i++) {
    const kn_ud_joint* j = &l->joint[i];
    const kn_xml_node* mimic = kn_xml_child(j->node, "mimic");
    if (!mimic) continue;
    const kn_xml_attr *a = kn_xml_find(mimic, "joint"), *factor = kn_xml_find(mimic, "multiplier"),
                      *offset = kn_xml_find(mimic, "offset");
    if (!a) return kn_xml_fail(mimic, "<mimic> without joint, expected joint=\"…\"");
    int other = kn_names_get(&l->names, 'j', a->value);
    if (other < 0) return kn_names_unknown(&l->names, 'j', a->value, a, "joint", "the name of a <joint>");
    const kn_ud_joint* o = &l->joint[other];
    if (j->type == KN_UD_FIXED) {
      KN_TRY(kn_note_node(l->report, KN_NOTE_INFO, mimic,
                          "joint \"%.60s\" is fixed, its <mimic> is set aside", j->name));
      continue;
    }
    if (j->type > KN_UD_PRISMATIC || (o->type > KN_UD_PRISMATIC && o->type != KN_UD_FIXED) || other == i)
      return kn_xml_fail(mimic, "a mimic of joints that are not revolute, continuous or prismatic (or of a "
                                "joint with itself), expected two such joints");
    kn_loop_def d = kn_loop_default(KN_LOOP_COUPLING);
    d.joint1 = j->id;
    d.joint2 = o->id; /* -1 when fixed: then the offset alone holds */
    memset(d.coef, 0, sizeof d.coef);
    d.coef[1] = 1.0;
    if (factor) KN_TRY(kn_value_reals(&d.coef[1], NULL, factor, 1, 1));
    if (offset) KN_TRY(kn_value_reals(&d.coef[0], NULL, offset, 1, 1));
    kn_loop id;
    KN_TRY(kn_xml_added(kn_spec_add_loop(&id, l->spec, &d), l->spec, mimic));
  }
  return KN_OK;
}

/* The inertia of everything below a joint about its axis, all other joints locked: if that is nothing,
   nothing can move there. */
static double below(const kn_ud_loader* l, int link, const double p[3], const double u[3], bool slide,
                    int depth) {
  const kn_ud_link* k = &l->link[link];
  const kn_body_def* d = &k->def;
  double sum = d->mass;
  if (!slide) {
    double axes[9], R[9], c[3], r[3], n[3];
    kn_quat_to_matrix(axes, d->inertia_quat);
    kn_mul33(R, k->world.R, axes);
    kn_mul33tv(n, R, u);
    kn_pose_apply(c, &k->world, d->com);
    for (int i = 0; i < 3; i++) c[i] -= p[i];
    kn_cross3(r, u, c);
    const double* I = d->inertia;
    sum = I[0] * n[0] * n[0] + I[1] * n[1] * n[1] + I[2] * n[2] * n[2] +
          2.0 * (I[3] * n[0] * n[1] + I[4] * n[0] * n[2] + I[5] * n[1] * n[2]) + d->mass * kn_dot3(r, r);
  }
  for (int j = k->first_child; j >= 0 && depth < 400; j = l->joint[j].next)
    sum += below(l, l->joint[j].child, p, u, slide, depth + 1);
  return sum;
}

static kn_status check_moving(kn_ud_loader* l) {
  for (int i = 0; i < l->njoint && l->njoint <= 20000; i++) {
    const kn_ud_joint* j = &l->joint[i];
    if (j->type > KN_UD_PRISMATIC) continue;
    const kn_ud_link* k = &l->link[j->child];
    double u[3];
    kn_mul33v(u, k->world.R, j->axis);
    if (!(below(l, j->child, k->world.p, u, j->type == KN_UD_PRISMATIC, 0) > 0.0))
      return kn_xml_fail(j->node,
                         "joint \"%.60s\" moves nothing that has inertia about its axis, expected <inertial> "
                         "in link \"%.60s\" or below it (or a fixed joint)",
                         j->name, k->name);
  }
  return KN_OK;
}

static kn_status skipped(kn_ud_loader* l, const kn_xml_node* root) {
  static const char* const tags[] = {"transmission", "gazebo", "sensor", "mujoco"};
  for (int i = 0; i < 4; i++) {
    int n = 0;
    const kn_xml_node* first = NULL;
    for (const kn_xml_node* k = root->child; k; k = k->next)
      if (kn_xml_is(k, tags[i])) n++, first = first ? first : k;
    if (n)
      KN_TRY(kn_note_node(l->report, KN_NOTE_INFO, first, "%d <%s> element%s set aside", n, tags[i],
                          n == 1 ? " is" : "s are"));
  }
  return KN_OK;
}

/* A robot without <collision> is legal, and falls through every floor: said, not guessed. */
static kn_status need_collisions(kn_ud_loader* l, const kn_xml_node* root) {
  int links = 0;
  for (const kn_xml_node* k = root->child; k; k = k->next) {
    if (!kn_xml_is(k, "link")) continue;
    links++;
    if (kn_xml_child(k, "collision")) return KN_OK;
  }
  return kn_note_node(l->report, KN_NOTE_WARNING, root,
                      "none of the %d links has a <collision> shape: nothing of this robot can touch "
                      "anything, it falls through a floor",
                      links);
}

static kn_status read_all(kn_ud_loader* l, const kn_xml_node* root) {
  int base, soft = 0;
  KN_TRY(refuse_xacro(root));
  KN_TRY(kn_schema_check(&kn_urdf_schema, root, "", l->report, &soft));
  KN_TRY(skipped(l, root));
  KN_TRY(need_collisions(l, root));
  KN_TRY(kn_ud_materials(l, root));
  KN_TRY(read_links(l, root));
  KN_TRY(find_root(&base, l, root));
  const char* name = kn_xml_value(root, "name");
  KN_TRY(kn_spec_set_name(l->spec, name ? name : ""));
  KN_TRY(add_tree(l, base));
  KN_TRY(check_moving(l));
  return add_mimics(l);
}

kn_status kn_urdf_load(kn_spec** spec, kn_load_report* report, kn_hoard* pool, kn_xml_node* root,
                       const char* folder, const kn_load_settings* settings) {
  kn_ud_loader l = {.pool = pool, .report = report, .settings = settings, .folder = folder};
  report->format = "urdf";
  KN_TRY(kn_spec_create(&l.spec));
  kn_status status = read_all(&l, root);
  if (status == KN_OK)
    *spec = l.spec;
  else
    kn_spec_destroy(l.spec);
  return status;
}
