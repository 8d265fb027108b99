/* Spec to model: copy the definitions into one arena, normalise them, and run the stages. */
#include "model/compile/compile.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "spatial/spatial.h"

/* Names and keyframe numbers are packed into two blocks. */
typedef struct pack {
  char* text;
  double* number;
  size_t text_used, number_used;
} pack;

static size_t text_size(const char* s) { return s ? strlen(s) + 1 : 0; }

static size_t all_text(const kn_spec* s) {
  size_t n = text_size(s->name) + 1;
#define X(field, kind, type, list, total)                                                                    \
  for (int i = 0; i < s->field.count; i++) n += text_size(s->field.at[i].name);
  KN_SPEC_KINDS(X)
#undef X
  return n;
}

static size_t all_numbers(const kn_spec* s) {
  size_t n = 0;
  for (int i = 0; i < s->key.count; i++) {
    const kn_keyframe_def* k = &s->key.at[i];
    n += (k->q ? (size_t)k->nq : 0) + (k->v ? (size_t)k->nv : 0) + (k->ctrl ? (size_t)k->nu : 0);
  }
  return n;
}

static void count(kn_model* m, const kn_spec* s) {
#define X(field, kind, type, list, total) m->total = s->field.count;
  KN_SPEC_KINDS(X)
#undef X
  m->rules.nexclusion = s->exclusion.count;
  m->nlimit = kn_count_limits(s->joint.at, s->joint.count);
  for (int i = 0; i < s->joint.count; i++) {
    m->nlink += kn_joint_links(s->joint.at[i].type);
    m->nq += kn_joint_nq(s->joint.at[i].type);
    m->nv += kn_joint_nv(s->joint.at[i].type);
  }
}

/* Run twice: counting, then handing out. */
static void lay_out(kn_model* m, pack* p, const kn_spec* s) {
  kn_arena* a = &m->arena;
  m->link = KN_TAKE(a, kn_link, m->nlink);
  m->place = KN_TAKE(a, kn_body_place, m->nbody);
#define X(field, kind, type, list, total) m->list = KN_TAKE(a, type, m->total);
  KN_SPEC_KINDS(X)
#undef X
  KN_TAKE_EACH(a, int32_t, m->njoint, &m->joint_link, &m->joint_nlink);
  m->geom_place = KN_TAKE(a, kn_geom_place, m->ngeom);
  m->transmission = KN_TAKE(a, kn_actuator_place, m->nu);
  m->sense.first = KN_TAKE(a, int32_t, m->sense.count + 1);
  m->rules.exclusion =
      (kn_body(*)[2])kn_arena_take(a, (size_t)m->rules.nexclusion * sizeof *m->rules.exclusion);
  m->rules.pair_key = KN_TAKE(a, uint64_t, m->rules.npair);
  m->rules.pair_order = KN_TAKE(a, int32_t, m->rules.npair);
  m->rules.exclusion_key = KN_TAKE(a, uint64_t, m->rules.nexclusion);
  m->limit = KN_TAKE(a, kn_limit, m->nlimit);
  KN_TAKE_EACH(a, double, m->nv, &m->armature, &m->damping, &m->stiffness, &m->friction);
  m->dof_link = KN_TAKE(a, int32_t, m->nv);
  KN_TAKE_EACH(a, double, m->nq, &m->q_ref, &m->q_spring);
  p->text = KN_TAKE(a, char, all_text(s));
  p->number = KN_TAKE(a, double, all_numbers(s));
}

static char* keep_text(pack* p, const char* s) {
  size_t n = text_size(s);
  if (!n) return p->text; /* the packed text starts with an empty string */
  char* copy = p->text + p->text_used;
  memcpy(copy, s, n);
  p->text_used += n;
  return copy;
}

static const double* keep_numbers(pack* p, const double* x, int n) {
  if (!x || n <= 0) return NULL;
  double* copy = p->number + p->number_used;
  memcpy(copy, x, (size_t)n * sizeof *x);
  p->number_used += (size_t)n;
  return copy;
}

static void copy_definitions(kn_model* m, pack* p, const kn_spec* s) {
  p->text_used = 1;
  m->name = keep_text(p, s->name);
#define X(field, kind, type, list, total)                                                                    \
  for (int i = 0; i < m->total; i++) {                                                                       \
    m->list[i] = s->field.at[i];                                                                             \
    m->list[i].name = keep_text(p, s->field.at[i].name);                                                     \
  }
  KN_SPEC_KINDS(X)
#undef X
  for (int i = 0; i < m->rules.nexclusion; i++) {
    m->rules.exclusion[i][0] = s->exclusion.at[i].a;
    m->rules.exclusion[i][1] = s->exclusion.at[i].b;
  }
  for (int i = 0; i < m->nkey; i++) {
    kn_keyframe_def* k = &m->key[i];
    k->q = keep_numbers(p, k->q, k->nq);
    k->v = keep_numbers(p, k->v, k->nv);
    k->ctrl = keep_numbers(p, k->ctrl, k->nu);
  }
  memcpy(m->gravity, s->gravity, sizeof m->gravity);
  memcpy(m->sense.magnetic, s->magnetic, sizeof m->sense.magnetic);
  for (int i = 0; i < m->sense.count; i++)
    m->sense.first[i + 1] = m->sense.first[i] + kn_sensor_numbers(m->sense.sensor[i].type);
}

static void normalise(kn_model* m) {
  for (int i = 0; i < m->nbody; i++) {
    kn_quat_unit(m->body[i].quat);
    kn_quat_unit(m->body[i].inertia_quat);
  }
  for (int i = 0; i < m->njoint; i++) {
    kn_unit3(m->joint[i].axis);
    kn_unit3(m->joint[i].axis2);
  }
  for (int i = 0; i < m->ngeom; i++) kn_quat_unit(m->geom[i].quat);
  for (int i = 0; i < m->nframe; i++) kn_quat_unit(m->frame[i].quat);
  for (int i = 0; i < m->nloop; i++) {
    kn_quat_unit(m->loop[i].quat_a);
    kn_quat_unit(m->loop[i].quat_b);
  }
}

static kn_status build(kn_model* m, const kn_spec* spec) {
  pack p = {0};
  count(m, spec);
  lay_out(m, &p, spec);
  KN_TRY(kn_arena_create(&m->arena, m->arena.used));
  lay_out(m, &p, spec);
  copy_definitions(m, &p, spec);
  m->shapes = kn_shape_pool_share(spec->shapes);
  if (!spec->compiled) normalise(m);
  KN_TRY(kn_compile_links(m));
  KN_TRY(kn_compile_inertia(m));
  kn_compile_joints(m);
  kn_compile_loops(m);
  KN_TRY(kn_compile_pairs(m));
  KN_TRY(kn_compile_check(m));
  KN_TRY(kn_compile_rank(m));
  m->hash = kn_compile_hash(m);
  return KN_OK;
}

static kn_status compile(kn_model** model, const kn_spec* spec) {
  KN_TRY(kn_spec_validate(spec));
  kn_model* m = calloc(1, sizeof *m);
  if (!m) return kn_fail(KN_OUT_OF_MEMORY, "kn_compile: %zu bytes could not be allocated", sizeof *m);
  kn_status status = build(m, spec);
  if (status != KN_OK) {
    kn_model_destroy(m);
    return status;
  }
  *model = m;
  return KN_OK;
}

kn_status kn_compile(kn_model** model, const kn_spec* spec) {
  KN_REQUIRE(model != NULL);
  *model = NULL;
  KN_REQUIRE(spec != NULL);
  kn_refused_none();
  kn_status status = compile(model, spec);
  const kn_who* who = kn_refused();
  return status == KN_BAD_MODEL && who ? kn_spec_blame(spec, status, who->kind, who->index) : status;
}

void kn_model_destroy(kn_model* model) {
  if (!model) return;
  kn_shape_pool_release(model->shapes);
  kn_arena_destroy(&model->arena);
  free(model);
}
