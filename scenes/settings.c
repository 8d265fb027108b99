#include "scene.h"

kn_sim_settings kn_scene_settings(const kn_scene* scene) {
  kn_sim_settings s = kn_sim_default();
  if (!scene) return s;
  s.dt = scene->dt;
  if (scene->law) s.law = scene->law;
  if (scene->stepper) s.stepper = scene->stepper;
  s.friction = scene->friction;
  s.sequential = scene->sequential;
  if (scene->contacts) s.contact_room = scene->contacts;
  return s;
}

kn_sim_settings kn_scene_settings_of(const kn_scene_opened* scene) {
  kn_sim_settings s = kn_scene_settings(scene ? scene->scene : NULL);
  if (scene && scene->scene->tune) scene->scene->tune(&s, scene->p);
  return s;
}
