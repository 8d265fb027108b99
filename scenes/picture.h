/* A model's shapes as an SVG picture: parallel projection, far things first. For documentation. */
#ifndef KN_SCENES_PICTURE_H
#define KN_SCENES_PICTURE_H

#include <stdio.h>

#include "scene.h"

typedef struct kn_picture_settings {
  int width, height;         /* pixels */
  double azimuth, elevation; /* of the eye, degrees; azimuth 0: the eye is at -y, looking along +y */
} kn_picture_settings;

kn_picture_settings kn_picture_default(void);
kn_status kn_picture_write(FILE* file, const kn_model* model, const kn_state* state,
                           const kn_picture_settings* settings);

/* The documentation page of all scenes: Markdown from the list. */
void kn_scenes_page(FILE* file);

#endif
