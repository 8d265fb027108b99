/* Position repair of two or three contacts of a mechanism in a plane that were all there was in the step and
   are the only ones after it (project.c): the first correction with the step's own rows,

     d = M⁻¹ Jᵀ λ,   Λ λ = b of the rows that are held,   b = -(gap, slip),   λ_n >= 0,

   tangents that are anchored first, then the normals that are to open or would be closed (as kn_least_norm
   has it). What is left is measured on the same contacts; nothing else is looked at unless it is near.
   Whatever is not plain goes the general way. */
#include "step/repair/project_few.h"

#include <math.h>

#include "spatial/spatial.h"

enum { MOST = 3, ROWS = 2 * MOST };
#define UNROLLED static inline __attribute__((always_inline))

/* As least_norm.c: parts of the diagonal below which a row depends on others, and cannot move. */
static const double rank_tol = 1e-10, least_part = 1e-12;

typedef struct few {
  int count, n;          /* contacts, rows of Λ */
  const double* W;       /* Λ */
  int row[ROWS];         /* normal and tangent of each contact in Λ */
  double b[ROWS];        /* what they ask for; of a tangent that is not held nothing */
  kn_anchor* held[MOST]; /* anchors of the tangents */
  double least;          /* compliance of what cannot move */
  int active[ROWS], m;   /* rows that are met, tangents first */
  int tangents;          /* of these */
  int at[ROWS];          /* their rows in Λ */
  double lambda[ROWS];   /* of these */
} few;

bool kn_few_contacts(const kn_sim* s) {
  int n = s->set.count;
  if (n < 2 || n > MOST || !s->few || !s->reusable || !s->bare || s->soft || s->set.rows != 3 * n ||
      s->contacts != n || s->afters != n || !s->settings.projection || s->any_impact)
    return false;
  for (int i = 0; i < n; i++)
    if (s->contact[i].key != s->after[i].key) return false;
  return true;
}

/* Rows and what they ask for, worst and deepest violation; false: not in the plane. */
UNROLLED bool ask(few* f, kn_sim* s, double* worst, double* deepest, const int count) {
  kn_anchors list = kn_anchors_of(s->blocks.anchors);
  double slip = 0.0, most = 0.0, lift = 0.0;
  *deepest = 0.0;
  f->count = count, f->n = 3 * count, f->W = s->work->W;
  for (int g = 0; g < count; g++) {
    const kn_contact *c = &s->after[g], *before = &s->contact[g];
    int t = kn_rows_tangent_of(&s->work->factored, g);
    if (t == 0) return false;
    f->row[2 * g] = 3 * g, f->row[2 * g + 1] = 3 * g + t;
    f->b[2 * g] = -c->gap, f->b[2 * g + 1] = 0.0;
    *deepest = kn_max(*deepest, -c->gap);
    if (before->impulse[0] > 0.0 && !before->impact) lift = kn_max(lift, c->gap);
    for (int k = 0; k < 2; k++) most = kn_max(most, f->W[f->row[2 * g + k] * (f->n + 1)]);
    kn_anchor* anchor = f->held[g] = s->settings.anchors ? kn_anchor_next(&list, c->key) : NULL;
    if (!anchor) continue;
    double r[2];
    kn_anchor_residual(r, s, anchor, c);
    if (r[2 - t] != 0.0) return false;
    f->b[2 * g + 1] = -r[t - 1];
    slip = kn_max(slip, fabs(r[t - 1]));
  }
  f->least = least_part * most;
  s->report.penetration = *deepest;
  s->report.lift = lift;
  *worst = kn_max(*deepest, slip);
  return true;
}

static inline double entry(const few* f, int i, int j) { return f->W[f->row[i] * f->n + f->row[j]]; }
static inline bool moves(const few* f, int i) { return entry(f, i, i) > f->least; }

/* J d of a row. */
static inline double response(const few* f, int i) {
  const double* w = f->W + f->row[i] * f->n;
  double sum = 0.0;
  for (int k = 0; k < f->m; k++) sum += w[f->at[k]] * f->lambda[k];
  return sum;
}

static inline void hold(few* f, int i) { f->active[f->m] = i, f->at[f->m++] = f->row[i]; }

/* λ of the active rows, U D⁻¹ Uᵀ; rows that depend on those before them are left out. False: one of these is
   a normal that gets too little, or a pivot that is small comes before others. */
UNROLLED bool meet_rows(few* f, const int m) {
  double U[ROWS][ROWS], inverse[ROWS], x[ROWS], most = 0.0;
  bool out[ROWS], bad = false;
  const int* at = f->at;
  for (int i = 0; i < m; i++) {
    const double* w = f->W + at[i] * f->n;
    x[i] = f->b[f->active[i]];
    most = kn_max(most, fabs(x[i]));
    for (int j = i; j < m; j++) U[i][j] = w[at[j]];
  }
  for (int k = 0; k < m; k++) {
    out[k] = !(U[k][k] > rank_tol * f->W[at[k] * (f->n + 1)]);
    bad |= !out[k] && k < m - 1 && !(U[k][k] > 0.01 * f->W[at[k] * (f->n + 1)]);
    inverse[k] = out[k] ? 0.0 : 1.0 / U[k][k];
    for (int i = k + 1; i < m; i++) {
      double l = U[k][i] * inverse[k];
      x[i] -= l * x[k];
      for (int j = i; j < m; j++) U[i][j] -= l * U[k][j];
    }
  }
  for (int k = m - 1; k >= 0; k--) {
    double sum = x[k];
    for (int j = k + 1; j < m; j++) sum -= U[k][j] * f->lambda[j];
    f->lambda[k] = inverse[k] * sum;
  }
  if (bad) return false;
  for (int k = 0; k < m; k++)
    if (out[k] && k >= f->tangents && f->b[f->active[k]] - 1e-10 - 1e-6 * most > response(f, f->active[k]))
      return false;
  return true;
}

/* A constant number stays in registers. */
static bool meet(few* f) {
  switch (f->m) {
  case 1: return meet_rows(f, 1);
  case 2: return meet_rows(f, 2);
  case 3: return meet_rows(f, 3);
  case 4: return meet_rows(f, 4);
  default: return meet_rows(f, f->m);
  }
}

/* Normals that pull are released, one that would close is held. */
static bool change(few* f) {
  int m = f->m;
  unsigned active = 0;
  f->m = f->tangents;
  for (int k = f->tangents; k < m; k++) {
    int i = f->active[k];
    if (!(f->lambda[k] >= 0.0)) continue;
    active |= 1u << i;
    hold(f, i);
  }
  if (f->m < m) return true;
  for (int i = 0; i < 2 * f->count; i += 2) {
    if (active >> i & 1 || !moves(f, i) || response(f, i) >= f->b[i] - 1e-15) continue;
    hold(f, i);
    return true;
  }
  return false;
}

/* λ; false: the general way. */
UNROLLED bool solve(few* f, const int count) {
  enum { ROUNDS = 8 };
  f->m = 0;
  for (int g = 0; g < count; g++)
    if (f->held[g] && moves(f, 2 * g + 1)) hold(f, 2 * g + 1);
  f->tangents = f->m;
  for (int g = 0; g < count; g++)
    if (f->b[2 * g] > 0.0 && moves(f, 2 * g)) hold(f, 2 * g);
  for (int k = 0; k < ROUNDS; k++) {
    if (!meet(f)) return false;
    if (!change(f)) return true;
  }
  return false;
}

/* s->v_mean = M⁻¹ Jᵀ λ; returns its largest. */
static double motion_of(kn_sim* s, const few* f) {
  double all[3 * MOST] = {0.0};
  for (int r = 0; r < 3 * MOST; r++) s->pushed[r] = false;
  for (int k = 0; k < f->m; k++) {
    all[f->at[k]] = f->lambda[k];
    s->pushed[f->at[k]] = f->lambda[k] > 0.0;
  }
  kn_data_swap(s->data); /* the factors belong to the poses of q_m */
  kn_rows_apply(s->v_mean, &s->work->factored, s->data, s->model, all);
  kn_data_swap(s->data);
  return kn_fours_largest(s->v_mean, s->model->nv);
}

/* Anchors roll along; gaps as foreseen. Returns the worst slip. */
UNROLLED double follow(few* f, kn_sim* s, const int count) {
  double slip = 0.0;
  for (int g = 0; g < count; g++) {
    kn_contact* c = &s->after[g];
    int t = f->row[2 * g + 1] - 3 * g;
    c->gap += response(f, 2 * g);
    if (!f->held[g]) continue;
    double Jd[2] = {0.0, 0.0}, r[2];
    Jd[t - 1] = response(f, 2 * g + 1);
    kn_anchor_roll(f->held[g], c, Jd);
    kn_anchor_residual(r, s, f->held[g], c);
    slip = kn_max(slip, kn_max(fabs(r[0]), fabs(r[1])));
  }
  return slip;
}

UNROLLED double deepest_of(const kn_sim* s, const int count) {
  double deepest = 0.0;
  for (int i = 0; i < count; i++) deepest = kn_max(deepest, -s->after[i].gap);
  return deepest;
}

/* Gaps at q; false: other contacts are near. */
static bool look_again(kn_sim* s, const double* q) {
  kn_ledger_arrive_again(s, q);
  return kn_detect_gaps(s->after, s->afters, s->detector, s->data, s->settings.gtol);
}

UNROLLED kn_one repair(kn_sim* s, double* q, double* worst, double* left, const int count) {
  few f;
  double deepest, most = 0.0;
  if (!ask(&f, s, worst, &deepest, count)) return KN_ONE_OTHER;
  if (kn_good_enough(*worst, deepest)) return KN_ONE_DONE;
  if (*worst > KN_QUICK_MOST || !solve(&f, count)) return KN_ONE_OTHER;
  double largest = motion_of(s, &f);
  if (!(largest <= KN_QUICK_MOST)) return KN_ONE_OTHER;
  for (int i = 0; i < 2 * count; i += 2) most = kn_max(most, kn_max(f.b[i], fabs(f.b[i + 1])));
  *left = most;
  double slip = follow(&f, s, count);
  kn_fours_move(q, s->shift, s->v_mean, s->model->nv);
  s->moved_once = true;
  s->report.correction = largest;
  s->moved_on = largest <= KN_FORESEEN;
  if (!s->moved_on && !look_again(s, q)) return KN_ONE_MOVED;
  s->report.penetration = deepest_of(s, count);
  *worst = kn_max(s->report.penetration, slip);
  return *worst <= 0.1 * KN_WORTH ? KN_ONE_DONE : KN_ONE_MOVED;
}

kn_one kn_repair_few(kn_sim* s, double* q, double* worst, double* left) {
  return s->afters == 2 ? repair(s, q, worst, left, 2) : repair(s, q, worst, left, MOST);
}
