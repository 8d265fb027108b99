/* Foxglove messages as Protobuf (proto.h): transforms of the bodies, shapes once, contact forces as arrows with names and
   values. */
#pragma once

#include "knuckle/force.h"
#include "knuckle/step.h"
#include "record/bytes.h"

enum { KN_NAME = 128 };
/* What a body or geom is called: "world", its name, or its kind and number. */
const char* kn_scene_body(char name[KN_NAME], const kn_model* model, kn_body body);
const char* kn_scene_geom(char name[KN_NAME], const kn_model* model, kn_geom geom);

void kn_scene_shapes(kn_bytes* out, const kn_model* model, double t);
void kn_scene_transforms(kn_bytes* out, const kn_model* model, const kn_data* data, double t);
void kn_scene_contacts(kn_bytes* out, const kn_model* model, const kn_report* report,
                       const kn_contact_load* load, double t);
