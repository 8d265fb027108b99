/* Batches: many states of one model in blocks of KN_LANES worlds, their constants arranged once, then the kernels
   of batch_kernel.c per block (public: knuckle/batch.h). */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dynamics/batch/batch_data.h"
#include "dynamics/tree/dynamics.h"

struct kn_batch {
  kn_arena arena;
  int worlds, blocks;
  double *q, *v, *tau, *qdd;
  double *one_q, *one_q2, *one_v; /* a single world */
  kn_batch_work work;
};

static kn_batch_fn kernel(void) { return KN_BEST(kn_batch); }

static void take(kn_batch* b, kn_arena* a, const kn_model* m) {
  size_t lanes = (size_t)b->blocks * KN_LANES, nq = (size_t)m->nq, nv = (size_t)m->nv;
  b->q = KN_TAKE(a, double, lanes* nq);
  KN_TAKE_EACH(a, double, lanes* nv, &b->v, &b->tau, &b->qdd);
  KN_TAKE_EACH(a, double, nq, &b->one_q, &b->one_q2);
  b->one_v = KN_TAKE(a, double, nv);
  b->work.layout = kn_layout_take(a, m);
  b->work.fixed = KN_TAKE(a, kn_batch_const, m->nlink);
  b->work.world = KN_TAKE(a, kn_batch_link, 1);
  b->work.link = KN_TAKE(a, kn_batch_link, m->nlink);
  b->work.angle = KN_TAKE(a, kn_batch_angle, m->nlink);
  b->work.dof = KN_TAKE(a, kn_batch_dof, m->nv);
  b->work.load = KN_TAKE(a, kn_batch_load, m->nlink + 1);
}

/* Are the entries of R0 0 and ±1? Then where the components come from. */
static bool name_axes(kn_batch_const* f, const double* R0) {
  for (int k = 0; k < 3; k++) { /* column k: link axis k in the parent's axes */
    const double* column = R0 + 4 * k;
    int found = 0;
    for (int n = 0; n < 3; n++) {
      if (column[n] == 0.0) continue;
      if (fabs(column[n]) != 1.0) return false;
      f->from[k] = n, f->flip[k] = column[n] < 0.0 ? INT64_MIN : 0;
      found++;
    }
    if (found != 1) return false;
  }
  return true;
}

static void same_axes(kn_batch_const* f) {
  for (int k = 0; k < 3; k++) f->from[k] = k, f->flip[k] = 0;
}

static void name_load(kn_batch_const* f) {
  static const int sym[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
  const int* to = f->from;
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      f->load_to[sym[i][j]] = (uint16_t)sym[to[i]][to[j]];
      f->load_to[6 + 3 * i + j] = (uint16_t)(6 + 3 * to[i] + to[j]);
      f->load_to[15 + sym[i][j]] = (uint16_t)(15 + sym[to[i]][to[j]]);
    }
    f->load_to[21 + i] = (uint16_t)(21 + to[i]);
    f->load_to[24 + i] = (uint16_t)(24 + to[i]);
    f->flips |= (f->flip[i] != 0) << i;
  }
  for (int n = 0; n < 27; n++) f->load_to[n] = (uint16_t)(f->load_to[n] * sizeof(kn_lanes));
}

static void fix(kn_batch_const* f, const kn_model* m, int i, const kn_link_const* c) {
  const double *R0 = (const double*)c->R0, *p0 = (const double*)&c->p0, *I = (const double*)c->I;
  f->parent = c->parent, f->type = c->type, f->v = c->v, f->nv = c->nv, f->angle = c->angle;
  f->last_child = c->last_child, f->diagonal = c->diagonal, f->mass = c->mass;
  for (int k = 0; k < 3; k++) f->I[k] = I[5 * k], f->h[k] = ((const double*)&c->h)[k];
  f->named = c->type != KN_LINK_FREE && name_axes(f, R0);
  if (!f->named) same_axes(f);
  name_load(f);
  for (int k = 0; k < 3; k++) {
    if (c->type != KN_LINK_FREE) f->p[k] = R0[4 * k] * p0[0] + R0[4 * k + 1] * p0[1] + R0[4 * k + 2] * p0[2];
    f->p_axes |= (f->p[k] != 0.0) << k;
    f->h_axes |= (((const double*)&c->h)[k] != 0.0) << k;
    f->twist[k] = I[5 * ((k + 2) % 3)] - I[5 * ((k + 1) % 3)];
  }
  f->take = c->junction ? i + 1 : 0;
  f->leaf = i + 1 == m->nlink || m->link[i + 1].parent != i;
  f->bare = c->type == KN_LINK_HINGE && m->armature[c->v] == 0.0;
  f->kind = f->bare && f->named ? f->p_axes : KN_BATCH_OTHER;
  if (f->kind < KN_BATCH_ROOT && f->leaf && c->diagonal && I[10] > 0.0) {
    const double* h = (const double*)&c->h;
    double gx = -h[1] / I[10], gy = h[0] / I[10];
    double tip[6] = {c->mass + gx * h[1], c->mass - gy * h[0], gy * h[1], 1.0 / I[10], gx, gy};
    memcpy(f->tip, tip, sizeof tip);
    f->kind += KN_BATCH_LEAF;
  }
  if (c->parent < 0) f->kind = c->type == KN_LINK_HINGE ? KN_BATCH_ROOT : KN_BATCH_OTHER;
}

kn_status kn_batch_create(kn_batch** batch, const kn_model* model, int worlds) {
  KN_REQUIRE(batch != NULL);
  *batch = NULL;
  KN_REQUIRE(model != NULL);
  KN_REQUIRE(worlds > 0 && worlds <= 1 << 24);
  kn_batch* b = calloc(1, sizeof *b);
  if (!b) return kn_fail(KN_OUT_OF_MEMORY, "%zu bytes could not be allocated", sizeof *b);
  b->worlds = worlds, b->blocks = (worlds + KN_LANES - 1) / KN_LANES, b->work.model = model;
  kn_status status;
  KN_ARENA_CARVE(status, &b->arena, take(b, a, model));
  if (status != KN_OK) {
    free(b);
    return status;
  }
  for (int k = 0; k < KN_LANES; k++)
    for (int n = 0; n < 3; n++) b->work.world->a[n][k] = -model->gravity[n];
  for (int i = 0; i < model->nlink; i++) fix(&b->work.fixed[i], model, i, &b->work.layout->link[i]);
  for (int i = 0; i < model->nlink; i++)
    if (model->link[i].parent >= 0) b->work.fixed[i].give = b->work.fixed[model->link[i].parent].take;
  for (int w = 0; w < b->blocks * KN_LANES; w++)
    for (int i = 0; i < model->nq; i++) b->q[kn_batch_index(model->nq, i, w)] = model->q_ref[i];
  *batch = b;
  return KN_OK;
}

void kn_batch_destroy(kn_batch* batch) {
  if (!batch) return;
  kn_arena_destroy(&batch->arena);
  free(batch);
}

int kn_batch_worlds(const kn_batch* batch) { return batch ? batch->worlds : 0; }
double* kn_batch_q(kn_batch* batch) { return batch ? batch->q : NULL; }
double* kn_batch_v(kn_batch* batch) { return batch ? batch->v : NULL; }
double* kn_batch_tau(kn_batch* batch) { return batch ? batch->tau : NULL; }
double* kn_batch_qdd(kn_batch* batch) { return batch ? batch->qdd : NULL; }

static void scatter(double* lanes, const double* x, int n, int world) {
  for (int i = 0; x && i < n; i++) lanes[kn_batch_index(n, i, world)] = x[i];
}
static void collect(double* x, const double* lanes, int n, int world) {
  for (int i = 0; x && i < n; i++) x[i] = lanes[kn_batch_index(n, i, world)];
}

kn_status kn_batch_set(kn_batch* batch, int world, const double* q, const double* v, const double* tau) {
  KN_REQUIRE(batch != NULL);
  KN_REQUIRE(world >= 0 && world < batch->worlds);
  const kn_model* m = batch->work.model;
  scatter(batch->q, q, m->nq, world);
  scatter(batch->v, v, m->nv, world);
  scatter(batch->tau, tau, m->nv, world);
  return KN_OK;
}

kn_status kn_batch_get(double* q, double* v, double* qdd, const kn_batch* batch, int world) {
  KN_REQUIRE(batch != NULL);
  KN_REQUIRE(world >= 0 && world < batch->worlds);
  const kn_model* m = batch->work.model;
  collect(q, batch->q, m->nq, world);
  collect(v, batch->v, m->nv, world);
  collect(qdd, batch->qdd, m->nv, world);
  return KN_OK;
}

kn_status kn_batch_forward(kn_batch* batch) {
  KN_REQUIRE(batch != NULL);
  const kn_model* m = batch->work.model;
  kn_batch_fn run = kernel();
  size_t nq = (size_t)m->nq * KN_LANES, nv = (size_t)m->nv * KN_LANES;
  int wrong = 0;
  for (size_t k = 0; k < (size_t)batch->blocks; k++)
    wrong |=
        run(batch->qdd + k * nv, &batch->work, batch->q + k * nq, batch->v + k * nv, batch->tau + k * nv);
  if (wrong & KN_BATCH_SINGULAR) return kn_fail(KN_BAD_MODEL, "some joint moves no inertia in some world");
  if (!wrong) return KN_OK;
  for (int w = 0; w < batch->worlds; w++)
    for (int j = 0; j < m->nv; j++) {
      double* x = &batch->qdd[kn_batch_index(m->nv, j, w)];
      if (isfinite(*x)) continue;
      *x = 0.0;
      kn_fail(KN_NOT_FINITE, "world %d: acceleration of dof %d is not finite", w, j);
    }
  return KN_NOT_FINITE;
}

kn_status kn_batch_step(kn_batch* batch, double dt) {
  KN_REQUIRE(isfinite(dt));
  KN_TRY(kn_batch_forward(batch));
  const kn_model* m = batch->work.model;
  size_t n = (size_t)batch->blocks * KN_LANES * (size_t)m->nv;
  for (size_t j = 0; j < n; j++) batch->v[j] += dt * batch->qdd[j];
  for (int w = 0; w < batch->worlds; w++) {
    collect(batch->one_q, batch->q, m->nq, w);
    collect(batch->one_v, batch->v, m->nv, w);
    kn_dyn_integrate(batch->one_q2, m, batch->one_q, batch->one_v, dt);
    scatter(batch->q, batch->one_q2, m->nq, w);
  }
  return KN_OK;
}
