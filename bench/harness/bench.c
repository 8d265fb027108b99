#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#include "base/timer.h"
#include "output/file.h"

static void* grown(void* p, size_t count, size_t* room, size_t size) {
  if (count < *room) return p;
  *room = *room ? 2 * *room : 16;
  p = realloc(p, *room * size);
  if (!p) abort();
  return p;
}

static void usage(const char* name, const char* title) {
  printf("bench/%s: %s\n\n"
         "  --json             one JSON object on standard output\n"
         "  --quick            fewer repeats and sizes; nothing is saved unless --results is given\n"
         "  --repeats N        samples per entry (odd; default 15)\n"
         "  --sample SECONDS   length of a sample (default 0.004)\n"
         "  --filter TEXT      only rows whose name contains TEXT; likewise\n"
         "  --results DIR      where NAME.json and NAME.svg go (default bench/results)\n"
         "  --no-save          keep no results\n",
         name, title);
}

static const char* value_of(int argc, char** argv, const char* name, const char* fallback) {
  size_t length = strlen(name);
  for (int i = 1; i < argc; i++) {
    if (strncmp(argv[i], name, length) != 0) continue;
    if (argv[i][length] == '=') return argv[i] + length + 1;
    if (argv[i][length] == '\0' && i + 1 < argc) return argv[i + 1];
  }
  return fallback;
}

static bool given(int argc, char** argv, const char* name) {
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], name) == 0) return true;
  return false;
}

/* The end of a bench that cannot begin: a sentence and, with --json, the error object of the command line. */
static _Noreturn void refuse(int argc, char** argv, int code, const char* status, const char* why) {
  fprintf(stderr, "%s\n", why);
  if (given(argc, argv, "--json")) {
    kn_json j;
    kn_json_open(&j, stdout, false);
    kn_json_begin(&j, NULL);
    kn_json_begin(&j, "error");
    kn_json_text(&j, "status", status);
    kn_json_null(&j, "file");
    kn_json_null(&j, "line");
    kn_json_null(&j, "column");
    kn_json_text(&j, "text", why);
    kn_json_close(&j);
  }
  exit(code);
}

static double number_of(int argc, char** argv, const char* name, double fallback, double lo, double hi) {
  const char* text = value_of(argc, argv, name, NULL);
  if (!text) return fallback;
  char* end;
  double v = strtod(text, &end);
  if (*end == '\0' && end != text && v >= lo && v <= hi) return v;
  char why[256];
  snprintf(why, sizeof why, "%s: expected a number from %g to %g, got \"%.80s\"", name, lo, hi, text);
  refuse(argc, argv, 2, "USAGE", why);
}

kn_bench* kn_bench_open(const char* name, const char* title, int argc, char** argv) {
  if (given(argc, argv, "--help") || given(argc, argv, "-h")) {
    usage(name, title);
    exit(0);
  }
  kn_bench* b = calloc(1, sizeof *b);
  if (!b) abort();
  b->name = name;
  b->title = title;
  b->argc = argc;
  b->argv = argv;
  b->json = given(argc, argv, "--json") || !isatty(STDOUT_FILENO);
  b->quick = given(argc, argv, "--quick");
  b->filter = value_of(argc, argv, "--filter", NULL);
  b->results = value_of(argc, argv, "--results", KN_SOURCE_DIR "/bench/results");
  bool asked = value_of(argc, argv, "--results", NULL) != NULL;
  b->save = asked || (!b->quick && !b->filter && !given(argc, argv, "--no-save"));
  b->repeats = (int)number_of(argc, argv, "--repeats", b->quick ? 5 : 15, 1, BENCH_REPEATS);
  b->sample_seconds = number_of(argc, argv, "--sample", b->quick ? 0.001 : 0.004, 1e-6, 10);
  if (b->save && !kn_make_folders(b->results, true)) {
    char why[1200];
    snprintf(why, sizeof why, "--results %.1000s cannot be made a folder: %s", b->results, strerror(errno));
    refuse(argc, argv, 4, "IO", why);
  }
  kn_bench_unit(b, "us", 1e6);
  return b;
}

const char* kn_bench_argument(kn_bench* b, const char* name, const char* fallback) {
  return value_of(b->argc, b->argv, name, fallback);
}

bool kn_bench_quick(const kn_bench* b) { return b->quick; }
int kn_bench_repeats(kn_bench* b, int fallback) {
  return given(b->argc, b->argv, "--repeats") ? b->repeats : fallback;
}
const char* kn_bench_results(const kn_bench* b) { return b->save ? b->results : NULL; }

void kn_bench_unit(kn_bench* b, const char* unit, double scale) {
  snprintf(b->unit, sizeof b->unit, "%s", unit);
  b->scale = scale;
}

void kn_bench_group(kn_bench* b, const char* title, const char* x_label, kn_bench_axes axes) {
  b->groups = (bench_group*)grown(b->groups, b->group_count, &b->group_room, sizeof *b->groups);
  bench_group* g = &b->groups[b->group_count++];
  *g = (bench_group){.by_x = x_label != NULL, .axes = axes};
  snprintf(g->title, sizeof g->title, "%s", title);
  snprintf(g->x_label, sizeof g->x_label, "%s", x_label ? x_label : "");
}

static bench_row* current(const kn_bench* b) {
  if (b->row_count == 0) abort(); /* kn_bench_row comes first */
  return b->rows[b->row_count - 1];
}

bool kn_bench_row(kn_bench* b, const char* format, ...) {
  char name[96];
  va_list args;
  va_start(args, format);
  vsnprintf(name, sizeof name, format, args);
  va_end(args);
  if (b->filter && !strstr(name, b->filter)) return false;
  if (b->group_count == 0) kn_bench_group(b, b->title, NULL, KN_BENCH_LOG);
  b->rows = (bench_row**)grown(b->rows, b->row_count, &b->row_room, sizeof *b->rows);
  bench_row* row = calloc(1, sizeof *row);
  if (!row) abort();
  memcpy(row->name, name, sizeof name);
  memcpy(row->unit, b->unit, sizeof row->unit);
  row->scale = b->scale;
  row->per = 1;
  row->group = b->group_count - 1;
  memcpy(b->groups[row->group].unit, b->unit, sizeof row->unit);
  b->rows[b->row_count++] = row;
  if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K%s: %s …", b->name, name);
  return true;
}

void kn_bench_x(kn_bench* b, double x) {
  current(b)->x = x;
  current(b)->has_x = true;
}

void kn_bench_per(kn_bench* b, double count) { current(b)->per = count; }

static bench_entry* add(kn_bench* b, bench_kind kind, const char* name) {
  bench_row* row = current(b);
  if (row->entry_count == BENCH_ENTRIES) abort();
  bench_entry* e = &row->entries[row->entry_count++];
  *e = (bench_entry){.kind = kind, .median = NAN};
  snprintf(e->name, sizeof e->name, "%s", name);
  return e;
}

static void add_timed(kn_bench* b, bench_kind kind, const char* name, kn_bench_fn run, void* context) {
  bench_entry* e = add(b, kind, name);
  e->run = run;
  e->context = context;
}

void kn_bench_ours(kn_bench* b, const char* name, kn_bench_fn run, void* context) {
  add_timed(b, BENCH_OURS, name, run, context);
}
void kn_bench_peer(kn_bench* b, const char* name, kn_bench_fn run, void* context) {
  add_timed(b, BENCH_PEER, name, run, context);
}
void kn_bench_extra(kn_bench* b, const char* name, kn_bench_fn run, void* context) {
  add_timed(b, BENCH_EXTRA, name, run, context);
}
void kn_bench_ours_value(kn_bench* b, const char* name, double v) { add(b, BENCH_OURS, name)->median = v; }
void kn_bench_peer_value(kn_bench* b, const char* name, double v) { add(b, BENCH_PEER, name)->median = v; }
void kn_bench_extra_value(kn_bench* b, const char* name, double v) { add(b, BENCH_EXTRA, name)->median = v; }

static double seconds_of(const bench_entry* e, long calls) {
  double start = kn_cpu_seconds();
  for (long i = 0; i < calls; i++) e->run(e->context);
  return kn_cpu_seconds() - start;
}

/* How many calls make a sample: doubled until it is long enough; this also warms up. */
static void calibrate(const kn_bench* b, bench_entry* e) {
  e->calls = 1;
  for (;;) {
    double t = seconds_of(e, e->calls);
    if (t >= b->sample_seconds || e->calls > (1L << 40)) return;
    double more = t > 0.1 * b->sample_seconds ? 1.1 * b->sample_seconds / t : 4;
    e->calls = (long)ceil((double)e->calls * fmax(more, 1.05));
  }
}

static int compare_doubles(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

void kn_bench_measure(kn_bench* b) {
  bench_row* row = current(b);
  for (size_t i = 0; i < row->entry_count; i++)
    if (row->entries[i].run) calibrate(b, &row->entries[i]);
  for (int r = 0; r < b->repeats; r++)
    for (size_t i = 0; i < row->entry_count; i++) {
      bench_entry* e = &row->entries[i];
      if (e->run) e->sample[r] = seconds_of(e, e->calls) / (double)e->calls * row->scale / row->per;
    }
  for (size_t i = 0; i < row->entry_count; i++) {
    bench_entry* e = &row->entries[i];
    if (!e->run) continue;
    qsort(e->sample, (size_t)b->repeats, sizeof *e->sample, compare_doubles);
    e->median = e->sample[b->repeats / 2];
    e->spread = (e->sample[(3 * b->repeats) / 4] - e->sample[b->repeats / 4]) / e->median;
    e->run = NULL; /* a second kn_bench_measure in the row times only what was added since */
  }
}

static void add_samples(kn_bench* b, bench_kind kind, const char* name, const double* values, int count) {
  bench_entry* e = add(b, kind, name);
  if (count > BENCH_REPEATS) count = BENCH_REPEATS;
  if (count < 1) return;
  memcpy(e->sample, values, (size_t)count * sizeof *values);
  qsort(e->sample, (size_t)count, sizeof *e->sample, compare_doubles);
  e->median = e->sample[count / 2];
  e->spread = (e->sample[(3 * count) / 4] - e->sample[count / 4]) / e->median;
}
void kn_bench_ours_samples(kn_bench* b, const char* name, const double* values, int count) {
  add_samples(b, BENCH_OURS, name, values, count);
}
void kn_bench_peer_samples(kn_bench* b, const char* name, const double* values, int count) {
  add_samples(b, BENCH_PEER, name, values, count);
}
void kn_bench_extra_samples(kn_bench* b, const char* name, const double* values, int count) {
  add_samples(b, BENCH_EXTRA, name, values, count);
}

const bench_entry* bench_ours(const bench_row* row) {
  for (size_t i = 0; i < row->entry_count; i++)
    if (row->entries[i].kind == BENCH_OURS) return &row->entries[i];
  return NULL;
}

const bench_entry* bench_best_peer(const bench_row* row) {
  const bench_entry* best = NULL;
  for (size_t i = 0; i < row->entry_count; i++) {
    const bench_entry* e = &row->entries[i];
    if (e->kind == BENCH_PEER && isfinite(e->median) && (!best || e->median < best->median)) best = e;
  }
  return best;
}

double kn_bench_median(const kn_bench* b, const char* name) {
  const bench_row* row = current(b);
  for (size_t i = 0; i < row->entry_count; i++)
    if (strcmp(row->entries[i].name, name) == 0) return row->entries[i].median;
  return NAN;
}

double kn_bench_ratio(const kn_bench* b) {
  const bench_entry *ours = bench_ours(current(b)), *peer = bench_best_peer(current(b));
  return ours && peer ? ours->median / peer->median : NAN;
}

static bench_field* field(kn_bench* b, const char* key) {
  bench_row* row = current(b);
  if (row->field_count == BENCH_FIELDS) abort();
  bench_field* f = &row->fields[row->field_count++];
  snprintf(f->key, sizeof f->key, "%s", key);
  return f;
}

void kn_bench_number(kn_bench* b, const char* key, double value) { field(b, key)->number = value; }

void kn_bench_text(kn_bench* b, const char* key, const char* value) {
  bench_field* f = field(b, key);
  f->is_text = true;
  snprintf(f->text, sizeof f->text, "%s", value);
}

static double field_number(const bench_row* row, const char* key) {
  for (size_t i = 0; i < row->field_count; i++)
    if (strcmp(row->fields[i].key, key) == 0 && !row->fields[i].is_text) return row->fields[i].number;
  return INFINITY;
}

void kn_bench_sort(kn_bench* b, const char* key) {
  for (size_t i = 1; i < b->row_count; i++) { /* insertion: stable, and some hundred rows */
    bench_row* row = b->rows[i];
    double x = field_number(row, key);
    size_t k = i;
    for (; k > 0 && b->rows[k - 1]->group == row->group && field_number(b->rows[k - 1], key) > x; k--)
      b->rows[k] = b->rows[k - 1];
    b->rows[k] = row;
  }
}

void kn_bench_plot_ratios(kn_bench* b, const char* key, const char* words) {
  b->ratio_key = key;
  b->ratio_words = words;
}

static void add_note(kn_bench* b, const char* format, va_list args) {
  b->notes = (bench_line*)grown(b->notes, b->note_count, &b->note_room, sizeof *b->notes);
  vsnprintf(b->notes[b->note_count++].text, sizeof b->notes->text, format, args);
}

void kn_bench_note(kn_bench* b, const char* format, ...) {
  va_list args;
  va_start(args, format);
  add_note(b, format, args);
  va_end(args);
}

void kn_bench_fail(kn_bench* b, const char* format, ...) {
  va_list args;
  va_start(args, format);
  add_note(b, format, args);
  va_end(args);
  fprintf(stderr, "\nbench %s: FAILED: %s\n", b->name, b->notes[b->note_count - 1].text);
  b->failed = true;
}

void kn_bench_members(kn_bench* b, void (*write)(kn_json* j, void* context), void* context) {
  b->members = write;
  b->members_context = context;
}

static bool save_results(const kn_bench* b) {
  char path[1024];
  kn_file file;
  snprintf(path, sizeof path, "%s/%s.json", b->results, b->name);
  if (!kn_file_open(&file, path) || !kn_file_close(&file, bench_write_json(b, file.stream))) return false;
  snprintf(path, sizeof path, "%s/%s.svg", b->results, b->name);
  return b->ratio_key ? bench_write_ratios(b, path) : bench_write_plot(b, path);
}

void kn_bench_claims(kn_bench* b) { b->claims = true; }

bool kn_bench_claim(kn_bench* b, const char* name, double paper, double ours, bool holds) {
  if (!kn_bench_row(b, "%s", name)) return false;
  kn_bench_ours_value(b, "knuckle", ours);
  if (!isnan(paper)) kn_bench_peer_value(b, "paper", paper);
  kn_bench_text(b, "claim", name);
  kn_bench_number(b, "paper", paper);
  kn_bench_text(b, "holds", holds ? "yes" : "no");
  if (!holds) kn_bench_fail(b, "%s: %.9g", name, ours);
  return true;
}

int kn_bench_close(kn_bench* b) {
  int status = b->failed ? 1 : 0;
  bench_write_table(b);
  if (b->json && !bench_write_json(b, stdout)) status = 4;
  if (b->save && b->row_count && !save_results(b)) {
    fprintf(stderr, "bench %s: could not write the results to %s\n", b->name, b->results);
    status = 4;
  }
  for (size_t i = 0; i < b->row_count; i++) free(b->rows[i]);
  free(b->rows);
  free(b->groups);
  free(b->notes);
  free(b);
  return status;
}

const void* kn_bench_load_peer(kn_bench* b, const char* peer) {
  char path[1100], folder[1000];
  ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
  if (n <= 0) return NULL;
  folder[n] = '\0';
  char* slash = strrchr(folder, '/');
  if (slash) *slash = '\0';
  snprintf(path, sizeof path, "%s/modules/%s_%s.so", folder, b->name, peer);
  if (access(path, R_OK) != 0) {
    kn_bench_note(b, "%s is not installed: no figures for it (make peers)", peer);
    return NULL;
  }
  /* DEEPBIND: the peer's libraries see their own symbols first, not another peer's. */
  void* module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  const void* found = module ? dlsym(module, "kn_peer") : NULL;
  if (!found) kn_bench_fail(b, "%s: %s", peer, dlerror());
  return found;
}

void kn_bench_chill(void) {
  enum { BYTES = 96 << 20 };
  static char* memory;
  if (!memory) memory = malloc(BYTES);
  if (memory) memset(memory, (int)(kn_wall_seconds() * 1e3) & 127, BYTES);
  kn_bench_keep(memory);
}
