/* Impact law `sequential`: one impact after the other (I. Han and B. J. Gilmore 1993, Multi-body impact motion
   with friction, section 4; A. P. Ivanov 1995, On multiple impact).

     while some contact approaches: those that approach fastest collide by the law of a single impact, as if
     no other contact were there; then the velocities of all contacts are looked at again

   A row of touching balls, e = 1, then does what Newton's cradle shows: n balls come, n balls leave. Contacts
   whose speeds differ by less than 1e-6 are equally fast and collide together, so that a body that lands flat
   stays flat and a symmetric impact symmetric. Loops and joint limits belong to every impact; the dry friction
   of joints spends its impulse in the first. Every impact has its own guard, so the sequence gains nothing. A
   sequence that does not end (inelastic collapse) is cut off, and the rest is one impact of all contacts. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "contact/impact/impact.h"

static const double at_rest = 1e-9; /* m/s: slower approaches are rounding */
enum { USUAL_EVENTS = 50 };         /* per contact */

typedef struct sequence_work {
  kn_constraints part;                             /* the rows of one impact … */
  int* group;                                      /* … and where they come from */
  double *u, *u_part, *e, *p, *compression, *used; /* rows: of the island; of the part */
  double* v;                                       /* nv */
} work_t;

static void carve(void* memory, kn_arena* a, int rows, int nv) {
  work_t* o = memory;
  kn_constraints_carve(&o->part, a, rows, rows);
  o->group = KN_TAKE(a, int, rows);
  double** all[] = {&o->u, &o->u_part, &o->e, &o->p, &o->compression, &o->used};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) *all[i] = KN_TAKE(a, double, rows);
  o->v = KN_TAKE(a, double, nv);
}

static int row_of(const kn_impact_problem* p, int g) {
  return p->set->tag[g].row - p->set->tag[p->first].row;
}

/* Group g of the island becomes a group of the part. */
static void take(work_t* o, const kn_impact_problem* p, int g) {
  kn_constraints* to = &o->part;
  const kn_row_tag* from = &p->set->tag[g];
  kn_row_tag* tag = &to->tag[to->count];
  *tag = *from;
  tag->row = to->rows, tag->block = to->blocks;
  to->geometry[to->count] = p->set->geometry[g];
  o->group[to->count++] = g;
  for (int b = 0; b < from->blocks; b++) {
    to->block[to->blocks] = p->set->block[from->block + b];
    to->block[to->blocks++].row += tag->row - from->row;
  }
  for (int k = 0; k < from->rows; k++, to->rows++) {
    to->bias[to->rows] = p->bias[row_of(p, g) + k];
    to->rate[to->rows] = 0.0;
    o->u_part[to->rows] = o->u[row_of(p, g) + k];
    o->e[to->rows] = 0.0;
  }
}

static double fastest(const work_t* o, const kn_impact_problem* p) {
  double most = 0.0;
  for (int g = p->first; g < p->first + p->count; g++)
    if (p->set->tag[g].kind == KN_ROW_CONTACT || p->set->tag[g].kind == KN_ROW_LIMIT)
      most = fmax(most, -o->u[row_of(p, g)]);
  return most;
}

/* The rows of the next impact; false: nothing approaches any more. */
static bool choose(work_t* o, const kn_impact_problem* p, bool first) {
  double speed = fastest(o, p);
  if (!(speed > at_rest)) return false;
  kn_constraints_clear(&o->part);
  for (int g = p->first; g < p->first + p->count; g++) {
    kn_row_kind kind = p->set->tag[g].kind;
    if (kind == KN_ROW_FRICTION && !first) continue;
    if (kind == KN_ROW_SPIN) continue; /* goes with its contact */
    double u = o->u[row_of(p, g)];
    if (kind == KN_ROW_CONTACT && -u < (1.0 - 1e-6) * speed) continue;
    int row = o->part.rows;
    take(o, p, g);
    if (kind != KN_ROW_CONTACT) continue;
    o->e[row] = p->hit && !first ? p->hit(g, -u, p->hit_context) : p->e[row_of(p, g)];
    if (g + 1 < p->first + p->count && p->set->tag[g + 1].kind == KN_ROW_SPIN) take(o, p, g + 1);
  }
  return true;
}

static bool meet(const kn_row_tag* a, const kn_row_tag* b) {
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      if (a->tree[i] >= 0 && a->tree[i] == b->tree[j]) return true;
  return false;
}

/* Velocities of the rows whose bodies the impact has moved. */
static void look_again(work_t* o, const kn_impact_problem* p) {
  for (int g = p->first; g < p->first + p->count; g++) {
    bool moved = false;
    for (int k = 0; k < o->part.count && !moved; k++) moved = meet(&p->set->tag[g], &o->part.tag[k]);
    if (moved)
      kn_rows_velocity(o->u + row_of(p, g), p->work->data, p->work->model, p->set->geometry + g, 1, o->v);
  }
}

/* One impact of the part, from o->v to o->v, booked in r. */
static kn_status impact(kn_impact_result* r, work_t* o, const kn_impact_problem* p, double* scratch) {
  kn_impact_problem one = *p;
  one.set = &o->part, one.first = 0, one.count = o->part.count;
  one.v_before = o->v, one.u_before = o->u_part, one.bias = o->part.bias, one.e = o->e;
  one.resting = NULL, one.hit = NULL, one.external = NULL;
  kn_impact_result x = {
      .v_after = r->v_after, .impulse = o->p, .compression = o->compression, .e_used = o->used};
  KN_TRY(kn_contact_begin(p->work, &o->part, 0, o->part.count));
  KN_TRY(kn_impact_guarded(&x, p->each, &one, scratch));
  memcpy(o->v, r->v_after, (size_t)p->work->model->nv * sizeof(double));
  for (int k = 0; k < o->part.count; k++) {
    const kn_row_tag* tag = &o->part.tag[k];
    int to = row_of(p, o->group[k]);
    for (int i = 0; i < tag->rows; i++) {
      r->impulse[to + i] += o->p[tag->row + i];
      r->compression[to + i] += o->compression[tag->row + i];
      r->e_used[to + i] = fmax(r->e_used[to + i], o->used[tag->row + i]);
    }
  }
  int solves = r->solves;
  kn_impact_note(r, &x.solution);
  r->solves = solves + x.solves;
  r->guard = fmin(r->guard, x.guard);
  r->fallback |= x.fallback;
  return KN_OK;
}

static kn_status solve(kn_impact_result* r, const kn_impact_problem* p, double* scratch) {
  work_t* o = p->work->law_memory[KN_MEMORY_SEQUENCE];
  if (!o) return kn_fail(KN_UNSUPPORTED, "law sequential has no memory");
  size_t rows = (size_t)kn_impact_rows(p) * sizeof(double), nv = (size_t)p->work->model->nv * sizeof(double);
  int contacts = 0;
  for (int g = p->first; g < p->first + p->count; g++) contacts += p->set->tag[g].kind == KN_ROW_CONTACT;
  int limit = (p->events > 0 ? p->events : USUAL_EVENTS) * (contacts > 0 ? contacts : 1);
  memcpy(o->v, p->v_before, nv);
  memcpy(r->v_after, p->v_before, nv);
  memcpy(o->u, p->u_before, rows);
  memset(r->impulse, 0, rows);
  memset(r->compression, 0, rows);
  while (choose(o, p, r->events == 0)) {
    if (r->events++ == limit) break;
    KN_TRY(impact(r, o, p, scratch));
    look_again(o, p);
  }
  if (r->events == 0) return kn_impact_hold(r, p);
  if (r->events <= limit) return KN_OK;
  r->limit = limit, r->events = limit;
  kn_constraints_clear(&o->part);
  for (int g = p->first; g < p->first + p->count; g++)
    if (p->set->tag[g].kind != KN_ROW_FRICTION) take(o, p, g);
  return impact(r, o, p, scratch);
}

const kn_impact_law kn_impact_law_sequential = {
    .name = "sequential",
    .doc = "one impact after the other, the fastest approach first, each by Poisson's law: n balls strike a "
           "row, n leave it",
    .citation = "I. Han and B. J. Gilmore 1993; A. P. Ivanov 1995",
    .solve = solve,
    .guarded = true,
    .memory = KN_MEMORY_SEQUENCE,
    .size = sizeof(work_t),
    .carve = carve,
};
