/* Small fixed-size geometry in memory: 3-vectors (double[3]), rotations and 3x3 matrices (row-major double[9],
   body to world), unit quaternions (w, x, y, z), poses and symmetric tensors. Plain scalar code; vectors and
   matrices come out through the first argument, poses by value. Arguments may alias the output unless the
   comment says otherwise. This is the one set of names for such things; the same 3-vectors by value are in
   spatial/v3.h (collision code) and in vector registers in spatial/v4.h (kernels of dynamics).

   Exponential and logarithm use our own sine and arc tangent, so that a step gives the same bits everywhere. */
#pragma once

#include <math.h>
#include <string.h>

#include "knuckle/types.h"

/* ---- 3-vectors ---- */
static inline double kn_dot3(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static inline double kn_norm3(const double a[3]) { return sqrt(kn_dot3(a, a)); }
static inline void kn_copy3(double y[3], const double a[3]) { y[0] = a[0], y[1] = a[1], y[2] = a[2]; }
static inline void kn_add3(double y[3], const double a[3], const double b[3]) {
  y[0] = a[0] + b[0], y[1] = a[1] + b[1], y[2] = a[2] + b[2];
}
static inline void kn_sub3(double y[3], const double a[3], const double b[3]) {
  y[0] = a[0] - b[0], y[1] = a[1] - b[1], y[2] = a[2] - b[2];
}
static inline void kn_scale3(double y[3], const double a[3], double s) {
  y[0] = a[0] * s, y[1] = a[1] * s, y[2] = a[2] * s;
}
static inline void kn_axpy3(double y[3], double s, const double a[3]) { /* y += s a */
  y[0] += s * a[0], y[1] += s * a[1], y[2] += s * a[2];
}
static inline void kn_cross3(double y[3], const double a[3], const double b[3]) {
  double u = a[1] * b[2] - a[2] * b[1], v = a[2] * b[0] - a[0] * b[2], w = a[0] * b[1] - a[1] * b[0];
  y[0] = u, y[1] = v, y[2] = w;
}
static inline void kn_cross_add3(double y[3], const double a[3], const double b[3]) { /* y += a x b */
  double c[3];
  kn_cross3(c, a, b);
  kn_add3(y, y, c);
}
/* Unit length for vectors of ordinary size; returns the old length (0: y becomes e_z). */
static inline double kn_normalize3(double y[3], const double a[3]) {
  double n = kn_norm3(a);
  if (n > 0.0)
    kn_scale3(y, a, 1.0 / n);
  else
    y[0] = y[1] = 0.0, y[2] = 1.0;
  return n;
}
/* Unit length for vectors of any size: scaled, no overflow. Returns the old length; a vector of length zero or
   not finite is left alone. */
static inline double kn_unit3(double a[3]) {
  double big = fmax(fabs(a[0]), fmax(fabs(a[1]), fabs(a[2])));
  if (!(big > 0.0) || isinf(big)) return big;
  double b[3] = {a[0] / big, a[1] / big, a[2] / big}, n = kn_norm3(b);
  for (int i = 0; i < 3; i++) a[i] = b[i] / n;
  return n * big;
}

/* ---- 3x3 matrices, row-major ---- */
static inline void kn_mul33v(double y[3], const double A[9], const double x[3]) { /* y = A x, y may be x */
  double t[3] = {kn_dot3(A, x), kn_dot3(A + 3, x), kn_dot3(A + 6, x)};
  kn_copy3(y, t);
}
static inline void kn_mul33tv(double y[3], const double A[9], const double x[3]) { /* y = Aᵀ x, y may be x */
  double t[3];
  for (int i = 0; i < 3; i++) t[i] = A[i] * x[0] + A[3 + i] * x[1] + A[6 + i] * x[2];
  kn_copy3(y, t);
}
static inline void kn_mul33(double C[9], const double A[9], const double B[9]) { /* C = A B */
  double t[9];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      t[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
  memcpy(C, t, sizeof t);
}
static inline void kn_mul33t(double C[9], const double A[9], const double B[9]) { /* C = A Bᵀ */
  double t[9];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) t[3 * i + j] = kn_dot3(A + 3 * i, B + 3 * j);
  memcpy(C, t, sizeof t);
}
static inline void kn_mul33tn(double C[9], const double A[9], const double B[9]) { /* C = Aᵀ B */
  double t[9];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) t[3 * i + j] = A[i] * B[j] + A[3 + i] * B[3 + j] + A[6 + i] * B[6 + j];
  memcpy(C, t, sizeof t);
}
static inline void kn_skew33(double S[9], const double a[3]) { /* S x = a x x */
  S[0] = 0.0, S[1] = -a[2], S[2] = a[1];
  S[3] = a[2], S[4] = 0.0, S[5] = -a[0];
  S[6] = -a[1], S[7] = a[0], S[8] = 0.0;
}
/* A rotation whose z axis is the unit vector given (Duff et al. 2017, without trigonometry). */
static inline void kn_rotation_to_z(double R[9], const double z[3]) {
  double s = z[2] < 0.0 ? -1.0 : 1.0, a = -1.0 / (s + z[2]), b = z[0] * z[1] * a;
  double x[3] = {1.0 + s * z[0] * z[0] * a, s * b, -s * z[0]}, y[3] = {b, s + z[1] * z[1] * a, -z[1]};
  for (int i = 0; i < 3; i++) R[3 * i] = x[i], R[3 * i + 1] = y[i], R[3 * i + 2] = z[i];
}

/* ---- unit quaternions (w,x,y,z) ---- */
static inline void kn_quat_identity(double q[4]) { q[0] = 1.0, q[1] = q[2] = q[3] = 0.0; }
static inline void kn_quat_mul(double c[4], const double a[4], const double b[4]) { /* c may alias */
  double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
  c[0] = w, c[1] = x, c[2] = y, c[3] = z;
}
static inline void kn_quat_conj(double c[4], const double a[4]) {
  c[0] = a[0], c[1] = -a[1], c[2] = -a[2], c[3] = -a[3];
}
/* Unit length for quaternions near it; the identity for a zero quaternion. */
static inline void kn_quat_normalize(double c[4], const double a[4]) {
  double n = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3]);
  if (!(n > 0.0)) {
    kn_quat_identity(c);
    return;
  }
  double s = 1.0 / n;
  for (int i = 0; i < 4; i++) c[i] = a[i] * s;
}
/* Unit length for quaternions of any size: scaled, no overflow. Returns the old length; left alone when that is
   zero or not finite. */
static inline double kn_quat_unit(double q[4]) {
  double big = fmax(fmax(fabs(q[0]), fabs(q[1])), fmax(fabs(q[2]), fabs(q[3])));
  if (!(big > 0.0) || isinf(big)) return big;
  double p[4], s = 0.0;
  for (int i = 0; i < 4; i++) p[i] = q[i] / big, s += p[i] * p[i];
  double n = sqrt(s);
  for (int i = 0; i < 4; i++) q[i] = p[i] / n;
  return n * big;
}
static inline void kn_quat_to_matrix(double R[9], const double q[4]) { /* q unit */
  double w = q[0], x = q[1], y = q[2], z = q[3];
  R[0] = 1.0 - 2.0 * (y * y + z * z), R[1] = 2.0 * (x * y - w * z), R[2] = 2.0 * (x * z + w * y);
  R[3] = 2.0 * (x * y + w * z), R[4] = 1.0 - 2.0 * (x * x + z * z), R[5] = 2.0 * (y * z - w * x);
  R[6] = 2.0 * (x * z - w * y), R[7] = 2.0 * (y * z + w * x), R[8] = 1.0 - 2.0 * (x * x + y * y);
}
/* w >= 0. The second is for rotations that are orthogonal to rounding, inside a step. */
void kn_quat_from_matrix(double q[4], const double R[9]);
void kn_quat_from_rotation(double q[4], const double R[9]);
void kn_quat_exp(double q[4], const double w[3]); /* rotation vector -> quaternion */
void kn_quat_log(double w[3], const double q[4]); /* inverse, |w| <= pi; q need not be unit */

/* ---- poses ---- */
static inline kn_pose kn_pose_identity(void) {
  kn_pose X = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
  return X;
}
static inline kn_pose kn_pose_make(const double p[3], const double quat[4]) { /* quat unit */
  kn_pose X;
  kn_quat_to_matrix(X.R, quat);
  kn_copy3(X.p, p);
  return X;
}
static inline kn_pose kn_pose_from(const double p[3], const double quat[4]) { /* quat of any length */
  double q[4];
  kn_quat_normalize(q, quat);
  return kn_pose_make(p, q);
}
static inline void kn_pose_apply(double y[3], const kn_pose* T, const double x[3]) {
  double t[3];
  kn_mul33v(t, T->R, x);
  kn_add3(y, t, T->p);
}
static inline void kn_pose_apply_inverse(double y[3], const kn_pose* T, const double x[3]) {
  double t[3];
  kn_sub3(t, x, T->p);
  kn_mul33tv(y, T->R, t);
}
static inline kn_pose kn_pose_mul(const kn_pose* A, const kn_pose* B) { /* A B: first B, then A */
  kn_pose X;
  kn_mul33(X.R, A->R, B->R);
  kn_pose_apply(X.p, A, B->p);
  return X;
}
static inline kn_pose kn_pose_between(const kn_pose* A, const kn_pose* B) { /* A⁻¹ B: B seen from A */
  kn_pose X;
  kn_mul33tn(X.R, A->R, B->R);
  kn_pose_apply_inverse(X.p, A, B->p);
  return X;
}
static inline kn_pose kn_pose_inverse(const kn_pose* A) {
  kn_pose I = kn_pose_identity();
  return kn_pose_between(A, &I);
}

/* ---- symmetric tensors xx yy zz xy xz yz ---- */
static inline void kn_sym_expand(double A[9], const double S[6]) {
  A[0] = S[0], A[4] = S[1], A[8] = S[2];
  A[1] = A[3] = S[3], A[2] = A[6] = S[4], A[5] = A[7] = S[5];
}
static inline void kn_sym_pack(double S[6], const double A[9]) { /* mean of both triangles */
  S[0] = A[0], S[1] = A[4], S[2] = A[8];
  S[3] = 0.5 * (A[1] + A[3]), S[4] = 0.5 * (A[2] + A[6]), S[5] = 0.5 * (A[5] + A[7]);
}
/* S += m (|c|² 1 - c cᵀ): inertia of a point mass m at c. */
static inline void kn_sym_add_point(double S[6], double m, const double c[3]) {
  S[0] += m * (c[1] * c[1] + c[2] * c[2]);
  S[1] += m * (c[0] * c[0] + c[2] * c[2]);
  S[2] += m * (c[0] * c[0] + c[1] * c[1]);
  S[3] -= m * c[0] * c[1], S[4] -= m * c[0] * c[2], S[5] -= m * c[1] * c[2];
}
