/* Rotations, quaternions, exponential and logarithm. */
#include "spatial/spatial.h"

#include "base/rng.h"
#include "test.h"

static void random_vector(kn_rng* rng, double v[3], double scale) {
  for (int i = 0; i < 3; i++) v[i] = scale * kn_rng_range(rng, -1, 1);
}

TEST(log_inverts_exp) {
  kn_rng rng = kn_rng_seed(1);
  for (int i = 0; i < 20000; i++) {
    double w[3], q[4], back[3];
    random_vector(&rng, w, pow(10, kn_rng_range(&rng, -12, 0.25)));
    if (kn_norm3(w) > 3.14) continue;
    kn_quat_exp(q, w);
    CHECK_NEAR(q[0] * q[0] + kn_dot3(q + 1, q + 1), 1.0, 4e-16);
    kn_quat_log(back, q);
    double n = kn_norm3(w);
    for (int k = 0; k < 3; k++) CHECK_NEAR(back[k], w[k], 2e-15 * n / (3.15 - n)); /* near pi: |v| -> 1 */
    for (int k = 0; k < 4; k++) q[k] = -q[k];                                      /* the same rotation */
    kn_quat_log(back, q);
    for (int k = 0; k < 3; k++) CHECK_NEAR(back[k], w[k], 2e-15 * n / (3.15 - n));
  }
  double zero[3] = {0, 0, 0}, q[4], w[3];
  kn_quat_exp(q, zero);
  kn_quat_log(w, q);
  CHECK(q[0] == 1 && kn_norm3(w) == 0);
}

/* Rodrigues' formula is the reference for exp. */
TEST(exp_is_rodrigues) {
  kn_rng rng = kn_rng_seed(2);
  for (int i = 0; i < 5000; i++) {
    double w[3], q[4], R[9], K[9], K2[9];
    random_vector(&rng, w, 4.0);
    kn_quat_exp(q, w);
    kn_quat_to_matrix(R, q);
    double a = kn_norm3(w), u[3];
    kn_scale3(u, w, 1 / a);
    kn_skew33(K, u);
    kn_mul33(K2, K, K);
    for (int k = 0; k < 9; k++) CHECK_NEAR(R[k], (k % 4 == 0) + sin(a) * K[k] + (1 - cos(a)) * K2[k], 2e-15);
  }
}

TEST(quaternion_of_a_matrix) {
  kn_rng rng = kn_rng_seed(3);
  for (int i = 0; i < 20000; i++) {
    double q[4], R[9], p[4], R2[9];
    for (int k = 0; k < 4; k++) q[k] = kn_rng_int(&rng, 3) ? kn_rng_range(&rng, -1, 1) : 0.0;
    kn_quat_normalize(q, q);
    kn_quat_to_matrix(R, q);
    for (int way = 0; way < 2; way++) {
      (way ? kn_quat_from_rotation : kn_quat_from_matrix)(p, R);
      kn_quat_to_matrix(R2, p);
      for (int k = 0; k < 9; k++) CHECK_NEAR(R2[k], R[k], 2e-15);
      CHECK(p[0] >= 0);
    }
  }
}

TEST(poses_compose_and_invert) {
  kn_rng rng = kn_rng_seed(4);
  for (int i = 0; i < 2000; i++) {
    double w[3], q[4], p[3], x[3], y[3], z[3];
    kn_pose A, B, C;
    random_vector(&rng, w, 3), random_vector(&rng, p, 2), random_vector(&rng, x, 2);
    kn_quat_exp(q, w);
    A = kn_pose_from(p, q);
    random_vector(&rng, w, 3), random_vector(&rng, p, 2);
    kn_quat_exp(q, w);
    B = kn_pose_from(p, q);
    C = kn_pose_mul(&A, &B);
    kn_pose_apply(y, &B, x), kn_pose_apply(y, &A, y);
    kn_pose_apply(z, &C, x);
    for (int k = 0; k < 3; k++) CHECK_NEAR(z[k], y[k], 1e-14);
    C = kn_pose_inverse(&C);
    kn_pose_apply(z, &C, z);
    for (int k = 0; k < 3; k++) CHECK_NEAR(z[k], x[k], 1e-14);
    kn_pose_apply_inverse(z, &A, y);
    kn_pose_apply(y, &B, x);
    for (int k = 0; k < 3; k++) CHECK_NEAR(z[k], y[k], 1e-14);
  }
}

TEST(tensors_rotate_and_shift) {
  double c[3] = {0.3, -0.2, 0.5}, S[6] = {0}, A[9];
  kn_sym_add_point(S, 2.0, c);
  kn_sym_expand(A, S);
  double w[3] = {0.4, 1.0, -2.0}, L[3], cw[3], ccw[3];
  kn_mul33v(L, A, w);
  kn_cross3(cw, w, c), kn_cross3(ccw, c, cw);
  for (int k = 0; k < 3; k++) CHECK_NEAR(L[k], 2.0 * ccw[k], 1e-15); /* m c x (w x c) */
  double q[4], R[9], Rc[3], B[9], S1[6], S2[6] = {0};
  kn_quat_exp(q, w), kn_quat_to_matrix(R, q);
  kn_mul33v(Rc, R, c);
  kn_mul33(B, R, A), kn_mul33t(A, B, R), kn_sym_pack(S1, A); /* R S Rᵀ */
  kn_sym_add_point(S2, 2.0, Rc);
  for (int k = 0; k < 6; k++) CHECK_NEAR(S1[k], S2[k], 1e-15);
}
