/* A run simulated here and sent to the page step by step: for what is too heavy for the page's own engine. The rows are
   made by the page's own code (viewer/engine/row.c), so that the page does not know the difference. One run at a
   time: a new one ends the one before.

   The page asks with "duration\n" and the words of the run, '\n' between them. The answer is a sequence of
   parts: two 32-bit lengths, a JSON text (filled up with spaces to a multiple of 8), then numbers: the rows, their
   contacts, and states from which a run can go on. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"
#include "viewer/engine/world.h"

enum { KEYFRAME = 500, MAX_LINE = 8192, HEAD = 2 * sizeof(uint32_t) };
static const double PART_SECONDS = 0.04, PART_BYTES = 4e6;

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
static atomic_int newest; /* number of the run that was asked for last */

/* ---- words ---- */

/* The page names files by its own names only; each stands for what this program was started with. Any other word
   with a slash is refused: the page cannot name files of this machine. NULL: refused. */
static const char* own_word(const kn_view* v, const char* word, const char* before) {
  if (v->files > 0 && strcmp(word, v->word[0]) == 0) return v->path;
  if (before && strcmp(before, "--packages") == 0) return v->packages;
  return strchr(word, '/') ? NULL : word;
}

/* "words of this machine", '\n' between them, of the page's; false: refused. */
static bool translate(char line[MAX_LINE], double* duration, const kn_view* v, char* asked) {
  size_t used = 0;
  char *rest = NULL, *end = NULL, *first = strtok_r(asked, "\n", &rest);
  const char* before = NULL;
  *duration = first ? strtod(first, &end) : NAN;
  if (!first || *end || !(*duration > 0.0 && *duration <= 1e6)) return false;
  for (char* w = strtok_r(NULL, "\n", &rest); w; w = strtok_r(NULL, "\n", &rest)) {
    const char* own = own_word(v, w, before);
    size_t n = own ? strlen(own) : 0;
    if (!own || used + n + 2 > MAX_LINE) return false;
    memcpy(line + used, own, n);
    line[used += n] = '\n';
    line[++used] = '\0';
    before = w;
  }
  return used > 0;
}

/* ---- a part ---- */

typedef struct part {
  kn_json json;
  FILE *text, *rows, *contacts, *states;
  char *text_at, *row_at, *contact_at, *state_at;
  size_t text_size, row_size, contact_size, state_size;
  char* counts; /* numbers of contacts of each row, ',' between them */
  size_t counts_size;
  FILE* count;
  int events;
} part;

static bool part_open(part* p) {
  memset(p, 0, sizeof *p);
  p->text = open_memstream(&p->text_at, &p->text_size);
  p->rows = open_memstream(&p->row_at, &p->row_size);
  p->contacts = open_memstream(&p->contact_at, &p->contact_size);
  p->states = open_memstream(&p->state_at, &p->state_size);
  p->count = open_memstream(&p->counts, &p->counts_size);
  if (!p->text || !p->rows || !p->contacts || !p->states || !p->count) return false;
  kn_json_open(&p->json, p->text, false);
  kn_json_begin(&p->json, NULL);
  kn_json_array(&p->json, "events");
  return true;
}

static void part_free(part* p) {
  FILE* all[] = {p->text, p->rows, p->contacts, p->states, p->count};
  for (int i = 0; i < 5; i++)
    if (all[i]) fclose(all[i]);
  free(p->text_at), free(p->row_at), free(p->contact_at), free(p->state_at), free(p->counts);
}

static void put(FILE* f, const double* x, int n) { fwrite(x, sizeof *x, (size_t)n, f); }

static void put_row(part* p) {
  const kn_model* m = kw.model;
  put(p->rows, kw_row(), kw_row_size());
  put(p->rows, kw_row_q(), kn_model_nq(m));
  put(p->rows, kw_row_v(), kn_model_nv(m));
  put(p->rows, kw_row_ctrl(), kn_model_nu(m));
  put(p->contacts, kw_row_contact(), kw_row_contacts() * kw_contact_size());
  fprintf(p->count, "%s%d", ftell(p->count) > 0 ? "," : "", kw_row_contacts() * kw_contact_size());
  for (int i = 0; i < kw_row_events(); i++) {
    kn_json_array(&p->json, NULL);
    for (int k = 0; k < kw_event_size(); k++)
      kn_json_number(&p->json, NULL, kw_row_event()[kw_event_size() * i + k]);
    kn_json_number(&p->json, NULL, kw_row()[0]);
    kn_json_int(&p->json, NULL, kw.step);
    kn_json_text(&p->json, NULL, kw_row_event_text(i));
    kn_json_end(&p->json);
  }
}

static void put_state(part* p) {
  size_t n = (size_t)kw_save_size();
  void* bytes = malloc(n);
  if (bytes && kw_save(bytes, (int)n) == KN_OK) fwrite(bytes, 1, n, p->states);
  free(bytes);
}

/* Sends it; false: nobody listens any more. */
static bool part_send(part* p, kn_view_send* send, void* to, long state_step, const char* failure,
                      bool complete) {
  kn_json_end(&p->json);
  fflush(p->count);
  kn_json_text(&p->json, "counts", p->counts);
  kn_json_int(&p->json, "state_step", state_step);
  kn_json_text(&p->json, "failure", failure);
  kn_json_bool(&p->json, "complete", complete);
  if (!kn_json_close(&p->json)) return false;
  while ((fflush(p->text), p->text_size) % 8) fputc(' ', p->text);
  fflush(p->rows), fflush(p->contacts), fflush(p->states);
  uint32_t head[2] = {(uint32_t)p->text_size, (uint32_t)(p->row_size + p->contact_size + p->state_size)};
  return send(to, head, HEAD) && send(to, p->text_at, p->text_size) && send(to, p->row_at, p->row_size) &&
         send(to, p->contact_at, p->contact_size) && send(to, p->state_at, p->state_size);
}

/* ---- the run ---- */

/* Steps for one part; the status of the last. */
static kn_status fill(part* p, long* state_step, double duration, bool first) {
  double start = kn_seconds(), dt = kw.subject.settings.dt;
  kn_status status = KN_OK;
  *state_step = -1;
  for (bool started = first; status == KN_OK && (started || kw_row()[0] < duration - 0.5 * dt);
       started = false) {
    if (!started) status = (kn_status)kw_step();
    if (status == KN_OK) put_row(p);
    if (status == KN_OK && kw.step % KEYFRAME == 0) {
      put_state(p), *state_step = (long)kw.step;
      break; /* at most one state in a part */
    }
    fflush(p->rows), fflush(p->contacts);
    if (kn_seconds() - start > PART_SECONDS || (double)(p->row_size + p->contact_size) > PART_BYTES) break;
  }
  return status;
}

static void stream(kn_view_send* send, void* to, double duration, int number) {
  bool more = true;
  for (bool first = true; more && number == atomic_load(&newest) && !kn_interrupted(); first = false) {
    part p;
    long state_step;
    more = part_open(&p);
    if (more) {
      kn_status status = fill(&p, &state_step, duration, first);
      bool complete = status != KN_OK || kw_row()[0] >= duration - 0.5 * kw.subject.settings.dt;
      more =
          part_send(&p, send, to, state_step, status == KN_OK ? "" : kn_last_error(), complete) && !complete;
    }
    part_free(&p);
  }
}

typedef struct order {
  const kn_view* view;
  char* asked;
  bool (*begin)(void*);
  kn_view_send* send;
  void* to;
  bool ok;
} order;

static void* run_order(void* context) {
  order* o = context;
  char line[MAX_LINE];
  double duration;
  if (!translate(line, &duration, o->view, o->asked)) return NULL;
  int number = atomic_fetch_add(&newest, 1) + 1;
  pthread_mutex_lock(&one);
  o->ok = kw_open(line) == KN_EXIT_OK && kw.sim && o->begin(o->to);
  if (o->ok) stream(o->send, o->to, duration, number);
  kw_close();
  pthread_mutex_unlock(&one);
  return NULL;
}

/* In a thread of its own: those of the server have stacks of 100 kB. */
bool kn_view_native(const kn_view* v, char* asked, bool (*begin)(void*), kn_view_send* send, void* to) {
  pthread_t thread;
  order o = {.view = v, .asked = asked, .begin = begin, .send = send, .to = to};
  if (pthread_create(&thread, NULL, run_order, &o) != 0) return false;
  pthread_join(thread, NULL);
  return o.ok;
}
