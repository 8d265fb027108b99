#include "contact_gen.h"

#include <string.h>

enum { MAX_CONTACTS = 64, MAX_ROWS = 3 * MAX_CONTACTS, MAX_DOF = 6 * 40 };

/* Bodies as generalised coordinates: M (dof x dof, lower triangle used), v, and the contact Jacobian. */
static _Thread_local struct {
  int dof;
  double M[MAX_DOF][MAX_DOF], v[MAX_DOF], J[MAX_ROWS][MAX_DOF], Y[MAX_ROWS][MAX_DOF];
} g;

const char* kn_gen_name(kn_gen_family family) {
  static const char* const names[] = {"free", "stack", "chain", "copies"};
  return (unsigned)family < KN_GEN_FAMILIES ? names[family] : "?";
}

static void cross(double* c, const double* a, const double* b) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot3(const double* a, const double* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void random_unit(double* u, kn_rng* rng) {
  double s = 0;
  while (s < 1e-2) {
    for (int i = 0; i < 3; i++) u[i] = kn_rng_normal(rng);
    s = sqrt(dot3(u, u));
  }
  for (int i = 0; i < 3; i++) u[i] /= s;
}

/* frame[0] = normal, frame[1], frame[2] tangents */
static void make_frame(double frame[3][3], const double* normal, kn_rng* rng) {
  double a[3], s = 0;
  memcpy(frame[0], normal, sizeof frame[0]);
  while (s < 1e-2) {
    random_unit(a, rng);
    cross(frame[1], normal, a);
    s = sqrt(dot3(frame[1], frame[1]));
  }
  for (int i = 0; i < 3; i++) frame[1][i] /= s;
  cross(frame[2], normal, frame[1]);
}

static double random_mass(double ratio, kn_rng* rng) { return pow(ratio, kn_rng_unit(rng)); }

/* Free body b: dof 6b … 6b+5 = (linear, angular), about its centre c. */
static void put_body(int b, double mass, const double half[3]) {
  for (int i = 0; i < 3; i++) {
    double p = half[(i + 1) % 3], q = half[(i + 2) % 3];
    g.M[6 * b + i][6 * b + i] = mass;
    g.M[6 * b + 3 + i][6 * b + 3 + i] = mass * (p * p + q * q) / 3.0;
  }
}

static void put_body_rows(int row, double frame[3][3], int b, const double* arm, double sign) {
  for (int k = 0; k < 3; k++) {
    double m[3];
    cross(m, arm, frame[k]);
    for (int i = 0; i < 3; i++) {
      g.J[row + k][6 * b + i] += sign * frame[k][i];
      g.J[row + k][6 * b + 3 + i] += sign * m[i];
    }
  }
}

static void make_free(int nc, double ratio, kn_rng* rng) {
  int bodies = 1 + nc / 3;
  g.dof = 6 * bodies;
  for (int b = 0; b < bodies; b++) {
    double half[3];
    for (int i = 0; i < 3; i++) half[i] = kn_rng_range(rng, 0.05, 0.5);
    put_body(b, random_mass(ratio, rng), half);
    for (int i = 0; i < 6; i++) g.v[6 * b + i] = kn_rng_range(rng, -1, 1);
  }
  for (int c = 0; c < nc; c++) {
    double n[3], arm[3], frame[3][3];
    int a = c < bodies ? c : kn_rng_int(rng, bodies), b = kn_rng_int(rng, bodies + 1);
    random_unit(n, rng);
    make_frame(frame, n, rng);
    random_unit(arm, rng);
    for (int i = 0; i < 3; i++) arm[i] *= kn_rng_range(rng, 0.1, 0.5);
    put_body_rows(3 * c, frame, a, arm, 1.0);
    if (b == a || b == bodies) continue; /* ground */
    random_unit(arm, rng);
    for (int i = 0; i < 3; i++) arm[i] *= kn_rng_range(rng, 0.1, 0.5);
    put_body_rows(3 * c, frame, b, arm, -1.0);
  }
}

/* Boxes on one another; mass grows upwards by the ratio. Gravity acts for 10 ms, plus a small disturbance. */
static void make_stack(int nc, double ratio, kn_rng* rng) {
  int boxes = (nc + 3) / 4;
  double up[3] = {0, 0, 1}, half[3] = {0.5, 0.5, 0.5};
  g.dof = 6 * boxes;
  for (int b = 0; b < boxes; b++) {
    put_body(b, boxes > 1 ? pow(ratio, (double)b / (boxes - 1)) : 1.0, half);
    for (int i = 0; i < 6; i++) g.v[6 * b + i] = 0.02 * kn_rng_range(rng, -1, 1);
    g.v[6 * b + 2] -= 0.0981;
  }
  for (int c = 0; c < nc; c++) {
    int b = c / 4, corner = c % 4;
    double frame[3][3], below[3], above[3];
    double x = corner & 1 ? 0.5 : -0.5, y = corner & 2 ? 0.5 : -0.5;
    make_frame(frame, up, rng);
    below[0] = above[0] = x, below[1] = above[1] = y;
    below[2] = -0.5, above[2] = 0.5;
    put_body_rows(3 * c, frame, b, below, 1.0);
    if (b > 0) put_body_rows(3 * c, frame, b - 1, above, -1.0);
  }
}

/* Hinge chain: origins o_j, axes a_j; point p on link k moves with sum_{j<=k} a_j x (p - o_j) qd_j. */
static void make_chain(int nc, double ratio, kn_rng* rng) {
  int links = 4 + kn_rng_int(rng, 2 * nc + 3);
  static _Thread_local double o[MAX_DOF][3], a[MAX_DOF][3], com[MAX_DOF][3];
  double at[3] = {0};
  if (links > 100) links = 100;
  g.dof = links;
  for (int j = 0; j < links; j++) {
    double dir[3], length = kn_rng_range(rng, 0.1, 0.4);
    random_unit(dir, rng);
    random_unit(a[j], rng);
    for (int i = 0; i < 3; i++)
      o[j][i] = at[i], com[j][i] = at[i] + 0.5 * length * dir[i], at[i] += length * dir[i];
    g.v[j] = kn_rng_range(rng, -2, 2);
  }
  for (int k = 0; k < links; k++) {
    double mass = random_mass(ratio, rng), inertia = mass * 0.01;
    for (int i = 0; i <= k; i++)
      for (int j = 0; j <= i; j++) {
        double ri[3], rj[3], vi[3], vj[3];
        for (int x = 0; x < 3; x++) ri[x] = com[k][x] - o[i][x], rj[x] = com[k][x] - o[j][x];
        cross(vi, a[i], ri), cross(vj, a[j], rj);
        g.M[i][j] += mass * dot3(vi, vj) + inertia * dot3(a[i], a[j]);
      }
  }
  for (int c = 0; c < nc; c++) {
    double n[3], frame[3][3], p[3];
    int k = links - 1 - kn_rng_int(rng, (links + 1) / 2);
    random_unit(n, rng);
    make_frame(frame, n, rng);
    for (int i = 0; i < 3; i++) p[i] = com[k][i] + kn_rng_range(rng, -0.1, 0.1);
    for (int j = 0; j <= k; j++) {
      double r[3], v[3];
      for (int i = 0; i < 3; i++) r[i] = p[i] - o[j][i];
      cross(v, a[j], r);
      for (int x = 0; x < 3; x++) g.J[3 * c + x][j] = dot3(frame[x], v);
    }
  }
}

/* Y = L^-1 J^T with M = L L^T, then W = Y^T Y. */
static void compliance(double* W, double* q, int rows) {
  int n = g.dof;
  for (int j = 0; j < n; j++) {
    for (int k = 0; k < j; k++)
      for (int i = j; i < n; i++) g.M[i][j] -= g.M[i][k] * g.M[j][k];
    double d = sqrt(g.M[j][j]);
    for (int i = j; i < n; i++) g.M[i][j] /= d;
  }
  for (int r = 0; r < rows; r++) {
    q[r] = 0;
    for (int i = 0; i < n; i++) {
      double s = g.J[r][i];
      q[r] += s * g.v[i];
      for (int k = 0; k < i; k++) s -= g.M[i][k] * g.Y[r][k];
      g.Y[r][i] = s / g.M[i][i];
    }
  }
  for (int r = 0; r < rows; r++)
    for (int c = 0; c <= r; c++) {
      double s = 0;
      for (int i = 0; i < n; i++) s += g.Y[r][i] * g.Y[c][i];
      W[r * rows + c] = W[c * rows + r] = s;
    }
}

void kn_gen_contacts(double* W, double* q, double* mu, int nc, kn_gen_family family, double ratio,
                     kn_rng* rng) {
  memset(&g, 0, sizeof g);
  switch (family) {
  case KN_GEN_FREE: make_free(nc, ratio, rng); break;
  case KN_GEN_STACK: make_stack(nc, ratio, rng); break;
  default: make_chain(nc, ratio, rng); break;
  }
  for (int c = 0; c < nc; c++) mu[c] = kn_rng_unit(rng) < 0.1 ? 0.0 : kn_rng_range(rng, 0, 1.5);
  if (family == KN_GEN_COPIES)
    for (int c = nc / 2; c < nc; c++) {
      memcpy(g.J[3 * c], g.J[3 * (c - nc / 2)], 3 * sizeof g.J[0]);
      mu[c] = mu[c - nc / 2];
    }
  compliance(W, q, 3 * nc);
}

void kn_gen_pyramid(double* M, double* b, int nc, const double* W, const double* q, const double* mu) {
  int n = 6 * nc, rows = 3 * nc;
  static const int axis[5] = {0, 1, 2, 1, 2};
  static const double sign[5] = {1, 1, 1, -1, -1};
  memset(M, 0, sizeof(double) * (size_t)n * (size_t)n);
  for (int c = 0; c < nc; c++) {
    for (int k = 0; k < 5; k++) {
      int i = 6 * c + k;
      b[i] = sign[k] * q[3 * c + axis[k]];
      for (int d = 0; d < nc; d++)
        for (int l = 0; l < 5; l++)
          M[i * n + 6 * d + l] = sign[k] * sign[l] * W[(3 * c + axis[k]) * rows + 3 * d + axis[l]];
      if (k > 0) M[i * n + 6 * c + 5] = 1.0, M[(6 * c + 5) * n + i] = -1.0;
    }
    M[(6 * c + 5) * n + 6 * c] = mu[c];
    b[6 * c + 5] = 0.0;
  }
}

void kn_gen_normal(double* M, double* b, int nc, const double* W, const double* q) {
  for (int c = 0; c < nc; c++) {
    b[c] = q[3 * c];
    for (int d = 0; d < nc; d++) M[c * nc + d] = W[(3 * c) * (3 * nc) + 3 * d];
  }
}
