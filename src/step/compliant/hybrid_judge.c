/* Is rigid contact safe for an island (song-kumar 3.2, 4.1)?

   Modes from the velocities: a contact slides when |u_T| > 1e-6 m/s, otherwise it sticks (rolls). With
   Λ = J M⁻¹ Jᵀ of the island and slip direction s,

     rows     normal of every closed contact; tangents of the sticking ones; limits; loops
     columns  sliding: n - mu s;  the others: their own row                               A_RS of Eq. 12

   after rows that depend on others are left out. In three dimensions s is the direction of u_T in the tangent
   plane, and sticking contacts have two tangents. Without a sliding contact A_RS is symmetric: one motion.

   P test: sticking tangents and loops are eliminated (they are equations); one motion for every load if and
   only if what is left is a P-matrix. If it is not, the present load decides: no solution, several, or one.

   Stability of the rigid solution as a limit of compliant contact: in the fast time the deformations obey
   ÿ = -A_RS (K y + C ẏ) on the loaded contacts, so with κ = a + ib the eigenvalues of A_RS K and r = C/K

     s² + κ (r s + 1) = 0 has Re s < 0   <=>   a > 0 and r² a |κ|² > b²

   for any mixture of rolling and sliding. One cheap proof covers both tests: with G = √K A_RS √K, symmetric
   part > σ and skew part of row sums β, every minor is positive and a > σ, |b| <= β, so r² σ³ > β² is enough.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "comp/verdict/pmatrix.h"
#include "contact/formulation/least_norm.h"
#include "math/dense.h"
#include "math/eigen.h"
#include "step/compliant/compliant.h"

enum { N = KN_JUDGE_ROWS };

static void carve(kn_judge* j, kn_arena* a, int max_rows) {
  size_t most = (size_t)(max_rows > N ? max_rows : N);
  j->mode = KN_TAKE(a, kn_mode, N + 3);
  KN_TAKE_EACH(a, double, N* N, &j->A, &j->B);
  double** list[] = {&j->b, &j->lo, &j->hi, &j->z, &j->re, &j->im};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) *list[i] = KN_TAKE(a, double, N);
  j->scratch = KN_TAKE(a, double, 3 * N * N);
  j->pivot = KN_TAKE(a, int, most);
  j->keep = KN_TAKE(a, bool, most);
  j->turn = KN_TAKE(a, double, most);
}

kn_status kn_judge_create(struct kn_judge** out, const kn_sim* s) {
  *out = NULL;
  kn_judge* j = calloc(1, sizeof *j);
  if (!j) return kn_fail(KN_OUT_OF_MEMORY, "hybrid: out of memory");
  kn_status status;
  KN_ARENA_CARVE(status, &j->arena, carve(j, a, s->room.rows));
  if (status == KN_OK) status = kn_lcp_work_create(&j->lcp, N);
  if (status == KN_OK) kn_lcp_work_brief(j->lcp);
  if (status != KN_OK)
    kn_judge_destroy(j);
  else
    *out = j;
  return status;
}

void kn_judge_destroy(struct kn_judge* j) {
  if (!j) return;
  kn_lcp_work_destroy(j->lcp);
  kn_arena_destroy(&j->arena);
  free(j);
}

/* ---- modes ---- */

static bool is_closed(const kn_sim* s, kn_state* x, const kn_contact* c, int index, double u_n, double dt) {
  double calm = fmax(kn_rest_speed(s, 0.0, dt), 1e-3); /* m/s: faster ones land or leave */
  int entry = s->soft->entry_of[index], n;
  if (entry >= 0 && kn_soft_entries(&n, x)[entry].group > 0)
    return c->gap - s->soft->offset[index] <= s->settings.gtol;
  return c->gap <= s->settings.gtol && fabs(u_n) <= calm;
}

/* Tangential velocity at the start of the step: J v of the midpoint less the bodies' turning in half a step.
 */
static double start_speed(double t[2], kn_judge* j, kn_sim* s, const kn_state* x, const kn_row_tag* tag,
                          double dt) {
  if (!j->turned) kn_rows_bias(j->turn, s->data, s->model, s->sets.set.geometry, s->sets.set.count, x->v);
  j->turned = true;
  for (int k = 0; k < 2; k++) t[k] = s->row.u_before[tag->row + 1 + k] - 0.5 * dt * j->turn[tag->row + 1 + k];
  return sqrt(t[0] * t[0] + t[1] * t[1]);
}

/* A compliant contact that sticks, or one that did before its return in the step before: its small velocity is not
   slip. */
static bool sticks(const kn_soft_entry* e) { return !e->slips && (e->group > 0 || e->safe > 0); }

/* mu × direction of slip; false when the contact sticks. A rigid contact that stuck in the last step has an
   anchor. */
static bool slips(double dir[2], kn_judge* j, kn_sim* s, kn_state* x, const kn_row_tag* tag, double dt) {
  const double* u = s->row.u_before + tag->row;
  int entry = s->soft->entry_of[tag->index], n;
  dir[0] = dir[1] = 0.0;
  if (tag->rows < 3 || (entry >= 0 && sticks(&kn_soft_entries(&n, x)[entry]))) return false;
  bool rigid = entry < 0 || kn_soft_entries(&n, x)[entry].group == KN_SOFT_RETURNED;
  if (rigid && kn_anchor_find(x, s->touch.contact[tag->index].key)) return false;
  if (!(u[1] * u[1] + u[2] * u[2] > 1e-12)) return false; /* (1e-6 m/s)² */
  double t[2], speed = start_speed(t, j, s, x, tag, dt);
  for (int k = 0; k < 2; k++) dir[k] = speed > 0.0 ? s->touch.contact[tag->index].mu * t[k] / speed : 0.0;
  return speed > 1e-6;
}

static void add_contact(kn_judge* j, kn_sim* s, kn_state* x, const kn_row_tag* tag, int row0, double dt,
                        bool* sliding) {
  const kn_contact* c = &s->touch.contact[tag->index];
  double dir[2];
  bool slip = slips(dir, j, s, x, tag, dt);
  kn_soft_pair pair = kn_soft_pair_of(s, c->geom_a, c->geom_b);
  kn_mode* m = &j->mode[j->n++];
  *m = (kn_mode){.row = tag->row - row0,
                 .tangent = slip ? tag->row + 1 - row0 : -1,
                 .contact = tag->index,
                 .K = pair.K,
                 .C = pair.C};
  memcpy(m->s, dir, sizeof dir);
  *sliding = *sliding || slip;
  for (int k = 1; k < tag->rows && !slip; k++)
    j->mode[j->n++] = (kn_mode){.row = tag->row + k - row0,
                                .tangent = -1,
                                .free = true,
                                .contact = tag->index,
                                .K = pair.Kt,
                                .C = pair.Ct};
}

/* False when there are too many. */
static bool modes_of(kn_judge* j, kn_sim* s, kn_state* x, int i, double dt, bool* sliding) {
  int row0 = s->sets.set.tag[s->sets.island_first[i]].row;
  j->n = 0;
  *sliding = false;
  for (int g = s->sets.island_first[i]; g < s->sets.island_first[i + 1]; g++) {
    const kn_row_tag* tag = &s->sets.set.tag[g];
    if (j->n + 3 > N) return false;
    if (tag->kind == KN_ROW_CONTACT) {
      if (is_closed(s, x, &s->touch.contact[tag->index], tag->index, s->row.u_before[tag->row], dt))
        add_contact(j, s, x, tag, row0, dt, sliding);
    } else if (tag->kind != KN_ROW_FRICTION) { /* dry friction is bounded by itself: no say */
      if (tag->kind == KN_ROW_LIMIT && !(kn_limit_gap(s->model, tag->index, s->frame.q_mid) <= 1e-6))
        continue;
      for (int k = 0; k < tag->rows; k++)
        j->mode[j->n++] = (kn_mode){
            .row = tag->row + k - row0, .tangent = -1, .free = tag->kind == KN_ROW_LOOP, .contact = -1};
    }
  }
  return true;
}

/* ---- the matrix ---- */

kn_status kn_judge_lambda(kn_sim* s, int i) {
  int first = s->sets.island_first[i];
  KN_TRY(kn_rows_push(&s->repair.rows, s->data, s->model, s->sets.set.geometry + first,
                      s->sets.island_first[i + 1] - first));
  kn_rows_lambda(s->work->W, &s->repair.rows, s->data, s->model);
  return KN_OK;
}

/* Leaves the independent modes; returns how many were taken out. W: Λ with leading dimension ld. */
static int reduce(kn_judge* j, const double* W, int ld) {
  int n = j->n, kept = 0;
  for (int a = 0; a < n; a++)
    for (int b = 0; b < n; b++)
      j->B[a * n + b] = W[(size_t)j->mode[a].row * (size_t)ld + (size_t)j->mode[b].row];
  kn_independent_rows(j->keep, n, j->B, 1e-9, j->scratch, j->pivot);
  for (int a = 0; a < n; a++)
    if (j->keep[a]) j->mode[kept++] = j->mode[a];
  j->n = kept;
  return n - kept;
}

static void mode_matrix(kn_judge* j, const kn_sim* s, const double* W, int ld, int row0, double dt) {
  int n = j->n;
  for (int a = 0; a < n; a++) {
    const kn_mode* m = &j->mode[a];
    const double* w = W + (size_t)m->row * (size_t)ld;
    /* a contact that was closed had J v = 0 at the last midpoint: J v of this one is dt J̇ v, so this is
       the whole free acceleration, wandering contact points included */
    j->b[a] = (s->row.u_free[row0 + m->row] - s->sets.set.rate[row0 + m->row]) / dt;
    j->lo[a] = m->free ? -INFINITY : 0.0;
    j->hi[a] = INFINITY;
    for (int b = 0; b < n; b++) {
      const kn_mode* c = &j->mode[b];
      j->A[a * n + b] = w[c->row];
      if (c->tangent >= 0) j->A[a * n + b] -= c->s[0] * w[c->tangent] + c->s[1] * w[c->tangent + 1];
    }
  }
}

/* ---- tests ---- */

/* Rows without a stiffness of their own (limits, loops) are taken as stiff as the stiffest contact. */
static double stiffness(const kn_judge* j, int a, double* ratio) {
  double most = 0.0;
  *ratio = INFINITY;
  for (int i = 0; i < j->n; i++) {
    most = fmax(most, j->mode[i].K);
    if (j->mode[i].K > 0.0) *ratio = fmin(*ratio, j->mode[i].C / j->mode[i].K);
  }
  return j->mode[a].K > 0.0 ? j->mode[a].K : most;
}

/* G = √K A √K of the modes in `who` to out; returns the size. */
static int scaled(double* out, double* ratio, const kn_judge* j, uint64_t who) {
  int index[N], n = 0;
  double root[N];
  for (int a = 0; a < j->n; a++)
    if (who >> a & 1) {
      root[n] = sqrt(stiffness(j, a, ratio));
      index[n++] = a;
    }
  for (int a = 0; a < n; a++)
    for (int b = 0; b < n; b++) out[a * n + b] = root[a] * root[b] * j->A[index[a] * j->n + index[b]];
  return n;
}

static double cube_root(double x) {
  if (!(x > 0.0)) return 0.0;
  int e;
  double m = frexp(x, &e);
  while (e % 3) m *= 0.5, e++;
  double y = 0.8; /* m in [1/8, 1) */
  for (int i = 0; i < 12; i++) y = (2.0 * y + m / (y * y)) / 3.0;
  return ldexp(y, e / 3);
}

static bool surely_safe(kn_judge* j) {
  double ratio, skew = 0.0, top = 0.0, *G = j->B, *H = j->scratch;
  int n = scaled(G, &ratio, j, ~0ull);
  for (int a = 0; a < n; a++) {
    double sum = 0.0;
    for (int b = 0; b < n; b++) sum += 0.5 * fabs(G[a * n + b] - G[b * n + a]);
    skew = fmax(skew, sum);
    top = fmax(top, G[a * n + a]);
  }
  double sigma = skew > 0.0 ? cube_root(1.001 * skew * skew / (ratio * ratio)) : 0.0;
  if (!(sigma < top)) return false;
  sigma = fmax(sigma, 1e-12 * top);
  for (int a = 0; a < n; a++)
    for (int b = a; b < n; b++) H[a * n + b] = 0.5 * (G[a * n + b] + G[b * n + a]) - (a == b ? sigma : 0.0);
  return kn_cholesky_factor(n, H, n, 1e-12) == n;
}

/* Free rows eliminated: their block is Λ of independent rows, so no pivoting is needed. */
static kn_answer p_test(kn_judge* j) {
  int n = j->n, order[N], m = 0, free = 0;
  for (int a = 0; a < n; a++)
    if (j->mode[a].free) order[m++] = a;
  free = m;
  for (int a = 0; a < n; a++)
    if (!j->mode[a].free) order[m++] = a;
  double* T = j->B;
  for (int a = 0; a < n; a++)
    for (int b = 0; b < n; b++) T[a * n + b] = j->A[order[a] * n + order[b]];
  for (int k = 0; k < free; k++)
    for (int a = k + 1; a < n; a++) {
      double f = T[a * n + k] / T[k * n + k];
      for (int b = k; b < n; b++) T[a * n + b] -= f * T[k * n + b];
    }
  kn_pmatrix p = {.is_p = KN_ANSWER_UNDECIDED};
  j->who = 0;
  if (n == free) return KN_ANSWER_YES;
  if (kn_pmatrix_test_within(KN_BRIEF_MINORS, &p, n - free, T + free * n + free, n) != KN_OK)
    return KN_ANSWER_UNDECIDED;
  for (int a = free; a < n; a++)
    if (p.failing >> (a - free) & 1) j->who |= 1ull << order[a];
  j->value = p.value;
  return p.is_p;
}

/* The modes whose contact, limit or loop carries a force in the solution z. */
static uint64_t loaded(const kn_judge* j) {
  double most = 0.0;
  uint64_t who = 0;
  for (int a = 0; a < j->n; a++) most = fmax(most, fabs(j->z[a]));
  for (int a = 0; a < j->n; a++) {
    bool carries = j->mode[a].contact < 0 && j->mode[a].free;
    for (int b = 0; b < j->n && !carries; b++)
      carries = !j->mode[b].free && j->z[b] > 1e-9 * most &&
                (b == a || (j->mode[b].contact >= 0 && j->mode[b].contact == j->mode[a].contact));
    if (carries) who |= 1ull << a;
  }
  return most > 0.0 ? who : 0;
}

static kn_answer stable(kn_judge* j, uint64_t who) {
  double ratio, *G = j->B;
  int n = scaled(G, &ratio, j, who);
  double top = 0.0;
  if (n == 0) return KN_ANSWER_YES;
  if (!kn_eigenvalues(n, j->re, j->im, G, j->scratch)) return KN_ANSWER_UNDECIDED;
  for (int i = 0; i < n; i++) top = fmax(top, fabs(j->re[i]) + fabs(j->im[i]));
  for (int i = 0; i < n; i++) {
    double a = j->re[i], b = fabs(j->im[i]) > 1e-10 * top ? j->im[i] : 0.0;
    if (fabs(a) <= 1e-12 * top && b == 0.0) return KN_ANSWER_UNDECIDED;
    if (a > 0.0 && ratio * ratio * a * (a * a + b * b) >= b * b) continue;
    j->value = a, j->imag = b;
    return KN_ANSWER_NO;
  }
  return KN_ANSWER_YES;
}

/* Not a P-matrix: what does the present load say? */
static kn_safety by_load(kn_judge* j) {
  kn_lcp lcp = {.n = j->n, .M = j->A, .q = j->b, .lo = j->lo, .hi = j->hi};
  kn_solve_info info;
  kn_verdict v;
  kn_status status = kn_lcp_solve(j->z, &info, &lcp, NULL, j->lcp);
  bool solved = status == KN_OK;
  if (kn_lcp_verdict(&v, &lcp, solved ? j->z : NULL, NULL, j->lcp) != KN_OK) return KN_UNDECIDED;
  j->solutions = v.solutions;
  if (v.kind == KN_VERDICT_NONE) return KN_NO_MOTION;
  if (v.kind == KN_VERDICT_SEVERAL) return KN_MOTIONS;
  if (!solved || v.kind == KN_VERDICT_UNDECIDED) return KN_UNDECIDED;
  uint64_t minor = j->who;
  double value = j->value;
  j->who = loaded(j);
  kn_answer answer = stable(j, j->who);
  if (answer == KN_ANSWER_NO) return KN_UNSTABLE;
  j->who = minor, j->value = value;
  return answer == KN_ANSWER_YES ? KN_SAFE : KN_UNDECIDED;
}

static kn_safety by_stability(kn_judge* j) {
  kn_lcp lcp = {.n = j->n, .M = j->A, .q = j->b, .lo = j->lo, .hi = j->hi};
  kn_solve_info info;
  if (stable(j, ~0ull) == KN_ANSWER_YES) return KN_SAFE;
  if (kn_lcp_solve(j->z, &info, &lcp, NULL, j->lcp) != KN_OK) return KN_UNDECIDED;
  j->who = loaded(j);
  kn_answer answer = stable(j, j->who);
  return answer == KN_ANSWER_YES ? KN_SAFE : answer == KN_ANSWER_NO ? KN_UNSTABLE : KN_UNDECIDED;
}

kn_safety kn_judge_island(kn_sim* s, kn_state* x, int i, double dt) {
  kn_judge* j = s->soft->judge;
  int first = s->sets.island_first[i], last = s->sets.island_first[i + 1] - 1,
      row0 = s->sets.set.tag[first].row;
  int rows = s->sets.set.tag[last].row + s->sets.set.tag[last].rows - row0;
  bool sliding, indeterminate = s->settings.hybrid.indeterminate;
  j->who = 0, j->value = j->imag = 0.0, j->solutions = -1, j->is_p = true;
  if (!modes_of(j, s, x, i, dt, &sliding)) return KN_UNDECIDED;
  if (j->n == 0 || (!sliding && !indeterminate)) return KN_SAFE;
  if (kn_judge_lambda(s, i) != KN_OK) return KN_UNDECIDED;
  int all = j->n;
  if (reduce(j, s->work->W, rows) > 0 && indeterminate) {
    j->value = j->n;
    j->solutions = all;
    return KN_FORCES;
  }
  if (j->n == 0 || !sliding) return KN_SAFE;
  mode_matrix(j, s, s->work->W, rows, row0, dt);
  if (surely_safe(j)) return KN_SAFE;
  kn_answer p = p_test(j);
  j->is_p = p == KN_ANSWER_YES;
  return p == KN_ANSWER_YES ? by_stability(j) : p == KN_ANSWER_NO ? by_load(j) : KN_UNDECIDED;
}
