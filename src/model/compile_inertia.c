/* Mass properties of bodies in their own axes, and of links.

   A tensor I_c about the centre of mass c moves to the origin by Steiner: I = I_c + m (c·c 1 - c cᵀ); a frame
   turned by R sees R I Rᵀ. Bodies welded into one link add up. */
#include <string.h>

#include "model/compile.h"
#include "spatial/pose.h"

/* T := R S Rᵀ, both as xx yy zz xy xz yz */
static void rotate_tensor(double T[6], const double R[9], const double S[6]) {
  double A[9] = {S[0], S[3], S[4], S[3], S[1], S[5], S[4], S[5], S[2]}, B[9];
  kn_mat_mul(B, R, A);
  double C[6];
  static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
  for (int i = 0; i < 6; i++) C[i] = kn_vec_dot(&B[3 * row[i]], &R[3 * col[i]]);
  memcpy(T, C, sizeof C);
}

static void steiner(double T[6], double m, const double c[3]) {
  T[0] += m * (c[1] * c[1] + c[2] * c[2]);
  T[1] += m * (c[0] * c[0] + c[2] * c[2]);
  T[2] += m * (c[0] * c[0] + c[1] * c[1]);
  T[3] -= m * c[0] * c[1];
  T[4] -= m * c[0] * c[2];
  T[5] -= m * c[1] * c[2];
}

static void resolve_axes(kn_body_def* b) {
  double R[9];
  kn_quat_matrix(R, b->inertia_quat);
  rotate_tensor(b->inertia, R, b->inertia);
  b->inertia_quat[0] = 1.0;
  b->inertia_quat[1] = b->inertia_quat[2] = b->inertia_quat[3] = 0.0;
}

static void add_to_link(kn_link* l, const kn_body_def* b, const kn_pose* in_link) {
  double c[3], T[6];
  kn_pose_point(c, in_link, b->com);
  rotate_tensor(T, in_link->R, b->inertia);
  steiner(T, b->mass, c);
  l->mass += b->mass;
  for (int i = 0; i < 3; i++) l->mc[i] += b->mass * c[i];
  for (int i = 0; i < 6; i++) l->I[i] += T[i];
}

kn_status kn_compile_inertia(kn_model* m) {
  for (int b = 0; b < m->nbody; b++) {
    kn_body_def* def = &m->body[b];
    resolve_axes(def);
    m->mass += def->mass;
    if (m->place[b].link >= 0) add_to_link(&m->link[m->place[b].link], def, &m->place[b].in_link);
  }
  return KN_OK;
}
