/* Sensors in recordings: the values of every step come back as the simulator showed them, and the verifier finds values
   that do not belong to their step. */
#include "knuckle/sensor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "knuckle/load.h"
#include "knuckle/record.h"
#include "record/verify/verify.h"
#include "test.h"

/* Contacts, a limit, a dry joint, a loop, a servo and a propeller with its reference. */
static const char text[] =
    "<mujoco><worldbody><geom type='plane' size='0 0 1'/>"
    "<body name='box' pos='0 0 .35'><freejoint/><geom type='box' size='.1 .2 .3' mass='2'/><site name='a' "
    "pos='.1 0 .1'/>"
    "<body pos='0 0 .4'><joint name='dry' axis='0 1 0' frictionloss='.1'/><geom size='.05' mass='.2' pos='.1 "
    "0 0'/>"
    "<site name='b' pos='.1 0 .05'/></body></body>"
    "<body name='arm' pos='1 0 1'><joint name='j' axis='0 1 0' range='-1 .2' limited='true'/><geom "
    "type='box' "
    "size='.2 .02 .02' pos='.2 0 0' mass='1'/><site name='c' pos='.4 0 0'/></body>"
    "<body name='rod' pos='2 0 1'><joint axis='0 1 0'/><geom type='box' size='.2 .02 .02' pos='.2 0 0' "
    "mass='1'/>"
    "<site name='d' pos='.4 0 0'/></body></worldbody>"
    "<equality><connect body1='rod' anchor='.3 0 0'/></equality>"
    "<actuator><position name='servo' joint='dry' kp='2' kv='.1'/><general name='pull' site='b' refsite='a' "
    "gear='0 0 1 0 .1 0' gainprm='1' biastype='affine' biasprm='.3 -2 -.1'/></actuator>"
    "<sensor><accelerometer name='acc' site='a'/><accelerometer name='acc_b' site='b'/><touch name='touch' "
    "site='a'/>"
    "<force name='f' site='b'/><torque name='t' site='b'/><accelerometer name='acc_c' "
    "site='c'/><jointlimitfrc "
    "name='limit' joint='j'/><accelerometer name='acc_d' site='d'/><force name='f_d' site='d'/><actuatorfrc "
    "name='pull' "
    "actuator='pull'/><framequat name='q' objtype='site' objname='b'/><clock "
    "name='clock'/></sensor></mujoco>";

static kn_status push(double* tau, double* ctrl, double t, const double* q, const double* v, void* memory,
                      void* context) {
  (void)q, (void)v, (void)memory, (void)context;
  tau[6] += 0.2 * (t < 0.1);
  ctrl[0] = 0.3;
  return KN_OK;
}

enum { STEPS = 200, ROOM = 64 };

static kn_model* record(const char* path, double shown[STEPS][ROOM]) {
  kn_spec* spec = NULL;
  kn_model* m = NULL;
  kn_sim* sim = NULL;
  kn_state* x = NULL;
  kn_recorder* r = NULL;
  kn_load_settings set = kn_load_default();
  kn_controller control = {.fn = push};
  CHECK_OK(kn_load_text(&spec, NULL, "test.xml", text, strlen(text), &set));
  CHECK_OK(kn_compile(&m, spec));
  kn_spec_destroy(spec);
  CHECK_OK(kn_sim_create(&sim, m, NULL));
  CHECK_OK(kn_sim_set_controller(sim, &control));
  CHECK_OK(kn_state_create(&x, m));
  CHECK_OK(kn_recorder_open(&r, path, sim, NULL));
  CHECK(kn_model_sensor_numbers(m) <= ROOM);
  for (int i = 0; i < STEPS; i++) {
    CHECK_OK(kn_step(sim, x));
    CHECK_OK(kn_recorder_step(r, x));
    CHECK_OK(kn_sim_sensors(shown[i], sim, x));
  }
  CHECK_OK(kn_recorder_close(r));
  kn_state_destroy(x), kn_sim_destroy(sim);
  return m;
}

static void count(void* context, int64_t step, const char* check, double value, double limit) {
  (void)step, (void)value, (void)limit;
  *(int*)context += strcmp(check, "sensors") == 0;
}

TEST(sensors_come_back_from_recordings_and_are_verified) {
  static double shown[STEPS][ROOM];
  static kn_verification found;
  char path[] = "/tmp/knuckle-sensors-XXXXXX";
  int fd = mkstemp(path), wrong = 0;
  if (!CHECK(fd >= 0)) return;
  close(fd);
  kn_model* m = record(path, shown);
  kn_recording* in = NULL;
  kn_recorded s;
  kn_verifier v;
  CHECK_OK(kn_recording_open(&in, path));
  CHECK_OK(kn_verify(&found, in));
  CHECK_INT(found.steps, STEPS);
  CHECK_INT(found.violations, 0);
  for (int i = 0; i < found.listed; i++)
    printf("  step %ld: %s %g > %g\n", (long)found.violation[i].step, found.violation[i].check,
           found.violation[i].value, found.violation[i].limit);
  size_t bytes = (size_t)kn_model_sensor_numbers(m) * sizeof(double);
  CHECK_OK(kn_verifier_create(&v, kn_recording_model(in)));
  v.found = count, v.context = &wrong;
  for (int i = 0; i < kn_recording_steps(in); i++) {
    double changed[ROOM];
    CHECK_OK(kn_recording_read(&s, in, i));
    if (!CHECK(s.sensors && memcmp(s.sensors, shown[i], bytes) == 0)) break;
    memcpy(changed, s.sensors, bytes);
    changed[i % kn_model_sensor_numbers(m)] += 1e-9; /* every number in turn */
    s.sensors = changed;
    kn_verifier_step(&v, &s);
    CHECK_INT(wrong, i + 1);
  }
  kn_verifier_destroy(&v);
  kn_recording_close(in);
  kn_model_destroy(m);
  unlink(path);
}
