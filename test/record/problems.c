/* Contact problems written during a run: our reader and Debian's libfclib both find the problem that was
   solved, with a solution that solves it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "knuckle/fclib.h"
#include "knuckle/load.h"
#include "knuckle/record.h"
#include "test.h"
#ifdef HAVE_FCLIB
#include <fclib.h>
#endif

/* A box on a plane, an arm lying on its limit and a closed chain with its elbows on the floor. */
static const char rig[] =
    "<mujoco><worldbody><geom type='plane' size='5 5 .1'/>"
    "<body name='box' pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' friction='.3'/></body>"
    "<body pos='1 0 1'><joint axis='0 1 0' range='-60 40'/><geom type='capsule' size='.03' fromto='0 0 0 .4 "
    "0 "
    "0'/><body pos='.4 0 0'><joint axis='0 1 0'/><geom type='capsule' size='.03' contype='0' fromto='0 0 0 "
    ".3 "
    "0 0'/></body></body>"
    "<body pos='2 0 .2'><joint axis='0 1 0'/><geom size='.05' pos='.1 0 -.15'/>"
    "<body pos='.1 0 -.15'><joint axis='0 1 0'/><geom size='.02' pos='.05 0 0'/>"
    "<body name='c' pos='.1 0 0'><joint axis='0 1 0'/><geom size='.05'/></body></body></body>"
    "</worldbody><equality><connect body1='c' body2='world' anchor='.1 0 .15'/></equality></mujoco>";

static const char dry[] =
    "<mujoco><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 .099'><joint type='slide' axis='0 0 "
    "1'/><joint type='slide' axis='1 0 0' frictionloss='.1'/><geom size='.1'/></body></worldbody></mujoco>";

static char* folder(void) {
  static char path[64];
  snprintf(path, sizeof path, "/tmp/knuckle-problems-%d", (int)getpid());
  mkdir(path, 0777);
  return path;
}

static void dump(const char* text, int steps, double drop, int* written, int* left_out) {
  kn_spec* spec = NULL;
  kn_model* model = NULL;
  kn_sim* sim = NULL;
  kn_state* state = NULL;
  kn_problem_dump* d = NULL;
  kn_sim_settings s = kn_sim_default();
  bool ok = CHECK_OK(kn_load_text(&spec, NULL, "rig.xml", text, strlen(text), NULL)) &&
            CHECK_OK(kn_compile(&model, spec)) && CHECK_OK(kn_sim_create(&sim, model, &s)) &&
            CHECK_OK(kn_state_create(&state, model)) && CHECK_OK(kn_problem_dump_open(&d, folder(), sim));
  if (ok) kn_state_v(state)[0] = drop;
  for (int i = 0; ok && i < steps; i++) ok = CHECK_OK(kn_step(sim, state));
  CHECK_OK(kn_problem_dump_close(written, left_out, d));
  if (ok) CHECK_OK(kn_step(sim, state)); /* nothing is watched any more */
  kn_state_destroy(state);
  kn_sim_destroy(sim);
  kn_model_destroy(model);
  kn_spec_destroy(spec);
}

#ifdef HAVE_FCLIB
static double entry(const struct fclib_matrix* m, int i, int j) {
  double sum = 0.0;
  if (m->nz >= 0) {
    /* as all published files: i is the row, p the column (the comment in fclib.h says the opposite) */
    for (int k = 0; k < m->nz; k++) sum += m->i[k] == i && m->p[k] == j ? m->x[k] : 0.0;
  } else if (m->nz == -2) { /* rows */
    for (int k = m->p[i]; k < m->p[i + 1]; k++) sum += m->i[k] == j ? m->x[k] : 0.0;
  } else {
    for (int k = m->p[j]; k < m->p[j + 1]; k++) sum += m->i[k] == i ? m->x[k] : 0.0;
  }
  return sum;
}

/* û = W r + V l + q + (mu |u_T|, 0, 0), r in the cone, û in its dual, both orthogonal; Vᵀ r + R l + s = 0. */
static void foreign(const char* path) {
  struct fclib_local* p = fclib_read_local(path);
  struct fclib_solution* z = fclib_read_solution(path);
  if (!CHECK(p && z)) return;
  int m = p->W->m, equalities = p->R ? p->R->m : 0;
  double scale = 1e-300;
  for (int i = 0; i < m; i++) scale = fmax(scale, fmax(fabs(p->q[i]), fabs(z->r[i])));
  double tol = 1e-9 * scale; /* the solver's tolerance is 1e-10 of the same scale */
  for (int c = 0; c < m / 3; c++) {
    double u[3], *r = z->r + 3 * c;
    for (int k = 0; k < 3; k++) {
      u[k] = p->q[3 * c + k];
      for (int j = 0; j < m; j++) u[k] += entry(p->W, 3 * c + k, j) * z->r[j];
      for (int j = 0; j < equalities; j++) u[k] += entry(p->V, 3 * c + k, j) * z->l[j];
      CHECK_NEAR(z->u[3 * c + k], u[k], tol);
    }
    double slip = hypot(u[1], u[2]), friction = hypot(r[1], r[2]);
    CHECK(r[0] >= -tol && u[0] >= -tol && friction <= p->mu[c] * r[0] + tol);
    CHECK_NEAR(u[0] * r[0], 0.0, tol * scale);
    CHECK_NEAR(u[1] * r[1] + u[2] * r[2], -p->mu[c] * r[0] * slip, tol * scale);
  }
  for (int i = 0; i < equalities; i++) {
    double sum = p->s[i];
    for (int j = 0; j < m; j++) sum += entry(p->V, j, i) * z->r[j];
    for (int j = 0; j < equalities; j++) sum += entry(p->R, i, j) * z->l[j];
    CHECK_NEAR(sum, 0.0, tol);
  }
  fclib_delete_local(p);
  fclib_delete_solutions(z, 1);
  free(p);
}
#else
static void foreign(const char* path) { (void)path; }
#endif

TEST(every_problem_is_a_file_that_libfclib_reads) {
  int written, left_out, cones = 0, frictionless = 0, equalities = 0;
  dump(rig, 400, 1.0, &written, &left_out);
  CHECK_INT(left_out, 0);
  CHECK(written >= 400);
  for (int i = 1; i <= written; i++) {
    char path[128];
    snprintf(path, sizeof path, "%s/problem-%06d.hdf5", folder(), i);
    kn_fclib f;
    if (i % 20 == 1 && CHECK_OK(kn_fclib_read_trusted(&f, path))) {
      kn_solve_info info;
      double* r = calloc((size_t)f.problem.rows + 1, sizeof *r);
      kn_solver_work* work = NULL;
      CHECK_OK(kn_solver_work_create(&work, f.problem.rows, f.problem.blocks,
                                     f.problem.sparse->start[f.problem.blocks]));
      CHECK_OK(kn_problem_solve(r, &info, &f.problem, NULL, work));
      for (int b = 0; b < f.problem.blocks; b++) {
        cones += f.problem.block[b].mu > 0.0;
        frictionless += b < f.contacts && f.problem.block[b].mu == 0.0;
      }
      equalities += f.problem.rows - 3 * f.contacts;
      kn_solver_work_destroy(work);
      kn_fclib_free(&f);
      free(r);
      foreign(path);
    }
    unlink(path);
  }
  rmdir(folder());
  CHECK(cones > 0); /* the run has all three kinds of rows */
  CHECK(frictionless > 0);
  CHECK(equalities > 0);
}

TEST(dry_joint_friction_is_counted_as_left_out) {
  int written, left_out;
  dump(dry, 20, -0.1, &written, &left_out);
  CHECK_INT(written, 0);
  CHECK(left_out >= 20);
  rmdir(folder());
}

TEST(a_folder_that_is_missing_is_told) {
  kn_spec* spec = NULL;
  kn_model* model = NULL;
  kn_sim* sim = NULL;
  kn_state* state = NULL;
  kn_problem_dump* d = NULL;
  CHECK_OK(kn_load_text(&spec, NULL, "rig.xml", rig, strlen(rig), NULL));
  CHECK_OK(kn_compile(&model, spec));
  CHECK_OK(kn_sim_create(&sim, model, NULL));
  CHECK_OK(kn_state_create(&state, model));
  CHECK_OK(kn_problem_dump_open(&d, "/nowhere/at/all", sim));
  CHECK_OK(kn_step(sim, state)); /* the step itself does not care */
  int written;
  CHECK_STATUS(kn_problem_dump_close(&written, NULL, d), KN_IO);
  CHECK_INT(written, 0);
  kn_state_destroy(state);
  kn_sim_destroy(sim);
  kn_model_destroy(model);
  kn_spec_destroy(spec);
}
