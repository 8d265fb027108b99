/* Choices of a simulator by name. */
#include <math.h>
#include <string.h>

#include "floor.h"
#include "knuckle/load.h"
#include "test.h"

static kn_spec* boxes(int n) {
  kn_spec* spec = kn_floor_spec(0.6, 0.0, 0.0);
  for (int i = 0; i < n; i++)
    kn_floor_add(spec, NULL, KN_SHAPE_BOX, 0.1, 0.1, 0.1, 1.0, (double[3]){0.5 * i, 0, 0.1}, 0.6, 0.0);
  return spec;
}

/* The texts given to kn_sim_create may be gone when it returns. */
TEST(names_of_choices_are_not_kept) {
  char text[5][32];
  static const char* const name[5] = {"rmc", "gs", "newton", "theta", "clear"};
  for (int i = 0; i < 5; i++) snprintf(text[i], sizeof text[i], "%s", name[i]);
  kn_sim_settings s = kn_sim_default();
  kn_floor w;
  s.formulation = text[0], s.solver = text[1], s.law = text[2], s.stepper = text[3];
  s.fast = text[4];
  if (!kn_floor_open(&w, boxes(2), &s)) return kn_floor_close(&w);
  memset(text, 'x', sizeof text);
  const kn_sim_settings* kept = kn_sim_settings_of(w.sim);
  CHECK(strcmp(kept->formulation, "rmc") == 0 && strcmp(kept->solver, "gs") == 0);
  CHECK(strcmp(kept->law, "newton") == 0 && strcmp(kept->stepper, "theta") == 0);
  CHECK(strcmp(kept->fast, "clear") == 0);
  for (int i = 0; i < 5; i++) CHECK_OK(kn_step(w.sim, w.state));
  kn_floor_close(&w);
}

TEST(unknown_choices_are_refused_with_the_nearest_name) {
  kn_floor w;
  kn_sim* sim;
  if (!kn_floor_open(&w, boxes(1), NULL)) return kn_floor_close(&w);
  kn_sim_settings s = kn_sim_default();
  s.solver = "newtn";
  CHECK_STATUS(kn_sim_create(&sim, w.model, &s), KN_NOT_FOUND);
  CHECK_TEXT(kn_last_error(), "'newton'");
  CHECK(sim == NULL);
  s.solver = "lemke"; /* not for the cone */
  CHECK_STATUS(kn_sim_create(&sim, w.model, &s), KN_NOT_FOUND);
  s.friction = 4;
  CHECK_OK(kn_sim_create(&sim, w.model, &s));
  kn_sim_destroy(sim);
  s = kn_sim_default();
  s.stepper = "tiem";
  CHECK_STATUS(kn_sim_create(&sim, w.model, &s), KN_NOT_FOUND);
  CHECK_TEXT(kn_last_error(), "'time'");
  s.formulation = s.solver = s.law = s.stepper = NULL; /* as the default has them */
  CHECK_OK(kn_sim_create(&sim, w.model, &s));
  CHECK(strcmp(kn_sim_settings_of(sim)->solver, "auto") == 0);
  kn_sim_destroy(sim);
  kn_floor_close(&w);
}

TEST(every_setting_out_of_its_range_is_refused) {
  kn_floor w;
  kn_sim* sim;
  if (!kn_floor_open(&w, boxes(1), NULL)) return kn_floor_close(&w);
#define REFUSED(field, ...)                                                                                  \
  do {                                                                                                       \
    const double values[] = {__VA_ARGS__};                                                                   \
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {                                            \
      kn_sim_settings s = kn_sim_default();                                                                  \
      s.field = (__typeof__(s.field))values[i];                                                              \
      CHECK_STATUS(kn_sim_create(&sim, w.model, &s), KN_BAD_ARGUMENT);                                       \
      CHECK(sim == NULL);                                                                                    \
    }                                                                                                        \
  } while (0)
  REFUSED(dt, 0.0, -1.0, NAN, INFINITY);
  REFUSED(friction, 3, 5, -4);
  REFUSED(friction_tol, -1.0, NAN, 0.1); /* the last: with the cone */
  REFUSED(certificate, 99);
  REFUSED(gtol, 0.0, NAN);
  REFUSED(tolerance, 0.0, NAN);
  REFUSED(sleep, -1.0, NAN, INFINITY);
  REFUSED(sleep_time, -1.0, NAN, INFINITY);
  REFUSED(rtol, 0.0, 0.1, NAN);
  REFUSED(theta, 0.4, 1.1, NAN);
  REFUSED(compliant.eps, 0.0, NAN, 1e-320);
  REFUSED(compliant.K, 0.0, NAN, INFINITY);
  REFUSED(compliant.t0, 0.0, NAN, 1e-170);
  REFUSED(compliant.C, -1.0, NAN, INFINITY);
  REFUSED(compliant.Kt, -1.0, NAN, INFINITY);
  REFUSED(compliant.Ct, -1.0, NAN, INFINITY);
  REFUSED(compliant.m0, -1.0, NAN, INFINITY);
  REFUSED(compliant.law, 99);
  REFUSED(compliant.exponent, 0.5, 11.0, NAN);
  REFUSED(compliant.max_substeps, 0, -1);
  REFUSED(hybrid.hold, 0);
  REFUSED(max_contacts, -1, 1e9);
  REFUSED(contact_room, -1, 1e9);
  kn_floor_close(&w);
}

/* Solvers of cones in three rows left rows of torsion and rolling unsolved, with a residual of infinity in every step. */
TEST(solvers_that_know_no_spin_are_refused_where_something_spins) {
  static const char text[] =
      "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/><body pos='0 0 .1'><freejoint/>"
      "<geom name='ball' size='.1'/></body></worldbody>"
      "<contact><pair geom1='ball' geom2='floor' condim='6' friction='.5 .5 .01 .001 "
      ".001'/></contact></mujoco>";
  for (const kn_cone_solver* k = kn_cone_solvers(); k->name; k++) {
    kn_spec* spec = NULL;
    kn_model* model = NULL;
    kn_sim* sim = NULL;
    kn_sim_settings s = kn_sim_default();
    s.solver = k->name;
    CHECK_OK(kn_load_text(&spec, NULL, "spin.xml", text, strlen(text), NULL));
    CHECK_OK(kn_compile(&model, spec));
    kn_status status = kn_sim_create(&sim, model, &s);
    CHECK_INT(status, k->tall ? KN_OK : KN_UNSUPPORTED);
    if (!k->tall) CHECK_TEXT(kn_last_error(), k->name);
    kn_sim_destroy(sim);
    kn_model_destroy(model);
    kn_spec_destroy(spec);
  }
}
