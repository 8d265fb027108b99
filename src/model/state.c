/* The state and its flat form.

   Saved bytes: header {magic, model hash, total size, checksum of the rest}, {nq, nv, nu, blocks}, time,
   step, q, v, ctrl, force, then per block {length of the name, bytes used}, name and data, each padded to 8
   bytes. Written in the byte order of the machine; the magic tells when it does not fit. */
#include "model/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

static const uint64_t MAGIC = 0x31305354534e4b00u; /* reads differently on the other byte order */

typedef struct header {
  uint64_t magic, model, size, checksum;
  int64_t nq, nv, nu, nblock;
  double time;
  int64_t step;
} header;

static void lay_out(kn_state* s, const kn_model* m) {
  s->q = KN_TAKE(&s->arena, double, m->nq);
  s->v = KN_TAKE(&s->arena, double, m->nv);
  KN_TAKE_EACH(&s->arena, double, m->nu, &s->ctrl, &s->ctrl_kept);
  s->force = KN_TAKE(&s->arena, double, m->nv);
}

/* The numbers that are saved, copied and hashed, in their order. */
enum { PARTS = 4 };
typedef struct part {
  double* x;
  size_t n; /* bytes */
} part;

static void parts(part out[PARTS], const kn_state* s) {
  size_t nq = (size_t)s->model->nq * 8, nv = (size_t)s->model->nv * 8, nu = (size_t)s->model->nu * 8;
  memcpy(out, (part[PARTS]){{s->q, nq}, {s->v, nv}, {s->ctrl, nu}, {s->force, nv}}, PARTS * sizeof *out);
}

kn_status kn_state_create(kn_state** state, const kn_model* model) {
  KN_REQUIRE(state != NULL);
  *state = NULL;
  KN_REQUIRE(model != NULL);
  kn_state* s = calloc(1, sizeof *s);
  if (!s) return kn_fail(KN_OUT_OF_MEMORY, "kn_state_create: %zu bytes could not be allocated", sizeof *s);
  s->model = model;
  lay_out(s, model);
  kn_status status = kn_arena_create(&s->arena, s->arena.used);
  if (status != KN_OK) {
    free(s);
    return status;
  }
  lay_out(s, model);
  kn_state_reset(s);
  *state = s;
  return KN_OK;
}

void kn_state_destroy(kn_state* state) {
  if (!state) return;
  for (int i = 0; i < state->nblock; i++) free(state->block[i].data);
  kn_arena_destroy(&state->arena);
  free(state);
}

/* ---- blocks ---- */

static void restamp(kn_state* s) {
  static uint64_t last;
  s->stamp = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

kn_state_block* kn_state_find_block(kn_state* state, const char* name) {
  for (int i = 0; i < state->nblock; i++)
    if (state->block[i].name[0] == name[0] && strcmp(state->block[i].name, name) == 0)
      return &state->block[i];
  return NULL;
}

static size_t whole_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* Data, room for what is kept of it, and the name in one piece. */
static kn_status allocate_block(kn_state_block* b, const char* name, size_t capacity) {
  size_t room = whole_lines(capacity), text = strlen(name) + 1;
  char* memory = capacity < SIZE_MAX / 4 ? aligned_alloc(64, 2 * room + whole_lines(text)) : NULL;
  if (!memory)
    return kn_fail(KN_OUT_OF_MEMORY, "state block '%s': %zu bytes could not be allocated", name, capacity);
  memset(memory, 0, room);
  memset(memory + 2 * room, 0, whole_lines(text));
  memcpy(memory + 2 * room, name, text);
  *b = (kn_state_block){
      .name = memory + 2 * room, .capacity = capacity, .data = memory, .kept_data = memory + room};
  return KN_OK;
}

void kn_state_take_back(kn_state* s) {
  for (int i = 0; i < s->nblock; i++) {
    kn_state_block* b = &s->block[i];
    if (i >= s->nkept) b->kept = 0; /* the step has added it */
    if (b->used > b->kept) memset((char*)b->data + b->kept, 0, b->used - b->kept);
    memcpy(b->data, b->kept_data, b->kept);
    b->used = b->kept;
  }
  kn_fours_copy(s->ctrl, s->ctrl_kept, s->model->nu);
}

kn_status kn_state_add_block(kn_state_block** block, kn_state* state, const char* name, size_t capacity) {
  KN_REQUIRE(block != NULL);
  *block = NULL;
  KN_REQUIRE(state != NULL && name != NULL);
  kn_state_block* b = kn_state_find_block(state, name);
  if (b && b->capacity < capacity) { /* grow, keeping what is there */
    kn_state_block bigger;
    KN_TRY(allocate_block(&bigger, name, capacity));
    memcpy(bigger.data, b->data, b->used);
    bigger.used = b->used;
    free(b->data);
    *b = bigger;
    restamp(state);
  } else if (!b) {
    if (state->nblock == KN_STATE_BLOCKS)
      return kn_fail(KN_NO_ROOM, "state block '%s': all %d blocks are in use", name, KN_STATE_BLOCKS);
    b = &state->block[state->nblock];
    KN_TRY(allocate_block(b, name, capacity));
    state->nblock++;
    restamp(state);
  }
  *block = b;
  return KN_OK;
}

static void clear_block(kn_state_block* b) {
  memset(b->data, 0, b->capacity);
  b->used = 0;
}

/* Of a block there is room in. */
static void fill_block(kn_state* s, const char* name, const void* data, size_t used) {
  kn_state_block* b = kn_state_find_block(s, name);
  memset(b->data, 0, b->capacity);
  memcpy(b->data, data, used);
  b->used = used;
}

/* ---- setting ---- */

kn_status kn_state_reset(kn_state* state) {
  KN_REQUIRE(state != NULL);
  part p[PARTS];
  parts(p, state);
  state->time = 0.0;
  state->step = 0;
  for (int i = 0; i < PARTS; i++) memset(p[i].x, 0, p[i].n);
  memcpy(state->q, state->model->q_ref, p[0].n);
  for (int i = 0; i < state->nblock; i++) clear_block(&state->block[i]);
  restamp(state);
  return KN_OK;
}

kn_status kn_state_keyframe(kn_state* state, int keyframe) {
  KN_REQUIRE(state != NULL);
  const kn_model* m = state->model;
  if (keyframe < 0 || keyframe >= m->nkey)
    return kn_fail(KN_BAD_ARGUMENT, "kn_state_keyframe: keyframe %d, but the model has %d", keyframe,
                   m->nkey);
  const kn_keyframe_def* k = &m->key[keyframe];
  KN_TRY(kn_state_reset(state));
  state->time = k->time;
  if (k->q) memcpy(state->q, k->q, (size_t)m->nq * sizeof *state->q);
  if (k->v) memcpy(state->v, k->v, (size_t)m->nv * sizeof *state->v);
  if (k->ctrl) memcpy(state->ctrl, k->ctrl, (size_t)m->nu * sizeof *state->ctrl);
  return KN_OK;
}

static kn_status same_model(const kn_model* a, const kn_model* b) {
  if (a == b || (a->hash == b->hash && a->nq == b->nq && a->nv == b->nv && a->nu == b->nu)) return KN_OK;
  return kn_fail(KN_BAD_ARGUMENT, "the states belong to different models ('%s' and '%s')", a->name, b->name);
}

kn_status kn_state_copy(kn_state* to, const kn_state* from) {
  KN_REQUIRE(to != NULL && from != NULL);
  if (to == from) return KN_OK;
  KN_TRY(same_model(to->model, from->model));
  part p[PARTS], source[PARTS];
  parts(p, to);
  parts(source, from);
  kn_state_block* made; /* all the room first: without memory `to` stays what it is */
  for (int i = 0; i < from->nblock; i++)
    KN_TRY(kn_state_add_block(&made, to, from->block[i].name, from->block[i].capacity));
  for (int i = 0; i < to->nblock; i++) clear_block(&to->block[i]);
  for (int i = 0; i < from->nblock; i++)
    fill_block(to, from->block[i].name, from->block[i].data, from->block[i].used);
  restamp(to);
  to->time = from->time;
  to->step = from->step;
  for (int i = 0; i < PARTS; i++) memcpy(p[i].x, source[i].x, p[i].n);
  return KN_OK;
}

double kn_state_time(const kn_state* state) { return state ? state->time : 0.0; }
void kn_state_set_time(kn_state* state, double time) {
  if (state && isfinite(time)) state->time = time;
}
double* kn_state_q(kn_state* state) { return state ? state->q : NULL; }
double* kn_state_v(kn_state* state) { return state ? state->v : NULL; }
double* kn_state_ctrl(kn_state* state) { return state ? state->ctrl : NULL; }
double* kn_state_force(kn_state* state) { return state ? state->force : NULL; }

/* ---- flat bytes ---- */

/* Of the header with a zero in the checksum's place, then of the rest. */
static uint64_t checksum(header h, const char* bytes, size_t size) {
  h.checksum = 0;
  return kn_hash_bytes(kn_hash_bytes(0, &h, sizeof h), bytes + sizeof h, size - sizeof h);
}

static size_t padded(size_t n) { return (n + 7) / 8 * 8; }

static size_t numbers(const kn_model* m) { return (size_t)m->nq + 2 * (size_t)m->nv + (size_t)m->nu; }

size_t kn_state_size(const kn_state* state) {
  if (!state) return 0;
  size_t n = sizeof(header) + numbers(state->model) * sizeof(double);
  for (int i = 0; i < state->nblock; i++)
    if (state->block[i].used)
      n += 2 * sizeof(uint64_t) + padded(strlen(state->block[i].name) + 1) + padded(state->block[i].used);
  return n;
}

static char* put(char* to, const void* from, size_t n) {
  memcpy(to, from, n);
  memset(to + n, 0, padded(n) - n);
  return to + padded(n);
}

static char* put_block(char* to, const kn_state_block* b) {
  uint64_t length[2] = {strlen(b->name) + 1, b->used};
  to = put(to, length, sizeof length);
  to = put(to, b->name, length[0]);
  return put(to, b->data, b->used);
}

kn_status kn_state_save(void* bytes, size_t capacity, const kn_state* state) {
  KN_REQUIRE(bytes != NULL && state != NULL);
  size_t size = kn_state_size(state);
  if (capacity < size)
    return kn_fail(KN_NO_ROOM, "kn_state_save: %zu bytes needed, %zu given", size, capacity);
  const kn_model* m = state->model;
  header h = {.magic = MAGIC, .model = m->hash, .size = size, .nq = m->nq, .nv = m->nv, .nu = m->nu};
  h.time = state->time;
  h.step = state->step;
  char* to = (char*)bytes + sizeof h;
  part p[PARTS];
  parts(p, state);
  for (int i = 0; i < PARTS; i++) to = put(to, p[i].x, p[i].n);
  for (int i = 0; i < state->nblock; i++)
    if (state->block[i].used) {
      to = put_block(to, &state->block[i]);
      h.nblock++;
    }
  h.checksum = checksum(h, bytes, size);
  memcpy(bytes, &h, sizeof h);
  return KN_OK;
}

static kn_status damaged(const char* what) { return kn_fail(KN_BAD_FILE, "saved state: %s", what); }

static kn_status check_header(header* h, const kn_state* s, const char* bytes, size_t size) {
  if (size < sizeof *h) return damaged("too short for its header");
  memcpy(h, bytes, sizeof *h);
  if (h->magic != MAGIC) return damaged("does not begin like one of this machine's byte order");
  if (h->size != size) return damaged("size differs from the one it was saved with");
  const kn_model* m = s->model;
  if (h->model != m->hash || h->nq != m->nq || h->nv != m->nv || h->nu != m->nu)
    return kn_fail(KN_BAD_FILE, "saved state: belongs to another model (hash %016llx, this is '%s' %016llx)",
                   (unsigned long long)h->model, m->name, (unsigned long long)m->hash);
  if (h->nblock < 0 || h->nblock > KN_STATE_BLOCKS) return damaged("wrong number of blocks");
  return KN_OK;
}

typedef struct block_view {
  const char *name, *data;
  size_t used;
} block_view;

/* Where the blocks lie, without changing anything. */
static kn_status read_blocks(block_view* out, const header* h, const char* bytes, size_t size, size_t at) {
  for (int i = 0; i < h->nblock; i++) {
    uint64_t length[2];
    if (size - at < sizeof length) return damaged("ends inside a block");
    memcpy(length, bytes + at, sizeof length);
    at += sizeof length;
    if (length[0] < 1 || length[0] > size || length[1] > size || padded(length[0]) > size - at ||
        padded(length[1]) > size - at - padded(length[0]))
      return damaged("ends inside a block");
    if (bytes[at + length[0] - 1] != '\0') return damaged("block name has no end");
    out[i] = (block_view){bytes + at, bytes + at + padded(length[0]), length[1]};
    if (strlen(out[i].name) + 1 != length[0]) return damaged("block name of another length");
    for (int k = 0; k < i; k++)
      if (strcmp(out[k].name, out[i].name) == 0) return damaged("two blocks of one name");
    at += padded(length[0]) + padded(length[1]);
  }
  return at == size ? KN_OK : damaged("bytes left over behind the last block");
}

static kn_status load(kn_state* s, const char* bytes, size_t size) {
  header h = {0};
  block_view view[KN_STATE_BLOCKS];
  KN_TRY(check_header(&h, s, bytes, size));
  if (checksum(h, bytes, size) != h.checksum) return damaged("checksum differs: the bytes were changed");
  size_t n = numbers(s->model) * sizeof(double), at = sizeof h + n;
  if (size < at) return damaged("ends inside the coordinates");
  KN_TRY(read_blocks(view, &h, bytes, size, at));
  const kn_model* m = s->model;
  if (!isfinite(h.time) || h.step < 0 || !kn_state_all_finite(bytes + sizeof h, numbers(m)))
    return damaged("time, coordinates, controls or forces are not finite");
  kn_state_block* made;
  for (int i = 0; i < h.nblock; i++)
    KN_TRY(kn_state_check_block(m, view[i].name, view[i].data, view[i].used));
  for (int i = 0; i < h.nblock; i++) KN_TRY(kn_state_add_block(&made, s, view[i].name, view[i].used));
  for (int i = 0; i < s->nblock; i++) clear_block(&s->block[i]);
  for (int i = 0; i < h.nblock; i++) fill_block(s, view[i].name, view[i].data, view[i].used);
  restamp(s);
  const char* from = bytes + sizeof h;
  part p[PARTS];
  parts(p, s);
  for (int i = 0; i < PARTS; from += p[i++].n) memcpy(p[i].x, from, p[i].n);
  s->time = h.time;
  s->step = h.step;
  return KN_OK;
}

kn_status kn_state_load(kn_state* state, const void* bytes, size_t size) {
  KN_REQUIRE(state != NULL && bytes != NULL);
  return load(state, bytes, size);
}

uint64_t kn_state_hash(const kn_state* state) {
  if (!state) return 0;
  part p[PARTS];
  parts(p, state);
  uint64_t h = kn_hash_u64(kn_hash_double(state->model->hash, state->time), (uint64_t)state->step);
  for (int i = 0; i < PARTS; i++) h = kn_hash_bytes(h, p[i].x, p[i].n);
  for (int i = 0; i < state->nblock; i++) {
    const kn_state_block* b = &state->block[i];
    if (b->used) h = kn_hash_bytes(kn_hash_text(h, b->name), b->data, b->used);
  }
  return h;
}
