/* Mass and inertia of bodies by MuJoCo's rules: <inertial> unless inertiafromgeom says otherwise, geoms of
   the chosen groups, bounds, balancing, total mass. The tensor itself is kept; principal axes are not needed.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "load/mjcf/mjcf.h"
#include "spatial/spatial.h"

#define MIN_VALUE 1e-15 /* mass and inertia of a moving body must exceed this */

static kn_status geom_props(kn_mj_geom* g) {
  kn_massprops* p = &g->props;
  *p = (kn_massprops){0};
  if (g->infinite || g->def.mass == 0.0 || (g->def.mass < 0.0 && g->def.density == 0.0)) return KN_OK;
  if (g->mesh) {
    union {
      const kn_mj_mesh* in;
      kn_mj_mesh* out;
    } mesh = {g->mesh}; /* properties are computed at first use */
    KN_TRY(kn_mj_mesh_props(mesh.out));
    *p = g->mesh->props;
  } else if (g->shell) {
    KN_TRY(kn_shape_massprops_shell(p, &g->def.shape, 1.0));
  } else {
    KN_TRY(kn_shape_massprops(p, &g->def.shape, 1.0));
  }
  double density = g->def.density;
  if (g->def.mass >= 0.0) {
    if (!(p->mass > 1e-30))
      return kn_xml_fail(g->node,
                         "the geom has a mass but no volume, expected a shape with a volume or mass 0");
    density = g->def.mass / p->mass;
  }
  p->mass *= density;
  for (int i = 0; i < 6; i++) p->inertia[i] *= density;
  return KN_OK;
}

static kn_status from_geoms(kn_mj_loader* l, kn_mj_body* b, int first, int count) {
  const int* group = b->document->compiler.inertiagrouprange;
  kn_massprops sum = {0};
  for (int i = first; i < first + count; i++) {
    kn_mj_geom* g = &l->geom.at[i];
    if (g->def.group < group[0] || g->def.group > group[1]) continue;
    KN_TRY(geom_props(g));
    kn_pose pose = kn_pose_make(g->def.pos, g->def.quat);
    kn_massprops moved = kn_massprops_move(&g->props, &pose);
    sum = kn_massprops_add(&sum, &moved);
  }
  b->def.mass = sum.mass;
  memcpy(b->def.com, sum.com, sizeof sum.com);
  memcpy(b->def.inertia, sum.inertia, sizeof sum.inertia);
  memcpy(b->def.inertia_quat, (double[4]){1, 0, 0, 0}, sizeof b->def.inertia_quat);
  return KN_OK;
}

static kn_status from_inertial(kn_mj_body* b, const kn_xml_node* node) {
  const kn_xml_attr *mass = kn_xml_find(node, "mass"), *pos = kn_xml_find(node, "pos");
  const kn_xml_attr *diag = kn_xml_find(node, "diaginertia"), *full = kn_xml_find(node, "fullinertia");
  if (!mass) return kn_xml_fail(node, "<inertial> without mass, expected mass=\"…\" in kg");
  if (!pos) return kn_xml_fail(node, "<inertial> without pos, expected the centre of mass pos=\"x y z\"");
  KN_TRY(kn_value_bound(&b->def.mass, mass));
  kn_mj_element e = {.node = node, .document = b->document};
  bool turned;
  KN_TRY(kn_value_reals(b->def.com, NULL, pos, 3, 3));
  memcpy(b->def.inertia_quat, (double[4]){1, 0, 0, 0}, sizeof b->def.inertia_quat);
  KN_TRY(kn_mj_orientation(b->def.inertia_quat, &turned, &e));
  memset(b->def.inertia, 0, sizeof b->def.inertia);
  if (diag && full) return kn_xml_fail_at(full, "both diaginertia and fullinertia, expected one of them");
  if (full && turned)
    return kn_xml_fail_at(full, "fullinertia beside an orientation, expected diaginertia or no orientation");
  KN_TRY(kn_value_reals(b->def.inertia, NULL, diag, 3, 3));
  for (int i = 0; diag && i < 3; i++)
    if (b->def.inertia[i] < 0.0)
      return kn_xml_fail_at(diag, "diaginertia number %d is %g, expected a number >= 0", i + 1,
                            b->def.inertia[i]);
  return kn_value_reals(b->def.inertia, NULL, full, 6, 6);
}

/* Bounds and the triangle inequality on the principal moments; changes rotate the tensor to its axes. */
static kn_status adjust(kn_mj_body* b, const kn_xml_node* where) {
  const kn_mj_compiler* c = &b->document->compiler;
  double m[3], axes[4];
  kn_body_def* d = &b->def;
  KN_TRY(kn_principal_axes(m, axes, d->inertia));
  bool low = false, full = d->inertia[3] != 0.0 || d->inertia[4] != 0.0 || d->inertia[5] != 0.0;
  double least = fmin(m[0], fmin(m[1], m[2])), top = fmax(fabs(m[0]), fabs(m[2]));
  for (int i = 0; i < 3; i++) low = low || (c->boundinertia > 0.0 && m[i] < c->boundinertia);
  if (full && !low && least < -1e-14 * top)
    return kn_xml_fail(
        where,
        "the inertia is not positive definite (least moment %g), expected a real body's inertia or "
        "boundinertia in <compiler>",
        least);
  bool unbalanced =
      m[0] + m[1] < m[2] - 1e-9 * top || m[0] + m[2] < m[1] - 1e-9 * top || m[1] + m[2] < m[0] - 1e-9 * top;
  if (c->boundmass > 0.0 && d->mass < c->boundmass) d->mass = c->boundmass;
  if (low)
    for (int i = 0; i < 3; i++) m[i] = fmax(m[i], c->boundinertia);
  if (unbalanced && !c->balanceinertia)
    return kn_xml_fail(where,
                       "the inertia (%g, %g, %g) breaks A + B >= C, expected a real body's inertia or "
                       "balanceinertia=\"true\" in <compiler>",
                       m[0], m[1], m[2]);
  if (unbalanced && c->balanceinertia) m[0] = m[1] = m[2] = (m[0] + m[1] + m[2]) / 3.0;
  if (low || (unbalanced && c->balanceinertia)) {
    for (int i = 0; i < 3; i++) d->inertia[i] = m[i], d->inertia[3 + i] = 0.0;
    kn_quat_mul(d->inertia_quat, d->inertia_quat, axes);
  }
  return KN_OK;
}

kn_status kn_mj_body_inertia(kn_mj_loader* l, int body, const kn_xml_node* inertial, const kn_pose* frame,
                             int first_geom, int ngeom) {
  kn_mj_body* b = &l->body.at[body];
  const kn_mj_compiler* c = &b->document->compiler;
  b->def.inertia_from_geoms = false;
  b->def.mass = 0.0;
  memset(b->def.com, 0, sizeof b->def.com);
  memset(b->def.inertia, 0, sizeof b->def.inertia);
  if (inertial) {
    double turn[4];
    KN_TRY(from_inertial(b, inertial));
    kn_pose_apply(b->def.com, frame, b->def.com);
    kn_quat_from_matrix(turn, frame->R);
    kn_quat_mul(b->def.inertia_quat, turn, b->def.inertia_quat);
  }
  if (c->inertiafromgeom == KN_MJ_FROM_GEOM_TRUE ||
      (c->inertiafromgeom == KN_MJ_FROM_GEOM_AUTO && !inertial)) {
    b->by_geoms = true;
    KN_TRY(from_geoms(l, b, first_geom, ngeom));
  }
  return adjust(b, inertial ? inertial : b->node);
}

/* Has this body, or a body welded to it, mass and inertia? */
static bool has_mass(const kn_mj_loader* l, int body, const int* first, const int* next) {
  const kn_body_def* d = &l->body.at[body].def;
  if (d->mass > MIN_VALUE &&
      (d->inertia[0] > MIN_VALUE || d->inertia[1] > MIN_VALUE || d->inertia[2] > MIN_VALUE))
    return true;
  for (int k = first[body]; k >= 0; k = next[k])
    if (!l->body.at[k].moving && has_mass(l, k, first, next)) return true;
  return false;
}

static kn_status check_moving(kn_mj_loader* l) {
  int n = l->body.count;
  int *first = kn_hoard_take(l->pool, 2 * (size_t)n * sizeof(int) + 1), *next = first ? first + n : NULL;
  if (!first) return kn_fail(KN_OUT_OF_MEMORY, "no memory");
  for (int i = 0; i < n; i++) first[i] = -1;
  for (int i = n - 1; i >= 0; i--) {
    kn_body p = l->body.at[i].def.parent;
    if (p >= 0) next[i] = first[p], first[p] = i;
  }
  for (int i = 0; i < n; i++) {
    const kn_mj_body* b = &l->body.at[i];
    if (!b->moving || has_mass(l, i, first, next)) continue;
    bool last = true; /* further joints below may carry the mass (a chain of massless bodies) */
    for (int k = first[i]; k >= 0; k = next[k]) last = false;
    if (last)
      return kn_xml_fail(
          b->node,
          "body \"%.60s\" moves but has no mass, expected <inertial>, geoms with density, or boundmass "
          "in <compiler>",
          b->def.name ? b->def.name : "");
  }
  return KN_OK;
}

kn_status kn_mj_inertia_finish(kn_mj_loader* l) {
  double wanted = -1.0, sum = 0.0;
  for (int i = 0; i < l->body.count; i++) {
    if (l->body.at[i].document->prefix[0] == 0) wanted = l->body.at[i].document->compiler.settotalmass;
    sum += l->body.at[i].def.mass;
  }
  if (wanted > 0.0 && sum > 0.0)
    for (int i = 0; i < l->body.count; i++) {
      kn_body_def* d = &l->body.at[i].def;
      d->mass *= wanted / sum;
      for (int k = 0; k < 6; k++) d->inertia[k] *= wanted / sum;
    }
  return check_moving(l);
}
