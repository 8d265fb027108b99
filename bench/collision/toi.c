/* Time of impact rows: pairs of random hulls about 1 m apart that close at 10 m/s and turn at up to 3 rad/s
   (when a shape turns by more than 45° in the interval Bullet is wrong). Bullet stops at a gap of 1 mm, so
   ours is timed at that tolerance, and as an extra at 1e-6 m.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "collision.h"
#include "knuckle/cast.h"
#include "knuckle/mesh.h"
#include "peer_toi.h"

enum { PAIRS = 100 };
static const double T = 0.25; /* s */

typedef struct pair {
  kn_hull *a, *b;
  kn_sweep ma, mb;
  kn_pose a0, a1, b0, b1;
  void* world[2];
} pair;

typedef struct job {
  pair* p;
  double tolerance;
  const toi_peer* peer;
  int which;
  double t[PAIRS];
  long steps;
} job;

static void random_unit(double v[3], kn_rng* rng) {
  double n = 0;
  for (int k = 0; k < 3; k++) v[k] = kn_rng_normal(rng), n += v[k] * v[k];
  for (int k = 0; k < 3; k++) v[k] /= sqrt(n);
}

static void random_points(double* x, int nv, kn_rng* rng) {
  for (int i = 0; i < nv; i++) {
    random_unit(x + 3 * i, rng);
    for (int k = 0; k < 3; k++) x[3 * i + k] *= k == 0 ? 0.5 : k == 1 ? 0.4 : 0.3;
  }
}

static kn_sweep random_sweep(kn_rng* rng, double x, double speed) {
  kn_sweep s = {.start = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}}};
  s.start.p[0] = s.centre[0] = x;
  random_unit(s.w, rng);
  double rate = kn_rng_range(rng, 0, 3);
  for (int k = 0; k < 3; k++) s.w[k] *= rate, s.v[k] = 0.5 * kn_rng_normal(rng);
  s.v[0] = speed;
  kn_sweep turn = s; /* random attitude: the motion itself, for long */
  kn_pose P;
  turn.v[0] = turn.v[1] = turn.v[2] = 0;
  kn_sweep_pose(&P, &turn, 30);
  s.start = P;
  return s;
}

static void make_pairs(pair* p, int nv, const toi_peer** peers, int npeer) {
  kn_rng rng = kn_rng_seed((uint64_t)nv);
  double* x[2] = {malloc(3 * sizeof(double) * (size_t)nv), malloc(3 * sizeof(double) * (size_t)nv)};
  for (int i = 0; i < PAIRS; i++) {
    for (int s = 0; s < 2; s++) random_points(x[s], nv, &rng);
    if (kn_hull_create(&p[i].a, x[0], nv, NULL) != KN_OK || kn_hull_create(&p[i].b, x[1], nv, NULL) != KN_OK)
      abort();
    p[i].ma = random_sweep(&rng, 0, 5);
    p[i].mb = random_sweep(&rng, 1.8, -5);
    kn_sweep_pose(&p[i].a0, &p[i].ma, 0);
    kn_sweep_pose(&p[i].a1, &p[i].ma, T);
    kn_sweep_pose(&p[i].b0, &p[i].mb, 0);
    kn_sweep_pose(&p[i].b1, &p[i].mb, T);
    kn_mesh_data a, b;
    if (kn_hull_triangles(&a, p[i].a) != KN_OK || kn_hull_triangles(&b, p[i].b) != KN_OK) abort();
    for (int k = 0; k < npeer; k++) p[i].world[k] = peers[k]->create(&a, &b);
    kn_mesh_data_free(&a);
    kn_mesh_data_free(&b);
  }
  free(x[0]);
  free(x[1]);
}

static void run_ours(void* context) {
  job* j = context;
  kn_toi_settings s = {.tolerance = j->tolerance, .max_steps = 1000};
  j->steps = 0;
  for (int i = 0; i < PAIRS; i++) {
    kn_shape a = {.type = KN_SHAPE_HULL, .hull = j->p[i].a}, b = {.type = KN_SHAPE_HULL, .hull = j->p[i].b};
    kn_toi_result r;
    if (kn_time_of_impact(&r, &a, &j->p[i].ma, &b, &j->p[i].mb, T, &s, NULL) != KN_OK) abort();
    j->t[i] = r.state == KN_TOI_TOUCH ? r.t : T;
    j->steps += r.steps;
  }
}

static void run_peer(void* context) {
  job* j = context;
  for (int i = 0; i < PAIRS; i++) {
    const pair* p = &j->p[i];
    j->t[i] = T * j->peer->query(p->world[j->which], p->a0.R, p->a1.R, p->b0.R, p->b1.R);
  }
}

/* Answers farther than 3 mm of motion from ours (which is proven never to be late) count as wrong. */
static int wrong_answers(const job* ours, const job* peer) {
  int wrong = 0;
  for (int i = 0; i < PAIRS; i++) wrong += fabs(ours->t[i] - peer->t[i]) * 10 > 3e-3;
  return wrong;
}

static void bench_size(kn_bench* b, int nv, const toi_peer** peers, int npeer) {
  if (!kn_bench_row(b, "toi hull %d", nv)) return;
  static pair p[PAIRS];
  static job ours, coarse, other[2];
  make_pairs(p, nv, peers, npeer);
  ours = (job){.p = p, .tolerance = 1e-6};
  coarse = (job){.p = p, .tolerance = 1e-3};
  kn_bench_x(b, nv);
  kn_bench_ours(b, "knuckle", run_ours, &coarse);
  kn_bench_extra(b, "knuckle to 1e-6 m", run_ours, &ours);
  run_ours(&ours);
  for (int k = 0; k < npeer; k++) {
    char key[64];
    other[k] = (job){.p = p, .peer = peers[k], .which = k};
    run_peer(&other[k]);
    int wrong = wrong_answers(&ours, &other[k]);
    snprintf(key, sizeof key, "wrong %s of %d", peers[k]->name, PAIRS);
    kn_bench_number(b, key, wrong);
    if (wrong * 20 > PAIRS)
      kn_bench_extra(b, peers[k]->name, run_peer,
                     &other[k]); /* not a peer to be measured by: too often wrong */
    else
      kn_bench_peer(b, peers[k]->name, run_peer, &other[k]);
  }
  kn_bench_per(b, PAIRS);
  kn_bench_measure(b);
  kn_bench_number(b, "steps", (double)ours.steps / PAIRS);
  for (int i = 0; i < PAIRS; i++) {
    kn_hull_destroy(p[i].a);
    kn_hull_destroy(p[i].b);
    for (int k = 0; k < npeer; k++) peers[k]->destroy(p[i].world[k]);
  }
}

void bench_toi(kn_bench* b) {
  kn_bench_unit(b, "us", 1e6);
  static const char* names[] = {"bullet_toi", "fcl_toi"};
  const toi_peer* peers[2];
  int npeer = 0;
  for (int i = 0; i < 2; i++)
    if ((peers[npeer] = kn_bench_load_peer(b, names[i]))) npeer++;
  kn_bench_group(b, "time of impact, hulls", "vertices", KN_BENCH_LOG);
  static const int sizes[] = {8, 20, 50, 100, 200};
  for (int i = 0; i < 5; i++) bench_size(b, sizes[i], peers, npeer);
}
