/* Narrow phase against the peers: primitives, boxes, hulls, ellipsoids, cylinders. A peer that is wrong on
   more than 1 % of a pair set (by more than 1e-6 of the size) is shown but not raced; the share is printed.
   Ours is judged by the tests (test/collide), its answers are the reference here. "warm" is the second frame
   after a small motion (5 mm, 0.01 rad) with the pair cache; "cold" has no cache. Primitives and boxes are
   called as MuJoCo's are, one by one through a table; "public call" is the same with argument checks. "at rest" touches to
   1e-10 m and moves by as much from frame to frame (warm), as a body that lies does. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/timer.h"
#include "collide/pair/pair.h"
#include "collision.h"
#include "knuckle/collide.h"
#include "knuckle/mesh.h"
#include "peer_narrow.h"

enum { PAIRS = 256, HULLS = 16 };

typedef struct set {
  narrow_pair pair[PAIRS];
  kn_shape a[PAIRS], b[PAIRS];
  kn_pose moved[PAIRS]; /* B in the other frame */
  kn_pair_cache cache[PAIRS];
  double gap[PAIRS], size[PAIRS];
  narrow_mode mode;
  double margin;
  bool warm;
  int frame;
} set;

typedef struct hull {
  kn_hull* hull;
  kn_mesh_data mesh;
} hull;

static void direction(double n[3], kn_rng* r) {
  double l = 0;
  while (!(l > 1e-3)) {
    for (int i = 0; i < 3; i++) n[i] = kn_rng_normal(r);
    l = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  }
  for (int i = 0; i < 3; i++) n[i] /= l;
}

static void from_axis(double R[9], const double n[3], double angle) {
  double c = cos(angle), s = sin(angle), v = 1 - c;
  double M[9] = {c + n[0] * n[0] * v,        n[0] * n[1] * v - n[2] * s, n[0] * n[2] * v + n[1] * s,
                 n[0] * n[1] * v + n[2] * s, c + n[1] * n[1] * v,        n[1] * n[2] * v - n[0] * s,
                 n[0] * n[2] * v - n[1] * s, n[1] * n[2] * v + n[0] * s, c + n[2] * n[2] * v};
  memcpy(R, M, sizeof M);
}

static void rotation(double R[9], kn_rng* r) {
  double n[3];
  direction(n, r);
  from_axis(R, n, kn_rng_range(r, 0, 3.14));
}

static void turn(double R[9], kn_rng* r, double angle) {
  double n[3], Q[9], M[9];
  direction(n, r);
  from_axis(Q, n, angle);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      M[3 * i + j] = Q[3 * i] * R[j] + Q[3 * i + 1] * R[3 + j] + Q[3 * i + 2] * R[6 + j];
  memcpy(R, M, sizeof M);
}

static hull make_hull(kn_rng* r, int nv) {
  hull h = {0};
  double* p = malloc(sizeof(double) * 3 * (size_t)nv);
  for (int i = 0; i < nv; i++) {
    direction(p + 3 * i, r);
    for (int k = 0; k < 3; k++) p[3 * i + k] = (float)(0.5 * p[3 * i + k]); /* exact in single precision */
  }
  if (kn_hull_create(&h.hull, p, nv, NULL) == KN_OK) kn_hull_triangles(&h.mesh, h.hull);
  free(p);
  return h;
}

static narrow_shape peer_shape(const kn_shape* s, const hull* h) {
  narrow_shape n = {.type = s->type, .size = {s->size[0], s->size[1], s->size[2]}};
  if (h)
    n.nv = h->mesh.nvertex, n.nt = h->mesh.ntriangle, n.v = h->mesh.vertices, n.triangle = h->mesh.triangles;
  return n;
}

static double radius(const kn_shape* s) {
  switch (s->type) {
  case KN_SHAPE_SPHERE: return s->size[0];
  case KN_SHAPE_CAPSULE: return s->size[0] + s->size[1];
  case KN_SHAPE_CYLINDER: return hypot(s->size[0], s->size[1]);
  case KN_SHAPE_ELLIPSOID: return fmax(s->size[0], fmax(s->size[1], s->size[2]));
  case KN_SHAPE_BOX: return sqrt(s->size[0] * s->size[0] + s->size[1] * s->size[1] + s->size[2] * s->size[2]);
  case KN_SHAPE_HULL: return 0.5;
  default: return 0;
  }
}

typedef enum situation { NEAR, APART, SHALLOW, DEEP, FACE, YAWED, REST } situation;

static void place(set* s, int i, situation where, kn_rng* r) {
  kn_pose *A = &s->pair[i].A, *B = &s->pair[i].B;
  double d[3], reach = s->size[i];
  rotation(A->R, r), rotation(B->R, r);
  for (int k = 0; k < 3; k++) A->p[k] = kn_rng_range(r, -1, 1);
  direction(d, r);
  if (s->a[i].type == KN_SHAPE_PLANE)
    for (int k = 0; k < 3; k++) d[k] = A->R[3 * k + 2];
  double far = where == DEEP ? kn_rng_range(r, 0, 0.3) : where == NEAR ? kn_rng_range(r, 0.4, 1.1) : 2;
  for (int k = 0; k < 3; k++) B->p[k] = A->p[k] + far * reach * d[k];
  if (where == FACE || where == YAWED) { /* resting on A's upper face, 1e-3 deep */
    memcpy(B->R, A->R, sizeof A->R);
    double z[3] = {A->R[2], A->R[5], A->R[8]}, x[3] = {A->R[0], A->R[3], A->R[6]};
    if (where == YAWED) {
      double Q[9], M[9];
      from_axis(Q, z, kn_rng_range(r, 0.1, 1.4));
      for (int p = 0; p < 3; p++)
        for (int q = 0; q < 3; q++)
          M[3 * p + q] = Q[3 * p] * B->R[q] + Q[3 * p + 1] * B->R[3 + q] + Q[3 * p + 2] * B->R[6 + q];
      memcpy(B->R, M, sizeof M);
    }
    double up = s->a[i].size[2] + s->b[i].size[2] - 1e-3, side = kn_rng_range(r, -0.5, 0.5) * s->a[i].size[0];
    for (int k = 0; k < 3; k++) B->p[k] = A->p[k] + up * z[k] + side * x[k];
    return;
  }
  if (where == DEEP || where == NEAR) return;
  double rest = kn_rng_range(r, -1e-10, 1e-10), want = where == APART ? kn_rng_range(r, 0.05, 0.5) : -1e-3;
  for (int k = 0; k < (where == REST ? 2 : 1);
       k++) { /* into a face first: bodies do not rest on their tips */
    kn_distance_result g;
    if (kn_distance(&g, &s->a[i], A, &s->b[i], B, NULL) != KN_OK) return;
    for (int j = 0; j < 3; j++) B->p[j] += (g.gap - (k ? rest : want)) * g.normal[j];
  }
}

static kn_shape random_shape(kn_shape_type type, kn_rng* r, const hull* h) {
  kn_shape s = {.type = type};
  for (int k = 0; k < 3; k++) s.size[k] = kn_rng_range(r, 0.2, 0.6);
  if (h) s.hull = h->hull;
  return s;
}

static void fill(set* s, kn_shape_type a, kn_shape_type b, const hull* hulls, situation where,
                 narrow_mode mode, double margin) {
  kn_rng r = kn_rng_seed(1 + (uint64_t)a * 97 + (uint64_t)b * 13 + (uint64_t)where);
  memset(s, 0, sizeof *s);
  s->mode = mode, s->margin = margin;
  for (int i = 0; i < PAIRS; i++) {
    const hull *ha = a == KN_SHAPE_HULL ? &hulls[i % HULLS] : NULL,
               *hb = b == KN_SHAPE_HULL ? &hulls[(i * 7 + 3) % HULLS] : NULL;
    s->a[i] = random_shape(a, &r, ha), s->b[i] = random_shape(b, &r, hb);
    s->size[i] = radius(&s->a[i]) + radius(&s->b[i]);
    place(s, i, where, &r);
    s->pair[i].a = peer_shape(&s->a[i], ha), s->pair[i].b = peer_shape(&s->b[i], hb);
    s->moved[i] = s->pair[i].B;
    double d[3];
    direction(d, &r);
    turn(s->moved[i].R, &r, where == REST ? 1e-10 : 0.01);
    for (int k = 0; k < 3; k++) s->moved[i].p[k] += (where == REST ? 1e-10 : 0.005) * d[k];
    kn_distance_result g;
    kn_distance(&g, &s->a[i], &s->pair[i].A, &s->b[i], &s->pair[i].B, NULL);
    s->gap[i] = g.gap;
  }
}

/* The pair function itself, without argument checks, as the peers' are called. */
static void run_table(void* context) {
  set* s = context;
  kn_manifold_of* fn = kn_pair_queries[s->a[0].type][s->b[0].type].manifold;
  for (int i = 0; i < PAIRS; i++) {
    kn_pair q = {&s->a[i], &s->b[i], &s->pair[i].A, &s->pair[i].B, s->margin, &s->cache[i]};
    kn_contact_point c[KN_MANIFOLD_MAX];
    int n = fn(c, &q);
    kn_bench_keep(c);
    kn_bench_keep(&n);
  }
}

static void run_ours(void* context) {
  set* s = context;
  s->frame ^= 1;
  for (int i = 0; i < PAIRS; i++) {
    const kn_pose* B = s->warm && s->frame ? &s->moved[i] : &s->pair[i].B;
    kn_pair_cache* cache = s->warm ? &s->cache[i] : NULL;
    if (s->mode == NARROW_DISTANCE) {
      kn_distance_result g;
      kn_distance(&g, &s->a[i], &s->pair[i].A, &s->b[i], B, cache);
      kn_bench_keep(&g);
    } else {
      kn_contact_point c[KN_MANIFOLD_MAX];
      int n;
      kn_manifold_query(c, &n, KN_MANIFOLD_MAX, &s->a[i], &s->pair[i].A, &s->b[i], B, s->margin, cache);
      kn_bench_keep(c);
    }
  }
}

typedef struct runner {
  const narrow_peer* peer;
  void* self;
} runner;

static void run_peer(void* context) {
  runner* r = context;
  for (int i = 0; i < PAIRS; i++) {
    double g = r->peer->query(r->self, i);
    kn_bench_keep(&g);
  }
}

/* Share of pairs on which a peer is off by more than 1e-6 of the size (or misses a contact). */
static double wrong_share(const runner* r, const set* s) {
  int wrong = 0;
  for (int i = 0; i < PAIRS; i++) {
    double g = r->peer->query(r->self, i);
    bool contact = s->gap[i] <= s->margin;
    if (s->mode == NARROW_CONTACT && !contact)
      wrong += g < s->margin - 1e-6 * s->size[i];
    else
      wrong += !(fabs(g - s->gap[i]) <= 1e-6 * s->size[i]);
  }
  return (double)wrong / PAIRS;
}

enum { PEERS = 5 };
static const char* const modules[PEERS] = {"mujoco_narrow", "bullet_narrow", "fcl_narrow", "ccd_narrow",
                                           "ccd_mpr"};

static void race(kn_bench* b, set* s, double limit) {
  runner r[PEERS];
  char wrong[PEERS][48];
  bool direct = limit < 0.75 && s->mode == NARROW_CONTACT && s->a[0].type != KN_SHAPE_HULL;
  kn_bench_ours(b, "knuckle", direct ? run_table : run_ours, s);
  if (direct) kn_bench_extra(b, "public call", run_ours, s);
  for (int p = 0; p < PEERS; p++) {
    r[p].peer = kn_bench_load_peer(b, modules[p]);
    r[p].self = NULL;
    if (!r[p].peer || !r[p].peer->supports(s->a[0].type, s->b[0].type, s->mode)) continue;
    r[p].self = r[p].peer->create(s->pair, PAIRS, s->mode, s->margin);
    if (!r[p].self) continue;
    double share = wrong_share(&r[p], s);
    snprintf(wrong[p], sizeof wrong[p], "%.1f %%", 100 * share);
    if (share <= 0.01)
      kn_bench_peer(b, r[p].peer->name, run_peer, &r[p]);
    else
      kn_bench_extra(b, r[p].peer->name, run_peer, &r[p]);
  }
  kn_bench_per(b, PAIRS);
  kn_bench_measure(b);
  kn_bench_number(b, "limit", limit);
  for (int p = 0; p < PEERS; p++)
    if (r[p].self) {
      char key[48];
      snprintf(key, sizeof key, "wrong %s", r[p].peer->name);
      kn_bench_text(b, key, wrong[p]);
      r[p].peer->destroy(r[p].self);
    }
}

static set work;

static void rows_primitive(kn_bench* b) {
  static const struct {
    kn_shape_type a, b;
    const char* name;
  } list[] = {{KN_SHAPE_PLANE, KN_SHAPE_SPHERE, "plane-sphere"},
              {KN_SHAPE_PLANE, KN_SHAPE_CAPSULE, "plane-capsule"},
              {KN_SHAPE_PLANE, KN_SHAPE_CYLINDER, "plane-cylinder"},
              {KN_SHAPE_PLANE, KN_SHAPE_BOX, "plane-box"},
              {KN_SHAPE_SPHERE, KN_SHAPE_SPHERE, "sphere-sphere"},
              {KN_SHAPE_SPHERE, KN_SHAPE_CAPSULE, "sphere-capsule"},
              {KN_SHAPE_SPHERE, KN_SHAPE_CYLINDER, "sphere-cylinder"},
              {KN_SHAPE_SPHERE, KN_SHAPE_BOX, "sphere-box"},
              {KN_SHAPE_CAPSULE, KN_SHAPE_CAPSULE, "capsule-capsule"},
              {KN_SHAPE_CAPSULE, KN_SHAPE_BOX, "capsule-box"}};
  kn_bench_group(b, "primitives", NULL, KN_BENCH_LINEAR);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (!kn_bench_row(b, "%s", list[i].name)) continue;
    fill(&work, list[i].a, list[i].b, NULL, NEAR, NARROW_CONTACT, 0);
    race(b, &work, 0.35);
  }
}

static void rows_box(kn_bench* b) {
  static const struct {
    situation where;
    const char* name;
  } list[] = {{NEAR, "box-box near"},
              {FACE, "box-box face"},
              {YAWED, "box-box yawed"},
              {SHALLOW, "box-box shallow"},
              {DEEP, "box-box deep"}};
  kn_bench_group(b, "box pairs", NULL, KN_BENCH_LINEAR);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (!kn_bench_row(b, "%s", list[i].name)) continue;
    fill(&work, KN_SHAPE_BOX, KN_SHAPE_BOX, NULL, list[i].where, NARROW_CONTACT, 0);
    race(b, &work, 0.7);
  }
}

static void make_hulls(hull h[HULLS], int nv) {
  kn_rng r = kn_rng_seed(5);
  for (int i = 0; i < HULLS; i++) h[i] = make_hull(&r, nv);
}

static void free_hulls(hull h[HULLS]) {
  for (int i = 0; i < HULLS; i++) {
    kn_hull_destroy(h[i].hull);
    kn_mesh_data_free(&h[i].mesh);
  }
}

static const char* const situations[] = {"near", "apart", "shallow", "deep", "", "", "at rest"};

static void fill_hulls(const hull* h, situation where, bool warm) {
  fill(&work, KN_SHAPE_HULL, KN_SHAPE_HULL, h, where, where == APART ? NARROW_DISTANCE : NARROW_CONTACT,
       where == REST ? 1e-6 : 0);
  work.warm = warm;
}

static void hull_row(kn_bench* b, const hull* h, int nv, situation where, bool warm, double limit) {
  if (!kn_bench_row(b, "hull-%d %s %s", nv, situations[where], warm ? "warm" : "cold")) return;
  fill_hulls(h, where, warm);
  race(b, &work, limit);
}

static void rows_hull(kn_bench* b) {
  static const int sizes[] = {8, 20, 50, 100, 1000};
  kn_bench_group(b, "hull pairs", NULL, KN_BENCH_LINEAR);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    if (kn_bench_quick(b) && sizes[k] != 20) continue;
    hull h[HULLS];
    make_hulls(h, sizes[k]);
    hull_row(b, h, sizes[k], APART, false, 0.5);
    hull_row(b, h, sizes[k], APART, true, 0.15);
    hull_row(b, h, sizes[k], SHALLOW, false, 1.2);
    hull_row(b, h, sizes[k], SHALLOW, true, 0.5);
    hull_row(b, h, sizes[k], DEEP, false, 1.2);
    hull_row(b, h, sizes[k], DEEP, true, 0.5);
    hull_row(b, h, sizes[k], REST, true, 0.5);
    free_hulls(h);
  }
}

static void rows_curved(kn_bench* b) {
  static const struct {
    kn_shape_type a, b;
    const char* name;
    double limit;
  } list[] = {{KN_SHAPE_ELLIPSOID, KN_SHAPE_ELLIPSOID, "ellipsoid-ellipsoid", 0.5},
              {KN_SHAPE_CYLINDER, KN_SHAPE_CYLINDER, "cylinder-cylinder", 1},
              {KN_SHAPE_CYLINDER, KN_SHAPE_BOX, "cylinder-box", 1}};
  kn_bench_group(b, "curved pairs, distance", NULL, KN_BENCH_LINEAR);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    for (int warm = 0; warm < 2; warm++) {
      if (!kn_bench_row(b, "%s %s", list[i].name, warm ? "warm" : "cold")) continue;
      fill(&work, list[i].a, list[i].b, NULL, APART, NARROW_DISTANCE, 0);
      work.warm = warm;
      race(b, &work, list[i].limit);
    }
}

static const struct {
  kn_shape_type a, b;
  const char* name;
} curved_rest[] = {{KN_SHAPE_ELLIPSOID, KN_SHAPE_ELLIPSOID, "ellipsoid-ellipsoid"},
                   {KN_SHAPE_CYLINDER, KN_SHAPE_CYLINDER, "cylinder-cylinder"},
                   {KN_SHAPE_CYLINDER, KN_SHAPE_BOX, "cylinder-box"},
                   {KN_SHAPE_CYLINDER, KN_SHAPE_HULL, "cylinder-hull"},
                   {KN_SHAPE_ELLIPSOID, KN_SHAPE_HULL, "ellipsoid-hull"},
                   {KN_SHAPE_CAPSULE, KN_SHAPE_HULL, "capsule-hull"}};
enum { CURVED_REST = sizeof curved_rest / sizeof *curved_rest, CURVED_HULL = 100 /* vertices */ };

static void fill_curved(int i, const hull* h) {
  fill(&work, curved_rest[i].a, curved_rest[i].b, h, REST, NARROW_CONTACT, 1e-6);
  work.warm = true;
}

static void rows_rest(kn_bench* b) {
  hull h[HULLS];
  kn_bench_group(b, "curved pairs at rest", NULL, KN_BENCH_LINEAR);
  make_hulls(h, CURVED_HULL);
  for (int i = 0; i < CURVED_REST; i++) {
    if (!kn_bench_row(b, "%s at rest warm", curved_rest[i].name)) continue;
    fill_curved(i, h);
    race(b, &work, 1);
  }
  free_hulls(h);
}

__attribute__((noinline)) void kn_counted_pairs(void);
void kn_counted_pairs(void) {
  for (int frame = 0; frame < 4; frame++) run_ours(&work);
}

/* CPU time per pair, the median of 15 samples of about 2 ms. */
static double nanoseconds(void) {
  enum { SAMPLES = 15 };
  double sample[SAMPLES];
  for (int k = 0; k < SAMPLES; k++) {
    int runs = 0;
    double begin = kn_cpu_seconds(), now = begin;
    for (; now - begin < 2e-3; now = kn_cpu_seconds(), runs += 2) run_ours(&work), run_ours(&work);
    int at = k;
    double t = (now - begin) / (runs * PAIRS) * 1e9;
    for (; at > 0 && sample[at - 1] > t; at--) sample[at] = sample[at - 1];
    sample[at] = t;
  }
  return sample[SAMPLES / 2];
}

int bench_narrow_count(const char* row, bool timed) {
  hull h[HULLS];
  char name[64];
  int nv = CURVED_HULL, curved = 0, hulls = sscanf(row, "hull-%d", &nv);
  make_hulls(h, nv);
  for (; !hulls && curved < CURVED_REST; curved++) {
    snprintf(name, sizeof name, "%s at rest warm", curved_rest[curved].name);
    if (strcmp(row, name) == 0) break;
  }
  if (!hulls && curved < CURVED_REST) fill_curved(curved, h);
  bool found = !hulls && curved < CURVED_REST;
  for (int k = 0; hulls && k < 2 * (REST + 1); k++) {
    snprintf(name, sizeof name, "hull-%d %s %s", nv, situations[k / 2], k % 2 ? "warm" : "cold");
    if (strcmp(row, name) != 0) continue;
    fill_hulls(h, (situation)(k / 2), k % 2);
    found = true;
  }
  if (found) {
    run_ours(&work), run_ours(&work);
    if (timed)
      printf("%.1f\n", nanoseconds());
    else
      kn_counted_pairs();
  }
  free_hulls(h);
  return found ? 0 : 1;
}

/* Where MuJoCo's depths are right: within 1e-6 of the size of ours, which the tests judge. Per kind of pair,
   1 mm deep and deep. */
static void rows_agreement(kn_bench* b) {
  static const char* const names[] = {"plane", "sphere", "capsule", "cylinder", "ellipsoid", "box", "hull"};
  static const struct {
    situation where;
    const char* name;
  } list[] = {{SHALLOW, "1 mm deep"}, {DEEP, "deep"}};
  hull h[HULLS];
  kn_rng r = kn_rng_seed(5);
  kn_bench_group(b, "MuJoCo's depths that are right", NULL, KN_BENCH_LINEAR);
  for (int i = 0; i < HULLS; i++) h[i] = make_hull(&r, 20);
  for (int k = 0; k < 28 * 2; k++) {
    int pair = k / 2, x = 0;
    while (pair >= 7 - x) pair -= 7 - x, x++;
    kn_shape_type ta = (kn_shape_type)x, tb = (kn_shape_type)(x + pair);
    if (tb == KN_SHAPE_PLANE) continue;
    if (!kn_bench_row(b, "agree %s-%s %s", names[ta], names[tb], list[k % 2].name)) continue;
    runner p = {kn_bench_load_peer(b, "mujoco_narrow"), NULL};
    if (!p.peer) continue;
    fill(&work, ta, tb, h, list[k % 2].where, NARROW_CONTACT, 0);
    p.self = p.peer->create(work.pair, PAIRS, NARROW_CONTACT, 0);
    if (!p.self) continue;
    double worst = 0;
    int deep = 0, shallow = 0; /* depths that are too large, too small or missing */
    for (int i = 0; i < PAIRS; i++) {
      double e = (p.peer->query(p.self, i) - work.gap[i]) / work.size[i];
      if (!(work.gap[i] < 0)) continue;
      deep += e<-1e-6, shallow += e> 1e-6;
      if (fabs(e) > worst && fabs(e) < INFINITY) worst = fabs(e);
    }
    kn_bench_extra_value(b, "mujoco", 100 * (1 - wrong_share(&p, &work)));
    kn_bench_number(b, "worst error, of the size", worst);
    kn_bench_number(b, "too deep", deep);
    kn_bench_number(b, "too shallow", shallow);
    p.peer->destroy(p.self);
  }
  free_hulls(h);
}

void bench_narrow(kn_bench* b) {
  kn_bench_unit(b, "ns", 1e9);
  rows_primitive(b);
  rows_box(b);
  rows_hull(b);
  rows_curved(b);
  rows_rest(b);
  kn_bench_unit(b, "%", 1);
  rows_agreement(b);
}
