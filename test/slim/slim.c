/* The library without anything optional (cmake/lints.cmake): a mechanism with contact is built, stepped and
   saved, and each missing part says KN_UNSUPPORTED "built without …". A failed check prints its line. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "knuckle/certify.h"
#include "knuckle/fclib.h"
#include "knuckle/features.h"
#include "knuckle/load.h"
#include "knuckle/mesh.h"
#include "knuckle/record.h"

static int failures;
#define CHECK(x)                                                                                             \
  do {                                                                                                       \
    if (!(x)) printf("%s:%d: %s (%s)\n", __FILE__, __LINE__, #x, kn_last_error()), failures++;               \
  } while (0)

static const char robot[] =
    "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .3'><freejoint/>"
    "<geom type='box' size='.1 .1 .1'/></body></worldbody></mujoco>";

static void unsupported(kn_status status, const char* line) {
  bool right = status == KN_UNSUPPORTED && strstr(kn_last_error(), "built without");
  if (!right) printf("%s: %s, \"%s\"\n", line, kn_status_name(status), kn_last_error());
  failures += !right;
}
#define UNSUPPORTED(call) unsupported(call, #call)

static void missing_parts(kn_sim* sim, const kn_model* model, kn_state* state) {
  const double points[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, W[1] = {1}, e[1] = {0.5};
  double nearest[1];
  kn_hull* hull;
  kn_study* study;
  kn_recorder* recorder;
  kn_recording* recording;
  kn_problem_dump* dump;
  kn_fclib fclib;
  kn_data* data;
  kn_integrate_settings set = kn_integrate_default();
  set.method = KN_INTEGRATE_ADAPTIVE;
  CHECK(kn_data_create(&data, model) == KN_OK);
  UNSUPPORTED(kn_integrate_smooth(state, model, data, 1e-3, &set, NULL, NULL));
  kn_data_destroy(data);
  UNSUPPORTED(kn_hull_create(&hull, points, 4, NULL));
  UNSUPPORTED(kn_study_read(&study, "a.yaml", "dt: 1", 5));
  UNSUPPORTED(kn_recorder_open(&recorder, "a.mcap", sim, NULL));
  UNSUPPORTED(kn_recording_open(&recording, "a.mcap"));
  UNSUPPORTED(kn_problem_dump_open(&dump, ".", sim));
  UNSUPPORTED(kn_fclib_read(&fclib, "a.hdf5"));
  UNSUPPORTED(kn_fclib_read_trusted(&fclib, "a.hdf5"));
  kn_problem problem = {0};
  UNSUPPORTED(kn_fclib_write("a.hdf5", &problem, NULL, NULL));
  UNSUPPORTED(kn_certify_lmi(nearest, 1, W, e));
  for (const kn_feature* f = kn_features(); f->name; f++) CHECK(!f->built && !kn_built_with(f->name));
}

int main(void) {
  kn_spec* spec;
  kn_model* model;
  kn_sim* sim;
  kn_state* state;
  CHECK(kn_load_text(&spec, NULL, "box.xml", robot, strlen(robot), NULL) == KN_OK);
  if (failures) return 1;
  CHECK(kn_compile(&model, spec) == KN_OK);
  CHECK(kn_sim_create(&sim, model, NULL) == KN_OK);
  CHECK(kn_state_create(&state, model) == KN_OK && kn_sim_prepare(sim, state) == KN_OK);
  for (int i = 0; i < 1000; i++) CHECK(kn_step(sim, state) == KN_OK);
  /* it lies on the plane: the gap is within the solver's own contact distance */
  CHECK(fabs(kn_state_q(state)[2] - 0.1) < 1e-5);
  CHECK(kn_sim_report(sim)->contacts == 4 && kn_sim_report(sim)->status == KN_OK);
  missing_parts(sim, model, state);
  kn_state_destroy(state);
  kn_sim_destroy(sim);
  kn_model_destroy(model);
  kn_spec_destroy(spec);
  if (!failures) printf("links alone and steps; what is missing says so\n");
  return failures != 0;
}
