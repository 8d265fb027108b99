#include "quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/model.h"

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
  ON_BODY,     /* components of the force on a body, N, and of the impulse, N s */
  BLOW_ON_BODY
};

/* Loads of the step that was asked for last, shared by all quantities of a table. */
struct kn_forces {
  const kn_model* model;
  kn_state* state;
  kn_data* data;
  int64_t step;
  bool judged;
  bool failed; /* the loads of some step could not be had: no memory */
  kn_contact_load* load;
  kn_load_sum* sum;
  int sums, room; /* room: contacts */
};

static void forces_free(kn_forces* f) {
  if (!f) return;
  kn_state_destroy(f->state);
  kn_data_destroy(f->data);
  free(f->load);
  free(f->sum);
  free(f);
}

static kn_forces* forces_create(const kn_model* m) {
  kn_forces* f = calloc(1, sizeof *f);
  if (!f) return NULL;
  f->model = m;
  f->step = -1;
  if (kn_state_create(&f->state, m) == KN_OK && kn_data_create(&f->data, m) == KN_OK) return f;
  forces_free(f);
  return NULL;
}

static bool forces_room(kn_forces* f, int contacts) {
  if (contacts <= f->room) return true;
  kn_contact_load* load = realloc(f->load, (size_t)contacts * sizeof *load);
  if (load) f->load = load;
  kn_load_sum* sum = realloc(f->sum, 3 * (size_t)contacts * sizeof *sum);
  if (sum) f->sum = sum;
  if (load && sum) f->room = contacts;
  return load && sum;
}

/* The loads of a step; with `judge` also what the motion determines. */
static bool forces_of(kn_forces* f, const kn_recorded* s, bool judge) {
  if (!f || !forces_room(f, s->contacts)) return false;
  if (f->step != s->step) {
    f->judged = false;
    f->step = -1;
    if (kn_contact_loads(f->load, s->contact, s->contacts, s->dt) != KN_OK ||
        kn_load_sums(f->sum, &f->sums, 3 * f->room, s->contact, f->load, s->contacts) != KN_OK)
      return false;
    f->step = s->step;
  }
  if (!judge || f->judged) return true;
  memcpy(kn_state_q(f->state), s->q, (size_t)kn_model_nq(f->model) * sizeof(double));
  memcpy(kn_state_v(f->state), s->v, (size_t)kn_model_nv(f->model) * sizeof(double));
  f->judged = kn_kinematics(f->model, f->state, f->data) == KN_OK &&
              kn_loads_judge(f->load, f->sum, f->sums, f->model, f->data, s->contact, s->contacts,
                             s->limit_impulse, s->v) == KN_OK;
  return f->judged;
}

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
  *q = (kn_quantity){.unit = unit, .kind = kind, .index = index, .a = a, .b = b, .forces = t->forces};
  snprintf(q->name, sizeof q->name, "%s", name);
  return KN_OK;
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
      status = add(t, text, "", kind, first + i, -1, -1);
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

static kn_status add_pairs(kn_table* t, kn_recording* in) {
  const kn_model* m = kn_recording_model(in);
  kn_recorded s;
  char text[120], na[48], nb[48];
  for (int i = 0; i < kn_recording_steps(in); i++) {
    kn_status status = kn_recording_read(&s, in, i);
    for (int k = 0; k < s.contacts && status == KN_OK; k++) {
      kn_body a = s.contact[k].body_a, b = s.contact[k].body_b;
      if (known_pair(t, a, b)) continue;
      snprintf(na, sizeof na, "%s", a < 0 ? "world" : kn_body_name(m, a));
      snprintf(nb, sizeof nb, "%s", b < 0 ? "world" : kn_body_name(m, b));
      if (!na[0]) snprintf(na, sizeof na, "body%d", a);
      if (!nb[0]) snprintf(nb, sizeof nb, "body%d", b);
      snprintf(text, sizeof text, "force.%s.%s", na, nb);
      status = add(t, text, "N", FORCE_NORMAL, 0, a, b);
      snprintf(text, sizeof text, "friction.%s.%s", na, nb);
      if (status == KN_OK) status = add(t, text, "N", FORCE_TANGENT, 0, a, b);
      snprintf(text, sizeof text, "impulse.%s.%s", na, nb);
      if (status == KN_OK) status = add(t, text, "N s", IMPULSE, 0, a, b);
      snprintf(text, sizeof text, "determinate.%s.%s", na, nb);
      if (status == KN_OK) status = add(t, text, "", DETERMINATE, 0, a, b);
      snprintf(text, sizeof text, "gap.%s.%s", na, nb);
      if (status == KN_OK) status = add(t, text, "m", GAP, 0, a, b);
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
    const char* name = kn_body_name(m, body);
    char own[64], text[120];
    snprintf(own, sizeof own, "%s", name && name[0] ? name : "");
    if (!own[0]) snprintf(own, sizeof own, "body%d", body);
    for (int k = 0; k < 6 && touched && status == KN_OK; k++) {
      snprintf(text, sizeof text, "%s.%s.%c", k < 3 ? "force_on" : "impulse_on", own, axis[k % 3]);
      status = add(t, text, k < 3 ? "N" : "N s", k < 3 ? ON_BODY : BLOW_ON_BODY, k % 3, body, KN_ANY_BODY);
    }
  }
  return status;
}

kn_status kn_table_status(const kn_table* t) { return t->forces->failed ? KN_OUT_OF_MEMORY : KN_OK; }

kn_status kn_table_create(kn_table* t, kn_recording* in) {
  const kn_model* m = kn_recording_model(in);
  *t = (kn_table){.forces = forces_create(m)};
  if (!t->forces) return KN_OUT_OF_MEMORY;
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
  for (size_t i = 0; i < sizeof scalars / sizeof *scalars && status == KN_OK; i++)
    status = add(t, scalars[i].name, scalars[i].unit, SCALAR, (int)i, -1, -1);
  for (size_t i = 0; i < sizeof ledger_names / sizeof *ledger_names && status == KN_OK; i++)
    status = add(t, ledger_names[i], "J", LEDGER, (int)i, -1, -1);
  if (status == KN_OK) status = add_pairs(t, in);
  return status == KN_OK ? add_bodies(t, m) : status;
}

void kn_table_free(kn_table* t) {
  free(t->at);
  forces_free(t->forces);
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
  if (!forces_of(q->forces, s, q->kind == DETERMINATE)) {
    q->forces->failed = true;
    return NAN;
  }
  for (int i = 0; i < q->forces->sums; i++) {
    const kn_load_sum* sum = &q->forces->sum[i];
    bool same = sum->a == q->a && sum->b == q->b, turned = sum->a == q->b && sum->b == q->a;
    if (!same && !turned) continue;
    switch (q->kind) {
    case FORCE_NORMAL: return sum->normal;
    case FORCE_TANGENT: return sum->tangential;
    case IMPULSE: return sum->impulse_normal;
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
  default: return load_value(q, s);
  }
}

const char* kn_table_near(const kn_table* t, const char* name) {
  static const char* const groups[] = {"energy", "ledger", "force", "friction", "gap", "tau"};
  enum { GROUPS = sizeof groups / sizeof *groups };
  const char** names = malloc(((size_t)t->count + GROUPS) * sizeof *names);
  if (!names) return NULL;
  for (int i = 0; i < GROUPS; i++) names[i] = groups[i];
  for (int i = 0; i < t->count; i++) names[GROUPS + i] = t->at[i].name;
  const char* near = kn_suggest(name, names, GROUPS + (size_t)t->count);
  free(names);
  return near;
}

bool kn_table_select(bool* chosen, const kn_table* t, const char* list, char wrong[120]) {
  for (int i = 0; i < t->count; i++) chosen[i] = list == NULL;
  for (const char* p = list; p && *p;) {
    size_t n = strcspn(p, ",");
    bool any = false;
    for (int i = 0; i < t->count; i++) {
      const char* name = t->at[i].name;
      bool hit = strncmp(name, p, n) == 0 && (name[n] == 0 || name[n] == '.');
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
