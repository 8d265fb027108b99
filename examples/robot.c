/* A robot from a file falls onto a floor: robot [FILE], MJCF or URDF; without a file a small walker written below.
   Prints what the loader has to say, then the audit of every tenth of a second.

   Build against an installed knuckle: cc robot.c $(pkg-config --cflags --libs knuckle) -o robot */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/load.h"
#include "knuckle/step.h"

static const char walker[] =
    "<mujoco model='walker'><worldbody>"
    "  <geom name='floor' type='plane' size='5 5 1'/>"
    "  <body name='trunk' pos='0 0 0.5'><freejoint/><geom type='box' size='0.2 0.1 0.05' mass='4'/>"
    "    <body name='left' pos='0 0.12 0'><joint name='left' axis='0 1 0' damping='0.5'/>"
    "      <geom type='capsule' fromto='0 0 0 0 0 -0.3' size='0.03' mass='0.5'/></body>"
    "    <body name='right' pos='0 -0.12 0'><joint name='right' axis='0 1 0' damping='0.5'/>"
    "      <geom type='capsule' fromto='0 0 0 0 0 -0.3' size='0.03' mass='0.5'/></body>"
    "  </body></worldbody></mujoco>";

static void must(kn_status status) {
  if (status == KN_OK) return;
  fprintf(stderr, "%s: %s\n", kn_status_name(status), kn_last_error());
  exit(1);
}

static kn_model* load(const char* path) {
  kn_load_settings settings = kn_load_default();
  kn_load_report* report;
  kn_spec* spec;
  kn_model* model;
  settings.base = KN_BASE_FLOATING; /* of a URDF; MJCF says it itself */
  must(path ? kn_load(&spec, &report, path, &settings)
            : kn_load_text(&spec, &report, "walker.xml", walker, strlen(walker), &settings));
  for (int i = 0; i < kn_load_notes(report); i++)
    printf("%s: %s\n", kn_load_note(report, i)->where, kn_load_note(report, i)->what);
  kn_load_report_free(report);
  must(kn_compile(&model, spec));
  kn_spec_destroy(spec);
  return model;
}

int main(int argc, char** argv) {
  kn_model* model = load(argc > 1 ? argv[1] : NULL);
  kn_sim_settings settings = kn_sim_default();
  kn_state* state;
  kn_sim* sim;
  must(kn_state_create(&state, model));
  must(kn_sim_create(&sim, model, &settings));
  must(kn_sim_prepare(sim, state));
  bool sound = true;
  for (int i = 1; i <= 1000; i++) {
    must(kn_step(sim, state));
    const kn_report* r = kn_sim_report(sim);
    sound = sound && r->status == KN_OK && r->gain_rel < 1e-9; /* contacts create no energy */
    if (i % 100 == 0)
      printf("t = %.1f s: %d contacts, residual %.0e, overlap %.0e m, energy %.3f J\n", r->t, r->contacts,
             r->residual, r->penetration, r->energy.kinetic + r->energy.potential);
  }
  kn_sim_destroy(sim);
  kn_state_destroy(state);
  kn_model_destroy(model);
  return sound ? 0 : 1;
}
