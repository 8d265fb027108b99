/* Constants of links and dofs for the dynamics loops (layout.h): rotations that are axis exchanges, children,
   kinds of dofs, and whether the mechanism moves in a plane or is a chain there. */
#include "model/layout.h"

#include <math.h>
#include <string.h>

#include "base/extreme.h"
#include "spatial/spatial.h"

/* R0 by rows: column j is R0[j], R0[3 + j], R0[6 + j]. */
static kn_turn frame_of(const double* R0) {
  const double *x = R0, *y = R0 + 3, *z = R0 + 6;
  if (x[0] == 1.0 && y[1] == 1.0 && z[2] == 1.0) return KN_TURN_SAME;
  if (x[0] == 1.0) return y[1] == 0.0 && z[2] == 0.0 ? KN_TURN_SWAP_YZ : KN_TURN_KEEP_X;
  if (y[1] == 1.0) return x[0] == 0.0 && z[2] == 0.0 ? KN_TURN_SWAP_XZ : KN_TURN_KEEP_Y;
  if (z[0] == 1.0 && x[1] == 1.0 && y[2] == 1.0) return KN_TURN_ZXY;
  if (y[0] == 1.0 && z[1] == 1.0 && x[2] == 1.0) return KN_TURN_YZX;
  if (fabs(z[0]) == 1.0 && fabs(x[1]) == 1.0 && fabs(y[2]) == 1.0) return KN_TURN_SIGNED_ZXY;
  if (fabs(y[0]) == 1.0 && fabs(z[1]) == 1.0 && fabs(x[2]) == 1.0) return KN_TURN_SIGNED_YZX;
  return KN_TURN_ANY;
}

/* The axis of a vector with at most one component, or -1. */
static int only_axis(const double* p) {
  int zeros = (p[0] == 0.0) + (p[1] == 0.0) + (p[2] == 0.0);
  return zeros < 2 ? -1 : p[1] != 0.0 ? 1 : p[2] != 0.0 ? 2 : 0;
}

/* A rod: I = across 1 + (along - across) u uᵀ, h = h_u u. Moments across that differ by rounding are taken as
   equal; thin rods are left out, because I.u of this form has the rounding error of the larger moment. */
static void fill_rod(kn_link_const* c, const kn_link* l) {
  int axis = only_axis(l->mc);
  c->rod = -1;
  if (!c->diagonal || axis < 0) return;
  for (int k = 0; k < 3; k++) {
    double a = l->I[(k + 1) % 3], b = l->I[(k + 2) % 3];
    if ((k != axis && l->mc[axis] != 0.0) || fabs(a - b) > 4e-16 * a || 128.0 * l->I[k] < a) continue;
    c->rod = k, c->rod_I = l->I[k] - a, c->rod_h = l->mc[k];
    c->T[0] = v4_set(a, 0, 0), c->T[1] = v4_set(0, a, 0), c->T[2] = v4_set(0, 0, a);
    return;
  }
}

static void fill_link(kn_link_const* c, const kn_link* l) {
  for (int j = 0; j < 3; j++) c->R0[j] = v4_set(l->R0[j], l->R0[3 + j], l->R0[6 + j]);
  c->p0 = v4_load3(l->p0);
  c->h = v4_load3(l->mc);
  double I[9];
  kn_sym_expand(I, l->I);
  for (int j = 0; j < 3; j++) c->I[j] = v4_load3(I + 3 * j);
  c->mass = l->mass;
  c->turn = l->R0[0] == 1.0 ? 1 : l->R0[4] == 1.0 ? 2 : 0;
  if (l->R0[1] == 1.0 && l->R0[5] == 1.0 && l->R0[6] == 1.0) c->turn = 3;
  if (l->R0[2] == 1.0 && l->R0[3] == 1.0 && l->R0[7] == 1.0) c->turn = 4;
  c->diagonal = l->I[3] == 0.0 && l->I[4] == 0.0 && l->I[5] == 0.0;
  c->frame = (int32_t)frame_of(l->R0);
  c->p_axis = only_axis(l->p0);
  c->along = c->p_axis < 0 ? 0.0 : l->p0[c->p_axis];
  fill_rod(c, l);
  c->M[0] = v4_set(l->mass, 0, 0), c->M[1] = v4_set(0, l->mass, 0), c->M[2] = v4_set(0, 0, l->mass);
  c->pitch = l->type == KN_LINK_SCREW ? l->pitch : 0.0;
  c->parent = l->parent, c->type = l->type, c->q = l->q, c->v = l->v, c->nv = l->nv;
}

static void fill_angles(kn_layout* y, const kn_model* m) {
  y->nangle = 0;
  for (int i = 0; i < m->nlink; i++) {
    const kn_link* l = &m->link[i];
    y->link[i].angle = -1;
    if (l->type != KN_LINK_HINGE && l->type != KN_LINK_SCREW) continue;
    y->angle_q[y->nangle] = l->q;
    y->angle_ref[y->nangle] = l->ref;
    y->link[i].angle = y->nangle++;
  }
  for (int k = 0; k < 8 && y->nangle > 0; k++) { /* blocks of up to 8 read past the end */
    y->angle_q[y->nangle + k] = y->angle_q[0];
    y->angle_ref[y->nangle + k] = y->angle_ref[0];
  }
}

static void fill_children(kn_layout* y, const kn_model* m) {
  for (int i = m->nlink - 1; i >= 0; i--) {
    int p = m->link[i].parent;
    y->link[i].last_child = p >= 0 && m->link[i].end == m->link[p].end;
    if (p < 0) continue;
    y->link[p].junction |= p != i - 1;
    y->link[p].next_hinge |=
        p == i - 1 && y->link[i].type == KN_LINK_HINGE && y->link[p].type == KN_LINK_HINGE;
  }
}

static kn_dof_kind dof_kind(const kn_link* l, int k) {
  switch (l->type) {
  case KN_LINK_SLIDE: return KN_DOF_SLIDE;
  case KN_LINK_SCREW: return KN_DOF_SCREW;
  case KN_LINK_FREE: return k < 3 ? KN_DOF_SLIDE : KN_DOF_ROTATE;
  default: return KN_DOF_ROTATE;
  }
}

static void fill_dofs(kn_layout* y, const kn_model* m) {
  y->depth = 0;
  for (int i = 0; i < m->nlink; i++) {
    const kn_link* l = &m->link[i];
    for (int k = 0; k < l->nv; k++) {
      const kn_link* p = l->parent < 0 ? NULL : &m->link[l->parent];
      y->dof_parent[l->v + k] = k > 0 ? l->v + k - 1 : p ? p->v + p->nv - 1 : -1;
      y->dof_kind[l->v + k] = dof_kind(l, k);
    }
  }
  for (int i = 0; i < m->nlink; i++) { /* O(N depth), at creation only */
    int depth = 0;
    for (int p = i; p >= 0; p = m->link[p].parent) depth += m->link[p].nv;
    if (depth > y->depth) y->depth = depth;
  }
}

static void fill_gravcomp(kn_layout* y, const kn_model* m) {
  y->has_gravcomp = y->has_springs = y->has_armature = 0;
  for (int j = 0; j < m->nv; j++) y->has_armature |= m->armature[j] != 0.0;
  for (int j = 0; j < m->nv; j++) y->has_springs |= m->stiffness[j] != 0.0;
  for (int b = 0; b < m->nbody; b++) {
    double gc = m->body[b].gravcomp;
    int i = m->place[b].link;
    if (gc == 0.0 || i < 0) continue;
    double c[3];
    kn_pose_apply(c, &m->place[b].in_link, m->body[b].com);
    y->has_gravcomp = 1;
    y->grav_mass[i] += gc * m->body[b].mass;
    y->grav_h[i] = v4_axpy(y->grav_h[i], gc * m->body[b].mass, v4_load3(c));
  }
}

/* z of every link along that of its parent, to the last bit: R0 of all but roots turns about z. */
static int is_planar(const kn_layout* y, const kn_model* m) {
  for (int i = 0; i < m->nlink; i++) {
    const double* R0 = m->link[i].R0;
    if (m->link[i].type != KN_LINK_HINGE) return 0;
    if (m->link[i].parent < 0) continue;
    if (R0[2] != 0.0 || R0[5] != 0.0 || R0[6] != 0.0 || R0[7] != 0.0 || R0[8] != 1.0) return 0;
  }
  return !y->has_gravcomp && m->nlink > 0;
}

static int has_one_basis(const kn_model* m) {
  const kn_link* first = &m->link[0];
  for (int i = 1; i < m->nlink; i++)
    if (m->link[i].parent < 0 && memcmp(m->link[i].R0, first->R0, sizeof first->R0) != 0) return 0;
  return 1;
}

static int is_chain(const kn_layout* y, const kn_model* m) {
  for (int i = 0; i < m->nlink; i++)
    if (m->link[i].parent != i - 1 || y->link[i].q != i || y->link[i].v != i || y->link[i].angle != i)
      return 0;
  return y->planar;
}

static void fill_chain(double* to, kn_layout* y, const kn_model* m) {
  const kn_v4 *e = y->link[0].R0, o = y->link[0].p0, g = v4_load3(m->gravity);
  y->brief = m->nlink < KN_CHAIN_LEAST;
  for (int k = 0; k < 3; k++) y->down[k] = v4_dot(g, e[k]);
  y->start[0] = v4_dot(o, e[0]), y->start[1] = v4_dot(o, e[1]), y->start[2] = v4_dot(g, o);
  int n = kn_chain_stride(m->nlink);
  double z = v4_dot(y->link[0].p0, y->link[0].R0[2]), c = 1.0, s = 0.0;
  for (int i = 0; i < m->nlink; i++) {
    const kn_link_const* l = &y->link[i];
    const double *turn = (const double*)l->R0, *p = (const double*)&l->p0, *h = (const double*)&l->h;
    if (i) {
      double before = c;
      c = before * turn[0] - s * turn[1], s = s * turn[0] + before * turn[1];
      z += p[2];
    }
    const double of[KN_CHAIN_CONSTS] = {i ? turn[0] : 1.0,
                                        i ? turn[1] : 0.0,
                                        i ? p[0] : 0.0,
                                        i ? p[1] : 0.0,
                                        i ? p[2] : 0.0,
                                        h[0],
                                        h[1],
                                        h[2],
                                        l->mass,
                                        ((const double*)&l->I[2])[2],
                                        z,
                                        c,
                                        s};
    for (int k = 0; k < KN_CHAIN_CONSTS; k++) to[k * n + i] = of[k];
  }
}

static void fill_motor(kn_motor* to, const kn_actuator_def* a, const kn_actuator_place* t) {
  double g2 = t->gear[0] * t->gear[0];
  *to = (kn_motor){.gear = t->gear[0], .gain = a->gain, .q = t->count == 1 ? t->q[0] : -1, .v = t->v[0]};
  memcpy(to->bias, a->bias, sizeof to->bias);
  to->stiffness = kn_max(0.0, -a->bias[1]) * g2, to->damping = kn_max(0.0, -a->bias[2]) * g2;
  for (int k = 0; k < 2; k++) {
    to->ctrl[k] = a->ctrl_limited ? a->ctrl_range[k] : k ? INFINITY : -INFINITY;
    to->force[k] = a->force_limited ? a->force_range[k] : k ? INFINITY : -INFINITY;
  }
}

static void fill_four(kn_motor_four* to, const kn_motor* a) {
  to->alike = to->beside = true;
  for (int k = 0; k < 4; k++, a++) {
    to->q[k] = a->q, to->v[k] = a->v;
    to->alike &= a->q >= 0, to->beside &= a->q == to->q[0] + k && a->v == to->v[0] + k;
    to->gear[k] = a->gear, to->gain[k] = a->gain, to->stiffness[k] = a->stiffness,
    to->damping[k] = a->damping;
    for (int j = 0; j < 3; j++) to->bias[j][k] = a->bias[j];
    for (int j = 0; j < 2; j++) to->ctrl[j][k] = a->ctrl[j], to->force[j][k] = a->force[j];
  }
}

static void fill_bounds(kn_layout* y, const kn_model* m) {
  for (int i = 0; i < (m->nq + 7) / 8 * 8; i++) y->lower[i] = -INFINITY, y->upper[i] = INFINITY;
  for (const kn_limit *l = m->limit, *end = l + m->nlimit; l < end; l++) {
    y->ball_limits += l->side == 0;
    if (l->side > 0) y->lower[l->q] = l->bound;
    if (l->side < 0) y->upper[l->q] = l->bound;
  }
}

static kn_frame_place anchor_on(const kn_model* m, kn_body body, const double pos[3], const double quat[4]) {
  kn_pose at = kn_pose_from(pos, quat);
  if (body < 0) return (kn_frame_place){.link = -1, .in_link = at};
  return (kn_frame_place){.link = m->place[body].link, .in_link = kn_pose_mul(&m->place[body].in_link, &at)};
}

static void fill_anchors(kn_layout* y, const kn_model* m) {
  for (int i = 0; i < m->nloop; i++) {
    const kn_loop_def* loop = &m->loop[i];
    if (loop->type == KN_LOOP_COUPLING) continue;
    y->anchor[2 * i] = anchor_on(m, loop->a, loop->pos_a, loop->quat_a);
    y->anchor[2 * i + 1] = anchor_on(m, loop->b, loop->pos_b, loop->quat_b);
  }
}

kn_layout* kn_layout_take(kn_arena* arena, const kn_model* m) {
  kn_layout* y = KN_TAKE(arena, kn_layout, 1);
  kn_layout t = {.link = KN_TAKE(arena, kn_link_const, m->nlink),
                 .dof_parent = KN_TAKE(arena, int32_t, m->nv),
                 .dof_kind = KN_TAKE(arena, int32_t, m->nv),
                 .angle_q = KN_TAKE(arena, int32_t, m->nlink + 8),
                 .angle_ref = KN_TAKE(arena, double, m->nlink + 8),
                 .motor = KN_TAKE(arena, kn_motor, m->nu),
                 .four = KN_TAKE(arena, kn_motor_four, m->nu / 4),
                 .anchor = KN_TAKE(arena, kn_frame_place, 2 * m->nloop),
                 .lower = KN_TAKE(arena, double, m->nq),
                 .upper = KN_TAKE(arena, double, m->nq),
                 .grav_mass = KN_TAKE(arena, double, m->nlink),
                 .grav_h = KN_TAKE(arena, kn_v4, m->nlink),
                 .chain_of = KN_TAKE(arena, double, KN_CHAIN_CONSTS* kn_chain_stride(m->nlink))};
  if (!arena->base) return NULL;
  *y = t;
  for (int i = 0; i < m->nlink; i++) fill_link(&y->link[i], &m->link[i]);
  fill_angles(y, m);
  fill_children(y, m);
  fill_dofs(y, m);
  fill_gravcomp(y, m);
  for (int i = 0; i < m->nu; i++) fill_motor(&y->motor[i], &m->actuator[i], &m->transmission[i]);
  for (int i = 0; i + 4 <= m->nu; i += 4) fill_four(&y->four[i / 4], &y->motor[i]);
  fill_anchors(y, m);
  fill_bounds(y, m);
  y->planar = is_planar(y, m);
  y->one_plane = y->planar && has_one_basis(m);
  y->chain = is_chain(y, m);
  if (y->chain) fill_chain(y->chain_of, y, m);
  return y;
}
