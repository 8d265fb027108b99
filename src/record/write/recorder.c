/* Writing: the simulating thread copies its steps into one of a few buffers; a writer thread codes those of
   the full ones into a chunk, and compresses and writes the chunk when it is large or old enough. */
#include "knuckle/record.h"

kn_record_settings kn_record_default(void) {
  return (kn_record_settings){
      .every = 1, .scene_rate = 60.0, .chunk_bytes = 1 << 20, .chunk_seconds = 1.0, .level = -10};
}

#ifdef KN_HAVE_RECORD
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/hoard.h"
#include "base/plain.h"
#include "base/timer.h"
#include "knuckle/sensor.h"
#include "record/frame.h"
#include "record/model_io.h"
#include "record/write/mcap.h"
#include "record/write/shown.h"
#include "record/write/stream.h"
#include "step/sleep/sleep.h"

typedef struct entry { /* of a message in a chunk */
  uint16_t channel;
  uint64_t time, offset;
} entry;

typedef struct chunk {
  kn_bytes records;
  entry* index;
  int count, capacity;
  uint64_t first, last;
} chunk;

typedef struct batch { /* steps on their way to the writer */
  uint8_t* at;         /* aligned to a line */
  size_t n, capacity;
  int count;
  double started; /* wall time of its first step */
} batch;

/* Large enough that waking the writer is rare; enough of them for the time it compresses a chunk. */
enum { BATCHES = 4, BATCH_BYTES = 1 << 20, BATCH_ROOM = BATCH_BYTES + (1 << 16) };

struct kn_recorder {
  kn_record_settings settings;
  kn_sim* sim;
  const kn_model* model;
  int64_t steps;
  double *q_before, *v_before; /* where the next step starts */
  bool known;                  /* q_before, v_before were given or left by a step */
  bool jumped;                 /* that is not where the last recorded one ended */
  kn_bytes step;               /* the copy, before it goes to the batch */

  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake, done;
  bool stop;
  batch batch[BATCHES]; /* a ring: [head] is being filled, those from tail on are the writer's */
  unsigned head, tail;  /* counts; modulo BATCHES */
  kn_status status;     /* first failure */
  char message_text[200];

  /* the writer's own */
  kn_shown* shown; /* what others see */
  struct {         /* sensors; NULL: the model has none */
    kn_sensors* read;
    kn_state* state; /* at which they are read */
    double* value;
  } sense;
  int channels; /* one past the last */
  kn_frames frames;
  kn_bytes message; /* scratch */
  uint32_t sequence[KN_CHANNELS + KN_BODIES_MOST];
  uint64_t count[KN_CHANNELS + KN_BODIES_MOST];
  double next_scene;
  chunk chunk;
  double chunk_started; /* wall time of its first step */
  int fd;
  uint64_t position;
  uint32_t crc; /* of the file so far */
  ZSTD_CCtx* zstd;
  kn_bytes packed, out, chunk_index;
  uint32_t chunks;
  struct {
    uint64_t first, last;
  } span; /* of the steps' times, ns */
};

/* ---- the writer thread ---- */

static void fail(kn_recorder* r, kn_status status, const char* what, int code) {
  if (r->status != KN_OK) return;
  snprintf(r->message_text, sizeof r->message_text, "recording: %s: %s", what, strerror(code));
  r->status = status;
}

static void fail_locked(kn_recorder* r) {
  pthread_mutex_lock(&r->lock);
  fail(r, KN_OUT_OF_MEMORY, "no memory for a chunk", ENOMEM);
  pthread_mutex_unlock(&r->lock);
}

/* All or nothing: what could not be written completely is cut off again, so that the file ends with a whole
 * record. */
static bool write_all(kn_recorder* r, const void* bytes, size_t n) {
  const char* p = bytes;
  size_t left = n;
  while (left) {
    ssize_t k = write(r->fd, p, left);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) {
      int code = k < 0 ? errno : ENOSPC;
      if (ftruncate(r->fd, (off_t)r->position) != 0) code = errno;
      pthread_mutex_lock(&r->lock);
      fail(r, KN_IO, "writing failed", code);
      pthread_mutex_unlock(&r->lock);
      return false;
    }
    p += k;
    left -= (size_t)k;
  }
  r->position += n;
  r->crc = kn_crc32(r->crc, bytes, n);
  return true;
}

static void put_index(kn_recorder* r, const chunk* c, uint64_t chunk_at, uint64_t chunk_size, size_t packed) {
  uint64_t offsets[KN_CHANNELS + KN_BODIES_MOST] = {0};
  size_t start = r->out.n;
  for (uint16_t ch = 1; ch < r->channels; ch++) {
    uint32_t n = 0;
    for (int i = 0; i < c->count; i++) n += c->index[i].channel == ch;
    if (!n) continue;
    offsets[ch] = chunk_at + chunk_size + (r->out.n - start);
    size_t at = kn_mcap_begin(&r->out, KN_MCAP_MESSAGE_INDEX);
    kn_put_u16(&r->out, ch);
    kn_put_u32(&r->out, 16 * n);
    for (int i = 0; i < c->count; i++)
      if (c->index[i].channel == ch)
        kn_put_u64(&r->out, c->index[i].time), kn_put_u64(&r->out, c->index[i].offset);
    kn_mcap_end(&r->out, at);
  }
  uint32_t used = 0;
  for (int ch = 1; ch < r->channels; ch++) used += offsets[ch] != 0;
  kn_bytes* b = &r->chunk_index;
  size_t at = kn_mcap_begin(b, KN_MCAP_CHUNK_INDEX);
  kn_put_u64(b, c->first), kn_put_u64(b, c->last), kn_put_u64(b, chunk_at), kn_put_u64(b, chunk_size);
  kn_put_u32(b, 10 * used);
  for (uint16_t ch = 1; ch < r->channels; ch++)
    if (offsets[ch]) kn_put_u16(b, ch), kn_put_u64(b, offsets[ch]);
  kn_put_u64(b, r->out.n - start);
  kn_put_text(b, "zstd");
  kn_put_u64(b, packed), kn_put_u64(b, c->records.n);
  kn_mcap_end(b, at);
}

/* One chunk with its message indexes, in a single write. */
static void write_chunk(kn_recorder* r, const chunk* c, const kn_bytes* head) {
  size_t bound = ZSTD_compressBound(c->records.n);
  r->packed.n = r->out.n = 0;
  if (head) kn_put(&r->out, head->at, head->n);
  if (!kn_bytes_room(&r->packed, bound)) return;
  size_t packed =
      ZSTD_compressCCtx(r->zstd, r->packed.at, bound, c->records.at, c->records.n, r->settings.level);
  if (ZSTD_isError(packed)) return;
  size_t before = r->out.n;
  uint64_t chunk_at = r->position + before;
  size_t at = kn_mcap_begin(&r->out, KN_MCAP_CHUNK);
  kn_put_u64(&r->out, c->first), kn_put_u64(&r->out, c->last), kn_put_u64(&r->out, c->records.n);
  kn_put_u32(&r->out, kn_crc32(0, c->records.at, c->records.n));
  kn_put_text(&r->out, "zstd");
  kn_put_u64(&r->out, packed);
  kn_put(&r->out, r->packed.at, packed);
  kn_mcap_end(&r->out, at);
  put_index(r, c, chunk_at, r->out.n - before, packed);
  if (r->out.failed || r->chunk_index.failed) {
    fail_locked(r);
    return;
  }
  if (!write_all(r, r->out.at, r->out.n)) return;
  if (r->chunks++ == 0) r->span.first = c->first;
  r->span.first = c->first < r->span.first ? c->first : r->span.first;
  r->span.last = c->last > r->span.last ? c->last : r->span.last;
}

static uint64_t nanoseconds(double t) { return t > 0.0 && t < 1.8e10 ? (uint64_t)floor(t * 1e9 + 0.5) : 0; }

/* Appends a message to the chunk. */
static void append(kn_recorder* r, uint16_t channel, double t, const kn_bytes* data) {
  chunk* c = &r->chunk;
  if (!KN_ROOM(c->index, c->capacity, c->count + 1)) {
    fail_locked(r);
    return;
  }
  uint64_t time = nanoseconds(t);
  if (c->count == 0) c->first = c->last = time;
  c->first = time < c->first ? time : c->first;
  c->last = time > c->last ? time : c->last;
  c->index[c->count++] = (entry){channel, time, c->records.n};
  size_t at = kn_mcap_begin(&c->records, KN_MCAP_MESSAGE);
  kn_put_u16(&c->records, channel);
  kn_put_u32(&c->records, r->sequence[channel]++);
  kn_put_u64(&c->records, time), kn_put_u64(&c->records, time);
  kn_put(&c->records, data->at, data->n);
  kn_mcap_end(&c->records, at);
  r->count[channel]++;
  if (c->records.failed || data->failed) fail_locked(r);
}

typedef struct moment {
  kn_recorder* r;
  double t;
} moment;

static void append_shown(void* context, uint16_t channel, const kn_bytes* message) {
  const moment* at = context;
  append(at->r, channel, at->t, message);
}

static void append_scene(kn_recorder* r, const kn_snapshot* s) {
  if (!(r->settings.scene_rate > 0.0) || s->time < r->next_scene) return;
  r->next_scene = fmax(r->next_scene + 1.0 / r->settings.scene_rate, s->time + 0.5 / r->settings.scene_rate);
  if (!kn_shown_step(r->shown, s, append_shown, &(moment){r, s->time})) fail_locked(r);
}

/* What the sensors show after the step, from its copy. */
static void sense(kn_recorder* r, kn_snapshot* s) {
  s->sensors = NULL;
  if (!r->sense.read) return;
  size_t nv = (size_t)r->model->nv * sizeof(double);
  memcpy(r->sense.state->q, s->q, (size_t)r->model->nq * sizeof(double));
  memcpy(r->sense.state->v, s->v, nv);
  memcpy(r->sense.state->force, s->force, nv);
  memcpy(r->sense.state->ctrl, s->ctrl, (size_t)r->model->nu * sizeof(double));
  r->sense.state->time = s->time;
  kn_sensor_loads loads = {.dt = s->report.dt,
                           .contacts = s->report.contacts,
                           .contact = s->report.contact,
                           .limit_impulse = s->report.limit_impulse,
                           .loop_impulse = s->report.loop_impulse,
                           .dry_impulse = s->report.dry_impulse,
                           .control = s->control};
  if (kn_sensors_read(r->sense.value, r->sense.read, r->sense.state, &loads) == KN_OK)
    s->sensors = r->sense.value;
}

/* Adds the steps of a batch to the chunk. */
static void code_batch(kn_recorder* r, const batch* b) {
  kn_view in = {b->at, b->n, false};
  kn_snapshot s;
  bool first = r->chunk.count == 0;
  if (first) {
    r->chunk_started = b->started;
    kn_frames_restart(&r->frames);
  }
  for (; kn_snapshot_next(&s, &in, r->model, r->frames.loop_rows); first = false) {
    r->message.n = 0;
    sense(r, &s);
    kn_frame_put(&r->frames, &r->message, &s, first || r->settings.every > 1);
    append(r, KN_CHANNEL_STEP, s.time, &r->message);
    append_scene(r, &s);
    kn_shown_passed(r->shown, &s);
  }
}

static void finish_chunk(kn_recorder* r) {
  if (r->chunk.count && r->status == KN_OK) write_chunk(r, &r->chunk, NULL);
  r->chunk.records.n = 0;
  r->chunk.count = 0;
}

/* Is there something to code? The batch being filled counts when the oldest step waits for too long. */
static bool batch_due(kn_recorder* r, bool late) {
  batch* active = &r->batch[r->head % BATCHES];
  if (r->head == r->tail && active->count && (r->stop || late)) r->head++;
  return r->head != r->tail;
}

static bool too_old(const kn_recorder* r) {
  const batch* waiting = &r->batch[r->tail % BATCHES];
  if (!r->chunk.count && !waiting->count) return false;
  return kn_wall_seconds() - (r->chunk.count ? r->chunk_started : waiting->started) >
         r->settings.chunk_seconds;
}

static void wait_a_little(kn_recorder* r) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 250000000;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  pthread_cond_timedwait(&r->wake, &r->lock, &until);
}

static void* writer(void* context) {
  kn_recorder* r = context;
  pthread_mutex_lock(&r->lock);
  for (;;) {
    bool late = too_old(r), due = batch_due(r, late);
    if (!due && !late && !r->stop) {
      wait_a_little(r);
      continue;
    }
    batch* b = &r->batch[r->tail % BATCHES];
    pthread_mutex_unlock(&r->lock);
    if (due && r->status == KN_OK) code_batch(r, b);
    if (late || !due || r->chunk.records.n >= r->settings.chunk_bytes) finish_chunk(r);
    pthread_mutex_lock(&r->lock);
    if (due) {
      b->count = 0;
      b->n = 0;
      r->tail++;
      pthread_cond_signal(&r->done);
    } else if (r->stop) {
      break;
    }
  }
  pthread_mutex_unlock(&r->lock);
  return NULL;
}

/* ---- the simulating thread ---- */

static bool batch_room(batch* b, size_t more) {
  if (b->capacity - b->n >= more) return true;
  size_t wanted = b->capacity ? b->capacity : BATCH_ROOM;
  while (wanted - b->n < more) wanted *= 2;
  uint8_t* fresh = aligned_alloc(KN_STREAM_LINE, wanted);
  if (!fresh) return false;
  if (b->n) memcpy(fresh, b->at, b->n);
  free(b->at);
  b->at = fresh;
  b->capacity = wanted;
  return true;
}

/* Hands the batch over once it is full, true then; waits when the writer is behind. */
static bool hand_over(kn_recorder* r) {
  size_t full = r->settings.chunk_bytes < BATCH_BYTES ? r->settings.chunk_bytes : BATCH_BYTES;
  if (r->batch[r->head % BATCHES].n < full) return false;
  r->head++;
  while (r->head - r->tail == BATCHES && r->status == KN_OK) {
    pthread_cond_signal(&r->wake);
    pthread_cond_wait(&r->done, &r->lock);
  }
  return true;
}

static void put_settings(kn_bytes* b, const kn_sim_settings* s, const kn_record_settings* rec) {
  char text[1600], soft[300] = "";
  const kn_compliant_settings* c = &s->compliant;
  locale_t before = kn_plain_begin();
  if (strcmp(s->stepper, "compliant") == 0 || strcmp(s->stepper, "hybrid") == 0)
    snprintf(soft, sizeof soft,
             ",\"compliant\":\"%d\",\"K\":\"%.17g\",\"C\":\"%.17g\",\"Kt\":\"%.17g\",\"eps\":\"%.17g\","
             "\"t0\":\"%.17g\","
             "\"m0\":\"%.17g\"",
             c->f || c->g ? -1 : (int)c->law, c->K, c->C, c->Kt, c->eps, c->t0, c->m0);
  int n =
      snprintf(text, sizeof text,
               "{\"formulation\":\"%s\",\"solver\":\"%s\",\"law\":\"%s\",\"stepper\":\"%s\",\"friction\":"
               "\"%d\",\"sequential\":\"%d\",\"dt\":\"%.17g\","
               "\"theta\":\"%.17g\",\"gtol\":\"%.17g\",\"v_rest\":\"%.17g\",\"tolerance\":\"%.17g\","
               "\"margin\":\"%.17g\",\"projection\":\"%d\","
               "\"anchors\":\"%d\",\"guard\":\"%d\",\"bias_iterations\":\"%d\",\"rtol\":\"%.17g\","
               "\"split_impacts\":\"%d\",\"friction_tol\":\"%.17g\",\"keep_energy\":\"%d\","
               "\"event_limit\":\"%d\",\"max_contacts\":\"%d\",\"restitution\":\"%d\",\"every\":\"%d\"%s}",
               s->formulation, s->solver, s->law, s->stepper, s->friction, s->sequential, s->dt, s->theta,
               s->gtol, s->v_rest, s->tolerance, s->margin, s->projection, s->anchors, s->guard,
               s->bias_iterations, s->rtol, s->split_impacts, s->friction_tol, s->keep_energy, s->event_limit,
               s->max_contacts, s->restitution != NULL, rec->every, soft);
  kn_plain_end(before);
  kn_put(b, text, n > 0 && (size_t)n < sizeof text ? (size_t)n : 0);
}

static kn_status begin_file(kn_recorder* r) {
  kn_bytes head = {0}, model = {0};
  kn_mcap_header(&head);
  kn_mcap_schemas(&head);
  kn_mcap_channels(&head);
  kn_shown_channels(r->shown, &head);
  kn_status status =
      head.failed ? kn_fail(KN_OUT_OF_MEMORY, "no memory to record") : kn_model_write(&model, r->model);
  if (status == KN_OK) {
    append(r, KN_CHANNEL_MODEL, 0.0, &model);
    r->message.n = 0;
    put_settings(&r->message, kn_sim_settings_of(r->sim), &r->settings);
    append(r, KN_CHANNEL_SETTINGS, 0.0, &r->message);
    /* the hash chain begins with the model and the settings, so that neither can be exchanged */
    r->frames.chain = kn_hash_bytes(kn_hash_bytes(0, model.at, model.n), r->message.at, r->message.n);
    if (r->settings.scene_rate > 0.0 && !kn_shown_shapes(r->shown, append_shown, &(moment){r, 0.0}))
      fail_locked(r);
    write_chunk(r, &r->chunk, &head); /* at once and in one piece: without it nothing else could be read */
    r->chunk.records.n = 0;
    r->chunk.count = 0;
    if (r->status != KN_OK) status = kn_fail(r->status, "%s", r->message_text);
  }
  free(head.at);
  free(model.at);
  return status;
}

static void free_all(kn_recorder* r) {
  kn_frames_destroy(&r->frames);
  kn_shown_destroy(r->shown);
  kn_sensors_destroy(r->sense.read);
  kn_state_destroy(r->sense.state);
  free(r->sense.value);
  ZSTD_freeCCtx(r->zstd);
  free(r->message.at), free(r->packed.at), free(r->out.at), free(r->chunk_index.at);
  for (int i = 0; i < BATCHES; i++) free(r->batch[i].at);
  free(r->chunk.records.at), free(r->chunk.index);
  free(r->q_before), free(r->step.at);
  pthread_mutex_destroy(&r->lock);
  pthread_cond_destroy(&r->wake);
  pthread_cond_destroy(&r->done);
  if (r->fd >= 0) close(r->fd);
  free(r);
}

/* Memory is fetched here: a page touched for the first time costs the run as much as a step. */
static kn_status touch_batches(kn_recorder* r) {
  for (int i = 0; i < BATCHES; i++) {
    if (!batch_room(&r->batch[i], BATCH_ROOM)) return kn_fail(KN_OUT_OF_MEMORY, "no memory to record");
    memset(r->batch[i].at, 0, r->batch[i].capacity);
  }
  return KN_OK;
}

static kn_status open_sensors(kn_recorder* r) {
  if (!kn_model_sensors(r->model)) return KN_OK;
  KN_TRY(kn_sensors_create(&r->sense.read, r->model));
  KN_TRY(kn_state_create(&r->sense.state, r->model));
  r->sense.value = calloc((size_t)kn_model_sensor_numbers(r->model), sizeof(double));
  return r->sense.value ? KN_OK : kn_fail(KN_OUT_OF_MEMORY, "no memory to record");
}

kn_status kn_recorder_open(kn_recorder** recorder, const char* path, kn_sim* sim,
                           const kn_record_settings* settings) {
  if (recorder) *recorder = NULL;
  KN_REQUIRE(recorder != NULL && path != NULL && sim != NULL);
  kn_record_settings s = settings ? *settings : kn_record_default();
  KN_REQUIRE(s.every >= 1 && s.scene_rate >= 0.0 && s.scene_rate <= 60.0 && s.chunk_bytes > 0 &&
             s.chunk_seconds > 0.0 && s.level >= -100 && s.level <= 19 && s.level != 0 &&
             s.forces >= KN_FORCES_NEAREST && s.forces <= KN_FORCES_SOLVED);
  kn_recorder* r = calloc(1, sizeof *r);
  if (!r) return kn_fail(KN_OUT_OF_MEMORY, "no memory to record");
  r->settings = s;
  r->sim = sim;
  if (sim->sleep) sim->sleep->off = true; /* every body's part of a step is recorded */
  r->model = kn_sim_model(sim);
  pthread_mutex_init(&r->lock, NULL);
  pthread_cond_init(&r->wake, NULL);
  pthread_cond_init(&r->done, NULL);
  r->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  kn_status status = r->fd < 0 ? kn_fail(KN_IO, "%s: cannot be written: %s", path, strerror(errno)) : KN_OK;
  r->zstd = ZSTD_createCCtx();
  if (status == KN_OK && !r->zstd) status = kn_fail(KN_OUT_OF_MEMORY, "no memory to record");
  if (status == KN_OK) status = kn_frames_create(&r->frames, r->model);
  const kn_sim_settings* how =
      kn_sim_settings_of(sim); /* other steppers have no one contact problem per step */
  bool one = how->stepper && strcmp(how->stepper, "time") == 0 && !how->split_impacts;
  if (status == KN_OK)
    status = kn_shown_create(&r->shown, r->model, one ? s.forces : KN_FORCES_SOLVED, how->v_rest);
  if (status == KN_OK) status = open_sensors(r);
  r->channels = r->shown ? kn_shown_end(r->shown) : 0;
  r->q_before = calloc((size_t)r->model->nq + (size_t)r->model->nv + 1, sizeof(double));
  if (status == KN_OK && !r->q_before) status = kn_fail(KN_OUT_OF_MEMORY, "no memory to record");
  r->v_before = r->q_before ? r->q_before + r->model->nq : NULL;
  r->jumped = true;
  if (status == KN_OK) status = touch_batches(r);
  if (status == KN_OK) status = begin_file(r);
  if (status == KN_OK && pthread_create(&r->thread, NULL, writer, r) != 0)
    status = kn_fail(KN_OUT_OF_MEMORY, "no thread to record");
  if (status != KN_OK) {
    free_all(r);
    return status;
  }
  *recorder = r;
  return KN_OK;
}

kn_status kn_recorder_before(kn_recorder* r, const kn_state* state) {
  KN_REQUIRE(r != NULL && state != NULL && state->model == r->model);
  size_t nq = (size_t)r->model->nq * sizeof(double), nv = (size_t)r->model->nv * sizeof(double);
  r->known = true;
  if (memcmp(r->q_before, state->q, nq) == 0 && memcmp(r->v_before, state->v, nv) == 0) return KN_OK;
  memcpy(r->q_before, state->q, nq);
  memcpy(r->v_before, state->v, nv);
  r->jumped = true;
  return KN_OK;
}

static bool record_step(kn_recorder* r, const kn_state* state) {
  batch* b = &r->batch[r->head % BATCHES];
  if (b->count++ == 0) b->started = kn_wall_seconds();
  if (!r->known) { /* nobody said where the first step starts: the simulator knows */
    memcpy(r->q_before, r->sim->past.q_safe, (size_t)r->model->nq * sizeof(double));
    memcpy(r->v_before, r->sim->past.v_safe, (size_t)r->model->nv * sizeof(double));
  }
  r->step.n = 0;
  kn_snapshot_put(&r->step, r->sim, state, r->q_before, r->v_before, r->jumped, r->frames.loop_rows);
  if (r->step.failed || !batch_room(b, r->step.n)) {
    fail(r, KN_OUT_OF_MEMORY, "no memory for steps", ENOMEM);
    return false;
  }
  kn_stream_copy(b->at + b->n, r->step.at, r->step.n);
  b->n += r->step.n;
  kn_recorder_before(r, state);
  r->jumped = false;
  return hand_over(r);
}

kn_status kn_recorder_step(kn_recorder* r, const kn_state* state) {
  KN_REQUIRE(r != NULL && state != NULL && state->model == r->model);
  pthread_mutex_lock(&r->lock);
  bool due = r->steps++ % r->settings.every == 0 || kn_report_in_trouble(kn_sim_report(r->sim));
  bool full = r->status == KN_OK && due && record_step(r, state);
  kn_status status = r->status;
  if (status != KN_OK) kn_fail(status, "%s", r->message_text);
  pthread_mutex_unlock(&r->lock);
  if (full) pthread_cond_signal(&r->wake);
  return status;
}

uint64_t kn_recorder_bytes(const kn_recorder* r) { return r ? r->position : 0; }

/* ---- the end of the file ---- */

static void put_statistics(kn_recorder* r, kn_bytes* b) {
  uint64_t total = 0;
  uint32_t used = 0;
  for (int c = 1; c < r->channels; c++) total += r->count[c], used += r->count[c] > 0;
  size_t at = kn_mcap_begin(b, KN_MCAP_STATISTICS);
  kn_put_u64(b, total);
  kn_put_u16(b, KN_CHANNELS - 1);             /* schemas */
  kn_put_u32(b, (uint32_t)(r->channels - 1)); /* channels */
  kn_put_u32(b, 0), kn_put_u32(b, 0);
  kn_put_u32(b, r->chunks);
  kn_put_u64(b, r->span.first), kn_put_u64(b, r->span.last);
  kn_put_u32(b, 10 * used);
  for (uint16_t c = 1; c < r->channels; c++)
    if (r->count[c]) kn_put_u16(b, c), kn_put_u64(b, r->count[c]);
  kn_mcap_end(b, at);
}

static void put_group(kn_bytes* b, uint8_t opcode, uint64_t start, uint64_t end) {
  if (start == end) return;
  size_t at = kn_mcap_begin(b, KN_MCAP_SUMMARY_OFFSET);
  kn_put_u8(b, opcode);
  kn_put_u64(b, start), kn_put_u64(b, end - start);
  kn_mcap_end(b, at);
}

static void end_file(kn_recorder* r) {
  kn_bytes b = {0};
  size_t at = kn_mcap_begin(&b, KN_MCAP_DATA_END);
  kn_put_u32(&b, r->crc);
  kn_mcap_end(&b, at);
  uint64_t base = r->position, mark[5];
  size_t summary = b.n;
  mark[0] = base + b.n, kn_mcap_schemas(&b);
  mark[1] = base + b.n, kn_mcap_channels(&b), kn_shown_channels(r->shown, &b);
  mark[2] = base + b.n, put_statistics(r, &b);
  mark[3] = base + b.n, kn_put(&b, r->chunk_index.at, r->chunk_index.n);
  mark[4] = base + b.n;
  put_group(&b, KN_MCAP_SCHEMA, mark[0], mark[1]);
  put_group(&b, KN_MCAP_CHANNEL, mark[1], mark[2]);
  put_group(&b, KN_MCAP_STATISTICS, mark[2], mark[3]);
  put_group(&b, KN_MCAP_CHUNK_INDEX, mark[3], mark[4]);
  at = kn_mcap_begin(&b, KN_MCAP_FOOTER);
  kn_put_u64(&b, base + summary), kn_put_u64(&b, mark[4]);
  uint64_t footer = 8 + 8 + 4;
  if (!b.failed) memcpy(b.at + at - 8, &footer, 8); /* the checksum covers the footer's head too */
  kn_put_u32(&b, b.failed ? 0 : kn_crc32(0, b.at + summary, b.n - summary));
  kn_put(&b, kn_mcap_magic, sizeof kn_mcap_magic);
  if (b.failed)
    fail(r, KN_OUT_OF_MEMORY, "no memory for the index", ENOMEM);
  else
    write_all(r, b.at, b.n);
  free(b.at);
}

kn_status kn_recorder_close(kn_recorder* r) {
  if (!r) return KN_OK;
  pthread_mutex_lock(&r->lock);
  r->stop = true;
  pthread_cond_signal(&r->wake);
  pthread_mutex_unlock(&r->lock);
  pthread_join(r->thread, NULL);
  if (r->status == KN_OK) end_file(r);
  if (close(r->fd) != 0) fail(r, KN_IO, "closing failed", errno);
  r->fd = -1;
  kn_status status = r->status;
  if (status != KN_OK) kn_fail(status, "%s", r->message_text);
  free_all(r);
  return status;
}

#else

#include "base/error.h"

kn_status kn_recorder_open(kn_recorder** recorder, const char* path, kn_sim* sim,
                           const kn_record_settings* settings) {
  KN_REQUIRE(recorder != NULL && path != NULL && sim != NULL);
  (void)settings;
  *recorder = NULL;
  return kn_fail(KN_UNSUPPORTED, "%s: built without recording (KN_RECORD)", path);
}

static kn_status none(void) {
  return kn_fail(KN_BAD_ARGUMENT, "no recorder: built without recording (KN_RECORD)");
}

kn_status kn_recorder_before(kn_recorder* r, const kn_state* state) {
  (void)r, (void)state;
  return none();
}

kn_status kn_recorder_step(kn_recorder* r, const kn_state* state) {
  (void)r, (void)state;
  return none();
}

kn_status kn_recorder_close(kn_recorder* r) {
  (void)r;
  return KN_OK;
}

uint64_t kn_recorder_bytes(const kn_recorder* r) {
  (void)r;
  return 0;
}

#endif
