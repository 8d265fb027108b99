/* Trajectories from files: tables by the columns that a study describes, and our own recordings.

   A table's rows are frames; rows with the same value of the column `trajectory` that stand together are one track. Velocities
   that the study gives no columns for are the difference of the first two frames over their time. A recording is one track:
   the state before its first step, then the state after every step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fit/csv.h"
#include "fit/track.h"
#include "knuckle/record.h"

typedef struct reader {
  const kn_model* model;
  const double* start;
  const kn_study* study;
  const kn_study_data* data;
  char path[4096];
} reader;

static kn_status in_study(const reader* r, int line, int column, const char* what, const char* name) {
  return kn_fail_at(KN_BAD_FILE, r->study->path, line, column, what, name, r->path);
}

/* ---- tables ---- */

typedef struct source { /* where number `to` of q or v comes from */
  int to, column;
  double factor, offset;
} source;

enum { SOURCES = 512 };
typedef struct mapping {
  source q[SOURCES], v[SOURCES];
  int nq, nv, trajectory, time;
} mapping;

static kn_status find_column(int* out, const reader* r, const kn_csv* t, const char* name, int line,
                             int column) {
  *out = kn_csv_column(t, name);
  return *out >= 0 ? KN_OK : in_study(r, line, column, "no column \"%.60s\" in %.200s", name);
}

static kn_status map_joint(source* list, int* count, const reader* r, const kn_csv* t,
                           const kn_study_measured* m, bool velocity) {
  kn_joint joint;
  int q, nq, v, nv;
  if (kn_model_find_joint(&joint, r->model, m->joint) != KN_OK)
    return kn_fail_at(KN_BAD_FILE, r->study->path, m->line, m->place, "no joint \"%.60s\" in the model",
                      m->joint);
  KN_TRY(kn_model_joint_address(&q, &nq, &v, &nv, r->model, joint));
  if (m->columns != (velocity ? nv : nq))
    return kn_fail_at(KN_BAD_FILE, r->study->path, m->line, m->place,
                      "joint \"%.60s\" has %d numbers, expected %d columns", m->joint, velocity ? nv : nq,
                      velocity ? nv : nq);
  for (int k = 0; k < m->columns; k++) {
    const kn_study_column* c = &m->column[k];
    int column;
    if (*count == SOURCES) return kn_fail(KN_NO_ROOM, "%s: more than %d columns", r->study->path, SOURCES);
    KN_TRY(find_column(&column, r, t, c->name, c->line, c->column));
    list[(*count)++] = (source){(velocity ? v : q) + k, column, c->factor, c->offset};
  }
  return KN_OK;
}

static kn_status map_table(mapping* m, const reader* r, const kn_csv* t) {
  const kn_study_data* d = r->data;
  *m = (mapping){.trajectory = -1, .time = -1};
  if (d->trajectory) KN_TRY(find_column(&m->trajectory, r, t, d->trajectory, d->line, d->column));
  if (d->time) KN_TRY(find_column(&m->time, r, t, d->time, d->line, d->column));
  for (int i = 0; i < d->q_count; i++) KN_TRY(map_joint(m->q, &m->nq, r, t, &d->q[i], false));
  for (int i = 0; i < d->v_count; i++) KN_TRY(map_joint(m->v, &m->nv, r, t, &d->v[i], true));
  return KN_OK;
}

static kn_status read_sources(double* out, const kn_csv* t, int row, const source* list, int count) {
  for (int i = 0; i < count; i++) {
    double x;
    KN_TRY(kn_csv_number(&x, t, row, list[i].column));
    out[list[i].to] = x * list[i].factor + list[i].offset;
  }
  return KN_OK;
}

static void unit_quaternion(double* w) {
  double norm = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + w[3] * w[3]);
  for (int k = 0; k < 4 && norm > 0.0; k++) w[k] /= norm;
}

/* Measured quaternions are unit up to their digits; the engine's are to rounding. */
static void normalise(double* q, const kn_model* model) {
  for (int j = 0; j < kn_model_joints(model); j++) {
    kn_joint_def def;
    int at, n, v, nv;
    if (kn_model_joint(&def, model, j) != KN_OK ||
        kn_model_joint_address(&at, &n, &v, &nv, model, j) != KN_OK)
      continue;
    if (def.type == KN_JOINT_FREE) unit_quaternion(q + at + 3);
    if (def.type == KN_JOINT_BALL) unit_quaternion(q + at);
  }
}

/* Velocities of the first frame: by difference, then those that have columns. */
static kn_status start_velocity(kn_track* k, const reader* r, const kn_csv* t, int row, const mapping* m) {
  int nq = kn_model_nq(r->model), nv = kn_model_nv(r->model);
  double* both = malloc(2 * (size_t)(nq + 1) * sizeof *both);
  if (!both) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", r->path);
  for (int f = 0; f < 2; f++)
    for (int i = 0; i < nq; i++) {
      double x = k->frames > f ? k->q[f * nq + i] : k->q[i];
      both[f * nq + i] = isnan(x) ? r->start[i] : x;
    }
  kn_status status = kn_difference(k->v, r->model, both, both + nq);
  for (int i = 0; i < nv && k->frames > 1; i++) k->v[i] /= k->t[1] - k->t[0];
  free(both);
  return status == KN_OK ? read_sources(k->v, t, row, m->v, m->nv) : status;
}

static kn_status read_track(kn_tracks* all, const reader* r, const kn_csv* t, const mapping* m, int first,
                            int end) {
  int frames = (end - first + r->data->every - 1) / r->data->every;
  kn_track* k = kn_tracks_add(all, frames);
  if (!k) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", r->path);
  if (m->trajectory >= 0)
    snprintf(k->name, sizeof k->name, "%.20s %.12g", r->data->trajectory,
             t->value[(size_t)first * (size_t)t->columns + (size_t)m->trajectory]);
  else
    snprintf(k->name, sizeof k->name, "%.40s", r->data->file);
  for (int f = 0; f < frames; f++) {
    int row = first + f * r->data->every;
    k->t[f] = f * r->data->every / (isnan(r->data->rate) ? 1.0 : r->data->rate);
    if (m->time >= 0) KN_TRY(kn_csv_number(&k->t[f], t, row, m->time));
    if (f > 0 && !(k->t[f] > k->t[f - 1]))
      return kn_fail_at(KN_BAD_FILE, r->path, t->line[row], 1, "time %g after %g, expected times that grow",
                        k->t[f], k->t[f - 1]);
    KN_TRY(read_sources(k->q + f * all->nq, t, row, m->q, m->nq));
    normalise(k->q + f * all->nq, r->model);
  }
  return start_velocity(k, r, t, first, m);
}

static kn_status read_table(kn_tracks* all, const reader* r) {
  kn_csv t;
  mapping m;
  KN_TRY(kn_csv_read(&t, r->path));
  kn_status status = map_table(&m, r, &t);
  for (int first = 0, end; status == KN_OK && first < t.rows; first = end) {
    double name = 0.0, next;
    end = first + 1;
    if (m.trajectory >= 0) status = kn_csv_number(&name, &t, first, m.trajectory);
    for (; status == KN_OK && end < t.rows; end++) {
      if (m.trajectory < 0) continue;
      status = kn_csv_number(&next, &t, end, m.trajectory);
      if (next != name) break;
    }
    if (status == KN_OK) status = read_track(all, r, &t, &m, first, end);
  }
  kn_csv_free(&t);
  return status;
}

/* ---- recordings ---- */

static kn_status read_steps(kn_tracks* all, const reader* r, kn_recording* recording) {
  int steps = kn_recording_steps(recording), every = r->data->every, frames = steps / every + 1;
  size_t nq = (size_t)all->nq, nv = (size_t)all->nv;
  const kn_model* recorded = kn_recording_model(recording);
  kn_recorded step;
  if (kn_model_nq(recorded) != all->nq || kn_model_nv(recorded) != all->nv)
    return in_study(r, r->data->line, r->data->column,
                    "%.0s%.200s is the recording of another mechanism: its coordinates are not the model's",
                    "");
  kn_track* k = kn_tracks_add(all, frames);
  if (!k) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", r->path);
  snprintf(k->name, sizeof k->name, "%.40s", r->data->file);
  for (int i = 0; i < steps; i++) {
    KN_TRY(kn_recording_read(&step, recording, i));
    if (i == 0) {
      k->t[0] = step.t - step.dt;
      memcpy(k->q, step.q_before, nq * sizeof(double));
      memcpy(k->v, step.v_before, nv * sizeof(double));
    }
    int f = (i + 1) / every;
    if ((i + 1) % every != 0) continue;
    k->t[f] = step.t;
    memcpy(k->q + (size_t)f * nq, step.q, nq * sizeof(double));
  }
  return steps > 0 ? KN_OK : kn_fail_at(KN_BAD_FILE, r->path, 1, 1, "the recording has no steps");
}

static kn_status read_recording(kn_tracks* all, const reader* r) {
  kn_recording* recording = NULL;
  KN_TRY(kn_recording_open(&recording, r->path));
  kn_status status = read_steps(all, r, recording);
  kn_recording_close(recording);
  return status;
}

/* ---- all ---- */

kn_status kn_tracks_read(kn_tracks* all, const kn_model* model, const double* start, const kn_study* study) {
  KN_REQUIRE(all != NULL && model != NULL && start != NULL && study != NULL && study->fit != NULL);
  *all = (kn_tracks){.nq = kn_model_nq(model), .nv = kn_model_nv(model)};
  const char* slash = strrchr(study->path, '/');
  kn_status status = KN_OK;
  for (int i = 0; i < study->fit->files && status == KN_OK; i++) {
    reader r = {.model = model, .start = start, .study = study, .data = &study->fit->data[i]};
    int folder = slash && r.data->file[0] != '/' ? (int)(slash - study->path) + 1 : 0;
    snprintf(r.path, sizeof r.path, "%.*s%s", folder, study->path, r.data->file);
    size_t n = strlen(r.path);
    bool recording = n > 5 && strcmp(r.path + n - 5, ".mcap") == 0;
    status = recording ? read_recording(all, &r) : read_table(all, &r);
  }
  if (status != KN_OK) kn_tracks_free(all);
  return status;
}
