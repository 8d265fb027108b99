/* Plain mechanics for the verifier, from the definitions of bodies and joints, body by body in world axes.

   A joint takes the frame of its body from before to after. With ω, α, and the acceleration of points of the
   frame before, turn about u through P:  ω' = ω + u q̇,  α' = α + ω × u q̇,  a_P carried on slide along u by s:
   ω' = ω, α' = α,  a_o' = a(o + u s) + 2 ω × u ṡ M = Σ m Jᵥᵀ Jᵥ + J_ωᵀ I J_ω + armature, c = Σ Jᵥᵀ m (a − g)
   + J_ωᵀ (I α + ω × I ω). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/hull.h"
#include "record/verify/verify.h"

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static void cross(double out[3], const double a[3], const double b[3]) {
  double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  for (int i = 0; i < 3; i++) out[i] = c[i];
}
static void rotate(double out[3], const double R[9], const double x[3]) {
  double y[3] = {dot(R, x), dot(R + 3, x), dot(R + 6, x)};
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

bool kn_plain_above(const kn_model* m, kn_body a, kn_body b) {
  while (b != KN_WORLD && b != a) b = m->body[b].parent;
  return b == a;
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

void kn_plain_column(double out[3], const kn_plain* p, kn_body body, const double point[3], int dof) {
  const kn_plain_dof* d = &p->dof[dof];
  for (int i = 0; i < 3; i++) out[i] = 0.0;
  if (body == KN_WORLD || !kn_plain_above(p->model, d->body, body)) return;
  if (d->linear) {
    for (int i = 0; i < 3; i++) out[i] = d->u[i];
    return;
  }
  double r[3] = {point[0] - d->point[0], point[1] - d->point[1], point[2] - d->point[2]};
  cross(out, d->u, r);
}

void kn_plain_spin(double out[3], const kn_plain* p, kn_body body, int dof) {
  const kn_plain_dof* d = &p->dof[dof];
  bool acts = body != KN_WORLD && !d->linear && kn_plain_above(p->model, d->body, body);
  for (int i = 0; i < 3; i++) out[i] = acts ? d->u[i] : 0.0;
}

/* ---- M, c and energies ---- */

static void add_body(kn_plain* p, int b, double* Jv, double* Jw) {
  const kn_model* m = p->model;
  const kn_plain_body* f = &p->body[b];
  const kn_body_def* d = &m->body[b];
  int n = m->nv;
  double a[3], Iw[3], Ia[3], g[3];
  acceleration(a, f, f->com);
  for (int i = 0; i < 3; i++) a[i] = d->mass * (a[i] - m->gravity[i]);
  rotate(Iw, f->I, f->w);
  cross(g, f->w, Iw);
  rotate(Ia, f->I, f->al);
  for (int i = 0; i < n; i++) {
    kn_plain_column(Jv + 3 * i, p, b, f->com, i);
    kn_plain_spin(Jw + 3 * i, p, b, i);
  }
  for (int i = 0; i < n; i++) {
    double Ij[3];
    rotate(Ij, f->I, Jw + 3 * i);
    p->c[i] += dot(Jv + 3 * i, a) + dot(Jw + 3 * i, Ia) + dot(Jw + 3 * i, g);
    for (int k = 0; k < n; k++)
      p->M[i * n + k] += d->mass * dot(Jv + 3 * i, Jv + 3 * k) + dot(Ij, Jw + 3 * k);
  }
  p->potential -= d->mass * dot(m->gravity, f->com) * (1.0 - d->gravcomp);
}

void kn_plain_matrices(kn_plain* p, const double* q, const double* v) {
  const kn_model* m = p->model;
  size_t n = (size_t)m->nv;
  double *Jv = p->c + n, *Jw = Jv + 3 * n;
  memset(p->M, 0, n * n * sizeof(double));
  memset(p->c, 0, n * sizeof(double));
  p->kinetic = p->potential = p->spring = 0.0;
  for (int b = 0; b < m->nbody; b++) add_body(p, b, Jv, Jw);
  for (size_t i = 0; i < n; i++) p->M[i * (n + 1)] += m->armature[i];
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < n; k++) p->kinetic += 0.5 * v[i] * p->M[i * n + k] * v[k];
  for (int i = 0; i < m->nlink; i++) {
    const kn_link* l = &m->link[i];
    if (l->nq != 1) continue; /* springs of balls and free bodies are left to the ledger */
    double x = q[l->q] - m->q_spring[l->q];
    p->spring += 0.5 * m->stiffness[l->v] * x * x;
  }
}

/* ---- motion ---- */

static void advance_quat(double out[4], const double q[4], const double w[3], double dt) {
  double n = sqrt(dot(w, w)), half = 0.5 * n * dt, s = n > 0.0 ? sin(half) / n : 0.5 * dt, c = cos(half);
  double r[4] = {c, s * w[0], s * w[1], s * w[2]};
  out[0] = q[0] * r[0] - q[1] * r[1] - q[2] * r[2] - q[3] * r[3];
  out[1] = q[0] * r[1] + q[1] * r[0] + q[2] * r[3] - q[3] * r[2];
  out[2] = q[0] * r[2] - q[1] * r[3] + q[2] * r[0] + q[3] * r[1];
  out[3] = q[0] * r[3] + q[1] * r[2] - q[2] * r[1] + q[3] * r[0];
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

/* ---- surfaces ---- */

static double box_distance(const double x[3], const double h[3]) {
  double out = 0.0, in = -INFINITY;
  for (int i = 0; i < 3; i++) {
    double d = fabs(x[i]) - h[i];
    out += d > 0.0 ? d * d : 0.0;
    in = fmax(in, d);
  }
  return in > 0.0 ? sqrt(out) : in;
}

double kn_plain_surface(const kn_plain* p, kn_geom geom, const double point[3]) {
  const kn_geom_def* g = &p->model->geom[geom];
  double R[9], o[3] = {g->pos[0], g->pos[1], g->pos[2]}, d[3], x[3];
  of_quat(R, g->quat);
  if (g->body != KN_WORLD) {
    const kn_plain_body* f = &p->body[g->body];
    rotate(o, f->R, o);
    for (int i = 0; i < 3; i++) o[i] += f->o[i];
    product(R, f->R, R);
  }
  for (int i = 0; i < 3; i++) d[i] = point[i] - o[i];
  for (int i = 0; i < 3; i++) x[i] = R[i] * d[0] + R[3 + i] * d[1] + R[6 + i] * d[2];
  const double* s = g->shape.size;
  double r = sqrt(x[0] * x[0] + x[1] * x[1]), deep = -INFINITY;
  switch (g->shape.type) {
  case KN_SHAPE_PLANE: return x[2];
  case KN_SHAPE_SPHERE: return sqrt(dot(x, x)) - s[0];
  case KN_SHAPE_CAPSULE: return sqrt(r * r + pow(fmax(fabs(x[2]) - s[1], 0.0), 2)) - s[0];
  case KN_SHAPE_CYLINDER: return box_distance((double[3]){r, x[2], 0.0}, (double[3]){s[0], s[1], 1.0});
  case KN_SHAPE_BOX: return box_distance(x, s);
  case KN_SHAPE_ELLIPSOID: { /* first order in the distance: f/|∇f| */
    double f = 0.0, gr = 0.0;
    for (int i = 0; i < 3; i++) f += x[i] * x[i] / (s[i] * s[i]), gr += x[i] * x[i] / pow(s[i], 4);
    return gr > 0.0 ? (f - 1.0) / (2.0 * sqrt(gr)) : -fmin(s[0], fmin(s[1], s[2]));
  }
  case KN_SHAPE_HULL:
    for (int f = 0; f < g->shape.hull->nf; f++) {
      const double* plane = g->shape.hull->plane + 4 * f;
      deep = fmax(deep, dot(plane, x) - plane[3]);
    }
    return deep;
  default: return NAN;
  }
}

kn_status kn_plain_create(kn_plain* p, const kn_model* m) {
  size_t n = (size_t)m->nv;
  *p = (kn_plain){.model = m};
  p->body = calloc((size_t)m->nbody + 1, sizeof *p->body);
  p->dof = calloc(n + 1, sizeof *p->dof);
  p->M = calloc(n * n + 1, sizeof(double));
  p->c = calloc(7 * n + 1, sizeof(double));
  if (p->body && p->dof && p->M && p->c) return KN_OK;
  kn_plain_destroy(p);
  return kn_fail(KN_OUT_OF_MEMORY, "no memory to verify %d dofs", m->nv);
}

void kn_plain_destroy(kn_plain* p) {
  free(p->body);
  free(p->dof);
  free(p->M);
  free(p->c);
  *p = (kn_plain){0};
}
