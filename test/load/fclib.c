/* FCLIB files: round trips, damaged and hostile files. */
#include "knuckle/fclib.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cone_problems.h"
#include "test.h"

static const char* scratch(void) {
  static char path[64];
  snprintf(path, sizeof path, "/tmp/kn_fclib_%d.hdf5", (int)getpid());
  return path;
}

static void same_problem(const kn_problem* a, const kn_problem* b) {
  CHECK_INT(b->rows, a->rows);
  CHECK_INT(b->blocks, a->blocks);
  if (a->rows != b->rows || a->blocks != b->blocks) return;
  for (int k = 0; k < a->blocks; k++)
    CHECK(a->block[k].set == b->block[k].set && a->block[k].mu == b->block[k].mu);
  double *x = calloc(3 * (size_t)a->rows, sizeof *x), *u = x + a->rows, *v = u + a->rows;
  for (int k = 0; k < a->rows; k++) x[k] = sin(k + 1.0);
  kn_problem_velocity(u, a, x);
  kn_problem_velocity(v, b, x);
  CHECK_ARRAY(v, u, (size_t)a->rows, 1e-14); /* sums of the same numbers in another order */
  free(x);
}

TEST(write_and_read_back) {
  kn_rng rng = kn_rng_seed(5);
  kn_generated g = kn_generate(&rng, KN_FAMILY_FREE, 7, 10.0);
  double* r = calloc((size_t)g.problem.rows, sizeof *r);
  CHECK_OK(kn_fclib_write(scratch(), &g.problem, "seven contacts", r));
  kn_fclib f;
  if (CHECK_OK(kn_fclib_read(&f, scratch()))) {
    same_problem(&g.problem, &f.problem);
    CHECK_INT(f.dimension, 3);
    CHECK_TEXT(f.title, "seven contacts");
    kn_fclib_free(&f);
  }
  free(r);
  kn_generated_free(&g);
  unlink(scratch());
}

TEST(equality_rows_and_plane_contacts) {
  const double W[25] = {2,   0.1, 0, 0, 0.3, 0.1, 2, 0,   0, 0,   0, 0, 3,
                        0.2, 0.4, 0, 0, 0.2, 3,   0, 0.3, 0, 0.4, 0, 1};
  const double q[5] = {-1, 0.5, -2, 0.1, 0.2};
  const kn_block block[3] = {
      {KN_SET_CONE2, 0, 0.3, 0, 0}, {KN_SET_CONE2, 2, 0.6, 0, 0}, {KN_SET_FREE, 4, 0, 0, 0}};
  kn_problem p = {5, 3, block, W, NULL, q, NULL};
  CHECK_OK(kn_fclib_write(scratch(), &p, NULL, NULL));
  kn_fclib f;
  if (CHECK_OK(kn_fclib_read(&f, scratch()))) {
    same_problem(&p, &f.problem);
    CHECK_INT(f.contacts, 2);
    CHECK_INT(f.dimension, 2);
    kn_fclib_free(&f);
  }
  unlink(scratch());
}

TEST(rolling_friction_is_refused_politely) {
  const char* path = kn_test_data("friction/original/sic_Chute-ndof-768-nc-4-3.hdf5");
  if (!path) SKIP("no shared data");
  kn_fclib f;
  CHECK_STATUS(kn_fclib_read(&f, path), KN_UNSUPPORTED);
  CHECK_TEXT(kn_last_error(), "rolling");
}

TEST(missing_and_foreign_files) {
  kn_fclib f;
  CHECK_STATUS(kn_fclib_read(&f, "/nonexistent/x.hdf5"), KN_NOT_FOUND);
  CHECK_STATUS(kn_fclib_read(&f, KN_SOURCE_DIR "/test/load/fclib.c"), KN_BAD_FILE);
  CHECK_STATUS(kn_fclib_read(NULL, KN_SOURCE_DIR "/test/load/fclib.c"), KN_BAD_ARGUMENT);
}

/* Truncated at many lengths and with random bytes changed: a status or a sane problem, never a crash. */
TEST(damaged_files_never_crash_the_reader) {
  kn_rng rng = kn_rng_seed(11);
  kn_generated g = kn_generate(&rng, KN_FAMILY_FREE, 3, 1.0);
  CHECK_OK(kn_fclib_write(scratch(), &g.problem, "x", NULL));
  FILE* in = fopen(scratch(), "rb");
  char* data = malloc(1 << 20);
  size_t size = fread(data, 1, 1 << 20, in);
  fclose(in);
  int refused = 0, count = 60 * kn_test_effort();
  for (int k = 0; k < count; k++) {
    char* copy = malloc(size);
    memcpy(copy, data, size);
    size_t keep = k % 3 ? size : (size_t)kn_rng_int(&rng, (int)size);
    for (int i = 0; i < 1 + k % 7; i++) copy[kn_rng_int(&rng, (int)size)] = (char)kn_rng_next(&rng);
    FILE* out = fopen(scratch(), "wb");
    fwrite(copy, 1, keep, out);
    fclose(out);
    free(copy);
    kn_fclib f;
    kn_status status = kn_fclib_read(&f, scratch());
    if (status == KN_OK) CHECK_OK(kn_problem_check(&f.problem));
    refused += status != KN_OK;
    kn_fclib_free(&f);
  }
  CHECK(refused > 0);
  free(data);
  kn_generated_free(&g);
  unlink(scratch());
}
