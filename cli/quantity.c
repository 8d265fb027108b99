#include "quantity.h"

#include <math.h>
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

static kn_status add(kn_table* t, const char* name, const char* unit, int kind, int index, kn_body a,
                     kn_body b) {
  if (t->count == t->capacity) {
    int wanted = t->capacity ? 2 * t->capacity : 64;
    kn_quantity* fresh = realloc(t->at, (size_t)wanted * sizeof *fresh);
    if (!fresh) return KN_OUT_OF_MEMORY;
    t->at = fresh;
    t->capacity = wanted;
  }
  kn_quantity* q = &t->at[t->count++];
  *q = (kn_quantity){.unit = unit, .kind = kind, .index = index, .a = a, .b = b, .loads = t->loads};
  snprintf(q->name, sizeof q->name, "%s", name);
  return KN_OK;
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

static kn_status add_joints(kn_table* t, const kn_model* m, int kind) {
  static const char* const free_q[] = {"x", "y", "z", "qw", "qx", "qy", "qz"};
  static const char* const free_v[] = {"vx", "vy", "vz", "wx", "wy", "wz"};
  kn_status status = KN_OK;
  for (int j = 0; j < kn_model_joints(m) && status == KN_OK; j++) {
    kn_joint_def d;
    int q, nq, v, nv;
    if (kn_model_joint(&d, m, j) != KN_OK || kn_model_joint_address(&q, &nq, &v, &nv, m, j) != KN_OK)
      continue;
    const char *name = kn_joint_name(m, j), *letter = kind == Q ? "q" : kind == V ? "v" : "tau";
    int n = kind == Q ? nq : nv, first = kind == Q ? q : v;
    char own[64], text[120];
    snprintf(own, sizeof own, "%s", name && name[0] ? name : "");
    if (!own[0]) snprintf(own, sizeof own, "joint%d", j);
    for (int i = 0; i < n && status == KN_OK; i++) {
      const char* part = d.type == KN_JOINT_FREE ? (kind == Q ? free_q[i] : free_v[i]) : NULL;
      if (n == 1)
        snprintf(text, sizeof text, "%s.%s", letter, own);
      else if (part)
        snprintf(text, sizeof text, "%s.%s.%s", letter, own, part);
      else
        snprintf(text, sizeof text, "%s.%s.%d", letter, own, i);
      status = add(t, text, unit_of(d.type, i, kind), kind, first + i, -1, -1);
    }
  }
  return status;
}

/* sensor.NAME, with .x, .y, .z or .w, .x, .y, .z where it has several numbers. */
static kn_status add_sensors(kn_table* t, const kn_model* m) {
  static const char* const parts[] = {"w", "x", "y", "z"};
  kn_status status = KN_OK;
  for (int i = 0; i < kn_model_sensors(m) && status == KN_OK; i++) {
    char own[KN_LABEL], text[120];
    int n = kn_sensor_dim(m, i);
    kn_label(own, kn_sensor_name(m, i), "sensor", i);
    for (int k = 0; k < n && status == KN_OK; k++) {
      snprintf(text, sizeof text, "sensor.%s%s%s", own, n > 1 ? "." : "", n > 1 ? parts[k + (n == 3)] : "");
      status = add(t, text, kn_sensor_unit(m, i), SENSOR, kn_sensor_first(m, i) + k, -1, -1);
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
  char text[120], na[KN_LABEL], nb[KN_LABEL];
  for (int i = 0; i < kn_recording_steps(in); i++) {
    kn_status status = kn_recording_read(&s, in, i);
    for (int k = 0; k < s.contacts && status == KN_OK; k++) {
      kn_body a = s.contact[k].body_a, b = s.contact[k].body_b;
      if (known_pair(t, a, b)) continue;
      kn_label(na, a < 0 ? "world" : kn_body_name(m, a), "body", a);
      kn_label(nb, b < 0 ? "world" : kn_body_name(m, b), "body", b);
      for (size_t p = 0; p < sizeof of_pair / sizeof *of_pair && status == KN_OK; p++) {
        snprintf(text, sizeof text, "%s.%.50s.%.50s%s", of_pair[p].name, na, nb, of_pair[p].axis);
        status = add(t, text, of_pair[p].unit, of_pair[p].kind, of_pair[p].index, a, b);
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
    char own[KN_LABEL], text[120];
    kn_label(own, kn_body_name(m, body), "body", body);
    for (int k = 0; k < 6 && touched && status == KN_OK; k++) {
      snprintf(text, sizeof text, "%s.%.96s.%c", k < 3 ? "force_on" : "impulse_on", own, axis[k % 3]);
      status = add(t, text, k < 3 ? "N" : "N s", k < 3 ? ON_BODY : BLOW_ON_BODY, k % 3, body, KN_ANY_BODY);
    }
    snprintf(text, sizeof text, "determinate_on.%.96s", own);
    if (touched && status == KN_OK) status = add(t, text, "", DETERMINATE, 0, body, KN_ANY_BODY);
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
  char a[KN_LABEL], b[KN_LABEL], number[16] = "", text[120];
  int same = 1;
  for (int o = 0; o < i; o++) same += k->at[o].geom_a == c->geom_a && k->at[o].geom_b == c->geom_b;
  if (same > 1) snprintf(number, sizeof number, ".%d", same);
  kn_label(a, kn_geom_name(m, c->geom_a), "geom", c->geom_a);
  kn_label(b, kn_geom_name(m, c->geom_b), "geom", c->geom_b);
  kn_status status = KN_OK;
  for (int p = 0; p < PARTS && status == KN_OK; p++) {
    snprintf(text, sizeof text, "contact.%.40s.%.40s%s.%s", a, b, number, parts[p].name);
    status = add(t, text, parts[p].unit, CONTACT, p, c->body_a, c->body_b);
    if (status == KN_OK) t->at[t->count - 1].key = c->key;
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
    char text[120];
    const char* name = kn_actuator_name(m, i);
    if (name && name[0])
      snprintf(text, sizeof text, "u.%.100s", name);
    else
      snprintf(text, sizeof text, "u.actuator%d", i);
    status = add(t, text, "", CTRL, i, -1, -1);
  }
  if (status == KN_OK) status = add_joints(t, m, TAU);
  if (status == KN_OK) status = add_sensors(t, m);
  for (size_t i = 0; i < sizeof scalars / sizeof *scalars && status == KN_OK; i++)
    status = add(t, scalars[i].name, scalars[i].unit, SCALAR, (int)i, -1, -1);
  for (size_t i = 0; i < sizeof ledger_names / sizeof *ledger_names && status == KN_OK; i++)
    status = add(t, ledger_names[i], "J", LEDGER, (int)i, -1, -1);
  if (status == KN_OK) status = add_pairs(t, in);
  if (status == KN_OK) status = add_bodies(t, m);
  return status == KN_OK ? add_contacts(t, in) : status;
}

void kn_table_free(kn_table* t) {
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
