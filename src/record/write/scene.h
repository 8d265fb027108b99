/* Foxglove messages: bodies' transforms, shapes once, contact forces. JSON as in the schemas
   foxglove.FrameTransforms and foxglove.SceneUpdate. */
#ifndef KN_RECORD_SCENE_H
#define KN_RECORD_SCENE_H

#include "knuckle/force.h"
#include "knuckle/step.h"
#include "record/bytes.h"

void kn_scene_shapes(kn_bytes* out, const kn_model* model, double t);
void kn_scene_transforms(kn_bytes* out, const kn_model* model, const kn_data* data, double t);
void kn_scene_contacts(kn_bytes* out, const kn_report* report, double t);

#endif
