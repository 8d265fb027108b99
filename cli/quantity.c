#define _GNU_SOURCE
#include "quantity.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/model.h"
#include "knuckle/sensor.h"

enum {
  Q,
  V,
  CTRL,
  TAU,
  SCALAR,
  LEDGER,
  FORCE_NORMAL, /* of a pair of bodies, N: sums of the sizes */
  FORCE_TANGENT,
  IMPULSE, /* N s: of blows */
  GAP,
  DETERMINATE, /* 1: the motion determines the sum over the pair, 0: it does not */
  BETWEEN,     /* components of the force on the pair's first body, N */
  ON_BODY,     /* components of the force on a body, N, and of the impulse, N s */
  BLOW_ON_BODY,
  CONTACT, /* one contact; index: which of `parts` */
  SENSOR
};

static const struct {
  const char *name, *unit;
} scalars[] = {{"dt", "s"},
               {"contacts", ""},
               {"residual", ""},
               {"penetration", "m"},
               {"closure", "m"},
               {"correction", ""},
               {"gain_rel", ""},
               {"iterations", ""},
               {"energy.kinetic", "J"},
               {"energy.potential", "J"},
               {"energy.spring", "J"},
               {"energy.total", "J"},
               {"momentum_error", "kg m/s"},
               {"lcp_size", ""},
               {"verdict", ""}};

static double scalar(int i, const kn_recorded* s) {
  double x[] = {s->dt,
                s->contacts,
                s->residual,
                s->penetration,
                s->closure,
                s->correction,
                s->gain_rel,
                s->iterations,
                s->energy.kinetic,
                s->energy.potential,
                s->energy.spring,
                s->energy.kinetic + s->energy.potential + s->energy.spring,
                s->momentum_error,
                s->lcp_size,
                (double)s->verdict};
  return x[i];
}

static const char* const ledger_names[] = {
#define X(name) "ledger." #name,
    KN_LEDGER_LIST(X)
#undef X
};

static kn_status add(kn_table* t, const kn_quantity* what, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
static kn_status add(kn_table* t, const kn_quantity* what, const char* format, ...) {
  if (t->count == t->capacity) {
    int wanted = t->capacity ? 2 * t->capacity : 64;
    kn_quantity* fresh = realloc(t->at, (size_t)wanted * sizeof *fresh);
    if (!fresh) return KN_OUT_OF_MEMORY;
    t->at = fresh;
    t->capacity = wanted;
  }
  kn_quantity* q = &t->at[t->count];
  *q = *what;
  q->loads = t->loads;
  va_list args;
  va_start(args, format);
  bool ok = vasprintf(&q->name, format, args) >= 0;
  va_end(args);
  t->count += ok;
  return ok ? KN_OK : KN_OUT_OF_MEMORY;
}

static int by_name(const void* x, const void* y) {
  const kn_quantity *a = *(kn_quantity*const*)x, *b = *(kn_quantity*const*)y;
  int order = strcmp(a->name, b->name);
  return order ? order : a < b ? -1 : a > b;
}

/* Names that are equal (the joint "a.0" and part 0 of the joint "a") are told apart by a number. */
static kn_status tell_apart(kn_table* t) {
  kn_quantity** list = malloc(((size_t)t->count + 1) * sizeof *list);
  kn_status status = list ? KN_OK : KN_OUT_OF_MEMORY;
  for (int i = 0; list && i < t->count; i++) list[i] = &t->at[i];
  for (int same = 1; same && status == KN_OK;) {
    same = 0;
    qsort(list, (size_t)t->count, sizeof *list, by_name);
    for (int i = 0, first = 0; i < t->count && status == KN_OK; i++) {
      char* own;
      if (strcmp(list[i]->name, list[first]->name) != 0) first = i;
      if (i == first) continue;
      same++;
      if (asprintf(&own, "%s (%d)", list[i]->name, i - first + 1) < 0)
        status = KN_OUT_OF_MEMORY;
      else
        free(list[i]->name), list[i]->name = own;
    }
  }
  free(list);
  return status;
}

/* Unit of number `part` of a joint's coordinates, velocities or generalised forces; quaternions have none. */
static const char* unit_of(kn_joint_type type, int part, int kind) {
  bool length = false, turn = false; /* turn: an orientation by a quaternion */
  switch (type) {
  case KN_JOINT_SLIDE: length = true; break;
  case KN_JOINT_FREE: length = part < 3, turn = part >= 3; break;
  case KN_JOINT_BALL: turn = true; break;
  case KN_JOINT_PLANAR: length = part < 2; break;
  case KN_JOINT_CYLINDRICAL: length = part == 0; break;
  default: break;
  }
  if (kind == Q) return length ? "m" : turn ? "" : "rad";
  if (kind == V) return length ? "m/s" : "rad/s";
  return length ? "N" : "N m";
}

static kn_quantity of(const char* unit, int kind, int index) {
  return (kn_quantity){.unit = unit, .kind = kind, .index = index, .a = -1, .b = -1};
}

static kn_status add_joints(kn_table* t, const kn_model* m, int kind) {
  static const char* const free_q[] = {"x", "y", "z", "qw", "qx", "qy", "qz"};
  static const char* const free_v[] = {"vx", "vy", "vz", "wx", "wy", "wz"};
  kn_status status = KN_OK;
  for (int j = 0; j < kn_model_joints(m) && status == KN_OK; j++) {
    kn_joint_def d;
    int q, nq, v, nv;
    if (kn_model_joint(&d, m, j) != KN_OK || kn_model_joint_address(&q, &nq, &v, &nv, m, j) != KN_OK)
      continue;
    const char* letter = kind == Q ? "q" : kind == V ? "v" : "tau";
    int n = kind == Q ? nq : nv, first = kind == Q ? q : v;
    char own[KN_LABEL], number[16] = "";
    for (int i = 0; i < n && status == KN_OK; i++) {
      const char* part = d.type == KN_JOINT_FREE ? (kind == Q ? free_q[i] : free_v[i]) : number;
      if (n > 1) snprintf(number, sizeof number, "%d", i);
      kn_quantity x = of(unit_of(d.type, i, kind), kind, first + i);
      status = add(t, &x, "%s.%s%s%s", letter, kn_label(own, kn_joint_name(m, j), "joint", j),
                   n > 1 ? "." : "", n > 1 ? part : "");
    }
  }
  return status;
}

/* sensor.NAME, with .x, .y, .z or .w, .x, .y, .z where it has several numbers. */
static kn_status add_sensors(kn_table* t, const kn_model* m) {
  static const char* const parts[] = {"w", "x", "y", "z"};
  kn_status status = KN_OK;
  for (int i = 0; i < kn_model_sensors(m) && status == KN_OK; i++) {
    char own[KN_LABEL];
    int n = kn_sensor_dim(m, i);
    const char* name = kn_label(own, kn_sensor_name(m, i), "sensor", i);
    for (int k = 0; k < n && status == KN_OK; k++) {
      kn_quantity x = of(kn_sensor_unit(m, i), SENSOR, kn_sensor_first(m, i) + k);
      status = add(t, &x, "sensor.%s%s%s", name, n > 1 ? "." : "", n > 1 ? parts[k + (n == 3)] : "");
    }
  }
  return status;
}

static bool known_pair(const kn_table* t, kn_body a, kn_body b) {
  for (int i = 0; i < t->count; i++)
    if (t->at[i].kind == FORCE_NORMAL &&
        ((t->at[i].a == a && t->at[i].b == b) || (t->at[i].a == b && t->at[i].b == a)))
      return true;
  return false;
}

static const struct {
  const char *name, *axis, *unit;
  int kind, index;
} of_pair[] = {{"force", "", "N", FORCE_NORMAL, 0},
               {"friction", "", "N", FORCE_TANGENT, 0},
               {"impulse", "", "N s", IMPULSE, 0},
               {"determinate", "", "", DETERMINATE, 0},
               {"gap", "", "m", GAP, 0},
               {"between", ".x", "N", BETWEEN, 0},
               {"between", ".y", "N", BETWEEN, 1},
               {"between", ".z", "N", BETWEEN, 2}};

static kn_status add_pairs(kn_table* t, kn_recording* in) {
  const kn_model* m = kn_recording_model(in);
  kn_recorded s;
  char own_a[KN_LABEL], own_b[KN_LABEL];
  for (int i = 0; i < kn_recording_steps(in); i++) {
    kn_status status = kn_recording_read(&s, in, i);
    for (int k = 0; k < s.contacts && status == KN_OK; k++) {
      kn_body a = s.contact[k].body_a, b = s.contact[k].body_b;
      if (known_pair(t, a, b)) continue;
      const char* na = kn_label(own_a, kn_body_name(m, a), "body", a);
      const char* nb = kn_label(own_b, kn_body_name(m, b), "body", b);
      for (size_t p = 0; p < sizeof of_pair / sizeof *of_pair && status == KN_OK; p++) {
        kn_quantity x = {
            .unit = of_pair[p].unit, .kind = of_pair[p].kind, .index = of_pair[p].index, .a = a, .b = b};
        status = add(t, &x, "%s.%s.%s%s", of_pair[p].name, na, nb, of_pair[p].axis);
      }
    }
    if (status != KN_OK) return status;
  }
  return KN_OK;
}

/* All that touches a body, in world axes. */
static kn_status add_bodies(kn_table* t, const kn_model* m) {
  static const char axis[] = "xyz";
  kn_status status = KN_OK;
  int pairs = t->count;
  for (kn_body body = 0; body < kn_model_bodies(m); body++) {
    bool touched = false;
    for (int i = 0; i < pairs && !touched; i++)
      touched = t->at[i].kind == FORCE_NORMAL && (t->at[i].a == body || t->at[i].b == body);
    char own[KN_LABEL];
    const char* name = kn_label(own, kn_body_name(m, body), "body", body);
    kn_quantity x = {.a = body, .b = KN_ANY_BODY};
    for (int k = 0; k < 6 && touched && status == KN_OK; k++) {
      x.unit = k < 3 ? "N" : "N s", x.kind = k < 3 ? ON_BODY : BLOW_ON_BODY, x.index = k % 3;
      status = add(t, &x, "%s.%s.%c", k < 3 ? "force_on" : "impulse_on", name, axis[k % 3]);
    }
    x.unit = "", x.kind = DETERMINATE, x.index = 0;
    if (touched && status == KN_OK) status = add(t, &x, "determinate_on.%s", name);
  }
  return status;
}

/* ---- single contacts ---- */

enum { NORMAL, TANGENTIAL, TANGENT_1, TANGENT_2, WORLD_X, WORLD_Y, WORLD_Z, BLOW, POINT_X, POINT_Y, POINT_Z };
enum { STICKS = POINT_Z + 1, DETERMINED, PARTS };

static const struct {
  const char *name, *unit;
} parts[PARTS] = {[NORMAL] = {"normal", "N"},
                  [TANGENTIAL] = {"tangential", "N"},
                  [TANGENT_1] = {"tangent_1", "N"},
                  [TANGENT_2] = {"tangent_2", "N"},
                  [WORLD_X] = {"x", "N"},
                  [WORLD_Y] = {"y", "N"},
                  [WORLD_Z] = {"z", "N"},
                  [BLOW] = {"impulse", "N s"},
                  [POINT_X] = {"point_x", "m"},
                  [POINT_Y] = {"point_y", "m"},
                  [POINT_Z] = {"point_z", "m"},
                  [STICKS] = {"sticking", ""},
                  [DETERMINED] = {"determinate", ""}};

typedef struct known { /* contacts by their keys, in an open hash table */
  kn_contact* at;
  int count, room;
  int* slot; /* 2^bits of them; -1: empty */
  int bits;
} known;

static int* slot_of(const known* k, uint64_t key) {
  unsigned mask = (1u << k->bits) - 1, i = (unsigned)((key * 0x9e3779b97f4a7c15u) >> 32) & mask;
  while (k->slot[i] >= 0 && k->at[k->slot[i]].key != key) i = (i + 1) & mask;
  return &k->slot[i];
}

static bool grow(known* k) {
  int bits = k->bits ? k->bits + 1 : 8;
  kn_contact* at = realloc(k->at, ((size_t)1 << (bits - 1)) * sizeof *at);
  if (at) k->at = at;
  int* slot = realloc(k->slot, ((size_t)1 << bits) * sizeof *slot);
  if (slot) k->slot = slot;
  if (!at || !slot) return false;
  k->bits = bits;
  k->room = 1 << (bits - 1); /* at most half full */
  for (int i = 0; i < 1 << bits; i++) slot[i] = -1;
  for (int i = 0; i < k->count; i++) *slot_of(k, at[i].key) = i;
  return true;
}

static kn_status note_contacts(known* k, kn_recording* in) {
  kn_recorded s;
  for (int i = 0; i < kn_recording_steps(in); i++) {
    kn_status status = kn_recording_read(&s, in, i);
    if (status != KN_OK) return status;
    for (int c = 0; c < s.contacts; c++) {
      if (k->count == k->room && !grow(k)) return KN_OUT_OF_MEMORY;
      int* slot = slot_of(k, s.contact[c].key);
      if (*slot < 0) *slot = k->count, k->at[k->count++] = s.contact[c];
    }
  }
  return KN_OK;
}

/* contact.GEOM_A.GEOM_B.PART, and .2. and so on before PART for further ones of the same geoms. */
static kn_status add_contact(kn_table* t, const kn_model* m, const known* k, int i) {
  const kn_contact* c = &k->at[i];
  char own_a[KN_LABEL], own_b[KN_LABEL], number[16] = "";
  int same = 1;
  for (int o = 0; o < i; o++) same += k->at[o].geom_a == c->geom_a && k->at[o].geom_b == c->geom_b;
  if (same > 1) snprintf(number, sizeof number, ".%d", same);
  const char* a = kn_label(own_a, kn_geom_name(m, c->geom_a), "geom", c->geom_a);
  const char* b = kn_label(own_b, kn_geom_name(m, c->geom_b), "geom", c->geom_b);
  kn_status status = KN_OK;
  for (int p = 0; p < PARTS && status == KN_OK; p++) {
    kn_quantity x = {
        .unit = parts[p].unit, .kind = CONTACT, .index = p, .a = c->body_a, .b = c->body_b, .key = c->key};
    status = add(t, &x, "contact.%s.%s%s.%s", a, b, number, parts[p].name);
  }
  return status;
}

static kn_status add_contacts(kn_table* t, kn_recording* in) {
  known k = {0};
  kn_status status = note_contacts(&k, in);
  for (int i = 0; i < k.count && status == KN_OK; i++) status = add_contact(t, kn_recording_model(in), &k, i);
  free(k.at);
  free(k.slot);
  return status;
}

/* Where it does not touch it has no force, and nothing else. */
static double contact_value(const kn_quantity* q, const kn_recorded* s) {
  int i = 0;
  while (i < s->contacts && s->contact[i].key != q->key) i++;
  if (!kn_loads_of(q->loads, s, q->index == DETERMINED)) return NAN;
  if (i == s->contacts) return q->index <= BLOW ? 0.0 : NAN;
  const kn_contact* c = &s->contact[i];
  const kn_contact_load* l = &q->loads->load[i];
  switch (q->index) {
  case BLOW: return l->impulse ? l->normal : 0.0;
  case STICKS: return c->mode == KN_MODE_OPEN ? NAN : c->mode == KN_MODE_STICK;
  case DETERMINED: return c->mode == KN_MODE_OPEN ? NAN : l->determinate == KN_ANSWER_YES;
  case POINT_X:
  case POINT_Y:
  case POINT_Z: return c->point[q->index - POINT_X];
  default: break;
  }
  double force[] = {l->normal,   l->tangential, l->local[1], l->local[2],
                    l->world[0], l->world[1],   l->world[2]};
  return l->impulse ? 0.0 : force[q->index];
}

kn_status kn_table_status(const kn_table* t) { return t->loads->failed ? KN_OUT_OF_MEMORY : KN_OK; }

kn_status kn_table_create(kn_table* t, kn_recording* in, kn_force_choice choice) {
  const kn_model* m = kn_recording_model(in);
  *t = (kn_table){.loads = kn_loads_create(in, choice)};
  if (!t->loads) return KN_OUT_OF_MEMORY;
  kn_status status = add_joints(t, m, Q);
  if (status == KN_OK) status = add_joints(t, m, V);
  for (int i = 0; i < kn_model_nu(m) && status == KN_OK; i++) {
    char own[KN_LABEL];
    kn_quantity x = of("", CTRL, i);
    status = add(t, &x, "u.%s", kn_label(own, kn_actuator_name(m, i), "actuator", i));
  }
  if (status == KN_OK) status = add_joints(t, m, TAU);
  if (status == KN_OK) status = add_sensors(t, m);
  for (size_t i = 0; i < sizeof scalars / sizeof *scalars && status == KN_OK; i++)
    status = add(t, &(kn_quantity){.unit = scalars[i].unit, .kind = SCALAR, .index = (int)i}, "%s",
                 scalars[i].name);
  for (size_t i = 0; i < sizeof ledger_names / sizeof *ledger_names && status == KN_OK; i++)
    status = add(t, &(kn_quantity){.unit = "J", .kind = LEDGER, .index = (int)i}, "%s", ledger_names[i]);
  if (status == KN_OK) status = add_pairs(t, in);
  if (status == KN_OK) status = add_bodies(t, m);
  if (status == KN_OK) status = add_contacts(t, in);
  return status == KN_OK ? tell_apart(t) : status;
}

void kn_table_free(kn_table* t) {
  for (int i = 0; i < t->count; i++) free(t->at[i].name);
  free(t->at);
  kn_loads_free(t->loads);
  *t = (kn_table){0};
}

static double gap_of(const kn_quantity* q, const kn_recorded* s) {
  double gap = NAN;
  for (int i = 0; i < s->contacts; i++) {
    const kn_contact* c = &s->contact[i];
    bool mine = (c->body_a == q->a && c->body_b == q->b) || (c->body_a == q->b && c->body_b == q->a);
    if (mine) gap = isnan(gap) ? c->gap : fmin(gap, c->gap);
  }
  return gap;
}

/* Where nothing touches there is no force: 0, and nothing to be determined. */
static double load_value(const kn_quantity* q, const kn_recorded* s) {
  if (!kn_loads_of(q->loads, s, q->kind == DETERMINATE)) return NAN;
  for (int i = 0; i < q->loads->sums; i++) {
    const kn_load_sum* sum = &q->loads->sum[i];
    bool same = sum->a == q->a && sum->b == q->b, turned = sum->a == q->b && sum->b == q->a;
    if (!same && !turned) continue;
    switch (q->kind) {
    case FORCE_NORMAL: return sum->normal;
    case FORCE_TANGENT: return sum->tangential;
    case IMPULSE: return sum->impulse_normal;
    case BETWEEN: return turned ? -sum->force[q->index] : sum->force[q->index];
    case ON_BODY: return sum->force[q->index];
    case BLOW_ON_BODY: return sum->impulse[q->index];
    default: return sum->contacts == 0 ? NAN : sum->determinate == KN_ANSWER_YES;
    }
  }
  return q->kind == DETERMINATE ? NAN : 0.0;
}

double kn_quantity_value(const kn_quantity* q, const kn_recorded* s) {
  switch (q->kind) {
  case Q: return s->q[q->index];
  case V: return s->v[q->index];
  case CTRL: return s->ctrl[q->index];
  case TAU: return s->tau[q->index];
  case SCALAR: return scalar(q->index, s);
  case LEDGER: return ((const double*)&s->total)[q->index];
  case GAP: return gap_of(q, s);
  case CONTACT: return contact_value(q, s);
  case SENSOR: return s->sensors ? s->sensors[q->index] : NAN;
  default: return load_value(q, s);
  }
}

const char* kn_table_near(const kn_table* t, const char* name) {
  static const char* const groups[] = {"energy", "ledger",  "force",   "friction", "gap",
                                       "tau",    "contact", "between", "sensor"};
  enum { GROUPS = sizeof groups / sizeof *groups };
  const char** names = malloc(((size_t)t->count + GROUPS) * sizeof *names);
  if (!names) return NULL;
  for (int i = 0; i < GROUPS; i++) names[i] = groups[i];
  for (int i = 0; i < t->count; i++) names[GROUPS + i] = t->at[i].name;
  const char* near = kn_suggest(name, names, GROUPS + (size_t)t->count);
  free(names);
  return near;
}

/* Does the name, or a group of names, begin with the word? sensor:imu is sensor.imu. */
static bool begins(const char* name, const char* word, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (name[i] != word[i] && !(word[i] == ':' && name[i] == '.')) return false;
  return name[n] == 0 || name[n] == '.';
}

bool kn_table_select(bool* chosen, const kn_table* t, const char* list, char wrong[120]) {
  for (int i = 0; i < t->count; i++) chosen[i] = list == NULL && t->at[i].kind != CONTACT;
  for (const char* p = list; p && *p;) {
    size_t n = strcspn(p, ",");
    bool any = false;
    for (int i = 0; i < t->count; i++) {
      const char* name = t->at[i].name;
      bool hit = begins(name, p, n);
      chosen[i] = chosen[i] || hit;
      any = any || hit;
    }
    if (!any) {
      snprintf(wrong, 120, "%.*s", (int)(n < 110 ? n : 110), p);
      return false;
    }
    p += n + (p[n] == ',');
  }
  return true;
}
