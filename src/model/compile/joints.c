/* Limits, transmissions, and the per-dof and per-coordinate arrays; loop closures at the reference. */
#include <math.h>
#include <string.h>

#include "model/compile/compile.h"
#include "spatial/spatial.h"

/* One-sided bounds of a joint, written to out when it is not NULL. */
static int joint_limits(kn_limit* out, const kn_joint_def* d, kn_joint j, const kn_link* link, int first) {
  if (!d->limited) return 0;
  int n = 0;
  kn_limit l = {.joint = j, .link = first};
  if (d->type == KN_JOINT_BALL) {
    l.bound = d->range[0][1];
    if (out) l.q = link[0].q, l.v = link[0].v, out[n] = l;
    return 1;
  }
  for (int k = 0; k < kn_joint_links(d->type); k++) {
    for (int s = 0; s < 2; s++) {
      if (isinf(d->range[k][s])) continue;
      if (out) {
        out[n] = (kn_limit){.joint = j, .link = first + k, .q = link[k].q, .v = link[k].v};
        out[n].bound = d->range[k][s];
        out[n].side = s ? -1 : 1;
      }
      n++;
    }
  }
  return n;
}

int kn_count_limits(const kn_joint_def* joint, int njoint) {
  int n = 0;
  for (int j = 0; j < njoint; j++) n += joint_limits(NULL, &joint[j], j, NULL, 0);
  return n;
}

static void fill_dofs(kn_model* m, int i) {
  const kn_link* l = &m->link[i];
  const kn_joint_def* d = &m->joint[l->joint];
  for (int v = l->v; v < l->v + l->nv; v++) {
    m->dof_link[v] = i;
    m->armature[v] = d->armature;
    m->damping[v] = d->damping;
    m->stiffness[v] = d->stiffness;
    m->friction[v] = d->friction;
  }
}

static void fill_coordinates(kn_model* m, int i) {
  const kn_link* l = &m->link[i];
  const kn_joint_def* d = &m->joint[l->joint];
  double *q = &m->q_ref[l->q], *s = &m->q_spring[l->q];
  if (l->type == KN_LINK_BALL) {
    q[0] = 1.0;
  } else if (l->type == KN_LINK_FREE) {
    memcpy(q, m->body[d->body].pos, 3 * sizeof *q);
    memcpy(q + 3, m->body[d->body].quat, 4 * sizeof *q);
  } else {
    q[0] = l->ref;
  }
  memcpy(s, q, (size_t)l->nq * sizeof *s);
  if (l->nv == 1) s[0] = d->spring_ref[i - m->joint_link[l->joint]];
}

static kn_frame_place place_frame(const kn_model* m, kn_frame frame) {
  const kn_frame_def* d = &m->frame[frame];
  kn_pose local = kn_pose_make(d->pos, d->quat);
  if (d->body == KN_WORLD) return (kn_frame_place){-1, local};
  return (kn_frame_place){m->place[d->body].link, kn_pose_mul(&m->place[d->body].in_link, &local)};
}

static void fill_transmission(kn_actuator_place* t, const kn_model* m, const kn_actuator_def* d) {
  t->count = d->joints;
  for (int i = 0; i < d->joints; i++) {
    const kn_link* l = &m->link[m->joint_link[d->joint[i]]];
    if (l->nv == 1) l += d->dof[i];
    t->q[i] = l->nv == 1 ? l->q : -1; /* a dof of a ball or free joint has no coordinate of its own */
    t->v[i] = l->nv == 1 ? l->v : l->v + d->dof[i];
    t->gear[i] = d->gear[i];
  }
  t->common = -1;
  if (d->joints) return;
  t->site = place_frame(m, d->site);
  if (d->refsite < 0) return;
  t->refsite = place_frame(m, d->refsite);
  int above = t->site.link, other = t->refsite.link;
  while (above >= 0 && !kn_link_above(m, above, other)) above = m->link[above].parent;
  t->common = above;
}

void kn_compile_joints(kn_model* m) {
  for (int i = 0; i < m->nlink; i++) {
    fill_dofs(m, i);
    fill_coordinates(m, i);
  }
  int n = 0;
  for (int j = 0; j < m->njoint; j++)
    if (m->joint_nlink[j])
      n += joint_limits(&m->limit[n], &m->joint[j], j, &m->link[m->joint_link[j]], m->joint_link[j]);
  for (int i = 0; i < m->nu; i++) fill_transmission(&m->transmission[i], m, &m->actuator[i]);
}

static void close_at_reference(kn_model* m, kn_loop_def* d) {
  kn_pose A = kn_body_reference(m, d->a), B = kn_body_reference(m, d->b);
  kn_pose local = kn_pose_make(d->pos_a, d->quat_a), P = kn_pose_mul(&A, &local);
  if (d->type == KN_LOOP_DISTANCE) {
    double b[3];
    kn_pose_apply(b, &B, d->pos_b);
    for (int i = 0; i < 3; i++) b[i] -= P.p[i];
    d->length = sqrt(kn_dot3(b, b));
    return;
  }
  kn_pose in_b = kn_pose_between(&B, &P);
  memcpy(d->pos_b, in_b.p, sizeof in_b.p);
  kn_quat_from_matrix(d->quat_b, in_b.R);
}

void kn_compile_loops(kn_model* m) {
  for (int i = 0; i < m->nloop; i++)
    if (m->loop[i].from_reference && m->loop[i].type != KN_LOOP_COUPLING) close_at_reference(m, &m->loop[i]);
}
