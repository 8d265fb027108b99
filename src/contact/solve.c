#include <math.h>
#include <string.h>

#include "base/error.h"
#include "contact/formulation.h"
#include "contact/polyhedral.h"

kn_status kn_contact_begin(kn_contact_work* w, const kn_constraints* set, int first, int count) {
  const kn_row_tag* tag = &set->tag[first];
  const kn_row_tag* last = &set->tag[first + count - 1];
  int row0 = tag->row, block0 = tag->block;
  w->geometry = set->geometry + first;
  w->count = count;
  w->rows = last->row + last->rows - row0;
  w->extra = w->formulation->extra(w->model);
  w->total = w->extra + w->rows;
  if (w->rows > w->max_rows)
    return kn_fail(KN_NO_ROOM, "%d rows in an island, room for %d", w->rows, w->max_rows);
  w->nblock = w->extra;
  for (int i = 0; i < w->extra; i++) w->block[i] = (kn_block){.set = KN_SET_FREE, .row = i};
  for (int b = block0; b < last->block + last->blocks; b++) {
    w->block[w->nblock] = set->block[b];
    w->block[w->nblock++].row += w->extra - row0;
  }
  return w->formulation->prepare(w);
}

/* Decompression with the true cone as an ordinary problem of twice the contacts: the given impulse θ n is the
   normal impulse of a second contact at the same place whose normal row is r_N - θ = 0 and whose friction is
   bounded by mu θ. Both oppose the same slip, so together they are bounded by mu (λ_n + θ_n). */
static int doubled(kn_problem* p, kn_contact_work* w, const double* theta) {
  int n = w->total, rows = n;
  for (int b = w->extra; b < w->nblock; b++)
    if (w->block[b].set == KN_SET_CONE3 && theta[w->block[b].row - w->extra] > 0.0) rows += 3;
  if (rows > w->max_total) return -1;
  /* widen W in place, last row first */
  for (int i = n - 1; i >= 0; i--) {
    memmove(w->W + (size_t)i * rows, w->W + (size_t)i * n, (size_t)n * sizeof(double));
    memset(w->W + (size_t)i * rows + n, 0, (size_t)(rows - n) * sizeof(double));
  }
  memset(w->W + (size_t)n * rows, 0, (size_t)(rows - n) * rows * sizeof(double));
  int at = n, blocks = w->nblock, contacts = blocks;
  for (int b = w->extra; b < contacts; b++) {
    const kn_block* c = &w->block[b];
    if (c->set != KN_SET_CONE3 || !(theta[c->row - w->extra] > 0.0)) continue;
    w->block[blocks++] = (kn_block){.set = KN_SET_CONE3, .row = at, .mu = c->mu};
    w->W[(size_t)at * rows + at] = w->W[(size_t)c->row * rows + c->row]; /* any scale: r_N = θ */
    w->q[at] = -w->W[(size_t)at * rows + at] * theta[c->row - w->extra];
    for (int k = 1; k < 3; k++) { /* tangential rows and columns repeat the contact's own */
      w->q[at + k] = w->q[c->row + k];
      memcpy(w->W + (size_t)(at + k) * rows, w->W + (size_t)(c->row + k) * rows, (size_t)at * sizeof(double));
    }
    for (int i = 0; i < at + 3; i++)
      for (int k = 1; k < 3; k++) w->W[(size_t)i * rows + at + k] = w->W[(size_t)i * rows + c->row + k];
    w->W[(size_t)at * rows + at + 1] = w->W[(size_t)at * rows + at + 2] = 0.0;
    at += 3;
  }
  p->rows = rows;
  p->blocks = blocks;
  return rows;
}

/* Undoes the widening and folds the second contacts' friction into the first. */
static void fold(kn_contact_work* w, const double* theta, int rows, double* r) {
  int n = w->total, at = n;
  for (int b = w->extra; b < w->nblock; b++) {
    const kn_block* c = &w->block[b];
    if (c->set != KN_SET_CONE3 || !(theta[c->row - w->extra] > 0.0)) continue;
    for (int k = 1; k < 3; k++) r[c->row + k] += r[at + k];
    at += 3;
  }
  for (int i = 0; i < n; i++)
    memmove(w->W + (size_t)i * n, w->W + (size_t)i * rows, (size_t)n * sizeof(double));
}

static kn_status solve_cone(double* r, kn_contact_solution* out, kn_contact_work* w, const double* theta,
                            bool warm, double tolerance, const char* solver) {
  kn_problem p = {.rows = w->total, .blocks = w->nblock, .block = w->block, .W = w->W, .q = w->q};
  kn_solve_settings settings = kn_solve_default();
  settings.tol = tolerance;
  settings.warm_start = warm;
  if (solver && strcmp(solver, "auto") != 0) settings.solver = solver;
  int widened = 0;
  if (theta) {
    widened = doubled(&p, w, theta);
    if (widened < 0) return kn_fail(KN_NO_ROOM, "decompression needs more rows: raise max_contacts");
    settings.warm_start = false;
  }
  kn_problem_solve(r, &out->info, &p, &settings, w->solver);
  if (widened) fold(w, theta, widened, r);
  return KN_OK;
}

kn_status kn_contact_solve(double* lambda, double* v_plus, kn_contact_solution* out, kn_contact_work* w,
                           const double* v_free, const double* bias, const double* theta, bool warm,
                           double tolerance, int friction, const char* solver) {
  w->formulation->offset(w, v_free, bias);
  if (theta) { /* the given impulses move the rows before anything else happens */
    for (int i = 0; i < w->total; i++)
      for (int j = 0; j < w->rows; j++) w->q[i] += w->W[(size_t)i * w->total + w->extra + j] * theta[j];
  }
  memset(w->r, 0, (size_t)w->total * sizeof(double));
  if (warm) memcpy(w->r + w->extra, lambda, (size_t)w->rows * sizeof(double));
  out->lcp_size = w->formulation->lcp_size(w, friction ? friction : 4);
  if (friction)
    KN_TRY(kn_polyhedral_solve(w->r, out, w, theta, tolerance, friction, solver));
  else
    KN_TRY(solve_cone(w->r, out, w, theta, warm, tolerance, solver));
  memcpy(lambda, w->r + w->extra, (size_t)w->rows * sizeof(double));
  if (theta)
    for (int i = 0; i < w->rows; i++) w->r[w->extra + i] += theta[i];
  w->formulation->motion(v_plus, w, v_free, w->r);
  return KN_OK;
}
