/* Bodies to links.

   MuJoCo's kinematics: a body's pose is X_body = X_parent X_ref J_1(q_1) … J_k(q_k), each J acting about an
   anchor and axis given in the body frame at the reference position. With the link frame F_i (constant in
   the body frame) and the joint's own motion P_i, J_i = F_i P_i F_i⁻¹; so link i stands at
   (X_parent X_ref J_1 … J_{i-1}) F_i P_i, and in the frame of the link before it at F_{i-1}⁻¹ F_i P_i. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/compile/compile.h"
#include "spatial/spatial.h"

int kn_joint_links(kn_joint_type type) {
  static const int n[KN_JOINT_TYPE_COUNT] = {
      [KN_JOINT_HINGE] = 1,  [KN_JOINT_SLIDE] = 1,     [KN_JOINT_BALL] = 1,  [KN_JOINT_FREE] = 1,
      [KN_JOINT_PLANAR] = 3, [KN_JOINT_UNIVERSAL] = 2, [KN_JOINT_SCREW] = 1, [KN_JOINT_CYLINDRICAL] = 2};
  return n[type];
}

int kn_joint_nq(kn_joint_type type) {
  return type == KN_JOINT_FREE ? 7 : type == KN_JOINT_BALL ? 4 : kn_joint_links(type);
}

int kn_joint_nv(kn_joint_type type) {
  return type == KN_JOINT_FREE ? 6 : type == KN_JOINT_BALL ? 3 : kn_joint_links(type);
}

static kn_primitive along(int type, const double anchor[3], const double axis[3]) {
  kn_primitive p = {.type = type};
  kn_rotation_to_z(p.in_body.R, axis);
  memcpy(p.in_body.p, anchor, sizeof p.in_body.p);
  return p;
}

static int joint_primitives(kn_primitive out[KN_JOINT_LINKS], const kn_joint_def* j) {
  switch (j->type) {
  case KN_JOINT_HINGE: out[0] = along(KN_LINK_HINGE, j->pos, j->axis); return 1;
  case KN_JOINT_SLIDE: out[0] = along(KN_LINK_SLIDE, j->pos, j->axis); return 1;
  case KN_JOINT_SCREW: out[0] = along(KN_LINK_SCREW, j->pos, j->axis); return 1;
  case KN_JOINT_BALL:
    out[0] = (kn_primitive){.type = KN_LINK_BALL, .in_body = kn_pose_identity()};
    memcpy(out[0].in_body.p, j->pos, sizeof j->pos);
    return 1;
  case KN_JOINT_FREE: out[0] = (kn_primitive){.type = KN_LINK_FREE, .in_body = kn_pose_identity()}; return 1;
  case KN_JOINT_UNIVERSAL:
    out[0] = along(KN_LINK_HINGE, j->pos, j->axis);
    out[1] = along(KN_LINK_HINGE, j->pos, j->axis2);
    return 2;
  case KN_JOINT_CYLINDRICAL:
    out[0] = along(KN_LINK_SLIDE, j->pos, j->axis);
    out[1] = along(KN_LINK_HINGE, j->pos, j->axis);
    return 2;
  case KN_JOINT_PLANAR: {
    double x[3], y[3];
    kn_cross3(y, j->axis, j->axis2);
    kn_unit3(y);
    kn_cross3(x, y, j->axis);
    out[0] = along(KN_LINK_SLIDE, j->pos, x);
    out[1] = along(KN_LINK_SLIDE, j->pos, y);
    out[2] = along(KN_LINK_HINGE, j->pos, j->axis);
    return 3;
  }
  case KN_JOINT_FIXED:
  case KN_JOINT_TYPE_COUNT: break;
  }
  return 0;
}

kn_pose kn_body_reference(const kn_model* m, kn_body body) {
  kn_pose X = kn_pose_identity();
  for (kn_body b = body; b != KN_WORLD; b = m->body[b].parent) {
    kn_pose local = kn_pose_make(m->body[b].pos, m->body[b].quat);
    X = kn_pose_mul(&local, &X);
  }
  return X;
}

/* Lists by "first" and "next"; index 0 of child lists is the world. */
typedef struct tree {
  int32_t *child, *sibling; /* nbody + 1, nbody */
  int32_t *joint, *next;    /* nbody, njoint */
  int32_t* stack;           /* nbody + 1 */
} tree;

static void list_children(tree* t, const kn_model* m) {
  for (int b = 0; b <= m->nbody; b++) t->child[b] = -1;
  for (int b = m->nbody - 1; b >= 0; b--) { /* backwards: the first added ends up first */
    int p = m->body[b].parent + 1;
    t->sibling[b] = t->child[p];
    t->child[p] = b;
    t->joint[b] = -1;
  }
  for (int j = m->njoint - 1; j >= 0; j--) {
    t->next[j] = t->joint[m->joint[j].body];
    t->joint[m->joint[j].body] = j;
  }
}

typedef struct cursor {
  int link, q, v;
} cursor;

/* The links of one body; `at` is the body's reference frame in the frame of link `*above`. */
static void place_joints(kn_model* m, const tree* t, cursor* c, kn_body b, int* above, kn_pose* at) {
  for (int j = t->joint[b]; j >= 0; j = t->next[j]) {
    const kn_joint_def* def = &m->joint[j];
    kn_primitive prim[KN_JOINT_LINKS];
    int n = joint_primitives(prim, def);
    m->joint_link[j] = n ? c->link : -1;
    m->joint_nlink[j] = n;
    for (int k = 0; k < n; k++) {
      kn_link* l = &m->link[c->link];
      kn_pose F = kn_pose_mul(at, &prim[k].in_body);
      *l = (kn_link){.parent = *above, .type = prim[k].type, .q = c->q, .v = c->v, .joint = j};
      l->nq = prim[k].type == KN_LINK_FREE ? 7 : prim[k].type == KN_LINK_BALL ? 4 : 1;
      l->nv = prim[k].type == KN_LINK_FREE ? 6 : prim[k].type == KN_LINK_BALL ? 3 : 1;
      l->pitch = prim[k].type == KN_LINK_SCREW ? def->pitch : 0.0;
      l->ref = l->nv == 1 ? def->ref[k] : 0.0;
      if (prim[k].type == KN_LINK_FREE) F = kn_pose_identity();
      memcpy(l->R0, F.R, sizeof F.R);
      memcpy(l->p0, F.p, sizeof F.p);
      *above = c->link++;
      c->q += l->nq;
      c->v += l->nv;
      *at = kn_pose_inverse(&prim[k].in_body);
    }
  }
}

static void place_body(kn_model* m, const tree* t, cursor* c, kn_body b) {
  kn_body parent = m->body[b].parent;
  int above = parent == KN_WORLD ? -1 : m->place[parent].link;
  kn_pose base = parent == KN_WORLD ? kn_pose_identity() : m->place[parent].in_link;
  kn_pose local = kn_pose_make(m->body[b].pos, m->body[b].quat);
  kn_pose at = kn_pose_mul(&base, &local);
  place_joints(m, t, c, b, &above, &at);
  m->place[b] = (kn_body_place){.link = above, .parent = parent, .in_link = at};
}

static void place_all(kn_model* m, tree* t) {
  cursor c = {0};
  int depth = 0;
  t->stack[depth] = t->child[0];
  while (depth >= 0) { /* each level holds the next body to visit among its siblings */
    int b = t->stack[depth];
    if (b < 0) {
      depth--;
      continue;
    }
    t->stack[depth] = t->sibling[b];
    place_body(m, t, &c, b);
    if (t->child[b + 1] >= 0) t->stack[++depth] = t->child[b + 1];
  }
}

static void close_subtrees(kn_model* m) {
  for (int i = 0; i < m->nlink; i++) m->link[i].end = i + 1;
  for (int i = m->nlink - 1; i >= 0; i--) {
    int p = m->link[i].parent;
    if (p >= 0 && m->link[p].end < m->link[i].end) m->link[p].end = m->link[i].end;
  }
}

static void place_geoms(kn_model* m) {
  for (int g = 0; g < m->ngeom; g++) {
    const kn_geom_def* d = &m->geom[g];
    kn_pose local = kn_pose_make(d->pos, d->quat);
    kn_geom_place* place = &m->geom_place[g];
    place->body = d->body;
    place->link = d->body == KN_WORLD ? -1 : m->place[d->body].link;
    place->in_link = d->body == KN_WORLD ? local : kn_pose_mul(&m->place[d->body].in_link, &local);
  }
}

kn_status kn_compile_links(kn_model* m) {
  size_t n = (size_t)m->nbody;
  int32_t* memory = malloc((4 * n + (size_t)m->njoint + 2) * sizeof *memory);
  if (!memory) return kn_fail(KN_OUT_OF_MEMORY, "no memory to order %d bodies", m->nbody);
  tree t = {.child = memory};
  t.sibling = t.child + n + 1;
  t.joint = t.sibling + n;
  t.next = t.joint + n;
  t.stack = t.next + m->njoint;
  list_children(&t, m);
  place_all(m, &t);
  free(memory);
  close_subtrees(m);
  place_geoms(m);
  return KN_OK;
}
