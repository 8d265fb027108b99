/* Articulated bodies in world axes about link origins.

   Inertia of a link: n = I alpha + Gᵀ a, f = G alpha + M a; a rigid body has G = -[h]x, M = m 1. Classical
   accelerations (of the material point at the origin), so that only angular velocities enter the bias.
   Moving to the parent's origin by r = o - o_p:
     G' = G - M [r]x,   I' = I - Gᵀ[r]x + [r]x G',   n' = n + r x f.
   A dof with motion s:  U = A s, D = s.U + armature, g = U / D;  A <- A - g Uᵀ,  e = tau - s.p,  p <- p + g
   e. The rank-1 update is pulled through the move: U' = (U_n + r x U_f; U_f), A_p += A' - g'U'ᵀ, so that the
   division overlaps the move. Featherstone 2008, ch. 7, with the bias folded by inverse dynamics at qdd = 0.
   With M = Lᵀ D L, the backward sweep is L⁻ᵀ, the forward sweep L⁻¹. */
#include "dynamics/kernel.h"

KN_INLINE void rigid_inertia(kn_art* A, const kn_link_const* c, const kn_v4* R) {
  const double* m = (const double*)R;
  kn_v4 B0 = v4_mul33s(R, (const double*)&c->I[0]), B1 = v4_mul33s(R, (const double*)&c->I[1]);
  kn_v4 B2 = v4_mul33s(R, (const double*)&c->I[2]);
  for (int k = 0; k < 3; k++) A->I[k] = B0 * m[k] + B1 * m[4 + k] + B2 * m[8 + k];
  kn_v4 h = v4_mul33s(R, (const double*)&c->h);
  A->G[0] = v4_set(0, -h[2], h[1]), A->G[1] = v4_set(h[2], 0, -h[0]), A->G[2] = v4_set(-h[1], h[0], 0);
  A->M[0] = v4_set(c->mass, 0, 0), A->M[1] = v4_set(0, c->mass, 0), A->M[2] = v4_set(0, 0, c->mass);
}

KN_INLINE void art_add(kn_art* A, const kn_art* B) {
  for (int k = 0; k < 3; k++) A->I[k] += B->I[k], A->G[k] += B->G[k], A->M[k] += B->M[k];
}

/* U = A s for the kinds of dofs */
KN_INLINE void art_mul(kn_v4* Un, kn_v4* Uf, const kn_art* A, int kind, kn_v4 sa, kn_v4 sl) {
  kn_v4 H[3];
  if (kind == KN_DOF_ROTATE) {
    *Un = v4_mul33(A->I, sa), *Uf = v4_mul33(A->G, sa);
  } else if (kind == KN_DOF_SLIDE) {
    v4_transpose(H, A->G);
    *Un = v4_mul33(H, sl), *Uf = v4_mul33(A->M, sl);
  } else {
    v4_transpose(H, A->G);
    *Un = v4_mul33(A->I, sa) + v4_mul33(H, sl), *Uf = v4_mul33(A->G, sa) + v4_mul33(A->M, sl);
  }
}
KN_INLINE double motion_dot(int kind, kn_v4 sa, kn_v4 sl, kn_v4 n, kn_v4 f) {
  return kind == KN_DOF_ROTATE  ? v4_dot(sa, n)
         : kind == KN_DOF_SLIDE ? v4_dot(sl, f)
                                : v4_sum(sa * n + sl * f);
}

KN_INLINE void rank1(kn_art* A, kn_v4 gn, kn_v4 gf, kn_v4 Un, kn_v4 Uf) {
  for (int k = 0; k < 3; k++) {
    A->I[k] -= gn * Un[k];
    A->G[k] -= gf * Un[k];
    A->M[k] -= gf * Uf[k];
  }
}

KN_INLINE void art_move(kn_art* A, kn_v4 r) {
  kn_v4 H[3];
  v4_transpose(H, A->G);
  A->G[0] -= A->M[1] * r[2] - A->M[2] * r[1];
  A->G[1] -= A->M[2] * r[0] - A->M[0] * r[2];
  A->G[2] -= A->M[0] * r[1] - A->M[1] * r[0];
  A->I[0] = A->I[0] - (H[1] * r[2] - H[2] * r[1]) + v4_cross(r, A->G[0]);
  A->I[1] = A->I[1] - (H[2] * r[0] - H[0] * r[2]) + v4_cross(r, A->G[1]);
  A->I[2] = A->I[2] - (H[0] * r[1] - H[1] * r[0]) + v4_cross(r, A->G[2]);
}

/* Eliminates the dofs of link i from A; returns the first dof whose D is not positive, or -1. */
KN_INLINE int eliminate(kn_data* d, const kn_link_const* c, int i, kn_art* A, const double* diag) {
  const kn_kin* k = &d->kin;
  for (int j = c->v + c->nv - 1; j >= c->v; j--) {
    int kind = d->layout->dof_kind[j];
    kn_v4 Un, Uf;
    art_mul(&Un, &Uf, A, kind, k->sa[j], k->sl[j]);
    double D = motion_dot(kind, k->sa[j], k->sl[j], Un, Uf) + diag[j];
    if (!(D > 0.0)) return j;
    double dinv = 1.0 / D;
    d->dinv[j] = dinv;
    if (j == c->v) {
      if (c->parent < 0) break; /* nothing is left of a root */
      Un += v4_cross(k->r[i], Uf);
      art_move(A, k->r[i]);
    }
    d->gn[j] = Un * dinv, d->gf[j] = Uf * dinv;
    rank1(A, d->gn[j], d->gf[j], Un, Uf);
  }
  return -1;
}

static int factor(kn_data* d, const double* armature, const double* extra) {
  const kn_layout* y = d->layout;
  const kn_model* m = d->model;
  for (int j = 0; j < m->nv; j++) d->diag[j] = armature[j] + (extra ? extra[j] : 0.0);
  memset(d->art, 0, sizeof(kn_art) * (size_t)m->nlink);
  for (int i = m->nlink - 1; i >= 0; i--) {
    const kn_link_const* c = &y->link[i];
    kn_art A;
    rigid_inertia(&A, c, d->kin.R + 3 * i);
    art_add(&A, &d->art[i]);
    int bad = eliminate(d, c, i, &A, d->diag);
    if (bad >= 0) return bad;
    if (c->parent >= 0) art_add(&d->art[c->parent], &A);
  }
  return -1;
}

/* Angular velocity and accelerations at joint accelerations qdd (NULL: 0); the base accelerates by a0. */
static void accelerations(kn_data* d, const double* v, const double* qdd, kn_v4 a0) {
  const kn_kin* k = &d->kin;
  for (int i = 0; i < d->model->nlink; i++) {
    const kn_link_const* c = &d->layout->link[i];
    kn_v4 wp = v4_zero(), alp = v4_zero(), ap = a0, r = k->r[i];
    if (c->parent >= 0) wp = d->wb[c->parent], alp = d->al[c->parent], ap = d->a[c->parent];
    kn_v4 sw = joint_angular(k, c, v);
    d->wb[i] = wp + sw;
    kn_v4 al = alp + v4_cross(wp, sw);
    kn_v4 a = ap + v4_cross(alp, r) + v4_cross(wp, v4_cross(wp, r));
    if (c->type == KN_LINK_SLIDE || c->type == KN_LINK_SCREW)
      a += v4_cross(wp, joint_linear(k, c, v)) * v4_splat(2.0);
    if (qdd) al += joint_angular(k, c, qdd), a += joint_linear(k, c, qdd);
    d->al[i] = al, d->a[i] = a;
  }
}

/* Inertial forces of the links about their origins:
   n = I al + h x a + w x I w,  f = m a + al x h + w x (w x h), with I v = R (I_l (Rᵀ v)). */
static void inertial_forces(kn_data* d) {
  for (int i = 0; i < d->model->nlink; i++) {
    const kn_link_const* c = &d->layout->link[i];
    const kn_v4* R = d->kin.R + 3 * i;
    kn_v4 w = d->wb[i], al = d->al[i], a = d->a[i], h = v4_mul33s(R, (const double*)&c->h);
    kn_v4 wl = v4_set(v4_dot(R[0], w), v4_dot(R[1], w), v4_dot(R[2], w));
    kn_v4 all = v4_set(v4_dot(R[0], al), v4_dot(R[1], al), v4_dot(R[2], al));
    kn_v4 Iw = v4_mul33(R, v4_mul33(c->I, wl)), Ial = v4_mul33(R, v4_mul33(c->I, all));
    d->n[i] = Ial + v4_cross(h, a) + v4_cross(w, Iw);
    d->f[i] = a * v4_splat(c->mass) + v4_cross(al, h) + v4_cross(w, v4_cross(w, h));
  }
}

/* e = tau - s.p, tips to root, with p in d->n, d->f (NULL tau: 0). */
static void sweep_back(kn_data* d, const double* tau, int stride) {
  const kn_kin* k = &d->kin;
  for (int i = d->model->nlink - 1; i >= 0; i--) {
    const kn_link_const* c = &d->layout->link[i];
    kn_v4 n = d->n[i], f = d->f[i];
    for (int j = c->v + c->nv - 1; j >= c->v; j--) {
      double e = (tau ? tau[(size_t)j * (size_t)stride] : 0.0) -
                 motion_dot(d->layout->dof_kind[j], k->sa[j], k->sl[j], n, f);
      d->e[j] = e;
      if (j == c->v) {
        if (c->parent < 0) break;
        n += v4_cross(k->r[i], f);
      }
      n += d->gn[j] * e, f += d->gf[j] * e;
    }
    if (c->parent >= 0) d->n[c->parent] += n, d->f[c->parent] += f;
  }
}

/* x_j = z_j - g.a_parent, a <- X a + s x, root to tips. z in d->e times dinv. */
static void sweep_out(double* x, kn_data* d, int stride) {
  const kn_kin* k = &d->kin;
  for (int i = 0; i < d->model->nlink; i++) {
    const kn_link_const* c = &d->layout->link[i];
    kn_v4 al = v4_zero(), a = v4_zero();
    if (c->parent >= 0) al = d->al[c->parent], a = d->a[c->parent];
    for (int j = c->v; j < c->v + c->nv; j++) {
      double z = d->e[j] * d->dinv[j];
      if (j > c->v || c->parent >= 0) z -= v4_sum(d->gn[j] * al + d->gf[j] * a);
      if (j == c->v) a += v4_cross(al, k->r[i]);
      al += k->sa[j] * z, a += k->sl[j] * z;
      x[(size_t)j * (size_t)stride] = z;
    }
    d->al[i] = al, d->a[i] = a;
  }
}

static void accelerate(double* qdd, kn_data* d, const double* v, const double* tau) {
  const double* g = d->model->gravity;
  accelerations(d, v, NULL, v4_set(-g[0], -g[1], -g[2]));
  inertial_forces(d);
  sweep_back(d, tau, 1);
  sweep_out(qdd, d, 1);
}

static void solve(double* x, kn_data* d, int stride) {
  memset(d->n, 0, sizeof(kn_v4) * (size_t)d->model->nlink);
  memset(d->f, 0, sizeof(kn_v4) * (size_t)d->model->nlink);
  sweep_back(d, x, stride);
  sweep_out(x, d, stride);
}

static void forward_half(double* x, kn_data* d) { sweep_out(x, d, 1); }

/* tau = M qdd + bias by the recursive Newton-Euler algorithm, without armature; v NULL: at rest. */
static void inverse(double* tau, kn_data* d, const double* v, const double* qdd, const double* g) {
  const kn_kin* k = &d->kin;
  accelerations(d, v, qdd, v4_set(-g[0], -g[1], -g[2]));
  inertial_forces(d);
  for (int i = d->model->nlink - 1; i >= 0; i--) {
    const kn_link_const* c = &d->layout->link[i];
    kn_v4 n = d->n[i], f = d->f[i];
    for (int j = c->v; j < c->v + c->nv; j++)
      tau[j] = motion_dot(d->layout->dof_kind[j], k->sa[j], k->sl[j], n, f);
    if (c->parent >= 0) d->n[c->parent] += n + v4_cross(k->r[i], f), d->f[c->parent] += f;
  }
}

static void bias_acceleration(kn_data* d, const double* v) { accelerations(d, v, NULL, v4_zero()); }
