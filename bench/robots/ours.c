#include "ours.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timer.h"
#include "knuckle/broad.h"
#include "knuckle/dynamics.h"
#include "knuckle/load.h"
#include "mjcf.h"
#include "model/model.h"
#include "step/carry.h"

struct robot_ours {
  kn_spec* spec;
  kn_load_report* report;
  kn_model* model;
  kn_state *start, *state;
  kn_sim* sim;
  kn_carry blank; /* what a simulator remembers before a run */
  double dt;
};

/* Of the model's shapes in its zero position. */
static double lowest_point(const kn_model* m, const kn_data* data) {
  double lowest = 0.0, lo[3], hi[3];
  kn_geom_def g;
  kn_pose pose;
  for (int i = 0; i < kn_model_geoms(m); i++)
    if (kn_model_geom(&g, m, i) == KN_OK && (g.contype || g.conaffinity) &&
        kn_geom_pose(&pose, m, data, i) == KN_OK && kn_shape_box(lo, hi, &g.shape, &pose) == KN_OK)
      lowest = fmin(lowest, lo[2]);
  return lowest;
}

/* A floor just below the robot: files that describe a robot alone have none, and their origin is anywhere in it. */
static kn_status add_floor(robot_ours* r) {
  kn_data* data = NULL;
  kn_state* state = NULL;
  kn_geom id;
  kn_geom_def floor = kn_geom_default(KN_SHAPE_PLANE);
  floor.name = "floor", floor.body = KN_WORLD;
  floor.contype = floor.conaffinity =
      INT32_MAX; /* whatever the robot's bits say, as far as MuJoCo reads numbers */
  kn_status status = kn_data_create(&data, r->model);
  if (status == KN_OK) status = kn_state_create(&state, r->model);
  if (status == KN_OK) status = kn_kinematics(r->model, state, data);
  if (status == KN_OK) floor.pos[2] = lowest_point(r->model, data) - 0.01;
  kn_data_destroy(data);
  kn_state_destroy(state);
  if (status == KN_OK) status = kn_spec_add_geom(&id, r->spec, &floor);
  kn_model_destroy(r->model);
  r->model = NULL;
  return status == KN_OK ? kn_compile(&r->model, r->spec) : status;
}

/* As `knuckle run` has it: links of one robot whose shapes overlap in the starting pose are left out of contact, for the
   peers too, which get the model from here. */
static kn_status leave_out(robot_ours* r) {
  static const double depth = 1e-6; /* m: less is rounding of a file, which the first step repairs */
  kn_sim_settings settings = kn_sim_default();
  kn_state* state = NULL;
  kn_sim* sim = NULL;
  const kn_contact* c = NULL;
  int count = 0;
  kn_status status = kn_state_create(&state, r->model);
  if (status == KN_OK) status = kn_sim_create(&sim, r->model, &settings);
  if (status == KN_OK) status = kn_sim_contacts(&c, &count, sim, state, 0.0);
  for (int i = 0; i < count && status == KN_OK; i++)
    if (c[i].gap < -depth && c[i].body_a != KN_WORLD && c[i].body_b != KN_WORLD)
      status = kn_spec_add_exclusion(r->spec, c[i].body_a, c[i].body_b);
  kn_sim_destroy(sim);
  kn_state_destroy(state);
  return status;
}

static kn_status load(robot_ours* r, robot_file* file) {
  kn_load_settings settings = kn_load_default();
  settings.base = KN_BASE_FLOATING;
  kn_status status = kn_load(&r->spec, &r->report, file->path, &settings);
  if (status == KN_OK && file->task == ROBOT_PASSIVE) status = kn_spec_disable_actuators(r->spec);
  if (status == KN_OK) status = kn_compile(&r->model, r->spec);
  if (status == KN_OK && file->urdf) status = leave_out(r);
  return status == KN_OK && file->urdf ? add_floor(r) : status;
}

static kn_status place(robot_ours* r) {
  kn_status status = kn_state_create(&r->start, r->model);
  if (status == KN_OK) status = kn_state_create(&r->state, r->model);
  if (status == KN_OK && kn_model_keyframes(r->model) > 0) status = kn_state_keyframe(r->start, 0);
  return status;
}

static kn_status simulator(robot_ours* r, robot_file* file) {
  kn_sim_settings settings = kn_sim_default();
  double dt = kn_load_timestep(r->report);
  settings.dt = file->dt = dt > 0.0 ? dt : 0.002;
  kn_status status = kn_sim_create(&r->sim, r->model, &settings);
  if (status == KN_OK) status = kn_sim_prepare(r->sim, r->start);
  if (status == KN_OK) status = kn_sim_prepare(r->sim, r->state);
  if (status == KN_OK) status = kn_carry_create(&r->blank, r->model);
  return status;
}

robot_ours* robot_ours_open(robot_file* file, char* why, int room) {
  robot_ours* r = calloc(1, sizeof *r);
  kn_status status = r ? load(r, file) : KN_OUT_OF_MEMORY;
  *why = '\0';
  bool stands = status == KN_OK && kn_model_keyframes(r->model) > 0 && kn_model_nu(r->model) > 0;
  if (status == KN_OK && file->task == ROBOT_STAND && !stands) {
    robot_ours_close(r);
    return NULL;
  }
  if (status == KN_OK) status = place(r);
  if (status == KN_OK) status = simulator(r, file);
  if (status == KN_OK) return r;
  snprintf(why, (size_t)room, "%s", kn_last_error());
  robot_ours_close(r);
  return NULL;
}

void robot_ours_close(robot_ours* r) {
  if (!r) return;
  kn_carry_destroy(&r->blank);
  kn_sim_destroy(r->sim);
  kn_state_destroy(r->start);
  kn_state_destroy(r->state);
  kn_model_destroy(r->model);
  kn_load_report_free(r->report);
  kn_spec_destroy(r->spec);
  free(r);
}

int robot_ours_nv(const robot_ours* r) { return kn_model_nv(r->model); }

bool robot_ours_save(const robot_ours* r, const char* path) {
  kn_mjcf_settings settings = kn_mjcf_default();
  settings.timestep = kn_sim_settings_of(r->sim)->dt;
  settings.least_inertia = 1e-9; /* frames without mass, sensors */
  return kn_mjcf_save(path, r->model, &settings) == KN_OK;
}

void robot_ours_time_stages(robot_ours* r) {
  kn_sim_settings settings = *kn_sim_settings_of(r->sim);
  settings.stage_times = true;
  kn_sim_destroy(r->sim);
  if (kn_sim_create(&r->sim, r->model, &settings) == KN_OK) kn_sim_prepare(r->sim, r->state);
}

static void add_times(kn_stage_times* to, const kn_stage_times* from, double scale) {
  double* a = (double*)to;
  const double* b = (const double*)from;
  for (size_t i = 0; i < sizeof *to / sizeof(double); i++) a[i] += scale * b[i];
}

/* Stages are booked by the wall clock: a step in which others had the processor does not count. us: its CPU time. */
static bool undisturbed(const kn_stage_times* time, double us) {
  const double* t = (const double*)time;
  double sum = 0.0;
  for (size_t i = 0; i < sizeof *time / sizeof(double); i++) sum += t[i];
  return 1e6 * sum <= us;
}

/* What holds in a step and how, to be compared with the next: contacts by key, then limits, then dry joints. */
enum { MODES = 1000 };
typedef struct modes {
  int contacts, count;
  uint64_t key[MODES];
  int mode[MODES];
} modes;

static void add_mode(modes* m, uint64_t key, int mode) {
  if (m->count == MODES) return;
  m->key[m->count] = key, m->mode[m->count++] = mode;
}

static void modes_of(modes* m, const kn_report* report, const kn_model* model) {
  m->count = 0;
  for (int i = 0; i < report->contacts; i++)
    add_mode(m, report->contact[i].key, (int)report->contact[i].mode);
  m->contacts = m->count;
  for (int i = 0; i < model->nlimit; i++) add_mode(m, (uint64_t)i, report->limit_impulse[i] != 0.0);
  for (int j = 0; j < model->nv && report->dry_impulse; j++) {
    double most = report->dt * model->friction[j] * (1.0 - 1e-9), p = report->dry_impulse[j];
    add_mode(m, (uint64_t)j, p >= most ? 1 : p <= -most ? -1 : 0);
  }
}

static int changes_of(const modes* now, const modes* before) {
  int changes = 0, rest = now->count - now->contacts, last = before->count - before->contacts;
  for (int i = 0; i < now->contacts; i++)
    for (int j = 0; j < before->contacts; j++)
      changes += now->key[i] == before->key[j] && now->mode[i] != before->mode[j];
  for (int i = 0; i < rest && rest == last; i++)
    changes += now->mode[now->contacts + i] != before->mode[before->contacts + i];
  return changes;
}

/* Energy that nothing explains, as kn_energy_rise has it, but from where the first step has repaired the start: what that
   lifts out of overlaps is told apart. */
typedef struct climb {
  double start, low, rise; /* J */
} climb;

static void climb_on(climb* c, const kn_report* r, bool first) {
  double F =
      r->energy.kinetic + r->energy.potential + r->energy.spring - r->total.compliant - r->rise.work_in;
  if (first) c->start = fmax(r->ledger.correction, 0.0), c->low = r->rise.initial + c->start;
  c->low = fmin(c->low, F);
  c->rise = fmax(c->rise, F - c->low);
}

static const double patience = 20e6; /* us of a run: no model holds up the others */

int robot_ours_run(robot_run* run, robot_ours* r, double* us, int steps) {
  const kn_report* report = kn_sim_report(r->sim);
  static modes seen[2];
  climb energy = {0};
  int touching = 0, left = 0, clean = 0, i;
  double contacts = 0, spent = 0;
  *run = (robot_run){.nv = kn_model_nv(r->model)};
  for (int j = 0; j < run->nv; j++) run->dry += r->model->friction[j] > 0.0;
  kn_state_copy(r->state, r->start);
  kn_carry_give(r->sim, &r->blank); /* the energy of the run before is not this one's */
  for (i = 0; i < steps && spent < patience; i++) {
    double t = kn_cpu_seconds();
    kn_status status = kn_step(r->sim, r->state);
    us[i] = 1e6 * (kn_cpu_seconds() - t);
    spent += us[i];
    if (status != KN_OK) break;
    run->mean += us[i] / steps;
    if (undisturbed(&report->time, us[i])) add_times(&run->time, &report->time, 1e6), clean++;
    run->residual = fmax(run->residual, report->residual);
    climb_on(&energy, report, i == 0);
    if (i > steps / 10) run->overlap = fmax(run->overlap, report->penetration);
    run->limits += report->limits, run->loops += report->loops;
    touching += report->contacts > 0, contacts += report->contacts;
    left += report->left_warm > 0;
    modes_of(&seen[i % 2], report, r->model);
    if (i > 0) run->changes += changes_of(&seen[i % 2], &seen[1 - i % 2]);
    for (int e = 0; e < report->events; e++) run->troubles += report->event[e].kind == KN_EVENT_TROUBLE;
  }
  add_times(&run->time, &run->time, 1.0 / fmax(clean, 1) - 1.0);
  run->contacts = touching ? (int)lround(contacts / touching) : 0;
  run->contact_rows = 3.0 * contacts / fmax(i, 1);
  run->limits /= fmax(i, 1), run->loops /= fmax(i, 1);
  run->changes /= fmax(i, 1);
  double scale = report->rise.scale > 0.0 ? report->rise.scale : 1.0;
  run->rise_rel = energy.rise / scale, run->start_rel = energy.start / scale;
  run->left_warm = i ? (double)left / i : 0.0;
  return i;
}
