/* Trajectories simulated from their first frame, on several threads, and their errors frame by frame.

   Position errors are distances, rotation errors the angle of the turn that takes one orientation to the other,
   2 atan2(|w q⃗' - w' q⃗ - q⃗ × q⃗'|, |q · q'|), in radians. */
#include "fit/track.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "math/elementary.h"

enum { THREADS = 256 };

/* ---- memory ---- */

kn_track* kn_tracks_add(kn_tracks* all, int frames) {
  if (all->count == all->room) {
    int room = 2 * all->room + 16;
    kn_track* at = realloc(all->at, (size_t)room * sizeof *at);
    if (!at) return NULL;
    all->at = at;
    all->room = room;
  }
  kn_track* t = &all->at[all->count];
  size_t numbers = (size_t)frames * (size_t)all->nq;
  *t = (kn_track){.frames = frames,
                  .t = calloc((size_t)frames + 1, sizeof(double)),
                  .q = malloc((numbers + 1) * sizeof(double)),
                  .v = calloc((size_t)all->nv + 1, sizeof(double))};
  all->count++;
  if (!t->t || !t->q || !t->v) return NULL;
  for (size_t i = 0; i < numbers; i++) t->q[i] = NAN;
  return t;
}

void kn_tracks_free(kn_tracks* all) {
  for (int i = 0; i < all->count; i++) {
    free(all->at[i].t);
    free(all->at[i].q);
    free(all->at[i].v);
  }
  free(all->at);
  *all = (kn_tracks){0};
}

/* ---- errors ---- */

static double distance(const double* a, const double* b, int n) {
  double sum = 0.0;
  for (int i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sqrt(sum);
}

static double turn_between(const double* a, const double* b) {
  double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
  double x = a[0] * b[1] - b[0] * a[1] - (a[2] * b[3] - a[3] * b[2]);
  double y = a[0] * b[2] - b[0] * a[2] - (a[3] * b[1] - a[1] * b[3]);
  double z = a[0] * b[3] - b[0] * a[3] - (a[1] * b[2] - a[2] * b[1]);
  return 2.0 * kn_atan2(sqrt(x * x + y * y + z * z), fabs(dot));
}

typedef struct sums {
  double position, rotation;
  int positions, rotations;
} sums;

/* Coordinates of a joint: distances first, then angles or a quaternion. */
typedef struct layout {
  int distances, angles;
  bool quaternion;
} layout;

static layout layout_of(kn_joint_type type) {
  switch (type) {
  case KN_JOINT_HINGE:
  case KN_JOINT_SCREW: return (layout){0, 1, false};
  case KN_JOINT_SLIDE: return (layout){1, 0, false};
  case KN_JOINT_BALL: return (layout){0, 0, true};
  case KN_JOINT_FREE: return (layout){3, 0, true};
  case KN_JOINT_PLANAR: return (layout){2, 1, false};
  case KN_JOINT_UNIVERSAL: return (layout){0, 2, false};
  case KN_JOINT_CYLINDRICAL: return (layout){1, 1, false};
  default: return (layout){0, 0, false};
  }
}

/* One joint of one frame; numbers that are missing are not compared. */
static void add_joint(sums* s, layout l, const double* recorded, const double* is) {
  const double *angle = recorded + l.distances, *is_angle = is + l.distances;
  if (l.distances && !isnan(recorded[0])) {
    s->position += distance(is, recorded, l.distances);
    s->positions++;
  }
  if (l.quaternion && !isnan(angle[0])) {
    s->rotation += turn_between(is_angle, angle);
    s->rotations++;
  }
  for (int k = 0; k < l.angles; k++)
    if (!isnan(angle[k])) s->rotation += fabs(is_angle[k] - angle[k]), s->rotations++;
}

void kn_track_compare(kn_track_score* out, const kn_model* model, const kn_track* track, const double* q,
                      const kn_fit_scales* scales) {
  int joints = kn_model_joints(model), nq = kn_model_nq(model);
  *out = (kn_track_score){0};
  for (int f = 0; f < track->frames; f++) {
    sums s = {0};
    for (int j = 0; j < joints; j++) {
      kn_joint_def def;
      int at, n, v, nv;
      if (kn_model_joint(&def, model, j) != KN_OK ||
          kn_model_joint_address(&at, &n, &v, &nv, model, j) != KN_OK)
        continue;
      add_joint(&s, layout_of(def.type), track->q + f * nq + at, q + f * nq + at);
    }
    double p = s.positions ? s.position / s.positions : 0.0, r = s.rotations ? s.rotation / s.rotations : 0.0;
    out->position += p / track->frames;
    out->rotation += r / track->frames;
    p /= scales->length;
    r /= scales->angle;
    out->cost += (scales->squares ? p * p + r * r : p + r) / track->frames;
  }
}

/* ---- simulation ---- */

typedef struct runner { /* of one thread */
  kn_sim* sim;
  kn_state* state;
  double* q;
  int room;
} runner;

static kn_status runner_start(runner* r, const kn_fit_world* w) {
  *r = (runner){0};
  KN_TRY(kn_sim_create(&r->sim, w->model, &w->settings));
  return w->controller.fn ? kn_sim_set_controller(r->sim, &w->controller) : KN_OK;
}

static void runner_end(runner* r) {
  kn_sim_destroy(r->sim);
  kn_state_destroy(r->state);
  free(r->q);
}

static kn_status place(runner* r, const kn_fit_world* w, const kn_track* t) {
  kn_state_destroy(r->state);
  r->state = NULL;
  KN_TRY(kn_state_create(&r->state, w->model));
  KN_TRY(kn_sim_prepare(r->sim, r->state));
  double* q = kn_state_q(r->state);
  for (int i = 0; i < kn_model_nq(w->model); i++)
    if (!isnan(t->q[i])) q[i] = t->q[i];
  memcpy(kn_state_v(r->state), t->v, (size_t)kn_model_nv(w->model) * sizeof(double));
  return KN_OK;
}

static kn_status follow(double* q, runner* r, const kn_fit_world* w, const kn_track* t) {
  size_t nq = (size_t)kn_model_nq(w->model);
  KN_TRY(place(r, w, t));
  memcpy(q, kn_state_q(r->state), nq * sizeof *q);
  for (int f = 1; f < t->frames; f++) {
    double span = t->t[f] - t->t[f - 1];
    long steps = lround(ceil(span / w->settings.dt * (1.0 - 1e-9)));
    for (long k = 0; k < steps; k++) KN_TRY(kn_step_for(r->sim, r->state, span / (double)steps));
    memcpy(q + (size_t)f * nq, kn_state_q(r->state), nq * sizeof *q);
  }
  return KN_OK;
}

kn_status kn_track_follow(double* q, const kn_fit_world* w, const kn_track* t) {
  runner r;
  kn_status status = runner_start(&r, w);
  if (status == KN_OK) status = follow(q, &r, w, t);
  runner_end(&r);
  return status;
}

typedef struct crew {
  kn_track_score* score;
  const kn_fit_world* world;
  const kn_tracks* tracks;
  const kn_fit_scales* scales;
  atomic_int next, failed; /* failed: the status of the first failure */
  char why[256];
} crew;

static kn_status score_one(crew* c, runner* r, int i) {
  const kn_track* t = &c->tracks->at[i];
  if (t->frames > r->room) {
    double* q = realloc(r->q, (size_t)t->frames * (size_t)c->tracks->nq * sizeof *q);
    if (!q) return kn_fail(KN_OUT_OF_MEMORY, "no memory for a track of %d frames", t->frames);
    r->q = q;
    r->room = t->frames;
  }
  KN_TRY(follow(r->q, r, c->world, t));
  kn_track_compare(&c->score[i], c->world->model, t, r->q, c->scales);
  return KN_OK;
}

static void* work(void* context) {
  crew* c = context;
  runner r;
  kn_status status = runner_start(&r, c->world);
  for (int i; status == KN_OK && (i = atomic_fetch_add(&c->next, 1)) < c->tracks->count;)
    status = score_one(c, &r, i);
  int none = KN_OK;
  if (status != KN_OK && atomic_compare_exchange_strong(&c->failed, &none, status))
    snprintf(c->why, sizeof c->why, "%s", kn_last_error());
  runner_end(&r);
  return NULL;
}

kn_status kn_tracks_score(kn_track_score* score, const kn_fit_world* w, const kn_tracks* tracks,
                          const kn_fit_scales* scales, int threads) {
  pthread_t thread[THREADS];
  crew c = {.score = score, .world = w, .tracks = tracks, .scales = scales};
  int started = 0, wanted = threads < 1 ? 1 : threads > THREADS ? THREADS : threads;
  while (started < wanted - 1 && pthread_create(&thread[started], NULL, work, &c) == 0) started++;
  work(&c);
  for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
  kn_status failed = (kn_status)atomic_load(&c.failed);
  return failed == KN_OK ? KN_OK : kn_fail(failed, "%s", c.why);
}
