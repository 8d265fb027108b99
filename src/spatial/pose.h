/* Vectors, quaternions (w,x,y,z), rotation matrices (row-major) and poses. Plain arithmetic and sqrt only. */
#ifndef KN_SPATIAL_POSE_H
#define KN_SPATIAL_POSE_H

#include <math.h>

#include "knuckle/types.h"

static inline double kn_vec_dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void kn_vec_cross(double out[3], const double a[3], const double b[3]) {
  double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
  out[0] = x;
  out[1] = y;
  out[2] = z;
}

/* Length before; the vector is left alone when that is zero or not finite. Scaled: no overflow. */
static inline double kn_vec_unit(double a[3]) {
  double big = fmax(fabs(a[0]), fmax(fabs(a[1]), fabs(a[2])));
  if (!(big > 0.0) || isinf(big)) return big;
  double b[3] = {a[0] / big, a[1] / big, a[2] / big}, n = sqrt(kn_vec_dot(b, b));
  for (int i = 0; i < 3; i++) a[i] = b[i] / n;
  return n * big;
}

/* Out = A b; out may be b. */
static inline void kn_mat_vec(double out[3], const double A[9], const double b[3]) {
  double x = A[0] * b[0] + A[1] * b[1] + A[2] * b[2];
  double y = A[3] * b[0] + A[4] * b[1] + A[5] * b[2];
  double z = A[6] * b[0] + A[7] * b[1] + A[8] * b[2];
  out[0] = x;
  out[1] = y;
  out[2] = z;
}

/* Out = Aᵀ b; out may be b. */
static inline void kn_mat_tvec(double out[3], const double A[9], const double b[3]) {
  double x = A[0] * b[0] + A[3] * b[1] + A[6] * b[2];
  double y = A[1] * b[0] + A[4] * b[1] + A[7] * b[2];
  double z = A[2] * b[0] + A[5] * b[1] + A[8] * b[2];
  out[0] = x;
  out[1] = y;
  out[2] = z;
}

/* Out = A B; out must be neither. */
static inline void kn_mat_mul(double out[9], const double A[9], const double B[9]) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      out[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
}

/* Out = Aᵀ B; out must be neither. */
static inline void kn_mat_tmul(double out[9], const double A[9], const double B[9]) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) out[3 * i + j] = A[i] * B[j] + A[3 + i] * B[3 + j] + A[6 + i] * B[6 + j];
}

static inline void kn_mat_identity(double R[9]) {
  for (int i = 0; i < 9; i++) R[i] = i % 4 == 0;
}

/* Rotation of a unit quaternion. */
static inline void kn_quat_matrix(double R[9], const double q[4]) {
  double w = q[0], x = q[1], y = q[2], z = q[3];
  R[0] = 1.0 - 2.0 * (y * y + z * z);
  R[1] = 2.0 * (x * y - w * z);
  R[2] = 2.0 * (x * z + w * y);
  R[3] = 2.0 * (x * y + w * z);
  R[4] = 1.0 - 2.0 * (x * x + z * z);
  R[5] = 2.0 * (y * z - w * x);
  R[6] = 2.0 * (x * z - w * y);
  R[7] = 2.0 * (y * z + w * x);
  R[8] = 1.0 - 2.0 * (x * x + y * y);
}

static inline void kn_quat_mul(double out[4], const double a[4], const double b[4]) {
  double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
  out[0] = w;
  out[1] = x;
  out[2] = y;
  out[3] = z;
}

/* Length before; left alone when that is zero or not finite. */
static inline double kn_quat_unit(double q[4]) {
  double big = fmax(fmax(fabs(q[0]), fabs(q[1])), fmax(fabs(q[2]), fabs(q[3])));
  if (!(big > 0.0) || isinf(big)) return big;
  double p[4], s = 0.0;
  for (int i = 0; i < 4; i++) p[i] = q[i] / big, s += p[i] * p[i];
  double n = sqrt(s);
  for (int i = 0; i < 4; i++) q[i] = p[i] / n;
  return n * big;
}

/* Quaternion with w >= 0 of a rotation matrix (Shepperd's choice of the largest component). */
static inline void kn_quat_from_matrix(double q[4], const double R[9]) {
  double t[4] = {R[0] + R[4] + R[8], R[0] - R[4] - R[8], R[4] - R[0] - R[8], R[8] - R[0] - R[4]};
  int k = 0;
  for (int i = 1; i < 4; i++)
    if (t[i] > t[k]) k = i;
  double c[4][4] = {{1.0 + t[0], R[7] - R[5], R[2] - R[6], R[3] - R[1]},
                    {R[7] - R[5], 1.0 + t[1], R[3] + R[1], R[2] + R[6]},
                    {R[2] - R[6], R[3] + R[1], 1.0 + t[2], R[7] + R[5]},
                    {R[3] - R[1], R[2] + R[6], R[7] + R[5], 1.0 + t[3]}};
  for (int i = 0; i < 4; i++) q[i] = c[k][0] < 0.0 ? -c[k][i] : c[k][i];
  kn_quat_unit(q);
}

/* A rotation whose z axis is the unit vector given (Duff et al. 2017, without trigonometry). */
static inline void kn_mat_from_z(double R[9], const double z[3]) {
  double s = z[2] < 0.0 ? -1.0 : 1.0, a = -1.0 / (s + z[2]), b = z[0] * z[1] * a;
  double x[3] = {1.0 + s * z[0] * z[0] * a, s * b, -s * z[0]}, y[3] = {b, s + z[1] * z[1] * a, -z[1]};
  for (int i = 0; i < 3; i++) {
    R[3 * i] = x[i];
    R[3 * i + 1] = y[i];
    R[3 * i + 2] = z[i];
  }
}

static inline kn_pose kn_pose_identity(void) {
  kn_pose X = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
  return X;
}

static inline kn_pose kn_pose_make(const double p[3], const double quat[4]) {
  kn_pose X;
  kn_quat_matrix(X.R, quat);
  for (int i = 0; i < 3; i++) X.p[i] = p[i];
  return X;
}

/* x_out = A (B x) */
static inline kn_pose kn_pose_mul(const kn_pose* A, const kn_pose* B) {
  kn_pose X;
  kn_mat_mul(X.R, A->R, B->R);
  kn_mat_vec(X.p, A->R, B->p);
  for (int i = 0; i < 3; i++) X.p[i] += A->p[i];
  return X;
}

/* A⁻¹ B */
static inline kn_pose kn_pose_between(const kn_pose* A, const kn_pose* B) {
  kn_pose X;
  double d[3] = {B->p[0] - A->p[0], B->p[1] - A->p[1], B->p[2] - A->p[2]};
  kn_mat_tmul(X.R, A->R, B->R);
  kn_mat_tvec(X.p, A->R, d);
  return X;
}

static inline kn_pose kn_pose_inverse(const kn_pose* A) {
  kn_pose I = kn_pose_identity();
  return kn_pose_between(A, &I);
}

static inline void kn_pose_point(double out[3], const kn_pose* A, const double x[3]) {
  kn_mat_vec(out, A->R, x);
  for (int i = 0; i < 3; i++) out[i] += A->p[i];
}

#endif
