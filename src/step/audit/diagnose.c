/* The verdict at an instant (song-kumar Eqs. 3-12, physics on the acceleration level).

     a = Λ λ + a_free,  a_free = J q̈_free + J̇ q̇,  closed contacts only (J̇ q̇ of contacts: row_rate.c)
     sliding contact i:  force λ_i (n - mu s), s = u_t/|u_t|;      row n:      0 <= λ_i ⊥ a_n >= 0
     sticking contact:   force (λ_n, λ_t1, λ_t2);                  rows n, t:  0 <= λ_n ⊥ a_n >= 0,  a_t = 0
     limits and loops as rows of their own

   The matrix of these rows and columns is A_RS. P: a unique answer for every load; otherwise the failing
   principal minor names the contacts. Uniqueness is judged after dependent rows are seen as such (determinate
   forces). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "comp/verdict/pmatrix.h"
#include "step/audit/judged.h"
#include "step/sim.h"

typedef struct mode_row {
  int row;     /* row of the rows set */
  int tangent; /* first tangential row when sliding, else -1 */
  double s[2]; /* mu × slip direction */
  bool free;
  int contact; /* or -1 */
  int part;    /* 0 normal, 1, 2 tangential */
} mode_row;

static bool closed(const kn_sim* s, const kn_contact* c, double u_n) {
  return c->gap <= s->settings.gtol && u_n <= 1e-3; /* m/s: faster ones are leaving */
}

static double slip_of(const double u[2]) { return sqrt(u[0] * u[0] + u[1] * u[1]); }

/* Modes of the rows in set, from their velocities u; marks the contacts. At most room rows, else -1. */
static int mode_rows(mode_row* out, int room, const kn_constraints* set, kn_contact* contact, const double* u,
                     int* sliding) {
  int n = 0;
  *sliding = 0;
  for (int g = 0; g < set->count; g++) {
    const kn_row_tag* tag = &set->tag[g];
    if (n + 3 > room) return -1;
    if (tag->kind == KN_ROW_CONTACT) {
      kn_contact* c = &contact[tag->index];
      double speed = tag->rows == 3 ? slip_of(u + tag->row + 1) : 0.0;
      bool slides = tag->rows == 3 && speed > 1e-6;
      out[n] = (mode_row){.row = tag->row, .tangent = slides ? tag->row + 1 : -1, .contact = tag->index};
      c->mode = slides || tag->rows == 1 ? KN_MODE_SLIP : KN_MODE_STICK;
      if (slides) {
        for (int k = 0; k < 2; k++) out[n].s[k] = c->mu * u[tag->row + 1 + k] / speed;
        ++*sliding;
      }
      n++;
      for (int k = 1; k < 3 && tag->rows == 3 && !slides; k++)
        out[n++] =
            (mode_row){.row = tag->row + k, .tangent = -1, .free = true, .contact = tag->index, .part = k};
      continue;
    }
    if (tag->kind == KN_ROW_FRICTION) continue; /* bounded by itself: no say in existence or uniqueness */
    for (int k = 0; k < tag->rows; k++)
      out[n++] =
          (mode_row){.row = tag->row + k, .tangent = -1, .free = tag->kind != KN_ROW_LIMIT, .contact = -1};
  }
  return n;
}

/* The contacts' J̇ q̇ with the wandering point and the turning normal in place of the body-fixed point's. */
static kn_status wander(double* a, kn_sim* s, const kn_state* x, double* rate) {
  KN_TRY(kn_contact_row_rates(rate, s, x));
  for (int g = 0; g < s->sets.found.count; g++) {
    const kn_row_tag* tag = &s->sets.found.tag[g];
    for (int k = 0; k < tag->rows && tag->kind == KN_ROW_CONTACT; k++)
      if (isfinite(rate[3 * tag->index + k])) a[tag->row + k] = rate[3 * tag->index + k];
  }
  return KN_OK;
}

/* Rows of the closed contacts, limits and loops at the state, their Λ (in s->work->W) and a_free. */
static kn_status instant(kn_sim* s, kn_state* x, double* u, double* a_free) {
  const kn_model* m = s->model;
  kn_dyn_position(s->data, m, x->q);
  kn_dyn_velocity(s->data, m, x->v);
  KN_TRY(kn_detect(s->touch.after, &s->touch.afters, s->detector, s->data, s->settings.gtol, 0.0, NULL));
  int kept = 0;
  for (int i = 0; i < s->touch.afters; i++) {
    kn_row_block g = {.rows = 1,
                      .link_a = m->geom_place[s->touch.after[i].geom_a].link,
                      .link_b = m->geom_place[s->touch.after[i].geom_b].link};
    double u_n;
    memcpy(g.point, s->touch.after[i].point, sizeof g.point);
    memcpy(g.dir, s->touch.after[i].frame, sizeof(double[3]));
    kn_rows_velocity(&u_n, s->data, m, &g, 1, x->v);
    if (closed(s, &s->touch.after[i], u_n)) s->touch.after[kept++] = s->touch.after[i];
  }
  s->touch.afters = kept;
  kn_constraints_clear(&s->sets.found);
  for (int i = 0; i < s->touch.afters; i++)
    KN_TRY(kn_constraint_add_contact(&s->sets.found, m, &s->touch.after[i], i, 0.0));
  for (int i = 0; i < m->nlimit; i++)
    if (kn_limit_gap(m, i, x->q) <= s->settings.gtol)
      KN_TRY(kn_constraint_add_limit(&s->sets.found, m, x->q, i, 0.0));
  for (int i = 0, row = 0, rows; i < m->nloop; i++, row += rows)
    KN_TRY(kn_constraint_add_loop(&s->sets.found, m, s->data, x->q, i, row, x->time, &rows, NULL));
  if (s->sets.found.rows > s->work->large.max_dense)
    return kn_fail(KN_NO_ROOM, "diagnosis of %d rows, room for %d", s->sets.found.rows,
                   s->work->large.max_dense);
  s->force.implicit = (kn_implicit){0};
  KN_TRY(kn_stage_forces(s, x, x->time, x->q, x->v, 0.0));
  KN_TRY(kn_dyn_factor(s->data, m, NULL));
  kn_dyn_accelerate(s->frame.dv, s->data, m, x->v, s->force.tau);
  KN_TRY(kn_rows_push(&s->repair.rows, s->data, m, s->sets.found.geometry, s->sets.found.count));
  kn_rows_lambda(s->work->W, &s->repair.rows, s->data, m);
  kn_rows_velocity(u, s->data, m, s->sets.found.geometry, s->sets.found.count, x->v);
  kn_rows_bias(a_free, s->data, m, s->sets.found.geometry, s->sets.found.count, x->v);
  kn_rows_velocity(s->row.u_plus, s->data, m, s->sets.found.geometry, s->sets.found.count, s->frame.dv);
  KN_TRY(wander(a_free, s, x, s->row.u_before));
  for (int i = 0; i < s->sets.found.rows; i++) a_free[i] += s->row.u_plus[i];
  return KN_OK;
}

/* The size of the data in the LCP's scaled units: accelerations of the contacts with gravity, and `rate` (1/s)
   times the velocities, whose rounding they have. Offsets are differences of these. */
static double data_size(const kn_sim* s, const kn_constraints* set, const double* W, const double* a,
                        const double* u, double rate) {
  double unit = 0.0;
  for (int g = 0; g < set->count; g++) {
    const kn_row_tag* tag = &set->tag[g];
    double size = tag->kind == KN_ROW_CONTACT ? s->facts.gravity : 0.0;
    for (int i = tag->row; i < tag->row + tag->rows; i++) size = fmax(size, fabs(a[i]) + rate * fabs(u[i]));
    double w = W[(size_t)tag->row * (size_t)(set->rows + 1)];
    if (w > 0.0) unit = fmax(unit, size / sqrt(w));
  }
  return unit > 0.0 ? unit : 1.0;
}

/* The mode problem, and one row more that is always open: its offset is the size of the data, against which
   solvers, certificates and verdicts measure rounding (kn_lcp_verdict in comp.h). n + 1 rows. */
static void mode_matrix(double* A, double* b, double* lo, const double* W, int ld, const mode_row* row, int n,
                        const double* a_free, double unit) {
  int all = n + 1;
  memset(A, 0, sizeof(double) * (size_t)all * (size_t)all);
  for (int i = 0; i < n; i++) {
    const double* w = W + (size_t)row[i].row * ld;
    b[i] = a_free[row[i].row];
    lo[i] = row[i].free ? -INFINITY : 0.0;
    for (int j = 0; j < n; j++) {
      A[(size_t)i * all + j] = w[row[j].row];
      if (row[j].tangent >= 0)
        A[(size_t)i * all + j] -= row[j].s[0] * w[row[j].tangent] + row[j].s[1] * w[row[j].tangent + 1];
    }
  }
  A[(size_t)n * all + n] = 1.0, b[n] = unit, lo[n] = 0.0;
}

/* The rows of mode_matrix as blocks, sticking contacts with their cones. */
static int mode_blocks(kn_block* block, const mode_row* row, int n, const kn_contact* contact) {
  int count = 0;
  for (int i = 0; i < n; i++) {
    bool sticks =
        row[i].contact >= 0 && i + 2 < n && row[i + 2].contact == row[i].contact && row[i + 2].part == 2;
    block[count] = (kn_block){.set = sticks        ? KN_SET_CONE3
                                     : row[i].free ? KN_SET_FREE
                                                   : KN_SET_POSITIVE,
                              .row = i};
    if (sticks) block[count].mu = contact[row[i].contact].mu, i += 2;
    count++;
  }
  block[count++] = (kn_block){.set = KN_SET_POSITIVE, .row = n};
  return count;
}

static void report_forces(kn_sim* s, const mode_row* row, int n, const kn_judged* j) {
  const double* z = j->z;
  const bool* determinate = j->fixed;
  for (int i = 0; i < s->touch.afters; i++) {
    memset(s->touch.after[i].impulse, 0, sizeof s->touch.after[i].impulse);
    s->touch.after[i].determinate = j->found ? KN_ANSWER_YES : KN_ANSWER_UNDECIDED;
  }
  for (int i = 0; i < n && j->found; i++) {
    if (row[i].contact < 0) continue;
    kn_contact* c = &s->touch.after[row[i].contact];
    c->impulse[row[i].part] = z[i];
    if (row[i].tangent >= 0) c->impulse[1] = -row[i].s[0] * z[i], c->impulse[2] = -row[i].s[1] * z[i];
    if (!determinate[i]) c->determinate = KN_ANSWER_NO;
  }
}

/* Room for the contacts of the state, also those a little away (row_rate.c). */
static kn_status room_at(kn_sim* s, const kn_state* x) {
  kn_dyn_position(s->data, s->model, x->q);
  return kn_find_all(s, 4.0 * s->settings.gtol);
}

/* Memory of a diagnosis. */
typedef struct diagnosis {
  kn_state* x;
  kn_lcp_work* work;
  double *A, *b, *lo, *u, *a_free, *z; /* (N + 1)²; N + 1 each */
  mode_row* row;
  kn_block* block;
  bool* fixed;
} diagnosis;

static kn_status take_memory(diagnosis* d, kn_sim* s, const kn_state* state) {
  size_t N = (size_t)s->room.rows + 1;
  KN_TRY(kn_state_create(&d->x, s->model));
  KN_TRY(kn_sim_prepare(s, d->x));
  KN_TRY(kn_state_copy(d->x, state));
  d->A = calloc(N * N + 5 * N, sizeof(double));
  d->row = calloc(N + 3, sizeof *d->row);
  d->block = calloc(N, sizeof *d->block);
  d->fixed = calloc(N, sizeof *d->fixed);
  if (!d->A || !d->row || !d->block || !d->fixed)
    return kn_fail(KN_OUT_OF_MEMORY, "diagnosis: out of memory");
  d->b = d->A + N * N, d->lo = d->b + N, d->u = d->lo + N, d->a_free = d->u + N, d->z = d->a_free + N;
  return KN_OK;
}

static void give_memory(diagnosis* d) {
  kn_lcp_work_destroy(d->work);
  free(d->A);
  free(d->row);
  free(d->block);
  free(d->fixed);
  kn_state_destroy(d->x);
}

static kn_status judge_modes(kn_diagnosis* out, kn_sim* s, diagnosis* d, int n) {
  /* the rates of contact rows have rounding 1e-12 u per second (row_rate.c): a hundredth of 1e-10 */
  double unit = data_size(s, &s->sets.found, s->work->W, d->a_free, d->u, 1.0);
  mode_matrix(d->A, d->b, d->lo, s->work->W, s->sets.found.rows, d->row, n, d->a_free, unit);
  kn_lcp lcp = {.n = n + 1, .M = d->A, .q = d->b, .lo = d->lo};
  kn_problem cones = {.rows = n + 1, .block = d->block, .W = d->A, .q = d->b};
  cones.blocks = mode_blocks(d->block, d->row, n, s->touch.after);
  KN_TRY(kn_lcp_work_create(&d->work, n + 1));
  kn_judged j = {.modes = &lcp, .cones = &cones, .work = d->work, .z = d->z, .fixed = d->fixed};
  KN_TRY(kn_judge_instant(&j));
  out->verdict = j.verdict;
  out->residual = j.residual;
  out->forces = j.found;
  out->counted = j.verdict.solutions >= 0;
  report_forces(s, d->row, n, &j);
  return KN_OK;
}

static kn_status diagnose(kn_diagnosis* out, kn_sim* s, diagnosis* d) {
  KN_TRY(instant(s, d->x, d->u, d->a_free));
  int n = mode_rows(d->row, s->room.rows, &s->sets.found, s->touch.after, d->u, &out->sliding);
  for (int g = 0; g < s->sets.found.count; g++)
    for (int k = 0; k < s->sets.found.tag[g].rows && s->sets.found.tag[g].kind == KN_ROW_CONTACT; k++)
      s->touch.after[s->sets.found.tag[g].index].velocity[k] = d->u[s->sets.found.tag[g].row + k];
  out->contacts = s->touch.afters;
  out->rows = n;
  out->forces = true;
  out->verdict = (kn_verdict){.kind = KN_VERDICT_UNIQUE, .exists = KN_ANSWER_YES, .solutions = -1};
  out->contact = s->touch.after;
  return n > 0 ? judge_modes(out, s, d, n) : KN_OK;
}

kn_status kn_sim_diagnose(kn_diagnosis* out, kn_sim* s, const kn_state* state) {
  KN_REQUIRE(out && s && state && state->model == s->model);
  *out = (kn_diagnosis){.t = state->time};
  KN_TRY(room_at(s, state));
  diagnosis d = {0};
  kn_status status = take_memory(&d, s, state);
  if (status == KN_OK) status = diagnose(out, s, &d);
  give_memory(&d);
  return status;
}

/* ---- the mode matrix by itself ---- */

static kn_status mode_matrix_room(kn_mode_matrix* out, int n) {
  size_t N = (size_t)n;
  out->N = calloc(2 * N * N + 2 * N + 1, sizeof(double)); /* N, T, b, mu */
  out->contact = calloc(N + 1, sizeof *out->contact);
  out->free = calloc(N + 1, sizeof *out->free);
  if (!out->N || !out->contact || !out->free) return kn_fail(KN_OUT_OF_MEMORY, "mode matrix: out of memory");
  out->T = out->N + N * N;
  out->b = out->T + N * N;
  out->mu = out->b + N;
  out->n = n;
  return KN_OK;
}

static void split_matrix(kn_mode_matrix* out, const kn_sim* s, const mode_row* row, const double* a_free) {
  int n = out->n, ld = s->sets.found.rows;
  for (int j = 0; j < n; j++) {
    bool slides = row[j].tangent >= 0;
    double mu = slides ? s->touch.after[row[j].contact].mu : 0.0;
    out->contact[j] = row[j].contact;
    out->free[j] = row[j].free;
    out->mu[j] = mu;
    out->b[j] = a_free[row[j].row];
    for (int i = 0; i < n; i++) {
      const double* w = s->work->W + (size_t)row[i].row * ld;
      out->N[(size_t)i * n + j] = w[row[j].row];
      if (slides)
        out->T[(size_t)i * n + j] =
            (row[j].s[0] * w[row[j].tangent] + row[j].s[1] * w[row[j].tangent + 1]) / mu;
    }
  }
}

kn_status kn_sim_mode_matrix(kn_mode_matrix* out, kn_sim* s, const kn_state* state) {
  KN_REQUIRE(out && s && state && state->model == s->model);
  memset(out, 0, sizeof *out);
  KN_TRY(room_at(s, state));
  kn_state* x = NULL;
  size_t rows = (size_t)s->room.rows;
  double* memory = calloc(2 * rows + 1, sizeof *memory);
  mode_row* row = calloc(rows + 3, sizeof *row);
  int sliding, n = 0;
  kn_status status = memory && row ? KN_OK : kn_fail(KN_OUT_OF_MEMORY, "mode matrix: out of memory");
  if (status == KN_OK) status = kn_state_create(&x, s->model);
  if (status == KN_OK) status = kn_sim_prepare(s, x);
  if (status == KN_OK) status = kn_state_copy(x, state);
  if (status == KN_OK) status = instant(s, x, memory, memory + rows);
  if (status == KN_OK) n = mode_rows(row, s->room.rows, &s->sets.found, s->touch.after, memory, &sliding);
  if (status == KN_OK) status = mode_matrix_room(out, n < 0 ? 0 : n);
  if (status == KN_OK) split_matrix(out, s, row, memory + rows);
  if (status != KN_OK) kn_mode_matrix_free(out);
  kn_state_destroy(x);
  free(memory);
  free(row);
  return status;
}

void kn_mode_matrix_free(kn_mode_matrix* m) {
  if (!m) return;
  free(m->N);
  free(m->contact);
  free(m->free);
  memset(m, 0, sizeof *m);
}

/* ---- verdict of a step, without allocation ---- */

struct kn_mode_work {
  kn_arena arena;
  mode_row* row;
  double *A, *b, *lo, *z, *a_free;
  bool* determinate;
  kn_lcp_work* lcp;
};

enum { MODE_ROWS = 64 }; /* more rows: undecided */

static void carve_modes(struct kn_mode_work* w, kn_arena* a, int max_rows) {
  w->row = KN_TAKE(a, mode_row, MODE_ROWS);
  w->A = KN_TAKE(a, double, MODE_ROWS* MODE_ROWS);
  KN_TAKE_EACH(a, double, MODE_ROWS, &w->b, &w->lo, &w->z);
  w->a_free = KN_TAKE(a, double, max_rows);
  w->determinate = KN_TAKE(a, bool, MODE_ROWS);
}

kn_status kn_mode_work_create(struct kn_mode_work** out, int max_rows) {
  *out = NULL;
  struct kn_mode_work* w = calloc(1, sizeof *w);
  if (!w) return kn_fail(KN_OUT_OF_MEMORY, "verdict: out of memory");
  kn_status status;
  KN_ARENA_CARVE(status, &w->arena, carve_modes(w, a, max_rows));
  if (status == KN_OK) status = kn_lcp_work_create(&w->lcp, MODE_ROWS);
  if (status == KN_OK) kn_lcp_work_brief(w->lcp);
  if (status != KN_OK)
    kn_mode_work_destroy(w);
  else
    *out = w;
  return status;
}

void kn_mode_work_destroy(struct kn_mode_work* w) {
  if (!w) return;
  kn_lcp_work_destroy(w->lcp);
  kn_arena_destroy(&w->arena);
  free(w);
}

/* a_free = J q̈_free + J̇ q̇ of the rows in s->sets.set. J v_free - J v over dt is the first term. A contact that
   is kept had J v⁺ = 0 at the midpoint before, so that J v at this one is dt J̇ q̇, the wandering point and the
   turning normal included: J v_free over dt is both. A contact that lands faster than `calm` has no such
   past. */
static void free_acceleration(double* a, const kn_sim* s, double dt) {
  const double calm = 1e-3; /* m/s, as in closed() */
  for (int g = 0; g < s->sets.set.count; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    bool kept = tag->kind == KN_ROW_CONTACT && fabs(s->row.u_before[tag->row]) <= calm;
    for (int i = tag->row; i < tag->row + tag->rows; i++)
      a[i] = (s->row.u_free[i] - (kept ? 0.0 : s->row.u_before[i])) / dt;
  }
}

/* Of the rows in s->sets.set at the evaluation point, Λ with the step's own factors. */
void kn_stage_verdict(kn_sim* s, double dt) {
  struct kn_mode_work* w = s->modes;
  kn_verdict* v = &s->report.verdict;
  *v = (kn_verdict){.kind = KN_VERDICT_UNIQUE, .exists = KN_ANSWER_YES, .rank = -1, .solutions = -1};
  if (s->sets.set.count == 0) return;
  if (!w || s->facts.rich) { /* limit surfaces of several coefficients: not known */
    v->kind = KN_VERDICT_UNDECIDED;
    v->exists = KN_ANSWER_UNDECIDED;
    return;
  }
  int sliding,
      n = mode_rows(w->row, MODE_ROWS - 1, &s->sets.set, s->touch.contact, s->row.u_before, &sliding);
  *v = (kn_verdict){.kind = KN_VERDICT_UNDECIDED, .rank = -1, .solutions = -1};
  if (n < 0 ||
      kn_rows_push(&s->repair.rows, s->data, s->model, s->sets.set.geometry, s->sets.set.count) != KN_OK)
    return;
  kn_rows_lambda(s->work->W, &s->repair.rows, s->data, s->model);
  free_acceleration(w->a_free, s, dt);
  /* a difference of velocities over dt has rounding 1e-16 u/dt: a hundredth of 1e-10 of 1e-4 u/dt */
  double unit = data_size(s, &s->sets.set, s->work->W, w->a_free, s->row.u_before, fmax(1.0, 1e-4 / dt));
  mode_matrix(w->A, w->b, w->lo, s->work->W, s->sets.set.rows, w->row, n, w->a_free, unit);
  kn_lcp lcp = {.n = n + 1, .M = w->A, .q = w->b, .lo = w->lo};
  kn_solve_info info;
  bool solved = kn_lcp_solve(w->z, &info, &lcp, NULL, w->lcp) == KN_OK;
  kn_lcp_verdict(v, &lcp, solved ? w->z : NULL, NULL, w->lcp);
  if (!solved || kn_lcp_determinate(w->determinate, NULL, &v->rank, &lcp, w->z, w->lcp) != KN_OK) return;
  for (int i = 0; i < s->touch.contacts; i++)
    s->touch.contact[i].determinate =
        v->kind == KN_VERDICT_SEVERAL ? KN_ANSWER_UNDECIDED : KN_ANSWER_YES; /* which solution? */
  for (int i = 0; i < n; i++)
    if (w->row[i].contact >= 0 && !w->determinate[i])
      s->touch.contact[w->row[i].contact].determinate = KN_ANSWER_NO;
}
