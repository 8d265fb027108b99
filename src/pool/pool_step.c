/* Steps of all worlds (kn_pool_step). A thread takes a world, gives its record to its own simulator, makes
   all its steps, and takes the record back: nothing of one world is seen by another, so that the order in
   which worlds are taken changes no bit. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/extreme.h"
#include "pool/pool.h"

typedef struct job {
  kn_pool* pool;
  const kn_pool_run* run;
  int64_t hold, inputs, kept; /* steps a row of inputs holds; rows of inputs; rows of outputs */
} job;

static const double* input_row(const double* rows, const job* j, int world, int64_t step, int width) {
  return rows + ((size_t)world * (size_t)j->inputs + (size_t)(step / j->hold)) * (size_t)width;
}

/* Controls and forces of the step. */
static kn_status feed(const job* j, const kn_pool_at* at, kn_state* x) {
  const kn_pool_run* r = j->run;
  const kn_model* m = x->model;
  if (r->ctrl)
    memcpy(x->ctrl, input_row(r->ctrl, j, at->world, at->step, m->nu), (size_t)m->nu * sizeof(double));
  if (r->force)
    memcpy(x->force, input_row(r->force, j, at->world, at->step, m->nv), (size_t)m->nv * sizeof(double));
  if (r->control) {
    kn_status status = r->control(x->ctrl, x->force, at, x, r->context);
    if (status != KN_OK)
      return kn_fail(status, "world %d: its controller ended the run at t = %g s", at->world, x->time);
  }
  for (int i = 0; i < m->nu; i++)
    if (!isfinite(x->ctrl[i]))
      return kn_fail(KN_NOT_FINITE, "world %d, step %lld: control %d (%s) is %g", at->world,
                     (long long)at->step, i, kn_actuator_name(m, i), x->ctrl[i]);
  if (r->ctrl || r->control) kn_delay_pass(x, x->ctrl);
  return KN_OK;
}

static void keep_contacts(const kn_pool_run* r, size_t row, const kn_report* report) {
  int n = report->contacts < r->contact_room ? report->contacts : r->contact_room;
  if (r->contacts) r->contacts[row] = report->contacts;
  if (r->contact && n > 0)
    memcpy(r->contact + row * (size_t)r->contact_room, report->contact, (size_t)n * sizeof *r->contact);
}

/* The step's row of outputs. */
static kn_status keep(const job* j, const kn_pool_at* at, kn_sim* s, kn_state* x, bool* done) {
  const kn_pool_run* r = j->run;
  size_t row = (size_t)at->world * (size_t)j->kept + (size_t)((at->step + 1) / r->every - 1);
  size_t nq = (size_t)x->model->nq, nv = (size_t)x->model->nv;
  if (r->q) memcpy(r->q + row * nq, x->q, nq * sizeof(double));
  if (r->v) memcpy(r->v + row * nv, x->v, nv * sizeof(double));
  if (r->t) r->t[row] = x->time;
  keep_contacts(r, row, &s->report);
  if (r->sensor) KN_TRY(kn_sim_sensors(r->sensor + row * (size_t)kn_model_sensor_numbers(x->model), s, x));
  if (!r->observe) return KN_OK;
  double* value = r->value ? r->value + row * (size_t)r->values : NULL;
  kn_status status = r->observe(value, done, at, s, x, r->context);
  if (status == KN_OK) return KN_OK;
  return kn_fail(status, "world %d: its observer ended the run at t = %g s", at->world, x->time);
}

static void count_step(kn_pool_summary* sum, const kn_report* r) {
  sum->steps++;
  sum->contacts += r->contacts;
  if (r->events && kn_report_in_trouble(r)) sum->troubles++;
  sum->residual = kn_max(sum->residual, r->residual);
  sum->penetration = kn_max(sum->penetration, r->penetration);
}

static kn_status one_step(const job* j, kn_hand* h, kn_world* w, const kn_pool_at* at, bool* done) {
  const kn_pool_run* r = j->run;
  KN_TRY(feed(j, at, w->state));
  KN_TRY(kn_step(h->sim, w->state));
  count_step(&h->sum, &h->sim->report);
  if (!r->every || (at->step + 1) % r->every || at->step / r->every >= j->kept) return KN_OK;
  return keep(j, at, h->sim, w->state, done);
}

static kn_status run_world(const job* j, kn_hand* h, kn_pool_at* at, bool* done) {
  kn_world* w = &j->pool->world[at->world];
  KN_TRY(kn_hand_turn(h, j->pool, w->model));
  kn_carry_give(h->sim, &w->carry);
  kn_status status = KN_OK;
  while (at->step < j->run->steps && !*done && status == KN_OK) {
    status = one_step(j, h, w, at, done);
    if (status == KN_OK) at->step++;
  }
  kn_status taken = kn_carry_take(&w->carry, h->sim);
  return status != KN_OK ? status : taken;
}

static void step_world(const job* j, kn_hand* h, int thread, int world) {
  const kn_pool_run* r = j->run;
  kn_world* w = &j->pool->world[world];
  double* row = r->state + (size_t)world * (size_t)kn_pool_row(j->pool->model);
  bool rests = w->status != KN_OK || (r->done && r->done[world]), done = false;
  kn_pool_at at = {.world = world, .thread = thread};
  if (!rests) {
    kn_world_read(w, row);
    kn_status status = run_world(j, h, &at, &done);
    if (status != KN_OK) kn_world_fail(w, status);
    kn_world_write(row, w);
  }
  if (w->status != KN_OK) h->sum.failed++;
  if (r->done && (done || w->status != KN_OK)) r->done[world] = 1;
  if (r->taken) r->taken[world] = at.step;
  if (r->status) r->status[world] = w->status;
}

static void step_worlds(int worker, int first, int last, void* context) {
  const job* j = context;
  for (int i = first; i < last; i++) step_world(j, &j->pool->hand[worker], worker, i);
}

/* Sums of integers and largest values: the same whoever did what. */
static kn_pool_summary add_up(const kn_pool* p) {
  kn_pool_summary all = {0};
  for (int i = 0; i < p->threads; i++) {
    const kn_pool_summary* s = &p->hand[i].sum;
    all.steps += s->steps, all.contacts += s->contacts, all.troubles += s->troubles, all.failed += s->failed;
    all.residual = kn_max(all.residual, s->residual);
    all.penetration = kn_max(all.penetration, s->penetration);
  }
  return all;
}

static kn_status check(const kn_pool_run* r) {
  KN_REQUIRE(r->state != NULL && r->steps >= 0 && r->hold >= 0 && r->every >= 0 && r->contact_room >= 0);
  KN_REQUIRE(r->values >= 0 && !(r->value && !r->observe));
  bool outputs = r->q || r->v || r->t || r->contacts || r->contact || r->sensor || r->observe;
  if (outputs && !r->every)
    return kn_fail(KN_BAD_ARGUMENT, "outputs are asked for: every must be 1 or more, it is 0");
  return KN_OK;
}

kn_status kn_pool_step(kn_pool_summary* summary, kn_pool* p, const kn_pool_run* run) {
  KN_REQUIRE(p != NULL && run != NULL);
  KN_TRY(check(run));
  job j = {.pool = p, .run = run, .hold = run->hold ? run->hold : run->steps ? run->steps : 1};
  j.inputs = run->steps ? (run->steps + j.hold - 1) / j.hold : 1;
  j.kept = run->every ? run->steps / run->every : 0;
  for (int i = 0; i < p->threads; i++) p->hand[i].sum = (kn_pool_summary){0};
  int grain = run->steps >= 16 ? 1 : (int)(16 / (run->steps ? run->steps : 1));
  kn_crew_run(p->crew, p->worlds, grain, step_worlds, &j);
  if (summary) *summary = add_up(p);
  return KN_OK;
}
