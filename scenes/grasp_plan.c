/* Geometry, planned motion and dynamics of the planar grasp (song-kumar sections 3 and 4.2).

   Link with direction u, normal n at angle α, through the point p; ellipse at c, turned by φ; ψ = α - φ:
     H(ψ) = sqrt(a² cos²ψ + b² sin²ψ)              support function of the ellipse
     gap  = n·(c - p) - H,   contact point = c - E n / H,   E = R diag(a², b²) R^T
   By the envelope theorem ∂gap/∂q is the velocity of the touching material points along n, so that the
   contact's normal row is the exact gradient. With ω the link's rate and H' = (b² - a²) sinψ cosψ / H,
     gaṗ = ω n⊥·(c - p) + n·(ċ - ṗ) - H' (ω - φ̇)
     bias of gap̈ = -ω² n·(c - p) + 2 ω n⊥·(ċ - ṗ) - n·p̈_bias - H'' (ω - φ̇)²
     H'' = ((b² - a²) cos 2ψ - H'²) / H,   p̈_bias = -L ω1² u1 for a distal link, 0 for a proximal one.

   Inverse kinematics: in the coordinates in which the ellipse is the unit circle the tangents from a point y
   have the normals m with m·y = 1, m = y/|y|² ± sqrt(1 - 1/|y|²) y⊥/|y|; the link takes the one whose contact
   lies ahead of its joint. */
#include <math.h>
#include <string.h>

#include "build.h"
#include "grasp.h"

static const double DEGREE = 0.017453292519943295;

kn_grasp kn_grasp_task(int example) {
  kn_grasp g = {.lmin = 0.1, .kp = 100, .kv = 20};
  double y0 = example == 1 ? 0.155 : 0.12, y1 = example == 1 ? 0.155 : 0.18;
  g.from[1] = y0, g.to[1] = y1;
  if (example == 1) g.from[2] = 70 * DEGREE, g.to[2] = 110 * DEGREE;
  g.path = example == 1 ? KN_GRASP_QUINTIC : KN_GRASP_CUBIC;
  for (int i = 0; i < KN_GRASP_C; i++) g.mu[i] = example == 1 ? 0.1 : i % 2 ? 0.6 : 0.8;
  return g;
}

void kn_grasp_desired(double x[3], double xd[3], double xdd[3], double direction[3], const kn_grasp* g,
                      double t) {
  double s = t < 0 ? 0 : t > 1 ? 1 : t, w[3];
  if (g->path == KN_GRASP_CUBIC) {
    w[0] = s * s * (3 - 2 * s), w[1] = 6 * s * (1 - s), w[2] = 6 - 12 * s;
  } else {
    w[0] = s * s * s * (10 - s * (15 - 6 * s));
    w[1] = 30 * s * s * (1 - s) * (1 - s);
    w[2] = 60 * s * (1 - s) * (1 - 2 * s);
  }
  if (t < 0 || t > 1) w[2] = 0;
  for (int i = 0; i < 3; i++) {
    double d = g->to[i] - g->from[i];
    x[i] = g->from[i] + w[0] * d, xd[i] = w[1] * d, xdd[i] = w[2] * d;
    direction[i] = d;
  }
}

/* ---- inverse kinematics ---- */

/* Direction u of the link from p that touches the ellipse ahead of p; side: +1 normal to the right of u. */
static bool tangent(double u[2], const double p[2], const double x[3], int side) {
  double s, c;
  kn_sincos_exact(&s, &c, x[2]);
  double d[2] = {x[0] - p[0], x[1] - p[1]};
  double y[2] = {(c * d[0] + s * d[1]) / KN_GRASP_A, (c * d[1] - s * d[0]) / KN_GRASP_B};
  double y2 = y[0] * y[0] + y[1] * y[1];
  if (!(y2 > 1)) return false; /* the joint is inside the object */
  double k = -side * sqrt(1 - 1 / y2) / sqrt(y2);
  double m[2] = {y[0] / y2 - k * y[1], y[1] / y2 + k * y[0]};
  double e[2] = {m[0] / KN_GRASP_A, m[1] / KN_GRASP_B};
  double n[2] = {c * e[0] - s * e[1], s * e[0] + c * e[1]}, l = sqrt(n[0] * n[0] + n[1] * n[1]);
  u[0] = -side * n[1] / l, u[1] = side * n[0] / l;
  return true;
}

bool kn_grasp_inverse(double q[KN_GRASP_N], const double x[3]) {
  memcpy(q, x, 3 * sizeof *q);
  for (int f = 0; f < 2; f++) {
    int side = f ? -1 : 1;
    double base[2] = {-side * KN_GRASP_PALM, 0}, u[2], w[2];
    if (!tangent(u, base, x, side)) return false;
    double elbow[2] = {base[0] + KN_GRASP_LINK * u[0], KN_GRASP_LINK * u[1]};
    if (!tangent(w, elbow, x, side)) return false;
    q[3 + 2 * f] = kn_angle(u[1], u[0]);
    q[4 + 2 * f] = kn_angle(u[0] * w[1] - u[1] * w[0], u[0] * w[0] + u[1] * w[1]);
  }
  kn_grasp_contacts c;
  const double rest[KN_GRASP_N] = {0};
  kn_grasp_contacts_at(&c, q, rest);
  for (int i = 0; i < KN_GRASP_C; i++)
    if (!(c.s[i] > 0 && c.s[i] < KN_GRASP_LINK)) return false;
  return true;
}

/* ---- contacts ---- */

typedef struct link_motion {
  double p[2], u[2];  /* joint, direction */
  double pd[2];       /* velocity of the joint */
  double pdd[2];      /* its bias acceleration */
  double rate;        /* ω */
  double base[2][2];  /* joints the link turns about: proximal, own */
  int joints, dof[2]; /* and their dofs */
} link_motion;

static link_motion link_at(int i, const double* q, const double* v) {
  int f = i / 2, dof = 3 + 2 * f;
  double s, c;
  link_motion l = {.joints = 1, .rate = v[dof], .dof = {dof, dof + 1}};
  kn_sincos_exact(&s, &c, q[dof]);
  l.p[0] = f ? KN_GRASP_PALM : -KN_GRASP_PALM;
  l.u[0] = c, l.u[1] = s;
  memcpy(l.base[0], l.p, sizeof l.p);
  if (i % 2 == 0) return l;
  double w = v[dof];
  l.p[0] += KN_GRASP_LINK * c, l.p[1] = KN_GRASP_LINK * s;
  l.pd[0] = -KN_GRASP_LINK * w * s, l.pd[1] = KN_GRASP_LINK * w * c;
  l.pdd[0] = -KN_GRASP_LINK * w * w * c, l.pdd[1] = -KN_GRASP_LINK * w * w * s;
  memcpy(l.base[1], l.p, sizeof l.p);
  kn_sincos_exact(&s, &c, q[dof] + q[dof + 1]);
  l.u[0] = c, l.u[1] = s;
  l.rate = v[dof] + v[dof + 1];
  l.joints = 2;
  return l;
}

/* Row of a force along d at the point: on the object, against it on the link. */
static void row(double* W, const double d[2], const double point[2], const double x[2],
                const link_motion* l) {
  memset(W, 0, KN_GRASP_N * sizeof *W);
  W[0] = d[0], W[1] = d[1];
  W[2] = d[1] * (point[0] - x[0]) - d[0] * (point[1] - x[1]);
  for (int j = 0; j < l->joints; j++)
    W[l->dof[j]] = -(d[1] * (point[0] - l->base[j][0]) - d[0] * (point[1] - l->base[j][1]));
}

static void contact_at(kn_grasp_contacts* c, int i, const double* q, const double* v) {
  link_motion l = link_at(i, q, v);
  int side = i < 2 ? 1 : -1;
  double s, k, *n = c->n[i], a2 = KN_GRASP_A * KN_GRASP_A, b2 = KN_GRASP_B * KN_GRASP_B;
  n[0] = side * l.u[1], n[1] = -side * l.u[0];
  kn_sincos_exact(&s, &k, q[2]);
  double cp = k * n[0] + s * n[1], sp = k * n[1] - s * n[0]; /* cos ψ, sin ψ */
  double H = sqrt(a2 * cp * cp + b2 * sp * sp), e[2] = {a2 * cp / H, b2 * sp / H};
  double r[2] = {q[0] - l.p[0], q[1] - l.p[1]}, rd[2] = {v[0] - l.pd[0], v[1] - l.pd[1]};
  c->point[i][0] = q[0] - (k * e[0] - s * e[1]);
  c->point[i][1] = q[1] - (s * e[0] + k * e[1]);
  c->gap[i] = n[0] * r[0] + n[1] * r[1] - H;
  c->s[i] = l.u[0] * (c->point[i][0] - l.p[0]) + l.u[1] * (c->point[i][1] - l.p[1]);
  double t[2] = {n[1], -n[0]};
  row(c->WN[i], n, c->point[i], q, &l);
  row(c->WT[i], t, c->point[i], q, &l);
  double H1 = (b2 - a2) * sp * cp / H, H2 = ((b2 - a2) * (cp * cp - sp * sp) - H1 * H1) / H;
  double w = l.rate, turn = w - v[2];
  c->bias[i] = -w * w * (n[0] * r[0] + n[1] * r[1]) + 2 * w * (-n[1] * rd[0] + n[0] * rd[1]) -
               (n[0] * l.pdd[0] + n[1] * l.pdd[1]) - H2 * turn * turn;
}

void kn_grasp_contacts_at(kn_grasp_contacts* c, const double q[KN_GRASP_N], const double v[KN_GRASP_N]) {
  for (int i = 0; i < KN_GRASP_C; i++) contact_at(c, i, q, v);
}

/* ---- dynamics ---- */

/* Uniform rods, centre of mass at half length; the plane is horizontal: no gravity. */
void kn_grasp_dynamics(double M[KN_GRASP_N * KN_GRASP_N], double h[KN_GRASP_N], const double q[KN_GRASP_N],
                       const double v[KN_GRASP_N]) {
  const double m = KN_GRASP_LINK_M, I = KN_GRASP_LINK_I, L = KN_GRASP_LINK, l = L / 2;
  memset(M, 0, KN_GRASP_N * KN_GRASP_N * sizeof *M);
  memset(h, 0, KN_GRASP_N * sizeof *h);
  M[0] = M[8] = KN_GRASP_MASS;
  M[16] = KN_GRASP_INERTIA;
  for (int f = 0; f < 2; f++) {
    int a = 3 + 2 * f, b = a + 1;
    double s, c, w1 = v[a], w2 = v[b];
    kn_sincos_exact(&s, &c, q[b]);
    M[a * KN_GRASP_N + a] = 2 * I + m * l * l + m * (L * L + l * l + 2 * L * l * c);
    M[a * KN_GRASP_N + b] = M[b * KN_GRASP_N + a] = I + m * (l * l + L * l * c);
    M[b * KN_GRASP_N + b] = I + m * l * l;
    h[a] = -m * L * l * s * (2 * w1 * w2 + w2 * w2);
    h[b] = m * L * l * s * w1 * w1;
  }
}

void kn_grasp_solve(double* X, const double* M, int n, int columns) {
  double L[8 * 8];
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double a = M[i * n + j];
      for (int k = 0; k < j; k++) a -= L[i * 8 + k] * L[j * 8 + k];
      L[i * 8 + j] = i == j ? sqrt(a) : a / L[j * 8 + j];
    }
  for (int c = 0; c < columns; c++) {
    for (int i = 0; i < n; i++) {
      for (int k = 0; k < i; k++) X[i * columns + c] -= L[i * 8 + k] * X[k * columns + c];
      X[i * columns + c] /= L[i * 8 + i];
    }
    for (int i = n - 1; i >= 0; i--) {
      for (int k = i + 1; k < n; k++) X[i * columns + c] -= L[k * 8 + i] * X[k * columns + c];
      X[i * columns + c] /= L[i * 8 + i];
    }
  }
}

/* ---- planned motion ---- */

/* Joint rates from WN (xd, θ̇) = rhs: triangular per finger. */
static void joints_of(double* out, const kn_grasp_contacts* c, const double x[3], const double rhs[4]) {
  memcpy(out, x, 3 * sizeof *out);
  for (int i = 0; i < KN_GRASP_C; i++) {
    int own = 3 + i, first = 3 + i / 2 * 2;
    double r = rhs[i];
    for (int k = 0; k < 3; k++) r -= c->WN[i][k] * x[k];
    if (own != first) r -= c->WN[i][first] * out[first];
    out[own] = r / c->WN[i][own];
  }
}

void kn_grasp_follow(double v[KN_GRASP_N], const kn_grasp_contacts* c, const double xd[3]) {
  const double zero[4] = {0};
  joints_of(v, c, xd, zero);
}

void kn_grasp_follow_second(double a[KN_GRASP_N], const kn_grasp_contacts* c, const double xdd[3]) {
  double rhs[4];
  for (int i = 0; i < KN_GRASP_C; i++) rhs[i] = -c->bias[i];
  joints_of(a, c, xdd, rhs);
}

bool kn_grasp_plan_at(kn_grasp_plan* p, const kn_grasp* g, double t) {
  double x[3], xd[3], xdd[3], direction[3], w[KN_GRASP_N];
  const double rest[KN_GRASP_N] = {0};
  kn_grasp_desired(x, xd, xdd, direction, g, t);
  if (!kn_grasp_inverse(p->q, x)) return false;
  kn_grasp_contacts_at(&p->contact, p->q, rest);
  kn_grasp_follow(p->v, &p->contact, xd);
  kn_grasp_follow(w, &p->contact, direction); /* the path's own direction: defined at rest too */
  kn_grasp_contacts_at(&p->contact, p->q, p->v);
  kn_grasp_follow_second(p->a, &p->contact, xdd);
  for (int i = 0; i < KN_GRASP_C; i++) {
    double slip = 0;
    for (int k = 0; k < KN_GRASP_N; k++) slip += p->contact.WT[i][k] * w[k];
    p->slip[i] = slip > 0 ? 1 : slip < 0 ? -1 : 0;
  }
  return true;
}

/* ---- contact problem ---- */

void kn_grasp_matrix(double A[KN_GRASP_C * KN_GRASP_C], const kn_grasp_contacts* c,
                     const double M[KN_GRASP_N * KN_GRASP_N], const double mu[KN_GRASP_C],
                     const double slip[KN_GRASP_C]) {
  double X[KN_GRASP_N * KN_GRASP_C];
  for (int k = 0; k < KN_GRASP_N; k++)
    for (int j = 0; j < KN_GRASP_C; j++) X[k * KN_GRASP_C + j] = c->WN[j][k] - mu[j] * slip[j] * c->WT[j][k];
  kn_grasp_solve(X, M, KN_GRASP_N, KN_GRASP_C);
  for (int i = 0; i < KN_GRASP_C; i++)
    for (int j = 0; j < KN_GRASP_C; j++) {
      double a = 0;
      for (int k = 0; k < KN_GRASP_N; k++) a += c->WN[i][k] * X[k * KN_GRASP_C + j];
      A[i * KN_GRASP_C + j] = a;
    }
}

void kn_grasp_offset(double b[KN_GRASP_C], const kn_grasp_contacts* c,
                     const double M[KN_GRASP_N * KN_GRASP_N], const double h[KN_GRASP_N],
                     const double torque[4]) {
  double x[KN_GRASP_N];
  for (int k = 0; k < KN_GRASP_N; k++) x[k] = (k < 3 ? 0 : torque[k - 3]) - h[k];
  kn_grasp_solve(x, M, KN_GRASP_N, 1);
  for (int i = 0; i < KN_GRASP_C; i++) {
    b[i] = c->bias[i];
    for (int k = 0; k < KN_GRASP_N; k++) b[i] += c->WN[i][k] * x[k];
  }
}
