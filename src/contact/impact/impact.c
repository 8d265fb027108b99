/* Impacts at the rows of an island. With W = J M⁻¹ Jᵀ and u = J v:

     compression     u_c = W p_c + u⁻ (+ bias),                0 <= p_cn ⊥ u_cn >= 0, Coulomb
     decompression   u⁺ = W (p_d + θ) + u_c,  θ_n = e p_cn,    0 <= p_dn ⊥ u_n⁺ >= 0, |p_t| <= mu (p_dn + θ_n)
     energy          ΔK = ½ pᵀ (u⁻ + u⁺) = ½ (v⁺ - v⁻)ᵀ M (v⁺ + v⁻),  p = p_c + p_d + θ

   Guard. With equal e no gain is possible: e p_ct is admissible in decompression, so
   ΔK <= -½|p_c|² + e p_cᵀ W p_d - ½|p_d|² <= 0 in the W norm. With unequal e and friction gains occur (they
   are rare and large), so e_i ← ē + s (e_i - ē), ē the impulse-weighted mean, and an s without gain is found
   by bisection. Newton's law gains even with equal e; there the impulse is blended with the e = 0 one: p = (1
   - a) p_0 + a p_N; and it may have no solution (yield_newton). Stronge's law with several contacts may gain
   by the errors of its steps, and is blended too. */
#include "contact/impact/impact.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "comp/cone/flat.h"

size_t kn_impact_scratch(int max_rows, int nv) { return (size_t)8 * max_rows + 5 * (size_t)nv; }

int kn_impact_rows(const kn_impact_problem* p) {
  const kn_row_tag* last = &p->set->tag[p->first + p->count - 1];
  return last->row + last->rows - p->set->tag[p->first].row;
}

void kn_impact_note(kn_impact_result* r, const kn_contact_solution* s) {
  if (r->solves++ == 0 || s->info.residual_scaled > r->solution.info.residual_scaled) r->solution = *s;
  if (s->lcp_size > r->solution.lcp_size) r->solution.lcp_size = s->lcp_size;
  if (s->directions > r->solution.directions) r->solution.directions = s->directions;
}

/* ΔK = ½ (v⁺ - v⁻)ᵀ M (v⁺ + v⁻), equal to ½ pᵀ (u⁻ + u⁺) but right also when redundant contacts carry huge
   impulses that cancel. scratch: 2 nv. */
static double energy_change(const kn_impact_result* r, const kn_impact_problem* p, double* scratch) {
  kn_contact_work* w = p->work;
  int nv = w->model->nv;
  double *sum = scratch, *Ms = scratch + nv, change = 0.0;
  for (int i = 0; i < nv; i++) sum[i] = r->v_after[i] + p->v_before[i];
  kn_dyn_multiply(Ms, w->data, w->model, sum);
  for (int i = 0; i < nv; i++) change += (r->v_after[i] - p->v_before[i]) * Ms[i];
  return 0.5 * change;
}

/* Dry joint friction acts over time: its impulse is spent in compression. */
static void close_boxes(kn_contact_work* w) {
  for (int b = w->extra; b < w->nblock; b++)
    if (w->block[b].set == KN_SET_BOX) w->block[b].lo = w->block[b].hi = 0.0;
}

static kn_status poisson(kn_impact_result* r, const kn_impact_problem* p, double* scratch) {
  kn_contact_work* w = p->work;
  int n = kn_impact_rows(p);
  double *theta = scratch, *p_d = scratch + n, *v_c = scratch + 8 * n;
  kn_contact_solution s;
  KN_TRY(kn_contact_solve(r->compression, v_c, &s, w, p->v_before, p->bias, NULL, false, p->tolerance,
                          p->friction, p->solver));
  kn_impact_note(r, &s);
  bool bounce = false;
  for (int i = 0; i < n; i++) {
    theta[i] = r->e_used[i] * r->compression[i];
    bounce |= theta[i] > 0.0;
  }
  memcpy(r->impulse, r->compression, (size_t)n * sizeof(double));
  memcpy(r->v_after, v_c, (size_t)w->model->nv * sizeof(double));
  if (!bounce) return KN_OK;
  close_boxes(w);
  memset(p_d, 0, (size_t)n * sizeof(double));
  KN_TRY(kn_contact_solve(p_d, r->v_after, &s, w, v_c, p->bias, theta, false, p->tolerance, p->friction,
                          p->solver));
  kn_impact_note(r, &s);
  for (int i = 0; i < n; i++) r->impulse[i] += p_d[i] + theta[i];
  return KN_OK;
}

kn_status kn_impact_hold(kn_impact_result* r, const kn_impact_problem* p) {
  bool holds = false;
  for (int g = p->first; g < p->first + p->count; g++)
    holds |= p->set->tag[g].kind != KN_ROW_CONTACT && p->set->tag[g].kind != KN_ROW_SPIN;
  if (!holds) return KN_OK;
  kn_contact_solution s;
  KN_TRY(kn_contact_solve(r->impulse, r->v_after, &s, p->work, p->v_before, p->bias, NULL, false,
                          p->tolerance, p->friction, p->solver));
  memcpy(r->compression, r->impulse, (size_t)kn_impact_rows(p) * sizeof(double));
  kn_impact_note(r, &s);
  return KN_OK;
}

kn_status kn_impact_newton(kn_impact_result* r, const kn_impact_problem* p, double* scratch) {
  int n = kn_impact_rows(p);
  double* bias = scratch;
  kn_contact_solution s;
  for (int i = 0; i < n; i++)
    bias[i] = p->bias[i] + (p->u_before[i] < 0.0 ? r->e_used[i] * p->u_before[i] : 0.0);
  KN_TRY(kn_contact_solve(r->impulse, r->v_after, &s, p->work, p->v_before, bias, NULL, false, p->tolerance,
                          p->friction, p->solver));
  memcpy(r->compression, r->impulse, (size_t)n * sizeof(double));
  kn_impact_note(r, &s);
  return KN_OK;
}

static const kn_impact_law law_poisson = {
    .name = "poisson",
    .doc = "compression, then decompression with e times the compression's normal impulse",
    .citation = "M. Anitescu and F. Potra 1997; A. Jain 2014 Eqs. 55-57, corrected",
    .solve = poisson,
};
static const kn_impact_law law_newton = {
    .name = "newton",
    .doc = "approaching contacts leave with at least e times their approach speed",
    .citation = "J. J. Moreau 1988",
    .solve = kn_impact_newton,
};
extern const kn_impact_law kn_impact_law_stronge, kn_impact_law_projection, kn_impact_law_sequential;
static const kn_impact_law* const laws[] = {&law_poisson, &law_newton, &kn_impact_law_stronge,
                                            &kn_impact_law_projection, &kn_impact_law_sequential};

const kn_impact_law* const* kn_impact_law_list(int* count) {
  *count = (int)(sizeof laws / sizeof *laws);
  return laws;
}

const kn_impact_law* kn_impact_law_find(const char* name) {
  for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
    if (strcmp(laws[i]->name, name) == 0) return laws[i];
  return NULL;
}

kn_status kn_impact_reserve(kn_contact_work* w, const kn_impact_law* law) {
  if (!law->size || w->law_memory[law->memory]) return KN_OK;
  int rows = law->full && w->max_rows > w->large.max_dense ? w->large.max_dense : w->max_rows;
  size_t head = (law->size + 63) / 64 * 64;
  void *sketch = calloc(1, law->size), *memory = NULL;
  kn_arena a = {.used = head};
  if (sketch) law->carve(sketch, &a, rows, w->model->nv); /* measures */
  free(sketch);
  if (sketch) memory = w->law_memory[law->memory] = aligned_alloc(64, a.used);
  if (!memory) return kn_fail(KN_OUT_OF_MEMORY, "impact law %s: out of memory", law->name);
  memset(memory, 0, a.used);
  a = (kn_arena){.base = memory, .used = head, .capacity = a.used};
  law->carve(memory, &a, rows, w->model->nv);
  return KN_OK;
}

/* Impulse-weighted mean restitution of the bouncing contacts. */
static double mean_e(const kn_impact_problem* p, const double* compression) {
  double weight = 0.0, sum = 0.0;
  for (int g = p->first; g < p->first + p->count; g++) {
    const kn_row_tag* tag = &p->set->tag[g];
    int i = tag->row - p->set->tag[p->first].row;
    if (tag->kind != KN_ROW_CONTACT || !(compression[i] > 0.0)) continue;
    weight += compression[i];
    sum += compression[i] * p->e[i];
  }
  return weight > 0.0 ? sum / weight : 0.0;
}

static kn_status with_e(kn_impact_result* r, const kn_impact_law* law, const kn_impact_problem* p, double s,
                        double mean, double* scratch) {
  for (int g = p->first; g < p->first + p->count; g++) {
    const kn_row_tag* tag = &p->set->tag[g];
    int i = tag->row - p->set->tag[p->first].row;
    if (tag->kind == KN_ROW_CONTACT) r->e_used[i] = s >= 1.0 ? p->e[i] : mean + s * (p->e[i] - mean);
  }
  kn_block* b = p->work->block + p->work->extra;
  for (int k = 0, from = p->set->tag[p->first].block; k < p->work->nblock - p->work->extra; k++) {
    b[k].lo = p->set->block[from + k].lo;
    b[k].hi = p->set->block[from + k].hi;
  }
  KN_TRY(law->solve(r, p, scratch));
  r->energy = energy_change(r, p, scratch + 8 * (size_t)kn_impact_rows(p) + 3 * (size_t)p->work->model->nv);
  return KN_OK;
}

static kn_status guard_poisson(kn_impact_result* r, const kn_impact_law* law, const kn_impact_problem* p,
                               double limit, double* scratch) {
  double mean = mean_e(p, r->compression), safe = 0.0, high = 1.0;
  for (int k = 0; k < 24 && !kn_solver_work_spent(p->work->solver);
       k++) { /* 2^-24: finer would not be seen in e */
    double s = 0.5 * (safe + high);
    KN_TRY(with_e(r, law, p, s, mean, scratch));
    if (r->energy <= limit)
      safe = s;
    else
      high = s;
  }
  r->guard = safe;
  return with_e(r, law, p, safe, mean, scratch);
}

/* Blend with the plastic impact by bisection: admissible friction is convex, ΔK(0) <= 0. */
static kn_status guard_newton(kn_impact_result* r, const kn_impact_law* law, const kn_impact_problem* p,
                              int n, double* scratch) {
  int nv = p->work->model->nv;
  double *p_n = scratch + 4 * n, *p_0 = scratch + 5 * n, *v_n = scratch + 8 * n + nv, *v_0 = v_n + nv,
         low = 0.0, high = 1.0;
  memcpy(p_n, r->impulse, (size_t)n * sizeof(double));
  memcpy(v_n, r->v_after, (size_t)nv * sizeof(double));
  KN_TRY(with_e(r, law, p, 0.0, 0.0, scratch));
  memcpy(p_0, r->impulse, (size_t)n * sizeof(double));
  memcpy(v_0, r->v_after, (size_t)nv * sizeof(double));
  for (int k = 0; k <= 40; k++) {
    double a = k == 40 ? low : 0.5 * (low + high); /* the last round sets the safe end */
    for (int i = 0; i < n; i++) r->impulse[i] = (1 - a) * p_0[i] + a * p_n[i];
    for (int i = 0; i < nv; i++) r->v_after[i] = (1 - a) * v_0[i] + a * v_n[i];
    r->energy = energy_change(r, p, scratch + 8 * (size_t)kn_impact_rows(p) + 3 * (size_t)p->work->model->nv);
    if (r->energy <= 0.0)
      low = a;
    else
      high = a;
  }
  r->guard *= low;
  return KN_OK;
}

/* Newton's law may have no solution: where contacts wedge (forces strictly inside their cones that cancel) a
   demand for rebound contradicts itself, and impulses grow without bound. The plastic impact always has one,
   so all e are lowered together, by the least factor of a bisection that leaves a solution. */
static kn_status yield_newton(kn_impact_result* r, const kn_impact_law* law, const kn_impact_problem* p,
                              double* scratch) {
  double low = 0.0, high = 1.0;
  int solves = r->solves;
  for (int k = 0; k <= 12; k++) { /* 2^-12 of e */
    double s = k == 12 ? low : 0.5 * (low + high);
    r->solves = 0;
    KN_TRY(with_e(r, law, p, s, 0.0, scratch));
    solves += r->solves;
    if (r->solution.info.status == KN_OK)
      low = s;
    else
      high = s;
  }
  r->solves = solves;
  r->guard = low;
  return KN_OK;
}

/* γ = K⁺ / K⁻ */
static double energy_ratio(const kn_impact_result* r, const kn_impact_problem* p, double* Mv) {
  int nv = p->work->model->nv;
  double before = 0.0;
  kn_dyn_multiply(Mv, p->work->data, p->work->model, p->v_before);
  for (int i = 0; i < nv; i++) before += 0.5 * p->v_before[i] * Mv[i];
  return before > 0.0 ? (before + r->energy) / before : 1.0;
}

kn_status kn_impact_guarded(kn_impact_result* r, const kn_impact_law* law, const kn_impact_problem* p,
                            double* scratch) {
  int n = kn_impact_rows(p);
  if (!law) law = &law_poisson;
  double limit = 1e-10 * p->energy_scale;
  r->guard = 1.0;
  r->solves = 0;
  r->closed = r->repaired = false;
  r->handed = KN_HANDED_NOT;
  r->rho = r->energy_formula = 0.0;
  r->events = r->limit = 0;
  memset(r->e_used, 0, (size_t)n * sizeof(double));
  kn_status status = with_e(r, law, p, 1.0, 0.0, scratch);
  r->fallback = status == KN_UNSUPPORTED;
  if (r->fallback) status = with_e(r, law = &law_poisson, p, 1.0, 0.0, scratch);
  if (status != KN_OK || law->guarded) return status;
  bool newton = law == &law_newton || r->handed;
  if (newton && p->guard && r->solution.info.status != KN_OK)
    KN_TRY(yield_newton(r, &law_newton, p, scratch));
  if (!p->guard || p->external || r->energy <= limit) return KN_OK;
  if (newton || law->blends) return guard_newton(r, &law_newton, p, n, scratch);
  return guard_poisson(r, law, p, limit, scratch);
}

kn_status kn_impact_solve(kn_impact_result* r, const kn_impact_law* law, const kn_impact_problem* p,
                          double* scratch) {
  if (p->work->watcher.impact) p->work->watcher.impact(p, p->work->watcher.impact_context);
  KN_TRY(kn_impact_guarded(r, law, p, scratch));
  r->gamma = energy_ratio(r, p, scratch + 8 * (size_t)kn_impact_rows(p));
  return KN_OK;
}
