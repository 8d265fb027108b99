/* Energy, momentum, centre of mass. They run their own kinematics in the second set of kn_data, so that the
   stages of the step stay as they are. */
#include "dynamics/tree/dynamics.h"
#include "dynamics/tree/kernel.h"

/* Link momentum about its origin: p = m v + w x h, l = I w + h x v. */
static void momentum_of(kn_v4* l, kn_v4* p, kn_v4* h, const kn_data* d, int i) {
  const kn_link_const* c = &d->layout->link[i];
  const kn_v4* R = d->aux.link[i].R;
  kn_v4 w = d->aux.link[i].w, v = d->aux.link[i].vo;
  *h = v4_mul33(R, c->h);
  *p = v4_add(v4_scale(v, c->mass), v4_cross(w, *h));
  *l = v4_add(v4_mul33(R, v4_mul33(c->I, v4_mul33t(R, w))), v4_cross(*h, v));
}

static void kinematics(kn_data* d, const double* q, const double* v) {
  const kn_dyn_table* t = kn_dyn_kernels();
  t->position(&d->aux, d, q);
  if (d->aux.lean) {
    kn_data_swap(d);
    kn_data_fill(d);
    kn_data_swap(d);
  }
  t->velocity(&d->aux, d, v);
}

/* Armature and springs. */
static void joint_energy(kn_energy* energy, const kn_data* data, const double* q, const double* v) {
  const kn_model* model = data->model;
  double sum = 0.0;
  energy->spring = 0.0;
  if (!data->layout->has_armature && !data->layout->has_springs) return;
  for (int j = 0; j < model->nv; j++) sum += model->armature[j] * v[j] * v[j];
  energy->kinetic += 0.5 * sum;
  if (data->layout->has_springs) energy->spring = kn_spring_energy(model, q);
}

void kn_dyn_energy(kn_energy* energy, kn_data* data, const kn_model* model, const double* q,
                   const double* v) {
  (void)model;
  if (data->layout->chain && data->layout->planar) {
    kn_dyn_kernels()->arrive(energy, &data->aux, data, q, v);
  } else {
    kinematics(data, q, v);
    kn_dyn_kernels()->energy(energy, &data->aux, data);
  }
  joint_energy(energy, data, q, v);
}

void kn_dyn_tree_energy(double* all, double* kinetic, kn_data* data, const kn_model* model, const double* q,
                        const double* v) {
  const kn_layout* y = data->layout;
  const kn_v4 g = v4_load3(model->gravity);
  kinematics(data, q, v);
  for (int j = 0; j < model->nv; j++) all[j] = kinetic[j] = 0.0;
  for (int i = 0; i < model->nlink; i++) {
    int root = kn_root_link(model, i);
    kn_v4 l, p, h;
    double mass = y->link[i].mass;
    momentum_of(&l, &p, &h, data, i);
    double K = 0.5 * (v4_sum(v4_mul(p, data->aux.link[i].vo)) + v4_sum(v4_mul(l, data->aux.link[i].w)));
    for (int j = y->link[i].v; j < y->link[i].v + y->link[i].nv; j++)
      K += 0.5 * model->armature[j] * v[j] * v[j];
    if (y->has_gravcomp) {
      mass -= y->grav_mass[i];
      h = v4_sub(h, v4_mul33(data->aux.link[i].R, y->grav_h[i]));
    }
    kinetic[model->link[root].v] += K;
    all[model->link[root].v] += K - v4_sum(v4_mul(g, v4_axpy(h, mass, data->aux.link[i].o)));
  }
}

void kn_dyn_energy_here(kn_energy* energy, kn_data* data, const kn_model* model, const double* q,
                        const double* v) {
  (void)model;
  kn_dyn_kernels()->energy_here(energy, &data->kin, data, v);
  joint_energy(energy, data, q, v);
}

void kn_dyn_arrive(kn_energy* energy, kn_data* data, const kn_model* model, const double* q,
                   const double* v) {
  (void)model;
  data->factored = 0;
  kn_dyn_kernels()->arrive(energy, &data->kin, data, q, v);
  joint_energy(energy, data, q, v);
}

void kn_dyn_momentum(double linear[3], double angular[3], double com[3], kn_data* data, const kn_model* model,
                     const double* q, const double* v) {
  kn_v4 P = v4_zero(), L = v4_zero(), C = v4_zero();
  double m = 0.0;
  kinematics(data, q, v);
  for (int i = 0; i < model->nlink; i++) {
    kn_v4 l, p, h, o = data->aux.link[i].o;
    double mass = data->layout->link[i].mass;
    momentum_of(&l, &p, &h, data, i);
    P = v4_add(P, p), L = v4_add3(L, l, v4_cross(o, p));
    C = v4_add(C, v4_axpy(h, mass, o)), m += mass;
  }
  if (m > 0.0) C = v4_scale(C, 1.0 / m);
  if (linear) v4_store3(linear, P);
  if (angular) v4_store3(angular, L);
  if (com) v4_store3(com, C);
}
