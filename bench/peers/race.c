#include "race.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timer.h"

static const double touch = 1e-4; /* m: closer pairs count as touching */

/* ---- the reference ---- */

typedef struct path { /* of an event-driven run */
  double impact, next, kinetic, energy;
} path;

/* Until shortly after the first impact, or to the energy at time `at` when that is known. */
static void follow(path* p, const race* r, const char* law, double at) {
  stage* s = (stage*)(size_t)&r->s;
  size_t nq = (size_t)s->w.nq, nv = (size_t)s->w.nv;
  double *q = calloc(nq, 8), *v = calloc(nv, 8), dt = r->kind.dt;
  void* self = engine_ours_open(&s->w, dt, "event", law);
  *p = (path){INFINITY, INFINITY, 0, NAN};
  long most = lround(r->kind.duration / dt);
  for (long k = 1; self && k <= most; k++) {
    engine_ours.step(self, 1);
    ours_facts f = engine_ours_facts(self);
    double t = (double)k * dt;
    engine_ours.get(q, v, self);
    if (!isfinite(f.first_impact)) {
      p->kinetic = stage_kinetic(s, q, v);
      continue;
    }
    p->impact = f.first_impact, p->next = f.second_impact;
    if (at > 0 && t >= at - 0.5 * dt) {
      p->energy = stage_energy(s, q, v);
      break;
    }
    if (at <= 0 && (isfinite(p->next) || t > p->impact + 0.05)) break;
  }
  if (self) engine_ours.destroy(self);
  free(q), free(v);
}

/* Energies are compared at the last whole step before the second impact, at most 20 ms after the first: soft
   contacts need that long. */
static void find_reference(race* r) {
  const double dt = r->kind.dt;
  path p;
  r->impact = r->sample_time = r->kinetic = r->energy[0] = r->energy[1] = NAN;
  if (!r->kind.swings) return;
  follow(&p, r, "poisson", 0);
  if (!isfinite(p.impact)) return;
  double last = fmin(p.impact + 0.02, p.next - dt / 2);
  if (last < p.impact + 2 * dt) last = p.impact + 0.02;
  r->impact = p.impact, r->kinetic = p.kinetic;
  r->sample_time = dt * floor(last / dt);
  follow(&p, r, "poisson", r->sample_time);
  r->energy[0] = p.energy;
  follow(&p, r, "newton", r->sample_time);
  r->energy[1] = p.energy;
  snprintf(r->reference, sizeof r->reference, "event stepper, rtol 1e-11");
}

/* ---- one pass ---- */

typedef struct scratch {
  double *q, *v;
  double at[64][3];
  int foot[64], feet;
} scratch;

static void refuse(race_entry* e, const char* why, double a, double b) {
  if (e->refused) return;
  e->refused = true;
  snprintf(e->why, sizeof e->why, why, a, b);
}

static bool finite_all(const double* x, int n) {
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

/* Sideways motion of what stood on the ground since half of the time. */
static void measure_slip(race* r, race_entry* e, scratch* x, int done) {
  int at = 3 * r->steps / 4;
  if (done == at) x->feet = stage_feet(&r->s, x->q, 1e-3, x->foot, x->at, 64);
  if (done < at || !x->feet) return;
  for (int k = 0; k < x->feet; k++) {
    const double *now = r->s.centre + 3 * x->foot[k], *then = x->at[k];
    e->slip = fmax(e->slip, hypot(now[0] - then[0], now[1] - then[1]));
  }
}

static void measure(race* r, race_entry* e, scratch* x, int done) {
  double t = done * r->kind.dt;
  e->api->get(x->q, x->v, e->self);
  if (!finite_all(x->q, r->s.w.nq) || !finite_all(x->v, r->s.w.nv)) {
    refuse(e, "not a number at t = %.3f s", t, 0);
    return;
  }
  double energy = e->api->energy(e->self);
  if (r->kind.swings && !(energy < e->energy_start + 10 * r->kinetic)) {
    refuse(e, "blew up: energy %.1e J at t = %.3f s", energy, t);
    return;
  }
  e->lowest = fmin(e->lowest, energy);
  e->gain = fmax(e->gain, energy - e->lowest);
  e->energy_end = energy;
  e->reached = t;
  e->contacts = e->api->contacts(e->self);
  e->penetration = fmax(e->penetration, stage_penetration(&r->s, x->q, &e->touching, touch));
  if (e->contacts > 0 && !isfinite(e->first_contact)) e->first_contact = t;
  if (e->api->drift) e->drift = fmax(e->drift, e->api->drift(e->self));
  if (r->kind.swings && fabs(t - r->sample_time) < 0.5 * r->kind.dt) e->energy_after = energy;
  if (r->kind.stands) measure_slip(r, e, x, done);
}

static void run_chunk(race* r, race_entry* e, scratch* x, int from, int to, double budget) {
  bool measured = x != NULL;
  int stride = !measured ? to - from : r->s.w.loose ? 10 : 1;
  for (int k = from; k < to && !e->refused; k += stride) {
    int n = k + stride <= to ? stride : to - k;
    double start = kn_cpu_seconds();
    e->api->step(e->self, n);
    e->spent += kn_cpu_seconds() - start;
    if (measured) measure(r, e, x, k + n);
    if (e->spent > budget && k + n < r->steps)
      refuse(e, "stopped at t = %.2f s after %.0f s of computing", e->reached, e->spent);
  }
}

/* A peer may abort on its own assertion, or worse: that ends the peer, not the bench. Its memory is lost. */
static sigjmp_buf fallen;
static void catch_fall(int number) { siglongjmp(fallen, number); }

static void advance(race* r, race_entry* e, scratch* x, int from, int to, double budget) {
  struct sigaction caught = {.sa_handler = catch_fall}, aborted, crashed;
  sigaction(SIGABRT, &caught, &aborted), sigaction(SIGSEGV, &caught, &crashed);
  int number = sigsetjmp(fallen, 1);
  if (number == 0) {
    run_chunk(r, e, x, from, to, budget);
  } else {
    e->self = NULL;
    refuse(e, number == SIGABRT ? "aborted after t = %.3f s" : "crashed after t = %.3f s", e->reached, 0);
  }
  sigaction(SIGABRT, &aborted, NULL), sigaction(SIGSEGV, &crashed, NULL);
}

/* ---- all engines ---- */

static void check_start(race* r, race_entry* e) {
  double ours = stage_energy(&r->s, r->s.w.q, r->s.w.v);
  e->energy_start = e->lowest = e->api->energy(e->self);
  if (!(fabs(e->energy_start - ours) <= 1e-9 * (fabs(ours) + 1)))
    refuse(e, "another scene: energy %.9g J at the start, ours %.9g J", e->energy_start, ours);
}

static void judge(race* r, race_entry* e, const scratch* x) {
  e->gain /= r->kinetic;
  if (e->refused) return;
  double by_us = stage_energy(&r->s, x->q, x->v);
  e->mismatch = fabs(by_us - e->energy_end) / (fabs(by_us) + fabs(e->energy_start));
  if (!e->api->drift && e->mismatch > 1e-6)
    refuse(e, "its energy differs from that of its coordinates by %.1e", e->mismatch, 0);
  if (r->kind.swings && fabs(e->first_contact - r->impact) > 3.5 * r->kind.dt)
    refuse(e, "another motion: first contact at %.4f s, reference %.4f s", e->first_contact, r->impact);
  if (r->kind.contacts && e->contacts != r->kind.contacts)
    refuse(e, "%.0f contacts at the end, %.0f expected", e->contacts, r->kind.contacts);
  const race_entry* ours = race_ours(r);
  if (r->s.w.loose && ours && e != ours && !ours->refused &&
      (e->touching < 0.7 * ours->touching || e->touching > 1.5 * ours->touching))
    refuse(e, "%.0f touching pairs at the end, ours %.0f", e->touching, ours->touching);
  if (r->kind.swings && isfinite(e->energy_after)) {
    double a = fabs(e->energy_after - r->energy[0]), b = fabs(e->energy_after - r->energy[1]);
    double error = e->ours || !(b < a) ? a : b; /* peers: whichever law is nearer */
    e->energy_error = error / r->kinetic, e->energy_error_total = error / fabs(r->energy[0]);
  }
}

static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void keep_sample(race* r, race_entry* e) {
  double done = e->reached > 0 && e->refused ? e->reached / r->kind.dt : r->steps;
  if (e->samples < RACE_REPEATS) e->sample[e->samples++] = 1e6 * e->spent / done;
  double sorted[RACE_REPEATS];
  memcpy(sorted, e->sample, sizeof sorted);
  qsort(sorted, (size_t)e->samples, sizeof *sorted, ascending);
  e->us = sorted[e->samples / 2];
}

static bool create(race* r, race_entry* e) {
  e->spent = 0;
  e->self = e->api->create(&r->s.w, e->variant);
  if (!e->self) {
    refuse(e, "could not build the scene", 0, 0);
    if (e->ours) snprintf(e->why, sizeof e->why, "could not build the scene: %.110s", kn_last_error());
  }
  return e->self != NULL;
}

static void release(race_entry* e) {
  if (e->self) e->api->destroy(e->self);
  e->self = NULL;
}

/* Engines take turns, so that all meet the same noise. */
enum { CHUNKS = 20, TIMED_CHUNKS = 4 };

/* Turns of a timed pass: of the fastest engine each is a few milliseconds long, so that the caches the others
   left cold do not count; 5 s of a short pendulum are one turn. */
static int turns(const race* r) {
  static const double least = 2e3; /* us */
  double fastest = INFINITY;
  for (int i = 0; i < r->entries; i++)
    if (r->entry[i].self) fastest = fmin(fastest, r->entry[i].us * r->steps);
  return fastest < 2.0 * least ? 1 : fastest < TIMED_CHUNKS * least ? (int)(fastest / least) : TIMED_CHUNKS;
}

static void measured_pass(race* r, double budget) {
  scratch* x = calloc((size_t)r->entries, sizeof *x);
  for (int i = 0; i < r->entries; i++) {
    x[i].q = calloc((size_t)r->s.w.nq, 8), x[i].v = calloc((size_t)r->s.w.nv, 8);
    if (create(r, &r->entry[i])) check_start(r, &r->entry[i]);
  }
  for (int c = 0; c < CHUNKS; c++)
    for (int i = 0; i < r->entries; i++) {
      race_entry* e = &r->entry[i];
      if (e->refused) continue;
      advance(r, e, &x[i], c * r->steps / CHUNKS, (c + 1) * r->steps / CHUNKS, budget);
    }
  const race_entry* ours = race_ours(r);
  if (!r->kind.swings) r->kinetic = r->s.w.loose && ours ? ours->energy_start - ours->lowest : NAN;
  for (int i = 0; i < r->entries; i++) {
    race_entry* e = &r->entry[i];
    if (e->self && e->ours) e->residual = engine_ours_facts(e->self).residual;
    judge(r, e, &x[i]);
    if (e->spent > 0) keep_sample(r, e);
    release(e);
    free(x[i].q), free(x[i].v);
  }
  free(x);
}

/* Engines that took more than `slow` seconds keep the time of their measured pass. */
static void timed_pass(race* r, double slow) {
  for (int i = 0; i < r->entries; i++) {
    race_entry* e = &r->entry[i];
    if (!e->refused && e->us * r->steps < 1e6 * slow) create(r, e);
  }
  for (int c = 0, n = turns(r); c < n; c++)
    for (int i = 0; i < r->entries; i++)
      if (r->entry[i].self)
        advance(r, &r->entry[i], NULL, c * r->steps / n, (c + 1) * r->steps / n, INFINITY);
  for (int i = 0; i < r->entries; i++) {
    race_entry* e = &r->entry[i];
    if (e->self) keep_sample(r, e);
    release(e);
  }
}

static void enter(race* r, const engine* api, bool ours, const char* only) {
  for (int k = 0; api->variants[k] && r->entries < RACE_ENTRIES; k++) {
    if (api->refuses && api->refuses(&r->s.w, k)) continue;
    if (only && !ours && !strstr(api->variants[k], only)) continue;
    race_entry* e = &r->entry[r->entries++];
    *e = (race_entry){.api = api,
                      .variant = k,
                      .ours = ours,
                      .energy_after = NAN,
                      .energy_error = NAN,
                      .energy_error_total = NAN,
                      .residual = NAN,
                      .us = NAN,
                      .first_contact = INFINITY};
    snprintf(e->name, sizeof e->name, "%s", api->variants[k]);
    e->first = ours && strcmp(e->name, "knuckle") == 0;
  }
}

void race_run(race* r, const race_kind* kind, const engine* const* peers, int count, const char* only,
              int repeats, double budget) {
  *r = (race){.kind = *kind, .steps = (int)lround(kind->duration / kind->dt)};
  const char* settings[] = {r->kind.setting};
  stage_open(&r->s, kind->scene, settings, kind->setting[0] ? 1 : 0, kind->dt);
  find_reference(r);
  enter(r, &engine_ours, true, NULL);
  for (int i = 0; i < count; i++)
    if (peers[i]) enter(r, peers[i], false, only);
  double slow = budget / 10;
  measured_pass(r, budget);
  for (int i = 1; i <= repeats && i < RACE_REPEATS; i++) {
    if (i == 1) /* the measured pass leaves cold caches: it counts only where it is all there is */
      for (int k = 0; k < r->entries; k++)
        if (!r->entry[k].refused && r->entry[k].us * r->steps < 1e6 * slow) r->entry[k].samples = 0;
    timed_pass(r, slow);
  }
}

void race_close(race* r) { stage_close(&r->s); }

const race_entry* race_ours(const race* r) {
  for (int i = 0; i < r->entries; i++)
    if (r->entry[i].first) return &r->entry[i];
  return NULL;
}

const race_entry* race_best(const race* r) {
  const race_entry* best = NULL;
  for (int i = 0; i < r->entries; i++) {
    const race_entry* e = &r->entry[i];
    if (!e->ours && !e->refused && isfinite(e->us) && (!best || e->us < best->us)) best = e;
  }
  return best;
}
