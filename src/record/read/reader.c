/* Reading. The file is walked record by record; chunks are unpacked once to check them and again when their
   steps are asked for. Nothing in the file is trusted: sizes are compared with what is there, checksums and
   the hash chain decide what counts as readable. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/hoard.h"
#include "record/frame.h"
#include "record/model_io.h"
#include "record/settings_text.h"
#include "record/write/mcap.h"

#ifdef KN_HAVE_ZSTD
#include <zstd.h>
#endif

enum { MAX_PROBLEMS = 100, MAX_CHUNK = 1 << 28 };

typedef struct chunk_place {
  uint64_t at; /* of the record's content in the file */
  uint64_t size;
  int first, count; /* steps */
  uint64_t chain;   /* before its first step */
} chunk_place;

struct kn_recording {
  const uint8_t* bytes;
  size_t size;
  kn_model* model;
  uint64_t model_hash;
  const char* settings; /* kn_settings_parse; NULL: none read */
  chunk_place* chunk;
  int chunks, chunk_capacity, steps;
  bool complete;
  kn_hoard pool;
  char* problem[MAX_PROBLEMS];
  int problems;
  uint8_t* unpacked;
  size_t unpacked_size, unpacked_capacity;
  kn_frames frames;
  int open_chunk; /* the one unpacked, -1: none */
  int next;       /* step that the frames can decode next, -1: none */
  kn_view cursor;
};

static void problem(kn_recording* r, const char* format, ...) __attribute__((format(printf, 2, 3)));
static void problem(kn_recording* r, const char* format, ...) {
  char text[300];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (r->problems == MAX_PROBLEMS) return;
  char* copy = kn_hoard_text(&r->pool, text, strlen(text));
  if (copy) r->problem[r->problems++] = copy;
}

#ifdef KN_HAVE_ZSTD
static uint64_t zstd_size(kn_view data) { return ZSTD_getFrameContentSize(data.at, data.left); }

static bool zstd_unpack(uint8_t* out, size_t size, kn_view data) {
  size_t got = ZSTD_decompress(out, size, data.at, data.left);
  return !ZSTD_isError(got) && got == size;
}

static kn_status can_read(const char* path) {
  (void)path;
  return KN_OK;
}
#else
static uint64_t zstd_size(kn_view data) { return data.bad ? 1 : 0; }

static bool zstd_unpack(uint8_t* out, size_t size, kn_view data) {
  (void)out, (void)size, (void)data;
  return false;
}

static kn_status can_read(const char* path) {
  return kn_fail(KN_UNSUPPORTED, "%s: recordings are compressed, built without zstd (KN_ZSTD)", path);
}
#endif

/* Unpacks a chunk into r->unpacked; a sentence in *why on failure. */
static bool unpack(kn_recording* r, const chunk_place* c, const char** why) {
  kn_view v = {r->bytes + c->at, (size_t)c->size, false};
  kn_get_u64(&v), kn_get_u64(&v);
  uint64_t size = kn_get_u64(&v);
  uint32_t crc = kn_get_u32(&v);
  uint32_t n = kn_get_u32(&v);
  kn_view name = kn_get_view(&v, n);
  kn_view data = kn_get_view(&v, kn_get_u64(&v));
  *why = "it is cut off";
  if (v.bad || data.bad || name.bad) return false;
  *why = "it claims more than 256 megabytes";
  if (size > MAX_CHUNK) return false;
  *why = "its compressed data is damaged"; /* no memory for what is not there */
  if (n == 4 && zstd_size(data) != size) return false;
  if (n == 0 && data.left != size) return false;
  *why = "no memory";
  if (size > r->unpacked_capacity) {
    uint8_t* fresh = realloc(r->unpacked, size);
    if (!fresh) return false;
    r->unpacked = fresh;
    r->unpacked_capacity = size;
  }
  *why = "its compressed data is damaged";
  if (n == 4 && memcmp(name.at, "zstd", 4) == 0) {
    if (!zstd_unpack(r->unpacked, size, data)) return false;
  } else if (n == 0 && data.left == size) {
    if (size) memcpy(r->unpacked, data.at, size);
  } else {
    *why = "its compression is not known";
    return false;
  }
  *why = "its checksum does not fit";
  r->unpacked_size = size;
  return kn_crc32(0, r->unpacked, size) == crc;
}

/* The next message of an unpacked chunk; false at the end. */
static bool next_message(kn_view* v, uint16_t* channel, kn_view* data) {
  while (!v->bad && v->left) {
    uint8_t opcode = kn_get_u8(v);
    *data = kn_get_view(v, kn_get_u64(v));
    if (v->bad) return false;
    if (opcode != KN_MCAP_MESSAGE) continue;
    *channel = kn_get_u16(data);
    kn_get_u32(data), kn_get_u64(data), kn_get_u64(data);
    if (data->bad) return false;
    return true;
  }
  return false;
}

static void read_model(kn_recording* r, kn_view data) {
  if (r->model) return;
  if (kn_model_read(&r->model, &r->model_hash, data) != KN_OK) {
    problem(r, "the model cannot be rebuilt: %s", kn_last_error());
    return;
  }
  if (kn_frames_create(&r->frames, r->model) != KN_OK) {
    problem(r, "no memory for steps of this model");
    kn_model_destroy(r->model);
    r->model = NULL;
    return;
  }
  r->frames.chain = kn_hash_bytes(0, data.at, data.left);
}

/* Once, beside the model: the hash chain begins with both. */
static void read_settings(kn_recording* r, kn_view data) {
  if (!r->model || r->settings || r->steps) return;
  r->settings = kn_settings_parse(&r->pool, data);
  if (!r->settings) problem(r, "the settings cannot be read");
  r->frames.chain = kn_hash_bytes(r->frames.chain, data.at, data.left);
}

/* Walks the steps of a fresh chunk: are they whole, do they chain? */
static void check_steps(kn_recording* r, chunk_place* c, int number) {
  kn_view v = {r->unpacked, r->unpacked_size, false}, data;
  uint16_t channel;
  c->first = r->steps;
  bool first = true, broken = false;
  while (next_message(&v, &channel, &data)) {
    if (channel == KN_CHANNEL_MODEL) read_model(r, data);
    if (channel == KN_CHANNEL_SETTINGS) read_settings(r, data);
    if (channel != KN_CHANNEL_STEP || !r->model) continue;
    kn_recorded step;
    if (first) kn_frames_restart(&r->frames);
    c->chain = first ? r->frames.chain : c->chain;
    first = false;
    if (!kn_frame_get(&r->frames, &step, data) && !broken) {
      broken = true;
      problem(
          r, "chunk %d: step %d does not continue the hash chain: it or what came before was changed or lost",
          number, r->steps + 1);
    }
    c->count++;
    r->steps++;
  }
}

static bool add_chunk(kn_recording* r, uint64_t at, uint64_t size) {
  if (!KN_ROOM(r->chunk, r->chunk_capacity, r->chunks + 1)) return false;
  r->chunk[r->chunks++] = (chunk_place){.at = at, .size = size};
  return true;
}

/* The checksum over everything before the end of the data: index records have no other. */
static void check_data(kn_recording* r, uint64_t at, kn_view record) {
  uint32_t crc = kn_get_u32(&record);
  if (record.bad || record.left || (crc && kn_crc32(0, r->bytes, at) != crc))
    problem(r, "the checksum over the data does not fit: some byte was changed");
}

static kn_status walk_file(kn_recording* r, const char* path) {
  kn_view v = {r->bytes, r->size, false};
  uint8_t magic[8];
  kn_get(&v, magic, 8);
  if (v.bad || memcmp(magic, kn_mcap_magic, 8) != 0)
    return kn_fail_at(KN_BAD_FILE, path, 1, 1, "not a recording, expected an MCAP file");
  int number = 0;
  while (v.left && !r->complete) {
    uint64_t at = (uint64_t)(v.at - r->bytes);
    uint8_t opcode = kn_get_u8(&v);
    uint64_t size = kn_get_u64(&v);
    if (v.bad || size > v.left) {
      problem(r, "the file ends inside a record at byte %llu: the recording was cut off there",
              (unsigned long long)at);
      return KN_OK;
    }
    kn_view record = kn_get_view(&v, size);
    if (opcode == KN_MCAP_FOOTER) r->complete = true;
    if (opcode == KN_MCAP_DATA_END) check_data(r, at, record);
    if (opcode == 0 || (opcode > KN_MCAP_DATA_END && opcode < 0x80)) {
      problem(r, "byte %llu is not the start of a record: the rest of the file is not readable",
              (unsigned long long)at);
      return KN_OK;
    }
    if (opcode != KN_MCAP_CHUNK) continue;
    number++;
    const char* why;
    chunk_place place = {.at = (uint64_t)(record.at - r->bytes), .size = size};
    if (!unpack(r, &place, &why)) {
      problem(r, "chunk %d at byte %llu is lost: %s", number, (unsigned long long)at, why);
      continue;
    }
    if (!add_chunk(r, place.at, place.size)) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", path);
    check_steps(r, &r->chunk[r->chunks - 1], number);
  }
  if (!r->complete) problem(r, "there is no footer: the recording was not closed");
  return KN_OK;
}

static void check_end(kn_recording* r) {
  if (!r->complete) return;
  if (r->size < 37 || memcmp(r->bytes + r->size - 8, kn_mcap_magic, 8) != 0) {
    problem(r, "the closing bytes of the file are damaged");
    return;
  }
  kn_view v = {r->bytes + r->size - 8 - 20, 20, false};
  uint64_t start = kn_get_u64(&v);
  kn_get_u64(&v);
  uint32_t crc = kn_get_u32(&v);
  if (start >= r->size - 12 || kn_crc32(0, r->bytes + start, r->size - 12 - start) != crc)
    problem(r, "the index at the end of the file is damaged");
}

kn_status kn_recording_open(kn_recording** recording, const char* path) {
  if (recording) *recording = NULL;
  KN_REQUIRE(recording != NULL && path != NULL);
  KN_TRY(can_read(path));
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* never waits for the writer of a pipe */
  struct stat info;
  if (fd < 0) return kn_fail(KN_NOT_FOUND, "%s: cannot be opened: %s", path, strerror(errno));
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < 8) {
    close(fd);
    return kn_fail_at(KN_BAD_FILE, path, 1, 1, "not a recording, expected an MCAP file");
  }
  void* map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (map == MAP_FAILED) return kn_fail(KN_IO, "%s: cannot be mapped: %s", path, strerror(errno));
  kn_recording* r = calloc(1, sizeof *r);
  if (!r) {
    munmap(map, (size_t)info.st_size);
    return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", path);
  }
  r->bytes = map;
  r->size = (size_t)info.st_size;
  r->open_chunk = r->next = -1;
  kn_status status = walk_file(r, path);
  if (status == KN_OK) check_end(r);
  if (status == KN_OK && !r->model)
    status = kn_fail_at(KN_BAD_FILE, path, 1, 1, "no readable model in the recording%s%s",
                        r->problems ? ": " : "", r->problems ? r->problem[0] : "");
  if (status != KN_OK)
    kn_recording_close(r);
  else
    *recording = r;
  return status;
}

void kn_recording_close(kn_recording* r) {
  if (!r) return;
  kn_frames_destroy(&r->frames);
  kn_model_destroy(r->model);
  munmap((void*)(uintptr_t)r->bytes, r->size);
  kn_hoard_free(&r->pool);
  free(r->chunk);
  free(r->unpacked);
  free(r);
}

static kn_status enter_chunk(kn_recording* r, int k) {
  const char* why;
  if (!unpack(r, &r->chunk[k], &why))
    return kn_fail(KN_BAD_FILE, "the recording changed while it was read: %s", why);
  r->open_chunk = k;
  r->next = r->chunk[k].first;
  r->cursor = (kn_view){r->unpacked, r->unpacked_size, false};
  kn_frames_restart(&r->frames);
  r->frames.chain = r->chunk[k].chain;
  return KN_OK;
}

kn_status kn_recording_read(kn_recorded* out, kn_recording* r, int i) {
  KN_REQUIRE(out != NULL && r != NULL);
  if (i < 0 || i >= r->steps)
    return kn_fail(KN_BAD_ARGUMENT, "step %d of a recording with %d steps", i, r->steps);
  int lo = 0, hi = r->chunks - 1;
  while (lo < hi) { /* the last chunk that begins at or before i and is not empty */
    int mid = (lo + hi + 1) / 2;
    if (r->chunk[mid].first <= i)
      lo = mid;
    else
      hi = mid - 1;
  }
  while (lo > 0 && r->chunk[lo].count == 0) lo--;
  if (r->open_chunk != lo || r->next > i) KN_TRY(enter_chunk(r, lo));
  uint16_t channel;
  kn_view data;
  while (r->next <= i) {
    if (!next_message(&r->cursor, &channel, &data)) return kn_fail(KN_BAD_FILE, "step %d is damaged", i);
    if (channel != KN_CHANNEL_STEP) continue;
    kn_frame_get(&r->frames, out, data); /* damage was reported on opening */
    r->next++;
  }
  return KN_OK;
}

int kn_recording_steps(const kn_recording* r) { return r ? r->steps : 0; }
const kn_model* kn_recording_model(const kn_recording* r) { return r ? r->model : NULL; }
uint64_t kn_recording_model_hash(const kn_recording* r) { return r ? r->model_hash : 0; }
const char* kn_recording_setting(const kn_recording* r, const char* name) {
  return r && name ? kn_settings_find(r->settings, name) : NULL;
}
int kn_recording_every(const kn_recording* r) {
  const char* text = kn_recording_setting(r, "every");
  return text ? atoi(text) : 1;
}
int kn_recording_problems(const kn_recording* r) { return r ? r->problems : 0; }
const char* kn_recording_problem(const kn_recording* r, int i) {
  return r && i >= 0 && i < r->problems ? r->problem[i] : NULL;
}
