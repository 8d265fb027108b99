/* Row blocks of contacts, anchors, joint limits, dry friction and loops (constraint.h), made at the present poses
   in stage 5. Rows only: the formulations turn them into a problem. */
#include "contact/formulation/constraint.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/fours.h"
#include "dynamics/tree/data.h"
#include "math/elementary.h"
#include "spatial/spatial.h"

enum { GROUP_ROWS = 3 }; /* at most */

void kn_constraints_carve(kn_constraints* set, kn_arena* arena, int max_count, int max_rows) {
  set->max_count = max_count;
  set->max_rows = max_rows;
  set->geometry = KN_TAKE(arena, kn_row_block, max_count);
  set->tag = KN_TAKE(arena, kn_row_tag, max_count);
  set->block = KN_TAKE(arena, kn_block, max_rows);
  KN_TAKE_EACH(arena, double, max_rows + GROUP_ROWS, &set->bias, &set->rate);
  KN_TAKE_EACH(arena, double, max_rows, &set->travel, &set->u_before, &set->u_free);
  set->drift = KN_TAKE(arena, kn_row_drift, max_count);
}

static kn_status no_room(const kn_constraints* set) {
  return kn_fail(KN_NO_ROOM, "more than %d constraint rows: raise max_contacts", set->max_rows);
}

/* Reserves a group of rows with its own comp blocks: one block of `rows` rows (cone) or one per row. */
static kn_status reserve(kn_constraints* set, kn_row_kind kind, int index, int rows, bool one_block,
                         kn_set kind_of_set) {
  if (set->count == set->max_count || set->rows + rows > set->max_rows) return no_room(set);
  kn_row_tag* tag = &set->tag[set->count];
  *tag = (kn_row_tag){.kind = kind, .index = index, .row = set->rows, .rows = rows, .block = set->blocks};
  tag->blocks = one_block ? 1 : rows;
  tag->tree[0] = tag->tree[1] = -1;
  for (int i = 0; i < tag->blocks; i++)
    set->block[set->blocks + i] = (kn_block){.set = kind_of_set, .row = set->rows + i, .hi = INFINITY};
  kn_row_block* g = &set->geometry[set->count]; /* what a kind does not use is not read */
  g->rows = rows, g->angular = g->ndof = 0;
  g->link_a = g->link_b = -1;
  memset(set->bias + set->rows, 0, sizeof(double[GROUP_ROWS])); /* a known length is no call */
  memset(set->rate + set->rows, 0, sizeof(double[GROUP_ROWS]));
  set->count++;
  set->rows += rows;
  set->blocks += tag->blocks;
  return KN_OK;
}

static void between(kn_constraints* set, const kn_model* model, int link_a, int link_b,
                    const double point[3]) {
  kn_row_block* g = &set->geometry[set->count - 1];
  kn_row_tag* tag = &set->tag[set->count - 1];
  g->link_a = link_a;
  g->link_b = link_b;
  memcpy(g->point, point, sizeof g->point);
  tag->tree[0] = kn_root_link(model, link_a);
  tag->tree[1] = kn_root_link(model, link_b);
}

/* As reserve and between would do it; there may be thousands in a step. */
static inline __attribute__((always_inline)) void put_rows(kn_row_block* g, const kn_model* model,
                                                           const kn_contact* c, int rows) {
  g->link_a = model->geom_place[c->geom_a].link, g->link_b = model->geom_place[c->geom_b].link;
  g->rows = rows, g->angular = 0, g->ndof = 0;
  kn_few_copy(g->point, c->point, 3);
  kn_few_copy(g->dir[0], c->frame, 9);
}

void kn_contact_rows(kn_row_block* g, const kn_model* model, const kn_contact* c, int rows) {
  put_rows(g, model, c, rows);
}

static void scaled(double* dir, const double* axis, double scale) {
  for (int i = 0; i < 3; i++) dir[i] = scale * axis[i];
}

/* What makes the contact just added richer: a shorter second tangent, and a group of turning rows in its block. */
static __attribute__((noinline)) kn_status add_spin(kn_constraints* set, const kn_contact* c) {
  kn_row_block* own = &set->geometry[set->count - 1];
  kn_row_tag tag = set->tag[set->count - 1];
  kn_block* block = &set->block[set->blocks - 1];
  int rows = (c->torsion > 0.0) + 2 * (c->roll > 0.0), row = set->rows;
  scaled(own->dir[2], c->frame + 6, c->mu2 / c->mu);
  if (rows == 0) return KN_OK;
  if (set->count == set->max_count || row + rows > set->max_rows) return no_room(set);
  kn_row_block* g = &set->geometry[set->count];
  *g = *own;
  g->rows = rows, g->angular = 1;
  int at = 0;
  if (c->torsion > 0.0) scaled(g->dir[at++], c->frame, c->torsion / c->mu);
  for (int k = 1; k < 3 && c->roll > 0.0; k++) scaled(g->dir[at++], c->frame + 3 * k, c->roll / c->mu);
  tag.kind = KN_ROW_SPIN, tag.row = row, tag.rows = rows, tag.block = set->blocks, tag.blocks = 0;
  set->tag[set->count++] = tag;
  block->set = (kn_set)(KN_SET_CONE3 + rows);
  for (int k = 0; k < rows; k++) set->bias[row + k] = set->rate[row + k] = 0.0;
  set->rows += rows;
  return KN_OK;
}

kn_status kn_constraint_add_contact(kn_constraints* set, const kn_model* model, const kn_contact* c,
                                    int index, double bias) {
  bool rough = c->mu > 0.0;
  int rows = rough ? 3 : 1, row = set->rows;
  if (set->count == set->max_count || row + rows > set->max_rows) return no_room(set);
  kn_row_block* g = &set->geometry[set->count];
  put_rows(g, model, c, rows);
  set->tag[set->count++] =
      (kn_row_tag){.kind = KN_ROW_CONTACT,
                   .index = index,
                   .row = row,
                   .rows = rows,
                   .block = set->blocks,
                   .blocks = 1,
                   .tree = {kn_root_link(model, g->link_a), kn_root_link(model, g->link_b)}};
  set->block[set->blocks++] =
      (kn_block){.set = rough ? KN_SET_CONE3 : KN_SET_POSITIVE, .row = row, .mu = c->mu, .hi = INFINITY};
  set->bias[row] = bias, set->rate[row] = 0.0;
  for (int k = 1; k < 3 && rough; k++) set->bias[row + k] = set->rate[row + k] = 0.0;
  set->rows += rows;
  return __builtin_expect(kn_contact_rich(c), 0) ? add_spin(set, c) : KN_OK;
}

kn_status kn_constraint_add_anchor(kn_constraints* set, const kn_model* model, const kn_contact* c, int index,
                                   const double residual[2]) {
  KN_TRY(reserve(set, KN_ROW_ANCHOR, index, 2, false, KN_SET_FREE));
  between(set, model, model->geom_place[c->geom_a].link, model->geom_place[c->geom_b].link, c->point);
  memcpy(set->geometry[set->count - 1].dir, c->frame + 3, sizeof(double[6]));
  memcpy(set->bias + set->rows - 2, residual, sizeof(double[2]));
  return KN_OK;
}

/* Rotation angle of a unit quaternion in [0, π] and its axis (child axes); the angle's gradient is that axis.
 */
static double ball_angle(double axis[3], const double quat[4]) {
  double s = sqrt(quat[1] * quat[1] + quat[2] * quat[2] + quat[3] * quat[3]);
  double sign = quat[0] < 0.0 ? -1.0 : 1.0, half = kn_atan2(s, fabs(quat[0]));
  for (int i = 0; i < 3; i++) axis[i] = s > 0.0 ? sign * quat[1 + i] / s : (i == 2);
  return 2.0 * half;
}

double kn_limit_gap(const kn_model* model, int limit, const double* q) {
  const kn_limit* l = &model->limit[limit];
  double axis[3];
  if (l->side == 0) return l->bound - ball_angle(axis, q + l->q);
  return l->side * (q[l->q] - l->bound);
}

kn_status kn_constraint_add_limit(kn_constraints* set, const kn_model* model, const double* q, int index,
                                  double bias) {
  const kn_limit* l = &model->limit[index];
  KN_TRY(reserve(set, KN_ROW_LIMIT, index, 1, true, KN_SET_POSITIVE));
  kn_row_block* g = &set->geometry[set->count - 1];
  g->ndof = l->side == 0 ? 3 : 1;
  double axis[3] = {0.0};
  if (l->side == 0) ball_angle(axis, q + l->q);
  for (int i = 0; i < g->ndof; i++) {
    g->dof[i] = l->v + i;
    g->coef[i] = l->side == 0 ? -axis[i] : l->side;
  }
  set->tag[set->count - 1].tree[0] = kn_root_link(model, l->link);
  set->bias[set->rows - 1] = bias;
  return KN_OK;
}

kn_status kn_constraint_add_friction(kn_constraints* set, const kn_model* model, int dof, double bound) {
  KN_TRY(reserve(set, KN_ROW_FRICTION, dof, 1, true, KN_SET_BOX));
  kn_row_block* g = &set->geometry[set->count - 1];
  g->ndof = 1;
  g->dof[0] = dof;
  g->coef[0] = 1.0;
  set->block[set->blocks - 1].lo = -bound;
  set->block[set->blocks - 1].hi = bound;
  set->tag[set->count - 1].tree[0] = kn_root_link(model, model->dof_link[dof]);
  return KN_OK;
}

/* ---- loops ---- */

int kn_loop_rows(const kn_model* model, int loop) {
  static const int rows[KN_LOOP_TYPE_COUNT] = {3, 6, 1, 1};
  return model->loop[loop].inactive ? 0 : rows[model->loop[loop].type];
}

/* Value, rate, acceleration of a prescribed motion. */
static void motion_eval(double out[3], const kn_motion* motion, double t) {
  const double* c = motion->c;
  out[0] = out[1] = out[2] = 0.0;
  if (motion->kind == KN_MOTION_POLYNOMIAL) {
    for (int i = 5; i >= 0; i--) {
      out[2] = out[2] * t + 2.0 * out[1];
      out[1] = out[1] * t + out[0];
      out[0] = out[0] * t + c[i];
    }
  } else if (motion->kind == KN_MOTION_SINE) {
    double s, k;
    kn_sincos(&s, &k, c[2] * t + c[3]);
    out[0] = c[0] + c[1] * s + c[4] * t;
    out[1] = c[1] * c[2] * k + c[4];
    out[2] = -c[1] * c[2] * c[2] * s;
  } else if (motion->kind == KN_MOTION_CALLBACK) {
    motion->fn(out, t, motion->context);
  }
}

/* World pose of one end of a loop. */
static kn_pose anchor_pose(const kn_frame_place* anchor, const kn_data* data) {
  if (anchor->link < 0) return anchor->in_link;
  kn_pose pose;
  kn_link_pose(&pose, data, anchor->link);
  return kn_pose_mul(&pose, &anchor->in_link);
}

/* One row of a loop between two links; every row is a group of its own, so that a dependent one can be left
 * out. */
static kn_status add_loop_row(kn_constraints* set, const kn_model* m, int link_a, int link_b,
                              const double point[3], const double dir[3], bool angular, int index, double U) {
  KN_TRY(reserve(set, KN_ROW_LOOP, index, 1, false, KN_SET_FREE));
  between(set, m, link_a, link_b, point);
  kn_row_block* g = &set->geometry[set->count - 1];
  kn_copy3(g->dir[0], dir);
  g->angular = angular;
  set->bias[set->rows - 1] = -U;
  set->rate[set->rows - 1] = U;
  return KN_OK;
}

/* Connect and weld: linear rows along A's anchor axes at B's anchor point; u = (v_A - v_B) there.
   φ = R_Aᵀ (p_A - p_B): its rate is just that velocity. A motion is prescribed along axis 0. */
static kn_status add_point_rows(kn_constraints* set, const kn_model* m, const kn_pose* a, const kn_pose* b,
                                int link_a, int link_b, int first_row, const double motion[3],
                                double* violation) {
  double d[3];
  kn_sub3(d, a->p, b->p);
  for (int k = 0; k < 3; k++) {
    double dir[3] = {a->R[k], a->R[3 + k], a->R[6 + k]};
    KN_TRY(add_loop_row(set, m, link_a, link_b, b->p, dir, false, first_row + k, k ? 0.0 : motion[1]));
    if (violation) violation[k] = kn_dot3(d, dir) - (k ? 0.0 : motion[0]);
  }
  return KN_OK;
}

/* Weld rotation: φ = rotation vector of R_A R_Bᵀ, world axes. */
static kn_status add_angle_rows(kn_constraints* set, const kn_model* m, const kn_pose* a, const kn_pose* b,
                                int link_a, int link_b, int first_row, double* violation) {
  for (int k = 0; k < 3; k++) {
    double dir[3] = {k == 0, k == 1, k == 2};
    KN_TRY(add_loop_row(set, m, link_a, link_b, b->p, dir, true, first_row + k, 0.0));
  }
  if (!violation) return KN_OK;
  double E[9], quat[4]; /* R_A R_Bᵀ: the rotation that remains */
  kn_mul33t(E, a->R, b->R);
  kn_quat_from_rotation(quat, E);
  kn_quat_log(violation, quat);
  return KN_OK;
}

/* A force along the line through both anchors: B's point serves both. */
static kn_status add_distance_row(kn_constraints* set, const kn_model* m, const kn_loop_def* loop,
                                  const kn_pose* a, const kn_pose* b, int link_a, int link_b, int first_row,
                                  const double motion[3], double* violation) {
  double d[3], dir[3] = {0, 0, 1};
  kn_sub3(d, a->p, b->p);
  double length = kn_norm3(d);
  if (length > 0.0) kn_scale3(dir, d, 1.0 / length);
  if (violation) violation[0] = length - loop->length - motion[0];
  return add_loop_row(set, m, link_a, link_b, b->p, dir, false, first_row, motion[1]);
}

static kn_status add_coupling_row(kn_constraints* set, const kn_model* m, const kn_loop_def* loop,
                                  const double* q, int first_row, const double motion[3], double* violation) {
  KN_TRY(reserve(set, KN_ROW_LOOP, first_row, 1, false, KN_SET_FREE));
  const kn_link* l1 = &m->link[m->joint_link[loop->joint1]];
  const kn_link* l2 = loop->joint2 >= 0 ? &m->link[m->joint_link[loop->joint2]] : NULL;
  double x = l2 ? q[l2->q] - l2->ref : 0.0, value = 0.0, slope = 0.0;
  for (int i = 4; i >= 0; i--) {
    slope = slope * x + value;
    value = value * x + loop->coef[i];
  }
  kn_row_block* g = &set->geometry[set->count - 1];
  kn_row_tag* tag = &set->tag[set->count - 1];
  g->ndof = l2 ? 2 : 1;
  g->dof[0] = l1->v;
  g->coef[0] = 1.0;
  tag->tree[0] = kn_root_link(m, m->joint_link[loop->joint1]);
  if (l2) {
    g->dof[1] = l2->v;
    g->coef[1] = -slope;
    tag->tree[1] = kn_root_link(m, m->joint_link[loop->joint2]);
  }
  set->bias[set->rows - 1] = -motion[1];
  set->rate[set->rows - 1] = motion[1];
  if (violation) violation[0] = (q[l1->q] - l1->ref) - value - motion[0];
  return KN_OK;
}

kn_status kn_constraint_add_loop(kn_constraints* set, const kn_model* m, const kn_data* data, const double* q,
                                 int index, int first_row, double t, int* rows, double* violation) {
  const kn_loop_def* loop = &m->loop[index];
  *rows = kn_loop_rows(m, index);
  if (*rows == 0) return KN_OK;
  double motion[3];
  motion_eval(motion, &loop->motion, t);
  if (loop->type == KN_LOOP_COUPLING) return add_coupling_row(set, m, loop, q, first_row, motion, violation);
  const kn_frame_place* end = data->layout->anchor + (size_t)2 * (size_t)index;
  kn_pose a = anchor_pose(end, data), b = anchor_pose(end + 1, data);
  int link_a = end[0].link, link_b = end[1].link;
  if (loop->type == KN_LOOP_DISTANCE)
    return add_distance_row(set, m, loop, &a, &b, link_a, link_b, first_row, motion, violation);
  KN_TRY(add_point_rows(set, m, &a, &b, link_a, link_b, first_row, motion, violation));
  if (loop->type == KN_LOOP_WELD)
    KN_TRY(add_angle_rows(set, m, &a, &b, link_a, link_b, first_row + 3, violation ? violation + 3 : NULL));
  return KN_OK;
}
