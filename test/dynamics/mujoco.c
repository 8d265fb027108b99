/* Mass matrix, bias and acceleration against MuJoCo on random trees of the joint types it has. MuJoCo runs in
   the peers' Python environment (scripts/peers.sh); without it the test is skipped. */
#include <string.h>
#include <unistd.h>

#include "mjcf.h"
#include "scene.h"
#include "trees.h"

#define PYTHON "/opt/knuckle-peers/bin/python"

typedef struct sample {
  kn_model* m;
  kn_state* s;
  kn_data* d;
  double* tau;
} sample;

static bool write_sample(sample* t, const char* folder, int i) {
  char path[300];
  kn_mjcf_settings set = kn_mjcf_default();
  set.contact = set.constraints = false;
  snprintf(path, sizeof path, "%s/%d.xml", folder, i);
  if (kn_mjcf_save(path, t->m, &set) != KN_OK) {
    printf("  %s\n", kn_mjcf_error());
    return false;
  }
  snprintf(path, sizeof path, "%s/%d.in", folder, i);
  FILE* file = fopen(path, "wb");
  if (!file) return false;
  size_t nq = (size_t)kn_model_nq(t->m), nv = (size_t)kn_model_nv(t->m);
  bool ok = fwrite(kn_state_q(t->s), 8, nq, file) == nq && fwrite(kn_state_v(t->s), 8, nv, file) == nv;
  ok = ok && fwrite(t->tau, 8, nv, file) == nv;
  return fclose(file) == 0 && ok;
}

static sample make_sample(int i) {
  static const int sizes[] = {1, 2, 4, 8, 15, 30, 60, 120, 200};
  kn_random_settings set = kn_random_default(1 + i * 7 % sizes[i % 9]);
  set.joints &= ~(1u << KN_JOINT_SCREW);
  set.geoms = set.limits = set.springs = set.damping = set.friction = set.actuators = false;
  set.armature = i % 2, set.loops = 0;
  set.branch = 0.2 + 0.2 * (i % 5);
  sample t = {0};
  kn_spec* spec;
  CHECK_OK(kn_spec_create(&spec));
  CHECK_OK(kn_random_spec(spec, (uint64_t)i, &set));
  CHECK_OK(kn_compile(&t.m, spec));
  kn_spec_destroy(spec);
  CHECK_OK(kn_state_create(&t.s, t.m)), CHECK_OK(kn_data_create(&t.d, t.m));
  kn_random_state(t.s, t.m, (uint64_t)i + 1000, 1.0, 2.0);
  t.tau = calloc((size_t)kn_model_nv(t.m) + 1, 8);
  kn_rng rng = kn_rng_seed((uint64_t)i);
  for (int j = 0; j < kn_model_nv(t.m); j++) t.tau[j] = kn_rng_range(&rng, -5, 5);
  return t;
}

static void compare(double worst[3], sample* t, const char* folder, int i) {
  char path[300];
  size_t nv = (size_t)kn_model_nv(t->m), n = nv * nv + 2 * nv;
  double *theirs = calloc(n + 1, 8), *ours = calloc(n + 1, 8);
  snprintf(path, sizeof path, "%s/%d.out", folder, i);
  FILE* file = fopen(path, "rb");
  if (CHECK(file != NULL)) {
    CHECK_INT(fread(theirs, 8, n, file), n);
    fclose(file);
    CHECK_OK(kn_mass_matrix(ours, t->m, t->s, t->d));
    CHECK_OK(kn_bias_force(ours + nv * nv, t->m, t->s, t->d));
    CHECK_OK(kn_forward_dynamics(ours + nv * nv + nv, t->m, t->s, t->d, t->tau));
    size_t start[4] = {0, nv * nv, nv * nv + nv, n};
    for (int k = 0; k < 3 && nv; k++) {
      int count = (int)(start[k + 1] - start[k]);
      double e =
          max_diff(ours + start[k], theirs + start[k], count) / fmax(1.0, max_abs(theirs + start[k], count));
      worst[k] = fmax(worst[k], e);
      if (!CHECK(e <= 1e-9))
        printf("  model %d, %zu dofs: %s %.2e\n", i, nv, k ? k > 1 ? "acceleration" : "bias" : "mass", e);
    }
  }
  free(theirs), free(ours);
}

TEST(mass_bias_and_acceleration_equal_mujoco) {
  if (access(PYTHON, X_OK) != 0) SKIP("no " PYTHON);
  if (system(PYTHON " -c 'import mujoco' 2>/dev/null") != 0) SKIP("no mujoco in " PYTHON);
  char folder[] = "/tmp/knuckle-mujoco-XXXXXX", command[700];
  if (!CHECK(mkdtemp(folder) != NULL)) return;
  int count = 100 * kn_test_effort();
  if (count > 600) count = 600;
  sample* t = calloc((size_t)count, sizeof *t);
  for (int i = 0; i < count; i++) {
    t[i] = make_sample(i);
    CHECK(write_sample(&t[i], folder, i));
  }
  snprintf(command, sizeof command, PYTHON " %s/test/dynamics/oracle_mujoco.py %s %d", KN_SOURCE_DIR, folder,
           count);
  CHECK_INT(system(command), 0);
  double worst[3] = {0, 0, 0};
  for (int i = 0; i < count; i++) {
    compare(worst, &t[i], folder, i);
    kn_data_destroy(t[i].d), kn_state_destroy(t[i].s), kn_model_destroy(t[i].m), free(t[i].tau);
  }
  printf("  %d models: mass matrix %.2e, bias %.2e, acceleration %.2e\n", count, worst[0], worst[1],
         worst[2]);
  free(t);
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_INT(system(command), 0);
}
