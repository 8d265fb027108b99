/* Separating axes of KN_W pairs of boxes at once: the axes, their order and every operation are those of
   pair_box_kernel.h. Pairs that are not separated get their contacts one by one from what was found here. */
#include "collide/lanes.h"
#include "collide/list/pair_list.h"
#include "collide/pair/pair_box.h"

typedef struct boxes {
  vec R[9], Q[9], t[3], ha[3], hb[3], limit;
  vec s, side, face, n[3]; /* face: number, or -1 - (3 i + j) for an edge axis */
  ivec apart;
} boxes;

LANES void place_boxes(boxes* x, const poses* A, const poses* B) {
  vec3 d = sub3(B->p, A->p), t = turn_back(A, d);
  UNROLL for (int i = 0; i < 3; i++) UNROLL for (int j = 0; j < 3; j++) {
    x->R[3 * i + j] = A->R[i] * B->R[j] + A->R[3 + i] * B->R[3 + j] + A->R[6 + i] * B->R[6 + j];
    x->Q[3 * i + j] = absolute(x->R[3 * i + j]);
  }
  x->t[0] = t.x, x->t[1] = t.y, x->t[2] = t.z;
}

LANES void try_face(boxes* x, double face, vec c, vec reach) {
  vec s = absolute(c) - reach;
  ivec better = s > x->s;
  x->apart |= s > x->limit;
  x->s = choose(better, s, x->s), x->side = choose(better, c, x->side);
  x->face = choose(better, splat(face), x->face);
}

LANES void try_faces(boxes* x) {
  const vec *R = x->R, *Q = x->Q, *t = x->t, *ha = x->ha, *hb = x->hb;
  x->s = splat(-INFINITY), x->side = x->face = splat(0), x->apart = (ivec){0};
  UNROLL for (int i = 0; i < 3; i++)
      try_face(x, i, t[i], ha[i] + Q[3 * i] * hb[0] + Q[3 * i + 1] * hb[1] + Q[3 * i + 2] * hb[2]);
  UNROLL for (int j = 0; j < 3; j++) try_face(x, 3 + j, t[0] * R[j] + t[1] * R[3 + j] + t[2] * R[6 + j],
                                              hb[j] + Q[j] * ha[0] + Q[3 + j] * ha[1] + Q[6 + j] * ha[2]);
}

/* exact_edge of the lanes in `look`. */
LANES void take_edge(boxes* x, ivec look, vec b, vec L, int i, int j) {
  const vec* R = x->R;
  int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
  vec inverse = 1 / root(L), c[3], d, s;
  c[i] = splat(0) * inverse, c[i1] = negative(R[3 * i2 + j]) * inverse, c[i2] = R[3 * i1 + j] * inverse;
  d = x->t[0] * c[0] + x->t[1] * c[1] + x->t[2] * c[2], s = absolute(d);
  UNROLL for (int k = 0; k < 3; k++) {
    vec along = c[0] * R[k] + c[1] * R[3 + k] + c[2] * R[6 + k];
    s -= absolute(c[k]) * x->ha[k] + (k == j ? splat(0) : absolute(along) * x->hb[k]);
  }
  ivec better = look & (s > b);
  x->apart |= better & (s > x->limit);
  x->s = choose(better, s, x->s), x->face = choose(better, splat(-1 - (3 * i + j)), x->face);
  UNROLL for (int k = 0; k < 3; k++) x->n[k] = choose(better, choose(d > 0, negative(c[k]), c[k]), x->n[k]);
}

LANES void try_edges(boxes* x) {
  const vec *R = x->R, *Q = x->Q, *t = x->t, *ha = x->ha, *hb = x->hb;
  vec tie = KN_BOX_TIE * (ha[0] + ha[1] + ha[2] + hb[0] + hb[1] + hb[2]);
  UNROLL for (int i = 0; i < 3; i++) {
    int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    UNROLL for (int j = 0; j < 3; j++) {
      int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      vec c1 = R[3 * i1 + j], c2 = R[3 * i2 + j], L = c1 * c1 + c2 * c2;
      vec S = absolute(t[i2] * c1 - t[i1] * c2) - ha[i1] * Q[3 * i2 + j] - ha[i2] * Q[3 * i1 + j] -
              hb[j1] * Q[3 * i + j2] - hb[j2] * Q[3 * i + j1];
      vec b = x->s + tie, bb = b * b * L, SS = S * S;
      ivec below = b < 0, wins = ((S > 0) & (below | (SS > bb))) | (~(S > 0) & below & (SS < bb));
      ivec look = (wins | (L < 1e-8)) & ~(L < 1e-24) & ~x->apart;
      if (bits_of(look)) take_edge(x, look, b, L, i, j);
    }
  }
}

static kn_box_axes axes_of(const boxes* x, int l) {
  kn_box_axes w = {.s = x->s[l], .face = (int)x->face[l]};
  if (w.face < 0) {
    int edge = -1 - w.face;
    w.face = -1, w.i = edge / 3, w.j = edge % 3, w.n = (v3){x->n[0][l], x->n[1][l], x->n[2][l]};
    return w;
  }
  double sign = x->side[l] > 0 ? -1 : 1;
  int j = w.face - 3;
  w.n = j < 0 ? v3_axis(w.face, sign) : v3_mul((v3){x->R[j][l], x->R[3 + j][l], x->R[6 + j][l]}, sign);
  return w;
}

static bool group_box_box(kn_list_run* run, kn_pair_group* g) {
  const kn_pair_list* l = run->list;
  for (int i = g->begin; i < g->begin + g->count; i += KN_W) {
    poses A = load_poses(run->pose, l->at_a + i), B = load_poses(run->pose, l->at_b + i);
    boxes x = {.ha = {load(l->a0 + i), load(l->a1 + i), load(l->a2 + i)},
               .hb = {load(l->b0 + i), load(l->b1 + i), load(l->b2 + i)},
               .limit = load(l->margin + i)};
    place_boxes(&x, &A, &B);
    vec sum = absolute(x.t[0]) + absolute(x.t[1]) + absolute(x.t[2]);
    UNROLL for (int k = 0; k < 9; k++) sum += x.Q[k];
    sum += absolute(A.p.x) + absolute(A.p.y) + absolute(A.p.z);
    if (__builtin_expect(bits_of(~(sum < 1e60)) != 0, 0)) {
      if (!one_by_one(run, g, i)) return false;
      continue;
    }
    try_faces(&x);
    const unsigned all = (1u << KN_W) - 1;
    if (bits_of(x.apart) != all) try_edges(&x);
    for (unsigned m = all & ~bits_of(x.apart); m; m &= m - 1) {
      int k = __builtin_ctz(m);
      kn_pose rel;
      for (int e = 0; e < 9; e++) rel.R[e] = x.R[e][k];
      for (int e = 0; e < 3; e++) rel.p[e] = x.t[e][k];
      kn_box_axes w = axes_of(&x, k);
      if (!kn_list_boxes(run, g, i + k, &rel, &w)) return false;
    }
    for (unsigned m = bits_of(x.apart); m && run->forget; m &= m - 1)
      l->cache[l->index[i + __builtin_ctz(m)]].key_count = 0;
  }
  return true;
}
