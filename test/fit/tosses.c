/* Parameters of simulated tosses come back: friction, restitution and inertia of a box within 1 %, from trajectories that
   were made with the same engine, whose cost is 0 at the truth; and tables with mistakes are refused with their place. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "fit/csv.h"
#include "fit/search.h"
#include "fit/track.h"
#include "test.h"

enum { TOSSES = 12, FRAMES = 45 };

static kn_model* box_of(const double* x) {
  char xml[1024], yaml[128];
  kn_spec* spec = NULL;
  kn_study* study = NULL;
  kn_model* model = NULL;
  snprintf(xml, sizeof xml,
           "<mujoco><worldbody><geom type='plane' size='5 5 1' friction='%.17g'/><body><freejoint "
           "name='box'/><inertial "
           "pos='0 0 0' mass='0.4' diaginertia='%.17g %.17g %.17g'/><geom type='box' size='.05 .04 .06' "
           "friction='0'/></body></worldbody></mujoco>",
           x[0], x[2], x[2], x[2]);
  snprintf(yaml, sizeof yaml, "materials:\n  - {geom: '*', restitution: %.17g}\n", x[1]);
  if (kn_load_text(&spec, NULL, "box.xml", xml, strlen(xml), NULL) == KN_OK &&
      kn_study_read(&study, "box.yaml", yaml, strlen(yaml)) == KN_OK && kn_study_apply(spec, study) == KN_OK)
    kn_compile(&model, spec);
  kn_spec_destroy(spec);
  kn_study_free(study);
  return model;
}

static kn_fit_world world_of(const kn_model* model) {
  kn_fit_world w = {.model = model, .settings = kn_sim_default()};
  w.settings.dt = 2.5e-3;
  return w;
}

static void throw_all(kn_tracks* tracks, const double* truth) {
  kn_rng rng = kn_rng_seed(17);
  kn_model* model = box_of(truth);
  kn_fit_world world = world_of(model);
  double q[FRAMES * 7];
  *tracks = (kn_tracks){.nq = 7, .nv = 6};
  for (int i = 0; i < TOSSES; i++) {
    kn_track* t = kn_tracks_add(tracks, FRAMES);
    for (int f = 0; f < FRAMES; f++) t->t[f] = 0.01 * f;
    double start[7] = {0, 0, 0.12, 1, 0, 0, 0}, norm = 0.0;
    for (int k = 3; k < 7; k++) start[k] = kn_rng_normal(&rng), norm += start[k] * start[k];
    for (int k = 3; k < 7; k++) start[k] /= sqrt(norm);
    memcpy(t->q, start, sizeof start);
    t->v[0] = 1.0, t->v[2] = -0.8;
    for (int k = 3; k < 6; k++) t->v[k] = kn_rng_range(&rng, -6.0, 6.0);
    CHECK_OK(kn_track_follow(q, &world, t));
    memcpy(t->q, q, sizeof q);
  }
  kn_model_destroy(model);
}

static kn_status cost(double* item, const double* x, void* context) {
  const kn_tracks* tracks = context;
  kn_track_score score[TOSSES];
  kn_fit_scales scales = {0.1, 0.5, false};
  kn_model* model = box_of(x);
  if (!model) return KN_BAD_ARGUMENT;
  kn_fit_world world = world_of(model);
  kn_status status = kn_tracks_score(score, &world, tracks, &scales, 2);
  for (int i = 0; i < TOSSES; i++) item[i] = score[i].cost;
  kn_model_destroy(model);
  return status;
}

TEST(friction_restitution_and_inertia_come_back) {
  const double truth[3] = {0.23, 0.35, 7e-4};
  kn_tracks tracks;
  throw_all(&tracks, truth);
  kn_fit_problem problem = {
      .n = 3,
      .items = TOSSES,
      .cost = cost,
      .context = &tracks,
      .range = {{0.05, 0.6, 0.15, false}, {0.0, 0.8, 0.2, false}, {3e-4, 2e-3, 1e-3, true}}};
  kn_fit_settings settings = kn_fit_default();
  kn_fit_result r;
  settings.evaluations = 700;
  if (CHECK_OK(kn_fit_search(&r, &problem, &settings))) {
    for (int k = 0; k < 3; k++) CHECK_NEAR(r.parameter[k].value, truth[k], 0.01 * truth[k]);
    for (int k = 0; k < 3; k++) CHECK(r.parameter[k].identifiable);
    kn_fit_result_free(&r);
  }
  kn_tracks_free(&tracks);
}

TEST(scores_are_the_same_on_any_number_of_threads) {
  const double truth[3] = {0.23, 0.35, 7e-4}, other[3] = {0.3, 0.2, 8e-4};
  kn_track_score one[TOSSES], five[TOSSES];
  kn_fit_scales scales = {0.1, 0.5, true};
  kn_tracks tracks;
  throw_all(&tracks, truth);
  kn_model* model = box_of(other);
  kn_fit_world world = world_of(model);
  CHECK_OK(kn_tracks_score(one, &world, &tracks, &scales, 1));
  CHECK_OK(kn_tracks_score(five, &world, &tracks, &scales, 5));
  for (int i = 0; i < TOSSES; i++) CHECK_BITS(&one[i].cost, &five[i].cost, 1);
  CHECK(one[0].cost > 0.0);
  kn_model_destroy(model);
  kn_tracks_free(&tracks);
}

/* A quarter turn about z beside none is π/2; a shift of (3, 4, 0) mm is 5 mm. */
TEST(errors_are_distances_and_angles) {
  const double x[3] = {0.2, 0.2, 1e-3};
  kn_model* model = box_of(x);
  kn_tracks tracks = {.nq = 7, .nv = 6};
  kn_track* t = kn_tracks_add(&tracks, 1);
  kn_track_score score;
  kn_fit_scales scales = {0.005, 1.5707963267948966, false};
  double is[7] = {0.003, 0.004, 0, 0.7071067811865476, 0, 0, -0.7071067811865476};
  memcpy(t->q, (double[7]){0, 0, 0, 1, 0, 0, 0}, sizeof is);
  kn_track_compare(&score, model, t, is, &scales);
  CHECK_NEAR(score.position, 0.005, 1e-15);
  CHECK_NEAR(score.rotation, 1.5707963267948966, 1e-14);
  CHECK_NEAR(score.cost, 2.0, 1e-13);
  kn_tracks_free(&tracks);
  kn_model_destroy(model);
}

static const char* put(const char* text) {
  static char path[64];
  strcpy(path, "/tmp/kn-csv-XXXXXX");
  int fd = mkstemp(path);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) abort();
  close(fd);
  return path;
}

TEST(tables_are_read_and_mistakes_have_a_place) {
  kn_csv t;
  double x;
  const char* path = put("# made by hand\n a ; b \n1;2\n\n3; x\r\n");
  if (CHECK_OK(kn_csv_read(&t, path))) {
    CHECK_INT(t.rows, 2);
    CHECK_OK(kn_csv_number(&x, &t, 0, kn_csv_column(&t, "b")));
    CHECK_NEAR(x, 2.0, 0.0);
    CHECK_STATUS(kn_csv_number(&x, &t, 1, 1), KN_BAD_FILE);
    CHECK_TEXT(kn_last_error(), ":5:4: column b: expected a number");
    CHECK_INT(kn_csv_column(&t, "c"), -1);
    kn_csv_free(&t);
  }
  unlink(path);
  path = put("a,b\n1,2\n1,2,3\n");
  CHECK_STATUS(kn_csv_read(&t, path), KN_BAD_FILE);
  CHECK_TEXT(kn_last_error(), ":3:1: 3 cells, expected 2");
  unlink(path);
  path = put("a,b\n");
  CHECK_STATUS(kn_csv_read(&t, path), KN_BAD_FILE);
  unlink(path);
  CHECK_STATUS(kn_csv_read(&t, "/nowhere/at/all.csv"), KN_NOT_FOUND);
}
