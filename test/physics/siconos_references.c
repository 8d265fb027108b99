/* Trajectories published with Siconos, reproduced by the θ-scheme (θ = ½) to 1e-10: the same scheme, written
   from its equations, must give the same numbers up to rounding. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/step.h"
#include "test.h"

typedef struct table {
  int rows, columns;
  double* x;
} table;

static bool read_table(table* t, const char* name) {
  char path[64], command[1200];
  snprintf(path, sizeof path, "reference/%s.ref.gz", name);
  const char* file = kn_test_data(path);
  if (!file) return false;
  snprintf(command, sizeof command, "gzip -dc '%s'", file);
  FILE* f = popen(command, "r");
  if (!f || fscanf(f, "%d %d", &t->rows, &t->columns) != 2) return false;
  t->x = malloc(sizeof(double) * (size_t)t->rows * (size_t)t->columns);
  int n = 0;
  while (n < t->rows * t->columns && fscanf(f, "%lf", &t->x[n]) == 1) n++;
  pclose(f);
  return n == t->rows * t->columns;
}

/* Spheres of radius 0.1 that slide along z above a floor; e and first heights as given. */
static kn_model* beads(int count, double y0, double pitch, double e, double ground) {
  kn_spec* spec;
  kn_model* model = NULL;
  kn_geom geom;
  kn_spec_create(&spec);
  kn_geom_def floor = kn_geom_default(KN_SHAPE_PLANE);
  floor.body = KN_WORLD;
  floor.pos[2] = ground;
  floor.material.mu = 0;
  floor.material.e = e;
  kn_spec_add_geom(&geom, spec, &floor);
  for (int i = 0; i < count; i++) {
    kn_body_def b = kn_body_default();
    kn_body body;
    kn_joint joint;
    b.pos[2] = y0 + pitch * i;
    b.mass = 1;
    b.inertia[0] = b.inertia[1] = b.inertia[2] = 0.004;
    kn_spec_add_body(&body, spec, &b);
    kn_joint_def j = kn_joint_default(KN_JOINT_SLIDE);
    j.body = body;
    j.axis[0] = j.axis[1] = 0, j.axis[2] = 1;
    j.ref[0] = b.pos[2];
    kn_spec_add_joint(&joint, spec, &j);
    kn_geom_def g = kn_geom_default(KN_SHAPE_SPHERE);
    g.body = body;
    g.shape.size[0] = 0.1;
    g.material.mu = 0;
    g.material.e = e;
    kn_spec_add_geom(&geom, spec, &g);
  }
  CHECK_OK(kn_compile(&model, spec));
  kn_spec_destroy(spec);
  return model;
}

static void compare(const char* name, int count, double y0, double pitch, double dt, double ground) {
  table t = {0};
  if (!read_table(&t, name)) SKIP("no reference data");
  kn_model* model = beads(count, y0, pitch, 0.9, ground);
  kn_state* x;
  kn_sim* sim;
  kn_sim_settings s = kn_sim_default();
  s.stepper = "theta";
  s.dt = dt;
  s.projection = false;
  s.anchors = false;
  CHECK_OK(kn_state_create(&x, model));
  CHECK_OK(kn_sim_create(&sim, model, &s));
  double worst = 0;
  for (int k = 0; k < t.rows; k++) {
    const double* row = t.x + (size_t)k * (size_t)t.columns;
    for (int i = 0; i < count; i++) {
      worst = fmax(worst, fabs(kn_state_q(x)[i] - row[1 + 2 * i]));
      worst = fmax(worst, fabs(kn_state_v(x)[i] - row[2 + 2 * i]));
    }
    if (!(worst <= 1e-10)) {
      printf("  row %d\n", k);
      break;
    }
    CHECK_OK(kn_step(sim, x));
  }
  CHECK_NEAR(worst, 0, 1e-10);
  printf("  %s: %d steps, largest difference %.2g\n", name, t.rows, worst);
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_model_destroy(model);
  free(t.x);
}

/* In this reference the gap is the height of the centre itself. */
TEST(bouncing_ball) { compare("BouncingBallTS", 1, 1.0, 0.0, 0.005, -0.1); }
TEST(column_of_beads) { compare("ColumnOfBeadsTS", 10, 1.0, 0.25, 5e-4, 0.0); }

/* The woodpecker toy in its published linearised form: q = (y, φ_M, φ_S), constant M, K, J (Leine, Glocker,
   van Campen 2003). Its rows go through the contact solver as the θ-stepper's do. */
TEST(woodpecker) {
  table t = {0};
  if (!read_table(&t, "Woodpecker")) SKIP("no reference data");
  const double r_O = .0025, r_M = .0031, h_M = .0058, l_M = .01, l_G = .015, h_S = .02, l_S = .0201,
               m_M = 3e-4, m_S = .0045;
  const double J_M = 5e-9, J_S = 7e-7, c = .0056, mu = .3, g = 9.81, h = 2e-5, theta = 0.5, e[3] = {.5, 0, 0};
  const double M[9] = {m_S + m_M,
                       m_S * l_M,
                       m_S * l_G,
                       m_S * l_M,
                       J_M + m_S * l_M * l_M,
                       m_S * l_M * l_G,
                       m_S * l_G,
                       m_S * l_M * l_G,
                       J_S + m_S * l_G * l_G};
  const double K[9] = {0, 0, 0, 0, c, -c, 0, -c, c},
               F[3] = {-(m_S + m_M) * g, -m_S * l_M * g, -m_S * l_G * g};
  const double J[6][3] = {{0, 0, -h_S}, {1, l_M, l_G - l_S}, {0, h_M, 0},
                          {1, r_M, 0},  {0, -h_M, 0},        {1, r_M, 0}};
  const double g0[3] = {l_M + l_G - l_S - r_O, r_M - r_O, r_M - r_O};
  double q[3] = {0, -.1036, -.2788}, v[3] = {-.3411, 0, -7.4583}, A[9], inv[9], worst = 0;
  for (int i = 0; i < 9; i++) A[i] = M[i] + h * h * theta * theta * K[i];
  double det = A[0] * (A[4] * A[8] - A[5] * A[7]) - A[1] * (A[3] * A[8] - A[5] * A[6]) +
               A[2] * (A[3] * A[7] - A[4] * A[6]);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      int a = (j + 1) % 3, b = (j + 2) % 3, p = (i + 1) % 3, r = (i + 2) % 3;
      inv[3 * i + j] = (A[3 * a + p] * A[3 * b + r] - A[3 * a + r] * A[3 * b + p]) / det;
    }
  kn_solver_work* work;
  CHECK_OK(kn_solver_work_create(&work, 6, 3, 0));
  for (int k = 0; k < t.rows; k++) {
    const double* row = t.x + (size_t)k * (size_t)t.columns;
    for (int i = 0; i < 3; i++) {
      worst = fmax(worst, fabs(q[i] - row[1 + 2 * i]));
      worst = fmax(worst, fabs(v[i] - row[2 + 2 * i]) / 10); /* rates reach 10 rad/s */
    }
    if (!(worst <= 1e-10)) {
      printf("  row %d: error %g\n", k, worst);
      break;
    }
    double f[3], vf[3], W[36], off[6], lambda[6] = {0};
    for (int i = 0; i < 3; i++) {
      f[i] = h * F[i];
      for (int j = 0; j < 3; j++) f[i] -= h * K[3 * i + j] * q[j] + h * h * theta * K[3 * i + j] * v[j];
    }
    for (int i = 0; i < 3; i++)
      vf[i] = v[i] + inv[3 * i] * f[0] + inv[3 * i + 1] * f[1] + inv[3 * i + 2] * f[2];
    int n = 0, at[6];
    kn_block block[3];
    int blocks = 0;
    for (int i = 0; i < 3; i++) {
      const double *jn = J[2 * i], gap = g0[i] + jn[0] * q[0] + jn[1] * q[1] + jn[2] * q[2];
      double u = jn[0] * v[0] + jn[1] * v[1] + jn[2] * v[2];
      if (gap + h / 2 * u > 0) continue;
      block[blocks++] = (kn_block){.set = KN_SET_CONE2, .row = n, .mu = mu};
      off[n] = e[i] * u;
      off[n + 1] = 0;
      at[n++] = 2 * i, at[n++] = 2 * i + 1;
    }
    for (int i = 0; i < n; i++) {
      for (int a = 0; a < 3; a++) off[i] += J[at[i]][a] * vf[a];
      for (int j = 0; j < n; j++) {
        W[i * n + j] = 0;
        for (int a = 0; a < 3; a++)
          for (int b = 0; b < 3; b++) W[i * n + j] += J[at[i]][a] * inv[3 * a + b] * J[at[j]][b];
      }
    }
    if (n) {
      kn_problem p = {.rows = n, .blocks = blocks, .block = block, .W = W, .q = off};
      kn_solve_settings set = kn_solve_default();
      set.tol = 1e-13;
      kn_problem_solve(lambda, NULL, &p, &set, work);
    }
    for (int a = 0; a < 3; a++) {
      double vn = vf[a];
      for (int i = 0; i < n; i++)
        for (int b = 0; b < 3; b++) vn += inv[3 * a + b] * J[at[i]][b] * lambda[i];
      q[a] += h * (theta * vn + (1 - theta) * v[a]);
      f[a] = vn;
    }
    memcpy(v, f, sizeof v);
  }
  CHECK_NEAR(worst, 0, 1e-10);
  printf("  woodpecker: %d steps, largest difference %.2g\n", t.rows, worst);
  kn_solver_work_destroy(work);
  free(t.x);
}
