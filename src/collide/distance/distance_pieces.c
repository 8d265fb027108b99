/* The pieces of a core's surface: those around a direction, one by its name, and how round the core is behind
   them. Called by distance_curved.c, which looks for the pair of pieces that holds a contact. */
#include "collide/distance/distance_piece.h"

static int pieces_cylinder(kn_piece* out, const kn_core* c, v3 d, v3 near) {
  v3 u = c->moved ? m3_col(c->pose.R, 2) : (v3){0, 0, 1};
  double r = c->size[0], l = c->size[1], k = v3_dot(u, d);
  v3 e = v3_axpy(d, -k, u), top = v3_axpy(c->centre, l, u), bottom = v3_axpy(c->centre, -l, u);
  v3 out_of = v3_sub(near, c->centre), q = v3_axpy(out_of, -v3_dot(out_of, u), u);
  if (v3_unit(&q) == 0) q = v3_perp(u);
  double s = v3_norm(e);
  v3 cap = k > 0 ? top : bottom, far = k > 0 ? bottom : top, up = k > 0 ? u : v3_neg(u);
  kn_piece rim = {KN_PIECE_RIM, cap, q, u, r, c, {k > 0}},
           other = {KN_PIECE_RIM, far, q, u, r, c, {!(k > 0)}};
  kn_piece side = {KN_PIECE_LINE, bottom, top, u, r, c, {0}},
           disc = {KN_PIECE_DISC, cap, cap, up, r, c, {k > 0}};
  int n = 0;
  bool flat = s < 1e-3, edge = fabs(k) < 1e-3;
  if (flat) out[n++] = disc;
  if (edge) out[n++] = side;
  out[n++] = rim;
  if (!edge) out[n++] = side;
  if (!flat) out[n++] = disc;
  out[n++] = other;
  return n;
}

typedef struct edge_list {
  kn_piece piece[KN_PIECES];
  double key[KN_PIECES];
  int n;
} edge_list;

/* Keeps the best edges: square to d and close to the other core's support point. */
static void add_edge(edge_list* l, const kn_core* c, int from, int to, v3 p, v3 q, v3 d, v3 near) {
  kn_piece s = {KN_PIECE_LINE, p, q, v3_sub(q, p), 0, c, {from, to}};
  double len = v3_unit(&s.u), t = v3_dot(v3_sub(near, p), s.u);
  v3 off = v3_sub(near, v3_axpy(p, t < 0 ? 0 : t > len ? len : t, s.u));
  off = v3_axpy(off, -v3_dot(off, d), d);
  double key = fabs(v3_dot(s.u, d)) + v3_norm(off) / (c->extent + 1e-300);
  const int room = KN_PIECES - 6;
  for (int i = 0; i < l->n; i++) /* an edge of both the vertex and the face comes twice */
    if (fabs(l->key[i] - key) <= 1e-12 && v3_norm2(v3_cross(l->piece[i].u, s.u)) < 1e-20) return;
  if (l->n == room && l->key[room - 1] <= key) return;
  int at = l->n < room ? l->n++ : room - 1;
  while (at > 0 && l->key[at - 1] > key) l->piece[at] = l->piece[at - 1], l->key[at] = l->key[at - 1], at--;
  l->piece[at] = s, l->key[at] = key;
}

static void edges_of(edge_list* l, const kn_core* c, int id, v3 p, const kn_patch* f, v3 d, v3 near) {
  l->n = 0;
  if (c->type == KN_CORE_BOX) {
    for (int k = 0; k < 3; k++) add_edge(l, c, id, id ^ 1 << k, p, kn_core_vertex(c, id ^ 1 << k), d, near);
  } else if (c->type == KN_CORE_HULL) {
    for (int k = c->hull->adj_start[id]; k < c->hull->adj_start[id + 1]; k++)
      add_edge(l, c, id, c->hull->adj[k], p, kn_core_vertex(c, c->hull->adj[k]), d, near);
  } else {
    for (int k = 0; k < c->count; k++)
      if (k != id) add_edge(l, c, id, k, p, c->v[k], d, near);
  }
  if (f->n >= 3 && f->align > 0.9)
    for (int k = 0; k < f->n; k++) {
      int next = k + 1 == f->n ? 0 : k + 1;
      add_edge(l, c, (int)f->id[k], (int)f->id[next], f->p[k], f->p[next], d, near);
    }
}

static int pieces_polytope(kn_piece* out, const kn_core* c, v3 d, v3 near) {
  int id, n = 0;
  v3 p = kn_core_support(c, d, &id);
  kn_patch f;
  f.n = 0, f.align = 0, f.normal = d;
  if (c->type != KN_CORE_POINTS || c->count == 3) kn_patch_of(&f, c, d, 0);
  kn_piece vertex = {KN_PIECE_POINT, p, p, d, 0, c, {id}},
           face = {KN_PIECE_FACE, p, p, f.normal, 0, c, {f.face}};
  if (c->type == KN_CORE_POINTS && c->count == 1) return out[0] = vertex, 1;
  edge_list l;
  edges_of(&l, c, id, p, &f, d, near);
  bool flat = f.n >= 3 && f.align > 1 - 1e-6, edge_on = l.n > 0 && fabs(v3_dot(l.piece[0].u, d)) < 1e-3;
  if (flat) out[n++] = face;
  if (!edge_on) out[n++] = vertex;
  for (int i = 0; i < l.n; i++) out[n++] = l.piece[i];
  if (edge_on) out[n++] = vertex;
  for (int i = 0; i < l.n && i < 3; i++) { /* far ends of the likeliest edges */
    const kn_piece* s = &l.piece[i];
    bool first = v3_norm2(v3_sub(s->p, p)) > v3_norm2(v3_sub(s->q, p));
    v3 e = first ? s->p : s->q;
    out[n++] = (kn_piece){KN_PIECE_POINT, e, e, d, 0, c, {s->id[!first]}};
  }
  if (!flat && f.n >= 3) out[n++] = face;
  return n;
}

int kn_pieces_of(kn_piece* out, const kn_core* c, v3 d, v3 near) {
  if (c->type == KN_CORE_CYLINDER) return pieces_cylinder(out, c, d, near);
  if (c->type == KN_CORE_ELLIPSOID) {
    out[0] = (kn_piece){KN_PIECE_ELLIPSOID, c->centre, c->centre, d, 0, c, {0}};
    return 1;
  }
  return pieces_polytope(out, c, d, near);
}

static v3 axis_of(const kn_core* c, int i) { return c->moved ? m3_col(c->pose.R, i) : v3_axis(i, 1); }

static bool name_cylinder(kn_piece* out, const kn_core* c, kn_piece_kind kind, int cap) {
  v3 u = axis_of(c, 2), mid = v3_axpy(c->centre, cap ? c->size[1] : -c->size[1], u);
  if ((unsigned)cap > 1) return false;
  switch (kind) {
  case KN_PIECE_RIM: *out = (kn_piece){kind, mid, axis_of(c, 0), u, c->size[0], c, {cap}}; return true;
  case KN_PIECE_DISC:
    *out = (kn_piece){kind, mid, mid, cap ? u : v3_neg(u), c->size[0], c, {cap}};
    return true;
  case KN_PIECE_LINE: {
    v3 top = v3_axpy(c->centre, c->size[1], u), bottom = v3_axpy(c->centre, -c->size[1], u);
    *out = (kn_piece){kind, bottom, top, u, c->size[0], c, {0}};
    return true;
  }
  default: return false;
  }
}

static bool name_polytope(kn_piece* out, const kn_core* c, kn_piece_kind kind, int i, int j) {
  int vertices = c->type == KN_CORE_BOX ? 8 : c->type == KN_CORE_HULL ? c->hull->nv : c->count;
  if (kind == KN_PIECE_FACE) {
    if ((unsigned)i >= (unsigned)kn_core_face_count(c)) return false;
    v3 u = kn_core_face_normal(c, i), p = c->v[0];
    int id;
    if (c->type == KN_CORE_HULL) p = kn_core_vertex(c, c->hull->face_vertex[c->hull->face_start[i]]);
    if (c->type == KN_CORE_BOX) p = kn_core_support(c, u, &id);
    *out = (kn_piece){kind, p, p, u, 0, c, {i}};
    return true;
  }
  if ((unsigned)i >= (unsigned)vertices) return false;
  v3 p = kn_core_vertex(c, i);
  *out = (kn_piece){kind, p, p, {0, 0, 0}, 0, c, {i}};
  if (kind == KN_PIECE_POINT) return true;
  if (kind != KN_PIECE_LINE || (unsigned)j >= (unsigned)vertices) return false;
  out->q = kn_core_vertex(c, j), out->u = v3_sub(out->q, p), out->id[1] = j;
  return v3_unit(&out->u) > 0;
}

bool kn_piece_named(kn_piece* out, const kn_core* c, const int32_t code[3]) {
  if ((unsigned)code[0] > KN_PIECE_FACE) return false;
  kn_piece_kind kind = (kn_piece_kind)code[0];
  if (c->type == KN_CORE_CYLINDER) return name_cylinder(out, c, kind, code[1]);
  if (c->type != KN_CORE_ELLIPSOID) return name_polytope(out, c, kind, code[1], code[2]);
  *out = (kn_piece){kind, c->centre, c->centre, {0, 0, 0}, 0, c, {0}};
  return kind == KN_PIECE_ELLIPSOID;
}

/* Centre x - r u, u the face's normal: within every face f, n_f.(x - r u) + r <= d_f. */
static double ball_in_polytope(const kn_piece* s, v3 x) {
  const kn_core* c = s->core;
  double r = INFINITY;
  if (c->type == KN_CORE_POINTS) return 0;
  for (int f = 0; f < kn_core_face_count(c); f++) {
    v3 n = kn_core_face_normal(c, f);
    double d = c->type == KN_CORE_BOX
                   ? c->size[f / 2] + v3_dot(n, c->centre)
                   : c->hull->plane[4 * f + 3] + (c->moved ? v3_dot(n, v3_of(c->pose.p)) : 0);
    double room = d - v3_dot(n, x), slope = 1 - v3_dot(n, s->u);
    if (f != s->id[0] && slope > 0) r = kn_min(room / slope, r);
  }
  return r < INFINITY ? kn_max(r, 0) : 0;
}

double kn_piece_ball(const kn_piece* s, v3 x) {
  const kn_core* c = s->core;
  const double* z = c->size;
  if (s->kind == KN_PIECE_ELLIPSOID) { /* the least radius of curvature */
    double small = kn_min(kn_min(z[2], z[1]), z[0]), large = kn_max(kn_max(z[2], z[1]), z[0]);
    return small * small / large;
  }
  if (s->kind == KN_PIECE_FACE) return ball_in_polytope(s, x);
  if (c->type != KN_CORE_CYLINDER || s->kind == KN_PIECE_RIM) return 0;
  v3 out_of = v3_sub(x, c->centre);
  double along = v3_dot(out_of, s->u), across = v3_norm(v3_axpy(out_of, -along, s->u));
  bool disc = s->kind == KN_PIECE_DISC;
  return kn_max(disc ? kn_min(z[1], z[0] - across) : kn_min(z[0], z[1] - fabs(along)), 0);
}
