/* Plain mechanics for the verifier, from the definitions of bodies and joints, body by body in world axes.

   A joint takes the frame of its body from before to after. With ω, α and the acceleration of points of the
   frame before it,
     turn about u through P:  ω' = ω + u q̇,  α' = α + ω × u q̇,  a_P as before
     slide along u by s:      ω' = ω,  α' = α,  a_o' = a(o + u s) + 2 ω × u ṡ
   and over all bodies, with the Jacobians of their centres and spins,
     M = Σ m Jᵥᵀ Jᵥ + J_ωᵀ I J_ω + armature
     c = Σ Jᵥᵀ m (a − g) + J_ωᵀ (I α + ω × I ω)
   M has one block per tree (a body on the world with all that hangs on it). */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "record/verify/verify.h"

static void cross(double out[3], const double a[3], const double b[3]) {
  double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  for (int i = 0; i < 3; i++) out[i] = c[i];
}
static void rotate(double out[3], const double R[9], const double x[3]) {
  double y[3] = {kn_plain_dot(R, x), kn_plain_dot(R + 3, x), kn_plain_dot(R + 6, x)};
  for (int i = 0; i < 3; i++) out[i] = y[i];
}
static void product(double out[9], const double A[9], const double B[9]) {
  double C[9];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
  for (int i = 0; i < 9; i++) out[i] = C[i];
}
static void of_quat(double R[9], const double p[4]) {
  double n = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]), w = p[0] / n, x = p[1] / n,
         y = p[2] / n, z = p[3] / n;
  double T[9] = {w * w + x * x - y * y - z * z, 2 * (x * y - w * z),           2 * (x * z + w * y),
                 2 * (x * y + w * z),           w * w - x * x + y * y - z * z, 2 * (y * z - w * x),
                 2 * (x * z - w * y),           2 * (y * z + w * x),           w * w - x * x - y * y + z * z};
  for (int i = 0; i < 9; i++) R[i] = T[i];
}
/* Rodrigues: rotation about a unit axis. */
static void about(double R[9], const double u[3], double angle) {
  double c = cos(angle), s = sin(angle), t = 1.0 - c;
  double T[9] = {c + t * u[0] * u[0],        t * u[0] * u[1] - s * u[2], t * u[0] * u[2] + s * u[1],
                 t * u[0] * u[1] + s * u[2], c + t * u[1] * u[1],        t * u[1] * u[2] - s * u[0],
                 t * u[0] * u[2] - s * u[1], t * u[1] * u[2] + s * u[0], c + t * u[2] * u[2]};
  for (int i = 0; i < 9; i++) R[i] = T[i];
}

/* ---- placing ---- */

/* Acceleration of the frame's point x. */
static void acceleration(double out[3], const kn_plain_body* f, const double x[3]) {
  double d[3] = {x[0] - f->o[0], x[1] - f->o[1], x[2] - f->o[2]}, a[3], b[3];
  cross(a, f->al, d);
  cross(b, f->w, d);
  cross(b, f->w, b);
  for (int i = 0; i < 3; i++) out[i] = f->ao[i] + a[i] + b[i];
}

static kn_plain_dof* next_dof(kn_plain* p, int v, kn_body body, bool linear, const double u[3],
                              const double point[3]) {
  kn_plain_dof* d = &p->dof[v];
  d->body = body;
  d->linear = linear;
  for (int i = 0; i < 3; i++) d->u[i] = u[i], d->point[i] = point[i];
  return d;
}

/* Turns the frame by rotation T (world axes) about the body point `anchor`, with relative angular velocity
 * rel. */
static void turn(kn_plain_body* f, const double anchor[3], const double T[9], const double rel[3]) {
  double P[3], aP[3], g[3], d[3], a[3], b[3];
  rotate(P, f->R, anchor);
  for (int i = 0; i < 3; i++) P[i] += f->o[i];
  acceleration(aP, f, P);
  cross(g, f->w, rel);
  product(f->R, T, f->R);
  rotate(d, f->R, anchor);
  for (int i = 0; i < 3; i++) f->al[i] += g[i], f->w[i] += rel[i], f->o[i] = P[i] - d[i], d[i] = -d[i];
  cross(a, f->al, d);
  cross(b, f->w, d);
  cross(b, f->w, b);
  for (int i = 0; i < 3; i++) f->ao[i] = aP[i] + a[i] + b[i];
}

static void hinge(kn_plain* p, kn_plain_body* f, kn_body body, const double anchor[3], const double axis[3],
                  double q, double v, int dof) {
  double u[3], P[3], T[9], rel[3];
  rotate(u, f->R, axis);
  rotate(P, f->R, anchor);
  for (int i = 0; i < 3; i++) P[i] += f->o[i], rel[i] = u[i] * v;
  next_dof(p, dof, body, false, u, P);
  about(T, u, q);
  turn(f, anchor, T, rel);
}

static void slide(kn_plain* p, kn_plain_body* f, kn_body body, const double axis[3], double q, double v,
                  int dof) {
  double u[3], x[3], a[3], s[3], k[3];
  rotate(u, f->R, axis);
  next_dof(p, dof, body, true, u, f->o);
  for (int i = 0; i < 3; i++) x[i] = f->o[i] + u[i] * q, s[i] = u[i] * v;
  acceleration(a, f, x);
  cross(k, f->w, s);
  for (int i = 0; i < 3; i++) f->o[i] = x[i], f->ao[i] = a[i] + 2.0 * k[i];
}

static void ball(kn_plain* p, kn_plain_body* f, kn_body body, const double anchor[3], const double* q,
                 const double* v, int dof) {
  double T[9], B[9], Rt[9], P[3], rel[3], e[3];
  rotate(P, f->R, anchor);
  for (int i = 0; i < 3; i++) P[i] += f->o[i];
  of_quat(B, q); /* in the axes before: R' = R B, so T = R B Rᵀ */
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) Rt[3 * i + j] = f->R[3 * j + i];
  product(T, f->R, B);
  product(T, T, Rt);
  double after[9];
  product(after, T, f->R);
  rotate(rel, after, v);
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < 3; i++) e[i] = after[3 * i + k];
    next_dof(p, dof + k, body, false, e, P);
  }
  turn(f, anchor, T, rel);
}

static void free_body(kn_plain* p, kn_plain_body* f, kn_body body, const double* q, const double* v,
                      int dof) {
  double e[3];
  of_quat(f->R, q + 3);
  for (int i = 0; i < 3; i++) f->o[i] = q[i], f->al[i] = f->ao[i] = 0.0;
  rotate(f->w, f->R, v + 3);
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < 3; i++) e[i] = i == k;
    next_dof(p, dof + k, body, true, e, f->o);
    for (int i = 0; i < 3; i++) e[i] = f->R[3 * i + k];
    next_dof(p, dof + 3 + k, body, false, e, f->o);
  }
}

static void joint(kn_plain* p, kn_plain_body* f, int j, const double* q, const double* v) {
  const kn_joint_def* d = &p->model->joint[j];
  int aq, nq, av, nv;
  if (kn_model_joint_address(&aq, &nq, &av, &nv, p->model, j) != KN_OK || nv == 0) return;
  double second[3], x = q[aq] - d->ref[0];
  q += aq;
  v += av;
  switch (d->type) {
  case KN_JOINT_HINGE: hinge(p, f, d->body, d->pos, d->axis, x, v[0], av); break;
  case KN_JOINT_SLIDE: slide(p, f, d->body, d->axis, x, v[0], av); break;
  case KN_JOINT_BALL: ball(p, f, d->body, d->pos, q, v, av); break;
  case KN_JOINT_FREE: free_body(p, f, d->body, q, v, av); break;
  case KN_JOINT_PLANAR:
    cross(second, d->axis, d->axis2);
    slide(p, f, d->body, d->axis2, x, v[0], av);
    slide(p, f, d->body, second, q[1] - d->ref[1], v[1], av + 1);
    hinge(p, f, d->body, d->pos, d->axis, q[2] - d->ref[2], v[2], av + 2);
    break;
  case KN_JOINT_UNIVERSAL:
    hinge(p, f, d->body, d->pos, d->axis, x, v[0], av);
    hinge(p, f, d->body, d->pos, d->axis2, q[1] - d->ref[1], v[1], av + 1);
    break;
  case KN_JOINT_CYLINDRICAL:
    slide(p, f, d->body, d->axis, x, v[0], av);
    hinge(p, f, d->body, d->pos, d->axis, q[1] - d->ref[1], v[1], av + 1);
    break;
  default: break; /* screws are refused when the verifier is made */
  }
}

void kn_plain_place(kn_plain* p, const double* q, const double* v) {
  const kn_model* m = p->model;
  int j = 0;
  for (int b = 0; b < m->nbody; b++) {
    const kn_body_def* d = &m->body[b];
    kn_plain_body* f = &p->body[b];
    double local[9], shift[3];
    of_quat(local, d->quat);
    if (d->parent == KN_WORLD) {
      *f = (kn_plain_body){0};
      for (int i = 0; i < 9; i++) f->R[i] = local[i];
      for (int i = 0; i < 3; i++) f->o[i] = d->pos[i];
    } else {
      const kn_plain_body* up = &p->body[d->parent];
      *f = *up;
      rotate(shift, up->R, d->pos);
      for (int i = 0; i < 3; i++) shift[i] += up->o[i];
      acceleration(f->ao, up, shift);
      for (int i = 0; i < 3; i++) f->o[i] = shift[i];
      product(f->R, up->R, local);
    }
    for (j = 0; j < m->njoint; j++)
      if (m->joint[j].body == b) joint(p, f, j, q, v);
    double axes[9], RI[9], T[9] = {d->inertia[0], d->inertia[3], d->inertia[4], d->inertia[3], d->inertia[1],
                                   d->inertia[5], d->inertia[4], d->inertia[5], d->inertia[2]};
    of_quat(axes, d->inertia_quat);
    product(axes, f->R, axes);
    product(RI, axes, T);
    for (int i = 0; i < 3; i++)
      for (int k = 0; k < 3; k++)
        f->I[3 * i + k] =
            RI[3 * i] * axes[3 * k] + RI[3 * i + 1] * axes[3 * k + 1] + RI[3 * i + 2] * axes[3 * k + 2];
    rotate(f->com, f->R, d->com);
    for (int i = 0; i < 3; i++) f->com[i] += f->o[i];
  }
}

void kn_plain_column(double out[3], const kn_plain* p, const double point[3], int dof) {
  const kn_plain_dof* d = &p->dof[dof];
  if (d->linear) {
    for (int i = 0; i < 3; i++) out[i] = d->u[i];
    return;
  }
  double r[3] = {point[0] - d->point[0], point[1] - d->point[1], point[2] - d->point[2]};
  cross(out, d->u, r);
}

/* The dofs that move a body; none for the world. */
static int chain_of(const int** dof, const kn_plain* p, kn_body body) {
  const kn_plain_plan* plan = p->plan;
  if (body == KN_WORLD) return 0;
  *dof = plan->chain + plan->chain_at[body];
  return plan->chain_at[body + 1] - plan->chain_at[body];
}

void kn_plain_velocity(double out[3], const kn_plain* p, kn_body body, const double point[3],
                       const double* v) {
  const int* dof = NULL;
  double col[3];
  out[0] = out[1] = out[2] = 0.0;
  for (int k = 0, n = chain_of(&dof, p, body); k < n; k++) {
    kn_plain_column(col, p, point, dof[k]);
    for (int i = 0; i < 3; i++) out[i] += col[i] * v[dof[k]];
  }
}

void kn_plain_spin(double out[3], const kn_plain* p, kn_body body, const double* v) {
  const int* dof = NULL;
  out[0] = out[1] = out[2] = 0.0;
  for (int k = 0, n = chain_of(&dof, p, body); k < n; k++)
    for (int i = 0; i < 3 && !p->dof[dof[k]].linear; i++) out[i] += p->dof[dof[k]].u[i] * v[dof[k]];
}

void kn_plain_take(double* r, double* size, const kn_plain* p, kn_body body, const double point[3],
                   const double f[3], double sign) {
  const int* dof = NULL;
  double col[3];
  for (int k = 0, n = chain_of(&dof, p, body); k < n; k++) {
    kn_plain_column(col, p, point, dof[k]);
    double x = kn_plain_dot(col, f);
    r[dof[k]] -= sign * x;
    if (size) *size = fmax(*size, fabs(x));
  }
}

void kn_plain_push(double* row, const kn_plain* p, const kn_contact* c, const double f[3]) {
  kn_plain_take(row, NULL, p, c->body_a, c->point, f, -1.0);
  kn_plain_take(row, NULL, p, c->body_b, c->point, f, 1.0);
}

void kn_plain_twist(double* r, double* size, const kn_plain* p, kn_body body, const double n[3],
                    double sign) {
  const int* dof = NULL;
  for (int k = 0, count = chain_of(&dof, p, body); k < count; k++) {
    if (p->dof[dof[k]].linear) continue;
    double x = kn_plain_dot(p->dof[dof[k]].u, n);
    r[dof[k]] -= sign * x;
    if (size) *size = fmax(*size, fabs(x));
  }
}

/* ---- M, c and energies ---- */

static void add_body(kn_plain* p, int b) {
  const kn_model* m = p->model;
  const kn_plain_body* f = &p->body[b];
  const kn_body_def* d = &m->body[b];
  const int* dof = NULL;
  double a[3], weight[3], Iw[3], Ia[3], g[3], *Jv = p->Jv, *Jw = p->Jw;
  int n = chain_of(&dof, p, b);
  acceleration(a, f, f->com);
  for (int i = 0; i < 3; i++) a[i] = d->mass * (a[i] - m->gravity[i]), weight[i] = d->mass * m->gravity[i];
  rotate(Iw, f->I, f->w);
  cross(g, f->w, Iw);
  rotate(Ia, f->I, f->al);
  for (int k = 0; k < n; k++) {
    kn_plain_column(Jv + 3 * k, p, f->com, dof[k]);
    for (int i = 0; i < 3; i++) Jw[3 * k + i] = p->dof[dof[k]].linear ? 0.0 : p->dof[dof[k]].u[i];
  }
  for (int k = 0; k < n; k++) {
    double Ij[3];
    int t = p->plan->tree[dof[k]], first = p->plan->first[t], size = p->plan->size[t];
    double* row = p->M + p->plan->block[t] + (size_t)(dof[k] - first) * (size_t)size;
    rotate(Ij, f->I, Jw + 3 * k);
    p->c[dof[k]] += kn_plain_dot(Jv + 3 * k, a) + kn_plain_dot(Jw + 3 * k, Ia) + kn_plain_dot(Jw + 3 * k, g);
    p->carry[dof[k]] -= d->gravcomp * kn_plain_dot(Jv + 3 * k, weight);
    for (int l = 0; l < n; l++)
      row[dof[l] - first] += d->mass * kn_plain_dot(Jv + 3 * k, Jv + 3 * l) + kn_plain_dot(Ij, Jw + 3 * l);
  }
  if (n) p->potential -= kn_plain_dot(weight, f->com) * (1.0 - d->gravcomp); /* what never moves has none */
}

double kn_plain_inertia(const kn_plain* p, int dof) {
  int t = p->plan->tree[dof];
  return p->M[p->plan->block[t] + (size_t)(dof - p->plan->first[t]) * (size_t)(p->plan->size[t] + 1)];
}

void kn_plain_matrices(kn_plain* p, const double* q, const double* v) {
  const kn_model* m = p->model;
  size_t n = (size_t)m->nv;
  memset(p->M, 0, p->plan->entries * sizeof(double));
  memset(p->c, 0, n * sizeof(double));
  memset(p->carry, 0, n * sizeof(double));
  p->factored = false;
  p->kinetic = p->potential = p->spring = 0.0;
  for (int b = 0; b < m->nbody; b++) add_body(p, b);
  for (int t = 0; t < p->plan->trees; t++)
    for (int i = 0; i < p->plan->size[t]; i++)
      p->M[p->plan->block[t] + (size_t)i * (size_t)(p->plan->size[t] + 1)] +=
          m->armature[p->plan->first[t] + i];
  double* x = p->Jv; /* M v, then the springs' deflection */
  memset(x, 0, n * sizeof *x);
  kn_plain_multiply(x, p, NULL, v);
  for (size_t i = 0; i < n; i++) p->kinetic += 0.5 * v[i] * x[i];
  kn_plain_way(x, m, m->q_spring, q);
  for (size_t i = 0; i < n; i++) p->spring += 0.5 * m->stiffness[i] * x[i] * x[i];
}

double kn_plain_multiply(double* r, const kn_plain* p, const double* extra, const double* x) {
  double most = 0.0;
  for (int t = 0; t < p->plan->trees; t++) {
    int n = p->plan->size[t], first = p->plan->first[t];
    const double *M = p->M + p->plan->block[t], *y = x + first;
    for (int i = 0; i < n; i++, M += n) {
      double sum = extra ? extra[first + i] * y[i] : 0.0;
      for (int k = 0; k < n; k++) {
        sum += M[k] * y[k];
        most = fmax(most, fabs(M[k] * y[k]));
      }
      r[first + i] += sum;
    }
  }
  return most;
}

/* Cholesky's factor of one tree's matrix. */
static void factor(double* L, const double* M, const double* extra, int n) {
  memcpy(L, M, (size_t)n * (size_t)n * sizeof *L);
  for (int i = 0; extra && i < n; i++) L[i * n + i] += extra[i];
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double sum = L[i * n + j];
      for (int k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
      L[i * n + j] = i == j ? sqrt(fmax(sum, 1e-300)) : sum / L[j * n + j];
    }
}

void kn_plain_solve(double* x, kn_plain* p, const double* extra) {
  for (int t = 0; t < p->plan->trees; t++) {
    int n = p->plan->size[t], first = p->plan->first[t];
    double *L = p->L + p->plan->block[t], *y = x + first;
    if (!p->factored) factor(L, p->M + p->plan->block[t], extra ? extra + first : NULL, n);
    bool any = false;
    for (int i = 0; i < n; i++) any |= y[i] != 0.0;
    for (int i = 0; i < n && any; i++) {
      for (int k = 0; k < i; k++) y[i] -= L[i * n + k] * y[k];
      y[i] /= L[i * n + i];
    }
    for (int i = n - 1; i >= 0 && any; i--) {
      for (int k = i + 1; k < n; k++) y[i] -= L[k * n + i] * y[k];
      y[i] /= L[i * n + i];
    }
  }
  p->factored = true;
}

/* ---- motion ---- */

/* A unit quaternion, also of a start given with a few digits only: such a one stands for the turn it is in proportion to. */
static void advance_quat(double out[4], const double q[4], const double w[3], double dt) {
  double n = kn_plain_length(w), half = 0.5 * n * dt, s = n > 0.0 ? sin(half) / n : 0.5 * dt, c = cos(half);
  double r[4] = {c, s * w[0], s * w[1], s * w[2]};
  out[0] = q[0] * r[0] - q[1] * r[1] - q[2] * r[2] - q[3] * r[3];
  out[1] = q[0] * r[1] + q[1] * r[0] + q[2] * r[3] - q[3] * r[2];
  out[2] = q[0] * r[2] - q[1] * r[3] + q[2] * r[0] + q[3] * r[1];
  out[3] = q[0] * r[3] + q[1] * r[2] - q[2] * r[1] + q[3] * r[0];
  double size = sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2] + out[3] * out[3]);
  for (int i = 0; i < 4 && size > 0.0; i++) out[i] /= size;
}

void kn_plain_advance(double* out, const kn_model* m, const double* q, const double* v, double dt) {
  for (int i = 0; i < m->nlink; i++) {
    const kn_link* l = &m->link[i];
    const double *a = q + l->q, *b = v + l->v;
    double* o = out + l->q;
    int lines = l->type == KN_LINK_FREE ? 3 : l->type == KN_LINK_BALL ? 0 : 1;
    for (int k = 0; k < lines; k++) o[k] = a[k] + dt * b[k];
    if (l->type == KN_LINK_FREE) advance_quat(o + 3, a + 3, b + 3, dt);
    if (l->type == KN_LINK_BALL) advance_quat(o, a, b, dt);
  }
}

/* Rotation vector of a unit quaternion, the short way. */
static void log_quat(double out[3], const double p[4]) {
  double w = p[0], s = sqrt(p[1] * p[1] + p[2] * p[2] + p[3] * p[3]), sign = w < 0.0 ? -1.0 : 1.0;
  double angle = 2.0 * atan2(s, fabs(w)), scale = s > 0.0 ? sign * angle / s : 2.0 * sign;
  for (int i = 0; i < 3; i++) out[i] = scale * p[1 + i];
}

static void relative_rotation(double out[4], const double a[4], const double b[4]) { /* a⁻¹ b, unit */
  double x[4] = {a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3],
                 a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2],
                 a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1],
                 a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0]};
  double n = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
  for (int i = 0; i < 4; i++) out[i] = n > 0.0 ? x[i] / n : i == 0;
}

void kn_plain_way(double* v, const kn_model* m, const double* from, const double* q) {
  memset(v, 0, (size_t)m->nv * sizeof *v);
  for (int i = 0; i < m->nlink; i++) {
    const kn_link* l = &m->link[i];
    const double *a = from + l->q, *b = q + l->q;
    double turn[4], *to = v + l->v;
    if (l->nq == 1) {
      to[0] = b[0] - a[0];
      continue;
    }
    for (int k = 0; k < 3 && l->type == KN_LINK_FREE; k++) to[k] = b[k] - a[k];
    if (l->type == KN_LINK_FREE) a += 3, b += 3, to += 3;
    relative_rotation(turn, a, b);
    log_quat(to, turn);
  }
}

double kn_plain_limit(double axis[3], const kn_model* m, int limit, const double* q) {
  const kn_limit* l = &m->limit[limit];
  for (int i = 0; i < 3; i++) axis[i] = 0.0;
  if (l->side != 0) return l->side * (q[l->q] - l->bound);
  double rest[4] = {1.0, 0.0, 0.0, 0.0}, turn[4], x[3];
  relative_rotation(turn, rest, q + l->q);
  log_quat(x, turn);
  double angle = kn_plain_length(x);
  for (int i = 0; i < 3; i++) axis[i] = angle > 0.0 ? x[i] / angle : 0.0;
  return l->bound - angle;
}

double kn_plain_limit_rate(const kn_limit* l, const double axis[3], const double* v) {
  return l->side ? l->side * v[l->v] : -kn_plain_dot(axis, v + l->v);
}

/* ---- memory ---- */

static int top_of(const kn_model* m, int body) {
  while (m->body[body].parent != KN_WORLD) body = m->body[body].parent;
  return body;
}

/* Dofs of a body's own joints. */
static int own_dofs(int* list, const kn_model* m, int body) {
  int n = 0, aq, nq, av, nv;
  for (int j = 0; j < m->njoint; j++) {
    if (m->joint[j].body != body || kn_model_joint_address(&aq, &nq, &av, &nv, m, j) != KN_OK) continue;
    for (int k = 0; k < nv; k++, n++)
      if (list) list[n] = av + k;
  }
  return n;
}

static int chains(int* list, int* at, const kn_model* m) {
  int n = 0;
  for (int b = 0; b < m->nbody; b++) {
    kn_body up = m->body[b].parent;
    int above = up == KN_WORLD ? 0 : at[up + 1] - at[up];
    at[b] = n;
    for (int k = 0; k < above && list; k++) list[n + k] = list[at[up] + k];
    n += above;
    n += own_dofs(list ? list + n : NULL, m, b);
    at[b + 1] = n;
  }
  return n;
}

/* Runs of dofs that hang on the same top body. Dofs are ordered depth first, so that every top body has one
   run; if one had two, all dofs would be one tree. */
static void trees(kn_plain_plan* plan, const kn_model* m) {
  int* top = plan->tree; /* first the top body of a dof, then its tree */
  bool whole = true;
  for (int b = 0; b < m->nbody; b++)
    for (int k = plan->chain_at[b]; k < plan->chain_at[b + 1]; k++) top[plan->chain[k]] = top_of(m, b);
  for (int i = 0, last = -1; i < m->nv; i++) {
    if (i == 0 || top[i] != last) {
      whole &= top[i] > last; /* bodies are ordered parents first, and so are top bodies' dofs */
      plan->first[plan->trees] = i, plan->size[plan->trees++] = 0;
    }
    last = top[i];
    plan->size[plan->trees - 1]++;
    top[i] = plan->trees - 1;
  }
  if (!whole) {
    plan->trees = 1, plan->first[0] = 0, plan->size[0] = m->nv;
    memset(plan->tree, 0, (size_t)m->nv * sizeof *plan->tree);
  }
  for (int t = 0; t < plan->trees; t++) {
    plan->block[t] = plan->entries;
    plan->entries += (size_t)plan->size[t] * (size_t)plan->size[t];
  }
}

kn_status kn_plain_plan_make(kn_plain_plan* plan, const kn_model* m) {
  size_t n = (size_t)m->nv + 1;
  *plan = (kn_plain_plan){0};
  plan->chain_at = calloc((size_t)m->nbody + 1, sizeof *plan->chain_at);
  plan->first = calloc(n, sizeof *plan->first), plan->size = calloc(n, sizeof *plan->size);
  plan->tree = calloc(n, sizeof *plan->tree), plan->block = calloc(n, sizeof *plan->block);
  if (plan->chain_at) plan->chain = calloc((size_t)chains(NULL, plan->chain_at, m) + 1, sizeof(int));
  if (!(plan->chain && plan->first && plan->size && plan->tree && plan->block)) {
    kn_plain_plan_free(plan);
    return kn_fail(KN_OUT_OF_MEMORY, "no memory to verify %d dofs", m->nv);
  }
  chains(plan->chain, plan->chain_at, m);
  trees(plan, m);
  return KN_OK;
}

void kn_plain_plan_free(kn_plain_plan* plan) {
  free(plan->chain), free(plan->chain_at), free(plan->first), free(plan->size), free(plan->block);
  free(plan->tree);
  *plan = (kn_plain_plan){0};
}

kn_status kn_plain_create(kn_plain* p, const kn_model* m, const kn_plain_plan* plan) {
  size_t n = (size_t)m->nv;
  *p = (kn_plain){.model = m, .plan = plan};
  p->body = calloc((size_t)m->nbody + 1, sizeof *p->body);
  p->dof = calloc(n + 1, sizeof *p->dof);
  p->M = calloc(plan->entries + 1, sizeof(double));
  p->L = calloc(plan->entries + 1, sizeof(double));
  p->c = calloc(8 * n + 1, sizeof(double));
  if (p->body && p->dof && p->M && p->L && p->c) {
    p->carry = p->c + n, p->Jv = p->carry + n, p->Jw = p->Jv + 3 * n;
    return KN_OK;
  }
  kn_plain_destroy(p);
  return kn_fail(KN_OUT_OF_MEMORY, "no memory to verify %d dofs", m->nv);
}

void kn_plain_destroy(kn_plain* p) {
  free(p->body);
  free(p->dof);
  free(p->M);
  free(p->L);
  free(p->c);
  *p = (kn_plain){0};
}
