/* gallery FOLDER: writes FOLDER/scenes.md and a picture of every scene into FOLDER/pictures/scenes. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "picture.h"

/* Instant and point of view where the beginning is not the thing to see. */
static const struct {
  const char* scene;
  double time, azimuth, elevation;
} SHOW[] = {{"pendulum-2012", 1.2, 10, 10},
            {"pendulum-2014", 0.9, 10, 10},
            {"dominoes", 0.35, 25, 20},
            {"rocking-block", 0.1, 10, 10},
            {"newton-cradle", 0.3, 10, 10},
            {"sphere-pile", 0.5, 25, 25},
            {"superball", 0.45, 10, 10},
            {"spinning-coin", 0, 20, 20},
            {"rattleback", 0.2, 30, 25},
            {"tippe-top", 0, 10, 20},
            {"bricard", 0.8, 30, 25},
            {"four-bar", 0.1, 0, 5},
            {"a02", 0.7, 0, 5},
            {"a03", 0, 0, 5},
            {"slider-crank", 0.004, 10, 10},
            {"woodpecker", 0.02, 20, 10},
            {"chain", 0, 30, 30},
            {"humanoid", 0.2, 60, 10},
            {"quadruped", 0.2, 40, 15},
            {"dual-arm", 0, 55, 15},
            {"simbench-momentum", 0.37, 25, 20},
            {"simbench-666", 0.25, 25, 20},
            {"painleve-rod", 0, 0, 5},
            {"a01", 0.3, 0, 5},
            {"bouncing-ball", 0.25, 25, 10}};

static kn_status advance(const kn_scene_opened* o, kn_state* state, double time) {
  kn_sim* sim;
  kn_sim_settings settings = kn_scene_settings(o->scene);
  kn_status status = kn_sim_create(&sim, o->model, &settings);
  if (status != KN_OK) return status;
  if (o->controller.fn) status = kn_sim_set_controller(sim, &o->controller);
  if (status == KN_OK) status = kn_sim_prepare(sim, state);
  while (status == KN_OK && kn_state_time(state) < time - settings.dt / 2) status = kn_step(sim, state);
  kn_sim_destroy(sim);
  return status;
}

static kn_status picture(const char* path, const kn_scene* scene) {
  kn_scene_opened* o;
  kn_state* state;
  kn_picture_settings settings = kn_picture_default();
  double time = 0.0;
  for (size_t i = 0; i < sizeof SHOW / sizeof *SHOW; i++)
    if (strcmp(SHOW[i].scene, scene->name) == 0) {
      time = SHOW[i].time;
      settings.azimuth = SHOW[i].azimuth;
      settings.elevation = SHOW[i].elevation;
    }
  kn_status status = kn_scene_open(&o, scene->name, NULL, 0);
  if (status != KN_OK) return status;
  status = kn_state_create(&state, o->model);
  if (status == KN_OK) {
    status = kn_scene_start(o, state);
    if (status == KN_OK && time > 0.0) status = advance(o, state, time);
    FILE* f = status == KN_OK ? fopen(path, "w") : NULL;
    if (status == KN_OK) status = f ? kn_picture_write(f, o->model, state, &settings) : KN_IO;
    if (f && fclose(f) != 0) status = KN_IO;
    kn_state_destroy(state);
  }
  kn_scene_close(o);
  return status;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: gallery FOLDER\n");
    return 2;
  }
  char path[1024];
  snprintf(path, sizeof path, "%s/pictures", argv[1]);
  mkdir(path, 0777);
  snprintf(path, sizeof path, "%s/pictures/scenes", argv[1]);
  mkdir(path, 0777);
  snprintf(path, sizeof path, "%s/scenes.md", argv[1]);
  FILE* page = fopen(path, "w");
  if (!page) {
    fprintf(stderr, "gallery: %s cannot be written\n", path);
    return 4;
  }
  kn_scenes_page(page);
  fclose(page);
  for (const kn_scene* const* s = kn_scenes(); *s; s++) {
    snprintf(path, sizeof path, "%s/pictures/scenes/%s.svg", argv[1], (*s)->name);
    kn_status status = picture(path, *s);
    if (status != KN_OK) {
      fprintf(stderr, "gallery: %s: %s\n", (*s)->name, kn_status_text(status));
      return 1;
    }
  }
  return 0;
}
