/* Stronge's law with several contacts (C. Liu, Z. Zhao and B. Brogliato 2008, Frictionless multiple impacts in
   multibody systems I, with linear springs): every contact is a spring while the bodies stand still, all of the
   same stiffness, and gives back e² of the energy it was loaded with. The stiffness only sets the clock, so 1:

     du/dt = W λ,    dλ_i/dt = -u_i      while it is loaded  (u_i < 0)
                     dλ_i/dt = -u_i/e²   while it is unloaded; λ_i >= 0,  energy E_i = λ_i²/2
     friction by Coulomb's law with these normal forces; limits and loops stay rigid

   until no spring is loaded and nothing approaches. A step h takes mean values, p = h (λ + λ⁺)/2,
   ū = u + ½ W p, so that λ⁺ = λ - h ū/κ gives

     ū_n + r p_n - r h λ = 0,  p_n >= 0,   r = 2κ/h²,  κ = 1 loading, e² unloading

   with Coulomb's law one cone problem of the matrix ½W + R; for e = 0 the unloading row is that of a rigid
   contact. Σ p ū is exactly the change of K, and -p_n ū_n that of E (E/e² unloading): whatever h is, a contact
   returns e² of its work, if its end λ⁺ = 0 is met; the step that meets it is found by the secant rule.
   Friction opposes ū while the slip is fast and u⁺ where it may stop, so that what sticks does not ring.
   With one contact and without friction this is Newton's law. The order of h is two without friction. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "comp/cone/flat.h"
#include "contact/impact/impact.h"
#include "law/stronge.h"

enum { PER_CONTACT = 600, ROUNDS = 12, ENDS = 40 };
static const double fine =
    1.0 / 32.0;                   /* h ω: errors of (h ω)²/24 = 4e-5 of the phase of the fastest spring */
static const double tiny = 1e-12; /* of the largest force or speed so far: rounding */

typedef struct stronge_work {
  const kn_impact_problem* p;
  kn_impact_result* r;
  int n, blocks;
  double *W, *q, *x, *u, *u_mean, *P; /* rows² / rows: the sub-problem and its answer; velocities; impulses */
  double *force, *e, *next;           /* rows: λ, e and λ⁺ of normal rows */
  bool *contact, *unloads;            /* rows: a contact's normal; its spring was taken as unloading */
  int* group;                         /* rows: of that contact */
  kn_block* block;
  double h, speed, most; /* step; fastest approach at the start, m/s; largest force so far */
} work_t;

static void carve(void* memory, kn_arena* a, int rows, int nv) {
  work_t* o = memory;
  size_t n = (size_t)rows;
  (void)nv;
  o->W = KN_TAKE(a, double, n* n);
  double** all[] = {&o->q, &o->x, &o->u, &o->u_mean, &o->P, &o->force, &o->e, &o->next};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) *all[i] = KN_TAKE(a, double, n);
  KN_TAKE_EACH(a, bool, n, &o->contact, &o->unloads);
  o->group = KN_TAKE(a, int, n);
  o->block = KN_TAKE(a, kn_block, n);
}

static double at(const work_t* o, int i, int j) { return o->p->work->W[(size_t)i * o->n + j]; }

/* e of a spring that was loaded to this force: as of the approach √W_nn λ that loads it alone. */
static double e_of(const work_t* o, int i, double force) {
  if (o->p->e[i] > 0.0 || !o->p->hit) return o->p->e[i];
  return o->p->hit(o->group[i], force * sqrt(at(o, i, i)), o->p->hit_context);
}

static kn_status begin(work_t* o) {
  const kn_impact_problem* p = o->p;
  const kn_row_tag* tag = p->set->tag + p->first;
  o->n = kn_impact_rows(p);
  o->blocks = p->work->nblock;
  o->speed = o->most = 0.0;
  memcpy(o->u, p->u_before, (size_t)o->n * sizeof(double));
  for (int i = 0; i < o->n; i++) {
    o->contact[i] = o->unloads[i] = false;
    o->x[i] = o->P[i] = o->force[i] = o->e[i] = 0.0;
  }
  for (int g = 0; g < p->count; g++) {
    int row = tag[g].row - tag->row;
    if (tag[g].kind == KN_ROW_SPIN)
      return kn_fail(KN_UNSUPPORTED, "law stronge does not know friction against spin");
    if (tag[g].kind == KN_ROW_LOOP && p->work->formulation->recover)
      return kn_fail(KN_UNSUPPORTED, "law stronge with loops needs formulation os");
    if (tag[g].kind != KN_ROW_CONTACT) continue;
    o->contact[row] = true;
    o->group[row] = p->first + g;
    o->speed = fmax(o->speed, -o->u[row]);
  }
  double stiff = 0.0;
  for (int i = 0; i < o->n; i++) {
    double sum = 0.0;
    for (int j = 0; j < o->n && o->contact[i]; j++) sum += o->contact[j] ? fabs(at(o, i, j)) : 0.0;
    stiff = fmax(stiff, sum);
  }
  o->h = stiff > 0.0 ? fine / sqrt(stiff) : 1.0;
  return KN_OK;
}

/* Could the slip of the cone at this row stop within h? 4: forces grow and others push as well. */
static bool may_stop(const work_t* o, const kn_block* b, double h) {
  double slip = sqrt(o->u[b->row + 1] * o->u[b->row + 1] + o->u[b->row + 2] * o->u[b->row + 2]);
  double force = o->force[b->row] + h * fabs(o->u[b->row]);
  return !(slip > 4.0 * h * force *
                      (fmin(b->mu, 1e6) * (at(o, b->row + 1, b->row + 1) + at(o, b->row + 2, b->row + 2)) +
                       fabs(at(o, b->row, b->row + 1)) + fabs(at(o, b->row, b->row + 2))));
}

/* Matrix and offset of a step h: ū of contacts, ½u⁺ of everything else. */
static void pose(work_t* o, double h) {
  const kn_impact_problem* p = o->p;
  for (size_t i = 0; i < (size_t)o->n * (size_t)o->n; i++) o->W[i] = 0.5 * p->work->W[i];
  for (int b = 0; b < o->blocks; b++) {
    kn_block* k = &o->block[b];
    *k = p->work->block[b];
    int i = k->row;
    if (!o->contact[i]) {
      o->q[i] = 0.5 * (o->u[i] + p->bias[i]);
      if (k->set == KN_SET_BOX) k->lo = fmin(k->lo - o->P[i], 0.0), k->hi = fmax(k->hi - o->P[i], 0.0);
      continue;
    }
    double r = 2.0 / (h * h) * (o->unloads[i] ? o->e[i] * o->e[i] : 1.0);
    o->W[(size_t)i * o->n + i] += r;
    o->q[i] = o->u[i] + p->bias[i] - r * h * o->force[i];
    double part = k->set == KN_SET_CONE3 && may_stop(o, k, h) ? 0.5 : 1.0;
    for (int j = 1; j < kn_set_rows(k->set); j++) o->q[i + j] = part * (o->u[i + j] + p->bias[i + j]);
  }
}

/* Which springs turned out to load or unload other than was thought; returns how many. */
static int revise(work_t* o, double h) {
  int wrong = 0;
  for (int i = 0; i < o->n; i++) {
    if (!o->contact[i]) continue;
    bool unloads = o->force[i] > 0.0 && o->x[i] < h * o->force[i];
    if (unloads == o->unloads[i]) continue;
    if (unloads) o->e[i] = e_of(o, i, o->force[i]);
    o->unloads[i] = unloads;
    wrong++;
  }
  return wrong;
}

/* The work of the step is done, and the last problem was left unsolved: hundreds like it would follow (found by the fuzzer of scenes,
   a step of seconds). */
static bool spent(const work_t* o) { return kn_solver_work_spent(o->p->work->solver); }

/* Impulses x, mean velocities and next forces of a step h. */
static kn_status try_step(work_t* o, double h, kn_contact_solution* s) {
  const kn_impact_problem* p = o->p;
  kn_problem problem = {.rows = o->n, .blocks = o->blocks, .block = o->block, .W = o->W, .q = o->q};
  kn_solve_settings settings = kn_solve_default();
  settings.tol = p->tolerance;
  settings.warm_start = settings.untimed = true;
  for (int round = 0; round < ROUNDS; round++) {
    pose(o, h);
    kn_status status = kn_problem_solve(o->x, &s->info, &problem, &settings, p->work->solver);
    if (status != KN_OK && status != KN_NOT_CONVERGED) return status;
    if (!revise(o, h) || spent(o)) break;
  }
  for (int i = 0; i < o->n; i++) {
    double sum = 0.0;
    for (int j = 0; j < o->n; j++) sum += at(o, i, j) * o->x[j];
    o->u_mean[i] = o->u[i] + 0.5 * sum;
    if (!o->contact[i]) continue;
    bool plastic = o->unloads[i] && !(o->e[i] > 0.0); /* gives back nothing: λ⁺ is the mean force */
    o->next[i] = plastic ? o->x[i] / h : 2.0 * o->x[i] / h - o->force[i];
  }
  return KN_OK;
}

/* The part of h after which the first spring is unloaded, 1 if none is. */
static double first_end(const work_t* o) {
  double part = 1.0;
  for (int i = 0; i < o->n; i++)
    if (o->contact[i] && o->force[i] > 0.0 && o->next[i] < -tiny * o->most)
      part = fmin(part, o->force[i] / (o->force[i] - o->next[i]));
  return part;
}

static void accept(work_t* o) {
  for (int i = 0; i < o->n; i++) {
    o->u[i] = 2.0 * o->u_mean[i] - o->u[i];
    o->P[i] += o->x[i];
    if (!o->contact[i]) continue;
    if (!o->unloads[i]) o->r->compression[i] += o->x[i];
    if (o->unloads[i]) o->r->e_used[i] = fmax(o->r->e_used[i], o->e[i]);
    o->most = fmax(o->most, o->next[i]);
    o->force[i] = o->next[i] > tiny * o->most ? o->next[i] : 0.0;
    if (!(o->force[i] > 0.0)) o->unloads[i] = false;
  }
}

/* One step, cut at the first end of a spring: λ⁺(h) is nearly straight, so the rule of false position from
   λ⁺(0) = λ gains a digit or more a round. One that falls short leaves the rest to the next step. */
static kn_status step(work_t* o, kn_contact_solution* s) {
  double h = o->h, part = 1.0;
  for (int k = 0; k < ENDS; k++) {
    KN_TRY(try_step(o, h, s));
    part = first_end(o);
    if (part >= 1.0 || spent(o)) break;
    h *= part;
  }
  accept(o);
  return KN_OK;
}

/* Does anything still press or approach? */
static bool goes_on(const work_t* o) {
  bool still = true, any = false;
  const kn_row_tag* tag = o->p->set->tag + o->p->first;
  for (int g = 0; g < o->p->count; g++) {
    int i = tag[g].row - tag->row;
    bool one_sided = o->contact[i] || tag[g].kind == KN_ROW_LIMIT;
    if (one_sided && o->u[i] + o->p->bias[i] < -1e-9) any = true, still = false; /* m/s */
    if (!o->contact[i] || !(o->force[i] > 0.0)) continue;
    any = true;
    still &= fabs(o->u[i]) <= tiny * o->speed; /* locked: what is left in the spring stays there */
  }
  return any && !(still && o->most > 0.0);
}

kn_status kn_impact_stronge_several(kn_impact_result* r, const kn_impact_problem* p) {
  kn_contact_work* w = p->work;
  work_t* o = w->law_memory[KN_MEMORY_STRONGE];
  if (!o || w->large.is_sparse) return kn_fail(KN_UNSUPPORTED, "law stronge: too many contacts collide");
  o->p = p, o->r = r;
  KN_TRY(begin(o));
  memset(r->compression, 0, (size_t)o->n * sizeof(double));
  int contacts = 0;
  for (int i = 0; i < o->n; i++) contacts += o->contact[i];
  int limit = PER_CONTACT * (contacts + 1);
  kn_contact_solution s = {.lcp_size = kn_contact_lcp_size(w, 4)};
  for (r->events = 0; r->events < limit && goes_on(o); r->events++) {
    KN_TRY(step(o, &s));
    kn_impact_note(r, &s);
    if (spent(o)) limit = r->events + 1;
  }
  memcpy(r->impulse, o->P, (size_t)o->n * sizeof(double));
  w->formulation->motion(r->v_after, w, p->v_before, r->impulse);
  if (r->events == 0) return kn_impact_hold(r, p);
  if (r->events < limit) return KN_OK;
  r->limit = limit; /* what still approaches is stopped */
  KN_TRY(kn_contact_solve(o->x, r->v_after, &s, w, r->v_after, p->bias, NULL, false, p->tolerance, 0,
                          p->solver));
  for (int i = 0; i < o->n; i++) r->impulse[i] += o->x[i], r->compression[i] += o->x[i];
  kn_impact_note(r, &s);
  return KN_OK;
}

/* Λ of the only contact of the island, padded by zeros when it is frictionless; or several. */
static kn_status stronge(kn_impact_result* r, const kn_impact_problem* p, double* scratch) {
  (void)scratch;
  kn_contact_work* w = p->work;
  const kn_row_tag* tag = &p->set->tag[p->first];
  if (w->extra) return kn_fail(KN_UNSUPPORTED, "law stronge needs a formulation in contact space (os, rmc)");
  if (w->large.is_sparse) return kn_fail(KN_UNSUPPORTED, "law stronge: %d rows are too many", w->rows);
  if (p->count != 1 || tag->kind != KN_ROW_CONTACT) return kn_impact_stronge_several(r, p);
  double L[9] = {0}, u[3] = {0};
  for (int i = 0; i < tag->rows; i++) {
    u[i] = p->u_before[i] + p->bias[i];
    for (int j = 0; j < tag->rows; j++) L[3 * i + j] = w->W[i * w->total + j];
  }
  kn_stronge s;
  kn_stronge_impact(&s, L, u, tag->rows == 3 ? w->block[0].mu : 0.0, r->e_used[0]);
  for (int i = 0; i < tag->rows; i++) {
    r->impulse[i] = s.p[i];
    r->compression[i] = i ? 0.0 : s.compression;
  }
  w->formulation->motion(r->v_after, w, p->v_before, r->impulse);
  kn_impact_note(r, &(kn_contact_solution){.lcp_size = kn_contact_lcp_size(w, 4)});
  return KN_OK;
}

const kn_impact_law kn_impact_law_stronge = {
    .name = "stronge",
    .doc = "every normal impulse returns e squared of the work done against it; several contacts press at "
           "once, as springs of equal stiffness",
    .citation = "W. J. Stronge 1990; J. A. Batlle 1996; C. Liu, Z. Zhao and B. Brogliato 2008",
    .contact_space = true,
    .full = true,
    .solve = stronge,
    .blends = true,
    .memory = KN_MEMORY_STRONGE,
    .size = sizeof(work_t),
    .carve = carve,
};
