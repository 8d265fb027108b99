/* Every scene opens, starts and has a document; parameters are checked by name. */
#include "scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "picture.h"
#include "test.h"

TEST(every_scene_builds_and_starts) {
  int n = 0;
  for (const kn_scene* const* s = kn_scenes(); *s; s++, n++) {
    kn_scene_opened* o;
    kn_state* state;
    CHECK((*s)->purpose && *(*s)->purpose && (*s)->citation);
    CHECK((*s)->dt > 0.0 && (*s)->duration > 0.0);
    CHECK(kn_scene_params(*s) <= KN_SCENE_PARAMS);
    if (!CHECK_OK(kn_scene_open(&o, (*s)->name, NULL, 0))) {
      printf("  %s\n", kn_scene_error());
      continue;
    }
    CHECK_OK(kn_state_create(&state, o->model));
    if (!CHECK_OK(kn_scene_start(o, state))) printf("  %s\n", kn_scene_error());
    bool finite = true;
    for (int i = 0; i < kn_model_nq(o->model); i++) finite &= isfinite(kn_state_q(state)[i]) != 0;
    for (int i = 0; i < kn_model_nv(o->model); i++) finite &= isfinite(kn_state_v(state)[i]) != 0;
    CHECK(finite);
    uint64_t hash = kn_state_hash(state);
    CHECK_OK(kn_scene_start(o, state)); /* starting again gives the same state */
    CHECK(hash == kn_state_hash(state));
    for (int i = 0; i < kn_scene_params(*s); i++) {
      const kn_scene_param* d = &(*s)->param[i];
      CHECK(d->doc && d->lo <= d->value && d->value <= d->hi);
      for (int k = 0; k < i; k++) CHECK(strcmp(d->name, (*s)->param[k].name) != 0);
    }
    for (const kn_scene* const* t = kn_scenes(); t != s; t++) CHECK(strcmp((*t)->name, (*s)->name) != 0);
    kn_state_destroy(state);
    kn_scene_close(o);
  }
  printf("%d scenes\n", n);
}

TEST(parameters_are_checked_by_name) {
  kn_scene_opened* o;
  const char* settings[1] = {"links=7"};
  CHECK_OK(kn_scene_open(&o, "pendulum-2014", settings, 1));
  CHECK_INT(kn_model_nv(o->model), 7);
  kn_scene_close(o);
  static const struct {
    const char *scene, *setting, *text;
  } bad[] = {{"pendulum-2014", "linsk=7", "did you mean links"},
             {"pendulum-2014", "links=7.5", "whole"},
             {"pendulum-2014", "links=abc", "not a number"},
             {"pendulum-2014", "links=0", "expected 1"},
             {"pendulum-2014", "links", "name=value"},
             {"pendulum-2014", "e=nan", "e is nan"},
             {"pendlum-2014", "links=7", "did you mean pendulum-2014"},
             {"pendlum", "links=7", "did you mean pendulum-2012"},
             {"zebra", "links=7", "knuckle list scenes"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CHECK(kn_scene_open(&o, bad[i].scene, &bad[i].setting, 1) != KN_OK);
    CHECK(o == NULL);
    CHECK_TEXT(kn_scene_error(), bad[i].text);
  }
  CHECK_STATUS(kn_scene_open(&o, NULL, NULL, 0), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_scene_open(NULL, "stack", NULL, 0), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_scene_start(NULL, NULL), KN_BAD_ARGUMENT);
}

TEST(the_two_robots_have_their_dofs) {
  kn_model* m;
  CHECK_OK(kn_scene_model(&m, "quadruped", NULL, 0));
  CHECK_INT(kn_model_nv(m), 18);
  CHECK_INT(kn_model_nu(m), 12);
  CHECK_NEAR(kn_model_mass(m), 16.8, 1e-12);
  kn_model_destroy(m);
  CHECK_OK(kn_scene_model(&m, "humanoid", NULL, 0));
  CHECK_INT(kn_model_nv(m), 34);
  CHECK_INT(kn_model_nu(m), 28);
  CHECK_NEAR(kn_model_mass(m), 67.8, 1e-12);
  kn_model_destroy(m);
}

TEST(own_trigonometry) {
  double worst = 0.0;
  for (int i = -4000; i <= 4000; i++) {
    double x = i * 0.0031, s, c;
    kn_sincos_exact(&s, &c, x);
    worst = fmax(worst, fmax(fabs(s - sin(x)), fabs(c - cos(x))));
    worst = fmax(worst, fabs(remainder(kn_angle(s, c) - x, 2 * 3.14159265358979323846)));
  }
  CHECK_NEAR(worst, 0.0, 2e-15); /* a few ulp, angles up to 12 */
}

TEST(the_page_of_scenes_is_up_to_date) {
  char *text = NULL, *page = NULL;
  size_t size, read = 0;
  FILE* f = open_memstream(&text, &size);
  kn_scenes_page(f);
  fclose(f);
  f = fopen(KN_SOURCE_DIR "/docs/scenes.md", "r");
  if (CHECK(f != NULL)) {
    page = calloc(1, size + 2);
    read = fread(page, 1, size + 1, f);
    fclose(f);
  }
  if (!CHECK(page && read == size && memcmp(page, text, size) == 0)) puts("  renew it: make docs");
  free(text);
  free(page);
}

/* Every shape is drawn, with finite numbers only. */
TEST(pictures_are_drawn) {
  for (const kn_scene* const* s = kn_scenes(); *s; s++) {
    kn_scene_opened* o;
    kn_state* state;
    char* text = NULL;
    size_t size;
    FILE* f = open_memstream(&text, &size);
    CHECK_OK(kn_scene_open(&o, (*s)->name, NULL, 0));
    CHECK_OK(kn_state_create(&state, o->model));
    CHECK_OK(kn_scene_start(o, state));
    CHECK_OK(kn_picture_write(f, o->model, state, NULL));
    fclose(f);
    CHECK(strstr(text, "</svg>") && !strstr(text, "nan") && !strstr(text, "inf"));
    CHECK(strstr(text, "<polygon") || strstr(text, "<ellipse") || strstr(text, "<line"));
    free(text);
    kn_state_destroy(state);
    kn_scene_close(o);
  }
  CHECK_STATUS(kn_picture_write(NULL, NULL, NULL, NULL), KN_BAD_ARGUMENT);
}
