/* A model like another with other masses, surfaces, sizes and gravity (kn_model_vary): the definitions of the
   compiled model are changed and compiled again. Called by the pool at a reset and by sweeps. */
#include <math.h>

#include "base/error.h"
#include "base/extreme.h"
#include "model/hull.h"
#include "model/model.h"
#include "model/spec.h"

kn_variation kn_variation_none(void) { return (kn_variation){.mass = 1.0, .friction = 1.0, .size = 1.0}; }

static bool not_negative(double x) { return x >= 0.0 && isfinite(x); }
static bool positive(double x) { return x > 0.0 && isfinite(x); }

static kn_status check(const kn_variation* v, const kn_model* m) {
  if (!positive(v->mass)) return kn_fail(KN_BAD_ARGUMENT, "variation: mass %g, must be > 0", v->mass);
  if (!not_negative(v->friction))
    return kn_fail(KN_BAD_ARGUMENT, "variation: friction %g, must be >= 0", v->friction);
  if (!isfinite(v->restitution))
    return kn_fail(KN_BAD_ARGUMENT, "variation: restitution %g, must be finite", v->restitution);
  if (!positive(v->size)) return kn_fail(KN_BAD_ARGUMENT, "variation: size %g, must be > 0", v->size);
  if (!isfinite(v->gravity[0] + v->gravity[1] + v->gravity[2]))
    return kn_fail(KN_BAD_ARGUMENT, "variation: gravity is not finite");
  for (int i = 0; v->body_mass && i < m->nbody; i++)
    if (!positive(v->body_mass[i]))
      return kn_fail(KN_BAD_ARGUMENT, "variation: body_mass[%d] (%s) is %g, must be > 0", i,
                     kn_body_name(m, i), v->body_mass[i]);
  for (int i = 0; v->geom_friction && i < m->ngeom; i++)
    if (!not_negative(v->geom_friction[i]))
      return kn_fail(KN_BAD_ARGUMENT, "variation: geom_friction[%d] (%s) is %g, must be >= 0", i,
                     kn_geom_name(m, i), v->geom_friction[i]);
  return KN_OK;
}

static kn_material vary_surface(kn_material s, const kn_variation* v, double friction) {
  friction *= v->friction;
  s.mu = friction > 0.0 ? s.mu * friction : 0.0; /* it may be infinite */
  s.torsion *= friction, s.roll *= friction, s.mu2 *= friction;
  s.e = kn_clamp(s.e + v->restitution, 0.0, 1.0);
  return s;
}

static kn_status vary_shape(kn_geom_def* d, double size) {
  if (size == 1.0 || d->shape.type == KN_SHAPE_PLANE || d->shape.type == KN_SHAPE_MESH) return KN_OK;
  for (int k = 0; k < 3; k++) d->shape.size[k] *= size;
  if (d->shape.type != KN_SHAPE_HULL) return KN_OK;
  kn_hull* hull;
  KN_TRY(kn_hull_scaled(&hull, d->shape.hull, size));
  d->shape.hull = hull;
  d->own_shape = true;
  return KN_OK;
}

static kn_status add_bodies(kn_spec* spec, const kn_model* m, const kn_variation* v) {
  for (int i = 0; i < m->nbody; i++) {
    kn_body_def d = m->body[i];
    double factor = v->body_mass ? v->mass * v->body_mass[i] : v->mass;
    d.mass *= factor;
    for (int k = 0; k < 6; k++) d.inertia[k] *= factor;
    KN_TRY(kn_spec_add_body(NULL, spec, &d));
  }
  return KN_OK;
}

static kn_status add_geoms(kn_spec* spec, const kn_model* m, const kn_variation* v) {
  for (int i = 0; i < m->ngeom; i++) {
    kn_geom_def d = m->geom[i];
    d.own_shape = false; /* those of the model as it was stay its own */
    d.material = vary_surface(d.material, v, v->geom_friction ? v->geom_friction[i] : 1.0);
    if (m->geom_place[i].link >= 0) KN_TRY(vary_shape(&d, v->size));
    kn_status status = kn_spec_add_geom(NULL, spec, &d);
    if (status != KN_OK && d.own_shape) kn_hull_destroy((kn_hull*)(uintptr_t)d.shape.hull);
    KN_TRY(status);
  }
  return KN_OK;
}

static kn_status add_rest(kn_spec* spec, const kn_model* m, const kn_variation* v) {
  for (int i = 0; i < m->nframe; i++) KN_TRY(kn_spec_add_frame(NULL, spec, &m->frame[i]));
  for (int i = 0; i < m->nu; i++) KN_TRY(kn_spec_add_actuator(NULL, spec, &m->actuator[i]));
  for (int i = 0; i < m->nloop; i++) KN_TRY(kn_spec_add_loop(NULL, spec, &m->loop[i]));
  for (int i = 0; i < m->rules.npair; i++) {
    kn_pair_def d = m->rules.pair[i];
    d.material = vary_surface(d.material, v, 1.0);
    KN_TRY(kn_spec_add_pair(spec, &d));
  }
  for (int i = 0; i < m->rules.nexclusion; i++)
    KN_TRY(kn_spec_add_exclusion(spec, m->rules.exclusion[i][0], m->rules.exclusion[i][1]));
  for (int i = 0; i < m->nkey; i++) KN_TRY(kn_spec_add_keyframe(spec, &m->key[i]));
  for (int i = 0; i < m->sense.count; i++) KN_TRY(kn_spec_add_sensor(NULL, spec, &m->sense.sensor[i]));
  return KN_OK;
}

static kn_status describe(kn_spec* spec, const kn_model* m, const kn_variation* v) {
  double gravity[3];
  for (int k = 0; k < 3; k++)
    gravity[k] = v->gravity[k] != 0.0 ? m->gravity[k] + v->gravity[k] : m->gravity[k];
  spec->compiled = true;
  KN_TRY(kn_spec_set_name(spec, m->name));
  KN_TRY(kn_spec_set_gravity(spec, gravity));
  KN_TRY(kn_spec_set_magnetic(spec, m->sense.magnetic));
  KN_TRY(add_bodies(spec, m, v));
  for (int i = 0; i < m->njoint; i++) KN_TRY(kn_spec_add_joint(NULL, spec, &m->joint[i]));
  KN_TRY(add_geoms(spec, m, v));
  return add_rest(spec, m, v);
}

kn_status kn_model_vary(kn_model** varied, const kn_model* model, const kn_variation* variation) {
  KN_REQUIRE(varied != NULL);
  *varied = NULL;
  KN_REQUIRE(model != NULL && variation != NULL);
  KN_TRY(check(variation, model));
  kn_spec* spec;
  KN_TRY(kn_spec_create(&spec));
  kn_status status = describe(spec, model, variation);
  if (status == KN_OK) status = kn_compile(varied, spec);
  kn_spec_destroy(spec);
  return status;
}
