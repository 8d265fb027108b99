/* Expressions of a sweep (expression.h): read by recursive descent into nodes in the order of their evaluation,
   each node after its arguments, and evaluated once per instant from the first node to the last. A node over time
   keeps what it has seen; its value at an instant is that of the run so far. */
#include "sweep/expression.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

enum { NODES = 128, NAME = 128, DEPTH = 32 };

typedef enum operation {
  NUMBER,
  QUANTITY,
  ADD,
  SUBTRACT,
  MULTIPLY,
  DIVIDE,
  POWER,
  LESS,
  LESS_EQUAL,
  MORE,
  MORE_EQUAL,
  EQUAL,
  UNEQUAL,
  NEGATE,
  ABS,
  SQRT,
  LARGER,
  SMALLER,
  FIRST, /* over time from here on */
  FINAL,
  MAX,
  MIN,
  MEAN,
  INTEGRAL,
  RMS,
  WHEN,
  COUNT
} operation;

typedef enum quantity {
  TIME,
  Q,
  V,
  CTRL,
  POSITION,
  VELOCITY,
  KINETIC,
  POTENTIAL,
  SPRING,
  ENERGY,
  REPORT
} quantity;

typedef struct node {
  operation op;
  int a, b; /* arguments: nodes before this one */
  double value;
  quantity what;              /* QUANTITY */
  int index, axis;            /* of it */
  bool begun;                 /* over time: something was seen */
  double start, t, sum, last; /* integral so far since `start`; the integrand at t */
} node;

struct kn_expression {
  int count;
  bool poses;
  node at[NODES];
};

/* ---- reading ---- */

typedef struct reader {
  kn_expression* e;
  const char *text, *p;
  const kn_model* model;
  const kn_named* named;
  int named_count, depth;
  char* why;
  size_t room;
} reader;

static int fail(reader* r, const char* format, ...) __attribute__((format(printf, 2, 3)));
static int fail(reader* r, const char* format, ...) {
  va_list list;
  if (!r->why[0]) {
    va_start(list, format);
    vsnprintf(r->why, r->room, format, list);
    va_end(list);
  }
  return -1;
}

static int push(reader* r, node n) {
  if (r->e->count == NODES) return fail(r, "the expression is too long");
  r->e->at[r->e->count] = n;
  return r->e->count++;
}

static int push_op(reader* r, operation op, int a, int b) {
  return a < 0 || b < 0 ? -1 : push(r, (node){.op = op, .a = a, .b = b});
}

static void blanks(reader* r) { r->p += strspn(r->p, " "); }

static bool take(reader* r, const char* word) {
  blanks(r);
  size_t n = strlen(word);
  if (strncmp(r->p, word, n) != 0) return false;
  r->p += n;
  return true;
}

static int read_sum(reader* r);

static int read_comparison(reader* r) {
  static const struct {
    const char* word;
    operation op;
  } ops[] = {{"<=", LESS_EQUAL}, {">=", MORE_EQUAL}, {"==", EQUAL},
             {"!=", UNEQUAL},    {"<", LESS},        {">", MORE}};
  if (++r->depth > DEPTH) return fail(r, "brackets nested deeper than %d", DEPTH);
  int a = read_sum(r);
  for (size_t i = 0; a >= 0 && i < sizeof ops / sizeof *ops; i++)
    if (take(r, ops[i].word)) {
      a = push_op(r, ops[i].op, a, read_sum(r));
      break;
    }
  r->depth--;
  return a;
}

/* A dotted name: letters, digits, _ and quoted parts; quotes are left out of it. */
static bool read_name(reader* r, char name[NAME]) {
  int n = 0;
  bool quoted = false;
  for (; *r->p && n < NAME - 1; r->p++) {
    if (*r->p == '"')
      quoted = !quoted;
    else if (quoted || isalnum((unsigned char)*r->p) || *r->p == '_' || *r->p == '.' ||
             (unsigned char)*r->p > 127)
      name[n++] = *r->p;
    else
      break;
  }
  name[n] = 0;
  return n > 0 && !quoted && n < NAME - 1;
}

static const char* const report_names[] = {"contacts", "residual",   "penetration", "closure", "correction",
                                           "gain_rel", "iterations", "rise",        "rise_rel"};

static double report_value(int i, const kn_report* s) {
  double x[] = {s->contacts, s->residual,   s->penetration, s->closure,      s->correction,
                s->gain_rel, s->iterations, s->rise.rise,   s->rise.rise_rel};
  return x[i];
}

/* "name.k" or "name.x": the part behind the last dot when the whole is not the name. */
static int axis_of(const char* text, const char* letters) {
  const char* at = text[0] && !text[1] ? strchr(letters, text[0]) : NULL;
  return at && *at ? (int)(at - letters) : -1;
}

static int joint_quantity(reader* r, quantity what, const char* name) {
  kn_joint j;
  int q, nq, v, nv, k = 0;
  char own[NAME];
  snprintf(own, sizeof own, "%s", name);
  char* dot = strrchr(own, '.');
  if (kn_model_find_joint(&j, r->model, own) != KN_OK && dot) {
    static const char* const free_q[] = {"x", "y", "z", "qw", "qx", "qy", "qz"};
    static const char* const free_v[] = {"vx", "vy", "vz", "wx", "wy", "wz"};
    char* end;
    *dot = 0;
    k = (int)strtol(dot + 1, &end, 10);
    for (int i = 0; *end && i < (what == Q ? 7 : 6); i++)
      if (strcmp(dot + 1, what == Q ? free_q[i] : free_v[i]) == 0) k = i, end = dot + 1 + strlen(dot + 1);
    if (*end || end == dot + 1) return -1;
  }
  if (kn_model_find_joint(&j, r->model, own) != KN_OK) {
    char* stop; /* a joint without a name: joint3 */
    if (strncmp(own, "joint", 5) != 0) return -1;
    j = (kn_joint)strtol(own + 5, &stop, 10);
    if (*stop || stop == own + 5) return -1;
  }
  if (kn_model_joint_address(&q, &nq, &v, &nv, r->model, j) != KN_OK || k < 0 || k >= (what == Q ? nq : nv))
    return -1;
  return push(r, (node){.op = QUANTITY, .what = what, .index = (what == Q ? q : v) + k});
}

static int body_quantity(reader* r, quantity what, const char* name) {
  char own[NAME];
  kn_body body;
  snprintf(own, sizeof own, "%s", name);
  char* dot = strrchr(own, '.');
  int axis = dot ? axis_of(dot + 1, "xyz") : -1;
  if (axis < 0) return -1;
  *dot = 0;
  if (kn_model_find_body(&body, r->model, own) != KN_OK) return -1;
  r->e->poses = true;
  return push(r, (node){.op = QUANTITY, .what = what, .index = body, .axis = axis});
}

static int find_quantity(reader* r, const char* name) {
  static const char* const energies[] = {"energy.kinetic", "energy.potential", "energy.spring",
                                         "energy.total"};
  kn_actuator u;
  for (int i = 0; i < r->named_count; i++)
    if (strcmp(name, r->named[i].name) == 0) return push(r, (node){.op = NUMBER, .value = r->named[i].value});
  if (strcmp(name, "t") == 0) return push(r, (node){.op = QUANTITY, .what = TIME});
  if (strncmp(name, "q.", 2) == 0) return joint_quantity(r, Q, name + 2);
  if (strncmp(name, "v.", 2) == 0) return joint_quantity(r, V, name + 2);
  if (strncmp(name, "pos.", 4) == 0) return body_quantity(r, POSITION, name + 4);
  if (strncmp(name, "vel.", 4) == 0) return body_quantity(r, VELOCITY, name + 4);
  if (strncmp(name, "u.", 2) == 0 && kn_model_find_actuator(&u, r->model, name + 2) == KN_OK)
    return push(r, (node){.op = QUANTITY, .what = CTRL, .index = u});
  for (int i = 0; i < 4; i++)
    if (strcmp(name, energies[i]) == 0)
      return push(r, (node){.op = QUANTITY, .what = (quantity)(KINETIC + i)});
  for (int i = 0; i < (int)(sizeof report_names / sizeof *report_names); i++)
    if (strcmp(name, report_names[i]) == 0)
      return push(r, (node){.op = QUANTITY, .what = REPORT, .index = i});
  return -1;
}

static int unknown(reader* r, const char* name) {
  static const char* const known[] = {
      "t",        "energy.kinetic", "energy.potential", "energy.spring", "energy.total", "contacts",
      "residual", "penetration",    "closure",          "correction",    "gain_rel",     "iterations",
      "rise",     "rise_rel"};
  const char* near = kn_suggest(name, known, sizeof known / sizeof *known);
  if (near) return fail(r, "no quantity \"%s\"; did you mean %s?", name, near);
  return fail(r,
              "no quantity \"%s\"; there are t, q.JOINT, v.JOINT, u.ACTUATOR, pos.BODY.x, vel.BODY.x, "
              "energy.total, contacts, residual, penetration, … and the sweep's variables",
              name);
}

static int read_call(reader* r, const char* name) {
  static const struct {
    const char* name;
    operation one, two; /* with one and with two arguments; NUMBER: not possible */
  } calls[] = {{"abs", ABS, NUMBER},           {"sqrt", SQRT, NUMBER},   {"max", MAX, LARGER},
               {"min", MIN, SMALLER},          {"first", FIRST, NUMBER}, {"final", FINAL, NUMBER},
               {"mean", MEAN, NUMBER},         {"rms", RMS, NUMBER},     {"when", WHEN, NUMBER},
               {"integral", INTEGRAL, NUMBER}, {"count", COUNT, NUMBER}};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    if (strcmp(name, calls[i].name) != 0) continue;
    int a = read_comparison(r), b = a;
    bool two = a >= 0 && take(r, ",");
    if (two) b = read_comparison(r);
    if (a < 0 || b < 0) return -1;
    if (!take(r, ")")) return fail(r, "%s(…: expected a closing bracket", name);
    if (two && calls[i].two == NUMBER) return fail(r, "%s takes one argument", name);
    return push_op(r, two ? calls[i].two : calls[i].one, a, b);
  }
  return fail(r, "no function \"%s\"; there are first final max min mean integral rms when count abs sqrt",
              name);
}

static int read_factor(reader* r) {
  char name[NAME], *end;
  blanks(r);
  if (take(r, "-")) {
    if (++r->depth > DEPTH) return fail(r, "signs nested deeper than %d", DEPTH);
    int a = read_factor(r);
    r->depth--;
    return push_op(r, NEGATE, a, a);
  }
  if (take(r, "(")) {
    int a = read_comparison(r);
    return a >= 0 && !take(r, ")") ? fail(r, "a closing bracket is missing") : a;
  }
  if (isdigit((unsigned char)*r->p) || *r->p == '.') {
    double x = strtod(r->p, &end);
    if (end == r->p) return fail(r, "\"%.20s\": expected a number", r->p);
    r->p = end;
    return push(r, (node){.op = NUMBER, .value = x});
  }
  if (!*r->p) return fail(r, "the expression ends where a number or a name is expected");
  if (!read_name(r, name)) return fail(r, "\"%.20s\": expected a number or a name", r->p);
  if (take(r, "(")) return read_call(r, name);
  int a = find_quantity(r, name);
  return a >= 0 ? a : unknown(r, name);
}

static int read_power(reader* r) {
  int a = read_factor(r);
  if (a < 0 || !take(r, "^")) return a;
  int b = read_factor(r);
  if (b < 0) return -1;
  const node* n = &r->e->at[b];
  if (n->op != NUMBER || n->value != floor(n->value) || n->value < 0.0 || n->value > 64.0)
    return fail(r, "the exponent must be a whole number from 0 to 64");
  return push_op(r, POWER, a, b);
}

static int read_product(reader* r) {
  int a = read_power(r);
  for (;;) {
    if (a >= 0 && take(r, "*"))
      a = push_op(r, MULTIPLY, a, read_power(r));
    else if (a >= 0 && take(r, "/"))
      a = push_op(r, DIVIDE, a, read_power(r));
    else
      return a;
  }
}

static int read_sum(reader* r) {
  int a = read_product(r);
  for (;;) {
    if (a >= 0 && take(r, "+"))
      a = push_op(r, ADD, a, read_product(r));
    else if (a >= 0 && take(r, "-"))
      a = push_op(r, SUBTRACT, a, read_product(r));
    else
      return a;
  }
}

kn_expression* kn_expression_read(const char* text, const kn_model* model, const kn_named* named, int count,
                                  char* why, size_t room) {
  kn_expression* e = calloc(1, sizeof *e);
  why[0] = 0;
  if (!e) {
    snprintf(why, room, "no memory");
    return NULL;
  }
  reader r = {.e = e,
              .text = text,
              .p = text,
              .model = model,
              .named = named,
              .named_count = count,
              .why = why,
              .room = room};
  int a = read_comparison(&r);
  blanks(&r);
  if (a >= 0 && *r.p) a = fail(&r, "\"%.20s\": expected an operator or the end", r.p);
  if (a >= 0) return e;
  kn_expression_free(e);
  return NULL;
}

void kn_expression_free(kn_expression* e) { free(e); }
bool kn_expression_needs_poses(const kn_expression* e) { return e->poses; }

/* ---- evaluating ---- */

static double body_value(const node* n, const kn_instant* at) {
  const kn_model* m = at->model;
  if (n->what == POSITION) {
    kn_pose pose;
    return at->data && kn_body_pose(&pose, m, at->data, n->index) == KN_OK ? pose.p[n->axis] : NAN;
  }
  double velocity[6];
  return at->data && kn_body_velocity(velocity, m, at->data, n->index, NULL) == KN_OK ? velocity[3 + n->axis]
                                                                                      : NAN;
}

static double quantity_value(const node* n, const kn_instant* at) {
  kn_state* s = (kn_state*)(uintptr_t)at->state; /* read only */
  switch (n->what) {
  case TIME: return kn_state_time(s);
  case Q: return kn_state_q(s)[n->index];
  case V: return kn_state_v(s)[n->index];
  case CTRL: return kn_state_ctrl(s)[n->index];
  case KINETIC: return at->energy->kinetic;
  case POTENTIAL: return at->energy->potential;
  case SPRING: return at->energy->spring;
  case ENERGY: return at->energy->kinetic + at->energy->potential + at->energy->spring;
  case REPORT: return at->report ? report_value(n->index, at->report) : 0.0;
  default: return body_value(n, at);
  }
}

static double power(double x, double exponent) {
  double y = 1.0;
  for (int k = (int)exponent; k > 0; k--) y *= x;
  return y;
}

/* integral, mean and rms of what was seen so far, by the trapezoidal rule. */
static double integrate(node* n, double x, double t) {
  double y = n->op == RMS ? x * x : x;
  if (n->begun)
    n->sum += 0.5 * (t - n->t) * (y + n->last);
  else
    n->start = t;
  n->last = y;
  n->t = t;
  if (n->op == INTEGRAL) return n->sum;
  double mean = t > n->start ? n->sum / (t - n->start) : y;
  return n->op == RMS ? sqrt(mean) : mean;
}

/* Over time: x is the argument's value now. */
static double over_time(node* n, double x, double t) {
  switch (n->op) {
  case FIRST: return n->begun ? n->value : x;
  case MAX: return n->begun ? fmax(n->value, x) : x;
  case MIN: return n->begun ? fmin(n->value, x) : x;
  case WHEN: return n->begun && !isnan(n->value) ? n->value : x != 0.0 ? t : NAN;
  case COUNT: return (n->begun ? n->value : 0.0) + (x != 0.0);
  case FINAL: return x;
  default: return integrate(n, x, t);
  }
}

static double combine(const node* n, double a, double b) {
  switch (n->op) {
  case ADD: return a + b;
  case SUBTRACT: return a - b;
  case MULTIPLY: return a * b;
  case DIVIDE: return a / b;
  case POWER: return power(a, b);
  case LESS: return a < b;
  case LESS_EQUAL: return a <= b;
  case MORE: return a > b;
  case MORE_EQUAL: return a >= b;
  case EQUAL: return a == b;
  case UNEQUAL: return a != b;
  case NEGATE: return -a;
  case ABS: return fabs(a);
  case SQRT: return sqrt(a);
  case LARGER: return fmax(a, b);
  default: return fmin(a, b);
  }
}

void kn_expression_step(kn_expression* e, const kn_instant* at) {
  double t = kn_state_time(at->state);
  for (int i = 0; i < e->count; i++) {
    node* n = &e->at[i];
    double a = e->at[n->a].value;
    if (n->op == NUMBER) continue;
    if (n->op == QUANTITY)
      n->value = quantity_value(n, at);
    else if (n->op < FIRST)
      n->value = combine(n, a, e->at[n->b].value);
    else {
      n->value = over_time(n, a, t);
      n->begun = true;
    }
  }
}

double kn_expression_value(const kn_expression* e) { return e->at[e->count - 1].value; }
