/* Mass matrix by composite rigid bodies (Featherstone 2008, Table 6.2), in world axes about link origins, and
   the tree-sparse factorisation M = Lᵀ D L (Table 6.3, with D apart): entries exist only between a dof and
   its ancestors, and stay there. */
#include <string.h>

#include "dynamics/tree/data.h"

/* n = I al + Gᵀ a, f = G al + M a */
static void multiply(kn_v4* n, kn_v4* f, const kn_art* A, kn_v4 al, kn_v4 a) {
  *n = v4_add(v4_mul33(A->I, al), v4_mul33t(A->G, a));
  *f = v4_add(v4_mul33(A->G, al), v4_mul33(A->M, a));
}

/* A rigid body is mass, first moment and inertia: A is rebuilt from these at the parent's origin. */
static void composite(kn_data* d, const kn_model* m) {
  for (int i = 0; i < m->nlink; i++) {
    const kn_link_const* c = &d->layout->link[i];
    const kn_v4* R = d->kin.link[i].R;
    kn_v4 B[3], h = v4_mul33(R, c->h);
    kn_art* A = &d->art[i];
    for (int k = 0; k < 3; k++) B[k] = v4_mul33(R, c->I[k]);
    kn_v4 Rt[3];
    v4_transpose(Rt, R);
    for (int k = 0; k < 3; k++) A->I[k] = v4_mul33(B, Rt[k]);
    A->G[0] = v4_set(0, -v4_z(h), v4_y(h)), A->G[1] = v4_set(v4_z(h), 0, -v4_x(h));
    A->G[2] = v4_set(-v4_y(h), v4_x(h), 0);
    for (int k = 0; k < 3; k++) A->M[k] = v4_set(c->mass * (k == 0), c->mass * (k == 1), c->mass * (k == 2));
  }
  const kn_v4 unit[3] = {v4_set(1, 0, 0), v4_set(0, 1, 0), v4_set(0, 0, 1)};
  for (int i = m->nlink - 1; i >= 0; i--) {
    int p = m->link[i].parent;
    if (p < 0) continue;
    kn_art *A = &d->art[i], *P = &d->art[p];
    kn_v4 r = d->kin.link[i].r;
    for (int k = 0; k < 3; k++) { /* columns: response to unit motions of the parent's origin */
      kn_v4 n, f;
      multiply(&n, &f, A, unit[k], v4_cross(unit[k], r));
      P->I[k] = v4_add3(P->I[k], n, v4_cross(r, f));
      P->G[k] = v4_add(P->G[k], f), P->M[k] = v4_add(P->M[k], A->M[k]);
    }
  }
}

void kn_crba(double* M, kn_data* data, const kn_model* model) {
  kn_data_fill(data);
  size_t nv = (size_t)model->nv;
  const kn_kin* k = &data->kin;
  memset(M, 0, sizeof(double) * nv * nv);
  composite(data, model);
  for (int i = model->nlink - 1; i >= 0; i--) {
    const kn_link* l = &model->link[i];
    for (int j = l->v; j < l->v + l->nv; j++) {
      kn_v4 n, f;
      multiply(&n, &f, &data->art[i], k->dof[j].sa, k->dof[j].sl);
      for (int b = i; b >= 0; b = model->link[b].parent) {
        const kn_link* u = &model->link[b];
        int top = b == i ? j : u->v + u->nv - 1;
        for (int t = top; t >= u->v; t--) {
          double x = v4_dot2(k->dof[t].sa, n, k->dof[t].sl, f);
          M[(size_t)j * nv + (size_t)t] = M[(size_t)t * nv + (size_t)j] = x;
        }
        n = v4_add(n, v4_cross(k->link[b].r, f));
      }
    }
  }
  for (size_t j = 0; j < nv; j++) M[j * nv + j] += model->armature[j];
}

void kn_crba_diagonal(double* diagonal, kn_data* data, const kn_model* model) {
  kn_data_fill(data);
  composite(data, model);
  for (int i = 0; i < model->nlink; i++)
    for (int j = model->link[i].v; j < model->link[i].v + model->link[i].nv; j++) {
      const kn_dof_motion* s = &data->kin.dof[j];
      kn_v4 n, f;
      multiply(&n, &f, &data->art[i], s->sa, s->sl);
      diagonal[j] = v4_dot2(s->sa, n, s->sl, f) + model->armature[j];
    }
}

int kn_ltdl_factor(double* M, const kn_data* data, const kn_model* model) {
  size_t nv = (size_t)model->nv;
  const int32_t* up = data->layout->dof_parent;
  for (int k = model->nv - 1; k >= 0; k--) {
    double* row = M + (size_t)k * nv;
    if (!(row[k] > 0.0)) return k;
    for (int i = up[k]; i >= 0; i = up[i]) {
      double a = row[i] / row[k];
      for (int j = i; j >= 0; j = up[j]) M[(size_t)i * nv + (size_t)j] -= a * row[j];
      row[i] = a;
    }
  }
  return -1;
}

void kn_ltdl_solve(double* x, const double* LD, const kn_data* data, const kn_model* model) {
  size_t nv = (size_t)model->nv;
  const int32_t* up = data->layout->dof_parent;
  for (int k = model->nv - 1; k >= 0; k--)
    for (int i = up[k]; i >= 0; i = up[i]) x[i] -= LD[(size_t)k * nv + (size_t)i] * x[k];
  for (size_t k = 0; k < nv; k++) x[k] /= LD[k * nv + k];
  for (int k = 0; k < model->nv; k++)
    for (int i = up[k]; i >= 0; i = up[i]) x[k] -= LD[(size_t)k * nv + (size_t)i] * x[i];
}
