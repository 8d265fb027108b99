/* The list of scenes, and opening one by name. */
#define _GNU_SOURCE /* strtod_l */
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h"

/* clang-format off */
#define KN_SCENE_LIST(X) \
  X(chain) X(pendulum_2012) X(pendulum_2014) X(dual_arm) X(quadruped) X(humanoid) X(stack) X(wall) \
  X(dominoes) X(sliding_block) X(incline) X(rocking_block) X(wedged_box) X(bouncing_ball) \
  X(superball) X(rolling_sphere) X(newton_cradle) X(spinning_top) X(tippe_top) X(spinning_coin) \
  X(rattleback) X(sphere_pile) X(painleve_rod) \
  X(woodpecker) X(gripper) X(four_bar) X(bricard) X(slider_crank) X(a01) X(a02) X(a03) \
  X(bench_rolling) X(bench_bouncing) X(bench_666) X(bench_energy) X(bench_momentum) X(bench_pd) \
  X(grasp_1) X(grasp_2) X(grasp_3d)
/* clang-format on */

#define X(id) extern const kn_scene kn_scene_##id;
KN_SCENE_LIST(X)
#undef X

static const kn_scene* const scenes[] = {
#define X(id) &kn_scene_##id,
    KN_SCENE_LIST(X)
#undef X
        NULL};

const kn_scene* const* kn_scenes(void) { return scenes; }

int kn_scene_params(const kn_scene* scene) {
  int n = 0;
  while (scene->param && scene->param[n].name) n++;
  return n;
}

const char* kn_scene_param_words(const kn_scene* scene, int i) {
  for (const kn_scene_words* w = scene->words; w && w->name; w++)
    if (strcmp(w->name, scene->param[i].name) == 0) return w->words;
  return NULL;
}

/* ---- messages ---- */

static _Thread_local char message[512];

const char* kn_scene_error(void) { return message; }

static kn_status fail(kn_status status, const char* format, ...) __attribute__((format(printf, 2, 3)));
static kn_status fail(kn_status status, const char* format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return status;
}

/* Letters to change, add or drop; at most 9 counted. */
static int distance(const char* a, const char* b) {
  int row[40], nb = (int)strlen(b);
  if (nb >= 40) return 9;
  for (int j = 0; j <= nb; j++) row[j] = j;
  for (int i = 1; a[i - 1]; i++) {
    int corner = row[0];
    row[0] = i;
    for (int j = 1; j <= nb; j++) {
      int best = corner + (a[i - 1] != b[j - 1]);
      corner = row[j];
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      row[j] = best;
    }
  }
  return row[nb] < 9 ? row[nb] : 9;
}

typedef struct guess {
  const char* word;
  int distance;
} guess;

/* The whole word, or what is before its dash: pendulum of pendulum-2014, as good as one letter more. */
static void consider(guess* g, const char* wanted, const char* word) {
  int d = distance(wanted, word), most = (int)strcspn(word, "-");
  char part[40];
  snprintf(part, sizeof part, "%.*s", most, word);
  if (word[most]) d = d <= distance(wanted, part) ? d : distance(wanted, part) + 1;
  if (d <= 1 + (int)strlen(wanted) / 3 && d < g->distance) *g = (guess){word, d};
}

kn_status kn_scene_find(const kn_scene** scene, const char* name) {
  if (!scene || !name) return fail(KN_BAD_ARGUMENT, "kn_scene_find: NULL");
  guess g = {NULL, 9};
  *scene = NULL;
  for (int i = 0; scenes[i] && !*scene; i++)
    if (strcmp(scenes[i]->name, name) == 0) *scene = scenes[i];
  if (*scene) return KN_OK;
  for (int i = 0; scenes[i]; i++) consider(&g, name, scenes[i]->name);
  return g.word ? fail(KN_NOT_FOUND, "no scene '%s'; did you mean %s?", name, g.word)
                : fail(KN_NOT_FOUND, "no scene '%s'; `knuckle list scenes` names them", name);
}

/* ---- parameters ---- */

static kn_status check_value(const kn_scene_param* d, double x, const char* text) {
  if (!(x >= d->lo && x <= d->hi))
    return fail(KN_BAD_ARGUMENT, "%s is %s, expected %g … %g", d->name, text, d->lo, d->hi);
  if (d->whole && x != floor(x))
    return fail(KN_BAD_ARGUMENT, "%s is %s, expected a whole number", d->name, text);
  return KN_OK;
}

/* Place of the text among "a|b|c", or -1. */
static int word_index(const char* words, const char* text) {
  size_t length = strlen(text);
  for (int i = 0; words; i++) {
    const char* bar = strchr(words, '|');
    size_t n = bar ? (size_t)(bar - words) : strlen(words);
    if (n == length && strncmp(words, text, n) == 0) return i;
    words = bar ? bar + 1 : NULL;
  }
  return -1;
}

/* A number with a decimal point, whatever locale the program has set. */
static double number(const char* text, char** end) {
  locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  double x = c ? strtod_l(text, end, c) : strtod(text, end);
  if (c) freelocale(c);
  return x;
}

static kn_status set_param(kn_scene_opened* s, const char* text) {
  const char* equals = text ? strchr(text, '=') : NULL;
  if (!equals) return fail(KN_BAD_ARGUMENT, "'%s': expected name=value", text ? text : "(NULL)");
  char name[32], *end;
  snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
  guess g = {NULL, 9};
  for (int i = 0; i < kn_scene_params(s->scene); i++) {
    const kn_scene_param* d = &s->scene->param[i];
    consider(&g, name, d->name);
    if (strcmp(name, d->name) != 0) continue;
    const char* words = kn_scene_param_words(s->scene, i);
    if (words) {
      s->p[i] = word_index(words, equals + 1);
      return s->p[i] >= 0 ? KN_OK : fail(KN_BAD_ARGUMENT, "%s is '%s', expected %s", name, equals + 1, words);
    }
    s->p[i] = number(equals + 1, &end);
    if (end == equals + 1 || *end) return fail(KN_BAD_ARGUMENT, "%s: '%s' is not a number", name, equals + 1);
    return check_value(d, s->p[i], equals + 1);
  }
  return fail(KN_NOT_FOUND, "scene %s has no parameter '%s'%s%s%s", s->scene->name, name,
              g.word ? "; did you mean " : "", g.word ? g.word : "", g.word ? "?" : "");
}

/* ---- opening ---- */

typedef struct editing {
  kn_scene_edit fn;
  void* context;
} editing;

static kn_status build_model(kn_model** model, const kn_scene* scene, const double* p, editing edit) {
  kn_spec* spec;
  kn_status status = kn_spec_create(&spec);
  if (status == KN_OK) {
    status = kn_spec_set_name(spec, scene->name);
    if (status == KN_OK) status = scene->build(spec, p);
    if (status == KN_OK && edit.fn) status = edit.fn(spec, edit.context);
    if (status == KN_OK) status = kn_compile(model, spec);
    kn_spec_destroy(spec);
  }
  return status == KN_OK ? KN_OK : fail(status, "scene %s: %s", scene->name, kn_last_error());
}

static kn_status open_scene(kn_scene_opened* s, const char* const* settings, int count, editing edit) {
  for (int i = 0; i < kn_scene_params(s->scene); i++) s->p[i] = s->scene->param[i].value;
  for (int i = 0; i < count; i++) {
    kn_status status = set_param(s, settings[i]);
    if (status != KN_OK) return status;
  }
  kn_status status = build_model(&s->model, s->scene, s->p, edit);
  if (status == KN_OK && s->scene->control)
    status = s->scene->control(&s->controller, s->context, s->model, s->p);
  return status;
}

kn_status kn_scene_open(kn_scene_opened** out, const char* name, const char* const* settings, int count) {
  return kn_scene_open_edited(out, name, settings, count, NULL, NULL);
}

kn_status kn_scene_open_edited(kn_scene_opened** out, const char* name, const char* const* settings,
                               int count, kn_scene_edit edit, void* context) {
  if (!out) return fail(KN_BAD_ARGUMENT, "kn_scene_open: NULL");
  *out = NULL;
  if (count > 0 && !settings) return fail(KN_BAD_ARGUMENT, "kn_scene_open: settings is NULL");
  const kn_scene* scene;
  kn_status status = kn_scene_find(&scene, name);
  if (status != KN_OK) return status;
  kn_scene_opened* s = calloc(1, sizeof *s);
  if (!s) return fail(KN_OUT_OF_MEMORY, "scene %s: no memory", name);
  s->scene = scene;
  status = open_scene(s, settings, count, (editing){edit, context});
  if (status != KN_OK) {
    kn_scene_close(s);
    return status;
  }
  *out = s;
  return KN_OK;
}

void kn_scene_close(kn_scene_opened* scene) {
  if (!scene) return;
  kn_model_destroy(scene->model);
  free(scene);
}

kn_status kn_scene_start(const kn_scene_opened* scene, kn_state* state) {
  if (!scene || !state) return fail(KN_BAD_ARGUMENT, "kn_scene_start: NULL");
  kn_status status = kn_state_reset(state);
  if (status == KN_OK && scene->scene->setup) status = scene->scene->setup(state, scene->model, scene->p);
  return status == KN_OK ? KN_OK : fail(status, "scene %s: %s", scene->scene->name, kn_last_error());
}

kn_status kn_scene_model(kn_model** model, const char* name, const char* const* settings, int count) {
  if (!model) return fail(KN_BAD_ARGUMENT, "kn_scene_model: NULL");
  *model = NULL;
  kn_scene_opened* s;
  kn_status status = kn_scene_open(&s, name, settings, count);
  if (status != KN_OK) return status;
  *model = s->model;
  s->model = NULL;
  kn_scene_close(s);
  return KN_OK;
}
