/* Worlds begin again, each with differences of its own (kn_pool_begin). What is drawn depends on the seed, the
   world and how often it has been reset; all numbers are drawn in a fixed order whether they are used or not,
   so that one more range does not change what the others give. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "pool/pool.h"

typedef struct job {
  kn_pool* pool;
  const kn_pool_reset* reset;
} job;

/* What a world differs by. */
typedef struct draw {
  kn_variation variation;
  int delay;
  bool differs; /* it needs a model of its own */
  kn_rng rng;   /* goes on with the noise of the start */
} draw;

static bool asked(const double range[2]) { return range[0] != 0.0 || range[1] != 0.0; }

/* `none` where nothing is asked for. */
static double pick(kn_rng* rng, const double range[2], double none) {
  double unit = kn_rng_unit(rng);
  return asked(range) ? range[0] + (range[1] - range[0]) * unit : none;
}

static kn_rng rng_of(uint64_t seed, int world, uint64_t resets) {
  uint64_t x = seed;
  x = kn_rng_mix(&x) + (uint64_t)world;
  x = kn_rng_mix(&x) + resets;
  return kn_rng_seed(x);
}

/* mass: room for a factor per body. */
static void draw_ranges(draw* d, const kn_pool_ranges* r, const kn_model* m, double* mass) {
  kn_variation* v = &d->variation;
  bool bodies = asked(r->body_mass);
  v->mass *= pick(&d->rng, r->mass, 1.0);
  v->friction *= pick(&d->rng, r->friction, 1.0);
  v->restitution += pick(&d->rng, r->restitution, 0.0);
  v->size *= pick(&d->rng, r->size, 1.0);
  for (int k = 0; k < 3; k++) v->gravity[k] += pick(&d->rng, r->gravity[k], 0.0);
  double unit = kn_rng_unit(&d->rng);
  d->delay += r->delay[0] + (int)((r->delay[1] - r->delay[0] + 1) * unit);
  for (int i = 0; i < m->nbody; i++) mass[i] = pick(&d->rng, r->body_mass, 1.0);
  if (bodies) v->body_mass = mass;
  d->differs = bodies || asked(r->mass) || asked(r->friction) || asked(r->restitution) || asked(r->size);
  for (int k = 0; k < 3; k++) d->differs |= asked(r->gravity[k]);
}

static kn_status own_model(kn_world* w, const kn_pool* p, const draw* d) {
  kn_model* own = NULL;
  if (d->differs) KN_TRY(kn_model_vary(&own, p->model, &d->variation));
  kn_model_destroy(w->own);
  w->own = own;
  w->model = own ? own : p->model;
  w->state->model = w->model;
  return KN_OK;
}

static void scatter(kn_state* x, const kn_pool_ranges* r, kn_rng* rng) {
  const kn_model* m = x->model;
  for (int i = 0; i < m->nlink; i++)
    if (m->link[i].nq == 1) x->q[m->link[i].q] += pick(rng, r->q, 0.0);
  for (int i = 0; i < m->nv; i++) x->v[i] += pick(rng, r->v, 0.0);
}

static kn_status begin(kn_world* w, const job* j, int world, double* mass) {
  const kn_pool_reset* r = j->reset;
  if (r->recount) w->resets = 0;
  draw d = {.variation = r->variation ? r->variation[world] : kn_variation_none(),
            .delay = r->delay ? r->delay[world] : 0,
            .rng = rng_of(r->ranges ? r->ranges->seed : 0, world, w->resets)};
  if (r->ranges) draw_ranges(&d, r->ranges, j->pool->model, mass);
  d.differs |= r->variation != NULL;
  w->resets++;
  KN_TRY(own_model(w, j->pool, &d));
  if (r->keyframe >= 0)
    KN_TRY(kn_state_keyframe(w->state, r->keyframe));
  else
    KN_TRY(kn_state_reset(w->state));
  if (r->start) kn_world_read(w, r->start);
  if (r->ranges) scatter(w->state, r->ranges, &d.rng);
  return kn_delay_set(w->state, d.delay);
}

static void begin_worlds(int worker, int first, int last, void* context) {
  const job* j = context;
  const kn_pool_reset* r = j->reset;
  (void)worker;
  double* mass = malloc(((size_t)j->pool->model->nbody + 1) * sizeof *mass);
  for (int i = first; i < last; i++) {
    kn_world* w = &j->pool->world[i];
    if (r->mask && !r->mask[i]) continue;
    w->status = KN_OK, w->text[0] = 0;
    kn_carry_clear(&w->carry);
    kn_status status = mass ? begin(w, j, i, mass) : kn_fail(KN_OUT_OF_MEMORY, "no memory for a reset");
    if (status != KN_OK) kn_world_fail(w, status);
    if (r->state) kn_world_write(r->state + (size_t)i * (size_t)kn_pool_row(j->pool->model), w);
    if (r->done) r->done[i] = status != KN_OK;
  }
  free(mass);
}

static kn_status check_range(const double range[2], const char* name) {
  if (isfinite(range[0]) && isfinite(range[1]) && range[0] <= range[1]) return KN_OK;
  return kn_fail(KN_BAD_ARGUMENT, "reset: the range of %s is %g … %g", name, range[0], range[1]);
}

static kn_status check(const kn_pool* p, const kn_pool_reset* r) {
  const kn_pool_ranges* g = r->ranges;
  if (r->keyframe < -1 || r->keyframe >= p->model->nkey)
    return kn_fail(KN_BAD_ARGUMENT, "reset: keyframe %d, but the model has %d (-1: none)", r->keyframe,
                   p->model->nkey);
  KN_REQUIRE(!(r->keyframe >= 0 && r->start));
  for (int i = 0; r->start && i < kn_pool_row(p->model); i++)
    if (!isfinite(r->start[i])) return kn_fail(KN_NOT_FINITE, "reset: start[%d] is %g", i, r->start[i]);
  if (!g) return KN_OK;
  KN_TRY(check_range(g->mass, "mass"));
  KN_TRY(check_range(g->body_mass, "body_mass"));
  KN_TRY(check_range(g->friction, "friction"));
  KN_TRY(check_range(g->restitution, "restitution"));
  KN_TRY(check_range(g->size, "size"));
  for (int k = 0; k < 3; k++) KN_TRY(check_range(g->gravity[k], "gravity"));
  KN_TRY(check_range(g->q, "q"));
  KN_TRY(check_range(g->v, "v"));
  if (g->delay[0] < 0 || g->delay[0] > g->delay[1])
    return kn_fail(KN_BAD_ARGUMENT, "reset: the range of delay is %d … %d", g->delay[0], g->delay[1]);
  return KN_OK;
}

kn_status kn_pool_begin(kn_pool* p, const kn_pool_reset* r) {
  KN_REQUIRE(p != NULL && r != NULL);
  KN_TRY(check(p, r));
  kn_pool_turn_back(p);
  job j = {.pool = p, .reset = r};
  kn_crew_run(p->crew, p->worlds, 4, begin_worlds, &j);
  for (int i = 0; i < p->worlds; i++)
    if ((!r->mask || r->mask[i]) && p->world[i].status != KN_OK)
      return kn_fail(p->world[i].status, "world %d: %s", i, p->world[i].text);
  return KN_OK;
}
