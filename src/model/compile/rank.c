/* Is the mass matrix regular? Articulated inertias at the reference position (Featherstone 2008, 7.3):

   D = Sᵀ IA S + armature must be positive definite for every link. A pivot that is nothing but rounding is
   found by comparing it with the same quantity before the joints below were freed, whose size the rounding
   has. Spatial order [angular; linear], link frames. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/compile/compile.h"

enum { N = 6 };
/* 6x6 eliminations lose a few ulp of the compared size; a real pivot this small would make M useless. */
static const double PIVOT = 1e-12;

typedef struct inertia {
  double a[N][N]; /* joints below free */
  double c[N][N]; /* the children's own joints locked: the size to compare with */
} inertia;

static void rigid(double A[N][N], const kn_link* l) {
  const double *h = l->mc, *I = l->I;
  double top[3][3] = {{I[0], I[3], I[4]}, {I[3], I[1], I[5]}, {I[4], I[5], I[2]}};
  double H[3][3] = {{0, -h[2], h[1]}, {h[2], 0, -h[0]}, {-h[1], h[0], 0}};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      A[i][j] += top[i][j];
      A[i][j + 3] += H[i][j];
      A[i + 3][j] -= H[i][j];
      A[i + 3][j + 3] += i == j ? l->mass : 0.0;
    }
}

/* Columns of the motion subspace at the reference position. */
static int subspace(double S[N][N], const kn_link* l) {
  memset(S, 0, sizeof(double[N][N]));
  switch ((kn_link_type)l->type) {
  case KN_LINK_HINGE: S[0][2] = 1.0; return 1;
  case KN_LINK_SLIDE: S[0][5] = 1.0; return 1;
  case KN_LINK_SCREW: S[0][2] = 1.0, S[0][5] = l->pitch; return 1;
  case KN_LINK_BALL: S[0][0] = S[1][1] = S[2][2] = 1.0; return 3;
  case KN_LINK_FREE:
    for (int i = 0; i < N; i++) S[i][i] = 1.0;
    return 6;
  }
  return 0;
}

static double form(double A[N][N], const double* s) {
  double x = 0.0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) x += s[i] * A[i][j] * s[j];
  return x;
}

/* Frees the link's dofs one by one: A -= u uᵀ / d. False when a pivot vanishes; *dof tells which. */
static bool release(inertia* x, const kn_link* l, const double* armature, int* dof) {
  double S[N][N];
  int n = subspace(S, l);
  double fresh[N][N];
  memcpy(fresh, x->c, sizeof fresh);
  memcpy(x->c, x->a, sizeof x->c);
  for (int k = 0; k < n; k++) {
    double *s = S[k], u[N], d = form(x->a, s) + armature[l->v + k];
    *dof = k;
    if (!(d > PIVOT * (form(fresh, s) + armature[l->v + k]))) return false;
    for (int i = 0; i < N; i++) {
      u[i] = 0.0;
      for (int j = 0; j < N; j++) u[i] += x->a[i][j] * s[j];
    }
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) x->a[i][j] -= u[i] * u[j] / d;
  }
  return true;
}

/* B += Xᵀ A X with X from the parent's to the child's frame. */
static void shift(double B[N][N], const kn_link* l, double A[N][N]) {
  double X[N][N] = {{0}}, T[N][N];
  const double *R = l->R0, *p = l->p0;
  double P[3][3] = {{0, -p[2], p[1]}, {p[2], 0, -p[0]}, {-p[1], p[0], 0}};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      X[i][j] = X[i + 3][j + 3] = R[3 * j + i];
      for (int k = 0; k < 3; k++) X[i + 3][j] -= R[3 * k + i] * P[k][j];
    }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      T[i][j] = 0.0;
      for (int k = 0; k < N; k++) T[i][j] += A[i][k] * X[k][j];
    }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < N; k++) B[i][j] += X[k][i] * T[k][j];
}

kn_status kn_compile_rank(const kn_model* m) {
  inertia* x = calloc((size_t)m->nlink + 1, sizeof *x);
  if (!x) return kn_fail(KN_OUT_OF_MEMORY, "no memory to check %d links", m->nlink);
  kn_status status = KN_OK;
  for (int i = m->nlink - 1; i >= 0 && status == KN_OK; i--) {
    const kn_link* l = &m->link[i];
    int dof = 0;
    rigid(x[i].a, l);
    rigid(x[i].c, l);
    if (!release(&x[i], l, m->armature, &dof)) {
      const kn_joint_def* j = &m->joint[l->joint];
      int k = l->nv == 1 ? i - m->joint_link[l->joint] : dof;
      kn_who who = {"joint", l->joint, j->name};
      status = kn_refuse(
          &who,
          "nothing with inertia moves along dof %d of body '%.80s'; give the body or a body below it mass "
          "and inertia there, or the joint armature > 0",
          k, m->body[j->body].name);
    } else if (l->parent >= 0) {
      shift(x[l->parent].a, l, x[i].a);
      shift(x[l->parent].c, l, x[i].c);
    }
  }
  free(x);
  return status;
}
