/* Mass properties of bodies in their own axes, and of links.

   A tensor I_c about the centre of mass c moves to the origin by Steiner: I = I_c + m (c·c 1 - c cᵀ); a frame
   turned by R sees R I Rᵀ. Bodies welded into one link add up. */
#include <string.h>

#include "base/error.h"
#include "knuckle/massprops.h"
#include "model/compile/compile.h"
#include "spatial/spatial.h"

/* T := R S Rᵀ, both as xx yy zz xy xz yz */
static void rotate_tensor(double T[6], const double R[9], const double S[6]) {
  double A[9] = {S[0], S[3], S[4], S[3], S[1], S[5], S[4], S[5], S[2]}, B[9];
  kn_mul33(B, R, A);
  double C[6];
  static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
  for (int i = 0; i < 6; i++) C[i] = kn_dot3(&B[3 * row[i]], &R[3 * col[i]]);
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
  kn_quat_to_matrix(R, b->inertia_quat);
  rotate_tensor(b->inertia, R, b->inertia);
  b->inertia_quat[0] = 1.0;
  b->inertia_quat[1] = b->inertia_quat[2] = b->inertia_quat[3] = 0.0;
}

static void add_to_link(kn_link* l, const kn_body_def* b, const kn_pose* in_link) {
  double c[3], T[6];
  kn_pose_apply(c, in_link, b->com);
  rotate_tensor(T, in_link->R, b->inertia);
  steiner(T, b->mass, c);
  l->mass += b->mass;
  for (int i = 0; i < 3; i++) l->mc[i] += b->mass * c[i];
  for (int i = 0; i < 6; i++) l->I[i] += T[i];
}

/* A geom's own mass, when given, replaces the one of its density. Planes and static meshes weigh nothing. */
static kn_status geom_massprops(kn_massprops* out, const kn_model* m, int g) {
  const kn_geom_def* d = &m->geom[g];
  *out = (kn_massprops){0};
  double density = d->mass >= 0.0 ? 1.0 : d->density;
  if (d->shape.type == KN_SHAPE_PLANE || d->shape.type == KN_SHAPE_MESH || density == 0.0 || d->mass == 0.0)
    return KN_OK;
  kn_status status = kn_shape_massprops(out, &d->shape, density);
  kn_who who = {"geom", g, d->name};
  if (status != KN_OK) return kn_refuse(&who, "has no mass properties: %s", kn_status_text(status));
  if (d->mass >= 0.0) {
    for (int i = 0; i < 6; i++) out->inertia[i] *= d->mass / out->mass;
    out->mass = d->mass;
  }
  kn_pose in_body = kn_pose_make(d->pos, d->quat);
  *out = kn_massprops_move(out, &in_body);
  return KN_OK;
}

static kn_status sum_geoms(kn_model* m) {
  for (int b = 0; b < m->nbody; b++) {
    if (!m->body[b].inertia_from_geoms) continue;
    m->body[b].mass = 0.0;
    memset(m->body[b].com, 0, sizeof m->body[b].com);
    memset(m->body[b].inertia, 0, sizeof m->body[b].inertia);
    for (int i = 0; i < 4; i++) m->body[b].inertia_quat[i] = i == 0;
  }
  for (int g = 0; g < m->ngeom; g++) {
    kn_body b = m->geom[g].body;
    if (b == KN_WORLD || !m->body[b].inertia_from_geoms) continue;
    kn_massprops part, sum = {.mass = m->body[b].mass};
    memcpy(sum.com, m->body[b].com, sizeof sum.com);
    memcpy(sum.inertia, m->body[b].inertia, sizeof sum.inertia);
    KN_TRY(geom_massprops(&part, m, g));
    sum = kn_massprops_add(&sum, &part);
    m->body[b].mass = sum.mass;
    memcpy(m->body[b].com, sum.com, sizeof sum.com);
    memcpy(m->body[b].inertia, sum.inertia, sizeof sum.inertia);
  }
  return KN_OK;
}

kn_status kn_compile_inertia(kn_model* m) {
  KN_TRY(sum_geoms(m));
  for (int b = 0; b < m->nbody; b++) {
    kn_body_def* def = &m->body[b];
    resolve_axes(def);
    m->mass += def->mass;
    if (m->place[b].link >= 0) add_to_link(&m->link[m->place[b].link], def, &m->place[b].in_link);
  }
  return KN_OK;
}
