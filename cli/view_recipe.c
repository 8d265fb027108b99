/* The recipe of a run for the page: the words that open it there, the files it reads, and hashes of its states on the
   way, from a run made here. A recording that nobody can make again goes into the page as it is. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "knuckle/mesh.h"
#include "knuckle/record.h"
#include "output/file.h"
#include "view.h"

enum { CHECKS = 200 };

/* The engine in the page takes about this many times as long as the one here (docs/viewer.md has the figures). */
static const double PAGE_SLOWER = 3.0;
/* A page that opens at once needs no longer look at the run before; what takes longer in a file is recorded in it. */
static const double LOOK_SECONDS = 2.0, FILE_SECONDS = 30.0;
/* Steps of a second that are recorded: for slow motion too, or where a step has hundreds of contacts a smooth picture. */
static const double STUDY_RATE = 240.0, HEAVY_RATE = 60.0;

void kn_view_free(kn_view* v) {
  for (int i = 0; i < v->words; i++) free(v->word[i]);
  for (int i = 0; i < v->files; i++) free(v->file[i].path), free(v->file[i].bytes);
  free(v->file);
  free(v->check);
  free(v->path);
  free(v->packages);
  *v = (kn_view){0};
}

static void add_word(kn_view* v, const char* word) {
  if (v->words < KN_VIEW_WORDS) v->word[v->words++] = strdup(word);
}

/* ---- files ---- */

static bool add_file(kn_view* v, const char* path, void* bytes, size_t size) {
  if (v->files == v->room) {
    int room = v->room ? 2 * v->room : 32;
    kn_view_file* more = realloc(v->file, (size_t)room * sizeof *more);
    if (!more) return false;
    v->file = more;
    v->room = room;
  }
  v->file[v->files++] = (kn_view_file){strdup(path), bytes, size};
  return true;
}

static kn_view_file* find_file(const kn_view* v, const char* path) {
  for (int i = 0; i < v->files; i++)
    if (strcmp(v->file[i].path, path) == 0) return &v->file[i];
  return NULL;
}

/* What the loader reads is kept. */
static kn_status read_and_keep(const void** bytes, size_t* size, const char* path, void* context) {
  kn_view* v = context;
  char* real = realpath(path, NULL);
  if (!real) return KN_NOT_FOUND;
  kn_view_file* have = find_file(v, real);
  void* fresh = NULL;
  if (!have && (fresh = kn_plain_file(size, real)) && add_file(v, real, fresh, *size))
    have = find_file(v, real);
  free(real);
  if (!have) return KN_NOT_FOUND;
  *bytes = have->bytes;
  *size = have->size;
  return KN_OK;
}

/* Meshes that are only looked at are not read by the loader. */
static void keep_visuals(kn_view* v, const kn_load_report* report) {
  for (int i = 0; report && i < kn_load_visuals(report); i++) {
    const void* bytes;
    size_t size;
    const char* path = kn_load_visual(report, i)->mesh_file;
    if (path && path[0]) read_and_keep(&bytes, &size, path, v);
  }
}

/* A mesh as the text of an OBJ file, to the last bit; its first line tells readers so whatever the file is called
   (src/load/mesh/mesh_load.c). NULL without memory. */
static char* mesh_text(size_t* size, const kn_mesh_data* m) {
  char* text = NULL;
  FILE* f = open_memstream(&text, size);
  if (!f) return NULL;
  fputs("# knuckle mesh\n", f);
  for (int i = 0; i < m->nvertex; i++)
    fprintf(f, "v %.17g %.17g %.17g\n", m->vertices[3 * i], m->vertices[3 * i + 1], m->vertices[3 * i + 2]);
  for (int i = 0; i < m->ntriangle; i++)
    fprintf(f, "f %d %d %d\n", m->triangles[3 * i] + 1, m->triangles[3 * i + 1] + 1,
            m->triangles[3 * i + 2] + 1);
  if (fclose(f) == 0) return text;
  free(text);
  return NULL;
}

/* The page reads STL and OBJ: meshes of other kinds (Collada …) go into it as what this program reads of them. */
static void plain_meshes(kn_view* v) {
  static const char* const known[] = {"stl", "obj", "xml", "urdf", "mjcf", "yaml", "yml"};
  for (int i = 0; i < v->files; i++) {
    kn_view_file* f = &v->file[i];
    kn_mesh_data mesh;
    bool plain = false;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) plain |= kn_file_ends(f->path, known[k]);
    if (plain || kn_mesh_data_load(&mesh, f->path) != KN_OK) continue;
    size_t size;
    char* text = mesh_text(&size, &mesh);
    kn_mesh_data_free(&mesh);
    if (!text) continue;
    free(f->bytes);
    f->bytes = text;
    f->size = size;
  }
}

/* How much of `path` may be cut off so that the packages its URDF names can still be found by their names. */
static size_t before_packages(const kn_view* v, const char* path, size_t most) {
  for (int i = 0; i < v->files; i++) {
    if (!kn_file_ends(v->file[i].path, "urdf")) continue;
    const char *text = v->file[i].bytes, *end = text + v->file[i].size;
    for (const char* p = text; (p = memmem(p, (size_t)(end - p), "package://", 10)); p += 10) {
      char name[256] = "/";
      size_t n = 1;
      for (const char* c = p + 10; c < end && *c != '/' && *c != '"' && n < sizeof name - 2; c++)
        name[n++] = *c;
      memcpy(name + n, "/", 2);
      const char* at = n > 1 ? strstr(path, name) : NULL;
      if (at && (size_t)(at - path) < most) most = (size_t)(at - path);
    }
  }
  return most;
}

/* Folders that all files share say nothing to others: they are cut off. */
static size_t shared_folder(const kn_view* v) {
  if (v->files == 0) return 0;
  const char* first = v->file[0].path;
  size_t n = (size_t)(strrchr(first, '/') - first);
  for (int i = 1; i < v->files; i++) {
    size_t k = 0;
    while (k < n && v->file[i].path[k] == first[k]) k++;
    if (k < n || v->file[i].path[k] != '/')
      while (k > 0 && first[k] != '/') k--;
    if (k < n) n = k;
  }
  return before_packages(v, first, n);
}

static void cut(char* path, size_t n) { memmove(path, path + n, strlen(path + n) + 1); }

/* ---- words ---- */

/* The options that were given, as the page's own words. Folders of packages become the page's folders. */
static void add_options(kn_view* v, const kn_args* args, size_t folder) {
  static const kn_option known[] = {KN_SUBJECT_OPTIONS, {0}};
  for (const kn_option* o = known; o->name; o++) {
    if (!kn_arg_given(args, o->name)) continue;
    const kn_option* own = args->command->options;
    while (strcmp(own->name, o->name) != 0) own++;
    const char* value = args->values[own - args->command->options];
    char* real = strcmp(o->name, "--packages") == 0 ? realpath(value, NULL) : NULL;
    if (real && strlen(real) > folder)
      cut(real, folder);
    else if (real)
      strcpy(real, "/"); /* at least as long: realpath never gives less */
    add_word(v, o->name);
    if (o->type != KN_OPTION_FLAG) add_word(v, real ? real : value);
    free(real);
  }
}

/* ---- the run, once here ---- */

/* With `look` only as far as LOOK_SECONDS go. *seconds: processor time of a second of the run, whoever else uses the
   machine. */
static kn_exit simulate(kn_view* v, kn_subject* s, const kn_args* args, bool look, double* seconds) {
  kn_sim* sim = NULL;
  kn_progress bar;
  long steps = lround(v->duration / s->settings.dt), every = steps / CHECKS + 1;
  v->check = calloc(CHECKS + 2, sizeof *v->check);
  kn_status status = v->check ? kn_sim_create(&sim, s->model, &s->settings) : KN_OUT_OF_MEMORY;
  if (status == KN_OK && s->controller.fn) status = kn_sim_set_controller(sim, &s->controller);
  if (status == KN_OK) status = kn_sim_prepare(sim, s->state);
  kn_progress_start(&bar, args, s->name, v->duration, true);
  kn_interrupt_catch();
  double start = kn_seconds(), took = 0.0;
  clock_t work = clock();
  long done = 0;
  for (long i = 1; i <= steps && status == KN_OK && !(look && took > LOOK_SECONDS); i++) {
    status = kn_interrupted() ? KN_INTERRUPTED : kn_step(sim, s->state);
    if (i % every == 0 || i == steps) v->check[v->checks++] = (kn_view_check){i, kn_state_hash(s->state)};
    took = kn_seconds() - start;
    done = i;
    if (i % 64 == 0) kn_progress_update(&bar, kn_state_time(s->state), NULL);
  }
  kn_progress_end(&bar);
  v->steps = steps;
  v->hash = kn_state_hash(s->state);
  double worked = (double)(clock() - work) / CLOCKS_PER_SEC;
  *seconds = done > 0 ? worked / ((double)done * s->settings.dt) : 0.0;
  kn_sim_destroy(sim);
  return status == KN_OK ? KN_EXIT_OK : kn_complain_status(args, status);
}

/* Recorded here where the page cannot simulate it (a study file) or would take too long: `rate` steps of a second. */
static kn_exit record(kn_view* v, kn_subject* s, const kn_args* args, double rate) {
  char path[] = "/tmp/knuckle-view-XXXXXX.mcap";
  int fd = mkstemps(path, 5);
  if (fd < 0) return kn_complain(args, KN_EXIT_WRITE, "%s: %s", path, strerror(errno));
  FILE* hold = fdopen(fd, "rb");
  kn_sim* sim = NULL;
  kn_recorder* recorder = NULL;
  kn_record_settings r = kn_record_default();
  long steps = lround(v->duration / s->settings.dt);
  r.scene_rate = 0.0;
  r.level = 19;
  r.every = (int)fmax(1.0, floor(1.0 / (rate * s->settings.dt)));
  kn_status status = kn_sim_create(&sim, s->model, &s->settings);
  if (status == KN_OK && s->controller.fn) status = kn_sim_set_controller(sim, &s->controller);
  if (status == KN_OK) status = kn_sim_prepare(sim, s->state);
  if (status == KN_OK) status = kn_recorder_open(&recorder, path, sim, &r);
  for (long i = 0; i < steps && status == KN_OK; i++) {
    status = kn_recorder_before(recorder, s->state);
    if (status == KN_OK) status = kn_step(sim, s->state);
    if (status == KN_OK) status = kn_recorder_step(recorder, s->state);
  }
  if (recorder) {
    kn_status closed = kn_recorder_close(recorder);
    if (status == KN_OK) status = closed;
  }
  kn_sim_destroy(sim);
  v->steps = steps;
  v->hash = kn_state_hash(s->state);
  v->recorded = true;
  v->kept = steps / r.every;
  void* bytes;
  size_t size;
  bool have =
      status == KN_OK && (bytes = kn_plain_file(&size, path)) && add_file(v, "/run.mcap", bytes, size);
  if (hold) fclose(hold);
  remove(path);
  if (status != KN_OK) return kn_complain_status(args, status);
  add_word(v, "/run.mcap");
  return have ? KN_EXIT_OK : kn_complain(args, KN_EXIT_WRITE, "%s could not be read back", path);
}

/* ---- scenes and models ---- */

static void forget_files(kn_view* v) {
  for (int i = 0; i < v->files; i++) free(v->file[i].path), free(v->file[i].bytes);
  v->files = 0;
}

/* Where the run is to be simulated. A file for others must show it without this program: what would take the page long
   goes in as recorded steps. */
static kn_exit make_run(kn_view* v, kn_subject* s, const kn_args* args) {
  const char* engine = kn_arg_text(args, "--engine");
  bool served =
      !kn_arg_text(args, "--html") && !kn_arg_text(args, "--screenshot") && !kn_arg_text(args, "--video");
  bool automatic = strcmp(engine, "auto") == 0;
  double seconds = 0.0;
  if (!served && strcmp(engine, "native") == 0)
    return kn_complain(args, KN_EXIT_USAGE, "--engine native is for a page that is served, not for a file");
  v->native = strcmp(engine, "native") == 0;
  size_t size = kn_state_size(s->state);
  void* beginning = malloc(size);
  kn_status status = beginning ? kn_state_save(beginning, size, s->state) : KN_OUT_OF_MEMORY;
  kn_exit code = v->native ? KN_EXIT_OK : simulate(v, s, args, served, &seconds);
  if (code == KN_EXIT_OK && served && automatic) v->native = PAGE_SLOWER * seconds > 1.0;
  bool recipe = served || !automatic || PAGE_SLOWER * seconds * v->duration < FILE_SECONDS;
  if (status == KN_OK && !recipe) status = kn_state_load(s->state, beginning, size);
  free(beginning);
  if (code != KN_EXIT_OK || recipe) return code;
  if (status != KN_OK) return kn_complain_status(args, status);
  forget_files(v);
  while (v->words > 0) free(v->word[--v->words]);
  v->checks = 0;
  return record(v, s, args, HEAVY_RATE);
}

static kn_exit prepare_subject(kn_view* v, kn_args* args) {
  kn_subject s;
  kn_files files = {.read = read_and_keep, .context = v};
  char *given = args->operand[0], *real = realpath(given, NULL);
  if (real && strchr(given, '.')) args->operand[0] = real;
  kn_exit code = kn_case_subject(&s, args, &files);
  if (code == KN_EXIT_OK) {
    v->duration = kn_arg_given(args, "--time") ? kn_arg_number(args, "--time") : s.duration;
    v->end = v->duration;
    if (s.model_path) v->path = strdup(args->operand[0]);
    if (kn_arg_text(args, "--packages")) v->packages = strdup(kn_arg_text(args, "--packages"));
    keep_visuals(v, s.report);
    plain_meshes(v);
    if (s.study) {
      forget_files(v);
      code = record(v, &s, args, STUDY_RATE);
    } else {
      size_t folder = shared_folder(v);
      char* name = strdup(s.name);
      if (name && s.report) cut(name, folder);
      add_word(v, name ? name : "");
      free(name);
      for (int i = 0; i < v->files; i++) cut(v->file[i].path, folder);
      add_options(v, args, folder);
      code = make_run(v, &s, args);
    }
  }
  kn_subject_close(&s);
  args->operand[0] = given;
  free(real);
  return code;
}

/* ---- recordings ---- */

static kn_exit prepare_recording(kn_view* v, kn_args* args) {
  kn_recording* r;
  void* bytes;
  size_t size;
  kn_recorded last;
  const char* path = args->operand[0];
  kn_status status = kn_recording_open(&r, path);
  if (status != KN_OK) return kn_complain_status(args, status);
  v->recorded = true;
  v->steps = v->kept = kn_recording_steps(r);
  if (v->steps > 0 && kn_recording_read(&last, r, (int)v->steps - 1) == KN_OK)
    v->hash = last.state_hash, v->end = last.t;
  kn_recording_close(r);
  if (!(bytes = kn_plain_file(&size, path)))
    return kn_complain(args, KN_EXIT_INPUT, "%s: %s", path, strerror(errno));
  const char* slash = strrchr(path, '/');
  char name[512];
  snprintf(name, sizeof name, "/%s", slash ? slash + 1 : path);
  add_word(v, name);
  return add_file(v, name, bytes, size) ? KN_EXIT_OK : kn_complain(args, KN_EXIT_VIOLATION, "out of memory");
}

kn_exit kn_view_prepare(kn_view* v, kn_args* args) {
  *v = (kn_view){.duration = NAN, .shot = NAN};
  return kn_file_ends(args->operand[0], "mcap") ? prepare_recording(v, args) : prepare_subject(v, args);
}
