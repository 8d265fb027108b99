/* One compliant island through one step, in sub-steps.

   Masses and rows are frozen at the step's evaluation point, so that the rows' velocities alone tell the
   whole motion (Λ = J M⁻¹ Jᵀ with the step's factors, a = (J v_free - J v)/dt):

     ū = u + h/2 a + ½ Λ p,   u⁺ = 2 ū - u        implicit midpoint; p from the law: (½Λ + R) p + …
   (law/kelvin_voigt.c)

   Limits, dry friction and loops of the island are rows without R in the same problem. The sub-step follows
   from the stiffest mode, h² max ΛK <= 1/16: the fast motion is resolved, also where it grows (a Painlevé
   configuration); the midpoint rule keeps it stable where max_substeps does not allow that. Over the step

     v⁺ = v_free + M⁻¹Jᵀ P,  P = Σ p;    q⁺ = q ⊕ (dt (v + v_free)/2 + M⁻¹Jᵀ Q),  Q = Σ h (P_before + p/2). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "comp/cone/flat.h"
#include "math/dense.h"
#include "step/compliant/compliant.h"

/* Sub-steps whose problems are hard, forces that grow without end say, have cost enough when they come to this, 0.7 ms in the
   units of budget.c, or to a factorisation for each of them: the rest of the step is taken in a few, implicitly. */
static const double most_work = 12e6;
enum { LAST = 8 };

typedef struct island {
  int row0, rows, group0, groups, block0, blocks;
  const double* L;
} island;

static island range_of(const kn_sim* s, int i) {
  int first = s->sets.island_first[i], count = s->sets.island_first[i + 1] - first;
  const kn_row_tag *a = &s->sets.set.tag[first], *b = &s->sets.set.tag[first + count - 1];
  return (island){.row0 = a->row,
                  .rows = b->row + b->rows - a->row,
                  .group0 = first,
                  .groups = count,
                  .block0 = a->block,
                  .blocks = b->block + b->blocks - a->block,
                  .L = s->work->W};
}

/* Largest row sum of Λ K and of Λ C: bounds of ω² and of the damping rate. */
static void bounds(double* stiff, double* damp, const kn_soft_work* w, const island* g, int first,
                   double dt) {
  *stiff = *damp = 0.0;
  for (int i = 0; i < g->rows; i++) {
    double k = 0.0, c = 0.0;
    for (int n = first; n < w->count; n++) {
      const kn_soft_contact* s = &w->contact[n];
      const double* row = g->L + (size_t)i * (size_t)g->rows + s->tag_row - g->row0;
      double K, C;
      kn_soft_steepest(&K, &C, &w->law, &s->pair, &s->state, dt * fabs(s->state.n_rate));
      k += fabs(row[0]) * K, c += fabs(row[0]) * C;
      if (!(s->mu > 0.0)) continue;
      double t = fabs(row[1]) + fabs(row[2]);
      k += t * s->pair.Kt, c += t * s->pair.Ct;
    }
    *stiff = fmax(*stiff, k);
    *damp = fmax(*damp, c);
  }
}

static int substeps(double* theta, const kn_sim* s, const kn_soft_work* w, const island* g, int first,
                    double dt) {
  double stiff, damp, most = s->settings.compliant.max_substeps;
  bounds(&stiff, &damp, w, g, first, dt);
  double wanted = ceil(dt * 4.0 * fmax(sqrt(stiff), 0.5 * damp));
  int n = wanted < 1.0 ? 1 : wanted < most ? (int)wanted : (int)most;
  *theta = dt / n * sqrt(stiff) > 1.0 ? 1.0 : 0.5;
  return n;
}

/* Rows of limits, dry friction and loops: offsets of ũ, bounds for a sub-step. extra: the limits' gaps. */
static void rigid_rows(kn_sim* s, const island* g, double h, double dt) {
  kn_soft_work* w = s->soft;
  for (int k = g->group0; k < g->group0 + g->groups; k++) {
    const kn_row_tag* tag = &s->sets.set.tag[k];
    int r = tag->row - g->row0;
    if (tag->kind == KN_ROW_LIMIT)
      w->q[r] += -0.5 * w->u[r] + fmax(w->extra[r] + 0.5 * h * w->u[r], 0.0) / h;
    else if (tag->kind == KN_ROW_FRICTION) {
      w->q[r] -= 0.5 * w->u[r];
      w->block[tag->block - g->block0].lo = s->sets.set.block[tag->block].lo * h / dt;
      w->block[tag->block - g->block0].hi = s->sets.set.block[tag->block].hi * h / dt;
    } else if (tag->kind == KN_ROW_LOOP)
      for (int i = 0; i < tag->rows; i++) w->q[r + i] -= s->sets.set.rate[tag->row + i];
  }
}

static void soft_rows(kn_soft_work* w, const island* g, int first, double h, double theta) {
  size_t n = (size_t)g->rows;
  for (int k = first; k < w->count; k++) {
    kn_soft_contact* c = &w->contact[k];
    size_t r = (size_t)(c->tag_row - g->row0);
    kn_soft_row_of(&c->row, &w->law, &c->pair, &c->state, h, theta);
    for (size_t i = 0; i < (c->mu > 0.0 ? 3u : 1u); i++) {
      w->W[(r + i) * n + r + i] = 0.5 * g->L[(r + i) * n + r + i] + (i ? c->row.r_t : c->row.r_n);
      w->q[r + i] += c->row.b[i];
    }
  }
}

static void book_rigid(kn_sim* s, const island* g, double h) {
  kn_soft_work* w = s->soft;
  kn_ledger* l = &s->report.ledger;
  for (int k = g->group0; k < g->group0 + g->groups; k++) {
    const kn_row_tag* tag = &s->sets.set.tag[k];
    for (int i = 0; i < tag->rows && tag->kind != KN_ROW_CONTACT; i++) {
      int r = tag->row - g->row0 + i;
      double work = w->p[r] * w->u_mean[r];
      if (tag->kind == KN_ROW_LIMIT) {
        l->limit += work;
        w->extra[r] += h * w->u_mean[r];
      } else if (tag->kind == KN_ROW_FRICTION) {
        l->joint_friction += work;
      } else {
        l->prescribed += w->p[r] * s->sets.set.rate[tag->row + i];
        l->loop += work - w->p[r] * s->sets.set.rate[tag->row + i];
      }
    }
  }
}

static kn_status substep(kn_sim* s, const island* g, int first, double h, double theta, double dt,
                         kn_contact_solution* worst) {
  kn_soft_work* w = s->soft;
  int n = g->rows;
  for (int i = 0; i < n; i++) w->q[i] = w->u[i] + 0.5 * h * w->a[i];
  soft_rows(w, g, first, h, theta);
  rigid_rows(s, g, h, dt);
  kn_problem problem = {.rows = n, .blocks = g->blocks, .block = w->block, .W = w->W, .q = w->q};
  kn_solve_settings settings = kn_solve_default();
  settings.tol = s->settings.tolerance;
  settings.enough = 1e-8; /* once only slow methods are left, as in a step of rigid contact */
  settings.warm_start = true;
  kn_solve_info info = {0};
  kn_status status = kn_problem_solve(w->p, &info, &problem, &settings, s->work->solver);
  if (status != KN_OK && status != KN_NOT_CONVERGED) return status;
  worst->info.iterations += info.iterations;
  if (info.status != KN_OK) worst->info.status = info.status;
  worst->info.residual_scaled = fmax(worst->info.residual_scaled, info.residual_scaled);
  double* Lp = w->q; /* Λ is symmetric: by columns, which do not wait for each other */
  memset(Lp, 0, (size_t)n * sizeof *Lp);
  for (int j = 0; j < n; j++)
    if (w->p[j] != 0.0) kn_axpy(n, Lp, w->p[j], g->L + (size_t)j * (size_t)n);
  for (int i = 0; i < n; i++) w->u_mean[i] = w->u[i] + 0.5 * h * w->a[i] + 0.5 * Lp[i];
  for (int k = first; k < w->count; k++) {
    kn_soft_contact* c = &w->contact[k];
    int r = c->tag_row - g->row0;
    double p[3] = {w->p[r]}, u[3] = {w->u_mean[r]};
    if (c->mu > 0.0) memcpy(p + 1, w->p + r + 1, sizeof(double[2])), memcpy(u + 1, w->u_mean + r + 1, 16);
    c->slipped = kn_soft_advance(&c->state, &w->lost, &w->law, &c->pair, &c->row, p, u, c->mu, h, theta);
  }
  book_rigid(s, g, h);
  for (int i = 0; i < n; i++) {
    w->Q[i] += h * (w->P[i] + 0.5 * w->p[i]);
    w->P[i] += w->p[i];
    w->u[i] = 2.0 * w->u_mean[i] - w->u[i];
  }
  return KN_OK;
}

static void prepare(kn_sim* s, const island* g, double dt) {
  kn_soft_work* w = s->soft;
  size_t n = (size_t)g->rows;
  for (size_t i = 0; i < n * n; i++) w->W[i] = 0.5 * g->L[i];
  for (int i = 0; i < g->rows; i++) {
    w->u[i] = s->row.u_before[g->row0 + i];
    w->a[i] = (s->row.u_free[g->row0 + i] - w->u[i]) / dt;
    w->p[i] = w->P[i] = w->Q[i] = w->extra[i] = 0.0;
  }
  for (int b = 0; b < g->blocks; b++) {
    w->block[b] = s->sets.set.block[g->block0 + b];
    w->block[b].row -= g->row0;
  }
  for (int k = g->group0; k < g->group0 + g->groups; k++) {
    const kn_row_tag* tag = &s->sets.set.tag[k];
    if (tag->kind == KN_ROW_LIMIT) {
      int r = tag->row - g->row0;
      w->extra[r] = kn_limit_gap(s->model, tag->index, s->frame.q_mid) - 0.5 * dt * w->u[r];
    }
  }
}

/* What the island's impulses do to the motion of the whole step, and the report of its rows. */
static void apply(kn_sim* s, const island* g, int first, double dt) {
  kn_soft_work* w = s->soft;
  const kn_model* m = s->model;
  kn_rows_force(w->force, s->data, m, s->sets.set.geometry + g->group0, g->groups, w->P);
  kn_rows_apply(s->frame.dv, &s->repair.rows, s->data, m, w->P);
  for (int i = 0; i < m->nv; i++) w->dv[i] += s->frame.dv[i], w->shift[i] -= 0.5 * dt * s->frame.dv[i];
  kn_rows_apply(s->frame.dv, &s->repair.rows, s->data, m, w->Q);
  for (int i = 0; i < m->nv; i++) w->shift[i] += s->frame.dv[i];
  for (int k = first; k < w->count; k++) {
    kn_soft_contact* c = &w->contact[k];
    int r = c->tag_row - g->row0;
    for (int i = 0; i < 3; i++) {
      c->impulse[i] = i == 0 || c->mu > 0.0 ? w->P[r + i] : 0.0;
      c->velocity[i] = i == 0 || c->mu > 0.0 ? w->u[r + i] : 0.0;
    }
  }
  for (int k = g->group0; k < g->group0 + g->groups; k++) {
    const kn_row_tag* tag = &s->sets.set.tag[k];
    int r = tag->row - g->row0;
    if (tag->kind == KN_ROW_LIMIT) s->book.limit_impulse[tag->index] = w->P[r];
    if (tag->kind == KN_ROW_FRICTION) s->book.dry_impulse[tag->index] = w->P[r];
    for (int i = 0; i < tag->rows && tag->kind == KN_ROW_LOOP; i++)
      s->book.loop_impulse[tag->index + i] = w->P[r + i];
  }
}

kn_status kn_soft_island(kn_sim* s, int i, int first, double dt) {
  kn_soft_work* w = s->soft;
  island g = range_of(s, i);
  double theta;
  KN_TRY(kn_rows_push(&s->repair.rows, s->data, s->model, s->sets.set.geometry + g.group0, g.groups));
  kn_rows_lambda(s->work->W, &s->repair.rows, s->data, s->model);
  prepare(s, &g, dt);
  int n = substeps(&theta, s, w, &g, first, dt), taken = 0;
  kn_contact_solution worst = {.lcp_size = g.rows};
  double h = dt / n, work = 0.0, most = fmax(most_work, n * kn_solver_work_step(g.rows));
  for (int left = n; left > 0; left--, taken++) {
    if (left > LAST && work > most) left = LAST, h = (dt - taken * h) / LAST, theta = 1.0;
    KN_TRY(substep(s, &g, first, h, theta, dt, &worst));
    work += kn_solver_work_done(s->work->solver);
  }
  kn_report_solution(s, &worst);
  s->report.solves += taken - 1;
  apply(s, &g, first, dt);
  return KN_OK;
}
