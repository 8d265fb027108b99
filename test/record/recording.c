/* Recordings: bit for bit what was simulated, readable after any accident, and no change goes unnoticed. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/rng.h"
#include "knuckle/load.h"
#include "knuckle/record.h"
#include "model/state.h"
#include "record/frame.h"
#include "scene.h"
#include "test.h"

static const char model_text[] =
    "<mujoco><worldbody><geom type='plane' size='5 5 .1'/>"
    "<body name='box' pos='0 0 .3' euler='20 10 5'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body name='arm' pos='1 0 1'><joint name='a' axis='0 1 0' damping='.05' range='-60 60'/><geom "
    "type='capsule' size='.03' fromto='0 0 0 .4 0 0'/>"
    "<body name='fore' pos='.4 0 0'><joint name='b' axis='0 1 0'/><geom type='capsule' size='.03' fromto='0 "
    "0 0 .4 0 0'/>"
    "<body name='hand' pos='.4 0 0'><joint type='ball'/><geom size='.05'/></body></body></body></worldbody>"
    "<actuator><motor joint='b' gear='2'/></actuator></mujoco>";

typedef struct rig {
  kn_model* model;
  kn_sim* sim;
  kn_state* state;
} rig;

static bool rig_open(rig* r) {
  kn_spec* spec = NULL;
  *r = (rig){0};
  bool ok = CHECK_OK(kn_load_text(&spec, NULL, "rig.xml", model_text, sizeof model_text - 1, NULL)) &&
            CHECK_OK(kn_compile(&r->model, spec));
  kn_spec_destroy(spec);
  kn_sim_settings s = kn_sim_default();
  return ok && CHECK_OK(kn_sim_create(&r->sim, r->model, &s)) &&
         CHECK_OK(kn_state_create(&r->state, r->model)) && CHECK_OK(kn_sim_prepare(r->sim, r->state));
}

static void rig_close(rig* r) {
  kn_state_destroy(r->state);
  kn_sim_destroy(r->sim);
  kn_model_destroy(r->model);
}

static const char* temporary(const char* name) {
  static char path[256];
  const char* folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/knuckle-%d-%s", folder ? folder : "/tmp", (int)getpid(), name);
  return path;
}

static kn_status simulate(rig* r, const char* path, int steps, const kn_record_settings* settings) {
  kn_recorder* rec;
  kn_status status = kn_recorder_open(&rec, path, r->sim, settings);
  if (status != KN_OK) return status;
  for (int i = 0; i < steps && status == KN_OK; i++) {
    kn_state_ctrl(r->state)[0] = i % 100 < 50 ? 0.3 : -0.3;
    kn_recorder_before(rec, r->state);
    status = kn_step(r->sim, r->state);
    if (status == KN_OK) status = kn_recorder_step(rec, r->state);
  }
  kn_status closed = kn_recorder_close(rec);
  return status != KN_OK ? status : closed;
}

TEST(every_step_reads_back_bit_for_bit) {
  enum { STEPS = 800 };
  rig r;
  if (!rig_open(&r)) return;
  const char* path = temporary("bits.mcap");
  int nq = kn_model_nq(r.model), nv = kn_model_nv(r.model);
  double *q = calloc((size_t)(STEPS * nq), sizeof *q), *v = calloc((size_t)(STEPS * nv), sizeof *v);
  uint64_t* hash = calloc(STEPS, sizeof *hash);
  int* contacts = calloc(STEPS, sizeof *contacts);
  kn_recorder* rec;
  kn_record_settings s = kn_record_default();
  s.chunk_bytes = 100000; /* several chunks */
  if (CHECK_OK(kn_recorder_open(&rec, path, r.sim, &s))) {
    for (int i = 0; i < STEPS; i++) {
      if (i == 400)
        kn_state_q(r.state)[2] += 0.5; /* somebody lifts the box: the state before is not the one after */
      kn_recorder_before(rec, r.state);
      CHECK_OK(kn_step(r.sim, r.state));
      CHECK_OK(kn_recorder_step(rec, r.state));
      memcpy(q + i * nq, kn_state_q(r.state), (size_t)nq * sizeof *q);
      memcpy(v + i * nv, kn_state_v(r.state), (size_t)nv * sizeof *v);
      hash[i] = kn_state_hash(r.state);
      contacts[i] = kn_sim_report(r.sim)->contacts;
    }
    CHECK_OK(kn_recorder_close(rec));
  }
  kn_recording* in;
  kn_recorded f;
  if (CHECK_OK(kn_recording_open(&in, path))) {
    CHECK_INT(kn_recording_problems(in), 0);
    CHECK_INT(kn_recording_steps(in), STEPS);
    CHECK(kn_recording_model_hash(in) == kn_model_hash(r.model));
    int bad = 0;
    for (int k = 0; k < 2 * STEPS; k++) { /* forwards, then at random */
      int i = k < STEPS ? k : (k * 7919) % STEPS;
      if (kn_recording_read(&f, in, i) != KN_OK) bad++;
      bad += memcmp(f.q, q + i * nq, (size_t)nq * sizeof *q) != 0 ||
             memcmp(f.v, v + i * nv, (size_t)nv * sizeof *v) != 0;
      bad += f.state_hash != hash[i] || f.contacts != contacts[i];
      if (i > 0 && i != 400) bad += memcmp(f.q_before, q + (i - 1) * nq, (size_t)nq * sizeof *q) != 0;
      if (i == 400) bad += f.q_before[2] != q[(i - 1) * nq + 2] + 0.5;
    }
    CHECK_INT(bad, 0);
    CHECK_TEXT(kn_recording_setting(in, "stepper"), "time");
    kn_recording_close(in);
  }
  unlink(path);
  free(q), free(v), free(hash), free(contacts);
  rig_close(&r);
}

/* The writer's thread reads a step later than it was made: a block that grew in between is freed. */
TEST(a_block_that_grows_is_recorded_as_it_was) {
  enum { STEPS = 60 };
  rig r;
  if (!rig_open(&r)) return;
  const char* path = temporary("grows.mcap");
  uint64_t hash[STEPS];
  kn_recorder* rec;
  if (CHECK_OK(kn_recorder_open(&rec, path, r.sim, NULL))) {
    for (int i = 0; i < STEPS; i++) {
      kn_state_block* b;
      kn_recorder_before(rec, r.state);
      CHECK_OK(kn_step(r.sim, r.state));
      CHECK_OK(kn_recorder_step(rec, r.state));
      hash[i] = kn_state_hash(r.state);
      CHECK_OK(kn_state_add_block(&b, r.state, "impulses", (size_t)(i + 1) * 100000));
    }
    CHECK_OK(kn_recorder_close(rec));
  }
  kn_recording* in;
  kn_recorded f;
  if (CHECK_OK(kn_recording_open(&in, path))) {
    CHECK_INT(kn_recording_steps(in), STEPS);
    int bad = 0;
    for (int i = 0; i < STEPS; i++) bad += kn_recording_read(&f, in, i) != KN_OK || f.state_hash != hash[i];
    CHECK_INT(bad, 0);
    kn_recording_close(in);
  }
  unlink(path);
  rig_close(&r);
}

/* A recording in memory for the damage tests. */
static char* recorded_bytes(size_t* size, const char* path) {
  rig r;
  if (!rig_open(&r)) return NULL;
  kn_record_settings s = kn_record_default();
  s.chunk_bytes = 60000;
  CHECK_OK(simulate(&r, path, 300, &s));
  rig_close(&r);
  FILE* f = fopen(path, "rb");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  char* bytes = malloc(*size);
  if (fread(bytes, 1, *size, f) != *size) *size = 0;
  fclose(f);
  return bytes;
}

static bool put_file(const char* path, const char* bytes, size_t n) {
  FILE* f = fopen(path, "wb");
  bool ok = f && fwrite(bytes, 1, n, f) == n;
  return f && fclose(f) == 0 && ok;
}

TEST(a_flipped_byte_anywhere_is_noticed) {
  size_t size;
  char path[256];
  snprintf(path, sizeof path, "%s", temporary("flip.mcap"));
  char* bytes = recorded_bytes(&size, path);
  if (!CHECK(bytes != NULL)) return;
  kn_rng rng = kn_rng_seed(7);
  int missed = 0, tries = 300 * kn_test_effort();
  for (int k = 0; k < tries; k++) {
    size_t at = kn_rng_next(&rng) % size;
    char old = bytes[at];
    bytes[at] = (char)(old ^ (1 << kn_rng_int(&rng, 8)));
    put_file(path, bytes, size);
    kn_recording* in = NULL;
    if (kn_recording_open(&in, path) == KN_OK && kn_recording_problems(in) == 0)
      missed++, printf("  byte %zu of %zu\n", at, size);
    kn_recording_close(in);
    bytes[at] = old;
  }
  CHECK_INT(missed, 0);
  unlink(path);
  free(bytes);
}

TEST(a_recording_cut_anywhere_gives_what_was_written_before) {
  size_t size;
  char path[256];
  snprintf(path, sizeof path, "%s", temporary("cut.mcap"));
  char* bytes = recorded_bytes(&size, path);
  if (!CHECK(bytes != NULL)) return;
  kn_rng rng = kn_rng_seed(8);
  int readable = 0;
  for (int k = 0; k < 100; k++) {
    size_t n = 1 + kn_rng_next(&rng) % (size - 1);
    put_file(path, bytes, n);
    kn_recording* in = NULL;
    kn_recorded f;
    if (kn_recording_open(&in, path) == KN_OK) {
      readable++;
      CHECK(kn_recording_problems(in) > 0);
      for (int i = 0; i < kn_recording_steps(in); i++) CHECK_OK(kn_recording_read(&f, in, i));
    }
    kn_recording_close(in);
  }
  CHECK(readable >= 60); /* unless the cut is in the model at the start */
  unlink(path);
  free(bytes);
}

/* A child records until it is killed; what is on disk must be readable each time. */
TEST(killed_at_any_moment_the_file_is_readable) {
  char path[256];
  snprintf(path, sizeof path, "%s", temporary("kill.mcap"));
  int kills = kn_test_effort() > 1 ? 50 : 12, steps = 0;
  for (int k = 0; k < kills; k++) {
    unlink(path);
    pid_t child = fork();
    if (child == 0) {
      rig r;
      kn_record_settings s = kn_record_default();
      s.chunk_bytes = 20000;
      if (rig_open(&r)) simulate(&r, path, 100000000, &s);
      _exit(0);
    }
    struct stat info;
    struct timespec soon = {0, 1000000};
    while (stat(path, &info) != 0 || info.st_size == 0)
      nanosleep(&soon, NULL); /* until the recording has begun */
    struct timespec wait = {0, (long)((23 * k % 150) * 1000000L)};
    nanosleep(&wait, NULL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    kn_recording* in = NULL;
    kn_recorded f;
    if (CHECK_OK(kn_recording_open(&in, path))) {
      int n = kn_recording_steps(in);
      steps += n;
      if (n && CHECK_OK(kn_recording_read(&f, in, n - 1))) CHECK_INT(f.step, n);
    }
    kn_recording_close(in);
  }
  CHECK(steps > 0);
  unlink(path);
}

TEST(a_full_disk_is_a_status_and_leaves_a_readable_file) {
  char path[256];
  snprintf(path, sizeof path, "%s", temporary("full.mcap"));
  pid_t child = fork();
  if (child == 0) {
    struct rlimit limit = {150000, 150000};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    rig r;
    kn_record_settings s = kn_record_default();
    s.chunk_bytes = 20000;
    if (!rig_open(&r)) _exit(9);
    _exit(simulate(&r, path, 100000, &s) == KN_IO ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  kn_recording* in = NULL;
  if (CHECK_OK(kn_recording_open(&in, path))) {
    CHECK(kn_recording_steps(in) > 50);
    CHECK_INT(kn_recording_problems(in), 1); /* not closed */
    CHECK_TEXT(kn_recording_problem(in, 0), "not closed");
  }
  kn_recording_close(in);
  unlink(path);
}

TEST(places_that_cannot_be_written_are_told) {
  rig r;
  kn_recorder* rec;
  if (!rig_open(&r)) return;
  CHECK_STATUS(kn_recorder_open(&rec, "/no/such/folder/x.mcap", r.sim, NULL), KN_IO);
  CHECK_TEXT(kn_last_error(), "cannot be written");
  kn_recording* in;
  CHECK_STATUS(kn_recording_open(&in, "/no/such/file"), KN_NOT_FOUND);
  CHECK_STATUS(kn_recording_open(&in, KN_SOURCE_DIR "/CMakeLists.txt"), KN_BAD_FILE);
  rig_close(&r);
}

TEST(a_thinned_recording_says_so) {
  rig r;
  if (!rig_open(&r)) return;
  kn_record_settings s = kn_record_default();
  s.every = 10;
  const char* path = temporary("thin.mcap");
  CHECK_OK(simulate(&r, path, 100, &s));
  kn_recording* in;
  if (CHECK_OK(kn_recording_open(&in, path))) {
    CHECK_INT(kn_recording_steps(in), 10);
    CHECK_INT(kn_recording_every(in), 10);
    CHECK_INT(kn_recording_problems(in), 0);
    kn_recording_close(in);
  }
  unlink(path);
  rig_close(&r);
}

/* The states of a walking-size robot, predicted and packed, take at most 0.6 of their doubles, and come back
 * bit for bit. */
/* The definition, a bit at a time. */
static uint32_t plain_crc(const uint8_t* p, size_t n) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < n; i++) {
    crc ^= p[i];
    for (int k = 0; k < 8; k++) crc = crc & 1 ? 0xEDB88320u ^ (crc >> 1) : crc >> 1;
  }
  return ~crc;
}

TEST(checksums_follow_the_definition_at_every_length) {
  uint8_t bytes[700];
  int bad = 0;
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * i * 31 + i / 7);
  CHECK(kn_crc32(0, "123456789", 9) == 0xCBF43926u); /* the check value of the standard */
  for (size_t n = 0; n < sizeof bytes - 8; n++) {
    const uint8_t* p = bytes + n % 8;
    uint32_t whole = plain_crc(p, n);
    bad += kn_crc32(0, p, n) != whole;
    bad += kn_crc32(kn_crc32(0, p, n / 3), p + n / 3, n - n / 3) != whole; /* in two pieces */
  }
  CHECK_INT(bad, 0);
}

TEST(states_are_packed_without_loss) {
  enum { STEPS = 1000 };
  kn_scene_opened* scene;
  if (!CHECK_OK(kn_scene_open(&scene, "humanoid", NULL, 0))) return;
  kn_sim_settings settings = kn_scene_settings(scene->scene);
  kn_sim* sim;
  kn_state* state;
  CHECK_OK(kn_sim_create(&sim, scene->model, &settings));
  if (scene->controller.fn) CHECK_OK(kn_sim_set_controller(sim, &scene->controller));
  CHECK_OK(kn_state_create(&state, scene->model));
  CHECK_OK(kn_sim_prepare(sim, state));
  CHECK_OK(kn_scene_start(scene, state));
  int nq = kn_model_nq(scene->model), nv = kn_model_nv(scene->model), bad = 0;
  size_t raw = (size_t)(STEPS * (nq + nv)) * sizeof(double);
  double *kept = malloc(raw), *p = kept, q[128], v[128];
  kn_codec put, get;
  kn_bytes out = {0};
  CHECK_OK(kn_codec_create(&put, scene->model));
  CHECK_OK(kn_codec_create(&get, scene->model));
  for (int i = 0; i < STEPS; i++, p += nq + nv) {
    CHECK_OK(kn_step(sim, state));
    memcpy(p, kn_state_q(state), (size_t)nq * sizeof *p),
        memcpy(p + nq, kn_state_v(state), (size_t)nv * sizeof *p);
    kn_codec_put(&put, &out, p, p + nq, settings.dt);
  }
  size_t bound = ZSTD_compressBound(out.n);
  void* packed = malloc(bound);
  size_t size = ZSTD_compress(packed, bound, out.at, out.n, kn_record_default().level);
  printf("states: %.3f of raw doubles\n", (double)size / (double)raw);
  CHECK((double)size <= 0.6 * (double)raw);
  kn_view in = {out.at, out.n, false};
  p = kept;
  for (int i = 0; i < STEPS; i++, p += nq + nv) {
    kn_codec_get(&get, &in, q, v, settings.dt);
    bad += memcmp(q, p, (size_t)nq * sizeof *q) != 0 || memcmp(v, p + nq, (size_t)nv * sizeof *v) != 0;
  }
  CHECK(!in.bad && in.left == 0 && bad == 0);
  kn_codec_destroy(&put), kn_codec_destroy(&get);
  free(out.at), free(packed), free(kept);
  kn_state_destroy(state);
  kn_sim_destroy(sim);
  kn_scene_close(scene);
}
