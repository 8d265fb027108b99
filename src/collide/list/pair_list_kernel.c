/* Contacts of many pairs of simple shapes, KN_W at a time. The formulas are those of pair_plane.c,
   pair_round.c and distance_primitive.c in the same order of operations, with choices instead of branches,
   so the results are the same bits. Lanes in a special case (coincident centres, parallel lines, numbers
   out of range) send their whole block through the pair functions. Contacts are written without branches: a
   lane without a contact writes to a place that is thrown away. */
#include "base/isa.h"

#include "collide/lanes.h"
#include "collide/list/pair_list.h"

#define LARGEST 1e60

typedef struct block { /* the pairs of KN_W lanes */
  poses A, B;
  vec a0, a1, b0, b1, b2, margin;
} block;

typedef struct points { /* one contact per lane */
  ivec key, hit;
  vec3 n, a, b;
  vec gap;
} points;

#define CONTACT 8 /* numbers in a kn_pair_contact */
_Static_assert(sizeof(kn_pair_contact) == CONTACT * sizeof(double), "store4 writes contacts");

/* Fills the contacts; returns the lanes that need the pair function. */
typedef ivec (*body_fn)(points* out, const block* q);

static bool one_by_one(kn_list_run* run, kn_pair_group* g, int item) {
  int end = g->begin + g->count;
  for (int i = item; i < item + KN_W && i < end; i++)
    if (!kn_list_item(run, g, i)) return false;
  return true;
}

#include "collide/list/pair_list_box.h"

/* The eight numbers of the contacts, of pairs given the other way round as kn_contacts_flip leaves them. */
LANES void numbers(vec v[8], const points* c, bool flip) {
  vec3 n = flip ? neg3(c->n) : c->n, on = flip ? c->a : c->b;
  ivec key = flip ? c->key << 32 | (c->key >> 32 & 0xffffffff) : c->key;
  v[0] = (vec)key, v[1] = n.x, v[2] = n.y, v[3] = n.z, v[4] = c->gap, v[5] = on.x, v[6] = on.y, v[7] = on.z;
}

/* Pairs are looked at CHUNK at a time: first all candidates are written to fixed places, then the contacts
   among them are copied to the list. (Written straight to the list, where a contact goes depends on the ones
   before, and the loads of the next block wait for the addresses of these stores.) */
enum { CHUNK = 64, BLOCKS = CHUNK / KN_W };
LANES int chunk_for(int most) { return most > 2 ? CHUNK / 2 : CHUNK; } /* pairs; candidates stay in cache */

typedef struct chunk {
  kn_pair_contact candidate[2 * CHUNK]; /* pair by pair */
  uint32_t hit[BLOCKS];                 /* bit most * lane + e */
  uint32_t special[BLOCKS];             /* lanes that need the pair function */
} chunk;

/* Bit k of the hits becomes bit most * k. */
LANES uint32_t apart(unsigned hits, int most) {
#if defined(__BMI2__)
  return most == 1 ? hits : _pdep_u32(hits, most == 2 ? 0x55555555 : 0x11111111);
#else
  return (hits & 1) | (hits >> 1 & 1) << most;
#endif
}

LANES void put(chunk* k, int nth, const points* c, int most, bool flip) {
  uint32_t hit = 0;
  UNROLL for (int e = 0; e < most; e++) {
    double* slot[KN_W];
    vec v[8];
    UNROLL for (int j = 0; j < KN_W; j++) slot[j] = (double*)&k->candidate[(nth * KN_W + j) * most + e];
    numbers(v, &c[e], flip);
    store8(slot, v);
    hit |= apart(bits_of(c[e].hit), most) << e;
  }
  k->hit[nth] = hit;
}

/* Hits of all blocks, 64 candidates per word, so that the loop over the bits of a word seldom ends. */
enum { WORDS = CHUNK * 2 / 64 };
LANES int gather_hits(uint64_t word[WORDS], int* total, const uint32_t hit[BLOCKS], int blocks, int most) {
  const int bits = KN_W * most, together = 64 / bits < BLOCKS ? 64 / bits : BLOCKS;
  int words = 0;
  *total = 0;
  for (int b = 0; b < blocks; b += together, words++) {
    word[words] = 0;
    for (int i = 0; i < together && b + i < blocks; i++) word[words] |= (uint64_t)hit[b + i] << i * bits;
    *total += __builtin_popcountll(word[words]);
  }
  return words;
}
LANES unsigned any_special(const uint32_t special[BLOCKS], int blocks) {
  unsigned any = 0;
  for (int b = 0; b < blocks; b++) any |= special[b];
  return any;
}

LANES void copy_contact(kn_pair_contact* out, int32_t* pair_of, const int32_t* index, const chunk* k, int bit,
                        int most) {
  memcpy(out, &k->candidate[bit], sizeof *out);
  *pair_of = index[bit / most];
}

/* A chunk with special pairs, keys to forget or little room: pair by pair. */
static bool careful(kn_list_run* run, kn_pair_group* g, const chunk* k, int item, int most) {
  for (int lane = 0; lane < chunk_for(most) && item + lane < g->begin + g->count; lane++) {
    unsigned hit = k->hit[lane / KN_W] >> (lane % KN_W * most) & ((1u << most) - 1);
    bool special = k->special[lane / KN_W] >> (lane % KN_W) & 1;
    if (special || run->capacity - run->count < most) {
      if (!kn_list_item(run, g, item + lane)) return false;
      continue;
    }
    for (; hit; hit &= hit - 1, run->count++)
      copy_contact(run->out + run->count, run->pair_of + run->count, run->list->index + item, k,
                   lane * most + __builtin_ctz(hit), most);
    if (run->forget) run->list->cache[run->list->index[item + lane]].key_count = 0;
  }
  return true;
}

LANES void fill_chunk(chunk* k, const kn_list_run* run, int start, int blocks, int most, bool flip,
                      body_fn body) {
  const kn_pair_list* l = run->list;
  const double *a0 = l->a0, *a1 = l->a1, *b0 = l->b0, *b1 = l->b1, *b2 = l->b2, *margin = l->margin;
  const int32_t *at_a = l->at_a, *at_b = l->at_b;
  const kn_pose* pose = run->pose;
  for (int b = 0; b < blocks; b++) {
    int i = start + b * KN_W;
    block q = {load_poses(pose, at_a + i),
               load_poses(pose, at_b + i),
               load(a0 + i),
               load(a1 + i),
               load(b0 + i),
               load(b1 + i),
               load(b2 + i),
               load(margin + i)};
    points c[4];
    k->special[b] = bits_of(body(c, &q));
    put(k, b, c, most, flip);
  }
}

/* kn_put_a, kn_put_b */
LANES void from_a(points* c, ivec hit, ivec key, vec3 n, vec gap, vec3 on_a) {
  *c = (points){key, hit, n, on_a, axpy3(on_a, negative(gap), n), gap};
}
LANES void from_b(points* c, ivec hit, ivec key, vec3 n, vec gap, vec3 on_b) {
  *c = (points){key, hit, n, axpy3(on_b, gap, n), on_b, gap};
}

/* v3_unit where the square is in range; the other lanes are added to *odd. */
LANES vec unit3(vec3* a, ivec* odd) {
  vec n2 = dot3(*a, *a), len = root(n2);
  *odd |= ~((n2 > 1e-200) & (n2 < 1e200));
  *a = mul3(*a, 1 / len);
  return len;
}

LANES ivec plane_sphere(points* c, const block* q) {
  vec3 n = column(&q->A, 2);
  vec gap = dot3(n, sub3(q->B.p, q->A.p)) - q->b0;
  from_b(c, gap <= q->margin, (ivec){0}, neg3(n), gap, axpy3(q->B.p, negative(q->b0), n));
  return ~(absolute(gap) < LARGEST);
}

LANES ivec plane_capsule(points* c, const block* q) {
  vec3 n = column(&q->A, 2), u = column(&q->B, 2);
  vec s = dot3(n, sub3(q->B.p, q->A.p)), r = q->b0, l = q->b1, d = l * dot3(n, u);
  UNROLL for (int end = 0; end < 2; end++) {
    vec gap = (end ? s + d : s - d) - r;
    vec3 low = axpy3(axpy3(q->B.p, end ? l : negative(l), u), negative(r), n);
    from_b(c + end, gap <= q->margin, (ivec){0} + end, neg3(n), gap, low);
  }
  return ~((absolute(s) < LARGEST) & (absolute(d) < LARGEST));
}

LANES ivec plane_cylinder(points* c, const block* q) {
  vec3 n = column(&q->A, 2), u = column(&q->B, 2);
  vec s = dot3(n, sub3(q->B.p, q->A.p)), r = q->b0, l = q->b1, cosine = dot3(n, u);
  ivec top = cosine < 0, odd = ~(absolute(s) < LARGEST);
  u = choose3(top, neg3(u), u), cosine = choose(top, negative(cosine), cosine);
  vec3 e = sub3(mul3(u, cosine), n);
  vec n2 = dot3(e, e), sine = root(n2);
  ivec upright = n2 == 0;
  odd |= ~(upright | (n2 > 1e-200)) | ~(n2 < 1e200);
  e = choose3(sine < 1e-15, column(&q->B, 0), mul3(e, 1 / sine));
  ivec small = sine < 1e-3;
  if (bits_of(small)) {
    vec3 clean = axpy3(e, negative(dot3(e, u)), u);
    ivec dull = {0};
    unit3(&clean, &dull);
    e = choose3(small, clean, e), odd |= small & dull;
  }
  vec base = s - l * cosine, lowest = base - r * sine, other = lowest + 2 * l * cosine;
  ivec hit = lowest <= q->margin, lying = l * cosine < r * sine, index = -top;
  vec3 centre = axpy3(q->B.p, negative(l), u), low = axpy3(centre, r, e), m = neg3(n);
  vec3 d = choose3(sine < 1e-7, column(&q->B, 0), e), f = cross3(u, d);
  vec gd = r * dot3(n, d), gf = r * dot3(n, f), g0 = choose(lying, lowest, base + gd),
      g1 = choose(lying, other, base + gf), g2 = base - gd, g3 = base - gf;
  ivec k = 4 * index;
  from_b(c, hit & (lying | (g0 <= q->margin)), ((8 + index) & lying) | (k & ~lying), m, g0,
         choose3(lying, low, axpy3(centre, r, d)));
  from_b(c + 1, hit & (g1 <= q->margin), ((9 - index) & lying) | ((k + 1) & ~lying), m, g1,
         choose3(lying, axpy3(low, 2 * l, u), axpy3(centre, r, f)));
  from_b(c + 2, hit & ~lying & (g2 <= q->margin), k + 2, m, g2, axpy3(centre, negative(r), d));
  from_b(c + 3, hit & ~lying & (g3 <= q->margin), k + 3, m, g3, axpy3(centre, negative(r), f));
  return odd;
}

LANES ivec plane_box(points* c, const block* q) {
  vec3 n = column(&q->A, 2), m = turn_back(&q->B, n);
  vec s = dot3(n, sub3(q->B.p, q->A.p));
  vec rx = absolute(m.x) * q->b0, ry = absolute(m.y) * q->b1, rz = absolute(m.z) * q->b2;
  vec low = s - rx - ry - rz;
  ivec hit = low <= q->margin;
  vec3 x = {choose(m.x > 0, negative(q->b0), q->b0), choose(m.y > 0, negative(q->b1), q->b1),
            choose(m.z > 0, negative(q->b2), q->b2)};
  vec3 ux = mul3(column(&q->B, 0), -2 * x.x), uy = mul3(column(&q->B, 1), -2 * x.y),
       uz = mul3(column(&q->B, 2), -2 * x.z);
  /* the axis that rises most is left out; i and j follow it cyclically */
  ivec x_y = rx > ry, x_z = rx > rz, y_z = ry > rz, tx = x_y & x_z, ty = ~x_y & y_z;
  vec3 ui = choose3(tx, uy, choose3(ty, uz, ux)), uj = choose3(tx, uz, choose3(ty, ux, uy));
  vec ri = 2 * choose(tx, ry, choose(ty, rz, rx)), rj = 2 * choose(tx, rz, choose(ty, rx, ry));
  ivec bi = (tx & 2) | (ty & 4) | (~(tx | ty) & 1), bj = (tx & 4) | (ty & 1) | (~(tx | ty) & 2);
  vec3 corner = add3(turn(&q->B, x), q->B.p), away = neg3(n);
  ivec code = ((x.x > 0) & 1) | ((x.y > 0) & 2) | ((x.z > 0) & 4);
  vec zero = {0};
  UNROLL for (int k = 0; k < 4; k++) {
    vec gap = low + (k & 1 ? ri : zero) + (k & 2 ? rj : zero);
    vec3 p = corner;
    if (k & 1) p = add3(p, ui);
    if (k & 2) p = add3(p, uj);
    from_b(c + k, hit & (gap <= q->margin), code ^ (k & 1 ? bi : (ivec){0}) ^ (k & 2 ? bj : (ivec){0}), away,
           gap, p);
  }
  return ~(absolute(low) < LARGEST);
}

#include "collide/list/pair_list_capsule.h"

#include "collide/list/pair_list_ball.h"

/* Finds the candidates of the pairs from `start` on, `blocks` blocks. */
typedef void (*fill_fn)(chunk* k, const kn_list_run* run, int start, int blocks, bool flip);

/* Walks a group; most: contacts per pair. */
LANES bool walk(kn_list_run* run, kn_pair_group* g, int most, bool flip, fill_fn fill) {
  kn_pair_contact* out = run->out;
  int32_t* pair_of = run->pair_of;
  chunk k __attribute__((aligned(64)));
  int end = g->begin + g->count;
  const int step = chunk_for(most);
  for (int start = g->begin; start < end; start += step) {
    int left = end - start < step ? end - start : step, blocks = (left + KN_W - 1) / KN_W;
    const int32_t* index = run->list->index + start;
    fill(&k, run, start, blocks, flip);
    uint64_t word[WORDS];
    int total, words = gather_hits(word, &total, k.hit, blocks, most), n = run->count;
    if (__builtin_expect(any_special(k.special, blocks) || run->forget || run->capacity - n < total, 0)) {
      if (!careful(run, g, &k, start, most)) return false;
      continue;
    }
    for (int w = 0; w < words; w++)
      for (uint64_t m = word[w]; m; m &= m - 1, n++)
        copy_contact(out + n, pair_of + n, index, &k, 64 * w + __builtin_ctzll(m), most);
    run->count = n;
  }
  return true;
}

#define WALK(name, most)                                                                                     \
  static bool group_##name(kn_list_run* run, kn_pair_group* g) {                                             \
    return g->flip ? walk(run, g, most, true, fill_##name) : walk(run, g, most, false, fill_##name);         \
  }
#define GROUP(name, most)                                                                                    \
  LANES void fill_##name(chunk* k, const kn_list_run* run, int start, int blocks, bool flip) {               \
    fill_chunk(k, run, start, blocks, most, flip, name);                                                     \
  }                                                                                                          \
  WALK(name, most)
GROUP(plane_sphere, 1)
GROUP(plane_capsule, 2)
GROUP(plane_cylinder, 4)
GROUP(plane_box, 4)
WALK(sphere_cylinder, 1)
WALK(sphere_box, 1)
WALK(capsule_capsule, 1)

#if KN_W == 2 /* registers too short for rows */
LANES ivec sphere_sphere(points* c, const block* q) {
  vec3 n = sub3(q->A.p, q->B.p);
  vec reach = q->a0 + q->b0 + q->margin;
  ivec odd = {0}, hit = (dot3(n, n) <= reach * reach) & ~(reach < 0);
  vec d = unit3(&n, &odd);
  from_a(c, hit, (ivec){0}, n, d - q->a0 - q->b0, axpy3(q->A.p, negative(q->a0), n));
  return odd | ~(d < LARGEST);
}

LANES ivec sphere_capsule(points* c, const block* q) {
  vec3 u = column(&q->B, 2), d = sub3(q->A.p, q->B.p);
  vec reach = q->a0 + q->b0 + q->b1 + q->margin, l = q->b1, t = dot3(d, u);
  ivec below = t <= negative(l), above = ~below & (t >= l), odd = {0};
  t = choose(below, negative(l), choose(above, l, t));
  vec3 n = axpy3(d, negative(t), u);
  vec core = unit3(&n, &odd), gap = core - q->a0 - q->b0;
  ivec hit = (dot3(d, d) <= reach * reach) & (gap <= q->margin);
  odd |= (~below & ~above & (core < 1e-3 * l)) | ~(core < LARGEST);
  from_a(c, hit, (above & 1) | (~below & ~above & 2), n, gap, axpy3(q->A.p, negative(q->a0), n));
  return odd;
}

GROUP(sphere_sphere, 1)
GROUP(sphere_capsule, 1)
#else
#include "collide/list/pair_list_rows.h"

#define ROWS(name, extras)                                                                                   \
  static bool group_##name(kn_list_run* run, kn_pair_group* g) {                                             \
    return g->flip ? walk_rows(run, g, extras, true, name, emit_##name)                                      \
                   : walk_rows(run, g, extras, false, name, emit_##name);                                    \
  }
ROWS(sphere_sphere, 1)
ROWS(sphere_capsule, 2)
#endif

const kn_list_table KN_NAME(kn_list) = {{[KN_SHAPE_PLANE] = {[KN_SHAPE_SPHERE] = group_plane_sphere,
                                                             [KN_SHAPE_CAPSULE] = group_plane_capsule,
                                                             [KN_SHAPE_CYLINDER] = group_plane_cylinder,
                                                             [KN_SHAPE_BOX] = group_plane_box},
                                         [KN_SHAPE_SPHERE] = {[KN_SHAPE_SPHERE] = group_sphere_sphere,
                                                              [KN_SHAPE_CAPSULE] = group_sphere_capsule,
                                                              [KN_SHAPE_CYLINDER] = group_sphere_cylinder,
                                                              [KN_SHAPE_BOX] = group_sphere_box},
                                         [KN_SHAPE_CAPSULE] = {[KN_SHAPE_CAPSULE] = group_capsule_capsule},
                                         [KN_SHAPE_BOX] = {[KN_SHAPE_BOX] = group_box_box}}};
