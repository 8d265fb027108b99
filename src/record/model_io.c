/* One walk over every definition serves writing and reading: a field is put or taken depending on the
 * direction. */
#include "record/model_io.h"

#include "base/error.h"
#include "base/hoard.h"
#include "knuckle/mesh.h"
#include "model/hull.h"
#include "model/hull_build.h"
#include "model/spec.h"
#include "model/trimesh.h"

/* 3: faces of hulls, keyframes; 4: sensors, zones of frames, actuators through sites */
enum { VERSION = 4, OLDEST = 2, MAX_ITEMS = 10000000 };

enum { COUNTS = 10 }; /* kinds of things */

typedef struct io {
  kn_bytes* out; /* writing */
  kn_view* in;   /* or reading */
  kn_hoard pool; /* strings while reading */
  uint32_t version;
} io;

static void raw(io* x, void* field, size_t n) {
  if (x->out)
    kn_put(x->out, field, n);
  else
    kn_get(x->in, field, n);
}
static void reals(io* x, double* v, int n) { raw(x, v, (size_t)n * sizeof *v); }
static void whole(io* x, int32_t* v) { raw(x, v, sizeof *v); }
static void flag(io* x, bool* v) {
  uint8_t b = *v;
  raw(x, &b, 1);
  *v = b != 0;
}
#define ENUM(x, field)                                                                                       \
  do {                                                                                                       \
    int32_t e_ = (int32_t)(field);                                                                           \
    whole((x), &e_);                                                                                         \
    (field) = e_;                                                                                            \
  } while (0)

static void text(io* x, const char** s) {
  if (x->out) {
    kn_put_text(x->out, *s);
    return;
  }
  uint32_t n = kn_get_u32(x->in);
  kn_view part = kn_get_view(x->in, n);
  *s = part.bad ? "" : kn_hoard_text(&x->pool, (const char*)part.at, n);
  if (!*s) *s = "", x->in->bad = true;
}

static void material(io* x, kn_material* m) {
  double* f[] = {&m->mu, &m->torsion, &m->roll, &m->e, &m->K, &m->C, &m->Kt, &m->Ct};
  for (size_t i = 0; i < sizeof f / sizeof *f; i++) reals(x, f[i], 1);
  enum { TWO = 256 }; /* beside the law: a second coefficient follows */
  int law = (int)m->law | (m->mu2 != 0.0 ? TWO : 0);
  whole(x, &law);
  m->law = (kn_contact_law)(law & ~TWO);
  whole(x, &m->priority);
  if (law & TWO) reals(x, &m->mu2, 1);
}

static void body(io* x, kn_body_def* d) {
  text(x, &d->name);
  whole(x, &d->parent);
  reals(x, d->pos, 3), reals(x, d->quat, 4), reals(x, &d->mass, 1), reals(x, d->com, 3),
      reals(x, d->inertia_quat, 4);
  reals(x, d->inertia, 6), reals(x, &d->gravcomp, 1);
  d->inertia_from_geoms = false;
  d->any_inertia = true;
}

static void joint(io* x, kn_joint_def* d) {
  text(x, &d->name);
  whole(x, &d->body);
  ENUM(x, d->type);
  reals(x, d->pos, 3), reals(x, d->axis, 3), reals(x, d->axis2, 3), reals(x, &d->pitch, 1),
      reals(x, d->ref, 3);
  flag(x, &d->limited);
  reals(x, d->range[0], 6), reals(x, &d->damping, 1), reals(x, &d->armature, 1), reals(x, &d->stiffness, 1);
  reals(x, d->spring_ref, 3), reals(x, &d->friction, 1);
}

/* Hulls go as their vertices and faces, meshes as vertices and triangles. */
static kn_status write_shape(io* x, const kn_shape* s) {
  if (s->type == KN_SHAPE_HULL) {
    kn_put_u32(x->out, (uint32_t)s->hull->nv);
    for (int i = 0; i < s->hull->nv; i++)
      kn_put_f64(x->out, s->hull->x[i]), kn_put_f64(x->out, s->hull->y[i]), kn_put_f64(x->out, s->hull->z[i]);
    kn_put_u32(x->out, (uint32_t)s->hull->nf);
    for (int f = 0; f < s->hull->nf; f++) {
      int first = s->hull->face_start[f], corners = s->hull->face_start[f + 1] - first;
      kn_put_u32(x->out, (uint32_t)corners);
      kn_put(x->out, s->hull->face_vertex + first, (size_t)corners * sizeof(int32_t));
    }
  }
  if (s->type == KN_SHAPE_MESH) {
    kn_put_u32(x->out, (uint32_t)s->mesh->nvertex);
    kn_put_u32(x->out, (uint32_t)s->mesh->ntriangle);
    kn_put(x->out, s->mesh->vertices, 24 * (size_t)s->mesh->nvertex);
    kn_put(x->out, s->mesh->triangles, 12 * (size_t)s->mesh->ntriangle);
  }
  return KN_OK;
}

static kn_status cut_off(void) { return kn_fail(KN_BAD_FILE, "the recorded model is cut off in a shape"); }

static kn_status read_faces(kn_polygons* faces, io* x) {
  uint32_t count = kn_get_u32(x->in);
  KN_TRY(kn_polygons_begin(faces));
  for (uint32_t f = 0; f < count; f++) {
    uint32_t corners = kn_get_u32(x->in);
    kn_view loop = kn_get_view(x->in, 4 * (uint64_t)corners);
    if (loop.bad) return cut_off();
    for (uint32_t i = 0; i < corners; i++) KN_TRY(kn_polygons_corner(faces, (int32_t)kn_get_u32(&loop)));
    KN_TRY(kn_polygons_end_face(faces));
  }
  return KN_OK;
}

static kn_status read_hull(kn_hull** hull, io* x, const double* vertex, uint32_t nv) {
  if (x->version < 3) return kn_hull_create(hull, vertex, (int32_t)nv, NULL);
  kn_polygons faces = {0};
  kn_status status = read_faces(&faces, x);
  if (status == KN_OK) status = kn_hull_from_faces(hull, vertex, (int32_t)nv, &faces);
  kn_polygons_free(&faces);
  return status;
}

static kn_status read_shape(io* x, kn_geom_def* d) {
  if (d->shape.type != KN_SHAPE_HULL && d->shape.type != KN_SHAPE_MESH) return KN_OK;
  uint32_t nv = kn_get_u32(x->in), nt = d->shape.type == KN_SHAPE_MESH ? kn_get_u32(x->in) : 0;
  kn_view v = kn_get_view(x->in, 24 * (uint64_t)nv), t = kn_get_view(x->in, 12 * (uint64_t)nt);
  if (v.bad || t.bad || nv > MAX_ITEMS) return cut_off();
  double* vertex = kn_hoard_take(&x->pool, v.left + 8);
  int32_t* triangle = kn_hoard_take(&x->pool, t.left + 8);
  if (!vertex || !triangle) return kn_fail(KN_OUT_OF_MEMORY, "no memory for a shape of %u vertices", nv);
  if (v.left) memcpy(vertex, v.at, v.left);
  if (t.left) memcpy(triangle, t.at, t.left);
  d->own_shape = true;
  if (d->shape.type == KN_SHAPE_HULL) {
    kn_hull* hull;
    KN_TRY(read_hull(&hull, x, vertex, nv));
    d->shape.hull = hull;
    return KN_OK;
  }
  kn_mesh_data data;
  kn_mesh* mesh;
  KN_TRY(kn_mesh_data_create(&data, vertex, (int32_t)nv, triangle, (int32_t)nt));
  kn_status status = kn_mesh_create(&mesh, &data, NULL);
  kn_mesh_data_free(&data);
  if (status == KN_OK) d->shape.mesh = mesh;
  return status;
}

static kn_status geom(io* x, kn_geom_def* d) {
  text(x, &d->name);
  whole(x, &d->body);
  ENUM(x, d->shape.type);
  reals(x, d->shape.size, 3), reals(x, d->pos, 3), reals(x, d->quat, 4);
  material(x, &d->material);
  raw(x, &d->contype, 4), raw(x, &d->conaffinity, 4), whole(x, &d->condim);
  reals(x, &d->density, 1), reals(x, &d->mass, 1), reals(x, &d->margin, 1), raw(x, d->rgba, sizeof d->rgba),
      whole(x, &d->group);
  return x->out ? write_shape(x, &d->shape) : x->in->bad ? KN_BAD_FILE : read_shape(x, d);
}

static void frame(io* x, kn_frame_def* d) {
  if (x->version < 4) *d = kn_frame_default();
  text(x, &d->name);
  whole(x, &d->body);
  reals(x, d->pos, 3), reals(x, d->quat, 4);
  if (x->version < 4) return;
  ENUM(x, d->zone);
  reals(x, d->zone_size, 3);
}

static void actuator(io* x, kn_actuator_def* d) {
  text(x, &d->name);
  whole(x, &d->joints);
  if (d->joints < 0 || d->joints > 8) d->joints = 0;
  for (int i = 0; i < 8; i++) whole(x, &d->joint[i]), whole(x, &d->dof[i]), reals(x, &d->gear[i], 1);
  reals(x, &d->gain, 1), reals(x, d->bias, 3);
  flag(x, &d->ctrl_limited), flag(x, &d->force_limited);
  reals(x, d->ctrl_range, 2), reals(x, d->force_range, 2);
  if (x->version < 4) d->site = d->refsite = -1;
  if (x->version < 4) return;
  whole(x, &d->site), whole(x, &d->refsite);
  reals(x, d->site_gear, 6);
}

static void sensor(io* x, kn_sensor_def* d) {
  text(x, &d->name);
  ENUM(x, d->type);
  int32_t* at[] = {&d->frame, &d->body, &d->ref_frame, &d->ref_body, &d->joint, &d->actuator};
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) whole(x, at[i]);
  reals(x, &d->cutoff, 1);
}

static void loop(io* x, kn_loop_def* d) {
  text(x, &d->name);
  ENUM(x, d->type);
  whole(x, &d->a), whole(x, &d->b);
  reals(x, d->pos_a, 3), reals(x, d->quat_a, 4), reals(x, d->pos_b, 3), reals(x, d->quat_b, 4),
      reals(x, &d->length, 1);
  whole(x, &d->joint1), whole(x, &d->joint2);
  reals(x, d->coef, 5);
  ENUM(x, d->motion.kind);
  reals(x, d->motion.c, 6);
  flag(x, &d->inactive);
  d->from_reference = false;
  if (!x->out && d->motion.kind == KN_MOTION_CALLBACK)
    d->motion.kind = KN_MOTION_NONE; /* a function cannot be recorded */
}

static void pair(io* x, kn_pair_def* d) {
  text(x, &d->name);
  whole(x, &d->a), whole(x, &d->b);
  material(x, &d->material);
  whole(x, &d->condim);
  reals(x, &d->margin, 1);
}

static void numbers(io* x, const double** list, int* n) {
  int32_t count = *list ? *n : 0;
  whole(x, &count);
  if (x->out) {
    if (count) kn_put(x->out, *list, (size_t)count * sizeof(double));
    return;
  }
  kn_view part = kn_get_view(x->in, count < 0 ? UINT64_MAX : 8 * (uint64_t)count);
  double* copy = part.bad ? NULL : kn_hoard_take(&x->pool, part.left + 8);
  if (!copy) x->in->bad = true;
  if (copy && part.left) memcpy(copy, part.at, part.left);
  *n = copy ? count : 0;
  *list = *n ? copy : NULL;
}

static void keyframe(io* x, kn_keyframe_def* d) {
  text(x, &d->name);
  reals(x, &d->time, 1);
  numbers(x, &d->q, &d->nq), numbers(x, &d->v, &d->nv), numbers(x, &d->ctrl, &d->nu);
}

kn_status kn_model_write(kn_bytes* out, const kn_model* m) {
  io x = {.out = out, .version = VERSION};
  kn_put_u32(out, VERSION);
  kn_put_u64(out, m->hash);
  kn_put_text(out, m->name);
  kn_put(out, m->gravity, sizeof m->gravity);
  kn_put(out, m->sense.magnetic, sizeof m->sense.magnetic);
  int32_t count[COUNTS] = {m->nbody,       m->njoint,           m->ngeom, m->nframe,     m->nu, m->nloop,
                           m->rules.npair, m->rules.nexclusion, m->nkey,  m->sense.count};
  kn_put(out, count, sizeof count);
#define EACH(n, list, fn)                                                                                    \
  for (int i = 0; i < (n); i++) {                                                                            \
    __typeof__(*(list)) d = (list)[i];                                                                       \
    fn(&x, &d);                                                                                              \
  }
  EACH(m->nbody, m->body, body)
  EACH(m->njoint, m->joint, joint)
  EACH(m->ngeom, m->geom, geom)
  EACH(m->nframe, m->frame, frame)
  EACH(m->nu, m->actuator, actuator)
  EACH(m->nloop, m->loop, loop)
  EACH(m->rules.npair, m->rules.pair, pair)
#undef EACH
  for (int i = 0; i < m->rules.nexclusion; i++) kn_put(out, m->rules.exclusion[i], 2 * sizeof(int32_t));
  for (int i = 0; i < m->nkey; i++) {
    kn_keyframe_def d = m->key[i];
    keyframe(&x, &d);
  }
  for (int i = 0; i < m->sense.count; i++) {
    kn_sensor_def d = m->sense.sensor[i];
    sensor(&x, &d);
  }
  return out->failed ? kn_fail(KN_OUT_OF_MEMORY, "no memory to record the model") : KN_OK;
}

static kn_status drop_shape(kn_status status, kn_geom_def* d) {
  if (status != KN_OK && d->shape.hull) {
    union {
      const kn_hull* in;
      kn_hull* out;
    } h = {d->shape.hull};
    kn_hull_destroy(h.out);
  }
  if (status != KN_OK && d->shape.mesh) {
    union {
      const kn_mesh* in;
      kn_mesh* out;
    } h = {d->shape.mesh};
    kn_mesh_destroy(h.out);
  }
  return status;
}

static kn_status rebuild(kn_spec* spec, io* x, const int32_t count[COUNTS]) {
  int id;
#define EACH(k, type, fn, add)                                                                               \
  for (int i = 0; i < count[k]; i++) {                                                                       \
    type d = {0};                                                                                            \
    fn(x, &d);                                                                                               \
    if (x->in->bad) return kn_fail(KN_BAD_FILE, "the recorded model is cut off");                            \
    KN_TRY(add);                                                                                             \
  }
  EACH(0, kn_body_def, body, kn_spec_add_body(&id, spec, &d))
  EACH(1, kn_joint_def, joint, kn_spec_add_joint(&id, spec, &d))
  for (int i = 0; i < count[2]; i++) {
    kn_geom_def d = {0};
    kn_status status = geom(x, &d);
    if (x->in->bad) status = kn_fail(KN_BAD_FILE, "the recorded model is cut off");
    if (status == KN_OK) status = kn_spec_add_geom(&id, spec, &d);
    KN_TRY(drop_shape(status, &d));
  }
  EACH(3, kn_frame_def, frame, kn_spec_add_frame(&id, spec, &d))
  EACH(4, kn_actuator_def, actuator, kn_spec_add_actuator(&id, spec, &d))
  EACH(5, kn_loop_def, loop, kn_spec_add_loop(&id, spec, &d))
  EACH(6, kn_pair_def, pair, kn_spec_add_pair(spec, &d))
  for (int i = 0; i < count[7]; i++) {
    int32_t b[2];
    kn_get(x->in, b, sizeof b);
    KN_TRY(kn_spec_add_exclusion(spec, b[0], b[1]));
  }
  EACH(8, kn_keyframe_def, keyframe, kn_spec_add_keyframe(spec, &d))
  EACH(9, kn_sensor_def, sensor, kn_spec_add_sensor(&id, spec, &d))
#undef EACH
  return x->in->bad ? kn_fail(KN_BAD_FILE, "the recorded model is cut off") : KN_OK;
}

kn_status kn_model_read(kn_model** model, uint64_t* hash, kn_view in) {
  io x = {.in = &in, .pool = {.limit = (size_t)1 << 30}};
  double gravity[3], magnetic[3] = {0.0, -0.5, 0.0};
  int32_t count[COUNTS] = {0};
  const char* name;
  *model = NULL;
  x.version = kn_get_u32(&in);
  if (x.version < OLDEST || x.version > VERSION)
    return kn_fail(KN_BAD_FILE, "the recorded model has a version this program does not know");
  *hash = kn_get_u64(&in);
  text(&x, &name);
  kn_get(&in, gravity, sizeof gravity);
  if (x.version >= 4) kn_get(&in, magnetic, sizeof magnetic);
  kn_get(&in, count, (size_t)(x.version < 3 ? 8 : x.version < 4 ? 9 : COUNTS) * sizeof *count);
  for (int i = 0; i < COUNTS; i++)
    if (in.bad || count[i] < 0 || (size_t)count[i] > in.left) {
      kn_hoard_free(&x.pool);
      return kn_fail(KN_BAD_FILE, "the recorded model is damaged");
    }
  kn_spec* spec;
  kn_status status = kn_spec_create(&spec);
  if (status == KN_OK) status = kn_spec_set_name(spec, name);
  if (status == KN_OK) status = kn_spec_set_gravity(spec, gravity);
  if (status == KN_OK) status = kn_spec_set_magnetic(spec, magnetic);
  if (status == KN_OK) spec->compiled = true;
  if (status == KN_OK) status = rebuild(spec, &x, count);
  if (status == KN_OK) status = kn_compile(model, spec);
  kn_spec_destroy(spec);
  kn_hoard_free(&x.pool);
  return status;
}
