/* The mass matrix at the reference position, for damping ratios. Composite rigid bodies in world axes about
   the world origin: with S_i = [ω_i; v_i] the twist of dof i (v of the point at the origin) and (m, h, I) the
   mass, first and second moments of all bodies below it, M_ij = ω_i·(I ω_j + h × v_j) + v_i·(m v_j − h × ω_j)
   for j on the path from i to the root, plus the armature on the diagonal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "load/mjcf/mjcf.h"
#include "spatial/spatial.h"

typedef struct composite {
  double m, h[3], I[9];
} composite;

typedef struct twist {
  double w[3], v[3];
  int body;
} twist;

static composite of_body(const kn_mj_body* b) {
  const kn_body_def* d = &b->def;
  composite c = {.m = d->mass};
  double axes[9], R[9], RI[9],
      T[9] = {d->inertia[0], d->inertia[3], d->inertia[4], d->inertia[3], d->inertia[1],
              d->inertia[5], d->inertia[4], d->inertia[5], d->inertia[2]};
  double p[3];
  kn_quat_to_matrix(axes, d->inertia_quat);
  kn_mul33(R, b->world.R, axes);
  kn_mul33(RI, R, T);
  kn_pose_apply(p, &b->world, d->com);
  double pp = kn_dot3(p, p);
  for (int i = 0; i < 3; i++) {
    c.h[i] = d->mass * p[i];
    for (int j = 0; j < 3; j++)
      c.I[3 * i + j] = RI[3 * i] * R[3 * j] + RI[3 * i + 1] * R[3 * j + 1] + RI[3 * i + 2] * R[3 * j + 2] +
                       d->mass * ((i == j ? pp : 0.0) - p[i] * p[j]);
  }
  return c;
}

static void gather_twists(twist* s, const kn_mj_loader* l) {
  for (int k = 0; k < l->joint.count; k++) {
    const kn_mj_joint* j = &l->joint.at[k];
    const kn_pose* X = &l->body.at[j->def.body].world;
    double p[3];
    kn_pose_apply(p, X, j->def.pos);
    for (int i = 0; i < j->nv; i++) {
      twist* t = &s[j->v + i];
      double u[3] = {0, 0, 0};
      bool slide = j->def.type == KN_JOINT_SLIDE || (j->def.type == KN_JOINT_FREE && i < 3);
      *t = (twist){.body = j->def.body};
      if (j->nv == 1)
        kn_mul33v(u, X->R, j->def.axis), kn_unit3(u);
      else if (slide)
        u[i] = 1.0; /* free joints translate along world axes */
      else
        u[i % 3] = 1.0, kn_mul33v(u, X->R, u);
      if (slide)
        memcpy(t->v, u, sizeof u);
      else
        memcpy(t->w, u, sizeof u), kn_cross3(t->v, p, u);
    }
  }
}

static double couple(const twist* a, const composite* c, const twist* b) {
  double Iw[3], hv[3], hw[3];
  kn_mul33v(Iw, c->I, b->w);
  kn_cross3(hv, c->h, b->v);
  kn_cross3(hw, c->h, b->w);
  double sum = 0.0;
  for (int i = 0; i < 3; i++) sum += a->w[i] * (Iw[i] + hv[i]) + a->v[i] * (c->m * b->v[i] - hw[i]);
  return sum;
}

static bool above(const kn_mj_loader* l, int a, int b) { /* a on the path from b to the root */
  while (b > a) b = l->body.at[b].def.parent;
  return a == b;
}

kn_status kn_mj_reference_inertia(kn_mj_inertia* out, const kn_mj_loader* l) {
  int n = l->joint.count ? l->joint.at[l->joint.count - 1].v + l->joint.at[l->joint.count - 1].nv : 0;
  if (n > 4000)
    return kn_fail(KN_UNSUPPORTED, "damping ratios in a model with %d dofs, expected at most 4000", n);
  size_t N = (size_t)n;
  *out =
      (kn_mj_inertia){.n = n, .M = calloc(N * N + 1, sizeof(double)), .L = calloc(N * N + 1, sizeof(double))};
  composite* c = calloc((size_t)l->body.count + 1, sizeof *c);
  twist* s = calloc(N + 1, sizeof *s);
  kn_status status =
      out->M && out->L && c && s ? KN_OK : kn_fail(KN_OUT_OF_MEMORY, "no memory for %d dofs", n);
  if (status == KN_OK) {
    gather_twists(s, l);
    for (int i = 0; i < l->body.count; i++) c[i] = of_body(&l->body.at[i]);
    for (int i = l->body.count - 1; i >= 0; i--) {
      int p = l->body.at[i].def.parent;
      if (p < 0) continue;
      c[p].m += c[i].m;
      for (int k = 0; k < 3; k++) c[p].h[k] += c[i].h[k];
      for (int k = 0; k < 9; k++) c[p].I[k] += c[i].I[k];
    }
    for (int i = 0; i < n; i++)
      for (int j = 0; j <= i; j++)
        if (above(l, s[j].body, s[i].body))
          out->M[(size_t)i * N + (size_t)j] = out->M[(size_t)j * N + (size_t)i] =
              couple(&s[j], &c[s[i].body], &s[i]);
    for (int k = 0; k < l->joint.count; k++)
      for (int i = l->joint.at[k].v; i < l->joint.at[k].v + l->joint.at[k].nv; i++)
        out->M[(size_t)i * (N + 1)] += l->joint.at[k].def.armature;
  }
  free(c);
  free(s);
  return status;
}

static void factor(kn_mj_inertia* in) {
  size_t n = (size_t)in->n;
  in->factored = true;
  memcpy(in->L, in->M, n * n * sizeof(double));
  double* L = in->L;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      double sum = L[i * n + j];
      for (size_t k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
      if (i == j) {
        if (!(sum > 0.0)) {
          in->singular = true;
          return;
        }
        L[i * n + i] = sqrt(sum);
      } else {
        L[i * n + j] = sum / L[j * n + j];
      }
    }
}

bool kn_mj_reflected(double* mass, kn_mj_inertia* in, double* J) {
  if (!in->factored) factor(in);
  if (in->singular) return false;
  size_t n = (size_t)in->n;
  double sum = 0.0; /* |L⁻¹ Jᵀ|² */
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) J[i] -= in->L[i * n + k] * J[k];
    J[i] /= in->L[i * n + i];
    sum += J[i] * J[i];
  }
  *mass = sum > 0.0 ? 1.0 / sum : 0.0;
  return sum > 0.0;
}

void kn_mj_inertia_free(kn_mj_inertia* in) {
  free(in->M);
  free(in->L);
  *in = (kn_mj_inertia){0};
}
