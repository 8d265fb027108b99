/* The projection formulation and impact law against the operational-space formulation, against Newton's law
   and against the dense closed forms of knuckle/projection.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "contact/impact/impact.h"
#include "floor.h"
#include "knuckle/projection.h"
#include "math/dense.h"
#include "model/state.h"
#include "scene.h"
#include "spatial/spatial.h"
#include "test.h"

enum { ROWS = 96, NV = 128 };

typedef struct scene {
  kn_model* model;
  kn_state* state;
  kn_data* data;
  kn_constraints set;
  kn_arena arena;
  kn_contact_work* work[2]; /* os, projection; with room for the law */
} scene;

static void close_scene(scene* s) {
  for (int i = 0; i < 2; i++) kn_contact_work_destroy(s->work[i]);
  kn_data_destroy(s->data);
  kn_state_destroy(s->state);
  kn_model_destroy(s->model);
  kn_arena_destroy(&s->arena);
}

static bool open_random(scene* s, uint64_t seed, int loops) {
  kn_spec* spec;
  kn_random_settings r = kn_random_default(3 + (int)(seed % 8));
  memset(s, 0, sizeof *s);
  r.geoms = true;
  r.loops = loops;
  r.armature = seed % 3 == 0;
  kn_spec_create(&spec);
  bool ok = CHECK_OK(kn_random_spec(spec, seed, &r)) && CHECK_OK(kn_compile(&s->model, spec)) &&
            CHECK_OK(kn_state_create(&s->state, s->model)) && CHECK_OK(kn_data_create(&s->data, s->model));
  kn_spec_destroy(spec);
  if (!ok) return false;
  kn_random_state(s->state, s->model, seed, 0.5, 2.0);
  kn_arena measure = {0};
  kn_constraints_carve(&s->set, &measure, 64, ROWS);
  kn_arena_create(&s->arena, measure.used);
  kn_constraints_carve(&s->set, &s->arena, 64, ROWS);
  kn_dyn_position(s->data, s->model, s->state->q);
  kn_dyn_velocity(s->data, s->model, s->state->v);
  for (int l = 0, row = 0, rows; l < s->model->nloop; l++, row += rows)
    CHECK_OK(kn_constraint_add_loop(&s->set, s->model, s->data, s->state->q, l, row, 0, &rows, NULL));
  return CHECK_OK(kn_dyn_factor(s->data, s->model, NULL));
}

static void random_contacts(scene* s, kn_rng* rng, int count, double mu, bool twice) {
  for (int i = 0; i < count; i++) {
    kn_contact c = kn_random_contact(s->model, rng, mu);
    if (s->model->geom_place[c.geom_a].link == s->model->geom_place[c.geom_b].link) continue;
    kn_constraint_add_contact(&s->set, s->model, &c, i, 0.0);
    if (twice) kn_constraint_add_contact(&s->set, s->model, &c, i, 0.0);
  }
}

/* Smallest pivot of the rows' compliance at unit diagonal; *rank at a tolerance that sees copies only. */
static double conditioning(scene* s, int rows, int groups, int* rank) {
  static double W[ROWS * ROWS];
  int perm[ROWS];
  kn_rows f;
  void* memory = calloc(1, kn_rows_size(s->model, ROWS));
  double least = 1.0;
  kn_rows_init(&f, s->model, ROWS, memory);
  kn_rows_push(&f, s->data, s->model, s->set.geometry, groups);
  kn_rows_lambda(W, &f, s->data, s->model);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < rows; j++)
      if (i != j) W[i * rows + j] /= sqrt(W[i * rows + i] * W[j * rows + j]);
  for (int i = 0; i < rows; i++) W[i * rows + i] = 1.0;
  *rank = kn_cholesky_pivoted(rows, W, rows, perm, 1e-11);
  for (int i = 0; i < *rank; i++) least = fmin(least, W[i * rows + i] * W[i * rows + i]);
  free(memory);
  return least;
}

static double largest(const double* x, int n) {
  double m = 0;
  for (int i = 0; i < n; i++) m = fmax(m, fabs(x[i]));
  return m;
}

static double apart(const double* x, const double* y, int n) {
  double m = 0;
  for (int i = 0; i < n; i++) m = fmax(m, fabs(x[i] - y[i]));
  return m;
}

static bool solve(double* v, double* lambda, bool* flags, scene* s, const char* name, const double* v_free,
                  const double* bias) {
  kn_contact_work* w;
  kn_contact_solution out;
  const kn_formulation* f = kn_formulation_find(name);
  memset(lambda, 0, ROWS * sizeof(double));
  if (!CHECK_OK(kn_contact_work_create(&w, s->model, s->data, f, ROWS, 0, 0))) return false;
  bool ok = CHECK_OK(kn_contact_begin(w, &s->set, 0, s->set.count)) &&
            CHECK_OK(kn_contact_solve(lambda, v, &out, w, v_free, bias, NULL, false, 1e-13, 0, "auto"));
  if (flags && f->inspect) f->inspect(flags, w, lambda);
  kn_contact_work_destroy(w);
  return ok && out.info.residual_scaled <= 1e-10;
}

/* Error of these multipliers in the problem that os sets up. */
static double error_in_os(scene* s, const double* lambda, const double* v_free, const double* bias) {
  kn_contact_work* w;
  double error = INFINITY;
  if (!CHECK_OK(kn_contact_work_create(&w, s->model, s->data, kn_formulation_find("os"), ROWS, 0, 0)))
    return error;
  if (CHECK_OK(kn_contact_begin(w, &s->set, 0, s->set.count))) {
    w->formulation->offset(w, v_free, bias);
    kn_problem p = {.rows = w->total, .blocks = w->nblock, .block = w->block, .W = w->W, .q = w->q};
    error = kn_problem_error_scaled(&p, lambda);
  }
  kn_contact_work_destroy(w);
  return error;
}

/* Velocities after an inelastic impact, accelerations and forces: projection equals os. Rows that are nearly
   dependent (between the two rank tolerances) are judged differently on purpose and are left out; otherwise
   both magnify rounding by the inverse of the smallest pivot. */
static void compare(int first, int count, double mu, bool twice, const char* what) {
  double worst_v = 0, worst_l = 0;
  int compared = 0, skipped = 0, flagged = 0, loops = 0, several = 0;
  for (int i = first; i < first + count; i++) {
    scene s;
    kn_rng rng = kn_rng_seed(7000 + (uint64_t)i);
    int rank;
    if (!open_random(&s, (uint64_t)i, i % 3)) return;
    int loop_rows = s.set.rows, loop_groups = s.set.count;
    double loop_pivot = loop_rows ? conditioning(&s, loop_rows, loop_groups, &rank) : 1.0;
    random_contacts(&s, &rng, 1 + i % 4, mu, twice);
    int n = s.set.rows, nv = s.model->nv;
    double pivot = n ? conditioning(&s, n, s.set.count, &rank) : 0.0;
    if (n == 0 || (loop_pivot < 1e-4 && loop_pivot > 1e-11) || (pivot < 1e-5 && mu == 0.0)) {
      skipped++;
      close_scene(&s);
      continue;
    }
    loops += loop_rows > 0;
    double tau[NV], a_free[NV], bias[ROWS], v[2][NV], l[2][ROWS];
    bool flags[ROWS];
    for (int k = 0; k < nv; k++) tau[k] = kn_rng_normal(&rng);
    kn_dyn_accelerate(a_free, s.data, s.model, s.state->v, tau);
    kn_rows_bias(bias, s.data, s.model, s.set.geometry, s.set.count, s.state->v);
    for (int level = 0; level < 2; level++) { /* 0: velocities, 1: accelerations */
      const double *free_motion = level ? a_free : s.state->v, *b = level ? bias : s.set.bias;
      if (!solve(v[0], l[0], NULL, &s, "os", free_motion, b)) continue;
      if (!solve(v[1], l[1], flags, &s, "projection", free_motion, b)) continue;
      double tol = fmax(1e-9, 1e-14 / pivot);
      double dv = apart(v[0], v[1], nv) / fmax(1, largest(v[0], nv));
      /* jammed with friction there may be several motions: then each must solve the other's problem */
      if (dv > tol && mu > 0.0 && error_in_os(&s, l[1], free_motion, b) <= 1e-9) {
        several++;
        continue;
      }
      worst_v = fmax(worst_v, dv);
      if (!CHECK_BELOW(dv, tol)) printf("  scene %d level %d\n", i, level);
      compared++;
      bool all = true;
      for (int k = 0; k < n; k++) all &= flags[k];
      flagged += !all;
      if (rank < n) continue;
      double dl = apart(l[0], l[1], n) / fmax(1, largest(l[0], n));
      worst_l = fmax(worst_l, dl);
      if (mu == 0.0 && !CHECK_BELOW(dl, tol)) printf("  scene %d level %d: multipliers\n", i, level);
      if (mu == 0.0) CHECK(all);
    }
    if (twice && mu == 0.0) { /* a loaded contact and its copy are both flagged */
      for (int g = loop_groups; g + 1 < s.set.count; g += 2) {
        int a = s.set.tag[g].row, c = s.set.tag[g + 1].row;
        if (l[1][a] > 1e-9 && l[1][c] > 1e-9) CHECK(!flags[a] && !flags[c]);
      }
    }
    close_scene(&s);
  }
  printf("  %s: %d comparisons (%d scenes with loops, %d left out, %d with several solutions)\n", what,
         compared, loops, skipped, several);
  printf("    motion %.2g, multipliers %.2g, %d flagged\n", worst_v, worst_l, flagged);
  CHECK(several <= count / 50);
  CHECK(compared >= count);
  if (twice) CHECK(flagged > count / 2);
}

TEST(frictionless_equals_os) { compare(0, 100 * kn_test_effort(), 0.0, false, "frictionless"); }
TEST(redundant_rows_same_motion_and_flags) {
  compare(0, 60 * kn_test_effort(), 0.0, true, "every contact twice");
}
TEST(friction_equals_os) { compare(0, 60 * kn_test_effort(), 0.1, false, "friction"); }

/* A contact between links that loops hold together has no mobility but rounding; it once was pressed with
 * 1e14 N s.
 */
TEST(contact_that_loops_hold_gets_no_impulse) {
  compare(506, 1, 0.0, false, "scene 506");
  compare(919, 1, 0.0, false, "scene 919");
}

/* ---- the impact law ---- */

typedef struct collision {
  double v[NV], after[NV], u[ROWS], e[ROWS], bias[ROWS], p[ROWS], compression[ROWS], used[ROWS];
  bool resting[ROWS];
  double kinetic;
  kn_impact_result r;
  kn_impact_problem problem;
} collision;

static kn_status collide(collision* c, scene* s, const char* formulation, const char* law,
                         kn_certify_mode mode, bool guard, const double* external) {
  kn_contact_work* w;
  static double scratch[8 * ROWS + 5 * NV];
  kn_energy energy;
  kn_contact_work** kept = &s->work[strcmp(formulation, "os") != 0];
  if (!*kept) {
    CHECK_OK(kn_contact_work_create(kept, s->model, s->data, kn_formulation_find(formulation), ROWS, 0, 0));
    CHECK_OK(kn_impact_reserve(*kept, kn_impact_law_find("projection")));
  }
  w = *kept;
  kn_dyn_energy(&energy, s->data, s->model, s->state->q, c->v);
  c->kinetic = energy.kinetic;
  kn_dyn_position(s->data, s->model, s->state->q);
  CHECK_OK(kn_dyn_factor(s->data, s->model, NULL));
  kn_rows_velocity(c->u, s->data, s->model, s->set.geometry, s->set.count, c->v);
  memset(c->bias, 0, sizeof c->bias);
  for (int r = 0; r < s->set.rows; r++)
    c->resting[r] = fabs(c->u[r]) <= 1e-9; /* all others impact, however slow */
  CHECK_OK(kn_contact_begin(w, &s->set, 0, s->set.count));
  c->problem = (kn_impact_problem){.work = w,
                                   .set = &s->set,
                                   .count = s->set.count,
                                   .v_before = c->v,
                                   .u_before = c->u,
                                   .bias = c->bias,
                                   .e = c->e,
                                   .tolerance = 1e-12,
                                   .energy_scale = c->kinetic,
                                   .solver = "auto",
                                   .guard = guard,
                                   .resting = c->resting,
                                   .certificate = mode,
                                   .external = external};
  c->r = (kn_impact_result){
      .v_after = c->after, .impulse = c->p, .compression = c->compression, .e_used = c->used};
  return kn_impact_solve(&c->r, kn_impact_law_find(law), &c->problem, scratch);
}

/* Makes v obey the loops: v ← v - S v. */
static void obey_loops(scene* s, double* v, int loop_rows, int loop_groups) {
  if (!loop_rows) return;
  kn_constraints all = s->set;
  double l[ROWS];
  s->set.count = loop_groups, s->set.rows = loop_rows, s->set.blocks = s->set.tag[loop_groups - 1].block + 1;
  solve(v, l, NULL, s, "projection", v, s->set.bias);
  s->set = all;
}

/* Approaching, frictionless, rows independent: where nothing pulls the law is Newton's, by every formulation,
   and the dense closed form's; where something pulls it is handed over and again Newton's. */
TEST(impacts_equal_newton_and_the_dense_form) {
  int count = 100 * kn_test_effort(), closed = 0, handed = 0, skipped = 0, loops = 0;
  double worst = 0, dense = 0, formula = 0, impulse = 0;
  for (int i = 0; i < count; i++) {
    scene s;
    static collision c, d, f;
    kn_rng rng = kn_rng_seed(900 + (uint64_t)i);
    int rank;
    if (!open_random(&s, (uint64_t)i, i % 3)) return;
    int loop_rows = s.set.rows, loop_groups = s.set.count, nv = s.model->nv;
    double loop_pivot = loop_rows ? conditioning(&s, loop_rows, loop_groups, &rank) : 1.0;
    random_contacts(&s, &rng, 1 + i % 4, 0.0, false);
    int n = s.set.rows;
    double pivot = n ? conditioning(&s, n, s.set.count, &rank) : 0.0;
    if (n == loop_rows || rank < n || loop_pivot < 1e-4 || pivot < 1e-4) {
      skipped++;
      close_scene(&s);
      continue;
    }
    loops += loop_rows > 0;
    memset(c.e, 0, sizeof c.e);
    double common = kn_rng_unit(&rng);
    for (int k = loop_rows; k < n; k++) c.e[k] = i % 2 ? common : kn_rng_unit(&rng);
    memcpy(c.v, s.state->v, (size_t)nv * sizeof(double));
    obey_loops(&s, c.v, loop_rows, loop_groups);
    d = f = c;
    CHECK_OK(collide(&c, &s, "os", "projection", KN_CERTIFY_ALLOW, false, NULL));
    CHECK_OK(collide(&d, &s, "os", "newton", KN_CERTIFY_ALLOW, false, NULL));
    CHECK_OK(collide(&f, &s, "projection", "projection", KN_CERTIFY_ALLOW, false, NULL));
    if (d.r.solution.info.residual_scaled >
        1e-10) { /* jammed: no velocity obeys the law, impulses have no end */
      skipped++;
      close_scene(&s);
      continue;
    }
    closed += c.r.closed;
    handed += c.r.handed != KN_HANDED_NOT;
    CHECK(c.r.closed != (c.r.handed != KN_HANDED_NOT));
    CHECK(f.r.closed == c.r.closed);
    double scale = fmax(1, largest(d.after, nv));
    worst = fmax(worst, fmax(apart(c.after, d.after, nv), apart(f.after, d.after, nv)) / scale);
    impulse = fmax(impulse, fmax(apart(c.p, d.p, n), apart(f.p, d.p, n)) / fmax(1, largest(d.p, n)));
    if (c.r.closed) formula = fmax(formula, fabs(c.r.energy - c.r.energy_formula) / c.kinetic);
    /* the dense operator on the rows that approach */
    if (c.r.closed && n == s.set.count) {
      static double M[NV * NV], A[ROWS * NV];
      double e[ROWS], v[NV];
      int m = 0;
      kn_projector* p;
      kn_projection_impact out;
      kn_mass_matrix(M, s.model, s.state, s.data);
      memset(A, 0, sizeof A);
      for (int k = 0; k < n; k++) {
        if (k >= loop_rows && c.u[k] > 1e-9) continue;
        double one = 1;
        kn_rows_force(A + (size_t)m * nv, s.data, s.model, &s.set.geometry[k], 1, &one);
        e[m++] = c.e[k];
      }
      CHECK_OK(kn_projector_create(&p, nv, ROWS));
      CHECK_OK(kn_projector_set(p, nv, m, M, A, 1e-9));
      CHECK_OK(kn_projector_impact(&out, v, NULL, NULL, p, c.v, e, NULL));
      dense = fmax(dense, apart(v, c.after, nv) / scale);
      kn_projector_destroy(p);
    }
    close_scene(&s);
  }
  printf("  %d closed, %d handed over, %d left out (%d with loops): Newton %.2g, impulses %.2g, dense form "
         "%.2g, energy formula %.2g K\n",
         closed, handed, skipped, loops, worst, impulse, dense, formula);
  CHECK_BELOW(worst, 1e-9);
  CHECK_BELOW(impulse, 1e-9);
  CHECK_BELOW(dense, 1e-9);
  CHECK_BELOW(formula, 1e-11); /* rows with pivots down to 1e-4 */
  CHECK(closed > count / 4 && handed > count / 20);
}

/* Up to four free bodies in a heap of contacts, frictionless. */
static bool open_bodies(scene* s, int count) {
  memset(s, 0, sizeof *s);
  s->model = kn_floor_bodies(count);
  bool ok = s->model && CHECK_OK(kn_state_create(&s->state, s->model)) &&
            CHECK_OK(kn_data_create(&s->data, s->model));
  if (!ok) return false;
  kn_arena measure = {0};
  kn_constraints_carve(&s->set, &measure, 64, ROWS);
  kn_arena_create(&s->arena, measure.used);
  kn_constraints_carve(&s->set, &s->arena, 64, ROWS);
  return true;
}

static void random_heap(scene* s, collision* c, kn_rng* rng) {
  int contacts = 1 + kn_rng_int(rng, 6);
  kn_constraints_clear(&s->set);
  memset(c->e, 0, sizeof c->e);
  kn_dyn_position(s->data, s->model, s->state->q);
  for (int i = 0; i < contacts; i++) {
    kn_contact k = kn_random_contact(s->model, rng, 0.0);
    if (k.geom_a == k.geom_b) k.geom_b = s->model->ngeom - 1;
    if (k.geom_a == k.geom_b) k.geom_a = 0;
    kn_constraint_add_contact(&s->set, s->model, &k, i, 0.0);
    c->e[i] = kn_rng_int(rng, 5) ? kn_rng_unit(rng) : (double)kn_rng_int(rng, 2);
  }
  for (int i = 0; i < s->model->nv; i++) c->v[i] = kn_rng_normal(rng);
}

/* Energy by the formula equals the difference; accepted or projected E never gains; refused E comes with a
   velocity that does. */
TEST(energy_of_random_impacts) {
  scene s[4];
  static collision c;
  int count = 10000 * kn_test_effort(), closed = 0, repaired = 0, handed = 0, refused = 0, approaching = 0,
      gains = 0;
  double formula = 0, gain = -1, guarded = -1, shown = 0;
  for (int b = 0; b < 4; b++)
    if (!open_bodies(&s[b], b + 1)) return;
  for (int i = 0; i < count; i++) {
    kn_rng rng = kn_rng_seed(50000 + (uint64_t)i);
    scene* t = &s[kn_rng_int(&rng, 4)];
    random_heap(t, &c, &rng);
    if (!CHECK_OK(collide(&c, t, "os", "projection", KN_CERTIFY_PROJECT, true, NULL))) return;
    closed += c.r.closed, repaired += c.r.repaired, handed += c.r.handed != KN_HANDED_NOT;
    if (c.r.closed)
      gain = fmax(gain, c.r.energy / c.kinetic);
    else
      guarded = fmax(guarded, c.r.energy / c.kinetic);
    if (c.r.closed) formula = fmax(formula, fabs(c.r.energy - c.r.energy_formula) / c.kinetic);
    CHECK(c.r.gamma >= -1e-12 && c.r.gamma <= 1 + 1e-9);
    if (!(c.r.rho > 1 + 1e-9) || i % 10) continue;
    /* refused: the step would fail, and there is a velocity that gains what the certificate says */
    CHECK_STATUS(collide(&c, t, "os", "projection", KN_CERTIFY_REFUSE, false, NULL), KN_INFEASIBLE);
    CHECK_TEXT(kn_last_error(), "can create energy");
    refused++;
    double W[ROWS * ROWS], e[ROWS], lambda[ROWS] = {0}, near[ROWS], L[ROWS * ROWS], x[ROWS];
    int row[ROWS], k = 0;
    kn_energy_certificate cert;
    for (int r = 0; r < t->set.rows; r++)
      if (c.u[r] < -1e-9) row[k] = r, e[k++] = c.e[r];
    kn_rows f;
    void* memory = calloc(1, kn_rows_size(t->model, ROWS));
    kn_rows_init(&f, t->model, ROWS, memory);
    kn_rows_push(&f, t->data, t->model, t->set.geometry, t->set.count);
    kn_rows_lambda(L, &f, t->data, t->model);
    for (int a = 0; a < k; a++)
      for (int b = 0; b < k; b++) W[a * k + b] = L[row[a] * t->set.rows + row[b]];
    CHECK_OK(kn_certify(&cert, near, k, W, e, KN_REPAIR_NEAREST));
    CHECK(!cert.consistent);
    /* v = M⁻¹ Jᵀ Q φ has J v = φ on these rows; only they collide, so the others are dropped. With an
       approaching φ the law may hand over (it must, then: a gain needs an impulse that pulls). */
    approaching += cert.approach == KN_APPROACH_YES;
    double best = 0;
    memcpy(L, W, sizeof(double) * (size_t)(k * k));
    if (kn_cholesky_factor(k, L, k, 1e-13) == k) {
      kn_cholesky_solve(k, x, L, k, cert.velocity);
      for (int a = 0; a < k; a++) lambda[row[a]] = x[a];
      kn_dyn_position(t->data, t->model, t->state->q);
      kn_dyn_factor(t->data, t->model, NULL);
      kn_rows_push(&f, t->data, t->model, t->set.geometry, t->set.count);
      double v[NV], u[ROWS];
      kn_rows_apply(v, &f, t->data, t->model, lambda);
      kn_rows_velocity(u, t->data, t->model, t->set.geometry, t->set.count, v);
      for (int a = 0; a < k; a++)
        CHECK_NEAR(u[row[a]], cert.velocity[a], 1e-8 * (1 + fabs(cert.velocity[a])));
      /* by the dense operator, which does not ask for signs */
      static double M[NV * NV], A[ROWS * NV];
      kn_projector* p;
      kn_projection_impact out;
      memset(A, 0, sizeof A);
      for (int a = 0; a < k; a++) {
        double one = 1;
        kn_rows_force(A + (size_t)a * t->model->nv, t->data, t->model, &t->set.geometry[row[a]], 1, &one);
      }
      kn_mass_matrix(M, t->model, t->state, t->data);
      CHECK_OK(kn_projector_create(&p, t->model->nv, ROWS));
      CHECK_OK(kn_projector_set(p, t->model->nv, k, M, A, 1e-9));
      double plus[NV];
      CHECK_OK(kn_projector_impact(&out, plus, NULL, NULL, p, v, e, NULL));
      kn_projector_destroy(p);
      best = out.energy_difference;
      CHECK_REL(best, cert.gain, 1e-7);
      gains += best > 0;
      shown = fmax(shown, best / out.kinetic);
    }
    free(memory);
  }
  printf("  %d impacts: %d closed (%d with E projected), %d handed over; formula - difference %.2g K, "
         "largest gain %.2g K, handed over %.2g K\n",
         count, closed, repaired, handed, formula, gain, guarded);
  printf("  %d refused, %d shown to gain (up to %.2g K), %d of them also when every contact approaches\n",
         refused, gains, shown, approaching);
  CHECK_BELOW(formula, 1e-12);
  CHECK_BELOW(gain, 1e-12);
  CHECK_BELOW(guarded, 1.001e-10); /* the guard's limit */
  CHECK(repaired > count / 100 && closed > count / 4 && gains > refused / 2);
  for (int b = 0; b < 4; b++) close_scene(&s[b]);
}

/* Newton's one-sided law without guard: contacts that move apart before the impact and are struck by the
   others enter with u⁺ = 0 and +½ i u⁻ > 0. Without such contacts it never gains. */
TEST(newton_alone_gains_when_contacts_move_apart) {
  scene s[4];
  static collision c;
  int gains[2] = {0}, seen[2] = {0};
  double worst[2] = {-1, -1};
  for (int b = 0; b < 4; b++)
    if (!open_bodies(&s[b], b + 1)) return;
  for (int i = 0; i < 3000; i++) {
    kn_rng rng = kn_rng_seed(50000 + (uint64_t)i);
    scene* t = &s[kn_rng_int(&rng, 4)];
    random_heap(t, &c, &rng);
    if (!CHECK_OK(collide(&c, t, "os", "newton", KN_CERTIFY_PROJECT, false, NULL))) return;
    bool apart_before = false;
    for (int r = 0; r < t->set.rows; r++) apart_before |= c.u[r] > 0;
    if (c.r.solution.info.residual_scaled > 1e-10) continue;
    seen[apart_before]++;
    gains[apart_before] += c.r.energy > 1e-9 * c.kinetic;
    worst[apart_before] = fmax(worst[apart_before], c.r.energy / c.kinetic);
  }
  printf("  all approaching: %d of %d gain; some moving apart: %d of %d, up to %.3g K\n", gains[0], seen[0],
         gains[1], seen[1], worst[1]);
  CHECK_INT(gains[0], 0);
  CHECK(gains[1] > 10 && seen[0] > 100);
  for (int b = 0; b < 4; b++) close_scene(&s[b]);
}

/* External impulse at the instant of the impact: v⁺ = … + Mo⁺ i_u, against the dense form. */
TEST(external_impulse) {
  scene s;
  static collision c, d;
  double worst = 0, formula = 0;
  int closed = 0;
  if (!open_bodies(&s, 2)) return;
  for (int i = 0; i < 500; i++) {
    kn_rng rng = kn_rng_seed((uint64_t)i);
    double iu[NV], v[NV];
    random_heap(&s, &c, &rng);
    for (int k = 0; k < 12; k++) iu[k] = kn_rng_normal(&rng);
    d = c;
    CHECK_OK(collide(&d, &s, "os", "projection", KN_CERTIFY_ALLOW, false, NULL));
    if (!d.r.closed || s.set.rows > 3) continue;
    CHECK_OK(collide(&c, &s, i % 2 ? "os" : "projection", "projection", KN_CERTIFY_ALLOW, true, iu));
    static double M[NV * NV], A[ROWS * NV];
    double e[ROWS];
    int m = 0;
    kn_projector* p;
    kn_projection_impact out;
    memset(A, 0, sizeof A);
    for (int k = 0; k < s.set.rows; k++) {
      if (c.u[k] > 1e-9) continue;
      double one = 1;
      kn_rows_force(A + (size_t)m * 12, s.data, s.model, &s.set.geometry[k], 1, &one);
      e[m++] = c.e[k];
    }
    kn_mass_matrix(M, s.model, s.state, s.data);
    CHECK_OK(kn_projector_create(&p, 12, ROWS));
    CHECK_OK(kn_projector_set(p, 12, m, M, A, 1e-9));
    CHECK_OK(kn_projector_impact(&out, v, NULL, NULL, p, c.v, e, iu));
    kn_projector_destroy(p);
    worst = fmax(worst, apart(v, c.after, 12) / fmax(1, largest(v, 12)));
    formula = fmax(formula, fabs(c.r.energy - c.r.energy_formula) / fmax(c.kinetic, fabs(c.r.energy)));
    closed++;
  }
  printf("  %d impacts: velocity %.2g, energy %.2g\n", closed, worst, formula);
  CHECK_BELOW(worst, 1e-10);
  CHECK_BELOW(formula, 1e-11);
  CHECK(closed > 50);
  close_scene(&s);
}

/* Resting contacts: a box that rests on four corners and is struck elastically from the side. The naive
   inequality would refuse e = (0 0 0 0 1); here it is accepted, the resting corners stay, and energy is kept.
 */
TEST(resting_contacts_raise_no_false_alarm) {
  scene s;
  static collision c;
  if (!open_bodies(&s, 1)) return;
  memset(&c, 0, sizeof c);
  for (int i = 0; i < 4; i++) {
    kn_contact k = {.geom_a = 0, .geom_b = 1, .frame = {0, 0, 1, 1, 0, 0, 0, 1, 0}};
    k.point[0] = i & 1 ? 0.2 : -0.2, k.point[1] = i & 2 ? 0.2 : -0.2, k.point[2] = -0.2;
    kn_constraint_add_contact(&s.set, s.model, &k, i, 0.0);
  }
  kn_contact wall = {.geom_a = 0, .geom_b = 1, .frame = {-1, 0, 0, 0, 1, 0, 0, 0, 1}, .point = {0.2, 0, 0}};
  kn_constraint_add_contact(&s.set, s.model, &wall, 4, 0.0);
  c.v[0] = 1;
  c.e[4] = 1;
  for (int i = 0; i < 2; i++) {
    CHECK_OK(collide(&c, &s, i ? "projection" : "os", "projection", KN_CERTIFY_REFUSE, true, NULL));
    CHECK(c.r.closed && !c.r.repaired);
    CHECK_NEAR(c.r.rho, 1, 1e-12);
    CHECK_NEAR(c.after[0], -1, 1e-12);
    CHECK_NEAR(c.r.gamma, 1, 1e-12);
  }
  close_scene(&s);
}
