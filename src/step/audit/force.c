/* Loads of contacts and their sums (force.h): what is a force, what an impulse, and what the motion determines.

     Jᵀ λ is what the motion sees.  c·λ is determined  <=>  c·z = 0 for every z with Jᵀ z = 0

   J has a column for each force that could change: three for a sticking contact, n - mu s for one that slides
   along s, one for a limit that carries a load, for a dof at rest with dry friction, six or three for a loop.
   Signs are left aside: a force that only its sign keeps from changing is not called determinate. */
#include "knuckle/force.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "comp/verdict/enumerate.h"
#include "model/model.h"

const char* kn_contact_mode_name(const kn_contact* c) {
  if (!c || c->mode == KN_MODE_OPEN) return "open";
  return c->mode == KN_MODE_SLIP ? "slipping" : c->rolling ? "rolling" : "sticking";
}

static bool island_collides(const kn_contact* contact, int contacts, int i) {
  if (contact[i].impact) return true;
  for (int k = 0; k < contacts && contact[i].island >= 0; k++)
    if (contact[k].impact && contact[k].island == contact[i].island) return true;
  return false;
}

kn_status kn_contact_loads(kn_contact_load* load, const kn_contact* contact, int contacts, double dt) {
  KN_REQUIRE(contacts >= 0 && (contacts == 0 || (load && contact)) && dt > 0.0);
  for (int i = 0; i < contacts; i++) {
    const kn_contact* c = &contact[i];
    kn_contact_load* l = &load[i];
    *l = (kn_contact_load){.impulse = island_collides(contact, contacts, i), .determinate = c->determinate};
    for (int k = 0; k < 3; k++) l->local[k] = l->impulse ? c->impulse[k] : c->impulse[k] / dt;
    for (int k = 0; k < 3; k++)
      for (int j = 0; j < 3; j++) l->world[k] += c->frame[3 * j + k] * l->local[j];
    l->normal = l->local[0];
    l->tangential = sqrt(l->local[1] * l->local[1] + l->local[2] * l->local[2]);
  }
  return KN_OK;
}

/* ---- landing ---- */

/* Normal velocity of A's point relative to B's, m/s. */
static kn_status approach(double* u, const kn_model* m, const kn_data* data, const kn_contact* c) {
  double a[6] = {0.0}, b[6] = {0.0};
  if (c->body_a != KN_WORLD) KN_TRY(kn_body_velocity(a, m, data, c->body_a, c->point));
  if (c->body_b != KN_WORLD) KN_TRY(kn_body_velocity(b, m, data, c->body_b, c->point));
  *u = 0.0;
  for (int k = 0; k < 3; k++) *u += c->frame[k] * (a[3 + k] - b[3 + k]);
  return KN_OK;
}

static void become_blow(kn_contact_load* l, double dt) {
  l->impulse = true;
  for (int k = 0; k < 3; k++) l->local[k] *= dt, l->world[k] *= dt;
  l->normal *= dt;
  l->tangential *= dt;
}

kn_status kn_loads_land(kn_contact_load* load, const kn_model* m, const kn_data* data,
                        const kn_contact* contact, int contacts, double v_rest, double dt) {
  KN_REQUIRE(m && data && contacts >= 0 && (contacts == 0 || (load && contact)) && dt > 0.0);
  double g[3], u;
  kn_model_gravity(g, m);
  if (v_rest < 0.0) v_rest = 2.0 * dt * fmax(9.81, sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]));
  for (int i = 0; i < contacts; i++) {
    if (load[i].impulse || load[i].normal == 0.0) continue;
    KN_TRY(approach(&u, m, data, &contact[i]));
    for (int k = 0; k < contacts && u < -v_rest; k++)
      if (!load[k].impulse && (k == i || (contact[i].island >= 0 && contact[k].island == contact[i].island)))
        become_blow(&load[k], dt);
  }
  return KN_OK;
}

/* ---- sums ---- */

static void add_load(kn_load_sum* s, const kn_contact_load* l, double sign) {
  if (l->normal == 0.0 && l->tangential == 0.0) return;
  s->contacts++;
  for (int k = 0; k < 3; k++) (l->impulse ? s->impulse : s->force)[k] += sign * l->world[k];
  if (l->impulse)
    s->impulse_normal += l->normal;
  else
    s->normal += l->normal, s->tangential += l->tangential;
}

static kn_load_sum* sum_of(kn_load_sum* sum, int* count, int room, kn_body a, kn_body b) {
  for (int i = 0; i < *count && i < room; i++)
    if (sum[i].a == a && sum[i].b == b) return &sum[i];
  if (++*count > room) return NULL;
  sum[*count - 1] = (kn_load_sum){.a = a, .b = b};
  return &sum[*count - 1];
}

/* +1: the contact's force on A counts, -1: that on B, 0: none of this sum. */
static double share(const kn_load_sum* s, const kn_contact* c) {
  bool a = c->body_a == s->a && (s->b == KN_ANY_BODY || c->body_b == s->b);
  bool b = c->body_b == s->a && (s->b == KN_ANY_BODY || c->body_a == s->b);
  return a && b ? 0.0 : a ? 1.0 : b ? -1.0 : 0.0;
}

kn_status kn_load_sums(kn_load_sum* sum, int* count, int room, const kn_contact* contact,
                       const kn_contact_load* load, int contacts) {
  KN_REQUIRE(count && room >= 0 && contacts >= 0 && (room == 0 || sum));
  KN_REQUIRE(contacts == 0 || (contact && load));
  *count = 0;
  for (int i = 0; i < contacts; i++) {
    const kn_contact* c = &contact[i];
    bool turned = false;
    for (int k = 0; k < *count && k < room; k++) turned |= sum[k].a == c->body_b && sum[k].b == c->body_a;
    if (!turned) sum_of(sum, count, room, c->body_a, c->body_b);
  }
  for (int i = 0; i < contacts; i++) {
    if (contact[i].body_a != KN_WORLD) sum_of(sum, count, room, contact[i].body_a, KN_ANY_BODY);
    if (contact[i].body_b != KN_WORLD) sum_of(sum, count, room, contact[i].body_b, KN_ANY_BODY);
  }
  for (int s = 0; s < *count && s < room; s++)
    for (int i = 0; i < contacts; i++) {
      double sign = share(&sum[s], &contact[i]);
      if (sign != 0.0) add_load(&sum[s], &load[i], sign);
    }
  return KN_OK;
}

/* ---- what the motion determines ---- */

typedef struct column {
  int contact;     /* or -1 */
  double force[3]; /* world, on A, of one unit of it */
} column;

typedef struct judge {
  const kn_model* model;
  const kn_data* data;
  int k;
  double *A, *J; /* nv x k column-major; two Jacobians of 6 x nv */
  column* col;
} judge;

/* A column A_k = J_relᵀ d at a point, linear or angular; of unit length. */
static void add_direction(judge* j, const double* J, bool angular, const double d[3], int contact) {
  int nv = j->model->nv;
  double *a = j->A + (size_t)j->k * nv, size = 0.0;
  const double* rows = J + (angular ? 0 : 3 * nv);
  for (int i = 0; i < nv; i++) {
    a[i] = d[0] * rows[i] + d[1] * rows[nv + i] + d[2] * rows[2 * nv + i];
    size += a[i] * a[i];
  }
  size = sqrt(size);
  if (!(size > 1e-12) && contact < 0) return;
  for (int i = 0; i < nv && size > 1e-12; i++) a[i] /= size;
  double unit = size > 1e-12 ? 1.0 / size : 1.0; /* what nothing feels is in the null space as it stands */
  j->col[j->k++] = (column){contact, {unit * d[0], unit * d[1], unit * d[2]}};
}

/* 6 x nv of A relative to B at a point. */
static kn_status relative(judge* j, kn_body a, kn_body b, const double point[3]) {
  int n = 6 * j->model->nv;
  double* other = j->J + n;
  memset(j->J, 0, (size_t)n * sizeof(double));
  memset(other, 0, (size_t)n * sizeof(double));
  if (a != KN_WORLD) KN_TRY(kn_jacobian(j->J, j->model, j->data, a, point));
  if (b != KN_WORLD) KN_TRY(kn_jacobian(other, j->model, j->data, b, point));
  for (int i = 0; i < n; i++) j->J[i] -= other[i];
  return KN_OK;
}

static bool may_carry(const kn_contact* c) {
  return c->mode != KN_MODE_OPEN || (c->island >= 0 && !c->impact && c->velocity[0] <= 1e-9); /* m/s */
}

static kn_status add_contact(judge* j, const kn_contact* c, int index) {
  if (!may_carry(c)) return KN_OK;
  KN_TRY(relative(j, c->body_a, c->body_b, c->point));
  double d[3], speed = sqrt(c->velocity[1] * c->velocity[1] + c->velocity[2] * c->velocity[2]);
  memcpy(d, c->frame, sizeof d);
  if (c->mode == KN_MODE_SLIP && c->mu > 0.0 && speed > 0.0)
    for (int k = 0; k < 3; k++)
      d[k] -= c->mu * (c->velocity[1] * c->frame[3 + k] + c->velocity[2] * c->frame[6 + k]) / speed;
  add_direction(j, j->J, false, d, index);
  for (int k = 1; k < 3 && c->mode != KN_MODE_SLIP && c->mu > 0.0; k++)
    add_direction(j, j->J, false, c->frame + 3 * k, index);
  return KN_OK;
}

static void add_dof(judge* j, int dof) {
  double* a = j->A + (size_t)j->k * j->model->nv;
  memset(a, 0, (size_t)j->model->nv * sizeof *a);
  a[dof] = 1.0;
  j->col[j->k++] = (column){.contact = -1};
}

static kn_status add_loop(judge* j, const kn_loop_def* l) {
  static const double axis[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  double point[3];
  kn_pose pose;
  int q, nq, v[2], nv;
  if (l->type == KN_LOOP_COUPLING) {
    KN_TRY(kn_model_joint_address(&q, &nq, &v[0], &nv, j->model, l->joint1));
    add_dof(j, v[0]);
    if (l->joint2 < 0) return KN_OK;
    KN_TRY(kn_model_joint_address(&q, &nq, &v[1], &nv, j->model, l->joint2));
    add_dof(j, v[1]);
    return KN_OK;
  }
  memcpy(point, l->pos_a, sizeof point);
  if (l->a != KN_WORLD) {
    KN_TRY(kn_body_pose(&pose, j->model, j->data, l->a));
    for (int k = 0; k < 3; k++)
      point[k] = pose.p[k] + pose.R[3 * k] * l->pos_a[0] + pose.R[3 * k + 1] * l->pos_a[1] +
                 pose.R[3 * k + 2] * l->pos_a[2];
  }
  KN_TRY(relative(j, l->a, l->b, point));
  for (int k = 0; k < 3; k++) add_direction(j, j->J, false, axis[k], -1);
  for (int k = 0; k < 3 && l->type == KN_LOOP_WELD; k++) add_direction(j, j->J, true, axis[k], -1);
  return KN_OK;
}

static kn_status gather(judge* j, const kn_contact* contact, int contacts, const double* limit_impulse,
                        const double* v) {
  const kn_model* m = j->model;
  for (int i = 0; i < contacts; i++) KN_TRY(add_contact(j, &contact[i], i));
  for (int i = 0; i < m->nlimit && limit_impulse; i++)
    if (limit_impulse[i] != 0.0) add_dof(j, m->limit[i].v);
  for (int i = 0; i < m->nv; i++)
    if (m->friction[i] > 0.0 && v && fabs(v[i]) <= 1e-9) add_dof(j, i); /* rad/s, m/s */
  for (int i = 0; i < m->nloop; i++)
    if (!m->loop[i].inactive) KN_TRY(add_loop(j, &m->loop[i]));
  return KN_OK;
}

static const double least = 1e-6; /* part of a unit null vector: rounding of the factors is 1e-12 or less */

static kn_answer contact_answer(const judge* j, const double* N, int dim, int contact) {
  for (int c = 0; c < j->k; c++)
    for (int d = 0; d < dim && j->col[c].contact == contact; d++)
      if (fabs(N[(size_t)d * j->k + c]) > least) return KN_ANSWER_NO;
  return KN_ANSWER_YES;
}

static kn_answer sum_answer(const judge* j, const double* N, int dim, const kn_load_sum* s,
                            const kn_contact* contact) {
  for (int d = 0; d < dim; d++) {
    double f[3] = {0.0}, size = 0.0;
    for (int c = 0; c < j->k; c++) {
      if (j->col[c].contact < 0) continue;
      double sign = share(s, &contact[j->col[c].contact]), z = N[(size_t)d * j->k + c];
      for (int k = 0; k < 3; k++) {
        f[k] += sign * z * j->col[c].force[k];
        size = fmax(size, fabs(j->col[c].force[k]));
      }
    }
    if (fmax(fabs(f[0]), fmax(fabs(f[1]), fabs(f[2]))) > least * size) return KN_ANSWER_NO;
  }
  return KN_ANSWER_YES;
}

kn_status kn_loads_judge(kn_contact_load* load, kn_load_sum* sum, int sums, const kn_model* model,
                         const kn_data* data, const kn_contact* contact, int contacts,
                         const double* limit_impulse, const double* v) {
  KN_REQUIRE(model && data && contacts >= 0 && sums >= 0 && (contacts == 0 || (load && contact)) &&
             (sums == 0 || sum));
  size_t nv = (size_t)model->nv;
  size_t k = (size_t)(3 * contacts + model->nlimit + model->nv + 6 * model->nloop) + 1;
  judge j = {.model = model, .data = data};
  j.A = malloc((k * nv + 12 * nv + 1) * sizeof(double));
  j.col = malloc(k * sizeof *j.col);
  j.J = j.A ? j.A + k * nv : NULL;
  kn_status status = j.A && j.col ? gather(&j, contact, contacts, limit_impulse, v)
                                  : kn_fail(KN_OUT_OF_MEMORY, "no memory to judge %d contacts", contacts);
  size_t n = (size_t)j.k + 1;
  double* N = status == KN_OK ? malloc((n * n + 2 * n) * sizeof *N) : NULL;
  int* perm = status == KN_OK ? malloc(n * sizeof *perm) : NULL;
  if (status == KN_OK && !(N && perm))
    status = kn_fail(KN_OUT_OF_MEMORY, "no memory to judge %d contacts", contacts);
  if (status == KN_OK) {
    int dim = j.k ? kn_null_space(N, model->nv, j.k, j.A, 1e-9, perm, N + n * n) : 0;
    for (int i = 0; i < contacts; i++) load[i].determinate = contact_answer(&j, N, dim, i);
    for (int i = 0; i < sums; i++) sum[i].determinate = sum_answer(&j, N, dim, &sum[i], contact);
  }
  free(perm);
  free(N);
  free(j.col);
  free(j.A);
  return status;
}
