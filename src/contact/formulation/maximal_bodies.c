/* The bodies of the non-minimal formulations as state: every unit has its own velocity and pose, and moves by
   itself over a step,

     p ← p + dt (v + v⁺)/2,   R ← exp(dt (ω + ω⁺)/2) R.

   The hinges hold velocities only, so the poses leave them by O(dt²) to O(dt³) a step. That drift is
   measured, as the distance e of the bodies from the nearest closed position in the metric of their inertias,

     min_q ½ Σ_u |X_u ⊖ FK_u(q)|²_{M_u}:   q ← q ⊕ M(q)⁻¹ Σ J_uᵀ M_u e_u   (Gauss-Newton),

   and removed by moving them there. With hinge_bias the rows follow the hinges' curvature, and the closed
   position is the one of the joint rates, so that the step equals OS. Without control the bodies drift on,
   and the geometry of the next step is that of the nearest closed position.

   Block: V (6 per unit), poses (7 per unit), and the q and v they belong to: bodies start anew when the state
   was changed from outside. */
#include <math.h>
#include <string.h>

#include "contact/formulation/maximal.h"
#include "spatial/spatial.h"

enum { POSE = 7, ROUNDS = 8 };

size_t kn_bodies_bytes(const kn_model* model) {
  int hinge_rows, units = kn_maximal_units(model, &hinge_rows);
  return ((size_t)(6 + POSE) * (size_t)units + (size_t)model->nq + (size_t)model->nv) * sizeof(double);
}

typedef struct parts {
  double *V, *pose, *q, *v;
} parts;

static parts parts_of(double* block, const kn_contact_work* w) {
  const kn_maximal* x = w->own;
  double* pose = block + x->n;
  double* q = pose + (size_t)POSE * x->units;
  return (parts){block, pose, q, q + w->model->nq};
}

bool kn_bodies_current(double* block, const kn_contact_work* w, const double* q, const double* v) {
  parts b = parts_of(block, w);
  return memcmp(b.q, q, (size_t)w->model->nq * sizeof(double)) == 0 &&
         memcmp(b.v, v, (size_t)w->model->nv * sizeof(double)) == 0;
}

static void read_poses(double* pose, const kn_contact_work* w) {
  const kn_maximal* x = w->own;
  for (int u = 0; u < x->units; u++, pose += POSE) {
    kn_pose p;
    kn_link_pose(&p, w->data, x->unit[u].link);
    kn_copy3(pose, p.p);
    kn_quat_from_rotation(pose + 3, p.R);
  }
}

/* Each body by itself with the mean of its velocities. */
static void move(double* pose, const kn_maximal* x, double dt) {
  for (int u = 0; u < x->units; u++, pose += POSE) {
    const double *a = x->V_begin + 6 * u, *b = x->V_end + 6 * u;
    double turn[3], step[4];
    for (int k = 0; k < 3; k++) {
      turn[k] = 0.5 * dt * (a[k] + b[k]);
      pose[k] += 0.5 * dt * (a[3 + k] + b[3 + k]);
    }
    kn_quat_exp(step, turn);
    kn_quat_mul(pose + 3, step, pose + 3);
    kn_quat_normalize(pose + 3, pose + 3);
  }
}

/* e = X ⊖ FK at the present poses of the data: rotation vector and displacement, world axes. Returns the
   largest entry. */
static double apart(double* e, const kn_contact_work* w, const double* pose) {
  const kn_maximal* x = w->own;
  double most = 0.0;
  for (int u = 0; u < x->units; u++, pose += POSE, e += 6) {
    kn_pose p;
    double R[9], left[9], quat[4];
    kn_link_pose(&p, w->data, x->unit[u].link);
    kn_quat_to_matrix(R, pose + 3);
    kn_mul33t(left, R, p.R);
    kn_quat_from_rotation(quat, left);
    kn_quat_log(e, quat);
    kn_sub3(e + 3, pose, p.p);
    for (int k = 0; k < 6; k++) most = fmax(most, fabs(e[k]));
  }
  return most;
}

/* d = M(q)⁻¹ Σ J_uᵀ M_u e_u at the present poses. */
static kn_status pull(double* d, kn_contact_work* w, const double* e) {
  kn_maximal* x = w->own;
  kn_maximal_inertias(w);
  kn_maximal_probes(x);
  for (int u = 0; u < x->units; u++)
    for (int i = 0; i < 6; i++) {
      x->t[6 * u + i] = 0.0;
      for (int k = 0; k < 6; k++) x->t[6 * u + i] += x->unit[u].M[6 * i + k] * e[6 * u + k];
    }
  memset(d, 0, (size_t)w->model->nv * sizeof(double));
  kn_rows_force(d, w->data, w->model, x->probe, 2 * x->units, x->t);
  kn_status status = kn_dyn_factor(w->data, w->model, NULL);
  if (status == KN_OK) kn_dyn_solve(d, w->data, w->model, 1);
  return status;
}

/* The closed position nearest to the poses, from the guess in q; how far the bodies are from it. Poses that
   are out of reach (nothing gets closer) leave q as it was. */
static kn_status nearest(double* q, double* drift, kn_contact_work* w, const double* pose) {
  kn_maximal* x = w->own;
  const kn_model* m = w->model;
  double last = INFINITY;
  for (int round = 0; round < ROUNDS; round++) {
    double size = 0.0;
    kn_dyn_position(w->data, m, q);
    *drift = apart(x->bias, w, pose);
    kn_status status = pull(x->d, w, x->bias);
    if (status != KN_OK) return status;
    for (int i = 0; i < m->nv; i++) size = fmax(size, fabs(x->d[i]));
    if (!(size < last) || size < 1e-15) break;
    last = size;
    kn_dyn_integrate(x->q, m, q, x->d, 1.0);
    memcpy(q, x->q, (size_t)m->nq * sizeof(double));
  }
  return KN_OK;
}

/* The part of e that no motion of the joints explains, e - J d: the distance from the hinges at first order.
 */
static kn_status measure(double* drift, kn_contact_work* w, const double* q, const double* pose) {
  kn_maximal* x = w->own;
  kn_dyn_position(w->data, w->model, q);
  apart(x->bias, w, pose);
  kn_status status = pull(x->d, w, x->bias);
  if (status != KN_OK) return status;
  kn_maximal_velocity(x->t, w, x->d);
  *drift = 0.0;
  for (int i = 0; i < x->n; i++) *drift = fmax(*drift, fabs(x->bias[i] - x->t[i]));
  return KN_OK;
}

kn_status kn_bodies_advance(double* q, double* drift, double* block, bool current, kn_contact_work* w,
                            const double* q_before, double dt, bool hinge_bias, bool control) {
  kn_maximal* x = w->own;
  parts b = parts_of(block, w);
  if (!current) {
    kn_dyn_position(w->data, w->model, q_before);
    read_poses(b.pose, w);
  }
  move(b.pose, x, dt);
  kn_status status = hinge_bias ? measure(drift, w, q, b.pose) : nearest(q, drift, w, b.pose);
  if (status != KN_OK || !(control || hinge_bias)) return status;
  kn_dyn_position(w->data, w->model, q);
  read_poses(b.pose, w);
  return KN_OK;
}

void kn_bodies_keep(double* block, kn_contact_work* w, const double* q, const double* v, bool moved) {
  const kn_maximal* x = w->own;
  parts b = parts_of(block, w);
  memcpy(b.V, x->V_end, (size_t)x->n * sizeof(double));
  if (moved) read_poses(b.pose, w);
  memcpy(b.q, q, (size_t)w->model->nq * sizeof(double));
  memcpy(b.v, v, (size_t)w->model->nv * sizeof(double));
}
