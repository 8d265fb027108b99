/* The inward sweep of forward dynamics without AVX: the arithmetic of forward_kernel.h element by element, so
   the bits are the same, packed for registers of two lanes. 3x3 matrices are blocks
     [a0 a1 c; z zz],   a0, a1, c: upper two rows of the columns, z: left two of the last row,
   hence no lane is idle and a transpose costs two shuffles. Terms of the wide kernel that are exactly +0 are
   left out: sums that start at +0 never become -0. */
#include "dynamics/tree/kernel.h"

#define KN_LO(a, b) __builtin_shufflevector(a, b, 0, 2)
#define KN_HI(a, b) __builtin_shufflevector(a, b, 1, 3)
#define KN_SWAP(a)  __builtin_shufflevector(a, a, 1, 0)

/* (a_0, +0) */
KN_INLINE kn_v2 lane0(kn_v2 a) { return (kn_v2){a[0], 0.0}; }

typedef struct block3 {
  kn_v2 a0, a1, c, z;
} block3;

typedef struct packed_load { /* articulated inertia and bias force */
  block3 I, G, M;
  kn_v2 zz; /* of I and G */
  kn_v2 mzz;
  kn_v2 n, f, zp; /* lower parts; (n_z, f_z) */
} packed_load;

typedef struct own_load { /* what one link adds */
  block3 I;
  kn_v2 izz;        /* (I_zz, 0) */
  kn_v2 g0, g1, gc; /* of -[h]x; its z is -gc */
  kn_v2 n, f, zp;
} own_load;

typedef struct arm { /* a vector in the forms that products with it take */
  kn_v2 zs, yx;      /* (z, -z), (-y, x) */
} arm;

KN_INLINE arm arm_of(kn_v2 lo, kn_v2 z) {
  return (arm){z * (kn_v2){1.0, -1.0}, KN_SWAP(lo) * (kn_v2){-1.0, 1.0}};
}
/* upper part of v x r for v = (lo, z in both lanes) */
KN_INLINE kn_v2 arm_cross(kn_v2 lo, kn_v2 z, arm r) { return KN_SWAP(lo) * r.zs + z * r.yx; }
/* last components of r x a and q x b */
KN_INLINE kn_v2 arm_last(kn_v2 a, arm r, kn_v2 b, arm q) {
  kn_v2 x = a * r.yx, y = b * q.yx;
  return KN_LO(x, y) + KN_HI(x, y);
}

/* Any link, by the functions of the wide kernels. */
static __attribute__((noinline)) void own_any(own_load* o, const kn_link_const* c, const kn_link_kin* l,
                                              const kn_link_dyn* y) {
  kn_v4 I[3], h, n, f;
  link_inertia(I, &h, c, l->R);
  inertial_force(&n, &f, I, h, c->mass, y);
  o->I = (block3){I[0].lo, I[1].lo, I[2].lo, KN_LO(I[0].hi, I[1].hi)}, o->izz = I[2].hi;
  o->g0 = KN_SWAP(h.hi) * (kn_v2){1.0, -1.0}, o->g1 = h.hi, o->gc = KN_SWAP(h.lo) * (kn_v2){-1.0, 1.0};
  o->n = n.lo, o->f = f.lo, o->zp = KN_LO(n.hi, f.hi);
}

/* A rod: inertia by one dyad, n = I al + h x a + w x I w, f = m a + al x h + w x (w x h). */
KN_INLINE void own_rod(own_load* o, const kn_link_const* c, const kn_link_kin* l, const kn_link_dyn* y) {
  const kn_v4 *u = &l->R[c->rod], *pw = &y->wb, *pl = &y->al, *pa = &y->a;
  kn_v2 ulo = u->lo, uz = KN_LO(u->hi, u->hi), Blo = ulo * c->rod_I, Bz = uz * c->rod_I;
  block3 I = {c->T[0].lo + Blo * KN_LO(ulo, ulo), c->T[1].lo + Blo * KN_HI(ulo, ulo), Blo * uz, Bz * ulo};
  kn_v2 izz = c->T[2].hi + Bz * u->hi, izzs = KN_LO(izz, izz);
  kn_v2 hlo = ulo * c->rod_h, hz = uz * c->rod_h;
  kn_v2 w = pw->lo, wz = KN_LO(pw->hi, pw->hi), al = pl->lo, alz = KN_LO(pl->hi, pl->hi);
  kn_v2 Iw = (I.a0 * KN_LO(w, w) + I.a1 * KN_HI(w, w)) + I.c * wz;
  kn_v2 Il = (I.a0 * KN_LO(al, al) + I.a1 * KN_HI(al, al)) + I.c * alz;
  kn_v2 pi = I.z * al, pj = I.z * w, Iz = (KN_LO(pi, pj) + KN_HI(pi, pj)) + izzs * KN_LO(pl->hi, pw->hi);
  arm aw = arm_of(w, wz), ah = arm_of(hlo, hz);
  kn_v2 a = pa->lo, az = KN_LO(pa->hi, pa->hi), m = {c->mass, c->mass}, zero = {0.0, 0.0};
  o->n = Il - (arm_cross(a, az, ah) + arm_cross(Iw, KN_HI(Iz, Iz), aw));
  kn_v2 cn = arm_last(a, ah, Iw, aw);                                /* of h x a, w x I w */
  kn_v2 k = -arm_cross(hlo, hz, aw), kl = arm_last(hlo, aw, al, ah); /* w x h; last of it and of h x al */
  kn_v2 kz = KN_LO(kl, kl), t = k * aw.yx;
  o->f = a * m + (arm_cross(al, alz, ah) - arm_cross(k, kz, aw));
  kn_v2 last = KN_LO(cn, t) + KN_HI(cn, t); /* h x a + w x I w, w x (w x h) */
  o->zp = KN_LO(Iz, az * m) + (last - KN_HI(zero, kl));
  o->I = I, o->izz = izz; /* (I_zz, 0) */
  o->g0 = KN_HI(zero, ah.zs), o->g1 = lane0(hz), o->gc = ah.yx;
}

KN_INLINE void own_add(packed_load* b, const own_load* o, const kn_link_const* c) {
  b->I.a0 += o->I.a0, b->I.a1 += o->I.a1, b->I.c += o->I.c, b->I.z += o->I.z, b->zz += o->izz;
  b->G.a0 += o->g0, b->G.a1 += o->g1, b->G.c += o->gc, b->G.z -= o->gc;
  b->M.a0 += c->M[0].lo, b->M.a1 += c->M[1].lo, b->mzz += c->M[2].hi;
  b->n += o->n, b->f += o->f, b->zp += o->zp;
}

/* The same onto nothing. */
KN_INLINE void own_set(packed_load* b, const own_load* o, const kn_link_const* c) {
  kn_v2 zero = {0.0, 0.0};
  b->I.a0 = zero + o->I.a0, b->I.a1 = zero + o->I.a1, b->I.c = zero + o->I.c, b->I.z = zero + o->I.z;
  b->G.a0 = zero + o->g0, b->G.a1 = zero + o->g1, b->G.c = zero + o->gc, b->G.z = zero - o->gc;
  b->M.a0 = c->M[0].lo, b->M.a1 = c->M[1].lo, b->M.c = b->M.z = zero;
  b->zz = zero + o->izz, b->mzz = c->M[2].hi, b->n = zero + o->n, b->f = zero + o->f, b->zp = zero + o->zp;
}

KN_INLINE void block_add(block3* A, const block3* B) {
  A->a0 += B->a0, A->a1 += B->a1, A->c += B->c, A->z += B->z;
}
KN_INLINE void packed_add(packed_load* b, const packed_load* o) {
  block_add(&b->I, &o->I), block_add(&b->G, &o->G), block_add(&b->M, &o->M);
  b->zz += o->zz, b->mzz += o->mzz, b->n += o->n, b->f += o->f, b->zp += o->zp;
}
KN_INLINE void unpack3(kn_v4 A[3], const block3* B, double zz) {
  kn_v2 zero = {0.0, 0.0};
  A[0] = (kn_v4){B->a0, KN_LO(B->z, zero)}, A[1] = (kn_v4){B->a1, __builtin_shufflevector(B->z, zero, 1, 2)};
  A[2] = (kn_v4){B->c, {zz, 0.0}};
}
KN_INLINE void pack3(block3* B, const kn_v4 A[3]) {
  B->a0 = A[0].lo, B->a1 = A[1].lo, B->c = A[2].lo, B->z = KN_LO(A[0].hi, A[1].hi);
}
KN_INLINE void unpack_load(load* t, const packed_load* b) {
  unpack3(t->A.I, &b->I, b->zz[0]), unpack3(t->A.G, &b->G, b->zz[1]), unpack3(t->A.M, &b->M, b->mzz[0]);
  t->n = (kn_v4){b->n, {b->zp[0], 0.0}}, t->f = (kn_v4){b->f, {b->zp[1], 0.0}};
}
KN_INLINE void pack_load(packed_load* b, const load* t) {
  pack3(&b->I, t->A.I), pack3(&b->G, t->A.G), pack3(&b->M, t->A.M);
  b->zz = KN_LO(t->A.I[2].hi, t->A.G[2].hi), b->mzz = t->A.M[2].hi;
  b->n = t->n.lo, b->f = t->f.lo, b->zp = KN_LO(t->n.hi, t->f.hi);
}

/* G' = G - M[r]x, I' = (I - Gᵀ[r]x) + [r]x G' */
KN_INLINE void packed_move(packed_load* b, const kn_v2 r[3], arm q) {
  block3 *I = &b->I, *G = &b->G;
  const block3* M = &b->M;
  kn_v2 g0 = KN_LO(G->a0, G->a1), g1 = KN_HI(G->a0, G->a1);
  I->a0 -= g1 * r[2] - G->z * r[1], I->a1 -= G->z * r[0] - g0 * r[2], I->c -= g0 * r[1] - g1 * r[0];
  I->z -= arm_cross(G->c, KN_HI(b->zz, b->zz), q);
  kn_v2 pg = G->c * q.yx, pm = M->z * q.yx;
  b->zz += KN_LO(pg, pm) + KN_HI(pg, pm);
  G->a0 -= M->a1 * r[2] - M->c * r[1], G->a1 -= M->c * r[0] - M->a0 * r[2];
  G->c -= M->a0 * r[1] - M->a1 * r[0];
  G->z -= arm_cross(M->z, KN_LO(b->mzz, b->mzz), q);
  g0 = KN_LO(G->a0, G->a1), g1 = KN_HI(G->a0, G->a1);
  kn_v2 e0 = G->z * r[1] - g1 * r[2], e1 = g0 * r[2] - G->z * r[0];
  I->a0 += KN_LO(e0, e1), I->a1 += KN_HI(e0, e1), I->z += g1 * r[0] - g0 * r[1];
  I->c -= arm_cross(G->c, KN_HI(b->zz, b->zz), q);
  pg = G->c * q.yx;
  b->zz += lane0(pg + KN_SWAP(pg));
}

typedef struct pivot { /* a dof between its two halves */
  kn_v2 Un, Uf, Uz;
  double dinv, e;
} pivot;

/* U, D, e; moves b to the parent while the division goes on. */
KN_INLINE int hinge_begin(pivot* p, packed_load* b, const kn_link_kin* l, const kn_link_const* c, hinge h) {
  const kn_v4 *pr = &l->r, *ps = &l->R[2];
  kn_v2 slo = ps->lo, sx = KN_LO(slo, slo), sy = KN_HI(slo, slo), sz = KN_LO(ps->hi, ps->hi);
  kn_v2 pi = b->I.z * slo, pg = b->G.z * slo, Uz = (KN_LO(pi, pg) + KN_HI(pi, pg)) + b->zz * sz;
  kn_v2 Un = (b->I.a0 * sx + b->I.a1 * sy) + b->I.c * sz, Uf = (b->G.a0 * sx + b->G.a1 * sy) + b->G.c * sz;
  kn_v2 t = slo * Un + (kn_v2){ps->hi[0] * Uz[0], 0.0}, u = slo * b->n + (kn_v2){ps->hi[0] * b->zp[0], 0.0};
  double D = (t[0] + t[1]) + h.own, e = h.tau - (u[0] + u[1]), dinv = 1.0 / D;
  if (__builtin_expect(!(D > 0.0), 0)) return 0;
  h.g->dinv = dinv, h.g->e = e;
  if (__builtin_expect(c->parent < 0, 0)) return 1; /* nothing is left of a root */
  const kn_v2 r[3] = {KN_LO(pr->lo, pr->lo), KN_HI(pr->lo, pr->lo), KN_LO(pr->hi, pr->hi)};
  arm q = arm_of(pr->lo, r[2]);
  packed_move(b, r, q);
  Un -= arm_cross(Uf, KN_HI(Uz, Uz), q), b->n -= arm_cross(b->f, KN_HI(b->zp, b->zp), q);
  kn_v2 pz = arm_last(Uf, q, b->f, q);
  b->zp += lane0(KN_SWAP(pz));
  *p = (pivot){Un, Uf, Uz + lane0(pz), dinv, e};
  return 1;
}

/* The rank-1 update of b, into `to`; adds what the parent adds by itself when that is the next link (o, m; or
   NULL). */
KN_INLINE void hinge_end(packed_load* to, const packed_load* b, const pivot* p, kn_dof_factor* g,
                         const own_load* o, const kn_link_const* m) {
  kn_v2 Un = p->Un, Uf = p->Uf, Uz = p->Uz, dv = {p->dinv, p->dinv}, ev = {p->e, p->e};
  kn_v2 gn = Un * dv, gf = Uf * dv, gz = Uz * dv, zero = {0.0, 0.0};
  kn_v2 nx = KN_LO(Un, Un), ny = KN_HI(Un, Un), nz = KN_LO(Uz, Uz), gnz = KN_LO(gz, gz), gfz = KN_HI(gz, gz);
  kn_v2 fx = KN_LO(Uf, Uf), fy = KN_HI(Uf, Uf), fz = KN_HI(Uz, Uz);
  g->gn = (kn_v4){gn, KN_LO(gz, zero)}, g->gf = (kn_v4){gf, __builtin_shufflevector(gz, zero, 1, 2)};
#define PLUS(x, own) (o ? (x) + (own) : (x))
  to->I.z = PLUS(b->I.z - gnz * Un, o->I.z), to->zz = PLUS(b->zz - gz * nz, o->izz);
  to->I.a0 = PLUS(b->I.a0 - gn * nx, o->I.a0), to->I.a1 = PLUS(b->I.a1 - gn * ny, o->I.a1);
  to->I.c = PLUS(b->I.c - gn * nz, o->I.c);
  to->G.z = o ? (b->G.z - gfz * Un) - o->gc : b->G.z - gfz * Un;
  to->G.a0 = PLUS(b->G.a0 - gf * nx, o->g0), to->G.a1 = PLUS(b->G.a1 - gf * ny, o->g1);
  to->G.c = PLUS(b->G.c - gf * nz, o->gc);
  to->n = PLUS(b->n + gn * ev, o->n), to->f = PLUS(b->f + gf * ev, o->f),
  to->zp = PLUS(b->zp + gz * ev, o->zp);
  to->M.a0 = PLUS(b->M.a0 - gf * fx, m->M[0].lo), to->M.a1 = PLUS(b->M.a1 - gf * fy, m->M[1].lo);
  to->M.c = b->M.c - gf * fz, to->M.z = b->M.z - gfz * Uf, to->mzz = PLUS(b->mzz - gfz * fz, m->M[2].hi);
#undef PLUS
}

_Static_assert(sizeof(packed_load) <= sizeof(kn_art), "junctions keep packed loads in the place of art");

/* Onto the parent's sum; the last child comes first and stores. p: of a hinge, NULL of others. */
KN_INLINE void branch_end(packed_load* to, packed_load* b, const pivot* p, kn_dof_factor* g, int last_child) {
  if (p && last_child) {
    hinge_end(to, b, p, g, NULL, NULL);
    return;
  }
  if (p) hinge_end(b, b, p, g, NULL, NULL);
  if (last_child)
    *to = *b;
  else
    packed_add(to, b);
}

static __attribute__((noinline)) int inward_rare(packed_load* b, double* qdd, kn_data* d, int i,
                                                 const double* tau, const double* extra) {
  load t;
  unpack_load(&t, b);
  if (d->layout->link[i].type == KN_LINK_FREE) return inward_free(qdd, &t, d, i, tau, extra);
  int ok = inward_other(&t, d, i, tau, extra);
  pack_load(b, &t);
  return ok;
}

KN_INLINE void own_of(own_load* o, const kn_link_const* c, const kn_link_kin* l, const kn_link_dyn* y) {
  if (__builtin_expect(c->rod >= 0, 1))
    own_rod(o, c, l, y);
  else
    own_any(o, c, l, y);
}

/* qdd: of free roots. What a link adds by itself is made in the shadow of the division of the link before. */
static __attribute__((noinline)) int inward(double* qdd, kn_data* d, const double* tau, const double* extra) {
  const int last = d->model->nlink - 1;
  const kn_link_const* c = d->layout->link + last;
  const kn_link_kin* l = d->kin.link + last;
  const kn_link_dyn* y = d->dyn + last;
  kn_dof_factor* g = d->fac + d->model->nv;
  const double *force = tau ? tau : d->zero, *own = d->model->armature;
  ptrdiff_t j = d->model->nv;
  own_load o;
  packed_load b;
  pivot p = {0};
  if (last < 0) return -1;
  own_of(&o, c, l, y);
  own_set(&b, &o, c);
  for (int i = last;; i--) {
    if (__builtin_expect(c->junction, 0)) packed_add(&b, (const packed_load*)&d->art[i]);
    int ok, hinged = c->type == KN_LINK_HINGE;
    if (__builtin_expect(hinged, 1)) {
      g--, j--;
      ok = hinge_begin(&p, &b, l, c, (hinge){g, own[j] + extra[j], force[j]});
    } else { /* a copy, so that b itself never needs memory */
      packed_load w = b;
      ok = inward_rare(&w, qdd, d, i, tau, extra);
      b = w;
      g -= c->nv, j -= c->nv;
    }
    if (__builtin_expect(!ok, 0)) return bad_dof(d, i);
    if (i == 0) return -1;
    int parent = c->parent, last_child = c->last_child;
    c--, l--, y--;
    own_of(&o, c, l, y);
    if (__builtin_expect(parent == i - 1, 1)) {
      if (__builtin_expect(hinged, 1))
        hinge_end(&b, &b, &p, g, &o, c);
      else
        own_add(&b, &o, c);
      continue;
    }
    if (parent >= 0) branch_end((packed_load*)&d->art[parent], &b, hinged ? &p : NULL, g, last_child);
    own_set(&b, &o, c);
  }
}
